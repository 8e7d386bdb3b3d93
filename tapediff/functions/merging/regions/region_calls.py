"""Regions at run time: a branch, or a turn of a loop, as the call of a sub-tape from its live variables to those that it assigns.

The sub-tape has a variant for each path through the region, so that the tape around it needs one. What is recorded once and runs many times
is only what computes values; everything else that goes in is a constant, and another one is another callee.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType

import numpy as np

from ....base.source_location import Site, is_library_file
from ....errors import GuardFailed, LoopTooLong, NewTape, RecursionTooDeep, TapediffError, UnstableBranch
from ....ir.instruction import BOOL, FLOAT64, INT64, Operand, Tree, is_tracked
from ....ir.pytree import flatten
from ....recording.aliases import Aliases, Condition, holds
from ....recording.arrays.tracked import TrackedArray
from ....recording.python_state.object_snapshot import LARGEST_COMPARED, PLAIN, plain_key
from ....recording.recorder import current_recorder
from ...callees.body import Body, as_operand, call, caught_outside, type_of
from ...callees.recorded_callee import RecordedCallee
from ...captured.freeze import Frozen, freeze
from ...captured.outside_state import OutsideState, TooMuchState, names_of, watch_arrays
from ..plain_numbers import may_be_plain, note_plain, unlike_python
from ..purity import is_operand, is_record
from ..rules import BOOLS, FLOATS, INTS, VARYING, Place, Refused, is_large, is_small, needed

# A region whose constants take more values is left to paths: each has a callee of its own.
MOST_CALLEES = 32

# So many different sets of values that are no data may leave a region; the caller has a guard on which one it was.
MOST_OUTCOMES = 4

DTYPES = (FLOAT64, INT64, BOOL)

# Makes the error that gives up a region: the rule, and what was found.
Refuse = Callable[[str, str], Exception]


class _Missing:
    """Stands for an entry that there is not; whatever asks it for anything is refused."""

    def __bool__(self) -> bool:
        return False


MISSING = _Missing()


class Region:
    """One region of a function.

    Args:
        name: in messages.
        code: of the function that it stands in.
        has_outcomes: whether values that are no data may leave it.
        all_plain: whether any number that leaves it may be a plain one.
        may_hand_through: whether an array that goes in may come out: nothing that gets it writes to arrays.
        refuse: makes the error that gives it up.
        place: in the function.

    Attributes:
        kept: a value that is no data which leaves it, and the line that needs it; None if there is none.
    """

    def __init__(
        self, name: str, code: CodeType, has_outcomes: bool, all_plain: bool, may_hand_through: bool, refuse: Refuse, place: Place
    ) -> None:  # fmt: skip
        self._name, self._names, self.code, self.place = name, names_of(code), code, place
        self.kept: tuple[Tree, str] | None = None
        self.has_outcomes, self.all_plain, self.may_hand_through = has_outcomes, all_plain, may_hand_through
        self.refuse = refuse
        self._known: dict[Hashable, _Callee] = {}
        self._frozen: dict[Hashable, _Callee] = {}
        self._count = 0

    def run(self, function: Callable[..., tuple[Tree, ...]], values: Sequence[Tree], into: Sequence[int], out: Sequence[int]) -> Tree:
        """The variables after the region.

        Args:
            function: of the live variables; gives those that it assigned.
            into, out: what may become data, as flags for each variable.
        """
        taken = _Taken(self.refuse)
        form = tuple([taken.form(value, flags) for value, flags in zip(values, into)])
        if not (any(map(is_tracked, taken.data)) or any(map(_closes_over_data, taken.constants))) or caught_outside():
            return function(*values)
        operands = [as_operand(leaf) for leaf in taken.data]
        key = (form, tuple([type_of(o) for o in operands]), taken.key()) if taken.is_simple else None
        callee = self._known.get(key) if key is not None else None
        frozen = None if callee is None else callee.frozen
        if callee is None or frozen is None or frozen.changed_global() is not None or not callee.state.is_same():
            callee, frozen = self._callee(function, form, taken, operands, out)
            if key is not None:
                self._known[key] = callee
        if callee.state.has_large_arrays:
            watch_arrays(callee.state, lambda: self.refuse("calls", "what it reads has changed"))
        results = call(callee.callee, callee.body, [*operands, *frozen.tracked], taken.data, frozen)
        return callee.body.exits.rebuilt(results)

    def _callee(
        self, function: Callable[..., tuple[Tree, ...]], form: tuple[Tree, ...], taken: _Taken, operands: Sequence[Operand],
        out: Sequence[int],
    ) -> tuple[_Callee, Frozen]:  # fmt: skip
        # A tuple, whose functions are frozen as well.
        constants = tuple(taken.constants)

        def of_data(*data: Operand) -> tuple[Tree, ...]:
            leaves = iter(data)
            return function(*[_put(part, leaves, constants) for part in form])

        frozen = freeze(of_data)
        types = [type_of(o) for o in (*operands, *frozen.tracked)]
        key = (form, frozen.key, tuple(types))
        known = self._frozen.get(key)
        if known is None or not known.state.is_same():
            state = self._state(function, constants)
            known = self._frozen.get((key, state.key))
            if known is None:
                known = self._made(frozen, types, taken, state, out)
            self._frozen[key] = self._frozen[key, state.key] = known
        return known, frozen

    def _state(self, function: Callable[..., tuple[Tree, ...]], constants: tuple[Tree, ...]) -> OutsideState:
        try:
            return OutsideState((function, *constants), self._names)
        except TooMuchState as error:
            raise self.refuse("calls", str(error)) from error

    def _made(
        self, frozen: Frozen, types: Sequence[Tree], taken: _Taken, state: OutsideState, out: Sequence[int]
    ) -> _Callee:  # fmt: skip
        self._count += 1
        if self._count > MOST_CALLEES:
            raise self.refuse("calls", f"it reads more than {MOST_CALLEES} different values that are no data")
        body = _RegionBody(self, self._name, frozen, taken.data, _Exits(self, out, self.refuse), state)
        # Constants that are not simple belong to one recording.
        return _Callee(RecordedCallee(self._name, types, body), body, frozen if taken.is_simple else None)


class _Callee:
    """A callee of a region, its body, and the functions that it was made from."""

    def __init__(self, callee: RecordedCallee, body: _RegionBody, frozen: Frozen | None) -> None:
        self.callee, self.body, self.frozen, self.state = callee, body, frozen, body.state


class RefusingAliases(Aliases):
    """The aliases of a region or loop, which is given up where an array that it handed through is written to."""

    refuse: Callable[[], Exception] | None = None

    def _check(self, condition: Condition, site: Site | None) -> None:
        if self.refuse is not None and holds(condition):
            raise self.refuse()
        super()._check(condition, site)


class _RegionBody(Body):
    """The body of a region, which is given up at what plain arrays do not raise."""

    def __init__(
        self, region: Region, name: str, frozen: Frozen, data: Sequence[Operand], exits: _Exits, state: OutsideState
    ) -> None:  # fmt: skip
        super().__init__(name, frozen, flatten(tuple(data))[1], lambda functions, tree: exits.of(functions[0](*tree)))
        self._region, self.exits, self.state = region, exits, state
        self.aliases = RefusingAliases(name)
        self.aliases.refuse = lambda: region.refuse("scalars", "an array goes through it unchanged, and is written to afterwards")
        self._recorded = 0

    def __call__(self, arguments: Sequence[Operand]) -> list[Operand]:
        self._recorded += 1
        if self._recorded > MOST_PATHS:
            raise self._region.refuse("calls", f"it has more than {MOST_PATHS} paths")
        if self._recorded > 1:
            self.check_state()
        try:
            leaves = super().__call__(arguments)
            found = unlike_python(arguments[0]._recorder) if arguments else None
        except (*_STAYS, Refused):
            raise
        except TapediffError as error:
            raise self._region.refuse("calls", str(error).split("\n")[0]) from error
        if found is not None:
            raise self._region.refuse(found[0], f"it computes {found[1].op.name} of what may be a plain number")
        given = {id(_root(a)) for a in arguments if a.shape}
        roots = [id(_root(leaf)) for leaf in leaves if type(leaf) is TrackedArray and leaf.shape]
        if len(set(roots)) != len(roots):
            raise self._region.refuse("scalars", "one array leaves it twice")
        # Writes to large arrays may be missed.
        large = {id(_root(a)) for a in arguments if a.shape and 8 * a.size > LARGEST_COMPARED}
        if not (large if self._region.may_hand_through else given).isdisjoint(roots):
            raise self._region.refuse("scalars", "an array goes through it unchanged, and may be written to")
        return leaves

    def check_state(self) -> None:
        """Raise where something that it reads has changed since its first path was recorded."""
        if not (self.state.is_same() and self.state.are_arrays_same()):
            raise self._region.refuse("calls", "what it reads has changed")


# A region with more paths is left to the paths of the whole.
MOST_PATHS = 48

# What a call may raise in any form.
_STAYS = (GuardFailed, NewTape, UnstableBranch, LoopTooLong, RecursionTooDeep)


def _root(array: TrackedArray) -> Tree:
    while array._view is not None and type(array._view.base) is TrackedArray:
        array = array._view.base
    return array


# What goes in: data, and constants

_DATA = ("data",)
# Numbers that may be Python's own, whose operators raise errors.
_PLAIN_DATA = ("plain",)


class _Taken:
    """The values that go into a region, taken apart.

    Attributes:
        data: numbers and arrays that are its inputs.
        constants: all else.
        is_simple: the constants are numbers, strings, modules and functions without variables of their own.
    """

    def __init__(self, refuse: Refuse) -> None:
        self._refuse = refuse
        self.data: list[Tree] = []
        self.constants: list[Tree] = []
        self.is_simple = True

    def form(self, value: Tree, flags: int) -> tuple[Tree, ...]:
        kind = type(value)
        if kind is TrackedArray:
            if value.type.dtype not in DTYPES or value._id in value._recorder.python_ints:
                raise self._refuse("float32", f"it computes with {value.type.dtype}")
            if value._view is not None and not value.type.shape:
                raise self._refuse("scalars", "it computes with an array without axes, which `+=` changes")
            self.data.append(value)
            return _PLAIN_DATA if not value.type.shape and may_be_plain(value) else _DATA
        if kind is np.float64 or (kind is np.bool_ and flags & BOOLS):
            self.data.append(value)
            return _DATA
        if (kind is float and flags & FLOATS and not is_large(value)) or (kind is int and flags & INTS and is_small(value, flags)):
            self.data.append(float(value))
            return _PLAIN_DATA
        if kind is np.ndarray and flags & VARYING and value.dtype == FLOAT64:
            self.data.append(value)
            return _DATA
        if kind is range or kind is slice:
            return kind, tuple([self.form(part, 0) for part in (value.start, value.stop, value.step)])
        if kind is tuple or (issubclass(kind, tuple) and is_record(kind)):
            return kind, tuple([self.form(part, 0) for part in value])
        if value is not MISSING and not is_operand(value):
            raise self._refuse("calls", f"it reads {kind.__name__}")
        self.is_simple = self.is_simple and _is_simple(value, kind)
        self.constants.append(value)
        return "constant", len(self.constants) - 1

    def key(self) -> Hashable:
        return tuple([id(c) if type(c) in _NAMED else plain_key(c) for c in self.constants])


def _closes_over_data(value: Tree) -> bool:
    """Whether a value is a function with tracked variables."""
    return type(value) is FunctionType and any(is_tracked(_held_by(cell)) for cell in value.__closure__ or ())


def _held_by(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _is_simple(value: Tree, kind: type) -> bool:
    if kind is FunctionType:
        return not (value.__closure__ or value.__defaults__ or value.__kwdefaults__)
    return kind in PLAIN or kind in (np.int64, np.bool_) or kind in _NAMED


# Told apart by identity.
_NAMED: frozenset[type] = frozenset((ModuleType, BuiltinFunctionType, FunctionType, type, np.ufunc, type(MISSING)))


def _put(form: tuple[Tree, ...], data: Iterator[Operand], constants: Sequence[Tree]) -> Tree:
    if len(form) == 1:
        return next(data) if form == _DATA else note_plain(next(data))
    kind, rest = form
    if kind == "constant":
        return constants[rest]
    parts = [_put(part, data, constants) for part in rest]
    # Constructors of named tuples may be the user's.
    return kind(*parts) if kind in (range, slice) else tuple.__new__(kind, parts)


# What comes out: data, and the number of the set of all else


class _Exits:
    """How the variables that a region assigns leave it.

    Attributes:
        forms: the variables without their data, by number.
    """

    def __init__(self, region: Region, out: Sequence[int], refuse: Refuse) -> None:
        self._region, self._out, self._refuse = region, out, refuse
        self._has_outcomes, self._all_plain = region.has_outcomes, region.all_plain
        self._are_plain: list[bool] | None = None
        self.forms: list[Tree] = []
        self._values: list[list[Tree]] = []
        self._types: tuple[Tree, ...] = ()

    def of(self, values: Sequence[Tree]) -> Tree:
        """The results of the callee."""
        data: list[Operand] = []
        rest: list[Tree] = []
        form = tuple([self._form(value, flags, data, rest) for value, flags in zip(values, self._out)])
        types = tuple([type_of(leaf) for leaf in data])
        self._types = self._types or types
        if types != self._types:
            raise self._refuse("scalars", f"one path gives {_text(self._types)}, another {_text(types)}")
        self._note_plain(data)
        if not self._has_outcomes:
            if rest or (self.forms and form != self.forms[0]):
                raise self._refuse("outcomes", f"it gives {rest[0]!r}" if rest else "its paths give tuples and none")
            if not self.forms:
                self._keep(form, rest)
            return tuple(data)
        key = (form, tuple([_static_key(value) for value in rest]))
        if key not in self.forms:
            if len(self.forms) >= MOST_OUTCOMES:
                raise self._refuse("scalars", f"it gives more than {MOST_OUTCOMES} different values that are no data")
            self._keep(key, rest)
        return (*data, np.int64(self.forms.index(key)))

    def _note_plain(self, data: Sequence[Operand]) -> None:
        """Note which results may be plain numbers, as those of the first path, or all."""
        are_plain = [self._all_plain or may_be_plain(leaf) for leaf in data]
        self._are_plain = self._are_plain or are_plain
        if any(is_now and not was for is_now, was in zip(are_plain, self._are_plain)):
            raise self._refuse("plain", "it gives a plain number")

    def _keep(self, form: Hashable, rest: list[Tree]) -> None:
        self.forms.append(form)
        self._values.append(rest)

    def rebuilt(self, results: Tree) -> tuple[Tree, ...]:
        """The variables, from the results of a call."""
        number, data = 0, results
        if self._has_outcomes:
            *data, tracked_number = results
            number = int(tracked_number)
            if number >= len(self.forms):  # a path of another callee is followed
                raise self._refuse("scalars", "what leaves it depends on what it reads")
        data = [note_plain(leaf) if is_plain else leaf for leaf, is_plain in zip(data, self._are_plain or ())]
        form: Tree = self.forms[number][0] if self._has_outcomes else self.forms[0]
        if any(isinstance(part[0], type) for part in form) and identities_matter():
            raise self._refuse("scalars", "a tuple leaves it, and `is` asks which one")
        leaves, rest = iter(data), iter(self._values[number])
        return tuple([_rebuilt(part, leaves, rest) for part in form])

    def _form(self, value: Tree, flags: int, data: list[Operand], rest: list[Tree]) -> tuple[Tree, ...]:
        kind = type(value)
        if kind is TrackedArray:
            is_view_of_one = not value.type.shape and value._view is not None
            if value.type.dtype not in DTYPES or value._id in value._recorder.python_ints or is_view_of_one:
                raise self._refuse("float32", f"it gives {value.type}")
            data.append(value)
            return _DATA
        is_float = kind is float and flags & FLOATS and not is_large(value)
        if kind in (np.float64, np.int64) or is_float or (kind in (bool, np.bool_) and flags & BOOLS):
            data.append(value)
            return _DATA
        if kind is int and flags & INTS and is_small(value, flags):
            data.append(float(value))
            return _DATA
        if kind is np.ndarray and (value.dtype in (FLOAT64, INT64) or (value.dtype == BOOL and flags & BOOLS)):
            data.append(value)
            return _DATA
        if kind is tuple or (issubclass(kind, tuple) and is_record(kind)):
            return kind, tuple([self._form(part, 0, data, rest) for part in value])
        if kind not in PLAIN:
            raise self._refuse("scalars", f"it gives {kind.__name__}")
        # Room for a number that another path has here.
        data.append(np.float64(0.0))
        rest.append(value)
        self._region.kept = value, needed(value, flags, self._region.code)
        return _STATIC


_STATIC = ("static",)


def _rebuilt(form: tuple[Tree, ...], data: Iterator[Operand], rest: Iterator[Tree]) -> Tree:
    if form == _DATA:
        return next(data)
    if form == _STATIC:
        next(data)
        return next(rest)
    kind, inner = form
    parts = [_rebuilt(part, data, rest) for part in inner]
    return tuple.__new__(kind, parts)


def _static_key(value: Tree) -> Hashable:
    return plain_key(value)


def _text(types: Sequence[Tree]) -> str:
    return ", ".join(map(str, types))


# Identity


def identities_matter() -> bool:
    """Whether a function that is being recorded asks `is` of anything but constants."""
    recorder = current_recorder()
    first = 0
    while recorder is not None:
        first, recorder = recorder.entry_frame, recorder.outer
    frame = sys._getframe(1)
    while frame is not None and id(frame) != first:
        if not is_library_file(frame.f_code.co_filename) and compares_identities(frame.f_code):
            return True
        frame = frame.f_back
    return False


@functools.lru_cache(maxsize=1024)
def compares_identities(code: CodeType) -> bool:
    """Whether a code asks `is` or `id` of two values of which none is a constant."""
    before: dis.Instruction | None = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IS_OP" and not (before is not None and before.opname in ("LOAD_CONST", "LOAD_SMALL_INT")):
            return True
        before = instruction
    return "id" in code.co_names
