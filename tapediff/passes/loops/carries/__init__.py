"""Carries: split into scalars, dropped if unread, and saved. Open first: `split_carries.py`."""
