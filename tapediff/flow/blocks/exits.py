"""Exits of rolled loops: whether and how an iteration left the loop, as carried places."""

from __future__ import annotations

from collections.abc import Callable

from ..anything import Object
from ..calls.truth import truth
from ..state.completions import BREAK, Completion, Conditional, Return, ends, replaced
from ..state.fork import exclude, fork, fork_value, keeps_values, where_ends
from ..state.joins import is_equal
from ..state.places import Entry, Place, WithCells, put
from ..state.values import CHOICES, UNBOUND, Choice, Unjoinable, both, is_data, without_unbound
from .blocks import LoopEnds, is_normal, without_continue
from .exceptions import attempted, with_arguments


class Exits:
    """A loop's exits."""

    def __init__(self, *, goes_on: bool = False) -> None:
        self.namespace: dict[str, Object] = {"broken": False, "returned": False, "value": UNBOUND, "goes on": goes_on}
        self.errors: list[BaseException] = []

    def place(self, name: str) -> Place:
        return Entry(self.namespace, name)

    def iteration(self, body: Callable[[], Completion], goes_on: Callable[[], Object]) -> Object:
        """Run one iteration; whether another one follows."""

        def run() -> None:
            completion = replaced(body(), without_continue)
            for end in filter(None, ends(completion)):
                self._leave(end, where_ends(completion, lambda e, end=end: e is end))
            normal = where_ends(completion, is_normal)
            put(self.place("goes on"), fork_value(normal, goes_on, lambda: False))

        def fail(error: BaseException) -> None:
            # Iteration values are unknown after the loop, where the error is raised.
            for k, arg in enumerate(error.args):
                if type(arg) in CHOICES:
                    CHOICES[type(arg)].each(arg, lambda one, k=k: fail(with_arguments(error, (*error.args[:k], one, *error.args[k + 1 :]))))
                    return
            if any(map(is_data, error.args)):
                raise Unjoinable("an error has a number that an iteration computes", "raise it with a text")
            name = f"error {self._number_of(error)}"
            self.namespace.setdefault(name, False)
            put(self.place(name), True)
            put(self.place("goes on"), False)

        attempted(WithCells(run, body, goes_on), fail, lambda end: end, keeps_values=keeps_values())
        return truth(self.namespace["goes on"])

    def _leave(self, end: Object, when: Object) -> None:
        if end is not BREAK and type(end) is not Return:
            raise Unjoinable("a loop leaves a generator within a loop of it", "fill a list in the generator's place")

        def note() -> None:
            if end is BREAK:
                put(self.place("broken"), True)
            else:
                put(self.place("returned"), True)
                put(self.place("value"), end.value)

        fork(when, note, None)

    def _number_of(self, error: BaseException) -> int:
        """The number of an error; errors of one kind and text share it."""
        for k, known in enumerate(self.errors):
            if type(known) is type(error) and _are_same(known.args, error.args):
                return k
        self.errors.append(error)
        return len(self.errors) - 1

    def leave_by(self, loop: LoopEnds) -> None:
        """Raise the errors, and add the exits to the loop's completions."""
        found = self.namespace
        for number, error in enumerate(self.errors):
            flag = truth(found.get(f"error {number}", False))
            if flag is not False:
                exclude(flag, lambda error=error: error)
        completion: Completion = None
        broken, returned = truth(found["broken"]), truth(found["returned"])
        if broken is not False:
            completion = BREAK if broken is True else Conditional(broken, BREAK, None)
        if returned is not False:
            # Never read where nothing was returned.
            value = without_unbound(found["value"]) if type(found["value"]) is Choice else found["value"]
            completion = Return(value) if returned is True else Conditional(returned, Return(value), completion)
        if completion is not None:
            loop.found.append(completion)
            normal = where_ends(completion, is_normal)
            loop.alive = False if normal is False else both(loop.alive, normal)


def _are_same(args: tuple[Object, ...], others: tuple[Object, ...]) -> bool:
    return len(args) == len(others) and all(
        _are_same(a, b) if type(a) is tuple and type(b) is tuple else a is b or is_equal(a, b) for a, b in zip(args, others)
    )
