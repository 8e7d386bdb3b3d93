"""While something is recorded, methods of SciPy's and pandas' classes answer tracked arguments as tapediff does.

These libraries convert arguments before they compute anything. So methods of their classes are replaced, during recordings only, by
functions that check the arguments first; without a tracked one, and where tapediff has no implementation, they call the library's own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from importlib import import_module
from types import ModuleType
from typing import NoReturn

import numpy as np

from ...base.current_recording import current_recorder
from ...base.source_location import user_site
from ...errors import UnsupportedFunction
from ...ir.instruction import Operand
from ...numpy_api.complex_numbers import scipy_fft
from ...numpy_api.creating import holds_tracked
from ...numpy_api.kinds import plain_data, refuse, refuse_named_axes
from .object_snapshot import PythonValue

# A library's own method.
Original = Callable[..., Operand]
# The implementation of such a method: answer(method, object, args, named).
Answer = Callable[[Original, object, Sequence[Operand], Mapping[str, Operand]], Operand]
# One of their classes, or a module.
Owner = type | ModuleType
# A method of one of their classes: the class, the name, the library's function and its replacement.
Method = tuple[Owner, str, Original, Original]

_OF_ONE_VARIABLE = ("cdf", "logcdf", "sf", "logsf", "ppf", "isf")
# In place of a class: the functions of the module itself.
_FUNCTIONS = ""
# Called by the operators of sparse matrices. Replacing an operator itself takes ten times as long: Python visits all subclasses.
_OF_SPARSE = ("_matmul_dispatch", "_rmatmul_dispatch", "multiply", "_divide", "_add_dense", "_sub_dense", "_rsub_dense")


def _by_distribution(original: Original, scipys: object, args: Sequence[Operand], named: Mapping[str, Operand]) -> Operand:
    """Delegate to the distribution of tapediff.stats with the same name as SciPy's; not for others, or a user's."""
    kind = type(scipys)
    name = getattr(scipys, "name", None) or kind.__name__.removesuffix("_gen").removesuffix("_frozen")
    stats = _module("stats")
    if not kind.__module__.startswith("scipy.stats."):
        return original(scipys, *args, **named)
    if name not in stats.__all__:
        raise UnsupportedFunction(f"scipy.stats.{name} of tracked values is not supported", at=user_site(),
                                  fix="write its log density with NumPy; tapediff.stats has " + ", ".join(stats.__all__))  # fmt: skip
    if original.__name__ == "__call__":
        return stats.multivariate.Frozen(getattr(stats, name), args, named)
    if kind.__name__ == "multivariate_normal_frozen":
        args = (*args, *named.values(), getattr(scipys, "mean"), getattr(scipys, "cov"))  # noqa: B009 -- of this class
        named = {}
    return getattr(getattr(stats, name), original.__name__)(*args, **named)


def _by_sparse(original: Original, matrix: object, args: Sequence[Operand], named: Mapping[str, Operand]) -> Operand:
    return _module("sparse.arrays").answer(matrix, original.__name__, *args, *named.values())


def _by_splines(original: Original, scipys: PythonValue, args: Sequence[Operand], named: Mapping[str, Operand]) -> Operand:
    interpolate = _module("interpolate")
    if original.__name__ == "make_interp_spline":
        return interpolate.make_interp_spline(scipys, *args, **named)
    if original.__name__ == "__init__":
        return None if interpolate.made_of_tracked(scipys, args, dict(named)) else original(scipys, *args, **named)
    ours = interpolate.ours(scipys)
    if ours is None:
        return original(scipys, *args, **named)
    method = getattr(ours, original.__name__, None)
    if method is None:
        name = type(scipys).__name__
        refuse(f"{name}.{original.__name__} of tracked values", scipys, "evaluate it, its derivative() or antiderivative(), or integrate()")
    return method(*args, **named)


def _by_arrays(original: Original, frame: PythonValue, args: Sequence[Operand], named: Mapping[str, Operand]) -> Operand:
    """Compute a product of a pandas frame or column on arrays. Methods that align axes are refused: their results would be objects."""
    if original.__name__ == "dot":
        return np.dot(frame.to_numpy(), plain_data(*args, *named.values()))
    refuse(f"{type(frame).__name__}.{named.get('op', args[1]).__name__} of a tracked array", frame, "use operators, of x or of x[:, None]")


def _refuse_named_axes(original: Original, array: object, args: Sequence[Operand], named: Mapping[str, Operand]) -> NoReturn:
    refuse_named_axes(array)


def _refuse_masked(original: Original, array: Operand, args: Sequence[Operand], named: Mapping[str, Operand]) -> Operand:
    """Refuse a masked array, whose operators ask whether to defer to the other operand."""
    return plain_data(array)  # raises


def _by_transform(original: Original, function: Operand, args: Sequence[Operand], _: Mapping[str, Operand]) -> Operand:
    """The backend of SciPy's transforms: receives the scipy.fft function that was called, and its arguments."""
    given, named = args
    answer = scipy_fft.FUNCTIONS.get(function.__name__)
    return original(function, given, named) if answer is None else answer(*given, **named)


def _module(name: str) -> Operand:
    """A module above this folder, needed by few programs."""
    return import_module(f"{__name__.partition('.')[0]}.{name}")


# Module of a library -> its implementation, and the methods of its classes.
_METHODS: dict[str, tuple[Answer, dict[str, tuple[str, ...]]]] = {
    "scipy.stats._distn_infrastructure": (_by_distribution, {
        "rv_continuous": ("logpdf", "pdf", *_OF_ONE_VARIABLE), "rv_discrete": ("logpmf", "pmf", *_OF_ONE_VARIABLE),
    }),
    "scipy.stats._multivariate": (_by_distribution, {
        "multivariate_normal_gen": ("logpdf", "pdf", "__call__"), "dirichlet_gen": ("logpdf", "pdf", "__call__"),
        "multinomial_gen": ("logpmf", "pmf", "__call__"), "multivariate_normal_frozen": ("logpdf", "pdf"),
    }),
    "scipy.sparse._base": (_by_sparse, {"_spbase": _OF_SPARSE}),
    "scipy.fft._backend": (_by_transform, {"_ScipyBackend": ("__ua_function__",)}),
    # Subclasses with methods of their own.
    "scipy.sparse._coo": (_by_sparse, {"_coo_base": _OF_SPARSE}),
    "scipy.sparse._compressed": (_by_sparse, {"_cs_matrix": _OF_SPARSE}),
    "scipy.sparse._dia": (_by_sparse, {"_dia_base": _OF_SPARSE}),
    "scipy.sparse._bsr": (_by_sparse, {"_bsr_base": _OF_SPARSE}),
    "numpy.ma.core": (_refuse_masked, {"MaskedArray": ("_delegate_binop",)}),
    "scipy.interpolate._interpolate": (_by_splines, {
        "_PPolyBase": ("__call__", "extend"),  # the first is its base up to SciPy 1.17
        "interp1d": ("__init__",), "PPoly": ("__call__", "derivative", "antiderivative", "integrate", "solve", "roots", "extend"),
    }),
    "scipy.interpolate._polyint": (_by_splines, {"_Interpolator1D": ("__call__",)}),
    "scipy.interpolate._bsplines": (_by_splines, {"BSpline": ("__call__", "derivative", "antiderivative", "integrate")}),
    "scipy.interpolate._cubic": (_by_splines, {
        "CubicSpline": ("__init__",), "PchipInterpolator": ("__init__",), "Akima1DInterpolator": ("__init__",),
        "CubicHermiteSpline": ("__init__",),
    }),
    "scipy.interpolate._rgi": (_by_splines, {"RegularGridInterpolator": ("__init__", "__call__")}),
    "scipy.interpolate": (_by_splines, {_FUNCTIONS: ("make_interp_spline",)}),
    "pandas": (_by_arrays, {"DataFrame": ("dot", "_flex_arith_method"), "Series": ("dot", "_flex_method")}),
    "xarray.core.dataarray": (_refuse_named_axes, {"DataArray": ("_binary_op",)}),
    "scipy.sparse.linalg": (_by_sparse, {_FUNCTIONS: ("spsolve",)}),
}  # fmt: skip


MODULES = frozenset(_METHODS)
_OWNERS = [(module, name) for module, (_, classes) in _METHODS.items() for name in classes]


def put(replaced: bool) -> None:
    """Put tapediff's methods into the libraries' classes, or the originals back; skip libraries that are not imported."""
    loaded = sys.modules.get
    # Classes of a module that another thread is importing may not exist yet.
    owners = tuple([(vars(found).get(name) if name else found) if (found := loaded(module)) else None for module, name in _OWNERS])
    for owner, name, original, replacement in _methods(owners):
        before, after = (original, replacement) if replaced else (replacement, original)
        if owner.__dict__.get(name) is before:  # leave alone what someone else has replaced
            setattr(owner, name, after)


@cache
def _methods(owners: tuple[Owner | None, ...]) -> tuple[Method, ...]:
    return tuple(
        _method(owner, name, module)
        for owner, (module, of_class) in zip(owners, _OWNERS) if owner is not None
        for name in _METHODS[module][1][of_class] if name in owner.__dict__
    )  # fmt: skip


@cache
def _method(owner: Owner, name: str, module: str) -> Method:
    """Cached: made once, before it is first replaced."""
    original = owner.__dict__[name]
    return owner, name, original, _replacement(original, _METHODS[module][0])


def _concerns(value: object) -> bool:
    """True if an operand is tracked, or an object of tracked values made by tapediff."""
    if type(value) is dict:
        return any(map(_concerns, value.values()))
    return holds_tracked(value) or type(value).__module__.startswith("tapediff.")


def _is_of_tracked(value: object) -> bool:
    """True if an object of SciPy's was made of tracked ordinates."""
    return "_of_tapediff" in getattr(value, "__dict__", ())


def _replacement(original: Original, answer: Answer) -> Original:
    @wraps(original)
    def call(self: object, *args: Operand, **named: Operand) -> Operand:
        if current_recorder() is None or not (_is_of_tracked(self) or any(map(_concerns, (self, *args, *named.values())))):
            return original(self, *args, **named)
        return answer(original, self, args, named)

    return call
