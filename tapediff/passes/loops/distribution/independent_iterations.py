"""Loop distribution: independent computations run for all iterations at once, and accumulated terms become a sum of an array.

    s = 0.0                            h = x0
    for x in xs:                       for x in xs:                        what is left: a recurrence
        h = a * h + x                      h = a * h + x
        s = s + np.exp(h)       →          hs.append(h)
                                       s = np.sum(np.exp(hs))

Without a recurrence no loop is left. So td.scan and td.fori_loop take as long as the same loop in plain Python, and round as that one,
which passes/rolling/classify_slots.py splits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....ir.instruction import BOOL, INPUT, Instruction, ValueType
from ....ir.rewriter import Rewriter, part_of_tape
from ....ir.tape import Tape
from ....ops import Elementwise
from ....ops.arrays.reductions import SUM
from ....ops.control.callee import Callee
from ....ops.control.calls import GET, LoopForm
from ....ops.elementwise.arithmetic import ADD, SUBTRACT
from ...reach import needed_values
from ...rolling.vectorize import LARGEST_ARRAY, is_batchable
from ..loop_builder import Items, items_without, loop_like, only_body, outside_of_loop, with_loops
from .selected_terms import with_selected_terms

# Shorter loops are left alone; so are larger bodies, and iterations on larger arrays, which fill the lanes by themselves.
FEWEST_ITERATIONS, LARGEST_BODY, LARGEST_VALUE = 8, 10_000, 256


# A loop with a recurrence is split for costly functions of so many numbers at most; it may return so many numbers for each of them.
LARGEST_SCALAR, MOST_HANDED_ON = 4, 4


@dataclass(frozen=True)
class Plan:
    """How a loop is split.

    Attributes:
        body: the original tape of an iteration.
        sums: by carry, the values of the body added to it, with their signs.
        outside: the values of the body computed for all iterations at once, or once (loop-invariant), and what they read, in order.
        direct: further results of the loop: their numbers among the outputs, and in the body.
        rest: the remaining loop; None if nothing remains.
    """

    body: Tape
    sums: dict[int, list[tuple[int, int]]]
    outside: tuple[int, ...]
    direct: dict[int, int]
    rest: Rest | None


@dataclass(frozen=True)
class Rest:
    """The loop over a recurrence.

    Attributes:
        callee: of an iteration.
        carries, streams: the remaining ones, by their numbers in the original loop.
        handed_on: the values of the body that it returns for each iteration.
    """

    callee: Callee
    carries: tuple[int, ...]
    streams: tuple[int, ...]
    handed_on: tuple[int, ...]


def independent_iterations(tape: Tape) -> Tape:
    """Return the tape with such loops split; itself if there are none.

    Cost: linear in the number of instructions, of the tape and of the bodies of loops.
    """
    return with_loops(tape, lambda loop, _: _plan(*loop.params), _emitted)


# Choosing loops


def _plan(callee: Callee, form: LoopForm) -> Plan | Callee | None:
    """How a loop is split; for one that is not, its callee, if a loop in its iterations is."""
    is_special = form.stops or form.variant_given or form.saves_carries or form.recomputes
    if form.length is None or form.length < FEWEST_ITERATIONS or is_special:
        return None
    body = only_body(callee)
    if body is None or len(body) > LARGEST_BODY:
        return None
    key = ("independent", form.carries, form.streams, form.length)
    return callee.once(key, lambda: _split(callee, body, form))


def _split(callee: Callee, body: Tape, form: LoopForm) -> Plan | Callee | None:
    # Nests are a few loops deep.
    within = independent_iterations(body)
    # Numbers of a loop within would be hoisted as arrays of all iterations anyway.
    largest = LARGEST_VALUE if within is body else max(LARGEST_VALUE, LARGEST_ARRAY // (form.length or 1))
    found = _made(callee, with_selected_terms(within, form.carries), form, largest)
    return callee.fixed(within) if found is None and within is not body else found


def _made(callee: Callee, body: Tape, form: LoopForm, largest: int) -> Plan | None:
    sums = _sums(body, form)
    recurrent = [k for k in range(form.carries) if k not in sums]
    direct = {k: v for k, v in enumerate(body.outputs) if k >= form.carries}
    wanted = {v for terms in sums.values() for v, _ in terms}.union(direct.values())
    parts = _Parts(body, form, wanted, [body.outputs[k] for k in recurrent], largest)
    handed_on = parts.handed_on
    if not parts.fits or (recurrent and not _is_worthwhile(body, parts)) or (handed_on and not recurrent):
        return None
    rest = _rest(callee, body, form, recurrent, tuple(sorted(handed_on))) if recurrent else None
    return Plan(body, sums, tuple(sorted(parts.outside)), direct, rest)


class _Parts:
    """Splits a body: the values computed for all iterations at once, and those that the recurrence has to return for them.

    Args:
        wanted: the values of the body needed outside.
        recurrent: the next values of the loop's carries.
        largest: the size of a value of the body that is computed outside.

    Attributes:
        fits: True if the loop's streams are not too large.
        outside: the values computed outside, and the inputs that they read.
        handed_on: the values that the loop returns at each iteration.
    """

    def __init__(self, body: Tape, form: LoopForm, wanted: Iterable[int], recurrent: Iterable[int], largest: int) -> None:
        assert form.length is not None
        _, entries, _ = form.parts(body.inputs)
        self.fits = max((body.instructions[v].type.size for v in entries), default=1) * form.length <= LARGEST_ARRAY
        left, depends = _left(body, form, largest)
        inside = needed_values(body, recurrent)
        self.outside, self.handed_on = set[int](), set[int]()
        pending = set(wanted)
        for n in range(len(body.instructions) - 1, -1, -1):
            if n not in pending:
                continue
            op = body.instructions[n].op
            is_known = n in inside and (n in depends or (isinstance(op, Elementwise) and op.is_costly))
            if n in left or is_known:
                self.handed_on.add(n)
            else:
                self.outside.add(n)
                pending.update(body.instructions[n].inputs)


def _is_worthwhile(body: Tape, parts: _Parts) -> bool:
    """True if costly functions of few numbers leave a loop that stays."""
    handed_on = sum(body.instructions[n].type.size for n in parts.handed_on)
    costly = 0
    for n in parts.outside:
        op, _, _, type_, _ = body.instructions[n]
        if isinstance(op, Elementwise) and op.is_costly and type_.size <= LARGEST_SCALAR:
            costly += type_.size
    return costly > 0 and handed_on <= MOST_HANDED_ON * costly


def _rest(callee: Callee, body: Tape, form: LoopForm, carries: Sequence[int], handed_on: tuple[int, ...]) -> Rest:
    """Return the loop without the values computed outside."""
    outputs = [*(body.outputs[k] for k in carries), *handed_on]
    given, entries, constants = form.parts(body.inputs)
    needed = needed_values(body, outputs)
    streams = tuple(k for k, n in enumerate(entries) if n in needed)
    sources = [*(given[k] for k in carries), *(entries[k] for k in streams), *constants]
    return Rest(callee.fixed(part_of_tape(body, sources, outputs)), tuple(carries), streams, handed_on)


def _sums(body: Tape, form: LoopForm) -> dict[int, list[tuple[int, int]]]:
    """Return the carries that iterations only add to: the added values, with signs."""
    readers: dict[int, list[int]] = {}
    for n, i in enumerate(body.instructions):
        for read in i.inputs:
            readers.setdefault(read, []).append(n)
    returned = list(body.outputs)
    found = dict[int, list[tuple[int, int]]]()
    for k in range(form.carries):
        at, terms = body.inputs[k], list[tuple[int, int]]()
        type_ = body.instructions[at].type
        while len(readers.get(at, ())) == 1 and at not in returned:
            op, inputs, _, made, _ = body.instructions[readers[at][0]]
            if (op is not ADD and (op is not SUBTRACT or inputs[0] != at)) or made != type_ or type_.dtype == BOOL:
                break
            terms.append((inputs[1] if inputs[0] == at else inputs[0], -1 if op is SUBTRACT else 1))
            at = readers[at][0]
        if terms and at == body.outputs[k] and not readers.get(at) and returned.count(at) == 1:
            found[k] = terms
    return found


def _left(body: Tape, form: LoopForm, largest: int) -> tuple[set[int], set[int]]:
    """The values that cannot be computed for all iterations at once, and those that depend on carries."""
    assert form.length is not None
    depends = set(body.inputs[: form.carries])
    left = set(depends)
    fixed = set(form.parts(body.inputs)[2])
    for n, i in enumerate(body.instructions):
        if i.op is INPUT:
            continue
        if all(j in fixed for j in i.inputs):
            # Loop-invariant: any op will do.
            fixed.add(n)
            continue
        if any(j in depends for j in i.inputs):
            depends.add(n)
        types = [body.instructions[j].type for j in i.inputs]
        fits = isinstance(i.type, ValueType) and all(isinstance(t, ValueType) and t.size <= largest for t in (i.type, *types))
        if not fits or not is_batchable(i, types, form.length, [j in fixed for j in i.inputs]):
            left.add(n)
    return left, depends


# The new instructions


def _emitted(made: Rewriter, loop: Instruction, plan: Plan | Callee) -> Items:
    form: LoopForm = loop.params[1]
    carries, streams, constants = form.parts(loop.inputs)
    if not isinstance(plan, Plan):
        return items_without(made, loop_like(made, loop, plan, carries, streams, constants), ())
    results, handed_on = dict[int, int](), dict[int, int]()
    if plan.rest is not None:
        rest = plan.rest
        chosen = [carries[k] for k in rest.carries], [streams[k] for k in rest.streams]
        shorter = loop_like(made, loop, rest.callee, *chosen, constants)
        handed_on = {n: made.make(GET, (shorter,), (place,)) for place, n in enumerate(rest.handed_on, len(rest.carries))}
        results = {k: made.make(GET, (shorter,), (place,)) for place, k in enumerate(rest.carries)}
    whole = outside_of_loop(made, loop, plan.body, plan.outside, handed_on)
    for k, terms in plan.sums.items():
        results[k] = carries[k]
        for value, sign in terms:
            added = made.make(SUM, (whole(value),), ((0,),))
            results[k] = made.make(ADD if sign > 0 else SUBTRACT, (results[k], added))
    results |= {k: whole(v) for k, v in plan.direct.items()}
    return results.__getitem__
