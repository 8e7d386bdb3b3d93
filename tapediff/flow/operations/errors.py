"""`raise` statements with a data-dependent error."""

from __future__ import annotations

from ..anything import Object
from ..containers.choices import each
from ..state.values import Choice, state


def raised(error: Object) -> Object:
    """The error of a `raise` statement; a choice raises each error on its side."""

    def raise_(option: Object) -> Object:
        raise option

    if isinstance(error, KeyboardInterrupt) or (isinstance(error, type) and issubclass(error, KeyboardInterrupt)):
        # The program's own, not a signal's.
        error = state.interrupt = error() if isinstance(error, type) else error
    return each(error, raise_) if type(error) is Choice else error
