"""What values of a tape are computed from, and what is computed from them."""

from __future__ import annotations

from collections.abc import Container, Iterable

from ..ir.tape import Tape


def needed_values(tape: Tape, wanted: Iterable[int], given: Container[int] = ()) -> set[int]:
    """Return the wanted values and all that they are computed from, stopping at given values. Cost: linear in their number."""
    needed, pending = set[int](), list(wanted)
    while pending:
        number = pending.pop()
        if number not in needed:
            needed.add(number)
            if number not in given:
                pending += tape.instructions[number].inputs
    return needed


def reached_from(tape: Tape, sources: Iterable[int]) -> list[bool]:
    """Mark the values that depend on any of the sources, and these. Cost: linear in the length of the tape."""
    reached = [False] * len(tape.instructions)
    for number in sources:
        reached[number] = True
    for number, instruction in enumerate(tape.instructions):
        reached[number] = reached[number] or any(reached[i] for i in instruction.inputs)
    return reached
