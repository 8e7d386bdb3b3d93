"""A second backend: a tape as the text of a Python module, which numba compiles; anyone may save, read and import it.

A loop program comes in and its listing goes out as numba functions, with those that its callees, loops and guards need and a copy of the
library functions that it calls. The first file to open is kernel.py; then program_text.py, function_text.py, callee_text.py, loop_text.py.
"""
