"""Backends: ways to compile a tape into callable code."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import TYPE_CHECKING

from ..base.settings import THREADS_VARIABLE, settings
from ..errors import ArgumentMismatch

if TYPE_CHECKING:
    from ..compiler.jit.linking import Sent
    from ..compiler.kernel import Kernel
    from ..compiler.loop_ir.program import Program
    from ..ir.tape import Tape

NATIVE, NUMBA = "native", "numba"


def check_backend(name: str) -> str:
    """Return the name of a backend. Raises ArgumentMismatch for an unknown one."""
    if name not in (NATIVE, NUMBA):
        raise ArgumentMismatch(
            "there is no such backend", got=repr(name), fix=f"backend={NATIVE!r}, the default, or backend={NUMBA!r}"
        )
    return name


# The most threads to start.
MOST_THREADS = 256


def threads_of(threads: int | None, backend: str) -> int:
    """The number of threads that may share the loops of a kernel; 0 if neither the user nor the environment sets it.

    Raises:
        ArgumentMismatch: not a positive integer, or the backend has no threads.
    """
    given, name = threads, "threads"
    if threads is None:
        if settings.threads is None or backend != NATIVE:
            return 0
        given, name = settings.threads, THREADS_VARIABLE
    elif backend != NATIVE:
        raise ArgumentMismatch("threads= needs the native backend", got=f"backend={backend!r}", fix="leave backend= out")
    try:
        number = operator.index(int(given) if isinstance(given, str) else given)  # type: ignore[arg-type]
        assert not isinstance(given, bool)
        assert 0 < number <= MOST_THREADS
    except (AssertionError, TypeError, ValueError):
        raise ArgumentMismatch(
            f"{name} is how many threads may share one gradient", got=f"{name}={given!r}", fix=f"an integer from 1 to {MOST_THREADS}"
        ) from None
    return number


def make_kernel(backend: str, tape: Tape, program: Program | None = None, threads: int = 0) -> Kernel:
    """Compile a tape, or its program if there is one already.

    The compilers are imported when the first kernel is compiled, so that `import tapediff` stays fast.
    """
    from ..compiler.kernel import Kernel

    if backend == NUMBA:
        from ..compiler.loop_ir.program import Interpreted, Invoke
        from ..compiler.pipeline import build_program

        if program is None or any(isinstance(group, Invoke) and group.stop for group in program.groups):
            program = build_program(tape, ends_loops=False)
        # Byte code leaves numba nothing to compile.
        if not any(isinstance(group, Interpreted) for group in program.groups):
            from ..compiler.numba_backend.kernel import NumbaKernel

            return NumbaKernel(tape, program)
    return Kernel(tape, program, threads)


def kernel_key(tape: Tape, argnums: object, threads: int) -> bytes | None:
    """The name on disk of a kernel of a recorded tape; None if it is not kept there.

    Args:
        argnums: as for CompiledTape.kernel.
    """
    asked = _name_of(argnums)
    if settings.cache_directory is None or asked is None:
        return None
    from ..compiler.jit.tape_digest import key_of

    return key_of("kernel", tape, asked, threads)


def _name_of(argnums: object) -> object:
    """The key of a kernel by names; None for operators that hold more than numbers."""
    if argnums is None:
        return "value"
    if type(argnums) is tuple:
        return argnums
    make, *rest = (getattr(argnums, name) for name in ("make", "wrt", "keep", "batch", "vectors", "mode", "has_aux", "parts"))
    is_found = isinstance(make, FunctionType) and getattr(sys.modules.get(make.__module__), make.__qualname__, None) is make
    return (make.__module__, make.__qualname__, *rest) if is_found and not rest[-1] else None


def recalled_kernel(key: bytes | None, tape: Callable[[], Tape], make: Callable[[], Kernel], threads: int) -> Kernel:
    """The kernel of this name, or a new one that takes the name.

    Args:
        tape, make: make the tape that it runs, and the kernel.
    """
    if key is None:
        return make()
    from ..compiler.jit import recipes
    from ..compiler.kernel import Kernel

    kept = recipes.recalled(key)
    found = None if kept is None else Kernel.recalled(kept, tape, threads)
    if found is None:
        found = make()
        kept = found.kept()
        if kept is not None:
            recipes.remember(key, kept)
    return found


def sent_code(kernels: Iterable[Kernel]) -> Sent | None:
    """The object code of these kernels, for the pickle of a target."""
    made = list(kernels)
    if not made:
        return None
    from ..compiler.jit.sent_code import packed

    return packed(function for kernel in made for function in kernel.native_functions())


def receive_code(sent: Sent | None) -> None:
    """Keep object code from a pickle."""
    if sent is not None:
        from ..compiler.jit.sent_code import receive

        receive(sent)
