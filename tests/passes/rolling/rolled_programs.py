"""Programs with Python loops, by name, with at most how many instructions they become and which ops are among these."""

import numpy as np

import tapediff as td
from tests.passes.rolling.both_ways import K, N, Y

CASES = {}


def rolls(instructions, *ops):
    """Add a function to the table: its value becomes at most so many instructions, with these ops among them."""

    def add(f):
        CASES[f.__name__.replace("_", " ")] = f, instructions, ops
        return f

    return add


# Independent iterations


@rolls(12, "sum")
def a_running_sum(x):
    total = 0.0
    for i in range(N):
        total = total + np.sin(x[i]) * 2.0
    return total


@rolls(20, "sum")
def rosenbrock(x):
    total = 0.0
    for i in range(N - 1):
        total = total + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


@rolls(16, "sum")
def every_second_and_third(x):
    total = 0.0
    for i in range(13):
        total = total + x[2 * i] * np.cos(x[3 * i + 1]) - np.exp(x[5]) * x[i]
    return total


@rolls(16, "gather")
def irregular_positions(x):
    total = 0.0
    for i in range(N):
        total = total + x[K[i]] * np.sqrt(x[i])
    return total


@rolls(20, "sum")
def groups(x):
    effects = 1.0 + 0.1 * x[:11]
    total = 0.0
    for i in range(N):
        total = total + (Y[i] - effects[K[i]]) ** 2 * np.exp(x[11])
    return total


@rolls(40, "sum")
def first_and_last_are_different(x):
    total = 0.0
    for i in range(N):
        left = x[i - 1] if i > 0 else 2.0 * x[0]
        right = x[i + 1] if i < N - 1 else np.exp(x[N - 1])
        total = total + (left - 2.0 * x[i] + right) ** 2
    return total


@rolls(30, "sum")
def a_ring(x):
    total = 0.0
    for i in range(N):
        total = total + (x[(i + 1) % N] - x[i] * x[i - 1]) ** 2
    return total


@rolls(20, "sum")
def several_sums(x):
    first = second = third = x[0]
    for i in range(N):
        v = np.log(x[i])
        first = first + v
        second = second - v * v
        third = v * x[0] + third
    return first * second + third


@rolls(16, "sum")
def a_list_that_is_stacked(x):
    values = []
    for i in range(N):
        values.append(np.exp(-x[i]) * Y[i])
    stacked = np.stack(values)
    return np.sum(stacked * stacked) + stacked[3]


@rolls(24, "sum")
def what_one_loop_makes_another_reads(x):
    values = [np.exp(-x[i]) for i in range(N)]
    products = [values[i] * values[i - 1] for i in range(1, N)]
    return sum(products[i] * Y[i] for i in range(N - 1)) + values[0] * products[-1]


@rolls(12, "multiply")
def an_array_that_is_filled(x):
    y = td.zeros(N)
    for i in range(N):
        y[i] = np.sin(x[i]) * x[0]
    return np.sum(y * y)


# Iterations that depend on each other


@rolls(12, "loop")
def a_recurrence(x):
    c = 0.0
    for i in range(N):
        c = 0.9 * c + x[i]
    return c


@rolls(14, "loop")
def two_iterations_back(x):
    before, now = x[0], x[1]
    for i in range(2, N):
        before, now = now, 0.5 * now - 0.3 * before + np.sin(x[i])
    return now * before


@rolls(24, "loop")
def coupled(x):
    u, v = x[0], x[1]
    for i in range(N):
        u, v = u + 0.1 * (v - u * u) + 0.01 * x[i], v - 0.1 * u * v
    return u * v


@rolls(30, "loop", "sum")
def a_recurrence_between_arrays(x):
    h, total = x[0], 0.0
    for i in range(N):
        h = 0.5 * h + np.exp(-x[i]) * Y[i]
        total = total + np.exp(-h) * x[i]
    return total


@rolls(20, "loop")
def the_largest_so_far(x):
    largest = x[0]
    for i in range(1, N):
        largest = np.maximum(largest * 0.99, np.sin(3.0 * x[i]))
    return largest


# Small arrays


@rolls(40, "matmul")
def independent_matrices(x):
    a = np.reshape(x, (N // 4, 2, 2))
    total = 0.0
    for i in range(N // 4):
        total = total + np.sum((a[i] @ a[i].T) ** 2) + a[i][0, 1] * np.max(a[i])
    return total


@rolls(40, "sum")
def rows(x):
    a = np.reshape(x, (20, 2))
    total = np.zeros(2)
    for i in range(1, 20):
        total = total + np.exp(-a[i] * a[i - 1]) + a[i, ::-1]
    return np.sum(total**2)


@rolls(40, "sum")
def windows(x):
    total = 0.0
    for i in range(3, N):
        total = total + np.sum(x[i - 3 : i] * Y[:3]) ** 2 + np.cumsum(x[i - 3 : i])[1]
    return total


@rolls(40, "cholesky")
def factorisations(x):
    total = 0.0
    for i in range(12):
        m = np.eye(2) * (2.0 + x[i] ** 2) + 0.1 * x[i + 1]
        total = total + np.sum(np.linalg.cholesky(m) ** 2) * x[0]
    return total


# Loops in loops


@rolls(40, "sum")
def a_table(x):
    total = 0.0
    for i in range(20):
        for j in range(12):
            total = total + np.sin(x[i] * x[20 + j])
    return total


@rolls(60, "sum")
def a_double_loop(x):
    total = 0.0
    for i in range(20):
        inner = 0.0
        for j in range(20):
            inner = inner + np.exp(-x[i] * x[20 + j]) * Y[j]
        total = total + np.tanh(inner) ** 2 * x[i]
    return total


# Sub-tapes


@td.subtape
def bent(v, w):
    if v > 1.5:
        return v * w
    return w - v * v


@rolls(30, "sum")
def calls_of_independent_iterations(x):
    total = 0.0
    for i in range(N):
        total = total + np.exp(-bent(x[i], x[0]))
    return total
