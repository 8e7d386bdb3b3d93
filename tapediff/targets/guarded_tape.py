"""GuardedTape: a function with real Python branches, kept as one compiled tape per path and dispatched on guards."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Generic, SupportsIndex, overload

from ..base.token import is_hashed_by_joblib, token_of
from ..compiler.runtime.status import PENDING
from ..errors import ArgumentMismatch, hide_frames
from ..functions.captured.environment_check import EnvironmentCheck
from ..ir.instruction import FLOAT64, FLOAT_SCALAR, Operand, Tree, UserFunction, ValueType
from ..ir.outputs import Outs, as_number, check_out, deliver
from ..ir.serialize import State
from ..ir.tape import Tape
from ..recording.arguments.bind_call import bind_call, positional
from ..recording.arguments.static import Static
from ..recording.recorder import current_recorder
from .backends import NATIVE
from .compiled_tape import Key
from .evaluate.call_code import GuardValue, raise_pending
from .evaluate.direct_calls import directly
from .evaluate.evaluation import Evaluation, evaluate
from .evaluate.fast_path import FIRST
from .evaluate.function_types import Result
from .evaluate.like_function import like
from .evaluate.nested_recording import is_recorded, record_nested
from .evaluate.request import Given, Request
from .guarded.dispatch import Attempt, ShapeNeeded
from .guarded.keyed_call import GuardedFunction, KeyedCall
from .guarded.paths.recordings import AllRecordings
from .guarded.paths.sized_calls import cut
from .guarded.policy import Policy
from .guarded.state import SETTINGS, guarded_state, in_this_process, restore_guarded
from .guarded.variant import Variant
from .guarded_reports import GuardedReports
from .operators.gradients import value_and_aux
from .tapes.operator_tapes import Numbers, Operator

Argnums = int | Sequence[int]

# The attributes that hold the calls known so far, of the tapes for one environment.
_CALLS = ("_fast", "_fast_gradient", "_fast_value", "direct_calls", "_native")


class GuardedTape(GuardedReports, Generic[Result]):
    """A function with all paths through its Python branches compiled: mergeable paths share one tape, each of the others has its own.

    Values that decide branches that cannot be merged (docs/guards.md), or with merge=False all that Python looks at (`if`, `while`,
    `int(x)`, masks), are guards. A call runs the tape used last; if one of its guards differs, the tape for that outcome; and
    if there is none, f is recorded again and compiled.

    Args:
        f: the function, in plain NumPy; returns a real scalar for td.gradient, anything td.record takes for safe(x).
        guard: called as guard(*args) once per call, on plain floats and read-only arrays; tapes are kept apart by its
            value (None, bool, number, string, array, or a tuple, enum or frozen dataclass of these). Guards found
            by recording hold all the same.
        max_tapes: how many tapes to keep; a new one replaces the least recently used.
        compile_after: how many calls of a new tape are replayed with NumPy before it is compiled. Unless given 10 with
            on_new_tape="interpret"; else 0, or 1 where hardly any of at least four tapes has been used again.
        on_new_tape: what to do at a call without a tape. "compile": record and compile one. "interpret": record one
            and replay it with NumPy, at once. "warn": as "compile", with a GuardWarning for each tape after the
            first. "raise": NewTape, once there is a tape. May be set later, as `safe.on_new_tape = "raise"` after a warm-up.
        check_every: every so many calls the plain function is run as well as its tape, once more and on plain arrays; 0 is never.
        name: of the function, in messages.
        static: td.static(...), the arguments to specialise on: a tape is kept for each value that they take.
        backend: how tapes are compiled, "native" or "numba"; see td.compile.
        has_aux: f returns (y, aux), and so does safe(x); see td.compile.
        memory: the most bytes that a kernel of a tape may need besides arguments and results; see td.compile.
        threads: how many threads may share one gradient; see td.compile.
        sizes: the arguments of a call, with td.spec in place of arrays whose sizes vary: one tape serves them from the first call on.
        merge: True if a recording holds all paths that can be merged: both sides of a branch on data are run and their
            states joined, so that one tape serves them; see docs/guards.md. False: each path has a tape of its own.
        check_contents: how arrays and containers that f reads from outside are compared at each call: "sample": up to 1 kB whole; of larger
            arrays 17 numbers, and another kB at every 16th call; "always": whole; "off": not at all.
        frozen: True if f stays as it was when it was recorded, whatever happens to the values it reads from outside.

    Raises:
        UnstableBranch: with on_new_tape="raise", two tapes disagree about a near tie; or the function reached other branches when it was
            recorded again at the same point.
        InvalidGuardValue: the guard returned something that cannot be a key.
        NewTape: with on_new_tape="raise", no kept tape will do; the kept ones stay as they are.
        StaleTape: at a check, the function gave another value than its tape, by more than rounding.

    Inside a recording, and on tracked arguments, f runs as itself: its operations and guards become part of that
    recording. What f reads besides its arguments (globals, closures, attributes, entries, functions) is constant on its tapes. If it has
    changed at a call, f is recorded again, or the tapes of these values are reused. Random numbers, clocks and files stay as they
    were recorded, and so does what f itself changes; check_every notices when these change. Safe to use from several threads at once.

    Sizes of arrays are data from their second value on: arrays of other lengths, of at least 2, take the same tape; see docs/sizes.md.

    An int argument is data from its second value on, and Python's arithmetic with it is recorded: a step number costs recordings only
    for its paths. If Python needs its value, as for range(t), it is specialised on, and f is recorded again for each value.

    Cost: comparing what f reads takes 0.01 to 0.02 µs for each name or array. A hit takes 0.02 to 0.07 µs more than the compiled tape's
    own call, with `guard` 0.5 µs plus its own time; a hit on another path that was seen before, a partial run of the tape used last
    more. Containers, lists and other operators take a few µs. A new path costs one recording and one compilation; a check costs one
    call of f and one NumPy replay.
    """

    def __init__(
        self, f: Callable[..., Result], guard: UserFunction | None = None, *,
        max_tapes: int = 64, compile_after: int | None = None, name: str | None = None,
        on_new_tape: str = "compile", check_every: int = 0, static: Static | None = None,
        backend: str = NATIVE, has_aux: bool = False, merge: bool = True,
        memory: str | int | None = None, threads: int | None = None, check_contents: str = "sample", frozen: bool = False,
        sizes: Sequence[Tree] = (),
    ) -> None:  # fmt: skip
        if not callable(f) or isinstance(f, (Tape, GuardedTape)) or hasattr(f, "run_unguarded"):
            raise ArgumentMismatch("td.GuardedTape takes the plain function, which it records itself",
                                   got=type(f).__name__, fix="td.GuardedTape(f)")  # fmt: skip
        if guard is not None and not callable(guard):
            raise ArgumentMismatch("guard must be a function of f's arguments", got=type(guard).__name__,
                                   fix="td.GuardedTape(f, guard=lambda x: x[0] > 1)")  # fmt: skip
        name_given = name or getattr(f, "__name__", type(f).__name__)
        function = self._function = GuardedFunction(f if static is None else static(f), guard, name_given, has_aux)
        policy = self._policy = Policy(
            max_tapes, compile_after, on_new_tape, check_every, backend, merge, memory, threads, check_contents, frozen
        )
        if not isinstance(sizes, (tuple, list)):
            raise ArgumentMismatch("sizes= takes the arguments of a call", got=repr(sizes)[:60], fix=f"sizes=({sizes!r},)")
        if sizes:
            function.declare(sizes)
        self._recordings = AllRecordings(function, policy)
        self.forget_calls()
        self._shape: tuple[int, ...] | None = None
        self._dtype = FLOAT64
        like(self, f)

    @property
    def environment_check(self) -> EnvironmentCheck | None:
        """Checks that the function reads the same as when the tapes in use were recorded."""
        return self._recordings.current.check

    def refresh(self) -> None:
        """Switch to the tapes for the present environment; called before every result that does not come from a kernel directly."""
        if self._policy.frozen or current_recorder() is not None:
            return
        check = self._recordings.current.check
        if check is None or not check.is_unchanged():
            self._compare()

    def _compare(self) -> None:
        with self._recordings.lock: return self._compared()  # noqa: E701 -- see base/held_locks.py

    def _compared(self) -> None:
        change = self._recordings.changed()
        if change is None:
            return
        self._recordings.current.calls = {name: getattr(self, name) for name in _CALLS}
        now = self._recordings.take(change)
        self.forget_calls()
        for name, known in now.calls.items():
            setattr(self, name, known)

    # Settings

    @property
    def f(self) -> UserFunction:
        """The plain function."""
        return self._function.f

    @property
    def guard(self) -> UserFunction | None:
        """The user's guard."""
        return self._function.guard

    @property
    def max_tapes(self) -> int:
        """How many tapes to keep."""
        return self._policy.max_tapes

    @property
    def check_every(self) -> int:
        """Every so many calls the plain function is run as well as its tape; 0 is never."""
        return self._policy.check_every

    @property
    def compile_after(self) -> int:
        """How many calls of a new tape are replayed with NumPy before it is compiled."""
        return self._policy.compile_after

    @property
    def on_new_tape(self) -> str:
        """What to do at a call without a tape: "compile", "interpret", "raise" or "warn"."""
        return self._policy.on_new_tape

    @on_new_tape.setter
    def on_new_tape(self, chosen: str) -> None:
        self._policy.on_new_tape = chosen

    # Calls

    @overload
    def __call__(self: GuardedTape[None], *args: Tree, **named: Tree) -> Tree: ...  # a function that fills td.Output
    @overload
    def __call__(self, *args: Tree, **named: Tree) -> Result: ...
    def __call__(self, *args: Tree, **named: Tree) -> Tree:
        """The function's value: a float, an array, or a tuple as f returns it."""
        try:
            if not named and current_recorder() is None:
                value = self._fast_value(*args)
                if type(value) is float:
                    return value
                if type(value) is GuardValue:
                    return self._value(args, named, value)
                if value == PENDING:
                    raise_pending()
            found = directly(self, "value", FIRST, named, args)
            if found is None or type(found) is GuardValue:
                return self._value(args, named, found)
            return found
        except Exception as error:
            hide_frames(error)
            raise

    def _value(self, args: tuple[Tree, ...], named: dict[str, Tree], guarded: GuardValue | None) -> Tree:
        """The full path of a value."""
        self.refresh()
        given = Given(self, args, FIRST, named, tuple(named))
        if named:
            args = positional(self.f, args, named)
        if is_recorded(args):
            bound = bind_call(self.f, args, ())
            return bound.function(*bound.inputs)
        if self._function.has_aux:
            return value_and_aux(self, args, given)
        call = self._function.call(args, (), () if guarded is None else (guarded.value,), with_sizes_as_data=self._policy.merge)
        call, variant, found = self._dispatch.answer(call, lambda call: self._dispatch.attempt(call, None))
        self._use_fast_value(call, variant)
        found.kernel, known = lambda _: self._direct.kernel(call, variant, None), found.value()
        known = known._replace(leaves=[*map(as_number, known.leaves[:1]), *known.leaves[1:]])
        return found.remember("value", Request(args, (), given), known)

    def operate(
        self, args: Sequence[Tree], argnums: Numbers, build: Callable[[Numbers], Operator], vectors: Sequence[Operand], outs: Outs,
        guarded: GuardValue | None = None,
    ) -> Evaluation:
        """See evaluation.evaluate."""
        self.refresh()
        if is_recorded((*args, *vectors)):
            return evaluate(self.f, args, argnums, build, vectors, outs, self._function.has_aux)
        guard_value = () if guarded is None else (guarded.value,)
        call = self._function.call(args, argnums, guard_value, with_sizes_as_data=self._policy.merge)
        operator = build(call.bound.argnums)
        is_gradient = operator.is_gradient
        if is_gradient:
            inputs = (call.bound.plain or call.bound).inputs
            check_out(outs, [ValueType(inputs[k].shape, inputs[k].dtype) for k in operator.wrt])
        elif call.differentiates_sizes:
            call = self._function.again(call)

        def key_of(call: KeyedCall) -> Key:
            operator = build(call.bound.argnums)
            return operator.wrt if is_gradient else operator

        def attempts(call: KeyedCall) -> Attempt:
            return self._dispatch.attempt(call, key_of(call), vectors, None if is_gradient and call.extents is not None else outs)

        try:
            call, variant, found = self._dispatch.answer(call, attempts)
        except ShapeNeeded:
            call, variant, found = self._dispatch.answer(self._function.again(call), attempts)
        if is_gradient:
            self._finish_gradient(call, variant, found, outs)
        if found.kernel_of is not None and (is_gradient or self.guard is None):
            found.kernel = lambda alone: self._direct.kernel(call, variant, key_of(call), alone=alone)
        return found

    def _finish_gradient(self, call: KeyedCall, variant: Variant, found: Evaluation, outs: Outs) -> None:
        """Cut gradients to the sizes of a call, and let the next calls of this kind take the fast path."""
        if call.bound.plain is not None:
            shapes = [call.bound.plain.inputs[k].shape for k in found.wrt]
            found.outputs[1:] = deliver(list(map(cut, found.outputs[1:], shapes)), outs)
        if found.wrt == (0,) and (variant.is_direct or call.extents is not None) and self._direct.answers(variant):
            self._use_fast_path(call, variant)

    def is_of_sizes(self, args: Sequence[Tree]) -> bool:
        """True if the value and gradient at `args` come from a tape for many sizes."""
        return self._policy.merge and self._function.call(args, (0,), with_sizes_as_data=True).extents is not None

    def tape_for(self, args: Sequence[Tree]) -> tuple[Tape, list[Operand]]:
        """The tape whose path holds at `args`, and its inputs there, for any operator.

        NumPy's replay decides its guards, as it will for the derived tapes.
        """
        self.refresh()
        if is_recorded(args):
            return record_nested(bind_call(self.f, args, (), has_aux=self._function.has_aux))
        call, variant, _ = self._replayed(self._function.call(args, ()))
        return variant.program.tape, [*call.bound.inputs, *variant.constants]

    def _use_fast_path(self, call: KeyedCall, variant: Variant) -> None:
        """Make the next call of this kind take the fast path."""
        if call.extents is not None:
            fast = self._direct.fast_call_of_sizes(call, variant)
        elif (asking := self.asking_call(variant)) is not None:
            fast = self._recordings.current.checked(asking)
        else:
            fast = self._direct.fast_call(call, variant, (0,))
        if fast is not None:
            self._shape, self._dtype = variant.tape.input_types[0].shape, variant.tape.input_types[0].dtype
            self._fast = self._fast_gradient = fast

    def _use_fast_value(self, call: KeyedCall, variant: Variant) -> None:
        """Make the next call of the value take the fast path, if the value is a number."""
        tape = variant.program.tape
        is_number = tape.output_types == (FLOAT_SCALAR,) and not tape.returns_tuple
        if is_number and variant.is_direct and call.extents is None and self._direct.answers(variant):
            self._fast_value = self._direct.fast_call(call, variant, None)

    # Copies, in this process and in others; hashes

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        return (str, (self.__dask_tokenize__(),)) if is_hashed_by_joblib() else super().__reduce_ex__(protocol)

    def __dask_tokenize__(self) -> str:
        """Hash the function with its closure, and the settings; the tapes kept so far do not matter."""
        settings = self._policy.compile_after_given, *(getattr(self._policy, name) for name in SETTINGS)
        return token_of("guarded", self.f, self.guard, self._function.has_aux, settings)

    def __getstate__(self) -> State:
        return guarded_state(self._function, self._policy, self._recordings)

    def __setstate__(self, state: State) -> None:
        self._restore(in_this_process(state["f"]), in_this_process(state["guard"]), state)

    def __deepcopy__(self, memo: dict[int, object]) -> GuardedTape:
        copied = memo[id(self)] = GuardedTape.__new__(GuardedTape)
        # The function is not copied; a method is bound to the copied object.
        state = {**self.__getstate__(), "static": None}
        copied._restore(copy.deepcopy(self.f, memo), copy.deepcopy(self.guard, memo), state)
        return copied

    def _restore(self, f: UserFunction, guard: UserFunction | None, state: State) -> None:
        GuardedTape.__init__(self, f, guard, static=state["static"], **state["settings"])
        restore_guarded(self._function, self._policy, self._recordings, state)

    def __repr__(self) -> str:
        return f"<GuardedTape of {self.name}: {len(self._cache.all())} tapes; {self.stats}>"
