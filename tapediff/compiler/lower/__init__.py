"""Lowering: each instruction of a tape becomes loop steps over strided views.

Comes in: a tape. Goes out: a loop program without fusion. Open first: `lower.py`; an op's declaration names the method.
"""
