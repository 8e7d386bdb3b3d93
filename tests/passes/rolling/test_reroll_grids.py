"""Loops over the cells of grids, several deep: arrays that are written cell by cell become arrays, and recurrences loops in loops."""

import os

import numpy as np
import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st
from support.agreement import by_numpy
from support.passes import without

import tapediff as td
from tapediff.functions.callees import rolled_loop as rolled
from tapediff.targets.tapes.gradient_tape import gradient_tape

# Sums in another order.
TOLERANCE = 1e-10


def names(tape):
    return [i.op.name for i in tape.instructions]


def rolled_tape(f, *points):
    tape = rolled.rolled(td.record(f, *points))
    tape.check()
    return tape


def heat(u, steps):
    rows, columns = u.shape
    for _ in range(steps):
        new = u.copy()
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                new[i, j] = u[i, j] + 0.1 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])
        u = new
    return np.sum(u**2)


def soft_dtw(d):
    rows, columns = d.shape
    r = np.full((rows + 1, columns + 1), 1e6)
    r[0, 0] = 0.0
    r = r + 0.0 * d[0, 0]
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            a, b, c = -r[i - 1, j - 1], -r[i - 1, j], -r[i, j - 1]
            most = np.maximum(np.maximum(a, b), c)
            r[i, j] = d[i - 1, j - 1] - np.log(np.exp(a - most) + np.exp(b - most) + np.exp(c - most)) - most
    return r[rows, columns]


def around(u, steps):
    """Diffusion on a torus, of which no cell is a border."""
    rows, columns = u.shape
    for _ in range(steps):
        new = np.zeros(u.shape) * u[0, 0]
        for i in range(rows):
            for j in range(columns):
                ring = u[(i - 1) % rows, j] + u[(i + 1) % rows, j] + u[i, (j - 1) % columns] + u[i, (j + 1) % columns]
                new[i, j] = 0.2 * ring + 0.1 * np.sin(u[i, j])
        u = new
    return np.sum(u**2)


def sweeps(u, steps):
    """Gauss and Seidel: in place, so that the neighbours above and to the left are new already."""
    u = u.copy()
    rows, columns = u.shape
    for _ in range(steps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return np.sum(u**2)


GRIDS = {
    "heat": (lambda u: heat(u, 12), (9, 11), 40),
    "heat in one row": (lambda u: heat(u, 12), (3, 30), 40),
    "heat on a torus": (lambda u: around(u, 12), (8, 9), 120),
    "soft dynamic time warping": (soft_dtw, (12, 15), 60),
}
POINTS = {name: np.cos(np.arange(np.prod(shape)) * 0.7).reshape(shape) ** 2 for name, (_, shape, _) in GRIDS.items()}


def agree(f, x, compiled):
    """Value and gradient: of the kernel where there is one, of NumPy, and of the tape that nothing was rolled on."""
    tape = td.record(f, x)
    value, expected = without(["reroll"], lambda: by_numpy(lambda: gradient_tape(td.record(f, x), (0,))(x)))
    np.testing.assert_allclose(value, f(x), rtol=TOLERANCE, atol=TOLERANCE)
    answers = [by_numpy(lambda: gradient_tape(tape, (0,))(x))]
    if compiled:
        answers.append(td.value_and_gradient(td.compile(tape), x))
    for answer, gradient in answers:
        np.testing.assert_allclose(answer, value, rtol=TOLERANCE, atol=TOLERANCE)
        np.testing.assert_allclose(gradient, expected, rtol=TOLERANCE, atol=TOLERANCE * max(1.0, np.abs(expected).max(initial=0.0)))


@pytest.mark.parametrize("name", GRIDS)
def test_loops_over_cells_become_loops_over_arrays(name):
    """A few dozen instructions, whatever the numbers of rows, columns and steps; the same answers by kernel, NumPy and plain Python."""
    f, _, most = GRIDS[name]
    tape = rolled_tape(f, POINTS[name])
    assert len(tape) <= most, tape
    assert "loop" in names(tape)
    agree(f, POINTS[name], compiled=True)


@pytest.mark.parametrize("name", ["heat", "soft dynamic time warping"])
def test_the_tape_of_a_grid_does_not_grow_with_it(name):
    """Eight rows more: rows go together by eight, and there is a loop of those that are left over, if there are any."""
    f, shape, _ = GRIDS[name]
    sizes = [len(rolled_tape(f, np.cos(np.arange(float(r * c))).reshape(r, c))) for r, c in ((shape[0] + 4, shape[1] + 5), (shape[0] + 12, shape[1] + 9))]
    assert sizes[0] == sizes[1]


def test_an_array_whose_entries_are_read_once_is_not_kept():
    """The entries of a recurrence along an array are in registers; the array is put together only for its result."""

    def f(x):
        a = np.zeros(40) * x[0]
        a[0] = x[0]
        for k in range(1, 40):
            a[k] = np.sin(a[k - 1]) + x[k]
        return np.sum(a)

    x = np.cos(np.arange(40.0))
    assert not any(name in ("replace", "put") for name in names(rolled_tape(f, x)))
    agree(f, x, compiled=False)


class Grid:
    """A random program on the cells of a grid: two fields, borders of any width, in place or from copies, on a torus or not."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.shape = int(rng.integers(1, 9)), int(rng.integers(1, 12))
        self.steps = int(rng.integers(1, 11))
        self.borders = rng.integers(0, 2, (2, 2)).tolist() if rng.random() < 0.7 else rng.integers(0, 3, (2, 2)).tolist()
        self.stride = int(rng.choice([1, 1, 1, 2]))
        self.by_columns, self.backwards, self.is_copied = (bool(rng.random() < p) for p in (0.3, 0.2, 0.6))
        self.statements = [self._statement() for _ in range(rng.integers(1, 3))]
        self.per_row, self.per_step = (bool(rng.random() < p) for p in (0.3, 0.3))
        self.through_a_view = bool(rng.random() < 0.2)

    def _statement(self):
        rng = self.rng
        into = int(rng.integers(2))
        offsets = [(int(rng.integers(2)), *rng.integers(-1, 2, 2).tolist()) for _ in range(rng.integers(1, 5))]
        shape = [np.tanh, np.sin, lambda v: 0.3 * v, lambda v: v * v * 0.1][rng.integers(4)]
        return into, offsets, shape

    def _cells(self):
        (top, bottom), (left, right) = self.borders
        rows, columns = range(top, self.shape[0] - bottom, self.stride), range(left, self.shape[1] - right)
        rows, columns = (list(reversed(r)) if self.backwards else list(r) for r in (rows, columns))
        if self.by_columns:
            return [[(i, j) for i in rows] for j in columns]
        return [[(i, j) for j in columns] for i in rows]

    def __call__(self, x):
        fields = [x * 1.0, x * 0.5 + 0.1]
        total = x[0, 0] * 0.0
        for _ in range(self.steps):
            new = [f.copy() for f in fields] if self.is_copied else fields
            target = [f[:] for f in new] if self.through_a_view else new
            for line in self._cells():
                for i, j in line:
                    for into, offsets, shape in self.statements:
                        near = [fields[k][(i + a) % self.shape[0], (j + b) % self.shape[1]] for k, a, b in offsets]
                        target[into][i, j] = 0.5 * fields[into][i, j] + shape(sum(near)) * 0.2
                if self.per_row:
                    total = total + new[0][line[0]] if line else total
            if self.per_step:
                total = 0.5 * total + np.sin(new[1][-1, -1])
            fields = new
        return np.sum(fields[0] ** 2) + np.sum(fields[1] * 0.3) + total


# TAPEDIFF_FUZZ_EXAMPLES turns this into a long run.
EXAMPLES = max(1, int(os.environ.get("TAPEDIFF_FUZZ_EXAMPLES", 24)) // 2)


@hypothesis_settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**32 - 1))
def test_random_programs_on_grids_give_the_same_answers(seed):
    f = Grid(seed)
    agree(f, np.cos(np.arange(np.prod(f.shape)) * 0.9).reshape(f.shape), compiled=False)
