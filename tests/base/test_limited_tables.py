"""Tables of limited length, changed by several threads."""

from __future__ import annotations

import sys
import threading

from tapediff.base.limited_tables import drop_oldest


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
    failed = []

    def work(first: int) -> None:
        try:
            for k in range(first, first + 3000):
                drop_oldest(table, 3)
                table[k] = k
        except (KeyError, RuntimeError) as error:
            failed.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(10_000 * k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failed
    drop_oldest(table, 3)
    assert len(table) == 3
