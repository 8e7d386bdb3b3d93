"""Calls and loops of callees: functions that are recorded and compiled on their own, with one tape for each path through them.

A callee has several variants with the same input and output types. A call returns a tuple: its results and the number of the
variant that ran, which the reverse pass uses again. A loop repeats a call, and passes carries on from iteration to iteration.

Tuples hold arrays and, where a length is known only when the tape runs, dynamic arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...ir.instruction import INT_SCALAR, TUPLE, DynamicArrayType, Operand, TupleType, ValueType
from ..declaration.op import Op
from .callee import Answers, Callee
from .loop_forms import LoopCotangents, LoopFlow, LoopForm, saved_bytes_limit


@dataclass(frozen=True, eq=False, repr=False)
class TupleOp(Op):
    """An op with several results.

    `vjp(z_bars, z, *inputs, active, maybe_discarded, **params)` gives the cotangents of its inputs; z_bars has one entry per item, None
    for an item without a cotangent. `active` says which inputs are differentiated, `maybe_discarded` if cotangents may be exact zeros
    of something that was discarded.
    """


class DynamicArray:
    """A sequence of arrays of one type, one for each iteration of a loop. The first extent of `array` is its length."""

    __slots__ = ("array",)

    shape: tuple[int, ...] = ()
    dtype = TUPLE

    def __init__(self, array: np.ndarray) -> None:
        self.array = array


def entries(type_: ValueType, length: int | None) -> ValueType | DynamicArrayType:
    """The type of a stacked output: one entry per iteration."""
    return DynamicArrayType(type_) if length is None else ValueType((length, *type_.shape), type_.dtype)


def loop_items(callee: Callee, form: LoopForm) -> tuple[ValueType | DynamicArrayType, ...]:
    """The types of a loop's results."""
    last = len(callee.out_types) - int(form.stops)
    items = [*callee.out_types[: form.carries]]
    items += [entries(type_, form.length) for type_ in callee.out_types[form.carries : last]]
    if form.stops:
        items.append(INT_SCALAR)
    if form.returns_variants:
        items.append(entries(INT_SCALAR, form.length))
    if form.saves_carries:
        items += [entries(type_, form.length) for type_ in callee.in_types[: form.carries]]
    return tuple(items)


# Evaluation with NumPy


def _call(*values_and_callee: Callee) -> tuple[Operand, ...]:
    *values, callee = values_and_callee
    outputs, number = callee.run(None, values)
    return (*outputs, np.int64(number))


def _chosen(number: Operand, *values_and_callee: Callee) -> tuple[Operand, ...]:
    *values, callee = values_and_callee
    return tuple(callee.run(int(number), values)[0])


def _loop(*values_callee_form: Operand) -> tuple[Operand, ...]:
    *values, callee, form = values_callee_form
    return callee.run_loop(form, values)


def loop_with_numpy(callee: Answers, form: LoopForm, values: Sequence[Operand]) -> tuple[Operand, ...]:
    """Run a loop iteration by iteration, with `callee.answer`: the reference for compiled loops."""
    numbers = _array(values[0]) if form.variant_given else None
    first, stop = form.leading, form.leading + form.carries
    carries = [np.array(v)[()] for v in values[first:stop]]
    streams = [_array(v) for v in values[stop : stop + form.streams]]
    constants = list(values[stop + form.streams :])
    goes, count = True, form.length
    if form.length is None:
        if form.stops:
            goes, count = bool(values[form.leading - 1]), None
        else:
            count = int(values[form.leading - 1])
    stored = sum(type_.size * type_.dtype.itemsize for type_ in callee.in_types[: form.carries])
    ran: list[int] = []
    saved: list[list[Operand]] = []
    rows: list[Sequence[Operand]] = []
    done = 0
    while goes and (count is None or done < count):
        if form.most is not None and done >= form.most:
            raise form.too_long(done)
        place = (count or 0) - 1 - done if form.backwards else done
        chosen = None if numbers is None else int(numbers[place])
        outputs, number = callee.answer(chosen, [*carries, *(s[place] for s in streams), *constants])
        ran.append(number)
        saved.append(carries)
        carries = [np.array(o)[()] for o in outputs[: form.carries]]
        rows.append(outputs[form.carries :])
        if form.stops:
            goes, rows[-1] = bool(outputs[-1]), outputs[form.carries : -1]
        done += 1
        if form.saves_carries and form.length is None and done * stored > saved_bytes_limit():
            raise form.too_large(done)
    return (*carries, *_stacked(callee, form, rows, ran, saved))


def _stacked(
    callee: Answers, form: LoopForm, rows: list[Sequence[Operand]], ran: list[int], saved: list[list[Operand]]
) -> list[Operand]:
    """The results of a loop after its final carries: the stacked outputs, variants and carries of its iterations."""
    columns: list[tuple[ValueType, list[Operand]]] = []
    last = len(callee.out_types) - int(form.stops)
    for k, type_ in enumerate(callee.out_types[form.carries : last]):
        columns.append((type_, [row[k] for row in rows]))
    at_end = len(columns)
    if form.returns_variants:
        columns.append((INT_SCALAR, ran))
    if form.saves_carries:
        columns += [(type_, [c[k] for c in saved]) for k, type_ in enumerate(callee.in_types[: form.carries])]
    made = [_entries(type_, column, form) for type_, column in columns]
    return [*made[:at_end], *([np.int64(len(rows))] if form.stops else []), *made[at_end:]]


def _array(value: Operand) -> np.ndarray:
    return value.array if type(value) is DynamicArray else np.asarray(value)


def _entries(type_: ValueType, column: list[Operand], form: LoopForm) -> Operand:
    ordered = column[::-1] if form.backwards else column
    array = np.empty((len(column), *type_.shape), type_.dtype)
    for k, entry in enumerate(ordered):
        array[k] = entry
    return DynamicArray(array) if form.length is None else array


# Derivatives: calls and loops of derived callees, on the variants that ran


def _call_rule(
    z_bars: Sequence[Operand], z: Operand, *inputs: Operand, active: Sequence[bool], maybe_discarded: bool, callee: Callee
) -> list[Operand]:
    rule = getattr(callee, "call_rule", None)
    if rule is not None:  # of a user's primitive
        return rule(z_bars, z, inputs, active)
    number = GET(z, k=len(callee.out_types))
    return _called_back(callee, number, inputs, z_bars, active, maybe_discarded)


def _chosen_rule(
    z_bars: Sequence[Operand], z: Operand, number: Operand, *inputs: Operand, active: Sequence[bool], maybe_discarded: bool, callee: Callee
) -> list[Operand]:
    return [None, *_called_back(callee, number, inputs, z_bars, active[1:], maybe_discarded)]


def _called_back(
    callee: Callee, number: Operand, inputs: Sequence[Operand], z_bars: Sequence[Operand], active: Sequence[bool], maybe_discarded: bool
) -> list[Operand]:
    seeds = tuple(k for k in range(len(callee.out_types)) if z_bars[k] is not None)
    wrt = tuple(k for k, is_active in enumerate(active) if is_active)
    derived = callee.pullback(wrt, seeds, maybe_discarded)
    returned = CALL_VARIANT(number, *inputs, *[z_bars[k] for k in seeds], callee=derived)
    cotangents: list[Operand] = [None] * len(inputs)
    for place, k in enumerate(wrt):
        cotangents[k] = GET(returned, k=place)
    return cotangents


def _loop_rule(
    z_bars: Sequence[Operand], z: Operand, *inputs: Operand, active: Sequence[bool], maybe_discarded: bool, callee: Callee, form: LoopForm
) -> list[Operand]:
    """The reverse loop: its carries are the cotangents of the carries and the accumulated cotangents of the constants."""
    carried, streamed = form.leading, form.leading + form.carries
    constant = streamed + form.streams
    first_saved = len(z_bars) - form.carries
    outputs = len(callee.out_types) - form.carries - int(form.stops)
    ys_bars = z_bars[form.carries : form.carries + outputs]
    saved_bars = z_bars[first_saved:]
    asked = _asked_for(form, active, ys_bars, saved_bars, maybe_discarded)
    flow: LoopFlow = callee.loop_flow(asked, tuple(k for k in range(form.carries) if z_bars[k] is not None))
    which = flow.which
    # Missing cotangents are zeros.
    starts = [_or_zeros(z_bars[k], callee.in_types[k]) for k in which.wrt_carries]
    starts += [_or_zeros(None, callee.in_types[form.carries + form.streams + k]) for k in which.wrt_constants]
    numbers = [] if form.single_variant else [inputs[0] if form.variant_given else GET(z, k=first_saved - 1)]
    count: list[Operand] = []
    if form.length is None:
        count = [GET(z, k=form.carries + outputs) if form.stops else inputs[form.leading - 1]]
    streams = [GET(z, k=first_saved + k) for k in range(form.carries)]
    streams += [*inputs[streamed:constant], *(ys_bars[k] for k in which.seeds), *(saved_bars[k] for k in which.saved)]
    back = LoopForm(
        len(starts), len(streams), form.constants, form.length, backwards=not form.backwards, variant_given=not form.single_variant,
        single_variant=form.single_variant, recomputes=form.recomputes,
    )  # fmt: skip
    derived = callee.loop_pullback(which)
    returned = LOOP(*numbers, *count, *starts, *streams, *inputs[constant:], callee=derived, form=back)
    cotangents: list[Operand] = [None] * len(inputs)
    # In the order of the loop's items.
    results = [(carried + k, k in flow.nonzero_carries) for k in which.wrt_carries]
    results += [(constant + k, k in flow.nonzero_constants) for k in which.wrt_constants]
    results += [(streamed + k, k in flow.nonzero_streams) for k in which.wrt_streams]
    for place, (k, is_nonzero) in enumerate(results):
        if active[k]:
            z_bar = GET(returned, k=place)
            cotangents[k] = NonzeroCotangent(z_bar) if is_nonzero else z_bar
    return cotangents


def _asked_for(
    form: LoopForm, active: Sequence[bool], ys_bars: Sequence[Operand], saved_bars: Sequence[Operand], maybe_discarded: bool
) -> LoopCotangents:
    """The wanted cotangents of a loop, and the given ones in addition to the carries'."""
    carried, streamed = form.leading, form.leading + form.carries
    constant = streamed + form.streams
    return LoopCotangents(
        form.carries,
        form.streams,
        tuple(k for k in range(form.carries) if active[carried + k]),
        tuple(k for k in range(form.streams) if active[streamed + k]),
        tuple(k for k in range(form.constants) if active[constant + k]),
        tuple(k for k, bar in enumerate(ys_bars) if bar is not None),
        tuple(k for k, bar in enumerate(saved_bars) if bar is not None),
        maybe_discarded=maybe_discarded,
    )


def _or_zeros(cotangent: Operand, type_: ValueType) -> Operand:
    return np.zeros(type_.shape, type_.dtype) if cotangent is None else cotangent


class ItemCotangent:
    """A cotangent of one item of a tuple."""

    __slots__ = ("k", "z_bar")

    def __init__(self, z_bar: Operand, k: int) -> None:
        self.z_bar, self.k = z_bar, k


class NonzeroCotangent:
    """A cotangent that is not the exact zero of something that was discarded."""

    __slots__ = ("z_bar",)

    def __init__(self, z_bar: Operand) -> None:
        self.z_bar = z_bar


GET = Op(
    "get",
    evaluate=lambda items, k: items[k],
    infer=lambda type_, k: type_.items[k],
    vjp=(lambda z_bar, z, items, k: ItemCotangent(z_bar, k),),
    params=("k",),
    lower=lambda low, i: low.get(i),
    is_view=True,
    promote=(),
    examples=lambda rng: (),
)

CALL = TupleOp(
    "call",
    evaluate=_call,
    infer=lambda *types, callee: TupleType((*callee.out_types, INT_SCALAR)),
    vjp=_call_rule,
    params=("callee",),
    lower=lambda low, i: low.call_tuple(i),
    promote=(),
    examples=lambda rng: (),
)

CALL_VARIANT = TupleOp(
    "call_variant",
    evaluate=_chosen,
    infer=lambda *types, callee: TupleType(tuple(callee.out_types)),
    vjp=_chosen_rule,
    params=("callee",),
    lower=lambda low, i: low.variant_tuple(i),
    promote=(),
    examples=lambda rng: (),
)

LOOP = TupleOp(
    "loop",
    evaluate=_loop,
    infer=lambda *types, callee, form: TupleType(loop_items(callee, form)),
    vjp=_loop_rule,
    params=("callee", "form"),
    lower=lambda low, i: low.loop_tuple(i),
    promote=(),
    examples=lambda rng: (),
)

# A call whose path is known to hold, so that it can be removed if its results are unused.
RECALL = replace(CALL, name="recall")

OPS = (GET, CALL, CALL_VARIANT, LOOP, RECALL)
