"""The comparison itself: it finds no difference between two runs of Python, and finds each of a few broken translators."""

import ast
import inspect
import sys

import pytest

from flow.programs_by_kind import PROGRAMS
from flow.random_python import STATE, Program
from flow.running import compiled, difference, outcome

SEEDS = range(60)


class Broken(ast.NodeTransformer):
    """Translates a program wrongly: it changes the syntax tree of all of its functions."""

    def __call__(self, main):
        module = sys.modules[main.__module__]
        tree = ast.fix_missing_locations(self.visit(ast.parse(inspect.getsource(module))))
        module.note.__self__.events.clear()  # what the module has logged comes again
        exec(compiled.__wrapped__(tree, module.__file__), vars(module))
        return module.main


class RightOperandFirst(Broken):
    def visit_BinOp(self, node):
        self.generic_visit(node)
        parameters = ast.arguments([], [ast.arg("right"), ast.arg("left")], None, [], [], None, [])
        body = ast.BinOp(ast.Name("left", ast.Load()), node.op, ast.Name("right", ast.Load()))
        return ast.Call(ast.Lambda(parameters, body), [node.right, node.left], [])


class NoAugmented(Broken):
    """a += b as a = a + b, which makes a new list."""

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        load = ast.parse(ast.unparse(node.target), mode="eval").body
        return ast.Assign([node.target], ast.BinOp(load, node.op, node.value))


class MiddleTwice(Broken):
    """a < b < c as a < b and b < c."""

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) < 2:
            return node
        operands = [node.left, *node.comparators]
        return ast.BoolOp(ast.And(), [ast.Compare(a, [op], [b]) for a, op, b in zip(operands, node.ops, operands[1:])])


class TruthsOnly(Broken):
    def visit_BoolOp(self, node):
        self.generic_visit(node)
        return ast.Call(ast.Name("bool", ast.Load()), [node], [])


class EagerGenerators(Broken):
    def visit_GeneratorExp(self, node):
        self.generic_visit(node)
        return ast.Call(ast.Name("iter", ast.Load()), [ast.ListComp(node.elt, node.generators)], [])


class NoLoopElse(Broken):
    def visit_For(self, node):
        self.generic_visit(node)
        return [ast.For(node.target, node.iter, node.body, []), *node.orelse]


class NoCause(Broken):
    def visit_Raise(self, node):
        return ast.Raise(node.exc)


class FinallyOnlyAtTheEnd(Broken):
    """try/finally as the body and then the cleanup, which exits by jumps and exceptions leave out."""

    def visit_Try(self, node):
        self.generic_visit(node)
        if not node.finalbody:
            return node
        body = [ast.Try(node.body, node.handlers, node.orelse, [])] if node.handlers else node.body
        return [*body, *node.finalbody]


class NoNonlocal(Broken):
    def visit_Nonlocal(self, node):
        return ast.Pass()


class KeptExceptionName(Broken):
    """except E as e, where e stays bound."""

    def visit_ExceptHandler(self, node):
        self.generic_visit(node)
        if not node.name:
            return node
        keep = ast.Assign([ast.Name(node.name, ast.Store())], ast.Name("caught", ast.Load()))
        return ast.ExceptHandler(node.type, "caught", [keep, *node.body])


class LateGenerators(Broken):
    """A generator expression that evaluates its first iterable when it is read."""

    def visit_GeneratorExp(self, node):
        self.generic_visit(node)
        nothing = ast.arguments([], [], None, [], [], None, [])
        once = ast.List([ast.Constant(0)], ast.Load())
        late = ast.comprehension(ast.Name("once", ast.Store()), once, [], 0)
        uses_walrus = any(isinstance(part, ast.NamedExpr) for part in ast.walk(node))
        first, *others = node.generators
        later = ast.comprehension(first.target, ast.Call(ast.Lambda(nothing, first.iter), [], []), first.ifs, 0)
        return node if uses_walrus else ast.GeneratorExp(node.elt, [late, later, *others])


BROKEN = [RightOperandFirst, NoAugmented, MiddleTwice, TruthsOnly, EagerGenerators, NoLoopElse, NoCause, FinallyOnlyAtTheEnd, NoNonlocal, KeptExceptionName, LateGenerators]


@pytest.mark.parametrize("seed", SEEDS)
def test_two_runs_of_python_are_alike(seed):
    """A program does the same in each run, so that a difference is the translator's."""
    text = Program(seed).text
    first = outcome(text, state=STATE, file=f"<random {seed}>")
    assert first == outcome(text, state=STATE, file=f"<random {seed}>")
    assert len(first.log) > 5


def test_a_seed_gives_the_same_program_again():
    """The text depends on nothing but the seed."""
    assert Program(3).text == Program(3).text != Program(4).text


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_random_programs_find_broken_translators(broken):
    """Some of a few random programs come out differently by a translator that gets one thing wrong."""
    for seed in SEEDS:
        text = Program(seed).text
        expected, found = outcome(text, state=STATE, file="<random>"), outcome(text, _or_python(broken()), STATE, "<random>")
        if difference(expected, found):
            return
    pytest.fail(f"no program of {len(SEEDS)} tells {broken.__name__} from Python")


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_programs_of_the_table_find_broken_translators(broken):
    """The table has a program for each of these mistakes."""
    assert any(
        difference(outcome(text, file="<table>"), outcome(text, _or_python(broken()), file="<table>")) for text in PROGRAMS.values()
    )


def _or_python(broken):
    """Leave a program alone that the broken translation does not even compile."""

    def translated(main):
        try:
            return broken(main)
        except (SyntaxError, ValueError):
            return main

    return translated
