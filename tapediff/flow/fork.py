"""A branch on data: both sides are run from the same state, and the states that they leave are joined.

Where a side cannot be run beside the other one (`Unjoinable`), a guard tells whether the path to it is taken: if it is, the side is run alone
once nothing around it is tried any more; if not, it is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import TapediffError
from ..ir.instruction import Operand
from .completions import Completion, Conditional, Raised, Return
from .joins import join, join_contents, where
from .places import Cell, Contents, Journal, Place, Plain, Version, note, put, undo
from .values import Unjoinable, both, facts_of, is_data, known, negated, state

Side = Callable[[], Any] | None


class WithCells:
    """A side that runs blocks: it has their variables."""

    __slots__ = ("__closure__", "run")

    def __init__(self, run: Callable[[], Any], *blocks: Any) -> None:
        self.run = run
        self.__closure__ = tuple(cell for block in blocks for cell in getattr(block, "__closure__", None) or ())

    def __call__(self) -> Any:
        return self.run()


class Ran(NamedTuple):
    """What a side gave, the values that it left in places, and the error that ended it."""

    result: Any
    final: dict[Any, tuple[Place, Any]]
    error: Exception | None


class Taken(NamedTuple):
    """One side alone was run; `holds` says which."""

    holds: bool
    result: Any


def speculate(run: Side, facts: dict[tuple[int, int], bool]) -> Ran:
    """Run a side, and put everything back as it was."""
    journal: Journal = {}
    before, result, error = state.facts, None, None
    state.journals.append(journal)
    state.facts = {**before, **facts}
    try:
        if run is not None:
            for cell in getattr(run, "__closure__", None) or ():
                note(Cell(cell))
            result = run()
    except Exception as raised:
        if is_of_recording(raised):
            raise
        error = raised  # the program's own: the end of this side
    finally:
        final = {key: (place, place.get()) for key, (place, _) in journal.items()}
        undo(journal)
        state.journals.pop()
        state.facts = before
    return Ran(result, final, error)


def is_of_recording(error: Exception) -> bool:
    """True for errors that plain Python does not raise."""
    return isinstance(error, TapediffError) or isinstance(error.__cause__, TapediffError)


def fork(test: Operand, yes: Side, no: Side) -> tuple[Ran, Ran] | Taken:
    """Both sides of a test, joined; or one of them."""
    fact = known(test)
    if fact is not None:
        return Taken(fact, _run(yes if fact else no))
    ran: list[Ran | None] = []
    for run, holds in ((yes, True), (no, False)):
        state.path.append((test, holds))
        try:
            ran.append(speculate(run, facts_of(test, holds)))
        except Unjoinable as why:
            if why.is_taken is None:
                state.why.append(str(why))
                why.is_taken = path_is_taken()
            if why.is_taken:
                if state.journals:
                    raise
                state.path.pop()
                state.path.append((test, holds))
                return Taken(holds, _alone(run, test, holds))
            ran.append(None)
        finally:
            state.path.pop()
    first, second = ran
    if first is None or second is None:
        kept = first or second
        if kept is None:
            raise _excluded("neither side can be run")
        for place, value in kept.final.values():
            put(place, value)
        return Taken(first is not None, _given(kept))
    try:
        joined = _joined(test, first, second)
    except Unjoinable as why:
        state.why.append(str(why))
        holds = decided(test)
        kept = first if holds else second
        for place, value in kept.final.values():
            put(place, value)
        return Taken(holds, _given(kept))
    for place, value in joined:
        put(place, value)
    return first, second


def _given(ran: Ran) -> Any:
    if ran.error is not None:
        raise ran.error
    return ran.result


def _run(run: Side) -> Any:
    return None if run is None else run()


def _alone(run: Side, test: Operand, holds: bool) -> Any:
    """Run a side that guards have shown to be taken."""
    before = state.facts, state.path
    state.facts, state.path = {**state.facts, **facts_of(test, holds)}, []
    try:
        return _run(run)
    finally:
        state.facts, state.path = before


def _excluded(why: str) -> Unjoinable:
    found = Unjoinable(why)
    found.is_taken = False
    return found


def _joined(test: Operand, first: Ran, second: Ran) -> list[tuple[Place, Any]]:
    merged: list[tuple[Place, Any]] = []
    for key in {**first.final, **second.final}:
        place = (first.final.get(key) or second.final[key])[0]
        old = place.get()
        yes = first.final[key][1] if key in first.final else old
        no = second.final[key][1] if key in second.final else old
        if yes is no:
            merged.append((place, yes))
        elif isinstance(place, Contents):
            merged.append((place, join_contents(test, yes, no)))
        elif isinstance(place, Version):
            merged.append((place, where(test, yes, no) if yes._id != no._id else yes))
        elif isinstance(place, Plain):
            if yes.tobytes() != no.tobytes():
                from .containers import unwritable

                raise unwritable("a plain array is written to on one side of a branch")
            merged.append((place, yes))
        else:
            merged.append((place, join(test, yes, no)))
    return merged


# Guards


def path_is_taken() -> bool:
    """A guard on whether the program comes here; its outcome."""
    if not state.path:
        return True
    condition: Any = True
    for test, holds in state.path:
        condition = both(condition, test if holds else negated(test))
    return condition if type(condition) is bool else observed(condition)


def observed(test: Operand) -> bool:
    """A guard on a tracked bool; its outcome."""
    recorder = test._recorder
    asked, recorder.asked = recorder.asked, None
    try:
        return recorder.observe(test, "bool")
    finally:
        recorder.asked = asked


def in_side() -> None:
    """Refuse a guard on a side of a branch: code that is not translated asks for a value there."""
    refuse("code that Python runs by itself asks for a value")


def decided(test: Operand) -> bool:
    """A guard on a test; its outcome where the program comes here."""
    if not path_is_taken():
        return True
    return observed(test)


def refuse(why: str) -> None:
    """End the side that is being run, as this cannot be undone. Does nothing outside of sides."""
    if state.journals:
        raise Unjoinable(why)


def exclude(test: Any, error: Callable[[], Exception]) -> None:
    """Raise an error where a test holds; on a path that is not taken, note that by a guard."""
    if test is False:
        return
    if state.on_error is not None:
        state.on_error(test, error)
        return
    if test is not True:
        state.path.append((test, True))
        try:
            is_taken = path_is_taken()
        finally:
            state.path.pop()
        if not is_taken:
            return
        if state.journals:
            found = Unjoinable("it raises an error")
            found.is_taken = True
            raise found
    raise error()


# What a branch gives


def fork_value(test: Operand, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """The value of the side that a test chooses."""
    ran = fork(test, yes, no)
    if isinstance(ran, Taken):
        return ran.result
    first, second = ran
    for side, when in ((first, test), (second, negated(test))):
        if side.error is not None:
            raised = side.error
            exclude(when, lambda: raised)
    if first.error is not None:
        return second.result
    if second.error is not None:
        return first.result
    try:
        return join(test, first.result, second.result)
    except Unjoinable as why:
        state.why.append(str(why))
        return first.result if decided(test) else second.result


def fork_block(test: Operand, yes: Side, no: Side) -> Completion:
    """The completion of a branch whose sides are blocks."""
    ran = fork(test, yes, no)
    if isinstance(ran, Taken):
        return ran.result
    first, second = (side.result if side.error is None else Raised(side.error) for side in ran)
    return conditional(test, first, second)


def conditional(test: Operand, yes: Completion, no: Completion) -> Completion:
    """The completion that a test chooses."""
    if yes is no:
        return yes
    if type(yes) is Return and type(no) is Return:
        try:
            return Return(join(test, yes.value, no.value))
        except Unjoinable:
            pass
    return Conditional(test, yes, no)


def where_ends(completion: Completion, is_wanted: Callable[[Any], bool]) -> Any:
    """When a completion is one of some kind: a bool, tracked or not."""
    if type(completion) is not Conditional:
        return is_wanted(completion)
    yes, no = where_ends(completion.yes, is_wanted), where_ends(completion.no, is_wanted)
    if type(yes) is bool and type(no) is bool:
        if yes == no:
            return yes
        return completion.test if yes else negated(completion.test)
    if type(yes) is bool and not yes:
        return both(negated(completion.test), no)
    if type(no) is bool and not no:
        return both(completion.test, yes)
    return where(completion.test, yes, no)


__all__ = ["Ran", "Taken", "conditional", "decided", "exclude", "fork", "fork_block", "fork_value", "is_data", "refuse", "where_ends"]
