"""Heaps, sorted lists and lists of unlike entries that loops change until data end them: one recording each."""

from __future__ import annotations

import bisect
import heapq
import math
from typing import NamedTuple

import numpy as np
import pytest

import tapediff as td

from .one_tape import recordings

POINTS = np.random.default_rng(3).uniform(0.4, 1.5, size=(16, 3))
TIMES = np.random.default_rng(1).uniform(0.0, 2.0, size=40)


def queue_at_a_counter(x):
    events, waiting, now, area, k, busy = [(0.5 * x[0], "arrival")], 0, 0.0, 0.0, 0, False
    while events and now < 8.0:
        at, kind = heapq.heappop(events)
        area += waiting * (at - now)
        now = at
        if kind == "arrival":
            waiting, k = waiting + 1, k + 1
            heapq.heappush(events, (now + x[0] * TIMES[k % 40] + 0.1, "arrival"))
            if not busy:
                busy = True
                heapq.heappush(events, (now + x[1] * TIMES[(3 * k) % 40] + 0.05, "departure"))
        else:
            waiting -= 1
            if waiting:
                heapq.heappush(events, (now + x[1] * TIMES[(5 * k) % 40] + 0.05, "departure"))
            else:
                busy = False
    return area * x[2]


class Event(NamedTuple):
    at: float
    kind: str
    machine: int


def repairs(x):
    events = [Event(0.3 * x[0], "breaks", 0), Event(0.5 * x[1], "breaks", 1), Event(4.0, "ends", -1)]
    heapq.heapify(events)
    is_up, made, now = [True, True], 0.0, 0.0
    while events:
        event = heapq.heappop(events)
        made += (event.at - now) * sum(is_up)
        now = event.at
        if event.kind == "ends":
            break
        is_up[event.machine] = event.kind != "breaks"
        wait = 0.2 + 0.1 * x[2] if event.kind == "breaks" else 0.6 * x[0] + 0.1 * event.machine
        heapq.heappush(events, Event(now + wait, "works" if event.kind == "breaks" else "breaks", event.machine))
    return made


def best_of_a_stream(x):
    """Replaces the least of those kept."""
    kept, t, k = [(x[0], 0), (x[1], 1)], 0.0, 2
    heapq.heapify(kept)
    while t < 5.0:
        v = math.sin(7 * t * x[1]) + 0.1 * t
        t += 0.2 + 0.1 * x[2]
        if len(kept) < 11:
            heapq.heappush(kept, (v, k))
        elif k % 2:
            t += 0.01 * heapq.heappushpop(kept, (v, k))[1]
        elif v > kept[0][0]:
            heapq.heapreplace(kept, (v, k))
        k += 1
    return sum(v * (1 + 0.1 * which) for v, which in kept) + 0.1 * kept[0][1]


def schedule(x):
    """Entries are inserted in order, and taken from both ends."""
    planned, now, area, k = [0.2 * x[0], 0.5 * x[1], 1.1 * x[2]], 0.0, 0.0, 0
    while planned and now < 6.0:
        at = planned.pop(0)
        area += (at - now) * len(planned)
        now, k = at, k + 1
        bisect.insort(planned, now + 0.3 + x[1] * TIMES[k % 40])
        place = bisect.bisect_left(planned, now + x[0])
        area += 0.1 * place
        if len(planned) < 9:
            planned.insert(place, now + x[0])
    return area


def longest_increasing(x):
    """The list that is searched has no known length."""
    ends = []
    for k, t in enumerate(TIMES):
        v = t * x[0] + math.sin(k * x[1])
        place = bisect.bisect_left(ends, v)
        if place == len(ends):
            ends.append(v)
        else:
            ends[place] = v
    return sum(ends) * x[2] + len(ends)


def modes_of_a_thermostat(x):
    """The list that is written to by position has strings or numbers."""
    log, mode, t, temperature = [("off", x[0], None)], "heat", 0, 0.0
    while t < 40 and temperature < 3 * x[0]:
        temperature += 0.3 * x[1] if mode == "heat" else -0.2 * x[2]
        if mode == "heat" and temperature > x[0]:
            mode = "cool"
            log.append((mode, temperature, t))
        elif mode == "cool" and temperature < 0.5 * x[0]:
            mode = "heat"
            log.append((mode, temperature, None))
        elif t % 7 == 3:
            log[int(3 * temperature) % len(log)] = ("kept", temperature, 1.5 * t)
        t += 1
    return sum((v if mode == "heat" else -v) + (0 if since is None else 0.01 * since) for mode, v, since in log)


PROGRAMS = [queue_at_a_counter, repairs, best_of_a_stream, schedule, longest_increasing, modes_of_a_thermostat]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.slow
def test_one_recording(program):
    """The values are those of plain Python, the gradients those of differences."""
    assert recordings(program, POINTS) <= 2
    g = td.GuardedTape(program)
    for x in POINTS[:6]:
        np.testing.assert_allclose(g(x), program(x), rtol=1e-10)
        np.testing.assert_allclose(td.gradient(g, x), td.gradient(td.record(program, x), x), rtol=1e-8, atol=1e-10)


def test_an_empty_heap():
    """The error is Python's."""

    def program(x):
        events, total, k = [x[0], x[1], x[2]], 0.0, 0
        heapq.heapify(events)
        while total < 4.0:
            total += heapq.heappop(events)
            k += 1
            if total * x[0] < 0.8:
                heapq.heappush(events, total)
        return total

    g = td.GuardedTape(program)
    np.testing.assert_allclose(g([2.0, 1.5, 1.4]), program(np.array([2.0, 1.5, 1.4])))
    for x in ([1.0, 0.9, 0.95], [0.5, 0.01, 0.02], [2.0, 2.5, 1.4]):
        try:
            wanted = program(np.array(x))
        except IndexError:
            with pytest.raises(IndexError):
                g(x)
        else:
            np.testing.assert_allclose(g(x), wanted)


# Ints that grow by a factor


def steps_of_collatz(x):
    n, total, weight = int(10 + 20 * x[0]), 0.0, x[1]
    while n != 1 and weight > 1e-6:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        total += weight * n
        weight *= 0.5 * x[2]
    return total


def bits(x):
    n, t = 1, 0.1 * x[0]
    while t < 3.0:
        n, t = 2 * n + (t > x[1]), t * (1.3 + 0.1 * x[2])
    return n * x[0] + t


@pytest.mark.parametrize("program", [steps_of_collatz, bits], ids=lambda f: f.__name__)
def test_ints_that_grow_end_the_loop_before_they_are_too_large(program):
    assert recordings(program, POINTS) == 1


def test_ints_of_more_than_64_bits():
    """Where they are met, the path is recorded as Python runs it."""

    def program(x):
        n, t = 1, x[0]
        while t < 2.0:
            n, t = 5 * n + 1, t + 0.01 * x[1]
        return float(n % 1009) * t

    g = td.GuardedTape(program)
    for x in ([1.9, 1.0], [1.0, 1.0], [1.95, 0.5], [1.1, 0.9]):
        np.testing.assert_allclose(g(x), program(np.array(x)), rtol=1e-12)
