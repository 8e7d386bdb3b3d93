"""td.Cache, td.Output and td.ConstantOrCache: functions that write to their arguments, held against plain NumPy on copies."""

import inspect
import pickle

import numpy as np
import pytest

import tapediff as td

X = np.array([0.7, -0.4, 1.3, 0.2, -0.9, 1.1])
EPS = 1e-6
TARGETS = ("function", "tape", "compiled", "guarded")


def transposed(out, x, b):
    b.reshape(2, 3).T[:] = np.outer(x[:3], x[4:])
    out[:] = b


def ufuncs_with_out(out, x, b):
    np.add(x, 1, out=b)
    np.exp(b, out=b)
    np.cumsum(b, out=out)


def loop(out, x, b):
    for i in range(6):
        b[i] = x[i] * (b[i - 1] if i else 1.0)
    out[::2] = b[::2]
    out[1::2] = b[::2] + b[1::2]


def accumulated(out, x, b):
    b.fill(0.0)
    for i in range(6):
        b[i % 3] += x[i] ** 2
    np.copyto(out, b)


def integer_arrays_and_masks(out, x, b):
    b[[0, 2, 4]] = x[:3]
    b[np.array([False, True] * 3)] = 2.0 * x[3:]
    out[np.argsort([3, 1, 2, 0, 5, 4])] = b


def views_of_views(out, x, b):
    w = b[2:5]
    w[:] = x[:3]
    w *= 2
    w[1:][...] += 1
    b[:2], b[5] = 0.0, w[1]
    out[:] = b


def swapped(out, x, b):
    """NumPy's views make this copy one half over both."""
    b[:] = x
    b[:3], b[3:] = b[3:], b[:3]
    out[:] = b


def added_at(out, x, b):
    b[:] = x
    out[:] = 0
    np.add.at(out, [0, 0, 1], b[:3])
    np.maximum(out, b, out=out)


def products(out, x, b):
    np.dot(np.outer(x, x), x, out=b)
    np.matmul(2.0 * np.eye(6), b, out=out)
    np.clip(out, -1.5, 1.5, out=out)
    np.concatenate([out[:3], b[3:]], out=out)


def branching(out, x, b):
    if x[0] > 0:
        b[:3] = x[:3]
        out[:] = b[0] * x
    else:
        b[3:] = x[3:]
        out[:] = b[3] * x * 2


def unread(out, x, b):
    c = b[1:] if len(b) else b  # a view that nobody reads
    out.reshape(3, 2)[...] = (x.reshape(3, 2) + 0 * len(c)) ** 3


SCENARIOS = (
    transposed, ufuncs_with_out, loop, accumulated, integer_arrays_and_masks, views_of_views, swapped, added_at, products, branching,
    unread,
)  # fmt: skip


def in_place(f, x):
    """The plain function on plain arrays, which hold anything at first."""
    out, b = np.full(6, 77.0), np.full(6, -33.0)
    f(out, x.copy(), b)
    return out


def differences(f, x):
    """Central differences; the functions are cubic at most near x, so that their error is 1e-9 at this step."""
    return np.stack([(in_place(f, x + e) - in_place(f, x - e)) / (2 * EPS) for e in EPS * np.eye(6)], axis=1)


def target_of(kind, f, *args):
    return {"function": lambda: f, "tape": lambda: td.record(f, *args), "compiled": lambda: td.compile(f, *args),
            "guarded": lambda: td.GuardedTape(f)}[kind]()  # fmt: skip


@pytest.mark.parametrize("f", SCENARIOS, ids=lambda f: f.__name__)
def test_what_is_filled_is_differentiated_as_plain_numpy_computes_it(f):
    """Every target, prepared at one point and evaluated at another; the caller's arrays stay as they are."""
    array, buffer = np.full(6, 5.0), np.full(6, 7.0)
    args = (td.Output(array), X, td.Cache(buffer))
    point = X + 0.05
    wanted, jacobian = in_place(f, point), differences(f, point)
    for kind in TARGETS if f in (loop, views_of_views, branching) else ("function", "tape"):
        target = target_of(kind, f, *args)
        value, found = td.value_and_jacobian(target, args[0], point, args[2])
        assert np.allclose(value, wanted, rtol=1e-13, atol=1e-14), "the same operations, a sum in another order"
        assert np.allclose(found, jacobian, atol=1e-7), "differences of step 1e-6 are good to 1e-9 or so"
        y, y_dot = td.jvp(target, (args[0], point, args[2]), (X, None))
        _, pull = td.vjp(target, args[0], point, args[2])
        assert np.array_equal(y, value)
        assert np.allclose(y_dot, found @ X, rtol=1e-12, atol=1e-13), "rounding"
        assert np.allclose(pull(X)[0], X @ found, rtol=1e-12, atol=1e-13), "rounding"
        if kind != "function":
            assert np.array_equal(target(args[0], point, args[2]), value)
    assert np.all(array == 5.0)
    assert np.all(buffer == 7.0)


@pytest.mark.parametrize("f", [loop, views_of_views, branching], ids=lambda f: f.__name__)
def test_buffers_nest_in_recordings_and_have_second_derivatives(f):
    """A verb inside a verb is that of the function which makes the arrays itself."""

    def by_verbs(x):
        value, x_dot = td.jvp(f, (td.Output(6), x, td.Cache(np.empty(6))), (x, None))
        return np.sum(value * x_dot)

    def made(x):
        out, b = td.zeros(6), td.zeros(6)
        f(out, x, b)
        return out

    def by_hand(x):
        value, x_dot = td.jvp(made, (x,), (x,))
        return np.sum(value * x_dot)

    assert np.allclose(td.gradient(by_verbs, X), td.gradient(by_hand, X), rtol=1e-12, atol=1e-13), "rounding"
    assert np.allclose(td.hessian(by_verbs, X), td.hessian(by_hand, X), rtol=1e-12, atol=1e-12), "rounding"
    td.testing.check_derivatives(f, td.Output(6), X, td.Cache(np.empty(6)))


def norm(x, work):
    np.multiply(x, x, out=work)
    return np.sum(work * x)


def test_gradients_hessians_and_products_take_a_cache():
    """On every target; also of other calls with other arrays, and by name."""
    for kind in TARGETS:
        target = target_of(kind, norm, X, td.Cache(np.empty(6)))
        buffer = np.full(6, np.nan)
        assert np.allclose(td.gradient(target, X, td.Cache(buffer)), 3 * X**2, rtol=1e-14), "rounding"
        assert np.allclose(td.hessian(target, X, work=td.Cache(buffer)), np.diag(6 * X), rtol=1e-14), "rounding"
        assert np.allclose(td.hvp(target, X, X, td.Cache(np.zeros(6))), 6 * X**2, rtol=1e-14), "rounding"
        assert np.isnan(buffer).all()


def test_containers_of_buffers_and_results_of_their_structure():
    """Outputs of several arguments and containers; scratch in a dict with names; a Jacobian of each output by each argument."""

    def model(outs, x, work, total):
        work["square"][:] = x**2 if work["name"] == "sum" else x
        outs["a"][:] = work["square"] * 2
        outs["b"][0][...] = np.sum(work["square"])
        total[()] = x[0]

    outs = td.Output({"a": np.empty(6), "b": [np.empty(())]})
    args = (outs, X, td.Cache({"square": np.empty(6), "name": "sum"}), td.Output(()))
    for kind in TARGETS:
        value, (found, total) = td.value_and_jacobian(target_of(kind, model, *args), *args)
        assert value[0]["b"][0] == np.sum(X**2)
        assert value[1] == X[0]
        assert np.array_equal(found["a"], np.diag(4 * X))
        assert np.array_equal(found["b"][0], 2 * X)
        assert np.array_equal(total, np.eye(6)[0])


def test_argnums_does_not_count_outputs():
    """Nor do tangents and cotangents; names count all arguments."""

    def f(x, out, y):
        out[:] = x[:3] * y

    out, y = td.Output(3), X[3:].copy()
    by_x, by_y = td.jacobian(f, X[:3], out, y, argnums=(0, 1))
    assert np.array_equal(by_x, np.diag(y))
    assert np.array_equal(by_y, np.diag(X[:3]))
    assert np.array_equal(td.jacobian(f, X[:3], out, y, argnums=-1), by_y)
    assert np.array_equal(td.jacobian(f, X[:3], out, y, argnames="y"), by_y)
    assert np.array_equal(td.sparse_jacobian(f, X[:3], out, y, argnums=1).toarray(), by_y)
    assert np.array_equal(td.linear_operator(f, X[:3], out, y) @ y, by_x @ y)
    assert [c.tolist() for c in td.vjp(f, X[:3], out, y)[1](np.ones(3))] == [y.tolist(), X[:3].tolist()]
    assert np.array_equal(td.jvp(f, (X[:3], out, y), (y, None))[1], y * y)
    for argnums in (2, -3):
        with pytest.raises(td.ArgumentMismatch, match=rf"argnums={argnums} but f, not counting td.Output, was called with 2"):
            td.jacobian(f, X[:3], out, y, argnums=argnums)
    with pytest.raises(td.ArgumentMismatch, match="argument 1 of f holds nothing to differentiate"):
        td.jacobian(f, X[:3], out, y, argnames="out")


def test_derivatives_by_a_number_of_functions_in_place():
    """Of arrays, and of an output without axes."""

    def f(out, t):
        out[0], out[1] = np.sin(t), t**3

    def g(out, t):
        out[...] = t
        out *= t

    out = td.Output(2)
    for kind in TARGETS:
        target = target_of(kind, f, out, 0.5)
        assert np.allclose(td.derivative(target, out, 0.5), [np.cos(0.5), 0.75], rtol=1e-15), "rounding"
        assert np.allclose(td.second_derivative(target, out, 0.5), [-np.sin(0.5), 3.0], rtol=1e-15), "rounding"
        assert td.gradient(target_of(kind, g, td.Output(()), 0.5), td.Output(()), 0.5) == 1.0


# Each reads what nobody has written, at the line with the mark.
def read_by_ufunc(x, b):
    total = b[1] + x[0]  # here
    b[:] = x
    return total


def read_by_branch(x, b):
    b[0] = x[0]
    return x[0] if b[1] > 0 else x[1]  # here


def read_in_place(x, b):
    b[:3] = x[:3]
    b *= 2  # here
    return b[0]


def read_by_loop(x, b):
    while not b[0] > 5.0:  # here
        pass
    return x[0]


def read_as_index(x, b):
    return x[int(b[0])]  # here


def read_through_a_view(x, b):
    v = b.reshape(2, 3).T
    v[0] = x[:2]
    return np.sum(v)  # here


def read_and_caught(x, b):
    try:
        if b[0] > 0:  # here
            return x[0]
    except Exception:  # noqa: BLE001 -- what user code may do
        pass
    return x[1]


def read_before_the_error_that_it_leads_to(x, b):
    if not b[0] > 0:  # here
        raise ValueError("no")
    return x[0]


READS = (
    read_by_ufunc, read_by_branch, read_in_place, read_by_loop, read_as_index, read_through_a_view, read_and_caught,
    read_before_the_error_that_it_leads_to,
)  # fmt: skip


@pytest.mark.parametrize("f", READS, ids=lambda f: f.__name__)
def test_reading_an_unwritten_element_is_an_error_that_names_the_line(f):
    """Of a recording as of a guarded call."""
    lines, first = inspect.getsourcelines(f)
    marked = next(k for k, line in enumerate(lines, first) if "# here" in line)
    for target in (f, td.GuardedTape(f)):
        with pytest.raises(td.UnwrittenElement, match=r"element \[\d\] of argument 1 \(b\) was read before it was written") as caught:
            td.gradient(target, X, td.Cache(np.ones(6)))
        assert str(caught.value.at).startswith(f"test_buffers.py:{marked} in ")


def test_a_branch_that_writes_on_one_side_only_fails_on_the_other_alone():
    """And the guarded tape keeps answering on the first."""

    def f(x, b):
        if x[0] > 0:
            b[0] = x[1]
        return b[0] * 2

    guarded, buffer = td.GuardedTape(f, merge=False), np.full(2, 3.0)
    for _ in range(2):
        assert np.array_equal(guarded.gradient(np.array([1.0, 5.0]), td.Cache(buffer)), [0.0, 2.0])
        with pytest.raises(td.UnwrittenElement):
            guarded.gradient(np.array([-1.0, 5.0]), td.Cache(buffer))
    assert np.array_equal(buffer, [3.0, 3.0])


def test_an_output_has_to_be_filled():
    """The error names the element and the function; nothing else than the outputs may be returned."""

    def partly(out, x):
        out[:, 1:] = x[0]

    def rebound(out, x):
        out = x * 2  # noqa: F841 -- the mistake that is meant

    def elsewhere(out, x):
        out[:] = x
        return x

    def returned(out, x):
        out[:] = x
        return out

    with pytest.raises(td.UnwrittenElement) as caught:
        td.jacobian(partly, td.Output((2, 3)), X)
    assert str(caught.value) == (
        "element [0, 0] of argument 0 (out) was never written\n"
        f"  at:  test_buffers.py:{partly.__code__.co_firstlineno} in partly\n"
        "  got: 2 of 6 elements not written\n"
        "  fix: fill all of it: out[...] = ...; where tracked values decide what is written, begin with out[...] = 0.0"
    )
    with pytest.raises(td.UnwrittenElement, match=r"element \[0\] of argument 0 \(out\) was never written"):
        td.jacobian(rebound, td.Output(6), X)
    with pytest.raises(td.ArgumentMismatch, match=r"elsewhere fills a td\.Output and returns something else as well"):
        td.jacobian(elsewhere, td.Output(6), X)
    assert np.array_equal(td.jacobian(returned, td.Output(6), X), np.eye(6))
    with pytest.raises(td.UnwrittenElement, match="was returned before it was written"):
        td.jacobian(lambda x, b: b, X, td.Cache(np.ones(6)))


def mixture(x, work):
    work["result"][:] = work["matrix"] @ x
    return np.sum(work["result"] ** 2)


def test_a_mixture_reads_data_and_writes_scratch():
    """The data may change from call to call; nothing of the caller's does."""
    matrix = np.arange(12.0).reshape(2, 6)
    for kind in TARGETS:
        work = {"matrix": matrix, "result": np.full(2, 8.0), "name": "n"}
        target = target_of(kind, mixture, X, td.ConstantOrCache(work))
        for A in (matrix, matrix + 1):
            given = {**work, "matrix": A}
            found = td.gradient(target, X, td.ConstantOrCache(given))
            assert np.allclose(found, 2 * A.T @ A @ X, rtol=1e-13), "rounding"
            assert np.all(given["result"] == 8.0)


def test_a_mixture_may_not_read_what_it_overwrites():
    """Element by element: a boundary that is read stays data beside elements that are written."""

    def stencil(x, work):
        work.u[1:-1] = x * work.u[0]
        return np.sum(work.u)

    def counts(x, work):
        work.u[0] += x[0]
        return work.u[0] * 1.0

    def reads_first(x, work):
        total = np.sum(work.u * x[0])
        work.u[2] = x[1]
        return total + work.u[2]

    work = td.ConstantOrCache(Work(np.arange(1.0, 9.0)))
    assert np.allclose(td.gradient(stencil, X, work), 1.0, rtol=1e-15), "rounding"
    for f, element in ((counts, 0), (reads_first, 2)):
        with pytest.raises(td.UnwrittenElement, match=rf"element \[{element}\] of argument 1 \(work\)\[0\] is read as data and overwritten"):
            td.gradient(f, X, work)
    assert np.array_equal(work.value.u, np.arange(1.0, 9.0))


class Work:
    def __init__(self, u):
        self.u = u


td.register_container(Work, lambda work: ((work.u,), None), lambda _, parts: Work(*parts))


def test_arrays_that_share_memory_are_refused():
    """A write would be seen in both, which two arrays of a tape would not show."""
    buffer, both = np.ones(6), np.ones((6, 2))

    def f(x, a, b):
        a[:] = x
        return np.sum(a)

    pairs = (
        (X, td.Cache(buffer), td.Cache(buffer)), (X, td.Cache(buffer), td.Constant(buffer[::-1])), (X, td.Cache(X), 1.0),
        (X, td.Cache({"a": buffer[:3], "b": buffer[2:]}), 1.0), (X, td.ConstantOrCache(buffer), td.Constant(buffer)),
        (X, td.Output(X[::-1]), 1.0),
    )  # fmt: skip
    for args in pairs:
        with pytest.raises(td.ArgumentMismatch, match="shares memory with another argument"):
            td.gradient(f, *args)
    compiled = td.compile(norm, X, td.Cache(buffer))
    with pytest.raises(td.ArgumentMismatch, match="shares memory with another argument"):
        compiled.gradient(X, td.Cache(X))
    # Columns lie between each other, and share nothing.
    assert np.array_equal(td.gradient(f, X, td.Cache(both[:, 0]), td.Cache(both[:, 1])), np.ones(6))


def test_buffers_have_dtypes_and_shapes_that_tapes_hold():
    """What is written is converted as NumPy does; other dtypes and numbers are refused; other shapes are other tapes."""

    def f(x, b):
        b[:] = x
        return np.sum(b * x)

    point = np.array([1.7, -0.3])
    for dtype, rtol in ((np.float32, 1e-7), (np.int64, 0.0), (np.int8, 0.0), (bool, 0.0)):
        plain = f(point, np.empty(2, dtype))
        recorded = td.record(f, point, td.Cache(np.empty(2, dtype)))
        assert np.isclose(recorded(point, td.Cache(np.zeros(2, dtype))), plain, rtol=rtol, atol=0.0), "of float32 its last bit"
    for dtype in (np.float16, complex, object):
        with pytest.raises(td.DtypeMismatch, match="of a type that a tape cannot hold"):
            td.gradient(f, point, td.Cache(np.empty(2, dtype)))
    with pytest.raises(td.ArgumentMismatch, match="holds a number, which a function cannot write to"):
        td.gradient(f, point, td.Cache(3.0))
    with pytest.raises(td.ArgumentMismatch, match="a shape, an array, or a container"):
        td.Output([2, 3])
    with pytest.raises(td.ArgumentMismatch, match=r"✗ b  recorded td.Cache\(float64\[2\]\), given td.Cache\(float64\[3\]\)"):
        td.record(f, point, td.Cache(np.empty(2)))(point, td.Cache(np.empty(3)))
    with pytest.raises(td.ArgumentMismatch, match=r"✗ b  recorded td.Cache\(float64\[2\]\), given float64\[2\]"):
        td.record(f, point, td.Cache(np.empty(2)))(point, np.empty(2))
    assert td.jacobian(lambda out, x: None, td.Output(0), point).shape == (0, 2)


def test_an_exception_leaves_the_callers_arrays_alone():
    """Of the function in the middle, and the guarded tape answers afterwards."""

    def f(out, x, b):
        b[:] = x
        out[:3] = b[:3]
        if x[0] > 100:
            raise ValueError("too large")
        out[3:] = 2.0 * x[3:]

    guarded, out, b = td.GuardedTape(f), np.full(6, 1.0), np.full(6, 2.0)
    for point in (X, X + 1000.0, X):
        if point[0] > 100:
            with pytest.raises(ValueError, match="too large"):
                guarded.jacobian(td.Output(out), point, td.Cache(b))
        else:
            assert np.array_equal(guarded.jacobian(td.Output(out), point, td.Cache(b)), np.diag([1.0] * 3 + [2.0] * 3))
    assert np.all(out == 1.0)
    assert np.all(b == 2.0)


def test_loops_over_a_buffer_are_rolled_up():
    """A recurrence in scratch, as one loop; the kernel is as short as that of the loop."""
    n = 400

    def filtered(x, b):
        b[0] = x[0]
        for i in range(1, n):
            b[i] = 0.5 * np.sin(b[i - 1]) + x[i]
        return np.sum(b**2)

    x = np.linspace(-1.0, 1.0, n)
    compiled = td.compile(filtered, x, td.Cache(np.empty(n)))
    assert np.allclose(compiled.gradient(x, td.Cache(np.empty(n))), td.gradient(lambda x: filtered(x, td.zeros(n)), x), rtol=1e-12)
    assert len(compiled.source) < 20_000, "unrolled it is ten times as long"


def test_buffers_and_the_rest_of_a_guarded_tape():
    """A user's guard, checks against the plain function, ints as data, pickles, explanations."""
    buffer = td.Cache(np.full(6, 4.0))
    guarded = td.GuardedTape(norm, guard=lambda x, work: work.shape, check_every=1)
    for k in range(3):
        assert np.allclose(guarded.gradient(X + k, buffer), 3 * (X + k) ** 2, rtol=1e-13), "rounding"
    assert "td.Cache(float64[6])" in guarded.explain()
    nested = td.GuardedTape(lambda x, d: norm(x, d["b"]), guard=lambda x, d: d["b"].shape)
    assert np.allclose(nested.gradient(X, {"b": buffer}), 3 * X**2, rtol=1e-13), "rounding"
    kept = pickle.loads(pickle.dumps(td.record(norm, X, buffer)))
    assert np.allclose(td.gradient(kept, X, buffer), 3 * X**2, rtol=1e-13), "rounding"
    powers = td.GuardedTape(lambda x, b, k: (b.fill(0.0), b.__iadd__(x * k), np.sum(b * b))[-1])
    for k in range(1, 5):
        assert np.allclose(powers.gradient(X, buffer, k), 2 * k * k * X, rtol=1e-13), "rounding"
    assert powers.stats.recordings == 2
    compiled = td.compile(norm, X, buffer)
    assert compiled.batch(np.stack([X, -X]))[1].shape == (2, 6)
    assert np.isclose(compiled.bind(X, np.empty(6))(), np.sum(X**3), rtol=1e-13), "rounding"
