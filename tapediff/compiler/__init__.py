"""The compiler: from a tape to machine code, and how that code is called.

Comes in: a tape after its passes. Goes out: a `Kernel`, the native code of one tape. The stages: `lower/` turns instructions into loop
steps, `schedule/` decides which loops are fused and what is stored, `codegen/` writes LLVM text (with `math/`, `linalg/` and `bytecode/`),
`jit/` makes machine code of it, `runtime/` is what surrounds that code.
Open first: `kernel.py`, then `pipeline.py`.
"""
