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
# Tells whether a subject fits, by a bool, tracked or not; fills in captures by name.
Pattern = Callable[[Object, Captured], Object]


def match_value(value: Callable[[], Object]) -> Pattern:
    """An equal value."""
    return lambda subject, captured: truth(compared("eq", subject, value()))


def match_singleton(value: Object) -> Pattern:
    """None, True or False."""
    return lambda subject, captured: truth(is_(subject, value))


def match_as(inner: Pattern | None, name: str | None) -> Pattern:
    """A pattern, or anything, captured under a name."""

    def fits(subject: Object, captured: Captured) -> Object:
        found = True if inner is None else inner(subject, captured)
        if found is not False and name is not None:
            captured[name] = subject
        return found

    return _wildcard if inner is None and name is None else fits


def _wildcard(subject: Object, captured: Captured) -> Object:
    """The pattern that fits everything, and captures no name."""
    return True


def _by_option(pattern: Pattern) -> Pattern:
    """A pattern of the options of a choice; captures are joined."""

    def fits(choice: Object, captured: Captured) -> Object:
        if type(choice) not in CHOICES:
            return pattern(choice, captured)
        found: Object = False
        for k in possible(choice):
            inner: Captured = {}
            condition, option = choice.conditions[k], choice.options[k]
            fits = fork_value(condition, lambda option=option, inner=inner: pattern(option, inner), lambda: False)
            hit = both(condition, truth(fits))
            if hit is False:
                continue
            for name, value in inner.items():
                captured[name] = select(hit, value, captured[name]) if name in captured and is_data(hit) else value
            found = either(found, hit)
        return found

    return fits


def _all_fit(parts: tuple[Pattern, ...], entries: Iterable[Object], captured: Captured, found: Object = True) -> Object:
    """The condition that all parts fit, too."""
    return all_of((part(entry, captured) for part, entry in zip(parts, entries)), found)


def match_sequence(parts: tuple[Pattern, ...], star: int | None) -> Pattern:
    """A sequence whose entries fit.

    Args:
        star: the position of the part for the rest.
    """
    m = len(parts)

    def fits(subject: Object, captured: Captured) -> Object:
        if not isinstance(subject, abc.Sequence) or isinstance(subject, (str, bytes, bytearray)):
            return False
        if is_conditional(subject):
            return fits_conditional(subject, captured)
        n = len(subject)
        if n != m if star is None else n < m - 1:
            return False
        return _all_fit(parts, entries_of(subject, n), captured)

    def fits_conditional(subject: Object, captured: Captured) -> Object:
        """Likewise for a sequence of data-dependent length."""
        total = length(subject)
        found = truth(total == m if star is None else total >= m - 1)
        entries = split(subject, m, 0) if star is None else split(subject, star, m - 1 - star)
        if len(entries) < (m if star is None else m - 1):
            return False
        for part, entry in zip(parts, around_star(entries)):
            found = both(found, truth(if_value(found, lambda part=part, entry=entry: part(entry, captured), lambda: False)))
        return found

    def entries_of(subject: Object, n: int) -> list[Object]:
        """The entry for each part, read in Python's order: all of them, or by position around `*_`."""
        if all(part is _wildcard for part in parts):
            return [None] * m
        if star is not None and parts[star] is _wildcard:
            where = [j if j < star else n - m + j for j in range(m)]
            return [None if part is _wildcard else subject[j] for part, j in zip(parts, where)]
        # Not by `list`, which also calls `__len__`.
        return around_star([*(entry for entry in iterated(subject))])

    def around_star(entries: list[Object]) -> list[Object]:
        """The entries, with those of the rest as a list."""
        if star is None:
            return entries
        end = len(entries) - (m - 1 - star)
        return [*entries[:star], entries[star:end], *entries[end:]]

    return _by_option(fits)


_MISSING = object()


def match_mapping(keys: tuple[Callable[[], Object], ...], parts: tuple[Pattern, ...], rest: str | None) -> Pattern:
    """A mapping with given keys, whose values fit."""

    def fits(subject: Object, captured: Captured) -> Object:
        if not isinstance(subject, abc.Mapping) or len(subject) < len(keys):
            return False
        names = [key() for key in keys]
        if len(set(names)) != len(names):
            raise ValueError(f"mapping pattern checks duplicate key ({names[-1]!r})")
        found: Object = True
        if has_conditional_keys(subject):
            conditions, entries = zip(*(there(subject, key) for key in names)) if names else ((), ())  # pyright: ignore[reportArgumentType] -- a dict
            found = all_of(conditions)
            if found is False:
                return False
        else:
            entries = [subject.get(key, _MISSING) for key in names]
            if any(entry is _MISSING for entry in entries):
                return False
        found = _all_fit(parts, entries, captured, found)
        if found is not False and rest is not None:
            copied: Object = dict.copy if has_conditional_keys(subject) else dict
            others = captured[rest] = copied(subject)
            for key in names:
                discard(others, key)
        return found

    return _by_option(fits)


_SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def match_class(of: Callable[[], Object], parts: tuple[Pattern, ...], names: tuple[str, ...], named: tuple[Pattern, ...]) -> Pattern:
    """An instance of a class whose attributes fit."""

    def fits(subject: Object, captured: Captured) -> Object:
        kind = of()
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
            entries = [subject if name is None else attribute(subject, name) for name in _names(kind, len(parts), names)]
        except AttributeError:
            return False
        return _all_fit((*parts, *named), entries, captured, found)

    return _by_option(fits)


def _names(kind: type, n: int, named: tuple[str, ...]) -> Generator[str | None]:
    """The attributes for positional and named parts; None for the subject itself."""
    if not n:
        yield from named
        return
    if not hasattr(kind, "__match_args__"):
        if issubclass(kind, _SELF_MATCHING):
            if n > 1:
                raise TypeError(f"{kind.__name__}() accepts 1 positional sub-pattern ({n} given)")
            yield None
            yield from named
            return
        raise TypeError(f"{kind.__name__}() accepts 0 positional sub-patterns ({n} given)")
    given = kind.__match_args__  # pyright: ignore[reportAttributeAccessIssue]
    if type(given) is not tuple:
        raise TypeError(f"{kind.__name__}.__match_args__ must be a tuple (got {type(given).__name__})")
    if len(given) < n:
        plural = "" if len(given) == 1 else "s"
        raise TypeError(f"{kind.__name__}() accepts {len(given)} positional sub-pattern{plural} ({n} given)")
    names = [*given[:n], *named]
    for k, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"__match_args__ elements must be strings (got {type(name).__name__})")
        if name in names[:k]:
            raise TypeError(f"{kind.__name__}() got multiple sub-patterns for attribute {name!r}")
        yield name


def match_or(parts: tuple[Pattern, ...]) -> Pattern:
    """Alternatives, of which one fits."""

    def fits(subject: Object, captured: Captured) -> Object:
        found: Object = False
        for part in parts:
            inner: Captured = {}
            one = part(subject, inner)
            if one is True and found is False:
                captured.update(inner)
                return True
            if one is not False:
                if inner:
                    if concrete(one):
                        captured.update(inner)
                        return True
                    continue
                found = one if found is False else if_value(found, lambda: True, lambda one=one: one)
        return truth(found)

    return fits


def match_(subject: Object, cases: tuple[tuple[Pattern, Object, Object, Object], ...]) -> Object:
    """match subject: the first case that fits and whose guard holds."""
    for number, (pattern, capture, guard, block) in enumerate(cases):
        captured: Captured = {}
        fits = pattern(subject, captured)
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
        if concrete(pattern(subject, captured)):
            if capture is not None:
                capture(captured)
            if guard is None or concrete(guard()):
                return number
    return None
