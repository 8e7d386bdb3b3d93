"""scipy.signal's linear filters inside recordings."""

import numpy as np
import pytest
import scipy.signal as sg
from scipy.signal import lfilter
from scipy_functions.test_ndimage import ROW, TABLE, assert_linear
from support.differences import assert_agrees, assert_second_derivatives_agree

import tapediff as td


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("k", [1, 2, 3, 9, 12])
def test_convolutions_of_every_length_and_mode(mode, k):
    y = np.sin(1.0 + np.arange(k))
    for combine in (sg.convolve, sg.correlate, sg.fftconvolve):
        assert_linear(lambda x, combine=combine: combine(x, y, mode), ROW)
        assert_linear(lambda x, combine=combine: combine(y, x, mode), ROW)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_of_tables(mode):
    weights = np.arange(6.0).reshape(3, 2) - 2.0
    for combine in (sg.convolve, sg.correlate, sg.fftconvolve):
        assert_linear(lambda x, combine=combine: combine(x, weights, mode), TABLE)
        assert_agrees(lambda x, combine=combine: np.sum(np.sin(combine(x, x[:2, :2], mode))), TABLE, 0.5 * TABLE)
    assert_linear(lambda x: sg.fftconvolve(x, np.ones((7, 3)), mode, axes=1), TABLE)
    assert_linear(lambda x: sg.convolve(x, np.sin(np.arange(150.0)), mode, method="direct"), np.cos(np.arange(300.0)))


FILTERS = [
    ([1.0, 0.5], [1.0, -0.3]), ([1.0, 0.5, 0.2], [2.0, 0.3]), ([0.3], [1.0, -0.5, 0.2]), ([1.0, 2.0, 3.0], [1.0]), ([2.0], [4.0]),
    ([1.0, 0.2], [1.0, 0.1, 0.2, 0.3]),
]  # fmt: skip


@pytest.mark.parametrize(("b", "a"), FILTERS)
def test_filters_with_and_without_feedback(b, a):
    order = max(len(a), len(b)) - 1
    assert_linear(lambda x: lfilter(b, a, x), ROW)
    assert_linear(lambda x: lfilter(b, a, x, axis=0), TABLE)
    for part in (0, 1) if order else ():
        assert_linear(lambda x, part=part: lfilter(b, a, x, zi=np.arange(order) + 1.0)[part], ROW)
        assert_linear(lambda x, part=part: lfilter(b, a, x, axis=0, zi=np.ones((order, 6)))[part], TABLE)


def test_coefficients_and_states_may_be_tracked():
    f = lambda p: np.sum(lfilter(p[:2], [2.0 + p[2], p[3]], ROW, zi=p[4:])[0] ** 2)
    assert_agrees(f, [1.0, 0.5, 0.1, 0.3, 0.2], [0.3, -0.5, 0.5, -0.3, 1.2])
    assert_second_derivatives_agree(f, [1.0, 0.5, 0.1, 0.3, 0.2])


@pytest.mark.parametrize("mode", ["mirror", "constant", "nearest", "interp", "wrap"])
@pytest.mark.parametrize(("window", "order", "derivative"), [(5, 2, 0), (7, 3, 2), (4, 1, 0), (9, 3, 1)])
def test_savitzky_golay(mode, window, order, derivative):
    """SciPy 1.15 has even windows, too."""
    assert_linear(lambda x: sg.savgol_filter(x, window, order, derivative, 0.5, mode=mode, cval=0.3), ROW)
    if window <= 7:
        assert_linear(lambda x: sg.savgol_filter(x, window, order, axis=0, mode=mode), TABLE)


@pytest.mark.parametrize("kind", ["linear", "constant"])
def test_trends_are_removed_and_the_argument_stays(kind):
    assert_linear(lambda x: sg.detrend(x, type=kind), ROW)
    assert_linear(lambda x: sg.detrend(x, axis=0, type=kind), TABLE)
    assert_linear(lambda x: sg.detrend(x, type=kind, bp=[3, 8]), ROW)


def test_scipys_errors_are_kept():
    for call in (
        lambda x: sg.convolve(x, np.ones((2, 2))), lambda x: sg.convolve(x, np.ones(2), "some"), lambda x: sg.savgol_filter(x, 11, 2),
        lambda x: sg.detrend(x, bp=[20]), lambda x: sg.detrend(x, type="cubic"), lambda x: sg.fftconvolve(x, np.ones((2, 2))),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            call(ROW)
        with pytest.raises(ValueError):
            td.record(call, ROW)
    table = np.ones((2, 9))
    with pytest.raises(ValueError, match="valid"):
        td.record(lambda x: sg.convolve(x, table, "valid"), TABLE)


def test_complex_arguments_are_refused():
    with pytest.raises(td.DtypeMismatch, match=r"scipy\.signal\.convolve"):
        td.record(lambda x: sg.convolve(x, np.ones(2) * 1j), ROW)


def test_a_filter_whose_first_coefficient_is_zero_is_refused():
    with pytest.raises(ValueError, match="divides by, is 0"):
        td.record(lambda x: lfilter([1.0], [0.0, 1.0], x), ROW)
