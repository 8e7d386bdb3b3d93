"""Tapes of functions with their branches merged, outside of a GuardedTape."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from ...errors import UnsupportedFunction
from ...functions.loops import while_loop
from ...functions.merging.merged_function import MOST_ATTEMPTS, MergedFunctions
from ...functions.merging.plain_numbers import check_numbers
from ...functions.merging.rules import Refused
from ...ir.instruction import Tree, UserFunction
from ...ir.pytree import flatten
from ...ir.tape import Tape
from ...recording.recorder import current_recorder

# Sums over masked terms may be in another order.
SAME = 1e-9


def merged_tape(
    f: UserFunction, recorded: Callable[[UserFunction], Tape], answer: Callable[[Tape], Tree], plain: Tape, value: Tree
) -> Tape:
    """The tape of a function with its branches merged.

    Args:
        recorded: records a form of the function.
        answer: of a tape, where it was recorded.
        plain: the tape of the function as it is.
        value: its answer.

    Raises:
        UnsupportedFunction: none of its branches can be merged.
    """
    functions, failure = MergedFunctions(while_loop), ""
    functions.note_guards(plain.guards)
    for _ in range(MOST_ATTEMPTS):
        form = functions.of(f)
        if form is None:
            break
        try:
            tape = recorded(_checked(form))
        except Refused as refused:
            functions.refuse(refused)
            continue
        except Exception as error:  # noqa: BLE001 -- the function itself has raised none
            if functions.leave_entries():
                continue
            failure = f"{type(error).__name__}: {error}"
            break
        if not _are_close(answer(tape), value):
            failure = "the merged form has another value"
            break
        if functions.note_guards(tape.guards):
            continue
        if any(functions.sites.values()):
            return tape
        break
    breach = next(iter(functions.refused.values()), "no branch asks for a bool")
    raise UnsupportedFunction(
        f"nothing that looks at data in {getattr(f, '__name__', 'the function')} can be merged", at=plain.guards[0].site,
        got=failure or str(breach), fix="td.GuardedTape(f), which keeps a tape for each path",
    )  # fmt: skip


def _checked(form: UserFunction) -> UserFunction:
    """A merged form that looks at the end for what Python would have computed in another way."""

    @functools.wraps(form)
    def call(*args: Tree, **named: Tree) -> Tree:
        recorder = current_recorder()
        if recorder is not None:
            recorder.merges = True
        result = np.errstate(all="ignore")(form)(*args, **named)
        if recorder is not None:
            check_numbers(recorder)
        return result

    return call


def _are_close(ours: Tree, theirs: Tree) -> bool:
    pairs = zip(flatten(ours)[0], flatten(theirs)[0], strict=True)
    return all(np.allclose(a, b, rtol=SAME, atol=0.0, equal_nan=True) for a, b in pairs)
