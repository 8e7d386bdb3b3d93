"""Iterators by hand: `iter` and `next`."""

from __future__ import annotations

from ..anything import Object
from ..blocks.blocks import returned
from ..blocks.loops import for_
from ..containers.cursors import Cursor, following, has_cursor
from ..containers.entries import is_conditional
from ..state.completions import Return, replaced
from ..state.fork import exclude, where_ends
from .arguments import NATIVE
from .lazy import is_ownable


def iter_(items: Object) -> Object:
    return Cursor(items) if has_cursor(items) else NATIVE


def next_(items: Object, *default: Object) -> Object:
    if type(items) is Cursor:
        return following(items, *default)
    if not is_ownable(items) or is_conditional(items):
        return NATIVE
    completion = for_(items, Return, None)
    if not default:
        exclude(where_ends(completion, lambda end: end is None), StopIteration)
    return returned(
        replaced(completion, lambda end: Return(default[0] if default else None) if end is None else end)
        if default
        else completion
    )
