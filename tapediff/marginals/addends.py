"""The terms whose sum is the result of a tape, also those that loops add up and branches choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

import numpy as np

from ..functions.loops import scan
from ..ir.instruction import CONSTANT, Operand
from ..ir.interpreter import inline
from ..ir.tape import Tape
from ..ops.arrays.reductions import SUM
from ..ops.arrays.shape import BROADCAST, RESHAPE, TRANSPOSE
from ..ops.control.calls import GET, LOOP, LoopForm
from ..ops.elementwise.arithmetic import ADD, MULTIPLY, NEGATIVE, SUBTRACT
from ..ops.elementwise.comparison import SELECT


@dataclass(frozen=True)
class Choice:
    """One of two sums of scalar values and further choices, with their factors, by a condition."""

    condition: int
    sides: tuple[tuple[tuple[int | Choice, float], ...], tuple[tuple[int | Choice, float], ...]]

    def reads(self) -> list[int]:
        parts = [part for side in self.sides for part, _ in side]
        return [self.condition, *(number for part in parts for number in ([part] if isinstance(part, int) else part.reads()))]

    def value(self, known: Mapping[int, Operand]) -> Operand:
        sums = [
            sum(factor * (known[part] if isinstance(part, int) else part.value(known)) for part, factor in side) for side in self.sides
        ]  # fmt: skip
        return np.where(known[self.condition], *sums)


@dataclass(frozen=True, eq=False)
class InLoop:
    """The terms that each iteration of a loop adds to a carry."""

    loop: int
    body: Tape
    terms: Terms


# A value, of which all entries are added, or another term; with its factor.
Terms = Mapping[int | Choice | InLoop, float]


def terms_of(tape: Tape, number: int, kept: int = -1) -> Terms:
    """The terms of a value, with their factors. `kept`: a value that is a term of its own.

    Cost: linear in the number of additions.
    """
    weights, pending, found = {number: 1.0}, [-number], dict[int | Choice | InLoop, float]()
    while pending:
        number = -heappop(pending)
        weight = weights.pop(number)
        parts = None if number == kept else _parts(tape, number)
        if parts is None:
            found[number] = found.get(number, 0.0) + weight
            continue
        for part, factor in parts:
            if isinstance(part, int):
                if part not in weights:
                    heappush(pending, -part)
                weights[part] = weights.get(part, 0.0) + weight * factor
            else:
                found[part] = found.get(part, 0.0) + weight * factor
    return found


def _parts(tape: Tape, number: int) -> list[tuple[int | Choice | InLoop, float]] | None:
    """The values that a value is a sum of, with their factors; None if it is no sum."""
    op, inputs, params, type_, _ = tape.instructions[number]
    if op is SUM or op in (RESHAPE, TRANSPOSE):
        return [(inputs[0], 1.0)]
    if op is NEGATIVE:
        return [(inputs[0], -1.0)]
    if op is BROADCAST or op in (ADD, SUBTRACT):  # each entry of an operand counts as often as it is repeated
        signs, sizes = (1.0, -1.0 if op is SUBTRACT else 1.0), [tape.instructions[i].type.size for i in inputs]
        return [(i, sign * (type_.size // size)) for i, sign, size in zip(inputs, signs, sizes)] if all(sizes) else None
    if op is MULTIPLY and type_.size:
        for i, other in (inputs, inputs[::-1]):
            factor = tape.instructions[i]
            if factor.op is CONSTANT and factor.type.size == 1 and tape.instructions[other].op is not CONSTANT:
                return [(other, float(np.ravel(factor.params[0])[0]))]
    if op is SELECT and not type_.shape:
        return _choice(tape, *inputs)
    if op is GET:
        return _accumulated(tape, inputs[0], params[0])
    return None


def _choice(tape: Tape, condition: int, *sides: int) -> list[tuple[int | Choice | InLoop, float]] | None:
    """Take the terms that both sides of a choice have out of it; None if there are none."""
    sums: list[dict[int | Choice, float]] = [{side: 1.0} for side in sides]
    pending = [-side for side in sides]
    heapify(pending)
    while pending and not sums[0].items() & sums[1].items():
        number = -heappop(pending)
        parts = _scalars(tape, _parts(tape, number) or [])
        for terms in sums if parts else ():
            weight = terms.pop(number, None)
            for part, factor in parts if weight is not None else ():
                terms[part] = terms.get(part, 0.0) + (weight or 0.0) * factor
                if isinstance(part, int):
                    heappush(pending, -part)
    common = [(part, weight) for part, weight in sums[0].items() if sums[1].get(part) == weight]
    if not common:
        return None
    first, second = (tuple(item for item in terms.items() if item not in common) for terms in sums)
    return [*common, (Choice(condition, (first, second)), 1.0)]


def _scalars(tape: Tape, parts: list[tuple[int | Choice | InLoop, float]]) -> list[tuple[int | Choice, float]]:
    """The parts of a sum if all of them are single numbers; else none."""
    found = [(part, factor) for part, factor in parts if not isinstance(part, InLoop)]
    is_whole = len(found) == len(parts) and not any(isinstance(part, int) and tape.instructions[part].type.shape for part, _ in found)
    return found if is_whole else []


def _accumulated(tape: Tape, number: int, carry: int) -> list[tuple[int | Choice | InLoop, float]] | None:
    """Split a final carry that each iteration of a loop adds to: what it begins with, and what is added."""
    loop = tape.instructions[number]
    if loop.op is not LOOP:
        return None
    callee, form = loop.params
    body: Tape | None = callee.only_path()
    if body is None or carry >= form.carries or form.stops or form.length is None or form.variant_given:
        return None
    given = body.inputs[carry]
    added = dict(terms_of(body, body.outputs[carry], given))
    if added.pop(given, 0.0) != 1.0:
        return None
    return [(loop.inputs[form.leading + carry], 1.0), (InLoop(number, body, added), 1.0)]


def values_of(tape: Tape, terms: Terms, inputs: Sequence[Operand], others: Sequence[int] = ()) -> tuple[Operand, list[Operand]]:
    """The entries of all terms times their factors, in one vector; and other values of the tape. Recorded where inputs are tracked."""
    needed = {number: None for term in terms for number in _reads(tape, term)} | dict.fromkeys(others)
    found = dict(zip(needed, inline(replace(tape, outputs=tuple(needed), returns_tuple=True), inputs)))
    vectors: list[Operand] = []
    for term, weight in terms.items():
        if isinstance(term, int):
            value = found[term]
        elif isinstance(term, Choice):
            value = term.value(found)
        else:
            value = _in_loop(tape, term, found)
        vectors.append(np.reshape(value if weight == 1.0 else weight * value, (-1,)))
    return np.concatenate(vectors), [found[number] for number in others]


def _reads(tape: Tape, term: int | Choice | InLoop) -> Sequence[int]:
    if isinstance(term, int):
        return (term,)
    if isinstance(term, Choice):
        return term.reads()
    return tape.instructions[term.loop].inputs


def _in_loop(tape: Tape, term: InLoop, found: Mapping[int, Operand]) -> Operand:
    """The terms of all iterations: the loop again, with these as its results."""
    loop, body = tape.instructions[term.loop], term.body
    form: LoopForm = loop.params[1]
    carries, streams, constants = form.parts([found[number] for number in loop.inputs])

    def iteration(carry: tuple[Operand, ...], entries: tuple[Operand, ...]) -> tuple[tuple[Operand, ...], Operand]:
        added, after = values_of(body, term.terms, [*carry, *entries, *constants], body.outputs[: form.carries])
        return tuple(after), added

    return scan(iteration, tuple(carries), tuple(streams) or None, form.length, reverse=form.backwards)[1]
