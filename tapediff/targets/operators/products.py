"""Derivatives of every kind, of any target: products with Jacobians and Hessians, and these matrices as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentMismatch, ShapeMismatch
from ...ir.arguments import unwrap
from ...ir.containers import is_container, structured
from ...ir.instruction import is_tracked
from ...ir.outputs import deliver
from ...ir.pytree import parts_of
from ...ir.tape import Tape
from ...recording.bind_call import positional
from ..tapes import matrix_tapes as matrices
from ..tapes import operator_tapes as tapes
from ..evaluate.chosen import Chosen, choose, is_differentiable, leaves_like, name_of, shape_of
from ..evaluate.evaluation import Evaluation, as_number, evaluate, fitting
from ..evaluate.fast_path import Argnums, fast_operator
from ..tapes.operator_tapes import Operator


def by_position(target: Any, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of any target by position."""
    return tuple(positional(target.f if hasattr(target, "tape_for") else target, args, named)) if named else args


def _value(found: Evaluation) -> Any:
    """The function's results, as it returned them."""
    values = found.delivered(found.outputs[: len(found.tape.outputs)])
    return structured(found.tape.result, True, values) if found.tape.returns_tuple else as_number(values[0])


def count_of(vectors: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> int | None:
    """How many tangents or cotangents are given at once: None for one, without an axis for it."""
    given = [np.shape(unwrap(v)) if not is_tracked(v) else v.shape for v in vectors]
    if not given or any(len(g) != len(s) + 1 for g, s in zip(given, shapes)) or len(given) != len(shapes):
        return None
    counts = {g[0] for g in given}
    if len(counts) != 1:
        raise ShapeMismatch("tangents or cotangents differ in how many there are", got=", ".join(map(str, given)),
                            fix="give all of them the same first extent")  # fmt: skip
    return counts.pop()


# Products with vectors


def jvp(target: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Value and Jacobian-vector product: how results change as the arguments move along `tangents`.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        primals: the arguments, a tuple.
        tangents: for each argument an array of its shape, for a container one of its structure, or None for one that does not move;
            with one axis more in front in all arrays, many tangents at once.

    Returns:
        (y, y_dot): both as the function returns them; results that are not floats have tangents of zeros.

    Raises:
        ShapeMismatch: a tangent of another shape than its argument.
        UnsupportedFunction: a rule of td.primitive that is not differentiable itself is on the way.
        GuardFailed: a Tape or CompiledTape was asked for a path that it does not hold.

    Cost: one to three times the function, whatever the size of the arguments.
    Source: the signature is that of jax.jvp; the product is the transpose of the vector-Jacobian product.
    """
    primals, tangents = _pairs(primals, tangents, "td.jvp(f, (x,), (v,))")
    moving = tuple(k for k, v in enumerate(tangents) if v is not None)
    chosen = choose(target, primals, moving)
    vectors = chosen.flat([tangents[k] for k in moving], "a tangent")
    count = count_of([v for v in vectors if v is not None], [s for v, s in zip(vectors, chosen.shapes) if v is not None])
    vectors = [np.zeros(s if count is None else (count, *s)) if v is None else v for v, s in zip(vectors, chosen.shapes)]
    build = lambda wrt: Operator(tapes.jvp_tape, wrt, True, count, len(vectors))  # noqa: E731 -- its name is its use
    found = evaluate(target, primals, moving, build, vectors)
    kept = len(found.tape.outputs)
    return _value(found), _tangents(found.delivered(found.outputs[kept:]), found.tape, count)


def _pairs(primals: Any, tangents: Any, fix: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise ArgumentMismatch(f"{name} must be a tuple with one entry for each argument", got=type(given).__name__, fix=fix)
    if len(primals) != len(tangents):
        raise ArgumentMismatch(
            "there must be one tangent for each argument", got=f"{len(primals)} arguments, {len(tangents)} tangents",
            fix="pass None for one that does not move",
        )  # fmt: skip
    return tuple(primals), tuple(tangents)


def _tangents(found: Sequence[Any], tape: Tape, count: int | None) -> Any:
    """One for each result; zeros for those that are not floats."""
    rest = iter(found)
    # A path that returns an integer is differentiated as one that returns that float.
    one = len(tape.outputs) == 1
    leading = () if count is None else (count,)
    given = [next(rest) if one or t.is_float else np.zeros((*leading, *t.shape)) for t in tape.output_types]
    return structured(tape.result, True, given) if tape.returns_tuple else as_number(given[0])


def vjp(target: Any, *primals: Any) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
    """Value, and the function from cotangents of the results to cotangents of the arguments.

    The function is evaluated once, here, and its guards are checked here; the second half may be called any number of times, also
    later and from other threads.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        primals: the arguments; td.Constant(...) and integers are not differentiated.

    Returns:
        (y, pull): pull(y_bar), for several results pull(y_bar, z_bar) or pull((y_bar, z_bar)), for a container one of its structure. It
            gives a tuple with the cotangent of each
        argument, None for those that are not differentiated. With one axis more in front, many cotangents at once.

    Cost: pull takes one to three times the function, whatever the size of the arguments; what it needs is kept with it.
    Source: the signature is that of jax.vjp.
    """
    return _split(target, primals, tapes.vjp_tape)


def linearize(target: Any, *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Value, and the function from tangents of the arguments to tangents of the results; see td.vjp and td.jvp.

    Returns:
        (y, push): push(*tangents), one for each argument that is differentiated.

    Source: the signature is that of jax.linearize.
    """
    return _split(target, primals, tapes.jvp_tape)


def _split(target: Any, primals: tuple[Any, ...], make: Callable[..., Tape]) -> tuple[Any, Callable[..., Any]]:
    numbers = tuple(k for k, p in enumerate(primals) if is_differentiable(p))
    if not numbers:
        raise ArgumentMismatch(f"{name_of(target)} was given no argument to differentiate with respect to",
                               got=f"{len(primals)} arguments", fix="pass floats or float arrays")  # fmt: skip
    forward = lambda wrt: Operator(tapes.Forward(make), wrt, True)  # noqa: E731 -- its name is its use
    found = evaluate(target, primals, numbers, forward)
    return _value(found), Linear(found, make, choose(target, primals, numbers), len(primals))


class Linear:
    """The second half of a product with a Jacobian: takes the vectors, and may be called any number of times."""

    def __init__(self, found: Evaluation, make: Callable[..., Tape], chosen: Chosen, count: int) -> None:
        self._tape, self._run, self._wrt = found.tape, found.run, found.wrt
        # The caller may write to the arguments and to the value before the vectors come.
        self._residuals = [r if is_tracked(r) else np.array(r) for r in found.outputs[len(found.tape.outputs) :]]
        self._make, self._wanted, self._count = tapes.Backward(make), chosen, count
        self._is_pullback = make is tapes.vjp_tape
        self._types = self._make(self._tape, self._wrt, False).input_types[len(self._residuals) :]

    def __call__(self, *vectors: Any) -> Any:
        given = self._chosen(vectors, len(self._types))
        count = count_of(given, [t.shape for t in self._types])
        operator = Operator(self._make, self._wrt, False, count, len(self._types))
        given = fitting(operator.tape(self._tape), len(self._residuals), given, self._tape.name)
        outputs = self._run(operator, [*self._residuals, *given])
        if not self._is_pullback:
            return _tangents(deliver(outputs, None, True), self._tape, count)
        cotangents: list[Any] = [None] * self._count
        found = [as_number(cotangent) for cotangent in deliver(outputs, None, True)]
        for k, cotangent in zip(self._wanted.numbers, self._wanted.by_argument(found)):
            cotangents[k] = cotangent
        return tuple(cotangents)

    def _chosen(self, vectors: tuple[Any, ...], count: int) -> list[Any]:
        """The vectors without those for results that are not floats."""
        if not self._is_pullback:
            return self._wanted.flat(vectors, "the tangents") if self._wanted.trees is not None else list(vectors)
        results = len(self._tape.outputs)
        if len(vectors) == 1 and self._tape.result is not None:
            vectors = tuple(leaves_like(self._tape.result, vectors[0], "a cotangent"))
        elif len(vectors) == 1 and isinstance(vectors[0], (tuple, list)) and self._tape.returns_tuple:
            vectors = tuple(vectors[0])
        if len(vectors) == results != count:
            return [v for v, t in zip(vectors, self._tape.output_types) if t.is_float]
        return list(vectors)

    def __repr__(self) -> str:
        return f"<{'pullback' if self._is_pullback else 'pushforward'} of {self._tape.name}>"


def hvp(target: Any, x: Any, v: Any, /, *args: Any, argnums: Argnums = 0, out: Any = None, **named: Any) -> Any:
    """Hessian of a scalar function times a vector, without forming the Hessian.

    Args:
        target: function, Tape, CompiledTape or GuardedTape; maps its arguments to a real scalar.
        x: the first argument.
        v: the vector, of the shape of the argument that `argnums` names, for several of them a tuple; with one axis more in front, many.
        args, named: further arguments, by position and by name.
        argnums: which argument to differentiate by; a tuple gives a tuple of products, of the Hessian by all of them.
        out: array (or tuple or container of arrays) that receives the product.

    Returns:
        Array of the shape of v, in the units of f(x) / x.

    Raises:
        NonScalarOutput: the target does not return one real scalar.
        ShapeMismatch: v has another shape than x.
        GuardFailed: a Tape or CompiledTape was asked for a path that it does not hold.

    Cost: about two to three gradients, whatever the size of x.
    Source: Pearlmutter (1994), Neural Computation 6(1); here the gradient of a tape is a tape, whose pullback is taken.
    """
    fast = fast_operator(target, "hvp", argnums, named)
    if fast is not None and (outputs := fast.outputs((x, *args, v), out)) is not None:
        return outputs[0] if out is None else out
    arguments = by_position(target, (x, *args), named)
    found, product, count, _ = _hvp(target, arguments, v, argnums, out, keep=False)
    if count is None:
        found.remember(target, "hvp", argnums, named)
    return product


def value_gradient_and_hvp(
    target: Any, x: Any, v: Any, /, *args: Any, argnums: Argnums = 0, **named: Any
) -> tuple[Any, Any, Any]:
    """Value, gradient, and the Hessian times a vector, computed together; see td.hvp."""
    found, product, _, chosen = _hvp(target, by_position(target, (x, *args), named), v, argnums, None, keep=True)
    value, *gradients = found.delivered(found.outputs[: 1 + len(found.wrt)])
    return as_number(value), chosen.nested(_numbers(chosen, gradients)), product


def _numbers(chosen: Chosen, arrays: Sequence[Any]) -> Sequence[Any]:
    """What is to be nested, with Python's floats where it stands alone or in a container."""
    return arrays if chosen.several and chosen.trees is None else [as_number(array) for array in arrays]


def _hvp(
    target: Any, args: tuple[Any, ...], v: Any, argnums: Argnums, out: Any, keep: bool
) -> tuple[Evaluation, Any, int | None, Chosen]:
    chosen = choose(target, args, argnums)
    vectors = chosen.flat(v, "the vector")
    count = count_of(vectors, chosen.shapes)
    build = lambda wrt: Operator(tapes.hvp_tape, wrt, keep, count, len(vectors))  # noqa: E731 -- its name is its use
    into = out if out is None or chosen.is_plain else chosen.flat(out, "out")
    found = evaluate(target, args, chosen.numbers, build, vectors, into, not chosen.is_plain)
    product = found.delivered(found.outputs[len(found.outputs) - len(vectors) :], into, not chosen.is_plain)
    if not chosen.is_plain:
        product = out if out is not None else chosen.nested(_numbers(chosen, product))
    return found, product, count, chosen


# Matrices


def jacobian(
    target: Any, x: Any, /, *args: Any, argnums: Argnums = 0, mode: str | None = None, out: Any = None, **named: Any
) -> Any:
    """Jacobian of a function from an array of shape S to an array of shape T.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        x, args, named: the point.
        argnums: which argument to differentiate by; a tuple gives a tuple of Jacobians.
        mode: "forward" or "reverse"; unless given, whichever takes fewer sweeps.
        out: array (or tuple of arrays) that receives the Jacobian.

    Returns:
        Array of shape (*T, *S): entry [t, s] is d f[t] / d x[s]. A tuple of these where f returns a tuple.

    Raises:
        NonScalarOutput: the target returns no float.
        ArgumentMismatch: an unknown mode.

    Cost: min(size of T, size of S) sweeps, all in one pass over the tape; entries that are zero at every point are not computed, and
        columns or rows that have no entries at the same places share a sweep.
    """
    fast = fast_operator(target, f"jacobian {mode}", argnums, named)
    if fast is not None and (outputs := fast.outputs((x, *args), out)) is not None:
        return outputs[0] if out is None else out
    if mode not in (None, "forward", "reverse"):
        raise ArgumentMismatch("mode of a Jacobian", got=repr(mode), fix='"forward", "reverse", or None for the cheaper one')
    found, blocks, _ = _matrix(target, by_position(target, (x, *args), named), argnums, out, matrices.jacobian_tape, False, mode)
    if not found.tape.returns_tuple:
        found.remember(target, f"jacobian {mode}", argnums, named)
    return blocks


def value_and_jacobian(
    target: Any, x: Any, /, *args: Any, argnums: Argnums = 0, mode: str | None = None, out: Any = None, **named: Any
) -> tuple[Any, Any]:
    """Value and Jacobian, computed together; see td.jacobian."""
    found, blocks, _ = _matrix(target, by_position(target, (x, *args), named), argnums, out, matrices.jacobian_tape, True, mode)
    return _value(found), blocks


def hessian(target: Any, x: Any, /, *args: Any, argnums: Argnums = 0, out: Any = None, **named: Any) -> Any:
    """Hessian of a scalar function of an array of shape S.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        x, args, named: the point.
        argnums: which argument to differentiate by; a tuple gives a tuple of tuples of blocks.
        out: array that receives the Hessian (a tuple of tuples of arrays for several arguments).

    Returns:
        Array of shape (*S, *S).

    Raises:
        NonScalarOutput: the target does not return one real scalar.

    Cost: as many Hessian-vector products as x has entries, all in one pass over the tape; of sparse Hessians, as many as there are
        groups of columns without entries in the same row.
    """
    fast = fast_operator(target, "hessian", argnums, named)
    if fast is not None and (outputs := fast.outputs((x, *args), out)) is not None:
        return outputs[0] if out is None else out
    found, blocks, _ = _matrix(target, by_position(target, (x, *args), named), argnums, out, matrices.hessian_tape, False, None)
    found.remember(target, "hessian", argnums, named)
    return blocks


def value_gradient_and_hessian(target: Any, x: Any, /, *args: Any, argnums: Argnums = 0, **named: Any) -> tuple[Any, Any, Any]:
    """Value, gradient and Hessian, computed together; see td.hessian."""
    found, blocks, chosen = _matrix(target, by_position(target, (x, *args), named), argnums, None, matrices.hessian_tape, True, None)
    value, *gradients = found.delivered(found.outputs[: 1 + len(found.wrt)])
    return as_number(value), chosen.nested(_numbers(chosen, gradients)), blocks


def _matrix(
    target: Any, args: tuple[Any, ...], argnums: Argnums, out: Any, make: Callable[..., Tape], keep: bool, mode: str | None
) -> tuple[Evaluation, Any, Chosen]:
    """The blocks of a matrix, nested as JAX nests them: by result, where there are several, then by argument, where there are."""
    chosen = choose(target, args, argnums)
    build = lambda wrt: Operator(make, wrt, keep, mode=mode)  # noqa: E731 -- its name is its use
    flat = None if out is None else _flat(out)
    found = evaluate(target, args, chosen.numbers, build, (), flat, True)
    is_hessian = make is matrices.hessian_tape
    count = len(found.wrt)
    kept = (1 + count if is_hessian else len(found.tape.outputs)) * keep
    blocks = found.delivered(found.outputs[kept:], flat, True)
    if out is not None:
        return found, out, chosen
    rows = [chosen.nested(blocks[k : k + count]) for k in range(0, len(blocks), count)]
    if is_hessian:
        return found, chosen.nested(rows), chosen
    return found, structured(found.tape.result, found.tape.returns_tuple, rows), chosen


def _flat(out: Any) -> list[Any]:
    """The caller's blocks, in order: nested as the result is."""
    found = parts_of(out)
    return [out] if found is None else [array for part in found[2] for array in _flat(part)]


# Functions of a number


def derivative(target: Any, x: Any, /, *args: Any, **named: Any) -> Any:
    """Derivative of a function of one number, which may return anything.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        x: the number; further arguments follow, by position or name.

    Returns:
        As the function returns: a number, an array, or a tuple of these.

    Raises:
        ShapeMismatch: x is no number.

    Cost: one to three times the function.
    """
    return value_and_derivative(target, x, *args, **named)[1]


def value_and_derivative(target: Any, x: Any, /, *args: Any, **named: Any) -> tuple[Any, Any]:
    """Value and derivative of a function of one number, computed together; see td.derivative."""
    arguments = by_position(target, (x, *args), named)
    _require_number(target, arguments[0])
    return jvp(target, arguments, (1.0, *(None,) * (len(arguments) - 1)))


def second_derivative(target: Any, x: Any, /, *args: Any, **named: Any) -> Any:
    """Second derivative of a function of one number; see td.derivative."""
    return value_derivative_and_second_derivative(target, x, *args, **named)[2]


def value_derivative_and_second_derivative(target: Any, x: Any, /, *args: Any, **named: Any) -> tuple[Any, Any, Any]:
    """Value, derivative and second derivative of a function of one number, computed together; see td.derivative."""
    arguments = by_position(target, (x, *args), named)
    _require_number(target, arguments[0])
    found = evaluate(target, arguments, (0,), lambda wrt: Operator(tapes.second_tape, wrt, True))
    first = len(found.tape.outputs)
    count = (len(found.outputs) - first) // 2
    return (
        _value(found), _tangents(found.delivered(found.outputs[first : first + count]), found.tape, None),
        _tangents(found.delivered(found.outputs[first + count :]), found.tape, None),
    )  # fmt: skip


def _require_number(target: Any, x: Any) -> None:
    if is_container(x) or shape_of(x) != ():
        got = type(x).__name__ if is_container(x) else f"shape {shape_of(x)}"
        raise ShapeMismatch(f"the argument of {name_of(target)} is no number", got=got,
                            fix="td.gradient or td.jacobian of a function of an array")  # fmt: skip


class OperatorMethods:
    """The operators as methods of a target."""

    __slots__ = ()

    def jacobian(self, x: Any, /, *args: Any, **options: Any) -> Any:
        """See td.jacobian."""
        return jacobian(self, x, *args, **options)

    def value_and_jacobian(self, x: Any, /, *args: Any, **options: Any) -> tuple[Any, Any]:
        """See td.value_and_jacobian."""
        return value_and_jacobian(self, x, *args, **options)

    def hessian(self, x: Any, /, *args: Any, **options: Any) -> Any:
        """See td.hessian."""
        return hessian(self, x, *args, **options)

    def value_gradient_and_hessian(self, x: Any, /, *args: Any, **options: Any) -> tuple[Any, Any, Any]:
        """See td.value_gradient_and_hessian."""
        return value_gradient_and_hessian(self, x, *args, **options)

    def hvp(self, x: Any, v: Any, /, *args: Any, **options: Any) -> Any:
        """See td.hvp."""
        return hvp(self, x, v, *args, **options)

    def value_gradient_and_hvp(self, x: Any, v: Any, /, *args: Any, **options: Any) -> tuple[Any, Any, Any]:
        """See td.value_gradient_and_hvp."""
        return value_gradient_and_hvp(self, x, v, *args, **options)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """See td.jvp."""
        return jvp(self, primals, tangents)

    def vjp(self, *primals: Any) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        """See td.vjp."""
        return vjp(self, *primals)

    def linearize(self, *primals: Any) -> tuple[Any, Callable[..., Any]]:
        """See td.linearize."""
        return linearize(self, *primals)

    def derivative(self, x: Any, /, *args: Any, **named: Any) -> Any:
        """See td.derivative."""
        return derivative(self, x, *args, **named)

    def value_and_derivative(self, x: Any, /, *args: Any, **named: Any) -> tuple[Any, Any]:
        """See td.value_and_derivative."""
        return value_and_derivative(self, x, *args, **named)

    def second_derivative(self, x: Any, /, *args: Any, **named: Any) -> Any:
        """See td.second_derivative."""
        return second_derivative(self, x, *args, **named)
