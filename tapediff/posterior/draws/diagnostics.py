"""Effective sample sizes, R-hat and errors of estimates, from arrays of chains.

Source: Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), Bayesian Analysis 16(2): rank-normalised split R-hat, bulk and tail
effective sample sizes; Geyer (1992), Statistical Science 7(4): the truncation of autocorrelations.

All functions take arrays of shape (chains, draws, entries) and return one number for each entry: NaN if there are fewer than 4 draws of a
chain, or a draw is not finite.
"""

from __future__ import annotations

from importlib import import_module

import numpy as np

from ..transforms import Array

FEWEST = 4
TAILS = (0.05, 0.95)


def bulk_size(x: Array) -> Array:
    """The effective sample size of the rank-normalised draws: for the centre of the distribution."""
    return _size(_normalised(_halves(x)), x)


def tail_size(x: Array) -> Array:
    """The smaller effective sample size of the 5 % and 95 % quantiles."""
    parts = [_size(_halves((x <= np.quantile(x, tail, axis=(0, 1))).astype(float)), x) for tail in TAILS]
    return np.minimum(*parts)


def mean_size(x: Array) -> Array:
    """The effective sample size of the mean."""
    return _size(_halves(x), x)


def mean_error(x: Array) -> Array:
    """The Monte Carlo standard error of the mean."""
    return np.std(x, axis=(0, 1), ddof=1) / np.sqrt(mean_size(x))


@np.errstate(invalid="ignore", divide="ignore")
def sd_error(x: Array) -> Array:
    """The Monte Carlo standard error of the standard deviation, by the error of the mean of squares."""
    squares = (x - np.mean(x, axis=(0, 1))) ** 2
    variance = np.mean(squares, axis=(0, 1))
    error = (np.mean(squares**2, axis=(0, 1)) - variance**2) / mean_size(squares)
    return np.sqrt(error / variance / 4.0)


def r_hat(x: Array) -> Array:
    """The larger R-hat of the split chains, rank-normalised: of the draws, and of their distances from the median. NaN for one chain."""
    if len(x) < 2 or x.shape[1] < FEWEST:
        return np.full(x.shape[2], np.nan)
    halves = _halves(x)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return _known(np.maximum(_scale_reduction(_normalised(halves)), _scale_reduction(_normalised(folded))), x)


@np.errstate(invalid="ignore", divide="ignore")
def _scale_reduction(x: Array) -> Array:
    within = np.mean(np.var(x, axis=1, ddof=1), axis=0)
    between = np.var(np.mean(x, axis=1), axis=0, ddof=1)
    return np.sqrt((x.shape[1] - 1) / x.shape[1] + between / within)


def _halves(x: Array) -> Array:
    """Each chain as two; the draw in the middle is left out if their number is odd."""
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, x.shape[1] - half :]])


def _normalised(x: Array) -> Array:
    """Normal scores of the ranks, equal values with their average rank (Blom's offset)."""
    rows = x.reshape(-1, x.shape[2])
    ranks = import_module("scipy.stats").rankdata(rows, axis=0)
    return import_module("scipy.special").ndtri((ranks - 0.375) / (len(rows) + 0.25)).reshape(x.shape)


def _known(found: Array, x: Array) -> Array:
    """NaN in place of what too few draws, or draws that are not finite, cannot tell."""
    usable = np.all(np.isfinite(x), axis=(0, 1)) & (x.shape[1] >= FEWEST)
    return np.where(usable, found, np.nan)


@np.errstate(invalid="ignore", divide="ignore")
def _size(x: Array, given: Array) -> Array:
    """The effective sample size of chains: their number of draws over the integrated autocorrelation time."""
    if given.shape[1] < FEWEST:
        return np.full(given.shape[2], np.nan)
    chains, draws, _ = x.shape
    covariance = _autocovariance(x)
    within = covariance[0] * draws / (draws - 1.0)
    total = covariance[0] + (np.var(np.mean(x, axis=1), axis=0, ddof=1) if chains > 1 else 0.0)
    correlation = 1.0 - (within - covariance) / total
    correlation[0] = 1.0
    # Sums of neighbours are positive and decrease, in theory: they end at the first that is not, and before the last lags.
    last = max(1, (draws - 2) // 2 + draws % 2)
    pairs = correlation[0 : 2 * last : 2] + correlation[1 : 2 * last : 2]
    ends = np.where(np.any(pairs <= 0.0, axis=0), np.argmax(pairs <= 0.0, axis=0), last - 1)
    kept = np.arange(last)[:, None] < ends
    after = np.take_along_axis(correlation, 2 * ends[None], axis=0)[0]
    time = -1.0 + 2.0 * np.sum(np.where(kept, np.minimum.accumulate(pairs, axis=0), 0.0), axis=0) + np.maximum(after, 0.0)
    found = chains * draws / np.maximum(time, 1.0 / np.log10(chains * draws))
    constant = np.ptp(x, axis=(0, 1)) < np.finfo(float).resolution
    return _known(np.where(constant, chains * draws, found), given)


def _autocovariance(x: Array) -> Array:
    """The mean over chains of their autocovariances at all lags, by Fourier transforms."""
    draws = x.shape[1]
    transform = np.fft.rfft(x - np.mean(x, axis=1, keepdims=True), n=2 * draws, axis=1)
    return np.mean(np.fft.irfft(np.abs(transform) ** 2, n=2 * draws, axis=1)[:, :draws], axis=0) / draws
