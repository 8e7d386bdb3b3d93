"""NumbaKernel: a kernel that numba compiles from the listing. It is called like any other; see compiler.kernel.Kernel."""

from __future__ import annotations

import ast
import linecache
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cfunc, njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from ...base.operating_system import free
from ..codegen.python_listing import DTYPES, LEAVING, has_stacks, parts_of
from ..jit.native_function import NativeFunction
from ..jit.toolchain import toolchain
from ..kernel import Kernel
from ..llvm.values import KINDS
from ..loop_kernel import functions_of
from ..math.function_table import FUNCTIONS
from ..runtime.status import OUT_OF_MEMORY
from ..runtime.workspaces import BLOCK_WORDS, STATE_CONSTANTS
from .functions import NativePart, scalar_function

# Division by zero as in NumPy; sums in the written order. Functions that only compiled code calls need no wrappers for Python, which take
# as long to compile.
_jit = njit(error_model="numpy", nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True)  # type: ignore[call-overload]  # numba lists not all
_LEAVING = {function.__name__: _jit(function) for function in LEAVING}


class NumbaKernel(Kernel):
    """A kernel that numba compiles from `source`."""

    def _compile(self) -> int:
        namespace: dict[str, Any] = {"np": np, **_LEAVING}
        self._parts, stacks = list[NativePart](), 0
        for name, part in parts_of(self.program).items():
            self._parts.append(NativePart(name, part, self.program, stacks))
            namespace[name], stacks = self._parts[-1].function, stacks + self._parts[-1].stacks
        source = self.source
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
                namespace.setdefault(node.func.id, scalar_function(node.func.id, len(node.args)))
        file = f"<tapediff listing {toolchain.next_number('numba program')}>"
        exec(compile(source, file, "exec"), namespace)
        # Debuggers and tracebacks read the source there.
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        weakref.finalize(self, linecache.cache.pop, file, None)
        # Keeps numba's code alive.
        self._code = self._entry(_jit(namespace["kernel"]), stacks)
        self.dispatch_tables = [table for part in self._parts for table in part.dispatch_tables]
        return self._code.address

    def native_functions(self) -> Iterator[NativeFunction]:
        yield from (part.native for part in self._parts)
        yield from functions_of(self.dispatch_tables)

    def _entry(self, kernel: Callable[..., int], stacks: int) -> Any:
        """The function with a native kernel's interface, which calls the listing's."""
        arrays = []
        for place, given in (("inputs", self.tape.input_types), ("outputs", self.tape.output_types)):
            arrays += [f"carray(pointer({place}, {k}, 0), {t.size}, {DTYPES[KINDS[t.dtype.kind]]})" for k, t in enumerate(given)]
        for item in self.program.storages:
            if item.home == "constant":
                arrays.append(f"carray(pointer(state, {STATE_CONSTANTS}, {item.position}), {item.size}, {DTYPES[item.kind]})")
        arrays += ["stacks"] * any(map(has_stacks, self.program.groups))
        lines = [
            "def entry(inputs, outputs, state, report):",
            f"    stacks = np.zeros({BLOCK_WORDS * stacks}, np.int64)" * (stacks > 0),
            f"    status = status_of(kernel, ({', '.join([*arrays, 'carray(report, 2, np.int64)'])},))",
            f"    for k in range(0, {BLOCK_WORDS * stacks}, {BLOCK_WORDS}):" * (stacks > 0),
            "        free(pointer(stacks.ctypes, k, 0))" * (stacks > 0),
            "    return status",
        ]
        namespace: dict[str, Any] = {"np": np, "carray": carray, "kernel": kernel, "free": free()}
        namespace |= {"pointer": _pointer, "status_of": _status_of}
        exec("\n".join(filter(None, lines)), namespace)
        return cfunc(types.int32(*[types.voidptr] * 4))(namespace["entry"])


@intrinsic
def _status_of(typing_context, kernel, arguments):
    """The status of a kernel, whose only exception may be MemoryError. An except clause would triple numba's compile time."""
    kernel_signature = kernel.get_call_type(typing_context, tuple(arguments), {})

    def emit(context, builder, signature, values):
        compiled = kernel.dispatcher.overloads[kernel_signature.args]
        context.active_code_library.add_linking_library(compiled.library)
        function, arrays = context.declare_function(builder.module, compiled.fndesc), cgutils.unpack_tuple(builder, values[1])
        status, result = context.call_conv.call_function(builder, function, types.int64, kernel_signature.args, arrays)
        return builder.select(status.is_error, ir.Constant(result.type, OUT_OF_MEMORY), result)

    return types.int64(kernel, arguments), emit


@intrinsic
def _pointer(_, places, k, offset):
    """The k-th of an array of addresses, plus an offset in bytes."""

    def emit(context, builder, signature, arguments):
        places, k, offset = arguments
        held = builder.bitcast(places, places.type.as_pointer())
        return builder.gep(builder.load(builder.gep(held, [k])), [offset])

    return types.voidptr(types.voidptr, types.int64, types.int64), emit
