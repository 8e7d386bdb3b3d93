"""Marginal densities of a few parameters: random effects integrated out by Laplace's approximation, discrete quantities summed out.

Comes in: a joint log density and the names of its random effects. Goes out: a log density of the rest, with gradient and standard errors.
Open first: `laplace.py`, then `mode.py`; `discrete.py`, then `chains.py`.
"""
