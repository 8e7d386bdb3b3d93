"""Passes on straight code: what nobody needs, what is known already, what is cheaper in another order.

Comes in and goes out: a tape. Open first: `dead_code.py`, the shortest; every other pass has the same form.
"""
