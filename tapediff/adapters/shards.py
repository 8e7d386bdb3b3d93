"""The sum of a function over shards of data, each held by its own process: the common part of the Dask and Ray adapters."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from ..errors import ArgumentMismatch, UnsupportedFunction
from ..functions.callees.body import type_of
from ..functions.callees.ruled_callee import Rule, RuledCallee
from ..ir.arguments import Constant
from ..ir.instruction import FLOAT_SCALAR, Operand, Target, Tree, is_tracked
from ..ir.pytree import flatten, unflatten
from ..ops.control.calls import CALL, GET
from ..targets.compiled_tape import CompiledTape
from ..targets.guarded_tape import GuardedTape

Array: TypeAlias = np.ndarray
# Data, or a function without arguments that reads them where it runs.
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
        # Arrays from a message may be unaligned; kernels would copy them at every call: 40 instead of 9 ms for 80 MB.
        aligned = [np.require(leaf, None, ["C", "A"]) if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]
        self._data: Tree = Constant(unflatten(treedef, aligned)[0])  # type: ignore[assignment]

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Value and gradient of this term."""
        value, gradient = self._tape.value_and_gradient(x, self._data)
        return float(value), gradient

    def hessian_vector_product(self, x: Array, v: Array) -> Array:
        """The Hessian of this term times v."""
        return self._tape.hvp(x, v, self._data)


class ShardedSum(ABC):
    """The sum of `f(x, shard)` over shards, with its derivatives: `total.value_and_gradient(x)`, `total.hessian_vector_product(x, v)`.

    `total(x)` in a recorded function is one operation, so priors and other terms can be added. It can be differentiated twice; a
    Hessian takes a message a column and shard.

    Attributes:
        evaluations: the number of points evaluated.
        restarts: the number of terms made again after their worker was lost; Ray does that by itself, without telling.
    """

    def __init__(self, function: Target, shards: list[Shard]) -> None:
        if not shards:
            raise ArgumentMismatch("a sum over no shards", fix="give a list of data, one for each worker")
        tape = function if isinstance(function, (CompiledTape, GuardedTape)) else GuardedTape(function)
        self.shards, self.sent = shards, pickled(tape)
        self.evaluations = self.restarts = 0
        self.name = f"sum of {getattr(function, '__name__', 'shards')}"
        # The last point's bytes, value and gradient: a kernel asks for each separately.
        self._last: tuple[bytes | None, float, Array] = None, 0.0, np.empty(0)
        self._callees: dict[Hashable, RuledCallee] = {}

    def __call__(self, x: Tree) -> Tree:
        """The value; in a recorded function, an operation with its derivatives."""
        return self._operation(self._value, self._value_rule, True, x)

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Value and gradient at a vector, summed in the order of the shards, so that results are reproducible.

        Raises:
            Exception: raised by the function in a worker.
        """
        self.evaluations += 1
        answers = self.answers("value_and_gradient", np.array(x, dtype=np.float64))
        return sum(value for value, _ in answers), np.sum([gradient for _, gradient in answers], axis=0)

    def hessian_vector_product(self, x: Array, v: Array) -> Array:
        """The Hessian at x times v, summed in the same way."""
        return np.sum(self.answers("hessian_vector_product", *np.array((x, v), dtype=np.float64)), axis=0)

    @abstractmethod
    def answers(self, method: str, *points: Array) -> list[Tree]:
        """The results of a method of Term for each term; makes the terms of lost workers again."""

    # Operations in recorded functions: the rule of each uses the next one

    def _operation(self, function: Callable[..., Array], rule: Rule, is_number: bool, *operands: Tree) -> Tree:
        """Call a function of points; its result is a number, or of the points' type."""
        operands = tuple(value.astype(np.float64) if is_tracked(value) else np.asarray(value, dtype=np.float64) for value in operands)
        if not any(map(is_tracked, operands)):
            return function(*operands)[()]
        types = tuple(type_of(operand) for operand in operands)
        callee = self._callees.get((rule, types))
        if callee is None:
            made = RuledCallee(self.name, function, rule, types, FLOAT_SCALAR if is_number else types[0], {})
            callee = self._callees.setdefault((rule, types), made)
        return GET(CALL(*operands, callee=callee), k=0)

    def _value_rule(self, z_bar: Operand, _: Operand, x: Operand) -> list[Operand]:
        return [z_bar * self._operation(self._gradient, self._gradient_rule, False, x)]

    def _gradient_rule(self, z_bar: Operand, _: Operand, x: Operand) -> list[Operand]:
        return [self._operation(self.hessian_vector_product, self._product_rule, False, x, z_bar)]

    def _product_rule(self, z_bar: Operand, _: Operand, x: Operand, v: Operand) -> list[Operand]:
        third = self._operation(self._third, self._product_rule, False, x, v, z_bar)
        return [third, self._operation(self.hessian_vector_product, self._product_rule, False, x, z_bar)]

    def _value(self, x: Array) -> np.ndarray:
        return np.asarray(self._at(x)[1])

    def _gradient(self, x: Array) -> Array:
        return self._at(x)[2]

    def _third(self, *_: Array) -> Array:
        raise UnsupportedFunction(
            f"a third derivative through the {self.name}", at=self.name, fix="stay with two: the second one as products with vectors"
        )

    def _at(self, x: Array) -> tuple[bytes | None, float, Array]:
        last, here = self._last, x.tobytes()
        if here != last[0]:
            last = self._last = (here, *self.value_and_gradient(x))
        return last


def pickled(value: object) -> bytes:
    """Pickle a value, including functions that cannot be found by name if cloudpickle is installed, as it is with Dask."""
    try:
        dumps = import_module("cloudpickle").dumps
    except ImportError:
        dumps = pickle.dumps
    return dumps(value)
