"""Calls from compiled code: the operator, the arrays among the arguments, and the constant ones."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import ArgumentMismatch
from ...ir.arguments import Cache, Constant, ConstantOrCache, Output, unwrap
from ...ir.buffers import Buffer
from ...ir.containers import Trees, flatten_as, opened, positions_of, slots
from ...ir.inputs import as_inputs
from ...ir.instruction import FLOAT_SCALAR, Operand, Tree, ValueType
from ...ir.pytree import ARRAY, MIXED, TreeDef, unflatten
from ...ir.tape import Tape
from ...recording.arguments.bind_call import BoundCall
from ..evaluate.chosen import leaves_like
from ..tapes.gradient_tape import require_gradient
from ..tapes.operator_tapes import Operator, float_outputs, hvp_tape, jvp_tape, vjp_tape

Numbers = tuple[int, ...]

OPERATORS: dict[str, Callable[..., Tape]] = {"jvp": jvp_tape, "vjp": vjp_tape, "hvp": hvp_tape}
KINDS = ("value", "gradient", *OPERATORS)


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of a call: the operator it computes.

    Attributes:
        name: one of KINDS.
        argnums: the arguments to differentiate by; empty for the value.
        wrt: the inputs of these arguments.
        with_data: True if Python ints may be data; else they are specialised on, as they never change.
    """

    name: str
    argnums: Numbers
    wrt: Numbers
    with_data: bool = False

    @property
    def key(self) -> Tree:
        """The kernel's key; see CompiledTape.kernel."""
        if self.name in OPERATORS:
            return Operator(OPERATORS[self.name], self.wrt)
        return self.wrt if self.name == "gradient" else None

    def types(self, tape: Tape, inputs: Sequence[ValueType]) -> tuple[list[ValueType], list[ValueType]]:
        """The types of the vectors after the inputs, and of the outputs, where `tape` holds."""
        by = [inputs[k] for k in self.wrt]
        results = list(tape.output_types)
        floats = [results[k] for k in float_outputs(tape)]
        if self.name in ("gradient", "hvp"):
            require_gradient(tape.without_aux(), self.wrt)
        return {
            "value": ([], results), "gradient": ([], [FLOAT_SCALAR, *by]), "jvp": (by, floats), "vjp": (floats, by), "hvp": (by, by),
        }[self.name]  # fmt: skip


def kind_of_rows(numbers: Numbers | None, wrt: Numbers = ()) -> Kind:
    """The kind of the call of a row: value and gradients by these arguments, or for None the value."""
    return Kind("value", (), (), True) if numbers is None else Kind("gradient", numbers, wrt, True)


@dataclass(frozen=True, slots=True)
class Signature:
    """The arrays among the arguments of a call, which are the inputs of its tapes.

    Attributes:
        values: of the inputs, in the call that the signature was made from.
        is_constant: True for inputs that are data; the others may be differentiated.
        leaves: of all arguments.
        positions: of the inputs among the leaves.
        trees: the treedefs of the arguments; None without containers.
        key: of the tapes of a GuardedTape.
    """

    values: tuple[np.ndarray, ...]
    is_constant: tuple[bool, ...]
    leaves: tuple[Tree, ...]
    positions: Numbers
    trees: Trees | None
    key: Hashable = None

    @property
    def types(self) -> tuple[ValueType, ...]:
        """The types of the inputs."""
        return tuple([ValueType(v.shape, v.dtype) for v in self.values])

    @property
    def in_arguments(self) -> list[list[int]]:
        """The inputs in each argument."""
        ranges = [range(k, k + 1) for k in range(len(self.leaves))] if self.trees is None else positions_of(self.trees)
        return [[k for k, position in enumerate(self.positions) if position in leaves] for leaves in ranges]

    @property
    def constant_arguments(self) -> Numbers:
        """The arguments that hold nothing but constants."""
        return tuple([k for k, inputs in enumerate(self.in_arguments) if inputs and all(self.is_constant[i] for i in inputs)])

    @property
    def active_arguments(self) -> Numbers:
        """The arguments that hold something other than constants."""
        return tuple([k for k, inputs in enumerate(self.in_arguments) if not all(self.is_constant[i] for i in inputs)])

    @property
    def constants(self) -> Numbers:
        """The inputs that are data."""
        return tuple([k for k, is_constant in enumerate(self.is_constant) if is_constant])

    def arguments(self, values: Iterable[Operand]) -> list[Operand]:
        """The arguments of a call with these inputs."""
        leaves = list(self.leaves)
        for position, value in zip(self.positions, values):
            kind = type(leaves[position])
            leaves[position] = Constant(value) if kind is Constant else int(value) if kind is int else value
        if self.trees is None:
            return leaves
        return nested(self.trees, leaves)

    def inputs_among(self, arguments: Numbers, values: Sequence[Tree]) -> dict[int, Operand]:
        """The inputs in values for these arguments, by number."""
        return {number: part for k, value in zip(arguments, values) for number, part in zip(self.in_arguments[k], self.inputs_in(k, value))}

    def inputs_in(self, argument: int, value: Operand) -> list[Operand]:
        """The arrays in a value for an argument.

        Raises:
            ArgumentMismatch: its structure differs from the argument's.
        """
        value = unwrap(value)
        inside = [value] if self.trees is None else leaves_like(self.trees[argument], value, f"argument {argument}")
        first = argument if self.trees is None else positions_of(self.trees)[argument].start
        return [unwrap(inside[self.positions[k] - first]) for k in self.in_arguments[argument]]


def of_tape(tape: Tape, args: Sequence[Tree]) -> Signature:
    """The signature of a tape's calls, such as `args`; without arguments, from its types alone.

    Raises:
        ArgumentMismatch and others: the arguments do not fit the recorded ones, or are missing although the tape has data.
    """
    types, numbers = tape.input_types, tuple(range(len(tape.inputs)))
    is_data = [k not in tape.active_inputs for k in numbers]
    if args:
        values, leaves = as_inputs(tape, args), list(args)
        if tape.arguments is not None:
            leaves = []
            for tree, argument in zip(tape.arguments, args):
                flatten_as(tree, argument, leaves)
    elif any(is_data):
        raise ArgumentMismatch(
            f"{tape.name} was recorded with data, which a C function has to be given", got=", ".join(map(str, types)),
            fix="pass the arguments as in a call: c_function(kind, x, td.Constant(data))",
        )  # fmt: skip
    else:
        values = leaves = [np.zeros(t.shape, t.dtype) for t in types]
    marked = [data or type(leaf) is Constant for data, leaf in zip(is_data, leaves)]
    return Signature(tuple(map(np.asarray, values)), tuple(marked), tuple(leaves), numbers, tape.arguments)


def of_call(bound: BoundCall, key: Hashable) -> Signature:
    """The signature of calls of a GuardedTape like this one, whose tapes have a key; Python ints are part of it, not inputs."""
    leaves, fixed = bound.leaves, bound.fixed
    positions = tuple([k for k in range(len(leaves)) if k not in fixed])
    is_constant = tuple([not active for active in bound.active])
    return Signature(tuple(map(np.asarray, bound.inputs)), is_constant, tuple(leaves), positions, bound.trees, key)


def nested(trees: Trees, leaves: Sequence[Tree]) -> list[Tree]:
    """Nest these leaves as arguments."""
    rest = iter(leaves)
    given = iter([_given(slot, rest) for tree in trees for slot in slots(tree)])
    return [unflatten(opened(tree), given) for tree in trees]


def completed(tape: Tape, args: Sequence[Tree]) -> Sequence[Tree]:
    """The arguments, with new arrays for each td.Cache and td.Output that is left out beside arrays."""
    trees = tape.arguments
    if trees is None or not takes_arrays(tape) or len(args) != sum(tree == ARRAY for tree in trees):
        return args
    return nested(trees, args)


def takes_arrays(tape: Tape) -> bool:
    """True if each argument is an array, a td.Cache or a td.Output."""
    return tape.arguments is None or all(tree == ARRAY or tree.kind is Buffer for tree in tape.arguments)


def _given(slot: Buffer | TreeDef, leaves: Iterator[Tree]) -> Tree:
    """The value for one slot of an argument; buffers belong to the caller, so new ones are made."""
    if isinstance(slot, Buffer):
        return (Output if slot.is_output else Cache)(slot.unwritten())
    leaf = next(leaves)
    return ConstantOrCache(unwrap(leaf)) if slot == MIXED else leaf
