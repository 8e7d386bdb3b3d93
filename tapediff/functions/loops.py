"""Loops: td.scan, td.fori_loop and td.while_loop, one instruction of a recording each.

Outside recordings, and where nothing is tracked, they just run.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence

import numpy as np

from ..base.source_location import user_site
from ..errors import ArgumentMismatch
from ..ir.arguments import options_by_name
from ..ir.instruction import BOOL, Operand, Tree, is_tracked
from ..ir.pytree import TreeDef, flatten, unflatten
from ..ops.control.calls import LoopForm
from ..recording.arrays.compressed_lengths import aligned, is_compressed, of_full_length, settled
from ..recording.recorder import current_recorder
from .callees.body import Body, as_operand, call, kept_callee, type_of
from .captured.freeze import Frozen, freeze
from .recorded_loop import RecordedLoop

# A loop whose carries take more bytes than this stores few of them and computes the others again.
LARGEST_TRAJECTORY = 1 << 27


@options_by_name("td.scan", "td.scan(lambda carry, x: f(carry, x, {}), init, xs)")
def scan(
    f: Callable[[Tree, Tree], tuple[Tree, Tree]], init: Tree, xs: Tree = None, length: int | None = None, *, reverse: bool = False,
    checkpoint: str | None = None,
) -> tuple[Tree, Tree]:  # fmt: skip
    """carry, y = f(carry, x) for every entry x of xs; the ys stacked.

    Args:
        f: f(carry, x) returns (carry, y). Recorded once for each path through it, and for every length.
        init: the first carry: arrays, numbers, and tuples, lists and dicts of these.
        xs: the same, with one entry per iteration along the first axis; None if there are none.
        length: the number of iterations, needed where xs is None.
        reverse: take the entries from the last to the first; y k still belongs to x k.
        checkpoint: "sqrt" stores the carries of about 2 sqrt(n) iterations for the reverse pass, and computes the others again;
            "none" stores all that the reverse pass reads. None: "sqrt" if that would take more than 128 MB. It does not read carries
            that the next carry depends on linearly, as in a heat equation with known coefficients.

    Returns:
        The last carry, and the ys, with as many entries as xs.

    Raises:
        ArgumentMismatch, ShapeMismatch: xs of different lengths; a carry that changes its structure, shape or dtype.

    Cost: inside a compiled tape an iteration costs as much as in f's own loop; its gradient stores the carries that it reads, and values
        that are expensive to compute (exp, quotients, products of matrices, long chains) up to 128 MB in all. The rest is computed again,
        and all of it where f branches.
    Source: the signature is that of jax.lax.scan.
    """
    if checkpoint not in (None, "sqrt", "none"):
        raise ArgumentMismatch('checkpoint is None, "sqrt" or "none"', got=repr(checkpoint))
    x_leaves, x_treedef = flatten(xs, settles=False)
    if any(map(is_compressed, x_leaves)):
        found = None if length is not None else _scan_of_selected(f, init, x_treedef, x_leaves, reverse, checkpoint)
        if found is not None:
            return found
        x_leaves = list(map(settled, x_leaves))
    length = _length(x_leaves, length)
    init_leaves, treedef = flatten(init)
    frozen = freeze(f)
    if current_recorder() is None or _is_plain(frozen, [*init_leaves, *x_leaves]):
        return _plain_scan(f, init, x_treedef, x_leaves, length, reverse)
    if checkpoint == "sqrt" and length >= 4:
        return _blocked_scan(f, init, x_treedef, x_leaves, length, reverse)
    loop = _scan_loop(f, frozen, treedef, x_treedef)
    if checkpoint is None and _is_large(init_leaves, length) and _is_large(loop.carries_read(init_leaves, x_leaves), length):
        return _blocked_scan(f, init, x_treedef, x_leaves, length, reverse)
    return _looped_scan(loop, init_leaves, x_leaves, LoopForm(0, len(x_leaves), 0, length, backwards=reverse))


def _scan_of_selected(
    f: Callable[[Tree, Tree], tuple[Tree, Tree]], init: Tree, x_treedef: TreeDef, leaves: Sequence[Operand], reverse: bool,
    checkpoint: str | None,
) -> tuple[Tree, Tree] | None:  # fmt: skip
    """A scan along arrays of which data select entries: the others leave the carry; None if lengths are not known to agree."""
    like = next(leaf for leaf in leaves if is_compressed(leaf))
    if not all(map(np.ndim, leaves)):
        return None
    made = [leaf if is_compressed(leaf) and -leaf.ndim in leaf.kept else of_full_length(leaf, -np.ndim(leaf), like) for leaf in leaves]
    made = aligned([(leaf, -leaf.ndim) for leaf in made])
    if made[0] is None or any(len(leaf.kept) > 1 for leaf in made):
        return None
    kept = made[0].kept[-made[0].ndim]
    # Where there is no entry, the first iteration is computed once more, as another could fail.
    if kept.length is not None:
        entry = np.maximum(kept.length - 1, 0) if reverse else 0
    else:
        entry = np.argmax(kept.mask) if not reverse else kept.extent - 1 - np.argmax(kept.mask[::-1])
    firsts = [np.take(leaf.whole, entry, axis=0) for leaf in made]
    init_leaves, treedef = flatten(init)

    def where_selected(carry: Tree, given: tuple[list[Operand], Operand]) -> tuple[Tree, Tree]:
        row, is_entry = given
        before = flatten(carry)[0]
        x = unflatten(x_treedef, [np.where(is_entry, one, first) for one, first in zip(row, firsts)])
        result = f(unflatten(treedef, [np.where(is_entry, one, first) for one, first in zip(before, init_leaves)]), x)
        if not isinstance(result, (tuple, list)) or len(result) != 2 or flatten(result[0])[1] != treedef:
            return result
        after = [np.where(is_entry, one, other) for one, other in zip(flatten(result[0])[0], before)]
        return unflatten(treedef, after), result[1]

    carry, ys = scan(where_selected, init, ([leaf.whole for leaf in made], kept.mask), reverse=reverse, checkpoint=checkpoint)
    y_leaves, y_treedef = flatten(ys)
    return carry, unflatten(y_treedef, [type(like)(y, {-y.ndim: kept}) for y in y_leaves])


def _scan_loop(
    f: Callable[[Tree, Tree], tuple[Tree, Tree]], frozen: Frozen, treedef: TreeDef, x_treedef: TreeDef
) -> RecordedLoop:
    """The recorded loop of a scan with these structures of carries and entries."""

    def run(functions: list[Callable[..., Tree]], tree: Tree) -> Tree:
        result = functions[0](*tree)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise ArgumentMismatch(
                "the function of td.scan must return (carry, y)", got=type(result).__name__, fix="return carry, None"
            )
        return result

    return RecordedLoop("td.scan", f, frozen, treedef, run, x_treedef, user_site())


def _looped_scan(
    loop: RecordedLoop, init_leaves: Sequence[Operand], x_leaves: Sequence[Operand], form: LoopForm
) -> tuple[Tree, Tree]:
    """Record a scan as one instruction."""
    carries, ys = loop.record(init_leaves, [as_operand(leaf) for leaf in x_leaves], form)
    return unflatten(loop.treedef, carries), unflatten(loop.rest, ys)


def _is_large(carries: Sequence[Operand], length: int) -> bool:
    """True if storing the carries of all iterations costs more than computing them again."""
    return sum(8 * np.size(leaf) for leaf in carries) * length > LARGEST_TRAJECTORY


def _length(leaves: Sequence[Operand], length: int | None) -> int:
    try:
        lengths = set() if length is None else {operator.index(length)}
    except TypeError:
        raise ArgumentMismatch(
            "the length of td.scan is an integer", got=f"length={length!r}",
            fix="what f needs besides is closed over: td.scan(lambda carry, x: f(carry, x, a), init, xs)",
        ) from None  # fmt: skip
    if min(lengths, default=0) < 0:
        raise ArgumentMismatch("the length of a loop cannot be negative", got=f"length={length}")
    for leaf in leaves:
        if not np.ndim(leaf):
            raise ArgumentMismatch(
                "td.scan goes through its xs along their first axis, and a number has none", got=repr(leaf),
                fix="close over it, or put it into the carry",
            )  # fmt: skip
        lengths.add(np.shape(leaf)[0])
    if len(lengths) != 1:
        raise ArgumentMismatch(
            "td.scan needs xs of one length, or length=", got=f"lengths {sorted(lengths)}",
            fix="pass arrays of equal first extent, or length= where there are none",
        )  # fmt: skip
    return lengths.pop()


def _plain_scan(
    f: Callable[[Tree, Tree], tuple[Tree, Tree]], carry: Tree, treedef: TreeDef, leaves: Sequence[Operand], length: int,
    reverse: bool,
) -> tuple[Tree, Tree]:  # fmt: skip
    if not length:
        entry = [np.zeros(np.shape(leaf)[1:], np.asarray(leaf).dtype)[()] for leaf in leaves]
        row, y_treedef = flatten(f(_copied(carry), unflatten(treedef, entry))[1])
        return _copied(carry), unflatten(y_treedef, [np.zeros((0, *np.shape(y)), np.asarray(y).dtype) for y in row])
    carry = _copied(carry)
    rows: list[list[np.ndarray]] = []
    y_treedef = treedef
    for k in reversed(range(length)) if reverse else range(length):
        carry, y = f(carry, unflatten(treedef, [np.array(leaf[k])[()] for leaf in leaves]))
        carry = _copied(carry)
        row, y_treedef = flatten(y)
        rows.append([np.array(leaf) for leaf in row])
    ordered = rows[::-1] if reverse else rows
    return carry, unflatten(y_treedef, [np.stack(column) for column in zip(*ordered)])


def _copied(tree: Tree) -> Tree:
    """Copy the arrays of a tree, so that a body may write into them: a loop passes values, inside a recording too."""
    leaves, treedef = flatten(tree)
    return unflatten(treedef, [leaf if is_tracked(leaf) else np.array(leaf)[()] for leaf in leaves])


def _blocked_scan(
    f: Callable[[Tree, Tree], tuple[Tree, Tree]], init: Tree, treedef: TreeDef, leaves: Sequence[Operand], length: int,
    reverse: bool,
) -> tuple[Tree, Tree]:  # fmt: skip
    """A scan of scans: only the carries between inner scans are stored, and one inner scan at a time is computed again."""
    size = math.isqrt(length - 1) + 1
    blocks = length // size
    rest = length - blocks * size
    # The remainder goes last, at the end that is reached last.
    whole = slice(rest, None) if reverse else slice(0, length - rest)
    odd = slice(0, rest) if reverse else slice(length - rest, None)
    arrays = [leaf if is_tracked(leaf) else np.asarray(leaf) for leaf in leaves]
    blocked = [np.reshape(a[whole], (blocks, size, *a.shape[1:])) for a in arrays]

    def block(carry: Tree, entries: Tree) -> tuple[Tree, Tree]:
        return scan(f, carry, entries, size, reverse=reverse)

    form = LoopForm(0, len(blocked), 0, blocks, backwards=reverse, recomputes=True)
    init_leaves, carried = flatten(init)
    carry, ys = _looped_scan(_scan_loop(block, freeze(block), carried, treedef), init_leaves, blocked, form)
    y_leaves, y_treedef = flatten(ys)
    y_leaves = [np.reshape(y, (blocks * size, *y.shape[2:])) for y in y_leaves]
    if rest:
        carry, others = scan(f, carry, unflatten(treedef, [a[odd] for a in arrays]), rest, reverse=reverse)
        pairs = [(b, a) if reverse else (a, b) for a, b in zip(y_leaves, flatten(others)[0])]
        y_leaves = [np.concatenate(pair) for pair in pairs]
    return carry, unflatten(y_treedef, y_leaves)


def fori_loop(lower: Operand, upper: Operand, body: Callable[[Operand, Tree], Tree], init: Tree) -> Tree:
    """value = body(i, value) for i from lower to upper - 1.

    Args:
        lower, upper: integers; if they are tracked, the number of iterations is decided at run time.
        body: body(i, value) returns the next value, of the same structure, shapes and dtypes.
        init: the first value: arrays, numbers, and tuples, lists and dicts of these.

    Returns:
        The last value.

    Cost: as td.scan.
    Source: the signature is that of jax.lax.fori_loop.
    """
    for bound in (lower, upper):
        if not isinstance(bound, (int, np.integer)) and not (is_tracked(bound) and bound.dtype.kind == "i"):
            raise ArgumentMismatch("the bounds of td.fori_loop must be integers", got=repr(bound), fix="use int(n)")
    leaves, treedef = flatten(init)
    frozen = freeze(body)
    bounds = [lower, upper]
    if current_recorder() is None or _is_plain(frozen, [*leaves, *bounds]):
        value = _copied(init)
        for i in range(lower, upper):
            value = _copied(body(i, value))
        return value

    def run(functions: list[Callable[..., Tree]], tree: Tree) -> Tree:
        i, value = tree[0]
        return (i + 1, functions[0](i, value)), ()

    runs = None if any(map(is_tracked, bounds)) else max(0, int(upper) - int(lower))
    if runs is not None and _is_large(leaves, runs):
        # The counter is a carry: an array of all counts would take more memory than the values.
        counted = lambda carry, _: ((carry[0] + 1, body(carry[0], carry[1])), None)  # noqa: E731 -- the next line is its only use
        return scan(counted, (int(lower), init), None, runs)[0][1]
    whole = flatten((lower, init))[1]
    loop = RecordedLoop("td.fori_loop", body, frozen, whole, run, None, user_site())
    leading = [] if runs is not None else [as_operand(upper - lower)]
    carries, _ = loop.record([lower, *leaves], [], LoopForm(0, 0, 0, runs, site=None if runs is not None else str(loop.site)), leading)
    return unflatten(treedef, carries[1:])


@options_by_name("td.while_loop", "td.while_loop(lambda value: cond(value, {}), lambda value: body(value, {}), init)")
def while_loop(
    cond: Callable[[Tree], Operand], body: Callable[[Tree], Tree], init: Tree, *, max_steps: int | None = None
) -> Tree:
    """value = body(value) as long as cond(value) holds.

    Args:
        cond: gives a bool, or an array of one element.
        body: gives the next value, of the same structure, shapes and dtypes.
        init: the first value: arrays, numbers, and tuples, lists and dicts of these.
        max_steps: how many iterations it may take; any number unless given.

    Returns:
        The first value for which cond does not hold.

    Raises:
        LoopTooLong: cond still holds after max_steps iterations, or their values, which the reverse pass needs, would take more than
            4 GiB, or a quarter of the memory that there is. Ctrl-C ends the loop at any time.
        ArgumentMismatch, ShapeMismatch: a value that changes its structure, shape or dtype.

    Cost: as td.scan. The number of iterations is decided at run time, inside the kernel; the reverse pass stores that many values.
    Source: the signature is that of jax.lax.while_loop, which has no reverse mode.
    """
    if max_steps is not None and (not isinstance(max_steps, (int, np.integer)) or max_steps < 0):
        raise ArgumentMismatch("max_steps is a number of iterations", got=repr(max_steps), fix="max_steps=1000")
    return repeated_while(cond, body, init, None if max_steps is None else int(max_steps))


def repeated_while(
    cond: Callable[[Tree], Operand], body: Callable[[Tree], Tree], init: Tree, most: int | None, failure: tuple[str, str] | None = None,
) -> Tree:  # fmt: skip
    """Record td.while_loop. For a solver, `most` iterations without an end raise td.NotConverged, with its text and fix."""
    leaves, treedef = flatten(init)
    frozen = freeze(body, cond)
    form = LoopForm(0, 0, 0, None, stops=True, most=most, site=str(user_site()), failure=failure)
    if current_recorder() is None or _is_plain(frozen, leaves):
        value, steps = _copied(init), 0
        while cond(value):
            if steps == most:
                raise form.too_long(steps)
            value, steps = _copied(body(value)), steps + 1
        return value

    def run(functions: list[Callable[..., Tree]], tree: Tree) -> Tree:
        value = functions[0](tree[0])
        return value, _as_bool(functions[1](value))

    loop = RecordedLoop("td.while_loop", body, frozen, treedef, run, None, user_site())
    first = _first_test(cond, loop.promoted(leaves), treedef)
    carries, _ = loop.record(leaves, [], form, [first])
    return unflatten(treedef, carries)


def _first_test(cond: Callable[[Tree], Operand], operands: Sequence[Operand], treedef: TreeDef) -> Operand:
    """Record cond(init) as a call of its own, so that its guards stay out of the caller."""
    frozen = freeze(cond)
    leaves, operands = operands, [*operands, *frozen.tracked]
    run = lambda functions, tree: _as_bool(functions[0](tree))  # noqa: E731 -- the next line is its only use
    make = lambda: Body("the test of td.while_loop", frozen, treedef, run)  # noqa: E731
    if not any(map(is_tracked, operands)):
        return np.bool_(cond(unflatten(treedef, operands)))
    callee, body = kept_callee("while test", treedef, frozen, [type_of(o) for o in operands], make)
    callee.is_test = True
    return call(callee, body, operands, leaves, frozen)


def _as_bool(value: Operand) -> Operand:
    if not is_tracked(value):
        return bool(value)
    if value.size != 1:
        raise ArgumentMismatch(
            "the test of td.while_loop must be a bool, or an array of one element", got=repr(value),
            fix="use np.any(...) or np.all(...)",
        )  # fmt: skip
    value = np.reshape(value, ())
    return value if value.dtype == BOOL else value != 0


def _is_plain(frozen: Frozen, leaves: Sequence[Operand]) -> bool:
    return not frozen.tracked and not any(is_tracked(leaf) for leaf in leaves)
