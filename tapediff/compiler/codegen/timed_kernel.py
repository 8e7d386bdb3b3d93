"""Kernels for profiles: the time-stamp counter of the processor is read between the groups of the program."""

from __future__ import annotations

import numpy as np

from ..loop_ir.program import Group, Program
from .loop_function import KernelEmitter

TIMES = "tapediff_times"


class TimedEmitter(KernelEmitter):
    """The function of a kernel, with a reading of the counter after each group.

    Attributes:
        times: the readings of the latest call: two in sequence, whose difference is the cost of one; then one after each group.
    """

    def __init__(self, program: Program, name: str) -> None:
        super().__init__(program, name)
        self.times = np.zeros(len(program.groups) + 2, np.int64)
        self.addresses[TIMES] = self.times.ctypes.data
        self._passed = 0

    def group(self, group: Group) -> None:
        groups = self.program.groups
        if self._passed == len(groups) or group is not groups[self._passed]:
            super().group(group)  # a part of one
            return
        if not self._passed:
            self.code.declare("declare i64 @llvm.readcyclecounter()")
            self.code.declare(f"@{TIMES} = external global i64")
            self._read(0)
            self._read(1)
        self._passed = number = self._passed + 1
        super().group(group)
        self._read(number + 1)

    def _read(self, number: int) -> None:
        # Neither loads nor stores move across.
        self.code.line('call void asm sideeffect "", "~{memory}"()')
        now, place = self.code.emit("call i64 @llvm.readcyclecounter()"), self.code.emit(f"getelementptr i64, ptr @{TIMES}, i64 {number}")
        self.code.line(f"store i64 {now}, ptr {place}")
