"""The layout: folders import downward only; imports for type checkers count."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "tapediff"

# Each imports only from itself and from those before it.
LAYERS = ["base", "errors", "ir", "ops", "passes", "numpy_api", "recording", "transforms", "compiler", "functions", "targets"]


def imported(file):
    """The modules of the package that a file imports, as tuples of names."""
    package = file.relative_to(PACKAGE).parent.parts
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            module = (*package[: len(package) - node.level + 1], *(node.module or "").split("."))
            for alias in node.names:
                yield from module_at((*(part for part in module if part), alias.name))


def module_at(name):
    for parts in (name, name[:-1]):
        path = PACKAGE.joinpath(*parts)
        if path.with_suffix(".py").is_file() or ((path / "__init__.py").is_file() and parts):
            yield parts
            return


IMPORTS = {file.relative_to(PACKAGE).with_suffix("").parts: set(imported(file)) for file in PACKAGE.rglob("*.py")}


def test_folders_import_downward_only():
    upward = [
        f"{'/'.join(module)} imports {'/'.join(other)}"
        for module, others in IMPORTS.items() if module[0] in LAYERS
        for other in others if other[0] not in LAYERS[: LAYERS.index(module[0]) + 1]
    ]  # fmt: skip
    assert not upward


def test_modules_do_not_import_each_other_in_circles():
    """Outside the compiler, whose call of one kernel by another is a circle still."""
    TopologicalSorter({m: others - {m} for m, others in IMPORTS.items() if m[0] != "compiler"}).prepare()  # raises CycleError
