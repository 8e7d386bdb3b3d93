"""Programs with long loops that count with ints of Python's: of some one turn is recorded, of others all are."""

from __future__ import annotations

import numpy as np

rng = np.random.default_rng(20261127)
TURNS = 400
TIMES = rng.normal(size=TURNS)
FLOATS = [float(v) for v in TIMES]
CODES = rng.integers(0, 3, size=TURNS)
LARGE = rng.integers(2**51, 2**52, size=TURNS)
TABLE = rng.normal(size=TURNS + 1)


def counted(p):
    n, total = 0, 0.0
    for t in TIMES:
        if t * p[0] > 0.5:
            n += 1
            total += t * p[1]
    return total / (n + 1) + n * p[0]


def counted_alone(p):
    n, total = 0, 0.0
    for t in TIMES:
        if t * p[0] > 0.2:
            n = n + 1
        else:
            n -= 1
        total = 0.9 * total + t * p[1]
    return total * n


def mean_of_some(p):
    n, mean, rest = 0, 0.0, 0.0
    for t in TIMES:
        w = t * p[0]
        if w > p[1]:
            continue
        n += 1
        off = w - mean
        mean += off / n
        rest += off * (w - mean)
    return mean + rest / n


def counted_before_it_divides(p):
    n, total = 0, 0.0
    for t in FLOATS:
        if t * p[0] > 0.0:
            n += 1
        if n > 3:
            total += t * p[1] / n
    return total + n * p[0]


def alarms(p):
    s, count, last, total = 0.0, 0, 0, 0.0
    for t in range(TURNS):
        s = max(0.0, s + p[0] * TIMES[t] - 0.1 * p[1])
        if s > 2:
            count += 1
            last = t
            s = 0.0
        total += s
    return total + count * p[0] + last * p[1] * 0.01


def alarms_in_a_list(p):
    s, count, last, total = 0.0, 0, -1, 0.0
    for t, v in enumerate(FLOATS):
        s = max(0.0, s + p[0] * v - 0.1 * p[1])
        if s > 2:
            count, last, s = count + 1, t + 1, 0.0
        total += s
    return total + count * p[0] + last * p[1] * 0.01


def lengths_of_runs(p):
    run, longest, total = 0, 0, 0.0
    for t in TIMES:
        if t > 0.1 * p[0]:
            run += 1
        else:
            total += run * run * p[1]
            run = 0
        if run > longest:
            longest = run
    return total + longest * p[0]


def states(p):
    state, x, total = 0, p[0], 0.0
    for t in TIMES:
        if state == 0:
            x = 0.9 * x + t * p[0]
            if x > 0.5:
                state = 1
        elif state == 1:
            x = 0.5 * x - p[1]
            if x < 0.0:
                state = 2
        else:
            x = x * 0.3
            if t > 0.5:
                state = 0
        total += x * x
    return total + state * p[1]


def states_that_data_gives(p):
    state, total = 0, 0.0
    for t, code in zip(TIMES, CODES):
        if t * p[0] > 0.3:
            state = code
        if state == 1:
            total += p[1] * t
        elif state != 0:
            total -= p[0] * t
    return total


def cycles(p):
    k, x, total = 0, 0.0, 0.0
    for t in TIMES:
        k = (k + 1) % 3
        x = 0.5 * x + t * p[0]
        if k == 0:
            x *= p[1]
        elif k == 1 and x > 0:
            total += x
        total += x * k
    return total


def flags(p):
    is_up, total = False, 0.0
    for t in TIMES:
        if t * p[0] > 0.5:
            is_up = True
        elif t < -0.5:
            is_up = False
        if is_up:
            total += t * p[1]
    return total * p[0]


def begins_with_an_int(p):
    total = 0
    for t in TIMES:
        total += t * p[0] + p[1]
    return total


def some_begin_with_an_int(p):
    total = 0
    for t in TIMES:
        if t > p[0]:
            total += t * p[1] * p[0]
    return total


def in_two_loops(p):
    n, total = 0, 0.0
    for t in TIMES:
        if t > 0.3 * p[0]:
            n += 1
    for t in TIMES:
        total += t * t * p[1] / (n + 1)
        if t * p[1] > n / TURNS:
            n += 1
    return total + n * p[0]


def in_nested_loops(p):
    n, total = 0, 0.0
    for t in TIMES[:60]:
        for u in TIMES[60:130]:
            if t * u > p[0]:
                n += 1
            total += t * u * p[1]
    return total + n * p[0] * 0.01


def adds_bools(p):
    n, total = 0, 0.0
    for t in TIMES:
        n += int(t > 0.0)
        if t > 0.2 * p[0]:
            total += n * t * p[1]
    return total


def remainders(p):
    n, total = 7, 0.0
    for t in TIMES:
        if t > 0.2 * p[0]:
            n += 5
        total += t * p[1] * (n % 4) + (n // 3) * p[0] * 0.001
    return total


def reads_by_it(p):
    n, total = 0, 0.0
    for t in TIMES:
        if t * p[0] > 0.2:
            n += 1
        total += p[1] * TABLE[n]
    return total


def reads_by_it_afterwards(p):
    n, total = 0, 0.0
    for t in TIMES:
        if t * p[0] > 0.2:
            n += 1
        total += p[1] * t
    return total * TABLE[n]


def ranges_to_it(p):
    n, total = 0, 0.0
    for t in TIMES:
        if t * p[0] > 0.2:
            n += 1
        total += p[1] * t
    for _ in range(n):
        total *= 0.999
    return total


def prints_it(p):
    n, total = 0, 0.0
    for t in TIMES:
        if t * p[0] > 0.2:
            n += 1
        total += p[1] * t
    return total * len(f"{n}") * (2.0 if isinstance(n, int) else 1.0)


def doubles(p):
    n, total = 1, 0.0
    for t in TIMES:
        if t * p[0] > 0.0:
            n = 2 * n
        total += p[1] * t
    return total + (n % 1_000_003) * p[0] * 1e-6


def grows_by_doubling(p):
    n, m, total = 1, 1, 0.0
    for t in TIMES:
        if t * p[0] > 0.2:
            n, m = n + m, n
        total += p[1] * t
    return total + (n % 7) * p[0]


def adds_large_ones(p):
    n, total = 0, 0.0
    for t, k in zip(TIMES, LARGE):
        if t * p[0] > 0.0:
            n += k
        total += p[1] * t
    return total + (n % 7) * p[0]


def adds_large_constants(p):
    n, total = 0, 0.0
    for t in TIMES:
        if t * p[0] > 0.0:
            n += 2**51 + 1
        total += p[1] * t
    return total + (n % 7) * p[0]


def starts_large(p):
    n, total = 2**53 - 3, 0.0
    for t in TIMES:
        if t * p[0] > 0.0:
            n += 1
        total += p[1] * t
    return total + (n % 7) * p[0]


def powers(p):
    n, total = 0, 0.0
    for t in TIMES:
        if t * p[0] > -3.0:
            n += 12_345
        total += p[1] * t
    return total + (n * n * n % 7) * p[0]


def powers_in_a_later_loop(p):
    n, total = 0, 0.0
    for t in TIMES:
        if t * p[0] > -3.0:
            n += 12_345
    for t in TIMES:
        total += p[1] * t * (n * n * n % 7)
    return total


def powers_in_turns(p):
    n, total = 0, 0.0
    for t in TIMES:
        if t * p[0] > -3.0:
            n += 12_345
        total += p[1] * t * (n * n * n % 7)
    return total


def in_a_set(p):
    n, total = 0, 0.0
    for t in TIMES:
        if t * p[0] > 0.2:
            n += 1
        if n in (3, 5, 8):
            total += t * p[0]
        total += p[1] * t
    return total


def asks_for_identity_of_a_flag(p):
    is_up, total = False, 0.0
    for t in TIMES:
        if t * p[0] > 0.5:
            is_up = True
        if is_up is True:
            total += t * p[1]
        total += p[0] * t
    return total


def an_int_or_a_bool(p):
    is_up, total = False, 0.0
    for t in TIMES:
        if t * p[0] > 0.5:
            is_up = 2
        if is_up:
            total += t * p[1]
        total += p[0] * t
    return total


def appends_it(p):
    n, total, kept = 0, 0.0, []
    for t in TIMES:
        if t * p[0] > 0.2:
            n += 1
        kept.append(n)
        total += p[1] * t
    return total * len(set(kept))


ONE_TURN = (
    counted, counted_alone, mean_of_some, counted_before_it_divides, alarms, alarms_in_a_list, lengths_of_runs, states,
    states_that_data_gives, cycles, flags, begins_with_an_int, some_begin_with_an_int, in_two_loops, in_nested_loops, remainders,
    reads_by_it_afterwards,
)  # fmt: skip

ALL_TURNS = (
    ranges_to_it, prints_it, doubles, grows_by_doubling, adds_large_ones, adds_large_constants,
    starts_large, powers, powers_in_a_later_loop, powers_in_turns, asks_for_identity_of_a_flag, an_int_or_a_bool, appends_it,
)  # fmt: skip

# Recorded in one way or the other.
OTHERS = reads_by_it, in_a_set, adds_bools
