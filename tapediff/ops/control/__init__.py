"""Calls and loops: the instructions that run a callee, which is a function with tapes of its own.

Comes in: a callee, operands, and the form of the loop. Goes out: the ops CALL and LOOP. Open first: `loop_forms.py`, then `calls.py`.
"""
