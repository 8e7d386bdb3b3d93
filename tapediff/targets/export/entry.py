"""The C functions of an object file: for each an LLVM text, which tries the kernels of its paths in order, and a prototype."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import TYPE_CHECKING

import numpy as np

from ...compiler.runtime.call_frame import widened
from ...errors import ArgumentMismatch
from ...ir.instruction import Guard, Operand, ValueType
from ..tapes.gradient_tape import joint_tape
from ..tapes.matrix_tapes import hessian_tape, jacobian_tape
from ..tapes.operator_tapes import Numbers, Operator, hvp_tape, jvp_tape, vjp_tape
from .parts import Parts, array_bytes
from .runtime import NEW_PATH

if TYPE_CHECKING:
    from ...compiler.kernel import Kernel
    from ..compiled_tape import Key

_OPERATORS = {
    "gradient": joint_tape, "jvp": jvp_tape, "vjp": vjp_tape, "hvp": hvp_tape, "jacobian": jacobian_tape, "hessian": hessian_tape,
}  # fmt: skip
WHATS = ("value", "value_and_gradient", *_OPERATORS)
_RESULTS = {"jvp": "tangent", "vjp": "cotangent", "hvp": "product"}
_VECTORS = {"jvp": "direction", "vjp": "weights", "hvp": "direction"}
_C_TYPES = {"f": "double", "i": "int64_t", "u": "int64_t", "b": "uint8_t"}
_RESERVED = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return "
    "short signed sizeof static struct switch typedef union unsigned void volatile while bool true false class delete friend new operator "
    "private protected public template this throw try catch typename using virtual namespace".split()
)


def key_of(what: str, wrt: Numbers) -> Key:
    """The key of the kernels for one of WHATS; see CompiledTape.kernel."""
    if what not in WHATS:
        raise ArgumentMismatch("there is no such derivative to export", got=repr(what), fix=f"one of {', '.join(WHATS)}")
    if what == "value":
        return None
    return wrt if what == "value_and_gradient" else Operator(_OPERATORS[what], wrt)


def c_name(text: str) -> str:
    """A C identifier for an expression such as params['slope'][0]."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "x"
    return f"{name}_" if name in _RESERVED or name[0].isdigit() else name


def unused(name: str, used: set[str]) -> str:
    """The name, with a number after it where it is taken; noted in `used`."""
    found = next(n for n in chain([name], (f"{name}_{k}" for k in count(2))) if n not in used)
    used.add(found)
    return found


@dataclass(frozen=True, slots=True)
class Pointer:
    """A parameter: the address of an array in C order. `origin`: what it is in Python."""

    name: str
    type: ValueType
    origin: str
    is_result: bool = False

    def declaration(self) -> str:
        type_ = _C_TYPES[self.type.dtype.kind]
        return f"{type_} *{self.name}" if self.is_result else f"const {type_} *{self.name}"

    def row(self) -> str:
        shape = "".join(f"[{extent}]" for extent in self.type.shape) or "one number"
        type_ = _C_TYPES[self.type.dtype.kind] + " for a float32" * (self.type.dtype == np.float32)
        return f"{self.name}: {type_}, {shape}; {self.origin}"


# A parameter, or data inside the file.
Given = Pointer | np.ndarray


@dataclass(frozen=True, slots=True)
class Path:
    """A recorded path: its kernel, what it takes after the arguments, and its guards."""

    kernel: Kernel
    constants: Sequence[Operand]
    guards: Sequence[Guard]


@dataclass(frozen=True, slots=True)
class Entry:
    """A C function.

    Attributes:
        name: its name.
        given: the arguments of the kernels: parameters, or data that are inside the file.
        vectors, results: its further parameters.
        paths: all have results of the same types.
        data: the prefix of the names of data, which the functions of a file share.
    """

    name: str
    given: Sequence[Given]
    vectors: Sequence[Pointer]
    results: Sequence[Pointer]
    paths: Sequence[Path]
    data: str

    @property
    def arguments(self) -> list[Pointer]:
        return [given for given in self.given if isinstance(given, Pointer)]

    @property
    def pointers(self) -> list[Pointer]:
        return [*self.arguments, *self.vectors, *self.results]

    def prototype(self) -> str:
        return f"int {self.name}({', '.join(pointer.declaration() for pointer in self.pointers)});"

    def text(self, parts: Parts) -> str:
        """The LLVM text; the kernels of the paths are added to `parts`."""
        given = [f"%given_{k}" if isinstance(each, Pointer) else f"@{self.data}_{k}" for k, each in enumerate(self.given)]
        vectors, made = [f"%vector_{k}" for k in range(len(self.vectors))], [f"%made_{k}" for k in range(len(self.results))]
        parameters = ", ".join(f"ptr {p}" for p in (*given, *vectors, *made) if p.startswith("%"))
        lines, outside = [f"define i32 @{self.name}({parameters}) nounwind {{", "entry:"], ["declare i32 @tapediff_code(i32)"]
        types = self.paths[0].kernel.tape_inputs
        outside += [parts.shared(s[1:], each, t) for s, each, t in zip(given, self.given, types) if not isinstance(each, Pointer)]
        lines += ["%report = alloca [2 x i64]", *_array("results", made)]
        for k, path in enumerate(self.paths):
            kernel = f"{self.name}_path_{k}"
            parts.kernel(path.kernel.program, kernel)
            fixed = [f"@{kernel}_constant_{j}" for j in range(len(path.constants))]
            types = path.kernel.tape_inputs[len(given) :]
            outside += [array_bytes(symbol[1:], value, type_) for symbol, value, type_ in zip(fixed, path.constants, types)]
            outside += [f"declare i32 @{kernel}(ptr, ptr, ptr, ptr)", f"@{kernel}_state = external constant i64"]
            lines += _array(f"inputs_{k}", [*given, *fixed, *vectors])
            lines += [
                "store i64 0, ptr %report",
                f"%status_{k} = call i32 @{kernel}(ptr %inputs_{k}, ptr %results, ptr @{kernel}_state, ptr %report)",
                f"%code_{k} = call i32 @tapediff_code(i32 %status_{k})",
            ]
            if k + 1 < len(self.paths):
                lines += [f"%other_{k} = icmp sle i32 %code_{k}, {NEW_PATH}", f"br i1 %other_{k}, label %try_{k + 1}, label %done_{k}"]
                lines += [f"done_{k}:", f"ret i32 %code_{k}", f"try_{k + 1}:"]
        last = f"%code_{len(self.paths) - 1}"
        if len(self.paths) > 1:
            lines += [f"%none = icmp sle i32 {last}, {NEW_PATH}", f"%last = select i1 %none, i32 {NEW_PATH}, i32 {last}"]
            last = "%last"
        return "\n".join([*outside, *lines, f"ret i32 {last}", "}"])


def _array(name: str, pointers: Sequence[str]) -> list[str]:
    lines = [f"%{name} = alloca [{max(len(pointers), 1)} x ptr]"]
    for k, pointer in enumerate(pointers):
        lines += [f"%{name}_{k} = getelementptr ptr, ptr %{name}, i64 {k}", f"store ptr {pointer}, ptr %{name}_{k}"]
    return lines


def entry(what: str, name: str, given: Sequence[Given], wrt: Numbers, paths: Sequence[Path]) -> Entry:
    """The C function of kernels that `key_of(what, wrt)` has made."""
    tape, used = paths[0].kernel.tape, {each.name for each in given if isinstance(each, Pointer)}
    first = len(given) + len(paths[0].constants)
    by = [each for each in (given[k] for k in wrt) if isinstance(each, Pointer)]
    vectors = [_vector(what, k, type_, by) for k, type_ in enumerate(tape.input_types[first:])]
    types = [widened(t) for t in tape.output_types]
    results = [Pointer(*_result(what, k, by, types), is_result=True) for k in range(len(types))]
    vectors, results = ([replace(p, name=unused(p.name, used)) for p in pointers] for pointers in (vectors, results))
    return Entry(f"{name}_{what}", given, vectors, results, paths, f"{name}_data")


def _vector(what: str, k: int, type_: ValueType, by: Sequence[Pointer]) -> Pointer:
    name = _VECTORS[what]
    if what == "vjp":
        return Pointer(name if k == 0 else f"{name}_{k}", widened(type_), f"for result {k}")
    return Pointer(name if len(by) == 1 else f"{name}_{by[k].name}", widened(type_), f"for {by[k].origin}")


def _result(what: str, k: int, by: Sequence[Pointer], types: Sequence[ValueType]) -> tuple[str, ValueType, str]:
    """Name, type and origin of a result."""
    if what == "value" or (what == "value_and_gradient" and k == 0):
        return ("value" if len(types) == 1 or what != "value" else f"value_{k}"), types[k], f"result {k}"
    place = k - (what == "value_and_gradient")
    if what == "jvp":
        return ("tangent" if len(types) == 1 else f"tangent_{k}"), types[k], f"of float result {k}"
    word = _RESULTS.get(what, "gradient" if "gradient" in what else what)
    if what == "hessian":
        row, column = divmod(place, len(by))
        origin, suffix = f"by {by[row].origin} and {by[column].origin}", f"_{by[row].name}_{by[column].name}"
    elif what == "jacobian":
        row, column = divmod(place, len(by))
        origin, suffix = f"of float result {row} by {by[column].origin}", f"_{row}_{by[column].name}"
    else:
        origin, suffix = f"by {by[place].origin}", f"_{by[place].name}"
    return (word if len(types) - (what == "value_and_gradient") == 1 else word + suffix), types[k], origin
