"""Random functions put together from the idioms of numerical programs: a few state variables that plain numbers start, helpers at the top
level and inside, recursion by name, searches, integrators, event loops, tuples, keyword arguments, and what each of them may stumble over:
plain numbers that are zero, large or of another type, results of which the type is asked, names that stand for several things."""

from __future__ import annotations

import random

_HEAD = """
import math
import numpy as np

NARROW = np.array([0.25, -1.5, 0.75, 2.0, -0.5], np.float32)
WIDE = np.array([0.3, -1.2, 0.8, 2.0, -0.4])
COUNTS = [2, 0, 3, 1, 4]
SCALE = 0.5


def poly(v, c=0.3):
    return (v * v - c) * 0.5 + v


def ratio(v, w):
    return v / w


def inverse(v):
    return 1.0 / (v - 0.5)


def root(v):
    return math.sqrt(v)


def power(v, n=0.5):
    return v ** n


def narrow(v):
    return np.sum(NARROW * v)


def kind(v):
    return 1.0 if isinstance(v, np.ndarray) else 2.0 if type(v) is float else 3.0 if type(v) is int else 0.5


def asks(v):
    return 0.5 if isinstance(v, float) else 1.5


def shape_of(v):
    return np.ndim(v) + np.size(v) + len(np.shape(v))


def text(v):
    return len(f"{v:.3f}") if type(v) in (int, float) else 4


def same(v):
    return v


def pair(v, w):
    if v > w:
        return w, v
    return v, w


def sides(v, *, low=-0.5, high=0.5):
    if v < low:
        return low, -1, True
    if v > high:
        return high, 1, True
    return v, 0, False


def steps(v, h):
    n = 0
    while v > 0.1 and n < 5:
        v, n = v - h, n + 1
    return v, n


def floor(v):
    return v // 0.5 + v % 0.5


def large(v):
    return (v * 1e70) ** 2 * 1e-140


def whole(n):
    return n * 3 - 1


def up(v, n):
    if n <= 0:
        return v
    return down(v + 0.3, n - 1) if v < 0.5 else up(v * 0.5, n - 1)


def down(v, n):
    if n <= 0 or v < -1.0:
        return v * 2.0
    return up(v - 0.7, n - 1)


def halved(lo, hi, v, n):
    mid = 0.5 * (lo + hi)
    if n == 0:
        return mid
    return halved(lo, mid, v, n - 1) if poly(mid) > v else halved(mid, hi, v, n - 1)


def quadrature(a, b, v, n=2):
    m = 0.5 * (a + b)
    one, two = (b - a) * poly(m, v), 0.5 * (b - a) * (poly(0.5 * (a + m), v) + poly(0.5 * (m + b), v))
    if abs(one - two) < 0.02 or n == 0:
        return two
    return quadrature(a, m, v, n - 1) + quadrature(m, b, v, n=n - 1)


def apply(g, v):
    return g(v) if v > 0 else g(v) - 0.1


class Tally:
    total = 0.0

    def __init__(self, start):
        self.start = start

    def of(self, v):
        return v * self.start if v > self.start else self.start


"""

_STARTS = (
    ("t", ("0.0", "0.1", "-0.5", "1.0", "0", "1", "x[0]", "x[1] * 0.5", "np.float64(0.25)", "-0.0", "True", "np.float32(0.5)", "2", "x[0] * 0")),
    ("h", ("0.25", "0.5", "1.0", "1", "x[2]", "abs(x[3])", "0.0")),
    ("lo", ("-2.0", "-1.0", "x[4]", "0", "-3")),
    ("hi", ("2.0", "1.5", "x[1]", "3", "lo + 1.0")),
    ("n", ("0", "1", "3", "-2")),
    ("s", ("0.0", "0", "x[2]", "x[0] + x[1]", "1")),
)  # fmt: skip


class IdiomProgram:
    """The text of a random function f(x) of five numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self._count = 0

    def text(self) -> str:
        pick = self.random.choice
        # Few of the functions that stumble, so that they are not all that is seen.
        rare = ("ratio({0}, {1})", "inverse({0})", "root({0})", "power({0})", "power({0}, 2)", "narrow({0})", "kind({0})", "asks({0})", "shape_of({0})", "text({0})",
                "floor({0})", "large({0})", "whole(n) * {0}", "whole({0})", "apply(poly, {0})", "apply(lambda q: q * {1}, {0})", "tally.of({0})", "float({0})", "int({0} > 0) * {1}", "round(n) * {0}",
                "(2.0 if type({0}) is float else 1.0)", "(0.5 if isinstance({0}, int) else 1.0)", "{0} ** n", "{0} // 1", "{0} % 1.0", "divmod({0}, 0.5)[1]", "({0} or 0.5)", "max([{0}, {1}, 0])", "math.exp({0})", "math.log({0})",
                "COUNTS[n % 5] * {0}", "np.sqrt({0})", "np.array([{0}, {1}]).sum()", "WIDE[n % 5] + {0}", "(WIDE * {0}).max()", "(NARROW * {0})[1]", "np.log({0})", "np.copysign({0}, {1})", "sum(k * {0} for k in range(n % 4))")  # fmt: skip
        self.rare = self.random.sample(rare, self.random.randint(1, 4))
        self.odd = pick((0.05, 0.15, 0.3))
        self.lines = ["def f(x):"]
        for name, values in _STARTS:
            start = values[self.random.randrange(len(values))] if self.random.random() < 0.5 else pick(values[:3])
            self.lines.append(f"    {name} = {start}")
        self.lines += ["    mode, best, done, tally = 'a', None, False, Tally(0.3)", "    y = x * 1.0"]
        self._inner()
        for _ in range(self.random.randint(2, 4)):
            self._statement(1)
        ends = ("s + t", "s * t + n", "t + lo * hi", "s + h", "s + t * n", "hi - lo + s", "s + asks(t)", "s + kind(lo)", "s + (best if best is not None else t)", "s + np.sum(y)", "s + (1 if done else t)", "t / (1.0 + n * n) + s",
                "own(t) + s", "s + own(h)", "other(s, t)", "s + t / h", "s + 1 / (n + 5)", "s + x[n % 5]", "s + same(t) * n", "np.float32(0.5) * t + s", "s + (t if mode == 'a' else h)", "s + h ** 2 - t", "np.sum(NARROW * h) + s")  # fmt: skip
        self.lines.append(f"    return {pick(ends)} + 0.0 * x[0]")
        return _HEAD.lstrip("\n") + "\n".join(self.lines) + "\n"

    def _inner(self) -> None:
        """Two functions in the function, of what stands around them."""
        pick = self.random.choice
        own = (
            ["    def own(v):", "        return v * 0.5 + x[1]"],
            ["    def own(v, w=0.5):", "        if v > w:", "            return v - w", "        return v * x[2]"],
            ["    def own(v):", "        return v / (1.0 + h)"],
            ["    def own(v):", "        if v > 0.2:", "            return 1.0 / (v + lo)", "        return 0.0"],
            ["    def own(v):", "        s = v", "        for k in range(3):", "            if s < x[k]:", "                s = s + 0.5", "        return s"],
            ["    own = lambda v: v * x[3] - h"],
            ["    def own(v):", "        return asks(v) * v"],
            ["    def own(v, t=1.0):", "        return poly(v, c=t)"],
            ["    def own(v):", "        a, b = pair(v, 0.3)", "        return a - b * x[0]"],
            ["    def own(v):", "        return v if v > 0 else own(v + 1.0) * 0.5"],
            ["    def own(v):", "        return (lo if v > 0.3 else hi) * v"],
        )  # fmt: skip
        other = (
            ["    def other(v, w):", "        return own(v) - own(w)"],
            ["    def other(v, w=1.0):", "        return ratio(v, w + 0.5)"],
            ["    def other(v, w):", "        return v, w", "    other = lambda v, w: v - w * x[4]"],
            ["    def other(v, w):", "        if v < w:", "            return other(w, v - 1.0)", "        return v - 0.5 * w"],
            ["    def other(*values):", "        return sum(values) * 0.5"],
            ["    other = lambda v, w: (v if v > w else w) * 0.5"],
        )  # fmt: skip
        self.lines += pick(own) + pick(other)

    def _atom(self) -> str:
        return self.random.choice(["t", "t", "h", "s", "lo", "hi", "x[0]", "x[2]", "x[n % 5]", "0.5", "1", "n", "y[1]", "y[n % 5]", *(["v", "v", "i"] if self._loops else [])])

    _loops = 0

    def _number(self) -> str:
        pick, u, v = self.random.choice, self._atom(), self._atom()
        if self.random.random() < self.odd:
            return pick(self.rare).format(u, v)
        usual = (u, "{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} * 0.5", "poly({0})", "poly({0}, {1})", "poly(c={1}, v={0})", "own({0})", "other({0}, {1})", "abs({0})", "max({0}, {1})", "min({0}, {1}, 1.0)", "pair({0}, {1})[0]",
                 "sides({0})[0]", "sides({0}, high={1})[0]", "same({0})", "steps({0}, 0.4)[0]", "up({0}, 3)", "halved(-2.0, 2.0, {0}, 4)", "quadrature(0.0, 1.0, {0})", "np.sin({0})", "({0} if {1} > 0 else {1})", "math.sin({0})",
                 "{0} * SCALE", "-{0}", "{0} / 2", "{0} / 3.0 + {1}", "np.where({0} > {1}, {0}, 0.5)", "np.maximum({0}, {1})", "np.tanh({0} * {1})")  # fmt: skip
        return pick(usual).format(u, v)

    def _test(self) -> str:
        pick = self.random.choice
        data = f"{pick(('x[0]', 'x[1]', 'x[3]', 't', 's', 'lo', 'y[2]', *(['v', 'v'] if self._loops else [])))} {pick(('<', '>', '<=', '>='))} {pick(('0', '0.3', 'h', 't', 'x[4]', '-0.5', 'n'))}"
        rare = ("poly(t) > {0}", "own({0}) < 0.5", "sides({0})[2]", "{0} == {1}", "n > 1", "mode == 'a'", "best is None", "best is None or {0} > best", "not done", "{0} < {1} < 1.5", "sides(t)[1] > 0", "done or x[1] > {0}",
                "x[2] > 0 and {0} < 1", "steps(x[3], 0.3)[1] > 2", "np.isfinite({0})", "abs({0}) < 0.4")  # fmt: skip
        return pick(rare).format(self._atom(), self._atom()) if self.random.random() < 0.35 else data

    def _statement(self, depth: int) -> None:
        pad, pick, number = "    " * depth, self.random.choice, self._number()
        if depth < 4 and self.random.random() < 0.55:
            kinds = (self._branch, self._branch, self._for, self._while, self._search) if depth < 3 and self._loops < 1 else (self._branch,)
            pick(kinds)(depth)
            return
        usual = (f"t = {number}", f"s += {number}", f"s = {number}", f"t += h * {pick(('1', '0.5', 'own(t)', 'poly(t)'))}", f"h = {number}", "h *= 0.5", "h = min(2.0 * h, 1.0)", f"lo, hi = pair({number}, hi)", "n += 1", f"lo = {number}", f"hi = {number}",
                 f"t, h = h, {number}", f"t, n, done = sides({number})", "t, k = steps(t, h)\nn += k", f"y[{pick(('0', '1', 'n % 5'))}] = {number}", f"best = {number}", "mode = 'b'", "done = True", "s, t = t, s", f"h = h + {number}", "t -= 1", "n = -n",
                 f"s = s + (h if {self._test()} else 1)", "best = None", "lo, hi = hi, lo")  # fmt: skip
        self.lines += [pad + line for line in pick(usual).split("\n")]

    def _block(self, depth: int, ends: tuple[str, ...] = ("",)) -> None:
        for _ in range(self.random.randint(1, 2)):
            self._statement(depth)
        if end := self.random.choice(ends):
            self.lines.append("    " * depth + end)

    def _branch(self, depth: int) -> None:
        pad, pick = "    " * depth, self.random.choice
        ends = ("",) * 7 + (("break", "continue") if self._loops else ()) + (pick(("return s + t", "return t * x[0]", "return s - 1")),)
        for head in (f"if {self._test()}:", pick(("", f"elif {self._test()}:")), pick(("else:", "else:", ""))):
            if head:
                self.lines.append(pad + head)
                self._block(depth + 1, ends)

    def _for(self, depth: int) -> None:
        pad, pick = "    " * depth, self.random.choice
        heads = ("for i, v in enumerate(x):", "for i in range(4):\n    v = x[i]", "for i, v in zip(range(3), WIDE):", "for i, v in enumerate(x[::-1]):", "for i, v in enumerate([0.5, t, x[3], 1]):", "for i, v in zip(COUNTS, x):")
        head, *rest = pick(heads).split("\n")
        self.lines += [pad + head, *(pad + line for line in rest)]
        self._loops += 1
        self._block(depth + 1)
        self._loops -= 1
        if self.random.random() < 0.15:
            self.lines.append(pad + "else:")
            self._block(depth + 1)

    def _while(self, depth: int) -> None:
        pad, pick = "    " * depth, self.random.choice
        self._count += 1
        count = f"c{self._count}"
        test = pick((f"({self._test()}) and {count} < 6", f"{count} < 6 and t < 2.0", f"{count} < 6 and hi - lo > 0.3", "True"))
        self.lines += [f"{pad}{count} = 0", f"{pad}while {test}:", f"{pad}    {count} += 1"]
        if test == "True":
            self.lines += [f"{pad}    if {self._test()} or {count} > 5:", f"{pad}        break"]
        was, self._loops = self._loops, 0
        self._block(depth + 1)
        self._loops = was

    def _search(self, depth: int) -> None:
        """One of the searches of textbooks, with plain numbers at its start."""
        pad, pick = "    " * depth, self.random.choice
        g = pick(("poly({0})", "own({0})", "{0} * {0} - x[1]", "other({0}, x[2])", "np.tanh({0}) - 0.3 * x[0]", "{0} - 0.5"))
        texts = (
            f"a, b = {pick(('-2.0', '-1', 'lo', 'x[0]'))}, {pick(('2.0', '2', 'hi', 'lo + 1.5'))}\nfor _ in range({pick(('3', '6'))}):\n    c = 0.5 * (a + b)\n    if {g.format('c')} > {pick(('0', 'x[3]'))}:\n        b = c\n    else:\n        a = c\nt = {pick(('a', '0.5 * (a + b)', 'b - a'))}",
            f"a, b, k = -2.0, {pick(('2.0', 'x[2]'))}, 0\nwhile b - a > 0.4 and k < 8:\n    c, d = b - 0.6 * (b - a), a + 0.6 * (b - a)\n    if {g.format('c')} < {g.format('d')}:\n        b = d\n    else:\n        a = c\n    k += 1\ns += a * b",
            f"a, b = {pick(('0.0', 'x[0]', '0'))}, {pick(('1.0', 'x[1]', '1'))}\nfor k in range(6):\n    u, w = {g.format('a')}, {g.format('b')}\n    if abs(w - u) < {pick(('0.05', '1e-3'))}:\n        break\n    a, b = b, b - w * (b - a) / (w - u)\nt = b",
            f"z, step, k = {pick(('1.0', 'x[0]', '0'))}, 1.0, 0\nwhile {g.format('(z - step)')} > {g.format('z')} - 0.1 and k < 5:\n    step *= 0.5\n    k += 1\ns += z - step * {pick(('1', 'k', 't'))}",
            f"clock, v, dt, k = 0.0, {pick(('1.0', 'x[1]', '0.5'))}, {pick(('0.4', 'h', '0.25'))}, 0\nwhile clock < 1.0 and k < 8:\n    k += 1\n    new = v + dt * {g.format('v')}\n    if abs(new - v) < 0.3:\n        clock += dt\n        v = new\n        dt *= {pick(('1.5', '2'))}\n    else:\n        dt {pick(('*= 0.5', '= dt / 2'))}\nt = v + {pick(('clock', 'dt', '0', 'k'))}",
        )  # fmt: skip
        self.lines += [pad + line for line in pick(texts).split("\n")]
