"""Bodies of sub-tapes and loops with their branches merged: one variant of a callee in place of one for each path.

A body is merged by stricter rules than a function whose calls can be made again: what may turn out wrong at a later point stays a path
of the body. A merged variant that has guards left is one of several; where a further one cannot be merged, new paths are plain ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType

import numpy as np

from ..errors import GuardFailed
from ..ir.instruction import CONSTANT, INPUT, Operand, Tree, ValueType
from ..ir.interpreter import run
from ..ir.pytree import flatten, unflatten
from ..ir.tape import Tape
from ..ops.control.calls import CALL, GET, LOOP
from ..passes.pipeline import PREPARE, run_passes
from ..recording.aliases import Aliases
from ..recording.recorder import current_recorder
from ..transforms.cotangents import NONZERO
from ..transforms.reverse import pullback
from .callees.body import Body
from .callees.recorded_callee import MergedForm, RecordedCallee
from .callees.spliced_calls import spliced
from .merging.merged_function import MOST_ATTEMPTS, MergedFunctions
from .merging.plain_numbers import check_numbers
from .merging.prepare.closures import users_functions, with_forms
from .merging.prepare.state_changes import first_change
from .merging.rules import ELEMENTWISE, Refused
from .merging.run_time.body_results import whose_results_are_data, with_type
from .merging.run_time.run_time import WhileLoop

# Branches of a body are merged when it has so many variants; and whatever that costs when it has so many. Those of a loop sooner, as
# it takes its iterations one after the other while it branches: 1,000 paths of 100 steps with two short branches 4.2 ms, merged and in
# SIMD lanes 0.35.
VARIANTS_BEFORE, VARIANTS_BEFORE_OF_LOOPS, MANY_VARIANTS = 3, 2, 16

# While paths are few, a merged body that costs more than so many times their mean replaces them only in calls that do not need each other's
# results, which take their operations together; and none that costs more than a call besides.
MOST_COST_RATIO, FREE_COST, CHOICE_COST = 1.5, 2, 30

# Of longer tapes, and larger arguments, only the values at the point of the recording are compared.
LONGEST_COMPARED, LARGEST_SAMPLE = 2_000, 1 << 16

# Masked sums may be in another order; a gradient adds in another one.
SAME_VALUE, SAME_GRADIENT = 1e-9, 1e-7


class MergedBody:
    """Merges the branches of the functions behind one callee.

    Args:
        body: of the callee, as it is.
        at_once: with the first variant that looks at a value.
        before: the variants that it has before.

    Attributes:
        failed: why the body has plain paths; empty while it may be merged, or is.
    """

    @staticmethod
    def of(body: Body, at_once: bool, while_loop: WhileLoop, before: int = VARIANTS_BEFORE) -> MergedBody | None:
        """None where no function of a body is the user's, nor closes over one that is."""
        own = [inner for function in body.functions for inner in users_functions(function)]
        return MergedBody(body, own, at_once, while_loop, before) if own else None

    def __init__(self, body: Body, own: Sequence[FunctionType], at_once: bool, while_loop: WhileLoop, before: int) -> None:
        self._body, self._own, self._at_once = body, own, at_once
        self._functions = MergedFunctions(while_loop, True, whose_results_are_data(body.functions))
        self._samples: dict[int, list[np.ndarray]] = {}
        self._is_busy = False
        self.failed = ""
        # Variants after which it is tried; what keeps it from being merged while these are few.
        self._due, self._why = 1 if at_once else before, ""
        self._has_look_ups = False

    def fail(self, error: Exception | str) -> None:
        """Keep the body as it is."""
        text = str(error) if isinstance(error, str) else f"{type(error).__name__}: {error}"
        self.failed = f"{error.code.co_name}, {error.breach}" if isinstance(error, Refused) else text
        self._samples.clear()

    def report(self, callee: RecordedCallee) -> list[str]:
        """What explain() says of the branches of the body."""
        if self.failed or self._why:
            # Of the turns of a loop that is merged the report of the function says it.
            if any(function.__code__.co_name.startswith(".") for function in self._own):
                return []
            return [f"no branches are merged: {self.failed or self._why}"]
        found = callee if callee.is_merged else callee.replacement(is_apart=True)
        lines = [] if found is None else self._functions.report([v.tape for v in found.variants.values()])
        if lines and not callee.is_merged:
            lines.append("  where a call needs the result of another one it stays paths, which are fewer operations")
        return lines

    def merged(self, callee: RecordedCallee, number: int, inputs: Sequence[Operand]) -> MergedForm | None:
        """The merged form of the body, and its tape at these inputs, once the callee has enough variants and if there is one.

        Args:
            number: of the plain variant that was recorded at these inputs.
        """
        if self.failed or self._is_busy:
            return None
        if self._functions.note_guards(callee.variants[number].tape.guards):
            self._why = ""
        self._keep_sample(number, inputs)
        if self._functions.look_ups and not self._has_look_ups:
            # Each position at which it reads entries of plain arrays would be a variant.
            self._has_look_ups, self._due = True, 1
        if len(callee.variants) < self._due or not self._functions.has_guards:
            return None
        self._is_busy = True
        try:
            return self._tried(callee, inputs)
        finally:
            self._is_busy = False

    def _keep_sample(self, number: int, inputs: Sequence[Operand]) -> None:
        if sum(np.asarray(value).nbytes for value in inputs) <= LARGEST_SAMPLE and len(self._samples) < MANY_VARIANTS:
            self._samples[number] = [np.array(value)[()] for value in inputs]

    def _tried(self, callee: RecordedCallee, inputs: Sequence[Operand]) -> MergedForm | None:
        # Side effects happen once for each path, and the recordings that merging takes are none.
        change = next(filter(None, map(first_change, self._own)), None)
        if change is not None:
            return self.fail(f"{change.code.co_name} changes more than its results at line {change.line}: {change.text}")
        try:
            body, tape = self._recorded(callee, inputs)
            self._why = self._objection(callee, body, tape)
        except Exception as error:  # noqa: BLE001 -- of the rewriting, which no user is to see: the function itself has raised none
            return self.fail(error)
        if self._why:
            self._due = max(MANY_VARIANTS, 2 * len(callee.variants))
            return None
        body.aliases = self._body.aliases
        is_quick = self._is_quick(callee, tape)
        if is_quick:
            self._samples.clear()
        else:
            self._due = MANY_VARIANTS
        return MergedForm(body, spliced(tape), is_quick)

    def _is_quick(self, callee: RecordedCallee, tape: Tape) -> bool:
        paths = [cost(variant.tape) for variant in callee.variants.values()]
        mean = sum(paths) / len(paths)
        if self._at_once or self._functions.look_ups or len(paths) >= MANY_VARIANTS:
            return True
        return cost(tape) <= MOST_COST_RATIO * mean + FREE_COST

    def _recorded(self, callee: RecordedCallee, inputs: Sequence[Operand]) -> tuple[_FormOfBody, Tape]:
        for _ in range(MOST_ATTEMPTS):
            body = _FormOfBody(self._body, self._merged_function, callee.out_types)
            try:
                tape = callee.recorded_form(body, inputs)
            except Refused as refused:
                if not self._functions.refuse(refused):
                    raise
                continue
            except Exception:
                # Raised again, unless reading entries in another way may be the cause.
                if not self._functions.leave_entries():
                    raise
                continue
            if not self._functions.note_guards(tape.guards):
                return body, tape
        raise RecursionError("its branches are refused again and again")

    def _merged_function(self, function: Callable[..., Tree]) -> Callable[..., Tree]:
        return with_forms(function, lambda users: checking_numbers(self._functions.of(users) or users))

    def _objection(self, callee: RecordedCallee, body: Body, tape: Tape) -> str:
        """Why a merged form is not used, as it is; empty where it is used."""
        if not any(self._functions.sites.values()):
            return next(iter(self._functions.reasons()), "none of them can be")
        if tape.output_types != callee.out_types:
            return "the results would be of other types"
        known = self._body.aliases.partners
        if any(not known.get(k, {}).keys() >= found.keys() for k, found in body.aliases.partners.items()):
            return "an array may go through it unchanged"
        paths = [variant.tape for variant in callee.variants.values()]
        if len(paths) < MANY_VARIANTS and not (self._at_once or self._functions.look_ups):
            mean = sum(map(cost, paths)) / len(paths)
            if cost(tape) > MOST_COST_RATIO * mean + CHOICE_COST:
                return f"both sides of its branches cost more than its {len(paths)} paths"
        for number, sample in self._samples.items():
            if number in callee.variants and not agree(tape, callee.variants[number].tape, sample):
                raise ArithmeticError("the merged form differs from a path")
        return ""


def report_of_bodies(tapes: Sequence[Tape]) -> list[str]:
    """What explain() says of the bodies of sub-tapes and loops on these tapes, and on theirs."""
    lines: list[str] = []
    pending, seen = list(tapes), set[int]()
    while pending:
        for callee in (part for instruction in pending.pop().instructions for part in instruction.params):
            if not isinstance(callee, RecordedCallee) or id(callee) in seen:
                continue
            seen.add(id(callee))
            pending += [variant.tape for variant in callee.variants.values()]
            found = () if callee.merging is None else callee.merging.report(callee)
            lines += [f"in {callee.name}", *(f"  {line}" for line in found)] if found else []
    return lines


class _FormOfBody(Body):
    """A body that runs other forms of its functions, and looks at the end for what Python would have computed in another way."""

    def __init__(self, body: Body, form: Callable[[Callable[..., Tree]], Callable[..., Tree]], types: Sequence[ValueType]) -> None:
        self.__dict__.update(body.__dict__)
        self.aliases = Aliases(body.name)
        plain = checking_numbers(np.errstate(all="ignore")(body._run))

        def run(functions: list[Callable[..., Tree]], tree: Tree) -> Tree:
            leaves, treedef = flatten(plain([form(function) for function in functions], tree))
            return unflatten(treedef, list(map(with_type, leaves, types)) if len(leaves) == len(types) else leaves)

        self._run = run


def checking_numbers(function: Callable[..., Tree]) -> Callable[..., Tree]:
    """A function that looks, before it returns, for what Python computes in another way; solvers record it on tapes of their own."""

    def checked(*args: Tree, **named: Tree) -> Tree:
        result = function(*args, **named)
        recorder = current_recorder()
        if recorder is not None:
            check_numbers(recorder)
        return result

    return checked


def cost(tape: Tape) -> float:
    """The cost of a tape in additions, with its entries one after the other; a loop whose length is data counts for one turn."""
    total = 0.0
    for op, _, params, type_, _ in tape.instructions:
        if op in (CALL, LOOP):
            variants = getattr(params[0], "variants", {}).values()
            turns = (params[1].length or 1) if op is LOOP else 1
            total += CHOICE_COST + turns * max((cost(v.tape) for v in variants if v.tape is not tape), default=1.0)
        elif op not in (CONSTANT, INPUT, GET):
            total += ELEMENTWISE.get(op.name, 2) * max(1, getattr(type_, "size", 1))
    return total


@np.errstate(all="ignore")
def agree(ours: Tape, theirs: Tape, inputs: Sequence[Operand]) -> bool:
    """Whether two tapes have the same values, and gradients, at a point; also where one of them does not hold there."""
    try:
        pairs = list(zip(run(ours, inputs), run(theirs, inputs)))
        if not all(_is_close(a, b, SAME_VALUE) for a, b in pairs):
            return False
        wrt = tuple(k for k, type_ in enumerate(theirs.input_types) if type_.is_float)
        seeds = [k for k, type_ in enumerate(theirs.output_types) if type_.is_float]
        if not (wrt and seeds) or max(len(ours), len(theirs)) > LONGEST_COMPARED:
            return True
        given = [*inputs, *(np.ones(theirs.output_types[k].shape)[()] for k in seeds)]
        made = (pullback(run_passes(tape, PREPARE), wrt, dict.fromkeys(seeds, NONZERO)).tape for tape in (ours, theirs))
        ours_bar, theirs_bar = (run(tape, given) for tape in made)
    except (GuardFailed, np.linalg.LinAlgError):
        return True
    return all(_is_close(a, b, SAME_GRADIENT) for a, b in zip(ours_bar, theirs_bar))


def _is_close(ours: Operand, theirs: Operand, tolerance: float) -> bool:
    """Whether arrays are equal but for rounding; a cotangent that is masked may be 0 where a path computes NaN."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    largest = np.max(np.abs(theirs), initial=0.0, where=np.isfinite(theirs))
    return bool(np.all((ours == theirs) | (theirs != theirs) | (np.abs(ours - theirs) <= tolerance * largest)))
