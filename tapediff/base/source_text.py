"""Finds the source of a function: its node in its file's syntax tree, proven to compile to the function's code."""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import linecache
import operator
import sys
import warnings
from collections.abc import Callable
from types import CodeType
from typing import NamedTuple, TypeAlias, TypeVar

from .fork_locks import new_lock

Definition: TypeAlias = ast.FunctionDef | ast.Lambda
_Read = TypeVar("_Read")

# Warning filters are shared by all threads.
_WARNINGS = new_lock()

FUTURES = functools.reduce(operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))


class NoSource(Exception):
    """The source of a function is unavailable; the message says why."""


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


class _File(NamedTuple):
    """A parsed file: its functions by their first lines, those of decorators included, and its imports.

    Attributes:
        private: class-private function names, as written in the source.
        proven: the functions whose code was found to equal the file's.
    """

    definitions: dict[int, list[Definition]]
    imports: tuple[str, ...]
    private: dict[str, str]
    proven: dict[CodeType, Definition]


def _file(filename: str) -> _File:
    text = "".join(linecache.getlines(_path_of(filename)))
    if not text:
        raise NoSource(f"{filename} cannot be read")
    return _parsed(filename, text)


def _path_of(filename: str) -> str:
    """A file's path; that of a module which is part of Python's executable is only an attribute."""
    if not filename.startswith("<frozen "):
        return filename
    module = sys.modules.get(filename.removeprefix("<frozen ").removesuffix(">"))
    return getattr(module, "__file__", None) or filename


@functools.lru_cache(maxsize=64)
def _parsed(filename: str, text: str) -> _File:
    try:
        tree = without_warnings(lambda: ast.parse(text, filename))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NoSource(f"{filename} cannot be parsed: {error}") from error
    private = _mangle(tree)
    found: dict[int, list[Definition]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            found.setdefault(first, []).append(node)
    return _File(found, tuple(sorted(_imports(tree))), private, {})


def without_warnings(read: Callable[[], _Read]) -> _Read:
    """Suppress warnings that Python gave when it compiled the user's file; as errors they would prevent reading it."""
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)  # of escape sequences, before Python 3.12
        return read()


def _mangle(tree: ast.Module) -> dict[str, str]:
    """Mangle private names in classes as Python does: self.__rate in a class Model becomes self._Model__rate.

    Returns the unmangled names of functions, which their code objects have.
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
        pending += [(part, owner if part in outside else inside) for part in ast.iter_child_nodes(node)]
    return written


# The fields of syntax trees that are names.
_NAMES = ("id", "attr", "arg", "name", "asname", "names", "rest")


def _imports(tree: ast.Module) -> set[str]:
    """Names imported at the top of a file: Python compiles calls of their attributes differently."""
    found: set[str] = set()
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending += ast.iter_child_nodes(node)
    return found - {"*"}


def compile_within(definition: Definition, code: CodeType, cells: tuple[str, ...]) -> CodeType | None:
    """Compile a definition as closing over variables of these names; None if Python refuses it.

    Args:
        code: where the file name and the future features come from.
    """
    inner: list[ast.stmt] = [ast.Expr(definition)] if isinstance(definition, ast.Lambda) else [definition]
    if isinstance(definition, ast.FunctionDef) and definition.name not in cells:
        # A function that calls itself by its global name must do so here, too.
        inner.insert(0, ast.Global([definition.name]))
    outer = ast.FunctionDef("enclosing", ast.arguments([], [ast.arg(name) for name in cells], None, [], [], None, []), inner, [], None)
    outer.type_params = []  # pyright: ignore[reportAttributeAccessIssue]
    imports: list[ast.stmt] = [ast.Import([ast.alias("builtins", name)]) for name in _file(code.co_filename).imports]
    module = ast.fix_missing_locations(ast.Module([*imports, ast.copy_location(outer, definition)], []))
    try:
        made = without_warnings(lambda: compile(module, code.co_filename, "exec", flags=code.co_flags & FUTURES, dont_inherit=True))
    except (SyntaxError, ValueError, RecursionError):
        return None
    (enclosing,) = (c for c in made.co_consts if isinstance(c, CodeType))
    name = "<lambda>" if isinstance(definition, ast.Lambda) else definition.name
    found = next((c for c in enclosing.co_consts if isinstance(c, CodeType) and c.co_name == name), None)
    private = _file(code.co_filename).private
    return _named(found, private) if found is not None and private else found


def _named(code: CodeType, written: dict[str, str]) -> CodeType:
    """A code object with the names of functions as written in the source."""
    constants = tuple([_named(c, written) if isinstance(c, CodeType) else c for c in code.co_consts])
    return code.replace(co_name=written.get(code.co_name, code.co_name), co_consts=constants)


def _compiled(node: Definition, code: CodeType) -> CodeType | None:
    if isinstance(node, ast.Lambda):
        return compile_within(node, code, code.co_freevars)
    bare = copy.copy(node)
    bare.decorator_list, bare.returns, bare.args = [], None, _without_defaults(node.args)
    return compile_within(bare, code, code.co_freevars)


def _without_defaults(args: ast.arguments) -> ast.arguments:
    """Arguments without annotations, and with None for each default, as their number matters."""
    made = copy.deepcopy(args)
    for part in ast.walk(made):
        if isinstance(part, ast.arg):
            part.annotation = None
    nothing = ast.Constant(None)
    made.kw_defaults = [None if default is None else nothing for default in made.kw_defaults]
    made.defaults = [nothing] * len(made.defaults)
    return made


def _is_same(made: CodeType | None, code: CodeType) -> bool:
    """True if two codes have the same instructions, constants and names, which an edit of the file could change."""
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
    """A text that is equal for equal constants of one type and sign; sets are sorted, as their order depends on their history."""
    return repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)


_COMPARED = (
    "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount",
)  # fmt: skip
