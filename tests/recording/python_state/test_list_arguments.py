"""Lists with tracked numbers in them, as arguments of every function of NumPy's and every ufunc of SciPy's."""

import inspect
import warnings

import numpy as np
import pytest
import scipy.special

import tapediff as td
from tapediff.errors import TapediffError

POINT = np.array([0.3, 0.57, 0.8])
MATRIX = [[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]]

# What is tried until plain NumPy has an answer: `L` is the list with the tracked number, or the matrix with it.
TRIALS = """
L
M
L, P
P, L
L, 1
1, L
L, V
M, V
M, N
M, 2
L, P, Q
P, L, Q
P, Q, L
1, L, P
1, 1, L
L, C, D
B, L
B, L, P
0, L, 0
K, L
L, K
L, K, 0
L, K, P
(L, P)
(L, P), (P, L)
L, 1, 1
L, P, P, Q
1, 1, L, P
L, (lambda t: t + 1)
(lambda t: t + 1), 0, M
'i->', L
""".split("\n")


def arguments(trial, x):
    """The arguments of a trial, with x in the lists."""
    lists = {
        "L": [0.2, x, 0.7], "M": [[2.0, x, 0.1], [x, 1.5, 0.2], [0.1, 0.2, 1.0]], "P": [0.4, 0.6, 0.9], "Q": [1.5, 1.25, 2.5], "N": MATRIX,
        "V": [1.0, 2.0, 0.5], "C": 0.1, "D": 0.5, "B": [True, False, True], "K": [0, 2, 1],
    }  # fmt: skip
    return eval(f"({trial},)", lists)


def numbers(answer):
    """The sum of all numbers in an answer, weighted; None where there are none."""
    if isinstance(answer, (list, tuple)):
        parts = [number for part in answer if (number := numbers(part)) is not None]
        return sum(parts[1:], parts[0]) if parts else None
    if isinstance(answer, (str, bytes, type, type(None), slice)) or callable(answer):
        return None
    kind = getattr(answer, "dtype", np.asarray(0.0) if isinstance(answer, (bool, int, float, complex)) else None)
    if kind is None or getattr(kind, "kind", "f") not in "fiubcO":
        return None
    if getattr(kind, "kind", "f") == "c":
        return numbers(np.real(answer)) if np.size(answer) == 0 else numbers((np.real(answer), np.imag(answer)))
    flat = np.reshape(answer, (-1,)) * 1.0
    return np.sum(flat * np.cos(np.arange(1.0, flat.size + 1.0)))


def functions():
    """Every public function and ufunc, and how it is looked up."""
    for module in (np, np.linalg, np.fft, scipy.special):
        for name in sorted(dir(module)):
            found = getattr(module, name)
            is_one = isinstance(found, np.ufunc) if module is scipy.special else callable(found) and not inspect.isclass(found)
            if is_one and not name.startswith("_"):
                yield pytest.param(module, name, id=f"{module.__name__}.{name}")


# They read files, print, wait, set something, or make what is no array of numbers.
NOT_OF_NUMBERS = {
    "test", "info", "show_config", "show_runtime", "get_include", "save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "fromfile",
    "genfromtxt", "fromregex", "memmap", "setbufsize", "seterr", "seterrcall", "set_printoptions", "printoptions", "typename", "frompyfunc",
    "empty", "empty_like", "apply_over_axes",
}  # fmt: skip


def trial_of(function):
    for trial in filter(None, TRIALS):
        try:
            plain = numbers(function(*arguments(trial, 0.5)))
            if plain is not None and np.isfinite(plain):
                return trial
        except Exception:  # noqa: BLE001 -- what NumPy refuses it refuses in many ways
            continue
    return None


@pytest.mark.parametrize("is_bound", [False, True], ids=("by_module", "by_name"))
@pytest.mark.parametrize(("module", "name"), list(functions()))
def test_a_list_with_a_tracked_number_is_an_array_or_refused_with_the_line(module, name, is_bound):
    """The value and gradient are those of plain NumPy, whose gradient is a difference; a refusal is of tapediff and names this file."""
    bound = getattr(module, name)
    if name in NOT_OF_NUMBERS:
        pytest.skip("not of numbers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial = trial_of(bound)
        if trial is None:
            pytest.skip("takes no lists of floats")

        def f(x):
            return numbers((bound if is_bound else getattr(module, name))(*arguments(trial, x[1])))

        step = 1e-6
        moved = [f(POINT + np.array([0.0, by, 0.0])) for by in (-step, step)]
        try:
            tape = td.record(f, POINT)
            value, gradient = tape(POINT), td.gradient(tape, POINT)
        except TapediffError as error:
            refusal = error
        else:
            refusal = None
        if refusal is not None:
            assert "test_list_arguments.py" in str(refusal.at), refusal
            return
        expected = (moved[1] - moved[0]) / (2 * step)
        np.testing.assert_allclose(value, f(POINT), rtol=1e-12, atol=1e-12)  # of the same operations
        np.testing.assert_allclose(gradient, [0.0, expected, 0.0], rtol=1e-5, atol=1e-7)  # the error of the difference


@pytest.mark.parametrize("f", [
    lambda x: np.maximum([x[0], x[1]], 0.5), lambda x: np.clip([x[0], x[1]], -0.1, 0.2) * 2.0, lambda x: np.minimum([[x[0]], [x[1]]], 1),
])  # fmt: skip
def test_numbers_chosen_from_a_list_by_comparisons_are_results(f):
    """NumPy makes an array of objects, in which none may be tracked where all are bounds."""
    guarded = td.GuardedTape(f)
    for x in np.array([[0.3, -1.4], [2.0, 3.0], [0.1, 0.8], [0.15, -0.05]]):
        np.testing.assert_array_equal(guarded(x), f(x), strict=True)
        slopes = [(f(x + h) - f(x - h)).ravel() / 2e-6 for h in 1e-6 * np.eye(2)]
        np.testing.assert_allclose(td.jacobian(guarded, x).reshape(2, 2).T, slopes, atol=1e-9)  # the functions are linear here
