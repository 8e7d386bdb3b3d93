"""td.record: runs the user's function once on tracked arrays and returns the tape."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..base.settings import log_made
from ..errors import DtypeMismatch
from ..ir.arguments import ACCEPTED, Constant, argument_name, as_float_array, as_recorded, keywords_of
from ..ir.containers import flatten_arguments
from ..ir.instruction import Operand, Outcome, Tree, UserFunction
from ..ir.tape import Tape
from .arguments.bind_call import positional
from .arguments.flat_function import FlatFunction, argument_names, by_position
from .arrays.tracked import TrackedArray
from .finish import finished_tape
from .python_state.draws.drawn_guards import DrawnGuards
from .recorder import Recorder, RecordingStopped

# A recording of so many instructions has taken 30 ms or more, and a gradient takes several times as long again.
LONG = 30_000


def record(
    f: UserFunction, /, *args: Tree, prescribed: Sequence[Outcome] = (), has_aux: bool = False, longest: int | None = None,
    merges: bool = True, **named: Tree,
) -> Tape:  # fmt: skip
    """See td.record, in targets/record_function.py, which also joins paths.

    Args:
        longest: stop the recording when it has more instructions.
        merges: True if the bodies of sub-tapes and loops hold all their paths.

    Raises:
        RecordingStopped: the recording has more than `longest` instructions.
    """
    name = getattr(f, "__name__", type(f).__name__)
    if named:
        args = positional(f, args, named)
    drawn = DrawnGuards((f,))
    f = by_position(f, args)
    leaves, trees = flatten_arguments(args, (), f)
    recorder = Recorder(name, prescribed=prescribed)
    recorder.merges, recorder.longest = merges, longest or sys.maxsize
    flat = f if trees is None else FlatFunction(f, trees, has_aux)
    started = time.perf_counter()
    try:
        tape = recorder.run(_record, flat, leaves, has_aux)
    except Exception:
        if recorder.is_stopped:
            raise RecordingStopped from None
        raise
    if recorder.is_stopped:
        raise RecordingStopped  # the function has caught it
    log_made("recorded a tape", name, len(tape), time.perf_counter() - started, "td.record or td.compile")

    def again() -> Tape:
        other = Recorder(name, prescribed=prescribed, fills=recorder.fills)
        other.merges = merges
        return other.run(_record, flat, leaves, has_aux)

    drawn.refuse(tape, again)
    drawn.draws.warn(name)
    return replace(tape, arguments=trees, names=tuple(argument_names(f, len(args))), named_only=len(keywords_of(args)))


def plain_call(f: UserFunction, /, *args: Tree, has_aux: bool = False, **named: Tree) -> tuple[UserFunction, list[np.ndarray]]:
    """A function of arrays only, and copies of the arrays in its arguments, in plain NumPy."""
    if named:
        args = positional(f, args, named)
    f = by_position(f, args)
    leaves, trees = flatten_arguments(args, (), f)
    arrays = [np.array(array, order="C")[()] for array, _ in _entered(f, leaves)]
    return (f if trees is None else FlatFunction(f, trees, has_aux)), arrays


def plain_result(f: UserFunction, /, *args: Tree, has_aux: bool = False, **named: Tree) -> Tree:
    """The result of a function on copies of its arguments, in plain NumPy."""
    function, arrays = plain_call(f, *args, has_aux=has_aux, **named)
    return function(*arrays)


def _record(recorder: Recorder, f: UserFunction, args: Sequence[Operand], has_aux: bool) -> Tape:
    tracked = [recorder.input(array, active=active) for array, active in _entered(f, args)]
    recorder.python_ints = {t._id for t, a in zip(tracked, args) if type(a) is int}
    return finished_tape(recorder, f(*tracked), has_aux)


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
                as_float_array(argument, position, f)  # raises: integers without any floats are a point of the wrong dtype
    return entered


def plain_value(argument: Operand) -> Operand:
    """A tracked argument's current value."""
    if type(argument) is TrackedArray:
        argument._refresh()
        return argument._value
    return argument
