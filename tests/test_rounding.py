"""td.error_estimate: the adjoints that it uses against gradients, the estimate against computations with 60 digits."""

import numpy as np
import pytest
from mpmath import mp

import tapediff as td
from tapediff.ops import REGISTRY
from tests.ops.test_ops import cases

EPS = float(np.finfo(float).eps)


def sizes(f, arrays):
    """The sums of |x * gradient| of the arguments, by the estimate's own sweep and by the gradient of the same tape."""
    tape = td.record(f, *arrays)
    wrt = tuple(k for k, a in enumerate(arrays) if isinstance(a, np.ndarray) and a.dtype.kind == "f")
    gradients = td.gradient(tape, *arrays, argnums=wrt)
    expected = [float(np.sum(np.abs(np.where(arrays[k] == 0.0, 0.0, arrays[k] * g)))) for k, g in zip(wrt, gradients)]
    return [c.error / (0.5 * EPS) for c in td.error_estimate(tape, *arrays).inputs], expected


def weighed(call):
    """A number that depends on every entry of a result."""

    def f(*given):
        result = call(*given)
        return np.sum(np.cos(np.arange(result.size, dtype=float)).reshape(result.shape) * result)

    return f


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_the_adjoints_are_those_of_the_gradient(name):
    """Of every op of the registry, by the operands whose derivative is known."""
    for call, arrays in cases(name):
        plain = [np.asarray(a) for a in arrays]
        given = [td.Constant(a) if k in REGISTRY[name].not_differentiated else a for k, a in enumerate(plain)]
        is_float = [isinstance(a, np.ndarray) and a.dtype.kind == "f" for a in given]
        if not any(is_float) or getattr(call(*plain), "dtype", np.dtype(int)).kind != "f":
            continue
        found, expected = sizes(weighed(call), given)
        # The reverse pass may add in another order.
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def scanned(x):
    carry, ys = td.scan(lambda c, t: (np.sin(c) * t, c + x[0] * t), x[1], x)
    return carry + np.sum(ys**2)


def counted(x):
    y, n = td.while_loop(lambda s: s[0] < 10.0, lambda s: (s[0] * (1.1 + x[1] ** 2), s[1] + x[2]), (x[0] + 1.0, 0.0))
    return y * n


def nested(x):
    inner = td.subtape(lambda a, b: np.exp(-a) * b if b > 0.5 else a * b)
    return td.fori_loop(0, 4, lambda k, c: inner(c, x[k % 3]) + td.cond(c > 0.3, lambda v: v * v, lambda v: np.log(v + 2.0), c), x[0])


def rolled(x):
    s = np.float64(0.0)
    for k in range(6000):
        s = 0.5 * s + x[k % 3] * np.cos(s)
    return s


def branched(x):
    return np.sqrt(x[0]) if x[0] > x[1] else np.sum(np.where(x > 0.7, np.log(x), x**3))


def by_root(x):
    return td.implicit.root(lambda y, a: y**3 + a * y - 2.0, 1.0, x[0]) * x[1]


@td.primitive
def cubed(x):
    return x**3, x


@cubed.backward
def _(x, z_bar):
    return (3.0 * x**2 * z_bar,)


def with_gradient(x):
    return np.sum(td.gradient(lambda v: np.sum(np.exp(v) * v), x) ** 2) + np.sum(cubed(x))


CONTROL = (scanned, counted, nested, rolled, branched, by_root, with_gradient)


@pytest.mark.parametrize("f", CONTROL, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [np.array([0.4, 0.6, 0.9]), np.array([0.8, 0.3, 1.1])], ids=["here", "there"])
@pytest.mark.slow
def test_adjoints_through_loops_calls_and_branches(f, x):
    """Recorded at the point, and merged elsewhere."""
    found, expected = sizes(f, [x])
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    merged = td.record(f, np.array([0.5, 0.9, 0.7]), merge=True)
    estimate = td.error_estimate(merged, x)
    np.testing.assert_allclose(estimate.inputs[0].error, 0.5 * EPS * expected[0], rtol=1e-9)
    np.testing.assert_allclose(estimate.value, f(x), rtol=1e-12)


class Exact:
    """NumPy's functions on object arrays of mpmath's numbers."""

    sum, sqrt, exp, log, log1p, expm1, sin, cos, tan, arctan, tanh, erf = (
        np.sum, *(np.frompyfunc(f, 1, 1) for f in (mp.sqrt, mp.exp, mp.log, mp.log1p, mp.expm1, mp.sin, mp.cos, mp.tan, mp.atan, mp.tanh, mp.erf))
    )  # fmt: skip

    @staticmethod
    def solve(a, b):
        return np.array(list(mp.lu_solve(mp.matrix(a.tolist()), mp.matrix(b.tolist()))))

    @staticmethod
    def det(a):
        return mp.det(mp.matrix(a.tolist()))


class Rounded:
    """The same names in NumPy."""

    sum, sqrt, exp, log, log1p, expm1, sin, cos, tan, arctan, tanh, erf = (
        np.sum, np.sqrt, np.exp, np.log, np.log1p, np.expm1, np.sin, np.cos, np.tan, np.arctan, np.tanh, td.special.erf
    )  # fmt: skip
    solve, det = np.linalg.solve, np.linalg.det


def horner(m, x):
    s = x[0] * 0.0
    for c in (1.0, -0.5, 0.3, -0.7, 0.11, 2.3):
        s = s * x[1] + c
    return s


def muller(m, x):
    """Muller's recurrence: each step multiplies the errors by about 20."""
    a, b = x[0] * 0.5 + 4.0, x[0] * 0.25 + 4.2
    for _ in range(5):
        a, b = b, 111.0 - 1130.0 / b + 3000.0 / (a * b)
    return b


def two_passes(m, x):
    d = x - m.sum(x) / len(x)
    return m.sum(d * d) / (len(x) - 1)


def one_pass(m, x):
    y = x + 1000.0
    return m.sum(y * y) / len(x) - (m.sum(y) / len(x)) ** 2


def logistic_map(m, x):
    y = x[0]
    for _ in range(20):
        y = 3.7 * y * (1.0 - y)
    return y


def bits_of_a_leapfrog(m, x):
    q, p = x[0], x[1]
    for _ in range(100):
        p = p - 0.05 * m.sin(q)
        q = q + 0.1 * p
        p = p - 0.05 * m.sin(q)
    return 0.5 * p * p + 1.0 - m.cos(q)


PROGRAMS = (
    horner, muller, two_passes, one_pass, logistic_map, bits_of_a_leapfrog,
    lambda m, x: (1.0 - m.cos(x[0] * 1e-3)) / (x[0] * 1e-3) ** 2,
    lambda m, x: 0.5 * (m.sin(x[0] * 5e-4) / (x[0] * 5e-4)) ** 2,
    lambda m, x: m.sqrt(x[0] + 1e6) - m.sqrt(x[1] + 1e6),
    lambda m, x: m.log(m.sum(m.exp(x))),
    lambda m, x: m.log1p(m.exp(-x[0] - 20.0)) * 1e8,
    lambda m, x: m.log(1.0 + m.exp(-x[0] - 20.0)) * 1e8,
    lambda m, x: m.sum(x * x) / m.sqrt(m.sum(x**4)),
    lambda m, x: m.exp(30.0 * x[0]) * m.exp(-30.0 * x[1]),
    lambda m, x: m.tanh(x[0]) * m.arctan(x[1]) + m.erf(x[2]),
    lambda m, x: m.sum(m.solve(1.0 / (np.arange(5.0)[:, None] + np.arange(5.0) + 1.0 + 0.5 * x[0]), x[:5])),
    lambda m, x: m.det(x[:9].reshape(3, 3)),
    lambda m, x: m.sum((x.reshape(3, 4) @ (x[::-1] + 1.0).reshape(4, 3)) @ x[:3]),
    lambda m, x: (x[0] + 1e8) ** 2 - (x[1] + 1e8) ** 2,
    lambda m, x: (-x[1] + m.sqrt(x[1] ** 2 + 4e-6 * x[0])) / 2e-3,
    lambda m, x: m.sum(m.expm1(x * 1e-5) / m.tan(x * 1e-5 + 1.0)),
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_the_estimate_bounds_the_error(program):
    """At each of twelve points, by NumPy and by a kernel; and it is at most 50 times one of these errors."""
    rng, ratios = np.random.default_rng(1), []
    f = lambda x: program(Rounded, x)
    compiled = td.compile(f, rng.uniform(0.2, 0.9, 12))
    for _ in range(12):
        x = rng.uniform(0.2, 0.9, 12)
        with mp.workdps(60):
            exact = program(Exact, np.array([mp.mpf(v) for v in x.tolist()]))
            errors = [abs(float(mp.mpf(float(g(x))) - exact)) for g in (f, compiled)]
        total = td.error_estimate(f, x).total
        assert max(errors) <= total
        ratios.append(max(errors) / total)
    assert max(ratios) > 0.02


def test_exact_operations_contribute_nothing():
    """Copies, signs, powers of two, zeros, choices, and differences of numbers within a factor of two; others do."""
    x = np.array([1.3, 1.7, -0.4])
    for f in (
        lambda x: -x[0] * 4.0 / 8.0, lambda x: np.max(x[::-1].reshape(3, 1)), lambda x: x[1] - x[0], lambda x: abs(x[2]) + 0.0,
        lambda x: np.where(x[0] > 1.0, x[0], x[1] * 3.0), lambda x: np.floor(x[0] * 2.0) * np.sum(x[:1]),
    ):  # fmt: skip
        assert td.error_estimate(f, x).total == 0.0
    for f in (lambda x: x[0] * 3.0, lambda x: x[1] - x[2], lambda x: x[0] / 3.0, lambda x: 2.0 ** x[0]):
        value = f(x)
        assert 0.4 * EPS * value <= td.error_estimate(f, x).total <= 2.0 * EPS * value


def parabola(p, t):
    square = p["a"] * t
    square = square * t
    return np.sum(np.exp(square - p["b"]))


def test_lines_inputs_and_the_table():
    """Contributions by line, the worst first; containers by their paths, data not at all; the text."""
    estimate = td.error_estimate(parabola, {"a": 2.0, "b": 1e3 / 3.0}, td.Constant(np.array([13.0, 12.9])))
    assert estimate.value == parabola({"a": 2.0, "b": 1e3 / 3.0}, np.array([13.0, 12.9]))
    first = parabola.__code__.co_firstlineno
    assert [c.at for c in estimate.lines] == [f"test_rounding.py:{first + k} in parabola" for k in (2, 3, 1)]
    assert estimate.lines[0].text == "square = square * t"
    assert estimate.lines[0].error > estimate.lines[1].error > estimate.lines[2].error
    assert estimate.total == sum(c.error for c in estimate.lines)
    assert [c.at for c in estimate.inputs] == ["p['a']", "p['b']"]
    text = str(estimate)
    assert [part in text for part in (f"{estimate.total:.1e}", "square = square * t", "input p['b']")] == [True] * 3
    many = td.error_estimate(eval("lambda x: (" + "\n+ ".join(["np.sin(x[0])"] * 14) + ")"), np.ones(2))
    assert len(many.lines) == 14
    assert "4 other lines" in str(many)


def mixed(x, y, z):
    small = 1e-9 * np.sin(x)
    large = y * y * z
    return small + large


def test_what_could_be_float32_is_within_the_tolerance():
    """Rounding what is named changes the value by no more; what is not would change it by more."""
    point = (0.3, 1.1 / 3.0, 0.7)
    estimate = td.error_estimate(mixed, *point)
    chosen = estimate.float32(1e-14)
    first = mixed.__code__.co_firstlineno
    assert chosen == ["x", f"test_rounding.py:{first + 1} in mixed"] or chosen[::-1] == ["x", f"test_rounding.py:{first + 1} in mixed"]
    single = lambda v: np.float64(np.float32(v))
    changed = single(1e-9 * np.sin(single(0.3))) + point[1] ** 2 * point[2]
    assert 0.0 < abs(changed - mixed(*point)) <= 1e-14 + estimate.total
    assert abs(mixed(point[0], single(point[1]), point[2]) - mixed(*point)) > 1e-14
    assert len(estimate.float32(1.0)) == 6
    assert estimate.float32(1e-30) == []
    with pytest.raises(td.ArgumentMismatch, match="tolerance is positive"):
        estimate.float32(0.0)


def test_numbers_in_single_precision():
    """Their operations round to 24 bits; so does a conversion to float32, and none back."""
    x = np.array([1.1, 2.3], np.float32)
    f = lambda x: np.sum(x * x[::-1])
    exact = 2.0 * float(x[0]) * float(x[1])
    total = td.error_estimate(f, x).total
    assert abs(float(f(x)) - exact) <= total <= 4.0 * np.finfo(np.float32).eps * exact
    y = np.array([1.1, 2.3])
    converted = td.error_estimate(lambda y: np.sum(y.astype(np.float32).astype(float)), y).total
    assert abs(float(np.sum(y.astype(np.float32).astype(float))) - 3.4) <= converted < 4e-7


def test_every_target_away_from_where_it_was_recorded():
    """The same estimate from a function, a tape, a compiled tape and a guarded tape, which changes the branch."""
    here, there = np.array([0.9, 0.2, 0.5]), np.array([0.1, 0.8, 0.3])
    other = np.array([0.8, 0.3, 0.6])
    targets = [branched, td.record(branched, here), td.compile(branched, here), td.GuardedTape(branched)]
    expected = td.error_estimate(branched, other)
    for target in targets:
        assert td.error_estimate(target, other) == expected
    assert td.error_estimate(targets[3], there) == td.error_estimate(branched, there) != expected
    for target in targets[1:3]:
        with pytest.raises(td.GuardFailed):
            td.error_estimate(target, there)


def test_by_name():
    """Arguments by name, for a function and a tape."""
    tape = td.record(mixed, 0.1, 0.2, z=0.3)
    assert td.error_estimate(mixed, 0.3, z=0.7, y=0.4) == td.error_estimate(tape, 0.3, z=0.7, y=0.4) == td.error_estimate(mixed, 0.3, 0.4, 0.7)


def test_what_is_refused():
    """Results that are no number, and calls in a recording."""
    with pytest.raises(td.NonScalarOutput, match="one real number"):
        td.error_estimate(lambda x: x, np.ones(2))
    with pytest.raises(td.TrackedValueEscaped, match="looks at values"):
        td.record(lambda x: td.error_estimate(lambda v: v * v, x).total * x, 1.0)


def test_a_kink_and_an_infinity():
    """A norm at 0 has a value without error; a value that is not finite has an estimate that says so."""
    assert td.error_estimate(lambda x: np.sqrt(np.sum(x * x)) if x[0] > 1.0 else np.sum(np.abs(x)), np.zeros(3)).total == 0.0
    assert not td.error_estimate(td.record(lambda x: np.log(x) * 3.0, 1.0), 0.0).total < 1.0
