"""Other libraries, each in a file of its own and imported only when it is used: `from tapediff.adapters import nutpie`.

Comes in: a target or its C function. Goes out: what the other library calls a model, a function or an operation.
Open first: `nutpie.py`.
"""
