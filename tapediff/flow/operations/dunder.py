"""Operators on choices and on objects that define them in Python: Python's dispatch, with translated methods."""

from __future__ import annotations

import dataclasses
import functools
import operator
import sys
from collections import defaultdict, deque
from collections.abc import Callable
from types import FunctionType
from typing import NamedTuple

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from .. import in_python
from ..anything import Object
from ..calls.callables import call
from ..containers import rows
from ..containers.choices import as_value, kinds_of, mapped
from ..containers.data_keys import is_data_key
from ..containers.entries import is_conditional, put, settled_deeply as settle_deeply
from ..containers.keys import is_by_data, item as item_of_dict
from ..containers.positions import are_positions, entry_at, has_choice, is_position, repeated
from ..containers.sets import OPERATORS, combined
from ..containers.views import View, plain_view, viewed
from ..state.fork import refuse_store
from ..state.histories import note_change
from ..state.identities import GENERATED
from ..state.numbers.python_numbers import is_python, is_python_bool, one_if, plain_like
from ..state.places import are_restorable, note_contents
from ..state.values import CHOICES, Choice, Unjoinable, has_maybes, is_by_index, is_data, lifted, state
from ..users_code import KNOWN, shared_method, users_method
from .divisions import check_division, is_of_ints, may_be_zero_of_ints, of_ints, zero_of_ints
from .sequences import is_of_interest, sequences_compared

# Types whose operations Python runs itself.
PLAIN: set[type] = {
    int, float, bool, complex, str, bytes, type(None), list, tuple, dict, set, frozenset, range, slice, np.ndarray, np.float64, np.float32,
    np.int64, np.int32, np.bool_, TrackedArray,
}  # fmt: skip
_IMMUTABLE = {int, float, bool, complex, str, bytes, type(None), tuple, np.float64, np.float32, np.int64, np.int32, np.bool_}
_COMPARED = (list, tuple, deque)
_ATOMS = PLAIN - set(_COMPARED) - {set, frozenset, dict, str, bytes}
_RIGHT = PLAIN - {list, tuple, str, bytes}
_CONSTANT_KEYS = {int, str}
_CONTAINERS = {list, tuple, dict, set, frozenset, str, bytes, type(None)}
_NUMBERS = {int, float, bool, complex, np.bool_, np.float64, np.float32, np.int64, np.int32}
_LOGIC = {"&", "|", "^"}
_SEQUENCES = (list, tuple, str, bytes, bytearray, deque)


class _Binary(NamedTuple):
    symbol: str
    apply: Callable[[Object, Object], Object]
    forward: str
    reflected: str
    inplace: Callable[[Object, Object], Object] | None = None

    @property
    def inplace_name(self) -> str:
        return f"__i{self.forward[2:]}"


_ARITHMETIC = {
    name: _Binary(symbol, getattr(operator, f"__{name}__"), f"__{name}__", f"__r{name}__", getattr(operator, f"__i{name}__"))
    for name, symbol in (
        ("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("floordiv", "//"), ("mod", "%"), ("pow", "** or pow()"),
        ("matmul", "@"), ("and", "&"), ("or", "|"), ("xor", "^"), ("lshift", "<<"), ("rshift", ">>"),
    )
}  # fmt: skip
_COMPARISONS = {
    name: _Binary(symbol, getattr(operator, name), f"__{name}__", f"__{reflected}__")
    for name, symbol, reflected in (
        ("lt", "<", "gt"), ("le", "<=", "ge"), ("gt", ">", "lt"), ("ge", ">=", "le"), ("eq", "==", "eq"), ("ne", "!=", "ne"),
    )
}  # fmt: skip

_DIVISIONS = {op.symbol: name for name, op in _ARITHMETIC.items() if name in ("truediv", "floordiv", "mod", "pow")}


def left(a: Object, b: Object, operation: str | None = None) -> Object:
    """The left operand, unchanged if Python can run the operation itself; else wrapped to dispatch to translated methods.

    Args:
        operation: its name, if the result depends on number types.
    """
    if type(a) in _ATOMS and type(b) in _RIGHT:
        if operation is not None and (type(a) is TrackedArray or type(b) is TrackedArray):
            if _is_of_types(operation, a, b):
                return Wrapped(a)
            check_division(operation, a, b)
        return Wrapped(a) if is_python_bool(a) or is_python_bool(b) else a
    if (type(a) is TrackedArray or type(b) is TrackedArray) and _is_repetition(a, b):
        return Wrapped(a)
    if isinstance(a, _COMPARED) and isinstance(b, _COMPARED) and (is_of_interest(a) or is_of_interest(b)):
        return Wrapped(a)
    if type(a) in _COMPARED and isinstance(b, type(a)):
        return a
    if type(a) is str and (state.has_choices or state.kinds) and type(b) not in _ATOMS:
        return Wrapped(a)
    return a if _is_native(type(a)) and _is_native(type(b)) and not _is_of_conditional(a, b) else Wrapped(a)


def _is_of_types(name: str, a: Object, b: Object) -> bool:
    """True for operations whose results depend on data-dependent number types."""
    return bool(state.kinds) and (is_of_ints(name, a, b) or may_be_zero_of_ints(name, a, b))


def _counted(*operands: Object) -> tuple[Object, ...]:
    """Convert bool operands of arithmetic to ints, as Python does; NumPy's bools only with other numbers."""
    if not any(map(is_python_bool, operands)):
        return operands
    if all(type(value) in (bool, np.bool_) or (is_data(value) and value.type.dtype.kind == "b") for value in operands):
        kinds = [is_python(value) for value in operands]
        if any(kind is False for kind in kinds):
            return operands
        if not all(kind is True for kind in kinds):
            raise Unjoinable("a bool that is counted may be one of Python's or of NumPy's", "convert it by int()")
    if any(type(value) not in _NUMBERS and not (is_data(value) and not value.type.shape) for value in operands):
        return operands
    return tuple(one_if(value) if is_python_bool(value) and is_python(value) is True else value for value in operands)


def _are_sequences(op: _Binary, a: Object, b: Object) -> bool:
    """True for two lists, tuples or deques with Python's own comparison."""
    base = next((base for base in _COMPARED if isinstance(a, base)), None)
    if base is None or not isinstance(b, base):
        return False
    return users_method(type(a), op.forward) is None and users_method(type(b), op.reflected) is None


def _is_of_conditional(*operands: Object) -> bool:
    """True if an operand is a dict, a set or a deque of limited length with conditional keys, members or entries, or a view of one."""
    return state.has_maybes and any(
        type(viewed(value)) is View
        or (has_maybes(value) and (isinstance(value, (set, dict)) or getattr(value, "maxlen", None) is not None))
        for value in operands
    )


def _of_conditional(op: _Binary, a: Object, b: Object) -> Object:
    """Apply an operator to such operands."""
    name = op.forward[2:-2]
    if isinstance(a, (set, frozenset)) and isinstance(b, (set, frozenset)) and name in OPERATORS:
        return combined(name, a, b)
    settle_deeply(a)
    settle_deeply(b)
    return op.apply(plain_view(a), plain_view(b))


def _is_repetition(a: Object, b: Object) -> bool:
    """True for a sequence and a data-dependent Python int."""
    for sequence, number in ((a, b), (b, a)):
        if type(sequence) in (list, tuple, str, bytes) and is_data(number) and number.type.dtype.kind == "i":
            return number is b or is_python(number) is True
    return False


def operand(a: Object) -> Object:
    """The operand of `-`, `+` or `~`, likewise."""
    is_plain = (type(a) in PLAIN or _is_native(type(a))) and not is_python_bool(a)
    return a if is_plain and not (state.kinds and may_be_zero_of_ints("neg", a)) else Wrapped(a)


def numbers(a: Object, b: Object, operation: str | None = None) -> bool:
    """True if an augmented assignment creates a new value."""
    if operation is not None and (type(a) is TrackedArray or type(b) is TrackedArray):
        if _is_of_types(operation, a, b):
            return False
        check_division(operation, a, b)
    kind = type(a)
    is_immutable = kind in _IMMUTABLE or (kind is TrackedArray and not a.type.shape and a._view is None)
    return is_immutable and type(b) in PLAIN and not is_python_bool(a) and not is_python_bool(b)


def _is_native(kind: type) -> bool:
    """True if the user's code defines none of the class's operators."""
    known = KNOWN.native.get(kind)
    if known is None:
        known = KNOWN.native[kind] = kind not in CHOICES and not any(users_method(kind, name) is not None for name in _NAMES)
    return known


_NAMES = [name for op in (*_ARITHMETIC.values(), *_COMPARISONS.values()) for name in (op.forward, op.reflected)] + [
    op.inplace_name for op in _ARITHMETIC.values()
] + ["__neg__", "__pos__", "__invert__", "__getitem__", "__missing__"]  # fmt: skip


class Wrapped:
    """An operand whose operations run in translated code."""

    __slots__ = ("value",)

    def __init__(self, value: Object) -> None:
        self.value = value

    def __getitem__(self, key: Object) -> Object:
        if isinstance(self.value, dict):
            return _item(self.value, key)
        if is_by_index(self.value) and (found := rows.item(self.value, key)) is not rows.MISSING:
            return found
        value = as_value(self.value) if type(key) is int else self.value
        return mapped(_item, value if type(value) is TrackedArray and len(value.type.shape) == 1 else self.value, key)

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def _method(op: _Binary) -> Callable[[Wrapped, Object], Object]:
    def run(self: Wrapped, other: Object) -> Object:
        value = self.value
        if type(value) in CHOICES or type(other) in CHOICES:
            value, other = _read(value, other)
        if type(value) in CHOICES or type(other) in CHOICES:
            return _on_options(op, value, other)
        return _dispatched(op, value, other)

    return run


def _on_options(op: _Binary, a: Object, b: Object) -> Object:
    """An operation of choices: a method that all options share is called once."""
    kinds, others = kinds_of(a), kinds_of(b)
    if (type(a) is Choice or type(b) is Choice) and (others <= kinds or others <= PLAIN) and shared_method(kinds, op.forward) is not None:
        (kind,) = kinds
        result = call(_defined(kind, op.forward), a, b)
        if type(result) is Choice and any(option is NotImplemented for option in result.options):
            raise Unjoinable(f"data decide whether {op.forward} returns NotImplemented", "return it by type alone")
        if result is not NotImplemented:
            return result
    return mapped(lambda p, q: _dispatched(op, p, q), a, b)


def _read(*operands: Object) -> tuple[Object, ...]:
    """Operands of a Python operation, with choices of arrays read as selected entries."""
    for value in operands:
        if type(value) not in PLAIN and not (type(value) is Choice and all(type(option) in PLAIN for option in value.options)):
            return operands
    return tuple(map(as_value, operands))


for _op in (*_ARITHMETIC.values(), *_COMPARISONS.values()):
    setattr(Wrapped, _op.forward, _method(_op))


def _unary(name: str, apply: Callable[[Object], Object]) -> Callable[[Wrapped], Object]:
    def run(value: Object) -> Object:
        method = users_method(type(value), name)
        (value,) = _counted(value)
        if method is not None:
            return call(method, value)
        result = apply(value)
        return zero_of_ints(result, value) if state.kinds and may_be_zero_of_ints(apply.__name__, value) else result

    return lambda self: mapped(run, *_read(self.value))


for _name, _apply in (("__neg__", operator.neg), ("__pos__", operator.pos), ("__invert__", operator.invert)):
    setattr(Wrapped, _name, _unary(_name, _apply))


def compared(name: str, a: Object, b: Object) -> Object:
    """Compare two values by an operator's name."""
    op = _COMPARISONS[name]
    if type(a) in _ATOMS and type(b) in PLAIN:
        return op.apply(*_beside_containers(a, b))
    return _on_options(op, a, b)


def _beside_containers(a: Object, b: Object) -> tuple[Object, Object]:
    """Operands, with an own number of Python's type for one that depends on data beside a container."""
    if type(a) is TrackedArray and type(b) in _CONTAINERS and (number := plain_like(a)) is not None:
        return number, b
    if type(b) is TrackedArray and type(a) in _CONTAINERS and (number := plain_like(b)) is not None:
        return a, number
    return a, b


def _operated(op: _Binary) -> Callable[[Object, Object], Object]:
    """An operator as a function."""
    return lambda a, b: _on_options(op, a, b)


added = _operated(_ARITHMETIC["add"])
multiplied = _operated(_ARITHMETIC["mul"])


def negative(a: Object) -> Object:
    """-a."""
    return -operand(a)


def _dispatched(op: _Binary, a: Object, b: Object) -> Object:
    """Python's dispatch: the reflected method first if a subclass on the right overrides it; TypeError if neither method applies."""
    if op.inplace is None and _are_sequences(op, a, b) and (is_of_interest(a) or is_of_interest(b)):
        return sequences_compared(compared, op.forward[2:-2], a, b)
    if _is_of_conditional(a, b) and _defined(type(a), op.forward) is None and _defined(type(b), op.reflected) is None:
        return _of_conditional(op, a, b)
    if op.symbol == "*" and _is_repetition(a, b):
        return repeated(b, a) if is_data(a) else repeated(a, b)
    if op.symbol == "%" and type(a) is str and (state.has_choices or state.kinds):
        # Formatting reads what containers hold.
        return lifted(lambda *parts: call(a.__mod__, parts), *b) if type(b) is tuple else call(a.__mod__, b)
    if type(a) in PLAIN and type(b) in PLAIN:
        a, b = _beside_containers(a, b)
        if op.inplace is not None and op.symbol not in _LOGIC:
            a, b = _counted(a, b)
        if op.symbol in _DIVISIONS and (type(a) is TrackedArray or type(b) is TrackedArray):
            check_division(_DIVISIONS[op.symbol], a, b)
        name = op.forward[2:-2]
        if not _is_of_types(name, a, b):
            return op.apply(a, b)
        return of_ints(name, a, b) if is_of_ints(name, a, b) else zero_of_ints(op.apply(a, b), a, b)
    first, second = _defined(type(a), op.forward), _defined(type(b), op.reflected)
    if first is None and second is None:
        return op.apply(a, b)
    is_comparison = op.inplace is None
    kinds = type(a), type(b)
    reflected_first = kinds[0] is not kinds[1] and issubclass(kinds[1], kinds[0])
    if reflected_first and not is_comparison:
        reflected_first = getattr(kinds[1], op.reflected, None) is not getattr(kinds[0], op.reflected, None)
    attempts = [(first, a, b, op.forward), (second, b, a, op.reflected)]
    if not is_comparison and kinds[0] is kinds[1]:
        attempts.pop()
    if reflected_first:
        attempts.reverse()
    for method, self, other, name in attempts:
        if method is not None:
            result = call(method, self, other)
        else:
            native = getattr(type(self), name, None)
            if native is None or (isinstance(self, _SEQUENCES) and name in ("__add__", "__mul__")):
                continue
            if _is_of_conditional(self, other):
                settle_deeply(self)
                settle_deeply(other)
            result = native(self, plain_view(other))
        if result is not NotImplemented:
            return result
    if op.forward in ("__eq__", "__ne__"):
        return (a is b) == (op.forward == "__eq__")
    if isinstance(a, _SEQUENCES) and op.forward in ("__add__", "__mul__"):
        return op.apply(a, b)
    kind = f"'{op.symbol}' not supported between instances of" if is_comparison else f"unsupported operand type(s) for {op.symbol}:"
    raise TypeError(f"{kind} '{kinds[0].__name__}' and '{kinds[1].__name__}'")


def _defined(kind: type, name: str) -> FunctionType | None:
    """A class's operator if it runs the user's code: `!=` may be derived from `==`, and comparisons of dataclasses have no source."""
    if name == "__ne__" and kind.__ne__ is object.__ne__ and users_method(kind, "__eq__") is not None:
        return _inverted(_defined(kind, "__eq__"))
    method = users_method(kind, name)
    if method is None or method.__code__.co_filename != GENERATED or not hasattr(kind, "__dataclass_fields__"):
        return method
    return _by_fields(next(base for base in kind.__mro__ if name in vars(base)), name)


_inverted = functools.lru_cache(maxsize=1000)(in_python.inverted_)


@functools.lru_cache(maxsize=1000)
def _by_fields(kind: type, name: str) -> FunctionType:
    """A dataclass's comparison: of tuples of its fields, but equality, since Python 3.13, of one field after the other."""
    fields = [field.name for field in dataclasses.fields(kind) if field.compare]
    if name == "__eq__" and sys.version_info >= (3, 13):
        return in_python.equal_fields_(fields)
    return in_python.by_fields_(fields, getattr(operator, name))


def _in_place(name: str) -> Callable[[Object, Object], Object]:
    op = _ARITHMETIC[name]
    inplace = op.inplace
    assert inplace is not None

    def run(a: Object, b: Object) -> Object:
        method = users_method(type(a), op.inplace_name)
        if method is not None:
            result = call(method, a, b)
            if result is not NotImplemented:
                return result
            return _dispatched(op._replace(symbol=_inplace_symbol(op)), a, b)
        note_change(a, op.inplace_name, (b,))
        if _is_of_conditional(a, b) and isinstance(a, set):
            put(a, list(_of_conditional(op, a, b)))
            return a
        change = a.extend if name == "add" and isinstance(a, deque) else a.update if name == "or" and isinstance(a, dict) else None
        if change is not None and state.has_maybes:
            call(change, b)
            return a
        if _is_native(type(b)) or hasattr(type(a), op.inplace_name):
            if hasattr(type(a), op.inplace_name) and not are_restorable(a):
                refuse_store(f"a {type(a).__name__} is changed in place in a branch")
            note_contents(a)
            is_of_types = is_python_bool(a) or is_python_bool(b) or _is_of_types(name, a, b)
            return _dispatched(op, a, b) if is_of_types else inplace(a, b)
        return _dispatched(op._replace(symbol=_inplace_symbol(op)), a, b)

    return lambda a, b: lifted(run, a, b)


def _inplace_symbol(op: _Binary) -> str:
    return "**=" if op.forward == "__pow__" else f"{op.symbol}="


iadd, isub, imul, itruediv, ifloordiv, imod, ipow, imatmul, iand, ior, ixor, ilshift, irshift = map(_in_place, _ARITHMETIC)

# Functions of the operator module.
BY_FUNCTION: dict[Object, Callable[[Object, Object], Object]] = {
    operator.getitem: lambda a, key: Wrapped(a)[key],
    **{op.apply: _operated(op) for op in (*_ARITHMETIC.values(), *_COMPARISONS.values())},
    **{op.inplace: _in_place(name) for name, op in _ARITHMETIC.items()},
}


# Entries


def holder(value: Object, key: Object) -> Object:
    """The indexed value, wrapped unless Python can index it itself."""
    kind = type(value)
    if kind is TrackedArray and not value.type.shape and (number := plain_like(value)) is not None:
        return number  # Python's own error
    if isinstance(value, defaultdict) or has_maybes(value):
        return Wrapped(value)
    if kind in PLAIN and type(key) in PLAIN:
        if type(key) in _CONSTANT_KEYS:
            return value
        return Wrapped(value) if (is_data_key(key) if kind is dict else is_position(key) or are_positions(value, key)) else value
    if (isinstance(value, dict) and is_data_key(key)) or (isinstance(value, deque) and is_position(key)):
        return Wrapped(value)
    if kind is np.ndarray and are_positions(value, key):
        return Wrapped(value)
    return value if _is_native(kind) and type(key) not in CHOICES and users_method(type(key), "__index__") is None else Wrapped(value)


def _item(value: Object, key: Object) -> Object:
    kind = type(value)
    method = users_method(kind, "__getitem__")
    if method is not None:
        return call(method, value, key)
    if isinstance(value, (list, tuple, str)) and (index := users_method(type(key), "__index__")) is not None:
        return _item(value, call(index, key))
    if has_choice(key) and not isinstance(value, dict):
        return lifted(lambda *parts: _item(value, parts), *key)
    if is_conditional(value) and not (isinstance(value, deque) and type(key) is slice):
        return entry_at(value, key)
    is_made = isinstance(value, defaultdict) or users_method(kind, "__missing__") is not None
    if isinstance(value, dict) and (is_made or is_by_data(value, key)):
        return item_of_dict(value, key)
    if is_position(key) or are_positions(value, key):
        return entry_at(value, key)
    indexed: Object = value
    return indexed[key]
