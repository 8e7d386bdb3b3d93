"""Iteration over sets of ints that branches on data have changed: in Python's order, which depends on the hash table's size and history."""

from __future__ import annotations

import copy
import functools
import linecache
import math
import random

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import POINTS, recordings


def nearest_of_the_rest(x):
    """Prim's algorithm."""
    near = dict.fromkeys(range(12), math.inf)
    near[0], rest, s = 0.0, set(range(12)), 0.0
    while rest:
        u = min(rest, key=lambda k: near[k])
        rest.remove(u)
        s += near[u]
        for v in rest:
            near[v] = min(near[v], abs(math.sin(3 * u + x[0]) - math.cos(5 * v + x[1])))
    return s


def left_out(x):
    held, s = set(range(30)), 0.0
    if x[0] > 0:
        held.discard(3)
    else:
        held -= {17, 4}
    for k, v in enumerate(held):
        s += (k + 1) * v * x[1]
    return s


@pytest.mark.parametrize("program", [nearest_of_the_rest, left_out])
def test_ints_with_a_slot_each_have_one_recording(program):
    """Whatever was removed, they are in order."""
    assert recordings(program) == 1


def added_and_removed(x):
    held, s = set(range(5)), 0.0
    for k in range(3):
        (held.add if x[k] > 0 else held.discard)(k + 2)
    for k, v in enumerate(list(held)):
        s += (k + 1) * v * x[3]
    return s


def added_again(x):
    held, s = set(range(5)), 0.0
    held.discard(2)
    if x[0] > 0:
        held.discard(4)
        held.add(2)  # behind 3, as its slot remains taken
    for k, v in enumerate(held):
        s += (k + 1) * v * x[1]
    return s


def displaced(x):
    held, s = {8}, 0.0
    held.add(1)
    held.add(0)  # behind 1, as 8 has its slot
    held.discard(8)
    if x[0] > 0:
        held.add(5)
    for k, v in enumerate(held):
        s += (k + 1) * v * x[1]
    return s


def written_anew(x):
    held, s = set(range(40)), 0.0
    held -= set(range(40)) - {2, 33}  # a large table with few members
    if x[0] > 0:
        held.add(2)
    for k, v in enumerate(held):
        s += (k + 1) * v * x[1]
    return s


def colliding(x):
    """Ints of one slot, whose order is that of their additions, except where a larger table gives each its own."""
    held = set()
    for k in range(6):
        if x[k % 4] * (k + 1) > 0.5:
            held.add(16 * k * k)
    return held


def changed(x):
    """Ints of one slot, one of which a branch removes or adds."""
    held = {1, 9, 33, 17}
    if x[0] > 0:
        held.discard(9)
    else:
        held.add(25)
    return held


def weighed(entries, x):
    return sum((k + 1) * v * x[1] for k, v in enumerate(entries))


def loop(held, x):
    s = 0.0
    for k, v in enumerate(held):
        s += (k + 1) * v * x[1]
    return s


def first_of(held, x):
    return next(iter(held), 0.0) * x[1]


def popped(held, x):
    return held.pop() * x[1] + len(held) if held else x[0]


def unpacked(held, x):
    first, *others = held or [1]
    return first * x[1] + weighed(others, x)


def read_as_arguments(held, x):
    return (lambda *args: weighed(args, x))(*held)


def read_by_text(held, x):
    return weighed(map(ord, str(held)), x)


READS = [
    loop, first_of, popped, unpacked, read_as_arguments, read_by_text, lambda held, x: weighed(list(held), x), lambda held, x: weighed([*held], x),
    lambda held, x: weighed({**dict.fromkeys(held)}, x), lambda held, x: weighed([v + 1 for v in held], x), lambda held, x: weighed(held.copy(), x),
    lambda held, x: weighed(copy.copy(held), x), lambda held, x: weighed(held | {16}, x), lambda held, x: weighed(held & {16, 64, 1, 9, 33}, x),
    lambda held, x: weighed({16, 64, 1, 9, 33} - held, x), lambda held, x: weighed(held ^ {16}, x), lambda held, x: weighed({v + 16 for v in held}, x),
    lambda held, x: sum(a * b for a, b in zip(held, (1.0, 2.0, 3.0))) * x[1], lambda held, x: max(held, key=lambda v: v % 8, default=1) * x[1],
    lambda held, x: float(np.array(list(held) or [0])[0]) * x[1], lambda held, x: weighed(sorted(held, key=lambda v: v % 8), x),
    lambda held, x: functools.reduce(lambda a, b: a * 0.5 + b, held, 0.0) * x[1],
]  # fmt: skip


@pytest.mark.parametrize("make", [colliding, changed])
@pytest.mark.parametrize("read", READS)
def test_whatever_reads_a_set_reads_it_in_pythons_order(make, read):
    recordings(lambda x: read(make(x), x))


def bools_as_text(x):
    return x[0] * weighed(map(ord, "".join(map(str, {v > 0 for v in x}))), x)


def bools_by_position(x):
    return weighed({bool(v > 0) for v in x}, x) + weighed({(v > 0) * 1 for v in x}, x)


def conditional_in_a_comprehension(x):
    return weighed({-k for k in range(3) if x[k] > 0}, x)


def added_in_either_order(x):
    held = set()
    if x[0] > 0:
        held.add(16)
        held.add(8)
    else:
        held.add(8)
    held.update([16, 32])
    return weighed(held, x)


def tuples_of_constants(x):
    held = set()
    for k in range(3):
        if x[k] > 0:
            held.add((k, "ab"[k % 2]))
    return sum((k + 1) * v * x[1] for k, (v, _) in enumerate(sorted(held)))


def added_from_a_list(x):
    """A list of data-dependent length: each of its entries is added by itself."""
    held = set()
    held.update([8 * k for k in range(4) if x[k] > 0])
    return weighed(held, x)


@pytest.mark.parametrize(
    ("program", "paths"), [(bools_as_text, 2), (bools_by_position, 1), (conditional_in_a_comprehension, 8), (added_in_either_order, 2),
                           (tuples_of_constants, 1), (added_from_a_list, 13)]
)  # fmt: skip
def test_members_have_the_order_in_which_they_are_added(program, paths):
    """Ints and bools with slots of their own need no guards; others have one for each addition."""
    assert recordings(program) == paths


def test_members_are_found_in_the_same_order_in_every_recording():
    """Conditions are computed in that order, and guards stand in the order of conditions."""

    def program(x):
        held, q = {0, 1}, 0.0
        for k in range(8):
            if x[k % 2] * k > 2.27:
                held.discard(k)
        if held:
            q = functools.reduce(lambda a, b: a * 0.5 + b, held)
        return q * x[0] + weighed(held & {1, 4}, x)

    for _ in range(10):
        recordings(program, POINTS[:6])


@pytest.mark.parametrize(("program", "paths"), [(added_and_removed, 8), (added_again, 2), (displaced, 2), (written_anew, 2)])
def test_an_order_that_depends_on_the_history_is_pythons(program, paths):
    """The members are the same in a fresh set, and the order is another one."""
    assert recordings(program) == paths


@pytest.mark.parametrize("count", [0, 1, 4, 5, 8, 9, 14, 20, 50, 77, 1000])
def test_hash_tables_are_less_than_three_fifths_full(count):
    """What the order of ints is concluded from; removals leave the table as it is."""
    held = set(range(count))
    size = set.__sizeof__(held)
    slots = (size - set.__basicsize__) // 16 or 8
    assert 5 * count < 3 * (slots - 1)
    for k in range(1, count):
        held.discard(k)
    assert set.__sizeof__(held) == size
    assert list(held) == list(range(min(count, 1)))


def random_program(seed):
    """A program of additions, removals and set operators on two sets, some of them in branches, and loops that weight members by position."""
    pick = random.Random(seed)
    limit, lines = pick.choice([6, 8, 12, 40, 100]), ["def f(x):", "    r = 0.0"]
    for name in "st":
        listed = ", ".join(str(pick.randrange(limit)) for _ in range(pick.randrange(1, 6)))
        lines.append(f"    {name} = " + pick.choice(["set()", f"set(range({limit // 2}))", f"{{{listed}}}", f"{{v for v in range({limit}) if v % 3}}"]))

    def change():
        one, other = pick.sample("st", 2)
        factor = pick.choice([1, 1, 8, 32])
        number = pick.choice([str(factor * pick.randrange(limit)), f"({pick.randrange(limit)} if x[0] > {pick.uniform(-1, 1):.2f} else {pick.randrange(limit)})"])
        return pick.choice([
            f"{one}.add({number})", f"{one}.discard({number})", f"{one} |= {other}", f"{one} -= {{{number}, 3}}", f"{one} = {one} & {other}", f"{one}.clear()",
            f"{one} = {one} | {{{number}}}", f"{one} = {{v for v in {one} if v != {number}}}", f"{one}.update([{number}, {pick.randrange(limit)}])",
        ])  # fmt: skip

    for _ in range(pick.randrange(3, 9)):
        lines += [f"    if x[{pick.randrange(2)}] > {pick.uniform(-1, 1):.2f}:", f"        {change()}"] if pick.random() < 0.5 else [f"    {change()}"]
        if pick.random() < 0.3:
            lines += [f"    for k, v in enumerate({pick.choice(['s', 'list(t)', '[v + 1 for v in s]', 't.copy()', '[t.pop()] if t else t', '[*s]', 'dict.fromkeys(t)'])}):", "        r += (k + 1) * (v + 1) * x[1]"]
    return "\n".join([*lines, "    return r + sum((k + 1) * v * x[0] for k, v in enumerate(s)) + len(t)"]) + "\n"


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_programs_iterate_in_pythons_order(first):
    """Many of them have several orders of one set."""
    for seed in range(first, first + 10):
        text, file, names = random_program(seed), f"<sets {seed}>", {}
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        exec(compile(text, file, "exec"), names)
        tape = td.GuardedTape(names["f"], on_new_tape="interpret", compile_after=1000, max_tapes=1000)
        for p in POINTS[:6]:
            assert np.isclose(tape(p), names["f"](p), rtol=1e-12), f"seed {seed}"
