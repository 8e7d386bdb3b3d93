"""NumPy's functions of arrays of any length: one tape serves all lengths, with NumPy's values and the gradients of a tape for the length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapediff as td

LENGTHS = (9, 12, 30, 5, 2, 3, 4, 17, 31)

# Of vectors r and w of n entries, and parameters t; each result has n entries, or a number of them that depends on n.
SLICES = [
    "r[:len(r) // 2]", "r[len(r) // 2:]", "r[::2]", "r[1::2]", "r[::-2]", "r[len(r) // 2::-1]", "r[:-1:-1]", "r[-2::-1]", "r[2:-1:2]",
    "r[:1:-3]", "r[-1:0:-2]", "r[..., None][:, 0]", "r[np.arange(0, len(r), 2)]", "np.take(r, np.arange(len(r))[::-1])", "r.take([0, -1])",
    "r[np.array([[0, 1], [-1, -2]])].sum(0)", "r[:2] * w[-2:]",
]  # fmt: skip
SHAPES = [
    "r[:len(r) // 2 * 2].reshape(len(r) // 2, 2) @ t[:2]", "r[:len(r) // 2 * 2].reshape(2, -1)[1]", "np.outer(r, t).ravel()",
    "np.outer(r, w).reshape(-1)", "np.outer(t, r).flatten()", "np.swapaxes(np.outer(r, t), 0, 1)[0]", "np.moveaxis(np.outer(r, t), 0, 1)[1]",
    "np.rot90(np.outer(r, t))[0]", "np.squeeze(r[None, :])", "np.atleast_2d(r)[0]", "np.diag(r) @ w", "np.outer(r, w).T.ravel() * 0.5",
]  # fmt: skip
JOINS = [
    "np.concatenate([r[len(r) // 2:], w[:len(r) // 2]]) * w", "np.concatenate([r, w])[len(r):] * r", "np.concatenate([r[::2], w[1::2]]) + r",
    "np.hstack([r, 1.0])", "np.array([r, w]).T @ t[:2]", "np.concatenate(np.array_split(r, 3)[::-1]) + w", "np.insert(r[:-1], 0, t[2]) + w",
    "np.split(r[:len(r) // 2 * 2], 2)[1]", "np.concatenate([np.outer(r, t), np.outer(w, t)])[:, 1]", "np.append(r[1:], r[0]) * r",
]  # fmt: skip
REPEATED = [
    "np.repeat(r, 2)", "np.repeat(t, len(r))", "np.repeat(w[0], len(r)) * r", "np.tile(r, 2)", "np.tile(t, len(r))[:len(r)] * w",
    "np.full(len(r), t[0]) * r", "np.broadcast_to(t[0], len(r)) * r", "np.repeat(np.outer(r, t), 2, axis=0)[:, 0]",
]  # fmt: skip
BY_NUMPYS_CODE = [
    "np.diff(r, prepend=0.0) * w", "np.diff(r, n=2, append=t[0])", "np.ediff1d(r)", "np.pad(r, 1)", "np.pad(r, (2, 1), mode='edge')",
    "np.gradient(r)", "np.polyval(t, r)", "np.fliplr(np.outer(r, t))[:, 0]", "np.linalg.norm(np.outer(r, t), axis=1)",
]  # fmt: skip
OTHERS = [
    "np.convolve(r, [0.5, 0.25], 'same')", "np.convolve(r, w[:2])[:len(r)] + w", "np.convolve(r, [0.5, 0.25], 'valid')", "np.correlate(r, w[:2])",
    "np.maximum.accumulate(r)", "np.multiply.accumulate(r)", "np.select([r > 0, w > 0], [r, w], 0.5)",
]  # fmt: skip


def agree(f: Any, most: int, *, seed: int = 1) -> None:
    """Values are NumPy's, gradients those of a tape for the length; the lengths take few recordings."""
    tape, rng = td.GuardedTape(f, max_tapes=50), np.random.default_rng(seed)
    for n in LENGTHS:
        t, r, w = rng.normal(size=3), rng.normal(size=n), rng.normal(size=n)
        value, gradient = td.value_and_gradient(tape, t, r, w)
        own = td.gradient(td.record(f, t, td.Constant(r), td.Constant(w)), t, td.Constant(r), td.Constant(w))
        # Sums may have another order.
        np.testing.assert_allclose(value, f(t, r.copy(), w.copy()), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(gradient, own, rtol=1e-9, atol=1e-11)
    # One for the first length, and one for each capacity.
    assert tape.stats.recordings <= most, tape.explain()


@pytest.mark.parametrize("expression", SLICES + SHAPES + JOINS + REPEATED + BY_NUMPYS_CODE + OTHERS)
def test_one_tape_serves_all_lengths(expression: str, tmp_path: Any) -> None:
    """Slices with any step, other shapes, joins, repetitions, and functions that NumPy has written in Python."""
    path = tmp_path / "program.py"
    path.write_text(f"import numpy as np\n\n\ndef f(t, r, w):\n    a = {expression}\n    return np.sum(np.sin(a) * t[0]) + np.sum(a) * t[1]\n")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    agree(names["f"], 3)


def in_a_loop(t, r, w):
    a = np.zeros(len(r))
    for k in range(1, len(r)):
        a[k] = 0.5 * a[k - 1] + (np.arange(len(r)) * t[2] + np.concatenate([r[len(r) // 2 :], w[: len(r) // 2]]))[k]
    return np.sum(a * w)


def of_a_choice(t, r, w):
    a = np.convolve(r, t[:2], "same") if len(r) > 3 else r * t[0]
    b = np.zeros(len(r))
    for k in range(len(r)):
        b[k] = a[k] * w[k] if a[k] > 0 else -a[k]
    return np.sum(b * r)


def of_a_list(t, r, w):
    a = np.array([t[0] * p + q for p, q in zip(r, w)]) + r
    b = np.zeros(len(r))
    for k in range(len(r)):
        b[k] = (a * np.arange(len(a)))[k] * t[1]
    return np.sum(b * w)


def cut_by_data(t, r, w):
    m = len(r) // 2 if t[0] > 0 else len(r) - 1
    return np.sum(np.concatenate([r[m:], r[:m]]) * w * t[1]) + t[0]


def written(t, r, w):
    a = r * t[0]
    a[::2] *= t[1]
    a[1:-1] = 0.5 * (a[2:] + a[:-2])
    a[len(r) // 2 :] += w[: len(r) - len(r) // 2]
    return np.sum(a**2)


@pytest.mark.parametrize("f", [in_a_loop, of_a_choice, of_a_list, cut_by_data, written])
def test_lengths_are_compared_as_sums(f: Any) -> None:
    """Lengths made in a loop, on two sides of a branch, by a list, and by sums of quotients are known to be equal."""
    agree(f, 3)


@pytest.mark.parametrize("seed", range(3))
def test_a_shape_that_does_not_fit_is_numpys_error(seed: int) -> None:
    """The length of a call decides whether there is one."""

    def f(t, r):
        return np.sum(r.reshape(-1, 2) @ t)

    tape, rng = td.GuardedTape(f), np.random.default_rng(seed)
    t = rng.normal(size=2)
    for n in rng.permutation([4, 6, 7, 9, 10, 30, 31]):
        r = rng.normal(size=n)
        if n % 2:
            with pytest.raises(ValueError, match="cannot reshape array of size"):
                td.gradient(tape, t, r)
        else:
            np.testing.assert_allclose(td.gradient(tape, t, r), r.reshape(-1, 2).sum(0), rtol=1e-12)
