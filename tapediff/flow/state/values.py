"""Values that only the interpreter has: choices and unbound names; and its state.

A choice is one of a few values, by data: None or a number, one of two functions, strings, lists. Each option has a condition, a
tracked bool; exactly one holds.
"""

from __future__ import annotations

import functools
import gc
import itertools
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
from ...ops.elementwise.comparison import LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR, SELECT
from ...recording.arrays.numbers import chosen_by, logical
from ...recording.arrays.tracked import TrackedArray
from ...recording.instruction_columns import GrowingColumns
from ..anything import Object
from ..report import Reason, Report
from ..users_code import KNOWN


class Unjoinable(BaseException):
    """A side cannot be joined with the others. A guard tests whether it is taken.

    Attributes:
        reason: the program's action, and a replacement.
        is_taken: the outcome of that guard, once known.
        side: the number of the side that the others are joined without.
    """

    is_taken: bool | None = None
    side = 0

    def __init__(self, what: str, instead: str = "", site: Site | PickledSite | None = None, *, raises: bool = False) -> None:
        super().__init__(what)
        self.reason = Reason(what, instead, site or user_site(), raises)

    def of_side(self, number: int) -> Unjoinable:
        """The same for a numbered side."""
        self.side = number
        return self


class Restart(BaseException):
    """An iteration must be recorded again, with more facts about it."""


class WritesJoined(Restart):
    """The program writes to a joined list; the recording is repeated without joins of lists."""


class WritesOutside(Restart):
    """An iteration writes to an array of the enclosing recording."""

    def __init__(self, array: Operand) -> None:
        self.array = array


class _Unbound:
    """A name without a value."""

    def __repr__(self) -> str:
        return "unbound"


UNBOUND = _Unbound()


class Several:
    """A value that stands for several. A side that passes it to untranslated code ends."""

    __slots__ = ()

    def _unknown(self, *_: Object) -> NoReturn:
        raise Unjoinable(
            "untranslated code gets one of several objects, chosen by data",
            "test which one it is before (`if value is None:`), or write that code in Python",
        )

    __bool__ = __len__ = __iter__ = __hash__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _unknown
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = __abs__ = _unknown
    __float__ = __int__ = __index__ = __str__ = __format__ = __getitem__ = __contains__ = __call__ = _unknown


class Choice(Several):
    """One of several values, by data.

    Attributes:
        options: the values; none is a choice, but by index.
        index: the number of the option, of mutable objects at a data-dependent position; else None.
        read: for arrays, the cached selection of their entries; see `as_value`.
    """

    __slots__ = ("_conditions", "index", "options", "read")

    def __init__(self, options: tuple[Object, ...], conditions: tuple[Operand, ...], index: Object = None) -> None:
        self.options, self._conditions, self.index = options, conditions, index
        self.read: Object = None

    def of(self, options: tuple[Object, ...]) -> Choice:
        """The same choice of other options."""
        return Choice(options, self._conditions, self.index)

    def replace(self, options: list[Object], conditions: list[Operand]) -> None:
        """Choose among other objects, which stand for the options."""
        self.options, self._conditions, self.read = tuple(options), tuple(conditions), None

    def now(self) -> Object:
        """The option at this point; records nothing."""
        if self.index is not None:
            return self.options[int(self.index._value)]
        return next(option for option, when in zip(self.options, self._conditions) if holds(when))

    @property
    def conditions(self) -> tuple[Operand, ...]:
        """Of the options."""
        index = self.index
        if index is None:
            return self._conditions
        return tuple(once("option", functools.partial(operator.eq, index, k), index, k) for k in range(len(self.options)))

    def __repr__(self) -> str:
        return f"choice of {', '.join(map(repr, self.options))}"


def choice_of(options: list[Object], conditions: list[Object]) -> Choice:
    """A choice of two or more options."""
    state.has_choices = True
    if len(options) == 2:
        conditions = [conditions[0], negated(conditions[0])]
    return Choice(tuple(options), tuple(conditions))


def choice_with_rest(options: list[Object], others: list[Object]) -> Object:
    """A choice whose first option holds if none of the others' conditions does."""
    return Choice(tuple(options), (negated(any_of(others)), *others)) if others else options[0]


def indexed(options: tuple[Object, ...], index: Object) -> Object:
    """The option of this number."""
    if not is_data(index):
        return options[int(index)]
    state.has_choices = True
    return Choice(options, (), index)


def possible_objects(value: Object) -> tuple[Object, ...]:
    """The options of a choice; the value itself otherwise."""
    return value.options if type(value) is Choice else (value,)


def is_by_index(value: Object) -> bool:
    """True for a choice of mutable objects by index."""
    return type(value) is Choice and value.index is not None


def index_of(value: Object, numbers: dict[int, int]) -> Object:
    """The number of a mutable object, or of those in a choice, by their ids; None if it may be another value."""
    if type(value) is not Choice:
        return numbers.get(id(value))
    found = [numbers.get(id(option)) for option in value.options]
    if None in found:
        return None
    if value.index is None:
        *others, last = zip(value.conditions, found)
        index = last[1]
        for condition, number in others:
            index = where(condition, number, index)
        return index
    if found == list(range(len(found))):
        return value.index
    return np.take(current_recorder().tracked_constant(np.array(found)), value.index, mode="clip")


def without_unbound(choice: Choice) -> Object:
    """A choice without its unbound option, which is not read."""
    kept = [k for k, option in enumerate(choice.options) if option is not UNBOUND]
    return choice_with_rest([choice.options[k] for k in kept], [choice.conditions[k] for k in kept[1:]])


def unset_where(value: Object) -> Object:
    """The condition that a name has no value; None if it always has one."""
    choices = zip(value.options, value.conditions) if type(value) is Choice and value.index is None else ()
    return next((condition for option, condition in choices if option is UNBOUND), None)


class Maybe(Several):
    """A conditional entry of a container.

    Attributes:
        condition: a tracked bool.
        value: of the entry, if it exists.
        order: in a dict, the number that orders it; None if its position does. In a set, a number of its own.
    """

    __slots__ = ("condition", "order", "value")

    def __init__(self, condition: Object, value: Object, order: Object = None) -> None:
        self.condition, self.value, self.order = condition, value, order
        state.has_choices = state.has_maybes = True

    def __hash__(self) -> int:
        # Sets list such members in the same order in every recording.
        return self.order if type(self.order) is int else object.__hash__(self)

    def __repr__(self) -> str:
        return f"maybe {self.value!r}"


class Lazy:
    """An iterable that computes entries on demand: a range, or a view of a dict.

    Attributes:
        is_owned: nothing else advances it, as for a generator.
    """

    __slots__ = ()
    is_owned = True

    def entries(self) -> Object:
        """The entries in order, some of them conditional."""
        raise NotImplementedError

    def steps(self) -> Object:
        """The entries for a loop."""
        return self.entries()

    def unordered(self) -> Object:
        """The entries in any order."""
        return self.entries()

    def length(self) -> Object:
        """The number of entries."""
        raise NotImplementedError

    def truth(self) -> Object:
        """The value whose truth `bool` returns."""
        return self.length()


class DataKey:
    """A data-dependent dict key or set member, a number or a tuple; hashed by identity.

    Attributes:
        value: the key.
    """

    __slots__ = ("value",)

    def __init__(self, value: Object) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"key {self.value!r}"


# Exceeds the number of keys in any dict.
_FIRST_STAMP = 1 << 40


# Room of a list that grows in a loop, at first.
FIRST_ROOM = 32


class Young:
    """The ids of the objects that an iteration created, found once they are asked for.

    Attributes:
        earlier: older objects of the collector's youngest generation; None if there was no iteration.
        ids: of objects known to be created.
    """

    __slots__ = ("earlier", "ids")

    def __init__(self, earlier: list[Object] | None = None, ids: set[int] | None = None) -> None:
        self.earlier = earlier
        self.ids: set[int] = ids or set()

    def __contains__(self, number: int) -> bool:
        if self.earlier is not None:
            self.ids |= {id(made) for made in gc.get_objects(generation=0)} - {id(made) for made in self.earlier}
            self.earlier = None
        return number in self.ids


class State(threading.local):
    """The interpreter's state in one thread.

    Attributes:
        is_recording: values may be data-dependent.
        is_alone: guards decide each branch, as only one path is recorded.
        recorder: of the current recording.
        interrupt: a KeyboardInterrupt raised by the program itself.
        journals: of the running sides, the innermost last.
        path: the tests and outcomes that lead to them.
        facts: values of tracked bools on this path, by instruction.
        guarded: likewise of guarded tests, which hold on all later paths.
        implied: facts implied by recent outcomes of tests.
        global_names: global variables that functions may assign to, with their namespaces.
        attempts: running bodies of `try` and `with`, the innermost last.
        kinds: by instruction, whether a number is Python's; see python_numbers.py.
        facts_of_kinds: derived facts.
        raised_by_numpy: the error that np.errstate makes NumPy raise; None for warnings.
        report: reasons for guards, and merged statements.
        recorders: of loops' iterations.
        sides: number of sides run.
        on_sides: number of instructions recorded on them.
        recursions: number of too deep recursions.
        joins_arrays: selected arrays are joined by entries, if none is written to later.
        may_fill: the recording can be repeated with more tracked arrays.
        joined_arrays: those joined, with their number of writes before.
        joins_lists: likewise for lists of numbers.
        joins_frozen: instances of frozen dataclasses were joined.
        lends_generators: loops run generators that something else holds with their own blocks.
        has_identities: the program tests identity.
        origins: by id, values that stand for others, with options; see identities.py.
        left: final values of finished sides, while others run.
        logic: by operands, results that are recorded once: logic and counts.
        without_effects: calls of caches known to have no side effects.
        callers: ids of objects that exist before the recording.
        before: journal of the callers' objects.
        namespaces: objects whose attributes the program reads as a dict, by the dict's id.
        sets: by id, the histories of sets that the program changes.
        unsettled: places with data-dependent objects.
        has_choices: some value stands for several.
        made: by id, dict values created on a side for a missing key, with dict and key.
        bounds: of numbers, by recording; see bounds.py.
        on_path: likewise on one path, by recording.
        tuples_of_loops: tuples that stand for those of a loop's iterations, where identity is tested.
        shown: arrays, lists and objects that may have another name, by data: writing to them is refused.
        packed: by instruction, the lists of conditions in which each implies those before it.
        counts: by the first one, packed conditions, and how many of them hold.
        packings: by recording, conditions and values, what packing gave.
        stamp: the last order number of a dict key.
        has_maybes: some container has conditional entries.
        outer_cells: ids of cells that outlive a call.
        lengthy: code of loops' blocks that cannot be one instruction.
        loops: by a loop's line, code and number of variables, what its recordings have found.
        in_iterations: the number of instructions recorded of iterations of loops.
        young: ids of objects that the latest iteration of a loop created.
        earlier: objects of the collector's youngest generation from before the current iteration.
        streams: by id, the numbered states of generators of random numbers.
        checks: called when the function has returned; they raise if something that was relied upon has changed.
        room: maximum length of a growing list in a rolled loop.
        withdrawn: by key, places in mutable objects that a loop has replaced: their stand-in, and the place of their list.
        ended: conditions that end a rolled loop: a full list, a large int, or an unjoinable iteration.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.is_recording = self.is_alone = False
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
        self.joins_arrays = self.joins_lists = self.joins_frozen = self.has_identities = self.may_fill = False
        self.lends_generators = False
        self.origins: dict[int, tuple[Object, tuple[tuple[Object, Object], ...]]] = {}
        self.joined_arrays: dict[int, tuple[TrackedArray, int]] = {}
        self.logic: dict[tuple[Object, ...], Operand] = {}
        self.without_effects: set[tuple[Object, ...]] = set()
        self.callers: set[int] = set()
        self.before: Object = {}
        self.namespaces: dict[int, Object] = {}
        self.sets: dict[int, Object] = {}
        self.unsettled: dict[Object, Object] = {}
        self.has_choices = self.has_maybes = False
        self.is_in_loop = False
        self.outer_cells: set[int] = set()
        self.lengthy: set[Object] = set()
        self.made: dict[int, tuple[Object, Object, Object]] = {}
        self.bounds: dict[int, Object] = {}
        self.on_path: tuple[Object, dict[int, Object]] = None, {}
        self.shown: dict[int, Object] = {}
        self.tuples_of_loops: dict[int, tuple[Object, ...]] = {}
        self.packed: dict[tuple[int, int], list[list[int]]] = {}
        self.counts: dict[tuple[int, int], list[tuple[list[int], Object]]] = {}
        self.packings: dict[tuple[int, ...], tuple[Object, list[Object]]] = {}
        self.streams: dict[int, Object] = {}
        self.withdrawn: dict[Object, tuple[Object, Object]] = {}
        self.checks: list[Callable[[], None]] = []
        self.room = FIRST_ROOM
        self.young = Young()
        self.earlier: list[Object] = []
        self.loops: dict[Object, Object] = {}
        self.in_iterations = 0
        self.ended: dict[str, Object] = {"full": False, "large": False, "unjoinable": False, "reasons": {}}
        self.stamp = _FIRST_STAMP
        self.native: Callable[[Object], Object] = lambda f: f
        KNOWN.forget()


state = State()

# Types that stand for several values, with their operations.
CHOICES: dict[type, Object] = {}
_SINGLE = {TrackedArray, bool, int, float, str, type(None), np.float64, np.int64}


def is_data(value: Object) -> bool:
    """True for tracked numbers and arrays."""
    return type(value) is TrackedArray


def is_tracked_value(value: Object) -> bool:
    """True for data-dependent values."""
    return type(value) is TrackedArray or type(value) in CHOICES


def op_of(recorder: Object, number: int) -> Object:
    """The op of an instruction being recorded."""
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
    """Negate a bool, tracked or not."""
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
    """Apply an op to tests; recorded once."""
    return once(op, lambda: logical(op, *tests), *tests)


def once(name: Object, make: Callable[[], Operand], *operands: Object) -> Operand:
    """The result of a named operation on numbers, of which one is tracked; recorded once, in the recording of its operands."""
    recorder = next(operand._recorder for operand in operands if type(operand) is TrackedArray)
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
        found = make()
        if found._recorder is not recorder:
            return found
        state.logic[key] = found
    return TrackedArray(recorder, found._id, found._value, found.type)


def all_of(conditions: Iterable[Object], found: Object = True) -> Object:
    """The conjunction of bools, tracked or not, and one before them; evaluated up to the first False."""
    for condition in conditions:
        found = both(found, condition)
        if found is False:
            break
    return found


def any_of(conditions: Iterable[Object]) -> Object:
    """The disjunction of bools, tracked or not; evaluated up to the first True."""
    found: Object = False
    for condition in conditions:
        found = either(found, condition)
        if found is True:
            break
    return found


def either(a: Object, b: Object) -> Object:
    """a or b, for bools, tracked or not."""
    if type(a) is bool:
        return True if a else b
    if type(b) is bool:
        return True if b else a
    first = _implying(a, b)
    return _once(LOGICAL_OR, a, b) if first is None else b if first is a else a


def where(test: Operand, yes: Object, no: Object) -> Object:
    """Select numbers or arrays by a test."""
    number = chosen_by(SELECT, test, yes, no)
    return np.where(test, yes, no) if number is None else number


def join_conditions(test: Operand, yes: Object, no: Object) -> Object:
    """Select a condition: a bool, tracked or not."""
    if yes is no:
        return yes
    if type(yes) is bool and type(no) is bool:
        return test if yes else negated(test)
    # Facts cover both parts of an `and`.
    if type(no) is bool:
        return either(negated(test), yes) if no else both(test, yes)
    if type(yes) is bool:
        return either(test, no) if yes else both(negated(test), no)
    return where(test, yes, no)


def _implying(a: Operand, b: Operand) -> Operand | None:
    """Which of two tests implies the other; None if unknown."""
    if a._recorder is not b._recorder:
        return None
    if a._id == b._id:
        return a
    for numbers in state.packed.get((id(a._recorder), a._id), ()):
        if b._id in numbers:
            return a if numbers.index(a._id) > numbers.index(b._id) else b
    return None


def note_packed(conditions: list[Object], count: Object = None) -> None:
    """Note that each condition implies those before it, and how many hold."""
    found = [test for test in conditions if is_data(test)]
    if not found or any(test._recorder is not found[0]._recorder for test in found):
        return
    numbers = [test._id for test in found]
    if count is not None:
        leading = next(k for k, test in enumerate(conditions) if is_data(test))
        state.counts.setdefault((id(found[0]._recorder), numbers[0]), []).append((numbers, count - leading if leading else count))
    for test in found:
        state.packed.setdefault((id(test._recorder), test._id), []).append(numbers)


def counted_from(conditions: list[Object], start: int) -> tuple[int, Object]:
    """The number of conditions, from a data-dependent one on, that begin packed ones, and the count that holds; (0, None) if unknown."""
    found: tuple[int, Object] = 0, None
    first = conditions[start]
    for numbers, count in state.counts.get((id(first._recorder), first._id), ()):
        pairs = zip(numbers, conditions[start : start + len(numbers)])
        common = sum(1 for _ in itertools.takewhile(lambda pair: is_data(pair[1]) and pair[1]._id == pair[0], pairs))
        if common >= found[0]:
            found = common, count
    return found


def packed_count(conditions: list[Object]) -> int:
    """The length of the prefix in which each condition is known to imply those before it."""
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
    """The fact about a test, and facts that it implies about packed conditions."""
    found = {(owner, number): holds}
    for numbers in state.packed.get((owner, number), ()):
        k = numbers.index(number)
        found.update(((owner, other), holds) for other in (numbers[:k] if holds else numbers[k + 1 :]))
    return found


def known(test: Operand) -> bool | None:
    """A tracked bool's value on this path; None if unknown."""
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
    """A sequence's stored entries, bypassing a user's class."""
    if type(holder) in _SEQUENCES or not isinstance(holder, _SEQUENCES):
        return holder
    base: Object = next(base for base in _SEQUENCES if isinstance(holder, base))
    return list(base.__iter__(holder))


_SEQUENCES = (list, tuple, deque)


def parts(holder: Object) -> Iterator[tuple[Object, Object]]:
    """Each entry's condition and value, without those excluded on this path."""
    for entry in entries_of(holder):
        condition, value = entry_on_path(entry)
        if condition is not False:
            yield condition, value


def entry_on_path(entry: Object) -> tuple[Object, Object]:
    """An entry's condition, as far as it is unknown on this path, and value."""
    return (True, entry) if type(entry) is not Maybe else (on_path(entry.condition), entry.value)


def on_path(condition: Object) -> Object:
    """A condition, or its outcome if known on this path."""
    fact = known(condition) if is_data(condition) else condition
    return condition if fact is None else fact


def parted(entry: Object) -> tuple[Object, Object]:
    """An entry's condition and value."""
    return (entry.condition, entry.value) if type(entry) is Maybe else (True, entry)


def conditions_of(holder: Object) -> list[Object]:
    """The condition of each entry."""
    return [parted(entry)[0] for entry in entries_of(holder)]


def has_maybes(holder: Object) -> bool:
    """True for a list, tuple, deque, dict or set with conditional entries, keys or members; or a set whose order is not Python's."""
    if not state.has_maybes or not isinstance(holder, (*_SEQUENCES, dict, set)):
        return False
    if isinstance(holder, set) and (history := state.sets.get(id(holder))) is not None and history.is_out_of_order(holder):
        return True
    return Maybe in map(type, holder.values() if isinstance(holder, dict) else entries_of(holder))


def is_nonempty(holder: Object) -> Object:
    """The condition that some entry exists."""
    return any_of(condition for condition, _ in parts(holder))


# Maximum number of outcomes with cached implications.
_MOST_IMPLIED = 64


def facts_of(test: Operand, holds: bool) -> dict[tuple[int, int], bool]:
    """The facts that a test's outcome implies."""
    recorder = test._recorder
    if (origin := recorder.origins.get(test._id)) is not None:
        # Also of the enclosing recording's test.
        return {**_with_packed(id(recorder), test._id, holds), **facts_of(origin, holds)}
    op = op_of(recorder, test._id)
    if op is not LOGICAL_NOT and op is not LOGICAL_AND:
        return _with_packed(id(recorder), test._id, holds)
    found: dict[tuple[int, int], bool] = {}
    pending = [(test._id, holds)]
    while pending:
        number, is_so = pending.pop()
        earlier = state.implied.get((id(recorder), number, is_so))
        if earlier is not None:
            # The next iteration's test is this one's and one more.
            found.update(earlier)
            continue
        found.update(_with_packed(id(recorder), number, is_so))
        op, inputs, *_ = recorder.instructions[number]
        if (origin := recorder.origins.get(number)) is not None:
            found.update(facts_of(origin, is_so))
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
    """Apply an operation to each option of choices."""
    for number, argument in enumerate(args):
        if type(argument) in CHOICES:
            return CHOICES[type(argument)].each(argument, lambda value, k=number: lifted(op, *args[:k], value, *args[k + 1 :]))
    return op(*args)


def holds_several(value: Object) -> bool:
    """True for data-dependent objects, and containers of them."""
    if type(value) in _SINGLE:
        return False
    if isinstance(value, (list, tuple, dict, deque, set)):
        return any(type(part) is Maybe or type(part) in CHOICES for part in (value.values() if isinstance(value, dict) else value))
    return type(value) is Maybe or type(value) in CHOICES


def holds(condition: Object) -> bool:
    """A condition's outcome at this point."""
    return bool(condition if type(condition) is bool else condition._value)
