"""`python -m tapediff doctor` tells what works and what does not."""

import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import tapediff as td
from tapediff import doctor
from tapediff.base.byte_code import PYTHONS

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("command", [["doctor"], []])
def test_the_doctor_finds_nothing_wrong_here(monkeypatch, command):
    """In a process of its own, by the command that users type; the versions come first, with the exit code 0."""
    monkeypatch.delenv("TAPEDIFF_CACHE_DIR", raising=False)
    done = subprocess.run([sys.executable, "-m", "tapediff", *command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("tapediff")
    assert f"numpy        {np.__version__}\n" in done.stdout
    assert done.stdout.endswith("tapediff works here\n")


def test_the_oldest_versions_are_those_that_are_declared():
    """So that the doctor refuses what pip would."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {
        line.partition(">=")[0]: tuple(map(int, line.partition(">=")[2].split("."))) for line in project["dependencies"]
    }
    assert declared == doctor.OLDEST
    named = {name.removeprefix("Programming Language :: Python :: ") for name in project["classifiers"] if ":: Python ::" in name}
    assert named == {f"{major}.{minor}" for major, minor in PYTHONS}
    assert project["requires-python"] == ">={}.{}".format(*doctor.OLDEST_PYTHON)


def test_the_state_of_the_cache_is_told(tmp_path, monkeypatch):
    """Off, in use, and refused because others may write to it; with what to do."""
    monkeypatch.delenv("TAPEDIFF_CACHE_DIR", raising=False)
    assert doctor._check_cache().state == doctor.NOTE
    monkeypatch.setenv("TAPEDIFF_CACHE_DIR", str(tmp_path / "mine"))
    assert doctor._check_cache() == (doctor.WELL, f"{tmp_path / 'mine'}: 0 kernels, 0.0 MB", "")
    (tmp_path / "everybodys").mkdir()
    (tmp_path / "everybodys").chmod(0o777)
    monkeypatch.setenv("TAPEDIFF_CACHE_DIR", str(tmp_path / "everybodys"))
    state, text, advice = doctor._check_cache()
    assert state == doctor.FAULT
    assert "others can write to it" in text
    assert advice.startswith("chmod 700")


@pytest.mark.parametrize(("spoilt", "advice"), [
    (("version", lambda name: "0.2"), "pip install --upgrade 'numpy>=2.2' 'scipy>=1.15' 'numba>=0.62' 'llvmlite>=0.45'"),
    (("OLDEST_PYTHON", (3, 99)), "use Python 3.99 to 3.15"),
    (("value_and_gradient", iter([(1.0, np.zeros(6)), (2.0, np.zeros(6))]).__next__), "do not use it, and report this"),
    (("compile", lambda f, x: 1 / 0), "report this text, with the versions above"),
])  # fmt: skip
def test_what_is_wrong_is_named_with_advice(spoilt, advice, monkeypatch, capsys):
    """Old libraries, another Python, a kernel with a wrong value, and whatever else a check raises; the exit code is 1."""
    name, instead = spoilt
    monkeypatch.setattr(doctor, name, instead if name != "value_and_gradient" else lambda *_: instead())
    assert doctor.doctor() == 1
    printed = capsys.readouterr().out
    assert "FAULT" in printed
    assert f"-> {advice}" in printed
    assert "not in order: " in printed


def test_versions_are_listed(capsys):
    """One line each, with what is not installed."""
    td.show_versions()
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["tapediff"] == td.__version__
    assert {"python", "system", "processor", "memory", "BLAS", "LLVM", *doctor.OLDEST, *doctor.OPTIONAL} <= set(lines)
