"""The facts about one function that its rewriting asks for: where it looks at data, how variables are bound, read and used."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import CodeType, ModuleType

import numpy as np

from .nodes import is_least_at, walk
from .prepare.arrays.writes import Writes
from .prepare.chosen_values import ChosenValues
from .prepare.containers.own_containers import containers_as_variables
from .prepare.containers.scope import Scope
from .prepare.containers.whole_numbers import WholeNumbers
from .prepare.desugar.joined_writes import with_joined_writes
from .prepare.desugar.least_entries import with_least_entries
from .prepare.desugar.named_expressions import check_none_is_left
from .prepare.desugar.statements import desugared, written_out
from .prepare.exits.early_exits import EarlyExits
from .prepare.first_turns.first_turns import MOST_TURNS, with_first_turns
from .prepare.long_loops.counted_whiles import counted_whiles, end_and_step, surely_counted
from .prepare.long_loops.counters import with_counters
from .prepare.long_loops.entries_by_turn import TurnEntries, entries_by_turn
from .prepare.long_loops.fixed_reads import fixed_reads
from .prepare.long_loops.kept_turns import with_kept_turns
from .prepare.long_loops.other_forms.comprehensions import as_loops
from .prepare.long_loops.other_forms.inner_functions import without_inner_functions
from .prepare.long_loops.other_forms.kept_ints import keep_ints, may_keep_ints
from .prepare.long_loops.other_forms.made_anew import arrays_made_anew
from .prepare.long_loops.other_forms.reversed_ranges import without_reversed
from .prepare.long_loops.other_forms.tries import without_tries
from .prepare.long_loops.own_arrays import append_to_own_lists
from .prepare.long_loops.peeled import with_first_values, with_peeled_turns
from .prepare.long_loops.rows_of_tables import rows_of_tables
from .prepare.long_loops.state_arrays.exchanges import with_exchanges
from .prepare.long_loops.state_arrays.states import states_in_place
from .prepare.long_loops.tables import lists_as_tables
from .prepare.long_loops.which_loops import Loop
from .prepare.long_loops.windows import windows_by_turn
from .prepare.loop_exits import LoopExits, tells_of_exits
from .prepare.source import Definition, is_generator
from .prepare.states.none_flags import NoneFlags
from .prepare.states.static_values import StaticValues
from .rules import FIRST_TURN, LONG, REGION, WHOLE_LOOP, Breach, Broken, Place, Resolve, Without
from .uses.climb import Use
from .uses.contexts import Contexts
from .uses.kinds import is_one, is_read
from .uses.known_functions import LookInto, OtherFunctions, known_inner, may_fail
from .variables import NONE, Binding, Liveness, Names, assigned, blocks_of, bound_by, read_first, surely_assigned


class Facts:
    """What is known of a function.

    Args:
        definition: a copy of its node; early exits of branches on data are rewritten in place.
        code: its code, for the names of its variables.
        resolve: the object that a global or built-in name stands for now.
        lines: the lines at which its recordings had guards on bools.
        look_ups: those with guards on whole numbers where it reads entries.
        may_merge: whether the branch at a place may be merged; it was not refused at run time.
        lines_of: those of another code.
        look_into: the node of a function that this one calls, if it may be looked into.
        results_are_data: see Contexts.
        long_loops: the lines of `for` loops of which one turn is recorded.
        modules: the modules that arguments stand for unless they are given, as in `def f(x, np=numpy)`.

    Attributes:
        modules: those of them that the function does not bind otherwise; it asks when it is called whether they are meant.
        body: its statements.
        loops: those that were rewritten.
        all_or_nothing: branches and loops that were rewritten so that they must be merged.
        on_copies: branches that write to copies of arrays, which are paths of a region.
        entries: the long loops of which turns write entries, and what these have become.
        sites: the places that are merged, with the form that they take.
        breaches: why others are not.
        divisors, powers: the extents of divisors and powers of plain numbers which become data.
        beside: the extents of arithmetic with what is a float64 and no plain number.
        stores: the places of assignments that have to be to arrays of float64.
        known_inner: the names of functions in it of which all calls are known.
        has_long_loops: one turn is recorded of some of its loops.
        calls_quotients: it calls functions of which the calls are known, and in which there are quotients or powers.
        gives: numbers that may become data go into functions that it gets from outside.
    """

    def __init__(
        self, definition: Definition, code: CodeType, resolve: Resolve, lines: Collection[int], look_ups: frozenset[int],
        may_merge: Callable[[Place], bool], lines_of: Callable[[CodeType], Collection[int]], look_into: LookInto, results_are_data: bool,
        long_loops: Collection[int] = (), modules: Mapping[str, ModuleType] = {},
    ) -> None:  # fmt: skip
        self._long_loops, self._resolve, self.has_long_loops = long_loops, resolve, bool(long_loops)
        self.modules: dict[str, ModuleType] = {}
        self.code, self._lines, self._look_ups, self.may_merge, self._lines_of = code, lines, look_ups, may_merge, lines_of
        self.variables = frozenset((*code.co_varnames, *code.co_cellvars, *code.co_freevars))
        if long_loops or any(isinstance(part, ast.Nonlocal) for part in walk(definition)):
            self._lines = self._without_inner_functions(definition)
        if not isinstance(definition, ast.Lambda):
            self._lines = written_out(self, definition.body).union(self._lines)
            with_joined_writes(self, definition.body)
        # Those of comprehensions are in codes of their own.
        stored = [n.id for n in walk(definition) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
        self.variables |= frozenset(stored)
        if long_loops:
            with_least_entries(self, body_of(definition), self._is_long)
        taken = Counter(part.arg for part in walk(definition) if isinstance(part, ast.arg))
        self.modules = {name: module for name, module in modules.items() if taken[name] == 1 and name not in stored}
        self.sites: dict[Place, str] = {}
        self.breaches: list[Breach] = []
        self.divisors: set[tuple[int, ...]] = set()
        self.powers: set[tuple[int, ...]] = set()
        self.beside: set[tuple[int, ...]] = set()
        self._count = 0
        self._assigned: dict[ast.stmt, Names] = {}
        self._own = frozenset((*code.co_varnames, *code.co_cellvars)) - self._shared(definition)
        self.arguments = frozenset(part.arg for part in walk(definition.args) if isinstance(part, ast.arg))
        self.loops = LoopExits(self.looks_at_data, may_merge, self._is_range, self._is_long)
        statements = body_of(definition)
        if not isinstance(definition, ast.Lambda):
            statements = desugared(statements, self.resolve, self.looks_at_data, self.is_library, self.is_own)
        check_none_is_left(statements)
        known_before = self.arguments.union(code.co_freevars)
        if long_loops:
            self._lines = without_tries(self, self.resolve, statements, self._is_long).union(self._lines)
            without_reversed(self, statements, self._is_long)
            counted_whiles(self, statements, self._is_long)
            counted_whiles(self, statements, self._is_apart, FIRST_TURN)
            with_counters(self, statements, self._is_apart, FIRST_TURN)
            with_first_turns(self, statements, self._is_apart, self.is_length, code.co_firstlineno, known_before)
            with_counters(self, statements, self._is_long)
            with_exchanges(self, statements, self._is_long)
            with_kept_turns(self, statements, self._is_long, code.co_firstlineno)
            with_first_values(self, statements, self._is_long, code.co_firstlineno, self.arguments.union(code.co_freevars))
            with_peeled_turns(self, statements, self._is_long, code.co_firstlineno)
        if isinstance(definition, ast.FunctionDef):
            statements = ChosenValues(self.looks_at_data, self.is_library).of_function(statements)
        counters = self._counters(statements)
        # A turn that is computed after the end of a loop would hand out values.
        body = statements if is_generator(code) else self.loops.of_function(statements, known_before)
        self._counters_by_place = counters | self.loops.counters
        self.body = EarlyExits(self.looks_at_data).of_function(body)
        own = frozenset(code.co_varnames) - self.arguments - frozenset(code.co_cellvars)
        self._entries_of_containers = self._containers_as_variables(own | frozenset(code.co_cellvars) - self.arguments)
        own |= self._entries_of_containers
        StaticValues(own, self.resolve).of_function(self.body)
        self.body = NoneFlags(own).of_function(self.body)
        if long_loops:
            as_loops(self.body, self._is_long, lambda node: self.is_builtin(node, sum), self.number)
        # Before branches write to copies: an entry that a turn writes on one side of a branch is a variable.
        self.entries = self._entries_by_turn() if long_loops else {}
        writes = Writes(self._is_merged, self._may_copy, self.resolve)
        self.body = writes.of_function(self.body, self.arguments.union(code.co_freevars))
        self.variables |= writes.parts
        self.all_or_nothing, self.on_copies = self.loops.made | writes.made, writes.on_copies
        parts = [node for statement in self.body for node in walk(statement)]
        inner, others = known_inner(parts), OtherFunctions(parts, self.resolve, resolve, look_into)
        self.known_inner = frozenset(known.name for known in inner if isinstance(known.function, ast.FunctionDef))
        self.calls_quotients = others.divide or any(may_fail(known.function) for known in inner if known.name in self.known_inner)
        given = known_before - frozenset(name for name in stored if name not in code.co_freevars)
        self._contexts = Contexts(parts, self.resolve, may_merge, own, given, inner, others, results_are_data)
        self.gives = self._contexts.gives
        self.stores = {(store.lineno, store.col_offset) for store in self._contexts.stores}
        self.live = Liveness(self.body)
        self.bound = Binding(self.body, self.arguments.union(code.co_freevars)).before

    def _without_inner_functions(self, definition: Definition) -> Collection[int]:
        """Make functions that assign to variables of this one part of it where they are called; the lines that look at data."""
        inner = {(code.co_name, code.co_firstlineno): code for code in self.code.co_consts if isinstance(code, CodeType)}

        def lines_of(node: ast.FunctionDef) -> Collection[int]:
            code = inner.get((node.name, node.lineno))
            return self._lines_of(code) if code is not None else ()

        lines = set(self._lines)
        for node in without_inner_functions(body_of(definition), self._is_long, lambda node: bool(lines_of(node)), self.is_library):
            lines.update(lines_of(node))
            lines.update(part.test.lineno for part in walk(node) if isinstance(part, (ast.If, ast.IfExp)))
        return lines

    def _counters(self, body: Sequence[ast.stmt]) -> dict[Place, tuple[Place, str]]:
        """The `while` loops that count their turns, with their places and the variables that count."""
        found: dict[Place, tuple[Place, str]] = {}
        for node in (part for statement in body for part in walk(statement) if isinstance(part, ast.While)):
            count = surely_counted(self, node)
            if count is not None:
                found[node.lineno, node.col_offset] = (node.lineno, node.col_offset), count.name
        return found

    def counter_of(self, node: ast.While) -> tuple[Place, str, ast.expr, ast.expr] | None:
        """How a loop that data ends counts its turns, if it may turn out to be long.

        Returns:
            Where it stands, the variable that counts, up to where, and by which steps.
        """
        known = self._counters_by_place.get((node.lineno, node.col_offset))
        if known is None or known[0][0] in self._long_loops or not self.may_merge((*known[0], LONG)):
            return None
        found = end_and_step(node, known[1])
        return None if found is None else (*known, *found)

    def _entries_by_turn(self) -> dict[ast.For, TurnEntries]:
        """The long loops of which turns write entries of arrays and lists."""
        found: dict[ast.For, TurnEntries] = {}
        pending, loops = [self.body], list[ast.For]()
        while pending:
            block = pending.pop()
            for k in range(len(block) - 1, -1, -1):
                node = block[k]
                if isinstance(node, ast.For) and self.is_long(node):
                    loops.append(node)
                    arrays_made_anew(self, node)
                    before, after = rows_of_tables(self, node)
                    states = states_in_place(self, node, node in self.loops.stopped)
                    before, after = before + states[0], after + states[1]
                    try:
                        windows_by_turn(self, node)
                        made = entries_by_turn(self, node)
                    except Broken as broken:
                        raise Without((node.lineno, node.col_offset, LONG), broken.breach) from broken
                    before += [] if made is None else made.before
                    block[k : k + 1] = [*before, *fixed_reads(self, node), *lists_as_tables(self, node), node, *after]
                    if made is not None:
                        found[node] = made
                pending += blocks_of(node)
        for node in loops:
            append_to_own_lists(self, node)
        return found

    def is_own(self, name: str) -> bool:
        """Whether a variable is this function's, and no other one sees it."""
        return name in self._own or name.startswith(".")

    def is_of_program(self, name: str) -> bool:
        """Whether a variable holds what a variable of the program does, or an entry of one: an array or list may have both names."""
        return not name.startswith(".") or name in self._entries_of_containers

    def _shared(self, definition: Definition) -> Names:
        """The variables that inner functions may see later, or assign to: those of comprehensions, and of generators that a built-in
        function takes, see them at once."""
        parts = [n for n in walk(definition) if n is not definition]
        taken = {n.args[0] for n in parts if self.is_builtin(n, *_TAKE_ALL) and n.args}  # type: ignore[arg-type, attr-defined]  # a call
        seen = {part for n in parts if isinstance(n, _LATER) and n not in taken for part in walk(n)}
        names = {part.id for part in seen if isinstance(part, ast.Name)}
        names.update(*(part.names for part in seen if isinstance(part, ast.Nonlocal)))
        return frozenset(self.code.co_cellvars) & names

    def _containers_as_variables(self, names: Names) -> Names:
        """Replace lists, dicts and objects that are the function's own by variables; these."""
        known = self.resolve, self.is_builtin, self.looks_at_data, self.may_merge, self._lines_of, self.code.co_filename, self._is_long
        scope = Scope(names, *known, self.is_library)
        if self.has_long_loops and may_keep_ints(self.body, self._is_long):
            keep_ints(self.body, self._is_long, WholeNumbers(self.body, scope, lambda _: None).is_whole)
        found = containers_as_variables(self.body, scope)
        self.body, made = found.body, found.made
        self._lines = found.lines.union(self._lines)
        self.breaches += found.breaches
        self.variables |= made
        return made

    def _is_merged(self, node: ast.If | ast.While) -> bool:
        return self.looks_at_data(node.test) and self.may_merge((node.lineno, node.col_offset))

    def _may_copy(self, node: ast.If | ast.While) -> bool:
        return self.looks_at_data(node.test) and self.may_merge((node.lineno, node.col_offset, REGION))

    def resolve(self, name: str) -> object:
        """The object that a name stands for now; None for variables."""
        return self.modules.get(name) if name in self.variables else self._resolve(name)

    def is_builtin(self, node: ast.expr, *wanted: object) -> bool:
        """Whether an expression is a call of one of these functions, by its name."""
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and is_one(self.resolve(node.func.id), wanted)

    def is_numpy(self, node: ast.expr) -> bool:
        """Whether an expression is the name of NumPy."""
        return isinstance(node, ast.Name) and self.resolve(node.id) is np

    def is_length(self, node: ast.Call) -> bool:
        """Whether a call is len(variable)."""
        return self.is_builtin(node, len) and len(node.args) == 1 and isinstance(node.args[0], ast.Name) and not node.keywords

    def _is_range(self, node: ast.expr) -> bool:
        return self.is_builtin(node, range) and isinstance(node, ast.Call) and not node.keywords and 1 <= len(node.args) <= 2

    def looks_at_data(self, node: ast.expr) -> bool:
        """Whether recordings had a guard in an expression."""
        return any(line in self._lines for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))

    def looks_up(self, node: ast.expr) -> bool:
        """Whether an entry is read at what is no constant, in a function of which recordings had guards on whole numbers where it does so.

        A side that no recording has reached may do it as well.
        """
        return bool(self._look_ups) and is_read(node)

    def had_look_up(self, node: ast.expr) -> bool:
        """Whether a recording had such a guard in the lines of an expression."""
        return not self._look_ups.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1))

    def number(self) -> int:
        """A new number, for names."""
        self._count += 1
        return self._count

    def use_of(self, names: Names, nodes: Iterable[ast.expr] = ()) -> Use:
        """How variables and expressions are used; divisors among the uses are checked at run time."""
        # Nothing but the rewriting asks for what tells of exits.
        use = self._contexts.use_of(frozenset(name for name in names if not tells_of_exits(name)), nodes)
        if use.as_float:
            self.divisors |= use.divisors
            self.powers |= use.powers
            self.beside |= use.beside
        return use

    def assigned_by(self, node: ast.stmt) -> Names:
        """The names that a statement may bind."""
        if node not in self._assigned:
            parts = [*node.body, *node.orelse] if isinstance(node, ast.If) else []
            own = assigned([node.test] if isinstance(node, ast.If) else [node])
            self._assigned[node] = own.union(*map(self.assigned_by, parts))
        return self._assigned[node]

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._contexts.parent(node)

    def outcome(self, node: ast.If) -> Names:
        """The variables that a branch assigns and what follows may read.

        Raises:
            Broken: one of them may be unbound, or is shared with an inner function.
        """
        self.require_own([node], node)
        wanted = self.assigned_by(node) & self.live.after[node]
        bound, after = self.bound.get(node), bound_by([node])
        for name in sorted(wanted):
            if not (bound is not None and name in bound) and not (after is not None and name in after):
                raise Broken("bound", node, f"{name} may have no value after it")
        self.require_bound(read_first([node]), node)
        return wanted

    def is_long(self, node: ast.For) -> bool:
        """Whether one turn of a loop is recorded in place of them all."""
        return self._is_long(node)

    def _is_long(self, node: Loop) -> bool:
        if node.lineno not in self._long_loops or not self.may_merge((node.lineno, node.col_offset, LONG)):
            return False
        return not self._is_apart(node)

    def _is_apart(self, node: Loop, turns: int = 0) -> bool:
        """Whether a long loop was refused as it is, and may be one of which the first turns are recorded by themselves.

        Args:
            turns: how many of them are apart already.
        """
        line, column = node.lineno, node.col_offset
        if line not in self._long_loops:
            return False
        for k in range(turns, MOST_TURNS):
            if self._is_whole(line, column):
                return k > turns
            if not self.may_merge((line, column, FIRST_TURN)):
                return False
            column += 1
        return self._is_whole(line, column)

    def _is_whole(self, line: int, column: int) -> bool:
        return self.may_merge((line, column, LONG)) and self.may_merge((line, column, WHOLE_LOOP))

    def handed_on(self, node: ast.For) -> tuple[list[str], list[str]]:
        """The variables that a turn hands to the next one or to what follows, and those of them that have no value before it.

        Raises:
            Broken: as `outcome`.
        """
        self.require_own([node], node)
        targets = surely_assigned(node.target)
        first = read_first(node.body) - targets
        found = (assigned(node.body) | targets) & (self.live.after[node] | first)
        bound = self.bound.get(node) or NONE
        new = ((bound_by(node.body) or NONE) | targets) & self.live.after[node] - bound - first
        self.require_bound((found | first) - new, node)
        return sorted(found), sorted(new)

    def carried(self, node: ast.While) -> list[str]:
        """The variables that a turn of a loop hands to the next one or to what follows.

        Raises:
            Broken: as `outcome`.
        """
        self.require_own(node.body, node)
        for name in {part.id for part in walk(node) if isinstance(part, ast.Name)} - self.variables:
            if not name.startswith(".") and self._resolve(name) is None:
                raise Broken("bound", node, f"{name} has no value")  # if no turn is recorded now, nothing would say so
        first = read_first([node])
        found = assigned(node.body) & (self.live.after[node] | first)
        self.require_bound(found | first, node)
        return sorted(found)

    def require_own(self, body: Sequence[ast.stmt], node: ast.stmt) -> None:
        """Raise Broken if statements assign to variables that inner functions see."""
        for name in sorted(NONE.union(*map(self.assigned_by, body))):
            if not name.startswith(".") and name not in self._own:
                raise Broken("shared", node, f"{name} is shared with another function")

    def require_bound(self, names: Names, node: ast.stmt) -> None:
        """Raise Broken if one of the variables may be unbound before a statement."""
        bound = self.bound.get(node)
        for name in sorted(names & self.variables):
            if bound is None or name not in bound:
                raise Broken("bound", node, f"{name} may have no value before it")

    def is_library(self, function: ast.expr) -> bool:
        """Whether a function is surely none of the user's."""
        if is_least_at(function):
            return True
        while isinstance(function, ast.Attribute):
            function = function.value
        if not isinstance(function, ast.Name):
            return False
        found = self.resolve(function.id)
        module = found.__name__ if isinstance(found, ModuleType) else getattr(found, "__module__", None)
        return found is not None and str(module).partition(".")[0] in ("numpy", "scipy", "math", "builtins", "tapediff")


# What sees the variables around it when it is called, or assigns to them.
_LATER = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.GeneratorExp, ast.NamedExpr)
_TAKE_ALL: tuple[Callable[..., object], ...] = (sum, min, max, any, all, list, tuple, set, frozenset, dict, sorted)


def body_of(definition: Definition) -> list[ast.stmt]:
    """The statements of a function."""
    if isinstance(definition, ast.Lambda):
        return [ast.copy_location(ast.Return(definition.body), definition.body)]
    return definition.body
