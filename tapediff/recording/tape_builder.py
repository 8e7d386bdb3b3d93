"""The instructions of a tape while it grows: appended one by one, with constants shared and the user's line on each."""

from __future__ import annotations

import sys
from collections.abc import Generator, Hashable
from contextlib import contextmanager
from math import copysign
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ..base.source_location import Site, is_library_file
from ..base.token import blake2b
from ..ir.instruction import (
    BOOL_SCALAR,
    CONSTANT,
    FLOAT64,
    FLOAT_SCALAR,
    INPUT,
    INT_SCALAR,
    Instruction,
    Params,
    Primitive,
    StructuralOp,
    ValueType,
)
from ..ops import Op
from .instruction_columns import GrowingColumns

# Calling the class costs three times as much, and a recording makes one instruction per operation.
_new_tuple = tuple.__new__


class TapeBuilder:
    """A list of instructions. Values are known by number here; see Recorder for the tracked arrays made of them.

    Attributes:
        name: the recorded function's name.
        inputs, active_inputs: as in a Tape.
        site: the line of all operations that follow; None to find the user's line for each.
        outermost: frames from here on belong to the caller of the recorded function; operations without a line of their own
            are recorded at `outermost_site`.
    """

    def __init__(self, name: str, concrete: bool) -> None:
        self.name = name
        # Recordings of types only are read back at once and hold no loops: a list suffices.
        self.instructions: GrowingColumns | list[Instruction] = GrowingColumns() if concrete else []
        self.inputs: list[int] = []
        self.active_inputs: list[int] = []
        self.site: Site | None = None
        self.outermost: FrameType | None = None
        self.outermost_site: Site | None = None
        self._float_constants: dict[float, int] = {}
        self._zeros: dict[float, int] = {}
        self._constants: dict[Hashable, int] = {}
        self._types: dict[Hashable, ValueType] = {type_: type_ for type_ in (FLOAT_SCALAR, INT_SCALAR, BOOL_SCALAR)}
        # Address of a code object -> offset -> site; offset plus the shift of an operation -> its template. `_code_sites` is the entry
        # of the latest code, which the next operation mostly shares.
        self._sites: dict[int, dict[int, Any]] = {}
        self._code: CodeType | None = None
        self._code_sites: dict[int, Any] = {}

    def append(self, op: Op, ids: tuple[int, ...], params: tuple[object, ...], type_: ValueType) -> int:
        """Record an operation whose value the caller has computed. Returns its number."""
        return self._append(op, ids, params, type_)

    def _append(
        self, op: Op | StructuralOp, ids: tuple[int, ...], params: tuple[object, ...], type_: ValueType
    ) -> int:
        site = self.site
        if site is None:
            frame = sys._getframe(2)
            site = self._code_sites.get(frame.f_lasti) if frame.f_code is self._code else None
            if site is None:
                site = self.site_of(frame)
        instructions = self.instructions
        instructions.append(_new_tuple(Instruction, (op, ids, params, type_, site)))
        return len(instructions) - 1

    def append_like(self, number: int, op: Op, ids: tuple[int, ...], type_: ValueType) -> int:
        """Like append, at the line of another instruction."""
        columns = self.instructions
        site = columns.templates[columns.which[number]].site if isinstance(columns, GrowingColumns) else columns[number].site
        columns.append(_new_tuple(Instruction, (op, ids, (), type_, site)))
        return len(columns) - 1

    def append_number(self, op: Primitive, params: Params, type_: ValueType, takes: int, first: int, second: int, frame: FrameType) -> None:
        """Record an instruction from a template; the search for the user's line begins at `frame`."""
        columns = self.instructions
        assert isinstance(columns, GrowingColumns)
        site = self.site_of(frame) if self.site is None else self.site
        template = columns.template(op, params, type_, site, takes)
        columns.first.append(first)
        columns.second.append(second)
        columns.which.append(template)

    def template_at(self, frame: FrameType, op: Op, shift: int, type_: ValueType, takes: int) -> int:
        """The template of an operation without parameters at the user's line."""
        columns = self.instructions
        assert isinstance(columns, GrowingColumns)
        if self.site is not None:
            return columns.template(op, (), type_, self.site, takes)
        site = self.site_of(frame)
        if frame.f_code is not self._code:
            return columns.template(op, (), type_, site, takes)
        template = self._code_sites.get(frame.f_lasti + shift)
        if template is None or columns.templates[template].type is not type_:
            template = self._code_sites[frame.f_lasti + shift] = columns.template(op, (), type_, site, takes)
        return template

    def site_of(self, frame: FrameType) -> Site | None:
        """The user's line that a frame was called from."""
        while frame.f_code is not self._code:
            sites = self._sites.get(id(frame.f_code))
            if sites is not None:
                self._code, self._code_sites = frame.f_code, sites
                break
            if not is_library_file(frame.f_code.co_filename):
                # Code objects are hashed by content, slowly; the address identifies one as long as its sites keep it.
                self._code, self._code_sites = frame.f_code, self._sites.setdefault(id(frame.f_code), {})
                break
            if frame.f_back is None:
                return Site(frame.f_code, frame.f_lasti)
            if frame is self.outermost:
                return self.outermost_site
            frame = frame.f_back
        site = self._code_sites.get(frame.f_lasti)
        if site is None:
            site = self._code_sites[frame.f_lasti] = Site(frame.f_code, frame.f_lasti)
        return site

    @contextmanager
    def at(self, site: Site | None) -> Generator[None]:
        """Record the following operations at this line."""
        before, self.site = self.site, site
        try:
            yield
        finally:
            self.site = before

    def last_site(self) -> Site | None:
        """The user's line that recorded the latest operation."""
        return next((i.site for i in reversed(self.instructions) if i.site is not None), None)

    def type_of(self, value: np.ndarray | np.generic) -> ValueType:
        """The type of a value; one object for all values of a type."""
        key = (value.shape, value.dtype)
        type_ = self._types.get(key)
        if type_ is None:
            # One dtype object per kind, so that `is` works as a fast comparison.
            dtype = FLOAT64 if value.dtype == FLOAT64 else value.dtype
            type_ = self._types[key] = ValueType(value.shape, dtype)
        return type_

    def new_input(self, array: np.ndarray, active: bool) -> int:
        """The value number of one more input."""
        position = len(self.inputs)
        self.instructions.append(Instruction(INPUT, (), (position,), self.type_of(array), None))
        self.inputs.append(len(self.instructions) - 1)
        if active:
            self.active_inputs.append(position)
        return self.inputs[-1]

    def constant(self, array: np.ndarray) -> int:
        """The value number of a constant; equal bits of equal dtype and shape share one."""
        if array.shape == () and array.dtype is FLOAT64:
            number = float(array)
            if number == number and number != 0.0:
                known = self._float_constants.get(number)
                if known is None:
                    known = self._float_constants[number] = self._new_constant(array)
                return known
        key = _key(array)
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = self._new_constant(array)
        return known

    def array_constant(self, array: np.ndarray) -> tuple[int, np.ndarray]:
        """The value number of the caller's float64 array, not 0-d, and its values now; a new array is copied."""
        key = _key(array)
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = self._new_constant(array.astype(FLOAT64, order="C", copy=True))
        return known, self.instructions[known].params[0]

    def float_constant(self, number: float) -> int:
        """The value number of a constant."""
        if number != 0.0:
            known = self._float_constants.get(number)
            if known is not None:
                return known
            if number != number:
                return self.constant(np.array(number, FLOAT64))
            # Loops may have another constant at each iteration.
            columns = self.instructions
            is_column = isinstance(columns, GrowingColumns)
            known = columns.append_constant(number) if is_column else self._new_constant(np.array(number, FLOAT64))
            self._float_constants[number] = known
            return known
        sign = copysign(1.0, number)
        known = self._zeros.get(sign)
        if known is None:
            known = self._zeros[sign] = self.constant(np.array(number, FLOAT64))
        return known

    def _new_constant(self, array: np.ndarray) -> int:
        array.flags.writeable = False
        self.instructions.append(Instruction(CONSTANT, (), (array,), self.type_of(array), None))
        return len(self.instructions) - 1


def _key(array: np.ndarray) -> Hashable:
    """A key that is equal for arrays of equal bits, dtype and shape."""
    return array.shape, array.dtype.char, array.tobytes() if array.size <= 1024 else _digest(array)


def _digest(array: np.ndarray) -> bytes:
    return blake2b(array.tobytes(), digest_size=16).digest()
