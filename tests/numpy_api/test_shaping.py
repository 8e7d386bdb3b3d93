"""Arrays repeated along axes: as NumPy's, as copies, and by sums in the reverse pass."""

import numpy as np
import pytest

import tapediff as td
from tapediff.ops.arrays.indexing import GATHER, SCATTER_ADD
from tapediff.targets.tapes.gradient_tape import gradient_tape

CALLS = {
    "tile": lambda x: np.tile(x, 3), "tile twice": lambda x: np.tile(x, (2, 1, 3)), "tile by a NumPy number": lambda x: np.tile(x, np.int64(2)),
    "repeat": lambda x: np.repeat(x, 3), "repeat rows": lambda x: np.repeat(x, 2, axis=0), "repeat columns": lambda x: np.repeat(x, np.int64(4), -1),
    "larger pixels": lambda x: x.repeat(2, 0).repeat(2, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_repeated_arrays_are_numpys_and_their_cotangents_sums(name):
    """No look-up by position, whose cotangent would be added entry by entry."""
    f, x = CALLS[name], np.random.default_rng(4).normal(size=(3, 5))
    weights = np.random.default_rng(5).normal(size=f(x).shape)
    tape = td.record(lambda x: np.sum(f(x) * weights), x)
    assert not {GATHER, SCATTER_ADD} & {i.op for i in gradient_tape(tape, (0,)).instructions}
    np.testing.assert_array_equal(td.record(f, x)(x), f(x))
    # Each entry's slope is the sum of up to six weights.
    expected = [np.sum(f(np.arange(15).reshape(3, 5) == k) * weights) for k in range(15)]
    np.testing.assert_allclose(td.gradient(td.compile(tape), x).ravel(), expected, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("function", [np.tile, np.repeat])
def test_an_array_repeated_once_is_a_copy(function):
    """A write to it leaves the array alone."""

    def f(x):
        once = function(x, 1)
        once[0] = 5.0
        return np.sum(x**2) * np.sum(once)

    x = np.arange(3.0)
    assert td.record(f, x)(x) == f(x)


@pytest.mark.parametrize("f", [lambda x: np.repeat(x, 2, axis=2), lambda x: np.repeat(x, -1), lambda x: np.tile(x, -1)])
def test_errors_are_numpys(f):
    x = np.ones((2, 3))
    with pytest.raises(Exception) as plain:
        f(x)
    with pytest.raises(plain.type):
        td.record(f, x)


# Expressions of x: views and copies, by function, method and attribute.
ALIASES = """x.conj()|x.conjugate()|np.conj(x)|np.conjugate(x)|x.real|np.real(x)|x.astype(float)|x.astype(float, copy=False)|x.astype(np.float64, "K", "unsafe", True, False)
np.astype(x, np.float64, copy=False)|x.astype(float, order="F", copy=False)|np.asarray(x)|np.array(x)|np.array(x, copy=None)|np.asarray(x, copy=True)|np.asanyarray(x)
np.ascontiguousarray(x)|np.asfortranarray(x)|np.asarray(x, order="F")|np.array(x, copy=None, ndmin=3)|np.require(x)|np.require(x, requirements="F")|np.ravel(x)|x.ravel()
x.ravel("F")|x.ravel("A")|x.flatten()|x.flatten("F")|x.flatten("A")|x.reshape(-1)|np.reshape(x, -1)|x.reshape(-1, order="F")|x.reshape(-1, order="A")|np.squeeze(x)|np.squeeze(x[None])
x.T|np.transpose(x)|x.swapaxes(0, -1)|np.moveaxis(x, 0, -1)|np.rollaxis(x, -1)|x.view()|x[...]|np.atleast_1d(x)|np.atleast_3d(x)|np.expand_dims(x, 0)|np.flip(x)|np.rot90(x)
np.rot90(x, 2)|np.split(x, 1)[0]|np.hsplit(x, 1)[0]|np.array_split(x, 2)[0]|np.nan_to_num(x)|np.nan_to_num(x, copy=False)|np.nan_to_num(x, False)|np.positive(x)|+x
np.real_if_close(x)|np.copy(x)|x.copy()|x.clip(-9, 9)|x.round()|np.abs(x)|np.unstack(x)[0]|np.matrix_transpose(x)|x.mT|np.permute_dims(x)|np.sort(x)|np.tril(x, 9)|np.take(x, [0, 1], 0)
np.where(True, x, x)|np.roll(x, 0)|np.repeat(x, 1)|np.tile(x, 1)|np.resize(x, x.shape)|np.concatenate([x])|np.fix(x)|np.unwrap(x)|np.trim_zeros(x[0])|np.pad(x, 0)|np.einsum("ij->ji", x)
np.einsum("ij", x)|np.block([x])|np.select([x < 99], [x])|np.cumsum(x)|np.max(x, axis=())|np.zeros_like(x).ravel()"""
LAID_OUT = {"by rows": lambda x: x * 1.0, "by columns": lambda x: (x * 1.0).T, "strided": lambda x: (x * 1.0)[:, ::2], "an argument": lambda x: x}


@pytest.mark.parametrize("expression", ALIASES.replace("\n", "|").split("|"))
@pytest.mark.filterwarnings("ignore")
def test_what_numpy_has_as_a_view_is_one_and_a_copy_is_one(expression):
    """Written to, it changes the array, or does not, as NumPy's does: of arrays that lie in memory in each way."""
    x = np.arange(1.0, 17.0).reshape(4, 4)
    for made in LAID_OUT.values():

        def f(given):
            x = made(given)
            part = eval(expression, {"np": np, "x": x})
            values = part * 1.0
            part[...] = 99.0
            return x * 1.0, values

        for got, wanted in zip(td.record(f, x)(x.copy()), f(x.copy())):
            assert np.array_equal(got, wanted)


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_arrays_like_another_lie_in_memory_as_numpys(order):
    """On which it depends whether np.ravel is a view of them."""
    x = np.arange(1.0, 7.0).reshape(2, 3)
    for like in (np.zeros_like, np.ones_like, lambda a, order: np.full_like(a, 2.0, order=order), lambda a, order: np.full_like(a, a[0, 0], order=order)):

        def f(x):
            made = like(x.T, order=order)
            np.ravel(made)[...] = 5.0
            return made * x[0, 0]

        assert np.array_equal(td.record(f, x)(x), f(x))
