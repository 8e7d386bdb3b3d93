"""Arguments of SciPy's functions: what is supported, and what is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

import numpy as np

from ..base.source_location import user_site
from ..errors import DtypeMismatch, UnsupportedFunction, UnsupportedMethod
from ..ir.instruction import FLOAT64, Operand, Tree, is_tracked
from ..numpy_api.creating import holds_tracked
from ..numpy_api.joining import as_value
from ..ops.elementwise.arithmetic import CONVERT


def refuse(name: str, what: str, fix: str) -> NoReturn:
    raise UnsupportedFunction(f"{name} of tracked values does not support {what}", at=user_site(), fix=fix)


def supports_only(name: str, fix: str = "leave it out, or compute it outside the recorded function", /, **given: Operand) -> None:
    """Refuse arguments that differ from their default. Each is given as (value, default)."""
    for argument, (value, default) in given.items():
        if value is not default and (holds_tracked(value) or type(value) is not type(default) or value != default):
            refuse(name, f"{argument}=", fix)


def plain(name: str, /, **given: Operand) -> None:
    """Refuse tracked arguments that select the method of computation."""
    for argument, value in given.items():
        if holds_tracked(list(value.values()) if isinstance(value, Mapping) else value):
            refuse(name, f"a tracked {argument}=", "give a plain number or array: it has no derivative")


def floats(name: str, value: Operand) -> Operand:
    """An argument as an array of float64; lists may hold tracked values."""
    value = value if is_tracked(value) else as_value(value)
    value = value if is_tracked(value) else np.asarray(value)
    if value.dtype.kind not in "fiub":
        raise DtypeMismatch(f"{name} of tracked values takes real numbers", at=user_site(), got=f"dtype {value.dtype}",
                            fix="give the real and the imaginary part in calls of their own")  # fmt: skip
    if value.dtype == FLOAT64:
        return value
    return CONVERT(value, dtype=FLOAT64) if is_tracked(value) else value.astype(float)


def bound(f: Callable[..., Operand], args: Tree) -> Callable[[Operand], Operand]:
    """A function of x alone; SciPy's args may be anything, so they are variables of a closure."""
    args = args if isinstance(args, tuple) else (args,)
    return (lambda x: f(x, *args)) if args else f


class Result:
    """What a solver returns: SciPy's attributes and keys, as far as they have a value on every path; others are refused by name."""

    def __init__(self, name: str, **values: Operand) -> None:
        self.__dict__.update(values, _name=name)

    def _tapediff_rebuilt(self, copied: Callable[[Operand], Operand]) -> Result:
        """For functions that close over one: with other values."""
        return Result(**{key.replace("_name", "name"): copied(value) for key, value in vars(self).items()})

    def __getattr__(self, attribute: str) -> NoReturn:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise UnsupportedMethod(
            f"the result of {self.__dict__.get('_name')} of tracked values has no {attribute}", at=user_site(),
            fix=f"use one of {', '.join(key for key in self.__dict__ if key != '_name')}; or call SciPy outside the recorded function",
        )  # fmt: skip

    def __getitem__(self, key: str) -> Operand:
        return getattr(self, key)
