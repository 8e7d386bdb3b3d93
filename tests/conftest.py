"""Settings shared by all tests: reproducible hypothesis runs, and a plot backend that needs no display."""

import collections
import os
import shutil
import sys
import tempfile
import zlib

import hypothesis
import pytest

# Plots are drawn by the examples, in processes of their own that inherit this.
os.environ["MPLBACKEND"] = "Agg"

# The matrices are small: threads that wait for each other take ten times as long where other processes run too.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# derandomize: the same examples in every run. No deadline: the first call of a test compiles a kernel.
hypothesis.settings.register_profile("reproducible", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("reproducible")

# Which tests a run takes: "choice", "all", or "others", which are those that the choice leaves out.
TESTS_VARIABLE = "TAPEDIFF_TESTS"


def pytest_configure(config):
    """TAPEDIFF_WITHOUT=hoist_from_loops pytest: everything once more without that pass; "reroll" leaves Python loops flat."""
    from tapediff.base.settings import settings

    _share_kernels(config)
    _choose_tests(config)
    settings.left_out.update(filter(None, os.environ.get("TAPEDIFF_WITHOUT", "").split(",")))
    settings.raise_failures = True


def _share_kernels(config):
    """One kernel cache for all tests, workers and processes of this run: many record the same program, and LLVM is a third of the time.

    It begins empty, so that no kernel is older than the code that is tested.
    """
    if hasattr(config, "workerinput") or "TAPEDIFF_CACHE_DIR" in os.environ:
        return
    folder = tempfile.mkdtemp(prefix="tapediff-tests-")
    os.environ["TAPEDIFF_CACHE_DIR"] = os.path.join(folder, "kernels")
    os.environ["TAPEDIFF_TEST_BYTECODE"] = os.path.join(folder, "bytecode")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.fixture(scope="session", autouse=True)
def kernels_are_found_by_their_texts():
    """Not by their tapes: tests look at passes and stages, or change these. tests/compiler/jit/test_recipes.py finds them so."""
    from tapediff.compiler.jit import recipes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipes, "key_of", lambda *_: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def share_bytecode():
    """Where Python is to write no bytecode beside sources, the processes that tests start write and find it in a folder of this run.

    Each of a hundred would compile the package again, 1.4 s of 2.2. (Not the process that runs the tests: it would compile NumPy and torch.)
    """
    with pytest.MonkeyPatch.context() as patch:
        if sys.dont_write_bytecode and "TAPEDIFF_TEST_BYTECODE" in os.environ:
            patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
            patch.setenv("PYTHONPYCACHEPREFIX", os.environ["TAPEDIFF_TEST_BYTECODE"])
        yield


def _choose_tests(config):
    """Let a run of the whole suite take a fixed choice, unless TAPEDIFF_TESTS says "all" or "others"; runs of chosen files take all."""
    if not hasattr(config, "workerinput"):  # workers find what the process that starts them says
        is_whole = config.args_source is not config.ArgsSource.ARGS
        os.environ.setdefault(TESTS_VARIABLE, "choice" if is_whole else "all")
    if os.environ[TESTS_VARIABLE] not in ("choice", "all", "others"):
        raise pytest.UsageError(f"{TESTS_VARIABLE} is choice, all or others: got {os.environ[TESTS_VARIABLE]!r}")


def pytest_collection_modifyitems(config, items):
    """The same tests for the same tree; the slow ones first, so that no process has one left when the others are done."""
    asked = os.environ[TESTS_VARIABLE]
    if asked != "all":
        chosen = _chosen(items)
        left_out = [item for item in items if (item.nodeid in chosen) != (asked == "choice")]
        items[:] = [item for item in items if (item.nodeid in chosen) == (asked == "choice")]
        config.hook.pytest_deselected(items=left_out)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def _chosen(items):
    """Of each test that is not marked as slow some of its n cases, n**0.4, by a number that only a case's own name decides."""
    tests = collections.defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow") is None:
            tests[item.nodeid.partition("[")[0]].append(item.nodeid)
    return {name for cases in tests.values() for name in sorted(cases, key=_number)[: int(len(cases) ** 0.4)]}


def _number(name):
    return zlib.crc32(name.encode())


@pytest.fixture
def flat_loops(monkeypatch):
    """Python loops stay laid out flat, for tests of what flat tapes are made into."""
    from tapediff.base.settings import settings

    monkeypatch.setattr(settings, "left_out", settings.left_out | {"reroll"})
