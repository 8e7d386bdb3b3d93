"""Structured control flow: branches and loops that are one instruction of a recording, whose bodies are callees of their own.

Outside recordings, and where nothing is tracked, they just run.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.source_location import user_site
from ..errors import ArgumentMismatch, ShapeMismatch
from ..ir.instruction import BOOL, BOOL_SCALAR, ValueType, is_tracked
from ..ops.arithmetic import CONVERT
from ..ops.calls import LOOP, LoopForm
from ..recording.recorder import current_recorder
from .freeze import Frozen, freeze
from .pytree import TreeDef, describe_treedef, flatten, unflatten
from .recorded_callee import RecordedCallee
from .subtape import Body, as_operand, call, caught_outside, items_of, kept_callee, type_of, value_of

# Bytes; a trajectory that is larger is computed again in pieces.
LARGEST_TRAJECTORY = 1 << 27

# So many td.cond in the body of a loop are paths of the body, of which there are then two; further ones are calls.
BRANCHES_TO_INLINE = 1


def _is_plain(frozen: Frozen, leaves: Sequence[Any]) -> bool:
    return not frozen.tracked and not any(is_tracked(leaf) for leaf in leaves)


# Branches


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *args: Any) -> Any:
    """true_fn(*args) where pred holds, else false_fn(*args); only the branch taken is run and recorded.

    Args:
        pred: a bool, or an array of one element.
        true_fn, false_fn: functions of args; they may close over tracked values, branch, and call sub-tapes.
        args: arrays, numbers, and tuples, lists and dicts of these.

    Returns:
        What the branch returns; inside a recording both must return arrays of the same shapes and dtypes.

    Raises:
        ArgumentMismatch, ShapeMismatch: the branches return different things.

    Cost: as one call of a sub-tape: about 20 ns beside the branch.
    """
    if not is_tracked(pred):
        return (true_fn if pred else false_fn)(*args)
    return _branch("cond", pred, (false_fn, true_fn), args, user_site())


def switch(index: Any, branches: Sequence[Callable[..., Any]], *args: Any) -> Any:
    """branches[index](*args); only the branch taken is run and recorded.

    Args:
        index: an integer from 0 to len(branches) - 1.
        branches: functions of args; see td.cond.

    Raises:
        IndexError: there is no such branch.
    """
    if not is_tracked(index):
        return _picked(branches, operator.index(index))(*args)
    if index.dtype.kind != "i":
        raise ArgumentMismatch(
            "the index of td.switch must be an integer", got=repr(index), fix="use index.astype(int)"
        )
    return _branch("switch", index, tuple(branches), args, user_site())


def _picked(branches: Sequence[Callable[..., Any]], index: int) -> Callable[..., Any]:
    if not 0 <= index < len(branches):
        raise IndexError(f"td.switch has {len(branches)} branches, and was asked for number {index}")
    return branches[index]


def _branch(name: str, choice: Any, functions: Sequence[Any], args: Any, site: Any) -> Any:
    recorder = choice._recorder
    if recorder is current_recorder() and (recorder.branches_to_inline > 0 or caught_outside()):
        # The one branch of a loop's body is a path of the body: that saves a call in every iteration.
        recorder.branches_to_inline -= 1
        return _taken(name, choice, functions, site)(*args)
    frozen = freeze(*functions)
    leaves, treedef = flatten((choice, args))
    operands = [as_operand(leaf) for leaf in leaves] + frozen.tracked

    def run(functions: list[Any], tree: Any) -> Any:
        choice, args = tree
        return _taken(name, choice, functions, site)(*args)

    types = [type_of(o) for o in operands]
    names = {getattr(f, "__name__", "f") for f in functions}
    label = f"td.{name}" if "<lambda>" in names else f"td.{name} of {', '.join(sorted(names))}"
    make = lambda: Body(label, frozen, treedef, run)  # noqa: E731 -- the next line is its only use
    return call(*kept_callee(label, (treedef, site), frozen, types, make), operands, leaves, frozen)


def _taken(name: str, choice: Any, functions: Sequence[Any], site: Any) -> Any:
    with choice._recorder.at(site):  # the guard stands where td.cond does
        taken = choice._recorder.observe(choice, "bool" if name == "cond" else "int")
    return _picked(functions, int(taken))


# Loops


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False,
    checkpoint: str | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """carry, y = f(carry, x) for every entry x of xs; the ys stacked.

    Args:
        f: f(carry, x) returns (carry, y). Recorded once for each path through it, and for every length.
        init: the first carry: arrays, numbers, and tuples, lists and dicts of these.
        xs: the same, with one entry per iteration along the first axis; None if there are none.
        length: the number of iterations, needed where xs is None.
        reverse: take the entries from the last to the first; y k still belongs to x k.
        checkpoint: "sqrt" stores the carries of about 2 sqrt(n) iterations for the reverse pass, and computes the others again;
            "none" stores all of them. None: "sqrt" where all of them would take more than 128 MB.

    Returns:
        The last carry, and the ys, with as many entries as xs.

    Raises:
        ArgumentMismatch, ShapeMismatch: xs of different lengths; a carry that changes its structure, shape or dtype.

    Cost: inside a compiled tape an iteration costs what f's own loop would; its gradient stores every carry, and what is dear to compute
        (exp, quotients, products of matrices, long chains) up to 128 MB in all. The rest is computed again, and all of it where f branches.
    Source: the signature is that of jax.lax.scan.
    """
    if checkpoint not in (None, "sqrt", "none"):
        raise ArgumentMismatch('checkpoint is None, "sqrt" or "none"', got=repr(checkpoint))
    x_leaves, x_treedef = flatten(xs)
    length = _length(x_leaves, length)
    init_leaves = flatten(init)[0]
    frozen = freeze(f)
    if current_recorder() is None or _is_plain(frozen, [*init_leaves, *x_leaves]):
        return _plain_scan(f, init, x_treedef, x_leaves, length, reverse)
    if (checkpoint == "sqrt" and length >= 4) or (checkpoint is None and _is_large(init_leaves, length)):
        return _blocked_scan(f, init, x_treedef, x_leaves, length, reverse)
    return _looped_scan(f, init, xs, length, reverse)


def _looped_scan(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, length: int, reverse: bool, recomputes: bool = False
) -> tuple[Any, Any]:
    """A scan as one instruction."""
    x_leaves, x_treedef = flatten(xs)
    init_leaves, treedef = flatten(init)
    streams = [as_operand(leaf) for leaf in x_leaves]

    def run(functions: list[Any], tree: Any) -> Any:
        result = functions[0](*tree)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise ArgumentMismatch(
                "the function of td.scan must return (carry, y)", got=type(result).__name__, fix="return carry, None"
            )
        return result

    loop = _Loop("td.scan", f, freeze(f), treedef, run, x_treedef, user_site())
    form = LoopForm(0, len(streams), 0, length, backwards=reverse, recomputes=recomputes)
    carries, ys = loop.record(init_leaves, streams, form)
    return unflatten(treedef, carries), unflatten(loop.rest, ys)


def _is_large(carries: Sequence[Any], length: int) -> bool:
    """Whether the carries of all iterations take more memory than it costs to compute them again."""
    return sum(8 * np.size(leaf) for leaf in carries) * length > LARGEST_TRAJECTORY


def _length(leaves: Sequence[Any], length: int | None) -> int:
    lengths = set() if length is None else {operator.index(length)}
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
    f: Callable[[Any, Any], tuple[Any, Any]], carry: Any, treedef: TreeDef, leaves: Sequence[Any], length: int,
    reverse: bool,
) -> tuple[Any, Any]:  # fmt: skip
    if not length:
        entry = [np.zeros(np.shape(leaf)[1:], np.asarray(leaf).dtype)[()] for leaf in leaves]
        row, y_treedef = flatten(f(_copied(carry), unflatten(treedef, entry))[1])
        return _copied(carry), unflatten(y_treedef, [np.zeros((0, *np.shape(y)), np.asarray(y).dtype) for y in row])
    carry = _copied(carry)
    rows: list[list[Any]] = []
    y_treedef = treedef
    for k in reversed(range(length)) if reverse else range(length):
        carry, y = f(carry, unflatten(treedef, [np.array(leaf[k])[()] for leaf in leaves]))
        carry = _copied(carry)
        row, y_treedef = flatten(y)
        rows.append([np.array(leaf) for leaf in row])
    ordered = rows[::-1] if reverse else rows
    return carry, unflatten(y_treedef, [np.stack(column) for column in zip(*ordered)])


def _copied(tree: Any) -> Any:
    """A tree of arrays of its own, which a body may write into: a loop hands on values, inside a recording too."""
    leaves, treedef = flatten(tree)
    return unflatten(treedef, [leaf if is_tracked(leaf) else np.array(leaf)[()] for leaf in leaves])


def _blocked_scan(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, treedef: TreeDef, leaves: Sequence[Any], length: int,
    reverse: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """A scan of scans: only the carries between the inner ones are stored, and one inner scan at a time is computed again."""
    size = math.isqrt(length - 1) + 1
    blocks = length // size
    rest = length - blocks * size
    # The odd ones are done last, so they stand at the end that is reached last.
    whole = slice(rest, None) if reverse else slice(0, length - rest)
    odd = slice(0, rest) if reverse else slice(length - rest, None)
    arrays = [leaf if is_tracked(leaf) else np.asarray(leaf) for leaf in leaves]
    blocked = [np.reshape(a[whole], (blocks, size, *a.shape[1:])) for a in arrays]

    def block(carry: Any, entries: Any) -> tuple[Any, Any]:
        return scan(f, carry, entries, size, reverse)

    carry, ys = _looped_scan(block, init, unflatten(treedef, blocked), blocks, reverse, recomputes=True)
    y_leaves, y_treedef = flatten(ys)
    y_leaves = [np.reshape(y, (blocks * size, *y.shape[2:])) for y in y_leaves]
    if rest:
        carry, others = scan(f, carry, unflatten(treedef, [a[odd] for a in arrays]), rest, reverse)
        pairs = [(b, a) if reverse else (a, b) for a, b in zip(y_leaves, flatten(others)[0])]
        y_leaves = [np.concatenate(pair) for pair in pairs]
    return carry, unflatten(y_treedef, y_leaves)


def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """value = body(i, value) for i from lower to upper - 1.

    Args:
        lower, upper: integers; where they are tracked, the number of iterations is decided at run time.
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

    def run(functions: list[Any], tree: Any) -> Any:
        i, value = tree[0]
        return (i + 1, functions[0](i, value)), ()

    runs = None if any(map(is_tracked, bounds)) else max(0, int(upper) - int(lower))
    if runs is not None and _is_large(leaves, runs):
        # The counter is carried: all of them in an array would take more than the values do.
        counted = lambda carry, _: ((carry[0] + 1, body(carry[0], carry[1])), None)  # noqa: E731 -- the next line is its only use
        return scan(counted, (int(lower), init), None, runs, checkpoint="sqrt")[0][1]
    whole = flatten((lower, init))[1]
    loop = _Loop("td.fori_loop", body, frozen, whole, run, None, user_site())
    leading = [] if runs is not None else [as_operand(upper - lower)]
    carries, _ = loop.record([lower, *leaves], [], LoopForm(0, 0, 0, runs, site=None if runs is not None else str(loop.site)), leading)
    return unflatten(treedef, carries[1:])


def while_loop(
    cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, max_steps: int | None = None
) -> Any:
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
    leaves, treedef = flatten(init)
    frozen = freeze(body, cond)
    most = None if max_steps is None else int(max_steps)
    form = LoopForm(0, 0, 0, None, stops=True, most=most, site=str(user_site()))
    if current_recorder() is None or _is_plain(frozen, leaves):
        value, steps = _copied(init), 0
        while cond(value):
            if steps == most:
                raise form.too_long(steps)
            value, steps = _copied(body(value)), steps + 1
        return value

    def run(functions: list[Any], tree: Any) -> Any:
        value = functions[0](tree[0])
        return value, _as_bool(functions[1](value))

    loop = _Loop("td.while_loop", body, frozen, treedef, run, None, user_site())
    first = _first_test(cond, loop.promoted(leaves), treedef)
    carries, _ = loop.record(leaves, [], form, [first])
    return unflatten(treedef, carries)


def _first_test(cond: Callable[[Any], Any], operands: Sequence[Any], treedef: TreeDef) -> Any:
    """cond(init) as a call of its own, so that what Python looks at in there is no guard of the caller."""
    frozen = freeze(cond)
    leaves, operands = operands, [*operands, *frozen.tracked]
    run = lambda functions, tree: _as_bool(functions[0](tree))  # noqa: E731 -- the next line is its only use
    make = lambda: Body("the test of td.while_loop", frozen, treedef, run)  # noqa: E731
    if not any(map(is_tracked, operands)):
        return np.bool_(cond(unflatten(treedef, operands)))
    return call(*kept_callee("while test", treedef, frozen, [type_of(o) for o in operands], make), operands, leaves, frozen)


def _as_bool(value: Any) -> Any:
    if not is_tracked(value):
        return bool(value)
    if value.size != 1:
        raise ArgumentMismatch(
            "the test of td.while_loop must be a bool, or an array of one element", got=repr(value),
            fix="use np.any(...) or np.all(...)",
        )  # fmt: skip
    value = np.reshape(value, ())
    return value if value.dtype == BOOL else value != 0


class _Loop:
    """A loop that is being recorded.

    Args:
        run: run(functions, (carry, x)) gives (carry, further results).
    """

    def __init__(
        self, name: str, f: Callable[..., Any], frozen: Frozen, treedef: TreeDef, run: Callable[[list[Any], Any], Any],
        x_treedef: TreeDef | None, site: Any,
    ) -> None:  # fmt: skip
        self.name = f"{name} of {getattr(f, '__name__', 'f')}"
        self.frozen, self.treedef, self.run, self.site = frozen, treedef, run, site
        self.x_treedef = flatten(None)[1] if x_treedef is None else x_treedef
        self.rest: TreeDef = self.x_treedef

    def record(
        self, init: Sequence[Any], streams: Sequence[Any], form: LoopForm, leading: Sequence[Any] = ()
    ) -> tuple[list[Any], list[Any]]:
        """Record the loop; its last carries, and its stacked further results."""
        carries = self.promoted(init)
        items = [ValueType(type_of(s).shape[1:], type_of(s).dtype) for s in streams]
        first = [self._first(stream, item) for stream, item in zip(streams, items)]
        goes = not form.stops or bool(value_of(leading[0]))
        while True:
            operands = [*carries, *streams, *self.frozen.tracked]
            types = [type_of(c) for c in carries]
            callee, body = self._callee((*types, *items, *(t.type for t in self.frozen.tracked)), form.stops)
            if goes:
                callee.ensure([value_of(o) for o in (*carries, *first, *self.frozen.tracked)])
            elif not callee.out_types:
                callee.out_types = (*types, BOOL_SCALAR)
            promoted = self._fitting(callee, carries)
            if promoted is None:
                break
            carries = promoted
        n = len(carries)
        form = replace(form, carries=n, streams=len(streams), constants=len(self.frozen.tracked))
        handler = caught_outside()
        if handler is not None:
            callee.must_not_fail(handler)
        returned = LOOP(*leading, *operands, callee=callee, form=form)
        count = len(callee.out_types) - int(form.stops)
        results = items_of(returned, count)
        if body.results is not None:
            self.rest = body.results.parts[1]
        return results[:n], results[n:]

    def promoted(self, init: Sequence[Any]) -> list[Any]:
        return [as_operand(leaf) for leaf in init]

    @staticmethod
    def _first(stream: Any, item: ValueType) -> Any:
        """The first entry; of none, zeros, so that the types of the results can be found."""
        value = value_of(stream)
        return value[0] if len(value) else np.zeros(item.shape, item.dtype)[()]

    def _callee(self, types: Sequence[ValueType], stops: bool) -> tuple[RecordedCallee, Body]:
        treedef = TreeDef(tuple, (), (self.treedef, self.x_treedef))

        def run(functions: list[Any], tree: Any) -> Any:
            result = self.run(functions, tree)
            found = flatten(result[0])[1]
            if found != self.treedef:
                raise ArgumentMismatch(
                    f"the carry of {self.name} changed its structure", at=self.site,
                    got=f"{describe_treedef(found)} after {describe_treedef(self.treedef)}",
                    fix="return the carry as it came in",
                )  # fmt: skip
            return result

        make = lambda: Body(self.name, self.frozen, treedef, run, keeps_arguments=False)  # noqa: E731
        return kept_callee(
            self.name, treedef, self.frozen, types, make, stops=stops, branches_to_inline=BRANCHES_TO_INLINE
        )

    def _fitting(self, callee: RecordedCallee, carries: Sequence[Any]) -> list[Any] | None:
        """The carries in the dtypes that an iteration makes of them; None if they have them already."""
        changed = False
        result = list(carries)
        for k, carry in enumerate(carries):
            given, made = type_of(carry), callee.out_types[k]
            if given == made:
                continue
            dtype = np.result_type(given.dtype, made.dtype)
            if given.shape != made.shape or dtype == given.dtype:
                raise ShapeMismatch(
                    f"the carry of {self.name} changed its type", at=self.site, got=f"{made} after {given}",
                    fix="return carries of the shapes and dtypes that the first one has, e.g. start with 0.0 or np.zeros(n)",
                )  # fmt: skip
            result[k] = CONVERT(carry, dtype=dtype) if is_tracked(carry) else np.asarray(carry, dtype)[()]
            changed = True
        return result if changed else None
