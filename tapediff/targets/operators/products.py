"""Products with Jacobians: pushforwards and pullbacks, at once or split into a forward pass and any number of products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...errors import ArgumentMismatch, ShapeMismatch
from ...ir.arguments import Constant, as_float_array, chosen_arguments, unwrap
from ...ir.containers import is_container, outputs_among, structured
from ...ir.instruction import Operand, Target, Tree, is_tracked
from ...ir.outputs import as_number, deliver
from ...ir.tape import Tape
from ..evaluate.chosen import Chosen, choose, is_differentiable, leaves_like, name_of
from ..evaluate.evaluation import Evaluation, evaluate, fitting
from ..evaluate.fast_path import FIRST, Argnums
from ..evaluate.request import Request, function_of, requested
from ..tapes import operator_tapes as tapes
from ..tapes.operator_tapes import Operator


def count_of(vectors: Sequence[Operand], shapes: Sequence[tuple[int, ...]]) -> int | None:
    """How many tangents or cotangents are given at once: None for one, without an axis for it."""
    given = [np.shape(unwrap(v)) if not is_tracked(v) else v.shape for v in vectors]
    if not given or any(len(g) != len(s) + 1 for g, s in zip(given, shapes)) or len(given) != len(shapes):
        return None
    counts = {g[0] for g in given}
    if len(counts) != 1:
        raise ShapeMismatch("tangents or cotangents differ in how many there are", got=", ".join(map(str, given)),
                            fix="give all of them the same first extent")  # fmt: skip
    return counts.pop()


def jvp(target: Target, primals: Sequence[Tree], tangents: Sequence[Tree], *, argnums: Argnums | None = None, **named: Tree) -> Tree:
    """Value and Jacobian-vector product: how results change as the arguments move along `tangents`.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        primals: the arguments, a tuple.
        tangents: for each argument an array of its shape, for a container one of its structure, or None for one that does not move;
            with one axis more in front in all arrays, many tangents at once. td.Output arguments have none.
        argnums: the arguments that move; the tangents are of these alone. argnames= names them.
        named: further arguments by name; has_aux=True, where the function returns (y, aux).

    Returns:
        (y, y_dot): both as the function returns them; results that are not floats have tangents of zeros. (y, y_dot, aux) with has_aux.

    Raises:
        ShapeMismatch: a tangent of another shape than its argument.
        UnsupportedFunction: a rule of td.primitive that is not differentiable itself is on the way.
        GuardFailed: a Tape or CompiledTape was asked for a path that it does not hold.

    Cost: one to three times the function, whatever the size of the arguments.
    Source: the signature is that of jax.jvp; the product is the transpose of the vector-Jacobian product.
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise ArgumentMismatch(f"{name} must be a tuple with one entry for each argument", got=type(given).__name__,
                                   fix="td.jvp(f, (x,), (v,))")  # fmt: skip
    asked = requested(target, tuple(primals), FIRST if argnums is None else argnums, named)
    is_chosen = argnums is not None or named.get("argnames") is not None
    moving = _numbers(target, asked) if is_chosen else tuple(range(len(primals)))
    outputs = outputs_among(primals)
    if outputs and len(tangents) == len(moving) - len(outputs):
        moving = tuple(k for k in moving if k not in outputs)
    if len(tangents) != len(moving):
        raise ArgumentMismatch(
            "there must be one tangent for each argument" + " that argnums names" * is_chosen,
            got=f"{len(moving)} arguments, {len(tangents)} tangents", fix="pass None for one that does not move",
        )  # fmt: skip
    moved = [(k, v) for k, v in zip(moving, tangents) if v is not None]
    found, y_dot = pushed(target, asked, tuple(k for k, _ in moved), [v for _, v in moved])
    return (found.value(), y_dot, found.aux()) if asked.has_aux else (found.value(), y_dot)


def _numbers(target: Target, asked: Request) -> tuple[int, ...]:
    return chosen_arguments(asked.argnums, len(asked.args), name_of(target))[0]


def pushed(target: Target, asked: Request, moving: tuple[int, ...], tangents: Sequence[Tree]) -> tuple[Evaluation, Tree]:
    """A call evaluated as some of its arguments move, and the tangents of its results."""
    chosen = choose(target, asked.args, moving, asked.wrt)
    vectors = chosen.flat(tangents, "a tangent")
    count = count_of([v for v in vectors if v is not None], [s for v, s in zip(vectors, chosen.shapes) if v is not None])
    vectors = [np.zeros(s if count is None else (count, *s)) if v is None else v for v, s in zip(vectors, chosen.shapes)]
    build = lambda wrt: Operator(  # noqa: E731 -- its name is its use
        tapes.jvp_tape, wrt, True, count, len(vectors), has_aux=asked.has_aux, parts=chosen.parts
    )
    found = evaluate(target, asked.args, moving, build, vectors, has_aux=asked.has_aux)
    kept = len(found.tape.outputs)
    return found, tangents_as_returned(found.delivered(found.outputs[kept:]), found.tape, count)


def tangents_as_returned(found: Sequence[Operand], tape: Tape, count: int | None) -> Tree:
    """One for each result; zeros for those that are not floats."""
    rest = iter(found)
    # A path that returns an integer is differentiated as one that returns that float.
    one = tape.value_count == 1
    leading = () if count is None else (count,)
    given = [next(rest) if one or t.is_float else np.zeros((*leading, *t.shape)) for t in tape.output_types[: tape.value_count]]
    return structured(tape.result, True, given) if tape.returns_tuple else as_number(given[0])


def vjp(target: Target, /, *primals: Tree, argnums: Argnums | None = None, **named: Tree) -> Tree:
    """Value, and the function from cotangents of the results to cotangents of the arguments.

    The function is evaluated once, here, and its guards are checked here; the second half may be called any number of times, also
    later and from other threads.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        primals: the arguments; td.Constant(...) and integers are not differentiated.
        argnums: the arguments to differentiate with respect to; unless given, all of floats. argnames= names them.
        named: further arguments by name; has_aux=True, where the function returns (y, aux).

    Returns:
        (y, pull): pull(y_bar), for several results pull(y_bar, z_bar) or pull((y_bar, z_bar)), for a container one of its structure. It
            gives a tuple with the cotangent of each argument that is no td.Output, None for those that are not differentiated. With one
            axis more in front, many cotangents at once. (y, pull, aux) with has_aux.

    Raises:
        DtypeMismatch: no argument is floats.

    Cost: pull takes one to three times the function, whatever the size of the arguments; what it needs is kept with it.
    Source: the signature is that of jax.vjp.
    """
    return _as_split(*split(target, *_asked(target, primals, argnums, named), tapes.vjp_tape))


def linearize(target: Target, /, *primals: Tree, argnums: Argnums | None = None, **named: Tree) -> Tree:
    """Value, and the function from tangents of the arguments to tangents of the results; see td.vjp and td.jvp.

    Returns:
        (y, push): push(*tangents), one for each argument that is differentiated.

    Source: the signature is that of jax.linearize.
    """
    return _as_split(*split(target, *_asked(target, primals, argnums, named), tapes.jvp_tape))


def _asked(target: Target, primals: tuple[Tree, ...], argnums: Argnums | None, named: dict[str, Tree]) -> tuple[Request, tuple[int, ...]]:
    """A call whose arguments are all differentiated, unless some are chosen."""
    asked = requested(target, primals, FIRST if argnums is None else argnums, named)
    if argnums is not None or named.get("argnames") is not None:
        return asked, _numbers(target, asked)
    numbers = tuple(k for k, p in enumerate(asked.args) if is_differentiable(p))
    if not numbers:
        for position, primal in enumerate(asked.args):
            if type(primal) is not Constant and not is_container(primal):
                as_float_array(primal, position, function_of(target))  # raises, as for gradients
        raise ArgumentMismatch(f"{name_of(target)} was given no argument to differentiate with respect to",
                               got=f"{len(asked.args)} arguments", fix="pass floats or float arrays")  # fmt: skip
    return asked, numbers


def split(target: Target, asked: Request, numbers: tuple[int, ...], make: Callable[..., Tape]) -> tuple[Evaluation, Linear, bool]:
    """A call evaluated, the second half of its products, and whether aux was asked for."""
    chosen = choose(target, asked.args, numbers, asked.wrt)
    build = lambda wrt: Operator(  # noqa: E731 -- its name is its use
        tapes.Forward(make), wrt, True, has_aux=asked.has_aux, parts=chosen.parts
    )
    found = evaluate(target, asked.args, numbers, build, has_aux=asked.has_aux)
    outputs = outputs_among(asked.args)
    others = tuple(k for k in range(len(asked.args)) if k not in outputs)
    return found, Linear(found, make, chosen, others, asked.has_aux), asked.has_aux


def _as_split(found: Evaluation, linear: Linear, has_aux: bool) -> Tree:
    return (found.value(), linear, found.aux()) if has_aux else (found.value(), linear)


class Linear:
    """The second half of a product with a Jacobian: takes the vectors, and may be called any number of times."""

    def __init__(self, found: Evaluation, make: Callable[..., Tape], chosen: Chosen, others: Sequence[int], has_aux: bool) -> None:
        self._tape, self._run = found.tape, found.run
        # The caller may write to the arguments and to the value before the vectors come.
        self._residuals = [r if is_tracked(r) else np.array(r) for r in found.outputs[len(found.tape.outputs) :]]
        self._operator = Operator(tapes.Backward(make), found.wrt, has_aux=has_aux, parts=chosen.parts)
        self._wanted, self._others = chosen, others
        self._is_pullback = make is tapes.vjp_tape
        self._types = self._operator.tape(self._tape).input_types[len(self._residuals) :]

    def __call__(self, *vectors: Tree) -> Tree:
        given = self._chosen(vectors, len(self._types))
        count = count_of(given, [t.shape for t in self._types])
        operator = replace(self._operator, count=count, vectors=len(self._types))
        given = fitting(operator.tape(self._tape), len(self._residuals), given, self._tape.name)
        outputs = self._run(operator, [*self._residuals, *given])
        if not self._is_pullback:
            return tangents_as_returned(deliver(outputs, None, True), self._tape, count)
        found = [as_number(cotangent) for cotangent in deliver(outputs, None, True)]
        cotangents = dict(zip(self._wanted.numbers, self._wanted.by_argument(found)))
        return tuple([cotangents.get(k) for k in self._others])

    def _chosen(self, vectors: tuple[Tree, ...], count: int) -> list[Operand]:
        """The vectors without those for results that are not floats."""
        if not self._is_pullback:
            return self._wanted.flat(vectors, "the tangents") if self._wanted.trees is not None else list(vectors)
        results = self._tape.value_count
        if len(vectors) == 1 and self._tape.result is not None:
            vectors = tuple(leaves_like(self._tape.result, vectors[0], "a cotangent"))
        elif len(vectors) == 1 and isinstance(vectors[0], (tuple, list)) and self._tape.returns_tuple:
            vectors = tuple(vectors[0])
        if len(vectors) == results != count:
            return [v for v, t in zip(vectors, self._tape.output_types[:results]) if t.is_float]
        return list(vectors)

    def __repr__(self) -> str:
        return f"<{'pullback' if self._is_pullback else 'pushforward'} of {self._tape.name}>"
