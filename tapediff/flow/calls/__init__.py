"""Whose code a function is, and what is called in its place.

Open first: `callables.py`.
"""
