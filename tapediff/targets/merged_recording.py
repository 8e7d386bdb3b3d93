"""td.record, and recordings of functions with their branches merged."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from ..errors import UnsupportedFunction
from ..functions.merging.merged_function import MOST_ATTEMPTS, MergedFunctions
from ..functions.merging.plain_numbers import check_numbers
from ..functions.merging.rules import Refused
from ..ir.instruction import Outcome, Tree, UserFunction
from ..ir.pytree import flatten
from ..ir.tape import Tape
from ..recording.record import record as record_plain
from ..recording.recorder import current_recorder

# Sums over masked terms may be in another order.
SAME = 1e-9


def record(
    f: UserFunction, *args: Tree, prescribed: Sequence[Outcome] = (), has_aux: bool = False, merge: bool = False, **named: Tree
) -> Tape:
    """Run a function once on tracked arrays and return the tape of its operations.

    Args:
        f: a function of float arrays or floats, in plain NumPy; returns a real number, an array, or a container of these.
        args: where to record: floats or float arrays of any shape, which may be differentiated; integers, booleans and values
            wrapped in td.Constant are data, which may change from call to call. Where Python needs an integer it is guarded. Tuples,
            lists, dicts, named tuples and dataclasses of these; what else is in them (strings, None, bools) is part of their structure,
            which the tape is for.
        prescribed: outcomes for the first guards (used by GuardedTape).
        has_aux: f returns (y, aux), as the tape will: derivatives are of y, and aux may be any container. What in it depends on the
            arguments is recomputed at each call; the rest stays as it is.
        merge: record the function with its branches and loops on data merged, where that is proven to change nothing; see docs/guards.md.
        named: further arguments by name. The tape takes by position those that f does, and all by name.

    Returns:
        The tape, valid wherever its guards hold.

    Raises:
        DtypeMismatch: no argument is real floating point, or one is no number at all.
        UnsupportedFunction, TrackedValueEscaped: naming the user's line and the fix; also where nothing can be merged that looks at data.

    Cost: one call of f, plus about 2 µs per operation; merged, a few of them.
    """
    plain = record_plain(f, *args, prescribed=prescribed, has_aux=has_aux, **named)
    if not merge or not plain.guards:
        return plain
    return _merged(f, lambda form: record_plain(form, *args, has_aux=has_aux, **named), lambda tape: tape(*args, **named), plain)


def _merged(
    f: UserFunction, recorded: Callable[[UserFunction], Tape], answer: Callable[[Tape], Tree], plain: Tape
) -> Tape:
    """The tape of a function with its branches merged.

    Args:
        recorded: records a form of the function.
        answer: of a tape, where it was recorded.
        plain: the tape of the function as it is.

    Raises:
        UnsupportedFunction: none of its branches can be merged.
    """
    functions, failure = MergedFunctions(), ""
    functions.note_guards(plain)
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
            failure = f"{type(error).__name__}: {error}"
            break
        if not _are_close(answer(tape), answer(plain)):
            failure = "the merged form has another value"
            break
        if functions.note_guards(tape):
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
        result = np.errstate(all="ignore")(form)(*args, **named)
        recorder = current_recorder()
        if recorder is not None:
            check_numbers(recorder)
        return result

    return call


def _are_close(ours: Tree, theirs: Tree) -> bool:
    pairs = zip(flatten(ours)[0], flatten(theirs)[0], strict=True)
    return all(np.allclose(a, b, rtol=SAME, atol=0.0, equal_nan=True) for a, b in pairs)
