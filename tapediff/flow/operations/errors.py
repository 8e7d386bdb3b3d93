"""Errors that are raised, where data decide which one."""

from __future__ import annotations

from ..anything import Object
from ..containers.choices import each
from ..state.values import Choice


def raised(error: Object) -> Object:
    """The error of a `raise` statement; where data decide which one, each is raised on its side."""

    def raise_(option: Object) -> Object:
        raise option

    return each(error, raise_) if type(error) is Choice else error
