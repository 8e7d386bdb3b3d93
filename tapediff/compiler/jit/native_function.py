"""Turns LLVM text into a native function: parse, optimise, emit object code, link. llvmlite is imported here, at first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Self, TypeAlias

from ...base.fork_locks import LLVM_LOCK
from ...base.held_locks import holding
from ...base.uninterrupted import uninterrupted
from ..llvm.cpu import processor
from . import object_cache, recipes, scipy_symbols as libraries
from .linking import Library, digest_of
from .toolchain import Machines, toolchain

if TYPE_CHECKING:
    from llvmlite.binding import ContextRef, ModulePassManager, ModuleRef, TargetMachine

# The name of code on disk, and the digest of its text.
Kept: TypeAlias = tuple[bytes, bytes]

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
        to_be_kept = self._make(text, name, _found(symbols, addresses), quickly, is_portable)
        if to_be_kept is not None:
            object_cache.store(*to_be_kept)

    @classmethod
    def kept(cls, code: Kept | None, name: str, symbols: Iterable[str] = (), addresses: Mapping[str, int] | None = None) -> Self | None:
        """A function whose code is on disk, or still in memory; None if it is in neither."""
        if code is None:
            return None
        function = cls.__new__(cls)
        return function if function._find(*code, name, _found(symbols, addresses)) else None

    @property
    def kept_as(self) -> Kept | None:
        """The key and digest by which `kept` finds its code in other processes; None where it is not kept."""
        library = self._library
        return None if library.key is None else (library.key, library.digest)

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


    @holding(LLVM_LOCK)
    def _find(self, key: bytes, digest: bytes, name: str, addresses: Mapping[str, int]) -> bool:
        library = toolchain.linker.known_library(digest, name, addresses)
        if library is None:
            code = object_cache.load(key)
            if code is None:
                return False
            try:
                library = toolchain.linker.link(_llvm_to_link, digest, code, name, addresses)
            except RuntimeError:  # llvmlite's error where the linker refuses
                return False
            library.is_portable, library.key = True, key
        self._library, self.address = library, library.address
        return True


def _found(symbols: Iterable[str], addresses: Mapping[str, int] | None) -> dict[str, int]:
    """The given addresses, and those of SciPy's routines and this package's among the symbols."""
    return {**(addresses or {}), **{symbol: address_of(symbol) for symbol in symbols if symbol.startswith(libraries.PREFIX)}}


def by_recipe(recipe: tuple[object, ...], name: str, addresses: Mapping[str, int], make: Callable[[], NativeFunction]) -> NativeFunction:
    """A function as `make` returns it; from disk, if it was made from this recipe before."""
    key = recipes.key_of(*recipe)
    found = NativeFunction.kept(recipes.recalled(key), name, addresses=addresses)
    if found is None:
        found = make()
        if found.kept_as is not None:
            recipes.remember(key, found.kept_as)
    return found


def _linked(
    digest: bytes, text: str, name: str, addresses: Mapping[str, int], quickly: bool, is_portable: bool
) -> tuple[Library, tuple[bytes, bytes] | None]:
    """The library of a text, and the key and code to be kept on disk."""
    linker, key = toolchain.linker, None

    def link(code: bytes) -> Library:
        library = linker.link(_llvm_to_link, digest, code, name, addresses)
        library.is_portable, library.key = is_portable, key
        return library

    sent = linker.sent_code(digest) if is_portable else None
    if sent is not None:
        with suppress(RuntimeError):  # llvmlite's error where the linker refuses
            return link(sent), None
    if is_portable and object_cache.is_enabled():
        key = object_cache.key_of(
            text, (*PASSES[quickly], f"quickly {quickly}", f"level {LEVELS[quickly]}", triple(), *processor())
        )
        kept = object_cache.load(key)
        if kept is not None:
            with suppress(RuntimeError):  # llvmlite's error where the linker refuses
                return link(kept), None
    known = linker.known_code(digest)
    code = object_code(text, quickly) if known is None else known
    return link(code), None if key is None else (key, code)


def _llvm_to_link() -> tuple[ModuleType, Callable[[], TargetMachine]]:
    llvm = machines().llvm
    return llvm, lambda: _machine(llvm, LEVELS[False])


@uninterrupted
def triple() -> str:
    """LLVM's name for this machine and system."""
    return machines().llvm.get_process_triple()


def address_of(symbol: str) -> int:
    """The address of a routine of SciPy's libraries, or of this package's own."""
    from . import own_routines  # which imports the texts of all

    if own_routines.is_linked_here(symbol):
        return own_routines.address_of(symbol, NativeFunction, by_recipe)
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
