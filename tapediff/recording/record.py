"""td.record: runs the user's function once on tracked arrays and returns the tape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import DtypeMismatch
from ..ir.arguments import ACCEPTED, Constant, argument_name, as_float_array, as_recorded, keywords_of
from ..ir.containers import flatten_arguments
from ..ir.instruction import Operand, Outcome, Tree, UserFunction
from ..ir.tape import Tape
from .arguments.bind_call import positional
from .arguments.flat_function import FlatFunction, argument_names, by_position
from .arrays.tracked import TrackedArray
from .python_state.randomness import Draws
from .recorder import Recorder


def record(f: UserFunction, *args: Tree, prescribed: Sequence[Outcome] = (), has_aux: bool = False, **named: Tree) -> Tape:
    """Run a function once on tracked arrays and return the tape of its operations.

    Args:
        f: a function of float arrays or floats, in plain NumPy; returns a real number, an array, or a container of these.
        args: where to record: floats or float arrays of any shape, which may be differentiated; integers, booleans and values
            wrapped in td.Constant are data, which may change from call to call. Where Python needs an integer it is guarded. Tuples,
            lists, dicts, named tuples and dataclasses of these; what else is in them (strings, None, bools) is part of their structure,
            which the tape is for.
        prescribed: outcomes for the first guards (used by GuardedTape).
        has_aux: f returns (y, aux), as the tape will: derivatives are of y, and aux may be any container. What in it depends on the
            arguments is recomputed at each call; the rest stays as it is.
        named: further arguments by name. The tape takes by position those that f does, and all by name.

    Returns:
        The tape, valid wherever its guards hold.

    Raises:
        DtypeMismatch: no argument is real floating point, or one is no number at all.
        UnsupportedFunction, TrackedValueEscaped: naming the user's line and the fix.

    Cost: one call of f, plus about 2 µs per operation.
    """
    name = getattr(f, "__name__", type(f).__name__)
    if named:
        args = positional(f, args, named)
    draws = Draws((f,))
    f = by_position(f, args)
    leaves, trees = flatten_arguments(args, (), f)
    tape = Recorder(name, prescribed=prescribed).run(_record, f if trees is None else FlatFunction(f, trees), leaves, has_aux)
    draws.warn(name)
    return replace(tape, arguments=trees, names=tuple(argument_names(f, len(args))), named_only=len(keywords_of(args)))


def _record(recorder: Recorder, f: UserFunction, args: Sequence[Operand], has_aux: bool) -> Tape:
    tracked = [recorder.input(array, active=active) for array, active in _entered(f, args)]
    recorder.python_ints = {t._id for t, a in zip(tracked, args) if type(a) is int}
    return recorder.finish(f(*tracked), has_aux)


def _entered(f: UserFunction, args: Sequence[Operand]) -> list[tuple[np.ndarray, bool]]:
    """The arguments as arrays, and which may be differentiated."""
    plain = [Constant(plain_value(a.value)) if type(a) is Constant else plain_value(a) for a in args]
    entered = [as_recorded(argument, position, f) for position, argument in enumerate(plain)]
    if not entered and isinstance(f, FlatFunction):
        raise DtypeMismatch(f"{argument_name(0, f.f)} must hold floats to be differentiated", got="a container without arrays",
                            fix=f"pass {ACCEPTED}")  # fmt: skip
    if not any(active for _, active in entered):
        for position, argument in enumerate(plain):
            if type(argument) is not Constant:
                as_float_array(argument, position, f)  # raises: integers beside no floats are a point of the wrong dtype
    return entered


def plain_value(argument: Operand) -> Operand:
    """A tracked argument's current value."""
    if type(argument) is TrackedArray:
        argument._refresh()
        return argument._value
    return argument
