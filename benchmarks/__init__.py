"""Gradients of four problems, timed side by side: run with `make bench` or `python -m benchmarks.run`."""
