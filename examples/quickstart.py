"""The README's quickstart: record and compile a plain NumPy function; then one with an `if` in it."""

import numpy as np

import tapediff as td

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 3))
y = (rng.uniform(size=500) < 1 / (1 + np.exp(-X @ [1.0, -2.0, 0.5]))).astype(float)


def log_density(beta):  # a logistic regression, in plain NumPy
    logits = X @ beta
    return np.sum(y * logits - np.logaddexp(0.0, logits)) - 0.5 * np.sum(beta**2)


tape = td.record(log_density, np.zeros(3))  # runs log_density once, on tracked arrays
fast = td.compile(tape)  # one native kernel, value and gradient together

beta = np.zeros(3)
for _ in range(200):
    value, gradient = td.value_and_gradient(fast, beta)
    beta = beta + 0.01 * gradient
print("the most probable coefficients:", beta.round(3), "where the gradient is", np.abs(gradient).max().round(9))


def loss(x):  # an ordinary if: quadratic inside the unit ball, linear outside it
    radius = np.sqrt(np.sum(x**2))
    if radius < 1.0:
        return 0.5 * radius**2
    return radius - 0.5


inside, outside = np.array([0.3, 0.4]), np.array([3.0, 4.0])

safe = td.GuardedTape(loss)  # one compiled tape for each path that Python takes
print(td.gradient(safe, inside), td.gradient(safe, outside))
print(safe.explain())

only_inside = td.compile(loss, inside)
try:
    td.gradient(only_inside, outside)
except td.GuardFailed as refusal:  # this tape has the other branch only
    print("GuardFailed:", refusal)
