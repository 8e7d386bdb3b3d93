"""Named, constrained parameters around a plain log density: from a NumPy function to draws, modes and predictions.

Comes in: a function of named parameters and data, and each parameter's constraint. Goes out: the log density over one unconstrained
vector, with the log-Jacobians added, its derivatives, and draws with their names. Open first: `posterior.py`.
"""
