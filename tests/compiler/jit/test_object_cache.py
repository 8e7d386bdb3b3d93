"""The kernel cache on disk: what hits, and that nothing in it can give an error or a wrong kernel."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tapediff as td
from tapediff import doctor
from tapediff.base.settings import CACHE_VARIABLE
from tapediff.compiler.jit import native_function as native, object_cache
from tapediff.compiler.jit.linking import Linker
from tapediff.compiler.jit.toolchain import toolchain

ROOT = Path(__file__).parents[3]
KEY = bytes(range(32))
CODE = b"some object code" * 50

START = """
import sys
import numpy as np
import tapediff as td
from tapediff.compiler.jit import native_function as native
from tapediff.compiler.schedule import split_long as schedule

made = []
object_code = native.object_code
native.object_code = lambda *arguments: made.append(1) or object_code(*arguments)
"""

# Kernels of every kind: fused loops, routines, SciPy's functions, sub-tapes, loops, straight-line code in chunks and interpreted.
PROGRAM = START + """

@td.subtape
def huber(r):
    return 0.5 * r * r if abs(r) < 1 else abs(r) - 0.5

def f(x):
    k = np.argsort(x)
    carry, _ = td.scan(lambda c, v: (np.sin(c) + huber(v), None), 0.0, x)
    matrix = np.outer(x, x) + 9 * np.eye(5)
    value = np.sum(np.linalg.solve(matrix, x)) + td.special.gammaln(x**2 + 1).sum() + carry + x[k[0]]
    for i in range(500):
        value = value * 0.9 + x[i % 5] * 1.1
    return value

x = np.linspace(-2, 2, 5)
compiled = td.compile(f, x)
for point in (x, -x, 3 * x):
    value, gradient = td.value_and_gradient(compiled, point)
    print(value.hex(), [g.hex() for g in gradient.tolist()])

def irregular(x):
    values = [x[k] for k in range(5)]
    for i in range(100):
        a, b = values[i * i % len(values)], values[-1 - i * 7 % 5]
        values.append(np.sin(a) * b if i % 3 == 0 else a / (b * b + 1.0))
    return sum(values)

schedule.MOST_COMPILED = 0
compiled = td.compile(irregular, x)
assert "interpreted" in compiled.source
value, gradient = td.value_and_gradient(compiled, x)
print(value.hex(), [g.hex() for g in gradient.tolist()])
print(len(made), file=sys.stderr)
"""

SHORT = START + """
print(td.gradient(td.compile(lambda x: np.sum(np.cos(x) * x), np.ones(7)), np.arange(7.0)).tolist())
print(len(made), file=sys.stderr)
"""


@pytest.fixture(autouse=True)
def nothing_linked(monkeypatch):
    """What this process has compiled before is found on disk or not at all."""
    monkeypatch.setattr(Linker, "known_library", lambda *_: None)
    monkeypatch.setattr(Linker, "known_code", lambda *_: None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An enabled cache, which does not exist yet; the way from Python into kernels is compiled before."""
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    compile_one()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(toolchain, "directory_bytes", {})
    return tmp_path / "cache"


@pytest.fixture
def compilations(monkeypatch):
    """The texts that were compiled, as they are."""
    made, original = [], native.object_code
    monkeypatch.setattr(native, "object_code", lambda text, quickly: made.append(text) or original(text, quickly))
    return made


def start(program, folder, **more):
    environment = {**os.environ, CACHE_VARIABLE: str(folder), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", program], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more
    )


def results(process):
    """What the program computed, and how often it compiled."""
    printed, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return printed, int(errors)


def only_file(folder):
    (file,) = folder.glob("*.o")
    return file


def compile_one():
    """Value and gradient of a kernel that is the same at every call."""
    return td.value_and_gradient(td.compile(lambda x: np.sum(np.cos(x) * x), np.ones(7)), np.arange(7.0))


def assert_still_right(compilations, count):
    """Another kernel of the same text gives the right answer, and was compiled `count` times."""
    before = len(compilations)
    value, gradient = compile_one()
    x = np.arange(7.0)
    # 1e-14: sums of 7 numbers of the size of 5.
    assert value == pytest.approx(np.sum(np.cos(x) * x), rel=1e-14)
    assert gradient == pytest.approx(np.cos(x) - x * np.sin(x), rel=1e-14)
    assert len(compilations) - before == count


# Hits


@pytest.mark.slow
def test_processes_share_a_cold_cache_and_a_later_one_compiles_nothing(tmp_path):
    """Two write the same files at the same time; all give the same bits, and no unfinished file is left. Every kernel, dispatch loop and
    callee of the third is on disk."""
    found = [results(process) for process in [start(PROGRAM, tmp_path / "cache") for _ in range(2)]]
    assert max(compiled for _, compiled in found) > 5
    assert not list((tmp_path / "cache").glob("*.unfinished"))
    later, compiled_again = results(start(PROGRAM, tmp_path / "cache"))
    assert compiled_again == 0
    assert {printed for printed, _ in found} == {later}


def test_equal_kernels_hit_within_a_process(folder, compilations):
    """Nothing in a kernel's text counts kernels."""
    assert_still_right(compilations, 1)
    assert_still_right(compilations, 0)
    assert len(list(folder.glob("*.o"))) == 1


def test_nothing_is_written_unless_asked_for(tmp_path, monkeypatch):
    """Without the variable there is no cache."""
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    compile_one()
    assert not object_cache.is_enabled()
    assert not list(tmp_path.iterdir())


def test_text_with_addresses_is_not_kept(folder):
    """Whoever makes a function says whether another process could run its code; unless told, it is not kept."""
    native.NativeFunction("define i64 @seven() {\nret i64 7\n}", "seven", set())
    assert not folder.exists()


# What the code depends on


@pytest.mark.parametrize("changed", ["processor", "features", "version", "passes"])
def test_another_processor_or_version_misses(folder, compilations, monkeypatch, changed):
    """Code for another processor could be illegal here; other versions may mean something else by the same text."""
    assert_still_right(compilations, 1)
    assert_still_right(compilations, 0)
    real = native.processor
    if changed == "processor":
        monkeypatch.setattr(native, "processor", lambda: ("x86-64-v9", real()[1]))
    elif changed == "features":
        monkeypatch.setattr(native, "processor", lambda: (real()[0], real()[1] + ",+imaginary"))
    elif changed == "version":
        monkeypatch.setattr(object_cache, "versions", lambda: ("tapediff 99",))
    else:
        monkeypatch.setitem(native.PASSES, False, (*native.PASSES[False], "simplify_cfg"))
    assert_still_right(compilations, 1)


def test_versions_name_every_package():
    """Each of them can change what a text means or how a symbol is called."""
    text = " ".join(object_cache.versions())
    for part in ("tapediff", "llvm ", "llvmlite", "numba", "scipy", np.__version__, sys.version):
        assert part in text


def test_parts_of_a_key_do_not_run_together():
    """Lengths are part of it."""
    assert object_cache.key_of("ab", ("c",)) != object_cache.key_of("a", ("bc",))


# Faults


def flip_a_bit(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)


def change_the_magic(file):
    file.write_bytes(b"tapediff object 0\n" + file.read_bytes()[len(object_cache.MAGIC) :])


def swap_with_another(file):
    """A whole file of another key under this name."""
    other = object_cache.key_of("other", ())
    object_cache.store(other, b"other code")
    file.write_bytes((file.parent / (other.hex() + ".o")).read_bytes())


def valid_but_no_object(file):
    """A file that is as it was written, but that the linker cannot use."""
    object_cache.store(bytes.fromhex(file.name.removesuffix(".o")), b"\x7fELF no object code")


def a_fifo(file):
    file.unlink()
    os.mkfifo(file)


def a_directory(file):
    file.unlink()
    file.mkdir()


def a_link(file):
    file.rename(file.with_suffix(".moved"))
    file.symlink_to(file.with_suffix(".moved"))


FAULTS = {
    "flipped bit": flip_a_bit,
    "truncated": lambda file: file.write_bytes(file.read_bytes()[:-100]),
    "truncated header": lambda file: file.write_bytes(file.read_bytes()[:20]),
    "empty": lambda file: file.write_bytes(b""),
    "longer": lambda file: file.write_bytes(file.read_bytes() + b"x"),
    "another layout": change_the_magic,
    "another key": swap_with_another,
    "no object": valid_but_no_object,
    "writable by others": lambda file: file.chmod(0o622),
    "fifo": a_fifo,
    "directory": a_directory,
    "link": a_link,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_file_is_a_miss(folder, compilations, fault):
    """The kernel is compiled and right; nothing is raised or warned of."""
    assert_still_right(compilations, 1)
    FAULTS[fault](only_file(folder))
    assert_still_right(compilations, 1)


def test_a_damaged_file_is_replaced(folder, compilations):
    """The next process hits again."""
    assert_still_right(compilations, 1)
    flip_a_bit(only_file(folder))
    assert_still_right(compilations, 1)
    assert_still_right(compilations, 0)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, 0o702])
def test_a_directory_that_others_can_write_to_is_not_used(folder, compilations, mode):
    """Neither read, as the code in it would be run, nor written."""
    assert_still_right(compilations, 1)
    folder.chmod(mode)
    assert_still_right(compilations, 1)
    assert object_cache.load(KEY) is None
    folder.chmod(0o755)
    assert_still_right(compilations, 0)


def test_a_directory_of_somebody_else_is_not_used(folder, compilations, monkeypatch):
    """Whoever owns it could put any code there."""
    assert_still_right(compilations, 1)
    own = os.geteuid()
    monkeypatch.setattr(object_cache.os, "geteuid", lambda: own + 1)
    assert_still_right(compilations, 1)
    assert len(list(folder.glob("*.o"))) == 1


@pytest.mark.parametrize("end", ["", "/", "/.", "/./"])
@pytest.mark.parametrize("leads_to", ["own", "nothing"])
def test_a_link_to_a_directory_is_not_followed(tmp_path, monkeypatch, compilations, end, leads_to):
    """Nor made, where it leads to nothing."""
    (tmp_path / "own").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / leads_to)
    monkeypatch.setenv(CACHE_VARIABLE, f"{tmp_path / 'link'}{end}")
    assert_still_right(compilations, 1)
    assert_still_right(compilations, 1)
    object_cache.store(KEY, CODE)
    assert object_cache.load(KEY) is None
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["link", "own"]
    assert doctor._check_cache().state == doctor.FAULT


def test_what_is_made_is_private(folder):
    """The directory for its owner alone, and so the files."""
    object_cache.store(KEY, CODE)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert only_file(folder).stat().st_mode & 0o777 == 0o600
    assert object_cache.load(KEY) == CODE


@pytest.mark.parametrize("path", ["file", "/proc/nothing/here", "/dev/null", "\udcff", "a" * 5000])
def test_an_impossible_directory_is_a_miss(tmp_path, monkeypatch, compilations, path):
    """A file, a place where nothing can be made, no directory, a strange name and one that is too long."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / path))
    assert_still_right(compilations, 1)
    if path != "\udcff":
        assert_still_right(compilations, 1)


@pytest.mark.parametrize("failing", ["open", "fsync", "rename", "fstat", "listdir"])
def test_a_disk_that_refuses_is_a_miss(folder, compilations, monkeypatch, failing):
    """Read-only, full or broken: no error, and no unfinished file."""

    def refuse(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(object_cache.os, failing, refuse)
        assert_still_right(compilations, 1)
    assert not list(folder.glob("*.unfinished"))


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_read_only_directory_can_be_read(folder, compilations):
    """Hits as before, and misses that are not written."""
    assert_still_right(compilations, 1)
    folder.chmod(0o500)
    assert_still_right(compilations, 0)
    object_cache.store(KEY, CODE)
    assert object_cache.load(KEY) is None
    folder.chmod(0o700)


def test_a_process_killed_before_the_rename_leaves_nothing_that_hits(tmp_path, monkeypatch):
    """kill -9 between write and rename: the file has no name that anybody looks for, and is swept up when it is old."""
    program = SHORT.replace("import sys\n", "import sys, os, signal\n").replace(
        "made = []", "os.rename = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\nmade = []"
    )
    folder = tmp_path / "cache"
    killed = start(program, folder)
    killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL
    (unfinished,) = folder.iterdir()
    assert unfinished.name.endswith(".unfinished")
    printed, compiled = results(start(SHORT, folder))
    assert compiled > 0
    assert unfinished.exists()
    old = time.time() - 2 * object_cache.OLDEST_UNFINISHED
    os.utime(unfinished, (old, old))
    monkeypatch.setenv(CACHE_VARIABLE, str(folder))
    object_cache.store(KEY, CODE)
    assert not unfinished.exists()
    assert results(start(SHORT, folder)) == (printed, 0)


# The bound


def test_the_files_not_used_for_the_longest_time_are_dropped(folder, monkeypatch):
    """Beyond the bound the oldest go first; a hit makes a file new again."""
    size = object_cache._HEADER_BYTES + len(CODE)
    monkeypatch.setattr(object_cache, "MOST_BYTES", 4 * size)
    keys = [bytes([number]) * 32 for number in range(6)]
    now = time.time()
    for age, key in enumerate(keys[:4]):
        object_cache.store(key, CODE)
        os.utime(folder / (key.hex() + ".o"), (now - 1000 + age, now - 1000 + age))
    assert object_cache.load(keys[0]) == CODE
    for key in keys[4:]:
        object_cache.store(key, CODE)
    kept = [key for key in keys if object_cache.load(key) is not None]
    assert kept == [keys[0], keys[3], keys[4], keys[5]]


OTHERS = [
    "main.o", "libfoo.unfinished", f"{KEY.hex()}.o.bak", f"{KEY.hex()[:-2]}.o", f"{KEY.hex().upper().replace('0', 'A')}.o",
    f"lib{KEY.hex()}.o", f"{KEY.hex()}.unfinished", f"{KEY.hex()}.1.unfinished", f"{KEY.hex()}.1.0123456.unfinished",
]  # fmt: skip


def test_files_of_others_are_neither_deleted_nor_counted(folder, monkeypatch):
    """Whatever they are called, however old and large they are; nor is a directory with the name of a kernel."""
    size = object_cache._HEADER_BYTES + len(CODE)
    monkeypatch.setattr(object_cache, "MOST_BYTES", 2 * size)
    folder.mkdir(mode=0o700, exist_ok=True)
    old = time.time() - 10 * object_cache.OLDEST_UNFINISHED
    for name in OTHERS:
        (folder / name).write_bytes(b"x" * 3 * size)
        os.utime(folder / name, (old, old))
    (folder / f"{bytes(32).hex()}.o").mkdir()
    unfinished = folder / f"{KEY.hex()}.12.01234567.unfinished"
    unfinished.write_bytes(b"x")
    os.utime(unfinished, (old, old))
    for number in range(1, 5):
        object_cache.store(bytes([number]) * 32, CODE)
    assert {path.name for path in folder.iterdir()} == {
        *OTHERS, f"{bytes(32).hex()}.o", *(f"{(bytes([number]) * 32).hex()}.o" for number in (3, 4)),
    }  # fmt: skip
    state, text, _ = doctor._check_cache()
    assert (state, text.split(": ")[1].split(",")[0]) == (doctor.WELL, "2 kernels")


def test_a_new_process_knows_what_is_there_already(folder, monkeypatch):
    """It looks when it first writes."""
    size = object_cache._HEADER_BYTES + len(CODE)
    monkeypatch.setattr(object_cache, "MOST_BYTES", 2 * size)
    for number in range(5):
        monkeypatch.setattr(toolchain, "directory_bytes", {})
        object_cache.store(bytes([number]) * 32, CODE)
        assert len(list(folder.glob("*.o"))) <= 2
