"""Writes whole LLVM functions: parameters, variables, calls, and structured control flow instead of labels and branches.

    f = Function("tapediff_sum", F64, numbers=PTR, count=I64)
    numbers, count = f.parameters
    total = f.variable(F64, 0.0)
    with f.loop(0, count) as k:
        total.value += Array(numbers, F64)[k]
    f.return_(total.value)
    text = module_text(f)

Variables are memory on the stack, which LLVM turns into registers. A value of a wrong type, and code after the end of a block, are errors
where the function is written.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from .memory import Array, Layout, Location, Number, Operand, Struct
from .values import I1, I64, MEMORY_TYPES, PTR, TYPES, Code, Value, operand_text, require

VOID = "void"


@dataclass(frozen=True, slots=True)
class Signature:
    """A function by name, result and parameters.

    Attributes:
        is_variadic: True if more parameters of any type follow.
        definition: its text, to copy into a module; without it, the linker finds the function.
    """

    name: str
    result: str
    parameters: tuple[str, ...]
    is_variadic: bool = False
    definition: str = ""

    def types(self) -> str:
        return ", ".join([*(TYPES[kind, 1] for kind in self.parameters), *["..."] * self.is_variadic])

    def declaration(self) -> str:
        return self.definition or f"declare {_result_type(self.result)} @{self.name}({self.types()})"


def external(name: str, result: str, *parameters: str, is_variadic: bool = False) -> Signature:
    """A function that the linker resolves."""
    return Signature(name, result, parameters, is_variadic)


def _result_type(kind: str) -> str:
    return VOID if kind == VOID else TYPES[kind, 1]


class Exit:
    """A later place in a function that earlier code can jump to."""

    __slots__ = ("_label", "function", "is_used")

    def __init__(self, function: Function) -> None:
        self.function, self._label, self.is_used = function, function.label(), False

    def leave(self) -> None:
        self.is_used = True
        self.function.jump(self._label)

    def leave_if(self, condition: Value, rarely: bool = False) -> None:
        self.is_used, onward = True, self.function.label()
        self.function.branch(condition, self._label, onward, rarely)
        self.function.start(onward)

    def here(self) -> None:
        """Mark the place. The code just before falls through to it."""
        if not self.function.has_ended:
            self.leave()
        self.function.start(self._label)


class Loop(Exit):
    """A loop that is being written; as an Exit, the place after it."""

    __slots__ = ("_head",)

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self._head = function.label()
        function.jump(self._head)
        function.start(self._head)

    def again(self) -> None:
        """Begin the next iteration."""
        self.function.jump(self._head)


class Function(Code):
    """A growing function.

    Args:
        name: its name.
        result: the kind of its result, or VOID.
        attributes: LLVM attributes, such as "noinline".
        parameters: the kinds of the parameters, by name.

    Attributes:
        parameters: their values.
        has_ended: True if the current block has its return or jump.
        has_rare_branches: True if branches have weights, which the module must declare.
        has_choices: True if values are chosen without a jump, which also needs a declaration in the module.
    """

    def __init__(self, name: str, result: str, /, attributes: str = "nounwind", **parameters: str) -> None:
        super().__init__("body")
        self.signature = Signature(name, result, tuple(parameters.values()))
        self.parameters = tuple(Value(self, f"%{p}", kind, 1) for p, kind in parameters.items())
        self._attributes = attributes
        self._slots: list[str] = []
        self.has_ended = self.has_rare_branches = self.has_choices = False
        # By the label after a just-written `if_`: the line of its branch, and True if its end is reached.
        self._open: dict[str, tuple[int, str, bool]] = {}

    def definition(self, linkage: str = "") -> str:
        if not self.has_ended:
            raise TypeError(f"{self.signature.name} has no return at its end")
        parameters = ", ".join(f"{TYPES[p.kind, 1]} {p.ref}" for p in self.parameters)
        head = f"define {linkage}{_result_type(self.signature.result)} @{self.signature.name}({parameters})"
        return "\n".join([f"{head} {self._attributes} {{", "entry:", *self._slots, "br label %body", "body:", *self.lines, "}"])

    # Lines

    def emit(self, text: str) -> str:
        if self.has_ended:
            self._refuse()
        return super().emit(text)

    def line(self, text: str) -> None:
        if self.has_ended:
            self._refuse()
        self.lines.append(text)

    def _refuse(self) -> NoReturn:
        raise TypeError(f"{self.signature.name} has code after a return or a jump")

    def start(self, label: str) -> None:
        super().start(label)
        self.has_ended = False

    def _end(self, text: str) -> None:
        self.line(text)
        self.has_ended = True

    def jump(self, label: str) -> None:
        self._end(f"br label %{label}")

    def branch(self, condition: Value, then: str, otherwise: str, rarely: bool = False) -> None:
        self.has_rare_branches |= rarely
        weights = ", !prof !0" if rarely else ""
        self._end(f"br i1 {require(condition, I1).ref}, label %{then}, label %{otherwise}{weights}")

    # Values and memory

    def chosen(self, condition: Value, number: Value, otherwise: int) -> Value:
        """A branchless select of integers, for unpredictable conditions. LLVM may turn any other select in a loop into a jump."""
        self.has_choices = True
        test, kind = require(condition, I1).ref, TYPES[require(number, I64).kind, 1]
        return Value(self, self.emit(f"select i1 {test}, {kind} {number.ref}, {kind} {otherwise}, !unpredictable !1"), I64, 1)

    def external(self, symbol: str) -> Value:
        """The address that the linker is given for a symbol."""
        self.declare(f"@{symbol} = external global i64")
        return Value(self, f"@{symbol}", PTR, 1)

    def text(self, symbol: str, text: str) -> Value:
        """The address of a constant zero-terminated string; `symbol` is the module's name for it."""
        self.declare(f'@{symbol} = internal constant [{len(text) + 1} x i8] c"{text}\\00"')
        return Value(self, f"@{symbol}", PTR, 1)

    def variable(self, kind: str, initial: Operand | None = None, width: int = 1) -> Location:
        """A variable on the stack, of `width` lanes; uninitialised without an initial value."""
        made = Location(self._slot(TYPES[kind, width]), kind, width)
        if initial is not None:
            made.value = initial
        return made

    def array(self, kind: str, count: int) -> Array:
        """An uninitialised array on the stack."""
        return Array(self._slot(f"[{count} x {MEMORY_TYPES[kind]}]"), kind)

    def struct(self, layout: Layout, size: int = 0) -> Struct:
        """An uninitialised struct on the stack; `size` may make it longer than its fields."""
        return layout.at(self._slot(f"[{max(size, layout.size)} x i8]"))

    def _slot(self, type_: str) -> Value:
        name = f"%s{len(self._slots)}"
        aligned = ", align 64" if type_[0] == "[" else ""
        self._slots.append(f"{name} = alloca {type_}{aligned}")
        return Value(self, name, PTR, 1)

    # Calls

    def call(self, function: Signature, *arguments: Operand, address: Value | None = None) -> Value:
        """Call a function by name, or one of this signature at an address. Without a result, the returned value is unusable."""
        required = len(function.parameters)
        if len(arguments) < required or (len(arguments) > required and not function.is_variadic):
            raise TypeError(f"{function.name} takes {required} arguments")
        given = [f"{TYPES[kind, 1]} {operand_text(a, kind, 1)}" for kind, a in zip(function.parameters, arguments)]
        given += [f"{TYPES[a.kind, 1]} {a.ref}" for a in arguments[required:] if isinstance(a, Value)]
        called = f"@{function.name}" if address is None else require(address, PTR).ref
        if address is None:
            self.declare(function.declaration())
        type_ = _result_type(function.result) + (f" ({function.types()})" if function.is_variadic else "")
        text = f"call {type_} {called}({', '.join(given)})"
        if function.result == VOID:
            self.line(text)
            return Value(self, "", VOID, 1)
        return Value(self, self.emit(text), function.result, 1)

    def return_(self, value: Operand | None = None) -> None:
        result = self.signature.result
        self._end("ret void" if result == VOID else f"ret {TYPES[result, 1]} {operand_text(value, result, 1)}")

    # Control flow

    def exit(self) -> Exit:
        """A jump target for the code before it; its `here` sets the place."""
        return Exit(self)

    @contextmanager
    def if_(self, condition: Value, rarely: bool = False) -> Generator[None]:
        then, after = self.label(), self.label()
        at = len(self.lines)
        self.branch(condition, then, after, rarely)
        self.start(then)
        yield
        reaches = not self.has_ended
        if reaches:
            self.jump(after)
        self.start(after)
        self._open = {after: (at, then, reaches)}

    @contextmanager
    def else_(self) -> Generator[None]:
        """Directly after an `if_`."""
        after = self.lines.pop().removesuffix(":")
        if after not in self._open:
            raise TypeError("else_ must directly follow an if_")
        at, _, reaches = self._open.pop(after)
        otherwise = self.label()
        self.lines[at] = self.lines[at].replace(f"label %{after}", f"label %{otherwise}")
        self.start(otherwise)
        yield
        falls = not self.has_ended
        if falls:
            self.jump(after)
        if falls or reaches:
            self.start(after)

    @contextmanager
    def repeat(self) -> Generator[Loop]:
        """Loop until the body leaves it. Code after it is unreachable if the loop is left by returns only."""
        loop = Loop(self)
        yield loop
        if not self.has_ended:
            loop.again()
        if loop.is_used:
            loop.here()

    @contextmanager
    def loop(self, start: Number, end: Number, step: int = 1) -> Generator[Value]:
        """Loop over an index from start while below end; possibly zero times."""
        index = self.variable(I64, start)
        with self.repeat() as loop:
            k = index.value
            loop.leave_if(k >= end)
            yield k
            index.value = k + step


def included(function: Function) -> list[str]:
    """The texts that copy a function into another module."""
    return [*function.declarations, function.definition("internal ")]


def module_text(*functions: Function) -> str:
    """The text of functions that call each other; the last one is exported."""
    *internal, exported = functions
    own = {f.signature.declaration() for f in functions}
    declarations = dict.fromkeys(d for f in functions for d in f.declarations if d not in own)
    definitions = [*(f.definition("internal ") for f in internal), exported.definition()]
    metadata = ['!0 = !{!"branch_weights", i32 1, i32 1000}'] * any(f.has_rare_branches for f in functions)
    metadata += ["!1 = !{}"] * any(f.has_choices for f in functions)
    return "\n".join([*declarations, *definitions, *metadata])
