"""While something is recorded, the functions of Python's math module take tracked numbers.

They convert their arguments to floats, which would drop the gradient. So the module's names are replaced, during recordings only, by
functions that check their arguments first; without a tracked number they call Python's own. Differences from NumPy's functions
remain: `math.log(x)` raises ValueError where x is not positive, which is a branch on x, so it is guarded.
A name imported before (`from math import log`) stays Python's, and refuses tracked numbers.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterable
from functools import reduce
from importlib import import_module
from operator import itemgetter

import numpy as np

from ...base.current_recording import current_recorder
from ...base.source_location import user_site
from ...errors import UnsupportedFunction
from ...ir.instruction import FLOAT64, Operand, is_tracked
from ...numpy_api.alternatives import INSTEAD
from ...ops.elementwise.comparison import LOGICAL_AND
from ...ops.elementwise.structure import STOP_GRADIENT
from ..arrays.numbers import logical
from .replacement import Replacement, standing_for

Function = Callable[..., Operand]


def _both(a: Operand, b: Operand) -> Operand:
    """The conjunction of two conditions."""
    if is_tracked(a) and is_tracked(b):
        return logical(LOGICAL_AND, a, b)
    return (b if a else False) if not is_tracked(a) else (a if b else False)


def _holds(*tests: Callable[[], Operand]) -> bool:
    """True if all conditions hold, by guards."""
    return all(test() for test in tests)


def _raise_where(error: Callable[[], Exception], *tests: Callable[[], Operand]) -> None:
    """Raise an error where all conditions hold: by guards, unless the recorder has `raise_where`."""
    recorder = current_recorder()
    if recorder is None or recorder.raise_where is None:
        if _holds(*tests):
            raise error()
        return
    found: Operand = True
    for test in tests:
        if found is False:
            return
        mine = test()
        found = _both(found, mine if is_tracked(mine) else bool(mine))
    recorder.raise_where(found, error)

_DOMAIN = lambda: ValueError("math domain error")  # noqa: E731 -- a new error for each raise
_RANGE = lambda: OverflowError("math range error")  # noqa: E731 -- as above


def _within(function: Function, *outside: Function) -> Function:
    """A function of numbers that raises ValueError where any of the conditions `outside` holds; each is a guard."""

    def call(*args: Operand) -> Operand:
        for condition in outside:
            _raise_where(_DOMAIN, lambda condition=condition: condition(*args))
        return function(*args)

    return call


def _below(function: Function, limit: float, has_sign: bool = False) -> Function:
    """A function that raises OverflowError for finite arguments above `limit`, in absolute value if `has_sign`."""

    def call(x: Operand) -> Operand:
        # The second condition is checked only for large numbers.
        _raise_where(_RANGE, lambda: (np.abs(x) if has_sign else x) > limit, lambda: np.isfinite(x))
        return function(x)

    return call


def _finite(function: Function) -> Function:
    """A function that raises OverflowError where its value is infinite at finite arguments."""

    def call(*args: Operand) -> Operand:
        value = function(*args)
        _raise_where(_RANGE, lambda: np.isinf(value), *(lambda x=x: np.isfinite(x) for x in args))
        return value

    return call


def _special(name: str) -> Function:
    """A function of scipy.special, which few programs need."""
    return lambda x: getattr(import_module("scipy.special"), name)(x)


def _log(x: Operand, base: Operand | None = None) -> Operand:
    _raise_where(_DOMAIN, lambda: x <= 0.0)
    if base is None:
        return np.log(x)
    divisor = _log(base)
    _raise_where(lambda: ZeroDivisionError("division by zero"), lambda: divisor == 0.0)
    return np.log(x) / divisor


def _fmod(x: Operand, y: Operand) -> Operand:
    _raise_where(_DOMAIN, lambda: y == 0.0, lambda: np.logical_not(np.isnan(x)))
    _raise_where(_DOMAIN, lambda: np.isinf(x), lambda: np.logical_not(np.isnan(y)))
    return np.fmod(x, y)


def _pow(x: Operand, y: Operand) -> Operand:
    # Conditions that a constant exponent decides come first.
    is_finite_or_nan = lambda: np.logical_not(np.isinf(x))  # noqa: E731 -- a condition among others
    _raise_where(_DOMAIN, lambda: y != np.floor(y), lambda: x < 0.0, lambda: np.logical_not(np.isnan(y)), is_finite_or_nan)
    _raise_where(_DOMAIN, lambda: y < 0.0, lambda: x == 0.0, lambda: np.logical_not(np.isinf(y)))
    return np.power(x, y)


def _gamma(x: Operand) -> Operand:
    _raise_where(_DOMAIN, lambda: x <= 0.0, lambda: x == np.floor(x))
    return _special("gamma")(x)


def _lgamma(x: Operand) -> Operand:
    _raise_where(_DOMAIN, lambda: x <= 0.0, lambda: x == np.floor(x), lambda: np.logical_not(np.isinf(x)))
    return _special("gammaln")(np.where(np.isinf(x), np.inf, x))


def _dist(p: Operand, q: Operand) -> Operand:
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return _hypot(*(a - b for a, b in zip(p, q)))


def _hypot(*coordinates: Operand) -> Operand:
    """In pairs: a long chain would become a loop, whose iterations do not see that they read squares only."""
    if len(coordinates) < 2:
        return np.abs(coordinates[0]) if coordinates else 0.0
    return np.hypot(*coordinates) if len(coordinates) == 2 else np.hypot.reduce(np.stack(coordinates))


def _is_close(a: Operand, b: Operand, *, rel_tol: Operand = 1e-09, abs_tol: Operand = 0.0) -> bool:
    if a == b:
        return True
    difference = np.abs(a - b)
    return bool(
        np.isfinite(difference) and (difference <= rel_tol * np.maximum(np.abs(a), np.abs(b)) or difference <= abs_tol)
    )


def _fsum(values: list[Operand]) -> Operand:
    """The sum, with a correction for rounding errors (Neumaier 1974), which has no derivative."""
    total: Operand = 0.0
    lost: Operand = 0.0
    for value in values:
        longer = total + value
        lost = lost + np.where(np.abs(total) >= np.abs(value), (total - longer) + value, (value - longer) + total)
        total = longer
    if _holds(lambda: np.logical_not(np.isfinite(total))):
        ends = [lambda end=end: reduce(np.logical_or, [v == end for v in values]) for end in (-np.inf, np.inf)]
        if _holds(lambda: np.isnan(total), *ends):
            raise ValueError("-inf + inf in fsum")
        if _holds(*(lambda v=v: np.isfinite(v) for v in values)):
            raise OverflowError("intermediate overflow in fsum")
        return total
    return total + STOP_GRADIENT(lost) if is_tracked(lost) else total + lost


def _sumprod(p: list[Operand], q: list[Operand]) -> Operand:
    if len(p) != len(q):
        raise ValueError("Inputs are not the same length")
    return _fsum([a * b for a, b in zip(p, q)])


def _remainder(x: Operand, y: Operand) -> Operand:
    """IEEE 754's: subtract the nearest multiple of y, at a tie the even one; without rounding, as Python does."""
    _raise_where(_DOMAIN, lambda: y == 0.0, lambda: np.logical_not(np.isnan(x)))
    _raise_where(_DOMAIN, lambda: np.isinf(x), lambda: np.logical_not(np.isnan(y)))
    # All with the sign of x: restoring the sign of a magnitude would give slope 0 at 0.
    step = np.where(np.signbit(x) == np.signbit(y), y, -y)
    above = np.fmod(x, step)
    below = step - above
    at_tie = above - 2.0 * np.fmod(0.5 * (x - above), step)
    size, rest = np.abs(above), np.abs(below)
    return np.where(size < rest, above, np.where(size > rest, -below, at_tie))


def _ldexp(x: Operand, exponent: Operand) -> Operand:
    x, left = _number(x), min(max(operator.index(exponent), -2200), 2200)  # a guard if the exponent is tracked
    value = x
    while left:
        step = min(max(left, -1000), 1000)  # powers of 2 that are finite, and not zero
        value, left = value * 2.0**step, left - step
    _raise_where(_RANGE, lambda: np.isinf(value), lambda: np.isfinite(x))
    return value


def _refused(name: str, fix: str) -> Function:
    def call(*_: Operand, **__: Operand) -> Operand:
        raise UnsupportedFunction(f"math.{name} is not supported on tracked numbers", at=user_site(2), fix=fix)

    return call


# The largest arguments whose results are finite.
_LARGEST_EXP, _LARGEST_SINH = 709.782712893384, 710.4758600739439

_not_positive = lambda x: x <= 0.0  # noqa: E731 -- a condition among others in the table
_beyond_unit = lambda x: np.abs(x) > 1.0  # noqa: E731 -- as above

# Conditions say where a function has no value; for NaN none holds, and every function is NaN.
_ANSWERS: dict[str, Function] = {
    "acos": _within(np.arccos, _beyond_unit),
    "acosh": _within(np.arccosh, lambda x: x < 1.0),
    "asin": _within(np.arcsin, _beyond_unit),
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": _within(np.arctanh, lambda x: np.abs(x) >= 1.0),
    "cbrt": np.cbrt,
    "copysign": np.copysign,
    "cos": _within(np.cos, np.isinf),
    "cosh": _below(np.cosh, _LARGEST_SINH, has_sign=True),
    "degrees": np.degrees,
    "dist": _dist,
    "erf": _special("erf"),
    "erfc": _special("erfc"),
    "exp": _below(np.exp, _LARGEST_EXP),
    "exp2": _below(np.exp2, 1024.0 - 2.0**-43),
    "expm1": _below(np.expm1, _LARGEST_EXP),
    "fabs": np.abs,
    "fmod": _fmod,
    "gamma": _finite(_gamma),
    "hypot": _hypot,
    "isclose": _is_close,
    "isfinite": lambda x: bool(np.isfinite(x)),
    "isinf": lambda x: bool(np.isinf(x)),
    "isnan": lambda x: bool(np.isnan(x)),
    "lgamma": _finite(_lgamma),
    "log": _log,
    "log10": _within(np.log10, _not_positive),
    "log1p": _within(np.log1p, lambda x: x <= -1.0),
    "log2": _within(np.log2, _not_positive),
    "pow": _finite(_pow),
    "radians": np.radians,
    "sin": _within(np.sin, np.isinf),
    "sinh": _below(np.sinh, _LARGEST_SINH, has_sign=True),
    "sqrt": _within(np.sqrt, lambda x: x < 0.0),
    "tan": _within(np.tan, np.isinf),
    "tanh": np.tanh,
}

# Functions of lists of numbers, or whose result is not a float or a bool.
_OTHERS: dict[str, Function] = {
    "fma": lambda x, y, z: x * y + z,
    "fsum": _fsum,
    "ldexp": _ldexp,
    "modf": np.modf,
    "remainder": _remainder,
    "sumprod": _sumprod,
    **{name: _refused(name, INSTEAD[instead]) for name, instead in (("frexp", "frexp"), ("nextafter", "nextafter"), ("ulp", "spacing"))},
}
_OF_LISTS = (_dist, _fsum, _sumprod)


def _number(x: Operand) -> Operand:
    """One number as float64; raises as `float` does."""
    if not is_tracked(x):
        return float(x)
    if x.shape:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    return x if x.dtype == FLOAT64 else x.astype(FLOAT64)


def _replacement(name: str, answer: Function) -> Replacement:
    original = getattr(math, name)
    are_lists, are_numbers = answer in _OF_LISTS, answer is not _ldexp

    def call(*args: Operand, **named: Operand) -> Operand:
        recorder = current_recorder()
        if recorder is None:
            return original(*args, **named)
        if are_lists:
            # Lists are made, as an iterator is consumed once but read by both functions; other objects are refused by Python's own.
            args = tuple(list(numbers) if isinstance(numbers, Iterable) and type(numbers) is not tuple else numbers for numbers in args)
        values = [x for numbers in args if isinstance(numbers, (list, tuple)) for x in numbers] if are_lists else [*args, *named.values()]
        if not any(map(is_tracked, values)):
            return original(*args, **named)
        numbers = [list(map(_number, each)) for each in args] if are_lists else map(_number, args) if are_numbers else args
        found = {key: _number(x) for key, x in named.items()}
        if recorder.site is not None:
            return answer(*numbers, **found)
        # Look up the line once for all operations of this call.
        recorder.site = recorder.site_of(sys._getframe(1))
        try:
            return answer(*numbers, **found)
        finally:
            recorder.site = None

    return standing_for(original, call, MathFunction)


class MathFunction(Replacement):
    """Pickles as the function that it replaces."""

    __slots__ = ()

    def __reduce__(self) -> tuple[object, ...]:
        return _own, (self.original.__name__,)


def _own(name: str) -> Function:
    return _OWN[name]


_OWN = {name: getattr(math, name) for name in (*_ANSWERS, *_OTHERS) if hasattr(math, name)}
_OURS = {name: _replacement(name, {**_ANSWERS, **_OTHERS}[name]) for name in _OWN}
_BY_OWN = {_OWN[name]: ours for name, ours in _OURS.items()}


def replacement_of(f: Function) -> Replacement | None:
    """The replacement of a function of the math module, which code may have imported by its name."""
    return _BY_OWN.get(f)


# Functions of numbers that return a number or a bool.
NAMES = frozenset(_OWN) - _OTHERS.keys()
_look_up = itemgetter(*_OWN)
_FUNCTIONS = {False: tuple(_OWN.values()), True: tuple(_OURS.values())}


def put(replaced: bool) -> None:
    """Put the replacements into the module, or its own functions back, except names that someone else has replaced."""
    after = _OURS if replaced else _OWN
    if all(a is b for a, b in zip(_look_up(math.__dict__), _FUNCTIONS[not replaced])):
        math.__dict__.update(after)
        return
    for name, function in after.items():
        if math.__dict__[name] is _OWN[name] or math.__dict__[name] is _OURS[name]:
            math.__dict__[name] = function
