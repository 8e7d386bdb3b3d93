"""What is known of an op stands in its declaration: no other file holds a table of ops, by name or by the op itself."""

import ast
import copy
import importlib
import itertools
import pickle
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.lower.lower import lower
from tapediff.ops import REGISTRY, Elementwise, Op

PACKAGE = Path(td.__file__).parent

# So many ops together are a table.
FEWEST = 3

# By path: words that are names of ops as well, or rewrites of the ops that a pass is about.
EXCEPTIONS = {
    "passes/simplify/fold_constants.py": "the ops whose rewriting the pass writes out",
    "passes/simplify/smooth_squares.py": "finer rules: the square of another op has the cotangent of the kink",
    "transforms/active_part.py": "rules that keep a part small: an op without one is done on all entries",
    "transforms/triplet_rules.py": "rules for fewer entries: of an op without one, all products are computed",
    "transforms/map_rows.py": "rules that map faster: an op without one is batched by its declaration, or looped over",
    "transforms/sparsity_rules.py": "rules for a finer pattern: of an op without one, each entry depends on all",
    "flow/builtins/natives.py": "where functions of NumPy have an array to write to",
    "compiler/math": "functions of scalar expressions",
    "compiler/codegen/python_listing.py": "how entries are combined",
    "compiler/loop_ir/program.py": "how entries are combined",
    "compiler/linalg": "routines on matrices",
    "compiler/loop_ir/leading_blocks.py": "routines on matrices: one that is not named works on whole ones",
    "compiler/bytecode/sweeps": "how several numbers are computed from several: a tape of arrays with another op is not swept",
    "targets/tapes/row_blocks.py": "calls: of a function with one, batches go row by row",
    "flow/state/numbers/bounds.py": "what tests say of ints: one that is not named says nothing",
    "flow/state/identities.py": "ops that hand on one of their operands: results of others are new numbers",
    "flow/state/numbers/intervals.py": "bounds of ints: an op that is not named may give any",
    "flow/state/numbers/large_ints.py": "sizes of Python's ints: an op that is not named gives one of usual size",
    "flow/state/numbers/python_numbers.py": "which results are floats of Python's: others are as their operands",
    "flow/state/numbers/selects.py": "sums and products with a neutral element: others are selected whole",
    "compiler/jit/own_routines.py": "routines on matrices",
    "special.py": "SciPy's public names",
    "linalg/__init__.py": "SciPy's public names",
    "numpy_api/composed/special_functions.py": "SciPy's public names",
    "numpy_api/complex_numbers/dispatch.py": "NumPy's names for complex arrays",
    "transforms/lanes/exchange_loops.py": "moves that an exchange of loops maps: with another op in its body a loop stays as it is",
    "transforms/lanes/row_axes.py": "rules that keep rows apart: an op without one ends a block",
    "stats/": "formulas of distributions",
    "numpy_api/dispatch.py": "methods of NumPy's arrays",
    "recording/arrays/compressed_functions.py": "methods of NumPy's arrays",
    "recording/python_state/numpy_namespace.py": "functions of NumPy",
    "recording/python_state/math_functions.py": "functions of Python's math module",
}


def modules():
    for found in pkgutil.walk_packages(td.__path__, "tapediff."):
        if not found.name.startswith("tapediff.ops"):
            yield importlib.import_module(found.name)


def tables(module):
    """The literals of a module that hold several ops, as source."""
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.Dict):
            groups = [node.keys, node.values]
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)) and not isinstance(getattr(node, "ctx", None), ast.Store):
            groups = [node.elts]
        else:
            continue
        if any(sum(is_op(each, module) for each in group) >= FEWEST for group in groups):
            yield ast.unparse(node)


def is_op(node, module):
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value in REGISTRY
    if isinstance(node, ast.Name):
        return isinstance(getattr(module, node.id, None), Op)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return isinstance(getattr(getattr(module, node.value.id, None), node.attr, None), Op)
    return False


@pytest.mark.slow
def test_no_file_outside_ops_holds_a_table_of_ops():
    """So a new op is declared in one place, and nothing else has to know of it."""
    found = {}
    for module in modules():
        path = Path(module.__file__).relative_to(PACKAGE).as_posix()
        held = list(tables(module))
        if held:
            found[path] = held
    unexpected = {path: held for path, held in found.items() if not any(path.startswith(known) for known in EXCEPTIONS)}
    assert unexpected == {}
    assert [known for known in EXCEPTIONS if not any(path.startswith(known) for path in found)] == []


def test_ops_are_pickled_by_name():
    for op in REGISTRY.values():
        assert pickle.loads(pickle.dumps(op)) is op
        assert copy.deepcopy(op) is op


def test_what_moves_entries_can_be_batched():
    """A rearrangement, for all iterations of a loop as well."""
    for op in REGISTRY.values():
        if op.moves:
            assert op.batching is not None


def test_views_of_arrays_cost_nothing_in_a_kernel():
    """What a declaration calls a view has no loop of its own: its kernel is that of the values around it."""
    views = [op for op in REGISTRY.values() if op.is_view and op.examples is not None]
    checked = 0
    for op in views:
        for call, arrays in op.examples(np.random.default_rng(0)):
            tape = td.record(call, *arrays)
            if [i.op for i in tape.instructions if i.op.name != "input"] == [op] and len(tape.instructions) > len(arrays):
                assert all(step.expression == "r0" for step in lower(tape).steps), op
                checked += 1
    assert checked > 10


# Rules that are given for some inputs only refuse the others.
ELEMENTWISE = {name: op for name, op in sorted(REGISTRY.items()) if isinstance(op, Elementwise) and op.samples and not op.not_differentiated}


def shares(op, z_bar, arrays, named):
    """What the rules of an elementwise op give its inputs, as arrays of the shape of the cotangent."""
    z = op.evaluate(*arrays, *named.values())
    found = [rule(z_bar, z, *arrays, **named) for rule in op.vjp if rule is not None]
    return [np.broadcast_to(share, np.shape(z_bar)) for share in found if share is not None]


@np.errstate(all="ignore")
def test_what_is_declared_linear_gives_zero_for_zero_and_no_other_op_does():
    """At NaN, infinities and zeros, where another op's derivative is no finite number: those that are not declared have to be selected."""
    values = (np.nan, 2.0, 0.0, np.inf)
    found = set()
    for name, op in ELEMENTWISE.items():
        points = itertools.product(*[values if domain.kind == "f" else (0, 1) for domain in op.samples])
        arrays = [np.array([point]) for point in zip(*points)]
        arrays = [a.ravel().astype("bool" if d.kind == "b" else "i8" if d.kind == "i" else "f8") for a, d in zip(arrays, op.samples)]
        # NaN first: SciPy's hyp1f1 does not come back from some infinities.
        slices = [[a[k : k + 1] for a in arrays] for k in range(arrays[0].size)]
        is_linear = all(
            not np.any(share) for named in op.sample_params for point in slices for share in shares(op, np.zeros(1), point, named)
        )
        if is_linear:
            found.add(name)
    # Draws of numbers have no derivative that could be asked for.
    assert found - {"random_bits", "random_unit"} == {name for name, op in ELEMENTWISE.items() if op.linear}


# Slopes that are zero for a range of values, of an operand that counts there as well: nothing is discarded.
FLAT = {"fmod", "remainder"}


@np.errstate(all="ignore")
def test_what_is_declared_to_mask_gives_exact_zeros_and_no_other_op_does():
    """The share of an operand is zero where another one decides, or at a zero; else, at a number drawn, it is another number."""
    for name, op in ELEMENTWISE.items():
        if name.endswith("_where_discarded"):  # what is put where something was discarded by an op before
            continue
        rng = np.random.default_rng(3)
        drawn = [domain.draw(rng, (60,)) for domain in op.samples]
        with_zeros = [np.concatenate([array, np.zeros(3, array.dtype)]) for array in drawn]
        sometimes, at_zeros = (
            any((share == 0).any() and (share != 0).any() for named in op.sample_params for share in shares(op, np.ones(arrays[0].size), arrays, named))
            for arrays in (drawn, with_zeros)
        )
        assert op.masks or not sometimes or name in FLAT, name
        assert at_zeros or not op.masks, name


# Ops that pick by value, not by position, and those that give numbers that floats of 32 bits hold as well.
PICKED = {"copysign", "max", "min", "nan_to_zero_where_discarded", "stop_gradient", "zero_where_discarded"}
ROUNDED_IN_ANY_CASE = {
    "absolute", "all", "any", "argmax", "argmin", "argsort", "ceil", "copysign", "det_sign", "equal", "floor", "floor_divide", "fmax", "fmin",
    "exists", "fmod", "greater", "greater_equal", "isfinite", "isinf", "isnan", "less", "less_equal", "logical_and", "logical_not", "logical_or",
    "logical_xor", "max", "maximum", "min", "minimum", "nan_to_zero_where_discarded", "negative", "not_equal", "random_bits", "remainder", "rint",
    "searchsorted", "select", "select_by_jump", "sign", "signbit", "stop_gradient", "trunc", "zero_where_discarded",
}  # fmt: skip


def calls_of(op):
    rng = np.random.default_rng(5)
    if op.examples is not None:
        return list(op.examples(rng))
    return [(lambda *a, named=named: op(*a, **named), tuple(d.draw(rng, (2, 3)) for d in op.samples)) for named in op.sample_params]


# Facts that tests compare with what ops do. A rearrangement rounds nothing.
FACTS = {"moves": lambda op: op.moves, "exact": lambda op: op.exact or op.moves or op.is_view}


@pytest.mark.parametrize("fact", FACTS)
def test_what_is_declared_to_move_entries_or_to_be_exact_does_and_no_other_op_does(fact):
    """By values: entries of the first operand, or floats that 32 bits hold where those of the operands are."""
    for name, op in sorted(REGISTRY.items()):
        held = []
        for call, arrays in calls_of(op):
            arrays = [a.astype("f4").astype("f8") if a.dtype.kind == "f" else a for a in map(np.asarray, arrays)]
            result = np.asarray(call(*arrays))
            if result.size and fact == "moves":
                if result.dtype.kind == "b" and not op.moves:
                    continue
                held.append(arrays[0].dtype == result.dtype and bool(np.isin(result, arrays[0]).all()))
            elif result.size:
                held.append(result.dtype.kind != "f" or np.array_equal(result, result.astype("f4").astype("f8"), equal_nan=True))
        if held:
            others = PICKED if fact == "moves" else ROUNDED_IN_ANY_CASE
            declared = FACTS[fact](op)
            assert all(held) == declared or (not declared and name in others), name


def test_the_jump_of_a_rounding_is_the_nearest_number_where_its_result_changes():
    """So that a margin says how far the next value is."""
    x = np.array([-2.7, -1.2, -0.6, 0.3, 0.8, 1.4, 2.9])
    jumping = [op for op in REGISTRY.values() if op.jump is not None]
    assert len(jumping) > 3
    for op in jumping:
        jump = op.jump(x)
        distance = np.abs(x - jump)
        assert np.all(distance < 1.0)
        assert np.all(op.evaluate(jump - 1e-9) != op.evaluate(jump + 1e-9)), op
        for share in (0.5, 0.999, -0.999):
            assert np.array_equal(op.evaluate(x + share * distance * np.sign(jump - x)), op.evaluate(x)), op


def test_the_squared_rules_are_those_of_the_square_of_the_op():
    """Away from its kink, where both are right: the cotangent of z**2 times 2 z, through the rule of the op."""
    squared = [op for op in ELEMENTWISE.values() if op.squared is not None]
    assert len(squared) > 3
    for op in squared:
        arrays = [domain.draw(np.random.default_rng(7), (40,)) for domain in op.samples]
        for named in op.sample_params:
            z = op.evaluate(*arrays, *named.values())
            for rule, of_square in zip(op.vjp, op.squared):
                if rule is None or of_square is None:
                    assert rule is of_square
                    continue
                by_chain, direct = rule(2.0 * z, z, *arrays, **named), of_square(np.ones(40), z, *arrays, **named)
                # A few operations of one rounding each.
                np.testing.assert_allclose(direct, by_chain, rtol=1e-13, atol=1e-13)


@np.errstate(all="ignore")
def test_what_is_declared_to_raise_does_and_no_other_op_of_matrices_does():
    """LinAlgError, on matrices of zeros or NaN in place of the first operand."""
    for name, op in sorted(REGISTRY.items()):
        if not op.lapack or op.examples is None:
            continue
        raised = False
        # Not the pullbacks, whose examples factor the matrix first.
        calls = [(call, arrays) for call, arrays in calls_of(op) if {i.op.name for i in td.record(call, *arrays).instructions} == {"input", name}]
        for call, arrays in calls:
            for value in (0.0, np.nan):
                try:
                    call(np.full_like(arrays[0], value), *arrays[1:])
                except np.linalg.LinAlgError:
                    raised = True
        assert raised == op.raises or not calls, name


def fails_on(op, point, named):
    """Whether an op raises on numbers, or where they are integers in a kernel would: NumPy warns of division by zero."""
    try:
        with np.errstate(divide="raise", invalid="raise"):
            op.evaluate(*(np.array([number]) for number in point), *named.values())
    except (ValueError, FloatingPointError):
        return True
    return False


@np.errstate(all="ignore")
def test_what_is_declared_to_fail_on_integers_does_and_no_other_op_does():
    """On small integers, of ops whose result is an integer too. A loop may neither run such an op off its path nor leave it out."""
    whole = set()
    for name, op in ELEMENTWISE.items():
        named, masks = op.sample_params[0], [domain.kind == "b" for domain in op.samples]
        ones = [np.array([True if is_mask else 1]) for is_mask in masks]
        if op.floats_only or op.evaluate(*ones, *named.values()).dtype != np.int64:
            assert not op.fails_on_integers, name
            continue
        whole.add(name)
        points = itertools.product(*[(False, True) if is_mask else (-2, -1, 0, 1, 2) for is_mask in masks])
        assert any(fails_on(op, point, named) for point in points) == op.fails_on_integers, name
    assert {"floor_divide", "remainder", "add", "select"} <= whole
