"""Leading blocks: routines on matrices of which the first rows and columns exist, as far as data tell, work on these alone.

Beyond its end, a square matrix is the unit matrix, and so are its factors and its inverse; the other operands are zero there. So each
entry of the leading block of a result depends on the leading blocks of the operands alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...ir.instruction import Operand
from .beyond import Beyond, Ends, Identity, Known
from .program import Access, Extent, RoutineCall


class Block(NamedTuple):
    """A matrix among the operands of a routine, or its result.

    Attributes:
        rows, columns: the positions of its extents among the sizes.
        strides: the position of its strides among the sizes; 0 if it is contiguous.
        has_pivots: one more row follows.
    """

    rows: int
    columns: int
    strides: int = 0
    has_pivots: bool = False


class Form(NamedTuple):
    """The matrices of a routine.

    Attributes:
        operands: those that are matrices; others are scratch.
        result: None if it is a number.
        inner: the position of the order of a square matrix, or of the length of a product's sums.
        makes_square: the result is the unit matrix where the operand is.
        sorts: the operand is a vector, and what it has beyond its end comes last in any order.
        zeros: the operands that make the rows of the result zero where theirs are, and likewise its columns.
    """

    operands: tuple[Block, ...]
    result: Block | None
    inner: int = 0
    makes_square: bool = False
    zeros: tuple[int, ...] = ()
    sorts: bool = False


_SQUARE, _FACTORS, _SIDES, _VECTOR = Block(0, 0), Block(0, 0, has_pivots=True), Block(0, 1), Block(1, 2)
_FORMS = {
    "product": Form((Block(0, 2, strides=3), Block(2, 1, strides=5)), _SIDES, inner=2, zeros=(0, 1)),
    "cholesky": Form((_SQUARE,), _SQUARE, makes_square=True),
    "potrf": Form((_SQUARE,), _SQUARE, makes_square=True),
    "cholesky_pullback": Form((_SQUARE, _SQUARE), _SQUARE),
    "triangular_solve": Form((Block(0, 0, strides=3), _SIDES), _SIDES, zeros=(1, 1)),
    "lu_factor": Form((_SQUARE,), _FACTORS, makes_square=True),
    "lu_solve": Form((_FACTORS, _SIDES), _SIDES, zeros=(1, 1)),
    "lu_solve_columns": Form((_FACTORS, _SIDES), _SIDES, zeros=(1, 1)),
    "inverse": Form((_FACTORS,), _SQUARE, makes_square=True),
    "det_sign": Form((_FACTORS,), None),
    "argsort": Form((_VECTOR,), _VECTOR, inner=1, sorts=True),
    "cofactors": Form((_SQUARE, _FACTORS), _SQUARE),
}


def own_routine(call: RoutineCall) -> RoutineCall:
    """A call of this package's routine in place of a library's that takes as long on one thread."""
    match call.routine, call.sizes:
        case "gemm", (m, n, k, is_turned, other_is_turned):
            x, y = (1, m) if is_turned else (k, 1), (1, k) if other_is_turned else (n, 1)
            return replace(call, routine="product", sizes=(m, n, k, *x, *y))
        case "trsm", (n, k, is_lower, is_turned, is_unit):
            strides = (1, n) if is_turned else (n, 1)
            return replace(call, routine="triangular_solve", sizes=(n, k, int(is_lower != is_turned), *strides, is_unit))
        case "lu_solve", (_, k, _) if k > 1:
            return replace(call, routine="lu_solve_columns", operands=call.operands[:2])
        case "getri", _:
            return replace(call, routine="inverse", operands=call.operands[:1])
        case _:
            return call


def form_of(call: RoutineCall) -> Form | None:
    """The form of a routine that can work on leading blocks; None for others, and for stacks."""
    form = None if call.count != 1 or call.advances else _FORMS.get(call.routine)
    return None if form is not None and form.sorts and (call.sizes[0], call.sizes[2]) != (1, 1) else form


def access(block: Block, storage: int, offset: int, sizes: tuple[int, ...]) -> tuple[Access, tuple[int, ...]]:
    """A matrix as an access in two loops, over its rows and its columns."""
    domain = sizes[block.rows], sizes[block.columns]
    strides = sizes[block.strides : block.strides + 2] if block.strides else (int(domain[1]), 1)
    # Axes of extent 1 are none.
    return Access(storage, offset, tuple([stride * (extent > 1) for stride, extent in zip(strides, domain)])), domain


def reads_of(call: RoutineCall, form: Form) -> list[tuple[Access, tuple[int, ...]]]:
    return [access(block, *place, call.sizes) for block, place in zip(form.operands, call.operands)]


def end_of_operands(call: RoutineCall, form: Form, known: Callable[[Access, tuple[int, ...], int], Known]) -> Ends | None:
    """The end of the sums of a product, or of a square matrix; None if there is none.

    Args:
        known: the facts about a read, along a loop.
    """
    (a, of_a), *others = reads_of(call, form)
    if form.sorts:
        found = known(a, of_a, 0)
        return found.ends if isinstance(found, Beyond) and found.ends and _comes_last(found.value) else None
    if form.inner:
        ((b, of_b),) = others
        zeros = [one for one in (known(a, of_a, 1), known(b, of_b, 0)) if isinstance(one, Beyond) and one.ends and one.value == 0]
        return zeros[0].ends if zeros else None
    along = [known(a, of_a, level) for level in (0, 1)]
    unit = along[0]
    return unit.ends if isinstance(unit, Identity) and unit.ends and unit == along[1] else None


def _comes_last(value: Operand) -> bool:
    """True for numbers that no other one follows in order."""
    array = np.asarray(value)
    return bool(np.isnan(array)) if array.dtype.kind == "f" else bool(array == np.iinfo(np.int64).max)


def zeros_of_result(
    call: RoutineCall, form: Form, end: Ends | None, known: Callable[[Access, tuple[int, ...], int], Known]
) -> list[Ends | None]:  # fmt: skip
    """The ends of the rows and the columns of a result beyond which it is zero."""
    found = list[Ends | None]()
    for level, operand in enumerate(form.zeros):
        read = known(*reads_of(call, form)[operand], level)
        zero = read.ends if isinstance(read, Beyond) and read.ends and read.value == 0 else None
        if form.result is not None and form.result[level] == form.inner:
            zero = zero | end if zero and end else None
        found.append(zero)
    return found


def ended(call: RoutineCall, form: Form, end: Ends | None, needed: tuple[Ends | None, Ends | None]) -> RoutineCall:
    """A call that works on leading blocks as far as the operands, and what is read of the result, allow.

    Args:
        needed: the ends of the rows and columns of the result that are read; None if all are.
    """
    ends: dict[int, list[Ends | None]] = {form.inner: [end]}
    for size, of_level in zip(form.result[:2] if form.result else (), needed):
        ends.setdefault(size, []).append(of_level)
    sizes = list(call.sizes)
    for size, several in ends.items():
        if sizes[size] > 1 and None not in several:
            sizes[size] = Extent(sizes[size], frozenset[tuple[int, int]]().union(*(one for one in several if one is not None)))
    return replace(call, sizes=tuple(sizes))


def on_blocks(
    python: Callable[..., bool | None], call: RoutineCall, operands: list[np.ndarray], result: np.ndarray, ends: tuple[int, ...]
) -> bool | None:  # fmt: skip
    """Run the Python form of a routine on leading blocks, in arrays of their own.

    Args:
        ends: those of the sizes that have one.
    """
    form, given = _FORMS[call.routine], iter(ends)
    counts = [next(given) if isinstance(size, Extent) else size for size in call.sizes]
    places = [_places(block, call.sizes, counts) for block in form.operands]
    target = np.zeros(1, np.int64) if form.result is None else _places(form.result, call.sizes, counts)
    for block in form.operands:
        if block.strides:
            counts[block.strides : block.strides + 2] = counts[block.columns], 1
    made = np.zeros(target.size)
    flat = [array[where] for array, where in zip(operands, places)]
    failed = python([*flat, *operands[len(flat) :]], made, tuple(counts))
    result[target] = made
    return failed


def _places(block: Block, sizes: tuple[int, ...], counts: list[int]) -> np.ndarray:
    """The entries of a leading block, and of its pivots, in the array of the whole matrix."""
    read, (rows, columns) = access(block, 0, 0, sizes)
    whole = read.strides[0] * np.arange(counts[block.rows])[:, None] + read.strides[1] * np.arange(counts[block.columns])
    pivots = rows * columns + np.arange(counts[block.columns] * block.has_pivots)
    return np.concatenate([whole.ravel(), pivots])
