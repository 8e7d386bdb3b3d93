"""What the adapters of other libraries cost beside the kernel: value and gradient of a normal density of ten numbers.

    python -m benchmarks.adapters   # of the libraries that are installed; microseconds

Native callers are a numba loop over the C function that the library is given; the bare C function is in the first row.
What is called from Python contains that call. The best of many short samples counts, which take turns.
"""

import ctypes
import importlib
from collections.abc import Callable, Iterator
from time import perf_counter

import numpy as np

import tapediff as td

from .calls import microseconds

SIZE, LOOPS = 10, 2000
X = np.linspace(-1.0, 1.0, SIZE)


def density(x):
    return -0.5 * np.sum(x * x)


def in_a_loop(address: int, user_data: int) -> Callable[[], None]:
    """Calls a C function of value and gradient, many times."""
    from numba import njit

    word = ctypes.c_int64
    function = ctypes.CFUNCTYPE(word, *[word] * 5)(address)
    x, gradient, value = X.copy(), np.zeros(SIZE), np.zeros(1)
    at_x, at_gradient, at_value = x.ctypes.data, gradient.ctypes.data, value.ctypes.data

    @njit
    def loop(count):
        for _ in range(count):
            function(SIZE, at_x, at_gradient, at_value, user_data)

    def run():
        loop(LOOPS)
        np.testing.assert_allclose(gradient, -x)

    run.kept = x, gradient, value, function
    return run


def native(tape) -> Iterator[tuple[str, Callable[[], None]]]:
    """Of each sampler that calls by address, a loop over what it is given."""
    from tapediff.adapters import nutpie, walnutpie

    compiled = tape.c_function("gradient", X)
    yield "the kernel, by address", in_a_loop(compiled.address, compiled.user_data)
    stopped = np.zeros(1, np.int64)
    until = nutpie._until_a_fault(compiled.as_numba(status=True))
    yield "nutpie", kept(in_a_loop(until.address, stopped.ctypes.data), stopped, until)
    thunk = walnutpie.Thunk(compiled)
    yield "walnutpie", kept(in_a_loop(thunk._function.address, int(thunk._fault.ctypes.data)), thunk)


def kept(run, *things):
    run.things = things
    return run


def in_jax(tape):
    """Steps of a scan, and those of the same scan in JAX alone."""
    import jax

    from tapediff.adapters.jax import to_jax

    jax.config.update("jax_enable_x64", True)

    def steps(f):
        run = jax.jit(lambda x: jax.lax.scan(lambda x, _: (x + 1e-9 * jax.value_and_grad(f)(x)[1], None), x, None, length=LOOPS)[0])
        return lambda: run(X).block_until_ready()

    yield "JAX, in a jitted scan", steps(to_jax(tape, X))
    yield "the same by JAX alone", steps(lambda x: -0.5 * jax.numpy.sum(x * x))


def in_pytensor(tape):
    """The numba function of a PyTensor graph."""
    import pytensor
    from numba import njit

    from tapediff.adapters.pymc import to_pytensor

    x = pytensor.tensor.vector("x", shape=(SIZE,))
    value = to_pytensor(tape, X)(x)
    compiled = pytensor.function([x], [value, pytensor.grad(value, x)], mode="NUMBA").vm.jit_fn

    @njit
    def loop(point, count):
        total = 0.0
        for _ in range(count):
            total += compiled(point)[0].item()
        return total

    yield "PyMC, PyTensor in numba", lambda: loop(X, LOOPS)


def in_torch(tape):
    """Forward and backward, and that of a function of PyTorch's that does nothing else."""
    import torch

    from tapediff.adapters.torch import to_torch

    torch.set_num_threads(1)
    x = torch.tensor(X, requires_grad=True)
    f = to_torch(tape)

    class Empty(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.gradient = x
            return x[0]

        @staticmethod
        def backward(ctx, cotangent):
            return ctx.gradient

    yield "PyTorch: value", lambda: f(x)
    yield "PyTorch: value and gradient", lambda: torch.autograd.grad(f(x), x)
    yield "PyTorch: the same of a function that computes nothing", lambda: torch.autograd.grad(Empty.apply(x), x)
    yield "PyTorch: the same in PyTorch's own operations", lambda: torch.autograd.grad(-0.5 * (x * x).sum(), x)


def from_python(tape):
    """The forms of samplers and optimisers, at points that alternate, so that none is the last one."""
    from tapediff.adapters.nlopt import function
    from tapediff.adapters.samplers import LogDensity
    from tapediff.adapters.scipy import Objective

    f, objective, points, out = LogDensity(tape), Objective(tape), [X.copy(), X + 1.0], np.zeros(SIZE)
    for_nlopt, post = function(tape), td.Posterior(density, x=td.real(SIZE))
    of_post = LogDensity(post)

    def alternating(call):
        def run():
            points.reverse()
            call(points[0])

        return run

    yield "(alternating points)", alternating(lambda x: None)
    yield "td.value_and_gradient", alternating(lambda x: td.value_and_gradient(tape, x))
    yield "emcee, dynesty, optuna: value", alternating(f)
    yield "value and gradient", alternating(f.value_and_gradient)
    yield "mici: gradient and value", alternating(f.negative_gradient)
    yield "of a td.Posterior: value and gradient", alternating(of_post.value_and_gradient)
    yield "td.Posterior.log_density_gradient", alternating(post.log_density_gradient)
    yield "the same, with out=", alternating(lambda x: post.log_density_gradient(x, out=out))
    yield "td.Posterior.log_density", alternating(post.log_density)
    rows = np.linspace(-1.0, 1.0, 320).reshape(32, SIZE)
    yield "emcee: values of 32 rows", lambda: f.rows(rows)
    yield "the same of a td.Posterior", lambda: of_post.rows(rows)
    yield "SciPy, iminuit: value, then gradient", alternating(lambda x: (objective(x), objective.jac(x)))
    yield "NLopt: value and gradient", alternating(lambda x: for_nlopt(x, out))


def in_ipopt(tape):
    from tapediff.adapters.ipopt import Program

    program, one = Program(lambda x: -density(x), X), np.zeros(0)
    points = [X.copy(), X + 1.0]

    def both():
        points.reverse()
        return program.objective(points[0]), program.gradient(points[0])

    yield "Ipopt: value, then gradient", both
    yield "Ipopt: Hessian", lambda: program.hessian(X, one, 1.0)


PARTS = {in_jax: "jax", in_pytensor: "pytensor", in_torch: "torch", in_ipopt: "ipyopt"}
LOOPING = {"the kernel, by address", "nutpie", "walnutpie", "JAX, in a jitted scan", "the same by JAX alone", "PyMC, PyTensor in numba"}


def main() -> None:
    tape = td.GuardedTape(density)
    calls = dict(native(tape)) | dict(from_python(tape))
    for part, library in PARTS.items():
        if importlib.util.find_spec(library):
            calls |= dict(part(tape))
    for call in calls.values():
        call()
    started, times = perf_counter(), {name: float("inf") for name in calls}
    while perf_counter() - started < 5.0:
        times = {name: min(times[name], time) for name, time in microseconds(calls, 5).items()}
    print("| 10 parameters | µs |\n| --- | ---: |")
    for name, time in times.items():
        print(f"| {name} | {time / LOOPS if name in LOOPING else time:.2f} |")


if __name__ == "__main__":
    main()
