"""td.compile: a tape, or a function recorded at a point, with native kernels.

Comes in: a tape, or a function and where to record it. Goes out: a `CompiledTape` whose default kernel is made.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import overload

from ..errors import ArgumentMismatch, hide_frames
from ..functions.callees.path_messages import warn
from ..functions.captured.environment import Environment
from ..functions.captured.environment_check import EnvironmentCheck, part_text
from ..ir.instruction import Target, Tree, UserFunction
from ..ir.tape import Tape
from ..recording.arguments.declared_sizes import Spec
from .backends import NATIVE, check_backend
from .compiled_tape import CompiledTape
from .evaluate.function_types import Result
from .evaluate.like_function import like, like_tape
from .guarded.policy import checked_contents
from .record_function import record


def _require_point(target: Target, args: Sequence[Tree], named: dict[str, Tree]) -> None:
    """Raise ArgumentMismatch if a function with parameters is to be recorded without arguments."""
    if not callable(target) or isinstance(target, CompiledTape) or hasattr(target, "tape_for"):
        raise ArgumentMismatch("td.compile takes a function or a Tape", got=type(target).__name__, fix="td.compile(f, x)")
    for one in (*args, *named.values()):
        if isinstance(one, Spec):
            raise ArgumentMismatch("td.compile makes a tape of fixed sizes", got=repr(one),
                                   fix="td.GuardedTape(f, sizes=(...)) takes td.spec, and serves all sizes")  # fmt: skip
    if args or named:
        return
    try:
        inspect.signature(target).bind()
    except TypeError as error:
        name = getattr(target, "__name__", type(target).__name__)
        raise ArgumentMismatch(
            f"{name} takes arguments, and td.compile was given none", got=str(error), fix="td.compile(f, x) records f at x"
        ) from error
    except ValueError:
        return  # no signature: the call itself will raise


@overload
def compile(
    target: Tape, /, *args: Tree, backend: str = NATIVE, has_aux: bool = False, merge: bool | None = None,
    memory: str | int | None = None, threads: int | None = None, check_contents: str = "sample", frozen: bool = False, **named: Tree,
) -> CompiledTape: ...  # fmt: skip
@overload
def compile(
    target: Callable[..., Result], /, *args: Tree, backend: str = NATIVE, has_aux: bool = False, merge: bool | None = None,
    memory: str | int | None = None, threads: int | None = None, check_contents: str = "sample", frozen: bool = False, **named: Tree,
) -> CompiledTape[Result]: ...  # fmt: skip
def compile(
    target: Tape | UserFunction, /, *args: Tree, backend: str = NATIVE, has_aux: bool = False, merge: bool | None = None,
    memory: str | int | None = None, threads: int | None = None, check_contents: str = "sample", frozen: bool = False, **named: Tree,
) -> CompiledTape:  # fmt: skip
    """Turn a tape into native code: forward and backward in one kernel.

    Args:
        target: a Tape; or a function, which is recorded at `args` first.
        args, named: where to record a function; see td.record.
        backend: "native", this package's own compiler; or "numba", which compiles the text that `source` shows.
        has_aux: the function returns (y, aux), and so does a call; see td.record. Derivatives are of y, and come with aux where they
            are asked for it, as td.gradient(c, x, has_aux=True).
        merge: as in td.record: one tape for several paths, if the target is a Python function.
        memory: the most that a kernel may need besides its arguments and results, as "200MB" or in bytes. Loops of known length save
            less for the reverse pass then, and compute the rest again, each iteration about once more at most until blocks of blocks
            are needed. None for what is fastest.
        threads: how many threads may share one gradient: the loops and matrix products in it that take 40 µs or longer. Any number
            gives the same bits. None for as many as the environment variable TAPEDIFF_THREADS says; without it, one. See docs/calling.md.
        check_contents: how the arrays and containers that the function reads besides its arguments are compared at each call; see
            td.GuardedTape.
        frozen: True if globals, closures, attributes and their contents stay as recorded, even if they change. With a tape
            as target they always do.

    Returns:
        A CompiledTape; its gradient by the first argument is compiled at once, others when first asked for.

    Raises:
        StaleTape: at calls, if the function would read something else besides its arguments than when it was recorded.
        MemoryBudgetExceeded: a kernel does not fit into `memory`; the message names what needs the most.

    Cost: about 0.05 s for models of a few dozen array operations, growing with the number of operations on the tape; with numba
    one to ten seconds. Where `memory` is short, up to nine times as long without the time that LLVM takes.
    """
    try:
        check_backend(backend)
        if not isinstance(target, Tape):
            _require_point(target, args, named)
            before = None if frozen else Environment(target, checked_contents(check_contents))
            tape = record(target, *args, has_aux=has_aux, merge=merge, **named)
            check = None if before is None else EnvironmentCheck(target, check_contents, before=before)
            if before is not None and not before.is_whole:
                warn(part_text(tape.name))
            compiled = CompiledTape(tape, backend, memory, threads, check)
            like(compiled, target)
        else:
            if args or named or has_aux or merge:
                raise ArgumentMismatch(
                    "td.compile(tape) takes no further arguments", fix="td.compile(f, x0) records and compiles"
                )
            compiled = CompiledTape(target, backend, memory, threads)
            like_tape(compiled, target)
        compiled.kernel(compiled._default())
        return compiled
    except Exception as error:
        hide_frames(error)
        raise
