"""Object files for programs without Python: LLVM texts, parsed and optimised one by one, joined in a position-independent module."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from ...base.fork_locks import LLVM_LOCK
from ...base.held_locks import holding
from ...base.uninterrupted import uninterrupted
from ..llvm.cpu import processor
from .native_function import LEVELS, machines, optimised

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef

NATIVE = "native"


class ObjectFile(NamedTuple):
    """An object file.

    Attributes:
        code: its content.
        undefined: the functions that its texts declare and do not define, other than LLVM's own, which may still call the mathematical
            library.
    """

    code: bytes
    undefined: tuple[str, ...]


@holding(LLVM_LOCK)
@uninterrupted
def object_file(texts: Iterable[tuple[str, bool]], exported: Collection[str], cpu: str) -> ObjectFile:
    """Compile texts that call each other by name.

    Args:
        texts: each with True to leave out the slower optimisations.
        exported: the functions that others may call; all else gets internal linkage.
        cpu: "native", or a name of LLVM's.

    Raises:
        RuntimeError: LLVM cannot compile the texts for this processor.
    """
    llvm = machines().llvm
    name, features = processor() if cpu == NATIVE else (cpu, "")
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=name, features=features, opt=LEVELS[False], reloc="pic", codemodel="default")
    context = llvm.create_context()
    whole: ModuleRef = llvm.parse_assembly("", context)
    for text, quickly in texts:
        whole.link_in(optimised(text, quickly, context))
    whole.triple, whole.data_layout = target.triple, str(machine.target_data)
    whole.verify()
    undefined: list[str] = []
    for function in whole.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name in exported else "internal"
        elif not function.name.startswith("llvm."):
            undefined.append(function.name)
    for variable in whole.global_variables:
        variable.linkage = "internal"
    return ObjectFile(machine.emit_object(whole), tuple(sorted(undefined)))
