"""Kernels of tapes that serve many sizes, called with the arrays of a call: these are grown to the tape's, and gradients cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....base.records import dataclass
from ....compiler.runtime.status import REFUSED
from ....ir.instruction import FLOAT64, INT64, Tree
from ....recording.arguments.size_arguments import Extents, SizeArguments, SizesOfCalls, grown
from ...evaluate.direct_calls import DirectKernel, NoForm
from ..keyed_call import KeyedCall


@dataclass(frozen=True, slots=True)
class SizedRun:
    """Calls a kernel as DirectKernel.run; REFUSED where another tape, or the full path, has to answer.

    Attributes:
        run: the kernel, of arrays of the largest sizes.
        extents, sizes: decide which sizes it answers.
        count: the number of the function's inputs.
        sized: the inputs that are grown, with their dtypes and numbers of axes.
        outputs: the number of outputs.
        cut: of each output that is cut: its number, the shape that the kernel writes, and the input whose shape it has.
    """

    run: Callable[..., Tree]
    extents: Extents
    sizes: SizesOfCalls
    count: int
    sized: tuple[tuple[int, np.dtype, int], ...]
    outputs: int
    cut: tuple[tuple[int, tuple[int, ...], int], ...]

    def __call__(self, *values: Tree) -> Tree:
        given, rest = values[: self.count], [*values[self.count :]]
        for number, dtype, ndim in self.sized:
            array = given[number]
            if type(array) is not np.ndarray or array.dtype != dtype or array.ndim != ndim:
                return REFUSED
        shapes = tuple([value.shape if type(value) is np.ndarray else () for value in given])
        if self.sizes.extents(shapes) != self.extents:
            return REFUSED
        first = len(rest) - self.outputs
        results = [(rest[first + k], np.empty(shape), shapes[number]) for k, shape, number in self.cut]
        for (k, _, _), (out, written, shape) in zip(self.cut, results):
            if type(out) is not np.ndarray or out.shape != shape or out.dtype != FLOAT64 or not out.flags.writeable:
                return REFUSED
            rest[first + k] = written
        sizes = [np.array(size, INT64) for size in self.extents.sizes(shapes)]
        status = self.run(*grown(given, shapes, self.extents), *sizes, *rest)
        if type(status) is float:
            for out, written, shape in results:
                out[...] = cut(written, shape)
        return status


def sized(found: DirectKernel, call: KeyedCall, sizes: SizeArguments, numbers: Sequence[int]) -> DirectKernel:
    """A kernel of a tape for many sizes, called with the arrays of a call.

    Args:
        numbers: the inputs that are differentiated, one for each output.

    Raises:
        NoForm: calls of this form take the full path.
    """
    plain, extents = call.bound.plain, call.extents
    assert plain is not None
    assert extents is not None
    types = found.kernel.written_types
    varying = sorted({number for number, _, _ in extents.axes})
    kinds = tuple([(k, plain.inputs[k].dtype, plain.inputs[k].ndim) for k in varying])
    longer = tuple([(k, types[k].shape, number) for k, number in enumerate(numbers) if number in varying])
    if any(types[k].dtype != FLOAT64 for k, _, _ in longer):
        raise NoForm
    run = SizedRun(found.run, extents, sizes.calls_like(plain), len(plain.inputs), kinds, len(types), longer)
    return found._replace(run=run, alike={k: number for k, _, number in longer})


def cut(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The first entries of an array along each axis."""
    return array if array.shape == shape else array[tuple(map(slice, shape))]
