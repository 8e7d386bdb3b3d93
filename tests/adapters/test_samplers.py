"""Log densities in the forms of samplers; each sampler that is installed runs on a density that branches, rejects and fails."""

import pickle

import numpy as np
import pytest

import tapediff as td
from tapediff.adapters import walnutpie
from tapediff.adapters.samplers import LogDensity

pytestmark = pytest.mark.filterwarnings("ignore")  # those of other packages


def halves(x):
    """A standard normal times one of another scale on either side, by a branch."""
    if x[0] > 0.0:
        return -0.5 * np.sum(x**2)
    return -0.5 * np.sum((2.0 * x) ** 2) - np.log(0.5)


def bounded(x):
    """Normal where a matrix is positive definite, which is x[0] < 1."""
    return -0.5 * np.sum(x**2) + 0.0 * np.linalg.cholesky(np.eye(2) * (1.0 - x[0]))[0, 0]


def infinite(x):
    return -np.inf if x[0] > 1.0 else -0.5 * np.sum(x**2)


def faulty(x):
    if x[0] > 0.9:
        raise KeyError("a fault of the program")
    return -0.5 * np.sum(x**2)


def test_values_gradients_and_negatives_agree():
    """On both paths, from functions, tapes with data, and posteriors, which keep their data when they are replaced."""
    rng = np.random.default_rng(0)
    of_data = LogDensity(lambda x, y: -np.sum((x - y) ** 2), td.Constant(np.ones(2)))
    post = td.Posterior(lambda x, y: -np.sum((x - y) ** 2), x=td.real(2), data={"y": np.zeros(2)})
    of_post = LogDensity(post)
    post.set_data(y=np.ones(2))
    for x in rng.normal(size=(6, 2)):
        for density, value, gradient in (
            (LogDensity(halves), halves(x), -x if x[0] > 0 else -4 * x),
            (of_data, -np.sum((x - 1) ** 2), -2 * (x - 1)),
            (of_post, -np.sum((x - 1) ** 2), -2 * (x - 1)),
        ):
            np.testing.assert_allclose(density(x), value, rtol=1e-12)
            np.testing.assert_allclose(density.value_and_gradient(x)[1], gradient, rtol=1e-12)
            np.testing.assert_allclose(density.negative_gradient(x)[0], -gradient, rtol=1e-12)
            assert density.negative(x) == -density(x) == density.negative_gradient(x)[1]
            np.testing.assert_allclose(density.rows(np.array([x, x]))[1], value, rtol=1e-12)
    with pytest.raises(td.ArgumentMismatch, match="set_data"):
        LogDensity(post, np.ones(2))


@pytest.mark.parametrize("rejecting", [bounded, infinite])
def test_rejected_points_are_minus_infinity_and_faults_are_raised(rejecting):
    """One at a time, and among the rows of a matrix."""
    density, bad = LogDensity(rejecting), np.array([2.0, 0.0])
    assert density(bad) == -np.inf
    assert density.negative_gradient(bad)[1] == np.inf
    assert not density.value_and_gradient(bad)[1].any()
    np.testing.assert_allclose(density.rows(np.array([[0.5, 0.0], bad, [0.0, 1.0]])), [-0.125, -np.inf, -0.5])
    for form in (LogDensity(faulty), LogDensity(faulty).value_and_gradient):
        with pytest.raises(KeyError, match="a fault of the program"):
            form(bad)
    with pytest.raises(KeyError, match="a fault of the program"):
        LogDensity(faulty).rows(np.array([[0.0, 0.0], bad]))
    with pytest.raises(td.GuardFailed):  # a tape without a value on the other path is no model that rejects it
        LogDensity(td.compile(halves, np.ones(2)))(-np.ones(2))


def test_it_can_be_pickled():
    """For samplers that start processes."""
    again = pickle.loads(pickle.dumps(LogDensity(halves)))
    assert again(np.array([-1.0, 0.0])) == halves(np.array([-1.0, 0.0]))


def check(draws):
    """Of the standard normal with x[0] < 1: the mean of x[0] is -0.2876, its deviation 0.79, and that of x[1] is 1."""
    assert draws[:, 0].max() < 1.0
    np.testing.assert_allclose(draws.mean(axis=0), [-0.2876, 0.0], atol=0.15)  # 4 standard errors of 500 independent draws
    np.testing.assert_allclose(draws.std(axis=0), [0.794, 1.0], atol=0.13)


def test_an_ensemble():
    """All walkers in one call; a fault stops the run with its own message."""
    ensembles, rng = pytest.importorskip("emcee"), np.random.default_rng(1)
    np.random.seed(1)  # noqa: NPY002 -- emcee takes its numbers from it
    start = rng.uniform(-0.5, 0.5, size=(20, 2))
    for function in (bounded, infinite):
        sampler = ensembles.EnsembleSampler(20, 2, LogDensity(function).rows, vectorize=True)
        options = {"progress": False}
        sampler.run_mcmc(start, 400, **options)
        check(sampler.get_chain(discard=100, flat=True))
    with pytest.raises(KeyError, match="a fault of the program"):
        ensembles.EnsembleSampler(20, 2, LogDensity(faulty).rows, vectorize=True).run_mcmc(start, 200, **options)


def test_mici():
    """Gradients with values; a rejected point ends a trajectory, a fault the run."""
    mici = pytest.importorskip("mici")

    def sample(function):
        density = LogDensity(function)
        system = mici.systems.EuclideanMetricSystem(density.negative, grad_neg_log_dens=density.negative_gradient)
        integrator = mici.integrators.LeapfrogIntegrator(system, step_size=0.4)
        sampler = mici.samplers.StaticMetropolisHMC(system, integrator, np.random.default_rng(2), n_step=4)
        return sampler.sample_chains(
            0, 3000, [np.zeros(2)], trace_funcs=[lambda state: {"x": state.pos}], display_progress=False
        )

    for function in (bounded, infinite):
        check(sample(function).traces["x"][0])
    with pytest.raises(KeyError, match="a fault of the program"):
        sample(faulty)


def test_dynesty(capsys):
    """Values only: the evidence of the density in a box, weighted draws, and a fault, which it prints as well."""
    dynesty = pytest.importorskip("dynesty")

    def sample(function):
        sampler = dynesty.NestedSampler(LogDensity(function), lambda u: 10.0 * u - 5.0, 2, nlive=200, rstate=np.random.default_rng(5))
        sampler.run_nested(print_progress=False, dlogz=0.1)
        return sampler.results

    found = sample(bounded)
    # 2 pi times the part of a normal distribution below 1, in a box of 100; 4 of its standard errors.
    assert abs(found.logz[-1] - np.log(2 * np.pi * 0.84134 / 100)) < 4 * found.logzerr[-1] < 1.0
    check(found.samples_equal(rstate=np.random.default_rng(6)))
    with pytest.raises(KeyError, match="a fault of the program"):
        sample(faulty)
    capsys.readouterr()


def test_optuna():
    """Values only: rejected trials are the worst ones, and a fault stops the study."""
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def best(function):
        density = LogDensity(function)
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
        study.optimize(lambda trial: density(np.array([trial.suggest_float(k, -3.0, 3.0) for k in "ab"])), n_trials=60)
        return study

    study = best(bounded)
    assert study.best_value > -0.1
    assert min(trial.value for trial in study.trials) == -np.inf
    assert len(study.trials) == 60
    with pytest.raises(KeyError, match="a fault of the program"):
        best(faulty)


def test_walnutpie(capfd):
    """By address: rejected points are no errors, and a fault is raised as itself."""
    pytest.importorskip("walnutpie")

    def sample(function):
        compiled = td.GuardedTape(function).c_function("gradient", np.zeros(2))
        counts = {"min_warmup_iter": 200, "max_warmup_iter": 200, "min_sampling_iter": 1500, "max_sampling_iter": 1500}
        return walnutpie.sample(compiled, num_chains=2, seed=4, init_radius=0.5, **counts)

    for function in (bounded, infinite):
        check(np.concatenate(sample(function)))
    assert "Error" not in "".join(capfd.readouterr())
    with pytest.raises(KeyError, match="a fault of the program"):
        sample(faulty)
