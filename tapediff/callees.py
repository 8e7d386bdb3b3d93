"""Callees: what call and loop instructions run. Each has several variants, one tape for each path, all of the same types.

A RecordedCallee records a variant when its path is first taken. A DerivedCallee's variants are pullbacks of another callee's, of
the same numbers. Both are replayed with NumPy while they are new and run by native code from then on.
"""

from __future__ import annotations

import copyreg
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .errors import GuardFailed, InvalidTape, ShapeMismatch, TrackedValueLeaked
from .guard_report import check_prescribed, most_paths, paths_text, warn
from .instruction import GUARD, ValueType
from .keys import has_identities
from .ops.calls import CALL, CHOSEN, LOOP, RECALL, LoopCotangents, LoopForm, loop_with_numpy
from .passes import PREPARE, run_passes
from .passes.rewrite import Rewriter
from .paths import Paths, Variant
from .pickling import remembered
from .recorder import Recorder
from .replay import Miss, run
from .tape import Tape
from .transforms.iterations import iteration_pullback, iteration_types
from .transforms.reverse import pullback

# So many calls and iterations of a callee are answered with NumPy before it is compiled, which takes as long as a few hundred.
NUMPY_ANSWERS = 100

# Whether replays may run native code for callees; the tests compare both.
NATIVE = True

# Held while any callee's variants change: a recording may call other callees, so one lock for all cannot be taken in two orders.
LOCK = threading.RLock()


class Callee:
    """A function of several arrays with several variants.

    Attributes:
        name: what messages call it.
        in_types, out_types: of its arguments and results; out_types is None until the first variant is recorded.
        stops: its last result says whether the while loop that it is the body of goes on.
        is_compiled: whether it may run natively; if not, every run is answered by Python.
        native: the native side, made when first needed.
        is_pure: equal inputs give equal results, so that equal calls may be one.
        may_branch: a call may take another path than the recorded one.
    """

    is_pure = True
    may_branch = False

    def __init__(
        self, name: str, in_types: Sequence[ValueType], *, stops: bool = False, is_compiled: bool = True
    ) -> None:
        self.name = name
        self.in_types = tuple(in_types)
        self.out_types: tuple[ValueType, ...] = ()
        self.stops, self.is_compiled = stops, is_compiled
        self.native: Any = None
        self._numpy_left = NUMPY_ANSWERS
        self._derived: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "native": None, "_numpy_left": NUMPY_ANSWERS, "_derived": {}}

    def __deepcopy__(self, _: Any) -> Any:
        return self  # what it knows of its paths serves all copies of its callers

    # What the native side asks for

    def variant_tape(self, number: int) -> Tape:
        """The tape of a variant, ready to be compiled: with guards where the callee decides, else without."""
        raise NotImplementedError

    def plain_tape(self, number: int, inputs: Sequence[Any] | None) -> Tape:
        """The tape of a variant without its guards; `inputs`, where it ran, for one that may have been dropped."""
        raise NotImplementedError

    def missed(self, number: int | None, miss: Miss | None, inputs: Sequence[Any]) -> int:
        """The variant to try after one failed at a guard, or the first one; recorded if there is none."""
        raise NotImplementedError

    def answer(self, number: int | None, inputs: Sequence[Any]) -> tuple[list[Any], int]:
        """Results at these inputs with NumPy, by the given variant or the one that holds there, and its number."""
        raise NotImplementedError

    def may_compile(self, number: int) -> bool:
        """Whether a variant is worth compiling; otherwise Python answers for it."""
        raise NotImplementedError

    # Runs

    def run(self, number: int | None, values: Sequence[Any]) -> tuple[list[Any], int]:
        """One call, natively once the callee has been used a few times."""
        if not (self.is_compiled and NATIVE) or self._numpy_left > 0:
            self._numpy_left -= 1
            return self.answer(number, values)
        if number is None:
            *outputs, ran = _native(CALL, (self,), values)
            return outputs, int(ran)
        return list(_native(CHOSEN, (self,), [np.int64(number), *values])), number

    def run_loop(self, form: LoopForm, values: Sequence[Any]) -> tuple[Any, ...]:
        """A loop, natively unless it is short and the callee new."""
        if self.is_compiled and NATIVE:
            length = form.length
            if length is None and not form.stops:
                length = int(values[form.leading - 1])
            if length is None or length > self._numpy_left:
                return _native(LOOP, (self, form), values)
            self._numpy_left -= length
        with np.errstate(all="ignore"):
            return loop_with_numpy(self, form, values)

    # Derivatives

    def pullback(self, wrt: tuple[int, ...], seeds: tuple[int, ...], masked: bool) -> DerivedCallee:
        """The callee that maps the inputs, and cotangents of the results `seeds`, to cotangents of the inputs `wrt`."""
        in_types = (*self.in_types, *(self.out_types[k] for k in seeds))
        out_types = tuple(self.in_types[k] for k in wrt)
        used = range(len(self.in_types))
        make = lambda tape: pullback(run_passes(tape, PREPARE), wrt, seeds, masked)  # noqa: E731 -- its name is its use
        return self._derive((wrt, seeds, masked), in_types, out_types, used, make)

    def loop_pullback(self, which: LoopCotangents) -> DerivedCallee:
        """One iteration of the reverse pass of a loop; see transforms.iterations."""
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
        with LOCK:
            known = _adders.get(type_)
            if known is None:
                known = _adders[type_] = RecordedCallee("add", (type_, type_), lambda xy: [xy[0] + xy[1]])
                known.out_types = (type_,)
        return known

    def fixed(self, tape: Tape) -> Callee:
        """A callee that runs a tape, compiled as this one is."""
        return TapeCallee(self.name, tape, is_compiled=self.is_compiled)

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What `make` returns, made once for each key and kept with the callee."""
        with LOCK:
            if key not in self._derived:
                self._derived[key] = make()
            return self._derived[key]

    def _derive(
        self, key: Any, in_types: Sequence[ValueType], out_types: Sequence[ValueType], used: Sequence[int],
        make: Callable[[Tape], Tape],
    ) -> DerivedCallee:  # fmt: skip
        return self.once(key, lambda: DerivedCallee(self, in_types, out_types, used, make))


_adders: dict[ValueType, RecordedCallee] = {}


class DerivedCallee(Callee):
    """A callee whose variants are made from those of another one.

    Args:
        used: where among its inputs those of the other one are.
        make: its tape from the other one's.
    """

    def __init__(
        self, source: Callee, in_types: Sequence[ValueType], out_types: Sequence[ValueType], used: Sequence[int],
        make: Callable[[Tape], Tape],
    ) -> None:  # fmt: skip
        super().__init__(f"pullback of {source.name}", in_types, is_compiled=source.is_compiled)
        self.out_types = tuple(out_types)
        self._source, self._used, self._make = source, tuple(used), make
        self._tapes: dict[int, Tape] = {}

    def __reduce__(self) -> Any:
        key = next(key for key, derived in self._source._derived.items() if derived is self)
        return _derived_again, (self._source, key)

    @property
    def may_branch(self) -> bool:  # type: ignore[override]  # known to be False for the others
        return self._source.may_branch

    def variant_tape(self, number: int) -> Tape:
        return self.plain_tape(number, None)

    def plain_tape(self, number: int, inputs: Sequence[Any] | None) -> Tape:
        known = self._tapes.get(number)
        if known is None:
            known = self._made(
                self._source.plain_tape(number, [inputs[k] for k in self._used] if inputs is not None else None)
            )
            if self.may_compile(number):
                self._tapes[number] = known
        return known

    def _made(self, tape: Tape) -> Tape:
        made = run_passes(self._make(tape))
        if made.output_types != self.out_types:
            raise InvalidTape(f"{self.name} should return {self.out_types}", got=str(made.output_types))
        return made

    def answer(self, number: int | None, inputs: Sequence[Any]) -> tuple[list[Any], int]:
        assert number is not None, "the variant of a pullback is the one that ran"
        return run(self.plain_tape(number, inputs), inputs), number

    def may_compile(self, number: int) -> bool:
        return self._source.may_compile(number)


def _derived_again(source: Callee, key: Any) -> DerivedCallee:
    """A pullback is pickled as what it is made from."""
    return source.loop_pullback(key) if isinstance(key, LoopCotangents) else source.pullback(*key)


class TapeCallee(Callee):
    """A callee with one variant, whose tape has no guards."""

    def __init__(self, name: str, tape: Tape, *, is_compiled: bool = True) -> None:
        super().__init__(name, tape.input_types, is_compiled=is_compiled)
        self.out_types = tape.output_types
        self._tape = tape
        self._prepared: Tape | None = None

    def variant_tape(self, number: int) -> Tape:
        if self._prepared is None:
            self._prepared = run_passes(self._tape)
        return self._prepared

    def plain_tape(self, number: int, inputs: Sequence[Any] | None) -> Tape:
        return self._tape

    def missed(self, number: int | None, miss: Miss | None, inputs: Sequence[Any]) -> int:
        return 0

    def answer(self, number: int | None, inputs: Sequence[Any]) -> tuple[list[Any], int]:
        return run(self._tape, inputs), 0

    def may_compile(self, number: int) -> bool:
        return True


class RecordedCallee(Callee):
    """A callee that records a variant when its path is first taken.

    Args:
        function: of the inputs, as a sequence of tracked arrays; returns a sequence of results. It is run when a path is new,
            perhaps long after the recording that first called it has ended.
        most_compiled: further variants are replayed with NumPy, and the latest of them are kept.
        branches_to_inline: how many td.cond of the function are to be paths of it instead of calls.
        ask: gives the user's guard value at plain inputs, if `ask.is_needed`; then Python answers every call.
    """

    def __init__(
        self, name: str, in_types: Sequence[ValueType], function: Callable[[Sequence[Any]], Sequence[Any]], *,
        stops: bool = False, is_compiled: bool = True, most_compiled: int = 64, ask: Any = None,
        branches_to_inline: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(name, in_types, stops=stops, is_compiled=is_compiled)
        self._function, self._most_compiled, self._ask = function, most_compiled, ask
        self._branches_to_inline = branches_to_inline
        self._paths: dict[Any, Paths] = {}
        self.variants: dict[int, Variant] = {}
        self._plain: dict[int, Tape] = {}
        self._prepared: dict[int, Tape] = {}
        self.recordings = 0
        self._is_warned = False

    def __reduce__(self) -> Any:
        if self in _adders.values():
            return Callee.adder, (None, self.in_types[0])
        return copyreg.__newobj__, (type(self),), self.__getstate__()  # type: ignore[attr-defined]  # which has no stub

    def __getstate__(self) -> dict[str, Any]:
        function, ask = remembered(self.name, self._function, self._ask)
        # A guard that the tapes themselves look at need not be asked.
        ask = ask if ask is not None and self._ask.is_needed else None
        paths = [(key, [v.number for v in p.tapes]) for key, p in self._paths.items() if not has_identities(key)]
        tapes = [(number, self.variants[number].tape) for _, numbers in paths for number in numbers]
        emptied: dict[str, Any] = {"variants": {}, "_plain": {}, "_prepared": {}}
        return {
            **super().__getstate__(),
            **emptied,
            "_function": function,
            "_ask": ask,
            "_paths": paths,
            "_kept": tapes,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        tapes = dict(state.pop("_kept"))
        self.__dict__.update(state)
        self._paths = {}
        for key, numbers in state["_paths"]:
            paths = self._paths[key] = Paths()
            for number in numbers:
                variant = self.variants[number] = Variant(tapes[number], None, number, None, 0.0, True)
                paths.insert(variant)

    @property
    def may_branch(self) -> bool:  # type: ignore[override]  # known to be False for the others
        return any(i.op is GUARD or i.op is CALL for v in list(self.variants.values()) for i in v.tape.instructions)

    def variant_tape(self, number: int) -> Tape:
        known = self._prepared.get(number)
        if known is None:
            known = self._prepared[number] = run_passes(self.variants[number].tape)
        return known

    def plain_tape(self, number: int, inputs: Sequence[Any] | None) -> Tape:
        known = self._plain.get(number)
        if known is not None:
            return known
        variant = self.variants.get(number)
        if variant is None:  # one of too many, and dropped: made again where it is asked for
            assert inputs is not None, "variants that are compiled are kept"
            return without_guards(self._record(inputs, ()))
        known = self._plain[number] = without_guards(variant.tape)
        return known

    def may_compile(self, number: int) -> bool:
        return number < self._most_compiled

    def missed(self, number: int | None, miss: Miss | None, inputs: Sequence[Any]) -> int:
        paths = self._paths_at(inputs)
        if number is None or miss is None:
            return (paths.last or self._variant(paths, (), None, inputs)).number
        variant = self.variants[number]
        sibling = variant.sibling(miss)
        if sibling is None:
            settled = (*variant.outcomes[: miss.ordinal], miss.outcome)
            sibling = self._variant(paths, settled, variant, inputs)
        return sibling.number

    def answer(self, number: int | None, inputs: Sequence[Any]) -> tuple[list[Any], int]:
        if number is not None:
            return run(self.plain_tape(number, inputs), inputs), number
        paths = self._paths_at(inputs)
        settled: tuple[Any, ...] = ()
        variant = paths.last or self._variant(paths, (), None, inputs)
        while True:
            outputs = _attempt(variant.tape, inputs, len(settled))
            if type(outputs) is not Miss:
                paths.last = variant
                return outputs, variant.number
            settled = (*variant.outcomes[: outputs.ordinal], outputs.outcome)
            variant = variant.sibling(outputs) or self._variant(paths, settled, variant, inputs)

    def ensure(self, inputs: Sequence[Any]) -> None:
        """Record a variant at these inputs if there is none, so that the types of the results are known."""
        if not self.variants:
            self._variant(self._paths_at(inputs), (), None, inputs)

    def _paths_at(self, inputs: Sequence[Any]) -> Paths:
        """The variants under the user's guard value."""
        key: Any = None
        if self._ask is not None:
            if not self.variants:
                self._record(inputs, ())  # shows whether the guard has to be asked
            if self._ask.is_needed:
                self.is_compiled = False
                key = self._ask(inputs)
        paths = self._paths.get(key)
        if paths is None:
            with LOCK:
                paths = self._paths.setdefault(key, Paths())
        return paths

    # Recording

    def _variant(
        self, paths: Paths, settled: tuple[Any, ...], missed: Variant | None, inputs: Sequence[Any]
    ) -> Variant:
        """A variant whose path starts with the settled outcomes, recorded unless there is one by now."""
        with LOCK:
            found = paths.find(settled)
            if found is not None:
                return found
            tape = self._record(inputs, settled)
            if missed is not None:
                check_prescribed(tape, missed.tape, len(settled))
            # A recursive function records the path that it is on once more, further in.
            found = paths.find(tuple(guard.outcome for guard in tape.guards))
            return found or self._keep(paths, tape)

    def _record(self, inputs: Sequence[Any], settled: tuple[Any, ...]) -> Tape:
        with Recorder(self.name, prescribed=settled) as recorder:
            recorder.branches_to_inline = self._branches_to_inline
            arguments = [recorder.input(v, active=t.is_float) for v, t in zip(inputs, self.in_types)]
            recorder.outermost, recorder.outermost_site = sys._getframe(), getattr(self._function, "site", None)
            try:
                results = tuple(self._function(arguments))
            except Exception as error:
                if recorder.guard_count and recorder.outer is not None:
                    recorder.outer.note_failure(error, self.name, recorder.last_site())
                raise
            finally:
                recorder.outermost = None
            tape = recorder.finish(results)
            if recorder.captured:
                raise TrackedValueLeaked(
                    f"{self.name} uses a tracked value that is neither an argument nor a variable of an enclosing function",
                    at=recorder.last_site(), got=repr(recorder.captured[0]), fix="pass it as an argument",
                )  # fmt: skip
            return tape

    def _keep(self, paths: Paths, tape: Tape) -> Variant:
        types = tape.output_types
        if self.out_types and types != self.out_types:
            raise ShapeMismatch(
                f"{self.name} returned other types than on another path", at=tape.instructions[-1].site,
                got=f"{', '.join(map(str, self.out_types))} before, {', '.join(map(str, types))} now",
                fix="return arrays of the same shapes and dtypes on every path",
            )  # fmt: skip
        self.out_types = types
        variant = Variant(tape, None, self.recordings, None, 0.0, True)
        self.recordings += 1
        self.variants[variant.number] = variant
        paths.insert(variant)
        self._drop_interpreted()
        return variant

    def _drop_interpreted(self) -> None:
        if self.recordings <= self._most_compiled:
            return
        if not self._is_warned:
            self._is_warned = True
            warn(paths_text(self.name, self._most_compiled, most_paths(list(self.variants.values()))))
        interpreted = sorted(n for n in self.variants if n >= self._most_compiled)
        for number in interpreted[: -self._most_compiled]:
            dropped = self.variants.pop(number)
            for kept in self._paths.values():
                if dropped in kept.tapes:
                    kept.remove(dropped)
            self._plain.pop(number, None)


def _attempt(tape: Tape, inputs: Sequence[Any], settled: int) -> Any:
    try:
        return run(tape, inputs, settled)
    except GuardFailed as failure:
        return Miss(failure.ordinal, failure.outcome)


def without_guards(tape: Tape) -> Tape:
    """The same instructions without the guards, for replays whose path is known to hold."""
    rewriter = Rewriter(tape)
    for number, (op, inputs, params, type_, site) in enumerate(tape.instructions):
        if op is not GUARD:
            operands = tuple([rewriter.number[i] for i in inputs])
            rewriter.number[number] = rewriter.emit(RECALL if op is CALL else op, operands, params, type_, site)
    return rewriter.finish()


def _native(op: Any, params: tuple[Any, ...], values: Sequence[Any]) -> tuple[Any, ...]:
    # Imported when something is first compiled, so that `import tapediff` stays fast.
    from .lowering.cells import run_native

    return run_native(op, params, values)
