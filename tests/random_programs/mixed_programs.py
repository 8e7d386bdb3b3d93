"""Random functions in plain Python of mixed kinds: narrow and viewed state, generators, counters as indices, bool algebra, names of states,
closures, recursion over static structures, returns from nested loops, and errors that the program raises itself."""

from __future__ import annotations

import random

_HEAD = """
import collections, dataclasses, functools, operator
import numpy as np

TABLE = np.array([0.5, -1.0, 2.0, 0.25, 1.5])
LIST = [0.3, 2, -0.5, 1.0, 4]
NARROW = np.array([0.1, 0.7, -0.3, 1.1, 0.9], np.float32)
GRID = np.arange(6.0).reshape(2, 3)
TREE = (0, 0.2, (1, -0.3, 1.0, 2), (2, 0.1, -1, (3, 0.0, 0.5, "x")))
NESTED = [1.0, [2, 0.5], (3.0, [0.25])]
Pair = collections.namedtuple("Pair", "u v")


@dataclasses.dataclass(frozen=True)
class Law:
    low: float = -0.5
    high: float = 0.8

    def __call__(self, v):
        if v < self.low:
            return self.low
        return self.high if v > self.high else v

    def steps(self, v):
        n = 0
        while v > self.low and n < 4:
            v = v * 0.5 - 0.2
            n += 1
        return v, n


def split(v, w=0.3):
    if v > w:
        return v - w, 1, True
    if v < -w:
        return v + w, -1, True
    return 0.0 * v, 0, False


def ordered(u, v):
    return (u, v) if u < v else (v, u)


def positives(values, limit=3):
    found = 0
    for v in values:
        if v > 0:
            found += 1
            yield v
        if found == limit:
            return


def gains(values):
    for v in values:
        yield v * v if v < 0.5 else v


def leaf(node, x):
    if not isinstance(node, tuple):
        return len(node) * 0.5 if isinstance(node, str) else node
    at, limit, low, high = node
    return leaf(high, x) if x[at] > limit else leaf(low, x)


def total(part, v):
    if isinstance(part, (list, tuple)):
        return sum(total(p, v) for p in part)
    return part * v if v > part * 0.2 else part


def located(x, limit):
    for i, u in enumerate(x):
        for j, v in enumerate(x):
            if i < j and u * v > limit:
                return i, j, u - v
            if v > 2.0:
                break
    return 0, 0, limit


def required(v, low=-3.0):
    if v < low:
        raise ValueError("too small")
    if v > 6.0:
        raise OverflowError(f"{v:.1f} is too large")
    return v


def sqrt(v):
    if v < 0:
        raise ValueError("negative")
    return np.sqrt(v)


def adder(step):
    count = 0
    def add(v):
        nonlocal count
        count += 1
        return v + step * count
    return add


def scaler(k):
    if k > 0.5:
        def scaled(v):
            return v * k
    else:
        def scaled(v):
            return v - k if v > k else k
    return scaled


def first_true(x, test, default=None):
    return next((v for v in x if test(v)), default)


"""

_STARTS = (
    "a, b = x[0], x[1]", "n, m, hit, seen = 0, 1, False, True", "mode, best, sign = 'up', None, 1",
    "y = x * 1.0", "lo, hi = min(x[2], x[3]), max(x[2], x[3])", "law, pair = Law(), Pair(x[2], 0.5)",
)  # fmt: skip


class MixedProgram:
    """The text of a random function f(x) of five numbers.

    Args:
        results: f returns a number, an int and a bool.
    """

    def __init__(self, seed: int, results: bool = False) -> None:
        self.random, self._results = random.Random(seed), results
        self.lines: list[str] = []

    def text(self) -> str:
        pick = self.random.choice
        # Of these kinds of statements a program has two or three beside the usual ones.
        self.kinds = self.random.sample(tuple(_RARE), self.random.randint(1, 3))
        self.lines = ["def f(x):", *("    " + line for line in _STARTS)]
        self.lines.append(f"    z, c = {pick(('y', 'y[1:4]', 'y[::-1]', 'y.copy()', 'x[:3] * 2.0', 'np.zeros(3)', 'np.zeros(3, np.float32)'))}, {pick(('0.0', 'NARROW[1]', 'np.float32(0.5)', '1', 'np.float64(0.25)'))}")
        self.lines.append(f"    grow = {pick(('adder(0.1)', 'scaler(0.7)', 'scaler(x[4])', 'lambda v: v * b', 'functools.partial(split, w=0.1)'))}")
        if "partial" in self.lines[-1]:
            self.lines[-1] += "\n    grow = lambda v, g=grow: g(v)[0]"
        for _ in range(self.random.randint(2, 5)):
            self._statement(1, None)
        ends = ("a + b", "a * b + n", "a + (b if hit else lo)", "a + hi * (2.0 if mode == 'up' else 0.5)", "a + LIST[n % 5]", "a + TABLE[n] * b", "a + b * m", "a if best is None else best + a",
                "np.sum(y) + a", "np.sum(z * z) * a", "a + c * b", "a + b * sign", "a + y[n] * b", "pair.u * a - pair.v", "a + grow(b)", "a / (1.0 + n * n) + b", "(a + b) * (hit ^ seen)", "float(n) * a + m // 2")  # fmt: skip
        self.lines.append(f"    return {pick(ends)}, n, hit" if self._results else f"    return {pick(ends)}")
        return _HEAD.lstrip("\n") + "\n".join(self.lines) + "\n"

    def _atom(self, loop: str | None) -> str:
        parts = ["a", "b", "x[2]", "x[4]", "0.5", "2", "lo", "hi", "pair.u", "n", "c", "y[0]", "z[1]", "TABLE[n % 5]", "x[m % 5]"]
        return self.random.choice(parts + [loop, loop, "x[i]", "TABLE[i]", "y[i]"] * 2 if loop else parts)

    def _number(self, loop: str | None) -> str:
        pick, u, v = self.random.choice, self._atom(loop), self._atom(loop)
        usual = (u, f"{u} + {v}", f"{u} * {v}", f"{u} - {v}", f"np.tanh({u})", f"max({u}, {v})", f"({u} if {v} > 0.2 else {v})", f"law({u})", f"abs({u})", f"{u} * 0.5", f"np.sin({u}) + {v}", f"min({u}, 1)")
        rare = (f"split({u})[0] * {v}", f"ordered({u}, {v})[0]", f"sum(gains([{u}, {v}, a]))", "sum(positives(x))", f"leaf(TREE, x) * {u}", f"total(NESTED, {u})", f"grow({u})", f"required({u})", f"sqrt(abs({u}))",
                f"law.steps({u})[0]", f"located(x, {u})[2]", f"first_true(x, lambda v: v > {u}, 0.5)", f"NARROW[2] * {u}", f"np.float32({pick(('0.5', 'x[1]'))}) + {u}", f"({u} or {v})", f"({u} > 0 and {v}) * 1.0", f"sign * {u}",
                f"x[located(x, {u})[0]]", f"y[law.steps({u})[1]]", f"GRID[n % 2, m % 3] * {u}", f"int({u} > {v}) * {u}", f"(({u} > 0) | hit) * {v}", f"(not hit) * {u}", f"len(mode) * {u}", f"{u} ** (n % 3)", f"functools.reduce(operator.add, [{u}, {v}, 1])",
                f"np.where({u} > {v}, {u}, 0.0)", f"[{u}, {v}, a][n % 3]", f"{{'up': {u}, 'down': {v}}}[mode if mode in ('up', 'down') else 'up']", f"(w := {u}) * w", f"scaler({u})({v})", f"np.add({u}, {v}, out=np.zeros(()))[()]", f"x.item(n % 5) * {u}")  # fmt: skip
        return pick(usual if self.random.random() < 0.8 else rare)

    def _test(self, loop: str | None) -> str:
        pick, u, v = self.random.choice, self._atom(loop), self._atom(loop)
        data = f"{pick(['a', 'b', 'x[2]', 'lo', *([loop, 'x[i]'] * 3 if loop else [])])} {pick(('<', '>', '<=', '>='))} {pick([v, '0', '0.3', '-0.5'])}"
        rare = (f"{data} and {u} > 0", f"{data} or {u} < 0", f"not {data}", f"-0.5 < {u} < {v}", "hit", "not seen", "hit and not seen", f"hit != ({data})", f"({data}) == seen", "mode == 'up'", f"mode != 'down' and {data}", "best is None",
                f"best is None or {u} > best", "n > 1", f"n < 3 and {data}", f"n == 2 or {data}", f"{u} > {v} > 0", f"any(w > {u} for w in x)", f"all(w < {u} + 2 for w in x)", f"({data}) & hit", f"({data}) ^ ({u} > 0)", f"law({u}) > {v}", "sign > 0",
                f"split({u})[2]", f"split({u})[1] > 0", f"{u} != {v}", f"(q := {u}) > 0.2 and q < 1")  # fmt: skip
        return pick((data,) if self.random.random() < 0.65 else rare)

    def _statement(self, depth: int, loop: str | None) -> None:
        pad, pick, number = "    " * depth, self.random.choice, self._number(loop)
        if depth < 4 and self.random.random() < 0.5:
            kinds = ("if", "if", "if", "for", "for", "while") if loop is None and depth < 3 else ("if",) if depth > 2 or loop is None else ("if", "if", "for")
            return {"if": self._branch, "for": self._for, "while": self._while}[pick(kinds)](depth, loop)
        usual = (f"a = {number}", f"b = {number}", f"b += {number}", f"a -= {number}", "n += 1", f"a, b = b, {number}", "hit = True", f"lo, hi = ordered({number}, hi)")
        rare = _RARE[pick(self.kinds)] if self.random.random() < 0.45 else usual
        text = pick(rare)
        for name, part in (("{v}", number), ("{t}", self._test(loop)), ("{u}", self._atom(loop)), ("{i}", "i" if loop else "n % 5")):
            text = text.replace(name, part)
        self.lines += [pad + line for line in text.split("\n")]

    def _block(self, depth: int, loop: str | None, ends: list[str]) -> None:
        for _ in range(self.random.randint(1, 2)):
            self._statement(depth, loop)
        if end := self.random.choice(ends):
            self.lines.append("    " * depth + end)

    def _branch(self, depth: int, loop: str | None) -> None:
        pad, pick = "    " * depth, self.random.choice
        early = "return a, n, hit" if self._results else pick(("return a", "return a * b", "return 0.0"))
        ends = ["", "", "", "", "", early, *(["continue", "break"] if loop else []), *(["raise ValueError(n)"] if "raises" in self.kinds else [])]
        for head in (f"if {self._test(loop)}:", pick(("", f"elif {self._test(loop)}:")), pick(("else:", "", ""))):
            if head:
                self.lines.append(pad + head)
                self._block(depth + 1, loop, ends)

    def _for(self, depth: int, loop: str | None) -> None:
        pad, pick = "    " * depth, self.random.choice
        heads = ("for i in range(4):", "for i, v in enumerate(x):", "for i, v in enumerate(positives(x)):", "for i, (u, v) in enumerate(zip(x, x[1:])):", "for i, v in zip(range(3), gains(x)):", "for i, v in enumerate(y):", "for i, v in enumerate(LIST):")
        self.lines.append(pad + (pick(heads) if loop is None else "for k in (0.2, 0.6):"))
        self._block(depth + 1, "x[i]" if loop is None and "v" not in self.lines[-1] else loop or "v", [""] * 4 + ["break"])
        if self.random.random() < 0.15:
            self.lines.append(pad + "else:")
            self._block(depth + 1, loop, [""])

    def _while(self, depth: int, loop: str | None) -> None:
        pad, count = "    " * depth, f"k{len(self.lines)}"
        self.lines += [f"{pad}{count} = 0", f"{pad}while {count} < 4 and ({self._test(None)}):", f"{pad}    {count} += 1"]
        self._block(depth + 1, None, [""])


# Kinds of statements, of a number {v}, a test {t}, another number {u} and an index {i}.
_RARE = {
    "narrow": ("c = c + NARROW[1]", "c = np.float32({u})", "z = z.astype(np.float32)", "a = a + c", "z[0] = {v}", "b = NARROW[n % 5] * b", "z = NARROW[:3] * 2", "c = c * {u}"),
    "views": ("z = y[1:]", "z[0] = {v}", "y[{i}] = {v}", "z = z[::-1]", "y += {u}", "z *= 2.0", "w = y; w[0] = {v}", "z, y = y, z * 1.0", "y[:2] = z[:2]", "z = y.reshape(-1)", "np.multiply(y, 2.0, out=y)", "y = y + 0.0"),
    "tuples": ("a, k, hit = split({v})\nn += k", "lo, hi = ordered(lo, {v})", "pair = Pair({v}, pair.u)", "pair = pair._replace(v={v})", "a, n = law.steps({v})", "(a, b), n = ordered(a, {v}), n + 1", "n, m, b = located(x, {v})", "b, *rest = a, {v}, n\nm = len(rest)"),
    "counters": ("n += 1", "n = (n + 1) % 5", "m = n", "b = LIST[n % 5]", "a = a + TABLE[min(n, 4)]", "n = n + 1 if {t} else 0", "m = m * 2 if m < 8 else 1", "b = x[n % 5]", "n = int({t})", "a = a + n // 2", "n, m = m, n", "n -= 1", "y[n % 5] = {v}", "b = TABLE[:n % 4 + 1].sum()"),
    "bools": ("hit = not hit", "hit = {t}", "seen = hit and {t}", "hit ^= seen", "hit |= bool({t})", "seen = hit != seen", "n += hit", "hit = bool(n % 2)", "a = a * hit", "hit, seen = seen, hit", "seen = {t} or hit", "m = hit + seen", "b = b if hit else -b"),
    "states": ("mode = 'down'", "mode = 'up' if {t} else mode", "mode = None", "best = {v}", "best = {v} if best is None else max(best, {v})", "best = None", "mode = 'up' if mode == 'down' else 'down'", "sign = -sign", "sign = 1 if {t} else -1", "mode = mode or 'up'"),
    "closures": ("grow = scaler({v})", "grow = adder({u})", "grow = lambda v: v * a", "a = grow({v})", "later = lambda: a * {u}\nb = later()", "def own(v, k=n):\n    return v * k if v > a else b\nb = own({u})", "law = Law({u}, 1.0) if n else law", "b = (lambda q: q if q > {u} else {u})({v})"),
    "raises": ("a = required({v})", "b = sqrt({v})", "if {t}:\n    raise ValueError('no')", "assert {t}, n", "b = 1 / n", "a = LIST[n + 2]", "b = {u} / (n - 1)", "a = required({u}, -1.0)"),
}  # fmt: skip
