"""From LLVM text to a linked native function, and the cache of object code on disk.

Comes in: LLVM text and the symbols it calls. Goes out: an address. Open first: `native_function.py`.
"""
