"""The tape: a flat, frozen list of instructions in static single assignment form, with its check and its listing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, SupportsIndex, TypeVar

import numpy as np

from ..base.source_location import spot_of
from ..base.token import is_hashed_by_joblib, token_of
from ..errors import InvalidTape, describe
from .containers import structured
from .guard_rows import single_guards, width_of
from .inputs import as_inputs, by_names
from .instruction import (
    CONSTANT,
    GUARD,
    GUARD_KINDS,
    INPUT,
    Guard,
    Instruction,
    Operand,
    Primitive,
    ValueType,
    columns_of,
    is_tracked,
    some_of,
)
from .interpreter import inline, run
from .outputs import deliver
from .pytree import TreeDef, count_leaves, unflatten
from .serialize import State, packed, unpacked

P = ParamSpec("P")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Tape:
    """A recorded function: replay it with `tape(x)`, differentiate it with the td verbs, compile it with `td.compile`.

    Attributes:
        instructions: the operations in execution order; instruction i defines value i.
        inputs: the values that hold the arguments, in order.
        outputs: the values that are returned, in order.
        name: the recorded function's name.
        active_inputs: positions in `inputs` that may be differentiated (not td.Constant).
        returns_tuple: True if the function returned a container (of `len(outputs)` values), False for a single value.
        result: the treedef of the returned container; None for a single value or a tuple of values.
        arguments: the treedef of each argument; None where each is one array. The inputs are their arrays, in order.
        names: of the arguments, where the function has them.
        aux: for a function that returns (y, aux), the treedef of aux, whose arrays are the last outputs; the attributes above describe
            y, and derivatives are of y. None for other functions.
        named_only: how many of the last arguments are keyword-only.
        save_limit: bytes that a loop may save for the reverse pass; beyond, its iterations are divided into blocks that are
            recomputed. None for what is fastest.
    """

    instructions: Sequence[Instruction]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    name: str = "f"
    active_inputs: tuple[int, ...] = ()
    returns_tuple: bool = False
    result: TreeDef | None = None
    arguments: tuple[TreeDef, ...] | None = None
    names: tuple[str, ...] = ()
    aux: TreeDef | None = None
    named_only: int = 0
    save_limit: float | None = None
    # Tapes derived from this one. dataclasses.replace does not copy it, as another tape has other derived tapes.
    derived: dict[Hashable, Any] = field(default_factory=dict[Hashable, Any], init=False, compare=False, repr=False)

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The names of the arguments; empty for those without."""
        count = len(self.inputs) if self.arguments is None else len(self.arguments)
        return (*self.names, *[""] * (count - len(self.names)))

    @cached_property
    def guards(self) -> tuple[Guard, ...]:
        return tuple(guard for i in self.all_of(GUARD) for guard in single_guards(i))

    @cached_property
    def guard_count(self) -> int:
        """The number of guards, counting those of a loop once for each iteration."""
        return sum(width_of(i.params) for i in self.all_of(GUARD))

    @cached_property
    def ops(self) -> frozenset[Primitive]:
        """The ops of all instructions."""
        columns = columns_of(self.instructions)
        return frozenset([i.op for i in (self.instructions if columns is None else columns.templates)])

    @property
    def looks_at_arrays(self) -> bool:
        """True if there is a guard on a whole array, such as positions or a mask."""
        columns = columns_of(self.instructions)
        return any(i.op is GUARD and i.params[0] == "array" for i in (self.instructions if columns is None else columns.templates))

    def all_of(self, op: Primitive) -> list[Instruction]:
        """The instructions of one op, in order."""
        return [i for _, i in self.numbered(op)]

    def numbered(self, *ops: Primitive) -> list[tuple[int, Instruction]]:
        """The instructions of some ops, in order, with the numbers of their values; others are not built."""
        if self.ops.isdisjoint(ops):
            return []
        columns = columns_of(self.instructions)
        if columns is None:
            return [(n, i) for n, i in enumerate(self.instructions) if i.op in ops]
        is_wanted = np.array([template.op in ops for template in columns.templates], bool)
        numbers = np.flatnonzero(is_wanted[columns.which]).tolist()
        return list(zip(numbers, some_of(self.instructions, numbers)))

    @property
    def turns(self) -> dict[int, tuple[int, int]]:
        """Ordinal of a guard -> (k, n): it is the k-th of n visits to its line. Lines visited once are left out."""
        return self._turns

    @cached_property
    def _turns(self) -> dict[int, tuple[int, int]]:
        places: dict[Hashable, list[int]] = {}
        for guard in self.guards:
            places.setdefault((spot_of(guard.site), guard.kind), []).append(guard.ordinal)
        return {o: (k, len(all_)) for all_ in places.values() if len(all_) > 1 for k, o in enumerate(all_, 1)}

    @property
    def input_types(self) -> tuple[ValueType, ...]:
        return self._input_types

    @cached_property
    def _input_types(self) -> tuple[ValueType, ...]:
        return tuple(self.instructions[i].type for i in self.inputs)

    @property
    def output_types(self) -> tuple[ValueType, ...]:
        return self._output_types

    @cached_property
    def _output_types(self) -> tuple[ValueType, ...]:
        return tuple(self.instructions[i].type for i in self.outputs)

    @cached_property
    def value_count(self) -> int:
        """The number of outputs that are the function's value: all except those of aux."""
        return len(self.outputs) - (0 if self.aux is None else count_leaves(self.aux))

    def without_aux(self) -> Tape:
        """The tape of the value alone."""
        if self.aux is None:
            return self
        known = self.derived.get("without aux")
        if known is None:
            known = self.derived["without aux"] = replace(self, outputs=self.outputs[: self.value_count], aux=None)
        return known

    def returned(self, values: Sequence[Any]) -> Any:
        """The outputs as the function returned them."""
        value = structured(self.result, self.returns_tuple, values[: self.value_count])
        return value if self.aux is None else (value, unflatten(self.aux, values[self.value_count :]))

    def __len__(self) -> int:
        return len(self.instructions)

    def __str__(self) -> str:
        return listing(self)

    def _repr_html_(self) -> str:
        return in_notebook(listing(self, MOST_IN_NOTEBOOK))

    def __repr__(self) -> str:
        return f"<Tape of {self.name}: {len(self)} instructions, {self.guard_count} guards>"

    def __getstate__(self) -> State:
        state = {name: getattr(self, name) for name in _STATE}
        return {**state, **packed(self.instructions)}

    def __setstate__(self, state: State) -> None:
        for name in _STATE:
            self.__dict__[name] = state[name]
        self.__dict__["instructions"] = unpacked(state)
        self.__dict__["derived"] = {}

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        return (str, (self.__dask_tokenize__(),)) if is_hashed_by_joblib() else super().__reduce_ex__(protocol)

    def __dask_tokenize__(self) -> str:
        instructions = [(op.name, inputs, params, str(type_)) for op, inputs, params, type_, _ in self.instructions]
        return token_of("tape", instructions, [getattr(self, name) for name in _STATE])

    def __deepcopy__(self, _: object) -> Tape:
        return self  # immutable

    def check(self) -> None:
        """Re-derive every type and check that values are defined before they are used.

        Raises:
            InvalidTape: naming the instruction that breaks a rule.
        """
        check(self)

    def __call__(self, *args: Operand, **named: Operand) -> Operand:
        """The function's value by replaying the tape with NumPy. Raises GuardFailed off the recorded path."""
        inputs = as_inputs(self, by_names(self, args, named) if named or self.named_only else args)
        outputs = inline(self, inputs) if any(map(is_tracked, inputs)) else run(self, inputs)
        return self.returned(deliver(outputs))


# The pickled fields besides the instructions.
_STATE = ("inputs", "outputs", "name", "active_inputs", "returns_tuple", "result", "arguments", "names", "aux", "named_only")


def check(tape: Tape) -> None:
    last_ordinal = -1
    for number, instruction in enumerate(tape.instructions):
        op, inputs, params, type_, _ = instruction
        if any(not 0 <= i < number for i in inputs):
            raise InvalidTape(f"v{number} reads a value that is not defined before it", got=f"{op.name}{inputs}")
        if any(tape.instructions[i].op is GUARD for i in inputs):
            raise InvalidTape(f"v{number} reads the result of a guard, which has none", got=f"{op.name}{inputs}")
        if op is CONSTANT:
            value = params[0]
            if value.shape != type_.shape or value.dtype != type_.dtype:
                raise InvalidTape(f"v{number} is a constant of another type than stated", got=str(type_))
        elif op is GUARD:
            if params[0] not in GUARD_KINDS or params[2] <= last_ordinal:
                raise InvalidTape(f"v{number} is a guard out of order", got=str(params))
            last_ordinal = params[2] + width_of(params) - 1
        elif op is not INPUT:
            derived = op.infer(*(tape.instructions[i].type for i in inputs), **op.named(params))
            if derived != type_:
                raise InvalidTape(f"v{number} = {op.name} should be {derived}", got=str(type_))
    for name, ids in (("input", tape.inputs), ("output", tape.outputs)):
        if any(not 0 <= i < len(tape.instructions) for i in ids):
            raise InvalidTape(f"an {name} of the tape is not one of its values", got=str(ids))


def kept_with_tape(make: Callable[Concatenate[Tape, P], Made]) -> Callable[Concatenate[Tape, P], Made]:
    """Keep the results of a function with the tape that is its first argument; another is made for other arguments."""
    defaults, count = make.__defaults__ or (), make.__code__.co_argcount - 1

    @wraps(make)
    def kept(tape: Tape, *args: P.args, **named: P.kwargs) -> Made:
        key = make, *args, *defaults[len(defaults) + len(args) - count :], *named.items()
        if key not in tape.derived:
            tape.derived[key] = make(tape, *args, **named)
        return tape.derived[key]

    return kept


# A notebook keeps what it shows.
MOST_IN_NOTEBOOK = 100


def in_notebook(text: str) -> str:
    """A text as notebooks show it: as it is laid out, without wrapped lines."""
    import html

    return f'<pre style="overflow-x: auto; white-space: pre">{html.escape(text)}</pre>'


def listing(tape: Tape, most: int = 2000) -> str:
    """The tape as text, one instruction a line with the user's file and line; long tapes are cut in the middle."""
    lines = [f"tape of {tape.name}, {len(tape)} instructions, {tape.guard_count} guards"]
    head = tape.instructions[: most // 2] if len(tape) > most else tape.instructions
    lines += [_line(number, instruction) for number, instruction in enumerate(head)]
    if len(tape) > most:
        start = len(tape) - most // 2
        lines.append(f"  ... {start - len(head)} instructions ...")
        lines += [_line(start + k, i) for k, i in enumerate(tape.instructions[start:])]
    lines.append("return " + ", ".join(f"v{i}" for i in tape.outputs))
    return "\n".join(lines)


def _line(number: int, instruction: Instruction) -> str:
    op, inputs, params, type_, site = instruction
    if op is GUARD:
        text = f"  guard v{inputs[0]} is {describe(params[1])}"
    elif op is CONSTANT:
        value = params[0]
        shown = repr(value.item()) if value.size == 1 else f"array of {value.size}"
        text = f"  v{number}: {type_} = constant {shown}"
    else:
        arguments = [f"v{i}" for i in inputs]
        if op is INPUT:
            arguments = [str(params[0])]
        elif params:
            arguments += [f"{name}={_shorten(value)}" for name, value in op.named(params).items()]
        text = f"  v{number}: {type_} = {op.name}({', '.join(arguments)})"
    return f"{text:<60}  # {site}" if site is not None else text


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
