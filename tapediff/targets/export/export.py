"""td.export: the kernels of a target as an object file with a C header, and as a shared library."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

import numpy as np

from ...compiler.jit.object_file import NATIVE, object_file
from ...compiler.llvm.cpu import is_x86, portable
from ...errors import ArgumentMismatch, hides_frames
from ...ir.containers import Trees, leaf_names
from ...ir.instruction import Tree, ValueType
from ...ir.tape import Tape
from ...recording.arguments.flat_function import argument_names, by_position
from ..backends import NATIVE as NATIVE_BACKEND
from ..compiled_tape import CompiledTape
from ..guarded_tape import GuardedTape
from ..native.signature import of_call, of_tape
from ..tapes.operator_tapes import Numbers
from .entry import Entry, Given, Path, Pointer, c_name, entry, key_of, unused
from .header import header
from .parts import Parts

# Those that LLVM calls x86-64-v4 and so on have the instructions of a level of the architecture, however they are made.
_PROCESSORS = (NATIVE, "generic", *(("x86-64-v2", "x86-64-v3", "x86-64-v4") if is_x86() else ()))


@dataclass(frozen=True, slots=True)
class Exported:
    """The files that td.export has written.

    Attributes:
        header, object: their paths.
        library: the path of the shared library; None without a linker on this system.
        functions: the names of the C functions.
        undefined: the functions of other libraries that the object file calls, such as dpotrf_ and pow.
        message: what is left to do.
    """

    header: str
    object: str
    library: str | None
    functions: tuple[str, ...]
    undefined: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class _Source:
    """An exported function: the arguments, those to differentiate by, and the compiled paths with their constants."""

    name: str
    given: Sequence[Given]
    wrt: Numbers
    paths: Sequence[tuple[CompiledTape, Sequence[Tree], Tape]]

    @property
    def has_gradient(self) -> bool:
        tape = self.paths[0][2]
        is_number = bool(tape.outputs) and tape.output_types[0].is_float and tape.output_types[0].shape == ()
        return bool(self.wrt) and is_number and not tape.without_aux().returns_tuple


@hides_frames
def export(
    target: CompiledTape | GuardedTape | Tape | Tree, path: str | os.PathLike[str], *args: Tree, what: str | Sequence[str] | None = None,
    inside: bool = True, cpu: str = NATIVE, link: Sequence[str] = (),
) -> Exported:  # fmt: skip
    """Write kernels as C functions that need neither Python nor NumPy: `model.h`, `model.o` and `libmodel.so` for the path "dir/model".

    `int model_value_and_gradient(const double *x, double *value, double *gradient)` returns 0, or a code that the header explains: of a
    guard that failed, a matrix that is not positive definite, no memory. Numbers that the function read while it was recorded are inside.
    Any number of threads may call at once; results have the same bits as in Python, with any number of threads there.

    Args:
        target: td.compile(f, x), or a GuardedTape, whose paths recorded so far are tried in order; a td.Posterior, with its data inside.
        path: directory and name of the files; the last part is the prefix of the functions. Files of this name are replaced.
        args: the arguments as in a call: for a GuardedTape, whose path at this point is recorded if it is new; and to put data inside.
        what: "value", "value_and_gradient", "gradient", "jvp", "vjp", "hvp", "jacobian", "hessian", or several of them. By default
            value and gradient, of other results the value. Derivatives are by all arguments of floats but td.Constant.
        inside: put the data among `args` into the file: td.Constant, integers, booleans. Else they are parameters, as without `args`.
        cpu: "native", this machine's: as fast as here, for machines that have all its instructions; "generic" for every machine of the
            kind, or "x86-64-v3" and the like: slower, with the same bits.
        link: further options for linking the shared library, such as ["-lopenblas"] for LAPACK.

    Returns:
        The paths of the files, and the functions that the user has to link (LAPACK's).

    Raises:
        TapediffError: the target calls what exists in Python only: a td.primitive, a function of scipy.special that tapediff does not
            compute itself, numpy.fft.
        ArgumentMismatch: the last part of the path is no C identifier; a GuardedTape has a `guard=`; there is no such derivative.
        OSError: the files cannot be written.

    Cost: compiles again; twice the time of the first call.

    Example:
        >>> fast = td.compile(lambda x: np.sum(x**2), np.ones(3))
        >>> td.export(fast, "build/model").functions
        ('model_value_and_gradient',)
    """
    directory, name = os.path.split(os.fspath(path))
    if c_name(name) != name:
        raise ArgumentMismatch("the functions are named after the path's last part, which is no C identifier", got=repr(name),
                               fix='td.export(compiled, "dir/model")')  # fmt: skip
    if cpu not in _PROCESSORS:
        raise ArgumentMismatch("there is no such processor to export for", got=repr(cpu), fix=f"one of {', '.join(_PROCESSORS)}")
    source = _source(target, args, inside)
    wanted = [what] if isinstance(what, str) else what or ["value_and_gradient" if source.has_gradient else "value"]
    entries = [_entry(source, each, name) for each in dict.fromkeys(wanted)]
    parts = Parts(source.name)
    with portable(cpu != NATIVE):
        texts = [(each.text(parts), False) for each in entries]
        texts = [*parts.finish(), *texts]
    made = object_file(texts, {each.name for each in entries}, cpu)
    files = FilePath(directory) / f"{name}.h", FilePath(directory) / f"{name}.o"
    files[0].parent.mkdir(parents=True, exist_ok=True)
    _replace(files[0], header(name, source.name, entries, made.undefined, cpu).encode())
    _replace(files[1], made.code)
    library, message = _library(files[1], files[1].with_name(f"lib{name}.so"), link)
    return Exported(str(files[0]), str(files[1]), library, tuple(each.name for each in entries), made.undefined, message)


def _source(target: Tree, args: Sequence[Tree], inside: bool) -> _Source:
    if hasattr(target, "log_density_gradient"):
        target, args = target.tape, (*(args or (target.example_point(),)), target.constants)
    if isinstance(target, Tape):
        target = CompiledTape(target)
    if isinstance(target, GuardedTape):
        return _of_guarded(target, args, inside)
    if not isinstance(target, CompiledTape):
        raise ArgumentMismatch("only compiled functions can be exported", got=type(target).__name__,
                               fix="td.export(td.compile(f, x), path)")  # fmt: skip
    target.refresh()
    tape = target.tape
    names = _leaves(tape.argument_names, tape.arguments)
    if args:
        signature = of_tape(tape, args)
        given = _given(names, tape.input_types, signature.is_constant, signature.values if inside else ())
    else:
        given = _given(names, tape.input_types, [k not in tape.active_inputs for k in range(len(tape.inputs))], ())
    return _Source(target.name, *given, [(_of_one_thread(target), (), tape)])


def _of_guarded(target: GuardedTape, args: Sequence[Tree], inside: bool) -> _Source:
    if not args:
        raise ArgumentMismatch("a GuardedTape is exported for arguments of certain types", fix="td.export(guarded, path, x)")
    if target.guard is not None or target.check_every:
        raise ArgumentMismatch("guard= and check_every= call Python", fix="leave them out for what is exported")
    target.recorded_at(args)
    call = target.keyed(args, ())
    signature = of_call(call.bound, call.key)
    names = _leaves(argument_names(by_position(target.f, args), len(args)), signature.trees)
    given = _given([names[k] for k in signature.positions], signature.types, signature.is_constant, signature.values if inside else ())
    paths = target.kept_paths.by_key[call.key].tapes
    return _Source(target.name, *given, [(_of_one_thread(v.compiled), v.constants, v.tape) for v in paths])


def _leaves(names: Sequence[str], trees: Trees | None) -> list[str]:
    named = [name or f"x{k}" for k, name in enumerate(names)]
    return named if trees is None else leaf_names(named, trees)


def _given(
    names: Sequence[str], types: Sequence[ValueType], constant: Sequence[bool], inside: Sequence[np.ndarray]
) -> tuple[list[Given], Numbers]:
    """The inputs as parameters, or constant ones from `inside`, and those to differentiate by."""
    made, used = list[Given](), set[str]()
    for k, (name, type_) in enumerate(zip(names, types, strict=True)):
        made.append(inside[k] if inside and constant[k] else Pointer(unused(c_name(name), used), type_, name))
    return made, tuple([k for k, type_ in enumerate(types) if type_.is_float and not constant[k]])


def _of_one_thread(compiled: CompiledTape) -> CompiledTape:
    """The same tape for one thread: it has the same bits, since its sums are cut in the same way."""
    if compiled.backend != NATIVE_BACKEND:
        raise ArgumentMismatch("kernels by numba cannot be exported", got=f"backend={compiled.backend!r}", fix="leave backend= out")
    return CompiledTape(compiled.tape, compiled.backend, compiled.memory, 1) if compiled.threads > 1 else compiled


def _entry(source: _Source, what: str, name: str) -> Entry:
    key = key_of(what, source.wrt)
    paths = [Path(compiled.kernel(key), constants, tape.guards) for compiled, constants, tape in source.paths]
    types = {tuple(path.kernel.tape_outputs) for path in paths}
    if len(types) > 1:
        raise ArgumentMismatch("paths of the function return results of different types", got=str(sorted(map(str, types))),
                               fix="return results of the same shapes from every path")  # fmt: skip
    return entry(what, name, source.given, source.wrt, paths)


def _replace(file: FilePath, content: bytes) -> None:
    """Write a file, whole or not at all."""
    handle, unfinished = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, file)
    except BaseException:
        os.unlink(unfinished)
        raise


def _library(object_: FilePath, library: FilePath, link: Sequence[str]) -> tuple[str | None, str]:
    """Link a shared library by the system's compiler; return its path, and what is left to do."""
    compiler = shutil.which(os.environ.get("CC") or "cc") or shutil.which("gcc") or shutil.which("clang")
    command = ["-shared", "-o", str(library), str(object_), *link, "-lm"]
    if compiler is None:
        return None, f"there is no C compiler on this system (cc, gcc, clang): link the object file with {' '.join(['cc', *command])}"
    done = subprocess.run([compiler, *command], capture_output=True, text=True, check=False)
    if done.returncode:
        return None, f"{compiler} could not link the library: {done.stderr.strip()}"
    return str(library), f"link with -l{object_.stem}"
