"""Random functions in plain Python whose branches are too much for selects: arrays and their aliases, helpers that loop, tuples, objects, float32."""

from __future__ import annotations

import random

_HEAD = """
import collections
import numpy as np

DATA = np.array([0.3, -1.2, 0.8, 2.0, -0.4])
Pair = collections.namedtuple("Pair", "first second")
CALLS = [0]


class Model:
    rate = 0.5

    def __init__(self, gain):
        self.gain, self.calls = gain, 0

    def scaled(self, v):
        return v * self.gain if v > 0 else v * self.rate

    def counted(self, v):
        self.calls += 1
        return v * self.calls


def long(v, n=4):
    for k in range(n):
        v = np.sin(v) + 0.1 * k * v
        if v > 0.7:
            v = v * np.exp(-v)
    return v


def split(v, w):
    if v > w:
        return v - w, w
    return w * 0.5, v


def turned(y, k):
    if k > 1:
        return y[::-1] * 1.0
    return y


def counting(v):
    CALLS[0] += 1
    return long(v) + CALLS[0]


def adds(y, v):
    y += long(v)
    return y


"""


class Program:
    """The text of a random function f(x) of five numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def text(self) -> str:
        pick = self.random.choice
        self.lines = ["def f(x):", "    CALLS[0] = 0", f"    a, b = x[0], {pick(('0.0', '0', 'x[1]', '1.5'))}", "    n, hit, best = 0, False, None",
                      f"    y, z = x[:3] * 1.0, {pick(('x[2:] * 2.0', 'np.zeros(3) + x[4]'))}", "    w = y", "    state, items = (x[1], x[2]), [x[3], 1.0]",
                      "    pair, model = Pair(x[3], 0.5), Model(1.5)", f"    c = {pick(('0.0', 'x[0]', 'np.float32(0.3)', 'np.float64(0.25)'))}"]  # fmt: skip
        for _ in range(self.random.randint(2, 4)):
            self._statement(1, in_loop=False)
        self.lines.append("    s = a + 2.0 * b + n + (3.0 if hit else 0.5) + np.sum(y * DATA[:3]) + np.sum(z**2) + np.sum(w)")
        self.lines.append("    s = s + state[0] - state[1] * 0.5 + sum(items) + pair.first * pair.second + model.calls + c")
        self.lines.append(f"    return s {pick(('', '', '+ x[n % 5]', '+ DATA[min(n, 4)]', '/ (n + 1)'))} + (0.0 if best is None else best)")
        return _HEAD.lstrip("\n") + "\n".join(self.lines) + "\n"

    def _number(self, loop: str | None) -> str:
        pick = self.random.choice
        parts = ["a", "b", "x[2]", "x[4]", "0.5", "2", "DATA[1]", "n", "y[0]", "z[2]", "state[0]", "pair.first", "items[0]", "model.gain", "c"]
        if loop:
            parts += [loop, "x[i]", "DATA[i]"] * 3
        u, v = pick(parts), pick(parts)
        return pick((u, f"{u} + {v}", f"{u} * {v}", f"long({u})", f"long({u}, 2) * {v}", f"np.tanh({u})", f"abs({u} - {v})", f"np.sum(y * {u})",
                     f"max({u}, {v})", f"model.scaled({u})", f"split({u}, {v})[0]", f"{u} / ({v} ** 2 + 1)", f"np.linalg.norm(z - {u})",
                     f"({u} if {v} > 0.2 else long({v}))", "float(len(y))", "np.max(np.abs(y))"))  # fmt: skip

    def _array(self, loop: str | None) -> str:
        pick = self.random.choice
        number = self._number(loop)
        return pick(("y * 0.5", "z", "y", "w", f"y + {number}", "np.cumsum(z)", "x[1:4]", "x[1:4] * 1.0", "y[::-1]", "turned(z, n)", f"turned(y, {number})",
                     "np.array([a, b, x[4]])", "np.concatenate([z[1:], z[:1]])", "np.where(y > 0, y, z)", "np.linalg.solve(np.eye(3) * 3.0 + np.outer(y, y), z)",
                     f"adds(y, {number})", "np.sort(y)"))  # fmt: skip

    def _test(self, loop: str | None) -> str:
        pick = self.random.choice
        parts = ["a", "b", "x[2]", "x[3]", "np.sum(y)", "z[0]", "state[1]", "pair.first", *([loop, "x[i]"] * 2 if loop else [])]
        simple = f"{pick(parts)} {pick(('<', '>', '<=', '>='))} {pick([*parts, '0', '0.3', '-0.5', 'n'])}"
        return pick((simple, simple, simple, f"{simple} and {pick(parts)} > 0", f"{simple} or hit", "hit", "n > 1", f"best is None or {simple}",
                     "np.all(y > z)", "np.all(y > z)", simple, simple, simple, simple, *(["w is y"] if self.random.random() < 0.1 else [])))  # fmt: skip

    def _statement(self, depth: int, in_loop: bool, loop: str | None = None) -> None:
        pad, pick, number = "    " * depth, self.random.choice, self._number(loop)
        if depth < 4 and self.random.random() < 0.5:
            if not in_loop and self.random.random() < 0.6:
                self._loop(depth)
            else:
                self._branch(depth, in_loop, loop)
            return
        kinds = [f"a = {number}", f"b = {number}", f"b += {number}", f"a -= {number}", "n += 1", "hit = True", f"y = {self._array(loop)}",
                 f"z = {self._array(loop)}", f"w = {self._array(loop)}", f"state = ({number}, a)", f"a, b = split({number}, b)", "state = (state[1], state[0])",
                 f"pair = Pair({number}, pair.first)", f"best = {number}", f"c = {number}"]  # fmt: skip
        rare = ["y += 1.0", f"y[1] = {number}", f"w[0] = {number}", f"items[0] = {number}", f"items.append({number})", f"model.gain = {number}",
                f"a = model.counted({number})", f"b = counting({number})", "w = y", "y, z = z, y", "best = None"]  # fmt: skip
        self.lines.append(pad + pick(kinds if self.random.random() < 0.9 else rare))

    def _loop(self, depth: int) -> None:
        self.lines.append("    " * depth + self.random.choice(("for i in range(4):", "for i, v in enumerate(x):", "for i, v in zip(range(3), x):")))
        loop = "v" if ", v" in self.lines[-1] else "x[i]"
        for _ in range(self.random.randint(1, 3)):
            self._statement(depth + 1, True, loop)

    def _branch(self, depth: int, in_loop: bool, loop: str | None) -> None:
        pad, pick = "    " * depth, self.random.choice
        ends = ["", "", "", "", "", *(["continue", "break"] if in_loop else [])]
        for head in (f"if {self._test(loop)}:", pick((f"elif {self._test(loop)}:", "")), pick(("else:", ""))):
            if head:
                self.lines.append(pad + head)
                for _ in range(self.random.randint(1, 3)):
                    self._statement(depth + 1, in_loop, loop)
                end = pick(ends)
                if end:
                    self.lines.append("    " * (depth + 1) + end)
