"""Constants beyond the entries of an axis that exist, by abstract evaluation of a step's expression.

A mask of the entries that exist is False from entry n on. What it selects has the neutral value there, and so have products with zeros:
the entries are not the program's, so neither infinities nor NaN count. For the same reason the infinity that is no maximum stays one in a
sum, and equals no number of the program. `Beyond` names the end as the largest of some sums of an integer and a number.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import NamedTuple, TypeAlias, TypeGuard

import numpy as np

from ...ir.instruction import Operand
from ..math.function_table import PYTHON_FUNCTIONS
from .program import Access

# Storages of integers, each with a number added; the end is the largest sum.
Ends: TypeAlias = frozenset[tuple[int, int]]

NO_ENDS: Ends = frozenset()

# An axis of a storage: the entries between neighbours along it, and its extent.
Axis: TypeAlias = tuple[int, int]


class Beyond(NamedTuple):
    """The value of all entries from `ends` on; of all entries if there are none. `before`: of all others, if it is one value."""

    ends: Ends
    value: Operand
    before: Operand = None


class Range(NamedTuple):
    """Consecutive integers along the axis."""

    first: int


class Integer(NamedTuple):
    """An integer that is known when the loop begins, with a number added. `is_clipped`: zero if that is negative."""

    storage: int
    added: int = 0
    is_clipped: bool = False


class IsNegative(NamedTuple):
    """The condition that an integer is negative."""

    integer: Integer


class Carry(NamedTuple):
    """A loop's carry, as it was before the iteration, from `ends` on."""

    ends: Ends
    number: int


class EntryOf(NamedTuple):
    """The entries of a loop's carry, as it was before the iteration, at positions, from `ends` on.

    Attributes:
        place: the carry's number, and that of the instruction that computes the positions.
    """

    ends: Ends
    place: tuple[int, int]


class Identity(NamedTuple):
    """The entries of the unit matrix from `ends` on; all are if there are none."""

    ends: Ends


Known: TypeAlias = Beyond | Range | Integer | IsNegative | Carry | EntryOf | Identity | None


def shifted(ends: Ends, by: int) -> Ends:
    """The ends counted from another first entry."""
    return frozenset((storage, number + by) for storage, number in ends)


def axis_of(access: Access, domain: tuple[int, ...], level: int, size: int) -> tuple[Axis, int] | None:
    """The axis of a storage that a loop runs along, and the entry at which it begins; None if it runs along none."""
    stride = access.strides[level]
    if stride <= 0 or access.index_read >= 0:
        return None
    if len(domain) == 1:
        if size % stride:
            return None
        first = access.offset // stride
        return ((stride, size // stride), first) if (first + domain[0]) * stride <= size else None
    others = [(s, extent) for k, (s, extent) in enumerate(zip(access.strides, domain)) if k != level and s]
    outer = [s for s, _ in others if s > stride]
    if any(s <= 0 or s == stride for s, _ in others):
        return None
    if sum(s * (extent - 1) for s, extent in others if s < stride) + access.offset % stride >= stride:
        return None
    whole = min(outer, default=size)
    if whole % stride or any(s % whole for s in outer):
        return None
    extent, first = whole // stride, access.offset // stride % (whole // stride)
    return ((stride, extent), first) if first + domain[level] <= extent else None


def places_of(access: Access, domain: tuple[int, ...], level: int, size: int, known: Iterable[Axis] = ()) -> list[tuple[Axis, int]]:
    """The axes of a storage that a loop runs along, each with the entry at which it begins.

    Args:
        known: axes that others run along: rows of a matrix may be parts of one of these.
    """
    stride, place = access.strides[level], axis_of(access, domain, level, size)
    found = list[tuple[Axis, int]]()
    if place is not None:
        (_, extent), first = place
        shorter = [e for s, e in known if s == stride and e < extent and extent % e == 0 and first % e + domain[level] <= e]
        found = [place, *(((stride, e), first % e) for e in shorter)]
    order = stride - 1
    if is_diagonal(access, level) and domain[level] <= order and size % order == 0:
        found += [((order, size // order), 0), ((1, order), 0)]
    return found


def is_diagonal(access: Access, level: int) -> bool:
    """True if a loop may run along the diagonal of a matrix, whose rows are as long as its stride less one."""
    return access.index_read < 0 and not access.offset and access.strides[level] > 2 and sum(map(bool, access.strides)) == 1


def evaluated(expression: str, reads: Mapping[str, Known]) -> Known:
    """The facts about a step's value, by those about its reads."""
    if reads and not any(reads.values()):
        return None  # as for most steps
    return _evaluated(_parsed(expression), reads)


@cache
def _parsed(expression: str) -> ast.expr:
    return ast.parse(expression, mode="eval").body


def _name(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


_SELECTS = ("select", "select_by_jump")

_BINARY: dict[type, Callable[[Operand, Operand], Operand]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}  # fmt: skip
_COMPARISONS: dict[type, Callable[[Operand, Operand], Operand]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
# With one such operand, the result is the other one; or that operand itself.
_NEUTRAL = {ast.Add: 0, ast.Sub: 0, ast.BitAnd: True, ast.BitOr: False}
_ABSORBING = {ast.Mult: 0, ast.BitAnd: False, ast.BitOr: True, ast.Div: 0}


def _evaluated(node: ast.expr, reads: Mapping[str, Known]) -> Known:
    match node:
        case ast.Constant(value):
            return Beyond(NO_ENDS, _number(value))
        case ast.Name(name):
            return reads.get(name)
        case ast.UnaryOp(op, operand):
            known = _evaluated(operand, reads)
            if not isinstance(known, Beyond):
                return None
            return Beyond(known.ends, ~known.value if isinstance(op, ast.Invert) else -known.value)
        case ast.BinOp(left, op, right):
            return _combined(type(op), _evaluated(left, reads), _evaluated(right, reads))
        case ast.Compare(left, [op], [right]):
            return _compared(type(op), _evaluated(left, reads), _evaluated(right, reads))
        case ast.Call():
            return _called(_name(node), [_evaluated(argument, reads) for argument in node.args])
        case _:
            return None


def _combined(op: type, a: Known, b: Known) -> Known:
    if op in _ABSORBING:
        for known in (a,) if op is ast.Div else (a, b):
            # Of entries that exist, a product of zero may be NaN.
            is_exact = op in (ast.BitAnd, ast.BitOr)
            if isinstance(known, Beyond) and known.value == _ABSORBING[op] and (is_exact or known.ends):
                return Beyond(known.ends, known.value)
    if op in (ast.Add, ast.Sub) and _is_infinite(a) and b is None:
        return Beyond(a.ends, a.value)
    if op in (ast.Add, ast.Sub) and _is_infinite(b) and a is None:
        return Beyond(b.ends, b.value if op is ast.Add else -b.value)
    if isinstance(b, Integer) and op is ast.Add:
        a, b = b, a
    if isinstance(a, Integer) and op in (ast.Add, ast.Sub):
        return _sum(a, b, 1 if op is ast.Add else -1)
    for one, other in ((a, b), (b, a)):
        is_right = op is not ast.Sub or other is b
        if isinstance(one, Carry) and isinstance(other, Beyond) and op in _NEUTRAL and other.value == _NEUTRAL[op] and is_right:
            return one._replace(ends=one.ends | other.ends)
    if isinstance(a, Beyond) and isinstance(b, Beyond) and op in _BINARY:
        return Beyond(a.ends | b.ends, _BINARY[op](a.value, b.value))
    return None


def _is_infinite(known: Known) -> TypeGuard[Beyond]:
    return isinstance(known, Beyond) and bool(known.ends) and isinstance(known.value, float) and math.isinf(known.value)


def _sum(a: Integer, b: Known, sign: int) -> Known:
    if not isinstance(b, Beyond) or b.ends or isinstance(b.value, float):
        return None
    number = sign * int(b.value)
    return None if a.is_clipped and number > 0 else a._replace(added=a.added + number)


def _compared(op: type, a: Known, b: Known) -> Known:
    if isinstance(a, Integer) and op is ast.Lt and isinstance(b, Beyond) and not b.ends and b.value == 0:
        return IsNegative(a)
    if isinstance(a, Beyond) and isinstance(b, Beyond):
        return Beyond(a.ends | b.ends, np.bool_(_COMPARISONS[op](a.value, b.value)))
    return None


def _ending_at(ends: Ends, known: Beyond | Carry | EntryOf) -> Known:
    """The same fact from another end on."""
    return Beyond(ends, known.value) if isinstance(known, Beyond) else known._replace(ends=ends)


def _called(name: str, given: list[Known]) -> Known:
    if name in _SELECTS:
        condition, a, b = given
        if isinstance(condition, IsNegative) and b == condition.integer and isinstance(a, Beyond) and not a.ends and a.value == 0:
            return condition.integer._replace(is_clipped=True)
        if isinstance(condition, Beyond):
            chosen = a if condition.value else b
            if isinstance(chosen, Identity):
                return Identity(condition.ends | chosen.ends)
            return _ending_at(condition.ends | chosen.ends, chosen) if isinstance(chosen, (Beyond, Carry, EntryOf)) else None
        if isinstance(a, (Beyond, Carry, EntryOf)) and isinstance(b, type(a)) and a[1] == b[1]:
            return _ending_at(a.ends | b.ends, a)
        return None
    if name == "exists":
        place, length = given
        # Clipped or not: no place is negative.
        if isinstance(place, Range) and place.first >= 0 and isinstance(length, Integer):
            return Beyond(frozenset({(length.storage, length.added - place.first)}), np.bool_(False), np.bool_(True))
        return None
    if name == "equal" and None in given and any(map(_is_infinite, given)):
        return Beyond(next(known for known in given if isinstance(known, Beyond)).ends, np.bool_(False))
    if name == "zero_where_discarded":
        return given[0] if isinstance(given[0], Beyond) and given[0].value == 0 else None
    if name == "fma":
        return _combined(ast.Add, _combined(ast.Mult, given[0], given[1]), given[2])
    values = [known for known in given if isinstance(known, Beyond)]
    if name in PYTHON_FUNCTIONS and len(values) == len(given):
        return Beyond(NO_ENDS.union(*(known.ends for known in values)), _applied(name, [known.value for known in values]))
    return None


@np.errstate(all="ignore")
def _applied(name: str, values: list[Operand]) -> Operand:
    return PYTHON_FUNCTIONS[name](*values)


def _number(value: Operand) -> Operand:
    return np.bool_(value) if isinstance(value, bool) else value
