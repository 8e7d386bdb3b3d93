"""Tracebacks of errors: the frames of the user, and nothing lost."""

import sys
import traceback
from types import SimpleNamespace

import numpy as np
import pytest

import tapediff as td
from tapediff.base.source_location import PickledSite, is_own_file

X = np.ones(2)


def refused(x):
    y = np.exp(x)
    return helper(y)


def helper(y):
    return float(f"{y[0]}")


def one_path(x):
    return x[0] if x[0] > 0.0 else x[1]


def frames(run):
    with pytest.raises(Exception) as caught:
        run()
    return [(trace.tb_frame.f_code.co_name, trace.tb_frame.f_code.co_filename) for trace in walk(caught.value)]


def walk(error):
    trace = error.__traceback__
    while trace is not None:
        yield trace
        trace = trace.tb_next


def names(run):
    return [name for name, _ in frames(run)][2:]  # after those of `frames` and the lambda


CALLS = {
    "gradient": lambda f: td.gradient(f, X),
    "value_and_gradient": lambda f: td.value_and_gradient(f, X),
    "record": lambda f: td.record(f, X),
    "compile": lambda f: td.compile(f, X),
    "GuardedTape": lambda f: td.gradient(td.GuardedTape(f), X),
    "GuardedTape(...)": lambda f: td.GuardedTape(f)(X),
    "grad": lambda f: td.grad(f)(X),
    "jacobian": lambda f: td.jacobian(f, X),
    "hessian": lambda f: td.hessian(f, X),
    "hvp": lambda f: td.hvp(f, X, X),
    "vjp": lambda f: td.vjp(f, X),
    "linearize": lambda f: td.linearize(f, X),
    "jvp": lambda f: td.jvp(f, (X,), (X,)),
}


@pytest.mark.parametrize("call", CALLS)
def test_an_error_while_recording_has_the_frames_of_the_user_alone(call):
    found = frames(lambda: CALLS[call](refused))
    assert [name for name, _ in found if name != "<lambda>"] == ["frames", "refused", "helper"]
    assert {file for _, file in found} == {__file__}


def test_an_error_of_a_replay_has_the_line_of_the_call_alone():
    fast, other = td.compile(one_path, X), -X
    assert names(lambda: fast(other)) == names(lambda: td.gradient(fast, other)) == names(lambda: td.value_and_gradient(fast, other)) == []
    assert names(lambda: td.gradient(td.record(one_path, X), other)) == []
    assert names(lambda: td.gradient(fast, np.ones(3))) == []


def test_the_setting_shows_all_frames(monkeypatch):
    monkeypatch.setenv("TAPEDIFF_FULL_TRACEBACK", "1")
    found = frames(lambda: td.gradient(refused, X))
    assert any(is_own_file(file) for _, file in found)
    assert [name for name, file in found if file == __file__][-2:] == ["refused", "helper"]
    monkeypatch.setenv("TAPEDIFF_FULL_TRACEBACK", "0")
    assert not any(is_own_file(file) for _, file in frames(lambda: td.gradient(refused, X)))


def raises_from(x):
    try:
        refuses(x)
    except ValueError as cause:
        error = KeyError("raised")
        error.add_note("a note")
        raise error from cause


def refuses(x):
    if x.shape == (2,):
        raise ValueError("the cause")


@pytest.mark.parametrize("target", [lambda f: f, td.GuardedTape, lambda f: td.GuardedTape(f, merge=False)])
def test_causes_contexts_and_notes_stay(target):
    with pytest.raises(KeyError) as caught:
        td.gradient(target(raises_from), X)
    error = caught.value
    assert error.__notes__ == ["a note"]
    assert error.__cause__ is error.__context__
    assert str(error.__cause__) == "the cause"
    # A branch that is recorded on both sides has a frame of its own.
    assert list(dict.fromkeys(trace.tb_frame.f_code.co_name for trace in walk(error.__cause__))) == ["raises_from", "refuses"]
    # Two errors, each with its lines: what a user, and pytest, print.
    text = "".join(traceback.format_exception(error))
    assert text.count("Traceback (most recent call last)") == 2
    assert "raise ValueError(" in text
    assert "targets/operators" not in text.replace("\\", "/")


def test_the_frames_have_their_variables_for_a_debugger():
    """`pdb.post_mortem` starts at the last one."""
    with pytest.raises(td.TapediffError) as caught:
        td.gradient(refused, X)
    *_, outer, last = walk(caught.value)
    assert last.tb_frame.f_locals["y"].shape == (2,)
    assert "x" in outer.tb_frame.f_locals


def test_an_error_that_is_not_of_tapediff_shows_where_it_was_raised():
    """As it may be a fault of tapediff."""
    found = frames(lambda: td.gradient(lambda x: np.sum(x.reshape(3, 7)), X))
    assert is_own_file(found[-1][1])
    first = next(k for k, (_, file) in enumerate(found) if is_own_file(file))
    assert [name for name, _ in found[:first]] == ["frames", "<lambda>", "<lambda>"]


def test_gradients_within_a_recording_show_all_lines_of_the_user():
    def outer(x):
        return np.sum(td.gradient(refused, x))

    assert names(lambda: td.gradient(outer, X)) == ["outer", "refused", "helper"]


def test_a_line_in_a_notebook_is_named_by_its_cell(monkeypatch):
    known = {"/tmp/ipykernel_17/3141.py": ("Cell", "In[8]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=known.get))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    namespace = {"np": np}
    exec(compile("def f(x):\n    return float(x[0])\n", "/tmp/ipykernel_17/3141.py", "exec"), namespace)
    with pytest.raises(td.TrackedValueEscaped, match=r"  at:  cell 8, line 2 in f\n"):
        td.record(namespace["f"], X)
    assert str(PickledSite("/home/model.py", 3, "g")) == "model.py:3 in g"
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert str(PickledSite("/tmp/ipykernel_17/3141.py", 2, "f")) == "3141.py:2 in f"
