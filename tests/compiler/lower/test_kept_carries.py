"""Of a loop's carries only those are kept for each iteration that its reverse pass reads; others take two places."""

import numpy as np
import pytest
from support.agreement import agree, hessian_agrees

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.kernel import Kernel
from tapediff.targets.tapes.gradient_tape import gradient_tape

RNG = np.random.default_rng(11)
STEPS, WIDTH = 50, 16
DATA = RNG.normal(size=(STEPS, WIDTH))
NUMBERS = DATA[:, 0]


def program(width, reverse=False, steps=STEPS):
    """A recurrence whose values the reverse pass reads, and a difference of which it reads none."""
    data = DATA[:steps, :width] if width else NUMBERS[:steps]

    def f(x):
        def body(carry, u):
            state, rest = carry
            state = np.sin(state * x[0] + u)
            return (state, state - 0.5 * rest), None

        state, rest = td.scan(body, (np.full(width, x[1]) if width else x[1], x[1] * data[0]), data, reverse=reverse)[0]
        return np.sum(state) + np.sum(rest)

    return f


def with_rows_read(x):
    """Both are read again, of the first only some rows."""

    def body(carry, u):
        a, b = carry
        return (a * x[0] + u, b * a * 0.9), a

    (a, b), rows = td.scan(body, (np.full(WIDTH, x[1]), np.full(WIDTH, 0.5)), DATA)
    return np.sum(a) * 0.1 + np.sum(b) + np.sum(rows[3] * rows[-1])


def until(x):
    """Of a loop that data end."""
    _, a, b, _ = td.while_loop(
        lambda s: s[0] < 12.1, lambda s: (s[0] + np.abs(x[1]) + 0.5, np.sin(s[1] * x[0]), s[1] - 0.5 * s[2], s[3] + 1.0), (0.0, x[0], x[1], 0.0)
    )
    return a + b


PROGRAMS = {
    "arrays": program(WIDTH), "backwards": program(WIDTH, True), "odd": program(WIDTH, steps=STEPS - 1), "few": program(3),
    "numbers": program(0), "numbers backwards": program(0, True), "numbers, odd": program(0, steps=STEPS - 1),
    "rows": with_rows_read, "until": until,
}  # fmt: skip
POINTS = [np.array(p) for p in ([0.7, 0.4], [-0.6, 0.9], [1.1, -1.0])]


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_derivatives_stay(name):
    """On all targets, up to second order."""
    f = PROGRAMS[name]
    hessian_agrees(agree(f, *POINTS), POINTS[0])
    by_numba = td.compile(f, POINTS[0], backend="numba")
    for x in POINTS:
        value, gradient = td.value_and_gradient(td.record(f, x), x)
        found = td.value_and_gradient(by_numba, x)
        np.testing.assert_allclose(found[0], value, rtol=1e-11)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "until"])
def test_the_listing_gives_the_same(name):
    """It leaves out the results that have no place."""
    kernel = Kernel(gradient_tape(td.record(PROGRAMS[name], POINTS[0]), (0,)))
    native, listed = ([np.empty(t.shape, t.dtype) for t in kernel.tape.output_types] for _ in range(2))
    for x in POINTS:
        assert kernel.run([x], native) == 0
        assert run_listing(kernel.program, [x], listed) is None
        for a, b in zip(native, listed):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def test_one_of_two_is_kept():
    """The workspace has the states of all iterations once, the products that the reverse pass adds up once, and no differences."""
    compiled = td.compile(program(WIDTH), POINTS[0])
    td.gradient(compiled, POINTS[0])
    assert compiled.workspace_bytes < 2.5 * DATA.nbytes
