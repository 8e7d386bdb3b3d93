"""The functions by which a program runs callees: one for each variant, one that chooses among them, and one for each form of loop."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import Protocol, TypeGuard

import numpy as np

from ...errors import InvalidTape
from ...ir.instruction import DynamicArrayType
from ...ir.tape import Tape
from ...ops.control.loop_forms import LoopForm, saved_bytes_limit
from ..loop_ir.program import Exit, Invoke, Program
from ..pipeline import build_program
from ..runtime.call_frame import NO_END, value_bytes
from ..runtime.callees.native_callee import NativeCallee, UserFunction
from .function_text import FunctionPrinter
from .learned_paths import LearnedPaths, TapedCallee
from .loop_text import loop_function
from .program_text import ProgramText


class _UserFunction(TapedCallee, UserFunction, Protocol):
    """A function of the user's, as programs see it."""


class CalleeText:
    """The callees of a program: what it knows of their paths, and their functions.

    Attributes:
        callees: in the order of their numbers in the program.
        failures: what routines say when they fail, by their numbers in the program.
        limits: the forms of loops that may take too long, by their numbers in the program.
        report_size: the entries that guards need to tell what they met.
    """

    def __init__(self, text: ProgramText, learned: LearnedPaths) -> None:
        self.text, self.learned = text, learned
        self.callees: list[TapedCallee] = []
        self.failures: list[str] = []
        self.limits: list[tuple[LoopForm, bool]] = []
        self.report_size = 1
        self._stems: dict[int, str] = {}
        self._calls: dict[tuple[int, bool], str] = {}
        self._loops: dict[Hashable, str] = {}
        self._callers: set[int] = set()
        self._waiting: list[Callable[[], str]] = []

    def program(self, tape: Tape, name: str, docstring: str, decorator: str = "@inner") -> Program:
        """Add the function of a tape; gives its loop program."""
        program = build_program(tape)
        printer = FunctionPrinter(program, decorator, name, docstring, self.text, self, len(self.failures))
        self.failures += program.failures
        reports = [program.storages[e.report[0]].size for g in program.groups for e in g.body if isinstance(e, Exit)]
        self.report_size = max([self.report_size, *reports])
        self.text.functions.append(printer.function())
        return program

    def finish(self) -> None:
        """Write the functions that those written so far call."""
        while self._waiting:
            self.text.functions.append(self._waiting.pop()())

    # The names of functions, which are written when they are first asked for

    def call_name(self, callee: TapedCallee, is_chosen: bool) -> str:
        key = (id(callee), is_chosen)
        if key not in self._calls:
            stem = self._stem(callee)
            name = self._calls[key] = f"{stem}_as" if is_chosen else f"run_{stem}"
            self._waiting.append(lambda: self._call_function(callee, is_chosen, name))
        return self._calls[key]

    def loop_name(self, item: Invoke) -> str:
        callee, form = item.params
        key = (id(callee), form)
        if key not in self._loops:
            name = self._loops[key] = f"loop_{len(self._loops)}_{self._stem(callee)}"
            limit = self._limit(item, form)
            call = self.call_name(callee, form.variant_given)
            self._waiting.append(lambda: loop_function(name, item, call, limit))
        return self._loops[key]

    def _stem(self, callee: TapedCallee) -> str:
        if id(callee) not in self._stems:
            self.callees.append(callee)
            plain = re.sub(r"\W+", "_", callee.name).strip("_")
            self._stems[id(callee)] = f"{plain}_{len(self.callees) - 1}"
        return self._stems[id(callee)]

    def _limit(self, item: Invoke, form: LoopForm) -> tuple[int, int]:
        """How many iterations a loop may take, and the number of that limit."""
        if form.length is not None:
            return form.length, -1
        size = sum(value_bytes(type_.item) for type_ in item.types[1] if isinstance(type_, DynamicArrayType))
        by_memory = saved_bytes_limit() // size if size else NO_END
        is_by_memory = form.most is None or by_memory < form.most
        self.limits.append((form, is_by_memory))
        return by_memory if is_by_memory else form.most or 0, len(self.limits) - 1

    def _number(self, callee: NativeCallee) -> int:
        return next(k for k, known in enumerate(self.callees) if known is callee)

    # Calls

    def _call_function(self, callee: TapedCallee, is_chosen: bool, name: str) -> str:
        inputs = [f"x{k}" for k in range(len(callee.in_types))]
        outputs = [f"out{k}" for k in range(len(callee.out_types))]
        arguments = [*inputs, *outputs, "note", "report"]
        number = self._number(callee)
        if _is_user_function(callee) and callee.is_compiled and callee.knows_results:
            body = self._primitive_lines(callee, inputs)
        else:
            body = self._dispatch_lines(callee, is_chosen, number, arguments)
        first = "number" if is_chosen else "ran"
        lines = [f'"""{_one_line(callee.name)}, {"by the given path" if is_chosen else "by the path that holds"}"""', *body]
        asking = "" if "ask_" not in "\n".join(body) else self._asking_function(name, number, inputs, outputs)
        return asking + "\n".join(["@inner", f"def {name}({', '.join([first, *arguments])}):", *("    " + l for l in lines)])

    def _dispatch_lines(self, callee: TapedCallee, is_chosen: bool, number: int, arguments: list[str]) -> list[str]:
        name, given = self.call_name(callee, is_chosen), ", ".join(arguments)
        functions = {n: self._variant(callee, n) for n in self.learned.variants(callee)}
        if len(functions) == 1 and not callee.may_branch:
            (only,) = functions.values()
            return [f"return {only}({given})"] if is_chosen else ["ran[0] = 0", f"return {only}({given})"]
        if is_chosen:
            lines = [f"if number == {n}: return {function}({given})" for n, function in functions.items()]
            return [*lines, f"return ask_{name}(number, -1, 0, {given})"]
        lines = ["number, settled = ran[0], 0", "while True:"]
        if self._calls_others(callee):
            lines = ["note[3] += 1", "if note[3] > DEEPEST:", f"    note[2] = {number}", "    return RECURSION", *lines]
        for k, (n, function) in enumerate(functions.items()):
            lines += [f"    {'elif' if k else 'if'} number == {n}:", f"        status = {function}({given})"]
        if functions:
            lines += ["    else:", "        status = NEW_PATH"]
        else:
            lines.append("    status = NEW_PATH")
        lines += [
            "    if status == 0:",
            "        ran[0] = number",
            *(["        note[3] -= 1"] if self._calls_others(callee) else []),
            "        return 0",
            "    if status >= FAILURE or (status < 0 and status != NEW_PATH): return status",
            "    following = -1",
        ]
        for (n, status, outcome), target in self.learned.jumps(callee).items():
            if n in functions and target in functions:
                met = "np.isnan(report[0])" if np.isnan(outcome) else f"report[0] == {_float(outcome)}"
                lines.append(f"    if number == {n} and status == {status} and {met}: following = {target}")
        # A path that has decided about a guard is not asked again: where two of them disagree in the last bit, NumPy decides.
        lines += [
            "    if following < 0 or status <= settled:",
            f"        status = ask_{name}(-1, number, status, {given})",
            "        ran[0] = note[2]",
            *(["        note[3] -= 1"] if self._calls_others(callee) else []),
            "        return status",
            "    number, settled = following, status",
        ]
        return lines

    def _variant(self, callee: TapedCallee, number: int) -> str:
        """The function of a variant."""
        name = f"{self._stem(callee)}_path_{number}"
        key = (id(callee), number, "variant")
        if key not in self._loops:
            self._loops[key] = name
            tape = callee.variant_tape(number)
            if (tape.input_types, tape.output_types) != (tuple(callee.in_types), tuple(callee.out_types)):
                raise InvalidTape(f"a variant of {callee.name} has other types than the first", got=str(tape.output_types))
            program = self.program(tape, name, f"{_one_line(callee.name)}, path {number}")
            if any(isinstance(group, Invoke) for group in program.groups):
                self._callers.add(id(callee))
        return name

    def _calls_others(self, callee: TapedCallee) -> bool:
        return id(callee) in self._callers

    def _asking_function(self, name: str, number: int, inputs: list[str], outputs: list[str]) -> str:
        """A function that gives tapediff the addresses of all values."""
        arrays = [*inputs, *outputs]
        lines = [f"addresses = np.empty({max(1, len(arrays))}, np.int64)"]
        lines += [f"addresses[{k}] = {array}.ctypes.data" for k, array in enumerate(arrays)]
        lines.append(f"return ask(note, {number}, chosen, left_by, status, report[0], addresses)")
        parameters = ", ".join(["chosen", "left_by", "status", *arrays, "note", "report"])
        return "\n".join(["@inner", f"def ask_{name}({parameters}):", *("    " + l for l in lines)]) + "\n\n\n"

    def _primitive_lines(self, callee: UserFunction, inputs: list[str]) -> list[str]:
        """A function that numba compiles, with the values in the shapes that it knows."""
        import numba

        external = f"primitive_{self._number(callee)}"
        function = callee.function
        self.text.externals[external] = function if hasattr(function, "py_func") else numba.njit(function)
        lines = []
        for name, type_ in zip(inputs, callee.in_types):
            lines.append(f"{name.replace('x', 'v')} = {name}{f'.reshape({type_.shape})' if type_.shape else '[0]'}")
        arguments, results = callee.native_layout([name.replace("x", "v") for name in inputs])
        lines += ["try:", f"    result = {external}({', '.join(arguments)})", "except Exception:"]
        lines += [f"    note[2] = {self._number(callee)}", "    return RULE_RAISED"]
        for k, (path, type_) in enumerate(zip(results, callee.out_types)):
            if path is None:
                lines.append(f"fill(out{k}, 0, {type_.size}, 0)")
            elif not type_.shape:
                lines.append(f"out{k}[0] = result{path}")
            else:
                lines += [f"if result{path}.shape != {type_.shape}:", f"    note[2] = {self._number(callee)}"]
                lines += ["    return WRONG_RESULT", f"put_all(out{k}, result{path})"]
        return [*lines, "return 0"]


def _is_user_function(callee: NativeCallee) -> TypeGuard[_UserFunction]:
    return hasattr(callee, "native_layout")


def _float(value: float) -> str:
    return repr(float(value)).replace("inf", "np.inf")


def _one_line(name: str) -> str:
    return name.replace("\\", " ").replace('"', "'").replace("\n", " ")
