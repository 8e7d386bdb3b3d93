"""What one use of a value asks of it: from where it stands up to the statement, the call or the test that its expression ends in."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ..nodes import children, extent, walk
from ..rules import COMPARISONS
from ..variables import Names, each_assigned, makes_a_float
from .flows import FlowGraph
from .kinds import GIVEN, appended_value, asks_for_none, never_divides_by_zero
from .known_functions import Known

LARGEST_EXPONENT = 4

# Line, column, and those of its end.
Extent: TypeAlias = tuple[int, ...]

# What uses may ask for.
NO_FLOAT, NO_BOOL, SIGN, DIVIDES, RETURNED, MAY_GROW, PRODUCT, NEGATED, NUMPYS = range(9)


@dataclass
class Use:
    """What the uses of some values ask of them.

    Attributes:
        lines: for what is asked for, the first line that does. NO_FLOAT: not only arithmetic, comparisons and functions of NumPy see them,
            for which a float64 is not as good as a Python number. NO_BOOL: others than tests see them. SIGN: something asks for the
            sign of zero. DIVIDES: a divisor may be one of them. RETURNED: they may be among the results. MAY_GROW: an int is computed from
            itself so that it may become larger than 2**53, beyond which float64 is not exact. PRODUCT: ints are multiplied with each
            other. NEGATED: an int is, so that it may be -0.0 as a float. NUMPYS: one of NumPy's functions does something else with ints
            than with floats.
        divisors: the operands of `/` that may be one of them.
        powers: those of `**`, with other exponents than small integers.
        beside: arithmetic of which one side has to be a float64, or an array of them, that is no plain number.
    """

    lines: dict[int, int] = field(default_factory=dict)
    divisors: frozenset[Extent] = frozenset()
    powers: frozenset[Extent] = frozenset()
    beside: frozenset[Extent] = frozenset()

    def __or__(self, other: Use) -> Use:
        """What both ask for; one of them, if it has all of it."""
        if not (other.lines or other.divisors or other.powers or other.beside):
            return self
        lines = dict(self.lines)
        for what, line in other.lines.items():
            lines[what] = min(line, lines.get(what, line))
        return Use(lines, self.divisors | other.divisors, self.powers | other.powers, self.beside | other.beside)

    @property
    def as_float(self) -> bool:
        return NO_FLOAT not in self.lines

    @property
    def as_condition(self) -> bool:
        """Whether only tests see them."""
        return NO_BOOL not in self.lines and RETURNED not in self.lines

    @property
    def products(self) -> bool:
        return PRODUCT in self.lines

    @property
    def _as_other_number(self) -> int:
        """The first line for which a float64 does not do as well as an int, where other ints or floats take its place; 0 if none."""
        signs = [self.lines[what] for what in (SIGN, DIVIDES) if what in self.lines]
        zero = [max(self.lines[NEGATED], min(signs))] if signs and NEGATED in self.lines else []
        return min([*zero, *(self.lines[what] for what in (NO_FLOAT, NUMPYS) if what in self.lines)], default=0)

    @property
    def ints_as_floats(self) -> bool:
        """Whether a float64 does as well as an int, where other ints or floats take its place."""
        return not self._as_other_number

    @property
    def needed(self) -> tuple[int, int, int]:
        """The first lines that need floats, ints and bools to stay what they are; 0 where none does."""
        first = lambda *asked: min((self.lines[what] for what in asked if what in self.lines), default=0)  # noqa: E731 -- used below
        ints = [line for line in (self._as_other_number, first(RETURNED, MAY_GROW)) if line]
        return first(NO_FLOAT), min(ints, default=0), first(NO_BOOL, RETURNED)


class Climb:
    """Follows values from their uses to where the expressions around these end.

    Args:
        parents: of the nodes of a function, as it is before anything is rewritten.
        kinds: of calls.
        stores: assignments that are taken for such to arrays of float64.
        lists: variables that are lists which nothing else sees; their uses are those of what is put into them.
        results: returns of what is data for the caller in any case.
        functions: those of which the calls are known.
        variable_of: by argument of a call of those, the variable that gets it.
        ints: where ints go by assignments.

    Attributes:
        gives: what has been followed goes into a function that is given: it has to be rewritten where it is called, and what comes out of
            it may be a plain number that has become data.
    """

    def __init__(
        self, parents: Mapping[ast.AST, ast.AST], kinds: Mapping[ast.Call, str], stores: Collection[ast.AST], lists: Names,
        results: Collection[ast.AST], functions: Collection[Known], variable_of: Mapping[ast.AST, str], ints: FlowGraph,
    ) -> None:  # fmt: skip
        self._parents, self._kinds, self._stores, self._lists, self._results = parents, kinds, stores, lists, results
        self._variable_of, self._ints = variable_of, ints
        # By the node at which the result of such a function stands, the calls.
        self._calls: dict[ast.AST, list[ast.Call]] = {
            end: known.calls for known in functions for end in (known.function, *known.returns)
        }
        self._callees: set[ast.AST] = {call.func for known in functions for call in known.calls}
        self._right = {node: node.right for node in parents if isinstance(node, ast.BinOp)}
        self._line, self._beside, self.gives = 0, frozenset[ast.AST](), False
        self._use = self._of_ints = Use()

    def uses_of(self, node: ast.AST, beside: frozenset[ast.AST]) -> tuple[Use, Use]:
        """What the use of a value asks for; and what more if an int may be there.

        Args:
            beside: arithmetic that is taken for that with a float64.
        """
        self._line, self._beside = self._line_of(node), beside
        # Of other expressions than variables it is not known.
        use = self._use = self._of_ints = Use()
        of_ints = self._of_ints = Use() if isinstance(node, ast.Name) else use
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            self._assigned_in_place(node)
        else:
            self._climb(node)
        return use, of_ints

    def _line_of(self, node: ast.AST | None) -> int:
        """The line of a node, or that of the first around it that has one: 0 stands for no line."""
        while node is not None and not hasattr(node, "lineno"):
            node = self._parents.get(node)
        return getattr(node, "lineno", 1)

    def _note(self, what: int, is_so: bool = True) -> None:
        if is_so:
            self._use.lines[what] = self._line

    def _note_of_ints(self, *asked: int) -> None:
        for what in asked:
            self._of_ints.lines[what] = self._line

    def _assigned_in_place(self, node: ast.Name) -> None:
        parent = self._parents[node]
        assert isinstance(parent, ast.AugAssign)
        self._note(NO_BOOL)
        self._note(NO_FLOAT, not isinstance(parent.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)))
        if isinstance(parent.op, ast.Mult):
            self._note_of_ints(MAY_GROW, PRODUCT, NEGATED)

    def _climb(self, node: ast.AST) -> None:
        """Follow a value to where its expression ends; the result of a function goes on at the calls of it."""
        pending, seen = [node], set[ast.AST]()
        while pending:
            end = self._climb_expression(pending.pop())
            calls = self._calls.get(end, ()) if end is not None else ()
            self._of_ints = self._use
            pending += [call for call in calls if call not in seen]
            seen.update(calls)

    def _climb_expression(self, node: ast.AST) -> ast.AST | None:
        """Follow a value to where its expression ends; the lambda or statement that gives it, if one does."""
        may_be_int, is_product = True, False
        name = node.id if isinstance(node, ast.Name) else ""
        part: ast.AST = node
        while True:
            parent = self._parents.get(node)
            if isinstance(parent, ast.keyword) and node in self._variable_of:
                parent = self._parents[parent]
            if self._is_append(parent, node):
                return None  # what is appended is among the entries of the list
            if isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Call)):
                if not self._goes_on(parent, node, may_be_int):
                    return None
                may_be_int = may_be_int and not (isinstance(parent, ast.BinOp) and makes_a_float(parent))
                is_product |= isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mult, ast.Pow))
            elif isinstance(parent, (ast.Lambda, ast.Return)) and parent in self._calls:
                return parent
            elif isinstance(parent, ast.Subscript) and node is parent.value and not isinstance(parent.ctx, ast.Del):
                # An entry of a list that holds it; what is put into an entry takes its place.
                if isinstance(self._parents.get(parent), ast.Assign) and isinstance(parent.ctx, ast.Store):
                    return None
            elif not isinstance(parent, _HOLD_IT) or self._is_test(parent, node):
                # The elements of a tuple or list are assigned, returned, or something else.
                if may_be_int and isinstance(parent, (ast.Assign, ast.AugAssign)):
                    if self._may_grow(parent, part if isinstance(node, ast.Tuple) else node, name, is_product):
                        self._note_of_ints(MAY_GROW)
                self._end(parent, may_be_int)
                return None
            part, node = node, parent

    def _is_append(self, parent: ast.AST | None, node: ast.AST) -> bool:
        """Whether something is appended to a list that nothing else sees: the node, or what stands after it."""
        if isinstance(parent, ast.Attribute) and isinstance(node, ast.Name):
            parent = self._parents.get(parent)
            return parent is not None and (found := appended_value(parent)) is not None and found[0] == node.id in self._lists
        return parent is not None and (found := appended_value(parent)) is not None and found[0] in self._lists and node is found[1]

    def _may_grow(self, statement: ast.Assign | ast.AugAssign, value: ast.AST, name: str, is_product: bool) -> bool:
        """Whether an int is computed from itself by more than adding to it. `value`: of the assignment, or a part of its tuple."""
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        pairs = each_assigned(targets, statement.value)
        of_part = [(target, given) for target, given in pairs if given is value] or [(target, statement.value) for target in targets]
        assigned = frozenset(part.id for target, _ in of_part for part in walk(target) if isinstance(part, ast.Name))
        is_own = self._ints.reaches(assigned)
        if not is_own(name):
            return False
        return is_product or _terms(of_part[0][1], is_own) + isinstance(statement, ast.AugAssign) > 1

    def _goes_on(self, parent: ast.BinOp | ast.UnaryOp | ast.Call, node: ast.AST, may_be_int: bool) -> bool:
        """Note an operation on a value; whether its result may still be a plain number."""
        if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
            return False
        if isinstance(parent, ast.Call) and self._kinds[parent] == "array":
            self._note(SIGN)
            return False
        self._note(NO_BOOL)
        if parent in self._beside:
            self._use.beside |= {extent(parent)}
            return False
        if isinstance(parent, ast.Call):
            kind = self._kinds[parent]
            if kind == "number":
                return True
            if kind == "index":
                self._note(NO_FLOAT, node is not parent.args[1])
                return False
            # Variables of such functions are among those that are looked at.
            is_known = node in self._variable_of or node in self._callees or kind == GIVEN
            self.gives |= kind == GIVEN and node is not parent.func
            if may_be_int and (is_known or kind == "numpy"):
                self._note_of_ints(NUMPYS)
            self._note(NO_FLOAT, not is_known and kind == "" and node is not parent.func)
            self._note(SIGN, not is_known and kind == "sign")
            return False
        is_negative = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub)
        is_product = isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mult, ast.Pow)) and not self._has_a_float(parent)
        if may_be_int and (is_negative or is_product):
            self._note_of_ints(NEGATED, *([PRODUCT] if is_product else []))
        if isinstance(parent, ast.UnaryOp):
            self._note(NO_FLOAT, not isinstance(parent.op, (ast.USub, ast.UAdd)))
        else:
            self._note(NO_FLOAT, not self._is_arithmetic(parent, node))
        return True

    def _is_test(self, parent: ast.AST, node: ast.AST) -> bool:
        return isinstance(parent, ast.IfExp) and node is parent.test

    def _end(self, parent: ast.AST | None, may_be_int: bool) -> None:
        """Note where the expression that a value is part of ends."""
        if parent in self._stores:
            self._note(SIGN)
            return
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target] if isinstance(parent, ast.AnnAssign) else []
        is_kept_elsewhere = any(map(self._is_kept_elsewhere, targets))
        if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assign, ast.AnnAssign)) and not is_kept_elsewhere:
            return
        if isinstance(parent, (ast.For, ast.comprehension)):
            return  # their variables are among those that are looked at
        if isinstance(parent, ast.Return):
            if may_be_int and parent not in self._results:
                self._note_of_ints(RETURNED)
            return
        if isinstance(parent, ast.Compare) and asks_for_none(parent):
            return
        self._note(NO_BOOL)
        if isinstance(parent, ast.AugAssign):
            if isinstance(parent.op, ast.Div):
                self._divides(parent.value)
            self._note(NO_FLOAT, not isinstance(parent.op, (ast.Div, ast.Add, ast.Sub, ast.Mult)))
        else:
            self._note(NO_FLOAT, not isinstance(parent, ast.Compare) or not all(isinstance(op, COMPARISONS) for op in parent.ops))

    def _is_kept_elsewhere(self, target: ast.expr) -> bool:
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id in self._lists:
            return False
        if isinstance(target, ast.Tuple):
            return any(map(self._is_kept_elsewhere, target.elts))
        return any(isinstance(part, (ast.Attribute, ast.Subscript)) for part in walk(target))

    def _divides(self, divisor: ast.expr) -> None:
        self._note(DIVIDES)
        self._use.divisors |= {extent(divisor)}

    def _is_arithmetic(self, parent: ast.BinOp, node: ast.AST) -> bool:
        # Numbers have no product of matrices, plain or not.
        if isinstance(parent.op, (ast.Add, ast.Sub, ast.Mult, ast.MatMult)):
            return True
        if isinstance(parent.op, ast.Div):
            if node is self._right[parent]:
                self._divides(self._right[parent])
            return True
        if isinstance(parent.op, (ast.Mod, ast.FloorDiv)):
            return node is not self._right[parent] and never_divides_by_zero(parent)
        right = self._right[parent]
        exponent = right.value if isinstance(right, ast.Constant) else None
        if isinstance(parent.op, ast.Pow) and not (type(exponent) is int and 1 <= exponent <= LARGEST_EXPONENT):
            self._use.powers |= {extent(parent)}
        return isinstance(parent.op, ast.Pow)

    def _has_a_float(self, node: ast.BinOp) -> bool:
        return any(isinstance(side, ast.Constant) and type(side.value) is float for side in (node.left, self._right[node]))


def _terms(node: ast.AST, is_own: Callable[[str], bool]) -> int:
    """How many times variables may go into the value of an expression: what it is chosen by does not, and one side of it does."""
    terms: dict[ast.AST, int] = {}
    for part in reversed(walk(node)):
        if isinstance(part, ast.Name):
            terms[part] = is_own(part.id)
        elif isinstance(part, ast.IfExp):
            terms[part] = max(terms[part.body], terms[part.orelse])
        else:
            terms[part] = 0 if isinstance(part, ast.Compare) else sum([terms[inner] for inner in children(part)])
    return terms[node]


# Expressions whose value may be one of those in them, or holds it.
_HOLD_IT = (ast.BoolOp, ast.Tuple, ast.List, ast.ListComp, ast.GeneratorExp, ast.IfExp)
