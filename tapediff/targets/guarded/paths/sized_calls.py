"""Kernels of tapes that serve many sizes, called with the arrays of a call: these are grown to the tape's, and gradients cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ....compiler.runtime.call_frame import widened
from ....ir.instruction import FLOAT64, FLOAT_SCALAR, Tree
from ....recording.arguments.size_arguments import NEVER, SizeArguments, SizesOfCalls
from ...evaluate.direct_calls import DirectKernel, NoForm
from ..keyed_call import KeyedCall

if TYPE_CHECKING:
    from ...native.paths import PathsCall


# Calls with more sizes go through Python.
MOST_SIZES = 64


def sized(
    found: DirectKernel, call: KeyedCall, sizes: SizeArguments, numbers: Sequence[int], paths: PathsCall | None,
    refusing: Callable[[Callable[..., Tree]], Callable[..., Tree]],
) -> DirectKernel:  # fmt: skip
    """A kernel of a tape for many sizes, called with the arrays of a call.

    Args:
        numbers: the inputs that are differentiated, one for each output.
        paths: the call of the kernels, if native code can make it.
        refusing: makes a function refuse calls that need a check.

    Raises:
        NoForm: calls of this form take the full path.
    """
    plain, extents = call.in_own_sizes
    types, varying = found.kernel.written_types, {number for number, _, _ in extents.axes}
    alike = {k: number for k, number in enumerate(numbers) if number in varying}
    if paths is None or len(extents.largest) > MOST_SIZES or any(types[k].dtype != FLOAT64 for k in alike):
        raise NoForm
    key = tuple(alike.items())
    if key not in paths.sized:
        paths.sized.setdefault(key, refusing(_natively(paths, call, sizes.calls_like(plain), alike)))
    return found._replace(run=paths.sized[key], alike=alike)


def _natively(paths: PathsCall, call: KeyedCall, sizes: SizesOfCalls, alike: Mapping[int, int]) -> Callable[..., Tree]:
    """A builtin that calls the kernels with the arrays of a call.

    Args:
        sizes: of such calls.
        alike: by the number of an output that is cut, the number of the input whose shape it has.
    """
    # Imported with the first kernel, so that `import tapediff` stays fast.
    from ....compiler.runtime.entries.sized_entry import SizedBuiltin, SizedCall
    from ....compiler.runtime.python_api import of_size

    plain, extents = call.in_own_sizes
    count, types, outputs = len(plain.inputs), list(map(widened, paths.inputs)), list(map(widened, paths.outputs))
    returns_value = bool(outputs) and outputs[0] == FLOAT_SCALAR
    inputs, written = [*types[:count], *types[count + len(extents.largest) :]], outputs[returns_value:]
    shapes = [[*type_.shape] for type_ in inputs]
    for number, axis, size in extents.axes:
        shapes[number][axis] = of_size(size)
    shapes += [shapes[alike[k]] if k in alike else [*type_.shape] for k, type_ in enumerate(written)]
    sized = SizedCall(inputs, written, count, returns_value, list(map(tuple, shapes)), sizes.ranges(extents), sizes.called)
    builtin = SizedBuiltin(paths.address, sized, paths)

    def tell() -> None:
        builtin.leave_in_place(_short(call, paths))
        if reads_what_exists(call, paths):
            # A tape of its own would hardly be faster.
            sizes.called[0] = NEVER

    tell()
    paths.told.append(tell)
    return builtin.function


def _short(call: KeyedCall, paths: PathsCall) -> list[int]:
    """The inputs of which kernels read no more than there is."""
    plain, extents = call.in_own_sizes
    rows = {number: (axis, len(plain.inputs) + size) for number, axis, size in extents.axes}
    several = [number for number, _, _ in extents.axes]
    return [k for k, size in paths.short() if several.count(k) == 1 and rows.get(k) == (0, size)]


def reads_what_exists(call: KeyedCall, paths: PathsCall) -> bool:
    """True if kernels end where the data end, as they read no more of any array."""
    return {number for number, _, _ in call.in_own_sizes[1].axes} == {*_short(call, paths)}


def cut(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The first entries of an array along each axis."""
    return array if array.shape == shape else array[tuple(map(slice, shape))]
