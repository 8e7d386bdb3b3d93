"""The engines: each prepares a problem, and gives for a point what is timed and how to read its answer.

engine(problem) -> bind;  bind(point) -> (call, read);  read(call()) -> (value, gradient), the gradient None where there is none
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

import tapediff as td

from .problem import Problem

Bind = Callable[[np.ndarray], tuple[Callable[[], Any], Callable[[Any], tuple[float, Any]]]]


def both(answer: Any) -> tuple[float, np.ndarray]:
    return float(answer[0]), np.asarray(answer[1])


def numpy_value(problem: Problem) -> Bind:
    """The plain function, without any gradient: the yardstick for all others."""
    return lambda point: (lambda: problem.function(point), lambda value: (float(value), None))


def uncompiled(problem: Problem) -> Bind:
    """A tape replayed with NumPy."""
    if problem.guarded:
        tape = td.GuardedTape(problem.recorded, on_new_tape="interpret", compile_after=10**9)
    else:
        tape = td.record(problem.recorded, problem.points[0])
    return lambda point: (lambda: td.value_and_gradient(tape, point), both)


def compiled(problem: Problem) -> Bind:
    tape = compiled_target(problem)

    def bind(point):
        gradient = np.empty_like(point)
        return lambda: td.value_and_gradient(tape, point, out=gradient), both

    return bind


def bound(problem: Problem) -> Bind:
    """The compiled tape over fixed buffers: what is left when the call from Python costs as little as it can."""
    tape = compiled_target(problem)
    for point in problem.points:
        td.gradient(tape, point)

    def bind(point):
        gradient = np.empty_like(point)
        return tape.bind(point, gradient), lambda value: (value, gradient)

    return bind


@lru_cache(1)  # what several engines and figures are of is compiled once
def compiled_target(problem: Problem) -> Any:
    return td.GuardedTape(problem.recorded) if problem.guarded else td.compile(problem.recorded, problem.points[0])


def by_hand(problem: Problem) -> Bind:
    from . import handwritten, handwritten_loops
    from .outside import by_hand

    modules = (handwritten, handwritten_loops, by_hand)
    kernel = next(vars(module)[problem.by_hand] for module in modules if problem.by_hand in vars(module))

    def bind(point):
        gradient = np.empty_like(point)
        return lambda: kernel(point, gradient), lambda value: (value, gradient)

    return bind


def jax_jit(problem: Problem) -> Bind:
    import jax

    from .jax_versions import version

    fast = jax.jit(jax.value_and_grad(version(problem)))

    def bind(point):
        on_device = jax.numpy.asarray(point)
        return lambda: jax.block_until_ready(fast(on_device)), both

    return bind


def pytorch(problem: Problem) -> Bind:
    """Its eager mode: compiling takes a C++ compiler, and minutes."""
    import torch

    from .outside.torch_versions import version

    loss = version(problem)

    def bind(point):
        leaf = torch.tensor(point, requires_grad=True)

        def call():
            value = loss(leaf)
            return value.detach(), torch.autograd.grad(value, leaf)[0]

        return call, both

    return bind


def autograd(problem: Problem) -> Bind:
    import autograd
    import autograd.numpy

    fast = autograd.value_and_grad(problem.in_namespace(autograd.numpy))
    return lambda point: (lambda: fast(point), both)


def casadi(problem: Problem) -> Bind:
    from .casadi_versions import value_and_gradient

    return value_and_gradient(problem)


ENGINES = {
    "NumPy value": numpy_value,
    "uncompiled": uncompiled,
    "compiled": compiled,
    "bound": bound,
    "by hand": by_hand,
    "jax.jit": jax_jit,
    "PyTorch": pytorch,
    "autograd": autograd,
    "CasADi": casadi,
}
OPTIONAL = {"jax.jit": "jax", "PyTorch": "torch", "autograd": "autograd", "CasADi": "casadi"}


def installed() -> list[str]:
    """The engines that can be imported here."""
    found = [e for e in ENGINES if e not in OPTIONAL or importlib.util.find_spec(OPTIONAL[e]) is not None]
    return found if hasattr(td.CompiledTape, "bind") else [e for e in found if e != "bound"]


def applies(engine: str, problem: Problem) -> bool:
    """Whether there is a version of the problem for the engine."""
    if engine == "by hand":
        return problem.by_hand is not None
    if engine == "PyTorch":
        from .outside.torch_versions import version as torch_version

        return torch_version(problem) is not None
    if engine == "jax.jit":
        # XLA asks for more than 24 GB to compile 4,000 operations on small arrays.
        return problem.name != "tree"
    if engine == "CasADi":
        from .casadi_versions import version

        return version(problem) is not None
    return True
