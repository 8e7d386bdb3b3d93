"""Draws with a derivative in their parameters: smooth functions of uniform numbers that do not depend on the parameters."""

from __future__ import annotations

import numpy as np

from .. import special
from ..ir.instruction import Operand
from .keys import Shape, drawn_shape, parameter, unit

# Replaces infinite bounds of a truncated normal, in standard deviations: the probability beyond is 0.
INFINITE = 1e10


def uniform(key: Operand, shape: Shape = (), low: Operand = 0.0, high: Operand = 1.0) -> Operand:
    """Uniform in (low, high).

    Args:
        key: td.random.key(seed), plain or tracked.
        shape: of the result; the parameters are broadcast to it.
        low, high: floats or arrays, which may be tracked.
    """
    low, high = parameter(low), parameter(high)
    return low + (high - low) * unit(key, drawn_shape("uniform", shape, low, high))


def normal(key: Operand, shape: Shape = (), loc: Operand = 0.0, scale: Operand = 1.0) -> Operand:
    """Normal of mean loc and standard deviation scale; arguments as of td.random.uniform.

    Source: Box and Muller (1958), Ann. Math. Stat. 29, one of the pair for each entry.
    """
    loc, scale = parameter(loc), parameter(scale)
    return loc + scale * _standard_normal(key, drawn_shape("normal", shape, loc, scale))


def _standard_normal(key: Operand, shape: Shape, stream: int = 0) -> Operand:
    radius = np.sqrt(-2.0 * np.log(unit(key, shape, stream)))
    return radius * np.cos(2.0 * np.pi * unit(key, shape, stream + 1))


def exponential(key: Operand, shape: Shape = (), scale: Operand = 1.0) -> Operand:
    """Exponential of mean scale."""
    scale = parameter(scale)
    return -scale * np.log(unit(key, drawn_shape("exponential", shape, scale)))


def laplace(key: Operand, shape: Shape = (), loc: Operand = 0.0, scale: Operand = 1.0) -> Operand:
    """Laplace, of density exp(-|x - loc| / scale) / (2 scale)."""
    loc, scale = parameter(loc), parameter(scale)
    centered = unit(key, drawn_shape("laplace", shape, loc, scale)) - 0.5
    return loc - scale * np.sign(centered) * np.log1p(-2.0 * np.abs(centered))


def logistic(key: Operand, shape: Shape = (), loc: Operand = 0.0, scale: Operand = 1.0) -> Operand:
    """Logistic, of distribution function 1 / (1 + exp((loc - x) / scale))."""
    loc, scale = parameter(loc), parameter(scale)
    return loc + scale * special.logit(unit(key, drawn_shape("logistic", shape, loc, scale)))


def gumbel(key: Operand, shape: Shape = (), loc: Operand = 0.0, scale: Operand = 1.0) -> Operand:
    """Gumbel of the largest of many, of distribution function exp(-exp((loc - x) / scale))."""
    loc, scale = parameter(loc), parameter(scale)
    return loc - scale * np.log(-np.log(unit(key, drawn_shape("gumbel", shape, loc, scale))))


def cauchy(key: Operand, shape: Shape = (), loc: Operand = 0.0, scale: Operand = 1.0) -> Operand:
    """Cauchy of median loc and half width scale."""
    loc, scale = parameter(loc), parameter(scale)
    return loc + scale * np.tan(np.pi * (unit(key, drawn_shape("cauchy", shape, loc, scale)) - 0.5))


def gamma(key: Operand, a: Operand, shape: Shape | None = None, scale: Operand = 1.0) -> Operand:
    """Gamma of shape a, of mean a scale: the inverse of its distribution function at a uniform number.

    Args:
        key: td.random.key(seed), plain or tracked.
        a, scale: positive floats or arrays, which may be tracked.
        shape: of the result; that of the parameters unless given.

    Cost: about 1 µs an entry; the derivative in a is an integral of 88 terms. For a below 0.02, draws may be 0, as their logarithm
        is below what floats hold.
    """
    a, scale = parameter(a), parameter(scale)
    return _gamma(key, a, drawn_shape("gamma", shape, a, scale)) * scale


def _gamma(key: Operand, a: Operand, shape: tuple[int, ...], stream: int = 0) -> Operand:
    return special.gammaincinv(a, unit(key, shape, stream))


def chi2(key: Operand, df: Operand, shape: Shape | None = None) -> Operand:
    """Chi-squared of df degrees of freedom; arguments and cost as of td.random.gamma."""
    df = parameter(df)
    return 2.0 * _gamma(key, 0.5 * df, drawn_shape("chi2", shape, df))


def beta(key: Operand, a: Operand, b: Operand, shape: Shape | None = None) -> Operand:
    """Beta of shapes a and b; arguments as of td.random.gamma; about 3 µs an entry."""
    a, b = parameter(a), parameter(b)
    return special.betaincinv(a, b, unit(key, drawn_shape("beta", shape, a, b)))


def student_t(key: Operand, df: Operand, shape: Shape | None = None, loc: Operand = 0.0, scale: Operand = 1.0) -> Operand:
    """Student's t of df degrees of freedom; arguments and cost as of td.random.gamma."""
    df, loc, scale = parameter(df), parameter(loc), parameter(scale)
    shape = drawn_shape("student_t", shape, df, loc, scale)
    variance = 2.0 * _gamma(key, 0.5 * df, shape, stream=2) / df
    return loc + scale * _standard_normal(key, shape) / np.sqrt(variance)


def dirichlet(key: Operand, alpha: Operand, shape: Shape | None = None) -> Operand:
    """Dirichlet: gammas of shapes alpha over their sum, along the last axis.

    Args:
        key: td.random.key(seed), plain or tracked.
        alpha: positive, shape (..., k); may be tracked.
        shape: of the result, including its last axis; that of alpha unless given.
    """
    alpha = parameter(alpha)
    draws = _gamma(key, alpha, drawn_shape("dirichlet", shape, alpha))
    return draws / np.sum(draws, axis=-1, keepdims=True)


def multivariate_normal(key: Operand, mean: Operand, cov: Operand, shape: Shape | None = None) -> Operand:
    """Normal of a mean of shape (k,) and a covariance matrix of shape (k, k), through its Cholesky factor.

    Args:
        key: td.random.key(seed), plain or tracked.
        mean, cov: arrays, which may be tracked.
        shape: of the result, including its last axis of length k; (k,) unless given.

    Raises:
        numpy.linalg.LinAlgError: the covariance is not positive definite.
    """
    mean, cov = parameter(mean), parameter(cov)
    shape = drawn_shape("multivariate_normal", shape, mean)
    return mean + _standard_normal(key, shape) @ np.transpose(np.linalg.cholesky(cov))


def truncated_normal(
    key: Operand, lower: Operand, upper: Operand, shape: Shape | None = None, loc: Operand = 0.0, scale: Operand = 1.0
) -> Operand:
    """Normal of mean loc and standard deviation scale, truncated to lower < x < upper; accurate in the far tails too.

    Args:
        key: td.random.key(seed), plain or tracked.
        lower, upper: bounds of the draws, which may be infinite; with lower < upper.
        loc, scale: of the normal before truncation; all four may be tracked.
        shape: of the result; that of the parameters unless given.
    """
    lower, upper, loc, scale = parameter(lower), parameter(upper), parameter(loc), parameter(scale)
    shape = drawn_shape("truncated_normal", shape, lower, upper, loc, scale)
    low, high = _standardised(lower, loc, scale), _standardised(upper, loc, scale)
    # In the lower tail logarithms of probabilities are accurate, so an interval above 0 is mirrored.
    sign = np.where(low > 0.0, -1.0, 1.0)
    low, high = np.where(low > 0.0, -high, low), np.where(low > 0.0, -low, high)
    drawn = unit(key, shape)
    log_p = np.logaddexp(np.log1p(-drawn) + special.log_ndtr(low), np.log(drawn) + special.log_ndtr(high))
    return loc + scale * (sign * np.clip(special.ndtri_exp(log_p), low, high))


def _standardised(bound: Operand, loc: Operand, scale: Operand) -> Operand:
    is_infinite = np.isinf(bound)
    finite = (np.where(is_infinite, 0.0, bound) - loc) / scale
    return np.where(is_infinite, np.where(bound > 0.0, INFINITE, -INFINITE), finite)
