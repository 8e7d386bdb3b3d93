"""td.profile: the time and memory of a gradient by lines of the function, measured in its kernel."""

from __future__ import annotations

import linecache
import math
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from time import perf_counter

import numpy as np

from .compiler.codegen.loop_function import KernelEmitter
from .compiler.codegen.timed_kernel import TimedEmitter
from .compiler.kernel import Kernel
from .compiler.loop_ir.dependencies import read_by, written_by
from .compiler.loop_ir.program import Access, Invoke, Item, Program, RoutineCall, Step
from .compiler.loop_kernel import body_of
from .compiler.schedule.cost_model import LOAD, STORE, cost_of
from .errors import ArgumentMismatch, TapediffError, hides_frames
from .ir.arguments import chosen_arguments
from .ir.inputs import as_inputs
from .ir.instruction import Operand, Target, Tree
from .ir.tape import Tape, in_notebook
from .recording.arguments.bind_call import positional
from .targets.backends import NATIVE
from .targets.compiled_tape import CompiledTape
from .targets.evaluate.chosen import inputs_of
from .targets.guarded_tape import GuardedTape
from .targets.operators.gradients import gradient

__all__ = ["Line", "Profile", "profile"]

# The kernels take turns in blocks of at most so many calls, so that each finds its arrays in the cache; for at least so many seconds, to
# find the counter's rate by the clock.
BLOCK, SHORTEST = 20, 0.05
# The table leaves out lines without arrays that take a smaller part of the time, and the ends of long lines.
LEAST_SHOWN, WIDEST = 0.001, 90

HOW = (
    "Measured in a copy of the kernel that reads the processor's counter between groups of loops; the best of the calls. A reading moves "
    "times by some 20 ns, and the compiler may move operations on numbers across it. Lines marked ~ share a group, whose time is split by "
    "operations, in additions: 40 for exp, 12 for a division. Workspace: arrays of the line, before those not needed at once share memory. "
    "Saved: what of it the reverse pass reads."
)


@dataclass(slots=True)
class Line:
    """One line of the function in a profile; see td.profile.

    Attributes:
        file, number, function, source: where it is, and its text; empty for what belongs to no line.
        forward, reverse: seconds of one gradient spent on its value, and on its derivative.
        workspace_bytes: of the arrays that it writes besides arguments and results.
        saved_bytes: of those among them that are kept for the reverse pass.
        is_shared: its time is, in part, a share of a group of loops with other lines, by operations.
        inside: of a loop or call, the lines of its body; their shares of its time, by operations.
    """

    file: str
    number: int
    function: str
    source: str
    forward: float = 0.0
    reverse: float = 0.0
    workspace_bytes: int = 0
    saved_bytes: int = 0
    is_shared: bool = False
    inside: list[Line] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return self.forward + self.reverse


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the time and memory of a gradient go; `print` shows a table. See td.profile.

    Attributes:
        name: of the function.
        seconds: of one call of the kernel as it is, the best measured.
        measured: the sum over all lines, of the kernel with the counter.
        workspace_bytes: of the kernel, without those of loops and sub-tapes.
        lines: the longest first.
        how: how this is measured.
    """

    name: str
    seconds: float
    measured: float
    workspace_bytes: int
    lines: list[Line]
    how: str = field(default=HOW, repr=False)

    def as_dict(self) -> dict[str, object]:
        """The profile as plain values: dicts, lists, strings and numbers."""
        return asdict(self)

    def _repr_html_(self) -> str:
        return in_notebook(str(self))

    def __str__(self) -> str:
        title = (
            f"{self.name}: {_microseconds(self.seconds)} µs a gradient, {_microseconds(self.measured)} µs of it in these lines; "
            f"workspace {_bytes(self.workspace_bytes)}"
        )
        rows: list[tuple[str, ...]] = [("forward µs", "reverse µs", "part", "workspace", "saved", "line")]
        for line in self.lines:
            if line.seconds > LEAST_SHOWN * self.measured or line.workspace_bytes:
                rows.append(self._row(line, ""))
                rows += [self._row(inner, "  in it: ") for inner in line.inside if inner.seconds > LEAST_SHOWN * line.seconds]
        widths = [max(map(len, column)) for column in zip(*rows)]
        table = ["  ".join([*(cell.rjust(width) for cell, width in zip(row[:-1], widths)), row[-1]]) for row in rows]
        return "\n".join([title, *table, self.how])

    def _row(self, line: Line, before: str) -> tuple[str, ...]:
        mark = "~" * line.is_shared
        at = f"{os.path.basename(line.file)}:{line.number}: {line.source}" if line.file else line.source
        times = [mark + _microseconds(seconds) if seconds >= 5e-9 else "" for seconds in (line.forward, line.reverse)]
        sizes = [_bytes(size) if size else "" for size in (line.workspace_bytes, line.saved_bytes)]
        at = at if len(at) <= WIDEST else at[: WIDEST - 3] + "..."
        return (*times, f"{line.seconds / (self.measured or 1.0):.0%}", *sizes, before + at)


@hides_frames
def profile(target: Target, /, *args: Tree, argnums: int | Sequence[int] = 0, budget: float = 0.3, **named: Tree) -> Profile:
    """Time and memory of a gradient by lines of the function, forward and reverse apart.

    Args:
        target: function, Tape, CompiledTape or GuardedTape, of a real scalar. Of a function, the tape of a GuardedTape is measured.
        args, named: the point, as for td.gradient.
        argnums: which argument to differentiate by.
        budget: seconds to measure for.

    Returns:
        A Profile, to be printed; `lines` and `as_dict()` for programs. Times are those of the kernel of value and gradient: groups of its
        loops are timed, and the time of one with several lines is split by a count of operations. Of a loop or a sub-tape, the whole is
        timed. A long tape that runs as byte code is one entry.

    Raises:
        ArgumentMismatch: a budget that is no positive number, or a target compiled by numba.
        TapediffError: the processor is not x86-64, whose counter is read.
        GuardFailed, ShapeMismatch, ...: as td.gradient.

    Cost: compiling the kernel twice, then `budget`.

    >>> import numpy as np
    >>> found = td.profile(lambda x: np.sum(np.exp(x) * x), np.ones(1000))
    >>> found.lines[0].reverse > 0.0
    True
    """
    if not isinstance(budget, (int, float)) or not 0.0 < budget < math.inf:
        raise ArgumentMismatch("budget is how many seconds to measure", got=repr(budget), fix="budget=0.3")
    if platform.machine() not in ("x86_64", "AMD64"):
        raise TapediffError("td.profile reads the time-stamp counter of x86-64", got=platform.machine(), fix="time whole gradients")
    gradient(target, *args, argnums=argnums, **named)  # raises what it raises; from here on, the path is known
    compiled, inputs, count = _compiled_at(target, args, named)
    if compiled.backend != NATIVE:
        raise ArgumentMismatch("td.profile measures native kernels", got=f"backend={compiled.backend!r}", fix="profile the function itself")
    numbers, _ = chosen_arguments(argnums, count, compiled.name)
    kernel = compiled.kernel(inputs_of(compiled.tape, numbers))
    timed = _TimedKernel(kernel.tape, kernel.program, compiled.threads)
    seconds, ticks = _measured(kernel, timed, inputs, budget)
    lines = _lines(timed.program, ticks)
    return Profile(compiled.name, seconds, sum(line.seconds for line in lines), kernel.workspace_bytes, lines)


def _compiled_at(target: Target, args: Sequence[Tree], named: dict[str, Tree]) -> tuple[CompiledTape, list[Operand], int]:
    """A compiled tape that holds at these arguments, its inputs there, and the number of arguments."""
    if isinstance(target, Tape):
        target = CompiledTape(target)
    if isinstance(target, CompiledTape):
        args = positional(target, args, named)
        return target, as_inputs(target.tape, args), len(args)
    guarded = target if isinstance(target, GuardedTape) else GuardedTape(target)
    args = positional(guarded.f, args, named)
    tape, inputs = guarded.tape_for(args)
    return CompiledTape(tape), inputs, len(args)


class _TimedKernel(Kernel):
    """A kernel that reads the counter between the groups of its program."""

    times: np.ndarray

    def _emitter(self) -> KernelEmitter:
        emitter = TimedEmitter(self.program, "tapediff_profile")
        self.times = emitter.times
        return emitter


def _measured(kernel: Kernel, timed: _TimedKernel, inputs: Sequence[Operand], budget: float) -> tuple[float, list[float]]:
    """The seconds of a call of the plain kernel, and of each group of the timed one: the best of all calls."""
    arrays = [np.array(a, t.dtype, order="C").reshape(t.shape) for a, t in zip(inputs, kernel.input_types)]
    arguments = [*arrays, *kernel.fresh_outputs()]
    best, ticks = math.inf, np.full(len(timed.times) - 1, np.iinfo(np.int64).max)
    block, marks = 1, list[tuple[float, int]]()
    while not marks or marks[-1][0] - marks[0][0] < max(SHORTEST, budget):
        for _ in range(block):
            begun = perf_counter()
            kernel.call(*arguments)
            best = min(best, perf_counter() - begun)
        for _ in range(block):
            timed.call(*arguments)
            np.minimum(ticks, np.diff(timed.times), out=ticks)
        marks.append((perf_counter(), int(timed.times[-1])))
        block = max(1, min(BLOCK, int(0.1 * budget / best)))
    rate = (marks[-1][0] - marks[0][0]) / (marks[-1][1] - marks[0][1])
    return best, [rate * max(0, int(each - ticks[0])) for each in ticks[1:]]


# A line; or a text in place of the function, for what belongs to none.
_Place = tuple[str, int, str]
_NOWHERE, _BYTE_CODE = ("", 0, "no line"), ("", 0, "byte code of both passes, which are not told apart")
# The place of an operation, True if it is of the reverse pass, and its work.
_Part = tuple[_Place, bool, float]


def _lines(program: Program, seconds: Sequence[float]) -> list[Line]:
    """The lines of a program with the times of its groups."""
    found, inside = dict[_Place, Line](), dict[_Place, dict[_Place, Line]]()
    for group, whole in zip(program.groups, seconds):
        parts = [_part(item) for item in group.body] or [(_BYTE_CODE, False, 1.0)]
        _split(found, whole, parts)
        if isinstance(group, Invoke):
            _split(inside.setdefault(parts[0][0], {}), whole, list(_parts_of_body(group, 1.0, program.threads)))
    _add_memory(program, found)
    for place, lines in inside.items():
        found[place].inside = sorted(lines.values(), key=attrgetter("seconds"), reverse=True)
    return sorted(found.values(), key=attrgetter("seconds"), reverse=True)


def _split(found: dict[_Place, Line], seconds: float, parts: Sequence[_Part]) -> None:
    """Add a time to lines, by the work of parts; to none where that is unknown."""
    total, is_shared = sum(work for *_, work in parts), len({part[:2] for part in parts}) > 1
    if not math.isfinite(total):
        return
    for place, is_adjoint, work in parts:
        line = _line(found, place)
        line.is_shared |= is_shared
        if is_adjoint:
            line.reverse += seconds * work / total
        else:
            line.forward += seconds * work / total


def _line(found: dict[_Place, Line], place: _Place) -> Line:
    file, number, function = place
    if place not in found:
        found[place] = Line(file, number, function, linecache.getline(file, number).strip()) if file else Line("", 0, "", function)
    return found[place]


def _part(item: Item) -> _Part:
    """A step, call or guard; its work is a count of operations, in additions."""
    site, work = getattr(item, "site", None), 1.0
    if isinstance(item, Step):
        reads = sum(isinstance(read, Access) for read in item.reads)
        work = math.prod(item.domain) * (cost_of(item.expression) + LOAD * reads + STORE)
    elif isinstance(item, RoutineCall):
        work = max(1, math.prod(item.sizes) * item.count)
    return (_NOWHERE, False, work) if site is None else (site.place, site.is_adjoint, work)


def _parts_of_body(group: Invoke, times: float, threads: int) -> Iterator[_Part]:
    """The parts of a loop or call that runs so often; with infinite work if its body has several paths, or loops of unknown length."""
    body = body_of(group, threads)
    if body is None:
        yield _NOWHERE, False, math.inf
        return
    for number, inner in enumerate(body.groups):
        often = 1.0 if number < body.before else times
        if isinstance(inner, Invoke):
            length = inner.params[1].length if len(inner.params) > 1 else 1
            yield from _parts_of_body(inner, often * (math.inf if length is None else length), body.threads)
        else:
            yield from ((place, is_adjoint, often * work) for place, is_adjoint, work in map(_part, inner.body))


def _add_memory(program: Program, found: dict[_Place, Line]) -> None:
    """The arrays in the workspace, at the lines that write them first; saved are those that the reverse pass reads."""
    items = [(item, _part(item)) for group in program.groups for item in group.body]
    read = {storage for item, (_, is_adjoint, _) in items if is_adjoint for storage in read_by(item)}
    counted = set[int]()
    for item, (place, is_adjoint, _) in items:
        for storage in (program.storages[number] for number in written_by(item)):
            if storage.home == "workspace" and storage.in_memory and storage.number not in counted:
                counted.add(storage.number)
                found[place].workspace_bytes += storage.bytes
                found[place].saved_bytes += storage.bytes * (storage.number in read and not is_adjoint)


def _microseconds(seconds: float) -> str:
    return f"{1e6 * seconds:.3g}" if seconds < 1e-3 else f"{1e6 * seconds:.0f}"


def _bytes(size: float) -> str:
    return f"{size} B" if size < 1000 else f"{size / 1e3:.3g} kB" if size < 1e6 else f"{size / 1e6:.3g} MB"
