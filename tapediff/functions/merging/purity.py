"""Code that is recorded once and runs many times, in loops: it may do nothing but compute values."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import sys
from abc import ABCMeta
from collections.abc import Sequence
from types import BuiltinFunctionType, BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType

import numpy as np

from ...base.byte_code import has
from ...base.source_location import is_library_file
from ...ir.instruction import Tree
from ...recording.arrays.tracked import TrackedArray
from ...recording.python_state.list_arguments import DISPATCHED
from ...recording.python_state.replacement import Replacement
from .nodes import WHOLE, Placed, Transformer, call, children, is_call_of_run_time, is_helper, near, place
from .rules import Broken
from .variables import Names

_STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.For, ast.While, ast.Pass, ast.Break, ast.Continue, ast.Return)

_REFUSED = (
    ast.Lambda, ast.GeneratorExp, ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr, ast.JoinedStr, ast.SetComp, ast.DictComp, ast.Starred,
)  # fmt: skip


def check_statements(body: Sequence[ast.stmt], own: Names = frozenset()) -> None:
    """Raise unless statements only compute values and assign them to variables.

    Args:
        own: variables for whose arrays and lists they may have other entries, as nothing else knows these.

    Raises:
        Broken: with the first that does something else.
    """
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt):
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not isinstance(node, _STATEMENTS) and not is_text and not (own and is_of_own(node)):
                raise Broken("assignments", node, ast.unparse(node).split("\n")[0])
            if isinstance(node, (ast.For, ast.While)) and node.orelse:
                raise Broken("jumps", node, "a loop has an else")
            if isinstance(node, ast.AnnAssign) and node.value is None:
                raise Broken("assignments", node, ast.unparse(node))
        elif isinstance(node, _REFUSED):
            raise Broken("calls", node, ast.unparse(node))
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load) and not is_of_copy(node):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in own:
                pending += children(node)
                continue
            raise Broken("assignments", node, f"it assigns to {ast.unparse(node)}")
        elif isinstance(node, ast.Compare) and any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            if not all(isinstance(c, ast.Constant) for c in node.comparators):
                raise Broken("test", node, ast.unparse(node))
        elif isinstance(node, ast.Call) and any(k.arg in (None, "out", "where") for k in node.keywords):
            raise Broken("calls", node, f"it calls {ast.unparse(node)}")
        pending += children(node)


def is_of_own(node: ast.stmt) -> bool:
    """Whether a statement appends to a list that the turn of a loop has made, or looks at its arrays; see prepare/long_loops/."""
    made = node.value if isinstance(node, ast.Expr) else None
    return isinstance(made, ast.Call) and is_call_of_run_time(made) and made.func.attr in ("append_own", "require_apart")  # type: ignore[attr-defined]


def is_of_copy(node: ast.Attribute | ast.Subscript) -> bool:
    """Whether an entry is one of a copy of an array that is made for a branch."""
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id.startswith(WHOLE)


class Checked(Transformer):
    """Puts a check at run time around everything that may be code of its own: calls, attributes, entries, and the objects among operands.

    Args:
        site: the loop that is given up where a check fails, or the helper.
        at: its place, if it has several forms.
    """

    def __init__(self, site: Placed, at: ast.expr | None = None) -> None:
        self._place = at or place(site)

    def statements(self, body: Sequence[ast.AST]) -> list[Tree]:
        """Statements, or expressions, with their checks."""
        made: list[Tree] = []
        for node in body:
            new = self.visit(node)
            made += new if isinstance(new, list) else [new]
        return made

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if is_call_of_run_time(node):
            # Those that choose between numbers check these themselves.
            node.args = [self._bound(a) for a in node.args]
            return node
        if isinstance(node.func, ast.Call) and is_call_of_run_time(node.func):
            # A function that is checked already, or whose branches are merged: the check does that, too.
            if not is_helper(node.func):
                node.args = [self.visit(a) for a in node.args]
                node.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
                return node
            node.func = node.func.args[0]
        count = ast.Constant(len(node.args))
        if isinstance(node.func, ast.Attribute):
            owner = self._owner(node.func.value)
            function = call("pure_method", [self._place, owner, ast.Constant(node.func.attr), count], node)
        else:
            function = call("pure", [self._place, self._owner(node.func), count], node)
        node.func, node.args = function, [self.visit(a) for a in node.args]
        node.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return call("operand", [self._place, node], node) if isinstance(node.ctx, ast.Load) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return call("operand", [self._place, self._owner(node)], node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return call("operand", [self._place, self._owner(node)], node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        node.value = self.visit(node.value)
        before = ast.Name(node.target.id, ast.Load()) if isinstance(node.target, ast.Name) else None
        if before is None:
            return node
        check = call("in_place", [self._place, ast.copy_location(before, node)], node)
        return [near(ast.Expr(check), node), node]  # type: ignore[return-value]  # in place of one statement

    def visit_Assign(self, node: ast.Assign | ast.AnnAssign | ast.Return) -> ast.AST:
        if node.value is not None:
            is_literal = isinstance(node.value, ast.Tuple)
            node.value = self._bound(node.value)
            if any(isinstance(target, (ast.Tuple, ast.List)) for target in getattr(node, "targets", ())) and not is_literal:
                node.value = call("sequence", [self._place, node.value], node)
        return node

    visit_AnnAssign = visit_Return = visit_Assign

    def visit_For(self, node: ast.For | ast.comprehension) -> ast.AST:
        # Iterators that a call makes anew are those of its arguments, which are checked.
        is_new = isinstance(node.iter, ast.Call)
        source = self._bound(node.iter)
        node.iter = source if is_new else call("sequence", [self._place, source], node.iter)
        for part in ("body", "ifs"):
            if hasattr(node, part):
                setattr(node, part, self.statements(getattr(node, part)))
        return node

    visit_comprehension = visit_For

    def _bound(self, node: ast.expr) -> ast.expr:
        """What is given a name and no more, which may be any object."""
        return node if isinstance(node, ast.Name) else self._owner(node)

    def _owner(self, node: ast.expr) -> ast.expr:
        """What is only asked for an attribute or entry, or called, or bound to a name."""
        if isinstance(node, ast.Name):
            return node
        if isinstance(node, ast.Attribute):
            return call("attribute", [self._place, self._owner(node.value), ast.Constant(node.attr)], node)
        if isinstance(node, ast.Subscript):
            return call("entry", [self._place, self._owner(node.value), _index(self.visit(node.slice))], node)
        return self.visit(node)


def _index(node: ast.expr) -> ast.expr:
    """An index as an expression of its own: slices have no other form."""
    if isinstance(node, ast.Tuple):
        return ast.Tuple([_index(e) for e in node.elts], ast.Load())
    if not isinstance(node, ast.Slice):
        return node
    parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
    return call("section", parts, parts[0] if hasattr(parts[0], "lineno") else node)


# Functions that compute values and nothing else

_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in (
        "abs max min sum len range enumerate zip round float int bool isinstance tuple list reversed any all divmod pow slice"
    ).split()
)

# Methods of arrays that neither write nor leave.
_METHODS = frozenset(
    "sum prod mean std var min max argmin argmax any all cumsum cumprod dot reshape ravel flatten transpose swapaxes squeeze copy astype "
    "clip round conj take repeat trace diagonal".split()
)


def is_pure(function: Tree, count: int = 0) -> bool:
    """Whether a function of a library computes values and nothing else, called with so many positional arguments."""
    if any(function is each for each in _BUILTINS):
        return True
    if isinstance(function, type):
        return issubclass(function, np.generic) or is_record(function)
    name, module = getattr(function, "__name__", ""), getattr(function, "__module__", None) or ""
    if isinstance(function, np.ufunc):
        # np.frompyfunc makes ufuncs of Python's functions. After the operands come arrays to write to.
        return any(is_of_library(function, library) for library in ("numpy", "scipy.special")) and count <= function.nin
    if type(function) in (BuiltinFunctionType, BuiltinMethodType) and getattr(function, "__self__", None).__class__ is type(builtins):
        return module == "math" or (name in _MAKERS and is_of_library(function, "numpy"))
    if type(function).__module__.startswith("tapediff.functions"):
        return True
    # While something is recorded, functions of math and some of NumPy's are replaced.
    if isinstance(function, Replacement) and module == "math":
        return True
    if not (isinstance(function, Replacement) or type(function) in _FUNCTIONS) or count > _OPERANDS_OF.get(name, 3):
        return False
    is_numpy = module.partition(".")[0] == "numpy" and not module.startswith(("numpy.random", "numpy.lib._npyio", "numpy.testing"))
    is_special = module.startswith("scipy.special") or module.startswith("tapediff.functions")
    return (is_numpy or is_special) and name not in _CHANGES


def is_of_library(function: object, library: str) -> bool:
    """Whether a library has a function by its name, maybe as `from numpy import exp` had it before something was recorded."""
    found: object = getattr(sys.modules.get(library), getattr(function, "__name__", ""), None)
    return found is not None and (function is found or function is getattr(found, "original", None))


def is_record(kind: type) -> bool:
    """Whether a class is a named tuple without code of its own."""
    new: object = kind.__new__
    is_generated = type(new) is FunctionType and new.__code__.co_filename.startswith("<")
    return kind.__bases__ == (tuple,) and type(kind) is type and hasattr(kind, "_fields") and is_generated and _OF_RECORDS.issuperset(
        name for name in vars(kind) if name.startswith("__")
    )


# What Python, and dataclasses of its library, put into a class besides what it defines; those of annotations since 3.14.
OF_CLASSES = frozenset(
    f"__{name}__"
    for name in (
        "module qualname doc dict weakref slots slotnames firstlineno static_attributes annotations annotate annotate_func "
        "annotations_cache conditional_annotations classdictcell type_params parameters orig_bases match_args dataclass_fields "
        "dataclass_params"
    ).split()
)
_OF_RECORDS = OF_CLASSES | {"__new__", "__repr__", "__getnewargs__", "__replace__"}

# A function's type says whether it is one: instances of classes such as np.vectorize call others.
_FUNCTIONS = (FunctionType, BuiltinFunctionType, BuiltinMethodType, DISPATCHED)

# Of functions and methods, how many arguments come before `out`, where these are fewer than 3.
_OPERANDS_OF = dict.fromkeys(
    "dot outer concatenate stack round around argmax argmin any all max min amax amin nanmax nanmin median ptp choose".split(), 2
) | {"isneginf": 1, "isposinf": 1, "fix": 1}


# NumPy's functions that make arrays, and are written in C.
_MAKERS = frozenset("zeros empty arange array asarray".split())

# NumPy's functions that write into their arguments, look at more than them, or call back.
_CHANGES = frozenset(
    "copyto put place putmask put_along_axis fill_diagonal save savez savetxt load loadtxt seterr seterrcall setbufsize printoptions "
    "set_printoptions apply_along_axis apply_over_axes vectorize frompyfunc piecewise fromfunction nditer errstate".split()
)


def is_pure_method(owner: Tree, name: str, count: int = 0) -> bool:
    """Whether a method of an array or number computes a value and nothing else, called with so many positional arguments."""
    if is_distribution(type(owner)):
        return name in _DENSITIES
    return name in _METHODS and count < _OPERANDS_OF.get(name, 3) and type(owner) in _ARRAYS


def is_distribution(kind: type) -> bool:
    """Whether it is a class of the distributions of td.stats or scipy.stats: none of the user's, and no frozen one, which may hold data."""
    module = kind.__module__
    return module.startswith("tapediff.stats.") or (module.startswith("scipy.stats.") and kind.__name__.endswith("_gen"))


# Methods of distributions that draw nothing at random.
_DENSITIES = frozenset("logpdf pdf logpmf pmf cdf logcdf sf logsf ppf isf logpdf_cholesky".split())


def is_pure_attribute(owner: Tree, name: str) -> bool:
    """Whether an attribute of an array or number is computed from it and nothing else."""
    return name in _ATTRIBUTES and type(owner) in _ARRAYS


_ATTRIBUTES = frozenset("T real imag shape size ndim dtype".split())

_ARRAYS = (TrackedArray, np.ndarray, np.float64, np.int64, np.bool_)


def is_operand(value: Tree) -> bool:
    """Whether operators, NumPy's functions and built-in ones do nothing but compute with a value: none of them is the user's code."""
    pending = [value]
    while pending:
        part = pending.pop()
        kind = type(part)
        if kind in (list, tuple, set, frozenset):
            pending += part
        elif kind is dict:
            pending += [*part, *part.values()]
        elif kind is np.ndarray:
            if part.dtype == object:
                return False
        elif kind is not TrackedArray and not _is_plain_kind(kind) and not (isinstance(part, type) and kind in (type, ABCMeta)):
            return False
    return True


@functools.cache
def _is_plain_kind(kind: type) -> bool:
    """Whether the instances of a class have no operators, and no other special methods, of the user's."""
    if kind in _FIXED or kind.__module__ == "tapediff.numpy_api.whole_numbers" or is_distribution(kind):
        return True
    if kind.__module__ in ("numpy", "builtins"):
        # Views of containers, and bytearrays, change without being seen to; iterators are used up.
        return issubclass(kind, (np.generic, np.ufunc, np.dtype))
    if type(kind) is not type:
        return False
    if kind.__bases__ == (tuple,):
        return is_record(kind)
    members = [member for base in kind.__mro__[:-1] for member in vars(base).items()]
    return all(not name.startswith("__") or name in _HARMLESS or _is_generated(member) for name, member in members)


# Types of Python's own that do not change; what functions and methods read is watched.
_FIXED = frozenset((
    *(bool, int, float, complex, str, bytes, range, slice, type(None), type(...), type(NotImplemented)),
    *(FunctionType, BuiltinFunctionType, MethodType, ModuleType),
))  # fmt: skip


def _is_generated(member: Tree) -> bool:
    """Whether a method is one that dataclasses write, or have."""
    return type(member) is FunctionType and member.__code__.co_filename in ("<string>", dataclasses.__file__)


# What classes without operators may define; dataclasses also have generated methods.
_HARMLESS = OF_CLASSES | frozenset(f"__{name}__" for name in "init post_init repr str init_subclass class_getitem hash".split())


@functools.lru_cache(maxsize=1024)
def asks_types(code: CodeType) -> bool:
    """Whether a code, or one within it, may ask for the type of a value."""
    inner = any(asks_types(part) for part in code.co_consts if isinstance(part, CodeType))
    return inner or not _TYPES.isdisjoint(code.co_names) or has(code, "match class")


@functools.lru_cache(maxsize=1024)
def asks_types_later(kind: type) -> bool:
    """Whether a class of the user's has code which is called without being written as a call, and may ask for types."""
    members = [member for base in kind.__mro__ for name, member in vars(base).items() if name not in ("__init__", "__new__")]
    found = [getattr(member, "fget", None) or getattr(member, "func", None) or member for member in members]
    return any(is_users(f) and asks_types(f.__code__) for f in found)


_TYPES = frozenset("type isinstance issubclass isscalar __class__".split())


def is_users(function: Tree) -> bool:
    return type(function) is FunctionType and not is_library_file(function.__code__.co_filename)


def is_named_tuple(kind: type) -> bool:
    """Whether tuples of this kind are made of their entries, and nothing else happens then, or where an entry is asked for."""
    is_one = kind.__bases__ == (tuple,) and type(getattr(kind, "_fields", None)) is tuple and type(vars(kind).get("_make")) is classmethod
    return is_one and all(not is_users(vars(kind).get(name)) for name in ("__new__", "__init__", "__getitem__", "__iter__"))
