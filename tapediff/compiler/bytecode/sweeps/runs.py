"""Groups the operations of a long tape into runs, for both sweeps: independent operations of one form and one adjoint.

    elements → a key for each operation: its form and its adjoint → runs of operations with one key

An operation that is not active, or does not reach the result, has no adjoint.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....ir.tape import Tape
from ....ops.arrays.indexing import GATHER
from ....ops.declaration.op import Op
from ....ops.matrices.products import MATMUL
from .discarded import MODES, adjoint_modes
from .several import OF_SEVERAL
from .tables import OPERANDS, Elements, Form, Unsuited

# A key is the number of a form, then bits: the operands that get a cotangent, and the mode of the adjoint (discarded.py).
ADJOINTS = 1 << OPERANDS
KEYS = MODES * ADJOINTS


def keys_of(tape: Tape, elements: Elements, wrt: Sequence[int] | None) -> np.ndarray:
    """The key of each operation: its form and its adjoint."""
    forms = elements.form_of * KEYS
    if not wrt:
        return forms
    if tape.output_types[0].shape != ():
        raise Unsuited
    modes = np.frombuffer(adjoint_modes(tape, {tape.inputs[k] for k in wrt}, elements.squares), np.uint8).astype(np.int64)
    wanted = _wanted(tape, elements, wrt)
    return forms + wanted + ADJOINTS * modes[elements.makers] * (wanted > 0)


def _wanted(tape: Tape, elements: Elements, wrt: Sequence[int]) -> np.ndarray:
    """By operation, bits for the operands whose cotangents it adds to."""
    if not len(elements.makers):
        return np.zeros(0, np.int64)
    sources = np.zeros(len(elements.kinds) + 1, bool)
    for k in wrt:
        first, size = elements.inputs[k]
        sources[first : first + size] = True
    output = elements.ids[tape.outputs[0]]
    assert isinstance(output, int)
    return _reaching(elements, _active(elements, sources), output)


# Fixed-point iteration: start with all values, since nearly all qualify, and remove the rest in at most so many rounds.
MOST_ROUNDS = 8


def _active(elements: Elements, sources: np.ndarray) -> np.ndarray:
    """By operation, bits for the operands that depend on the sources and have a derivative."""
    rules = np.array([_rule_bits(form) for form in elements.forms], np.int64)[elements.form_of]
    together = [(form, all_) for form, each in enumerate(elements.forms) for all_ in _together(each)]
    operands, begins, results = elements.operands, elements.begins, elements.results
    place = np.arange(len(operands)) - np.repeat(begins, elements.counts)
    active = sources.copy()
    active[results] = rules > 0
    active[-1] = False
    for _ in range(MOST_ROUNDS):
        bits = np.bitwise_or.reduceat(active[operands].astype(np.int64) << place, begins) & rules
        is_settled = bool((active[results] == (bits > 0))[results >= 0].all())
        active[results] = bits > 0
        active[-1] = False
        if is_settled:
            break
    else:
        bits = _active_one_by_one(elements, sources, rules)
    for form, all_of_them in together:
        bits[(elements.form_of == form) & (bits & all_of_them > 0)] |= all_of_them
    return bits


def _active_one_by_one(elements: Elements, sources: np.ndarray, rules: np.ndarray) -> np.ndarray:
    active, of = bytearray(sources.tobytes()), elements.operands.tolist()
    wanted: list[int] = []
    for rule, begin, count, result in zip(*(each.tolist() for each in (rules, elements.begins, elements.counts, elements.results))):
        bits = 0
        for k in range(count):
            bits |= active[of[begin + k]] << k
        bits &= rule
        if bits:
            active[result] = 1
        wanted.append(bits)
    return np.array(wanted, np.int64)


def _reaching(elements: Elements, bits: np.ndarray, output: int) -> np.ndarray:
    """The same bits for operations that the output depends on; 0 for the others."""
    operands, results = elements.operands, elements.results
    place = np.arange(len(operands)) - np.repeat(elements.begins, elements.counts)
    adds = np.repeat(bits, elements.counts) >> place & 1 > 0
    reached = np.ones(len(elements.kinds) + 1, bool)
    for _ in range(MOST_ROUNDS):
        again = np.zeros_like(reached)
        again[operands[adds & np.repeat(reached[results], elements.counts)]] = True
        again[output] = True
        if (again == reached)[results].all():
            return np.where(reached[results], bits, 0)
        reached = again
    return _reaching_one_by_one(elements, bits, output)


def _reaching_one_by_one(elements: Elements, bits: np.ndarray, output: int) -> np.ndarray:
    reached = bytearray(len(elements.kinds) + 1)
    reached[output] = 1
    wanted, of = bits.tolist(), elements.operands.tolist()
    begins, results = elements.begins.tolist(), elements.results.tolist()
    for k in range(len(wanted) - 1, -1, -1):
        each = wanted[k]
        if each and not reached[results[k]]:
            wanted[k] = 0
        elif each:
            begin = begins[k]
            while each:
                if each & 1:
                    reached[of[begin]] = 1
                begin += 1
                each >>= 1
    return np.array(wanted, np.int64)


def _rule_bits(form: Form) -> int:
    op = form.op
    if form.kind != "f64" or not isinstance(op, Op) or callable(op.vjp):
        return 0
    if op in OF_SEVERAL:
        return (1 << len(form.kinds)) - 1
    return sum(1 << k for k, rule in enumerate(op.vjp) if rule is not None and form.kinds[k] == "f64")


@dataclass(frozen=True, slots=True)
class Runs:
    """Operations in runs.

    Attributes:
        of: by operation, the number of its run.
        keys: the key of each kind of run, in the order of their first runs.
        which: by run, the index of its key in `keys`.
    """

    of: np.ndarray
    keys: list[int]
    which: np.ndarray


def _together(form: Form) -> tuple[int, ...]:
    """Operands that all have a cotangent if one has, to avoid a handler for each choice of several operands."""
    if form.op not in OF_SEVERAL:
        return ()
    count = len(form.kinds)
    if form.op is MATMUL:
        row = (1 << count // 2) - 1
        return row, row << count // 2
    return ((1 << count) - 1,)


def grouped(elements: Elements, keys: np.ndarray) -> Runs:
    """Assign each operation to the first run of its key after the runs of its operands. Guards keep their order; look-ups follow the guards
    before."""
    different, which = np.unique(keys, return_inverse=True)
    is_lookup = [elements.forms[key // KEYS].op is GATHER for key in different.tolist()]
    # One more entry after all elements, for missing operands.
    nothing = len(elements.kinds)
    operands, begins, counts = elements.operands, elements.begins, elements.counts
    first = operands[begins] if len(counts) else operands
    second = np.where(counts == 2, operands[np.where(counts == 2, begins + 1, 0)], nothing) if len(counts) else operands
    second[(counts > 2) | (elements.results < 0) | np.array(is_lookup, bool)[which]] = -1
    run_of, runs, of = [-1] * (nothing + 1), list[int](), list[int]()
    runs_of = [list[int]() for _ in is_lookup]
    last_guard = 0
    for number, key, i, j, result in zip(range(len(counts)), *(each.tolist() for each in (which, first, second, elements.results))):
        before = run_of[i]
        if j >= 0:
            other = run_of[j]
            if other > before:
                before = other
        else:
            begin = int(begins[number])
            before = max([run_of[operand] for operand in operands[begin : begin + int(counts[number])].tolist()])
            if result < 0:
                before = max(before, last_guard - 1)
            elif is_lookup[key]:
                before = max(before, last_guard)
        numbers = runs_of[key]
        if numbers and numbers[-1] > before:
            run = numbers[bisect_right(numbers, before)]
        else:
            run = len(runs)
            numbers.append(run)
            runs.append(key)
        of.append(run)
        if result >= 0:
            run_of[result] = run
        else:
            last_guard = run
    used = list(dict.fromkeys(runs))
    places = np.zeros(len(different), np.int64)
    places[used] = np.arange(len(used))
    return Runs(np.array(of, np.int64), different[used].tolist(), places[runs])
