"""What a function reads besides its arguments: everything that may change its value is a change, and nothing that may not."""

import array
import builtins
import collections
import contextlib
import ctypes
import dataclasses
import functools
import importlib
import operator
import sys
import threading
import types
import warnings
import weakref

import numba
import numpy as np
import pytest
import scipy.sparse

import tapediff as td
from tapediff.functions.captured.environment import Environment
from tapediff.functions.captured.environment_check import EnvironmentCheck

rate, offset = 0.5, np.arange(3.0)
table = {"low": 1.0, "levels": [1.0, 2.0]}
settings = types.SimpleNamespace(mode="a", depth=2)


def helper(x):
    return x * rate


class Base:
    scale = 2.0

    def __init__(self):
        self.weight, self.parts, self.notes = 1.5, [np.ones(2), np.zeros(300)], {"k": (1, 2)}

    def step(self, x):
        return x * self.weight * self.scale


class Model(Base):
    def __call__(self, x):
        return self.step(x) + super().step(x) + self.half

    @property
    def half(self):
        return self._half

    _half = 0.5


class Slotted:
    __slots__ = ("gain", "later")

    def __init__(self):
        self.gain = 2.0


@dataclasses.dataclass
class Pair:
    a: float
    b: list


def world():
    """A namespace of its own for each case, with functions that read it in many ways."""
    names = {
        "np": np, "rate": 0.5, "offset": np.arange(3.0), "large": np.arange(5000.0), "table": {"low": 1.0, "levels": [1.0, 2.0]},
        "model": Model(), "slotted": Slotted(), "pair": Pair(1.0, [1, 2]), "settings": types.SimpleNamespace(mode="a", depth=2),
        "chosen": {1, 2}, "queue": collections.deque([1.0, 2.0]), "many": [float(k) for k in range(500)], "strided": np.arange(40.0)[::2],
        "fortran": np.asfortranarray(np.ones((20, 30))), "objects": np.array([1.0, [2.0]], dtype=object),
        "module": types.ModuleType("a_module_of_the_user"),
    }  # fmt: skip
    names["module"].level = 1.0
    names["by_name"], names["matrix"] = types.SimpleNamespace(alpha=1.0), scipy.sparse.csr_array(np.eye(3))
    names["Meta_user"] = type("Meta", (type,), {"unit": 1.0, "__module__": "__main__"})("User", (), {"__module__": "__main__"})
    text = """
def helper(x): return x * rate
def outer(limit):
    bound = [limit]
    def inner(x): return x + limit + bound[0]
    return inner
inner = outer(3.0)
def f(x, shift=(1.0,)):
    out = helper(x) + offset[0] + large[1] + table["low"] + table["levels"][0] + model(x) + slotted.gain + pair.a + pair.b[0]
    out = out + len(settings.mode) + sum(chosen) + sum(queue) + many[3] + strided[1] + fortran[0, 0] + objects[0] + module.level
    out = out + helper.gain + getattr(by_name, "al" + "pha") + matrix @ x + Meta_user.unit
    return np.sum(out) + inner(x) + shift[0]
helper.gain = 1.0
"""
    exec(compile(text, "a_file_of_the_user.py", "exec"), names)
    return types.SimpleNamespace(**names), names


class Trainer:
    """Of which the function reads a part only."""

    def __init__(self):
        self.data, self.history, self.w, self.hook = np.ones(3), [], np.zeros(3), None

    def loss(self, x):
        return np.sum(x * self.data)


def test_what_only_a_constructor_or_another_method_names_is_not_read():
    trainer = Trainer()
    check = EnvironmentCheck(trainer.loss, "sample")
    trainer.history.append(1.0)
    trainer.w, trainer.hook = np.ones(3), print
    assert check.is_same()
    trainer.new = 1.0
    assert check.change() is None
    assert check.is_same()
    makes = EnvironmentCheck(lambda x: Trainer().loss(x), "sample")
    before, Trainer.__init__ = Trainer.__init__, lambda self: setattr(self, "data", np.zeros(3))
    try:
        assert makes.change() is not None
    finally:
        Trainer.__init__ = before


def rebind(name, value):
    return lambda w, names: names.__setitem__(name, value)


def reshape_in_place(array, shape):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy 2.5
        array.shape = shape


CHANGES = {
    "an attribute of a function": lambda w, names: setattr(w.helper, "gain", 3.0),
    "an attribute by a name made at run time": lambda w, names: setattr(w.by_name, "alpha", 3.0),
    "numbers of a sparse matrix": lambda w, names: w.matrix.data.__setitem__(0, 9.0),
    "an attribute of the class's class": lambda w, names: setattr(type(w.Meta_user), "unit", 3.0),
    "a global number": rebind("rate", 0.7),
    "another type of number": rebind("rate", np.float64(0.5)),
    "a number to its negative zero": lambda w, names: w.table.__setitem__("low", -0.0) or names["table"].__setitem__("low", -1.0),
    "a global array": rebind("offset", np.ones(3)),
    "an array of another dtype": rebind("offset", np.arange(3)),
    "an entry of a small array": lambda w, names: w.offset.__setitem__(0, 9.0),
    "a sampled entry of a large array": lambda w, names: w.large.__setitem__(0, 9.0),
    "the last entry of a large array": lambda w, names: w.large.__setitem__(-1, 9.0),
    "an entry of a strided array": lambda w, names: w.strided.__setitem__(1, 9.0),
    "an entry of a Fortran array": lambda w, names: w.fortran.__setitem__((0, 0), 9.0),
    "an entry of an array of objects": lambda w, names: w.objects.__setitem__(0, 9.0),
    "the contents of a list in such an array": lambda w, names: w.objects[1].append(1.0),
    "the shape of an array": lambda w, names: reshape_in_place(w.offset, (3, 1)),
    "an entry of a dict": lambda w, names: w.table.__setitem__("low", 2.0),
    "an added key": lambda w, names: w.table.__setitem__("high", 2.0),
    "a list in a dict": lambda w, names: w.table["levels"].__setitem__(0, 2.0),
    "an appended entry": lambda w, names: w.table["levels"].append(2.0),
    "an entry of a long list": lambda w, names: w.many.__setitem__(250, 9.0),
    "a set": lambda w, names: w.chosen.add(3),
    "a deque": lambda w, names: w.queue.append(3.0),
    "a helper": lambda w, names: exec("def helper(x): return x * 3", names),
    "the code of a helper": lambda w, names: setattr(w.helper, "__code__", (lambda x: x * 3).__code__),
    "the code of the function": lambda w, names: setattr(w.f, "__code__", (lambda x, shift: x * 3).__code__),
    "defaults": lambda w, names: setattr(w.f, "__defaults__", ((2.0,),)),
    "a cell": lambda w, names: setattr(w.inner.__closure__[1], "cell_contents", 9.0),
    "a list in a cell": lambda w, names: w.inner.__closure__[0].cell_contents.append(1) or w.inner.__closure__[0].cell_contents.reverse(),
    "an attribute": lambda w, names: setattr(w.model, "weight", 2.0),
    "an attribute that hides the class's": lambda w, names: setattr(w.model, "scale", 3.0),
    "an attribute that hides a method": lambda w, names: setattr(w.model, "step", lambda x: x),
    "an attribute behind a property": lambda w, names: setattr(w.model, "_half", 3.0),
    "another object of the class": lambda w, names: setattr(names["model"], "weight", 2.0) or names.__setitem__("model", names["model"]),
    "all attributes": lambda w, names: setattr(w.model, "__dict__", {**vars(w.model), "weight": 5.0}),
    "the class of an object": lambda w, names: setattr(w.model, "__class__", Other),
    "a slot": lambda w, names: setattr(w.slotted, "gain", 3.0),
    "a field of a dataclass": lambda w, names: setattr(w.pair, "a", 3.0),
    "a list in a field": lambda w, names: w.pair.b.append(3),
    "an attribute of a namespace": lambda w, names: setattr(w.settings, "mode", "bb"),
    "an attribute of a module": lambda w, names: setattr(w.module, "level", 2.0),
    "a name of a builtin": rebind("sum", lambda values: 1.0),
    "a deleted name": lambda w, names: names.__delitem__("rate"),
}


class Other(Base):
    def __call__(self, x):
        return x


@pytest.mark.parametrize("native", [False, True], ids=["in_Python", "native"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_what_is_read_is_found_at_once(change, native):
    """Compared in Python and natively; and what was put back is no change any more where the objects are the same."""
    w, names = world()
    check = EnvironmentCheck(w.f, "sample")
    call = check.checked(lambda: 1.0) if native else None
    assert check.is_same()
    assert check.change() is None
    CHANGES[change](w, names)
    assert not check.is_same()
    assert call is None or call() != 1.0
    assert check.change() is not None
    assert check.change().name


EQUAL = {
    "an equal number": rebind("rate", float("0.5")),
    "an equal array": rebind("offset", np.arange(3.0)),
    "an equal large array": rebind("large", np.arange(5000.0)),
    "an equal dict": rebind("table", {"low": 1.0, "levels": [1.0, 2.0]}),
    "an equal list": rebind("many", [float(k) for k in range(500)]),
    "a cell of a notebook that runs again": lambda w, names: exec("def helper(x): return x * rate\nhelper.gain = 1.0", names),
    "another object with equal attributes": rebind("model", Model()),
    "an equal dataclass": rebind("pair", Pair(1.0, [1, 2])),
    "a name that is not read": rebind("nobody_reads_this", 3.0),
}


@pytest.mark.parametrize("native", [False, True], ids=["in_Python", "native"])
@pytest.mark.parametrize("case", EQUAL)
def test_an_equal_object_in_the_place_of_another_is_no_change(case, native):
    """And from then on it is compared itself."""
    w, names = world()
    check = EnvironmentCheck(w.f, "sample")
    if native:
        check.checked(lambda: 1.0)
    EQUAL[case](w, names)
    assert check.change() is None
    assert check.is_same()
    names["rate"] = 7.0
    assert check.change().name == "rate"


@pytest.mark.parametrize("native", [False, True], ids=["in_Python", "native"])
def test_any_entry_of_a_large_array_is_found_within_a_round(native):
    """A block of 128 numbers is compared at every 16th call, so a round over 5,000 takes 40 times 16 calls."""
    for entry in (1, 130, 2600, 4998):
        w, _ = world()
        check = EnvironmentCheck(w.f, "sample")
        if native:
            check.checked(lambda: 1.0)
        w.large[entry] += 1.0
        calls = next(k for k in range(1, 40 * 16 + 2) if not check.is_same())
        assert calls > 1
        assert check.change().name == "large"
        assert 0 < check.change().stale_calls <= 40 * 16


def test_contents_are_compared_always_or_never_where_that_is_asked_for():
    for contents, is_found in (("always", True), ("off", False)):
        w, names = world()
        check = EnvironmentCheck(w.f, contents)
        check.checked(lambda: 1.0)
        w.large[1] += 1.0
        assert (check.change() is not None) == is_found
        names["rate"] = 3.0
        assert check.change() is not None


def test_what_a_recording_has_changed_itself_may_be_left_out():
    """A counter and a log; other changes are found."""
    counts, log, weight = [0], [], [2.0]

    def f(x):
        counts[0] += 1
        log.append(x)
        return x * weight[0]

    before = Environment(f)
    f(1.0)
    check = EnvironmentCheck(f, "sample", before=before)
    f(1.0)
    assert check.change() is None
    weight[0] = 3.0
    assert check.change().name.startswith("weight")


def test_callables_of_every_kind_are_looked_into():
    """Bound methods, partial functions, cached and wrapped functions, objects that are called, functions of NumPy around a function."""
    weight = [1.0]

    def read(x):
        return x * weight[0]

    class Called:
        def __call__(self, x):
            return read(x)

        def method(self, x):
            return read(x)

        @staticmethod
        def static(x):
            return read(x)

        @classmethod
        def of_class(cls, x):
            return read(x)

    @functools.wraps(read)
    def wrapped(*args):
        return read(*args)

    cached = functools.lru_cache(read)
    for f in (read, Called(), Called().method, Called.static, Called.of_class, functools.partial(read, 1.0), wrapped, cached,
              np.vectorize(read), lambda x: cached(x), lambda x: list(map(Called().method, x))):  # fmt: skip
        check = EnvironmentCheck(f, "sample")
        weight[0] += 1.0
        assert check.change() is not None, f
        weight[0] -= 1.0
        assert check.change() is None, f


def test_fingerprints_of_equal_environments_are_equal():
    """Also for functions made from the same text twice; and they differ where a number does."""
    (first, _), (second, names) = world(), world()
    assert Environment(first.f).fingerprint() == Environment(second.f).fingerprint()
    names["rate"] = 0.7
    assert Environment(first.f).fingerprint() != Environment(second.f).fingerprint()


def test_a_walk_over_very_many_objects_ends():
    """A list of 30,000 objects: those beyond the first 20,000 are not compared, and the environment says so."""
    objects = [types.SimpleNamespace(v=float(k)) for k in range(30_000)]
    environment = Environment(lambda x: x * sum(o.v for o in objects))
    assert not environment.is_whole
    assert Environment(helper).is_whole


def test_what_is_called_at_every_evaluation_is_not_frozen():
    """Primitives, and sub-tapes whose guard is asked; another sub-tape is."""
    factor = [2.0]
    twice = td.primitive(lambda x: (factor[0] * x, None))
    guarded = td.subtape(lambda x: factor[0] * x, guard=lambda x: factor[0])
    plain = td.subtape(lambda x: factor[0] * x)
    for f, is_frozen in ((lambda x: twice(x), False), (lambda x: guarded(x), False), (lambda x: plain(x), True)):
        check = EnvironmentCheck(f, "sample")
        factor[0] += 1.0
        assert (check.change() is not None) == is_frozen


ADDED = {
    "an attribute in the place of another": (
        "def f(x): return x * (obj.a if hasattr(obj, 'a') else 3.0 * obj.b)", lambda n: (delattr(n["obj"], "a"), setattr(n["obj"], "b", 1.0)),
    ),
    "an attribute with a default": ("def f(x): return x * getattr(obj, 'later', 1.0)", lambda n: setattr(n["obj"], "later", 2.0)),
    "an attribute that was missing": (
        "def f(x):\n    try: return x * obj.later\n    except AttributeError: return x", lambda n: setattr(n["obj"], "later", 2.0),
    ),
    "a global that was missing": (
        "def f(x):\n    try: return x * later\n    except NameError: return x", lambda n: n.__setitem__("later", 2.0),
    ),
    "an attribute of the class with a default": ("def f(x): return x * getattr(obj, 'later', 1.0)", lambda n: setattr(type(n["obj"]), "later", 2.0)),
    "an attribute of the class that was missing": (
        "def f(x):\n    try: return x * obj.later\n    except AttributeError: return x", lambda n: setattr(type(n["obj"]), "later", 2.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("native", [False, True], ids=["in_Python", "native"])
@pytest.mark.parametrize("case", ADDED)
def test_what_was_missing_may_be_added(case, native):
    """And one name is not another, though both hold the same number."""
    text, change = ADDED[case]
    names = {"obj": type("Plain", (), {"__module__": "__main__"})()}
    names["obj"].a = 1.0
    exec(compile(text, "a_file_of_the_user.py", "exec"), names)
    check = EnvironmentCheck(names["f"], "sample")
    if native:
        check.checked(lambda: 1.0)
    assert check.change() is None
    change(names)
    assert check.change() is not None


ROUNDABOUT = {
    "an entry of a UserDict": ("d = collections.UserDict(a=1.0)\ndef f(x): return x * d['a']", "d['a'] = 2.0"),
    "an entry of a UserList": ("d = collections.UserList([1.0])\ndef f(x): return x * d[0]", "d[0] = 2.0"),
    "an entry of a subclass of UserDict": (
        "class Mine(collections.UserDict): pass\nd = Mine(a=1.0)\ndef f(x): return x * d['a']", "d['a'] = 2.0",
    ),
    "a map of a ChainMap": ("d = collections.ChainMap({}, {'a': 1.0})\ndef f(x): return x * d['a']", "d['a'] = 2.0"),
    "a dict behind a read-only view": ("e = {'a': 1.0}\nd = types.MappingProxyType(e)\ndef f(x): return x * d['a']", "e['a'] = 2.0"),
    "the order of an OrderedDict": (
        "d = collections.OrderedDict(a=1.0, b=2.0)\ndef f(x): return x * next(iter(d.values()))", "d.move_to_end('a')",
    ),
    "an entry of an array of the standard library": ("d = array.array('d', [1.0])\ndef f(x): return x * d[0]", "d[0] = 2.0"),
    "a byte": ("d = bytearray(b'ab')\ndef f(x): return x * d[0]", "d[0] = 7"),
    "a number of C": ("d = ctypes.c_double(1)\ndef f(x): return x * d.value", "d.value = 2.0"),
    "an entry of an array of C": ("d = (ctypes.c_double * 2)(1, 2)\ndef f(x): return x * d[0]", "d[0] = 2.0"),
    "a field of a structure of C": (
        "class C(ctypes.Structure): _fields_ = [('a', ctypes.c_double)]\nd = C(1.0)\ndef f(x): return x * d.a", "d.a = 2.0",
    ),
    "a field of a record": ("d = np.ones(2, [('p', 'f8')])[0]\ndef f(x): return x * d['p']", "d['p'] = 2.0"),
    "what x.flat shows": ("d = np.ones(2).flat\ndef f(x): return x * d[0]", "d[0] = 2.0"),
    "what a view of a dict shows": ("e = {'a': 1.0}\nd = e.values()\ndef f(x): return x * sum(d)", "e['a'] = 2.0"),
    "a mask": ("d = np.ma.array([1.0, 2.0], mask=[0, 0])\ndef f(x): return x * float(d.sum())", "d.mask[0] = True"),
    "the data of a masked array": ("d = np.ma.array([1.0, 2.0], mask=[0, 0])\ndef f(x): return x * float(d.sum())", "d.data[0] = 2.0"),
    "what a weak reference leads to": (
        "class K: a = 1.0\ne = K()\nd = weakref.ref(e)\ndef f(x): return x * d().a", "e.a = 2.0",
    ),
    "what a weak proxy leads to": ("class K: a = 1.0\ne = K()\nd = weakref.proxy(e)\ndef f(x): return x * d.a", "e.a = 2.0"),
    "an entry of a dict of weak references": (
        "class K: a = 1.0\ne = K()\nd = weakref.WeakValueDictionary(k=e)\ndef f(x): return x * d['k'].a", "e.a = 2.0",
    ),
    "an attribute in the thread": ("d = threading.local()\nd.a = 1.0\ndef f(x): return x * d.a", "d.a = 2.0"),
    "what makes the missing entries of a dict": (
        "d = collections.defaultdict(lambda: 1.0)\ndef f(x): return x * d.default_factory()", "d.default_factory = lambda: 2.0",
    ),
    "the arguments of an error": ("d = ValueError(1.0)\ndef f(x): return x * d.args[0]", "d.args = (2.0,)"),
    "an entry of a sparse matrix that is a dict": (
        "d = scipy.sparse.dok_matrix(np.eye(2))\ndef f(x): return x * d[0, 0]", "d[0, 0] = 2.0",
    ),
    "what a memoryview shows": ("e = np.ones(3)\nd = memoryview(e)\ndef f(x): return x * d[0]", "e[0] = 7"),
    "an attribute of an array": (
        "class Mine(np.ndarray): pass\nd = np.ones(2).view(Mine)\nd.unit = 1.0\ndef f(x): return x * d.unit", "d.unit = 2.0",
    ),
    "an attribute by a getter made elsewhere": (
        "d = types.SimpleNamespace(a=types.SimpleNamespace(b=1.0))\nget = operator.attrgetter('a.b')\ndef f(x): return x * get(d)", "d.a.b = 2.0",
    ),
    "a method by a caller made elsewhere": (
        "class Mine:\n    def m(self): return 1.0\nd, get = Mine(), operator.methodcaller('m')\ndef f(x): return x * get(d)",
        "Mine.m = lambda self: 2.0",
    ),
    "a getter": ("d = {'a': 1.0, 'b': 2.0}\nget = operator.itemgetter('a')\ndef f(x): return x * get(d)", "get = operator.itemgetter('b')"),
    "a function that a decorator of the standard library wraps": (
        "rate = 1.0\n@contextlib.contextmanager\ndef scaled(): yield rate\ndef f(x):\n    with scaled() as r: return x * r", "rate = 2.0",
    ),
    "a rule of a generic function": (
        "@functools.singledispatch\ndef rule(k, x): return x\ndef f(x): return rule(1.0, x)", "rule.register(float, lambda k, x: 2 * x)",
    ),
    "a name among the builtins": ("builtins.of_a_test = 1.0\ndef f(x): return x * of_a_test", "builtins.of_a_test = 2.0"),
    "a name that is added to the builtins": (
        "vars(builtins).pop('of_a_test', None)\ndef f(x):\n    try: return x * of_a_test\n    except NameError: return x", "builtins.of_a_test = 2.0",
    ),
    "a module that is imported in the function": (
        "sys.modules['of_a_test'] = types.SimpleNamespace(a=1.0)\ndef f(x):\n    from of_a_test import a\n    return x * a",
        "sys.modules['of_a_test'] = types.SimpleNamespace(a=2.0)",
    ),
    "a name that is added to a module": ("d = types.ModuleType('mine')\ndef f(x): return x * getattr(d, 'a', 1.0)", "d.a = 2.0"),
    "an attribute of a module by a name made at run time": (
        "d = types.ModuleType('mine')\nd.a = 1.0\ndef f(x): return x * getattr(d, chr(97))", "d.a = 2.0",
    ),
    "what a module's __getattr__ reads": (
        "d, e = types.ModuleType('mine'), {'a': 1.0}\nd.__getattr__ = lambda name: e[name]\ndef f(x): return x * d.a", "e['a'] = 2.0",
    ),
    "a default of a keyword": ("def f(x, *, a=1.0): return x * a", "f.__kwdefaults__ = {'a': 2.0}"),
    "a default of a keyword in its dict": ("def f(x, *, a=1.0): return x * a", "f.__kwdefaults__['a'] = 2.0"),
    "a default of a helper's keyword": ("def h(x, *, a=1.0): return x * a\ndef f(x): return h(x)", "h.__kwdefaults__ = {'a': 2.0}"),
    "the code of a helper": ("def h(x): return x\ndef f(x): return h(x)", "def g(x): return 2 * x\nh.__code__ = g.__code__"),
    "the code of the function": ("def f(x): return x", "def g(x): return 2 * x\nf.__code__ = g.__code__"),
}  # fmt: skip


@pytest.mark.parametrize("native", [False, True], ids=["in_Python", "native"])
@pytest.mark.parametrize("case", ROUNDABOUT)
def test_what_is_read_in_a_roundabout_way_is_compared_too(case, native, tmp_path):
    """And GuardedTape gives the answer of now: the function is translated from a file, whose helpers are kept by what they are."""
    text, change = ROUNDABOUT[case]
    names = {m.__name__: m for m in (array, builtins, collections, contextlib, ctypes, functools, operator, sys, threading, types, weakref)}
    names |= {"np": np, "scipy": scipy, "__name__": "a_module_of_the_user"}
    file = tmp_path / "a_file_of_the_user.py"
    file.write_text(text + f"\ndef change():\n    global {', '.join(sorted({*names, 'd', 'e', 'get', 'g', 'rate'}))}\n    " + change.replace("\n", "\n    "))
    try:
        exec(compile(file.read_text(), str(file), "exec"), names)
        check = EnvironmentCheck(names["f"], "sample")
        if native:
            check.checked(lambda: 1.0)
        safe = td.GuardedTape(names["f"])
        for _ in range(10 if native else 1):
            assert td.value_and_gradient(safe, 3.0) == (names["f"](3.0), names["f"](1.0))
        assert check.change() is None
        assert check.is_same()
        before = names["f"](3.0)
        names["change"]()
        assert names["f"](3.0) != before
        assert check.change() is not None
        assert td.value_and_gradient(safe, 3.0) == (names["f"](3.0), names["f"](1.0))
    finally:
        vars(builtins).pop("of_a_test", None)
        sys.modules.pop("of_a_test", None)


class Counting:
    """That makes its counter itself, at the first call."""

    def __init__(self):
        self.weight = 2.0

    def f(self, x):
        self.count = getattr(self, "count", 0) + 1
        self.kept = [x]
        return x * self.weight


def test_what_a_recording_has_made_itself_may_be_left_out():
    """An attribute that was not there before: setting it again is no change; another attribute is one."""
    counting = Counting()
    before = Environment(counting.f)
    counting.f(1.0)
    check = EnvironmentCheck(counting.f, "sample", before=before)
    counting.f(1.0)
    assert check.change() is None
    counting.weight = 3.0
    assert check.change().name.endswith("weight")


def test_the_package_of_the_recorded_function_is_the_users_though_it_is_installed(tmp_path, monkeypatch):
    """Its globals, its other modules and classes are compared; those of another installed package are not."""
    for name, text in (
        ("mine/__init__.py", "from mine import parts\nimport theirs\nrate = 2.0\ndef f(x): return x * rate * parts.scale * theirs.constant + parts.Part().k"),
        ("mine/parts.py", "scale = 3.0\nclass Part:\n    k = 1.0"), ("theirs/__init__.py", "constant = 1.0"),
    ):  # fmt: skip
        file = tmp_path / "site-packages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    mine, theirs = importlib.import_module("mine"), importlib.import_module("theirs")
    for f in (mine.f, functools.partial(mine.f), td.GuardedTape(mine.f).f):
        for owner, name, is_seen in ((mine, "rate", True), (mine.parts, "scale", True), (mine.parts.Part, "k", True), (theirs, "constant", False)):
            check, before = EnvironmentCheck(f, "sample"), getattr(owner, name)
            setattr(owner, name, 7.0)
            assert (check.change() is not None) == is_seen, (f, name)
            setattr(owner, name, before)


def test_what_compiled_functions_of_other_packages_hold_is_not_walked_over():
    """They are objects of theirs, though a function of the user's is behind them; the user's other modules are those of the recorded function."""
    compiled = numba.njit(lambda a: np.sum(a) * np.exp(a[0]))
    compiled(np.ones(4))
    for f in (lambda x: x * compiled(np.ones(4)), compiled):
        assert len(Environment(f).places) < 50


def test_the_walk_takes_time_in_proportion_to_objects_and_names():
    """Not to their product: names are looked up where they may be found. Counted in calls of Python's functions, which no load changes."""

    def calls_for(n):
        names = {"objects": [type("Plain", (), {"__module__": "__main__"})() for _ in range(n)]}
        for i, obj in enumerate(names["objects"]):
            obj.weight = float(i)
            setattr(obj, f"a_{i}", 1.0)
        exec("def f(x):\n" + "".join(f"    objects[{i}].a_{i} * objects[{i}].weight\n" for i in range(n)), names)
        calls = 0

        def count(frame, event, argument):
            nonlocal calls
            calls += 1

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            environment = Environment(names["f"])
        finally:
            sys.setprofile(before)
        assert len(environment.places) >= 2 * n
        return calls

    assert calls_for(600) < 4.5 * calls_for(150)
