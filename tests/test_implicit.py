"""td.implicit: roots, fixed points and minima, against closed forms, differences, and each other."""

import pickle

import numpy as np
import pytest
from support.differences import differences

import tapediff as td

implicit = td.implicit
P, Q = np.array([1.0, 2.0, 0.5]), np.array([1.4, 1.1, 0.8])
MATRIX = np.array([[3.0, 1.0], [1.0, 2.0]])
rng = np.random.default_rng(0)
FEATURES = rng.normal(size=(30, 3))
LABELS = FEATURES @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=30)


def kepler(p):
    """Kepler's equation: the eccentric anomaly of an eccentricity and a mean anomaly."""
    eccentricity, mean = 0.3 * p[0], p[1]
    anomaly = implicit.root(lambda E, e, M: E - e * np.sin(E) - M, mean, (eccentricity, mean))
    return np.cos(anomaly) * p[2]


def reactions(k):
    """The steady state of a network, whose rates close over the constants; returned as a list."""

    def rates(c):
        made, used = k[0] - k[1] * c[0], k[2] * c[1] ** 2
        return [made + used, k[1] * c[0] - 2 * used - 0.1 * c[1]]

    return np.sum(implicit.root(rates, np.ones(2)) ** 2)


def containers(k):
    """Arguments in dicts and tuples, a matrix of unknowns."""

    def f(x, of):
        return of["A"] @ x + of["s"][0] * x**3 - of["b"]

    x = implicit.root(f, np.zeros((2, 2)), {"A": MATRIX * k[0], "b": np.outer(k[1:], k[:2]), "s": (k[2],)})
    return x[0, 0] * np.exp(x[1, 1]) + x[1, 0]


def game(k):
    """The equilibrium of a game: each player's best answer to the other one's."""
    strategies = implicit.fixed_point(lambda s: np.tanh(0.3 * k[:2] * s[::-1] + k[1:]), np.zeros(2))
    return np.sum(strategies * k[:2])


def game_by_iteration(k):
    strategies = implicit.fixed_point(lambda s, k: np.tanh(0.3 * k[:2] * s[::-1] + k[1:]), np.zeros(2), k, method="iteration")
    return np.sum(strategies * k[:2])


def ridge(k):
    """The validation error of a fit whose penalty is a parameter: one level inside of another."""

    def loss(w, penalty):
        return np.sum((FEATURES[:20] @ w - LABELS[:20]) ** 2) + np.exp(penalty) * np.sum(w**2) + k[1] * np.sum(w**4)

    w = implicit.minimize(loss, np.zeros(3), k[0])
    return np.sum((FEATURES[20:] @ w - LABELS[20:]) ** 2) * k[2]


def branching(k):
    """An equation with a branch, decided at every step of every call."""

    def f(x):
        if x > 0.9:
            return k[0] * x**3 - k[1] + 2 * (x - 0.9)
        return k[0] * x**3 - k[1]

    return implicit.root(f, 0.5) * k[2]


def in_a_scan(k):
    def step(x, own):
        x = implicit.root(lambda x: x + 0.1 * x**3 - own * k[0], x)
        return x, x**2

    return td.scan(step, 1.0, k)[1].sum()


def in_a_subtape(k):
    solve = td.subtape(lambda a, b: implicit.root(lambda x: x**3 + a * x - b, 0.5))
    return sum(solve(a, k[0]) for a in k)


def nested(k):
    """An equation in whose function another one is solved."""
    return implicit.root(lambda x: implicit.root(lambda z: z**3 + z - x * k[1], 0.0) + x - k[0], 0.0) ** 2 * k[2]


class Model:
    def __init__(self, k):
        self.k = k

    def equation(self, x):
        return self.k[0] * x**3 + self.k[2] * x - self.k[1]


def method_of_an_object(k):
    return implicit.root(Model(k).equation, 0.5)


PROGRAMS = [kepler, reactions, containers, game, game_by_iteration, ridge, branching, in_a_scan, in_a_subtape, nested, method_of_an_object]


@pytest.mark.parametrize("program", PROGRAMS)
def test_first_and_second_derivatives_are_those_of_the_solution(program):
    """Recorded at P, evaluated at Q: kernel and plain function; central differences are right to 1e-7 or so."""
    compiled = td.compile(program, P)
    np.testing.assert_allclose(compiled(Q), program(Q), rtol=1e-11)
    exact = differences(program, Q, 1e-5)
    for gradient in (td.gradient(compiled, Q), td.gradient(program, Q), td.jacobian(compiled, Q, mode="forward")):
        np.testing.assert_allclose(gradient, exact, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(td.hessian(compiled, Q), differences(lambda q: td.gradient(compiled, q), Q, 1e-5), rtol=1e-5, atol=1e-6)


def test_the_solution_is_one_value_whose_replay_solves_again():
    """With NumPy, in a batch, along several directions; third derivatives follow too."""
    tape = td.record(kepler, P)
    assert sum(i.op.name == "solution" for i in tape.instructions) == 1
    np.testing.assert_allclose(td.gradient(tape, Q), td.gradient(kepler, Q), rtol=1e-11)
    compiled = td.compile(tape)
    values, gradients = compiled.batch(np.stack([P, Q]))
    np.testing.assert_allclose([*values, *gradients[1]], [kepler(P), kepler(Q), *td.gradient(kepler, Q)], rtol=1e-11)
    _, tangents = td.jvp(compiled, (Q,), (np.eye(3),))
    np.testing.assert_allclose(tangents, td.gradient(kepler, Q), rtol=1e-11)
    third = td.jacobian(lambda q: td.hessian(tape, q), Q)
    np.testing.assert_allclose(third, differences(lambda q: td.hessian(compiled, q), Q, 1e-5), rtol=1e-5, atol=1e-6)


def test_ridge_regression_has_its_closed_form():
    """Of w = (X'X + p)^-1 X'y, dw / dp = -(X'X + p)^-1 w; one Newton step solves it."""

    def weights(p):
        return implicit.minimize(lambda w: np.sum((FEATURES @ w - LABELS) ** 2) + p * np.sum(w**2), np.ones(3))

    normal = FEATURES.T @ FEATURES + 0.7 * np.eye(3)
    w = np.linalg.solve(normal, FEATURES.T @ LABELS)
    compiled = td.compile(weights, 2.0)
    np.testing.assert_allclose(compiled(0.7), w, rtol=1e-11)
    np.testing.assert_allclose(td.jacobian(compiled, 0.7), -np.linalg.solve(normal, w), rtol=1e-10)


@pytest.mark.parametrize(
    "solve",
    [
        *(lambda k, m=m: implicit.root(lambda x: np.array([k[0] * x[0] ** 3 - x[1], x[1] + x[0] - k[1]]), np.ones(2), method=m)
          for m in ("newton", "hybr", "lm", "krylov")),
        lambda k: implicit.fixed_point(lambda x: np.tanh(x * k[:2] * 0.3 + k[1:]), np.zeros(2), method="del2"),
        lambda k: implicit.minimize(lambda x: np.sum(x**4 * k[0] + (x - k[1:]) ** 2), np.zeros(2), method="BFGS", tol=1e-7),
        lambda k: implicit.minimize(lambda x: np.sum(x**4 * k[0] + (x - k[1:]) ** 2), np.zeros(2), method="Nelder-Mead", tol=1e-9),
    ],
)  # fmt: skip
def test_scipys_methods_solve_at_every_replay(solve):
    """A call of Python from the kernel; to the accuracy of the solvers, which is 1e-6 of krylov and Nelder-Mead."""
    compiled = td.compile(lambda k: np.sum(np.exp(solve(k))), P)
    plain = lambda k: np.sum(np.exp(solve(k)))
    np.testing.assert_allclose(compiled(Q), plain(Q), rtol=1e-5)
    np.testing.assert_allclose(td.gradient(compiled, Q), differences(plain, Q, 1e-3), rtol=1e-3, atol=1e-5)


def test_a_start_has_no_derivative_and_data_none_either():
    def f(k, start, data):
        return implicit.root(lambda x: k[0] * x + x**3 - np.sum(data), start)

    compiled = td.compile(f, P, 0.3, td.Constant(np.ones(3)))
    by_k, by_start = td.gradient(compiled, P, 0.7, td.Constant(2 * np.ones(3)), argnums=(0, 1))
    x = compiled(P, 0.7, td.Constant(2 * np.ones(3)))
    np.testing.assert_allclose(by_k, [-x / (P[0] + 3 * x**2), 0, 0], rtol=1e-12)
    assert by_start == 0


def test_no_unknowns_have_no_solution_to_seek():
    for k in (2.0, np.zeros(0)):
        assert implicit.root(lambda x, k=k: k * x, np.zeros(0)).shape == (0,)
    assert td.gradient(lambda k: np.sum(implicit.root(lambda x: k * x, np.zeros((0, 2)))), 1.0) == 0


def module_level(x, k):
    return k[0] * x**3 + x - k[1]


def solved(k):
    return implicit.root(module_level, 0.5, k)


def solved_by_scipy(k):
    return implicit.root(module_level, 0.5, k, method="hybr")


@pytest.mark.parametrize("solved", [solved, solved_by_scipy])
def test_compiled_tapes_with_solutions_are_pickled(solved):
    compiled = td.compile(solved, P)
    np.testing.assert_allclose(td.gradient(pickle.loads(pickle.dumps(compiled)), Q), td.gradient(compiled, Q), rtol=1e-12)


def complaint(call):
    with pytest.raises(td.TapediffError) as raised:
        call()
    return type(raised.value), str(raised.value)


@pytest.mark.parametrize("method", ["newton", "hybr"])
def test_what_does_not_converge_names_the_line(method):
    """x**2 + x + k has no root for k = 1: in the plain function, and in a kernel that was made where it has one."""

    def no_root(k):
        return implicit.root(lambda x: x**2 + x + k, 1.3, method=method)

    compiled = td.compile(no_root, -2.0)
    for f in (no_root, compiled):
        kind, message = complaint(lambda f=f: f(1.0))
        assert kind is td.NotConverged
        assert "td.implicit.root by " in message
        assert "test_implicit.py" in message
        assert "in no_root" in message
    np.testing.assert_allclose(compiled(-6.0), 2.0)  # after a call that failed


def test_a_singular_equation_is_numpys_error():
    """Two equations that say the same: at the solution's derivative, or before."""

    def lines(k):
        return np.sum(implicit.root(lambda x: np.array([x[0] + x[1] - 1, x[0] + x[1] * k - 1]), np.ones(2)))

    compiled = td.compile(lines, 2.0)
    for f in (lines, compiled):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            f(1.0)


class Global:
    k = None


def through_a_global(k, method):
    Global.k = k
    return implicit.root(lambda x: Global.k[0] * x + x**3 - Global.k[1], 0.5, method=method)


@pytest.mark.parametrize("method", ["newton", "hybr"])
def test_a_tracked_value_from_elsewhere_is_refused(method):
    """One that a global holds: no rule would see that the solution depends on it."""
    kind, _ = complaint(lambda: td.gradient(lambda k: through_a_global(k, method), P))
    assert issubclass(kind, (td.TrackedValueLeaked, td.TrackedValueEscaped))
    kind, _ = complaint(lambda: td.gradient(lambda k: implicit.root(lambda x, k: k[0] * x - Global.k[1] * k, 0.5, k), P))
    assert issubclass(kind, td.TapediffError)


def test_equations_and_unknowns_must_be_as_many():
    kind, message = complaint(lambda: td.gradient(lambda k: implicit.root(lambda x: x[:1] - k, np.ones(2)).sum(), 1.0))
    assert kind is td.ShapeMismatch
    assert "td.implicit.root has as many equations as unknowns" in message
    assert complaint(lambda: implicit.root(lambda x: x, "start"))[0] is td.DtypeMismatch


@pytest.mark.parametrize(
    ("f", "start", "solution"),
    [
        (lambda x: np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]]), np.array([-1.2, 1.0]), [1, 1]),
        (lambda x: np.array([-13 + x[0] + ((5 - x[1]) * x[1] - 2) * x[1], -29 + x[0] + ((x[1] + 1) * x[1] - 14) * x[1]]), np.array([6.0, 3.0]), [5, 4]),
        (lambda x: np.log(x / 1e-9), np.array([1e-8]), [1e-9]),
        (np.arctan, np.array([3.0]), [0]),
        (lambda x: np.array([np.cos(x[0]) - np.cos(x[1]) + x[0], np.sin(x[0]) + np.expm1(x[1])]), np.array([0.5, 0.2]), [0, 0]),
    ],
)  # fmt: skip
def test_newtons_method_is_damped_and_ends_at_rounding(f, start, solution):
    """Starts from where full steps diverge; tiny and zero solutions. Sources: Moré, Garbow and Hillstrom (1981)."""
    np.testing.assert_allclose(implicit.root(f, start), solution, rtol=1e-12, atol=1e-15)


def test_newtons_minimum_goes_downhill_from_where_the_hessian_is_indefinite():
    """Rosenbrock's valley; and from beside the saddle of a double well."""
    valley = lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    np.testing.assert_allclose(implicit.minimize(valley, np.array([-1.2, 1.0])), [1, 1], rtol=1e-10)
    np.testing.assert_allclose(implicit.minimize(lambda x: x**4 - 2 * x**2, 1e-3), 1.0, rtol=1e-10)
