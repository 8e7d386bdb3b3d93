"""Payoff: whether a merged form stays, by the time of its kernel beside those of known paths, and by the paths that are still to come.

A merged tape computes both sides of branches, so it can be slower than the tape of one path; tapes of paths have to be recorded, each once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from ...ir.instruction import Operand, Param
from ...ir.tape import Tape
from ...ops.control.calls import CALL, LOOP, loop_with_numpy
from ...ops.elementwise.comparison import SELECT
from ..margins import values_at
from ..tapes.operator_tapes import Operator
from .keyed_call import KeyedCall
from .variant import Variant

# A merged form that takes at most so many times as long as the tape of a path stays, whatever is met.
SLOWER = 1.5
# What is saved in so many calls is weighed against what recordings cost.
CALLS_AHEAD = 100_000
# So many of the calls that are compared are timed.
TIMED = 5

# Of this thread, where that is fine enough: other threads and processes do not count.
clock: Callable[[], float] = time.thread_time if time.get_clock_info("thread_time").resolution < 1e-6 else time.perf_counter
# A sample takes at least so long, by repeated calls, and the least of a few counts; calls that take long themselves are timed once.
SAMPLE, LONG_SAMPLE, SAMPLES, MOST_REPEATS = 2e-5, 1e-3, 3, 256


class _Times(NamedTuple):
    """Seconds of one call of the merged form, and of the tape of the path there."""

    merged: float
    path: float


class Payoff:
    """What the first calls of a merged form tell about its costs.

    Args:
        known: the tapes of paths that were recorded before it, those that have been compiled among them.
    """

    def __init__(self, known: Sequence[Variant]) -> None:
        self._known = [variant for variant in known if variant.compiled.seconds]
        self._seen: Counter[Hashable] = Counter(variant.number for variant in self._known)
        # Where calls took other paths: the merged tape and its inputs.
        self._elsewhere: list[tuple[Tape, list[Operand]]] = []
        self._times: list[_Times] = []

    def look(self, merged: Variant, call: KeyedCall) -> None:
        """Note which path a call takes, and on a known one how long both forms take."""
        is_elsewhere = False
        for variant in self._known:
            kernels = variant.compiled.kernels
            common = [key for key in merged.compiled.kernels if key in kernels and not isinstance(key, Operator)]
            if variant.key != call.key or not common:
                continue
            path = _prepared(variant, common[-1], call.bound.inputs)
            status = path()
            if type(status) is float:
                self._seen[variant.number] += 1
                if len(self._times) < TIMED:
                    self._times.append(_timed(_prepared(merged, common[-1], call.bound.inputs), path))
                return
            is_elsewhere = True
        if is_elsewhere:
            self._elsewhere.append((merged.tape, [np.array(value) for value in call.bound.inputs]))

    def verdict(self, most_paths: int) -> tuple[bool, str]:
        """Whether to go back to a tape for each path, and why, or why not.

        Args:
            most_paths: how many tapes are kept.
        """
        if not self._times:
            return False, ""
        slower, saved = median(t.merged / t.path for t in self._times), median(t.merged - t.path for t in self._times)
        times = f"a call takes {slower:.2g} times as long as on the tape of a known path"
        if slower <= SLOWER:
            return False, times
        paths, recordings = self._paths()
        each = sum(v.seconds + v.compiled.seconds for v in self._known) / len(self._known)
        expected = f"{paths:.0f} paths are expected"
        if paths > most_paths:
            return False, f"{times}, but {expected}"
        cost = f"{recordings:.0f} recordings of {each:.2g} s"
        if recordings * each > CALLS_AHEAD * saved:
            return False, f"{times}, but {cost} take longer than {CALLS_AHEAD} calls save"
        return True, f"{times}, {expected}, and {cost} take less than {CALLS_AHEAD} calls save"

    def _paths(self) -> tuple[float, float]:
        """How many paths there are, and how many of them are not recorded, with those never met: at least once² / 2 twice (Chao, 1984)."""
        counts = Counter((self._seen + Counter(decisions(tape, inputs) for tape, inputs in self._elsewhere)).values())
        unseen = counts[1] * (counts[1] - 1) / (2 * (counts[2] + 1))
        paths = counts.total() + unseen
        return paths, paths - len(self._known)


@np.errstate(all="ignore")
def decisions(tape: Tape, inputs: Sequence[Operand]) -> bytes:
    """What a merged tape chooses at a point, which tells paths apart; by NumPy."""
    found: list[bytes] = []
    values = values_at(tape, inputs)
    for op, ids, params, _, _ in tape.instructions:
        operands = [values[i] for i in ids]
        if op is SELECT:
            found.append(np.asarray(operands[0]).tobytes())
        elif op in (CALL, LOOP) and hasattr(params[0], "variants"):
            runs = _Runs(params[0], found)
            if op is CALL:
                runs.answer(None, operands)
            else:
                loop_with_numpy(runs, params[1], operands)
    return b"".join(found)


class _Runs:
    """A callee that notes the decisions of every run."""

    def __init__(self, callee: Param, found: list[bytes]) -> None:
        self.callee, self.in_types, self.out_types = callee, callee.in_types, callee.out_types
        self._found = found

    def answer(self, number: int | None, inputs: Sequence[Operand]) -> tuple[list[Operand], int]:
        outputs, ran = self.callee.answer(number, inputs)
        self._found += [b"%d;" % ran, decisions(self.callee.variants[ran].tape, inputs)]
        return outputs, ran


def _prepared(variant: Variant, key: tuple[int, ...] | None, inputs: Sequence[Operand]) -> Callable[[], object]:
    """A call of a kernel, which gives its status."""
    kernel = variant.compiled.kernels[key]
    types = kernel.input_types
    arrays = [np.array(a, t.dtype, order="C").reshape(t.shape) for a, t in zip([*inputs, *variant.constants], types)]
    targets, call = kernel.fresh_outputs(), kernel.call
    return lambda: call(*arrays, *targets)


def _timed(merged: Callable[[], object], path: Callable[[], object]) -> _Times:
    """The times of both, taken in turns."""
    samples = [(_seconds(merged), _seconds(path))]
    if max(samples[0]) < LONG_SAMPLE:
        samples += [(_seconds(merged), _seconds(path)) for _ in range(SAMPLES - 1)]
    ours, theirs = (max(min(column), 1e-9) for column in zip(*samples))
    return _Times(ours, theirs)


def _seconds(call: Callable[[], object]) -> float:
    repeats = 1
    while True:
        started = clock()
        for _ in range(repeats):
            call()
        taken = clock() - started
        if taken >= SAMPLE or repeats >= MOST_REPEATS:
            return taken / repeats
        repeats *= 4
