"""CompiledTape: a tape together with the native kernels made from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, SupportsIndex, overload

import numpy as np

from ..base.fork_locks import new_lock
from ..base.held_locks import holding
from ..base.settings import is_logged, log_made
from ..base.token import is_hashed_by_joblib, token_of
from ..compiler.runtime.status import PENDING
from ..errors import GuardFailed, hide_frames
from ..functions.callees.callee import with_dear_sides
from ..functions.captured.environment_check import EnvironmentCheck, stale_error
from ..ir.inputs import as_inputs
from ..ir.instruction import FLOAT_SCALAR, Operand, Tree, is_tracked
from ..ir.interpreter import GuardFailure, inline
from ..ir.outputs import Outs, check_out
from ..ir.pytree import ARRAY
from ..ir.tape import Tape
from ..recording.arguments.bind_call import positional
from ..recording.python_state.gc_pause import without_collections
from .backends import (
    NATIVE,
    check_backend,
    kernel_key,
    make_kernel,
    recalled_kernel,
    receive_code,
    sent_code,
    threads_of,
)
from .evaluate.call_code import GuardValue, raise_pending
from .evaluate.chosen import inputs_of
from .evaluate.direct_calls import DirectKernel, directly, form_of, leaf_forms
from .evaluate.evaluation import Evaluation, check_last, fitting, replayed
from .evaluate.fast_path import FIRST, unknown_yet
from .evaluate.function_types import Result
from .evaluate.like_function import like_tape
from .evaluate.request import Given, Request
from .evaluate.run_kernel import run_kernel
from .native.native_calls import NativeCalls
from .operators.gradients import value_and_aux
from .tapes.gradient_tape import gradient_tape, is_cheaper_alone
from .tapes.long_tapes import is_long, long_program
from .tapes.memory_budget import bytes_of, fitted
from .tapes.operator_tapes import Numbers, Operator, values_tape

if TYPE_CHECKING:
    from ..compiler.jit.linking import Sent
    from ..compiler.kernel import Kernel
    from .native.c_function import CFunction

Argnums = int | Sequence[int]

# The key of a kernel: the argnums of a gradient, an operator, or None for the value.
Key = tuple[int, ...] | Operator | None


class CompiledTape(NativeCalls, Generic[Result]):
    """A tape with native kernels: one for its value, and one for each set of argnums differentiated by.

    It is valid only where the recorded control flow holds, and raises GuardFailed elsewhere. It raises StaleTape if the function that
    td.compile recorded would read something else besides its arguments than it did then. Safe to use from several threads
    at once; long kernels release the interpreter lock.

    Attributes:
        tape: the recorded tape.
        backend: how it is compiled, "native" or "numba"; see td.compile.
        memory: the most bytes that a kernel may need besides its arguments and results; None for no limit. See td.compile.
        threads: how many threads may share the loops of a kernel; 0 if unset. See td.compile.
        seconds: time spent compiling so far.
        cause: why it is compiled, for the log; what a GuardedTape recorded the tape for.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_check",
        "_dtype",
        "_fast",
        "_fast_gradient",
        "_fast_value",
        "_kernels",
        "_lock",
        "_native",
        "_shape",
        "backend",
        "cause",
        "direct_calls",
        "memory",
        "seconds",
        "tape",
        "threads",
    )

    def __init__(
        self, tape: Tape, backend: str = NATIVE, memory: str | int | None = None, threads: int | None = None,
        check: EnvironmentCheck | None = None,
    ) -> None:  # fmt: skip
        self.tape, self.backend, self._check = tape, check_backend(backend), check
        self.memory, self.threads = bytes_of(memory, backend), threads_of(threads, backend)
        self.seconds = 0.0
        self.cause: object = "first use"
        self._kernels: dict[Key, Kernel] = {}
        self._lock = new_lock()
        self.forget_calls()
        first = tape.input_types[0] if tape.inputs else None
        self._shape = first.shape if first and self.tape.arguments is None and not self.tape.named_only else None
        self._dtype = first.dtype if first else np.dtype(float)

    @property
    def environment_check(self) -> EnvironmentCheck | None:
        """Checks that the function still reads what it read when it was recorded; None for a frozen function."""
        return self._check

    def refresh(self) -> None:
        """Raise StaleTape if the recorded function would read something else now; called unless a kernel has compared."""
        change = None if self._check is None else self._check.change()
        if change is not None:
            assert self._check is not None
            raise stale_error(self.tape.name, self._check, change)

    def _checked(self, call: Callable[..., Tree]) -> Callable[..., Tree]:
        """Wrap a kernel so that it refuses to run when the environment has changed."""
        return call if self._check is None else self._check.checked(call)

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The names of the arguments; empty for unnamed ones."""
        return self.tape.argument_names

    @property
    def named_only(self) -> int:
        """The number of keyword-only arguments, which come last."""
        return self.tape.named_only

    @property
    def name(self) -> str:
        """The recorded function's name."""
        return self.tape.name

    @overload
    def __call__(self: CompiledTape[None], *args: Tree, **named: Tree) -> Tree: ...  # a function that fills td.Output
    @overload
    def __call__(self, *args: Tree, **named: Tree) -> Result: ...
    def __call__(self, *args: Tree, **named: Tree) -> Tree:
        """The recorded function's value: a float, an array, or a container as the function returned it."""
        try:
            value = self._fast_value(*args) if not named else None
            if type(value) is float:
                return value
            if value == PENDING:
                raise_pending()
            found = directly(self, "value", FIRST, named, args)
            if found is not None:
                return found
            self.refresh()
            given = Given(self, args, FIRST, named, tuple(named))
            if named or self.tape.named_only:
                args = positional(self, args, named)
            if self.tape.aux is not None:
                return value_and_aux(self, args, given)
            inputs = as_inputs(self.tape, args)
            if any(map(is_tracked, inputs)):
                return self.tape.returned(inline(self.tape, inputs))
            found = Evaluation(self.run_unguarded(None, inputs), self.tape, (), self.run_unguarded, self.kernel)
            found.kernel = lambda _: self._direct_kernel(None, args)
            return found.remember("value", Request(args, (), given), found.value())
        except Exception as error:
            hide_frames(error)
            raise

    @property
    def source(self) -> str:
        """The loop program of the gradient kernel (of the value, where the tape has no gradient) as readable Python.

        With backend="numba" it is the text that numba has compiled.
        """
        return self.kernel(self._default()).source

    @property
    def workspace_bytes(self) -> int:
        """Memory that one call of the kernel in `source` needs besides its arguments and results, in bytes.

        Every call in progress has its own: up to 32 kB on the stack, more on the heap, where it is kept for the next call. What
        sub-tapes and the bodies of loops need comes on top.
        """
        return self.kernel(self._default()).workspace_bytes

    @property
    def kernels(self) -> Mapping[Key, Kernel]:
        """The kernels compiled so far."""
        return self._kernels

    def kernel(self, argnums: Key) -> Kernel:
        """The kernel of value and gradients by `argnums`, of an operator, or of the outputs alone for None; compiled at first use."""
        known = self._kernels.get(argnums)
        is_set = argnums != (0,) or self._fast is not unknown_yet or self.tape.arguments is not None or self.tape.named_only
        return known if known is not None and is_set else self._new_kernel(argnums)

    @holding("_lock")
    def _new_kernel(self, argnums: Key) -> Kernel:
        known = self._kernels.get(argnums)
        if known is None:
            started = time.perf_counter()
            known = without_collections(lambda: self._make_kernel(argnums))
            self.seconds += known.seconds
            if is_logged():
                log_made(f"compiled {_described(argnums)}", self.name, len(known.tape), time.perf_counter() - started, self.cause)
            # First of all, as `call` does not keep its code alive.
            self._kernels[argnums] = known
        # An interrupt may come before any line, and leave this to the next call.
        if self.tape.arguments is not None or self.tape.named_only:
            return known  # its arguments have another form
        if argnums == (0,):
            known.allow_constants()
            self._fast = self._checked(known.call)
        elif argnums is None and known.tape_outputs == (FLOAT_SCALAR,) and not known.returns_tuple and self.tape.aux is None:
            self._fast_value = self._checked(known.call)
        return known

    def _make_kernel(self, argnums: Key) -> Kernel:
        key = kernel_key(self.tape, argnums, self.threads) if self.backend == NATIVE and self.memory is None else None
        tape = self.tape  # the kernel holds it, and not what holds the kernel
        return recalled_kernel(key, lambda: _derived(tape, argnums), lambda: self._compiled(argnums), self.threads)

    def _compiled(self, argnums: Key) -> Kernel:
        long = None if isinstance(argnums, Operator) else long_program(self.tape, argnums)
        if self.memory is not None and (long is None or long[1].workspace_bytes > self.memory):
            long = fitted(self.tape, lambda tape: _derived(tape, argnums), self.memory, self.threads)[:2]
        tape, program = (_derived(self.tape, argnums), None) if long is None else long
        return make_kernel(self.backend, tape, program, self.threads)

    def _is_long(self, argnums: tuple[int, ...]) -> bool:
        """True if the kernel of value and gradient exists without a derivative tape."""
        return is_long(self.tape) and self.kernel(argnums).is_swept

    def _default(self) -> tuple[int, ...] | None:
        """The key of the kernel needed first: the gradient by the first argument, or the value if it has none."""
        tape = self.tape
        scalar = not tape.returns_tuple and tape.output_types[0].shape == () and tape.output_types[0].is_float
        return (0,) if scalar and 0 in tape.active_inputs else None

    def _direct_kernel(self, key: Key, args: Sequence[Tree]) -> DirectKernel:
        """The kernel for direct calls of this form."""
        kernel, types = self.kernel(key), iter(self.tape.input_types)
        trees = self.tape.arguments or (ARRAY,) * len(self.tape.inputs)
        leaf = leaf_forms(types)
        forms = tuple([form_of(tree, argument, leaf) for tree, argument in zip(trees, args)])
        # One object per kernel, as its identity is part of the key.
        call = kernel.call if self._check is None else self._check.calls.setdefault(key, self._checked(kernel.call))
        return DirectKernel(call, kernel, forms, len(self.tape.inputs))

    def _is_plain(self, key: Key) -> bool:
        """True if a kernel takes the arguments, and returns the results, without conversion."""
        kernel = self.kernel(key)
        is_exact = all(a.dtype == b.dtype for a, b in zip(kernel.output_types, kernel.tape_outputs))
        return is_exact and self.tape.arguments is None and not self.tape.named_only

    def operate(
        self, args: Sequence[Tree], argnums: Numbers, build: Callable[[Numbers], Operator], vectors: Sequence[Operand], outs: Outs,
        guarded: GuardValue | None = None,
    ) -> Evaluation:
        """See evaluation.evaluate."""
        self.refresh()
        inputs, operator = as_inputs(self.tape, args), build(inputs_of(self.tape, argnums))
        tape, key = operator.function(self.tape), operator
        is_tracked_call = any(map(is_tracked, (*inputs, *vectors)))
        if operator.is_gradient and not is_tracked_call:
            key = self._gradient_key(operator)
            self.kernel(key)
            check_out(outs, [self.tape.input_types[k] for k in operator.wrt])
            given = inputs
        else:
            derived = operator.tape(tape)
            check_last(outs, derived)
            given = [*inputs, *fitting(derived, len(inputs), vectors, self.tape.name)]
            if is_tracked_call:
                return Evaluation(inline(derived, given), tape, operator.wrt, replayed(self.tape))
        outputs = self.run_unguarded(key, given, outs)
        if operator.is_gradient and operator.wrt == (0,) and not operator.keep and (key == (0,) or self._is_plain(key)):
            self._fast_gradient = self._fast if key == (0,) else self._checked(self.kernel(key).call)
        found = Evaluation(outputs, tape, operator.wrt, self.run_unguarded, self.kernel)
        found.kernel = lambda _: self._direct_kernel(key, args)
        return found

    def _gradient_key(self, operator: Operator) -> Key:
        """The key of the kernel for a gradient: that of value and gradient, unless the gradient alone takes much less."""
        wrt = operator.wrt
        is_shared = operator.keep or self._is_long(wrt) or not is_cheaper_alone(self.tape.without_aux(), wrt)
        return wrt if is_shared else operator

    def run_operator(self, key: Key, inputs: Sequence[Operand], outs: Outs = None) -> list[Operand] | GuardFailure:
        """Run a kernel on inputs of exactly the recorded types, of any layout.

        Args:
            outs: checked arrays for the last outputs.

        Returns:
            All outputs, or the failure of a guard, with `outs` untouched.
        """
        return run_kernel(self.kernel(key), inputs, outs)

    def run_unguarded(self, key: Key, inputs: Sequence[Operand], outs: Outs = None) -> list[Operand]:
        """Like `run_operator`, where the path is known to hold or GuardFailed is raised; recorded if an input is tracked."""
        if isinstance(key, Operator) and any(map(is_tracked, inputs)):
            return inline(key.tape(self.tape), inputs)
        outputs = self.run_operator(key, inputs, outs)
        if isinstance(outputs, GuardFailure):
            raise self._guard_failed(outputs)
        return outputs

    def _new_vector_function(self) -> CFunction:
        return self.c_function("gradient")

    def __reduce__(self) -> tuple[object, ...]:
        # Kernels are made on demand, from the object code if the processor and the library versions match.
        description = {name: vars(self)[name] for name in _DESCRIPTION if name in vars(self)}
        code = sent_code(list(self._kernels.values()))
        return _unpickled, (self.tape, self.backend, description, code, self.memory, self.threads or None)

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        return (str, (self.__dask_tokenize__(),)) if is_hashed_by_joblib() else self.__reduce__()

    def __dask_tokenize__(self) -> str:
        return token_of("compiled", self.tape, self.backend)

    def __deepcopy__(self, _: object) -> CompiledTape:
        return self

    def _guard_failed(self, miss: GuardFailure) -> GuardFailed:
        guard = next(g for g in self.tape.guards if g.ordinal == miss.ordinal)
        return GuardFailed(at=guard.site, ordinal=miss.ordinal, recorded=guard.outcome, outcome=miss.outcome,
                           turn=self.tape.turns.get(miss.ordinal))  # fmt: skip

    def __repr__(self) -> str:
        return f"<CompiledTape of {self.tape.name}: {len(self.tape)} instructions, {self.tape.guard_count} guards>"


def _described(key: Key) -> str:
    """The results of a kernel by name, for the log."""
    if isinstance(key, Operator):
        return f"{getattr(key.make, '__name__', type(key.make).__name__)}, argument {', '.join(map(str, key.wrt))},"
    return "the value" if key is None else f"value and gradient, argument {', '.join(map(str, key))},"


def _derived(tape: Tape, argnums: Key) -> Tape:
    """The tape that a kernel computes."""
    if isinstance(argnums, Operator):
        made = argnums.tape(tape)
    else:
        made = values_tape(tape.without_aux()) if argnums is None else gradient_tape(tape, argnums)
    return with_dear_sides(made)


# A pickle's record of the compiled function, which other processes may not have.
_DESCRIPTION = ("__module__", "__qualname__", "__doc__")


def _unpickled(
    tape: Tape, backend: str, description: dict[str, str], sent: Sent | None = None, memory: int | None = None,
    threads: int | None = None,
) -> CompiledTape:  # fmt: skip
    receive_code(sent)
    compiled = CompiledTape(tape, backend, memory, threads)
    like_tape(compiled, tape)
    vars(compiled).update(description)
    return compiled
