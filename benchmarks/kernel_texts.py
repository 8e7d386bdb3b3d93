"""The LLVM text of every kernel that the benchmark problems and the test posteriors compile: what a refactoring must leave as it is.

    python -m benchmarks.kernel_texts --write before.json      # in the old tree
    python -m benchmarks.kernel_texts --compare before.json    # in the new one; exit status 1 where a text differs

`--texts DIRECTORY` also writes the texts themselves, one file for each program, to be compared with diff.
"""

import argparse
import hashlib
import json
import sys
from contextlib import contextmanager
from pathlib import Path

import tapediff as td
from tapediff.compiler.jit.native_function import NativeFunction

from .problems import PROBLEMS


@contextmanager
def collected():
    """The texts that are compiled meanwhile, in the order in which they are."""
    texts, compile_text = [], NativeFunction.__init__

    def collect(self, text, *args, **named):
        texts.append(text)
        compile_text(self, text, *args, **named)

    NativeFunction.__init__ = collect
    try:
        yield texts
    finally:
        NativeFunction.__init__ = compile_text


def kernel_texts(problem):
    """The texts of a problem's value and gradient, at all its points. The posteriors are among the problems."""
    with collected() as texts:
        target = td.GuardedTape(problem.recorded) if problem.guarded else td.compile(problem.recorded, problem.points[0])
        for point in problem.points:
            td.value_and_gradient(target, point)
            target(point)
    return texts


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the digests of all texts")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="compare with the digests of another tree")
    parser.add_argument("--texts", type=Path, metavar="DIRECTORY", help="write the texts as well")
    options = parser.parse_args(arguments)
    digests = {}
    for problem in PROBLEMS:
        texts = kernel_texts(problem)
        # Sorted, as shared routines are compiled in any order.
        digests[problem.name] = sorted(hashlib.sha256(text.encode()).hexdigest() for text in texts)
        if options.texts:
            options.texts.mkdir(parents=True, exist_ok=True)
            (options.texts / f"{problem.name}.ll").write_text("\n".join(texts))
    if options.write:
        options.write.write_text(json.dumps(digests, indent=1) + "\n")
    before = json.loads(options.compare.read_text()) if options.compare else digests
    changed = [name for name, found in digests.items() if before.get(name) != found]
    print(f"{sum(map(len, digests.values()))} kernels of {len(digests)} programs; {len(changed)} programs differ", *changed)
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main())
