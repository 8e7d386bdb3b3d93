"""The parameters of a td.Posterior: the constraint, and the shape or the names of the dimensions.

```python
post = td.Posterior(log_density, tau=td.params.positive(), weights=td.params.simplex(3), L=td.params.cholesky_corr(4))
```

docs/posteriors.md has their transforms. The same names are at the top level of the package: td.positive is td.params.positive.
"""

from __future__ import annotations

from .posterior.parameters import (
    cholesky_corr,
    corr_matrix,
    cov_matrix,
    interval,
    lower,
    ordered,
    positive,
    positive_ordered,
    real,
    simplex,
    unit_vector,
    upper,
    zero_sum,
)

__all__ = [
    "cholesky_corr", "corr_matrix", "cov_matrix", "interval", "lower", "ordered", "positive", "positive_ordered", "real", "simplex",
    "unit_vector", "upper", "zero_sum",
]  # fmt: skip
