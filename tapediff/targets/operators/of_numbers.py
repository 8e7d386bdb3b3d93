"""Derivatives of functions of one number."""

from __future__ import annotations

from typing import Any

from ...errors import ShapeMismatch
from ...ir.containers import is_container
from ..evaluate.chosen import by_position, name_of, shape_of
from ..evaluate.evaluation import evaluate
from ..tapes import operator_tapes as tapes
from ..tapes.operator_tapes import Operator
from .products import jvp, tangents_as_returned


def derivative(target: Any, x: Any, /, *args: Any, **named: Any) -> Any:
    """Derivative of a function of one number, which may return anything.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        x: the number; further arguments follow, by position or name.

    Returns:
        As the function returns: a number, an array, or a tuple of these.

    Raises:
        ShapeMismatch: x is no number.

    Cost: one to three times the function.
    """
    return value_and_derivative(target, x, *args, **named)[1]


def value_and_derivative(target: Any, x: Any, /, *args: Any, **named: Any) -> tuple[Any, Any]:
    """Value and derivative of a function of one number, computed together; see td.derivative."""
    arguments = by_position(target, (x, *args), named)
    _require_number(target, arguments[0])
    return jvp(target, arguments, (1.0, *(None,) * (len(arguments) - 1)))


def second_derivative(target: Any, x: Any, /, *args: Any, **named: Any) -> Any:
    """Second derivative of a function of one number; see td.derivative."""
    return value_derivative_and_second_derivative(target, x, *args, **named)[2]


def value_derivative_and_second_derivative(target: Any, x: Any, /, *args: Any, **named: Any) -> tuple[Any, Any, Any]:
    """Value, derivative and second derivative of a function of one number, computed together; see td.derivative."""
    arguments = by_position(target, (x, *args), named)
    _require_number(target, arguments[0])
    found = evaluate(target, arguments, (0,), lambda wrt: Operator(tapes.second_tape, wrt, True))
    first = len(found.tape.outputs)
    count = (len(found.outputs) - first) // 2
    return (
        found.value(), tangents_as_returned(found.delivered(found.outputs[first : first + count]), found.tape, None),
        tangents_as_returned(found.delivered(found.outputs[first + count :]), found.tape, None),
    )  # fmt: skip


def _require_number(target: Any, x: Any) -> None:
    if is_container(x) or shape_of(x) != ():
        got = type(x).__name__ if is_container(x) else f"shape {shape_of(x)}"
        raise ShapeMismatch(f"the argument of {name_of(target)} is no number", got=got,
                            fix="td.gradient or td.jacobian of a function of an array")  # fmt: skip
