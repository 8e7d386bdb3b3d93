"""Checks of this installation: `python -m tapediff doctor`; and `td.show_versions()`, the versions for a bug report."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from .base.byte_code import COUNTS_REFERENCES, IS_KNOWN, PYTHONS
from .base.operating_system import HAS_PRIVATE_FILES, available_threads, memory_bytes, private_directory
from .base.settings import CACHE_VARIABLE, settings
from .compiler.jit.object_cache import CODE, is_finished, own_files
from .compiler.llvm.cpu import has, processor
from .targets.compile_target import compile
from .targets.derivatives import value_and_gradient
from .testing import check_gradient

# The oldest versions that pyproject.toml allows; a test compares them.
OLDEST = {"numpy": (2, 2), "scipy": (1, 15), "numba": (0, 62), "llvmlite": (0, 45)}
OLDEST_PYTHON = PYTHONS[0]
OPTIONAL = ("nutpie", "jax", "torch", "pymc", "arviz", "matplotlib")

WELL, NOTE, FAULT = "ok", "note", "FAULT"


class Finding(NamedTuple):
    """The result of one check.

    Attributes:
        state: WELL; NOTE: worth knowing; FAULT: something does not work.
        text: the finding.
        advice: what to do; empty if nothing is needed.
    """

    state: str
    text: str
    advice: str = ""


def show_versions() -> None:
    """Print the versions of Python, the libraries and the machine for a bug report."""
    for name, text in (*_machine(), *_libraries()):
        print(f"{name:<12} {text}")


def doctor() -> int:
    """Check this installation; print the findings and what to do about them.

    Returns:
        0: everything works; 1: something does not. The exit code of `python -m tapediff doctor`.

    Cost: about a second, mostly for the first kernel of a process.
    """
    show_versions()
    print()
    findings = {name: _guarded(check) for name, check in CHECKS.items()}
    for name, (state, text, advice) in findings.items():
        print(f"{state:<5}  {name:<9} {text}")
        if advice:
            print(f"       {'':<9} -> {advice}")
    faults = [name for name, finding in findings.items() if finding.state == FAULT]
    print(f"\n{'not in order: ' + ', '.join(faults) if faults else 'tapediff works here'}")
    return int(bool(faults))


def _guarded(check: Callable[[], Finding]) -> Finding:
    """Report a check that raises as a fault, and go on with the others."""
    try:
        return check()
    except Exception as raised:  # noqa: BLE001 -- whatever it is, it is what the report is for
        return Finding(FAULT, f"{type(raised).__name__}: {raised}", "report this text, with the versions above")


def _machine() -> Iterator[tuple[str, str]]:
    memory = memory_bytes()
    yield "tapediff", importlib.import_module("tapediff").__version__
    yield "python", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"
    yield "system", platform.platform()
    yield "processor", f"{platform.machine()}, {_processor()}, {available_threads()} usable"
    yield "memory", f"{memory / 2**30:.1f} GB" if memory is not None else "unknown"
    yield "BLAS", blas()


def _libraries() -> Iterator[tuple[str, str]]:
    for name in (*OLDEST, *OPTIONAL):
        yield name, version(name) or "not installed"
    with suppress(ImportError, OSError):
        import llvmlite.binding as llvm

        yield "LLVM", ".".join(map(str, llvm.llvm_version_info))


def _processor() -> str:
    """The processor's name and vector instructions, as the compiler sees them."""
    try:
        name, _ = processor()
    except (ImportError, OSError) as raised:  # llvmlite or its library: the check of the kernel tells more
        return f"unknown to LLVM ({raised})"
    vectors = next((v for v in ("avx512f", "avx2", "avx", "neon", "sse2") if has(v)), "none known")
    return f"{name}, vectors: {vectors}"


def version(name: str) -> str | None:
    """The installed version of a package, without importing it."""
    with suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(name)
    return None


def blas() -> str:
    """The BLAS library that NumPy uses."""
    built = np.show_config(mode="dicts")
    found = built.get("Build Dependencies", {}).get("blas", {}) if isinstance(built, dict) else {}
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def _check_python() -> Finding:
    found, newest = sys.version_info[:2], PYTHONS[-1]
    here = f"Python {found[0]}.{found[1]} on {sys.platform}, {platform.machine()}"
    claimed = f"Python {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} to {newest[0]}.{newest[1]}"
    if found < OLDEST_PYTHON:
        return Finding(FAULT, here, f"use {claimed}")
    if not IS_KNOWN:
        advice = f"the tests run on CPython, {claimed}: here more is refused, as the byte code and the reference counts are not read"
        return Finding(NOTE, here, advice)
    if not COUNTS_REFERENCES:
        advice = "no references are counted here: more is refused, and filling an array entry by entry takes longer to record"
        return Finding(NOTE, f"{here}, free-threaded or with its compiler on", advice)
    if sys.platform != "linux":
        return Finding(
            NOTE, here, "the tests run on Linux only; see the page on the architecture for what is known of others"
        )
    return Finding(WELL, here)


def _check_versions() -> Finding:
    old = {name: found for name in OLDEST if (found := version(name)) is not None and _numbers(found) < OLDEST[name]}
    if old:
        wanted = " ".join(f"'{name}>={OLDEST[name][0]}.{OLDEST[name][1]}'" for name in old)
        return Finding(
            FAULT, ", ".join(f"{n} {v}" for n, v in old.items()) + " is too old", f"pip install --upgrade {wanted}"
        )
    return Finding(WELL, f"{', '.join(OLDEST)} are recent enough")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())


def _check_cache() -> Finding:
    directory = settings.cache_directory
    if directory is None:
        advice = f"{CACHE_VARIABLE}=~/.cache/tapediff keeps kernels between processes"
        return Finding(NOTE, "kernels are compiled again in each process", advice)
    if not HAS_PRIVATE_FILES:
        return Finding(NOTE, f"{directory} is not used: this system cannot tell who may write to it")
    try:
        with private_directory(directory) as handle:
            files = [(name, found.st_size) for name, found in own_files(handle) if is_finished(name)]
            total, kernels = sum(size for _, size in files), sum(name.endswith(CODE) for name, _ in files)
            if not os.access(directory, os.W_OK):
                return Finding(
                    FAULT, f"{directory} cannot be written to", f"chmod u+w {directory}, or name another one"
                )
    except OSError as refused:
        return Finding(FAULT, f"{directory} is not used: {refused}", f"chmod 700 {directory}, or name another one, not by a link")
    return Finding(WELL, f"{directory}: {kernels} kernels, {total / 2**20:.1f} MB")


def _check_kernel() -> Finding:
    """Compare a kernel with matrices, a loop of special functions and a branch to NumPy, and its gradient to differences."""

    def f(x: np.ndarray) -> float:
        y = np.tanh(matrix @ x)
        return np.sum(y * np.log1p(x**2)) if x[0] > 0 else np.sum(x)

    matrix, x = np.linspace(-1.0, 1.0, 36).reshape(6, 6), np.linspace(0.5, 2.0, 6)
    start = time.perf_counter()
    compiled = compile(f, x)
    value, gradient = value_and_gradient(compiled, x)
    seconds = time.perf_counter() - start
    replayed, uncompiled = value_and_gradient(f, x)
    # Sums in another order than NumPy's: a few units in the last place.
    if not (np.isclose(value, replayed, rtol=1e-13) and np.allclose(gradient, uncompiled, rtol=1e-12)):
        return Finding(
            FAULT,
            f"a kernel gives {value!r}, NumPy {replayed!r}",
            "do not use it, and report this with the versions above",
        )
    check_gradient(compiled, f, x)
    return Finding(WELL, f"compiled and checked in {seconds:.2f} s")


CHECKS = {"python": _check_python, "libraries": _check_versions, "cache": _check_cache, "kernel": _check_kernel}
