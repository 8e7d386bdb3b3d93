"""Random functions in plain Python of unusual kinds: arguments changed by helpers, hidden state, aliases and views, errors on one side, odd
numbers and classes, generators, early exits of nested loops, closures that change, recursion over static structures."""

from __future__ import annotations

import random

_HEAD = """
import collections, dataclasses, enum, functools, io, math
import numpy as np

DATA = np.array([0.3, -1.2, 0.8, 2.0, -0.4])
NARROW = np.array([0.1, 0.7, -0.3], np.float32)
WHOLE = np.array([3, -2, 5, 7, -4])
Pair = collections.namedtuple("Pair", "first second")
COUNT, TABLE, BOX, SEEN = [0], {"rate": 1.0, "gain": 0.5}, ([1.0], 2.0), []
TREE = {"k": 0, "at": 0.3, "low": {"k": 1, "at": -0.2, "low": 1.0, "high": 2}, "high": {"k": 2, "at": 0.1, "low": -1, "high": 0.5}}
SHARED = np.array([1.0, 2.0, 3.0])


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


@dataclasses.dataclass
class Record:
    gain: float
    count: int = 0


@dataclasses.dataclass(frozen=True)
class Fixed:
    rate: float = 0.5
    order: int = 2


class Slotted:
    __slots__ = ("level",)

    def __init__(self, level):
        self.level = level

    def read(self, v):
        return v * self.level


class Own:
    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        return Own(self.v + other * 2.0)

    __radd__ = __add__

    def __mul__(self, other):
        return self.v * other + 1.0

    __rmul__ = __mul__

    def __gt__(self, other):
        return self.v > other - 0.3

    def __bool__(self):
        return False

    def __float__(self):
        return 0.25


class Heavy(float):
    def __mul__(self, other):
        return float(self) + other

    __rmul__ = __mul__


class Light(float):
    pass


class Model:
    rate, table = 0.5, [1.0, 2.0]
    made = 0

    def __init__(self, gain):
        self.gain, self.calls, self.kept = gain, 0, []

    @property
    def level(self):
        self.calls += 1
        return self.gain * self.calls

    @functools.cached_property
    def lazy(self):
        self.calls += 3
        return 2.0

    @staticmethod
    def fixed(v):
        return long(v, 2)

    @classmethod
    def of_class(cls, v):
        return long(v) * cls.rate

    def scaled(self, v):
        if v > 0:
            return long(v) * self.gain
        return v * self.rate

    def by_table(self, v):
        return long(v) * self.table[0] + self.gain

    def counted(self, v):
        self.calls += 1
        return long(v) * self.calls

    def keeps(self, v):
        self.kept.append(v)
        return v + len(self.kept)

    def __call__(self, v):
        return long(v) - self.gain


class Child(Model):
    rate = -0.25

    def scaled(self, v):
        return super().scaled(v) * 2.0 if v < 1 else v


def long(v, n=4):
    for k in range(n):
        v = np.sin(v) + 0.1 * k * v
    return v


def branches(v, w):
    if v > w:
        return long(v) - w
    elif v < -w:
        return w * 0.5
    return 0


def early(v, values):
    for i, u in enumerate(values):
        for w in values:
            if u * w > v:
                return u + i
            if w > 1.0:
                break
        else:
            v = v + 0.1
            continue
        if u < v:
            return w
    return v


def bump(y, v):
    y[0] += v
    return v


def shift(y, v):
    y += v
    return y


def fills(y):
    y[:] = 0.5
    return 1.0


def sorts(y):
    y.sort()
    return y[0]


def seen(v, kept=[]):
    kept.append(1)
    return v * (len(kept) - 0.0)


def counts(v):
    COUNT[0] += 1
    return v + COUNT[0]


def reads(v):
    return long(v) * BOX[0][0] + TABLE["rate"]


def shared(v):
    return long(v) * SHARED[0]


@functools.cache
def cached(n):
    return n * 0.5


@functools.lru_cache(maxsize=2)
def counted_cache(n):
    COUNT[0] += 1
    return n + COUNT[0]


def decorated(g):
    @functools.wraps(g)
    def inner(*args, **named):
        return g(*args, **named) * 1.5
    return inner


@decorated
def wrapped(v, scale=1.0):
    return long(v) * scale if v > 0.1 else v


def items(values):
    for v in values:
        if v > 0:
            yield v
        else:
            yield v * 0.5


def fails(v, n):
    if v > 0.5:
        return v * (1 / n)
    return long(v)


def walks(node, x):
    if isinstance(node, (int, float)):
        return node
    if x[node["k"]] > node["at"]:
        return walks(node["high"], x) * x[3]
    return walks(node["low"], x) + long(x[4])


def depth(v, n):
    if v < 0.2 or n == 0:
        return v
    return depth(v * 0.4, n - 1) + long(v, 1)


def solves(v, y):
    if v > 0:
        return np.sum(np.linalg.solve(np.eye(3) * v, y))
    return long(v)


def maker(rate):
    level = [rate]
    def read(v):
        return long(v) * rate + level[0]
    def change(value):
        nonlocal rate
        rate = value
        level[0] = value
    return read, change


read, change = maker(1.0)


def kinds(v):
    return 2.0 if isinstance(v, float) else 3.0 if isinstance(v, int) else 4.0


"""


class UnusualProgram:
    """The text of a random function f(x) of five numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def text(self) -> str:
        pick = self.random.choice
        # Errors and refusals hide everything else where there are many odd parts.
        self.oddness = pick((0.04, 0.1, 0.25))
        self.lines = [
            "def f(x):", "    COUNT[0], TABLE['rate'], BOX[0][0] = 0, 1.0, 1.0", "    change(1.0)", "    SHARED[:] = 1.0, 2.0, 3.0", "    counted_cache.cache_clear()",
            "    SEEN.clear(); seen.__defaults__[0].clear(); Model.rate, Model.table[0] = 0.5, 1.0",
            f"    a, b = {pick(('x[0]', 'x[0] * 1.0', 'np.float64(0.3)'))}, {pick(('0.0', '0', 'x[1]', '1.5', '-0.0', 'np.float32(0.5)', 'True', 'Light(0.5)'))}",
            f"    n, m, hit, best = {pick(('0', '1', '-3', '7', '2**53', 'np.int64(3)'))}, {pick(('2', '-5', '1'))}, False, None",
            f"    y, z = {pick(('x[:3] * 1.0', 'x[:3]', 'x[1:4] + 0.0', 'np.array([x[0], x[1], 1.0])'))}, {pick(('x[2:] * 2.0', 'np.zeros(3) + x[4]', 'DATA[:3].copy()', 'SHARED', 'np.zeros(3)'))}",
            f"    w = {pick(('y', 'z', 'y[::-1]', 'y[1:]', 'y * 1.0', 'y.reshape(3, 1)'))}",
            f"    mode, colour, level = 'slow', Colour.RED, {pick(('Level.LOW', '1'))}",
            "    pair, kept, table = Pair(x[3], 0.5), [x[3], 1.0], {'u': x[2], 'n': 1}",
            f"    o, p, fixed, slotted = {pick(('Model', 'Child'))}({pick(('1.5', 'x[1]'))}), Record(x[2]), Fixed(), Slotted(2.0)",
            f"    c = {pick(('Own(x[0])', 'Heavy(0.5)', 'Light(2.0)', 'np.float32(0.3)', 'np.int64(-7)', 'np.bool_(True)', '2**60 + 1', '1 + 0j', '0.25', 'np.array(0.5)'))}",
            "    out = io.StringIO()",
        ]  # fmt: skip
        if pick((True, False)):
            self.lines += ["    def inner(v):", "        return long(v) * b + m", "    later = lambda v, k=n: v * k + a"]
        else:
            self.lines += ["    rate = [1.0]", "    inner, later = (lambda v: v * rate[0] if v > 0 else long(v)), functools.partial(wrapped, scale=0.5)"]
        self.has_rate = "rate = " in self.lines[-2]
        for _ in range(self.random.randint(2, 4)):
            self._statement(1, None)
        self.lines.append("    s = a * 1.0 + 2.0 * b + (3.0 if hit else 0.5) + np.sum(y * DATA[:3]) + np.sum(z * z) + np.sum(w)")
        self.lines.append("    s = s + pair[0] * pair[1] + sum(kept) * 0.1 + o.calls + p.gain * p.count + COUNT[0] + len(out.getvalue())")
        ends = ["", " + n", " + x[n % 5]", " + DATA[min(abs(n), 4)]", " / (n + 10.5)", " * m", " + kinds(b)", " + n // 2 + n % 3", " + (c * 0.5)", " + (1.0 if mode == 'slow' else x[1])",
                " + colour.value", " + (level == 3) + level", " + TABLE['rate'] + BOX[0][0]", " + len(SEEN)", " + inner(0.5) + later(x[0])", " + np.copysign(1.0, b)", " + table['n']"]  # fmt: skip
        self.lines.append(f"    return s{pick(ends)}{pick(ends)} + (0.0 if best is None else best)")
        return _HEAD.lstrip("\n") + "\n".join(self.lines) + "\n"

    def _atom(self, loop: str | None) -> str:
        parts = ["a", "b", "x[2]", "x[4]", "0.5", "2", "DATA[1]", "n", "m", "y[0]", "z[2]", "w[0]", "pair.first", "kept[0]", "o.gain", "c", "p.gain", "fixed.rate", "table['u']", "slotted.level", "NARROW[1]", "WHOLE[2]"]
        return self.random.choice(parts + [loop, "x[i]", "DATA[i]", "WHOLE[i]"] * 3 if loop else parts)

    def _number(self, loop: str | None) -> str:
        pick, u, v = self.random.choice, self._atom(loop), self._atom(loop)
        usual = (u, f"{u} + {v}", f"{u} * {v}", f"long({u})", f"long({u}) * {v}", f"np.tanh({u})", f"max({u}, {v})", f"branches({u}, {v})", f"({u} if {v} > 0.2 else long({v}))",
                 f"o.scaled({u})", f"inner({u})", f"min({u}, {v}, 0)", f"abs({u}) - {v}", f"read({u})")  # fmt: skip
        rare = (f"early({u}, x)", f"early({u}, [{v}, 0.3, a])", f"bump(y, {u})", f"bump(z, long({u}))", f"np.sum(shift(y, {u}))", f"np.sum(shift(y * 1.0, {u}))", "fills(z)", "sorts(z * 1.0)", f"seen({u})", f"counts({u})",
                f"reads({u})", f"shared({u})", "cached(n) * a", "cached(2) * b", "counted_cache(2) * a", f"wrapped({u})", f"wrapped({u}, scale={v})", f"sum(items([{u}, {v}, a]))", f"fails({u}, n)", f"fails({u}, m + 1)",
                "walks(TREE, x)", f"depth(abs({u}), 6)", f"solves({u}, y)", f"kinds({u}) * {v}", f"later({u})", f"o.by_table({u})", f"o.counted({u})", f"o.keeps({u})", f"o.level * {u}", f"o.lazy + {u}", f"o({u})",
                f"Model.fixed({u})", f"o.of_class({u})", f"slotted.read({u})", f"{u} // 2", f"{u} % 3", f"n // m + {u}", f"n % 3 * {u}", f"-n // 2 * {u}", f"divmod(n, 3)[1] + {u}", f"{u} ** 2", f"2.0 ** n + {u}", f"n ** 2 - {u}",
                f"({u} or 1.0)", f"(hit and {u}) * 1.0", f"(hit + hit) * {u}", f"({u} > 0) + ({v} > 0)", f"int({u} > 0) * {v}", f"{u} / ({v} ** 2 + 1)", f"1.0 / (m + 5) * {u}", f"float(n) * {u}", f"round(n / 2) + {u}",
                f"np.float32({u}) + {v}" if "a" not in u else f"{u} * np.float32(0.1)", f"np.nan_to_num({u} / {v})", f"math.floor(n / 2) * {u}", f"math.sqrt(abs(m)) * {u}", f"np.linalg.norm(z - {u})", f"np.sum(np.linalg.solve(np.eye(3) * {u}, z))",
                f"np.cumsum(y)[1] * {u}", f"np.median(z) + {u}", "np.max(np.abs(y))", f"float(np.sum(y[:0])) + {u}", f"(lambda q: q * {u})({v})", f"[k * {u} for k in range(3)][n % 3]", f"sum(v * {u} for v in x if v > {v})",
                f"sum(map(long, [{u}, {v}]))", f"len([v for v in x if v > {u}]) * {v}", f"sorted([{u}, {v}, a])[1]", f"(q := {u}) + q", "len(kept) * a", f"dict(r={u})['r']", f"c * {u}", f"{u} - c", "np.arctan2(-n, -1.0)", f"(n - n) * {u}",
                f"math.prod([n, m]) * {u}", f"(2**53 + n) - 2**53 + {u}", f"str(n).__len__() * {u}", f"{{1: 2.0, 2: 3.0}}.get(n, 0.5) * {u}", "p.count * a", f"dataclasses.replace(p, gain={u}).gain", f"pair._replace(second={u}).second", f"hash(n) % 5 + {u}")  # fmt: skip
        return pick(usual if self.random.random() > self.oddness else rare)

    def _array(self, loop: str | None) -> str:
        pick, number = self.random.choice, self._number(loop)
        return pick(("y * 0.5", "z", "y", "w", f"y + {number}", "np.cumsum(z)", "x[1:4]", "x[1:4] * 1.0", "y[::-1]", "z[:]", "np.asarray(y)", "np.array([a, b, x[4]])", "np.concatenate([z[1:], z[:1]])", "np.where(y > 0, y, z)",
                     f"shift(z, {number})", "np.sort(y)", "SHARED", "DATA[:3]", "y.copy()", "np.atleast_1d(y)", "y.reshape(3)", "np.ravel(z)", "x[:n % 4]", "x[:2]", "np.ones((3, 1)) * a", "y.astype(np.float32)", "WHOLE[:3]", "np.zeros(3)",
                     "np.maximum(y, z)", "y - y", "z / y", "(y, z)[n % 2]", f"(y if {number} > 0 else z)"))  # fmt: skip

    def _test(self, loop: str | None) -> str:
        pick = self.random.choice
        u, v = self._atom(loop), self._atom(loop)
        simple = f"{u} {pick(('<', '>', '<=', '>=', '==', '!='))} {pick([v, '0', '0.3', '-0.5', 'n', '0.0', '-0.0'])}"
        data = f"{pick(['a', 'x[2]', 'x[3]', *([loop, 'x[i]'] * 2 if loop else [])])} {pick(('<', '>', '<=', '>='))} {pick([v, '0', '0.3', '-0.5'])}"
        rare = (f"{simple} and {v} > 0", f"{data} or hit", "hit", "n > 1", f"best is None or {data}", "np.all(y > z)", "w is y", "mode == 'slow'", "mode", "colour is Colour.BLUE", "level == Level.HIGH", "level > 1", f"-1 < {u} < {v} < 2",
                f"0 < {u} != {v}", f"not {simple}", f"(q := {u}) > 0.1 and q < 2", f"np.isnan({u} / {v})", f"{u} / {v} > 0", "kept", "o", "c", "c > 0.3", "isinstance(b, float)", "type(n) is int", "best == None", "hit is True", "hit == (n > 1)",
                f"{u} in (0.0, 1.0)", "n in {1, 2}", "'a' in table", "len(kept) > 2", f"any(v > {u} for v in x)", "np.any(y)", "y.size", f"bool({u} > 0)", "not best", f"max({u}, {v}) > 0.4", "callable(inner)", "hasattr(o, 'extra')")  # fmt: skip
        return pick((data, data, data, simple) if self.random.random() > self.oddness else rare)

    def _statement(self, depth: int, loop: str | None) -> None:
        pad, pick, number = "    " * depth, self.random.choice, self._number(loop)
        if depth < 4 and self.random.random() < 0.45:
            kind = pick(("if", "if", "if", "if", "for", "while", "try") if depth < 3 else ("if",))
            return {"if": self._branch, "for": self._for, "while": self._while, "try": self._try}[kind](depth, loop)
        usual = [f"a = {number}", f"b = {number}", f"b += {number}", f"a -= {number}", f"a *= {number}", "n += 1", "m -= 2", "hit = True", f"y = {self._array(loop)}", f"z = {self._array(loop)}", f"w = {self._array(loop)}",
                 "a, b = b, a", f"pair = Pair({number}, pair.first)", f"best = {number}", "mode = 'fast'", f"pair = ({number}, a)"]  # fmt: skip
        rare = [f"y += {number}", "w += 1.0", f"w *= {number}", f"y[1] = {number}", f"w[0] = {number}", f"z[-1] -= {number}", "y[:2] = z[:2]", "z[1:] += 0.5", f"y[y > 0] = {number}", f"kept[0] = {number}", f"kept.append({number})", f"o.gain = {number}",
                f"o.gain += {number}", "o.calls += 1", f"p.gain *= {number}", "p.count += 1", f"table['u'] = {number}", "table['n'] += 1", "w = y", "y, z = z, y", "best = None", "n = n * 3", "n = -n", "m = n // 2", "n = n % 4 - 2", "n <<= 1", "m = n * m",
                "n = m ** 2", "n = 2.0", "hit = not hit", f"hit = {self._test(loop)}", "colour = Colour.BLUE", "level = Level.HIGH", "mode = None", "mode = ''", "print('x', file=out, end='')", "COUNT[0] += 1", "TABLE['rate'] += 1.0", "BOX[0][0] += 0.5",
                "change(2.0)", "Model.rate = 2.0", "Model.table[0] += 1.0", "SHARED[0] += 1.0", "SEEN.append(a)", "slotted.level += 1.0", "o = Child(2.0)", "p = dataclasses.replace(p, count=2)", "c = 0.5", "c = c * 2", "b = int(n)", "b = np.float64(1.0)",
                "b = np.random.default_rng(0).normal()", "assert a == a, 'nan'", f"a: float = {number}", "a = b = n", f"(a, (b, n)) = {number}, (a, n + 1)", f"a, *rest = {number}, b, n", "del best; best = 1.0", "np.add(y, 1.0, out=y)",
                f"z.fill({pick(('0.5', 'a'))})", "y.sort()", "shift(y, 0.5)", "fills(w)", "np.copyto(z, y)", "inner = long", f"q = {number}; b = q"]  # fmt: skip
        if self.has_rate:
            rare += ["rate[0] += 1.0"] * 2
        self.lines.append(pad + pick(usual if self.random.random() > self.oddness else rare))

    def _block(self, depth: int, loop: str | None, ends: list[str]) -> None:
        for _ in range(self.random.randint(1, 2)):
            self._statement(depth, loop)
        end = self.random.choice(ends)
        if end:
            self.lines.append("    " * depth + end)

    def _for(self, depth: int, loop: str | None) -> None:
        pad, pick = "    " * depth, self.random.choice
        heads = ("for i in range(4):", "for i, v in enumerate(x):", "for i, v in zip(range(3), y):", "for i, v in enumerate(items(x)):", "for i, v in enumerate(list(z)):", "for i, v in reversed(list(enumerate(x))):", "for i, v in enumerate([a, b, x[2]]):")
        self.lines.append(pad + pick(heads))
        self._block(depth + 1, "v" if ", v" in self.lines[-1] else "x[i]", [""])
        if pick((True, False, False, False)):
            self.lines.append(pad + "else:")
            self._block(depth + 1, loop, [""])

    def _while(self, depth: int, loop: str | None) -> None:
        pad, count = "    " * depth, f"k{len(self.lines)}"
        self.lines += [f"{pad}{count} = 0", f"{pad}while {count} < 4 and ({self._test(None)}):", f"{pad}    {count} += 1"]
        self._block(depth + 1, None, [""])

    def _try(self, depth: int, loop: str | None) -> None:
        pad = "    " * depth
        self.lines.append(pad + "try:")
        self._block(depth + 1, loop, [""])
        self.lines.append(pad + f"except {self.random.choice(('ZeroDivisionError', 'ValueError', '(IndexError, KeyError)', 'np.linalg.LinAlgError', 'ArithmeticError', 'TypeError'))}:")
        self._block(depth + 1, loop, [""])

    def _branch(self, depth: int, loop: str | None) -> None:
        pad, pick = "    " * depth, self.random.choice
        ends = ["", "", "", "", "", "", *(["continue", "break"] if loop else []), pick(("return a + b", "return 0", "raise ValueError('no')", ""))]
        for head in (f"if {self._test(loop)}:", pick((f"elif {self._test(loop)}:", "")), pick(("else:", ""))):
            if head:
                self.lines.append(pad + head)
                self._block(depth + 1, loop, ends)
