"""Python numbers among tracked ones: they raise errors where NumPy's are inf or NaN.

Joins of Python numbers and results of the math module are Python's; arithmetic is if all operands are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ....ir.instruction import CONSTANT, INPUT
from ....ops.elementwise.comparison import LOGICAL_AND, LOGICAL_NOT
from ....recording.arrays.numbers import logical
from ....recording.arrays.tracked import TrackedArray
from ...anything import Object
from ..values import both, join_conditions, negated, once, op_of, state

_ARITHMETIC = frozenset(
    "add subtract multiply divide negative absolute power integer_power square sqrt reciprocal floor_divide remainder convert "
    "bitwise_and bitwise_or bitwise_xor".split()
)
_COMPARISONS = frozenset("less less_equal greater greater_equal equal not_equal logical_not logical_and logical_or logical_xor".split())


class Kind(NamedTuple):
    """The kind of a number: Python's or not, int or not; None if unknown."""

    is_python: bool | None
    is_int: bool | None


def kind_of(value: Object) -> Kind:
    """A number's kind, as far as it is independent of data."""
    python, whole = is_python(value), is_int(value)
    return Kind(python if type(python) is bool else None, whole if type(whole) is bool else None)


def note_kind(value: Object, kind: Object, *, of_entries: bool = False) -> Object:
    """Note a number's kind: a Kind, or a test and two numbers or kinds that it selects from; returns the number.

    Args:
        of_entries: the value may be a vector, of numbers of that kind.
    """
    if type(value) is TrackedArray and (of_entries or not value.type.shape):
        key = id(value._recorder), value._id
        state.kinds[key] = kind
        for fact in (_PYTHON, _INT):
            # May be cached already.
            state.facts_of_kinds.pop((fact.name, *key), None)
    return value


class KindsOfCarries:
    """The kinds of a loop's carries at the start and the end of an iteration.

    Attributes:
        inputs: the carries in the tape of an iteration.
        at_start: by carry, the assumed kinds.
        at_end: the kinds at the end.
    """

    def __init__(self, given: list[Object], doubts: list[Kind | None]) -> None:
        self.given = given
        self.at_start = [doubt or kind_of(value) for doubt, value in zip(doubts, given, strict=True)]
        self.at_end = self.at_start
        self.inputs: list[TrackedArray] = []

    def note_first(self, inputs: list[TrackedArray]) -> None:
        """Assume the kinds of the next inputs."""
        for value, kind in zip(inputs, self.at_start[len(self.inputs) :]):
            note_kind(value, kind, of_entries=True)
        self.inputs += inputs

    def settle(self, recorder: Object, results: list[Object]) -> bool:
        """Find the kinds at the end, of results that are not None; False if a kind was used that may differ at the start."""
        is_settled = True
        facts = state.facts_of_kinds
        asked = {k for k, v in enumerate(self.inputs) if any((fact, id(recorder), v._id) in facts for fact in ("python", "int"))}
        while True:
            self.at_end = [start if value is None else kind_of(value) for value, start in zip(results, self.at_start, strict=True)]
            joined = [Kind(*(x if x == y else None for x, y in zip(a, b))) for a, b in zip(self.at_start, self.at_end)]
            changed = [k for k, kind in enumerate(joined) if kind != self.at_start[k]]
            if not changed:
                return is_settled
            is_settled = is_settled and asked.isdisjoint(changed)
            for k in changed:
                note_kind(self.inputs[k], joined[k], of_entries=True)
            self.at_start = joined
            state.facts_of_kinds = {key: fact for key, fact in state.facts_of_kinds.items() if key[1] != id(recorder)}

    def note_last(self, first: Object, leaves: list[Object]) -> None:
        """Note the kinds after the loop; those at the start if the first test fails."""
        for value, given, kind in zip(leaves, self.given, self.at_end):
            known = kind if kind_of(given) == kind or type(first) is not TrackedArray else (first, kind, given)
            note_kind(value, known, of_entries=True)


def one_if(condition: Object) -> Object:
    """1 if a condition holds, else 0: a Python int."""
    if type(condition) is bool:
        return int(condition)
    return note_kind(np.where(condition, 1, 0), Kind(True, True))


def one_more(count: Object, condition: Object) -> Object:
    """count + 1 where a condition holds, else count; recorded once, as growing lists repeat it."""
    if type(count) is int and type(condition) is bool:
        return count + condition
    return once("one_more", lambda: count + one_if(condition), count, condition)


def note_python(value: Object) -> Object:
    """Note that a number is Python's; returns the number."""
    return note_kind(value, Kind(True, False))


def python_bool(value: Object) -> Object:
    """A bool as a Python bool: a new instruction if the value may be NumPy's."""
    if type(value) is bool or is_python(value) is True:
        return value
    if op_of(value._recorder, value._id) is not LOGICAL_NOT:
        value = logical(LOGICAL_AND, value, value)
    return note_kind(value, BOOL)


BOOL = Kind(True, False)


def is_python(value: Object) -> Object:
    """The condition that a number is Python's: a bool, tracked or not."""
    if type(value) is not TrackedArray:
        return value.is_python if type(value) is Kind else type(value) in (int, float, bool)
    if not state.kinds or _is_array(value):
        return False
    return _found(_PYTHON, value._recorder, value._id)


def is_python_bool(value: Object) -> bool:
    """True for a data-dependent bool that may be Python's."""
    return type(value) is TrackedArray and value.type.dtype.kind == "b" and not value.type.shape and is_python(value) is not False


def plain_like(value: TrackedArray) -> bool | int | float | None:
    """A number of the Python type of a tracked one, a float where data decide the type; None for NumPy's and arrays."""
    if not state.kinds or value.type.shape or is_python(value) is not True:
        return None
    kind = type_if_known(value)
    return kind(1) if kind in (bool, int) else 1.0


def is_int(value: Object) -> Object:
    """The condition that a number is an int: a bool, tracked or not; None if unknown."""
    if type(value) is not TrackedArray:
        return value.is_int if type(value) is Kind else type(value) in (int, np.int64)
    if value.type.dtype.kind != "f" or not state.kinds or _is_array(value):
        return value.type.dtype.kind == "i"
    return _found(_INT, value._recorder, value._id)


def _is_array(value: TrackedArray) -> bool:
    """True for arrays, without vectors that stand for numbers."""
    return bool(value.type.shape) and (id(value._recorder), value._id) not in state.kinds


def types_of(number: Object) -> list[tuple[type, Object]] | None:
    """The possible Python types of a tracked number, or the type of another value, with their conditions; None if unknown."""
    if type(number) is not TrackedArray or number.type.shape:
        return [(type(number), True)]
    kind, name = number.type.dtype.kind, number._recorder.instructions[number._id].op.name
    python = number._id in number._recorder.python_ints or is_python(number)
    if kind == "b" and python is False and name.startswith("logical"):
        # `not` of NumPy bools gives Python's; `|` does not tell whether any() computed it.
        python = True if name == "logical_not" else None
    whole = is_int(number) if kind in "if" else False
    if python is None or whole is None or kind not in "ifb":
        return None
    found = [(bool, python), (np.bool_, negated(python))] if kind == "b" else [
        (int, both(python, whole)), (float, both(python, negated(whole))),
        (np.int64, both(negated(python), whole)), (number.type.dtype.type, both(negated(python), negated(whole))),
    ]  # fmt: skip
    return [(one, when) for one, when in found if when is not False]


def type_if_known(number: TrackedArray) -> type | None:
    """A tracked number's Python type, if independent of data."""
    return next((kind for kind, when in types_of(number) or () if when is True), None)


class _Fact(NamedTuple):
    """A fact about instructions, derived from their operands."""

    name: str
    follows: frozenset[str]
    of_constant: Callable[[Object, int, np.ndarray], Object]
    of_number: Callable[[Object], Object]


def _found(fact: _Fact, recorder: Object, wanted: int) -> Object:
    """A fact about an instruction. Iterative, as sums may be long."""
    pending, found = [wanted], state.facts_of_kinds
    while pending:
        number = pending[-1]
        key = fact.name, id(recorder), number
        if key not in found:
            kind = state.kinds.get((id(recorder), number))
            unknown = [k for k in _operands(fact, recorder, number, kind) if (fact.name, id(recorder), k) not in found]
            if unknown:
                pending += unknown
                continue
            found[key] = _by_operands(fact, recorder, number) if kind is None else _noted(fact, kind)
        pending.pop()
    return found[fact.name, id(recorder), wanted]


def _operands(fact: _Fact, recorder: Object, number: int, kind: Object) -> list[int]:
    """The instructions that it depends on."""
    if kind is not None:
        return [] if type(kind) is Kind else [v._id for v in kind[1:] if type(v) is TrackedArray and v._recorder is recorder]
    op, inputs, *_ = recorder.instructions[number]
    return list(inputs) if op.name in fact.follows else []


def _by_operands(fact: _Fact, recorder: Object, number: int) -> Object:
    op, inputs, params, type_, *_ = recorder.instructions[number]
    if op is INPUT:
        return _of_input(fact, recorder, number)
    if op is CONSTANT:
        return fact.of_constant(recorder, number, params[0])
    if op.name not in fact.follows:
        return fact is _INT and type_.dtype.kind == "i"
    parts = [state.facts_of_kinds[fact.name, id(recorder), k] for k in inputs]
    if any(part is None for part in parts):
        return False if any(part is False for part in parts) else None
    return functools.reduce(both, parts, True)


def _of_input(fact: _Fact, recorder: Object, number: int) -> Object:
    """A fact about a captured value of the enclosing recording."""
    origin = recorder.origins.get(number)
    if origin is None:
        return fact is _INT and recorder.instructions[number].type.dtype.kind == "i"
    found = fact.of_number(origin)
    return found if type(found) is bool else None


def _noted(fact: _Fact, kind: Object) -> Object:
    if type(kind) is Kind:
        return fact.of_number(kind)
    test, *numbers = kind
    first, second = map(fact.of_number, numbers)
    return None if first is None or second is None else join_conditions(test, first, second)


def _is_plain(recorder: Object, number: int, value: np.ndarray) -> bool:
    return value.shape == () and number not in recorder.numpy_numbers


def _is_whole(recorder: Object, number: int, value: np.ndarray) -> bool | None:
    """True for ints; None for whole floats, as an int operand of a float operation is stored as one."""
    return value.dtype.kind == "i" or (None if float(value).is_integer() else False)


_PYTHON = _Fact("python", _ARITHMETIC | _COMPARISONS, _is_plain, is_python)
_INT = _Fact("int", _ARITHMETIC - frozenset(("divide", "sqrt", "reciprocal")), _is_whole, is_int)
