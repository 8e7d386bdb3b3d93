"""nutpie, a No-U-Turn sampler in Rust: a model of C functions, so that no Python runs while it samples.

`pip install 'tapediff[sampling]'` installs it. Source: https://github.com/pymc-devs/nutpie; tried with 0.13 to 0.16.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from importlib import import_module
from math import prod
from time import sleep
from types import SimpleNamespace
from typing import Any, Protocol, TypeAlias

import numpy as np

from . import required

Shape = tuple[int, ...]
# An object of nutpie, pandas or numba, whose class exists only if they are installed; and the result of nutpie.sample.
Foreign: TypeAlias = Any


class Function(Protocol):
    """A C function, as CFunction is; see there."""

    @property
    def sizes(self) -> tuple[int, int] | None: ...
    @property
    def address(self) -> int: ...
    @property
    def user_data(self) -> int: ...
    def as_numba(self, *, status: bool = False) -> Foreign: ...
    def take_error(self) -> BaseException | None: ...
    def fault(self, code: int) -> BaseException: ...


# Fields of nutpie's class that a model must fill to be called.
ESSENTIAL = {"compiled_logp_func", "compiled_expand_func", "initial_point_func", "user_data", "n_expanded", "shape_info", "_n_dim"}


def model(
    density: Function, *, expand: Function | None = None, shapes: Mapping[str, Shape] | None = None,
    coords: Mapping[str, Sequence[Foreign]] | None = None, dims: Mapping[str, Sequence[str]] | None = None,
    start: Callable[[int], np.ndarray] | None = None,
) -> Foreign:  # fmt: skip
    """A model for `nutpie.sample` that calls compiled functions by their addresses.

    Args:
        density: `tape.c_function("gradient", x, ...)`: log density and gradient of one vector.
        expand: `tape.c_function("value", x, ...)`: maps the same vector to all numbers kept of a draw, concatenated; the
            identity unless given.
        shapes: of the arrays that `expand` returns, by name, in their order; {"x": (size,)} unless given.
        coords: the names of the entries along each dimension; numbers from 0 unless given.
        dims: the dimensions of each array, by its name.
        start: maps a seed to a chain's starting point; uniform in (-2, 2) unless given, as in Stan.

    Returns:
        A nutpie.CompiledModel. It keeps the functions alive. For other data, `set_constants` of the functions, or make another model.

    Raises:
        ImportError: nutpie is not installed.

    A point that the density rejects (a matrix that is not positive definite, an infinite value) is a divergence. Any other error
    stops nutpie with the C function's code; `density.take_error()` is the error.

    Cost: one compilation of a few lines by numba, 0.3 s, the first time; then 0.02 µs a gradient on top of the kernel.
    """
    if density.sizes is None:
        raise ValueError(
            "the size of the density's argument is not known; fix: tape.c_function('gradient', x), with an array of the size"
        )
    size = density.sizes[0]
    chosen = dict(shapes or {"x": (size,)})
    expanded = sum(prod(shape) for shape in chosen.values())
    if expand is not None and expand.sizes != (size, expanded):
        raise ValueError(
            f"expand takes and gives {expand.sizes} numbers, and {(size, expanded)} are wanted: those of the density, and of shapes"
        )
    by_name = {name: tuple(names) for name, names in (dims or {}).items()}
    entries = {dim: _coordinate(entries) for dim, entries in _entries(coords or {}, by_name, chosen).items()}
    return _Parts(
        density, _At(density.address, density.user_data, density), expand, chosen, entries, by_name, start or _uniform_start(size)
    ).model()


def _entries(
    coords: Mapping[str, Sequence[Foreign]], dims: Mapping[str, tuple[str, ...]], shapes: Mapping[str, Shape]
) -> dict[str, Sequence[Foreign]]:  # fmt: skip
    """The coordinates of all dimensions of the arrays: nutpie asks for each."""
    found = dict(coords)
    for name, axes in dims.items():
        shape = shapes.get(name)
        if shape is None:
            raise ValueError(f"dims names {name!r}, which is not among {', '.join(shapes)}")
        lengths = [len(found.setdefault(dim, range(n))) for dim, n in zip(axes, shape)]
        if len(axes) != len(shape) or lengths != list(shape):
            has = ", ".join(f"{dim}: {len(found[dim])}" for dim in axes if dim in found)
            raise ValueError(f"{name!r} has shape {shape}, and its dimensions are {axes}, of lengths {has}; fix: dims or coords")
    return found


def _coordinate(entries: Sequence[Foreign]) -> Foreign:
    """Coordinates in nutpie's form: a list of strings, or an index of numbers or dates."""
    return (
        list(entries)
        if all(isinstance(entry, str) for entry in entries)
        else import_module("pandas").Index(list(entries))
    )


def sample(compiled_model: Foreign, **options: Foreign) -> Foreign:
    """`nutpie.sample` of a model of `model()`, but an error in the density is raised as itself.

    nutpie itself would panic in one of its threads. Here the C function remembers the first fault and rejects every later point, so that
    the run ends soon, and then the fault is raised.
    """
    nutpie, parts = _nutpie(), compiled_model._tapediff
    density, stopped = parts.density, np.zeros(2, np.int64)
    function = _until_a_fault(density.as_numba(status=True))
    density.take_error()
    guarded = replace(parts, at=_At(function.address, int(stopped.ctypes.data), (function, stopped)), stopped=stopped)
    trace, failure = None, None
    try:
        trace = nutpie.sample(guarded.model(), **options)
    except Exception as raised:
        if not stopped[0]:
            raise
        failure = raised  # nutpie's own error, as every point is rejected by now
    if stopped[0]:
        _wait_for_chains(stopped)
        raise density.fault(int(stopped[0])) from failure
    return trace


def _wait_for_chains(stopped: np.ndarray) -> None:
    """Wait until no chain calls any more: threads that call Python during its shutdown would crash it."""
    before = -1
    while stopped[1] != before:
        before = stopped[1]
        sleep(0.2)


def _until_a_fault(density: Foreign) -> Foreign:
    """The density as a C function that only rejects once it has returned a negative code, which `user_data` keeps."""
    from numba import carray, cfunc, types  # pyright: ignore[reportPrivateImportUsage] -- documented as numba.carray

    doubles = types.CPointer(types.double)

    def log_density(size, x, gradient, value, user_data):  # type: ignore[no-untyped-def]
        stopped = carray(user_data, 1, np.int64)
        if stopped[0] != 0:
            return 2
        code, found = density(carray(x, size), carray(gradient, size))
        if code < 0:
            stopped[0] = code
            return 2
        carray(value, 1)[0] = found
        return code

    return cfunc(types.int64(types.uint64, doubles, doubles, doubles, types.voidptr))(log_density)


def _uniform_start(size: int) -> Callable[[int], np.ndarray]:
    def start(seed: int) -> np.ndarray:
        return np.random.default_rng(seed).uniform(-2.0, 2.0, size=size)

    return start


def _nutpie() -> Foreign:
    return required("nutpie", "nutpie", "'tapediff[sampling]', or pip install nutpie")


def _expander(function: Foreign) -> Foreign:
    """The C function that nutpie calls for each draw, with its order of arguments and a 64-bit code."""
    from numba import carray, cfunc, types  # pyright: ignore[reportPrivateImportUsage] -- documented as numba.carray

    doubles = types.CPointer(types.double)
    signature = types.int64(types.uint64, types.uint64, doubles, doubles, types.voidptr)
    if function is None:

        def copy(size, expanded, x, out, user_data):  # type: ignore[no-untyped-def]
            carray(out, expanded)[:] = carray(x, size)
            return 0

        return cfunc(signature)(copy)

    def expand(size, expanded, x, out, user_data):  # type: ignore[no-untyped-def]
        return function(carray(x, size), carray(out, expanded))

    return cfunc(signature)(expand)


# The model in the form of this nutpie version


@dataclass(frozen=True, slots=True)
class _At:
    """A C function in nutpie's form for numba functions.

    Attributes:
        address: of the function.
        user_data: its last argument.
        kept: objects to keep alive.
    """

    address: int
    user_data: int
    kept: Foreign


@dataclass(frozen=True)
class _Parts:
    """The parts of a model; see `model`.

    Attributes:
        at: the density as nutpie calls it.
        stopped: the code of the first fault, if kept, and the number of Python calls after it.
    """

    density: Function
    at: _At
    expand: Function | None
    shapes: dict[str, Shape]
    coords: dict[str, Foreign]
    dims: dict[str, tuple[str, ...]]
    start: Callable[[int], np.ndarray]
    stopped: np.ndarray | None = None

    def model(self) -> Foreign:
        """nutpie's object, with a reference to the parts."""
        made = self.by_addresses() or self.by_python()
        object.__setattr__(made, "_tapediff", self)  # nutpie's classes are frozen
        return made

    @property
    def size(self) -> int:
        return 0 if self.density.sizes is None else self.density.sizes[0]

    def by_addresses(self) -> Foreign:
        """An object of nutpie's class for PyMC's compiled models, which knows the needs of this nutpie version.

        None if the class is missing, or needs arguments that it did not need from 0.13 to 0.16.
        """
        _nutpie()
        kind: Foreign = getattr(import_module("nutpie.compile_pymc"), "CompiledPyMCModel", None)
        expander = _expander(None if self.expand is None else self.expand.as_numba(status=True))
        names, shapes = list(self.shapes), list(self.shapes.values())
        ends, user_data = np.cumsum([prod(shape) for shape in shapes]), SimpleNamespace(data=self.at.user_data)
        known = {
            "dims": self.dims, "compiled_logp_func": self.at, "compiled_expand_func": _At(expander.address, 0, (expander, self.expand)),
            "initial_point_func": self.start, "shared_data": {}, "shared_var_keys": {}, "user_data": SimpleNamespace(ctypes=user_data),
            "n_expanded": int(ends[-1]), "logp_func": None, "expand_func": None, "_n_dim": self.size, "_shapes": self.shapes,
            "shape_info": (names, [slice(end - prod(s), end) for end, s in zip(ends, shapes)], shapes), "_coords": self.coords,
        }  # fmt: skip
        declared = getattr(kind, "__dataclass_fields__", {})
        needed = {name for name, f in declared.items() if f.default is MISSING and f.default_factory is MISSING}
        is_known = ESSENTIAL <= declared.keys() and needed <= known.keys()
        return kind(**{name: value for name, value in known.items() if name in declared}) if is_known else None

    def by_python(self) -> Foreign:
        """The model by nutpie's public function for Python functions: a call takes some microseconds more."""
        of_density, stopped, size = self.density.as_numba(status=True), self.stopped, self.size
        of_expand = None if self.expand is None else self.expand.as_numba(status=True)
        ends = np.cumsum([prod(shape) for shape in self.shapes.values()])

        def make_density() -> Foreign:
            _pin_thread_state()
            return log_density

        def log_density(x: np.ndarray) -> tuple[float, np.ndarray]:
            gradient = np.empty(size)
            if stopped is None or stopped[0] == 0:
                code, value = of_density(x, gradient)
                if code == 0:
                    return value, gradient
                if code < 0:
                    if stopped is None:
                        raise self.density.fault(code)
                    stopped[0] = code
            if stopped is not None:
                stopped[1] += stopped[0] != 0
            raise _Rejection

        def make_expand(*seeds: int) -> Foreign:
            return by_name

        def by_name(x: np.ndarray) -> dict[str, np.ndarray]:
            out = np.array(x)
            if of_expand is not None:
                out = np.empty(int(ends[-1]))
                if of_expand(np.ascontiguousarray(x), out) < 0:
                    raise RuntimeError("the function of draws has failed") from self.expand.take_error()  # type: ignore[union-attr]
            parts = {name: out[end - prod(shape) : end] for end, (name, shape) in zip(ends, self.shapes.items())}
            return parts if is_flat else {name: part.reshape(self.shapes[name]) for name, part in parts.items()}

        library = import_module("nutpie.compiled_pyfunc")
        is_flat = "_dim_sizes" not in library.PyFuncModel.__dataclass_fields__  # nutpie 0.13 takes flat draws
        # Each axis needs a name here, and its length.
        dims = {name: self.dims.get(name, tuple(f"{name}_dim_{k}" for k in range(len(shape)))) for name, shape in self.shapes.items()}
        lengths = {dim: n for name, shape in self.shapes.items() for dim, n in zip(dims[name], shape)}
        coords = {dim: import_module("pandas").RangeIndex(n) for dim, n in lengths.items()} | self.coords
        return library.from_pyfunc(
            size, make_density, make_expand, [np.dtype(np.float64)] * len(self.shapes), list(self.shapes.values()), list(self.shapes),
            coords=coords, dims=dims, make_initial_point_fn=self.start,
        )  # fmt: skip


class _Rejection(ArithmeticError):
    """A point has no value, and the sampler may go on."""

    is_recoverable = True


def _pin_thread_state() -> None:
    """Keep Python's state of this thread, a kilobyte, until the process ends; otherwise a Rust thread makes one at every call."""
    ctypes.pythonapi.PyGILState_Ensure()
