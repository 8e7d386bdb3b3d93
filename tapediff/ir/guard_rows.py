"""The guards of all iterations of a loop as one instruction; finds the first that failed, and its outcome.

Such a guard checks an array with one row for each iteration and one entry for each guard of an iteration, in Python's order:
entry k of the flat array belongs to the guard whose ordinal is the instruction's own plus k. Entries are bools; with integer
guards among them, all are floats.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.source_location import Site
from .instruction import Guard, Instruction, Operand, Outcome, Params

EACH = "each"


class GuardRow(NamedTuple):
    """The entries of a row.

    Attributes:
        kinds: "bool" or "int", the conversion that Python made of each entry.
        sites: the line of each.
    """

    kinds: tuple[str, ...]
    sites: tuple[Site | None, ...]


def width_of(params: Params) -> int:
    """The number of ordinals that a guard with these parameters takes."""
    return params[1].size if params[0] == EACH else 1


def single_outcome(kind: str, number: float) -> bool | int | float:
    """An entry as Python sees it: a bool, an int, or a float where int() would raise."""
    if kind == "bool":
        return bool(number)
    return int(number) if np.isfinite(number) else float(number)


def single_guards(instruction: Instruction) -> list[Guard]:
    """The guards that an instruction stands for."""
    params, number = instruction.params, instruction.inputs[0]
    if params[0] != EACH:
        return [Guard(params[2], params[0], number, params[1], instruction.site)]
    _, outcomes, ordinal, (kinds, sites) = params
    width = len(kinds)
    return [
        Guard(ordinal + k, kinds[k % width], number, single_outcome(kinds[k % width], outcome), sites[k % width])
        for k, outcome in enumerate(outcomes.ravel().tolist())
    ]


def first_failure(params: Params, values: Operand, settled: int = 0) -> tuple[int, Outcome, Outcome, Site | None] | None:
    """The first failing guard from ordinal `settled` on: ordinal, recorded and met outcome, line; None if all hold."""
    _, outcomes, ordinal, (kinds, sites) = params
    recorded, met = outcomes.ravel(), np.ravel(values)
    differs = (recorded != met) & ((recorded == recorded) | (met == met))
    differs[: max(0, settled - ordinal)] = False
    k = int(differs.argmax())
    if not differs[k]:
        return None
    kind = kinds[k % len(kinds)]
    return ordinal + k, single_outcome(kind, recorded[k]), single_outcome(kind, met[k]), sites[k % len(kinds)]
