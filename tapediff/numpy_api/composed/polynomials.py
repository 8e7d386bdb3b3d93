"""scipy.special's orthogonal polynomials of plain integer degrees, by their recurrences; differentiable in their parameters, too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...base.source_location import user_site
from ...errors import UnsupportedFunction
from ...ir.instruction import Operand, is_tracked

# step(k, p, q, ...): the polynomial of degree k from the two before it.
Step = Callable[[int, Operand, Operand], Operand]


def _degree(name: str, n: Operand) -> int:
    if is_tracked(n) or np.ndim(n) or n != int(n) or n < 0:
        raise UnsupportedFunction(
            f"scipy.special.{name} of a degree that is not a plain integer", at=user_site(3), got=repr(n),
            fix="use one number 0, 1, 2, ... for the degree, or its polynomials in a loop over degrees",
        )  # fmt: skip
    return int(n)


def _by_steps(n: int, zeroth: Operand, first: Operand, step: Step) -> Operand:
    before, value = zeroth, first
    if n == 0:
        return before
    for k in range(2, n + 1):
        before, value = value, step(k, value, before)
    return value


def chebyt(n: Operand, x: Operand) -> Operand:
    n = _degree("eval_chebyt", n)
    return _by_steps(n, 1.0 + 0.0 * x, x, lambda k, p, q: 2.0 * x * p - q)


def chebyu(n: Operand, x: Operand) -> Operand:
    n = _degree("eval_chebyu", n)
    return _by_steps(n, 1.0 + 0.0 * x, 2.0 * x, lambda k, p, q: 2.0 * x * p - q)


def legendre(n: Operand, x: Operand) -> Operand:
    n = _degree("eval_legendre", n)
    return _by_steps(n, 1.0 + 0.0 * x, x, lambda k, p, q: ((2 * k - 1) * x * p - (k - 1) * q) / k)


def hermite(n: Operand, x: Operand) -> Operand:
    n = _degree("eval_hermite", n)
    return _by_steps(n, 1.0 + 0.0 * x, 2.0 * x, lambda k, p, q: 2.0 * x * p - (2.0 * (k - 1)) * q)


def hermitenorm(n: Operand, x: Operand) -> Operand:
    n = _degree("eval_hermitenorm", n)
    return _by_steps(n, 1.0 + 0.0 * x, x, lambda k, p, q: x * p - float(k - 1) * q)


def genlaguerre(n: Operand, alpha: Operand, x: Operand) -> Operand:
    n = _degree("eval_genlaguerre", n)
    return _by_steps(n, 1.0 + 0.0 * (x + alpha), 1.0 + alpha - x, lambda k, p, q: ((2 * k - 1 + alpha - x) * p - (k - 1 + alpha) * q) / k)


def gegenbauer(n: Operand, alpha: Operand, x: Operand) -> Operand:
    n = _degree("eval_gegenbauer", n)
    step = lambda k, p, q: (2.0 * (k - 1 + alpha) * x * p - (k - 2 + 2.0 * alpha) * q) / k  # noqa: E731 -- the next line uses it
    return _by_steps(n, 1.0 + 0.0 * (x + alpha), 2.0 * alpha * x, step)


def jacobi(n: Operand, alpha: Operand, beta: Operand, x: Operand) -> Operand:
    n, total = _degree("eval_jacobi", n), alpha + beta

    def step(k: int, p: Operand, q: Operand) -> Operand:
        middle = 2 * k + total
        first = (middle - 1.0) * (middle * (middle - 2.0) * x + (alpha - beta) * total)
        second = 2.0 * (k - 1 + alpha) * (k - 1 + beta) * middle
        return (first * p - second * q) / (2.0 * k * (k + total) * (middle - 2.0))

    return _by_steps(n, 1.0 + 0.0 * (x + total), (alpha + 1.0) + 0.5 * (total + 2.0) * (x - 1.0), step)


def sh_jacobi(n: Operand, p: Operand, q: Operand, x: Operand) -> Operand:
    n = _degree("eval_sh_jacobi", n)
    ways = 1.0
    for k in range(n):  # the binomial coefficient of 2 n + p - 1 over n
        ways = ways * (n + p + k) / (k + 1)
    return jacobi(n, p - q, q - 1.0, 2.0 * x - 1.0) / ways


POLYNOMIALS: dict[str, Callable[..., Operand]] = {
    "eval_chebyt": chebyt, "eval_chebyu": chebyu, "eval_legendre": legendre, "eval_hermite": hermite, "eval_hermitenorm": hermitenorm,
    "eval_genlaguerre": genlaguerre, "eval_gegenbauer": gegenbauer, "eval_jacobi": jacobi, "eval_sh_jacobi": sh_jacobi,
    "eval_laguerre": lambda n, x: genlaguerre(n, 0.0, x), "eval_chebyc": lambda n, x: 2.0 * chebyt(n, 0.5 * x),
    "eval_chebys": lambda n, x: chebyu(n, 0.5 * x), "eval_sh_legendre": lambda n, x: legendre(n, 2.0 * x - 1.0),
    "eval_sh_chebyt": lambda n, x: chebyt(n, 2.0 * x - 1.0), "eval_sh_chebyu": lambda n, x: chebyu(n, 2.0 * x - 1.0),
}  # fmt: skip
