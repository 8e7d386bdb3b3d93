"""The formula of an operation on numbers, and of its adjoint: lowered from the op's declaration and its derivative rules.

There is no second set of rules: as in the reverse pass, a rule is called on tracked numbers, and what it records is simplified and lowered
like any tape. This happens once in a process for each form of operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from ....ir.instruction import BOOL, FLOAT64, INT64, Operand
from ....ir.tape import Tape
from ....ops.declaration.op import Elementwise, Op
from ....ops.elementwise.comparison import EQUAL, IS_NAN, LOGICAL_AND, SELECT
from ....passes.pipeline import FINISH, run_passes
from ....recording.arrays.tracked import TrackedArray
from ....recording.recorder import Recorder
from ....transforms.reverse import finished, result_of
from ...loop_ir.program import Literal, Parameters, Step
from ...lower.lower import lower
from .discarded import CHOSEN, GUARDED
from .several import OF_SEVERAL
from .tables import Form, Unsuited

_DTYPES = {"f64": FLOAT64, "i64": INT64, "i1": BOOL}

# An operand of a line: an operand of the formula, then, numbered after these, the lines before.
Ref = int | Literal


class Line(NamedTuple):
    """One expression of a formula."""

    expression: str
    parameters: Parameters
    operands: tuple[Ref, ...]
    kind: str


class Formula(NamedTuple):
    """Scalars computed from scalars.

    Attributes:
        kinds: types of the operands.
        results: numbers of operands or lines.
    """

    kinds: tuple[str, ...]
    lines: tuple[Line, ...]
    results: tuple[Ref, ...]


@cache
def forward_formula(form: Form) -> Formula:
    """The operation itself. Raises Unsuited."""
    return _lowered(_forward_tape(form), form.kinds)


@cache
def adjoint_formula(form: Form, wanted: tuple[int, ...], mode: int) -> Formula:
    """Map the cotangent of the result, the result and the operands to the terms added to the cotangents of the operands `wanted`.

    Args:
        mode: how to treat cotangents of discarded values, see discarded.py.
    """
    kinds = ("f64", form.kind, *form.kinds)
    if form.op is SELECT:
        z_bar = "r1" if mode & CHOSEN else "r1 + 0.0"
        sides = {1: f"select(r0, {z_bar}, -0.0)", 2: f"select(r0, -0.0, {z_bar})"}
        return _with_lines(Formula(kinds, (), ()), [(sides[k], (2, 0)) for k in wanted])
    formula = _lowered(_adjoint_tape(form, wanted, bool(mode & GUARDED)), kinds)
    if not mode & CHOSEN:
        return formula
    marked = "select(equal(r0, 0.0) & signbit(r0), -0.0, r1 + 0.0)"
    return _with_lines(formula, [(marked, (0, result)) for result in formula.results])


def _with_lines(formula: Formula, lines: Sequence[tuple[str, tuple[Ref, ...]]]) -> Formula:
    """The formula with further lines, whose results replace its own."""
    first = len(formula.kinds) + len(formula.lines)
    added = [Line(expression, (), operands, "f64") for expression, operands in lines]
    return Formula(formula.kinds, (*formula.lines, *added), tuple(range(first, first + len(added))))


def _forward_tape(form: Form) -> Tape:
    op = form.op
    assert isinstance(op, Op)

    def body(recorder: Recorder) -> Tape:
        operands = _inputs(recorder, form.kinds)
        made = OF_SEVERAL[op].value(operands) if op in OF_SEVERAL else recorder.apply(op, operands, form.params)
        return finished(recorder, [made._id])

    return Recorder("forward", concrete=False).run(body)


@np.errstate(all="ignore")
def _adjoint_tape(form: Form, wanted: tuple[int, ...], is_guarded: bool) -> Tape:
    op = form.op
    assert isinstance(op, Op)
    rules = op.vjp
    assert not callable(rules)

    def body(recorder: Recorder) -> Tape:
        z_bar, z, *operands = _inputs(recorder, ("f64", form.kind, *form.kinds))
        if op in OF_SEVERAL:
            shares = OF_SEVERAL[op].shares(z_bar, z, operands)
            return finished(recorder, [result_of(recorder, shares[k], z_bar.type) for k in wanted])
        found: list[int] = []
        for k in wanted:
            rule = rules[k]
            assert rule is not None
            cotangent: Operand = rule(z_bar, z, *operands, **op.named(form.params))
            if is_guarded and cotangent is not None and isinstance(op, Elementwise):
                cotangent = SELECT(LOGICAL_AND(EQUAL(z_bar, 0.0), IS_NAN(cotangent)), 0.0, cotangent)
            found.append(result_of(recorder, cotangent, z_bar.type))
        return finished(recorder, found)

    return run_passes(Recorder("adjoint", concrete=False).run(body))


def _inputs(recorder: Recorder, kinds: Sequence[str]) -> list[TrackedArray]:
    return [recorder.input(np.ones((), _DTYPES[kind]), active=True) for kind in kinds]


def _lowered(tape: Tape, kinds: tuple[str, ...]) -> Formula:
    lowered = lower(run_passes(tape, FINISH))
    storages, value_of = lowered.storages, dict[int, Ref]()
    results: dict[int, Ref] = {}
    lines: list[Line] = []
    for storage in storages:
        if storage.home == "input":
            value_of[storage.number] = storage.position
    for step in lowered.steps:
        if not isinstance(step, Step) or step.domain or step.combine is not None or step.write.index_read >= 0:
            raise Unsuited
        operands = tuple([read if isinstance(read, Literal) else value_of[read.storage] for read in step.reads])
        target = storages[step.write.storage]
        if step.expression == "r0" and not step.parameters:
            value = operands[0]
        else:
            value = len(kinds) + len(lines)
            lines.append(Line(step.expression, step.parameters, operands, target.kind))
        value_of[target.number] = value
        if target.home == "output":
            results[target.position] = value
    return Formula(kinds, tuple(lines), tuple([results[k] for k in range(len(tape.outputs))]))
