"""What an op declares: its NumPy evaluation, its type rule, its derivative rules, its lowering, and the samples tests draw.

A derivative rule is written once, as a function of tracked values: `rule(z_bar, z, x, y, ..., **params)` gives the cotangent of
one input. For elementwise ops the caller sums the cotangent over broadcast axes, so rules ignore broadcasting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..ir.instruction import BOOL, ValueType, is_tracked

Rule = Callable[..., Any] | None


@dataclass(frozen=True, eq=False)
class Op:
    """A differentiable primitive.

    Attributes:
        name: as printed in tapes.
        evaluate: NumPy evaluation, `evaluate(*values, *params)`.
        infer: type rule, `infer(*types, **params) -> ValueType`.
        vjp: one rule per input (None where the derivative is zero), or one callable
            `(z_bar, z, *inputs, **params) -> sequence of cotangents` for ops of any arity.
        params: names of the static parameters, in order.
        lower: `lower(lowering, instruction)` emits loops or library calls; elementwise ops leave it to their scalar expression.
        promote: positions of the inputs that NumPy promotes to one dtype; None for all.
        floats_only: integers are promoted to float64 first, as NumPy does for exp or divide.
        masks_as_integers: masks are promoted to int64 first, where NumPy has no loop for them and takes its smallest integers.
        integers: what answers instead where all operands that are promoted are integers or masks, as NumPy's loop for these does
            something else than convert them: it keeps them, or there is no such op.
        linear: the rules do not multiply the cotangent by anything that could be infinite.
        masks: the op discards some of its inputs, so that their cotangent is an exact zero.
        squared: of an op with a kink whose square has none, such as abs: rules that take the cotangent of the square instead.
        checked: of an op that fails on some values: the op and a guard on its success, recorded instead of the op where user code may
            catch the failure.
        answers: the NumPy and SciPy callables this op implements when called on tracked values.
        samples: one domain per input, from which the tests draw.
        not_differentiated: positions of inputs whose derivative is dropped on purpose or not known.
        sample_params: static parameters that the tests try with the samples.
        examples: for ops that arbitrary arrays do not suit, what the tests call instead: `examples(rng)` gives pairs of a function
            of tracked arrays and the arrays to call it on.
    """

    name: str
    evaluate: Callable[..., Any]
    infer: Callable[..., Any]
    vjp: tuple[Rule, ...] | Callable[..., Sequence[Any]]
    params: tuple[str, ...] = ()
    lower: Callable[..., None] | None = None
    promote: tuple[int, ...] | None = None
    floats_only: bool = True
    masks_as_integers: bool = False
    integers: Callable[..., Any] | None = None
    linear: bool = False
    masks: bool = False
    squared: tuple[Rule, ...] | None = None
    checked: Callable[..., Any] | None = None
    answers: tuple[Any, ...] = ()
    samples: tuple[Any, ...] = ()
    not_differentiated: tuple[int, ...] = ()
    sample_params: tuple[dict[str, Any], ...] = ({},)
    examples: Callable[[np.random.Generator], Sequence[tuple[Callable[..., Any], tuple[Any, ...]]]] | None = None

    def named(self, params: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip(self.params, params))

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Record on the innermost recording that an argument belongs to; evaluate with NumPy when none does."""
        params = tuple(named[name] for name in self.params)
        recorder: Any = None
        for argument in args:
            if is_tracked(argument):
                candidate = argument._recorder
                if recorder is None or candidate.level > recorder.level:
                    recorder = candidate
        if recorder is None:
            return self.evaluate(*args, *params)
        return recorder.apply(self, args, params)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return _registered, (self.name,)


def _registered(name: str) -> Op:
    """The op of this name, which is how ops are pickled."""
    from . import REGISTRY

    return REGISTRY[name]


@dataclass(frozen=True, eq=False)
class Elementwise(Op):
    """An op that acts on each element alone, with NumPy broadcasting.

    Attributes:
        scalar: the operation on one element as an expression in the names `arguments`, over the vocabulary of
            compiler.math.function_table; the kernel and its readable listing are both made from it.
        arguments: the names used in `scalar`, one per input.
        by_element: whether it calls a scalar routine, SciPy's for example, for every element; others run on packed registers.
    """

    scalar: str = ""
    arguments: tuple[str, ...] = ()
    by_element: bool = False

    @property
    def is_costly(self) -> bool:
        """Whether it takes more than a few machine instructions: exp, sin, lgamma and the like."""
        return has_costly(self.scalar)


# The functions of scalar expressions that are a machine instruction or a few.
_CHEAP = frozenset(
    ("select", "sqrt", "absolute", "maximum", "minimum", "equal", "not_equal", "to_f64", "to_i64", "floor", "ceil", "rint", "trunc",
     "sign", "isnan", "isfinite", "isinf", "fma", "logical_not", "round_to_float32", "copysign")
)  # fmt: skip
# The names of functions in a scalar expression.
FUNCTION = re.compile(r"\b([a-z]\w*)\(")


@cache
def has_costly(expression: str) -> bool:
    """Whether a scalar expression calls exp, sin, lgamma or the like."""
    return any(name not in _CHEAP for name in FUNCTION.findall(expression))


def elementwise(
    name: str,
    evaluate: Callable[..., Any],
    scalar: str,
    vjp: tuple[Rule, ...],
    *,
    result: np.dtype | None = None,
    params: tuple[str, ...] = (),
    promote: tuple[int, ...] | None = None,
    floats_only: bool = True,
    masks_as_integers: bool = False,
    integers: Callable[..., Any] | None = None,
    linear: bool = False,
    masks: bool = False,
    squared: tuple[Rule, ...] | None = None,
    answers: tuple[Any, ...] = (),
    samples: tuple[Any, ...] = (),
    not_differentiated: tuple[int, ...] = (),
    sample_params: tuple[dict[str, Any], ...] = ({},),
    by_element: bool = False,
) -> Elementwise:
    """Declare an elementwise op; `result` fixes the result dtype, else it is that of the promoted inputs."""
    arguments = ("x", "y", "w")[: len(vjp)] if promote is None else ("c", "x", "y")[: len(vjp)]

    def infer(*types: ValueType, **_: Any) -> ValueType:
        shape = types[0].shape
        if result is None and promote is None and types.count(types[0]) == len(types):
            return types[0]  # the same object, as passes tell types apart by identity first
        if len(types) > 1:
            shapes = {type_.shape for type_ in types}
            shape = np.broadcast_shapes(*shapes) if len(shapes) > 1 else shape
        dtype = result if result is not None else types[0 if promote is None else promote[0]].dtype
        return ValueType(shape, dtype)

    return Elementwise(
        name=name,
        evaluate=evaluate,
        infer=infer,
        vjp=vjp,
        params=params,
        promote=promote,
        floats_only=floats_only,
        masks_as_integers=masks_as_integers,
        integers=integers,
        linear=linear,
        masks=masks,
        squared=squared,
        answers=answers,
        samples=samples,
        not_differentiated=not_differentiated,
        sample_params=sample_params,
        scalar=scalar,
        arguments=arguments,
        by_element=by_element,
    )


def predicate(
    name: str, evaluate: Callable[..., Any], scalar: str, answers: tuple[Any, ...], arity: int = 2, floats_only: bool = False
) -> Elementwise:
    """Declare an elementwise op with a boolean result and therefore no derivative."""
    return elementwise(
        name, evaluate, scalar, (None,) * arity, result=BOOL, floats_only=floats_only, linear=True, answers=answers,
        samples=(REAL,) * arity,
    )  # fmt: skip


@dataclass(frozen=True)
class Domain:
    """An interval that tests draw from; a mask for kind "b"."""

    low: float
    high: float
    kind: str = "f"

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return np.asarray(rng.random(shape) < 0.5 if self.kind == "b" else rng.uniform(self.low, self.high, shape))


MASK = Domain(0.0, 1.0, "b")
REAL = Domain(-3.0, 3.0)
NONZERO = Domain(0.3, 3.0)
POSITIVE = Domain(0.1, 5.0)
UNIT = Domain(-0.9, 0.9)
PROBABILITY = Domain(0.05, 0.95)
ABOVE_ONE = Domain(1.1, 5.0)
