"""Long programs that do not repeat, as users write them: trees, graphs, tables, chains of unlike parts. Drawn at random, by size.

A program is a function of one vector (and arrays of data) to a number; numbers stay of size 1, so that rounding does not grow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapediff as td

Program = tuple[Callable[..., Any], tuple[Any, ...]]


def _draw(n: int, seed: int) -> tuple[np.random.Generator, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng, rng.uniform(0.4, 1.6, max(12, n // 20))


def expression_trees(n: int) -> Program:
    """Formulas with choices, as they come from symbolic regression or a parser."""
    rng, x = _draw(n, 1)
    trees: list[Any] = [int(k) for k in rng.integers(0, len(x), n // 3)]
    while len(trees) > n // 60 + 1:
        i, j = sorted(rng.choice(len(trees), 2, replace=False))
        b, a = trees.pop(j), trees.pop(i)
        trees.append((int(rng.integers(0, 9)), a, b))

    def value(tree, x):
        if isinstance(tree, int):
            return x[tree]
        op, a, b = tree[0], value(tree[1], x), value(tree[2], x)
        if op == 0:
            return np.where(a > b, a * b, a - 0.5 * b)
        if op == 1:
            return np.where(a > 0.3, np.sqrt(np.abs(a) + 0.1), b)
        if op == 2:
            return np.maximum(a, 0.9 * b)
        return (a + b, a - 0.5 * b, np.tanh(a) * b, np.sin(a + b), np.log1p(np.abs(a)) + b, a / (1.0 + b * b))[op - 3]

    return lambda x: sum(np.tanh(value(tree, x)) for tree in trees), (x,)


def alignment(n: int) -> Program:
    """Cells of an edit distance with soft and hard minima, over a band that is as wide as it happens to be."""
    rng, x = _draw(n, 2)
    rows = max(2, int((n / 8) ** 0.5 * 0.8))
    first = np.sort(rng.integers(0, rows, rows)) * 0.7
    letters = rng.integers(0, len(x), (2, 3 * rows))

    def f(x):
        before = {0: 0.0}
        for i in range(rows):
            cells = {}
            low = int(first[i])
            for j in range(low, low + rows // 2 + int(letters[0, i]) % 5 + 1):
                near = [v for v in (before.get(j - 1), before.get(j), cells.get(j - 1)) if v is not None]
                cost = (x[letters[0, i]] - x[letters[1, j]]) ** 2
                if not near:
                    cells[j] = cost + 1.0
                elif letters[1, j] % 3:
                    best = near[0]
                    for v in near[1:]:
                        best = np.minimum(best, v + 0.3)
                    cells[j] = 0.5 * cost + 0.9 * best
                else:
                    cells[j] = cost - np.log(sum(np.exp(-v) for v in near))
            before = cells
        return sum(before.values())

    return f, (x,)


def circuit(n: int) -> Program:
    """Gates on earlier outputs: soft and hard logic."""
    rng, x = _draw(n, 3)
    gates = [(int(rng.integers(0, 6)), *(int(v) for v in rng.integers(max(0, k - 200), k + len(x), 2))) for k in range(n // 3)]

    def f(x):
        out = list(x)
        for gate, i, j in gates:
            a, b = out[i], out[j]
            if gate == 0:
                out.append(np.fmax(a, b) * 0.9)
            elif gate == 1:
                out.append(np.fmin(a, 1.0 - b) + 0.5)
            elif gate == 2:
                out.append(1.0 / (1.0 + np.exp(2.0 * a - b)))
            elif gate == 3:
                out.append(np.where(a < b, a + 0.1 * b, b * a))
            elif gate == 4:
                out.append(np.clip(a + b - 1.0, 0.0, 1.0))
            else:
                out.append(a + b - 2.0 * a * b)
        return sum(out[-40:])

    return f, (x,)


def message_passing(n: int) -> Program:
    """Vectors of 3 at the nodes of a graph with 1 to 5 neighbours, of whose messages the largest counts as well."""
    rng, x = _draw(n, 4)
    nodes = max(4, n // 30)
    neighbours = [rng.integers(0, nodes, int(rng.integers(1, 6))).tolist() for _ in range(nodes)]
    features, size = rng.normal(size=(nodes, 3)), len(x)

    def f(x):
        W = np.reshape(x[:9], (3, 3)) - 0.9
        h = [np.tanh(features[k] * x[k % size]) for k in range(nodes)]
        for _ in range(2):
            h = [
                np.tanh(W @ h[k] + sum(h[j] * x[(j + k) % size] for j in near) / len(near) + 0.1 * np.max([h[j] for j in near], axis=0))
                for k, near in enumerate(neighbours)
            ]
        return sum(v @ v for v in h)

    return f, (x,)


def _observations(rng: np.random.Generator, count: int, size: int) -> list[tuple[int, float, int]]:
    """Of each step: the sensor, what it tells, and which parameter is the time since the last step."""
    return list(zip(rng.integers(0, 3, count).tolist(), rng.normal(size=count).tolist(), rng.integers(0, size, count).tolist()))


def kalman_numbers(n: int) -> Program:
    """A filter of two states, written out in numbers; what is observed differs from step to step."""
    rng, x = _draw(n, 5)
    steps = _observations(rng, n // 35, len(x))

    def f(x):
        m0, m1, p00, p01, p11, total = 0.0, 0.0, 1.0, 0.0, 1.0, 0.0
        for sensor, y, i in steps:
            dt = 0.1 * x[i]
            m0 = m0 + dt * m1
            p00 = p00 + dt * (2.0 * p01 + dt * p11) + 0.1 * x[0]
            p01 = p01 + dt * p11
            p11 = p11 + 0.1 * x[1]
            if sensor == 0:
                s, e, k0, k1 = p00 + x[2], y - m0, p00, p01
            elif sensor == 1:
                s, e, k0, k1 = p11 + x[3], y - m1, p01, p11
            else:
                continue
            m0, m1 = m0 + k0 * e / s, m1 + k1 * e / s
            p00, p01, p11 = p00 - k0 * k0 / s, p01 - k0 * k1 / s, p11 - k1 * k1 / s
            total = total + np.log(s) + e * e / s
        return total

    return f, (x,)


def kalman_arrays(n: int) -> Program:
    """The same with arrays of two."""
    rng, x = _draw(n, 6)
    steps = _observations(rng, n // 20, len(x))
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])

    def f(x):
        m, P, total = np.zeros(2), np.eye(2), 0.0
        for sensor, y, i in steps:
            F = np.array([[1.0, 0.1 * x[i]], [0.0, 1.0]])
            m, P = F @ m, F @ P @ F.T + 0.1 * x[0] * np.eye(2)
            if sensor < 2:
                H = rows[sensor]
                gain = P @ H
                s, e = H @ gain + x[2], y - H @ m
                m, P = m + gain * (e / s), P - np.outer(gain, gain) / s
                total = total + np.log(s) + e * e / s
        return total

    return f, (x,)


def tree_likelihood(n: int) -> Program:
    """Felsenstein's pruning on a random tree, with vectors of 4."""
    rng, x = _draw(n, 7)
    leaves = max(3, n // 14)
    alive: list[Any] = [int(k) for k in rng.integers(0, 4, leaves)]
    while len(alive) > 1:
        count = min(len(alive), 2 if rng.random() < 0.8 else 3)
        parts = [alive.pop(int(rng.integers(0, len(alive)))) for _ in range(count)]
        alive.append([(part, int(rng.integers(0, len(x)))) for part in parts])
    bases, ones = np.eye(4), np.ones((4, 4)) / 4

    def partial(node, x):
        if isinstance(node, int):
            return bases[node], 0.0
        product, scale = 1.0, 0.0
        for child, k in node:
            below, log = partial(child, x)
            decay = np.exp(-x[k])
            product = product * ((decay * bases + (1.0 - decay) * ones) @ below)
            scale = scale + log
        largest = np.max(product)
        return product / largest, scale + np.log(largest)

    def f(x):
        likelihood, scale = partial(alive[0], x)
        return np.log(np.sum(likelihood) / 4) + scale

    return f, (x,)


def kinematics(n: int) -> Program:
    """Chains of joints of several kinds, with 3 x 3 rotations, and the distances of their ends from targets."""
    rng, x = _draw(n, 8)
    joints = [(int(rng.integers(0, 4)), int(rng.integers(0, len(x)))) for _ in range(max(2, n // 12))]
    links, target = rng.normal(size=(len(joints), 3)) * 0.3, np.array([0.3, 0.2, 0.1])

    def f(x):
        total, R, p = 0.0, np.eye(3), np.zeros(3)
        for k, (kind, i) in enumerate(joints):
            c, s = np.cos(x[i]), np.sin(x[i])
            if kind == 0:
                R = R @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
            elif kind == 1:
                R = R @ np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
            elif kind == 2:
                p = p + x[i] * R[:, 2]
            else:
                total = total + np.sum((p - target) ** 2)
                p = 0.1 * p
            p = p + R @ links[k]
        return total + p @ p

    return f, (x,)


def lookups(n: int) -> Program:
    """Parameters looked up where data say, and where computed numbers say; the data are an argument."""
    rng, x = _draw(n, 9)
    codes = [(int(rng.integers(0, 3)), int(rng.integers(0, n // 8))) for _ in range(n // 8)]
    where = rng.integers(0, len(x), n // 8)

    def f(x, where):
        total, last = 0.0, x[0]
        for kind, k in codes:
            a = x[where[k]]
            if kind == 0:
                last = a * last + 0.1
            elif kind == 1:
                last = np.sin(last) + a * x[where[k - 1]]
            else:
                last = np.where(a > last, a, 0.5 * last)
            total = total + last * last
        return total

    return f, (x, td.Constant(where))


def reactions(n: int) -> Program:
    """The right-hand side of a sparse network of reactions, with different rate laws."""
    rng, x = _draw(n, 10)
    species = max(4, n // 20)
    laws = [(int(rng.integers(0, 4)), *(int(v) for v in rng.integers(0, species, 3)), int(rng.integers(0, len(x)))) for _ in range(n // 9)]
    start = rng.uniform(0.2, 1.5, species)

    def f(x):
        y, dy = start * x[0], [0.0] * species
        for law, a, b, c, k in laws:
            if law == 0:
                rate = x[k] * y[a]
            elif law == 1:
                rate = x[k] * y[a] * y[b]
            elif law == 2:
                rate = x[k] * y[a] / (0.5 + y[a])
            else:
                rate = np.where(y[a] > 0.7, x[k] * y[a] ** 2, 0.0)
            dy[a] = dy[a] - rate
            dy[c] = dy[c] + rate
        return sum(np.tanh(d) ** 2 for d in dy)

    return f, (x,)


def rigid_bodies(n: int) -> Program:
    """Velocities and energies of a tree of bodies, with cross products of vectors of 3."""
    rng, x = _draw(n, 11)
    count = max(3, n // 45)
    parents = [int(rng.integers(0, k)) for k in range(1, count)]
    axes, arms, kinds = rng.normal(size=(count, 3)) * 0.4, rng.normal(size=(count, 3)) * 0.4, rng.integers(0, 3, count)

    def f(x):
        spins, speeds, energy = [axes[0] * x[0]], [arms[0] * x[1]], 0.0
        for k, parent in enumerate(parents, 1):
            rate = x[k % len(x)]
            spin, speed = spins[parent] * 0.8, speeds[parent] * 0.8 + np.cross(spins[parent], arms[k])
            if kinds[k] == 0:
                spin = spin + axes[k] * rate
            elif kinds[k] == 1:
                speed = speed + axes[k] * rate
            else:
                spin = spin + np.cross(axes[k], speed) * rate
            spins.append(spin)
            speeds.append(speed)
            energy = energy + 0.5 * speed @ speed + 0.1 * np.linalg.norm(spin) ** 2
        return energy

    return f, (x,)


def ragged_groups(n: int) -> Program:
    """A dictionary of parameters, and groups of observations of different number and kind."""
    rng, x = _draw(n, 12)
    groups = [(int(rng.integers(0, 3)), rng.normal(size=int(rng.integers(1, 6))).tolist()) for _ in range(max(2, n // 25))]
    size = len(x) - 3

    def f(x):
        parameters = {"mean": x[0], "spread": x[1], "tail": x[2], "effects": x[3:]}
        total = 0.0
        for k, (kind, ys) in enumerate(groups):
            centre = parameters["mean"] + parameters["spread"] * parameters["effects"][k % size]
            for y in ys:
                r = (y - centre) / parameters["spread"]
                if kind == 0:
                    total = total - 0.5 * r * r
                elif kind == 1:
                    total = total - np.where(np.abs(r) < 1.0, 0.5 * r * r, np.abs(r) - 0.5)
                else:
                    total = total - 2.0 * np.log1p(r * r / parameters["tail"])
            total = total - len(ys) * np.log(parameters["spread"])
        return total

    return f, (x,)


def parser(n: int) -> Program:
    """The inside algorithm: scores of spans, each over the splits that a grammar allows."""
    rng, x = _draw(n, 13)
    words = max(3, int((n * 1.3) ** (1 / 3) * 1.5))
    allowed = {(i, k, j): bool(rng.random() < 0.6) for i in range(words) for j in range(i + 2, words + 1) for k in range(i + 1, j)}
    size = len(x)

    def f(x):
        inside = {(i, i + 1): 0.3 * x[i % size] for i in range(words)}
        for length in range(2, words + 1):
            for i in range(words - length + 1):
                j = i + length
                terms = [inside[i, k] + inside[k, j] for k in range(i + 1, j) if allowed[i, k, j] or k == i + 1]
                score = terms[0]
                for term in terms[1:]:
                    score = np.logaddexp(score, term)
                inside[i, j] = 0.5 * score + 0.1 * x[(i * j) % size]
        return inside[0, words]

    return f, (x,)


def molecule(n: int) -> Program:
    """Bonds, angles, torsions and contacts of atoms, each kind with its formula, on rows of a matrix of positions."""
    rng, x = _draw(n, 14)
    atoms = max(5, n // 40)
    terms = [(int(rng.integers(0, 4)), *(int(v) for v in rng.choice(atoms, 4, replace=False))) for _ in range(max(2, n // 25))]
    grid = np.stack(np.unravel_index(np.arange(atoms), (int(atoms ** (1 / 3)) + 1,) * 3), 1) + rng.uniform(-0.2, 0.2, (atoms, 3))

    def f(x):
        places, energy = grid * 0.7 * x[3], 0.0
        for kind, i, j, k, m in terms:
            a = places[i] - places[j] * x[4]
            if kind == 0:
                energy = energy + x[0] * (np.sqrt(a @ a) - 1.0) ** 2
            elif kind == 1:
                b = places[k] - places[j]
                energy = energy + x[1] * (a @ b) / np.sqrt((a @ a) * (b @ b))
            elif kind == 2:
                b, c = places[k] - places[j], places[m] - places[k]
                u, v = np.cross(a, b), np.cross(b, c)
                energy = energy + np.tanh((u @ v) / (0.1 + np.sqrt((u @ u) * (v @ v))))
            else:
                d = np.sum(a**2)
                energy = energy + np.where(d < 4.0, x[2] * (4.0 - d) ** 2 * 0.1, 0.0)
        return energy

    return f, (x,)


PROGRAMS = (
    expression_trees, alignment, circuit, message_passing, kalman_numbers, kalman_arrays, tree_likelihood, kinematics, lookups, reactions,
    rigid_bodies, ragged_groups, parser, molecule,
)  # fmt: skip
