"""Settings of the process, and its log. Users need the kernel cache and threads; the rest is for tests and debugging."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from .source_location import user_site

if TYPE_CHECKING:
    from logging import Logger

# When the first modules of this package were imported, in nanoseconds.
STARTED = time.time_ns()

# The directory of the kernel cache; unset: no cache.
CACHE_VARIABLE = "TAPEDIFF_CACHE_DIR"
# The default number of threads of a kernel.
THREADS_VARIABLE = "TAPEDIFF_THREADS"
# "1": tracebacks show the frames of this package.
TRACEBACK_VARIABLE = "TAPEDIFF_FULL_TRACEBACK"
# Features of the processor that kernels do without, as LLVM names them: "-avx512f,-avx2".
FEATURES_VARIABLE = "TAPEDIFF_CPU_FEATURES"


@dataclass(slots=True)
class Settings:
    """Switches.

    Attributes:
        left_out: names of passes to skip, to find the one that breaks a tape; "reroll" leaves Python loops flat. The tests can run
            without each, except save_carries, without which loops have no derivative.
        raise_failures: raise errors of this package in a recording of all paths, after which single paths are recorded.
    """

    left_out: set[str] = field(default_factory=set)
    raise_failures: bool = False

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
    def full_traceback(self) -> bool:
        """True if tracebacks keep the frames of this package."""
        return os.environ.get(TRACEBACK_VARIABLE, "") not in ("", "0")

    @property
    def cpu_features(self) -> str:
        """Changes to the processor's features, in LLVM's notation; the tests use it to compile for lesser processors."""
        return os.environ.get(FEATURES_VARIABLE, "")


settings = Settings()

# A call that compiles for longer has a message of its own.
LONG_COMPILATION = 0.1
_INFO = 20  # logging.INFO


def is_logged() -> bool:
    """True if the logger "tapediff" passes INFO on. Without an import of logging, which takes 15 ms, there are no handlers."""
    return "logging" in sys.modules and _logger().isEnabledFor(_INFO)


def log_made(done: str, name: str, instructions: int, seconds: float, cause: object) -> None:
    """Log a recording or a compilation: the time it took, its cause, and the user's line; nothing is formatted if nobody listens."""
    if not is_logged():
        return
    at = user_site(2)
    _logger().info("%s of %s, %d instructions in %.4f s: %s; called at %s", done, name, instructions, seconds, cause, at)
    if seconds > LONG_COMPILATION and done.startswith("compiled"):
        long = "a call at %s has compiled %s for %.1f s; call it once before time matters, or keep kernels for later processes: set %s"
        _logger().info(long, at, name, seconds, CACHE_VARIABLE)


@cache
def _logger() -> Logger:
    """Created once: logging takes a lock for it, which an interrupt could leave locked."""
    return sys.modules["logging"].getLogger("tapediff")
