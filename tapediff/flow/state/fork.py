"""A branch on data: both sides are run from the same state, and the states that they leave are joined.

Where a side cannot be run beside the other one (`Unjoinable`), a guard tells whether the path to it is taken: if it is, the side is run
alone once nothing around it is tried any more; if not, it is left out. A side that raises an error is left out, too: the error is pending
where an `Attempt` is around, else a guard tells whether it is raised.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple, NoReturn, TypeVar

import numpy as np

from ...base.current_recording import current_recorder
from ...base.source_location import Site, is_library_file, user_site
from ...errors import TapediffError
from ...ir.instruction import Operand
from ...recording.python_state.caught_errors import failure_caught
from ..anything import Object
from ..report import Reason
from ..translate import is_raised_by_translated, untranslated
from .completions import Completion, Conditional, Return, folded
from .dead_places import drop_dead, forget_frames, without_variables
from .joins import join, join_conditions, join_contents, join_versions
from .numbers.bounds import outcome
from .places import (
    Cell,
    Contents,
    Entry,
    Final,
    Journal,
    Member,
    Place,
    Plain,
    Version,
    changes,
    hand_on_made,
    loop_ended,
    note_variables,
    put,
    undo,
    unwritable,
)
from .recursions import check_instructions, check_recursion
from .unshared import joined_results, joined_unshared
from .values import CHOICES, UNBOUND, Unjoinable, both, either, facts_of, holds_several, known, negated, state

Side = Callable[[], Object] | None
T = TypeVar("T")



# Behind so many sides, 5 s of recording, tests are guards: branches within branches can be ever more.
MOST_SIDES = 20_000
# Behind so many the garbage collector runs; not in loops, which ask it for what an iteration has made.
SIDES_OF_GARBAGE = 1000
_FEWER_SIDES = "record the repeated part once: td.subtape, td.scan, or a loop of more iterations"


class Ran(NamedTuple):
    """The result of a side, the values that it left in places, and the error that ended it."""

    result: Object
    final: Final
    error: BaseException | None


class Option(NamedTuple):
    """A side that was run, where a test has this outcome."""

    test: Operand
    holds: bool
    ran: Ran


class Taken(NamedTuple):
    """One side alone was run; `holds` says which."""

    holds: bool
    result: Object


def speculate(run: Side, facts: dict[tuple[int, int], bool]) -> Ran:
    """Run a side, and put everything back as it was."""
    if run is None:
        return Ran(None, {}, None)
    journal = Journal()
    state.sides += 1
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


@np.errstate(all="ignore")
def _without_warnings(run: Callable[[], Object]) -> Object:
    return run()


def refuse_of_values(error: BaseException) -> None:
    """Refuse an error that may be caught, and that an operation has raised because of its values: no test tells when it does."""
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
    """True for errors that plain Python raises, too; those that end a program from outside, such as by a signal, are none."""
    if isinstance(error, KeyboardInterrupt):
        return error is state.interrupt
    if isinstance(error, TapediffError) or isinstance(error.__cause__, TapediffError):
        return False
    return isinstance(error, Exception) or is_raised_by_translated(error)


def fork(test: Operand, yes: Side, no: Side) -> tuple[Ran, Ran] | Taken:
    """Both sides of a test, joined; or one of them.

    A side that ends by an error is left out behind the branch: the error is pending where a `try` is around (`Attempt`), else it is
    excluded by a guard.
    """
    fact = known(test)
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
    """Run all sides that the program may take, each from the same state, and join the states; or the only one of them.

    Args:
        sides: each with a test and its outcome there; exactly one of them is taken.
    """
    recorder = current_recorder()
    # Tests may be of the recording around a loop.
    sides = [(test if test._recorder is recorder else recorder.capture(test), holds, run) for test, holds, run in sides]
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
        if state.sides > MOST_SIDES and not found:
            reason = decide(f"more than {MOST_SIDES:,} sides of branches were run before", _FEWER_SIDES)
            if is_last or observed(test, reason) is holds:
                return Taken(holds, alone(run, test, holds))
            continue
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
    keep(ran)
    return Taken(holds, ran.result)


@contextmanager
def left_beside(*sides: Ran) -> Generator[None]:
    """While other sides are run: what these left is kept for the join."""
    before = len(state.left)
    state.left += [side.final for side in sides]
    try:
        yield
    finally:
        del state.left[before:]


# Stands for a side that cannot be run beside the other one, and that the program takes.
ALONE = Ran(None, {}, None)


def side_of(run: Side, test: Operand, holds: bool, attempt: Attempt | None) -> Ran | None:
    """Run a side. None where it is left out behind the branch, as the program does not take it or it raises an error."""
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
    """A guard on whether the program comes to what cannot be joined, if there is none yet; within a loop, the loop ends there."""
    if why.is_taken is None:
        condition = condition_of(state.path)
        if state.is_in_loop and type(condition) is not bool:
            end_loop("unjoinable", condition, why.reason)
            why.is_taken = False
        else:
            why.is_taken = path_is_taken(why.reason)


def end_loop(why: str, condition: Operand, reason: Reason) -> None:
    """End the loop that is being recorded where a condition holds; a guard behind it tells of it."""
    state.ended["reasons"].setdefault(why, reason)
    place = loop_ended(why)
    before = place.get()
    put(place, either(CHOICES[type(before)].truth(before) if type(before) in CHOICES else before, condition))


def _reason_of(error: BaseException) -> Reason:
    """The reason of a guard on whether an error is raised."""
    trace, site = error.__traceback__, None
    while trace is not None:
        if not is_library_file(trace.tb_frame.f_code.co_filename):
            site = Site(trace.tb_frame.f_code, trace.tb_lasti)
        trace = trace.tb_next
    return Reason(f"{type(error).__name__} is raised", site=site or user_site(), raises=True)


def first_result(ran: tuple[Ran, Ran]) -> Object:
    """The result of the side where the test holds. Forgets the values of places: references to them are counted."""
    for side in ran:
        side.final.clear()
    return ran[0].result


def keep(side: Ran) -> None:
    """Put the values of a side into their places, as it is the only one."""
    put_final(side.final)
    # Whoever has the result keeps no values of places.
    side.final.clear()


def put_final(final: Final) -> bool:
    """Put values into their places; whether data choose between objects."""
    found = False
    for key, (place, value) in final.items():
        put(place, value)
        if holds_several(value):
            found, state.unsettled[key] = True, place
    return found


def _run(run: Side) -> Object:
    return None if run is None else run()


def alone(run: Side, test: Operand, holds: bool) -> Object:
    """Run a side that guards have shown to be taken."""
    state.guarded.update(facts_of(test, holds))
    before, state.path = state.path, []
    try:
        return _run(run)
    finally:
        state.path = before


def joined_states(test: Operand, yes: Final, no: Final) -> Final:
    """The values of places after a branch; what one side leaves alone is as it is now."""
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
    """The value of a place after a branch."""
    if yes is no:
        return yes
    if isinstance(place, Contents):
        return join_contents(test, yes, no)
    if isinstance(place, Version):
        return join_versions(test, place.get(), yes, no) if yes._id != no._id else yes
    if isinstance(place, Plain):
        if yes.tobytes() != no.tobytes():
            raise unwritable("a plain array is written to on one side of a branch")
        return yes
    if isinstance(place, Member):
        # Without one of its own, an object has the attribute of its class.
        yes, no = (place.inherited() if value is UNBOUND else value for value in (yes, no))
    return join(test, yes, no)


# Errors that are pending


class Pending(NamedTuple):
    """An error that a test on data decides: the program raises it where the condition holds, and leaves these values in places."""

    condition: Object
    error: BaseException
    final: Final


class Attempt:
    """The body of a `try` or a `with` that is being run. It goes on behind an error that data decide, which is pending until its end.

    Attributes:
        journal: the places that the body has changed, with their values before.
        pending: the errors; at most one of their conditions holds.
        body: the call that runs it.
        by_guards: guards decide errors instead, as something was done that cannot be undone.
    """

    def __init__(self, *, by_guards: bool = False) -> None:
        self.journal = Journal()
        self.pending: list[Pending] = []
        self.by_guards = by_guards
        self.depth, self.start, self.facts = len(state.journals), len(state.path), state.facts
        self.recorder = current_recorder()
        self.body: FrameType | None = None
        self._behind: Object = None

    def add(self, error: BaseException, final: Final) -> None:
        """Note an error that is raised on this path."""
        found: Final = {}
        for journal in state.journals[self.depth :]:
            # Two paths come to them from here on.
            journal.made.clear()
            for key, (place, _) in journal.items():
                if key not in final and key not in found:
                    found[key] = place, place.get()
        condition = condition_of(state.path[self.start :])
        self.pending.append(Pending(condition, without_variables(error, self.body), {**found, **final}))

    def leave_out(self, since: int) -> None:
        """Note that the path goes on where none of the errors since is raised."""
        if len(self.pending) > since:
            # Restored by whoever runs the attempt.
            np.errstate(all="ignore").__enter__()
        for raised in self.pending[since:]:
            test = negated(raised.condition)
            if state.path and state.path[-1] is self._behind:
                test = both(state.path.pop()[0], test)
            self._behind = test, True
            state.path.append(self._behind)


def attempt_around(test: Operand) -> Attempt | None:
    """The innermost `try` around, if errors can be pending there."""
    if not state.attempts:
        return None
    attempt = state.attempts[-1]
    return None if attempt.by_guards or test._recorder is not attempt.recorder else attempt


@contextmanager
def guarded() -> Generator[None]:
    """Errors that data decide are guards in here: for frames that do not go on behind an error, such as those of generators."""
    state.attempts.append(Attempt(by_guards=True))
    try:
        yield
    finally:
        state.attempts.pop()


# Guards


def path_is_taken(reason: Reason) -> bool:
    """A guard on whether the program comes here; its outcome."""
    condition = condition_of(state.path)
    return condition if type(condition) is bool else observed(condition, reason)


def condition_of(path: list[tuple[Operand, bool]]) -> Object:
    """When the program comes along a path: True, or a tracked bool."""
    condition: Object = True
    for test, holds in path:
        condition = both(condition, test if holds else negated(test))
    return condition


def observed(test: Operand, reason: Reason) -> bool:
    """A guard on a tracked bool; its outcome, which is known everywhere behind it."""
    if state.is_in_loop:
        raise Unjoinable(*reason[:3], raises=reason.raises)
    recorder = test._recorder
    holds = by_guards(recorder, lambda: recorder.observe(test, "bool"), reason)
    state.guarded.update(facts_of(test, holds))
    return holds


def by_guards(recorder: Object, ask: Callable[[], T], reason: Reason) -> T:
    """What Python needs of a value; the guards that it takes have this reason."""
    asked, recorder.asked = recorder.asked, lambda: state.report.note_guard(recorder, reason, recorder.site_of(sys._getframe(1)))
    try:
        return ask()
    finally:
        recorder.asked = asked


def in_side() -> None:
    """Refuse a guard on a side of a branch: code that is not translated asks for a value there."""
    recorder = current_recorder()
    site = recorder.site_of(sys._getframe(1))
    why = None if site is None else untranslated(site.code)
    what, instead = ("Python needs a value here that data decide", _PLAIN) if site is None or why is None else (
        f"{site.code.co_name}() is not translated: {why}", _SOURCE)  # fmt: skip
    state.report.note_guard(recorder, refuse(what, instead, site), site)


def is_apart() -> bool:
    """True where the program may not come, and where it may catch an error."""
    return bool(state.path or state.attempts)


_PLAIN = "compute with the number itself; a generator with branches can be a loop that fills a list"
_SOURCE = "write it as plain Python in a file; or compute both sides with np.where"


def decided(test: Operand, reason: Reason) -> bool:
    """A guard on whether the program comes here and a test holds. If not, the program goes on as if it did not hold."""
    condition = both(condition_of(state.path), test)
    holds = condition if type(condition) is bool else observed(condition, reason)
    state.facts = {**state.facts, **facts_of(test, holds)}
    return holds


def refuse(what: str, instead: str = "", site: Site | None = None) -> Reason:
    """End the side that is being run, as this cannot be undone."""
    reason = decide(what, instead, site)
    for attempt in state.attempts:
        # It cannot be run again.
        attempt.by_guards = True
    return reason


def decide(what: str, instead: str = "", site: Site | None = None) -> Reason:
    """End the side that is being run, as guards have to decide something. Outside of sides, the reason for these guards."""
    if state.path or state.is_in_loop:
        raise Unjoinable(what, instead, site)
    return Reason(what, instead, site or user_site())


def exclude(test: Object, error: Callable[[], BaseException]) -> None:
    """Raise an error where a test holds: a branch with one side that raises, or cannot be run."""

    def raise_() -> None:
        raise error()

    if test is True:
        raise_()
    elif test is not False:
        fork(test, raise_, None)


# Results of a branch


def fork_value(test: Operand, yes: Callable[[], Object], no: Callable[[], Object]) -> Object:
    """The value of the side that a test chooses."""
    ran = fork(test, yes, no)
    if isinstance(ran, Taken):
        return ran.result
    first, second = ran
    try:
        result = joined_results(test, (first.result, second.result), first.final, second.final)
        if holds_several(result):
            state.report.note_choice()
        return result
    except Unjoinable as why:
        return (first if decided(test, why.reason) else second).result
    finally:
        first_result(ran)


def select(test: Operand, yes: Object, no: Object) -> Object:
    """The value that a test chooses; by a guard where the two cannot be joined."""
    if type(test) is bool:
        return yes if test else no
    try:
        return join(test, yes, no)
    except Unjoinable as why:
        return yes if decided(test, why.reason) else no


def first_of(hits: list[tuple[Object, Object]]) -> Object:
    """The value of the first hit; one of them is."""
    alive: list[tuple[Object, Object]] = []
    for hit, value in hits:
        fact = hit if type(hit) is bool else known(hit)
        if fact is not False:
            alive.append((hit, value))
        if fact:
            break
    *others, (_, found) = alive or hits[-1:]
    for hit, value in reversed(others):
        found = select(hit, value, found)
    return found


def fork_block(test: Operand, yes: Side, no: Side) -> Completion:
    """The completion of a branch whose sides are blocks."""
    ran = fork(test, yes, no)
    if isinstance(ran, Taken):
        return ran.result
    first, second = ran
    completion = conditional(test, first.result, second.result, (first.final, second.final))
    first_result(ran)
    return completion


def conditional(test: Operand, yes: Completion, no: Completion, sides: tuple[Final, Final] = ({}, {})) -> Completion:
    """The completion that a test chooses."""
    if yes is no:
        return yes
    if type(yes) is Return and type(no) is Return:
        try:
            return Return(joined_results(test, (yes.value, no.value), *sides))
        except Unjoinable:
            pass
    return Conditional(test, yes, no)


def where_ends(completion: Completion, is_wanted: Callable[[Object], bool]) -> Object:
    """When a completion is one of some kind: a bool, tracked or not."""
    return folded(completion, is_wanted, lambda part, yes, no: join_conditions(part.test, yes, no))
