"""Branches: td.cond and td.switch, one instruction of a recording each, whose branches are paths of a callee.

Outside recordings, and where nothing is tracked, they just run.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from ..base.source_location import Site, user_site
from ..errors import ArgumentMismatch
from ..ir.instruction import Operand, Tree, is_tracked
from ..ir.pytree import flatten
from ..recording.recorder import current_recorder
from .callees.body import Body, as_operand, call, caught_outside, kept_callee, type_of
from .captured.freeze import freeze


def cond(pred: Operand, true_fn: Callable[..., object], false_fn: Callable[..., object], *args: Tree) -> Tree:
    """true_fn(*args) where pred holds, else false_fn(*args); only the branch taken is run and recorded.

    Args:
        pred: a bool, or an array of one element.
        true_fn, false_fn: functions of args; they may close over tracked values, branch, and call sub-tapes.
        args: arrays, numbers, and tuples, lists and dicts of these.

    Returns:
        The result of the branch; inside a recording both must return arrays of the same shapes and dtypes.

    Raises:
        ArgumentMismatch, ShapeMismatch: the branches return different things.

    Cost: as one call of a sub-tape: about 20 ns more than the branch itself.
    """
    if not is_tracked(pred):
        return (true_fn if pred else false_fn)(*args)
    return _branch("cond", pred, (false_fn, true_fn), args, user_site())


def switch(index: Operand, branches: Sequence[Callable[..., object]], *args: Tree) -> Tree:
    """`branches[index](*args)`; only the branch taken is run and recorded.

    Args:
        index: an integer from 0 to len(branches) - 1.
        branches: functions of args; see td.cond.

    Raises:
        IndexError: there is no such branch.
    """
    if not is_tracked(index):
        return _picked(branches, operator.index(index))(*args)
    if index.dtype.kind != "i":
        raise ArgumentMismatch(
            "the index of td.switch must be an integer", got=repr(index), fix="use index.astype(int)"
        )
    return _branch("switch", index, tuple(branches), args, user_site())


def _picked(branches: Sequence[Callable[..., object]], index: int) -> Callable[..., object]:
    if not 0 <= index < len(branches):
        raise IndexError(f"td.switch has {len(branches)} branches, and was asked for number {index}")
    return branches[index]


def _branch(name: str, choice: Operand, functions: Sequence[Callable[..., Tree]], args: tuple[Tree, ...], site: Site | None) -> Tree:
    recorder = choice._recorder
    if recorder is current_recorder() and (recorder.branches_to_inline > 0 or caught_outside()):
        # The one branch of a loop's body is a path of the body: that saves a call in every iteration.
        recorder.branches_to_inline -= 1
        return _taken(name, choice, functions, site)(*args)
    frozen = freeze(*functions)
    leaves, treedef = flatten((choice, args))
    operands = [as_operand(leaf) for leaf in leaves] + frozen.tracked

    def run(functions: list[Callable[..., Tree]], tree: Tree) -> Tree:
        choice, args = tree
        return _taken(name, choice, functions, site)(*args)

    types = [type_of(o) for o in operands]
    names = {getattr(f, "__name__", "f") for f in functions}
    label = f"td.{name}" if "<lambda>" in names else f"td.{name} of {', '.join(sorted(names))}"
    make = lambda: Body(label, frozen, treedef, run)  # noqa: E731 -- the next line is its only use
    return call(*kept_callee(label, (treedef, site), frozen, types, make), operands, leaves, frozen)


def _taken(name: str, choice: Operand, functions: Sequence[Callable[..., Tree]], site: Site | None) -> Callable[..., Tree]:
    with choice._recorder.at(site):  # the guard gets the site of td.cond
        taken = choice._recorder.observe(choice, "bool" if name == "cond" else "int")
    return _picked(functions, int(taken))
