"""Progress bars for long iterations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from time import perf_counter
from typing import TypeVar

from ..ir.instruction import Tree

T = TypeVar("T")

# Seconds after which a bar is shown.
PATIENCE = 2.0


def with_progress(items: Iterable[T], count: int, what: str) -> Iterator[T]:
    """Yield the items; if they take longer than some seconds, show a bar in a terminal, if tqdm is installed (tapediff[notebook])."""
    start, bar = perf_counter(), None
    for k, item in enumerate(items):
        if bar is None and k and perf_counter() - start > PATIENCE:
            bar = _bar(count, k, what)
            start = float("inf")  # one attempt
        elif bar is not None:
            bar.update()
        yield item
    if bar is not None:
        bar.update()
        bar.close()


def _bar(count: int, done: int, what: str) -> Tree:
    """A tqdm bar, or None."""
    try:
        tqdm = import_module("tqdm").tqdm
    except ImportError:
        return None
    return tqdm(total=count, initial=done, desc=what, disable=None, leave=False)
