"""Side effects of a function, as far as its source shows them: a sub-tape has them once for each path, not at each call."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from inspect import getattr_static
from types import CodeType, FunctionType, MethodType, ModuleType, NoneType
from weakref import WeakSet

from ..base.byte_code import has, operands
from ..base.source_location import is_library_file
from ..base.source_text import Definition, NoSource, definition_of
from .callees.path_messages import warn

# Methods that mutate their object, if their result is not used.
_CHANGING = frozenset("append extend insert add update pop popleft appendleft remove discard clear setdefault write writelines".split())

# The most called functions whose source is read.
MOST_FUNCTIONS = 50

_seen: WeakSet[CodeType] = WeakSet()


@dataclass(frozen=True, slots=True)
class Change:
    """A statement with a side effect that outlives the call.

    Attributes:
        code: the code object of the function that contains it.
        line: its number.
        text: its source.
    """

    code: CodeType
    line: int
    text: str


def warn_of_changes(function: object, name: str) -> None:
    """Warn once for each code object, with a GuardWarning that names the first line with a side effect."""
    inner = getattr(function, "__func__", function)
    if type(inner) is not FunctionType or inner.__code__ in _seen:
        return
    _seen.add(inner.__code__)
    found = first_change(inner)
    if found is not None:
        warn(
            f"{name} changes more than its results, and its tapes do so once for each path, not at each call\n"
            f"  at:  {found.code.co_filename}:{found.line} in {found.code.co_name}\n"
            f"  got: {found.text}\n"
            f"  fix: return what is to be kept, and add or print it outside; or leave out td.subtape"
        )


def first_change(function: FunctionType) -> Change | None:
    """The first side effect of a function, or of one that it calls by a name or as a method of a named object. None if none is found."""
    # With each function, its arguments that outlive the call: `self` of a method, all arguments of a body.
    pending: list[tuple[FunctionType, Sequence[str]]] = [(function, _arguments(function.__code__))]
    seen = {function.__code__}
    for inner, outside in pending:
        found = _first_in(inner, outside)
        if found is not None:
            return found
        for called, its_own in _called(inner):
            if called.__code__ not in seen and len(seen) < MOST_FUNCTIONS and not is_library_file(called.__code__.co_filename):
                seen.add(called.__code__)
                pending.append((called, its_own))
    return None


def _first_in(function: FunctionType, outside: Sequence[str]) -> Change | None:
    code = function.__code__
    if not _may_change(code):
        return None
    try:
        definition = definition_of(code)
    except NoSource:
        return None
    found = sorted((node.lineno, ast.unparse(node).split("\n")[0]) for node in _changes(definition, function, outside))
    return Change(code, *found[0]) if found else None


def _called(function: FunctionType) -> Iterator[tuple[FunctionType, Sequence[str]]]:
    """Functions that a function, or one inside it, calls or refers to; methods with the argument that is the object."""
    codes = [function.__code__]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        attributes = operands(code, "attribute")
        for name in operands(code, "global", "cell"):
            value = _value(function, name)
            if type(value) is FunctionType:
                yield value, ()
            elif type(value) is MethodType and type(value.__func__) is FunctionType:
                yield value.__func__, _arguments(value.__func__.__code__)[:1]
            elif not isinstance(value, (type, ModuleType, NoneType)):
                members = (getattr_static(type(value), attribute, None) for attribute in (*attributes, "__call__"))
                yield from ((m, _arguments(m.__code__)[:1]) for m in members if type(m) is FunctionType)


def _value(function: FunctionType, name: str) -> object:
    """The value of a name that is not local; None if it is unbound."""
    free = function.__code__.co_freevars
    if name not in free:
        return function.__globals__.get(name)
    try:
        return (function.__closure__ or ())[free.index(name)].cell_contents
    except ValueError:
        return None


def _arguments(code: CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _may_change(code: CodeType) -> bool:
    """True if the code may have side effects. Cheaper than reading the source."""
    if not _CHANGING.isdisjoint(code.co_names) or not {"print", "next"}.isdisjoint(code.co_names):
        return True
    changed = operands(code, "store cell")
    return has(code, "store global", "store attribute", "write entries") or not set(code.co_freevars).isdisjoint(changed)


def _changes(definition: Definition, function: FunctionType, outside: Sequence[str]) -> Iterator[ast.stmt | ast.expr]:
    code = function.__code__
    arguments = _arguments(code)
    # Objects made in the function die with it; objects that another function returned may not.
    own = frozenset((*code.co_varnames, *code.co_cellvars)).difference(outside)
    pending: list[ast.AST] = list(ast.iter_child_nodes(definition))
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        pending += ast.iter_child_nodes(node)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)):
            targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target]
            if any(_outlives(part, own, arguments) for target in targets for part in ast.walk(target)):
                yield node
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_change(node.value.func, own, function):
            yield node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and _found(function, node.func.id) is next:
            if node.args and isinstance(node.args[0], ast.Name) and node.args[0].id not in own:
                yield node


def _outlives(target: ast.AST, own: frozenset[str], arguments: tuple[str, ...]) -> bool:
    """True if an assignment to the target outlives the call. Writing to array arguments is an error of its own."""
    if isinstance(target, ast.Name):
        return isinstance(target.ctx, (ast.Store, ast.Del)) and target.id not in own and target.id not in arguments
    if not isinstance(target, (ast.Attribute, ast.Subscript)) or isinstance(target.ctx, ast.Load):
        return False
    root, attributes = _root(target)
    return root is not None and root not in own and (attributes > 0 or root not in arguments)


def _is_change(called: ast.expr, own: frozenset[str], function: FunctionType) -> bool:
    """True if a call whose result is not used prints, or mutates a container that outlives it."""
    if isinstance(called, ast.Name):
        return called.id not in own and _found(function, called.id) is print
    if not isinstance(called, ast.Attribute) or called.attr not in _CHANGING:
        return False
    root, _ = _root(called)
    return root is not None and root not in own and not isinstance(_found(function, root), ModuleType)


def _root(node: ast.expr) -> tuple[str | None, int]:
    """The variable at the root of attributes and subscripts, and the number of attributes."""
    attributes = 0
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        attributes += isinstance(node, ast.Attribute)
        node = node.value
    return (node.id if isinstance(node, ast.Name) else None), attributes


def _found(function: FunctionType, name: str) -> object:
    """The value of a global or built-in name."""
    return function.__globals__.get(name, getattr(builtins, name, None)) if name not in function.__code__.co_freevars else None
