"""Marks all writes to array positions on one line as possibly repeating, if some of them are.

for d in tables:
    K[d, d] += b        an iteration with distinct positions would else not match the others
"""

from __future__ import annotations

from ....ir.tape import Tape
from ....ops.arrays.indexing import PUT
from ...column_rewriter import ColumnRewriter


def alike_writes(tape: Tape) -> Tape:
    """The tape with such writes; itself where there are none. Cost: linear in the number of instructions."""
    if PUT not in tape.ops:
        return tape
    writes = tape.numbered(PUT)
    repeated = {(i.site, i.type) for _, i in writes if not i.params[0]}
    changed = [(n, i) for n, i in writes if i.params[0] and (i.site, i.type) in repeated]
    if not changed:
        return tape
    made = ColumnRewriter(tape)
    for number, write in made.changing(changed):
        made.number[number] = made.keep(write._replace(params=(False,)), tuple([made.number[i] for i in write.inputs]))
    return made.finish()
