"""Carries: in which parts, which of them are read, and which are saved. Open first: `split_carries.py`."""
