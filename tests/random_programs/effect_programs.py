"""Random functions whose expressions have effects: `:=`, methods, properties, helpers and inner functions that change what another operand
of the same expression reads, and class attributes, methods, defaults and globals that the function sets and puts back."""

from __future__ import annotations

import random

_HEAD = """
import math
import types
import numpy as np

G = 0.5
NS = types.SimpleNamespace(k=0.5)


class P:
    K = 0.5
    SIGN = -1.0

    def __init__(self, a):
        self.a, self.n = a, 1.0

    def bump(self, v):
        self.a = self.a + v
        return self.a * 0.5

    def get(self, v=0.5):
        return self.a * v * self.K

    def other(self, v=0.5):
        return self.a - v

    def poke(self, y, v):
        y[0] = y[0] * 0.5 + v
        return v + self.n

    def sets(self, v):
        set_g(1.5)
        self.n = self.n + v
        return v * 0.5

    @property
    def level(self):
        return self.a * 2.0

    @property
    def drain(self):
        self.a = self.a * 0.5
        return self.a + 1.0


class Lazy:
    def __init__(self, y):
        self.y = y

    def __getattr__(self, name):
        self.y[1] = self.y[1] * 0.5 + 0.25
        return self.y[1]

    def __lt__(self, other):
        self.y[1] = self.y[1] * 0.5 + 0.25
        return self.y[1] < other


FIRST = P.get


def set_g(v):
    global G
    G = v


def scaled(v):
    set_g(2.5)
    return v * G


def settle(y, v):
    y[0] = v * 0.5
    return v + 1.0


def read(y, c=0.5):
    return y[0] * c


def kept(v, c=0.25):
    return v * c


def reset():
    set_g(0.5)
    NS.k, P.K, P.SIGN, P.get = 0.5, 0.5, -1.0, FIRST
    kept.__defaults__ = (0.25,)
    settle.k = 1.0


"""


class EffectProgram:
    """The text of a random function f(x) of five numbers.

    Args:
        seed: of its choices.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def text(self) -> str:
        pick = self._random.choice
        start = ["reset()", "s, t, u, w = x[0], x[1], 0.5, x[3]", "y = x * 1.0", "p, q = P(x[2]), P(0.25)", "lazy = Lazy(y)", "d = {'a': x[4], 'b': 0.5}",
                 "def moves(v):", "    nonlocal t", "    t = t * 0.5 + v", "    return t - 0.25"]  # fmt: skip
        lines = ["def f(x):", *("    " + line for line in start)]
        for _ in range(self._random.randint(2, 4)):
            lines += self._statement(1)
        value = pick(["s + t + w + p.a", "s * p.get() + t + w", "s + np.sum(y) + q.a * t + w", "s + d['a'] + p.level + w", "s + t + w + p.get(s) + G"])
        return _HEAD + "\n".join([*lines, f"    out = {value}", "    reset()", "    return out"]) + "\n"

    def _atom(self) -> str:
        return self._random.choice(["s", "t", "w", "s", "t", "0.5", "y[0]", "y[1]", "p.a", "p.n", "d['a']", "G", "x[1]", "u", "p.K", "p.SIGN", "NS.k"])

    def _effect(self) -> str:
        """An expression that changes something."""
        a, pick = self._atom(), self._random.choice
        return pick([f"(s := {a})", f"(t := {a} * 0.5)", f"(w := settle(y, {a}))", f"(w := p.bump({a}))", f"p.bump({a})", f"p.bump(s := {a})", f"p.poke(y, {a})",
                     f"p.sets({a})", "p.drain", "p.level", "p.get()", f"p.get({a})", f"settle(y, {a})", f"scaled({a})", f"moves({a})", f"(s := moves({a}))", "lazy.z", "q.drain",
                     f"q.bump(p.bump({a}))", f"kept({a})", f"(w := kept({a}))", "read(y)", "(u := p.level)",
                     f"d.setdefault('a', {a})", "(t := np.sum(y))", f"(p := P({a})).a", f"(lambda v: p.bump(v))({a})", "[p.bump(v) for v in (s, t)][1]",
                     "sum(v for v in (s, t) if (w := v * 0.5) > 0.1)"])  # fmt: skip

    def _operand(self, depth: int) -> str:
        roll = self._random.random()
        return self._effect() if roll < 0.22 else self._atom() if roll < 0.9 or depth > 1 else self._value(depth + 1)

    def _value(self, depth: int = 0) -> str:
        a, b, c = (self._operand(depth) for _ in range(3))
        return self._random.choice([f"({a} + {b})", f"({a} * {b} - {c})", f"max({a}, {b})", f"kept({a}, {b})", f"p.get({a})", f"np.array([{a}, {b}])[1]", f"({a}, {b})[0]",
                                    f"{{'k': {a}, 'l': {b}}}['k']", f"({a} if {self._test()} else {b})", f"abs({a})", f"y[int({b} > 0.3)]", f"({a} - {b})", f"({a} + {b} * {c})",
                                    f"len(f'{{u}}{{G}}') * 0.1 + {a}", f"min({a}, {b}, {c})", f"np.tanh({a})", f"math.fsum([{a}, {b}])"])  # fmt: skip

    def _test(self) -> str:
        a, b, c = (self._operand(2) for _ in range(3))
        return self._random.choice([f"{a} > {b}", f"{a} + {b} > 0.7", f"0.1 < {a} < {b}", f"{a} > 0.2 and {b} > {c}", f"{a} < 0 or {b} < {c}", f"not {a} > {b}", f"{a} * {b} < {c}", f"{a} > 0.3",
                                    "lazy < w"])  # fmt: skip

    def _sets(self) -> str:
        pick = self._random.choice
        return pick([f"P.K = {pick(['1.5', '-0.5'])}", "P.SIGN = 2.0", "P.get = P.other", "P.get = lambda self, v=1.0: v - self.a", "NS.k = 1.75", "set_g(-0.75)",
                     "kept.__defaults__ = (2.0,)", "reset()", "p.K = 0.125", "type(p).SIGN = 0.75", "setattr(P, 'K', 3.0)"])  # fmt: skip

    def _statement(self, depth: int) -> list[str]:
        pad, pick = "    " * depth, self._random.choice
        kind = pick(["assign", "assign", "augment", "augment", "if", "if", "if", "sets", "store", "expression", "loop" if depth == 1 else "if"])
        if kind == "assign":
            return [f"{pad}{pick('stw')} = {self._value()}"]
        if kind == "augment":
            target = pick(["s", "t", "w", "s", "p.a", "y[0]", "y[1]", "d['a']"])
            return [f"{pad}{target} {pick(('+=', '-=', '*='))} {self._value()}"]
        if kind == "sets":
            return [pad + self._sets()]
        if kind == "store":
            target = pick(["p.a", "y[0]", "d['a']", "y[int(s > 0)]", "p.n"])
            return [f"{pad}{target} = {self._value()}"]
        if kind == "expression":
            return [pad + self._effect()]
        if kind == "loop":
            return [f"{pad}for v in x:", *self._branch(depth + 1, pick([f"v > {self._operand(2)}", f"v + {self._operand(2)} > 0.4"]))]
        return self._branch(depth, self._test())

    def _branch(self, depth: int, test: str) -> list[str]:
        pad = "    " * depth
        lines = [f"{pad}if {test}:", *self._statement(depth + 1)] if depth < 4 else [f"{pad}if {test}:", f"{pad}    s = s * 0.5"]
        if self._random.random() < 0.5:
            lines += [f"{pad}else:", *(self._statement(depth + 1) if depth < 4 else [f"{pad}    t = s + 0.25"])]
        return lines
