"""Leaves out the masks that are True up to the ends of the loops that read them, and the copies that they leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...ir.instruction import BOOL
from .beyond import Beyond, evaluated
from .dependencies import is_same_point, read_by
from .facts import Facts, literal, size_of, streams_of
from .idle_iterations import idle_iterations, with_constants
from .program import Access, Extent, Invoke, Item, Literal, RoutineCall, Step
from .views import contiguous


class _Written(NamedTuple):
    """A step whose value is a number, or a copy of another array in the same layout."""

    step: Step
    value: Literal | Access


def without_masks(steps: Sequence[Item], facts: Facts) -> list[Item]:
    """The steps without masks that are True up to the ends of the loops that read them, and without the copies that they leave."""
    known: dict[int, _Written] = {}
    found = list[Item]()
    for step in steps:
        if isinstance(step, Step) and any(isinstance(extent, Extent) for extent in step.domain):
            step = _simplified(replace(step, reads=tuple([_read(read, step, facts, known) for read in step.reads])))
            value = _value(step)
            if value is not None and step.write.storage not in facts.several and not step.is_disjoint_part:
                known[step.write.storage] = _Written(step, value)
        elif isinstance(step, Invoke) and step.stop:
            step = _without_mask(step, facts)
        elif isinstance(step, RoutineCall) and known:
            step = replace(step, operands=tuple([_source(place, known) for place in step.operands]))
        found.append(step)
    used = {s.number for s in facts.storages if s.home == "output"}
    left = list[Item]()
    for step in reversed(found):
        if isinstance(step, Step) and step.write.storage not in used:
            continue
        used.update(read_by(step))
        left.append(step)
    return left[::-1]


def _without_mask(invoke: Invoke, facts: Facts) -> Invoke:
    """A loop of a callee whose masks are True up to its end, and whose other carries of one value are constants."""
    callee, form = invoke.params
    known = dict[int, bool]()
    for k in streams_of(form):
        mask = facts.of_stream(invoke.operands[form.leading + k], size_of(callee.in_types[k]))
        if isinstance(mask, Beyond) and mask.before is not None and mask.ends == invoke.stop:
            known[k] = bool(mask.before)
        elif isinstance(mask, Beyond) and not mask.ends and isinstance(mask.value, (bool, np.bool_)):
            known[k] = bool(mask.value)
    first = {k: facts.repeated(invoke.operands[form.leading + k], size_of(callee.in_types[k])) for k in range(form.carries)}
    idle = idle_iterations(callee, form, {}, first)
    known |= {k: bool(one.value) for k, one in (idle.carries.items() if idle else ()) if callee.in_types[k].dtype == BOOL}
    return replace(invoke, params=(with_constants(callee, known), form)) if known else invoke


def _read(read: Access | Literal, step: Step, facts: Facts, known: dict[int, _Written]) -> Access | Literal:
    if isinstance(read, Literal) or read.index_read >= 0:
        return read
    kind = facts.storages[read.storage].kind
    for level, extent in enumerate(step.domain):
        mask = facts.of_read(read, step.domain, level) if isinstance(extent, Extent) and read.strides[level] else None
        if isinstance(mask, Beyond) and mask.before is not None and isinstance(extent, Extent) and mask.ends == extent.ends:
            return Literal(bool(mask.before), kind)
    written = known.get(read.storage)
    if written is None or not is_same_point(step, read, written.step):
        return read
    return written.value


def _source(operand: tuple[int, int], known: dict[int, _Written]) -> tuple[int, int]:
    """The array of which an operand of a routine is a copy."""
    written = known.get(operand[0])
    if written is None or not isinstance(written.value, Access) or written.value.strides != written.step.write.strides:
        return operand
    return written.value.storage, operand[1] + written.value.offset - written.step.write.offset


def _simplified(step: Step) -> Step:
    """A step whose selection is known as the number that is selected."""
    if step.expression == "select(r0, r1, r2)" and isinstance(step.reads[0], Literal):
        chosen = step.reads[1 if step.reads[0].value else 2]
        if isinstance(chosen, Literal) or chosen.index_read < 0:
            return replace(step, expression="r0", reads=(chosen,))
    return step


def _value(step: Step) -> Literal | Access | None:
    if step.combine is not None or step.write.index_read >= 0:
        return None
    if step.expression == "r0" and not step.parameters and isinstance(step.reads[0], Access):
        return step.reads[0] if step.write.strides == contiguous(step.domain) and step.reads[0].index_read < 0 else None
    if step.parameters or not all(isinstance(read, Literal) and read.kind == "i1" for read in step.reads):
        return None
    known = evaluated(step.expression, {name: literal(read) for name, read in zip(step.names, step.reads) if isinstance(read, Literal)})
    return Literal(bool(known.value), "i1") if isinstance(known, Beyond) and isinstance(known.value, (bool, np.bool_)) else None
