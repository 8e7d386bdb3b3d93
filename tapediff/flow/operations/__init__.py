"""Operators, attributes, tests and patterns.

Open first: `dunder.py`.
"""
