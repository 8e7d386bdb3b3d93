"""Kernels on disk by their tapes: later processes run the same bits without compiling, and anything that differs is a miss."""

import os
import shutil
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

import tapediff as td
from tapediff.base.settings import CACHE_VARIABLE, FEATURES_VARIABLE, settings
from tapediff.compiler.jit import recipes, tape_digest
from tapediff.compiler.kernel import Kernel

ROOT = Path(__file__).parents[3]
# The fixtures of all tests replace it.
KEY_OF = recipes.key_of

# The modules that compile, one of each stage.
COMPILERS = ("llvmlite", "numba", "tapediff.passes.pipeline", "tapediff.transforms.reverse", "tapediff.compiler.pipeline",
             "tapediff.compiler.loop_ir.program", "tapediff.compiler.codegen.emitter")  # fmt: skip

START = """
import sys
import numpy as np
import tapediff as td

y, x, p = np.linspace(0, 1, 50), np.linspace(-1, 1, 50), np.array([0.1, 0.2, 0.3])

def model(p):
    s = np.exp(p[2])
    if s > 100:
        return -np.inf
    return -0.5 * np.sum(((y - p[0] - p[1] * x) / s) ** 2) - 50 * p[2] - 0.5 * np.sum(p**2)

def bits(*found):
    print([a.tobytes().hex() for each in found for a in map(np.asarray, each if isinstance(each, tuple) else (each,))])

def end():
    print([name for name in """ + repr(COMPILERS) + """ if name in sys.modules], file=sys.stderr)
"""

SIMPLE = START + """
bits(td.value_and_gradient(td.GuardedTape(model, compile_after=0), p))
compiled = td.compile(model, p)
for point in (p, 2 * p):
    bits(td.value_and_gradient(compiled, point), td.gradient(compiled, point), compiled(point))
end()
"""

# Two paths; sub-tapes, loops, routines, SciPy's functions, byte code, batches, callbacks and derivatives of both orders.
EVERYTHING = START + """
guarded = td.GuardedTape(lambda p: np.sum(np.exp(p)) if p[0] > 0 else np.sum(p**2), merge=False, compile_after=0)
for point in (p, -p, p, -p, -2 * p):
    bits(guarded.value_and_gradient(point))

@td.subtape
def huber(r):
    return 0.5 * r * r if abs(r) < 1 else abs(r) - 0.5

def callees(p):
    carry, _ = td.scan(lambda c, v: (np.sin(c) + huber(v), None), 0.0, p)
    total = 0.0
    for i in range(30):
        total = total * 0.9 + p[i % 3]
    return carry + huber(p[0] * 20) + total

def routines(p):
    matrix = np.outer(p, p) + 9 * np.eye(3)
    return np.sum(np.linalg.solve(matrix, p)) + td.special.gammaln(p**2 + 1).sum() + np.sort(p)[1] + np.log(np.diagonal(np.linalg.cholesky(matrix))).sum()

def single(p):
    return np.sum(np.cos(p) * p)

def counting(p):
    return np.sum(p * np.arange(3)[np.argsort(p)])

for f in (callees, routines, single, counting):
    compiled = td.compile(f, p)
    for point in (p, -p[::-1], p):
        try:
            bits(td.value_and_gradient(compiled, point), td.hessian(compiled, point), td.hvp(compiled, point, p), td.jvp(compiled, (point,), (p,)))
        except td.TapediffError as error:
            print(type(error).__name__, str(error).splitlines()[-1])
bits(td.compile(single, p.astype(np.float32)).gradient(p.astype(np.float32)))
bits(td.value_and_gradient(td.compile(model, p, threads=2), p))
bits(td.GuardedTape(model).batch(p * np.arange(1, 9)[:, None]))

@td.primitive
def tripled(v):
    return 3.0 * v, None

@tripled.backward
def rule(saved, z_bar):
    return 3.0 * z_bar

bits(td.value_and_gradient(td.compile(lambda p: np.sum(tripled(p) * p), p), p))
end()
"""


def start(program, cache, root=ROOT, **environment):
    given = {**os.environ, CACHE_VARIABLE: str(cache), "PYTHONPATH": str(root), **environment}
    return subprocess.Popen([sys.executable, "-c", program], cwd=root, env=given, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def results(process):
    """The results of the program, and the compilers that it imported."""
    printed, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return printed, errors


def test_a_later_process_imports_no_compiler_and_computes_the_same_bits(tmp_path):
    """Two write the same entries at the same time."""
    first = [results(process) for process in [start(SIMPLE, tmp_path / "cache") for _ in range(2)]]
    later, imported = results(start(SIMPLE, tmp_path / "cache"))
    assert {printed for printed, _ in first} == {later}
    assert "llvmlite" in first[0][1]
    assert imported == "[]\n"
    assert not list((tmp_path / "cache").glob("*.unfinished"))


@pytest.mark.slow
def test_every_kind_of_target_computes_the_same_bits_in_later_processes(tmp_path):
    """Kernels with callees and byte code, too, which are compiled again from their texts."""
    first, _ = results(start(EVERYTHING, tmp_path / "cache"))
    assert len(first.splitlines()) > 15
    for _ in range(2):
        assert results(start(EVERYTHING, tmp_path / "cache"))[0] == first


P = np.array([0.1, 0.2, 0.3])


@pytest.fixture
def hits(tmp_path, monkeypatch):
    """Keeps kernels in a new directory, and notes the kernels that are found there."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(recipes, "key_of", KEY_OF)
    found, recalled = [], Kernel.recalled.__func__

    def noted(cls, *args):
        kernel = recalled(cls, *args)
        found.append(kernel)
        return kernel

    monkeypatch.setattr(Kernel, "recalled", classmethod(noted))
    return found


def function(factor=2.0, table=(1.0, 2.0, 3.0)):
    weights = np.array(table)
    return lambda p: np.sum(np.sin(p) * weights) * factor


def is_found(hits, f, p=P, argnums=0, **options):
    """True if a kernel is found, whose gradient equals the central difference."""
    before = len(hits)
    compiled = td.compile(f, p, **options)
    gradient = td.gradient(compiled, p, argnums=argnums)
    step = 1e-2 if p.dtype == np.float32 else 1e-5
    for k, unit in enumerate(np.eye(len(p), dtype=p.dtype) * p.dtype.type(step)):
        # The error of the difference: step**2 and the rounding of the values, 1e-7 and 1e-16, over the step.
        np.testing.assert_allclose(gradient[k], (f(p + unit) - f(p - unit)) / (2 * step), rtol=2e-3 if p.dtype == np.float32 else 1e-7)
    return len(hits) > before


@pytest.mark.parametrize("changed", [
    {"f": function(2.5)}, {"f": function(table=(1.0, 2.0, 4.0))}, {"f": lambda p: np.sum(np.cos(p) * np.array([1.0, 2.0, 3.0])) * 2.0},
    {"p": np.linspace(0.1, 0.4, 3).astype(np.float32)}, {"f": function(table=np.ones(4)), "p": np.linspace(0.1, 0.4, 4)},
    {"threads": 2}, {"memory": "1 GB"},
])  # fmt: skip
def test_another_function_dtype_shape_or_option_is_a_miss(hits, changed):
    assert not is_found(hits, function())
    assert is_found(hits, function())
    assert is_found(hits, function(), 2 * P)
    assert not is_found(hits, **{"f": function(), **changed})
    assert is_found(hits, function())


def test_other_settings_are_misses(hits, monkeypatch):
    assert not is_found(hits, function())
    monkeypatch.setenv(FEATURES_VARIABLE, "-avx512f")
    assert not is_found(hits, function())
    monkeypatch.delenv(FEATURES_VARIABLE)
    assert is_found(hits, function())
    monkeypatch.setattr(settings, "left_out", {"sink_broadcasts"})
    assert not is_found(hits, function())


def test_another_argument_has_another_kernel(hits):
    f = lambda a, b: np.sum(a**3 * b)
    compiled = td.compile(f, P, 2 * P)
    for argnums, right in ((0, 3 * P**2 * 2 * P), (1, P**3)):
        # 1e-15: a few roundings.
        np.testing.assert_allclose(td.gradient(compiled, P, 2 * P, argnums=argnums), right, rtol=1e-15)
    assert not hits
    np.testing.assert_allclose(td.gradient(td.compile(f, P, 2 * P), P, 2 * P, argnums=1), P**3, rtol=1e-15)
    assert len(hits) == 2  # that of the first argument, too


def test_another_processor_is_a_miss(hits, monkeypatch):
    assert not is_found(hits, function())
    recipes._environment.cache_clear()
    monkeypatch.setattr(recipes, "_processor", lambda: ("x86_64", (b"model\t: another",), ()))
    assert not is_found(hits, function())
    recipes._environment.cache_clear()


def test_nothing_is_kept_once_the_sources_have_changed(hits, monkeypatch):
    """The process may have imported what was there before."""
    monkeypatch.setattr(recipes, "STARTED", 0)
    recipes._environment.cache_clear()
    assert recipes.key_of("something") is None
    for _ in range(2):
        assert not is_found(hits, function())
    recipes._environment.cache_clear()


def test_nothing_is_kept_under_a_key_from_before_a_change(hits, monkeypatch):
    """Modules that were imported since then are the new ones."""
    assert recipes.key_of("something") is not None
    monkeypatch.setattr(recipes, "STARTED", 0)
    for _ in range(2):
        assert not is_found(hits, function())


def test_nothing_is_kept_where_the_sources_are_no_files(hits, monkeypatch):
    recipes._environment.cache_clear()
    monkeypatch.setattr(td, "__file__", "/somewhere/archive.zip/tapediff/__init__.py")
    assert recipes.key_of("something") is None
    assert not is_found(hits, function())
    recipes._environment.cache_clear()


@pytest.mark.parametrize("fault", ["one bit", "half", "empty", "others may write", "another owner", "no code"])
def test_a_damaged_entry_or_one_of_others_is_a_miss(hits, monkeypatch, tmp_path, fault):
    assert not is_found(hits, function())
    for file in (tmp_path / "cache").glob("*.o" if fault == "no code" else "*.facts"):
        content = bytearray(file.read_bytes())
        if fault == "one bit":
            content[-1] ^= 1
            file.write_bytes(content)
        elif fault in ("half", "empty"):
            file.write_bytes(content[: len(content) // 2 if fault == "half" else 0])
        elif fault == "others may write":
            file.chmod(0o666)
        elif fault == "no code":
            file.unlink()
    if fault == "another owner":
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    if fault == "no code":
        monkeypatch.setattr("tapediff.compiler.jit.linking.Linker.known_library", lambda *_: None)
    is_found(hits, function())
    assert not any(kernel is not None for kernel in hits)


@pytest.mark.slow
def test_a_changed_source_file_is_a_miss(tmp_path):
    shutil.copytree(ROOT / "tapediff", tmp_path / "tapediff", ignore=shutil.ignore_patterns("__pycache__"))
    run = lambda **more: results(start(SIMPLE, tmp_path / "cache", tmp_path, **more))
    first, imported = run()
    assert "llvmlite" in imported
    assert run() == (first, "[]\n")
    assert "llvmlite" in run(**{FEATURES_VARIABLE: "-avx512f,-avx2"})[1]
    with (tmp_path / "tapediff" / "passes" / "columns.py").open("a") as file:
        file.write("# a change\n")
    again, imported = run()
    assert again == first
    assert "llvmlite" in imported


def test_what_a_kernel_shows_is_made_when_it_is_asked_for(hits):
    """The same texts; the same error with the user's line; and profiles."""
    f = lambda p: np.sum(np.sin(p)) if p[0] > 0 else np.sum(p)
    first, second = td.compile(f, P), td.compile(f, P)
    for compiled in (first, second):
        td.gradient(compiled, P)
    (kernel,) = hits
    assert second.kernel((0,)) is kernel
    assert "program" not in vars(kernel)
    assert "tape" not in vars(kernel)
    assert second.workspace_bytes == first.workspace_bytes
    assert second.source == first.source
    assert kernel.llvm == first.kernel((0,)).llvm
    assert str(kernel.tape) == str(first.kernel((0,)).tape)
    messages = []
    for compiled in (first, second):
        with pytest.raises(td.GuardFailed) as raised:
            td.gradient(compiled, -P)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]
    assert td.profile(second, P).lines


def test_a_kernel_is_freed_with_its_target(hits):
    """Without the collector, as one that was compiled."""
    for count in (0, 1):
        compiled = td.compile(function(), P)
        kernel = weakref.ref(compiled.kernel((0,)))
        assert len(hits) == count
        hits.clear()
        del compiled
        assert kernel() is None


def test_large_constants_are_not_copied_to_disk(hits, monkeypatch, tmp_path):
    monkeypatch.setattr(tape_digest, "MOST_CONSTANT_BYTES", 16)
    for _ in range(2):
        assert not is_found(hits, function())
    assert not any(file.stat().st_size > 1000 for file in (tmp_path / "cache").glob("*.facts"))


def test_the_guard_of_an_array_reports_its_outcome(hits):
    """Of a kernel from disk, too; the numbers of all that failed."""
    f = lambda p: np.sum(p[np.argsort(p)] * np.arange(3.0)) if len(p[p > 0.15]) > 1 else np.sum(p)
    targets = [td.compile(f, P) for _ in range(2)]
    found = []
    for compiled in targets:
        td.gradient(compiled, P)
        with pytest.raises(td.GuardFailed) as raised:
            td.gradient(compiled, np.array([0.1, 0.05, 0.0]))
        found.append(str(raised.value))
    assert hits
    assert found[0] == found[1]


def test_a_singular_matrix_raises_the_same_error(hits):
    f = lambda p: np.sum(np.linalg.cholesky(np.outer(p, p) + np.eye(3) * p[0]))
    for _ in range(2):
        compiled = td.compile(f, P)
        td.gradient(compiled, P)
        with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
            td.gradient(compiled, -P)
    assert hits


# Digests


def digest(f, *args):
    return tape_digest.digest_of(td.record(f, *args))


def test_equal_recordings_have_equal_digests():
    assert digest(function(), P) == digest(function(), 2 * P) is not None


@pytest.mark.parametrize(("one", "other"), [
    (lambda p: np.sum(p * 0.0), lambda p: np.sum(p * -0.0)), (lambda p: p[0] * p[1], lambda p: p[1] * p[0]),
    (lambda p: p[0:2], lambda p: p[1:3]), (lambda p: (p[0], p[1]), lambda p: [p[0], p[1]]),
    (lambda p: p + np.ones(3), lambda p: p + 1.0), (lambda p: p[0:3:2], lambda p: p[0:2]),
    (lambda p: p[np.array([0, 1])], lambda p: p[np.array([1, 0])]), (lambda p: np.sum(p), lambda p: np.sum(p, keepdims=True)),
])  # fmt: skip
def test_different_recordings_have_different_digests(one, other):
    assert digest(one, P) != digest(other, P)


def test_tapes_with_functions_have_none():
    """Their kernels follow from more than the tape."""
    part = td.subtape(lambda v: np.sum(v) if v[0] > 0 else v[1])
    assert digest(lambda p: part(p) * 2.0, P) is None
    assert digest(lambda p: td.fori_loop(0, 5, lambda k, c: c * p[0], p[1]), P) is None
