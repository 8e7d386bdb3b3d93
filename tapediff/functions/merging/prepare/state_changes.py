"""What a function changes besides giving its results, as far as its source shows it: a sub-tape does so once for each path."""

from __future__ import annotations

import ast
import builtins
import dis
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from weakref import WeakSet

from ...callees.path_messages import warn
from .source import Definition, NoSource, definition_of

# Methods that change what they belong to, where their result is not used.
_CHANGING = frozenset("append extend insert add update pop popleft appendleft remove discard clear setdefault write writelines".split())

_seen: WeakSet[CodeType] = WeakSet()


def warn_of_changes(function: object, name: str) -> None:
    """A GuardWarning, once for each code, that names the first line at which a body changes something that outlives it."""
    inner = getattr(function, "__func__", function)
    if type(inner) is not FunctionType or inner.__code__ in _seen:
        return
    _seen.add(inner.__code__)
    found = first_change(inner)
    if found is not None:
        line, text = found
        warn(
            f"{name} changes more than its results, and its tapes do so once for each path, not at each call\n"
            f"  at:  {inner.__code__.co_filename}:{line} in {inner.__code__.co_name}\n"
            f"  got: {text}\n"
            f"  fix: return what is to be kept, and add or print it outside; or leave out td.subtape"
        )


def first_change(function: FunctionType) -> tuple[int, str] | None:
    """The first statement that changes something which outlives a call: its line and text. None if there is none, or no source."""
    code = function.__code__
    if not _may_change(code):
        return None
    try:
        definition = definition_of(code)
    except NoSource:
        return None
    found = sorted((node.lineno, ast.unparse(node).split("\n")[0]) for node in _changes(definition, function))
    return found[0] if found else None


def _may_change(code: CodeType) -> bool:
    """Whether there is anything to be looked for in the source, which takes longer to read."""
    if not _CHANGING.isdisjoint(code.co_names) or not {"print", "next"}.isdisjoint(code.co_names):
        return True
    names = set(code.co_freevars)
    return any(
        i.opname in ("STORE_GLOBAL", "STORE_ATTR", "STORE_SUBSCR", "STORE_SLICE") or (i.opname == "STORE_DEREF" and i.argval in names)
        for i in dis.get_instructions(code)
    )  # fmt: skip


def _changes(definition: Definition, function: FunctionType) -> Iterator[ast.stmt | ast.expr]:
    code = function.__code__
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    # What is made in the function is gone after it.
    own = frozenset((*code.co_varnames, *code.co_cellvars)).difference(arguments)
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
    """Whether what is assigned to outlives a call. Arrays among the arguments may not be written to, which is an error of its own."""
    if isinstance(target, ast.Name):
        return isinstance(target.ctx, (ast.Store, ast.Del)) and target.id not in own and target.id not in arguments
    if not isinstance(target, (ast.Attribute, ast.Subscript)) or isinstance(target.ctx, ast.Load):
        return False
    root, attributes = _root(target)
    return root is not None and root not in own and (attributes > 0 or root not in arguments)


def _is_change(called: ast.expr, own: frozenset[str], function: FunctionType) -> bool:
    """Whether a call whose result is not used prints, or changes a container that outlives it."""
    if isinstance(called, ast.Name):
        return called.id not in own and _found(function, called.id) is print
    if not isinstance(called, ast.Attribute) or called.attr not in _CHANGING:
        return False
    root, _ = _root(called)
    return root is not None and root not in own and not isinstance(_found(function, root), ModuleType)


def _root(node: ast.expr) -> tuple[str | None, int]:
    """The variable that attributes and entries are those of, and how many attributes there are."""
    attributes = 0
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        attributes += isinstance(node, ast.Attribute)
        node = node.value
    return (node.id if isinstance(node, ast.Name) else None), attributes


def _found(function: FunctionType, name: str) -> object:
    """What a global or built-in name stands for."""
    return function.__globals__.get(name, getattr(builtins, name, None)) if name not in function.__code__.co_freevars else None
