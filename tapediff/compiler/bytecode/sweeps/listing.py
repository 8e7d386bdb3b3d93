"""Prints the words of sweeps as plain Python: `z` are the values, `z_bar` their cotangents. codegen/python_listing.py has the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from ...loop_ir.program import Exit, Literal
from ...math.expressions import python_expression
from ..handlers import Check, Constants, Store
from .formulas import Formula
from .lookups import AddAt, LookUp
from .program import AnyHandler, Sweeps
from .run_handlers import Adjoint, CopyIn, CopyOut, Forward, Turn


def sweep_lines(sweeps: Sweeps, name: Callable[[int], str]) -> list[str]:
    """The lines of a group; `name` maps a storage to its name."""
    printer = _Printer(sweeps, name)
    lines = [f"# {sweeps.operations} operations are interpreted, in {len(sweeps.headers)} runs", f"z = [None] * {sweeps.slots}"]
    for number, header in enumerate(sweeps.headers.tolist()):
        lines += printer.run(sweeps.handlers[sweeps.handler_of[number]], header, int(sweeps.counts[number]))
    return lines


class _Printer:
    """Reads the words from the first run to the last, as the handlers do."""

    def __init__(self, sweeps: Sweeps, name: Callable[[int], str]) -> None:
        self.words, self.whole = sweeps.words, sweeps.whole
        self.bases = [name(storage) for storage in sweeps.bases]
        self.exits: dict[int, Exit] = {item.ordinal: item for item in sweeps.body if isinstance(item, Exit)}
        self.made = self.values = 0

    def run(self, handler: AnyHandler, header: int, count: int) -> Iterator[str]:
        first = header + 3
        match handler:
            case Constants():
                bits = self.words[first : first + 2 * count]
                for k, (number, whole) in enumerate(zip(bits.view(np.float64).tolist(), bits.view(np.int64).tolist())):
                    kind = self.whole.get(k)
                    yield f"z[{k}] = {_number(number) if kind is None else bool(whole) if kind == 'i1' else whole}"
            case CopyIn():
                yield f"z[{self.made}:{self.made + count}] = {self.bases[self.words[first]]}"
            case CopyOut():
                base, slot = self.words[first : first + 2].tolist()
                yield f"{self.bases[base]}[:] = z_bar[{slot - self.values}:{slot - self.values + count}] + 0.0"
            case Turn():
                self.values, seed = self.words[first : first + 2].tolist()
                yield f"z_bar = np.full({self.values}, -0.0)"
                yield f"z_bar[{seed}] = 1.0"
            case Forward():
                text = _forward_text(handler.formula)
                yield from (text.format(self.made + k, *row) for k, row in enumerate(self._rows(first, count, handler.arity)))
            case Adjoint():
                back, made = self.words[first : first + 2].tolist()
                texts = _adjoint_texts(handler)
                for k, row in enumerate(self._rows(header - back, count, handler.arity)):
                    yield from (text.format(made + k, *row) for text in texts)
            case LookUp():
                yield from (f"z[{self.made + k}] = z[{table} + z[{at}]]" for k, (table, at) in enumerate(self._rows(first, count, 2)))
            case AddAt():
                back, made = self.words[first : first + 2].tolist()
                for k, (table, at) in enumerate(self._rows(header - back, count, 2)):
                    yield f"z_bar[{table} + z[{at}]] += z_bar[{made + k}]"
            case Check():
                yield from (self._check(handler, *row) for row in self._rows(first, count, 3))
            case Store():
                yield from (f"{self.bases[base]}[{k}] = z[{slot}]" for base, k, slot in self._rows(first, count, 3))
            case _:
                return
        self.made += int(self.words[header + 2]) * handler.makes_values

    def _rows(self, first: int, count: int, arity: int) -> list[list[int]]:
        return self.words[first : first + count * arity].reshape(count, arity).tolist()

    def _check(self, handler: Check, value: int, expected: int, ordinal: int) -> str:
        met = f"trunc(z[{value}])" if handler.guard_kind == "int" else f"bool(z[{value}])"
        test = f"not np.isnan(z[{value}])" if handler.expects_nan else f"{met} != z[{expected}]"
        line = f"if {test}: return guard({ordinal}, {met}, report)"
        return f"{line:<70}  # {self.exits[ordinal].site}"


def _number(number: float) -> str:
    return f"np.float64({number!r})" if np.isfinite(number) else f"np.float64('{number!r}')"


@cache
def _forward_text(formula: Formula) -> str:
    """`z[{0}] = ...` of the operands {1}, {2}, ..."""
    (result,) = _texts(formula, [f"z[OPERAND_{k + 1}]" for k in range(len(formula.kinds))])
    return f"z[{{0}}] = {result}"


@cache
def _adjoint_texts(handler: Adjoint) -> list[str]:
    formula = handler.formula
    operands = ["z_bar[OPERAND_0]", "z[OPERAND_0]", *[f"z[OPERAND_{k + 1}]" for k in range(handler.arity)]]
    return [f"z_bar[{{{k + 1}}}] += {text}" for k, text in zip(handler.wanted, _texts(formula, operands))]


def _texts(formula: Formula, operands: Sequence[str]) -> list[str]:
    """The results as Python expressions, with intermediate lines inlined."""
    texts = list(operands)

    def text(ref: int | Literal) -> str:
        return f"({_number(ref.value)})" if isinstance(ref, Literal) else texts[ref]

    for line in formula.lines:
        names = {f"r{k}": text(ref) for k, ref in enumerate(line.operands)}
        names |= {name: repr(value) for name, value in line.parameters}
        texts.append(f"({python_expression(line.expression, names)})")
    return [re.sub(r"OPERAND_(\d+)", r"{\1}", text(ref).replace("{", "{{").replace("}", "}}")) for ref in formula.results]
