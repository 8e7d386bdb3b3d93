"""Rewrites a function so that one recording serves all its paths: branches on data become selects, loops one instruction."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Callable, Collection, Sequence
from types import FunctionType, ModuleType

from .expressions import Expressions, Simple, values
from .facts import Facts
from .nodes import (
    Transformer,
    assign,
    branch,
    call,
    copied,
    extent,
    function_node,
    is_call_of_run_time,
    load,
    names_tuple,
    near,
    place,
    placeholder,
    positional,
    walk,
)
from .prepare.arrays.gathers import Gathers
from .prepare.exits.jumps import JUMPS, has_jump
from .prepare.long_loops.other_forms.ints import Ints
from .prepare.long_loops.own_arrays import STATE, bound_otherwise, own_arrays
from .prepare.long_loops.which_loops import COUNTED_BY_DATA, LONG_LOOP, gone_over
from .prepare.loop_exits import tells_of_exits
from .prepare.source import Definition
from .purity import Checked, check_statements
from .regions.regions import REGION, Regions
from .rules import ASK_TYPES, FIRST_PLAIN, FIRST_TURN, GROUPED, LONG, VARYING, WHOLE_LOOP, Broken, Without
from .selects import Select
from .uses.climb import LARGEST_EXPONENT
from .uses.contexts import flags
from .uses.kinds import is_one, is_store
from .variables import Names, assigned

# In reports.
SELECT = "a select"


class Rewriter:
    """Rewrites one function.

    Args:
        definition: a copy of its node, which is changed.
        facts: about it.
        calls_helpers: whether functions that it calls had guards too.
        in_region: whether it is called in a region.
    """

    def __init__(self, definition: Definition, facts: Facts, calls_helpers: bool, in_region: bool = False) -> None:
        self._definition, self._facts = definition, facts
        # Inner functions have to be found in the source where they are called, so their quotients are checked as helpers'.
        self._all = calls_helpers or facts.gives
        self._calls_helpers = self._all or facts.calls_quotients
        self._regions = Regions(facts, lambda body: self._block(body, False))
        # Branches in a region are paths of it.
        self._in_region = in_region

    def rewritten(self) -> Definition:
        """The function with its branches merged."""
        definition, facts = self._definition, self._facts
        if any(isinstance(n, ast.Name) and is_one(facts.resolve(n.id), _SEES_VARIABLES) for n in walk(definition)):
            raise Broken("shared", definition, "locals(), vars(), eval or exec sees all variables")
        for node in walk(definition):
            if _asks_identity(node, facts):
                raise AsksIdentity("test", node, f"it asks for identity: {ast.unparse(node)}")
        body = self._block(facts.body, False)
        if isinstance(definition, ast.Lambda):
            (only,) = body
            assert isinstance(only, ast.Return), "expressions stay expressions"
            definition.body = only.value or definition.body
        else:
            asked = [(load(name), ast.Constant(module.__name__)) for name, module in facts.modules.items()]
            body = [*(near(ast.Expr(call("require_module", each, definition)), definition) for each in asked), *body]
            definition.body, definition.decorator_list, definition.returns = body, [], None
        definition = PlainErrors(facts, definition, self._all).visit(definition)
        gathers = Gathers(facts.looks_up, facts.had_look_up, facts.may_merge, facts.is_builtin, facts.is_numpy)
        definition = gathers.of_function(definition)
        facts.sites = gathers.sites | facts.sites
        return definition

    def _block(self, body: Sequence[ast.stmt], in_try: bool) -> list[ast.stmt]:
        return [new for statement in body for new in self._statement(statement, in_try)]

    def _statement(self, node: ast.stmt, in_try: bool) -> list[ast.stmt]:
        if isinstance(node, (ast.If, ast.While)) and self._facts.looks_at_data(node.test):
            made = self._merged(node, in_try)
            if made is not None:
                return made
        if node in self._facts.entries and (in_try or self._in_region):
            raise self._without(node, Broken("tries", node, "it stands in a `try` or `with`, or in a branch"))
        if isinstance(node, ast.For) and not in_try and not self._in_region:
            made = (self._long(node) if self._facts.is_long(node) else None) or self._turn(node)
            if made is not None:
                return made
        if isinstance(node, (ast.If, ast.For, ast.While)):
            if isinstance(node, ast.For):
                node.iter = self._expression(node.iter, in_try)
                if node in self._facts.loops.stopped:
                    return [self._stopped(node, in_try)]
            else:
                node.test = self._expression(node.test, in_try)
            was, self._in_region = self._in_region, self._in_region and isinstance(node, ast.If)
            node.body, node.orelse = self._block(node.body, in_try), self._block(node.orelse, in_try)
            self._in_region = was
        elif isinstance(node, (ast.With, ast.Try)):
            for field in ("body", "orelse", "finalbody"):
                if getattr(node, field, None):
                    setattr(node, field, self._block(getattr(node, field), True))
        else:
            for field in ("value", "exc", "test"):
                value = getattr(node, field, None)
                if isinstance(value, ast.expr):
                    setattr(node, field, self._expression(value, in_try))
        return [node]

    def _merged(self, node: ast.If | ast.While, in_try: bool) -> list[ast.stmt] | None:
        """A branch as a select, a loop as one instruction; None if it breaks a rule, which is noted."""
        where = node.lineno, node.col_offset
        if isinstance(node, ast.While) and not self._facts.may_merge(where):
            return None
        try:
            if in_try:
                raise Broken("tries", node, "it stands in a `try` or `with`")
            made = self._branch(node) if isinstance(node, ast.If) else self._loop(node)
        except Broken as broken:
            if node in self._facts.all_or_nothing and not (self._in_region and node in self._facts.on_copies):
                raise Without(where if self._facts.may_merge(where) else (*where, REGION), broken.breach) from broken
            # In a region it is a path of that one.
            if not self._in_region:
                self._facts.breaches.append(broken.breach)
            return None
        is_call = any(isinstance(part, ast.FunctionDef) for part in made)
        self._facts.sites[where] = _form_of(node, is_call, node in self._facts.loops.made)
        return made

    def _stopped(self, node: ast.For, in_try: bool) -> ast.For:
        """A loop over values whose consumption nobody sees, that ends early only where its end is a plain bool."""
        stopped = self._facts.loops.stopped[node]
        node.iter = values(self._facts, node.iter, node, stopped.has_turns)
        is_over = call("is_over", [load(stopped.stop)], node)
        node.body = [branch(is_over, [ast.copy_location(ast.Break(), node)], [], node), *self._block(node.body, in_try)]
        return node

    def _branch(self, node: ast.If) -> list[ast.stmt]:
        """A branch as a select, or as a region."""
        facts = self._facts
        try:
            if not facts.may_merge((node.lineno, node.col_offset)):
                raise Broken("calls", node, "its values were refused")
            return Select(facts, node).statements()
        except Broken:
            if self._in_region or not facts.may_merge((node.lineno, node.col_offset, REGION)):
                raise
            return self._region([node], facts.live.after[node], node)

    def _long(self, node: ast.For) -> list[ast.stmt] | None:
        """A loop as a function of a turn, of which the run time records one; None if it breaks a rule, which is noted."""
        facts = self._facts
        entries = facts.entries.get(node)
        try:
            if node.orelse or has_jump(node.body, JUMPS):
                raise Broken("jumps", node, "a jump leaves the loop")
            check_statements(node.body, own_arrays(facts, node.body))
            names, new = facts.handed_on(node)
        except Broken as broken:
            where = node.lineno, node.col_offset
            if broken.breach.rule in ("bound", "jumps") and facts.may_merge((*where, WHOLE_LOOP)) and facts.may_merge((*where, FIRST_TURN)):
                raise Without((*where, WHOLE_LOOP), broken.breach) from broken
            if entries is not None or node in facts.loops.stopped:
                raise self._without(node, broken) from broken
            facts.breaches.append(broken.breach)
            return None
        counter = self._counter(node, names)
        names, new = [name for name in names if name != counter], [name for name in new if name != counter]
        uses, number = [facts.use_of(frozenset([name])) for name in names], facts.number()
        at = place(node, LONG)
        values = self._expression(gone_over(facts, node.iter), False) if entries is None else entries.values
        item = f".item{number}"
        target = node.target if entries is None else entries.target
        first = near(ast.Assign([target], load(item)), node.target)
        bound = bound_otherwise([part for statement in node.body for part in walk(statement)])
        body = Checked(node, at).statements(self._block(node.body, False))
        kept: ast.expr = ast.Tuple([], ast.Load()) if entries is None else load(entries.kept)
        ends = near(ast.Return(ast.Tuple([names_tuple(names, ast.Load()), kept], ast.Load())), node)
        turn = function_node(f".turn{number}", positional([*names, item]), [first, *body, ends], node)
        use = ast.Tuple([flags(use, VARYING) for use in uses], ast.Load())
        columns: ast.expr = ast.Tuple([], ast.Load()) if entries is None else entries.columns
        over = f".over{number}"
        by_data = ast.Tuple([ast.Constant(tells_of_exits(name)) for name in names], ast.Load())
        kinds = [[name.startswith(STATE) for name in names], [name not in bound for name in names]]
        states, in_place = (ast.Tuple([ast.Constant(k) for k, is_one in enumerate(each) if is_one], ast.Load()) for each in kinds)
        arguments = [at, load(over), load(turn.name), names_tuple(names, ast.Load()), use, by_data, columns, states, in_place]
        arguments.append(ast.Constant(facts.may_merge((node.lineno, node.col_offset, GROUPED))))
        made = near(ast.Assign([names_tuple(names, ast.Store())], call("long_loop", arguments, node)), node)
        facts.sites[node.lineno, node.col_offset] = LONG_LOOP
        after = [] if counter is None else [assign(counter, call("last_of", [at, load(over)], node), node)]
        return [*(assign(name, placeholder(), node) for name in new), turn, assign(over, values, node), made, *after]

    def _counter(self, node: ast.For, names: Sequence[str]) -> str | None:
        """The variable that counts the turns of a loop over a range, if it is used after it."""
        if not (self._facts.is_builtin(node.iter, range) and isinstance(node.target, ast.Name) and node.target.id in names):
            return None
        return None if node.target.id in assigned(node.body) else node.target.id

    def _without(self, node: ast.stmt, broken: Broken) -> Without:
        """A loop has been rewritten so that it must be one of which one turn is recorded."""
        return Without((node.lineno, node.col_offset, LONG), broken.breach)

    def _turn(self, node: ast.For) -> list[ast.stmt] | None:
        """A loop whose turns are regions; None if it is none."""
        where = node.lineno, node.col_offset
        if node.orelse or node in self._facts.loops.stopped or not self._facts.may_merge((*where, REGION)):
            return None
        if not self._regions.is_wanted(node):
            return None
        try:
            node.body = self._region(node.body, self._facts.live.after[node.body[-1]], node)
        except Broken:
            return None
        node.iter = self._expression(node.iter, False)
        self._facts.sites[where] = "a sub-tape for each turn"
        return [node]

    def _region(self, body: Sequence[ast.stmt], after: Names, node: ast.If | ast.For) -> list[ast.stmt]:
        was, self._in_region = self._in_region, True
        try:
            return self._regions.made(body, after, node)
        finally:
            self._in_region = was

    def _loop(self, node: ast.While) -> list[ast.stmt]:
        """Functions for the condition and a turn, and a call of the run time with both."""
        facts = self._facts
        if node.orelse or has_jump(node.body, JUMPS):
            raise Broken("jumps", node, "a jump leaves the loop")
        check_statements([*node.body, ast.copy_location(ast.Return(node.test), node)])
        names = facts.carried(node)
        uses = [facts.use_of(frozenset([name])) for name in names]
        number = facts.number()
        checked = Checked(node)
        try:
            test: ast.expr = Simple(facts, node).test(node.test)
        except Broken:
            test = checked.visit(copied(node.test))
        body = checked.statements(self._block(node.body, False))
        names_now = names_tuple(names, ast.Load())
        condition = function_node(f".condition{number}", positional(names), [near(ast.Return(test), node)], node)
        turn = function_node(f".turn{number}", positional(names), [*body, near(ast.Return(names_now), node)], node)
        further = VARYING if self._regions.may_hand_through else 0
        use = ast.Tuple([flags(use, further) for use in uses], ast.Load())
        all_plain = ast.Constant(not facts.may_merge((node.lineno, node.col_offset, FIRST_PLAIN)))
        arguments = [place(node), load(condition.name), load(turn.name), names_tuple(names, ast.Load()), use, all_plain]
        counter = facts.counter_of(node)
        if counter is not None and counter[1] in names:
            (line, column), name, end, by = counter
            at: list[ast.expr] = [ast.Constant(k) for k in (line, column, LONG)]
            arguments.append(ast.Tuple([ast.Tuple(at, ast.Load()), ast.Constant(names.index(name)), copied(end), copied(by)], ast.Load()))
        return [condition, turn, near(ast.Assign([names_tuple(names, ast.Store())], call("loop", arguments, node)), node)]

    def _expression(self, value: ast.expr, in_try: bool) -> ast.expr:
        """An expression with its conditional expressions, and its largest and smallest numbers, as selects."""
        if in_try:
            return value
        if self._facts.has_long_loops:
            value = Ints(self._facts).visit(value)
        if self._facts.looks_at_data(value):
            value = Expressions(self._facts).visit(value)
        return Helpers(self._facts).visit(value) if self._calls_helpers else value


def _form_of(node: ast.If | ast.While, is_call: bool, is_exit: bool) -> str:
    """In reports: what a branch or loop has become; `is_exit`: one that was a loop with an exit."""
    if isinstance(node, ast.While):
        return COUNTED_BY_DATA
    form = "a sub-tape" if is_call else SELECT
    return f"a loop whose turns after its end are masked, with {form}" if is_exit else form


class Helpers(Transformer):
    """Calls of the user's functions, which are merged as well."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node  # it has to be found in the source where it is called

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = _called(node.func, self._facts)
        if is_call_of_run_time(node) or is_one(called, ASK_TYPES):
            return node
        if is_one(called, _CALL_BACK):
            # What is no function stays what it is.
            node.args = [_helper(a) if isinstance(a, _MAY_BE_FUNCTIONS) else a for a in node.args]
            for keyword in node.keywords:
                keyword.value = _helper(keyword.value) if isinstance(keyword.value, _MAY_BE_FUNCTIONS) else keyword.value
        if not isinstance(node.func, ast.Lambda) and not self._facts.is_library(node.func):
            node.func = _helper(node.func)
        return node


def _called(function: ast.expr, facts: Facts) -> object:
    """A global or built-in function, or one of a module; None for others."""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        module = facts.resolve(function.value.id)
        return getattr(module, function.attr, None) if isinstance(module, ModuleType) else None
    return facts.resolve(function.id) if isinstance(function, ast.Name) else None


def _helper(function: ast.expr) -> ast.expr:
    return call("helper", [function], function)


_MAY_BE_FUNCTIONS = (ast.Name, ast.Attribute, ast.Lambda)

# Functions that call those that they are given.
_CALL_BACK: tuple[Callable[..., object], ...] = (
    map, filter, sorted, functools.partial, functools.reduce, itertools.starmap, itertools.accumulate, itertools.takewhile,
    itertools.dropwhile, itertools.filterfalse,
)  # fmt: skip


class PlainErrors(Transformer):
    """Checks at run time quotients and powers of what were plain numbers, for which Python has errors, where these are stored, and what
    tells them from others.

    Args:
        whole: the node of the function.
        all_of_them: whether arguments and results of functions may be such numbers.
    """

    def __init__(self, facts: Facts, whole: Definition, all_of_them: bool) -> None:
        self._facts, self._whole, self._all = facts, whole, all_of_them
        # In a function of which all calls are known, and are those of helpers.
        self._is_inner = False

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.Lambda) -> ast.AST:
        was = self._all, self._is_inner
        name = getattr(node, "name", "")
        if node is not self._whole and not name.startswith("."):
            # It is rewritten where it is called, and has to be found in the source then.
            self._all, self._is_inner = False, self._is_inner or name in self._facts.known_inner
        self.generic_visit(node)
        self._all, self._is_inner = was
        return node

    visit_Lambda = visit_FunctionDef

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if extent(node) in self._facts.beside:
            at = ast.Tuple([ast.Constant(k) for k in extent(node)], ast.Load())
            return call("beside", [at, ast.Constant(OPERATORS[type(node.op)]), node.left, node.right], node)
        if isinstance(node.op, ast.Div) and self._is_checked(extent(node.right), self._facts.divisors):
            return call("quotient", [place(node.right), node.left, node.right], node)
        if isinstance(node.op, ast.Pow) and self._is_checked(extent(node), self._facts.powers) and not _is_small_power(node.right):
            return call("power", [place(node), node.left, node.right], node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if is_one(_called(node.func, self._facts), ASK_TYPES):
            node.func = call("asks", [place(node), node.func], node.func)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return call("inverted", [place(node), node.operand], node) if isinstance(node.op, ast.Invert) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) > 1 or not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            return node
        constants = [side for side in (node.left, *node.comparators) if isinstance(side, ast.Constant) and side.value is not None]
        if len(constants) != 1:
            return node
        (value,) = [side for side in (node.left, *node.comparators) if side is not constants[0]]
        made = call("is_constant", [place(node), value, constants[0]], node)
        return made if isinstance(node.ops[0], ast.Is) else near(ast.UnaryOp(ast.Not(), made), node)

    def _is_checked(self, of: tuple[int, ...], found: Collection[tuple[int, ...]]) -> bool:
        return self._all or (of in found and not self._is_inner)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        self._store(node)
        return node

    def _store(self, node: ast.stmt) -> None:
        if (node.lineno, node.col_offset) in self._facts.stores and is_store(node):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            assert isinstance(target, ast.Subscript)
            assert isinstance(target.value, ast.Name)
            array, by = target.value.id, [ast.Constant(OPERATORS[type(node.op)])] if isinstance(node, ast.AugAssign) else []
            kept = lambda value: call("kept", [place(node), value, load(array), *by], value)  # noqa: E731 -- used in the next lines
            if isinstance(node.value, (ast.Tuple, ast.List)):
                node.value.elts = [kept(part) for part in node.value.elts]
            else:
                node.value = kept(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Div) and isinstance(node.target, ast.Name):
            if self._is_checked(extent(node.value), self._facts.divisors):
                node.value = call("divisor", [place(node.value), load(node.target.id), node.value], node.value)
        self._store(node)
        return node


class AsksIdentity(Broken):
    """A function asks whether two values are one object, which those that are chosen by a mask are not."""


def _asks_identity(node: ast.AST, facts: Facts) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and facts.resolve(node.func.id) is id
    if not isinstance(node, ast.Compare) or not any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
        return False
    if len(node.ops) > 1 and any(isinstance(side, ast.Constant) for side in (node.left, *node.comparators)):
        return True
    return sum(_may_be_a_number(side, facts) for side in (node.left, *node.comparators)) > 1


def _may_be_a_number(node: ast.expr, facts: Facts) -> bool:
    """Whether an expression may give a number or array: no constant, type, class, function or module."""
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Name) and facts.resolve(node.func.id) is type)
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    found = facts.resolve(root.id) if isinstance(root, ast.Name) else None
    return not isinstance(node, ast.Constant) and not isinstance(found, (type, ModuleType, FunctionType))


def _is_small_power(exponent: ast.expr) -> bool:
    return isinstance(exponent, ast.Constant) and type(exponent.value) is int and 0 <= exponent.value <= LARGEST_EXPONENT


OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}

_SEES_VARIABLES: tuple[Callable[..., object], ...] = (locals, vars, eval, exec, globals)
