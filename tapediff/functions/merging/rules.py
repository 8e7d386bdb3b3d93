"""What may stand in a branch that is merged, as one table: each rule with its reason, and a trap that it keeps out.

A branch that breaks a rule stays a branch: one tape for each path.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import NamedTuple, Protocol, TypeAlias

from ...errors import TapediffError
from ...recording.arrays.numbers import LARGEST_INT
from .nodes import RUN_TIME

# Line and column of a branch; a form of it that was tried has a number as well.
Place: TypeAlias = tuple[int, ...]

# The forms of a region, as the last part of its place. As long as they are not refused, only data leaves it, and entries and attributes
# that it reads are looked up before it; the numbers that its first path makes may be plain ones, and no others.
REGION, ONLY_DATA, EARLY_LOADS, FIRST_PLAIN = 1, 2, 3, 4

# The last part of the place of a long loop; see prepare/long_loops/.
LONG = 11

# That of one with its first and last turns apart; see prepare/long_loops/peeled.py.
PEELED = 12

# That of a test which says what turns keep; see prepare/long_loops/kept_turns.py.
KEPT = 13

# That of a test which the first turn passes; see prepare/long_loops/peeled.py.
FIRST = 14

# That of a long loop with its first turn before it, and of one for which only the kinds of its variables ask for that; see
# prepare/first_turns/first_turns.py.
FIRST_TURN, KINDS = 15, 16

# That of a long loop with its first turn, where without it more may be possible.
WHOLE_LOOP = 17

# That of one whose turns are taken in groups of which the items are alike; see run_time/gone_over/groups.py.
GROUPED = 18

# The rules for which a long loop may be refused that its other turns may keep, without the first one; and of these that on kinds.
OF_FIRST_TURNS = frozenset("bound numbers beside writes jumps scalars containers test calls outcomes".split())
OF_KINDS = frozenset("numbers beside scalars".split())

# What may be chosen between or become data, by the bits of the flags of a value; arrays that vary in a loop are data.
FLOATS, INTS, BOOLS, INTS_BESIDE_FLOATS, SMALL, VARYING = 1, 2, 4, 8, 16, 32

# A whole number of NumPy's is one in all turns of a loop.
NUMPYS_INTS = 64

# Above the flags stand the lines that keep floats, ints and bools from becoming data, with so many bits each; 0 is none.
LINES_AT, BITS_OF_LINE = 8, 24


def with_lines(flags: int, lines: Sequence[int]) -> int:
    """Flags with the first lines that need a float, an int and a bool of Python's."""
    return flags + sum(min(line, (1 << BITS_OF_LINE) - 1) << (LINES_AT + BITS_OF_LINE * k) for k, line in enumerate(lines))


def line_that_needs(kind: type, flags: int) -> int:
    """The first line for which a value has to stay a float, an int or a bool; 0 if there is none, or it has other reasons."""
    if kind not in (float, int, bool):
        return 0
    return flags >> (LINES_AT + BITS_OF_LINE * (float, int, bool).index(kind)) & ((1 << BITS_OF_LINE) - 1)


# They tell plain numbers from others.
ASK_TYPES: tuple[Callable[..., object], ...] = (type, isinstance)

# Larger whole numbers than LARGEST_INT are not counted with; and where they are multiplied, than these.
LARGEST_FACTOR = 1 << 12

# Fourth powers of plain numbers overflow, for which Python has an error, beyond this.
LARGEST_FLOAT = 1e77


def is_small(value: int, flags: int) -> bool:
    """Whether computing with an int as a float64 is exact."""
    return abs(value) <= (LARGEST_FACTOR if flags & SMALL else LARGEST_INT)


def is_large(value: float) -> bool:
    """Whether powers of a float may overflow."""
    return LARGEST_FLOAT < abs(value) < float("inf")


class Rule(NamedTuple):
    """A condition on merged branches.

    Attributes:
        name: in reports.
        reason: why a branch that breaks it stays a branch.
        trap: a branch that would give wrong answers without it.
        instead: what to write instead.
    """

    name: str
    reason: str
    trap: str
    instead: str


RULES = {
    rule.name: rule
    for rule in (
        Rule("assignments", "only assignments to variables can be undone for the side that is not taken",
             "if x > 0: log.append(x)", "assign to a variable in the branch, and do the rest after it"),
        Rule("calls", "both sides are computed, so they may call nothing but functions that neither fail nor have effects",
             "if x > 0: y = next(items)",
             "use NumPy's elementwise functions, or statements with if and else in place of `a if x else b`, or td.subtape"),
        Rule("order", "what an expression assigns by := is read or changed by what is computed before it",
             "y[0] + (q := settle(y)) > 1.0", "assign to the variable in a statement of its own"),
        Rule("cost", "both sides are computed at every call, and together they are too long for that",
             "if x > 0: y = ten thousand terms", "put the branch into a function with td.subtape"),
        Rule("bound", "a variable that only one side binds may have no value afterwards",
             "if x > 0: y = x\nreturn y", "bind it before the branch"),
        Rule("shared", "an inner function sees the variable change", "if x > 0: y = 1.0\nlater = lambda: y",
             "pass it as an argument of the inner function"),
        Rule("numbers", "a Python int, float or bool is used as such later: in a range, as an index, in a call, as an exponent",
             "if x > 0: n = 2\nfor k in range(n): ...",
             "write 2.0 or np.float64(2) if a float does there; or do what needs it inside the branch"),
        Rule("beside", "a Python number leaves the dtype of what it meets as it is, and is a float64 once it is data, which does not",
             "if x > 0: t = 0.5\nreturn f(t * g)  # g float32", "convert the other operand to float64"),
        Rule("scalars", "the sides must give numbers: arrays may be written to later, objects cannot be chosen by a mask",
             "if x > 0: y = buffer", "use np.where"),
        Rule("float32", "beside plain numbers float32 stays what it is; as data they are float64, beside which it does not",
             "s = 0.0\nif x > 0: s = s + x  # x float32", "convert the argument to float64"),
        Rule("guards", "it looks at values in ways that are not merged, and those of a side that is not taken decide nothing",
             "if x > 0: y = 1.0 if z > 0 else 2.0", "put what looks at the value into a function with td.subtape"),
        Rule("test", "the condition must be a comparison of numbers, or such comparisons with and, or, not",
             "if x: ...", "write the comparison: x != 0"),
        Rule("writes", "only entries of an array that the function itself makes are written, each in one way, at ints that are no data",
             "if x > 0: y[k] = x\nelse: z[0] = x  # z shows y", "assign to a variable in the branch, and write it after it"),
        Rule("jumps", "a break, continue or return in it decides what runs after it", "if x > 0: break",
             "note it in a variable, and put the rest into an else"),
        Rule("iterables", "a merged loop asks for all values, also for those after its break: an iterator is used up then, or never ends",
             "items = iter(...)\nfor v in items:\n    if v > x: break", "loop over a range, list, tuple or array"),
        Rule("containers", "lists, dicts and objects become variables only where the function makes them, all their entries are known, and "
             "nothing else sees them", "box = shared.items\nif x > 0: box[k] = 1.0", "use variables, or an array"),
        Rule("tries", "an error of the side that is not taken would be caught", "try: ... except ZeroDivisionError: ...",
             "put the branch into a function of its own"),
        Rule("source", "branches are found in the source of a function", "exec('def f(x): ...')", "define it in a file"),
        Rule("outcomes", "only numbers, arrays and tuples of these are data; of other values at most four leave a branch",
             "if x > 0: best = None", "use a number that stands for it, such as np.nan"),
        Rule("zero", "Python raises an error where a plain number is divided by zero", "if x > 0: n += 1\nreturn 1 / n",
             "make sure that it is not zero"),
        Rule("large", "ints of Python's are exact, and floats only to 2**53", "if x > 0: n += 1\nreturn n + 2**60 - 2**60",
             "compute with smaller numbers, or with floats"),
        Rule("turns", "a turn of the loop would be recorded each time that it is come to, and all its turns are sooner recorded one by one",
             "for i in range(n):\n    for j in range(i): s += y[i] * y[j]", "leave it: it is recorded as it stands"),
        Rule("masks", "what a mask that is data selects is as long as data says: it is computed with entry by entry, and reduced",
             "np.diff(z[z > 0])", "leave it: each mask is a path; or use np.where(z > 0, z, other)"),
        Rule("powers", "powers of plain numbers may be complex numbers or errors", "h = 0.1\nif x > 0: h = -h\nreturn h ** 0.5",
             "make sure that the base is positive, or use np.power"),
    )
}  # fmt: skip


# Where the line that needs an int has an index: of what may be done with one that is data, that is mostly what is meant.
_INSTEAD_OF_INDEX = (
    "let it be an int from the start, and only look up entries of lists and vectors by it, `v[k]`, which are variables or global names; "
    "or do what needs it inside the branch"
)


@dataclass(frozen=True)
class Breach:
    """Why a branch stays one: the rule, the line, what was found there, and which line needs it."""

    rule: str
    line: int
    got: str
    needed: str = ""

    @property
    def text(self) -> str:
        rule = RULES[self.rule]
        is_index = self.rule in ("numbers", "outcomes") and "[" in self.needed and self.needed.endswith("an int")
        found = in_users_words(f"{self.got}{self.needed}")
        return f"{found}; {rule.reason}. Instead: {_INSTEAD_OF_INDEX if is_index else rule.instead}"

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


def in_users_words(text: str) -> str:
    """What was found at a branch, as ast.unparse writes it, without what rewriting has put there and nobody wrote."""
    text = _ENTRY_OF.sub("", _MADE_OF.sub("", text))
    return "what stands there" if RUN_TIME in text or _HIDDEN.search(text) else text


# `.state1.name`, `.whole2.name`: variables that were made of one; `.name[0]`: of an entry; and others that nobody wrote.
_MADE_OF = re.compile(r"(?<![\w)\]\"'])\.[a-z]+\d+\.(?=[a-zA-Z_])")
_ENTRY_OF = re.compile(r"(?<![\w)\]\"'])\.(?=[a-zA-Z_]\w*\[)")
_HIDDEN = re.compile(r"(?<![\w)\]\"'])\.[a-z]\w*\.[a-z]")


class Broken(Exception):
    """A branch breaks a rule; raised while it is rewritten."""

    def __init__(self, rule: str, node: ast.AST, got: str) -> None:
        super().__init__(rule, got)
        self.breach = Breach(rule, getattr(node, "lineno", 0), got)


class Without(Exception):
    """A function is to be rewritten without a loop, or a form of it, that breaks a rule."""

    def __init__(self, place: Place, breach: Breach) -> None:
        super().__init__(place)
        self.place, self.breach = place, breach


class Refused(TapediffError):
    """A merged branch met values for which it must be a branch.

    Attributes:
        place: of the branch at fault.
        is_all: nothing in the function may be merged.
    """

    def __init__(self, code: CodeType, place: Place, breach: Breach, is_all: bool = False) -> None:
        rule = RULES[breach.rule]
        super().__init__(
            f"{code.co_name} cannot stay merged at this point: {rule.reason}", at=f"{code.co_filename}:{breach.line} in {code.co_name}",
            got=breach.got + breach.needed, fix=f"td.GuardedTape(f, merge=True), which goes on with the branch; or {rule.instead}",
        )  # fmt: skip
        self.code, self.place, self.breach, self.is_all = code, place, breach, is_all


class TurnedOutLong(Refused):
    """A loop that is recorded as one that data ends has counted its turns, and had so many that one of them is better recorded."""


class StandsInLong(Refused):
    """A loop that data ends was recorded so often that of the loops around it, which are long ones from now on, one turn is."""


class Refusing:
    """Refuses branches of one function.

    Args:
        code: of the function.
    """

    def __init__(self, code: CodeType) -> None:
        self._code = code

    def _refuse(self, rule: str, place: Place, got: str, is_all: bool = False, needed: str = "") -> Refused:
        return Refused(self._code, place, Breach(rule, place[0], got, needed), is_all)

    def _needed(self, value: object, flags: int) -> str:
        return needed(value, flags, self._code)


def needed(value: object, flags: int, code: CodeType) -> str:
    """Names the line of a function for which a value has to stay what it is; see `line_that_needs`."""
    line = line_that_needs(type(value), flags)
    text = linecache.getline(code.co_filename, line).strip()
    kind = "an int" if type(value) is int else f"a {type(value).__name__}"
    return f", and `{text}` at line {line} needs it to stay {kind}" if text else ""


# Elementwise functions of one or two numbers that neither fail nor look at values, and what they cost beside an addition.
ELEMENTWISE = {
    **dict.fromkeys("add subtract multiply negative positive maximum minimum fmax fmin square sign heaviside copysign clip".split(), 1),
    **dict.fromkeys("abs absolute fabs floor ceil rint trunc where isnan isfinite isinf logical_and logical_or logical_not".split(), 1),
    **dict.fromkeys("greater greater_equal less less_equal equal not_equal".split(), 1),
    **dict.fromkeys("divide true_divide reciprocal sqrt hypot".split(), 4),
    **dict.fromkeys("exp expm1 exp2 log log1p log2 log10 sin cos tan sinh cosh tanh arctan arcsinh logaddexp cbrt arctan2".split(), 12),
    **dict.fromkeys("arcsin arccos power float_power".split(), 16),
}  # fmt: skip

# Those of Python's math module, with their checks.
MATH = {
    **dict.fromkeys("fabs copysign degrees radians".split(), 1),
    **dict.fromkeys("sqrt hypot fmod".split(), 5),
    **dict.fromkeys("exp expm1 exp2 log log1p log2 log10 sin cos tan sinh cosh tanh atan asinh cbrt atan2".split(), 14),
    **dict.fromkeys("asin acos acosh atanh pow erf erfc gamma lgamma".split(), 18),
}  # fmt: skip

# Both sides may cost so many additions; a call of a sub-tape takes about as long. In turns of which one is recorded calls keep more from
# being known, such as whether a whole number that is counted there stays small.
MOST_COST, MOST_COST_IN_TURNS = 60, 200

OPERATORS: dict[type[ast.operator], int] = {ast.Add: 1, ast.Sub: 1, ast.Mult: 1, ast.Div: 4, ast.Pow: 4, ast.Mod: 4, ast.FloorDiv: 4}

COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)

Resolve = Callable[[str], object]


class Known(Protocol):
    """What is asked about a function; see Facts."""

    def is_builtin(self, node: ast.expr, *wanted: object) -> bool: ...

    def is_library(self, function: ast.expr) -> bool: ...

    def is_own(self, name: str) -> bool: ...

    def is_of_program(self, name: str) -> bool: ...

    def number(self) -> int: ...

    def may_merge(self, place: Place, /) -> bool: ...

    def resolve(self, name: str) -> object: ...

    def is_numpy(self, node: ast.expr) -> bool: ...

    def looks_at_data(self, node: ast.expr) -> bool: ...

    def had_look_up(self, node: ast.expr) -> bool: ...
