"""td.profile: the time and memory of a gradient by lines of the function, measured in its kernel."""

from __future__ import annotations

import linecache
import math
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter

import numpy as np

from .base.source_location import PickledSite, Site
from .compiler.codegen.loop_function import KernelEmitter
from .compiler.codegen.timed_kernel import TimedEmitter
from .compiler.kernel import Kernel
from .compiler.loop_ir.dependencies import read_by, written_by
from .compiler.loop_ir.program import Access, Invoke, Item, Program, RoutineCall, Step
from .compiler.loop_kernel import body_of
from .compiler.schedule.cost_model import LOAD, STORE, cost_of
from .errors import ArgumentMismatch, TapediffError
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

# The kernels take turns in blocks of calls, so that each finds its own arrays in the cache.
BLOCK = 20
# The clock is compared with the counter over at least so many seconds.
SHORTEST = 0.05

# The table leaves out lines without arrays that take a smaller part of the time, and the ends of long lines.
LEAST_SHOWN, WIDEST = 0.001, 90

HOW = (
    "Measured in a copy of the kernel that reads the processor's counter between groups of loops; the best of the calls. A reading moves "
    "times by some 20 ns, and the compiler may move operations on numbers across it. Lines marked ~ share a group, whose time is split by "
    "operations, in additions: 40 for exp, 12 for a division. Workspace: arrays of the line, before those not needed at once share memory. "
    "Saved: what of it the reverse pass reads."
)


@dataclass(frozen=True, slots=True)
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
    inside: tuple[Line, ...] = ()

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
    lines: tuple[Line, ...]
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
        rows = [("forward µs", "reverse µs", "part", "workspace", "saved", "line")]
        for line in self.lines:
            if line.seconds > LEAST_SHOWN * self.measured or line.workspace_bytes:
                rows.append(self._row(line, ""))
                rows += [self._row(inner, "  in it: ") for inner in line.inside if inner.seconds > LEAST_SHOWN * line.seconds]
        widths = [max(map(len, column)) for column in zip(*rows)]
        table = ["  ".join([*(cell.rjust(width) for cell, width in zip(row[:-1], widths)), row[-1]]) for row in rows]
        return "\n".join([title, *table, self.how])

    def _row(self, line: Line, before: str) -> tuple[str, ...]:
        mark = "~" * line.is_shared
        at = f"{line.file.replace(chr(92), '/').rpartition('/')[2]}:{line.number}: {line.source}" if line.file else line.source
        times = [mark + _microseconds(seconds) if seconds >= 5e-9 else "" for seconds in (line.forward, line.reverse)]
        sizes = [_bytes(size) if size else "" for size in (line.workspace_bytes, line.saved_bytes)]
        at = at if len(at) <= WIDEST else at[: WIDEST - 3] + "..."
        return (*times, f"{line.seconds / (self.measured or 1.0):.0%}", *sizes, before + at)


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
    if callable(target) and not isinstance(target, (Tape, CompiledTape)) and not hasattr(target, "tape_for"):
        target = GuardedTape(target)
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
    args = positional(target.f, args, named) if named else tuple(args)
    tape, inputs = target.tape_for(args)
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
    best, ticks = math.inf, np.full(len(timed.times), np.iinfo(np.int64).max)
    start: tuple[float, int] | None = None
    while True:
        for _ in range(BLOCK):
            begun = perf_counter()
            kernel.call(*arguments)
            best = min(best, perf_counter() - begun)
        for _ in range(BLOCK):
            timed.call(*arguments)
            np.minimum(ticks, timed.times, out=ticks)
        now = perf_counter(), int(timed.times[-1])
        if start is None:
            start = now
        elif now[0] - start[0] > max(SHORTEST, budget):
            break
    rate = (now[0] - start[0]) / (now[1] - start[1])
    return best, [rate * max(0, int(each) - int(ticks[0])) for each in ticks[1:-1]]


# The parts of a program that are told apart: a line, or a text for what belongs to none.
_Place = tuple[str, int, str]
_NOWHERE, _BYTE_CODE = ("", 0, "no line"), ("", 0, "byte code of both passes, which are not told apart")


@dataclass(slots=True)
class _Sums:
    """What is added up for a line; the fields are those of Line."""

    forward: float = 0.0
    reverse: float = 0.0
    workspace_bytes: int = 0
    saved_bytes: int = 0
    is_shared: bool = False
    inside: tuple[Line, ...] = ()


def _lines(program: Program, seconds: Sequence[float]) -> tuple[Line, ...]:
    """The lines of a program with the times of its groups."""
    found: dict[_Place, _Sums] = {}
    for group, whole in zip(program.groups, seconds):
        parts = list(group.body)
        if not parts:
            _add(found.setdefault(_BYTE_CODE, _Sums()), whole, is_adjoint=False)
            continue
        work = [_work(item) for item in parts]
        places = [_place(item) for item in parts]
        for item, place, share in zip(parts, places, work):
            sums = found.setdefault(place, _Sums())
            _add(sums, whole * share / sum(work), is_adjoint=_is_adjoint(item))
            sums.is_shared |= len({(p, _is_adjoint(i)) for p, i in zip(places, parts)}) > 1
        if isinstance(group, Invoke):
            sums = found[places[0]]
            sums.inside = _merged([*sums.inside, *_inside(group, whole, program.threads)])
    _add_memory(program, found)
    return _sorted(found)


def _add(sums: _Sums, seconds: float, *, is_adjoint: bool) -> None:
    if is_adjoint:
        sums.reverse += seconds
    else:
        sums.forward += seconds


def _sorted(found: dict[_Place, _Sums]) -> tuple[Line, ...]:
    lines = [
        Line(file, number, function if file else "", linecache.getline(file, number).strip() if file else function,
             s.forward, s.reverse, s.workspace_bytes, s.saved_bytes, s.is_shared, s.inside)
        for (file, number, function), s in found.items()
    ]  # fmt: skip
    return tuple(sorted(lines, key=lambda line: -line.seconds))


def _merged(lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines of several loops at one place: the forward one and the reverse one."""
    found: dict[_Place, _Sums] = {}
    for line in lines:
        sums = found.setdefault((line.file, line.number, line.function or line.source), _Sums(is_shared=True))
        sums.forward, sums.reverse = sums.forward + line.forward, sums.reverse + line.reverse
        sums.workspace_bytes += line.workspace_bytes
    return _sorted(found)


def _site(item: Item) -> Site | PickledSite | None:
    return getattr(item, "step", item).site  # type: ignore[union-attr]  # steps in place have theirs


def _place(item: Item) -> _Place:
    site = _site(item)
    return _NOWHERE if site is None else site.place


def _is_adjoint(item: Item) -> bool:
    site = _site(item)
    return site is not None and site.is_adjoint


def _work(item: Item) -> float:
    """A count of operations, in additions."""
    if isinstance(item, Step):
        reads = sum(isinstance(read, Access) for read in item.reads)
        return math.prod(item.domain) * (cost_of(item.expression) + LOAD * reads + STORE)
    if isinstance(item, RoutineCall):
        return max(1, math.prod(item.sizes) * item.count)
    return 1


def _inside(group: Invoke, seconds: float, threads: int) -> tuple[Line, ...]:
    """The lines of the body of a loop or call, by operations; none if the body has several paths, or loops of unknown length."""
    shares = list(_shares(group, 1.0, threads))
    total, found = sum(work for _, work, _ in shares), dict[_Place, _Sums]()
    if not 0.0 < total < math.inf:
        return ()
    for place, work, is_adjoint in shares:
        _add(found.setdefault(place, _Sums(is_shared=True)), seconds * work / total, is_adjoint=is_adjoint)
    return _sorted(found)


def _shares(group: Invoke, times: float, threads: int) -> Iterator[tuple[_Place, float, bool]]:
    body = body_of(group, threads)
    if body is None:
        yield _NOWHERE, math.inf, False
        return
    for number, inner in enumerate(body.groups):
        often = 1.0 if number < body.before else times
        for item in inner.body:
            if isinstance(inner, Invoke):
                length = inner.params[1].length if len(inner.params) > 1 else 1
                yield from _shares(inner, often * (math.inf if length is None else length), body.threads)
            else:
                yield _place(item), often * _work(item), _is_adjoint(item)


def _add_memory(program: Program, found: dict[_Place, _Sums]) -> None:
    """The arrays in the workspace, at the lines that write them first; saved are those that the reverse pass reads."""
    items = [item for group in program.groups for item in group.body]
    read = {storage for item in items if _is_adjoint(item) for storage in read_by(item)}
    counted = set[int]()
    for item in items:
        for number in written_by(item):
            storage = program.storages[number]
            if storage.home != "workspace" or not storage.in_memory or number in counted:
                continue
            counted.add(number)
            sums = found[_place(item)]
            sums.workspace_bytes += storage.bytes
            sums.saved_bytes += storage.bytes if number in read and not _is_adjoint(item) else 0


def _microseconds(seconds: float) -> str:
    """Three digits."""
    value = 1e6 * seconds
    return f"{value:.{max(0, 2 - math.floor(math.log10(value))) if value > 0.0 else 0}f}" if value >= 0.01 else f"{value:.2f}"


def _bytes(size: int) -> str:
    for unit in ("B", "kB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} MB"
