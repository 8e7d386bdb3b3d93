"""`make mutants`: how many small changes of the package its tests notice.

The tests run once with probes, which say which statements each of them runs. Then every mutant is tried in a copy of the tree, in a process
forked from one that has imported all, by the tests that run its statement: those of its own test file first, the quickest first,
until one fails. A crash, an endless loop and a failing import count as killed. `equivalent.toml` explains mutants that nothing can kill.

    python -m tests.mutants.run --count 500 --seed 36            # continues where the last run stopped
    python -m tests.mutants.run --shard 1/4 --files 'tapediff/passes/*'
    python -m tests.mutants.run --again                          # survivors once more, with the tests as they are now
    python -m tests.mutants.run --list-survivors
"""

from __future__ import annotations

import argparse
import ast
import builtins
import contextlib
import fnmatch
import functools
import gc
import hashlib
import importlib
import importlib.machinery
import json
import math
import os
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from .mutations import Mutant, Probes, chosen

ROOT = Path(__file__).parents[2]
COUNT, SEED, ENOUGH = 500, 36, 0.9
FILES = ("tapediff/ops/*", "tapediff/transforms/*", "tapediff/passes/*", "tapediff/targets/guarded/*", "tapediff/ir/serialize.py", "tapediff/flow/*")
TESTS = (
    "tests/ops", "tests/transforms", "tests/passes", "tests/targets", "tests/ir", "tests/functions", "tests/recording", "tests/test_guards.py", "tests/flow",
)  # fmt: skip
KILLED, SURVIVED, EXPLAINED = "killed", "survived", "explained"
# Killed by a test that fails without it, too: tried again by the next run, without that test.
UNTRUE = "not tried"

# Programs that recordings translate from their source, which has to be what was compiled.
TRANSLATED = "tapediff/flow/in_python.py"

# What takes long to import, and knows nothing of the package: imported once, before all that is forked.
IMPORTED = ("hypothesis", "mpmath", "numba", "scipy.linalg", "scipy.sparse.linalg", "scipy.special", "scipy.stats")

# A mutant whose tests take longer than this, in processor seconds without it, is tried by the first of them.
BUDGET = 60.0
# So long it may take to note what the tests of one file run: of what there is no time for, the tests that name the mutant's function are tried.
NOTING = 300.0
# Beyond so many times that, and these seconds, a test does not end.
SLACK, GRACE = 4.0, 5.0
MOST_MEMORY = 12 << 30


@dataclass
class Profile:
    """What tests run, and what they may run, by name.

    Attributes:
        first: of each file the number before that of its first line.
        tests: of each test its processor seconds and the numbers of the lines that it runs; none of one that there was no time for.
        imports: the lines that run before the first test.
    """

    first: dict[str, int]
    tests: dict[str, tuple[float, np.ndarray]] = field(default_factory=dict)
    imports: set[int] = field(default_factory=set)

    def runs_at_import(self, mutant: Mutant) -> bool:
        return mutant.at_import or self.first[mutant.file] + mutant.line in self.imports

    def order(self, mutant: Mutant, budget: float) -> list[str]:
        """The tests that run a mutant's statement, or, if importing does, anything of its file; those next to it first."""
        first = self.first[mutant.file]
        last = min((n for n in self.first.values() if n > first), default=math.inf)
        near = f"tests/{mutant.file.partition('/')[2]}".rpartition("/")
        own, folder, room = f"{near[0]}/test_{near[2]}", near[0] + "/", "/".join(near[0].split("/")[:2]) + "/"
        early = self.runs_at_import(mutant)
        name = re.compile(rf"\b{mutant.name or ' '}\b", re.IGNORECASE)
        texts = {f"[{text}]" for text in re.findall(r'"(\w+)"', (ROOT / mutant.file).read_text())} if (ROOT / mutant.file).exists() else set()
        found = []
        for test, (seconds, hits) in self.tests.items():
            place = np.searchsorted(hits, first + mutant.line)
            runs_it = place < len(hits) and hits[place] == first + mutant.line
            is_named = name.search(test) is not None
            if not len(hits):
                if not (is_named or test.startswith(own) or f"[{test.partition('[')[2]}" in texts):
                    continue
            elif early and not runs_it:
                start = np.searchsorted(hits, first)
                if start == len(hits) or hits[start] >= last:
                    continue
            elif not runs_it:
                continue
            rank = (not runs_it) + (not is_named) + sum(not test.startswith(place) for place in (own, folder, room))
            found.append((rank, seconds, test))
        found.sort()
        total, tests = 0.0, []
        for _, seconds, test in found:
            total += seconds
            if tests and total > budget:
                break
            tests.append(test)
        return tests

    def seconds(self, tests: list[str]) -> float:
        return sum(self.tests[test][0] for test in tests)


class Scratch:
    """A copy of the tree in a temporary folder; folder and processes go with the process that made them, however it ends."""

    def __init__(self, source: Path, grace: float) -> None:
        self.source, self.grace = source, grace
        self.folder = Path(tempfile.mkdtemp(prefix="tapediff-mutants-"))
        self.root, self.groups = self.folder / "tree", self.folder / "groups"
        read, self.alive = os.pipe()
        self.keeper = os.fork()
        if self.keeper == 0:
            os.setsid()
            os.close(self.alive)
            os.read(read, 1)  # ends when the last process that could write has ended
            self._clear()
            os._exit(0)
        os.close(read)
        left_out = shutil.ignore_patterns(".git", ".venv", "build", "dist", "__pycache__", "site", ".*_cache", ".hypothesis")
        shutil.copytree(source, self.root, ignore=left_out)
        for folder in (self.groups, self.folder / "tmp"):
            folder.mkdir()

    def _clear(self) -> None:
        # Again while there is a folder: what has just been forked notes its group, or finds no folder to do so and ends.
        while self.folder.exists():
            for group in list(self.groups.glob("*")):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(int(group.name), signal.SIGKILL)
            shutil.rmtree(self.folder, ignore_errors=True)
            time.sleep(0.05)

    def enter(self) -> None:
        """Make this process, a fork, one that runs the tests of the copy."""
        os.chdir(self.root)
        places = [str(self.root), str(self.root / "tests")]
        sys.path[:] = places + [p for p in sys.path if p not in ("", str(ROOT), str(self.source))]
        for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "tapediff")]:
            del sys.modules[name]
        os.environ.update(
            PYTHONPATH=str(self.root), TMPDIR=str(self.folder / "tmp"), TAPEDIFF_CACHE_DIR=str(self.folder / "kernels"),
            TAPEDIFF_TEST_BYTECODE=str(self.folder / "subprocesses"),
        )  # fmt: skip
        tempfile.tempdir = None
        sys.dont_write_bytecode = False
        sys.pycache_prefix = str(self.folder / "bytecode")

    def forked(self, work: Callable[[], int], seconds: float = math.inf, log: Path | None = None) -> int | None:
        """What `work` returned in a process group of its own; None if that did not end in this time, less than 0 if it crashed."""
        child = os.fork()
        if child == 0:
            code = 3
            try:
                os.setsid()
                os.close(self.alive)
                (self.groups / str(os.getpid())).touch()
                sink = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                for stream in (1, 2):
                    os.dup2(sink, stream)
                if seconds < math.inf:
                    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds),) * 2)
                    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY,) * 2)
                code = work()
            except BaseException:  # noqa: BLE001  (the process ends here, whatever it was)
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(code)
        # Other programs may take most of the processor: the limit above is of its own time.
        ended = select.select([os.pidfd_open(child)], [], [], None if seconds == math.inf else 10 * seconds)[0]
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        (self.groups / str(child)).unlink(missing_ok=True)
        return (None if status == -signal.SIGXCPU else status) if ended else None

    @contextlib.contextmanager
    def mutated(self, mutant: Mutant, number: int) -> Iterator[None]:
        """The mutant in the file, with a time of change that no compiled form of the file has."""
        path = self.root / mutant.file
        source, changed = path.read_bytes(), path.stat().st_mtime
        path.write_bytes(mutant.applied(source))
        os.utime(path, (changed + 10 + number,) * 2)
        try:
            yield
        finally:
            path.write_bytes(source)
            os.utime(path, (changed, changed))


class Tester:
    """Collects tests once, and instead of running them serves: as a plugin of pytest."""

    def __init__(self, serve: Callable[[pytest.Session], None]) -> None:
        self.serve = serve

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.serve(session)
        return True


def run_pytest(arguments: list[str], *plugins: object) -> int:
    return int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning", "--tb=line", *arguments], plugins=list(plugins)))


def profiled(scratch: Scratch, files: list[str], tests: list[str], seconds: float, path: Path) -> Profile:
    """What was noted in an earlier run, and for new and changed test files, or if a file of the package has changed, noted now."""
    digests = {file: _digest(scratch.root / file) for file in files}
    first = dict(zip(files, np.cumsum([0, *(len((scratch.root / file).read_bytes().splitlines()) + 1 for file in files)]).tolist()))
    profile, known = Profile(first), {}
    if path.exists():
        stored = json.loads(path.read_text())
        if stored["files"] == digests:
            known = {file: digest for file, digest in stored["test_files"].items() if _digest(scratch.root / file) == digest}
            profile.imports = set(stored["imports"])
            profile.tests = {
                test: (seconds, np.array(hits, np.int32)) for test, (seconds, hits) in stored["tests"].items() if test.partition("::")[0] in known
            }
    probed: dict[str, types.CodeType] = {}
    all_files = sorted({str(p.relative_to(scratch.root)) for test in tests for p in _test_files(scratch.root / test)})
    for file in all_files:
        if file in known:
            continue
        print(f"noting what {file} runs", file=sys.stderr)
        for name in files if not probed else ():
            tree = Probes(first[name]).visit(ast.parse((scratch.root / name).read_bytes()))
            probed[name] = compile(ast.fix_missing_locations(tree), scratch.root / name, "exec", dont_inherit=True)
        noted = scratch.folder / "noted.json"
        noted.unlink(missing_ok=True)
        scratch.forked(functools.partial(_note, scratch, file, probed, first.get(TRANSLATED, 0), max(first.values()), seconds, noted), log=scratch.folder / "log")
        if not noted.exists():
            print((scratch.folder / "log").read_text()[-2000:], file=sys.stderr)
        else:
            new = json.loads(noted.read_text())
            profile.imports.update(new.pop(""))
            profile.tests |= {test: (seconds, np.array(hits, np.int32)) for test, (seconds, hits) in new.items()}
        known[file] = _digest(scratch.root / file)
        rows = {test: (seconds, hits.tolist()) for test, (seconds, hits) in profile.tests.items()}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".new").write_text(json.dumps({"files": digests, "test_files": known, "imports": sorted(profile.imports), "tests": rows}))
        path.with_suffix(".new").replace(path)
    return profile


def _test_files(path: Path) -> list[Path]:
    return [path] if path.is_file() else list(path.rglob("test_*.py"))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else ""


def _probe_translations(path: Path, first: int) -> None:
    """Have the translations of a file's functions note all lines of these: they are made of the text without probes."""
    translate = importlib.import_module("tapediff.flow.translate")
    definition_of, compiled = translate.definition_of, translate._compiled
    plain = {node.lineno: node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.FunctionDef)}

    def with_probe(function: ast.FunctionDef, code: types.CodeType, translator: object) -> types.CodeType:
        if code.co_filename == str(path):
            node = plain[code.co_firstlineno]
            start, stop = first + node.lineno, first + node.end_lineno + 1
            function.body[:0] = ast.parse(f"_hits_[{start}:{stop}] = b'\\1' * {stop - start}").body
        return compiled(function, code, translator)

    translate.definition_of = lambda code: plain[code.co_firstlineno] if code.co_filename == str(path) else definition_of(code)
    translate._compiled = with_probe


def _note(scratch: Scratch, file: str, probed: dict[str, types.CodeType], first: int, lines_before: int, most: float, noted: Path) -> int:
    """Run a test file with probes in the package; of each table of cases the first, then the second ones, while there is time."""
    scratch.enter()
    hits = builtins._hits_ = bytearray(lines_before + 100_000)
    plain = importlib.machinery.SourceFileLoader.get_code

    def get_code(self, name):
        return probed.get(os.path.relpath(self.path, scratch.root)) or plain(self, name)

    importlib.machinery.SourceFileLoader.get_code = get_code
    if (scratch.root / TRANSLATED).exists():
        _probe_translations(scratch.root / TRANSLATED, first)
    tests: dict[str, object] = {}
    failed: set[str] = set()
    left: list[str] = []

    def lines() -> list[int]:
        return np.flatnonzero(np.frombuffer(hits, np.uint8)).tolist()

    class Note:
        def pytest_collection_modifyitems(self, items):
            seen: Counter[str] = Counter()
            turns = []
            for item in items:
                name = item.nodeid.partition("[")[0]
                seen[name] += 1
                turns.append((seen[name], len(turns)))
            items[:] = [items[k] for _, k in sorted(turns)]
            left.extend(item.nodeid for item in items)

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(self, item):
            tests.setdefault("", lines())
            for k in lines():
                hits[k] = 0
            nonlocal most
            most += time.process_time() if len(tests) == 1 else 0.0
            left.remove(item.nodeid)
            started = time.process_time()
            result = yield
            if time.process_time() > most:
                item.session.shouldstop = "enough"
            if item.nodeid not in failed and lines() and "times_as_long" not in getattr(item.obj, "__code__", run_pytest.__code__).co_names:
                tests[item.nodeid] = time.process_time() - started, lines()
            return result

        def pytest_runtest_logreport(self, report):
            if not report.passed:
                failed.add(report.nodeid)

    code = run_pytest(["--maxfail=1000", file], Note())
    tests.setdefault("", lines())
    noted.write_text(json.dumps(dict.fromkeys(left, (0.5, [])) | tests))
    return code


class Results:
    """A table of text, one line for a mutant; the last one counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.rows = {row[2]: row for row in (line.split("\t") for line in lines) if len(row) == 4}

    def add(self, status: str, seconds: float, mutant: Mutant, by: str) -> None:
        row = [f"{status:<9}", f"{seconds:5.1f} s", mutant.key, by]
        self.rows[mutant.key] = row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write("\t".join(row) + "\n")
        print(" ".join(row), flush=True)

    def status(self, mutant: Mutant) -> str | None:
        row = self.rows.get(mutant.key)
        return row[0].strip() if row else None


class Explained:
    """Mutants that no test can kill: entries of file, code, change (`*` stands for anything) and reason."""

    def __init__(self, path: Path) -> None:
        entries = tomllib.loads(path.read_text()).get("mutant", []) if path.exists() else []
        self.patterns = [tuple(re.compile(".*".join(map(re.escape, entry[name].split("*")))) for name in ("file", "code", "change")) for entry in entries]

    def __contains__(self, mutant: Mutant) -> bool:
        texts = (mutant.file, mutant.code, mutant.change)
        return any(all(p.fullmatch(text) for p, text in zip(patterns, texts)) for patterns in self.patterns)


def with_code_replaced(mutant: Mutant, root: Path) -> bool:
    """Give the functions of an imported module the code of the mutant; False where that is not possible."""
    path = str(root / mutant.file)
    source = Path(path).read_bytes()
    replaced, todo = {}, [tuple(compile(text, path, "exec", dont_inherit=True) for text in (_original(source, mutant), source))]
    while todo:
        old, new = todo.pop()
        inner = [[c for c in code.co_consts if isinstance(c, types.CodeType)] for code in (old, new)]
        if [c.co_name for c in inner[0]] != [c.co_name for c in inner[1]]:
            return False
        if old != new:
            replaced[old] = new
        todo += zip(*inner)
    found = False
    for function in gc.get_objects():
        if type(function) is types.FunctionType and function.__code__.co_filename == path and function.__code__ in replaced:
            new = replaced[function.__code__]
            if new.co_freevars != function.__code__.co_freevars:
                return False
            function.__code__ = new
            found = True
    return found


def _original(source: bytes, mutant: Mutant) -> bytes:
    return source[: mutant.start] + mutant.replaced + source[mutant.start + len(mutant.text) :]


def try_all(scratch: Scratch, mutants: list[Mutant], profile: Profile, results: Results, budget: float) -> None:
    """Those in functions in forks of a process that has collected all their tests; the rest, and what that cannot do, with new imports."""
    later = [(k, m) for k, m in enumerate(mutants) if profile.runs_at_import(m)]
    swapped = [(k, m) for k, m in enumerate(mutants) if not profile.runs_at_import(m)]
    tests = {k: profile.order(m, budget) for k, m in enumerate(mutants)}

    def serve(session: pytest.Session) -> None:
        items = {item.nodeid: item for item in session.items}

        def run(mutant: Mutant, names: list[str]) -> int:
            if not with_code_replaced(mutant, scratch.root):
                return 99
            chosen = [items[name] for name in names if name in items]
            hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
            for item, following in zip(chosen, [*chosen[1:], None]):
                enough = math.ceil(time.process_time() + scratch.grace + SLACK * profile.tests[item.nodeid][0])
                resource.setrlimit(resource.RLIMIT_CPU, (min(enough, hard), hard))
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.testsfailed:
                    (scratch.folder / "by").write_text(item.nodeid)
                    return 1
            return 0

        for k, mutant in swapped:
            if attempt(scratch, k, mutant, tests[k], profile, results, run) == 99:
                later_again.append(k)
        (scratch.folder / "later").write_text(json.dumps(later_again))

    later_again: list[int] = []
    wanted = sorted({test.partition("::")[0] for k, _ in swapped for test in tests[k]})
    if wanted:
        if scratch.forked(lambda: (scratch.enter(), run_pytest(wanted, Tester(serve)))[1], log=scratch.folder / "log") not in (0, 5):
            print((scratch.folder / "log").read_text()[-2000:], file=sys.stderr)
        later += [(k, mutants[k]) for k in json.loads((scratch.folder / "later").read_text())]

    class By:
        def pytest_runtest_logreport(self, report):
            if report.failed:
                (scratch.folder / "by").write_text(report.nodeid)

    def anew(mutant: Mutant, names: list[str]) -> int:
        scratch.enter()
        return run_pytest(names, By())

    for k, mutant in sorted(later):
        attempt(scratch, k, mutant, tests[k], profile, results, anew)


def without_reason(scratch: Scratch, killers: set[str]) -> set[str]:
    """The tests that fail in the copy without a mutant as well: what they have killed has to be tried again."""
    failed = scratch.folder / "failed"
    failed.touch()

    class Failed:
        def pytest_runtest_logreport(self, report):
            if report.failed:
                with failed.open("a") as file:
                    file.write(report.nodeid + "\n")

    if killers:
        scratch.forked(lambda: (scratch.enter(), run_pytest(["--maxfail=1000000", *sorted(killers)], Failed()))[1], log=scratch.folder / "log")
    return set(failed.read_text().splitlines())


def attempt(scratch, number, mutant, tests, profile, results, run) -> int | None:
    """Try one mutant and note what came of it."""
    started, by = time.perf_counter(), scratch.folder / "by"
    if not tests:
        results.add(SURVIVED, 0.0, mutant, "no test runs it")
        return 0
    by.unlink(missing_ok=True)
    with scratch.mutated(mutant, number):
        code = scratch.forked(lambda: run(mutant, tests), 2 * scratch.grace + SLACK * profile.seconds(tests), scratch.folder / f"log-{number}")
    if code == 99:
        return code
    why = f"{len(tests)} tests pass" if code == 0 else by.read_text() if by.exists() else "no end" if code is None else f"status {code}"
    results.add(SURVIVED if code == 0 else KILLED, time.perf_counter() - started, mutant, why)
    return code


def summary(mutants: list[Mutant], results: Results, explained: Explained) -> float:
    """Print how many were killed, by folder; the share of those that are not explained."""
    table: dict[str, Counter[str]] = {"all": Counter()}
    for mutant in mutants:
        status = results.status(mutant)
        status = "not tried" if status is None else EXPLAINED if status == SURVIVED and mutant in explained else status
        for room in ("/".join(mutant.file.split("/")[1:3]), "all"):
            table.setdefault(room, Counter())[status] += 1
    print(f"{'':24}" + "".join(f"{name:>11}" for name in (KILLED, SURVIVED, EXPLAINED, "not tried")))
    for room in sorted(table, key=lambda room: (room == "all", room)):
        print(f"{room:24}" + "".join(f"{table[room][name]:11}" for name in (KILLED, SURVIVED, EXPLAINED, "not tried")))
    tried = table["all"][KILLED] + table["all"][SURVIVED]
    return table["all"][KILLED] / tried if tried else 1.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=COUNT, help=f"so many of the fixed order ({COUNT})")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--shard", default="0/1", metavar="i/n", help="every n-th, from the i-th on (0 to n - 1)")
    parser.add_argument("--files", nargs="*", default=FILES, help="patterns of files")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="test files and folders")
    parser.add_argument("--budget", type=float, default=BUDGET, help="processor seconds of tests for one mutant")
    parser.add_argument("--noting", type=float, default=NOTING, help="processor seconds for noting what the tests of one file run")
    parser.add_argument("--grace", type=float, default=GRACE, help="processor seconds that a test may take beyond four times its own")
    parser.add_argument("--again", action="store_true", help="try survivors once more")
    parser.add_argument("--list-survivors", action="store_true")
    parser.add_argument("--folder", type=Path, help="where the results are kept (build/mutants)")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree whose package and tests are meant")
    parser.add_argument("--explained", type=Path, default=Path(__file__).with_name("equivalent.toml"))
    options = parser.parse_args()
    root, folder = options.root, options.folder or options.root / "build" / "mutants"
    tops = {pattern.partition("/")[0] for pattern in (*FILES, *options.files)}
    every = sorted(str(path.relative_to(root)) for top in tops for path in (root / top).rglob("*.py"))
    wanted = [file for file in every if any(fnmatch.fnmatch(file, pattern) for pattern in options.files)]
    files = [file for file in every if file in wanted or any(fnmatch.fnmatch(file, pattern) for pattern in FILES)]
    shard, shards = map(int, options.shard.split("/"))
    mutants = list(chosen(root, wanted, options.seed, options.count))[shard::shards]
    results, explained = Results(folder.resolve() / "results.txt"), Explained(options.explained)
    if not options.list_survivors:
        todo = [m for m in mutants if (status := results.status(m)) in (None, UNTRUE) or (options.again and status == SURVIVED and m not in explained)]
        if todo or not mutants:
            for name in IMPORTED if root == ROOT else ():
                importlib.import_module(name)
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
            scratch = Scratch(root, options.grace)
            profile = profiled(scratch, files, options.tests, options.noting, folder / "profile.json")
            for row in results.rows.values():
                if row[0].strip() == UNTRUE:
                    profile.tests.pop(row[3], None)
            try_all(scratch, todo, profile, results, options.budget)
            results = Results(results.path)
            killed = [mutant for mutant in todo if results.status(mutant) == KILLED]
            failing = without_reason(scratch, {by for mutant in killed if "::" in (by := results.rows[mutant.key][3])})
            for mutant in killed:
                if results.rows[mutant.key][3] in failing:
                    results.add(UNTRUE, 0.0, mutant, results.rows[mutant.key][3])
    for mutant in mutants:
        if results.status(mutant) == SURVIVED and mutant not in explained:
            print(f"{mutant.key}\t{results.rows[mutant.key][3]}")
    share = summary(mutants, results, explained)
    print(f"{share:.1%} killed of those that are not explained")
    return 0 if share >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
