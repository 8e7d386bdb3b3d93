"""Mutants of a source file: one small change each, made from the syntax tree and written back into the text.

The operators are the functions in `OPERATORS`. Not mutated: annotations, strings, assertions, dataclass decorators, and the keywords of op
declarations that only tests read.
"""

from __future__ import annotations

import ast
import copy
import itertools
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Inputs that the tests draw, not what the op does.
FOR_TESTS = {"samples", "sample_params", "examples"}

SWAPPED = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,), ast.FloorDiv: (ast.Mult,), ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,), ast.MatMult: (ast.Mult,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,), ast.BitXor: (ast.BitOr,), ast.And: (ast.Or,), ast.Or: (ast.And,),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Attributes:
        file: relative to the root.
        name: the function, class or variable at the top of the file that has the change.
        line: the first line of the smallest function statement or lambda around the change, where a probe notes whether a test runs it.
        at_import: whether the change is in code that runs when the module is imported.
        start, end: where the bytes `replaced` are, for which `text` is put.
        place: row and column of its first character.
        code: the line, stripped, in which the change begins.
        change: the old and the new expression or statement, as `old → new`.
    """

    file: str
    name: str
    line: int
    at_import: bool
    start: int
    end: int
    text: bytes
    replaced: bytes
    place: str
    code: str
    kind: str
    change: str

    @property
    def key(self) -> str:
        return f"{self.file}:{self.place} | {self.code} | {self.change}"

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.text + source[self.end :]


def comparisons(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            for other in SWAPPED[type(op)]:
                yield _with(node, ops=[*node.ops[:k], other(), *node.ops[k + 1 :]])


def arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp | ast.AugAssign):
        for other in SWAPPED[type(node.op)]:
            yield _with(node, op=other())


def logic(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        yield _with(node, op=SWAPPED[type(node.op)][0]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand


def conditions(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.IfExp) and not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
        yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node, ast.Name | ast.Call | ast.Attribute) and getattr(node, "is_test", False):
        yield ast.UnaryOp(ast.Not(), node)


def constants(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(node.value + 1)
        yield ast.BinOp(ast.Constant(node.value), ast.Sub(), ast.Constant(1)) if node.value < 1 else ast.Constant(node.value - 1)


def first_operands(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp):
        yield node.left
    if isinstance(node, ast.BoolOp):
        yield node.values[0]


def results(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Return) and not (node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)):
        yield ast.Return(ast.Constant(None))


def removed_statements(node: ast.AST) -> Iterator[ast.AST]:
    is_write = isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name | ast.Tuple)
    if is_write or isinstance(node, ast.AugAssign | ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield ast.Pass()


def swapped_arguments(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and len(node.args) > 1 and not any(isinstance(arg, ast.Starred) for arg in node.args[:2]):
        if _name(node.func) not in ("isinstance", "max", "min"):
            yield _with(node, args=[node.args[1], node.args[0], *node.args[2:]])


def removed_keywords(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg not in FOR_TESTS:
                rest = [other for other in node.keywords if other is not keyword]
                yield _with(node, keywords=rest, change=f"{_name(node.func)}({_short(keyword)}) → {_name(node.func)}()")


def jumps(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Break | ast.Continue):
        yield ast.Continue() if isinstance(node, ast.Break) else ast.Break()


OPERATORS = (
    comparisons, arithmetic, logic, conditions, constants, first_operands, results, removed_statements, swapped_arguments, removed_keywords, jumps,
)  # fmt: skip


def candidates_of(source: bytes) -> list[tuple[ast.AST, ast.AST, str, str, int, bool]]:
    """What may be changed in a file: the node, the new one, the operator, the line of the probe, and whether it runs at import."""
    places = _mutable(ast.parse(source))
    return [(node, new, operator.__name__, *place) for node, *place in places for operator in OPERATORS for new in operator(node)]


def mutant_of(file: str, source: bytes, node: ast.AST, new: ast.AST, kind: str, name: str, line: int, at_import: bool) -> Mutant | None:
    """The change as text; None where the byte code would be the same, or the text would be no program."""
    lines = source.splitlines(keepends=True)
    start, end = (
        sum(map(len, lines[: row - 1])) + column for row, column in ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
    )
    # As many lines as before, so that what follows stays where it is.
    padding = "\n" * (node.end_lineno - node.lineno)
    text = ast.unparse(ast.fix_missing_locations(new))
    text = f"({text}{padding})" if isinstance(node, ast.expr) else text + padding
    code = lines[node.lineno - 1].decode().strip()
    change = getattr(new, "change", None) or f"{_short(node)} → {_short(new)}"
    place = f"{node.lineno}:{node.col_offset + 1}"
    mutant = Mutant(file, name, line, at_import, start, end, text.encode(), source[start:end], place, code, kind, change)
    try:
        changed = compile(mutant.applied(source), file, "exec", dont_inherit=True)
    except SyntaxError:
        return None
    return mutant if changed != compile(source, file, "exec", dont_inherit=True) else None


def chosen(root: Path, files: list[str], seed: int, count: int) -> Iterator[Mutant]:
    """The first mutants of a fixed order, in which a file comes as often as the root of its number of mutants, and its operators take turns."""
    order = []
    for file in files:
        draw = random.Random(f"{seed} {file}")
        source = (root / file).read_bytes()
        candidates = candidates_of(source)
        draw.shuffle(candidates)
        rank: dict[str, int] = defaultdict(int)
        ranked = []
        for candidate in candidates:
            rank[candidate[2]] += 1
            ranked.append((rank[candidate[2]], draw.random(), candidate))
        ranked.sort(key=lambda entry: entry[:2])
        first = draw.random()
        order += [((first + k) / len(ranked) ** 0.5, file, source, candidate) for k, (_, _, candidate) in enumerate(ranked)]
    order.sort(key=lambda entry: entry[:2])
    mutants = (mutant_of(file, source, *candidate) for _, file, source, candidate in order)
    return itertools.islice(filter(None, mutants), count)


class Probes(ast.NodeTransformer):
    """Notes in `hits`, a bytearray among the builtins, which statements and lambdas of functions run."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.in_function = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node = self._function(node)
        body = ast.Subscript(ast.Tuple([self._expression(node.body.lineno), node.body], ast.Load()), ast.Constant(1), ast.Load())
        return _with(node, body=body)

    def _function(self, node):
        outer, self.in_function = self.in_function, True
        self.generic_visit(node)
        self.in_function = outer
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        outer, self.in_function = self.in_function, False
        self.generic_visit(node)
        self.in_function = outer
        return node

    def _expression(self, line: int) -> ast.expr:
        return ast.parse(f"_hits_.__setitem__({self.first + line}, 1)", mode="eval").body

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if self.in_function:
            for field in ("body", "orelse", "finalbody"):
                statements = getattr(node, field, None)
                if isinstance(statements, list) and statements and isinstance(statements[0], ast.stmt):
                    setattr(node, field, [probed for s in statements for probed in self._probed(s)])
        return node

    def _probed(self, statement: ast.stmt) -> list[ast.stmt]:
        is_fixed = isinstance(statement, ast.Nonlocal | ast.Global) or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        return [statement] if is_fixed else [*ast.parse(f"_hits_[{self.first + statement.lineno}] = 1").body, statement]


def _mutable(tree: ast.Module) -> Iterator[tuple[ast.AST, str, int, bool]]:
    """Every node that may be changed, with the line of its statement, and whether that runs at import."""
    stack: list[tuple[ast.AST, str, int, bool]] = [(node, _target(node), 0, True) for node in tree.body]
    while stack:
        node, name, line, at_import = stack.pop()
        if isinstance(node, ast.stmt):
            line = node.lineno
        if _is_left_out(node):
            continue
        if hasattr(node, "end_lineno") and not isinstance(node, ast.keyword):
            yield node, name, line, at_import
        for test in (getattr(node, "test", None), *getattr(node, "ifs", ())):
            if isinstance(node, ast.If | ast.While | ast.comprehension) and test is not None:
                test.is_test = True
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            stack += [(child, name, line, at_import) for child in defaults]
            body = node.body if isinstance(node, ast.FunctionDef) else [node.body]
            stack += [(child, name, child.lineno, False) for child in body]
        elif isinstance(node, ast.AnnAssign):
            stack += [(child, name, line, at_import) for child in (node.value,) if child is not None]
        else:
            stack += [(child, name, line, at_import) for child in ast.iter_child_nodes(node)]


def _target(node: ast.stmt) -> str:
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return getattr(node, "name", "") or (_name(target) if target is not None else "")


def _is_left_out(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.Assign) and _name(node.value) in ("TypeVar", "ParamSpec"):
        return True
    if isinstance(node, ast.keyword) and node.arg in FOR_TESTS:
        return True
    if isinstance(node, ast.Call) and _name(node) == "dataclass":
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and isinstance(node.right, ast.Constant):  # `int | None` in an alias
        return True
    # What is in an f-string has no places in Python 3.11.
    return isinstance(node, ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.arguments)


def _with(node, **fields):
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _name(node: ast.AST) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _short(node: ast.AST, limit: int = 70) -> str:
    text = " ".join(ast.unparse(ast.fix_missing_locations(node)).split())
    return text if len(text) <= limit else f"{text[: limit // 2]}…{text[-limit // 2 :]}"
