"""What is installed is whole: types for the user's checker, and a wheel and an sdist that work where nothing else is."""

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = ROOT / "tests" / "support" / "typed_program.py"


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(find_spec("pyright") is None, reason="pyright comes with the extra `lint`")
@pytest.mark.slow
def test_a_users_type_checker_sees_the_types(tmp_path):
    """Outside this repository, whose settings do not count there; a comment that ignores no error is one."""
    settings = {
        "typeCheckingMode": "standard",
        "reportUnnecessaryTypeIgnoreComment": True,
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT)],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    (tmp_path / "program.py").write_text(PROGRAM.read_text())
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert [(d["range"]["start"]["line"] + 1, d["message"]) for d in found["generalDiagnostics"]] == []
    assert found["summary"]["filesAnalyzed"] == 1


@pytest.mark.skipif(
    "TAPEDIFF_PACKAGE" not in os.environ, reason="`make package`: half a minute, and downloads what tapediff needs"
)
def test_wheel_and_sdist_work_in_an_environment_of_their_own(tmp_path):
    """The wheel is built from the sdist, and installed alone; its doctor finds nothing wrong, and its types are there."""
    run(sys.executable, "-m", "build", "--outdir", tmp_path / "dist", ROOT)
    (wheel,), (sdist,) = (tmp_path / "dist").glob("*.whl"), (tmp_path / "dist").glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"tapediff"}
    assert "tapediff/py.typed" in names
    assert {f"tapediff/{path.relative_to(ROOT / 'tapediff')}" for path in (ROOT / "tapediff").rglob("*.py")} <= set(
        names
    )
    kept = {name.split("/")[1] for name in tarfile.open(sdist).getnames() if "/" in name}
    assert {
        "tests",
        "docs",
        "examples",
        "benchmarks",
        "mkdocs.yml",
        "SECURITY.md",
        "CITATION.cff",
        "LICENSE",
        "Makefile",
    } <= kept

    run(sys.executable, "-m", "venv", tmp_path / "clean")
    python = tmp_path / "clean" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    printed = run(python, "-m", "tapediff", "doctor", cwd=tmp_path, env=alone)
    assert "tapediff works here" in printed
    assert str(tmp_path / "clean") in run(
        python, "-c", "import tapediff; print(tapediff.__file__)", cwd=tmp_path, env=alone
    )


def test_the_recipe_of_conda_is_that_of_the_wheel():
    """The same version, Python and libraries; so are the extras that messages and pages tell users to install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text()
    wanted = [f"python {project['requires-python']}", *(re.sub("(?=>=)", " ", line) for line in project["dependencies"])]
    assert re.findall(r"^    - (.*)$", recipe.partition("\n  run:\n")[2].partition("\ntests:")[0], re.MULTILINE) == wanted
    assert f'version: "{project["version"]}"' in recipe
    named = [
        (path.name, extra)
        for folder in ("tapediff", "docs", "examples") for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md")
        for found in re.findall(r"tapediff\[([a-z,]+)\]", path.read_text()) for extra in found.split(",")
    ]  # fmt: skip
    assert len(named) > 20
    assert [(name, extra) for name, extra in named if extra not in project["optional-dependencies"]] == []


def test_the_workflow_for_a_public_repository_runs_commands_that_there_are():
    """Targets of the Makefile, options of .ci/pythons, commands of the package; every claimed Python, and the oldest libraries."""
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    commands = [line.partition("run: ")[2] for line in workflow.splitlines() if "run: " in line]
    (targets,) = (command.split()[1:] for command in commands if command.startswith("make"))
    assert {*targets} <= {*re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)}
    options = {command.split()[-1] for command in commands if command.startswith("python .ci/pythons")}
    assert options == {"--install-oldest", "--here"}
    script = (ROOT / ".ci" / "pythons").read_text()
    assert all(f'"{option}"' in script for option in options)
    assert 'python -m pip install ".[core]"' in commands
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "core" in project["optional-dependencies"]
    claimed = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert re.findall(r'"(3\.\d+)"', workflow.partition("python: [")[2].partition("]")[0]) == claimed
