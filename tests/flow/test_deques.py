"""Deques whose entries depend on data: those of limited length drop entries by position, and entries are deleted."""

from __future__ import annotations

from collections import deque

import pytest

from flow.one_tape import recordings


def weighed(entries):
    return sum((k + 1) * v for k, v in enumerate(entries)) + len(entries)


def some(x):
    """Two or three numbers."""
    made = [x[0], x[1], 1.0]
    if x[0] > 0:
        made.pop()
    return made


def full(x):
    """Two or three numbers, of at most three."""
    made = deque([x[1], 2.0, x[2]], 3)
    if x[0] > 0:
        made.pop()
    return made


def changed(made, change):
    change(made)
    return weighed(made)


def put_in_place(made, others):
    made += others
    return weighed(made)


def deleted(x):
    made = deque([x[0], x[1], 3.0, x[2]])
    if x[1] > 0:
        made += [x[3], 2.0]
    if x[2] > 0:
        made.popleft()
    del made[-2]
    del made[int(abs(x[0])) % 2]
    return weighed(made)


def deleted_beyond(x):
    made = full(x)
    try:
        del made[2]
    except IndexError as error:
        return len(str(error)) * x[1]
    return weighed(made)


ONE_TAPE = {
    "deleted": deleted,
    "deleted beyond": deleted_beyond,
    "constructor": lambda x: weighed(deque(some(x), 2)),
    "extend": lambda x: changed(deque([x[1]] * 3, 3), lambda made: made.extend(some(x))),
    "extend by a generator": lambda x: changed(deque([x[1]] * 3, 3), lambda made: made.extend(v for v in some(x))),
    "in place": lambda x: put_in_place(deque([x[1]] * 3, 3), some(x)),
    "itself": lambda x: put_in_place(full(x), full(x)),
    "append": lambda x: changed(full(x), lambda made: made.append(x[3])),
    "appendleft": lambda x: changed(full(x), lambda made: made.appendleft(x[3])),
    "extendleft": lambda x: changed(full(x), lambda made: made.extendleft([x[3], 1.0])),
}
BY_GUARDS = {
    "sum of two": lambda x: weighed(full(x) + deque([1.0, x[3]])),
    "repeated": lambda x: weighed(full(x) * 2),
    "repeated on the right": lambda x: weighed(2 * full(x)),
    "remove": lambda x: changed(full(x), lambda made: made.remove(2.0)),
}


@pytest.mark.parametrize("name", ONE_TAPE)
def test_deques_with_one_tape(name):
    assert recordings(ONE_TAPE[name]) == 1


@pytest.mark.parametrize("name", BY_GUARDS)
def test_deques_by_guards(name):
    assert recordings(BY_GUARDS[name]) == 2
