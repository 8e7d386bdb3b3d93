"""Solutions of equations are values of their own type wherever tapes are made anew."""

import numpy as np

import tapediff as td


def test_solutions_in_a_loop_have_their_derivatives():
    """The roots of x^3 = a k for ten a: their sum is proportional to the cube root of k; compiled and not."""

    def f(k):
        solve = lambda total, a: (total + td.implicit.root(lambda x: x**3 - a * k, np.cbrt(a)), None)
        return td.scan(solve, 0.0, A)[0]

    A = np.linspace(1.0, 2.0, 10)
    for target in (f, td.compile(f, 1.0)):
        np.testing.assert_allclose(td.gradient(target, 1.5), np.sum(np.cbrt(A)) / 3.0 * 1.5 ** (-2.0 / 3.0), rtol=1e-9)
