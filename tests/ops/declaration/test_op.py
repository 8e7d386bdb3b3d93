"""What is known of an op stands in its declaration: no other file holds a table of ops, by name or by the op itself."""

import ast
import copy
import importlib
import pickle
import pkgutil
from pathlib import Path

import numpy as np

import tapediff as td
from tapediff.compiler.lower.lower import lower
from tapediff.ops import REGISTRY, Op

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
    "compiler/math": "functions of scalar expressions",
    "compiler/codegen/python_listing.py": "how entries are combined",
    "compiler/loop_ir/program.py": "how entries are combined",
    "compiler/linalg": "routines on matrices",
    "compiler/bytecode/sweeps": "how several numbers are computed from several: a tape of arrays with another op is not swept",
    "targets/tapes/row_blocks.py": "calls: of a function with one, batches go row by row",
    "functions/merging/run_time/choices.py": "Python's operators",
    "functions/merging/run_time/whole_numbers/int_arrays.py": "what is surely a whole number: the results of other ops may be any",
    "functions/merging/run_time/whole_numbers/counting.py": "how large whole numbers become: those of another op may be of any size",
    "functions/merging/prepare/long_loops/other_forms/tries.py": "where functions of math raise: a `try` around another one stays",
    "compiler/jit/own_routines.py": "routines on matrices",
    "special.py": "SciPy's public names",
    "linalg/__init__.py": "SciPy's public names",
    "numpy_api/composed/special_functions.py": "SciPy's public names",
    "numpy_api/complex_numbers/dispatch.py": "NumPy's names for complex arrays",
    "transforms/lanes/exchange_loops.py": "moves that an exchange of loops maps: with another op in its body a loop stays as it is",
    "transforms/lanes/row_axes.py": "rules that keep rows apart: an op without one ends a block",
    "stats/": "formulas of distributions",
    "numpy_api/dispatch.py": "methods of NumPy's arrays",
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


def test_what_moves_entries_is_exact_and_can_be_batched():
    """A rearrangement rounds nothing, and does so for all iterations of a loop as well."""
    for op in REGISTRY.values():
        if op.moves:
            assert op.exact
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
