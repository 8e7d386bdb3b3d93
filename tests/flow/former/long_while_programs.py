"""Programs with long `while` loops, and with long loops that may end early."""

from __future__ import annotations

import numpy as np

from .long_loop_programs import HEIGHTS, TIMES, TURNS


def counts_by_while(p):
    total, state, t = 0.0, p[0], 0
    while t < TURNS:
        state = 0.9 * state + p[1] * TIMES[t]
        total += state * state
        t += 1
    return total / t


def counts_before_it_computes(p):
    state, t = p[0], 0
    while t < len(TIMES) - 1:
        t = t + 1
        state = 0.9 * state + p[1] * np.tanh(TIMES[t] - TIMES[t - 1])
    return state * t


def counts_in_the_middle(p):
    state, t = p[0] * p[1], 0
    while t <= TIMES.size - 2:
        before = TIMES[t]
        t = 1 + t
        state = 0.7 * state + p[1] * (TIMES[t] - before) ** 2
    return state


def counts_down_by_while(p):
    state, t = p[0] ** 2, TURNS - 1
    while t >= 0:
        state = 0.8 * state + p[1] * TIMES[t] * HEIGHTS[t]
        t -= 1
    return state + 0.1 * t


def counts_downwards_first(p):
    state, t = p[0] ** 2, TURNS
    while 0 < t:
        t -= 1
        state = 0.8 * state + p[1] * TIMES[t] * HEIGHTS[t] * p[0]
    return state + 0.1 * t


def counts_by_two(p):
    total, t = 0.0, 1
    while len(TIMES) > t:
        total += np.log1p((TIMES[t] * p[0] - TIMES[t - 1] * p[1]) ** 2)
        t += 2
    return total * t


def writes_by_while(p):
    state, t = np.zeros(TURNS), 1
    state[0] = p[0]
    while t < TURNS:
        state[t] = 0.5 * state[t - 1] + 0.1 * state[t - 1] * p[1] + TIMES[t]
        t += 1
    return np.sum(state**2)


def while_in_while(p):
    total, i = 0.0, 0
    while i < TURNS:
        state, j = p[0], 0
        while j < 3:
            state = np.sin(state + p[1] * TIMES[i])
            j += 1
        total += state**2
        i += 1
    else:
        total = total * p[1]
    return total


def leaves(p):
    total = 0.0
    for t in TIMES:
        total += p[0] * t * t + p[1]
        if t > 100.0:
            break
    return total


def leaves_where_data_says(p):
    total, state = 0.0, 0.0
    for t in range(TURNS):
        state += 0.01 * (1.0 + p[0] ** 2)
        if state > 3.5 + p[1] ** 2:
            break
        total += state * TIMES[t] * p[1]
    return total


def leaves_with_an_else(p):
    state = p[0]
    for y in HEIGHTS:
        state = state + 0.01 * (1.0 + 0.1 * y) * p[1] ** 2
        if state > 2.0:
            state = state * p[0]
            break
    else:
        state = state + p[1] ** 3
    return state


def returns_from_it(p):
    state = p[0]
    for y in HEIGHTS:
        state = state + 0.01 * (1.0 + 0.1 * y) * p[1] ** 2
        if state > 2.0:
            return state * p[0] ** 2
    return state * p[1]


def the_turn_that_it_left_in(p):
    total, state = 0.0, 0.0
    for t in range(TURNS):
        state += 0.01 * (1.0 + p[0] ** 2)
        if state > 3.5 + p[1] ** 2:
            break
        total += state * TIMES[t]
    return total / (t + 1) + state * p[1] * t


def leaves_after_writing(p):
    state = np.zeros(TURNS)
    state[0] = p[0] ** 2
    for t in range(1, TURNS):
        state[t] = state[t - 1] + 0.01 * (1.0 + 0.1 * TIMES[t]) * p[1] ** 2
        if state[t] > 2.0:
            break
    return np.sum(state**2)


def goes_on(p):
    total = state = 0.0
    for y in HEIGHTS:
        state = 0.9 * state + p[0] * y
        if state < p[1]:
            continue
        total += np.log1p((state - p[1]) ** 2)
    return total


def leaves_a_while(p):
    state, t = p[0], 0
    while t < TURNS:
        t += 1
        state = state + 0.01 * p[1] ** 2
        if state > 1.5:
            break
        state = state + 0.001 * HEIGHTS[t - 1]
    return state * p[1]


STEP = 0.05


def takes_steps_of_time(p):
    time, state, speed = 0.0, p[0], p[1]
    while time < 20.0:
        force = -state - 0.1 * speed + np.sin(time)
        state, speed = state + STEP * speed, speed + STEP * force
        time += STEP
    return state * time + speed


def takes_steps_up_to_the_end(p):
    step, end = 0.0625, 20.0
    time, states, state = 0, [], p[0] ** 2
    while time <= end - step / 2:
        state = state + step * (np.cos(time) - state * p[1] ** 2)
        if time > 10.0:
            state = state * (1.0 - step * p[0] ** 2)
        states.append(state)
        time = time + step
    return np.mean(np.array(states) ** 2) + time * p[1]


def counts_before_a_step_of_time(p):
    time, state = 0.1, p[0]
    while 30.0 > time:
        time += 0.1
        if np.abs(state) > 50.0 + p[1] ** 2:
            continue
        state = state + 0.1 * (np.sin(time * p[1]) - 0.1 * state)
    return state + time


def counts_by_a_variable(p):
    by, k, total = 2, 1, 0.0
    while k <= 2 * TURNS - 2:
        total += np.sin(TIMES[k // 2] * p[0]) * p[1]
        k += by
    return total * k


def counts_beside_values(p):
    state, k = np.zeros(TURNS + 1), 0
    state[0] = p[0]
    for y in HEIGHTS:
        state[k + 1] = 0.9 * state[k] + 0.1 * y * p[1]
        k += 1
    return np.sum(state**2) / k


def counts_two_things(p):
    total, j, k, left = p[0] * p[1], 0, 1, TURNS
    for t in TIMES:
        k += 1
        total = total + (np.tanh(t * p[0]) - 0.1 * total) / k
        total = total + HEIGHTS[j] * p[1] * 0.01 * left
        j += 1
        left = left - 1
    return total * j + left * p[1] ** 2 + k


def counts_beside_positions(p):
    state, k = np.zeros(TURNS), 3
    state[:2] = p
    for t in range(2, TURNS):
        state[t] = 0.5 * state[t - 1] + 0.3 * state[t - 2] * p[1] + 0.01 * k * TIMES[t]
        k += 2
    return np.sum(state**2) / k


def counts_backwards_beside_values(p):
    state, k = np.zeros(TURNS), TURNS - 1
    for t, y in zip(TIMES, HEIGHTS):
        state[k] = p[0] * t + p[1] * np.tanh(y * p[0])
        k -= 1
    return np.sum(np.cos(state)) + 0.1 * k * p[1] ** 2


def counts_steps_of_time(p):
    state, time, k = np.zeros(TURNS + 2), 0.0, 0
    state[0] = p[0]
    while time < TURNS * STEP:
        state[k + 1] = state[k] + STEP * (np.cos(time) - state[k] * p[1] ** 2)
        k += 1
        time += STEP
    return np.mean(state[: k + 1] ** 2) + time * p[1]


def counts_until_it_leaves(p):
    state, k = p[0], 0
    for y in HEIGHTS:
        state = state + 0.01 * (1.0 + 0.1 * y) * p[1] ** 2
        if state > 1.5:
            break
        k += 1
    return state * k


def leaves_where_constants_say_so(p):
    total, state, level = 0.0, p[0], 0.0
    for t in range(TURNS):
        level = level + 0.01 * TIMES[t] ** 2
        state = 0.9 * state + p[1] * HEIGHTS[t]
        if level > 2.5:
            break
        total += state * level
    return total


def skips_where_constants_say_so(p):
    total, level = p[0] * p[1], 0.0
    for y in HEIGHTS:
        level = 0.9 * level + np.abs(y)
        if level > 8.0:
            continue
        total = 0.99 * total + level * np.sin(y * p[0])
    return total


def leaves_without_reading_its_counts(p):
    state, time, k = np.zeros(TURNS + 2), 0.0, 0
    state[0] = p[0]
    while time < TURNS * STEP:
        state[k + 1] = state[k] + STEP * (np.cos(time) - state[k] * p[1] ** 2)
        if state[k + 1] > 3.0 + p[0]:
            break
        k += 1
        time += STEP
    return np.mean(state**2)


TURN = np.array([[0.9, 0.2], [-0.2, 0.9]])


def leaves_with_arrays(p):
    state, total = p * 1.0, 0.0
    for t in range(TURNS):
        state = TURN @ state + 0.1 * TIMES[t] * p
        total += np.sum(state**2)
        if total > 60.0 + p[0]:
            break
    return total + np.sum(state)


def leaves_in_the_middle_with_arrays(p):
    state, total, norm = p * 1.0, 0.0, 0.0
    for y in HEIGHTS:
        state = TURN @ state + 0.1 * y * p
        if np.sum(state) > 1.0 + p[1] ** 2:
            norm = norm + state[0] * p[1]
            break
        norm = np.linalg.norm(state)
        total += norm * np.sum(state)
    return total + norm


def leaves_after_changes_in_place(p):
    state, total = p * 1.0, 0.0
    for y in HEIGHTS:
        state *= 0.999
        state += 0.001 * p[0] ** 2
        total = total + np.sum(state) * y
        if np.sum(state**2) < 0.5 * np.sum(p**2):
            break
    return total + state[1]


def goes_on_with_arrays(p):
    state, total = p * 1.0, 0.0
    for y in HEIGHTS:
        state = TURN @ state + 0.1 * y
        if np.sum(state) < p[0]:
            total += state[1]
            continue
        total += np.sum(np.tanh(state)) * p[1]
        if total > 50.0 + p[0]:
            break
        total = total * 0.99 + np.max(state)
    return total


def leaves_after_writing_rows(p):
    state = np.ones((TURNS, 2)) * p[0]
    state[0] = p
    for t in range(1, TURNS):
        state[t] = TURN @ state[t - 1] + 0.1 * TIMES[t] * p
        if np.sum(state[t]) > 1.0 + p[1] ** 2:
            break
        state[t] *= 1.0 + 0.01 * np.sum(state[t] ** 2) * p[1] ** 2
        if np.sum(state[t] ** 2) > 50.0:
            break
    return np.sum(state**2) + 0.1 * p[1] * t


def returns_an_array(p):
    state = p * 1.0
    for y in HEIGHTS:
        state = TURN @ state * 1.001 + 0.1 * y * p
        if np.sum(state**2) > 1.0 + p[1] ** 2:
            return state @ p
    return np.sum(state)


def asks_what_it_counts(p):
    total, k = 0.0, 0
    for y in HEIGHTS:
        k += 1
        total += p[0] * y if k % 2 else p[1] * y**2 * p[0]
    return total


def counts_and_skips(p):
    total, k = 0.0, 0
    for y in HEIGHTS:
        if y > 0.0:
            continue
        k += 1
        total += p[0] * y / k + p[1] ** 2
    return total


ONE_TURN = (
    counts_by_while, counts_before_it_computes, counts_in_the_middle, counts_down_by_while, counts_downwards_first, counts_by_two,
    writes_by_while, while_in_while, leaves, leaves_where_data_says, leaves_with_an_else, returns_from_it, the_turn_that_it_left_in,
    leaves_after_writing, goes_on, leaves_a_while, leaves_with_arrays, leaves_in_the_middle_with_arrays, leaves_after_changes_in_place,
    leaves_without_reading_its_counts, leaves_where_constants_say_so, skips_where_constants_say_so, goes_on_with_arrays, leaves_after_writing_rows, returns_an_array, takes_steps_of_time, takes_steps_up_to_the_end,
    counts_before_a_step_of_time, counts_by_a_variable, counts_beside_values, counts_two_things, counts_beside_positions,
    counts_backwards_beside_values, counts_steps_of_time, counts_until_it_leaves,
    asks_what_it_counts, counts_and_skips,
)  # fmt: skip


# Data decides on the number of turns.


def until_it_is_small(p):
    state, turns = 1.0 + p[0] ** 2, 0
    while state > 0.05:
        state = state * (1.0 - 0.01 * np.exp(-0.1 * p[1]))
        turns += 1
    return state * turns


def until_it_is_small_or_the_end(p):
    state, t = 1.0 + p[0] ** 2, 0
    while state > 0.05 and t < TURNS:
        state = state * (1.0 - 0.01 * np.exp(-0.1 * p[1])) + 1e-4 * TIMES[t]
        t += 1
    return state


def ends_early(p):
    state = 1.0 + p[0] ** 2
    for _ in range(100_000):
        state = state * (1.0 - 0.01 * np.exp(-0.1 * p[1]))
        if state < 0.05:
            break
    return state


def ends_early_among_very_many(p):
    state = 1.0 + p[0] ** 2
    for _ in range(10**12):
        state = state * (1.0 - 0.01 * np.exp(-0.1 * p[1]))
        if state < 0.05:
            break
    return state


def ends_early_with_arrays(p):
    state = 1.0 + p**2
    for _ in range(100_000):
        state = 0.01 * np.exp(-0.1 * p[1]) * (TURN @ state) + 0.98 * state
        if np.sum(state) < 0.05:
            break
    return state @ p


def takes_steps_of_data(p):
    time, state, step = 0.0, p[0], 0.05 + 0.0 * p[1]
    while time < 20.0:
        state = state + step * (np.cos(time) - state * p[1] ** 2)
        time += 0.05 * step / step
    return state


COUNTED_BY_DATA = (
    until_it_is_small, until_it_is_small_or_the_end, ends_early, ends_early_among_very_many, ends_early_with_arrays, takes_steps_of_data,
)  # fmt: skip


# All turns are recorded.


def its_end_moves(p):
    total, t, end = 0.0, 0, 2 * TURNS
    while t < end:
        total += p[0] * TIMES[t] + p[1] * p[0]
        t += 1
        end -= 1
    return total


def its_list_grows(p):
    values, total, t = [p[0], p[1]], 0.0, 0
    while t < len(values):
        total += values[t] ** 2
        if len(values) < TURNS:
            values.append(0.5 * values[-1] + 0.1 * TIMES[t])
        t += 1
    return total


def leaves_out_the_counting(p):
    total, t, tries = 0.0, 0, 0.0
    while t < TURNS:
        tries += 1.0
        if TIMES[t] > 0.0 and tries < TURNS * 1.2:
            total += p[0]
            tries += 1.0
            continue
        total += p[1] * TIMES[t] * p[0]
        t += 1
    return total


def counts_by_what_it_reads(p):
    total, t = 0.0, 0
    while t < TURNS:
        total += p[0] * TIMES[t] ** 2 + p[1]
        t += 1 + (HEIGHTS[t] > 1.5)
    return total


def ends_at_a_float(p):
    total, t = 0.0, 0.0
    while t < TURNS:
        total += p[0] * TIMES[int(t)] ** 2 + p[1]
        t += 1
    return total


def fails_for_some_states(p):
    state, total = p * 1.0, 0.0
    for y in HEIGHTS:
        state = TURN @ state + 0.1 * y * p
        if np.sum(state) > 1e3:
            break
        if state[0] < -1e3:
            raise ValueError("out of range")
        total += np.sum(state**2)
    return total


def takes_steps_that_change(p):
    time, step, state = 0.0, 0.05, p[0] * p[1]
    while time < 20.0:
        state = state + step * (np.cos(time) - state * p[1] ** 2)
        time += step
        step = step * 1.0001
    return state


def reads_a_list_that_it_counts_along(p):
    kept, k = [p[0]], 0
    for y in HEIGHTS:
        kept.append(0.5 * kept[k] + y * p[1])
        if k < 10:
            kept[k] = kept[k] * 2.0
        k += 1
    return sum(kept)


def counts_in_a_try(p):
    total, t = 0.0, 0
    try:
        while t < TURNS:
            total += p[0] * TIMES[t] + p[1] ** 2
            if total > 1e6:
                break
            t += 1
        else:
            total = total * p[0]
    except ZeroDivisionError:
        total = p[0]
    return total + t


def leaves_in_very_many_places(p):
    total = p[0]
    for y in HEIGHTS:
        total = total + np.sum(p * y)
        if total > 101.0:
            break
        total += y
        if total > 102.0:
            break
        total += y
        if total > 103.0:
            break
        total += y
        if total > 104.0:
            break
        total += y
        if total > 105.0:
            break
        total += y
        if total > 106.0:
            break
        total += y
        if total > 107.0:
            break
        total += y
        if total > 108.0:
            break
        total += y
        if total > 109.0:
            break
        total += y
        if total > 110.0:
            break
        total += y
        if total > 111.0:
            break
        total += y
        if total > 112.0:
            break
        total += y
        if total > 113.0:
            break
        total += y
        if total > 114.0:
            break
        total += y
        if total > 115.0:
            break
        total += y
        if total > 116.0:
            break
        total += y
        if total > 117.0:
            break
        total = 0.5 * total
    else:
        total = total * p[1]
    return total


def its_end_is_an_entry(p):
    ends, total, t = [2 * TURNS], 0.0, 0
    while t < ends[0]:
        total += p[0] * TIMES[t] + p[1] ** 2
        ends[0] -= 1
        t += 1
    return total


class _Box:
    def __init__(self, end):
        self.end = end


def its_end_is_an_attribute(p):
    box, total, t = _Box(2 * TURNS), 0.0, 0
    while t < box.end:
        total += p[0] * TIMES[t] + p[1] ** 2
        box.end -= 1
        t += 1
    return total


ALL_TURNS = (
    its_end_moves, its_end_is_an_entry, its_end_is_an_attribute, its_list_grows, leaves_out_the_counting, counts_by_what_it_reads, ends_at_a_float, fails_for_some_states,
    counts_in_a_try, leaves_in_very_many_places, takes_steps_that_change, reads_a_list_that_it_counts_along,
)  # fmt: skip


def long_whiles_in_long_whiles(p):
    total, i = 0.0, 0
    while i < 210:
        state, j = p[0], 0
        while j < 210:
            state = 0.9 * state + 0.1 * TIMES[j] * p[1]
            j += 1
        total += state**2 * TIMES[i]
        i += 1
    return total


def returns_from_a_while(p):
    state, total, t = p[0], 0.0, 0
    while t < TURNS:
        state = 0.9 * state + 0.1 * p[1] * TIMES[t]
        if state > 40.0:
            return total * p[1]
        total += state * state
        t += 1
    return total


def leaves_steps_of_time(p):
    state, total, t = p[0], 0.0, 0.0
    while t < 12.0:
        rate = p[1]
        if state > 0.5:
            rate = 0.5 * rate
        state = state + STEP * (np.sin(t) - rate * state)
        if state > 40.0:
            break
        total += state * state * STEP
        t += STEP
    return total


def leaves_what_reads_the_last_values(p):
    state, t = p[0], 3
    while t < TURNS:
        state = 0.8 * state + p[1] * np.mean(TIMES[t - 3 : t])
        if state > 1e3:
            break
        t += 1
    return state / t


def leaves_an_inner_while(p):
    total = 0.0
    for k in range(3):
        state, t = p[0] * k, 0
        while t < TURNS:
            state = 0.9 * state + p[1] * TIMES[t]
            if state > 1e3:
                break
            t += 1
        total = total + state * t
    return total


def leaves_arrays_in_a_while(p):
    state, t = p[0] * np.array([1.0, 0.5]), 0
    while t < TURNS:
        state = 0.5 * (state[::-1] + 0.9 * state) + 0.1 * p[1]
        if np.sum(state) > 1e3:
            break
        t += 1
    return np.sum(state) * t


MAY_END_EARLY = (
    leaves_a_while, returns_from_a_while, leaves_steps_of_time, leaves_what_reads_the_last_values, leaves_an_inner_while, leaves_arrays_in_a_while,
)  # fmt: skip


def ends_early_of_very_many(p):
    root, t = 1.0 + p[0] ** 2, 0
    while t < 300:
        step = (root**3 - 2.0 - p[1] ** 2) / (3.0 * root**2)
        root = root - step
        if np.abs(step) < 1e-13:
            break
        t += 1
    return root


def ends_where_a_turn_says(p):
    state, t, end = p[0], 0, 300
    while t < end:
        state = 0.9 * state + 0.01 * p[1]
        if state > 40.0:
            break
        if state < -30.0:
            end = 200
        t += 1
    return state


ENDS_EARLY = (ends_early_of_very_many, ends_where_a_turn_says)
