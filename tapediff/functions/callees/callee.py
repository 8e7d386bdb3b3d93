"""Callees: the functions that CALL and LOOP instructions run. Each has one variant (tape) for each path; all have the same types.

The variants of a DerivedCallee are pullbacks of another callee's, with the same numbers. A TapeCallee has one variant. For callees
that record their variants see recorded_callee. New callees are replayed with NumPy, used ones run as native code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...base.settings import is_logged, log_made
from ...base.source_location import user_site
from ...errors import InvalidTape, LoopTooLong, RecursionTooDeep
from ...ir.instruction import GUARD, INPUT, Operand, Params, Primitive, ValueType
from ...ir.interpreter import GuardFailure, run
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape, kept_with_tape
from ...ops.arrays.shape import BROADCAST
from ...ops.control.calls import CALL, CALL_VARIANT, LOOP, RECALL, LoopCotangents, LoopFlow, LoopForm, loop_with_numpy
from ...recording.finish import finished_tape
from ...recording.recorder import Recorder
from ...transforms.cotangents import MAYBE_DISCARDED, NONZERO
from .path_trie import PathEntry

if TYPE_CHECKING:
    from ...compiler.runtime.call_frame import ArgumentLayout
    from ...compiler.runtime.callees.native_callee import NativeKernel

# NumPy runs this many calls and iterations of a callee before it is compiled, which takes as long as a few hundred.
NUMPY_ANSWERS = 100
# NumPy runs this many operations of a while loop before it is compiled, which takes as long as ten times as many.
MOST_WITH_NUMPY = 3000
# But at least this many iterations: one of thousands of operations takes as long to compile as NumPy takes for a hundred.
_LEAST_ITERATIONS = 40

# False: replays never run callees as native code. The tests compare both.
NATIVE = True

# Held while any callee's variants change. One lock for all: recordings call other callees, so several would be taken in two orders.
LOCK = new_lock()

Made = TypeVar("Made")


class Callee:
    """A function of several arrays with several variants.

    Attributes:
        name: in messages.
        in_types, out_types: of its arguments and results; out_types is None until the first variant is recorded.
        stops: its last result says whether to continue the while loop that it is the body of.
        is_compiled: whether it may run natively; if not, Python runs every call.
        native: the native side, made when first needed.
        is_pure: equal inputs give equal results, so that equal calls may be one.
        may_branch: a call may take another path than the recorded one.
        is_merged: paths of its body were joined.
        is_test: it decides if a while loop begins.
        is_side: whoever selects among results ignores those of its variant 0.
        extends: the callee that it was made from, and whose results come first in its own.
    """

    is_pure = True
    may_branch = False
    is_merged = False
    is_test = False
    is_side = False

    def __init__(
        self, name: str, in_types: Sequence[ValueType], *, stops: bool = False, is_compiled: bool = True
    ) -> None:
        self.name = name
        self.in_types = tuple(in_types)
        self.out_types: tuple[ValueType, ...] = ()
        self.stops, self.is_compiled = stops, is_compiled
        self.native: Any = None
        self.extends: Callee | None = None
        self._numpy_left = NUMPY_ANSWERS
        self._derived: dict[Hashable, Any] = {}
        self._tapes: dict[Hashable, Tape] = {}

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "native": None, "_numpy_left": NUMPY_ANSWERS, "_derived": {}, "_tapes": {}}

    def __deepcopy__(self, _: object) -> Self:
        return self  # its paths serve all copies of its callers

    # For native code

    def variant_tape(self, number: int) -> Tape:
        """Return the tape of a variant to compile: with guards where the callee decides the path, else without."""
        return prepared_once(self.guarded_tape(number))

    def guarded_tape(self, number: int) -> Tape:
        """The tape of a variant before it is prepared, with its Python loops as loops."""
        raise NotImplementedError

    def plain_tape(self, number: int, inputs: Sequence[Operand] | None) -> Tape:
        """Return a variant's tape without guards. `inputs`: where it ran, to record a dropped variant again."""
        raise NotImplementedError

    def missed(self, number: int | None, miss: GuardFailure | None, inputs: Sequence[Operand]) -> int:
        """Return the variant to try after a guard of `number` failed, or the first one; record it if there is none."""
        return 0

    def answer(self, number: int | None, inputs: Sequence[Operand]) -> tuple[list[Operand], int]:
        """Evaluate with NumPy by the given variant or the one whose path holds; return the results and its number."""
        ran = number or 0
        return run(self.plain_tape(ran, inputs), inputs), ran

    def loop_kernel(self, number: int, layout: ArgumentLayout) -> Callable[[], NativeKernel]:
        """Compiles a variant for loops that feed it in a certain way."""
        # Imported when something is first compiled, so that `import tapediff` stays fast.
        from ...compiler.loop_kernel import LoopKernel

        tape = with_dear_sides(self.variant_tape(number))
        if (tape.input_types, tape.output_types) != (self.in_types, self.out_types):
            # Native code would write beyond the room that its callers made for it.
            raise InvalidTape(f"a variant of {self.name} has other types than the first", got=str(tape.output_types))
        def compiled() -> LoopKernel:
            kernel = LoopKernel(tape, layout)
            if is_logged():
                log_made(f"compiled path {number}", self.name, len(tape), kernel.seconds, "first call or loop of it in a kernel")
            return kernel

        return compiled

    def failed(self, status: int) -> Exception:
        """The exception for a status code that only this callee's native code returns."""
        raise NotImplementedError

    def may_compile(self, number: int) -> bool:
        """True if a variant is worth compiling; otherwise Python runs it."""
        return True

    def known_paths(self) -> dict[int, PathEntry | None]:
        """The variants by number, as entries of the path trie; None for a variant without a path of its own."""
        return {0: None}

    def _made_once(self, what: str, number: int, make: Callable[[], Tape]) -> Tape:
        """A tape of a variant, made once if the variant is worth compiling."""
        known = self._tapes.get((what, number))
        if known is None:
            known = make()
            if self.may_compile(number):
                self._tapes[what, number] = known
        return known

    # Runs

    def run(self, number: int | None, values: Sequence[Operand]) -> tuple[list[Operand], int]:
        """One call, natively once the callee has been used a few times."""
        if not (self.is_compiled and NATIVE) or self._numpy_left > 0:
            self._numpy_left -= 1
            try:
                return self.answer(number, values)
            except RecursionTooDeep:
                raise
            except RecursionError as error:
                # Deep in a recursion there may be no stack left for this either; then a caller raises it.
                raise RecursionTooDeep(self.name, user_site()) from error
        if number is None:
            *outputs, ran = _native(CALL, (self,), values)
            return outputs, int(ran)
        return list(_native(CALL_VARIANT, (self,), [np.int64(number), *values])), number

    def run_loop(self, form: LoopForm, values: Sequence[Operand]) -> tuple[Operand, ...]:
        """Run a loop, natively unless it is short and the callee new."""
        if self.is_compiled and NATIVE:
            length = form.length
            if length is None and not form.stops:
                length = int(values[form.leading - 1])
            if length is None:
                found = self._short_loop(form, values)
                return _native(LOOP, (self, form), values) if found is None else found
            if length > self._numpy_left:
                return _native(LOOP, (self, form), values)
            self._numpy_left -= length
        return np.errstate(all="ignore")(loop_with_numpy)(self, form, values)

    def _short_loop(self, form: LoopForm, values: Sequence[Operand]) -> tuple[Operand, ...] | None:
        """Run a short while loop with NumPy. None for other loops, and for those that turn out longer."""
        tape = self.only_tape()
        if tape is None or LOOP in tape.ops or CALL in tape.ops or self._numpy_left <= 0:
            return None
        most = min(self._numpy_left, max(_LEAST_ITERATIONS, MOST_WITH_NUMPY // max(1, len(tape))))
        if most < 1 or (form.most is not None and form.most <= most):
            return None
        self._numpy_left -= most
        try:
            return np.errstate(all="ignore")(loop_with_numpy)(self, replace(form, most=most, failure=None), values)
        except LoopTooLong:
            return None

    # Derivatives

    def pullback(self, wrt: tuple[int, ...], seeds: tuple[int, ...], maybe_discarded: bool) -> DerivedCallee:
        """The callee that maps the inputs, and cotangents of the results `seeds`, to cotangents of the inputs `wrt`."""
        from ...passes.pipeline import PREPARE, run_passes
        from ...transforms.reverse import pullback

        in_types = (*self.in_types, *(self.out_types[k] for k in seeds))
        out_types = tuple(self.in_types[k] for k in wrt)
        used = range(len(self.in_types))
        given = dict.fromkeys(seeds, MAYBE_DISCARDED if maybe_discarded else NONZERO)
        make = lambda tape: pullback(run_passes(tape, PREPARE), wrt, given).tape  # noqa: E731 -- its name is its use
        return self._derive((wrt, seeds, maybe_discarded), in_types, out_types, used, make)

    def loop_flow(self, which: LoopCotangents, given: tuple[int, ...]) -> LoopFlow:
        """Trace cotangents through a loop; the last values of the carries `given` have cotangents."""
        from ...passes.pipeline import PREPARE, run_passes
        from ...transforms.reverse_loop import loop_flow, whole_flow

        tape = self.only_tape()
        if tape is None:
            return whole_flow(self.in_types, which)
        return self.once(("flow", which, given), lambda: loop_flow(run_passes(tape, PREPARE), which, given))

    def only_tape(self) -> Tape | None:
        """The tape of the only possible variant; None if there may be others."""
        return None

    def only_path(self) -> Tape | None:
        """The tape of the only variant so far, with its guards; None if there are several, or calls that may have several."""
        return self.only_tape()

    def loop_pullback(self, which: LoopCotangents) -> DerivedCallee:
        """One iteration of the reverse pass of a loop; see transforms.reverse_loop."""
        from ...passes.pipeline import PREPARE, run_passes
        from ...transforms.reverse_loop import iteration_pullback, iteration_types

        in_types, out_types = iteration_types(self.in_types, self.out_types, which)
        first = len(out_types) - len(which.wrt_streams)
        used = (
            *range(first, first + which.carries + which.streams),
            *range(len(in_types))[len(in_types) - self._constants(which) :],
        )
        return self._derive(
            which, in_types, out_types, used, lambda tape: iteration_pullback(run_passes(tape, PREPARE), which)
        )

    def _constants(self, which: LoopCotangents) -> int:
        return len(self.in_types) - which.carries - which.streams

    def adder(self, type_: ValueType) -> Callee:
        """The callee that adds two arrays."""
        return _adder(type_)

    def fixed(self, tape: Tape, *, extends: Callee | None = None) -> Callee:
        """Make a callee that runs a tape, compiled as this one is."""
        made = TapeCallee(self.name, tape, is_compiled=self.is_compiled)
        made.extends = None if extends is None else extends.extends or extends
        return made

    @holding(LOCK)
    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return `make()`, called once for each key and kept with the callee."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]

    def _derive(
        self, key: Hashable, in_types: Sequence[ValueType], out_types: Sequence[ValueType], used: Sequence[int],
        make: Callable[[Tape], Tape],
    ) -> DerivedCallee:  # fmt: skip
        return self.once(key, lambda: DerivedCallee(self, in_types, out_types, used, make))


class DerivedCallee(Callee):
    """A callee whose variants are made from those of another one.

    Args:
        used: positions of the other callee's inputs among its own.
        make: its tape from the other one's.
    """

    def __init__(
        self, source: Callee, in_types: Sequence[ValueType], out_types: Sequence[ValueType], used: Sequence[int],
        make: Callable[[Tape], Tape],
    ) -> None:  # fmt: skip
        super().__init__(f"pullback of {source.name}", in_types, is_compiled=source.is_compiled)
        self.out_types = tuple(out_types)
        self._source, self._used, self._make = source, tuple(used), make

    def __reduce__(self) -> tuple[object, ...]:
        key = next(key for key, derived in self._source._derived.items() if derived is self)
        return _derived_again, (self._source, key)

    @property
    def may_branch(self) -> bool:  # type: ignore[override]  # known to be False for the others
        return self._source.may_branch

    def variant_tape(self, number: int) -> Tape:
        return self.plain_tape(number, None)

    def plain_tape(self, number: int, inputs: Sequence[Operand] | None) -> Tape:
        given = None if inputs is None else [inputs[k] for k in self._used]
        return self._made_once("plain", number, lambda: self._made(self._source.plain_tape(number, given)))

    def _made(self, tape: Tape) -> Tape:
        from ...passes.pipeline import run_passes

        made = run_passes(self._make(tape))
        if made.output_types != self.out_types:
            raise InvalidTape(f"{self.name} should return {self.out_types}", got=str(made.output_types))
        return made

    def only_tape(self) -> Tape | None:
        return None if self._source.only_tape() is None else self.plain_tape(0, None)

    def only_path(self) -> Tape | None:
        return None if self._source.only_path() is None else self.plain_tape(0, None)

    def may_compile(self, number: int) -> bool:
        return self._source.may_compile(number)

    def known_paths(self) -> dict[int, PathEntry | None]:
        return dict.fromkeys(self._source.known_paths())


def _derived_again(source: Callee, key: LoopCotangents | tuple[tuple[int, ...], tuple[int, ...], bool]) -> DerivedCallee:
    """Unpickle a pullback: make it again from its source."""
    return source.loop_pullback(key) if isinstance(key, LoopCotangents) else source.pullback(*key)


class TapeCallee(Callee):
    """A callee with one variant, whose tape has no guards."""

    def __init__(self, name: str, tape: Tape, *, is_compiled: bool = True) -> None:
        super().__init__(name, tape.input_types, is_compiled=is_compiled)
        self.out_types = tape.output_types
        self._tape = tape

    def guarded_tape(self, number: int) -> Tape:
        return self._tape

    def plain_tape(self, number: int, inputs: Sequence[Operand] | None) -> Tape:
        return self._tape

    def only_tape(self) -> Tape | None:
        return self.plain_tape(0, None)


class SideCallee(TapeCallee):
    """A side of a branch. Variant 1 computes it; variant 0 returns zeros or anything, as the select discards its results."""

    is_side = True

    def only_tape(self) -> Tape | None:
        return None

    def variant_tape(self, number: int) -> Tape:
        return self.plain_tape(number, None)

    def plain_tape(self, number: int, inputs: Sequence[Operand] | None) -> Tape:
        return self._tape if number else _of_zeros(self._tape)


def _of_zeros(tape: Tape) -> Tape:
    made = Rewriter(tape)
    inputs = [made.emit(INPUT, (), (k,), type_, None) for k, type_ in enumerate(tape.input_types)]
    outputs: list[int] = []
    for type_ in tape.output_types:
        zero = made.constant(0, ValueType((), type_.dtype))
        outputs.append(made.make(BROADCAST, (zero,), (type_.shape,)) if type_.shape else zero)
    return replace(tape, instructions=tuple(made.instructions), inputs=tuple(inputs), outputs=tuple(outputs))


def with_dear_sides(tape: Tape) -> Tape:
    """The tape to compile: expensive sides of branches run only where they are taken."""
    from ...passes.dear_sides import dear_sides

    return dear_sides(tape, lambda side: SideCallee(side.name, side))


@functools.cache
def _adder(type_: ValueType) -> TapeCallee:
    return TapeCallee("add", Recorder("add", concrete=False).run(_sum, type_))


def _sum(recorder: Recorder, type_: ValueType) -> Tape:
    x, y = (recorder.input(np.ones(type_.shape, type_.dtype), active=True) for _ in range(2))
    return finished_tape(recorder, (x + y,))


@kept_with_tape
def prepared_once(tape: Tape) -> Tape:
    """The tape after all passes."""
    from ...passes.pipeline import run_passes

    return run_passes(tape)


@kept_with_tape
def without_guards(tape: Tape) -> Tape:
    """Drop the guards, for replays whose path is known to hold."""
    rewriter = Rewriter(tape)
    for number, (op, inputs, params, type_, site) in enumerate(tape.instructions):
        if op is not GUARD:
            operands = tuple([rewriter.number[i] for i in inputs])
            rewriter.number[number] = rewriter.emit(RECALL if op is CALL else op, operands, params, type_, site)
    return rewriter.finish()


def _native(op: Primitive, params: Params, values: Sequence[Operand]) -> tuple[Operand, ...]:
    # Imported when something is first compiled, so that `import tapediff` stays fast.
    from ...compiler.runtime.callees.run_callee import run_native

    return run_native(op, params, values)
