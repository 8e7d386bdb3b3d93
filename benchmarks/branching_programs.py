"""Plain functions of three numbers as people write them, with branches and loops that look at data: for benchmarks of first calls."""

import math

import numpy
import numpy as np

_rng = numpy.random.default_rng(20261123)
DAILY = _rng.gamma(2.0, 1.0, size=90)
PRICES = numpy.exp(numpy.cumsum(0.02 * _rng.normal(size=120)))
INCOMES = _rng.lognormal(3.0, 0.8, size=60)
FEATURES = _rng.normal(size=(80, 2))
LABELS = numpy.where(FEATURES @ [1.0, -0.5] + 0.3 * _rng.normal(size=80) > 0.0, 1.0, -1.0)
WORD, OTHER = _rng.integers(0, 4, size=9), _rng.integers(0, 4, size=8)
SERVICE, BETWEEN = _rng.exponential(0.9, size=100), _rng.exponential(1.0, size=100)
KNOTS = numpy.linspace(-2.0, 2.0, 9)
GRID = _rng.uniform(0.2, 1.0, size=(6, 6))


def stock_with_reorders(x):
    """An (s, S) policy: below one level, order up to another."""
    level, cost, order = 6.0, 0.0, 0.0
    for demand in DAILY:
        level = level + order - demand * x[0]
        order = 0.0
        if level < 0.0:
            cost = cost - 4.0 * level
            level = 0.0
        else:
            cost = cost + 0.1 * level
        if level < 3.0 + x[1]:
            order = 8.0 + x[2] - level
            cost = cost + 1.0
    return cost / len(DAILY)


def thermostat(x):
    """A heater that turns on below one temperature and off above another."""
    warmth, is_on, used = 18.0 + x[0], True, 0.0
    for k in range(120):
        outside = 5.0 + 4.0 * math.sin(k / 10.0)
        heat = 1.5 + 0.2 * x[1] if is_on else 0.0
        warmth = warmth + 0.1 * (heat - 0.05 * (warmth - outside) * (1.0 + 0.1 * x[2]))
        used = used + heat
        if warmth > 21.0:
            is_on = False
        elif warmth < 19.0:
            is_on = True
    return used * 0.1 + warmth


def brackets(x):
    """A tax with three rates, on many incomes."""
    total = 0.0
    for income in INCOMES:
        scaled = income * (1.0 + 0.1 * x[0])
        if scaled < 10.0:
            tax = 0.0
        elif scaled < 30.0:
            tax = (0.2 + 0.02 * x[1]) * (scaled - 10.0)
        else:
            tax = (0.2 + 0.02 * x[1]) * 20.0 + (0.4 + 0.05 * x[2]) * (scaled - 30.0)
        total = total + tax
    return total


def spikes(x):
    """A neuron that integrates and fires; a spike resets it for a while."""
    voltage, wait, fired = 0.0, 0.0, 0.0
    for k in range(200):
        if wait > 0.0:
            wait = wait - 1.0
            continue
        voltage = voltage + 0.1 * (x[0] + 1.5 + 0.3 * math.sin(0.1 * k) - voltage * (0.8 + 0.1 * x[1]))
        if voltage > 1.0:
            fired = fired + voltage
            voltage = 0.1 * x[2]
            wait = 5.0
    return fired + voltage


def pinball(x):
    """A regression for a quantile."""
    loss = 0.0
    for (a, b), y in zip(FEATURES, LABELS):
        e = y - x[0] - x[1] * a - x[2] * b
        loss += 0.8 * e if e > 0.0 else -0.2 * e
    return loss


def margins(x):
    """A support vector machine's smoothed hinge."""
    loss = 0.05 * (x[1] ** 2 + x[2] ** 2)
    for k in range(len(LABELS)):
        m = LABELS[k] * (x[0] + x[1] * FEATURES[k, 0] + x[2] * FEATURES[k, 1])
        if m >= 1.0:
            continue
        if m > 0.0:
            loss = loss + 0.5 * (1.0 - m) ** 2
        else:
            loss = loss + 0.5 - m
    return loss


def stop_loss(x):
    """A position that is sold where the price has fallen far enough, and bought again later."""
    cash, shares, top = 0.0, 1.0, 1.0
    held = True
    for price in PRICES:
        p = price * (1.0 + 0.01 * x[0])
        if held:
            top = max(top, p)
            if p < top * (0.97 - 0.01 * x[1]):
                cash, shares, held = cash + shares * p, 0.0, False
                low = p
        else:
            low = min(low, p)
            if p > low * (1.02 + 0.01 * x[2]):
                shares, cash, held, top = cash / p, 0.0, True, p
    return cash + shares * PRICES[-1]


def alignment(x):
    """The best local alignment of two words: match, mismatch and gap are scores."""
    match, other, gap = 1.0 + 0.1 * x[0], -0.6 + 0.1 * x[1], -0.5 + 0.1 * x[2]
    best, above = 0.0, [0.0] * (len(OTHER) + 1)
    for a in WORD:
        row = [0.0]
        for k, b in enumerate(OTHER):
            row.append(max(0.0, above[k] + (match if a == b else other), above[k + 1] + gap, row[k] + gap))
            best = max(best, row[-1])
        above = row
    return best


def cheapest_way(x):
    """The cheapest way down a grid of costs, to one of three neighbours each time."""
    costs = [GRID[0, j] * (1.0 + 0.1 * x[j % 3]) for j in range(6)]
    for i in range(1, 6):
        costs = [min(costs[max(j - 1, 0)], costs[j], costs[min(j + 1, 5)]) + GRID[i, j] * (1.0 + 0.1 * x[(i + j) % 3]) for j in range(6)]
    return min(costs)


def rocket(x):
    """Burns until the fuel is gone, and falls until it is back."""
    height, speed, fuel, highest, t = 0.0, 0.0, 1.0 + 0.1 * x[0], 0.0, 0.0
    while height >= 0.0 and t < 200.0:
        thrust = 0.0
        if fuel > 0.0:
            thrust = 2.5 + 0.2 * x[1]
            fuel = fuel - 0.02
        drag = (0.1 + 0.01 * x[2]) * speed * abs(speed)
        speed = speed + 0.05 * (thrust - 1.0 - drag)
        height = height + 0.05 * speed
        highest = max(highest, height)
        t = t + 1.0
    return highest + 0.1 * t * x[1]


def thrown(x):
    """Where a ball with drag lands, between two steps."""
    a, b, u, v = 0.0, 1.0, 2.0 + 0.3 * x[0], 2.0 + 0.3 * x[1]
    while b > 0.0:
        before = a, b
        drag = (0.05 + 0.01 * x[2]) * np.sqrt(u * u + v * v)
        u, v = u - 0.02 * drag * u, v - 0.02 * (1.0 + drag * v)
        a, b = a + 0.02 * u, b + 0.02 * v
    share = before[1] / (before[1] - b)
    return before[0] + share * (a - before[0])


def waiting_times(x):
    """Lindley's recursion: how long customers of one counter wait."""
    wait, total, late = 0.0, 0.0, 0.0
    for s, a in zip(SERVICE, BETWEEN):
        wait = max(0.0, wait + s * (1.0 + 0.1 * x[0]) - a * (1.0 + 0.1 * x[1]))
        total = total + wait
        if wait > 2.0:
            late = late + (wait - 2.0) ** 2
    return total + 0.1 * late * x[2]


def stick_and_slip(x):
    """A block on a belt that sticks until the spring pulls it loose."""
    place, speed, total = 0.0, 0.3 + 0.05 * x[0], 0.0
    for _ in range(150):
        pull = -(1.0 + 0.1 * x[1]) * place
        gap = speed - 0.3
        if abs(gap) < 0.01 and abs(pull) < 0.5 + 0.05 * x[2]:
            speed = 0.3 + 0.0 * pull
        else:
            friction = -0.4 if gap > 0.0 else 0.4
            speed = speed + 0.05 * (pull + friction)
        place = place + 0.05 * speed
        total = total + place * place
    return total


def secant(x):
    """A root by the secant method; returns as soon as it is good enough."""
    a, b = 0.5, 2.0
    fa = a**3 + x[0] * a - 2.0 - 0.3 * x[1]
    for _ in range(40):
        fb = b**3 + x[0] * b - 2.0 - 0.3 * x[1]
        if abs(fb) < 1e-12:
            return b * x[2]
        a, b, fa = b, b - fb * (b - a) / (fb - fa), fb
    return b * x[2]


def looked_up(x):
    """Linear interpolation in a table, found by going through it."""
    total = 0.0
    for k in range(30):
        at = 1.5 * math.sin(k) + 0.2 * x[k % 3]
        for j in range(1, len(KNOTS)):
            if at < KNOTS[j]:
                break
        share = (at - KNOTS[j - 1]) / (KNOTS[j] - KNOTS[j - 1])
        total = total + (1.0 - share) * math.cos(KNOTS[j - 1]) + share * math.cos(KNOTS[j])
    return total


def clipped_descent(x):
    """Gradient descent whose steps are no longer than 1, until they are short."""
    a, b = 2.0 + x[0], -1.5 + x[1]
    for _ in range(60):
        ga, gb = 2.0 * (a - 1.0) + 0.5 * b, 4.0 * (b + 0.3 * x[2]) + 0.5 * a
        norm = np.sqrt(ga * ga + gb * gb)
        if norm < 1e-3:
            break
        size = 0.2 / max(1.0, norm)
        a, b = a - size * ga, b - size * gb
    return a * a + b


def collatz_like(x):
    """Halved where it is above a line and lifted where it is below, until it stays."""
    v, turns = 3.0 + x[0], 0
    while turns < 50:
        if v > 2.0 + 0.1 * x[1]:
            v = 0.5 * v
        elif v < 1.0:
            v = 1.7 * v + 0.1 * x[2]
        else:
            break
        turns += 1
    return v + 0.01 * turns


PROGRAMS = (
    stock_with_reorders, thermostat, brackets, spikes, pinball, margins, stop_loss, alignment, cheapest_way, rocket, thrown,
    waiting_times, stick_and_slip, secant, looked_up, clipped_descent, collatz_like,
)  # fmt: skip
