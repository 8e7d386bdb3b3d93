"""Generates the Python code of a direct call: it unpacks the arguments, calls the kernel, and packs the results.

The code for the gradient of a function of a dict of two arrays:

    def make(kernel, constants):
        (c0, c1, c2, c3) = constants
        def direct(args):
            try:
                (a0,) = args
                if type(a0) is not dict or tuple(a0) != c0: return None
                (v0, v1,) = a0.values()
            except Exception:
                return None
            (o0, o1) = c1()
            status = kernel(v0, v1, o0, o1)
            if type(status) is not float: return missed(status)
            return {c2: o0, c3: o1}
        return direct

It returns None if anything differs from the call that it was made for (a type, key, length or value): the call then takes
the full path, which raises the errors. The kernel checks the arrays itself, and writes nothing if it fails.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from ...compiler.runtime.status import MOST_COMPARED, PENDING
from ...ir.arguments import MARKS
from ...ir.buffers import Buffer, require_apart
from ...ir.instruction import FLOAT64, Tree
from ...ir.keys import EXACT, static_key
from ...ir.outputs import share_memory
from ...ir.pytree import MIXED, REGISTERED, TreeDef, assembled, is_static

# In the form of an argument: matches anything.
IGNORED = TreeDef(object)

# In the form of an argument: keys of a leaf that is a marker class with a `value`.
MARK = "mark"

# Conversions of a kernel's output to a result.
AS_IT_IS, NUMPY_SCALAR, PYTHON_FLOAT, NUMPY_FLOAT = "{}", "{}[()]", "float({})", "float64({})"
FLOAT32_ARRAY, FLOAT32_SCALAR = "{}.astype(float32)", "float32({})"

# Output number of the caller's own `out`.
GIVEN = -1


class GuardValue(NamedTuple):
    """Returned if no kernel was found after the user's guard was called: the guard's value."""

    value: Tree


# A kernel, which returns a float if it succeeds; or kernels by the value of the user's guard, a CallsUnderGuard.
Kernels: TypeAlias = Any


class CallForm(NamedTuple):
    """One form of call: the arguments that go to a kernel, and how its outputs become the result.

    Attributes:
        run: the kernel. Arrays for `written` follow its inputs.
        written: the shape, or the number of the input that has it, and the dtype of each array.
        returns_value: the kernel's return value is its first output.
        taken: position and structure of each argument, in the kernel's order: those of the function, tangents and cotangents, and options,
            which have no leaves. Leaves go to the kernel, through the leaf's `keys` if that is a function.
        primals: how many are arguments of the function.
        out: the structure of one more argument, which holds arrays for the last outputs.
        tree: the structure of the result; leaves: for each leaf the number of the kernel's output, and its conversion.
        guard: evaluates the user's guard. If the call fails after it, the value is returned as a GuardValue.
    """

    run: Kernels
    written: tuple[tuple[tuple[int, ...] | int, np.dtype], ...]
    returns_value: bool
    taken: tuple[tuple[int, TreeDef], ...]
    primals: int
    out: TreeDef | None
    tree: TreeDef
    leaves: tuple[tuple[int, str], ...]
    guard: Callable[[tuple[Tree, ...]], Tree] | None = None


def direct_call(form: CallForm) -> Callable[[tuple[Tree, ...]], Tree]:
    """Make a function of the tuple of arguments of a call. It returns None if an argument has another form or the kernel fails."""
    # Imported with the first kernel, so that `import tapediff` stays fast.
    from ...compiler.runtime.entries.new_arrays import maker_of

    writer = _Writer(len(form.taken) + (form.out is not None))
    names, inputs, into = writer.names, list[str](), list[str]()
    for k, structure in form.taken[: form.primals]:
        writer.take(structure, names[k], inputs)
    writer.keep_buffers_apart()
    for k, structure in form.taken[form.primals :]:
        writer.take(structure, names[k], inputs)
    if form.out is not None:
        writer.take(form.out, names[-1], into)
    if len(into) > MOST_COMPARED:
        writer.lines.append(f"if {writer.constant(share_memory)}(({', '.join(into)})): return None")
    fresh = form.written[: len(form.written) - len(into)]
    outputs = [*(["status"] if form.returns_value else []), *(f"o{k}" for k in range(len(fresh))), *into]
    new = [
        f"getattr({inputs[shape]}, 'shape', ())" if isinstance(shape, int) else writer.array_type(shape, dtype) for shape, dtype in fresh
    ]
    made = [f"o{k} = empty({arguments})" for k, arguments in enumerate(new)]
    fixed = [(shape, dtype) for shape, dtype in fresh if not isinstance(shape, int)]
    if len(fixed) == len(fresh) > 1:
        made = [f"({', '.join(f'o{k}' for k in range(len(fresh)))}) = {writer.constant(maker_of(fixed))}()"]
    call = f"({', '.join([*inputs, *outputs[form.returns_value :]])})"
    expression = writer.result(form.tree, iter([(names[-1] if k == GIVEN else outputs[k], how) for k, how in form.leaves]))
    status = _UNGUARDED if form.guard is None else _GUARDED
    status = status.format(call=call, primals=f"({''.join(f'{names[k]}, ' for k, _ in form.taken[: form.primals])})")
    lines = [*made, *status.split("\n"), f"return {expression}"]
    return writer.function(lines, form.run, form.guard)


def call_under_guard(
    kernels: Kernels, guard: Callable[..., Tree], seen: Callable[[Tree], Tree], inputs: int, outputs: int
) -> Callable[..., Tree]:
    """Make a function of this many inputs, and of arrays for this many outputs, that calls a kernel. It returns a float, or as direct_call.

    Args:
        guard: the user's.
        seen: an argument as the guard gets it, if that is no array.
    """
    writer, views = _Writer(inputs + outputs), list[str]()
    for name in writer.names[:inputs]:
        # Most often an array.
        views += [f"if type({name}) is ndarray:", f"    v{name} = {name}[...]", f"    v{name}.setflags(False)"]
        views += ["else:", f"    v{name} = {writer.constant(seen)}({name})"]
    primals = ", ".join(f"v{name}" for name in writer.names[:inputs])
    status = _GUARDED.format(call=f"({', '.join(writer.names)})", primals=primals)
    return writer.function([*views, *status.split("\n"), "return status"], kernels, guard, given="*args")


def leaves_of(forms: Sequence[TreeDef]) -> Callable[[tuple[Tree, ...]], tuple[Tree, ...] | None]:
    """Make a function from the tuple of arguments to their leaves; it returns None if they have another form."""
    writer, leaves = _Writer(len(forms)), list[str]()
    for form, name in zip(forms, writer.names):
        writer.take(form, name, leaves)
    return writer.function([f"return ({''.join(f'{leaf}, ' for leaf in leaves)})"])


_TEXT = """\
def make(kernel, guard, constants):
    ({constants}) = constants
    def direct({given}):
        try:
            {take}
        except Exception:
            return None
        {answer}
    return direct
"""

_UNGUARDED = """\
status = kernel{call}
if type(status) is not float: return missed(status)"""

# True, False and None are singletons: comparing identity needs no lookup.
_GUARDED = """\
value = guard({primals})
known, run = kernel.last
if value is not known: run = kernel.under(value)
if run is None: return GuardValue(value)
status = run{call}
if type(status) is not float: return missed(status) or GuardValue(value)"""


def _missed(status: Tree) -> None:
    """Raise the exception of user code that the kernel called."""
    if status == PENDING:
        raise_pending()


def raise_pending() -> NoReturn:
    """Raise the exception of user code that a kernel called."""
    # Imported once a kernel has called Python, so that `import tapediff` stays fast.
    from ...compiler.runtime import callbacks

    callbacks.raise_pending()


_NAMES = {
    "empty": np.empty, "float32": np.float32, "float64": np.float64, "ndarray": np.ndarray, "missed": _missed, "GuardValue": GuardValue,
    "require_apart": require_apart,
}  # fmt: skip


@lru_cache(256)
def _maker(text: str) -> Callable[..., Tree]:
    """Compile the function `make` of a text; calls that differ in constants alone share the text."""
    found: dict[str, Tree] = {}
    exec(compile(text, "<direct call of tapediff>", "exec"), dict(_NAMES), found)
    return found["make"]


class _Writer:
    """Builds the text of a direct call.

    Attributes:
        names: of the arguments.
        lines: unpack the arguments.
        constants: the objects that the lines name.
    """

    def __init__(self, arguments: int) -> None:
        self.names = [f"a{k}" for k in range(arguments)]
        self.lines = [f"({''.join(f'{name}, ' for name in self.names)}) = args"]
        self.constants: list[Tree] = []
        self._parts = 0
        # Arrays that the function may write to, and all other arrays if there are any.
        self._buffers: list[str] = []
        self._others: list[str] = []

    def function(
        self, answer: Sequence[str], kernel: Kernels = None, guard: Callable[..., Tree] | None = None, given: str = "args"
    ) -> Callable[..., Tree]:
        """Make the function: the lines, then those that answer."""
        constants = "".join(f"c{k}, " for k in range(len(self.constants)))
        text = _TEXT.format(constants=constants, given=given, take="\n            ".join(self.lines), answer="\n        ".join(answer))
        return _maker(text)(kernel, guard, self.constants)

    def constant(self, value: Tree) -> str:
        """Return a name for an object."""
        self.constants.append(value)
        return f"c{len(self.constants) - 1}"

    def array_type(self, shape: tuple[int, ...], dtype: np.dtype) -> str:
        """The arguments of np.empty: fewer arguments take less time."""
        extents = self.constant(shape[0] if len(shape) == 1 else shape)
        return extents if dtype == FLOAT64 else f"{extents}, {self.constant(dtype)}"

    def take(self, form: TreeDef, name: str, leaves: list[str]) -> None:
        """Emit the checks of an argument or a part of one, and add its leaves."""
        kind, keys, parts = form
        if form is IGNORED:
            return
        if kind is None:
            (self._buffers if form == MIXED else self._others).append(name)
            leaves.append(self._part(f"{self.constant(keys)}({name})") if callable(keys) else name)
        elif kind in MARKS or keys == MARK:
            self._require(f"type({name}) is not {self.constant(kind)}")
            self.take(parts[0], self._part(f"{name}.value"), leaves)
        elif kind is Buffer:
            self._buffers.append(name)
            shape, dtype = self.constant(keys.value.shape), self.constant(np.dtype(keys.value.dtype))
            self._require(f"type({name}) is not ndarray or {name}.shape != {shape} or {name}.dtype is not {dtype}")
        elif is_static(form):
            same = f"{name} != {self.constant(keys.value)}"
            if kind not in EXACT:
                same = f"{self.constant(static_key)}({name}) != {self.constant(keys.key)}"
            self._require(f"type({name}) is not {self.constant(kind)} or {same}")
        else:
            self._container(form, name, leaves)

    def keep_buffers_apart(self) -> None:
        """Emit a check that raises if an array that the function may write to shares memory with another argument."""
        if self._buffers:
            others = f"[a for a in ({''.join(f'{name}, ' for name in self._others)}) if type(a) is ndarray]"
            self.lines.append(f"require_apart(({''.join(f'{name}, ' for name in self._buffers)}), {others})")

    def _container(self, form: TreeDef, name: str, leaves: list[str]) -> None:
        kind: Tree = form.kind
        keys, parts = form.keys, form.parts
        if kind in REGISTERED:
            self._require(f"type({name}) is not {self.constant(kind)}")
            self.lines.append(f"({name}, rest) = {self.constant(REGISTERED)}[{self.constant(kind)}][0]({name})")
            self._require(f"{self.constant(static_key)}(rest) != {self.constant(keys[0].key)}")
            self._unpack(name, parts, leaves)
        elif kind is dict or kind is OrderedDict:
            self._require(f"type({name}) is not {self.constant(kind)} or tuple({name}) != {self.constant(keys)}")
            self._unpack(f"{name}.values()", parts, leaves)
        elif issubclass(kind, (tuple, list)):
            self._require(f"type({name}) is not {self.constant(kind)}")
            self._unpack(name, parts, leaves)
        else:
            self._require(f"type({name}) is not {self.constant(kind)}")
            self._unpack(f"({''.join(f'{name}.{key}, ' for key in keys)})", parts, leaves)

    def _require(self, unlike: str) -> None:
        self.lines.append(f"if {unlike}: return None")

    def _unpack(self, values: str, parts: Sequence[TreeDef], leaves: list[str]) -> None:
        """Unpack exactly this many values; any other number raises."""
        names = [self._part() for _ in parts]
        self.lines.append(f"({''.join(f'{name}, ' for name in names)}) = {values}")
        for part, name in zip(parts, names):
            self.take(part, name, leaves)

    def _part(self, value: str = "") -> str:
        """Return a new name for a part of an argument."""
        name = f"v{self._parts}"
        self._parts += 1
        if value:
            self.lines.append(f"{name} = {value}")
        return name

    def result(self, tree: TreeDef, leaves: Iterator[tuple[str, str]]) -> str:
        """The expression of a tree of outputs."""
        kind, keys, parts = tree
        if kind is None:
            name, how = next(leaves)
            return how.format(name)
        if is_static(tree):
            return self.constant(keys.value) + ".copy()" * isinstance(keys.value, np.ndarray)
        inside = [self.result(part, leaves) for part in parts]
        if kind is tuple:
            return f"({''.join(f'{part}, ' for part in inside)})"
        if kind is dict:
            return f"{{{', '.join(f'{self.constant(key)}: {part}' for key, part in zip(keys, inside))}}}"
        if kind is list:
            return f"[{', '.join(inside)}]"
        return f"{self.constant(assembled)}({self.constant(tree)}, [{', '.join(inside)}])"
