"""Views and versions: a write to a tracked array makes a new value (SSA renaming), seen by all arrays that share its memory.

Inside a tape nothing is overwritten. A view can read its value from its base, and make the base's next value from its own;
it is read again when it is used after a write to the base.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, NoReturn

import numpy as np

from ...base.current_recording import Recording
from ...base.source_location import user_site
from ...errors import UnsupportedFunction
from ...ir.instruction import Operand, ValueType
from ...ops.arrays.indexing import Region
from ...ops.elementwise.arithmetic import CONVERT
from .escapes import Escapes


class View(NamedTuple):
    """The relation of a tracked array to the one whose memory it shares: a write to either is seen in both, as in NumPy.

    Attributes:
        read: computes the view's value from that of the base.
        write: computes the base's next value from its value and the view's; None for a read-only view.
        writes_seen: how many writes to the base the view's value includes.
        root: the array at the end of the chain of bases, which every write to a view reaches.
        root_writes: how many writes to the root the view's value includes. While the root has no more, the view is up to date.
        region: the part of the base that the view shows, if it is rectangular.
        place: the tracked index of the base that gave the view; see `place_of`.
    """

    base: Versioned
    read: Callable[[Operand], Operand]
    write: Callable[[Operand, Operand], Operand] | None
    writes_seen: int
    root: Versioned
    root_writes: int
    region: Region | None = None
    place: tuple[Operand, ...] | None = None


def view_of(
    base: Versioned, read: Callable[[Operand], Operand], write: Callable[[Operand, Operand], Operand] | None,
    region: Region | None = None, place: tuple[Operand, ...] | None = None,
) -> View:  # fmt: skip
    """Make a view whose value has just been read."""
    outer = base._view
    root, root_writes = (base, base._writes) if outer is None else (outer.root, outer.root_writes)
    return View(base, read, write, base._writes, root, root_writes, region, place)


def laid_as(old: Operand, new: Operand) -> Operand:
    """The new value in the memory layout of the old one, which a write leaves as it is; later reshapes depend on it."""
    if type(old) is not np.ndarray or type(new) is not np.ndarray or old.ndim < 2 or old.strides == new.strides or old.shape != new.shape:
        return new
    value = np.empty_like(old, new.dtype)
    value[...] = new
    return value


class Versioned(Escapes):
    """A value of a recording, and its place in a chain of views.

    Attributes:
        _id, _value, type: number of the instruction that gave the latest version, its NumPy value and its type.
        _writes: how many versions there were before.
    """

    __slots__ = ("__weakref__", "_id", "_recorder", "_value", "_view", "_writes", "type")

    def __init__(self, recorder: Recording, number: int, value: Operand, type_: ValueType) -> None:
        self._recorder = recorder
        self._id = number
        self._value = value
        self.type = type_
        self._view: View | None = None
        self._writes = 0

    def _store(self, new: Operand) -> None:
        """Write: `new` becomes the value of this array, and reaches every array that it is a view of."""
        if not self._is_writeable():
            raise ValueError("assignment destination is read-only")
        written: list[Versioned] = []
        array: Versioned = self
        array._set(new)
        while (view := array._view) is not None:
            assert view.write is not None, "checked above"
            written.append(array)
            view.base._set(view.write(view.base, array))
            array = view.base
        for part in written:
            view = part._view
            assert view is not None, "a view stays one"
            part._view = view._replace(writes_seen=view.base._writes, root_writes=array._writes)

    def _set(self, new: Operand) -> None:
        """Make `new` the next version of this array only."""
        if new._recorder is not self._recorder:
            raise UnsupportedFunction(
                "an array of an outer recording was written to inside an inner one",
                at=user_site(), fix="copy it first: x = x.copy()",
            )  # fmt: skip
        if new.type.dtype != self.type.dtype:
            new = CONVERT(new, dtype=self.type.dtype)
        self._id, self._value = new._id, laid_as(self._value, new._value)
        self._writes += 1
        if self._recorder.call_arrays.nodes:
            self._recorder.call_arrays.written(self)

    def _wrote_in_place(self, number: int) -> None:
        """Note a new version of an array that is no view and whose NumPy value was changed in place."""
        self._id = number
        self._writes += 1
        if self._recorder.call_arrays.nodes:
            self._recorder.call_arrays.written(self)

    def _is_writeable(self) -> bool:
        view = self._view
        while view is not None:
            if view.write is None:
                return False
            view = view.base._view
        return True

    def _refresh(self) -> None:
        """Read this view again if its root was written to since."""
        view = self._view
        if view is None:
            return
        root = view.root
        root._refresh()
        if view.root_writes == root._writes:
            return
        # The chain from here to the root may be long: no recursion.
        stale: list[Versioned] = []
        array: Versioned = self
        while (view := array._view) is not None and view.root_writes != root._writes:
            stale.append(array)
            array = view.base
        for part in reversed(stale):
            part._read_again(root._writes)

    def _read_again(self, root_writes: int) -> None:
        """Read this view from its base, which is up to date."""
        view = self._view
        assert view is not None, "only views are read again"
        if view.base._writes != view.writes_seen:
            if view.base._recorder is not self._recorder:
                _refuse_old_view(view.base._recorder)
            new = view.read(view.base)
            self._id, self._value = new._id, new._value
            self._writes += 1
        self._view = view._replace(writes_seen=view.base._writes, root_writes=root_writes)

    def _as_view(self, base: Versioned, read: Callable[..., Operand], write: Callable[..., Operand] | None) -> Versioned:
        if self is not base:
            self._view = view_of(base, read, write)
        return self


def _refuse_old_view(recorder: Operand) -> NoReturn:
    """Abort the recording of an iteration that changes an array with a view from before the loop."""
    if recorder.asked is not None:
        recorder.asked()
    raise UnsupportedFunction("a view is read of an array that a loop changes", at=user_site(), fix="make the view in the loop")
