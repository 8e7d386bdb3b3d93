"""The loop program: the intermediate representation between a tape and LLVM text.

Comes in: steps made by `lower/`. Goes out: storages, loop steps, routine calls and guard exits, in groups of fused loops.
Open first: `program.py`.
"""
