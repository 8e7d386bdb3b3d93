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


@rolls(14, "sum")
def constants_of_each_iteration(x):
    total = x[0]
    for i in range(N):
        total = total - Y[i] * np.exp(-x[i]) / (i + 1.0)
    return total


@rolls(14, "sum")
def backwards(x):
    total = 0.0
    for i in range(N - 1, 0, -1):
        total = total + x[i] * np.cos(x[i - 1])
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


@rolls(14, "sum")
def two_arrays(x):
    u, v = x[: N // 2] * 2.0, np.exp(x[N // 2 :])
    total = 0.0
    for i in range(N // 2):
        total = total + u[i] * v[i] + u[i] / v[i]
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
def sums_of_even_and_odd_entries(x):
    sums = [0.0, 0.0]
    for i in range(N):
        sums[i % 2] = sums[i % 2] + np.exp(x[i]) * 0.5
    return sums[0] * sums[1]


@rolls(20, "sum")
def several_sums(x):
    first = second = third = x[0]
    for i in range(N):
        v = np.log(x[i])
        first = first + v
        second = second - v * v
        third = v * x[0] + third
    return first * second + third


@rolls(20, "cumsum")
def partial_sums_that_are_read_later(x):
    total, kept = x[0], []
    for i in range(N):
        total = total + np.sin(x[i])
        kept.append(total)
    return kept[3] * kept[17] + np.stack(kept) @ Y + total


@rolls(16, "sum")
def a_list_that_is_stacked(x):
    values = []
    for i in range(N):
        values.append(np.exp(-x[i]) * Y[i])
    stacked = np.stack(values)
    return np.sum(stacked * stacked) + stacked[3]


@rolls(14, "sum")
def sum_of_a_generator(x):
    return sum(np.exp(-x[i]) * (x[i] - Y[i]) ** 2 for i in range(N))


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


@rolls(40, "assemble")
def columns_that_are_filled(x):
    y = td.zeros((N, 3))
    for i in range(N):
        y[i, 0] = np.sin(x[i])
        y[i, 2] = x[i] * x[i - 1] if i else x[0]
    return np.sum(y**2 * np.arange(3.0))


@rolls(20, "sum")
def the_same_at_every_iteration(x):
    total = 0.0
    for i in range(N):
        total = total + np.exp(x[0]) * np.sin(x[1]) * x[i]
    return total


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


@rolls(30, "loop")
def two_recurrences_one_after_the_other(x):
    h, c = x[0], x[1]
    for i in range(N):
        h = 0.5 * h + x[i]
        c = 0.3 * c + np.tanh(h)
    return c * h


@rolls(20, "loop")
def a_recurrence_that_is_kept(x):
    y = td.zeros(N)
    for i in range(N):
        y[i] = 0.5 * y[i - 1] + x[i] if i else x[0]
    return np.sum(y * y * Y)


@rolls(24, "loop")
def three_entries_back(x):
    y = td.zeros(N)
    y[:3] = x[:3]
    for i in range(3, N):
        y[i] = 0.4 * y[i - 1] - 0.2 * y[i - 3] + x[i] * Y[i]
    return np.sum(y**2)


@rolls(20, "loop")
def a_product(x):
    p = 1.0
    for i in range(N):
        p = p * (0.5 + 0.5 * np.sqrt(x[i]))
    return p


@rolls(20, "loop")
def the_largest_so_far(x):
    largest = x[0]
    for i in range(1, N):
        largest = np.maximum(largest * 0.99, np.sin(3.0 * x[i]))
    return largest


@rolls(30, "loop")
def a_counter_in_the_state(x):
    c, t = x[0], 0.0
    for i in range(N):
        t = t + 0.1
        c = c + 0.1 * np.sin(t * x[i]) * c
    return c


@rolls(30, "loop")
def a_running_sum_that_is_read(x):
    total = x[0]
    for i in range(N):
        total = total + np.tanh(total) * x[i]
    return total


# Small arrays


@rolls(40, "loop", "matmul")
def a_filter(x):
    a = np.reshape(x[:16], (4, 4)) / 8.0
    state, total = x[16:20], 0.0
    for i in range(20):
        state = np.tanh(a @ state) + Y[i] * x[20 + i]
        total = total + np.log(np.sum(state**2) + 1.0)
    return total


@rolls(40, "loop")
def a_filter_in_logs(x):
    log_a, state = np.reshape(x[:4], (2, 2)), x[4:6]
    emission = np.stack([x, x**2], axis=1)
    for t in range(N):
        paths = state[:, None] + log_a
        state = emission[t] + np.logaddexp(paths[0], paths[1]) - 3.0
    return state[0] - state[1] * 0.5


@rolls(40, "loop")
def an_equation_of_motion(x):
    y = np.stack([x[0], x[1]])

    def slope(y):
        return np.stack([y[1], -x[2] * y[0] - 0.1 * y[1]])

    for _ in range(12):
        k = slope(y)
        y = y + 0.05 * slope(y + 0.025 * k)
    return np.sum(y**2)


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


@rolls(60, "sum")
def a_matrix_by_entries(x):
    a = np.reshape(x, (8, 5))
    total = 0.0
    for i in range(1, 8):
        for j in range(1, 5):
            total = total + (a[i, j] - a[i - 1, j] * a[i, j - 1]) ** 2
    return total


@rolls(60, "loop")
def steps_between_observations(x):
    u, v, misfit = x[0], x[1], 0.0
    for k in range(10):
        for _ in range(12):
            u, v = u + 0.02 * (v - u * u), v - 0.02 * u * v * x[2]
        misfit = misfit + (u - Y[k]) ** 2
    return misfit


# Sub-tapes


@td.subtape
def bent(v, w):
    if v > 1.5:
        return v * w
    return w - v * v


@rolls(30, "loop")
def calls_in_a_loop(x):
    c = x[0]
    for i in range(N):
        c = 0.5 * bent(x[i], c) + 0.1 * np.sin(c)
    return c


@rolls(30, "sum")
def calls_of_independent_iterations(x):
    total = 0.0
    for i in range(N):
        total = total + np.exp(-bent(x[i], x[0]))
    return total
