"""The parts of a random program: kinds of variables, compound statements and their text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

CONSTANTS = ("0.0", "0.5", "1.0", "-0.5", "2.0", "1.5", "-1.0", "0.25")
SPECIAL = np.array([0.0, -0.0, 0.5, 1.0, -0.5, 2.0, 1.5, -1.0, 0.25])


class Kind(NamedTuple):
    """The kind of a variable: "s" a number, "a" an array of `size`, "i" an integer, "b" a truth value.

    Attributes:
        is_own: it may be written to without changing what a function was given.
    """

    letter: str
    size: int = 0
    is_own: bool = False


NUMBER, INTEGER, TRUTH = Kind("s"), Kind("i"), Kind("b")


class Block(NamedTuple):
    """A compound statement: pairs of a header and a body."""

    parts: tuple[tuple[str, list], ...]


def text_of(items, indent=1):
    lines = []
    for item in items:
        if isinstance(item, Block):
            for header, body in item.parts:
                lines += ["    " * indent + line for line in header.split("\n")]
                lines += text_of(body, indent + 1) or ["    " * (indent + 1) + "pass"]
        else:
            lines += ["    " * indent + line for line in item.split("\n")]
    return lines
