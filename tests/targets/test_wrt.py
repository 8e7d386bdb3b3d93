"""wrt=, derivatives by a part of an argument: every operator on every target against the part of the whole."""

import itertools
from collections import namedtuple

import numpy as np
import pytest
from support.side_by_side import times_as_long

import tapediff as td

X = np.array([0.4, -1.2, 2.0, 0.3, -0.7, 1.1, 0.2, 0.9])
B, V = np.linspace(0.5, 2.0, 8), np.array([1.0, -2.0, 0.5])
MASK = np.array([0, 0, 1, 1, 0, 1, 0, 0], bool)
TARGETS = ("function", "tape", "compiled", "guarded")


def loss(x):
    return np.sum(np.exp(x) * np.sin(x) * x[0]) + np.sum(x[1:] * x[:-1])


def residuals(x):
    return np.concatenate([np.tanh(x) * x[0], [np.sum(x**2)]])


def target_of(kind, f, *args):
    return {"function": lambda: f, "tape": lambda: td.record(f, *args), "compiled": lambda: td.compile(f, *args),
            "guarded": lambda: td.GuardedTape(f)}[kind]()  # fmt: skip


def same(found, wanted):
    """Sums are taken in another order, so that last bits may differ."""
    assert np.shape(found) == np.shape(wanted)
    assert np.allclose(found, wanted, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kind", TARGETS)
def test_every_operator_takes_a_part(kind):
    """By a slice, a mask and integers in another order; compiled where the target is."""
    g, H, J = td.gradient(loss, X), td.hessian(loss, X), td.jacobian(residuals, X)
    f, r = target_of(kind, loss, X), target_of(kind, residuals, X)
    for index in (np.s_[2:5], MASK, [5, 0, 2])[: 1 if kind in ("compiled", "guarded") else 3]:
        k = np.arange(8)[index]
        h, j = H[np.ix_(k, k)], J[:, k]
        out = np.empty(3)
        assert td.gradient(f, X, wrt=index, out=out) is out
        same(out, g[k])
        value, gradient = td.value_and_gradient(f, X, wrt=index)
        same(value, loss(X))
        same(gradient, g[k])
        same(td.hessian(f, X, wrt=index), h)
        same(td.sparse_hessian(f, X, wrt=index).toarray(), h)
        same(td.hvp(f, X, V, wrt=index), h @ V)
        same(td.hvp(f, X, np.eye(3), wrt=index), h)
        for part, wanted in zip(td.value_gradient_and_hvp(f, X, V, wrt=index), (loss(X), g[k], h @ V)):
            same(part, wanted)
        for part, wanted in zip(td.value_gradient_and_hessian(f, X, wrt=index), (loss(X), g[k], h)):
            same(part, wanted)
        for mode in (None, "forward", "reverse"):
            same(td.jacobian(r, X, wrt=index, mode=mode), j)
        same(td.value_and_jacobian(r, X, wrt=index)[1], j)
        same(td.sparse_jacobian(r, X, wrt=index, format="csc").toarray(), j)
        same(td.linear_operator(r, X, wrt=index) @ V, j @ V)
        same(td.jvp(r, (X,), (V,), wrt=index)[1], j @ V)
        same(td.linearize(r, X, wrt=index)[1](V), j @ V)
        _, pull = td.vjp(r, X, wrt=index)
        same(pull(np.ones(9))[0], np.ones(9) @ j)
        same(pull(np.eye(9))[0], j)
    assert type(td.gradient(f, X, wrt=3)) is float
    same(td.gradient(f, X, wrt=3), g[3])
    same(td.derivative(r, X, wrt=3), J[:, 3])
    same(td.second_derivative(f, X, wrt=-1), H[7, 7])


def test_every_index_of_a_matrix():
    """The gradient has the shape that NumPy gives the part."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(4, 5))
    f = lambda x: np.sum(np.sin(x @ x.T) * x[:, :1])
    g = td.gradient(f, x)
    for index in (1, np.s_[:, 2], np.s_[1:3, ::2], np.s_[..., -1], x > 0.5, (np.array([0, 3]), [1, 1]), [0, 2], np.ix_([0, 2], [1, 4]),
                  np.s_[:, None, 2:], (), -1, np.s_[::-1, 3:0:-2], np.s_[2:2]):  # fmt: skip
        same(td.gradient(f, x, wrt=index), g[index])


def test_parts_beside_the_other_options():
    """Several arguments, names, aux, functions that are returned, buffers, and derivatives of derivatives by a part."""

    def f(a, b):
        return np.sum(a * b**2)

    by_a, by_b = td.gradient(f, X, B, argnums=(0, 1), wrt=(np.s_[:2], ...))
    same(by_a, (B**2)[:2])
    same(by_b, 2 * X * B)
    same(td.gradient(f, X, B, argnames="b", wrt=MASK), (2 * X * B)[MASK])
    (_, aux), gradient = td.value_and_gradient(lambda x: (loss(x), {"twice": x * 2}), X, wrt=np.s_[:2], has_aux=True)
    same(aux["twice"], 2 * X)
    same(gradient, td.gradient(loss, X)[:2])
    same(td.grad(loss, wrt=np.s_[2:5])(X), td.gradient(loss, X)[2:5])
    same(td.jacobian(residuals, wrt=2)(X), td.jacobian(residuals, X)[:, 2])
    def filled(out, x, b):
        b[...] = x
        out[...] = residuals(b)

    same(td.jacobian(filled, td.Output(9), X, td.Cache(np.empty(8)), wrt=MASK), td.jacobian(residuals, X)[:, MASK])
    g, H = td.gradient(loss, X), td.hessian(loss, X)
    same(td.gradient(lambda x: np.sum(td.gradient(loss, x, wrt=np.s_[2:5]) ** 2), X), 2 * g[2:5] @ H[2:5])
    same(td.hessian(lambda x: td.gradient(loss, x, wrt=3), X), td.hessian(lambda x: td.gradient(loss, x)[3], X))


@pytest.mark.parametrize("order", [*itertools.permutations(range(3)), (2, 0), (1, 0), (2, -2)])
@pytest.mark.parametrize("kind", TARGETS)
def test_parts_of_arguments_in_any_order(kind, order):
    """The same as in the order in which the function takes them."""
    def f(a, b, c):
        return np.sum(np.sin(a)) * np.sum(b**2) + np.sum(c[:3] * a[1:4]) * b[0]

    points, parts = (X[:4], X[:3] + 0.5, X[1:]), (np.s_[1:3], [2, 0], ...)
    target, wrt = target_of(kind, f, *points), tuple(parts[k] for k in order)
    gradients = td.gradient(f, *points, argnums=(0, 1, 2))
    hessians = td.hessian(f, *points, argnums=(0, 1, 2))
    numbers = [k % 3 for k in order]
    for _ in range(2):
        value, found = td.value_and_gradient(target, *points, argnums=order, wrt=wrt)
        same(value, f(*points))
        for k, gradient, jacobian in zip(order, found, td.jacobian(target, *points, argnums=order, wrt=wrt)):
            same(gradient, gradients[k][parts[k]])
            same(jacobian, gradients[k][parts[k]])
        blocks = td.hessian(target, *points, argnums=order, wrt=wrt)
        for row, i in zip(blocks, numbers):
            for block, j in zip(row, numbers):
                whole = np.arange(points[i].size)[parts[i]], np.arange(points[j].size)[parts[j]]
                same(block, hessians[i][j][np.ix_(*whole)])
        vectors = tuple([np.cos(np.arange(gradients[k][parts[k]].size)) for k in order])
        products = td.hvp(target, points[0], vectors, *points[1:], argnums=order, wrt=wrt)
        for product, row in zip(products, blocks):
            same(product, sum(block @ v for block, v in zip(row, vectors)))


def test_guards_hold_for_parts():
    """Another path is another tape; a compiled tape refuses it."""

    def f(x):
        return np.sum(x**2) if x[0] > 0 else np.sum(x**3)

    guarded, compiled = td.GuardedTape(f, merge=False), td.compile(f, X)
    for point in (X, -X, X + 1):
        same(td.gradient(guarded, point, wrt=np.s_[3:6]), td.gradient(f, point)[3:6])
    assert guarded.stats.recordings == 2
    with pytest.raises(td.GuardFailed):
        td.gradient(compiled, -X, wrt=np.s_[3:6])


def test_parts_that_are_none():
    """Entries twice, containers, one index for two arguments, a misspelt option, and what NumPy refuses."""
    for call, error, message in (
        (lambda: td.gradient(loss, X, wrt=[1, 1]), td.ArgumentMismatch, "selects an entry of the argument twice"),
        (lambda: td.gradient(loss, X, wrt=[1, -7]), td.ArgumentMismatch, "selects an entry of the argument twice"),
        (lambda: td.gradient(lambda d: loss(d["x"]), {"x": X}, wrt=2), td.ArgumentMismatch, "a part of a container by its keys"),
        (lambda: td.gradient(lambda a, b: loss(a), X, B, argnums=(0, 1), wrt=1), td.ArgumentMismatch, "an index for each of 2 arguments"),
        (lambda: td.gradient(loss, X, wtr=2), td.ArgumentMismatch, "wrt= in place of wtr="),
        (lambda: td.gradient(loss, X, wrt=8), IndexError, "index 8 is out of bounds"),
        (lambda: td.gradient(loss, X, wrt=[8]), IndexError, "index 8 is out of bounds"),
        (lambda: td.gradient(loss, X, wrt="a"), IndexError, "only integers, slices"),
        (lambda: td.hvp(loss, X, V, wrt=np.s_[:2]), td.ShapeMismatch, r"\(3,\) for \(2,\)"),
    ):
        with pytest.raises(error, match=message):
            call()


def test_a_small_part_of_a_long_vector_takes_a_small_part_of_the_time():
    """Ten of 300,000 entries: by NumPy a tenth of the time of the gradient, measured as one in 500; compiled likewise."""
    x = np.random.default_rng(0).normal(size=300_000)
    tape = td.record(lambda x: np.sum(np.exp(-(x**2)) * np.sin(x)), x)
    for target, share in ((tape, 0.1), (td.compile(tape), 0.5)):
        whole, part = lambda t=target: td.gradient(t, x), lambda t=target: td.gradient(t, x, wrt=np.s_[5:15])
        assert times_as_long(part, whole, limit=share) < share


NESTED = {"layers": [{"w": X[:4].reshape(2, 2), "b": B[:2]}, {"w": X[4:].reshape(2, 2), "b": B[2:4]}], "tau": 1.5, "n": 3, "kind": "net"}


def network(p):
    h = np.array([0.3, -0.6])
    for layer in p["layers"]:
        h = np.tanh(layer["w"] @ h + layer["b"]) * p["tau"]
    return np.sum(h**p["n"]) if p["tau"] > 0.0 else np.sum(h) * p["tau"]


@pytest.mark.parametrize("kind", TARGETS)
def test_every_operator_takes_a_named_part_of_a_container(kind):
    """A leaf or what is inside a key, twice, at the recorded point and others; on another branch where the target has it."""
    f = target_of(kind, network, NESTED)
    points = [NESTED, {**NESTED, "tau": 0.7}, *([{**NESTED, "tau": -0.4}] if kind in ("function", "guarded") else [])]
    for p in [*points, points[0]]:
        g = td.gradient(network, p)
        step = 1e-6
        slope = (network({**p, "tau": p["tau"] + step}) - network({**p, "tau": p["tau"] - step})) / (2.0 * step)
        assert abs(td.gradient(f, p, wrt="tau") - slope) < 1e-8
        same(td.gradient(f, p, wrt="tau"), g["tau"])
        same(td.gradient(f, p, wrt=("layers", 1, "b")), g["layers"][1]["b"])
        value, inside = td.value_and_gradient(f, p, wrt=("layers", 0))
        same(value, network(p))
        assert inside.keys() == {"w", "b"}
        same(inside["w"], g["layers"][0]["w"])
        for layer, wanted in zip(td.gradient(f, p, wrt="layers"), g["layers"]):
            same(layer["w"], wanted["w"])
        out = np.empty(2)
        assert td.gradient(f, p, wrt=("layers", 0, "b"), out=out) is out
        same(out, g["layers"][0]["b"])
        of_b = lambda b: network({**p, "layers": [{**p["layers"][0], "b": b}, p["layers"][1]]})
        b, path = p["layers"][0]["b"], ("layers", 0, "b")
        h, v = td.hessian(of_b, b), np.array([1.0, -2.0])
        same(td.hessian(f, p, wrt=path), h)
        same(td.sparse_hessian(f, p, wrt=path).toarray(), h)
        same(td.hvp(f, p, v, wrt=path), h @ v)
        same(td.value_gradient_and_hvp(f, p, v, wrt=path)[2], h @ v)
        same(td.value_gradient_and_hessian(f, p, wrt=path)[2], h)
        same(td.jvp(f, (p,), (v,), wrt=path)[1], td.gradient(of_b, b) @ v)
        _, pull = td.vjp(f, p, wrt=path)
        same(pull(2.0)[0], 2.0 * td.gradient(of_b, b))
        same(td.derivative(f, p, wrt="tau"), g["tau"])
        curvature = (td.gradient(network, {**p, "tau": p["tau"] + step})["tau"] - td.gradient(network, {**p, "tau": p["tau"] - step})["tau"]) / (2 * step)
        assert abs(td.second_derivative(f, p, wrt="tau") - curvature) < 1e-7


def test_named_parts_of_several_arguments_and_other_containers():
    """A tuple of paths, ... for all of an argument; named tuples and tuples; second order through a gradient."""
    Pair = namedtuple("Pair", "low high")
    f = lambda p, q: np.sum(p.low * q[1] ** 2) + np.sum(p.high * q[0])
    p, q = Pair(X[:2], B[:2]), (np.array([0.5, 1.5]), V[:2])
    for target in (f, td.compile(f, p, q), td.GuardedTape(f)):
        whole = td.gradient(target, p, q, argnums=(0, 1))
        low, last = td.gradient(target, p, q, argnums=(0, 1), wrt=("low", 1))
        same(low, whole[0].low)
        same(last, whole[1][1])
        all_of, first = td.gradient(target, p, q, argnums=(0, 1), wrt=(..., (0,)))
        same(all_of.high, whole[0].high)
        same(first, whole[1][0])
        (_, lows), (lasts, _) = td.hessian(target, p, q, argnums=(0, 1), wrt=("low", 1))
        same(lows, np.diag(2.0 * V[:2]))
        same(lasts, np.diag(2.0 * V[:2]))
        with pytest.raises(td.ArgumentMismatch, match="a name for each of 2 arguments"):
            td.gradient(target, p, q, argnums=(0, 1), wrt="low")


def test_sparse_matrices_are_by_one_array_of_a_container():
    """All of a container is refused; one array in it is not."""
    for verb in (td.sparse_hessian, td.linear_operator):
        with pytest.raises(td.ArgumentMismatch, match="by one array"):
            verb(network, NESTED)
        path = ("layers", 0, "b")
        matrix = td.hessian(network, NESTED, wrt=path) if verb is td.sparse_hessian else td.gradient(network, NESTED, wrt=path)[None]
        found = verb(network, NESTED, wrt=path)
        assert found.shape == matrix.shape
        same(found @ V[:2], matrix @ V[:2])
        same(found.T @ np.ones(len(matrix)), matrix.T @ np.ones(len(matrix)))


def test_names_that_a_container_does_not_have():
    """The message lists what there is to differentiate by."""
    for wrt, names in (("x", "'layers', 'tau'"), (("layers", 2), "0, 1"), ("n", "'layers', 'tau'"), ("kind", "'layers', 'tau'"),
                       (0, "'layers', 'tau'"), (["tau"], "'layers', 'tau'"), (("layers", True), "0, 1")):  # fmt: skip
        with pytest.raises(td.ArgumentMismatch, match=rf"(?s)there is none to differentiate by.*fix: one of {names}$"):
            td.gradient(network, NESTED, wrt=wrt)
    with pytest.raises(td.ArgumentMismatch, match="pass the array as an argument of its own"):
        td.gradient(network, NESTED, wrt=("layers", 0, "w", 0))
