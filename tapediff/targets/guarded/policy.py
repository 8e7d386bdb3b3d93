"""Policy: how many tapes a GuardedTape keeps, when it compiles and checks them, and when it warns or refuses to record."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...errors import ArgumentMismatch
from ..backends import check_backend, threads_of
from ..tapes.memory_budget import bytes_of
from .keyed_call import GuardedFunction, KeyedCall
from .reason import LastFailure
from .report import budget_text, coarse_guard_text, new_tape_error, new_tape_text
from .variant import CompiledProgram, Variant

ON_NEW_TAPE = ("compile", "interpret", "raise", "warn")
CHECK_CONTENTS = ("sample", "always", "off")

# With on_new_tape="interpret": compile a path after this many NumPy replays.
INTERPRETED_ANSWERS = 10


def checked_contents(chosen: str) -> str:
    """The option check_contents.

    Raises:
        ArgumentMismatch: not one of its values.
    """
    if chosen not in CHECK_CONTENTS:
        raise ArgumentMismatch("check_contents is one of " + ", ".join(map(repr, CHECK_CONTENTS)), got=repr(chosen))
    return chosen


class Policy:
    """The settings of a GuardedTape, and the warnings given once.

    Attributes:
        max_tapes, check_every, backend, merge, memory, threads, check_contents, frozen: see GuardedTape; memory is in bytes, threads None
            if unset.
        compile_after: the number of NumPy replays of a new tape; `compile_after_given` is None unless set by the user.
        program: makes the compiled program of a tape.
        warned: the warnings given so far: "budget", "coarse", "draws".
    """

    def __init__(
        self, max_tapes: int, compile_after: int | None, on_new_tape: str, check_every: int, backend: str, merge: bool,
        memory: str | int | None = None, threads: int | None = None, check_contents: str = "sample", frozen: bool = False,
    ) -> None:  # fmt: skip
        self.check_contents, self.frozen = checked_contents(check_contents), frozen
        if max_tapes < 1 or (compile_after or 0) < 0 or check_every < 0:
            raise ArgumentMismatch(
                "max_tapes must be at least 1, compile_after and check_every at least 0",
                got=f"max_tapes={max_tapes}, compile_after={compile_after}, check_every={check_every}",
            )
        self.max_tapes, self.check_every, self.backend = max_tapes, check_every, check_backend(backend)
        self.compile_after_given = compile_after
        if type(merge) is not bool:
            raise ArgumentMismatch("merge is True or False", got=repr(merge), fix="merge=False: a tape for each path")
        self.merge, self.memory = merge, bytes_of(memory, backend)
        self.threads = threads_of(threads, backend) or None
        self.program = partial(CompiledProgram, backend=self.backend, memory=self.memory, threads=self.threads)
        self.on_new_tape = on_new_tape
        self.warned: set[str] = set()

    @property
    def on_new_tape(self) -> str:
        return self._on_new_tape

    @on_new_tape.setter
    def on_new_tape(self, chosen: str) -> None:
        if chosen not in ON_NEW_TAPE:
            raise ArgumentMismatch("on_new_tape is one of " + ", ".join(map(repr, ON_NEW_TAPE)), got=repr(chosen))
        self._on_new_tape = chosen
        default = INTERPRETED_ANSWERS if chosen == "interpret" else 0
        self.compile_after = default if self.compile_after_given is None else self.compile_after_given

    def allow_recording(self, function: GuardedFunction, failure: LastFailure, tapes: Sequence[Variant]) -> None:
        """Raise NewTape if on_new_tape="raise" and there is a tape already."""
        if self.on_new_tape == "raise" and tapes:
            raise new_tape_error(function.name, failure, function.f)

    def warnings(
        self, function: GuardedFunction, call: KeyedCall, failure: LastFailure, tapes: Sequence[Variant]
    ) -> list[str]:
        """The texts of the warnings that a new tape causes.

        Args:
            tapes: all tapes with the new one, before any is dropped.
        """
        name, reason, messages = function.name, failure.reason, []
        if len(tapes) > self.max_tapes and "budget" not in self.warned:
            self.warned.add("budget")
            messages.append(budget_text(name, self.max_tapes, tapes))
        # A merged tape may be the only one, and replaces a path.
        if self.on_new_tape == "warn" and (len(tapes) > 1 or reason.guard is not None):
            messages.append(new_tape_text(name, failure))
        if reason.guard is not None and function.guard is not None and "coarse" not in self.warned:
            self.warned.add("coarse")
            value = call.specialisation.guard_value[0]
            messages.append(coarse_guard_text(name, function.guard_site, value, reason.guard, reason.outcome))
        return messages
