"""The sparsity pattern of a tape's Jacobian, for all arguments on the tape's path.

Every value gets a Boolean matrix with a row for each of its entries and a column for each entry of the inputs: its index sets.
Nothing is evaluated, so an entry that is zero only by chance is never lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.instruction import CONSTANT, GUARD, INPUT, AnyType, Instruction, ValueType
from ..ir.tape import Tape
from ..ops import Elementwise
from ..ops.control.callee import Callee
from ..ops.control.calls import GET, LOOP
from ..ops.control.loop_forms import LoopForm
from ..ops.elementwise.arithmetic import CONVERT, MULTIPLY
from .loop_sparsity import loop_items
from .sparsity_rules import MOST_ENTRIES, RULES, Pattern, scaled, summed_over, united

# Limit on the total entries of index sets on a tape.
MOST_IN_ALL = 40_000_000


class TooDense(Exception):
    """The index sets take too much memory or time: the Jacobian counts as dense."""


def jacobian_pattern(tape: Tape, wrt: Sequence[int], outputs: Sequence[int]) -> Pattern | None:
    """The pattern of the Jacobian of some outputs of a tape by some of its inputs.

    Args:
        tape: any tape.
        wrt: positions of the inputs; their entries are the columns, one input after the other.
        outputs: positions of the outputs; their entries are the rows.

    Returns:
        A Boolean CSR array with sorted indices, or None where it is dense or finding it would take too long.

    Cost: in proportion to the entries of all index sets, at most some tenths of a second.
    Source: Griewank and Walther (2008), Evaluating Derivatives, section 7.1.
    """
    import scipy.sparse

    types = [tape.input_types[k] for k in wrt]
    columns = sum(t.size for t in types)
    rows = sum(tape.output_types[k].size for k in outputs)
    try:
        found = IndexSets(tape, wrt, columns).of([tape.outputs[k] for k in outputs])
    except TooDense:
        return None
    pattern: Pattern = scipy.sparse.vstack(found, format="csr") if found else scipy.sparse.csr_array((rows, columns), dtype=bool)
    pattern.sum_duplicates()
    return pattern


class IndexSets:
    """The index sets of a tape's values; None if a value depends on no input."""

    def __init__(self, tape: Tape, wrt: Sequence[int], columns: int) -> None:
        self.tape, self.columns = tape, columns
        self.sets: list[Pattern | None] = []
        self.starts: dict[int, int] = {}
        start = 0
        for k in wrt:
            self.starts[tape.inputs[k]] = start
            start += tape.input_types[k].size
        self.entries = 0
        # Of the items of loops, by the loop's number.
        self.items: dict[int, list[Pattern | None] | None] = {}

    def of(self, numbers: Sequence[int]) -> list[Pattern]:
        last = max(numbers, default=-1)
        uses = self._last_uses(last, numbers)
        for number, instruction in enumerate(self.tape.instructions[: last + 1]):
            found = self._found(number, instruction)
            if found is not None:
                self.entries += found.nnz
                if found.nnz > MOST_ENTRIES or self.entries > MOST_IN_ALL:
                    raise TooDense
            self.sets.append(found)
            for i in uses.get(number, ()):
                self.sets[i] = None
        return [self._whole(n) for n in numbers]

    def _last_uses(self, last: int, kept: Sequence[int]) -> dict[int, list[int]]:
        """By instruction, the values that nothing reads after it."""
        final: dict[int, int] = {}
        for number in range(last + 1):
            for i in self.tape.instructions[number].inputs:
                final[i] = number
        result: dict[int, list[int]] = {}
        for i in final.keys() - set(kept):
            result.setdefault(final[i], []).append(i)
        return result

    def size(self, number: int) -> int:
        return int(self.tape.instructions[number].type.size)

    def shape(self, number: int) -> tuple[int, ...]:
        return tuple(self.tape.instructions[number].type.shape)

    def _whole(self, number: int) -> Pattern:
        import scipy.sparse

        found = self.sets[number]
        return scipy.sparse.csr_array((self.size(number), self.columns), dtype=bool) if found is None else found

    def _found(self, number: int, instruction: Instruction) -> Pattern | None:
        op, inputs, params, type_, _ = instruction
        if op is INPUT:
            return self._identity(number)
        if op is CONSTANT or op is GUARD or all(self.sets[i] is None for i in inputs):
            return None
        if self.has_no_effect(type_):
            return None
        if isinstance(op, Elementwise) or op is CONVERT:
            return self._elementwise(instruction)
        if op is LOOP:
            self.items[number] = loop_items(self, instruction)
        elif op is GET and (items := self.items.get(inputs[0])) is not None:
            return items[params[0]]
        return self._by_rule(instruction)

    def _by_rule(self, instruction: Instruction) -> Pattern | None:
        rule = RULES.get(instruction.op)
        return self.everything(instruction) if rule is None else rule(self, instruction)

    def has_no_effect(self, type_: AnyType) -> bool:
        """True for results whose derivative is zero: masks and indices."""
        return type_.dtype.kind in "bi" or not type_.size

    def follows(self, type_: object) -> bool:
        """True if items of this type have index sets."""
        return isinstance(type_, ValueType) and type_.is_float

    def body_of(self, callee: Callee, form: LoopForm) -> Tape | None:
        """The tape of every iteration of a loop; None if there may be others."""
        return None if callee.may_branch or not form.single_variant else callee.variant_tape(0)

    def _identity(self, number: int) -> Pattern | None:
        import scipy.sparse

        start = self.starts.get(number)
        if start is None:
            return None
        n = self.size(number)
        return scipy.sparse.csr_array(
            (np.ones(n, bool), np.arange(start, start + n), np.arange(n + 1)), (n, self.columns)
        )

    def everything(self, instruction: Instruction) -> Pattern | None:
        """Let every entry of the result depend on everything that any operand depends on."""
        # A tuple, or a sequence of unknown length, is one value here.
        return self.union([i for i in instruction.inputs if self.sets[i] is not None], int(instruction.type.size))

    def union(self, numbers: Sequence[int], size: int) -> Pattern:
        """Return index sets in which each entry depends on everything that the given values depend on."""
        import scipy.sparse

        union = np.unique(np.concatenate([s.indices for i in numbers if (s := self.sets[i]) is not None]))
        if len(union) * size > MOST_ENTRIES:
            raise TooDense
        indices = np.tile(union, size)
        return scipy.sparse.csr_array(
            (np.ones(len(indices), bool), indices, np.arange(size + 1) * len(union)), (size, self.columns)
        )

    def grouped(self, number: int, groups: np.ndarray, size: int) -> Pattern | None:
        """Return the index sets of `size` entries for each group of another value's entries, each depending on the whole group."""
        once = summed_over(self, number, groups, int(groups.max(initial=-1)) + 1)
        if once is None:
            raise TooDense
        return self.repeated(once, size)

    def repeated(self, rows: Pattern, size: int) -> Pattern:
        """Return the same index sets for `size` entries in place of each row."""
        if rows.nnz * size > MOST_ENTRIES:
            raise TooDense
        return rows if size == 1 else rows[np.repeat(np.arange(rows.shape[0]), size)]

    def united(self, x: Pattern | None, y: Pattern | None) -> Pattern | None:
        return united(x, y)

    def rows(self, number: int, which: np.ndarray) -> Pattern | None:
        """Return the index sets of selected entries of a value, in any order; empty for entry -1."""
        found = self.sets[number]
        if found is None or not found.shape[0]:
            return None
        flat = np.ravel(which)
        if len(flat) == found.shape[0] and (flat == np.arange(len(flat))).all():
            return found
        counts = np.diff(found.indptr)
        if int(counts[flat[flat >= 0]].sum()) > MOST_ENTRIES:
            raise TooDense
        taken = found[np.maximum(flat, 0)]
        if (flat >= 0).all():
            return taken
        return scaled(taken, flat >= 0)

    def _elementwise(self, instruction: Instruction) -> Pattern | None:
        op, inputs, _, type_, _ = instruction
        result = None
        for k, i in enumerate(inputs):
            if self.sets[i] is None or (isinstance(op.vjp, tuple) and op.vjp[k] is None):
                continue
            ids = np.broadcast_to(np.arange(self.size(i)).reshape(self.shape(i)), type_.shape)
            part = self.rows(i, ids)
            if op is MULTIPLY and part is not None:
                part = self._without_zeros(part, inputs[1 - k], type_.shape)
            result = united(result, part)
        return result

    def _without_zeros(self, part: Pattern, factor: int, shape: tuple[int, ...]) -> Pattern:
        """Drop the index sets of x * c where entries of the constant c are zero."""
        instruction = self.tape.instructions[factor]
        if instruction.op is not CONSTANT:
            return part
        nonzero = np.broadcast_to(instruction.params[0] != 0, shape)
        return part if nonzero.all() else scaled(part, np.ravel(nonzero))
