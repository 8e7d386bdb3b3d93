"""Batches independent isomorphic operations of a long tape, wherever they are and whatever their shapes.

    for rows in groups:                        # groups of different lengths, so no loop has them all as iterations
        e = y[rows] - X[rows] @ b              e = y[all] - X[all] @ b
        total += np.log(np.sum(e * e))     →   total = np.sum(np.log(scatter_add(e * e, group)))

Loops of isomorphic iterations are found by reroll.py, which comes before. Source: Neubig, Goldberg and Dyer (2017), On-the-fly
operation batching in dynamic computation graphs, NeurIPS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....ir.instruction import CONSTANT, FLOAT64, FLOAT_SCALAR, GUARD, INT64, Instruction, ValueType, some_of
from ....ir.rewriter import Rewriter
from ....ir.tape import Tape
from ....ops import Elementwise
from ....ops.arrays.indexing import ASSEMBLE, SCATTER_ADD, Region, Regions
from ....ops.arrays.reductions import SUM
from ....ops.arrays.shape import TRANSPOSE
from ....ops.elementwise.arithmetic import CONVERT, MULTIPLY
from ....ops.matrices.products import MATMUL
from ...simplify.array_entries import read_at
from ...simplify.common_subexpressions import common_subexpressions
from ..vectorize import Batch
from .alike_entries import ALONE, COLUMNS, ROWS, Entries, Node, Run, Runs, Unsuited, is_array, runs_of

# Shorter tapes compile in a quarter of a second.
FEWEST_INSTRUCTIONS = 400

# Tried first on so many instructions: enough to reject most unsuited tapes.
FIRST_LOOK = 4000

# A scalar operation takes a thirtieth of the time that a loop of many takes to compile; one on arrays OF_ARRAYS times as long.
LEAST_SHORTER, OF_ARRAYS = 24, 4

# Arrays with more entries on average fill the lanes by themselves, and gathering them doubles the time of a call: then only tapes that take
# many seconds to compile are shortened.
LARGEST_MEAN, LONG = 48, 30_000

# Sums of rows of up to so many lengths become one sum for each length.
MOST_LENGTHS = 8

# More operations take seconds to compile, whereas long lists of scalar operations are interpreted.
MOST_OPERATIONS = 400


def batch_alike(tape: Tape) -> Tape:
    """Return the tape with batched operations; itself if that does not make it much shorter.

    Only after the last guard: the values of guards must be computed identically, whatever follows.

    Cost: linear in the number of instructions, and in the entries of the arrays that they move.
    """
    count = len(tape.instructions)
    if count < FEWEST_INSTRUCTIONS:
        return tape
    start = _behind_guards(tape)
    if count - start < FEWEST_INSTRUCTIONS:
        return tape
    try:
        if count > start + 2 * FIRST_LOOK:
            beginning = tuple(some_of(tape.instructions, range(start + FIRST_LOOK)))
            runs_of(replace(tape, instructions=beginning, outputs=()), start, MOST_OPERATIONS)
        once = common_subexpressions(tape)
        once = replace(once, instructions=tuple(once.instructions))
        start = _behind_guards(once)
        time = _compiling_time(once, start)
        if time < LONG and _mean_entries(once, start) > LARGEST_MEAN:
            return tape
        most = min(MOST_OPERATIONS, time // LEAST_SHORTER)
        made = _Builder(once, runs_of(once, start, most)).built()
    except Unsuited:
        return tape
    return made if _computations(made) - start <= most else tape


def _behind_guards(tape: Tape) -> int:
    """Return the first instruction after the last guard."""
    if GUARD not in tape.ops:
        return 0
    return 1 + max(k for k, i in enumerate(tape.instructions) if i.op is GUARD)


def _computations(tape: Tape) -> int:
    """Count the instructions that are not constants."""
    return sum(1 for i in tape.instructions if i.op is not CONSTANT)


def _compiling_time(tape: Tape, start: int) -> int:
    """Estimate the time to compile the instructions from `start` on, in scalar operations."""
    return sum(OF_ARRAYS if i.type.shape else 1 for i in tape.instructions[start:] if i.op is not CONSTANT)


def _mean_entries(tape: Tape, start: int) -> float:
    """Return the mean size of arrays computed from `start` on."""
    sizes = [i.type.size for i in tape.instructions[start:] if i.type.shape and i.op is not CONSTANT]
    return sum(sizes) / max(1, len(sizes))


def _is_stack_beside_matrix(x: int, y: int) -> bool:
    """True if a stack axis of one operand of a product would be confused with a new leading axis."""
    return x != y and max(x, y) > 2


def _summed(node: Node) -> np.ndarray:
    """Return the terms of each entry of a sum, one row per entry."""
    (operand,), (axes,) = node.operands, node.instruction.params
    assert isinstance(operand, Entries)
    ids = operand.numbers()
    kept = [k for k in range(ids.ndim) if k not in axes]
    return ids.transpose([*kept, *axes]).reshape(node.instruction.type.size, -1)


class _Builder:
    """Emits the runs.

    Attributes:
        firsts, sources, places: of all emitted nodes, ordered by entries: the number of the first entry, the value on the new tape
            that contains it, and its position there.
        known: values on the new tape, by their entries.
    """

    def __init__(self, tape: Tape, runs: Runs) -> None:
        self.rewriter, self.runs = Rewriter(tape), runs
        arrays = [node for run in runs.made for node in run.nodes if is_array(node.instruction)]
        self.firsts = np.sort(np.array([node.first for node in arrays], np.int64))
        self.sources, self.places = np.full(len(arrays), -1), np.zeros(len(arrays), np.int64)
        self.constants = {dtype: np.concatenate(arrays) for dtype, arrays in runs.constants.items()}
        self.known: dict[tuple[bytes, tuple[int, ...], np.dtype], int] = {}

    def built(self) -> Tape:
        tape, number = self.rewriter.tape, self.rewriter.number
        for run in self.runs.made:
            if run.key is ALONE or len(run.nodes) == 1:
                for node in run.nodes:
                    self._made(self._alone(node), [node])
                continue
            for value, nodes in self._together(run, sorted(run.nodes, key=self._order)):
                self._made(value, nodes)
        for wanted in {*tape.inputs, *tape.outputs}:
            value = self.runs.values[wanted]
            if isinstance(value, Entries):
                number[wanted] = self._read(value.numbers(), value.type.dtype)
        return self.rewriter.finish()

    def _made(self, value: int, nodes: Sequence[Node]) -> None:
        """Remember that a value contains the entries of these nodes, concatenated."""
        arrays = [node for node in nodes if is_array(node.instruction)]
        sizes = np.array([node.instruction.type.size for node in arrays], np.int64)
        at = np.searchsorted(self.firsts, [node.first for node in arrays], "right") - 1
        self.sources[at], self.places[at] = value, np.cumsum(sizes) - sizes

    def _order(self, node: Node) -> tuple[object, ...]:
        """Sort by shape, then by the position of the operands, so that reads are contiguous."""
        operands = [o for o in node.operands if isinstance(o, Entries)]
        for operand in operands:
            first = operand.first if operand.ids is None else int(operand.ids.ravel()[0])
            if first >= 0:
                at = int(np.searchsorted(self.firsts, first, "right")) - 1
                return operands[0].type.shape, int(self.sources[at]), int(self.places[at]) + first - int(self.firsts[at])
        return operands[0].type.shape, -1, 0

    def _alone(self, node: Node) -> int:
        instruction, operand = node.instruction, node.operands[0] if node.operands else None
        is_total = instruction.op is SUM and instruction.type == FLOAT_SCALAR
        if is_total and isinstance(operand, Entries) and len(operand.type.shape) == 1 and operand.ids is not None and node.old < 0:
            return self._total(operand)
        operands = [self.rewriter.number[o] if isinstance(o, int) else self._read(o.numbers(), o.type.dtype) for o in node.operands]
        made = self.rewriter.keep(node.instruction, tuple(operands))
        if node.old >= 0:
            self.rewriter.number[node.old] = made
        return made

    def _total(self, terms: Entries) -> int:
        """Sum terms in memory order, so that they need not be gathered, each distinct term once times its count."""
        ids, counts = np.unique(terms.numbers(), return_counts=True)
        at = np.searchsorted(self.firsts, ids, "right") - 1
        order = np.lexsort((self.places[at] + ids - self.firsts[at], self.sources[at]))
        number = self._read(ids[order], terms.type.dtype)
        if counts.max() > 1:
            times = counts[order].astype(np.float64)
            number = self.rewriter.make(MULTIPLY, (number, self.rewriter.constant(times, ValueType(times.shape, FLOAT64))))
        return self.rewriter.make(SUM, (number,), ((0,),))

    def _together(self, run: Run, nodes: Sequence[Node]) -> list[tuple[int, Sequence[Node]]]:
        """Emit all nodes of a run as one operation, or a few; return values, each with the nodes that it concatenates."""
        instruction = nodes[0].instruction
        operands = [[node.operands[k] for node in nodes] for k in range(len(nodes[0].operands))]
        entries = [[o for o in of_all if isinstance(o, Entries)] for of_all in operands]
        if isinstance(run.key, tuple) and run.key[0] is MATMUL and run.key[1] in (ROWS, COLUMNS):
            return [(self._rows(entries, run.key[1] is COLUMNS), nodes)]
        if instruction.op is SUM and instruction.type.is_float:
            return self._sums(nodes)
        are_same = all(o.type.shape == of_all[0].type.shape for of_all in entries for o in of_all)
        if not are_same and (isinstance(instruction.op, Elementwise) or instruction.op is CONVERT):
            return [(self._flat(nodes, entries), nodes)]
        if instruction.op is MATMUL and _is_stack_beside_matrix(*(len(of_all[0].type.shape) for of_all in entries)):
            raise Unsuited
        return [(self._stacked(instruction, entries), nodes)]

    def _stacked(self, instruction: Instruction, entries: Sequence[Sequence[Entries]]) -> int:
        """Stack nodes of one shape along a new axis."""
        numbers, batched = list[int](), list[bool]()
        for of_all in entries:
            ids = np.stack([o.numbers() for o in of_all])
            is_shared = bool((ids == ids[:1]).all()) and len(entries) > 1
            numbers.append(self._read(ids[0] if is_shared else ids, of_all[0].type.dtype))
            batched.append(not is_shared)
        if not any(batched):
            numbers[0] = self._read(np.stack([o.numbers() for o in entries[0]]), entries[0][0].type.dtype)
            batched[0] = True
        return Batch(self.rewriter, len(entries[0]), numbers, batched).emit(instruction)

    def _flat(self, nodes: Sequence[Node], entries: Sequence[Sequence[Entries]]) -> int:
        """Concatenate the entries of nodes of several shapes."""
        numbers = list[int]()
        for of_all in entries:
            rows = [np.broadcast_to(o.numbers(), node.instruction.type.shape).ravel() for o, node in zip(of_all, nodes)]
            numbers.append(self._read(np.concatenate(rows), of_all[0].type.dtype))
        return self.rewriter.make(nodes[0].instruction.op, tuple(numbers), nodes[0].instruction.params)

    def _sums(self, nodes: Sequence[Node]) -> list[tuple[int, Sequence[Node]]]:
        """Emit sums of one length as sums of rows; for many lengths, scatter-add every entry to its sum."""
        dtype = nodes[0].instruction.type.dtype
        by_length = dict[int, list[tuple[Node, np.ndarray]]]()
        for node in nodes:
            rows = _summed(node)
            by_length.setdefault(rows.shape[1], []).append((node, rows))
        if len(by_length) <= MOST_LENGTHS:
            return [
                (self.rewriter.make(SUM, (self._read(np.concatenate([rows for _, rows in found]), dtype),), ((1,),)), [n for n, _ in found])
                for found in by_length.values()
            ]
        found = [pair for pairs in by_length.values() for pair in pairs]
        lengths = np.concatenate([np.full(len(rows), rows.shape[1]) for _, rows in found])
        terms = self._read(np.concatenate([rows.ravel() for _, rows in found]), dtype)
        to = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
        made = self.rewriter.make(SCATTER_ADD, (terms, self.rewriter.constant(to, ValueType(to.shape, INT64))), ((len(lengths),),))
        return [(made, [node for node, _ in found])]

    def _rows(self, entries: Sequence[Sequence[Entries]], are_columns: bool) -> int:
        """Emit products by one array as one product of all rows."""
        shared, others = (entries[0][0], entries[1]) if are_columns else (entries[1][0], entries[0])
        factor = self._read(shared.numbers(), shared.type.dtype)
        if are_columns:
            factor = self.rewriter.make(TRANSPOSE, (factor,), ((1, 0),))
        ids = np.concatenate([o.numbers().reshape(-1, o.type.shape[-1]) for o in others])
        return self.rewriter.make(MATMUL, (self._read(ids, others[0].type.dtype), factor))

    # Operands

    def _read(self, ids: np.ndarray, dtype: np.dtype) -> int:
        """Return the value on the new tape with these entries."""
        key = ids.tobytes(), ids.shape, dtype
        if key not in self.known:
            self.known[key] = self._found(ids, dtype)
        return self.known[key]

    def _found(self, ids: np.ndarray, dtype: np.dtype) -> int:
        flat = ids.ravel()
        if not flat.size or (flat < 0).all():
            return self.rewriter.constant(self._numbers(ids, dtype), ValueType(ids.shape, dtype))
        at = np.searchsorted(self.firsts, flat, "right") - 1
        sources = np.where(flat < 0, -1, self.sources[at])
        positions = np.where(flat < 0, 0, self.places[at] + flat - self.firsts[at])
        used = np.unique(sources)
        if len(used) == 1:
            return read_at(self.rewriter, int(used[0]), positions.reshape(ids.shape))
        parts, at_part, before = list[int](), np.empty(len(flat), np.int64), 0
        for source in used.tolist():
            chosen = np.flatnonzero(sources == source)
            if source < 0:
                numbers, back = np.unique(flat[chosen], return_inverse=True)
                part = self._read(numbers, dtype)
            else:
                numbers, back = np.unique(positions[chosen], return_inverse=True)
                part = read_at(self.rewriter, source, numbers)
            parts.append(part)
            at_part[chosen] = before + back
            before += len(numbers)
        sizes = [self.rewriter.instructions[part].type.size for part in parts]
        starts = np.cumsum(sizes) - sizes
        regions = Regions(Region((s,), (1,), (n,), (n,)) for s, n in zip(starts.tolist(), sizes))
        joined = self.rewriter.make(ASSEMBLE, tuple(parts), (regions, (before,), True))
        return read_at(self.rewriter, joined, at_part.reshape(ids.shape))

    def _numbers(self, ids: np.ndarray, dtype: np.dtype) -> np.ndarray:
        return self.constants[dtype][-1 - ids] if ids.size else np.zeros(ids.shape, dtype)
