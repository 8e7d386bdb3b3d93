"""Finds the user's line behind an instruction: the innermost frame outside tapediff, NumPy and SciPy."""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType
from typing import NamedTuple

import numpy as np

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARIES = (_PACKAGE, os.path.dirname(os.path.abspath(np.__file__)) + os.sep, os.sep + "scipy" + os.sep)


class Site(NamedTuple):
    """A place in the user's code; the line number is worked out only when it is printed."""

    code: CodeType
    lasti: int

    @property
    def line(self) -> int:
        last = self.code.co_firstlineno
        for start, end, line in self.code.co_lines():
            if start <= self.lasti < end and line is not None:
                return line
            last = line or last
        return last

    def __str__(self) -> str:
        return f"{os.path.basename(self.code.co_filename)}:{self.line} in {self.code.co_name}"


class _LibraryFiles(dict[str, bool]):
    """Remembers which files are library code; a look-up by `[]` is the fastest test there is."""

    def __missing__(self, filename: str) -> bool:
        known = filename.startswith(_LIBRARIES[:2]) or _LIBRARIES[2] in filename or filename.startswith("<__array")
        self[filename] = known
        return known


is_library_file = _LibraryFiles().__getitem__


def user_frame(depth: int = 1) -> FrameType | None:
    """The innermost frame of user code, at least `depth` callers up."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and is_library_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_site(depth: int = 1) -> Site | None:
    frame = user_frame(depth + 1)
    return None if frame is None else Site(frame.f_code, frame.f_lasti)
