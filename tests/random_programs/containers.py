"""Random functions in plain Python that keep their state in lists, dicts and objects, which branches on data change."""

from __future__ import annotations

import random

# Of the classes whose objects may change.
METHODS = """    def total(self, weight=1.0):
        return self.a * weight + self.b
    @property
    def mean(self):
        return 0.5 * (self.a + self.b)
    @property
    def is_high(self):
        return self.a > self.b
    def move(self, d):
        self.a = self.a + d
        if self.a > 0.4:
            self.a = 0.3 - self.b
            self.n = self.n + 1
    def take(self, amount, least=0.1):
        if amount > self.b:
            amount = self.b
        elif amount < least:
            self.n += 1
            return 0.0
        self.b -= amount
        return amount
    def swap(self):
        self.a, self.b = self.b, self.a
        return self
    def settle(self, w):
        self.move(w * scale)
        d = self.take(w) - self.total()
        return d * gain if self.is_high else d
    def beside(self, o):
        return max(self.a, o.b) - self.kind_of(o.n)
    def kind_of(self, n):
        if n > 1:
            return 1.0
        return 0.5
"""

HEADER = """import dataclasses
from dataclasses import dataclass, replace
from types import SimpleNamespace
import numpy as np
TABLE = [0.5, 1, -0.25, 2.0]
DRAWS = np.array([0.3, -0.2, 0.8, 0.1, -0.6])
@dataclass(frozen=True)
class Frozen:
    a: float
    b: float
    n: int = 0
@dataclass
class Open:
    a: float
    b: float = 0.5
    n: int = 0
METHODS
@dataclass(slots=True)
class Slots:
    a: float
    b: float
    n: int = 0
METHODS
class Plain:
    kind = 3
    def __init__(self, a, b, n=0):
        self.a = a
        self.b, self.n = b, n
METHODS
class Odd:
    made = 0
    def __init__(self, a, b, n=0):
        self.a, self.b, self.n = a, b, n
        Odd.made += 1
class Computed(Plain):
    @property
    def a(self):
        return self._a * 2
    @a.setter
    def a(self, value):
        self._a = value
class Doubled(Plain):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value + value)
@dataclass
class Posted:
    a: float
    b: float
    n: int = 0
    def __post_init__(self):
        self.b = self.b + 1.0
def bump(entries):
    entries[0] = entries[0] + 1.0
    return entries[0]
def touch(o):
    o.a = o.a * 0.5
    return o.b
scale, gain = 2.0, 0.5
def both(o, v):
    if v > o.a:
        return o.a + v
    return o.b * gain
""".replace("METHODS\n", METHODS)


class ContainerProgram:
    """The text of a random function f(x) of five numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def text(self) -> str:
        pick = self.random.choice
        self.kind = pick(["Frozen", "Frozen", "Open", "Open", "Slots", "Plain", "SimpleNamespace", "Odd", "Computed", "Doubled", "Posted"])
        self.is_odd = self.random.random() < 0.35
        size = pick([2, 2, 3, 4])
        self.size = size
        entries = ", ".join(pick(["0.0", "x[1]", "1", "0.5", "-0.0", "np.float64(0.3)"] if self.random.random() < 0.3 else ["0.0", "0.5", "x[2]"]) for _ in range(size))
        first = pick([f"q = [{entries}]"] * 3 + [f"q = [0.0] * {size}", f"q = [x[k] for k in range({size})]"])
        self.lines = [HEADER, "def f(x):", f"    a, k, hit = x[0], {pick([0, 1, 0, -1])}, False"]
        self.lines += ["    " + first, f"    c = {pick(['[0] * ' + str(size), '[0.0] * ' + str(size), 'list(q)', 'q[:]', 'q.copy()'])}",
                       "    d = " + pick(["{0: 1.0, 1: x[3], 2: 0.5}", "{'u': 0.0, 'v': x[4]}", "dict(u=1, v=0.5)"]),
                       f"    s = {self._new()}", "    mode = 'u'", "    t = [(0, 1.0), (0.5, 2), (x[1], 0.25)]"]  # fmt: skip
        self.lines.append("    g = []")
        self.is_named = "'u'" in self.lines[-5] or "u=" in self.lines[-5]
        if self.is_odd:
            self.lines.append("    " + pick(["r = q", "r = [q, c]", "r = (s, q)", "r = lambda: q[0]", "r = s", "bump(q)", "touch(s)", "r = (v for v in q)", "r = d"]))
        for _ in range(self.random.randint(0, 1)):
            self._statement(1, None)
        self.lines.append("    for v in x:")
        for _ in range(self.random.randint(1, 3)):
            self._branch(2, "v")
            self._statement(2, "v")
        for _ in range(self.random.randint(0, 2)):
            self._statement(1, None)
        ends = ["a + s.a", "a + q[0] * q[-1]", "sum(q) + a", "s.a * s.b + s.n * 0.5", "a + max(q) + len(c)", "np.sum(np.array(q) * 1.0) + s.b", "a * s.n + sum([v * 2 for v in c])",
                "q[1] + sum(c) + s.a", f"a + d[{self._key()}] * s.b + q[k % {size}]", "t[k % 3][0] + q[0]", "sum(g) + a", "sum(g) * a + len(g)", "np.mean(g) + a", "max(g) - min(g) + a", "a + g[-1] if g else a * 2", "sum(g) + g[-1]", "(0.0 if not g else max(g)) + a", "np.sum(np.array(g)) * a", "a / (len(g) + 1)", "sum(v * w for v, w in zip(q, c)) + s.a * a"]  # fmt: skip
        self.lines.append(f"    return {pick(ends)}")
        return "\n".join(self.lines) + "\n"

    def _new(self) -> str:
        a, b = self._plain(), self._plain()
        if self.kind == "SimpleNamespace":
            return f"SimpleNamespace(a={a}, b={b}, n=0)"
        return self.random.choice([f"{self.kind}({a}, {b})", f"{self.kind}({a}, b={b}, n=1)", f"{self.kind}(b={b}, a={a})"])

    def _plain(self) -> str:
        return self.random.choice(["0.0", "x[0]", "0.5", "x[1] * 0.5", "1"])

    def _key(self) -> str:
        return self.random.choice(["mode", "mode", "'u'", "'v'"] if self.is_named else ["k % 3", "1", "0", "k"])

    def _index(self) -> str:
        return self.random.choice(["k", "k", "k", "0", "1", "-1", f"k % {self.size}", "0 if a > 0.3 else 1", "k - 1", f"min(k, {self.size - 1})"])

    def _atom(self, loop: str | None) -> str:
        atoms = ["a", "s.a", "s.b", "s.n", "x[2]", "0.5", "2", f"q[{self._index()}]", f"c[{self._index()}]", f"d[{self._key()}]", "k", "TABLE[k % 4]", "t[k % 3][1]", "DRAWS[k]", "x[k]"]
        return self.random.choice(atoms + [loop] * 3 if loop else atoms)

    def _value(self, loop: str | None) -> str:
        pick, a, b = self.random.choice, self._atom(loop), self._atom(loop)
        common = [a, f"{a} + {b}", f"{a} - {b}", f"{a} * {b}", f"{a} * 0.5", f"np.tanh({a})", f"abs({a})", f"max({a}, {b})", f"({a} if {b} > 0.2 else {b})", f"-{a}"]
        if self.kind in ("Open", "Slots", "Plain") and self.random.random() < 0.35:
            common = ["s.total()", f"s.total({a})", "s.mean", f"s.take({a})", f"s.take(least={b}, amount={a})", "s.is_high * 1.0", f"both(s, {a})", f"s.settle({a})", "s.beside(s)", f"{a} * s.settle({b}) + s.a",
                      f"s.a - s.take({a}) * s.mean", f"(s.total(a) if {b} > 0 else a)", "max([s.total(v) for v in x])"]  # fmt: skip
        rare = ["sum(q)", "max(q)", f"q[{self._index()}] / 2", "len(q) * a", "np.float32(0.5) * s.a", f"{a} / 3", "np.sum(q)", "sum([v * 2.0 for v in q])", f"({a} > 0) * {b}", "int(a > 0)"]
        if self.is_odd:
            rare += ["bump(q)", "touch(s)", "Odd.made * a", "getattr(s, 'a')", "q.index(q[0])", "sorted(q)[0]", "np.sum(np.asarray(c))"]
        return pick(common if self.random.random() < 0.75 else rare)

    def _test(self, loop: str | None) -> str:
        pick, a, b = self.random.choice, self._atom(loop), self._atom(loop)
        simple = f"{a} {pick(('<', '>', '<=', '>=', '=='))} {pick([b, '0', '0.3', '-0.5'])}"
        if self.kind in ("Open", "Slots", "Plain") and self.random.random() < 0.2:
            return pick(["s.is_high", f"s.mean > {a}", f"{a} > 0 and s.is_high", f"s.take({a}) > {b}", f"s.total({a}) < 0.3"])
        return pick([simple] * 5 + [f"{simple} and {b} > 0", f"not {simple}", "hit", "k > 0", "mode == 'u'", f"k < {self.size} and q[k] < {a}", f"0 <= k < {self.size} and {b} > 0"])

    def _statement(self, depth: int, loop: str | None) -> None:
        pad, pick = "    " * depth, self.random.choice
        kind = pick(["assign"] * 2 + ["if"] * (4 if depth < 4 else 0) + ["change"] * 5 + ["object"] * 3 + ["count"] * 2 + (["loop"] * 3 + ["while"] if loop is None and depth < 3 else []))
        value = self._value(loop)
        if kind == "assign":
            self.lines.append(f"{pad}a {pick(('=', '+=', '-='))} {value}")
        elif kind == "count":
            self.lines.append(pad + pick(["k += 1", "k = 0", "k = 1", "k -= 1", "k = 1 if a > 0 else 0", "k = -1 if a > 0 else 0", "hit = not hit", "mode = 'v'", "mode = 'u' if a > 0 else mode", f"k = min(k + 1, {self.size - 1})"]))
        elif kind == "change":
            self.lines.append(pad + (f"g.append({value})" if self.random.random() < 0.2 else self._change(value)))
        elif kind == "object":
            self.lines.append(pad + self._object(value))
        elif kind == "loop":
            head = pick(["for i in range(3):", "for v in x:", "for i, v in enumerate(q):", "for v, w in zip(q, c):"])
            self.lines.append(pad + head)
            self._body(depth + 1, "v" if " v" in head else "x[i]")
        elif kind == "while":
            count = f"z{len(self.lines)}"
            self.lines += [f"{pad}{count} = 0", f"{pad}while {count} < 4 and ({self._test(None)}):", f"{pad}    {count} += 1"]
            self._body(depth + 1, None if depth > 1 else "x[3]")
        else:
            self._branch(depth, loop)

    def _branch(self, depth: int, loop: str | None) -> None:
        pad = "    " * depth
        self.lines.append(f"{pad}if {self._test(loop)}:")
        self._body(depth + 1, loop)
        if self.random.random() < 0.5:
            self.lines.append(f"{pad}else:")
            self._body(depth + 1, loop)

    def _body(self, depth: int, loop: str | None) -> None:
        for _ in range(self.random.randint(1, 2)):
            self._statement(depth, loop)
        if loop and depth > 2 and self.random.random() < 0.1:
            self.lines.append("    " * depth + self.random.choice(["break", "continue"]))

    def _change(self, value: str) -> str:
        i, j, n = self._index(), self._index(), self.size
        found = [f"q[{i}] = {value}", f"q[{i}] += {value}", f"c[{i}] += 1", f"c[{i}] = {value}", f"d[{self._key()}] = {value}", f"q[{i}], q[{j}] = q[{j}], q[{i}]", "c = q[:]", "c = list(q)",
                 "q = [v * 0.5 for v in q]", "q = [v + w for v, w in zip(q, c)]", f"q = [{', '.join(['a'] * n)}]", f"k, q[k % {n}] = 1, {value}", f"a, c = q[0], [0.0] * {n}", f"q[k % {n}] *= 0.5"]  # fmt: skip
        odd = ["q = c", "q, c = c, q", "q.reverse()", "q.append(q.pop(0))", f"q[:] = [a] * {n}", "del d", "q = q + []", f"q[0:1] = [{value}]", "r = q", "c = [q[0]] + c[1:]", "d['u'] = a", "d[5] = a", "q += []"]
        return self.random.choice(found if not self.is_odd or self.random.random() < 0.7 else odd)

    def _object(self, value: str) -> str:
        found = [f"s.a = {value}", f"s.a += {value}", "s.n += 1", "s.n = 1", f"s.a, s.b = s.b, {value}", f"s = {self._new()}"]
        if self.kind in ("Frozen", "Open", "Slots", "Posted"):
            found = [f"s = replace(s, a={value})", f"s = dataclasses.replace(s, b={value}, n=s.n + 1)", f"s = {self.kind}({value}, s.a, s.n)"] * 2 + (found if self.kind != "Frozen" else found[-1:])
        if self.kind in ("Open", "Slots", "Plain"):
            found += [f"s.move({value})", f"s.take({value})", "s.swap()", f"a = s.take({value})", f"a += s.settle({value})", f"s.a += s.total({value})", "scale = a", "s.move(s.a)", "s.beside(s) if a > 0 else a"] * 2
        odd = ["s = s.swap()", "s.move = 1.0", "s.extra = 1.0", "r = s", "touch(s)", "s = s if a > 0 else s", "del s.n", "s.__dict__", f"s.b: float = {value}"]
        return self.random.choice(found if not self.is_odd or self.random.random() < 0.8 else odd)


class NestedProgram(ContainerProgram):
    """Programs that also have a list of objects, and a list of lists."""

    def text(self) -> str:
        text = super().text()
        pick = self.random.choice
        kind = pick([self._new(), "Plain(x[k], 0.5)", "Open(0.5, x[k])"])
        objects = f"[{self._new()}, {self._new()}, {self._new()}]" if self.random.random() < 0.6 else f"[{kind} for k in range(3)]"
        rows = pick(["[[0.0, 0.5], [x[1], 1.0]]", "[[0.0] * 2 for _ in range(2)]", "[[x[2], 1], [0.0, 2.0]]"])
        lines = text.split("\n")
        at = lines.index("    for v in x:")
        body = self._more()
        found = [*lines[:at], f"    ps = {objects}", f"    w = {rows}", *lines[at : at + 1], *body, *lines[at + 1 :]]
        last = max(k for k, line in enumerate(found) if line.startswith("    return "))
        found[last] += pick([" + sum(o.a for o in ps)", " + ps[0].a * ps[-1].b + w[0][1]", " + max(o.b for o in ps) + sum(w[1])", " + ps[k % 3].a", " + sum([o.a * o.b for o in ps if o.a > 0])"])
        return "\n".join(found)

    def _more(self) -> list[str]:
        """Statements in the loop that change the objects and the rows."""
        pick, made = self.random.choice, list[str]()
        for _ in range(self.random.randint(1, 3)):
            value = pick(["v", "a", "0.5", "v * 0.5", "ps[0].a", "w[1][0]", "ps[1].b - v", "w[0][k % 2]", "len(ps) * v"])
            test = pick(["v > 0.2", "a > v", "ps[0].a > ps[1].a", "w[0][0] < v", "hit"])
            change = pick([f"ps[1].a = {value}", "ps[0].a, ps[2].a = ps[2].a, ps[0].a", f"ps[-1].b += {value}", f"w[0][1] = {value}", f"w[1][0] -= {value}", f"w[k % 2][0] = {value}",
                           f"ps[k % 3].a = {value}", "ps[0] = ps[1]", "q = w[0]", "r = ps[1]"][: 10 if self.is_odd else 7])  # fmt: skip
            loop = pick(["for o in ps:", "for i, o in enumerate(ps):", "for o, row in zip(ps, w):", "for o in ps[1:]:", "for o in reversed(ps):"])
            inner = pick([f"o.a = o.a + {value}", f"o.b = {value}", "o.a, o.b = o.b, o.a", "a += o.a"] + (["row[0] += o.a"] * 2 if "row" in loop else []) + (["ps[i - 1].a = o.b"] * 2 if "i, o" in loop else []))
            after = pick(["", "", "", "continue", "break"])
            form = self.random.random()
            if form < 0.4:
                made += [f"        if {test}:", f"            {change}"]
            elif form < 0.85:
                made += [f"        {loop}", f"            if {test.replace('ps[0].a > ps[1].a', 'o.a > v')}:", f"                {inner}", *([f"                {after}"] if after else []), "            o.a = o.a * 0.9"]
            else:
                made += ["        for i in range(2):", "            for j in range(i + 1, 3):", "                if ps[i].a > ps[j].a:", "                    ps[i].a, ps[j].a = ps[j].a, ps[i].a", f"            w[i][1] = {value}"]
        return made
