"""Tapes of functions with loops that are too long to be recorded turn by turn: one turn is, where that is proven to change nothing."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ...functions.loops import repeated_scan, while_loop
from ...functions.merging.merged_function import MOST_ATTEMPTS, MergedFunctions
from ...functions.merging.plain_numbers import check_numbers
from ...functions.merging.prepare.closures import users_functions
from ...functions.merging.prepare.state_changes import first_change
from ...functions.merging.rules import Refused
from ...ir.instruction import Guard, Tree, UserFunction
from ...ir.pytree import flatten
from ...ir.tape import Tape
from ...recording import record
from ...recording.arrays.tracked import TrackedArray
from ...recording.recorder import Recorder, RecordingStopped, current_recorder
from .long_tapes import IN_TURNS, is_sooner_in_turns
from .slow_recordings import fewest_turns

Look: TypeAlias = Callable[[Recorder], bool]

# The same operations in the same order; but a scan's kernel may round functions of NumPy's otherwise, at each turn.
SAME = 1e-9


class LoopCalls:
    """The loops that merged forms of a function record as loops.

    Attributes:
        has_any: the latest recording has come to one; set to False before it.
    """

    def __init__(self) -> None:
        self.has_any = False

    def while_loop(self, *args: Tree, **named: Tree) -> Tree:
        self.has_any = True
        return while_loop(*args, **named)

    def scan(self, *args: Tree) -> tuple[Tree, Tree]:
        self.has_any = True
        return repeated_scan(*args)


class LongLoops:
    """The long loops of one function that is being recorded.

    Args:
        f: the function.
    """

    def __init__(self, f: UserFunction) -> None:
        self._f = f
        self._loops = LoopCalls()
        self._functions = MergedFunctions(self._loops.while_loop, scan=self._loops.scan)

    def are_wanted(self, recorder: Recorder) -> bool:
        """Whether a recording that has become long comes from loops of which one turn can be recorded, so that it is to be stopped.

        It is not where the function changes more than its results: what it has done would be done again.
        """
        least = fewest_turns(recorder, bool(self._functions.long_loops))
        is_repeatable = not any(map(first_change, users_functions(self._f)))
        if least is None or not is_repeatable or not self._functions.note_long_loops(recorder.users_loops(), least):
            return False
        self._functions.note_guards(_repeated_guards(recorder))
        return self._form() is not None

    def _form(self) -> UserFunction | None:
        """The function as it is recorded; None where that is turn by turn."""
        try:
            form = self._functions.of(self._f)
        except Exception:  # noqa: BLE001 -- of the rewriting, which no user is to see
            return None
        # The loops of functions that it calls are rewritten when it does.
        return form if self._functions.may_have_long_loops else None

    def tape(self, recorded: Callable[[UserFunction, Look | None], Tape], plain_result: Callable[[], Tree]) -> Tape:
        """The tape of the function, after its recording was stopped.

        Args:
            recorded: records a form of the function, and asks when that has become long whether it is stopped.
            plain_result: what the function gives in plain NumPy.
        """
        functions, is_vain, in_turns = self._functions, False, False

        def look(recorder: Recorder) -> bool:
            nonlocal is_vain
            if self.are_wanted(recorder):
                return True
            # A recording that has become as long again without a loop of one turn will not have one.
            is_vain = not self._loops.has_any and len(recorder.instructions) >= record.LONG
            return is_vain

        for _ in range(MOST_ATTEMPTS):
            form, results, self._loops.has_any = self._form(), list[Tree](), False
            if form is None:
                break
            try:
                tape = recorded(checked(form, results), look)
            except RecordingStopped:
                if is_vain:
                    break
                continue
            except Refused as refused:
                if functions.refuse(refused):
                    continue
                break
            except Exception:  # noqa: BLE001 -- raised again below, if it is the function's own
                if functions.leave_entries():
                    continue
                break
            in_turns = is_sooner_in_turns(tape)
            if self._loops.has_any and not in_turns and are_same(results[-1], plain_result):
                return tape
            break
        tape = recorded(self._f, None)
        if in_turns:
            tape.derived[IN_TURNS] = True
        return tape


def _repeated_guards(recorder: Recorder) -> list[Guard]:
    """The guards of lines that have looked at values more than once, so that they stand in loops."""
    if not recorder.guard_count:
        return []  # without making the instructions
    guards = Tape(tuple(recorder.instructions), tuple(recorder.inputs), (), recorder.name).guards
    times = Counter(guard.site for guard in guards)
    return [guard for guard in guards if times[guard.site] > 1]


def checked(form: UserFunction, results: list[Tree]) -> UserFunction:
    """A rewritten form that looks at the end for what Python would have computed in another way; its result goes to `results` as well."""

    @functools.wraps(form)
    def call(*args: Tree, **named: Tree) -> Tree:
        result = np.errstate(all="ignore")(form)(*args, **named)
        recorder = current_recorder()
        if recorder is not None:
            check_numbers(recorder)
        results.append(result)
        return result

    return call


@np.errstate(all="ignore")
def are_same(result: Tree, plain_result: Callable[[], Tree]) -> bool:
    """Whether a recording came to the same as the function in plain NumPy."""
    (ours, structure), (theirs, other) = flatten(result), flatten(plain_result())
    pairs = list(zip([leaf._value if type(leaf) is TrackedArray else leaf for leaf in ours], theirs))
    are_alike = structure == other and all(np.shape(a) == np.shape(b) for a, b in pairs)
    return are_alike and all(np.allclose(a, b, rtol=SAME, atol=0.0, equal_nan=True) for a, b in pairs)
