"""What a function reads besides its arguments has changed: answers are those of the function as it is now, by every verb."""

import copy
import pickle
import threading
import types
import warnings

import numpy as np
import pytest
from random_programs import changing_state
from support.guarded import A
from support.in_threads import in_threads

import tapediff as td

batch, rate = np.ones(2), 0.5


class Model:
    """A model with a mode, a rate and data, as users write them."""

    def __init__(self, data):
        self.mode, self.rate, self.data = "square", 2.0, data

    def loss(self, x):
        if self.mode == "square":
            return self.rate * np.sum((x - self.data) ** 2)
        return self.rate * np.sum(np.abs(x - self.data)) if x[0] > 0 else np.sum(x)


def of_globals(x):
    return rate * np.sum(x * batch)


VERBS = {
    "gradient": lambda g, f, x: (td.gradient(g, x), td.gradient(f, x)),
    "gradient into an array": lambda g, f, x: (td.gradient(g, x, out=np.empty(2)), td.gradient(f, x)),
    "method": lambda g, f, x: (g.gradient(x), td.gradient(f, x)),
    "value_and_gradient": lambda g, f, x: (td.value_and_gradient(g, x)[1], td.gradient(f, x)),
    "value": lambda g, f, x: (g(x), f(x)),
    "hessian": lambda g, f, x: (td.hessian(g, x), td.hessian(f, x)),
    "hvp": lambda g, f, x: (td.hvp(g, x, x), td.hvp(f, x, x)),
    "jvp": lambda g, f, x: (td.jvp(g, (x,), (x,))[1], td.jvp(f, (x,), (x,))[1]),
    "vjp": lambda g, f, x: (td.vjp(g, x)[1](1.0), td.vjp(f, x)[1](1.0)),
    "batch": lambda g, f, x: (g.batch(x[None])[1][0], td.gradient(f, x)),
    "batch_values": lambda g, f, x: (g.batch_values(x[None])[0], f(x)),
    "margins": lambda g, f, x: (len(g.margins(x)), len(td.GuardedTape(f).margins(x))),
    "by name": lambda g, f, x: (td.gradient(g, x=x, argnames="x"), td.gradient(f, x)),
    "a new bound call": lambda g, f, x: (g.bind(x, np.empty(2))(), f(x)),
    "a new C function": lambda g, f, x: (g.c_function("value", x).as_numba is not None, True),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_answers_for_what_the_function_reads_now(verb):
    """Changes of a number, a string, an array in place, and back; several calls behind each, so that kernels answer as well."""
    model = Model(A([0.5, 1.5]))
    safe, x = td.GuardedTape(model.loss), A([1.0, 2.0])

    def agree():
        for _ in range(4):
            ours, theirs = VERBS[verb](safe, model.loss, x)
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)

    agree()
    for name, value in (("rate", 3.0), ("mode", "abs"), ("rate", 2.0), ("mode", "square"), ("data", A([0.0, 1.0])), ("data", A([0.5, 1.5]))):
        setattr(model, name, value)
        agree()
    model.data[0] = -7.0
    agree()


def test_a_loop_over_batches_trains_on_each():
    """The gradients of every batch, from outside; from the second change on, a new batch costs a recording and no compilation."""
    global batch
    for make in (td.grad, lambda f: td.GuardedTape(f).gradient):
        g = make(of_globals)
        for k in range(6):
            batch = np.full(2, float(k))
            for _ in range(5):
                np.testing.assert_array_equal(g(np.ones(2)), 0.5 * batch)
    safe = td.GuardedTape(of_globals)
    for k in range(12):
        batch = np.full(2, k + 0.25)
        np.testing.assert_array_equal(td.gradient(safe, np.ones(2)), 0.5 * batch)
        if k == 3:
            compiled = safe.stats.seconds_compiling
    assert safe.stats.seconds_compiling == compiled
    assert safe.stats.recordings == 12
    first = np.full(2, 0.25)
    batch = first  # equal to the first one
    np.testing.assert_array_equal(td.gradient(safe, np.ones(2)), 0.5 * first)
    assert safe.stats.recordings == 12
    assert "batch, which the function reads, has changed" in safe.explain()


def test_a_redefined_helper_is_called():
    names = {"np": np}
    exec("def helper(x): return np.sum(x**2)\ndef f(x): return helper(x)", names)
    g = td.grad(names["f"])
    assert g(A([3.0])) == [6.0]
    exec("def helper(x): return np.sum(x**3)", names)
    assert g(A([3.0])) == [27.0]


def test_what_the_function_changes_itself_is_no_change():
    """A counter, a log, a cache that is filled at the first call; also where it raises."""
    state = types.SimpleNamespace(count=0, log=[], cache=None)

    def f(x):
        state.count += 1
        state.log.append(state.count)
        if state.cache is None:
            state.cache = np.arange(2.0)
        if x[0] < 0:
            raise ValueError("not here")
        return np.sum(x * state.cache)

    safe = td.GuardedTape(f)
    for _ in range(5):
        np.testing.assert_array_equal(td.gradient(safe, np.ones(2)), [0.0, 1.0])
    with pytest.raises(ValueError, match="not here"):
        td.gradient(safe, -np.ones(2))
    np.testing.assert_array_equal(td.gradient(safe, np.ones(2)), [0.0, 1.0])
    assert safe.stats.recordings == 1
    state.cache = np.ones(2)
    np.testing.assert_array_equal(td.gradient(safe, np.ones(2)), [1.0, 1.0])


def test_compiled_tapes_raise_with_the_name_and_the_line():
    global rate
    compiled, x = td.compile(of_globals, np.ones(2)), np.ones(2)
    td.gradient(compiled, x)
    before, rate = rate, 7.0
    try:
        for call in (
            lambda: td.gradient(compiled, x), lambda: compiled(x), lambda: td.hessian(compiled, x), lambda: td.jvp(compiled, (x,), (x,)),
            lambda: compiled.batch(x[None]), lambda: compiled.bind(x, np.empty(2)), lambda: compiled.value_and_gradient(x),
        ):  # fmt: skip
            out = np.full(2, 5.0)
            with pytest.raises(td.StaleTape) as stale:
                call()
            assert stale.value.name == "rate"
            assert str(stale.value).splitlines()[0] == "of_globals reads rate, which has changed since its tape was recorded"
            assert "test_recordings.py" in str(stale.value)
            assert "in of_globals" in str(stale.value)
        with pytest.raises(td.StaleTape):
            td.gradient(compiled, x, out=out)
        np.testing.assert_array_equal(out, 5.0)
    finally:
        rate = before
    np.testing.assert_array_equal(td.gradient(compiled, x), rate * batch)


def test_frozen_targets_go_on_with_what_was_recorded():
    model = Model(A([0.5, 1.5]))
    targets = [td.GuardedTape(model.loss, frozen=True), td.compile(model.loss, np.ones(2), frozen=True), td.record(model.loss, np.ones(2))]
    before = td.gradient(model.loss, np.ones(2))
    for target in targets:
        td.gradient(target, np.ones(2))
    model.rate = 17.0
    for target in targets:
        np.testing.assert_array_equal(td.gradient(target, np.ones(2)), before)


def test_bound_calls_answer_for_the_moment_at_which_they_were_made():
    """Also where other tapes are in use by now; a path that was not recorded then is refused, not recorded with other values."""
    model, out = Model(A([0.5, 1.5])), np.empty(2)
    safe, x = td.GuardedTape(model.loss, merge=False), A([1.0, 2.0])
    model.mode = "abs"
    call = safe.bind(x, out)
    value, gradient = call(), out.copy()
    model.rate = 5.0
    assert safe(x) == model.loss(x) != value
    assert call() == value
    np.testing.assert_array_equal(out, gradient)
    x[0] = -1.0
    with pytest.raises(td.StaleTape, match="was bound"):
        call()


def test_a_large_array_that_is_filled_again_warns_once_with_its_name():
    data = np.ones(10_000)
    safe = td.GuardedTape(lambda x: np.sum(x * data))
    td.gradient(safe, 1.0)
    data[:] = 2.0
    with pytest.warns(td.GuardWarning, match="data, which <lambda> reads, was changed in place"):
        assert td.gradient(safe, 1.0) == 20_000.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data[:] = 3.0
        assert td.gradient(safe, 1.0) == 30_000.0


def test_no_more_tapes_are_kept_than_asked_for():
    weight = [0.0]
    safe = td.GuardedTape(lambda x: x * weight[0], max_tapes=4)
    for k in range(12):
        weight[0] = float(k)
        assert td.gradient(safe, 1.0) == k
    assert len(safe._recordings.tapes()) <= 4
    assert safe.stats.recordings == 12


def test_a_new_value_may_be_refused():
    """on_new_tape="raise" holds for what the function reads as well."""
    weight = [2.0]
    safe = td.GuardedTape(lambda x: x * weight[0])
    td.gradient(safe, 1.0)
    safe.on_new_tape = "raise"
    weight[0] = 3.0
    with pytest.raises(td.NewTape):
        td.gradient(safe, 1.0)
    weight[0] = 2.0
    assert td.gradient(safe, 1.0) == 2.0


def test_copies_and_pickles_keep_their_tapes_where_the_function_reads_the_same():
    """In this process, which reads the same; and another value behind the pickling is no stale one."""
    global rate
    safe = td.GuardedTape(of_globals)
    td.gradient(safe, np.ones(2))
    before, pickled = rate, pickle.dumps(safe)
    again = pickle.loads(pickled)
    np.testing.assert_array_equal(td.gradient(again, np.ones(2)), rate * batch)
    assert again.stats.recordings == 1
    rate = 9.0
    try:
        for other in (again, pickle.loads(pickled), copy.deepcopy(safe)):
            np.testing.assert_array_equal(td.gradient(other, np.ones(2)), 9.0 * batch)
    finally:
        rate = before


def test_threads_see_their_own_changes():
    """Each changes what the function reads, under a lock, and gets the gradient of that; three others ask all the time."""
    weight, lock = [0.0], threading.Lock()
    safe = td.GuardedTape(lambda x: x * weight[0])

    def change(first):
        for k in range(40):
            with lock:
                weight[0] = float(first + k % 5)
                assert td.gradient(safe, 1.0) == weight[0]

    in_threads(change, range(0, 40, 10))


def test_td_grad_has_the_options_of_a_guarded_tape():
    weight = [1.0]
    frozen = td.grad(lambda x: x * weight[0], frozen=True)
    assert frozen(1.0) == 1.0
    weight[0] = 2.0
    assert frozen(1.0) == 1.0
    static = td.value_and_grad(lambda x, k: sum(x for _ in range(k)), static=td.static(argnames="k"), max_tapes=2)
    assert [static(1.0, 2)[0], static(1.0, 3)[0]] == [2.0, 3.0]
    with pytest.raises(td.ArgumentMismatch, match="check_contents"):
        td.grad(lambda x: x, check_contents="now and then")(1.0)


def test_recordings_of_large_arrays_are_not_kept_without_end(monkeypatch):
    """Of 20 batches of 80 kB, where 400 kB may be kept."""
    from tapediff.targets.guarded.paths import recordings

    monkeypatch.setattr(recordings, "MOST_BYTES", 400_000)
    data = [np.ones(10_000)]
    safe = td.GuardedTape(lambda x: np.sum(x * data[0]))
    for k in range(20):
        data[0] = np.full(10_000, float(k))
        assert td.gradient(safe, 1.0) == 10_000.0 * k
    assert 2 <= len(safe._recordings.tapes()) <= 5


def test_a_recursive_function_may_give_its_name_to_its_target():
    """f = td.compile(f, x), as of a decorator: that is no change."""
    names = {}
    exec("def f(x, n=3):\n    return x if n == 0 else x * f(x, n - 1)", names)
    for make in (lambda f: td.compile(f, 2.0), td.GuardedTape):
        plain = names["f"]
        names["f"] = make(plain)
        for _ in range(3):
            assert td.gradient(names["f"], 2.0) == 32.0
            assert getattr(names["f"], "stats", None) is None or names["f"].stats.recordings == 1
        names["f"] = plain


@pytest.mark.slow
def test_neither_values_that_raise_nor_counters_are_kept_without_end():
    """Of 300 values at which the function raises, and of a function that counts its 40 recordings."""
    state = {"value": 0.0, "count": 0}

    def f(x):
        state["count"] += 1
        if state["value"] < 0:
            raise ValueError("not here")
        return x ** int(x)

    safe = td.GuardedTape(f, max_tapes=10)
    for k in range(300):
        state["value"] = -1.0 - k
        with pytest.raises(ValueError, match="not here"):
            td.gradient(safe, 2.5)
    assert len(safe._recordings.all()) <= 11
    state["value"] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", td.GuardWarning)
        for k in range(40):
            assert td.gradient(safe, k + 0.5) == pytest.approx(k * (k + 0.5) ** (k - 1))
    assert len(safe._recordings._by_key) <= 22


@pytest.mark.slow
def test_a_function_that_reaches_too_many_objects_says_so():
    """It is answered all the same; the warning names the function and the fix."""
    objects = [types.SimpleNamespace(v=1.0) for _ in range(21_000)]

    def f(x):
        return x * objects[0].v

    with pytest.warns(td.GuardWarning, match=r"f may read more than 20000 objects.*\n  fix: pass what changes"):
        assert td.gradient(td.GuardedTape(f), 2.0) == 1.0
    with pytest.warns(td.GuardWarning, match="f may read more than 20000 objects"):
        td.compile(f, 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert td.gradient(td.compile(f, 2.0, frozen=True), 2.0) == 1.0


@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
@pytest.mark.parametrize("seed", range(30))
def test_random_changes_of_random_state_are_never_answered_stale(seed):
    """A GuardedTape against the function recorded at every call, where one to three things change between the calls."""
    names, rng, chosen = changing_state.program(seed)
    safe = td.GuardedTape(names["f"])
    for _ in range(20):
        for _ in range(rng.randint(1, 3)):
            changing_state.change(names, rng)
        x = A([rng.uniform(0.5, 1.5), rng.uniform(0.5, 1.5)])
        try:
            expected = td.value_and_gradient(names["f"], x)
        except (AttributeError, TypeError):  # of the program itself: what it reads is gone
            continue
        for _ in range(rng.randint(1, 3)):
            value, gradient = safe.value_and_gradient(x)
            np.testing.assert_allclose(value, expected[0], rtol=1e-12, err_msg=str(chosen))
            np.testing.assert_allclose(gradient, expected[1], rtol=1e-12, err_msg=str(chosen))
