"""Arguments: what is differentiated, what is data, what is refused and why, and how arguments are named."""

import numpy as np
import pytest

import tapediff as td

X = np.array([1.0, 2.0, 3.0])


def product(a, b):
    return np.sum(a * b**2)


def first_of(ws, scale):
    return scale * 2.0


TARGETS = pytest.mark.parametrize(
    "made", [lambda f, *args: f, td.record, td.compile, lambda f, *args: td.GuardedTape(f)], ids=["function", "Tape", "CompiledTape", "GuardedTape"]
)

# Containers


class Keyed(dict):
    """A dict of another type, whose constructor tapediff does not know."""


@pytest.mark.parametrize(
    ("container", "named"),
    [
        (Keyed(a=X), "a Keyed"), ({"a": {1.0}}, "set"), ([X, Keyed()], "a Keyed"), ({"a": bytearray(3)}, "bytearray"),
        ([X, (k for k in X)], "generator"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_containers_of_other_types_are_refused_wherever_they_are_passed(container, named):
    """Differentiated, beside the differentiated argument, as data, and to every verb; nothing is stacked or left as it is."""
    calls = [
        lambda: td.gradient(first_of, container, 2.0), lambda: td.gradient(first_of, container, 2.0, argnums=1),
        lambda: td.gradient(first_of, td.Constant(container), 2.0, argnums=1), lambda: td.record(first_of, container, 2.0),
        lambda: td.record(first_of, td.Constant(container), 2.0), lambda: td.compile(first_of, container, 2.0),
        lambda: td.GuardedTape(first_of)(container, 2.0), lambda: td.GuardedTape(first_of).gradient(container, 2.0, argnums=1),
        lambda: td.hessian(first_of, container, 2.0), lambda: td.grad(first_of)(container, 2.0),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(td.DtypeMismatch) as raised:
            call()
        what, at, got, fix = str(raised.value).split("\n")
        assert what.startswith("argument 0 (ws) ")
        assert at.startswith("  at:  test_arguments.py:")
        assert got == f"  got: {named}"
        assert "td.register_container makes a class" in fix
    assert not td.is_recording()


def test_a_container_is_refused_by_tapes_of_an_array():
    for tape in (td.record(np.sum, X), td.compile(np.sum, X)):
        with pytest.raises(td.ArgumentMismatch, match="differ from the recorded ones"):
            td.gradient(tape, [X[:1], X[:1], X[:1]])
        assert np.array_equal(td.gradient(tape, X), np.ones(3))
        assert np.array_equal(td.gradient(tape, (1.0, 2.0, 3.0)), np.ones(3))


@TARGETS
@pytest.mark.parametrize("numbers", [[1.0, 2.0], [np.float64(1.0), 2], [[1.0, 2.0], [3.0, 4.0]], [np.float32(0.5), 1.5], []], ids=repr)
def test_nested_lists_of_plain_numbers_are_arrays(made, numbers):
    """Differentiated, and as data."""
    array = np.asarray(numbers, dtype=float)
    target = made(product, numbers, numbers)
    first, second = td.gradient(target, numbers, numbers, argnums=(0, 1))
    np.testing.assert_array_equal(first, array**2)
    np.testing.assert_array_equal(second, 2 * array * array)


@pytest.mark.parametrize("argument", ["a", None, object(), [1.0, [2.0]], {1.0}, 1j], ids=lambda a: type(a).__name__)
def test_what_is_no_number_is_refused_with_its_name(argument):
    for call in (td.record, td.compile, td.gradient):
        with pytest.raises(td.DtypeMismatch, match=r"argument 0 \(ws\) (is|must be)"):
            call(first_of, argument, 2.0)


# Data


@pytest.mark.parametrize("made", [td.record, td.compile], ids=["Tape", "CompiledTape"])
def test_integers_and_booleans_beside_floats_are_data(made):
    """Arrays and numbers of them, whose values may change from call to call; nothing is differentiated by them."""

    def f(x, index, mask, scale):
        return np.sum(x[index] ** 2) * scale + np.sum(x * mask)

    index, mask = np.array([0, 2]), np.array([True, False, True])
    target = made(f, X, index, mask, 3)
    for where, chosen, scale in ((index, mask, 3), (np.array([1, 1]), ~mask, -2)):
        assert target(X, where, chosen, scale) == f(X, where, chosen, scale)
        expected = np.bincount(where, minlength=3) * 2 * X * scale + chosen
        np.testing.assert_array_equal(td.gradient(target, X, where, chosen, scale), expected)
        np.testing.assert_array_equal(td.gradient(f, X, where, chosen, scale), expected)
    for k in (1, 2, -1):
        with pytest.raises(td.ArgumentMismatch, match="is data"):
            td.gradient(target, X, index, mask, 3, argnums=k)


@pytest.mark.parametrize("made", [td.record, td.compile], ids=["Tape", "CompiledTape"])
def test_an_integer_is_guarded_where_python_needs_it(made):
    """As a length or a loop count; isinstance() sees an int, as in the plain function."""

    def f(x, n, twice):
        assert isinstance(n, int)
        total = np.sum(x[:n] ** 2) * n
        return total * 2 if twice else total

    target = made(f, X, 2, True)
    np.testing.assert_array_equal(td.gradient(target, X, 2, True), [8.0, 16.0, 0.0])
    for other in ((3, True), (2, False)):
        with pytest.raises(td.GuardFailed):
            td.gradient(target, X, *other)


@pytest.mark.parametrize("point", [3, [1, 2, 3], np.arange(3), True])
def test_integers_alone_are_a_point_of_the_wrong_type(point):
    """They would be truncated; the message says to pass floats."""
    for call in (td.record, td.compile, td.gradient):
        with pytest.raises(td.DtypeMismatch, match=r"argument 0 \(x\) must be real floating-point(.|\n)*pass floats"):
            call(lambda x: np.sum(x) * 2.0, point)


# Which argument


@TARGETS
def test_arguments_are_counted_from_either_end_and_named_in_tuples_or_lists(made):
    target, y = made(product, X, X), X + 1.0
    by_first, by_second = y**2, 2 * X * y
    for argnums, expected in ((0, by_first), (1, by_second), (-1, by_second), (-2, by_first), (np.int64(1), by_second)):
        np.testing.assert_array_equal(td.gradient(target, X, y, argnums=argnums), expected)
    for argnums in ((0, 1), [0, 1], (-2, -1), [0, -1]):
        gradients = td.gradient(target, X, y, argnums=argnums)
        assert type(gradients) is tuple
        np.testing.assert_array_equal(gradients, [by_first, by_second])
    out = [np.empty(3), np.empty(3)]
    td.gradient(target, X, y, argnums=[-1, 0], out=out)
    np.testing.assert_array_equal(out, [by_second, by_first])
    np.testing.assert_array_equal(td.grad(product, [-1])(X, y), [by_second])


@TARGETS
@pytest.mark.parametrize(
    ("argnums", "what"),
    [
        (2, "argnums=2 but product was called with 2 arguments"), (-3, "argnums=-3 but product was called with 2 arguments"),
        ((0, 5), "argnums=5 but product was called with 2 arguments"), (True, "argnums is a position"), (1.0, "argnums is a position"),
        ("b", "argnums is a position"), (None, "argnums is a position"), ([0, None], "argnums is a position"),
    ],
)  # fmt: skip
def test_an_argument_that_is_not_there_is_refused(made, argnums, what):
    """And the next call is right."""
    target = made(product, X, X)
    with pytest.raises(td.ArgumentMismatch, match=what) as raised:
        td.gradient(target, X, X, argnums=argnums)
    assert "\n  fix: " in str(raised.value)
    np.testing.assert_array_equal(td.gradient(target, X, X), X**2)


@TARGETS
def test_a_call_without_arguments_says_what_is_missing(made):
    target = made(product, X, X)
    for verb in (td.gradient, td.value_and_gradient):
        with pytest.raises(td.ArgumentMismatch, match=r"without arguments|0 were given"):
            verb(target)
    with pytest.raises(td.ArgumentMismatch, match=r"td\.compile was given none"):
        td.compile(product)
    assert td.compile(lambda: 3.0)() == 3.0


def test_arguments_may_be_passed_by_name():
    """Where a function is recorded; the tape takes them by position, in the function's order."""

    def f(x, scale=2.0, *, power=1):
        return np.sum(x) * scale

    for tape in (td.record(f, X, scale=5.0), td.compile(f, X, scale=5.0), td.compile(f, scale=5.0, x=X)):
        assert np.array_equal(td.gradient(tape, X, 3.0), [3.0, 3.0, 3.0])
        assert td.gradient(tape, X, 3.0, argnums=-1) == 6.0
    assert np.array_equal(td.jacobian(f, X, scale=4.0), [4.0, 4.0, 4.0])
    assert np.array_equal(td.hessian(f, X, scale=4.0), np.zeros((3, 3)))
    for call in (td.record, td.compile, td.gradient):
        call(f, X, power=2)
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            call(f, X, scael=2.0)


SOLVERS = {
    "root": lambda k: td.implicit.root(residual, 0.5, k[0], k[1]),
    "fixed_point": lambda k: td.implicit.fixed_point(residual, 0.5, k[0], k[1]),
    "minimize": lambda k: td.implicit.minimize(residual, 0.5, k[0], k[1]),
    "solve": lambda k: td.ode.solve(lambda t, y, a, b: residual(y, a, b), 1.0, [0.0, 1.0], k[0], k[1]),
}


def residual(x, a, b):
    return x**3 + a * x - b


@pytest.mark.parametrize("name", SOLVERS)
def test_parameters_given_one_by_one_to_a_solver_are_refused_with_the_corrected_call(name):
    """A parameter where an option would stand is no option; the message has the call with args=."""
    with pytest.raises(td.ArgumentMismatch, match=r"args=\(a, b\)") as raised:
        td.grad(lambda k: np.sum(SOLVERS[name](k)))(np.ones(2))
    assert "test_arguments.py" in str(raised.value.at)


def test_a_method_by_position_is_refused_with_the_corrected_call():
    """SciPy's order of options is not this package's, so each has a name."""
    with pytest.raises(td.ArgumentMismatch, match="method='hybr'"):
        td.implicit.root(residual, 0.5, (1.0, 2.0), "hybr")
    with pytest.raises(td.ArgumentMismatch, match=r"args=\(a, b\)"):
        td.grad(lambda k: td.implicit.root(residual, 0.5, (1.0, 2.0), method=k))(1.0)


def test_what_a_loops_function_needs_besides_is_closed_over():
    """The message of td.scan and td.while_loop has a call that does."""
    with pytest.raises(td.ArgumentMismatch, match=r"f\(carry, x, a\)"):
        td.grad(lambda k: td.scan(lambda c, x: (c * x, c), k, np.ones(3), k)[0])(1.0)
    with pytest.raises(td.ArgumentMismatch, match=r"body\(value, a, b\)"):
        td.grad(lambda k: td.while_loop(lambda s: s < 10, lambda s: s * 2, k, k, k))(1.0)
