"""Sparse Jacobians and Hessians as SciPy's sparse arrays, and Jacobians as linear operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, TypeAlias

import numpy as np

from ...errors import ArgumentMismatch, NonScalarOutput, TrackedValueEscaped, hides_frames
from ...ir.containers import outputs_among
from ...ir.instruction import Operand, Target, Tree, is_tracked
from ...ir.pytree import ARRAY, held_leaf
from ...ir.tape import Tape, kept_with_tape
from ...transforms.active_part import Part
from ..evaluate.chosen import Chosen, choose
from ..evaluate.direct_calls import KernelAnswer, directly, joined
from ..evaluate.evaluation import Evaluation, evaluate_request
from ..evaluate.fast_path import ABSENT, FIRST, given
from ..evaluate.request import Request, requested
from ..tapes import matrix_tapes as matrices, operator_tapes as tapes
from .products import split

# A scipy.sparse.csr_array or csc_array, without type information from SciPy.
SparseArray: TypeAlias = Any


@hides_frames
def sparse_jacobian(
    target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: int = FIRST, format: str = "csr", **named: Tree
) -> SparseArray:
    """Jacobian of a function from an array to an array, as a sparse array.

    Args:
        target: function, Tape, CompiledTape or GuardedTape; returns one array.
        x, args, named: the point.
        argnums: which argument to differentiate by; one.
        format: "csr" or "csc".

    Returns:
        scipy.sparse.csr_array or csc_array of shape (size of the result, size of the argument), both flattened. Its pattern is the same
        at every point of a path: entries may be stored that are zero at this one. Results share their indices, which are read-only
        for that reason; operations that change a pattern in place, such as eliminate_zeros(), need a copy().

    Raises:
        NonScalarOutput: the target returns several results, or no floats.
        ArgumentMismatch: another format.

    Cost: one pass that computes the derivatives of every intermediate value that may be nonzero, and writes the entries where
        SciPy has them. For functions with matrix products, solves or loops: one sweep for each group of columns (of rows)
        without entries in the same row (column). The pattern is found at the first call on a path and kept with its tape, in time
        proportional to its entries.
    Source: Griewank and Walther (2008), Evaluating Derivatives, sections 7.1 and 10.3 (accumulation in the order of the tape); Curtis,
        Powell and Reid (1974), IMA Journal of Applied Mathematics 13(1).
    """
    verb = f"sparse_jacobian {format}"
    known = directly(target, verb, argnums, named, given(x, args))
    if known is not None:
        return _finished(*known)
    asked, found, chosen = _entries(target, given(x, args), named, argnums, matrices.sparse_jacobian_tape, format)
    if found.tape.returns_tuple:
        raise NonScalarOutput("a sparse Jacobian is of a function with one result", got=f"{len(found.tape.outputs)} results",
                              fix="concatenate the results, or use td.jacobian(f, x)")  # fmt: skip
    shape = (found.tape.output_types[0].size, math.prod(chosen.shapes[0]))
    return _as_sparse(verb, asked, found, chosen.parts, matrices.sparse_jacobian_tape, shape, format)


@hides_frames
def sparse_hessian(
    target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: int = FIRST, format: str = "csr", **named: Tree
) -> SparseArray:
    """Hessian of a scalar function of an array, as a sparse array; see td.sparse_jacobian.

    Returns:
        scipy.sparse.csr_array or csc_array of shape (size of x, size of x), both triangles.

    Cost: as td.sparse_jacobian of the gradient: three to five gradients for a chain of any length. With sweeps, one
        Hessian-vector product per colour: 3 for a chain, 2 where everything depends on one variable alone.
    Source: Gebremedhin, Manne and Pothen (2005), SIAM Review 47(4).
    """
    verb = f"sparse_hessian {format}"
    known = directly(target, verb, argnums, named, given(x, args))
    if known is not None:
        return _finished(*known)
    asked, found, chosen = _entries(target, given(x, args), named, argnums, matrices.sparse_hessian_tape, format)
    size = math.prod(chosen.shapes[0])
    return _as_sparse(verb, asked, found, chosen.parts, matrices.sparse_hessian_tape, (size, size), format)


def _entries(
    target: Target, args: tuple[Tree, ...], named: dict[str, Tree], argnums: int, make: Callable[..., Tape], format: str
) -> tuple[Request, Evaluation, Chosen]:
    if format not in ("csr", "csc"):
        raise ArgumentMismatch("format of a sparse array", got=repr(format), fix='"csr" or "csc"')
    asked, chosen = _by_one(target, args, named, argnums)
    found = evaluate_request(asked, chosen, make, mode=format)
    if any(map(is_tracked, found.outputs)):
        raise TrackedValueEscaped("a SciPy sparse array cannot hold tracked values",
                                  fix="use td.jacobian or td.hessian inside a recording, or products: td.jvp, td.vjp, td.hvp")  # fmt: skip
    return asked, found, chosen


def value_gradient_and_hessian_entries(
    target: Target, args: tuple[Tree, ...], argnums: int
) -> tuple[Operand, Operand, Operand, matrices.Entries | None]:
    """Value, gradient and the entries of the sparse Hessian by a float array, in one pass; tracked inside a recording.

    The positions of the entries are those of sparse_hessian; None for all of a dense matrix, by row.
    """
    asked, chosen = _by_one(target, args, {}, argnums)
    make = matrices.sparse_hessian_tape
    found = evaluate_request(asked, chosen, make, True, mode="csr")
    value, gradient, entries = found.outputs
    return value, gradient, entries, matrices.sparse_entries(found.tape, make, found.wrt, "csr")


def _by_one(target: Target, args: tuple[Tree, ...], named: dict[str, Tree], argnums: int) -> tuple[Request, Chosen]:
    """The call, and the argument to differentiate by."""
    asked = requested(target, args, argnums, named)
    if isinstance(asked.argnums, Sequence):
        raise ArgumentMismatch("a sparse matrix is by one argument", got=f"argnums={asked.argnums!r}", fix="argnums=0")
    chosen = choose(target, asked.args, asked.argnums, asked.wrt)
    if len(chosen.shapes) != 1:
        raise ArgumentMismatch("a sparse matrix is by one array", got=f"{len(chosen.shapes)} of them", fix='wrt="name", or td.tree.ravel')
    return asked, chosen


def _as_sparse(
    verb: str, asked: Request, found: Evaluation, parts: tuple[Part, ...], make: Callable[..., Tape], shape: tuple[int, int], format: str
) -> SparseArray:
    import scipy.sparse

    # A kernel's output is a new array.
    data = np.asarray(found.outputs[-1], float) if found.kernel_of is not None else np.array(found.outputs[-1], float)
    tape, wrt = tapes.by_parts(found.tape, found.wrt, parts) if parts else (found.tape, found.wrt)
    entries = matrices.sparse_entries(tape, make, wrt, format)
    aux = [found.aux()] if asked.has_aux else []
    if entries is None:
        made = scipy.sparse.csr_array(np.reshape(data, shape)).asformat(format)
        return (made, aux[0].result()) if aux else made
    structure = KernelAnswer(held_leaf(_structure(found.tape, entries, shape, format)), (), ())
    values = KernelAnswer(ARRAY, (len(found.outputs) - 1,), (data,))
    return _finished(*found.remember(verb, asked, joined([structure, values, *aux])))


def _finished(structure: SparseArray, values: Operand, *aux: Tree) -> SparseArray:
    """A sparse array with a given structure, with aux if asked for."""
    made = copy(structure)
    made.data = values
    return (made, *aux) if aux else made


@kept_with_tape
def _structure(tape: Tape, entries: matrices.Entries, shape: tuple[int, int], format: str) -> SparseArray:
    """A sparse array without values; all results share its indices, so they are read-only."""
    import scipy.sparse

    is_csc = format == "csc"
    made = scipy.sparse.csc_array if is_csc else scipy.sparse.csr_array
    along, across = (entries.columns, entries.rows) if is_csc else (entries.rows, entries.columns)
    starts = np.searchsorted(along, np.arange(shape[is_csc] + 1))
    # SciPy's choice of index dtype.
    index = np.int32 if max(len(along), *shape) < 2**31 else np.int64
    structure = made((np.zeros(len(along)), across.astype(index), starts.astype(index)), shape)
    for array in (structure.indices, structure.indptr):
        array.flags.writeable = False
    structure.data = np.zeros(0)
    structure.has_canonical_format = True
    return structure


@hides_frames
def linear_operator(target: Target, x: Tree = ABSENT, /, *args: Tree, argnums: int = FIRST, **named: Tree) -> SparseArray:
    """The Jacobian at a point as an operator for iterative solvers: products only, no matrix.

    Args:
        target: function, Tape, CompiledTape or GuardedTape; returns one array.
        x, args, named: the point.
        argnums: which argument to differentiate by; one.

    Returns:
        scipy.sparse.linalg.LinearOperator of shape (size of the result, size of x) and dtype float64, with matvec, rmatvec, matmat and
        rmatmat. Everything that depends on the point alone is computed once, here.

    Cost: a product takes one to three times the function; products with many columns take one pass.
    """
    from scipy.sparse.linalg import LinearOperator

    asked, chosen = _by_one(target, given(x, args), named, argnums)
    (number,) = chosen.numbers
    found, push = split(asked, (number,), tapes.jvp_tape)
    _, pull = split(asked, (number,), tapes.vjp_tape)
    y = found.value().result()
    if isinstance(y, tuple):
        raise NonScalarOutput("a linear operator is of a function with one result", got=f"{len(y)} results",
                              fix="concatenate the results")  # fmt: skip
    into, out_of = np.shape(y), chosen.shapes[0]
    number -= sum(k < number for k in outputs_among(asked.args))  # among the cotangents
    size = (int(np.prod(into)), int(np.prod(out_of)))
    forward = lambda v: np.ravel(push(np.reshape(v, out_of)))  # noqa: E731
    back = lambda w: np.ravel(pull(np.reshape(w, into))[number])  # noqa: E731
    # The count is given explicitly, as it cannot be found from empty arrays.
    forward_many = lambda m: np.reshape(push(np.reshape(m.T, (m.shape[1], *out_of))), (m.shape[1], size[0])).T  # noqa: E731
    back_many = lambda m: np.reshape(pull(np.reshape(m.T, (m.shape[1], *into)))[number], (m.shape[1], size[1])).T  # noqa: E731
    make: Any = LinearOperator  # it makes one of its subclasses, which its types do not say
    operator = make(size, forward, back, forward_many, np.dtype(float), back_many)
    return (operator, found.aux().result()) if asked.has_aux else operator
