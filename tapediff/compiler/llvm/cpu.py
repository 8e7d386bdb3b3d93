"""The processor that code is generated for: that of this machine. llvmlite is imported here, at first use."""

from __future__ import annotations

from functools import cache


@cache
def processor() -> tuple[str, str]:
    """Its name and its features, as LLVM has them."""
    import llvmlite.binding as llvm

    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def has(feature: str) -> bool:
    """Whether it has a feature, such as "avx512f"."""
    return f"+{feature}" in processor()[1].split(",")
