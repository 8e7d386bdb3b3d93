"""The sum of a function over shards of data, each held by a process of its own: what the adapters of Dask and Ray have in common."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from ..errors import ArgumentMismatch
from ..functions.primitive import Primitive, primitive
from ..ir.arguments import Constant
from ..ir.instruction import Target, Tree
from ..ir.pytree import flatten, unflatten
from ..targets.compiled_tape import CompiledTape
from ..targets.guarded_tape import GuardedTape

Array: TypeAlias = np.ndarray
# Data, or a function without arguments that reads them where it is called.
Shard: TypeAlias = Any


class Term:
    """One term, in the process that holds its data.

    Args:
        target: the pickled function or tape, of a vector and the data.
        shard: the data, or a function that reads them.
    """

    def __init__(self, target: bytes, shard: Shard) -> None:
        self._tape: GuardedTape = pickle.loads(target)
        leaves, treedef = flatten((shard() if callable(shard) else shard,), arguments=True)
        # Arrays that have come in a message stand at any byte; kernels would copy them at every call: 40 instead of 9 ms for 80 MB.
        aligned = [np.require(leaf, None, ["C", "A"]) if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]
        self._data: Tree = Constant(unflatten(treedef, aligned)[0])  # type: ignore[assignment]

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Of this term."""
        value, gradient = self._tape.value_and_gradient(x, self._data)
        return float(value), gradient


class ShardedSum(ABC):
    """The sum of `f(x, shard)` over shards, with its gradient: `total.value_and_gradient(x)`.

    It is a primitive too: `total(x)` in a recorded function is one operation, so that priors and other terms stand beside it. It is
    differentiated once.

    Attributes:
        evaluations: how many points were asked for.
        restarts: how many terms were made anew, as their worker was lost; Ray does that by itself, and does not tell.
    """

    def __init__(self, function: Target, shards: list[Shard]) -> None:
        if not shards:
            raise ArgumentMismatch("a sum over no shards", fix="give a list of data, one for each worker")
        tape = function if isinstance(function, (CompiledTape, GuardedTape)) else GuardedTape(function)
        self.shards, self.sent = shards, pickled(tape)
        self.evaluations = self.restarts = 0
        name = f"sum of {getattr(function, '__name__', 'shards')}"
        self._primitive: Primitive = primitive(self._forward, _backward, name=name)

    def __call__(self, x: Tree) -> Tree:
        """The value; in a recorded function, an operation with its gradient."""
        return self._primitive(x)

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Value and gradient at a vector, summed in the order of the shards, so that the same numbers come again.

        Raises:
            Exception: what the function raised in a worker.
        """
        self.evaluations += 1
        answers = self.answers(np.array(x, dtype=np.float64))
        return sum(value for value, _ in answers), np.sum([gradient for _, gradient in answers], axis=0)

    @abstractmethod
    def answers(self, x: Array) -> list[tuple[float, Array]]:
        """Value and gradient of each term; makes those of lost workers anew."""

    def _forward(self, x: Array) -> tuple[np.float64, Array]:
        value, gradient = self.value_and_gradient(x)
        return np.float64(value), gradient


def _backward(gradient: Array, cotangent: Array) -> Array:
    return cotangent * gradient


def pickled(value: object) -> bytes:
    """Also functions that no other process finds by their names, where cloudpickle is installed, as it is with Dask."""
    try:
        dumps = import_module("cloudpickle").dumps
    except ImportError:
        dumps = pickle.dumps
    return dumps(value)
