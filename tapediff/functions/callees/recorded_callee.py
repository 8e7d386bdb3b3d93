"""Callees that record their variants: a path through the function is recorded when it is first taken."""

from __future__ import annotations

import copyreg
import sys
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

import numpy as np

from ...base.held_locks import holding
from ...base.settings import is_logged, log_made
from ...base.source_location import Site
from ...base.token import token_of
from ...errors import ShapeMismatch, TrackedValueLeaked, UnstableBranch, UnsupportedFunction
from ...ir.instruction import CONSTANT, GUARD, Instruction, Operand, Outcome, ValueType
from ...ir.interpreter import GuardFailure, attempt
from ...ir.keys import has_identities
from ...ir.serialize import State
from ...ir.tape import Tape
from ...numpy_api.kinds import kind_of
from ...ops.control.calls import CALL
from ...recording.finish import finished_tape
from ...recording.python_state.caught_errors import Failure
from ...recording.python_state.draws.drawn_guards import DrawnGuards
from ...recording.python_state.filled_arrays import Fills
from ...recording.recorder import Recorder
from ..captured.pickling import remembered
from .callee import LOCK, Callee, without_guards
from .path_messages import check_prescribed, paths_text, warn
from .path_trie import PathEntry, Paths
from .spliced_calls import is_spliced_test

# Maps the inputs, as a sequence of tracked arrays, to the results.
Function: TypeAlias = Callable[[Sequence[Operand]], Sequence[Operand]]


class UserGuard(Protocol):
    """Evaluates a user's guard at plain inputs; not needed where the tapes guard all that it depends on."""

    @property
    def is_needed(self) -> bool: ...

    def __call__(self, inputs: Sequence[Operand]) -> Hashable: ...


class RecordedCallee(Callee):
    """A callee that records a variant when its path is first taken.

    Args:
        function: of the inputs, as a sequence of tracked arrays; returns a sequence of results. It is run when a path is new,
            perhaps long after the recording that first called it has ended.
        most_compiled: further variants are replayed with NumPy, and only the latest of them are kept.
        branches_to_inline: how many td.cond of the function become paths instead of calls.
        ask: evaluates the user's guard at plain inputs, if `ask.is_needed`; then Python runs every call.
    """

    def __init__(
        self, name: str, in_types: Sequence[ValueType], function: Function, *, stops: bool = False, is_compiled: bool = True,
        most_compiled: int = 64, ask: UserGuard | None = None, branches_to_inline: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(name, in_types, stops=stops, is_compiled=is_compiled)
        self._function, self._most_compiled, self._ask = function, most_compiled, ask
        self._branches_to_inline = branches_to_inline
        # Arrays tracked from the first attempt of a recording on, and how often that set has changed.
        self._fills, self._changes = Fills.NOTHING, 0
        self._paths: dict[Hashable, Paths[PathEntry]] = {}
        self.variants: dict[int, PathEntry] = {}
        self.recordings = 0
        self._is_warned = self._warned_draws = False
        self._handler: Site | None = None
        self._token: str | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return copyreg.__newobj__, (type(self),), self.__getstate__()  # type: ignore[attr-defined]  # which has no stub

    def __getstate__(self) -> dict[str, object]:
        function, ask = remembered(self.name, self._function, self._ask)
        # Tapes that guard it themselves need no separate evaluation.
        ask = ask if self._ask is not None and self._ask.is_needed else None
        paths = [(key, [v.number for v in p.tapes]) for key, p in self._paths.items() if not has_identities(key)]
        variants = [self.variants[number] for _, numbers in paths for number in numbers]
        tapes = [(v.number, (v.tape, v.form, v.fills)) for v in variants]
        own = {"variants": {}, "_function": function, "_ask": ask, "_paths": paths, "_kept": tapes}
        return {**super().__getstate__(), **own}

    def __dask_tokenize__(self) -> str:
        """Hash the function and its first path only: other paths may be recorded at any time."""
        if self._token is None:
            first = self.variants[min(self.variants)].tape if self.variants else None
            self._token = token_of("callee", self.name, first, self._function)
        return self._token

    def __setstate__(self, state: State) -> None:
        tapes = dict(state.pop("_kept"))
        self.__dict__.update(state)
        self._paths = {}
        for key, numbers in state["_paths"]:
            paths = self._paths[key] = Paths()
            for number in numbers:
                tape, form, fills = tapes[number]
                variant = self.variants[number] = PathEntry(tape, number)
                variant.form, variant.fills = form, fills
                paths.insert(variant)

    @property
    def is_merged(self) -> bool:  # type: ignore[override]  # known to be False for the others
        """True if paths of the function were joined."""
        return getattr(self._function, "has_merged", False)

    @property
    def may_branch(self) -> bool:  # type: ignore[override]  # known to be False for the others
        return any(
            i.op is GUARD or (i.op is CALL and not is_spliced_test(i)) for v in list(self.variants.values()) for i in v.tape.instructions
        )

    def guarded_tape(self, number: int) -> Tape:
        from .rolled_loop import rolled

        return rolled(self.variants[number].tape)

    def plain_tape(self, number: int, inputs: Sequence[Operand] | None) -> Tape:
        from .rolled_loop import rolled

        variant = self.variants.get(number)
        if variant is None:  # dropped, as one of too many: record it again
            assert inputs is not None, "variants that are compiled are kept"
            return without_guards(self._record(inputs, ())[0])
        return without_guards(rolled(variant.tape))

    def only_tape(self) -> Tape | None:
        # A variant without guards never fails, except for the user's guard.
        if len(self.variants) != 1 or self.may_branch or self._ask is not None:
            return None
        (number,) = self.variants
        return self.plain_tape(0, None) if number == 0 else None

    def only_path(self) -> Tape | None:
        if set(self.variants) != {0} or self._ask is not None:
            return None
        has_calls = any(i.op is CALL and not is_spliced_test(i) for i in self.variants[0].tape.instructions)
        return None if has_calls else self.guarded_tape(0)

    def may_compile(self, number: int) -> bool:
        return number < self._most_compiled

    def known_paths(self) -> dict[int, PathEntry | None]:
        return dict(self.variants)

    def missed(self, number: int | None, miss: GuardFailure | None, inputs: Sequence[Operand]) -> int:
        key = self._key(inputs)
        if number is None or miss is None:
            return (self._paths_of(key).last or self._variant(key, (), None, inputs)).number
        variant = self.variants[number]
        return (variant.sibling(miss) or self._variant(key, variant.decided(miss), variant, inputs)).number

    def answer(self, number: int | None, inputs: Sequence[Operand]) -> tuple[list[Operand], int]:
        if number is not None:
            return super().answer(number, inputs)
        key, held = self._key(inputs), 0
        variant = self._paths_of(key).last or self._variant(key, (), None, inputs)
        while True:
            outputs = attempt(variant.tape, inputs, held)
            if not isinstance(outputs, GuardFailure):
                if variant.form == self._changes:
                    self._paths_of(key).last = variant
                return outputs, variant.number
            following = variant.sibling(outputs) or self._variant(key, variant.decided(outputs), variant, inputs)
            # Other forms have other guards.
            held = outputs.ordinal + 1 if following.form == variant.form else 0
            variant = following

    def ensure(self, inputs: Sequence[Operand]) -> None:
        """Record a variant at these inputs if there is none, so that the result types are known."""
        if not self.variants:
            self._variant(self._key(inputs), (), None, inputs)

    def _key(self, inputs: Sequence[Operand]) -> Hashable:
        """Evaluate the user's guard."""
        if self._ask is None:
            return None
        if not self.variants:
            self._record(inputs, ())  # shows if the guard has to be evaluated
        if not self._ask.is_needed:
            return None
        self.is_compiled = False
        return self._ask(inputs)

    def _paths_of(self, key: Hashable) -> Paths[PathEntry]:
        """The variants for a value of the user's guard and the arrays tracked now."""
        return self._paths.setdefault((self._changes, key), Paths())

    # Recording

    @holding(LOCK)
    def _variant(
        self, key: Hashable, decided: tuple[Outcome, ...], missed: PathEntry | None, inputs: Sequence[Operand]
    ) -> PathEntry:
        """A variant whose path starts with the decided outcomes, recorded unless one exists now."""
        if missed is not None and missed.form != self._changes:
            decided, missed = (), None
        paths = self._paths_of(key)
        found = paths.find(decided) if decided else paths.last
        if found is not None:
            return found
        return self._recorded(key, decided, missed, inputs)

    def _recorded(
        self, key: Hashable, decided: tuple[Outcome, ...], missed: PathEntry | None, inputs: Sequence[Operand]
    ) -> PathEntry:
        form, paths = self._changes, self._paths_of(key)
        started = time.perf_counter()
        tape, fills = self._record(inputs, decided, missed)
        if is_logged():
            cause = replace(missed.tape.guards[len(decided) - 1], outcome=decided[-1]) if missed is not None and decided else "first call"
            log_made(f"recorded path {self.recordings}", self.name, len(tape), time.perf_counter() - started, cause)
        if missed is not None:
            try:
                check_prescribed(tape, missed.tape, len(decided))
            except UnstableBranch:
                if fills <= max(missed.fills, self._fills):
                    raise
                # More tracked arrays mean other guards: record the paths again.
                self._fills, self._changes = fills, self._changes + 1
                form, paths = self._changes, self._paths_of(key)
        # A recursive function records its current path again, one level deeper.
        found = paths.find(tuple(guard.outcome for guard in tape.guards))
        return found or self._keep(paths, tape, form, fills)

    def _record(self, inputs: Sequence[Operand], decided: tuple[Outcome, ...], missed: PathEntry | None = None) -> tuple[Tape, Fills]:
        """Record a tape, and which arrays are tracked on it."""
        drawn = DrawnGuards(getattr(self._function, "functions", ()))
        recorded = self._run(inputs, decided, missed)
        drawn.refuse(recorded[0], lambda: self._run(inputs, (), None)[0])
        if not self._warned_draws and drawn.draws.warn(self.name):
            self._warned_draws = True
        return recorded

    def _run(self, inputs: Sequence[Operand], decided: tuple[Outcome, ...], missed: PathEntry | None) -> tuple[Tape, Fills]:
        along, fills = ((), self._fills) if missed is None else (missed.tape.guards, max(missed.fills, self._fills))
        recorder = Recorder(self.name, prescribed=decided, along=along, fills=fills)
        recorder.merges = getattr(self._function, "merges", True)
        tape = recorder.run(self._record_into, inputs)
        return tape, recorder.fills

    def _record_into(self, recorder: Recorder, inputs: Sequence[Operand]) -> Tape:
        recorder.is_called = True
        recorder.branches_to_inline = self._branches_to_inline
        arguments = [recorder.input(v, active=t.is_float) for v, t in zip(inputs, self.in_types)]
        recorder.outermost, recorder.outermost_site = sys._getframe(), getattr(self._function, "site", None)
        try:
            results = tuple(self._function(arguments))
        except Exception as error:
            if recorder.guard_count and recorder.outer is not None:
                recorder.outer.note_failure(Failure(error, self.name, recorder.last_site()))
            raise
        finally:
            recorder.outermost = None
        tape = finished_tape(recorder, results)
        if recorder.captured:
            raise TrackedValueLeaked(
                f"{self.name} uses a tracked value that is neither an argument nor a variable of an enclosing function",
                at=recorder.last_site(), got=kind_of(recorder.captured[0]), fix="pass it as an argument",
            )  # fmt: skip
        return tape

    def _keep(self, paths: Paths[PathEntry], tape: Tape, form: int, fills: Fills) -> PathEntry:
        if self.out_types:
            tape = _with_plain_results_as(tape, self.out_types)
        types = tape.output_types
        if self.out_types and types != self.out_types:
            same_shapes = [t.shape for t in types] == [t.shape for t in self.out_types]
            raise ShapeMismatch(
                f"{self.name} returned other types than on another path", at=tape.instructions[-1].site,
                got=f"{', '.join(map(str, self.out_types))} before, {', '.join(map(str, types))} now",
                fix="return arrays of the same shapes and dtypes on every path"
                + (": 0.0 instead of 0 where another returns a float" if same_shapes else ""),
            )  # fmt: skip
        if self._handler is not None:
            self._refuse_failures(tape)
        self.out_types = types
        variant = PathEntry(tape, self.recordings)
        self.recordings += 1
        variant.form, variant.fills = form, fills
        self.variants[variant.number] = variant
        paths.insert(variant)
        self._drop_interpreted()
        return variant

    def must_not_fail(self, handler: Site) -> None:
        """Reject factorisations that may fail: a handler around the loop would catch the error, and no guard tells of it."""
        self._handler = handler
        for variant in self.variants.values():
            self._refuse_failures(variant.tape)

    def _refuse_failures(self, tape: Tape) -> None:
        failing = next((i for i in tape.instructions if i.op.raises), None)
        if failing is not None:
            raise UnsupportedFunction(
                f"{self.name} may fail within an `except` that stands around the loop",
                at=f"{failing.site}, caught at {self._handler}", got=f"{failing.op.name}(...)",
                fix="put the `try` into the body of the loop",
            )  # fmt: skip

    def _drop_interpreted(self) -> None:
        if self.recordings <= self._most_compiled:
            return
        if not self._is_warned:
            self._is_warned = True
            warn(paths_text(self.name, self._most_compiled, list(self.variants.values())))
        interpreted = sorted(n for n in self.variants if not self.may_compile(n))
        for number in interpreted[: -self._most_compiled]:
            dropped = self.variants.pop(number)
            for kept in self._paths.values():
                if dropped in kept.tapes:
                    kept.remove(dropped)


def _with_plain_results_as(tape: Tape, types: Sequence[ValueType]) -> Tape:
    """Give constant results, as of `return 0`, the dtypes of another path, where no value changes."""
    if len(tape.outputs) != len(types):
        return tape
    instructions, outputs = list(tape.instructions), list(tape.outputs)
    for k, (number, wanted) in enumerate(zip(tape.outputs, types)):
        op, inputs, params, type_, site = tape.instructions[number]
        if op is not CONSTANT or type_ == wanted or type_.shape != wanted.shape:
            continue
        converted = params[0].astype(wanted.dtype)
        if np.can_cast(type_.dtype, wanted.dtype, "same_kind") and np.array_equal(converted, params[0]):
            outputs[k] = len(instructions)
            instructions.append(Instruction(CONSTANT, inputs, (converted,), wanted, site))
    return replace(tape, instructions=tuple(instructions), outputs=tuple(outputs))
