"""The LLVM texts of an object file: kernels, the bodies of their loops, and the routines they call, without an address of this process.

What a process has as objects of Python becomes data of the file: constants, tables of the paths of loops and functions, byte code.
"""

from __future__ import annotations

import re

import numpy as np

from ...base.source_location import Site
from ...compiler.bytecode.handlers import NAME, handler_text
from ...compiler.bytecode.sweeps.program import Sweeps
from ...compiler.bytecode.translate import Translation
from ...compiler.codegen.emitter import Emitter
from ...compiler.codegen.loop_function import KernelEmitter, LoopEmitter
from ...compiler.codegen.outlining import is_compiled_quickly, outlined_text
from ...compiler.jit import own_routines
from ...compiler.llvm.cpu import portable
from ...compiler.loop_ir.program import Program, RoutineCall, Step
from ...compiler.loop_kernel import LoopKernel
from ...compiler.math.special import SEVERAL_RESULTS
from ...compiler.runtime.call_frame import widened
from ...compiler.runtime.callees.dispatch_loop import RUN_CHOSEN, RUN_DECIDED
from ...compiler.runtime.callees.dispatch_table import CalleeTable
from ...compiler.runtime.workspaces import workspace_functions
from ...errors import TapediffError
from ...ir.instruction import Operand, ValueType
from .runtime import of_c_library, runtime, without_kept_workspaces

# Libraries by the prefix of their symbols, whose routines a program links itself, under Fortran's names.
_FORTRAN = re.compile(r"@tapediff_(?:lapack|blas|numpy)_(\w+)")
_TABLE = "tapediff_table_"
_BY_CHOICE = {"tapediff_run_decided": RUN_DECIDED, "tapediff_run_chosen": RUN_CHOSEN}
_KEPT, _FREED = "\n".join(workspace_functions()), "\n".join(without_kept_workspaces())


def constant_bytes(name: str, content: bytes) -> str:
    """The definition of constant bytes, aligned as kernels read them."""
    text = "\\" * bool(content) + content.hex("\\")
    return f'@{name} = constant [{len(content)} x i8] c"{text}", align 64'


def array_bytes(name: str, value: Operand, type_: ValueType) -> str:
    """The definition of an array as kernels read it."""
    return constant_bytes(name, np.ascontiguousarray(value, widened(type_).dtype).tobytes())


class Parts:
    """The growing list of texts. `texts`: each with True if it is to be compiled quickly; `owner`: the function's name, for errors."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.texts: list[tuple[str, bool]] = [(text, False) for text in runtime()]
        self._had = set[str]()
        self._tables: list[tuple[CalleeTable, str]] = []

    def kernel(self, program: Program, name: str) -> None:
        """Add a kernel, and its state, `@name_state`."""
        emitter = KernelEmitter(program, name)
        text = emitter.text()
        self._function(emitter, text, is_compiled_quickly(program, len(text)))

    def shared(self, name: str, value: np.ndarray, type_: ValueType) -> str:
        """Add data that several functions read; return the declaration."""
        if self._once(name):
            self._add(array_bytes(name, value, type_))
        return f"@{name} = external constant i64"

    def finish(self) -> list[tuple[str, bool]]:
        """Add the bodies of loops and calls, and theirs; return all texts."""
        done = 0
        while done < len(self._tables):
            table, name = self._tables[done]
            self._table(table, name)
            done += 1
        return self.texts

    def _function(self, emitter: Emitter, text: str, quickly: bool) -> None:
        """Add an emitted function with its constants."""
        renamed = dict[str, str]()
        for symbol in emitter.addresses:
            self._address(emitter, symbol, renamed)
        for symbol in sorted(emitter.code.symbols):
            self._routine(symbol, emitter.program)
        for old, new in renamed.items():
            text = re.sub(rf"@{old}\b", f"@{new}", text)
            if new.startswith(_TABLE):
                text = text.replace(f"@{new} = external global", f"@{new} = external thread_local global")
        assert "tapediff_acquire" not in text or _KEPT in text, "kernels copy these functions as they are"
        name, constants = emitter.name, emitter.program.constants
        state = [
            constant_bytes(f"{name}_constants", constants),
            f"@{name}_state = constant {{ ptr, ptr, [4 x ptr] }} {{ ptr @{name}, ptr @{name}_constants, [4 x ptr] zeroinitializer }}",
        ]
        self._add("\n".join([_fortran(text.replace(_KEPT, _FREED)), *state]), quickly)

    def _add(self, text: str, quickly: bool = False) -> None:
        self.texts.append((text, quickly))

    def _once(self, symbol: str) -> bool:
        """True the first time."""
        is_new = symbol not in self._had
        self._had.add(symbol)
        return is_new

    def _address(self, emitter: Emitter, symbol: str, renamed: dict[str, str]) -> None:
        """Add what a kernel refers to by an address."""
        if symbol.startswith("tapediff_function_"):
            if self._once(symbol):
                text, calls = outlined_text(symbol)
                for called in sorted(calls):
                    self._routine(called, emitter.program)
                self._add(_fortran(text))
        elif symbol.startswith("tapediff_cell_"):
            number, _, limit = symbol.removeprefix("tapediff_cell_").partition("_")
            renamed[symbol] = "tapediff_limit" if limit else self._table_name(emitter.dispatch_tables[int(number)])
        elif symbol.startswith("tapediff_runs_"):
            translation, _ = emitter.runs[int(symbol.removeprefix("tapediff_runs_")) - 1]  # type: ignore[misc]  # emit_call.py
            renamed[symbol] = f"{emitter.name}_{symbol}"
            self._byte_code(translation, renamed[symbol], emitter.program)
        elif symbol in _BY_CHOICE:
            if self._once(symbol):
                self._add(_BY_CHOICE[symbol].text())
        else:
            assert symbol in ("tapediff_pause", "tapediff_loop_too_long"), f"{symbol} is not of one thread, or new"

    def _routine(self, symbol: str, program: Program) -> None:
        """Add a routine of this package; others are linked by the program that uses the file."""
        if own_routines.is_linked_here(symbol):
            if self._once(symbol):
                self._add(own_routines.text_of(symbol))
            return
        text = of_c_library(symbol)
        if text is not None:
            if self._once(symbol):
                self._add(text)
            return
        for prefix, library in (("tapediff_special_", "scipy.special"), ("tapediff_fourier_", "numpy.fft")):
            if symbol.startswith(prefix):
                routine = symbol.removeprefix(prefix)
                raise TapediffError(
                    f"{self.owner} cannot be exported: it calls {library}'s {routine}, which exists in Python's process only",
                    at=_site_of(routine, program), fix="leave the function out, or write it with NumPy's functions",
                )  # fmt: skip

    # Calls and loops

    def _table_name(self, table: CalleeTable) -> str:
        known = next((name for other, name in self._tables if other is table), None)
        if known is None:
            known = f"{_TABLE}{len(self._tables)}"
            self._tables.append((table, known))
        return known

    def _table(self, table: CalleeTable, name: str) -> None:
        """Add the dispatch table of a callee, with all its paths so far. Each thread has one, as it holds the path taken last."""
        callee, kernels = table.callee, dict[int, str]()
        known = getattr(callee, "known_paths", dict)() if callee.is_compiled else {}
        for number in [1] if callee.is_side else sorted(known):
            with portable(False):  # of this process, which keeps it
                kernel = table.variant(number).kernel if callee.may_compile(number) else None
            if isinstance(kernel, LoopKernel):
                kernels[number] = f"{name}_path_{number}"
                self._loop_kernel(kernel, table, kernels[number])
        if not kernels:
            raise TapediffError(
                f"{self.owner} cannot be exported: {callee.name} exists in this process only",
                fix="call NumPy in place of a td.primitive, and leave compiled=False out",
            )  # fmt: skip
        lines = [f"@{name}_none = constant i64 0", "declare i64 @tapediff_ask(i64, ptr, ptr, i32, i64)"]
        for number, function in kernels.items():
            lines += [f"declare i32 @{function}(ptr, ptr, ptr)", f"@{function}_state = external constant {{ ptr, ptr, [4 x ptr] }}"]
            words = f"ptr @{function}, ptr @{function}_state, i64 {number}, ptr @{name}_none"
            lines.append(f"@{function}_variant = constant {{ ptr, ptr, i64, ptr }} {{ {words} }}")
        count = 1 + max(kernels)
        listed = ", ".join(f"ptr @{kernels[k]}_variant" if k in kernels else "ptr null" for k in range(count))
        lines.append(f"@{name}_list = constant {{ i64, [{count} x ptr] }} {{ i64 {count}, [{count} x ptr] [{listed}] }}")
        first = f"ptr @{kernels[min(kernels)]}_variant"
        fields = f"{first}, ptr @{name}_list, i64 ptrtoint (ptr @{name}_list to i64), ptr @tapediff_ask, i64 0"
        lines.append(f"@{name} = thread_local global {{ ptr, ptr, i64, ptr, i64 }} {{ {fields} }}")
        self._add("\n".join(lines))

    def _loop_kernel(self, kernel: LoopKernel, table: CalleeTable, name: str) -> None:
        emitter = LoopEmitter(kernel.program, name, table.layout, kernel.tape)
        self._function(emitter, emitter.text(), is_compiled_quickly(kernel.program))

    # Byte code

    def _byte_code(self, translation: Translation | Sweeps, name: str, program: Program) -> None:
        """Add the words of byte code, in which the address of a handler begins each run."""
        words, types, values, declared, end = translation.words, list[str](), list[str](), dict[str, None](), 0
        handlers = translation.handler_of_run
        names = {handler: f"{name}_handler_{k}" for k, handler in enumerate(dict.fromkeys(handlers))}
        for handler, symbol in names.items():
            text, calls = handler_text(handler)
            for called in sorted(calls):
                self._routine(called, program)
            self._add(re.sub(rf"@{NAME}\b", f"@{symbol}", _fortran(text)))
            declared[f"declare i32 @{symbol}(ptr, ptr, ptr, ptr, ptr)"] = None
        for start, handler in zip(translation.headers, handlers):
            _add_words(words[end:start], types, values)
            types.append("ptr")
            values.append(f"ptr @{names[handler]}")
            end = start + 2
        _add_words(words[end:], types, values)
        lines = [*declared, f"@{name} = constant <{{ {', '.join(types)} }}> <{{ {', '.join(values)} }}>, align 8"]
        self._add("\n".join(lines))


def _add_words(words: np.ndarray, types: list[str], values: list[str]) -> None:
    if len(words):
        types.append(f"[{len(words)} x i32]")
        values.append(f"[{len(words)} x i32] [{', '.join([f'i32 {word}' for word in words.tolist()])}]")


def _fortran(text: str) -> str:
    return _FORTRAN.sub(r"@\1_", text)


def _site_of(routine: str, program: Program) -> Site | None:
    """The line that calls a routine of a library."""
    names = {routine, *(name for name, (called, *_) in SEVERAL_RESULTS.items() if called == routine)}
    for item in (item for group in program.groups for item in group.body):
        words = item.routine if isinstance(item, RoutineCall) else item.expression if isinstance(item, Step) else ""
        if words == "fourier" or names.intersection(re.findall(r"\w+", words)):
            return item.site
    return None
