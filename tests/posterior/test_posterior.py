"""td.Posterior: its log density against plain NumPy, Stan's values at Stan's points, data that change, estimates, generated quantities, draws."""

import copy
import importlib.util
import pickle
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import tapediff as td
from tapediff.posterior import progress, starts
from tapediff.posterior.draws import sampling
from tapediff.recording.arguments import size_arguments
from tapediff.stats import halfcauchy, norm
from tapediff.targets.evaluate import fixed_calls

spec = importlib.util.spec_from_file_location(
    "ten_posteriors", Path(__file__).parents[2] / "examples" / "ten_posteriors.py"
)
ten_posteriors = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ten_posteriors)

Y, SIGMA = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
# An ODE, which Stan integrates with another method.
RTOL = {"hudson_lynx_hare": 1e-5}


def eight_schools(**options):
    def log_density(mu, tau, z, y, sigma):
        likelihood = norm.logpdf(y, mu + tau * z, sigma).sum()
        return likelihood + norm.logpdf(z).sum() + norm.logpdf(mu, 0, 5) + halfcauchy.logpdf(tau, 0, 5)

    return td.Posterior(
        log_density, mu=td.real(), tau=td.positive(), z=td.real(dims="school"),
        data={"y": Y, "sigma": SIGMA}, coords={"school": list("ABCDEFGH")}, **options,
    )  # fmt: skip


def normal_of(x_mean=1.0, **options):
    """A normal distribution whose moments are known: x ~ N(x_mean, 2), y given x ~ N(x, 0.5)."""
    return td.Posterior(
        lambda x, y, m: norm.logpdf(x, m, 2.0) + norm.logpdf(y, x, 0.5),
        x=td.real(),
        y=td.real(),
        data={"m": x_mean},
        **options,
    )


def test_the_verdict_of_check_says_no_more_than_its_rows():
    """On a jump differences are off by 1e4 and more; such a row is marked as not compared, and no agreement is told of it."""
    report = td.Posterior(lambda x: -x * x + (3.0 if x > 0 else 0.0), x=td.real()).check(points=3)
    text = str(report)
    assert text.splitlines()[0] in report._repr_html_()
    first = next(row for row in text.splitlines() if row.startswith("u = 0"))
    assert first.endswith("not compared")
    assert "agree with differences at 2 of 3 points" in text
    assert "gradients were not compared" in str(td.Posterior(lambda x: -x * x + (3.0 if x > 0 else 0.0), x=td.real()).check(points=1))


@pytest.mark.parametrize(
    ("density", "told"),
    [
        (lambda x: -np.sqrt(x * x) - x * x, "nan   "),  # 0 / 0 at u = 0, in a gradient of which the value is finite
        (lambda x: np.sqrt(x - 1e-9) - x * x if x > 0.0 else -np.sqrt(-x) - 1.0, "inf  .*look here"),  # on a branch, where nothing is compared
        (lambda x: -td.stop_gradient(x) ** 2, "look here"),  # a gradient of 0
    ],
)
def test_the_check_tells_no_agreement_above_a_gradient_that_is_wrong_or_not_finite(density, told):
    """NaN is no number that is smaller than a tolerance, nor one that a maximum may leave out."""
    report = td.Posterior(density, x=td.real()).check(points=3)
    assert not report.is_fine
    assert "gradients agree" not in str(report)
    assert str(report).endswith("not fine at the marked points")
    assert re.search(told, str(report))


def test_the_check_sees_one_wrong_entry_among_many():
    """Random directions have a small part of each entry; the error told is the entry's."""
    wrong = td.Posterior(lambda x: -(x**2).sum() - 1e-4 * td.stop_gradient(x[70]) + 5 * x[3], x=td.real(400)).check(points=2)
    assert "gradients agree" not in str(wrong)
    assert all(2e-5 < point.error < 2e-4 for point in wrong.points)  # 1e-4 of a largest slope of 5 or more, at 20 directions
    assert td.Posterior(lambda x: -(x**2).sum() + 5 * x[3], x=td.real(400)).check(points=2).is_fine


def test_the_check_compares_the_value_with_that_of_plain_python():
    """A density that a recording fixes is another one, though its gradient is right."""
    calls = []

    def counting(x):
        calls.append(1)
        return -(x**2) + 0.25 * len(calls)

    report = td.Posterior(counting, x=td.real()).check(points=2)
    assert "gradients agree" not in str(report)
    assert "that of plain Python" in str(report)


def test_a_check_compares_no_differences_across_points_that_the_model_rejects():
    """The plain function raises beside u = 0, and differences there are none."""

    def density(x):
        return np.log(np.linalg.cholesky(np.array([[x + 1e-7, 0.0], [0.0, 1.0]]))[0, 0])

    text = str(td.Posterior(density, x=td.real()).check(points=1))
    assert "nan" in text
    assert "gradients agree" not in text
    with pytest.raises(td.PosteriorError, match=r"(?s)a check needs a point\n  at:  test_posterior.py.*\n  got: points=0\n  fix: points=5"):
        td.Posterior(density, x=td.real()).check(points=0)


@pytest.mark.parametrize("name", ten_posteriors.MODELS)
def test_ten_posteriors_are_stans(name):
    """Value to 1e-12 and gradient to 1e-11 at Stan's unconstrained points, in Stan's order; and points go there and back."""
    post, content = ten_posteriors.load(name)
    assert post.param_unc_num() == len(content["unconstrained_names"])
    for point in content["points"]:
        u = np.array(point["unconstrained"])
        value, gradient = post.log_density_gradient(u)
        assert value == pytest.approx(point["log_density"], rel=RTOL.get(name, 1e-12), abs=0)
        assert np.max(np.abs(gradient - point["gradient"])) < RTOL.get(name, 1e-11) * np.max(np.abs(point["gradient"]))
        np.testing.assert_allclose(post.unconstrain(post.constrain(u)), u, rtol=1e-8, atol=1e-8)


def test_names_and_shapes_are_those_of_the_declarations():
    post = eight_schools()
    assert post.names == ("mu", "tau", *(f"z[{k}]" for k in range(8)))
    assert (post.param_num(), post.param_unc_num(), post.shapes["z"]) == (10, 10, (8,))
    simplexes = td.Posterior(lambda p: 0.0 * p[0, 0], p=td.simplex((2, 3)))
    assert simplexes.names[-1] == "p[1,2]"
    assert simplexes.unconstrained_names == ("p[0,0]", "p[0,1]", "p[1,0]", "p[1,1]")
    assert repr(post).startswith("<td.Posterior log_density(mu: real, tau: positive, z: real[8])")


def test_every_derivative_is_that_of_the_plain_function():
    """Value, gradient, Hessian, its products, rows, and the C function, with and without the log-Jacobian."""
    post, rng = eight_schools(), np.random.default_rng(0)
    u, v = rng.normal(size=10), rng.normal(size=10)
    value, gradient, hessian = post.log_density_hessian(u)
    assert value == post.log_density(u) == pytest.approx(post.plain_log_density(u), rel=1e-13)
    steps = 1e-5 * np.eye(10)
    plain = [(post.plain_log_density(u + h) - post.plain_log_density(u - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(gradient, plain, rtol=1e-7, atol=1e-8)  # central differences
    slopes = [(post.log_density_gradient(u + h)[1] - post.log_density_gradient(u - h)[1]) / 2e-5 for h in steps]
    np.testing.assert_allclose(hessian, slopes, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(post.log_density_hessian_vector_product(u, v)[1], hessian @ v, rtol=1e-12)
    out = np.empty(10)
    assert post.log_density_gradient(u, out=out)[1] is out
    values, gradients = post.batch(np.stack([u, v]))
    assert (values[0], gradients[0].tolist()) == (value, gradient.tolist())
    assert post.log_density(u, jacobian=False) == pytest.approx(value - u[1], rel=1e-13)  # that of tau = exp(u[1])
    assert post.address != 0
    assert post.user_data != 0


def test_other_data_are_used_without_compiling():
    """By every way to call; other shapes are recorded anew."""
    post, u = eight_schools(), np.random.default_rng(1).normal(size=10)
    before = post.log_density_gradient(u)[0]
    address = post.address
    recordings = post.tape.stats.recordings
    post.set_data(y=2 * Y)
    assert post.log_density_gradient(u)[0] == pytest.approx(post.plain_log_density(u), rel=1e-13)
    assert post.log_density_gradient(u)[0] != before
    assert post.tape.stats.recordings == recordings
    assert post.address == address
    with pytest.raises(ValueError, match="no data of the name x"):
        post.set_data(x=Y)
    with pytest.raises(AttributeError):
        post.data = {}


@pytest.mark.parametrize("inside", [lambda y: y, lambda y: (y, 2), lambda y: [y, np.ones(2)], lambda y: {"first": y}, lambda y: {"first": [y]}])
def test_data_are_copied_when_they_are_given(inside: Callable[[np.ndarray], object]) -> None:
    """Later changes of the caller's arrays stay outside, at first and after set_data, in containers too."""

    def log_density(mu, y):
        while not isinstance(y, np.ndarray) and not hasattr(y, "shape"):
            y = y["first"] if isinstance(y, dict) else y[0]
        return -np.sum((y - mu) ** 2)

    y, u = np.ones(3), np.zeros(1)
    post = td.Posterior(log_density, mu=td.real(), data={"y": inside(y)})
    for expected in (-3.0, -12.0):
        before = post.log_density(u), post.log_density_gradient(u)[1][0]
        assert before[0] == post.plain_log_density(u) == expected
        y[:] = 7.0
        assert (post.log_density(u), post.log_density_gradient(u)[1][0]) == before
        y[:] = 2.0
        post.set_data(y=inside(y))


def test_data_of_any_length_share_a_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    """By Python; native calls follow once the data have stayed for some calls."""

    def log_density(mu, tau, y, t):
        mean = 0.0
        for k in range(len(y)):
            mean = mean + (y[k] if y[k] > mu else 0.5 * mu) * t[k]
        return np.sum(-0.5 * ((y - mu) / tau) ** 2 - np.log(tau)) - mu**2 - 0.1 * mean

    monkeypatch.setattr(fixed_calls, "OFTEN", 3)
    monkeypatch.setattr(size_arguments, "OFTEN", 5)
    rng, u = np.random.default_rng(0), np.array([0.1, 0.2])

    def data(n: int) -> dict[str, np.ndarray]:
        return {"y": rng.normal(size=n), "t": np.linspace(0, 1, n)}

    post = td.Posterior(log_density, mu=td.real(), tau=td.positive(), data=data(20))
    for n in (20, 25, 31, 18, 24, 30):
        post.set_data(data(n))
        fresh = td.Posterior(log_density, mu=td.real(), tau=td.positive(), data=post.data)
        value, gradient = post.log_density_gradient(u)
        assert value == pytest.approx(post.plain_log_density(u), rel=1e-12)
        assert post.log_density(u) == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(gradient, fresh.log_density_gradient(u)[1], rtol=1e-10)
        np.testing.assert_allclose(post.log_density_hessian(u)[2], fresh.log_density_hessian(u)[2], rtol=1e-9)
    assert post.tape.stats.recordings == 2
    expected = post.log_density_gradient(u)[1]
    for _ in range(12):
        np.testing.assert_allclose(post.log_density_gradient(u)[1], expected, rtol=1e-12)
    assert post.tape.stats.recordings == 3
    assert type(post.native_calls.gradient(u, np.empty(2))) is float
    post.set_data(data(22))
    assert post.log_density_gradient(u)[0] == pytest.approx(post.plain_log_density(u), rel=1e-12)
    assert post.tape.stats.recordings == 3


def test_a_density_that_branches_has_a_tape_for_each_path():
    """Recorded at A, evaluated at B; and `check` says how near the branch is."""
    post = td.Posterior(lambda x: -0.5 * x**2 if x > 0 else -2.0 * x**2, x=td.real())
    for u in (1.0, -1.0, 0.5):
        assert post.log_density_gradient(np.array([u]))[1] == -u if u > 0 else -4 * u
    report = post.check(seed=1)
    assert report.is_fine
    assert "0 " in str(report).splitlines()[1]  # u = 0 is at the branch
    assert re.search(r"the nearest branch: greater\(.*, 0\) in test_posterior.py.*, where the log density is continuous", str(report))


def test_comparisons_of_data_are_no_branches_in_the_table_of_check():
    """Indices, and data that a loop or an `if` looks at: no parameter comes to the other side."""
    groups, y = np.array([0, 2, 1, 2]), np.arange(4.0)

    def of_groups(a, y, groups):
        total = norm.logpdf(a).sum()
        for value in y:
            total += norm.logpdf(value, a[0]) if value > 1.5 else 0.0
        return total + norm.logpdf(y, a[groups]).sum()

    report = td.Posterior(of_groups, a=td.real(3), data={"y": y, "groups": groups}).check()
    assert report.is_fine
    assert all(point.next_branch is None for point in report.points)
    assert "nearest branch" not in str(report)


def test_bounds_may_depend_on_parameters_declared_before():
    """y uniform below x, which is uniform: by the transform, and by rows."""
    post = td.Posterior(lambda x, y: -np.log(x), x=td.interval(0, 1), y=td.interval(0, lambda x: x))
    u = np.random.default_rng(2).normal(size=(4, 2))
    values = post.constrain(u)
    np.testing.assert_allclose(values["x"], 1 / (1 + np.exp(-u[:, 0])), rtol=1e-13)
    np.testing.assert_allclose(values["y"], values["x"] / (1 + np.exp(-u[:, 1])), rtol=1e-13)
    for row, x, y in zip(u, values["x"], values["y"]):
        assert post.log_density(row) == pytest.approx(np.log(x * (1 - x) * (1 - y / x) * y / x), rel=1e-12)
        np.testing.assert_allclose(post.unconstrain(x=x, y=y), row, rtol=1e-9)


def test_modes_and_normal_approximations_of_a_normal_distribution_are_exact():
    """Mean, covariance and evidence (1, as the density is normalised)."""
    approximation = normal_of().laplace()
    np.testing.assert_allclose(approximation.mode.u, [1.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(approximation.covariance, [[4.0, 4.0], [4.0, 4.25]], rtol=1e-9)
    assert approximation.log_evidence == pytest.approx(0.0, abs=1e-9)
    draws = approximation.sample(4000)
    np.testing.assert_allclose(
        np.cov(draws["x"], draws["y"]), [[4.0, 4.0], [4.0, 4.25]], atol=0.5
    )  # five standard errors
    positive = td.Posterior(lambda s: stats.gamma(3, scale=2).logpdf(1.0) * 0 + 2 * np.log(s) - s / 2, s=td.positive())
    assert positive.find_map().values["s"] == pytest.approx(4.0)  # the mode of Gamma(3, 2)
    assert positive.find_map(jacobian=True).values["s"] == pytest.approx(6.0)  # that of its logarithm, back
    with pytest.raises(RuntimeError, match=r"(?s)no mode was found.*as s goes to .*fix: find_map\(jacobian=True\)"):
        td.Posterior(lambda s: -np.log(s), s=td.positive()).find_map()
    with pytest.raises(RuntimeError, match=r"(?s)as s goes to .*fix: a prior"):
        td.Posterior(lambda s: 2.0 * np.log(s), s=td.positive()).find_map(jacobian=True)
    with pytest.raises(RuntimeError, match=r"(?s)not finite at 100 points between -2 and 2.*fix: start="):
        td.Posterior(lambda s: np.log(s - 100.0), s=td.positive()).find_map()


def mostly_rejected(**options):
    """A covariance matrix that is positive definite where a > |b|: not at u = 0, and at a quarter of the points where samplers begin."""

    def log_density(a, b, y):
        factor = np.linalg.cholesky(np.array([[a, b], [b, a]]))
        z = np.linalg.solve(factor, y)
        return -0.5 * z @ z - np.log(np.diag(factor)).sum() + norm.logpdf(a, 0, 3) + norm.logpdf(b, 0, 3)

    return td.Posterior(log_density, a=td.real(), b=td.real(), data={"y": np.array([1.0, 2.0])}, **options)


@pytest.mark.slow
def test_models_that_reject_the_origin_begin_elsewhere():
    """Modes, addresses, products, and draws; the error of a model without any value is its own."""
    post = mostly_rejected(generated=lambda a, b: {"ratio": np.sqrt(a - b)})
    assert post.log_density(post.example_point()) > -np.inf
    assert post.address
    mode = post.find_map()
    assert np.max(np.abs(mode.gradient)) < 1e-8
    assert post.laplace().mode.log_density == mode.log_density  # both parameters are real
    assert post.pathfinder(50, seed=1).values["a"].shape == (50,)
    with pytest.raises(np.linalg.LinAlgError):
        _ = td.Posterior(lambda x: np.linalg.cholesky(-np.eye(2) * x**2)[0, 0], x=td.real()).address
    with pytest.raises(RuntimeError, match=r"(?s)fix: start=.* or a prior"):
        td.Posterior(lambda x: x, x=td.real()).find_map()


def test_the_descent_goes_on_where_a_line_search_met_a_rejected_point():
    """SciPy's L-BFGS-B alone ends at (18.7, 1.0), and says that it has converged."""

    def barrier(u):
        with np.errstate(invalid="ignore"):
            value = np.sum(u) - np.sum(np.log(u))
        return (value, 1.0 - 1.0 / u) if np.isfinite(value) else (np.inf, np.zeros(2))

    for start in ([40.0, 1e-3], [4.0, 0.2], [3.0, 0.5], [40.0, 0.5]):
        path = []
        end = starts.minimized(barrier, np.array(start), {"gtol": 1e-9, "ftol": 1e-14}, path.append)
        np.testing.assert_allclose(end, 1.0, atol=1e-6)
        np.testing.assert_array_equal(path[-1], end)


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_nutpie_samples_models_that_reject_the_origin():
    """By the integral over a grid: the mean of a, within five standard errors of 500 independent draws."""
    pytest.importorskip("nutpie")
    post = mostly_rejected()
    a, b = np.meshgrid(np.linspace(0.01, 15.0, 300), np.linspace(-12.0, 12.0, 300))
    inside = a > np.abs(b)
    logs = [post.plain_log_density(point) for point in np.stack([a[inside], b[inside]], axis=1)]
    weights = np.exp(logs) / np.sum(np.exp(logs))
    mean = np.sum(weights * a[inside])
    drawn = post.sample(1000, 2, seed=1, progress_bar=False, cores=1).posterior["a"].values
    deviation = np.sqrt(np.sum(weights * (a[inside] - mean) ** 2))
    assert drawn.mean() == pytest.approx(mean, abs=5 * deviation / np.sqrt(500))


def test_pathfinder_finds_a_normal_distribution():
    """Mean, covariance and evidence of a correlated one, and no draws where there is no density."""
    rng = np.random.default_rng(0)
    root, mean = rng.normal(size=(5, 5)), np.arange(5.0)
    covariance = root @ root.T / 5 + np.diag(np.linspace(0.1, 4.0, 5))
    precision = np.linalg.inv(covariance)
    post = td.Posterior(lambda x: -0.5 * (x - mean) @ precision @ (x - mean), x=td.real(5))
    found = post.pathfinder(2000, paths=2)
    # 4 standard errors, with as many draws less as are drawn twice.
    errors = np.sqrt(np.diag(covariance) / (2000 * 0.5 * found.efficiency))
    assert np.all(np.abs(found.values["x"].mean(axis=0) - mean) < 4 * errors)
    np.testing.assert_allclose(np.cov(found.u.T), covariance, atol=0.15 * covariance.max())
    log_evidence = 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
    np.testing.assert_allclose(found.elbos, log_evidence, atol=0.8)  # each a mean of five draws, of nearly this distribution
    nowhere = td.Posterior(lambda x: np.log(-1.0 - x**2), x=td.real())
    with np.errstate(invalid="ignore"), pytest.raises(RuntimeError, match="not finite at 100 points"):
        nowhere.pathfinder()


def test_bars_are_shown_for_what_takes_long(monkeypatch):
    """From when it has taken long on, up to the end; the items are the same, also without tqdm."""
    updates, made = [], []

    class Bar:
        def __init__(self, **options):
            made.append(options)

        def update(self):
            updates.append(1)

        def close(self):
            updates.append("closed")

    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=Bar))
    assert list(progress.with_progress(range(5), 5, "quick")) == [*range(5)]
    assert made == []
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    assert list(progress.with_progress(range(5), 5, "slow")) == [*range(5)]
    assert [(m["total"], m["initial"], m["desc"]) for m in made] == [(5, 1, "slow")]
    assert updates == [1, 1, 1, 1, "closed"]
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert list(progress.with_progress(range(5), 5, "slow")) == [*range(5)]


def test_generated_quantities_are_those_of_each_draw():
    """Compiled, and as plain Python with a random generator, whose seed decides."""
    draws = normal_of().laplace().sample(50, seed=3)
    compiled = normal_of(generated=lambda x, y, m: {"total": x + y - m, "both": np.stack([x, y])}).generate(draws)
    np.testing.assert_array_equal(compiled["total"], draws["x"] + draws["y"] - 1.0)
    assert compiled["both"].shape == (50, 2)
    random = normal_of(generated=lambda y, rng: {"replicated": rng.normal(y, 0.5)})
    np.testing.assert_array_equal(
        random.generate(draws, seed=1)["replicated"], random.generate(draws, seed=1)["replicated"]
    )
    with pytest.raises(ValueError, match="no generated quantities"):
        normal_of().generate(draws)


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda: td.Posterior(lambda: 0.0), "no parameters"),
        (lambda: td.Posterior(lambda x: x, x=1.0), "'x' is float, and has to be a parameter"),
        (lambda: td.Posterior(lambda x: x, x=td.real(), data={"x": 1.0}), "parameter and data of one name"),
        (lambda: td.Posterior(lambda x, y: x, x=td.real()), "needs y, which is neither"),
        (lambda: td.Posterior(lambda x: x, x=td.real(), data={"y": 1.0}), "has no argument y"),
        (lambda: normal_of().constrain(np.zeros(3)), "have 2 numbers"),
        (lambda: normal_of().unconstrain(x=1.0), "missing: y"),
        (lambda: normal_of().unconstrain(x=1.0, y=np.zeros(2)), "has shape"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(make, wrong):
    with pytest.raises(ValueError, match=wrong):
        make()


POINT_METHODS = {
    "log_density": lambda post, u: post.log_density(u),
    "without the Jacobian": lambda post, u: post.log_density(u, jacobian=False),
    "log_density_gradient": lambda post, u: post.log_density_gradient(u),
    "log_density_hessian": lambda post, u: post.log_density_hessian(u),
    "hessian times vector": lambda post, u: post.log_density_hessian_vector_product(u, u),
    "batch": lambda post, u: post.batch(np.asarray(u)[None]),
    "plain_log_density": lambda post, u: post.plain_log_density(u),
    "constrain": lambda post, u: post.constrain(u),
}


@pytest.mark.parametrize("method", POINT_METHODS)
def test_points_of_another_size_are_refused_and_whole_numbers_are_points(method):
    post = td.Posterior(lambda a, b: -(a**2) - (b**2).sum(), a=td.positive(), b=td.real(2))
    for wrong in (np.zeros(4), np.zeros(2), np.zeros(0), np.zeros((3, 1))):
        with pytest.raises(ValueError, match=r"unconstrained point"):
            POINT_METHODS[method](post, wrong)
    results = [POINT_METHODS[method](post, u) for u in (np.array([1.0, 2.0, -1.0]), [1, 2, -1], np.array([1, 2, -1]))]
    for result in results[1:]:
        np.testing.assert_equal(result, results[0])


@pytest.mark.parametrize("method", sorted(set(POINT_METHODS) - {"constrain"}))
def test_a_density_of_several_numbers_is_refused(method):
    post = td.Posterior(lambda a: -(a**2), a=td.real(2))
    with pytest.raises((ValueError, td.NonScalarOutput), match=r"\.sum\(\)"):
        POINT_METHODS[method](post, np.zeros(2))


def test_check_marks_what_is_not_fine():
    """A point that is rejected, and a gradient that is not the function's."""
    rejected = td.Posterior(lambda x: np.sum(np.linalg.cholesky(np.eye(2) * x)), x=td.real())
    assert "LinAlgError" in str(rejected.check())
    wrong = td.primitive(lambda x: (x**2, x), lambda x, z_bar: z_bar * x)
    report = td.Posterior(lambda x: wrong(x), x=td.real()).check()
    assert not report.is_fine
    assert "look here" in str(report)


BRANCHING = {
    "a jump": (lambda x, y: norm.logpdf(x) + norm.logpdf(y) - (3.0 if x > 0.3 else 0.0), 3.0),
    "a jump that is not at a number": (lambda x, y: -(x**2) - y**2 - (0.5 if x * y + np.exp(x) > 0.7 else 0.0), 0.5),
    "a kink": (lambda x, y: -0.5 * y**2 - (0.5 * x**2 if x > 0.3 else 0.3 * x - 0.045), 0.0),
    "a branch with one value": (lambda x, y: -0.5 * y**2 - 0.5 * x**2 if x > y else -0.5 * (x * x + y * y), 0.0),
    "no branch": (lambda x, y: -(x**2) - y**2, None),
    "values that are not finite beyond": (lambda x, y: -np.inf if x > 0.3 else -(x**2) - y**2, np.inf),
}


@pytest.mark.parametrize("name", BRANCHING)
def test_check_tells_whether_the_density_jumps_at_the_nearest_branch(name):
    """Gradients agree with differences on both sides of a step, so that nothing else does."""
    log_density, jump = BRANCHING[name]
    report = td.Posterior(log_density, x=td.real(), y=td.real()).check()
    assert report.jump == (None if jump is None else pytest.approx(jump, rel=1e-3))
    told = {None: "no branches", 0.0: "the log density is continuous"}.get(jump, f"the log density jumps by {jump}")
    assert told.removesuffix(".0") in str(report)


def test_jumps_among_a_hundred_parameters_are_found_and_rejections_are_none():
    """On random ways, as no derivative of the comparison is asked for; a factorisation that fails beyond is no jump of the density."""
    many = td.Posterior(lambda z: -0.5 * (z**2).sum() - sum((1.0 if v > 0.5 else 0.0) for v in z), z=td.real(100))
    assert many.check(points=3).jump == pytest.approx(1.0, rel=1e-3)
    fails = td.Posterior(lambda x: x if x < 0.3 else np.linalg.cholesky(-np.eye(2) * x)[0, 0], x=td.real())
    assert fails.check(points=3).jump is None


@pytest.mark.filterwarnings("ignore")  # those of other packages
@pytest.mark.slow
def test_chains_are_joined_in_one_trace_by_any_arviz():
    """Numbered from 0, with the coordinates that they have; ArviZ 1.0 has no concat of its own."""
    az = pytest.importorskip("arviz")
    parts = [{"x": np.full((1, 5, 2), float(k))} for k in range(3)]
    options = {"coords": {"pair": ["a", "b"]}, "dims": {"x": ["pair"]}}
    has_concat = hasattr(az, "concat")
    traces = [az.from_dict(posterior=part, **options) if has_concat else az.from_dict({"posterior": part}, **options) for part in parts]
    joined = sampling._joined(traces).posterior["x"]
    assert joined.dims == ("chain", "draw", "pair")
    np.testing.assert_array_equal(joined.values[:, 0, 0], [0.0, 1.0, 2.0])
    assert list(joined["pair"].values) == ["a", "b"]
    assert list(joined["chain"].values) == [0, 1, 2]


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_nutpie_draws_are_those_of_the_distribution():
    """Means and variances of a branching density and of a normal one, within five standard errors of 1,000 independent draws; with names."""
    pytest.importorskip("nutpie")
    post = normal_of(
        generated=lambda x, y, rng: {"z": rng.normal(size=2)}, dims={"z": ("pair",)}, coords={"pair": ["a", "b"]}
    )
    trace = post.sample(1000, 2, seed=1, progress_bar=False, cores=1)
    x = trace.posterior["x"].values
    assert x.shape == (2, 1000)
    assert x.mean() == pytest.approx(1.0, abs=5 * 2 / np.sqrt(1000))
    assert x.var() == pytest.approx(4.0, rel=5 * np.sqrt(2 / 1000))
    assert trace.posterior["z"].dims == ("chain", "draw", "pair")
    half = td.Posterior(lambda p: -0.5 * p**2 if p > 0 else -2.0 * p**2, p=td.real())
    p = half.sample(2000, 2, seed=1, progress_bar=False, cores=1).posterior["p"].values
    assert np.mean(p > 0) == pytest.approx(2 / 3, abs=5 * 0.5 / np.sqrt(1000))  # widths 1 and 1/2


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_an_error_of_the_density_stops_the_sampler_with_its_own_message():
    """It is not taken for a rejected point."""
    pytest.importorskip("nutpie")

    def log_density(x):
        if x > 1.5:
            raise KeyError("a fault of the program")
        return -0.5 * x**2

    with pytest.raises(KeyError, match="a fault of the program"):
        td.Posterior(log_density, x=td.real()).sample(500, 1, seed=1, progress_bar=False, cores=1)


def of_every_kind(**values):
    return -0.5 * sum(np.sum(value**2) for value in values.values())


def smallest(**values):
    return {"smallest": min(np.min(value) for value in values.values())}


def bound(real):
    return real


def test_posteriors_of_functions_with_names_can_be_pickled_and_others_say_so():
    """With every kind of parameter, by pickle alone; copies are of the same functions."""
    one = {kind: getattr(td, kind)() for kind in ("real", "positive")} | {"above": td.lower(bound), "inside": td.interval(-1.0, 2.0)}
    vectors = {kind: getattr(td, kind)(3) for kind in ("ordered", "positive_ordered", "simplex", "unit_vector", "zero_sum")}
    matrices = {kind: getattr(td, kind)(2) for kind in ("cholesky_corr", "corr_matrix", "cov_matrix")}
    post = td.Posterior(of_every_kind, parameters={**one, "upper": td.upper(0.0), **vectors, **matrices}, generated=smallest)
    u = np.linspace(-1.0, 1.0, post.param_unc_num())
    for again in (pickle.loads(pickle.dumps(post)), copy.copy(post), copy.deepcopy(post)):
        assert again.plain_log_density(u) == post.plain_log_density(u)
        assert again.log_density(u) == pytest.approx(post.plain_log_density(u), rel=1e-13)
        assert again.generate(again.constrain(u[None]))["smallest"] == min(np.min(value) for value in post.constrain(u).values())
    if "cloudpickle" not in sys.modules:
        for nameless in (
            td.Posterior(lambda x: -x, x=td.real()),
            td.Posterior(of_every_kind, x=td.real(), y=td.lower(lambda x: x)),
            td.Posterior(of_every_kind, x=td.real(), generated=lambda x: {"y": x}),
        ):
            with pytest.raises(td.UnsupportedFunction, match="<lambda> cannot be pickled"):
                pickle.dumps(nameless)


def test_distributions_and_posteriors_can_be_pickled():
    """By their names; the C function, which is of this process, is left behind and made again."""
    for name in td.stats.__all__:
        assert pickle.loads(pickle.dumps(getattr(td.stats, name))) is getattr(td.stats, name)
    cloudpickle = pytest.importorskip("cloudpickle")
    post = td.Posterior(lambda mu, y: norm.logpdf(y, mu).sum(), mu=td.positive(), data={"y": np.ones(3)})
    assert post.address
    again = cloudpickle.loads(cloudpickle.dumps(post))
    assert again.log_density_gradient(np.zeros(1))[0] == post.log_density_gradient(np.zeros(1))[0]
    assert again.address


def of_y(mu, y):
    return norm.logpdf(y, mu).sum()


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        (lambda: td.Posterior(of_y, mu=td.real()), 'data={"y": ...} for data'),
        (lambda: td.Posterior(of_y, mu=td.real(), y=Y), 'data={"y": ...} for data'),
        (lambda: td.Posterior(of_y, mu=td.real, data={"y": Y}), "mu=td.real(), called"),
        (lambda: td.Posterior(of_y, mu=td.simplex(), data={"y": Y}), "fix: its size, as in td.simplex(3)"),
        (lambda: td.Posterior(of_y, mu=td.real(), data={"y": Y}).log_density({"mu": 0.0}), "fix: post.unconstrain(values)"),
        (lambda: td.Posterior(of_y, mu=td.real(), data={"y": Y}).log_density(np.zeros(2)), "fix: post.unconstrain({...})"),
        (lambda: td.Posterior(lambda mu: None, mu=td.real()).log_density(np.zeros(1)), "fix: a function ends with `return`"),
        (lambda: normal_of(generated=lambda x: 2 * x).generate({"x": np.zeros(3), "y": np.zeros(3)}), "fix: return {'theta': theta}"),
        (lambda: normal_of(generated=lambda x, rng: 2 * x).generate({"x": np.zeros(3), "y": np.zeros(3)}), "fix: return {'theta': theta}"),
    ],
)  # fmt: skip
def test_first_mistakes_are_told_with_their_repair(call, fix):
    with pytest.raises(ValueError, match="fix") as told:
        call()
    assert fix in str(told.value)


def test_data_are_replaced_by_a_dict_as_well_and_frames_are_no_dicts():
    pd = pytest.importorskip("pandas")
    post = td.Posterior(of_y, mu=td.real(), data={"y": Y})
    post.set_data({"y": Y + 1.0})
    assert post.log_density([1.0]) == pytest.approx(norm.logpdf(Y, 0.0).sum())
    frame = pd.DataFrame({"y": Y, "sigma": SIGMA})
    by_column = td.Posterior(lambda mu, frame: norm.logpdf(frame["y"], mu).sum(), mu=td.real(), data={"frame": frame})
    with pytest.raises(IndexError, match=r"no column 'y'; fix: .* as a dict of arrays"):
        by_column.log_density([0.0])
    by_column.set_data(frame={name: frame[name].to_numpy() for name in frame})
    assert by_column.log_density([0.0]) == pytest.approx(norm.logpdf(Y, 0.0).sum())


def test_params_has_every_constraint():
    """The same functions as at the top level, and no other."""
    declared = td.MODULES["posterior.parameters"].split()
    assert sorted(td.params.__all__) == declared
    assert all(getattr(td.params, name) is getattr(td, name) for name in declared)
