"""Sub-tapes: a function that becomes one instruction of a recording, with variants that are recorded and compiled separately."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from types import MethodType
from typing import ParamSpec, TypeVar, overload

from ..base.held_locks import holding
from ..base.source_location import Site
from ..errors import ArgumentMismatch
from ..ir.arguments import unwrap
from ..ir.instruction import BOOL, Operand, Tree, UserFunction, ValueType, is_tracked
from ..ir.keys import value_key
from ..ir.pytree import TreeDef, flatten, has_values, unflatten
from ..recording.arguments.static import Static, boxed, static_of, unboxed
from ..recording.recorder import current_recorder
from .callees.body import Body, as_operand, call, caught_outside, merges_bodies, type_of
from .callees.callee import LOCK
from .callees.path_messages import site_of
from .callees.recorded_callee import RecordedCallee
from .captured.freeze import Frozen, freeze
from .captured.pickling import Portable, found, place_of
from .state_changes import warn_of_changes

# The signature of a function, which wrapping does not change.
P = ParamSpec("P")
R = TypeVar("R")


class SubTape:
    """A function that is one instruction of any recording that calls it. See td.subtape."""

    def __init__(
        self, f: Callable[..., object], guard: Callable[..., object] | None, static: Static | None, max_tapes: int, compiled: bool,
        name: str | None, merge: bool | None, callees: dict[Hashable, tuple[RecordedCallee, Body]] | None = None,
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, f)
        self.f, self.guard, self.static = f, guard, static or static_of(f)
        self.max_tapes, self.compiled, self.merge = max_tapes, compiled, merge
        self.name = name or getattr(f, "__name__", type(f).__name__)
        self._callees: dict[Hashable, tuple[RecordedCallee, Body]] = {} if callees is None else callees

    @property
    def is_asked_at_each_call(self) -> bool:
        """True if a user's guard tells changes of its environment apart."""
        return self.guard is not None

    def __call__(self, *args: Tree, **kwargs: Tree) -> Tree:
        """f itself on plain arrays; one instruction where an argument, or a variable that f closes over, is tracked."""
        args = tuple(map(unwrap, args))
        recorder = current_recorder()
        if recorder is None or recorder.inlines:
            return self.f(*args, **kwargs)
        leaves, treedef = flatten(boxed(self.static, self.f, args, kwargs), arguments=True)
        frozen = freeze(self.f) if self.guard is None else freeze(self.f, self.guard, is_live=True)
        operands = [as_operand(leaf) for leaf in leaves] + frozen.tracked
        if not any(map(is_tracked, operands)) or caught_outside():
            return self.f(*args, **kwargs)
        callee, body = self._callee(treedef, frozen, [type_of(o) for o in operands])
        return call(callee, body, operands, leaves, frozen)

    def __get__(self, instance: object, owner: type | None = None) -> SubTape:
        """A method, which closes over the attributes of its object."""
        if instance is None:
            return self
        guard = None if self.guard is None else MethodType(self.guard, instance)
        static = None if self.static is None else self.static.without_first(self.f)
        return SubTape(
            MethodType(self.f, instance), guard, static, self.max_tapes, self.compiled, self.name, self.merge, self._callees
        )

    def __copy__(self) -> SubTape:
        return self

    def __deepcopy__(self, _: object) -> SubTape:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        place = place_of(self)
        if place is not None and found(*place) is self:
            return found, place
        parts = (Portable(self.f), Portable(self.guard), self.static, self.max_tapes, self.compiled, self.name, self.merge)
        return SubTape, parts

    def _tapediff_rebuilt(self, rebuild: Callable[[object], UserFunction]) -> SubTape:
        """Replace its closure variables; the tapes are shared, and keyed by these variables."""
        f, guard = rebuild(self.f), rebuild(self.guard)
        if f is self.f and guard is self.guard:
            return self
        return SubTape(f, guard, self.static, self.max_tapes, self.compiled, self.name, self.merge, self._callees)

    @holding(LOCK)
    def _callee(self, treedef: TreeDef, frozen: Frozen, types: Sequence[ValueType]) -> tuple[RecordedCallee, Body]:
        # The user's guard decides which variants there are.
        merges = self.guard is None and (merges_bodies() if self.merge is None else self.merge)
        key = (treedef, frozen.key, tuple(types), merges)
        known = self._callees.get(key)
        if known is None:
            warn_of_changes(self.f, self.name)
            ask = None if self.guard is None else _Asked(self.guard, frozen.owned(), treedef)
            run = functools.partial(_run_guarded, ask)
            body = Body(self.name, frozen, treedef, run, merges=merges)
            callee = RecordedCallee(self.name, types, body, is_compiled=self.compiled, most_compiled=self.max_tapes, ask=ask)
            known = self._callees[key] = callee, body
        return known

    # Reports

    @property
    def recordings(self) -> int:
        """The number of variants recorded so far."""
        return sum(callee.recordings for callee, _ in self._callees.values())

    @property
    def has_branches(self) -> bool:
        """True if a variant has guards, calls what may have them, or holds several paths."""
        return any(callee.may_branch or callee.is_merged for callee, _ in self._callees.values())

    def explain(self) -> str:
        """The recorded variants, as text: for each kind of arguments its variants, with the lines and outcomes of their paths."""
        lines = [f"sub-tape {self.name}: {self.recordings} variants recorded"]
        for callee, _ in self._callees.values():
            lines.append(f"  for {', '.join(map(str, callee.in_types))}")
            for number, variant in callee.variants.items():
                lines.append(f"    variant {number}: {len(variant.tape)} instructions")
                lines += [f"      {guard}" for guard in variant.tape.guards]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<SubTape of {self.name}: {self.recordings} variants>"


class _Asked:
    """The value of the user's guard at plain inputs, for a guard that reads more than its arguments.

    Attributes:
        is_needed: True if the guard's value was not fully tracked when it was recorded.
    """

    def __init__(self, guard: Callable[..., object], frozen: Frozen, treedef: TreeDef) -> None:
        self.guard, self._frozen, self._treedef = guard, frozen, treedef
        self.is_needed = False
        code = getattr(guard, "__code__", None)
        self._site = None if code is None else Site(code, 0)

    def __call__(self, inputs: Sequence[Operand]) -> Hashable:
        first_hole = len(inputs) - self._frozen.hole_count
        (_, guard), *_ = self._frozen.filled(inputs[first_hole:])
        args, kwargs = _unboxed(unflatten(self._treedef, inputs[:first_hole]))
        return value_key(guard(*args, **kwargs), site_of(self.guard))

    def observe(self, value: Tree) -> None:
        """Guard the tracked part of the user's guard value; the rest has to be evaluated at every call."""
        leaves, treedef = flatten(value, arguments=True)
        for leaf in leaves:
            if not is_tracked(leaf):
                self.is_needed = True
                continue
            one = leaf.type.size == 1
            kind = "bool" if one and leaf.dtype == BOOL else ("int" if one and leaf.dtype.kind == "i" else "array")
            with leaf._recorder.at(self._site):
                leaf._recorder.observe(leaf, kind)
        self.is_needed |= not leaves or has_values(treedef)


def _unboxed(tree: Tree) -> tuple[tuple[Tree, ...], dict[str, Tree]]:
    args, kwargs = tree
    return tuple(map(unboxed, args)), {name: unboxed(value) for name, value in kwargs.items()}


def _run_guarded(ask: _Asked | None, functions: list[Callable[..., Tree]], tree: Tree) -> Tree:
    args, kwargs = _unboxed(tree)
    if ask is not None:
        ask.observe(functions[1](*args, **kwargs))
    return functions[0](*args, **kwargs)


@overload
def subtape(
    f: Callable[P, R], guard: UserFunction | None = None, *, static: Static | None = None, max_tapes: int = 64,
    compiled: bool = True, name: str | None = None, merge: bool | None = None,
) -> Callable[P, R]: ...  # fmt: skip
@overload
def subtape(
    f: None = None, guard: UserFunction | None = None, *, static: Static | None = None, max_tapes: int = 64,
    compiled: bool = True, name: str | None = None, merge: bool | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...  # fmt: skip
def subtape(
    f: UserFunction | None = None, guard: UserFunction | None = None, *, static: Static | None = None,
    max_tapes: int = 64, compiled: bool = True, name: str | None = None, merge: bool | None = None,
) -> UserFunction:  # fmt: skip
    """Wrap a function so that it is one instruction of the recordings that call it.

    The instruction has tapes of its own, one for each path through f. Which of them runs is decided at every call; a new path
    is recorded and compiled alone, and a caller that is compiled already picks it up. So n calls of a function with one branch
    are two small tapes, where without the wrapping they would be up to 2**n tapes of the caller.

    Args:
        f: arrays, numbers, and tuples, lists and dicts of these in and out, of any shapes; the same results on every path. Bools,
            strings, None and other hashable objects are specialised on. May be left out: @td.subtape(max_tapes=8).
        guard: called with f's arguments; its value is part of the key of variants. Guards found by recording hold all the same.
        static: td.static(...), the arguments to specialise on.
        max_tapes: paths beyond this many are replayed with NumPy instead of compiled.
        compiled: False: its variants are always replayed with NumPy, also inside a compiled caller.
        name: of the function, in messages.
        merge: None: merge the branches in f, so that one variant serves their paths, unless the recording around it says
            otherwise. False: never. With a user's guard, branches are not merged.

    Returns:
        A function like f. Called with plain arrays it is f.

    Warns:
        GuardWarning: f changes something that outlives it (an attribute, a list, a global; it prints), which happens once for each path.

    Raises:
        ArgumentMismatch, ShapeMismatch: when a path returns other types than the first one did.
        UnsupportedFunction: f writes into its arguments.

    Cost: about 20 ns a call and direction inside a compiled caller; the reverse pass computes f again instead of storing its
    intermediate values.
    """
    if f is None:
        return lambda function: subtape(
            function, guard, static=static, max_tapes=max_tapes, compiled=compiled, name=name, merge=merge
        )
    if not callable(f):
        raise ArgumentMismatch("td.subtape takes a function", got=type(f).__name__, fix="td.subtape(f)")
    return SubTape(f, guard, static, max_tapes, compiled, name, merge)


def checkpoint(f: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function so that the reverse pass stores its inputs only, and computes the rest again when it needs it.

    Args:
        f: as for td.subtape, an alias: calls of sub-tapes store no more than their inputs.

    Returns:
        A function like f.

    Cost: f is computed twice in a gradient; its intermediate values are not stored.
    Source: Griewank and Walther (2000), ACM TOMS 26(1), for the idea of trading stores for recomputation.
    """
    return subtape(f)
