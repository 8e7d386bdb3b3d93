"""The processor that code is generated for: this machine's. llvmlite is imported here, at first use."""

from __future__ import annotations

import platform
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from ...base.settings import settings
from ...base.uninterrupted import uninterrupted


@cache
@uninterrupted
def processor() -> tuple[str, str]:
    """The processor's name and features in LLVM's spelling, without those that TAPEDIFF_CPU_FEATURES disables."""
    import llvmlite.binding as llvm

    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # llvmlite's error where LLVM cannot tell
        features = ""
    # If a feature is named twice, the last one wins, also for features that build on it.
    return llvm.get_host_cpu_name(), ",".join(filter(None, (features, settings.cpu_features)))


def is_x86() -> bool:
    """True for x86, whose cycle counter any code may read."""
    return platform.machine().lower() in ("x86_64", "amd64")


# True while text is written that has no instructions of one processor.
_PORTABLE: ContextVar[bool] = ContextVar("portable", default=False)


@contextmanager
def portable(wanted: bool) -> Generator[None]:
    """If wanted, write text for any processor of this kind: it has none of the features that text may ask for."""
    token = _PORTABLE.set(wanted)
    try:
        yield
    finally:
        _PORTABLE.reset(token)


def has(feature: str) -> bool:
    """True if the processor that text is written for has a feature, such as "avx512f"."""
    return not _PORTABLE.get() and _here(feature)


@cache
def _here(feature: str) -> bool:
    named = [flag[0] for flag in processor()[1].split(",") if flag[1:] == feature]
    return named[-1:] == ["+"]
