"""The text of a program is a module: it is imported in a fresh process without tapediff, and gives the same answers."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.special import gammaln

import tapediff as td

# Of other processes: compiled, and step by step in Python.
SCRIPT = """
import json, sys
import numpy as np
from numba import njit
import saved

@njit
def total(points):
    g, value = np.empty(3), 0.0
    for k in range(points.shape[0]):
        status, found = saved.value_and_gradient(points[k], g)
        value += found if status == 0 else 0.0
    return value

x, g = np.array(json.loads(sys.argv[1])), np.full(3, 7.0)
answers = []
for point in (x, -x, x[:2]):
    status, value = saved.value_and_gradient(point, g)
    answers.append([status, value if status == 0 else None, g.tolist()])
print(json.dumps([answers, total(np.stack([x, -x, 2.0 * x])), "tapediff" in sys.modules]))
"""

DATA = np.linspace(-1.0, 2.0, 30)


@td.subtape
def step(c, u):
    if u > 0.5:
        return c * 0.5
    return c + u


def model(x):
    """Constants, a guard, a special function, a loop of calls."""
    if x[0] > 0.0:
        x = x * 1.5
    c, _ = td.scan(lambda c, u: (step(c, u * x[1]), c), x[2], DATA)
    return np.sum(gammaln(x**2 + 1.0)) + np.sum(np.exp(-DATA * x[0])) + c


@pytest.fixture(scope="module")
def source():
    return td.compile(model, np.array([0.3, 0.4, 0.5]), backend="numba").source


@pytest.mark.slow
@pytest.mark.parametrize("disabled", ["0", "1"])
def test_a_saved_program_answers_the_same_in_a_process_without_tapediff(source, tmp_path, disabled):
    (tmp_path / "saved.py").write_text(source)
    x = np.array([0.7, 0.2, 1.1])
    environment = {"PATH": "/usr/bin", "NUMBA_DISABLE_JIT": disabled, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(x.tolist())], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (here, guarded, short), total, has_tapediff = json.loads(done.stdout.splitlines()[-1])
    assert not has_tapediff
    value, gradient = td.value_and_gradient(model, x)
    status, found, found_gradient = here
    assert status == 0
    # Functions of the C library instead of NumPy's.
    assert found == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(found_gradient, gradient, rtol=1e-12)
    # The guard is the first; nothing is written where there is no answer.
    assert guarded == [1, None, found_gradient]
    assert short == [-10, None, found_gradient]
    assert total == pytest.approx(value + td.value_and_gradient(model, 2.0 * x)[0], rel=1e-13)


def test_a_program_that_calls_functions_which_no_module_has_says_so():
    @td.primitive(compiled=True)
    def local(a):
        return a * a, a

    @local.backward
    def _(saved, bar):
        return 2.0 * saved * bar

    compiled = td.compile(lambda x: np.sum(local(x)), np.ones(2), backend="numba")
    with pytest.raises(ImportError, match="cannot be imported: define it here"):
        exec(compiled.source, {})

