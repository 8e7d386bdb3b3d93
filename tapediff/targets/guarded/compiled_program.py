"""A program of a guarded function: compiled once for all of its tapes that differ in constants alone."""

from __future__ import annotations

from ...ir.tape import Tape
from ..compiled_tape import CompiledTape
from ..evaluate.shared_programs import Program


class CompiledProgram(Program):
    """A program with its kernels.

    Attributes:
        compiled: its kernels.
        replays: how many answers came from the NumPy replay.
    """

    __slots__ = ("compiled", "replays")

    def __init__(self, base: Tape, lifted: tuple[int, ...] = (), *, backend: str) -> None:
        super().__init__(base, lifted)
        self.compiled = CompiledTape(self.tape, backend)
        self.replays = 0
