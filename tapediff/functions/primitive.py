"""Primitives: opaque functions whose derivative rules the user gives.

Both the function and its rule run again at every replay; no result is frozen into a tape. Kernels call functions compiled by
numba directly; others are called back in Python, which takes the interpreter lock.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import overload

import numpy as np

from ..errors import ArgumentMismatch, InvalidRule
from ..ir.instruction import Operand, Tree, UserFunction, is_tracked
from ..ir.pytree import flatten, unflatten
from ..ops.control.calls import CALL
from .callees.body import as_operand, items_of, type_of
from .callees.primitive_callees import ForwardCallee, outputs_and_saved, python_function
from .captured.pickling import Portable, found, place_of


class Primitive:
    """A function with a user-defined derivative rule; see td.primitive."""

    # What it reads is not frozen: it is called at every evaluation of a tape.
    is_asked_at_each_call = True

    def __init__(
        self, forward: Callable[..., object], backward: Callable[..., object] | None, name: str | None, compiled: bool | None,
        second: Callable[..., list[Operand]] | None = None,
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, python_function(forward))
        self.forward, self._backward = forward, backward
        self.name = name or getattr(python_function(forward), "__name__", type(forward).__name__)
        self.compiled, self.second = compiled, second
        self._callees: dict[Hashable, ForwardCallee] = {}

    def backward(self, rule: Callable[..., object]) -> Callable[..., object]:
        """Give the derivative rule, as a decorator: backward(saved, cotangents) -> cotangents of the arguments."""
        self._backward = rule
        self._callees.clear()
        return rule

    @property
    def rule(self) -> Callable[..., object]:
        """The derivative rule.

        Raises:
            InvalidRule: there is none.
        """
        if self._backward is None:
            raise InvalidRule(
                f"{self.name} has no derivative rule", fix=f"give one: @{self.name}.backward, or td.primitive(f, rule)"
            )
        return self._backward

    @property
    def is_compiled(self) -> bool:
        """True if kernels call it without Python."""
        if self.compiled is not None:
            return self.compiled
        return _is_dispatcher(self.forward) and (self._backward is None or _is_dispatcher(self._backward))

    def __call__(self, *args: Tree) -> Tree:
        """Return the outputs of forward(*args); one instruction where an argument is tracked."""
        leaves, _ = flatten(args, arguments=True)
        if not any(map(is_tracked, leaves)):
            return _own(outputs_and_saved(self.name, self.forward(*args))[0])
        callee = self.callee(args)
        returned = CALL(*map(as_operand, leaves), callee=callee)
        assert callee.results is not None, "the call has run"
        return unflatten(callee.results, items_of(returned, callee.output_count))

    def callee(self, args: tuple[Tree, ...]) -> ForwardCallee:
        """The callee for arguments of these types."""
        leaves, treedef = flatten(args, arguments=True)
        types = tuple([type_of(as_operand(leaf)) for leaf in leaves])
        callee = self._callees.get((treedef, types))
        if callee is None:
            callee = self._callees[treedef, types] = ForwardCallee(self, treedef, types)
        return callee

    def __copy__(self) -> Primitive:
        return self

    def __deepcopy__(self, _: object) -> Primitive:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        place = place_of(self)
        if place is not None and found(*place) is self:
            return found, place
        return Primitive, (Portable(self.forward), Portable(self._backward), self.name, self.compiled, Portable(self.second))

    def __repr__(self) -> str:
        return f"<Primitive {self.name}>"


@overload
def primitive(
    forward: UserFunction, backward: UserFunction | None = None, *, name: str | None = None, compiled: bool | None = None
) -> Primitive: ...
@overload
def primitive(
    forward: None = None, backward: UserFunction | None = None, *, name: str | None = None, compiled: bool | None = None
) -> Callable[[UserFunction], Primitive]: ...
def primitive(
    forward: UserFunction | None = None, backward: UserFunction | None = None, *, name: str | None = None, compiled: bool | None = None
) -> Primitive | Callable[[UserFunction], Primitive]:
    """Make a function with a derivative rule of your own: tapediff does not look into either.

    Args:
        forward: forward(*args) -> (outputs, saved). Arrays and numbers, and tuples, lists and dicts of these; `saved` is for the
            rule. The shapes and dtypes of the results must depend on those of the arguments only.
        backward: backward(saved, cotangents) -> cotangents, one for each argument, in a tuple where there are several. `cotangents`
            has the structure of the outputs. None stands for zero. May be given later: @f.backward.
        name: of the function, in messages.
        compiled: True: numba compiles both, and kernels call them without Python. False: they are called back in Python. Unless given,
            they are compiled if they are numba functions already.

    Returns:
        A function of the same arguments that returns the outputs. Both functions run again at every replay.

    Raises:
        InvalidRule: results of another number, shape or structure than the arguments call for, naming the rule.

    Cost: compiled, that of the functions; in Python, about 10 µs a call and direction besides, under the interpreter lock.
    """
    if forward is None:
        return lambda function: primitive(function, backward, name=name, compiled=compiled)
    if not callable(forward) or (backward is not None and not callable(backward)):
        raise ArgumentMismatch(
            "td.primitive takes functions", got=type(forward).__name__, fix="td.primitive(forward, backward)"
        )
    return Primitive(forward, backward, name, compiled)


def _own(outputs: Tree) -> Tree:
    """Copy the outputs, as in a tape: they may be arguments, or kept by the function."""
    leaves, treedef = flatten(outputs)
    return unflatten(treedef, [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves])


def _is_dispatcher(function: object) -> bool:
    return hasattr(function, "py_func")
