"""Marginal densities of a few parameters: the random effects are integrated out by Laplace's approximation.

Comes in: a joint log density and the names of its random effects. Goes out: a log density of the rest, with gradient and standard errors.
Open first: `laplace.py`, then `mode.py`.
"""
