"""While something is recorded, plain Python functions of scipy.linalg and scipy.special answer tracked arguments as this package's do.

SciPy's convert their arguments before they compute anything. So the names in its modules stand, during recordings only, for functions that
look at the arguments first; without a tracked one they are SciPy's own. A name imported before (`from scipy.linalg import solve`) stays
SciPy's, and the error that it raises names the function of tapediff's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, update_wrapper
from importlib import import_module
from operator import itemgetter

from ...base.current_recording import current_recorder
from ...ir.instruction import Operand
from ...numpy_api import alternatives
from ...numpy_api.creating import holds_tracked
from .filled_arrays import Replacement

# By name.
Functions = dict[str, Callable[..., Operand]]

_NAMES = {"linalg": alternatives.LINALG, "special": alternatives.SPECIAL}


class _Replacement(Replacement):
    """Pickled as the function that it stands for, which is not where its name says."""

    def __reduce__(self) -> tuple[object, ...]:
        return _same, (self.original,)


def _same(function: Callable[..., Operand]) -> Callable[..., Operand]:
    return function


def put(replaced: bool) -> None:
    """Give SciPy's modules these functions, or their own back. Nothing to do where they are not imported."""
    for short, names in _NAMES.items():
        module = sys.modules.get(f"scipy.{short}")
        if module is not None and names[-1] in vars(module):  # another thread may be importing it
            look_up, own, ours = _functions(short)
            _put(vars(module), look_up, *((own, ours) if replaced else (ours, own)))


def _put(namespace: dict[str, Operand], look_up: Callable[..., Operand], before: Functions, after: Functions) -> None:
    """Names that someone else has replaced meanwhile are left alone."""
    if look_up(namespace) == tuple(before.values()):
        namespace.update(after)
        return
    for name, function in after.items():
        if namespace.get(name) is before[name]:
            namespace[name] = function


@cache
def _functions(short: str) -> tuple[Callable[..., Operand], Functions, Functions]:
    """What looks up the names, SciPy's own functions, and those that stand for them."""
    namespace = vars(sys.modules[f"scipy.{short}"])
    own = {name: namespace[name] for name in _NAMES[short]}
    return itemgetter(*own), own, {name: _replacement(function, short) for name, function in own.items()}


def _replacement(original: Callable[..., Operand], short: str) -> Replacement:
    name = original.__name__

    def call(*args: Operand, **named: Operand) -> Operand:
        if current_recorder() is None or not (any(map(holds_tracked, args)) or any(map(holds_tracked, named.values()))):
            return original(*args, **named)
        # Above this folder, and needed by few programs.
        return getattr(import_module(f"{__name__.partition('.')[0]}.{short}"), name)(*args, **named)

    replacement = _Replacement(call)
    update_wrapper(replacement, original)
    replacement.original = original
    return replacement
