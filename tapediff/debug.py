"""Looking into a function while its tape runs: print, a breakpoint, or a callback, at every replay, also in compiled code.

Python's own `print` and `breakpoint()` run once, while the function is recorded. These are instructions of the tape and run at each
replay: in program order, once for each time that the function would reach them, also in loops, sub-tapes and branches. They change
no value and no derivative. A tape that is tried on another path runs its calls up to the guard that fails. A kernel with one of
these calls Python, about 10 µs each time: remove them when the mistake is found.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .base.current_recording import current_recorder
from .functions.captured.environment import note_called_back
from .functions.primitive import Primitive
from .ir.instruction import Tree, UserFunction, is_tracked
from .ir.pytree import flatten
from .recording.creation import asarray as tracked_array

__all__ = ["breakpoint", "callback", "print"]


def print(template: str, /, *args: Tree, **named: Tree) -> None:
    """Print values at every replay: td.debug.print("x = {}, {norm:.3f}", x, norm=n).

    Args:
        template: text for `str.format`; doubled braces for literal ones.
        args, named: the values of its fields, arrays and numbers, and containers of these.

    Cost: a call of Python at each replay, about 10 µs and the printing.
    """
    callback(_Printer(template), *args, **named)


def breakpoint(**values: Tree) -> None:
    """Stop in the debugger at every replay: td.debug.breakpoint(x=x), where `p values` shows the values.

    Args:
        values: what to show, by name. Python's own `breakpoint()` in the function stops while it is recorded, with all variables.
    """
    callback(_stop, **values)


def callback(f: UserFunction, /, *args: Tree, **named: Tree) -> None:
    """Call f(*args, **named) with values at every replay, for its side effects; its result is ignored.

    Args:
        f: any function; it gets NumPy arrays that it cannot write to, and is not called while recording. Its exceptions end the replay.
        args, named: arrays and numbers, and containers of these. What does not depend on the function's arguments is fixed when recorded.
    """
    leaves, _ = flatten((args, named))
    is_any_tracked = any(map(is_tracked, leaves))
    if current_recorder() is None and not is_any_tracked:
        f(*args, **named)
        return
    note_called_back(f)
    # The call needs a tracked operand to be an instruction.
    went_well = _primitive(f)(0.0 if is_any_tracked else tracked_array(np.zeros(())), args, named)
    # A guard that always holds: passes keep guards, the values they check, and their order.
    bool(went_well)


@lru_cache(maxsize=256)
def _primitive(f: UserFunction) -> Primitive:
    """One primitive for each function, so that a Python loop that calls it can be rolled."""
    return Primitive(_Action(f), None, f"td.debug.{getattr(f, '__name__', 'callback')}", False)


@dataclass(frozen=True)
class _Action:
    """The forward function of the primitive: its one result is always True and has no derivative."""

    f: UserFunction

    def __call__(self, _: Tree, args: tuple[Tree, ...], named: dict[str, Tree]) -> Tree:
        if current_recorder() is None:
            self.f(*args, **named)
        return np.True_, None


@dataclass(frozen=True)
class _Printer:
    template: str
    __name__ = "print"

    def __call__(self, *args: Tree, **named: Tree) -> None:
        builtins.print(self.template.format(*args, **named), flush=True)


def _stop(**values: Tree) -> None:
    """Where td.debug.breakpoint stops: `p values`, then `up` to the caller of the gradient."""
    builtins.breakpoint()
