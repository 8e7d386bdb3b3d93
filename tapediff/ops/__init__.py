"""The primitives, one file per family, and the registry built from their declarations.

Comes in: operands of an operation. Goes out: its result, and every fact about the op that another stage reads.
Open first: `declaration/op.py`, then `elementwise/arithmetic.py`.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable

from .arrays import indexing, reductions, shape
from .control import calls, solution
from .control.calls import TupleOp
from .declaration.op import Elementwise, Op
from .elementwise import (
    arithmetic,
    bessel,
    comparison,
    counter_based,
    elementary,
    elliptic,
    incomplete,
    special,
    special_integrals,
    structure,
)
from .matrices import bands, factors, fourier, given_values, hermitian, linear_algebra, products, sparse, spectral

FAMILIES = (
    comparison,
    arithmetic,
    elementary,
    special,
    incomplete,
    bessel,
    special_integrals,
    elliptic,
    reductions,
    shape,
    indexing,
    products,
    linear_algebra,
    bands,
    spectral,
    factors,
    sparse,
    given_values,
    fourier,
    hermitian,
    structure,
    counter_based,
    calls,
    solution,
)

REGISTRY: dict[str, Op] = {}
BY_FUNCTION: dict[Callable[..., object], Op] = {}
for _family in FAMILIES:
    for _op in _family.OPS:
        if _op.name in REGISTRY:
            raise ValueError(f"two ops are named {_op.name}")
        REGISTRY[_op.name] = _op
        for _function in _op.answers:
            BY_FUNCTION[_function] = _op


def registered(name: str) -> Op:
    """The op of this name; ops are pickled by name."""
    return REGISTRY[name]


for _class in (Op, Elementwise, TupleOp):
    copyreg.pickle(_class, lambda op: (registered, (op.name,)))

# SciPy's ufuncs are found by name: importing SciPy to build this table would take longer than the rest of tapediff.
_PARTS = {elliptic.ELLIPEM1, *(op for ops in special_integrals.SEVERAL.values() for op in ops)}
_OF_SCIPY = (special, incomplete, bessel, special_integrals, elliptic)
BY_SCIPY_NAME: dict[str, Op] = {
    name: REGISTRY[name]
    for name in (
        *(op.name for family in _OF_SCIPY for op in family.OPS if op not in _PARTS),
        *("expit", "log_expit", "exp2", "cbrt", "log1p", "expm1"),
    )
}
BY_SCIPY_NAME["psi"] = special.DIGAMMA

__all__ = ["BY_FUNCTION", "BY_SCIPY_NAME", "REGISTRY", "Elementwise", "Op"]
