"""Sums over data on the workers of Dask and Ray, two local processes each; chains as tasks; functions sent by multiprocessing and joblib."""

import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor

import numpy as np
import pytest

import tapediff as td
from tapediff.adapters.shards import ShardedSum, Term, pickled

pytestmark = pytest.mark.filterwarnings("ignore")  # those of other packages

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X @ np.ones(3) + RNG.normal(size=60)
PARTS = [{"X": X[k::3], "y": Y[k::3]} for k in range(3)]
POINT = np.array([0.5, -1.0, 2.0])


def term(x, data):
    residual = data["y"] - data["X"] @ x
    if x[0] > 0.0:
        return -0.5 * np.sum(residual**2)
    return -np.sum(np.abs(residual))


def faulty(x, data):
    raise KeyError("a fault of the program")


def check(total):
    """On both paths, against the whole data in one process; inside another recorded function; exactly the same again."""
    for x in (POINT, -POINT):
        value, gradient = total.value_and_gradient(x)
        np.testing.assert_allclose(value, term(x, {"X": X, "y": Y}), rtol=1e-12)
        np.testing.assert_allclose(gradient, td.gradient(term, x, td.Constant({"X": X, "y": Y})), rtol=1e-12)
        assert (value, gradient.tolist()) == (total(x), total.value_and_gradient(x)[1].tolist())
    with_prior = td.GuardedTape(lambda x: 2.0 * total(x) - 0.5 * np.sum(x**2))
    np.testing.assert_allclose(td.gradient(with_prior, POINT), 2.0 * total.value_and_gradient(POINT)[1] - POINT, rtol=1e-12)
    product = td.hvp(term, POINT, Y[:3], td.Constant({"X": X, "y": Y}))
    np.testing.assert_allclose(total.hessian_vector_product(POINT, Y[:3]), product, rtol=1e-12)
    np.testing.assert_allclose(td.hessian(with_prior, POINT) @ Y[:3], 2.0 * product - Y[:3], rtol=1e-12)
    np.testing.assert_allclose(with_prior.hvp(POINT, Y[:3]), 2.0 * product - Y[:3], rtol=1e-12)


class Here(ShardedSum):
    """The terms in this process."""

    def answers(self, method, *points):
        return [getattr(Term(self.sent, shard), method)(*points) for shard in self.shards]


def test_a_sum_of_terms_and_its_gradient():
    """What all clusters have in common; arrays that a message has put at an odd address are copied once."""
    check(Here(term, PARTS))
    check(Here(term, [lambda part=part: part for part in PARTS]))
    odd = np.frombuffer(b"x" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape)
    held = Term(pickled(td.GuardedTape(term)), {"X": odd, "y": Y})
    assert held._data.value["X"].flags.aligned
    assert held.value_and_gradient(POINT)[0] == td.GuardedTape(term)(POINT, td.Constant({"X": X, "y": Y}))
    total = Here(term, PARTS)
    assert [td.value_and_gradient(total, POINT) for _ in range(3)]
    assert total.evaluations == 1
    with pytest.raises(td.UnsupportedFunction, match="a third derivative through the sum of term"):
        td.gradient(lambda x: np.sum(td.hvp(total, x, Y[:3])), POINT)
    with pytest.raises(td.ArgumentMismatch, match="no shards"):
        Here(term, [])


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, direct_to_workers=True) as client,
    ):
        yield client


def test_dask_sums_over_shards_and_survives_lost_workers(client):
    """Data of the client, of a function that reads them, and of Dask; a worker is killed in between; an exception is raised as itself."""
    from tapediff.adapters.dask import sum_over

    check(sum_over(term, [client.submit(PARTS.__getitem__, k) for k in range(3)], client))
    check(sum_over(term, [lambda part=part: part for part in PARTS]))
    total = sum_over(term, PARTS, client)
    check(total)
    before = total.value_and_gradient(POINT)
    for pid in client.run(os.getpid).values():
        os.kill(pid, 9)
        value, gradient = total.value_and_gradient(POINT)
        assert (value, gradient.tolist()) == (before[0], before[1].tolist())
    assert total.restarts >= 1
    with pytest.raises(KeyError, match="a fault of the program"):
        sum_over(faulty, PARTS, client).value_and_gradient(POINT)


def test_ray_sums_over_shards_and_survives_lost_workers():
    """The same."""
    ray = pytest.importorskip("ray")
    from tapediff.adapters.ray import sum_over

    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, object_store_memory=10**8)
    try:
        check(sum_over(term, [lambda part=part: part for part in PARTS]))
        total = sum_over(term, PARTS)
        check(total)
        before = total.value_and_gradient(POINT)
        ray.kill(total.terms[1], no_restart=False)
        value, gradient = total.value_and_gradient(POINT)
        assert (value, gradient.tolist()) == (before[0], before[1].tolist())
        with pytest.raises(KeyError, match="a fault of the program"):
            sum_over(faulty, PARTS).value_and_gradient(POINT)
    finally:
        ray.shutdown()


class Now(Executor):
    """Runs tasks at once, from what a process would have been sent."""

    def submit(self, fn, /, *args):
        future = Future()
        future.set_result(fn(*pickle.loads(pickle.dumps(args))))
        return future


def test_chains_as_tasks():
    """A chain for each, with seeds of their own, coordinates and random quantities."""
    pytest.importorskip("nutpie")
    pytest.importorskip("cloudpickle")
    post = td.Posterior(
        lambda mu, y: td.stats.norm.logpdf(y, mu[:, None]).sum(), mu=td.real(dims="group"), data={"y": np.ones((2, 50))},
        coords={"group": ["a", "b"]}, generated=lambda mu, rng: {"new": rng.normal(mu)}, dims={"new": ["group"]},
    )  # fmt: skip
    trace = post.sample(200, 3, tune=200, seed=1, executor=Now()).posterior
    assert trace["mu"].shape == trace["new"].shape == (3, 200, 2)
    assert list(trace["group"].values) == ["a", "b"]
    assert list(trace["chain"].values) == [0, 1, 2]
    assert len({float(chain.mean()) for chain in trace["mu"]}) == 3
    np.testing.assert_allclose(trace["mu"].mean(), 1.0, atol=4 * 0.1 / np.sqrt(2))  # of two means


def test_chains_as_tasks_of_dask(client):
    """Through the client's own executor."""
    pytest.importorskip("nutpie")
    post = td.Posterior(lambda mu: -0.5 * mu**2, mu=td.real())
    assert post.sample(100, 2, tune=100, seed=1, executor=client).posterior["mu"].shape == (2, 100)


def test_a_pool_of_processes_evaluates_gradients():
    """A tape, and the bound method of one, are arguments like others: of concurrent.futures and multiprocessing."""
    tape = td.GuardedTape(term)
    tape.value_and_gradient(POINT, td.Constant(PARTS[0]))
    points = [POINT, -POINT]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        found = list(pool.map(tape.value_and_gradient, points, [td.Constant(PARTS[0])] * 2))
    for x, (value, gradient) in zip(points, found):
        np.testing.assert_allclose(value, term(x, PARTS[0]), rtol=1e-12)
        np.testing.assert_allclose(gradient, tape.value_and_gradient(x, td.Constant(PARTS[0]))[1], rtol=1e-12)


def test_tokens_and_hashes_are_the_same_in_other_processes():
    """Dask's and joblib's, of a function, a tape, and a tape that has been called: caches on disk find what another process computed."""
    pytest.importorskip("joblib")
    pytest.importorskip("dask")
    program = (
        "import numpy as np, tapediff as td, joblib\n"
        "from dask.base import tokenize\n"
        "def f(x):\n    return np.sum(x**2) if x[0] > 0 else np.sum(x)\n"
        "fixed, safe = td.record(f, np.ones(2)), td.GuardedTape(f)\n"
        "safe(np.ones(2)) if {called} else None\n"
        "for value in (fixed, td.compile(f, np.ones(2)), safe):\n    print(tokenize(value), joblib.hash(value))\n"
    )
    runs = [
        subprocess.run([sys.executable, "-c", program.format(called=called)], capture_output=True, text=True, check=True).stdout
        for called in (False, True, False)
    ]
    assert runs[0].count("\n") == 3
    assert runs[0] == runs[2]
    assert runs[0].splitlines()[:2] == runs[1].splitlines()[:2]
