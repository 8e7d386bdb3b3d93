"""Evaluate an operator at a point: select the target's tape that holds there, and run the operator's tape of it.

Compiled targets run its kernel, others use NumPy. Within a recording, its instructions become part of the recording.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ArgumentMismatch, DtypeMismatch, ShapeMismatch
from ...ir.arguments import unwrap
from ...ir.inputs import as_inputs
from ...ir.instruction import Operand, Target, Tree, ValueType, is_tracked
from ...ir.interpreter import inline, run
from ...ir.outputs import Out, Outs, as_number, check_out, deliver
from ...ir.pytree import ARRAY, TreeDef, static_leaf
from ...ir.tape import Tape
from ...recording.arguments.bind_call import bind_call
from ...recording.recorder import current_recorder
from ..tapes.gradient_tape import gradient_tape_in_use, joint_tape
from ..tapes.operator_tapes import Numbers, Operator
from .call_code import GIVEN, GuardValue
from .chosen import Chosen, inputs_of
from .direct_calls import DirectCalls, DirectKernel, KernelAnswer, joined, tuple_of
from .nested_recording import record_nested
from .request import Request
from .shared_programs import is_small, programs_of

if TYPE_CHECKING:
    from ...compiler.kernel import Kernel

Run = Callable[[Operator, Sequence[Operand]], list[Operand]]


class Evaluation:
    """An operator at a point: its outputs, and access to further operators at the same point.

    Attributes:
        outputs: of the operator's tape.
        tape: the function's own tape at the point, without aux unless that was asked for.
        wrt: the inputs of the tape to differentiate by; several for a container.
        run: run(operator, inputs) returns the outputs of another operator of `tape`.
        kernel_of: the kernel of an operator of `tape`, if a kernel gave the outputs: they are new arrays, and the caller's have theirs.
        kernel: returns this kernel for direct calls, if possible; kernel(True) for calls on this path only.
    """

    __slots__ = ("kernel", "kernel_of", "outputs", "run", "tape", "wrt")

    def __init__(
        self, outputs: list[Tree], tape: Tape, wrt: Numbers, run: Run, kernel_of: Callable[[Operator], Kernel] | None = None
    ) -> None:  # fmt: skip
        self.outputs, self.tape, self.wrt, self.run, self.kernel_of = outputs, tape, wrt, run, kernel_of
        self.kernel: Callable[[bool], DirectKernel] | None = None

    def remember(
        self, verb: Hashable, asked: Request, answer: KernelAnswer, vectors: Sequence[tuple[TreeDef, Tree]] = (),
        out: tuple[TreeDef, Tree] | None = None, *, is_of_one_path: bool = False,
    ) -> Tree:  # fmt: skip
        """Return the result to the caller, and let the next calls of the verb run the kernel directly if possible. See DirectCalls."""
        kernel = self.kernel
        if kernel is not None:
            calls: DirectCalls = asked.given.target.direct_calls  # pyright: ignore[reportAttributeAccessIssue]  # those with kernels have them
            calls.remember(verb, asked.given, lambda: kernel(is_of_one_path), answer, vectors, out)
        return answer.result()

    def delivered(self, results: Sequence[Operand], outs: Outs = None) -> Sequence[Operand]:
        """Copy results into new arrays, or into the caller's."""
        if self.kernel_of is not None:
            return tuple(results) if outs is None else outs
        return deliver(results, outs)

    def value(self) -> KernelAnswer:
        """The function's results, which are the first outputs."""
        tree = results_tree(self.tape, self.tape.value_count)
        values = self.delivered(self.outputs[: self.tape.value_count])
        return KernelAnswer(tree, range(len(values)), values if self.tape.returns_tuple else [as_number(values[0])])

    def derivatives(self, chosen: Chosen, first: int, out: Out = None, *, as_scalars: bool = False) -> KernelAnswer:
        """Outputs from `first` on, one for each chosen array, written to `out` if given.

        Args:
            as_scalars: single numbers are NumPy scalars; else Python's.
        """
        count = len(self.wrt)
        found = self.delivered(self.outputs[first : first + count], chosen.outs(out))
        if out is not None:
            return KernelAnswer(ARRAY, (GIVEN,), (out,))
        return KernelAnswer(chosen.tree, range(first, first + count), scalars(found) if as_scalars else chosen.plain(found))

    def aux(self) -> KernelAnswer:
        """The function's aux."""
        assert self.tape.aux is not None, "the operator has asked for it"
        numbers = range(self.tape.value_count, len(self.tape.outputs))
        return KernelAnswer(self.tape.aux, numbers, [as_number(v) for v in self.delivered(self.outputs[numbers.start : numbers.stop])])

    def with_aux(self, has_aux: bool, first: KernelAnswer, *rest: KernelAnswer) -> KernelAnswer:
        """The results of an operator; `first` becomes (first, aux) if aux was asked for."""
        first = joined([first, self.aux()]) if has_aux else first
        return joined([first, *rest]) if rest else first


def scalars(results: Sequence[Operand]) -> list[Operand]:
    """Results with NumPy scalars in place of Python floats, which a kernel's first result is."""
    return [np.float64(value) if type(value) is float else value for value in results]


def results_tree(tape: Tape, count: int) -> TreeDef:
    """The structure of a tape's results; or of one item per float result, for this many."""
    if not tape.returns_tuple:
        return ARRAY
    return tuple_of([ARRAY] * count) if tape.result is None else tape.result


def floats_tree(tape: Tape) -> TreeDef:
    """The structure of the derivatives of a tape's results: in containers, None stands for those of ints and bools."""
    if not tape.returns_tuple:
        return ARRAY
    is_float = iter([type_.is_float for type_ in tape.output_types[: tape.value_count]])

    def floats_of(tree: TreeDef) -> TreeDef:
        if tree.kind is None:
            return ARRAY if next(is_float) else static_leaf(None)
        return TreeDef(tree.kind, tree.keys, tuple(map(floats_of, tree.parts)))

    return floats_of(results_tree(tape, tape.value_count))


def replayed(tape: Tape) -> Run:
    """A function that runs operators of a tape with NumPy."""
    return lambda operator, inputs: replay(operator.tape(tape), inputs)


def replay(tape: Tape, inputs: Sequence[Operand]) -> list[Operand]:
    """Evaluate with NumPy, or record if an input is tracked."""
    return inline(tape, inputs) if any(map(is_tracked, inputs)) else run(tape, inputs)


def traced(target: Target, args: Sequence[Tree], argnums: Numbers, has_aux: bool = False) -> tuple[Tape, list[Operand], Numbers]:
    """Record a function or Tape at `args`; return the tape, its inputs there, and the argnums among them.

    Args:
        has_aux: a function returns (y, aux).
    """
    if isinstance(target, Tape):
        return target, as_inputs(target, args), inputs_of(target, argnums)
    if not callable(target):
        raise ArgumentMismatch("the target of a derivative must be callable or a tape", got=type(target).__name__,
                               fix="pass the function itself: td.gradient(f, x)")  # fmt: skip
    call = bind_call(target, args, argnums, has_aux=has_aux)
    tape, inputs = record_nested(call)
    programs = programs_of(target) if current_recorder() is None else None
    if programs is not None and is_small(tape):
        # Recorded again at every call; nearly always only constants differ.
        program = programs.of(tape)
        tape, inputs = program.tape, [*inputs, *program.constants(tape)]
    return tape, inputs, call.argnums


def evaluate(
    target: Target, args: Sequence[Tree], argnums: Numbers, build: Callable[[Numbers], Operator], vectors: Sequence[Operand] = (),
    outs: Outs = None, has_aux: bool = False, guarded: GuardValue | None = None,
) -> Evaluation:  # fmt: skip
    """Evaluate an operator of any target at a point.

    Args:
        argnums: the arguments to differentiate by, counted from the front.
        build: makes the operator from the positions of these arguments among a tape's inputs.
        vectors: the tangents or cotangents.
        outs: the caller's arrays for the last outputs; checked here.
        has_aux: a function returns (y, aux); other targets know this.
        guarded: the value of a GuardedTape's guard if it was called already.
    """
    operate = getattr(target, "operate", None)
    if operate is not None:
        return operate(args, argnums, build, vectors, outs, guarded)
    tape, inputs, wrt = traced(target, args, argnums, has_aux)
    operator = build(wrt)
    tape = operator.function(tape)
    given: Sequence[Operand] = ()
    if operator.is_gradient:
        make = joint_tape if isinstance(target, Tape) else gradient_tape_in_use
        derived = make(tape, operator.wrt, operator.keep)
    else:
        derived = operator.tape(tape)
        given = fitting(derived, len(tape.inputs), vectors, tape.name)
    check_last(outs, derived)
    return Evaluation(replay(derived, [*inputs, *given]), tape, operator.wrt, replayed(tape))


def evaluate_request(
    asked: Request, chosen: Chosen, make: Callable[..., Tape], keep: bool = False, vectors: Sequence[Operand] = (),
    outs: Outs = None, guarded: GuardValue | None = None, *, batch: int | None = None, mode: str | None = None,
) -> Evaluation:  # fmt: skip
    """Evaluate the operator that a request asks for, by the chosen arguments; see `evaluate` and Operator."""
    has_aux = asked.has_aux

    def build(wrt: Numbers) -> Operator:
        return Operator(make, chosen.inputs(wrt), keep or has_aux, batch, len(vectors), mode, has_aux, chosen.parts)

    return evaluate(asked.given.target, asked.args, chosen.numbers, build, vectors, outs, has_aux, guarded)


def check_last(outs: Outs, derived: Tape) -> None:
    """Raise if the caller's arrays do not fit the last outputs of a tape."""
    if outs is not None:
        check_out(outs, derived.output_types[len(derived.outputs) - len(outs) :])


def fitting(derived: Tape, first: int, vectors: Sequence[Operand], name: str) -> list[Operand]:
    """Convert tangents or cotangents to the types of a tape's inputs from `first` on.

    Raises:
        ArgumentMismatch, ShapeMismatch: their number or a shape differs.
    """
    types = derived.input_types[first:]
    if len(types) != len(vectors):
        raise ArgumentMismatch(
            f"a derivative of {name} takes {len(types)} tangents or cotangents", got=f"{len(vectors)}",
            fix="pass one for each argument that is differentiated, or for each result",
        )  # fmt: skip
    return [_fitting(vector, type_, name) for vector, type_ in zip(vectors, types)]


def _fitting(vector: Operand, type_: ValueType, name: str) -> Tree:
    vector = unwrap(vector)
    given = vector.shape if is_tracked(vector) else np.shape(vector)
    if given != type_.shape:
        raise ShapeMismatch(
            f"a tangent or cotangent for {name} has another shape than its argument or result",
            got=f"{given} for {type_.shape}", fix="pass an array of that shape; of many, with one more axis in front",
        )  # fmt: skip
    if is_tracked(vector):
        return vector
    if np.iscomplexobj(vector):
        raise DtypeMismatch(f"a tangent or cotangent for {name} is complex", got=str(np.asarray(vector).dtype),
                            fix="the derivative is linear: take it along v.real and v.imag")  # fmt: skip
    return np.asarray(vector, type_.dtype)[()]


