"""Calls of untranslated code: Python's builtins, NumPy, libraries.

Sides run only functions without side effects, as nothing else can be undone; the journal notes mutated containers.
"""

from __future__ import annotations

import collections
import functools
import gc
import heapq
import itertools
import math
import operator
from collections import deque
from enum import EnumMeta
from operator import itemgetter
from types import (
    BuiltinFunctionType,
    BuiltinMethodType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)

import numpy as np

from ...base.byte_code import is_held_elsewhere
from ...base.current_recording import current_recorder
from ...numpy_api.creating import as_array, holds_tracked
from ...ops.control.calls import CALL, LOOP
from ...recording.arrays.tracked import Entries, TrackedArray
from ...recording.python_state.filled_arrays import FILLED, ORIGINALS, RARE_MAKERS, Fills
from ...recording.python_state.list_arguments import DISPATCHED, form_of
from ...recording.python_state.math_functions import MathFunction, replacement_of
from ...recording.python_state.numpy_namespace import LEAST_FILLS, answer_of
from ...recording.python_state.replacement import Replacement
from ..anything import Object
from ..calls.callables import call, function
from ..containers import rows
from ..containers.choices import as_value, mapped, possible
from ..containers.cursors import Cursor
from ..containers.entries import is_conditional, settled_contents, settled_deeply
from ..containers.generators import Generator
from ..containers.items import owned, refuse_iterators
from ..containers.keys import Empty
from ..containers.lengths import by_lengths
from ..containers.views import viewed
from ..operations.divisions import may_be_zero_of_ints, zero_of_ints
from ..operations.tests_of_values import check_text
from ..state.fork import guarded, refuse, refuse_store, speculate
from ..state.identities import AsksIdentities
from ..state.joins import MOST_OPTIONS
from ..state.numbers.bounds import as_choice
from ..state.numbers.python_numbers import note_python, types_of
from ..state.places import are_restorable, has_copies, note_attribute, note_contents
from ..state.values import CHOICES, Choice, Unjoinable, WritesJoined, has_maybes, is_by_index, lifted, state
from ..translate import translation_of
from ..users_code import is_users
from .arguments import INDEXED, NATIVE
from .draws import drawn
from .numbers import Unchanged
from .of_lengths import compressed_list, of_length
from .programs import INDIFFERENT, METHODS, PROGRAMS, Program
from .users_methods import may_ask, method_for, taken_out

# Modules whose functions change only their arguments, with the exceptions below.
_PURE = frozenset(
    ("builtins", "numpy", "scipy", "math", "cmath", "operator", "_operator", "itertools", "functools", "_functools", "collections",
     "_collections", "copy", "fractions", "statistics", "contextlib", "dataclasses", "enum", "typing", "tapediff", "bisect", "_bisect",
     "decimal", "numbers", "string")
)  # fmt: skip
_IMPURE = frozenset(("print", "input", "open", "exec", "eval", "next", "breakpoint", "__import__", "shuffle", "anext",
                     "add_note", "cache_clear", "setdiag", "sort_indices", "eliminate_zeros", "sum_duplicates"))  # fmt: skip
# Dict methods with a key argument.
_KEYED = frozenset(("get", "pop", "setdefault"))
# Iterate over their arguments, and pass the entries on unchanged.
_LAZY = frozenset(("zip", "enumerate", "reversed", "iter", "next", "islice", "chain", "from_iterable", "cycle", "tee",
                         "map", "filter", "starmap", "zip_longest"))
# Called by subclasses in the user's code.
_ITERATING = ("__iter__", "__reversed__")
# Pass their arguments on, or only inspect the types.
_STRUCTURAL = frozenset(("list", "tuple", "isinstance", "issubclass", "type", "id", "hasattr", "getattr",
                         "callable", "range", "copy", "repeat", "partial", "object", "deque", "dict", "len",
                         "get", "setdefault", "update", "pop", "values", "items", "keys", "stop_gradient", "super",
                         "property", "staticmethod", "_replace", "_asdict"))  # fmt: skip
_CONTAINERS = (list, dict, set, deque, bytearray)
_METHODS_OF_C = (BuiltinMethodType, MethodWrapperType)
_OF_CLASSES = (MethodDescriptorType, WrapperDescriptorType)
# Methods that change nothing.
_READING = frozenset(("get", "keys", "values", "items", "copy", "index", "count", "union", "intersection", "difference",
                         "issubset", "issuperset",
                      "symmetric_difference", "isdisjoint", "join", "split", "format", "most_common", "elements"))  # fmt: skip
# Methods that only store their arguments.
_STORING = frozenset(("append", "appendleft", "extend", "insert", "setdefault", "update", "add"))
# Array methods that write.
_IN_PLACE = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
# Tracked arrays' operators in place share a name.
_WRITING_DUNDER = frozenset(("__setitem__", "__delitem__", TrackedArray.__iadd__.__name__, *(f"__i{name}__" for name in _IN_PLACE.split())))
_WRITING = _WRITING_DUNDER | {"fill", "sort", "put", "partition"}
# The position of `out` among a function's arguments.
_OUT_AT = {
    **dict.fromkeys(("max", "min", "amax", "amin", "all", "any", "argmax", "argmin", "round", "around", "ptp", "dot", "choose"), 2),
    **dict.fromkeys(("sum", "prod", "cumsum", "cumprod", "mean", "std", "var", "clip", "take", "compress"), 3), "trace": 5,
}  # fmt: skip
# Those that change more than entries.
_RESHAPING = frozenset(("resize", "setflags", "setfield", "byteswap"))
_SETTING = frozenset(("__setattr__", "__delattr__"))
# Leave partial effects if a function that they call raises.
_STEPPING = frozenset(("next", "send", "throw", "__next__", "sort"))
# Functions that write to their first argument.
_WRITING_FIRST = frozenset(("heappush", "heappop", "heapify", "heapreplace", "heappushpop", "insort", "insort_left",
                            "insort_right", "_count_elements",
                            "copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "at"))  # fmt: skip
_FILLING = {id(made): Fills.ALL if name in RARE_MAKERS else Fills.FLOATS for name, made in ORIGINALS.items()}
_FILLING.update((id(made), least) for made, least in LEAST_FILLS.items())


def native(f: Object) -> Object:
    """The form of an untranslated function: checked on sides; some builtins have a program."""
    kind = type(f)
    if f is abs:
        return _absolute
    if f is id:
        state.has_identities = True
    if kind is BuiltinMethodType and state.is_recording and f not in PROGRAMS:
        f = replacement_of(f) or f
    if isinstance(f, MathFunction):
        program = PROGRAMS.get(f.original)
        return functools.partial(_of_python, f) if program is None else _dispatcher(f, program, None)
    if kind in _OF_CLASSES and f.__objclass__ in _CONTAINERS:
        return lambda owner, *args, **named: native(f.__get__(owner))(*args, **named) if state.is_recording else f(owner, *args, **named)
    if kind in _METHODS_OF_C or kind is type or kind is FunctionType:
        owner = getattr(f, "__self__", None)
        # The owner may be of a subclass of the user's.
        kinds = type(owner).__mro__ if isinstance(owner, (*_CONTAINERS, tuple, str)) else ()
        own = next(((one, f.__name__) for one in kinds if (one, f.__name__) in METHODS), None)
        program = METHODS[own] if own is not None else PROGRAMS.get(f) if not kinds else None
        if program is not None:
            return _dispatcher(f, program, None if own is None else owner)
        if kind is FunctionType and not _FRAMES.isdisjoint(f.__code__.co_names):
            return f
    if kind in _NUMPYS and (program := PROGRAMS.get(getattr(f, "original", f))) is not None:
        return _dispatcher(f, program, None)
    if not state.is_recording:
        return f
    return functools.partial(_called_directly, f)


def _absolute(value: Object, /) -> Object:
    return abs(value) if type(value) is TrackedArray or type(value) is float else _called_directly(abs, value)


def _of_python(f: Object, /, *args: Object, **named: Object) -> Object:
    """A result of the math module, of Python numbers."""
    result = _called(f, *args, **named)
    return tuple(map(note_python, result)) if type(result) is tuple else note_python(result)


# Functions that inspect their callers' frames.
_FRAMES = frozenset(("_getframe", "_getframemodulename", "currentframe", "stack", "warn", "findCaller", "extract_stack"))


def _dispatcher(f: Object, program: Program, owner: Object) -> Object:
    """The builtin, or its program where that applies; no function that refers to itself, as that would keep a reference to the owner."""
    run, least, most, names = program

    def dispatched(*args: Object, **named: Object) -> Object:
        if len(args) == 2 and owner is not None and f.__name__ == "setdefault" and type(args[1]) in (list, dict, set) and not args[1]:
            if not is_held_elsewhere((args[1],), 1):
                args = args[0], Empty(type(args[1]))
        if least <= len(args) <= most and all(name in names for name in named):
            if owner is None and f is not iter and f is not zip:
                args = taken_out(f, args)
            if state.has_choices:
                choice = next((k for k, argument in enumerate(args) if type(argument) in CHOICES), None)
                if choice is not None and f in _GENERATING and (result := run(*args, **named)) is not NATIVE:
                    return result
                if choice is not None and (owner is None or (choice == 0 and f.__name__ in _KEYED and not isinstance(owner, dict))):
                    if (read := _with_rows_read(f, args)) is not None:
                        return _dispatcher(f, program, owner)(*read, **named)
                    argument = args[choice]
                    if f is not next:
                        is_held = is_held_elsewhere((argument,), 2)
                        argument = owned(argument, is_held)
                    over, again = mapped if _is_pure(f) else lifted, _dispatcher(f, program, owner)
                    return over(lambda *plain: again(*plain, **named), *args[:choice], argument, *args[choice + 1 :])
            if state.has_maybes:
                args = tuple(map(viewed, args))
            for place in range(len(args)):
                argument = args[place]
                is_held = is_held_elsewhere((argument,), 2)
                if f in _GATHERING and not is_held and _only_reads(argument):
                    args = (*args[:place], list(argument), *args[place + 1 :])
                elif type(argument) is Generator:
                    argument.is_owned = argument.is_owned or not is_held
                elif state.journals and f.__name__ not in _LAZY:
                    refuse_iterators(argument, is_held)
            result = run(*args, **named) if owner is None else run(owner, *args, **named)
            if type(result) is Unchanged:
                return f(result.entries, *args[1:], **named)
            if result is not NATIVE:
                return result
        args = tuple(function(a) if type(a) is FunctionType or type(a) is MethodType else a for a in args)
        return _called(f, *args, **named)

    return dispatched


def _only_reads(value: Object) -> bool:
    """True for iterators over sequences, and zip and enumerate of these: advancing one changes nothing else, and it ends."""
    if type(value) in _OF_SEQUENCES:
        return all(isinstance(part, (*INDEXED, Entries)) for part in gc.get_referents(value))
    if type(value) not in (enumerate, zip):
        return False
    parts = [part for one in gc.get_referents(value) for part in (one if type(one) is tuple else (one,))]
    return all(part is None or type(part) is int or _only_reads(part) for part in parts)


_OF_SEQUENCES = (*(type(iter(items)) for items in ([], (), range(0), np.zeros(1))), type(reversed([])), reversed)
# Builtins that take a list in place of such an iterator.
_GATHERING: frozenset[Object] = frozenset((itertools.groupby, itertools.accumulate, heapq.nlargest, heapq.nsmallest, heapq.merge))

# Builtins whose programs are generators.
_GENERATING: frozenset[Object] = frozenset(
    (enumerate, map, filter, itertools.filterfalse, itertools.takewhile, itertools.dropwhile, itertools.starmap, itertools.chain,
     itertools.pairwise, itertools.accumulate)
)  # fmt: skip


def _called_directly(f: Object, /, *args: Object, **named: Object) -> Object:
    if state.journals and getattr(f, "__name__", "") not in _LAZY:
        for argument in args:
            refuse_iterators(argument, is_held_elsewhere((argument,), 2))
    return _called(f, *args, **named)


def _called(f: Object, /, *args: Object, **named: Object) -> Object:
    if (f is itertools.tee or f is itertools.groupby) and Cursor in map(type, args):
        raise Unjoinable(f"{f.__name__} advances an iterator that something else may use", "give it a list")
    if not state.path:
        return _checked(f, args, named)
    columns = current_recorder().instructions
    before = len(columns.templates)
    result = _checked(f, args, named)
    for instruction in columns.templates[before:]:
        op = instruction.op
        # A kernel also computes it where the program does not run it.
        if op.raises and op.checked is None:
            refuse(f"{op.name} may fail where the branch is not taken", "call it before the branch")
        if op in (CALL, LOOP) and instruction.params[0].may_branch:
            refuse(f"{instruction.params[0].name} has paths that are recorded when they are met", "call it before the branch")
    return result


def _checked(f: Object, args: tuple[Object, ...], named: dict[str, Object]) -> Object:
    """The result of a call that neither reads nor fails by what a number stands for."""
    try:
        result = _called_here(f, *args, **named)
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        if state.kinds and any(map(_is_of_several_types, (*args, *named.values()))):
            raise Unjoinable(f"{type(error).__name__} may depend on a number's type, which depends on data", "convert it before") from error
        raise
    if isinstance(result, str) or named.get("file") is not None:
        check_text(f, *args, named)
    return result


def _called_here(f: Object, /, *args: Object, **named: Object) -> Object:
    # Methods generated by Python for named tuples and dataclasses pass their arguments on.
    if state.kinds and is_users(f) and not f.__name__.startswith("__") and any(map(_is_of_several_types, (*args, *named.values()))):
        why = translation_of(f.__code__).reason or "it has no source"
        raise Unjoinable(f"{f.__name__}() is not translated, and may check the type of a number, which depends on data: {why}", _SOURCE)
    if args and not named and (method := method_for(f, args)) is not None:
        return method()
    if (result := drawn(f, args, named)) is not NATIVE:
        return result
    args = taken_out(f, args)
    if type(f) is itemgetter and len(args) == 1 and has_maybes(args[0]):
        holder, given = args[0], f.__reduce__()
        found = tuple(call(operator.getitem, holder, key) for key in given[1])
        return found if found[1:] else found[0]
    if state.kinds and type(f) is np.ufunc and not named and len(args) == f.nin and may_be_zero_of_ints(f.__name__, *args):
        return zero_of_ints(f(*args), *args)
    is_formed = (type(f) is np.ufunc and f.ntypes > 1 and len(args) <= f.nin) or isinstance(f, MathFunction)
    if is_formed and not state.has_choices and not named:
        return _form(f, args, named)(*args)
    if not state.journals and not state.has_choices and not state.shown and not _is_given_callers(f, args, named):
        return _filled(f, _answered(f, args, named), args, named)
    name = getattr(f, "__name__", None) or getattr(f, "name", "")
    owner = getattr(f, "__self__", None) if type(f) in _METHODS_OF_C else None
    if type(f) is MethodWrapperType and not isinstance(owner, _CONTAINERS):
        owner = None
    if state.has_choices and isinstance(f, np.ufunc) and len(args) <= f.nin:
        args = tuple(map(as_value, args))
    if state.has_choices and not (name in _STORING and isinstance(owner, (list, deque))):
        given = *args, *named.values()
        if (read := _with_rows_read(f, args)) is not None:
            return _called(f, *read, **named)
        if any(type(argument) in CHOICES for argument in given):
            over = mapped if _is_pure(f) else lifted
            return over(lambda *plain: _called(f, *plain[: len(args)], **dict(zip(named, plain[len(args) :]))), *given)
    if name in _ITERATING and owner is not None:
        settled_contents(owner)
    if name in _LAZY and not isinstance(owner, _CONTAINERS):
        args = tuple(map(settled_contents, args))
    elif not (_is_indifferent(owner, name, args) if isinstance(owner, _CONTAINERS) else _is_structural(f, name, args, named)):
        holders = (owner, *args, *named.values())
        if state.has_maybes and any(map(is_conditional, holders)) and not any(hasattr(type(holder), "__next__") for holder in holders):
            is_numpys = isinstance(f, (np.ufunc, *_NUMPYS)) and not _is_pythons(f) and _is_pure(f)
            made = tuple(map(compressed_list, args)) if is_numpys and not isinstance(owner, _CONTAINERS) else args
            if any(a is not b for a, b in zip(args, made)):
                return _called(f, *made, **named)
            return _by_lengths(f, owner, args, named)
        if isinstance(owner, _CONTAINERS) or type(owner) is tuple:
            settled_contents(owner)
        if (place := _place_of_choices(f, args)) is not None:
            entries = args[place]
            return lifted(lambda *plain: _called(f, *args[:place], type(entries)(plain), *args[place + 1 :], **named), *entries)
        args = tuple(settled_deeply(argument) for argument in args)
        named = {key: settled_deeply(value) for key, value in named.items()}
    if state.journals or state.shown or state.callers:
        _check(f, name, owner, args, named)
    if state.attempts and name in _STEPPING:
        with guarded():
            return f(*args, **named)
    return _filled(f, _answered(f, args, named), args, named)


def _with_rows_read(f: Object, args: tuple[Object, ...]) -> tuple[Object, ...] | None:
    """The arguments of a function that only reads lists, with the entries of those chosen by index; None without any."""
    if not any(map(is_by_index, args)) or (id(f) in _COMPARING and len(args) > 1):
        return None
    if id(f) not in _READERS and not (isinstance(f, (np.ufunc, *_NUMPYS)) and not _is_pythons(f) and _is_pure(f)):
        return None
    made = [rows.entries(value) if is_by_index(value) else None for value in args]
    return None if not any(made) else tuple(value if read is None else read for value, read in zip(args, made))


_COMPARING = {id(min), id(max)}
_READERS = {*_COMPARING, *map(id, (len, sum, sorted, list, tuple, any, all, math.fsum, math.prod))}


def _place_of_choices(f: Object, args: tuple[Object, ...]) -> int | None:
    """The position of a list or tuple of choices among a pure function's arguments, if it has few combinations."""
    for place, value in enumerate(args):
        if type(value) in (list, tuple) and not {*map(type, value)}.isdisjoint(CHOICES) and _is_pure(f):
            counts = [len(possible(entry)) for entry in value if type(entry) is Choice]
            if math.prod(counts) <= MOST_OPTIONS and len(counts) == sum(type(entry) in CHOICES for entry in value):
                return place
    return None


def _is_of_several_types(value: Object) -> bool:
    """True for a number whose type in Python depends on data."""
    types = types_of(value)
    return types is None or len(types) > 1


def _is_given_callers(f: Object, args: tuple[Object, ...], named: dict[str, Object]) -> bool:
    """True for functions of the caller's objects, which they may change."""
    callers = state.callers
    return id(getattr(f, "__self__", None)) in callers or any(id(value) in callers for value in (*args, *named.values()))


def _is_indifferent(owner: Object, name: str, args: tuple[Object, ...]) -> bool:
    """True for methods that keep conditional entries. A full deque drops one by position."""
    return name in INDIFFERENT and not (getattr(owner, "maxlen", None) is not None and any(map(is_conditional, (owner, *args))))


def _is_structural(f: Object, name: str, args: tuple[Object, ...], named: dict[str, Object]) -> bool:
    """True for functions that pass their arguments on. A deque of limited length drops entries by position."""
    return type(f) is itemgetter or (name in _STRUCTURAL and not (f is deque and len(args) + len(named) > 1))


def _by_lengths(f: Object, owner: Object, args: tuple[Object, ...], named: dict[str, Object]) -> Object:
    """Call a function for each possible length of the lists among its arguments."""
    names = tuple(named)

    def run(plain: tuple[Object, ...]) -> Object:
        first, *rest = plain
        method = f if first is owner else getattr(first, f.__name__)
        return _called(method, *rest[: len(args)], **dict(zip(names, rest[len(args) :])))

    return by_lengths((owner, *args, *named.values()), run)


class _IntWanted(BaseException):
    """Code run by Python needs the value of a data-dependent int."""


_NUMBERS = (int, float, bool)


def _wanted() -> None:
    raise _IntWanted


def _answered(f: Object, args: tuple[Object, ...], named: dict[str, Object]) -> Object:
    """The result of a call; if it needs an int, a choice of the results for all possible values."""
    if args and type(args[0]) in _NUMBERS and getattr(TrackedArray, getattr(f, "__name__", ""), None) is f:
        # A method of a tracked number, for one of its possible values.
        return getattr(np.asarray(args[0]), f.__name__)(*args[1:], **named)
    called, f = f, _form(f, args, named)
    place = next((k for k, value in enumerate(args) if _holds_int(value)), None)
    if place is None or not _is_pure(f):
        return f(*args, **named)
    if (made := of_length(called, args, named)) is not None:
        return made
    recorder = current_recorder()
    before, recorder.asked = recorder.asked, _wanted
    refusal, recorder.refusal = recorder.refusal, None
    try:
        result = f(*args, **named)
        if recorder.refusal is None:
            return result
    except _IntWanted:
        pass
    except Exception:
        # f may have caught a refusal and raised its own error.
        if recorder.refusal is None:
            raise
    finally:
        recorder.asked, recorder.refusal = before, refusal
    value = args[place]
    rest = lambda v: _answered(f, (*args[:place], v, *args[place + 1 :]), named)  # noqa: E731 -- its name is its use
    if isinstance(value, (tuple, list)):
        choices = list(map(as_choice, value))
        if any(choice is not part for choice, part in zip(choices, value)):
            return lifted(lambda *parts: rest(type(value)(parts)), *choices)
    elif (choice := as_choice(value)) is not value:
        return lifted(rest, choice)
    return f(*args, **named)


def _form(f: Object, args: tuple[Object, ...], named: dict[str, Object]) -> Object:
    """A NumPy function in a form that takes tracked numbers, also in lists."""
    if isinstance(f, _NUMPYS) and (answer := answer_of(f, args, named)) is not None:
        return answer
    if not any(type(value) in (list, tuple) and holds_tracked(value) for value in args):
        return f
    original = getattr(f, "original", f)
    return (isinstance(original, (np.ufunc, DISPATCHED)) and form_of(original)) or f


_NUMPYS = (Replacement, BuiltinFunctionType, DISPATCHED)


def _holds_int(value: Object) -> bool:
    if type(value) is TrackedArray:
        return not value.type.shape and value.type.dtype.kind == "i"
    return type(value) in (tuple, list) and len(value) <= _MOST_AXES and any(type(part) is TrackedArray for part in value)


# Maximum length of a tuple of ints taken as a shape.
_MOST_AXES = 4


def _is_pure(f: Object) -> bool:
    """True for functions without side effects."""
    owner = getattr(f, "__self__", None)
    if isinstance(owner, (str, bytes, int, float)) or _is_enumeration(f):
        return True
    name = getattr(f, "__name__", "")
    if isinstance(owner, _CONTAINERS):
        return name in _READING
    return name not in _WRITING_FIRST and _is_known(f, name, owner)


def _is_enumeration(f: Object) -> bool:
    """True for enumerations, of which a call looks up a member, unless they define `_missing_`."""
    return isinstance(f, EnumMeta) and getattr(f, "_missing_").__func__.__module__ == "enum"  # noqa: B009 -- private to enumerations


def _is_pythons(f: Object) -> bool:
    """True for builtin functions that are not NumPy's, such as abs."""
    return type(f) is BuiltinFunctionType and not (f.__module__ or "").startswith("numpy")


def _is_known(f: Object, name: str, owner: Object) -> bool:
    """True for functions that change at most their first argument."""
    module = getattr(f, "__module__", None) or getattr(type(owner if owner is not None else f), "__module__", None) or ""
    return isinstance(f, np.ufunc) or (module.partition(".")[0] in _PURE and name not in _IMPURE and "random" not in module)


def _filled(f: Object, made: Object, args: tuple[Object, ...], named: dict[str, Object]) -> Object:
    """An array that the program creates: tracked if it holds tracked numbers or may be written to."""
    if type(made) is not np.ndarray:
        return made
    if (least := _FILLING.get(id(getattr(f, "original", f)))) is None or any(made is argument for argument in args):
        return made
    recorder = current_recorder()
    if recorder is None or recorder.fills < least or made.dtype.char not in FILLED[recorder.fills]:
        return made
    return as_array(recorder.tracked_constant(made))


def _check(f: Object, name: str, owner: Object, args: tuple[Object, ...], named: dict[str, Object]) -> None:
    """Note the changes that a call makes; refuse those on a side that cannot be undone."""
    if name in _OF_IDENTITIES and (state.joins_frozen or has_copies()):
        raise AsksIdentities
    if is_users(f):
        _refuse_anything(f"{name}() is not translated: {translation_of(f.__code__).reason or 'it has no source'}", _SOURCE)
        return
    if isinstance(owner, _CONTAINERS):
        if name not in _READING:
            note_contents(owner)
            if isinstance(owner, dict) and name in ("clear", "popitem"):
                state.made.clear()
        return
    for out in _outs(f, name, args, named):
        note_contents(out)
    array = getattr(f, "array", None)
    if type(array) is not TrackedArray:
        is_of_class = type(f) in _OF_CLASSES or (type(f) is FunctionType and name in _WRITING_DUNDER)
        array = f.__self__ if type(f) is MethodWrapperType else args[0] if is_of_class and args else owner
    if name in _WRITING_DUNDER and not are_restorable(array):
        refuse_store(f"{name} of a {type(array).__name__} is called in a branch")
    if isinstance(array, np.ndarray):
        if name in _RESHAPING:
            refuse_store(f"{name}() of an array is called in a branch")
        if name in _WRITING:
            note_contents(array)
        return
    if isinstance(owner, (str, bytes, int, float, tuple, frozenset, range)) or owner is dict or owner is float or _is_enumeration(f):
        return
    if args and isinstance(args[0], _CONTAINERS) and (getattr(type(args[0]), name, None) is f or hasattr(f, "__objclass__")):
        note_contents(args[0])
        return
    if isinstance(f, type) and f in (collections.deque, collections.OrderedDict, collections.defaultdict, collections.Counter):
        return
    if name == "next" and type(args[0]) is Generator:
        return  # it checks this itself
    if name in _SETTING:
        changed: Object = [f.__self__, args[0]] if type(f) is MethodWrapperType else args[:2]
        note_attribute(*changed)
        return
    if type(f) is np.vectorize or (isinstance(f, np.ufunc) and set("".join(f.types)) <= set("O->")) or may_ask(args):
        _refuse_anything(f"{name or f}() may call code that is not translated", "write a loop")
    if _is_known(f, name, owner):
        if args and name in _WRITING_FIRST:
            note_contents(args[0])
        return
    if type(f) is functools._lru_cache_wrapper and _changes_nothing(f, args, named):  # pyright: ignore[reportAttributeAccessIssue]
        return
    _refuse_anything(f"{name or f}() may change something outside, which cannot be undone where the branch is not taken", _OUTSIDE)


def _outs(f: Object, name: str, args: tuple[Object, ...], named: dict[str, Object]) -> tuple[Object, ...]:
    """The arrays that a call of a NumPy function writes its results to."""
    out: Object = named.get("out")
    if out is not None:
        return out if isinstance(out, tuple) else (out,)
    if isinstance(f, np.ufunc):
        return args[f.nin :]
    owner = getattr(f, "__self__", getattr(f, "array", None))
    place = _OUT_AT.get(name, 0) - isinstance(owner, np.ndarray)
    return args[place : place + 1] if place > 0 else ()


def _changes_nothing(cache: Object, args: tuple[Object, ...], named: dict[str, Object]) -> bool:
    """True if what a cache from before the recording computes for these arguments has no side effects, as found by running it."""
    key = cache, args, tuple(map(type, args)), tuple(named.items())
    if key not in state.without_effects:
        if speculate(lambda: function(cache.__wrapped__)(*args, **named), {}).final:
            return False
        state.without_effects.add(key)
    return True


def _refuse_anything(what: str, instead: str) -> None:
    """Refuse a call with unknown effects."""
    if has_copies():
        raise WritesJoined
    refuse(what, instead)


# Functions whose results depend on object identity.
_OF_IDENTITIES = frozenset(("id", "is_", "is_not", "deepcopy", "dumps"))


_OUTSIDE = "call it before or after the branch"
_SOURCE = "write it as plain Python in a file; or call it before or after the branch"
