"""Direct calls: after a kernel has answered a call, calls of the same form run it directly; see call_code."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ...ir.arguments import MARKS, holds_only_numbers
from ...ir.buffers import Buffer
from ...ir.instruction import FLOAT64, Tree, ValueType
from ...ir.outputs import Out
from ...ir.pytree import ARRAY, MIXED, NOTHING, TreeDef, is_static, parts_of, static_leaf, unflatten
from ...numpy_api.whole_numbers import LARGEST_ARGUMENT
from ...recording.recorder import current_recorder
from .call_code import (
    AS_IT_IS,
    FLOAT32_ARRAY,
    FLOAT32_SCALAR,
    GIVEN,
    IGNORED,
    NUMPY_FLOAT,
    NUMPY_SCALAR,
    PYTHON_FLOAT,
    CallForm,
    GuardValue,
    Kernels,
    direct_call,
)
from .fast_path import FIRST

if TYPE_CHECKING:
    from ...compiler.kernel import Kernel
    from .request import Given

# The verbs of gradients. A call of the second may serve the first, unless the first has its own kernel.
GRADIENT, VALUE_AND_GRADIENT = "gradient", "value_and_gradient"

FLOAT32 = np.dtype(np.float32)

# The most forms kept for each verb: with constants, with strided arrays, with other results on another path.
MOST_FORMS = 4


# The number of a leaf that is not an output.
UNKNOWN = -2


class DirectKernel(NamedTuple):
    """The kernel that answered a call, and the form of the call.

    Attributes:
        run: called with inputs and outputs, as Kernel.call. With `guard`: such functions by the guard's value.
        kernel: the kernel to run, or one with the same inputs and outputs.
        forms: the form of each argument.
        inputs: the number of inputs, which tangents and cotangents follow.
        guard: evaluates the user's guard.
        alike: by the number of an output that `run` writes, the number of the input that has its shape, if that differs between calls.
    """

    run: Kernels
    kernel: Kernel
    forms: tuple[TreeDef, ...]
    inputs: int
    guard: Callable[[tuple[Tree, ...]], Tree] | None = None
    alike: Mapping[int, int] = {}


class KernelAnswer(NamedTuple):
    """The result of a kernel, before it is nested.

    Attributes:
        tree: its structure.
        numbers: for each leaf, the number of the kernel's output; GIVEN for the caller's own array, or UNKNOWN.
        leaves: the leaves.
    """

    tree: TreeDef
    numbers: Sequence[int]
    leaves: Sequence[Tree]

    def result(self) -> Tree:
        """The nested result for the caller."""
        return unflatten(self.tree, self.leaves)


def joined(answers: Sequence[KernelAnswer]) -> KernelAnswer:
    """Join several results of a kernel as a tuple."""
    numbers = [number for answer in answers for number in answer.numbers]
    return KernelAnswer(tuple_of([a.tree for a in answers]), numbers, [leaf for answer in answers for leaf in answer.leaves])


class DirectCalls:
    """The direct calls of a target, by verb and options.

    Attributes:
        known: the calls for a key, the latest first. Tuples are replaced, never mutated: calls read them without a lock.
        without_value: some compute gradients without the value.
        last_argnums: the tuple of argnums of the last call that had one, and their types.
    """

    __slots__ = ("known", "last_argnums", "without_value")

    def __init__(self) -> None:
        self.last_argnums: tuple[Tree, Hashable] = (None, type(None))
        self.without_value = False
        self.known: dict[Hashable, tuple[Callable[[tuple[Tree, ...]], Tree], ...]] = {}

    def remember(
        self, verb: Hashable, given: Given, kernel: Callable[[], DirectKernel], answer: KernelAnswer,
        vectors: Sequence[tuple[TreeDef, Tree]] = (), out: tuple[TreeDef, Tree] | None = None,
    ) -> None:  # fmt: skip
        """Make the next calls of this form run the kernel directly.

        Args:
            verb, given: the call.
            kernel: returns the kernel that answered.
            answer: its result.
            vectors: tangents and cotangents, which follow the positional arguments, with the required structure.
            out: arrays for the last outputs, the last argument.
        """
        try:
            key = key_of(self, verb, given.argnums, given.named, out is not None)
            calls = self.known.get(key, ())
            form = _form_of_call(given, kernel(), answer, vectors, out)
        except (NoForm, TypeError):
            return  # argnums may contain a list
        if all(getattr(call, "form", None) != form for call in calls):
            made = direct_call(form)
            made.form = form  # type: ignore[attr-defined]  # a function made there
            self.known[key] = (made, *calls)[:MOST_FORMS]
            self.without_value |= verb == GRADIENT


def _form_of_call(
    given: Given, found: DirectKernel, answer: KernelAnswer, vectors: Sequence[tuple[TreeDef, Tree]], out: tuple[TreeDef, Tree] | None
) -> CallForm:
    kernel, count, positions = found.kernel, len(given.args), given.positions
    types = iter(kernel.tape_inputs[found.inputs :])
    moved = [form_of(tree, vector, leaf_forms(types, vector_leaf), is_exact=False) for tree, vector in vectors]
    into = None if out is None else form_of(*out, lambda _: ARRAY, is_exact=False)
    if None in positions:
        raise NoForm
    # Keyword arguments follow the vectors.
    arguments = [k if k < count else k + len(moved) for k in positions if k is not None]
    options = [(k, v) for k, v in enumerate(given.named.values(), count + len(moved)) if k not in arguments]
    taken = [*zip(arguments, found.forms, strict=True), *enumerate(moved, count), *((k, _option_form(value)) for k, value in options)]
    written = tuple((found.alike.get(k, t.shape), t.dtype) for k, t in enumerate(kernel.written_types))
    leaves = tuple([(number, way_out(leaf, number, kernel)) for leaf, number in zip(answer.leaves, answer.numbers, strict=True)])
    return CallForm(found.run, written, kernel.returns_value, tuple(taken), len(arguments), into, answer.tree, leaves, found.guard)


def _option_form(value: Tree) -> TreeDef:
    """Require an option to be the same value again."""
    kind = type(value)
    if kind is slice:
        return TreeDef(slice, _SLICE, tuple([_option_form(getattr(value, name)) for name in _SLICE]))
    if kind is tuple or kind is list:
        return TreeDef(kind, (), tuple(map(_option_form, value)))
    return static_leaf(value)


_SLICE = ("start", "stop", "step")


class FastTarget(Protocol):
    """A target that has direct calls."""

    @property
    def direct_calls(self) -> DirectCalls: ...


def key_of(calls: DirectCalls, verb: Hashable, argnums: Tree, named: dict[str, Tree], has_out: bool) -> Hashable:
    """A key, equal for calls that may share direct calls."""
    if argnums is FIRST and not named:
        return (verb, "out") if has_out else verb
    last, kinds = calls.last_argnums
    if argnums is not last:
        # 1, 1.0 and True are equal, and so are tuples of them. A tuple is mostly the same object again.
        kinds = tuple(map(type, argnums)) if type(argnums) is tuple else type(argnums)
        if type(argnums) is tuple:
            calls.last_argnums = argnums, kinds
    return verb, argnums, kinds, tuple(named), has_out


def directly(target: object, verb: Hashable, argnums: Tree, named: dict[str, Tree], args: tuple[Tree, ...], out: Out = None) -> Tree:
    """Try a direct call. Returns None for the full path, or a GuardValue to pass the user's guard value to it.

    Args:
        args: the positional arguments, followed by tangents and cotangents.
    """
    calls = getattr(target, "direct_calls", None)
    if calls is None or current_recorder() is not None:
        return None
    if argnums is FIRST and not named:
        if out is None:
            known = calls.known.get(verb)
        else:
            known, args = calls.known.get((verb, "out")), (*args, out)
    else:
        try:
            known = calls.known.get(key_of(calls, verb, argnums, named, out is not None))
        except TypeError:
            return None
        if named:
            args = (*args, *named.values())
        if out is not None:
            args = (*args, out)
    if known is None:
        return None
    for call in known:
        found = call(args)
        if found is not None:
            return found
    return None


def gradient_directly(
    target: FastTarget, argnums: Tree, named: dict[str, Tree], args: tuple[Tree, ...], out: Out, keep: bool
) -> Tree:
    """Try a direct call of gradients, or of values and gradients if `keep`."""
    if not keep and target.direct_calls.without_value:
        found = directly(target, GRADIENT, argnums, named, args, out)
        if found is not None:
            return found
    found = directly(target, VALUE_AND_GRADIENT, argnums, named, args, out)
    if keep or found is None or type(found) is GuardValue:
        return found
    value, gradient = found
    return (gradient, value[1]) if named.get("has_aux") else gradient


def way_out(leaf: Tree, number: int, kernel: Kernel) -> str:
    """The conversion of an output to this leaf.

    Raises:
        NoForm: there is no known conversion.
    """
    if number == GIVEN:
        return AS_IT_IS
    if number == UNKNOWN:
        raise NoForm
    is_value = number == 0 and kernel.returns_value
    computed, kind = kernel.output_types[number], type(leaf)
    if kind is float and computed.dtype == FLOAT64:
        return AS_IT_IS if is_value else PYTHON_FLOAT
    if is_value and kind is np.float64 and computed.dtype == FLOAT64:
        return NUMPY_FLOAT
    if kind is np.float32 and computed.dtype == FLOAT64:
        return FLOAT32_SCALAR
    if not is_value and isinstance(leaf, np.generic) and leaf.dtype == computed.dtype:
        return NUMPY_SCALAR
    if not is_value and kind is np.ndarray and leaf.dtype == computed.dtype:
        return AS_IT_IS
    if not is_value and kind is np.ndarray and (leaf.dtype, computed.dtype) == (FLOAT32, FLOAT64):
        return FLOAT32_ARRAY
    raise NoForm


# Forms


class NoForm(Exception):
    """Part of a call needs the full path."""


def form_of(tree: TreeDef, argument: Tree, leaf: Callable[[Tree], TreeDef], *, is_exact: bool = True) -> TreeDef:
    """The form of an argument: its structure with constants, and the conversion of each leaf to a kernel input.

    Args:
        tree: the recorded structure.
        leaf: returns the form of a leaf; called in order.
        is_exact: values other than arrays must equal those of the tree.

    Raises:
        NoForm: there is none.
    """
    if type(argument) in MARKS:
        return TreeDef(type(argument), (), (form_of(tree, argument.value, leaf, is_exact=is_exact),))
    if tree.kind is None:
        form = leaf(argument)
        if tree == MIXED and form != ARRAY:
            raise NoForm
        return MIXED if tree == MIXED else form
    if tree.kind is Buffer and is_exact:
        if type(argument) is not np.ndarray:
            raise NoForm
        return tree
    if is_static(tree):
        if not is_exact:
            # None may replace a tangent; another call may have a tangent there.
            return IGNORED if argument is not None else NOTHING
        if type(argument) is not tree.kind:
            raise NoForm
        return tree
    found = parts_of(argument)
    if found is None or found[0] is not tree.kind or found[1] != tree.keys or len(found[2]) != len(tree.parts):
        raise NoForm
    return tree._replace(parts=tuple([form_of(t, a, leaf, is_exact=is_exact) for t, a in zip(tree.parts, found[2])]))


def leaf_form(argument: Tree, type_: ValueType) -> TreeDef:
    """The form of an argument, or of a leaf of one, that is an input of this type.

    Raises:
        NoForm: the full path has to convert or reject it.
    """
    kind, dtype = type(argument), type_.dtype
    if kind is np.ndarray and dtype == np.int64 and _is_narrow(argument):
        return TreeDef(None, as_wide)
    if isinstance(argument, (np.ndarray, np.generic)) and argument.dtype != dtype:
        raise NoForm
    if dtype == FLOAT32 and kind in (np.ndarray, np.float32):
        return TreeDef(None, as_double)
    if kind is np.ndarray:
        return ARRAY if argument.flags.c_contiguous and argument.flags.aligned else TreeDef(None, in_one_piece)
    if dtype == FLOAT64 and kind in (float, np.float64):
        return ARRAY
    if dtype == FLOAT64 and kind is list:
        return TreeDef(None, as_array)
    if dtype == np.int64 and kind is int:
        return TreeDef(None, as_int64)
    if isinstance(argument, np.generic):
        return TreeDef(None, as_zero_dimensional)
    raise NoForm


def vector_leaf(argument: Tree, type_: ValueType) -> TreeDef:
    """The form of a tangent or cotangent; Python integers count as floats."""
    if type(argument) is int and type_.dtype == FLOAT64:
        return TreeDef(None, as_float)
    return leaf_form(argument, type_)


def substituted(tree: TreeDef, inside: TreeDef) -> TreeDef:
    """Replace each leaf of a structure by another structure."""
    if tree.kind is None:
        return inside
    return tree._replace(parts=tuple([substituted(part, inside) for part in tree.parts]))


def tuple_of(trees: Sequence[TreeDef]) -> TreeDef:
    return TreeDef(tuple, (), tuple(trees))


def leaf_forms(types: Iterator[ValueType], leaf: Callable[[Tree, ValueType], TreeDef] = leaf_form) -> Callable[[Tree], TreeDef]:
    """Make the `leaf` of `form_of` for arguments whose leaves are all inputs, with these types in order."""
    return lambda argument: leaf(argument, next(types))


# Conversions of leaves. Each changes only its own type; the kernel rejects everything else.


def in_one_piece(argument: Tree) -> Tree:
    return argument.copy() if type(argument) is np.ndarray else argument


def as_array(argument: Tree) -> Tree:
    return np.array(argument) if type(argument) is list and holds_only_numbers(argument) else argument


def as_int64(argument: Tree) -> Tree:
    return np.array(argument) if type(argument) is int and abs(argument) < LARGEST_ARGUMENT else argument


def as_wide(argument: Tree) -> Tree:
    return argument.astype(np.int64) if type(argument) is np.ndarray and _is_narrow(argument) else argument


def _is_narrow(array: np.ndarray) -> bool:
    """True for integers of fewer than 64 bits."""
    return array.dtype.kind in "iu" and array.dtype.itemsize < 8


def as_float(argument: Tree) -> Tree:
    return float(argument) if type(argument) is int else argument


def as_zero_dimensional(argument: Tree) -> Tree:
    return np.asarray(argument) if isinstance(argument, np.generic) else argument


def as_double(argument: Tree) -> Tree:
    """Convert float32, which kernels do not take as arguments."""
    if type(argument) is np.ndarray and argument.dtype == FLOAT32:
        return argument.astype(FLOAT64, "C")
    return float(argument) if type(argument) is np.float32 else None
