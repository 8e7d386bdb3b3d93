"""Staleness: check that the plain function still agrees with its tapes; it may read globals and closures that have changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...compiler.runtime.status import REFUSED
from ...errors import StaleTape, UnsupportedFunction
from ...functions.callees.path_messages import site_of
from ...ir.auxiliary import split_result
from ...ir.containers import flatten_as, flatten_result
from ...ir.instruction import FLOAT64, Operand, Tree, UserFunction
from ...ir.interpreter import run
from ...ir.pytree import describe_treedef, has_first_entries, unflatten
from ...ir.tape import Tape
from ...recording.python_state.process_state import process
from ...recording.recorder import current_recorder
from ..margins import apart
from .keyed_call import GuardedFunction, KeyedCall
from .policy import Policy
from .tape_cache import TapeCache

# The plain function and the replay do the same operations in nearly the same order. A larger difference needs a second test.
SAME_ORDER = {np.dtype(np.float32): 1e-5, FLOAT64: 1e-11}
# The second test: the largest difference of two values, relative to the effect of a change in the arguments' last bit.
ROUNDING_SHARE = 64.0
TRIALS = 4


class StalenessCheck:
    """Runs the plain function as well as its tape, at every `check_every`-th call.

    Attributes:
        calls_left: the number of calls until the next check.
    """

    __slots__ = ("_cache", "_function", "_policy", "calls_left")

    def __init__(self, function: GuardedFunction, policy: Policy, cache: TapeCache) -> None:
        self._function, self._policy, self._cache = function, policy, cache
        self.calls_left = policy.check_every

    def counted(self, kernel_call: UserFunction) -> UserFunction:
        """Wrap a kernel so that it refuses the call at which a check is due, which then takes the full path, and is checked."""
        if not self._policy.check_every:
            return kernel_call

        def call(*arguments: Tree) -> Tree:
            left = self.calls_left
            if left <= 1:
                return REFUSED
            value = kernel_call(*arguments)
            if type(value) is float:
                self.calls_left = left - 1
            return value

        return call

    def check_when_due(self, call: KeyedCall) -> None:
        """Compare the plain function with the tape of this point; if there is none, check at the next call."""
        self.calls_left -= 1
        if self.calls_left > 0:
            return
        tape = self._cache.tape_at(call.key, call.bound.inputs)
        if tape is not None:
            check_fresh(tape, call.bound.function, call.bound.inputs, site_of(self._function.f))
            self.calls_left = self._policy.check_every  # not after a failure: the next call is checked as well


def check_fresh(tape: Tape, function: UserFunction, inputs: Sequence[Operand], at: str) -> None:
    """Compare the plain function with the replay of a tape whose path holds at `inputs`.

    Raises:
        StaleTape: they differ by more than rounding.
    """
    result = np.errstate(all="ignore")(function)(*[np.array(value, order="C")[()] for value in inputs])
    value, aux = (result, None) if tape.aux is None else split_result(result, tape.name)
    returned, treedef = flatten_result(value)
    if tape.result is not None and not has_first_entries(tape.result) and treedef != tape.result:
        raise _stale(tape, describe_treedef(tape.result), describe_treedef(treedef), at)
    if tape.aux is not None and not flatten_as(tape.aux, aux, returned):
        raise _stale(tape, describe_treedef(tape.aux), repr(aux), at)
    recorded = _results(tape, run(tape, inputs, settled=tape.guard_count))
    for number, (ours, theirs) in enumerate(_paired(tape, recorded, returned, at)):
        if _is_close(ours, theirs, 0.0):
            continue
        nearby = [_results(tape, other)[number] for other in _neighbours(tape, inputs)]
        moved = max((_distance(ours, other) for other in nearby if np.shape(ours) == np.shape(other)), default=0.0)
        if not _is_close(ours, theirs, ROUNDING_SHARE * moved):
            raise _stale(tape, ours, theirs, at)


def _results(tape: Tape, outputs: list[Operand]) -> list[Operand]:
    """The results of a replay, those whose shapes are data in these shapes."""
    if not has_first_entries(tape.result):
        return outputs
    assert tape.result is not None
    rest = iter(outputs)
    return [*flatten_result(unflatten(tape.result, rest))[0], *rest]


def refuse_if_asked(tape: Tape, asks: int, function: UserFunction, inputs: Sequence[Operand]) -> None:
    """Raise if a function that called td.is_recording() gives another result outside recordings; `asks`: calls counted before."""
    count, at = process.asked_if_recording
    if count == asks or current_recorder() is not None:
        return
    try:
        check_fresh(tape, function, inputs, "")
    except StaleTape as differs:
        raise UnsupportedFunction(
            f"the result of {tape.name} depends on td.is_recording(), so its tape would give another one than the function", at=at,
            got=f"the tape gives {differs.tape_value!r}, the function {differs.function_value!r}",
            fix="return the same in both cases; for another derivative, td.stop_gradient(x), or a rule by td.primitive",
        ) from None  # fmt: skip


def _paired(tape: Tape, recorded: Sequence[Operand], returned: Sequence[Operand], at: str) -> Iterator[tuple[Tree, Tree]]:
    if len(recorded) != len(returned):
        raise _stale(tape, f"{len(recorded)} values", f"{len(returned)} values", at)
    for ours, theirs in zip(recorded, returned):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        if ours.shape != theirs.shape:
            raise _stale(tape, f"an array of shape {ours.shape}", f"an array of shape {theirs.shape}", at)
        yield ours, theirs


@np.errstate(all="ignore")
def _is_close(ours: Operand, theirs: Operand, allowed: float) -> bool:
    relative = SAME_ORDER.get(ours.dtype, 0.0)
    same = (ours == theirs) | ((ours != ours) & (theirs != theirs))
    largest = np.max(np.abs(ours), initial=0.0, where=np.isfinite(ours))
    near = apart(ours, theirs) <= relative * largest + allowed
    return bool(np.all(same | near))


def _distance(a: Operand, b: Operand) -> float:
    return float(np.max(apart(a, b), initial=0.0))


def _neighbours(tape: Tape, inputs: Sequence[Operand]) -> Iterator[list[Operand]]:
    """The tape's outputs at points that differ in the last bit of every argument."""
    rng = np.random.default_rng(0)
    for _ in range(TRIALS):
        moved = [
            value * (1 + np.finfo(value.dtype).eps * rng.choice([-1, 1], np.shape(value)).astype(value.dtype))
            if value.dtype.kind == "f" else value
            for value in inputs
        ]  # fmt: skip
        try:
            yield run(tape, moved, settled=tape.guard_count)
        except np.linalg.LinAlgError:
            continue  # at the edge of a factorisation's domain; the other neighbours count


def _stale(tape: Tape, ours: Operand, theirs: Operand, at: str) -> StaleTape:
    if isinstance(ours, np.ndarray) and ours.shape:
        distance = apart(ours, theirs)
        distance[np.isnan(distance)] = np.inf
        distance[np.equal(ours, theirs) | ((ours != ours) & (theirs != theirs))] = 0.0
        index = tuple(int(k) for k in np.unravel_index(int(np.argmax(distance)), distance.shape))
        got = f"the tape gives {ours[index].item()!r}, the function {theirs[index].item()!r}, at {index}"
    else:
        got = f"the tape gives {_text(ours)}, the function {_text(theirs)}"
    return StaleTape(f"{tape.name} no longer computes what its tape was recorded with", at=at, got=got,
                     tape_value=_plain(ours), function_value=_plain(theirs))  # fmt: skip


def _text(value: Operand) -> str:
    return value if isinstance(value, str) else repr(value.item())


def _plain(value: Operand) -> Tree:
    return value.item() if isinstance(value, np.ndarray) and value.shape == () else value
