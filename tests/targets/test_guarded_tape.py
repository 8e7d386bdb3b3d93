"""GuardedTape: Python's branches are followed, each path is recorded once, and no answer comes from the wrong one."""

import pickle

import numpy as np
import pytest
from support.guarded import A, cube_or_square

import tapediff as td

# Calls of all kinds


def test_static_arguments_are_specialised_on_and_defaults_are_not_confused_with_them():
    """f(x, False) then f(x): the second has another meaning although its arrays are the same."""

    def f(x, double=True):
        return x.sum() * (2 if double else 1)

    safe = td.GuardedTape(f)
    x = np.ones(2)
    for _ in range(2):
        assert td.gradient(safe, x, False)[0] == 1
        assert td.gradient(safe, x)[0] == 2
        assert td.gradient(safe, x, True)[0] == 2
        assert td.gradient(safe, x, 0)[0] == 1
    assert safe.stats.recordings == 4
    power = td.GuardedTape(lambda x, n: np.sum(x**n))
    assert [td.gradient(power, 3.0 * x, n)[0] for n in (2, 3, 2)] == [6.0, 27.0, 6.0]


def test_data_arguments_and_several_gradients():
    """td.Constant data may change from call to call; argnums picks the gradients; floats and lists are accepted."""
    safe = td.GuardedTape(lambda x, y: np.sum(x * y) if y[0] > 0 else np.sum(x * x * y))
    x = A([1.0, 2.0])
    for y in (A([3.0, 4.0]), A([5.0, 6.0]), A([-1.0, 2.0])):
        assert np.array_equal(td.gradient(safe, x, td.Constant(y)), y if y[0] > 0 else 2 * x * y)
        assert np.array_equal(td.gradient(safe, x, y), y if y[0] > 0 else 2 * x * y)
        by_y, by_x = td.gradient(safe, x, y, argnums=(1, 0))
        assert np.array_equal(by_x, y if y[0] > 0 else 2 * x * y)
        assert np.array_equal(by_y, x if y[0] > 0 else x * x)
        assert np.array_equal(td.gradient(safe, x.tolist(), y, argnums=1), x if y[0] > 0 else x * x)
    with pytest.raises(td.ArgumentMismatch):
        td.gradient(safe, x, td.Constant(A([1.0, 1.0])), argnums=1)
    with pytest.raises(td.DtypeMismatch):
        td.gradient(safe, A([1, 2]), x)


def test_out_receives_the_gradient_and_without_it_the_gradient_is_fresh():
    """Also where out is strided or is the argument itself; a wrong out is refused before anything is computed."""
    safe = td.GuardedTape(lambda x: (x**3).sum() if x[0] > 0 else (x**2).sum())
    x = A([1.0, 2.0])
    for _ in range(2):
        out, strided, argument = np.empty(2), np.empty(4)[::2], x.copy()
        for target in (out, strided):
            assert td.gradient(safe, x, out=target) is target
            assert np.array_equal(target, [3.0, 12.0])
        assert np.array_equal(td.gradient(safe, argument, out=argument), [3.0, 12.0])
    first = td.gradient(safe, x)
    kept = first.copy()
    second = td.gradient(safe, 2 * x)
    assert np.array_equal(first, kept)
    assert not np.shares_memory(first, second)
    assert first.flags.writeable
    for wrong, error in (
        (np.empty(3), td.ShapeMismatch),
        (np.empty(2, np.float32), td.DtypeMismatch),
        ([0.0, 0.0], td.ArgumentMismatch),
    ):
        with pytest.raises(error):
            td.gradient(safe, -x, out=wrong)
    assert safe.stats.recordings == 1


def test_the_value_may_be_anything_that_a_tape_returns():
    """An array, a tuple, a constant; a gradient of these raises."""
    safe = td.GuardedTape(lambda x: (x[::2], x.sum(), 3.0) if x[0] > 0 else x, merge=False)
    x = A([1.0, 2.0, 3.0])
    part, total, constant = safe(x)
    assert np.array_equal(part, [1.0, 3.0])
    assert not np.shares_memory(part, x)
    assert (total, constant) == (6.0, 3.0)
    assert np.array_equal(safe(-x), -x)
    with pytest.raises(td.NonScalarOutput):
        td.gradient(safe, x)
    flat = td.GuardedTape(lambda x: 2.0, merge=False)
    assert flat(x) == 2.0
    assert np.array_equal(td.gradient(flat, x), np.zeros(3))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("compile_after", [0, 5])
def test_types_of_values_and_gradients_are_those_of_the_arguments(dtype, compile_after):
    """Both dtypes at once; each has its tape, and the replay's types are the kernel's."""
    safe = td.GuardedTape(lambda x: (x * x).sum(), compile_after=compile_after)
    td.gradient(safe, np.ones(2))
    for _ in range(2):
        value, gradient = td.value_and_gradient(safe, np.ones(2, dtype))
        assert type(value) is (float if dtype is np.float64 else np.float32)
        assert gradient.dtype == dtype
        assert np.array_equal(gradient, [2.0, 2.0])


def test_a_new_tape_is_replayed_until_it_has_been_used_often_enough():
    """compile_after=2: two answers by NumPy, the third compiled; the same numbers."""
    safe = td.GuardedTape(cube_or_square, compile_after=2)
    for k in range(4):
        assert td.gradient(safe, A([3.0])) == pytest.approx([27.0], rel=1e-15)
        assert (safe.stats.seconds_compiling > 0) == (k >= 2)


def test_what_cannot_be_guarded_is_refused():
    """A tape is one path already; a guard must be a function; a budget must have room for a tape."""
    tape = td.record(cube_or_square, A([1.0]))
    for target in (tape, td.compile(tape), td.GuardedTape(cube_or_square), 3.0):
        with pytest.raises(td.ArgumentMismatch, match="takes the plain function"):
            td.GuardedTape(target)
    with pytest.raises(td.ArgumentMismatch, match="guard must be a function"):
        td.GuardedTape(cube_or_square, True)
    with pytest.raises(td.ArgumentMismatch, match="max_tapes must be at least 1"):
        td.GuardedTape(cube_or_square, max_tapes=0)


# Inside recordings, and derivatives of higher order


def test_inside_a_recording_its_branches_become_guards_of_that_recording():
    """As a value and as a gradient; nothing tracked is kept."""
    inner = td.GuardedTape(lambda y: y**3 if y > 1 else y**2)
    td.gradient(inner, 2.0)
    for g, expected in (
        (lambda x: inner(x) * x, lambda x: 4 * x**3 if x > 1 else 3 * x**2),
        (lambda x: td.gradient(inner, x) * x, lambda x: 9 * x**2 if x > 1 else 4 * x),
        (lambda x: td.value_and_gradient(inner, x)[0] * x, lambda x: 4 * x**3 if x > 1 else 3 * x**2),
    ):
        outer = td.GuardedTape(g)
        for x in (2.0, 0.5, 3.0, 0.25):
            assert td.gradient(outer, x) == pytest.approx(expected(x), rel=1e-13)
        assert outer.stats.recordings == 2
        with pytest.raises(td.GuardFailed):
            td.gradient(td.record(g, 2.0), 0.5)
    assert inner.stats.recordings == 1


def test_values_of_an_outer_recording_in_the_closure_are_not_baked():
    """grad(x * grad(y ↦ x * y)): the inner function's tape would hold x as a constant."""
    for x in (3.0, 4.0):
        assert td.gradient(lambda x: td.gradient(td.GuardedTape(lambda y: x * y**2), 1.0) * x, x) == 4 * x
        assert td.gradient(lambda x: td.GuardedTape(lambda y: x * y)(2.0) * x, x) == 4 * x
    scale = [2.0]
    shared = td.GuardedTape(lambda y: scale[0] * y**2)
    assert td.gradient(shared, 1.0) == 4.0

    def f(x):
        scale[0] = x
        return td.gradient(shared, 1.0) * x

    assert td.gradient(f, 3.0) == 12.0
    assert not td.is_recording()


def test_a_function_may_use_another_guarded_tape():
    """The other one's cache is not touched by the recording, and serves plain calls as before."""
    inner = td.GuardedTape(lambda y: y**3 if y > 1 else y**2)
    outer = td.GuardedTape(lambda x: inner(x) + inner(x / 2))
    for x in (4.0, 1.5, 0.5, 4.0):
        expected = (3 * x**2 if x > 1 else 2 * x) + (1.5 * (x / 2) ** 2 if x > 2 else x / 2)
        assert td.gradient(outer, x) == pytest.approx(expected, rel=1e-14)
    assert inner(2.0) == 8.0


def with_a_message(p):
    if p[0] < 0.0:
        raise ValueError(f"a parameter of {p[0]:g}: {p}")
    return p[0] ** 2


def with_messages_in_a_loop(p):
    total = 0.0
    for k in range(2000):
        if p[0] * k < -5.0:
            raise ValueError("%g is not allowed at %d" % (p[0], k))  # noqa: UP031 -- another way to make text
        total = total + np.sin(p[0] * k)
    return total


def with_a_message_before(p):
    if p[0] > 0.0:
        return p[0] ** 2
    else:
        message = f"a parameter of {p[0]}"
        raise ValueError(message)


WRITTEN = np.zeros(2)


def with_a_message_that_is_not_raised(p):
    WRITTEN[0] += 1.0
    message = f"{p[0]}"
    return p[0] * len(message)


@pytest.mark.parametrize("f", [with_a_message, with_messages_in_a_loop, with_a_message_before])
def test_the_message_of_an_error_of_the_functions_own_may_show_a_value(f):
    """That the value is tracked, and no text is made of it, is not what its user is to see."""
    inside, outside = np.array([0.5]), np.array([-1.0])
    with pytest.raises(ValueError) as expected:
        f(outside)
    tape = td.GuardedTape(f, merge=False)
    for _ in range(3):
        np.testing.assert_allclose(td.value_and_gradient(tape, inside)[0], f(inside), rtol=1e-12)
        with pytest.raises(ValueError) as raised:
            td.gradient(tape, outside)
        assert str(raised.value) == str(expected.value)
    for record in (td.record, td.compile):
        with pytest.raises(ValueError) as raised:
            record(f, outside)
        assert str(raised.value) == str(expected.value)
    with pytest.raises(td.TrackedValueEscaped):
        td.record(lambda p: p[0] if str(p[0]) == "0.5" else p[1], np.array([0.5, 2.0]))
    # The plain function is not called where it would go on.
    WRITTEN[:] = 0.0
    with pytest.raises(td.TrackedValueEscaped):
        td.record(with_a_message_that_is_not_raised, inside)
    assert WRITTEN[0] == 1.0


LAYOUTS = {
    "C": lambda a: a, "Fortran": np.asfortranarray, "every second": lambda a: np.repeat(np.repeat(a, 2, 0), 2, -1)[::2, ::2],
    "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1], "another byte order": lambda a: a.astype(">f8"), "read-only": lambda a: np.broadcast_to(a, a.shape),
}  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"compile_after": 1}, {"on_new_tape": "interpret"}, {"merge": True}, {"merge": False, "compile_after": 0}], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_constants_and_arguments_of_every_layout_are_read_as_numpy_reads_them(layout, options):
    """Two functions of one text with other matrices, whose kernels are shared; on both branches, natively and by replay."""

    def made(matrix):
        def f(x, given):
            y = matrix @ x
            return np.sum(y * given[0]) if x[0] > 0.0 else np.sum(given @ y) * 3.0

        return f

    rng = np.random.default_rng(5)
    for _ in range(2):
        matrix, given = (LAYOUTS[layout](rng.normal(size=(3, 3))) for _ in range(2))
        safe = td.GuardedTape(made(matrix), **options)
        for turn in range(6):
            x = np.array([1.0 if turn % 2 else -1.0, 0.5, 2.0 + turn])
            for value in (safe(x, given), td.value_and_gradient(safe, x, given)[0]):
                # Three products and their sum are rounded in another order.
                assert value == pytest.approx(made(matrix)(x, given), rel=1e-13)
            slope = matrix.T @ (given[0] if x[0] > 0.0 else 3.0 * given.sum(axis=0))
            np.testing.assert_allclose(td.gradient(safe, x, td.Constant(given)), slope, rtol=1e-13)


@td.static(argnums=1)
def to_the_power(x, n):
    return np.sum(x**n)


def test_a_function_marked_as_static_is_pickled_by_its_name():
    safe, x = td.GuardedTape(to_the_power), np.array([1.0, 2.0])
    assert (safe(x, 2), safe(x, 3)) == (5.0, 9.0)
    loaded = pickle.loads(pickle.dumps(safe))
    assert loaded.f is to_the_power
    assert (loaded(x, 3), loaded(x, 2), loaded(x, 4)) == (9.0, 5.0, 17.0)
    assert loaded.stats.recordings == 3
