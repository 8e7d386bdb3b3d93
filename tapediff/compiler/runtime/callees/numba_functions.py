"""Functions compiled by numba, as native code with the interface of a tape's loop kernel.

The wrapper's text is made here from shapes and structures only; the user's function is a name in its globals.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import InvalidRule
from ....ir.instruction import ValueType
from ..call_frame import input_word, output_word
from ..status import RULE_RAISED, WRONG_RESULT
from .native_callee import UserFunction

_DTYPES = {"f": np.float64, "i": np.int64, "b": np.bool_}


class NumbaCall:
    """A primitive's function or rule, compiled.

    Attributes:
        address: the address of `i32 function(ptr frame, ptr state, ptr report)`; see compiler.loop_kernel.
        state: empty; it only has an address.
    """

    def __init__(self, callee: UserFunction) -> None:
        import numba
        from numba import types
        from numba.core.errors import NumbaError

        function = callee.function if hasattr(callee.function, "py_func") else numba.njit(callee.function)
        names: dict[str, Any] = {"user_function": function, "pointer": _pointer()}
        names["carray"] = numba.carray  # type: ignore[attr-defined]  # numba does not list it
        names |= {f"dtype_{kind}": numba.from_dtype(np.dtype(dtype)) for kind, dtype in _DTYPES.items()}  # pyright: ignore[reportArgumentType, reportCallIssue]  # numba has no stubs
        text = _Wrapper(callee).text()
        exec(compile(text, "<tapediff primitive>", "exec"), names)
        words = types.CPointer(types.int64)
        try:
            self._function = numba.cfunc(types.int32(words, words, words))(names["wrapper"])
        except NumbaError as error:
            raise InvalidRule(
                f"numba cannot compile {callee.name}", got=str(error).strip().splitlines()[0],
                fix="leave compiled=True out, so that it is called back in Python; or keep to what numba supports",
            ) from error  # fmt: skip
        self.text = text
        self.address = int(self._function.address or 0)
        self.state = np.zeros(1, np.int64)


def _pointer() -> object:
    """An intrinsic that converts an address to a pointer."""
    from numba import types
    from numba.extending import intrinsic

    def as_pointer(typing_context: Any, address: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

        return types.voidptr(types.int64), build

    return intrinsic(as_pointer)


class _Wrapper:
    """The text of a callee's wrapper: it reads the inputs, calls the function, checks and stores its results."""

    def __init__(self, callee: UserFunction) -> None:
        self.callee = callee
        self.count = len(callee.in_types)
        self.lines: list[str] = []

    def text(self) -> str:
        callee = self.callee
        words = output_word(len(callee.out_types), self.count)
        names = [self._input(k, type_) for k, type_ in enumerate(callee.in_types)]
        arguments, results = callee.native_layout(names)
        self.lines.append("try:")
        self.lines.append(f"    result = user_function({', '.join(arguments)})")
        self.lines.append("except Exception:")
        self.lines.append(f"    return {RULE_RAISED}")
        for k, (path, type_) in enumerate(zip(results, callee.out_types)):
            self._store(k, f"result{path}" if path is not None else None, type_)
        body = [f"frame = carray(frame, ({words},))", *self.lines, "frame[0] = 1", "return 0"]
        return "\n".join(["def wrapper(frame, state, report):", *("    " + line for line in body)])

    def _array(self, word: int, type_: ValueType) -> str:
        shape = type_.shape or (1,)
        return f"carray(pointer(frame[{word}]), {shape!r}, dtype_{type_.dtype.kind})"

    def _input(self, k: int, type_: ValueType) -> str:
        place = "" if type_.shape else "[0]"
        self.lines.append(f"v{k} = {self._array(input_word(k), type_)}{place}")
        return f"v{k}"

    def _store(self, k: int, value: str | None, type_: ValueType) -> None:
        self.lines.append(f"o{k} = {self._array(output_word(k, self.count), type_)}")
        if value is None:
            self.lines.append(f"o{k}[...] = 0")
        elif not type_.shape:
            self.lines.append(f"o{k}[0] = {value}")
        else:
            self.lines.append(f"if {value}.shape != {type_.shape!r}:")
            self.lines.append(f"    return {WRONG_RESULT}")
            self.lines.append(f"o{k}[...] = {value}")
