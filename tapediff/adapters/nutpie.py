"""nutpie, a No-U-Turn sampler in Rust: a model of C functions, so that no Python runs while it samples.

`pip install tapediff[sampler]` installs it. Source: https://github.com/pymc-devs/nutpie; tried with 0.16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from math import prod
from typing import Any, TypeAlias

import numpy as np

from ..targets.native.c_function import CFunction

Shape = tuple[int, ...]
# An object of nutpie, pandas or numba, whose classes are known only where they are installed; and what nutpie.sample returns.
Foreign: TypeAlias = Any


def model(
    density: CFunction, *, expand: CFunction | None = None, shapes: Mapping[str, Shape] | None = None,
    coords: Mapping[str, Sequence[Foreign]] | None = None, dims: Mapping[str, Sequence[str]] | None = None,
    start: Callable[[int], np.ndarray] | None = None,
) -> Foreign:  # fmt: skip
    """A model for `nutpie.sample` that calls compiled functions by their addresses.

    Args:
        density: `tape.c_function("gradient", x, ...)`: log density and gradient of one vector.
        expand: `tape.c_function("value", x, ...)`: of the same vector, all numbers that are kept of a draw, one behind the other; the
            vector itself unless given.
        shapes: of the arrays that `expand` returns, by name, in their order; {"x": (size,)} unless given.
        coords: the names of the entries along each dimension.
        dims: the dimensions of each array, by its name.
        start: of a seed, the point at which a chain begins; uniform in (-2, 2) unless given, as Stan's.

    Returns:
        A nutpie.CompiledModel. It keeps the functions alive. For other data, `set_constants` of the functions, or make another model.

    Raises:
        ImportError: nutpie is not installed.

    A point that the density rejects (a matrix that is not positive definite, an infinite value) is a divergence. An error of the program
    stops nutpie with the C function's code; `density.take_error()` is the error.

    Cost: one compilation of a few lines by numba, 0.3 s, the first time; then 0.02 µs a gradient beside the kernel.
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
    return _model_class()(
        dims={name: tuple(names) for name, names in (dims or {}).items()}, density=density, address=density.address,
        user_data=density.user_data, kept=None, size=size, variables=chosen, expanded=expanded,
        expander=_expander(None if expand is None else expand.as_numba(status=True)), expand_function=expand,
        entries={dim: _coordinate(entries) for dim, entries in (coords or {}).items()}, start=start or _uniform_start(size),
    )  # fmt: skip


def _coordinate(entries: Sequence[Foreign]) -> Foreign:
    """As nutpie takes them: a list of strings, or an index of numbers or dates."""
    return (
        list(entries)
        if all(isinstance(entry, str) for entry in entries)
        else import_module("pandas").Index(list(entries))
    )


def sample(compiled_model: Foreign, **options: Foreign) -> Foreign:
    """`nutpie.sample` of a model of `model()`, where an error of the density's program is raised as itself.

    nutpie itself panics in a thread of its own. Here the C function remembers the first fault and rejects every point from then on, so that
    the run ends at once, and then the fault is raised.
    """
    library, density = _library(), compiled_model.density
    stopped = np.zeros(1, np.int64)
    function = _until_a_fault(density.as_numba(status=True))
    density.take_error()
    guarded = compiled_model.calling(function.address, stopped.ctypes.data, (function, stopped))
    try:
        return _unless(stopped, density, library.sample(guarded, **options))
    except Exception as failure:
        _unless(stopped, density, None, failure)
        raise


def _unless(stopped: np.ndarray, density: CFunction, trace: Foreign, failure: Exception | None = None) -> Foreign:
    """The trace, unless there was a fault of the density's program."""
    if not stopped[0]:
        return trace
    raise density.take_error() or RuntimeError(f"the density returned the code {stopped[0]}") from failure


def _until_a_fault(density: Foreign) -> Foreign:
    """The density as a C function that answers nothing but a rejection once it has returned a negative code, which `user_data` keeps."""
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


def _library() -> Foreign:
    try:
        return import_module("nutpie")
    except ImportError as missing:
        raise ImportError(
            "sampling needs nutpie; fix: pip install tapediff[sampler], or pip install nutpie"
        ) from missing


def _expander(function: Foreign) -> Foreign:
    """The C function that nutpie calls for each draw: its order of arguments, and a code of 64 bits."""
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


@lru_cache(maxsize=1)
def _model_class() -> Foreign:
    """A subclass of nutpie's model, made when nutpie is first used."""
    _library()
    rust = import_module("nutpie._lib")
    base = import_module("nutpie.sample").CompiledModel

    class Model(base):  # type: ignore[misc, valid-type]
        def __init__(self, dims: Foreign, **parts: Foreign) -> None:
            base.__init__(self, dims=dims)
            for name, part in parts.items():
                object.__setattr__(self, f"_{name}", part)  # nutpie's class is frozen

        @property
        def n_dim(self) -> int:
            return self._size

        @property
        def density(self) -> CFunction:
            return self._density

        def calling(self, address: int, user_data: int, kept: Foreign) -> Foreign:
            """The same model with another C function of the density, which `kept` keeps alive."""
            parts = {name.removeprefix("_"): part for name, part in vars(self).items() if name.startswith("_")}
            return type(self)(self.dims, **{**parts, "address": address, "user_data": user_data, "kept": kept})

        @property
        def shapes(self) -> dict[str, Shape]:
            return dict(self._variables)

        @property
        def coords(self) -> dict[str, Foreign]:
            return self._entries

        def _make_sampler(
            self, settings: Foreign, init_mean: Foreign, cores: Foreign, progress_type: Foreign, store: Foreign
        ) -> Foreign:
            return rust.PySampler.from_pymc(settings, cores, self._make_model(init_mean), progress_type, store)

        def _make_model(self, init_mean: Foreign) -> Foreign:
            lengths = {dim: len(entries) for dim, entries in self._entries.items()}
            variables = rust.PyVariable.new_variables(
                list(self._variables),
                ["float64"] * len(self._variables),
                list(self._variables.values()),
                lengths,
                self.dims,
            )
            return rust.PyMcModel(
                rust.LogpFunc(self._address, self._user_data, self),
                rust.ExpandFunc(self._size, self._expanded, self._expander.address, 0, self),
                variables, self._size, lengths, self._entries, self._start, None,
            )  # fmt: skip

    return Model
