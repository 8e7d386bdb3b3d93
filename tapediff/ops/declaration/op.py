"""The declaration of an op: NumPy evaluation, type rule, derivative rules, lowering, and every fact that another stage reads.

A derivative rule is written once, as a function of tracked values: `rule(z_bar, z, x, y, ..., **params)` gives the cotangent of
one input. For elementwise ops the caller sums the cotangent over broadcast axes, so rules ignore broadcasting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from ...ir.instruction import (
    BOOL,
    Instruction,
    Operand,
    Param,
    Params,
    Primitive,
    ResultType,
    ValueType,
    innermost_recorder,
)
from .building_blocks import Batch, Lowering
from .samples import REAL, Domain
from .scalar_expressions import has_costly, has_division

Rule = Callable[..., Operand] | None
# A function of tracked arrays, and the arrays to call it on.
Example = tuple[Callable[..., Operand], tuple[Operand, ...]]


@dataclass(frozen=True)
class Batching:
    """The rule that turns an operation of all iterations of a loop into one operation on arrays with one more leading axis.

    Attributes:
        emit: `emit(batch, instruction)`, by one of the building blocks of `Batch`.
        suits: `suits(instruction, types, fixed)`: True if it can be done, given the operands' types at one iteration, and which
            operands are the same at all iterations.
    """

    emit: Callable[[Batch, Instruction], int]
    suits: Callable[[Instruction, Sequence[ValueType], Sequence[bool]], bool] = lambda i, types, fixed: True


@dataclass(frozen=True, eq=False)
class Op(Primitive):
    """A differentiable primitive.

    Attributes:
        name: as printed in tapes.
        evaluate: NumPy evaluation, `evaluate(*values, *params)`.
        infer: type rule, `infer(*types, **params) -> ValueType`.
        vjp: one rule per input (None where the derivative is zero), or one callable
            `(z_bar, z, *inputs, **params) -> sequence of cotangents` for ops of any arity.
        params: names of the static parameters, in order.
        lower: `lower(lowering, instruction)` emits loops or library calls; elementwise ops leave it to their scalar expression.

      How NumPy converts operands:
        promote: positions of the inputs that NumPy promotes to one dtype; None for all.
        floats_only: integers that it promotes become float64 first, as NumPy does for exp or divide.
        masks_as_integers: masks are promoted to int64 first, where NumPy has no loop for them and takes its smallest integers.
        integers: the op or composition used instead if all promoted operands are integers or masks, where NumPy's loop does not
            convert them to floats.

      For derivatives:
        masks: the op discards some of its inputs, so that their cotangent is an exact zero.
        squared: for an op with a kink whose square has none, such as abs: rules that take the cotangent of the square instead.
        not_differentiated: positions of inputs whose derivative is dropped on purpose or not known.

      For passes and compiler:
        moves: every entry of the result is an entry of the first input, picked or repeated by position: a rearrangement.
        is_view: no code in a kernel: the result is the operand's memory with another layout.
        exact: the result needs no rounding to 32 bits, as that of a rearrangement: copies of rounded entries, or not numbers.
        additions: `additions(type, input_types)`: the cost in additions; None for a routine.
        batching: computes all iterations of a loop at once; None if impossible.
        positions: for an op that reads or writes entries by flat position: the input with the positions, and the input that is the
            array, or None if the first parameter is its shape.
        lapack: a routine like LAPACK's, which may fail, or not end, on values that a guard before it excludes.
        raises: raises LinAlgError on some values.
        fails_on_integers: raises, or traps in a kernel, on some integers.
        checked: for an op that raises: the op and a guard on its success, recorded instead of the op if user code may catch the
            failure.

      For margins:
        compares: for a comparison, a sort, or an op with a kink: `compares(z, *inputs, *params)` gives the two arrays whose
            distance decides, and the outcome: (left, right, outcome).
        jump: for a rounding: `jump(x)` is the number nearest to x at which the result changes.

      For NumPy's functions and the tests:
        answers: the NumPy and SciPy callables this op implements when called on tracked values.
        samples: one domain per input, from which the tests draw.
        sample_params: static parameters that the tests try with the samples.
        examples: for ops that need special arrays, calls for the tests: `examples(rng)` gives pairs of a function of tracked arrays
            and the arrays to call it on.
    """

    name: str
    evaluate: Callable[..., Operand]
    _: KW_ONLY
    infer: Callable[..., ResultType]
    vjp: tuple[Rule, ...] | Callable[..., Sequence[Operand]]
    params: tuple[str, ...] = ()
    lower: Callable[[Lowering, Instruction], None] | None = None
    promote: tuple[int, ...] | None = None
    floats_only: bool = True
    masks_as_integers: bool = False
    integers: Callable[..., Operand] | None = None
    masks: bool = False
    squared: tuple[Rule, ...] | None = None
    not_differentiated: tuple[int, ...] = ()
    moves: bool = False
    is_view: bool = False
    exact: bool = False
    additions: Callable[[ValueType, Sequence[ValueType]], float] | None = None
    batching: Batching | None = None
    positions: tuple[int, int | None] | None = None
    lapack: bool = False
    raises: bool = False
    fails_on_integers: bool = False
    checked: Callable[..., Operand] | None = None
    compares: Callable[..., tuple[Operand, Operand, Operand]] | None = None
    jump: Callable[[np.ndarray], np.ndarray] | None = None
    answers: tuple[Callable[..., object], ...] = ()
    samples: tuple[Domain, ...] = ()
    sample_params: tuple[dict[str, Param], ...] = ({},)
    examples: Callable[[np.random.Generator], Sequence[Example]] | None = None

    def named(self, params: Params) -> dict[str, Param]:
        return dict(zip(self.params, params))

    def __call__(self, *args: Operand, **named: Param) -> Operand:
        """Record on the innermost recording that an argument belongs to; evaluate with NumPy when none does."""
        params = tuple(named[name] for name in self.params)
        recorder = innermost_recorder(args)
        if recorder is None:
            return self.evaluate(*args, *params)
        return recorder.apply(self, args, params)

    def __repr__(self) -> str:
        return self.name


def declared_op(instruction: Instruction) -> Op:
    """The op of an instruction other than an input, constant or guard."""
    assert isinstance(instruction.op, Op)
    return instruction.op


@dataclass(frozen=True, eq=False)
class Elementwise(Op):
    """An op that acts on each element alone, with NumPy broadcasting.

    Attributes:
        scalar: the operation on one element as an expression in the names `arguments`, over the vocabulary of
            compiler.math.function_table; the kernel and its readable listing are both made from it.
        integer_scalar, mask_scalar: the expression on integers and on masks, if it differs.
        result: the result's dtype; None for that of the promoted inputs.
        linear: the rules do not multiply the cotangent by anything that could be infinite.
        arguments: the names used in `scalar`, one per input.
        infer: the type rule, which follows from `result` and `promote`.
    """

    scalar: str
    integer_scalar: str = field(default="", kw_only=True)
    mask_scalar: str = field(default="", kw_only=True)
    result: np.dtype | None = field(default=None, kw_only=True)
    linear: bool = field(default=False, kw_only=True)
    batching: Batching | None = field(default=Batching(lambda batch, i: batch.elementwise(i)), kw_only=True)
    arguments: tuple[str, ...] = field(init=False)
    infer: Callable[..., ValueType] = field(init=False)

    def __post_init__(self) -> None:
        assert isinstance(self.vjp, tuple)
        names = ("x", "y", "w", "u") if self.promote is None else ("c", "x", "y")
        object.__setattr__(self, "arguments", names[: len(self.vjp)])
        object.__setattr__(self, "infer", _type_rule(self.result, self.promote))

    @property
    def is_costly(self) -> bool:
        """True if it takes more than a few machine instructions: exp, sin, lgamma and the like."""
        return has_costly(self.scalar)

    @property
    def divides(self) -> bool:
        """True if it takes as long as a division."""
        return has_division(self.scalar)


def _type_rule(result: np.dtype | None, promote: tuple[int, ...] | None) -> Callable[..., ValueType]:
    """The type rule of an elementwise op."""
    first = 0 if promote is None else promote[0]

    def infer(*types: ValueType, **_: object) -> ValueType:
        shape = types[0].shape
        if result is None and promote is None and types.count(types[0]) == len(types):
            return types[0]  # the same object, as passes compare types by identity first
        if len(types) > 1:
            shapes = {type_.shape for type_ in types}
            shape = np.broadcast_shapes(*shapes) if len(shapes) > 1 else shape
        return ValueType(shape, result if result is not None else types[first].dtype)

    return infer


def comparison(name: str, evaluate: Callable[..., Operand], scalar: str, mask_scalar: str = "") -> Elementwise:
    """Declare a comparison of two numbers, which has a boolean result and therefore no derivative."""
    return Elementwise(
        name, evaluate, scalar, vjp=(None, None), result=BOOL, mask_scalar=mask_scalar, floats_only=False, linear=True,
        compares=lambda z, x, y: (x, y, z), answers=(getattr(np, name),), samples=(REAL, REAL),
    )  # fmt: skip


def property_of_float(name: str, evaluate: Callable[..., Operand], boundary: float) -> Elementwise:
    """Declare a mask of floats such as isnan; it changes at `boundary`, NaN if no finite distance leads there."""
    return Elementwise(
        name, evaluate, f"{name}(x)", vjp=(None,), result=BOOL, linear=True, compares=lambda z, x: (x, boundary, z),
        answers=(getattr(np, name),), samples=(REAL,),
    )  # fmt: skip
