"""Random numbers drawn on sides of branches: the state of a generator, like all that sides change, is joined after them.

The states that a generator has been in are numbered. Where its state is data, so is the number: a draw is made from each possible state,
and the number selects the result and the next state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import MethodType

import numpy as np

from ...base.byte_code import is_held_elsewhere
from ...base.current_recording import current_recorder
from ...base.source_location import user_site
from ...recording.python_state.draws.randomness import generator_kinds, shared_generators
from ..anything import Object
from ..calls.truth import truth
from ..state.fork import decide, decided
from ..state.joins import CONSTANTS, join, one_of
from ..state.numbers.bounds import equals, note_bounds
from ..state.numbers.python_numbers import Kind, note_kind
from ..state.places import Place, note
from ..state.recursions import TooDeep
from ..state.tables.columns import table_of
from ..state.values import CHOICES, Unjoinable, is_data, state
from .arguments import NATIVE

# Maximum number of states from which one call draws.
_MOST_STATES = 256
# Methods that change an argument, or give access to the generator's own parts.
_OTHERS = frozenset(("shuffle", "permuted", "spawn", "getstate", "get_state", "setstate", "set_state"))


class Stream:
    """The numbered states of a generator.

    Attributes:
        owner: the generator.
        states: by number, copies of its state.
        number: of the state that the program sees, maybe data.
        possible: the numbers that this may be.
        present: of the state that the generator is in.
        are_many: it may be in too many states: guards decide where it draws.
    """

    def __init__(self, owner: Object) -> None:
        self.owner = owner
        self.states: list[Object] = []
        self.are_many = False
        self._numbers: dict[Object, int] = {}
        self._drawn: dict[Object, tuple[Object, int]] = {}
        self.number: Object = self._look()
        self.possible = frozenset((self.number,))

    def _look(self) -> int:
        """The number of the state that the generator is in."""
        present = _state_of(self.owner)
        self.present = self._numbers.setdefault(_key_of(present), len(self.states))
        if self.present == len(self.states):
            self.states.append(present)
        return self.present

    def restore(self, number: int) -> None:
        """Put the generator into a state."""
        if number != self.present:
            _set_state(self.owner, self.states[number])
            self.present = number

    def check(self) -> None:
        """Give up if other code has drawn from the generator."""
        if state.streams.get(id(self.owner)) is self and self._numbers.get(_key_of(_state_of(self.owner))) != self.present:
            raise TooDeep("code that is not translated draws from a generator of random numbers", _TRANSLATED, user_site())

    def leave(self) -> None:
        """Leave the generator to other code, in the state that the program sees; by guards, if that is data."""
        if state.journals:
            raise Unjoinable(*_ON_A_SIDE)
        number, (*others, last) = self.number, sorted(self.possible)
        reason = decide("code needs the state of a generator of random numbers, which depends on data", "draw before the branch")
        self.restore(next((k for k in others if decided(truth(equals(number, k)), reason)), last) if is_data(number) else number)
        del state.streams[id(self.owner)]

    def after(self, number: int, f: Callable[..., Object], args: tuple[Object, ...], named: dict[str, Object]) -> tuple[Object, int]:
        """The result of a call from a state, and the next state."""
        is_plain = all(type(value) in CONSTANTS for value in (*args, *named.values()))
        # As text, since 1, 1.0 and True are equal.
        key = (number, f.__name__, repr((args, named))) if is_plain else None
        if key in self._drawn:
            return self._drawn[key]
        self.restore(number)
        found = f(*args, **named), self._look()
        if key is not None and type(found[0]) in CONSTANTS:
            self._drawn[key] = found
        return found


class Draws(Place):
    """The state of a generator: its number, and the possible ones."""

    def get(self) -> Object:
        stream = state.streams[id(self.holder)]
        return stream.number, stream.possible

    def set(self, value: Object) -> None:
        stream = state.streams[id(self.holder)]
        stream.number, stream.possible = value
        if not is_data(stream.number):
            stream.restore(stream.number)

    def joined(self, test: Object, yes: Object, no: Object) -> Object:
        (first, ours), (second, theirs) = yes, no
        return join(test, first, second), ours | theirs


def drawn(f: Object, args: tuple[Object, ...], named: dict[str, Object]) -> Object:
    """The result of a method that draws from a generator of this recording; NATIVE for other functions, and on the only path."""
    if not state.journals and not state.streams:
        return NATIVE
    owner, kinds = getattr(f, "__self__", None), generator_kinds()
    if args and isinstance(args[0], kinds) and getattr(type(args[0]), getattr(f, "__name__", ""), None) is f:
        owner, *rest = args
        f, args = MethodType(f, owner), tuple(rest)
    given = *args, *named.values()
    if not isinstance(owner, (list, dict, set, deque)):
        for value in given:
            if isinstance(value, kinds):
                _leave(value)
    if id(owner) not in state.streams and not (isinstance(owner, kinds) and _is_joined(owner)):
        return NATIVE
    if state.is_in_loop or f.__name__ in _OTHERS or any(type(value) in CHOICES for value in given):
        _leave(owner)
        return NATIVE
    if id(owner) not in state.streams:
        state.streams[id(owner)] = Stream(owner)
        state.checks.append(state.streams[id(owner)].check)
    stream = state.streams[id(owner)]
    stream.check()
    possible = sorted(stream.possible)
    stream.are_many = stream.are_many or len(possible) > _MOST_STATES
    if stream.are_many and state.journals:
        raise Unjoinable("a generator of random numbers may be in too many states", "draw before the branch")
    note(Draws(owner))
    number = stream.number
    if not is_data(number):
        result, after = stream.after(number, f, args, named)
        stream.number, stream.possible = after, frozenset((after,))
        stream.restore(after)
        return result
    found = [stream.after(k, f, args, named) for k in possible]
    position, following = _position(number, possible), [after for _, after in found]
    stream.possible = frozenset(following)
    if len(stream.possible) == 1:
        stream.number = following[0]
    else:
        stream.number = _taken(np.array(following), position)
        note_bounds(stream.number, min(following), max(following))
    return _at(position, [result for result, _ in found])


def _leave(generator: Object) -> None:
    """Leave a generator to code that is not translated."""
    if id(generator) in state.streams:
        state.streams[id(generator)].leave()
    elif state.journals:
        raise Unjoinable(*_ON_A_SIDE)


_ON_A_SIDE = "code on a side of a branch uses a generator of random numbers", "draw before the branch"
_TRANSLATED = "draw before that code, and pass the numbers"


def _position(number: Object, possible: list[int]) -> Object:
    """The position of a number among the possible ones."""
    low, high = possible[0], possible[-1]
    position = number - low
    if high - low + 1 == len(possible):
        return position
    places = np.zeros(high - low + 1, np.int64)
    places[np.array(possible) - low] = np.arange(len(possible))
    return _taken(places, position)


def _taken(numbers: np.ndarray, position: Object) -> Object:
    """The int at a position."""
    return note_kind(np.take(current_recorder().tracked_constant(numbers), position, mode="clip"), Kind(True, True))


def _at(position: Object, results: list[Object]) -> Object:
    """The result at a position."""
    if len(results) == 1:
        return results[0]
    if all(type(one) is np.ndarray and one.dtype.kind in "fi" and one.shape == results[0].shape for one in results):
        return np.take(current_recorder().tracked_constant(np.stack(results)), position, axis=0, mode="clip")
    table = table_of(results)
    return one_of([(equals(position, k), one) for k, one in enumerate(results)]) if table is None else table.at(position)


def _is_joined(owner: Object) -> bool:
    """True for generators of this recording that share their state with no other object."""
    if type(owner).__module__ not in _MODULES or not hasattr(owner, "random"):
        return False
    if id(owner) in state.callers or any(owner is shared for shared in shared_generators()):
        return False
    held = getattr(owner, "_bit_generator", None)
    return held is None or not is_held_elsewhere((held,), 2)


# Of the classes themselves, without the user's subclasses.
_MODULES = ("random", "numpy.random._generator", "numpy.random.mtrand")


def _state_of(owner: Object) -> Object:
    if hasattr(owner, "bit_generator"):
        return owner.bit_generator.state
    return owner.get_state(legacy=False) if hasattr(owner, "get_state") else owner.getstate()


def _set_state(owner: Object, value: Object) -> None:
    if hasattr(owner, "bit_generator"):
        owner.bit_generator.state = value
    else:
        (owner.set_state if hasattr(owner, "set_state") else owner.setstate)(value)


def _key_of(value: Object) -> Object:
    """A generator's state in hashable form."""
    if isinstance(value, dict):
        return tuple((name, _key_of(part)) for name, part in value.items())
    return value.tobytes() if isinstance(value, np.ndarray) else value
