"""Elementwise arithmetic: the Python operators, powers, rounding, and choosing between values."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from ...errors import UnsupportedFunction
from ...ir.instruction import FLOAT64, INT64, Operand, ValueType, is_tracked
from ..declaration.op import Batching, Elementwise, Op
from ..declaration.samples import NONZERO, POSITIVE, REAL
from .comparison import EQUAL, GREATER, LESS, SELECT


def _convert(value: Operand, dtype: np.dtype) -> Operand:
    return np.asarray(value).astype(dtype)[()] if np.ndim(value) == 0 else np.asarray(value).astype(dtype)


def _convert_back(z_bar: Operand, z: Operand, x: Operand, dtype: np.dtype) -> Operand:
    return CONVERT(z_bar, dtype=x.dtype) if dtype.kind == "f" and x.dtype.kind == "f" else None


CONVERT = Op(
    "convert",
    evaluate=_convert,
    infer=lambda x, dtype: ValueType(x.shape, dtype),
    vjp=(_convert_back,),
    params=("dtype",),
    lower=lambda low, i: low.convert(i),
    promote=(),
    exact=True,
    additions=lambda type_, types: type_.size,
    batching=Batching(lambda batch, i: batch.elementwise(i)),
    examples=lambda rng: [
        (lambda x, to=kind: CONVERT(x, dtype=np.dtype(to)), (values,))
        for kind in ("f8", "i8", "?")
        for values in (rng.uniform(-3.0, 3.0, (3, 5)), rng.integers(-3, 3, 9), rng.random(9) < 0.5)
    ],
)


def _unchanged(x: Operand) -> Operand:
    return CONVERT(x, dtype=x.dtype)


def _no_integer_reciprocal(x: Operand) -> Operand:
    raise UnsupportedFunction("np.reciprocal of integers, which is 0 for nearly all of them", got=repr(x), fix="use 1.0 / x")


def _integer_fmod(x: Operand, y: Operand) -> Operand:
    """The remainder with the sign of x; that of `%` has the sign of y."""
    x, y = (CONVERT(v, dtype=INT64) if is_tracked(v) else np.asarray(v, np.int64) for v in (x, y))
    return MULTIPLY(SIGN(x), REMAINDER(ABSOLUTE(x), ABSOLUTE(y)))


ADD = Elementwise(
    "add", operator.add, "x + y", vjp=(lambda z_bar, z, x, y: z_bar, lambda z_bar, z, x, y: z_bar),
    mask_scalar="x | y", floats_only=False, linear=True, answers=(np.add,), samples=(REAL, REAL),
)
SUBTRACT = Elementwise(
    "subtract", operator.sub, "x - y", vjp=(lambda z_bar, z, x, y: z_bar, lambda z_bar, z, x, y: -z_bar),
    floats_only=False, linear=True, answers=(np.subtract,), samples=(REAL, REAL),
)
MULTIPLY = Elementwise(
    "multiply", operator.mul, "x * y", vjp=(lambda z_bar, z, x, y: z_bar * y, lambda z_bar, z, x, y: z_bar * x),
    mask_scalar="x & y", floats_only=False, answers=(np.multiply,), samples=(REAL, REAL),
)
DIVIDE = Elementwise(
    "divide", np.true_divide, "x / y", vjp=(lambda z_bar, z, x, y: z_bar / y, lambda z_bar, z, x, y: -(z_bar / y) * z),
    answers=(np.true_divide,), samples=(REAL, NONZERO),
)
NEGATIVE = Elementwise(
    "negative", operator.neg, "-x", vjp=(lambda z_bar, z, x: -z_bar,),
    floats_only=False, linear=True, answers=(np.negative,), samples=(REAL,),
)
SQUARE = Elementwise(
    "square", np.square, "x * x", vjp=(lambda z_bar, z, x: z_bar * (2.0 * x),),
    mask_scalar="x", floats_only=False, masks_as_integers=True, answers=(np.square,), samples=(REAL,),
)
RECIPROCAL = Elementwise(
    "reciprocal", lambda x: 1.0 / np.asarray(x)[()], "1.0 / x", vjp=(lambda z_bar, z, x: -z_bar * z * z,),
    integers=_no_integer_reciprocal, answers=(np.reciprocal,), samples=(NONZERO,),
)
SQRT = Elementwise(
    "sqrt", np.sqrt, "sqrt(x)", vjp=(lambda z_bar, z, x: z_bar / (2.0 * z),),
    answers=(np.sqrt,), samples=(POSITIVE,), squared=(lambda square_bar, z, x: square_bar,),
)


def _with_zero(z: Operand, x: Operand) -> tuple[Operand, Operand, Operand]:
    return x, 0.0, np.greater(x, 0.0)


def _with_each_other(z: Operand, x: Operand, y: Operand) -> tuple[Operand, Operand, Operand]:
    return x, y, np.greater(x, y)


def _root_rule(z_bar: Operand, z: Operand, x: Operand) -> Operand:
    at_zero = EQUAL(z, 0.0)
    return SELECT(at_zero, 0.0, z_bar / (2.0 * SELECT(at_zero, 1.0, z)))


# The square root with derivative 0 at 0, as in norms and standard deviations.
ROOT = Elementwise(
    "root", np.sqrt, "sqrt(x)", vjp=(_root_rule,),
    masks=True, samples=(POSITIVE,), squared=(lambda square_bar, z, x: square_bar,), compares=_with_zero,
)
ABSOLUTE = Elementwise(
    "absolute", np.absolute, "absolute(x)", vjp=(lambda z_bar, z, x: z_bar * SIGN(x),),
    integer_scalar="select(x < 0, 0 - x, x)", mask_scalar="x", floats_only=False, masks=True, compares=_with_zero,
    answers=(np.absolute,), samples=(REAL,), squared=(lambda square_bar, z, x: square_bar * (2.0 * x),),
)
SIGN = Elementwise(
    "sign", np.sign, "sign(x)", vjp=(None,), integer_scalar="select(x < 0, 0 - 1, to_i64(x > 0))",
    floats_only=False, linear=True, answers=(np.sign,), samples=(REAL,),
)


def _rounding(
    function: np.ufunc, jump: Callable[[np.ndarray], np.ndarray], integers: Callable[..., Operand] | None = None,
    *also: Callable[..., Operand],
) -> Elementwise:  # fmt: skip
    """Declare a rounding to integers, whose derivative is 0; `also` names further NumPy functions that it implements."""
    name = function.__name__
    return Elementwise(
        name, function, f"{name}(x)", vjp=(None,), linear=True, jump=jump, integers=integers, answers=(function, *also), samples=(REAL,)
    )


def _end_of_whole_part(x: np.ndarray) -> np.ndarray:
    """The nearest integer except 0: -0.9 and 0.9 have the same integral part."""
    return np.where(np.abs(x) < 1.0, np.copysign(1.0, x), np.rint(x))


FLOOR = _rounding(np.floor, np.rint, _unchanged)
CEIL = _rounding(np.ceil, np.rint, _unchanged)
TRUNC = _rounding(np.trunc, _end_of_whole_part, _unchanged, np.fix)
RINT = _rounding(np.rint, lambda x: np.floor(x) + 0.5)
COPYSIGN = Elementwise(
    "copysign", np.copysign, "copysign(x, y)", vjp=(lambda z_bar, z, x, y: z_bar * COPYSIGN(SIGN(x), SIGN(x) * COPYSIGN(1.0, y)), None),
    answers=(np.copysign,), samples=(NONZERO, NONZERO), squared=(lambda square_bar, z, x, y: square_bar * (2.0 * x), None),
)
FLOOR_DIVIDE = Elementwise(
    "floor_divide", operator.floordiv, "floor_divide(x, y)", vjp=(None, None),
    integer_scalar="integer_floor_divide(x, y)", fails_on_integers=True,
    floats_only=False, masks_as_integers=True, linear=True, answers=(np.floor_divide,), samples=(REAL, NONZERO),
)
REMAINDER = Elementwise(
    "remainder", np.remainder, "mod(x, y)", vjp=(lambda z_bar, z, x, y: z_bar, lambda z_bar, z, x, y: -z_bar * FLOOR_DIVIDE(x, y)),
    integer_scalar="integer_mod(x, y)", fails_on_integers=True,
    floats_only=False, masks_as_integers=True, answers=(np.remainder,), samples=(REAL, NONZERO),
)
FMOD = Elementwise(
    "fmod", np.fmod, "fmod(x, y)",
    # How often y was subtracted; the quotient itself may be rounded up to an integer.
    vjp=(lambda z_bar, z, x, y: z_bar, lambda z_bar, z, x, y: -z_bar * RINT((x - z) / y)),
    integers=_integer_fmod, answers=(np.fmod,), samples=(REAL, NONZERO),
)


def _greater_part(z_bar: Operand, z: Operand, x: Operand, y: Operand) -> Operand:
    """The cotangent of one operand: all of z_bar if it is the greater one, half at a tie, NaN if the value is NaN."""
    return SELECT(GREATER(x, y), z_bar, SELECT(LESS(x, y), 0.0, SELECT(EQUAL(x, y), 0.5 * z_bar, np.nan)))


def _not_nan_part(z_bar: Operand, z: Operand, x: Operand, y: Operand, wins: Operand) -> Operand:
    """As above for fmax and fmin, which ignore a NaN operand."""
    tie = SELECT(EQUAL(x, y), 0.5 * z_bar, 0.0)
    return SELECT(wins(x, y), z_bar, SELECT(EQUAL(x, x), SELECT(EQUAL(y, y), tie, z_bar), 0.0))


# Not linear: where the value is NaN they return NaN, even if the cotangent is 0.
MAXIMUM = Elementwise(
    "maximum", np.maximum, "maximum(x, y)", vjp=(_greater_part, lambda z_bar, z, x, y: _greater_part(z_bar, z, y, x)),
    integer_scalar="select(x < y, y, x)", mask_scalar="x | y", compares=_with_each_other,
    floats_only=False, masks=True, answers=(np.maximum,), samples=(REAL, REAL),
)
MINIMUM = Elementwise(
    "minimum", np.minimum, "minimum(x, y)",
    vjp=(lambda z_bar, z, x, y: _greater_part(z_bar, z, -x, -y), lambda z_bar, z, x, y: _greater_part(z_bar, z, -y, -x)),
    integer_scalar="select(x < y, x, y)", mask_scalar="x & y", compares=_with_each_other,
    floats_only=False, masks=True, answers=(np.minimum,), samples=(REAL, REAL),
)
FMAX = Elementwise(
    "fmax", np.fmax, "fmax(x, y)",
    vjp=(lambda z_bar, z, x, y: _not_nan_part(z_bar, z, x, y, GREATER), lambda z_bar, z, x, y: _not_nan_part(z_bar, z, y, x, GREATER)),
    integers=lambda x, y: MAXIMUM(x, y), linear=True, masks=True, compares=_with_each_other, answers=(np.fmax,), samples=(REAL, REAL),
)
FMIN = Elementwise(
    "fmin", np.fmin, "fmin(x, y)",
    vjp=(lambda z_bar, z, x, y: _not_nan_part(z_bar, z, x, y, LESS), lambda z_bar, z, x, y: _not_nan_part(z_bar, z, y, x, LESS)),
    integers=lambda x, y: MINIMUM(x, y), linear=True, masks=True, compares=_with_each_other, answers=(np.fmin,), samples=(REAL, REAL),
)


@np.errstate(invalid="ignore")
def _product_or_zero(x: Operand, y: Operand) -> Operand:
    product = np.where(np.equal(x, 0.0), 0.0, np.multiply(x, y))
    return product[()] if product.ndim == 0 else product


# x * y, and 0 wherever x is 0, even for an infinite or NaN y. Its derivative in x is y there, as for any product: a selection in
# place of this op would be right to first order only.
PRODUCT_OR_ZERO = Elementwise(
    "product_or_zero", _product_or_zero, "select(equal(x, 0.0), 0.0, x * y)",
    vjp=(lambda z_bar, z, x, y: PRODUCT_OR_ZERO(z_bar, y), lambda z_bar, z, x, y: PRODUCT_OR_ZERO(x, z_bar)),
    masks=True, samples=(REAL, REAL),
)


@np.errstate(divide="ignore", invalid="ignore")
def _quotient_or_zero(x: Operand, y: Operand) -> Operand:
    quotient = np.where(np.equal(x, 0.0), 0.0, np.divide(x, y))
    return quotient[()] if quotient.ndim == 0 else quotient


# x / y, and 0 wherever x is 0, also for y = 0; its derivative in x is 1 / y there too.
QUOTIENT_OR_ZERO = Elementwise(
    "quotient_or_zero", _quotient_or_zero, "select(equal(x, 0.0), 0.0, x / y)",
    vjp=(lambda z_bar, z, x, y: z_bar / y, lambda z_bar, z, x, y: -z_bar * QUOTIENT_OR_ZERO(z, y)),
    masks=True, samples=(REAL, NONZERO),
)


def _power_base(z_bar: Operand, z: Operand, x: Operand, y: Operand) -> Operand:
    return z_bar * PRODUCT_OR_ZERO(y, POWER(x, y - 1.0))


# Beyond, floats do not hold every integer.
LARGEST_EXACT_INTEGER = 2.0**53


def _integers_to_integers(x: Operand, y: Operand) -> Operand:
    """x**y as an integer: products for a Python number y, else floats and a guard that they are exact."""
    if not is_tracked(y) and np.ndim(y) == 0:
        if y < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")
        return _repeated_product(CONVERT(x, dtype=INT64), int(y))
    floats = (CONVERT(v, dtype=FLOAT64) if is_tracked(v) else np.asarray(v, float) for v in (x, y))
    result = RINT(POWER(*floats))
    if not np.all((y >= 0) & (ABSOLUTE(result) <= LARGEST_EXACT_INTEGER)):
        if np.any(y < 0):
            raise ValueError("Integers to negative integer powers are not allowed.")
        raise UnsupportedFunction(
            "an integer power beyond 2**53, which floats do not hold exactly", fix="convert to floats first: x.astype(float) ** y"
        )
    return CONVERT(result, dtype=INT64)


def _repeated_product(x: Operand, exponent: int) -> Operand:
    """Multiply by repeated squaring: at most two products for each binary digit of the exponent."""
    result = None
    while exponent:
        if exponent % 2:
            result = x if result is None else MULTIPLY(result, x)
        exponent //= 2
        x = SQUARE(x) if exponent else x
    return x * 0 + 1 if result is None else result


POWER = Elementwise(
    "power", np.power, "power(x, y)", vjp=(_power_base, lambda z_bar, z, x, y: z_bar * POWER_LOG(x, y, z, order=1)),
    integers=_integers_to_integers, answers=(np.power,), samples=(POSITIVE, REAL),
)


@np.errstate(divide="ignore", invalid="ignore")
def _power_log(x: Operand, y: Operand, power: Operand, order: int) -> Operand:
    product = np.where(np.equal(x, 0.0) & np.greater(y, 0.0), 0.0, power * np.log(x) ** order)
    return product[()] if product.ndim == 0 else product


def _power_log_base(z_bar: Operand, z: Operand, x: Operand, y: Operand, power: Operand, order: int) -> Operand:
    before = POWER(x, y - 1.0)
    less = POWER_LOG(x, y - 1.0, before, order=order - 1) if order > 1 else before
    return PRODUCT_OR_ZERO(z_bar, PRODUCT_OR_ZERO(y, POWER_LOG(x, y - 1.0, before, order=order)) + float(order) * less)


# x**y log(x)**order with its limit 0 at x = 0 for positive y, given x**y. The derivatives of a power, at every order, are sums of these.
POWER_LOG = Elementwise(
    "power_log", _power_log, "select(equal(x, 0.0) & (y > 0.0), 0.0, w * integer_power(log(x), order))",
    vjp=(_power_log_base, lambda z_bar, z, x, y, power, order: PRODUCT_OR_ZERO(z_bar, POWER_LOG(x, y, power, order=order + 1)), None),
    params=("order",), masks=True, samples=(POSITIVE, REAL, REAL), not_differentiated=(0, 1, 2),
    sample_params=({"order": 1}, {"order": 2}),
)


def _integer_power_rule(z_bar: Operand, z: Operand, x: Operand, exponent: int) -> Operand:
    return None if exponent == 0 else z_bar * (float(exponent) * integer_power(x, exponent - 1))


INTEGER_POWER = Elementwise(
    "integer_power", lambda x, exponent: np.power(x, exponent), "integer_power(x, exponent)", vjp=(_integer_power_rule,),
    params=("exponent",), samples=(NONZERO,), sample_params=({"exponent": 0}, {"exponent": 5}, {"exponent": -3}),
)

# Longer products of repeated squaring lose more bits than one call of pow.
LARGEST_INTEGER_POWER = 64


def integer_power(x: Operand, exponent: int) -> Operand:
    """x**n for a Python integer n: exact at x = 0 and for negative x, at any order of differentiation."""
    if exponent == 1:
        return x
    if exponent == 2:
        return SQUARE(x)
    if exponent == -1:
        return RECIPROCAL(x)
    return INTEGER_POWER(x, exponent=exponent)


def power(x: Operand, y: Operand) -> Operand:
    """x**y, by the exact integer rule where the exponent is a plain integral number."""
    plain = not is_tracked(y) and isinstance(y, (int, float, np.integer, np.floating))
    if plain and not isinstance(y, bool):
        if float(y).is_integer() and abs(y) <= LARGEST_INTEGER_POWER and x.dtype.kind == "f":
            return integer_power(x, int(y))
        if y == 0.5:
            return SQRT(x)
    return POWER(x, y)


OPS = (
    CONVERT, ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATIVE, SQUARE, RECIPROCAL, SQRT, ABSOLUTE, SIGN, FLOOR, CEIL, TRUNC, RINT,
    COPYSIGN, FLOOR_DIVIDE, REMAINDER, FMOD, MAXIMUM, MINIMUM, FMAX, FMIN, PRODUCT_OR_ZERO, QUOTIENT_OR_ZERO, POWER, POWER_LOG,
    INTEGER_POWER, ROOT,
)  # fmt: skip

# Their result is not finite if an operand is not.
SPREADING = (ADD, SUBTRACT, MULTIPLY, NEGATIVE, ABSOLUTE, SQRT, SQUARE)
