"""Carries: which there are, in which parts, and which are saved."""
