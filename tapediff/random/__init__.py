"""Random draws from a key that is an argument: fresh at every replay, reparameterised, so that gradients reach the parameters.

Comes in: a key, shapes, plain or tracked parameters. Goes out: draws, plain or tracked. The same key gives the same draws everywhere.
Open first: `keys.py`, then `continuous.py`.
"""

from typing import NoReturn

from ..numpy_api.alternatives import missing_name
from .continuous import (
    beta,
    cauchy,
    chi2,
    dirichlet,
    exponential,
    gamma,
    gumbel,
    laplace,
    logistic,
    multivariate_normal,
    normal,
    student_t,
    truncated_normal,
    uniform,
)  # fmt: skip
from .discrete import bernoulli, categorical, choice, permutation, randint
from .keys import fold_in, key, split

__all__ = [
    "bernoulli", "beta", "categorical", "cauchy", "chi2", "choice", "dirichlet", "exponential", "fold_in", "gamma", "gumbel", "key",
    "laplace", "logistic", "multivariate_normal", "normal", "permutation", "randint", "split", "student_t", "truncated_normal", "uniform",
]  # fmt: skip


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise missing_name(__name__, name, __all__)
