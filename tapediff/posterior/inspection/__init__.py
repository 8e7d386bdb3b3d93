"""A first look at a posterior: checks of its values and gradients, its jumps, and a picture of it.

Comes in: a posterior. Goes out: a report on points, or the graph of its terms. Open first: `check.py`, then `graph.py`.
"""
