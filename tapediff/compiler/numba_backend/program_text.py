"""The text of a numba program: its imports, the library definitions that it uses, its constants, and its functions."""

from __future__ import annotations

import ast
import base64
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from ...ir.instruction import UserFunction
from ..jit.toolchain import toolchain
from ..math.special import SEVERAL_RESULTS, SPECIAL_FUNCTIONS
from . import array_routines, decompositions, linked_functions, matrix_routines, program_support, scalar_functions

# Where definitions are found by name; each module uses only those before it.
LIBRARY = (scalar_functions, linked_functions, matrix_routines, decompositions, array_routines, program_support)

# Special functions by whose names the listing calls its loop indices; no op has them.
LOOP_INDICES = ("i0", "i1")

# Arrays of more entries stand in the text in base64.
MOST_SHOWN = 24


@dataclass(frozen=True)
class Definition:
    """A name of the library: its text, the names that it uses, and the import that it is, if any."""

    text: str
    uses: frozenset[str]
    imported: tuple[str, str, str] | None = None


@dataclass
class ProgramText:
    """A program while it is written.

    Attributes:
        functions: the texts of its own functions, in order.
        constants: names by dtype and bytes, with the arrays.
        externals: objects that it needs by name and that no text can make: functions of td.primitive.
    """

    functions: list[str] = field(default_factory=list)
    constants: dict[tuple[str, bytes], tuple[str, np.ndarray]] = field(default_factory=dict)
    externals: dict[str, UserFunction] = field(default_factory=dict)

    def constant(self, values: np.ndarray) -> str:
        """The name of a constant; equal ones are one."""
        key = (values.dtype.str, values.tobytes())
        if key not in self.constants:
            self.constants[key] = (f"c{len(self.constants)}", values)
        return self.constants[key][0]

    def own(self) -> str:
        """The text that is this program's alone: constants and functions."""
        constants = "".join(f"{name} = {_array_text(values)}\n" for name, values in self.constants.values())
        return "\n\n".join([constants] * bool(constants) + [text + "\n" for text in self.functions])

    def namespace(self) -> dict[str, object]:
        """The library's own objects for the names that the program uses, so that these are compiled once in a process."""
        found: dict[str, object] = dict(self.externals)
        for name in _names(self.own()):
            value = library_object(name)
            if value is not None:
                found[name] = value
        return found

    def standalone(self, docstring: str, own: str) -> str:
        """The text of a module that needs NumPy, numba and SciPy alone, with `own` as the program's part."""
        used = _closure(_names(own))
        imports = [imported for name in used if (imported := _definition(name).imported)]
        lines = [f'"""{docstring}"""', "", *_import_lines(imports), *self._external_imports(), ""]
        body = [_definition(name).text for name in used if _definition(name).imported is None]
        return "\n".join(lines) + "\n\n".join([*dict.fromkeys(body), own])

    def _external_imports(self) -> list[str]:
        lines = []
        for name, value in self.externals.items():
            function = getattr(value, "py_func", value)
            module, path = function.__module__, function.__qualname__
            if module == "__main__" or not path.isidentifier():
                text = f"{name} is the numba function {path} of {module}, which cannot be imported: define it here instead of this line"
                lines.append(f"raise ImportError({text!r})")
            else:
                lines.append(f"from {module} import {path} as {name}")
        return lines


def _array_text(values: np.ndarray) -> str:
    dtype = f"np.{values.dtype.name}_" if values.dtype == bool else f"np.{values.dtype.name}"
    if values.size <= MOST_SHOWN:
        entries = ", ".join(map(_number_text, values.tolist()))
        return f"np.array([{entries}], {dtype})"
    encoded = base64.b64encode(values.tobytes()).decode()
    return f'decoded("{encoded}", {dtype})'


def _number_text(value: float) -> str:
    text = repr(value)
    return {"nan": "np.nan", "inf": "np.inf", "-inf": "-np.inf"}.get(text, text)


def _names(text: str) -> list[str]:
    """The names that a text reads, in order."""
    found = (node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))
    return list(dict.fromkeys(found))


# The library's definitions


@cache
def _library() -> dict[str, Definition]:
    found: dict[str, Definition] = {}
    for module in LIBRARY:
        source = inspect.getsource(module)
        lines = source.splitlines()
        for node in ast.parse(source).body:
            found |= _defined(node, lines)
    for name in SPECIAL_FUNCTIONS:
        if name in found or name in LOOP_INDICES:
            continue
        if name in SEVERAL_RESULTS:
            found[name] = _one_result(name, *SEVERAL_RESULTS[name])
            continue
        arguments = ", ".join("xywu"[: len(scalar_functions.special(name).argtypes) - 1])
        text = f'_{name} = special("{name}")\n\n\n@inner\ndef {name}({arguments}):\n    return _{name}({arguments}, 0)\n'
        found[name] = Definition(text, frozenset(("special", "inner")))
    return found


def _one_result(name: str, routine: str, position: int, count: int) -> Definition:
    places = ", ".join(f"results[{k}:].ctypes" for k in range(count))
    text = (
        f'_{name} = special_results("{routine}", {count})\n\n\n@inner\ndef {name}(x):\n    results = np.empty({count})\n'
        f"    _{name}(x, {places})\n    return results[{position}]\n"
    )
    return Definition(text, frozenset(("special_results", "inner", "np")))


def _defined(node: ast.stmt, lines: list[str]) -> dict[str, Definition]:
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        module = node.module or ""
        return {
            a.asname or a.name: Definition("", frozenset(), (module, a.name, a.asname or a.name)) for a in node.names
        }
    if isinstance(node, ast.Import):
        return {a.asname or a.name: Definition("", frozenset(), ("", a.name, a.asname or a.name)) for a in node.names}
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        names = [node.name]
    elif isinstance(node, ast.Assign):
        first = node.lineno
        names = [n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    else:
        return {}
    text = "\n".join(lines[first - 1 : node.end_lineno]) + "\n"
    uses = frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name)) - {*names}
    return dict.fromkeys(names, Definition(text, uses))


def _definition(name: str) -> Definition:
    return _library()[name]


def _closure(names: list[str]) -> list[str]:
    """The library's names among these and those that they use, in the library's order."""
    found: set[str] = set()
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        if name in _library() and name not in found:
            found.add(name)
            wanted += _definition(name).uses
    order = {name: k for k, name in enumerate(_library())}
    return sorted(found, key=order.__getitem__)


def _import_lines(imports: Sequence[tuple[str, str, str]]) -> list[str]:
    whole, parts = [], {}
    for module, name, as_name in imports:
        text = name if name == as_name else f"{name} as {as_name}"
        if module:
            parts.setdefault(module, []).append(text)
        else:
            whole.append(f"import {text}")
    return [*sorted(whole), *(f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(parts.items()))]


def library_object(name: str) -> object:
    """The library's own object of this name; None if it has none. Special functions are made when first needed."""
    for module in LIBRARY:
        if hasattr(module, name) and name in _library():
            return getattr(module, name)
    return toolchain.once(("numba function", name), lambda: _made(name)) if name in _library() else None


def _made(name: str) -> object:
    namespace = {used: library_object(used) for used in _definition(name).uses}
    exec(compile(_definition(name).text, "<tapediff special function>", "exec"), namespace)
    return namespace[name]
