"""Python loops on a tape as loops again, before it is differentiated or compiled; see passes.reroll."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

from .callees import Callee, without_guards
from .instruction import CONSTANT
from .passes import run_passes
from .passes.reroll import reroll
from .replay import Miss, run
from .tape import Tape


class TapeCallee(Callee):
    """A callee of one variant, whose tape is known and has no guards.

    Args:
        tape: one iteration of a loop.
    """

    def __init__(self, tape: Tape) -> None:
        super().__init__(f"a loop of {tape.name}", tape.input_types)
        self.out_types = tape.output_types
        self._tape = tape
        self._plain: Tape | None = None
        self._prepared: Tape | None = None

    def variant_tape(self, number: int) -> Tape:
        if self._prepared is None:
            self._prepared = run_passes(self._tape)
        return self._prepared

    def plain_tape(self, number: int, inputs: Sequence[Any] | None) -> Tape:
        if self._plain is None:
            self._plain = without_guards(self._tape)
        return self._plain

    def missed(self, number: int | None, miss: Miss | None, inputs: Sequence[Any]) -> int:
        return 0

    def answer(self, number: int | None, inputs: Sequence[Any]) -> tuple[list[Any], int]:
        return run(self._tape, inputs), 0

    def may_compile(self, number: int) -> bool:
        return True


_lock = threading.Lock()
_callees: weakref.WeakValueDictionary[Any, TapeCallee] = weakref.WeakValueDictionary()


def callee_of(tape: Tape) -> TapeCallee:
    """The callee of a loop's body: the same one for equal bodies, so that these are compiled once, and loops of them alike."""
    key = (tuple(map(_key, tape.instructions)), tape.outputs)
    with _lock:
        known = _callees.get(key)
        if known is None:
            known = _callees[key] = TapeCallee(tape)
    return known


def _key(instruction: Any) -> Any:
    op, inputs, params, type_, _ = instruction
    if op is CONSTANT:
        params = (params[0].tobytes(),)
    return op, inputs, params, type_


def rolled(tape: Tape) -> Tape:
    """The tape with its Python loops as loops."""
    return reroll(tape, callee_of)
