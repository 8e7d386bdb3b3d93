"""Branches on data: both sides run from the same state, and their states are joined.

A side that cannot be joined (`Unjoinable`) gets a guard on whether its path is taken: if so, the side runs alone once no enclosing
side is speculative; if not, it is left out. A side that raises is left out, too: within an `Attempt` the error is pending, else a
guard tests whether it is raised.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple, NoReturn, TypeVar

import numpy as np

from ...base.current_recording import current_recorder
from ...base.source_location import Site, user_site
from ...errors import TapediffError
from ...ir.instruction import Operand
from ...recording.python_state.caught_errors import failure_caught
from ..anything import Object
from ..report import Reason
from ..translate import is_raised_by_translated, untranslated
from .completions import Completion, Conditional, Return, folded
from .dead_places import drop_dead, forget_frames, users_entries, without_variables
from .joins import join, join_conditions, join_contents, join_versions, joined_by_index
from .numbers.bounds import outcome
from .objects.unshared import joined_results, joined_unshared
from .objects.withdrawn import withdraw_on_all
from .places import (
    Cell,
    Contents,
    Entry,
    Final,
    Journal,
    Place,
    Plain,
    Version,
    changes,
    hand_on,
    hand_on_made,
    loop_ended,
    note_variables,
    put,
    undo,
    unwritable,
)
from .recursions import check_guards, check_instructions, check_recursion, check_sides
from .tables.columns import joined_by_columns
from .values import CHOICES, Unjoinable, all_of, both, either, facts_of, holds_several, known, negated, state

Side = Callable[[], Object] | None
T = TypeVar("T")



# Interval of garbage collections; none in loops, whose objects of an iteration must stay in the youngest generation.
SIDES_OF_GARBAGE = 1000


class Ran(NamedTuple):
    """A side's result, the values that it left in places, and the error that ended it."""

    result: Object
    final: Final
    error: BaseException | None


class Option(NamedTuple):
    """A side after its run, and the outcome of the test that leads there."""

    test: Operand
    holds: bool
    ran: Ran


class Taken(NamedTuple):
    """The result of the only side that was run; `holds` says which."""

    holds: bool
    result: Object


def speculate(run: Side, facts: dict[tuple[int, int], bool]) -> Ran:
    """Run a side, then restore the state."""
    if run is None:
        return Ran(None, {}, None)
    journal = Journal()
    state.sides += 1
    check_sides()
    if state.sides % SIDES_OF_GARBAGE == 0 and not state.is_in_loop:
        gc.collect(1)
    before, result, error = state.facts, None, None
    state.journals.append(journal)
    state.facts = {**before, **facts}
    try:
        note_variables(run)
        result = run() if len(state.path) > 1 else _without_warnings(run)
    except BaseException as raised:
        if not is_of_program(raised):
            raise
        refuse_of_values(raised)
        error = raised  # the end of this side
    finally:
        final = changes(journal)
        undo(journal)
        state.journals.pop()
        hand_on_made(journal)
        state.facts = before
    return Ran(result, final, error)


@contextmanager
def all_or_nothing() -> Generator[None]:
    """Store values in several places; where that fails, in none."""
    journal = Journal()
    state.journals.append(journal)
    try:
        yield
    except BaseException:
        undo(journal)
        raise
    finally:
        state.journals.pop()
    hand_on(journal)


@np.errstate(all="ignore")
def _without_warnings(run: Callable[[], Object]) -> Object:
    return run()


def refuse_of_values(error: BaseException) -> None:
    """Refuse an error that depends on an operation's values and may be caught: no test tells when it is raised."""
    recorder, found = current_recorder(), None
    while recorder is not None:
        if recorder.failure is not None and recorder.failure.error is error:
            found = recorder.failure
        recorder.failure, recorder = None, recorder.outer
    if found is not None and state.attempts:
        refuse(f"{found.operation} fails because of its values, and its error may be caught", "test the values before, with an `if`")
        raise failure_caught(state.recorder.name, found) from error


def refuse_errors_of_numpy() -> NoReturn:
    """Record path by path where NumPy is to raise errors: what is computed where both sides are run must not raise."""
    raise Unjoinable("NumPy is to raise errors where numbers have no value", "test the values before, with an if")


def is_of_program(error: BaseException) -> bool:
    """True for errors that plain Python also raises; false for those from outside, such as by a signal."""
    if isinstance(error, KeyboardInterrupt):
        return error is state.interrupt
    if isinstance(error, TapediffError) or isinstance(error.__cause__, TapediffError):
        return False
    return isinstance(error, Exception) or is_raised_by_translated(error)


def fork(test: Object, yes: Side, no: Side) -> tuple[Ran, Ran] | Taken:
    """Run both sides of a test, a bool, tracked or not, and join them; or run only one.

    A side that raises is left out: within an `Attempt` the error is pending, else a guard excludes it.
    """
    fact = test if type(test) is bool else known(test)
    if fact is None:
        fact = outcome(test)
    if fact is not None:
        return Taken(fact, _run(yes if fact else no))
    check_recursion()
    found = sides_of(
        [(test, True, yes), (test, False, no)], lambda ran: joined_states(ran[0].test, ran[0].ran.final, ran[1].ran.final)
    )
    return found if isinstance(found, Taken) else (found[0].ran, found[1].ran)


def sides_of(sides: list[tuple[Operand, bool, Side]], join_states: Callable[[list[Option]], Final]) -> Taken | list[Option]:
    """Run all possible sides from the same state, and join the states; or run the only one.

    Args:
        sides: each with a test and its outcome there; exactly one is taken.
    """
    recorder = current_recorder()
    # Tests may belong to the recording around a loop.
    sides = [(test if test._recorder is recorder else recorder.capture(test), holds, run) for test, holds, run in sides]
    if state.is_alone:
        return _by_guards_alone(sides)
    attempt = attempt_around(sides[0][0])
    pending = 0 if attempt is None else len(attempt.pending)

    def leave_out() -> None:
        if attempt is not None:
            attempt.leave_out(pending)

    found: list[Option] = []
    for number, (test, holds, run) in enumerate(sides):
        fact = known(test)
        if fact is not None and fact is not holds:
            continue
        is_last = number == len(sides) - 1
        if not found and (is_last or fact is not None):
            leave_out()
            return Taken(holds, _run(run))
        with left_beside(*(option.ran for option in found)):
            ran = side_of(run, test, holds, attempt)
        if ran is ALONE:
            if attempt is not None:
                del attempt.pending[pending:]
            result = alone(run, test, holds)
            leave_out()
            return Taken(holds, result)
        if ran is not None:
            found.append(Option(test, holds, ran))
    leave_out()
    while len(found) > 1:
        drop_dead(*(option.ran.final for option in found))
        try:
            joined = join_states(found)
        except Unjoinable as why:
            side = found[why.side]
            found = [side] if decided(side.test, why.reason) else [option for option in found if option is not side]
            continue
        has_choices = put_final(joined) or len(found) > 2
        state.report.note("choice" if has_choices else "select", recorder.site_of(sys._getframe(1)))
        return found
    ((test, holds, ran),) = found
    state.facts = {**state.facts, **facts_of(test, holds)}
    put_final(ran.final)
    # The result's holder must not keep the values alive: references are counted.
    ran.final.clear()
    return Taken(holds, ran.result)


def _by_guards_alone(sides: list[tuple[Operand, bool, Side]]) -> Taken:
    """Run the side that is taken, where only one path is recorded."""
    *others, (test, holds, run) = sides
    for test_of_side, holds_there, side in others:
        fact = known(test_of_side)
        if (observed(test_of_side, _ALONE) if fact is None else fact) is holds_there:
            test, holds, run = test_of_side, holds_there, side
            break
    return Taken(holds, alone(run, test, holds))


_ALONE = Reason("only one path is recorded")


@contextmanager
def left_beside(*sides: Ran) -> Generator[None]:
    """Keep the final states of finished sides while others run, for reference counts."""
    before = len(state.left)
    state.left += [side.final for side in sides]
    try:
        yield
    finally:
        del state.left[before:]


# Stands for a side that is taken and must run alone.
ALONE = Ran(None, {}, None)


def side_of(run: Side, test: Operand, holds: bool, attempt: Attempt | None) -> Ran | None:
    """Run a side. None if it is left out: it raises or is not taken."""
    start, mark = len(state.path), state.report.mark()
    state.path.append((test, holds))
    recorder = current_recorder()
    before, outermost = len(recorder.instructions), (recorder.outermost, recorder.outermost_site)
    is_kept = False
    # Sides are deep within each other: the search for the line of an operation of this one ends here.
    recorder.outermost_site = recorder.site_of(sys._getframe())
    recorder.outermost = sys._getframe()
    try:
        ran = speculate(run, facts_of(test, holds))
        if not start:
            check_instructions(len(recorder.instructions) - before)
        if ran.error is None:
            is_kept = True
            return ran
        if attempt is not None:
            attempt.add(ran.error, ran.final)
        elif path_is_taken(reason := _reason_of(ran.error)):
            if not start:
                put_final(ran.final)
                raise ran.error
            why = Unjoinable(*reason[:3], raises=True)
            why.is_taken = True
            raise why
        else:
            forget_frames(ran.error)
    except Unjoinable as why:
        state.report.forget(mark)
        note_whether_taken(why)
        if why.is_taken:
            if start:
                raise
            return ALONE
    finally:
        recorder.outermost, recorder.outermost_site = outermost
        if not is_kept:
            recorder.left_out.append((before, len(recorder.instructions)))
        del state.path[start:]
    state.facts = {**state.facts, **facts_of(test, not holds)}
    return None


def note_whether_taken(why: Unjoinable) -> None:
    """Add the guard on whether an unjoinable point is reached, unless there is one; within a loop, end the loop there."""
    if why.is_taken is None:
        condition = condition_of(state.path)
        if state.is_in_loop and type(condition) is not bool:
            end_loop("unjoinable", condition, why.reason)
            why.is_taken = False
        else:
            why.is_taken = path_is_taken(why.reason)


def end_loop(why: str, condition: Operand, reason: Reason) -> None:
    """End the loop being recorded where a condition holds; a guard after it tests whether it did."""
    state.ended["reasons"].setdefault(why, reason)
    place = loop_ended(why)
    before = place.get()
    put(place, either(CHOICES[type(before)].truth(before) if type(before) in CHOICES else before, condition))


def _reason_of(error: BaseException) -> Reason:
    """The reason for a guard on an error."""
    site = None
    for trace in users_entries(error.__traceback__):
        site = Site(trace.tb_frame.f_code, trace.tb_lasti)
    return Reason(f"{type(error).__name__} is raised", site=site or user_site(), raises=True)


def first_result(ran: tuple[Ran, Ran]) -> Object:
    """The result where the test holds. Drops the places' values, as references to them are counted."""
    for side in ran:
        side.final.clear()
    return ran[0].result


def put_final(final: Final) -> bool:
    """Store values in their places; True if data choose between objects."""
    found = False
    for key, (place, value) in final.items():
        put(place, value)
        if holds_several(value):
            found, state.unsettled[key] = True, place
    return found


def _run(run: Side) -> Object:
    return None if run is None else run()


def alone(run: Side, test: Operand, holds: bool) -> Object:
    """Run a side that guards have selected."""
    state.guarded.update(facts_of(test, holds))
    before, state.path = state.path, []
    try:
        return _run(run)
    finally:
        state.path = before


def joined_states(test: Operand, yes: Final, no: Final) -> Final:
    """The values of places after a branch; the side that does not change a place contributes its present value."""
    if state.withdrawn:
        withdraw_on_all(yes, no)
    joined: Final = {}
    taken: dict[int, Object] = {}
    for key in {**yes, **no}:
        place = (yes.get(key) or no[key])[0]
        if isinstance(place, (Cell, Entry)) and id(place.holder) not in taken:
            pair = joined_unshared(test, place, yes, no, taken)
            if pair is not None:
                joined[key] = place, join(test, *pair)
    for key in {**yes, **no}:
        place = (yes.get(key) or no[key])[0]
        if key not in joined and id(place.holder) not in taken:
            old = place.get() if key not in yes or key not in no else None
            joined[key] = place, joined_value(test, place, *(side[key][1] if key in side else old for side in (yes, no)))
    return joined


def joined_value(test: Operand, place: Place, yes: Object, no: Object) -> Object:
    """A place's value after a branch."""
    if yes is no:
        return yes
    if (made := place.joined(test, yes, no)) is not NotImplemented:
        return made
    if isinstance(place, Contents):
        if isinstance(yes, (list, deque)) and (made := joined_by_columns(test, yes, no)) is not None:
            return made if isinstance(yes, list) else deque(made, yes.maxlen)
        return join_contents(test, yes, no)
    if isinstance(place, Version):
        return join_versions(test, place.get(), yes, no) if yes._id != no._id else yes
    if isinstance(place, Plain):
        if yes.tobytes() != no.tobytes():
            raise unwritable("a plain array is written to on one side of a branch")
        return yes
    return join(test, yes, no)


# Pending errors


class Pending(NamedTuple):
    """A data-dependent error: its condition, and the places' values when it is raised."""

    condition: Object
    error: BaseException
    final: Final


class Attempt:
    """The running body of a `try` or `with`. It continues after data-dependent errors, which are pending until its end.

    Attributes:
        journal: changes that the body made.
        pending: the errors; at most one condition holds.
        body: the frame that runs it.
        by_guards: guards decide errors, since something cannot be undone.
        keeps_values: code may read what the body has changed after an error; nothing does if the error leaves the recording.
    """

    def __init__(self, *, by_guards: bool = False, keeps_values: bool = True) -> None:
        self.journal = Journal()
        self.pending: list[Pending] = []
        self.by_guards, self.keeps_values = by_guards, keeps_values
        self.depth, self.start, self.facts = len(state.journals), len(state.path), state.facts
        self.recorder = current_recorder()
        self.body: FrameType | None = None
        self._behind: Object = None

    def add(self, error: BaseException, final: Final) -> None:
        """Add an error raised on this path."""
        values = self._values(final) if self.keeps_values else {}
        condition = condition_of(state.path[self.start :])
        self.pending.append(Pending(condition, without_variables(error, self.body), values))

    def _values(self, final: Final) -> Final:
        """The values of all places that the body has changed."""
        found: Final = {}
        for journal in state.journals[self.depth :]:
            # Two paths reach these objects from here on.
            journal.made.clear()
            for key, (place, _) in journal.items():
                if key not in final and key not in found:
                    found[key] = place, place.get()
        return {**found, **final}

    def leave_out(self, since: int) -> None:
        """Continue on the path where none of the errors since a mark is raised."""
        if len(self.pending) > since:
            # Restored by the attempt's caller.
            np.errstate(all="ignore").__enter__()
        for raised in self.pending[since:]:
            test = negated(raised.condition)
            if state.path and state.path[-1] is self._behind:
                test = both(state.path.pop()[0], test)
            self._behind = test, True
            state.path.append(self._behind)


def attempt_around(test: Operand) -> Attempt | None:
    """The innermost `try`, if errors can be pending there."""
    if not state.attempts:
        return None
    attempt = state.attempts[-1]
    return None if attempt.by_guards or test._recorder is not attempt.recorder else attempt


def keeps_values() -> bool:
    """True if code of an enclosing `try` or `with` may run after an error."""
    return bool(state.attempts) and state.attempts[-1].keeps_values


@contextmanager
def guarded() -> Generator[None]:
    """Guard data-dependent errors: for frames that cannot continue after one, such as those of generators."""
    state.attempts.append(Attempt(by_guards=True, keeps_values=keeps_values()))
    try:
        yield
    finally:
        state.attempts.pop()


# Guards


def path_is_taken(reason: Reason) -> bool:
    """Whether this path is taken, by a guard."""
    condition = condition_of(state.path)
    return condition if type(condition) is bool else observed(condition, reason)


def condition_of(path: Iterable[tuple[Operand, bool]]) -> Object:
    """A tracked bool that holds where every test of a path has its outcome on it; True for a path without tests."""
    return all_of(test if holds else negated(test) for test, holds in path)


def observed(test: Operand, reason: Reason) -> bool:
    """The outcome of a tracked bool, by a guard; known from here on."""
    if state.is_in_loop:
        raise Unjoinable(*reason[:3], raises=reason.raises)
    recorder = test._recorder
    holds = by_guards(recorder, lambda: recorder.observe(test, "bool"), reason)
    state.guarded.update(facts_of(test, holds))
    return holds


def by_guards(recorder: Object, ask: Callable[[], T], reason: Reason) -> T:
    """Ask for a value; guards that this adds get the reason."""
    check_guards(recorder)
    asked, recorder.asked = recorder.asked, lambda: state.report.note_guard(recorder, reason, recorder.site_of(sys._getframe(1)))
    try:
        return ask()
    finally:
        recorder.asked = asked


def in_side() -> None:
    """Refuse a guard on a side: untranslated code needs a value there."""
    recorder = current_recorder()
    site = recorder.site_of(sys._getframe(1))
    why = None if site is None else untranslated(site.code)
    what, instead = ("Python needs a data-dependent value here", _PLAIN) if site is None or why is None else (
        f"{site.code.co_name}() is not translated: {why}", _SOURCE)  # fmt: skip
    check_guards(recorder)
    state.report.note_guard(recorder, refuse(what, instead, site), site)


def is_apart() -> bool:
    """True on a side or in an attempt."""
    return bool(state.path or state.attempts)


_PLAIN = "compute with the number itself; a generator with branches can be a loop that fills a list"
_SOURCE = "write it as plain Python in a file; or compute both sides with np.where"


def decided(test: Operand, reason: Reason) -> bool:
    """Whether this path is taken and a test holds, by a guard. If not, continue as if the test failed."""
    condition = both(condition_of(state.path), test)
    holds = condition if type(condition) is bool else observed(condition, reason)
    state.facts = {**state.facts, **facts_of(test, holds)}
    return holds


def refuse(what: str, instead: str = "", site: Site | None = None) -> Reason:
    """End the current side, as an effect cannot be undone."""
    reason = decide(what, instead, site)
    for attempt in state.attempts:
        # The body cannot run again.
        attempt.by_guards = True
    return reason


def refuse_store(what: str) -> None:
    """Refuse a change of an object that cannot be restored, on a side; outside, no journal is needed."""
    if state.journals:
        refuse(what, "set it before or after the branch, or use Python's containers")


def decide(what: str, instead: str = "", site: Site | None = None) -> Reason:
    """End the current side, as a guard is needed. Outside of sides, the reason for that guard."""
    if state.path or state.is_in_loop:
        raise Unjoinable(what, instead, site)
    return Reason(what, instead, site or user_site())


def exclude(test: Object, error: Callable[[], BaseException]) -> None:
    """Raise an error where a test holds, on a side that raises or cannot be run."""

    def raise_() -> None:
        raise error()

    fork(test, raise_, None)


# Results of a branch


def _value(test: Operand, first: Ran, second: Ran) -> Object:
    """Select a value; by a guard if the two cannot be joined."""
    try:
        result = joined_results(test, (first.result, second.result), first.final, second.final)
    except Unjoinable as why:
        return (first if decided(test, why.reason) else second).result
    if holds_several(result):
        state.report.note_choice()
    return result


def fork_value(test: Object, yes: Side, no: Side, *, joined: Callable[[Operand, Ran, Ran], Object] = _value) -> Object:
    """Select between the results of two sides."""
    ran = fork(test, yes, no)
    if isinstance(ran, Taken):
        return ran.result
    try:
        return joined(test, *ran)
    finally:
        first_result(ran)


def select(test: Operand, yes: Object, no: Object) -> Object:
    """Select a value; by a guard if the two cannot be joined."""
    if type(test) is bool:
        return yes if test else no
    if state.is_alone:
        return yes if observed(test, _ALONE) else no
    try:
        return join(test, yes, no)
    except Unjoinable as why:
        return yes if decided(test, why.reason) else no


def first_of(hits: list[tuple[Object, Object]]) -> Object:
    """The value of the first hit; there is at least one."""
    alive: list[tuple[Object, Object]] = []
    for hit, value in hits:
        fact = hit if type(hit) is bool else known(hit)
        if fact is not False:
            alive.append((hit, value))
        if fact:
            break
    if not state.is_alone and len(alive) > 1 and (found := joined_by_index(alive)) is not None:
        return found
    *others, (_, found) = alive or hits[-1:]
    for hit, value in reversed(others):
        found = select(hit, value, found)
    return found


def fork_block(test: Operand, yes: Side, no: Side) -> Completion:
    """Fork two blocks; the joined completion."""
    return fork_value(test, yes, no, joined=_conditional)


def _conditional(test: Operand, first: Ran, second: Ran) -> Completion:
    """Select a completion."""
    yes, no = first.result, second.result
    if yes is no:
        return yes
    if type(yes) is Return and type(no) is Return:
        try:
            return Return(joined_results(test, (yes.value, no.value), first.final, second.final))
        except Unjoinable:
            pass
    return Conditional(test, yes, no)


def where_ends(completion: Completion, is_wanted: Callable[[Object], bool]) -> Object:
    """The condition that a completion is of some kind: a bool, tracked or not."""
    return folded(completion, is_wanted, lambda part, yes, no: join_conditions(part.test, yes, no))
