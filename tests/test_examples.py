"""The examples run as a user runs them, and the README shows the quickstart as it stands."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
DEMO = ("matplotlib", "arviz", "tqdm")


def run(script, folder, *arguments):
    """Runs an example in a process of its own, in an empty folder, and returns what it printed."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / script, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_quickstart_runs(tmp_path):
    """The outliers do not spoil the fit, the branch is one kernel in the end, and the compiled tape refuses the branch it does not hold."""
    printed = run("quickstart.py", tmp_path)
    fitted = re.search(r"coefficients: \[(.*)\]", printed).group(1).split()
    # Five of a hundred points are outliers, the others have a noise of 0.1.
    assert np.allclose(np.array(fitted, float), [1.0, -2.0, 0.5], atol=0.1)
    assert "loss: 1 of at most 64 tapes" in printed
    assert "GuardFailed" in printed


def test_readme_shows_the_quickstart():
    """The README's first Python block is examples/quickstart.py without its docstring."""
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    source = (ROOT / "examples" / "quickstart.py").read_text()
    assert block.group(1).strip() == source.split('"""', 2)[2].strip()


@pytest.mark.slow
def test_eight_schools_agrees_with_the_reference(tmp_path):
    """With few draws: every mean within 4 Monte-Carlo standard errors of the reference, and the plot written."""
    for module in DEMO:
        pytest.importorskip(module)
    printed = run("eight_schools.py", tmp_path, "400")
    rows = [line.split() for line in printed.splitlines() if line.startswith(("theta", "mu", "tau"))]
    assert len(rows) == 10
    assert all(abs(float(error)) < 4 for _, _, _, error, *_ in rows)
    assert (tmp_path / "figures" / "eight_schools.png").stat().st_size > 10_000
    assert "error/MCSE: " in printed
    assert [path.name for path in tmp_path.iterdir()] == ["figures"]


@pytest.mark.slow
def test_pictures_are_drawn(tmp_path):
    """Five, in a folder of their own; the tree has the five tapes, each behind the guards that lead to it."""
    pytest.importorskip("matplotlib")
    printed = run("pictures.py", tmp_path)
    pictures = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert pictures == ["ball_fit.svg", "schools_graph.svg", "tape_and_kernel.svg", "tapes_as_tree.svg", "walk_fit.svg"]
    assert all((tmp_path / "figures" / name).stat().st_size > 2_000 for name in pictures)
    assert printed.count("        tape ") + printed.count("      tape ") >= 5
    assert "if x[1] > 2.0:" in printed
    assert "for i0 in range(1000):" in (tmp_path / "figures" / "tape_and_kernel.svg").read_text()


def test_branching_finds_the_change(tmp_path):
    """With few draws: the change is around 1891, the wrong gradient is refused, and most calls hit a cached tape."""
    for module in DEMO:
        pytest.importorskip(module)
    printed = run("branching.py", tmp_path, "100", "1", "100")
    change = float(re.search(r"change: (\d+\.\d)", printed).group(1))
    assert 1886 < change < 1897
    hits, misses = map(int, re.search(r"(\d+) hits, (\d+) misses", printed).groups())
    assert hits > 20 * misses
    assert "GuardFailed" in printed


@pytest.mark.slow
def test_bouncing_ball_is_fitted(tmp_path):
    """Both ways agree with finite differences and find the truth to a few standard errors; the frozen gradient is another one."""
    printed = run("bouncing_ball.py", tmp_path)
    assert printed.count("agrees with finite differences") == 2
    assert "variants of the step: 1" in printed
    fits = re.findall(r"velocity (\S+), restitution (\S+), misfit (\S+),", printed)
    assert len(fits) == 2
    for velocity, restitution, misfit in fits:
        assert abs(float(velocity) - 1.5) < 0.03
        assert abs(float(restitution) - 0.8) < 0.005
        assert float(misfit) < 1.1
    right, frozen = (np.array(g.split(), float) for g in re.findall(r": \[(.*)\]", printed))
    assert np.linalg.norm(frozen - right) > 10 * np.linalg.norm(right)


@pytest.mark.slow
def test_plain_branches_are_fitted_with_one_tape_each(tmp_path):
    """The loss whose branches merge finds the truth beside outliers, the slopes agree with differences, and no path is recorded again."""
    printed = run("plain_branches.py", tmp_path)
    assert len(re.findall("[12] recordings in all", printed)) == 2
    assert printed.count(": 1 of at most 64 tapes") == 2
    for slope, difference in re.findall(r"slope along a direction: (\S+), by differences (\S+)", printed):
        assert abs(float(slope) - float(difference)) < 1e-4 * abs(float(difference))
    slope, offset = re.search(r"slope and offset \[ *(\S+) +(\S+)\]", printed).groups()
    assert abs(float(slope) - 2.0) < 0.1
    assert abs(float(offset) + 0.5) < 0.2
    rate, limit, first = re.search(r"first value (\S+) (\S+) (\S+),", printed).groups()
    assert np.allclose([float(rate), float(limit), float(first)], [1.4, 3.0, 0.2], rtol=0.05)


@pytest.mark.slow
def test_dropout_learns_and_evaluates(tmp_path):
    """It generalises, and three tapes answer everything: training, and evaluation on two sizes of data."""
    printed = run("dropout.py", tmp_path)
    right = re.search(r"test: loss \S+, (\S+)% right", printed)
    assert float(right.group(1)) > 94
    assert "799 hits, 3 misses, 3 recordings" in printed


@pytest.mark.slow
def test_compiled_sampler_is_faster_than_python(tmp_path):
    """Few draws agree with the reference, branches are followed from compiled code, and both models sample faster there."""
    printed = run("compiled_sampler.py", tmp_path, "800")
    for name, mean, deviation in re.findall(r"  (mu|tau|theta\[1\]): mean (\S+) sd \S+; reference \S+ sd (\S+)", printed):
        reference = {"mu": 4.4, "tau": 3.6, "theta[1]": 6.2}[name]
        # Some hundred effective draws: a sixth of a standard deviation is more than three Monte-Carlo errors.
        assert abs(float(mean) - reference) < float(deviation) / 3, name
    ratios = [float(r) for r in re.findall(r"compiled, .* from Python: (\S+) times", printed)]
    # Measured: 14 and 22, in processor time.
    assert len(ratios) == 2
    assert min(ratios) > 3
    by_nutpie = [float(r) for r in re.findall(r"by address, .* from Python: (\S+) times", printed)]
    # How fast that is depends, with few draws, on nutpie's own start.
    assert len(by_nutpie) == (2 if importlib.util.find_spec("nutpie") else 0)
    bend = float(re.search(r"bend: mean (\S+)", printed).group(1))
    assert 1890 < bend < 1930
    hits, misses = map(int, re.search(r"(\d+) hits, (\d+) misses", printed).groups())
    assert hits > 20 * misses


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.slow
def test_a_posterior_becomes_a_library_with_the_functions_of_bridgestan(tmp_path):
    """Density and gradient have the bits of Python; the parameters have Stan's names."""
    printed = run("bridgestan_library.py", tmp_path)
    assert "code 0, log density -71.814447, same as in Python: True" in printed
    assert "{'mu': -1.0, 'tau': 0.46, 'theta.1': -0.56," in printed
