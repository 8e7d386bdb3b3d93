"""Recording: runs the user's function once on tracked arrays and keeps what it does as a tape. Only here does user code run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .arguments import Constant, as_data_array, as_float_array
from .randomness import Draws
from .recorder import Recorder
from .tape import Tape
from .tracked import TrackedArray


def record(f: Callable[..., Any], *args: Any, prescribed: Sequence[Any] = ()) -> Tape:
    """Run a function once on tracked arrays and return what it did as a tape.

    Args:
        f: a function of float arrays or floats, in plain NumPy; returns a real number, an array, or a tuple of these.
        args: where to record: floats or float arrays of any shape; wrap data that changes from call to call but is not
            differentiated in td.Constant.
        prescribed: outcomes for the first guards (used by GuardedTape).

    Returns:
        The tape, valid wherever its guards hold.

    Raises:
        DtypeMismatch: an argument is not real floating point.
        UnsupportedFunction, TrackedValueEscaped: naming the user's line and the fix.

    Cost: one call of f, plus about 2 µs per operation.
    """
    name = getattr(f, "__name__", type(f).__name__)
    draws = Draws((f,))
    tape = Recorder(name, prescribed=prescribed).run(_record, f, args)
    draws.warn(name)
    return tape


def _record(recorder: Recorder, f: Callable[..., Any], args: Sequence[Any]) -> Tape:
    tracked = []
    for position, argument in enumerate(args):
        is_data = type(argument) is Constant
        plain = plain_value(argument.value if is_data else argument)
        array = as_data_array(plain, position) if is_data else as_float_array(plain, position)
        tracked.append(recorder.input(array, active=not is_data))
    return recorder.finish(f(*tracked))


def plain_value(argument: Any) -> Any:
    """A tracked argument's current value."""
    if type(argument) is TrackedArray:
        argument._refresh()
        return argument._value
    return argument
