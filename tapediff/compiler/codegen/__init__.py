"""Code generation: a scheduled loop program as LLVM text, or as readable Python.

Comes in: a loop program. Goes out: the text of one function. Open first: `emitter.py`. The second back end, `python_listing.py`, prints
`compiled.source`.
"""
