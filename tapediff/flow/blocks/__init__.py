"""Statements with blocks: branches, loops, exceptions.

Open first: `blocks.py`.
"""
