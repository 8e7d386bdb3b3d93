"""Turns values into dictionary keys by type and bits: outcomes of guards, and arguments that a tape is specialised on."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Hashable

import numpy as np

from ..errors import InvalidGuardValue
from .instruction import Operand, Outcome, is_tracked

# Types whose equality is equality of bits, so that (type, value) is a key.
EXACT = (bool, int, str, bytes, type(None))


def value_key(value: Operand, at: object = None) -> Hashable:
    """A key that is equal for equal types and bits: 1, 1.0 and True differ, so do 0.0 and -0.0, and NaN equals NaN.

    Args:
        value: None, bool, int, float, complex, string, NumPy scalar, array, enum member, or a tuple, frozenset or
            frozen dataclass of these. Objects with a __hash__ of their own are refused: they may change and keep it.
        at: the guard that returned it, for the error.

    Raises:
        InvalidGuardValue: naming the part of the value that cannot be a key.
    """
    kind = type(value)
    if kind in EXACT:
        return kind, value
    if kind is float:
        return kind, value.hex()
    if kind is complex:
        return kind, value.real.hex(), value.imag.hex()
    if kind is np.bool_:
        return kind, bool(value)
    if is_tracked(value):
        raise InvalidGuardValue(
            "the guard returned a tracked value, which belongs to a recording", at=at, got=repr(value),
            fix="compute the guard from its own arguments, which are plain arrays",
        )  # fmt: skip
    if isinstance(value, enum.Enum):
        return kind, id(value)  # members live as long as their class, which the key keeps
    if isinstance(value, tuple):
        return kind, *[value_key(part, at) for part in value]
    if kind is frozenset:
        return kind, frozenset(value_key(part, at) for part in value)
    if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
        return _array_key(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and kind.__dataclass_params__.frozen:
        return kind, *[value_key(getattr(value, field.name), at) for field in dataclasses.fields(value)]
    raise InvalidGuardValue(
        "the guard returned something that cannot be a key", at=at, got=f"{kind.__name__}: {repr(value)[:60]}",
        fix="return None, a bool, number, string or array, or a tuple, enum or frozen dataclass of these",
    )  # fmt: skip


def has_identities(key: object) -> bool:
    """True if a key contains identities of this process, such as members of an enum, and so is invalid in another process."""
    if isinstance(key, (tuple, frozenset)):
        return any(map(has_identities, key))
    return isinstance(key, type) and issubclass(key, enum.Enum)


def _array_key(value: np.ndarray | np.generic) -> Hashable:
    if value.dtype.kind == "f":
        value = np.where(np.isnan(value), value.dtype.type(np.nan), value)  # one NaN, whatever its payload and sign
    return np.ndarray, value.dtype.str, value.shape, value.tobytes()


def static_key(value: object) -> Hashable:
    """The key of an argument that a tape is specialised on: by bits if possible, else the object itself."""
    try:
        return value_key(value)
    except InvalidGuardValue:
        return type(value), value


def outcome_key(outcome: Outcome) -> Hashable:
    """The key of an automatic guard's outcome: a bool, an int, a float for NaN and infinities, or an array."""
    if type(outcome) is bool or type(outcome) is int:
        return type(outcome), outcome
    if isinstance(outcome, np.ndarray):
        return outcome.dtype.str, outcome.shape, outcome.tobytes()
    return float, float(outcome).hex()
