"""Keys of code objects, and the names in them."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from types import CodeType

from ...recording.python_state.object_snapshot import PLAIN, PythonValue, plain_key


@functools.lru_cache(maxsize=1000)
def code_key(code: CodeType) -> Hashable:
    """Equal for codes that do the same, wherever they are defined."""
    return (
        code.co_code, tuple(map(_constant_key, code.co_consts)), code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
        code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_exceptiontable,
    )  # fmt: skip


def _constant_key(constant: PythonValue) -> Hashable:
    kind = type(constant)
    if kind is CodeType:
        return code_key(constant)
    if kind in (tuple, frozenset, slice):
        parts = (constant.start, constant.stop, constant.step) if kind is slice else constant
        return kind, kind(map(_constant_key, parts)) if kind is frozenset else tuple(map(_constant_key, parts))
    return plain_key(constant) if kind in PLAIN else kind


@functools.lru_cache(maxsize=1000)
def names_of(code: CodeType) -> frozenset[str]:
    """The names of globals and attributes in a code object and in the functions inside it."""
    return frozenset(code.co_names).union(*(names_of(c) for c in code.co_consts if isinstance(c, CodeType)))
