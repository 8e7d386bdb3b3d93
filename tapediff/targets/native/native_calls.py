"""NativeCalls: the ways to call a compiled gradient from compiled code, or many times: bound, by address, from numba, in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...errors import ArgumentMismatch, ShapeMismatch
from ...ir.instruction import FLOAT64, ValueType
from ..backends import require_native

if TYPE_CHECKING:
    from .c_function import CFunction
    from .native_entry import NativeEntry

_lock = new_lock()


class NativeSide:
    """The native entries of a tape.

    Attributes:
        by_shape: the entries by the shape of their argument.
        default: the entry that is called by address.
        errors: the exceptions of their calls.
    """

    def __init__(self) -> None:
        from .native_entry import Errors

        self.by_shape: dict[tuple[int, ...], NativeEntry] = {}
        self.default: NativeEntry | None = None
        self.errors = Errors()

    @holding(_lock)
    def take_default(self, made: NativeEntry) -> None:
        """Keep the entry that is called by address, unless another thread has made one."""
        self.default = self.default or made

    def all(self) -> list[NativeEntry]:
        entries = list(self.by_shape.values())
        return entries if self.default is None or self.default in entries else [*entries, self.default]

    def __reduce__(self) -> Any:
        """Addresses mean nothing elsewhere: copies of a tape make entries of their own."""
        return _nothing, ()


def _nothing() -> None:
    return None


class NativeCalls:
    """Calls from compiled code, for a tape of one float64 argument."""

    __slots__ = ()

    # Of its own for each tape that somebody has called natively.
    _native: NativeSide | None = None

    backend: str

    def value_and_gradient(self, *args: Any, argnums: Any = 0, out: Any = None) -> tuple[Any, Any]:
        """See td.value_and_gradient."""
        raise NotImplementedError

    def bind(self, x: np.ndarray, out: np.ndarray) -> Callable[[], float]:
        """Value and gradient at a fixed place in memory.

        Args:
            x: the point: a C-contiguous float64 array, read at each call.
            out: of the same kind and shape; receives the gradient.

        Returns:
            A function without arguments that writes the gradient at what x now holds into `out`, and returns the value. It
            keeps both arrays alive. Where it raises, `out` is as it was.

        Raises:
            ArgumentMismatch, ShapeMismatch: here, where the arrays or the tape are of another kind.
            GuardFailed: in calls, for a CompiledTape; a GuardedTape follows the branch. And the errors of td.value_and_gradient.

        Cost: about 0.05 µs a call beside the kernel.
        """
        from ...compiler.runtime.entries import c_entry

        _check_buffer("x", x)
        _check_buffer("out", out)
        if x.shape != out.shape:
            raise ShapeMismatch(
                "out has another shape than x", got=f"x {x.shape}, out {out.shape}", fix="np.empty(x.shape)"
            )
        if not out.flags.writeable or np.may_share_memory(x, out):
            raise ArgumentMismatch(
                "out is read-only or shares memory with x", fix="pass an array of its own: np.empty(x.shape)"
            )
        entry = self._entry(x.shape)

        def failed(status: int) -> Any:
            raised = entry.error_at(x, status)
            if raised is not None:
                raise raised
            return self.value_and_gradient(x, out=out)[0]

        return c_entry.bound_builtin(entry.function, entry.state_block, x, out, failed)

    @property
    def address(self) -> int:
        """The address of a C function of value and gradient, for samplers and optimisers that are compiled.

        `int32 f(uint64 size, const double *x, double *gradient, double *value, void *user_data)`, to be called with `user_data`,
        by any number of threads at once, with the interpreter lock or without. It returns

        * 0, and has written value and gradient;
        * where the model has no value, so that a sampler may reject the point and go on: 2 where a matrix is not positive definite,
          3 where Python code has raised a FloatingPointError, or an exception whose attribute `is_recoverable` is true; 4 where
          the value is infinite or NaN;
        * where the caller has to stop: -1 where size is not that of the tape (for a GuardedTape: of its tapes, or of the first
          call), -2 where x, gradient and value overlap or are not aligned to 8 bytes, -3 where there is no memory, -4 where a guard
          fails (never for a GuardedTape), -5 where Python code has raised any other exception.

        `take_error()` gives the exception. Nothing is written unless it returns 0 or 4. The tape has to be kept alive as long as
        the function may be called.

        Raises:
            ArgumentMismatch: the tape does not take one float64 vector.
        """
        return self._vector_entry().address

    @property
    def user_data(self) -> int:
        """The last argument of the C function at `address`."""
        return self._vector_entry().user_data

    def take_error(self, x: Any = None) -> BaseException | None:
        """The exception behind a status that a native call has returned.

        Args:
            x: where that was. Guards and factorisations fail without an exception, which is made by one more call there.

        Returns:
            The exception of the latest such call in this thread, or else of any other thread; None if there is none. It is
            handed out once.
        """
        found = None if self._native is None else self._native.errors.take(any_thread=True)
        if found is not None or x is None:
            return found
        try:
            self.value_and_gradient(x)
        except Exception as raised:  # noqa: BLE001 -- handed to the caller, who has asked for it
            return raised
        return None

    def as_numba(self) -> Callable[..., float]:
        """A function for numba's `@njit` code.

        Returns:
            A numba function: `value = f(x, gradient)`, of C-contiguous float64 vectors; gradient is written to. It may run
            without the interpreter lock and in any thread. Machine code that calls it may live as long as the process, and so
            does the tape.

        Raises:
            ArgumentMismatch: the tape does not take one float64 vector.
            GuardFailed, LinAlgError, TapediffError: in calls, with a text that cannot name the place; `take_error(x)` does.
                The gradient is as it was.

        Cost: about 0.01 µs a call beside the kernel, and 0.3 s to compile the first caller.
        """
        from .for_numba import numba_function

        return numba_function(self, self._vector_entry())

    def batch(
        self, X: Any, *args: Any, argnums: int | Sequence[int] = 0, out: Any = None, threads: int | None = None
    ) -> tuple[Any, Any]:
        """Value and gradient at every row.

        Args:
            X: the points, of shape (n, *shape of the argument).
            args: the other arguments: shared by all rows, or td.Rows(Y) with an entry for each row; td.Constant where the function
                was recorded with data.
            argnums: the argument or arguments to differentiate by.
            out: (values, gradients), float64 arrays of shapes (n,) and that of X; C-contiguous where X is the only argument.
            threads: how many share the rows, the calling one included; unless given, as many as are worth it.

        Returns:
            (values, gradients): `out`, or fresh arrays. With several argnums, a tuple of gradients; that by a shared argument has
            a row for each row, too.

        Raises:
            The exception of the first row that fails, with the row's number as its attribute `row`. `out` may have been written to.

        Cost: that of the kernel for each row; 3 to 6 µs, from the second batch on, where it takes less than 100 µs in all, and
            about 100 µs for the threads otherwise. With further arguments 0.1 to 0.5 ms, for each path of a GuardedTape.
        """
        from .batch import run_batch, run_few

        if args or argnums != 0:
            from .mapped_batch import run_mapped

            require_native(self.backend)
            return run_mapped(self, X, args, argnums, out, threads)
        native = self._native
        if native is not None and threads is None and type(X) is np.ndarray and X.ndim:
            entry = native.by_shape.get(X.shape[1:])
            found = None if entry is None else run_few(entry, X, out)
            if found is not None:
                return found
        return run_batch(self, X, out, threads)

    def batch_values(self, X: Any, *args: Any, out: Any = None, threads: int | None = None) -> Any:
        """The results of the function at every row, without derivatives: numbers, arrays, or tuples of these.

        Args:
            X, args, threads: as for `batch`.
            out: an array for the results, or a tuple of arrays.

        Returns:
            An array of shape (n, *shape of the result), or a tuple of such arrays: `out`, or fresh ones.

        Raises:
            ShapeMismatch: paths of the function return results of different shapes.
            The exception of the first row that fails, with the row's number as its attribute `row`. `out` is as it was.

        Cost: that of the kernel for each row, and 0.1 to 0.5 ms, for each path of a GuardedTape.
        """
        from .mapped_batch import run_values

        require_native(self.backend)
        return run_values(self, X, args, out, threads)

    def c_function(self, kind: str = "value", argnums: int | Sequence[int] = 0, constants: Sequence[Any] = ()) -> CFunction:
        """A C function of results of any shape: residuals, generated quantities, products with Jacobians and Hessians.

        `int32 f(uint64 n, const double *x, uint64 m, double *out, void *user_data)`: x holds all arguments one behind the other, each in
        C order, followed by tangents or cotangents; out receives all results in the same way. It returns the codes of `address`, but for
        4, as infinite results are results; -1 where n or m is another size. Nothing is written unless it returns 0.

        Args:
            kind: "value"; "jvp", with a tangent for each of `argnums`, and the tangents of the results as results; "vjp", with a
                cotangent for each result, and those of `argnums` as results; "hvp", with a vector for each of `argnums`. A GuardedTape has
                "value" only.
            argnums: the arguments to differentiate by.
            constants: the last arguments, which are not in x. Their numbers are copied, and replaced by `set_constants`.

        Returns:
            An object with the attributes `address` and `user_data`, and `take_error()`; `sizes` is (n, m) of a CompiledTape. Keep it as
            long as the address is used.

        Raises:
            ArgumentMismatch: arguments or results are not float64.
        """
        from .c_function import c_function

        return c_function(self, kind, argnums, constants, self._native_side().errors)

    # Entries

    def _entry(self, shape: tuple[int, ...]) -> NativeEntry:
        """The entry that takes arrays of this shape."""
        native = self._native_side()
        entry = native.by_shape.get(shape)
        if entry is None:
            if native.default is not None and native.default.shape == shape:
                made = native.default
            else:
                made = self._make_entry(shape, native)
            entry = native.by_shape.setdefault(shape, made)
        return entry

    def _vector_entry(self) -> NativeEntry:
        native = self._native_side()
        if native.default is None:
            native.take_default(self._default_entry(native))
        assert native.default is not None
        return native.default

    def _native_side(self) -> NativeSide:
        return self._native or self._new_native_side()

    @holding(_lock)
    def _new_native_side(self) -> NativeSide:
        require_native(self.backend)
        self._native = self._native or NativeSide()
        return self._native

    def _make_entry(self, shape: tuple[int, ...], native: NativeSide) -> NativeEntry:
        raise NotImplementedError

    def _default_entry(self, native: NativeSide) -> NativeEntry:
        raise NotImplementedError


def check_vector(*types: ValueType) -> None:
    """Raises ArgumentMismatch unless the inputs are one float64 vector."""
    if len(types) != 1 or len(types[0].shape) != 1 or types[0].dtype != FLOAT64:
        raise ArgumentMismatch(
            "the C function takes one float64 vector, which this tape does not", got=", ".join(map(str, types)),
            fix="record a function of one vector, and reshape or split it there",
        )  # fmt: skip


def _check_buffer(name: str, array: Any) -> None:
    fits = isinstance(array, np.ndarray) and array.dtype == FLOAT64 and array.dtype.isnative
    if not (fits and array.flags.c_contiguous and array.flags.aligned):
        what = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise ArgumentMismatch(f"{name} is not a C-contiguous float64 array", got=what,
                               fix="np.ascontiguousarray(x, dtype=float), kept and written to")  # fmt: skip
