"""The source of a function: its node in the syntax tree of its file, proven to be what the function was compiled from."""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import inspect
import linecache
import operator
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from types import CodeType
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ....base.fork_locks import new_lock
from ..nodes import children, function_node, positional, walk, with_places
from .states.static_values import pairs

Definition: TypeAlias = ast.FunctionDef | ast.Lambda
_Read = TypeVar("_Read")

# The filters of warnings are the process's.
_WARNINGS = new_lock()

_FUTURES = functools.reduce(operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))


class NoSource(Exception):
    """The source of a function cannot be had; says why."""


def definition_of(code: CodeType) -> Definition:
    """The node that a function was compiled from.

    Raises:
        NoSource: there is no file, or it has changed since.
    """
    file = _file(code.co_filename)
    if code not in file.proven:
        found = [node for node in file.definitions.get(code.co_firstlineno, ()) if _is_same(_compiled(node, code), code)]
        if not found:
            what = f"{code.co_name} is not what {code.co_filename} has at line {code.co_firstlineno}"
            raise NoSource(f"{what}: the file has changed since, or the function was made by other code")
        file.proven[code] = found[0]
    return file.proven[code]


def definitions_at(code: CodeType, line: int) -> list[Definition]:
    """The functions that a line of a function stands in, or of a comprehension in it.

    Raises:
        NoSource: there is no file.
    """
    found = [node for nodes in _file(code.co_filename).definitions.values() for node in nodes]
    return [node for node in found if node.lineno <= line <= (node.end_lineno or node.lineno)]


def is_generator(code: CodeType) -> bool:
    """Whether a function, as it is called, hands out values one by one."""
    return bool(code.co_flags & inspect.CO_GENERATOR)


def lines_that_end_loops(code: CodeType) -> set[int]:
    """The lines of tests one of which ends a `while` of a function: its own, and those of `if` around a `break`."""
    try:
        loops = [node for node in walk(definition_of(code)) if isinstance(node, ast.While)]
    except NoSource:
        return set()
    tests = [loop.test for loop in loops]
    pending = [node for loop in loops for node in loop.body]
    for node in pending:
        if isinstance(node, ast.If) and any(isinstance(part, ast.Break) for part in node.body):
            tests.append(node.test)
        if not isinstance(node, (ast.For, ast.While)):
            pending += [part for part in children(node) if isinstance(part, ast.stmt)]
    return {line for test in tests for line in range(test.lineno, (test.end_lineno or test.lineno) + 1)}


def is_rebound(filename: str, name: str) -> bool:
    """Whether a function in a file declares a name global, so that it may stand for something else while another function runs."""
    return name in _file(filename).rebound


def is_set(filename: str, name: str) -> bool:
    """Whether a file sets an attribute of this name, of what may be a class or a function."""
    return not _file(filename).set.isdisjoint((name, _ANY))


class _File(NamedTuple):
    """A parsed file: its functions by their first lines, those of decorators included, its imports, and what was made of it.

    Attributes:
        rebound: the names that functions declare global.
        set: the attributes that it sets, but for those of objects of its classes.
        private: names of functions that are private to a class, as they are written.
    """

    definitions: dict[int, list[Definition]]
    imports: tuple[str, ...]
    rebound: frozenset[str]
    set: frozenset[str]
    private: dict[str, str]
    proven: dict[CodeType, Definition]
    made: dict[CodeType, Any]


def made_of(code: CodeType) -> dict[CodeType, Any]:
    """What was made of the functions in the file of one, by their codes; kept as long as the file is."""
    return _file(code.co_filename).made


def _file(filename: str) -> _File:
    text = "".join(linecache.getlines(filename))
    if not text:
        raise NoSource(f"{filename} cannot be read")
    return _parsed(filename, text)


@functools.lru_cache(maxsize=64)
def _parsed(filename: str, text: str) -> _File:
    try:
        tree = without_warnings(lambda: ast.parse(text, filename))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NoSource(f"{filename} cannot be parsed: {error}") from error
    private = _mangle(tree)
    found: dict[int, list[Definition]] = {}
    rebound: set[str] = set()
    for node in walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            found.setdefault(first, []).append(node)
        elif isinstance(node, ast.Global):
            rebound.update(node.names)
    return _File(found, tuple(sorted(_imports(tree))), frozenset(rebound), frozenset(_set_attributes(tree)), private, {}, {})


def _set_attributes(tree: ast.Module) -> Iterator[str]:
    """The attributes that a file sets, by setattr and the like too, but for those of what is surely an object of its classes."""
    kinds = [node for node in walk(tree) if isinstance(node, ast.ClassDef)]
    classes = {node.name for node in kinds}
    methods = {id(method) for kind in kinds for method in kind.body if not getattr(method, "decorator_list", ())}
    own: set[int] = set()
    for function in (node for node in walk(tree) if isinstance(node, ast.FunctionDef)):
        objects = _objects_of(function, classes, id(function) in methods)
        own |= {id(n) for n in walk(function) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id in objects}
    for node in walk(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and id(node) not in own:
            yield node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in _SETTERS:
            names = [part.value for part in node.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            yield from names or [_ANY]


def _objects_of(function: ast.FunctionDef, classes: Collection[str], is_method: bool) -> set[str]:
    """The variables of a function that hold nothing but objects of these classes; the first argument of a method is one."""
    nodes = list(walk(function))
    values = [pair for n in nodes if isinstance(n, ast.Assign) for target in n.targets for pair in pairs(target, n.value)]
    calls = [(name.id, value.func) for name, value in values if isinstance(value, ast.Call)]
    named = Counter(name for name, called in calls if isinstance(called, ast.Name) and called.id in classes)
    bound = Counter(n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    arguments = Counter(n.arg for n in nodes if isinstance(n, ast.arg))
    found = {name for name, count in named.items() if bound[name] == count and not arguments[name]}
    own = function.args.args[0].arg if is_method and function.args.args else ""
    return found | ({own} if arguments[own] == 1 and not bound[own] else set())


_SETTERS = ("setattr", "delattr", "__setattr__", "__delattr__")

# What sets an attribute whose name the text does not have.
_ANY = "*"


def without_warnings(read: Callable[[], _Read]) -> _Read:
    """What Python warned of when it compiled the user's file is not said again; with errors made of warnings it could not be read."""
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)  # of escapes, before Python 3.12
        return read()


def _mangle(tree: ast.Module) -> dict[str, str]:
    """Give private names in classes those that Python compiles: self.__rate in a class Model is self._Model__rate.

    Returns the names of functions as they are written, which their codes have.
    """
    written: dict[str, str] = {}
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, owner = pending.pop()
        for field in _NAMES if owner and not isinstance(node, ast.keyword) else ():
            name = getattr(node, field, None)
            names = [name] if isinstance(name, str) else name if isinstance(node, (ast.Global, ast.Nonlocal)) and name else []
            found = [f"_{owner}{n}" if n.startswith("__") and not n.endswith("__") and "." not in n else n for n in names]
            if found != names:
                if isinstance(node, ast.FunctionDef) and field == "name":
                    written[found[0]] = names[0]
                setattr(node, field, found if isinstance(name, list) else found[0])
        inside = node.name.lstrip("_") if isinstance(node, ast.ClassDef) else owner
        outside = (*node.bases, *node.keywords, *node.decorator_list) if isinstance(node, ast.ClassDef) else ()
        pending += [(part, owner if part in outside else inside) for part in children(node)]
    return written


# The fields of syntax trees that are names.
_NAMES = ("id", "attr", "arg", "name", "asname", "names", "rest")


def _imports(tree: ast.Module) -> set[str]:
    """Names that are imported at the top of a file: Python compiles calls of their attributes in another way."""
    found: set[str] = set()
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending += children(node)
    return found - {"*"}


def compile_within(definition: Definition, code: CodeType, cells: tuple[str, ...]) -> CodeType | None:
    """The code of a definition that closes over variables of these names; None if Python refuses it.

    Args:
        code: where the file name and the future features come from.
    """
    inner: list[ast.stmt] = [ast.Expr(definition)] if isinstance(definition, ast.Lambda) else [definition]
    if isinstance(definition, ast.FunctionDef) and definition.name not in cells:
        # A function that calls itself by its global name does so here.
        inner.insert(0, ast.Global([definition.name]))
    outer = function_node("enclosing", positional(cells), inner, definition)
    imports: list[ast.stmt] = [ast.Import([ast.alias("builtins", name)]) for name in _file(code.co_filename).imports]
    module = with_places(ast.Module([*imports, outer], []))
    try:
        made = without_warnings(lambda: compile(module, code.co_filename, "exec", flags=code.co_flags & _FUTURES, dont_inherit=True))
    except (SyntaxError, ValueError, RecursionError):
        return None
    (enclosing,) = (c for c in made.co_consts if isinstance(c, CodeType))
    name = "<lambda>" if isinstance(definition, ast.Lambda) else definition.name
    found = next((c for c in enclosing.co_consts if isinstance(c, CodeType) and c.co_name == name), None)
    private = _file(code.co_filename).private
    return _named(found, private) if found is not None and private else found


def _named(code: CodeType, written: dict[str, str]) -> CodeType:
    """A code with the names of functions as they are written."""
    constants = tuple([_named(c, written) if isinstance(c, CodeType) else c for c in code.co_consts])
    return code.replace(co_name=written.get(code.co_name, code.co_name), co_consts=constants)


def _compiled(node: Definition, code: CodeType) -> CodeType | None:
    if isinstance(node, ast.Lambda):
        return compile_within(node, code, code.co_freevars)
    bare = copy.copy(node)
    bare.decorator_list, bare.returns, bare.args = [], None, _without_defaults(node.args)
    return compile_within(bare, code, code.co_freevars)


def _without_defaults(args: ast.arguments) -> ast.arguments:
    """Arguments without annotations; defaults stay, as their number matters, but are None."""
    made = copy.deepcopy(args)
    for part in walk(made):
        if isinstance(part, ast.arg):
            part.annotation = None
    nothing = ast.Constant(None)
    made.kw_defaults = [None if default is None else nothing for default in made.kw_defaults]
    made.defaults = [nothing] * len(made.defaults)
    return made


def _is_same(made: CodeType | None, code: CodeType) -> bool:
    """Whether two codes do the same, by what a file can have changed: instructions, constants and names."""
    pending = [(made, code)]
    while pending:
        a, b = pending.pop()
        if a is None or any(getattr(a, field) != getattr(b, field) for field in _COMPARED) or len(a.co_consts) != len(b.co_consts):
            return False
        for x, y in zip(a.co_consts, b.co_consts):
            if isinstance(x, CodeType) and isinstance(y, CodeType):
                pending.append((x, y))
            elif type(x) is not type(y) or _text_of(x) != _text_of(y):
                return False
    return True


def _text_of(constant: object) -> str:
    """Equal for equal constants of one type and sign; the order of a set depends on how it was made."""
    return repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)


_COMPARED = (
    "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount",
)  # fmt: skip
