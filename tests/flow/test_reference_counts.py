"""Who else holds an object or an iterator is known on every Python: on some, variables lend what they hold to calls, which does not count."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tapediff as td
from flow.one_tape import POINTS, recordings
from tapediff.base import byte_code


class Box:
    def __init__(self, value):
        self.value = value


def a_list_of_a_call_beside_an_attribute(x):
    box = Box(0.0)

    def doubled():
        made = [x[1] * 2]
        made.append(3.0)
        return sum(made)

    if x[0] > 0:
        box.value = doubled()
    else:
        made = [x[1]]
        made.append(2.0)
        box.value = made[0] * 3
    return box.value * x[0]


def an_entry_that_one_tuple_holds(x):
    table = {"a": x[0]}
    kept = (table,)
    del table

    def enter():
        made = [x[1]]
        made.append(x[0])
        kept[0]["a"] = made[0] * made[1]

    if x[0] > x[1]:
        enter()
    return kept[0]["a"] + 1


def a_total_in_a_list(x):
    total = [0.0]

    def add(v):
        made = [v]
        made[0] = made[0] * 2
        total[0] = total[0] + made[0]

    for v in x:
        if v > 0.5:
            add(v)
        else:
            made = [v]
            made.append(1.0)
            total[0] += made[1]
    return total[0] * x[0]


def an_object_that_a_list_holds(x):
    made = []

    def keep(v):
        box = Box(v)
        made.append(box)
        return box

    box = keep(x[0]) if x[0] > x[1] else keep(x[1])
    box.value = box.value * 3
    return made[0].value + box.value * x[0]


def lists_of_two_variables(x):
    a, b = [x[0]], [x[1]]
    first = a
    if x[0] > x[1]:
        a, b = b, a
    a[0] = a[0] * 2
    return first[0] + 10 * b[0]


def values(x):
    for v in x:
        yield v * 2
    yield x[0] * x[1]


def until(steps, most):
    total = 0.0
    for v in steps:
        total += v
        if v > most:
            return total
    return total


def a_generator_in_a_variable(x):
    steps, total = values(x), 0.0
    for v in steps:
        total += v
        if v > 1:
            break
    return total + 10 * sum(steps)


def a_generator_expression_in_a_variable(x):
    steps, total = (v * v for v in x), x[0]
    for v in steps:
        if v > 1:
            total += v
            break
    for v in steps:
        total += 7 * v
    return total


def a_generator_that_is_passed_twice(x):
    steps = values(x)
    return until(steps, 1.0) + 3 * until(steps, 0.5) + x[0]


def an_iterator_in_a_variable(x):
    steps, total = iter([x[0], x[1], 2.0]), 0.0
    for v in steps:
        total += v
        if v > x[1]:
            break
    for v in steps:
        total += 5 * v
    return total


def an_iterator_on_one_side(x):
    steps, total = iter([x[0], x[1] * 3, x[2]]), 0.0
    if x[0] > 0:
        for v in steps:
            total += v
            break
    for v in steps:
        total += 2 * v
    return total


def an_iterator_in_pairs(x):
    steps, total = iter(list(x)), 0.0
    for a, b in zip(steps, steps):
        if a > x[1]:
            total += a * b
            break
        total += a
    for c in steps:
        total += 9 * c
    return total


def an_entry_by_default_that_a_variable_holds(x):
    table, made = {}, []
    entry = table.setdefault("a", made)
    if x[0] > 0:
        entry.append(x[1])
    return len(made) + sum(table["a"]) * x[0]


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__ and f not in (Box, values, until)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_others_hold_is_known(program):
    """Values and gradients are Python's: nothing that is still held is taken for dead or for the loop's own."""
    recordings(program, POINTS)


@pytest.mark.parametrize("program", PROGRAMS)
def test_where_references_tell_nothing_all_is_held(program, monkeypatch):
    """On interpreters that are not known: right answers, or a refusal that names a line."""
    monkeypatch.setattr(byte_code, "COUNTS_REFERENCES", False)
    try:
        recordings(program, POINTS[:8])
    except td.TapediffError as refusal:
        assert "\n  at:  " in str(refusal)  # noqa: PT017


@pytest.mark.skipif(not byte_code.COUNTS_REFERENCES, reason="the references of this interpreter are not counted")
def test_one_recording_where_only_the_call_holds_an_iterator():
    """A generator that is made for a loop, or is the argument of a builtin, runs with it; a list of a side is joined."""

    def program(x):
        total = sum(v for v in x if v > 0)
        for v in values(x):
            total += v
            if v > 1:
                break
        made = Box([x[0]]) if x[1] > 0 else Box([x[2]])
        made.value[0] = made.value[0] * 2
        return total + made.value[0]

    assert recordings(program, POINTS) == 1


def sorted_in_place(x):
    """The simplex of Nelder and Mead: a list that is sorted, and replaced by a new one on some sides."""
    points = [[x[0], 0.5], [x[0] + 0.8, 0.2], [x[0] - 0.1, 1.2]]
    for k in range(3):
        points.sort(key=lambda p: p[0] * p[1] + (p[0] - x[1]) ** 2)
        new = [points[0][0] + points[1][0] - points[2][0], points[1][1]]
        if new[0] > points[0][0]:
            points[2] = new
        else:
            points = [points[0]] + [[0.5 * (p[0] + x[2]), p[1] + k] for p in points[1:]]
    return points[0][0] + 3 * points[2][1]


def inserted_into(x):
    kept = [x[0], x[1]]
    for k in range(3):
        kept.insert(0, x[2] * k)
        last = kept.pop()
        if last > 0.1:
            kept[0] = last
        else:
            kept = [2 * v for v in kept]
    return kept[0] + 3 * kept[1]


@pytest.mark.parametrize("program", [sorted_in_place, inserted_into])
def test_methods_of_lists_keep_no_reference(program):
    assert recordings(program) == 1


def test_no_function_of_the_interpreter_refers_to_itself():
    """A cycle of a function and its own cell keeps references until the collector runs, which is off while functions are recorded."""
    found = []
    for file in (Path(td.__file__).parent / "flow").rglob("*.py"):
        for outer in ast.walk(ast.parse(file.read_text())):
            for inner in ast.walk(outer) if isinstance(outer, ast.FunctionDef) else ():
                if isinstance(inner, ast.FunctionDef) and inner is not outer:
                    names = [node for statement in inner.body for node in ast.walk(statement) if isinstance(node, ast.Name) and node.id == inner.name]
                    if names and not any(isinstance(node.ctx, ast.Store) for node in names):
                        found.append(f"{file.name}:{inner.lineno} {inner.name}")
    assert not found
