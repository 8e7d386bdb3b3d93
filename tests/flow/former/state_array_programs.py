"""Programs with long loops whose turns write to the same entries of an array again and again."""

from __future__ import annotations

import numpy as np

TURNS = 230
TIMES = np.sin(np.arange(TURNS) * 0.3)


def oscillator(p):
    x, total = np.array([1.0, 0.0]), 0.0
    for t in range(TURNS):
        force = -p[0] * x[0] - p[1] * x[1]
        x[0] = x[0] + 0.01 * x[1]
        x[1] = x[1] + 0.01 * force
        total += (TIMES[t] - x[0]) ** 2
    return total


def compartments(p):
    x, total = np.zeros(3), 0.0
    x[0] = 1.0
    for t in range(TURNS):
        flow, out = p[0] * x[0] * 0.1, p[1] * x[1] * 0.1
        x[0] -= flow
        x[1] += flow - out
        x[2] += out
        if x[0] < 0.5:
            x[0] += 0.01 * p[1]
        total += (TIMES[t] - x[1]) ** 2
    return total + x[2]


def slices(p):
    u, total = np.zeros(12), 0.0
    u[:] = p[1] * np.arange(12) * 0.1
    for t in range(TURNS):
        u[1:-1] = u[1:-1] + 0.2 * p[0] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u[0] = p[1] * TIMES[t]
        total += u[5] ** 2
    return total + np.sum(u)


def they_change_places(p):
    u, v = p[1] * np.arange(12) * 0.1, np.zeros(12)
    for _ in range(TURNS + 1):
        v[1:-1] = u[1:-1] + 0.2 * p[0] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        v[0], v[-1] = u[1], u[-2]
        u, v = v, u
    return np.sum(u**2) + v[3]


def three_change_places(p):
    u, v, w = p[1] * np.ones(6), np.zeros(6), np.ones(6)
    first = v
    for _ in range(TURNS):
        w[1:] = 0.9 * u[:-1] + 0.1 * p[0] * v[1:]
        w[0] = u[-1]
        u, v, w = w, u, v
    return np.sum(u**2) + v[3] + w[2] + np.sum(first * np.arange(6))


def other_names_before_and_after(p):
    x = np.zeros(4)
    x[0] = p[1]
    same, part = x, x[1:3]
    for t in range(TURNS):
        x[1] = 0.9 * x[1] + 0.1 * p[0] * TIMES[t] * x[0]
        x[2] = 0.8 * x[2] + x[1]
    return same[1] + np.sum(part**2) + np.sum(x)


def ends_early(p):
    x, total = np.zeros(2), 0.0
    for t in range(TURNS):
        x[0] = x[0] + 0.01 * p[0]
        x[1] = 0.5 * x[1] + x[0] * TIMES[t]
        if x[0] > 5.5 + p[1]:
            break
        total += x[1]
    return total + x[0]


def skips(p):
    x, total = np.zeros(2), 0.0
    for t in range(TURNS):
        x[0] = 0.9 * x[0] + 0.1 * p[0] * TIMES[t]
        if x[0] > 0.05:
            continue
        x[1] += p[1] * x[0]
        total += x[1]
    return total


def inner_loops(p):
    x = np.zeros(3)
    for t in range(TURNS):
        for k in range(3):
            x[k] += 0.01 * p[0] * (TIMES[t] - x[k - 1])
        x[2] *= p[1]
    return np.sum(x**2)


def relaxation(p):
    u = np.zeros(TURNS)
    u[0], u[-1] = p[0], p[1]
    for _ in range(TURNS):
        for i in range(1, TURNS - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1]) + 0.001 * p[0] * TIMES[i]
    return np.sum(u**2)


def a_matrix(p):
    covariance, mean, total = np.zeros((2, 2)), np.zeros(2), 0.0
    covariance[0, 0] = covariance[1, 1] = 1.0
    turn = np.array([[0.9, 0.1], [-0.1, 0.8]])
    for t in range(TURNS):
        mean[:] = turn @ mean
        covariance[:] = turn @ covariance @ turn.T
        covariance[0, 0] += p[0] ** 2
        covariance[1, 1] += 0.1
        gain = covariance[:, 0] / (covariance[0, 0] + p[1] ** 2)
        rest = TIMES[t] - mean[0]
        mean += gain * rest
        total += np.log(covariance[0, 0] + p[1] ** 2) + rest**2
    return total


def counts_by_while(p):
    x, t = np.zeros(2), 0
    while t < TURNS:
        x[0] = 0.9 * x[0] + p[0] * TIMES[t]
        x[1] = np.tanh(x[1] + p[1] * x[0])
        t += 1
    return x[0] * x[1] + x[1] / t


def kept_numbers(p):
    x, kept = np.zeros(2), []
    for t in range(TURNS):
        x[0] = 0.9 * x[0] + p[0] * TIMES[t]
        x[1] = np.tanh(x[1] + p[1] * x[0])
        kept.append(x[1])
    return np.sum(np.array(kept) ** 2)


def tuples(p):
    state = (p[0], p[1])
    for t in range(TURNS):
        state = (0.9 * state[0] + 0.01 * TIMES[t] * state[1], 0.99 * state[1] + 0.001 * state[0])
    return state[0] + state[1]


def tuples_of_a_function(p):
    def step(state, y):
        position, speed = state
        return position + 0.1 * speed, 0.9 * speed - p[1] * position + 0.1 * y

    state, seen = (p[0], 0.1 * p[1]), []
    for t in range(TURNS):
        state = step(state, TIMES[t])
        seen.append(state[0])
    return np.sum(np.array(seen) ** 2) + state[1]


def copies_of_it(p):
    x = np.zeros(3)
    for t in range(TURNS):
        before = x.copy()
        x[0] = 0.9 * before[2] + p[0] * TIMES[t]
        x[1:] = before[:-1] * p[1]
    return np.sum(x**2)


ONE_TURN = (
    copies_of_it, tuples, tuples_of_a_function, oscillator, compartments, slices, they_change_places, three_change_places,
    other_names_before_and_after, ends_early, skips, inner_loops, relaxation, a_matrix, counts_by_while, kept_numbers,
)  # fmt: skip


def reads_by_another_name(p):
    x, total = np.zeros(2), 0.0
    same = x
    for t in range(TURNS):
        x[0] = 0.9 * x[0] + p[0] * TIMES[t]
        total += same[0] * p[1]
    return total


def reads_by_a_view(p):
    x, total = np.zeros(3), 0.0
    part = x[1:]
    for t in range(TURNS):
        x[1] = 0.9 * x[1] + p[0] * TIMES[t]
        total += part[0] * p[1]
    return total


def a_function_reads(p):
    x, total = np.zeros(2), 0.0

    def energy():
        return x[0] ** 2 + x[1]

    for t in range(TURNS):
        x[0] = 0.9 * x[0] + p[0] * TIMES[t]
        total += energy() * p[1]
    return total


def hands_on_a_part(p):
    x, part, total = np.zeros(3), np.zeros(2), 0.0
    for t in range(TURNS):
        total += part[0] * p[1]
        x[1] = 0.9 * x[1] + p[0] * TIMES[t]
        part = x[1:]
    return total


def keeps_parts(p):
    x, kept = np.zeros((2, 2)), []
    for t in range(TURNS):
        x[0, 0] = 0.9 * x[0, 0] + p[0] * TIMES[t]
        kept.append(x[0])
    return np.sum(np.array(kept)) * p[1]


def hands_on_a_part_in_a_short_loop(p):
    x, part, total = np.zeros(3), np.zeros(2), 0.0
    for y in TIMES:
        total = 0.9 * total + p[1] * y
    for y in TIMES[: int(np.sqrt(1600))]:
        x[1] = 0.9 * x[1] + p[0] * y
        total += part[0] * p[1]
        part = x[1:]
    return total


def another_name_in_a_turn(p):
    x, total = np.zeros(2), 0.0
    for t in range(TURNS):
        same = x
        same[0] = 0.9 * x[0] + p[0] * TIMES[t]
        total += x[0] * p[1]
    return total + np.sum(x)


def changes_places_over_what_has_no_length(p):
    u, v = np.zeros(3), np.ones(3)
    for y in map(float, TIMES[: TURNS - 1]):
        v[0] = 0.9 * u[1] + p[0] * y
        v[1] = np.tanh(v[0] + u[0])
        u, v = v, u
    return np.sum(u * np.arange(3)) * p[1] + v[0]


def changes_places_where_data_says(p):
    u, v = np.zeros(3), np.ones(3)
    for t in range(TURNS):
        v[0] = 0.9 * u[1] + p[0] * TIMES[t]
        if v[0] > 0.1:
            u, v = v, u
    return np.sum(u * np.arange(3)) * p[1] + v[0]




ALL_TURNS = (
    reads_by_another_name, reads_by_a_view, a_function_reads, hands_on_a_part, keeps_parts, another_name_in_a_turn,
    changes_places_where_data_says, changes_places_over_what_has_no_length,
)  # fmt: skip
