"""The processor that code is generated for: that of this machine. llvmlite is imported here, at first use."""

from __future__ import annotations

import platform
from functools import cache

from ...base.settings import settings
from ...base.uninterrupted import uninterrupted


@cache
@uninterrupted
def processor() -> tuple[str, str]:
    """Its name and its features, as LLVM has them; TAPEDIFF_CPU_FEATURES takes some away."""
    import llvmlite.binding as llvm

    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # llvmlite's error where LLVM cannot tell
        features = ""
    # Of a feature that is named twice, the last one holds, for itself and for those that build on it.
    return llvm.get_host_cpu_name(), ",".join(filter(None, (features, settings.cpu_features)))


def is_x86() -> bool:
    """Whether it is of the family whose processors have a counter of their cycles that any code may read."""
    return platform.machine().lower() in ("x86_64", "amd64")


@cache
def has(feature: str) -> bool:
    """Whether it has a feature, such as "avx512f"."""
    named = [flag[0] for flag in processor()[1].split(",") if flag[1:] == feature]
    return named[-1:] == ["+"]
