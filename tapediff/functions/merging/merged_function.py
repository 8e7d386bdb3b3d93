"""Merged functions: the functions of one GuardedTape with their branches on data as selects, and which branches were refused."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ...base.source_location import Site, is_library_file
from ...errors import TapediffError, UnsupportedFunction
from ...ir.instruction import BOOL, Guard
from ...ir.tape import Tape
from ...ops.control.calls import CALL, LOOP
from ...recording.recorder import UsersLine
from ..captured.outside_state import OutsideState
from .facts import Facts, body_of
from .nodes import RUN_TIME, copied
from .prepare.arrays.gathers import reads_entries
from .prepare.known_forms import Asked, Form, forms_of, is_fixed, keep_form
from .prepare.long_loops.which_loops import (
    AROUND_LOOPS,
    COUNTED_BY_DATA,
    LONG_LOOP,
    Loop,
    Nest,
    lines_of_tests,
    loops_around,
    turns_around,
)
from .prepare.source import Definition, NoSource, compile_within, definition_of, is_generator, is_rebound
from .prepare.wrappers import around
from .purity import Checked, check_statements
from .regions.region_calls import Region
from .regions.regions import REGION
from .rewrite import SELECT, AsksIdentity, Rewriter
from .rules import (
    FIRST_TURN,
    KINDS,
    LONG,
    OF_FIRST_TURNS,
    OF_KINDS,
    WHOLE_LOOP,
    Breach,
    Broken,
    Place,
    Refused,
    StandsInLong,
    TurnedOutLong,
    Without,
)
from .run_time.run_time import RunTime, Scan, WhileLoop

# Branches are refused one at a time, each after a recording.
MOST_ATTEMPTS = 40


class MergedFunctions:
    """The functions that a recording calls, in their merged forms.

    Args:
        while_loop: td.while_loop.
        is_body: of a callee, which must not be given up while it runs: its branches are no sub-tapes, and turns of its loops do not branch.
        results_are_data: the functions whose ints and bools are data for whoever calls them, which no other function does.
        scan: the loop of td.scan; None where long loops are not asked for.

    Attributes:
        lines: by code, the lines at which recordings had guards on bools.
        look_ups: the same of guards on whole numbers, where entries are read at positions that are no constants.
        long_loops: the lines of `for` loops that have made recordings long.
        refused: by code and place, why a branch stays one.
        failed: why nothing is merged any more; None while something is.
    """

    def __init__(
        self, while_loop: WhileLoop, is_body: bool = False, results_are_data: Collection[CodeType] = (), scan: Scan | None = None
    ) -> None:
        self._while_loop, self._is_body, self._results_are_data, self._scan = while_loop, is_body, results_are_data, scan
        self.long_loops: dict[CodeType, frozenset[int]] = {}
        self.lines: dict[CodeType, set[int]] = {}
        self.look_ups: dict[CodeType, set[int]] = {}
        # Lines of which tells_news has told.
        self._told = set[tuple[str, int]]()
        # Whether entries are read as they were, because something was amiss with such a form.
        self._leaves_entries = False
        self.refused: dict[tuple[CodeType, Place | None], Breach] = {}
        self.sites: dict[CodeType, dict[Place, str]] = {}
        self.failed: str | None = None
        self._made: dict[tuple[CodeType, int], CodeType | None] = {}
        self._checked: dict[tuple[CodeType, int], CodeType | None] = {}
        # The functions that were rewritten, and whether others call them.
        self._asked: dict[tuple[CodeType, int], tuple[FunctionType, bool]] = {}
        # By function, address of the code of the form, and whether it is called by another one.
        self._forms: dict[tuple[FunctionType, int, bool], FunctionType] = {}
        # By the code of a merged form, that of the function.
        self._origins: dict[CodeType, CodeType] = {}
        # What the global names in a function stood for when it was rewritten.
        self._resolved: dict[tuple[CodeType, int], dict[str, object]] = {}
        self._regions: dict[object, Region] = {}
        self._states: dict[Hashable, OutsideState] = {}
        # Where functions that only compute values begin.
        self._heads: dict[CodeType, Place] = {}

    def note_guards(self, guards: Iterable[Guard]) -> bool:
        """Note where a recording looked at values; whether the forms of functions are others now."""
        is_news = False
        for lines, code, line in self._news(guards):
            lines.setdefault(code, set()).add(line)
            is_news = True
        return is_news and self._are_others()

    def tells_news(self, guards: Iterable[Guard]) -> bool:
        """Whether a recording looked at values on lines that are not known to; of each line it is said once."""
        found = {(code.co_filename, line) for _, code, line in self._news(guards)} - self._told
        self._told |= found
        return bool(found)

    def has_news(self, guards: Iterable[Guard]) -> bool:
        """Whether a recording looked at values where none did before."""
        return any(self._news(guards))

    def _news(self, guards: Iterable[Guard]) -> Iterator[tuple[dict[CodeType, set[int]], CodeType, int]]:
        for guard in guards:
            if not isinstance(guard.site, Site) or not (type(guard.outcome) in (bool, int) or is_of_positions(guard) or is_of_mask(guard)):
                continue
            code, line = self._origins.get(guard.site.code, guard.site.code), guard.site.line
            lines = self.lines if type(guard.outcome) is bool else self.look_ups
            if line in lines.get(code, ()):
                continue
            if lines is self.look_ups and (self._leaves_entries or not reads_entries(code, line, is_of_mask(guard))):
                continue
            yield lines, code, line

    def note_long_loops(self, lines: Sequence[UsersLine], least: Nest) -> bool:
        """Note the loops around lines that a long recording has come to; whether one of them is made otherwise now.

        Args:
            least: how long they have to be in a nest.
        """
        is_news = False
        if any(line.has_iterators for line in lines):
            return False  # what it has used up is gone
        for made, line, names, _ in lines:
            code = self._origins.get(made, made)
            is_news |= self._note_long(code, loops_around(code, line, names, least))
        if is_news:
            self._forget()
        return is_news

    def _note_around(self, lines: Sequence[UsersLine]) -> bool:
        """Note the loops around one that data ends, and that is recorded for each of their turns; whether one of them is made otherwise."""
        return self._scan is not None and self.note_long_loops(lines, AROUND_LOOPS)

    def turns_around(self, lines: Sequence[UsersLine]) -> int:
        """How many turns the loops around the lines that a recording has come to have together, as far as that is known."""
        return math.prod([turns_around(self._origins.get(made, made), line, names) for made, line, names, _ in lines])

    def _note_long(self, code: CodeType, loops: Sequence[Loop]) -> bool:
        """Note loops of a function as long ones; whether one of them was not known as such."""
        known = self.long_loops.get(code, frozenset[int]())
        if known.issuperset(loop.lineno for loop in loops):
            return False
        self.long_loops[code] = known.union(loop.lineno for loop in loops)
        # A position that a turn reads at is data then.
        within = (k for loop in loops for k in range(loop.lineno, (loop.end_lineno or loop.lineno) + 1))
        self.look_ups.setdefault(code, set()).update(within)
        # And so is what it asks of an entry there.
        self.lines.setdefault(code, set()).update(line for loop in loops for line in lines_of_tests(loop))
        return True

    @property
    def may_have_long_loops(self) -> bool:
        """Whether of one of the loops that have made recordings long it is not known that all its turns are recorded."""
        if any(form == COUNTED_BY_DATA for sites in self.sites.values() for form in sites.values()):
            return True
        known = {(code, place[0]) for code, place in self.refused if place is not None and place[2:] == (LONG,)}
        # Without its first turn it may be one of which one turn is recorded.
        known -= {(code, line) for code, sites in self.sites.items() for (line, _), form in sites.items() if form == LONG_LOOP}
        return any((code, line) not in known for code, lines in self.long_loops.items() for line in lines)

    @property
    def has_guards(self) -> bool:
        """Whether recordings have looked at values in a way that may be merged."""
        return bool(self.lines or self.look_ups)

    def leave_entries(self) -> bool:
        """Read entries as the functions do; whether they were read in another way."""
        were_others = bool(self.look_ups)
        self._leaves_entries = True
        if were_others:
            self.look_ups.clear()
            self._forget()
        return were_others

    def _are_others(self) -> bool:
        """Rewrite functions again; whether they are others now: the checks of a side that no recording has reached before make none."""
        made, checked = dict(self._made), dict(self._checked)
        forms, regions, states = dict(self._forms), dict(self._regions), dict(self._states)
        self._forget()
        if not made and not checked:
            return True
        try:
            for key in made:
                self._function(*self._asked[key])
            for key in checked:
                self.checked(self._asked[key][0])
        except TapediffError:
            return True
        if (self._made, self._checked) != (made, checked):
            return True
        # What was recorded holds on to these.
        self._made, self._checked, self._forms = made, checked, forms
        self._regions.update(regions)
        self._states.update(states)
        return False

    def refuse(self, refused: Refused) -> bool:
        """Let a branch stay a branch; whether it was not one already, so that another function is at fault."""
        code = self._origins.get(refused.code, refused.code)
        if isinstance(refused, StandsInLong):
            return True
        if isinstance(refused, TurnedOutLong):
            line = refused.place[0]
            loops = [loop for loop in loops_around(code, line, {}) if isinstance(loop, ast.While) and loop.lineno == line]
            if self._note_long(code, loops):
                self._forget()
                return True
        key = code, None if refused.is_all else refused.place
        is_news = key not in self.refused
        self._note_refused(*key, refused.breach)
        if refused.is_all or self._heads.get(code) == refused.place:
            self._checked |= {key: None for key in self._checked if key[0] == code}
        self._forget()
        return is_news

    def _note_refused(self, code: CodeType, place: Place | None, breach: Breach) -> None:
        """Note why a branch or loop stays one, and whether a loop may do without its first turn."""
        self.refused[code, place] = breach
        if place is not None and place[2:] in ((LONG,), (WHOLE_LOOP,)):
            for form, rules in ((FIRST_TURN, OF_FIRST_TURNS), (KINDS, OF_KINDS)):
                if breach.rule not in rules:
                    self.refused.setdefault((code, (*place[:2], form)), breach)

    def _forget(self) -> None:
        """Rewrite functions again; those that do more than compute values still do."""
        self._made.clear()
        self.sites.clear()
        self._forms.clear()
        self._regions.clear()
        self._states.clear()
        self._checked = {key: None for key, made in self._checked.items() if made is None}

    def report(self, tapes: Sequence[Tape]) -> list[str]:
        """Which branches are merged, in which form and with how many paths through it, and why others are not.

        Args:
            tapes: those of the merged form.
        """
        paths = paths_by_line(tapes, self._origins)
        found = [(code, line, form) for code, sites in self.sites.items() for (line, _), form in sites.items()]
        lines = [(code.co_name, line, f"merged, as {form}{_count(form, paths.get((code, line), 0))}") for code, line, form in found]
        lines += [(code.co_name, breach.line, breach.text) for code, breach in (*self._final(), *self._outcomes())]
        title = "branches that are merged, and why others are not"
        return [title, *(f"  {name}, line {line}: {text}" for name, line, text in sorted(set(lines)))] if lines else []

    def reasons(self) -> list[str]:
        """Why branches that are not merged are not, in the order in which that was found; and those that are, but have outcomes."""
        return [f"{code.co_name}, line {breach.line}: {breach.text}" for code, breach in (*self._final(), *self._outcomes())]

    def _final(self) -> list[tuple[CodeType, Breach]]:
        """The breaches of branches that are not merged: of several forms that of the one which says most."""
        merged = {(code, line) for code, sites in self.sites.items() for line, _ in sites}
        found: dict[tuple[CodeType, int], Breach] = {}
        for (code, place), breach in self.refused.items():
            if place is not None and place[2:] in ((FIRST_TURN,), (KINDS,)):
                continue  # without its first turn it was refused as well
            known = found.get((code, breach.line))
            if (code, breach.line) not in merged and (known is None or (breach.needed and not known.needed)):
                found[code, breach.line] = breach
        return [(code, breach) for (code, _), breach in found.items()]

    def _outcomes(self) -> list[tuple[CodeType, Breach]]:
        """The regions that give other values than data, so that a guard asks which."""
        found: dict[tuple[CodeType, int], Breach] = {}
        for region in self._regions.values():
            if region.kept is not None and region.place[0] in {line for line, _ in self.sites.get(region.code, ())}:
                value, needed = region.kept
                found[region.code, region.place[0]] = Breach("outcomes", region.place[0], f"it gives {value!r}", needed)
        return [(code, breach) for (code, _), breach in found.items()]

    def of(self, f: Callable[..., Any]) -> Callable[..., Any] | None:
        """The merged form of a function, method, partial or callable object; None if nothing in it is merged."""
        if type(f) is not FunctionType:
            return around(f, self.of)
        merged = self._function(f, is_helper=False)
        return None if merged is f else merged

    def helper(self, function: FunctionType) -> FunctionType:
        """A function that another one calls, in its merged form, or itself."""
        if function.__code__ in self._results_are_data:
            breach = Breach("numbers", function.__code__.co_firstlineno, "functions that it calls call it again")
            raise Refused(function.__code__, (breach.line, 0), breach, is_all=True)
        return self._function(function, is_helper=True)

    def _function(self, function: FunctionType, is_helper: bool) -> FunctionType:
        key = _key_of(function)
        self._asked[key] = function, is_helper
        if any(_named(function.__globals__, name) is not found for name, found in self._resolved.get(key, {}).items()):
            self._made.pop(key, None)
            self._checked.pop(key, None)
        if key not in self._made:
            self._made[key] = self._rewritten(function, is_helper)
        made = self._made[key]
        return function if made is None else self._with_run_time(function, made, is_helper)

    def _with_run_time(self, function: FunctionType, made: CodeType, is_helper: bool) -> FunctionType:
        """The function with another code, which calls the run time."""
        known = self._forms.get((function, id(made), is_helper))
        if known is not None and known.__defaults__ is function.__defaults__ and known.__kwdefaults__ is function.__kwdefaults__:
            return known
        code = function.__code__
        cells = dict(zip(code.co_freevars, function.__closure__ or ()))
        shared = self._while_loop, self._scan, self._regions, self._states, self._note_around, self.turns_around
        cells[RUN_TIME] = CellType(RunTime(code, self.helper, self.checked, is_helper, self._is_body, *shared))
        closure = tuple(cells[name] for name in made.co_freevars)
        merged = FunctionType(made, function.__globals__, function.__name__, function.__defaults__, closure)
        merged.__kwdefaults__, merged.__qualname__, merged.__module__ = function.__kwdefaults__, function.__qualname__, function.__module__
        if function.__closure__ is None:
            # Those that close over variables are often made anew, each time they are called.
            self._forms[function, id(made), is_helper] = merged
        return merged

    def checked(self, function: FunctionType) -> FunctionType | None:
        """A function that only computes values, with checks of the functions that it calls; None if it does more."""
        key = _key_of(function)
        if key not in self._checked:
            self._asked.setdefault(key, (function, True))
            self._checked[key] = self._checked_code(function)
        made = self._checked[key]
        return None if made is None else self._with_run_time(function, made, True)

    def _checked_code(self, function: FunctionType) -> CodeType | None:
        code = function.__code__
        if code.co_flags & _UNUSUAL:
            return None
        try:
            definition = copied(definition_of(code))
            check_statements(body_of(definition))
            if (code, None) not in self.refused:
                definition, facts = self._definition(definition, function, True)
                # A function that calls itself has merged branches where it is called first.
                self.sites[code] = facts.sites | self.sites.get(code, {})
            checked = Checked(definition)
            if isinstance(definition, ast.Lambda):
                definition.body = checked.visit(definition.body)
            else:
                definition.body, definition.decorator_list, definition.returns = checked.statements(definition.body), [], None
        except Without as without:
            self._note_refused(code, without.place, without.breach)
            return self._checked_code(function)
        except (NoSource, Broken, RecursionError):
            return None
        self._heads[code] = definition.lineno, definition.col_offset
        made = compile_within(definition, code, (*code.co_freevars, RUN_TIME))
        if made is not None:
            self._origins |= dict.fromkeys(_parts(made), code)
        return made

    def _lines_of(self, code: CodeType) -> set[int]:
        return set().union(*(self.lines.get(part, ()) for part in _comprehensions(code)))

    def _look_ups_of(self, code: CodeType) -> frozenset[int]:
        return frozenset().union(*(self.look_ups.get(part, ()) for part in _comprehensions(code)))

    def _calls_helpers(self, code: CodeType) -> bool:
        """Whether another function than this one had guards."""
        return any(other is not code for lines in (self.lines, self.look_ups, self.long_loops) for other in lines)

    def _may_merge(self, code: CodeType, place: Place) -> bool:
        is_region = len(place) == 3 and place[2] == REGION
        return (code, place) not in self.refused and not (self._is_body and is_region)

    def _may_look_into(self, known: Mapping[str, object], function: FunctionType) -> bool:
        """Whether what a function does with numbers is asked: it has these global names, and none of the numbers was refused."""
        return function.__globals__ is known and (function.__code__, None) not in self.refused

    def _definition(
        self, definition: Definition, function: FunctionType, in_region: bool, asked: Asked | None = None
    ) -> tuple[Definition, Facts]:
        """The definition of a function with its branches merged. `asked`: notes what that depends on."""
        code, known = function.__code__, function.__globals__

        resolved = self._resolved[code, id(known)] = {}

        def resolve(name: str) -> object:
            resolved[name] = found = _named(known, name)
            return None if is_rebound(code.co_filename, name) else found

        asked = asked or Asked(code)
        may_merge, lines_of = partial(asked.may_merge, self._may_merge), partial(asked.lines_of, self._lines_of)
        given = self._lines_of(code), self._look_ups_of(code)
        look_into = partial(asked.look_into, partial(self._may_look_into, known))
        # What a generator hands out leaves it turn by turn.
        long_loops = frozenset[int]() if is_generator(code) else self.long_loops.get(code, frozenset())
        is_data, modules = code in self._results_are_data, _modules_of(function)
        facts = Facts(definition, code, resolve, *given, may_merge, lines_of, look_into, is_data, long_loops, modules)
        calls_helpers = self._calls_helpers(code)
        return Rewriter(definition, facts, calls_helpers or in_region, in_region).rewritten(), facts

    def _rewritten(self, function: FunctionType, is_helper: bool) -> CodeType | None:
        code = function.__code__
        lines = self._lines_of(code)
        calls_helpers = self._calls_helpers(code)
        has_guards = bool(lines or calls_helpers or self._look_ups_of(code))
        if is_library_file(code.co_filename) or not has_guards or (code, None) in self.refused:
            return None
        if code.co_flags & _UNUSUAL and not is_generator(code):
            return None
        try:
            form = self._known_form(function, lines) or self._new_form(function, lines)
        except NoSource as missing:
            self.refused[code, None] = Breach("source", code.co_firstlineno, str(missing))
            return None
        except Broken as broken:
            if is_helper and isinstance(broken, AsksIdentity):
                # Its arguments may be chosen already.
                raise UnsupportedFunction(f"{code.co_name}: {broken.breach.got}") from broken
            self.refused[code, None] = broken.breach
            return None
        except Without as without:
            self._note_refused(code, without.place, without.breach)
            return self._rewritten(function, is_helper)
        except RecursionError:
            self.refused[code, None] = Breach("cost", code.co_firstlineno, "it is nested too deeply")
            return None
        self._resolved[_key_of(function)] = form.resolved
        for breach in form.breaches:
            self.refused.setdefault((code, (breach.line, -1)), breach)
        self.sites[code] = dict(form.sites)
        if form.made is not None:
            self._origins |= dict.fromkeys(_parts(form.made), code)
        return form.made

    def _given(self, code: CodeType, lines: Collection[int]) -> Hashable:
        is_data = code in self._results_are_data
        return frozenset(lines), self._look_ups_of(code), self._calls_helpers(code), self._is_body, is_data, self.long_loops.get(code)

    def _known_form(self, function: FunctionType, lines: Collection[int]) -> Form | None:
        """A form that was made before, also for another recording, of all the same."""
        code, known = function.__code__, function.__globals__
        resolve, may_merge = partial(_named, known), partial(self._may_merge, code)
        may_look_into, given = partial(self._may_look_into, known), self._given(code, lines)
        return next((form for form in forms_of(code) if form.is_for(given, resolve, may_merge, may_look_into)), None)

    def _new_form(self, function: FunctionType, lines: Collection[int]) -> Form:
        code = function.__code__
        given, asked = self._given(code, lines), Asked(code)
        changed, facts = self._definition(copied(definition_of(code)), function, False, asked)
        # The only function that looks at data may have no branch that is merged.
        is_none = not facts.sites and not self._calls_helpers(code)
        made = None if is_none else compile_within(changed, code, (*code.co_freevars, RUN_TIME))
        resolved = self._resolved[_key_of(function)]
        form = Form(given, resolved, asked.merges, asked.looks, made, dict(facts.sites), tuple(facts.breaches))
        if not asked.others and all(map(is_fixed, resolved.values())):
            keep_form(code, form)
        return form


def is_of_positions(guard: Guard) -> bool:
    """Whether a guard is on an array of whole numbers, as where a plain array is read at these positions."""
    return isinstance(guard.outcome, np.ndarray) and guard.outcome.dtype.kind == "i"


def is_of_mask(guard: Guard) -> bool:
    """Whether a guard is on a mask, as where it selects entries of an array."""
    return isinstance(guard.outcome, np.ndarray) and guard.outcome.dtype == BOOL


def _key_of(function: FunctionType) -> tuple[CodeType, int]:
    """Identifies a function: equal codes may belong to functions of different modules."""
    return function.__code__, id(function.__globals__)


def paths_by_line(tapes: Sequence[Tape], origins: Mapping[CodeType, CodeType]) -> dict[tuple[CodeType, int], int]:
    """The number of paths through the sub-tapes and loops that were called from each line of the user's functions."""
    found: dict[tuple[CodeType, int], int] = {}
    pending, seen = list(tapes), set[int]()
    while pending:
        tape = pending.pop()
        for op, _, params, _, site in tape.instructions:
            variants = getattr(params[0], "variants", None) if op in (CALL, LOOP) else None
            if variants is None or id(params[0]) in seen:
                continue
            seen.add(id(params[0]))
            # Of one path, or by number.
            pending += [variant.tape for variant in (variants.values() if isinstance(variants, Mapping) else variants)]
            if isinstance(site, Site):
                at = origins.get(site.code, site.code), site.line
                found[at] = found.get(at, 0) + len(variants)
    return found


def _count(form: str, paths: int) -> str:
    return f", with {paths} paths" if paths > 1 and form != SELECT else ""


def _comprehensions(code: CodeType) -> list[CodeType]:
    """A code, and those of comprehensions in it."""
    return _inner(code, lambda name: name in _COMPREHENSIONS)


def _parts(code: CodeType) -> list[CodeType]:
    """The code of a merged form, and those of comprehensions, turns of loops and sides of branches in it."""
    return _inner(code, lambda name: name in _COMPREHENSIONS or name.startswith("."))


def _inner(code: CodeType, is_part: Callable[[str], bool]) -> list[CodeType]:
    found, pending = [code], [code]
    while pending:
        inner = [c for c in pending.pop().co_consts if isinstance(c, CodeType) and is_part(c.co_name)]
        found += inner
        pending += inner
    return found


_COMPREHENSIONS = ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")


def _modules_of(function: FunctionType) -> dict[str, ModuleType]:
    """The arguments of a function that are modules unless they are given."""
    code, given = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(given) :]
    found = {**dict(zip(names, given)), **(function.__kwdefaults__ or {})}
    return {name: value for name, value in found.items() if type(value) is ModuleType}


def _named(known: Mapping[str, object], name: str) -> object:
    """The object that a global or built-in name stands for; None if there is none."""
    return known[name] if name in known else getattr(builtins, name, None)


_UNUSUAL = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR
