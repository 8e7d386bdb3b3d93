"""What a problem is: one function in plain NumPy, the points where it is timed, and how tapediff is given it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A scalar function of one vector.

    Attributes:
        name: for the command line; versions for one engine (jax_versions.py and so on) go by it.
        title: for the table.
        function: function(point, np=numpy), in plain NumPy; `np` may be autograd.numpy or jax.numpy as well.
        points: where it is timed. Several take turns, and the time is that of one.
        taped: what tapediff records, where it is not `function`: with td.scan or td.subtape in it.
        guarded: whether it takes several paths, so that tapediff keeps several tapes.
        by_hand: name of its gradient in one of the handwritten files, if there is one.
        version: under which name other engines have it; problems that differ in `taped` alone share one.
        is_slow: whether to leave it out of tests, for its compile time.
        is_rough: whether the value jumps between points, so that no finite difference tells its derivative.
        stan: microseconds of one gradient in Stan, where known.
        rtol: how far engines may be apart.
    """

    name: str
    title: str
    function: Callable[..., Any]
    points: tuple[numpy.ndarray, ...]
    taped: Callable[..., Any] | None = None
    guarded: bool = False
    by_hand: str | None = None
    version: str | None = None
    is_slow: bool = False
    is_rough: bool = False
    stan: float | None = None
    # Engines sum in different orders, so the answers differ by rounding: 1e-10 is far above that and far below a mistake.
    rtol: float = 1e-10

    @property
    def recorded(self) -> Callable[..., Any]:
        return self.function if self.taped is None else self.taped

    @property
    def key(self) -> str:
        return self.version or self.name

    def in_namespace(self, np: Any) -> Callable[..., Any]:
        return partial(self.function, np=np)
