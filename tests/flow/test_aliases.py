"""Objects, lists and arrays that data choose: joined where nobody can tell, and by reference where somebody can."""

from __future__ import annotations

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import recordings


class Game:
    def __init__(self, v):
        self.points, self.played = [v, 0.0], 1.0

    def add(self, v):
        self.points[0] += v
        self.played += 1
        return self


class Holder:
    pass


def one_name(x):
    game, won = Game(0.1), 0
    for v in x:
        game.points[0 if v > 0 else 1] += abs(v)
        if game.points[0] > 1.5:
            won += 1
            game = Game(v)
    return won + 2 * game.points[0] + game.points[1]


def in_an_attribute(x):
    game, holder = Game(0.1), Holder()
    holder.game = game
    for v in x:
        if v < 0:
            game = Game(v)
        if v > 1:
            holder.game = game
        holder.game.played += v
        game.add(v)
    return game.points[0] + game.played + 2 * holder.game.played + holder.game.points[0]


def nested_lists(x):
    rows = [[0.0], [1.0]]
    row = rows[0]
    for v in x:
        if v > 0:
            rows = [[v], [2 * v]]
        elif v < -1:
            row = rows[1]
        row[0] += v
        rows[0][0] += 1
    return rows[0][0] + 3 * row[0] + rows[1][0]


def in_a_handler(x):
    game = Game(0.1)
    for v in x:
        try:
            before = game
            if v < -0.5:
                game = Game(v)
                raise ValueError
            if v > 1:
                game = Game(2 * v)
                raise KeyError
        except ValueError:
            before.played += 1
        except KeyError:
            game.played += 3
        game.add(v)
    return game.played + before.played + game.points[0]


def lists_that_are_read(x):
    def cost(point):
        return (x[0] - point[0]) ** 2 + (point[1] - x[1] * point[0]) ** 2

    points = [[0.0, 0.1], [x[2], 1.0], [1.0, x[3]]]
    for _ in range(4):
        points = sorted(points, key=cost)
        best, good, worst = points
        reflected = [a + b - c for a, b, c in zip(best, good, worst)]
        if cost(reflected) < cost(good):
            points[2] = reflected
        else:
            points = [best, *([(a + b) / 2 for a, b in zip(best, point)] for point in points[1:])]
    return cost(min(points, key=cost))


def lists_that_are_told_apart(x):
    a, b = [x[0], 1.0], [x[1], 2.0]
    c = a if x[2] > 0 else b
    return (2.0 if c is a else 3.0) * c[0] + {id(a): x[3], id(b): x[4]}[id(c)]


def an_object_or_none(x):
    game, s = None, 0.0
    for v in x:
        if game is not None:
            game.add(v)
            if game.points[0] > 1.0:
                s += game.played
                game = None
        elif v > 0.3:
            game = Game(v)
    return s if game is None else s + game.points[0]


PROGRAMS = [
    one_name, in_an_attribute, nested_lists, in_a_handler, an_object_or_none, lists_that_are_read, lists_that_are_told_apart,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_aliases_stay_aliases(program):
    """One tape, whose values and gradients are those of plain Python, which changes objects through any of their names."""
    assert recordings(program) == 1


def in_two_entries(make, x):
    """Each iteration makes something that has two names, and a third one where data say."""
    s, rows, table = abs(x[0]), [make(x[1]), make(x[2])], {"a": make(x[1]), "b": make(x[2])}
    last, kept = rows[0], (rows[1],)
    while s < 1.5:
        last = rows[0] = rows[1] = make(s * x[4])
        kept = tuple(row for row in [last] if s > x[2])
        table["a"] = table["b"] = make(s)
        s += abs(x[3]) + 0.3
    last[0] += 3.0
    rows[0][0] += 5.0
    table["a"][0] += 7.0
    return rows[1][0] * x[1] + table["b"][0] + sum(row[0] for row in kept)


def lists_in_two_entries(x):
    return in_two_entries(lambda v: [v], x)


def arrays_in_two_entries(x):
    return in_two_entries(lambda v: np.array([v, 1.0]), x)


def filtered_in_a_loop(x):
    s, row = 0.0, [x[1]]
    kept = (row,)
    while s < 1.5:
        row = [s * x[3]]
        kept = tuple(r for r in [row] if s > x[2])
        s += abs(x[0]) + 0.3
    row[0] += 5.0
    return sum(r[0] for r in kept) * 2.0 + row[0]


@pytest.mark.parametrize(("program", "most"), [(lists_in_two_entries, 4), (arrays_in_two_entries, 4), (filtered_in_a_loop, 8)])
def test_what_iterations_make_keeps_its_names(program, most):
    """Such a loop is recorded iteration by iteration; one recording more is for no iteration at all."""
    assert recordings(program) <= most


def test_an_object_or_none_takes_as_much_for_each_iteration():
    """One object stands for those of all iterations before."""
    tapes = [td.record(an_object_or_none, np.linspace(-1.0, 1.0, n), merge=True) for n in (8, 16, 32)]
    counts = [len(tape) for tape in tapes]
    # Twice as many iterations.
    assert counts[2] / counts[1] < 2.3
    assert tapes[2].guard_count == 0


def test_lists_of_numbers_that_are_only_read_are_one_list():
    """Also behind many branches, which would choose between ever more of them."""
    tape = td.record(lists_that_are_read, np.linspace(-1.0, 1.0, 6), merge=True)
    assert tape.guard_count == 0


def test_a_list_that_grows_is_counted_from_the_count_before():
    """Twice as many entries, each looked at with the length: twice as many instructions."""

    def program(x):
        seen, total = [], 0.0
        for v in x:
            if v > 0.1:
                seen.append(v)
            total += v * len(seen)
        return total

    counts = [len(td.record(program, np.linspace(-1.0, 1.0, n), merge=True)) for n in (32, 64)]
    assert counts[1] / counts[0] < 2.3
