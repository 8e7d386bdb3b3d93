"""Statements with the entries and attributes of containers as variables."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ...nodes import BEYOND_LINES, Transformer, call, copied, load, names_tuple, near, walk
from ...rules import Place
from ...variables import blocks_of
from ..states.static_values import pairs
from .found import Key, Made, Makers, Shape, variable
from .uses import Index, Uses


class Rewritten:
    """Statements with containers as variables.

    Args:
        shapes: of the containers, by variable.
        places: where they are made.
    """

    def __init__(self, shapes: dict[str, Shape], makers: Makers, uses: Uses, places: dict[str, Place]) -> None:
        self._shapes, self._makers, self._uses, self._places = shapes, makers, uses, places
        self._count = 0
        self._before: list[ast.stmt] = []
        self.lines: set[int] = set()
        names = {variable(name, key, shape, part) for name, shape in shapes.items() for key in shape.keys
                 for part in (range(shape.inner) if shape.inner else [None])}  # fmt: skip
        self.made: frozenset[str] = frozenset(names)

    def new(self, name: str) -> str:
        """A new variable."""
        self._count += 1
        made = f".{name}.of{self._count}"
        self.made |= {made}
        return made

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in body:
            outer, self._before = self._before, []
            new = self._statement(statement)
            made += [*self._before, *new]
            self._before = outer
        return made or [ast.Pass()]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            return [node]
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return self._assign(node)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript) and self._index(node.target) is not None:
            return self._augmented(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, name, self.expression(value))
            elif isinstance(value, list) and value and not isinstance(value[0], ast.stmt):
                setattr(node, name, [self.expression(v) if isinstance(v, ast.AST) and not isinstance(v, _PARTS) else v for v in value])
        for case in getattr(node, "cases", ()):
            case.guard = case.guard and self.expression(case.guard)
        for part in blocks_of(node):
            part[:] = self.block(part)
        return [node]

    def expression(self, node: ast.AST) -> ast.expr:
        return _Loads(self).visit(node)

    def _assign(self, node: ast.Assign) -> list[ast.stmt]:
        """An assignment, of which each container is one to its entries or attributes."""
        (target,) = node.targets
        if isinstance(target, ast.Name) and target.id in self._shapes:
            return self._made(target.id, node.value, node)
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        has_choice = any(isinstance(t, ast.Subscript) and (index := self._index(t)) is not None and not index.is_static for t in targets)
        both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
        if both and any(name.id in self._shapes for name, _ in pairs(target, node.value)):
            node.targets[0], node.value = self._flat(target, node.value)
            (target,) = node.targets
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
        if not has_choice:
            node.targets, node.value = [self.expression(target)], self.expression(node.value)
            return [node]
        if isinstance(target, ast.Tuple):
            new = [self.new("value") for _ in targets]
            first = near(ast.copy_location(ast.Assign([names_tuple(new, ast.Store())], self.expression(node.value)), node), node)
            return [first, *(s for t, name in zip(targets, new) for s in self._stored(t, name, node))]
        name = self.new("value")
        return [*self._plain({name: self.expression(node.value)}, node), *self._stored(target, name, node)]

    def _plain(self, values: dict[str, ast.expr], node: ast.stmt) -> list[ast.stmt]:
        return [near(ast.copy_location(ast.Assign([ast.Name(n, ast.Store())], v), node), node) for n, v in values.items()]

    def _made(self, name: str, value: ast.expr, node: ast.stmt) -> list[ast.stmt]:
        """A container that is made, in one assignment to all that is new of it."""
        made = self._makers.made(value)
        assert made is not None
        found = [(t, v) for t, v in self._parts(name, made, value) if not (isinstance(v, ast.Name) and v.id == t)]
        if not found:
            return [near(ast.copy_location(ast.Pass(), node), node)]
        if len(found) == 1:
            return self._plain({found[0][0]: self.expression(found[0][1])}, node)
        values: ast.expr = ast.Tuple([self.expression(v) for _, v in found], ast.Load())
        target = names_tuple([t for t, _ in found], ast.Store())
        return [near(ast.copy_location(ast.Assign([target], values), node), node)]

    def _parts(self, name: str, made: Made, of: ast.expr) -> list[tuple[str, ast.expr]]:
        """The variables of a container with their values."""
        found: list[tuple[str, ast.expr]] = []
        for key, value in made.values:
            if made.shape.inner:
                assert isinstance(value, ast.Tuple)
                found += [(variable(name, key, made.shape, k), e) for k, e in enumerate(value.elts)]
            else:
                found.append((variable(name, key, made.shape), value))
        for _, each in found:
            near(each, of)
        return [(t, self.unique(v)) for t, v in found] if isinstance(of, ast.ListComp) else found

    def _flat(self, target: ast.expr, value: ast.expr) -> tuple[ast.Tuple, ast.Tuple]:
        """Several targets and values with the entries of containers in their places."""
        assert isinstance(target, ast.Tuple)
        assert isinstance(value, ast.Tuple)
        targets: list[ast.expr] = []
        values: list[ast.expr] = []
        for to, part in zip(target.elts, value.elts):
            if isinstance(to, ast.Name) and to.id in self._shapes:
                made = self._makers.made(part)
                assert made is not None
                found = self._parts(to.id, made, part)
                targets += [near(ast.copy_location(ast.Name(name, ast.Store()), to), to) for name, _ in found]
                values += [v for _, v in found]
            else:
                targets.append(to)
                values.append(part)
        return ast.copy_location(ast.Tuple(targets, ast.Store()), target), ast.copy_location(ast.Tuple(values, ast.Load()), value)

    # Entries that are assigned to

    def _index(self, node: ast.expr) -> Index | None:
        """The entries that an expression may stand for; None if it is no entry of a container."""
        if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in self._shapes):
            return None
        return self._uses.index(node, self._shapes[node.value.id])

    def _stored(self, target: ast.expr, value: str, node: ast.stmt) -> list[ast.stmt]:
        """The assignment of a variable to a target."""
        index = self._index(target)
        if index is None:
            made = ast.Assign([self.expression(target)], load(value))
            return [near(ast.copy_location(made, node), node)]
        assert isinstance(target, ast.Subscript)
        # The targets before it may have changed the index.
        outer, self._before = self._before, []
        made = self._to_entries(target, index, self._tested(target, index), value, node)
        made, self._before = [*self._before, *made], outer
        return made

    def _to_entries(self, target: ast.Subscript, index: Index, at: ast.expr | None, value: str, node: ast.stmt) -> list[ast.stmt]:
        assert isinstance(target.value, ast.Name)
        name, made = target.value.id, list[ast.stmt]()
        shape = self._shapes[name]
        for key in index.keys:
            to = variable(name, key, shape)
            new: ast.expr = load(value)
            if at is not None and len(index.keys) > 1:
                new = self.chosen(target, at, key, new, load(to))
            made.append(near(ast.copy_location(ast.Assign([ast.Name(to, ast.Store())], new), node), node))
        return made

    def _augmented(self, node: ast.AugAssign) -> list[ast.stmt]:
        """entries[index] += value"""
        target = node.target
        assert isinstance(target, ast.Subscript)
        assert isinstance(target.value, ast.Name)
        index = self._index(target)
        assert index is not None
        at, shape = self._tested(target, index), self._shapes[target.value.id]
        if len(index.keys) == 1:
            node.target = near(ast.Name(variable(target.value.id, index.keys[0], shape), ast.Store()), target)
            node.value = self.expression(node.value)
            return [node]
        new = self.new("value")
        first = near(ast.copy_location(ast.Assign([ast.Name(new, ast.Store())], self.read(target, index, at)), node), node)
        node.target, node.value = near(ast.Name(new, ast.Store()), target), self.expression(node.value)
        return [first, node, *self._to_entries(target, index, at, new, node)]

    # Entries that are read

    def _tested(self, node: ast.Subscript, index: Index) -> ast.expr | None:
        """The index of an entry as a variable, or number; None where it is known."""
        if index.is_static:
            return None
        assert isinstance(node.value, ast.Name)
        at: ast.expr = node.slice
        shape = self._shapes[node.value.id]
        if index.is_checked:
            is_list = shape.kind != "dict"
            place = ast.Tuple([ast.Constant(k) for k in self._places[node.value.id]], ast.Load())
            keys = ast.Tuple([ast.Constant(k) for k in shape.keys], ast.Load())
            flags = is_list, self._uses.is_whole(at), self._uses.least(at) >= 0
            at = call("index", [place, copied(at), keys, *map(ast.Constant, flags)], node)
        elif isinstance(at, ast.Name) or self._uses.may_not_run(node):
            return at
        name = self.new("index")
        self._before += self._plain({name: at}, self._uses.statement(node))
        return load(name)

    def read(self, node: ast.Subscript, index: Index, at: ast.expr | None) -> ast.expr:
        """The value of an entry."""
        assert isinstance(node.value, ast.Name)
        name, keys = node.value.id, index.keys
        values = [self._makers.value(name, key) for key in keys]
        inner = self._shapes[name].inner
        if not inner:
            return self._one_of(node, at, keys, values)
        columns = [[value.elts[k] for value in values if isinstance(value, ast.Tuple)] for k in range(inner)]
        parts: list[ast.expr] = [self._one_of(node, at, keys, column) for column in columns]
        return near(ast.copy_location(ast.Tuple(parts, ast.Load()), node), node)

    def _one_of(self, node: ast.Subscript, at: ast.expr | None, keys: Sequence[Key], values: Sequence[ast.expr]) -> ast.expr:
        found = near(ast.copy_location(copied(values[-1]), node), node)
        if at is None:
            return found
        for key, value in reversed(list(zip(keys[:-1], values[:-1]))):
            found = self.chosen(node, at, key, copied(value), found)
        return found

    def chosen(self, node: ast.Subscript, at: ast.expr, key: Key, yes: ast.expr, no: ast.expr) -> ast.expr:
        """One of two values, as an index is equal to a key or not."""
        if self._uses.is_decided(node.slice):
            self.lines.add(node.lineno)
        test = near(ast.copy_location(ast.Compare(copied(at), [ast.Eq()], [ast.Constant(key)]), node), node)
        for part in (yes, no):
            near(ast.copy_location(part, node), node)
        return self.unique(near(ast.copy_location(ast.IfExp(test, yes, no), node), node))

    def unique(self, node: ast.expr) -> ast.expr:
        """An expression whose parts have ends of their own, by which expressions are told apart later."""
        for part in walk(node):
            if isinstance(part, (ast.Call, ast.IfExp, ast.BinOp, ast.Subscript, ast.Compare)) and hasattr(part, "lineno"):
                self._count += 1
                part.end_col_offset = BEYOND_LINES + self._count
        return node

# Handled elsewhere, or without expressions.
_PARTS = (ast.match_case, ast.ExceptHandler, ast.alias)


class _Loads(Transformer):
    """Entries and attributes of containers in an expression as variables."""

    def __init__(self, rewritten: Rewritten) -> None:
        self._rewritten = rewritten
        self._shapes = rewritten._shapes

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self._shapes:
            name = variable(node.value.id, node.attr, self._shapes[node.value.id])
            return ast.copy_location(ast.Name(name, node.ctx), node)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self._shapes and isinstance(node.slice, ast.Slice):
            return self.visit_Name(node.value)
        index = self._rewritten._index(node)
        if index is None:
            self.generic_visit(node)
            part = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(node.value, ast.Tuple) and type(part) is int and -len(node.value.elts) <= part < len(node.value.elts):
                return node.value.elts[part]
            return node
        if isinstance(node.ctx, ast.Store):
            assert index.is_static
            return ast.copy_location(ast.Name(variable(node.value.id, index.keys[0], self._shapes[node.value.id]), node.ctx), node)  # type: ignore[attr-defined]
        return self._rewritten.read(node, index, self._rewritten._tested(node, index))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id in self._shapes:
            return self.visit_Name(node.func.value)  # entries.copy()
        (argument,) = node.args if len(node.args) == 1 else [None]
        if isinstance(argument, ast.Name) and argument.id in self._shapes and isinstance(node.func, ast.Name):
            count = len(self._shapes[argument.id].keys)
            if node.func.id == "len":
                return ast.copy_location(ast.Constant(count), node)
            if node.func.id in ("max", "min") and not node.keywords and count > 1:
                node.args = self._all(argument)
                return node
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self._shapes:
            return node
        kind = ast.List if self._shapes[node.id].kind == "list" else ast.Tuple
        return near(ast.copy_location(kind(self._all(node), ast.Load()), node), node)

    def _all(self, node: ast.Name) -> list[ast.expr]:
        makers = self._rewritten._makers
        return [near(ast.copy_location(makers.value(node.id, key), node), node) for key in self._shapes[node.id].keys]
