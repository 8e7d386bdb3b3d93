"""The budget: the tape not used for the longest time is dropped, and an explosion of paths is told of."""

import gc
import weakref

import numpy as np
import pytest
from support.guarded import (
    A,
    ask,
    line,
    to_the_power_of_its_integer,
)

import tapediff as td


def test_the_tape_not_used_for_the_longest_time_is_dropped_and_freed():
    """With room for two: 1, 2, 1, 3 drops 2; its compiled tape is gone from memory, and it is recorded again when needed."""
    safe = td.GuardedTape(to_the_power_of_its_integer, max_tapes=2, merge=False)
    td.gradient(safe, 1.5)
    td.gradient(safe, 2.5)
    dropped = weakref.ref(next(v.compiled for v in safe._cache.all() if v.outcomes == (2,)))
    td.gradient(safe, 1.6)
    with pytest.warns(td.GuardWarning):
        td.gradient(safe, 3.5)
    # The call that dropped it was under way in native code that held it.
    assert safe.stats.evictions == 1
    gc.collect()
    assert dropped() is None
    assert [v.outcomes for v in safe._cache.all()] == [(1,), (3,)]
    assert td.gradient(safe, 1.7) == 1.0
    assert td.gradient(safe, 2.5) == 5.0
    assert [v.outcomes for v in safe._cache.all()] == [(1,), (2,)]
    assert safe.stats.evictions == 2
    assert safe.stats.recordings == 4
    assert safe.stats.hits == 2


def test_a_tape_that_is_dropped_while_it_runs_does_not_come_back():
    """With room for one: an operation asks for another path, for which the tape that runs it is dropped."""
    others = []

    def forward(x):
        while others:
            safe(others.pop())
        return x * 1.0, None

    operation = td.primitive(forward, lambda saved, x_bar: x_bar)
    safe = td.GuardedTape(
        lambda x: to_the_power_of_its_integer(operation(x)), max_tapes=1, merge=False, on_new_tape="interpret", compile_after=1000
    )
    safe(1.5)
    others.append(2.5)
    with pytest.warns(td.GuardWarning):
        assert safe(1.5) == 1.5
    assert [v.outcomes for v in safe._cache.all()] == [(2,)]
    assert safe(1.5) == 1.5
    assert safe.stats.recordings == 3


@pytest.mark.parametrize("guard", [None, lambda x: int(x), lambda x: (int(x),)])
def test_hits_of_every_kind_keep_a_tape_from_being_dropped(guard):
    """A tape that is hit again and again stays, whichever way its hits are found; those not used are dropped."""
    safe = td.GuardedTape(to_the_power_of_its_integer, guard, max_tapes=3, merge=False)
    for x in (1.5, 2.5, 3.5):
        td.gradient(safe, x)
    for _ in range(3):
        for x in (1.5, 3.5):
            assert td.gradient(safe, A(x)) == pytest.approx(int(x) * x ** (int(x) - 1), rel=1e-13)
            td.value_and_gradient(safe, A(x))
    with pytest.warns(td.GuardWarning):
        td.gradient(safe, 4.5)
    assert [v.outcomes for v in safe._cache.all()] == [(1,), (3,), (4,)]


def test_the_budget_warns_once_and_names_the_line_behind_the_explosion():
    """int(x) with nine outcomes, beside an `if` with two."""

    def f(x):
        if x > 5:
            return x ** int(x)
        return 2 * x ** int(x)

    safe = td.GuardedTape(f, max_tapes=8, merge=False)
    points = np.arange(12) + 0.5
    with pytest.warns(td.GuardWarning) as warned:
        gradients = ask(safe, points)
    assert gradients == pytest.approx([(1 if x > 5 else 2) * int(x) * x ** (int(x) - 1) for x in points], rel=1e-13)
    (warning,) = warned
    assert str(warning.message) == (
        "f took more than 8 paths, so tapes are dropped and recorded again, which is slow\n"
        f"  got: {line(f, 3)}, where Python looks at a value: 5 different outcomes, 5 paths\n"
        "  fix: wrap the function with the branch in td.subtape, or use td.cond, td.while_loop (for a loop whose length changes) "
        "or np.where; or give a coarser guard; or raise max_tapes if memory allows"
    )
    assert warning.filename == ask.__code__.co_filename
    assert len(safe._cache.all()) == 8


def test_the_budget_names_a_loop_a_guard_or_the_arguments():
    """Whichever the kept tapes differ in most."""

    def loop(x):
        return sum(v if v > 0 else -v for v in x)

    def warning_of(safe, points):
        with pytest.warns(td.GuardWarning) as warned:
            ask(safe, points)
        return str(warned[0].message)

    signs = np.random.default_rng(4).choice([-1.0, 1.0], (20, 6))
    by_path = td.GuardedTape(loop, max_tapes=8, compile_after=9, merge=False)
    assert "<genexpr>, where Python looks at a value: 2 different" in warning_of(by_path, signs)
    by_value = td.GuardedTape(loop, lambda x: x.max(), max_tapes=3, compile_after=9)
    text = warning_of(by_value, np.arange(9.0)[:, None])
    assert "the guard given by the user returned 4 different values, such as np.float64(3.0)" in text
    by_shape = td.GuardedTape(loop, max_tapes=3, compile_after=9, merge=False)
    text = warning_of(by_shape, [np.ones(n) for n in range(1, 7)])
    assert text.startswith("loop was called with more than 3 kinds of arguments")
    assert "its arguments have 4 different shapes, such as float64[4]\n  fix: see explain()" in text


@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
def test_the_cache_holds_the_tapes_of_the_latest_calls_of_each_type_and_finds_them():
    """Against a list of calls, the latest last, over random ones with two types: look-ups, counts, the tape used last, what was dropped."""

    def f(x, scale):
        return np.sum(scale * x) ** int(scale)

    safe = td.GuardedTape(f, max_tapes=4, merge=False)
    cache, counts, rng, used, tapes, evictions = safe._cache, safe._function.counts, np.random.default_rng(8), [], {}, 0
    for _ in range(60):
        call = int(rng.integers(1, 3)), int(rng.integers(1, 4))
        x, scale = np.ones(call[0]), call[1] + 0.5
        td.gradient(safe, x, scale)
        used = [*(other for other in used if other != call), call]
        evictions += len(used) - len(used[-4:])
        used = used[-4:]
        held = {(variant.tape.input_types[0].size, *variant.outcomes): variant for variant in cache.all()}
        assert sorted(held) == sorted(used)
        assert counts.evictions == safe.stats.evictions == evictions
        latest, key = held[call], held[call].key
        cache.note_native_uses()
        assert max(cache.all(), key=lambda variant: variant.used) is latest
        assert cache.last_with(key).key == key
        assert cache.find(key, (call[1],)) is latest
        assert cache.find(key, (7,)) is None
        assert cache.tape_at(key, (x, np.array(scale))) is latest.tape
        assert cache.tape_at(key, (x, np.array(7.5))) is None
        tapes |= held
        assert {k: cache.holds(variant) for k, variant in tapes.items()} == {k: variant is held.get(k) for k, variant in tapes.items()}
    kept, hits, seconds = cache.all(), counts.dropped_hits, counts.dropped_seconds
    key = kept[0].key
    cache.clear()
    assert cache.all() == []
    assert cache.last_with(key) is cache.find(key, ()) is cache.tape_at(key, (np.ones(1), np.array(1.5))) is None
    assert counts.evictions == evictions
    assert counts.dropped_hits == hits + sum(variant.hits for variant in kept)
    assert counts.dropped_seconds == pytest.approx(seconds + sum(variant.compiled.seconds for variant in kept), rel=1e-9)
