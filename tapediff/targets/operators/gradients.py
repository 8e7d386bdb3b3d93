"""Value and gradient as an operator: by parts of arguments, without the value, and of functions that return something beside it."""

from __future__ import annotations

from ...ir.instruction import Target, Tree
from ...ir.outputs import Out
from ..evaluate.chosen import choose
from ..evaluate.evaluation import evaluate
from ..evaluate.request import Request
from ..tapes.gradient_tape import joint_tape
from ..tapes.operator_tapes import Operator, values_tape


def gradient_answer(target: Target, asked: Request, out: Out, keep: bool = True) -> tuple[Tree, ...]:
    """Value (None without `keep`), gradient as td.gradient returns it, and aux of a target that returns (value, aux) if asked for."""
    chosen, keep = choose(target, asked.args, asked.argnums, asked.wrt), keep or asked.has_aux
    into = out if out is None or chosen.is_plain else chosen.flat(out, "out")
    build = lambda wrt: Operator(joint_tape, wrt, keep, has_aux=asked.has_aux, parts=chosen.parts)  # noqa: E731 -- its name is its use
    found = evaluate(target, asked.args, chosen.numbers, build, (), into, not chosen.is_plain, asked.has_aux)
    gradients = found.delivered(found.outputs[len(found.tape.outputs) * keep :], into, not chosen.is_plain)
    if not chosen.is_plain:
        gradients = out if out is not None else chosen.nested(chosen.plain(gradients))
    answer = found.value() if keep else None, gradients
    return (*answer, found.aux()) if asked.has_aux else answer


def value_and_aux(target: Target, args: tuple[Tree, ...]) -> tuple[Tree, Tree]:
    """The result of a CompiledTape or GuardedTape that knows of aux."""
    found = evaluate(target, args, (), lambda wrt: Operator(values_tape, wrt, True, has_aux=True))
    return found.value(), found.aux()
