"""Tables of limited length, changed by several threads."""

from __future__ import annotations

import itertools

from support.in_threads import in_threads

from tapediff.base.held_locks import drop_oldest


def test_the_first_entries_are_dropped():
    table: dict[int, object] = {k: k for k in range(10)}
    drop_oldest(table, 4)
    assert list(table) == [6, 7, 8, 9]
    drop_oldest(table, 5)
    assert len(table) == 4
    drop_oldest(table, 0)
    assert not table


def test_several_threads_may_drop_entries():
    table: dict[int, object] = {}
    finished, numbers = [], itertools.count()

    def work(_: int) -> None:
        for k in itertools.islice(numbers, 3000):
            drop_oldest(table, 3)
            table[k] = k
        finished.append(True)

    in_threads(work, interval=1e-6)
    assert len(finished) == 4
    drop_oldest(table, 3)
    assert len(table) == 3
