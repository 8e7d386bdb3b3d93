"""Kernels for profiles: the time-stamp counter of the processor is read between the groups of the program."""

from __future__ import annotations

import numpy as np

from ..loop_ir.program import Group, Program
from .loop_function import KernelEmitter

TIMES = "tapediff_times"


class TimedEmitter(KernelEmitter):
    """The function of a kernel, with a reading of the counter after each group.

    Attributes:
        times: of the latest call, in ticks: of two readings in sequence, which is the cost of one; of each group; last, the counter itself.
    """

    def __init__(self, program: Program, name: str) -> None:
        super().__init__(program, name)
        self.times = np.zeros(len(program.groups) + 2, np.int64)
        self.addresses[TIMES] = self.times.ctypes.data
        self._passed = 0
        self._last = ""

    def group(self, group: Group) -> None:
        groups = self.program.groups
        if self._passed == len(groups) or group is not groups[self._passed]:
            super().group(group)  # a part of one
            return
        if not self._passed:
            self.code.declare("declare i64 @llvm.readcyclecounter()")
            self.code.declare(f"@{TIMES} = external global i64")
            self._last = self._read()
            self._stamp(0)
        self._passed += 1
        number = self._passed
        super().group(group)
        self._stamp(number)
        if number == len(groups):
            self._store(self._last, number + 1)

    def _read(self) -> str:
        # Neither loads nor stores move across.
        self.code.line('call void asm sideeffect "", "~{memory}"()')
        return self.code.emit("call i64 @llvm.readcyclecounter()")

    def _stamp(self, number: int) -> None:
        now = self._read()
        self._store(self.code.emit(f"sub i64 {now}, {self._last}"), number)
        self._last = now

    def _store(self, value: str, number: int) -> None:
        self.code.line(f"store i64 {value}, ptr {self.code.emit(f'getelementptr i64, ptr @{TIMES}, i64 {number}')}")
