"""The quickstart of the README: a robust regression whose loss is a loop with an `if`."""

import numpy as np
from scipy.optimize import minimize

import tapediff as td

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 3))
y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=100)
y[::20] += 5.0  # outliers


def loss(beta):  # squares of small residuals, large ones count less
    total = 0.0
    for r in y - X @ beta:
        if abs(r) < 0.5:
            total += r**2
        else:
            total += abs(r) - 0.25
    return total


safe = td.GuardedTape(loss)  # follows every branch, in one kernel
fit = minimize(safe.value_and_gradient, np.zeros(3), jac=True)
print("coefficients:", fit.x.round(2))
print(safe.explain())

one_path = td.compile(loss, np.zeros(3))  # one path, as a single kernel
try:
    td.gradient(one_path, fit.x)
except td.GuardFailed as refusal:  # never the gradient of another branch
    print("GuardFailed:", refusal)
