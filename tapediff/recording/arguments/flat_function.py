"""Turns a function of containers into a function of their arrays; and the names of arguments."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from ...base.current_recording import current_recorder
from ...base.source_location import Site
from ...errors import ArgumentMismatch
from ...ir.arguments import called_by_name, keywords_of
from ...ir.containers import Trees, flatten_result, has_buffers, leaf_names, only, opened, slots
from ...ir.instruction import Operand, Tree, UserFunction
from ...ir.pytree import count_leaves, unflatten
from ..arrays.buffers import Buffers, Slot, is_output, plain_arrays


class KeywordFunction:
    """A function that takes its keyword arguments by position, too.

    Attributes:
        names: of all arguments.
        leaf_names: what messages call each.
    """

    def __init__(self, f: UserFunction, count: int, keywords: Sequence[str]) -> None:
        self.f, self.keywords = f, keywords
        self.names = [*argument_names(f, count - len(keywords)), *keywords]
        self.leaf_names = [f"{k} ({name})" if name else f"{k}" for k, name in enumerate(self.names)]
        self.__name__ = getattr(f, "__name__", type(f).__name__)
        self.__code__ = getattr(f, "__code__", None)

    def __call__(self, *args: Operand) -> Tree:
        return called_by_name(self.f, args, self.keywords)


def by_position(f: UserFunction, args: Sequence[Tree]) -> UserFunction:
    """The function that takes all arguments of a call by position."""
    keywords = keywords_of(args)
    return KeywordFunction(f, len(args), keywords) if keywords else f


class FlatFunction:
    """Takes the arrays in the arguments of `f` one by one, except its buffers, which are new at every call.

    Returns the outputs (td.Output), if there are any; with has_aux, together with the result of `f`.

    Attributes:
        f: the function of containers.
        trees: the treedef of each of its arguments.
        leaf_names: what messages call each array.
    """

    def __init__(self, f: UserFunction, trees: Trees, has_aux: bool = False) -> None:
        self.f, self.trees, self._has_aux = f, trees, has_aux
        self.__name__ = getattr(f, "__name__", type(f).__name__)
        self._slots: list[Slot] | None = None
        if any(map(has_buffers, trees)):
            self._slots = [slot for tree in trees for slot in slots(tree)]

    @property
    def leaf_names(self) -> list[str]:
        """The name of each array in messages."""
        return self._names(self.trees)

    def _names(self, trees: Trees) -> list[str]:
        names = argument_names(self.f, len(trees))
        return leaf_names([f"{k} ({name})" if name else f"{k}" for k, name in enumerate(names)], trees)

    def __call__(self, *leaves: Operand) -> Tree:
        if self._slots is not None:
            return self._with_buffers(leaves)
        return self.f(*_arguments(self.trees, leaves))

    def _with_buffers(self, leaves: Sequence[Operand]) -> Tree:
        recorder = current_recorder()
        own = self._slots or []
        trees = tuple(map(opened, self.trees))
        if recorder is None:
            given = plain_arrays(own, leaves)
            result = self.f(*_arguments(trees, given))
        else:
            buffers = recorder.buffers = recorder.buffers or Buffers(recorder)
            names = [f"argument {name}" for name in self._names(trees)]
            given = buffers.given(own, leaves, names)
            try:
                result = self.f(*_arguments(trees, given))
            except Exception:
                buffers.check()  # an unwritten element of a buffer may have caused the exception
                raise
            outputs = [(array, name) for array, slot, name in zip(given, own, names) if is_output(slot)]
            buffers.require_written(outputs, self._site)
        return self._outputs(result, given) if any(map(is_output, own)) else result

    @property
    def _site(self) -> Site | None:
        """The place of the function's definition."""
        code = getattr(self.f, "__code__", None)
        return None if code is None else Site(code, 0)

    def _outputs(self, result: Tree, given: Sequence[Operand]) -> Tree:
        """The buffers that the function has filled, in the structure of the arguments that hold them."""
        own = self._slots or []
        filled = [array for array, slot in zip(given, own) if is_output(slot)]
        if not self._has_aux and not all(value is None or any(value is array for array in filled) for value in flatten_result(result)[0]):
            raise ArgumentMismatch(
                f"{self.__name__} fills a td.Output and returns something else as well", at=self._site, got=type(result).__name__,
                fix="return None, and write all results into td.Output arguments; or say has_aux=True for the rest",
            )  # fmt: skip
        rest, wanted = iter(filled), iter([is_output(slot) for slot in own])
        trees = [only(tree, wanted) for tree in map(opened, self.trees)]
        results = [unflatten(tree, rest) for tree in trees if count_leaves(tree)]
        outputs = results[0] if len(results) == 1 else tuple(results)
        return (outputs, result) if self._has_aux else outputs


def _arguments(trees: Trees, leaves: Sequence[Operand]) -> list[Tree]:
    rest = iter(leaves)
    return [unflatten(tree, rest) for tree in trees]


def argument_names(f: UserFunction, count: int) -> list[str]:
    """The names of the first positional arguments; "" for those without."""
    if isinstance(f, KeywordFunction):
        return f.names
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    return [*names, *[""] * (count - len(names))]
