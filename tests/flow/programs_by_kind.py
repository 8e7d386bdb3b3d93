'''Small programs, one or more for each kind of statement, expression and pattern of Python, each with what is easily got wrong.

PROGRAMS maps a name, which begins with the kind of syntax, to the text of a module with a function main().
'''

import re
import sys

STATEMENTS = """
# FunctionDef: defaults are evaluated once, decorators from the top, applied from the bottom
def decorate(k):
    note("make", k)
    return lambda function: (note("apply", k), function)[1]

def main():
    @decorate(1)
    @decorate(2)
    def f(a, b=note("b", []), /, c=note("c", 3), *rest, d=note("d", 4), e, **more) -> note("returns", int):
        "Text of f."
        b.append(a)
        return a, list(b), c, rest, d, e, more
    for arguments, named in [((1,), {"e": 2}), ((1, [7], 3, 4, 5), {"e": 0, "z": 1, "a": 9}), ((), {}), ((1,), {"b": 2, "e": 1}), ((1, 2, 3), {"c": 4, "e": 1})]:
        try:
            note("got", f(*arguments, **named))
        except (TypeError, AttributeError) as error:
            note("error", error)
    return f.__name__, f.__qualname__, f.__doc__, f.__defaults__, f.__kwdefaults__, f.__annotations__, f.__module__

# FunctionDef: text of errors of calls that do not fit
def f(a, b, *, c): ...
class C:
    def m(self, a): ...
    @staticmethod
    def s(): ...
def main():
    def inner(x, y=1): ...
    for call in (lambda: f(), lambda: f(1), lambda: f(1, 2), lambda: f(1, 2, 3), lambda: f(1, 2, c=1, d=2), lambda: f(1, a=1), lambda: C().m(), lambda: C.m(), lambda: C().s(1), lambda: inner(), lambda: inner(1, 2, 3),
                 lambda: C(1), lambda: f(*1), lambda: f(**1), lambda: f(**{1: 2}), lambda: (lambda p: p)(), lambda: f(1, 2, c=3, **{"c": 4}), lambda: None()):
        try:
            call()
        except TypeError as error:
            note(0, error)

# FunctionDef: a closure sees later assignments, and each call has cells of its own
def main():
    def counter(start):
        def step(by=1):
            nonlocal start
            start += by
            return start
        def peek():
            return start
        start *= 10
        return step, peek
    (a, pa), (b, pb) = counter(1), counter(2)
    note(1, [a(), a(5), pa(), b(), pb()])
    functions = []
    for k in range(3):
        functions.append(lambda: k)
    del k
    try:
        functions[0]()
    except NameError as error:
        note(2, error)
    k = 9
    return [f() for f in functions]

# FunctionDef: recursion of inner functions, attributes of functions, shadowing of the function's own name
def main():
    def even(n):
        even.calls = getattr(even, "calls", 0) + 1
        return n == 0 or odd(n - 1)
    def odd(n):
        return n != 0 and even(n - 1)
    note(0, (even(7), even(8), even.calls))
    def f(f):
        return f
    return f(3), callable(f)

# AsyncFunctionDef refused

# ClassDef: the order of a class body, names of it that functions do not see, __set_name__, __init_subclass__, keywords
class Meta(type):
    @classmethod
    def __prepare__(mcs, name, bases, **more):
        note("prepare", (name, more))
        return {}
    def __new__(mcs, name, bases, space, **more):
        note("new", list(space))
        return super().__new__(mcs, name, bases, space)
    def __init__(cls, name, bases, space, **more):
        super().__init__(name, bases, space)
    def __call__(cls, *rest):
        note("call", rest)
        return super().__call__(*rest)

class Named:
    def __set_name__(self, owner, name):
        note("set_name", (owner.__name__, name))

class Base:
    def __init_subclass__(cls, /, tag=None, **more):
        note("init_subclass", (cls.__name__, tag))
        super().__init_subclass__(**more)

x = "global"
def main():
    x = "outer"
    @(lambda cls: note("decorate", cls) and cls)
    class C(note("base", Base), metaclass=note("meta", Meta), tag=note("tag", 4)):
        "Text of C."
        y = note("y", x)
        x = "inner"
        z = [x for _ in range(1)], [x for x in (x, x)]
        named = Named()
        if y == "global":
            def m(self): return x
        for k in range(2):
            note("k", k)
        else:
            del k
        w: note("annotation", int) = 3
        v: note("only", str)
        def __init__(self, *rest): self.rest = rest
    c = C(1, 2)
    return C.__name__, C.__qualname__, C.__doc__, C.y, C.x, C.z, c.m(), hasattr(C, "k"), C.m.__qualname__, list(vars(C))[:4], c.rest, C.__module__

# ClassDef: super() with and without arguments, in diamonds, in comprehensions and closures, in static and class methods
class A:
    def f(self, n): return [("A", n)]
    @classmethod
    def make(cls): return cls.__name__
    @property
    def p(self): return 1
class B(A):
    def f(self, n): return [("B", n)] + super().f(n + 1)
    @classmethod
    def make(cls): return "B" + super().make()
    @property
    def p(self): return super().p + 10
class C(A):
    def f(self, n):
        def later(): return super(C, self).f(n + 1)
        return [("C", n)] + later()
    @property
    def p(self): return super().p + 100
class D(B, C):
    def f(self, n):
        self = self
        return [("D", n), __class__.__name__] + super().f(n + 1)
    def broken(n): return super().f(n)
    @staticmethod
    def none(): return super()
    def rebound(self):
        self = 3
        return super().f(1)
def main():
    d = D()
    note(0, (d.f(0), D.make(), d.p))
    for call in (lambda: D.broken(3), lambda: D.none(), lambda: d.rebound(), lambda: super().x):
        try:
            call()
        except (RuntimeError, TypeError) as error:
            note("error", error)

# ClassDef: private names
class A:
    __secret = 1
    def __init__(self): self.__value = 2; self.__dunder__ = 3
    def get(self, other):
        __local = other.__value
        def inner(__parameter): return self.__secret + __parameter + __local
        return inner(5), [__k for __k in (1, 2)]
    class __Inner:
        def name(self): return self.__other
class _B(A):
    def look(self): return self.__value
def main():
    a = A()
    note(0, (vars(a), a.get(a), [n for n in vars(A) if "_A" in n]))
    try:
        _B().look()
    except AttributeError as error:
        note(1, error)
    try:
        A._A__Inner().name()
    except AttributeError as error:
        note(2, error)

# ClassDef: operators, their reflected forms, subclasses first, NotImplemented
class N:
    def __init__(self, k): self.k = k
    def __add__(self, other): note("N+", self.k); return NotImplemented if isinstance(other, str) else ("N+", self.k)
    def __radd__(self, other): note("+N", self.k); return ("+N", self.k)
    def __iadd__(self, other): note("N+=", self.k); self.k += 1; return self
    def __eq__(self, other): note("eq", self.k); return NotImplemented
    def __lt__(self, other): note("lt", self.k); return NotImplemented
    def __gt__(self, other): note("gt", self.k); return []
    def __rpow__(self, other): return other
    def __matmul__(self, other): return "matmul"
    def __index__(self): note("index", self.k); return self.k
    def __len__(self): return self.k
    def __contains__(self, k): note("contains", k); return "yes" if k else ""
class M(N):
    def __radd__(self, other): note("+M", self.k); return ("+M", self.k)
def main():
    n, m = N(1), M(2)
    note(0, (n + 1, 1 + n, n + m, m + n, 2 ** n, n @ 1, [4, 5, 6][n], "abc"[n:], range(3)[m], n == m, n != m, n > m, 3 in n, 0 in n, 0 not in n))
    k = n
    n += 5
    note(1, (n is k, n.k))
    for call in (lambda: n < m, lambda: n + "x", lambda: n - 1, lambda: -n, lambda: n[0], lambda: n(), lambda: iter(n), lambda: n @ 1 @ 2):
        try:
            note("got", call())
        except TypeError as error:
            note("error", error)
    N.__bool__ = lambda self: 3
    try:
        return "yes" if n else "no"
    except TypeError as error:
        note("error", error)

# ClassDef: attributes: descriptors before the instance, __getattr__ last, __getattribute__, slots, class attributes
class Data:
    def __get__(self, instance, owner): return "data", owner.__name__
    def __set__(self, instance, value): note("set", value)
    def __delete__(self, instance): note("delete")
class Plain:
    def __get__(self, instance, owner): return "plain"
class C:
    data, plain, shared = Data(), Plain(), []
    def __getattr__(self, name):
        note("getattr", name)
        if name == "made": return 5
        raise AttributeError("no " + name)
    @property
    def broken(self): return self.nothing
    @property
    def p(self): return self._p
    @p.setter
    def p(self, value): self._p = value * 2
    @p.deleter
    def p(self): del self._p
class S:
    __slots__ = ("a", "b")
class T:
    def __getattribute__(self, name):
        note("all", name)
        return object.__getattribute__(self, name)
def main():
    c = C()
    c.__dict__.update(data=1, plain=2)
    note(0, (c.data, c.plain, c.made))
    c.data = 4
    del c.data
    c.shared += [1]
    c.p = 3
    c.p += 1
    note(1, (C.shared, vars(c), c.p))
    del c.p
    s = S()
    s.a = 1
    for call in (lambda: c.broken, lambda: c.p, lambda: s.b, lambda: setattr(s, "z", 1), lambda: C.missing, lambda: (3).real, lambda: setattr(3, "x", 1), lambda: delattr(c, "w"), lambda: setattr(C(), "broken", 1)):
        try:
            note("got", call())
        except AttributeError as error:
            note("error", error)
    t = T()
    t.x = 3
    return t.x, T.__name__

# ClassDef: dataclasses, named tuples, enums
import dataclasses, enum, typing, collections
@dataclasses.dataclass(order=True, frozen=True)
class P:
    x: int
    y: list = dataclasses.field(default_factory=list, compare=False)
    kind: typing.ClassVar[int] = 3
    def moved(self, by): return dataclasses.replace(self, x=self.x + by)
class Q(typing.NamedTuple):
    a: int
    b: int = 2
    def total(self): return sum(self)
class Colour(enum.IntEnum):
    RED = enum.auto()
    BLUE = enum.auto()
    @classmethod
    def first(cls): return next(iter(cls))
class Flags(enum.Flag):
    A = 1
    B = 2
def main():
    @dataclasses.dataclass
    class Local:
        a: int = 0
        def __post_init__(self): note("post", self.a)
    p = P(1)
    p.y.append(4)
    try:
        p.x = 3
    except dataclasses.FrozenInstanceError as error:
        note(0, error)
    note(1, (p, p.moved(2), p < P(2), P(1) == p, hash(P(1)) == hash(P(1, [2])), repr(P(3)), Local(3) == Local(3), repr(Local())))
    note(2, (Q(1), Q(1).total(), Q(1)._replace(b=5), Colour.first(), Colour(2), Colour.RED < 2, Flags.A | Flags.B, Colour["BLUE"].name, repr(Q(4))))
    return P(1) < 3

# Return: in a loop, in a try with finally, and of no value
def main():
    def f(k):
        for i in range(3):
            try:
                if i == k:
                    return note("returned", i)
            finally:
                note("finally", i)
        else:
            return
    def g():
        try:
            return note("first", 1)
        finally:
            return note("second", 2)
    def h():
        x = [1]
        try:
            return x
        finally:
            x.append(2)
            x = [3]
    def i():
        while True:
            try:
                return 1
            finally:
                break
        return 2
    return f(1), f(7), g(), h(), i()

# Delete: names, items, slices, attributes, several at once and in nested targets
def main():
    a, b, c = [1, 2, 3, 4], {"x": 1, "y": 2}, 5
    del a[0], b["x"], (a[0], [c]), a[-1:]
    note(0, (a, b))
    for name in (lambda: c, lambda: b["x"]):
        try:
            name()
        except (NameError, KeyError) as error:
            note(1, error)
    try:
        del a[0], a[7], b["y"]
    except IndexError as error:
        note(2, (a, b, error))
    try:
        del c
    except UnboundLocalError as error:
        note(3, error)
    c = 1
    del (c)
    del ()

# Assign: order of value and targets, chained targets, unpacking of any iterable, starred targets, aliases
def main():
    log = note
    a = b = log("value", [1])
    log("same", a is b)
    d, i = {}, 0
    i, d[log("key", i)] = 1, log("value", 2)
    log("d", d)
    x = [0, 1, 2]
    i = 0
    i, x[i] = 1, 9
    log("x", x)
    [p, (q, *r), s] = "ab", iter(range(4)), {7}
    log("unpacked", (p, q, r, s))
    *h, t = "xyz"
    (log("object", x))[log("index", 0)], d[log("second", 5)] = log("right", (4, 6))
    d["self"] = x[1:] = d2 = [8]
    log("end", (x, d, h, t, d2))
    for target in ("a, b = 1, 2, 3", "a, b = 1,", "a, *b, c = 1,", "a, b = 5", "[] = 1,", "a, b = {}"):
        try:
            exec(target)
        except (ValueError, TypeError) as error:
            log("error", error)
    def two(): yield 1; log("asked"); yield 2; log("again"); yield 3
    try:
        a, b = two()
    except ValueError as error:
        log("error", (error, a))
    (a), = [3]
    return a

# AugAssign: names, attributes, items and slices: each evaluated once, in place where that exists
class Log:
    def __init__(self): self.items = [1]
    def __getitem__(self, k): note("get", k); return self.items
    def __setitem__(self, k, v): note("set", (k, v))
    @property
    def a(self): note("get a"); return 3
    @a.setter
    def a(self, v): note("set a", v)
def main():
    log = Log()
    def f(): note("f"); return log
    f()[note("k", 0)] += note("value", [2])
    f().a -= note("value", 1)
    f()[note("i", 1):note("j", 2)] *= note("value", 2)
    t = ([1], 2)
    try:
        t[0] += [3]
    except TypeError as error:
        note("kept", (t, error))
    x = y = [1]
    x += (2,)
    note(1, (x is y, y))
    x = y = (1,)
    x += (2,)
    note(2, (x, y))
    s = "a"; s *= 3; n = 7; n //= 2; n **= 3; n <<= 1; n >>= 2; n %= 5; n |= 8; n &= 12; n ^= 3; n /= 2; n @= Mat()
    d = {}
    d |= [("a", 1)]
    try:
        x += 1
    except TypeError as error:
        note(3, error)
    try:
        undefined += note("never")
    except NameError as error:
        note(4, error)
    return s, n, d
class Mat:
    def __rmatmul__(self, other): return "mat", other

# AnnAssign: annotations of local names are not evaluated, those of other targets are; a name without a value is local
class C:
    a: note("class a", int) = note("value", 1)
    b: note("class b", "str")
def main():
    x: note("never", 1) = note("x", 2)
    c = C()
    c.a: missing = note("attribute", 5)
    (y): note("never", 1) = 3
    z: int
    try:
        z
    except UnboundLocalError as error:
        note("error", error)
    c.items: note("also never") = [1]
    d = {}
    d[note("key", "k")]: int = note("before", 4)
    return x, y, c.a, d, C.__annotations__, main.__annotations__

# For: the iterable is evaluated once, else, nested targets, the variable afterwards, changes while it runs
def main():
    for k in note("once", [1, 2]):
        pass
    else:
        note("else", k)
    x = [1, 2, 3]
    for v in x:
        note("v", v)
        if v < 3:
            x.remove(v)
    for i, (a, *b) in enumerate([(1, 2), "abc"]):
        note(i, (a, b))
        i = 10
    for k in []:
        pass
    note("after", (k, v, i))
    d, out = {}, [None] * 2
    for out[0] in range(2): pass
    for d["k"] in "ab": pass
    for (p) in (1, 2), *[3]: note("p", p)
    try:
        for unbound in (): pass
        unbound
    except UnboundLocalError as error:
        note("error", error)
    try:
        d = {1: 2}
        for k in d: d[k + 1] = 3
    except RuntimeError as error:
        note("error", (error, d))
    try:
        for k in 5: pass
    except TypeError as error:
        note("error", error)
    return out, d, x

# For: own iterators, __getitem__ as iterator, an iterator shared by two loops, StopIteration from within
class Old:
    def __getitem__(self, k): note("item", k); return [5, 6][k]
class It:
    def __init__(self): self.k = 0
    def __iter__(self): note("iter"); return self
    def __next__(self):
        self.k += 1
        if self.k > 3: raise StopIteration(self.k)
        return self.k
def main():
    for v in Old(): note("old", v)
    it = It()
    for v in it:
        for w in it: note("inner", (v, w))
    x = iter([1, 2, 3, 4, 5])
    for v in x:
        note("pair", (v, next(x, None)))
    try:
        for v in [1]: next(iter([]))
    except StopIteration as error:
        note("stop", error)
    def bad():
        yield 1
        next(iter([]))
    try:
        for v in bad(): note("bad", v)
    except RuntimeError as error:
        note("error", error)

# AsyncFor refused

# While: else, break, continue, a test with effects, a walrus
def main():
    n = 3
    while note("test", n):
        n -= 1
        if n == 1: continue
        note("body", n)
    else:
        note("else", n)
    while True:
        n += 1
        while n < 3:
            n += 1
            if n == 2: break
        else:
            note("inner else", n)
            break
        continue
    else:
        note("never")
    items = [1, 2, 0, 3]
    while (k := items.pop()) != 0:
        note("k", k)
    while [] or (): pass
    return n, items, k

# If: truth by __bool__ and __len__, elif tests only as needed
class T:
    def __init__(self, *rest): self.rest = rest
    def __len__(self): note("len"); return len(self.rest)
class U(T):
    def __bool__(self): note("bool"); return not self.rest
class V:
    def __bool__(self): return "x"
def main():
    for v in (T(), T(1), U(), U(1), 0.0, "", "0", [[]], None, {}, float("nan"), range(0)):
        if note("first", v) and v:
            note("yes")
        elif note("second", 1):
            note("second")
        else:
            note("no")
    if (x := 3) > 2: note("x", x)
    if not V(): pass

# With: managers in order, exits in reverse, suppression, targets, exceptions in enter and exit
class W:
    def __init__(self, k, swallow=False, fail=None): note("make", k); self.k, self.swallow, self.fail = k, swallow, fail
    def __enter__(self):
        note("enter", self.k)
        if self.fail == "enter": raise ValueError("enter", self.k)
        return self.k, [self.k]
    def __exit__(self, *error):
        note("exit", (self.k, error[0], error[1]))
        if self.fail == "exit": raise KeyError("exit", self.k)
        return self.swallow
def main():
    d = {}
    with W(1) as (a, [b]), W(2) as d["x"], W(3): note("body", (a, b, d))
    with W(4, swallow=True) as e, W(5): note("e", e); raise ValueError("swallowed")
    note("after", e)
    for k in range(3):
        with W(6):
            if k == 0: continue
            break
    def f():
        with W(7): return note("return", 7)
    note("f", f())
    for arguments in ((8, True, "enter"), (9, True, "exit")):
        try:
            with W(10, swallow=arguments[0] == 8), W(*arguments): raise TypeError("body")
        except Exception as error:
            note("error", error)
    try:
        with W(11, swallow=1) as (x, y, z): note("never")
    except ValueError as error: note("not reached", error)
    class NoExit:
        def __enter__(self): note("no exit")
    class Instance: pass
    instance = Instance()
    instance.__enter__ = instance.__exit__ = lambda *rest: None
    for bad in (NoExit(), instance, 3):
        try:
            with bad: pass
        except (TypeError, AttributeError) as error: note("error", error)
    with (W(12) as p, W(13) as q,): return p, q

# With: generator managers, suppress, ExitStack, closing, decorators of contexts
import contextlib
@contextlib.contextmanager
def managed(k, again=False):
    note("before", k)
    try:
        yield k
    except KeyError as error:
        note("caught", error)
        if again: yield k
    finally:
        note("after", k)
@managed(9)
def decorated(x): return note("inside", x)
def main():
    with managed(1) as a, managed(2): raise KeyError("x")
    note("a", a)
    decorated(4); decorated(5)
    with contextlib.ExitStack() as stack:
        for k in range(3): stack.enter_context(managed(k))
        stack.callback(note, "callback", 1)
        stack.pop_all().close()
    with contextlib.suppress(ZeroDivisionError): 1 / 0
    try:
        with managed(3, again=True): raise KeyError("y")
    except RuntimeError as error:
        note("error", error)
    with managed(4): raise ValueError("z")

# AsyncWith refused

# Match: first pattern that fits, guards with effects, captures that stay bound after a guard that failed
class Point:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
def main():
    def f(subject):
        match note("subject", subject):
            case 0 | -1 | 1.5: return "number"
            case "a" "b": return "text"
            case None | True: return "singleton"
            case [] | {}: return "empty"
            case [x]: return "one", x
            case [x, y] if note("guard", x) == y: return "equal", x
            case (x, _, *rest) if len(rest) > 1: return "many", x, rest
            case [[a, *_], {"k": b}]: return "nested", a, b
            case {"k": 1, **rest}: return "mapping", rest
            case {"k": k, "m": {"n": [n]}}: return "deep", k, n
            case Point(0, y=y) | Point(x=y, y=0): return "axis", y
            case Point(x, Point()) as p: return "points", x, p.y.x
            case int(n) | str(n): return "int or str", n
            case float() as z if z > 2: return "float", z
        try:
            return "none", x
        except UnboundLocalError as error:
            return "unbound", error
    for subject in (0, -1, 1, True, 1.5, "ab", None, False, [], {}, (), [7], [2, 2], [2, 3], (1, 2, 3, 4), [[5], {"k": 6}], {"k": 1, "z": 2}, {"k": 2, "m": {"n": [3]}}, {"k": 9}, Point(0, 4), Point(5, 0), Point(1, Point(2, 3)), 12, "abc", 3.5, 2.0,
                    b"ab", {1}, range(2), bytearray(2), iter([1])):
        note("result", f(subject))

# Pass: does nothing
def main():
    pass
    if 1: pass
    return note(0)

# Raise: classes, instances, causes, contexts, what is no exception, re-raise
class E(Exception):
    def __init__(self, a=1, *, b=2): super().__init__(a, b); note("made", (a, b))
class NotMade(Exception):
    def __new__(cls): return 3
def main():
    def attempts():
        def one(): raise E
        def two(): raise E(5) from note("cause", ValueError)
        def three():
            try: raise KeyError(1)
            except KeyError: raise E(6, b=7) from None
        def four():
            try: raise KeyError(1)
            except KeyError:
                try: raise ValueError(2)
                except ValueError: pass
                raise
        def five(): raise
        def six(): raise 3
        def seven(): raise E from 3
        def eight(): raise NotMade
        def nine():
            try: raise E(9)
            except E as e:
                e.args = (10,)
                raise e
        def ten():
            try: raise E(1)
            except E as e: raise e from e
        def eleven():
            try:
                try: 1 / 0
                finally: {}["k"]
            except KeyError as error: raise TypeError("last") from error.__context__
        def twelve():
            def again(): raise
            try: raise E(12)
            except E: again()
        return one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve
    for attempt in attempts():
        try:
            attempt()
        except (Exception, TypeError) as error:
            note(attempt.__name__, error)
    raise E(99) from KeyError("why")

# Try: which handler, else, finally, order, expressions of handlers as needed, the unbound name
def main():
    def f(k):
        x = "before"
        try:
            note("try", k)
            if k == 1: raise KeyError(k)
            if k == 2: return "returned"
            if k == 3: raise OSError(k)
            if k == 4: [].pop()
        except note("first", ValueError): note("never")
        except (note("second", KeyError), IndexError) as x: note("caught", x)
        except note("third", OSError) as error:
            error = 5
        else:
            note("else", x)
            if k == 5: raise ValueError("in else")
        finally:
            note("finally", k)
        try:
            return x
        except UnboundLocalError as error:
            return error
    for k in range(6):
        try: note("f", f(k))
        except ValueError as error: note("out", error)
    try:
        try: raise ValueError(1)
        except 3: pass
    except TypeError as error: note("no class", error)
    try:
        try: raise ValueError(1)
        except (KeyError, "x"): pass
    except TypeError as error: note("no classes", error)
    try:
        try: raise ValueError(1)
        except ValueError as error: del error
    finally: note("deleted")
    class Meta(type):
        def __subclasscheck__(cls, other): note("asked"); return True
    class Any(Exception, metaclass=Meta): pass
    try:
        try: raise KeyError(0)
        except Any: note("not by __subclasscheck__")
    except KeyError as error: note("error", error)

# Try: jumps through finally
def main():
    def f(kind):
        out = []
        for k in range(4):
            try:
                try:
                    if k == 1:
                        if kind == "break": break
                        if kind == "continue": continue
                        if kind == "return": return "returned", out
                        if kind == "raise": raise ValueError(k)
                    out.append(k)
                finally:
                    out.append("inner")
                    if kind == "swallow" and k == 2: continue
                    if kind == "raise" and k == 1: out.append("passing")
            except ValueError as error:
                out.append("caught")
                if kind == "raise": continue
            finally:
                out.append(("outer", k))
                if kind == "override" and k == 2: return out, "override"
        else:
            out.append("else")
        return out
    for kind in ("", "break", "continue", "return", "raise", "swallow", "override"): note(kind, f(kind))
    def lost():
        for _ in range(2):
            try: raise ValueError
            finally: break
        return "lost"
    def nested():
        try:
            try: raise KeyError(1)
            finally:
                try: raise ValueError(2)
                except ValueError: note("handled")
        except KeyError as error: return error
    return lost(), nested()

# TryStar: parts of a group, each handler once, what is left, and plain exceptions
def main():
    def f(error):
        try:
            raise error
        except* ValueError as group: note("values", group)
        except* (KeyError, TypeError) as group:
            note("keys", group)
            raise IndexError("from handler")
        else: note("else")
        finally: note("finally")
    for error in (ValueError(1), ExceptionGroup("g", [ValueError(1), KeyError(2)]), ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [ValueError(2), OSError(3)])]), OSError(4)):
        try: f(error)
        except Exception as out: note("out", out)
    try:
        try: raise ValueError
        except* ExceptionGroup: pass
    except TypeError as error: note("error", error)

# Assert: the message only if it fails
def main():
    assert note("test", 1), note("message", 2)
    assert (1, "always true")
    try: assert [], note("message", (1, 2))
    except AssertionError as error: note("error", error)
    assert not 1

# Import: names, dotted names, aliases, what is not there
def main():
    import os.path, math as m, collections.abc as abc
    note(0, (os.__name__, m.__name__, abc.__name__))
    try: import nothing_of_this_name
    except ModuleNotFoundError as error: note(1, (error.name, str(error)))
    import xml.etree
    return "xml" in dir()

# ImportFrom: names and aliases, submodules, what is not there
def main():
    from math import floor, ceil as up
    from os import path
    note(0, (floor(2.5), up(2.5), path.__name__))
    try: from math import nothing
    except ImportError as error: note(1, str(error).split(" (")[0])
    try: from . import something
    except ImportError as error: note(2, error)

# Global: from inner functions, new names, del, and names that a function around has too
x = 1
def main():
    x = 2
    def f():
        global x, made
        x += 10
        made = [x]
        def g():
            return x
        return g()
    def h():
        global made
        del made
    note(0, (f(), x, globals()["x"], made))
    h()
    try: made
    except NameError as error: note(1, error)
    class C:
        global y
        y = 5
    [z := 3 for _ in range(1)]
    return y, hasattr(C, "y"), z

# Nonlocal: through two functions, in a class body, before it is bound
def main():
    def outer():
        def middle():
            def inner():
                nonlocal x
                x += 1
                return x
            return inner
        try: middle()()
        except NameError as error: note("error", error)
        x = 1
        class C:
            nonlocal x
            x = 5
            y = x
        try:
            del x
            middle()()
        except NameError as error: note("error", error)
        x = 7
        return middle()(), x, C.y
    return outer()

# Expr: evaluated and dropped
def main():
    note("a"); "text"; 3; [note("b")]; ...
    note("c") or note("d")
    (yield_ := 4)
    1 / 0

# Break: the innermost loop, past its else
def main():
    for a in range(3):
        for b in range(3):
            if b == 1: break
            note(a, b)
        else: note("never")
        if a == 1: break
    else: note("never")
    return a, b

# Continue: the innermost loop, with its test again
def main():
    k = 0
    while note("test", k < 4):
        k += 1
        for j in range(2):
            if j == 0: continue
            note(k, j)
        if k % 2: continue
        note("even", k)
    else: note("else")

# TypeAlias 3.12: evaluated when it is asked for
def main():
    type A[T] = note("later", list[T])
    note("before", A.__name__)
    return str(A.__value__), type(A).__name__
"""

EXPRESSIONS = """
# BoolOp: values, not truths; each tested once
class T:
    def __init__(self, k): self.k = k
    def __bool__(self): note("bool", self.k); return self.k > 0
def main():
    note(0, [0 or [], 1 and "" and 2, None or 0 or "x", (1 and 2) or 3, not (0 or 1), [] and 1 / 0, 1 or 1 / 0])
    note(1, (T(1) and T(-1) and T(2)).k)
    note(2, (T(-1) or T(0) or T(3) or T(4)).k)
    if T(1) and (T(-2) or T(5)) and not T(0): note("yes")
    x = T(-1) or (T(2) and T(-3)) or T(-4)
    while T(1) and not T(2): pass
    return x.k, True and None, 0.0 or -0.0

# NamedExpr: binds in the function, also from a comprehension; value and order
y = 5
def main():
    note(0, ((a := 1) + a, a + (a := 2), [a := 3, a, (b := a + 1)]))
    note(1, [last := v for v in range(3)])
    note(2, (last, any((hit := v) > 1 for v in [1, 2, 3]), hit))
    f = lambda: (a := 50) + a
    note(3, (f(), a))
    def g():
        nonlocal a
        [a := a + k for k in range(3)]
    g()
    def h():
        global y
        if (y := y + 1) and [y := y * 2 for _ in "ab"]: return y
    def unbound():
        if 0 and (c := 1): pass
        return c
    note(4, (a, h(), y))
    while chunk := note("chunk", [1, 2][:2 - a % 2]):
        a += 1
        if a > 6: break
    return unbound()

# BinOp: operators on numbers, texts and containers; order; errors
def main():
    note(0, (7 // -2, -7 % 3, 7 % -3, 2 ** -1, 2 ** 0.5, -2 ** 2, (-8) ** (1 / 3), 1 << 70, -1 >> 1, 6 & 3 | 8 ^ 1, True + True, 7.5 // 2, -7.5 % 2, 10 ** 20 + 1, 0.1 + 0.2, 3 - True, 1e308 * 10, 5 @ Mat()))
    note(1, ("a" * 3, 2 * [1], [1] + [2], (1,) * 2, "%s-%r-%d" % (1, "x", 2.5), "%(k)s" % {"k": 1}, {1, 2} - {1}, {"a": 1} | {"b": 2}, b"a" + b"b", True & False, 1j * 1j))
    note(2, note("l", 2) + note("m", 3) * note("r", 4) ** note("p", 2) - note("e", 1))
    for call in (lambda: 1 // 0, lambda: 1 / 0, lambda: 1 % 0, lambda: 1.0 // 0, lambda: 1.5 % 0, lambda: 0 ** -1, lambda: 1 << -1, lambda: 1 + "a", lambda: "a" + 1, lambda: [] + (), lambda: 1 @ 2, lambda: "%d" % "x", lambda: None * 2,
                 lambda: 2.0 ** 5000, lambda: "a" * 1.5, lambda: 1 | 1.0, lambda: {} | 1, lambda: object - 1):
        try: note("got", call())
        except Exception as error: note("error", error)
class Mat:
    def __rmatmul__(self, other): return other * 2

# UnaryOp: each operator on ints, bools and objects
class U:
    def __neg__(self): return "neg"
    def __pos__(self): return "pos"
    def __invert__(self): return "invert"
    def __bool__(self): note("bool"); return False
def main():
    u = U()
    note(0, (-u, +u, ~u, not u, not not u, -True, +True, ~5, - -3, not [], -0.0, not -1, -(2 ** 63)))
    for call in (lambda: -"a", lambda: ~1.5, lambda: +[], lambda: -None):
        try: call()
        except TypeError as error: note("error", error)

# Lambda: late binding, defaults, star parameters, nested, names
def main():
    fs = [lambda k, j=i: (k, j, i) for i in range(3)]
    note(0, [f(9) for f in fs])
    note(1, (lambda *a, b=2, **c: (a, b, c))(1, 2, b=3, d=4))
    note(2, (lambda x: lambda y: lambda: (x, y))(1)(2)())
    note(3, ((lambda: 0).__name__, fs[0].__qualname__, (lambda: (yield 4))().__next__()))
    note(4, sorted([3, -1, 2], key=lambda v: (note("key", v), v * v)[1]))
    (lambda a, /, *, b: 0)(a=1)

# IfExp: the test first, then one of both; nested
def main():
    note(0, note("a", 1) if note("t", 0) else note("b", 2))
    f = lambda k: "neg" if k < 0 else "zero" if k == 0 else "pos"
    note(1, [f(k) for k in (-1, 0, 1)])
    x = [] if not (y := []) else 1 / 0
    return (1 / 0 if x else "safe") if y is not None else 2

# Dict: order of keys and values, unpacking, later keys win, errors
class K:
    def __init__(self, k): self.k = k
    def __hash__(self): note("hash", self.k); return 1
    def __eq__(self, other): note("eq", (self.k, other.k)); return self.k == other.k
class M:
    def keys(self): note("keys"); return ["p", "q"]
    def __getitem__(self, k): note("item", k); return k * 2
def main():
    note(0, {note("k1", 1): note("v1", 2), **note("star", {1: 3, 4: 5}), note("k2", 4): note("v2", 6)})
    note(1, len({K(1): 1, K(2): 2, K(1): 3}))
    note(2, {**M(), "z": 0, True: 1, 1: 2, 1.0: 3})
    for call in (lambda: {[]: 1}, lambda: {**3}, lambda: {**[1]}, lambda: {**{"a": 1}, None: {}, (1, []): 2}):
        try: call()
        except TypeError as error: note("error", error)

# Set: order of evaluation, stars, unhashable entries
def main():
    s = {note("a", 1), *note("b", [2, 1]), note("c", True), 1.0}
    note(0, (sorted(s), len(s), {*()} == set()))
    try: {note("before", 1), [], note("after", 2)}
    except TypeError as error: note("error", error)
    return {*5}

# ListComp: scopes, nested loops and conditions, the first iterable outside, names kept
x = "global"
def main():
    x = "outer"
    note(0, ([x for x in (1, 2)], x, [(a, b) for a in range(3) if a for b in range(a) if note("b", b) < 1], [[j * i for j in range(i)] for i in range(3)]))
    note(1, [y for y in note("first", [1, 2]) for z in note("second", [y])])
    note(2, [f() for f in [lambda: k for k in range(3)]])
    note(3, [a + b for a, *[b] in [(1, 2), "xy"]])
    class C:
        items = [1, 2]
        twice = [i * 2 for i in items]
        try: wrong = [len(items) for _ in items]
        except NameError as error: note("error", error)
    note(4, [d[0] for d in [{}] if d.setdefault(0, 5)])
    note(5, [0 for _ in () for never in 1 / 0 * []])
    target = [None]
    note(6, ([target[0] for target[0] in (1, 2)], target))
    return [1 / v for v in (1, 0)]

# SetComp: evaluated in order, with a scope of its own
def main():
    s = {note("v", k % 3) for k in range(5) if k != 1}
    note(0, sorted(s))
    return {[k] for k in range(2)}

# DictComp: key before value, later keys win
def main():
    note(0, {note("k", k % 2): note("v", k) for k in range(4)})
    note(1, {k: v for k, v in {"a": 1, "b": 2}.items() if v > 1 for v in (v, v + 1)})
    note(2, {f: g() for f, g in [(k, lambda: k) for k in range(3)]})
    return {k: [] for k in [[]]}

# GeneratorExp: the first iterable now, everything else later
def main():
    n, d = 2, [1, 2, 3]
    g = (note("v", v * n) for v in note("now", d) if note("if", v) > 1)
    h = (w for v in d for w in note("later", [v, n]))
    n = 10
    d.append(4)
    note(0, (next(g), list(g), list(g), list(h)))
    try: (v for v in 3)
    except TypeError as error: note("error", error)
    bad = (1 / v for v in (1, 0, 2))
    note(1, (next(bad), next((None for _ in ()), "end")))
    try: next(bad)
    except ZeroDivisionError as error: note("error", error)
    note(2, list(bad))
    fs = list(lambda: k for k in range(2))
    note(3, [f() for f in fs])
    note(4, (sum(x for x in range(4)), max((len(w), w) for w in ("a", "bb")), type(g).__name__))
    s = (next(iter([])) for _ in range(1))
    return list(s)

# Await refused

# Yield: values in both directions, in expressions, in try, close and throw
def main():
    def f(n):
        try:
            got = yield note("start", n)
            note("got", got)
            x = [(yield 1), (yield 2)]
            note("x", x)
            yield from ()
            note("sum", (yield 3) + (yield 4))
        except ValueError as error:
            note("caught", error)
            yield "recovered"
        finally:
            note("finally")
        return "end"
    g = f(7)
    note(0, [next(g), g.send("a"), g.send("b"), g.send("c"), g.send(10)])
    try: g.send(20)
    except StopIteration as error: note("stop", error.value)
    g = f(8)
    next(g)
    note(1, g.throw(ValueError("thrown")))
    note(2, list(g))
    g = f(9)
    next(g)
    note(3, (g.close(), g.close(), list(g)))
    g = f(1)
    try: g.send(1)
    except TypeError as error: note("error", error)
    def stubborn():
        try: yield 1
        finally: yield 2
    g = stubborn()
    next(g)
    try: g.close()
    except RuntimeError as error: note("error", error)
    def own():
        try: next(me)
        except ValueError as error: note("error", error)
        yield 5
    me = own()
    note(4, list(me))
    def stops(): yield 1; raise StopIteration(2)
    try: list(stops())
    except RuntimeError as error: note("error", error)
    g = f(2)
    g.close()
    g = f(3)
    try: g.throw(KeyError("early"))
    except KeyError as error: note("error", error)
    def empty():
        return 5
        yield
    return list(empty())

# Yield: in parts of expressions that are evaluated only sometimes
def main():
    def f(n):
        note("and", (yield 1) and (yield 2))
        note("or", (yield 3) or note("right", n) or (yield 4))
        note("if", (yield 5) if (yield 6) else (yield 7))
        note("chain", 0 < (yield 8) < (yield 9) < 4)
        note("not", not (yield 10), [(yield 11) or 12])
        note("text", f"{(yield 13)!r:>{(yield 14)}}")
        while (yield 15) and not (yield 16):
            note("again")
        return (yield 17) if (yield 18) else (yield from [19, 20]) or "end"
    for answers in ([1], [0], [0, 1], [1, 0, 3], [None, 5]):
        g = f(len(answers))
        sent, k = None, 0
        try:
            for _ in range(40):
                note("yielded", g.send(sent))
                sent, k = answers[k % len(answers)], k + 1
        except (StopIteration, TypeError) as end:
            note("end", type(end).__name__, end.args if isinstance(end, StopIteration) else ())


# Yield: an exception that is handled around the yield is not the caller's
def main():
    def g():
        try: raise KeyError("inside")
        except KeyError:
            yield 1
            yield 2
            raise
    it = g()
    next(it)
    try: raise
    except RuntimeError as error: note("none", error)
    try:
        raise ValueError("outside")
    except ValueError:
        next(it)
        try: raise
        except ValueError as error: note("own", error)
    try: next(it)
    except KeyError as error: note("again", error)

# YieldFrom: values, results, throw and close go through; plain iterables; no send
def main():
    def inner(k):
        try:
            got = yield k
            note("inner got", got)
            yield k + 1
        except ValueError as error:
            note("inner caught", error)
            yield -1
        finally: note("inner finally", k)
        return "result", k
    def outer():
        r = yield from inner(1)
        note("r", r)
        note("list", (yield from list((10, 20))))
        return (yield from inner(5))
    g = outer()
    note(0, [next(g), g.send("a"), next(g), next(g), next(g), g.throw(ValueError("v"))])
    try: next(g)
    except StopIteration as error: note("stop", error.value)
    g = outer(); next(g); g.close()
    g = outer(); next(g); next(g); next(g)
    try: g.send("to a list")
    except AttributeError as error: note("error", error)
    def bad(): yield from 3
    return list(bad())

# Compare: chains evaluate each operand once, stop early, and give any value
class C:
    def __init__(self, k): self.k = k
    def __lt__(self, other): note("lt", (self.k, other.k)); return [self.k] if self.k < other.k else []
    def __contains__(self, k): note("in", k); return k
def main():
    c = [C(k) for k in range(4)]
    note(0, (c[0] < c[1] < c[2], c[2] < c[1] < c[3], note("a", 1) < note("b", 3) > note("c", 2) != note("d", 2) == 1 / note("e", 1)))
    note(1, (1 < 2 < 3, 1 < 3 < 2, 3 < 1 < 1 / (1 + 1), 1 == 1.0 is not None, 2 in [1, 2] == True, [] is not [], 1 in c[0], 0 in c[0], 0 not in c[0], "a" < "b" in "abc"))
    nan = float("nan")
    note(2, (nan == nan, nan in [nan], [nan] == [nan], nan != nan, (1, nan) < (1, 2), [1, 2] < [1, 2, 0], {1} < {1, 2}, None is None, 1 is True, (1, 2) == [1, 2], 10 ** 400 > 1e308, 2 ** 53 + 1 == float(2 ** 53)))
    for call in (lambda: 1 < "a", lambda: None <= None, lambda: 1 in 5, lambda: [1] < (1,), lambda: 1 in "abc", lambda: 1 < 2 < "a", lambda: 2 < 1 < "a", lambda: {} < {}, lambda: 1j < 2):
        try: note("got", call())
        except TypeError as error: note("error", error)

# Call: order of the parts, stars anywhere, methods, builtins, classes, instances
class C:
    def __init__(self, *a, **k): note("init", (a, k))
    def __call__(self, *a, **k): return "called", a, k
    def method(self, a): return "method", a
    @staticmethod
    def static(a): return "static", a
    @classmethod
    def make(cls, a): return cls.__name__, a
def f(*a, **k): return a, k
def main():
    note(0, note("function", f)(note("1", 1), *note("2", [2, 3]), note("3", 4), *note("4", (5,)), x=note("5", 6), **note("6", {"y": 7}), z=note("7", 8), **{}))
    c = C(1, b=2)
    bound = c.method
    note(1, (c(3, d=4), bound(5), C.method(c, 6), c.static(7), C.make(8), c.make(9), bound.__self__ is c))
    note(2, (max(1, *[5, 2], key=lambda v: -v), print.__name__, "x".join(["a", "b"]), dict([("a", 1)], b=2), int("ff", base=16), sorted("bca", reverse=True), list(map(lambda a, b: a + b, [1, 2], [3, 4])), type(c) is C))
    note(3, (list(zip([1, 2], "ab")), functools.reduce(lambda a, b: a * b, [1, 2, 3], 10), functools.partial(f, 1, k=2)(3, j=4), isinstance(True, (int, str)), getattr(c, "none", "default"), divmod(-7, 2), round(2.5), sum([[1], [2]], []), abs(-3)))
    d = {"a": 1}
    note(4, f(**d, **{"b": 2})[1] is not d)
    for call in (lambda: f(**d, a=2), lambda: f(**d, **d), lambda: f(*None), lambda: 3(), lambda: c.nothing(), lambda: len(), lambda: len(3), lambda: int("x"), lambda: [].pop(), lambda: max([]), lambda: sorted([1, "a"]), lambda: next(iter(())), lambda: C.method(1), lambda: "a".join([1]), lambda: isinstance(1, 2), lambda: range("a"), lambda: sum(["a"])):
        try: note("got", call())
        except Exception as error: note("error", error)
    def locals_of(a, b=2):
        c = 3
        return sorted(locals()), dir(), sorted(vars())
    note(5, locals_of(1))
    return eval("c2 + 1", {"c2": 4}), callable(f)
import functools

# Call: builtins that call back: key, map, filter, sorted, iter with a sentinel, any and all stop early
class Word:
    def __init__(self, k): self.k = k
    def __lt__(self, other): note("lt", (self.k, other.k)); return self.k < other.k
    def __eq__(self, other): note("eq", self.k); return self.k == other
    def __hash__(self): return 0
    def __str__(self): note("str"); return "w"
    def __repr__(self): return "r%d" % self.k
    def __format__(self, spec): return "f" + spec
    def __len__(self): return 3
    def __reversed__(self): note("reversed"); return iter("ba")
    def __round__(self, n=None): return "round", n
    def __add__(self, other): return self.k + other
    def __radd__(self, other): return other + self.k
    def __abs__(self): return "abs"
def main():
    w = [Word(k) for k in (3, 1, 2)]
    note(0, ([v.k for v in sorted(w)], min(w).k, max(w, key=lambda v: note("key", -v.k)).k, 2 in w, w.index(2), w.count(9), str(w[0]), repr(w), f"{w[0]:>3}{w[0]!r:>4}", "{:x}".format(w[0]), "%s" % w[0]))
    note(1, (len(w[0]), list(reversed(w[0])), round(w[0]), round(w[0], 2), sum(w), abs(w[0]), bool(w[0])))
    state = iter([1, 2, 0, 3])
    note(2, (list(iter(lambda: next(state), 0)), any(note("any", k) for k in (0, 1, 2)), all(map(lambda k: note("all", k), [1, 0, 2])), list(filter(lambda k: k % 2, range(5)))))
    lazy = map(lambda k: note("map", k), [1, 2])
    note(3, "made")
    note(4, (next(lazy), dict(zip("ab", lazy))))
    w.sort(key=lambda v: v.k, reverse=True)
    def bad(v): raise KeyError(v.k)
    try: w.sort(key=bad)
    except KeyError as error: note("error", (error, [v.k for v in w]))
    return [v.k for v in w], {Word(1), Word(1)}.pop().k

# FormattedValue: conversions, nested specifications, the order, own formats
class F:
    def __format__(self, spec): note("format", spec); return "<" + spec + ">"
    def __str__(self): return "str"
    def __repr__(self): return "repr"
def main():
    f, w, x = F(), 6, 3.14159
    note(0, f"{f}{f!s}{f!r}{f:{note('w', w)}.{note('p', 2)}}{x:{w}.2f}{f!r:>{w}}{'é'!a}{x = }{w=:>4}{{}}{w!s:^5}")
    note(1, f"{note('a', 1)}{note('b', 2)}" f"{note('c', 3)}" "d")
    note(2, f"{'nested ' + f'{w:03}'}{[k for k in range(3)]}{(lambda q: q * 2)(4)}{ {'a': 1}['a'] }{(z := 5)}{z}")
    return f"{w:s}"

# JoinedStr: without values, of only values, and with errors midway
def main():
    note(0, (f"", f"plain", f"{1}", f"{''}", f'''{
        1 + 2}'''))
    return f"{note('first', 1)}{1 / 0}{note('never', 2)}"

# Interpolation 3.14: templates keep their parts
def main():
    x = 3
    t = t"a{note('x', x)!r:>{x}}b{x}"
    return t.strings, [(i.value, i.expression, i.conversion, i.format_spec) for i in t.interpolations]

# TemplateStr 3.14: a template is no text
def main():
    return type(t"{1}").__name__, t"".strings, len(t"{1}{2}".values)

# Constant: of each type, and how they are shared
def main():
    a, b = (1, 2.0, 1j, "s", b"b", None, True, ..., -0.0), (1, 2.0)
    def again(): return "constant", 3.5
    note(0, (a[:7], b, 10 ** 30, 0x1F, 1_000, 1e400, "\\N{BULLET}\\n", r"\\d", "a" "b", a[7] is Ellipsis, again()[0] is again()[0]))
    return __debug__, __name__

# Attribute: load, store and delete, chains, of modules, classes and functions
import math
class C: pass
def main():
    c = C()
    c.a = C()
    c.a.b = [1]
    c.a.b.append(2)
    c.a.n = c.m = 5
    del c.a.n
    main.mark = "of main"
    note(0, (c.a.b, math.pi, c.__class__.__name__, main.mark, (5).real, "x".upper(), c.a.__dict__))
    note("object", c).value = note("value", 3)
    for call in (lambda: c.zzz, lambda: C.zzz, lambda: math.zzz, lambda: None.zzz, lambda: main.zzz, lambda: c.a.n):
        try: call()
        except AttributeError as error: note("error", (error, error.name))
    del c.a.n

# Subscript: load, store and delete of every index; __missing__, __class_getitem__, __index__
class D(dict):
    def __missing__(self, k): note("missing", k); return k
class G:
    def __class_getitem__(cls, k): return "class", k
    def __getitem__(self, k): return k
class I:
    def __index__(self): return 1
import collections
def main():
    x, d, g = [1, 2, 3, 4], D(a=1), G()
    note(0, (x[-1], x[True], x[I()], d["a"], d["b"], d.get("b"), G[int, str], g[1, 2], g[1:2, ..., ::3], g[()], "abc"[1], (1, 2)[0], range(9)[2:8:2][1]))
    x[0], x[-1] = x[-1], x[0]
    note("object", x)[note("index", 1)] = note("value", 9)
    dd = collections.defaultdict(list)
    dd["k"].append(1)
    c = collections.Counter("aab")
    c["z"] -= 1
    note(1, (x, dd, c, c["none"], dict[str, int].__args__[0]))
    for call in (lambda: x[9], lambda: x["a"], lambda: x[1.0], lambda: {}["k"], lambda: {}[[]], lambda: 3[0], lambda: "abc"[9], lambda: (1,)[I(): "a"], lambda: collections.deque()[0], lambda: (1, 2)[5], lambda: None["a"]):
        try: call()
        except (TypeError, IndexError, KeyError) as error: note("error", error)
    (1, 2)[0] = 3

# Starred: in lists, tuples, sets, calls, indices, return and targets
def main():
    a, *b = *range(3), *"xy"
    def f(): return *b, *[a]
    def it(): note("started"); yield 1; yield 2
    note(0, (a, b, [*b, *()], (*b,), f(), [*it(), note("between", 0), *it()], sorted({*b[:2], *[7]}), print(*[], end="")))
    *c, = it()
    note(1, c)
    class G:
        def __class_getitem__(cls, k): return k
    note(2, G[*b, 1])
    for *d, e in [(1, 2, 3), "z"]: note("d", (d, e))
    try: [*3]
    except TypeError as error: note("error", error)
    return (*None,)

# Name: local, global, builtin, free, unbound; builtins that are shadowed
len_ = len
count = 1
def main():
    def shadow():
        len = lambda v: "own"
        return len([1]), max(1, 2)
    def local():
        note("before", 1)
        return count
        count = 2
    def from_global():
        global max
        max = lambda *rest: "global max"
        out = max(1, 2)
        del max
        return out, max(1, 2)
    note(0, (shadow(), len_([1]), from_global()))
    def free():
        def inner(): return later
        try: inner()
        except NameError as error: note("error", error)
        later = 3
        return inner()
    note(1, free())
    for call in (local, lambda: nowhere):
        try: call()
        except NameError as error: note("error", (error, error.name))
    if note("zero", 0): never = 1
    return never

# List: evaluated from left to right; a new one each time
def main():
    def f(): return []
    note(0, (f() is f(), [note("a", 1), [note("b", 2)], *note("c", [3])]))
    x = [[]] * 2
    x[0].append(1)
    x.append(x)
    [a, [b]] = [1, [2]]
    note(1, (x, a, b))
    return [1, 2][5]

# Tuple: with and without parentheses, as index, return, target; compared in order
def main():
    x = 1,
    a, b = b, a = 1, 2
    d = {}
    d[1, 2] = d[(1,), ()] = 3
    note(0, (x, a, b, d, (), (1, (2,)) < (1, (3,)), hash((1, 2)) == hash((1, 2))))
    return note("l", 1), note("r", 2)

# Slice: every form, in load, store and delete, with objects as bounds
class S:
    def __getitem__(self, k): return k
    def __setitem__(self, k, v): note("set", (k, v))
    def __delitem__(self, k): note("delete", k)
def main():
    x, s = list(range(10)), S()
    note(0, (x[2:5], x[:], x[::-1], x[-3:], x[5:2], x[::3], x[100:], x[None:3:None], s[note("a", 1):note("b", 2):note("c", 3)], s["p":], s[1:2, 3], x[slice(1, 3)]))
    x[2:4] = "abc"
    x[::4] = x[1:4]
    x[3:3] = [None]
    del x[::2], x[:1]
    s[:] = 1
    del s[5:]
    note(1, x)
    for call in (lambda: x["a":], lambda: x[::0], lambda: {}[1:2]):
        try: call()
        except (TypeError, ValueError) as error: note("error", str(error)[:30])
    x[::2] = [1]
"""

PATTERNS = """
# MatchValue: by equality, of dotted names looked up as needed
import enum
class E(enum.Enum):
    A = 1
    B = 2
class Values:
    def __getattr__(self, name): note("look up", name); return self if name == "y" else name
class Eq:
    def __eq__(self, other): note("eq", other); return other == 3
def main():
    v = Values()
    def f(s):
        match s:
            case 1: return "one"
            case -2.5 | 1 + 2j: return "number"
            case v.x | v.y.z: return "value"
            case E.A: return "A"
            case "t" | b"t": return "text"
            case 3: return "three"
            case f if f == 4: return "capture", f
    for s in (True, 1.0, -2.5, 1 + 2j, "x", E.A, E.B, b"t", Eq(), 4, float("nan")): note(0, f(s))

# MatchSingleton: by identity
def main():
    def f(s):
        match s:
            case True: return "True"
            case False: return "False"
            case None: return "None"
            case 1 | 0: return "int"
    return [f(s) for s in (1, True, 0, False, None, 1.0, "", [])]

# MatchSequence: lists, tuples, ranges and deques, but no texts, sets, mappings or iterators; lengths before entries
import collections
class Seq(collections.abc.Sequence):
    def __init__(self, *k): self.k = k
    def __len__(self): note("len"); return len(self.k)
    def __getitem__(self, i): note("item", i); return self.k[i]
def main():
    def f(s):
        match s:
            case []: return "empty"
            case [1, _]: return "one and any"
            case [x, [y, z]]: return "nested", x, y, z
            case (x, y, 3): return "ends in three", x, y
            case [x]: return "single", x
    for s in ([], (), [1, 2], (1, "x"), [2, [3, 4]], (5, 6, 3), range(1), collections.deque([7]), "a", "", b"a", {1}, {}, iter([1]), Seq(), Seq(1, 2), Seq(4, 5, 3), Seq(1, 2, 3, 4), 5, [[]]): note(0, f(s))

# MatchMapping: dicts and other mappings, keys that are there, the rest, get() and not []
import collections
class M(dict):
    def get(self, k, default=None): note("get", k); return super().get(k, default)
def main():
    def f(s):
        match s:
            case {"a": 1, "b": [x]}: return "a and b", x
            case {"a": {"c": y}, **rest}: return "nested", y, rest
            case {1: x, None: y}: return "keys", x, y
            case {"z": _, **rest}: rest["new"] = 1; return "rest", rest, s
            case {}: return "any mapping", s
    for s in ({"a": 1, "b": [2]}, {"a": {"c": 3}, "d": 4}, {True: 1, None: 2}, {"z": 0, "y": 1}, {}, M(a=1, b=[5]), M(q=1), collections.defaultdict(int), [], "a", collections.ChainMap({"z": 1}, {"w": 2})): note(0, f(s))
    k = "a"
    match {"a": 1}:
        case {E.key: 5 | 1 as v}: return v
class E: key = "a"

# MatchClass: by isinstance, attributes in order, positional by __match_args__, builtins by value, errors
import dataclasses
class P:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self._x, self._y = x, y
    @property
    def x(self): note("x"); return self._x
    @property
    def y(self): note("y"); return self._y
class Q(P): pass
class N: pass
class B: __match_args__ = ["a"]
class T: __match_args__ = (1,)
@dataclasses.dataclass
class D:
    a: int
    b: int = 0
class Meta(type):
    def __instancecheck__(cls, other): note("instance?"); return other == 7
class Seven(metaclass=Meta): pass
def main():
    def f(s):
        match s:
            case Q(x=1): return "Q"
            case P(0, y): return "P", y
            case P(x, P(y=z)): return "PP", x, z
            case D(a, b=0) | D(0, a): return "D", a
            case bool(b): return "bool", b
            case int(n) if n > 5: return "int", n
            case Seven(): return "seven"
            case str("a" | "b" as t): return "text", t
            case list([x, *_]) | tuple((x, _)): return "list", x
            case dict(k=1): return "never"
            case object(strange=v): return "strange", v
            case float(): return "float"
    n = N(); n.strange = 4
    for s in (Q(1, 2), Q(0, 3), P(0, 4), P(5, P(6, 7)), P(5, 6), D(1), D(0, 2), D(3, 4), True, 9, 7, 3, "a", "c", [8, 9], (1, 2), (1,), {"k": 1}, n, 1.5, N()): note(0, f(s))
    def bad(k):
        match B() if k == 1 else T() if k == 2 else N() if k == 3 else D(1) if k == 4 else P(1, 2):
            case B(1): pass
            case T(1): pass
            case N(1): pass
            case D(1, 2, 3): pass
            case P(1, x=1): pass
            case P(_, x=1): return 0
    for k in range(5):
        try: note(k, bad(k))
        except TypeError as error: note("error", error)
    not_a_class = 3
    match 1:
        case not_a_class(): pass

# MatchStar: in the middle, unnamed, of no entries, always a list
def main():
    def f(s):
        match s:
            case [1, *rest, 9]: return "middle", rest
            case [*_, 8]: return "end"
            case [a, b, *rest] if rest: return "start", a, b, rest
            case [*everything]: return "all", everything
    for s in ([1, 9], (1, 2, 3, 9), [8], [7, 8], (1, 2, 3), (4,), [], range(4), "ab"): note(0, f(s))

# MatchAs: captures bind at once, also where the guard fails; wildcards bind nothing
def main():
    x = "old"
    match [1, 2]:
        case [x, 3]: note("never")
        case [y, z] if note("guard", (y, z)) and False: note("never")
        case [1 as p, (2 | 3) as q] as r: note("as", (p, q, r))
    note("bound", (y, z))
    match 5:
        case _ if note("wild", 0): pass
        case x: note("x", x)
    try: _
    except NameError as error: note("error", error)
    class C:
        match 3:
            case n: pass
    return x, C.n

# MatchOr: alternatives in order, with the same names
def main():
    def f(s):
        match s:
            case [1, x] | [x, 1] | {"x": x}: return x
            case (0 | 1 | "a") | None as y: return "y", y
            case [([] | [_]) as z, 2 | 3]: return "z", z
    for s in ([1, 2], [2, 1], [1, 1], {"x": 3}, 1, "a", None, [[], 2], [[5], 3], [[5, 6], 3], True, 2): note(0, f(s))
"""

# What is not one kind of syntax.
OTHERS = """
# Generators: cleanup of one that a loop leaves, at the end of the loop
def main():
    def g():
        try:
            yield 1
            yield 2
        finally: note("closed")
    for v in g():
        note("v", v)
        break
    note("after the loop")
    a, b = 0, next(g())
    note("after next")

# Generators: a pipeline is read one value at a time
def main():
    def numbers():
        for k in range(4): note("made", k); yield k
    def even(source):
        for k in source:
            if k % 2 == 0: yield note("even", k)
    def tree(n):
        if n: yield from tree(n - 1); yield n; yield from tree(n - 1)
    total = 0
    for k in even(numbers()): total += k; note("total", total)
    note(0, list(tree(3)))
    def average():
        total = count = 0
        value = None
        while True:
            got = yield value
            total += got; count += 1
            value = total / count
    a = average(); next(a)
    return [a.send(k) for k in (1, 2, 6)]

# Generators: StopIteration that a try around a loop with a yield catches
def main():
    def rounds(source):
        while True:
            try: yield next(source)
            except StopIteration: return "end"
    def merged(*sources):
        heads = [[next(s), s.__next__] for s in map(iter, sources)]
        while heads:
            try:
                while True:
                    heads.sort(key=lambda h: h[0])
                    value, step = head = heads[0]
                    yield value
                    head[0] = step()
            except StopIteration: heads.pop(0)
    def whole():
        for k in range(2):
            with contextlib.suppress(StopIteration):
                for v in (1, 2):
                    yield k, v
                    if v == 1: raise StopIteration(k)
    note(0, (list(rounds(iter([1, 2]))), list(merged([1, 4], [2, 3], [5]))))
    return list(whole())
import contextlib

# Exceptions: a context that a finally takes away, with the manager of a generator
import contextlib
def main():
    def replaced(context):
        new = KeyError("new")
        try: raise new
        finally: new.__context__ = context
    try:
        try: raise IndexError("old")
        except IndexError: replaced(None)
    except KeyError as error: note("function", error)
    @contextlib.contextmanager
    def manager(context):
        try: yield
        except IndexError: replaced(context)
    for context in (None, ValueError("other")):
        try:
            with manager(context): raise IndexError("body")
        except KeyError as error: note("manager", error)
        try:
            with contextlib.ExitStack() as stack:
                stack.enter_context(manager(context))
                stack.callback(note, "callback")
                raise IndexError("body")
        except KeyError as error: note("stack", error)

# Truth: an operand of a nested and/or is asked once, also where the whole is a value or an argument
class T:
    def __init__(self, k): self.k = k
    def __bool__(self): note("bool", self.k); return self.k > 0
def main():
    a, b, c = T(1), T(0), T(2)
    note(0, ((a or b) or c).k)
    note(1, type((b or a) or c).__name__)
    note(2, ((b and a) and c).k)
    note(3, ((a and b) or c).k)
    note(4, ((a or b) and (b or c)).k)
    note(5, (a if (a or b) else c).k)
    note(6, [(x or b or c).k for x in (a, b)])
    x = (a or b) or c
    y = not (a and (b or c))
    return x.k, y

# Unbound: the error for a local name without a value, wherever it is read
def main():
    def f(k):
        if k < 0: u = 1
        if k == 0: return 1 and u
        if k == 1: return 0 or [u]
        if k == 2: return u if k else 0
        if k == 3: return 1 if u else 0
        if k == 4: return 1 < 2 < u
        if k == 5: return 0 < u < 1
        if k == 6: return note("f", 1) and note("g", u)
        if k == 7:
            while u: pass
        if k == 8:
            for v in u: pass
        if k == 9: assert u
        if k == 10: assert 0, u
        if k == 11: u += 1
        if k == 12: return f"{u}"
        if k == 13: return [v for v in u]
        if k == 14: return (lambda a=u: a)()
        if k == 15:
            match u:
                case 1: pass
        if k == 16:
            match 1:
                case 1 if u: pass
        if k == 17:
            with u: pass
        if k == 18: raise u
        if k == 19:
            try: raise ValueError
            except u: pass
        if k == 20: return not (1 and u)
        if k == 21: return 1 if 1 and u else 0
        if k == 22: del u
        if k == 23: return any(v for v in (u,))
        if k == 24: u[0] = 1
        if k == 25: return {}[0:u] if 0 else {1: u}
        if k == 26: return (w := u) or w
        if k == 27: return 0 or (0 or (1 and u))
        if k == 28: return [u for _ in "a"]
        if k == 29: return next(u for _ in "a")
        if k == 30: return (lambda: u)()
    for k in range(31):
        try: note(k, f(k))
        except Exception as error: note(k, error)

# Iteration: what makes a list of an object asks for its length, as a hint
class L:
    def __init__(self, k): self.k = k
    def __len__(self): note("len"); return self.k
    def __iter__(self): note("iter"); return iter(range(self.k))
class H:
    def __length_hint__(self): note("hint"); return 3
    def __iter__(self): note("iter"); return self
    def __next__(self): raise StopIteration
class Bad(L):
    def __len__(self): raise KeyError("len")
def main():
    o = L(3)
    a, *b = o
    note(0, (list(o), [*o], (*o,), tuple(o), {*o}, [0, *o, 1], sum(o), sorted(o), max(*o), [v for v in o], dict(zip(o, o)), b))
    b.extend(o)
    b += o
    b[1:2] = o
    note(1, (b, list(H()), [*H()], list(map(abs, o)), bytes(o)))
    for call in (lambda: list(Bad(1)), lambda: [*Bad(1)], lambda: tuple(Bad(1)), lambda: sorted(Bad(1)), lambda: [v for v in Bad(1)]):
        try: note("got", call())
        except KeyError as error: note("error", error)

# Lookup: a property that fails asks __getattr__, whose error has no context
class C:
    @property
    def broken(self): note("property"); return self.nothing
    @property
    def failing(self): raise AttributeError("from property")
    def __getattr__(self, name):
        note("getattr", name)
        if name == "failing": return 5
        raise AttributeError(name)
class D(C):
    def __getattribute__(self, name):
        note("all", name)
        return super().__getattribute__(name)
def main():
    for o in (C(), D()):
        note(0, (o.failing, hasattr(o, "lost"), getattr(o, "lost", 4), getattr(o, "failing", 6)))
        for call in (lambda: o.lost, lambda: o.broken, lambda: o.method(1), lambda: o.lost + 1):
            try: call()
            except AttributeError as error: note("error", (error, error.__context__))
    C().lost

# Stars: errors of what cannot be unpacked name the function, also one behind a callable object
class Kept:
    def __init__(self, f): self.f = f
    def __call__(self, *a, **k): return self.f(*a, **k)
@Kept
def f(*a, **k): return a, k
def g(*a, **k): return a, k
class C:
    def m(self, *a): return a
    @staticmethod
    def s(*a): return a
def main():
    h = lambda *a: a
    for call in (lambda: f(**7), lambda: f(*7), lambda: f(a=1, **{"a": 2}), lambda: g(**7), lambda: g(*7), lambda: g(1, *None), lambda: g(a=1, **{"a": 2}), lambda: g(**{1: 2}), lambda: C().m(*7), lambda: C.s(**7), lambda: C(*7), lambda: h(*7), lambda: print(*7), lambda: dict(a=1, **{"a": 2}),
                 lambda: len(**7), lambda: max(*3), lambda: [].append(*4), lambda: [*7], lambda: (*7,), lambda: {*7}, lambda: {**7}, lambda: [1, *None], lambda: (1, *C())):
        try: note("got", call())
        except TypeError as error: note("error", error)

# Recursion: mutual, through containers, with a cache, Ackermann, permutations, and its limit in a handler
import functools
@functools.lru_cache(None)
def fib(n): note("fib", n); return n if n < 2 else fib(n - 1) + fib(n - 2)
def ack(m, n): return n + 1 if not m else ack(m - 1, 1) if not n else ack(m - 1, ack(m, n - 1))
def permutations(x): return [x] if len(x) < 2 else [[v] + p for i, v in enumerate(x) for p in permutations(x[:i] + x[i + 1:])]
def flat(x): return [w for v in x for w in (flat(v) if isinstance(v, list) else [v])]
def hanoi(n, a="a", b="b", c="c"): return [] if n == 0 else hanoi(n - 1, a, c, b) + [(a, c)] + hanoi(n - 1, b, a, c)
def main(): return fib(8), ack(2, 3), permutations([1, 2, 3]), flat([1, [2, [3, []], 4]]), hanoi(3), fib.cache_info().hits

# Threads of exceptions: contexts that are set while others are handled, and tracebacks that end
import sys
def main():
    def f():
        try: 1 / 0
        except ZeroDivisionError:
            try: [][0]
            except IndexError:
                try: {}["k"]
                finally: note("current", sys.exc_info()[0])
    try: f()
    except KeyError as error: note(0, error)
    note("none", sys.exc_info())
    try:
        try: raise ValueError(1)
        except ValueError as a:
            kept = a
            raise KeyError(2) from a
    except KeyError as b: note(1, (b.__cause__ is kept, b.__context__ is kept, b.__suppress_context__))
    error = ValueError("again")
    for k in range(2):
        try: raise error
        except ValueError as e: note(k, (e is error, e.__context__))
    error.add_note("a note")
    return error.__notes__

# Iterators of one's own: a linked list, a priority queue, a matrix class, a state machine
import heapq, operator
class Node:
    def __init__(self, value, after=None): self.value, self.after = value, after
    def __iter__(self):
        node = self
        while node is not None: yield node.value; node = node.after
class Matrix:
    def __init__(self, rows): self.rows = [list(r) for r in rows]
    def __matmul__(self, other): return Matrix([[sum(map(operator.mul, r, c)) for c in zip(*other.rows)] for r in self.rows])
    def __getitem__(self, key): i, j = key; return self.rows[i][j]
    def __setitem__(self, key, v): i, j = key; self.rows[i][j] = v
    def __eq__(self, other): return self.rows == other.rows
    def __pow__(self, n): return self if n == 1 else self ** (n // 2) @ self ** (n - n // 2)
def shortest(graph, start):
    best, queue = {start: 0}, [(0, start)]
    while queue:
        d, v = heapq.heappop(queue)
        if d > best[v]: continue
        for w, c in sorted(graph[v].items()):
            if d + c < best.get(w, float("inf")): best[w] = d + c; heapq.heappush(queue, (d + c, w))
    return best
def tokens(text):
    state, word = "start", ""
    for c in text + " ":
        match state, c:
            case ("start", " "): pass
            case ("start" | "word", c) if c.isalpha(): state, word = "word", word + c
            case ("start" | "number", c) if c.isdigit(): state, word = "number", word + c
            case (_, " "): yield state, word; state, word = "start", ""
            case _: raise ValueError(f"{c!r} in {state}")
def main():
    n = Node(1, Node(2, Node(3)))
    m = Matrix([[1, 1], [1, 0]])
    m2 = m ** 10
    m2[0, 0] += 1
    note(0, (list(n), [*zip(n, n)], m2.rows, m ** 2 == m @ m, 2 in n, max(n), sum(n)))
    note(1, shortest({"a": {"b": 4, "c": 1}, "b": {}, "c": {"b": 2}}, "a"))
    note(2, list(tokens("ab 12  c")))
    return list(tokens("a1"))

# Frames: what a function asks about itself
import sys
def helper(): return sys._getframe(1).f_code.co_name, sys._getframe().f_lineno > 0
def main():
    def inner(): return helper()
    x = 3
    note(0, (inner(), sorted(k for k in locals() if len(k) == 1), "x" in vars(), eval("x"), [eval("1 + 1") for _ in "a"]))
    exec("y = 4", globals())
    return y

# Objects that intercept everything: proxies, mixins, weak and callable classes, copies
import copy
class Proxy:
    def __init__(self, target): object.__setattr__(self, "target", target)
    def __getattribute__(self, name): note("get", name); return getattr(object.__getattribute__(self, "target"), name)
    def __setattr__(self, name, value): note("set", name); setattr(object.__getattribute__(self, "target"), name, value)
    def __delattr__(self, name): note("del", name); delattr(object.__getattribute__(self, "target"), name)
class Loud:
    def __getattribute__(self, name): return super().__getattribute__(name)
    def act(self): return self.value
class Base:
    registry = []
    def __init_subclass__(cls): Base.registry.append(cls.__name__)
    def __new__(cls, *rest): o = super().__new__(cls); o.rest = rest; return o
    def __copy__(self): note("copy"); return type(self)(*self.rest)
class Sub(Base, Loud): value = 5
class Single:
    made = None
    def __new__(cls):
        if cls.made is None: cls.made = super().__new__(cls)
        return cls.made
    def __init__(self): note("init")
def main():
    p = Proxy(Sub(1, 2))
    p.extra = 3
    p.extra += 1
    note(0, (p.extra, p.act(), p.rest))
    del p.extra
    note(1, (Base.registry, copy.copy(Sub(7)).rest, Single() is Single(), type("Made", (Base,), {"f": lambda self: self.rest})(9).f(), Base.registry))
    return p.extra
"""


def split(text):
    """The programs of a text by what the line before each says."""
    parts = re.split(r"^# (.+)$", text, flags=re.MULTILINE)
    return {name.strip(): program for name, program in zip(parts[1::2], parts[2::2])}


ALL = {**split(STATEMENTS), **split(EXPRESSIONS), **split(PATTERNS), **split(OTHERS)}

# Kinds of syntax that are refused: there is no event loop in a function of numbers.
REFUSED = {name.partition(" ")[0] for name in ALL if name.endswith(" refused")}


def of_this_python(name):
    """Whether this version of Python can read a program whose name may have a version, such as TypeAlias 3.12."""
    version = re.match(r"\w+ (\d+)\.(\d+):", name)
    return not name.endswith(" refused") and (not version or sys.version_info >= tuple(map(int, version.groups())))


PROGRAMS = {name: program for name, program in ALL.items() if of_this_python(name)}


def kind(name):
    """The kind of syntax that a program is about."""
    return re.match(r"\w+", name).group()
