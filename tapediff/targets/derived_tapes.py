"""The derivative tapes of a tape, each made once and kept with it: gradient, vector-Jacobian and Jacobian-vector products."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ArgumentMismatch, NonScalarOutput
from ..functions.rolled_loop import prepared
from ..ir.instruction import CONSTANT, FLOAT64, Instruction, ValueType
from ..ir.tape import Tape
from ..ops.arithmetic import CONVERT
from ..ops.calls import GET
from ..passes.pipeline import PREPARE, run_passes
from ..passes.simplify.dead_code import dead_code
from ..transforms.reverse import reverse


def require_differentiable(tape: Tape, argnums: tuple[int, ...]) -> None:
    """Raises ArgumentMismatch unless every argnum names a differentiable argument."""
    for k in argnums:
        if k not in tape.active_inputs:
            what = "is data (td.Constant, or integers)" if 0 <= k < len(tape.inputs) else f"does not exist ({len(tape.inputs)} arguments)"
            raise ArgumentMismatch(f"argument {k} of {tape.name} {what}, so it has no gradient",
                                   fix=f"choose argnums among {tape.active_inputs}")  # fmt: skip


def require_scalar(tape: Tape) -> None:
    """Raises NonScalarOutput unless the tape returns one real scalar."""
    type_ = tape.output_types[0] if tape.outputs else None
    if tape.returns_tuple or type_ is None:
        raise NonScalarOutput(
            f"{tape.name} returned a tuple; a gradient needs one real scalar",
            got=", ".join(map(str, tape.output_types)),
            fix="return the scalar alone, or use td.grad(f, has_aux=True)",
        )
    if type_.shape != ():
        raise NonScalarOutput(f"{tape.name} returned an array; a gradient needs a scalar", got=str(type_),
                              fix="use td.jacobian(f, x), or reduce the output, e.g. with .sum()")  # fmt: skip
    if not type_.is_float:
        raise NonScalarOutput(f"{tape.name} returned {type_.dtype}, which has no gradient", got=str(type_),
                              fix="return a floating-point number")  # fmt: skip


def with_float_output(tape: Tape) -> Tape:
    """The tape with its output as floats where it is integers or booleans that do not come from its inputs; else as it is.

    `return 0` on one path of a function means 0.0: its gradient is zero. Integers that depend on the inputs (an argmax, a count)
    are refused, as whoever differentiates them has made a mistake; they may come from a path of a callee.
    """
    if tape.returns_tuple or not tape.outputs:
        return tape
    number = tape.outputs[0]
    op, _, params, type_, site = tape.instructions[number]
    if type_.is_float or op not in (CONSTANT, GET):
        return tape
    as_float = ValueType(type_.shape, FLOAT64)
    added = Instruction(CONVERT, (number,), (FLOAT64,), as_float, site)
    if op is CONSTANT:
        added = Instruction(CONSTANT, (), (params[0].astype(FLOAT64),), as_float, site)
    return replace(tape, instructions=(*tape.instructions, added), outputs=(len(tape.instructions),))


def gradient_tape(tape: Tape, argnums: tuple[int, ...]) -> Tape:
    """Outputs: the value and its gradient with respect to each of `argnums`."""
    key = ("gradient", argnums)
    made = tape.derived.get(key)
    if made is None:
        with_floats = with_float_output(tape)
        require_scalar(with_floats)
        require_differentiable(tape, argnums)
        made = tape.derived[key] = run_passes(reverse(prepared(with_floats), argnums))
    return made


def gradient_tape_in_use(tape: Tape, argnums: tuple[int, ...]) -> Tape:
    """gradient_tape for replays: the first time without the passes that take longer than they save one replay."""
    first_use = ("used", argnums)
    if first_use in tape.derived or ("gradient", argnums) in tape.derived:
        return gradient_tape(tape, argnums)
    with_floats = with_float_output(tape)
    require_scalar(with_floats)
    require_differentiable(tape, argnums)
    tape.derived[first_use] = True
    return dead_code(reverse(run_passes(with_floats, PREPARE), argnums))


def vjp_tape(tape: Tape, argnum: int) -> Tape:
    """Inputs: those of the tape and a cotangent of its output. Output: the cotangent of argument `argnum`."""
    key = ("vjp", argnum)
    made = tape.derived.get(key)
    if made is None:
        require_differentiable(tape, (argnum,))
        with_floats = with_float_output(tape)
        if tape.returns_tuple or not with_floats.output_types[0].is_float:
            raise NonScalarOutput(f"{tape.name} must return one real array to be differentiated",
                                  got=", ".join(map(str, tape.output_types)), fix="return one floating-point array")  # fmt: skip
        product = reverse(prepared(with_floats), (argnum,), seed=True, keep_outputs=False)
        made = tape.derived[key] = run_passes(replace(product, returns_tuple=False))
    return made


def jvp_tape(tape: Tape, argnum: int) -> Tape:
    """Inputs: those of the tape and a tangent of argument `argnum`. Output: the tangent of its output.

    The transpose of the vector-Jacobian product, which is linear in its cotangent, so each rule is written once. Its derivative by the
    cotangent is taken at one of no zeros, on which nothing depends but the tests whether a cotangent is zero because its value was
    discarded: at a cotangent of zeros every value would look discarded, and an infinite derivative would come out as 0.
    """
    key = ("jvp", argnum)
    made = tape.derived.get(key)
    if made is None:
        transposed = prepared(vjp_tape(tape, argnum))
        product = reverse(transposed, (len(transposed.inputs) - 1,), seed=True, keep_outputs=False)
        made = tape.derived[key] = run_passes(_at_cotangent_without_zeros(product, len(tape.inputs)))
    return made


def _at_cotangent_without_zeros(product: Tape, position: int) -> Tape:
    """The tape with its input at `position` made a constant, of entries that do not cancel each other either."""
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


def gradient_only(tape: Tape, argnum: int) -> Tape:
    """The gradient as the single output of a tape, to be differentiated again."""
    key: Any = ("gradient only", argnum)
    made = tape.derived.get(key)
    if made is None:
        joint = gradient_tape(tape, (argnum,))
        made = tape.derived[key] = replace(joint, outputs=joint.outputs[1:], returns_tuple=False)
    return made
