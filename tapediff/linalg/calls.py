"""Implementations of scipy.linalg for tracked arguments: by recorded operations, or by SciPy's value and a derivative rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module

import numpy as np

from ..base.source_location import user_site
from ..errors import UnsupportedFunction
from ..functions.primitive import Primitive
from ..ir.instruction import FLOAT64, Operand, ValueType, is_tracked
from ..numpy_api.creating import holds_tracked
from ..numpy_api.joining import as_value
from ..numpy_api.kinds import as_floats, converted
from ..ops.elementwise.structure import STOP_GRADIENT
from ..ops.matrices.given_values import GIVEN

Function = Callable[..., Operand]
# types(*arguments, **options) gives the type of the result, or those of the results.
Types = Callable[..., ValueType | tuple[ValueType, ...]]
# rule(z_bar, z, *inputs) -> cotangents of the inputs.
Rule = Callable[..., tuple[Operand, ...]]


def scipys(function: Function) -> Function:
    """Wrap a function of tracked arrays under its name in scipy.linalg, whose function is called for plain arguments."""

    @wraps(function)
    def call(*args: Operand, **named: Operand) -> Operand:
        if any(map(holds_tracked, args)) or any(map(holds_tracked, named.values())):
            return function(*args, **named)
        return _original(function.__name__)(*args, **named)

    return call


@cache
def _original(name: str) -> Function:
    # Imported on demand, as it takes longer than all of tapediff. During recordings the name refers to this package's function.
    function = getattr(import_module("scipy.linalg"), name)
    return getattr(function, "original", function)


@dataclass(frozen=True)
class _Evaluated:
    """SciPy's function with options, as the forward function of a primitive that is never differentiated."""

    function: Callable[..., object]
    options: tuple[tuple[str, Operand], ...]

    def __call__(self, *args: Operand) -> tuple[Operand, None]:
        return self.function(*args, **dict(self.options)), None


@cache
def _primitive(function: Callable[..., object], name: str, options: tuple[tuple[str, Operand], ...]) -> Primitive:
    return Primitive(_Evaluated(function, options), None, name, False)


def computed(function: Callable[..., object], types: Types, *args: Operand, **options: Operand) -> Operand:
    """Call a plain function of arrays in Python at every replay, also from kernels. Without `given` it has no derivative.

    Args:
        types: maps the types of the arguments to that of the result, or a tuple of them; also if nothing is run, as in a reverse pass.
        options: plain keyword arguments of the function.
    """
    operands = [STOP_GRADIENT(value) if is_tracked(value) else value for value in args]
    if not any(map(is_tracked, operands)):
        return function(*operands, **options)
    primitive = _primitive(function, f"scipy.linalg.{function.__name__.strip('_')}", tuple(sorted(options.items())))
    callee = primitive.callee(tuple(operands))
    if callee.results is None:
        callee.declare(types(*operands, **options))
    return primitive(*operands)


def like(value: Operand) -> ValueType:
    """The type of an operand."""
    return ValueType(np.shape(value), FLOAT64)


def given(value: Operand, *inputs: Operand, rule: Rule) -> Operand:
    """A value computed by other means, with a rule for its derivative in the inputs."""
    return GIVEN(value, *inputs, rule=rule)


def array(value: Operand) -> Operand:
    """A tracked value unchanged, a list of them joined; anything else as an array."""
    return value if is_tracked(value) else as_value(value)


def floats(*values: Operand) -> list[Operand]:
    """Convert to arrays of the float type that SciPy computes in."""
    return [as_floats(array(value)) for value in values]


def doubles(value: Operand) -> Operand:
    """Convert to a 64-bit array."""
    value = array(value)
    return converted(value, FLOAT64) if is_tracked(value) else np.asarray(value, FLOAT64)


def square(a: Operand) -> Operand:
    """A stack of square matrices; raises SciPy's error for anything else."""
    a = as_floats(array(a))
    if np.ndim(a) < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError(f"Expected a square matrix, got an array of shape {np.shape(a)}")
    return a


def refuse(name: str, what: str, fix: str) -> UnsupportedFunction:
    """The error for an argument that tracked arrays do not support."""
    return UnsupportedFunction(f"tapediff.linalg.{name} {what}", at=user_site(3), fix=fix)
