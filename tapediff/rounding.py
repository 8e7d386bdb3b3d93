"""The first-order effect of rounding on a function's value: the adjoint of every operation times the error that it makes.

Comes in: a target and a point. Goes out: a bound by lines and inputs. NumPy sweeps, by the ops' rules on plain arrays, also in callees.
"""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .errors import ArgumentMismatch, NonScalarOutput, TrackedValueEscaped, hides_frames
from .ir.containers import entries
from .ir.inputs import as_inputs, by_names
from .ir.instruction import CONSTANT, GUARD, INPUT, Instruction, Operand, Target, Tree
from .ir.interpreter import run
from .ir.tape import Tape
from .ops.arrays.indexing import RegionCotangent
from .ops.arrays.shape import unbroadcast
from .ops.control.calls import (
    CALL_VARIANT,
    LOOP,
    DynamicArray,
    ItemCotangent,
    LoopForm,
    NonzeroCotangent,
    TupleOp,
    loop_with_numpy,
)
from .ops.control.solution import SOLUTION
from .ops.declaration.op import Elementwise, declared_op
from .ops.rounding_errors import rounding_error
from .targets.evaluate.chosen import tape_of
from .targets.evaluate.nested_recording import is_recorded
from .targets.evaluate.request import function_of
from .targets.margins import values_at
from .targets.record_function import record

__all__ = ["Contribution", "ErrorEstimate", "error_estimate"]

EPSILON = float(np.finfo(np.float64).eps)
SINGLE = float(np.finfo(np.float32).eps)
SHOWN = 10


class Contribution(NamedTuple):
    """The contribution of one line, or one input, to the error of the value.

    Attributes:
        at: the user's line, as file:line in function; or the input, by its path in the arguments.
        error: first-order bound of its part of the rounding error. Of an input: of rounding it to its dtype.
        in_float32: the error if the line's results, or the input, were rounded to float32.
        text: the line; empty for inputs.
    """

    at: str
    error: float
    in_float32: float
    text: str = ""


@dataclass(frozen=True)
class ErrorEstimate:
    """A first-order bound of a value's rounding error; see td.error_estimate.

    Attributes:
        value: of the function.
        total: the bound, in units of the value; inputs are taken to be exact.
        lines: the contributions of the user's lines, the worst first.
        inputs: the contributions of the arguments that may be differentiated, if these had been rounded; not in `total`.
    """

    value: float
    total: float
    lines: tuple[Contribution, ...] = field(repr=False)
    inputs: tuple[Contribution, ...] = field(repr=False)

    def float32(self, tolerance: float) -> list[str]:
        """The inputs and lines that could be float32: together they add at most `tolerance` to the error, the cheapest first.

        Args:
            tolerance: in units of the value.

        Raises:
            ArgumentMismatch: a tolerance that is not positive.

        Source: Menon et al. (2018), ADAPT: algorithmic differentiation applied to floating-point precision tuning, SC18.
        """
        if not tolerance > 0.0:
            raise ArgumentMismatch("a tolerance is positive", got=f"tolerance={tolerance!r}", fix="tolerance=1e-6 * abs(value)")
        chosen: list[str] = []
        for each in sorted([*self.inputs, *self.lines], key=lambda c: c.in_float32):
            tolerance -= each.in_float32
            if not tolerance >= 0.0:
                break
            chosen.append(each.at)
        return chosen

    def __str__(self) -> str:
        relative = f", {self.total / abs(self.value):.1e} of it" if self.value else ""
        rows = [f"value {self.value:.17g}, rounding error at most about {self.total:.1e}{relative}", "    error  in float32"]
        rows += [f"  {c.error:.1e}     {c.in_float32:.1e}  {c.at}{f'    {c.text}' if c.text else ''}" for c in self.lines[:SHOWN]]
        if len(self.lines) > SHOWN:
            rows.append(f"  {sum(c.error for c in self.lines[SHOWN:]):.1e}              {len(self.lines) - SHOWN} other lines")
        return "\n".join([*rows, *(f"  {c.error:.1e}     {c.in_float32:.1e}  input {c.at}" for c in self.inputs)])


@hides_frames
def error_estimate(target: Target, x: Tree, /, *args: Tree, **named: Tree) -> ErrorEstimate:
    """Bound the rounding error of a function's value to first order, and say which lines it comes from.

    Each operation contributes its own error times the size of its adjoint: half a unit in the last place for arithmetic, what
    docs/accuracy.md states for functions, and as many as there are additions for sums and products of matrices. Factorisations and
    solves are taken to be backward stable. Negations, copies, products with powers of two and differences of close numbers are exact.

    Args:
        target: function, Tape, CompiledTape or GuardedTape that returns one real scalar.
        x, args, named: the point, float64 or float32; inputs are taken to be exact.

    Returns:
        ErrorEstimate: value, total, lines, inputs, and float32(tolerance); print it for a table.

    Raises:
        NonScalarOutput: the target does not return one real scalar.
        GuardFailed: a Tape or CompiledTape was asked for a path it does not hold.
        TrackedValueEscaped: called inside a recording.

    What the function computes of plain numbers alone does not count, nor that a branch may be decided otherwise.

    Cost: a replay and a reverse sweep by NumPy, about 10 µs an operation, also for each iteration of a loop; memory for all values of a
        tape, and of a loop for its carries.
    Source: Linnainmaa (1976), Taylor expansion of the accumulated rounding error, BIT 16; Higham (2002), Accuracy and Stability of
        Numerical Algorithms, chapters 3 and 4.

    ```python
    print(td.error_estimate(lambda x: (1.0 - np.cos(x)) / x**2, 1e-4))
    ```
    """
    given = (x, *args)
    if is_recorded([*given, *named.values()]):
        raise TrackedValueEscaped("an error estimate looks at values, which a recording would not notice", fix="ask for it outside")
    tape = tape_of(target)
    tape = (record(function_of(target), *given, **named) if tape is None else tape).without_aux()
    if tape.returns_tuple or tape.output_types[0].shape or not tape.output_types[0].is_float:
        raise NonScalarOutput("an error estimate is of one real number", got=", ".join(map(str, tape.output_types)),
                              fix="return one entry, or a sum")  # fmt: skip
    inputs = as_inputs(tape, by_names(tape, given, named) if named or tape.named_only else given)
    value = run(tape, inputs)[0]
    found = _Found()
    of_inputs = _swept(tape, inputs, found)
    return ErrorEstimate(float(value), sum(c.error for c in found.lines()), tuple(found.lines()), tuple(of_inputs))


@np.errstate(all="ignore")
def _swept(tape: Tape, inputs: Sequence[Operand], found: _Found) -> list[Contribution]:
    return _of_inputs(tape, inputs, _sweep(tape, inputs, [np.float64(1.0)], found, tape.active_inputs))


def _of_inputs(tape: Tape, inputs: Sequence[Operand], bars: Sequence[Operand]) -> list[Contribution]:
    names: Sequence[str] = [name or f"[{k}]" for k, name in enumerate(tape.argument_names)]
    if tape.arguments is not None:
        names = [path for name, tree in zip(names, tape.arguments) for path, leaf in entries(tree, name) if leaf.kind is None]
    sizes = {k: 0.0 if bars[k] is None else _size(inputs[k], bars[k]) for k in sorted(tape.active_inputs)}
    units = {k: 0.5 * float(np.finfo(tape.input_types[k].dtype).eps) for k in sizes}
    return [Contribution(names[k], units[k] * size, 0.5 * SINGLE * size) for k, size in sizes.items()]


def _size(value: Operand, z_bar: Operand) -> float:
    """The sum of |value * z_bar|, where a value of 0 has no relative error."""
    return float(np.sum(np.abs(np.where(np.equal(value, 0.0), 0.0, np.multiply(value, z_bar)))))


class _Found:
    """Errors, and sizes times adjoints, by source location."""

    def __init__(self) -> None:
        self.by_site: dict[Tree, list[float]] = {}

    def add(self, site: Tree, error: float, size: float) -> None:
        known = self.by_site.setdefault(site, [0.0, 0.0])
        known[0] += error
        known[1] += size

    def lines(self) -> list[Contribution]:
        """By line, the worst first; a line has many places in the byte code."""
        merged: dict[str, Contribution] = {}
        for site, (error, size) in self.by_site.items():
            at = str(site or "unknown line")
            text = linecache.getline(site.place[0], site.place[1]).strip() if site is not None else ""
            known = merged.get(at, Contribution(at, 0.0, 0.0, text))
            merged[at] = known._replace(error=known.error + error, in_float32=known.in_float32 + 0.5 * SINGLE * size)
        return sorted(merged.values(), key=lambda c: -c.error if c.error == c.error else -np.inf)


def _sweep(
    tape: Tape, inputs: Sequence[Operand], seeds: Sequence[Operand], found: _Found, active: Sequence[int] | None = None
) -> list[Operand]:
    """The cotangents of a tape's inputs from those of its outputs, None for 0; notes the errors of its instructions.

    Args:
        active: the positions of the inputs with cotangents; None for all.
    """
    values = values_at(tape, inputs)
    fixed = {number for number, i in enumerate(tape.instructions) if i.op is CONSTANT or i.type.dtype.kind in "iub"}
    fixed.update(number for k, number in enumerate(tape.inputs) if active is not None and k not in active)
    bars: dict[int, Operand] = {}
    own: set[int] = set()  # whose arrays no one else holds

    def add(number: int, cotangent: Operand) -> None:
        if cotangent is None or number in fixed:
            return
        if isinstance(cotangent, ItemCotangent):
            items = bars.setdefault(number, [None] * len(values[number]))
            items[cotangent.k] = _sum(items[cotangent.k], cotangent.z_bar)
        elif isinstance(cotangent, RegionCotangent):
            if number not in own:
                own.add(number)
                bars[number] = _sum(np.zeros(np.shape(values[number])), bars.get(number))
            region = cotangent.region
            bars[number][region.slices] += np.reshape(cotangent.z_bar, region.counts)
        else:
            cotangent = cotangent.z_bar if isinstance(cotangent, NonzeroCotangent) else cotangent
            bars[number] = _sum(bars.get(number), cotangent)
            own.discard(number)

    for number, seed in zip(tape.outputs, seeds):
        add(number, seed)
    for number in range(len(tape.instructions) - 1, -1, -1):
        instruction = tape.instructions[number]
        if number not in bars or instruction.op in (INPUT, CONSTANT, GUARD):
            continue
        operands, z_bar = [values[i] for i in instruction.inputs], bars.pop(number)
        if instruction.op is SOLUTION:
            cotangents = _through_equation(instruction, values[number], z_bar, operands, found)
        elif isinstance(instruction.op, TupleOp):
            cotangents = _through_callee(instruction, values[number], z_bar, operands, found)
        else:
            cotangents = _through(instruction, values[number], z_bar, operands, [i not in fixed for i in instruction.inputs])
            if instruction.type.is_float and type(z_bar) is not DynamicArray:
                size = _size(values[number], z_bar)
                error = rounding_error(instruction, values[number], operands)
                if error is None:  # the result is right for operands with as many errors as they have columns
                    backward = sum(_size(x, x_bar) for x, x_bar in zip(operands, cotangents) if x_bar is not None)
                    columns = max((np.shape(x)[-1] for x in operands if np.ndim(x)), default=1)
                    found.add(instruction.site, 0.5 * float(np.finfo(instruction.type.dtype).eps) * (size + columns * backward), size)
                else:
                    found.add(instruction.site, _size(error, z_bar), size)
        for i, cotangent in zip(instruction.inputs, cotangents):
            add(i, cotangent)
    return [bars.get(number) for number in tape.inputs]


def _sum(total: Operand, term: Operand) -> Operand:
    term = term.array if type(term) is DynamicArray else term
    return term if total is None else total if term is None else total + term


def _through(
    instruction: Instruction, z: Operand, z_bar: Operand, operands: Sequence[Operand], active: Sequence[bool]
) -> Sequence[Operand]:
    """The cotangents of an instruction's operands."""
    op = declared_op(instruction)
    named = op.named(instruction.params)
    if callable(op.vjp):
        return op.vjp(z_bar, z, *operands, **named)
    made = [rule(z_bar, z, *operands, **named) if rule is not None and wanted else None for rule, wanted in zip(op.vjp, active)]
    if not isinstance(op, Elementwise):
        return made
    # The option that was not chosen contributes exactly 0, whatever its derivative.
    return [c if c is None else unbroadcast(np.where(np.equal(z_bar, 0.0), 0.0, c), np.shape(x)) for c, x in zip(made, operands)]


def _through_callee(instruction: Instruction, z: Operand, z_bars: Operand, operands: Sequence[Operand], found: _Found) -> Sequence[Operand]:
    """The cotangents of the operands of a call or a loop, by its callee's tape."""
    op, callee = instruction.op, instruction.params[0]
    if op is LOOP:
        return _through_loop(z_bars, operands, callee, instruction.params[1], found)
    if hasattr(callee, "call_rule"):  # a user's primitive, whose results are taken to be rounded once
        for value, z_bar in zip(z, z_bars):
            size = 0.0 if z_bar is None else _size(value, z_bar)
            found.add(instruction.site, 0.5 * EPSILON * size, size)
        rule, active = declared_op(instruction).vjp, [np.asarray(x).dtype.kind == "f" for x in operands]
        assert callable(rule), "ops of tuples have one rule for all operands"
        return rule(z_bars, z, *operands, active=active, maybe_discarded=True, callee=callee)
    if op is CALL_VARIANT:
        return [None, *_sweep(callee.plain_tape(int(operands[0]), operands[1:]), operands[1:], z_bars, found)]
    return _sweep(callee.plain_tape(int(z[-1]), operands), operands, z_bars[:-1], found)


def _through_equation(instruction: Instruction, z: Operand, z_bar: Operand, operands: Sequence[Operand], found: _Found) -> list[Operand]:
    """Of a solution, whose error is that of the residual there, divided by its slope; see ops/control/solution.py."""
    residual, slope = instruction.params
    size = _size(z, z_bar)
    found.add(instruction.site, 0.5 * EPSILON * size, size)
    inputs = [z, *operands[1:]]
    matrix, path = slope.answer(None, inputs)[0][0], residual.answer(None, inputs)[1]
    solved = np.linalg.solve(np.transpose(matrix), np.reshape(z_bar, (-1,)))
    return [None, *_sweep(residual.plain_tape(path, inputs), inputs, [-np.reshape(solved, np.shape(z))], found)[1:]]


class _Watched:
    """A callee that notes the variant and the inputs of every iteration."""

    def __init__(self, callee: Operand) -> None:
        self.callee, self.in_types, self.out_types = callee, callee.in_types, callee.out_types
        self.calls: list[tuple[int, list[Operand]]] = []

    def answer(self, number: int | None, inputs: Sequence[Operand]) -> tuple[Sequence[Operand], int]:
        outputs, ran = self.callee.answer(number, inputs)
        self.calls.append((ran, list(inputs)))
        return outputs, ran


def _through_loop(z_bars: Sequence[Operand], operands: Sequence[Operand], callee: Operand, form: LoopForm, found: _Found) -> list[Operand]:
    watched = _Watched(callee)
    loop_with_numpy(watched, form, operands)
    outputs = len(callee.out_types) - form.carries - int(form.stops)
    stacked = z_bars[form.carries : form.carries + outputs]
    saved = z_bars[len(z_bars) - form.carries :] if form.saves_carries else [None] * form.carries
    carries: list[Operand] = list(z_bars[: form.carries])
    constants: list[Operand] = [None] * form.constants
    count = len(watched.calls)
    streams = [np.zeros((count, *type_.shape)) for type_ in form.parts(callee.in_types)[1]]
    for done in range(count - 1, -1, -1):
        place = count - 1 - done if form.backwards else done
        number, inputs = watched.calls[done]
        seeds = [*carries, *(None if z_bar is None else z_bar[place] for z_bar in stacked)]
        bars = _sweep(callee.plain_tape(number, inputs), inputs, seeds, found)
        of_carries, of_streams, of_constants = form.parts(bars)
        carries = [_sum(bar, None if z_bar is None else z_bar[place]) for bar, z_bar in zip(of_carries, saved)]
        for stream, bar in zip(streams, of_streams):
            stream[place] = 0.0 if bar is None else bar
        constants = [_sum(total, bar) for total, bar in zip(constants, of_constants)]
    return [*[None] * form.leading, *carries, *streams, *constants]
