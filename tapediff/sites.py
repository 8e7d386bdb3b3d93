"""Finds the user's line behind an instruction: the innermost frame outside tapediff, NumPy and SciPy."""

from __future__ import annotations

import os
import sys
from bisect import bisect_right
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARIES = (_PACKAGE, os.path.dirname(os.path.abspath(np.__file__)) + os.sep, os.sep + "scipy" + os.sep)


class Site(NamedTuple):
    """A place in the user's code; the line number is worked out only when it is printed."""

    code: CodeType
    lasti: int

    @property
    def line(self) -> int:
        starts, lines = _lines(self.code)
        return lines[max(0, bisect_right(starts, self.lasti) - 1)]

    def __str__(self) -> str:
        return f"{os.path.basename(self.code.co_filename)}:{self.line} in {self.code.co_name}"

    @property
    def place(self) -> tuple[str, int, str]:
        """File, line and function."""
        return self.code.co_filename, self.line, self.code.co_name

    def __reduce__(self) -> Any:
        return PickledSite, self.place

    def __deepcopy__(self, _: Any) -> Site:
        return self


class PickledSite(NamedTuple):
    """A place in the code of the process that has pickled it; it prints the same."""

    filename: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{os.path.basename(self.filename)}:{self.line} in {self.name}"

    @property
    def place(self) -> tuple[str, int, str]:
        return self.filename, self.line, self.name


@lru_cache(maxsize=64)
def _lines(code: CodeType) -> tuple[list[int], list[int]]:
    """Where the stretches of code of one line begin, and these lines; one that has none belongs to the line before."""
    starts, lines = [0], [code.co_firstlineno]
    for start, _, line in code.co_lines():
        starts.append(start)
        lines.append(line or lines[-1])
    return starts, lines


@lru_cache(maxsize=64)
def _positions(code: CodeType) -> list[Any]:
    return list(code.co_positions())


def spot_of(site: Site | PickledSite | None) -> Any:
    """Equal for one expression of the user's, whatever the interpreter has made of its instructions after some turns of a loop."""
    if not isinstance(site, Site):
        return site
    positions = _positions(site.code)
    return id(site.code), positions[site.lasti // 2] if 0 <= site.lasti // 2 < len(positions) else site.lasti


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
