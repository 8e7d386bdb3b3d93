"""The vocabulary of scalar expressions: each name as a function over lanes and as a plain Python function."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable

import numpy as np

from ...ops.elementwise import counter_based as numpy_counter_based
from ...ops.elementwise.elementary import tanh_slope
from . import (
    arithmetic as math_arithmetic,
    bessel as math_bessel,
    counter_based as math_counter_based,
    error_functions as math_error,
    exponential as math_exponential,
    gamma_functions as math_gamma,
    logarithmic as math_logarithmic,
    power as math_power,
    simd as lanes,
    special as math_special,
    trigonometric as math_trigonometric,
)

_OPERATORS: dict[str, Callable[..., object]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "negative": operator.neg,
    "positive": operator.pos,
    "less": operator.lt,
    "exists": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "logical_and": operator.and_,
    "logical_or": operator.or_,
    "logical_xor": operator.xor,
}
_LANES = ("fma", "rint", "floor", "ceil", "trunc", "sqrt", "copysign", "select", "select_by_jump", "to_f64", "to_i64")
_ARITHMETIC = (
    "equal", "not_equal", "maximum", "minimum", "fmax", "fmin", "absolute", "sign", "square", "reciprocal", "isnan",
    "isinf", "isfinite", "signbit", "fmod", "mod", "floor_divide", "integer_floor_divide", "integer_mod", "round_to_float32",
    "zero_where_discarded",
)  # fmt: skip
_EXPONENTIAL = ("exp", "exp2", "expm1", "sinh", "cosh", "tanh", "tanh_slope", "expit")
_LOGARITHMIC = (
    "log", "log2", "log10", "log1p", "arcsinh", "arccosh", "arctanh", "softplus", "log_expit", "logaddexp",
    "logaddexp2", "logit", "xlogy", "xlog1py",
)  # fmt: skip
_TRIGONOMETRIC = ("sin", "cos", "tan", "arctan", "arctan2", "arcsin", "arccos")
_COUNTER_BASED = ("random_bits", "random_unit")
_BESSEL = ("i0e", "i1e")
_ERROR = ("erf", "erfc", "erfcx", "ndtr", "log_ndtr")
_GAMMA = ("gammaln", "digamma")
_POWER = ("power", "integer_power", "cbrt", "hypot")

FUNCTIONS: dict[str, Callable[..., object]] = {
    **_OPERATORS,
    "logical_not": operator.invert,
    **{name: getattr(lanes, name) for name in _LANES},
    **{name: getattr(math_arithmetic, name) for name in _ARITHMETIC},
    **{name: getattr(math_exponential, name) for name in _EXPONENTIAL},
    **{name: getattr(math_logarithmic, name) for name in _LOGARITHMIC},
    **{name: getattr(math_trigonometric, name) for name in _TRIGONOMETRIC},
    **{name: getattr(math_power, name) for name in _POWER},
    **{name: getattr(math_counter_based, name) for name in _COUNTER_BASED},
    **math_special.SPECIAL_FUNCTIONS,
    **{name: getattr(math_bessel, name) for name in _BESSEL},
    **{name: getattr(math_error, name) for name in _ERROR},
    **{name: getattr(math_gamma, name) for name in _GAMMA},
    "psi": math_gamma.digamma,
    "polygamma": math_special.polygamma,
    "zeta": math_special.zeta,
}

# Functions that always call a scalar routine for each lane.
CALLED_BY_ELEMENT = frozenset((*math_special.SPECIAL_FUNCTIONS, "polygamma", "zeta")) - frozenset((*_BESSEL, *_ERROR, *_GAMMA, "psi"))


def _from_scipy(name: str) -> Callable[..., object]:
    # A late import: scipy.special takes 0.1 s, and a listing rarely runs.
    return lambda *args: getattr(importlib.import_module("scipy.special"), name)(*args)


def _result_from_scipy(name: str, position: int) -> Callable[..., object]:
    return lambda x: getattr(importlib.import_module("scipy.special"), name)(x)[position]


_SCIPY = (*CALLED_BY_ELEMENT, *_BESSEL, *_ERROR, *_GAMMA, "psi", "expit", "log_expit", "logit", "xlogy", "xlog1py")
_OWN = {
    "exists",
    "integer_power",
    "integer_floor_divide",
    "integer_mod",
    "softplus",
    "equal",
    "not_equal",
    "fma",
    "select",
    "select_by_jump",
    "round_to_float32",
    "to_f64",
    "to_i64",
    "logical_not",
    "zero_where_discarded",
    "tanh_slope",
    *_COUNTER_BASED,
}

PYTHON_FUNCTIONS: dict[str, Callable[..., object]] = {
    **{name: getattr(np, name) for name in FUNCTIONS if name not in _SCIPY and name not in _OWN},
    **{name: _from_scipy(name) for name in _SCIPY if name not in math_special.SEVERAL_RESULTS},
    **{name: _result_from_scipy(routine, position) for name, (routine, position, _) in math_special.SEVERAL_RESULTS.items()},
    **{name: getattr(numpy_counter_based, name) for name in _COUNTER_BASED},
    **_OPERATORS,
    "logical_not": operator.not_,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "fma": lambda x, y, z: x * y + z,
    "zero_where_discarded": lambda x, y, w: 0.0 if y == 0.0 and np.isnan(w) and np.isnan(x) else x,
    **dict.fromkeys(("select", "select_by_jump"), lambda condition, x, y: x if condition else y),
    "to_f64": np.float64,
    "round_to_float32": lambda x: np.float64(np.float32(x)),
    "to_i64": np.int64,
    "integer_floor_divide": lambda x, y: np.floor_divide(np.int64(x), np.int64(y)),
    "integer_mod": lambda x, y: np.remainder(np.int64(x), np.int64(y)),
    "integer_power": lambda x, n: np.float64(x) ** n,
    "softplus": lambda x: np.logaddexp(0.0, x),
    "tanh_slope": tanh_slope,
}
