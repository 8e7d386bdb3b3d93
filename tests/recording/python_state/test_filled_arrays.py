"""Functions that fill arrays made by np.zeros and its relatives are recorded as they stand."""

import functools
import pickle
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType

import numpy as np
import pytest
import scipy.linalg

import tapediff as td
from tapediff.recording.python_state import filled_arrays
from tapediff.testing import check_gradient

X = np.array([1.5, 2.5, 3.5])


def loop(x):
    y = np.zeros(3)
    for i in range(3):
        y[i] = x[i] ** 2
    return np.sum(y * np.arange(3.0))


def matrices(x):
    a = np.eye(3)
    a[0, 1] = x[0]
    a[2] += x
    b = np.empty_like(a)
    b[:] = a @ a
    if a[1, 1] > 0.5:  # known, and so no guard
        b[0] *= 2
    return b.sum() * (int(a[1, 1]) + 1)


def plain_and_tracked(x):
    plain, filled = np.zeros((2, 2)), np.ones(4)
    filled += x[0]
    return filled.sum() * scipy.linalg.expm(plain)[0, 0] * (float(plain[1, 1]) + 3) * len(str(plain[0].tolist()))


def of_lists(x):
    return np.sum(np.log([x[0], 2.0, x[1]]) * np.sqrt([[x[2], 1.0, 4.0]]))


def in_a_sub_tape(x):
    return td.subtape(loop)(x) * 2.0


PROGRAMS = (loop, matrices, plain_and_tracked, of_lists, in_a_sub_tape)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_function_that_fills_arrays_is_recorded_as_it_stands(f):
    """Uncompiled, and by a GuardedTape at points on other paths; NumPy is what it was afterwards."""
    guarded = td.GuardedTape(f)
    for x in (X, np.array([0.5, 1.0, 2.0]), np.array([1.5, 1.0, 2.0]), X):
        check_gradient(f, f, x)
        check_gradient(guarded, f, x)
    assert all(getattr(np, name) is original for name, original in filled_arrays.ORIGINALS.items())


WRITES = (
    "y[0] = x[0]", "y[1:] = x[1:]", "y[:k] = x[:k]", "y[k : k + 1] = x[0]", "y[k:] = 2.0 * x[0]", "y[None:None] = x", "y[::2] = x[::2]",
    "y[...] = x", "y[1:][:1] = x[0]", "y[1:] += x[1:]", "y[:k] *= x[:k]", "y[k] -= x[k]", "y[1:], y[0] = x[1:], x[1]", "y[[0, 2]] = x[:2]",
    "y[y < 1.0] = x[0]", "y[m:] = x[m:]", "y[:m] = x[:m]", "y[m] = x[m]", "y[m : m + 1] += x[0]", "y = np.ones(3); y[1:] = x[1:]", "w[1, 1:] = x[1:]; y = w[1]",
    "w[:, k:] = x[k:]; y = w[0]", "y = [0.0] * 3; y[1:] = list(x[1:]); y = np.stack(y)", "y = np.full(3, np.sum(C[m:])) * x", "y = C[:m] * x[0]",
)  # fmt: skip


@pytest.mark.parametrize("statement", WRITES)
def test_every_way_to_write_and_read_entries_is_recorded(statement):
    """By whatever instruction an interpreter does it; k is an int, m one that data decide. The first write that fails is this one."""
    function = f"def f(x):\n y, w, k, m = np.zeros(3), np.zeros((2, 3)), 1, np.argmax(x)\n {statement}\n return y @ y"
    names = {"np": np, "C": np.array([0.5, 2.0, 3.0])}
    exec(compile(function, __file__, "exec"), names)
    guarded = td.GuardedTape(names["f"])
    for x in (X, -X):
        check_gradient(guarded, names["f"], x)


def test_what_is_known_is_no_guard():
    """A branch on an array in which nothing tracked has been stored; afterwards it is one."""
    def f(x):
        y = np.zeros(2)
        if y[0] == 0:
            y[0] = x[0]
        return y[0] * (2.0 if y[0] > 0 else 3.0)

    tape = td.record(f, X)
    assert [i.op.name for i in tape.instructions].count("guard") == 1
    with pytest.raises(td.GuardFailed):
        tape(-X)


def test_a_function_that_needs_no_tracked_arrays_is_called_once():
    calls = []

    def f(x):
        calls.append(type(np.zeros(2)))
        return x.sum()

    td.record(f, X)
    assert calls == [np.ndarray]


OUTSIDE = np.zeros(3)


@pytest.mark.parametrize("f", [lambda x: OUTSIDE.__setitem__(0, x[0]), lambda x: np.add(x, x, out=OUTSIDE), lambda x: np.copyto(OUTSIDE, x)])
def test_arrays_from_outside_are_not_written_to(f):
    """The error is that of the first call."""
    with pytest.raises(td.TapediffError):
        td.record(lambda x: f(x) or x.sum(), X)
    assert (OUTSIDE == 0.0).all()


def test_the_error_is_of_the_functions_own_line():
    def f(x):
        y = np.zeros(3, dtype=np.complex64)
        y[0] = x[0]
        return x.sum()

    with pytest.raises(td.TrackedValueEscaped, match=r"test_filled_arrays\.py:\d+ in f"):
        td.record(f, X)


# Functions that write into arrays on some paths only, or are refused before the arrays are tracked, after which they have other guards.


def written_by_an_order(x):
    order = np.argsort(x)[::-1]
    ranks = np.empty(4)
    ranks[order] = np.arange(4)
    return ranks @ x if x[0] > 0 else 2 * (ranks @ x)


def read_then_written(x):
    value = np.array([1.0, 2.0, 3.0, 4.0])[np.argmax(x)]
    if x[0] > 0:
        y = np.zeros(2)
        y[0] = x[0]
        return value * y.sum() + x[1]
    return value * x[0] * x[2]


def in_a_loop(x):
    table, s = np.array([1.0, 2.0, 3.0, 4.0]), 0.0
    for k in np.argsort(x)[:2]:
        s = s + table[k] * x[1]
        if s > 1:
            s = s * x[0]
    if x[2] > 0.3:
        y = np.zeros(3)
        y[1] = s
        s = y.sum()
    return s


ON_SOME_PATHS = (written_by_an_order, read_then_written, in_a_loop)
PLACES = np.random.default_rng(0).normal(size=(12, 4))


@pytest.mark.filterwarnings("default")  # where warnings are errors, NumPy asks other questions of an index
@pytest.mark.parametrize("f", ON_SOME_PATHS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_paths_on_which_other_arrays_are_tracked_have_other_guards(f, sign):
    """The outcome of one guard is never taken for that of another; the tapes are recorded afresh. Also where merging is off, in a
    sub-tape, in a loop, and after pickling."""
    body = td.subtape(f)
    targets = (
        td.GuardedTape(f), td.GuardedTape(f, merge=False), td.GuardedTape(lambda x: body(x)),
        td.compile(lambda x: td.subtape(f)(x), sign * PLACES[0]),
    )  # fmt: skip
    for x in sign * PLACES:
        for target in targets:
            check_gradient(target, f, x, rtol=1e-5)
    copied = pickle.loads(pickle.dumps(targets[1]))
    for x in -sign * PLACES:
        check_gradient(copied, f, x, rtol=1e-5)


def test_a_function_that_tracks_more_arrays_starts_with_them():
    """Once a tape with tracked arrays is known, its neighbours are recorded in one run of the function."""
    calls = []

    def f(x):
        calls.append(1)
        y = np.zeros(2)
        y[0] = x[0]
        return y.sum() if x[1] > 0 else -y.sum()

    guarded = td.GuardedTape(f, merge=False)
    td.gradient(guarded, np.ones(2))
    assert len(calls) == 2
    td.gradient(guarded, -np.ones(2))
    assert len(calls) == 3


# Arrays of ints and bools, and those that np.arange and its relatives make.


def barrier(x):
    s, alive = x * 1.0, np.ones(4, bool)
    for z in (0.1, -0.2, 0.3):
        s = s * np.exp(z * x[0])
        alive &= s < 0.9
    return np.sum(s * alive)


def knocked_out(x):
    s, alive = x * 1.0, np.ones(4, dtype=bool)
    for z in (0.1, -0.2, 0.3):
        s = s * np.exp(z * x[0])
        alive[s > 0.9] = False
    return np.sum(np.where(alive, s, s**2))


def masks_in_place(x):
    a, b = np.zeros(4, dtype=bool), np.full(4, True)
    a |= x > 0.3
    a ^= x > 0.8
    b[:] = b & (x < 0.5)
    b[1] = x[0] > 0.2
    np.logical_and(b, x > -1.0, out=b)
    b += x > 2.0
    return np.sum(x**2 * a) + np.sum(x[b]) * 2 + np.sum(x * ~b)


def whole_numbers_in_place(x):
    n = np.zeros(4, int)
    n += x > 0.2
    n -= 1
    n *= 3
    n //= 2
    n %= 5
    n <<= 1
    n[1:] = x[1:] * 5  # without the digits behind the point
    return np.sum(x**2 * n) + n.astype(float) @ x + np.cumsum(n) @ x


def pivots(x):
    """An LU factorisation with its permutation."""
    a, piv = np.outer(x, x) + np.diag([1.0, 2.0, 3.0, 4.0]), np.arange(4)
    for j in range(3):
        k = j + np.argmax(np.abs(a[j:, j]))
        if k != j:
            a[[j, k]] = a[[k, j]]
            piv[[j, k]] = piv[[k, j]]
        a[j + 1 :, j] /= a[j, j]
        a[j + 1 :, j + 1 :] -= np.outer(a[j + 1 :, j], a[j, j + 1 :])
    return np.diag(a) @ x + np.array([1.0, 2.0, 3.0, 4.0])[piv] @ x


def other_makers(x):
    g, t, w = np.linspace(0, 1, 4), np.tile([1.0, 2.0], 2), np.repeat([1, 2], 2)
    g[np.argmax(x)] = x[0]
    t[1] = x[2]
    w[x > 0.5] = 7
    r = np.arange(4)
    r[np.argsort(x)] = np.arange(4)
    return g @ x * w.sum() + t @ (x * w) + r @ x


def plain_uses_of_whole_numbers(x):
    """Of an array that has become tracked on account of another one."""
    where, out, counts, names = np.array([2, 0, 1]), np.zeros(4), np.zeros(3, int), ["a", "b", "c"]
    counts[np.argmax(x[:3])] += 2
    out[where[0]] = x[0]
    for i in where:
        out[i] += x[i] * counts[i]
    rows = np.outer(x, x)
    rows[where[1]][2] = 5.0
    return out @ x + {"a": 1.0, "b": 2.0, "c": 3.0}[names[where[1]]] + sum(range(where[0])) * x[0] + x[where].sum() + rows[where, None, 1].sum()


WHOLE = (barrier, knocked_out, masks_in_place, whole_numbers_in_place, pivots, other_makers, plain_uses_of_whole_numbers)
ELSEWHERE = tuple(
    np.array(x) + np.array([0.0137, 0.0071, -0.0093, 0.0049])  # at no jump
    for x in ([0.31, 0.12, 0.93, 0.54], [-0.5, 0.9, 0.2, -1.3], [1.5, 1.2, -0.7, 0.4], [0.05, 0.06, 0.45, 0.35])
)


@pytest.mark.parametrize("f", WHOLE, ids=lambda f: f.__name__)
def test_arrays_of_ints_and_bools_are_filled(f):
    """Recorded, compiled, by GuardedTapes with and without merging, and their second derivatives."""
    guarded, v, h = td.GuardedTape(f), np.array([0.3, -0.7, 0.2, 0.9]), 1e-5
    for x in ELSEWHERE:
        for target in (td.record(f, x), td.compile(f, x), guarded, td.GuardedTape(f, merge=True)):
            check_gradient(target, f, x, rtol=1e-5)
        difference = (td.gradient(guarded, x + h * v) - td.gradient(guarded, x - h * v)) / (2 * h)
        np.testing.assert_allclose(td.hvp(guarded, x, v), difference, rtol=1e-5, atol=1e-6)  # of differences


def whole_into_bools(x):
    a = np.ones(4, bool)
    a += np.floor(x).astype(int)
    return a @ x


def roots_into_bools(x):
    a = np.ones(4, bool)
    return np.sqrt(x, out=a) @ x


@pytest.mark.parametrize("f", [whole_into_bools, roots_into_bools], ids=lambda f: f.__name__)
def test_what_numpy_does_not_cast_is_refused_with_its_error(f):
    for call in (f, lambda x: td.record(f, x)):
        with np.errstate(all="ignore"), pytest.raises(TypeError, match="Cannot cast ufunc"):
            call(ELSEWHERE[0])


def test_a_cast_that_is_asked_for_is_made():
    def f(x):
        n = np.zeros(4, int)
        np.add(n, x * 5, out=n, casting="unsafe")
        return n @ x

    for x in ELSEWHERE:
        check_gradient(td.record(f, x), f, x)


def test_narrow_integers_are_refused():
    """They wrap around, which int64 does not."""
    def f(x):
        n = np.zeros(4, np.uint8)
        n -= x > 0.5
        return n @ x

    with pytest.raises(td.UnsupportedFunction, match=r"td\.zeros"):
        td.record(f, ELSEWHERE[0])


def test_what_is_not_known_of_whole_numbers_is_said_at_its_line():
    """Not that the array should be tracked, as it is by then."""
    def f(x):
        n = np.ones(4, int)
        n = np.gcd(n, np.floor(x * 4).astype(int))
        return n @ x

    with pytest.raises(td.UnsupportedFunction, match="np\\.gcd"):
        td.record(f, ELSEWHERE[0])


def test_methods_that_write_are_writes():
    def f(x):
        y, z = np.zeros(4), np.zeros(4)
        y.fill(x[0])
        z.put([0, 1], x[:2])
        return y @ x + z @ x

    check_gradient(td.record(f, ELSEWHERE[0]), f, ELSEWHERE[0])


_COMPILED_CODE = """
import numpy as np
from scipy.spatial import cKDTree
import tapediff as td

rng = np.random.default_rng(0)
points = rng.random((10, 2))

def f(x):
    y, k = np.zeros(3), np.zeros(2, int)
    for i in range(3):
        y[i] = x[i] ** 2
    k[0] = 3
    drawn = [rng.normal(size=3), rng.standard_normal(3), np.random.rand(3), np.random.RandomState(1).uniform(size=3), rng.dirichlet(np.ones(3))]
    drawn += [rng.integers(0, 3, 3), rng.choice(5, 3), rng.poisson(2.0, 3), rng.multivariate_normal(np.zeros(3), np.eye(3))]
    near, _ = cKDTree(points).query(points, k=2)
    return np.sum(y) + 0.0 * sum(np.sum(d) for d in drawn) + 0.0 * near.sum() + 0.0 * k[0]

np.testing.assert_allclose(td.gradient(f, np.ones(3)), 2.0)
np.testing.assert_allclose(td.gradient(td.GuardedTape(f), np.ones(3)), 2.0)
"""


def test_compiled_code_gets_arrays_of_numpys():
    """It looks up np.empty by its name as well, and takes what it gets for an array: the interpreter crashed."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", _COMPILED_CODE], check=True, timeout=120)


def test_tracked_arrays_are_no_arguments_of_compiled_code():
    """Those that depend on an input are refused there as elsewhere; those of constants alone are plain."""
    def draws(x):
        y = np.zeros(2)
        y[0] = x[0]
        return np.sum(y) + np.sum(np.random.default_rng(0).multivariate_normal(y, np.eye(2)))

    with pytest.raises(td.TrackedValueEscaped, match=r"test_filled_arrays\.py:\d+ in draws"):
        td.record(draws, X)


def test_an_installed_package_with_compiled_modules_may_be_the_recorded_one(tmp_path, monkeypatch):
    """What it fills is tracked where its own function is recorded, and plain where another one calls it."""
    name = "of_somebodys_own"
    file = tmp_path / "site-packages" / name / "models.py"
    code = compile("def fill(x):\n    y = np.zeros(2)\n    y[0] = x[0]\n    return np.sum(y) * 2.0\n", str(file), "exec")
    exec(code, module := {"np": np})
    for each, suffix in ((name, "__init__.py"), (f"{name}._c", "_c" + EXTENSION_SUFFIXES[0])):
        monkeypatch.setitem(sys.modules, each, ModuleType(each))
        sys.modules[each].__file__ = str(file.parent / suffix)
    np.testing.assert_array_equal(td.gradient(module["fill"], X), [2.0, 0.0, 0.0])
    with pytest.raises(td.TrackedValueEscaped):
        td.gradient(lambda x: module["fill"](x) + 1.0, X)


def test_packages_with_compiled_modules_get_arrays_of_numpys():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"k": [1, 1, 2], "v": [1.0, 2.0, 3.0]})

    def f(x):
        y = np.zeros(3)
        for i in range(3):
            y[i] = x[i] ** 2
        means = frame["v"].rolling(2).mean().to_numpy()[1:]
        return np.sum(y) * means.sum() + frame.groupby("k")["v"].transform("sum").to_numpy() @ y

    expected = 2 * X * (4.0 + np.array([3.0, 3.0, 3.0]))
    np.testing.assert_allclose(td.gradient(f, X), expected)


@functools.cache
def differences(n):
    rows = np.zeros((n - 2, n))
    for i in range(n - 2):
        rows[i, i : i + 3] = 1.0, -2.0, 1.0
    return rows


def by_kept_arrays(x, kept):
    """Makes a matrix and a table in a loop at its first call alone, and keeps them."""
    y = np.zeros(3)
    for i in range(3):
        y[i] = np.exp(x[i])
    if "table" not in kept:
        kept["table"] = np.zeros(3)
        for k in range(3):
            kept["table"][k] = np.sin(k)
    rows, table = differences(3), kept["table"]
    r = rows @ y
    shifted = table * x + table[1] + rows.T[:, 0] + np.reshape(table, (3, 1))[:, 0] + float(table[2]) + np.sum(table[::2] * x[:2])
    return r @ r + shifted @ shifted if r[0] > 0 else np.sum(np.abs(r)) + shifted @ shifted


def test_arrays_of_constants_may_be_kept():
    """By functools.cache or in a dict: they are plain behind the recording that has made them, in others and for the plain function."""
    differences.cache_clear()
    kept, points = {}, (X, np.array([1.0, 2.5, 1.2]), np.array([2.0, 2.1, 2.5]))
    tape = td.GuardedTape(lambda x: by_kept_arrays(x, kept))
    found = [td.value_and_gradient(tape, x) for x in points]
    values = [by_kept_arrays(x, kept) for x in points]
    assert all(type(value) is np.float64 for value in values)
    differences.cache_clear()
    plain = {}
    for x, (value, gradient), other in zip(points, found, values):
        expected = by_kept_arrays(x, plain)
        assert value == pytest.approx(expected, rel=1e-13)
        assert other == pytest.approx(expected, rel=1e-13)
        step = 1e-6 * np.eye(3)
        np.testing.assert_allclose(gradient, [(by_kept_arrays(x + h, plain) - by_kept_arrays(x - h, plain)) / 2e-6 for h in step], rtol=1e-6)


def test_kept_arrays_with_tracked_values_in_them_are_refused():
    kept = []

    def keeps(x):
        y = np.zeros(2)
        y[0] = x[0]
        kept.append(y)
        return y @ y

    td.record(keeps, X)
    for use in (lambda: kept[0] + 1.0, lambda: np.sum(kept[0]), lambda: td.record(lambda x: kept[0] @ x[:2], X)):
        with pytest.raises(td.TrackedValueLeaked, match=r"test_filled_arrays\.py"):
            use()
