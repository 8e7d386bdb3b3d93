"""The interfaces of targets with native calls."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from ...functions.callees.path_trie import Fork
from ...ir.instruction import Operand, Outcome, Tree
from ...ir.tape import Tape

if TYPE_CHECKING:
    from ...compiler.kernel import Kernel
    from ..tapes.operator_tapes import Operator
    from .signature import Kind


class CompiledPath(Protocol):
    """One recorded path of a function: a Variant.

    Attributes:
        number: recordings are counted from 1.
        hits: the number of calls that it answered; used: when it answered last.
        outcomes: of its guards, in order; `path` has their keys.
        forks: where other paths diverge from this one, by the guard's position.
        constants: inputs of its kernels after the arguments.
    """

    number: int
    hits: int
    used: int
    outcomes: tuple[Outcome, ...]
    path: tuple[Hashable, ...]
    forks: dict[int, Fork[Any]]

    @property
    def constants(self) -> Sequence[Operand]: ...

    @property
    def compiled(self) -> Any: ...

    @property
    def program(self) -> Any: ...


class KeptPaths(Protocol):
    """The recorded paths of a function that are in use: a TapeCache.

    Attributes:
        users: the calls that run these paths by themselves, by identity.
        clock: an address_call.CLOCK.
    """

    users: WeakValueDictionary[int, Any]
    clock: np.ndarray

    def holds(self, variant: Path, /) -> bool:
        """True unless a path was dropped."""
        ...


# A CompiledPath of the owner's own class.
Path: TypeAlias = Any
# A CompiledTape (a KernelOwner) or a GuardedTape (a PathsOwner), told apart by their methods.
Owner: TypeAlias = Any


class KernelOwner(Protocol):
    """A tape with kernels of value and gradients by any arguments: a CompiledTape."""

    memory: int | None
    threads: int
    seconds: float

    @property
    def tape(self) -> Tape: ...

    def kernel(self, argnums: tuple[int, ...] | Operator | None, /) -> Kernel: ...

    def __call__(self, *args: Tree) -> Tree: ...

    def value_and_gradient(self, *args: Tree, argnums: object) -> tuple[Tree, Tree]: ...


class PathsOwner(Protocol):
    """A function with several recorded paths that native code may run: a GuardedTape."""

    @property
    def name(self) -> str: ...

    @property
    def reads(self) -> Hashable:
        """A key, equal while the function reads the same besides its arguments."""
        ...

    def may_run_natively(self, path: Path, /) -> bool:
        """True if native code may select this path by guards alone, in calls that agree in all else."""
        ...

    @property
    def kept_paths(self) -> KeptPaths: ...

    def _native_side(self) -> Any: ...

    def answer_kind(self, args: Sequence[Tree], kind: Kind, vectors: Sequence[Operand]) -> tuple[Path, list[Operand]]:
        """The path taken, and all outputs of the kernel for a kind of call."""
        ...

    def keyed(self, args: Sequence[Tree], argnums: tuple[int, ...], *, with_data: bool = False) -> Tree:
        """The key of a call from native code: a KeyedCall."""
        ...

    def likely_at(self, args: Sequence[Tree]) -> Tape:
        """A tape for arguments of these types, on any path."""
        ...
