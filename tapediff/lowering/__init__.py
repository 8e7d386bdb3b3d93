"""From a tape to native code: loop program, LLVM text, machine code."""
