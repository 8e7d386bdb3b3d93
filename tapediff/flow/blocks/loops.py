"""Loops that data end: one instruction, whose carries are the places that an iteration changes.

An iteration is recorded on its own, with no carries at first; what it changes becomes a carry, and it is recorded again until nothing new
is changed and every carry keeps its form. Values of the recording around are captured as constants of the loop.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...base.source_location import user_site
from ...functions.callees.tape_callee import callee_of
from ...ir.instruction import BOOL
from ...ir.tape import Tape
from ...ops.control.calls import GET, LOOP, LoopForm
from ...recording.finish import finished_tape
from ...recording.recorder import Recorder, current_recorder
from ..anything import Object
from ..calls.truth import truth
from ..state.completions import Completion, Conditional, Return, ends, replaced
from ..state.fork import WithCells, conditional, exclude, fork, fork_value, in_side, observed, where_ends
from ..state.joins import join
from ..state.places import Contents, Entry, Journal, Place, Version, put, undo
from ..state.values import UNBOUND, Unjoinable, both, negated, state
from .blocks import BREAK, Block, Ends, after_loop, is_normal, without_continue
from .carries import Form, as_leaf, form_at
from .exceptions import attempted

# So often the carries' forms may become wider.
MOST_ATTEMPTS = 12


def while_(test: Callable[[], Object], body: Callable[[], Completion] | None, otherwise: Block) -> Completion:
    """while test(): body()"""
    loop = Ends()
    while True:
        t = truth(test()) if loop.alive is True else None
        if t is False:
            return loop.end(otherwise)
        if t is not True:
            return data_loop(loop, test, t, body, otherwise)
        if body is not None and not loop.run(body):
            return after_loop(loop.found)


def data_loop(loop: Ends, test: Callable[[], Object], first: Object, body: Block, otherwise: Block) -> Completion:
    """The rest of a `while` loop that data end."""
    if first is None:
        first = fork_value(loop.alive, WithCells(lambda: truth(test()), test), lambda: False)
        first = truth(first)
    if first is False:
        return loop.end(otherwise)
    try:
        return _recorded(loop, test, first, body, otherwise)
    except Unjoinable as why:
        if state.journals:
            raise
        state.why.append(str(why))
    return _by_guards(loop, test, first, body, otherwise)


def _by_guards(loop: Ends, test: Object, first: Object, body: Object, otherwise: Object) -> Completion:
    """Iteration by iteration, with a guard on each test."""
    t = first
    while True:
        if loop.alive is not True:
            if not observed(loop.alive):
                return after_loop(loop.found)
            loop.alive, loop.found = True, []
            t = truth(test())
        if type(t) is not bool:
            t = observed(t)
        if not t:
            return loop.end(otherwise)
        if body is not None and not loop.run(body):
            return after_loop(loop.found)
        t = truth(test()) if loop.alive is True else None


class _Exits:
    """The exits of a loop, as places that its iterations change."""

    def __init__(self) -> None:
        self.namespace: dict[str, Object] = {"broken": False, "returned": False, "value": UNBOUND, "goes on": False}
        self.errors: list[BaseException] = []

    def place(self, name: str) -> Place:
        return Entry(self.namespace, name)


def _recorded(loop: Ends, test: Object, first: Object, body: Object, otherwise: Object) -> Completion:
    exits = _Exits()
    cells = WithCells(lambda: None, test, body)
    places: dict[Object, Place] = {}
    forms: dict[Object, Form] = {}
    for _ in range(MOST_ATTEMPTS):
        attempt = _Attempt(places, forms, exits)
        tape = attempt.record(lambda: _iteration(test, body, exits), cells)
        if tape is not None:
            break
    else:
        raise Unjoinable("what a loop changes has no end")
    if tape.guard_count:
        raise Unjoinable("a guard within a loop that data end")
    _enter_loop(tape, attempt, first)
    return _end_of_loop(loop, exits, otherwise)


def _iteration(test: Object, body: Object, exits: _Exits) -> Object:
    """One iteration; whether there is another one."""

    def run() -> None:
        completion = replaced(None if body is None else body(), without_continue)
        for end in filter(None, ends(completion)):
            _leave(exits, end, where_ends(completion, lambda e, end=end: e is end))
        normal = where_ends(completion, is_normal)
        part = WithCells(lambda: truth(test()), test)
        put(exits.place("goes on"), False if normal is False else part() if normal is True else fork_value(normal, part, lambda: False))

    def fail(error: BaseException) -> None:
        # It ends the loop, and is raised behind it.
        name = f"error {_number_of(exits, error)}"
        exits.namespace.setdefault(name, False)
        put(exits.place(name), True)
        put(exits.place("goes on"), False)

    attempted(WithCells(run, test, body), fail, lambda end: end)
    return truth(exits.namespace["goes on"])


def _leave(exits: _Exits, end: Object, when: Object) -> None:
    def note() -> None:
        if end is BREAK:
            put(exits.place("broken"), True)
        else:
            put(exits.place("returned"), True)
            put(exits.place("value"), end.value)

    if when is True:
        note()
    else:
        fork(when, note, None)


def _number_of(exits: _Exits, error: BaseException) -> int:
    """Errors of one kind and text are one."""
    for k, known in enumerate(exits.errors):
        if type(known) is type(error) and known.args == error.args:
            return k
    exits.errors.append(error)
    return len(exits.errors) - 1


class _Attempt:
    """One recording of an iteration.

    Attributes:
        outer: for each captured input the value of the recording around.
    """

    def __init__(self, places: dict[Object, Place], forms: dict[Object, Form], exits: _Exits) -> None:
        self.places, self.forms, self.exits = places, forms, exits
        self.start: dict[Object, list[Object]] = {}
        self.outer: list[Object] = []

    def record(self, iteration: Callable[[], Object], cells: Object) -> Tape | None:
        """The tape of an iteration; None if it changes more than was thought, which is noted."""
        for key, place in self.places.items():
            leaves = self.forms[key].leaves(place.get())
            if leaves is None:
                self.forms[key] = self.forms[key].wider(place.get())
                return None
            self.start[key] = [as_leaf(leaf) for leaf in leaves]
        recorder = Recorder("an iteration")
        # Facts about its values are keyed by its address, which no other recording may get.
        state.recorders.append(recorder)
        outer = current_recorder()
        recorder.fills = outer.fills
        saved = state.path, state.facts, state.is_in_loop
        state.path, journal = [], {}
        state.is_in_loop = True
        state.journals.append(journal)
        try:
            return recorder.run(self._run, iteration, cells, journal)
        finally:
            state.journals.pop()
            state.path, state.facts, state.is_in_loop = saved
            self.outer = recorder.captured

    def _run(self, recorder: Recorder, iteration: Callable[[], Object], cells: Object, journal: Journal) -> Tape | None:
        recorder.is_called, recorder.asked, recorder.raise_where = True, in_side, exclude
        gc.collect(0)
        arrays: list[tuple[Object, Object]] = []
        try:
            for cell in cells.cells:
                from ..state.places import Cell, note

                note(Cell(cell))
            for key, place in self.places.items():
                values = [_value_of(leaf) for leaf in self.start[key]]
                leaves = iter([recorder.input(value, active=np.asarray(value).dtype.kind == "f") for value in values])
                made = self.forms[key].made(leaves)
                if isinstance(place, Version):
                    if key not in journal:
                        journal[key] = place, place.get()
                    arrays.append((place.holder, place.holder._recorder))
                    place.holder._recorder = recorder
                put(place, made)
            go = iteration()
            results: list[Object] = []
            is_new = self._note_changes(journal)
            for key, place in self.places.items() if not is_new else ():
                leaves = self.forms[key].leaves(place.get())
                if leaves is None:
                    self.forms[key] = self.forms[key].wider(place.get())
                    is_new = True
                else:
                    results += [_typed(leaf, first) for leaf, first in zip(leaves, self.start[key])]
            if is_new:
                return None
            return finished_tape(recorder, (*results, as_leaf(go, BOOL)))
        finally:
            for array, before in arrays:
                array._recorder = before
            undo(journal)

    def _note_changes(self, journal: Journal) -> bool:
        """Make carries of places that were changed and are no carries yet; those of objects that the iteration has made are left out."""
        new = {key: place for key, (place, old) in journal.items() if key not in self.places and _differs(place.get(), old)}
        if not new:
            return False
        young = {id(made) for made in gc.get_objects(generation=0)}
        found = False
        for key, place in new.items():
            holder = place.holder
            if id(holder) in young or (not gc.is_tracked(holder) and sys.getrefcount(holder) <= _OWN_REFERENCES):
                continue
            old = journal[key][1]
            form = form_at(place, old)
            value = place.get()
            self.places[key], self.forms[key] = place, form if form.leaves(value) is not None else form.wider(value)
            found = True
        return found


_OWN_REFERENCES = 3


def _differs(a: Object, b: Object) -> bool:
    if a is b:
        return False
    if isinstance(a, (list, dict, set)) and type(a) is type(b) and len(a) == len(b):
        parts = zip(a.values(), b.values()) if isinstance(a, dict) else zip(a, b)
        return any(x is not y for x, y in parts) or (isinstance(a, dict) and list(a) != list(b))
    return _is_other_value(a, b)


def _is_other_value(a: Object, b: Object) -> bool:
    return not hasattr(a, "_id") or not hasattr(b, "_id") or a._id != b._id or a._recorder is not b._recorder


def _value_of(leaf: Object) -> Object:
    return leaf._value if hasattr(leaf, "_value") else leaf


def _typed(leaf: Object, first: Object) -> Object:
    """A result in the dtype of the carry."""
    wanted = np.asarray(_value_of(first)).dtype
    if hasattr(leaf, "_value"):
        return leaf if leaf.dtype == wanted else leaf.astype(wanted)
    return np.asarray(leaf, wanted)[()]


def _enter_loop(tape: Tape, attempt: _Attempt, first: Object) -> None:
    """Record the loop, and put its last carries into their places."""
    carries = [leaf for key in attempt.places for leaf in attempt.start[key]]
    n = len(carries)
    form = LoopForm(n, 0, len(attempt.outer), None, stops=True, most=None, site=str(user_site()))
    operands = [as_leaf(first, BOOL), *carries, *attempt.outer]
    returned = LOOP(*operands, callee=callee_of(tape), form=form)
    leaves = iter([GET(returned, k=k) for k in range(n)])
    for key, place in attempt.places.items():
        value = attempt.forms[key].made(leaves)
        put(place, value)


def _end_of_loop(loop: Ends, exits: _Exits, otherwise: Object) -> Completion:
    """The completion of the whole loop."""
    found = exits.namespace
    for number, error in enumerate(exits.errors):
        flag = truth(found.get(f"error {number}", False))
        if flag is not False:
            exclude(flag, lambda error=error: error)
    completion: Completion = None
    broken, returned = truth(found["broken"]), truth(found["returned"])
    if broken is not False:
        completion = BREAK if broken is True else Conditional(broken, BREAK, None)
    if returned is not False:
        value = _bound(found["value"])
        completion = Return(value) if returned is True else Conditional(returned, Return(value), completion)
    if completion is not None:
        loop.found.append(completion)
        normal = where_ends(completion, is_normal)
        loop.alive = False if normal is False else both(loop.alive, normal)
    return loop.end(otherwise)


def _bound(value: Object) -> Object:
    """The value of a `return`, where there was one."""
    from ..state.values import Choice

    if type(value) is not Choice:
        return value
    kept = [k for k, option in enumerate(value.options) if option is not UNBOUND]
    options = [value.options[k] for k in kept]
    if len(options) == 1:
        return options[0]
    # Where nothing was returned no one reads it.
    first: Object = value.conditions[kept[1]]
    for k in kept[2:]:
        first = first | value.conditions[k]
    return Choice(tuple(options), (negated(first), *(value.conditions[k] for k in kept[1:])))


__all__ = ["Contents", "Tape", "conditional", "data_loop", "join", "replace"]
