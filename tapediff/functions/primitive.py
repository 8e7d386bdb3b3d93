"""Primitives: functions that tapediff does not look into, with derivative rules given by the user.

Both the function and its rule run again at every replay: nothing of them is frozen into a tape. Inside a kernel, functions that
numba has compiled are called directly; others are called back in Python, which takes the interpreter lock.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.runtime.status import WRONG_RESULT
from ..errors import ArgumentMismatch, InvalidRule, UnsupportedFunction
from ..ir.instruction import BOOL, FLOAT64, INT64, ValueType, is_tracked
from ..ops.calls import CALL, GET
from .callee import Callee
from .pickling import Portable, found, place_of
from .pytree import TreeDef, describe_treedef, flatten, has_only_tuples, packed, paths, unflatten
from .subtape import as_operand, items_of, type_of

if TYPE_CHECKING:
    from ..compiler.runtime.call_frame import ArgumentLayout
    from ..compiler.runtime.native_callee import NativeKernel


class Primitive:
    """A function with a derivative rule of its own; see td.primitive."""

    def __init__(
        self, forward: Callable[..., Any], backward: Callable[..., Any] | None, name: str | None, compiled: bool | None
    ) -> None:
        functools.update_wrapper(self, _python(forward))
        self.forward, self._backward = forward, backward
        self.name = name or getattr(_python(forward), "__name__", type(forward).__name__)
        self.compiled = compiled
        self._callees: dict[Any, _Forward] = {}

    def backward(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Give the derivative rule, as a decorator: backward(saved, cotangents) -> cotangents of the arguments."""
        self._backward = rule
        self._callees.clear()
        return rule

    @property
    def rule(self) -> Callable[..., Any]:
        """The derivative rule.

        Raises:
            InvalidRule: there is none.
        """
        if self._backward is None:
            raise InvalidRule(
                f"{self.name} has no derivative rule", fix=f"give one: @{self.name}.backward, or td.primitive(f, rule)"
            )
        return self._backward

    @property
    def is_compiled(self) -> bool:
        """Whether kernels call it without Python."""
        if self.compiled is not None:
            return self.compiled
        return _is_dispatcher(self.forward) and (self._backward is None or _is_dispatcher(self._backward))

    def __call__(self, *args: Any) -> Any:
        """The outputs of forward(*args); one instruction where an argument is tracked."""
        leaves, treedef = flatten(args, arguments=True)
        if not any(map(is_tracked, leaves)):
            return _own(_pair(self.name, self.forward(*args))[0])
        operands = [as_operand(leaf) for leaf in leaves]
        types = tuple(map(type_of, operands))
        callee = self._callees.get((treedef, types))
        if callee is None:
            callee = self._callees[treedef, types] = _Forward(self, treedef, types)
        returned = CALL(*operands, callee=callee)
        assert callee.results is not None, "the call has run"
        return unflatten(callee.results, items_of(returned, callee.output_count))

    def __copy__(self) -> Primitive:
        return self

    def __deepcopy__(self, _: Any) -> Primitive:
        return self

    def __reduce__(self) -> Any:
        place = place_of(self)
        if place is not None and found(*place) is self:
            return found, place
        return Primitive, (Portable(self.forward), Portable(self._backward), self.name, self.compiled)

    def __repr__(self) -> str:
        return f"<Primitive {self.name}>"


def primitive(
    forward: Callable[..., Any] | None = None, backward: Callable[..., Any] | None = None, *, name: str | None = None,
    compiled: bool | None = None,
) -> Any:  # fmt: skip
    """Make a function with a derivative rule of your own: tapediff does not look into either.

    Args:
        forward: forward(*args) -> (outputs, saved). Arrays and numbers, and tuples, lists and dicts of these; `saved` is what the rule
            needs. The shapes and dtypes of the results must depend on those of the arguments only.
        backward: backward(saved, cotangents) -> cotangents, one for each argument, in a tuple where there are several. `cotangents`
            has the structure of the outputs. None stands for zero. May be given later: @f.backward.
        name: what messages call the function.
        compiled: True: numba compiles both, and kernels call them without Python. False: they are called back in Python. Unless given,
            they are compiled if they are numba functions already.

    Returns:
        A function of the same arguments that returns the outputs. Both functions run again at every replay.

    Raises:
        InvalidRule: results of another number, shape or structure than the arguments call for, naming the rule.

    Cost: compiled, that of the functions; in Python, about 10 µs a call and direction besides, under the interpreter lock.
    """
    if forward is None:
        return lambda function: primitive(function, backward, name=name, compiled=compiled)
    if not callable(forward) or (backward is not None and not callable(backward)):
        raise ArgumentMismatch(
            "td.primitive takes functions", got=type(forward).__name__, fix="td.primitive(forward, backward)"
        )
    return Primitive(forward, backward, name, compiled)


class _Python(Callee):
    """A callee whose one variant is a Python function of arrays.

    Attributes:
        function: what runs.
        is_pure: equal inputs may give different results, so calls are never shared.
    """

    is_pure = False

    def __init__(
        self, name: str, function: Callable[..., Any], in_types: Sequence[ValueType], is_compiled: bool
    ) -> None:
        super().__init__(name, in_types, is_compiled=is_compiled)
        self.function = function

    def results_of(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        raise NotImplementedError

    def answer(self, number: int | None, inputs: Sequence[Any]) -> tuple[list[Any], int]:
        results = self.results_of([_read_only(value, type_) for value, type_ in zip(inputs, self.in_types)])
        return [value[()] for value in results], 0

    def missed(self, number: int | None, miss: Any, inputs: Sequence[Any]) -> int:
        return 0

    def may_compile(self, number: int) -> bool:
        return True

    def loop_kernel(self, number: int, layout: ArgumentLayout) -> Callable[[], NativeKernel]:
        from ..compiler.runtime.numba_functions import NumbaCall

        return lambda: NumbaCall(self)

    def native_layout(self, names: list[str]) -> tuple[list[str], list[str | None]]:
        """The function's arguments as expressions of the inputs' names, and where each result is in what it returns."""
        raise NotImplementedError

    def failed(self, status: int) -> Exception:
        """What a status means that only compiled primitives return."""
        if status == WRONG_RESULT:
            return InvalidRule(
                f"{self.name} returned an array of another shape than before for arguments of the same types",
                fix="let shapes depend on those of the arguments only",
            )
        return InvalidRule(
            f"{self.name} raised an exception in compiled code, which cannot hand it on",
            fix="see which one with td.primitive(..., compiled=False)",
        )


class _Forward(_Python):
    """The forward function for arguments of certain types; its results are the outputs and then what is saved."""

    def __init__(self, owner: Primitive, treedef: TreeDef, types: Sequence[ValueType]) -> None:
        super().__init__(owner.name, owner.forward, types, owner.is_compiled)
        self.owner, self.treedef = owner, treedef
        self.results: TreeDef | None = None
        self.saved: TreeDef | None = None
        self.output_count = 0
        self._rule: _Backward | None = None

    def __reduce__(self) -> Any:
        names = ("results", "saved", "output_count", "out_types")
        return _Forward, (self.owner, self.treedef, self.in_types), {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def results_of(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        outputs, saved = _pair(self.name, _python(self.function)(*unflatten(self.treedef, inputs)))
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

    def call_rule(self, z_bars: Sequence[Any], z: Any, inputs: Sequence[Any], active: Sequence[bool]) -> list[Any]:
        """The reverse pass of a call: another call, of the rule."""
        back = _rule_of(self)
        saved = [GET(z, k=k) for k in range(self.output_count, len(self.out_types))]
        bars = [
            np.zeros(t.shape) if bar is None else bar
            for bar, t in zip(z_bars[: self.output_count], self.out_types) if t.is_float
        ]  # fmt: skip
        returned = CALL(*saved, *bars, callee=back)
        wanted = iter(range(len(back.out_types)))
        return [GET(returned, k=next(wanted)) if t.is_float else None for t in self.in_types]


class _Backward(_Python):
    """The rule: from what was saved and the cotangents of the float outputs to those of the float arguments."""

    def __init__(self, forward: _Forward) -> None:
        outputs = forward.out_types[: forward.output_count]
        self.forward = forward
        self.saved_count = len(forward.out_types) - forward.output_count
        types = (*forward.out_types[forward.output_count :], *(t for t in outputs if t.is_float))
        super().__init__(f"the rule of {forward.name}", forward.owner.rule, types, forward.is_compiled)
        self.out_types = tuple(t for t in forward.in_types if t.is_float)
        # What the rule returned when it last ran in Python: its structure, and whether that is a tuple of cotangents.
        self.returned: Any = None
        self.is_tuple = True

    def __reduce__(self) -> Any:
        return _rule_of, (self.forward,)

    def missed(self, number: int | None, miss: Any, inputs: Sequence[Any]) -> int:
        if self.returned is None:
            self.answer(None, inputs)
        return 0

    def results_of(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        forward = self.forward
        assert forward.saved is not None
        assert forward.results is not None
        saved = unflatten(forward.saved, inputs[: self.saved_count])
        bars = iter(inputs[self.saved_count :])
        outputs = forward.out_types[: forward.output_count]
        cotangents = unflatten(forward.results, [next(bars) if t.is_float else np.zeros(t.shape)[()] for t in outputs])
        return self.checked(_python(self.function)(saved, cotangents))

    def native_layout(self, names: list[str]) -> tuple[list[str], list[str | None]]:
        forward = self.forward
        assert forward.saved is not None
        assert forward.results is not None
        saved, bars = names[: self.saved_count], iter(names[self.saved_count :])
        outputs = forward.out_types[: forward.output_count]
        cotangents = [next(bars) if t.is_float else ("0.0" if not t.shape else "None") for t in outputs]
        for treedef in (self.returned, *forward.treedef.parts):
            _require_tuples(self.name, treedef)
        return [packed(forward.saved, saved), packed(forward.results, cotangents)], self._result_paths()

    def _result_paths(self) -> list[str | None]:
        types = iter(self.forward.in_types)
        result: list[str | None] = []
        for position, argument in enumerate(self.forward.treedef.parts):
            place = f"[{position}]" if self.is_tuple else ""
            given = self.returned.parts[position] if self.is_tuple else self.returned
            expected = [next(types) for _ in range(_count(argument))]
            found = [f"{place}{path}" for path in paths(given)] or [None] * len(expected)
            result += [path for path, type_ in zip(found, expected) if type_.is_float]
        return result

    def checked(self, returned: Any) -> list[np.ndarray]:
        """The cotangents of the float arguments, of the right number and shapes."""
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
            expected = [next(types) for _ in range(_count(treedef))]
            result += self._argument(position, value, treedef, expected)
        return result

    def _argument(self, position: int, value: Any, treedef: TreeDef, expected: list[ValueType]) -> list[np.ndarray]:
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

    def call_rule(self, *_: Any) -> Any:
        raise UnsupportedFunction(
            f"a second derivative through {self.name}, which tapediff does not look into",
            fix="write the function with NumPy operations, or give its gradient as a primitive of its own",
        )


def _rule_of(forward: _Forward) -> _Backward:
    if forward._rule is None:
        forward._rule = _Backward(forward)
    return forward._rule


def _require_tuples(name: str, treedef: TreeDef) -> None:
    if not has_only_tuples(treedef):
        raise InvalidRule(
            f"{name} is compiled, and takes or returns something else than arrays in tuples", got=describe_treedef(treedef),
            fix="use tuples, or leave compiled=True out",
        )  # fmt: skip


def _count(treedef: TreeDef) -> int:
    return 1 if treedef.kind is None else sum(map(_count, treedef.parts))


def _pair(name: str, result: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise InvalidRule(
            f"{name} must return (outputs, saved)",
            got=type(result).__name__,
            fix="return outputs, None where nothing is saved",
        )
    return result


def _own(outputs: Any) -> Any:
    """The outputs in arrays of their own, as in a tape: they may be arguments, or what the function keeps."""
    leaves, treedef = flatten(outputs)
    return unflatten(treedef, [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves])


def _as_array(name: str, leaf: Any) -> np.ndarray:
    array = np.array(leaf)
    if array.dtype.kind not in "fiub":
        raise InvalidRule(
            f"{name} returned something that is no real array", got=str(array.dtype), fix="return float arrays"
        )
    dtype = {"f": FLOAT64, "b": BOOL}.get(array.dtype.kind, INT64)
    return array.astype(array.dtype if array.dtype == np.float32 else dtype, order="C")


def _read_only(value: Any, type_: ValueType) -> Any:
    """An input as the user's function sees it: NumPy numbers, and arrays that it cannot write to."""
    array = np.asarray(value, type_.dtype)
    if not array.shape:
        return array[()]
    array = array.view()
    array.flags.writeable = False
    return array


def _is_dispatcher(function: Any) -> bool:
    return hasattr(function, "py_func")


def _python(function: Any) -> Any:
    return getattr(function, "py_func", function)
