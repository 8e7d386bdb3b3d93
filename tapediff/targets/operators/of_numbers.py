"""Derivatives of functions of one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ArgumentMismatch, ShapeMismatch
from ...ir.containers import is_container
from ..evaluate.chosen import choose, name_of, shape_of
from ..evaluate.evaluation import evaluate
from ..evaluate.request import Request, requested
from ..tapes import operator_tapes as tapes
from ..tapes.operator_tapes import Operator
from .products import jvp, tangents_as_returned


def derivative(target: Any, x: Any, /, *args: Any, argnums: int = 0, **named: Any) -> Any:
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
    return value_and_derivative(target, x, *args, argnums=argnums, **named)[1]


def value_and_derivative(target: Any, x: Any, /, *args: Any, argnums: int = 0, **named: Any) -> tuple[Any, Any]:
    """Value and derivative of a function by a number, computed together; see td.derivative."""
    asked, number = _by_number(target, (x, *args), argnums, named)
    tangents = [None] * len(asked.args)
    return jvp(target, asked.args, [*tangents[:number], 1.0, *tangents[number + 1 :]])


def second_derivative(target: Any, x: Any, /, *args: Any, argnums: int = 0, **named: Any) -> Any:
    """Second derivative of a function by a number; see td.derivative."""
    return value_derivative_and_second_derivative(target, x, *args, argnums=argnums, **named)[2]


def value_derivative_and_second_derivative(
    target: Any, x: Any, /, *args: Any, argnums: int = 0, **named: Any
) -> tuple[Any, Any, Any]:
    """Value, derivative and second derivative of a function by a number, computed together; see td.derivative."""
    asked, number = _by_number(target, (x, *args), argnums, named)
    found = evaluate(target, asked.args, (number,), lambda wrt: Operator(tapes.second_tape, wrt, True))
    first = len(found.tape.outputs)
    count = (len(found.outputs) - first) // 2
    return (
        found.value(), tangents_as_returned(found.delivered(found.outputs[first : first + count]), found.tape, None),
        tangents_as_returned(found.delivered(found.outputs[first + count :]), found.tape, None),
    )  # fmt: skip


def _by_number(target: Any, args: tuple[Any, ...], argnums: int, named: dict[str, Any]) -> tuple[Request, int]:
    """The call, and the position of the number to differentiate by."""
    asked = requested(target, args, argnums, named)
    if isinstance(asked.argnums, Sequence):
        raise ArgumentMismatch("a derivative is by one number", got=f"argnums={asked.argnums!r}", fix="td.jvp, or one at a time")
    chosen = choose(target, asked.args, asked.argnums)
    number = chosen.numbers[0]
    x = asked.args[number]
    if is_container(x) or shape_of(x) != ():
        got = type(x).__name__ if is_container(x) else f"shape {shape_of(x)}"
        raise ShapeMismatch(f"argument {number} of {name_of(target)} is no number", got=got,
                            fix="td.gradient or td.jacobian of a function of an array")  # fmt: skip
    return asked, number
