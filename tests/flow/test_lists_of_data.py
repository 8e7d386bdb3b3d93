"""Programs whose lists grow, shrink and are taken apart as data say: how many recordings each needs."""

from __future__ import annotations

import bisect
import collections
import heapq
import itertools
import math
import statistics

import numpy as np
import pytest

import tapediff as td
from tapediff.flow.blocks import loops

from .one_tape import recordings

POINTS = [p * 1.3 for p in np.random.default_rng(7).normal(size=(24, 6))]


def merged_intervals(x):
    spans = sorted((min(a, a + b), max(a, a + b)) for a, b in zip(x[:3], x[3:]))
    merged = []
    for low, high in spans:
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return sum((k + 1) * (high - low) for k, (low, high) in enumerate(merged))


def run_lengths(x):
    runs = []
    for v in x:
        kind = "up" if v > 0 else "down"
        if runs and runs[-1][0] == kind:
            runs[-1][1] += 1
            runs[-1][2] += v
        else:
            runs.append([kind, 1, v])
    return sum(n * total for _, n, total in runs) + len(runs)


def best_run(x):
    best, run = None, []
    for v in x:
        if v > 0:
            run.append(v)
        elif run:
            if best is None or sum(run) > sum(best):
                best = run
            run = []
    return sum(best) if best is not None else sum(run) * 0.5


def stack_machine(x):
    stack = [1.0]
    for v in x:
        if v > 0.8 and len(stack) > 1:
            a, b = stack.pop(), stack.pop()
            stack.append(a * b)
        elif v < -0.8 and stack:
            stack[-1] = -stack[-1]
        else:
            stack.append(v)
    return sum(stack) + 2 * stack[-1]


def brackets(x):
    open_, pairs, depth = [], [], 0
    for k, v in enumerate(x):
        if v > 0:
            open_.append((k, v))
            depth = max(depth, len(open_))
        elif open_:
            start, w = open_.pop()
            pairs.append((k - start) * w * v)
    return sum(pairs) + depth * x[0] - len(open_)


def events(x):
    queue = []
    for k, v in enumerate(x[:4]):
        heapq.heappush(queue, (abs(v), k, "start" if v > 0 else "stop"))
    busy, total = 0, 0.0
    while queue:
        time, k, kind = heapq.heappop(queue)
        busy += 1 if kind == "start" else -1
        total += time * busy * (k + 1)
    return total


def without_duplicates(x):
    seen = []
    for v in x:
        if not any(abs(v - w) < 0.5 for w in seen):
            seen.append(v)
    return sum(k * v for k, v in enumerate(seen, 1)) / len(seen)


def window_of_good_values(x):
    window, found = collections.deque(maxlen=3), 0.0
    for v in x:
        if abs(v) > 1.5:
            continue
        window.append(v)
        found += sum(window) / len(window)
    return found + len(window)


def both_ends_of_a_window(x):
    window, total = collections.deque(maxlen=3), 0.0
    for v in x:
        if v > 0.8:
            window.append(v)
        elif v > 0.0:
            window.appendleft(v)
        elif v < -1.0 and window:
            total += window.popleft()
        elif len(window) < 3:
            window.insert(1, v)
        total += sum((k + 1) * w for k, w in enumerate(window))
    window.extend(v for v in x if v > 1.0)
    window += [x[0]] if x[1] > 0 else []
    window.rotate(1)
    return total + sum((k + 1) * w for k, w in enumerate(window))


def window_in_a_loop(x):
    window, total, k = collections.deque([x[0]], maxlen=4), 0.0, 0
    while total < 3.0 and k < 20:
        if x[k % 6] > 0.2:
            window.append(abs(x[k % 6]) * (k + 1))
        total += 0.1 + 0.01 * abs(sum(window)) / len(window)
        k += 1
    return total + sum((k + 1) * w for k, w in enumerate(window))


def records_by_key(x):
    records = [{"name": n, "size": v, "cost": v * w} for n, v, w in zip("abc", x[:3], x[3:])]
    wanted = [r for r in records if r["size"] > -0.5]
    wanted.sort(key=lambda r: r["cost"], reverse=True)
    return sum((k + 1) * r["cost"] for k, r in enumerate(wanted)) + (wanted[0]["size"] if wanted else 0.0)


def grouped(x):
    kept = sorted(v for v in x if abs(v) < 2)
    found = 0.0
    for key, group in itertools.groupby(kept, key=lambda v: v > 0):
        values = list(group)
        found += len(values) * sum(values) * (2 if key else 3)
    return found


def merge_of_sorted(x):
    a, b = sorted(x[:3]), sorted(x[3:])
    i = j = 0
    out = []
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    out += a[i:] + b[j:]
    return sum(k * v for k, v in enumerate(out))


def monotonic_stack(x):
    stack, area = [], 0.0
    for v in x:
        while stack and stack[-1] < v:
            area += v - stack.pop()
        stack.append(v)
    return area + sum(stack) + len(stack)


def trimmed_mean(x):
    kept = sorted(v for v in x if v > -1)
    if len(kept) > 2:
        _, *kept, _ = kept
    return sum(kept) / len(kept) if kept else x[0]


def first_and_rest(x):
    it = iter([v for v in x if v > 0])
    best = next(it, 0.1)
    for v in it:
        best = 0.5 * best + v
    return best


def dispatched_by_length(x):
    match [v for v in x if v > 0.3]:
        case []:
            return x[0]
        case [a]:
            return a * x[1]
        case [a, b]:
            return a - b
        case [a, *rest]:
            return a + 2 * sum(rest)


def matched_with_more_parts_than_there_may_be(x):
    values, kind = [v for v in x[:3] if v > 0], 1 if x[3] > 0 else 2
    match values, kind:
        case ([a, b, c, _], 1) | ([a, b, *_, c, _], 1):
            return a * b * c
        case ([a, *rest, b], 1):
            return a - 2 * b + len(rest) + sum(rest)
        case ([*rest, a], 2):
            return 5 * a + sum(rest)
        case ([a], _):
            return 7 * a
        case ([], 2):
            return x[4]
    return x[5]


def called_with_stars(x):
    def area(*sides, scale=1.0):
        return scale * sum(a * b for a, b in itertools.pairwise(sides))

    options = {"scale": 2.0} if x[0] > 0 else {}
    return area(*(v for v in x if v > 0), **options) + area(1.0, *[v for v in x if v < 0])


class Short(ValueError):
    pass


def chosen_errors(x):
    total = 0.0
    for v in x:
        kind = Short if v > 0.5 else KeyError
        try:
            if abs(v) > 0.5:
                raise kind(v)
            total += v
        except (Short, KeyError) as error:
            total += 2 * error.args[0] if isinstance(error, Short) else 3.0
    return total


def inserted_in_order(x):
    order = []
    for v in x:
        if v > -0.5:
            bisect.insort(order, v)
            if len(order) > 3:
                order.pop(0)
    return sum((k + 1) * v for k, v in enumerate(order))


def middle_of_positives(x):
    kept = [v for v in x if v > 0]
    if not kept:
        return 0.1 * x[0]
    lower, upper = kept[: len(kept) // 2], kept[len(kept) // 2 :]
    return statistics.median(kept) + sum(lower) - 2 * sum(upper) + kept[len(kept) // 2]


def left_over(x):
    todo, done = collections.deque(v for v in x if v != 0), []
    while todo:
        v = todo.popleft()
        if v > 1:
            todo.append(v / 2 - 0.1)
        done.append(v)
        if len(done) > 8:
            break
    return sum(k * v for k, v in enumerate(done))


def parts_by_recursion(x):
    def cost(part):
        if len(part) < 3:
            return sum(part)
        distances = [abs(v - part[0]) for v in part[1:-1]]
        k = distances.index(max(distances))
        return cost(part[: k + 2]) + 0.5 * cost(part[k + 1 :])

    return cost(list(x))


def positions_from_the_end(x):
    found = [v for v in x if v > -0.3]
    head, tail, between = found[:2], found[-2:], found[1:-1]
    found[1:2] = [2.0 * v for v in tail]
    last = found[-2] if len(found) > 1 else 0.0
    return sum(head) + 2.0 * sum(tail) + 3.0 * sum(between) + sum((k + 1) * v for k, v in enumerate(found)) + last


def written_with_a_step(x):
    found = [v for v in x if v > 0.0]
    if len(found) > 3:
        found[::2] = [1.0] * len(found[::2])
    return sum((k + 1) * v for k, v in enumerate(found))


Three = collections.namedtuple("Three", "first second third")


def parts_of_a_named_tuple(x):
    three = Three(x[0], x[1], x[2])
    k = 1 if x[3] > 0 else 2
    few = Three(x[3], x[4] if x[5] > 0 else x[0], x[5])
    return sum(three[:k]) + 2 * sum(three[k:]) + 3 * sum(few[:k]) + len(three[::-1][k:]) * x[4]


def labels(x):
    kept = [v for v in x if v > 0]
    text = f"{len(kept)} kept"
    return {"0 kept": 0.5, "1 kept": x[0], "2 kept": x[1] * 2}.get(text, sum(kept))


PROGRAMS = {
    merged_intervals: 1,
    run_lengths: 1,
    best_run: 1,
    stack_machine: 1,
    brackets: 1,
    events: 1,
    without_duplicates: 1,
    window_of_good_values: 1,
    both_ends_of_a_window: 1,
    window_in_a_loop: 1,
    records_by_key: 1,
    grouped: 9,
    merge_of_sorted: 1,
    monotonic_stack: 1,
    trimmed_mean: 1,
    first_and_rest: 19,
    dispatched_by_length: 1,
    matched_with_more_parts_than_there_may_be: 1,
    called_with_stars: 2,
    chosen_errors: 1,
    inserted_in_order: 1,
    middle_of_positives: 1,
    left_over: 1,
    parts_by_recursion: 1,
    positions_from_the_end: 1,
    written_with_a_step: 4,
    parts_of_a_named_tuple: 2,
    labels: 1,
}


@pytest.mark.parametrize(("program", "wanted"), PROGRAMS.items(), ids=lambda p: getattr(p, "__name__", str(p)))
def test_programs_with_lists_of_data(program, wanted):
    """Value and gradient at each point, and the number of recordings."""
    assert recordings(program, POINTS) <= wanted


def instructions_of(program, count):
    return len(td.record(lambda x: program(x, count), POINTS[0], merge=True).instructions)


def path_length(x, count):
    points = [(k * x[0], math.sin(k) * x[1]) for k in range(count) if math.sin(1.7 * k) * x[2] > -0.4]
    return sum(math.hypot(points[k + 1][0] - points[k][0], points[k + 1][1] - points[k][1]) for k in range(len(points) - 1))


def neighbours(x, count):
    kept = [math.sin(k) * x[1] for k in range(count) if math.sin(1.7 * k) * x[2] > -0.4]
    return sum(a * b for a, b in zip(kept, kept[1:] + kept[:1]))


@pytest.mark.parametrize("program", [path_length, neighbours], ids=lambda f: f.__name__)
@pytest.mark.slow
def test_positions_in_long_lists_take_instructions_in_proportion(program):
    """The entries are packed once."""
    assert instructions_of(program, 96) < 5 * instructions_of(program, 24)
    g = td.GuardedTape(lambda x: program(x, 24))
    for x in POINTS:
        np.testing.assert_allclose(g(x), program(x, 24), rtol=1e-12)
    assert g.stats.recordings == 1


def adaptive(x):
    """A log of the accepted steps of an integrator."""
    t, y, h = 0.0, x[0], 0.1
    times, states = [0.0], [y]
    while t < 2.0:
        h = min(h, 2.0 - t)
        first = math.sin(3 * x[2] * t) - y
        error = abs(h * (math.sin(3 * x[2] * (t + h)) - (y + h * first) - first) / 2)
        if error < 1e-3:
            t, y = t + h, y + h * first
            times.append(t)
            states.append(y)
        h = h * min(2.0, max(0.3, 0.9 * math.sqrt(1e-3 / (error + 1e-12))))
    return times, states


def area_of_a_log(x):
    times, states = adaptive(x)
    return np.trapezoid(np.array(states), np.array(times))


def point_in_a_log(x):
    times, states = adaptive(x)
    return np.interp(1.3, times, states) + states[int(np.searchsorted(times, 0.7))] * x[1] + len(times)


def stack_of_pairs(x):
    stack, total, k = [(1.0, x[0])], 0.0, 0
    while stack and k < 60:
        weight, v = stack.pop()
        total, k = total + weight * v, k + 1
        if abs(v) > 0.4 and len(stack) < 40:
            stack.append((0.5 * weight, 0.7 * v))
            stack.append((0.25 * weight, x[1] - 0.3 * v))
    return total + 0.1 * k


@pytest.mark.parametrize("program", [area_of_a_log, point_in_a_log, stack_of_pairs], ids=lambda f: f.__name__)
@pytest.mark.slow
def test_lists_that_grow_in_loops_that_data_end(program):
    """Their entries are vectors, with room for more entries than the first point has."""
    assert recordings(program, POINTS[:12]) <= 2
    g = td.GuardedTape(program)
    for x in POINTS[:6]:
        np.testing.assert_allclose(g(x), program(x), rtol=1e-10)
        np.testing.assert_allclose(td.gradient(g, x), td.gradient(td.record(program, x), x), rtol=1e-8, atol=1e-10)


def series_with_lags(x, count=120):
    y = [x[0], x[1]]
    for k in range(count):
        y.append(0.5 * y[-1] + 0.2 * y[-2] if y[k] > 0.1 else math.cos(k * x[2]))
    return y[count // 2] + y[-1]


def queue_and_stack(x):
    waiting, done, t = collections.deque((0.2 * k, x[k % 3]) for k in range(12)), [], 0.0
    while waiting and t < 6 + x[0]:
        at, v = waiting.popleft()
        t = max(t, at) + 0.3 + abs(v)
        if v > 0.5 and len(waiting) < 30:
            waiting.append((t, 0.6 * v))
        done.append(t * v)
    return t + sum(done[-3:]) + (done.pop() if done else 0.0) + len(waiting)


@pytest.mark.parametrize("program", [series_with_lags, queue_and_stack], ids=lambda f: f.__name__)
@pytest.mark.slow
def test_the_ends_of_lists_that_grow_in_loops(program, monkeypatch):
    """The last entry is read at its position, and a pop shortens the vector."""
    monkeypatch.setattr(loops, "LONG", 400)
    g = td.GuardedTape(program)
    for x in POINTS[:8]:
        np.testing.assert_allclose(g(x), program(x), rtol=1e-10)
        np.testing.assert_allclose(td.gradient(g, x), td.gradient(td.record(program, x), x), rtol=1e-8, atol=1e-10)
    assert g.stats.recordings <= 2
