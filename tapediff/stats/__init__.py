"""Log densities and distribution functions with scipy.stats' names, differentiable in the value and all parameters.

Comes in: tracked or plain arrays. Goes out: tracked or plain arrays; scipy.stats itself is never imported.
Open first: `distribution.py`, then `normal_family.py`.
"""

from .circular import vonmises, wrapcauchy
from .continuous import (
    beta,
    cauchy,
    chi2,
    expon,
    gamma,
    genpareto,
    gumbel_r,
    halfcauchy,
    invgamma,
    laplace,
    logistic,
    pareto,
    t,
    uniform,
    weibull_min,
)  # fmt: skip
from .discrete import bernoulli, betabinom, binom, categorical, geom, nbinom, poisson
from .multivariate import dirichlet, lkj, multinomial, multivariate_normal
from .normal_family import exponnorm, halfnorm, lognorm, norm, skewnorm, truncnorm

__all__ = [
    "bernoulli", "beta", "betabinom", "binom", "categorical", "cauchy", "chi2", "dirichlet", "expon", "exponnorm", "gamma",
    "genpareto", "geom", "gumbel_r", "halfcauchy", "halfnorm", "invgamma", "laplace", "lkj", "logistic", "lognorm", "multinomial",
    "multivariate_normal", "nbinom", "norm", "pareto", "poisson", "skewnorm", "t", "truncnorm", "uniform", "vonmises",
    "weibull_min", "wrapcauchy",
]  # fmt: skip
