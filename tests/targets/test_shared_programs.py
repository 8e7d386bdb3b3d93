"""Programs: tapes that differ in constants alone are derived and compiled once."""

import numpy as np
import pytest
from support.differences import differences

import tapediff as td
from tapediff.targets.evaluate.shared_programs import MOST_FUNCTIONS, _of_functions, differing_constants, programs_of

X = np.array([0.5, -1.5, 2.0])
DATA = np.random.default_rng(0).normal(size=(40, 3))


def decay(x, t):
    return np.sum(np.sin(x) ** 2) / (1.0 + 0.1 * t) + np.sum(np.exp(-x))


def batch(x, t):
    rows = DATA[t % 40 : t % 40 + 5]
    return np.sum(np.tanh(rows @ x) ** 2) + 0.01 * t * np.sum(x**2)


def parity(x, t):
    return np.sum(x**2) * t if t % 2 else np.sum(np.exp(x)) + t


def branches(x, t):
    return np.sum(x**3) * t if x[0] > 0.1 * t else np.sum(x) * t


def unused(x, t):
    return np.sum(x**4)


def needed(x, t):
    return np.sum(np.sin(x) ** 2) / (1.0 + 0.1 * float(t)) + np.sum(np.exp(-x))


def said(x, t):
    return np.sum(x**4) if f"{t}" else np.sum(x)


def power(x, t):
    return np.sum(x ** (t % 4)) * 1.5


def shapes(x, t):
    return np.sum(np.zeros(1 + t % 3) + x[0] ** 2) + np.sum(x)


def written(x, t):
    y = td.zeros(4)
    y[t % 4] = x[0] * t
    y[1:] += x**2
    return np.sum(y * DATA[t % 7, 0]) + np.sum(x[t % 3 :])


def factored(x, t):
    try:
        return np.sum(np.linalg.cholesky(np.eye(2) * (x[0] - 0.2 * t) + 0.1))
    except np.linalg.LinAlgError:
        return np.sum(x**2) * t


def whole(x, t):
    return t if t > 1 else np.sum(x) * t


def floating(x, t):
    return 0.5 * t if x[0] < 2.0 else np.sum(x)


def looped(x, t):
    return td.fori_loop(0, 1 + t % 5, lambda k, c: c * x[1] + t, x[0]) + np.sum(x)


STEPS = [decay, batch, parity, branches, unused, power, shapes, written, factored, whole, floating, looped, needed, said]


@pytest.mark.parametrize("make", [td.grad, lambda f: td.GuardedTape(f).gradient, lambda f: lambda x, t: td.gradient(f, x, t)],
                         ids=["grad", "guarded", "gradient"])  # fmt: skip
@pytest.mark.parametrize("f", STEPS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:.*values of an argument")
def test_a_step_number_gives_the_gradient_of_every_step(f, make):
    """Also where steps take other paths, shapes or parameters, in any order, and where a program has been derived already."""
    gradient = make(f)
    rng = np.random.default_rng(1)
    for t in [0, 1, 2, 3, 1, 0, 7, 40, 41, 5, 5, 2, 100, 6, 8, 9]:
        x = X + 0.1 * rng.normal(size=3)
        assert gradient(x, t) == pytest.approx(differences(lambda x: f(x, t), x), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("f", [needed, batch, said], ids=lambda f: f.__name__)
def test_steps_with_other_constants_are_compiled_together(f):
    """The program is settled after two steps: no step takes a compilation of its own."""
    safe = td.GuardedTape(f)
    for t in (3, 4, 5):
        td.gradient(safe, X, t)
    seconds = safe.stats.seconds_compiling
    programs = {id(variant.program) for variant in safe._cache.all()}
    for t in range(6, 30):
        td.gradient(safe, X, t)
    assert safe.stats.seconds_compiling == seconds
    assert len({id(variant.program) for variant in safe._cache.all()} - programs) == 0
    assert safe.stats.recordings == 27


def test_a_function_that_is_recorded_again_is_derived_once():
    """td.gradient of a lambda that is made anew at every call, with other numbers in its closure."""
    derived = set()
    for scale in (2.0, 3.0, 4.0, 5.0):
        f = lambda x, scale=scale: np.sum(x**2 * scale) + np.sum(DATA @ x)
        assert td.gradient(f, X) == pytest.approx(2 * scale * X + DATA.sum(0), rel=1e-12)
        derived.add(id(programs_of(f).known[0].tape))
    assert len(derived) == 2  # the first, and the one with the scale as an input


def test_derivatives_of_all_kinds_share_programs():
    """Hessians and Jacobians at other steps."""
    for t in (1, 2, 3, 4):
        assert td.hessian(lambda x, t=t: np.sum(x**3) * t, X) == pytest.approx(np.diag(6 * X * t), rel=1e-12)
        assert td.jacobian(lambda x, t=t: x**2 * t, X) == pytest.approx(np.diag(2 * X * t), rel=1e-12)
        safe = td.GuardedTape(lambda x, t: np.sum(x**3) * t)
        assert td.hessian(safe, X, t) == pytest.approx(np.diag(6 * X * t), rel=1e-12)


def test_what_differs_is_told_by_bits():
    """Zeros of either sign, NaN, shapes, and anything but a constant."""
    record = lambda c: td.record(lambda x: np.sum(x * c), X)
    assert differing_constants(record(2.0), record(2.0)) == []
    assert len(differing_constants(record(2.0), record(3.0))) == 1
    assert len(differing_constants(record(0.0), record(-0.0))) == 1
    assert differing_constants(record(np.nan), record(np.nan)) == []
    assert differing_constants(record(2.0), record(np.full(3, 2.0))) is None
    assert differing_constants(record(2.0), td.record(lambda x: np.sum(x / 2.0), X)) is None
    assert differing_constants(td.record(lambda x: x[0], X), td.record(lambda x: x[1], X)) is None


def test_few_programs_are_kept():
    """Functions that are made without end, and large constants, are not held."""
    for k in range(2 * MOST_FUNCTIONS):
        namespace = {}
        exec(f"def f(x): return (x ** 2).sum() + {k}", namespace)
        td.gradient(namespace["f"], X)
    assert len(_of_functions) <= MOST_FUNCTIONS
    large = np.ones((1 << 18, 1))
    f = lambda x: np.sum(large * x[0])
    td.gradient(f, X)
    assert programs_of(f).known == ()


def test_many_values_of_an_int_are_advised_to_be_data():
    """The warning names the argument, and what lets it be data."""
    safe = td.GuardedTape(needed, max_tapes=4, compile_after=10**9)
    with pytest.warns(td.GuardWarning) as met:
        [td.gradient(safe, X, t) for t in range(6)]
    assert str(met[0].message) == (
        "needed was recorded for more than 4 values of an argument, and is again for every new one, which is slow\n"
        "  got: argument 1, a Python int, which took 5 different values\n"
        "  fix: compute with it on the tape, so that one serves all its values: np.where instead "
        "of what Python selects by it; or pass what is computed from it, as a float or as td.Constant(...)"
    )
    assert len(met) == 1
    data = td.GuardedTape(decay)
    for t in range(6):
        assert td.gradient(data, X, td.Constant(t)) == pytest.approx(differences(lambda x: decay(x, t), X), rel=1e-6)
    assert data.stats.recordings == 1
