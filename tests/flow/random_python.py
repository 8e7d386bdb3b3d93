"""Random Python programs as text, over every kind of statement and expression: functions, generators, classes, and a main that runs them.

A program logs what it evaluates with note(), counts its steps with tick(), and always ends: loops have counters, and functions call only functions
that are defined before them. `random_statements.py` and `random_expressions.py` have the parts.
"""

from __future__ import annotations

import re

from flow.random_expressions import Scope
from flow.random_statements import Statements

STATE = ("G0", "G1", "G2", "G3", "G4", "G5", "G6", "PAPER", "CLASSES")
# Events of a section, which ends with OutOfFuel after these.
FUEL = 250

START = '''\
import bisect, collections, contextlib, dataclasses, enum, functools, heapq, io, itertools, operator

G0, G1, G2 = 3, [1, 2], {"a": 1}
G3, G4, G5, G6 = collections.deque([1], maxlen=5), collections.defaultdict(list), collections.Counter(), []
PAPER = io.StringIO()


class Fault(Exception):
    def __init__(self, code=0):
        super().__init__(code)
        self.code = code


def describe(error):
    return type(error).__name__, *error.args


class Guard:
    def __init__(self, k, *errors):
        self.k, self.errors = k, errors

    def __enter__(self):
        note("enter", self.k)
        return self.k

    def __exit__(self, kind, error, traceback):
        note("exit", (self.k, kind and kind.__name__, traceback is None))
        return kind is not None and issubclass(kind, self.errors)


@contextlib.contextmanager
def managed(k):
    note("before", k)
    try:
        yield k + 1
    except Fault as fault:
        note("managed", fault.code)
    finally:
        note("after", k)


Point = collections.namedtuple("Point", "x y", defaults=[9])


@dataclasses.dataclass(order=True)
class Pair:
    left: int
    right: int = 0
    seen: list = dataclasses.field(default_factory=list, compare=False)

    def __post_init__(self):
        self.seen.append(self.left)

    def size(self):
        return self.left - self.right


class Colour(enum.Enum):
    RED = 0
    GREEN = 1
    BLUE = 2

    @property
    def weight(self):
        return self.value * 5


def twice(function):
    @functools.wraps(function)
    def around(*rest, **more):
        note("twice", function.__name__)
        return function(*rest, **more) + function(*rest, **more)

    return around


def scaled(k):
    def decorate(function):
        note("decorate", k)
        return lambda *rest, **more: function(*rest, **more) * k % 89

    return decorate


class kept:
    def __init__(self, function):
        self.function, self.calls = function, 0
        functools.update_wrapper(self, function)

    def __call__(self, *rest, **more):
        self.calls += 1
        return self.function(*rest, **more)


def climb(n):
    return n if n < 2 else climb(n - 1) + climb(n - 2) * (n % 3)


class Field:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return 11 if instance is None else instance.__dict__.get(self.name, 0)

    def __set__(self, instance, value):
        note("field", value)
        instance.__dict__[self.name] = value
'''

# Methods of the first class: decorator, head, and lines; most are there. <body> is a random block.
METHODS = [
    ("", "__init__(self, x, items=(1, 2))", ["self.x = x", "self.items = list(items)[:4]", "self.__own = 5", "type(self).made += 1", "<body>"]),
    ("", "go(self, a, scale=1)", ["tick()", "<body>", "return a * scale + self.x"]),
    ("", "__add__(self, other)", ["<body>", "return {name}(self.x + (other.x if isinstance(other, {name}) else other), self.items)"]),
    ("", "__radd__(self, other)", ["if not isinstance(other, int):", "    return NotImplemented", "return {name}(other - self.x)"]),
    ("", "__sub__(self, other)", ["if not isinstance(other, {name}):", "    return NotImplemented", "return {name}(self.x - other.x)"]),
    ("", "__iadd__(self, other)", ["self.x += int(other)", "self.items.append(int(other))", "return self"]),
    ("", "__neg__(self)", ["return type(self)(-self.x, self.items[::-1])"]),
    ("", "__mul__(self, other)", ["return NotImplemented if other == 1 else {name}(self.x * 2)"]),
    ("", "__lt__(self, other)", ["note('lt', self.x)", "return self.x < (other.x if isinstance(other, {name}) else other)"]),
    ("", "__le__(self, other)", ["<body>", "return self.x <= other.x"]),
    ("", "__gt__(self, other)", ["return NotImplemented if isinstance(other, int) else self.x > other.x"]),
    ("", "__eq__(self, other)", ["note('eq', self.x)", "return isinstance(other, {name}) and self.x == other.x"]),
    ("", "__hash__(self)", ["return 3"]),
    ("", "__bool__(self)", ["return note('bool', self.x % 3 != 0)"]),
    ("", "__int__(self)", ["return self.x"]),
    ("", "__call__(self, a, /)", ["<body>", "return a + self.__own"]),
    ("", "__len__(self)", ["return len(self.items)"]),
    ("", "__getitem__(self, k)", ["note('get', k)", "return self.items[k]"]),
    ("", "__setitem__(self, k, value)", ["note('set', (k, value))", "self.items[k] = value"]),
    ("", "__delitem__(self, k)", ["note('delete', k)", "del self.items[k]"]),
    ("", "__contains__(self, k)", ["return k in self.items or k == self.x"]),
    ("", "__iter__(self)", ["note('iter')", "for v in self.items[:4]:", "    yield v + self.x"]),
    ("", "__getattr__(self, name)", ["note('getattr', name)", "if name.startswith('guess_'):", "    return len(name) + ord(name[-1])", "raise AttributeError(name)"]),
    ("", "__setattr__(self, name, value)", ["if name.startswith('extra'):", "    note('setattr', name)", "super().__setattr__(name, value)"]),
    ("", "__repr__(self)", ["return f'<{{type(self).__name__}} {{self.x!r}}>'"]),
    ("", "hidden(self)", ["return self.__own + self.__class__.__name__.count('C')"]),
    ("@property", "total(self)", ["<body>", "return self.x + sum(self.items)"]),
    ("@total.setter", "total(self, value)", ["note('total', value)", "self.x = value"]),
    ("@total.deleter", "total(self)", ["note('gone')", "self.items.clear()"]),
    ("@staticmethod", "fixed(a)", ["return a + 1"]),
    ("@classmethod", "of_class(cls, a)", ["return a + cls.made"]),
]


class Program(Statements):
    """A random program; `text` is its source."""

    def __init__(self, seed):
        super().__init__(seed)
        parts = [START]
        for _ in range(self.pick(1, 2)):
            parts.append(self.top_function())
        if self.chance(0.8):
            for number in range(self.pick(1, 2, 3)):
                parts.append(self.class_text(f"C{number}"))
        for _ in range(self.pick(1, 2)):
            parts.append(self.generator())
        for _ in range(self.pick(1, 2)):
            parts.append(self.top_function())
        parts.append("\nCLASSES = [" + ", ".join(f"({name}, vars({name}).get('made'))" for name in self.classes) + "]\n")
        parts.append(self.main())
        self.text = "\n\n".join(parts)

    def top_function(self):
        required, optional = ["a", "b"][: self.pick(0, 1, 2)], ["c", "d"][: self.pick(0, 1, 2)]
        rest, keywords, more = self.chance(0.3), ["e"] if self.chance(0.3) else [], self.chance(0.3)
        scope = Scope(dict.fromkeys((*required, *optional, *keywords), "int"))
        outer = Scope({}, walrus=False)
        signature = [*required, *(f"{name}={self.of('int', outer, 0)}" for name in optional)]
        if len(signature) > 1 and not optional and self.chance(0.2):
            signature.insert(1, "/")
            required = [required[0], *required[1:]]
        signature += ["*rest"] * rest + ["*"] * bool(keywords and not rest) + [f"{name}={self.of('int', outer, 0)}" for name in keywords] + ["**more"] * more
        scope.names |= {"rest": "tuple"} if rest else {}
        scope.names |= {"more": "dict"} if more else {}
        scope.own.update(scope.names)
        name = f"f{len(self.functions)}"
        decorators = [self.fill(self.pick("@twice", "@scaled(<int>)", "@kept"), outer, 0) for _ in range(self.pick(0, 0, 0, 1, 2))]
        text = self.definition(name, ", ".join(signature), scope, decorators, self.pick(2, 4, 5))
        self.functions[name] = required, optional, rest, keywords, more
        return text

    def definition(self, name, signature, scope, decorators=(), size=5):
        declared = ["    global G0"] if self.chance(0.3) else []
        if declared:
            scope.names["G0"] = "int"
            scope.own.add("G0")
            scope.declared = ("G0",)
        body = ["tick()", *self.block(scope, size, 3), f"return {self.of('int', scope)}"]
        return "\n".join([*decorators, f"def {name}({signature}):", *declared, *("    " + line for line in body)])

    def generator(self):
        name = f"g{len(self.generators)}"
        scope = Scope({"n": "int"}, own={"n"}, yields=True)
        first = self.yielding(scope, 0)
        body = ["tick()", *first, *self.block(scope, self.pick(2, 4, 6), 2)]
        body += ["for n in range(n):", "    yield n", f"return {self.of('int', scope)}"]
        # What a generator does as it is closed comes at the end of a `with` or `finally` that it is read in, not when Python drops it.
        text = "\n".join([f"def {name}(n=2):", *("    " + line for line in body)])
        self.generators[name] = 1
        return text

    def class_text(self, name):
        """The first class has most methods; the next inherit from it, and call what they override."""
        base = self.classes[-1] if self.classes else None
        outer = Scope({}, walrus=False)
        lines = [f"class {name}({base}):" if base else f"class {name}:", f"    made = {self.of('int', outer, 0)}", "    field = Field()", f"    table = [{self.of('int', outer, 0)} for k in range(2)]"]
        kept = {"__init__", "total"} if base else {"__init__", "total", "__repr__"}
        for decorator, head, body in METHODS:
            method = head.partition("(")[0]
            if (base and decorator not in ("", "@property", "@classmethod")) or (base and method == "__hash__"):
                continue
            if method not in kept and self.chance(0.7 if base else 0.05):
                continue
            lines += ["", *([f"    {decorator}"] if decorator else []), f"    def {head}:"]
            lines += ["        " + line for part in (self.overriding(decorator, head) if base else body) for line in self.method_lines(part, name, head)]
        self.classes.append(name)
        return "\n".join(lines)

    def method_lines(self, part, name, head):
        if part != "<body>":
            return [part.replace("{name}", name).replace("{{", "{").replace("}}", "}")]
        # No objects in here: a method that makes objects would call itself.
        scope = Scope(dict.fromkeys(re.findall(r"\b(a|scale)\b", head), "int"))
        scope.own.update(scope.names)
        scope.names |= {"self.x": "int", "self.items": "list"} if "self" in head else {}
        classes, self.classes = self.classes, []
        generators, self.generators = self.generators, {}
        lines = self.block(scope, self.pick(0, 1, 2), 1)
        self.classes, self.generators = classes, generators
        return lines

    def overriding(self, decorator, head):
        """The lines of a method that calls the one it overrides."""
        method = head.partition("(")[0]
        arguments = {"__init__": "x, items", "go": "a, scale=scale"}.get(method, ", ".join(word for word in head[len(method) + 1 : -1].split(", ") if word not in ("self", "cls", "/")))
        call = self.pick("super()", "super()", "super(__class__, self)" if decorator != "@classmethod" else "super()")
        call += f".{method}" if decorator == "@property" else f".{method}({arguments})"
        if method == "__init__":
            return [f"{call}", "<body>", "self.__own = 8"]
        if method == "__iter__":
            return [f"yield from {call}", "yield self.__own"]
        if method in ("__setattr__", "__getattr__"):
            return [f"return {call}"]
        return [f"note('over', '{method}')", "<body>", f"return {call}"]

    def main(self):
        """Sections that each may fail; the exception of the last one is that of the program."""
        scope = Scope({})
        lines = []
        for number in range(self.pick(2, 3)):
            inner = scope.inner(own=set())
            declared = ["    global G0"] if self.chance(0.3) else []
            if declared:
                inner.names["G0"], inner.declared = "int", ("G0",)
                inner.own.add("G0")
            if self.classes and self.chance(0.5):
                inner.bind("o", "object")
            start = [f"    o = {self.random.choice(self.classes)}({number})"] if "o" in inner.names else []
            body = [*declared, *start, *("    " + line for line in [*self.block(inner, self.pick(3, 4, 6), 3), f"note('end', [{', '.join(list(inner.names)[:9])}])", f"return {self.of('tuple', inner)}, {self.of('int', inner)}"])]
            lines += [f"def section{number}():", *body, ""]
            self.sections = number
        lines += ["def main():"]
        for number in range(self.sections):
            lines += [f"    refuel({FUEL})", "    try:", f"        note('section', section{number}())", "    except (Exception, OutOfFuel) as error:", f"        refuel({FUEL})", "        note('failed', describe(error))"]
        lines += [f"    refuel({FUEL})", f"    return section{self.sections}()", ""]
        return "\n".join(lines)
