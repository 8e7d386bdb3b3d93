"""Regions at run time: a branch, or a turn of a loop, as the call of a sub-tape from its live variables to those that it assigns.

The sub-tape has a variant for each path through the region, so that the tape around it needs one. What is recorded once and runs many times
is only what computes values; everything else that goes in is a constant, and another one is another callee.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from types import CodeType

import numpy as np

from ....base.source_location import Site
from ....errors import GuardFailed, LoopTooLong, NewTape, RecursionTooDeep, TapediffError, UnstableBranch
from ....ir.instruction import Operand, Tree, is_tracked
from ....ir.pytree import flatten
from ....recording.aliases import Aliases, Condition, holds
from ....recording.arrays.tracked import TrackedArray
from ....recording.python_state.object_snapshot import LARGEST_COMPARED
from ...callees.body import Body, as_operand, call, caught_outside, type_of
from ...callees.recorded_callee import RecordedCallee
from ...captured.code_keys import names_of
from ...captured.freeze import Frozen, freeze
from ...captured.outside_state import OutsideState, TooMuchState, watch_arrays
from ..plain_numbers import unlike_python
from ..rules import Place, Refused
from .region_values import Exits, Refuse, Taken, closes_over_data, put

# A region whose constants take more values is left to paths: each has a callee of its own.
MOST_CALLEES = 32


class Region:
    """One region of a function.

    Args:
        name: in messages.
        code: of the function that it stands in.
        has_outcomes: whether values that are no data may leave it.
        all_plain: whether any number that leaves it may be a plain one.
        may_hand_through: whether an array that goes in may come out: nothing that gets it writes to arrays.
        refuse: makes the error that gives it up.
        place: in the function.

    Attributes:
        kept: a value that is no data which leaves it, and the line that needs it; None if there is none.
    """

    def __init__(
        self, name: str, code: CodeType, has_outcomes: bool, all_plain: bool, may_hand_through: bool, refuse: Refuse, place: Place
    ) -> None:  # fmt: skip
        self._name, self._names, self.code, self.place = name, names_of(code), code, place
        self.kept: tuple[Tree, str] | None = None
        self.has_outcomes, self.all_plain, self.may_hand_through = has_outcomes, all_plain, may_hand_through
        self.refuse = refuse
        self._known: dict[Hashable, _Callee] = {}
        self._frozen: dict[Hashable, _Callee] = {}
        self._count = 0

    def run(self, function: Callable[..., tuple[Tree, ...]], values: Sequence[Tree], into: Sequence[int], out: Sequence[int]) -> Tree:
        """The variables after the region.

        Args:
            function: of the live variables; gives those that it assigned.
            into, out: what may become data, as flags for each variable.
        """
        taken = Taken(self.refuse)
        form = tuple([taken.form(value, flags) for value, flags in zip(values, into)])
        if not (any(map(is_tracked, taken.data)) or any(map(closes_over_data, taken.constants))) or caught_outside():
            return function(*values)
        operands = [as_operand(leaf) for leaf in taken.data]
        key = (form, tuple([type_of(o) for o in operands]), taken.key()) if taken.is_simple else None
        callee = self._known.get(key) if key is not None else None
        frozen = None if callee is None else callee.frozen
        if callee is None or frozen is None or frozen.changed_global() is not None or not callee.state.is_same():
            callee, frozen = self._callee(function, form, taken, operands, out)
            if key is not None:
                self._known[key] = callee
        if callee.state.has_large_arrays:
            watch_arrays(callee.state, lambda: self.refuse("calls", "what it reads has changed"))
        results = call(callee.callee, callee.body, [*operands, *frozen.tracked], taken.data, frozen)
        return callee.body.exits.rebuilt(results)

    def _callee(
        self, function: Callable[..., tuple[Tree, ...]], form: tuple[Tree, ...], taken: Taken, operands: Sequence[Operand],
        out: Sequence[int],
    ) -> tuple[_Callee, Frozen]:  # fmt: skip
        # A tuple, whose functions are frozen as well.
        constants = tuple(taken.constants)

        def of_data(*data: Operand) -> tuple[Tree, ...]:
            leaves = iter(data)
            return function(*[put(part, leaves, constants) for part in form])

        frozen = freeze(of_data)
        types = [type_of(o) for o in (*operands, *frozen.tracked)]
        key = (form, frozen.key, tuple(types))
        known = self._frozen.get(key)
        if known is None or not known.state.is_same():
            state = self._state(function, constants)
            known = self._frozen.get((key, state.key))
            if known is None:
                known = self._made(frozen, types, taken, state, out)
            self._frozen[key] = self._frozen[key, state.key] = known
        return known, frozen

    def _state(self, function: Callable[..., tuple[Tree, ...]], constants: tuple[Tree, ...]) -> OutsideState:
        try:
            return OutsideState((function, *constants), self._names)
        except TooMuchState as error:
            raise self.refuse("calls", str(error)) from error

    def _made(
        self, frozen: Frozen, types: Sequence[Tree], taken: Taken, state: OutsideState, out: Sequence[int]
    ) -> _Callee:  # fmt: skip
        self._count += 1
        if self._count > MOST_CALLEES:
            raise self.refuse("calls", f"it reads more than {MOST_CALLEES} different values that are no data")
        body = _RegionBody(self, self._name, frozen, taken.data, Exits(self, out, self.refuse), state)
        # Constants that are not simple belong to one recording.
        return _Callee(RecordedCallee(self._name, types, body), body, frozen if taken.is_simple else None)


class _Callee:
    """A callee of a region, its body, and the functions that it was made from."""

    def __init__(self, callee: RecordedCallee, body: _RegionBody, frozen: Frozen | None) -> None:
        self.callee, self.body, self.frozen, self.state = callee, body, frozen, body.state


class RefusingAliases(Aliases):
    """The aliases of a region or loop, which is given up where an array that it handed through is written to."""

    refuse: Callable[[], Exception] | None = None

    def _check(self, condition: Condition, site: Site | None) -> None:
        if self.refuse is not None and holds(condition):
            raise self.refuse()
        super()._check(condition, site)


class _RegionBody(Body):
    """The body of a region, which is given up at what plain arrays do not raise."""

    def __init__(
        self, region: Region, name: str, frozen: Frozen, data: Sequence[Operand], exits: Exits, state: OutsideState
    ) -> None:  # fmt: skip
        super().__init__(name, frozen, flatten(tuple(data))[1], lambda functions, tree: exits.of(functions[0](*tree)))
        self._region, self.exits, self.state = region, exits, state
        self.aliases = RefusingAliases(name)
        self.aliases.refuse = lambda: region.refuse("scalars", "an array goes through it unchanged, and is written to afterwards")
        self._recorded = 0

    # Sides that are not taken may warn, as may a path that a kernel meets.
    @np.errstate(all="ignore")
    def __call__(self, arguments: Sequence[Operand]) -> list[Operand]:
        self._recorded += 1
        if self._recorded > MOST_PATHS:
            raise self._region.refuse("calls", f"it has more than {MOST_PATHS} paths")
        if self._recorded > 1:
            self.check_state()
        try:
            leaves = super().__call__(arguments)
            found = unlike_python(arguments[0]._recorder) if arguments else None
        except (*_STAYS, Refused):
            raise
        except TapediffError as error:
            raise self._region.refuse("calls", str(error).split("\n")[0]) from error
        if found is not None:
            raise self._region.refuse(found[0], f"it computes {found[1].op.name} of what may be a plain number")
        given = {id(_root(a)) for a in arguments if a.shape}
        roots = [id(_root(leaf)) for leaf in leaves if type(leaf) is TrackedArray and leaf.shape]
        if len(set(roots)) != len(roots):
            raise self._region.refuse("scalars", "one array leaves it twice")
        # Writes to large arrays may be missed.
        large = {id(_root(a)) for a in arguments if a.shape and 8 * a.size > LARGEST_COMPARED}
        if not (large if self._region.may_hand_through else given).isdisjoint(roots):
            raise self._region.refuse("scalars", "an array goes through it unchanged, and may be written to")
        return leaves

    def check_state(self) -> None:
        """Raise where something that it reads has changed since its first path was recorded."""
        if not (self.state.is_same() and self.state.are_arrays_same()):
            raise self._region.refuse("calls", "what it reads has changed")


# A region with more paths is left to the paths of the whole.
MOST_PATHS = 48

# What a call may raise in any form.
_STAYS = (GuardFailed, NewTape, UnstableBranch, LoopTooLong, RecursionTooDeep)


def _root(array: TrackedArray) -> Tree:
    while array._view is not None and type(array._view.base) is TrackedArray:
        array = array._view.base
    return array
