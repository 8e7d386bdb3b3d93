"""Starred calls with a data-dependent number of arguments."""

from __future__ import annotations

import functools
from types import FunctionType

from ...base.source_location import is_library_file
from ..anything import Object
from ..containers.lengths import by_length
from ..state.values import Maybe, state
from ..translate import is_translated


def spreading(f: Object) -> Object:
    """A function that is called for each possible number of arguments."""
    if type(f) is FunctionType and not is_translated(f) and not is_library_file(f.__code__.co_filename):
        return f  # it may inspect its caller's frame
    made = functools.partial(_spread, f)
    # Names for error messages.
    made.__dict__.update({name: value for name in ("__module__", "__qualname__") if (value := getattr(f, name, None)) is not None})
    return made


def _spread(f: Object, /, *args: Object, **named: Object) -> Object:
    if not state.has_maybes or Maybe not in map(type, args):
        return f(*args, **named)
    return by_length(args, lambda plain: f(*plain, **named))
