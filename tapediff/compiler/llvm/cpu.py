"""The processor that code is generated for: this machine's. llvmlite is imported here, at first use."""

from __future__ import annotations

import platform
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


@cache
def has(feature: str) -> bool:
    """True if the processor has a feature, such as "avx512f"."""
    named = [flag[0] for flag in processor()[1].split(",") if flag[1:] == feature]
    return named[-1:] == ["+"]
