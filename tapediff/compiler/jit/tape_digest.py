"""A digest of all that the kernels of a tape follow from."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable
from dataclasses import fields

import numpy as np

from ...base.source_location import PickledSite, Site
from ...base.token import blake2b
from ...ir.instruction import CONSTANT, GUARD, INPUT, ValueType, columns_of
from ...ir.tape import Tape
from ...ops import REGISTRY
from . import object_cache, recipes
from .recipes import Fact

_PACKAGE = __name__.partition(".")[0]

# Longer tapes take longer to read than their kernels' facts are worth, in a program that has recorded them.
MOST_INSTRUCTIONS = 5000

# Reading more bytes of constants, 1 GB a second, takes longer than compiling.
MOST_CONSTANT_BYTES = 1 << 24

# Those that every tape may have.
_STRUCTURAL = (INPUT, CONSTANT, GUARD)


class _Unknown(Exception):
    """A parameter that may be of one process, such as a function."""


def key_of(kind: str, tape: Tape, *of: object) -> bytes | None:
    """The name of facts of some kind on disk, of this tape and further numbers and strings; None where none are kept."""
    digest = digest_of(tape) if object_cache.is_enabled() else None
    return None if digest is None else recipes.key_of(kind, digest, *of)


def digest_of(tape: Tape) -> bytes | None:
    """The digest; equal only for tapes whose kernels are the same, in any process. None for tapes with functions of the user, or with
    sub-tapes and loops, whose kernels are made of more than the tape.
    """
    if columns_of(tape.instructions) is not None or len(tape.instructions) > MOST_INSTRUCTIONS:
        return None
    if sum(i.params[0].nbytes for i in tape.all_of(CONSTANT)) > MOST_CONSTANT_BYTES:
        return None
    if "digest" not in tape.derived:
        try:
            tape.derived["digest"] = blake2b(marshal.dumps(_plain_tape(tape), recipes.FORMAT), digest_size=32).digest()
        except (_Unknown, ValueError):  # of marshal
            tape.derived["digest"] = None
    return tape.derived["digest"]


def _plain_tape(tape: Tape) -> Fact:
    """The tape as numbers and strings, without the lines of the user's function."""
    instructions = []
    for op, inputs, params, type_, _ in tape.instructions:
        if type(type_) is not ValueType or not (op in _STRUCTURAL or REGISTRY.get(op.name) is op):
            raise _Unknown
        instructions.append((op.name, inputs, _plain(params), type_.shape, type_.dtype.str))
    shape = (tape.result, tape.aux)
    return (
        tape.name, instructions, tape.inputs, tape.outputs, tape.active_inputs, tape.returns_tuple, repr(shape), tape.value_count,
        tape.save_limit,
    )  # fmt: skip


def _plain(value: Fact) -> object:
    """A parameter as marshal takes it, so that different ones differ."""
    make = _PLAIN.get(type(value))
    if make is None:
        if isinstance(value, np.dtype):
            return "dtype", value.str
        if isinstance(value, np.generic) and not value.dtype.hasobject:
            return "number", value.dtype.str, value.tobytes()
        return type(value).__qualname__, *map(_plain, _fields(value))
    return make(value)


def _fields(value: Fact) -> Iterable[object]:
    """The contents of a value of one of this package's immutable classes."""
    if type(value).__module__.startswith(f"{_PACKAGE}."):
        if isinstance(value, tuple):
            return value
        parameters = getattr(type(value), "__dataclass_params__", None)
        if parameters is not None and parameters.frozen:
            return [getattr(value, each.name) for each in fields(value)]
    raise _Unknown


def _array(value: np.ndarray) -> object:
    if value.dtype.hasobject or value.dtype.names is not None:
        raise _Unknown
    return "array", value.dtype.str, value.shape, blake2b(value.tobytes(), digest_size=32).digest()


def _as_it_is(value: object) -> object:
    return value


_PLAIN: dict[type, Callable[[Fact], object]] = {
    **dict.fromkeys((int, float, complex, bool, str, bytes, type(None), type(...)), _as_it_is),
    tuple: lambda value: ("tuple", *map(_plain, value)),
    slice: lambda value: ("slice", *map(_plain, (value.start, value.stop, value.step))),
    np.ndarray: _array,
    Site: lambda value: None,
    PickledSite: lambda value: None,
}
