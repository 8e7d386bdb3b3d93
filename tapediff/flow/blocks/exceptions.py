"""Exceptions: `try` and `with`. A body continues after data-dependent errors; each group of errors is handled on a side at its end."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple, NoReturn

import numpy as np

from ...errors import RefusedByRecording
from ...recording.python_state.exception_handlers import PASSING
from ..anything import Object
from ..calls.callables import call
from ..calls.truth import concrete, truth
from ..containers.choices import each
from ..state.completions import Completion
from ..state.dead_places import drop_dead, without_variables
from ..state.fork import (
    Attempt,
    Pending,
    decided,
    fork_block,
    guarded,
    joined_states,
    note_whether_taken,
    refuse,
    refuse_errors_of_numpy,
    refuse_of_values,
)
from ..state.joins import join
from ..state.places import ENDS, Final, WithCells, hand_on, loop_ended, note_variables, put, undo
from ..state.values import CHOICES, Choice, Maybe, Restart, Unjoinable, any_of, both, either, lifted, parts, state
from ..translate import unbound_local
from ..users_code import users_method
from .blocks import Block, for_each_option, if_, sequence

OnError = Callable[[BaseException], Completion]
Handlers = tuple[tuple[Callable[[], Object] | None, OnError | None], ...]


def try_(body: Block, handlers: Handlers, otherwise: Block, last: Block) -> Completion:
    """try: body() except: handlers else: otherwise() finally: last()"""
    blocks = [body, otherwise, *(handler for _, handler in handlers)]
    if last is not None:
        inner = WithCells(lambda: try_(body, handlers, otherwise, None), *blocks)
        on_error: OnError = lambda error: _after_finally(last(), _raising(error))  # noqa: E731 -- its name is its use
        return attempted(inner, on_error, lambda end: _after_finally(last(), lambda: end), last)
    if body is None or not handlers:
        return _with_else(None if body is None else body(), otherwise)
    if state.raised_by_numpy is not None and any(kinds is None or _may_match(kinds, state.raised_by_numpy()) for kinds, _ in handlers):
        refuse_errors_of_numpy()
    return attempted(body, lambda error: _handled(error, handlers), lambda end: _with_else(end, otherwise), *blocks[1:])


def _with_else(completion: Completion, otherwise: Block) -> Completion:
    return completion if otherwise is None else sequence(lambda: completion, otherwise)


def _after_finally(ended: Completion, before: Callable[[], Completion]) -> Completion:
    """A `finally` that jumps overrides the completion before it."""
    return before() if ended is None else sequence(lambda: ended, before)


def _raising(error: BaseException) -> Callable[[], NoReturn]:
    def raise_() -> NoReturn:
        raise error

    return raise_


def _handled(error: BaseException, handlers: Handlers) -> Completion:
    if not handlers:
        raise error
    (kinds, handler), *others = handlers
    catches = kinds is None or _matches(error, kinds())
    here = lambda: None if handler is None else handler(error)  # noqa: E731 -- its name is its use
    if catches is True:
        return here()
    if catches is False:
        return _handled(error, tuple(others))
    return fork_block(catches, WithCells(here, handler), WithCells(lambda: _handled(error, tuple(others)), *(block for _, block in others)))


def _may_match(kinds: Callable[[], Object], error: BaseException) -> bool:
    try:
        return _matches(error, kinds()) is not False
    except Exception:  # noqa: BLE001 -- raised again where an error is handled
        return True


def _matches(error: BaseException, kinds: Object) -> Object:
    """The condition that an `except` clause catches an error; Python's TypeError for anything but exception classes."""
    found = kinds if isinstance(kinds, tuple) else (kinds,)
    if any(type(kind) in CHOICES or type(kind) is Maybe for kind in found):
        return any_of(both(there, truth(lifted(lambda one: _matches(error, one), kind))) for there, kind in parts(found))
    if all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in found):
        return isinstance(error, kinds)
    raise TypeError("catching classes that do not inherit from BaseException is not allowed")


def raised(error: Object) -> Object:
    """The error of a `raise` statement; a choice raises each error on its side."""

    def raise_(option: Object) -> Object:
        raise option

    if isinstance(error, KeyboardInterrupt) or (isinstance(error, type) and issubclass(error, KeyboardInterrupt)):
        # The program's own, not a signal's.
        error = state.interrupt = error() if isinstance(error, type) else error
    return each(error, raise_) if type(error) is Choice else error


# The body, and its end with pending errors


class _End(NamedTuple):
    """The completion of a body, and whether guards ended it.

    Attributes:
        is_taken: whether the program reaches the construct that could not be joined and ended the body; else None.
    """

    completion: Completion = None
    error: BaseException | None = None
    is_taken: bool | None = None


def attempted(
    body: Block, on_error: OnError, on_end: Callable[[Completion], Completion], *blocks: Object, keeps_values: bool = True
) -> Completion:
    """Run a body, then `on_error` where it has raised, and `on_end` elsewhere.

    Args:
        blocks: the blocks that both run.
        keeps_values: code may read what the body has changed before an error.
    """
    attempt = Attempt(keeps_values=keeps_values)
    end = _run(attempt, body)
    if end.is_taken:
        # Guards have excluded the pending errors, and decide later ones.
        undo(attempt.journal)
        attempt = Attempt(by_guards=True, keeps_values=keeps_values)
        end = _run(attempt, body)
    if attempt.pending:
        if end.error is not None:
            without_variables(end.error)
        drop_dead(attempt.journal, *(raised.final for raised in attempt.pending))
    groups = _groups(attempt.pending)
    sides = [WithCells(functools.partial(_raised, group, attempt, on_error), *blocks) for group in groups]
    rest: Callable[[], Completion]
    if groups and end.is_taken is False:
        groups.pop()
        rest = functools.partial(_or_ended, sides.pop())
    elif end.error is None:
        rest = functools.partial(on_end, end.completion)
    else:
        rest = functools.partial(_while_handled, end.error, on_error)
    for group, side in reversed(list(zip(groups, sides))):
        rest = functools.partial(fork_block, group.condition, side, WithCells(rest, *blocks))
    return rest()


def _or_ended(side: Callable[[], Completion]) -> Completion:
    """Run the side of the last error, where nothing else goes on; a completed loop elsewhere stays completed."""
    before = [(place, truth(place.get())) for place in map(loop_ended, ENDS)]
    completion = side()
    for place, has_ended in before:
        put(place, either(has_ended, truth(place.get())))
    return completion


def _run(attempt: Attempt, body: Block) -> _End:
    """Run an attempt's body."""
    state.attempts.append(attempt)
    state.journals.append(attempt.journal)
    attempt.body = sys._getframe()
    try:
        note_variables(body)
        return _End(None if body is None else _with_own_warnings(body))
    except Unjoinable as why:
        if not attempt.pending:
            raise
        note_whether_taken(why)
        if why.is_taken and attempt.start:
            raise
        return _End(is_taken=why.is_taken)
    except (Restart, RefusedByRecording):
        raise
    except BaseException as error:  # noqa: BLE001 -- handled, or raised again, by the caller
        refuse_of_values(error)
        return _End(error=unbound_local(error) if type(error) is NameError else error)
    finally:
        attempt.body = None
        state.attempts.pop()
        state.journals.pop()
        del state.path[attempt.start :]
        state.facts = attempt.facts
        hand_on(attempt.journal)


@np.errstate()
def _with_own_warnings(body: Callable[[], Completion]) -> Completion:
    """Restore NumPy's error state at the end; values after pending errors may be meaningless."""
    return body()


def _while_handled(error: BaseException, on_error: OnError) -> Completion:
    """Handle an error as the current exception, which a bare `raise` raises again."""
    context = error.__context__
    try:
        raise error
    except BaseException:  # noqa: BLE001 -- raised again by the handler, if at all
        error.__context__ = context  # not that of an enclosing handler
        return on_error(error)


def _raised(group: _Group, attempt: Attempt, on_error: OnError) -> Completion:
    """Handle an error in the state that raised it."""
    for place, value in _state_of(group.members, attempt).values():
        put(place, value)
    return _while_handled(group.error, on_error)


def _state_of(members: list[Pending], attempt: Attempt) -> Final:
    """The values of all places that the body has changed, where one of these errors is raised."""
    places = {key: place for raised in members for key, (place, _) in raised.final.items()}
    start = {key: (place, place.get()) for key, place in places.items()}
    start.update(attempt.journal)
    *others, last = members
    found = {**start, **last.final}
    for raised in reversed(others):
        own = {**start, **raised.final}
        try:
            found = joined_states(raised.condition, own, found)
        except Unjoinable as why:
            found = own if decided(raised.condition, why.reason) else found
    return found


# Groups of errors with one handler


class _Group(NamedTuple):
    """Interchangeable errors, represented by the first."""

    condition: Object
    error: BaseException
    members: list[Pending]


def _groups(pending: list[Pending]) -> list[_Group]:
    found: list[_Group] = []
    for raised in pending:
        for number, group in enumerate(found):
            error = _one_of(raised, group.error)
            if error is not None:
                found[number] = _Group(either(raised.condition, group.condition), error, [*group.members, raised])
                break
        else:
            found.append(_Group(raised.condition, raised.error, [raised]))
    return found


def _one_of(raised: Pending, other: BaseException) -> BaseException | None:
    """One error for two of the same simple class, with joined arguments."""
    error = raised.error
    if error is other:
        return error
    is_alike = type(error) is type(other) and type(error.__context__) is type(other.__context__) and len(error.args) == len(other.args)
    if not is_alike or not _is_simple(error) or not _is_simple(other):
        return None
    try:
        args = tuple(join(raised.condition, a, b) for a, b in zip(error.args, other.args))
    except Unjoinable:
        return None
    if all(a is b for a, b in zip(args, other.args)):
        return other
    return with_arguments(error, args)


def with_arguments(error: BaseException, args: Iterable[Object]) -> BaseException:
    """A copy of an error with other arguments."""
    made = type(error)(*args)
    made.__context__, made.__suppress_context__ = error.__context__, error.__suppress_context__
    return made.with_traceback(error.__traceback__)


def _is_simple(error: BaseException) -> bool:
    """True for errors whose only state is a few arguments."""
    kinds = [kind for kind in type(error).__mro__ if kind.__module__ != "builtins"]
    if any("__init__" in vars(kind) or "__new__" in vars(kind) or "__slots__" in vars(kind) for kind in kinds):
        return False
    is_special = isinstance(error, (OSError, SyntaxError, UnicodeError, ImportError, StopIteration, SystemExit, NameError, AttributeError))
    return not is_special and not getattr(error, "__dict__", None) and error.__cause__ is None


# with

# Python's stateless context managers, which both sides may exit.
_STATELESS = (contextlib.suppress, contextlib.nullcontext)


def with_(manager: Object, body: Callable[[Object], Completion]) -> Completion:
    """with manager as item: body(item)"""
    kind = type(manager)
    if kind in CHOICES:
        return for_each_option(manager, lambda option: with_(option, body), body)
    enter_, exit_ = _special(manager, "__enter__"), _special(manager, "__exit__")
    if users_method(kind, "__exit__") is None and kind not in _STATELESS:
        return _entered_once(manager, body)
    if state.raised_by_numpy is not None and kind is not contextlib.nullcontext:
        refuse_errors_of_numpy()
    item = call(enter_, manager)

    def on_error(error: BaseException) -> Completion:
        return if_(call(exit_, manager, type(error), error, error.__traceback__), None, _raising(error))

    def on_end(completion: Completion) -> Completion:
        call(exit_, manager, None, None, None)
        return completion

    return attempted(WithCells(lambda: body(item), body), on_error, on_end)


def _entered_once(manager: Object, body: Callable[[Object], Completion]) -> Completion:
    """A `with` of a library's manager: refused on a side, unless the manager only lets errors pass."""
    is_passed = type(manager) in PASSING
    if not is_passed:
        refuse(
            f"the `with` of a {type(manager).__name__} may change something outside, which cannot be undone where the branch is not taken",
            "put the branch into the `with`, not the `with` into the branch",
        )
    with contextlib.nullcontext() if is_passed else guarded(), Entered(manager) as item:
        return body(item)
    return None


class Entered:
    """A context manager for Python's `with`, with translated methods."""

    def __init__(self, manager: Object) -> None:
        self._manager = manager
        self._enter, self._exit = _special(manager, "__enter__"), _special(manager, "__exit__")

    def __enter__(self) -> Object:
        return call(self._enter, self._manager)

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> bool:
        if kind is None or issubclass(kind, ENDING):
            call(self._exit, self._manager, None, None, None)
            return False
        return concrete(call(self._exit, self._manager, kind, error, trace))


def _special(manager: Object, name: str) -> Object:
    found = users_method(type(manager), name) or getattr(type(manager), name, None)
    if found is None:
        with manager:  # Python says what is missing
            pass
    return found


# Generators run by Python

# Exceptions that end a side or a recording; invisible to the program.
ENDING = (Unjoinable, Restart)


def begun() -> Object:
    """The recording and the side where a generator starts."""
    of_attempts = {id(attempt.journal) for attempt in state.attempts}
    return state.recorder, next((journal for journal in reversed(state.journals) if id(journal) not in of_attempts), None)


def runs_finally(begun: Object) -> bool:
    """False if the generator dies with the side or recording that created it."""
    error, (recorder, side) = sys.exception(), begun
    if type(error) is GeneratorExit:
        return recorder is state.recorder and (side is None or any(side is journal for journal in state.journals))
    return not isinstance(error, ENDING)
