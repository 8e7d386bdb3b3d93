"""td.is_recording() is for what must not run in a recording; where the result depends on it, tape and function would differ."""

import numpy as np
import pytest

import tapediff as td

LOG = []


def logs(x):
    if not td.is_recording():
        LOG.append(x)
    return np.sum(x**2)


def has_another_gradient(x):
    y = np.sum(x**2)
    return td.stop_gradient(y) if td.is_recording() else y


def in_a_return(x):
    y = np.sum(x**2)
    return 2.0 * y if td.is_recording() else y


def in_a_helper(x):
    return np.sum(x**2) + _noted(x[0])


def _noted(v):
    return 1.0 if td.is_recording() else v


def in_a_sub_tape(x):
    return td.subtape(in_a_return)(x)


def in_a_container(x):
    return {"a": x * 1.0, "b": x[:1] if td.is_recording() else x}["b"]


SAME, OTHER = [logs, has_another_gradient], [in_a_return, in_a_helper, in_a_sub_tape]
WAYS = {"record": lambda f, x: td.record(f, x)(x), "compile": lambda f, x: td.compile(f, x)(x), "grad": lambda f, x: td.value_and_grad(f)(x)[0],
        "guarded": lambda f, x: td.value_and_gradient(td.GuardedTape(f), x)[0],
        "merged": lambda f, x: td.value_and_gradient(td.GuardedTape(f, merge=True), x)[0]}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", SAME, ids=lambda f: f.__name__)
def test_what_gives_the_same_result_may_ask(f, way):
    x = np.array([1.5, 0.5])
    assert WAYS[way](f, x) == f(x)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", OTHER, ids=lambda f: f.__name__)
def test_what_gives_another_result_is_refused_where_it_asks(f, way):
    with pytest.raises(td.UnsupportedFunction, match=r"depends on td\.is_recording\(\)") as refused:
        WAYS[way](f, np.array([1.5, 0.5]))
    assert "test_is_recording.py" in str(refused.value)
    assert not td.is_recording()


def test_the_text_has_four_parts():
    with pytest.raises(td.UnsupportedFunction) as refused:
        td.compile(in_a_return, np.array([1.5, 0.5]))
    what, at, got, fix = str(refused.value).splitlines()
    assert what == "the result of in_a_return depends on td.is_recording(), so its tape would give another one than the function"
    assert at.endswith(f"test_is_recording.py:{in_a_return.__code__.co_firstlineno + 2} in in_a_return")
    assert got == "  got: the tape gives 5.0, the function 2.5"
    assert fix == "  fix: return the same in both cases; for another derivative, td.stop_gradient(x), or a rule by td.primitive"


def test_a_result_of_another_shape_is_refused():
    with pytest.raises(td.UnsupportedFunction, match="depends on"):
        td.record(in_a_container, np.ones(2))


def test_each_path_is_looked_at():
    def f(x):
        if x > 0.0:
            return x**2
        return x if td.is_recording() else x**3

    guarded = td.GuardedTape(f, merge=False)
    assert guarded(2.0) == 4.0
    with pytest.raises(td.UnsupportedFunction, match="depends on"):
        td.gradient(guarded, -2.0)
