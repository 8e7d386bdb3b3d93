"""Generators, whose values a translated loop consumes where they are yielded."""

from __future__ import annotations

import contextlib
import functools
import itertools
import linecache
import math
import operator
import warnings
from collections import deque

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import recordings, translated_result
from tapediff.flow import flowed


def gen(x):
    n = 0
    for v in x:
        if v > 0:
            yield v
        elif v < -1:
            return n
        n += 1
    yield 7.0
    return n


def outer(x):
    yield 1.0
    n = yield from gen(x)
    yield n * x[0]


def walk(t):
    if t is None:
        return
    yield from walk(t[0])
    yield t[1]
    yield from walk(t[2])


def insert(t, v):
    if t is None:
        return (None, v, None)
    if v < t[1]:
        return (insert(t[0], v), t[1], t[2])
    return (t[0], t[1], insert(t[2], v))


def raises(x):
    try:
        for v in x:
            if v < -1.5:
                raise ValueError
            yield v
    except ZeroDivisionError:
        yield 100.0


def loop_over_an_expression(x):
    s = 0.0
    for v in (a * 2 for a in x if a > 0):
        s += v
    return s


def delegation_with_a_result(x):
    s = 0.0
    for v in outer(x):
        s = s * 0.5 + v
    return s


def recursive_generator(x):
    t = None
    for v in x[:4]:
        t = insert(t, v)
    s = 0.0
    for k, v in enumerate(walk(t)):
        s += k * v
    return s


def errors_on_both_sides(x):
    s = 0.0
    try:
        for v in raises(x):
            if v > 1.5:
                raise ZeroDivisionError
            s += v
    except ValueError:
        s += 10
    except ZeroDivisionError:
        s += 20
    return s


def chains(x):
    s = 0.0
    for c in itertools.chain((v for v in x if v > 0), [1.0], (v for v in x if v < 0)):
        s = s * 0.5 + c
    return (
        s
        + sum(itertools.islice((v for v in x if v > 0), 2))
        + functools.reduce(lambda a, b: a * 0.5 + b, (v for v in x if v > 0), 0.0)
    )


def pairs_on_a_side(x):
    p, q = list(x[:3]), list(x[3:])
    return (sum([a * b for a, b in zip(p, q)]) if x[0] > 0 else 0.0) + x[1]


def left_behind_the_first(x):
    tests = iter([x[0] > 0, x[1] > 0, x[2] > 0, x[3] > 0])
    found = any(tests)
    return found * 1.0 + len(list(tests)) * x[4]


def branches_within_endless_ones(x):
    def values():
        k = 0
        while True:
            yield x[0] if x[k] > 0 else x[1]
            k += 1

    given = values()
    return next(given) + 2.0 * next(given) + 3.0 * next(given)


PROGRAMS = [
    branches_within_endless_ones,
    left_behind_the_first,
    pairs_on_a_side,
    loop_over_an_expression,
    delegation_with_a_result,
    recursive_generator,
    chains,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_one_tape_holds_all_paths(program):
    """Data decide around a `yield`, and in the block that consumes it."""
    assert recordings(program) == 1


def advanced_by_hand(x):
    values = gen(x)
    s = next(values, 0.5) * 2
    for v in values:
        s += v
    return s


def advanced_on_a_side(x):
    values = iter(x)
    s = 0.0
    for v in values:
        if v > 0:
            s += next(values, 0.0)
    return s


def left_and_gone_on_with(x):
    values = (v for v in x if v > 0)
    s = 0.0
    if x[0] > 0:
        s = sum(values)
    return s + sum(values)


@pytest.mark.parametrize(
    "program", [advanced_by_hand, advanced_on_a_side, left_and_gone_on_with, errors_on_both_sides], ids=lambda f: f.__name__
)
def test_generators_that_something_else_goes_on_with_are_guards(program):
    """The answers are right; a tape holds one path."""
    assert recordings(program) >= 1


def test_values_are_computed_when_they_are_asked_for():
    """The order of what a generator and its consumer do is Python's, with `finally` at the end of the loop."""

    def f():
        log = []

        def values():
            try:
                for k in range(5):
                    log.append(("yield", k))
                    yield k
            finally:
                log.append("closed")

        for k in values():
            log.append(("got", k))
            if k == 2:
                break
        log.append("after")
        log.append(any(k > 1 for k in values()))
        log.append(next(values()))
        return log

    ours, pythons = translated_result(f)
    assert ours == pythons


def test_an_error_of_the_consumer_passes_the_generator_by():
    """Only `finally` in the generator runs."""

    def f():
        log = []

        def values():
            try:
                yield 1
            except ValueError:
                log.append("caught")
            finally:
                log.append("closed")

        try:
            for _ in values():
                raise ValueError("mine")
        except ValueError as error:
            log.append(str(error))
        return log

    ours, pythons = translated_result(f)
    assert ours == pythons


def test_generators_are_pythons_for_everything_else():
    """send, throw, close, the value of `yield from`, and infinite ones."""

    def f():
        def echo():
            got = []
            while True:
                value = yield len(got)
                if value is None:
                    return got
                got.append(value)

        def relay():
            result = yield from echo()
            yield ("result", result)

        found = []
        r = relay()
        found.append(next(r))
        found.append(r.send("a"))
        found.append(r.send("b"))
        found.append(next(r))
        found.append(list(itertools.islice((k * k for k in itertools.count()), 4)))
        found.append([*zip((k for k in itertools.count()), "abc")])
        found.append(dict((k, k + 1) for k in range(2)))  # noqa: C402 -- tested
        found.append(sum(0.1 for _ in range(10)))
        return found

    ours, pythons = translated_result(f)
    assert ours == pythons


def test_a_break_of_the_consumer_runs_finally_where_data_say_so():
    """`finally` runs once for each call, also where a loop is left on one side."""

    def values(x, log):
        try:
            yield from x
        finally:
            log.append(1)

    def f(x):
        log = []
        s = 0.0
        for v in values(x, log):
            if v > 1:
                break
            s += v
        return s + len(log)

    assert recordings(f) == 1


def test_types_of_generators_are_pythons():
    """isinstance and iter answer as for Python's own."""
    import types

    def f():
        def values():
            yield 1

        g = values()
        return isinstance(g, types.GeneratorType), next(iter(g))

    ours, pythons = translated_result(f)
    assert ours == pythons


def test_gradients_pass_through_generators():
    """A sum of squares of what is positive."""
    g = td.GuardedTape(flowed(lambda x: sum(v * v for v in x if v > 0)), merge=False)
    np.testing.assert_array_equal(td.gradient(g, np.array([1.0, -2.0, 3.0])), [2.0, 0.0, 6.0])  # exact: small integers


def an_iterator_after_a_break(x):
    items = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    s = 0.0
    for v, w in zip(x, items):
        if v * w > 0.5:
            break
        s += v
    return s * sum(items)


def an_iterator_on_one_side(x):
    items, s = iter([1.0, 2.0, 3.0, 4.0]), 1.0
    if x[0] > 0:
        s = sum(items) + x[1]
    for v, w in zip(x, items):
        s += v * w
    return s


def iterators_of_their_own(x):
    s = 0.0
    if x[0] > 0:
        s += sum(v * w for v, w in zip(x, [1.0, 2.0, 3.0]) if v > w - 2)
    for v in filter(None, iter(list(x))):
        if v > 1:
            break
        s += v
    return s


def an_iterator_of_a_list_that_grows(x):
    items = [1.0, 2.0]
    iterator = iter(items)
    if x[0] > 0:
        next(iterator)
    s = next(iterator, 5.0) + next(iterator, 6.0) + next(iterator, 7.0)
    items += [x[2], x[3]]
    return s * x[0] + next(iterator, 8.0)


@pytest.mark.parametrize(("f", "count"), [(an_iterator_of_a_list_that_grows, 1), (an_iterator_after_a_break, 7), (an_iterator_on_one_side, 2), (iterators_of_their_own, 1)])
def test_iterators_are_where_python_leaves_them(f, count):
    """Guards decide where something else goes on with an iterator, and nothing where nothing does."""
    assert recordings(f) <= count


# Functions with a yield as context managers, by contextlib, which is translated


@contextlib.contextmanager
def scaled(box, factor):
    box[0] = box[0] * factor
    try:
        yield box
    finally:
        box[0] = box[0] / factor


@contextlib.contextmanager
def rescuing(box):
    try:
        yield
    except (ValueError, ZeroDivisionError):
        box[0] += 1.0


def scales_in_a_branch(x):
    box, log = [x[0]], []
    for v in x:
        if v > 0:
            with scaled(box, 2.0) as inner:
                inner[0] += v
                log.append(v)
                if v > 1:
                    break
        else:
            box[0] -= v * 0.5
    return box[0] + 0.1 * len(log)


def suppresses_errors(x):
    s = 0.0
    for v in x:
        with contextlib.suppress(ValueError):
            s += math.log(v)
            s += 1.0
    return s * x[1]


def rescues_in_a_branch(x):
    box = [0.0]
    if x[0] > 0:
        with rescuing(box):
            box[0] += math.sqrt(x[1])
    else:
        with rescuing(box), scaled(box, 2.0):
            box[0] += 1.0 / max(x[2], 0)
    return box[0] + x[3]


def leaves_a_stack_of_them(x):
    box = [1.0 + x[0] ** 2]
    with contextlib.ExitStack() as stack:
        for v in x[:3]:
            if v > 0.5:
                stack.enter_context(scaled(box, 1.0 + v))
        box[0] += x[1]
    return box[0]


def advances_one_of_its_own(x):
    def count():
        n = 0.0
        while True:
            n += x[1]
            yield n

    s = 0.0
    for v in x[:3]:
        if v > 0:
            numbers = count()
            s += next(numbers) * v
            try:
                s += next(numbers) + math.sqrt(v - 0.5)
            except ValueError:
                s += next(numbers)
    return s


@pytest.mark.parametrize(
    ("f", "most"),
    [(scales_in_a_branch, 1), (suppresses_errors, 1), (rescues_in_a_branch, 4), (leaves_a_stack_of_them, 8), (advances_one_of_its_own, 14)],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_context_managers_that_are_generators(f, most):
    """A side that is given up leaves its generators, of which nothing runs then."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pytest.PytestUnraisableExceptionWarning)
        assert recordings(f) <= most


def after_two_values(x):
    it = itertools.accumulate(x, initial=2.0)
    return next(it) + 3 * next(it) + sum(it)


def after_a_pair(x):
    it = itertools.pairwise([v for v in x if v > 0] + [1.0, 2.0])
    return next(it)[0] + sum(a * b for a, b in it)


def after_a_break(x):
    it = itertools.chain((v for v in x if v > 0), [1.0])
    for v in it:
        if v > 0.5:
            break
    return sum(it)


def after_zip(x):
    it = enumerate(v for v in x if v > 0)
    y = 0.0
    for (k, v), w in zip(it, (1.0, 2.0)):
        y += k * v * w
    return y + sum(a * b for a, b in it)


PARTLY_READ = [after_two_values, after_a_pair, after_a_break, after_zip]


@pytest.mark.parametrize("program", PARTLY_READ, ids=lambda f: f.__name__)
def test_a_name_of_a_lazy_builtin_goes_on_behind_what_was_read(program):
    """With the next value, as Python's iterators do: whoever stops early has not taken the rest."""
    recordings(program)


def above(it, least=-1.0):
    for v in it:
        if v > least:
            yield v


def smoothed(it, a=0.5):
    m = None
    for v in it:
        m = v if m is None else a * v + (1 - a) * m
        yield m


def means(it, n):
    latest = deque(maxlen=n)
    for v in it:
        latest.append(v)
        if len(latest) == n:
            yield sum(latest) / n


def a_pipeline(x):
    return sum(v * v for v in means(smoothed(above(x)), 3))


@pytest.mark.parametrize("f", [a_pipeline])
def test_generators_in_variables_merge(f):
    assert recordings(f) == 1


def goes_on(x):
    values, s = above(x), 0.0
    for v in values:
        s += v
        if v > 0.5:
            break
    for v in values:
        s += 2 * v
    return s


def advances_within(x):
    values, s = above(x), 0.0
    for v in values:
        s += v * next(values, 1.0)
    return s


def in_another_function(x):
    def first(values):
        for v in values:
            if v > 0:
                return v
        return 0.0

    values = above(x)
    return first(values) + sum(values)


def cleaning(it, log):
    try:
        for v in it:
            if v > -1.0:
                yield v
    finally:
        log.append(1.0)


def cleans_up_when_dropped(x):
    log = []
    values, s = cleaning(x, log), 0.0
    for v in values:
        s += v
        if s > 0.5:
            break
    s += len(log) * x[0]
    del values
    return s + len(log)


def after_an_error(x):
    values, s = above(x), 0.0
    try:
        for v in values:
            if v > 1.0:
                raise ValueError
            s += v
    except ValueError:
        s -= 1.0
    return s + sum(values)


@pytest.mark.parametrize("f", [goes_on, advances_within, in_another_function, cleans_up_when_dropped, after_an_error])
def test_generators_that_go_on_after_a_loop_give_what_python_gives(f):
    recordings(f)  # compares values and gradients at every point


def sequences_by_data(x):
    values = [x[0], x[1]] if x[2] > 0 else (x[3], x[4], x[5])
    total = sum(k * v for k, v in enumerate(values, 1)) + sum(map(abs, values)) + max(itertools.accumulate(values))
    for k, v in enumerate(values):
        if v > 0.5:
            break
        total += k * v
    else:
        total += 1
    return total + sum(v for v in filter(lambda v: v > 0, values)) + sum(a * b for a, b in itertools.pairwise(values))


def test_lazy_builtins_of_a_choice_of_sequences_merge():
    assert recordings(sequences_by_data) == 1


NUMBERS = np.sin(np.arange(60) * 1.7) * 2
# Each is a view of `items`, an iterator that is used later.
VIEWS = [
    "map(lambda v: v * 1.1, items)", "filter(lambda v: v < 9, items)", "(a for a, _ in zip(items, range(99)))",
    "(a - b for a, b in zip(items, items))",
    "itertools.chain(items, [0.1])", "itertools.islice(items, 20)", "itertools.takewhile(lambda v: v < 9, items)",
    "itertools.accumulate(items, lambda a, b: 0.5 * a + b)", "itertools.starmap(lambda v: v * 2, ((v,) for v in items))",
    "(b for _, b in itertools.pairwise(items))", "itertools.compress(items, [1, 1, 0] * 9)", "itertools.islice(itertools.cycle(items), 30)",
    "itertools.tee(items)[0]", "(k for k, _ in itertools.groupby(items))", "(a for a, _ in itertools.zip_longest(items, [1]))",
    "(v * 2 for v in items)", "iter(lambda: next(items, -77.0), -77.0)", "iter(items)", "map(operator.neg, items)",
]  # fmt: skip
PROGRAM = """
def program(x):
    items = iter([NUMBERS[k] * x[0] for k in range(25)])
    s, n = 0.0, 0
    for v in {view}:
        if v > 1.5 * x[1]:
            break
        s, n = s + v * v, n + 1
        if n > 22:
            break
    return s + sum(1 for _ in items) + x[2] * n
"""


@pytest.mark.parametrize("view", VIEWS)
def test_an_iterator_is_advanced_as_far_as_the_loop_over_a_view_of_it_runs(view):
    """A `break` that data decide leaves the rest for later."""
    text = PROGRAM.format(view=view)
    linecache.cache[f"<{view}>"] = len(text), None, text.splitlines(keepends=True), f"<{view}>"
    names = {"NUMBERS": NUMBERS, "itertools": itertools, "operator": operator}
    exec(compile(text, f"<{view}>", "exec"), names)
    program = names["program"]
    g = td.GuardedTape(program)
    for x in np.random.default_rng(0).uniform(0.4, 1.5, (8, 3)):
        np.testing.assert_allclose(g(x), program(x), rtol=1e-12)
