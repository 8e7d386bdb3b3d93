"""C functions of flat arguments and results: value and gradient, values, products with Jacobians and Hessians; with constants."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np

from ...compiler.jit.toolchain import toolchain
from ...compiler.runtime.call_frame import widened
from ...compiler.runtime.callbacks import callback_address
from ...compiler.runtime.entries import address_call, c_entry
from ...compiler.runtime.entries.python_entry import Words
from ...compiler.runtime.python_api import MOST_ARGUMENTS
from ...errors import ArgumentMismatch, ShapeMismatch
from ...ir.arguments import chosen_arguments
from ...ir.instruction import FLOAT64, Operand, Tree, UserFunction, ValueType
from ..evaluate.chosen import inputs_of
from ..evaluate.fast_path import Argnums
from ..evaluate.request import beside_outputs
from .addressed_call import AddressedCall, compiled_call, copy_at, floated
from .errors import Errors, OtherResults, keep_error
from .owner import Owner
from .paths import paths_call, vector_call
from .signature import KINDS, Kind, Signature, of_call, of_tape


class Plan:
    """The plan that turns a flat call into one by addresses.

    Attributes:
        sizes: the numbers in x and out.
        signature: of the arguments.
        words: for native code.
    """

    def __init__(self, call: AddressedCall, signature: Signature, is_gradient: bool) -> None:
        self.call, self.signature = call, signature
        constants, n, m = itertools.count(), 0, 0
        places: list[tuple[int, int]] = []
        for k, type_ in enumerate(call.inputs):
            if k < len(signature.types) and signature.is_constant[k]:
                places.append((address_call.CONSTANT, next(constants)))
            else:
                places.append((address_call.IN_X, 8 * n))
                n += type_.size
        for k, type_ in enumerate(call.outputs):
            is_own = is_gradient and k == 0
            places.append((address_call.OWN_PLACE, 0) if is_own else (address_call.IN_OUT, 8 * m))
            m += 0 if is_own else type_.size
        self.sizes = n, m
        self.words = address_call.plan_words(call.address, self.sizes, places, call)


class CFunction:
    """A C function and its last argument.

    Keep it as long as the address is used. Any number of threads may call it at once, with the interpreter lock or without.

    Attributes:
        kind: "value", "gradient", "jvp", "vjp" or "hvp".
        address: of the function.
    """

    def __init__(self, kind: str, plan: Plan | None, errors: Errors) -> None:
        self.kind, self._plan, self._errors = kind, plan, errors
        self._constants: list[Words] = []
        self._words = address_call.data_words(None if plan is None else plan.words)
        if plan is not None:
            self._use([plan.signature.values[k] for k in plan.signature.constants])

    @property
    def address(self) -> int:
        """The address of the C function."""
        return (address_call.FLAT_GRADIENT if self.kind == "gradient" else address_call.FLAT).address

    @property
    def user_data(self) -> int:
        """The last argument of the C function."""
        return self._words.address

    @property
    def sizes(self) -> tuple[int, int] | None:
        """The numbers in x and out; None until the first call decides."""
        return None if self._plan is None else self._plan.sizes

    def take_error(self) -> BaseException | None:
        """The exception of a negative code, or of 2 or 3; None if a guard or a factorisation of a CompiledTape failed."""
        return self._errors.take(any_thread=True)

    def take_own_error(self) -> BaseException | None:
        """The exception of this thread's last failed call; returned once."""
        return self._errors.take()

    def fault(self, code: int) -> BaseException:
        """The exception to raise for a negative code; a pending one is returned once."""
        from .for_numba import GuardFailedNatively

        text = "the control flow at a point differs from the recorded one, so this tape has no answer there"
        default = GuardFailedNatively(text) if code == c_entry.GUARD_FAILED else RuntimeError(f"the C function returned the code {code}")
        return self.take_error() or default

    def set_constants(self, *constants: Tree) -> None:
        """Replace the numbers of the constants, for all later calls.

        Calls under way keep the old numbers; wait for them before you replace the constants once more.

        Args:
            constants: for the arguments that hold nothing else, in order; of the recorded structure, shapes and dtypes.
        """
        self._use(self._fitted(constants))

    def share_constants(self, *args: Tree) -> bool:
        """Read the constants among these arguments in place from now on. Returns True if that is possible for all.

        Args:
            args: those of the call that the function was made from.
        """
        signature = self._known_plan().signature
        found = signature.inputs_among(signature.constant_arguments, [args[k] for k in signature.constant_arguments])
        if found.keys() != {*signature.constants}:
            return False
        given = [found[k] for k in signature.constants]
        self._use(given, copy=False)
        return all(made is each for each, made in zip(given, self._constants[-1].keeps) if isinstance(each, np.ndarray))

    def with_constants(self, *constants: Tree) -> CFunction:
        """The same function with other constants, for concurrent calls: only `user_data` differs, and nothing is compiled."""
        fitted = self._fitted(constants)
        made = CFunction(self.kind, self._plan, self._errors)
        made._use(fitted)
        return made

    def ravel(self, *args: Tree) -> np.ndarray:
        """Concatenate the numbers of arguments in the order of x, without constants.

        Args:
            args: as in a call, with or without constants.
        """
        signature = self._known_plan().signature
        active = signature.active_arguments
        if len(args) != len(active):
            args = tuple(args[k] for k in active if k < len(args))
        if len(args) != len(active):
            raise ArgumentMismatch("another number of arguments", got=f"{len(active)} wanted, {len(args)} given")
        parts = signature.inputs_among(active, args)
        found = [np.ravel(_fitted(part, signature.types[k])) for k, part in parts.items() if not signature.is_constant[k]]
        return np.concatenate(found) if found else np.empty(0)

    def unravel(self, x: np.ndarray) -> Tree:
        """The arguments from their concatenated numbers x; also for a gradient.

        Returns:
            The argument, or a tuple of several; without constants, except for those inside a container.
        """
        signature = self._known_plan().signature
        x, flags = np.asarray(x, np.float64), signature.is_constant
        sizes = [value.size for value, is_constant in zip(signature.values, flags) if not is_constant]
        if x.shape != (sum(sizes),):
            raise ShapeMismatch("x has another size than the arguments", got=f"{x.shape} for {(sum(sizes),)}")
        parts = iter(np.split(x, np.cumsum(sizes)))
        args = signature.arguments([(v if c else next(parts).reshape(v.shape))[()] for v, c in zip(signature.values, flags)])
        found = [args[k] for k in signature.active_arguments]
        return found[0] if len(found) == 1 else tuple(found)

    def as_numba(self, *, status: bool = False) -> UserFunction:
        """The function for numba code; see NativeCalls.as_numba. If it is not a gradient: `f(x, out)`, or `code = f(x, out)`."""
        from .for_numba import numba_function

        return numba_function(self, self.address, self.user_data, self.kind == "gradient", status)

    def builtin(self, *, negate: bool = False) -> Callable[[np.ndarray], Operand] | Callable[[np.ndarray, np.ndarray], Operand]:
        """A builtin that takes a vector x, for a gradient also an array for it; see compiler.runtime.entries.address_call.

        Args:
            negate: return minus the value, and minus the gradient.
        """
        size, is_gradient = self._known_plan().sizes[0], self.kind == "gradient"
        return address_call.flat_builtin(self.user_data, size, self, with_gradient=is_gradient, negate=negate)

    def __reduce__(self) -> NoReturn:
        raise ArgumentMismatch("a C function cannot be copied or pickled, as it is an address in this process",
                               fix="pickle the tape and call c_function() there, or with_constants() here")  # fmt: skip

    def _known_plan(self) -> Plan:
        if self._plan is None:
            raise ArgumentMismatch("the arguments of this C function are not known", fix="c_function(kind, *args)")
        return self._plan

    def _fitted(self, constants: Sequence[Operand]) -> list[np.ndarray]:
        """Convert the constants to the recorded types; those inside other containers stay as they are."""
        signature = self._known_plan().signature
        places = signature.constant_arguments
        if len(constants) != len(places):
            raise ArgumentMismatch("another number of constants", got=f"{len(places)} wanted, {len(constants)} given")
        values = dict(enumerate(signature.values)) | signature.inputs_among(places, constants)
        return [_fitted(values[k], signature.types[k]) for k in signature.constants]

    def _use(self, values: Sequence[Operand], *, copy: bool = True) -> None:
        """Make calls read these numbers."""
        signature = self._known_plan().signature
        dtypes = [widened(signature.types[k]).dtype for k in signature.constants]
        made = address_call.constant_words(
            [np.array(v, dtype, order="C") if copy else np.require(v, dtype, ["C", "A"]) for v, dtype in zip(values, dtypes)]
        )
        # The old numbers stay for calls that are under way.
        self._constants = [*self._constants[-1:], made]
        self._words[address_call.CONSTANTS_WORD] = made.address


def _fitted(given: Operand, recorded: ValueType) -> np.ndarray:
    array = np.asarray(given)
    if array.shape != recorded.shape or not np.can_cast(array.dtype, recorded.dtype, "safe"):
        raise ArgumentMismatch("an array is of another type than recorded",
                               got=f"recorded {recorded}, given {ValueType(array.shape, array.dtype)}")  # fmt: skip
    return array.astype(recorded.dtype, copy=False)


def c_function(tape: Owner, kind: str, args: Sequence[Tree], argnums: Argnums | None) -> CFunction:
    """See NativeCalls.c_function."""
    if argnums is not None:
        argnums = beside_outputs(tape, args, argnums)
    if kind not in KINDS:
        raise ArgumentMismatch("there is no such kind of C function", got=repr(kind), fix=f"one of {', '.join(KINDS)}")
    errors = tape._native_side().errors
    if hasattr(tape, "answer_kind"):
        return CFunction(kind, guarded_plan(tape, kind, args, argnums), errors) if args else LazyFunction(tape, kind)
    signature = of_tape(tape.tape, args)
    chosen = _chosen(signature, kind, argnums, tape.name)
    wrt = tuple([k for k in inputs_of(tape.tape, chosen) if not signature.is_constant[k]])
    call = compiled_call(tape, Kind(kind, chosen, wrt))
    _require_floats(signature, call, call.outputs)
    return CFunction(kind, Plan(call, signature, kind == "gradient"), errors)


def vector_function(tape: Owner, shape: tuple[int, ...] | None) -> CFunction:
    """The gradient of a GuardedTape by one vector; of that of the first call if `shape` is None."""
    if shape is None:
        return LazyFunction(tape, "gradient", is_of_one_size=True)
    return CFunction("gradient", Plan(*vector_call(tape, shape), is_gradient=True), tape._native_side().errors)


def guarded_plan(tape: Owner, kind: str, args: Sequence[Tree], argnums: object) -> Plan:
    """The plan for calls of a GuardedTape like f(*args), which are run to find the types of the results."""
    recorded = tape.recorded_at(args)
    call = tape.keyed(args, ())
    signature = of_call(call.bound, call.key)
    chosen = _chosen(signature, kind, argnums, tape.name)
    call = tape.keyed(args, chosen)
    made = Kind(kind, chosen, call.bound.argnums)
    vectors, outputs = made.types(recorded, signature.types)
    found = paths_call(tape, signature, made, floated(outputs), floated(vectors))
    _require_floats(signature, found, vectors)
    return Plan(found, signature, kind == "gradient")


def _chosen(signature: Signature, kind: str, argnums: object, name: str) -> tuple[int, ...]:
    """The arguments to differentiate by: all that are in x, unless given."""
    if kind == "value":
        return ()
    count = len(signature.in_arguments)
    if argnums is None:
        return signature.active_arguments
    if kind == "gradient":
        raise ArgumentMismatch("the C function of a gradient is by all arguments in x", got=f"argnums={argnums!r}",
                               fix="give the others as td.Constant(...)")  # fmt: skip
    chosen = chosen_arguments(argnums, count, name)[0]
    if any(k in signature.constant_arguments for k in chosen):
        raise ArgumentMismatch("a constant has no derivative", got=f"argnums={argnums!r}", fix="leave td.Constant out")
    return chosen


def _require_floats(signature: Signature, call: AddressedCall, others: Sequence[ValueType]) -> None:
    """Raise unless x and out can hold arguments and results."""
    in_x = [t for t, is_constant in zip(signature.types, signature.is_constant) if not is_constant]
    if any(t.dtype != FLOAT64 for t in (*in_x, *others)) or len(call.inputs) + len(call.outputs) > MOST_ARGUMENTS:
        raise ArgumentMismatch(
            "a C function takes and returns float64 numbers", got=f"{', '.join(map(str, call.inputs))} -> {', '.join(map(str, others))}",
            fix="mark other arguments td.Constant(...), and return floats",
        )  # fmt: skip


# A GuardedTape with unknown arguments


class LazyFunction(CFunction):
    """The C function of a GuardedTape of one vector, whose plans are made by its calls: one for each pair of sizes of x and out.

    Args:
        is_of_one_size: calls of other sizes than the first are refused.
    """

    def __init__(self, tape: Owner, kind: str, *, is_of_one_size: bool = False) -> None:
        super().__init__(kind, None, tape._native_side().errors)
        self._tape, self._is_of_one_size = tape, is_of_one_size
        self._plans: dict[tuple[int, int], Plan] = {}
        number, callback = toolchain.number(LazyFunction, self), callback_address(_plan_for, ("i64", "i64", "ptr", "i64", "ptr"), "i32")
        self._words[address_call.DATA_ID : address_call.DATA_CALLBACK + 1] = number, callback

    def plan_for(self, n: int, x: int, m: int, data: int) -> int:
        """Store the plan for these sizes in the last argument of the C function. Called by native code."""
        try:
            plan = self._plans.get((n, m)) or self._plans.setdefault((n, m), self._new_plan(n, x, m))
        except BaseException as raised:  # noqa: BLE001 -- kept for take_error
            return keep_error(self._errors, raised)
        ctypes.c_int64.from_address(data + 8 * address_call.PLAN_WORD).value = plan.words.address
        return address_call.PLANNED

    def _new_plan(self, n: int, x: int, m: int) -> Plan:
        """The plan for these sizes; it may depend on the path at x."""
        if self._is_of_one_size:
            if self._plans and (n, m) not in self._plans:  # another thread may have made it
                raise OtherResults("x has another size than in the first call", got=str(n))
            return Plan(*vector_call(self._tape, (n,)), is_gradient=True)
        size = {"value": n, "gradient": n, "vjp": m}.get(self.kind, n // 2)
        point = copy_at(x, ValueType((min(size, n),), FLOAT64))
        plan = guarded_plan(self._tape, self.kind, (point,), None)
        if plan.sizes != (n, m):
            raise OtherResults("x and out have other sizes than arguments and results",
                               got=f"{(n, m)}, where the function has {plan.sizes}")  # fmt: skip
        return plan


def _plan_for(number: int, n: int, x: int, m: int, data: int) -> int:
    """Called by native code; see LazyFunction.plan_for."""
    return toolchain.numbered(LazyFunction, number).plan_for(n, x, m, data)
