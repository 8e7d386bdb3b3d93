"""Isomorphic operations anywhere on a tape: terms sorted by kind, operations batched, writes unified.

Open first: `alike_terms.py`.
"""
