"""Statements that have blocks: their blocks are functions, which return how they end (completions.py)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from types import CellType, GeneratorType
from typing import Any

from .callables import call
from .completions import BREAK, CONTINUE, Completion, Conditional, Jump, Raised, Return, ends, replaced
from .containers import iterated
from .fork import Taken, WithCells, conditional, exclude, fork, fork_block, where_ends
from .joins import join
from .places import Cell, Entry, note
from .tests_of_values import concrete
from .truth import truth
from .users_code import users_method
from .values import CHOICES, Unjoinable, both, state

Block = Callable[[], Completion] | None
Driver = Generator[Any, Any, Completion]


def enter(cells: Callable[[], Any], names: tuple[str, ...]) -> None:
    """Note the variables of outer functions, and the global ones, that a function may assign to."""
    if state.journals:
        for cell in cells.__closure__ or ():  # pyright: ignore[reportFunctionMemberAccess]
            note(Cell(cell))
        for name in names:
            note(Entry(cells.__globals__, name))  # pyright: ignore[reportFunctionMemberAccess]


def is_normal(end: Any) -> bool:
    return end is None


def returned(completion: Completion) -> Any:
    """What a function returns."""
    if completion is None:
        return None
    if type(completion) is Return:
        return completion.value
    for end in ends(completion):
        if type(end) is Raised:
            error = end.error
            exclude(where_ends(completion, lambda e: e is end), lambda: error)
    return _value_of(completion)


def done(completion: Completion) -> None:
    """A statement that ends early only by errors, where data say so."""
    if completion is not None:
        returned(completion)


def _value_of(completion: Completion) -> Any:
    if type(completion) is not Conditional:
        return completion.value if type(completion) is Return else _NO_VALUE if type(completion) is Raised else None
    yes, no = _value_of(completion.yes), _value_of(completion.no)
    if yes is _NO_VALUE or no is _NO_VALUE:
        return no if yes is _NO_VALUE else yes
    return join(completion.test, yes, no)


_NO_VALUE = object()


def sequence(*blocks: Callable[[], Completion]) -> Completion:
    """One block after the other, each where those before end normally."""
    alive: Any = True
    found: list[Completion] = []
    for block in blocks:
        if alive is True:
            completion = block()
        else:
            ran = fork(alive, block, None)
            if isinstance(ran, Taken):
                if not ran.holds:
                    break
                # Guards have ruled out the ends before.
                alive, found = True, []
                completion = ran.result
            else:
                completion = Raised(ran[0].error) if ran[0].error is not None else ran[0].result
        if completion is None:
            continue
        if type(completion) is not Conditional:
            found.append(completion)
            break
        found.append(completion)
        normal = where_ends(completion, is_normal)
        if normal is False:
            break
        alive = both(alive, normal)
    return _first_end(found)


def _first_end(found: list[Completion]) -> Completion:
    """The completion of blocks of which each runs where those before end normally."""
    result: Completion = None
    for completion in reversed(found):
        rest = result
        result = replaced(completion, lambda end: rest if end is None else end)
    return result


def if_(test: Any, yes: Block, no: Block) -> Completion:
    """if test: yes() else: no()"""
    t = test if type(test) is bool else truth(test)
    if t is True:
        return None if yes is None else yes()
    if t is False:
        return None if no is None else no()
    return fork_block(t, yes, no)


def assert_(test: Any, message: Callable[[], Any] | None = None) -> None:
    """assert test, message"""
    t = truth(test)
    if t is True:
        return
    from .values import negated

    exclude(negated(t), lambda: AssertionError() if message is None else AssertionError(message()))


# Loops


def without_continue(end: Any) -> Completion:
    return None if end is CONTINUE else end


def after_loop(found: list[Completion]) -> Completion:
    """`break` ends a loop normally."""
    return replaced(_first_end(found), lambda end: None if end is BREAK else end)


class Ends:
    """How the iterations of a loop have ended so far."""

    __slots__ = ("alive", "found")

    def __init__(self) -> None:
        self.alive: Any = True
        self.found: list[Completion] = []

    def run(self, iteration: Callable[[], Completion]) -> bool:
        """Run an iteration where those before did not leave the loop; False if none goes on."""
        if self.alive is True:
            completion = iteration()
        else:
            ran = fork(self.alive, iteration, None)
            if isinstance(ran, Taken):
                if not ran.holds:
                    return False
                self.alive, self.found = True, []
                completion = ran.result
            else:
                completion = Raised(ran[0].error) if ran[0].error is not None else ran[0].result
        if completion is None or completion is CONTINUE:
            return True
        completion = replaced(completion, without_continue)
        if completion is None:
            return True
        self.found.append(completion)
        if type(completion) is not Conditional:
            self.alive = False
            return False
        normal = where_ends(completion, is_normal)
        if normal is False:
            self.alive = False
            return False
        self.alive = both(self.alive, normal)
        return True

    def end(self, otherwise: Block) -> Completion:
        """The end of the loop, with its `else`."""
        if otherwise is not None and self.alive is not False:
            self.run(otherwise)
        return after_loop(self.found)


def for_(items: Any, body: Callable[[Any], Completion], otherwise: Block) -> Completion:
    """for item in items: body(item)"""
    if type(items) in CHOICES:
        return _for_choice(items, body, otherwise)
    loop = Ends()
    for item in iterated(items):
        if not loop.run(_Iteration(body, item)):
            break
    else:
        return loop.end(otherwise)
    return after_loop(loop.found)


class _Iteration:
    """One iteration: the body on an item. It has the variables of the body."""

    __slots__ = ("body", "item")

    def __init__(self, body: Callable[[Any], Completion], item: Any) -> None:
        self.body, self.item = body, item

    def __call__(self) -> Completion:
        return self.body(self.item)

    @property
    def __closure__(self) -> tuple[CellType, ...] | None:
        return self.body.__closure__  # pyright: ignore[reportFunctionMemberAccess]


def _for_choice(items: Any, body: Callable[[Any], Completion], otherwise: Block) -> Completion:
    from .choices import possible

    left = possible(items)

    def at(position: int) -> Completion:
        k = left[position]
        run = lambda: for_(items.options[k], body, otherwise)  # noqa: E731 -- its name is its use
        if position == len(left) - 1:
            return run()
        return fork_block(items.conditions[k], WithCells(run, body, otherwise), WithCells(lambda: at(position + 1), body, otherwise))

    return at(0)


def while_(test: Callable[[], Any], body: Callable[[], Completion] | None, otherwise: Block) -> Completion:
    """while test(): body()"""
    loop = Ends()
    while True:
        t = truth(test()) if loop.alive is True else None
        if t is False:
            return loop.end(otherwise)
        if t is not True:
            from .loops import data_loop

            return data_loop(loop, test, t, body, otherwise)
        if body is not None and not loop.run(body):
            return after_loop(loop.found)


# Exceptions


def try_(body: Block, handlers: tuple[tuple[Callable[[], Any] | None, Callable[[BaseException], Completion]], ...], otherwise: Block, last: Block) -> Completion:
    """try: body() except: handlers else: otherwise() finally: last()"""
    if last is None:
        return _tried(body, handlers, otherwise)
    try:
        completion = _tried(body, handlers, otherwise)
    except Unjoinable:
        raise
    except BaseException:
        ended = last()
        if ended is None:
            raise
        return ended
    return _after_finally(last(), completion)


def _after_finally(ended: Completion, completion: Completion) -> Completion:
    """A `finally` that ends early decides."""
    return completion if ended is None else replaced(ended, lambda end: completion if end is None else end)


def _tried(body: Block, handlers: Any, otherwise: Block) -> Completion:
    try:
        completion = None if body is None else body()
    except Unjoinable:
        raise
    except BaseException as error:
        for kinds, handler in handlers:
            if kinds is None or _matches(error, kinds()):
                return None if handler is None else handler(error)
        raise
    if completion is None:
        return None if otherwise is None else otherwise()
    return _handled(completion, handlers, otherwise) if type(completion) is Conditional else completion


def _handled(completion: Conditional, handlers: Any, otherwise: Block) -> Completion:
    """The completion of a body that raises errors where data say so: handlers run there, `else` where it has ended normally."""
    after: dict[int, Completion] = {}
    parts = [*ends(completion)] if handlers or otherwise else []
    for end in parts:
        when = where_ends(completion, lambda e, end=end: e is end)
        if end is None:
            after[id(end)] = None if otherwise is None else _where(when, otherwise, otherwise)
        elif type(end) is Raised:
            after[id(end)] = _where(when, *_handler_of(end, handlers))
    return replaced(completion, lambda end: after.get(id(end), end))


def _handler_of(raised: Raised, handlers: Any) -> tuple[Callable[[], Completion], Any]:
    """What an error does, and whose variables that has."""
    for kinds, handler in handlers:
        if kinds is None or _matches(raised.error, kinds()):
            return (lambda: None if handler is None else _while_handled(raised.error, handler)), handler
    return (lambda: raised), None


def _while_handled(error: BaseException, handler: Callable[[BaseException], Completion]) -> Completion:
    """Run a handler as Python does: the error is the one that a bare `raise` raises again."""
    try:
        raise error
    except BaseException as raised:  # noqa: BLE001 -- raised again by the handler, if at all
        return handler(raised)


def _where(when: Any, run: Callable[[], Completion], cells: Any) -> Completion:
    """The completion of a block that runs where a test holds."""
    ran = fork(when, WithCells(run, cells), None)
    if isinstance(ran, Taken):
        return ran.result
    return Raised(ran[0].error) if ran[0].error is not None else ran[0].result


def _matches(error: BaseException, kinds: Any) -> bool:
    """True if an `except` clause catches an error; TypeError as Python's for what is no class of exceptions."""
    found = kinds if isinstance(kinds, tuple) else (kinds,)
    if all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in found):
        return isinstance(error, kinds)
    raise TypeError("catching classes that do not inherit from BaseException is not allowed")


def with_(manager: Any, body: Callable[[Any], Completion]) -> Completion:
    """with manager as item: body(item)"""
    kind = type(manager)
    enter_ = _special(manager, kind, "__enter__", "")
    exit_ = _special(manager, kind, "__exit__", " (missed __exit__ method)")
    item = call(enter_, manager)
    try:
        completion = body(item)
    except Unjoinable:
        call(exit_, manager, None, None, None)
        raise
    except BaseException as error:
        if not concrete(call(exit_, manager, type(error), error, error.__traceback__)):
            raise
        return None
    call(exit_, manager, None, None, None)
    return completion


def _special(manager: Any, kind: type, name: str, missed: str) -> Any:
    found = users_method(kind, name) or getattr(kind, name, None)
    if found is None:
        raise TypeError(f"'{kind.__name__}' object does not support the context manager protocol{missed}")
    return found


# The same of statements that yield: data tests are guards there


def _given(run: Any, *args: Any) -> Driver:
    completion = run(*args) if run is not None else None
    if type(completion) is GeneratorType:
        completion = yield from completion
    return completion


def sequence_yields(*blocks: Any) -> Driver:
    for block in blocks:
        completion = yield from _given(block)
        if completion is not None:
            return completion
    return None


def if_yields(test: Any, yes: Any, no: Any) -> Driver:
    return (yield from _given(yes if concrete(test) else no))


def for_yields(items: Any, body: Any, otherwise: Any) -> Driver:
    for item in iterated(items):
        completion = yield from _given(body, item)
        if completion is BREAK:
            return None
        if completion is not None and completion is not CONTINUE:
            return completion
    return (yield from _given(otherwise))


def while_yields(test: Any, body: Any, otherwise: Any) -> Driver:
    while concrete(test()):
        completion = yield from _given(body)
        if completion is BREAK:
            return None
        if completion is not None and completion is not CONTINUE:
            return completion
    return (yield from _given(otherwise))


def try_yields(body: Any, handlers: Any, otherwise: Any, last: Any) -> Driver:
    try:
        completion = yield from _tried_yields(body, handlers, otherwise)
    except BaseException:
        ended = yield from _given(last)
        if ended is None:
            raise
        return ended
    ended = yield from _given(last)
    return completion if ended is None else ended


def _tried_yields(body: Any, handlers: Any, otherwise: Any) -> Driver:
    try:
        completion = yield from _given(body)
    except BaseException as error:
        for kinds, handler in handlers:
            if kinds is None or _matches(error, kinds()):
                return (yield from _given(handler, error))
        raise
    return (yield from _given(otherwise)) if completion is None else completion


def with_yields(manager: Any, body: Any) -> Driver:
    kind = type(manager)
    enter_, exit_ = _special(manager, kind, "__enter__", ""), _special(manager, kind, "__exit__", " (missed __exit__ method)")
    item = call(enter_, manager)
    try:
        completion = yield from _given(body, item)
    except BaseException as error:
        if not concrete(call(exit_, manager, type(error), error, error.__traceback__)):
            raise
        return None
    call(exit_, manager, None, None, None)
    return completion


__all__ = ["BREAK", "CONTINUE", "Iterator", "Jump", "conditional"]
