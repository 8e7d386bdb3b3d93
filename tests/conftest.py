"""Settings shared by all tests: reproducible hypothesis runs, and a plot backend that needs no display."""

import os
import shutil
import tempfile

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
    settings.left_out.update(filter(None, os.environ.get("TAPEDIFF_WITHOUT", "").split(",")))


def _share_kernels(config):
    """One kernel cache for all tests, workers and processes of this run: many record the same program, and LLVM is a third of the time.

    It begins empty, so that no kernel is older than the code that is tested.
    """
    if hasattr(config, "workerinput") or "TAPEDIFF_CACHE_DIR" in os.environ:
        return
    folder = os.environ["TAPEDIFF_CACHE_DIR"] = tempfile.mkdtemp(prefix="tapediff-tests-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.fixture
def flat_loops(monkeypatch):
    """Python loops stay laid out flat, for tests of what flat tapes are made into."""
    from tapediff.base.settings import settings

    monkeypatch.setattr(settings, "left_out", settings.left_out | {"reroll"})
