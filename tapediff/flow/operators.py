"""The functions that translated code calls: one for each kind of data-dependent operation.

Plain operands are left to Python, at the user's own line: `left(a, b) + b`. Operands with methods in Python are wrapped, to run them
translated; choices and conditional entries are split.
"""

from __future__ import annotations

import sys

from . import translate
from .blocks import blocks, exceptions, loops
from .builtins.arguments import gathered as gathered, spreading as spreading, starred as starred
from .calls import callables, truth
from .containers import generators, items
from .operations import dunder, objects, patterns, tests_of_values
from .state import completions
from .state.places import mark_made as mark_made

_MODULES = (
    blocks, exceptions, loops, callables, truth, generators, items, dunder, objects, patterns, tests_of_values, completions, translate,
)  # fmt: skip

# The user's code may define another one.
NameError = NameError
BREAK, CONTINUE, ENDING = completions.BREAK, completions.CONTINUE, exceptions.ENDING

vars(sys.modules[__name__]).update(
    {name: made for module in _MODULES for name, made in vars(module).items() if getattr(made, "__module__", None) == module.__name__}
)
translate.OPERATORS_CELL.cell_contents = sys.modules[__name__]
