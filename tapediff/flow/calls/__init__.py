"""Whose code a function is, and its replacement.

Open first: `callables.py`.
"""
