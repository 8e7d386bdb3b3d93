"""Operations on arrays that are recorded without a search for types are those that the recorder would have recorded."""

import tracemalloc

import numpy as np
import pytest

import tapediff as td
from tapediff import numpy_api as functions
from tapediff.recording.arrays import numbers

X = np.linspace(0.2, 1.4, 12)


def _operators(x):
    a, b = x[:6], x[6:]
    y = 2 * a - b / 3 + (-a) ** 2 + abs(b) - np.float64(0.5) / a + 1.0 // b + a % 0.7 + 0.0 * a - np.nan * 0.0 * (a < 0)
    return np.exp(a) * np.maximum(y, b) + np.hypot(a, 2.0) + np.arctan2(1, b)


def _other_shapes(x):
    """One line for numbers, rows and planes, whose results are of another type each time."""
    total = 0.0
    for part in (x, x[:4], x.reshape(3, 4), x[3], x.reshape(3, 1, 4), x[:4]):
        part = 0.5 * part + part * part
        total = total + np.sum(np.tanh(part - x[0]))
    return total + np.sum(x.reshape(3, 4) * x[:4] + x.reshape(3, 4)[:, :1])


def _views(x):
    m = 1.0 * x.reshape(3, 4)
    row, rest = m[1], m[1:]
    row += 2.0 * rest[1]
    m[2] = row * m[0]
    rest *= 0.5
    return np.sum(row * rest[1] - m[-1])


def _masks(x):
    a = np.where((x > 0.5) & ~(x > 1.0), x, -x)
    return np.sum(np.where(a == x, a * a, 2.0)) + np.sum((x <= 0.3) * x)


def _other_kinds(x):
    """Whole numbers, narrow floats, plain arrays, lists, numbers that no float64 is, and no operations element by element."""
    k = np.arange(12)
    a = x * k + k[::-1] * x - np.float32(0.5) * x + [1.0] * 12 * x + x * np.array(3.0) + x * True
    narrow = x.astype(np.float32) * 2.0
    return np.sum(a) + x.reshape(3, 4)[0] @ x[:4] + np.sum(narrow + x) + np.sum(x[:0] * 2.0) + np.sum(x * (2**40))


def _nested(x):
    inner = td.grad(lambda y: np.sum(y * x + np.exp(y)))(2.0 * x)
    return np.sum(inner * x)


PROGRAMS = [_operators, _other_shapes, _views, _masks, _other_kinds, _nested]


@pytest.mark.parametrize("f", PROGRAMS)
def test_the_tape_is_the_one_that_the_recorder_makes(f, monkeypatch):
    """The same instructions, types and lines of the user; and the values are the function's."""
    tape = td.record(f, X)
    monkeypatch.setattr(numbers, "_of_arrays", lambda *_: None)
    slowly = td.record(f, X)
    for made, expected in zip(tape.instructions, slowly.instructions, strict=True):
        assert repr(made._replace(site=None)) == repr(expected._replace(site=None))
        assert str(made.site) == str(expected.site)
    tape.check()
    for x in (X, X[::-1].copy()):
        assert np.array_equal(tape(x), slowly(x), equal_nan=True)
    assert np.allclose(tape(X), f(X), rtol=1e-14, equal_nan=True)  # sums in another order


@pytest.mark.parametrize(
    ("f", "error"),
    [(lambda x: x[:3] * x[:4], ValueError), (lambda x: np.add(x[:3], x[:2]), ValueError), (lambda x: np.log(x[:3] - 5.0), RuntimeWarning)],
)
def test_an_operation_that_fails_is_left_to_the_recorder(f, error, monkeypatch):
    """It knows what to note of an error; shapes that do not fit, and values that NumPy warns of where warnings are errors."""
    with np.errstate(all="warn"), pytest.raises(error) as raised:
        td.record(f, X)
    monkeypatch.setattr(numbers, "_of_arrays", lambda *_: None)
    with np.errstate(all="warn"), pytest.raises(error) as expected:
        td.record(f, X)
    assert str(raised.value) == str(expected.value)


def test_an_operation_on_arrays_in_a_loop_keeps_no_object():
    """An instruction of its own took 170 bytes beside the values, of which none stays."""

    def f(x):
        for _ in range(2000):
            x = 0.5 * (x + np.sin(x) * x)
        return np.sum(x)

    td.record(f, X, merge=False)
    tracemalloc.start()
    tape = td.record(f, X, merge=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * len(tape)


@pytest.mark.parametrize("repeated", [[1.0, 2.0], (0.5, 3.0), "ab", b"ab", []], ids=repr)
def test_a_whole_number_repeats_lists_and_strings_as_numpys_does(repeated):
    f = lambda x: x[0] * len(np.argmax(x) * repeated) + len(repeated * np.argmin(x)) * x[1]
    tape = td.GuardedTape(f)
    for x in (np.array([1.0, 5.0, 2.0, 7.0]), np.array([9.0, 5.0, 2.0, 7.0]), np.array([1.0, 5.0, -2.0, 2.0])):
        value, gradient = td.value_and_gradient(tape, x)
        assert value == f(x)
        np.testing.assert_array_equal(gradient, [len(repeated) * np.argmax(x), len(repeated) * np.argmin(x), 0.0, 0.0])


def test_an_array_of_whole_numbers_still_multiplies_a_list():
    f = lambda x: np.sum(x * (np.argsort(x) * [1, 2, 3]))
    x = np.array([2.0, 0.5, 1.0])
    assert td.compile(f, x)(x) == f(x)


# `type` is the engine's own.
@pytest.mark.parametrize("name", sorted(name for name in {*functions.METHODS, *dir(np.ndarray)} - {"type"} if not name.startswith("_")))
def test_tracked_arrays_have_the_attributes_of_numpys(name):
    """Code asks for them with hasattr; a method that NumPy has dropped must not be there, either."""

    def program(x):
        return x.sum() if hasattr(x, name) else x.sum() * 2.0

    x = np.array([[1.0, 2.0]])
    try:
        tape = td.record(program, x)
    except td.TapediffError as refused:
        assert hasattr(x, name), refused  # noqa: PT017 -- the attribute exists, and is refused by name
    else:
        assert tape(x) == program(x)


class Thing:
    """No number."""


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize(
    "f", [lambda x: np.add(x, Thing()), lambda x: np.multiply(x[0], Thing()), lambda x: x * [Thing(), 1.0], lambda x: np.maximum(Thing(), x[0])]
)
def test_objects_that_are_no_numbers_are_refused(f, merge):
    """By an error that names the line, also as the only operand: such a search for numbers within it once had no end."""
    with pytest.raises(td.UnsupportedFunction, match="object array") as raised:
        td.GuardedTape(f, merge=merge)(np.ones(2))
    assert "test_numbers.py" in str(raised.value)
