"""Random functions full of control flow and writes, and their values and derivatives by an evaluation that follows Python exactly.

Comes in: a seed. Goes out: the source of `f(x)`, written against a namespace `lib`, which is `tapediff` itself or the `reference`, whose cond,
scan and so on are a few lines of Python; points on and beside the thresholds of its decisions; and, by running it on jets, its value with
first and second derivatives. `test_control_fuzz.py` compares the two. Open first: `generator.py`; `grammar.py` has the parts of a program,
`jets.py` the derivatives.

`array_programs.py` and `branching_programs.py` are smaller languages, whose programs hypothesis draws for `test_fuzz.py` and
`test_branch_flips.py`.
"""

from .generator import Program, function_of, points_of
from .jets import Jet, Watch
from .reference import reference

__all__ = ["Jet", "Program", "Watch", "function_of", "points_of", "reference"]
