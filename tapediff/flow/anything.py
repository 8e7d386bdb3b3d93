"""The type of values that a user's program handles."""

from __future__ import annotations

from typing import Any, TypeAlias

# A value of the user's program, of any type.
Object: TypeAlias = Any
