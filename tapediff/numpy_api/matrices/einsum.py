"""numpy.einsum as transpositions, sums, broadcast products and matrix products, operand by operand from the left."""

from __future__ import annotations

import math
import operator
import string
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from ...ir.instruction import BOOL, Operand, is_tracked
from ...ops.arrays.shape import reshape
from ...ops.matrices.products import MATMUL
from ..kinds import converted
from .products import as_value_or_tracked

_ALPHABET = string.ascii_uppercase + string.ascii_lowercase

# Labels for the axes of an ellipsis, from the last one backwards; not valid as subscripts.
_ELLIPSIS_LABELS = tuple(chr(k) for k in range(0x2460, 0x2480))


def einsum(
    *subscripts_and_operands: Operand, optimize: object = False, dtype: DTypeLike | None = None, order: str = "K", casting: str = "safe"
) -> Operand:
    """np.einsum. `optimize` is ignored: products are taken from the left, each as a matrix product if possible."""
    subscripts, operands = _as_text(subscripts_and_operands)
    values = [as_value_or_tracked(operand) for operand in operands]
    if dtype is not None:
        values = [converted(v, dtype) if is_tracked(v) else v.astype(dtype) for v in values]
    labels, output = _parsed(subscripts.replace(" ", ""), [np.shape(value) for value in values])
    terms = [_term(value, names, values, labels) for value, names in zip(values, labels)]
    total, names = _without(*terms[0], output + "".join(names for _, names in terms[1:]))
    for k, (value, others) in enumerate(terms[1:], 2):
        needed = output + "".join(later for _, later in terms[k:])
        total, names = _product(total, names, *_without(value, others, names + needed), needed)
    if total.dtype != BOOL and all(value.dtype == BOOL for value in values):
        total = total != 0  # the sum of masks is their `any`
    return np.transpose(total, [names.index(label) for label in output]) if names != output else total[...]


def _as_text(given: tuple[Operand, ...]) -> tuple[str, Sequence[Operand]]:
    """The subscripts as text and the operands; converts the form (operand, axes, ..., axes of the result)."""
    if isinstance(given[0], str):
        return given[0], given[1:]
    pairs, result = (given, None) if len(given) % 2 == 0 else (given[:-1], given[-1])
    terms = [_letters(axes) for axes in pairs[1::2]]
    if result is not None:
        return f"{','.join(terms)}->{_letters(result)}", pairs[::2]
    # Without a list for the result, its axes are those that appear once, in numerical order, which the letters keep.
    return ",".join(terms), pairs[::2]


def _letters(axes: Sequence[Operand]) -> str:
    return "".join("..." if axis is Ellipsis else _ALPHABET[operator.index(axis)] for axis in axes)


def _parsed(text: str, shapes: list[tuple[int, ...]]) -> tuple[list[str], str]:
    """The labels of each operand's axes and of the result's."""
    given, arrow, output = text.partition("->")
    terms = given.split(",")
    if len(terms) != len(shapes):
        raise ValueError(f"einsum: {len(terms)} operands in the subscripts {text!r}, and {len(shapes)} arrays")
    longest = 0
    labels: list[str] = []
    for term, shape in zip(terms, shapes):
        extra = len(shape) - len(term.replace("...", ""))
        if extra < 0 or (extra and "..." not in term) or extra > len(_ELLIPSIS_LABELS):
            raise ValueError(f"einsum: the subscripts {term!r} do not fit an array of shape {shape}")
        longest = max(longest, extra if "..." in term else 0)
        labels.append(_spelled(term, extra))
    if not arrow:
        letters = "".join(term.replace("...", "") for term in terms)
        output = "..." * ("..." in given) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    result = _spelled(output, longest)
    if len(set(result)) < len(result) or not set(result) <= set("".join(labels)):
        raise ValueError(f"einsum: the result {output!r} repeats a subscript, or has one that no operand has")
    if not all(c.isalpha() and c.isascii() for c in text.replace("->", "").replace(",", "").replace("...", "")):
        raise ValueError(f"einsum: the subscripts {text!r} are not all letters")
    return labels, result


def _spelled(term: str, extra: int) -> str:
    return term.replace("...", "".join(reversed(_ELLIPSIS_LABELS[:extra])))


def _term(value: Operand, names: str, values: list[Operand], labels: list[str]) -> tuple[Operand, str]:
    """An operand with each label once, and without axes of length 1 that other operands broadcast."""
    for label in dict.fromkeys(names):
        while names.count(label) > 1:
            first = names.index(label)
            second = names.index(label, first + 1)
            if np.shape(value)[first] != np.shape(value)[second]:
                raise ValueError(f"einsum: the axes {label!r} of one operand differ in length")
            value = np.diagonal(value, axis1=first, axis2=second)
            names = names[:first] + names[first + 1 : second] + names[second + 1 :] + label
    extents = {
        name: {np.shape(v)[k] for v, row in zip(values, labels) for k, c in enumerate(row) if c == name}
        for name in names
    }
    for name, lengths in extents.items():
        if len(lengths - {1}) > 1:
            raise ValueError(f"einsum: the axes {name!r} have the lengths {sorted(lengths)}")
    stretched = [k for k, name in enumerate(names) if np.shape(value)[k] == 1 and extents[name] != {1}]
    kept = [k for k in range(len(names)) if k not in stretched]
    return reshape(value, tuple(np.shape(value)[k] for k in kept)), "".join(names[k] for k in kept)


def _without(value: Operand, names: str, needed: str) -> tuple[Operand, str]:
    """Sum a value over the labels that nothing else needs."""
    axes = tuple(k for k, name in enumerate(names) if name not in needed)
    return (np.sum(value, axis=axes), "".join(n for n in names if n in needed)) if axes else (value, names)


def _product(x: Operand, x_names: str, y: Operand, y_names: str, needed: str) -> tuple[Operand, str]:
    """The product of two values, summed over the axes that both have and no later operand or result needs."""
    shared = [n for n in x_names if n in y_names and n not in needed]
    batch = [n for n in x_names if n in y_names and n in needed]
    rows = [n for n in x_names if n not in y_names]
    columns = [n for n in y_names if n not in x_names]
    if shared and (not batch or (rows and columns)):
        left = _arranged(x, x_names, (batch, rows, shared), drops_rows=not rows)
        right = _arranged(y, y_names, (batch, shared, columns), drops_columns=not columns)
        names = [*batch, *rows, *columns]
        lengths = dict(zip(x_names + y_names, np.shape(x) + np.shape(y)))
        return reshape(MATMUL(left, right), tuple(lengths[n] for n in names)), "".join(names)
    names = "".join([*batch, *rows, *columns, *shared])
    return _without(_aligned(x, x_names, names) * _aligned(y, y_names, names), names, needed)


def _arranged(
    value: Operand, names: str, parts: tuple[list[str], list[str], list[str]], *, drops_rows: bool = False, drops_columns: bool = False
) -> Operand:  # fmt: skip
    """Permute the axes to the order of the parts, and merge each of the last two parts to one axis, which `drops_...` omits."""
    batch, first, second = parts
    turned = np.transpose(value, [names.index(n) for n in (*batch, *first, *second)])
    lengths = dict(zip(names, np.shape(value)))
    shape = [lengths[n] for n in batch]
    shape += [] if drops_rows else [math.prod(lengths[n] for n in first)]
    shape += [] if drops_columns else [math.prod(lengths[n] for n in second)]
    return reshape(turned, tuple(shape))


def _aligned(value: Operand, names: str, wanted: str) -> Operand:
    """Permute the axes to the wanted order, with length 1 for missing labels."""
    turned = np.transpose(value, sorted(range(len(names)), key=lambda k: wanted.index(names[k])))
    lengths = dict(zip(names, np.shape(value)))
    return reshape(turned, tuple(lengths.get(n, 1) for n in wanted))
