"""The C header of exported kernels: prototypes, the arrays behind each pointer, and what the codes mean."""

from __future__ import annotations

from collections.abc import Sequence

from .entry import Entry
from .runtime import NEW_PATH, NO_MEMORY, NOT_POSITIVE_DEFINITE, TOO_DEEP, TOO_LONG

# Longer lists of guards are cut.
MOST_GUARDS = 100


def header(name: str, function: str, entries: Sequence[Entry], undefined: Sequence[str], cpu: str) -> str:
    """The text of the header."""
    lapack = [symbol for symbol in undefined if symbol.endswith("_")]
    linked = ["-lm", *(["-llapack -lblas, or -lopenblas, for " + ", ".join(lapack)] if lapack else [])]
    lines = [
        f"/* {function}, exported by tapediff for the processor \"{cpu}\". Link with {'; '.join(linked)}.", "",
        "   Pointers are to arrays in C order, which share no memory with results. The functions keep nothing between calls,",
        "   and any number of threads may call them at once. They return", "",
        "   0     results are written, also if they are infinite or NaN",
        f"   {NOT_POSITIVE_DEFINITE}     a matrix is not positive definite, or singular: reject the point",
        f"   {NO_MEMORY}    out of memory", f"   {TOO_DEEP}    calls are nested too deeply",
        f"   {TOO_LONG}    a loop is longer than allowed",
        f"   {NEW_PATH} and below: a guard failed, as no recorded path of the function leads here{_numbered(entries)}.", "",
        "   Unless they return 0, nothing is written. */",
    ]  # fmt: skip
    guard = f"{name.upper()}_H"
    body = "\n".join("\n".join(["", *_comment(entry), entry.prototype()]) for entry in entries)
    start = [f"#ifndef {guard}", f"#define {guard}", "", "#include <stdint.h>", "", "#ifdef __cplusplus", 'extern "C" {', "#endif"]
    end = ["", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join([*map(_safe, lines), *start, body, *end])


def _safe(line: str) -> str:
    """A line of a comment, which nothing in it ends."""
    return line if line.startswith("/*") or line.endswith("*/") else line.replace("*/", "* /")


def _comment(entry: Entry) -> list[str]:
    rows = [_safe(f"     {pointer.row()}") for pointer in entry.pointers]
    return ["/*", *rows, "*/"]


def _numbered(entries: Sequence[Entry]) -> str:
    """The guards of the only path; several have numbers of their own, so the code does not tell."""
    paths = entries[0].paths
    guards = paths[0].guards if len(paths) == 1 else ()
    if not guards:
        return ""
    rows = [f"\n   {NEW_PATH - 1 - guard.ordinal}  {guard}".replace("*/", "* /") for guard in guards[:MOST_GUARDS]]
    return f"; in loops and functions {NEW_PATH}, else{''.join(rows)}"
