"""Expectations over random effects: by derivatives of a tilted log marginal, and by draws from the normal distribution at the mode."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import numpy as np

from ..base.wrapper import Wrapper
from ..ir.instruction import Operand, Tree, UserFunction


class Tilted(Wrapper):
    """The joint log density plus sum(t g): by t at 0, its log marginal has the expectation of g as derivative.

    The argument that was theta is (theta, t).
    """

    calls = "f"

    def __init__(self, f: UserFunction, g: UserFunction, place: int) -> None:
        self.f, self.g, self.place, self.__name__ = f, g, place, getattr(f, "__name__", "f")
        self.__signature__ = inspect.signature(f)

    def __call__(self, *args: Tree) -> Operand:
        theta, t = args[self.place]
        given = (*args[: self.place], theta, *args[self.place + 1 :])
        return self.f(*given) + np.sum(t * self.g(*given))


@dataclass(frozen=True)
class Importance:
    """A log marginal by importance sampling; see the method importance of td.laplace's result.

    Attributes:
        value: of the log marginal.
        standard_error: of the value, by the spread of the weights.
        laplace: Laplace's approximation of it.
        effective_draws: as many equally weighted draws would tell as much.
    """

    value: float
    standard_error: float
    laplace: float
    effective_draws: float

    def __str__(self) -> str:
        return (
            f"log marginal {self.value:.6g} ± {self.standard_error:.2g} by importance sampling "
            f"({self.effective_draws:.0f} effective draws), "
            f"{self.laplace:.6g} by Laplace's approximation"
        )


def weighed(logs: np.ndarray, laplace: float) -> Importance:
    """The estimate of pairs of opposite draws, from their log weights in shape (draws, 2)."""
    largest = np.max(logs)
    weights = np.mean(np.exp(logs - largest), axis=1)
    mean = np.mean(weights)
    error = np.std(weights, ddof=1) / (mean * np.sqrt(len(weights)))
    return Importance(float(largest + np.log(mean)), float(error), laplace, float(np.sum(weights) ** 2 / np.sum(weights**2)))
