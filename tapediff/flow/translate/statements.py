"""Statements: tests and loops become operators that take their blocks as functions.

A block's function returns its completion (completions.py); None for a normal end. The blocks after a statement that may jump become
functions, too, which `sequence` runs.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from .compound import compound, in_place
from .expressions import (
    ARITHMETIC,
    LEFT,
    RIGHT,
    Expressions,
    NotTranslated,
    again,
    at,
    is_inlined,
    kept,
    of_types,
    operator,
    operator_call,
    parameters_of,
    text,
    without_defaults,
)
from .generators import EMIT, cleans_up, emitting
from .scopes import Emit, Scope, has_yield, jumps, own_nodes, parameters, stored

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPOUND = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Match)


def _with_errors_of_variables(body: list[ast.stmt]) -> list[ast.stmt]:
    """A function's body with the NameErrors of untranslated functions."""
    first = next(k for k, s in enumerate(body) if not isinstance(s, (ast.Global, ast.Nonlocal)))
    error = "_error_"
    found = ast.Assign([ast.Name("_unbound_", ast.Store())], operator_call("unbound_local", ast.Name(error, ast.Load())))
    handler = ast.ExceptHandler(operator("NameError"), error, [found])
    return [*body[:first], ast.Try(body[first:], [handler], [ast.Return(None)], []), ast.Raise(ast.Name("_unbound_", ast.Load()), None)]


class Translator:
    """Translates the functions of one definition, including inner ones.

    Attributes:
        names: by generated function, the name for tracebacks.
        variables: by block, the variables of its function.
        stores: by block, the variables that it stores itself.
    """

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.stores: dict[str, set[str]] = {}
        self.variables: dict[str, frozenset[str]] = {}

    def function(self, node: ast.FunctionDef | ast.Lambda, name: str) -> ast.FunctionDef:
        """The translated definition, without decorators, defaults and annotations."""
        body: list[ast.stmt] = [ast.Return(node.body)] if isinstance(node, ast.Lambda) else node.body
        if isinstance(node, ast.Lambda) and has_yield([node.body]):
            body = [ast.Expr(node.body)]
        return _Function(self, None, body, without_defaults(node.args), self.names.get(name, name), node).definition(name, node)

    def named(self, shown: str, node: ast.AST, kind: str) -> str:
        """A unique name for a function."""
        made = f"{kind}_{getattr(node, 'lineno', 0)}_{len(self.names)}".replace("<", "").replace(">", "")
        self.names[made] = shown
        return made


class _Function:
    """One function of the program, with its scope."""

    def __init__(
        self, translator: Translator, outer: _Function | None, body: list[ast.stmt], args: ast.arguments, shown: str, node: ast.AST
    ) -> None:
        self.translator, self.outer, self.body, self.args, self.shown = translator, outer, body, args, shown
        self.scope = Scope(body, parameters(args))
        self.is_inlined = is_inlined(node)
        found = [*args.posonlyargs, *args.args]
        self.first = found[0].arg if found else None
        if any(isinstance(n, (ast.Await, ast.AsyncFor, ast.AsyncWith)) for n in own_nodes(body)):
            raise NotTranslated("it is asynchronous")

    def definition(self, name: str, node: ast.AST) -> ast.FunctionDef:
        """The function with its translated body."""
        first = self.body[0] if self.body else None
        docstring = self.body[:1] if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else []
        rest = self.body[len(docstring):]
        emitted = emitting(rest) if has_yield(rest) else None
        if emitted is not None:
            self.scope.bound |= {name for name in stored(emitted) if name.startswith("_from_")}
        declared = self._declared(self.scope.nonlocal_names | self.scope.global_names)
        made: list[ast.stmt] = [*docstring, *declared]
        unbound = sorted(self.scope.bound - set(parameters(self.args)))
        if unbound:
            # Binds them here, so that blocks can declare them nonlocal.
            made.append(ast.If(ast.Constant(0), [ast.Assign([ast.Name(n, ast.Store()) for n in unbound], ast.Constant(None))], []))
        if declared:
            made.append(self._entered(self.scope.nonlocal_names))
        made += self.block(rest, is_top=True) if not has_yield(rest) else self._generator(rest, emitted, node)
        if any(isinstance(statement, ast.FunctionDef) and statement.name in self.translator.variables for statement in made):
            made = _with_errors_of_variables(made)
        return self._definition(name, self.args, made, node)

    def _entered(self, variables: set[str]) -> ast.stmt:
        """Notes nonlocal and global variables."""
        cells = ast.Tuple([ast.Name(n, ast.Load()) for n in sorted(variables)], ast.Load())
        names = ast.Constant(tuple(sorted(self.scope.global_names)))  # pyright: ignore[reportArgumentType] -- the stubs leave out tuples
        return ast.Expr(operator_call("enter", ast.Lambda(parameters_of(), cells), names))

    def _generator(self, body: list[ast.stmt], emitted: list[ast.stmt] | None, node: ast.AST) -> list[ast.stmt]:
        """Both forms of a generator's body, as functions: Python's own, and one that takes the consumer."""
        names: list[ast.expr] = []
        made: list[ast.stmt] = []
        entered = self._entered(self.scope.bound | self.scope.nonlocal_names)
        for statements, arguments in ((body, []), (emitted, [EMIT])):
            if statements is None:
                names.append(ast.Constant(None))
                continue
            name = self.named("emitting" if arguments else "native", node)
            inner = [*self._declared(stored(statements)), entered, *(self.block(statements) if arguments else self._native(statements))]
            made.append(self._definition(name, parameters_of(*arguments), inner, node))
            names.append(ast.Name(name, ast.Load()))
        return [*made, ast.Return(operator_call("Generator", *names, ast.Constant(cleans_up(body))))]

    def _native(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The body of a generator that Python runs."""
        begun = ast.Assign([ast.Name("_begun_", ast.Store())], operator_call("begun"))
        # Keeps it a generator in any case.
        return [begun, *self._pythons(body), ast.If(ast.Constant(0), [ast.Expr(ast.Yield(None))], [])]

    def _pythons(self, statements: Sequence[ast.stmt], *, in_loop: bool = False) -> list[ast.stmt]:
        """Statements of such a body; those that yield remain Python's.

        Args:
            in_loop: within such a loop.
        """
        made: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, (ast.Break, ast.Continue)):
                made.append(statement)
            elif has_yield([statement]) and isinstance(statement, _COMPOUND):
                made += in_place(self, statement, lambda part, in_loop=in_loop: self._pythons(part, in_loop=in_loop))
            elif jumps([statement]) and isinstance(statement, _COMPOUND):
                before, call = compound(self, statement)
                end = ast.Name("_end_", ast.Load())
                ends: list[tuple[ast.cmpop, ast.expr, ast.stmt]] = [
                    (ast.Is(), operator("BREAK"), ast.Break()),
                    (ast.Is(), operator("CONTINUE"), ast.Continue()),
                    (ast.IsNot(), ast.Constant(None), ast.Return(ast.Attribute(end, "value", ast.Load()))),
                ]
                after = [ast.If(ast.Compare(end, [op], [kind]), [jump], []) for op, kind, jump in ends[0 if in_loop else 2 :]]
                found = ast.Assign([ast.Name("_end_", ast.Store())], operator_call("ended", call))
                made += [*before, *(at(part, statement) for part in (found, *after))]
            else:
                made += self._straight([statement], is_top=True)
        return made

    # Blocks

    def block(self, statements: Sequence[ast.stmt], *, is_top: bool = False) -> list[ast.stmt]:
        """The body of a block's function, which returns a completion, or a value at the top of a function."""
        parts: list[list[ast.stmt]] = [[]]
        for number, statement in enumerate(statements):
            parts[-1].append(statement)
            if isinstance(statement, (*_COMPOUND, Emit)) and jumps([statement]) and number + 1 < len(statements):
                parts.append([])
        first, *others = parts
        if not others:
            return self._straight(first, is_top)
        made: list[ast.stmt] = []
        names: list[ast.expr] = []
        for part in parts:
            name = self.named("block", part[0])
            made.append(self.closure(name, [], part, part[0]))
            names.append(ast.Name(name, ast.Load()))
        call = operator_call("sequence", *names)
        return [*made, ast.Return(operator_call("returned", call) if is_top else call)]

    def _straight(self, statements: Sequence[ast.stmt], is_top: bool) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, _COMPOUND):
                before, call = compound(self, statement)
                made += before
                if jumps([statement]):
                    made.append(at(ast.Return(operator_call("returned", call) if is_top else call), statement))
                else:
                    made.append(at(ast.Expr(call), statement))
            elif isinstance(statement, ast.Return):
                expressions = self.expressions()
                value = ast.Constant(None) if statement.value is None else expressions.visit(statement.value)
                made += [*expressions.before, at(ast.Return(value if is_top else operator_call("Return", value)), statement)]
            elif isinstance(statement, Emit):
                expressions = self.expressions()
                value = expressions.visit(statement.value)
                made += [*expressions.before, at(ast.Return(value), statement)]
            elif isinstance(statement, (ast.Break, ast.Continue)):
                made.append(at(ast.Return(operator("BREAK" if isinstance(statement, ast.Break) else "CONTINUE")), statement))
            else:
                made += self.simple(statement)
        return made

    def closure(self, name: str, arguments: Sequence[str], statements: Sequence[ast.stmt], node: ast.AST, first: Sequence[ast.stmt] = (),
                last: Sequence[ast.stmt] = ()) -> ast.FunctionDef:  # fmt: skip
        """A block as a function that stores this function's variables.

        Args:
            first, last: translated prologue and epilogue.
        """
        names = self.translator.stores[name] = stored([*statements, *first, *last]) - set(arguments)
        made = self._declared(names)
        body = self.block(statements)
        made += [*first, ast.Try(body or [ast.Pass()], [], [], list(last))] if last else [*first, *body]
        return self._definition(name, parameters_of(*arguments), made, node)

    def _declared(self, names: set[str]) -> list[ast.stmt]:
        nonlocals = sorted(names & (self.scope.bound | self.scope.nonlocal_names))
        globals_ = sorted(names & self.scope.global_names)
        return [*([ast.Nonlocal(nonlocals)] if nonlocals else []), *([ast.Global(globals_)] if globals_ else [])]

    def _definition(self, name: str, args: ast.arguments, body: list[ast.stmt], node: ast.AST) -> ast.FunctionDef:
        made = ast.FunctionDef(name, args, body or [ast.Pass()], [], None)
        made.type_params = []  # pyright: ignore[reportAttributeAccessIssue]
        return at(made, node)

    def named(self, kind: str, node: ast.AST) -> str:
        made = self.translator.named(self.shown, node, kind)
        self.translator.variables[made] = self.variables
        return made

    @property
    def variables(self) -> frozenset[str]:
        """This function's variables, and those of the function that it is inlined in."""
        around = self.outer.variables if self.outer is not None and self.is_inlined else ()
        return frozenset(self.scope.bound).union(around)

    def expressions(self, *, in_class: bool = False) -> Expressions:
        def name_of(shown: str, node: ast.AST) -> str:
            return self.translator.named(shown if shown.startswith("<") else self.shown, node, shown)

        return Expressions(self.part, self.first, name_of, in_class)

    def part(self, name: str, args: ast.arguments, body: list[ast.stmt], node: ast.AST, *, own_scope: bool = False) -> ast.FunctionDef:
        """A function for part of an expression; comprehensions and lambdas have their own scope."""
        if not own_scope:
            (returned,) = body
            assert isinstance(returned, ast.Return)
            assert returned.value is not None
            values = self.expressions()
            value = values.visit(returned.value)
            return self._definition(name, args, [*self._declared(stored([returned])), *values.before, ast.Return(value)], node)
        inner = _Function(self.translator, self, body, args, self.translator.names[name], node)
        # Assignments in a comprehension bind names of the enclosing function.
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            inside = [n for g in node.generators for n in ast.walk(g.target)]
            targets = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            outer = inner.scope.bound - targets - {"_items_", "_result_"}
            inner.scope.bound -= outer
            owner = self
            inner.scope.nonlocal_names |= outer & (owner.scope.bound | owner.scope.nonlocal_names)
            inner.scope.global_names |= outer & owner.scope.global_names
        if inner.is_inlined:
            self.translator.variables[name] = inner.variables
        return inner.definition(name, node)

    # Simple statements

    def simple(self, statement: ast.stmt) -> list[ast.stmt]:
        """A statement without blocks."""
        expressions = self.expressions()
        made = self._simple(statement, expressions)
        kept = sorted({n.target.id for part in made for n in own_nodes([part]) if isinstance(n, ast.NamedExpr)} & {RIGHT, LEFT})
        if kept:
            # Drops references to operands, as joins count references.
            made.append(ast.Assign([ast.Name(name, ast.Store()) for name in kept], ast.Constant(None)))
        return [*expressions.before, *(at(s, statement) for s in made)]

    def _simple(self, statement: ast.stmt, values: Expressions) -> list[ast.stmt]:
        if isinstance(statement, ast.Expr):
            return [ast.Expr(values.visit(statement.value))]
        if isinstance(statement, ast.Assign):
            value = values.visit(statement.value)
            if len(statement.targets) == 1:
                return self.assign(statement.targets[0], value, values)
            return self._kept(statement.targets, value, values)
        if isinstance(statement, ast.AnnAssign):
            if statement.value is None:
                return []
            return self.assign(statement.target, values.visit(statement.value), values)
        if isinstance(statement, ast.AugAssign):
            return self._augmented(statement, values)
        if isinstance(statement, ast.Delete):
            return [s for target in statement.targets for s in self._delete(target, values)]
        if isinstance(statement, ast.Assert):
            message = [values.delayed(statement.msg)] if statement.msg is not None else []
            test = values.test(statement.test)
            return [ast.If(ast.Name("__debug__", ast.Load()), [ast.Expr(operator_call("assert_", test, *message))], [])]
        if isinstance(statement, ast.Raise):
            raised = [None if part is None else values.visit(part) for part in (statement.exc, statement.cause)]
            return [ast.Raise(*(None if part is None else operator_call("raised", part) for part in raised))]
        if isinstance(statement, _FUNCTIONS):
            return self._inner_function(statement, values)
        if isinstance(statement, ast.ClassDef):
            return self._class(statement, values)
        if isinstance(statement, (ast.Global, ast.Nonlocal)):
            return []
        return [statement]  # pass, import

    def assign(self, target: ast.expr, value: ast.expr, values: Expressions) -> list[ast.stmt]:
        """Assign a translated value to a target."""
        if isinstance(target, ast.Name):
            return [ast.Assign([target], value)]
        if isinstance(target, (ast.Attribute, ast.Subscript)) and not isinstance(value, (ast.Name, ast.Constant)):
            return self._kept([target], value, values)
        if isinstance(target, ast.Attribute):
            return [ast.Expr(operator_call("set_attribute", values.visit(target.value), text(target.attr), value))]
        if isinstance(target, ast.Subscript):
            return [ast.Expr(operator_call("set_item", values.visit(target.value), values.visit(target.slice), value))]
        assert isinstance(target, (ast.Tuple, ast.List))
        if all(isinstance(part.value if isinstance(part, ast.Starred) else part, ast.Name) for part in target.elts):
            return [ast.Assign([target], operator_call("unpacked", value, _count(target.elts)))]
        names = [self.named("value", part) for part in target.elts]
        starred = [isinstance(part, ast.Starred) for part in target.elts]
        variables = [ast.Name(n, ast.Store()) for n in names]
        places: list[ast.expr] = [ast.Starred(v, ast.Store()) if is_starred else v for v, is_starred in zip(variables, starred)]
        made: list[ast.stmt] = [ast.Assign([type(target)(places, ast.Store())], operator_call("unpacked", value, _count(target.elts)))]
        for name, part in zip(names, target.elts):
            inner = part.value if isinstance(part, ast.Starred) else part
            made += [*self.assign(inner, ast.Name(name, ast.Load()), values), ast.Delete([ast.Name(name, ast.Del())])]
        return made

    def _kept(self, targets: list[ast.expr], value: ast.expr, values: Expressions) -> list[ast.stmt]:
        """Evaluates the value before the parts of the targets."""
        name = self.named("value", targets[0])
        assigned = [s for target in targets for s in self.assign(target, ast.Name(name, ast.Load()), values)]
        return [ast.Assign([ast.Name(name, ast.Store())], value), *assigned, ast.Delete([ast.Name(name, ast.Del())])]

    def _augmented(self, statement: ast.AugAssign, values: Expressions) -> list[ast.stmt]:
        target = statement.target
        if isinstance(target, ast.Name):
            return [ast.Assign([target], self._in_place(statement, ast.Name(target.id, ast.Load()), values.visit(statement.value)))]
        parts = [target.value] if isinstance(target, ast.Attribute) else [target.value, target.slice]
        names = [self.named("value", statement) for _ in parts]
        made: list[ast.stmt] = [ast.Assign([ast.Name(n, ast.Store())], values.visit(part)) for n, part in zip(names, parts)]
        loads = [ast.Name(n, ast.Load()) for n in names] + ([text(target.attr)] if isinstance(target, ast.Attribute) else [])
        if isinstance(target, ast.Attribute):
            read, write = operator_call("attribute", *loads), "set_attribute"
        else:
            read, write = ast.Subscript(operator_call("holder", *loads), loads[1], ast.Load()), "set_item"
        value = self._in_place(statement, read, values.visit(statement.value))
        return [*made, ast.Expr(operator_call(write, *loads, value)), ast.Delete([ast.Name(n, ast.Del()) for n in names])]

    def _in_place(self, statement: ast.AugAssign, old: ast.expr, value: ast.expr) -> ast.expr:
        """Python's operator for numbers, at the user's line; else an operator that may write in place."""
        before, new = ast.Name(LEFT, ast.Load()), again(value, RIGHT)
        are_numbers = operator_call("numbers", kept(old, LEFT), kept(value, RIGHT), *of_types(statement.op))
        changed = operator_call(f"i{ARITHMETIC[type(statement.op)]}", before, new)
        return ast.IfExp(are_numbers, ast.BinOp(before, statement.op, new), changed)

    def _delete(self, target: ast.expr, values: Expressions) -> list[ast.stmt]:
        if isinstance(target, ast.Name):
            read = ast.Name(target.id, ast.Load())
            return [ast.Expr(operator_call("deleted", read, text(target.id))), ast.Delete([target])]
        if isinstance(target, ast.Attribute):
            return [ast.Expr(operator_call("delete_attribute", values.visit(target.value), text(target.attr)))]
        if isinstance(target, ast.Subscript):
            return [ast.Expr(operator_call("delete_item", values.visit(target.value), values.visit(target.slice)))]
        assert isinstance(target, (ast.Tuple, ast.List))
        return [s for part in target.elts for s in self._delete(part, values)]

    def _inner_function(
        self, statement: ast.FunctionDef | ast.AsyncFunctionDef, values: Expressions, *, in_class: bool = False
    ) -> list[ast.stmt]:
        decorators: list[ast.expr] = statement.decorator_list
        if not in_class:
            decorators = [operator_call("function", values.visit(d)) for d in decorators]
        made: ast.FunctionDef | ast.AsyncFunctionDef = statement
        try:
            if isinstance(statement, ast.FunctionDef):
                bare = without_defaults(statement.args)
                inner = _Function(self.translator, self, statement.body, bare, statement.name, statement)
                made = inner.definition(statement.name, statement)
        except NotTranslated:
            made = statement
        args = copy.copy(statement.args)
        args.defaults = [values.visit(d) for d in args.defaults]
        args.kw_defaults = [None if d is None else values.visit(d) for d in args.kw_defaults]
        made.args, made.decorator_list, made.returns = args, decorators, statement.returns
        return [made]

    def _class(self, statement: ast.ClassDef, values: Expressions) -> list[ast.stmt]:
        """A class; Python runs its body with translated functions."""
        statement.decorator_list = [operator_call("function", values.visit(d)) for d in statement.decorator_list]
        inner = self.expressions(in_class=True)
        body: list[ast.stmt] = []
        for part in statement.body:
            body += self._inner_function(part, inner, in_class=True) if isinstance(part, ast.FunctionDef) else [part]
        statement.body = body
        return [statement]


def _count(targets: list[ast.expr]) -> ast.expr:
    """The number of targets; a pair around a starred one."""
    star = next((k for k, part in enumerate(targets) if isinstance(part, ast.Starred)), None)
    if star is None:
        return ast.Constant(len(targets))
    return ast.Tuple([ast.Constant(star), ast.Constant(len(targets) - star - 1)], ast.Load())

