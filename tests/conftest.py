"""Settings shared by all tests: reproducible hypothesis runs, and a plot backend that needs no display."""

import collections
import datetime
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


def pytest_configure(config):
    """TAPEDIFF_WITHOUT=hoist_from_loops pytest: everything once more without that pass; "reroll" leaves Python loops flat."""
    from tapediff.base.settings import settings

    _share_kernels(config)
    _sample_tables(config)
    settings.left_out.update(filter(None, os.environ.get("TAPEDIFF_WITHOUT", "").split(",")))


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
def share_bytecode():
    """Where Python is to write no bytecode beside sources, the processes that tests start write and find it in a folder of this run.

    Each of a hundred would compile the package again, 1.4 s of 2.2. (Not the process that runs the tests: it would compile NumPy and torch.)
    """
    with pytest.MonkeyPatch.context() as patch:
        if sys.dont_write_bytecode and "TAPEDIFF_TEST_BYTECODE" in os.environ:
            patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
            patch.setenv("PYTHONPYCACHEPREFIX", os.environ["TAPEDIFF_TEST_BYTECODE"])
        yield


# Of a test with more cases than these, a run of the whole suite takes half, one in 40, and one in 80.
SHORT_TABLE, LONG_TABLE, LONGER_TABLE = 7, 16, 64

# Cases of tests in these files take seconds each, so that it takes a third of three and more.
SLOW = tuple(
    f"tests/{name}.py" for name in (
        "base/test_fork_locks", "base/test_operating_system", "compiler/bytecode/test_sweeps", "compiler/bytecode/test_translate",
        "compiler/codegen/test_outlining", "compiler/lower/test_in_place", "compiler/numba_backend/test_posteriors",
        "compiler/numba_backend/test_registry", "compiler/schedule/test_recompute_stencils", "functions/merging/test_gathers",
        "functions/merging/test_items", "functions/merging/test_long_loops", "functions/merging/test_tables", "functions/merging/test_tries",
        "linalg/test_linalg", "passes/rolling/test_alike_powers", "passes/rolling/test_batch_alike", "passes/rolling/test_growing_lists", "functions/test_primitive", "numpy_api/test_complex",
        "numpy_api/test_kinds", "passes/loops/test_save_for_backward", "passes/parts/test_lattice_tables", "passes/parts/test_regular_positions",
        "passes/rolling/test_grids", "passes/rolling/test_repetition", "passes/rolling/test_reroll", "passes/rolling/test_reroll_grids",
        "passes/rolling/test_shrinking_arrays", "stats/test_special_points", "test_control_fuzz", "test_implicit", "test_ode", "test_random",
        "transforms/lanes/test_exchange_loops", "transforms/lanes/test_wavefronts", "transforms/test_triplets",
    )
)  # fmt: skip

# Of these files it takes a third of the tests: they are of parts that hardly change, and take ten seconds each.
ROTATING = tuple(f"tests/compiler/{name}.py" for name in ("jit/test_linking", "numba_backend/test_control_flow", "numba_backend/test_saved_program"))


def _sample_tables(config):
    """Let a run of the whole suite, which has fifteen minutes, take some of the cases of long tables: others each month.

    `make test-all`, and runs of chosen files, take all. (With others for each commit, a commit that mends one case fails by another.)
    """
    is_whole = not config.invocation_params.args or all(arg.startswith("-") or arg == "auto" or arg.isdigit() for arg in config.invocation_params.args)
    if hasattr(config, "workerinput") or os.environ.get("TAPEDIFF_TESTS") == "all" or not is_whole:
        return
    os.environ["TAPEDIFF_TEST_SAMPLE"] = datetime.date.today().strftime("%Y-%m")
    config.add_cleanup(lambda: os.environ.pop("TAPEDIFF_TEST_SAMPLE"))


def pytest_collection_modifyitems(config, items):
    sample = os.environ.get("TAPEDIFF_TEST_SAMPLE")
    if not sample:
        return
    tests = collections.defaultdict(list)
    for item in items:
        file, _, name = item.nodeid.partition("::")
        tests[file if file in ROTATING else f"{file}::{name.partition('[')[0]}"].append(item)
    chosen = {id(item) for name, cases in tests.items() for item in _sampled(cases, _one_of(name, len(cases)), sample)}
    left_out = [item for item in items if id(item) not in chosen]
    items[:] = [item for item in items if id(item) in chosen]
    config.hook.pytest_deselected(items=left_out)


def _sampled(cases, one_of, sample):
    """About one of so many, and one at least; the same in every process and on every machine."""
    numbers = [zlib.crc32((case.nodeid + sample).encode()) for case in cases]
    return [case for case, number in zip(cases, numbers) if number % one_of == 0] or [cases[numbers.index(min(numbers))]]


def _one_of(name, cases):
    """How many cases of a test with so many there are for each one that is taken."""
    if name in ROTATING:
        return 3
    if cases <= LONG_TABLE:
        return 3 if cases > 2 and name.startswith(SLOW) else 2 if cases > SHORT_TABLE else 1
    return 80 if cases > LONGER_TABLE else 40


@pytest.fixture
def flat_loops(monkeypatch):
    """Python loops stay laid out flat, for tests of what flat tapes are made into."""
    from tapediff.base.settings import settings

    monkeypatch.setattr(settings, "left_out", settings.left_out | {"reroll"})
