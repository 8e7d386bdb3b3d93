"""Lists, dicts and objects that only one function sees become variables of it, one for each entry or attribute.

```
state, sums = State(p[0], 0), [0.0, 0.0]     state:x, state:hits, sums[0], sums[1] = p[0], 0, 0.0, 0.0
if state.x < 0:                              if state:x < 0:
    state = replace(state, hits=1)               state:hits = 1
sums[k] += state.x                           new = (sums[0] if k == 0 else sums[1]) + state:x
                                             sums[0] = new if k == 0 else sums[0]; sums[1] = new if k == 1 else sums[1]
```
The result is plain Python that does the same; which of its branches are merged is decided later.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ...nodes import call, load, near, walk
from ...rules import Breach, Place
from ..states.static_values import pairs
from .decided import Decided
from .found import Key, Makers, Shape, variable
from .rewrite_containers import Rewritten
from .scope import Scope
from .uses import Uses
from .whole_numbers import WholeNumbers

# In places, of containers.
CONTAINER = 6


class Containers:
    """The containers of one function.

    Args:
        scope: its names and places.

    Attributes:
        made: the variables that were made.
        kept: the variables that held what became these.
        lines: where one of several entries is chosen.
        breaches: why containers that data changes stay what they are.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.made: frozenset[str] = frozenset()
        self.kept: frozenset[str] = frozenset()
        self.lines: set[int] = set()
        self.breaches: list[Breach] = []
        self._shapes: dict[str, Shape] = {}
        self._makers = Makers(scope.resolve, self._shapes, self._value)

    def _value(self, name: str, key: Key) -> ast.expr:
        """The expression for an entry or attribute."""
        shape = self._shapes[name]
        if not shape.inner:
            return load(variable(name, key, shape))
        return ast.Tuple([load(variable(name, key, shape, k)) for k in range(shape.inner)], ast.Load())

    def of_function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a function."""
        self._bound = _bindings(body, self._scope.names)
        if not self._bound:
            return body
        self._find_shapes()
        if not self._shapes:
            return body
        numbers = WholeNumbers(body, self._scope, self._length)
        self._decided = Decided(body, self._scope.looks_at_data)
        loops = [node for statement in body for node in walk(statement) if isinstance(node, ast.For) and self._scope.is_long(node)]
        # What turns hand on are numbers and arrays.
        self._of_turns = {part for loop in loops for statement in loop.body for part in walk(statement)}
        self._uses = Uses(body, self._scope.resolve, numbers, self._decided)
        self._same = self._same_containers()
        self._keep_those_of_variables()
        self._keep_those_that_data_decides_on()
        if not self._shapes:
            return body
        rewritten = Rewritten(self._shapes, self._makers, self._uses, {name: self._place(name) for name in self._shapes})
        made = rewritten.block(body)
        self.made, self.lines, self.kept = rewritten.made, rewritten.lines, frozenset(self._shapes)
        return [*self._checks(made[0]), *made]

    def _length(self, node: ast.expr) -> int | None:
        return len(self._shapes[node.id].keys) if isinstance(node, ast.Name) and node.id in self._shapes else None

    def _place(self, name: str) -> Place:
        statement = self._bound[name][0][1]
        return statement.lineno, statement.col_offset, CONTAINER

    def _find_shapes(self) -> None:
        """Of each variable, what it holds if it holds the same everywhere."""
        is_changed = True
        while is_changed:
            is_changed = False
            for name in self._bound.keys() - self._shapes.keys():
                for value, _ in self._bound[name]:
                    made = self._makers.made(value)
                    if made is not None and self._scope.may_merge(self._place(name)):
                        self._shapes[name], is_changed = made.shape, True
                        break

    def _keep_those_of_variables(self) -> None:
        """Leave out those that are used as containers, or made in other ways."""
        why: dict[str, ast.AST] = {}
        is_changed = True
        while is_changed:
            is_changed = False
            makes: set[ast.AST] = {n for name in self._shapes for n in self._read_to_make(name)}
            for name, shape in list(self._shapes.items()):
                found = [self._makers.made(value) for value, _ in self._bound[name]]
                unlike = next((value for made, (value, _) in zip(found, self._bound[name]) if made is None or made.shape != shape), None)
                other = unlike or self._uses.other(name, shape, makes) or self._changed_by_another_name(name)
                if other is not None:
                    why[name] = other
                    del self._shapes[name]
                    is_changed = True
        for name, node in why.items():
            if self._is_decided(name):
                at = self._uses.statement(node)
                text = ast.unparse(at).split("\n")[0]
                self.breaches.append(Breach("containers", at.lineno, f"{name} is used as such: {text}"))

    def _read_to_make(self, name: str) -> list[ast.Name]:
        """Where variables are read whose containers are copied, gone over, or shared to make that of another one."""
        found = [self._makers.made(value) for value, _ in self._bound[name]]
        return [n for made in found if made is not None for n in made.read]

    def _changed_by_another_name(self, name: str) -> ast.AST | None:
        """Where one of several variables of the same list or object is assigned to."""
        same = self._same.get(name, ())
        return next((store for each in same for store in self._uses.stores(each)), None) if len(same) > 1 else None

    def _same_containers(self) -> dict[str, set[str]]:
        """By variable, those that are assigned to each other."""
        found: dict[str, set[str]] = {}
        for name, values in self._bound.items():
            for other in {value.id for value, _ in values if isinstance(value, ast.Name)} - {name}:
                first, second = found.setdefault(name, {name}), found.setdefault(other, {other})
                if first is not second:
                    small, large = sorted((first, second), key=len)
                    large |= small
                    found |= dict.fromkeys(small, large)
        return found

    def _keep_those_that_data_decides_on(self) -> None:
        """Leave out those of which data decides nothing, but what others are made of."""
        wanted = {name for name in self._shapes if self._is_decided(name)}
        count = -1
        while count < len(wanted):
            count = len(wanted)
            for name in self._shapes:
                read = {n.id for n in self._read_to_make(name)}
                if name in wanted or read & wanted:
                    wanted |= read | {name}
        for name in self._shapes.keys() - wanted:
            del self._shapes[name]

    def _is_decided(self, name: str) -> bool:
        """Whether data, or the turn of a long loop, decides on what a variable holds, or data which entry of it is read or written."""
        stores = self._uses.stores(name)
        changes = [*(statement for _, statement in self._bound[name][1:]), *map(self._uses.statement, stores)]
        if any(statement in self._decided.statements or statement in self._of_turns for statement in changes):
            return True
        entries = [p for n in self._uses.loads.get(name, ()) if isinstance(p := self._uses.parents[n], ast.Subscript) and p.value is n]
        return any(self._uses.is_decided(entry.slice) or self._changes_in_turn(entry) for entry in entries)

    def _changes_in_turn(self, entry: ast.Subscript) -> bool:
        """Whether a turn of a long loop may change the array or list that is an entry."""
        parent = self._uses.parents[entry]
        is_written = isinstance(parent, ast.Subscript) and parent.value is entry and not isinstance(parent.ctx, ast.Load)
        return entry in self._of_turns and (is_written or isinstance(parent, ast.Attribute))

    def _checks(self, first: ast.stmt) -> list[ast.stmt]:
        """Checks that the classes of the objects are still what they were."""
        found = {shape.made_by: (name, shape.record) for name, shape in self._shapes.items() if shape.record is not None}
        made: list[ast.stmt] = []
        for text, (name, record) in found.items():
            kind = ast.parse(text, mode="eval").body
            for node in walk(kind):
                if isinstance(node, ast.expr):
                    ast.copy_location(node, first)
            at = ast.Tuple([ast.Constant(k) for k in self._place(name)], ast.Load())
            made.append(near(ast.Expr(call("record_class", [at, kind, ast.Constant(repr(record.key))], first)), first))
        return made


def _bindings(body: Sequence[ast.stmt], names: frozenset[str]) -> dict[str, list[tuple[ast.expr, ast.stmt]]]:
    """The values that variables are assigned, with the statements; left out are those that are bound in other ways."""
    found: dict[str, list[tuple[ast.expr, ast.stmt]]] = {}
    seen: set[int] = set()
    nodes = [node for statement in body for node in walk(statement)]
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            for name, value in pairs(node.targets[0], node.value):
                found.setdefault(name.id, []).append((value, node))
                seen.add(id(name))
    others = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load) and id(n) not in seen}
    inner = [f for f in nodes if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda))]
    others |= {n.id for f in inner for n in walk(f) if isinstance(n, ast.Name)}
    others |= {name for n in nodes if isinstance(name := getattr(n, "name", None), str)}
    kinds = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.Call, ast.BinOp, ast.Name, ast.Subscript)
    return {
        name: values for name, values in found.items()
        if name in names and name not in others and all(isinstance(value, kinds) for value, _ in values)
    }  # fmt: skip
