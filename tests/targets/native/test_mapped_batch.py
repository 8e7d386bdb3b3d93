"""Batches with several arguments, of values alone, and of results of any shape: every row is what its own call gives."""

import os

import numpy as np
import pytest
from numpy.linalg import LinAlgError

import tapediff as td
from tapediff.targets.native import batch as shared_rows, mapped_batch

ROWS = 40
rng = np.random.default_rng(0)
X, Y, A = rng.normal(size=(ROWS, 3)), rng.normal(size=(ROWS, 3)), rng.normal(size=(4, 3))
LABELS = rng.integers(0, 4, ROWS)
MASKS = rng.random((ROWS, 3)) < 0.5

MAKERS = pytest.mark.parametrize(
    "make", [lambda f, *args: td.compile(f, *args), lambda f, *args: td.GuardedTape(f)], ids=["compiled", "guarded"]
)
THREADS = pytest.mark.parametrize("threads", [None, 1, 3])


def shared_and_rows(x, A, y, scale):
    return np.sum(np.tanh(A @ x)) * scale + np.sum(x * y)


def with_labels(x, label, mask):
    return x[label % 3] ** 2 + np.sum(np.where(mask, x, 0.0))


def of_numbers(x, y):
    return np.sin(x) * y


def with_float32(x, y):
    return np.sum(x * y, dtype=np.float32)


SCALARS = {
    "shared and per row": (shared_and_rows, (X, A, td.Rows(Y), 2.5)),
    "data": (shared_and_rows, (X, td.Constant(A), td.Rows(td.Constant(Y)), td.Constant(2.0))),
    "data of rows, the other way round": (shared_and_rows, (X, A, td.Constant(td.Rows(Y)), 1.0)),
    "integers and masks": (with_labels, (X, td.Rows(td.Constant(LABELS)), td.Rows(td.Constant(MASKS)))),
    "numbers": (of_numbers, (X[:, 0], td.Rows(Y[:, 1]))),
    "float32": (with_float32, (X.astype(np.float32), td.Rows(Y.astype(np.float32)))),
    "strided": (shared_and_rows, (X[::-1], A[:, ::-1], td.Rows(np.asfortranarray(Y)), 0.5)),
}


def at(args, row):
    """The arguments of one row's own call."""
    return [_at(arg, row, k == 0) for k, arg in enumerate(args)]


def _first_rows(arg, per_row):
    """Three rows of an argument."""
    if type(arg) is td.Rows:
        return td.Rows(_first_rows(arg.value, True))
    if type(arg) is td.Constant:
        return td.Constant(_first_rows(arg.value, per_row))
    return arg[:3] if per_row else arg


def _at(arg, row, per_row):
    if type(arg) is td.Rows:
        return _at(arg.value, row, True)
    if type(arg) is td.Constant:
        return td.Constant(_at(arg.value, row, per_row))
    return arg[row] if per_row else arg


@MAKERS
@THREADS
@pytest.mark.parametrize("case", SCALARS)
def test_value_and_gradient_of_every_row_are_those_of_its_own_call(make, threads, case):
    """The same bits, for arguments shared and per row, and data."""
    f, args = SCALARS[case]
    tape = make(f, *at(args, 0))
    values, gradients = tape.batch(*args, threads=threads)
    only_values = tape.batch_values(*args, threads=threads)
    for _ in range(2):  # known by now
        np.testing.assert_equal(tape.batch(*args, threads=threads), (values, gradients))
        np.testing.assert_equal(tape.batch_values(*args, threads=threads), only_values)
        few = [_first_rows(arg, k == 0) for k, arg in enumerate(args)]
        np.testing.assert_equal(tape.batch(*few, threads=threads), (values[:3], gradients[:3]))
    assert gradients.shape == np.shape(args[0])
    for row in range(ROWS):
        value, gradient = tape.value_and_gradient(*at(args, row))
        assert values[row] == value
        assert np.array_equal(gradients[row], gradient)
        assert only_values[row] == tape(*at(args, row))
        # Of sums in another order.
        np.testing.assert_allclose(
            value, f(*(a.value if type(a) is td.Constant else a for a in at(args, row))), rtol=1e-5
        )


@MAKERS
def test_gradients_by_several_arguments_have_rows(make):
    """By shared arguments too; argnums counts from either end."""
    args = (X, A, td.Rows(Y), 2.5)
    tape = make(shared_and_rows, *at(args, 0))
    values, gradients = tape.batch(*args, argnums=(1, 0, -1))
    assert [g.shape for g in gradients] == [(ROWS, 4, 3), (ROWS, 3), (ROWS,)]
    alone = tape.batch(*args, argnums=2)[1]
    for row in range(ROWS):
        value, expected = tape.value_and_gradient(*at(args, row), argnums=(1, 0, 3))
        assert value == values[row]
        assert all(np.array_equal(g[row], e) for g, e in zip(gradients, expected))
        assert np.array_equal(alone[row], tape.gradient(*at(args, row), argnums=2))


def residuals(x):
    return np.tanh(A @ x) - 0.5


def outputs(x, y):
    return np.outer(x, y), x > y, np.argmax(x), np.sum(x)


@MAKERS
@THREADS
def test_results_may_be_arrays_and_tuples(make, threads):
    """Rows of vectors, matrices, booleans and integers."""
    tape = make(residuals, X[0])
    found = tape.batch_values(X, threads=threads)
    assert found.shape == (ROWS, 4)
    assert all(np.array_equal(row, tape(x)) for row, x in zip(found, X))
    tape = make(outputs, X[0], Y[0])
    first, found = (tape.batch_values(X, td.Rows(Y), threads=threads) for _ in range(2))
    np.testing.assert_equal(found, first)
    assert [(a.shape, a.dtype.kind) for a in found] == [
        ((ROWS, 3, 3), "f"),
        ((ROWS, 3), "b"),
        ((ROWS,), "i"),
        ((ROWS,), "f"),
    ]
    for row in range(ROWS):
        assert all(np.array_equal(a[row], e) for a, e in zip(found, tape(X[row], Y[row])))
    with pytest.raises(td.NonScalarOutput):
        tape.batch(X, td.Rows(Y))


def branching(x, y, scale):
    if x[0] > y[0]:
        return np.sum(x * y) * scale
    if x[1] > 0.0:
        return np.sum(x**3) + y[2]
    return -np.sum(np.cos(x)) * scale


@THREADS
def test_rows_may_be_on_different_paths(threads):
    """Each path is recorded once, and the answers count as hits."""
    safe = td.GuardedTape(branching, merge=False)
    values, gradients = safe.batch(X, td.Rows(Y), 2.0, threads=threads)
    only_values = safe.batch_values(X, td.Rows(Y), 2.0, threads=threads)
    # Sums of three numbers of size one in another order, which may nearly cancel.
    np.testing.assert_allclose(values, [branching(x, y, 2.0) for x, y in zip(X, Y)], rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(only_values, values, rtol=1e-13, atol=1e-14)
    expected = [td.gradient(branching, x, y, 2.0) for x, y in zip(X, Y)]
    np.testing.assert_allclose(gradients, expected, rtol=1e-13, atol=1e-14)
    stats = safe.stats
    assert stats.recordings == 3
    assert stats.hits + stats.misses == 2 * ROWS


@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
@pytest.mark.parametrize(
    "settings",
    [{"guard": lambda x, y, scale: bool(x[2] > 0)}, {"compile_after": 7}, {"on_new_tape": "interpret"}, {"check_every": 3},
     {"static": td.static(argnames="scale")}, {"max_tapes": 1}],
    ids=lambda settings: next(iter(settings)),
)  # fmt: skip
def test_paths_that_native_code_may_not_choose_are_followed_by_python(settings):
    """A guard of the user's, replays, checks and static arguments hold for every row."""
    safe = td.GuardedTape(branching, **settings)
    values, gradients = safe.batch(X, td.Rows(Y), 2.0)
    np.testing.assert_allclose(values, [branching(x, y, 2.0) for x, y in zip(X, Y)], rtol=1e-13, atol=1e-14)
    expected = [td.gradient(branching, x, y, 2.0) for x, y in zip(X, Y)]
    np.testing.assert_allclose(gradients, expected, rtol=1e-13, atol=1e-14)


def test_whole_numbers_that_python_needs_are_followed_by_python():
    """Loops of other lengths are other paths."""

    def power(x, times):
        product = 1.0
        for _ in range(times):
            product = product * x[0]
        return product

    safe = td.GuardedTape(power)
    for times in (1, 4, 2):
        np.testing.assert_allclose(safe.batch(X, times)[0], X[:, 0] ** times, rtol=1e-13)  # products in another order


def test_results_of_paths_may_have_another_dtype_but_no_other_shape():
    """Integers become floats where another row has floats, in any order; nothing is rounded to integers."""
    safe = td.GuardedTape(lambda x: 1 if x[0] > 0.0 else x[1])
    assert np.array_equal(safe.batch_values(X), np.where(X[:, 0] > 0.0, 1.0, X[:, 1]))
    order = np.argsort(-X[:, 0])
    assert np.array_equal(safe.batch_values(X[order]), np.where(X[:, 0] > 0.0, 1.0, X[:, 1])[order])
    with pytest.raises(td.ShapeMismatch, match="different shapes"):
        td.GuardedTape(lambda x: x if x[0] > 0.0 else x[:2]).batch_values(X)
    with pytest.raises(td.ShapeMismatch, match="different lengths"):
        td.GuardedTape(lambda x: (x, x) if x[0] > 0.0 else (x,)).batch_values(X)
    few = np.abs(X[:6])
    by_sign = td.GuardedTape(lambda x: {"a": x} if x[0] > 0.0 else [x])
    for _ in range(3):
        assert np.array_equal(by_sign.batch_values(few)["a"], few)
    few[3] *= -1.0
    for rows in (few, few[3:], few):
        with pytest.raises(td.ShapeMismatch, match="other containers"):
            by_sign.batch_values(rows)
    assert np.array_equal(by_sign.batch_values(few[3:4])[0], few[3:4])


def picky(x, y):
    if y[0] > 5.0:
        raise ValueError("the user says no")
    factor = np.linalg.cholesky(np.eye(2) * y[1])
    return np.sum(factor) * x[0] if x[1] > 0.0 else x[0]


@THREADS
@pytest.mark.parametrize("call", ["batch", "batch_values"])
def test_the_first_row_that_fails_is_raised_with_its_number(threads, call):
    """By a guard, a factorisation or the user's code, whatever path other rows are on; `out` is as it was."""
    y = np.ones((ROWS, 3))
    out = np.full(ROWS, 7.0)
    fixed = td.compile(branching, np.array([2.0, 0.0, 0.0]), np.zeros(3), 1.0)
    points = np.full((ROWS, 3), 2.0)
    points[[11, 30], 0] = 0.0
    with pytest.raises(td.GuardFailed, match="in branching") as caught:
        getattr(fixed, call)(points, td.Rows(y), 1.0, threads=threads)
    assert caught.value.row == 11
    assert caught.value.__notes__ == ["at row 11 of the batch"]
    signs = np.ones((ROWS, 3))
    signs[::3, 1] = -1.0
    safe, fixed = td.GuardedTape(picky), td.compile(lambda x, y: picky(np.abs(x), y), signs[0], y[0])
    for tape, column, value, error in (
        (safe, 0, 6.0, ValueError),
        (safe, 1, -1.0, LinAlgError),
        (fixed, 1, -1.0, LinAlgError),
    ):
        bad = y.copy()
        bad[[20, 30], column] = value
        with pytest.raises(error) as caught:
            getattr(tape, call)(signs, td.Rows(bad), threads=threads)
        assert caught.value.row == 20
        with pytest.raises(error):
            tape.batch_values(signs, td.Rows(bad), out=out, threads=threads)
        assert np.all(out == 7.0)
        # The next batch is fine.
        assert np.array_equal(tape.batch_values(signs, td.Rows(y)), [tape(x, each) for x, each in zip(signs, y)])


@MAKERS
def test_results_go_where_they_are_wanted(make):
    """Into arrays of any layout, which are returned; other shapes and dtypes are refused."""
    args = (X, A, td.Rows(Y), 2.5)
    tape = make(shared_and_rows, *at(args, 0))
    values, gradients = tape.batch(*args)
    out = np.empty(ROWS), np.empty((3, ROWS)).T
    found = tape.batch(*args, out=out)
    assert found[0] is out[0]
    assert found[1] is out[1]
    assert np.array_equal(out[0], values)
    assert np.array_equal(out[1], gradients)
    several = np.empty(ROWS), (np.empty((ROWS, 3)), np.empty((ROWS, 4, 3)))
    assert tape.batch(*args, argnums=(0, 1), out=several)[1][1] is several[1][1]
    assert np.array_equal(several[1][0], gradients)
    alone = np.empty(ROWS)
    assert tape.batch_values(*args, out=alone) is alone
    np.testing.assert_allclose(alone, values, rtol=1e-14)  # another kernel, which may add in another order
    for wrong in ((values, gradients[:5]), (values.astype(np.float32), gradients), values, (values, values, values)):
        with pytest.raises((td.ArgumentMismatch, td.ShapeMismatch, td.DtypeMismatch)):
            tape.batch(*args, out=wrong)


@MAKERS
def test_arguments_that_do_not_fit_are_refused(make):
    """Their number, their rows, their shapes and dtypes."""
    tape = make(shared_and_rows, X[0], A, Y[0], 2.5)
    tape(X[0], A, Y[0], 2.5)
    for args in (
        (X, A, td.Rows(Y[:5]), 2.5),
        (X, A, td.Rows(2.0), 2.5),
        (X, A),
        (1.0, A, Y[0], 2.5),
        (X, A, Y[0], np.array("a")),
    ):
        with pytest.raises((td.ArgumentMismatch, td.ShapeMismatch, TypeError)):
            tape.batch(*args)
    for threads in (0, True, 1.5):
        with pytest.raises(td.ArgumentMismatch, match="threads"):
            tape.batch(X, A, td.Rows(Y), 2.5, threads=threads)
    with pytest.raises(td.ArgumentMismatch, match="argnums"):
        tape.batch(X, A, td.Rows(Y), 2.5, argnums=4)


def test_recorded_types_are_told_with_the_given_ones():
    """For a compiled tape, whose types are fixed."""
    fixed = td.compile(shared_and_rows, X[0], A, Y[0], 2.5)
    with pytest.raises(td.ShapeMismatch, match="argument 2 of shared_and_rows"):
        fixed.batch(X, A, Y, 2.5)
    with pytest.raises(td.DtypeMismatch, match="argument 0 of with_float32"):
        td.compile(with_float32, X[0].astype(np.float32), Y[0].astype(np.float32)).batch(X, td.Rows(Y))


def test_no_rows_have_no_results():
    """But shapes: of the tape used last, or of a new one at ones, which is not kept."""
    fixed, safe = td.compile(of_numbers, 1.0, 2.0), td.GuardedTape(of_numbers)
    for tape in (fixed, safe):
        values, gradients = tape.batch(np.empty(0), 2.0)
        assert values.shape == gradients.shape == tape.batch_values(np.empty(0), 2.0).shape == (0,)
    safe = td.GuardedTape(outputs)
    for _ in range(2):
        found = safe.batch_values(np.empty((0, 3)), td.Rows(np.empty((0, 3))))
        assert [(a.shape, a.dtype.kind) for a in found] == [((0, 3, 3), "f"), ((0, 3), "b"), ((0,), "i"), ((0,), "f")]
        safe.batch_values(X[:1], td.Rows(Y[:1]))
    assert safe.stats.recordings == 1
    out = np.empty((0, 4))
    assert td.GuardedTape(residuals).batch_values(np.empty((0, 3)), out=out) is out
    picky = td.GuardedTape(lambda x: np.linalg.cholesky(np.eye(2) - 2 * x[0]))
    with pytest.raises(td.ArgumentMismatch, match="without rows"):
        picky.batch_values(np.empty((0, 3)))


def layouts(array):
    """The same numbers in arrays of every kind."""
    read_only, misaligned = array.copy(), np.empty(array.nbytes + 1, np.int8)[1:].view(np.float64).reshape(array.shape)
    read_only.flags.writeable = False
    misaligned[...] = array
    yield from (array, np.asfortranarray(array), np.repeat(array, 2, axis=0)[::2], array[::-1][::-1], read_only, misaligned, array.tolist())
    yield array.astype(array.dtype.newbyteorder())


@MAKERS
@pytest.mark.parametrize("rows", [1, 5, 40])
def test_the_layout_of_arrays_does_not_matter(make, rows):
    """Strided, Fortran, read-only, not aligned, other byte order, lists; whether batches like it were run before or not."""
    for f, further in ((shared_and_rows, (A, td.Rows(Y[:rows]), 2.5)), (residuals, ())):
        tape = make(f, *at((X, *further), 0))
        calls = {"values": lambda x, *args: tape.batch_values(x, *args)}
        if f is shared_and_rows:
            calls |= {"batch": lambda x, *args: flat(tape.batch(x, *args, argnums=(0, 1)))}
        for call in calls.values():
            expected = call(X[:rows], *further)
            for _ in range(2):
                for x in layouts(X[:rows]):
                    np.testing.assert_equal(call(x, *further), expected)
                for y in layouts(Y[:rows]) if further else ():
                    np.testing.assert_equal(call(X[:rows], A, td.Rows(y), 2.5), expected)
                for a in layouts(A) if further else ():
                    np.testing.assert_equal(call(X[:rows], a, td.Rows(Y[:rows]), np.float64(2.5)), expected)


def flat(found):
    return (found[0], *found[1])


@MAKERS
def test_out_may_be_an_argument(make):
    """All rows are computed before one is written."""
    for _ in range(2):
        x, y = X.copy(), Y.copy()
        tape = make(shared_and_rows, *at((X, A, td.Rows(Y), 2.5), 0))
        for _ in range(3):
            values, gradients = tape.batch(X, A, td.Rows(Y), 2.5)
            x[:], y[:] = X, Y
            found = tape.batch(x, A, td.Rows(y), 2.5, out=(y[:, 0], x))
            assert found[1] is x
            assert np.array_equal(x, gradients)
            assert np.array_equal(y[:, 0], values)
        tape = make(lambda x: np.tanh(x), X[0])
        for _ in range(3):
            x[:] = X
            assert tape.batch_values(x, out=x) is x
            assert np.array_equal(x, [tape(row) for row in X])


def nested(params, data):
    """A result in a container, by the sign of an entry."""
    inside = np.tanh(params["a"] * data[0] + params["b"][0]) * len(data[1])
    if params["a"] > 0.0:
        return {"sum": np.sum(inside), "all": inside}
    return {"sum": np.sum(inside) * params["b"][0][0], "all": inside**2}


@MAKERS
@THREADS
def test_arguments_and_results_may_be_containers(make, threads):
    """Of rows in the first argument and in td.Rows; gradients and results have the structure of a single call's."""
    params = {"b": (rng.normal(size=(ROWS, 3)),), "a": np.abs(rng.normal(size=ROWS))}
    if make is not MAKERS.args[1][0]:
        params["a"][::3] *= -1
    scalar = lambda p, d: nested(p, d)["sum"]
    each = lambda k: {"b": (params["b"][0][k],), "a": params["a"][k]}
    data = [td.Constant((Y[0], "label")), td.Rows(td.Constant((Y, "label")))]
    for d, at_row in zip(data, (lambda k: data[0], lambda k: td.Constant((Y[k], "label")))):
        tape, whole = make(scalar, each(0), at_row(0)), make(nested, each(0), at_row(0))
        for _ in range(2):
            values, gradients = tape.batch(params, d, threads=threads)
            found = whole.batch_values(params, d, threads=threads)
            assert list(gradients) == ["b", "a"]
            assert list(found) == ["sum", "all"]
            for k in range(0, ROWS, 5):
                value, gradient = td.value_and_gradient(scalar, each(k), at_row(k))
                # Sums in another order.
                np.testing.assert_allclose(values[k], value, rtol=1e-12)
                np.testing.assert_allclose(gradients["b"][0][k], gradient["b"][0], rtol=1e-12)
                np.testing.assert_allclose(gradients["a"][k], gradient["a"], rtol=1e-12)
                np.testing.assert_allclose(found["all"][k], nested(each(k), (at_row(k).value[0], "label"))["all"], rtol=1e-12)
    out = np.empty(ROWS), {"b": (np.empty((ROWS, 3)),), "a": np.empty(ROWS)}
    assert tape.batch(params, d, out=out)[1]["a"] is out[1]["a"]
    # Of rows on a new path the first answers are NumPy's, whose tanh has other last bits on each processor.
    np.testing.assert_allclose(out[1]["b"][0], gradients["b"][0], rtol=1e-12)
    for wrong in (({"a": params["a"], "b": params["b"]}, d), (params, td.Rows(td.Constant((Y[:5], "label")))), (params, {"y": td.Rows(Y)}), ({}, d)):
        with pytest.raises((td.ArgumentMismatch, td.ShapeMismatch, KeyError, TypeError)):
            td.compile(scalar, each(0), at_row(0)).batch(*wrong)


def test_containers_with_python_integers_are_specialised_on():
    """Each value has its own tape, and no kernel of another runs."""
    safe = td.GuardedTape(lambda x, settings: np.sum(x ** settings["order"]) * settings["scale"] + settings["shift"])
    for order in (2, 3, 2, 4):
        settings = {"order": order, "scale": 2.0, "shift": td.Constant(5)}
        for _ in range(2):
            np.testing.assert_allclose(safe.batch_values(X, settings), np.sum(X**order, 1) * 2.0 + 5, rtol=1e-12)
            np.testing.assert_allclose(safe.batch(X, settings)[1], order * X ** (order - 1) * 2.0, rtol=1e-12)


def test_batches_of_few_rows_take_the_short_way(monkeypatch):
    """From the second on: nothing is sorted out in Python, whatever paths the rows are on; failures are those of the long way."""
    few = slice(0, 6)
    safe, fixed = td.GuardedTape(branching), td.compile(shared_and_rows, X[0], A, Y[0], 2.5)
    of_all = lambda: (safe.batch(X[few], td.Rows(Y[few]), 2.0), safe.batch_values(X[few], td.Rows(Y[few]), 2.0),
                      fixed.batch(X[few], A, td.Rows(td.Constant(Y[few])), 2.5, argnums=(0, -1)))  # fmt: skip
    first = of_all()
    of_all()
    before = safe.stats.hits

    def long_way(*_):
        raise AssertionError("the long way")

    with monkeypatch.context() as patch:
        patch.setattr(mapped_batch, "row_arguments", long_way)
        again = of_all()
    assert safe.stats.hits == before + 12
    np.testing.assert_equal(again, first)
    with pytest.raises(td.ShapeMismatch, match="rows"):
        safe.batch(X[few], td.Rows(Y[:5]), 2.0)
    same = np.empty(6)
    with pytest.raises(td.ArgumentMismatch, match="share memory"):
        safe.batch(X[few], td.Rows(Y[few]), 2.0, out=(same, np.lib.stride_tricks.as_strided(same, (6, 3), (8, 0))))
    out = np.empty(6), np.empty((6, 3))
    np.testing.assert_equal(safe.batch(X[few], td.Rows(Y[few]), 2.0, out=out), first[0])
    # Arguments of other shapes take the place of those before.
    wide = td.GuardedTape(lambda x, y: np.sum(x[0] * y))
    for size in (2, 3, 2):
        for _ in range(3):
            assert np.array_equal(wide.batch(X[few], np.ones(size))[0], np.sum(np.ones((1, size)) * X[few, :1], 1))
    np.testing.assert_equal(safe.batch(X[few], td.Rows(Y[few].astype(np.float32)), 2.0)[0].shape, (6,))


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
def test_many_rows_are_shared_by_threads():
    """The same answers as by one thread."""
    many = rng.normal(size=(20_000, 3))
    fixed = td.compile(shared_and_rows, X[0], A, Y[0], 2.5)
    for threads in (None, 2, 7):
        found, expected = fixed.batch(many, A, Y[0], 2.5, threads=threads), fixed.batch(many, A, Y[0], 2.5, threads=1)
        assert all(np.array_equal(a, b) for a, b in zip(found, expected))


def in_containers(p, data, scale=2.0):
    inner = np.tanh(p["w"] * p["b"][0]) if p["kind"] == "tanh" else p["w"]
    if p["w"][0] > 0:
        return np.sum(inner * data["x"]) * scale
    return np.sum(inner**2)


@pytest.mark.parametrize("guarded", [False, True])
def test_few_rows_in_containers_are_run_at_once(guarded, monkeypatch):
    """From the second batch of their form on, with the numbers of single calls; another form is answered, or refused, as ever."""
    rng = np.random.default_rng(3)
    rows = lambda n, shift=0.0: {"w": np.abs(rng.normal(size=(n, 3))) + shift, "b": (rng.normal(size=n),), "kind": "tanh"}
    data = td.Constant({"x": np.arange(3.0)})
    at = lambda p, k: {"w": p["w"][k], "b": (p["b"][0][k],), "kind": p["kind"]}
    first = rows(4)
    target = td.GuardedTape(in_containers) if guarded else td.compile(in_containers, at(first, 0), data, 2.0)
    for batch in (target.batch, target.batch_values):
        batch(first, data, 2.0), batch(first, data, 2.0)
    full = mapped_batch.row_arguments

    def check(p, *args):
        values, gradients = target.batch(p, *args)
        assert list(gradients) == ["w", "b", "kind"]
        assert gradients["kind"] == "tanh"
        for k in range(len(p["w"])):
            value, gradient = td.value_and_gradient(target, at(p, k), *args)
            assert values[k] == value
            np.testing.assert_array_equal(gradients["w"][k], gradient["w"])
            assert gradients["b"][0][k] == gradient["b"][0]
        np.testing.assert_array_equal(target.batch_values(p, *args), values)

    monkeypatch.setattr(shared_rows, "WAKING", 10.0)  # so that no pause of a busy machine counts
    monkeypatch.setattr(mapped_batch, "row_arguments", None)
    check(rows(1), data, 2.0)
    check(rows(5), td.Constant({"x": np.ones(3)}), 3.0)
    monkeypatch.setattr(mapped_batch, "row_arguments", full)
    strided = rows(4)
    strided["w"] = np.asfortranarray(strided["w"])
    check(strided, data, 2.0)
    p = rows(2)
    for bad in ({**p, "b": (np.ones(3),)}, {**p, "w": p["w"][0]}, np.ones((2, 3))):
        for _ in range(2):
            with pytest.raises((td.TapediffError, IndexError)):
                target.batch(bad, data, 2.0)
    if not guarded:
        for bad in ({**p, "kind": "other"}, dict(reversed(p.items())), {**p, "more": 1.0}, {**p, "w": np.ones((2, 3, 1))}, {**p, "w": "a"}):
            with pytest.raises(td.ArgumentMismatch):
                target.batch(bad, data, 2.0)
        with pytest.raises(td.GuardFailed):
            target.batch(rows(3, -9.0), data, 2.0)
    else:
        check(rows(3, -9.0), data, 2.0)
        other = {**p, "kind": "none"}
        np.testing.assert_array_equal(target.batch(other, data, 2.0)[0], [in_containers(at(other, k), {"x": np.arange(3.0)}) for k in (0, 1)])
    check(rows(2), data, 2.0)
    by_scale = target.batch(p, data, td.Rows(np.array([1.0, 2.0])), argnums=(0, 2))[1]
    again = target.batch(p, data, td.Rows(np.array([1.0, 2.0])), argnums=(0, 2))[1]
    np.testing.assert_array_equal(by_scale[1], again[1])
    np.testing.assert_array_equal(by_scale[0]["w"], again[0]["w"])
