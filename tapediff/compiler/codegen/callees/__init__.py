"""Calls and loops of callees as LLVM text.

Comes in: a call or a loop of a loop program. Goes out: the function that fills its call frame and runs the dispatch loop on it.

Open first: `call_callee.py`.
"""
