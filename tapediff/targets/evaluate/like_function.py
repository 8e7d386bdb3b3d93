"""Give targets the name, documentation and signature of their functions."""

from __future__ import annotations

import functools
import inspect

from ...ir.instruction import Operand, UserFunction
from ...ir.tape import Tape


def like(target: Operand, f: UserFunction) -> None:
    """Give a target the name, module, documentation and signature of a function, and the function as __wrapped__."""
    functools.update_wrapper(target, f, updated=())
    try:
        target.__signature__ = inspect.signature(f)
    except (TypeError, ValueError):
        return  # some C functions have no signature


def like_tape(target: Operand, tape: Tape) -> None:
    """Give a target the name of a tape's function, and a signature from the tape's arguments."""
    names, kinds = tape.argument_names, inspect.Parameter
    named = len(names) - tape.named_only
    taken: list[inspect.Parameter] = []
    # Parameters before an unnamed one are positional-only.
    last = max((k for k in range(named) if not names[k]), default=-1)
    for k, name in enumerate(names):
        kind = kinds.POSITIONAL_ONLY if k <= last else kinds.POSITIONAL_OR_KEYWORD if k < named else kinds.KEYWORD_ONLY
        taken.append(kinds(name or f"argument_{k}", kind))
    target.__name__ = target.__qualname__ = tape.name
    target.__signature__ = inspect.Signature(taken)
