"""Products with Jacobians: pushforwards and pullbacks, at once or split into a forward pass and any number of products."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from ...errors import ArgumentMismatch, ShapeMismatch, hide_frames
from ...ir.arguments import Constant, as_float_array, chosen_arguments, unwrap
from ...ir.containers import is_container, outputs_among
from ...ir.instruction import Operand, Target, Tree, is_tracked
from ...ir.outputs import as_number, deliver
from ...ir.pytree import ARRAY, NOTHING, TreeDef, held_leaf
from ...ir.tape import Tape
from ..evaluate.chosen import Chosen, choose, is_differentiable, leaves_like, name_of
from ..evaluate.direct_calls import (
    FIRST,
    UNKNOWN,
    DirectCalls,
    DirectKernel,
    KernelAnswer,
    directly,
    joined,
    leaf_form,
    tuple_of,
)
from ..evaluate.evaluation import Evaluation, evaluate_request, fitting, results_tree
from ..evaluate.fast_path import Argnums
from ..evaluate.function_types import Result, X
from ..evaluate.request import Given, Request, function_of, requested
from ..tapes import operator_tapes as tapes
from ..tapes.operator_tapes import Operator

if TYPE_CHECKING:
    from ...compiler.kernel import Kernel


def count_of(vectors: Sequence[Operand], shapes: Sequence[tuple[int, ...]]) -> int | None:
    """The number of simultaneous tangents or cotangents: None for one, without a leading axis."""
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
    try:
        verb, numbers = _named("jvp", argnums)
        is_plain = type(primals) is tuple and type(tangents) is tuple
        if is_plain and (answer := directly(target, (verb, len(primals)), numbers, named, (*primals, *tangents))) is not None:
            return answer
        for name, given in (("primals", primals), ("tangents", tangents)):
            if not isinstance(given, (tuple, list)):
                raise ArgumentMismatch(f"{name} must be a tuple with one entry for each argument", got=type(given).__name__,
                                       fix="td.jvp(f, (x,), (v,))")  # fmt: skip
        asked = requested(target, tuple(primals), numbers, named)
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
        given = {k: v for k, v in zip(moving, tangents) if v is not None}
        found, y_dot = pushed(asked, tuple(given), list(given.values()))
        trees = dict(zip(given, choose(target, asked.args, tuple(given), asked.wrt).tree.parts))
        vectors = [(trees.get(k, NOTHING), v) for k, v in zip(moving, tangents)]
        answer = joined([found.value(), y_dot, *([found.aux()] if asked.has_aux else [])])
        return found.remember((verb, len(primals)), asked, answer, vectors)
    except Exception as error:
        hide_frames(error)
        raise


def _named(verb: str, argnums: Argnums | None) -> tuple[str, Argnums]:
    """The verb and argnums in the key of direct calls: all arguments differ from the first one."""
    return (verb, FIRST) if argnums is None else (f"{verb} by", argnums)


def _numbers(target: Target, asked: Request) -> tuple[int, ...]:
    return chosen_arguments(asked.argnums, len(asked.args), name_of(target))[0]


def pushed(asked: Request, moving: tuple[int, ...], tangents: Sequence[Tree]) -> tuple[Evaluation, KernelAnswer]:
    """Evaluate a call with some moving arguments, and the tangents of its results."""
    chosen = choose(asked.given.target, asked.args, moving, asked.wrt)
    vectors = chosen.flat(tangents, "a tangent")
    count = count_of([v for v in vectors if v is not None], [s for v, s in zip(vectors, chosen.shapes) if v is not None])
    vectors = [np.zeros(s if count is None else (count, *s)) if v is None else v for v, s in zip(vectors, chosen.shapes)]
    found = evaluate_request(asked, chosen, tapes.jvp_tape, True, vectors, batch=count)
    kept = len(found.tape.outputs)
    return found, tangents_of(found.delivered(found.outputs[kept:]), found.tape, count, kept)


def tangents_of(found: Sequence[Tree], tape: Tape, count: int | None, first: int) -> KernelAnswer:
    """A tangent for each result: the outputs from `first` on, zeros for results that are not floats."""
    rest, numbers = iter(found), itertools.count(first)
    # A path that returns an integer is differentiated as if it returned that float.
    one = tape.value_count == 1
    leading = () if count is None else (count,)
    types = tape.output_types[: tape.value_count]
    is_there = [one or t.is_float for t in types]
    leaves = [next(rest) if there else np.zeros((*leading, *t.shape)) for there, t in zip(is_there, types)]
    if not tape.returns_tuple:
        leaves[0] = as_number(leaves[0])
    return KernelAnswer(results_tree(tape, len(leaves)), [next(numbers) if there else UNKNOWN for there in is_there], leaves)


@overload
def vjp(target: Callable[[X], Result], x: X, /) -> tuple[Result, Callable[..., tuple[X]]]: ...
@overload
def vjp(target: Target, /, *primals: Tree, argnums: Argnums | None = None, **named: Tree) -> Tree: ...
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
            returns a tuple with the cotangent of each argument except td.Output, None for those that are not differentiated. With one
            axis more in front, many cotangents at once. (y, pull, aux) with has_aux.

    Raises:
        DtypeMismatch: no argument is floats.

    Cost: pull takes one to three times the function, whatever the size of the arguments; it keeps the values it needs.
    Source: the signature is that of jax.vjp.
    """
    try:
        return _split("vjp", target, primals, argnums, named, tapes.vjp_tape)
    except Exception as error:
        hide_frames(error)
        raise


def linearize(target: Target, /, *primals: Tree, argnums: Argnums | None = None, **named: Tree) -> Tree:
    """Value, and the function from tangents of the arguments to tangents of the results; see td.vjp and td.jvp.

    Returns:
        (y, push): push(*tangents), one for each argument that is differentiated.

    Source: the signature is that of jax.linearize.
    """
    try:
        return _split("linearize", target, primals, argnums, named, tapes.jvp_tape)
    except Exception as error:
        hide_frames(error)
        raise


def _split(
    verb: str, target: Target, primals: tuple[Tree, ...], argnums: Argnums | None, named: dict[str, Tree], make: Callable[..., Tape]
) -> Tree:
    verb, numbers = _named(verb, argnums)
    known = directly(target, verb, numbers, named, primals)
    if known is not None:
        value, residuals, half, *aux = known
        return (value, Linear(residuals, half), *aux)
    asked, moving = _asked(target, primals, argnums, named)
    found, linear = split(asked, moving, make)
    parts = [found.value(), *linear.parts(len(found.tape.outputs)), *([found.aux()] if asked.has_aux else [])]
    value, _, _, *aux = found.remember(verb, asked, joined(parts), is_of_one_path=True)
    return (value, linear, *aux)


def _asked(target: Target, primals: tuple[Tree, ...], argnums: Argnums | None, named: dict[str, Tree]) -> tuple[Request, tuple[int, ...]]:
    """A call that differentiates by all arguments, unless some are chosen."""
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


def split(asked: Request, numbers: tuple[int, ...], make: Callable[..., Tape]) -> tuple[Evaluation, Linear]:
    """Evaluate a call, and return the second half of its product."""
    chosen = choose(asked.given.target, asked.args, numbers, asked.wrt)
    found = evaluate_request(asked, chosen, tapes.Forward(make), True)
    outputs = outputs_among(asked.args)
    others = tuple(k for k in range(len(asked.args)) if k not in outputs)
    # The caller may write to the arguments and to the value before the vectors arrive.
    residuals = [r if is_tracked(r) else np.array(r) for r in found.outputs[len(found.tape.outputs) :]]
    return found, Linear(residuals, SecondHalf(found, make, chosen, others, asked.has_aux))


class Linear:
    """The second half of a product with a Jacobian: called with vectors, any number of times."""

    __slots__ = ("_half", "_residuals")

    def __init__(self, residuals: list[Tree], half: SecondHalf) -> None:
        self._residuals, self._half = residuals, half

    def __call__(self, *vectors: Tree) -> Tree:
        found = directly(self._half, "", FIRST, {}, (self._residuals, *vectors))
        return self._half.product(self._residuals, vectors) if found is None else found

    def parts(self, first: int) -> list[KernelAnswer]:
        """Its leaves, for direct calls of the first half, whose outputs from `first` on are the residuals."""
        numbers = range(first, first + len(self._residuals))
        residuals = KernelAnswer(TreeDef(list, (), (ARRAY,) * len(numbers)), numbers, self._residuals)
        return [residuals, KernelAnswer(held_leaf(self._half), (), ())]

    def __repr__(self) -> str:
        return f"<{'pullback' if self._half.is_pullback else 'pushforward'} of {self._half.name}>"


class SecondHalf:
    """The second halves of products with the Jacobians of a function, on one path.

    Attributes:
        direct_calls: of residuals and vectors.
    """

    __slots__ = ("_kernel_of", "_operator", "_others", "_run", "_tape", "_types", "_wanted", "direct_calls", "is_pullback")

    def __init__(self, found: Evaluation, make: Callable[..., Tape], chosen: Chosen, others: Sequence[int], has_aux: bool) -> None:
        self._tape, self._run = found.tape, found.run
        self._operator = Operator(tapes.Backward(make), found.wrt, has_aux=has_aux, parts=chosen.parts)
        self._wanted, self._others = chosen, others
        # If the first half is never called directly, this is a new object each time, with nothing to remember.
        self._kernel_of = found.kernel_of if found.kernel is not None else None
        self.is_pullback = make is tapes.vjp_tape
        self._types = self._operator.tape(self._tape).input_types[len(found.outputs) - len(found.tape.outputs) :]
        self.direct_calls = DirectCalls()

    @property
    def name(self) -> str:
        """The function's name."""
        return self._tape.name

    def product(self, residuals: list[Tree], vectors: tuple[Tree, ...]) -> Tree:
        """The product, on the full path."""
        trees, given = self._given(vectors)
        count = count_of(given, [t.shape for t in self._types])
        operator = self._operator._replace(batch=count, vectors=len(self._types))
        given = fitting(operator.tape(self._tape), len(residuals), given, self._tape.name)
        outputs = deliver(self._run(operator, [*residuals, *given]))
        if self.is_pullback:
            tree_of = dict(zip(self._wanted.numbers, self._wanted.tree.parts))
            tree = tuple_of([tree_of.get(k, NOTHING) for k in self._others])
            answer = KernelAnswer(tree, range(len(outputs)), [as_number(cotangent) for cotangent in outputs])
        else:
            answer = tangents_of(outputs, self._tape, count, 0)
        if self._kernel_of is not None and trees is not None:
            kernel, call = self._kernel_of(operator), Given(self, (residuals,), FIRST, {})  # pyright: ignore[reportArgumentType]  # no names
            self.direct_calls.remember("", call, lambda: _of_residuals(kernel, residuals), answer, list(zip(trees, vectors)))
        return answer.result()

    def _given(self, vectors: tuple[Tree, ...]) -> tuple[Sequence[TreeDef] | None, list[Operand]]:
        """The vectors without those for results that are not floats, and the structure of each if all results are floats."""
        if not self.is_pullback:
            trees = self._wanted.tree.parts
            return trees, self._wanted.flat(vectors, "the tangents") if self._wanted.trees is not None else list(vectors)
        trees, count = [ARRAY] * len(vectors), self._tape.value_count
        if len(vectors) == 1 and self._tape.result is not None:
            trees, vectors = [self._tape.result], tuple(leaves_like(self._tape.result, vectors[0], "a cotangent"))
        elif len(vectors) == 1 and isinstance(vectors[0], (tuple, list)) and self._tape.returns_tuple:
            trees, vectors = [TreeDef(type(vectors[0]), (), (ARRAY,) * len(vectors[0]))], tuple(vectors[0])
        if len(vectors) == count != len(self._types):
            return None, [v for v, t in zip(vectors, self._tape.output_types[:count]) if t.is_float]
        return trees, list(vectors)


def _of_residuals(kernel: Kernel, residuals: list[Tree]) -> DirectKernel:
    forms = tuple([leaf_form(r, t) for r, t in zip(residuals, kernel.tape_inputs)])
    return DirectKernel(kernel.call, kernel, (TreeDef(list, (), forms),), len(residuals))
