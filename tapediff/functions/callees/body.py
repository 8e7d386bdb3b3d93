"""Bodies: the functions that an instruction with a callee runs, and the recording of its calls."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ...base.byte_code import is_held_elsewhere
from ...base.held_locks import drop_oldest, holding
from ...base.source_location import Site, user_site
from ...errors import ArgumentMismatch, StaleTape, UnsupportedFunction
from ...ir.arguments import as_data_array
from ...ir.instruction import BOOL, FLOAT64, INT64, Operand, Tree, ValueType, is_tracked
from ...ir.pytree import TreeDef, describe_treedef, flatten, integers, unflatten
from ...numpy_api.joining import stack_objects
from ...ops.control.calls import CALL, GET
from ...recording.aliases import Aliases
from ...recording.call_arrays import note_results, watch_results
from ...recording.joined_forms import joined_form
from ...recording.recorder import current_recorder
from ..captured.freeze import Frozen
from .callee import LOCK
from .path_messages import short
from .recorded_callee import RecordedCallee


class Body:
    """The functions that a callee's variants are recorded from, and the treedefs of their arguments and results.

    Args:
        frozen: the functions.
        treedef: of the tree that `run` gets.
        run: run(functions, tree) gives a tree of results.
        keeps_arguments: True if writing into an argument is an error, as the caller's array would have to change too.
        merges: True if one variant holds all paths that can be joined.

    Attributes:
        has_merged: paths were joined.
    """

    def __init__(
        self, name: str, frozen: Frozen, treedef: TreeDef, run: Callable[[list[Callable[..., Tree]], Tree], Tree], *,
        keeps_arguments: bool = True, merges: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.treedef, self._run, self._keeps_arguments = name, treedef, run, keeps_arguments
        self.merges, self.has_merged = merges, False
        self._frozen = frozen.owned()
        self._count = 0
        self.results: TreeDef | None = None
        self.aliases = Aliases(name)
        self._integers = integers(treedef)
        self.site = user_site(2)

    @property
    def functions(self) -> list[Callable[..., Tree]]:
        """The frozen functions."""
        return self._frozen._functions

    def __call__(self, arguments: Sequence[Operand]) -> list[Operand]:
        """Run on tracked arrays: the leaves of the tree, then the inputs that replace the tracked values of the closure."""
        self._check_globals()
        first_hole = len(arguments) - self._frozen.hole_count
        if self._integers:
            arguments[0]._recorder.python_ints = {arguments[k]._id for k in self._integers}
        functions, containers_changed, held = self._frozen.filled(arguments[first_hole:])
        result = self._run(self._forms(functions), unflatten(self.treedef, arguments[:first_hole]))
        leaves, treedef = flatten(result)
        if self.results is None:
            self.results = treedef
        elif treedef != self.results:
            raise ArgumentMismatch(
                f"{self.name} returned something of another structure than on another path", at=self.site,
                got=f"{describe_treedef(treedef)}, before {describe_treedef(self.results)}",
                fix="return the same tuples and dicts on every path",
            )  # fmt: skip
        self._check_writes(arguments if self._keeps_arguments else arguments[first_hole:], containers_changed)
        if self._keeps_arguments:
            is_held = isinstance(result, (tuple, list, dict)) and is_held_elsewhere((result,), 1)
            note_results(self.aliases, leaves, arguments, held, is_held)
        return leaves

    def _forms(self, functions: list[Callable[..., Tree]]) -> list[Callable[..., Tree]]:
        """The functions as they are recorded."""
        if not self.merges:
            return functions
        return [joined_form(function, self._note) for function in functions]

    def _note(self, report: Any) -> None:
        self.has_merged |= bool(report.merged)

    def _check_writes(self, protected: Sequence[Operand], containers_changed: Callable[[], bool]) -> None:
        if any(argument._writes for argument in protected):
            raise UnsupportedFunction(
                f"{self.name} writes into an array that it was given", at=self.site,
                fix="write into a copy, x = x.copy(), and return that",
            )  # fmt: skip
        if containers_changed():
            raise UnsupportedFunction(
                f"{self.name} changes a list, dict or object that it closes over", at=self.site,
                fix="return what it adds, and add it outside",
            )  # fmt: skip

    def _check_globals(self) -> None:
        changed = self._frozen.changed_global()
        if changed is not None:
            name, before, now = changed
            became = f"was {short(before)} and is {short(now)}" if now is not before else "holds something else"
            raise StaleTape(
                f"{self.name} takes a path that has no tape yet, and a global has changed since its other paths were recorded",
                at=self.site, got=f"{name} {became}", tape_value=before, function_value=now,
            )  # fmt: skip


def merges_bodies() -> bool:
    """True if sub-tapes and loop bodies that are recorded now hold all their paths."""
    recorder = current_recorder()
    return recorder is None or recorder.merges


# The latest callees of td.cond, td.scan and so on, whose functions are often new objects at every recording.
_MOST_RECENT = 512
_recent: OrderedDict[Hashable, tuple[RecordedCallee, Body]] = OrderedDict()


@holding(LOCK)
def kept_callee(
    name: str, key: Hashable, frozen: Frozen, types: Sequence[ValueType], make: Callable[[], Body], *,
    stops: bool = False, branches_to_inline: int = 0, may_merge: bool = True,
) -> tuple[RecordedCallee, Body]:  # fmt: skip
    """The callee of these functions and types, made at first use; functions of equal code and variables share one."""
    merges = may_merge and merges_bodies()
    full = (name, key, frozen.key, tuple(types), stops, branches_to_inline, merges)
    known = _recent.get(full)
    if known is None:
        body = make()
        body.merges = merges
        callee = RecordedCallee(name, types, body, stops=stops, branches_to_inline=branches_to_inline)
        known = _recent[full] = callee, body
        drop_oldest(_recent, _MOST_RECENT)
    else:
        _recent.move_to_end(full)
    return known


# Operands


def as_operand(leaf: Operand) -> Operand:
    """An array or number as an operand of a call: tracked, or a plain array of a dtype that tapes hold."""
    if is_tracked(leaf):
        leaf._refresh()
        return leaf
    if isinstance(leaf, np.ndarray) and leaf.dtype == object:
        return stack_objects(leaf)
    return as_data_array(leaf, 0)[()]


def type_of(operand: Operand) -> ValueType:
    if is_tracked(operand):
        return operand.type
    dtype = np.asarray(operand).dtype
    return ValueType(np.shape(operand), {FLOAT64: FLOAT64, INT64: INT64, BOOL: BOOL}.get(dtype, dtype))


def value_of(operand: Operand) -> Operand:
    """The value of an operand at record time, as a plain array or number."""
    return operand._value if is_tracked(operand) else operand


def items_of(returned: Operand, count: int) -> list[Operand]:
    return [GET(returned, k=k) for k in range(count)]


def call(callee: RecordedCallee, body: Body, operands: Sequence[Operand], leaves: Sequence[Operand], frozen: Frozen) -> Tree:
    """Record one call; the tree of its results. The leaves are the operands as the program has them."""
    returned = CALL(*operands, callee=callee)
    assert body.results is not None, "the call has recorded a variant"
    results = items_of(returned, len(callee.out_types))
    given = [[operand if is_tracked(operand) else leaf] for operand, leaf in zip(operands, leaves)]
    watch_results(body.aliases, results, [*given, *frozen.originals], frozen)
    return unflatten(body.results, results)


def caught_outside() -> Site | None:
    """The `except` that would catch a failed factorisation in a function called now.

    If there is one, the call is inlined: the failure is a path that the caller's tapes must tell apart.
    """
    recorder = current_recorder()
    return None if recorder is None else recorder.handler_of(np.linalg.LinAlgError, managers=False)
