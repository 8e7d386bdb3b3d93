"""Targets look like their functions: name, documentation, signature; and their tokens tell what they are, in every process."""

import functools
import inspect
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tapediff as td

ROOT = Path(__file__).parents[2]
X = np.array([0.5, -1.0, 2.0])
WEIGHTS = np.array([1.0, 2.0, 3.0])


def model(x, y=2.0, *, scale=3.0):
    """A sum of squares."""
    return np.sum(x**2 * WEIGHTS) * y * scale if x[0] > 0 else np.sum(x)


def looped(x):
    return td.scan(lambda c, v: (c * v, c), 1.0, x)[0] + td.subtape(np.sin)(x[0])


def with_aux(x):
    return np.sum(x), {"label": "text", "plain": np.arange(3), "twice": 2 * x}


def built():
    """Everything that has a token, made anew."""
    return {
        "tape": td.record(model, X),
        "loop": td.record(looped, X),
        "aux": td.compile(with_aux, X, has_aux=True),
        "compiled": td.compile(model, X, scale=0.5),
        "guarded": td.GuardedTape(model),
        "method": td.GuardedTape(functools.partial(model, scale=2.0)),
        "grad": td.grad(model),
        "grad by y": td.grad(model, argnums=1),
        "vmap": td.vmap(model, in_axes=1),
        "static": td.GuardedTape(model, static=td.static(argnames="y")),
    }


TOKENS = {name: target.__dask_tokenize__() for name, target in built().items()}


@pytest.mark.parametrize("make", [
    td.GuardedTape, lambda f: td.compile(f, X), td.grad, td.value_and_grad, td.jacobian, td.hessian, td.jacfwd, td.jacrev,
], ids=["guarded", "compiled", "grad", "value_and_grad", "jacobian", "hessian", "jacfwd", "jacrev"])  # fmt: skip
def test_targets_look_like_their_functions(make):
    """What inspect, help and editors ask for."""
    target = make(model)
    assert inspect.signature(target) == inspect.signature(model)
    assert target.__wrapped__ is model
    assert target.__module__ == model.__module__
    assert "A sum of squares." in target.__doc__
    assert target.__name__.endswith("model")
    assert target.__qualname__.endswith("model")
    if isinstance(target, (td.GuardedTape, td.CompiledTape)):
        assert (target.__name__, target.__qualname__, target.__doc__) == ("model", "model", model.__doc__)
        assert type(target).__doc__ != model.__doc__
        assert inspect.signature(type(target)) != inspect.signature(model)


def test_functions_without_names_and_signatures_are_targets():
    """Partial functions, functions written in C, and compiled tapes of tapes."""
    for f in (np.sin, functools.partial(np.power, 2.0), lambda x: x):
        for target in (td.GuardedTape(f), td.compile(f, X), td.jacobian(f)):
            assert target.__wrapped__ is f
    compiled = td.compile(td.record(lambda x, *rest, scale: np.sum(x * rest[0]) * scale, X, X, scale=2.0))
    assert str(inspect.signature(compiled)) == "(x, argument_1, /, *, scale)"
    again = pickle.loads(pickle.dumps(td.compile(model, X)))
    assert (again.__name__, again.__doc__, str(inspect.signature(again))) == ("model", model.__doc__, "(x)")
    np.testing.assert_array_equal(again.gradient(X), td.gradient(model, X))


def test_tokens_are_the_same_in_another_process():
    """Whatever hash seed and addresses it has; and of copies and unpickled targets."""
    code = "from tests.targets.test_like_function import TOKENS; print(TOKENS)"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(TOKENS)
    assert {name: target.__dask_tokenize__() for name, target in built().items()} == TOKENS
    for name in ("tape", "loop", "aux", "compiled", "guarded"):
        target = built()[name]
        assert target.__dask_tokenize__() == TOKENS[name]
        assert pickle.loads(pickle.dumps(target)).__dask_tokenize__() == TOKENS[name]


def test_tokens_do_not_depend_on_what_was_called():
    """Tapes of a guarded function, kernels and times do not matter."""
    safe, compiled = td.GuardedTape(model), td.compile(model, X, scale=0.5)
    for x in (X, -X, X):
        safe.gradient(x)
    compiled.hessian(X, scale=1.0)
    assert safe.__dask_tokenize__() == TOKENS["guarded"]
    assert compiled.__dask_tokenize__() == TOKENS["compiled"]


def _closing(value, power=2):
    return lambda x: np.sum(x**power) * value


def test_tokens_differ_where_functions_do():
    """In code, closure, default arguments, globals, recorded data, settings."""
    functions = [
        _closing(1.0), _closing(2.0), _closing(1.0, 3), _closing(np.ones(1)), lambda x: np.sum(x**2) * 1.0, lambda x, y=2.0: np.sum(x),
        lambda x, y=3.0: np.sum(x), lambda x: np.sum(x) * WEIGHTS[0], functools.partial(model, scale=1.0), functools.partial(model, scale=2.0),
    ]  # fmt: skip
    tokens = [td.GuardedTape(f).__dask_tokenize__() for f in functions]
    tokens += [td.GuardedTape(model, **s).__dask_tokenize__() for s in ({}, {"max_tapes": 3}, {"guard": len}, {"static": td.static(argnums=1)})]
    tapes = [td.record(f, X) for f in functions[:4]] + [td.record(model, X, scale=s) for s in (1.0,)] + [td.record(functions[0], X[:2])]
    tokens += [tape.__dask_tokenize__() for tape in tapes] + [td.compile(tape).__dask_tokenize__() for tape in tapes]
    assert len(set(tokens)) == len(tokens)
    assert td.GuardedTape(_closing(1.0)).__dask_tokenize__() == tokens[0]


def test_a_global_that_changed_changes_the_token(monkeypatch):
    """What the function reads is part of it."""
    monkeypatch.setattr(sys.modules[__name__], "WEIGHTS", WEIGHTS + 1.0)
    assert td.GuardedTape(model).__dask_tokenize__() != TOKENS["guarded"]


def test_joblib_and_dask_use_the_tokens():
    """joblib.hash of a target, alone and in containers, does not change with calls."""
    joblib = pytest.importorskip("joblib")
    safe = td.GuardedTape(model)
    before = joblib.hash({"model": safe})
    safe.gradient(X)
    assert joblib.hash({"model": safe}) == before
    assert joblib.hash(td.compile(model, X)) == joblib.hash(td.compile(model, X))
    assert joblib.hash(td.record(model, X)) != joblib.hash(td.record(looped, X))
    assert type(pickle.loads(pickle.dumps(safe))) is td.GuardedTape
    tokenize = pytest.importorskip("dask.base").tokenize
    assert tokenize(safe) == tokenize(td.GuardedTape(model))
    assert tokenize(safe) != tokenize(td.GuardedTape(looped))
