"""Entries of plain arrays at positions that are data are gathered: Python would ask for the position, and each one would be a path.

`td.fori_loop(0, 100, lambda k, s: s + prices[k] * x[0], 0.0)` reads an array of NumPy's at a tracked k, where a recording has a guard on k.
In a function with such a guard, reads of entries become calls of the run time, which gathers where the array is plain and the position
is data.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import CodeType

from ...nodes import Transformer, call, load, near, place, walk
from ...rules import Place
from ...uses.kinds import is_read
from ..source import Definition, NoSource, definition_of, definitions_at

# The last part of the place of a read that is gathered.
GATHERED = 10

# In reports.
LOOK_UP = "a look-up"


def reads_entries(code: CodeType, line: int, by_mask: bool = False) -> bool:
    """Whether a line of a function reads an entry at a position that is no constant; or may read by a mask."""
    try:
        is_own = not code.co_name.startswith("<") or code.co_name == "<lambda>"
        nodes = [node for each in ([definition_of(code)] if is_own else definitions_at(code, line)) for node in walk(each)]
    except NoSource:
        return False
    reads: list[ast.expr] = [node for node in nodes if isinstance(node, ast.Subscript) and is_read(node) and not _converts(node.slice)]
    if by_mask:
        reads += [node.target for node in nodes if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript)]
        reads += [node for node in nodes if isinstance(node, ast.Call) and _name_of(node) in _PLACES]
    return any(node.lineno <= line <= (node.end_lineno or node.lineno) for node in reads)


def _name_of(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


# NumPy's functions that give the places at which a mask is true.
_PLACES = frozenset(("nonzero", "flatnonzero", "where"))


class Gathers(Transformer):
    """The reads of entries in a function that had guards on whole numbers where it reads them.

    Args:
        looks_up: whether an expression is such a read.
        had_look_up: whether there was such a guard in its lines.
        may_merge: whether it was not refused.
        is_builtin: whether an expression is a call of a built-in function.
        is_numpy: whether an expression is the module.

    Attributes:
        sites: the places of these guards, with the form that they have taken.
    """

    def __init__(
        self, looks_up: Callable[[ast.expr], bool], had_look_up: Callable[[ast.expr], bool], may_merge: Callable[[Place], bool],
        is_builtin: Callable[..., bool], is_numpy: Callable[[ast.expr], bool],
    ) -> None:  # fmt: skip
        self._looks_up, self._had_look_up, self._may_merge = looks_up, had_look_up, may_merge
        self._is_builtin, self._is_numpy, self._count = is_builtin, is_numpy, 0
        self._keeps_views = False
        # The variables that entries are bound to.
        self._selected = set[str]()
        self.sites: dict[Place, str] = {}

    def of_function(self, definition: Definition) -> Definition:
        """The function, in place."""
        nodes = walk(definition)
        if any(isinstance(node, (ast.Subscript, ast.Call)) and (self._looks_up(node) or self._had_look_up(node)) for node in nodes):
            # A row of a plain array is a view, and what is written to it later is in the array then.
            self._keeps_views = _may_write_to_views(nodes)
            bound = [(node.targets[0], node.value) for node in nodes if isinstance(node, ast.Assign)]
            self._selected = {a.id for a, value in bound if isinstance(a, ast.Name) and isinstance(value, (ast.Subscript, ast.Call))}
            self.generic_visit(definition)
        return definition

    def _inner(self, node: ast.AST) -> ast.AST:
        """Functions within the function are not its own lines; those that merging has made are."""
        return self.generic_visit(node) if isinstance(node, ast.FunctionDef) and node.name.startswith(".") else node

    visit_Lambda = visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _inner

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """The length and sum of what an index has selected may be data, where that is a mask."""
        asked = node.args[0] if self._is_builtin(node, len, sum) and len(node.args) == 1 and not node.keywords else None
        is_selected = isinstance(asked, ast.Subscript) if not isinstance(asked, ast.Name) else asked.id in self._selected
        asks_places = self._had_look_up(node) and self._is_of_numpy(node) and len(node.args) == 1 and not node.keywords
        self.generic_visit(node)
        if asks_places and self._may_gather(node):
            return call("places", [place(node, GATHERED), node.func, *node.args], node)
        return call("of_entries", [node.func, *node.args], node) if is_selected else node

    def _may_gather(self, node: ast.expr | ast.AugAssign) -> bool:
        """Whether what stands there was not refused; notes the form that it takes, if there was a guard."""
        at = node.lineno, node.col_offset
        if not self._may_merge((*at, GATHERED)):
            return False
        if self._had_look_up(node.target if isinstance(node, ast.AugAssign) else node):
            self.sites[at] = LOOK_UP
        return True

    def _is_of_numpy(self, node: ast.Call) -> bool:
        """Whether a call is one of np.nonzero, or of a relative."""
        return _name_of(node) in _PLACES and isinstance(node.func, ast.Attribute) and self._is_numpy(node.func.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        """z[mask] *= x reads, multiplies, and writes."""
        target = node.target
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name) or not isinstance(target.slice, _ONE_INDEX):
            return self.generic_visit(node)
        self.generic_visit(node)
        if not self._had_look_up(target) or not self._may_gather(node):
            return node
        self._count += 1
        array, index, entries = (f".{name}.of{self._count}" for name in ("array", "index", "entries"))
        read = call("gathered", [place(node, GATHERED), load(array), load(index), ast.Constant(True)], node)
        made: list[ast.stmt] = [
            ast.Assign([ast.Name(array, ast.Store())], load(target.value.id)),
            ast.Assign([ast.Name(index, ast.Store())], target.slice),
            ast.Assign([ast.Name(entries, ast.Store())], read),
            ast.AugAssign(ast.Name(entries, ast.Store()), node.op, node.value),
            ast.Assign([ast.Subscript(load(array), load(index), ast.Store())], load(entries)),
        ]
        return [near(ast.copy_location(statement, node), node) for statement in made]

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not self._looks_up(node) or not self._may_gather(node):
            return node
        return call("gathered", [place(node, GATHERED), node.value, _index(node.slice), ast.Constant(not self._keeps_views)], node)


_ONE_INDEX = (ast.Name, ast.Compare, ast.UnaryOp, ast.BinOp, ast.Call)


def _converts(node: ast.expr) -> bool:
    """Whether an index is made a plain int, which is a guard of its own."""
    calls = [part for part in walk(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)]
    return any(part.func.id in ("int", "round") for part in calls if isinstance(part.func, ast.Name))


def _index(node: ast.expr) -> ast.expr:
    """An index as an expression."""
    if isinstance(node, ast.Tuple):
        return ast.copy_location(ast.Tuple([_index(part) for part in node.elts], ast.Load()), node)
    if isinstance(node, ast.Slice):
        return call("section", [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)], node)
    return node


def _may_write_to_views(nodes: Sequence[ast.AST]) -> bool:
    """Whether statements may write to what an entry, or a variable that may be a row of an array, holds."""
    if any(isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) for node in nodes):
        return True
    changed = {node.target.id for node in nodes if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)}
    bound = [(target, node.value) for node in nodes if isinstance(node, ast.Assign) for target in node.targets]
    bound += [(node.target, node.value) for node in nodes if isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None]
    return any(
        isinstance(part, ast.Name) and part.id in changed and not isinstance(value, (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Call))
        for target, value in bound for part in walk(target)
    )  # fmt: skip
