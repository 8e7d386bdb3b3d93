"""Direct calls of a tape that serves many sizes: arrays are grown to its largest ones, and gradients cut to those of the call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....compiler.runtime.status import PENDING
from ....ir.instruction import FLOAT64, INT64, Operand, Tree
from ....recording.arguments.size_arguments import Shapes, SizesOfCalls, grown
from ...evaluate.call_code import leaves_of, raise_pending
from ...evaluate.direct_calls import AskedFor, DirectKernel, NoForm
from ..keyed_call import KeyedCall

Nested = Callable[[Sequence[Operand]], Tree]


class SizedCall:
    """Calls of one form, each for the sizes of its arrays. Returns None where the full path has to answer, as direct calls do.

    Args:
        asked: the first of them, which the kernel has answered.
        call: the same, as it was bound.
        found: the kernel.
        sizes: decides which tape answers a call.
        nested: gives the gradients the structure of the result; None for the value alone.
        has_out: the last argument is the array for the gradient.

    Raises:
        NoForm: calls of this form take the full path.
    """

    __slots__ = (
        "_dtypes",
        "_extents",
        "_has_out",
        "_leaves",
        "_nested",
        "_numbers",
        "_run",
        "_sizes",
        "_written",
        "specification",
    )

    def __init__(
        self, asked: AskedFor, call: KeyedCall, found: DirectKernel, sizes: SizesOfCalls, nested: Nested | None, has_out: bool
    ) -> None:  # fmt: skip
        plain, extents = call.bound.plain, call.extents
        assert plain is not None
        assert extents is not None
        kernel, numbers = found.kernel, () if nested is None else call.bound.argnums
        is_exact = (
            all(t.dtype == FLOAT64 for t in kernel.output_types)
            and kernel.returns_value
            and len(kernel.written_types) == len(numbers)
        )
        if (
            asked.named
            or tuple(asked.arguments) != tuple(range(len(asked.args)))
            or not is_exact
            or found.guard is not None
        ):
            raise NoForm
        sized = sorted({number for number, _, _ in extents.axes})
        self._dtypes = [(number, plain.inputs[number].dtype, plain.inputs[number].ndim) for number in sized]
        self._leaves, self._run, self._sizes, self._extents = leaves_of(found.forms), found.run, sizes, extents
        self._nested, self._has_out, self._numbers = nested, has_out, numbers
        self._written = [t.shape for t in kernel.written_types]
        self.specification = (found.run, extents, found.forms, numbers, has_out)

    def __call__(self, args: tuple[Tree, ...]) -> Tree:
        out = None
        if self._has_out:
            *args, out = args
        leaves = self._leaves(tuple(args))
        if leaves is None:
            return None
        for number, dtype, ndim in self._dtypes:
            array = leaves[number]
            if type(array) is not np.ndarray or array.dtype != dtype or array.ndim != ndim:
                return None
        shapes: Shapes = tuple([leaf.shape if type(leaf) is np.ndarray else () for leaf in leaves])
        if self._has_out and not _fits(out, shapes[self._numbers[0]]):
            return None
        if self._sizes.extents(shapes) != self._extents:
            return None
        gradients = [np.empty(shape) for shape in self._written]
        sizes = [np.array(size, INT64) for size in self._extents.sizes(shapes)]
        value = self._run(*grown(leaves, shapes, self._extents), *sizes, *gradients)
        if type(value) is not float:
            if value == PENDING:
                raise_pending()
            return None
        return value if self._nested is None else (value, self._gradient(gradients, shapes, out))

    def _gradient(self, gradients: Sequence[np.ndarray], shapes: Shapes, out: Tree) -> Tree:
        found = [first_entries(gradient, shapes[k]) for gradient, k in zip(gradients, self._numbers)]
        if out is not None:
            out[...] = found[0]
            return out
        assert self._nested is not None
        return self._nested(
            [np.array(each) if each.base is not None else each if each.shape else each[()] for each in found]
        )


def first_entries(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The first entries of an array along each axis."""
    return array if array.shape == shape else array[tuple(map(slice, shape))]


def _fits(out: Tree, shape: tuple[int, ...]) -> bool:
    """True if an array can take a gradient; the full path raises the errors."""
    return type(out) is np.ndarray and out.shape == shape and out.dtype == FLOAT64 and out.flags.writeable
