"""Derivatives of functions of one number."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ArgumentMismatch, ShapeMismatch, hides_frames
from ...ir.containers import is_container
from ...ir.instruction import Target, Tree
from ...ir.pytree import ARRAY
from ..evaluate.chosen import choose, name_of
from ..evaluate.direct_calls import directly
from ..evaluate.evaluation import evaluate_request
from ..evaluate.fast_path import ABSENT, FIRST, given
from ..evaluate.request import Request, requested
from ..tapes.operator_tapes import second_tape
from .products import pushed, tangents_of


@hides_frames
def derivative(target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: int = FIRST, **named: Tree) -> Tree:
    """Derivative of a function by a number, which may return anything.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        x: the number; further arguments follow, by position or name.
        argnums: which argument to differentiate by; one.

    Returns:
        As the function returns: a number, an array, or a tuple of these.

    Raises:
        ShapeMismatch: the argument is not a number.

    Cost: one to three times the function.
    """
    return _once("derivative", target, given(x, args), argnums, named)


@hides_frames
def value_and_derivative(target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: int = FIRST, **named: Tree) -> tuple[Tree, Tree]:
    """Value and derivative of a function by a number, computed together; see td.derivative."""
    return _once("value_and_derivative", target, given(x, args), argnums, named)


@hides_frames
def second_derivative(target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: int = FIRST, **named: Tree) -> Tree:
    """Second derivative of a function by a number; see td.derivative."""
    return _twice("second_derivative", target, given(x, args), argnums, named)


@hides_frames
def value_derivative_and_second_derivative(
    target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: int = FIRST, **named: Tree
) -> tuple[Tree, Tree, Tree]:
    """Value, derivative and second derivative of a function by a number, computed together; see td.derivative."""
    return _twice("value_derivative_and_second_derivative", target, given(x, args), argnums, named)


@hides_frames
def derivatives(
    target: Target, x: Tree = ABSENT, /, *args: Tree, order: int = 2, argnums: int = FIRST, **named: Tree
) -> tuple[Tree, ...]:
    """Value and derivatives of a function by a number, up to an order; see td.derivative.

    Args:
        order: 1 or 2; a parameter of the function that is called so is passed by position.

    Returns:
        (y, y'), or (y, y', y''): what td.value_and_derivative or td.value_derivative_and_second_derivative return.

    Raises:
        ArgumentMismatch: another order; td.derivative of a function that calls td.derivative gives higher ones.

    Cost: two to four times the function.

    ```python
    y, slope, curvature = td.derivatives(np.sin, 0.5)
    ```
    """
    if order not in (1, 2):
        raise ArgumentMismatch("td.derivatives goes up to order 1 or 2", got=f"order={order!r}",
                               fix="td.derivative of a function that calls td.second_derivative")  # fmt: skip
    both = value_and_derivative if order == 1 else value_derivative_and_second_derivative
    return both(target, x, *args, argnums=argnums, **named)


def _once(verb: str, target: Target, args: tuple[Tree, ...], argnums: int, named: dict[str, Tree]) -> Tree:
    """The first derivative; `verb` also returns the value unless it is "derivative"."""
    known = directly(target, verb, argnums, named, (*args, 1.0))
    if known is not None:
        return known
    asked, number = _by_number(target, args, argnums, named)
    found, y_dot = pushed(asked, (number,), [1.0])
    parts = [y_dot] if verb == "derivative" else [found.value(), y_dot]
    return found.remember(verb, asked, found.with_aux(asked.has_aux, *parts), [(ARRAY, 1.0)])


def _twice(verb: str, target: Target, args: tuple[Tree, ...], argnums: int, named: dict[str, Tree]) -> Tree:
    """The second derivative; `verb` also returns value and derivative."""
    known = directly(target, verb, argnums, named, args)
    if known is not None:
        return known
    asked, number = _by_number(target, args, argnums, named)
    chosen = choose(target, asked.args, number, asked.wrt)
    found = evaluate_request(asked, chosen, second_tape, True)
    start = len(found.tape.outputs)
    middle = start + (len(found.outputs) - start) // 2
    second = tangents_of(found.delivered(found.outputs[middle:]), found.tape, None, middle)
    if verb == "second_derivative":
        answer = found.with_aux(asked.has_aux, second)
    else:
        first = tangents_of(found.delivered(found.outputs[start:middle]), found.tape, None, start)
        answer = found.with_aux(asked.has_aux, found.value(), first, second)
    return found.remember(verb, asked, answer)


def _by_number(target: Target, args: tuple[Tree, ...], argnums: int, named: dict[str, Tree]) -> tuple[Request, int]:
    """The call, and the position of the number to differentiate by."""
    asked = requested(target, args, argnums, named)
    if isinstance(asked.argnums, Sequence):
        raise ArgumentMismatch("a derivative is by one number", got=f"argnums={asked.argnums!r}", fix="td.jvp, or one at a time")
    chosen = choose(target, asked.args, asked.argnums, asked.wrt)
    number = chosen.numbers[0]
    x = asked.args[number]
    if (is_container(x) and chosen.kept is None) or chosen.shapes != [()]:
        got = type(x).__name__ if is_container(x) else f"shape {chosen.shapes[0]}"
        raise ShapeMismatch(f"argument {number} of {name_of(target)} is no number", got=got,
                            fix="td.gradient or td.jacobian of a function of an array")  # fmt: skip
    return asked, number
