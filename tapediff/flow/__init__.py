"""Control flow: records all paths of a function at once, by running it on tracked values.

The function is translated once (translate/): tests, loops, calls, stores and look-ups become operators that inspect their operands.
A test on data runs both sides from the same state, and joins the states that they leave.

| room | contents |
|---|---|
| translate/ | the translation of a function's syntax tree |
| operators | the names that translated code calls |
| in_python | builtins written in Python, which are translated too |
| report | reasons for guards, and merged branches and loops |
| state/ | values, places, journals, joins, the fork of a branch |
| calls/ | whose code a function is, and its replacement |
| containers/ | choices, and containers whose entries, keys or lengths are data |
| blocks/ | branches, loops, exceptions: completions of blocks |
| operations/ | operators, attributes, tests, patterns |
| builtins/ | Python's builtins as programs, calls of untranslated code |

Open first: `merged.py`. docs/contributing/control_flow.md has the design, docs/which_python.md an example for each kind of statement.
"""

from __future__ import annotations

from . import operators as operators
from .merged import flowed as flowed, translated_text as translated_text
