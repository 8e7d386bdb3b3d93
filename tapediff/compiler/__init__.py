"""The compiler: from a tape to machine code, and how that code is called.

Comes in: a tape after its passes. Goes out: a `Kernel`, the native code of one tape. The way through the folders: `lower/` makes loop
steps of instructions, `schedule/` decides which loops run together and what is stored, `codegen/` writes LLVM text (`math/`, `linalg/`
and `bytecode/` are what it writes it with), `jit/` makes machine code of it, `runtime/` is what runs around it.
Open first: `kernel.py`, then `pipeline.py`.
"""
