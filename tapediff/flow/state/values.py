"""Values that only the interpreter has: choices, and names without a value. And what it knows at one moment.

A choice is one of a few things, by data: None or a number, one of two functions, strings, lists. Each option has a condition, a tracked
bool; exactly one holds.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NoReturn

import numpy as np

from ...base.current_recording import current_recorder
from ...base.source_location import PickledSite, Site, user_site
from ...ir.instruction import Operand
from ...ops import Op
from ...ops.elementwise.comparison import LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR
from ...recording.arrays.numbers import logical
from ...recording.arrays.tracked import TrackedArray
from ...recording.instruction_columns import GrowingColumns
from ..anything import Object
from ..report import Reason, Report


class Unjoinable(BaseException):
    """A side cannot be run beside the other one, or their states cannot be joined. A guard tells whether it is taken.

    Attributes:
        reason: what the program does, and what to write instead.
        is_taken: the outcome of that guard, once there is one.
        side: of several sides whose states cannot be joined, the number of the one that the others go without.
    """

    is_taken: bool | None = None
    side = 0

    def __init__(self, what: str, instead: str = "", site: Site | PickledSite | None = None, *, raises: bool = False) -> None:
        super().__init__(what)
        self.reason = Reason(what, instead, site or user_site(), raises)

    def of_side(self, number: int) -> Unjoinable:
        """The same with the number of a side."""
        self.side = number
        return self


class Restart(BaseException):
    """An iteration that is being recorded is to be recorded again, with more known of it."""


class WritesJoined(Restart):
    """The program writes to a list that a branch has joined with another one; the function is recorded again without such joins."""


class WritesOutside(Restart):
    """An iteration writes to an array of the recording around it."""

    def __init__(self, array: Operand) -> None:
        self.array = array


class _Unbound:
    """A name without a value."""

    def __repr__(self) -> str:
        return "unbound"


UNBOUND = _Unbound()


class Several:
    """A value that stands for several. Python's own code cannot go on with it: the side that gives it to such code ends."""

    __slots__ = ()

    def _unknown(self, *_: Object) -> NoReturn:
        raise Unjoinable(
            "code that is not translated gets a value that is one of several things, as data decide",
            "test which one it is before (`if value is None:`), or write that code in Python",
        )

    __bool__ = __len__ = __iter__ = __hash__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _unknown
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = __abs__ = _unknown
    __float__ = __int__ = __index__ = __str__ = __format__ = __getitem__ = __contains__ = __call__ = _unknown


class Choice(Several):
    """One of several values, by data.

    Attributes:
        options: the values; none of them is a choice.
        conditions: when it is which one.
        read: of arrays, what was chosen of their entries; see `as_value`.
    """

    __slots__ = ("conditions", "options", "read")

    def __init__(self, options: tuple[Object, ...], conditions: tuple[Operand, ...]) -> None:
        self.options, self.conditions = options, conditions
        self.read: Object = None

    def __repr__(self) -> str:
        return f"choice of {', '.join(map(repr, self.options))}"


def choice_of(options: list[Object], conditions: list[Object]) -> Choice:
    """A choice of two options or more."""
    state.has_choices = True
    if len(options) == 2:
        conditions = [conditions[0], negated(conditions[0])]
    return Choice(tuple(options), tuple(conditions))


def choice_with_rest(options: list[Object], others: list[Object]) -> Object:
    """A choice whose first option is there where no other one is; others have these conditions."""
    return Choice(tuple(options), (negated(functools.reduce(either, others)), *others)) if others else options[0]


class Maybe(Several):
    """An entry of a list, tuple or deque that is there by data.

    Attributes:
        condition: a tracked bool.
        value: what the entry is, if it is there.
        order: of a value of a dict, the number by which a loop finds it; None where that is its position.
    """

    __slots__ = ("condition", "order", "value")
    # Sets have such members.
    __hash__ = object.__hash__

    def __init__(self, condition: Object, value: Object, order: Object = None) -> None:
        self.condition, self.value, self.order = condition, value, order
        state.has_choices = state.has_maybes = True

    def __repr__(self) -> str:
        return f"maybe {self.value!r}"


class Lazy:
    """An iterable whose entries are computed where a loop or a builtin needs them: a range, or a view of a dict.

    Attributes:
        is_owned: as of a generator that nothing else goes on with.
    """

    __slots__ = ()
    is_owned = True

    def entries(self) -> Object:
        """The entries in order; conditional ones as such."""
        raise NotImplementedError

    def unordered(self) -> Object:
        """The entries in any order, for what does not depend on it."""
        return self.entries()

    def length(self) -> Object:
        """The number of entries."""
        raise NotImplementedError

    def truth(self) -> Object:
        """The value that `bool` asks."""
        return self.length()


class DataKey:
    """A key of a dict, or a member of a set, that data decide: a number or a tuple. For Python it is a key of its own.

    Attributes:
        value: the key.
    """

    __slots__ = ("value",)

    def __init__(self, value: Object) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"key {self.value!r}"


# More than a dict has keys.
_FIRST_STAMP = 1 << 40


# Called where a class may have changed.
CLASSES_CHANGED: list[Callable[[], None]] = []


class State(threading.local):
    """The interpreter's state in one thread.

    Attributes:
        is_recording: data may be met.
        recorder: the recording that this is about.
        interrupt: a KeyboardInterrupt that the program raises itself.
        journals: of the sides that are being run, the places that they have changed; the innermost last.
        path: of these sides, the tests and the outcomes that lead there.
        facts: by the instruction of a tracked bool, its value on this path.
        guarded: the same of tests that guards have decided, which hold on all paths from there on.
        implied: facts implied by the latest outcomes of tests.
        global_names: global variables that functions may assign to, with their namespaces.
        attempts: bodies of `try` and `with` that are being run; the innermost last.
        kinds: of numbers by their instructions, when each is a number of Python's; see python_numbers.py.
        facts_of_kinds: facts about these.
        raised_by_numpy: the error that NumPy raises where a number has no value, if it is to raise one.
        report: why guards are recorded, and what is merged.
        recorders: those of iterations of loops.
        sides: the number that were run.
        on_sides: the number of instructions that were recorded on them.
        recursions: how often a function was within itself too often.
        joins_arrays: arrays that a test chooses are joined by their entries, as long as none of them is written to later.
        may_fill: the recording can be made again with more arrays as tracked ones.
        joined_arrays: these, each with the number of writes before.
        joins_lists: the same of lists of numbers.
        has_identities: the program asks which object a value is.
        origins: by their ids, values that stand for others, with their options; see identities.py.
        left: final values of places of sides, while the other sides are run.
        logic: by their operands, results that are recorded once: logic of tests, and counts.
        callers: the ids of objects that there are before the recording.
        before: a journal of these: what was there before it.
        unsettled: places that were left with what data choose.
        has_choices: there is a value that stands for several.
        made: by their ids, new values of dicts that were made on a side for a missing key; with the dict and the key.
        bounds: by the recording, what its numbers can be; see bounds.py.
        on_path: the same for the facts of one path, by the recording.
        shown: arrays and lists that may have another name, as data decide: nothing may be written to them.
        packed: by their instructions, conditions of entries that are there only where those before are: the lists of all of them.
        stamp: the last number of a key whose place in its dict is data.
        has_maybes: there are containers with entries that are there by data.
        outer_cells: the ids of cells of variables that outlive a call.
        lengthy: code of blocks of loops that cannot be recorded as one instruction.
        read: by the line of a loop and the number of its variables, those that an iteration reads before it writes them.
        young: the ids of objects that the latest iteration has made of a loop which is to be one instruction.
        room: how many entries a list may have that grows in a loop which is one instruction.
        ended: when a loop cannot go on as one instruction: a list is full, or an iteration comes to what cannot be joined.
    """

    now: State
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.is_recording = False
        self.recorder: Object = None
        self.interrupt: BaseException | None = None
        self.journals: list[Object] = []
        self.path: list[tuple[Operand, bool]] = []
        self.facts: dict[tuple[int, int], bool] = {}
        self.guarded: dict[tuple[int, int], bool] = {}
        self.implied: dict[tuple[int, int, bool], dict[tuple[int, int], bool]] = {}
        self.global_names: dict[tuple[int, str], tuple[dict[str, Object], str]] = {}
        self.attempts: list[Object] = []
        self.kinds: dict[tuple[int, int], Object] = {}
        self.facts_of_kinds: dict[tuple[str, int, int], Object] = {}
        self.raised_by_numpy: type[Exception] | None = None
        self.report = Report()
        self.recorders: list[Object] = []
        self.sides = self.on_sides = self.recursions = 0
        self.left: list[dict[Object, tuple[Object, Object]]] = []
        self.joins_arrays = self.joins_lists = self.has_identities = self.may_fill = False
        self.origins: dict[int, tuple[Object, tuple[tuple[Object, Object], ...]]] = {}
        self.joined_arrays: dict[int, tuple[TrackedArray, int]] = {}
        self.logic: dict[tuple[Object, ...], Operand] = {}
        self.callers: set[int] = set()
        self.before: Object = {}
        self.unsettled: dict[Object, Object] = {}
        self.has_choices = self.has_maybes = False
        self.is_in_loop = False
        self.outer_cells: set[int] = set()
        self.lengthy: set[Object] = set()
        self.made: dict[int, tuple[Object, Object, Object]] = {}
        self.bounds: dict[int, Object] = {}
        self.on_path: tuple[Object, dict[int, Object]] = None, {}
        self.shown: dict[int, Object] = {}
        self.packed: dict[tuple[int, int], list[list[int]]] = {}
        self.room = 16
        self.young: set[int] = set()
        self.read: dict[tuple[str, int], set[int]] = {}
        self.ended: dict[str, Object] = {"full": False, "unjoinable": False, "reasons": {}}
        self.stamp = _FIRST_STAMP
        self.native: Callable[[Object], Object] = lambda f: f
        classes_changed()


def classes_changed() -> None:
    """Forget what is known of classes."""
    for forget in CLASSES_CHANGED:
        forget()


State.now = state = State()

# The types that stand for several values.
CHOICES: dict[type, Object] = {}
_SINGLE = {TrackedArray, bool, int, float, str, type(None), np.float64, np.int64}


def is_data(value: Object) -> bool:
    """True for tracked numbers and arrays."""
    return type(value) is TrackedArray


def is_tracked_value(value: Object) -> bool:
    """True for what data decides."""
    return type(value) is TrackedArray or type(value) in CHOICES


def op_of(recorder: Object, number: int) -> Object:
    """The operation of an instruction that is being recorded."""
    columns = recorder.instructions
    return columns.op_of(number) if type(columns) is GrowingColumns else columns[number].op


def inputs_of(recorder: Object, number: int) -> tuple[int, ...]:
    """The operands of an instruction."""
    columns = recorder.instructions
    return columns.inputs_of(number) if type(columns) is GrowingColumns else columns[number].inputs


def type_of(recorder: Object, number: int) -> Object:
    """The type of an instruction's value."""
    columns = recorder.instructions
    return columns.type_of(number) if type(columns) is GrowingColumns else columns[number].type


def negated(test: Object) -> Object:
    """The opposite of a bool, tracked or not."""
    if type(test) is bool:
        return not test
    recorder = test._recorder
    if op_of(recorder, test._id) is LOGICAL_NOT:
        (inner,) = recorder.instructions[test._id].inputs
        return TrackedArray(recorder, inner, not test._value, test.type)
    return _once(LOGICAL_NOT, test)


def both(a: Object, b: Object) -> Object:
    """a and b, for bools, tracked or not."""
    if type(a) is bool:
        return b if a else False
    if type(b) is bool:
        return a if b else False
    first = _implying(a, b)
    return _once(LOGICAL_AND, a, b) if first is None else first


def _once(op: Op, *tests: Operand) -> Operand:
    """An operation on tests, which is recorded once."""
    return once(op, lambda: logical(op, *tests), *tests)


def once(name: Object, make: Callable[[], Operand], *operands: Object) -> Operand:
    """The result of an operation, by its name, on numbers of which one is tracked; it is recorded once."""
    recorder = current_recorder()
    key: tuple[Object, ...] = id(recorder), name
    for operand in operands:
        if type(operand) is not TrackedArray:
            key += ((operand,),)
        elif operand._recorder is recorder:
            key += (operand._id,)
        else:
            return make()
    found = state.logic.get(key)
    if found is None:
        found = state.logic[key] = make()
    return TrackedArray(recorder, found._id, found._value, found.type)


def either(a: Object, b: Object) -> Object:
    """a or b, for bools, tracked or not."""
    if type(a) is bool:
        return True if a else b
    if type(b) is bool:
        return True if b else a
    first = _implying(a, b)
    return _once(LOGICAL_OR, a, b) if first is None else b if first is a else a


def _implying(a: Operand, b: Operand) -> Operand | None:
    """The one of two tests that implies the other; None if that is not known."""
    if a._recorder is not b._recorder:
        return None
    if a._id == b._id:
        return a
    for numbers in state.packed.get((id(a._recorder), a._id), ()):
        if b._id in numbers:
            return a if numbers.index(a._id) > numbers.index(b._id) else b
    return None


def note_packed(conditions: list[Object]) -> None:
    """Note that each of some conditions holds only where those before do."""
    found = [test for test in conditions if is_data(test)]
    if any(test._recorder is not found[0]._recorder for test in found):
        return
    numbers = [test._id for test in found]
    for test in found:
        state.packed.setdefault((id(test._recorder), test._id), []).append(numbers)


def packed_count(conditions: list[Object]) -> int:
    """The number of conditions at the start each of which is known to hold only where those before do."""
    before: Object = None
    for count, condition in enumerate(conditions):
        if type(condition) is bool:
            if condition and before is None:
                continue
            return count
        if before is not None and _implying(condition, before) is not condition:
            return count
        before = condition
    return len(conditions)


def _with_packed(owner: int, number: int, holds: bool) -> dict[tuple[int, int], bool]:
    """The fact about a test, and those about the entries of a list before or after the one that it tells of."""
    found = {(owner, number): holds}
    for numbers in state.packed.get((owner, number), ()):
        k = numbers.index(number)
        found.update(((owner, other), holds) for other in (numbers[:k] if holds else numbers[k + 1 :]))
    return found


def known(test: Operand) -> bool | None:
    """The value of a tracked bool on this path; None if it is not known."""
    facts, guarded = state.facts, state.guarded
    if not facts and not guarded:
        return None
    recorder, sign, number = test._recorder, True, test._id
    while True:
        key = id(recorder), number
        fact = facts.get(key)
        if fact is None:
            fact = guarded.get(key)
        if fact is not None:
            return fact if sign else not fact
        if op_of(recorder, number) is not LOGICAL_NOT:
            return None
        sign, number = not sign, recorder.instructions[number].inputs[0]


def entries_of(holder: Object) -> Object:
    """The entries that a sequence has, whatever a class of the user's says of them when it is asked."""
    if type(holder) in _SEQUENCES or not isinstance(holder, _SEQUENCES):
        return holder
    base: Object = next(base for base in _SEQUENCES if isinstance(holder, base))
    return list(base.__iter__(holder))


_SEQUENCES = (list, tuple, deque)


def parts(holder: Object) -> Iterator[tuple[Object, Object]]:
    """When each entry is there, and its value; those that are not there on this path are left out."""
    for entry in entries_of(holder):
        if type(entry) is Maybe:
            fact = known(entry.condition) if is_data(entry.condition) else entry.condition
            if fact is not False:
                yield (True if fact else entry.condition), entry.value
        else:
            yield True, entry


def parted(entry: Object) -> tuple[Object, Object]:
    """When an entry is there, and its value."""
    return (entry.condition, entry.value) if type(entry) is Maybe else (True, entry)


def conditions_of(holder: Object) -> list[Object]:
    """When each entry is there."""
    return [parted(entry)[0] for entry in entries_of(holder)]


def is_nonempty(holder: Object) -> Object:
    """When there is an entry."""
    found: Object = False
    for condition, _ in parts(holder):
        found = either(found, condition)
        if found is True:
            return True
    return found


# Of so many outcomes it is kept what they imply.
_MOST_IMPLIED = 64


def facts_of(test: Operand, holds: bool) -> dict[tuple[int, int], bool]:
    """The facts that the outcome of a test implies."""
    recorder = test._recorder
    op = op_of(recorder, test._id)
    if op is not LOGICAL_NOT and op is not LOGICAL_AND:
        return _with_packed(id(recorder), test._id, holds)
    found: dict[tuple[int, int], bool] = {}
    pending = [(test._id, holds)]
    while pending:
        number, is_so = pending.pop()
        earlier = state.implied.get((id(recorder), number, is_so))
        if earlier is not None:
            # The test of a loop's next iteration is that of this one and one more.
            found.update(earlier)
            continue
        found.update(_with_packed(id(recorder), number, is_so))
        op, inputs, *_ = recorder.instructions[number]
        if op is LOGICAL_NOT:
            pending.append((inputs[0], not is_so))
        elif op is LOGICAL_AND and is_so:
            pending += [(k, True) for k in inputs]
        elif op is LOGICAL_OR and not is_so:
            pending += [(k, False) for k in inputs]
    while len(state.implied) >= _MOST_IMPLIED:
        del state.implied[next(iter(state.implied))]
    state.implied[id(recorder), test._id, holds] = found
    return found


def lifted(op: Callable[..., Object], *args: Object) -> Object:
    """An operation; on choices, the choice of its results."""
    for number, argument in enumerate(args):
        if type(argument) in CHOICES:
            return CHOICES[type(argument)].each(argument, lambda value, k=number: lifted(op, *args[:k], value, *args[k + 1 :]))
    return op(*args)


def holds_several(value: Object) -> bool:
    """True for what data choose, and containers of such."""
    if type(value) in _SINGLE:
        return False
    if isinstance(value, (list, tuple, dict, deque, set)):
        return any(type(part) is Maybe or type(part) in CHOICES for part in (value.values() if isinstance(value, dict) else value))
    return type(value) is Maybe or type(value) in CHOICES


def at_this_point(value: Object, *, keeps_ints: bool = False) -> Object:
    """The value that plain Python has at this point, in place of a choice, or of an int or a bool that is tracked.

    Args:
        keeps_ints: leave tracked ints and bools as they are.
    """
    while type(value) is Choice:
        value = next(option for option, when in zip(value.options, value.conditions) if _holds(when))
    if isinstance(value, tuple):
        parts = [at_this_point(part, keeps_ints=keeps_ints) for part in value]
        if all(map(operator.is_, parts, value)):
            return value
        return tuple.__new__(type(value), parts)
    if not keeps_ints and type(value) is TrackedArray and value.type.dtype.kind in "ib" and not value.type.shape:
        return value._value.item()
    return value


def entries_at_this_point(entries: Object, *, keeps_ints: bool = False) -> Object:
    """The entries that plain Python has at this point in a container."""
    if isinstance(entries, dict):
        return {key_at_this_point(key): at_this_point(v, keeps_ints=keeps_ints) for key, entry in entries.items() for v in _now([entry])}
    if isinstance(entries, set):
        return set(map(key_at_this_point, _now(entries)))
    parts = (at_this_point(entry, keeps_ints=keeps_ints) for entry in _now(entries))
    return deque(parts, entries.maxlen) if isinstance(entries, deque) else list(parts)


def _now(entries: Iterable[Object]) -> Iterator[Object]:
    """The values of those entries that are there at this point."""
    return (value for condition, value in map(parted, entries) if _holds(condition))


def key_at_this_point(key: Object) -> Object:
    """The key that plain Python has at this point."""
    if type(key) is DataKey:
        return key_at_this_point(at_this_point(key.value))
    if is_data(key):
        return key._value.item()
    if type(key) in CHOICES:
        return at_this_point(key)
    return tuple(map(key_at_this_point, key)) if type(key) is tuple else key


def _holds(condition: Object) -> bool:
    return bool(condition if type(condition) is bool else condition._value)
