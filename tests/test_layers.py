"""The layout: folders import downward only; imports for type checkers count."""

import ast
from collections import defaultdict
from functools import cache
from itertools import takewhile
from operator import eq
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "tapediff"

# Each imports only from itself and from those before it.
LAYERS = [
    "base", "errors", "ir", "ops", "passes", "numpy_api", "special", "recording", "random", "transforms", "compiler", "functions", "flow", "targets", "tree", "sparse",
    "uncertainty", "marginals", "adapters", "posterior",
]  # fmt: skip


def imported(file):
    """The modules of the package that a file imports, as tuples of names."""
    package = file.relative_to(PACKAGE).parent.parts
    for node in statements(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            module = (*package[: len(package) - node.level + 1], *(node.module or "").split("."))
            for alias in node.names:
                if found := module_at((*(part for part in module if part), alias.name)):
                    yield found


def statements(node):
    """Those in a module, also in functions, classes and branches; expressions, which are nine tenths of it, hold none."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, name, ()):
            yield inner
            yield from statements(inner)


@cache
def module_at(name):
    for parts in (name, name[:-1]):
        path = PACKAGE.joinpath(*parts)
        if path.with_suffix(".py").is_file() or ((path / "__init__.py").is_file() and parts):
            return parts
    return None


def name_of(file):
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


@pytest.fixture(scope="module")
def imports():
    """What each module of the package imports."""
    return {name_of(file): set(imported(file)) for file in PACKAGE.rglob("*.py")}


def test_folders_import_downward_only(imports):
    upward = [
        f"{'/'.join(module)} imports {'/'.join(other)}"
        for module, others in imports.items() if module and module[0] in LAYERS
        for other in others if other[0] not in LAYERS[: LAYERS.index(module[0]) + 1]
    ]  # fmt: skip
    assert not upward


def circles(graph):
    """The groups of nodes of which each leads to all others of the group."""
    reached = {node: reachable(graph, node) for node in graph}
    groups = {frozenset(other for other in reached[node] if node in reached.get(other, ())) for node in graph}
    return sorted(sorted("/".join(node) for node in group) for group in groups if group)


def reachable(graph, start):
    found, pending = set(), [start]
    while pending:
        new = graph.get(pending.pop(), set()) - found
        found |= new
        pending += new
    return found


def test_no_modules_import_each_other(imports):
    assert not circles(imports)


def test_the_files_and_folders_of_each_folder_have_an_order(imports):
    """Also where single files of two folders would not lead back to each other."""
    entries = defaultdict(lambda: defaultdict(set))
    for module, others in imports.items():
        for other in others:
            shared = sum(1 for _ in takewhile(bool, map(eq, module, other)))
            if shared < len(module) and shared < len(other):
                entries[module[:shared]][module[: shared + 1]].add(other[: shared + 1])
    assert {folder: circles(graph) for folder, graph in entries.items() if circles(graph)} == {}


FOLDERS = sorted({file.parent for file in PACKAGE.rglob("*.py")})


def test_a_folder_can_be_read_at_a_glance():
    """Without __init__.py, py.typed, the mark of packages with types, and the modules that users name, tapediff's or SciPy's."""
    others = {
        "__init__.py", "py.typed", "__pycache__", "interpolate.py", "linalg", "sparse", "marginals", "special.py", "stats", "random", "scipy",
        "testing.py", "implicit", "ode", "doctor.py", "__main__.py", "debug.py", "params.py", "profiling.py", "tree.py", "uncertainty.py",
        "rounding.py",
    }  # fmt: skip
    sizes = {folder: {entry.name for entry in folder.iterdir()} - others for folder in FOLDERS}
    assert {str(folder): len(names) for folder, names in sizes.items() if len(names) > 14} == {}


def test_each_folder_says_which_file_to_open_first():
    missing = [str(folder) for folder in FOLDERS if "pen first: `" not in ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))]
    assert missing == [str(PACKAGE)]  # the user's way in: its imports are in the order of the data flow
