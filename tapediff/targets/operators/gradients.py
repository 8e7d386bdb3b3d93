"""Value and gradient as an operator: by parts of arguments, without the value, and with aux."""

from __future__ import annotations

from ...ir.instruction import Target, Tree
from ...ir.outputs import Out
from ..evaluate.chosen import choose
from ..evaluate.direct_calls import GRADIENT, VALUE_AND_GRADIENT, joined
from ..evaluate.evaluation import evaluate
from ..evaluate.request import Given, Request
from ..tapes.gradient_tape import joint_tape
from ..tapes.operator_tapes import Operator, values_tape


def gradient_answer(target: Target, asked: Request, out: Out, keep: bool) -> Tree:
    """Gradient, or value and gradient if `keep`, with aux if asked for."""
    chosen, has_aux = choose(target, asked.args, asked.argnums, asked.wrt), asked.has_aux
    into = out if out is None or chosen.is_plain else chosen.flat(out, "out")
    build = lambda wrt: Operator(joint_tape, wrt, keep or has_aux, has_aux=has_aux, parts=chosen.parts)  # noqa: E731 -- its name is its use
    found = evaluate(target, asked.args, chosen.numbers, build, (), into, not chosen.is_plain, has_aux)
    gradient = found.derivatives(chosen, len(found.tape.outputs) * (keep or has_aux), out)
    answer = found.with_aux(has_aux, found.value(), gradient) if keep else found.with_aux(has_aux, gradient)
    taken = None if out is None else (chosen.tree_like(out), out)
    return found.remember(VALUE_AND_GRADIENT if keep else GRADIENT, asked, answer, (), taken)


def value_and_aux(target: Target, args: tuple[Tree, ...], given: Given) -> tuple[Tree, Tree]:
    """The result of a CompiledTape or GuardedTape with aux."""
    found = evaluate(target, args, (), lambda wrt: Operator(values_tape, wrt, True, has_aux=True))
    return found.remember("value", Request(args, (), given), joined([found.value(), found.aux()]))
