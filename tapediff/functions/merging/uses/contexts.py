"""How values are used: whether a plain number may become data without a difference to the program."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ..nodes import children, extent, is_one_of_entries, walk
from ..rules import COMPARISONS, Place, Resolve, with_lines
from ..variables import (
    Flows,
    Names,
    assigned,
    derived,
    each_assigned,
    flows_of,
    makes_a_float,
    reads_of_ints,
    reads_of_values,
    reads_within,
)
from .kinds import asks_for_none, is_store, kind_of_call
from .lambdas import flows_into, known_lambdas

LARGEST_EXPONENT = 4


@dataclass
class Use:
    """What the uses of some values ask of them.

    Attributes:
        as_float: only arithmetic, comparisons and NumPy's functions see them, so that a float64 does as well as a Python number.
        as_bool: only tests see them.
        returned: they may be among the results.
        divisors: the operands of `/` that may be one of them.
        powers: those of `**`, with other exponents than small integers.
        may_grow: an int is computed from itself so that it may become larger than 2**53, beyond which float64 is not exact.
        products: ints are multiplied with each other.
        negated: an int is, so that it may be -0.0 as a float.
        asks_sign: something asks for the sign of zero.
        as_int: one of NumPy's functions does something else with ints than with floats.
        beside: arithmetic of which one side has to be a float64, or an array of them, that is no plain number.
        lines: the first that need floats, ints and bools to stay what they are; 0 where none does.
    """

    as_float: bool = True
    as_bool: bool = True
    returned: bool = False
    divisors: list[ast.expr] = field(default_factory=list)
    powers: list[ast.BinOp] = field(default_factory=list)
    may_grow: bool = False
    products: bool = False
    negated: bool = False
    asks_sign: bool = False
    as_int: bool = False
    beside: set[ast.BinOp] = field(default_factory=set)
    lines: tuple[int, int, int] = (0, 0, 0)

    @property
    def allowed(self) -> tuple[bool, bool, bool]:
        """Whether floats, ints and bools may become data."""
        ints = self.ints_as_floats and not self.returned and not self.may_grow
        return self.as_float, ints, self.as_bool and not self.returned

    @property
    def ints_as_floats(self) -> bool:
        """Whether a float64 does as well as an int, where other ints or floats take its place."""
        return self.as_float and not self.as_int and not (self.negated and (self.asks_sign or bool(self.divisors)))


def flags(use: Use, further: int = 0) -> ast.expr:
    """What may be chosen, as a number; see rules.py."""
    floats, ints, bools = use.allowed
    found = floats * 1 + ints * 2 + bools * 4 + use.ints_as_floats * 8 + use.products * 16 + further
    return ast.Constant(with_lines(found, use.lines))


class Contexts:
    """The uses of variables and expressions in the body of a function.

    Args:
        may_be: whether what stands at a place may be taken for what it mostly is, as it was not found to be something else: an assignment
            to entries for one to an array of float64, arithmetic for that with a float64 which is no plain number.

    Attributes:
        stores: assignments that are taken for such: what a value was is not to be seen any more then.
    """

    def __init__(self, body: list[ast.stmt], resolve: Resolve, may_be: Callable[[Place], bool]) -> None:
        parts = [node for statement in body for node in walk(statement)]
        self.stores = {n for n in parts if isinstance(n, ast.stmt) and is_store(n) and may_be((n.lineno, n.col_offset))}
        self._flows, self._int_flows = (flows_of(parts, reads, self.stores) for reads in (reads_of_values, reads_of_ints))
        self._parts, self._may_be = parts, may_be
        self._lambdas = known_lambdas(parts)
        self._flows += flows_into(self._lambdas, reads_of_values)
        # By argument the variable that gets it, and the names that are called.
        self._variable_of: dict[ast.AST, str] = {
            argument: variable.arg
            for known in self._lambdas for call in known.calls for argument, variable in zip(call.args, known.function.args.args)
        }  # fmt: skip
        self._callees: set[ast.AST] = {call.func for known in self._lambdas for call in known.calls}
        # Arithmetic that is taken for that with a float64, while the uses of something are looked for.
        self._beside: frozenset[ast.AST] = frozenset()
        self._parents: dict[ast.AST, ast.AST] = {}
        self._uses: dict[Names, Use] = {}
        self._loads: dict[str, list[ast.Name]] = {}
        # As they are before anything is rewritten.
        self._kinds: dict[ast.Call, str] = {}
        self._right: dict[ast.BinOp, ast.expr] = {}
        # Sides of branches are rewritten as copies of their expressions, which have kept their places.
        self._placed: dict[tuple[int, ...], ast.expr] = {}
        for node in parts:
            for child in children(node):
                self._parents[child] = node
            if isinstance(node, (ast.Call, ast.IfExp)):
                self._placed[extent(node)] = node
            if isinstance(node, ast.Call):
                self._kinds[node] = kind_of_call(node, resolve)
            elif isinstance(node, ast.BinOp):
                self._right[node] = node.right
            if isinstance(node, ast.Name) and (isinstance(node.ctx, ast.Load) or isinstance(self._parents.get(node), ast.AugAssign)):
                self._loads.setdefault(node.id, []).append(node)

        self._candidates = self._found_candidates()
        reads = lambda node: reads_within(node, lambda part: part in self._candidates)  # noqa: E731 -- the next line is its only use
        self._flows_beside = flows_of(parts, reads, self.stores) + flows_into(self._lambdas, reads)

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(node)

    def use_of(self, names: Names, nodes: Iterable[ast.expr] = ()) -> Use:
        """The uses of variables, of those that are computed from them, and of expressions."""
        nodes = tuple(nodes)
        if not nodes and names in self._uses:
            return self._uses[names]
        use = self._found(names, nodes, self._flows)
        is_mixed = not use.allowed[1] and any(map(is_one_of_entries, nodes))
        if (not use.as_float or is_mixed) and (candidates := self._candidates):
            self._beside = candidates
            other = self._found(names, nodes, self._flows_beside)
            self._beside = frozenset()
            use = other if other.as_float and (other.allowed[1] or not is_mixed) else use
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

    def _found(self, names: Names, nodes: Sequence[ast.expr], flows: Flows) -> Use:
        use = Use()
        pending: list[ast.AST] = [node if node in self._parents else self._placed.get(extent(node), node) for node in nodes]
        names = names.union(*map(self._assigned_from, pending))
        found = derived(flows, names)
        self._as_ints = derived(self._int_flows, names)
        # In the order of the lines, so that the first one that asks for more is known.
        loads = [load for name in found for load in self._loads.get(name, ())]
        pending += sorted(loads, key=lambda load: getattr(load, "lineno", 0))
        for node in pending:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._assigned_in_place(node, use)
            else:
                self._climb(node, use)
            line = getattr(node, "lineno", 0)
            lines = [known or (0 if may else line) for known, may in zip(use.lines, use.allowed)]
            use.lines = lines[0], lines[1], lines[2]
        return use

    def _assigned_from(self, node: ast.AST) -> Names:
        """The variables that an expression's value may go into."""
        found: set[str] = set()
        while node in self._parents and not isinstance(node, ast.stmt):
            if node in self._variable_of:
                found.add(self._variable_of[node])
            node = self._parents[node]
            if node in self._beside:
                break
            if isinstance(node, ast.Call) and self._kinds[node] != "number":
                break  # which gives something else than plain numbers, or asks for more of them than to be that
            targets = [] if node in self.stores else [*getattr(node, "targets", ()), getattr(node, "target", None)]
            found |= {part.id for target in targets if target is not None for part in walk(target) if isinstance(part, ast.Name)}
        return frozenset(found)

    def _assigned_in_place(self, node: ast.Name, use: Use) -> None:
        parent = self._parents[node]
        assert isinstance(parent, ast.AugAssign)
        use.as_bool = False
        if not isinstance(parent.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
            use.as_float = False
        if isinstance(parent.op, ast.Mult) and node.id in self._as_ints:
            use.may_grow = use.products = use.negated = True

    def _climb(self, node: ast.AST, use: Use) -> None:
        """Follow a value to where its expression ends; that of a lambda goes on at the calls of it."""
        pending, seen = [node], set[ast.AST]()
        while pending:
            end = self._climb_expression(pending.pop(), use)
            calls = next((known.calls for known in self._lambdas if known.function is end), ())
            pending += [call for call in calls if call not in seen]
            seen.update(calls)

    def _climb_expression(self, node: ast.AST, use: Use) -> ast.AST | None:
        """Follow a value to where its expression ends; the lambda that gives it, if one does."""
        may_be_int = not isinstance(node, ast.Name) or node.id in self._as_ints
        name, is_product = node.id if isinstance(node, ast.Name) else "", False
        part: ast.AST = node
        while True:
            parent = self._parents.get(node)
            if isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Call)):
                if not self._goes_on(parent, node, use, may_be_int):
                    return None
                may_be_int = may_be_int and not (isinstance(parent, ast.BinOp) and makes_a_float(parent))
                is_product |= isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mult, ast.Pow))
            elif isinstance(parent, ast.Lambda) and any(known.function is parent for known in self._lambdas):
                return parent
            elif not isinstance(parent, _HOLD_IT) or self._is_test(parent, node):
                # The elements of a tuple or list are assigned, returned, or something else.
                if may_be_int and isinstance(parent, (ast.Assign, ast.AugAssign)):
                    use.may_grow |= self._may_grow(parent, part if isinstance(node, ast.Tuple) else node, name, is_product)
                self._end(parent, use, may_be_int)
                return None
            part, node = node, parent

    def _may_grow(self, statement: ast.Assign | ast.AugAssign, value: ast.AST, name: str, is_product: bool) -> bool:
        """Whether an int is computed from itself by more than adding to it. `value`: of the assignment, or a part of its tuple."""
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        pairs = each_assigned(targets, statement.value)
        of_part = [(target, given) for target, given in pairs if given is value] or [(target, statement.value) for target in targets]
        assigned = frozenset(part.id for target, _ in of_part for part in walk(target) if isinstance(part, ast.Name))
        own = derived(self._int_flows, assigned)
        if name not in own:
            return False
        parts = [part.id for part in walk(of_part[0][1]) if isinstance(part, ast.Name) and part.id in own & self._as_ints]
        return is_product or len(parts) + isinstance(statement, ast.AugAssign) > 1

    def _goes_on(self, parent: ast.BinOp | ast.UnaryOp | ast.Call, node: ast.AST, use: Use, may_be_int: bool) -> bool:
        """Note an operation on a value; whether its result may still be a plain number."""
        if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
            return False
        if isinstance(parent, ast.Call) and self._kinds[parent] == "array":
            use.asks_sign = True
            return False
        use.as_bool = False
        if parent in self._beside:
            assert isinstance(parent, ast.BinOp)
            use.beside.add(parent)
            return False
        if isinstance(parent, ast.Call):
            kind = self._kinds[parent]
            if kind == "number":
                return True
            if kind == "index":
                use.as_float = use.as_float and node is parent.args[1]
                return False
            if node in self._variable_of or node in self._callees:
                # The variable is one of those that are looked at.
                use.as_int |= may_be_int
                return False
            use.as_float = use.as_float and (kind != "" or node is parent.func)
            use.asks_sign |= kind == "sign"
            use.as_int |= may_be_int and kind == "numpy"
            return False
        is_negative = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub)
        is_product = isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Mult, ast.Pow)) and not self._has_a_float(parent)
        use.negated |= may_be_int and (is_negative or is_product)
        use.products |= may_be_int and is_product
        if isinstance(parent, ast.UnaryOp):
            use.as_float = use.as_float and isinstance(parent.op, (ast.USub, ast.UAdd))
        elif not self._is_arithmetic(parent, node, use):
            use.as_float = False
        return True

    def _is_test(self, parent: ast.AST, node: ast.AST) -> bool:
        return isinstance(parent, ast.IfExp) and node is parent.test

    def _end(self, parent: ast.AST | None, use: Use, may_be_int: bool) -> None:
        """Note where the expression that a value is part of ends."""
        if parent in self.stores:
            use.asks_sign = True
            return
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target] if isinstance(parent, ast.AnnAssign) else []
        is_kept_elsewhere = any(isinstance(part, (ast.Attribute, ast.Subscript)) for target in targets for part in walk(target))
        if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assign, ast.AnnAssign)) and not is_kept_elsewhere:
            return
        if isinstance(parent, (ast.For, ast.comprehension)):
            return  # their variables are among those that are looked at
        if isinstance(parent, ast.Return):
            use.returned |= may_be_int
            return
        if isinstance(parent, ast.Compare) and asks_for_none(parent):
            return
        use.as_bool = False
        if isinstance(parent, ast.AugAssign):
            if isinstance(parent.op, ast.Div):
                use.divisors.append(parent.value)
            elif not isinstance(parent.op, (ast.Add, ast.Sub, ast.Mult)):
                use.as_float = False
        elif not isinstance(parent, ast.Compare) or not all(isinstance(op, COMPARISONS) for op in parent.ops):
            use.as_float = False

    def _is_arithmetic(self, parent: ast.BinOp, node: ast.AST, use: Use) -> bool:
        if isinstance(parent.op, (ast.Add, ast.Sub, ast.Mult)):
            return True
        if isinstance(parent.op, ast.Div):
            if node is self._right[parent]:
                use.divisors.append(self._right[parent])
            return True
        right = self._right[parent]
        exponent = right.value if isinstance(right, ast.Constant) else None
        if isinstance(parent.op, ast.Pow) and not (type(exponent) is int and 1 <= exponent <= LARGEST_EXPONENT):
            use.powers.append(parent)
        return isinstance(parent.op, ast.Pow)

    def _has_a_float(self, node: ast.BinOp) -> bool:
        return any(isinstance(side, ast.Constant) and type(side.value) is float for side in (node.left, self._right[node]))


# Expressions whose value may be one of those in them, or holds it.
_HOLD_IT = (ast.BoolOp, ast.Tuple, ast.List, ast.ListComp, ast.GeneratorExp, ast.IfExp)
