"""The callees of a user's primitive: its forward function and its derivative rule, for arguments of certain types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ...compiler.runtime.status import WRONG_RESULT
from ...errors import InvalidRule, UnsupportedFunction
from ...ir.instruction import BOOL, FLOAT64, INT64, Operand, Tree, ValueType
from ...ir.interpreter import GuardFailure
from ...ir.pytree import TreeDef, count_leaves, describe_treedef, flatten, has_only_tuples, packed, paths, unflatten
from ...ops.control.calls import CALL, GET
from .callee import Callee

if TYPE_CHECKING:
    from ...compiler.runtime.call_frame import ArgumentLayout
    from ...compiler.runtime.callees.native_callee import NativeKernel


class UserFunctions(Protocol):
    """A function with a user-defined derivative rule: a Primitive."""

    name: str
    forward: Callable[..., object]
    second: Callable[..., list[Operand]] | None

    @property
    def rule(self) -> Callable[..., object]: ...

    @property
    def is_compiled(self) -> bool: ...


class PythonCallee(Callee):
    """A callee whose one variant is a Python function of arrays.

    Attributes:
        function: the Python function, or its numba dispatcher.
        is_pure: equal inputs may give different results, so calls are never shared.
    """

    is_pure = False

    def __init__(
        self, name: str, function: Callable[..., object], in_types: Sequence[ValueType], is_compiled: bool
    ) -> None:
        super().__init__(name, in_types, is_compiled=is_compiled)
        self.function = function

    def results_of(self, inputs: Sequence[Operand]) -> list[np.ndarray]:
        raise NotImplementedError

    def answer(self, number: int | None, inputs: Sequence[Operand]) -> tuple[list[Operand], int]:
        results = self.results_of([_read_only(value, type_) for value, type_ in zip(inputs, self.in_types)])
        return [value[()] for value in results], 0

    def loop_kernel(self, number: int, layout: ArgumentLayout) -> Callable[[], NativeKernel]:
        from ...compiler.runtime.callees.numba_functions import NumbaCall

        return lambda: NumbaCall(self)

    def native_layout(self, names: list[str]) -> tuple[list[str], list[str | None]]:
        """The function's arguments as expressions of the inputs' names, and the position of each result in its return value."""
        raise NotImplementedError

    def failed(self, status: int) -> Exception:
        """The exception for a status that only compiled primitives return."""
        if status == WRONG_RESULT:
            return InvalidRule(
                f"{self.name} returned an array of another shape than before for arguments of the same types",
                fix="let shapes depend on those of the arguments only",
            )
        return InvalidRule(
            f"{self.name} raised an exception in compiled code, which cannot hand it on",
            fix="see which one with td.primitive(..., compiled=False)",
        )


class ForwardCallee(PythonCallee):
    """The forward function for given argument types; its results are the outputs, then the saved values."""

    def __init__(self, owner: UserFunctions, treedef: TreeDef, types: Sequence[ValueType]) -> None:
        super().__init__(owner.name, owner.forward, types, owner.is_compiled)
        self.owner, self.treedef = owner, treedef
        self.results: TreeDef | None = None
        self.saved: TreeDef | None = None
        self.output_count = 0
        self._rule: BackwardCallee | None = None

    def __reduce__(self) -> tuple[object, ...]:
        names = ("results", "saved", "output_count", "out_types")
        return ForwardCallee, (self.owner, self.treedef, self.in_types), {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)

    def declare(self, types: ValueType | tuple[ValueType, ...]) -> None:
        """Declare the result type, or a tuple of types, before the first run. Nothing is saved for the rule."""
        is_tuple = not isinstance(types, ValueType)
        self.out_types = types if is_tuple else (types,)
        self.results = flatten(tuple(0.0 for _ in types) if is_tuple else 0.0)[1]
        self.saved, self.output_count = flatten(None)[1], len(self.out_types)

    def results_of(self, inputs: Sequence[Operand]) -> list[np.ndarray]:
        outputs, saved = outputs_and_saved(self.name, python_function(self.function)(*unflatten(self.treedef, inputs)))
        leaves, results = flatten(outputs)
        saved_leaves, saved_treedef = flatten(saved)
        arrays = [_as_array(self.name, leaf) for leaf in (*leaves, *saved_leaves)]
        types = tuple(ValueType(a.shape, a.dtype) for a in arrays)
        if self.results is None:
            self.results, self.saved, self.output_count, self.out_types = results, saved_treedef, len(leaves), types
        elif (types, results, saved_treedef) != (self.out_types, self.results, self.saved):
            raise InvalidRule(
                f"{self.name} returned results of other types than before for arguments of the same types",
                got=f"{', '.join(map(str, types))}, before {', '.join(map(str, self.out_types))}",
                fix="let shapes and dtypes depend on those of the arguments only",
            )
        return arrays

    def native_layout(self, names: list[str]) -> tuple[list[str], list[str | None]]:
        assert self.results is not None
        assert self.saved is not None
        for treedef in (self.results, self.saved, *self.treedef.parts):
            _require_tuples(self.name, treedef)
        arguments = [packed(part, names) for part in self.treedef.parts]
        return arguments, [*paths(self.results, "[0]"), *paths(self.saved, "[1]")]

    def call_rule(self, z_bars: Sequence[Operand], z: Operand, inputs: Sequence[Operand], active: Sequence[bool]) -> list[Operand]:
        """The reverse pass of a call: a call of the rule."""
        back = _rule_of(self)
        # A rule with a derivative saves the arguments, of which the derivative is then asked, not of what was saved.
        is_twice = self.owner.second is not None
        saved = [*inputs] if is_twice else [GET(z, k=k) for k in range(self.output_count, len(self.out_types))]
        return _called(back, saved, z_bars[: self.output_count], self)


class BackwardCallee(PythonCallee):
    """The rule: maps saved values and cotangents of the float outputs to cotangents of the float arguments."""

    def __init__(self, forward: ForwardCallee) -> None:
        outputs = forward.out_types[: forward.output_count]
        self.forward = forward
        self.saved_count = len(forward.out_types) - forward.output_count
        types = (*forward.out_types[forward.output_count :], *(t for t in outputs if t.is_float))
        super().__init__(f"the rule of {forward.name}", forward.owner.rule, types, forward.is_compiled)
        self.out_types = tuple(t for t in forward.in_types if t.is_float)
        # The treedef of the rule's last result in Python; True if that is a tuple of cotangents.
        self.returned: TreeDef | None = None
        self.is_tuple = True

    def __reduce__(self) -> tuple[object, ...]:
        return _rule_of, (self.forward,)

    def missed(self, number: int | None, miss: GuardFailure | None, inputs: Sequence[Operand]) -> int:
        if self.returned is None:
            self.answer(None, inputs)
        return 0

    def results_of(self, inputs: Sequence[Operand]) -> list[np.ndarray]:
        forward = self.forward
        assert forward.saved is not None
        assert forward.results is not None
        saved = unflatten(forward.saved, inputs[: self.saved_count])
        bars = iter(inputs[self.saved_count :])
        outputs = forward.out_types[: forward.output_count]
        cotangents = unflatten(forward.results, [next(bars) if t.is_float else np.zeros(t.shape)[()] for t in outputs])
        return self.checked(python_function(self.function)(saved, cotangents))

    def native_layout(self, names: list[str]) -> tuple[list[str], list[str | None]]:
        forward = self.forward
        assert forward.saved is not None
        assert forward.results is not None
        saved, bars = names[: self.saved_count], iter(names[self.saved_count :])
        outputs = forward.out_types[: forward.output_count]
        cotangents = [next(bars) if t.is_float else ("0.0" if not t.shape else "None") for t in outputs]
        assert self.returned is not None, "the rule has run in Python"
        for treedef in (self.returned, *forward.treedef.parts):
            _require_tuples(self.name, treedef)
        return [packed(forward.saved, saved), packed(forward.results, cotangents)], self._result_paths()

    def _result_paths(self) -> list[str | None]:
        assert self.returned is not None
        types = iter(self.forward.in_types)
        result: list[str | None] = []
        for position, argument in enumerate(self.forward.treedef.parts):
            place = f"[{position}]" if self.is_tuple else ""
            given = self.returned.parts[position] if self.is_tuple else self.returned
            expected = [next(types) for _ in range(count_leaves(argument))]
            found = [f"{place}{path}" for path in paths(given)] or [None] * len(expected)
            result += [path for path, type_ in zip(found, expected) if type_.is_float]
        return result

    def checked(self, returned: Tree) -> list[np.ndarray]:
        """Return the cotangents of the float arguments, checked for number and shapes."""
        forward = self.forward
        arguments = forward.treedef.parts
        self.returned = flatten(returned)[1]
        self.is_tuple = len(arguments) != 1 or (isinstance(returned, tuple) and len(returned) == 1)
        if not self.is_tuple:
            returned = (returned,)
        if not isinstance(returned, (tuple, list)) or len(returned) != len(arguments):
            count = len(returned) if isinstance(returned, (tuple, list)) else 1
            raise InvalidRule(
                f"{self.name} must return one cotangent for each of the {len(arguments)} arguments", got=str(count),
                fix="return a tuple with one entry per argument; None where there is no derivative",
            )  # fmt: skip
        types = iter(forward.in_types)
        result: list[np.ndarray] = []
        for position, (value, treedef) in enumerate(zip(returned, arguments)):
            expected = [next(types) for _ in range(count_leaves(treedef))]
            result += self._argument(position, value, treedef, expected)
        return result

    def _argument(self, position: int, value: Tree, treedef: TreeDef, expected: list[ValueType]) -> list[np.ndarray]:
        if value is None:
            return [np.zeros(t.shape, t.dtype) for t in expected if t.is_float]
        leaves, found = flatten(value)
        if len(leaves) != len(expected):
            raise InvalidRule(
                f"{self.name} returned a cotangent of another structure than argument {position}",
                got=f"{describe_treedef(found)} for {describe_treedef(treedef)}", fix="return the argument's structure",
            )  # fmt: skip
        arrays = []
        for leaf, type_ in zip(leaves, expected):
            if not type_.is_float:
                continue
            array = np.array(leaf, dtype=type_.dtype)
            if array.shape != type_.shape:
                raise InvalidRule(
                    f"{self.name} returned a cotangent of another shape than argument {position}",
                    got=f"{array.shape} for {type_.shape}", fix="sum over broadcast axes, and return the argument's shape",
                )  # fmt: skip
            arrays.append(array)
        return arrays

    def call_rule(self, z_bars: Sequence[Operand], z: Operand, inputs: Sequence[Operand], active: Sequence[bool]) -> list[Operand]:
        if self.forward.owner.second is None:
            raise UnsupportedFunction(
                f"td.jvp or a second derivative through {self.name}, which tapediff does not look into",
                fix="write the function with NumPy operations, or its gradient as a primitive of its own; td.vjp and td.jacrev work",
            )
        return _called(SecondCallee(self), inputs, z_bars, self)


class SecondCallee(PythonCallee):
    """The derivative of a rule: maps its inputs and cotangents of its results to cotangents of its float inputs, all as arrays."""

    def __init__(self, rule: BackwardCallee) -> None:
        second = rule.forward.owner.second
        assert second is not None
        super().__init__(f"the derivative of {rule.name}", second, (*rule.in_types, *rule.out_types), False)
        self.rule = rule
        self.out_types = tuple(t for t in rule.in_types if t.is_float)

    def __reduce__(self) -> tuple[object, ...]:
        return SecondCallee, (self.rule,)

    def results_of(self, inputs: Sequence[Operand]) -> list[np.ndarray]:
        count = len(self.rule.in_types)
        found = self.function(inputs[:count], inputs[count:])
        return [np.array(value, dtype=t.dtype) for value, t in zip(found, self.out_types, strict=True)]  # type: ignore[call-overload]

    def call_rule(self, *_: object) -> list[Operand]:
        raise UnsupportedFunction(f"a third derivative through {self.rule.forward.name}, which has two", fix="differences of the second")


def _rule_of(forward: ForwardCallee) -> BackwardCallee:
    if forward._rule is None:
        forward._rule = BackwardCallee(forward)
    return forward._rule


def _called(back: PythonCallee, saved: Sequence[Operand], z_bars: Sequence[Operand], of: PythonCallee) -> list[Operand]:
    """Record a call of the derivative of a callee; cotangents of its inputs, None for those that are not floats."""
    bars = [np.zeros(t.shape) if bar is None else bar for bar, t in zip(z_bars, of.out_types) if t.is_float]
    returned, wanted = CALL(*saved, *bars, callee=back), iter(range(len(back.out_types)))
    return [GET(returned, k=next(wanted)) if t.is_float else None for t in of.in_types]


def _require_tuples(name: str, treedef: TreeDef) -> None:
    if not has_only_tuples(treedef):
        raise InvalidRule(
            f"{name} is compiled, and takes or returns something else than arrays in tuples", got=describe_treedef(treedef),
            fix="use tuples, or leave compiled=True out",
        )  # fmt: skip


def outputs_and_saved(name: str, result: Tree) -> tuple[Tree, Tree]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise InvalidRule(
            f"{name} must return (outputs, saved)",
            got=type(result).__name__,
            fix="return outputs, None where nothing is saved",
        )
    return result


def _as_array(name: str, leaf: Operand) -> np.ndarray:
    array = np.array(leaf)
    if array.dtype.kind not in "fiub":
        raise InvalidRule(
            f"{name} returned something that is no real array", got=str(array.dtype), fix="return float arrays"
        )
    dtype = {"f": FLOAT64, "b": BOOL}.get(array.dtype.kind, INT64)
    return array.astype(array.dtype if array.dtype == np.float32 else dtype, order="C")


def _read_only(value: Operand, type_: ValueType) -> Operand:
    """An input as the user's function sees it: NumPy numbers, and arrays that it cannot write to."""
    array = np.asarray(value, type_.dtype)
    if not array.shape:
        return array[()]
    array = array.view()
    array.flags.writeable = False
    return array


def python_function(function: Callable[..., object]) -> Callable[..., Tree]:
    return getattr(function, "py_func", function)
