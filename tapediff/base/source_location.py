"""Finds the user's line of an instruction: the innermost frame outside tapediff, NumPy and SciPy."""

from __future__ import annotations

import collections
import contextlib
import functools
import linecache
import os
import re
import sys
from bisect import bisect_right
from collections.abc import Hashable, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from itertools import takewhile
from types import CodeType, FrameType
from typing import NamedTuple

import numpy as np

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Files of the standard library that are treated as user code: they call it, or keep its values.
TRANSLATED = frozenset((contextlib.__file__, collections.__file__, functools.__file__, Mapping.get.__code__.co_filename))
_LIBRARIES = (_PACKAGE, os.path.dirname(os.path.abspath(np.__file__)) + os.sep)
# SciPy is not imported for its folder, and a folder "scipy" alone may be the user's.
_SCIPY = re.compile(r"[\\/](site|dist)-packages[\\/]scipy[\\/]").search


def shown_place(filename: str, line: int, name: str) -> str:
    """A line as text: "model.py:3 in f"; "cell 8, line 3 in f" in a notebook, whose cells have numbers as file names."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    named = getattr(getattr(shell, "compile", None), "format_code_name", None)
    cell = None if named is None else named(filename)
    if cell is None:
        return f"{os.path.basename(filename)}:{line} in {name}"
    return f"cell {cell[1].removeprefix('In[').removesuffix(']')}, line {line} in {name}"


class Site(NamedTuple):
    """A source location: a place in the user's code. The line number is computed only when it is printed."""

    code: CodeType
    lasti: int
    # True for instructions that the reverse pass adds for a line, for td.profile. No part of the tuple: passes see equal sites.
    is_adjoint = False

    @property
    def line(self) -> int:
        starts, lines = _lines(self.code)
        return lines[max(0, bisect_right(starts, self.lasti) - 1)]

    def __str__(self) -> str:
        return shown_place(*self.place)

    @property
    def place(self) -> tuple[str, int, str]:
        """File, line and function."""
        return self.code.co_filename, self.line, self.code.co_name

    def __reduce__(self) -> tuple[type[PickledSite], tuple[str, int, str]]:
        return PickledSite, self.place

    def __deepcopy__(self, _: object) -> Site:
        return self


class PickledSite(NamedTuple):
    """A source location that another process pickled. It prints the same."""

    filename: str
    line: int
    name: str
    is_adjoint = False

    def __str__(self) -> str:
        return shown_place(*self.place)

    @property
    def place(self) -> tuple[str, int, str]:
        return self.filename, self.line, self.name


class _AdjointSite(Site):
    __slots__ = ()
    is_adjoint = True


class _AdjointPickledSite(PickledSite):
    __slots__ = ()
    is_adjoint = True


def adjoint_site(site: Site | PickledSite | None) -> Site | None:
    """The same location, for the instructions that the reverse pass adds."""
    if isinstance(site, PickledSite):
        return _AdjointPickledSite(*site)  # pyright: ignore[reportReturnType]  # tapes from other processes have these
    return None if site is None else _AdjointSite(*site)


@functools.lru_cache(maxsize=64)
def _lines(code: CodeType) -> tuple[list[int], list[int]]:
    """The offsets at which lines begin in the code, and these lines; code without a line belongs to the line before."""
    starts, lines = [0], [code.co_firstlineno]
    for start, _, line in code.co_lines():
        starts.append(start)
        lines.append(line or lines[-1])
    return starts, lines


@functools.lru_cache(maxsize=64)
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


def spot_of(site: Site | PickledSite | None) -> Hashable:
    """A key of one expression in the user's code, unchanged when the interpreter specialises its instructions."""
    if not isinstance(site, Site):
        return site
    positions = _positions(site.code)
    return id(site.code), positions[site.lasti // 2] if 0 <= site.lasti // 2 < len(positions) else site.lasti


def is_same_line(a: Site | PickledSite | None, b: Site | PickledSite | None) -> bool:
    """True if two sites are on one line. One call may have two offsets, as the interpreter rewrites its instructions."""
    return a == b or (a is not None and b is not None and a.place == b.place)


def is_own_file(filename: str) -> bool:
    """True for the files of this package."""
    return filename.startswith(_PACKAGE)


class _LibraryFiles(dict[str, bool]):
    """A cache of which files are library code; look-up by `[]` is the fastest test in Python."""

    def __missing__(self, filename: str) -> bool:
        known = filename in TRANSLATED or filename.startswith((*_LIBRARIES, "<__array")) or _SCIPY(filename) is not None
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
    """The user's line, for an error. If the user's code called an installed package or the standard library, the line of that call."""
    innermost = frame = user_frame(depth + 1)
    outermost: FrameType | None = None
    while frame is not None and not frame.f_code.co_filename.startswith(_PACKAGE):
        if not is_installed(frame.f_code.co_filename):
            return Site(frame.f_code, frame.f_lasti)
        outermost, frame = frame, frame.f_back
    if innermost is None or outermost is None:
        return None if innermost is None else Site(innermost.f_code, innermost.f_lasti)
    # The recorded function is in an installed package itself: then its package is the user's code.
    frame = innermost if frame is None else outermost
    own = installed_package(frame.f_code.co_filename)
    found: FrameType | None = innermost
    while found is not None and found is not frame and installed_package(found.f_code.co_filename) != own:
        found = found.f_back
    return Site((found or frame).f_code, (found or frame).f_lasti)


_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_INSTALLED = tuple(os.sep + folder + os.sep for folder in ("site-packages", "dist-packages"))


@functools.lru_cache(maxsize=1000)
def is_installed(filename: str) -> bool:
    """True if a file belongs to the standard library or an installed package."""
    return filename.startswith(_STANDARD_LIBRARY) or is_in_package(filename)


def is_in_package(filename: str) -> bool:
    """True if a file belongs to an installed package."""
    return any(folder in filename for folder in _INSTALLED)


def is_of_compiled_library(frame: FrameType) -> bool:
    """True if a frame is of an installed package with compiled modules, such as pandas, which assume that arrays are NumPy's.

    False for the package of the recorded function.
    """
    filename = frame.f_code.co_filename
    if not is_beside_compiled(filename):
        return False
    outermost, back = frame, frame.f_back
    while back is not None and not back.f_code.co_filename.startswith(_PACKAGE):
        outermost, back = back, back.f_back
    return installed_package(outermost.f_code.co_filename) != installed_package(filename)


@functools.lru_cache(maxsize=1000)
def is_beside_compiled(filename: str) -> bool:
    """True for files of installed packages with compiled modules."""
    if not is_in_package(filename):
        return False
    package, suffixes = installed_package(filename), tuple(EXTENSION_SUFFIXES)
    files = [getattr(module, "__file__", None) for name, module in list(sys.modules.items()) if name.partition(".")[0] == package]
    return any(isinstance(each, str) and each.endswith(suffixes) for each in files)


def installed_package(filename: str) -> str:
    """The installed folder or module that a file belongs to."""
    for folder in _INSTALLED:
        filename = filename.rpartition(folder)[2]
    return filename.removeprefix(_STANDARD_LIBRARY).partition(os.sep)[0]


def scipy_function() -> str | None:
    """The SciPy function that the user called, with its module, if the call came through SciPy."""
    frame: FrameType | None = sys._getframe(1)
    name = None
    while frame is not None and is_library_file(frame.f_code.co_filename):
        if _SCIPY(frame.f_code.co_filename):
            # SciPy's decorators convert arguments too; the wrapped function is one of their variables.
            wrapped = next((frame.f_locals[k] for k in ("f", "func", "fun") if callable(frame.f_locals.get(k))), None)
            function = frame.f_code.co_qualname.rpartition("<locals>.")[2]
            module = frame.f_globals.get("__name__", "scipy")
            if wrapped is not None and ("wrapper" in frame.f_code.co_name or frame.f_code.co_name == "inner"):
                function, module = getattr(wrapped, "__name__", function), getattr(wrapped, "__module__", module)
            # scipy.special._basic is the public scipy.special.
            public = takewhile(lambda part: not part.startswith("_"), module.split("."))
            name = ".".join([*public, function.removesuffix(".__init__").removesuffix(".__call__")])
        frame = frame.f_back
    return name


_POLYNOMIALS = os.sep + os.path.join("numpy", "polynomial") + os.sep
_IN_PYTHON = (_POLYNOMIALS, _STANDARD_LIBRARY + "statistics.py", _STANDARD_LIBRARY + "fractions.py")


def library_function() -> str | None:
    """The function that the user called, with its module, if that is SciPy, numpy.polynomial, statistics or fractions."""
    frame: FrameType | None = sys._getframe(1)
    name = None
    while frame is not None:
        filename = frame.f_code.co_filename
        is_python = any(part in filename for part in _IN_PYTHON)
        if not is_python and not is_library_file(filename):
            break
        if is_python:
            owner, module = frame.f_locals.get("self", frame.f_locals.get("cls")), frame.f_globals.get("__name__", "")
            function = frame.f_code.co_name if owner is None else (owner if isinstance(owner, type) else type(owner)).__name__
            name = f"{module if owner is None else module.partition('._')[0]}.{function}"
        frame = frame.f_back
    return name or scipy_function()


def expression_at(site: Site | PickledSite | None) -> str:
    """The text of the expression at a location, on one line; the whole line if its columns are not known, "" without a source."""
    if site is None:
        return ""
    filename, line, _ = site.place
    spot = _positions(site.code)[site.lasti // 2] if isinstance(site, Site) else (line, line, None, None)
    first, last, start, end = spot
    rows = [linecache.getline(filename, row) for row in range(first or line, (last or line) + 1)]
    if start is None or end is None or not all(rows):
        return linecache.getline(filename, line).strip()
    encoded = [row.encode() for row in rows]  # columns count bytes
    encoded[-1] = encoded[-1][:end]
    encoded[0] = encoded[0][start:]
    return " ".join(b"".join(encoded).decode().split())
