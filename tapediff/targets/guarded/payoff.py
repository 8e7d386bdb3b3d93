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
# Tapes of paths are not used again where more than this share of the calls takes a path that was never met.
NEW = 1 / 3
# Telling paths apart by what a merged tape chooses ends after so many seconds.
LOOKING = 0.1
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
        # Where calls took other paths: where the known tapes failed, the merged tape and its inputs.
        self._elsewhere: list[tuple[Hashable, Tape, list[Operand]]] = []
        self._times: list[_Times] = []

    def look(self, merged: Variant, call: KeyedCall) -> None:
        """Note which path a call takes, and on a known one how long both forms take."""
        failures: list[Hashable] = []
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
            failures.append((variant.number, status))
        if failures:
            self._elsewhere.append((tuple(failures), merged.tape, [np.array(value) for value in call.bound.inputs]))

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
        each = sum(v.seconds + v.compiled.seconds for v in self._known) / len(self._known)
        # Calls at which the known tapes fail elsewhere take other paths; where these are enough, nothing more has to be known.
        for tell_apart in (self._failures, self._decisions):
            paths, recordings, share = self._paths(tell_apart())
            expected = f"{paths:.0f} paths are expected, or more"
            if paths > most_paths or share > NEW:
                return False, f"{times}, but {expected}"
            cost = f"{recordings:.0f} recordings of {each:.2g} s"
            if recordings * each > CALLS_AHEAD * saved:
                return False, f"{times}, but {cost} take longer than {CALLS_AHEAD} calls save"
        return True, f"{times}, {expected}, and {cost} take less than {CALLS_AHEAD} calls save"

    def _failures(self) -> list[Hashable]:
        return [failures for failures, _, _ in self._elsewhere]

    def _decisions(self) -> list[Hashable]:
        """What the merged tape chose in each call; what takes too long to find counts as a path of its own."""
        until, found = clock() + LOOKING, []
        for number, (_, tape, inputs) in enumerate(self._elsewhere):
            try:
                found.append(decisions(tape, inputs, until))
            except _TooLong:
                found.append(number)
        return found

    def _paths(self, elsewhere: Sequence[Hashable]) -> tuple[float, float, float]:
        """How many paths there are, how many of them are not recorded, and which share of the calls to come takes one that was never met.

        Those never met are at least once² / 2 twice (Chao, 1984), and the share is that of the calls whose path was met once (Good, 1953).
        """
        calls = self._seen + Counter(elsewhere)
        counts = Counter(calls.values())
        unseen = counts[1] * (counts[1] - 1) / (2 * (counts[2] + 1))
        paths = counts.total() + unseen
        return paths, paths - len(self._known), counts[1] / calls.total()


class _TooLong(Exception):
    """Looking at decisions takes more time than they are worth."""


@np.errstate(all="ignore")
def decisions(tape: Tape, inputs: Sequence[Operand], until: float = np.inf) -> bytes:
    """What a merged tape chooses at a point, which tells paths apart; by NumPy, until the clock says so."""
    found: list[bytes] = []
    values = values_at(tape, inputs)
    for op, ids, params, _, _ in tape.instructions:
        operands = [values[i] for i in ids]
        if op is SELECT:
            found.append(np.asarray(operands[0]).tobytes())
        elif op in (CALL, LOOP) and hasattr(params[0], "variants"):
            runs = _Runs(params[0], found, until)
            if op is CALL:
                runs.answer(None, operands)
            else:
                loop_with_numpy(runs, params[1], operands)
    return b"".join(found)


class _Runs:
    """A callee that notes the decisions of every run."""

    def __init__(self, callee: Param, found: list[bytes], until: float) -> None:
        self.callee, self.in_types, self.out_types = callee, callee.in_types, callee.out_types
        self._found, self._until = found, until

    def answer(self, number: int | None, inputs: Sequence[Operand]) -> tuple[list[Operand], int]:
        if clock() > self._until:
            raise _TooLong
        outputs, ran = self.callee.answer(number, inputs)
        self._found += [b"%d;" % ran, decisions(self.callee.variants[ran].tape, inputs, self._until)]
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
