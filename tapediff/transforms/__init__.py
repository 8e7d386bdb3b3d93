"""Tape to tape: derivatives."""
