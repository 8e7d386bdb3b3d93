"""Objects that joins and loops replace: those that nothing else refers to, and those whose other names are refused.

Open first: `unshared.py`.
"""
