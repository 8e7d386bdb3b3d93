"""Sorts the arguments of a plain function's call into inputs of the tape and static arguments, on which the tape is specialised."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import ArgumentMismatch
from ...ir.arguments import (
    ArgumentsByName,
    Constant,
    as_data_array,
    as_float_array,
    chosen_arguments,
    container_kind,
    container_refused,
    keywords_of,
    unwrap,
)
from ...ir.containers import Trees, flatten_arguments, positions_of
from ...ir.inputs import by_names
from ...ir.instruction import Operand, Tree, UserFunction, is_tracked
from ...ir.keys import static_key
from ...ir.pytree import describe_treedef
from ...numpy_api.whole_numbers import whole_argument
from .flat_function import FlatFunction, by_position
from .int_arguments import ANY_INT, AnyInt
from .static import guarded_value, static_of


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A function of arrays only, and the arrays it is called with.

    Attributes:
        function: takes exactly `inputs`; the static arguments are filled in.
        inputs: arrays or tracked arrays.
        active: which inputs may be differentiated.
        argnums: the caller's argnums, counted among `inputs`.
        static: position, type and value of the arguments that the tape is specialised on; hashable. Positions count the arrays in
            the arguments; -1 is the structure of containers, -2 the names, -3 the sizes that are data.
        name: the function's name.
        leaves: the arguments, with containers flattened.
        has_aux: the function returns (y, aux).
        plain: the call with arrays of their own sizes, where sizes are data; see size_arguments.
    """

    function: UserFunction
    inputs: tuple[Operand, ...]
    active: tuple[bool, ...]
    argnums: tuple[int, ...]
    static: tuple[Operand, ...]
    name: str
    leaves: Sequence[Operand]
    has_aux: bool = False
    plain: BoundCall | None = None

    @property
    def trees(self) -> Trees | None:
        """The treedefs of the arguments; None without containers."""
        return next((value.trees for _, kind, value in self.static if kind is Structure), None)

    @property
    def fixed(self) -> set[int]:
        """The positions of arguments that are no inputs, as the tape is specialised on them."""
        return {position for position, kind, _ in self.static if position >= 0 and kind is not AnyInt}


@dataclass(frozen=True, slots=True)
class Structure:
    """The treedefs of the arguments of a call, among the values that its tape is specialised on."""

    trees: Trees

    def __repr__(self) -> str:
        return ", ".join(map(describe_treedef, self.trees))


@dataclass(frozen=True, slots=True)
class Keywords:
    """The names of a call's keyword arguments, among the values that its tape is specialised on."""

    names: tuple[str, ...]

    def __repr__(self) -> str:
        return "by name: " + ", ".join(self.names)


def no_whole_numbers(_: Sequence[Operand]) -> Collection[int]:
    return ()


def bind_call(
    f: UserFunction, args: Sequence[Operand], argnums: Sequence[int],
    whole: Callable[[Sequence[Operand]], Collection[int]] = no_whole_numbers, has_aux: bool = False,
) -> BoundCall:  # fmt: skip
    """Sort the arguments of f(*args).

    Containers are flattened; their structure is static, and their leaves are sorted as arguments are. Differentiated arguments and
    floats are differentiable inputs; td.Constant and other arrays are data inputs; Python ints, bools, strings, None, other hashable
    objects and what td.static names are static. Python ints at the positions in `whole`, among all arguments, are data that the
    function sees as ints.

    Raises:
        DtypeMismatch: a differentiated argument is not real floating point.
        ArgumentMismatch: an argnum beyond the arguments, or an argument that is neither an array nor hashable.
    """
    name = getattr(f, "__name__", type(f).__name__)
    argnums, _ = chosen_arguments(argnums, len(args), name) if argnums else ((), False)
    chosen, keywords = _static_positions(f, args), keywords_of(args)
    f = by_position(f, args)
    args = [guarded_value(unwrap(a)) if k in chosen else a for k, a in enumerate(args)]
    leaves, trees = flatten_arguments(args, chosen, f)
    named = [(-2, Keywords, Keywords(keywords))] if keywords else []
    if trees is None:
        call = _bound(f, name, args, argnums, chosen, whole(args), has_aux)
        return replace(call, static=(*named, *call.static)) if named else call
    flat = FlatFunction(f, trees, has_aux)
    positions = positions_of(trees)
    numbers = [
        k for argnum in argnums for k in positions[argnum]
        if trees[argnum].kind is None or _kind(flat, leaves[k], k, False) == "active"
    ]  # fmt: skip
    call = _bound(flat, name, leaves, numbers, [positions[k][0] for k in chosen], whole(leaves), has_aux)
    return replace(call, static=(*named, (-1, Structure, Structure(trees)), *call.static))


def _static_positions(f: UserFunction, args: Sequence[Operand]) -> Sequence[int]:
    """The positions that td.static names, among the arguments of a call."""
    spec = static_of(f)
    if spec is None:
        return ()
    positions, keywords = spec.positions(f), keywords_of(args)
    if not keywords:
        return positions
    count, parameters = len(args) - len(keywords), list(inspect.signature(f).parameters)
    names = [parameters[k] for k in positions if k < len(parameters)]
    return [*(k for k in positions if k < count), *(count + k for k, name in enumerate(keywords) if name in names)]


def _bound(
    f: UserFunction, name: str, args: list[Operand], argnums: Sequence[int], chosen: Collection[int], whole: Collection[int],
    has_aux: bool,
) -> BoundCall:  # fmt: skip
    inputs: list[Operand] = []
    active: list[bool] = []
    static: list[tuple[Operand, ...]] = []
    places: dict[int, int] = {}
    wholes: list[int] = []
    for position, argument in enumerate(args):
        kind = "static" if position in chosen else _kind(f, argument, position, position in argnums)
        if kind == "static" and position in whole and position not in chosen:
            places[position] = len(inputs)
            wholes.append(position)
            inputs.append(np.int64(argument))
            active.append(False)
            static.append((position, AnyInt, ANY_INT))
            continue
        if kind == "static":
            static.append(_static_key(f, name, position, argument))
            continue
        places[position] = len(inputs)
        if is_tracked(argument):
            inputs.append(argument)
        else:
            as_array = as_float_array if kind == "active" else as_data_array
            inputs.append(as_array(argument.value if type(argument) is Constant else argument, position, f)[()])
        active.append(kind == "active")
    for k in argnums:
        if k not in places or not active[places[k]]:
            what, fix = (
                ("td.Constant", "leave td.Constant out") if k in places else ("static", "leave it out of td.static")
            )
            raise ArgumentMismatch(f"argument {k} of {name} is {what}, so it has no gradient", fix=fix)
    function = f if not static else _filled_in(f, args, places, wholes)
    return BoundCall(function, tuple(inputs), tuple(active), tuple(places[k] for k in argnums), tuple(static), name, args, has_aux)


def positional(f: UserFunction, args: Sequence[Operand], named: dict[str, Operand]) -> tuple[Operand, ...]:
    """The arguments of f(*args, **named) by position, except keyword-only ones.

    Args:
        f: a function, or a tape with names for its arguments.

    Raises:
        ArgumentMismatch: a tape was recorded with other arguments.
        TypeError: as f itself would.
    """
    if hasattr(f, "argument_names"):
        return by_names(f, args, named)  # pyright: ignore[reportArgumentType]  # it is one that NamesArguments
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return ArgumentsByName.of((*args, *named.values()), tuple(named))
    bound = signature.bind(*args, **named)
    if not bound.kwargs:
        return bound.args
    return ArgumentsByName.of((*bound.args, *bound.kwargs.values()), tuple(bound.kwargs))


def _kind(f: UserFunction, argument: Operand, position: int, differentiated: bool) -> str:
    if type(argument) is Constant:
        return "data"
    if differentiated:
        return "active"
    if is_tracked(argument):
        return "active" if argument.dtype.kind == "f" else "data"
    if isinstance(argument, (bool, int, str, bytes, type(None))):
        return "static"
    if isinstance(argument, (np.ndarray, np.generic)):
        return "active" if argument.dtype.kind == "f" else "data"
    if isinstance(argument, float):
        return "active"
    if isinstance(argument, list):
        return "active" if as_data_array(argument, position, f).dtype.kind == "f" else "data"
    return "static"


def _static_key(f: UserFunction, name: str, position: int, argument: Operand) -> tuple[Operand, ...]:
    try:
        hash(static_key(argument))
    except TypeError as error:
        container = container_kind(argument)
        if container is not None:
            raise container_refused(container, position, f) from error
        raise ArgumentMismatch(
            f"argument {position} of {name} is neither an array nor hashable, so no tape can be kept for it",
            got=type(argument).__name__, fix="pass its arrays as arguments of their own",
        ) from error  # fmt: skip
    return (position, type(argument), argument)


def _filled_in(
    f: UserFunction, args: list[Operand], places: dict[int, int], whole: Collection[int]
) -> UserFunction:
    def with_static(*inputs: Operand) -> Tree:
        given = [inputs[places[k]] if k in places else a for k, a in enumerate(args)]
        for k in whole:
            given[k] = whole_argument(given[k])
        return f(*given)

    return with_static
