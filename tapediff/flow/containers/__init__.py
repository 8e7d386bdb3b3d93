"""Choices, and containers whose entries, keys or lengths are data.

Open first: `items.py`.
"""
