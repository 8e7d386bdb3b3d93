"""Python ints that may overflow int64: magnitudes, by those of operands; a possible overflow restricts the recording to one path."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ....ir.instruction import CONSTANT
from ....recording.arrays.tracked import TrackedArray
from ...anything import Object
from ..values import Unjoinable, inputs_of, op_of, state
from .bounds import magnitude
from .python_numbers import BOOL, is_python

# Bound of int64.
_LARGEST = 2.0**63
# Assumed bound of ints of unknown origin, such as positions, and of those converted from floats.
_USUAL = 2.0**31
# Bound of powers with data-dependent exponents: floats that guards keep exact.
_EXACT = 2.0**53
# Assumed bound at the start of a loop, and the number of iterations after which factors make ints too large.
_AT_START, _ITERATIONS = 2.0**20, 128
# Bound, at the end of each iteration, of an int that grows by a factor.
LARGEST_CARRIED = 2**40
TOO_LARGE = "an int may be too large for 64 bits", "bound it with min or %, or compute with floats"


def _power(sizes: list[float], params: tuple[Object, ...]) -> float:
    size, exponent = sizes[0], params[0] if params else sizes[1]
    return size**exponent if exponent * math.log2(size + 1) < 1000 else math.inf


_BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
_Rule = Callable[[list[float], tuple[Object, ...]], float]

_RULES: dict[str, _Rule] = {
    "add": lambda sizes, _: sizes[0] + sizes[1],
    "subtract": lambda sizes, _: sizes[0] + sizes[1],
    "multiply": lambda sizes, _: sizes[0] * sizes[1],
    "square": lambda sizes, _: sizes[0] ** 2,
    "integer_power": _power,
    "power": _power,
    "select": lambda sizes, _: max(sizes[1:]),
    "remainder": lambda sizes, _: sizes[1],
    # Less than the next power of 2.
    **dict.fromkeys(_BITWISE, lambda sizes, _: 2 * max(sizes)),
    **dict.fromkeys("negative absolute floor_divide".split(), lambda sizes, _: sizes[0]),
    **dict.fromkeys("minimum maximum".split(), lambda sizes, _: max(sizes)),
}  # fmt: skip
_GROWING = frozenset("add subtract multiply square integer_power power".split())


def check_ints(recorder: Object) -> None:
    """Refuse a recording with ints that may overflow, in favour of a single path."""
    has_numbers = any(kind is not BOOL for kind in state.kinds.values())
    narrow = _narrow(recorder) if has_numbers else None
    if narrow is not None or (has_numbers and recorder.has_narrow_constants):
        what = "numbers of Python's meet those of another dtype than float64 and int64"
        raise Unjoinable(what, "convert arrays by .astype(float)", narrow and narrow.site)
    if (large := _too_large(recorder, _sizes(recorder, _ints(recorder), {}))) is not None:
        raise Unjoinable(*TOO_LARGE, recorder.instructions[large].site)


def _too_large(recorder: Object, sizes: dict[int, float]) -> int | None:
    """The first int that may overflow."""
    return next((number for number, size in sizes.items() if size >= _LARGEST and _is_of_python(recorder, number)), None)


def _narrow(recorder: Object) -> Object:
    """The first instruction of a narrower dtype, which Python ints do not change."""
    columns = recorder.instructions
    made = getattr(columns, "templates", columns)
    return next((one for one in made if getattr(one.type, "dtype", np.dtype(bool)).kind in "fiu" and one.type.dtype not in _WIDE), None)


_WIDE = (np.float64, np.int64)


def growing_ints(recorder: Object, inputs: list[TrackedArray], results: list[Object], limited: set[int]) -> set[int]:
    """The carries of a loop that have to be limited, in order that no int overflows; those in `limited` are."""
    ints = _ints(recorder)
    carries = {k: (a._id, b) for k, (a, b) in enumerate(zip(inputs, results)) if type(b) is TrackedArray and b.type.dtype.kind == "i"}
    at_start = {k: LARGEST_CARRIED if k in limited else _AT_START for k in carries}
    for _ in range(_ITERATIONS if ints else 0):
        sizes = _sizes(recorder, ints, {a: at_start[k] for k, (a, _) in carries.items()})
        at_end = {k: sizes.get(b._id, _USUAL) for k, (_, b) in carries.items() if k not in limited}
        if (large := _too_large(recorder, sizes)) is not None:
            growing = {k for k, size in at_end.items() if size > LARGEST_CARRIED}
            if not growing:
                raise Unjoinable(*TOO_LARGE, recorder.instructions[large].site)
            return growing
        if all(size <= at_start[k] for k, size in at_end.items()):
            break
        at_start.update((k, max(at_start[k], size)) for k, size in at_end.items())
    return set()


def _sizes(recorder: Object, ints: list[Object], given: dict[int, float]) -> dict[int, float]:
    """A bound of each int's magnitude, in the order of the recording."""
    known: dict[int, float] = {}
    for number, (op, inputs, params, *_) in ints:
        if number in given:
            size = given[number]
        elif op is CONSTANT:
            size = float(np.max(np.abs(params[0].astype(float)), initial=0.0))
        elif (rule := _RULES.get(op.name)) is not None:
            size = rule([known.get(k, 1.0) for k in inputs], params)
            if op.name in _BITWISE:
                # Bounds know of signs: they do not grow from one operation to the next.
                size = min(size, magnitude(recorder, number))
        else:
            size = _EXACT if op.name == "convert" and _is_power(recorder, inputs[0]) else _USUAL
        known[number] = min(size, _LARGEST) if op.name in _GROWING else size
    return known


def _is_power(recorder: Object, number: int) -> bool:
    return op_of(recorder, number).name == "rint" and op_of(recorder, inputs_of(recorder, number)[0]).name == "power"


def _ints(recorder: Object) -> list[tuple[int, Object]]:
    """The instructions that give ints; empty if they cannot grow."""
    columns = recorder.instructions
    made = getattr(columns, "templates", columns)
    if not state.kinds or not any(one.op.name in _GROWING and _is_int(one) for one in made):
        return []
    wanted = [_is_int(one) for one in made]
    return [(k, columns[k]) for k, which in enumerate(getattr(columns, "which", range(len(made)))) if wanted[which]]


def _is_int(made: Object) -> bool:
    return getattr(getattr(made.type, "dtype", None), "kind", "") == "i"


def _is_of_python(recorder: Object, number: int) -> bool:
    """True for possible Python ints, which are exact; NumPy's wrap around in both."""
    op, _, _, type_, *_ = recorder.instructions[number]
    if type_.shape or op.name not in _GROWING:
        return False
    return is_python(TrackedArray(recorder, number, None, type_)) is not False
