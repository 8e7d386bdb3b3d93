"""How values are used: whether a plain number may become data without a difference to the program."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..nodes import children, extent, walk
from ..rules import Place, Resolve, with_lines
from ..variables import (
    Flows,
    Names,
    assigned,
    flows_of,
    makes_a_float,
    names_outside_indices,
    reads_of_ints,
    reads_of_values,
    reads_within,
)
from .climb import Climb, Use
from .flows import FlowGraph
from .kinds import appended_value, base_of_store, is_store, kind_of_call, lists_among, same_lists
from .known_functions import Known, OtherFunctions, flows_through


def flags(use: Use, further: int = 0) -> ast.expr:
    """What may be chosen, as a number; see rules.py."""
    needed = use.needed
    floats, ints, bools = (not line for line in needed)
    found = floats * 1 + ints * 2 + bools * 4 + use.ints_as_floats * 8 + use.products * 16 + further
    return ast.Constant(with_lines(found, needed))


class _Totals(NamedTuple):
    """Of variables, what their uses ask for and those of all variables that they go into; and what more if they are ints."""

    of_all: Callable[[Names], Use]
    of_ints: Callable[[Names], Use]

    def of(self, names: Names) -> Use:
        return self.of_all(names) | self.of_ints(names)


class Contexts:
    """The uses of variables and expressions in the body of a function.

    Args:
        may_be: whether what stands at a place may be taken for what it mostly is, as it was not found to be something else: an assignment
            to entries for one to an array of float64, arithmetic for that with a float64 which is no plain number.
        own: variables that nothing else than the body sees; given: those that it gets from outside.
        inner: the functions in the body of which all calls are known.
        others: the global functions that it calls.
        results_are_data: whoever calls the function gets its results as data in any case.

    Attributes:
        stores: assignments that are taken for such: what a value was is not to be seen any more then.
    """

    def __init__(
        self, parts: list[ast.AST], resolve: Resolve, may_be: Callable[[Place], bool], own: Names, given: Names, inner: Sequence[Known],
        others: OtherFunctions, results_are_data: bool = False,
    ) -> None:  # fmt: skip
        lists = lists_among(parts, own)
        stores = [n for n in parts if isinstance(n, ast.stmt) and is_store(n) and base_of_store(n) not in lists]
        self.stores = {n for n in stores if may_be((n.lineno, n.col_offset))}
        self._parts, self._may_be, self._lists = parts, may_be, lists
        self._functions = [*inner, *others.known]
        # By argument the variable that gets it; and by a statement that gives a result the name of the function.
        self._variable_of: dict[ast.AST, str] = {argument: name for known in self._functions for argument, name in known.given.items()}
        self._name_of: dict[ast.AST, str] = {end: known.name for known in self._functions for end in known.returns}
        self._parents: dict[ast.AST, ast.AST] = {}
        self._uses: dict[Names, Use] = {}
        self._loads: list[ast.Name] = []
        # As they are before anything is rewritten.
        self._kinds: dict[ast.Call, str] = {}
        # Sides of branches are rewritten as copies of their expressions, which have kept their places.
        self._all_parts = [*parts, *others.parts]
        theirs = frozenset(node.arg for node in others.parts if isinstance(node, ast.arg))
        for nodes, resolved, arguments in ((parts, resolve, given), (others.parts, others.resolve, theirs)):
            for node in nodes:
                for child in children(node):
                    self._parents[child] = node
                if isinstance(node, ast.Call):
                    self._kinds[node] = kind_of_call(node, resolved, arguments)
                if isinstance(node, ast.Name) and (isinstance(node.ctx, ast.Load) or isinstance(self._parents.get(node), ast.AugAssign)):
                    self._loads.append(node)
        self._placed = {extent(node): node for node in parts if isinstance(node, (ast.Call, ast.IfExp))}
        self._candidates = self._found_candidates()
        ints = FlowGraph(self._flows_of(reads_of_ints))
        in_functions = {part for node in parts if isinstance(node, ast.FunctionDef) for part in walk(node)}
        results = {node for node in parts if isinstance(node, ast.Return) and results_are_data} - in_functions
        self._climb = Climb(self._parents, self._kinds, self.stores, lists, results, self._functions, self._variable_of, ints)
        flows = self._flows_of(reads_of_values) + flows_through(self._functions, reads_of_values)
        self._totals = self._totalled(FlowGraph(flows), ints, _NONE)
        self._totals_beside: _Totals | None = None

    def _flows_of(self, reads: Callable[[ast.AST], Names]) -> Flows:
        appended = [found for node in self._parts if (found := appended_value(node)) is not None and found[0] in self._lists]
        into_lists = [(reads(value), frozenset([name])) for name, value in appended]
        return flows_of(self._all_parts, reads, self.stores) + into_lists + same_lists(self._parts, self._lists)

    def _totalled(self, flows: FlowGraph, ints: FlowGraph, beside: frozenset[ast.AST]) -> _Totals:
        of_all: dict[str, Use] = {}
        of_ints: dict[str, Use] = {}
        for node in self._loads:
            first, second = self._climb.uses_of(node, beside)
            of_all[node.id] = of_all.get(node.id, _NOTHING) | first
            of_ints[node.id] = of_ints.get(node.id, _NOTHING) | second
        return _Totals(flows.totals(of_all, Use.__or__, _NOTHING), ints.totals(of_ints, Use.__or__, _NOTHING))

    def _beside(self) -> _Totals:
        """What is asked for where arithmetic may be with a float64: it is looked for only where all else fails."""
        if self._totals_beside is None:
            ends = self._candidates
            values = lambda node: reads_within(node, lambda part: part in ends)  # noqa: E731 -- used in the next lines
            ints = lambda node: reads_within(node, lambda part: part in ends or makes_a_float(part))  # noqa: E731 -- used in the next lines
            flows = FlowGraph(self._flows_of(values) + flows_through(self._functions, values))
            self._totals_beside = self._totalled(flows, FlowGraph(self._flows_of(ints)), ends)
        return self._totals_beside

    @property
    def gives(self) -> bool:
        """See Climb."""
        return self._climb.gives

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(node)

    def use_of(self, names: Names, nodes: Iterable[ast.expr] = ()) -> Use:
        """The uses of variables, of those that are computed from them, and of expressions."""
        nodes = tuple(nodes)
        if not nodes and names in self._uses:
            return self._uses[names]
        use = self._found(names, nodes, self._totals, _NONE)
        is_mixed = bool(use.needed[1])
        if (not use.as_float or is_mixed) and self._candidates:
            other = self._found(names, nodes, self._beside(), self._candidates)
            use = other if other.as_float and not (is_mixed and other.needed[1]) else use
        if not nodes:
            self._uses[names] = use
        return use

    def _found_candidates(self) -> frozenset[ast.AST]:
        """Arithmetic that may be with a float64 which is no plain number: its result is then no plain number either."""
        inner = {n for f in self._parts if isinstance(f, (ast.Lambda, ast.FunctionDef)) for n in walk(f)}
        return frozenset(n for n in self._parts if isinstance(n, ast.BinOp) and n not in inner and self._may_be_beside(n))

    def _may_be_beside(self, node: ast.BinOp) -> bool:
        if not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)) or not self._may_be(extent(node)):
            return False
        if any(isinstance(side, (ast.Constant, ast.Compare, ast.BoolOp)) for side in (node.left, node.right)):
            return False
        # `x = x + ...` may be rewritten as steps.
        first: ast.AST = node
        while isinstance(first, ast.BinOp) and isinstance(first.op, (ast.Add, ast.Sub, ast.Mult)):
            first = first.left
        top = self._parents.get(node)
        while isinstance(top, ast.BinOp):
            top = self._parents.get(top)
        targets = assigned([top]) if isinstance(top, (ast.Assign, ast.AnnAssign)) else ()
        return not (isinstance(first, ast.Name) and first.id in targets)

    def _found(self, names: Names, nodes: Iterable[ast.expr], totals: _Totals, beside: frozenset[ast.AST]) -> Use:
        """The uses of variables and expressions. `beside`: arithmetic that is taken for that with a float64."""
        found = _NOTHING
        for node in nodes:
            node = node if node in self._parents else self._placed.get(extent(node), node)
            names |= self._assigned_from(node, beside)
            found = found | self._climb.uses_of(node, beside)[0]
        return found | totals.of(names)

    def _assigned_from(self, node: ast.AST, beside: frozenset[ast.AST]) -> Names:
        """The variables that an expression's value may go into."""
        found: set[str] = set()
        while node in self._parents and not isinstance(node, ast.stmt):
            if node in self._variable_of:
                found.add(self._variable_of[node])
            node = self._parents[node]
            if node in beside:
                break
            if node in self._name_of:
                found.add(self._name_of[node])
            if isinstance(node, ast.Call) and self._kinds[node] != "number":
                break  # which gives something else than plain numbers, or asks for more of them than to be that
            targets = [] if node in self.stores else [*getattr(node, "targets", ()), getattr(node, "target", None)]
            found = found.union(*(names_outside_indices(target) for target in targets if target is not None))
        return frozenset(found)


_NONE: frozenset[ast.AST] = frozenset()
_NOTHING = Use()
