"""Of a loop of very many turns one is recorded, with the values and gradients of all turns recorded one by one."""

from __future__ import annotations

import numpy as np

from . import long_loop_programs as programs

POINTS = np.array([[0.3, 0.7], [-0.4, 1.1], [0.9, -0.2]])


def sums(p, items):
    total = 0.0
    for t in items:
        total += p[0] * t + p[1] * t * t
    return total


def beyond(p):
    total = 0.0
    for i in range(programs.TURNS):
        total += p[0] * programs.TIMES[i + 3] * p[1]
    return total


def cautious(p):
    total = 0.0
    try:
        for t in programs.TIMES:
            total += p[0] * t * t + p[1]
    except BaseException:  # noqa: BLE001 -- which it is to be tried with
        return -1.0 * p[0]
    return total


def nested(p):
    n, total = 30, 0.0
    rates = np.linspace(-1.0, 1.0, n)
    for i in range(1, n):
        for rate in rates:
            total = np.tanh(p[0] * total + p[1] * rate) + programs.TIMES[i]
    return total


def lists(p):
    kept, other = [], [p[0]]
    for t in programs.TIMES:
        kept.append(np.sin(t * p[0]))
        other.append(p[1] * other[-1] + 0.1 * t)
    changed = kept[:50] + other[100:]
    changed[3] = p[0] * 1.0
    mixed = [v for pair in zip(kept, other) for v in pair]
    backwards = kept[::-1]
    first = np.sum(np.array(changed) * np.arange(len(changed))) + np.mean(np.stack(backwards)[:7])
    return first + np.sum(mixed * np.cos(np.arange(len(mixed)))) + np.sum(np.array([kept, kept])[1, 5:9])


def changed_later(p):
    kept = []
    for t in programs.TIMES:
        kept.append(t * p[0] + p[1])
    made = np.array(kept)
    made[0] = 5.0 * p[1]
    return np.sum(made) + kept[0]


GAPS = np.random.default_rng(8).normal(size=(40, 30))
GAPS[np.random.default_rng(9).random(GAPS.shape) < 0.1] = np.nan


def filters_of_vectors(p):
    total, step = 0.0, np.array([[1.0, 1.0], [0.0, np.tanh(p[0] - p[1])]])
    for i in range(len(GAPS)):
        m, s = np.zeros(2), 10.0 * np.eye(2)
        for t in range(GAPS.shape[1]):
            m, s = step @ m, step @ s @ step.T + np.exp(p[0]) * np.eye(2)
            if not np.isnan(GAPS[i, t]):
                error, v = GAPS[i, t] - m[0], s[0, 0] + np.exp(p[1])
                m, s = m + s[0] * (error / v), s - np.outer(s[0], s[0]) / v
                total += np.log(v) + error**2 / v
    return total


def filters_of_numbers(p):
    total = 0.0
    for i in range(len(GAPS)):
        m, s = 0.0, 10.0
        for t in range(GAPS.shape[1]):
            m, s = 0.9 * m + p[1], 0.8 * s + np.exp(p[0])
            if not np.isnan(GAPS[i, t]):
                error, v = GAPS[i, t] - m, s + np.exp(p[1])
                m, s = m + s * error / v, s - s**2 / v
                total += np.log(v) + error**2 / v
    return total


SEEN = np.random.default_rng(10).random(130) > 0.2


def filter_of(values, is_seen, gain):
    """A filter of a state of two entries; `gain` of its covariance, and of the noise."""

    def f(p):
        total, m, s = 0.0, np.zeros(2), np.eye(2)
        for t in range(len(values)):
            m, s = np.array([m[0] + m[1], np.tanh(p[0]) * m[1]]), s + np.exp(p[0]) * np.eye(2)
            if is_seen[t]:
                k, size = gain(s, np.exp(p[1]) * np.eye(2))
                error = values[t] - m
                m, s = m + k @ error, s - k @ s
                total += error @ k @ error + size
        return total

    return f


def by_inverse(s, noise):
    return s @ np.linalg.inv(s + noise), np.linalg.slogdet(s + noise)[1]


def by_entries(s, noise):
    whole = s + noise
    size = whole[0, 0] * whole[1, 1] - whole[0, 1] * whole[1, 0]
    return s @ np.array([[whole[1, 1], -whole[0, 1]], [-whole[1, 0], whole[0, 0]]]) / size, np.log(size)


VALUES = np.random.default_rng(11).normal(size=(130, 2))


def steps_by_newtons_method(p):
    x, total = p[0], 0.0
    for k in range(60 // 2):
        y = x
        for _ in range(30):
            slope = 1.0 - 0.05 * p[1] * (1.0 - 3.0 * y * y)
            step = (y - x - 0.05 * (p[1] * (1.0 - y * y) * y - np.sin(k * 0.1))) / slope
            y -= step
            if abs(step) < 1e-13:
                break
        x = y
        total += 0.01 * x
    return total + x


def filters_that_are_recorded_whole(p):
    """The gain is asked for at a name that only the turn's number tells, so that all turns are recorded."""
    total = FILTER(p)
    for k in range(6):
        total += p[0] ** 2 if p[0] * k > p[1] else np.sin(p[1] + k)
    return total


def _whole(p):
    gains = {f"at {t}": by_inverse for t in range(130)}
    total, m, s = 0.0, np.zeros(2), np.eye(2)
    for t in range(130):
        m, s = np.array([m[0] + m[1], np.tanh(p[0]) * m[1]]), s + np.exp(p[0]) * np.eye(2)
        if SEEN[t]:
            k, size = gains[f"at {t}"](s, np.exp(p[1]) * np.eye(2))
            m, s = m + k @ (VALUES[t] - m), s - k @ s
            total += m @ m + size
    return total


FILTER = _whole
MANY = np.random.default_rng(0).normal(size=900)


def writes_where_a_mask_says(p):
    q = p.copy()
    for v in MANY:
        q[q > 0.5] *= 0.9
        q += 0.01 * v
    return q.sum()


def of_patients(count, least, most):
    """Doses that are absorbed and eliminated: so many patients, with so many visits each."""
    rng = np.random.default_rng(5)
    patients = [
        (rng.exponential(1.0, m), (rng.random(m) < 0.4) * 1.0, np.abs(rng.normal(1.0, 0.3, m))) for m in rng.integers(least, most, count)
    ]

    def f(p):
        absorbed, eliminated, total = np.exp(p[0]), 0.4 * np.exp(p[1]), 0.0
        for k, (gaps, doses, seen) in enumerate(patients):
            gut, amount, rate = 0.0, 0.0, eliminated * np.exp(-0.001 * p[0] * k)
            for gap, dose, y in zip(gaps, doses, seen):
                left, stays = np.exp(-absorbed * gap), np.exp(-rate * gap)
                amount = amount * stays + gut * absorbed / (absorbed + rate) * (stays - left)
                gut = gut * left + dose
                total = total - np.log(absorbed) - 0.5 * ((y - amount) / absorbed) ** 2
            total = total - 0.5 * p[1] ** 2
        return total

    return f


FILTERS = {
    "matrices with gaps": filter_of(VALUES, SEEN, by_inverse),
    "numbers with gaps": filter_of(VALUES, SEEN, by_entries),
    "no gaps": filter_of(VALUES, np.ones(130, bool), by_inverse),
    "patients": of_patients(12, 3, 9),
}


PROGRAMS = [
    filters_of_vectors,
    filters_of_numbers,
    steps_by_newtons_method,
    filters_that_are_recorded_whole,
    writes_where_a_mask_says,
    beyond,
    cautious,
    nested,
    lists,
    changed_later,
]
