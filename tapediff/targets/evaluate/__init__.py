"""Evaluates an operator on any target: a function, a Tape, a CompiledTape or a GuardedTape.

Comes in: a target, its arguments, argnums, and the operator's tape. Goes out: values and derivatives as the
caller nests them. Open first: `evaluation.py`.
"""
