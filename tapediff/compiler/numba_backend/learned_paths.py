"""Paths of callees found while programs ran: their variants, and which one goes on where another one fails."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ...ir.tape import Tape
from ..runtime.callees.native_callee import NativeCallee

# From (variant, status, outcome) to the variant that goes on there.
Jumps = dict[tuple[int, int, float], int]


class TapedCallee(NativeCallee, Protocol):
    """A callee as programs see it; see functions.callee.Callee for the methods."""

    @property
    def may_branch(self) -> bool: ...

    def variant_tape(self, number: int) -> Tape: ...
    def known_paths(self) -> dict[int, Any]: ...


class LearnedPaths:
    """The paths of the callees of one tape, by the callees' identities."""

    def __init__(self) -> None:
        self._variants: dict[int, set[int]] = {}
        self._jumps: dict[int, Jumps] = {}

    def note(self, callee: TapedCallee, number: int, left_by: int, status: int, outcome: float) -> None:
        """Note that a variant has answered, after another one had left at a guard; `left_by` is -1 if there was none."""
        self._variants.setdefault(id(callee), set()).add(number)
        if left_by >= 0 and 0 < status:
            self._jumps.setdefault(id(callee), {})[left_by, status, outcome] = number

    def variants(self, callee: TapedCallee) -> list[int]:
        """The variants that are worth compiling; a function of td.primitive has none."""
        if not callee.is_compiled or hasattr(callee, "native_layout"):
            return []
        return [n for n in sorted({*callee.known_paths(), *self._variants.get(id(callee), ())}) if callee.may_compile(n)]

    def jumps(self, callee: TapedCallee) -> Jumps:
        """As the recorded paths tell, and as was found out. Arrays that guards looked at are left to Python."""
        found: Jumps = {}
        paths = [entry for entry in callee.known_paths().values() if entry is not None]
        for entry in paths:
            for ordinal, fork in entry.forks.items():
                for others in fork.tapes.values():
                    outcome = others[0].outcomes[ordinal]
                    if others[0].path[ordinal] != entry.path[ordinal] and np.ndim(outcome) == 0:
                        found[entry.number, ordinal + 1, float(outcome)] = others[0].number
        return {**found, **self._jumps.get(id(callee), {})}
