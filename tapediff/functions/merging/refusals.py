"""Refusals at run time: a merged branch meets values for which it must be a branch."""

from __future__ import annotations

from types import CodeType

from .rules import Breach, Place


class Refused(Exception):
    """A merged branch met values for which it must be a branch.

    Attributes:
        place: of the branch at fault.
        is_all: nothing in the function may be merged.
    """

    def __init__(self, code: CodeType, place: Place, breach: Breach, is_all: bool = False) -> None:
        super().__init__(f"{code.co_name}, {breach}")
        self.code, self.place, self.breach, self.is_all = code, place, breach, is_all


class Refusing:
    """Refuses branches of one function.

    Args:
        code: of the function.
    """

    def __init__(self, code: CodeType) -> None:
        self._code = code

    def _refuse(self, rule: str, place: Place, got: str, is_all: bool = False) -> Refused:
        return Refused(self._code, place, Breach(rule, place[0], got), is_all)
