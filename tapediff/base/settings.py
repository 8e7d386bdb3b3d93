"""Settings of the process. Users need the kernel cache and threads; the rest is for tests and debugging."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

# The directory of the kernel cache; unset: no cache.
CACHE_VARIABLE = "TAPEDIFF_CACHE_DIR"
# The default number of threads of a kernel.
THREADS_VARIABLE = "TAPEDIFF_THREADS"
# Features of the processor that kernels do without, as LLVM names them: "-avx512f,-avx2".
FEATURES_VARIABLE = "TAPEDIFF_CPU_FEATURES"


@dataclass(slots=True)
class Settings:
    """Switches.

    Attributes:
        left_out: names of passes to skip, to find the one that breaks a tape; "reroll" leaves Python loops flat. The tests can run
            without each, except save_carries, without which loops have no derivative.
    """

    left_out: set[str] = field(default_factory=set)

    @property
    def roll_loops(self) -> bool:
        """True if Python loops on a tape become loops again."""
        return "reroll" not in self.left_out

    @property
    def cache_directory(self) -> str | None:
        """The directory of the kernel cache."""
        directory = os.environ.get(CACHE_VARIABLE)
        return os.path.expanduser(directory) if directory else None

    @property
    def threads(self) -> str | None:
        """The number of threads of a kernel, as text from the user's environment."""
        return os.environ.get(THREADS_VARIABLE) or None

    @property
    def cpu_features(self) -> str:
        """Changes to the processor's features, in LLVM's notation; the tests use it to compile for lesser processors."""
        return os.environ.get(FEATURES_VARIABLE, "")


settings = Settings()
