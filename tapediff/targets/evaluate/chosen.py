"""The arguments to differentiate by: their arrays among all inputs, and results in the arguments' structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ArgumentMismatch
from ...ir.arguments import chosen_arguments, unwrap
from ...ir.containers import flatten_argument, flatten_as, is_container, only, part_names, positions_of
from ...ir.inputs import as_inputs
from ...ir.instruction import Operand, Target, Tree, ValueType, is_tracked
from ...ir.outputs import Out, Outs, as_number
from ...ir.pytree import ARRAY, TreeDef, count_leaves, describe_treedef, unflatten
from ...ir.tape import Tape, kept_with_tape

if TYPE_CHECKING:
    from ...transforms.active_part import Part

Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The arguments to differentiate by.

    Attributes:
        numbers: their positions among the arguments.
        several: True if results are tuples, as for a tuple of argnums.
        trees: the treedef of the gradient by each argument; None if each is one array.
        arrays: the differentiated arrays, or their types.
        parts: the differentiated entries of each; empty for all.
        kept: of containers of which `wrt` names a part: its positions among the differentiated arrays of the arguments; None for all.
    """

    numbers: Numbers
    several: bool
    trees: tuple[TreeDef, ...] | None
    arrays: Sequence[Operand]
    parts: tuple[Part, ...] = ()
    kept: Numbers | None = None

    def inputs(self, wrt: Numbers) -> Numbers:
        """Of the inputs that belong to the arguments, those to differentiate by."""
        return wrt if self.kept is None else tuple([wrt[k] for k in self.kept])

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        return [part.shape for part in self.parts] if self.parts else list(map(shape_of, self.arrays))

    @property
    def is_plain(self) -> bool:
        """True for one argument of one array."""
        return self.trees is None and not self.several

    def tree_like(self, given: Tree) -> TreeDef:
        """The structure that tangents or the caller's arrays must have."""
        trees = (ARRAY,) * len(self.numbers) if self.trees is None else self.trees
        return TreeDef(type(given), (), trees) if self.several else trees[0]

    @property
    def tree(self) -> TreeDef:
        """The structure of the result."""
        return self.tree_like(())

    def by_argument(self, arrays: Sequence[Tree]) -> tuple[Tree, ...]:
        """Group results for each array by argument."""
        if self.trees is None:
            return tuple(arrays)
        rest = iter(arrays)
        return tuple([unflatten(tree, rest) for tree in self.trees])

    def plain(self, arrays: Sequence[Operand]) -> Sequence[Operand]:
        """Results for each array, as Python floats if they are single numbers or in a container."""
        return arrays if self.several and self.trees is None else [as_number(array) for array in arrays]

    def nested(self, arrays: Sequence[Operand]) -> Tree:
        """Nest results for each array as the caller gets them."""
        found = self.by_argument(arrays)
        return found if self.several else found[0]

    def outs(self, out: Out) -> Outs:
        """The arrays in the caller's `out`, one for each result."""
        return None if out is None else self.flat(out, "out")

    def flat(self, trees: Tree, what: str) -> list[Operand]:
        """Flatten a container structured like the result: tangents, or the caller's arrays.

        Raises:
            ArgumentMismatch: another structure.
        """
        if self.several and (not isinstance(trees, (tuple, list)) or len(trees) != len(self.numbers)):
            raise ArgumentMismatch(f"{what} must be a tuple with an entry for each of {len(self.numbers)} arguments",
                                   got=type(trees).__name__, fix="pass a tuple, in the order of argnums")  # fmt: skip
        given = trees if self.several else (trees,)
        if self.trees is None:
            return list(given)
        leaves = [leaf for tree, each in zip(self.trees, given) for leaf in leaves_like(tree, each, what)]
        if what == "out":
            for tree, each in zip(self.trees, given):
                require_own_arrays(tree, each)
        return leaves


def leaves_like(treedef: TreeDef, tree: Tree, what: str) -> list[Operand]:
    """Return the arrays in a tree with this treedef.

    Raises:
        ArgumentMismatch: the treedef differs.
    """
    leaves: list[Operand] = []
    if not flatten_as(treedef, tree, leaves, is_exact=False):
        given = flatten_argument(tree)[1]
        found = type(tree).__name__ if given == ARRAY else describe_treedef(given)
        raise ArgumentMismatch(f"{what} has another structure than what it belongs to",
                               got=f"{found} for {describe_treedef(treedef)}", fix="pass a container of the same structure")  # fmt: skip
    return leaves


def require_own_arrays(treedef: TreeDef, out: Tree) -> None:
    """Raise if a container returns copies of its arrays at each access: writing to a copy is lost."""
    for one, other in zip(leaves_like(treedef, out, "out"), leaves_like(treedef, out, "out")):
        if isinstance(one, np.ndarray) and one.size and not np.may_share_memory(one, other):
            raise ArgumentMismatch(
                "out is a container that does not hold the arrays it is made of", got=type(out).__name__,
                fix="leave it out; or, for a sparse matrix, pass a csr_array or csc_array of floats with no position twice",
            )  # fmt: skip


def name_of(target: Target) -> str:
    return str(getattr(target, "name", None) or getattr(target, "__name__", type(target).__name__))


def tape_of(target: Target) -> Tape | None:
    """The target's tape if it can have no other, else None."""
    if isinstance(target, Tape):
        return target
    tape = getattr(target, "tape", None) if hasattr(target, "operate") else None
    return tape if isinstance(tape, Tape) else None


def choose(target: Target, args: Sequence[Tree], argnums: object, wrt: Operand = None) -> Chosen:
    """Resolve `argnums` in a call of a target, and the entries of these arguments that `wrt` selects.

    Raises:
        ArgumentMismatch: an argument that does not exist or has nothing to differentiate.
        IndexError: an index without an entry.
    """
    chosen = _choose(target, args, argnums)
    return chosen if wrt is None else _restricted(chosen, wrt, name_of(target))


def _restricted(chosen: Chosen, wrt: Operand, name: str) -> Chosen:
    from ...transforms.active_part import part_of

    if chosen.trees is not None and any(tree != ARRAY for tree in chosen.trees):
        return _named_parts(chosen, chosen.trees, wrt)
    count = len(chosen.arrays)
    if count != 1 and (not isinstance(wrt, (tuple, list)) or len(wrt) != count):
        raise ArgumentMismatch(f"wrt= must be a tuple with an index for each of {count} arguments of {name}", got=f"wrt={wrt!r}"[:60],
                               fix="... for all of an argument: wrt=(np.s_[1:], ...)")  # fmt: skip
    indices = [wrt] if count == 1 else list(wrt)
    return replace(chosen, parts=tuple(part_of(index, shape) for index, shape in zip(indices, chosen.shapes)))


def _named_parts(chosen: Chosen, trees: tuple[TreeDef, ...], wrt: Operand) -> Chosen:
    """The parts of containers that are named by their keys: "tau", or ("layers", 0); ... for all of an argument."""
    if len(trees) > 1 and (not isinstance(wrt, (tuple, list)) or len(wrt) != len(trees)):
        raise ArgumentMismatch(f"wrt= must be a tuple with a name for each of {len(trees)} arguments", got=f"wrt={wrt!r}"[:60],
                               fix='... for all of an argument: wrt=("tau", ...)')  # fmt: skip
    names = [wrt] if len(trees) == 1 else list(wrt)
    found: list[TreeDef] = []
    kept: list[int] = []
    first = 0
    for tree, name in zip(trees, names):
        part, start = tree, first
        for key in () if name is ... else name if type(name) is tuple else (name,):
            keys = {k: known for k, known in enumerate(part_names(part)) if count_leaves(part.parts[k])}
            place = next((k for k, known in keys.items() if type(known) is type(key) and known == key), None)
            if place is None:
                raise ArgumentMismatch(
                    "wrt= names a part of a container by its keys, and there is none to differentiate by", got=f"wrt={wrt!r}"[:60],
                    fix=f"one of {', '.join(map(repr, keys.values()))}" if keys else "pass the array as an argument of its own",
                )  # fmt: skip
            start += sum(map(count_leaves, part.parts[:place]))
            part = part.parts[place]
        found.append(part)
        kept += range(start, start + count_leaves(part))
        first += count_leaves(tree)
    return replace(chosen, trees=tuple(found), arrays=[chosen.arrays[k] for k in kept], kept=tuple(kept))


def _choose(target: Target, args: Sequence[Tree], argnums: object) -> Chosen:
    tape = tape_of(target)
    if tape is not None and not args:
        as_inputs(tape, args)  # says what a tape was recorded with
    numbers, several = chosen_arguments(argnums, len(args), name_of(target))
    if tape is not None:
        return chosen_of_tape(tape, numbers, several)
    if not any(is_container(args[k]) for k in numbers):
        return Chosen(numbers, several, None, [args[k] for k in numbers])
    trees: list[TreeDef] = []
    arrays: list[Operand] = []
    for k in numbers:
        leaves, tree = flatten_argument(args[k], k, getattr(target, "f", target))
        active = [tree == ARRAY or is_differentiable(leaf) for leaf in leaves]
        arrays += [leaf for leaf, wanted in zip(leaves, active) if wanted]
        trees.append(_gradient_tree(tree, active, name_of(target), k))
    return Chosen(numbers, several, tuple(trees), arrays)


@kept_with_tape
def chosen_of_tape(tape: Tape, numbers: Numbers, several: bool) -> Chosen:
    """Like `choose`, for a tape, whose arguments have the recorded structure."""
    if tape.arguments is None:
        return Chosen(numbers, several, None, [tape.instructions[tape.inputs[k]].type for k in numbers if k < len(tape.inputs)])
    positions = positions_of(tape.arguments)
    chosen = [k for k in numbers if k < len(positions)]
    trees = [_gradient_tree(tape.arguments[k], [p in tape.active_inputs for p in positions[k]], tape.name, k) for k in chosen]
    return Chosen(numbers, several, tuple(trees), [tape.input_types[p] for p in inputs_of(tape, numbers)])


def _gradient_tree(treedef: TreeDef, active: list[bool], name: str, number: int) -> TreeDef:
    if treedef == ARRAY:
        return ARRAY  # if it is not differentiable, binding it raises, with its name
    tree = only(treedef, iter(active))
    if not count_leaves(tree):
        raise ArgumentMismatch(f"argument {number} of {name} holds nothing to differentiate",
                               got=describe_treedef(treedef), fix="pass floats or float arrays")  # fmt: skip
    return tree


def inputs_of(tape: Tape, numbers: Numbers) -> Numbers:
    """The inputs of a tape that belong to differentiated arguments."""
    if tape.arguments is None:
        return numbers
    positions = positions_of(tape.arguments)
    return tuple(p for k in numbers if k < len(positions) for p in positions[k]
                 if p in tape.active_inputs or tape.arguments[k] == ARRAY)  # fmt: skip


def shape_of(argument: Tree) -> tuple[int, ...]:
    argument = unwrap(argument)
    return argument.shape if is_tracked(argument) or type(argument) is ValueType else np.shape(argument)


def is_differentiable(argument: Tree) -> bool:
    """True if an argument is floats, tracked or not, and not td.Constant; for a container, if it holds any of these."""
    if is_tracked(argument):
        return bool(argument.type.is_float)
    if is_container(argument):
        return any(map(is_differentiable, flatten_argument(argument)[0]))
    if isinstance(argument, (list, tuple)):
        return np.asarray(argument).dtype.kind == "f"
    return type(argument) is float or (isinstance(argument, (np.ndarray, np.floating)) and argument.dtype.kind == "f")
