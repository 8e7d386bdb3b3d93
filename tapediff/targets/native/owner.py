"""The interfaces of targets with native calls."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

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
        hits: the number of calls that it answered.
        outcomes: of its guards, in order; `path` has their keys.
        forks: where other paths diverge from this one, by the guard's position.
        constants: inputs of its kernels after the arguments.
    """

    number: int
    hits: int
    outcomes: tuple[Outcome, ...]
    path: tuple[Hashable, ...]
    forks: dict[int, Fork[Any]]
    constants: Sequence[Operand]

    @property
    def compiled(self) -> KernelOwner: ...

    @property
    def program(self) -> Any: ...


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

    def may_run_natively(self, path: Path, /, *, specialised: bool = False) -> bool:
        """True if native code may select this path by guards alone; if `specialised`, calls agree in all else."""
        ...

    def keeps(self, path: Path, /) -> bool:
        """True unless a path was dropped."""
        ...

    def note_native_use(self, path: Path, /) -> None:
        """Note that native code has recently used a path."""
        ...

    def answer_row(self, args: Sequence[Tree], argnums: tuple[int, ...] | None) -> tuple[Path, list[Operand], bool]:
        """The path taken, value and gradients by `argnums` (the results, for None), and True if the function returns a tuple."""
        ...

    def answer_kind(self, args: Sequence[Tree], kind: Kind, vectors: Sequence[Operand]) -> tuple[Path, list[Operand]]:
        """The path taken, and all outputs of the kernel for a kind of call."""
        ...

    def keyed(self, args: Sequence[Tree], argnums: tuple[int, ...], *, with_data: bool = False) -> Tree:
        """The key of a call from native code: a KeyedCall."""
        ...

    def likely_at(self, args: Sequence[Tree]) -> Tape:
        """A tape for arguments of these types, on any path."""
        ...

    def note_native_user(self, user: object, /) -> None:
        """Note that native code runs recorded paths by itself."""
        ...
