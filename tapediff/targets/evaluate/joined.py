"""Functions with merged paths: flow/, which is imported when the first of them is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.instruction import UserFunction
from ...recording.arrays.compressed import CompressedArray
from ...recording.joined_forms import record_joined_by


def joined(f: UserFunction, note: Callable[[Any], None] | None = None) -> UserFunction:
    """A function whose recordings hold all paths that can be merged; `note` is called with the report of each recording."""
    from ...flow import flowed

    return flowed(f, note)


def joined_arrays() -> type[CompressedArray]:
    """The type of arrays of which data select entries, for functions with merged paths."""
    from ...flow.containers.compressed import Compressed

    return Compressed


record_joined_by(joined)
