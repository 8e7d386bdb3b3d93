"""The derivative tapes of a tape, each made once and kept with it: gradient, vector-Jacobian and Jacobian-vector products."""

from __future__ import annotations

from dataclasses import replace

from ...base.settings import settings
from ...errors import ArgumentMismatch, NonScalarOutput
from ...ir.instruction import CONSTANT, FLOAT64, Instruction, ValueType
from ...ir.pytree import FirstEntries, Pair
from ...ir.tape import Tape, kept_with_tape
from ...ops.control.calls import GET, TupleOp
from ...ops.elementwise.arithmetic import CONVERT


def require_differentiable(tape: Tape, argnums: tuple[int, ...]) -> None:
    """Raise ArgumentMismatch unless every argnum names a differentiable argument."""
    for k in argnums:
        if k not in tape.active_inputs:
            what = "is data (td.Constant, or integers)" if 0 <= k < len(tape.inputs) else f"does not exist ({len(tape.inputs)} arguments)"
            raise ArgumentMismatch(f"argument {k} of {tape.name} {what}, so it has no gradient",
                                   fix=f"choose argnums among {tape.active_inputs}")  # fmt: skip


def require_scalar(tape: Tape) -> None:
    """Raise NonScalarOutput unless the tape returns one real scalar."""
    type_ = tape.output_types[0] if tape.outputs else None
    if tape.result is not None and tape.result.kind is Pair:
        raise NonScalarOutput(
            f"{tape.name} returned a complex value; a gradient needs one real scalar", got=f"complex128{list(tape.output_types[0].shape)}",
            fix="return z.real, z.imag, np.abs(z) or another real number made of it",
        )  # fmt: skip
    if (tape.returns_tuple and not (tape.result is not None and tape.result.kind is FirstEntries)) or type_ is None:
        kind = tuple if tape.result is None or tape.result.kind is None else tape.result.kind
        raise NonScalarOutput(
            f"{tape.name} returned a {kind.__name__}; a gradient needs one real scalar",
            got=", ".join(map(str, tape.output_types)),
            fix="return the scalar alone; or, of (scalar, anything), say has_aux=True",
        )
    if type_.shape != () or tape.returns_tuple:
        raise NonScalarOutput(f"{tape.name} returned an array; a gradient needs a scalar", got=str(type_),
                              fix="use td.jacobian(f, x), or reduce the output, e.g. with .sum()")  # fmt: skip
    if not type_.is_float:
        raise NonScalarOutput(f"{tape.name} returned {type_.dtype}, which has no gradient", got=str(type_),
                              fix="return a floating-point number")  # fmt: skip


def require_gradient(tape: Tape, argnums: tuple[int, ...]) -> Tape:
    """The tape with a float as its output. Raises if it has no gradient by `argnums`."""
    with_floats = with_float_output(tape)
    require_scalar(with_floats)
    require_differentiable(tape, argnums)
    return with_floats


def with_float_output(tape: Tape) -> Tape:
    """Convert an integer or bool output to a float if it does not come from the inputs.

    `return 0` on one path of a function means 0.0: its gradient is zero. Integers that depend on the inputs (an argmax, a count)
    are rejected, as differentiating them is a mistake; they may come from a path of a callee.
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
    return replace(tape, instructions=(*tape.instructions, added), outputs=(len(tape.instructions), *tape.outputs[1:]))


# Derived from a tape until its gradient is made: the tape prepared for differentiation.
READY = "ready"


def gradient_tape(tape: Tape, argnums: tuple[int, ...]) -> Tape:
    """Outputs: the value and its gradient by each of `argnums`."""
    return joint_tape(tape.without_aux(), argnums)


def joint_tape(tape: Tape, argnums: tuple[int, ...], keep: bool = True) -> Tape:
    """Outputs: if `keep`, those of the tape: its value and aux; then the gradient by each of `argnums`."""
    key = ("gradient", argnums)
    made = tape.derived.get(key)
    if made is None:
        from ...functions.callees.rolled_loop import prepared
        from ...passes.pipeline import run_passes
        from ...transforms.reverse import reverse

        with_floats = require_gradient(tape, argnums)
        ready = with_floats.derived.pop(READY, None) or prepared(with_floats)
        joint = reverse(ready.without_aux(), argnums)
        made = tape.derived[key] = run_passes(
            replace(joint, outputs=(*ready.outputs, *joint.outputs[1:]), save_limit=tape.save_limit)
        )
    return made if keep else _without_value(tape, argnums)


@kept_with_tape
def _without_value(tape: Tape, argnums: tuple[int, ...]) -> Tape:
    """The gradients alone, without instructions that only the value needs."""
    from ...passes.pipeline import run_passes

    joint = joint_tape(tape, argnums)
    return run_passes(replace(joint, outputs=joint.outputs[len(tape.outputs) :], returns_tuple=True, result=None, aux=None))


def gradient_tape_in_use(tape: Tape, argnums: tuple[int, ...], keep: bool = True) -> Tape:
    """gradient_tape for replays: the first time without the passes that cost more than they save in one replay."""
    from ...passes.pipeline import PREPARE, run_passes
    from ...passes.simplify.dead_code import dead_code
    from ...transforms.reverse import reverse

    tape = tape.without_aux()
    first_use = ("used", argnums)
    if first_use in tape.derived or ("gradient", argnums) in tape.derived:
        return joint_tape(tape, argnums, keep)
    with_floats = require_gradient(tape, argnums)
    tape.derived[first_use] = True
    return dead_code(reverse(run_passes(with_floats, PREPARE), argnums, keep_outputs=keep))


# The gradient alone gets its own kernel if that saves at least this part of the work, and this many additions.
WORTH_A_KERNEL, FEWEST_ADDITIONS = 0.3, 2000.0
# Longer tapes are not run through all passes to find out.
LONGEST_DERIVED_TWICE = 1000


@kept_with_tape
def is_cheaper_alone(tape: Tape, argnums: tuple[int, ...]) -> bool:
    """True if a gradient without the value is worth a kernel of its own."""
    on_disk = None
    if settings.cache_directory is not None:
        # The derivative tape tells, which a kernel that is on disk does not need.
        from ...compiler.jit.tape_digest import key_of

        on_disk = key_of("cheaper alone", tape, argnums)
    return _is_cheaper_alone(tape, argnums) if on_disk is None else _known_or_found(on_disk, tape, argnums)


def _known_or_found(on_disk: bytes, tape: Tape, argnums: tuple[int, ...]) -> bool:
    from ...compiler.jit.recipes import known_or_found

    return known_or_found(on_disk, lambda: _is_cheaper_alone(tape, argnums))


def _is_cheaper_alone(tape: Tape, argnums: tuple[int, ...]) -> bool:
    from ...passes.loops.save_or_recompute import cost_of

    joint = joint_tape(tape, argnums)
    cost = cost_of(joint)
    saved = cost - _cost_alone(tape, joint, argnums) if cost > FEWEST_ADDITIONS else 0.0
    return saved > max(FEWEST_ADDITIONS, WORTH_A_KERNEL * cost)


def _cost_alone(tape: Tape, joint: Tape, argnums: tuple[int, ...]) -> float:
    """The cost of the gradient without the value. Only in loops and calls do the passes find more than dead code does."""
    from ...passes.loops.save_or_recompute import cost_of
    from ...passes.simplify.dead_code import dead_code

    if len(joint) > LONGEST_DERIVED_TWICE and not any(isinstance(op, TupleOp) for op in {i.op for i in joint.instructions}):
        return cost_of(dead_code(replace(joint, outputs=joint.outputs[len(tape.outputs) :])))
    return cost_of(joint_tape(tape, argnums, False))
