"""Lists that data makes longer and of which only sum, length, largest, smallest and last entry are asked: these become variables.

```
kept = []                                  kept:sum, kept:count = 0, 0
for v in x:                                for v in x:
    if v > 0:                                  if v > 0:
        kept.append(v)                             kept:sum += v; kept:count += 1
return sum(kept) / len(kept)               return kept:sum / kept:count
```
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ....nodes import Transformer, assign, call, children, load, near, placeholder, walk
from ....rules import Breach, Place
from ....uses.kinds import ASK_SIGN, is_one
from ....variables import blocks_of, reads
from ...states.static_values import stored
from ..decided import Decided
from ..scope import Scope

# In places, of lists.
GROWING = 8


class GrowingLists:
    """The lists of one function that are appended to.

    Args:
        scope: its names and places.

    Attributes:
        made: the variables that were made.
        breaches: why lists that data makes longer stay what they are.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.made: frozenset[str] = frozenset()
        self.breaches: list[Breach] = []

    def of_function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        nodes = [n for statement in body for n in walk(statement)]
        appends = [n for n in nodes if isinstance(n, ast.Expr) and appended_to(n) in self._scope.names]
        if not appends:
            return body
        decided = Decided(body, self._scope.looks_at_data).statements
        found = {name for n in appends if n in decided and (name := appended_to(n)) is not None}
        if not found:
            return body
        made = stored(body, frozenset(found))
        empty = {
            name: (values[0].lineno, values[0].col_offset, GROWING) for name, values in made.items()
            if all(isinstance(v, ast.List) and not any(isinstance(e, ast.Starred) for e in v.elts) for v in values)
        }  # fmt: skip
        empty = {name: place for name, place in empty.items() if self._scope.may_merge(place)}
        # Where one of several targets is a list, it is an empty one.
        empty = {name: place for name, place in empty.items() if not any(v.elts for v in made[name]) or _are_alone(nodes, name)}  # type: ignore[attr-defined]
        parts = Asked(dict.fromkeys(found & empty.keys(), ()), self._scope.resolve)
        allowed = {n for node in nodes for n in parts.read_by(node)}
        others = {n.id: n for n in reversed(nodes) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n not in allowed}
        for name in sorted(found & others.keys()):
            node = others[name]
            got = f"{name} grows where data decides, and more of it is used than sum, length, max, min and [-1]"
            self.breaches.append(Breach("containers", node.lineno, got))
        kept = {name: place for name, place in empty.items() if name not in others}
        if not kept:
            return body
        asked = Asked(kept, self._scope.resolve, _first_sum(nodes, frozenset(kept)))
        asked.parts = {name: [p for p in ("last", "max", "min") if p in parts.found.get(name, ())] for name in kept}
        asked.never_empty = frozenset(name for name in kept if all(v.elts for v in made[name]))  # type: ignore[attr-defined]
        self.made = frozenset(f".{name}:{part}" for name in kept for part in ("sum", "count", "new", *asked.parts[name]))
        return _block(body, asked)


def appended_to(node: ast.AST) -> str | None:
    """The variable that a statement appends one value to."""
    of = node.value if isinstance(node, ast.Expr) else None
    if not (isinstance(of, ast.Call) and isinstance(of.func, ast.Attribute) and of.func.attr == "append" and len(of.args) == 1):
        return None
    is_plain = not of.keywords and isinstance(of.func.value, ast.Name) and not isinstance(of.args[0], ast.Starred)
    return of.func.value.id if is_plain and isinstance(of.func.value, ast.Name) else None


class Asked(Transformer):
    """Sums and lengths of lists as variables.

    Args:
        names: of the lists, with the places where they are made.
        resolve: the object that a name stands for; None for variables.
        first_sum: the sum of an empty one.
    """

    def __init__(self, names: Mapping[str, Place], resolve: Callable[[str], object], first_sum: float = 0) -> None:
        self.names, self._resolve, self.first_sum = names, resolve, first_sum
        # By list, what is asked of its entries; and those that have one from the beginning.
        self.found: dict[str, set[str]] = {}
        self.parts: dict[str, list[str]] = {}
        self.never_empty: frozenset[str] = frozenset()

    def read_by(self, node: ast.AST) -> list[ast.Name]:
        """The variables of lists that a node appends to, or asks for sum or length."""
        if isinstance(node, ast.Expr) and appended_to(node) in self.names:
            return [node.value.func.value]  # type: ignore[attr-defined]  # by `appended_to`
        if isinstance(node, (ast.Call, ast.Subscript)):
            found = self._asked(node) if isinstance(node, ast.Call) else self._last(node)
            if found is not None:
                self.found.setdefault(found[1].id, set()).add(found[0])
            return [] if found is None else [found[1]]
        return [n for n in truths(node.test) if n.id in self.names] if isinstance(node, (ast.If, ast.While, ast.IfExp)) else []

    def _last(self, node: ast.Subscript) -> tuple[str, ast.Name] | None:
        """list[-1]"""
        index = node.slice.operand if isinstance(node.slice, ast.UnaryOp) and isinstance(node.slice.op, ast.USub) else None
        is_last = isinstance(index, ast.Constant) and type(index.value) is int and index.value == 1 and isinstance(node.ctx, ast.Load)
        return ("last", node.value) if is_last and isinstance(node.value, ast.Name) and node.value.id in self.names else None

    def _asked(self, node: ast.Call) -> tuple[str, ast.Name] | None:
        """What a call asks of a list."""
        if node.keywords or len(node.args) > 1:
            return None
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call) and not node.args:
            of = self._array_of(function.value)
            return (f"np.{function.attr}", of) if of is not None and function.attr in ("sum", "mean") else None
        if len(node.args) != 1:
            return None
        (argument,) = node.args
        if isinstance(function, ast.Name) and isinstance(argument, ast.Name) and argument.id in self.names:
            found = self._resolve(function.id)
            name = next((f.__name__ for f in (sum, len, max, min) if found is f), "")
            return (name, argument) if name else None
        is_list = isinstance(argument, ast.Name) and argument.id in self.names
        of = argument if is_list else self._array_of(argument)
        name = next((name for name in ("sum", "mean") if self._is_numpy(function, name)), None)
        return None if not isinstance(of, ast.Name) or name is None else (f"np.{name}", of)

    def _is_list(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.names

    def _array_of(self, node: ast.expr) -> ast.Name | None:
        """The list that np.array(list) is made of."""
        is_array = isinstance(node, ast.Call) and any(self._is_numpy(node.func, name) for name in ("array", "asarray"))
        if not is_array or len(node.args) != 1 or node.keywords or not self._is_list(node.args[0]):  # type: ignore[union-attr]
            return None
        return node.args[0]  # type: ignore[union-attr]

    def _is_numpy(self, function: ast.expr, name: str) -> bool:
        is_attribute = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.attr == name
        return is_attribute and is_one(self._resolve(function.value.id), [np])  # type: ignore[union-attr]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        found = self._asked(node)
        if found is None:
            return self.generic_visit(node)
        asked, of = found
        total, count = load(f".{of.id}:sum"), load(f".{of.id}:count")
        if asked in ("max", "min"):
            return self._entry(asked, of, node)
        if asked in ("sum", "len"):
            made: ast.expr = total if asked == "sum" else count
        else:
            # As NumPy's functions give them: for the mean of none that is NaN, and no error.
            made = call("sum_of", [total], node)
            made = made if asked == "np.sum" else call("mean_of", [total, count], node)
        return near(ast.copy_location(made, node), node)


    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        found = self._last(node)
        return self.generic_visit(node) if found is None else self._entry(*found, node)

    def _entry(self, part: str, of: ast.Name, node: ast.expr) -> ast.expr:
        """One of the entries, of which there must be some."""
        made: ast.expr = load(f".{of.id}:{part}")
        if of.id not in self.never_empty:
            made = call("entry_of_some", [ast.Constant(part), self._is_one(of), made], node)
        return near(ast.copy_location(made, node), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self.truth(node.test)
        return self.generic_visit(node)

    def truth(self, test: ast.expr) -> ast.expr:
        """A condition in which a list stands for whether it has entries."""
        if isinstance(test, ast.Name) and test.id in self.names:
            return self._is_one(test)
        if isinstance(test, ast.BoolOp):
            test.values = [self.truth(v) for v in test.values]
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test.operand = self.truth(test.operand)
        return test

    @staticmethod
    def _is_one(of: ast.Name) -> ast.expr:
        """Whether a list has an entry."""
        return near(ast.copy_location(ast.Compare(load(f".{of.id}:count"), [ast.Gt()], [ast.Constant(0)]), of), of)


def truths(test: ast.expr) -> list[ast.Name]:
    """The variables in a condition of which only the truth is asked."""
    if isinstance(test, ast.Name):
        return [test]
    if isinstance(test, ast.BoolOp):
        return [name for value in test.values for name in truths(value)]
    return truths(test.operand) if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else []


def _are_alone(nodes: Sequence[ast.AST], name: str) -> bool:
    """Whether a variable is only assigned to by itself, and not what is made of it."""
    stores = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
    alone = {n.targets[0]: n.value for n in nodes if isinstance(n, ast.Assign) and len(n.targets) == 1}
    return all(store in alone and name not in reads(alone[store]) for store in stores)


def _first_sum(nodes: Sequence[ast.AST], names: frozenset[str]) -> float:
    """The sum of no floats: 0, or 0.0 where arithmetic makes no difference between these."""
    if any(isinstance(n, (ast.Attribute, ast.Name)) and getattr(n, "attr", getattr(n, "id", "")) in ASK_SIGN for n in nodes):
        return 0
    asked = [n for n in nodes if isinstance(n, ast.Call) and len(n.args) == 1 and isinstance(n.args[0], ast.Name) and n.args[0].id in names]
    used = [n for node in nodes if _is_arithmetic(node) for n in children(node)]
    lengths = [n for n in asked if isinstance(n.func, ast.Name) and n.func.id == "len"]
    return 0.0 if all(n in used or n in lengths for n in asked) else 0


def _is_arithmetic(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) or (isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)))


def _block(body: Sequence[ast.stmt], asked: Asked) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for statement in body:
        if appended_to(statement) in asked.names:
            made += _appended(statement, asked)
            continue
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            new = _emptied(statement, asked)
            if new is not None:
                made += new
                continue
        for part in blocks_of(statement):
            part[:] = _block(part, asked)
        if isinstance(statement, (ast.If, ast.While)):
            statement.test = asked.truth(statement.test)
        for name, value in ast.iter_fields(statement):
            if isinstance(value, ast.expr):
                setattr(statement, name, asked.visit(value))
        made.append(statement)
    return made


def _appended(statement: ast.stmt, asked: Asked) -> list[ast.stmt]:
    """What `kept.append(value)` does."""
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    return _entered(appended_to(statement) or "", statement.value.args[0], statement, asked)


def _entered(name: str, entry: ast.expr, at: ast.stmt, asked: Asked) -> list[ast.stmt]:
    """What a further entry does to the variables of a list."""
    place = ast.Tuple([ast.Constant(k) for k in asked.names[name]], ast.Load())
    value = call("appended", [place, asked.visit(entry)], at)
    parts = asked.parts[name]
    if not parts:
        both = [(f".{name}:sum", value), (f".{name}:count", ast.Constant(1))]
        return [near(ast.copy_location(ast.AugAssign(ast.Name(n, ast.Store()), ast.Add(), v), at), at) for n, v in both]
    new, made = f".{name}:new", [assign(f".{name}:new", value, at)]
    for part in parts:
        found: ast.expr = load(new)
        if part != "last":
            is_first = ast.Compare(load(f".{name}:count"), [ast.Eq()], [ast.Constant(0)])
            # As Python has it: the first of equal ones stays.
            is_next = ast.Compare(load(new), [ast.Gt() if part == "max" else ast.Lt()], [load(f".{name}:{part}")])
            found = ast.IfExp(ast.BoolOp(ast.Or(), [is_first, is_next]), found, load(f".{name}:{part}"))
        made.append(assign(f".{name}:{part}", found, at))
    sums: list[tuple[str, ast.expr]] = [(f".{name}:sum", load(new)), (f".{name}:count", ast.Constant(1))]
    return [*made, *(near(ast.copy_location(ast.AugAssign(ast.Name(n, ast.Store()), ast.Add(), v), at), at) for n, v in sums)]


def _emptied(statement: ast.Assign | ast.AnnAssign, asked: Asked) -> list[ast.stmt] | None:
    """An assignment of empty lists, alone or among other values."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    names = asked.names
    entries: list[ast.stmt] = []

    def zeros(name: str) -> list[tuple[str, ast.expr]]:
        first = [(f".{name}:{part}", placeholder()) for part in asked.parts[name]]
        return [(f".{name}:sum", ast.Constant(asked.first_sum)), (f".{name}:count", ast.Constant(0)), *first]

    if isinstance(target, ast.Name) and target.id in names:
        made = [(ast.Name(n, ast.Store()), v) for n, v in zeros(target.id)]
        assert isinstance(statement.value, ast.List)
        entries = [s for e in statement.value.elts for s in _entered(target.id, e, statement, asked)]
    elif isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
        made = []
        for to, value in zip(target.elts, statement.value.elts):
            if isinstance(to, ast.Name) and to.id in names:
                made += [(ast.Name(n, ast.Store()), v) for n, v in zeros(to.id)]
            else:
                made.append((to, value))
        if len(made) == len(target.elts):
            return None
    else:
        return None
    both = ast.Tuple([to for to, _ in made], ast.Store()), ast.Tuple([value for _, value in made], ast.Load())
    return [near(ast.copy_location(ast.Assign([near(both[0], statement)], near(both[1], statement)), statement), statement), *entries]
