"""Tapes of derivative operators: products with Jacobians and Hessians, and full matrices. Each is kept with its tape.

All take the tape's inputs, followed by tangents or cotangents if the operator has any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import ArgumentMismatch, NonScalarOutput, UnsupportedFunction
from ...ir.instruction import CONSTANT, INPUT, Instruction, ValueType
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape, kept_with_tape
from ...ops.arrays.shape import BROADCAST
from .gradient_tape import joint_tape, require_differentiable, with_float_output

if TYPE_CHECKING:
    from ...transforms.active_part import Part

Numbers = tuple[int, ...]


class Operator(NamedTuple):
    """A derivative of any tape, as a tape of its own.

    Attributes:
        make: one of the functions below: make(tape, wrt, keep).
        wrt: positions of the inputs to differentiate with respect to.
        keep: also return the outputs before the derivative: the tape's own, or value and gradients.
        batch: the number of simultaneous tangents or cotangents.
        vectors: the number of inputs for them, which come last.
        mode: of a Jacobian: "forward" or "reverse"; None for the cheaper one.
        has_aux: keep the function's aux too; needs `keep`.
        parts: the entries of each of these inputs to differentiate by; empty for all.
    """

    make: Callable[..., Tape]
    wrt: Numbers
    keep: bool = False
    batch: int | None = None
    vectors: int = 0
    mode: str | None = None
    has_aux: bool = False
    parts: tuple[Part, ...] = ()

    @property
    def is_gradient(self) -> bool:
        """True for the gradient by whole arguments, alone or with the value."""
        return self.make is joint_tape and not self.has_aux and not self.parts

    def function(self, tape: Tape) -> Tape:
        """The part of a tape to differentiate: all of it, or its value alone.

        Raises:
            ArgumentMismatch: it returns no aux.
        """
        if not self.has_aux:
            return tape.without_aux()
        if tape.aux is None:
            raise ArgumentMismatch(
                f"has_aux=True, but {tape.name} was recorded without it", got="a function of one result",
                fix="say so to td.compile, td.record or td.GuardedTape as well: td.compile(f, x, has_aux=True), where f returns (y, aux)",
            )  # fmt: skip
        return tape

    def tape(self, tape: Tape) -> Tape:
        tape = self.function(tape)
        if self.parts:
            return _by_parts(tape, self)
        if self.mode is not None:
            return self.make(tape, self.wrt, self.keep, self.mode)
        product = self.make(tape, self.wrt, self.keep)
        if self.batch is None:
            return product
        return self._many(tape, product)

    def _many(self, tape: Tape, product: Tape) -> Tape:
        assert self.batch is not None, "the caller has seen to it"
        shared = self.keep * (len(tape.outputs) + (len(self.wrt) if self.make is hvp_tape else 0))
        return many_of(product, len(product.inputs) - self.vectors, self.batch, shared)


@kept_with_tape
def _by_parts(tape: Tape, operator: Operator) -> Tape:
    from ...passes.pipeline import run_passes
    from ...transforms.active_part import closed

    base, wrt = by_parts(tape, operator.wrt, operator.parts)
    made = operator._replace(wrt=wrt, parts=(), batch=None).tape(base)
    # The second half of a product takes residuals instead of the point.
    first = -1 if isinstance(operator.make, Backward) else len(tape.inputs)
    product = run_passes(closed(made, operator.wrt, operator.parts, first))
    return product if operator.batch is None else operator._many(tape, product)


@kept_with_tape
def by_parts(tape: Tape, wrt: Numbers, parts: tuple[Part, ...]) -> tuple[Tape, Numbers]:
    """The tape in which only values reached by parts of the inputs `wrt` are active, and the positions of its inputs for these parts."""
    from ...functions.callees.rolled_loop import rolled
    from ...transforms.active_part import restricted

    ready = rolled(tape)
    base = restricted(ready, wrt, parts)
    if ready is not tape or tape.derived.get("rolled") is tape:
        base.derived["rolled"] = base
    return base, tuple(range(len(tape.inputs), len(tape.inputs) + len(wrt)))


# A compressed product pays for its indices if it has at most this part of the columns.
WORTH_COMPRESSING = 0.5

# The cost of a forward sweep, relative to a reverse one.
FORWARD_COST = 1.2


def float_outputs(tape: Tape) -> Numbers:
    return tuple(k for k, type_ in enumerate(tape.output_types[: tape.value_count]) if type_.is_float)


def require_float_outputs(tape: Tape) -> None:
    if not float_outputs(tape):
        raise NonScalarOutput(f"{tape.name} must return real numbers to be differentiated",
                              got=", ".join(map(str, tape.output_types)), fix="return floating-point numbers or arrays")  # fmt: skip


def values_tape(tape: Tape, wrt: Numbers = (), keep: bool = True) -> Tape:
    """Outputs: those of the tape."""
    from ...functions.callees.callee import prepared_once
    from ...functions.callees.rolled_loop import rolled

    return prepared_once(rolled(tape))


# Products with vectors


@kept_with_tape
def vjp_tape(tape: Tape, wrt: Numbers, keep: bool = False) -> Tape:
    """Further inputs: a cotangent for each float output. Outputs: those of the tape if `keep`, then the cotangents of `wrt`."""
    from ...passes.pipeline import run_passes

    require_differentiable(tape, wrt)
    floated = with_float_output(tape)
    require_float_outputs(floated)
    return run_passes(_pulled(floated, wrt, float_outputs(floated), keep))


def _pulled(tape: Tape, wrt: Numbers, seeded: Numbers, keep: bool) -> Tape:
    from ...functions.callees.rolled_loop import prepared
    from ...transforms.cotangents import NONZERO
    from ...transforms.reverse import pullback

    ready = prepared(tape)
    product = replace(pullback(ready, wrt, dict.fromkeys(seeded, NONZERO)).tape, save_limit=tape.save_limit)
    return replace(product, outputs=(*ready.outputs, *product.outputs)) if keep else product


@kept_with_tape
def jvp_tape(tape: Tape, wrt: Numbers, keep: bool = False) -> Tape:
    """Further inputs: a tangent for each of `wrt`. Outputs: those of the tape if `keep`, then the tangents of its float outputs.

    The transpose of vjp_tape, which is linear in its cotangents, so each rule is written once. It is the derivative by a cotangent,
    taken at one without zeros. Only the tests for zero cotangents, which mark discarded values, depend on it: at a
    cotangent of zeros every value would look discarded, and an infinite derivative would come out as 0.
    """
    from ...functions.callees.rolled_loop import prepared
    from ...passes.pipeline import run_passes
    from ...transforms.cotangents import NONZERO
    from ...transforms.reverse import pullback

    transposed = prepared(vjp_tape(tape, wrt, keep))
    first = len(tape.inputs)
    cotangents = tuple(range(first, len(transposed.inputs)))
    kept = len(transposed.outputs) - len(wrt)
    product = pullback(transposed, cotangents, {kept + k: NONZERO for k in range(len(wrt))}).tape
    product = replace(product, outputs=(*transposed.outputs[:kept], *product.outputs))
    for position in reversed(cotangents):
        product = _at_cotangent_without_zeros(product, position)
    return run_passes(replace(product, returns_tuple=True))


def _at_cotangent_without_zeros(product: Tape, position: int) -> Tape:
    """The tape with its input at `position` a constant, with entries that do not cancel."""
    instructions = list(product.instructions)
    type_ = instructions[product.inputs[position]].type
    cotangent = np.array(0.5 + np.modf(GOLDEN * np.arange(1, type_.size + 1))[0], type_.dtype).reshape(type_.shape)
    instructions[product.inputs[position]] = Instruction(CONSTANT, (), (cotangent,), type_, None)
    inputs = (*product.inputs[:position], *product.inputs[position + 1 :])
    for k, number in enumerate(inputs):
        instructions[number] = instructions[number]._replace(params=(k,))
    active = tuple(k - (k > position) for k in product.active_inputs if k != position)
    return replace(product, instructions=tuple(instructions), inputs=inputs, active_inputs=active, returns_tuple=False)


# Multiples of the golden ratio modulo 1 are spread as evenly as can be, and no sum of few of them is zero.
GOLDEN = (1 + 5**0.5) / 2


@kept_with_tape
def hvp_tape(tape: Tape, wrt: Numbers, keep: bool = False) -> Tape:
    """Further inputs: a vector for each of `wrt`. Outputs: those of joint_tape if `keep`, then the products of Hessian and vectors."""
    from ...passes.pipeline import run_passes

    joint = joint_tape(tape, wrt)
    first = len(tape.outputs)
    return run_passes(_pulled(joint, wrt, tuple(range(first, first + len(wrt))), keep))


@kept_with_tape
def many_of(product: Tape, first: int, count: int, shared: int = 0) -> Tape:
    """A product for `count` tangents or cotangents at once, from input `first` on, with a leading axis; results have one too."""
    from ...passes.pipeline import run_passes

    return run_passes(mapped_rows(product, first, count, shared))


def mapped_rows(product: Tape, first: int, count: int, shared: int) -> Tape:
    from ...functions.callees.tape_callee import callee_of
    from ...transforms.map_rows import RowsCannotBeMapped, map_rows

    try:
        return map_rows(product, range(first, len(product.inputs)), count, callee_of, shared)
    except RowsCannotBeMapped:
        raise UnsupportedFunction(
            f"a derivative of {product.name} in several directions at once", fix="ask for one direction at a time"
        ) from None


def with_constants(tape: Tape, first: int, values: Sequence[np.ndarray]) -> Tape:
    """The tape with its inputs from position `first` on made constants."""
    instructions = list(tape.instructions)
    for number, value in zip(tape.inputs[first:], values):
        value.flags.writeable = False
        instructions[number] = Instruction(CONSTANT, (), (value,), instructions[number].type, None)
    active = tuple(k for k in tape.active_inputs if k < first)
    return replace(tape, instructions=tuple(instructions), inputs=tape.inputs[:first], active_inputs=active)


@kept_with_tape
def second_tape(tape: Tape, wrt: Numbers, keep: bool) -> Tape:
    """For a function of a number. Outputs: those of the tape, their derivatives, and their second derivatives."""
    from ...passes.simplify.dead_code import dead_code

    joint = _at_one(jvp_tape(tape, wrt, True), len(tape.inputs))
    twice = _at_one(jvp_tape(joint, wrt, True), len(tape.inputs))
    # The derivatives of the values appear twice; drop one.
    count = len(joint.outputs) - len(tape.outputs)
    kept = (*twice.outputs[: len(joint.outputs)], *twice.outputs[len(twice.outputs) - count :])
    return dead_code(replace(twice, outputs=kept))


def _at_one(product: Tape, position: int) -> Tape:
    from ...passes.pipeline import run_passes

    type_ = product.input_types[position]
    return run_passes(with_constants(product, position, [np.ones(type_.shape, type_.dtype)]))


# Halves of a product: the part that does not depend on the vectors, and the rest


def halves(tape: Tape, product: Tape) -> tuple[Tape, Tape]:
    """Split a product with a Jacobian in two tapes: of the point alone, and of the vectors.

    Args:
        tape: the tape that `product` was made of, whose inputs it takes before the vectors.
        product: vjp_tape or jvp_tape of it, with its outputs kept.

    Returns:
        A tape of the outputs, followed by the residuals, and one from the residuals and the vectors to the results. If a residual
        would not be an array (the values of a loop whose length is known only when it runs), the residuals are the inputs.
    """
    known = product.derived.get("halves")
    if known is None:
        known = product.derived["halves"] = _halves(tape, product, len(tape.outputs)) or _whole(tape, product)
    return known


def _whole(tape: Tape, product: Tape) -> tuple[Tape, Tape]:
    from ...passes.pipeline import run_passes
    from ...passes.simplify.dead_code import dead_code

    forward = run_passes(replace(tape, outputs=(*tape.outputs, *tape.inputs), returns_tuple=True))
    return forward, dead_code(replace(product, outputs=product.outputs[len(tape.outputs) :]))


@dataclass(frozen=True)
class Forward:
    """The first half of a product, for an Operator to make."""

    make: Callable[..., Tape]

    def __call__(self, tape: Tape, wrt: Numbers, keep: bool) -> Tape:
        return halves(tape, self.make(tape, wrt, True))[0]


@dataclass(frozen=True)
class Backward:
    """The second half of a product, for an Operator to make; takes the residuals and the vectors."""

    make: Callable[..., Tape]

    def __call__(self, tape: Tape, wrt: Numbers, keep: bool) -> Tape:
        return halves(tape, self.make(tape, wrt, True))[1]


def _halves(tape: Tape, product: Tape, kept: int) -> tuple[Tape, Tape] | None:
    from ...passes.reach import reached_from

    reached = reached_from(product, product.inputs[len(tape.inputs) :])
    instructions = product.instructions
    # Broadcasts are repeated at their readers, so that the smaller array is kept.
    again = {n for n, i in enumerate(instructions) if not reached[n] and i.op in (CONSTANT, BROADCAST)}
    read = set(product.outputs[kept:])
    for number in range(len(instructions) - 1, -1, -1):
        if reached[number] or (number in again and number in read):
            read.update(instructions[number].inputs)
    residuals = [i for i in sorted(read) if not reached[i] and i not in again]
    if not all(isinstance(instructions[i].type, ValueType) for i in residuals):
        return None
    forward = _part(product, product.inputs[: len(tape.inputs)], lambda n: not reached[n], (*product.outputs[:kept], *residuals))
    vectors = product.inputs[len(tape.inputs) :]
    backward = _part(product, (*residuals, *vectors), lambda n: reached[n] or n in again, product.outputs[kept:])
    return replace(forward, active_inputs=tape.active_inputs), backward


def _part(tape: Tape, inputs: Sequence[int], wanted: Callable[[int], bool], outputs: Sequence[int]) -> Tape:
    """The wanted instructions, with the values `inputs` given."""
    from ...passes.simplify.dead_code import dead_code

    rewriter = Rewriter(tape)
    for position, number in enumerate(inputs):
        rewriter.number[number] = rewriter.emit(INPUT, (), (position,), tape.instructions[number].type, None)
    for number, instruction in enumerate(tape.instructions):
        if rewriter.number[number] < 0 and instruction.op is not INPUT and wanted(number):
            rewriter.number[number] = rewriter.copy(number)
    active = tuple(k for k, number in enumerate(inputs) if tape.instructions[number].type.is_float)
    made = Tape(
        tuple(rewriter.instructions), tuple(rewriter.number[n] for n in inputs), tuple(rewriter.number[n] for n in outputs),
        tape.name, active, True,
    )  # fmt: skip
    return dead_code(made)
