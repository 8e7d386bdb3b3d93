"""Loops of rewritten functions as one instruction: those that data ends, and those that are too long to record turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from math import log2
from typing import NamedTuple, TypeAlias

import numpy as np

from ....ir.instruction import FLOAT64, GUARD, INPUT, Operand, Tree, is_tracked
from ....ops.control.calls import CALL, GET, LOOP
from ....recording.aliases import ALWAYS
from ....recording.arrays.tracked import TrackedArray
from ....recording.call_arrays import watch_results
from ....recording.python_state.caught_errors import forgets_failures
from ....recording.python_state.object_snapshot import LARGEST_COMPARED
from ....recording.recorder import Recorder, UsersLine, current_recorder
from ...captured.code_keys import names_of
from ...captured.freeze import Frozen, freeze
from ...captured.outside_state import OutsideState, TooMuchState, watch_arrays
from ..plain_numbers import bits_of, check_numbers, may_be_plain, note_plain
from ..prepare.long_loops.which_loops import SHORTEST
from ..regions.region_calls import RefusingAliases
from ..rules import (
    BOOLS,
    FIRST_PLAIN,
    FLOATS,
    GROUPED,
    INTS,
    NUMPYS_INTS,
    VARYING,
    Breach,
    Place,
    Refused,
    StandsInLong,
    TurnedOutLong,
    is_large,
    is_small,
)
from .array_copies import root_of
from .carried_lists import CarriedLists
from .choices import DTYPES
from .gone_over.entries import Entries, Over, counted, entries_of
from .gone_over.groups import groups_of, variants_of
from .gone_over.look_ups import MoreStreams, Streams
from .gone_over.sums import only_add
from .loop_run_time import LoopRunTime
from .turn_entries import Column, TurnEntries
from .whole_numbers.counting import Counting
from .whole_numbers.divisions import first_by_zero
from .whole_numbers.int_lists import Kept
from .whole_numbers.turn_numbers import first_beyond
from .windows import Windows

# Of condition, body and first value.
WhileLoop: TypeAlias = Callable[[Callable[[Tree], Operand], Callable[[Tree], Tree], Tree], Tree]

# Of body, first carry, streams and number of turns: the last carry, and the results of all turns.
Scan: TypeAlias = Callable[[Callable[[Tree, Tree], tuple[Tree, Tree]], Tree, Sequence[Operand], int], tuple[Tree, Tree]]


# A loop whose turns take more paths than this, where it is recorded, is recorded turn by turn.
MOST_PATHS = 12

# The same of a loop over items that are not alike, which takes a path for each of their forms.
MOST_PATHS_OF_VARIANTS = 24

# Loops over other values than are known are recorded turn by turn.
MOST_OTHER_TURNS = 1_000

# A loop that data ends is recorded so often before those around it are recorded by one of their turns.
MOST_LOOPS = 8

# A loop of which a turn has been recorded so often, as it reads other numbers or lists each time, is recorded turn by turn where that is
# not more operations than so many, which take as long as to record and compile one turn on its own.
MOST_RECORDED, SOONER_ONE_BY_ONE = 3, 3_000

# All turns of a loop that data ends are computed, unless there may be more than MOST_MASKED, or so many for one before its end.
MOST_MASKED, MOST_TURNS_FOR_ONE = 1_000_000, 4


class Loops(LoopRunTime, TurnEntries, Windows):
    """Called by the loops of one rewritten function; the attributes are those of the run time."""

    _while_loop: WhileLoop
    _scan: Scan | None
    _states: dict[Hashable, OutsideState]
    _is_body: bool
    _is_helper: bool
    whole_turns: set[Place]
    _note_around: Callable[[Sequence[UsersLine]], bool]
    _turns_around: Callable[[Sequence[UsersLine]], int]

    def loop(
        self, place: Place, condition: Callable[..., Operand], turn: Callable[..., Tree], first: tuple[Tree, ...], flags: tuple[int, ...],
        all_plain: bool, counter: tuple[Place, int, Tree, Tree] | None = None,
    ) -> tuple[Tree, ...]:  # fmt: skip
        """The variables after `while condition: turn`.

        Args:
            all_plain: any of them may be a plain number, in its first turn or later; else only those that are one before it.
            counter: how it counts its turns, if it may turn out to be long: its place, the number of the variable that counts, up to
                where it does, and by which steps.

        Raises:
            TurnedOutLong: it has most of very many turns, or may have and can only be recorded as a long loop.
        """
        expected = None if counter is None or self._scan is None else _expected(first[counter[1]], *counter[2:])
        if counter is None or expected is None or expected.turns < SHORTEST:
            return self._ended_by_data(place, condition, turn, first, flags, all_plain)
        long, number, _, _ = counter
        try:
            found = self._ended_by_data(place, condition, turn, first, flags, all_plain)
        except Refused as refused:
            if refused.place[:2] != place[:2]:
                raise
            raise TurnedOutLong(self._code, long, refused.breach) from refused
        last = found[number]
        turns = (float(last._value if type(last) is TrackedArray else last) - expected.start) / expected.by
        if turns >= SHORTEST and expected.turns <= MOST_TURNS_FOR_ONE * turns:
            raise TurnedOutLong(self._code, long, Breach("cost", place[0], f"it had {turns:.0f} turns"))
        return found

    def _ended_by_data(
        self, place: Place, condition: Callable[..., Operand], turn: Callable[..., Tree], first: tuple[Tree, ...], flags: tuple[int, ...],
        all_plain: bool,
    ) -> tuple[Tree, ...]:  # fmt: skip
        self._count_loops(place)
        start = tuple(self._first(place, value, flag) for value, flag in zip(first, flags))

        frozen = freeze(turn, condition)
        captured = tuple(map(may_be_plain, frozen.tracked))
        unbound = [k for k, value in enumerate(first) if value is self.nothing]
        state = self._loop_state(place, (turn, condition), frozen)

        # What the first turn binds has no kind before it.
        plain = tuple([all_plain or given is self.nothing or may_be_plain(value) for given, value in zip(first, start)])

        def step(carry: tuple[Operand, ...]) -> tuple[Operand, ...]:
            # Another path may be recorded much later.
            if not (state.is_same() and state.are_arrays_same()):
                raise self._refuse("calls", place, "what it reads has changed")
            recorder = carry[0]._recorder
            for number, is_plain in zip(recorder.inputs[len(carry) :], captured):
                recorder.plain_numbers[number] = is_plain
            found = tuple(self._carry(place, value, flag) for value, flag in zip(turn(*_noted(carry, plain)), flags))
            check_numbers(recorder)
            arrays = {k: np.ones(found[k].shape, found[k].dtype) for k in unbound if found[k].shape and not carry[k].shape}
            if arrays:
                raise _OtherArrays(arrays)
            if any(may_be_plain(value) and not was for value, was in zip(found, plain)):
                raise self._refuse("numbers", (*place[:2], FIRST_PLAIN), "a turn gives a plain number where there was none before")
            return found

        check = lambda carry: condition(*_noted(carry, plain))  # noqa: E731 -- its name is its use
        found, start = self._recorded_loop(place, check, step, start)
        if self._is_body and _looks_at_values(found[0]):
            raise self._refuse("guards", place, "a turn of it looks at a value")
        self._watch(place, found, [[value] for value in start] + frozen.originals)
        return _noted(found, plain)

    def _count_loops(self, place: Place) -> None:
        """Note one more loop that data ends; raises StandsInLong where there are many, in loops whose turns are recorded one by one."""
        recorder = current_recorder()
        if recorder is None:
            return
        recorder.loops_by_data[self._code, place] += 1
        if recorder.loops_by_data[self._code, place] == MOST_LOOPS and self._note_around(recorder.users_lines()):
            raise StandsInLong(self._code, place, Breach("cost", place[0], f"it was recorded {MOST_LOOPS} times"))

    def check_turns(self, place: Place, turns: Operand) -> None:
        """Refuse a loop that has ended so early that the turns after its end would take most of the time."""
        count = float(turns._value if type(turns) is TrackedArray else turns)
        length = self.counts[place].length
        if length > MOST_TURNS_FOR_ONE * max(count, 1.0):
            raise self._refuse("cost", place, f"it ends after {count:.0f} of {length} turns")

    over = staticmethod(lambda function, *args: Over(function, args))

    def long_loop(
        self, place: Place, values: Tree, turn: Callable[..., tuple[Tree, Tree]], first: tuple[Tree, ...], flags: tuple[int, ...],
        by_data: Sequence[bool], columns: Sequence[Sequence[Tree]] = (), states: Sequence[int] = (),
        in_place: Sequence[int] = (), may_group: bool = False,
    ) -> tuple[Tree, ...]:  # fmt: skip
        """The variables after `for item in values: turn`, of which one turn is recorded; a short loop is recorded as it is.

        Of a loop over items that are not alike it is a turn for each of their forms, if turns do nothing but add to its variables.

        Args:
            by_data: which of the variables data decides on, although they are ints or bools before the loop.
            columns: of the arrays and lists to which turns write; see turn_entries.Column.
            states: which of the variables are arrays that turns write to.
            in_place: which of them turns change by `x += y` alone.
            may_group: turns may be taken in another order.
        """
        entries, written = entries_of(values), [Column(*column) for column in columns]
        known = self.counts[place] = counted(values)
        if known.length > MOST_MASKED and any(by_data):
            raise self._refuse("cost", place, f"it may end early, and has up to {known.length} turns")
        self._require_long(place, known.length)
        if entries is not None and self._scan is not None:
            return self._turns(place, values, entries, turn, first, flags, by_data, written, states, in_place)
        may_group = may_group and self._scan is not None and not (written or states or any(by_data))
        groups = groups_of(values) if may_group else None
        if groups is None:
            variants = None if self._scan is None else variants_of(values)
            if variants is None:
                return self._short_loop(place, values, turn, first, written, states)
            return self._turns(place, values, variants, turn, first, flags, by_data, written, states, in_place, most=MOST_PATHS_OF_VARIANTS)
        for group in groups:
            first = self._turns(place, values, group, turn, first, flags, by_data, (), (), in_place, True)
        return first

    def _require_long(self, place: Place, length: int) -> None:
        """Refuse a loop of so many turns of which one is recorded again and again, where all are sooner recorded."""
        recorder = current_recorder()
        before = [] if recorder is None else recorder.recorded_turns[self._code, place]
        if recorder is None or len(before) < MOST_RECORDED:
            return
        if any(other != length for other, _ in before):
            # Such as the number of the turn of the loop around it.
            length = max(length, self._turns_around(recorder.users_lines()) // max(length, 1) // 2)
        if length * max(size for _, size in before) <= SOONER_ONE_BY_ONE:
            raise self._refuse("turns", place, f"it has about {length} turns, and reads something else each time")

    def _turns(
        self, place: Place, values: Tree, entries: Entries, turn: Callable[..., tuple[Tree, Tree]], first: tuple[Tree, ...],
        flags: tuple[int, ...], by_data: Sequence[bool], written: Sequence[Column], states: Sequence[int], in_place: Sequence[int],
        is_group: bool = False, most: int = MOST_PATHS,
    ) -> tuple[Tree, ...]:  # fmt: skip
        """The variables after a loop, or after some of its turns, whose order then makes no difference."""
        assert self._scan is not None
        flags = tuple([flag | NUMPYS_INTS for flag in flags])
        lists = CarriedLists(self._code, place, first)
        counting = Counting(self._code, place, first, flags, by_data, entries.length)
        start = tuple(self._first(place, value, flag) for value, flag in zip(counting.as_floats(lists.as_arrays(first)), flags))
        frozen = freeze(turn)
        captured, bits = tuple(map(may_be_plain, frozen.tracked)), bits_of(frozen.tracked)
        unbound = [k for k, value in enumerate(first) if value is self.nothing]
        state_read = self._loop_state(place, (turn,), frozen)
        count_given, streams = len(start), Streams(entries)
        # The same in all turns: what any turn may give, a further one may get.
        were = tuple([value is not self.nothing and lists.may_be_plain(value) for value in first])
        after: list[bool] = []
        kinds: dict[str, Kept] = {}
        paths, is_recorded, size = 0, False, 0

        def step(carry: tuple[Operand, ...], items: Sequence[Operand]) -> tuple[tuple[Operand, ...], Tree]:
            nonlocal paths, size
            paths += 1
            if paths > most and not is_recorded:
                raise self._refuse("guards", place, f"its turns take more than {most} paths")
            if not (state_read.is_same() and state_read.are_arrays_same()):
                raise self._refuse("calls", place, "what it reads has changed")
            recorder, sizes = items[0]._recorder, streams.sizes
            from_items, others = recorder.inputs[count_given:], recorder.inputs[count_given + len(sizes) :]
            for number, is_plain in zip(others, captured):
                recorder.plain_numbers[number] = is_plain
            counting.note_turn(recorder, zip(from_items, sizes), zip(others, bits))
            given = lists.opened(_noted(carry, were), were)
            self.open_turns += 1
            try:
                with streams.turn(recorder, from_items, items):
                    after_turn, kept = turn(*given, streams.item(items))
            finally:
                self.open_turns -= 1
            if streams.have_changed:
                raise self._refuse("writes", place, "a turn changes an array that it goes over or looks up")
            self._check_kept(place, written, kept, kinds)
            if not (state_read.is_same() and state_read.are_arrays_same()):
                raise self._refuse("containers", place, "a turn changes what is outside of it")
            lists.check(given, after_turn)
            self.check_states(place, after_turn, states, kept)
            found = tuple(self._carry(place, v, f) for v, f in zip(counting.as_data(lists.as_arrays(after_turn)), flags))
            if is_group and not only_add(recorder, found):
                raise self._refuse("outcomes", (*place[:2], GROUPED), "its items are not alike, and it does more than add numbers up")
            counting.check(recorder, found)
            check_numbers(recorder)
            beyond = first_beyond(recorder, {k: log2(max(1.0, largest)) for k, largest in recorder.turn_numbers.items()})
            if beyond is not None:
                raise self._refuse("large", place, f"it computes {beyond.op.name} of the number of the turn")
            own = {k: array for k, array in zip(from_items, streams.pythons) if array is not None}
            by_zero = first_by_zero(recorder, own)
            if by_zero is not None:
                raise self._refuse("zero", place, f"it computes {by_zero.op.name} of what it goes over")
            if place in self.whole_turns and _decides_by(recorder, count_given):
                raise self._refuse("guards", place, "it looks at a value in a turn that may not count")
            arrays = {k: np.ones(value.shape, value.dtype) for k in unbound for value in [as_array(found[k])] if _differ(value, carry[k])}
            if arrays:
                raise _OtherArrays(arrays)
            unlike = [as_array(value) for k, value in enumerate(found) if as_array(value).shape != carry[k].shape]
            if unlike:
                raise self._refuse("numbers", place, f"a variable is of shape {unlike[0].shape} after a turn, and of another one before it")
            are_plain = [lists.may_be_plain(value) for value in after_turn]
            if any(is_plain and not was and k not in unbound for k, (is_plain, was) in enumerate(zip(are_plain, were))):
                raise self._refuse("numbers", place, "a turn gives a plain number where there was none before")
            after[:] = [now or later for now, later in zip(are_plain, after or [False] * count_given)]
            plain = {k for k, array in zip(from_items, streams.arrays) if type(array) is np.ndarray}
            size = max(size, 1 + _operations_on_data(recorder, plain))
            return found, kept

        forget = forgets_failures()
        while True:
            try:
                found, rows = self._scan(step, start, streams.arrays, entries.length)
                is_recorded = True
                streams.complete()
                break
            except MoreStreams:
                forget()
                streams.add_wanted()
                paths = 0
            except _OtherArrays as other:
                forget()
                start = tuple(other.arrays.get(k, value) for k, value in enumerate(start))
        recorder = current_recorder()
        if size and recorder is not None:
            recorder.recorded_turns[self._code, place].append((entries.length, size))
        self._write(written, values, rows, kinds)
        counting.note_results(start, found)
        result = lists.opened(_noted(found, after or were), after or were)
        changed = {k: first[k] for k in in_place if type(first[k]) is TrackedArray and first[k].shape}
        result = self._with_changes(place, first, result, changed, frozen.originals)
        others = [k for k in range(len(found)) if k not in changed]
        self._watch(place, [found[k] for k in others], [[start[k]] for k in others] + frozen.originals)
        return result

    def _with_changes(
        self, place: Place, first: Sequence[Tree], last: tuple[Tree, ...], arrays: dict[int, TrackedArray],
        captured: Sequence[Sequence[Tree]],
    ) -> tuple[Tree, ...]:  # fmt: skip
        """The variables after a loop, where arrays that turns have changed in place are still the same arrays."""
        others = [root_of(a) for k, a in enumerate(first) if k not in arrays and type(a) is TrackedArray]
        others += [root_of(array) for same in captured for array in same if type(array) is TrackedArray]
        roots = [root_of(array) for array in arrays.values()]
        if any(root is other for root in roots for other in others) or len({*map(id, roots)}) < len(roots):
            raise self._refuse("scalars", place, "an array that turns change in place has another name")
        for k, array in arrays.items():
            array[...] = last[k]
        return tuple([arrays.get(k, value) for k, value in enumerate(last)])

    def _short_loop(
        self, place: Place, values: Tree, turn: Callable[..., tuple[Tree, Tree]], first: tuple[Tree, ...], written: Sequence[Column],
        states: Sequence[int],
    ) -> tuple[Tree, ...]:  # fmt: skip
        """The variables after a loop that is recorded turn by turn."""
        state, turns, most = first, 0, counted(values).length or MOST_OTHER_TURNS
        rows: list[list[Operand]] = [[] for _ in written]
        for value in values:
            (state, kept), turns = turn(*state, value), turns + 1
            self._check_kept(place, written, kept, None)
            self.check_states(place, state, states, kept)
            for found, row in zip(rows, kept):
                found.append(row)
            if turns > most:
                raise self._refuse("iterables", place, f"it has more than {most} turns over {type(values).__name__}")
        if not turns and any(value is self.nothing for value in first):
            raise self._refuse("bound", place, "the loop has no turns")
        self._write(written, values, rows)
        return state

    def _recorded_loop(
        self, place: Place, check: Callable[[Tree], Operand], step: Callable[[Tree], Tree], start: tuple[Tree, ...]
    ) -> tuple[tuple[Tree, ...], tuple[Tree, ...]]:
        """The variables after a loop, and before it."""
        forget = forgets_failures()
        while True:
            try:
                return self._while_loop(check, step, start), start
            except _OtherArrays as other:
                forget()
                start = tuple(other.arrays.get(k, value) for k, value in enumerate(start))
            except Exception as error:
                if not self._is_body or isinstance(error, Refused):
                    raise
                # Of a turn that there may be none of at this point.
                raise self._refuse("calls", place, f"a turn of it fails: {error}") from error

    def _loop_state(self, place: Place, functions: Sequence[Callable[..., Tree]], frozen: Frozen) -> OutsideState:
        """What a loop reads, the same object as long as nothing in it changes: others make other callees."""
        key = self._code, place, id(functions[0].__globals__), frozen.key
        known = self._states.get(key)
        if known is None or not known.is_same():
            try:
                known = OutsideState(functions, names_of(self._code))
            except TooMuchState as error:
                raise self._refuse("calls", place, str(error)) from error
            self._states[key] = known = self._states.setdefault((key, known.key), known)
        if known.has_large_arrays:
            watch_arrays(known, lambda: self._refuse("calls", place, "what it reads has changed"))
        return known

    def _first(self, place: Place, value: Operand, flags: int) -> Operand:
        """A value that the first turn gets, as data: also a plain array. No turn may give one; writes to large ones may be missed."""
        is_array = type(value) is np.ndarray and value.dtype == FLOAT64 and value.shape and value.nbytes <= LARGEST_COMPARED
        if is_array and flags & VARYING and not self._is_helper:
            return value
        return self._carry(place, value, flags)

    def _carry(self, place: Place, value: Operand, flags: int) -> Operand:
        """A value that one turn hands to the next one, as data."""
        kind = type(value)
        if kind is TrackedArray:
            if value.type.dtype not in DTYPES:
                raise self._refuse("float32", place, f"it computes with {value.type.dtype}")
            if value._view is not None and not value.type.shape:
                raise self._refuse("scalars", place, "a variable of the loop is an array without axes, which `+=` changes")
            return value
        is_float = kind is float and flags & FLOATS and not is_large(value)
        is_numpys = kind is np.float64 or (kind is np.int64 and flags & NUMPYS_INTS)
        if is_numpys or is_float or (kind in (bool, np.bool_) and flags & BOOLS):
            return value
        if kind is int and flags & INTS and is_small(value, flags):
            return float(value)
        got = f"a variable of the loop is {value!r}, of type {kind.__name__}"
        raise self._refuse("numbers", place, got, needed=self._needed(value, flags))

    def _watch(self, place: Place, results: Sequence[Operand], given: Sequence[Sequence[Operand]]) -> None:
        """Refuse writes to arrays that a loop has handed on: without merging they may be those that it was given."""
        arrays = [result for result in results if is_tracked(result) and result.shape]
        aliases = RefusingAliases("a merged loop")
        aliases.refuse = lambda: self._refuse("scalars", place, "an array that goes through it may be written to afterwards")
        partners = [("argument", j) for j in range(len(given))] + [("result", m) for m in range(len(arrays))]
        for k in range(len(arrays)):
            for partner in partners:
                if partner != ("result", k):
                    aliases.share(k, partner, ALWAYS)
        kept = [[a for a in same if isinstance(a, (TrackedArray, np.ndarray)) and a.shape] for same in given]
        watch_results(aliases, arrays, kept, _Nothing())


class _Expected(NamedTuple):
    """How a loop counts its turns: where it begins, by which steps, and how many there are unless it ends early."""

    start: float
    by: float
    turns: float


def _expected(start: Tree, end: Tree, by: Tree) -> _Expected | None:
    """The turns of a loop that counts; None where that is not by numbers that are known."""
    if not {type(start), type(end), type(by)} <= {int, float, np.float64} or not by:
        return None
    return _Expected(start, by, (end - start) / by)


def _decides_by(recorder: Recorder, count: int) -> bool:
    """Whether a recording has guards on what follows from its first inputs."""
    follows = [number < count for number in range(len(recorder.instructions))]
    for number, instruction in enumerate(recorder.instructions):
        follows[number] = follows[number] or any(follows[k] for k in instruction.inputs)
        if follows[number] and (instruction.op is GUARD or (instruction.op in (CALL, LOOP) and instruction.params[0].may_branch)):
            return True
    return False


def _operations_on_data(recorder: Recorder, plain: Collection[int]) -> int:
    """How many operations of a recording depend on other inputs than those that are known."""
    is_data, count = list[bool](), 0
    for number, instruction in enumerate(recorder.instructions):
        is_made = instruction.op is not INPUT
        is_data.append(any(is_data[k] for k in instruction.inputs) if is_made else number not in plain)
        count += is_data[number] and is_made
    return count


def _looks_at_values(result: TrackedArray) -> bool:
    """Whether the turns of a loop that gave a result have guards, or its first test."""
    made = result._recorder.instructions
    loop = made[made[result._id].inputs[0]]
    test = made[loop.inputs[0]]
    callees = [loop.params[0], *([made[test.inputs[0]].params[0]] if test.op is GET else [])]
    return any(variant.tape.guards for callee in callees for variant in callee.variants.values())


class _OtherArrays(Exception):
    """Variables of a loop that its first turn binds are arrays. `arrays`: by their numbers, others of these types, which are never used."""

    def __init__(self, arrays: dict[int, np.ndarray]) -> None:
        super().__init__()
        self.arrays = arrays


def _differ(value: Tree, other: Tree) -> bool:
    return value.shape != other.shape or value.dtype != other.dtype


def as_array(value: Operand) -> Tree:
    return value if is_tracked(value) else np.asarray(value)


def _noted(values: Sequence[Operand], plain: Sequence[bool]) -> tuple[Operand, ...]:
    """Values, of which is noted which may be plain numbers."""
    return tuple([note_plain(value) if is_plain else value for value, is_plain in zip(values, plain)])


class _Nothing:
    """A function that closes over no plain arrays."""

    arrays: tuple[tuple[np.ndarray, Hashable], ...] = ()

    def state_changed(self) -> bool:
        return False
