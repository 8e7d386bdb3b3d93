"""The rewritten forms of functions, kept for other recordings, with all that they depend on: rewriting takes several milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import NamedTuple

import numpy as np

from ..rules import Breach, Place
from .source import Definition, NoSource, definition_of, made_of

# So many forms of a function are kept.
MOST_FORMS = 8


class Form(NamedTuple):
    """A function as it was rewritten once.

    Attributes:
        given: what was given.
        resolved: what global names stood for.
        merges: whether branches at these places were to be merged.
        looks: whether it was looked into functions that it calls, by them and their codes.
        made: its code; None where nothing in it is merged.
        sites, breaches: what came of its branches.
    """

    given: Hashable
    resolved: dict[str, object]
    merges: dict[Place, bool]
    looks: dict[FunctionType, tuple[CodeType, bool]]
    made: CodeType | None
    sites: dict[Place, str]
    breaches: tuple[Breach, ...]

    def is_for(
        self, given: Hashable, resolve: Callable[[str], object], may_merge: Callable[[Place], bool],
        may_look_into: Callable[[FunctionType], bool],
    ) -> bool:  # fmt: skip
        """Whether rewriting the function again would give the same."""
        if self.given != given or any(resolve(name) is not found for name, found in self.resolved.items()):
            return False
        if any(other.__code__ is not code or may_look_into(other) is not answer for other, (code, answer) in self.looks.items()):
            return False
        return all(may_merge(place) is answer for place, answer in self.merges.items())


def forms_of(code: CodeType) -> Sequence[Form]:
    """The forms of a function that are known."""
    known: Sequence[Form] = made_of(code).get(code, ())
    return known[:MOST_FORMS]


def keep_form(code: CodeType, form: Form) -> None:
    """Keep a form of a function, beside its latest ones."""
    made_of(code)[code] = (form, *forms_of(code))[:MOST_FORMS]


class Asked:
    """What the rewriting of a function asked for.

    Attributes:
        merges: by place, whether a branch may be merged.
        looks: by function, its code, and whether it may be looked into.
        others: whether it asked for more than the function: how other ones are written, which may change.
    """

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self.merges: dict[Place, bool] = {}
        self.looks: dict[FunctionType, tuple[CodeType, bool]] = {}
        self.others = False

    def may_merge(self, answer: Callable[[CodeType, Place], bool], place: Place) -> bool:
        self.merges[place] = found = answer(self._code, place)
        return found

    def look_into(self, may_look_into: Callable[[FunctionType], bool], function: FunctionType) -> Definition | None:
        """The node of a function, if it may be looked into."""
        found = may_look_into(function)
        self.looks[function] = function.__code__, found
        try:
            return definition_of(function.__code__) if found else None
        except NoSource:
            return None

    def lines_of(self, answer: Callable[[CodeType], set[int]], code: CodeType) -> set[int]:
        self.others |= code is not self._code
        return answer(code)


def is_fixed(found: object) -> bool:
    """Whether an object that a name stands for is the same as long as it is this one: no class, or container, of the user's."""
    if isinstance(found, (FunctionType, BuiltinFunctionType, np.ufunc, int, float, str, type(None))):
        return True
    name = found.__name__ if isinstance(found, ModuleType) else getattr(found, "__module__", None)
    return isinstance(found, (type, ModuleType)) and str(name).partition(".")[0] in ("numpy", "math", "builtins", "tapediff")
