"""While something is recorded, the distributions of scipy.stats answer tracked arguments as those of tapediff.stats do.

SciPy converts arguments before it computes anything. So the methods of its classes stand, during recordings only, for functions that look
at the arguments first; without a tracked one, and for distributions that tapediff.stats does not have, they are SciPy's own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module

from ...base.current_recording import current_recorder
from ...ir.instruction import Operand
from ...numpy_api.creating import holds_tracked

_OF_ONE_VARIABLE = ("cdf", "logcdf", "sf", "logsf", "ppf", "isf")
_METHODS = {
    "scipy.stats._distn_infrastructure": {
        "rv_continuous": ("logpdf", "pdf", *_OF_ONE_VARIABLE), "rv_discrete": ("logpmf", "pmf", *_OF_ONE_VARIABLE),
    },
    "scipy.stats._multivariate": {
        "multivariate_normal_gen": ("logpdf", "pdf"), "dirichlet_gen": ("logpdf", "pdf"), "multinomial_gen": ("logpmf", "pmf"),
    },
}  # fmt: skip

# A method of one of SciPy's classes: the class, the name, SciPy's function and the one that stands for it.
Method = tuple[type, str, Callable[..., Operand], Callable[..., Operand]]


def put(replaced: bool) -> None:
    """Give SciPy's classes the methods of tapediff, or their own back. Nothing to do where scipy.stats is not imported."""
    for module in _METHODS:
        loaded = sys.modules.get(module)
        if loaded is not None:
            owners = tuple(vars(loaded).get(name) for name in _METHODS[module])
            if None not in owners:  # another thread may be importing it
                _put(_methods(module, owners), replaced)


def _put(methods: tuple[Method, ...], replaced: bool) -> None:
    """Methods that someone else has replaced meanwhile are left alone."""
    for owner, name, original, replacement in methods:
        before, after = (original, replacement) if replaced else (replacement, original)
        if owner.__dict__.get(name) is before:
            setattr(owner, name, after)


@cache
def _methods(module: str, owners: tuple[type, ...]) -> tuple[Method, ...]:
    return tuple(
        (owner, name, owner.__dict__[name], _replacement(owner.__dict__[name]))
        for owner, names in zip(owners, _METHODS[module].values()) for name in names if name in owner.__dict__
    )  # fmt: skip


def _replacement(original: Callable[..., Operand]) -> Callable[..., Operand]:
    @wraps(original)
    def call(self: object, *args: Operand, **named: Operand) -> Operand:
        if current_recorder() is None or not (any(map(holds_tracked, args)) or any(map(holds_tracked, named.values()))):
            return original(self, *args, **named)
        ours = _distribution(self)
        return original(self, *args, **named) if ours is None else getattr(ours, original.__name__)(*args, **named)

    return call


def _distribution(scipys: object) -> object:
    """The distribution of tapediff.stats that has the name of one of SciPy's own; None for another, or a user's."""
    kind = type(scipys)
    name = getattr(scipys, "name", None) or kind.__name__.removesuffix("_gen")
    if not kind.__module__.startswith("scipy.stats."):
        return None
    # Above this folder, and needed by few programs.
    stats = import_module(f"{__name__.partition('.')[0]}.stats")
    return getattr(stats, name) if name in stats.__all__ else None
