"""The environment of a function: the globals, closures, defaults, attributes, entries, arrays and functions that it reads.

The walk follows every name that the function may reach. It gives a key, equal while nothing of that has changed, and the places to
compare at each call (`places.py`). It may note more than the function reads, but never less, except for what
docs/frozen.md lists: code of installed packages, and state that Python cannot see.
"""

from __future__ import annotations

import builtins
import functools
import gc
import linecache
import operator
import os
import re
import sys
import threading
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterator, Set
from types import (
    BuiltinMethodType,
    CellType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import NamedTuple

import numpy as np

from ...base.held_locks import drop_oldest
from ...base.source_location import installed_package, is_installed, is_library_file
from ...base.token import blake2b
from ...ir.instruction import is_tracked
from ...recording.python_state.data_key import data_key, levels_of_data
from ...recording.python_state.object_snapshot import PLAIN, IdentityKey, PythonValue, plain_key
from ...recording.python_state.process_state import process
from .code_keys import code_key, names_of
from .frozen_walk import globals_of
from .places import (
    ABSENT,
    BUFFERS,
    AnswerPlace,
    ArrayPlace,
    Binding,
    CellPlace,
    ContentsPlace,
    EntryPlace,
    FunctionPlace,
    ListPlace,
    ObjectPlace,
    Place,
    SizePlace,
    SlotPlace,
    contents_of,
)

# The most objects to walk over: what only further ones reach is not compared.
MOST_OBJECTS = 20_000

# Functions that use these may look up any name.
_BY_ANY_NAME = frozenset(("getattr", "hasattr", "vars", "globals", "eval", "exec", "locals", "__dict__", "attrgetter", "__getattribute__"))

# Objects that look up any name.
_LOOKING_UP = (operator.attrgetter, operator.methodcaller, operator.itemgetter)

# The names of Python's builtins, which are taken to be constant.
_BUILTINS = frozenset(vars(builtins))

_WRAPPERS = (MethodType, functools.partial, BuiltinMethodType, staticmethod, classmethod, property, functools.cached_property)
_PARTS_OF_WRAPPERS = ("__func__", "__self__", "func", "args", "keywords", "fget", "fset")

# Objects that show what another one holds.
_SHOWING = (MappingProxyType, type({}.keys()), type({}.values()), type({}.items()), np.flatiter)

# What objects of C refer to, besides attributes and contents.
_ANSWERS: dict[type, tuple[str, Callable[[PythonValue], object]]] = {
    weakref.ref: ("the object", lambda value: value()),
    weakref.ProxyType: ("the object", lambda value: value.__init__.__self__),
    defaultdict: ("default_factory", lambda value: value.default_factory),
    threading.local: ("the thread's attributes", lambda value: value.__dict__),
    BaseException: ("args", lambda value: value.args),
}

# Classes whose objects have no state but attributes and contents.
_OPEN_BASES = frozenset(
    ("object", "tuple", "list", "dict", "set", "frozenset", "deque", "defaultdict", "OrderedDict", "Counter", "UserDict", "UserList",
     "ChainMap", "ABC", "Generic", "Protocol", "Enum", "IntEnum", "StrEnum", "ReprEnum", "int", "str", "SimpleNamespace")
)  # fmt: skip

# Methods that Python calls without naming them when a class is called, and methods that numerical code does not run.
_CONSTRUCTORS = ("__init__", "__new__", "__post_init__")
_NEVER_RUN = frozenset(
    (*_CONSTRUCTORS, "__repr__", "__str__", "__del__", "__reduce__", "__getstate__", "__setstate__", "__init_subclass__")
)  # fmt: skip

_METHOD_KINDS = (FunctionType, staticmethod, classmethod, property, functools.cached_property)


# Keep this many functions that tapes call back.
_MOST_CALLED_BACK = 256


def note_called_back(function: object) -> None:
    """Note a function that tapes call back at every evaluation: filling its own containers is not a change."""
    drop_oldest(process.called_back, _MOST_CALLED_BACK - 1)
    process.called_back[id(function)] = function


def _collected() -> frozenset[Hashable]:
    """The containers that functions called back may fill."""
    environments = [Environment(function, "off", is_of_callback=True) for function in list(process.called_back.values())]
    return frozenset(place.where for e in environments for place in e.places if isinstance(place, (ListPlace, ContentsPlace)))


class _Owner(NamedTuple):
    """An object whose attributes are looked up by name.

    Attributes:
        ask: notes an attribute.
        namespaces: dicts that may hold them.
        attributes: names that code may look up without spelling them.
    """

    value: object
    ask: Callable[[str], None]
    namespaces: tuple[Set[str], ...]
    attributes: Collection[str]

    def having(self, names: Set[str], by_any_name: bool) -> list[str]:
        """The given names that it has, in their order."""
        found = {name for namespace in self.namespaces for name in names & namespace}
        return sorted(found.union(self.attributes) if by_any_name else found)


class _Constructed:
    """A class that may be called."""

    __slots__ = ("kind",)

    def __init__(self, kind: type) -> None:
        self.kind = kind


class Environment:
    """The values that a function reads besides its arguments, at one moment.

    Args:
        function: anything that is called.
        contents: "sample", "always" or "off": how the contents of arrays are compared; see GuardedTape.
        before: an earlier environment: digests of large arrays that look the same are reused.
        own: places that the function itself changes, and that are left out.

    Attributes:
        key: equal for environments in which the function reads the same.
        places: to compare; they hold the recorded values.
        is_whole: the walk covered everything: not too large, and no opaque object.
        callbacks: the number of functions called back at evaluations when it was made.
    """

    __slots__ = (
        "_asked", "_before", "_constructors", "_contents", "_held", "_home", "_labels", "_names", "_numbers", "_own", "_owners", "_pending",
        "_tokens", "callbacks", "is_whole", "key", "places",
    )  # fmt: skip

    def __init__(
        self, function: object, contents: str = "sample", before: Environment | None = None, own: frozenset[Hashable] = frozenset(), *,
        is_of_callback: bool = False,
    ) -> None:  # fmt: skip
        self.places: list[Place] = []
        self.is_whole = True
        self.callbacks = len(process.called_back)
        self._contents, self._own = contents, own if is_of_callback or not process.called_back else own | _collected()
        self._before = {} if before is None else {id(p.owner): p for p in before.places if isinstance(p, ArrayPlace)}
        self._tokens: list[Hashable] = []
        self._labels: list[str] = []
        self._names: set[str] = set()
        self._numbers: dict[int, int] = {}
        self._held: list[object] = []
        self._owners: list[_Owner] = []
        self._constructors: dict[int, Callable[[str], None]] = {}
        self._asked: set[tuple[int, str]] = set()
        self._pending: list[tuple[object, str]] = [(function, "")]
        self._home = ""
        self._begin_at(function)
        self._walk()
        self.key = tuple(self._tokens)
        # The other attributes belong to the walk.
        self._owners, self._asked, self._before, self._numbers, self._constructors = [], set(), {}, {}, {}

    @property
    def nbytes(self) -> int:
        """The size of its arrays in bytes."""
        return sum(place.owner.nbytes for place in self.places if isinstance(place, ArrayPlace))

    def is_of_these_callbacks(self) -> bool:
        """True if no more functions are called back at evaluations than before."""
        return self.callbacks == len(process.called_back)

    def changed_places(self, now: Environment) -> frozenset[Hashable]:
        """The places that differ now, and names added to namespaces of this environment; see `own`."""
        known, owners = {place.where for place in self.places}, {id(place.owner) for place in self.places}
        added = (p.where for p in now.places if isinstance(p, Binding) and p.where not in known and id(p.owner) in owners)
        return frozenset((*(place.where for place in self.places if not place.is_same()), *added))

    def difference(self, other: Environment) -> str:
        """The name of the first thing that differs in the other environment."""
        for ours, theirs, label in zip(self.key, other.key, self._labels):
            if ours != theirs:
                return label
        return self._labels[-1] if self._labels else ""

    def fingerprint(self) -> bytes:
        """A digest that is equal in another process in which the function reads the same."""
        return blake2b(repr([_portable(token) for token in self.key]).encode(), digest_size=16).digest()

    def site_of(self, name: str) -> str | None:
        """The first line of the functions that use a name."""
        word = re.compile(rf"\b{re.escape(name)}\b")
        for place in self.places:
            if isinstance(place, FunctionPlace):
                code = place.owner.__code__
                for line in sorted({line for _, _, line in code.co_lines() if line}):
                    if word.search(linecache.getline(code.co_filename, line)):
                        return f"{os.path.basename(code.co_filename)}:{line} in {code.co_name}"
        return None

    # The walk

    def _walk(self) -> None:
        known: frozenset[str] = frozenset()
        asked = 0
        while self._pending:
            while self._pending:
                value, label = self._pending.pop()
                try:
                    self._visit(value, label)
                except MemoryError:
                    raise
                except Exception:  # noqa: BLE001 -- of classes that answer questions in their own ways: objects that are told by their identity
                    self._token(IdentityKey(value), label)
                    self.is_whole = False
            # New names may be attributes of objects that were met before.
            names, owners = frozenset(self._names), list(self._owners)
            new = names - known
            by_any_name = not _BY_ANY_NAME.isdisjoint(names)
            for number, owner in enumerate(owners):
                if number >= asked or new:
                    for name in owner.having(names if number >= asked else new, by_any_name):
                        if (id(owner.value), name) not in self._asked:
                            self._asked.add((id(owner.value), name))
                            owner.ask(name)
            known, asked = names, len(owners)

    def _token(self, token: Hashable, label: str) -> None:
        self._tokens.append(token)
        self._labels.append(label)

    def _bound(self, place: Place, value: object, label: str) -> None:
        """Note a place that is looked up by name, then visit its value."""
        place.label = label
        if place.where not in self._own:
            self.places.append(place)
            self._token(getattr(place, "name", ""), label)
            self._refer(value, label)

    def _refer(self, value: object, label: str, *, is_bound: bool = True) -> None:
        """Note a value; objects are numbered in the order in which they are met.

        Args:
            is_bound: code can reach it; else it is only the class of an object.
        """
        if hasattr(type(value), "value_and_gradient"):
            # A recursive function whose name is given to the target made of it: within a recording that is the function.
            value = getattr(value, "__wrapped__", value)
        kind = type(value)
        if kind in PLAIN or (isinstance(value, np.generic) and kind is not np.void):
            self._token(plain_key(value), label)
        elif value is ABSENT or kind is type(Ellipsis) or is_tracked(value):
            self._token(kind, label)
        elif self._is_opaque(value, kind):
            self._token(IdentityKey(value), label)
        else:
            if isinstance(value, type) and is_bound:
                self._pending.append((_Constructed(value), label))
            number = self._numbers.get(id(value))
            if number is None:
                number = self._numbers[id(value)] = len(self._numbers)
                self._held.append(value)
                if number < MOST_OBJECTS:
                    self._pending.append((value, label))
                else:
                    self.is_whole = False
            self._token(("object", number), label)

    def _is_opaque(self, value: PythonValue, kind: type) -> bool:
        """True for values that are compared by identity and not walked into."""
        if isinstance(value, ModuleType):
            return self._is_library(value.__name__)
        if isinstance(value, type):
            return self._is_library(_module_of(value))
        if kind is FunctionType:
            return self._is_library_function(value) and not self._wraps_users(value)
        return kind is np.ufunc

    def _is_library_function(self, function: FunctionType) -> bool:
        file = function.__code__.co_filename
        return self._is_foreign(file) and not _is_of_this_package(file)

    def _wraps_users(self, function: FunctionType) -> bool:
        """True for a function that another package's decorator made from one of the user's."""
        held = [getattr(function, "__wrapped__", None), *map(_inside, function.__closure__ or ())]
        return any(type(part) is FunctionType and not self._is_foreign(part.__code__.co_filename) for part in held)

    def _is_library(self, module: str) -> bool:
        """True for modules whose state is taken to be constant: the standard library and other installed packages."""
        root = module.partition(".")[0]
        if root in ("__main__", self._home):
            return False
        if root in ("numpy", "scipy", "tapediff") or root in sys.stdlib_module_names:
            return True
        found = sys.modules.get(module) or sys.modules.get(root)
        file = getattr(found, "__file__", None)
        return isinstance(file, str) and self._is_foreign(file)

    def _is_foreign(self, filename: str) -> bool:
        return is_library_file(filename) or (is_installed(filename) and installed_package(filename) != self._home)

    def _begin_at(self, function: object) -> None:
        """Treat the package of the recorded function as the user's, even if it is installed."""
        code = _code_of(getattr(function, "__wrapped__", function))
        if not self._home and code is not None and is_installed(code.co_filename) and not is_library_file(code.co_filename):
            self._home = installed_package(code.co_filename)

    def _visit(self, value: PythonValue, label: str) -> None:
        """Note the contents of an object."""
        kind = type(value)
        if kind is _Constructed:
            self._constructed(value.kind)
            return
        self._numbers.setdefault(id(value), len(self._numbers))
        if kind is FunctionType:
            self._function(value, label)
        elif isinstance(value, np.ndarray):
            self._array(value, label)
        elif isinstance(value, (tuple, list, dict, set, frozenset, deque)):
            self._container(value, kind, label)
        elif isinstance(value, BUFFERS):
            self._token((kind, memoryview(value).tobytes()), label)
            self.places.append(ContentsPlace(value, label))
        elif kind in _SHOWING:
            self._token(kind, label)
            self._refer(value.base if kind is np.flatiter else gc.get_referents(value)[0], label)
        elif kind in _LOOKING_UP:
            self._names.add("getattr")
            self._refer(value.__reduce__(), label)
        elif isinstance(value, ModuleType):
            self._token(("module", value.__name__), label)
            attributes = vars(value)
            self._entry(attributes, "__getattr__", label)
            self._sized(attributes, label)
            own = {name for name in attributes if not name.startswith("__")}
            self._owns(value, lambda name: self._entry(attributes, name, label), attributes.keys(), attributes=own)
        elif isinstance(value, type):
            self._class(value, label)
        elif kind is CodeType:
            self._token(code_key(value), label)
        elif kind is BuiltinMethodType and (value.__self__ is None or isinstance(value.__self__, ModuleType)):
            self._token(IdentityKey(value), label)
        elif kind in _WRAPPERS:
            self._token((kind, getattr(value, "__name__", None)), label)
            for name in _PARTS_OF_WRAPPERS:
                if hasattr(value, name):
                    self._refer(getattr(value, name), label or "self" * (name == "__self__"))
        elif _module_of(kind).startswith("tapediff"):
            self._of_this_package(value, kind, label)
        else:
            self._object(value, kind, label)
        for base, (name, answer) in _ANSWERS.items():
            if isinstance(value, base):
                place = AnswerPlace(value, name, answer)
                self._bound(place, place.expected, f"{name} of {label}")

    def _owns(self, owner: object, ask: Callable[[str], None], *namespaces: Set[str], attributes: Collection[str] = ()) -> None:
        """Note an object whose attributes are looked up by name."""
        self._held.append(owner)
        self._owners.append(_Owner(owner, ask, namespaces, attributes))

    def _sized(self, namespace: dict[str, PythonValue], label: str) -> None:
        """Note a namespace to which a missing name may be added later."""
        place = SizePlace(namespace, label)
        if place.where not in self._own:
            self.places.append(place)

    def _function(self, function: FunctionType, label: str) -> None:
        code = function.__code__
        is_ours, is_library = _is_of_this_package(code.co_filename), self._is_library_function(function)
        name = label or function.__name__
        self._token(code_key(code), name)
        for cell_name, cell in zip(code.co_freevars, function.__closure__ or ()):
            contents = _inside(cell)
            if is_ours:
                self._if_callable(contents, name, is_wrapped=True)
            else:
                self._bound(CellPlace(cell, contents), contents, cell_name)
        if is_library:
            self._refer(function.__dict__, name)
        if is_ours or is_library:
            return
        self.places.append(FunctionPlace(function, name))
        own, namespace, names = names_of(code), function.__globals__, globals_of(code)
        self._names |= own
        for global_name in names if own.isdisjoint(("globals", "eval", "exec")) else sorted({*names, *namespace}):
            self._entry(namespace, global_name, "")
            if global_name not in namespace and global_name not in _BUILTINS:
                self._entry(function.__builtins__, global_name, "")
        for module in sorted(own):
            # Imported by the function itself.
            if module in sys.modules and not self._is_library(module):
                self._entry(sys.modules, module, "")
        for attribute in ("__defaults__", "__kwdefaults__"):
            self._refer(getattr(function, attribute), f"defaults of {function.__name__}")
        attributes = function.__dict__
        if attributes:
            self._owns(function, lambda attribute: self._entry(attributes, attribute, name), attributes.keys(), attributes=attributes)
        if "__wrapped__" in attributes:
            self._entry(attributes, "__wrapped__", name)

    def _entry(self, namespace: dict[str, PythonValue], name: str, prefix: str) -> None:
        """Note a name in a namespace; a missing name may be added later."""
        if (id(namespace), name) in self._asked:
            return
        self._asked.add((id(namespace), name))
        value = namespace.get(name, ABSENT)
        if value is not ABSENT or not prefix:
            self._bound(EntryPlace(namespace, name, value), value, f"{prefix}.{name}" if prefix else name)

    def _container(self, value: PythonValue, kind: type, label: str) -> None:
        inside = f"{label}[...]"
        if not isinstance(value, (tuple, frozenset)) and _place_of_list(value, label).where in self._own:
            return
        if levels_of_data(value):
            self._token((kind, data_key(value)), label)
            # Nested contents are objects of their own.
            self.places += [_place_of_list(part, label) for part in _lists_of_data(value)]
            return
        # Call the builtin class's methods: the user's overrides may do anything.
        parts = contents_of(value)
        self._token((kind, len(parts)), label)
        if isinstance(value, dict):
            self.places.append(ContentsPlace(value, label))
            for key in parts:
                part = dict.__getitem__(value, key)
                self._refer(key, inside)
                self._refer(part, f"{label}[{key!r}]" if type(key) in (str, int) else inside)
        else:
            if not isinstance(value, (tuple, frozenset)):
                self.places.append(_place_of_list(value, label))
            # Equal sets may differ in order.
            for part in sorted(parts, key=_order) if isinstance(value, (set, frozenset)) else parts:
                self._refer(part, inside)
        if kind not in (tuple, list, dict, set, frozenset, deque):
            self._object(value, kind, label)

    def _class(self, kind: type, label: str) -> None:
        self._token(("class", _module_of(kind), kind.__qualname__), label or kind.__name__)
        own = [base for base in kind.__mro__ if not self._is_library(_module_of(base))]
        namespaces = [_namespace(base) for base in own]

        def ask(name: str) -> None:
            for base, namespace in zip(own, namespaces):
                if any(name in others for others in namespaces):
                    value = namespace.get(name, ABSENT)
                    self._bound(EntryPlace(namespace, name, value), value, f"{base.__name__}.{name}")
                if name in namespace:
                    return

        # Methods that Python calls without a name in the code.
        for name in sorted({name for names in namespaces for name, member in names.items() if _is_called_unnamed(name, member)}):
            ask(name)
        # A name may be added to any of them.
        for base, namespace in zip(own, namespaces):
            self._sized(namespace, base.__name__)
        names = {name for namespace in namespaces for name in namespace if not name.startswith("__")}
        self._owns(kind, ask, *(namespace.keys() for namespace in namespaces), attributes=names)
        self._constructors[id(kind)] = ask
        if type(kind) is not type:
            self._refer(type(kind), label)

    def _constructed(self, kind: type) -> None:
        """Note a class that a function can reach, and so may call."""
        ask = self._constructors.pop(id(kind), None)
        if ask is not None:
            for name in _CONSTRUCTORS:
                ask(name)

    def _object(self, value: PythonValue, kind: type, label: str) -> None:
        """Note an object with attributes. State that its class keeps elsewhere is invisible, so another object counts as another state."""
        name_of_it = label or kind.__name__
        self._refer(kind, label, is_bound=False)
        if any(self._is_library(_module_of(base)) and base.__name__ not in _OPEN_BASES for base in kind.__mro__):
            self._token(IdentityKey(value), label)
        attributes = _attributes_of(value)
        if attributes is not None:
            self.places.append(ObjectPlace(value, attributes, label))
            self._sized(attributes, label)

            def ask(name: str) -> None:
                # An attribute of the object may hide one of its class later.
                if name in attributes or not name.startswith("__"):
                    found = attributes.get(name, ABSENT)
                    self._bound(EntryPlace(attributes, name, found), found, f"{name_of_it}.{name}")

            self._owns(value, ask, attributes.keys(), *(vars(base).keys() for base in kind.__mro__), attributes=attributes)
            is_library = self._is_library(_module_of(kind))
            # The attributes of UserDict, UserList, ChainMap and others are their contents.
            is_container = any(map(_is_container, kind.__mro__))
            for name, part in list(attributes.items()):
                # Code that the walk skips reads the arrays of its objects, such as a sparse matrix or an interpolant.
                if name == "__wrapped__" or is_container or (is_library and isinstance(part, np.ndarray)):
                    self._asked.add((id(value), name))
                    ask(name)
                elif is_library:
                    self._if_callable(part, label)
        elif not any(True for _ in _slots(kind)):
            self._token(IdentityKey(value), label)
        for name, member in _slots(kind):
            found = _in_slot(value, member)
            self._bound(SlotPlace(value, name, member, found), found, f"{name_of_it}.{name}")

    def _of_this_package(self, value: PythonValue, kind: type, label: str) -> None:
        """Objects of this package are constant, but may hold functions of the user."""
        self._token(IdentityKey(value), label)
        if getattr(value, "is_asked_at_each_call", False):
            return
        for name in ("f", "function", "__wrapped__", *(_attributes_of(value) or ())):
            self._if_callable(getattr(value, name, None), label, is_wrapped=True)

    def _if_callable(self, value: object, label: str, *, is_wrapped: bool = False) -> None:
        """Note a callable.

        Args:
            is_wrapped: by an object or a function of this package.
        """
        if callable(value) and not isinstance(value, type):
            if is_wrapped:
                self._begin_at(value)
            self._refer(value, label)

    def _array(self, array: np.ndarray, label: str) -> None:
        place = ArrayPlace(array, label, self._contents, self._before.get(id(array)))
        if place.where in self._own:
            return
        self.places.append(place)
        self._token(place.key, label)
        attributes = _attributes_of(array)
        if attributes:
            self._refer(attributes, label)
        if array.dtype.hasobject:
            for part in array.flat:
                self._refer(part, f"{label}[...]")


def _portable(token: Hashable) -> object:
    """A token without memory addresses."""
    if isinstance(token, IdentityKey):
        held = token.held
        return getattr(held, "__module__", ""), getattr(held, "__qualname__", type(held).__qualname__)
    if isinstance(token, tuple):
        return tuple(map(_portable, token))
    if isinstance(token, frozenset):
        return sorted(map(repr, token))
    return f"{token.__module__}.{token.__qualname__}" if isinstance(token, type) else token


def _is_container(base: type) -> bool:
    module = _module_of(base)
    return module == "collections" or module.startswith("scipy.sparse") or base is weakref.WeakValueDictionary


def _is_called_unnamed(name: str, member: object) -> bool:
    return name.startswith("__") and isinstance(member, _METHOD_KINDS) and name not in _NEVER_RUN


def _attributes_of(value: PythonValue) -> dict[str, PythonValue] | None:
    """The dict of an object's attributes, without asking methods of its class."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found if isinstance(found, dict) else None


def _order(value: PythonValue) -> tuple[str, str]:
    """A sort key for entries of sets; the same for equal numbers and strings."""
    kind = type(value)
    return kind.__qualname__, repr(value) if kind in PLAIN else str(id(value))


def _place_of_list(value: PythonValue, label: str) -> Place:
    return ListPlace(value, label) if isinstance(value, list) else ContentsPlace(value, label)


def _lists_of_data(value: PythonValue) -> Iterator[PythonValue]:
    """Mutable containers within a container of numbers, itself included, and arrays."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, (list, dict)):
            yield part
        if isinstance(part, (list, tuple, dict)):
            inside = list(part.values()) if isinstance(part, dict) else part
            pending += [p for p in inside if isinstance(p, (list, dict, tuple))]


def _namespace(kind: type) -> dict[str, PythonValue]:
    """The dict that a class's read-only view wraps."""
    view = kind.__dict__
    found = gc.get_referents(view)
    return found[0] if len(found) == 1 and type(found[0]) is dict else dict(view)


def _slots(kind: type) -> Iterator[tuple[str, MemberDescriptorType]]:
    for base in kind.__mro__:
        if "__slots__" in vars(base):
            yield from ((name, member) for name, member in vars(base).items() if isinstance(member, MemberDescriptorType))


def _in_slot(owner: object, member: MemberDescriptorType) -> object:
    try:
        return member.__get__(owner)
    except AttributeError:  # not assigned yet
        return ABSENT


def _inside(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return ABSENT


def _code_of(function: PythonValue) -> CodeType | None:
    """The code that runs first when an object is called."""
    while isinstance(function, (MethodType, functools.partial)):
        function = function.__func__ if isinstance(function, MethodType) else function.func
    if not isinstance(function, FunctionType):
        function = getattr(type(function), "__call__", None)  # noqa: B004 -- the function is wanted
    return getattr(function, "__code__", None)


def _module_of(kind: PythonValue) -> str:
    """The name of a class's module; compiled classes may have none."""
    found = getattr(kind, "__module__", None)
    return found if isinstance(found, str) else "builtins"


@functools.cache
def _is_of_this_package(filename: str) -> bool:
    return filename.startswith(_PACKAGE)


_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
