"""Callable objects of this package around a user's function."""

from __future__ import annotations

from typing import ClassVar


class Wrapper:
    """A callable object of this package that passes its arguments on to a user's function.

    Attributes:
        calls: the name of the attribute that holds the function, or None.
    """

    calls: ClassVar[str]
