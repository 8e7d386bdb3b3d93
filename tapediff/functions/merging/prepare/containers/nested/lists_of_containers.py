"""Lists and dicts of objects, and lists of lists, as one variable for each of these; loops over them as their turns.

```
ps = [Ball(x[0]), Ball(x[1])]              ps.0 = Ball(x[0]); ps.1 = Ball(x[1])
for p in ps:                               p.0 moves:
    p.move(dt)                                 ps.0.move(dt)
    if p.y < 0: p.v = -p.v                     if ps.0.y < 0: ps.0.v = -ps.0.v
                                           and the same of ps.1
```
The result is plain Python that does the same. The variables are containers of their own then, see `../as_variables.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ....nodes import assign, copied, load, walk
from ....rules import Breach
from ....variables import Names, assigned, blocks_of, reads
from ...exits.jumps import EXITS, has_jump
from ...states.static_values import pairs, stored
from ..decided import Decided
from ..found import Makers, Put, matched
from ..records import record_class
from ..scope import Scope
from .known_entries import AsVariables, Entries, Entry, KnownEntries

# In places, of lists of containers.
NESTED = 9

# Longer functions stay what they are: their loops are written out.
MOST_STATEMENTS = 400


class _Stays(Exception):
    """A list has to stay one."""

    def __init__(self, node: ast.AST) -> None:
        super().__init__(node)
        self.node = node


class ListsOfContainers:
    """The lists of containers of one function.

    Attributes:
        made: the variables that were made.
        breaches: why lists of which data changes an entry stay what they are.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.made: frozenset[str] = frozenset()
        self.breaches: list[Breach] = []

    def of_function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a function."""
        constants = self._constants(body)
        lists = self._found(body, constants)
        while lists:
            try:
                _WrittenOut(lists, constants, self._dicts, self._scope).all([copied(statement) for statement in body])
            except _Stays as stays:
                name = next((n.id for n in walk(stays.node) if isinstance(n, ast.Name) and n.id in lists), None)
                text = ast.unparse(stays.node).split("\n")[0]
                self.breaches.append(Breach("containers", getattr(stays.node, "lineno", 0), f"{name or 'a list'} is used as such: {text}"))
                lists = {other: entries for other, entries in lists.items() if other != name} if name else {}
            else:
                self.made = frozenset(entry.variable for entries in lists.values() for entry in entries)
                return _WrittenOut(lists, constants, self._dicts, self._scope).all(body)
        return body

    def _constants(self, body: Sequence[ast.stmt]) -> dict[str, int]:
        """The variables that are one int from the beginning to the end."""
        values = stored(body, self._scope.names)
        first: dict[str, int] = {}
        for statement in body:
            target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
            if isinstance(target, ast.Name) and len(values.get(target.id, ())) == 1:
                (value,) = values[target.id]
                if isinstance(value, ast.Constant) and type(value.value) is int:
                    first[target.id] = value.value
        return first

    def _found(self, body: Sequence[ast.stmt], constants: Mapping[str, int]) -> Entries:
        """The variables that hold a list or dict of containers from the beginning to the end, which data changes."""
        self._dicts = frozenset[str]()
        nodes = [n for statement in body for n in walk(statement)]
        makes = {value: n for n in nodes if isinstance(n, ast.Assign) for _, value in _one_by_one(n) if isinstance(value, _MAY_BE_LISTS)}
        if not makes:
            return {}
        makers = Makers(self._scope.resolve, {}, lambda name, _: load(name))
        found: Entries = {}
        for name, values in stored(body, self._scope.names).items():
            first = values[0]
            statement = makes.get(first) if len(values) == 1 and isinstance(first, _MAY_BE_LISTS) else None
            if statement is None or not self._scope.may_merge((statement.lineno, statement.col_offset, NESTED)):
                continue
            value = Put({n: ast.Constant(k) for n, k in constants.items()}).visit(copied(values[0]))
            made = makers.made(value)
            if made is None or made.shape.inner or made.shape.kind == "object" or made.read:
                continue
            if all(makers.made(entry) is not None and not isinstance(entry, ast.Name) for _, entry in made.values):
                found[name] = [Entry(key, f".{name}.each{k}", entry) for k, (key, entry) in enumerate(made.values)]
                self._dicts |= {name} if made.shape.kind == "dict" else frozenset()
        return found if found and self._are_decided(body, nodes, found, makers) else {}

    def _are_decided(self, body: Sequence[ast.stmt], nodes: Sequence[ast.AST], found: Entries, makers: Makers) -> bool:
        """Whether data decides on what one of the entries holds."""
        decided = Decided(body, self._scope.looks_at_data)
        for statement in decided.statements:
            if not blocks_of(statement) and any(isinstance(n, (ast.Attribute, ast.Subscript)) for n in walk(statement)):
                return True
        kinds = [makers._found(e.value.func) for entries in found.values() for e in entries if isinstance(e.value, ast.Call)]
        codes = [
            function.__code__
            for kind in kinds if isinstance(kind, type) and record_class(kind) is not None
            for base in kind.__mro__ for member in vars(base).values()
            if (function := getattr(member, "fget", member)) is not None and hasattr(function, "__code__")
        ]  # fmt: skip
        if any(self._scope.lines_of(code) for code in codes):
            return True
        indices = [n.slice for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name) and n.value.id in found]
        return any(decided.is_decided(index) for index in indices)


_MAY_BE_LISTS = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.Call)


class _WrittenOut(KnownEntries):
    """A function with its lists of containers as variables, and loops over them as their turns."""

    def __init__(self, lists: Entries, constants: Mapping[str, int], dicts: frozenset[str], scope: Scope) -> None:
        super().__init__(lists, constants, dicts, scope)
        self._dropped: set[str] = set()
        self._statements = 0

    def all(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """All statements.

        Raises:
            _Stays: one of the lists is used as such.
        """
        made = self._block(body)
        for statement in made:
            for node in walk(statement):
                if isinstance(node, ast.Name) and (node.id in self.lists or node.id in self._dropped):
                    raise _Stays(self._statement_of(made, node))
        return made

    def _statement_of(self, body: Sequence[ast.stmt], node: ast.AST) -> ast.AST:
        """The statement that an expression is in, unless it has others in it."""
        statements = [s for statement in body for s in walk(statement) if isinstance(s, ast.stmt) and not blocks_of(s)]
        return next((s for s in statements if any(n is node for n in walk(s))), node)

    def _block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        pending = list(body)
        while pending:
            statement = pending.pop(0)
            self._statements += 1
            if self._statements > MOST_STATEMENTS:
                raise _Stays(statement)
            if isinstance(statement, ast.Assign) and any(name.id in self.lists for name, _ in _one_by_one(statement)):
                made += self._made(statement)
                continue
            if isinstance(statement, ast.For) and (turns := self._turns_of(statement)) is not None:
                made += self._turns(statement, turns)
                continue
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
                made.append(statement)
                continue
            self._expressions(statement)
            named = self._named(statement)
            if named:
                # Other names for entries, in what follows.
                if _sees_later(pending, frozenset(named)):
                    raise _Stays(statement)
                pending = [self._put(named, s) for s in pending]
                self._dropped.update(named)
                continue
            for block in blocks_of(statement):
                block[:] = self._block(block)
            made.append(statement)
        return made or [ast.copy_location(ast.Pass(), body[0])]

    def _made(self, node: ast.Assign) -> list[ast.stmt]:
        """The assignments of all entries of lists, and of what else is assigned with them."""
        made: list[ast.stmt] = []
        for name, value in _one_by_one(node):
            values = [(e.variable, self.unique(copied(e.value))) for e in self.lists.get(name.id, ())] or [(name.id, value)]
            made += [assign(variable, AsVariables(self).visit(part), node) for variable, part in values]
        return made

    def _expressions(self, statement: ast.stmt) -> None:
        entries = AsVariables(self)
        for field, value in ast.iter_fields(statement):
            if isinstance(value, ast.expr):
                setattr(statement, field, entries.visit(value))
            elif isinstance(value, list) and value and isinstance(value[0], ast.expr):
                value[:] = [entries.visit(v) for v in value]

    def _named(self, node: ast.stmt) -> dict[str, ast.expr]:
        """The variables that an assignment makes other names for entries; none if it does more."""
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if target is None or not isinstance(node, ast.Assign):
            return {}
        variables = {e.variable for entries in self.lists.values() for e in entries}
        found = [(name, value) for name, value in pairs(target, node.value) if isinstance(value, ast.Name) and value.id in variables]
        count = len(target.elts) if isinstance(target, ast.Tuple) else 1
        return {name.id: value for name, value in found} if len(found) == count else {}

    # Loops

    def _turns_of(self, node: ast.For) -> list[ast.expr] | None:
        """The elements that a loop goes over, if it is one over a list, or over the numbers of entries; None of all others."""
        names = assigned([node.target])
        inner = [n for statement in node.body for n in walk(statement)]
        indices = [n.slice for n in inner if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name) and n.value.id in self.lists]
        if self.lists.keys().isdisjoint(reads(node.iter)) and not any(reads(index) & names for index in indices):
            return None
        turns = self.elements(node.iter)
        # What is a loop with an exit is merged as a whole.
        is_whole = any(isinstance(n, ast.Name) and n.id.startswith((".stop", ".step", ".result", ".turn")) for n in inner)
        if turns is None or node.orelse or is_whole or has_jump(node.body, EXITS) or _sees_later(node.body, names):
            return None
        return turns

    def _turns(self, node: ast.For, turns: Sequence[ast.expr]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for turn in turns:
            given = matched(node.target, turn)
            if given is None:
                raise _Stays(node)
            for name, value in given.items():
                if isinstance(value, ast.Constant):
                    made.append(assign(name, copied(value), node))
                else:
                    self._dropped.add(name)
            made += self._block([self._put(given, copied(statement)) for statement in node.body])
        return made

    def _put(self, given: Mapping[str, ast.expr], node: ast.stmt) -> ast.stmt:
        """A statement with expressions in the place of variables, whose parts are told apart from those of others like it."""
        return self.unique(Put(dict(given)).visit(node))


def _one_by_one(node: ast.Assign) -> list[tuple[ast.Name, ast.expr]]:
    """The variables of an assignment with their values, where these could be assigned one after the other; else none."""
    target = node.targets[0]
    found = pairs(target, node.value) if len(node.targets) == 1 else []
    if not isinstance(target, ast.Tuple):
        return found
    return found if len(found) == len(target.elts) and reads(node.value).isdisjoint(name.id for name, _ in found) else []


def _sees_later(body: Sequence[ast.stmt], names: Names) -> bool:
    """Whether statements bind some variables, also as others of a comprehension, or have functions that may see them later."""
    nodes = [n for statement in body for n in walk(statement)]
    if any(isinstance(n, ast.Name) and n.id in names and not isinstance(n.ctx, ast.Load) for n in nodes):
        return True
    return any(isinstance(n, _LATER) and not names.isdisjoint(reads(n)) for n in nodes)


_LATER = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.NamedExpr, ast.GeneratorExp)
