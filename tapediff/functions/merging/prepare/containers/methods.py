"""Calls of methods and properties of a function's own objects become what these compute.

```
p = Particle(x[0], x[1])                   p = Particle(x[0], x[1])
p.step(0.1)                                p.x += p.v * 0.1
total += p.energy                          if p.x < 0: p.v = -p.v
                                           total += 0.5 * p.v ** 2
```
The result is plain Python that does the same if nothing else sees the objects, which whoever makes variables of them finds out.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import CodeType, FunctionType, ModuleType

from ...nodes import BEYOND_LINES, assign, children, copied, load, near, walk
from ...purity import is_users
from ...variables import blocks_of
from ..source import NoSource, is_set
from .called_function import Stays, computed_by, given_to
from .records import class_constant, is_generated, method_of, property_of
from .scope import Scope

# Further calls stay calls, and their objects objects.
MOST_STATEMENTS, MOST_NESTED = 600, 6


class Methods:
    """The methods of the objects of one function, and functions that get them.

    Args:
        scope: its names and places.
        objects: by variable, the class of what it holds.

    Attributes:
        made: the variables that were made.
        used: the variables of whose objects a method, property or constant was taken.
        lines: at which what was put there looks at data.
    """

    def __init__(self, scope: Scope, objects: Mapping[str, type]) -> None:
        self._scope, self._objects = scope, objects
        self.made: set[str] = set()
        self.used: set[str] = set()
        self.lines: set[int] = set()
        self._count = self._statements = self._depth = 0
        # Statements that come before the one that is rewritten.
        self._before: list[ast.stmt] = []

    # Statements

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements with what the calls in them compute."""
        made: list[ast.stmt] = []
        for statement in body:
            outer, self._before = self._before, []
            new = self._statement(statement)
            made += [*self._before, *new]
            self._before = outer
        return made

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Try, ast.With)):
            return [node]
        is_dropped = isinstance(node, ast.Expr)
        # What is assigned in an expression may be read in it before.
        binds = any(isinstance(n, ast.NamedExpr) for part in children(node) if isinstance(part, ast.expr) for n in walk(part))
        for field in ("iter", "test", "value", "exc", "targets", "target"):
            value = getattr(node, field, None)
            may = field in ("iter", "test", "value", "exc") and not (binds or isinstance(node, ast.While))
            may = may and (not isinstance(node, ast.AugAssign) or self._is_own(node.target))
            if isinstance(value, list):
                setattr(node, field, [self._lowered(v, may) for v in value])
            elif isinstance(value, ast.expr):
                setattr(node, field, self._lowered(value, may, is_dropped))
        if isinstance(node, ast.Expr) and self._before and self._is_read(node.value):
            return []
        for part in blocks_of(node):
            part[:] = self.block(part)
        return [node]

    # Expressions

    def _lowered(self, node: ast.expr, may_put_before: bool, is_dropped: bool = False) -> ast.expr:
        """An expression with the values of calls in their places, whose statements come before, with all that was computed before these."""
        self._parts(node, may_put_before)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and (kind := self._class_of(node.value)) is not None:
            getter, constant = property_of(kind, node.attr), class_constant(kind, node.attr)
            if (getter is not None or constant is not None) and not self._is_fixed(kind, node.attr):
                raise Stays
            if constant is not None:
                self._use(node.value)
                return ast.copy_location(ast.Constant(constant), node)
            return node if getter is None else self._value(getter, [node.value], [], node, may_put_before, False)
        if isinstance(node, ast.Call) and (found := self._called(node)) is not None:
            function, arguments = found
            return self._value(function, arguments, node.keywords, node, may_put_before, is_dropped)
        return node

    def _parts(self, node: ast.expr, may_put_before: bool) -> None:
        """Lower the parts of an expression in the order in which they are computed."""
        done: list[tuple[ast.AST, str, int | None]] = []
        for owner, field, k, is_certain in _in_order(node):
            value = getattr(owner, field)
            part = value if k is None else value[k]
            mark = len(self._before)
            new = self._lowered(part, may_put_before and is_certain)
            _put(owner, field, k, new)
            if len(self._before) > mark:
                self._before[mark:mark] = self._kept(done, node)
            done.append((owner, field, k))

    def _kept(self, parts: Sequence[tuple[ast.AST, str, int | None]], at: ast.expr) -> list[ast.stmt]:
        """Assign what was computed before the statements of a call to variables."""
        made: list[ast.stmt] = []
        for owner, field, k in parts:
            value = getattr(owner, field)
            part = value if k is None else value[k]
            is_object = isinstance(part, ast.Name) and part.id in self._objects
            if isinstance(part, ast.Constant) or (self._is_own(part) and not is_object) or self._is_function(part):
                continue
            parts_of = part.elts if isinstance(part, ast.Tuple) else [part]
            if is_object or any(isinstance(p, (ast.Starred, ast.Slice)) for p in parts_of):
                raise Stays
            name = self._new("before")
            made.append(assign(name, part, at))
            _put(owner, field, k, near(ast.copy_location(load(name), part), part))
        return made

    def _is_function(self, node: ast.expr) -> bool:
        """Whether an expression is a function of a module, or a global one that nothing rebinds."""
        owner = node.value if isinstance(node, ast.Attribute) else None
        if isinstance(owner, ast.Name) and isinstance(self._scope.resolve(owner.id), ModuleType):
            return True
        return isinstance(node, ast.Name) and callable(self._scope.resolve(node.id))

    def _is_own(self, node: ast.expr) -> bool:
        """Whether an expression is a variable that no other function rebinds."""
        return isinstance(node, ast.Name) and (node.id in self._scope.names or node.id in self.made or node.id.startswith("."))

    def _is_read(self, node: ast.expr) -> bool:
        """Whether an expression is a variable, a constant, or an attribute of an object."""
        return isinstance(node, (ast.Name, ast.Constant)) or (isinstance(node, ast.Attribute) and self._class_of(node.value) is not None)

    def _class_of(self, node: ast.expr) -> type | None:
        return self._objects.get(node.id) if isinstance(node, ast.Name) else None

    def _is_fixed(self, kind: type, name: str) -> bool:
        """Whether what a class has under a name is surely the same while the function runs: no text sets an attribute of this name."""
        own = [m for base in kind.__mro__ for key, m in vars(base).items() if key == "__init__" or not key.startswith("__")]
        functions = [function for member in own if is_users(function := getattr(member, "fget", member)) and not is_generated(function)]
        files = {function.__code__.co_filename for function in functions}
        try:
            return not any(is_set(file, each) for file in {self._scope.filename, *files} for each in (name, "__code__", "__defaults__"))
        except NoSource:
            return False

    def _use(self, node: ast.expr) -> None:
        if isinstance(node, ast.Name) and node.id in self._objects:
            self.used.add(node.id)

    def _new(self, name: str) -> str:
        self._count += 1
        self.made.add(made := f".{name}.{self._count}")
        return made

    # Calls

    def _called(self, node: ast.Call) -> tuple[FunctionType, list[ast.expr]] | None:
        """The method of an object that is called, or the function that gets one, and the positional arguments."""
        function = node.func
        if isinstance(function, ast.Attribute) and (kind := self._class_of(function.value)) is not None:
            found = method_of(kind, function.attr)
            if found is not None and not self._is_fixed(kind, function.attr):
                raise Stays
            return None if found is None else (found, [function.value, *node.args])
        if isinstance(function, ast.Name) and any(self._class_of(a) for a in (*node.args, *(k.value for k in node.keywords))):
            given = self._scope.resolve(function.id)
            return (given, node.args) if type(given) is FunctionType else None
        return None

    def _value(
        self, function: FunctionType, arguments: Sequence[ast.expr], keywords: Sequence[ast.keyword], node: ast.expr, may_put_before: bool,
        is_dropped: bool,
    ) -> ast.expr:  # fmt: skip
        """The value of a call, whose statements are put before it."""
        before = self._before
        self._depth += 1
        try:
            return self._computed(function, arguments, keywords, node, may_put_before, is_dropped)
        except Stays:
            self._before = before
            return node
        finally:
            self._depth -= 1

    def _computed(
        self, function: FunctionType, arguments: Sequence[ast.expr], keywords: Sequence[ast.keyword], node: ast.expr, may_put_before: bool,
        is_dropped: bool,
    ) -> ast.expr:  # fmt: skip
        parameters, statements, value = computed_by(function, self._scope, is_dropped)
        given = given_to(parameters, function, arguments, keywords, node)
        if statements and not may_put_before:
            raise Stays
        self._statements += sum(isinstance(n, ast.stmt) for s in statements for n in ast.walk(s)) + 1
        if self._statements > MOST_STATEMENTS or self._depth > MOST_NESTED:
            raise Stays
        before, statements, value = self._with_arguments(function, given, statements, near(value, node), node, may_put_before)
        outer, self._before = self._before, []
        inner = self.block(statements)
        found = self._lowered(value, may_put_before)
        self._before = [*outer, *before, *inner, *self._before]
        for part in arguments:
            self._use(part)
        # Where a condition looks at data is told by the line of its call.
        return ast.copy_location(found, node)

    def _with_arguments(
        self, function: FunctionType, given: Mapping[str, ast.expr], statements: list[ast.stmt], value: ast.expr, node: ast.expr,
        may_put_before: bool,
    ) -> tuple[list[ast.stmt], list[ast.stmt], ast.expr]:  # fmt: skip
        """Assignments of arguments, and the statements and value of a function with names of its own for its variables."""
        self._count += 1
        parts: list[ast.AST] = [*statements, value]
        stored = {n.id for p in parts for n in ast.walk(p) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        new = {name: f".{function.__name__}{self._count}.{name.lstrip('.')}" for name in (*stored, *given)}
        names: dict[str, ast.expr] = {name: load(new[name]) for name in stored}
        before: list[ast.stmt] = []
        for name, argument in given.items():
            is_object = self._class_of(argument) is not None
            if name not in stored and self._stays_the_same(argument, may_put_before):
                names[name] = argument
            elif is_object or not may_put_before:
                raise Stays
            else:
                names[name] = load(new[name])
                before.append(assign(new[name], argument, node))
                self.made.add(new[name])
        self.made |= {new[name] for name in stored}
        renamed = _Renamed(names)
        made = [renamed.visit(s) for s in statements], renamed.visit(value)
        self._place([*made[0], made[1]], node, function.__code__)
        return before, *made

    def _stays_the_same(self, argument: ast.expr, may_put_before: bool) -> bool:
        """Whether an argument may be read later, and again; attributes where no statement can come in between."""
        is_attribute = isinstance(argument, ast.Attribute) and self._class_of(argument.value) is not None
        return isinstance(argument, ast.Constant) or self._is_own(argument) or (is_attribute and not may_put_before)

    def _place(self, parts: Sequence[ast.AST], node: ast.expr, code: CodeType) -> None:
        """Note where a function looks at data; what is of another file stands at the line of its call, each node at a column of its own."""
        lines = self._scope.lines_of(code)
        if code.co_filename == self._scope.filename:
            self.lines.update(lines)
            return
        if lines:
            self.lines.add(node.lineno)
        for part in parts:
            for n in ast.walk(part):
                if "lineno" in n._attributes:
                    self._count += 1
                    ast.copy_location(n, node)
                    n.end_lineno, n.col_offset = node.lineno, 3 * BEYOND_LINES + self._count  # type: ignore[attr-defined]
                    n.end_col_offset = n.col_offset + 1  # type: ignore[attr-defined]


def _in_order(node: ast.expr) -> list[tuple[ast.AST, str, int | None, bool]]:
    """The parts of an expression in the order in which they are computed: where each stands, and whether it is surely computed, once."""
    found: list[tuple[ast.AST, str, int | None, bool]] = []
    pending: list[ast.AST] = [node]
    for owner in pending:
        for field, value in ast.iter_fields(owner):
            for k, part in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(part, (ast.keyword, ast.comprehension)):
                    pending.append(part)
                elif isinstance(part, ast.expr):
                    found.append((owner, field, k, _is_certain(node, field, k)))
    return found


def _is_certain(node: ast.expr, field: str, k: int | None) -> bool:
    if isinstance(node, ast.IfExp):
        return field == "test"
    if isinstance(node, (ast.BoolOp, ast.Compare)):
        return not k
    return not isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.Dict, ast.NamedExpr))


def _put(owner: ast.AST, field: str, k: int | None, new: ast.expr) -> None:
    if k is None:
        setattr(owner, field, new)
    else:
        getattr(owner, field)[k] = new


class _Renamed(ast.NodeTransformer):
    """Expressions in the places of variables; those that are assigned to become other variables."""

    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self._names:
            return node
        new = copied(self._names[node.id])
        if isinstance(node.ctx, ast.Load):
            return near(ast.copy_location(new, node), node)
        assert isinstance(new, ast.Name)
        return ast.copy_location(ast.Name(new.id, node.ctx), node)
