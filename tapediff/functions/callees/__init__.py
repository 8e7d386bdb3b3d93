"""Callees: the functions that calls and loops on a tape run, with their variants by path.

Comes in: a body and types of arguments. Goes out: variants, recorded when a call first needs them. Open first: `callee.py`.
"""
