"""The rounding error of each op: the distance of its result from the exact one, for exact operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..ir.instruction import Instruction, Operand, Params
from .arrays.reductions import CUMSUM, SUM
from .declaration.op import Elementwise, Op, declared_op
from .elementwise.arithmetic import CONVERT
from .matrices.products import CORRELATE, MATMUL

# Results that are no new numbers, or are always floats.
EXACT = frozenset(
    "negative absolute sign floor ceil trunc rint copysign fmod maximum minimum fmax fmin select select_by_jump zero_where_discarded "
    "nan_to_zero_where_discarded stop_gradient random_bits random_unit".split()
)
# The largest error in units of the last place; of other functions SCIPY. docs/accuracy.md has those of tapediff's own.
_BY_ULPS = {
    0.5: "add subtract multiply divide square reciprocal sqrt floor_divide remainder product_or_zero quotient_or_zero",
    1.0: "log log2 log10 hypot cbrt erf",
    1.4: "exp exp2 expm1 log1p power cosh arcsin arccos root",
    1.9: "sin cos tanh sinh expit log_expit softplus logaddexp arctan arctan2 arcsinh arccosh arctanh one_minus_square",
    3.2: "logit tan erfc log_ndtr digamma xlogy xlog1py",
}
ULPS = {name: ulps for ulps, names in _BY_ULPS.items() for name in names.split()}
SCIPY = 10.0


def rounding_error(instruction: Instruction, z: Operand, operands: Sequence[Operand]) -> Operand | None:
    """The largest error of each entry of a result; None where only a backward error is known, as of factorisations."""
    op, params = declared_op(instruction), instruction.params
    unit = 0.5 * float(np.finfo(instruction.type.dtype).eps)
    if op is CONVERT:
        return unit * np.abs(z) if np.asarray(operands[0]).dtype.itemsize > np.asarray(z).dtype.itemsize else 0.0
    if op.moves or op.exact or op.is_view or op.name in EXACT:
        return 0.0
    if isinstance(op, Elementwise):
        # Powers by repeated squaring, each of which doubles the error so far.
        ulps = max(1.4, 0.5 * (abs(params[0]) - 1)) if op.name == "integer_power" else ULPS.get(op.name, SCIPY)
        return np.where(_is_exact(op, operands), 0.0, 2.0 * unit * ulps * np.abs(z))
    return unit * ADDITIONS[op](operands, params) * op.evaluate(*map(np.abs, operands), *params) if op in ADDITIONS else None


def _is_exact(op: Op, operands: Sequence[Operand]) -> Operand:
    """Where arithmetic does not round: powers of two, zeros, and differences of numbers within a factor of two (Sterbenz)."""
    if op.name in ("add", "subtract"):
        x, y = operands[0], operands[1] if op.name == "subtract" else np.negative(operands[1])
        near = (np.multiply(x, y) > 0.0) & (np.abs(x) <= 2.0 * np.abs(y)) & (np.abs(y) <= 2.0 * np.abs(x))
        return near | np.equal(x, 0.0) | np.equal(y, 0.0)
    if op.name in ("multiply", "divide", "reciprocal"):
        powers = [np.abs(np.frexp(x)[0]) == 0.5 for x in operands]
        return powers[0] | powers[1] if op.name == "multiply" else powers[-1]
    return False


def _additions(operands: Sequence[Operand], params: Params) -> float:
    """The number of additions that the terms of a sum go through: eight partial sums along rows, one by one along columns."""
    shape, axes = np.shape(operands[0]), params[0]
    count = int(np.prod([shape[k] for k in axes]))
    return min(count - 1, count / 8 + 3) if len(shape) - 1 in axes else count - 1


ADDITIONS: dict[Op, Callable[[Sequence[Operand], Params], float]] = {
    SUM: _additions,
    CUMSUM: lambda operands, params: np.shape(operands[0])[params[0]],
    MATMUL: lambda operands, params: np.shape(operands[0])[-1],
    CORRELATE: lambda operands, params: min(map(np.size, operands)),
}
