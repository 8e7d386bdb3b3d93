"""The entries of inputs that each entry of a tape's results depends on, on the tape's path: integers and conditions count, too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.instruction import AnyType, Instruction
from ..ir.tape import Tape
from ..ops.arrays.indexing import GATHER, known_positions
from ..ops.control.callee import Callee
from ..ops.control.loop_forms import LoopForm
from ..transforms.sparsity import IndexSets
from ..transforms.sparsity_rules import Pattern, united


def dependence(tape: Tape, wrt: Sequence[int], output: int) -> Pattern:
    """A Boolean CSR array with a row for each entry of an output, and a column for each entry of the inputs at positions `wrt`.

    Raises:
        TooDense: the sets take too much memory.
    """
    columns = sum(tape.input_types[k].size for k in wrt)
    (found,) = _Dependence(tape, wrt, columns).of([tape.outputs[output]])
    found.sum_duplicates()
    return found


class _Dependence(IndexSets):
    """Index sets that follow every value, not only derivatives."""

    def _by_rule(self, instruction: Instruction) -> Pattern | None:
        if instruction.op is GATHER and known_positions(self.tape.instructions, instruction.inputs[1]) is None:
            return self._gathered(instruction)
        return super()._by_rule(instruction)

    def has_no_effect(self, type_: AnyType) -> bool:
        return False

    def follows(self, type_: object) -> bool:
        return True

    def body_of(self, callee: Callee, form: LoopForm) -> Tape | None:
        """The path taken, with its guards: where they fail, the tape has no value."""
        return callee.only_path()

    def _elementwise(self, instruction: Instruction) -> Pattern | None:
        known = [i for i in instruction.inputs if self.sets[i] is not None]
        if instruction.type.size == 1:  # nearly all, where a loop is recorded iteration by iteration
            return self.sets[known[0]] if len({*known}) == 1 else self.union(known, 1)
        result = None
        for i in known:
            ids = np.arange(self.size(i)).reshape(self.shape(i))
            result = united(result, self.rows(i, np.broadcast_to(ids, instruction.type.shape)))
        return result

    def _gathered(self, instruction: Instruction) -> Pattern | None:
        """Let an entry depend on its position, and on the whole array."""
        array, positions = instruction.inputs
        whole = None if self.sets[array] is None else self.union([array], instruction.type.size)
        return united(whole, self.rows(positions, np.arange(self.size(positions))))
