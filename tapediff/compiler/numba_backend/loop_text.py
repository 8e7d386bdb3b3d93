"""A loop of a callee as a numba function: its carries in two arrays in turn, its streams and results by slices."""

from __future__ import annotations

from ...ir.instruction import DynamicArrayType, ValueType
from ...ops.control.loop_forms import LoopForm
from ..loop_ir.program import KINDS, Invoke
from ..runtime.callees.native_callee import NativeCallee
from .function_text import DTYPES

# Entries that there is room for at first, when nobody knows how long a loop will run.
FIRST_ENTRIES = 64


def loop_function(name: str, item: Invoke, call: str, limit: tuple[int, int]) -> str:
    """The text of a loop's function.

    Args:
        item: a loop.
        call: the function that runs one iteration.
        limit: how many iterations it may take, and the number of that limit.

    Returns:
        A function of the loop's operands and those items that are arrays; it returns its status and those items that are not.
    """
    return _LoopText(name, item, call, limit).text()


class _LoopText:
    def __init__(self, name: str, item: Invoke, call: str, limit: tuple[int, int]) -> None:
        self.function_name, self.call, self.limit = name, call, limit
        self.callee: NativeCallee = item.params[0]
        self.form: LoopForm = item.params[1]
        form, callee = self.form, self.callee
        self.in_types = list(callee.in_types)
        last = len(callee.out_types) - int(form.stops)
        self.y_types = list(callee.out_types[form.carries : last])
        self.carry_types = self.in_types[: form.carries]
        # In the order of the loop's items: see LoopForm.
        self.names = [f"final{k}" for k in range(form.carries)] + [f"y{k}" for k in range(len(self.y_types))]
        self.names += ["steps"] * form.stops + ["numbers"] * form.returns_variants
        self.names += [f"kept{k}" for k in range(form.carries)] if form.saves_carries else []
        self.stacks = [name for name, type_ in zip(self.names, item.types[1]) if isinstance(type_, DynamicArrayType)]
        self.arrays = [name for name in self.names if name not in self.stacks]

    @property
    def entry_types(self) -> dict[str, ValueType | None]:
        """Of the items that have one entry for each iteration; None for a variant number."""
        found: dict[str, ValueType | None] = {f"y{k}": type_ for k, type_ in enumerate(self.y_types)}
        if self.form.returns_variants:
            found["numbers"] = None
        if self.form.saves_carries:
            found |= {f"kept{k}": type_ for k, type_ in enumerate(self.carry_types)}
        return found

    def text(self) -> str:
        form = self.form
        leading = ["chosen"] * form.variant_given + (["count"] if form.length is None else [])
        parameters = [*leading, *(f"x{k}" for k in range(len(self.in_types))), *self.arrays, "note", "report"]
        way = " from the last iteration to the first" if form.backwards else ""
        lines = [f'"""A loop of {self.call}{way}"""', *self._begin()]
        head = "while goes:" if form.stops else self._range()
        lines += [head, *("    " + line for line in self._iteration()), *self._end()]
        returned = f"return {', '.join(['0', *self._whole_stacks()])}"
        definition = f"def {self.function_name}({', '.join(parameters)}):"
        return "\n".join(["@inner", definition, *("    " + line for line in [*lines, returned])])

    def _leave(self, status: str) -> str:
        return f"return {', '.join([status, *self.stacks])}"

    # Before the iterations

    def _begin(self) -> list[str]:
        form = self.form
        lines = [] if form.variant_given else ["ran = np.zeros(1, np.int64)"]
        for k, type_ in enumerate(self.carry_types):
            lines += [f"carry{k}, next{k} = np.empty({_size(type_)}, {_dtype(type_)}), np.empty({_size(type_)}, {_dtype(type_)})"]
            lines += [f"put(carry{k}, 0, x{k}, {_size(type_)})"]
        if form.stops:
            lines += ["goes_on = np.ones(1, np.bool_)", "goes, t = count[0], 0"]
        elif form.length is None:
            lines.append("length = max(0, count[0])")
        room = str(FIRST_ENTRIES) if form.stops else "length"
        if self.stacks:
            if form.length is None and not form.stops:
                lines += self._check_limit("length >", "length", [f"{name} = {self._room(name, '0')}" for name in self.stacks])
            lines += [f"{name} = {self._room(name, room)}" for name in self.stacks]
            lines += [f"room = {room}"] * form.stops
        return lines

    def _room(self, name: str, entries: str) -> str:
        type_ = self.entry_types[name]
        return f"np.empty({_times(entries, _size(type_))}, {_dtype(type_)})"

    def _check_limit(self, test: str, steps: str, before: list[str]) -> list[str]:
        """Leave where there are more iterations than allowed."""
        most, number = self.limit
        lines = [*before, f"note[2], note[3] = {number}, {steps}", self._leave("TOO_LONG")]
        return [f"if {test} {most}:", *("    " + line for line in lines)]

    def _range(self) -> str:
        length = "length" if self.form.length is None else str(self.form.length)
        return f"for t in range({length} - 1, -1, -1):" if self.form.backwards else f"for t in range({length}):"

    # One iteration

    def _iteration(self) -> list[str]:
        form = self.form
        lines = []
        if form.stops:
            lines += self._check_limit("t >=", "t", [])
            if self.stacks:
                grown = [f"    {n} = longer({n}, {_times('room', _size(self.entry_types[n]))})" for n in self.stacks]
                lines += ["if t == room:", "    room *= 2", *grown]
        if form.saves_carries:
            lines += [f"put(kept{k}, {_times('t', _size(t))}, carry{k}, {_size(t)})" for k, t in enumerate(self.carry_types)]
        inputs = [f"carry{k}" for k in range(form.carries)]
        for k in range(form.carries, len(self.in_types)):
            is_stream = k < form.carries + form.streams
            inputs.append(_entry(f"x{k}", self.in_types[k]) if is_stream else f"x{k}")
        outputs = [f"next{k}" for k in range(form.carries)]
        outputs += [_entry(f"y{k}", type_) for k, type_ in enumerate(self.y_types)] + ["goes_on"] * form.stops
        first = "chosen[t]" if form.variant_given else "ran"
        lines.append(f"status = {self.call}({', '.join([first, *inputs, *outputs, 'note', 'report'])})")
        lines += ["if status != 0:", f"    {self._leave('status')}"]
        if form.returns_variants:
            lines.append("numbers[t] = ran[0]")
        lines += [f"carry{k}, next{k} = next{k}, carry{k}" for k in range(form.carries)]
        return lines + (["t += 1", "goes = goes_on[0]"] if form.stops else [])

    # After them

    def _end(self) -> list[str]:
        lines = [f"put(final{k}, 0, carry{k}, {_size(type_)})" for k, type_ in enumerate(self.carry_types)]
        return [*lines, "steps[0] = t"] if self.form.stops else lines

    def _whole_stacks(self) -> list[str]:
        if not self.form.stops:
            return self.stacks
        return [f"{name}[: {_times('t', _size(self.entry_types[name]))}]" for name in self.stacks]


def _size(type_: ValueType | None) -> int:
    return 1 if type_ is None else type_.size


def _dtype(type_: ValueType | None) -> str:
    return DTYPES["i64" if type_ is None else KINDS[type_.dtype.kind]]


def _times(entries: str, size: int) -> str:
    return entries if size == 1 else f"{entries} * {size}"


def _entry(name: str, type_: ValueType) -> str:
    size = type_.size
    return f"{name}[t : t + 1]" if size == 1 else f"{name}[t * {size} : t * {size} + {size}]"
