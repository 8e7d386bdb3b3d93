"""The interface of callees for calls and loops; the classes are in functions/callees/."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol, TypeVar

from ...ir.instruction import Operand, ValueType
from ...ir.tape import Tape
from .loop_forms import LoopCotangents, LoopFlow, LoopForm

Made = TypeVar("Made")


class Answers(Protocol):
    """The part of a callee that runs one iteration.

    Attributes:
        in_types, out_types: of its inputs and outputs, the same for every variant.
    """

    @property
    def in_types(self) -> Sequence[ValueType]: ...
    @property
    def out_types(self) -> Sequence[ValueType]: ...

    def answer(self, number: int | None, inputs: Sequence[Operand], /) -> tuple[Sequence[Operand], int]: ...


class Callee(Answers, Protocol):
    """A function with tapes of its own.

    Attributes:
        is_pure: it may be computed anywhere, any number of times.
        is_compiled: it has native kernels.
        may_branch: further variants may be recorded.
        extends: the callee whose outputs it returns first, before its own further ones; None for itself.
    """

    @property
    def is_pure(self) -> bool: ...
    @property
    def is_compiled(self) -> bool: ...
    @property
    def may_branch(self) -> bool: ...
    @property
    def extends(self) -> Callee | None: ...

    def run(self, number: int | None, values: Sequence[Operand], /) -> tuple[Sequence[Operand], int]: ...
    def run_loop(self, form: LoopForm, values: Sequence[Operand], /) -> tuple[Operand, ...]: ...
    def pullback(self, wrt: tuple[int, ...], seeds: tuple[int, ...], maybe_discarded: bool, /) -> Callee: ...
    def loop_flow(self, which: LoopCotangents, given: tuple[int, ...], /) -> LoopFlow: ...
    def loop_pullback(self, which: LoopCotangents, /) -> Callee: ...
    def only_tape(self) -> Tape | None: ...
    def only_path(self) -> Tape | None: ...
    def variant_tape(self, number: int, /) -> Tape: ...
    def fixed(self, tape: Tape, /, extends: Callee | None = None) -> Callee: ...
    def once(self, key: Hashable, make: Callable[[], Made], /) -> Made: ...
