"""Data-dependent and long loops: one instruction that carries the places that an iteration changes (iterations.py).

A loop over known items runs its first iterations one by one. If the rest would exceed LONG instructions, it becomes one instruction:
over streams if every iteration runs, else by a carried number, until it ends. Where sizes are data, a loop up to a size is one instruction
at once, under the condition that the item exists. A loop that cannot be one instruction continues iteration by iteration.
"""

from __future__ import annotations

import math
import operator
from collections import abc, deque
from collections.abc import Callable, Iterator
from functools import partial
from types import GeneratorType

from ...base.byte_code import is_held_elsewhere
from ...base.current_recording import current_recorder
from ...base.source_location import user_site
from ...ir.instruction import Operand
from ..anything import Object
from ..calls.truth import truth
from ..containers.compressed import Conditional
from ..containers.cursors import Cursor, exhaust
from ..containers.generators import Emit, Generator, is_emitting
from ..containers.items import (
    REPEATABLE,
    Owned,
    is_iterable_of_users,
    iterated,
    iterator_of,
    owned,
    refuse_iterators,
    steps,
)
from ..containers.ranges import Counting
from ..containers.rows import steps as steps_of_row
from ..report import Reason
from ..state.completions import Completion, Return, folded, replaced
from ..state.fork import fork_value, guarded, observed, select
from ..state.numbers.bounds import bounds_of, ends, note_bounds
from ..state.places import Entry, WithCells, put
from ..state.recursions import TooDeep, is_of_sizes
from ..state.values import CHOICES, Maybe, Restart, Unjoinable, facts_of, is_by_index, is_data, lifted, state
from .blocks import BREAK, Block, LoopEnds, after_loop, for_each_option, if_
from .emission import emitted
from .exits import Exits
from .iterations import Loop, TooLarge
from .sources import Source, are_first_ones, left_in, source_of, up_to

# Maximum number of instructions recorded iteration by iteration; and of a loop that data end, within another loop: all its iterations
# run at each call, which takes longer than storing carries (Newton's method in a loop: 270 µs against 50, and 4.7 s at first against 3).
LONG, LONG_WITH_EXIT = 10_000, 1_000

# Fewer iterations are never rolled.
_FEWEST = 8


def for_(*args: Object) -> Completion:
    """for item in items: body(item)

    Args:
        args: items, body and otherwise, in a tuple, so that references to the items can be counted.
    """
    items, body, otherwise = args
    kind = type(items)
    if is_by_index(items) and (rest := steps_of_row(items)) is not None:
        return for_(Owned(rest), body, otherwise)
    if kind in CHOICES:
        is_shared = is_held_elsewhere((items,), 2)
        items = owned(items, is_shared)
        return for_each_option(items, lambda option: for_(option, body, otherwise), body, otherwise)
    loop, is_stepped, is_shared = LoopEnds(), False, False
    if kind is Counting:
        return _count(items, body, otherwise)
    if kind is Cursor:
        return _go_on(items, body, otherwise)
    if is_iterable_of_users(kind):
        return for_(steps(iterator_of(items)), body, otherwise)
    if kind not in REPEATABLE:
        is_shared = kind is not Owned and is_held_elsewhere((items,), 2)
        if is_emitting(items, is_shared):
            loop.run(lambda: emitted(items, body))
            return loop.end(otherwise)
        is_stepped = refuse_iterators(items, is_shared)
    found = iterated(items)
    rest = iter(found)
    if is_stepped or type(found) in (GeneratorType, Generator):
        rest = _stepped(rest, loop)
    if is_of_sizes() and (type(rest) is Conditional or are_first_ones(found)) and _all_over(rest, loop, body, is_shared):
        return loop.end(otherwise)
    length = _Length()
    for item in rest:
        if not loop.run(_iteration(item, body)):
            return after_loop(loop.found)
        if not length.is_to_be_looked_at():
            continue
        most = LONG_WITH_EXIT if state.is_in_loop and loop.alive is not True else LONG
        if length.is_long(count := left_in(rest), body, most) and _over(rest, count, loop, body, is_shared):
            break
    return loop.end(otherwise)


def _count(numbers: Counting, body: Callable[[Object], Completion], otherwise: Block) -> Completion:
    """for number in numbers: body(number)"""
    counter = numbers.start
    (low, high), (least, most) = ends(bounds_of(numbers.start)), ends(bounds_of(numbers.stop))

    def goes_on() -> Object:
        return truth(lifted(operator.lt if numbers.step > 0 else operator.gt, counter, numbers.stop))

    def iteration() -> Completion:
        nonlocal counter
        number = counter
        if is_data(number):
            # One step beyond the last: of loops side by side, those that have ended go on computing.
            step = numbers.step
            note_bounds(number, *((low, most + step - 1) if step > 0 else (least + step + 1, high)))
            if is_data(is_before := goes_on()):
                state.facts = {**state.facts, **facts_of(is_before, True)}
        counter = lifted(operator.add, number, numbers.step)
        return body(number)

    first, reason = goes_on(), None
    if type(first) is not bool:
        if _is_to_size(numbers) and (exits := _by_positions(numbers, body)) is not None:
            loop = LoopEnds()
            exits.leave_by(loop)
            return loop.end(otherwise)
        if (few := numbers.few()) is not None:
            return for_(few, body, otherwise)
        try:
            return _until_data_end(LoopEnds(), goes_on, first, WithCells(iteration, iteration, body), otherwise)
        except Unjoinable as why:
            if why.is_taken is not None:
                raise
            reason = note_iterations(why)
    return for_(numbers.entries(reason), body, otherwise)


def _is_to_size(numbers: Counting) -> bool:
    """True for a range up to a size, or from one down, outside other loops."""
    if not is_of_sizes():
        return False
    known, size = (numbers.start, numbers.stop) if numbers.step > 0 else (numbers.stop, numbers.start)
    return abs(numbers.step) == 1 and type(known) is int and math.isfinite(ends(bounds_of(size))[1])


def _by_positions(numbers: Counting, body: Callable[[Object], Completion]) -> Exits | None:
    """Record one iteration for each number that a range of a size may have; None if it cannot be."""
    start, stop = numbers.start, numbers.stop
    if numbers.step > 0:
        source, block = up_to(stop, range(start, int(ends(bounds_of(stop))[1]))), body
    else:
        source = up_to(start - stop, range(int(ends(bounds_of(start - stop))[1])))

        def down(position: Object) -> Completion:
            number = start - position
            for test in (number > stop, number <= start):
                state.facts = {**state.facts, **facts_of(truth(test), True)}
            return body(number)

        block = WithCells(down, body)
    try:
        return _by_streams(source, block)
    except Unjoinable as why:
        note_iterations(why)
        return None


def _go_on(cursor: Cursor, body: Callable[[Object], Completion], otherwise: Block) -> Completion:
    """Loop over the rest of an iterator."""
    count = len(cursor.holder)

    def step(entry: tuple[int, Object]) -> Completion:
        cursor.move(entry[0] + 1)
        return body(entry[1])

    def end() -> Completion:
        exhaust(cursor, count)
        return None if otherwise is None else otherwise()

    # The body may advance the iterator itself.
    entries = Conditional((cursor.is_at_most(k), (k, item)) for k, item in enumerate(cursor.holder))
    return for_(Owned(entries), WithCells(step, body), WithCells(end, otherwise))


class _Length:
    """Counts the instructions recorded by iterations, at powers of two."""

    __slots__ = ("before", "count", "next")

    def __init__(self) -> None:
        self.count, self.next = 0, 2
        self.before = _recorded()

    def is_to_be_looked_at(self) -> bool:
        self.count += 1
        if self.count != self.next:
            if self.count == self.next - self.next // 4:
                self.before = _recorded()
            return False
        return True

    def is_long(self, left: int, body: Object, most: int) -> bool:
        """True if the remaining iterations would record too many instructions, more than `most`."""
        number = self.next // 4 or 1
        self.next *= 2
        recorder = current_recorder()
        if left < _FEWEST or _code(body) in state.lengthy or (recorder is not None and recorder.unrolls):
            return False
        return (_recorded() - self.before) * left > most * number


def _stepped(items: Object, loop: LoopEnds) -> Iterator[Object]:
    """The items of an iterator that may be used after the loop: it advances only where the loop runs, and not after errors."""
    while loop.is_decided():
        with guarded():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def _iteration(entry: Object, body: Callable[[Object], Completion]) -> Callable[[], Completion]:
    """The iteration for an entry; of a conditional one where it exists."""
    if type(entry) is not Maybe:
        return WithCells(partial(body, entry), body)
    return WithCells(lambda: if_(entry.condition, WithCells(partial(body, entry.value), body), None), body)


def _code(body: Object) -> Object:
    """A block's code; a builtin's stand-in for a block itself."""
    return getattr(body, "__code__", body)


def _recorded() -> int:
    """The number of instructions recorded, those of iterations of loops among them."""
    recorder = current_recorder()
    return 0 if recorder is None else len(recorder.instructions) + state.in_iterations


def _over(steps: Iterator[Object], count: int, loop: LoopEnds, body: Callable[[Object], Completion], is_shared: bool) -> bool:
    """Record the remaining iterations as one instruction; False if they cannot be. `is_shared`: others may hold the iterator."""
    try:
        source = source_of(steps, count)
        if source is None:
            raise Unjoinable(
                "the items of a long loop are not numbers, arrays, strings or tuples of one form", "loop over a range, or over an array"
            )
        exits = None
        if loop.alive is True:
            exits = _by_streams(source, body)
        if exits is None and is_shared:
            raise Unjoinable("the end of a long loop over an iterator that is used later depends on data", "loop over a list")
        if exits is None:
            exits = _until_an_exit(source, loop.alive, body)
    except Unjoinable as why:
        note_iterations(why)
        state.lengthy.add(_code(body))
        return False
    if is_shared:
        deque(steps, maxlen=0)
    exits.leave_by(loop)
    return True


def _all_over(steps: Iterator[Object], loop: LoopEnds, body: Callable[[Object], Completion], is_shared: bool) -> bool:
    """Record all iterations as one instruction, if there are some; False if they cannot be."""
    count = left_in(steps)
    try:
        return count >= _FEWEST and _over(steps, count, loop, body, is_shared)
    except TooDeep:
        # A few iterations may be possible one by one.
        return False


class _HasExits(Restart):
    """An iteration may leave a loop that was to run completely."""


def _by_streams(source: Source, body: Callable[[Object], Completion]) -> Exits | None:
    """Record one iteration for each item; None if one may leave the loop, or the stored carries would be too large."""
    exits = Exits(goes_on=True)

    def existing(item: Object) -> Completion:
        source.note_existence(streamed)
        return body(item)

    streamed = list[Operand]()

    def iteration(leaves: list[Operand]) -> None:
        streamed[:] = leaves
        run = WithCells(lambda: _iteration(source.item(leaves), WithCells(existing, body))(), body)
        if exits.iteration(run, lambda: True) is not True:
            raise _HasExits

    try:
        Loop(iteration, body, source, exits.namespace).record(True)
    except (_HasExits, TooLarge):
        return None
    return exits


def _until_an_exit(source: Source, first: Object, body: Callable[[Object], Completion]) -> Exits:
    """Record iterations until one leaves the loop; the next item's number is carried."""
    exits = Exits()
    number = Entry(exits.namespace, "number")
    number.set(0)

    def iteration(_: Object) -> Object:
        at = number.get()
        if is_data(at):
            note_bounds(at, 0, source.count - 1)
        entries = source.entries_at(at)
        put(number, at + 1)
        run = WithCells(lambda: _iteration(source.item(entries), body)(), body)
        return exits.iteration(run, lambda: truth(number.get() < source.count))

    Loop(iteration, body, None, exits.namespace, source.count).record(first)
    return exits


def while_(test: Callable[[], Object], body: Callable[[], Completion] | None, otherwise: Block) -> Completion:
    """while test(): body()"""
    loop = LoopEnds()
    before = _recorded()
    while True:
        t = truth(test()) if loop.alive is True else None
        if t is False:
            return loop.end(otherwise)
        if t is not True:
            return data_loop(loop, test, t, body, otherwise)
        is_long = loop.alive is True and body is not None and _recorded() > before + LONG
        if is_long and _code(body) not in state.lengthy:
            try:
                return _until_data_end(loop, test, True, body, otherwise)
            except Unjoinable as why:
                note_iterations(why)
                state.lengthy.add(_code(body))
        if body is not None and not loop.run(body):
            return after_loop(loop.found)


def data_loop(loop: LoopEnds, test: Callable[[], Object], first: Object, body: Block, otherwise: Block) -> Completion:
    """The rest of a data-dependent `while` loop."""
    if first is None:
        first = fork_value(loop.alive, WithCells(lambda: truth(test()), test), lambda: False)
        first = truth(first)
    if first is False:
        return loop.end(otherwise)
    try:
        return _until_data_end(loop, test, first, body, otherwise)
    except Unjoinable as why:
        if state.journals:
            raise
        reason = note_iterations(why)
    return _by_guards(loop, test, first, body, otherwise, reason)


def _iteration_if(test: Callable[[], Object], body: Callable[[], Completion]) -> Completion:
    return if_(test(), body, lambda: BREAK)


def note_iterations(why: Unjoinable) -> Reason:
    """Report that a loop is recorded iteration by iteration."""
    state.report.note("iterations", user_site(), reason=why.reason)
    return why.reason


def _until_data_end(loop: LoopEnds, test: Object, first: Object, body: Object, otherwise: Object) -> Completion:
    """Record a `while` loop as one instruction."""
    exits = Exits()
    run = WithCells(lambda: None if body is None else body(), body)
    goes_on = WithCells(lambda: truth(test()), test)
    Loop(lambda _: exits.iteration(run, goes_on), WithCells(run, run, goes_on), None, exits.namespace).record(first)
    exits.leave_by(loop)
    return loop.end(otherwise)


def _by_guards(loop: LoopEnds, test: Object, first: Object, body: Object, otherwise: Object, reason: Reason) -> Completion:
    """Record iterations under the condition that the loop runs, with a guard on the 8th, 16th, 32nd test and so on.

    Long iterations also have guards on the first, second and fourth test.
    """
    t, count, wanted = first, 0, _recorded() + LONG
    while True:
        count += 1
        is_guarded = count & (count - 1) == 0 and (count >= _FEWEST or _recorded() > wanted)
        if not is_guarded and otherwise is None and body is not None:
            # The first test was evaluated before, and may have effects.
            if not loop.run(WithCells(partial(_iteration_if, test if t is None else partial(truth, t), body), body, test)):
                return after_loop(loop.found)
            t = None
            continue
        if loop.alive is not True:
            if not observed(loop.alive, reason):
                return after_loop(loop.found)
            loop.alive, loop.found = True, []
        t = truth(test()) if t is None else t
        if type(t) is not bool:
            t = observed(t, reason)
        if not t:
            return loop.end(otherwise)
        if body is not None and not loop.run(body):
            return after_loop(loop.found)
        t = None


# `yield from` in generators that call the consumer's block


class Delegate:
    """The iterable of a `yield from`, and the generator's return value.

    Attributes:
        value: None for other iterables.
    """

    __slots__ = ("items", "value")

    def __init__(self, items: Object) -> None:
        self.items, self.value = items, None


def delegate(source: Delegate, consumer: Emit) -> Completion:
    """Emit all values of a `yield from`."""
    items, source.items = source.items, None
    if type(items) is Generator and items.emitting is not None and items.is_fresh:
        completion = items.emitting(consumer)
        source.value = _returned(completion)
        return replaced(completion, lambda end: None if type(end) is Return else end)
    if isinstance(items, abc.Generator):
        return _delegated(source, iter(items), consumer)
    return for_(items, consumer, None)


def _delegated(source: Delegate, generator: Iterator[Object], consumer: Emit) -> Completion:
    """Emit the values of a generator that Python runs."""

    def values() -> Iterator[Object]:
        source.value = yield from generator

    return for_(values(), consumer, None)


def _returned(completion: Completion) -> Object:
    """A generator's return value, where it ends normally."""
    return folded(
        completion,
        lambda end: end.value if type(end) is Return else None if end is None else _NO_VALUE,
        lambda part, yes, no: no if yes is _NO_VALUE else yes if no is _NO_VALUE else select(part.test, yes, no),
    )


_NO_VALUE = object()
