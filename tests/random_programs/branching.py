"""Random functions in plain Python whose branches look at data: with counters, flags, early exits, helpers and loops."""

from __future__ import annotations

import itertools
import linecache
import random
from collections.abc import Callable
from typing import Any

_numbers = itertools.count()


def function_of(text: str, name: str = "f") -> Callable[..., Any]:
    """The function of this name in a program, whose source Python finds."""
    text = text if text.startswith("import") else "import numpy as np\n" + text.lstrip()
    file = f"<random branches {next(_numbers)}>.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    # Classes have the name of their module.
    names: dict[str, Any] = {"__name__": __name__}
    exec(compile(text, file, "exec"), names)
    return names[name]


class Program:
    """The text of a random function f(x) of five numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.floats, self.ints, self.bools = ["a", "b"], ["n"], ["hit"]

    def text(self) -> str:
        """A program with one helper."""
        self.lines = ["import numpy as np", "DATA = np.array([0.3, -1.2, 0.8, 2.0, -0.4])"]
        self.lines.append("def helper(u, v):")
        self._helper()
        self.lines += ["def f(x):", "    a = x[0]", f"    b = {self.random.choice(['0.0', '0', 'x[1]', '1.5'])}", "    n = 0", "    hit = False"]
        self.lines += ['    mode = "slow"', "    best = None", "    y = x * 1.0"]
        for _ in range(self.random.randint(2, 4)):
            self._statement(1, in_loop=False)
        result = self.random.choice(["a + b", "a * b + n", "b", "a + (b if hit else n)", "a / (n + 1.0) + b", "a - b / (n + 2)", "a + best"])
        rest = self.random.choice(["", "", " + y[0] * y[4]", " + np.sum(y)", " + (0.5 if best is None else best)", ' + (b if mode == "fast" else a)'])
        self.lines.append(f"    return {result}{rest}")
        return "\n".join(self.lines) + "\n"

    def _helper(self) -> None:
        pick = self.random.choice
        kinds = (
            ["    if u > v:", "        return u * 2.0", "    return v - u"],
            ["    if u > 0:", "        w = u", "    else:", "        w = 0.0", "    return w + v"],
            ["    return max(u, v) * 0.5 if u < 1 else min(u, 2.0)"],
            ["    s = 0", "    for k in range(3):", "        if u * k > v:", "            continue", "        s += k * u", "    return s"],
            ["    if u < -1 or v > 1:", "        return 0", "    return u * v"],
        )
        self.lines += pick(kinds)

    def _value(self, loop: str | None) -> str:
        pick = self.random.choice
        parts = [*self.floats, "x[2]", "x[3]", "x[4]", "0.5", "2", "DATA[1]", "n"]
        if loop:
            parts += [loop, "x[i]", "DATA[i]"] * 2
        a, b = pick(parts), pick(parts)
        return pick((a, f"{a} + {b}", f"{a} - {b}", f"{a} * {b}", f"np.tanh({a})", f"abs({a})", f"{a} * 0.5", f"{a} / 3",
                     f"max({a}, {b})", f"({a} if {b} > 0.2 else {b})", f"helper({a}, {b})", f"np.exp(-abs({a}))", f"{a} / ({b} + 4.0)",
                     f"{a}**2", f"-{a}", f"y[{pick(('0', '-1', 'i' if loop else '2'))}]",
                     f"({a} if best is None else best)", f"sum(w * {b} for w in x if w > {a})", f"max([w for w in x if w > {a}], default=0.5)"))  # fmt: skip

    def _test(self, loop: str | None) -> str:
        pick = self.random.choice
        parts = [*self.floats, "x[2]", "x[3]", *([loop, "x[i]"] if loop else [])]
        simple = f"{pick(parts)} {pick(('<', '>', '<=', '>=', '!='))} {pick([*parts, '0', '0.3', '-0.5', 'n'])}"
        other = f"{pick(parts)} > {pick(('0', '1', '-1'))}"
        return pick((simple, simple, f"{simple} and {other}", f"{simple} or {other}", f"not {other}", "hit", "not hit",
                     f"0 < {pick(parts)} < 1", "n > 1", f"hit and {other}", f"best is None or {pick(parts)} > best",
                     f"best is not None and best < {pick(parts)}", 'mode == "slow"', 'mode != "fast"', 'mode in ("fast", "slow")', "mode is None",
                     f"any(w > {pick(parts)} for w in x)", f"not all(w < {pick(parts)} for w in x if w > 0)"))  # fmt: skip

    def _statement(self, depth: int, in_loop: bool, loop: str | None = None) -> None:
        pad, pick = "    " * depth, self.random.choice
        kind = pick(("assign", "assign", "if", "if", "if", "loop" if not in_loop else "if", "while" if not in_loop else "if", "count", "flag", "augment", "state", "best", "write"))
        if kind == "assign" or depth > 4:
            self.lines.append(f"{pad}{pick(self.floats)} = {self._value(loop)}")
        elif kind == "augment":
            self.lines.append(f"{pad}{pick(self.floats)} {pick(('+=', '-=', '*='))} {self._value(loop)}")
        elif kind == "count":
            self.lines.append(f"{pad}n += 1")
        elif kind == "flag":
            self.lines.append(f"{pad}hit = {pick(('True', 'False', 'not hit'))}")
        elif kind == "state":
            self.lines.append(f"{pad}mode = " + pick(('"slow"', '"fast"', "None")))
        elif kind == "best":
            self.lines.append(f"{pad}best = {pick((self._value(loop), self._value(loop), 'None'))}")
        elif kind == "write":
            index = pick(("0", "1", "-1", "i" if in_loop and loop else "2"))
            self.lines.append(f"{pad}y[{index}] {pick(('=', '=', '+=', '*='))} {self._value(loop)}")
        elif kind == "loop":
            self.lines.append(pad + pick(("for i in range(5):", "for i, v in enumerate(x):", "for i, v in zip(range(5), x):", "for i, v in zip(reversed(range(5)), list(x)):")))
            loop = "v" if "v in" in self.lines[-1] or ", v" in self.lines[-1] else None
            for _ in range(self.random.randint(1, 3)):
                self._statement(depth + 1, True, loop or "x[i]")
            if pick((True, False, False)):
                self.lines.append(f"{pad}else:")
                self._statement(depth + 1, in_loop, None)
        elif kind == "while":
            self._while(depth)
        else:
            self._branch(depth, in_loop, loop)

    def _while(self, depth: int) -> None:
        """A loop that ends after a few turns at the latest."""
        pad, pick, count = "    " * depth, self.random.choice, f"k{len(self.lines)}"
        limit = f"{count} < 5"
        test = pick((f"({self._test(None)}) and {limit}", f"{limit} and ({self._test(None)})", "True"))
        self.lines += [f"{pad}{count} = 0", f"{pad}while {test}:", f"{pad}    {count} += 1"]
        if test == "True":
            self.lines += [f"{pad}    if {self._test(None)} or {count} > 4:", f"{pad}        break"]
        for _ in range(self.random.randint(1, 3)):
            self._statement(depth + 1, True)

    def _branch(self, depth: int, in_loop: bool, loop: str | None) -> None:
        pad, pick = "    " * depth, self.random.choice
        self.lines.append(f"{pad}if {self._test(loop)}:")
        ends = ["", "", "", "", "return a + b" if depth < 3 else pick(("", "return b * 0.5")), *(["continue", "break"] if in_loop else [])]
        self._body(depth + 1, in_loop, loop, pick(ends))
        if pick((True, False)):
            self.lines.append(f"{pad}elif {self._test(loop)}:")
            self._body(depth + 1, in_loop, loop, pick(ends))
        if pick((True, False)):
            self.lines.append(f"{pad}else:")
            self._body(depth + 1, in_loop, loop, pick(ends))

    def _body(self, depth: int, in_loop: bool, loop: str | None, end: str) -> None:
        for _ in range(self.random.randint(1, 2)):
            self._statement(depth, in_loop, loop)
        if end:
            self.lines.append("    " * depth + end)
