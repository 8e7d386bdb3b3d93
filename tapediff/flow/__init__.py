"""Control flow: runs a function on tracked values so that one recording holds all its paths.

The function is translated once (translate/): tests, loops, calls, stores and look-ups become operators, which look at the values that they
get. Where a test is data, both sides are run, each on the state as it was, and the states are joined.

| room | what it has |
|---|---|
| translate/ | the translation of a function's syntax tree |
| operators | the names that translated code calls |
| in_python | builtins in Python, which run translated |
| report | why guards are left, and what was merged |
| state/ | values, places and journals of them, joins, the fork of a branch |
| calls/ | whose code a function is, and what is called in its place |
| containers/ | choices, and containers whose entries, keys or lengths are data |
| blocks/ | branches, loops, exceptions: how blocks end, and what follows |
| operations/ | operators, attributes, tests, patterns |
| builtins/ | Python's builtins as programs, calls of code that is not translated |

Open first: `merged.py`. docs/contributing/control_flow.md has the design, docs/which_python.md an example for each kind of statement.
"""

from __future__ import annotations

from . import operators as operators
from .merged import flowed as flowed, translated_text as translated_text
