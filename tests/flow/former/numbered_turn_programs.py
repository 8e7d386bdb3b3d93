"""Programs with long loops that ask for the number of the turn."""

from __future__ import annotations

import numpy as np

from .long_loop_programs import HEIGHTS, ROWS, TIMES, TURNS

START = 3
FLAT = ROWS.ravel()


def the_first_turn_is_another(p):
    total = 0.0
    for i in range(TURNS):
        total = total * 0.5 + (p[0] if i == 0 else p[1] * TIMES[i])
    return total


def the_first_turn_writes_another_entry(p):
    state, total = np.zeros(TURNS), 0.0
    for t in range(TURNS):
        if t == 0:
            state[t] = p[0]
        else:
            state[t] = 0.9 * state[t - 1] + 0.1 * TIMES[t] * p[1]
        total += state[t] ** 2
    return total


def the_last_turn_is_another(p):
    state, total = p[0], 0.0
    for t in range(TURNS):
        state = 0.9 * state + 0.1 * TIMES[t] * p[1]
        if t < TURNS - 1:
            total += state * HEIGHTS[t + 1]
        else:
            total += state**2 * p[0]
    return total


def both_ends_are_others(p):
    total = p[0] * p[1]
    for t in range(2, TURNS):
        if t != 2 and not TURNS - 1 <= t:
            total = 0.99 * total + np.sin(p[0] * (TIMES[t + 1] - TIMES[t - 1]))
        elif 2 == t:
            total = total + p[1] ** 2 * TIMES[t]
    return total


def three_parts(p):
    state = total = p[0]
    for t in range(2 * TURNS):
        if t < 250:
            state = 0.9 * state + 0.1 * FLAT[t] * p[1]
        elif t < 500:
            state = 0.8 * state + 0.1 * FLAT[t] * p[0] ** 2
        else:
            state = 0.7 * state + FLAT[t] * p[0]
        total += state**2
    return total


def from_a_turn_on_where_data_says_so(p):
    state, total = p[0], 0.0
    for t in range(TURNS):
        state = 0.9 * state + 0.1 * TIMES[t] * p[1]
        if t >= START and state > 0.0:
            total += state**2
    return total


def backwards(p):
    state = p[0]
    for t in range(TURNS - 1, -1, -1):
        if t == TURNS - 1:
            state = state + p[1] ** 2
        state = 0.9 * state + np.tanh(TIMES[t] * p[1])
        if t == 0:
            state = state * p[0]
    return state


def a_while_asks(p):
    past, total, i = 0.0, 0.0, 0
    while i < TURNS:
        past = np.exp(-np.exp(p[0]) * np.abs(TIMES[i])) * (1.0 + past) if i > 0 else 0.0
        total += np.log(1.0 + p[1] ** 2 + 0.1 * past)
        i += 1
    return total


def an_inner_loop_asks(p):
    total = 0.0
    for t in range(TURNS):
        state = p[0]
        for k in range(3):
            if t > 1 and k == 1:
                state = state * np.cos(TIMES[t - 2])
            else:
                state = state + 0.1 * TIMES[t] * p[1] * k
        total += state**2
    return total


def appends_what_the_first_turn_makes(p):
    kept = []
    for t in range(TURNS):
        value = TIMES[t] * p[0] if t == 0 else TIMES[t] * p[1] + 0.3 * kept[-1]
        kept.append(value)
    return np.sum(np.array(kept) ** 2)


def every_third_turn(p):
    total = 0.0
    for t in range(TURNS):
        if t % 3 == 0:
            total += p[0] * TIMES[t] ** 2
        else:
            total += p[1] * TIMES[t]
    return total


def up_to_a_number_that_moves(p):
    total, limit = 0.0, TURNS - 5
    for t in range(TURNS):
        if t < limit:
            total += p[0] * TIMES[t] ** 2
        else:
            total += p[1] * TIMES[t]
        limit = limit - 1
    return total


def in_four_places(p):
    total = 0.0
    for t in range(TURNS):
        if t in (5, 100, 200, 300):
            total += p[0] * TIMES[t] ** 2
        total += p[1] * TIMES[t] * p[0]
    return total


def binds_in_the_first_turn(p):
    total = 0.0
    for t in range(TURNS):
        if t == 0:
            state = p[0]
        state = 0.9 * state + TIMES[t] * p[1]
        total += state**2
    return total


ONE_TURN = (
    appends_what_the_first_turn_makes,
    the_first_turn_is_another, the_first_turn_writes_another_entry, the_last_turn_is_another, both_ends_are_others, three_parts,
    from_a_turn_on_where_data_says_so, backwards, a_while_asks, an_inner_loop_asks, every_third_turn,
    up_to_a_number_that_moves, in_four_places, binds_in_the_first_turn,
)  # fmt: skip


# All turns are recorded.
