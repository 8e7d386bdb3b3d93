"""From tape to loop steps: each op's `lower` calls the building blocks here. Nothing is fused yet.

Reshapes, transposes, broadcasts and basic indexing are views: other strides on the same storage, at no cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import UnsupportedFunction
from ..instruction import CONSTANT, GUARD, INPUT, Instruction, ValueType
from ..ops import Elementwise
from ..ops.indexing import Region
from ..tape import Tape
from .program import KINDS, Access, Call, Exit, Literal, Program, Step, Storage

CONSTANT_ALIGNMENT = 64

# Products below this many multiplications are loops: a BLAS call costs more than it saves.
LARGEST_LOOP_PRODUCT = 2000

INTEGER_EXPRESSIONS = {
    "absolute": "select(x < 0, 0 - x, x)",
    "maximum": "select(x < y, y, x)",
    "minimum": "select(x < y, x, y)",
    "sign": "select(x < 0, 0 - 1, to_i64(x > 0))",
    "floor_divide": "select(equal(y, 0), 0, to_i64(floor_divide(to_f64(x), to_f64(y))))",
    "remainder": "select(equal(y, 0), 0, to_i64(mod(to_f64(x), to_f64(y))))",
}
# NumPy's arithmetic on masks is logic.
MASK_EXPRESSIONS = {
    "add": "x | y", "multiply": "x & y", "maximum": "x | y", "minimum": "x & y", "absolute": "x", "square": "x",
    "less": "logical_not(x) & y", "less_equal": "logical_not(x) | y",
    "greater": "x & logical_not(y)", "greater_equal": "x | logical_not(y)",
}  # fmt: skip
# Every access in generated code has one of these sizes.
SUPPORTED = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_))
CONVERSIONS = {
    ("f64", "i64"): "to_i64(x)", ("i1", "i64"): "to_i64(x)", ("i64", "f64"): "to_f64(x)", ("i1", "f64"): "to_f64(x)",
    ("f64", "i1"): "not_equal(x, 0.0)", ("i64", "i1"): "not_equal(x, 0)",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value of the tape is found: a strided view of a storage, or a number."""

    shape: tuple[int, ...]
    storage: int
    offset: int
    strides: tuple[int, ...]
    literal: Literal | None = None

    @property
    def is_contiguous(self) -> bool:
        return self.literal is None and same_strides(self.strides, contiguous(self.shape), self.shape)


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def same_strides(a: tuple[int, ...], b: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return all(s == t for s, t, extent in zip(a, b, shape) if extent > 1)


class Lowering:
    """Collects the steps of one tape. `self.places[i]` tells where value i is."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.storages: list[Storage] = []
        self.steps: list[Step | Exit | Call] = []
        self.places: list[Place] = []
        self.constants = bytearray()
        self.failures: list[str] = []
        self._input_storages: dict[int, int] = {}
        self.site: Any = None

    # Storages and places

    def storage(self, shape: tuple[int, ...], kind: str, home: str = "workspace", position: int = -1) -> Place:
        size = int(np.prod(shape))
        self.storages.append(Storage(len(self.storages), size, kind, home, position))
        return Place(shape, len(self.storages) - 1, 0, contiguous(shape))

    def constant(self, array: np.ndarray) -> Place:
        kind = KINDS[array.dtype.kind]
        if array.size == 1:
            return Place(array.shape, -1, 0, (0,) * array.ndim, Literal(array.reshape(-1)[0].item(), kind))
        self.constants.extend(b"\0" * (-len(self.constants) % CONSTANT_ALIGNMENT))
        place = self.storage(array.shape, kind, "constant", len(self.constants))
        self.constants.extend(np.ascontiguousarray(array).tobytes())
        return place

    def kind_of(self, place: Place) -> str:
        return place.literal.kind if place.literal is not None else self.storages[place.storage].kind

    def place(self, number: int) -> Place:
        return self.places[number]

    def result(self, instruction: Instruction) -> Place:
        place = self.storage(instruction.type.shape, KINDS[instruction.type.dtype.kind])
        self.places.append(place)
        return place

    # Steps

    def step(
        self, domain: tuple[int, ...], reads: list[tuple[Place, tuple[int, ...]]], expression: str, target: Place,
        strides: tuple[int, ...], combine: str | None = None, **more: Any,
    ) -> None:  # fmt: skip
        """Append a step; extents of 1 are dropped from the domain. Each read is a place with its strides over the domain."""
        kept = tuple(k for k, extent in enumerate(domain) if extent != 1)
        accesses: list[Access | Literal] = []
        for place, read_strides in reads:
            if place.literal is not None:
                accesses.append(place.literal)
            else:
                accesses.append(Access(place.storage, place.offset, tuple(read_strides[k] for k in kept)))
        if more.pop("gather", False):
            first, source = accesses[0], accesses[1]
            assert isinstance(source, Access)
            accesses = [first, replace(source, via=0)]
        via = 0 if more.pop("scatter", False) else -1
        write = Access(target.storage, target.offset, tuple(strides[k] for k in kept), via)
        parameters = more.pop("parameters", ())
        self.steps.append(Step(tuple(domain[k] for k in kept), tuple(accesses), expression, parameters, write, combine,
                               site=self.site, **more))  # fmt: skip

    def spread(self, place: Place, shape: tuple[int, ...]) -> tuple[Place, tuple[int, ...]]:
        """A place as a read over a domain of `shape`, by NumPy's broadcasting."""
        extra = len(shape) - len(place.shape)
        strides = tuple(0 if e == 1 else s for s, e in zip(place.strides, place.shape))
        return place, (0,) * extra + strides

    def copy(self, source: Place, target: Place, combine: str | None = None) -> None:
        self.step(target.shape, [self.spread(source, target.shape)], "r0", target, target.strides, combine)

    def fill(self, value: Any, target: Place) -> None:
        kind = self.storages[target.storage].kind
        zero = Place((), -1, 0, (), Literal(value, kind))
        # One loop over the whole storage, so that the fill is a memset.
        size = self.storages[target.storage].size
        self.step((size,), [(zero, (0,))], "r0", Place((size,), target.storage, 0, (1,)), (1,))

    def in_memory(self, number: int) -> Place:
        """A value as a contiguous array at an address, for a routine; copied if it is a view or a number."""
        place = self.places[number]
        if place.is_contiguous:
            return place
        fresh = self.storage(place.shape, self.kind_of(place))
        self.copy(place, fresh)
        return fresh

    def floats_in_memory(self, number: int) -> Place:
        """As in_memory, with masks and integers turned into floats."""
        place = self.places[number]
        conversion = CONVERSIONS.get((self.kind_of(place), "f64"))
        if conversion is None:
            return self.in_memory(number)
        fresh = self.storage(place.shape, "f64")
        self.step(place.shape, [self.spread(place, place.shape)], rename(conversion, ("x",)), fresh, fresh.strides)
        return fresh

    # Building blocks used by the ops

    def elementwise(self, i: Instruction) -> None:
        op: Elementwise = i.op
        expression = op.scalar
        operands = [self.places[k] for k in i.inputs]
        numbers = operands if op.promote is None else operands[1:]
        if numbers and self.kind_of(numbers[0]) == "i64" and i.type.dtype.kind == "i":
            expression = INTEGER_EXPRESSIONS.get(op.name, expression)
        elif numbers and self.kind_of(numbers[0]) == "i1":
            expression = MASK_EXPRESSIONS.get(op.name, expression)
        named = tuple(op.named(i.params).items())
        self._expression(i, operands, rename(expression, op.arguments), named)

    def _expression(self, i: Instruction, operands: list[Place], expression: str, parameters: tuple[Any, ...] = ()) -> None:
        shape = i.type.shape
        target = self.result(i)
        self.step(shape, [self.spread(p, shape) for p in operands], expression, target, target.strides, parameters=parameters)

    def convert(self, i: Instruction) -> None:
        source = self.places[i.inputs[0]]
        conversion = CONVERSIONS.get((self.kind_of(source), KINDS[i.type.dtype.kind]), "x")
        self._expression(i, [source], rename(conversion, ("x",)))

    def reshape(self, i: Instruction) -> None:
        place = self.places[i.inputs[0]]
        strides = reshaped_strides(place.shape, place.strides, i.type.shape)
        if strides is None:
            place = self.in_memory(i.inputs[0])
            strides = contiguous(i.type.shape)
        self.places.append(replace(place, shape=i.type.shape, strides=strides))

    def transpose(self, i: Instruction, axes: tuple[int, ...]) -> None:
        place = self.places[i.inputs[0]]
        strides = tuple(place.strides[a] for a in axes)
        self.places.append(replace(place, shape=i.type.shape, strides=strides))

    def broadcast(self, i: Instruction) -> None:
        place = self.places[i.inputs[0]]
        _, strides = self.spread(place, i.type.shape)
        self.places.append(replace(place, shape=i.type.shape, strides=strides))

    def index(self, i: Instruction) -> None:
        self.places.append(self.part(self.places[i.inputs[0]], i.params[0]))

    def part(self, place: Place, region: Region) -> Place:
        """The view of a region of a place."""
        offset = place.offset + sum(a * s for a, s in zip(region.starts, place.strides))
        strides = tuple(step * s for step, s in zip(region.steps, place.strides))
        shaped = reshaped_strides(region.counts, strides, region.shape)
        assert shaped is not None, "a region only drops or adds axes of length 1"
        return replace(place, shape=region.shape, offset=offset, strides=shaped)

    def reduce(self, i: Instruction, combine: str) -> None:
        (axes,) = i.params
        source = self.places[i.inputs[0]]
        target = self.result(i)
        kept = iter(target.strides)
        strides = tuple(0 if k in axes else next(kept) for k in range(len(source.shape)))
        expression = "r0"
        if self.kind_of(source) == "i1":
            expression = "to_i64(r0)" if i.type.dtype.kind == "i" else "r0"
            combine = {"maximum": "or", "minimum": "and"}.get(combine, combine)
        # Over axes of length 1 there is nothing to combine, and nothing would set the accumulator's first value.
        several = any(source.shape[k] != 1 for k in axes)
        self.step(source.shape, [self.spread(source, source.shape)], expression, target, strides, combine if several else None)

    def cumulate(self, i: Instruction) -> None:
        axis, backwards = i.params
        source, target = self.places[i.inputs[0]], self.result(i)
        order = [k for k in range(len(source.shape)) if k != axis] + [axis]
        views = []
        for place in (source, target):
            strides = [place.strides[k] for k in order]
            offset = place.offset
            if backwards:
                offset += strides[-1] * (place.shape[axis] - 1)
                strides[-1] = -strides[-1]
            views.append((replace(place, offset=offset), tuple(strides)))
        domain = tuple(source.shape[k] for k in order)
        running = source.shape[axis] != 1
        self.step(domain, [views[0]], "r0", views[1][0], views[1][1], "add" if running else None, running=running)

    def assemble(self, i: Instruction) -> None:
        regions, shape, disjoint = i.params
        target = self.result(i)
        covered = sum(int(np.prod(r.counts)) for r in regions)
        if not (disjoint and covered == i.type.size):
            self.fill(0.0, target)
        for number, region in zip(i.inputs, regions):
            self.copy(self.places[number], self.part(target, region), None if disjoint else "add")

    def replace(self, i: Instruction) -> None:
        target = self.result(i)
        self.copy(self.places[i.inputs[0]], target)
        self.copy(self.places[i.inputs[1]], self.part(target, i.params[0]))

    def gather(self, i: Instruction) -> None:
        source = self.flat(i.inputs[0])
        positions = self.places[i.inputs[1]]
        target = self.result(i)
        shape = i.type.shape
        reads = [self.spread(positions, shape), (source, (0,) * len(shape))]
        if source.literal is not None:
            self.step(shape, reads[1:], "r0", target, target.strides)
        else:
            self.step(shape, reads, "r1", target, target.strides, gather=True)

    def flat(self, number: int) -> Place:
        """A value whose element k is at offset + k."""
        place = self.places[number]
        return place if place.literal is not None else self.in_memory(number)

    def scatter_add(self, i: Instruction) -> None:
        target = self.result(i)
        self.fill(0.0, target)
        self._scatter(i.inputs[1], self.places[i.inputs[0]], target, "add")

    def put(self, i: Instruction) -> None:
        target = self.result(i)
        self.copy(self.places[i.inputs[0]], target)
        self._scatter(i.inputs[2], self.places[i.inputs[1]], target, None)

    def _scatter(self, positions: int, source: Place, target: Place, combine: str | None) -> None:
        shape = self.places[positions].shape
        reads = [self.spread(self.places[positions], shape), self.spread(source, shape)]
        self.step(shape, reads, "r1", target, (0,) * len(shape), combine, scatter=True)

    def matmul(self, i: Instruction) -> None:
        x, y = (self.places[k] for k in i.inputs)
        rows = x.shape[-2:-1] if len(x.shape) > 1 else ()
        columns = y.shape[-1:] if len(y.shape) > 1 else ()
        inner = x.shape[-1:]
        batch = i.type.shape[: len(i.type.shape) - len(rows) - len(columns)]
        multiplications = int(np.prod((*batch, *rows, *inner, *columns)))
        if rows and columns and not batch and multiplications > LARGEST_LOOP_PRODUCT:
            left, right = self.in_memory_or_transposed(i.inputs[0]), self.in_memory_or_transposed(i.inputs[1])
            target = self.result(i)
            self.call("gemm", [left[0], right[0]], target, (rows[0], columns[0], inner[0], left[1], right[1]))
            return
        self._matmul_loops(i, x, y, batch, rows, inner, columns)

    def _matmul_loops(
        self, i: Instruction, x: Place, y: Place, batch: tuple[int, ...], rows: tuple[int, ...], inner: tuple[int, ...],
        columns: tuple[int, ...],
    ) -> None:  # fmt: skip
        """One loop nest in the order in which memory is read: row by row of the matrix, or columns innermost."""
        target = self.result(i)
        zero_r, zero_c = (0,) * len(rows), (0,) * len(columns)
        x_batch, y_batch = (p.strides[: len(p.strides) - n] for p, n in ((x, len(rows) + 1), (y, len(columns) + 1)))
        x_batch = (0,) * (len(batch) - len(x_batch)) + self._batch_strides(x, x_batch)
        y_batch = (0,) * (len(batch) - len(y_batch)) + self._batch_strides(y, y_batch)
        x_strides = (*x_batch, *(x.strides[-2:-1] if rows else ()), x.strides[-1], *zero_c)
        y_strides = (*y_batch, *zero_r, y.strides[-2] if columns else y.strides[-1], *(y.strides[-1:] if columns else ()))
        z_row = target.strides[len(batch) : len(batch) + len(rows)]
        z_strides = (*target.strides[: len(batch)], *z_row, 0, *(target.strides[-1:] if columns else ()))
        domain = (*batch, *rows, *inner, *columns)
        order = list(range(len(domain)))
        if len(order) >= 2 and not columns and x.strides[-1] != 1 and rows and x.strides[-2] == 1:
            order[-2:] = order[-1], order[-2]
        elif columns and not rows and y.strides[-1] != 1 and y.strides[-2] == 1:
            order[-2:] = order[-1], order[-2]
        pick = lambda strides: tuple(strides[k] for k in order)  # noqa: E731 -- three uses in the next two lines
        combine = None if inner == (1,) else "add"
        self.step(pick(domain), [(x, pick(x_strides)), (y, pick(y_strides))], "r0 * r1", target, pick(z_strides), combine)

    @staticmethod
    def _batch_strides(place: Place, strides: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(0 if e == 1 else s for s, e in zip(strides, place.shape))

    def in_memory_or_transposed(self, number: int) -> tuple[Place, int]:
        """A matrix as BLAS takes it: contiguous, or the transpose of a contiguous one (1)."""
        place = self.places[number]
        if place.literal is None and same_strides(place.strides, tuple(reversed(contiguous(place.shape[::-1]))), place.shape):
            return place, 1
        return self.in_memory(number), 0

    # Routines

    def call(self, routine: str, operands: list[Place], target: Place, sizes: tuple[int, ...], failure: str = "") -> None:
        number = -1
        if failure:
            number = len(self.failures)
            self.failures.append(failure)
        pairs = tuple((place.storage, place.offset) for place in operands)
        self.steps.append(Call(routine, pairs, target.storage, sizes, number, self.site))

    def cholesky(self, i: Instruction) -> None:
        source = self.in_memory(i.inputs[0])
        self.call("cholesky", [source], self.result(i), (i.type.shape[0],), "Matrix is not positive definite")

    def triangular_solve(self, i: Instruction) -> None:
        lower, transposed, unit = i.params
        a, b = self.in_memory(i.inputs[0]), self.in_memory(i.inputs[1])
        n, k = a.shape[0], int(np.prod(b.shape[1:]))
        failure = "" if unit else "singular matrix: resolution failed at diagonal"
        self.call("triangular_solve", [a, b], self.result(i), (n, k, int(lower), int(transposed), int(unit)), failure)

    def lu_factor(self, i: Instruction) -> None:
        self.call("lu_factor", [self.in_memory(i.inputs[0])], self.result(i), (i.type.shape[1],))

    def lu_solve(self, i: Instruction) -> None:
        lu, b = self.in_memory(i.inputs[1]), self.in_memory(i.inputs[2])
        n, k = b.shape[0], int(np.prod(b.shape[1:]))
        scratch = self.storage((n * k,) if k > 1 else (1,), "f64")
        self.call("lu_solve", [lu, b, scratch], self.result(i), (n, k, int(i.params[0])), "Singular matrix")

    def det_sign(self, i: Instruction) -> None:
        lu = self.in_memory(i.inputs[0])
        self.call("det_sign", [lu], self.result(i), (lu.shape[1],))

    def log_abs_det(self, i: Instruction) -> None:
        lu = self.places[i.inputs[1]]
        n = lu.shape[1]
        diagonal = replace(lu, shape=(n,), strides=(lu.strides[0] + lu.strides[1],))
        target = self.result(i)
        self.step((n,), [(diagonal, diagonal.strides)], "log(absolute(r0))", target, (0,), "add")

    def index_routine(self, i: Instruction) -> None:
        name = i.op.name
        operands = [self.floats_in_memory(k) for k in i.inputs]
        if name == "searchsorted":
            a, v = operands
            sizes = (a.shape[0], int(np.prod(v.shape)), int(i.params[0] == "right"))
            self.call("searchsorted", operands, self.result(i), sizes)
            return
        (axis,) = i.params
        shape = operands[0].shape
        before, after = int(np.prod(shape[:axis])), int(np.prod(shape[axis + 1 :]))
        self.call(name, operands, self.result(i), (before, shape[axis], after))

    # Guards

    def guard(self, i: Instruction) -> None:
        kind, outcome, ordinal = i.params
        place = self.places[i.inputs[0]]
        self.places.append(Place((), -1, 0, (), Literal(0.0, "f64")))
        if kind == "array":
            self._array_guard(place, np.asarray(outcome), ordinal, i.inputs[0])
            return
        if place.literal is not None:
            fresh = self.storage((), place.literal.kind)
            self.copy(place, fresh)
            place = fresh
        expected = float(outcome)
        self.steps.append(Exit(ordinal, kind, Access(place.storage, place.offset, ()), expected, (place.storage, 1), self.site))

    def _array_guard(self, place: Place, outcome: np.ndarray, ordinal: int, number: int) -> None:
        """Compare the whole array with its recorded pattern; the array itself is what a failure reports."""
        place = self.in_memory(number)
        pattern = self.constant(outcome)
        same = self.storage((), "i1")
        shape = place.shape
        expression = "~(r0 ^ r1)" if self.kind_of(place) == "i1" else "equal(r0, r1)"
        reads = [self.spread(place, shape), self.spread(pattern, shape)]
        self.step(shape, reads, expression, same, (0,) * len(shape), "and")
        size = int(np.prod(shape))
        self.steps.append(Exit(ordinal, "array", Access(same.storage, 0, ()), 1.0, (place.storage, size), self.site))


def rename(expression: str, names: tuple[str, ...]) -> str:
    """The expression in terms of r0, r1, ...; the names of declarations are single letters, so words are safe to replace."""
    cached = _renamed.get((expression, names))
    if cached is None:
        import re

        table = {name: f"r{k}" for k, name in enumerate(names)}
        cached = re.sub(r"[A-Za-z_]\w*", lambda m: table.get(m.group(), m.group()), expression)
        _renamed[expression, names] = cached
    return cached


_renamed: dict[tuple[str, tuple[str, ...]], str] = {}


def reshaped_strides(
    old: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Strides of the same elements in the shape `new`, or None where that needs a copy."""
    if 0 in old or 0 in new:
        return contiguous(new)
    dims = [(extent, stride) for extent, stride in zip(old, strides) if extent != 1]
    # Merge axes that are laid out as one.
    merged: list[tuple[int, int]] = []
    for extent, stride in dims:
        if merged and merged[-1][1] == stride * extent:
            merged[-1] = (merged[-1][0] * extent, stride)
        else:
            merged.append((extent, stride))
    result: list[int] = []
    blocks = iter(reversed(merged))
    left, step = 1, 0
    for extent in reversed(new):
        if extent == 1:
            result.append(0)
            continue
        if left == 1:
            left, step = next(blocks)
        if left % extent:
            return None
        result.append(step)
        step *= extent
        left //= extent
    return tuple(reversed(result))


def lower(tape: Tape) -> Lowering:
    """The unfused steps of a tape, ending with the copies into its outputs."""
    low = Lowering(tape)
    for number, instruction in enumerate(tape.instructions):
        low.site = instruction.site
        op = instruction.op
        _require_supported(instruction.type, instruction)
        if op is CONSTANT:
            low.places.append(low.constant(instruction.params[0]))
        elif op is INPUT:
            kind = KINDS[instruction.type.dtype.kind]
            low.places.append(low.storage(instruction.type.shape, kind, "input", instruction.params[0]))
        elif op is GUARD:
            low.guard(instruction)
        elif isinstance(op, Elementwise):
            low.elementwise(instruction)
        elif op.lower is not None:
            op.lower(low, instruction)
        else:
            raise UnsupportedFunction(f"{op.name} cannot be compiled", at=instruction.site, fix="replay the tape without compiling")
        assert len(low.places) == number + 1, f"{op} must define exactly one place"
    low.site = None
    _place_outputs(low)
    return low


def _place_outputs(low: Lowering) -> None:
    """Compute each output where the caller wants it, or copy it there if it is a view, an input, or used elsewhere."""
    read_storages = {r.storage for s in low.steps if isinstance(s, Step) for r in s.reads if isinstance(r, Access)}
    read_storages |= {pair[0] for s in low.steps if isinstance(s, Call) for pair in s.operands}
    read_storages |= {s for e in low.steps if isinstance(e, Exit) for s in (e.read.storage, e.report[0])}
    taken: set[int] = set()
    for position, number in enumerate(low.tape.outputs):
        place = low.places[number]
        storage = low.storages[place.storage] if place.literal is None else None
        whole = storage is not None and storage.size == int(np.prod(place.shape)) and place.is_contiguous
        if whole and storage.home == "workspace" and storage.number not in taken | read_storages:  # type: ignore[union-attr]
            storage.home, storage.position = "output", position  # type: ignore[union-attr]
            taken.add(storage.number)  # type: ignore[union-attr]
            continue
        target = low.storage(place.shape, low.kind_of(place), "output", position)
        low.copy(place, target)


def _require_supported(type_: ValueType, instruction: Instruction) -> None:
    if type_.dtype not in SUPPORTED:
        raise UnsupportedFunction(
            f"compiling {type_.dtype} arithmetic", at=instruction.site,
            fix="convert the arguments to float64, or replay the tape without compiling",
        )  # fmt: skip


def to_program(low: Lowering, groups: list[Any]) -> Program:
    return Program(
        low.tape.name, low.storages, groups, bytes(low.constants), len(low.tape.inputs), len(low.tape.outputs),
        tuple(low.failures),
    )  # fmt: skip


__all__ = ["Lowering", "Place", "lower", "to_program"]
