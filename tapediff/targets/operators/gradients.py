"""Value, and value and gradient, of a function that returns something beside its value."""

from __future__ import annotations

from ...ir.instruction import Target, Tree
from ...ir.outputs import Out
from ..evaluate.chosen import choose
from ..evaluate.evaluation import evaluate
from ..evaluate.request import Request
from ..tapes.gradient_tape import joint_tape
from ..tapes.operator_tapes import Operator, values_tape


def value_gradient_and_aux(target: Target, asked: Request, out: Out) -> tuple[Tree, Tree, Tree]:
    """Value, gradient as td.gradient returns it, and aux, of a target that returns (value, aux)."""
    chosen = choose(target, asked.args, asked.argnums)
    into = out if out is None or chosen.is_plain else chosen.flat(out, "out")
    build = lambda wrt: Operator(joint_tape, wrt, True, has_aux=True)  # noqa: E731 -- its name is its use
    found = evaluate(target, asked.args, chosen.numbers, build, (), into, not chosen.is_plain, True)
    gradients = found.delivered(found.outputs[len(found.tape.outputs) :], into, not chosen.is_plain)
    if not chosen.is_plain:
        gradients = out if out is not None else chosen.nested(chosen.plain(gradients))
    return found.value(), gradients, found.aux()


def value_and_aux(target: Target, args: tuple[Tree, ...]) -> tuple[Tree, Tree]:
    """The result of a CompiledTape or GuardedTape that knows of aux."""
    found = evaluate(target, args, (), lambda wrt: Operator(values_tape, wrt, True, has_aux=True))
    return found.value(), found.aux()
