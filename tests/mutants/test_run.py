"""Tests of the mutation run: on a package of three functions, and of the operators on one line each."""

import ast
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.mutants import mutations
from tests.mutants.run import ROOT, Explained

PACKAGE = """LIMIT = 3


def larger(x, y):
    return x if x > y else y


def untested(x):
    return x + 1


def endless(n):
    while n > 0:
        n -= 1
    return n


def short(items):
    return items[:LIMIT]
"""
TESTS = """from toy.sums import endless, larger, short


def test_larger():
    assert larger(1, 2) == 2 and larger(2, 1) == 2


def test_endless():
    assert endless(3) == 0


def test_short():
    assert short([1, 2, 3, 4]) == [1, 2, 3]
"""


@pytest.fixture
def toy(tmp_path):
    for name, text in {"toy/__init__.py": "", "toy/sums.py": PACKAGE, "tests/test_sums.py": TESTS}.items():
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).write_text(text)
    return tmp_path / "root"


def command(toy, *options):
    options = ["--root", str(toy), "--files", "toy/*", "--tests", "tests", "--explained", str(toy / "equivalent.toml"), "--grace", "1", *options]
    return [sys.executable, "-m", "tests.mutants.run", *options]


def environment(toy):
    (toy.parent / "tmp").mkdir(exist_ok=True)
    return os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(toy.parent / "tmp")}


def test_a_planted_change_is_killed_where_a_test_sees_it_and_else_survives(toy):
    """A line that no test runs and a change of nothing survive; wrong answers, endless loops and failing imports do not. Then nothing is left."""
    (toy / "equivalent.toml").write_text(
        '[[mutant]]\nfile = "toy/sums.py"\ncode = "return x if x > y else y"\nchange = "x > y → x >= y"\nreason = "they are equal then"\n'
    )
    before = {path: path.read_bytes() for path in toy.rglob("*.py")}
    run = subprocess.run(command(toy), cwd=ROOT, env=environment(toy), capture_output=True, text=True, timeout=600)
    rows = [line.split("\t") for line in (toy / "build/mutants/results.txt").read_text().splitlines()]
    status = {row[2].partition(" | ")[2]: row[0].strip() for row in rows}
    assert status["return x if x > y else y | x > y → x <= y"] == "killed"
    assert status["return x if x > y else y | x > y → x >= y"] == "survived"
    assert status["return x + 1 | x + 1 → x - 1"] == "survived"
    assert status["n -= 1 | n -= 1 → n += 1"] == "killed"
    assert status["LIMIT = 3 | 3 → 4"] == "killed"
    assert status["return items[:LIMIT] | return items[:LIMIT] → return None"] == "killed"
    assert "no test runs it" in run.stdout
    assert run.returncode == 1
    assert next(line.split() for line in run.stdout.splitlines() if line.startswith("all "))[3] == "1"
    assert {path: path.read_bytes() for path in before} == before
    assert list((toy.parent / "tmp").iterdir()) == []
    again = subprocess.run(command(toy, "--list-survivors"), cwd=ROOT, env=environment(toy), capture_output=True, text=True, timeout=600)
    assert "x + 1 → x - 1" in again.stdout
    assert "x > y → x >= y" not in again.stdout


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_killed_leaves_nothing_behind(toy, stop):
    """No folder and no process, which a process of its own sees to."""
    (toy / "tests/test_sums.py").write_text(TESTS + "\n\ndef test_long():\n    import time\n    time.sleep(100)\n")
    process = subprocess.Popen(command(toy), cwd=ROOT, env=environment(toy), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    folder = toy.parent / "tmp"
    deadline = time.monotonic() + 300
    while not (groups := list(folder.glob("*/groups/*"))) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert groups
    process.send_signal(stop)
    process.wait()
    while list(folder.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(folder.iterdir()) == []
    for group in groups:
        while Path(f"/proc/{group.name}").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not Path(f"/proc/{group.name}").exists()


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("a < b", "a < b → a <= b"), ("a is b", "a is b → a is not b"), ("a + b", "a + b → a - b"), ("a + b", "a + b → a"),
        ("a and b", "a and b → a or b"), ("a and b", "a and b → a"), ("not a", "not a → a"), ("-a", "-a → a"), ("True", "True → False"),
        ("a[1]", "1 → 0"), ("a if b else c", "a if b else c → a if not b else c"), ("f(a, b)", "f(a, b) → f(b, a)"),
        ("f(a, b=c)", "f(b=c) → f()"), ("return a", "return a → return None"), ("f()", "f() → pass"), ("a[0] = b", "a[0] = b → pass"),
        ("a += b", "a += b → pass"), ("raise a", "raise a → pass"), ("while a: break", "break → continue"), ("lambda: a + 1", "a + 1 → a"),
        ("if a: f()", "a → not a"), ("[b for b in a if b]", "b → not b"),
    ],
)  # fmt: skip
def test_every_operator_changes_one_thing(code, change):
    """Among the mutants of one statement in a function."""
    source = f"def f(a, b, c):\n    {code}\n".encode()
    mutants = filter(None, (mutations.mutant_of("x.py", source, *candidate) for candidate in mutations.candidates_of(source)))
    assert change in {mutant.change for mutant in mutants}


@pytest.mark.parametrize(
    "code", ["x: int | None = None", "assert a < 1", "f'{a + 1}'", "if TYPE_CHECKING: a = 1", "OP = Op(samples=(1, 2))", "a = max(a, b)", "'text'"]
)
def test_what_only_people_and_type_checkers_read_is_not_changed(code):
    """Annotations, assertions, texts, and the inputs of tests in declarations."""
    source = f"{code}\n".encode()
    mutants = filter(None, (mutations.mutant_of("x.py", source, *candidate) for candidate in mutations.candidates_of(source)))
    assert [mutant.change for mutant in mutants] == []


def test_the_same_seed_gives_the_same_mutants_and_a_prefix_of_more():
    """So that a run with more of them goes on, and shards are parts of the whole."""
    files = ["tapediff/ir/serialize.py", "tapediff/ops/control/solution.py"]
    some = list(mutations.chosen(ROOT, files, 36, 12))
    assert list(mutations.chosen(ROOT, files, 36, 20))[:12] == some
    assert list(mutations.chosen(ROOT, files, 37, 12)) != some
    assert {mutant.file for mutant in some} == set(files)


def test_a_mutant_has_as_many_lines_as_the_file_and_can_be_compiled():
    """The lines of what follows stay where they are, and with them what probes say."""
    file = "tapediff/ir/serialize.py"
    source = (ROOT / file).read_bytes()
    for mutant in mutations.chosen(ROOT, [file], 36, 50):
        ast.parse(mutant.applied(source))
        assert mutant.applied(source).count(b"\n") == source.count(b"\n")
        assert source[mutant.start : mutant.end] == mutant.replaced


def test_every_explained_mutant_is_one_of_its_file():
    """An entry whose line has changed since explains nothing."""
    explained = Explained(Path(mutations.__file__).with_name("equivalent.toml"))
    for patterns in explained.patterns:
        files = [path for path in (ROOT / "tapediff").rglob("*.py") if patterns[0].fullmatch(str(path.relative_to(ROOT)))]
        lines = [line.strip() for path in files for line in path.read_text().splitlines()]
        assert any(patterns[1].fullmatch(line) for line in lines), patterns
