"""The function that is being generated: text, stack slots, addresses of storages, numbers in registers, and exits.

The emitters of loop nests, scalar code and calls write into it; Emitter makes a kernel of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..llvm.values import MEMORY_TYPES
from ..loop_ir.program import Access, Exit, Invoke, Program
from ..math.simd import Code, Value
from ..runtime.call_frame import ArgumentLayout
from ..runtime.callees.dispatch_table import CalleeTable
from .outlining import longest_calling
from .vector_memory import LaneMemory


class InlinedBody(NamedTuple):
    """A function that runs the iterations of a loop, as a part of its caller.

    Attributes:
        registers: the carries read before the first iteration, and written to the same place after the last.
    """

    text: str
    registers: frozenset[int]


class KernelFunction(LaneMemory):
    """A growing function: its text, the addresses of its storages, and its exits."""

    # The start of the callees' stack in this thread; 0 if there is none yet.
    outermost = "0"

    def __init__(self, program: Program, name: str, owner: KernelFunction | None = None) -> None:
        self.program = program
        self.storages = program.storages
        # The inputs that may have fewer entries than their storages.
        self.short = {position for position, _ in program.short}
        self.name = name
        self.code = Code("body")
        # Storages that reductions need not initialise.
        self.filled: frozenset[int] = frozenset()
        # Stack slots (LLVM turns them into registers only at the start of the entry block); then addresses.
        self.slots: list[str] = []
        self.entry: list[str] = []
        self.scalars: dict[int, Value] = {}
        self.failing: list[tuple[str, int | str, Exit | None]] = []
        # Of the whole module: its functions and declarations; the longest loop that calls its costly expressions; and the storages that are
        # filled first and then added to.
        self.module: Code = self.code if owner is None else owner.module
        self.longest_calling: int = longest_calling(program) if owner is None else owner.longest_calling
        self.assembled: frozenset[int] = program.assembled() if owner is None else owner.assembled
        # Of calls and loops of callees: the dispatch tables; interpreter programs and loop limits; addresses in this process by symbol; the
        # module's functions for callees; the number of stacks on the heap.
        self.dispatch_tables: list[CalleeTable] = []
        self.runs: list[object] = []
        self.addresses: dict[str, int] = {} if owner is None else owner.addresses
        self.invocations: dict[tuple[object, ...], tuple[str, int]] = {}
        self.stack_count = 0
        # By name: the text of a chunk, a part of this function outlined as its own, and the variable of its status.
        self.chunks: dict[str, tuple[str, str]] = {}
        self._bases: dict[int, str] = {}
        self._fresh = 0

    def fresh(self) -> int:
        self._fresh += 1
        return self._fresh

    def is_assembled(self, storage: int) -> bool:
        """True if a storage is filled first and then added to, so that a reduction must not initialise it."""
        return storage in self.assembled

    def body_for(self, item: Invoke, layout: ArgumentLayout, name: str) -> InlinedBody | None:
        """The function that runs the iterations of an inner loop; None to use the dispatch loop."""
        return None

    def as_function(self, head: str, before: Sequence[str]) -> str:
        """The text of a function without its own workspace: `before` are the lines that precede its body."""
        return "\n".join([head, "entry:", *self.slots, *before, "br label %body", "body:", *self.code.lines, "}"])

    # Memory

    def base(self, storage: int) -> str:
        """The address of a storage's first element, computed once in the entry block."""
        known = self._bases.get(storage)
        if known is not None:
            return known
        item = self.storages[storage]
        name = f"%base{storage}"
        if item.home in ("input", "output"):
            self.entry.append(f"%slot{storage} = getelementptr ptr, ptr %{item.home}s, i64 {item.position}")
            self.entry.append(f"{name} = load ptr, ptr %slot{storage}")
        else:
            self.entry.append(f"{name} = getelementptr i8, ptr %{item.home}, i64 {item.position}")
        self._bases[storage] = name
        return name

    def rebase(self, storage: int, address: str) -> None:
        """From here on, treat an address as that of the storage's first element."""
        self._bases[storage] = address

    def set_scalar(self, storage: int, value: Value) -> None:
        self.scalars[storage] = value
        item = self.storages[storage]
        if item.home == "output" or item.in_memory:
            self.store(self.base(storage), value)

    def address(self, storage: int, offset: int) -> str:
        """The address of an element."""
        base, element = self.base(storage), MEMORY_TYPES[self.storages[storage].kind]
        return self.code.emit(f"getelementptr {element}, ptr {base}, i64 {offset}") if offset else base

    def scalar(self, read: Access) -> Value:
        """Read a number, from its register if it has one."""
        known = self.scalars.get(read.storage)
        if known is not None:
            return known
        return self.load(self.address(read.storage, read.offset), self.storages[read.storage].kind)

    def leave_if(self, fails: str, status: int | str, item: Exit | None = None) -> None:
        """Leave the function with a status if a condition holds, which it rarely does."""
        label, onward = f"leave{self.fresh()}", self.code.label()
        self.code.line(f"br i1 {fails}, label %{label}, label %{onward}, !prof !0")
        self.code.start(onward)
        self.failing.append((label, status, item))
