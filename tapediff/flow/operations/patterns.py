"""Patterns of `match`: whether a subject fits, and the names that it captures."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Generator, Iterable

from ..anything import Object
from ..blocks.blocks import if_
from ..calls.truth import concrete, truth
from ..containers.choices import possible
from ..containers.entries import is_conditional, length
from ..containers.items import iterated
from ..containers.keys import discard, has_conditional_keys, there
from ..containers.lengths import split
from ..state.fork import fork_value, select
from ..state.places import WithCells
from ..state.values import CHOICES, all_of, both, either, is_data
from .dunder import compared
from .objects import attribute
from .tests_of_values import if_value, is_, is_instance

Captured = dict[str, Object]


class Pattern:
    """A pattern, which fits a subject or not.

    Attributes:
        is_wildcard: it fits everything and captures no name.
    """

    is_wildcard = False

    def fits(self, subject: Object, captured: Captured) -> Object:
        """Whether the subject fits: a bool, tracked or not. Fills in captures by name."""
        raise NotImplementedError


class Value(Pattern):
    """An equal value."""

    def __init__(self, value: Callable[[], Object]) -> None:
        self.value = value

    def fits(self, subject: Object, captured: Captured) -> Object:
        return truth(compared("eq", subject, self.value()))


class Singleton(Pattern):
    """None, True or False."""

    def __init__(self, value: Object) -> None:
        self.value = value

    def fits(self, subject: Object, captured: Captured) -> Object:
        return truth(is_(subject, self.value))


class Star(Pattern):
    """The rest of a sequence."""

    def __init__(self, name: str | None) -> None:
        self.name, self.is_wildcard = name, name is None

    def fits(self, subject: Object, captured: Captured) -> Object:
        if self.name is not None:
            captured[self.name] = list(subject)
        return True


def _by_option(pattern: Pattern, choice: Object, captured: Captured) -> Object:
    """The condition that a choice fits; captures are joined."""
    found: Object = False
    for k in possible(choice):
        inner: Captured = {}
        condition, option = choice.conditions[k], choice.options[k]
        fits = fork_value(condition, lambda option=option, inner=inner: pattern.fits(option, inner), lambda: False)
        hit = both(condition, truth(fits))
        if hit is False:
            continue
        for name, value in inner.items():
            captured[name] = select(hit, value, captured[name]) if name in captured and is_data(hit) else value
        found = either(found, hit)
    return found


def _all_fit(parts: tuple[Pattern, ...], entries: Iterable[Object], captured: Captured, found: Object = True) -> Object:
    """The condition that all parts fit, too."""
    return all_of((part.fits(entry, captured) for part, entry in zip(parts, entries)), found)


class Sequence(Pattern):
    """A sequence whose entries fit."""

    def __init__(self, parts: tuple[Pattern, ...]) -> None:
        self.parts = parts
        self.star = next((k for k, part in enumerate(parts) if isinstance(part, Star)), None)

    def fits(self, subject: Object, captured: Captured) -> Object:
        if type(subject) in CHOICES:
            return _by_option(self, subject, captured)
        if not isinstance(subject, abc.Sequence) or isinstance(subject, (str, bytes, bytearray)):
            return False
        if is_conditional(subject):
            return self._fits_conditional(subject, captured)
        n, m = len(subject), len(self.parts)
        if n != m if self.star is None else n < m - 1:
            return False
        return _all_fit(self.parts, self._entries(subject, n, m), captured)

    def _fits_conditional(self, subject: Object, captured: Captured) -> Object:
        """Likewise for a sequence of data-dependent length."""
        total, m = length(subject), len(self.parts)
        fits = truth(total == m if self.star is None else total >= m - 1)
        k = self.star
        entries = split(subject, m, 0) if k is None else split(subject, k, m - 1 - k)
        if len(entries) < (m if k is None else m - 1):
            return False
        if k is not None:
            entries = [*entries[:k], entries[k : len(entries) - (m - 1 - k)], *entries[len(entries) - (m - 1 - k) :]]
        for part, entry in zip(self.parts, entries):
            fits = both(fits, truth(if_value(fits, lambda part=part, entry=entry: part.fits(entry, captured), lambda: False)))
        return fits

    def _entries(self, subject: Object, n: int, m: int) -> Object:
        """The entry for each part, read in Python's order: all of them, or by position around `*_`."""
        if all(part.is_wildcard for part in self.parts):
            return [None] * m
        k = self.star
        if k is not None and self.parts[k].is_wildcard:
            where = [j if j < k else n - m + j for j in range(m)]
            return [None if self.parts[j].is_wildcard else subject[where[j]] for j in range(m)]
        # Not by `list`, which also calls `__len__`.
        entries = [*(entry for entry in iterated(subject))]
        return entries if k is None else [*entries[:k], entries[k : n - (m - 1 - k)], *entries[n - (m - 1 - k) :]]


_MISSING = object()


class Mapping(Pattern):
    """A mapping with given keys, whose values fit."""

    def __init__(self, keys: tuple[Callable[[], Object], ...], parts: tuple[Pattern, ...], rest: str | None) -> None:
        self.keys, self.parts, self.rest = keys, parts, rest

    def fits(self, subject: Object, captured: Captured) -> Object:
        if type(subject) in CHOICES:
            return _by_option(self, subject, captured)
        if not isinstance(subject, abc.Mapping) or len(subject) < len(self.keys):
            return False
        keys = [key() for key in self.keys]
        if len(set(keys)) != len(keys):
            raise ValueError(f"mapping pattern checks duplicate key ({keys[-1]!r})")
        found: Object = True
        if has_conditional_keys(subject):
            conditions, entries = zip(*(there(subject, key) for key in keys)) if keys else ((), ())  # pyright: ignore[reportArgumentType] -- a dict
            found = all_of(conditions)
            if found is False:
                return False
        else:
            entries = [subject.get(key, _MISSING) for key in keys]
            if any(entry is _MISSING for entry in entries):
                return False
        found = _all_fit(self.parts, entries, captured, found)
        if found is not False and self.rest is not None:
            copied: Object = dict.copy if has_conditional_keys(subject) else dict
            rest = captured[self.rest] = copied(subject)
            for key in keys:
                discard(rest, key)
        return found


_SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


class Class(Pattern):
    """An instance of a class whose attributes fit."""

    def __init__(self, kind: Callable[[], Object], parts: tuple[Pattern, ...], names: tuple[str, ...], named: tuple[Pattern, ...]) -> None:
        self.kind, self.parts, self.names, self.named = kind, parts, names, named

    def fits(self, subject: Object, captured: Captured) -> Object:
        if type(subject) in CHOICES:
            return _by_option(self, subject, captured)
        kind = self.kind()
        if not isinstance(kind, type):
            match subject:
                case kind():  # raises Python's own error
                    pass
                case _:
                    pass
        found = is_instance(subject, kind)
        if found is False:
            return False
        try:
            entries = [subject if name is None else attribute(subject, name) for name in self._names(kind)]
        except AttributeError:
            return False
        return _all_fit((*self.parts, *self.named), entries, captured, found)

    def _names(self, kind: type) -> Generator[str | None]:
        n = len(self.parts)
        if not n:
            yield from self.names
            return
        if not hasattr(kind, "__match_args__"):
            if issubclass(kind, _SELF_MATCHING):
                if n > 1:
                    raise TypeError(f"{kind.__name__}() accepts 1 positional sub-pattern ({n} given)")
                yield None
                yield from self.names
                return
            raise TypeError(f"{kind.__name__}() accepts 0 positional sub-patterns ({n} given)")
        given = kind.__match_args__  # pyright: ignore[reportAttributeAccessIssue]
        if type(given) is not tuple:
            raise TypeError(f"{kind.__name__}.__match_args__ must be a tuple (got {type(given).__name__})")
        if len(given) < n:
            plural = "" if len(given) == 1 else "s"
            raise TypeError(f"{kind.__name__}() accepts {len(given)} positional sub-pattern{plural} ({n} given)")
        names = [*given[:n], *self.names]
        for k, name in enumerate(names):
            if not isinstance(name, str):
                raise TypeError(f"__match_args__ elements must be strings (got {type(name).__name__})")
            if name in names[:k]:
                raise TypeError(f"{kind.__name__}() got multiple sub-patterns for attribute {name!r}")
            yield name


class Capture(Pattern):
    """A pattern, or anything, captured under a name."""

    def __init__(self, inner: Pattern | None, name: str | None) -> None:
        self.inner, self.name, self.is_wildcard = inner, name, inner is None and name is None

    def fits(self, subject: Object, captured: Captured) -> Object:
        found = True if self.inner is None else self.inner.fits(subject, captured)
        if found is not False and self.name is not None:
            captured[self.name] = subject
        return found


class Alternatives(Pattern):
    """Alternatives, of which one fits."""

    def __init__(self, parts: tuple[Pattern, ...]) -> None:
        self.parts = parts

    def fits(self, subject: Object, captured: Captured) -> Object:
        found: Object = False
        for part in self.parts:
            inner: Captured = {}
            fits = part.fits(subject, inner)
            if fits is True and found is False:
                captured.update(inner)
                return True
            if fits is not False:
                if inner:
                    fits = concrete(fits)
                    if fits:
                        captured.update(inner)
                        return True
                    continue
                found = fits if found is False else if_value(found, lambda: True, lambda f=fits: f)
        return truth(found)


def match_(subject: Object, cases: tuple[tuple[Pattern, Object, Object, Object], ...]) -> Object:
    """match subject: the first case that fits and whose guard holds."""
    for number, (pattern, capture, guard, block) in enumerate(cases):
        captured: Captured = {}
        fits = pattern.fits(subject, captured)
        if fits is False:
            continue
        rest = cases[number + 1 :]

        def guarded(
            capture: Object = capture, captured: Captured = captured, guard: Object = guard, block: Object = block, rest: Object = rest
        ) -> Object:
            if capture is not None:
                capture(captured)
            if guard is None:
                return None if block is None else block()
            return if_(guard(), block, WithCells(lambda: match_(subject, rest), *_blocks_of(rest)))

        if fits is True:
            return guarded()
        following = _blocks_of(rest)
        otherwise = WithCells(lambda rest=rest: match_(subject, rest), *following)
        return if_(fits, WithCells(guarded, capture, guard, block, *following), otherwise)
    return None


def _blocks_of(cases: Object) -> list[Object]:
    return [part for _, *parts in cases for part in parts]


def case_of(subject: Object, cases: tuple[tuple[Pattern, Object, Object], ...]) -> int | None:
    """The index of the first case that fits and whose guard holds, by guards."""
    for number, (pattern, capture, guard) in enumerate(cases):
        captured: Captured = {}
        if concrete(pattern.fits(subject, captured)):
            if capture is not None:
                capture(captured)
            if guard is None or concrete(guard()):
                return number
    return None
