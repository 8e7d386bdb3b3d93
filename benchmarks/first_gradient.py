"""Seconds from `td.record` to the first compiled gradient of one problem, in a fresh process.

Run by benchmarks.run as `python -m benchmarks.first_gradient <position in PROBLEMS>`; the imports are not counted.
"""

import sys
from time import perf_counter

import tapediff as td
from benchmarks.problems import PROBLEMS


def main(position):
    problem = PROBLEMS[position]
    started = perf_counter()
    tape = td.record(problem.function, problem.point)
    compiled = td.compile(tape)
    td.value_and_gradient(compiled, problem.point)
    print(perf_counter() - started)


if __name__ == "__main__":
    main(int(sys.argv[1]))
