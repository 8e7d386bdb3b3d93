"""The types of functions that td.grad and its relatives return, for type checkers and editors: as the parameter, so the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from ...ir.instruction import Tree

# Of a function: its first argument, and the others. The bound keeps bodies of lambdas, whose arguments have no types, from being refused.
X = TypeVar("X", bound=Tree)
P = ParamSpec("P")
Scalar = Callable[Concatenate[X, P], Tree]


class Gradient(Protocol[X, P]):
    """The gradient of a function by its first argument: a number for a number, an array for an array, a container for one of its type."""

    @overload
    def __call__(self: Gradient[list[float], P], x: list[float], /, *args: P.args, **named: P.kwargs) -> np.ndarray: ...
    @overload
    def __call__(self, x: X, /, *args: P.args, **named: P.kwargs) -> X: ...
    @overload  # the first argument, too, by name
    def __call__(self, /, **named: Tree) -> Tree: ...


class ValueAndGradient(Protocol[X, P]):
    """The value of a function, and its gradient as of Gradient."""

    @overload
    def __call__(
        self: ValueAndGradient[list[float], P], x: list[float], /, *args: P.args, **named: P.kwargs
    ) -> tuple[float, np.ndarray]: ...
    @overload
    def __call__(self, x: X, /, *args: P.args, **named: P.kwargs) -> tuple[float, X]: ...
    @overload
    def __call__(self, /, **named: Tree) -> tuple[float, Tree]: ...
