"""Tracebacks of errors: the frames of the user, and nothing lost."""

import sys
import traceback
from inspect import isfunction
from types import SimpleNamespace

import numpy as np
import pytest

import tapediff as td
from tapediff.adapters.samplers import LogDensity
from tapediff.adapters.scipy import Objective, Residuals
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


def of_posterior(call):
    return lambda f: call(td.Posterior(lambda mu: f(mu).sum(), mu=td.real(2)))


def of_effects(call):
    return lambda f: call(td.laplace(lambda theta, u: f(u).sum(), "u", start={"u": X}))


# By name: of functions of td, or of their methods.
CALLS = {
    "gradient": lambda f: td.gradient(f, X),
    "value_and_gradient": lambda f: td.value_and_gradient(f, X),
    "record": lambda f: td.record(f, X),
    "compile": lambda f: td.compile(f, X),
    "GuardedTape": lambda f: td.gradient(td.GuardedTape(f), X),
    "GuardedTape(...)": lambda f: td.GuardedTape(f)(X),
    "GuardedTape.batch": lambda f: td.GuardedTape(f).batch(np.ones((3, 2))),
    "GuardedTape.batch_values": lambda f: td.GuardedTape(f).batch_values(np.ones((3, 2))),
    "GuardedTape.c_function": lambda f: td.GuardedTape(f).c_function("gradient", X),
    "GuardedTape.bind": lambda f: td.GuardedTape(f).bind(X, out=np.empty(2))(),
    "GuardedTape.as_numba": lambda f: td.GuardedTape(f).as_numba(X),
    "export": lambda f: td.export(td.GuardedTape(f), "unused", X),
    "grad": lambda f: td.grad(f)(X),
    "value_and_grad": lambda f: td.value_and_grad(f)(X),
    "jacobian": lambda f: td.jacobian(f, X),
    "jacfwd": lambda f: td.jacfwd(f)(X),
    "jacrev": lambda f: td.jacrev(f)(X),
    "hessian": lambda f: td.hessian(f, X),
    "value_and_jacobian": lambda f: td.value_and_jacobian(f, X),
    "value_gradient_and_hessian": lambda f: td.value_gradient_and_hessian(f, X),
    "sparse_jacobian": lambda f: td.sparse_jacobian(f, X),
    "sparse_hessian": lambda f: td.sparse_hessian(f, X),
    "linear_operator": lambda f: td.linear_operator(f, X) @ X,
    "hvp": lambda f: td.hvp(f, X, X),
    "value_gradient_and_hvp": lambda f: td.value_gradient_and_hvp(f, X, X),
    "vjp": lambda f: td.vjp(f, X),
    "linearize": lambda f: td.linearize(f, X),
    "jvp": lambda f: td.jvp(f, (X,), (X,)),
    "derivative": lambda f: td.derivative(lambda t: f(t * X), 1.0),
    "value_and_derivative": lambda f: td.value_and_derivative(lambda t: f(t * X), 1.0),
    "second_derivative": lambda f: td.second_derivative(lambda t: f(t * X), 1.0),
    "value_derivative_and_second_derivative": lambda f: td.value_derivative_and_second_derivative(lambda t: f(t * X), 1.0),
    "derivatives": lambda f: td.derivatives(lambda t: f(t * X), 1.0),
    "vmap": lambda f: td.vmap(f)(np.ones((3, 2))),
    "subtape": lambda f: td.gradient(td.subtape(f), X),
    "checkpoint": lambda f: td.gradient(td.checkpoint(f), X),
    "cond": lambda f: td.gradient(lambda x: td.cond(x[0] > 0.0, f, f, x), X),
    "switch": lambda f: td.gradient(lambda x: td.switch(1, [f, f], x), X),
    "scan": lambda f: td.gradient(lambda x: td.scan(lambda c, _: (f(c), None), x, np.arange(3.0))[0], X),
    "fori_loop": lambda f: td.gradient(lambda x: td.fori_loop(0, 3, lambda k, c: f(c), x), X),
    "while_loop": lambda f: td.gradient(lambda x: td.while_loop(lambda c: c[0] < 9.0, f, x), X),
    "covariance": lambda f: td.covariance(f, X),
    "propagate": lambda f: td.propagate(f, X, np.eye(2)),
    "sensitivities": lambda f: td.sensitivities(f, X),
    "error_estimate": lambda f: td.error_estimate(f, X),
    "profile": lambda f: td.profile(f, X),
    "testing.check_derivatives": lambda f: td.testing.check_derivatives(f, X),
    "marginal": lambda f: td.gradient(td.marginal(lambda x, k: f(x), k=td.discrete(2)), X),
    "marginal.posterior": lambda f: td.gradient(td.marginal(lambda x, k: f(x), k=td.discrete(2)).posterior, X),
    "laplace": of_effects(lambda m: m(X)),
    "laplace.value_and_gradient": of_effects(lambda m: m.value_and_gradient(X)),
    "laplace.mode": of_effects(lambda m: m.mode(X)),
    "laplace.hessian": of_effects(lambda m: m.hessian(X)),
    "laplace.report": of_effects(lambda m: m.report(X)),
    "Posterior.log_density_gradient": of_posterior(lambda post: post.log_density_gradient(X)),
    "Posterior.log_density_hessian": of_posterior(lambda post: post.log_density_hessian(X)),
    "Posterior.batch": of_posterior(lambda post: post.batch(np.ones((3, 2)))),
    "ode.solve": lambda f: td.gradient(lambda x: td.ode.solve(lambda t, y: f(y), x, np.array([0.0, 1.0])).sum(), X),
    "implicit.root": lambda f: td.gradient(lambda x: td.implicit.root(f, x).sum(), X),
    "adapters.samplers.LogDensity": lambda f: LogDensity(f).value_and_gradient(X),
    "adapters.samplers.LogDensity.rows": lambda f: LogDensity(f).rows(np.ones((3, 2))),
    "adapters.scipy.Objective": lambda f: Objective(f)(X),
    "adapters.scipy.Objective.hess": lambda f: Objective(f).hess(X),
    "adapters.scipy.Residuals": lambda f: Residuals(f)(X),
}
# These call no function of the user.
OTHERS = """
    asarray cholesky_corr corr_matrix cov_matrix discrete empty full interval is_recording lower ones ordered positive positive_ordered primitive
    real register_container show_versions simplex spec static stop_gradient unit_vector upper zero_sum zeros
""".split()


@pytest.mark.parametrize("call", CALLS)
def test_an_error_while_recording_has_the_frames_of_the_user_alone(call):
    found = frames(lambda: CALLS[call](refused))
    assert [name for name, _ in found if name not in ("<lambda>", "_lambda", "<listcomp>")] == ["frames", "refused", "helper"]
    assert {file for _, file in found} == {__file__}


def test_every_function_of_the_package_is_among_them():
    """Those that a user calls with a function of his own."""
    functions = {name for name in td.__all__ if isfunction(getattr(td, name))}
    assert functions - set(CALLS) == set(OTHERS)


PLAIN = {
    "laplace": of_effects(lambda m: m(X)),
    "marginal": lambda f: td.marginal(lambda x, k: f(x), k=td.discrete(2))(X),
    "Posterior.c_function": of_posterior(lambda post: post.c_function()),
    "Posterior.check": of_posterior(lambda post: post.check()),
    "Posterior.find_map": of_posterior(lambda post: post.find_map()),
    "Posterior.laplace": of_posterior(lambda post: post.laplace()),
    "Posterior.pathfinder": of_posterior(lambda post: post.pathfinder()),
    "Posterior.plain_log_density": of_posterior(lambda post: post.plain_log_density(X)),
    "testing.check_gradient": lambda f: td.testing.check_gradient(f, f, X),
    "ode.solve": lambda f: td.ode.solve(lambda t, y: f(y), X, np.array([0.0, 1.0])),
    "implicit.root": lambda f: td.implicit.root(f, X),
}


@pytest.mark.parametrize("call", PLAIN)
def test_an_error_of_the_users_own_has_no_frames_of_the_package(call):
    """Also in verbs that call the function with plain arrays."""

    def fails(x):
        raise KeyError("a fault of the program")

    found = frames(lambda: PLAIN[call](fails))
    assert [file for _, file in found if is_own_file(file)] == []
    assert found[-1][0] == "fails"


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
