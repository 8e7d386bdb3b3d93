"""The types of functions that td.grad and its relatives return, for type checkers: the gradient has its parameter's type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from ...ir.instruction import Tree

# What a function returns, anything unless known.
if TYPE_CHECKING:
    import typing_extensions  # type checkers know it without installing it

    Result = typing_extensions.TypeVar("Result", default=Tree)
else:
    Result = TypeVar("Result")

# A function's first parameter, and the others. The bound lets lambdas pass, whose parameters have no types.
X = TypeVar("X", bound=Tree)
P = ParamSpec("P")
Scalar = Callable[Concatenate[X, P], Tree]


class Gradient(Protocol[X, P]):
    """The gradient of a function by its first argument: a number for a number, an array for an array, a container for one of its type."""

    @overload
    def __call__(self: Gradient[list[float], P], x: list[float], /, *args: P.args, **named: P.kwargs) -> np.ndarray: ...
    @overload
    def __call__(self, x: X, /, *args: P.args, **named: P.kwargs) -> X: ...
    @overload  # the first argument, also by name
    def __call__(self, /, **named: Tree) -> Tree: ...


class ValueAndGradient(Protocol[X, P]):
    """The value of a function, and its gradient as in Gradient."""

    @overload
    def __call__(
        self: ValueAndGradient[list[float], P], x: list[float], /, *args: P.args, **named: P.kwargs
    ) -> tuple[float, np.ndarray]: ...
    @overload
    def __call__(self, x: X, /, *args: P.args, **named: P.kwargs) -> tuple[float, X]: ...
    @overload
    def __call__(self, /, **named: Tree) -> tuple[float, Tree]: ...
