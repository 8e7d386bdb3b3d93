"""docs/which_python.md says which Python has all its paths on one tape. `python -m tests.test_which_python` writes it anew.

Each example is run: what is said to have one tape has one at all points, with the values of Python; what is not has the reason that is given.
"""

import linecache
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from flow.one_tape import gradient_at

import tapediff as td

PAGE = Path(__file__).parents[1] / "docs" / "which_python.md"
POINTS = [1.3 * p for p in np.random.default_rng(1).normal(size=(12, 4))]

HEAD = """# Which Python works

`td.GuardedTape`, and the bodies of sub-tapes and loops, hold all paths of a function on one tape where they can. Each row below has an
example that works so, one that does not, and what [`explain()`](guards.md#why-there-are-guards) then says. Where no error is raised, values
are Python's and gradients right, in both columns: the third one takes more recordings, or time. Examples are bodies of a function of `x`,
four numbers, and run in the tests. (Made by `python -m tests.test_which_python`.)

```python
import numpy as np

import tapediff as td


def largest(x):
    best, found = None, []
    for v in x:
        if best is None or v > best:
            best = v
            found.append(v)
    return best * len(found)


tape = td.GuardedTape(largest)
for x in np.random.default_rng(0).normal(size=(20, 4)):
    td.testing.check_gradient(tape, largest, x)
print(tape.stats.recordings, "recording")
```
```text
1 recording
```
"""

# In the namespace of every example.
NAMES = """import array, bisect, dataclasses, functools, heapq, itertools, json, math, random, threading
import numpy as np
import scipy.special
import tapediff as td
LOCK = threading.Lock()
NOISE = np.random.default_rng(0).normal(size=4000)
class Tank:
    def __init__(self, level):
        self.level = level
@dataclasses.dataclass(frozen=True, order=True)
class Event:
    at: float
    size: float = 1.0
LOG = []
@functools.lru_cache
def noted(k):
    LOG.append(k)
    return 0.5 * k
"""

# By section: titles, an example with one tape, and below the line one without.
EXAMPLES = {
    ("Branches on data", "one tape", "a tape for each path"): """
# `if`, `elif`, `else`, conditional expressions
if x[0] > 0:
    s = x[1]
else:
    s = -x[2]
return s
---
if x[0] > 0:
    print(end="")
return x[1]

# `and`, `or`, `not`, chained comparisons, `:=`, `assert`
assert x[0] > -9
s = x[0] if 0 < x[1] < x[2] or not x[3] > 0 else x[1]
return s if (t := s * s) > 1 else t

# `while`
while x[0] < 1:
    x[0] += abs(x[1]) + 0.1
return x[0]
---
last, t = [0.0], abs(x[0]) + 1
while t > 0.1:
    last = [t, last]
    t *= 0.6
return last[0]

# `for`, over arrays, lists, ranges, `zip`, `enumerate`
s = 0.0
for v, w in zip(x, x[1:]):
    if v > w:
        s += v
return s
---
pairs = zip(x, x[1:])
if x[0] > 0:
    next(pairs)
return sum(v * w for v, w in pairs)

# `break`, `continue`, `return`, `else` of a loop
s = 0.0
for v in x:
    if v < -1:
        break
    if v < 0:
        continue
    s += v
else:
    s *= 3
return s

# `try`, `except`, `raise`
try:
    if x[1] > 2:
        raise KeyError
    s = math.log(x[0])
except (KeyError, ValueError):
    s = x[1]
return s

# `with`
with np.errstate(over="ignore"):
    s = np.exp(x[0]) if x[0] > 0 else x[1]
return s
---
if x[0] > 0:
    with LOCK:
        s = x[1]
else:
    s = x[2]
return s

# `match`
match (x[0] > 0, x[1] > 0):
    case (True, True):
        return x[2]
    case (True, _):
        return 2 * x[2]
    case _:
        return x[3]

# `del`
state = {"a": x[0]}
if x[1] > 0:
    del state["a"]
return state.get("a", 0.0)

# calls of libraries, imports
if x[0] > 0:
    import math
    return math.exp(x[1])
return x[2]
---
if x[0] > 0:
    import colorsys
    return colorsys.rgb_to_yiq(*x[1:])[0]
return x[2]

# None, strings, functions as state
best, mode = None, "first"
for v in x:
    if best is None or v > best:
        best, mode = v, "later"
return best if mode == "later" else 0.0
---
name = "none"
for k in range(60):
    if x[k % 4] > 0.03 * k:
        name = f"day {k}"
return x[0] * len(name)

# objects, and their attributes
best = Tank(0.0)
for v in x:
    if v > best.level:
        best = Tank(v)
return best.level

# dataclasses, named tuples
first = min(Event(abs(v), v) if v > 0 else Event(1.0) for v in x)
if x[0] > 0.5:
    first = dataclasses.replace(first, size=2.0)
return first.at * first.size

# lists
found = []
for v in x:
    if v > 0:
        found.append(v)
return sum(found) + len(found)
---
found = [1 for v in x if v > 0]
return x[0] * np.percentile([*found, 1, 2], 30)

# dicts
counts = {}
for v in x:
    kind = "high" if v > 0 else "low"
    counts[kind] = counts.get(kind, 0) + v
return counts.get("high", 0.0)
---
counts = {}
for v in x:
    counts["high" if v > 0 else "low"] = v
return x[0] * len(json.dumps(list(counts)))

# sets
return len({v > 0 for v in x}) * x[0]
---
kinds = {-k for k in range(3) if x[k] > 0}
return sum((k + 1) * v for k, v in enumerate(kinds)) * x[0]

# ints: index, key, length, end of a range
k, n = int(x[0] > 0), int(abs(x[1]) * 3)
return x[k] + sum(x[2] * j for j in range(n))
---
n = int(abs(x[0]) * 3)
return np.ones(n).sum() * x[1]

# large ints
return round(x[0] * 4) * x[1]
---
n = int(x[0] * 4)
return x[1] * (10**12 * n)

# `sorted`, `max`, `sum`, `any`, `filter`, `bisect`, `heapq`, `itertools`, and the like
first = next(filter(lambda v: v > 0, x), 1.0)
a, b, *rest = sorted(x)
heapq.heapify(rest)
total = sum(itertools.accumulate(x, max)) if any(v > 1 for v in x) else rest[0]
return total + first * bisect.bisect([-1.0, 0.0], a)

# generators, comprehensions
def above(values, least):
    for v in values:
        if v > least:
            yield v
def halved(values):
    for v in values:
        yield 0.5 * v
return sum(halved(above(x, -0.5)))
---
def signs():
    for v in x:
        if v > 0:
            yield v
        else:
            yield -v
given = signs()
return next(given) + sum(given)

# iterators of your own, and those without an end
class Falling:
    def __init__(self):
        self.rest = 3.0
    def __iter__(self):
        return self
    def __next__(self):
        self.rest -= abs(x[0]) + 0.1
        if self.rest < 0:
            raise StopIteration
        return self.rest
return sum(k * v for k, v in zip(itertools.count(1), Falling()))
---
given = (2 * v for v in x)
if x[0] > 0:
    next(given)
return next(given)

# bits of integers
bits = 0
for k, v in enumerate(x):
    if v > 0:
        bits |= 1 << k
return x[0] * (bits & 5) + x[1] * (bits ^ 3)

# functions, closures with `nonlocal`, recursion
count = 0
def depth(v, n):
    nonlocal count
    count += 1
    return v if v < 0.1 or n == 0 else depth(0.5 * v, n - 1)
return depth(x[0], 6) * count

# caches
@functools.cache
def best(k):
    return x[k] if k == 0 or x[k] > 0 else best(k - 1) + x[k]
return best(3) * best(2)
---
return noted(2) * x[0] if x[1] > 0 else x[2]

# code that is not in a file
return eval("x[0] * 2")
---
if x[0] > 0:
    return eval("x[1] * 2")
return x[2]

# random numbers, the time, files
u = td.random.uniform(td.random.key(1))
return u * x[0] if x[1] > 0 else x[2]
---
if x[0] > 0:
    random.random()
return x[1]

# NumPy's functions that choose
return np.sum(np.where(x > 0, x, 0.0)) + x[np.argmax(x)]

# masks, `np.nonzero`, slices with ends that are data
kept, n = x[x > -0.5], int(np.sum(x > 0))
kept[kept > 1] *= 0.5
return np.std(kept) + len(kept) * x[:n].sum() + x[np.flatnonzero(x > 0)].prod()
---
return np.sum(np.kron(x[x > 0], x[x > 0]))

# arrays of other shapes
a = np.zeros(2) if x[0] > 0 else np.ones(3)
return a.sum() * x[1]
---
return np.sum(np.unique(np.round(x)))

# factorisations that fail
try:
    factor = np.linalg.cholesky(np.eye(2) + x[0])
except np.linalg.LinAlgError:
    return x[1]
return np.sum(factor)
""",
    ("Long loops", "one loop instruction", "recorded iteration by iteration"): """
# arrays that are written to, branches
s, y = 0.0, np.zeros(4000)
for k in range(1, 4000):
    y[k] = 0.1 * x[0] * y[k - 1] + NOISE[k]
    if y[k] > 0:
        s += y[k]
return s
---
u, v = np.zeros(3), np.full(3, x[0])
for k in range(4000):
    u[:] = 0.9 * v + x[1]
    u, v = v, u
return u.sum()

# lists that are appended to
found = []
for k in range(4000):
    found.append(NOISE[k] * x[1])
return np.sum(np.array(found) ** 2)
---
found = [0.0]
for v in NOISE:
    found.append(0.5 * found[-1] + v * x[0])
return sum(found)

# dicts
totals = {"low": 0.0, "high": 0.0}
for v in NOISE:
    totals["high" if v > x[1] else "low"] += v * x[0]
return totals["low"] * totals["high"]
---
found = {}
for k, v in enumerate(NOISE):
    found[k] = v * x[0] + x[1]
return sum(found.values())

# objects
tank = Tank(x[0])
for v in NOISE:
    tank.level = 0.9 * tank.level + v * x[1]
return tank.level
---
s = x[0]
for row in [{"v": v} for v in NOISE]:
    s = 0.5 * s + row["v"] * x[1]
return s

# `while`, strings as state; lists that iterations make
k, s, mode = 0, x[0], "low"
while k < 4000:
    s = 0.5 * s + (NOISE[k] if mode == "low" else x[1])
    mode = "high" if s > x[2] else "low"
    k += 1
return s
---
rows = []
for k in range(4000):
    rows = [x[0] * k] * (k % 7 + 1)
return sum(rows)
""",
    ("What is refused", "works", "an error, as the gradient would be lost"): """
# numbers
return math.sin(x[0]) * int(x[1])
---
return x[0] * len(f"{x[1]:.3}")

# text
td.debug.print("x = {}", x[0])
return x[0]
---
return x[1] * len(f"{x[0]:.1f}")

# hashes
return x[0] if x[0] == x[1] else x[2]
---
return x[1] * (hash(x[0]) % 2)

# plain arrays
a = np.zeros(4)
a[0] = x[0]
return a.sum()
---
NOISE[0] = x[0]
return NOISE[0]

# functions of C code
return np.sum(scipy.special.erf(x))
---
return sum(array.array("d", x))
""",
}

TAIL = """
## What a recording cannot see

A function can behave differently while it is recorded, without a guard or an error, where

* it tests `type(x) is np.ndarray`, False for a tracked array (`isinstance` gives True), or `type(i) is int` of the counter of a
  `td.fori_loop`;
* it catches `TypeError` of C code that does not accept tracked values, such as `json.dumps(x[0])`. Errors of NumPy and tapediff are noticed
  when your code catches them;
* NumPy is asked to raise errors (`np.errstate(all="raise")`) that leave the function: the tape returns inf or NaN instead. A function that
  catches them is refused;
* it reads the list of `warnings.catch_warnings(record=True)`.

What a function reads besides its arguments is compared at each call ([what is frozen](frozen.md)). Clocks, files and random numbers are
not: `td.GuardedTape(f, check_every=100)` compares with the plain function at every 100th call, and raises `StaleTape` if they differ.
"""


def examples():
    """Section, title, the body with one tape, and the other, which may be empty."""
    for section, text in EXAMPLES.items():
        for block in text.split("\n# ")[1:]:
            title, _, bodies = block.partition("\n")
            works, _, other = bodies.partition("---\n")
            yield section, title, works.strip("\n"), other.strip("\n")


ROWS = list(examples())


def function(body):
    """A function of x with this body, in a module of its own, whose source is found."""
    name = f"which_python_{abs(hash(body))}"
    module = sys.modules[name] = types.ModuleType(name)
    source = f"{NAMES}def f(x):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), module.__dict__)
    return module.f


def found_of(body):
    """How many recordings the points take, and why not one, or why a loop is none; the values are compared with Python's."""
    f = function(body)
    tape = td.GuardedTape(f, on_new_tape="interpret", compile_after=10**6, max_tapes=100)
    for p in POINTS[: 1 if "NOISE" in body or "4000" in body else None]:
        try:
            found = tape(p)
        except td.TapediffError as error:
            return 0, f"{error.what}. Instead: {error.fix}"
        np.testing.assert_allclose(found, f(p.copy()), rtol=1e-9)  # only the order of additions differs
        np.testing.assert_allclose(td.gradient(tape, p), gradient_at(f, p), rtol=1e-4, atol=1e-5)  # some by differences of 1e-6
    told = tape.explain(as_dict=True)
    report = told["tapes"][0]["report"]
    because = " ".join(why for _, why in told["recorded_because"])
    parting = [guard for guard in report["guards"] if any(line in because for line in guard["at"])]
    reasons = [each for each in (report["only"], *report["iterations"], *parting) if each]
    return tape.stats.recordings, ". Instead: ".join(filter(None, (reasons[0]["what"], reasons[0]["instead"]))) if reasons else ""


def cell(body):
    """A cell of a table, line by line."""
    lines = [(len(line) - len(line.lstrip()), line.lstrip().replace("|", r"\|")) for line in body.splitlines()]
    return "<br>".join(f"{'&nbsp;' * indent}`{text}`" for indent, text in lines)


def row(title, works, other):
    why = found_of(other)[1].splitlines()[0] if other else ""
    return f"| {title} | {cell(works)} | {cell(other)} | {why} |\n"


def page(rows):
    parts, last = [HEAD], None
    for (section, *_), line in zip(ROWS, rows):
        if section != last:
            parts.append(f"\n## {section[0]}\n\n| | {section[1]} | {section[2]} | why, and what to write instead |\n|---|---|---|---|\n")
        last = section
        parts.append(line)
    return "".join([*parts, TAIL])


CASES = [pytest.param(*each, id=each[0], marks=pytest.mark.slow if section[0] == "Long loops" else ()) for section, *each in ROWS]


@pytest.mark.parametrize(("title", "works", "other"), CASES)
@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
def test_an_example_works_as_its_row_says(title, works, other):
    """The first has one tape and no reason against it; the page has the reason that the second gives."""
    assert found_of(works) == (1, "")
    assert row(title, works, other) in PAGE.read_text(), "`python -m tests.test_which_python` writes it anew"


def test_the_page_has_no_other_rows():
    """And is otherwise as written here."""
    text = PAGE.read_text()
    assert text == page([line for line in text.splitlines(keepends=True) if line.startswith("| ") and "why, and" not in line])


if __name__ == "__main__":
    PAGE.write_text(page([row(*each) for _, *each in ROWS]))
