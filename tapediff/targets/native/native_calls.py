"""NativeCalls: ways to call a compiled gradient from compiled code, or many times: bound, by address, from numba, in batches."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...errors import ArgumentMismatch, hides_frames
from ...ir.instruction import FLOAT64, Tree, UserFunction, ValueType
from ...ir.outputs import Out
from ..operators.methods import OperatorMethods

if TYPE_CHECKING:
    from .addressed_call import AddressedCall
    from .c_function import CFunction
    from .row_calls import RowCalls

_lock = new_lock()


class NativeSide:
    """The native entries of a tape.

    Attributes:
        flat: the function called by address.
        calls: calls by address, keyed by operator.
        rows: calls of batches, by argnums and the shape of a point.
        errors: the exceptions of their calls.
    """

    def __init__(self) -> None:
        from .errors import Errors

        self.flat: CFunction | None = None
        self.calls: dict[Hashable, AddressedCall] = {}
        self.rows: dict[Hashable, RowCalls] = {}
        self.errors = Errors()

    @holding(_lock)
    def take_flat(self, made: CFunction) -> CFunction:
        """Keep and return the function called by address, unless another thread has made one."""
        self.flat = self.flat or made
        return self.flat

    def __reduce__(self) -> Tree:
        """Drop addresses, which mean nothing elsewhere: copies of a tape make entries of their own."""
        return _nothing, ()


def _nothing() -> None:
    return None


@cache
def _mapped_batches() -> ModuleType:
    """Imported at first use; an import statement would take 0.7 µs at each call."""
    from . import mapped_batch

    return mapped_batch


class NativeCalls(OperatorMethods):
    """Calls from compiled code, for a tape of one float64 argument."""

    __slots__ = ()

    # One object per tape that was called natively.
    _native: NativeSide | None = None

    backend: str

    @hides_frames
    def bind(self, *args: Tree, out: Out = None, argnums: int | Sequence[int] = 0) -> Callable[[], float]:
        """Value and gradient at a fixed place in memory.

        Args:
            args: the arguments as in a call; each array is read at each call: C-contiguous, float64 unless it is data.
                Numbers stay as they are.
            out: receives the gradient: an array like the argument, a container of the same structure, or a tuple of these for several
                argnums; also as the second of two arguments.
            argnums: the arguments to differentiate by.

        Returns:
            A function without arguments that reads the arrays' present contents, writes the gradient into `out`, and returns the value.
            It keeps all arrays alive. If it raises, `out` is unchanged.

        Raises:
            ArgumentMismatch, ShapeMismatch: here, for unsuitable arrays or tapes.
            GuardFailed: in calls, for a CompiledTape; a GuardedTape follows the branch. And the errors of td.value_and_gradient.

        Cost: about 0.05 µs a call on top of the kernel.
        """
        from .bound import bound_call

        if out is None and len(args) == 2:
            args, out = args[:1], args[1]
        self.refresh()
        return bound_call(self, args, out, argnums)

    @property
    def address(self) -> int:
        """The address of a C function of value and gradient, for compiled samplers and optimisers.

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
            ArgumentMismatch: the tape takes anything but float64 arrays; use `c_function("gradient", *args)` there, which has an
                address of its own.
        """
        return self._vector_function().address

    @property
    def user_data(self) -> int:
        """The last argument of the C function at `address`."""
        return self._vector_function().user_data

    def take_error(self, x: Tree = None) -> BaseException | None:
        """The exception of a status that a native call returned.

        Args:
            x: the point of that call. Guards and factorisations fail without an exception, which one more call there makes.

        Returns:
            The exception of the latest such call in this thread, or else of any other thread; None if there is none. It is
            returned once.
        """
        found = None if self._native is None else self._native.errors.take(any_thread=True)
        if found is not None or x is None:
            return found
        try:
            self.value_and_gradient(x)
        except Exception as raised:  # noqa: BLE001 -- handed to the caller, who has asked for it
            return raised
        return None

    @hides_frames
    def as_numba(self, *args: Tree, status: bool = False) -> UserFunction:
        """A function for numba's `@njit` code.

        Args:
            args: if the tape takes several arguments, containers or data: as for `c_function`, whose `as_numba` is returned.
            status: return a code of `address` instead of raising: for a `@cfunc`, whose caller would not notice an exception.

        Returns:
            A numba function: `value = f(x, gradient)`, or `code, value = f(x, gradient)`, of C-contiguous float64 vectors; gradient
            is written to. It may run without the interpreter lock and in any thread. Machine code that calls it may live as long as
            the process, and so does the tape.

        Raises:
            ArgumentMismatch: the tape takes other arguments than these, or than float64 arrays.
            GuardFailed, LinAlgError, TapediffError: in calls, with a text that cannot name the place; `take_error(x)` does.
                The gradient is as it was.

        Cost: about 0.01 µs a call on top of the kernel, and 0.3 s to compile the first caller.
        """
        flat = self.c_function("gradient", *args) if args else self._vector_function()
        return flat.as_numba(status=status)

    @hides_frames
    def batch(
        self, X: Tree, *args: Tree, argnums: int | Sequence[int] = 0, out: Out = None, threads: int | None = None
    ) -> tuple[Tree, Tree]:
        """Value and gradient at every row.

        Args:
            X: the points, of shape (n, *shape of the argument); or a container of arrays with one more axis in front.
            args: the other arguments: shared by all rows, or td.Rows(Y) with an entry for each row; td.Constant where the function
                was recorded with data.
            argnums: the argument or arguments to differentiate by.
            out: (values, gradients), float64 arrays of shapes (n,) and that of X.
            threads: how many share the rows, including the calling one; unless given, as many as pay off.

        Returns:
            (values, gradients): `out`, or fresh arrays. With several argnums, a tuple of gradients; that by a shared argument has
            a row for each row, too.

        Raises:
            The exception of the first row that fails, with the row's number as its attribute `row`. `out` may have been written to.

        Cost: that of the kernel for each row; 3 to 6 µs, from the second batch on, where it takes less than 100 µs in all, and
            about 100 µs for the threads otherwise. With lists or float32 0.1 to 0.5 ms, for each path of a GuardedTape.
        """
        self.refresh()
        return _mapped_batches().run_rows(self, (X, *args), out, threads, argnums)

    @hides_frames
    def batch_values(self, X: Tree, *args: Tree, out: Out = None, threads: int | None = None) -> Tree:
        """The results of the function at every row, without derivatives: numbers, arrays, or tuples of these.

        Args:
            X, args, threads: as for `batch`.
            out: an array for the results, or a tuple of arrays.

        Returns:
            An array of shape (n, *shape of the result), or a tuple of such arrays: `out`, or fresh ones.

        Raises:
            ShapeMismatch: paths of the function return results of different shapes.
            The exception of the first row that fails, with the row's number as its attribute `row`. `out` is as it was.

        Cost: as for `batch`.
        """
        self.refresh()
        return _mapped_batches().run_rows(self, (X, *args), out, threads)

    @hides_frames
    def c_function(self, kind: str = "value", /, *args: Tree, argnums: int | Sequence[int] | None = None) -> CFunction:
        """A C function of any arguments and results: gradients, residuals, generated quantities, products with Jacobians and Hessians.

        `int32 f(uint64 n, const double *x, uint64 m, double *out, void *user_data)`: x holds all arguments concatenated, each in
        C order, followed by tangents or cotangents; out receives all results in the same way. For "gradient" it is the function of
        `address`, with the gradient by all of x. It returns the codes of `address`, 4 for "gradient" only, and -1 where n or m is
        another size. Nothing is written unless it returns 0 or 4.

        Args:
            kind: "value"; "gradient"; "jvp", with a tangent for each of `argnums`, and the tangents of the results as results; "vjp",
                with a cotangent for each result, and those of `argnums` as results; "hvp", with a vector for each of `argnums`.
            args: the arguments of a call, whose structure, shapes and dtypes all other calls share. Those that are td.Constant, or
                integers or booleans, are not in x: they keep these numbers until `set_constants`. May be left out for a CompiledTape
                without data, and for a GuardedTape of one vector.
            argnums: the arguments to differentiate by; all that are in x unless given.

        Returns:
            An object with `address` and `user_data`, `take_error()`, `set_constants()`, `with_constants()`, `ravel()`, `unravel()` and
            `as_numba()`; `sizes` is (n, m). Keep it as long as the address is used.

        Raises:
            ArgumentMismatch: arguments or results are not float64.
        """
        from .c_function import c_function

        self.refresh()
        return c_function(self, kind, args, argnums)

    # Entries

    def forget_calls(self) -> None:
        super().forget_calls()
        self._native = None

    def _vector_function(self) -> CFunction:
        """The C function at `address`."""
        self.refresh()
        native = self._native_side()
        return native.flat or native.take_flat(self._new_vector_function())

    def _native_side(self) -> NativeSide:
        return self._native or self._new_native_side()

    @holding(_lock)
    def _new_native_side(self) -> NativeSide:
        self._native = self._native or NativeSide()
        return self._native

    def _new_vector_function(self) -> CFunction:
        raise NotImplementedError


def check_vector(*types: ValueType) -> None:
    """Raise ArgumentMismatch unless the inputs are one float64 vector."""
    if len(types) != 1 or len(types[0].shape) != 1 or types[0].dtype != FLOAT64:
        raise ArgumentMismatch(
            "the C function takes one float64 vector, which this tape does not", got=", ".join(map(str, types)),
            fix='tape.c_function("gradient", *args), which takes any arguments, has an address of its own',
        )  # fmt: skip
