"""Results of calls that are, or may be, their arguments or views of them: a write to either would be seen by both.

Inside the tape a call hands out new arrays, so such a write is refused where it would make a difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import UnsupportedFunction
from .sites import user_site
from .tracked import TrackedArray, View


class Aliases:
    """What is known of a callee's results, over all its paths, and what its callers have written to.

    Attributes:
        shared: the results that share memory with an argument or with another result on some path.
        written: the results that a caller wrote to, or used after it had written to an argument.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.shared: set[int] = set()
        self.written: set[int] = set()

    def note(self, results: Sequence[Any], arguments: Sequence[Any]) -> None:
        """Look at the results of a new path."""
        roots: dict[int, list[int]] = {id(argument): [-1] for argument in arguments}
        for k, result in enumerate(results):
            if type(result) is TrackedArray and result.shape:
                roots.setdefault(id(_root(result)), []).append(k)
        self.shared |= {k for found in roots.values() if len(found) > 1 for k in found if k >= 0}
        self._check()

    def note_written(self, k: int) -> None:
        """A caller has separated a result from what it may share memory with."""
        self.written.add(k)
        self._check()

    def _check(self) -> None:
        if self.shared & self.written:
            raise UnsupportedFunction(
                f"{self.name} returned an array that it was given, or one array twice, and one of the two was written to afterwards",
                at=user_site(), fix="return a copy, x.copy(), or write to a copy",
            )  # fmt: skip

    def watch(self, results: Sequence[Any], arguments: Sequence[Any]) -> None:
        """Notice when a caller writes to one of the results, or to an argument while it uses one."""
        arrays = [a for a in arguments if type(a) is TrackedArray and a.shape]
        for k, result in enumerate(results):
            if result.shape:
                guard = _Watch(self, k, result, arrays)
                result._view = View(guard, _same, _written, guard._writes)


def _root(array: TrackedArray) -> TrackedArray:
    while array._view is not None and type(array._view.base) is TrackedArray:
        array = array._view.base
    return array


class _Watch(TrackedArray):
    """Stands where the base of a view does, and is told of every use and write."""

    __slots__ = ("_aliases", "_arguments", "_result")

    def __init__(self, aliases: Aliases, result: int, value: TrackedArray, arguments: Sequence[TrackedArray]) -> None:
        super().__init__(value._recorder, value._id, value._value, value.type)
        self._aliases, self._result = aliases, result
        self._arguments = [(argument, argument._writes) for argument in arguments]

    def _refresh(self) -> None:
        if any(argument._writes != seen for argument, seen in self._arguments):
            self._aliases.note_written(self._result)

    def _store(self, new: Any) -> None:
        self._aliases.note_written(self._result)


def _same(base: Any) -> Any:
    return base


def _written(_: Any, part: Any) -> Any:
    return part
