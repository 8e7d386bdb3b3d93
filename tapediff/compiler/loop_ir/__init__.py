"""The loop program: the intermediate representation between a tape and LLVM text.

Comes in: steps made by `lower/`. Goes out: storages, loop steps, routine calls and guard exits, in groups that run together.
Open first: `program.py`.
"""
