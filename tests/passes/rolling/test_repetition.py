"""Where the boundary between the iterations of a repeated body is put: where the Python loop has it, if that costs no carries."""

import numpy as np
import pytest
from passes.rolling.both_ways import agree, made

import tapediff as td
from tapediff.passes.rolling.repetition import Finder, _run, _runs
from tapediff.passes.rolling.tape_arrays import TapeArrays

SERIES = np.sin(0.9 * np.arange(40.0))


def soft(*values):
    least = values[0]
    for value in values[1:]:
        least = np.minimum(least, value)
    return least - np.log(sum(np.exp(least - value) for value in values))


def time_warping(n):
    """Soft dynamic time warping: numbers at the border of the table, so that the first row has other operations."""

    def f(x):
        above = [0.0] + [1e10] * n
        for i in range(n):
            row = [1e10]
            for j in range(n):
                a, b, c = above[j], above[j + 1], row[j]
                least = np.minimum(np.minimum(a, b), c)
                found = least - np.log(np.exp(least - a) + np.exp(least - b) + np.exp(least - c))
                row.append((x[i] - SERIES[j]) ** 2 + found)
            above = row
        return above[n]

    return f


def affine_gaps(n):
    """Alignment with costs for opening and for going on with a gap: three tables."""

    def f(x):
        m, u = [0.0] + [30.0] * n, [30.0] * (n + 1)
        for i in range(n):
            m_row, u_row, v = [30.0], [30.0], 30.0
            for j in range(n):
                u_row.append(soft(m[j + 1] + 1.0, u[j + 1] + 0.3))
                v = soft(m_row[j] + 1.0, v + 0.3)
                m_row.append(soft(m[j] + np.abs(x[i] - SERIES[j]), u_row[j + 1], v))
            m, u = m_row, u_row
        return m[n]

    return f


def edit_distance(n):
    """A table whose cells a function makes."""

    def cell(corner, up, left, x, y):
        return soft(corner + (x - y) ** 2, up + 0.5, left + 0.5)

    def f(x):
        above = [0.5 * j for j in range(n + 1)]
        for i in range(n):
            row = [0.5 * (i + 1)]
            for j in range(n):
                row.append(cell(above[j], above[j + 1], row[j], x[i], SERIES[j]))
            above = row
        return above[n]

    return f


PROGRAMS = (time_warping, affine_gaps, edit_distance)


def point(n):
    return SERIES[:n] + 0.3 * np.cos(np.arange(n) * 1.7)


def test_the_rows_of_a_table_are_cut_where_python_goes_on_to_the_next_cell():
    """All rows but the first have all their cells, and begin with the first operation of a cell."""
    sequence = TapeArrays(td.record(time_warping(14), point(14)))
    finder, place, found = Finder(sequence), 0, []
    while (repetition := finder.next(place)) is not None:
        found.append(repetition)
        place = repetition.end
    assert [each.count for each in found[1:]] == [14] * 13
    names = {sequence.tape.instructions[int(sequence.members[each.start])].op.name for each in found[1:]}
    assert names == {"minimum"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_tables_are_loops_around_loops(program):
    """The rolled tape does not grow with the table; for one recurrence it is short, as no rows stand apart (313 if they do)."""
    short, long = (len(made(program(n), point(n))) for n in (16, 32))
    assert long <= short + 4
    assert program is not time_warping or long < 60


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.slow
def test_tables_have_the_right_gradient(program):
    """Kernels and NumPy against the operations as they were recorded, at two points, and against differences."""
    agree(program(11), point(11), 0.5 * point(11) + 0.1, hessian=False)
    td.testing.check_gradient(td.compile(program(12), point(12)), program(12), point(12))


@pytest.mark.parametrize("seed", range(20))
def test_stretches_around_a_place_end_where_the_next_entries_are_not_true(seed):
    """Of each column as of one alone, and of one alone by walking; also at the ends, and where the place itself is not true."""
    rng = np.random.default_rng(seed)
    flags = rng.random((rng.integers(1, 9), 6)) < 0.75
    for place in range(len(flags)):
        for column, start, stop in zip(flags.T, *_runs(flags, place)):
            first = last = place
            while column[place] and first > 0 and column[first - 1]:
                first -= 1
            while last < len(column) and column[last]:
                last += 1
            assert (start, stop) == _run(column, place) == (first, last)
