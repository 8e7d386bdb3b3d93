"""Gradients timed side by side: `python -m benchmarks.run` for all of them, `python -m benchmarks.check` for a few seconds' worth."""

import os

# Before NumPy and SciPy load theirs, and for all engines alike: with more threads than idle cores, a triangular solve of 11 × 11 takes
# 5 ms instead of microseconds, as OpenBLAS waits for a thread that is not running.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
