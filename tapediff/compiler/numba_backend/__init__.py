"""A second backend: a tape as the text of a Python module, which numba compiles; anyone may save, read and import it.

Comes in: a loop program. Goes out: its listing as numba functions, with those that its callees, loops and guards need and a copy of the
library functions that it calls. Open first: `kernel.py`; then `program_text.py`, `function_text.py`, `callee_text.py`, `loop_text.py`.
"""
