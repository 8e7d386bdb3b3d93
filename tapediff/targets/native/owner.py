"""The interfaces of targets with native calls."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from ...functions.callees.path_trie import Fork
from ...ir.instruction import Operand, Outcome, Tree

if TYPE_CHECKING:
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
# A CompiledTape, or a GuardedTape, which is a PathsOwner; told apart by their methods.
Owner: TypeAlias = Any


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
