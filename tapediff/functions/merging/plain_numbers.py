"""Which values of a merged function may be plain numbers in the function itself: Python raises errors where NumPy has inf and NaN."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from ...base.source_location import Site
from ...errors import UnsupportedFunction
from ...ir.instruction import (
    BOOL,
    CONSTANT,
    FLOAT64,
    INPUT,
    INT64,
    NUMBER,
    ONE,
    OWN,
    TWO,
    Instruction,
    Operand,
    ValueType,
)
from ...ops.elementwise.comparison import SELECT
from ...recording.arrays.numbers import LARGEST_INT
from ...recording.arrays.tracked import TrackedArray
from ...recording.instruction_columns import GrowingColumns, float_of
from ...recording.recorder import Recorder
from .rules import Breach, Refused

# Operators, of which plain numbers make plain numbers. NumPy's functions record the same operations.
_OPERATORS = frozenset(
    "add subtract multiply divide negative absolute power integer_power square sqrt reciprocal floor_divide remainder convert".split()
)


def note_plain(value: Operand) -> Operand:
    """Note that a value, which merging made data, may be a plain number; the value."""
    if type(value) is TrackedArray and not value.type.shape:
        value._recorder.plain_numbers[value._id] = True
    return value


def note_chosen(value: Operand, *sides: Operand) -> Operand:
    """Note that a value is chosen from others, so that it may be a plain number if one of them may; the value."""
    if type(value) is TrackedArray:
        recorder, tracked = value._recorder, []
        for side in sides:
            if type(side) is TrackedArray and side._recorder is recorder:
                tracked.append(side._id)
            elif type(side) is not np.float64 and (type(side) is np.int64 or may_be_plain(side)):
                recorder.plain_numbers[value._id] = True
                return value
        # Of these it is found out where it is asked for.
        recorder.chosen_numbers[value._id] = tuple(tracked)
    return value


def may_be_plain(value: Operand) -> bool:
    """Whether a value may be a plain number, which takes that all it is computed from may be."""
    if type(value) is not TrackedArray:
        return type(value) in (float, int, bool)
    known = value._recorder.plain_numbers.get(value._id)
    return number_may_be_plain(value._recorder, value._id) if known is None else known


def is_wide(value: Operand) -> bool:
    """Whether a value is a float64, or an array of them, and surely no plain number."""
    if type(value) is TrackedArray:
        return value.type.dtype == FLOAT64 and (bool(value.type.shape) or not may_be_plain(value))
    return type(value) is np.float64 or (type(value) is np.ndarray and value.dtype == FLOAT64 and bool(value.shape))


def number_may_be_plain(recorder: Recorder, number: int) -> bool:
    """The same of a value of a recording by its number."""
    known, chosen, pending = recorder.plain_numbers, recorder.chosen_numbers, [number]
    while pending:
        number = pending[-1]
        if number in chosen:
            unknown = next((side for side in chosen[number] if side not in known), None)
            if unknown is not None:
                pending.append(unknown)
                continue
            known[number] = any(known[side] for side in chosen.pop(number))
        elif number not in known:
            operands = _operands(recorder, number)
            found, unknown = operands is not False, None
            if isinstance(operands, tuple):
                # One that may not be plain decides, and where one of two operands is known as a rule it is the last one.
                for operand in reversed(operands):
                    is_plain = known.get(operand)
                    if is_plain is False:
                        found, unknown = False, None
                        break
                    if is_plain is None:
                        unknown = operand
            if unknown is not None:
                pending.append(unknown)
                continue
            known[number] = found
        pending.pop()
    return known[number]


def _operands(recorder: Recorder, number: int) -> tuple[int, ...] | bool:
    """The operands on which it depends whether a value may be plain, or whether it may."""
    columns = recorder.instructions
    if type(columns) is GrowingColumns:
        # Asked for every choice, so that no instruction is made for it.
        which = columns.which[number]
        instruction, takes = columns.templates[which], columns.takes[which]
        if takes == NUMBER:
            return True
        if takes != OWN:
            if instruction.op.name not in _OPERATORS:
                return False
            return (columns.first[number], columns.second[number]) if takes == TWO else takes == ONE and (columns.first[number],)
    else:
        instruction = columns[number]
    if instruction.op is CONSTANT:
        return instruction.params[0].shape == ()
    if instruction.op is INPUT:
        captured = recorder.inputs.index(number) - (len(recorder.inputs) - len(recorder.captured))
        return captured >= 0 and may_be_plain(recorder.captured[captured])
    return instruction.inputs if instruction.op.name in _OPERATORS else False


def checked(value: Operand) -> Operand:
    """Note that a guard has asked whether Python would raise an error for a divisor, or power; the value."""
    if type(value) is TrackedArray:
        value._recorder.checked_numbers.add(value._id)
    return value


def unlike_python(recorder: Recorder) -> tuple[str, Instruction] | None:
    """The first operation on what may be plain numbers for which Python may have another result, or an error, with the rule.

    Most are checked where they stand; this is for those in functions that are not rewritten.
    """
    suspects, has_narrow = _suspects(recorder)
    if has_narrow and not _has_plain(recorder):
        return None
    for number in suspects:
        instruction = recorder.instructions[number]
        if has_narrow and (_is_narrow(instruction) or (recorder.has_narrow_constants and recorder.plain_numbers.get(number))):
            return "float32", instruction
        if instruction.op.name in _MAY_RAISE and not recorder.checked_numbers.intersection((number, instruction.inputs[-1])):
            if not _is_safe(recorder, instruction) and all(number_may_be_plain(recorder, k) for k in reversed(instruction.inputs)):
                return ("zero", instruction) if has_narrow or _has_plain(recorder) else None
    return _sum_of_bools(recorder) or _first_large(recorder)


def _sum_of_bools(recorder: Recorder) -> tuple[str, Instruction] | None:
    """The first sum of two bools that are Python's where whole numbers are compared: to Python that is a whole number, to NumPy a bool."""
    columns = recorder.instructions
    made = columns.templates if isinstance(columns, GrowingColumns) else columns
    if not any(template.op.name == "add" and template.type == _BOOL for template in made):
        return None
    for instruction in columns:
        if instruction.op.name == "add" and instruction.type == _BOOL and all(may_be_pythons_bool(recorder, k) for k in instruction.inputs):
            return "numbers", instruction
    return None


def may_be_pythons_bool(recorder: Recorder, number: int) -> bool:
    """Whether a bool may be one of Python's, from a comparison of whole numbers."""
    pending = [number]
    while pending:
        instruction = recorder.instructions[pending.pop()]
        types = [recorder.instructions[k].type for k in instruction.inputs]
        if not types or _INT in types:
            return True
        pending += [k for k, kind in zip(instruction.inputs, types) if kind == _BOOL]
    return False


def _suspects(recorder: Recorder) -> tuple[Sequence[int], bool]:
    """The numbers of the instructions that `unlike_python` may object to, and whether other dtypes are a reason."""
    columns = recorder.instructions
    if recorder.has_narrow_constants or not isinstance(columns, GrowingColumns):
        return range(len(columns)), True
    narrow = {k for k, made in enumerate(columns.templates) if _is_narrow(made)}
    templates = narrow.union(k for k, made in enumerate(columns.templates) if made.op.name in _MAY_RAISE)
    return [number for number, which in enumerate(columns.which) if which in templates] if templates else (), bool(narrow)


def _is_narrow(instruction: Instruction) -> bool:
    return isinstance(instruction.type, ValueType) and instruction.type.dtype not in _WIDE


def _has_plain(recorder: Recorder) -> bool:
    """Whether there are values that may be plain numbers."""
    for number in list(recorder.chosen_numbers):
        number_may_be_plain(recorder, number)
    return any(recorder.plain_numbers.values())


def check_numbers(recorder: Recorder) -> None:
    """Raise where a recording may compute something else than Python does: with plain numbers, or as something was changed."""
    for check in recorder.at_end.values():
        check()
    found = unlike_python(recorder)
    if found is not None:
        rule, site = found[0], found[1].site
        got = f"it computes in {found[1].type} beside" if rule == "float32" else f"it computes {found[1].op.name} of"
        got += " what may be a plain number"
        if not isinstance(site, Site):
            raise UnsupportedFunction(got)
        raise Refused(site.code, (site.line, 0), Breach(rule, site.line, got), is_all=True)


def _first_large(recorder: Recorder) -> tuple[str, Instruction] | None:
    """The first operation on what may be whole numbers of Python's whose result a float64, or int64, may not have exactly."""
    if not (recorder.has_ints or recorder.large_ints or any(recorder.plain_numbers.values())):
        return None
    names = _GROW | {"add", "subtract"} if recorder.large_ints else _GROW
    columns = recorder.instructions
    if not isinstance(columns, GrowingColumns):
        columns = _columns_of(columns)
    if not any(template.op.name in names for template in columns.templates):
        return None
    for number, size in _sizes(recorder, columns):
        if size > 53 and columns.templates[columns.which[number]].op.name in names:
            if size > 63 or columns.type_of(number) != _INT:
                return "large", columns[number]
    return None


def bits_of(values: Iterable[Operand]) -> list[float | None]:
    """How many bits the largest whole number has that each of some values may be, where loops have counted; None: not known."""
    found, sizes = list[float | None](), dict[int, dict[int, float]]()
    for value in values:
        recorder = value._recorder if type(value) is TrackedArray else None
        if recorder is None or not recorder.bits:
            found.append(None)
            continue
        if id(recorder) not in sizes:
            columns = recorder.instructions
            sizes[id(recorder)] = dict(_sizes(recorder, columns if isinstance(columns, GrowingColumns) else _columns_of(columns)))
        found.append(sizes[id(recorder)].get(value._id))
    return found


def _columns_of(instructions: Iterable[Instruction]) -> GrowingColumns:
    columns = GrowingColumns()
    for instruction in instructions:
        columns.append(instruction)
    return columns


def _sizes(recorder: Recorder, columns: GrowingColumns) -> Iterator[tuple[int, float]]:
    """Of the values that may be whole numbers of Python's, how many bits the largest has that each may be, in the order of recording."""
    known = dict[int, float]()
    rules = [SIZES.get(template.op.name) if takes != OWN else None for template, takes in zip(columns.templates, columns.takes)]
    has_own = [takes == OWN and _may_be_whole(template) for template, takes in zip(columns.templates, columns.takes)]
    noted = {number for number, is_plain in recorder.plain_numbers.items() if is_plain}
    for number, (which, first, second) in enumerate(zip(columns.which, columns.first, columns.second)):
        size, rule = None, rules[which]
        if columns.takes[which] == NUMBER:
            size = _bits_of_number(float_of(second), number in recorder.large_ints)
        elif rule is not None:
            if first in known:
                if columns.takes[which] == ONE:
                    size = rule([known[first]], columns.templates[which])
                elif second in known:
                    size = rule([known[first], known[second]], columns.templates[which])
            size = recorder.bits.get(number) if size is None else size
        elif number in recorder.bits:
            size = recorder.bits[number]
        elif number in noted or (has_own[which] and _has_whole(columns.templates[which], known)):
            size = _bits_of(recorder, number, columns.templates[which], known)
        if size is not None:
            known[number] = size
            yield number, size


def _may_be_whole(instruction: Instruction) -> bool:
    return instruction.op is CONSTANT or instruction.op is SELECT or instruction.op.name in SIZES


def _has_whole(instruction: Instruction, known: Mapping[int, float]) -> bool:
    """Whether an instruction is a constant, or has an operand that may be a whole number."""
    inputs = instruction.inputs
    return not inputs or inputs[-1] in known or (len(inputs) > 1 and inputs[-2] in known)


def _bits_of_number(value: float, is_large_int: bool) -> float | None:
    size = max(1.0, abs(value))
    return math.log2(size) if value.is_integer() and (size <= LARGEST_INT or is_large_int) else None


def _bits_of(recorder: Recorder, number: int, instruction: Instruction, known: Mapping[int, float]) -> float | None:
    """How many bits the largest whole number has that a value may be; None if it is none, or none of Python's. `known`: of its operands.

    Ints that became data have at most 12 bits where they are multiplied, and loops that data ends count at most to 2**20.
    """
    op = instruction.op
    if op is CONSTANT:
        value = instruction.params[0]
        return None if value.shape else _bits_of_number(float(value), number in recorder.large_ints)
    if op.name in SIZES:
        sizes = [size for k in instruction.inputs if (size := known.get(k)) is not None]
        return SIZES[op.name](sizes, instruction) if len(sizes) == len(instruction.inputs) else None
    if op is SELECT:
        has_ints = instruction.type == _INT or number in recorder.has_ints
        sides = [k for k in instruction.inputs[1:] if has_ints or recorder.instructions[k].op is not CONSTANT]
        return max((size for k in sides if (size := known.get(k)) is not None), default=None)
    if op.name not in _OPERATORS and recorder.plain_numbers.get(number):
        return 20 if instruction.type == _INT else 12
    return None


def _is_safe(recorder: Recorder, instruction: Instruction) -> bool:
    """Whether there is no error for any numbers: quotients by constants, and small powers."""
    if instruction.op.name == "integer_power":
        return instruction.params[0] >= 0
    last = recorder.instructions[instruction.inputs[-1]]
    is_quotient = instruction.op.name in "divide floor_divide remainder".split()
    return is_quotient and last.op is CONSTANT and bool(np.all(last.params[0] != 0))


_WIDE = (FLOAT64, INT64, BOOL)
_INT, _BOOL = ValueType((), INT64), ValueType((), BOOL)

# By operation the bits of its result, from those of its operands.
SIZES: dict[str, Callable[[list[float], Instruction], float | None]] = {
    **dict.fromkeys("add subtract".split(), lambda sizes, _: max(sizes) + math.log2(1.0 + 2.0 ** (min(sizes) - max(sizes)))),
    **dict.fromkeys("multiply square".split(), lambda sizes, _: 2 * sizes[0] if len(sizes) == 1 else sum(sizes)),
    **dict.fromkeys("negative absolute convert floor_divide".split(), lambda sizes, _: sizes[0]),
    "remainder": lambda sizes, _: sizes[1],
    "integer_power": lambda sizes, instruction: sizes[0] * instruction.params[0] if instruction.params[0] > 0 else None,
}
_GROW = frozenset("multiply square integer_power".split())
_MAY_RAISE = frozenset("divide reciprocal floor_divide remainder power integer_power".split())
