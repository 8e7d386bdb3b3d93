"""Python ints as data: an int argument that takes many values, such as a step number, is computed with on the tape.

An operation either has exactly Python's result or is refused; then the argument is specialised on (see int_arguments.py). Results stay
below 2**53, beyond which float64 and int64 differ from Python's ints. Python's decisions, such as a branch or an error for a divisor of
0, are guards.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np

from ..base.current_recording import current_recorder
from ..base.source_location import user_site
from ..errors import TrackedValueEscaped
from ..ir.instruction import CONSTANT, FLOAT64, INT64, Operand, is_tracked
from ..ir.tape import Tape
from ..ops import Op
from ..ops.elementwise import comparison
from ..ops.elementwise.arithmetic import (
    ABSOLUTE,
    ADD,
    CEIL,
    CONVERT,
    DIVIDE,
    FLOOR,
    FLOOR_DIVIDE,
    MULTIPLY,
    NEGATIVE,
    POWER,
    REMAINDER,
    RINT,
    SUBTRACT,
    TRUNC,
)

# Up to here integers are the same in float64, int64 and Python.
LARGEST = 2**53

# Larger arguments are specialised on.
LARGEST_ARGUMENT = 2**31

# The largest exponent of 2**t: up to it the result of pow, within an ulp, still rounds to the right integer.
BITS_OF_POWERS = 50

# An int that Python needs is guarded, and each value is a path. If it may have more values than this, such as `t % 8`, the argument is
# specialised on: a tape for each value costs no more, and these tapes share a program.
LARGEST_SEEN = 7

# A higher power of an integer is computed in floats, and so is not Python's int.
HIGHEST_POWER = 8

# Ufuncs that give the same result for an int and for the equal float.
_OF_ONE = {
    np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sqrt, np.cbrt, np.sin, np.cos, np.tan, np.sinh, np.cosh,
    np.tanh, np.arctan, np.arcsinh,
}  # fmt: skip
_OF_TWO = {
    np.add, np.subtract, np.multiply, np.divide, np.power, np.minimum, np.maximum, np.arctan2, np.less, np.less_equal, np.greater,
    np.greater_equal, np.equal, np.not_equal,
}  # fmt: skip


def _both(operation: Callable[[Operand, Operand], Operand]) -> tuple[Callable[..., Operand], Callable[..., Operand]]:
    """An operator, and the reflected one."""
    return lambda self, other: operation(self, other), lambda self, other: operation(other, self)


def _comparison(op: Op) -> Callable[..., Operand]:
    return lambda self, other: _compared(op, self, other)


class WholeNumber:
    """A Python int on the tape, or a Python float computed from one. It belongs to one recording.

    Attributes:
        tracked: its value, an int64 or float64 scalar of the recording.
        bound: the largest absolute value that an int may have, which the tape's guards ensure; None for a float.
    """

    __slots__ = ("bound", "tracked")

    def __init__(self, tracked: Operand, bound: int | None) -> None:
        self.tracked, self.bound = tracked, bound

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]  # for isinstance()
        return float if self.bound is None else int

    def __copy__(self) -> WholeNumber:
        return self

    def __deepcopy__(self, _: Operand) -> WholeNumber:
        return self

    # Arithmetic

    __add__, __radd__ = _both(lambda left, right: _sum(ADD, left, right))
    __sub__, __rsub__ = _both(lambda left, right: _sum(SUBTRACT, left, right))
    __mul__, __rmul__ = _both(lambda left, right: _product(left, right))
    __truediv__, __rtruediv__ = _both(lambda left, right: _quotient(left, right))
    __floordiv__, __rfloordiv__ = _both(lambda left, right: _whole_division(FLOOR_DIVIDE, left, right))
    __mod__, __rmod__ = _both(lambda left, right: _whole_division(REMAINDER, left, right))

    def __divmod__(self, other: Operand) -> Operand:
        return self // other, self % other

    def __rdivmod__(self, other: Operand) -> Operand:
        return other // self, other % self

    def __pow__(self, other: Operand, modulus: Operand = None) -> Operand:
        return _power(self, other) if modulus is None else refuse("a power by a modulus")

    def __rpow__(self, other: Operand, modulus: Operand = None) -> Operand:
        return _power(other, self) if modulus is None else refuse("a power by a modulus")

    def __neg__(self) -> WholeNumber:
        return WholeNumber(NEGATIVE(_own(self)), self.bound)

    def __pos__(self) -> WholeNumber:
        return self

    def __abs__(self) -> WholeNumber:
        return WholeNumber(ABSOLUTE(_own(self)), self.bound)

    # Comparisons: guards, as Python needs the outcome at once

    __lt__, __gt__ = _comparison(comparison.LESS), _comparison(comparison.GREATER)
    __le__, __ge__ = _comparison(comparison.LESS_EQUAL), _comparison(comparison.GREATER_EQUAL)

    def __eq__(self, other: object) -> Operand:
        return False if isinstance(other, (str, bytes, type(None))) else _compared(comparison.EQUAL, self, other)

    def __ne__(self, other: object) -> Operand:
        return True if isinstance(other, (str, bytes, type(None))) else _compared(comparison.NOT_EQUAL, self, other)

    def __bool__(self) -> bool:
        return _compared(comparison.NOT_EQUAL, self, 0)

    # Conversions that need the number in Python

    def __index__(self) -> int:
        if self.bound is None:
            raise TypeError("'float' object cannot be interpreted as an integer")
        return int(self)

    def __int__(self) -> int:
        if self.bound is None or self.bound > LARGEST_SEEN:
            refuse("an int that Python needs")
        return _own(self)._recorder.observe(self.tracked, "int")

    def __round__(self, digits: Operand = None) -> WholeNumber:
        return self._rounded(RINT) if digits is None else refuse("a number rounded to digits")

    def __trunc__(self) -> WholeNumber:
        return self._rounded(TRUNC)

    def __floor__(self) -> WholeNumber:
        return self._rounded(FLOOR)

    def __ceil__(self) -> WholeNumber:
        return self._rounded(CEIL)

    def _rounded(self, op: Op) -> WholeNumber:
        if self.bound is not None:
            return self
        rounded = op(_own(self))
        if not _held(comparison.LESS_EQUAL, ABSOLUTE(rounded), LARGEST_ARGUMENT):  # false for NaN
            refuse("a float rounded to a large int")
        return WholeNumber(CONVERT(rounded, dtype=INT64), LARGEST_ARGUMENT)

    # NumPy

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Operand, **options: Operand) -> Operand:
        if options:
            refuse(f"np.{ufunc.__name__} with options")
        return ufunc(*ufunc_operands(ufunc, method, inputs))

    def __getattr__(self, name: str) -> Operand:
        if name.startswith("__") or not hasattr(self.__class__, name):
            raise AttributeError(f"'{self.__class__.__name__}' object has no attribute '{name}'")
        return refuse(name)


def refuse(what: str) -> NoReturn:
    """Abort the recording: the argument has to be specialised on."""
    raise TrackedValueEscaped(
        f"an integer that is data was needed as {what}", at=user_site(), fix="name the argument in td.static(argnames=...)"
    )


def _refusing(name: str) -> Callable[..., NoReturn]:
    def method(*_: Operand, **__: Operand) -> NoReturn:
        refuse(name)

    return method


for _name in (
    "hash", "str", "repr", "format", "float", "complex", "bytes", "reduce", "reduce_ex", "array", "array_function",
    "lshift", "rlshift", "rshift", "rrshift", "and", "rand", "or", "ror", "xor", "rxor", "invert",
):  # fmt: skip
    setattr(WholeNumber, f"__{_name}__", _refusing(_name))


def whole_argument(value: Operand) -> Operand:
    """A tape's argument as the WholeNumber that the function is given; a plain int outside recordings."""
    return WholeNumber(value, LARGEST_ARGUMENT) if is_tracked(value) else int(value)


# Operands


def _own(number: WholeNumber) -> Operand:
    """The tracked value of a number; refused outside its own recording."""
    if current_recorder() is not number.tracked._recorder:
        refuse("a number inside another recording")
    return number.tracked


def as_float(number: WholeNumber) -> Operand:
    """The tracked value of a number as a float, which is exact."""
    tracked = _own(number)
    return tracked if number.bound is None else CONVERT(tracked, dtype=FLOAT64)


def as_floats(operands: Sequence[Operand]) -> list[Operand]:
    """Convert the integers among a NumPy operation's operands to floats, if NumPy would; else refuse."""
    others = [x for x in operands if type(x) is not WholeNumber]
    if len(operands) > 1 and not any(type(x) is float or _is_float64(x) for x in others):
        if not any(type(x) is WholeNumber and x.bound is None for x in operands):
            refuse("an operand of NumPy's integers")
    if not all(type(x) in (int, float) or _is_float64(x) for x in others):
        refuse("an operand with types other than float64")
    return [as_float(x) if type(x) is WholeNumber else x for x in operands]


def ufunc_operands(ufunc: np.ufunc, method: str, operands: Sequence[Operand]) -> list[Operand]:
    """Convert the integers among a ufunc's operands to floats."""
    if method != "__call__" or ufunc not in (_OF_ONE if len(operands) == 1 else _OF_TWO):
        refuse(f"np.{ufunc.__name__} of an int")
    return as_floats(operands)


def with_floats(op: Op, args: Sequence[Operand]) -> list[Operand]:
    """Convert the integers among a recorded operation's operands to floats."""
    places = range(len(args)) if op.promote is None else op.promote
    operands = dict(zip(places, as_floats([args[k] for k in places])))
    given = [operands.get(k, x) for k, x in enumerate(args)]
    return given if not any(type(x) is WholeNumber for x in given) else refuse(f"an operand of {op.name}")


def check_parameters(tape: Tape) -> None:
    """Refuse a tape with an integer among the static parameters."""
    for instruction in tape.instructions:
        if instruction.op is not CONSTANT and _holds_whole(instruction.params):
            refuse(f"a parameter of {instruction.op.name}")


def _holds_whole(value: Operand) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_holds_whole, value))
    if type(value) is WholeNumber:
        return True
    return dataclasses.is_dataclass(value) and any(_holds_whole(getattr(value, f.name)) for f in dataclasses.fields(value))


def _is_float64(x: Operand) -> bool:
    return (is_tracked(x) or type(x) is np.ndarray or type(x) is np.float64) and x.dtype == FLOAT64


def _is_python(x: Operand) -> bool:
    return type(x) in (WholeNumber, int, float)


def _is_int(x: Operand) -> bool:
    return type(x) is int or (type(x) is WholeNumber and x.bound is not None)


def _bound(x: Operand) -> int:
    bound = abs(x) if type(x) is int else x.bound
    return bound if bound <= LARGEST else refuse("an int beyond 2**53")


def _plain_or_tracked(x: Operand) -> Operand:
    return _own(x) if type(x) is WholeNumber else x


def _float_of(x: Operand) -> Operand:
    """A Python number as a float."""
    if type(x) is WholeNumber:
        return as_float(x)
    if type(x) is int:
        _bound(x)
    return float(x)


def _held(op: Op, left: Operand, right: Operand) -> bool:
    """Compare, as a guard."""
    return bool(op(left, right))


def _within(x: Operand, limit: int) -> Operand:
    """An int whose absolute value is at most `limit`, ensured by a guard if needed."""
    if _bound(x) <= limit:
        return x
    if type(x) is int or not _held(comparison.LESS_EQUAL, ABSOLUTE(_own(x)), limit):
        refuse("an int whose results are beyond 2**53")
    return WholeNumber(x.tracked, limit)


# Operations


def _sum(op: Op, left: Operand, right: Operand) -> Operand:
    if not (_is_python(left) and _is_python(right)):
        return op(*as_floats((left, right)))
    if not (_is_int(left) and _is_int(right)):
        return WholeNumber(op(_float_of(left), _float_of(right)), None)
    bound = _bound(left) + _bound(right)
    if bound > LARGEST:
        refuse("a sum beyond 2**53")
    return WholeNumber(op(_plain_or_tracked(left), _plain_or_tracked(right)), bound)


def _product(left: Operand, right: Operand) -> Operand:
    if not (_is_python(left) and _is_python(right)):
        return MULTIPLY(*as_floats((left, right)))
    if not (_is_int(left) and _is_int(right)):
        return WholeNumber(MULTIPLY(_float_of(left), _float_of(right)), None)
    if _bound(left) * _bound(right) > LARGEST:
        one_is_plain = type(left) is int or type(right) is int
        limit = LARGEST // max(1, abs(left if type(left) is int else right)) if one_is_plain else math.isqrt(LARGEST)
        left, right = (x if type(x) is int else _within(x, limit) for x in (left, right))
    return WholeNumber(MULTIPLY(_plain_or_tracked(left), _plain_or_tracked(right)), _bound(left) * _bound(right))


def _quotient(left: Operand, right: Operand) -> Operand:
    if not (_is_python(left) and _is_python(right)):
        return DIVIDE(*as_floats((left, right)))
    _refuse_zero(right)
    return WholeNumber(DIVIDE(_float_of(left), _float_of(right)), None)


def _refuse_zero(divisor: Operand) -> None:
    """Raise for a zero divisor, by a guard: Python's numbers raise where NumPy's give infinity."""
    if divisor == 0:
        refuse("a divisor that is 0")


def _whole_division(op: Op, left: Operand, right: Operand) -> Operand:
    if not (_is_python(left) and _is_python(right)):
        return op(*as_floats((left, right)))
    if not (_is_int(left) and _is_int(right)):
        refuse("an operand of // or % with a float")
    _refuse_zero(right)
    bound = _bound(left) if op is FLOOR_DIVIDE else _bound(right) - (type(right) is int)
    return WholeNumber(op(_plain_or_tracked(left), _plain_or_tracked(right)), bound)


def _power(base: Operand, exponent: Operand) -> Operand:
    if not (_is_python(base) and _is_python(exponent)):
        return POWER(*as_floats((base, exponent)))
    if _is_int(base) and _is_int(exponent):
        if type(exponent) is int and exponent >= 0:
            return _whole_power(base, exponent)
        if type(exponent) is WholeNumber and exponent >= 0:
            return _power_of(base, exponent) if type(base) is int else refuse("a base and an exponent")
    return _float_power(base, exponent)


def _whole_power(base: WholeNumber, exponent: int) -> Operand:
    if not 0 < exponent <= HIGHEST_POWER:
        refuse("the base of a high power")
    limit = int(LARGEST ** (1.0 / exponent))
    base = _within(base, limit)
    result = base.tracked
    for _ in range(exponent - 1):
        result = MULTIPLY(result, base.tracked)
    return WholeNumber(result, _bound(base) ** exponent)


def _power_of(base: int, exponent: WholeNumber) -> Operand:
    """base**exponent for exponents that are not negative."""
    if base == -1:
        return 1 - 2 * (exponent % 2)
    if base < 2:
        refuse(f"an exponent of {base}")
    exponent = _within(exponent, int(BITS_OF_POWERS / math.log2(base)))
    rounded = CONVERT(RINT(POWER(float(base), as_float(exponent))), dtype=INT64)
    return WholeNumber(rounded, 2**BITS_OF_POWERS)


def _float_power(base: Operand, exponent: Operand) -> Operand:
    """Python's power of floats, where it is neither complex nor an error."""
    if not base > 0:
        refuse("the base of a power that is not positive")
    result = POWER(_float_of(base), _float_of(exponent))
    if not _held(comparison.LESS, result, math.inf):
        refuse("a power that overflows")
    return WholeNumber(result, None)


def _compared(op: Op, left: Operand, right: Operand) -> Operand:
    if not (_is_python(left) and _is_python(right)):
        return op(*as_floats((left, right)))
    if _is_int(left) and _is_int(right):
        _bound(right)
        return _held(op, _plain_or_tracked(left), _plain_or_tracked(right))
    return _held(op, _float_of(left), _float_of(right))
