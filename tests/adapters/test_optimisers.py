"""iminuit, NLopt and Ipopt on problems with known solutions."""

import numpy as np
import pytest

import tapediff as td
from tapediff.adapters import iminuit, ipopt, nlopt

pytestmark = pytest.mark.filterwarnings("ignore")  # those of other packages


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def faulty(x):
    if x[0] < 0.5:
        raise KeyError("a fault of the program")
    return np.sum(x**2)


def test_iminuit_fits_named_parameters():
    """The mean and the deviation of a normal sample, and their errors, in closed form; data that are given by name."""
    pytest.importorskip("iminuit")
    y = np.random.default_rng(0).normal(2.0, 3.0, size=200)

    def cost(mu, sigma, y):
        return np.sum(0.5 * ((y - mu) / sigma) ** 2) + len(y) * np.log(sigma) if sigma > 0 else np.inf

    m = iminuit.minuit(cost, {"mu": 0.0, "sigma": 1.0}, data={"y": y})
    m.limits["sigma"] = (0, None)
    m.migrad()
    m.hesse()
    assert m.valid
    assert m.ngrad > 0
    np.testing.assert_allclose(m.values, [y.mean(), y.std()], atol=4e-3)  # migrad ends 0.014 standard errors, of 0.2, away
    np.testing.assert_allclose(m.errors, [y.std() / 200**0.5, y.std() / 400**0.5], rtol=1e-2)
    m.minos("mu")
    concave = iminuit.minuit(lambda a: -np.exp(-(a**2)), {"a": 1.5})
    concave.migrad()  # Minuit asks for second derivatives by themselves where one is negative
    np.testing.assert_allclose(concave.values, 0.0, atol=1e-2)
    with pytest.raises(KeyError, match="a fault of the program"):
        iminuit.minuit(lambda a: faulty(np.stack([a])), {"a": 2.0}).migrad()


def test_nlopt_minimises_with_constraints():
    """A quasi-Newton method; an inequality, one alone and as a vector; an exception comes through."""
    library = pytest.importorskip("nlopt")

    def optimiser(function, algorithm=library.LD_SLSQP, size=2):
        made = library.opt(algorithm, size)
        made.set_min_objective(function)
        made.set_xtol_rel(1e-8)
        return made

    for algorithm in (library.LD_LBFGS, library.LD_TNEWTON_PRECOND_RESTART):
        found = optimiser(nlopt.function(rosenbrock), algorithm, 5).optimize(np.full(5, 0.5))
        np.testing.assert_allclose(found, 1.0, atol=1e-5)
    near = nlopt.function(lambda x, y: -np.sum((x - y) ** 2), td.Constant(np.full(2, 2.0)), negate=True)
    one, several = optimiser(near), optimiser(near)
    one.add_inequality_constraint(nlopt.function(lambda x: np.sum(x**2) - 1.0), 1e-10)
    several.add_inequality_mconstraint(nlopt.vector_function(lambda x: np.stack([np.sum(x**2) - 1.0, x[0] - 5.0])), np.full(2, 1e-10))
    for each in (one, several):
        np.testing.assert_allclose(each.optimize(np.array([0.3, 0.1])), 0.5**0.5, atol=1e-6)
    derivative_free = library.opt(library.LN_NELDERMEAD, 2)
    derivative_free.set_min_objective(nlopt.function(rosenbrock))
    derivative_free.set_xtol_rel(1e-8)
    np.testing.assert_allclose(derivative_free.optimize(np.zeros(2)), 1.0, atol=1e-4)
    with pytest.raises(KeyError, match="a fault of the program"):
        optimiser(nlopt.function(faulty)).optimize(np.ones(2))


def hs071(x):
    return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]


def of_hs071(x):
    return np.stack([np.prod(x), np.sum(x**2)])


def test_derivatives_for_ipopt_agree_with_dense_ones():
    """In their structure; an entry that another path has and this has not is an error, as it cannot be told to Ipopt."""
    program = ipopt.Program(hs071, np.array([1.0, 5.0, 5.0, 1.0]), of_hs071, lower=[25.0, 40.0], upper=[np.inf, 40.0], bounds=(1.0, 5.0))
    x, multipliers = np.array([1.5, 2.0, 3.0, 4.0]), np.array([0.3, -2.0])
    dense = np.zeros((2, 4))
    dense[program.jacobianstructure()] = program.jacobian(x)
    np.testing.assert_allclose(dense, td.jacobian(of_hs071, x), rtol=1e-12)
    lower = np.zeros((4, 4))
    lower[program.hessianstructure()] = program.hessian(x, multipliers, 0.7)
    expected = td.hessian(lambda x: 0.7 * hs071(x) + multipliers @ of_hs071(x), x)
    np.testing.assert_allclose(lower, np.tril(expected), rtol=1e-12, atol=1e-12)
    chain = ipopt.Program(rosenbrock, np.full(50, 0.5))
    assert chain.hessianstructure()[0].size == 99
    joined = ipopt.Program(lambda x: np.sum(x**2) if x[0] > 0 else x[0] * x[1], np.ones(2))
    for sign, values in ((2.0, [2.0, 0.0, 2.0]), (-1.0, [0.0, 1.0, 0.0])):
        np.testing.assert_allclose(joined.hessian(sign * np.ones(2), np.zeros(0), 1.0), values)

    def apart(x):
        if x[0] > 0:
            return np.sum(x**2)
        print(end="")
        return x[0] * x[1]

    branching = ipopt.Program(apart, np.ones(2))
    np.testing.assert_allclose(branching.hessian(2 * np.ones(2), np.zeros(0), 1.0), [2.0, 2.0])
    with pytest.raises(td.ArgumentMismatch, match="another path"):
        branching.hessian(-np.ones(2), np.zeros(0), 1.0)


@pytest.mark.parametrize("library", ["ipyopt", "cyipopt"])
def test_ipopt_solves_problems(library, monkeypatch):
    """Hock and Schittkowski's 71, whose solution is known; a chain without constraints; a model that rejects points; a fault."""
    pytest.importorskip(library)
    monkeypatch.setattr(ipopt, "find_spec", lambda name: library if name == library else None)
    program = ipopt.Program(hs071, np.array([1.0, 5.0, 5.0, 1.0]), of_hs071, lower=[25.0, 40.0], upper=[np.inf, 40.0], bounds=(1.0, 5.0))
    found = program.solve(tol=1e-10)
    assert found.status == 0
    np.testing.assert_allclose(found.value, 17.0140173, rtol=1e-8)  # the digits that are published
    np.testing.assert_allclose(found.x, [1.0, 4.7429994, 3.8211503, 1.3794082], rtol=1e-6)
    np.testing.assert_allclose(td.gradient(hs071, found.x) + found.multipliers @ td.jacobian(of_hs071, found.x), [1.0879, 0, 0, 0], atol=1e-4)
    chain = ipopt.Program(rosenbrock, np.full(200, 0.5)).solve()
    np.testing.assert_allclose(chain.x, 1.0, atol=1e-6)
    barrier = ipopt.Program(lambda x: 3 * x[0] - np.sum(np.log(np.diag(np.linalg.cholesky(np.eye(1) * x[0])))), np.full(1, 9.0))
    np.testing.assert_allclose(barrier.solve(tol=1e-10).x, 1 / 6, rtol=1e-6)
    with pytest.raises(KeyError, match="a fault of the program"):
        ipopt.Program(faulty, np.full(2, 3.0)).solve()
