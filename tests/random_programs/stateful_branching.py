"""Random functions in plain Python whose branches look at data and have state: arrays, views, aliases, lists, objects, narrow floats, helpers."""

from __future__ import annotations

import random

import numpy as np

from . import branching, regions
from .collection_methods import CollectionProgram
from .containers import ContainerProgram, NestedProgram
from .effect_programs import EffectProgram
from .idiom_programs import IdiomProgram
from .mixed_programs import MixedProgram
from .unusual_regions import UnusualProgram

HEADER = """import numpy as np
DATA = np.array([0.3, -1.2, 0.8, 2.0, -0.4])
NARROW = np.array([0.1, 0.7, -0.3, 1.1, 0.9], np.float32)
COUNTS = np.array([1, 2, 3, 2, 1])
BIG = 2**60 + 1
class Model:
    rate = 0.5
    def __init__(self, gain):
        self.gain, self.n, self.seen = gain, 0, []
    def force(self, v):
        if v > self.gain:
            return self.rate * v
        return v - self.gain
    def counted(self, v):
        self.n += 1
        return v if v > 0 else self.n
    @property
    def level(self):
        return self.gain * 2
    def __mul__(self, other):
        self.n += 1
        return other * self.n
def relu(v):
    if v > 0:
        return v
    return {zero}
def step(v):
    return {one} if v > 0.1 else {zero}
def noted(v, seen):
    seen.append(v)
    return len(seen)
def bump(y, v):
    if v > 0:
        y[0] += v
    return v
def filled(y):
    z = y
    z += 1.0
    return 0.5
def clipped(y, v):
    w = y if v > 0 else y * 1.0
    return w
"""

POINTS = (0.0, -0.0, 0.5, -0.5, 1.0, 2.0, -1.0, 1e-9)


class StatefulProgram:
    """The text of a random function f(x) of five numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.depth = 0

    def text(self) -> str:
        """A program with helpers and a class."""
        pick = self.random.choice
        zero, one = pick([("0.0", "1.0"), ("0", "1"), ("-0.0", "2"), ("False", "True"), ("0.0", "v")])
        self.lines = [HEADER.replace("{zero}", zero).replace("{one}", one), "def f(x):"]
        start = ["a = x[0]", f"b = {pick(['0.0', '0', 'x[1]', '1.0', 'np.float64(0.5)', '1'])}", f"n = {pick([0, 1, 3])}",
                 f"hit = {pick([True, False])}", "items = []", "y = x * 1.0", f"z = {pick(['y', 'x * 2.0', 'y[1:]', 'y[::-1]', 'x.copy()'])}",
                 f"o = Model({pick(['0.3', 'x[2]', '0'])})", "k = 1", "w = x[3]", "mode, best = 'slow', None"]  # fmt: skip
        self.lines += ["    " + line for line in start]
        if pick((True, False)):
            self.lines += ["    def inner(v):", "        if v > a:", "            return v * b", f"        return {pick(['a', '0.0', 'v'])}"]
        else:
            self.lines.append("    inner = lambda v: v * a if v > b else v")
        for _ in range(self.random.randint(2, 5)):
            self._statement(1, None)
        ends = ["a + b", "a * w + n", "a + b * k + np.sum(y)", "np.sum(z * 2.0) + a", "a / (n + 1.0) + w", "a + (b if hit else w)",
                "a + sum(items)", "o.n * a + b", "a + w * o.gain", "float(n) * a", "a if best is None else best + a", "len(mode) * a + w", "np.sum(y * z[-1])", "y[0] + z[1] * a", "a * (n // 2) + w", "a - b"]  # fmt: skip
        self.lines.append(f"    return {pick(ends)}")
        return "\n".join(self.lines) + "\n"

    def _atom(self, loop: str | None) -> str:
        atoms = ["a", "b", "w", "a", "b", "x[1]", "x[4]", "0.5", "2", "n", "k", "DATA[2]", "y[1]", "z[0]"]
        return self.random.choice(atoms + [loop, "DATA[i]", "y[i]", "x[i]"] * 2 if loop else atoms)

    def _value(self, loop: str | None) -> str:
        pick, a, b = self.random.choice, self._atom(loop), self._atom(loop)
        common = [a, f"{a} + {b}", f"{a} - {b}", f"{a} * {b}", f"{a} * 0.5", f"np.tanh({a})", f"abs({a})", f"max({a}, {b})", f"min({b}, {a}, 1)",
                  f"({a} if {b} > 0.2 else {b})", f"relu({a})", f"relu({a}) * {b}", f"{a}**2", f"-{a}", f"np.exp(-abs({a}))", f"{a} / 3"]  # fmt: skip
        rare = [f"o.force({a})", f"step({a}) + {b}", f"inner({a})", f"o.gain * {a}", f"o.level * {a}", f"o.counted({a})", f"noted({a}, items) * {b}",
                f"{a} / (relu({b}) + 1)", f"1.0 / (2 - step({a}))", f"step({a}) // 1 + {b}", f"({a} + BIG) - BIG", f"{a} * NARROW[1]", f"np.arctan2(-{a}, -1.0)",
                f"np.copysign(1.0, {a})", f"sum(v * {b} for v in x if v > 0)", f"sum([v for v in x if v > {b}])", f"bump(y, {a})", "filled(y)",
                f"np.sum(clipped(y, {a}))", f"o * {a}", f"{a} * COUNTS[n % 5]", f"x[n % 5] * {a}", f"int({a} > 0) * {b}", f"({a} > 0) * {b}", f"(hit + hit) * {a}",
                f"np.where({a} > 0, {b}, 1.0)", f"{a} * (n + n)", f"2.0 ** n + {a}", f"len(items) + {a}", f"{a} if hit and {b} > 0 else {b}", f"isinstance({a}, int) + {b}",
                f"np.float64({a}) + {b}", f"step({a}) / 2 + {b}", f"({a} or 1.0)", f"(step({a}) == 0) * {b}", f"any(v > {a} for v in x) * {b}",
                f"({a} if mode == 'slow' else {b})", f"({b} if best is None else best * {a})", "len(mode) * w", "np.sum(y * z[0])"]  # fmt: skip
        return pick(common if self.random.random() < 0.75 else rare)

    def _test(self, loop: str | None) -> str:
        pick, a, b = self.random.choice, self._atom(loop), self._atom(loop)
        simple = f"{a} {pick(('<', '>', '<=', '>=', '==', '!='))} {pick([b, '0', '0.3', '-0.5'])}"
        return pick([simple] * 6 + [f"{simple} and {b} > 0", f"{simple} or {b} < 1", f"not {simple}", "hit", "not hit", f"-1 < {a} < 1", f"n > {pick([1, 2])}", f"hit and {simple}",
                     f"relu({a}) > 0.2", f"{a} > 0 and n < 4 and 1 / (n + 1) < {b}", f"o.gain < {a}", f"{a} is not None and {a} > 0", "items", f"np.isnan({a})",
                     "mode == 'fast'", "best is None", f"best is not None and best < {a}"])  # fmt: skip

    def _statement(self, depth: int, loop: str | None) -> None:
        pad, pick = "    " * depth, self.random.choice
        kinds = ["assign"] * 4 + ["if"] * (5 if depth < 5 else 0) + ["augment"] * 3 + ["count", "flag", "pair", "state"]
        kinds += ["loop", "loop", "while"] if loop is None and depth < 3 else []
        kind = pick(kinds)
        if kind == "assign":
            self.lines.append(f"{pad}{pick('abw')} = {self._value(loop)}")
        elif kind == "augment":
            self.lines.append(f"{pad}{pick('abw')} {pick(('+=', '-=', '*='))} {self._value(loop)}")
        elif kind == "count":
            self.lines.append(pad + pick(["n += 1", "n += 1", "n = n + 2", "k = k * 2", "n += k", "k = n", "n -= 1", "n += n", "k = -n"]))
        elif kind == "flag":
            self.lines.append(pad + pick(["hit = True", "hit = False", "hit = not hit", f"hit = {self._test(loop)}"]))
        elif kind == "pair":
            self.lines.append(pad + pick([f"a, b = b, {self._value(loop)}", f"a = w = {self._value(loop)}", f"b, n = {self._value(loop)}, n + 1"]))
        elif kind == "state":
            self._state(pad, loop)
        elif kind == "loop":
            self._loop(depth)
        elif kind == "while":
            self._while(depth)
        else:
            self._branch(depth, loop)

    def _state(self, pad: str, loop: str | None) -> None:
        value = self._value(loop)
        index = "i" if loop else "1"
        self.lines.append(pad + self.random.choice([
            f"y[{index}] = {value}", f"z[{index} % 2] += {value}", f"y[1] = {value}", f"y[2] += {value}", f"y[1:3] = {value}", f"y[{index} % 2:] += z[0]", f"y[:2] = z[-2:] * {self._atom(loop)}", f"z[::2] *= {self._atom(loop)}", f"z[0] = {value}", "y = y * 2.0", "z = y", "y, z = z, y", f"items.append({value})", "o.n += 1",
            f"o.gain = {value}", f"y += {self._atom(loop)}", "w = y[1]", f"b = {value}; y = x + 1.0", "items = items + [a]", f"z = y if {self._test(loop)} else z",
            "inner = lambda v: v * w", "mode = 'fast'", f"mode = 'slow' if {self._test(loop)} else mode", f"best = {value}", "best = None", f"y[{index} % 3] = {value}",
            f"best = {value} if best is None or {self._atom(loop)} > best else best", "y[k] = a", f"z[-1] -= {value}", "try:\n" + pad + f"    b = 1.0 / step({self._atom(loop)})\n" + pad + "except ZeroDivisionError:\n" + pad + "    b = a * 3",
        ]))  # fmt: skip

    def _body(self, depth: int, loop: str | None, ends: list[str]) -> None:
        for _ in range(self.random.randint(1, 2)):
            self._statement(depth, loop)
        if end := self.random.choice(ends):
            self.lines.append("    " * depth + end)

    def _loop(self, depth: int) -> None:
        head = self.random.choice(["for i in range(5):", "for i, v in enumerate(x):", "for i, v in zip(range(4), y):", "for i, v in enumerate(reversed(x)):"])
        self.lines.append("    " * depth + head)
        self._body(depth + 1, "v" if ", v" in head else "x[i]", [""])

    def _while(self, depth: int) -> None:
        pad, count = "    " * depth, f"c{len(self.lines)}"
        test = self.random.choice([f"({self._test(None)}) and {count} < 5", f"{count} < 5 and ({self._test(None)})", "True"])
        self.lines += [f"{pad}{count} = 0", f"{pad}while {test}:", f"{pad}    {count} += 1"]
        if test == "True":
            self.lines += [f"{pad}    if {self._test(None)} or {count} > 4:", f"{pad}        break"]
        self._body(depth + 1, None if depth > 1 else "x[2]".replace("2", "0"), [""])
        self.lines[-1] = self.lines[-1].replace("[i]", "[1]")

    def _branch(self, depth: int, loop: str | None) -> None:
        pad, pick = "    " * depth, self.random.choice
        ends = [""] * 6 + (["return a + b", "return a", "return 0.0"] if depth < 3 else []) + (["continue", "break"] if loop else [])
        self.lines.append(f"{pad}if {self._test(loop)}:")
        self._body(depth + 1, loop, ends)
        if pick((True, False, False)):
            self.lines.append(f"{pad}elif {self._test(loop)}:")
            self._body(depth + 1, loop, ends)
        if pick((True, False)):
            self.lines.append(f"{pad}else:")
            self._body(depth + 1, loop, ends)


def points(seed: int, count: int) -> list[np.ndarray]:
    """Points with and without ties."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=5) * (1 + k % 3) if k % 3 else rng.choice(POINTS, 5) for k in range(count)]


KINDS = {
    "branching": branching.Program, "stateful": StatefulProgram, "regions": regions.Program, "unusual": UnusualProgram,
    "containers": ContainerProgram, "mixed": MixedProgram, "nested": NestedProgram, "idioms": IdiomProgram, "effects": EffectProgram,
    "collections": CollectionProgram,
}  # fmt: skip
