"""Settings of the process. Users need the kernel cache and threads; the rest is for tests, and for whoever looks for a mistake."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

# Names the directory of the kernel cache; none is used where it is not set.
CACHE_VARIABLE = "TAPEDIFF_CACHE_DIR"
# How many threads a kernel may use where nobody says.
THREADS_VARIABLE = "TAPEDIFF_THREADS"
# Features of the processor that kernels do without, as LLVM names them: "-avx512f,-avx2".
FEATURES_VARIABLE = "TAPEDIFF_CPU_FEATURES"


@dataclass(slots=True)
class Settings:
    """Switches.

    Attributes:
        left_out: names of passes to leave out, to find the one that makes a tape wrong; "reroll" leaves Python loops flat. The tests
            can be run without each, but for save_carries, without which loops have no derivative.
    """

    left_out: set[str] = field(default_factory=set)

    @property
    def roll_loops(self) -> bool:
        """Whether Python loops on a tape become loops again."""
        return "reroll" not in self.left_out

    @property
    def cache_directory(self) -> str | None:
        """The directory of the kernel cache."""
        directory = os.environ.get(CACHE_VARIABLE)
        return os.path.expanduser(directory) if directory else None

    @property
    def threads(self) -> str | None:
        """How many threads a kernel may use, as the user's environment says it."""
        return os.environ.get(THREADS_VARIABLE) or None

    @property
    def cpu_features(self) -> str:
        """What to change about the processor's features, as LLVM has them; the tests compile for lesser processors so."""
        return os.environ.get(FEATURES_VARIABLE, "")


settings = Settings()
