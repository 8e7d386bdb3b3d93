"""A call of a guarded function, and the key of its tapes: types, static values, the value of the user's guard."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from ...functions.callees.path_messages import site_of
from ...ir.arguments import called_by_name, keywords_of, unwrap
from ...ir.containers import flatten_argument, is_container
from ...ir.instruction import Tree, UserFunction, ValueType
from ...ir.keys import EXACT, static_key, value_key
from ...ir.pytree import ARRAY, TreeDef, has_first_entries, static_leaf, unflatten
from ...ir.tape import Tape
from ...recording.arguments.bind_call import BoundCall, bind_call, no_whole_numbers
from ...recording.arguments.declared_sizes import example, sizes_in
from ...recording.arguments.int_arguments import ANY_INT_KEY, AnyInt, IntArguments
from ...recording.arguments.size_arguments import SETTLED, Extents, SizeArguments, with_sizes
from ..evaluate.direct_calls import NoForm, form_of, leaf_form
from ..evaluate.joined import joined_arrays
from .reason import Counts, Specialisation


class CallKey(NamedTuple):
    """Equal for calls that share tapes: types and activity of the inputs, static values, the user's guard."""

    types: tuple[ValueType, ...]
    active: tuple[bool, ...]
    static: Hashable
    guard: Hashable


class KeyedCall(NamedTuple):
    """The sorted arguments of one call, with the key of its tapes."""

    bound: BoundCall
    key: CallKey
    specialisation: Specialisation
    args: Sequence[Tree]
    argnums: tuple[int, ...]

    @property
    def takes_ints(self) -> bool:
        """True if ints are data."""
        return any(kind is AnyInt for _, kind, _ in self.bound.static)

    @property
    def extents(self) -> Extents | None:
        """The sizes that are data."""
        return None if self.bound.plain is None else self.bound.static[-1][2]

    @property
    def in_own_sizes(self) -> tuple[BoundCall, Extents]:
        """The call with its own sizes, and the sizes that are data, which exist."""
        assert self.bound.plain is not None
        return self.bound.plain, self.bound.static[-1][2]

    @property
    def differentiates_sizes(self) -> bool:
        """True if an array of a size that is data is differentiated."""
        return self.extents is not None and any(number in self.bound.argnums for number, _, _ in self.extents.axes)


class GuardedFunction:
    """The function of a GuardedTape, the user's guard, and the int arguments that are data.

    Attributes:
        f, guard: see GuardedTape.
        guard_site: where the guard is defined; empty without one.
        ints: the int arguments that are data.
        sizes: the sizes of arrays that are data.
        settles_results: results have the shapes of the point at which they were recorded, for derivatives of them.
        counts: what has happened so far.
        name: in messages.
        has_aux: the function returns (y, aux).
    """

    __slots__ = ("counts", "f", "guard", "guard_site", "has_aux", "ints", "name", "settles_results", "sizes")

    def __init__(self, f: UserFunction, guard: UserFunction | None, name: str, has_aux: bool) -> None:
        self.f, self.guard, self.name, self.has_aux = f, guard, name, has_aux
        self.guard_site = "" if guard is None else site_of(guard)
        self.ints, self.sizes, self.counts, self.settles_results = IntArguments(), SizeArguments(), Counts(), False

    def declare(self, specs: Sequence[Tree]) -> None:
        """Take declared sizes as data from the first call on."""
        sizes = sizes_in(specs)
        smaller, larger = (
            bind_call(self.f, example(specs, {size: k + more for k, size in enumerate(sizes)}), (), self.ints.data) for more in (2, 3)
        )  # fmt: skip
        pairs, both = {k + 2: size for k, size in enumerate(sizes)}, zip(smaller.inputs, larger.inputs)
        declared = [[n if n == other else pairs[n] for n, other in zip(a.shape, b.shape)] for a, b in both]
        self.sizes.declare(smaller, larger, declared)

    def call(
        self, args: Sequence[Tree], argnums: tuple[int, ...], guard_value: tuple[Hashable, ...] = (), with_data: bool = True,
        with_sizes_as_data: bool = False,
    ) -> KeyedCall:
        """Sort the arguments of a call and make its key.

        Args:
            args, argnums: the arguments, and those to differentiate by.
            guard_value: of the user's guard if it was called already: one value, else empty.
            with_data: True if ints may be data.
            with_sizes_as_data: True if sizes may be data.
        """
        bound = bind_call(self.f, args, argnums, self.ints.data if with_data else no_whole_numbers, self.has_aux)
        if self.guard is not None and not guard_value:
            guard_value = (self.value_of_guard(args),)
        extents = self.sizes.extents(bound) if with_sizes_as_data else None
        if extents is not None:
            bound = with_sizes(bound, extents, joined_arrays())
        types = tuple(ValueType(a.shape, a.dtype) for a in bound.inputs)
        specialisation = Specialisation(types, bound.static, guard_value)
        return KeyedCall(bound, self.key(specialisation, bound.active), specialisation, args, argnums)

    def again(self, call: KeyedCall, *, with_ints: bool = True) -> KeyedCall:
        """A call with its own sizes, and unless `with_ints` its own ints; the user's guard is not called again."""
        return self.call(call.args, call.argnums, call.specialisation.guard_value, with_ints and call.takes_ints)

    def settles(self, tape: Tape) -> bool:
        """From now on give results the shapes of one point, if those of a tape are data. True if they were."""
        if not has_first_entries(tape.result):
            return False
        self.settles_results = True
        return True

    def value_of_guard(self, args: Sequence[Tree]) -> Tree:
        """Evaluate the user's guard, which must exist."""
        assert self.guard is not None
        return called_by_name(self.guard, list(map(for_guard, args)), keywords_of(args))

    def bound(self, f: UserFunction, call: KeyedCall) -> BoundCall:
        """Bind another function with the same parameters, with its arguments sorted in the same way."""
        bound = bind_call(f, call.args, call.argnums, self.ints.data if call.takes_ints else no_whole_numbers, self.has_aux)
        return bound if call.extents is None else with_sizes(bound, call.extents, joined_arrays())

    def key(self, specialisation: Specialisation, active: tuple[bool, ...]) -> CallKey:
        """The key of tapes for calls of one kind, whose inputs are `active`."""
        static = tuple(
            (position, value if position < 0 else ANY_INT_KEY if kind is AnyInt else static_key(value))
            for position, kind, value in specialisation.static
        )
        if self.settles_results:
            static = (*static, (SETTLED, True))
        guard_key = () if self.guard is None else value_key(specialisation.guard_value[0], self.guard_site)
        return CallKey(specialisation.types, active, static, guard_key)


def forms_of(call: KeyedCall) -> tuple[TreeDef, ...]:
    """The form of each argument of a call; see direct_calls.

    Raises:
        NoForm: the full path has to sort them.
    """
    fixed, trees = call.bound.fixed, call.bound.trees or (ARRAY,) * len(call.args)
    positions, inputs = itertools.count(), iter(call.bound.inputs)

    def leaf(argument: Tree) -> TreeDef:
        if next(positions) in fixed:
            if type(argument) not in EXACT:
                raise NoForm
            return static_leaf(argument)
        value = next(inputs)
        return leaf_form(argument, ValueType(value.shape, value.dtype))

    return tuple([form_of(tree, argument, leaf) for tree, argument in zip(trees, call.args)])


def for_guard(argument: Tree) -> Tree:
    """An argument for the user's guard: unchanged, but arrays are read-only."""
    if type(argument) is np.ndarray:
        view = argument[...]
        # A third of the time of `flags.writeable = False`; with a keyword it takes half of that.
        view.setflags(False)  # pyright: ignore[reportCallIssue]
        return view
    argument = unwrap(argument)
    if is_container(argument):
        leaves, tree = flatten_argument(argument)
        return unflatten(tree, map(for_guard, leaves))
    if isinstance(argument, list):
        argument = np.asarray(argument)
    if isinstance(argument, np.ndarray):
        argument = argument.view()
        argument.flags.writeable = False
    return argument
