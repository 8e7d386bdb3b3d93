"""A Python function with a derivative rule in tracked operations, as one instruction. Kernels call it; derivatives of any order exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...ir.instruction import Operand, ValueType
from ...ops.control.calls import GET
from .primitive_callees import PythonCallee

# rule(z_bar, z, *inputs) -> cotangents of the float inputs, in their order.
Rule = Callable[..., Sequence[Operand]]


class RuledCallee(PythonCallee):
    """A function from arrays to one array or number, with its rule; both get the frozen `options` by name.

    Attributes:
        rule: its derivative, written with tracked operations, which may call other such functions.
    """

    is_pure = True

    def __init__(
        self, name: str, function: Callable[..., np.ndarray], rule: Rule, in_types: Sequence[ValueType], result: ValueType,
        options: dict[str, bool],
    ) -> None:  # fmt: skip
        super().__init__(name, function, in_types, False)
        self.rule, self.options, self.out_types = rule, options, (result,)

    def __reduce__(self) -> tuple[object, ...]:
        return RuledCallee, (self.name, self.function, self.rule, self.in_types, self.out_types[0], self.options)

    def results_of(self, inputs: Sequence[Operand]) -> list[np.ndarray]:
        return [np.asarray(self.function(*inputs, **self.options), order="C")]

    def call_rule(self, z_bars: Sequence[Operand], z: Operand, inputs: Sequence[Operand], active: Sequence[bool]) -> list[Operand]:
        cotangents = iter(self.rule(z_bars[0], GET(z, k=0), *inputs, **self.options))
        return [next(cotangents) if type_.is_float else None for type_ in self.in_types]
