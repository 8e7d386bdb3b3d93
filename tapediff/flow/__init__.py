"""Control flow: runs a function on tracked values so that one recording holds all its paths.

The function is translated once (translate/): tests, loops, calls, stores and look-ups become operators, which look at the values that they
get. Where a test is data, both sides are run, each on the state as it was, and the states are joined.

| file | what it has |
|---|---|
| translate/ | the translation of a function's syntax tree |
| operators | the names that translated code calls |
| values | choices, names without a value, what is known on a path |
| places | all that a statement can change, and journals of it |
| fork, joins | both sides of a test; the values that are joined |
| completions, blocks | how blocks end; branches, loops |
| exceptions, dead_places | `try` and `with`; what needs no join behind them |
| python_numbers, divisions | errors of Python's numbers |
| dunder, tests_of_values, objects, containers, callables, patterns | operations by kind |
"""

from __future__ import annotations

from . import operators as operators  # which translated code uses
from .merged import flowed as flowed
