"""Adapters to other libraries, one per file, imported only when used: `from tapediff.adapters import nutpie`.

Comes in: a target or its C function. Goes out: a model, function or operation of the other library.
Open first: `nutpie.py`.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ..errors import is_recoverable
from ..ir.instruction import Tree
from ..targets.compiled_tape import CompiledTape
from ..targets.guarded_tape import GuardedTape
from ..targets.native.c_function import CFunction


def required(module: str, name: str, package: str) -> ModuleType:
    """Import the library that an adapter is for.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as missing:
        raise ImportError(f"this adapter needs {name}; fix: pip install {package}") from missing


def of_posterior(target: Tree, args: tuple[Tree, ...], *, example: bool = False) -> tuple[Tree, tuple[Tree, ...]]:
    """The tape of a td.Posterior, and the arguments followed by its data; other targets as they are.

    Args:
        example: the arguments are those of a call; without any, use a point where the density is finite.
    """
    if not hasattr(target, "log_density_gradient"):
        return target, args
    point = args or (target.example_point(),) if example else args
    return target.tape, (*point, target.constants)


def gradient_at(tape: CompiledTape | GuardedTape, args: tuple[Tree, ...]) -> CFunction:
    """Value and gradient as a C function, from the arguments of a call.

    Raises:
        Exception: of the function at these arguments; if it is a rejection, give other arguments.
    """
    try:
        return tape.c_function("gradient", *args)
    except Exception as error:
        if is_recoverable(error):
            error.add_note("  at:  the example arguments\n  fix: others of the same shapes, at which the function has a value")
        raise
