"""Derivatives of functions of one number."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ArgumentMismatch, ShapeMismatch
from ...ir.containers import is_container
from ...ir.instruction import Target, Tree
from ..evaluate.chosen import choose, name_of
from ..evaluate.evaluation import Evaluation, evaluate
from ..evaluate.fast_path import ABSENT, given
from ..evaluate.request import Request, requested
from ..tapes import operator_tapes as tapes
from ..tapes.operator_tapes import Operator
from .products import pushed, tangents_as_returned


def derivative(target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: int = 0, **named: Tree) -> Tree:
    """Derivative of a function by a number, which may return anything.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        x: the number; further arguments follow, by position or name.
        argnums: which argument to differentiate by; one.

    Returns:
        As the function returns: a number, an array, or a tuple of these.

    Raises:
        ShapeMismatch: the argument is no number.

    Cost: one to three times the function.
    """
    asked, number = _by_number(target, given(x, args), argnums, named)
    found, y_dot = pushed(target, asked, (number,), [1.0])
    return found.with_aux(asked.has_aux, y_dot)


def value_and_derivative(target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: int = 0, **named: Tree) -> tuple[Tree, Tree]:
    """Value and derivative of a function by a number, computed together; see td.derivative."""
    asked, number = _by_number(target, given(x, args), argnums, named)
    found, y_dot = pushed(target, asked, (number,), [1.0])
    return found.with_aux(asked.has_aux, found.value(), y_dot)


def second_derivative(target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: int = 0, **named: Tree) -> Tree:
    """Second derivative of a function by a number; see td.derivative."""
    found, _, second = _twice(target, *(asked := _by_number(target, given(x, args), argnums, named)))
    return found.with_aux(asked[0].has_aux, second)


def value_derivative_and_second_derivative(
    target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: int = 0, **named: Tree
) -> tuple[Tree, Tree, Tree]:
    """Value, derivative and second derivative of a function by a number, computed together; see td.derivative."""
    asked, number = _by_number(target, given(x, args), argnums, named)
    found, first, second = _twice(target, asked, number)
    return found.with_aux(asked.has_aux, found.value(), first, second)


def _twice(target: Target, asked: Request, number: int) -> tuple[Evaluation, Tree, Tree]:
    """The call evaluated, with the first and the second derivative."""
    parts = choose(target, asked.args, number, asked.wrt).parts
    build = lambda wrt: Operator(tapes.second_tape, wrt, True, has_aux=asked.has_aux, parts=parts)  # noqa: E731 -- its name is its use
    found = evaluate(target, asked.args, (number,), build, has_aux=asked.has_aux)
    start = len(found.tape.outputs)
    middle = start + (len(found.outputs) - start) // 2
    halves = found.outputs[start:middle], found.outputs[middle:]
    first, second = [tangents_as_returned(found.delivered(half), found.tape, None) for half in halves]
    return found, first, second


def _by_number(target: Target, args: tuple[Tree, ...], argnums: int, named: dict[str, Tree]) -> tuple[Request, int]:
    """The call, and the position of the number to differentiate by."""
    asked = requested(target, args, argnums, named)
    if isinstance(asked.argnums, Sequence):
        raise ArgumentMismatch("a derivative is by one number", got=f"argnums={asked.argnums!r}", fix="td.jvp, or one at a time")
    chosen = choose(target, asked.args, asked.argnums, asked.wrt)
    number = chosen.numbers[0]
    x = asked.args[number]
    if is_container(x) or chosen.shapes != [()]:
        got = type(x).__name__ if is_container(x) else f"shape {chosen.shapes[0]}"
        raise ShapeMismatch(f"argument {number} of {name_of(target)} is no number", got=got,
                            fix="td.gradient or td.jacobian of a function of an array")  # fmt: skip
    return asked, number
