"""Programs with long loops in which arrays change places, by a third name, twice in a turn, or by copying."""

from __future__ import annotations

import numpy as np

TURNS = 230
TIMES = np.sin(np.arange(TURNS) * 0.3)


def smoothed(u, p):
    return u[1:-1] + 0.2 * p * (u[2:] - 2.0 * u[1:-1] + u[:-2])


def by_a_third_name(p):
    u, v = p[1] * np.arange(12) * 0.1, np.zeros(12)
    for _ in range(TURNS + 1):
        v[1:-1] = smoothed(u, p[0])
        v[0] = u[1]
        v[-1] = u[-2]
        tmp = u
        u = v
        v = tmp
    return np.sum(u**2) + v[3]


def the_third_name_comes_first(p):
    u, v, total = p[1] * np.arange(12) * 0.1, np.zeros(12), 0.0
    for t in range(TURNS):
        old = u
        v[1:-1] = u[1:-1] + 0.2 * p[0] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        v[0] = TIMES[t] * p[0]
        total += v[4] * u[5]
        u = v
        v = old
    return total + np.sum(u**2) + v[3]


def three_in_turn(p):
    a, b, c = np.zeros(12), np.zeros(12), np.zeros(12)
    a[:] = p[1] * np.sin(np.arange(12))
    b[:] = a
    for _ in range(TURNS):
        c[1:-1] = 2.0 * b[1:-1] - a[1:-1] + 0.1 * p[0] * (b[2:] - 2.0 * b[1:-1] + b[:-2])
        spare = a
        a = b
        b = c
        c = spare
    return np.sum(b**2) + a[3] * c[2]


def three_at_once(p):
    a, b, c = np.zeros(12), np.zeros(12), np.zeros(12)
    a[:] = p[1] * np.sin(np.arange(12))
    b[:] = a
    first = a
    for _ in range(TURNS):
        c[1:-1] = 2.0 * b[1:-1] - a[1:-1] + 0.1 * p[0] * (b[2:] - 2.0 * b[1:-1] + b[:-2])
        a, b, c = b, c, a
    return np.sum(b**2) + a[3] * c[2] + np.sum(first * np.arange(12))


def twice_in_a_turn(p):
    u, v = p[1] * np.arange(12) * 0.1, np.zeros(12)
    first = u
    for _ in range(TURNS):
        v[1:-1] = u[1:-1] + 0.2 * p[0] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u, v = v, u
        v[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u, v = v, u
    return np.sum(u**2) + v[3] + first[4]


def two_pairs_by_one_third_name(p):
    u, v, a, b = p[1] * np.ones(6), np.zeros(6), np.zeros(6), p[0] * np.ones(6)
    for t in range(TURNS + 1):
        v[1:] = 0.9 * u[:-1] + 0.1 * p[0] * a[1:]
        v[0] = TIMES[t % TURNS]
        b[:] = 0.5 * a + 0.4 * u
        tmp = u
        u = v
        v = tmp
        b[0] += 0.1 * u[2]
        tmp = a
        a = b
        b = tmp
    return np.sum(u * np.arange(6)) + v[1] + np.sum(a**2) + b[2]


def with_an_inner_loop(p):
    u, v = np.zeros(12), np.zeros(12)
    for i in range(12):
        u[i] = p[1] * np.sin(i)
    for _ in range(TURNS):
        for i in range(1, 11):
            v[i] = u[i] + 0.2 * p[0] * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        tmp = u
        u = v
        v = tmp
    return np.sum(u**2) + v[4]


def in_two_loops(p):
    u, v = p[1] * np.arange(12) * 0.1, np.zeros(12)
    for _ in range(TURNS):
        v[1:-1] = u[1:-1] + 0.2 * p[0] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        tmp = u
        u = v
        v = tmp
    for t in range(TURNS):
        v[:] = 0.9 * u
        v[2] += p[0] * TIMES[t]
        tmp = u
        u = v
        v = tmp
    return np.sum(u**2) + v[4]


def copied_to_one_another(p):
    before, u, after = np.zeros(12), p[1] * np.sin(np.arange(12.0)), np.zeros(12)
    for _ in range(TURNS):
        after[1:-1] = 2.0 * u[1:-1] - before[1:-1] + 0.1 * p[0] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        before[:] = u
        u[:] = after
    return np.sum(u**2) + before[3]


def numbers(p):
    a, b = p[0], p[1]
    for t in range(TURNS):
        a = 0.9 * a + 0.1 * TIMES[t] * b
        tmp = a
        a = b
        b = tmp
    return a * b + a


ONE_TURN = (
    by_a_third_name, the_third_name_comes_first, three_in_turn, three_at_once, twice_in_a_turn, with_an_inner_loop,
    copied_to_one_another, numbers, two_pairs_by_one_third_name,
)  # fmt: skip


# All turns are recorded.


def the_third_name_is_read_behind_the_loop(p):
    u, v, tmp = p[1] * np.arange(12) * 0.1, np.zeros(12), np.zeros(12)
    for _ in range(TURNS):
        v[1:-1] = u[1:-1] + 0.2 * p[0] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        tmp = u
        u = v
        v = tmp
    v[3] = 7.0 * p[0]
    return np.sum(u**2) + tmp[3]


def the_third_name_is_read_in_the_turn(p):
    u, v, total = p[1] * np.arange(12) * 0.1, np.zeros(12), 0.0
    for _ in range(TURNS):
        v[1:-1] = u[1:-1] + 0.2 * p[0] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        tmp = u
        u = v
        v = tmp
        v[2] = p[0]
        total += tmp[2] * tmp[3]
    return np.sum(u**2) + total


def the_third_name_is_of_the_turn_before(p):
    u, v, total = p[1] * np.arange(12) * 0.1, np.zeros(12), 0.0
    tmp = u
    for _ in range(TURNS):
        total += tmp[3]
        v[1:-1] = u[1:-1] + 0.2 * p[0] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        tmp = u
        u = v
        v = tmp
    return np.sum(u**2) + total


def a_function_reads_the_third_name(p):
    u, v, tmp, total = p[1] * np.arange(12) * 0.1, np.zeros(12), np.zeros(12), 0.0

    def third():
        return tmp[3]

    for _ in range(TURNS):
        v[1:-1] = u[1:-1] + 0.2 * p[0] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        tmp = u
        u = v
        v = tmp
        total += third()
    return np.sum(u**2) + total


def hands_one_on_twice(p):
    u, v = p[1] * np.arange(12) * 0.1, np.zeros(12)
    for t in range(TURNS):
        v[1:-1] = u[1:-1] + 0.2 * p[0] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        v[0] = TIMES[t]
        u = v
        v = u
    return np.sum(u**2)


def where_data_says(p):
    u, v = p[1] * np.arange(12) * 0.1, np.zeros(12)
    for t in range(TURNS):
        v[1:-1] = u[1:-1] + 0.2 * p[0] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        v[0] = p[0] * TIMES[t]
        if v[0] > 0.1:
            tmp = u
            u = v
            v = tmp
    return np.sum(u * np.arange(12)) + v[0]


def copies_to_a_list(p):
    u, kept = p[1] * np.arange(3) * 0.1, [0.0, 1.0]
    for t in range(TURNS):
        u[1] = 0.9 * u[0] + p[0] * TIMES[t]
        kept[1] = u
        u[0] = kept[1][1] * 0.5
    return np.sum(u**2)


ALL_TURNS = (
    the_third_name_is_read_behind_the_loop, the_third_name_is_read_in_the_turn, the_third_name_is_of_the_turn_before,
    a_function_reads_the_third_name, hands_one_on_twice, where_data_says, copies_to_a_list,
)  # fmt: skip
