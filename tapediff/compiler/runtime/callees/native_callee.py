"""The interfaces between dispatch tables and callees: questions of native code, and the kernels that callees supply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ....ir.instruction import Operand, Tree, ValueType
from ....ir.interpreter import GuardFailure
from ....ir.tape import Tape
from ..call_frame import ArgumentLayout
from ..guard_reports import Exits


class NativeKernel(Protocol):
    """Native code of a variant.

    Attributes:
        address: the address of `i32 function(ptr frame, ptr state, ptr report)`; see compiler.loop_kernel.
        state: its words, passed to the function by address.
    """

    @property
    def address(self) -> int: ...
    @property
    def state(self) -> np.ndarray: ...


class TapeKernel(NativeKernel, Protocol):
    """Native code of a variant that is a tape. No other kind fails at guards or in routines."""

    tape: Tape
    exits: Exits
    failures: Sequence[str]


class NativeCallee(Protocol):
    """A callee as dispatch tables see it; see functions.callee.Callee for the methods."""

    name: str
    in_types: tuple[ValueType, ...]
    out_types: tuple[ValueType, ...]
    is_compiled: bool
    # True for a side. If it is not taken, variant 0, its results are not read.
    is_side: bool
    # Its dispatch tables; None before the first.
    native: Any

    def loop_kernel(self, number: int, layout: ArgumentLayout) -> Callable[[], NativeKernel]: ...
    def may_compile(self, number: int) -> bool: ...
    def missed(self, number: int | None, miss: GuardFailure | None, inputs: Sequence[Operand]) -> int: ...
    def answer(self, number: int | None, inputs: Sequence[Operand]) -> tuple[list[Operand], int]: ...
    def failed(self, status: int) -> Exception: ...


class UserFunction(NativeCallee, Protocol):
    """A callee that is a user's function compiled by numba."""

    function: Callable[..., Tree]

    def native_layout(self, names: list[str]) -> tuple[list[str], list[str | None]]: ...
