"""td.vmap: every row as by a Python loop, with derivatives, on plain and tracked arrays, branches on rows included."""

import numpy as np
import pytest

import tapediff as td

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 3))
M = RNG.normal(size=(6, 3, 3))
A = RNG.normal(size=3)


def branching(x):
    return np.sum(np.sin(x)) if x[0] > 0 else np.sum(x**2) * x[1]


def looping(x):
    """As many steps as the row says."""
    total, k = 0.0, 0
    while total < 2.0 and k < 10:
        total, k = total + x[0] ** 2 + 0.3, k + 1
    return total * x[1] + k


def masked(x):
    return np.sum(x[x > 0] ** 2) + np.max(x)


def written(x):
    y = np.zeros(3)
    y[0], y[1:] = x[2], np.cumsum(x)[:2]
    return y * x


def of_matrix(m):
    return np.linalg.solve(m @ m.T + np.eye(3), m[0])


def inner(x):
    return td.vmap(lambda a: np.sum(a * x) ** 2)(A)


# Function; its arguments, floats; in_axes; the function of the rows as a Python loop, which stacks the results.
CASES = {
    "smooth": (lambda x: np.exp(-x) * x, (X,), 0),
    "branching": (branching, (X,), 0),
    "looping": (looping, (X,), 0),
    "masked": (masked, (X,), 0),
    "written": (written, (X,), 0),
    "matrices": (of_matrix, (M,), 0),
    "gradient of branches": (td.grad(branching), (X,), 0),
    "hessian": (td.hessian(branching), (X,), 0),
    "jacobian": (td.jacfwd(written), (X,), 0),
    "nested": (inner, (X,), 0),
    "shared": (lambda x, a: np.sum(x * a) * a, (X, A), (0, None)),
    "shared first": (lambda a, x: x @ a, (A, X), (None, 0)),
    "columns": (lambda x, a: x * a, (X.T, X[:, 0]), (1, 0)),
    "last axis": (lambda m: m @ m[0], (M,), -1),
    "scalars": (lambda t: np.sin(t) * t if t > 0 else t, (X[:, 0],), 0),
}


def by_loop(f, args, in_axes):
    """The rows by Python, on plain arrays."""
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    count = next(np.shape(a)[k] for a, k in zip(args, axes) if k is not None)
    rows = lambda n: [a if k is None else np.take(a, n, axis=k)[()] for a, k in zip(args, axes)]
    return np.stack([np.asarray(f(*rows(n))) for n in range(count)])


def points(args):
    """The arguments, and others on other branches."""
    yield args
    yield tuple(-a for a in args)
    rng = np.random.default_rng(1)
    yield tuple(rng.permuted(2.0 * a, axis=0) for a in args)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_rows_are_those_of_a_loop(case):
    """As a function, on a GuardedTape and on a compiled tape recorded elsewhere; at points on other branches, and often."""
    f, args, in_axes = case
    mapped = td.vmap(f, in_axes=in_axes)
    guarded, compiled = td.GuardedTape(mapped), td.compile(mapped, *args)
    for at in [*points(args)] * 2:
        expected = by_loop(f, at, in_axes)
        for target in (mapped, guarded, compiled, td.record(mapped, *args)):
            np.testing.assert_allclose(target(*at), expected, rtol=1e-12, atol=1e-13)  # other orders of sums


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_derivatives(case):
    """First and second ones, forward and reverse, against differences; recorded at one point and taken at others."""
    f, args, in_axes = case
    mapped = td.vmap(f, in_axes=in_axes)
    guarded, compiled = td.GuardedTape(mapped), td.compile(mapped, *args)
    for at in points(args):
        for target in (mapped, guarded, compiled):
            td.testing.check_derivatives(target, *at, rtol=2e-6, order=1 + (target is mapped))
        assert td.gradient(lambda *a: np.sum(mapped(*a) ** 2), *at).shape == args[0].shape
    td.testing.check_gradient(lambda x: np.sum(mapped(x, *args[1:]) ** 2), lambda x: np.sum(by_loop(f, (x, *args[1:]), in_axes) ** 2), args[0])


def test_hessian_vector_products_pass_through():
    f = lambda x: np.sum(td.vmap(td.grad(branching))(x) ** 2)
    td.testing.check_derivatives(td.GuardedTape(f), X, modes=("hvp",))


def test_containers_and_axes_of_containers():
    """In and out, dicts in any order; what is no array belongs to the structure; arguments by name have rows."""
    def f(p, kind, scale=1.0):
        return {"s": p["b"][0] * np.sum(p["a"]) * scale, "t": (p["a"], kind, 2.0)}

    a, b = X, np.arange(6.0)
    found = td.vmap(f, in_axes=({"b": [0], "a": 0}, None))({"a": a, "b": [b]}, "text", scale=b)
    np.testing.assert_allclose(found["s"], b * a.sum(1) * b)
    assert found["t"][1] == "text"
    np.testing.assert_array_equal(found["t"][2], np.full(6, 2.0))
    found = td.vmap(f, in_axes=({"a": 1, "b": None}, None), out_axes={"t": (1, 0, 0), "s": 0})({"a": X.T, "b": [3.0]}, "text")
    np.testing.assert_allclose(found["s"], 3.0 * a.sum(1))
    np.testing.assert_array_equal(found["t"][0], a.T)


def test_what_rows_share_may_be_tracked_and_in_containers():
    """Arguments of all rows, and closure variables; both get gradients."""
    def loss(p, x):
        bent = td.vmap(lambda row, q: np.sum(np.sin(row * q["w"]) * p["v"]) + q["c"][0], in_axes=(0, None))(x, {"w": p["w"], "c": [p["c"]]})
        return np.sum(bent**2)

    def plain(p, x):
        return sum((np.sum(np.sin(row * p["w"]) * p["v"]) + p["c"]) ** 2 for row in x)

    p = {"w": A, "v": A + 1.0, "c": 0.5}
    vector, unravel = td.tree.ravel(p)
    td.testing.check_gradient(lambda v: loss(unravel(v), X), lambda v: plain(unravel(v), X), vector)
    td.testing.check_gradient(td.GuardedTape(lambda v: loss(unravel(v), X)), lambda v: plain(unravel(v), X), -vector)


def test_two_verbs_of_one_function_are_two_functions():
    """A body that closes over td.grad(f) is not taken for one that closes over td.hessian(f), or another argnums."""
    f = lambda x, y: np.sum(x**3 * y)
    made = [td.grad(f), td.grad(f, argnums=1), td.jacfwd(f, argnums=0)]
    run = lambda x, g: td.vmap(lambda row: g(row, A))(x)
    both = td.record(lambda x: [run(x, g) for g in made], X)
    for found, g in zip(both(X), made):
        np.testing.assert_allclose(found, by_loop(lambda row, g=g: g(row, A), (X,), 0), rtol=1e-13)


def test_keys_integers_and_no_rows():
    keys = td.random.split(td.random.key(3), 4)
    np.testing.assert_array_equal(td.vmap(lambda k: td.random.normal(k, (2,)))(keys), [td.random.normal(k, (2,)) for k in keys])
    np.testing.assert_array_equal(td.vmap(lambda i: X[i])(np.array([4, 0, 0])), X[[4, 0, 0]])
    assert td.vmap(lambda x: np.sin(x))(X[:0]).shape == (0, 3)
    for n in (3, 5, 3, 1, 7):
        np.testing.assert_array_equal(td.vmap(branching)(M[0][:n]), by_loop(branching, (M[0][:n],), 0))


def test_what_the_function_reads_may_change():
    """A global, a closure or an array that has changed is seen at the next call."""
    scale = np.ones(3)
    mapped = td.vmap(lambda x: x * scale)
    for k in range(6):
        scale[:] = k
        np.testing.assert_array_equal(mapped(X), k * X)


def test_a_branch_nearby():
    """A recording at one point, evaluated where one row crosses the branch."""
    mapped = td.GuardedTape(lambda x: np.sum(td.vmap(branching)(x)))
    x = X.copy()
    x[:, 0] = np.abs(x[:, 0])
    mapped(x)
    for row in range(6):
        x[row, 0] = -x[row, 0]
        td.testing.check_gradient(mapped, lambda x: sum(map(branching, x)), x)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: td.vmap(branching(X[0])), td.ArgumentMismatch, r"td.vmap takes a function.*got: float64.*fix: td.vmap\(f\)\(X\)"),
        (lambda: td.vmap(branching, X)(X), td.ArgumentMismatch, "another structure"),
        (lambda: td.vmap(branching)(1.0), td.ShapeMismatch, r"argument 0 of td.vmap has no axis 0 of rows.*got: shape \(\)"),
        (lambda: td.vmap(branching, in_axes=2)(X), td.ShapeMismatch, r"argument 0 of td.vmap has no axis 2 of rows.*got: shape \(6, 3\)"),
        (lambda: td.vmap(branching, out_axes=1)(X), td.ShapeMismatch, r"the result of td.vmap has no axis 1 of rows.*got: shape \(6,\)"),
        (lambda: td.vmap(branching, in_axes=(0, 0))(X), td.ArgumentMismatch, "in_axes of td.vmap has more entries.*got: 2 for 1 arguments"),
        (lambda: td.vmap(np.add)(X, X[:2]), td.ShapeMismatch, "different numbers of rows.*got: 6 in argument 0, 2 in argument 1.*fix: name"),
        (lambda: td.vmap(branching, in_axes=None)(X), td.ArgumentMismatch, "no argument with rows.*got: in_axes=None"),
        (lambda: td.vmap(branching, out_axes=None)(X), td.ArgumentMismatch, "an axis for every result"),
        (lambda: td.vmap(branching, in_axes=({"a": 0},))(X), td.ArgumentMismatch, r"another structure.*got: \{'a': 0\} for \*"),
        (lambda: td.vmap(branching, in_axes=([0],))([X, X]), td.ArgumentMismatch, r"another structure.*got: \[0\] for \[\*, \*\]"),
        (lambda: td.vmap(branching, in_axes="rows")(X), td.ArgumentMismatch, r"another structure.*got: 'rows' for \*"),
    ],
)  # fmt: skip
def test_errors_name_the_line_and_what_to_write(call, error, text):
    with pytest.raises(error, match=f"(?s){text}") as raised:
        call()
    assert "test_mapped.py:" in str(raised.value)


def test_ragged_rows_are_named_by_their_place_and_verb():
    with pytest.raises(td.ShapeMismatch, match=r"(?s)2 in argument 0\[0\], 3 in argument 0\[1\].*np\.stack\(rows\)"):
        td.vmap(np.sum)([np.ones(2), np.ones(3)])

    def ones(a):
        return np.ones(int(a))

    with pytest.raises(td.ShapeMismatch, match=r"td\.vmap of ones returned other types"):
        td.vmap(ones)(np.array([1.0, 2.0]))
