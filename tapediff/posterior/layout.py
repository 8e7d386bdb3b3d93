"""The layout of the unconstrained vector: the slice of each parameter, and the transforms of all values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from ..errors import PosteriorError
from .parameters import Parameter
from .transforms import Array, Shape, Transform


@dataclass(frozen=True, slots=True)
class Block:
    """One parameter's part of the vector.

    Attributes:
        name: of the parameter.
        parameter: its declaration.
        shape: of its value.
        unconstrained_shape: of its part of the vector.
        part: its slice of the vector.
    """

    name: str
    parameter: Parameter
    shape: Shape
    unconstrained_shape: Shape
    part: slice


@dataclass(frozen=True, slots=True)
class Layout:
    """All parameters, in the order of their declaration."""

    blocks: tuple[Block, ...]
    size: int

    def constrain(self, u: Array, given: Mapping[str, Array] | None = None) -> tuple[dict[str, Array], Array | float]:
        """The values at one unconstrained vector, and the log-Jacobian determinant; recorded if u is tracked.

        Args:
            given: values of other parameters, on which bounds may depend; returned as well.
        """
        if np.shape(u) != (self.size,):
            fix = "post.unconstrain({...}) makes one of values"
            raise PosteriorError(f"an unconstrained point has shape {(self.size,)}", got=f"shape {np.shape(u)}", fix=fix)
        values: dict[str, Array] = dict(given or {})
        total: Array | float = 0.0
        for block in self.blocks:
            part = (
                u[block.part].reshape(block.unconstrained_shape) if block.unconstrained_shape else u[block.part.start]
            )
            values[block.name], log_jacobian = _constrained(block, block.parameter.transform_at(values), part)
            total = total + log_jacobian
        return values, total

    def constrain_rows(self, u: Array) -> dict[str, Array]:
        """The values at unconstrained vectors along the last axis of a plain array; its other axes lead."""
        if any(block.parameter.bounded for block in self.blocks):  # user functions, which take one point each
            rows = [self.constrain(row)[0] for row in u.reshape(-1, self.size)]
            return {
                block.name: np.array([row[block.name] for row in rows]).reshape((*u.shape[:-1], *block.shape)) for block in self.blocks
            }  # fmt: skip
        parts = {b.name: u[..., b.part].reshape((*u.shape[:-1], *b.unconstrained_shape)) for b in self.blocks}
        return {b.name: np.asarray(b.parameter.transform.constrain(parts[b.name])[0]) for b in self.blocks}

    def unconstrain(self, values: Mapping[str, object]) -> Array:
        """The unconstrained vector of plain values."""
        unknown, missing = set(values) - {b.name for b in self.blocks}, {b.name for b in self.blocks} - set(values)
        if unknown or missing:
            raise PosteriorError(
                f"the parameters are {', '.join(b.name for b in self.blocks)}", got=_differences(unknown, missing), fix="give each once"
            )
        u = np.empty(self.size)
        arrays = {name: np.asarray(value, dtype=np.float64) for name, value in values.items()}
        for block in self.blocks:
            x = arrays[block.name]
            if x.shape != block.shape:
                raise PosteriorError(f"parameter {block.name!r} has shape {block.shape}", got=f"shape {x.shape}", fix="give that shape")
            transform = block.parameter.transform_at(arrays)
            wrong = "not finite" if not np.all(np.isfinite(x)) else transform.violation(x)
            if wrong:
                what = f"parameter {block.name!r} is declared td.{transform.name}(...), and the value given is {wrong}"
                raise PosteriorError(what, got=x, fix="a value inside, or another declaration")
            u[block.part] = transform.unconstrain(x).ravel()
        return u


def lay_out(parameters: Mapping[str, Parameter], lengths: Mapping[str, int]) -> Layout:
    """Concatenate these parameters in one vector."""
    blocks: list[Block] = []
    start = 0
    for name, parameter in parameters.items():
        later = parameter.depends_on() - {block.name for block in blocks}
        if later:
            raise PosteriorError(f"the bounds of {name!r} depend on others", got=later, fix=f"declare that before {name!r}")
        shape = parameter.of_shape(name, lengths)
        unconstrained = parameter.transform.unconstrained_shape(shape)
        blocks.append(Block(name, parameter, shape, unconstrained, slice(start, start + prod(unconstrained))))
        if not parameter.bounded:
            _constrained(blocks[-1], parameter.transform, np.ones(unconstrained))
        start += prod(unconstrained)
    return Layout(tuple(blocks), start)


def _constrained(block: Block, transform: Transform, part: Array) -> tuple[Array, Array | float]:
    """The value and the log-Jacobian. Bounds of another shape would change that of the value."""
    try:
        x, log_jacobian = transform.constrain(part)
        shape = np.shape(x)
    except ValueError as error:  # NumPy's, of shapes that do not broadcast
        x, log_jacobian, shape = part, 0.0, str(error)
    if shape != block.shape:
        raise PosteriorError(f"the bounds of {block.name!r} do not broadcast to its shape {block.shape}", got=shape,
                             fix="give the shape of the bounds: td.lower(bound, np.shape(bound))")  # fmt: skip
    return x, log_jacobian


def scalar_names(name: str, shape: Shape) -> Iterator[str]:
    """name, or name[i,j] for each entry in C order, counted from 0."""
    for index in np.ndindex(shape):
        yield f"{name}[{','.join(map(str, index))}]" if index else name


def _differences(unknown: set[str], missing: set[str]) -> str:
    parts = [
        f"{what}: {', '.join(sorted(names))}"
        for what, names in (("missing", missing), ("not among them", unknown))
        if names
    ]
    return "; ".join(parts)
