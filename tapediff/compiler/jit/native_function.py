"""Turns LLVM text into a native function: parse, optimise, emit object code, link. llvmlite is imported here, at first use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING

from ...base.fork_locks import LLVM_LOCK
from ...base.held_locks import holding
from ...base.uninterrupted import uninterrupted
from ..llvm.cpu import processor
from . import object_cache, own_routines as linked, scipy_symbols as libraries
from .linking import Library, digest_of
from .toolchain import Machines, toolchain

if TYPE_CHECKING:
    from llvmlite.binding import ContextRef, ModulePassManager, ModuleRef, TargetMachine

# LLVM's code generation levels, for usual and for quick compilation. Level 2 also reorders the instructions of each block after register
# allocation, by LLVM's models of AMD's processors. That takes a tenth of the code generator's time, grows with the square of a block's
# loads and stores, up to half of the time (0.3 s for two loops of 66 steps of gathers), and no kernel of sixty was slower without: the same
# to 0.1 % in the mean.
LEVELS = {False: 1, True: 0}


def machines() -> Machines:
    """LLVM for this CPU; set up once per process."""
    if toolchain.machines is None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        toolchain.machines = Machines(llvm, _machine(llvm, LEVELS[False]), _machine(llvm, LEVELS[True]), {})
    return toolchain.machines


def _manager(llvm: ModuleType, passes: Sequence[str]) -> ModulePassManager:
    manager = llvm.create_new_module_pass_manager()
    for name in passes:
        getattr(manager, f"add_{name}_pass")()
    return manager


def _machine(llvm: ModuleType, level: int) -> TargetMachine:
    target = llvm.Target.from_default_triple()
    cpu, features = processor()
    return target.create_target_machine(cpu=cpu, features=features, opt=level, jit=True)


class NativeFunction:
    """A linked function. Its code is freed some time after the last object with the same text.

    Args:
        text: LLVM text.
        name: the function in it that is exported.
        symbols: external routines that it calls; those of SciPy's libraries are looked up.
        quickly: leave out the slowest optimisations of the code generator.
        addresses: addresses of further symbols, which the text only declares.
        is_portable: the text has no addresses of this process in it, so its code may be kept on disk for others.

    Attributes:
        address: the address of the function.
    """

    __slots__ = ("_library", "address")

    def __init__(
        self, text: str, name: str, symbols: set[str], *, quickly: bool = False,
        addresses: Mapping[str, int] | None = None, is_portable: bool = False,
    ) -> None:  # fmt: skip
        found = dict(addresses or {})
        for symbol in symbols:
            if symbol.startswith(libraries.PREFIX):
                found[symbol] = address_of(symbol)
        to_be_kept = self._make(text, name, found, quickly, is_portable)
        if to_be_kept is not None:
            object_cache.store(*to_be_kept)

    @property
    def symbols(self) -> frozenset[str]:
        """The symbols that it calls by given addresses."""
        return self._library.symbols

    @property
    def portable_code(self) -> tuple[bytes, bytes] | None:
        """The digest of the text, and the object code, where other processes may use it."""
        library = self._library
        return (library.digest, library.code) if library.is_portable else None

    @holding(LLVM_LOCK)
    @uninterrupted
    def _make(
        self, text: str, name: str, addresses: Mapping[str, int], quickly: bool, is_portable: bool
    ) -> tuple[bytes, bytes] | None:
        """Link code, compiling it unless it is in memory or on disk. Return the key and code to keep on disk."""
        digest = digest_of(text, quickly)
        library, to_be_kept = toolchain.linker.known_library(digest, name, addresses), None
        if library is None:
            library, to_be_kept = _linked(digest, text, name, addresses, quickly, is_portable)
        self._library = library
        self.address: int = library.address
        return to_be_kept


def _linked(
    digest: bytes, text: str, name: str, addresses: Mapping[str, int], quickly: bool, is_portable: bool
) -> tuple[Library, tuple[bytes, bytes] | None]:
    """The library of a text, and the key and code to be kept on disk."""
    llvm, linker, key = machines().llvm, toolchain.linker, None

    def link(code: bytes) -> Library:
        library = linker.link(llvm, lambda: _machine(llvm, LEVELS[False]), digest, code, name, addresses)
        library.is_portable = is_portable
        return library

    sent = linker.sent_code(digest) if is_portable else None
    if sent is not None:
        with suppress(RuntimeError):  # llvmlite's error where the linker refuses
            return link(sent), None
    if is_portable and object_cache.is_enabled():
        key = object_cache.key_of(
            text, (*PASSES[quickly], f"quickly {quickly}", f"level {LEVELS[quickly]}", llvm.get_process_triple(), *processor())
        )
        kept = object_cache.load(key)
        if kept is not None:
            with suppress(RuntimeError):  # llvmlite's error where the linker refuses
                return link(kept), None
    known = linker.known_code(digest)
    code = object_code(text, quickly) if known is None else known
    return link(code), None if key is None else (key, code)


@uninterrupted
def triple() -> str:
    """LLVM's name for this machine and system."""
    return machines().llvm.get_process_triple()


def address_of(symbol: str) -> int:
    """The address of a routine of SciPy's libraries, or of this package's own."""
    if linked.is_linked_here(symbol):
        return linked.address_of(symbol, NativeFunction)
    address = libraries.address_of(symbol)
    assert address is not None, f"{symbol} names a library of SciPy"
    return address


# The passes that pay for generated code: registers for stack slots, folding; common subexpressions, joined blocks. The key is True for
# quick compilation.
PASSES = {
    False: ("sroa", "instruction_combine", "new_gvn", "simplify_cfg"),
    True: ("sroa", "instruction_combine"),
}

# The length of text parsed in one LLVM context: 10 kB of text leave 50 kB of constants in it, and a new context takes 0.3 ms.
MOST_CONTEXT_BYTES = 256 << 10

# The attribute of functions that are inlined first of all.
INLINED = "alwaysinline"


def object_code(text: str, quickly: bool) -> bytes:
    """The machine code of LLVM text."""
    machine = machines().quick if quickly else machines().usual
    return machine.emit_object(optimised(text, quickly))


def optimised(text: str, quickly: bool = False, context: ContextRef | None = None) -> ModuleRef:
    """The module after the optimisations that pay for generated code. `context`: the LLVM context to parse it in.

    The code is written vectorised and its loops hoisted, so LLVM's standard pipeline finds little more to do: it takes a third
    longer for the same speed, retains 120 kB for each kernel, and its vectorisers could change the order of a sum.
    """
    llvm = machines().llvm
    first, *rest = PASSES[quickly]
    module = _parsed(llvm, text, context)
    _run(module, (first,))
    if not _is_valid(module):
        # LLVM 22's sroa joins the parts of an array, if stored out of order, before the last of them is computed. Without it the code
        # is slower, and right.
        module = _parsed(llvm, text, context)
    _run(module, tuple(rest))
    return module


def _parsed(llvm: ModuleType, text: str, context: ContextRef | None = None) -> ModuleRef:
    module = llvm.parse_assembly(text, _context(llvm, len(text)) if context is None else context)
    if INLINED in text:
        _run(module, ("always_inliner",))
    return module


def _context(llvm: ModuleType, length: int) -> ContextRef:
    """The LLVM context of types and constants. It never frees them, so it is replaced from time to time."""
    context = toolchain.context
    if context is None or toolchain.context_bytes > MOST_CONTEXT_BYTES:
        context = llvm.create_context()
        toolchain.context, toolchain.context_bytes = context, 0
    toolchain.context_bytes += length
    return context


def _run(module: ModuleRef, passes: tuple[str, ...]) -> None:
    llvm, machine, _, managers = machines()
    # A new one for each run: it refers to memory that LLVM frees after the run.
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    manager = managers.get(passes)
    if manager is None:
        manager = managers[passes] = _manager(llvm, passes)
    manager.run(module, builder)


def _is_valid(module: ModuleRef) -> bool:
    try:
        module.verify()
    except RuntimeError:  # llvmlite's error where a module breaks LLVM's rules
        return False
    return True


@holding(LLVM_LOCK)
@uninterrupted
def assembly(text: str) -> str:
    """The machine code of LLVM text, for people and tests."""
    return machines().usual.emit_assembly(optimised(text))
