"""The function by which a person calls a program: arrays of any layout, a status and the value."""

from __future__ import annotations

from typing import NamedTuple

from ...ir.instruction import ValueType
from .program_text import ProgramText

_STATUSES = """
    The status is 0 on success; g + 1 where guard g failed, as the control flow differs from the recorded one; from 1073741824 on
    where a factorisation failed; negative where there is no answer for another reason: -10 for arrays of another size,
    -20 for a path of a sub-tape that was not recorded, -2 for calls too deep in each other, -40 for a loop that goes on too long."""


class Entry(NamedTuple):
    """The function's name and its text."""

    name: str
    text: str


def entry_function(inputs: list[ValueType], outputs: list[ValueType], returns_value: bool, report_size: int) -> Entry:
    """The function of a program `kernel` of these types."""
    written = outputs[1:] if returns_value else outputs
    names = _numbered("x", len(inputs))
    name = ("value_and_gradient" if written else "value") if returns_value else "values"
    targets = _numbered("gradient" if returns_value else "out", len(written))
    lines = [f'"""{_describe(returns_value, names, targets, inputs, written)}', _STATUSES.strip("\n"), '    """']
    shapes = [(n, t) for n, t in zip((*names, *targets), (*inputs, *written)) if t.shape or n in targets]
    for each, type_ in shapes:
        lines += [f"    if {each}.size != {type_.size}:", f"        return {'REFUSED, np.nan' if returns_value else 'REFUSED'}"]
    given = [f"entries({n}, {t.size}, {_dtype(t)})" if t.shape else f"np.full(1, {n}, {_dtype(t)})" for n, t in zip(names, inputs)]
    results = ["result"] * returns_value + [f"{target}.reshape(-1)" for target in targets]
    if returns_value:
        lines.append("    result = np.empty(1)")
    lines.append(f"    note, report = np.zeros(4, np.int64), np.empty({report_size})")
    call = f"kernel({', '.join([*given, *results, 'note', 'report'])})"
    lines += [f"    status = {call}", "    return status, result[0]"] if returns_value else [f"    return {call}"]
    head = f"def {name}({', '.join([*names, *targets])}):"
    return Entry(name, "\n".join(["@jit", head, "    " + lines[0], *lines[1:]]))


def _describe(returns_value: bool, names: list[str], targets: list[str], inputs: list[ValueType], written: list[ValueType]) -> str:
    result = "(status, value)" if returns_value else "the status"
    given = ", ".join(f"{n}: {t}" for n, t in zip((*names, *targets), (*inputs, *written)))
    writes = f"; writes to {' and '.join(targets)}, which must be contiguous" if targets else ""
    return f"Returns {result}{writes}. Arguments: {given}."


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}{k}" for k in range(count)]


def _dtype(type_: ValueType) -> str:
    return {"f": "np.float64", "i": "np.int64", "b": "np.bool_"}[type_.dtype.kind]


def append_entry(text: ProgramText, entry: Entry) -> str:
    """A program's own text with its entry."""
    return text.own() + "\n\n" + entry.text + "\n"
