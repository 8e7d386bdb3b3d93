"""Exits of rolled loops: whether and how an iteration left the loop, as carried places."""

from __future__ import annotations

from collections.abc import Callable

from ..anything import Object
from ..calls.truth import truth
from ..containers.generators import Left, Raised
from ..state.completions import Completion, Conditional, Jump, Return, ends, replaced
from ..state.fork import exclude, fork, fork_value, keeps_values, where_ends
from ..state.joins import is_equal
from ..state.numbers.bounds import equals
from ..state.places import Entry, Place, WithCells, put
from ..state.values import CHOICES, UNBOUND, Choice, Unjoinable, both, is_data, without_unbound
from .blocks import LoopEnds, is_normal, without_continue
from .exceptions import attempted, with_arguments


class Exits:
    """A loop's exits."""

    def __init__(self, *, goes_on: bool = False) -> None:
        # The number of an error counts from 1.
        self.namespace: dict[str, Object] = {"goes on": goes_on, "error": 0}
        self.errors: list[BaseException] = []
        self.jumps: dict[str, Callable[[Object], Jump]] = {}

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

        attempted(WithCells(run, body, goes_on), self._fail, lambda end: end, keeps_values=keeps_values())
        return truth(self.namespace["goes on"])

    def _fail(self, error: BaseException) -> None:
        # Iteration values are unknown after the loop, where the error is raised.
        given = error.args
        for k, arg in enumerate(given):
            if type(arg) in CHOICES:
                CHOICES[type(arg)].each(arg, lambda one, k=k: self._fail(with_arguments(error, (*given[:k], one, *given[k + 1 :]))))
                return
        put(self.place("error"), self._number_of(error))
        put(self.place("goes on"), False)

    def _leave(self, end: Jump, when: Object) -> None:
        name, make, value = self._parts(end)
        self.jumps[name] = make

        def note() -> None:
            self.namespace.setdefault(name, False)
            put(self.place(name), True)
            if value is not UNBOUND:
                put(self.place(_value_of(name)), value)

        self.namespace.setdefault(_value_of(name), UNBOUND)
        fork(when, note, None)

    def _parts(self, end: Jump) -> tuple[str, Callable[[Object], Jump], Object]:
        """The name of an exit, its constructor, and its value."""
        if isinstance(end, Left):
            name, make, value = self._parts(end.end)
            return f"{end.kind} {name}", lambda value: Left(make(value)), value
        if isinstance(end, Return):
            return end.kind, Return, end.value
        name = f"{end.kind} {self._number_of(end.error)}" if isinstance(end, Raised) else end.kind
        return name, lambda _: end, UNBOUND

    def _number_of(self, error: BaseException) -> int:
        """The number of an error; errors of one kind and text share it."""
        if any(map(is_data, error.args)):
            raise Unjoinable("an error has a number that an iteration computes", "raise it with a text")
        for k, known in enumerate(self.errors, 1):
            if type(known) is type(error) and _are_same(known.args, error.args):
                return k
        self.errors.append(error)
        return len(self.errors)

    def leave_by(self, loop: LoopEnds) -> None:
        """Raise the errors, and add the exits to the loop's completions."""
        found = self.namespace
        for number, error in enumerate(self.errors, 1):
            exclude(truth(equals(found["error"], number)), lambda error=error: error)
        completion: Completion = None
        for name, make in self.jumps.items():
            flag, value = truth(found.get(name, False)), found[_value_of(name)]
            if flag is not False:
                # The value is not read where the loop did not leave this way.
                jump = make(without_unbound(value) if type(value) is Choice else value)
                completion = jump if flag is True else Conditional(flag, jump, completion)
        if completion is not None:
            loop.found.append(completion)
            normal = where_ends(completion, is_normal)
            loop.alive = False if normal is False else both(loop.alive, normal)


def _value_of(name: str) -> str:
    return f"value of {name}"


def _are_same(args: tuple[Object, ...], others: tuple[Object, ...]) -> bool:
    return len(args) == len(others) and all(
        _are_same(a, b) if type(a) is tuple and type(b) is tuple else a is b or is_equal(a, b) for a, b in zip(args, others)
    )
