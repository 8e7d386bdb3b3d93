"""Laplace's marginal: against closed forms, quadrature, dense formulas and differences, and as a function for the rest of tapediff."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import tapediff as td
from tapediff.stats import bernoulli, norm, poisson

RNG = np.random.default_rng(11)
N, GROUPS, OTHERS = 40, 5, 4
GROUP, OTHER = RNG.integers(0, GROUPS, N), RNG.integers(0, OTHERS, N)
X = np.column_stack([np.ones(N), RNG.normal(size=N)])
Y = RNG.normal(size=N) + 0.5 * GROUP
INTO_GROUPS = scipy.sparse.csr_array((np.ones(N), (np.arange(N), GROUP)), shape=(N, GROUPS))
COUNTS = RNG.poisson(2.0, N).astype(float)


def crossed(theta, u, v, y):
    """A linear mixed model with two crossed effects, one of them by a sparse matrix, the other in a container."""
    mean = X @ theta["b"] + INTO_GROUPS @ u + v["of"][OTHER]
    return (norm.logpdf(y, mean, np.exp(theta["s"][0])).sum() + norm.logpdf(u, 0.0, np.exp(theta["s"][1])).sum()
            + norm.logpdf(v["of"], 0.0, np.exp(theta["s"][2])).sum())  # fmt: skip


def crossed_marginal(theta, y):
    one, other = np.eye(GROUPS)[GROUP], np.eye(OTHERS)[OTHER]
    variances = np.exp(2.0 * theta["s"])
    root = np.linalg.cholesky(variances[0] * np.eye(N) + variances[1] * (one @ one.T) + variances[2] * (other @ other.T))
    w = np.linalg.solve(root, y - X @ theta["b"])
    return -0.5 * np.sum(w**2) - np.sum(np.log(np.diag(root))) - 0.5 * N * np.log(2.0 * np.pi)


THETA = {"b": np.array([0.1, 0.2]), "s": np.array([-0.1, -0.5, -0.3])}


@pytest.fixture
def mixed():
    return td.laplace(crossed, ("u", "v"), start={"u": np.zeros(GROUPS), "v": {"of": np.zeros(OTHERS)}})


def assert_trees_close(found, expected, rtol, atol=0.0):
    for one, other in zip(td.tree.leaves(found), td.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def test_normal_models_have_their_exact_marginal(mixed):
    """Value and gradient to rounding; the Hessian by differences to 1e-7, which is what its docstring says of its size."""
    for theta in (THETA, td.tree.map(lambda leaf: leaf + 0.3, THETA)):
        value, gradient = mixed.value_and_gradient(theta, Y)
        expected, slope = td.value_and_gradient(crossed_marginal, theta, Y)
        assert value == pytest.approx(expected, rel=1e-12)
        assert mixed(theta, Y) == pytest.approx(expected, rel=1e-12)
        assert_trees_close(gradient, slope, rtol=1e-10, atol=1e-11)
        assert_trees_close(mixed.gradient(theta, Y), slope, rtol=1e-10, atol=1e-11)
        vector, unravel = td.tree.ravel(theta)
        exact = td.hessian(lambda t, unravel=unravel: crossed_marginal(unravel(t), Y), vector)
        np.testing.assert_allclose(mixed.hessian(theta, Y), exact, atol=1e-7 * np.max(np.abs(exact)))


def test_the_mode_is_the_best_linear_predictor(mixed):
    """By name and in the shapes of the start."""
    mode = mixed.mode(THETA, Y)
    joint = np.concatenate([np.eye(GROUPS)[GROUP], np.eye(OTHERS)[OTHER]], axis=1)
    precision = joint.T @ joint / np.exp(2.0 * THETA["s"][0])
    precision += np.diag(np.repeat(np.exp(-2.0 * THETA["s"][1:]), [GROUPS, OTHERS]))
    expected = np.linalg.solve(precision, joint.T @ (Y - X @ THETA["b"]) / np.exp(2.0 * THETA["s"][0]))
    np.testing.assert_allclose(np.concatenate([mode["u"], mode["v"]["of"]]), expected, rtol=1e-11, atol=1e-13)


def grouped_counts(theta, u, y):
    """Counts with one standard normal effect per group."""
    mean = theta[0] + theta[1] * X[:, 1] + np.exp(theta[2]) * u[GROUP]
    return poisson.logpmf(y, np.exp(mean)).sum() + norm.logpdf(u, 0.0, 1.0).sum()


def walk(theta, u, y):
    """A random walk of log rates, its first step loose."""
    return norm.logpdf(np.diff(u), 0.0, np.exp(theta[0])).sum() + norm.logpdf(u[0], theta[1], 1.0) + poisson.logpmf(y[:15], np.exp(u)).sum()


def scanned(theta, u, y):
    def step(before, now):
        state, count = now
        return state, norm.logpdf(state, theta[1] * before, np.exp(theta[0])) + poisson.logpmf(count, np.exp(state))

    return np.sum(td.scan(step, 0.0, (u, y[:15]))[1])


def looped(theta, u, y):
    total, before = 0.0, 0.0
    for k in range(15):
        total = total + norm.logpdf(u[k], theta[1] * before, np.exp(theta[0])) + poisson.logpmf(y[k], np.exp(u[k]))
        before = u[k]
    return total


def lattice(theta, u, y):
    rough = np.sum(np.diff(u, axis=0) ** 2) + np.sum(np.diff(u, axis=1) ** 2) + 0.3 * np.sum(u**2)
    return -0.5 * np.exp(theta[0]) * rough + 0.5 * theta[0] * u.size + np.sum(y[:16].reshape(4, 4) * (u + theta[1]) - np.exp(u + theta[1]))


def dense(theta, u, y):
    """A Gaussian process, whose precision is full."""
    at = np.arange(8.0)
    covariance = np.exp(2.0 * theta[0]) * np.exp(-0.5 * (at[:, None] - at) ** 2 * np.exp(theta[1])) + 0.1 * np.eye(8)
    root = np.linalg.cholesky(covariance)
    w = np.linalg.solve(root, u)
    return -0.5 * np.sum(w**2) - np.sum(np.log(np.diag(root))) + poisson.logpmf(y[:8], np.exp(u)).sum()


def items(theta, u, y):
    """Two ratings of ability by item response, not concave in the effects and their slopes together."""
    ability, slope = u[:8], u[8:]
    tries = np.outer(ability, np.exp(slope)) - theta[0]
    return (bernoulli.logpmf((y[:24].reshape(8, 3) > 2.0), 1.0 / (1.0 + np.exp(-tries))).sum() + norm.logpdf(ability, 0.0, 1.0).sum()
            + norm.logpdf(slope, theta[1], 0.5).sum())  # fmt: skip


def one_effect(theta, u, y):
    return norm.logpdf(u, theta[0], np.exp(theta[1])) + poisson.logpmf(y[:6], np.exp(u)).sum()


MODELS = {
    "grouped counts": (grouped_counts, np.zeros(GROUPS), [0.3, 0.4, -0.4]), "walk": (walk, np.zeros(15), [-0.7, 0.4]),
    "scan": (scanned, np.zeros(15), [-0.7, 0.8]), "loop": (looped, np.zeros(15), [-0.7, 0.8]), "lattice": (lattice, np.zeros((4, 4)), [0.2, 0.5]),
    "dense": (dense, np.zeros(8), [-0.2, -1.0]), "items": (items, np.full(11, 0.1), [0.2, 0.1]), "one effect": (one_effect, 0.0, [0.2, -0.5]),
}  # fmt: skip


def dense_laplace(f, shape):
    """The textbook formula, with a dense Hessian at a mode that a few dense Newton steps refine."""
    tape = td.GuardedTape(lambda u, theta: f(theta, np.reshape(u, shape), COUNTS))

    def value(theta, mode):
        u = np.ravel(mode)
        for _ in range(3):
            _, slope, curvature = td.value_gradient_and_hessian(tape, u, theta)
            u = u - np.linalg.solve(curvature, slope)
        plain = f(theta, np.reshape(u, shape), COUNTS)
        return plain - 0.5 * np.linalg.slogdet(-td.hessian(tape, u, theta) / (2.0 * np.pi))[1]

    return value


@pytest.mark.parametrize("name", MODELS)
def test_value_and_gradient_are_those_of_the_dense_formula(name):
    """At the first point, at others, and back; gradients against central differences of the dense formula, of step 1e-4 and 2e-4, extrapolated:
    their error is 1e-11 relative by truncation and 1e-11 by rounding, for values up to 100."""  # fmt: skip
    f, start, theta = MODELS[name]
    marginal, exact, theta = td.laplace(f, start={"u": start}), dense_laplace(f, np.shape(start)), np.array(theta)
    for point in (theta, theta + 0.2, theta - 0.1, theta):
        value, gradient = marginal.value_and_gradient(point, COUNTS)
        mode = marginal.mode(point, COUNTS)
        assert np.shape(mode) == np.shape(start)
        assert value == pytest.approx(exact(point, mode), rel=1e-11)
        of = lambda h, e, point=point, mode=mode: (exact(point + h * e, mode) - exact(point - h * e, mode)) / (2.0 * h)
        differences = [(4.0 * of(1e-4, e) - of(2e-4, e)) / 3.0 for e in np.eye(len(theta))]
        np.testing.assert_allclose(gradient, differences, rtol=1e-7, atol=1e-7)


def test_importance_sampling_has_no_error_where_the_effects_are_normal(mixed):
    """All weights are equal: rounding of a sum of 60 terms is left."""
    found = mixed.importance(np.random.default_rng(0), THETA, Y, draws=20)
    assert found.value == pytest.approx(crossed_marginal(THETA, Y), rel=1e-12)
    assert found.laplace == pytest.approx(mixed(THETA, Y), rel=1e-13)
    assert found.standard_error < 1e-12
    assert found.effective_draws == pytest.approx(20.0)


def test_restricted_likelihoods_integrate_the_coefficients_too():
    """REML: the textbook's formula of a normal mixed model, value and gradient, to rounding."""

    def joint(s, b, u, v, y):
        return crossed({"b": b, "s": s}, u, v, y)

    def restricted(s):
        one, other = np.eye(GROUPS)[GROUP], np.eye(OTHERS)[OTHER]
        variances = np.exp(2.0 * s)
        inverse = np.linalg.inv(variances[0] * np.eye(N) + variances[1] * (one @ one.T) + variances[2] * (other @ other.T))
        information = X.T @ inverse @ X
        b = np.linalg.solve(information, X.T @ inverse @ Y)
        return crossed_marginal({"b": b, "s": s}, Y) - 0.5 * np.linalg.slogdet(information)[1] + 0.5 * X.shape[1] * np.log(2.0 * np.pi)

    reml = td.laplace(joint, ("b", "u", "v"), start={"b": np.zeros(2), "u": np.zeros(GROUPS), "v": {"of": np.zeros(OTHERS)}})
    value, gradient = reml.value_and_gradient(THETA["s"], Y)
    expected, slope = td.value_and_gradient(restricted, THETA["s"])
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-10)


def test_the_error_of_the_approximation_is_that_of_quadrature():
    """One effect per group: 80 nodes of Gauss and Hermite give the integral to rounding; Laplace's is 0.03 away here, and not exact.
    Importance sampling finds the integral within five of its errors, which are a quarter of that at most."""  # fmt: skip
    theta, (nodes, weights) = np.array([0.3, 0.4, -0.4]), np.polynomial.hermite_e.hermegauss(80)
    marginal = td.laplace(grouped_counts, start={"u": np.zeros(GROUPS)})
    exact = 0.0
    for g in range(GROUPS):
        at = GROUP == g
        mean = theta[0] + theta[1] * X[at, 1] + np.exp(theta[2]) * nodes[:, None]
        exact += np.log(np.sum(weights * np.exp(poisson.logpmf(COUNTS[at], np.exp(mean)).sum(axis=1))) / np.sqrt(2.0 * np.pi))
    assert 1e-4 < abs(marginal(theta, COUNTS) - exact) < 0.05
    found = marginal.importance(np.random.default_rng(0), theta, COUNTS, draws=2000)
    assert abs(found.value - exact) < 5.0 * found.standard_error
    assert found.standard_error < 0.25 * abs(found.laplace - exact)
    assert str(found).startswith(f"log marginal {found.value:.6g} ± ")


def test_minimisers_take_it(mixed):
    """SciPy finds the maximum of the closed form."""
    vector, unravel = td.tree.ravel(THETA)

    def negative(v):
        value, gradient = mixed.value_and_gradient(unravel(v), Y)
        return -value, -td.tree.ravel(gradient)[0]

    found = scipy.optimize.minimize(negative, vector, jac=True, method="L-BFGS-B")
    closed = td.GuardedTape(lambda v: -crossed_marginal(unravel(v), Y))
    exact = scipy.optimize.minimize(lambda v: td.value_and_gradient(closed, v), vector, jac=True, method="L-BFGS-B")
    assert found.success
    assert found.fun == pytest.approx(exact.fun, rel=1e-8)


def test_it_is_a_function_for_the_rest_of_tapediff(mixed):
    """Gradients of it, of sums with it, compiled and guarded, and in data that depend on theta; the tape is recorded once."""
    exact = lambda t: crossed_marginal(t, Y) - np.sum(t["b"] ** 2)
    penalised = lambda t: mixed(t, Y) - np.sum(t["b"] ** 2)
    assert_trees_close(td.gradient(mixed, THETA, Y), td.gradient(crossed_marginal, THETA, Y), rtol=1e-10, atol=1e-11)
    guarded, compiled = td.GuardedTape(penalised), td.compile(penalised, THETA)
    for shift in (0.0, 0.2, -0.1):
        theta = td.tree.map(lambda leaf, shift=shift: leaf + shift, THETA)
        expected = td.value_and_gradient(exact, theta)
        for target in (penalised, guarded, compiled):
            value, gradient = td.value_and_gradient(target, theta)
            assert value == pytest.approx(expected[0], rel=1e-12)
            assert_trees_close(gradient, expected[1], rtol=1e-10, atol=1e-11)
    assert guarded.stats.recordings == 1
    by_data = td.gradient(mixed, THETA, Y, argnums=1)
    np.testing.assert_allclose(by_data, td.gradient(crossed_marginal, THETA, Y, argnums=1), rtol=1e-10, atol=1e-12)
    scaled = td.gradient(lambda t: mixed(t, np.exp(t["s"][0]) * Y), THETA)
    assert_trees_close(scaled, td.gradient(lambda t: crossed_marginal(t, np.exp(t["s"][0]) * Y), THETA), rtol=1e-10, atol=1e-11)


def test_a_posterior_of_the_parameters_takes_it():
    """With its gradient, and a Hessian."""
    marginal = td.laplace(one_effect, start={"u": 0.0})
    density = lambda m, s: marginal(np.stack([m, s]), COUNTS) + norm.logpdf(m, 0.0, 1.0)
    post = td.Posterior(density, m=td.real(), s=td.real())
    value, gradient = post.log_density_gradient(np.array([0.2, -0.5]))
    expected = marginal.value_and_gradient(np.array([0.2, -0.5]), COUNTS)
    assert value == pytest.approx(expected[0] + norm.logpdf(0.2, 0.0, 1.0), rel=1e-12)
    np.testing.assert_allclose(gradient, expected[1] - np.array([0.2, 0.0]), rtol=1e-10)
    _, _, hessian = post.log_density_hessian(np.array([0.2, -0.5]))
    np.testing.assert_allclose(hessian, marginal.hessian(np.array([0.2, -0.5]), COUNTS) - np.diag([1.0, 0.0]), rtol=1e-6, atol=1e-6)


def test_threads_share_it():
    """Each call finds the mode of its own arguments, whatever the others leave as a start."""
    marginal = td.laplace(grouped_counts, start={"u": np.zeros(GROUPS)})
    points = [np.array([0.3, 0.4, s]) for s in np.linspace(-1.0, 0.5, 12)]
    expected = [marginal.value_and_gradient(point, COUNTS) for point in points]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda point: marginal.value_and_gradient(point, COUNTS), points * 4))
    for (value, gradient), (one, other) in zip(found, expected * 4):
        assert value == pytest.approx(one, rel=1e-11)
        np.testing.assert_allclose(gradient, other, rtol=1e-8, atol=1e-9)


def test_other_data_have_other_marginals(mixed):
    """Of other values, and of another length; globals and constants are compared, so nothing is older than the model."""
    other = np.random.default_rng(5).normal(size=N)
    for y in (Y, other, td.Constant(Y)):
        plain = y.value if isinstance(y, td.Constant) else y
        assert mixed(THETA, y) == pytest.approx(crossed_marginal(THETA, plain), rel=1e-12)
    scale = {"of": 1.0}
    marginal = td.laplace(lambda theta, u, y: np.sum(norm.logpdf(y, np.sum(u), scale["of"])) + np.sum(norm.logpdf(u, theta, 1.0)), start={"u": np.zeros(2)})
    exact = lambda theta, y: -0.5 * (
        np.linalg.slogdet(2.0 * np.pi * (np.eye(len(y)) * scale["of"] ** 2 + 2.0))[1]
        + (y - 2.0 * theta) @ np.linalg.solve(np.eye(len(y)) * scale["of"] ** 2 + 2.0, y - 2.0 * theta)
    )
    for size, scale["of"] in ((4, 1.0), (7, 1.0), (7, 0.5)):
        assert marginal(0.3, other[:size]) == pytest.approx(exact(0.3, other[:size]), rel=1e-12)


SIDES = [-0.3, 0.3]


def branching(theta, u, y):
    """Other densities, with other patterns, on the sides of a branch."""
    inner = norm.logpdf(np.diff(u), 0.0, 1.0).sum() if theta[0] > 0.0 else norm.logpdf(u, theta[0], 1.0).sum()
    return inner + poisson.logpmf(y[:6], np.exp(np.where(u > 0.2, u, 0.2 + np.sinh(u - 0.2)))).sum()


def test_branches_have_paths_of_their_own():
    """On theta, with other patterns of the Hessian; and on the effects, elementwise."""
    marginal = td.laplace(branching, start={"u": np.zeros(6)})
    for theta in (*SIDES, *SIDES[::-1]):
        point = np.array([theta])
        value, gradient = marginal.value_and_gradient(point, COUNTS)
        fresh = td.laplace(branching, start={"u": np.zeros(6)})
        assert value == pytest.approx(fresh(point, COUNTS), rel=1e-12)
        difference = (fresh(point + 1e-4, COUNTS) - fresh(point - 1e-4, COUNTS)) / 2e-4
        assert gradient[0] == pytest.approx(difference, rel=1e-6, abs=1e-7)


def test_it_is_pickled_as_its_function():
    """The copy finds the same value from its own start."""
    marginal = td.laplace(grouped_counts, start={"u": np.zeros(GROUPS)})
    theta = np.array([0.3, 0.4, -0.4])
    marginal(theta, COUNTS)
    again = pickle.loads(pickle.dumps(marginal))
    assert again(theta, COUNTS) == pytest.approx(marginal(theta, COUNTS), rel=1e-12)
    assert repr(again) == repr(marginal) == "<laplace of grouped_counts: 5 random effects, u>"


def test_wrong_names_are_told():
    """Of random arguments, and of starts."""
    with pytest.raises(td.ArgumentMismatch, match=r"random names arguments(.|\n)*theta, u, y"):
        td.laplace(walk, random="w", start={"w": np.zeros(3)})
    with pytest.raises(td.ArgumentMismatch, match=r"needs a start(.|\n)*'u': np.zeros"):
        td.laplace(walk, random="u", start={"v": np.zeros(3)})
    with pytest.raises(td.ArgumentMismatch, match=r"not finite(.|\n)*u\[1\]"):
        td.laplace(walk, random="u", start={"u": np.array([0.0, np.nan])})


def test_dense_hessians_of_many_effects_are_refused():
    """All terms share the sum, which belongs into a variable of its own."""
    marginal = td.laplace(lambda theta, u: -0.5 * np.sum(u**2) - theta * np.sum(u) ** 2, start={"u": np.zeros(50_000)})
    with pytest.raises(td.MemoryBudgetExceeded, match=r"dense(.|\n)*50000 variables"):
        marginal(0.1)


def test_a_walk_of_a_hundred_thousand_steps_needs_memory_for_its_chain():
    """The gradient agrees with a difference of values, of 1e-5 relative error; the factor has two numbers for each effect."""
    n = 100_000
    rng = np.random.default_rng(4)
    y = rng.poisson(np.exp(0.02 * np.cumsum(rng.normal(size=n)))).astype(float)

    def joint(theta, u, y):
        return -0.5 * np.sum(np.diff(u) ** 2) * np.exp(-2.0 * theta) - (n - 1) * theta - 0.5 * u[0] ** 2 + np.sum(y * u - np.exp(u))

    marginal = td.laplace(joint, start={"u": np.zeros(n)})
    _, gradient = marginal.value_and_gradient(-3.9, y)
    assert gradient == pytest.approx((marginal(-3.9 + 1e-3, y) - marginal(-3.9 - 1e-3, y)) / 2e-3, rel=1e-4)
    (_, analysis), = marginal._analyses
    assert len(analysis.l_rows) == n - 1


def test_a_density_that_returns_an_array_is_refused_by_its_name():
    def squares(t, u):
        return -(u**2) * t

    with pytest.raises(td.NonScalarOutput, match="squares returned an array"):
        td.laplace(squares, start={"u": np.zeros(2)})(1.0)
    with pytest.raises(td.DtypeMismatch, match="pass floats"):
        td.laplace(lambda t, u: -np.sum(u**2) * t, start={"u": np.zeros(2, int)})


def test_second_derivatives_go_through_it(mixed):
    """By central differences of the exact gradient; of parameters, of data, and of a function around it."""

    def around(marginal):
        return lambda b, s, y: np.sin(0.1 * marginal({"b": np.exp(b), "s": s}, y)) * s[0]

    b, s, y = THETA["b"], THETA["s"], Y
    for k, at in enumerate((b, s)):
        found = td.hessian(around(mixed), b, s, td.Constant(y), argnums=k)
        expected = td.hessian(around(crossed_marginal), b, s, td.Constant(y), argnums=k)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
        v = np.linspace(1.0, 2.0, len(at))
        product = td.hvp(around(mixed), b, v, s, td.Constant(y), argnums=k)
        np.testing.assert_allclose(product, expected @ v, rtol=1e-6, atol=1e-6)
    v = RNG.normal(size=N)
    found = td.hvp(lambda y: mixed(THETA, y), y, v)
    np.testing.assert_allclose(found, td.hvp(lambda y: crossed_marginal(THETA, y), y, v), rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(td.hvp(lambda y: mixed(THETA, y), y, np.zeros(N)), np.zeros(N))
    tape = td.GuardedTape(lambda s: mixed({"b": b, "s": s}, y))
    np.testing.assert_allclose(tape.hessian(s), td.hessian(lambda s: crossed_marginal({"b": b, "s": s}, y), s), rtol=1e-6, atol=1e-6)


def test_third_derivatives_say_so(mixed):
    with pytest.raises(td.UnsupportedFunction) as caught:
        td.gradient(lambda s: np.sum(td.hessian(lambda s: mixed({"b": THETA["b"], "s": s}, Y), s)), THETA["s"])
    assert "a third derivative through laplace of crossed, which has two" in str(caught.value)


def test_draws_of_effects_have_the_structure_of_the_mode(mixed):
    """Standardised by the dense precision, they are standard normal: 5000 draws, 4 standard errors."""
    rng = np.random.default_rng(2)
    draws = [mixed.sample(rng, THETA, Y) for _ in range(5000)]
    mode = mixed.mode(THETA, Y)
    assert td.tree.map(np.shape, draws[0]) == td.tree.map(np.shape, mode)
    vector, unravel = td.tree.ravel((mode["u"], mode["v"]))

    def joint(x):
        u, v = unravel(x)
        return crossed(THETA, u, v, Y)

    root = np.linalg.cholesky(-td.hessian(joint, vector))
    standard = np.array([root.T @ (td.tree.ravel((d["u"], d["v"]))[0] - vector) for d in draws])
    assert np.all(np.abs(standard.mean(axis=0)) < 4.0 / np.sqrt(5000))
    np.testing.assert_allclose(standard.T @ standard / 5000, np.eye(len(vector)), atol=4.0 * np.sqrt(2.0 / 5000))


def test_containers_of_integers_and_floats_have_the_gradients_of_their_floats():
    """Integers before and after the floats, in parameters' and data's dicts; first and second derivatives by each."""

    def effects(theta, u, data):
        mean = (theta["b"] * data["x"] + u)[data["at"]]
        return norm.logpdf(u, 0.0, theta["scale"]).sum() + norm.logpdf(data["y"], mean * theta["a"], 1.0).sum()

    def closed(theta, data):
        a, size = theta["a"], len(data["y"])
        covariance = np.eye(size) + (a * theta["scale"]) ** 2 * np.equal.outer(data["at"], data["at"])
        root = np.linalg.cholesky(covariance)
        w = np.linalg.solve(root, data["y"] - a * (theta["b"] * data["x"])[data["at"]])
        return -0.5 * np.sum(w**2) - np.sum(np.log(np.diag(root))) - 0.5 * size * np.log(2.0 * np.pi)

    m = td.laplace(effects, "u", start={"u": np.zeros(3)})
    at = np.array([0, 0, 1, 2, 2])
    for by in ("x", "y", "b", "scale"):
        def along(f, value, by=by):
            theta, data = {"a": 2, "b": 0.7, "scale": 1.3}, {"at": at, "x": np.array([1.0, -1.0, 2.0]), "y": np.arange(5.0), "z": at}
            (theta if by in theta else data)[by] = value
            return f(theta, data)

        value = {"x": np.array([1.0, -1.0, 2.0]), "y": np.arange(5.0), "b": 0.7, "scale": 1.3}[by]
        expected = td.gradient(lambda v: along(closed, v), value)
        assert np.any(expected != 0.0)
        np.testing.assert_allclose(td.gradient(lambda v: along(m, v), value), expected, rtol=1e-9)
        second = td.jacobian(lambda v: td.gradient(lambda v: along(closed, v), v), value)
        np.testing.assert_allclose(td.jacobian(lambda v: td.gradient(lambda v: along(m, v), v), value), second, rtol=1e-6, atol=1e-7)
    theta, data = {"a": 2, "b": 0.7, "scale": 1.3}, {"at": at, "x": np.array([1.0, -1.0, 2.0]), "y": np.arange(5.0), "z": at}
    found, wanted = td.gradient(m, theta, data, argnums=1), td.gradient(closed, theta, data, argnums=1)
    np.testing.assert_allclose(found["y"], wanted["y"], rtol=1e-9)
    np.testing.assert_allclose(found["x"], wanted["x"], rtol=1e-9)
