"""Tables of limited length that several threads change."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def drop_oldest(table: dict[int, T], most: int) -> None:
    """Drop the first entries of a table until at most so many are left; other threads may do the same meanwhile."""
    for key in list(table)[: max(len(table) - most, 0)]:
        table.pop(key, None)
