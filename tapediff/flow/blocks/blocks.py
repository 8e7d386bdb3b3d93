"""Statements with blocks. Blocks are functions that return their completion (completions.py)."""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..anything import Object
from ..calls.truth import concrete, truth
from ..containers.choices import possible
from ..containers.entries import settled_contents
from ..containers.items import iterated
from ..state.completions import BREAK, CONTINUE, Completion, Conditional, Jump, Return, folded, replaced
from ..state.fork import (
    Taken,
    decide,
    first_result,
    fork,
    fork_block,
    observed,
    select,
    where_ends,
)
from ..state.places import Cell, Entry, WithCells, note, note_variables
from ..state.values import both, facts_of, state

Block = Callable[[], Completion] | None


def enter(cells: Callable[[], Object], names: tuple[str, ...]) -> None:
    """Note the nonlocal and global variables that a function may assign to."""
    namespace: dict[str, Object] = cells.__globals__  # pyright: ignore[reportFunctionMemberAccess]
    for name in names:
        state.global_names[id(namespace), name] = namespace, name
    cells_around = cells.__closure__ or ()  # pyright: ignore[reportFunctionMemberAccess]
    state.outer_cells.update(map(id, cells_around))
    for cell in cells_around:
        note(Cell(cell))
    for name in names:
        note(Entry(namespace, name))
    note_variables(None)


def is_normal(end: Object) -> bool:
    return end is None


def returned(completion: Completion) -> Object:
    """The return value of a completion."""
    return folded(
        completion, lambda end: end.value if type(end) is Return else None, lambda part, yes, no: select(part.test, yes, no)
    )


def sequence(*blocks: Callable[[], Completion]) -> Completion:
    """Run blocks in order, each where those before it end normally."""
    ends = Ends()
    for block in blocks:
        if not ends.run(block):
            break
    return _first_end(ends.found)


def _first_end(found: list[Completion]) -> Completion:
    """The completion of a sequence of blocks."""
    result: Completion = None
    for completion in reversed(found):
        rest = result
        result = replaced(completion, lambda end, rest=rest: rest if end is None else end)
    return result


def if_(test: Object, yes: Block, no: Block) -> Completion:
    """if test: yes() else: no()"""
    t = test if type(test) is bool else truth(test)
    if t is True:
        return None if yes is None else yes()
    if t is False:
        return None if no is None else no()
    return fork_block(t, yes, no)


def assert_(test: Object, message: Callable[[], Object] | None = None) -> None:
    """assert test, message"""

    def raise_() -> None:
        raise AssertionError() if message is None else AssertionError(message())

    if_(test, None, WithCells(raise_, message))


# Loops


def without_continue(end: Object) -> Completion:
    return None if end is CONTINUE else end


def after_loop(found: list[Completion]) -> Completion:
    """`break` ends a loop normally."""
    return replaced(_first_end(found), lambda end: None if end is BREAK else end)


# The completion of a loop left by `break`, which skips its `else`.
_LEFT = Jump("left")


class Ends:
    """The completions of a sequence of blocks.

    Attributes:
        alive: every block so far has ended normally: a bool, tracked or not.
    """

    __slots__ = ("alive", "found")

    def __init__(self) -> None:
        self.alive: Object = True
        self.found: list[Completion] = []

    def run(self, block: Callable[[], Completion]) -> bool:
        """Run the next block; False if none goes on."""
        if self.alive is True:
            completion = block()
        else:
            ran = fork(self.alive, block, None)
            if isinstance(ran, Taken):
                if not ran.holds:
                    return False
                # Guards have excluded the earlier completions.
                self.alive, self.found = True, []
                completion = ran.result
            else:
                completion = first_result(ran)
        completion = self.seen(completion)
        if completion is None:
            return True
        self.found.append(completion)
        normal = where_ends(completion, is_normal)
        self.alive = normal if normal is False else both(self.alive, normal)
        return self.alive is not False

    def seen(self, completion: Completion) -> Completion:
        """The effect of a block's completion on those after it."""
        return completion


class LoopEnds(Ends):
    """The completions of a loop's iterations; `continue` ends one normally."""

    __slots__ = ()

    def seen(self, completion: Completion) -> Completion:
        return replaced(completion, without_continue)

    def is_decided(self) -> bool:
        """Whether the loop goes on, by a guard."""
        if self.alive is not True:
            reason = decide("the end of a loop over a generator or an iterator depends on data", "loop over a list of its values")
            holds = observed(self.alive, reason)
            state.facts = {**state.facts, **facts_of(self.alive, holds)}
            if not holds:
                return False
            self.alive, self.found = True, []
        return True

    def end(self, otherwise: Block) -> Completion:
        """The loop's completion. A `break` or `continue` in its `else` belongs to the loop around."""
        if otherwise is None or self.alive is False:
            return after_loop(self.found)
        left = [replaced(completion, lambda end: _LEFT if end is BREAK else end) for completion in self.found]
        ended = sequence(lambda: _first_end(left), otherwise)
        return replaced(ended, lambda end: None if end is _LEFT else end)


def for_each_option(choice: Object, run: Callable[[Object], Completion], *blocks: Object) -> Completion:
    """Run a block for each option of a choice; the joined completion.

    Args:
        blocks: the functions that it runs, for their variables.
    """
    *others, last = possible(choice)
    rest: Callable[[], Completion] = lambda: run(choice.options[last])  # noqa: E731 -- its name is its use
    for k in reversed(others):
        here = WithCells(lambda k=k: run(choice.options[k]), *blocks)
        rest = functools.partial(fork_block, choice.conditions[k], here, WithCells(rest, *blocks))
    return rest()


def ended(completion: Completion) -> Jump | None:
    """A block's completion, decided by guards: for code that Python runs next."""
    while type(completion) is Conditional:
        completion = completion.yes if concrete(completion.test) else completion.no
    return completion  # pyright: ignore[reportReturnType]


def given(items: Object) -> Object:
    """The iterable of a loop that Python runs."""
    return settled_contents(iterated(items))
