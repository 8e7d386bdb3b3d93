"""What translated code calls: one function for each kind of operation that data may decide.

Python does the operation itself where its operands are plain, at the user's own line: `left(a, b) + b`. Operands with methods in Python
are wrapped, so that their methods run translated; choices and conditional entries are taken apart.
"""

from __future__ import annotations

