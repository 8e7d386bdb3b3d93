"""Code generation: a scheduled loop program as LLVM text, or as readable Python.

Comes in: a loop program. Goes out: the text of one function. Open first: `emitter.py`; `python_listing.py` is the second back end, which
prints `compiled.source`.
"""
