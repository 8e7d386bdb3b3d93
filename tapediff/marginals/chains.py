"""Log densities of many discrete quantities as tables of few of them each, and the sums, probabilities and draws that follow.

Each term of the density depends on a few quantities. In an order in which these are among m in sequence, a term has at most K^m values, and
the forward algorithm adds up all combinations: it goes through the quantities, and keeps a table of the last m - 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..base.wrapper import Wrapper
from ..errors import GuardFailed, NonScalarOutput, UnsupportedFunction
from ..functions.loops import scan
from ..ir.instruction import CONSTANT, Instruction, Operand, Primitive, Tree, UserFunction
from ..ir.interpreter import inline, run
from ..ir.rewriter import Rewriter, rewritten
from ..ir.tape import Tape
from ..ops.elementwise.arithmetic import MAXIMUM, MINIMUM
from ..passes.simplify.dead_code import dead_code
from ..recording.arguments.bind_call import BoundCall, bind_call
from ..recording.record import plain_value
from ..special import logsumexp
from ..targets.derivatives import gradient
from ..targets.evaluate.joined import joined
from ..targets.evaluate.nested_recording import record_nested
from ..transforms.sparsity import TooDense
from .addends import terms_of, values_of
from .dependence import dependence

# Values of the quantities at which tables are compared with the density; rounding of sums in another order.
CHECKS, CLOSE = 2, 1e-8
# Limit on the values of one table.
MOST_VALUES = 4096


@dataclass(frozen=True, eq=False)
class Chain:
    """A log density of quantities 0, ..., n - 1 with `count` values each, in an order of their own.

    Attributes:
        constant: what depends on none of them.
        tables: an array of shape (n, count^width): row i has terms of the i-th quantity in the order and of the width - 1 before it, whose
            values are the digits of the column, the i-th quantity's last. All rows and the constant add up to the log density.
        order: the numbers of the quantities.
    """

    constant: Operand
    tables: Operand
    order: np.ndarray
    count: int
    width: int

    def total(self) -> Operand:
        """The logarithm of the sum over all values: the forward algorithm."""
        return self.constant + self._added(self.tables)

    def _added(self, tables: Operand) -> Operand:
        before = self.count ** (self.width - 1)
        if before == 1:
            return np.sum(logsumexp(tables, axis=1))

        def step(state: Operand, table: Operand) -> tuple[Operand, None]:
            joint = np.reshape(state, (before, 1)) + np.reshape(table, (before, self.count))
            return logsumexp(np.reshape(joint, (self.count, before)), axis=0), None

        return logsumexp(scan(step, np.full(before, -math.log(before)), tables)[0])

    def probabilities(self) -> Operand:
        """An array of shape (n, count): the probabilities of each quantity's values. They are the derivatives of the total."""

        def shifted(by: Operand) -> Operand:
            shape = (len(self.order), self.count ** (self.width - 1), self.count)
            return self._added(np.reshape(np.reshape(self.tables, shape) + by[:, None, :], self.tables.shape))

        found = gradient(shifted, np.zeros((len(self.order), self.count)))
        return found[np.argsort(self.order)]

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """A draw of all quantities, from the last to the first."""
        tables, before = np.asarray(self.tables), self.count ** (self.width - 1)
        forward = [np.full(before, -math.log(before))]
        for table in tables:
            joint = forward[-1][:, None] + table.reshape(before, self.count)
            forward.append(np.logaddexp.reduce(joint.reshape(self.count, before), axis=0))
        drawn, last = np.empty(len(tables), int), _chosen(rng, forward[-1])
        values = [(last // self.count**k) % self.count for k in reversed(range(self.width - 1))]
        for k in reversed(range(len(tables))):
            # The digits of `joint`: the oldest quantity's, then those known.
            joint = (forward[k][:, None] + tables[k].reshape(before, self.count)).reshape(self.count, before)
            known = sum(value * self.count ** (self.width - 2 - place) for place, value in enumerate(values))
            oldest = _chosen(rng, joint[:, known])
            values = [oldest, *values]
            drawn[self.order[k]] = values.pop()
        return drawn


def _chosen(rng: np.random.Generator, logs: np.ndarray) -> int:
    weights = np.exp(logs - np.max(logs))
    return int(rng.choice(len(logs), p=weights / np.sum(weights)))


def chain_of(f: UserFunction, shapes: Sequence[tuple[int, ...]], count: int, given: Tree, name: str) -> Chain:
    """The tables of a log density.

    Args:
        f: of a tuple of integer arrays of these shapes, and of `given`.
        count: the number of values of each entry.

    Raises:
        UnsupportedFunction: a term depends on too many quantities, with their number; or other values of them take another path.
        NonScalarOutput: the density is an array.
    """
    clipped = _Clipped(f, count)
    tape, inputs = record_nested(bind_call(joined(clipped), (tuple(np.zeros(shape, int) for shape in shapes), given), ()), unrolls=True)
    tape = _unclipped(tape, len(shapes), count)
    if tape.returns_tuple or tape.output_types[0].shape:
        raise NonScalarOutput(f"{name} returned an array; td.marginal needs a number", got=f"shape {tape.output_types[0].shape}",
                              fix="reduce the output, e.g. with .sum()")  # fmt: skip
    terms, first = terms_of(tape, tape.outputs[0]), len(shapes)
    split, inputs = _recorded(lambda *values: values_of(tape, terms, values)[0], inputs, tape)
    split = dead_code(split)
    try:
        reads = dependence(split, range(first), 0)
    except TooDense:
        raise _too_many(name, sum(map(math.prod, shapes)), count) from None
    order, width = _ordered(reads)
    if count**width > MOST_VALUES:
        raise _too_many(name, width, count)
    place = np.argsort(order)
    # The digit of a quantity in the number of a row: quantities that a term depends on have different ones.
    digits = np.arange(count**width)[:, None] // count ** (place % width) % count
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    rows = [part.reshape(-1, *shape) for part, shape in zip(np.split(digits, ends[:-1], axis=1), shapes)]
    values = scan(lambda _, row: (None, inline(split, [*row, *inputs[first:]])[0]), None, tuple(rows))[1]
    found = _tabulated(values, reads, order, count, width)
    _check(found, tape, shapes, [plain_value(value) for value in inputs[first : len(tape.inputs)]], name)
    return found


def _check(chain: Chain, tape: Tape, shapes: Sequence[tuple[int, ...]], others: list[Operand], name: str) -> None:
    """Compare the tables with the density where it was recorded, for some values of the quantities.

    Raises:
        UnsupportedFunction: another path is taken there, or they differ.
    """
    rng, tables, base = np.random.default_rng(0), np.asarray(plain_value(chain.tables)), float(plain_value(chain.constant))
    for _ in range(CHECKS):
        values = [rng.integers(0, chain.count, shape) for shape in shapes]
        ordered = np.concatenate([np.zeros(chain.width, int), *map(np.ravel, values)])[np.r_[: chain.width - 1, chain.order + chain.width]]
        windows = np.lib.stride_tricks.sliding_window_view(ordered, chain.width)
        columns = windows @ chain.count ** np.arange(chain.width)[::-1]
        try:
            expected = run(tape, [*values, *others])[0]
        except GuardFailed as other:
            raise UnsupportedFunction(
                f"{name} takes another path for other values of its discrete quantities, and the paths were not joined", at=other.at,
                fix="write what depends on them with if, np.where or tables",
            ) from other
        found = base + np.sum(tables[np.arange(len(columns)), columns])
        if np.isfinite(expected) and not abs(found - expected) <= CLOSE * max(1.0, np.sum(np.abs(tables[np.isfinite(tables)]))):
            raise UnsupportedFunction(f"the terms of {name} were not told apart", got=f"{found} instead of {expected}",
                                      fix="add up the terms in one number, or in arrays")  # fmt: skip


class _Clipped(Wrapper):
    """The density of clipped quantities: so the recording knows which entries of tables they may read, and needs no guards."""

    calls = "f"

    def __init__(self, f: UserFunction, count: int) -> None:
        self.f, self.count, self.__name__ = f, count, getattr(f, "__name__", "f")

    def __call__(self, arrays: Sequence[Operand], given: Tree) -> Operand:
        return self.f(tuple(np.clip(values, 0, self.count - 1) for values in arrays), given)


def _unclipped(tape: Tape, arrays: int, count: int) -> Tape:
    """The tape without the clipping, which changes no value."""
    ends: dict[Primitive, int] = {MAXIMUM: 0, MINIMUM: count - 1}
    same = {number: number for number in tape.inputs[:arrays]}

    def emit(made: Rewriter, instruction: Instruction, number: int) -> int | None:
        of, *others = instruction.inputs
        end = tape.instructions[others[0]]
        if of not in same or end.op is not CONSTANT or np.any(end.params[0] != ends[instruction.op]):
            return None
        same[number] = same[of]
        return made.number[same[of]]

    return rewritten(tape, emit, MAXIMUM, MINIMUM)


def _recorded(f: UserFunction, inputs: Sequence[Operand], tape: Tape) -> tuple[Tape, list[Operand]]:
    """Record a function of a tape's inputs."""
    active = tuple(k in tape.active_inputs for k in range(len(inputs)))
    return record_nested(BoundCall(f, tuple(inputs), active, (), (), tape.name, inputs))


def _too_many(name: str, width: int, count: int) -> UnsupportedFunction:
    return UnsupportedFunction(
        f"{name} has terms of too many discrete quantities at once", got=f"tables of {width} quantities with {count} values",
        fix="add up terms of few neighbours: z[t] and z[t - 1], not sums or products over all of z",
    )  # fmt: skip


def _ordered(reads: Tree) -> tuple[np.ndarray, int]:
    """An order of the quantities, and the longest way in it between quantities of a term, with both ends."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    links = (reads.T.astype(int) @ reads.astype(int)).tocoo()
    orders = [np.arange(reads.shape[1]), reverse_cuthill_mckee(links.tocsr(), symmetric_mode=True)]
    widths: list[int] = []
    for order in orders:
        place = np.argsort(order)
        widths.append(int(np.max(np.abs(place[links.row] - place[links.col]), initial=0)) + 1)
    best = int(np.argmin(widths))
    return np.asarray(orders[best]), widths[best]


def _tabulated(values: Operand, reads: Tree, order: np.ndarray, count: int, width: int) -> Chain:
    """The tables of the values of all terms in all rows, shape (count^width, terms)."""
    from scipy import sparse

    place, has_any = np.argsort(order), np.diff(reads.indptr) > 0
    last = np.full(reads.shape[0], -1)
    np.maximum.at(last, np.repeat(np.arange(reads.shape[0]), np.diff(reads.indptr)), place[reads.indices])
    constant = np.sum(values[0][~has_any]) if not np.all(has_any) else 0.0
    # The columns of a table count values of the quantities that end with the last one, the rows by their digits.
    columns = np.arange(count**width)
    of_window = np.stack([columns // count ** (width - 1 - k) % count for k in range(width)])
    by_last = np.stack([
        sum(of_window[k] * count ** ((end - width + 1 + k) % width) for k in range(width)) for end in range(width)
    ])  # fmt: skip
    varying = np.flatnonzero(has_any)
    tables = values[by_last[last[varying] % width], varying[:, None]]
    sums = sparse.csr_array((np.ones(len(varying)), (last[varying], np.arange(len(varying)))), (len(order), len(varying)))
    return Chain(constant, sums @ tables, order, count, width)
