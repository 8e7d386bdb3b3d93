"""Merges functions that differ only in numbers, such as loops over arrays of other lengths at other offsets.

LLVM takes as long for the second one as for the first. The merged function takes a row of a table with its numbers: offsets, extents, and
the active lanes of a last vector.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

# Tokens of a line: addresses, which each function names by its storages; an i64 at its end; masks of lanes.
_TOKEN = re.compile(r"(%(?:base|slot)\d+)|(, i64 |i64 %\w+, )(-?\d+)$|(<\d+ x i1> )(<[^>\n]*>)")
# The text between two tokens, and the groups of a token.
_GROUPS = 1 + _TOKEN.groups
_HOLE = "\0"

# Numbers read from the table take more registers, so merging only a few functions does not pay.
FEWEST_ALIKE = 4


@dataclass(frozen=True, slots=True)
class Shared:
    """A merged function.

    Attributes:
        definition: its text, and that of its table.
        arguments: by name of an old function: the function to call instead, and the argument to add.
    """

    definition: str
    arguments: dict[str, tuple[str, str]]


def alike_functions(functions: Mapping[str, str]) -> list[Shared]:
    """The functions of a module, by name, that can be merged. All have the same parameters.

    Cost: linear in the total length of the texts that have as many lines as another one.
    """
    lines = {name: text.count("\n") for name, text in functions.items()}
    frequent = {count for count, times in Counter(lines.values()).items() if times >= FEWEST_ALIKE}
    alike: dict[str, list[tuple[str, list[str]]]] = {}
    known = _Lines()
    for name, text in functions.items():
        if lines[name] in frequent:
            pattern, numbers = _taken_apart(text.replace(f"@{name}(", "@("), known)
            alike.setdefault(pattern, []).append((name, numbers))
    return [_shared(pattern, members) for pattern, members in alike.items() if len(members) >= FEWEST_ALIKE]


class _Lines(dict[str, list[str] | None]):
    """Lines split at their tokens; None for a line without tokens. A cache: most lines are in many functions, and a search takes a
    microsecond."""

    def __missing__(self, line: str) -> list[str] | None:
        parts = _TOKEN.split(line)
        found = self[line] = parts if len(parts) > 1 else None
        return found


def _taken_apart(text: str, lines: _Lines) -> tuple[str, list[str]]:
    """Split a function into a template and its numbers. Addresses are renamed in order of appearance."""
    names: dict[str, str] = {}
    numbers: list[str] = []
    pieces: list[str] = []
    for line in text.split("\n"):
        parts = lines[line]
        if parts is None:
            pieces.append(line)
            continue
        filled = parts[0]
        for k in range(1, len(parts), _GROUPS):
            address, before_number, number, before_lanes, lanes, behind = parts[k : k + _GROUPS]
            if address:
                filled += names.setdefault(address, f"%base{len(names)}") + behind
            else:
                numbers.append(number or lanes)
                filled += (before_number or before_lanes) + _HOLE + behind
        pieces.append(filled)
    return "\n".join(pieces), numbers


def _shared(pattern: str, members: Sequence[tuple[str, list[str]]]) -> Shared:
    name = members[0][0]
    columns = list(zip(*(numbers for _, numbers in members)))
    # Numbers equal in all functions stay literals; columns that are equal share a parameter.
    places: dict[tuple[str, ...], int] = {}
    for column in columns:
        if any(number != column[0] for number in column):
            places.setdefault(column, len(places))
    pieces = pattern.split(_HOLE)
    filled = [pieces[0]]
    for column, piece in zip(columns, pieces[1:]):
        filled += [f"%shared{places[column]}" if column in places else column[0], piece]
    head, body = "".join(filled).replace("@(", f"@{name}(", 1).split(") noinline", 1)
    body = body.replace("entry:\n", "\n".join(["entry:", *_loads(places), ""]), 1)
    table = [f"i64 {_as_number(column[k])}" for k in range(len(members)) for column in places]
    size = f"[{len(table)} x i64]"
    definition = f"@{name}_numbers = private unnamed_addr constant {size} [{', '.join(table)}]\n{head}, ptr %numbers) noinline{body}"
    addresses = (f"getelementptr ({size}, ptr @{name}_numbers, i64 0, i64 {k * len(places)})" for k in range(len(members)))
    return Shared(definition, {member: (name, f"ptr {address}") for (member, _), address in zip(members, addresses)})


def _loads(places: Mapping[tuple[str, ...], int]) -> Iterator[str]:
    """Load the numbers of a call, in the entry block."""
    for column, k in places.items():
        is_lanes = column[0].startswith("<")
        name = f"%shared{k}_bits" if is_lanes else f"%shared{k}"
        yield f"%shared{k}_at = getelementptr i64, ptr %numbers, i64 {k}"
        yield f"{name} = load i64, ptr %shared{k}_at"
        if is_lanes:
            width = column[0].count("i1")
            yield f"%shared{k}_narrow = trunc i64 {name} to i{width}"
            yield f"%shared{k} = bitcast i{width} %shared{k}_narrow to <{width} x i1>"


def _as_number(number: str) -> int:
    """A mask of lanes as bits, the first lane in the lowest."""
    if not number.startswith("<"):
        return int(number)
    return sum(1 << k for k, lane in enumerate(number[1:-1].split(",")) if lane.endswith("true"))
