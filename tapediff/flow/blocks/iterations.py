"""Loops recorded as one instruction: a single iteration is recorded, and the places that it changes are carries.

The first attempt has no carries. A changed place becomes one, and the iteration is recorded again until nothing new changes and every
carry keeps its form:

| variable, written before it is read | not carried; its last value, if a number, is a result |
| list that grows equally at each iteration, and is not read | its new entries are stacked results |
| any other change | a carry of the narrowest fixed form (carries.py) |

A growing list has room for some entries; a loop that exceeds it ends, and is recorded again with more room.

Values of the enclosing recording are captured as constants of the loop.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np

from ...base.byte_code import is_held_elsewhere
from ...base.source_location import user_site
from ...functions.callees.tape_callee import callee_of
from ...functions.loops import LARGEST_TRAJECTORY
from ...ir.instruction import BOOL, Operand
from ...ir.tape import Tape
from ...ops.control.calls import GET, LOOP, LoopForm
from ...recording.arrays.tracked import TrackedArray
from ...recording.finish import finished_tape
from ...recording.recorder import Recorder, current_recorder
from ..anything import Object
from ..calls.truth import truth
from ..containers.compressed import Compressed
from ..containers.lengths import are_of_here
from ..containers.positions import inside_array
from ..report import Reason
from ..state.fork import all_or_nothing, decided, end_loop, exclude, in_side, is_apart
from ..state.joins import chosen
from ..state.numbers.large_ints import LARGEST_CARRIED, TOO_LARGE, growing_ints
from ..state.numbers.python_numbers import Kind, KindsOfCarries, kind_of, note_kind
from ..state.objects.withdrawn import withdraw
from ..state.places import (
    ENDS,
    Cell,
    Contents,
    Entry,
    Journal,
    Place,
    Version,
    WithCells,
    cells_of,
    is_withdrawn,
    loop_ended,
    note_cells,
    note_shown,
    put,
    undo,
)
from ..state.recursions import TooDeep, is_of_sizes
from ..state.tables.columns import listed
from ..state.tables.forms import Constant, Form, Number, Options, Reference, form_of
from ..state.values import (
    UNBOUND,
    Maybe,
    Restart,
    Unjoinable,
    WritesOutside,
    Young,
    both,
    is_data,
    negated,
    parted,
    state,
)
from .carries import (
    Slots,
    as_leaf,
    as_leaf_like,
    form_at,
    has_objects_of,
    have_repetitions,
    is_of_rows,
    made_anew,
    made_in,
    objects_of,
    or_before,
    rows_in,
    wider_at,
)
from .changes import (
    Changed,
    Known,
    ends_of,
    form_of_both,
    form_of_last,
    has_lost,
    is_changed,
    is_longer,
    is_new_or_unread,
    read_before,
    start_of,
)
from .names_of_arrays import NamesOfArrays
from .sources import Source
from .unread import ReadBeforeWritten, Unread, is_unread, unread_in

# Maximum number of widenings of the carries' forms.
MOST_ATTEMPTS = 16
# Maximum room of a growing list.
_MOST_ROOM = 2048

_TWICE = "an object made in a loop is in two variables or attributes", "make two, or keep it in one place"


class TooLarge(Restart):
    """The trajectory of all carries takes too much memory; a data-dependent loop recomputes part of it."""


Iteration = Callable[[list[Operand]], Object]


class Loop:
    """A loop being recorded as one instruction, and the facts found about its iterations.

    Attributes:
        iteration: runs one on the entries of its streams; returns whether another follows: a bool, tracked or not.
        cells: a block, for its variables.
        source: its iterable, as streams; None for a data-dependent end.
        ends: the exits' namespace.
        most: the number of iterations if none leaves the loop; 0 if unknown.
        changed: by key, the places that iterations change, without those of `added`.
        added: lists that each iteration appends to, with the forms of the new entries.
        read: variables and lists whose previous value an iteration reads.
        found: of an attempt, by key, the carries of variables that were not known to be read.
        last: by carry, the leaf of the last item that its final value equals.
        conditions: the stacked results that are the conditions of the items.
        may_not_run: it may run zero iterations, by data.
        limited: carried ints, by place and leaf, that may grow by a factor; the loop ends where one is large.
        kinds: of the carried numbers; `doubts` are those found before, by place and leaf.
        names: variables that hold arrays.
        withdrawn: by key, places in mutable objects whose list is carried by their parts.
        rows: the objects that an iteration begins with in their place.
        writes_new: an iteration writes to an object that another has created.
        begun: the objects made for the carries of an attempt.
        has_copies: appended entries are copies of objects that carries, or other entries, also stand for.
        has_lost: an inner loop has replaced another object.
        kinds_added: of the numbers in appended entries.
        assumed: places and leaves of `kinds`.
    """

    def __init__(self, iteration: Iteration, cells: Object, source: Source | None, ends: dict[str, Object], most: int = 0) -> None:
        self.iteration, self.cells, self.source, self.ends = iteration, cells, source, ends
        self.most = most if source is None else source.count
        self.changed: dict[Object, Changed] = {}
        self.added: dict[Object, tuple[Place, list[Form]]] = {}
        self.variables = [id(cell) for cell in cells_of(cells)]
        # Known from earlier recordings, as within an enclosing loop.
        self.known = state.loops.setdefault((str(user_site()), _code_of(cells), len(self.variables)), Known())
        self.read: set[Object] = {self.variables[k] for k in self.known.read}
        self.found: dict[object, Object] = {}
        self.outer: list[Object] = []
        self.last: dict[int, int] = {}
        self.conditions: set[int] = set()
        self.may_not_run = False
        self.limited: set[tuple[Object, int]] = set()
        self.doubts: dict[tuple[Object, int], Kind] = {}
        self.kinds = KindsOfCarries([], [])
        self.kinds_added: list[Kind] = []
        self.assumed: list[tuple[Object, int]] = []
        self.names = NamesOfArrays()
        self.withdrawn: dict[Object, Place] = {}
        self.rows: list[Object] = []
        self.writes_new = False
        self.begun: list[Object] = []
        self.has_copies = False
        self.has_lost = False

    def record(self, first: Object) -> None:
        """Record the loop, and put its results into places."""
        mark = state.report.mark()
        self.may_not_run = first is not True
        self._foresee()
        try:
            while not self._enter(self._tape(mark), first):
                forms = [one.form for one in self._carried() if isinstance(one.form, Slots)]
                longest = max((form.least for form in forms), default=0)
                state.room = max(4 * state.room, min(self.most and self.most + longest, _MOST_ROOM))
                if state.room > _MOST_ROOM:
                    raise Unjoinable(f"a {forms[0].kind.__name__} gets more than {_MOST_ROOM} entries in a loop", forms[0].instead)
        except BaseException:
            state.report.forget(mark)
            raise
        finally:
            state.young = Young()

    def _tape(self, mark: int) -> Tape:
        """Record an iteration's tape."""
        attempts, tape = 0, None
        while tape is None:
            state.report.forget(mark)
            if attempts == MOST_ATTEMPTS:
                raise Unjoinable(
                    "each iteration of a loop changes more than the one before",
                    "keep the state in variables, or in a list of fixed length",
                )
            found = len(self.read)
            tape = self._attempt()
            # Reading a variable is found once, so it does not count as an attempt.
            attempts += len(self.read) == found
        if tape.guard_count:
            raise Unjoinable("code in a loop needs the value of a number", "write it as plain Python in a file")
        self._remember()
        size = sum(np.asarray(_value_of(leaf)).nbytes for leaf in self._carries())
        if self.source is not None and self.source.count * size > LARGEST_TRAJECTORY:
            raise TooLarge
        return tape

    def _foresee(self) -> None:
        """Begin with the carries of an earlier recording of this loop."""
        cells = cells_of(self.cells)
        for where, form in self.known.carried:
            if type(where) is int:
                place = Cell(cells[where])
            elif type(where) is str:
                self.ends.setdefault(where, False)
                place = Entry(self.ends, where)
            elif state.is_in_loop:
                place = where
            else:
                # The same code may run on another list, and the length of this one stay known.
                continue
            leaves = form.leaves(start := start_of(place))
            if leaves is not None and are_of_here(leaves) and has_objects_of(form, start):
                self.changed[place.key] = Changed(place, form)

    def _remember(self) -> None:
        """Note the carries for a later recording of this loop."""
        self.known.carried.clear()
        for one in self._carried():
            place = one.place
            if isinstance(place, Cell):
                if one.is_read and place.key in self.variables:
                    self.known.carried.append((self.variables.index(place.key), one.form))
            elif isinstance(place, Entry) and place.holder is self.ends:
                self.known.carried.append((place.name, one.form))
            elif isinstance(place, Contents):
                self.known.carried.append((place, one.form))

    def _carries(self) -> list[Object]:
        """The initial carries."""
        return [leaf for one in self._carried() for leaf in one.start]

    def _carried(self) -> list[Changed]:
        """The carried places."""
        return [one for one in self.changed.values() if one.form is not None]

    @property
    def streams(self) -> list[Operand]:
        return [] if self.source is None else self.source.streams

    def _attempt(self) -> Tape | None:
        """The tape of an iteration; None after noting a change that was not foreseen."""
        given: list[Object] = []
        for one in self._carried():
            value = start_of(one.place) if one.is_read else one.place.get()
            leaves = one.form.leaves(value) if one.is_read or self.may_not_run else one.form.blank()
            if leaves is None:
                self._widen(one, value)
                return None
            one.start = [as_leaf(as_leaf_like(leaf, blank)) for leaf, blank in zip(leaves, one.form.blank(), strict=True)]
            given += leaves
        self.assumed = self._numbered()
        self.kinds = KindsOfCarries(given, [self.doubts.get(which) for which in self.assumed])
        recorder = Recorder("an iteration")
        # Keep it alive: facts about its values are keyed by its address.
        state.recorders.append(recorder)
        recorder.fills = current_recorder().fills
        saved = state.path, state.facts, state.is_in_loop, state.earlier
        state.path, journal = [], Journal()
        state.is_in_loop = True
        state.journals.append(journal)
        read, written = None, None
        self.found.clear()
        try:
            return recorder.run(self._run, journal, saved[2])
        except ReadBeforeWritten as found:
            read = found.key
            if read not in self.changed and read not in self.added:
                # Of an enclosing loop.
                raise
        except WritesOutside as found:
            written = found.array
        except (Exception, Unjoinable):
            # Before the carries that this attempt found have their final forms, it may fail for other reasons than the program's.
            if not self.found:
                raise
            return None
        finally:
            state.journals.pop()
            state.path, state.facts, state.is_in_loop, state.earlier = saved
            state.in_iterations += len(recorder.instructions)
            self.outer = recorder.captured
        if written is None:
            self._note_read(read, start_of(self._place_at(read)))
            return None
        if written._recorder is not current_recorder():
            if self.found:
                return None
            raise WritesOutside(written)
        place = Version(written)
        self.changed[place.key] = Changed(place, form_at(place, place.get()))
        return None

    def _carry(self, recorder: Recorder, journal: Journal, key: Object) -> Object:
        """The carry of a variable that the current attempt is the first to read: the attempt goes on, for what else it finds."""
        if key in self.found:
            return self.found[key]
        if key in self.added or self.changed[key].is_anew:
            raise ReadBeforeWritten(key)
        value = read_before(journal[key][1])
        if value is UNBOUND:
            raise ReadBeforeWritten(key)
        self._note_read(key, value)
        form = self.changed[key].form
        leaves = form.leaves(value)
        if leaves is None:
            raise ReadBeforeWritten(key)
        starts = [as_leaf(as_leaf_like(leaf, blank)) for leaf, blank in zip(leaves, form.blank(), strict=True)]
        inputs = [recorder.input(_value_of(start), active=True) for start in starts]
        for one, leaf in zip(inputs, leaves):
            note_kind(one, kind_of(leaf), of_entries=True)
        found = self.found[key] = form.made(iter(inputs))
        return found

    def _place_at(self, key: Object) -> Place:
        return self.changed[key].place if key in self.changed else self.added[key][0]

    def _note_read(self, key: Object, start: Object) -> None:
        """Note that an iteration reads a list, or a variable before writing it."""
        one = self.changed.get(key)
        if one is not None and one.is_anew:
            raise Unjoinable("an iteration reads an object that another one has made", "keep its numbers in variables")
        if key in self.added and self.source is not None and len(self.added[key][1]) * self.source.count > _MOST_ROOM:
            raise Unjoinable(
                "a loop appends to a list and reads it",
                "keep what is read in variables; or create the list before the loop, and write to its entries",
            )
        place = one.place if one is not None else self.added.pop(key)[0]
        self.read.add(key)
        if key in self.variables:
            self.known.read.add(self.variables.index(key))
        seen = one.seen if one is not None else None
        self.changed[key] = Changed(place, form_at(place, start, is_slotted=True) if seen is None else seen)

    def _run(self, recorder: Recorder, journal: Journal, is_nested: bool) -> Tape | None:
        recorder.asked, recorder.raise_where = in_side, exclude
        recorder.inside, recorder.is_apart, recorder.compressed = inside_array, is_apart, Compressed
        if is_nested:
            # Objects of the enclosing iteration, which looks for them itself later.
            state.earlier = gc.get_objects(generation=0)
        else:
            gc.collect(0)
            state.earlier = []
        arrays: list[tuple[Object, Object]] = []
        try:
            note_cells(cells_of(self.cells))
            forms = [(one, one.form) for one in self._carried()]
            made, new = self._begin(recorder, journal, arrays)
            self.begun = [*made, *new]
            entries = [recorder.input(_value_of(stream)[0], active=True) for stream in self.streams]
            numbers = [entry._id for entry in entries]
            if self.source is not None:
                self.source.note_bounds(entries)
            go = self.iteration(entries)
            if numbers != [entry._id for entry in entries]:
                raise Unjoinable("a loop writes to the object that it iterates over", "loop over a copy")
            holders = {id(place.holder) for place, _ in journal.values()}
            self.writes_new = any(id(thing) in holders for thing in new)
            if any(id(thing) in holders for thing in made):
                raise Unjoinable(
                    "a loop replaces an object and writes to it", "change the object instead of replacing it, or replace it only"
                )
            state.young = Young(state.earlier, set(map(id, self.rows)))
            is_longer = self._note_longer()
            self._limit_ints()
            is_new = self._note_changes(journal)
            is_wider = self._widen_all()
            if is_new or is_wider or is_longer or self.found:
                self._settle(recorder, [leaf for one, form in forms for leaf in ends_of(one, form)])
                return None
            if self.has_lost:
                raise Unjoinable(*_TWICE)
            results = self._results(recorder, numbers)
            if results is None:
                return None
            if self.source is not None:
                return finished_tape(recorder, tuple(results))
            for why in ENDS:
                go = both(go, negated(truth(loop_ended(why).get())))
            return finished_tape(recorder, (*results, as_leaf(go, BOOL)))
        finally:
            for array, before in arrays:
                array._recorder = before
            undo(journal)

    def _note_longer(self) -> bool:
        """Pack lists; note those that exceed their room. True if one grew for the first time."""
        found, full = False, loop_ended("full")
        for one in self._carried():
            place, form = one.place, one.form
            if not isinstance(form, Slots):
                continue
            if is_of_rows(form) and (repeats := have_repetitions(place.get())) is not False:
                end_loop("unjoinable", repeats, Reason(*_TWICE, site=user_site()))
            entries = form.packed(place.get())
            if len(entries) > form.room and form.grows:
                reason = Reason(f"a {form.kind.__name__} gets more than {form.room} entries in a loop", site=user_site())
                if is_of_sizes():
                    raise TooDeep(reason.what, form.instead, reason.site)
                end_loop("full", parted(entries[form.room])[0], reason)
                del entries[form.room :]
            elif len(entries) > form.room:
                form.grows = found = True
                self.changed.setdefault(full.key, Changed(full, Options([Constant(False), Number((), BOOL)])))
            place.set(form.unpacked(entries))
        return found

    def _limit_ints(self) -> None:
        """End the loop where an int that grows by a factor is large."""
        for key, k in self.limited:
            form, place = self.changed[key].form, self.changed[key].place
            leaves = None if form is None else form.leaves(place.get())
            if leaves is not None:
                end_loop("large", truth(np.any(abs(leaves[k]) >= LARGEST_CARRIED)), Reason(*TOO_LARGE, site=user_site()))

    def _begin(
        self, recorder: Recorder, journal: Journal, arrays: list[tuple[Object, Object]]
    ) -> tuple[list[Object], list[Object]]:
        """Put the start values into all places.

        Returns:
            the objects made for this: those that may stand for others, and those that are in one place alone.
        """
        made: list[Object] = []
        new: list[Object] = []
        self.withdrawn.clear()
        self.rows.clear()
        for key, one in self.changed.items():
            place, form = one.place, one.form
            if isinstance(form, Slots) and is_of_rows(form):
                self._withdraw(form, place)
            values = [] if form is None else [_value_of(leaf) for leaf in one.start]
            leaves = [recorder.input(value, active=True) for value in values]
            self.kinds.note_first(leaves)
            if form is None or not one.is_read:
                state.has_choices = True
                put(place, Unread(key, partial(self._carry, recorder, journal), is_behind=one.is_anew))
                continue
            value = form.made(iter(leaves))
            if isinstance(place, Version):
                if key not in journal:
                    journal[key] = place, place.get()
                arrays.append((place.holder, place.holder._recorder))
                place.holder._recorder = recorder
            put(place, value)
            if isinstance(form, Slots) and is_of_rows(form):
                self.rows += rows_in(form, value)
            for thing, is_alone in made_in(place, form, value):
                (new if is_alone else made).append(thing)
        for key, (place, _) in self.added.items():
            put(place, [Maybe(Unread(key), None)])
        return made, new

    def _withdraw(self, form: Slots, holder: Place) -> None:
        """Withdraw the mutable objects of a list that is carried by their parts: a read by another name is an error."""
        for thing in rows_in(form, holder.get()):
            self.withdrawn.update((place.key, place) for place in withdraw(thing, holder, partial(Unread, is_behind=True)))

    def _results(self, recorder: Recorder, streams: list[int]) -> list[Object] | None:
        """Results of an iteration: carries and appended entries. None if a kind or the form of an entry was widened."""
        self.last.clear()
        self.conditions.clear()
        results: list[Object] = []
        ends: list[Object] = []
        self.names = NamesOfArrays()
        met: set[int] = set()
        for one in self._carried():
            place, value = one.place, one.place.get()
            leaves = one.form.leaves(value) or []
            things = rows_in(one.form, value) if is_of_rows(one.form) else [thing for thing, _ in made_in(place, one.form, value)]
            for thing in things:
                if id(thing) in met:
                    raise Unjoinable(*_TWICE)
                met.add(id(thing))
            if not isinstance(place, Version):
                self.names.add_all(len(ends), leaves)
            ends += leaves
            for leaf, first in zip(leaves, one.start):
                if type(leaf) is not bool and getattr(leaf, "_id", None) in streams:
                    self.last[len(results)] = streams.index(leaf._id)
                results.append(as_leaf(as_leaf_like(leaf, first)))
        if not self._settle(recorder, ends):
            return None
        self.names.check(recorder, self.kinds.given)
        limited = {k for k, which in enumerate(self.assumed) if which in self.limited}
        growing = growing_ints(recorder, self.kinds.inputs, ends, limited)
        if growing:
            self.limited.update(self.assumed[k] for k in growing)
            return None
        self.kinds_added.clear()
        self.has_copies = False
        for place, forms in self.added.values():
            for number, (form, value) in enumerate(zip(forms, place.get()[1:], strict=True)):
                leaves = form.leaves(value)
                if leaves is None:
                    forms[number] = form.wider(value)
                    return None
                self._note_copies(form, value, met)
                for leaf in leaves:
                    if self.source is not None and self.source.positions is not None and is_data(leaf) and leaf._id == streams[0]:
                        self.conditions.add(len(results))
                    results.append(as_leaf(leaf))
                self.kinds_added += map(kind_of, leaves)
        return results

    def _note_copies(self, form: Form, value: Object, met: set[int]) -> None:
        """Note whether an appended entry has objects that are elsewhere, too; refuse it where a copy would be told from them."""
        begun = set(map(id, self.begun))
        for thing in made_anew(form, value):
            if id(thing) in met and (self.writes_new or self.rows):
                raise Unjoinable(*_TWICE)
            if (id(thing) in met or id(thing) in begun) and not isinstance(thing, TrackedArray):
                if not state.joins_lists or state.has_identities:
                    raise Unjoinable(*_TWICE)
                self.has_copies = True
            met.add(id(thing))

    def _numbered(self) -> list[tuple[Object, int]]:
        """The carries' places, and their leaves' numbers."""
        return [(key, k) for key, one in self.changed.items() if one.form is not None for k, _ in enumerate(one.form.blank())]

    def _settle(self, recorder: Recorder, ends: list[Object]) -> bool:
        """Find the kinds of the carries at the end of an iteration; False if it assumed others."""
        holds = self.kinds.settle(recorder, ends)
        self.doubts.update(zip(self.assumed, self.kinds.at_start))
        return holds

    def _widen_all(self) -> bool:
        """Widen all forms by an iteration's results; True if one was."""
        wider = [(one, value) for one in self._carried() if one.form.leaves(value := one.place.get()) is None]
        for one, value in sorted(wider, key=lambda pair: not isinstance(pair[0].form, Slots)):
            if self.changed.get(one.place.key) is one:
                self._widen(one, value)
        return bool(wider)

    def _widen(self, one: Changed, value: Object) -> None:
        """Widen a form by an iteration's result."""
        if (unread := unread_in(value)) is not None:
            # It passes on the previous value of another place.
            raise unread.read()
        before = one.form
        one.form = wider_at(one.place, before, value) if one.is_read else before.wider(value)
        if is_of_rows(one.form) and not is_of_rows(before):
            self._forget(rows_in(one.form, value))
        self.limited = {(key, k) for key, k in self.limited if key != one.place.key}
        self.doubts = {(key, k): kind for (key, k), kind in self.doubts.items() if key != one.place.key}
        self._check_objects(one)

    def _forget(self, objects: list[Object]) -> None:
        """Forget variables that hold objects whose list will be carried by their parts: others take their place."""
        numbers = set(map(id, objects))
        for key, one in list(self.changed.items()):
            if isinstance(one.place, Cell) and any(id(thing) in numbers for thing in objects_of(one.form)):
                del self.changed[key]
                self.read.discard(key)
                if key in self.variables:
                    self.known.read.discard(self.variables.index(key))

    def _check_objects(self, one: Changed) -> None:
        """Carry no object that an iteration created; a variable may hold a new one in each."""
        if not any(id(thing) in state.young for thing in objects_of(one.form)):
            return
        if isinstance(one.place, Contents):
            kind = type(one.place.holder).__name__
            raise Unjoinable(f"a {kind} of new objects changes its length in a loop", "keep tuples of numbers")
        if not one.is_read or not isinstance(one.place, Cell) or not isinstance(one.form, (Options, Reference)):
            raise Unjoinable(
                "an iteration replaces an object by a new one", "write to the object that is there, or keep tuples of numbers"
            )
        one.form, one.is_read, one.is_anew = None, False, True

    def _note_changes(self, journal: Journal) -> bool:
        """Note newly changed places, except in objects that the iteration created."""
        for key, (place, forms) in list(self.added.items()):
            entries = place.get()
            if type(entries[0]) is not Maybe or len(entries) != len(forms) + 1 or any(map(is_unread, entries[1:])):
                raise ReadBeforeWritten(key)
        self.has_lost = False
        replaced = [key for key, one in self.changed.items() if is_withdrawn(one.place, one.place.get())]
        for key in replaced:
            del self.changed[key]
        known = {**self.changed, **self.added}
        new = {key: place for key, (place, old) in journal.items() if key not in known and is_changed(place.get(), old)}
        found = bool(replaced)
        for key, place in new.items():
            holder = place.holder
            if is_withdrawn(place, place.get()):
                # An inner loop has replaced it: the form of its list will be of parts, too.
                self.has_lost = self.has_lost or (key not in self.withdrawn and id(holder) not in state.young)
                continue
            if key in self.withdrawn:
                raise Unjoinable(*_TWICE)
            # References of the place and of this name.
            if id(holder) in state.young or (not gc.is_tracked(holder) and not is_held_elsewhere((holder,), 2)):
                continue
            self._note_new(key, place, journal[key][1])
            found = True
        for key, one in list(self.changed.items()):
            if one.is_read or one.is_anew:
                continue
            value = one.place.get()
            if is_new_or_unread(value) or (is_unread(value) and has_lost(value, journal[key][1])):
                # Iterations that end by an error leave it unchanged, for example.
                one.form, one.is_anew = None, True
                found = True
            elif is_unread(value):
                # Some iterations leave it unchanged.
                self._note_read(key, read_before(journal[key][1]))
                found = True
            elif one.form is None and (wanted := form_of_last(value)) is not None:
                one.form = wanted
                found = True
        return found

    def _note_new(self, key: Object, place: Place, old: Object) -> None:
        value = place.get()
        if isinstance(place, Cell) and key not in self.read and id(place.holder) not in state.outer_cells:
            self.changed[key] = Changed(place, is_read=False, seen=form_of_both(place, old, value))
        elif self.source is not None and isinstance(place, Contents) and key not in self.read and is_longer(value, old):
            self.added[key] = place, [form_of(entry) for entry in value[len(old) :]]
        else:
            form = form_at(place, old)
            # A value that passes on that of another place is known when that has been read.
            is_wide = form.leaves(value) is not None or unread_in(value) is not None
            one = self.changed[key] = Changed(place, form if is_wide else wider_at(place, form, value))
            self._check_objects(one)

    def _enter(self, tape: Tape, first: Object) -> bool:
        """Record the loop, and store its results. False if a guard finds a list too long."""
        carries = self._carries()
        n = len(carries)
        count = None if self.source is None else self.source.count
        last = [] if self.source is None else self.source.last
        site = user_site()
        state.report.note("loop", site, n, count)
        form = LoopForm(n, len(self.streams), len(self.outer), count, stops=count is None, most=None, site=str(site))
        begins = [as_leaf(first, BOOL)] if count is None else []
        if (buffers := current_recorder().buffers) is not None:
            buffers.check()  # unwritten values could make the loop endless
        returned = LOOP(*begins, *carries, *self.streams, *self.outer, callee=callee_of(tape), form=form)
        ends = [last[self.last[k]] if k in self.last else GET(returned, k=k) for k in range(n)]
        self.kinds.note_last(first, [None if k in self.last else leaf for k, leaf in enumerate(ends)])
        self.names.note_shared(ends, self.kinds.given, first if self.may_not_run else True)
        leaves = iter(ends)
        made = {key: one.form.made(leaves) for key, one in self.changed.items() if one.form is not None}
        for why in () if state.is_in_loop else ENDS:
            has_ended = truth(made.get(loop_ended(why).key, False))
            reason: Reason | None = state.ended["reasons"].pop(why, None)
            if has_ended is False:
                continue
            if reason is None:
                # Room that was never exceeded.
                made[loop_ended(why).key] = False
                continue
            if has_ended is True or decided(has_ended, reason):
                if why == "full":
                    return False
                raise Unjoinable(*reason[:3], raises=reason.raises)
            made[loop_ended(why).key] = False
        with all_or_nothing():
            self._store(returned, first, made)
        return True

    def _store(self, returned: Operand, first: Object, made: dict[Object, Object]) -> None:
        """Store the results in places.

        Args:
            made: by key, the carries' last values.
        """
        count, n = None if self.source is None else self.source.count, len(self._carries())
        for one in self._carried() if self.has_copies else ():
            # The first entries may be copies of the initial objects.
            note_shown(thing for thing, _ in made_in(one.place, one.form, start_of(one.place)))
        for key, one in self.changed.items():
            before = one.place.get()
            if isinstance(one.form, Slots) and is_of_rows(one.form):
                self._withdraw(one.form, one.place)
            if one.form is None:
                # The object that the last iteration created is not known.
                last: Object = Unread(key, is_behind=True)
                if self.may_not_run:
                    with suppress(Unjoinable):
                        last = chosen(first, last, before)
                put(one.place, last)
            elif self.may_not_run:
                put(one.place, or_before(first, one.form, made[key], before, is_contents=isinstance(one.place, Contents)))
            else:
                put(one.place, made[key])
        number = n
        for place, forms in self.added.values():
            width = sum(len(form.blank()) for form in forms)
            of_items = [k in self.conditions for k in range(number, number + width)]
            columns = [listed(self.streams[0] if one else GET(returned, k=k)) for k, one in enumerate(of_items, number)]
            if self.source is not None:
                self.source.note_conditions([column for column, one in zip(columns, of_items) if one])
            for column, kind in zip(columns, self.kinds_added[number - n :]):
                for leaf in column:
                    note_kind(leaf, kind)
            number += width
            rows = zip(*columns) if columns else ((),) * (count or 0)
            entries = [(form, form.made(row)) for row in map(iter, rows) for form in forms]
            put(place, [*place.get(), *(entry for _, entry in entries)])
            for form, entry in entries if self.has_copies else ():
                note_shown(made_anew(form, entry))
        for one in self._carried() if self.has_copies else ():
            note_shown(thing for thing, _ in made_in(one.place, one.form, one.place.get()))


def _code_of(block: Object) -> Object:
    """A block's code."""
    while type(block) is WithCells:
        block = block.blocks[0]
    return getattr(block, "__code__", None)


def _value_of(leaf: Object) -> Object:
    return leaf._value if hasattr(leaf, "_value") else leaf
