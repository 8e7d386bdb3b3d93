"""Draws of a posterior: where they come from, their groups for ArviZ, and what they tell of the sampler and of the model.

Comes in: draws by name, or a tree of ArviZ. Goes out: predictions, log likelihoods, summaries, diagnoses, comparisons, sensitivities.
Open first: `groups.py`.
"""
