"""Each rule of merging is needed: without it, its trap gets a wrong answer, which only a comparison with the plain function would notice."""

import ast
import linecache

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.merging import facts, merged_function, plain_numbers, purity, rewrite, rules, selects
from tapediff.functions.merging.prepare import known_forms, source
from tapediff.functions.merging.run_time import array_copies, loop_run_time, run_time
from tapediff.functions.merging.run_time.run_time import RunTime
from tapediff.functions.merging.uses import climb
from tapediff.targets.guarded import merging
from tapediff.targets.guarded.merging import Merging
from tests.functions.merging import choice_programs, programs, row_programs, traps, write_programs
from tests.functions.merging.test_merging import POINTS
from tests.random_programs.branching import function_of


class Counting(list):
    """A list that counts how often it is asked for an entry."""

    asked = 0

    def __getitem__(self, k):
        self.asked += 1
        return 0.1 * self.asked

    @property
    def gain(self):
        return self[0]

    def method(self, v):
        return self[0] * v

    def __call__(self, v):
        return self[0] * v


def while_of(added):
    """A loop on data whose turn adds `added`, an expression of v, o (of its own code) and items (an iterator)."""
    return function_of(f"""
import numpy as np
from tests.functions.merging.test_mutations import Counting, added
def f(x):
    v, o = abs(x[0]) + 0.1, Counting()
    vectorized, box = np.vectorize(o.method), ([0.0],)
    while v < 3.0:
        v = v + {added} + 0.5
    return v * x[1]
""")


def uses_entries(x):
    o, s = Counting(), 0.0
    for v in x:
        if v > 0:
            s = s + v * o[0]
    return s


def asks_an_attribute(x):
    o, s = Counting(), 0.0
    for v in x:
        if v > 0:
            s = s + v * o.gain
    return s


def iterates(x):
    v, items = abs(x[0]) + 0.1, iter([0.1, 0.9, 0.2, 0.3])
    while v < 3.0:
        for w in items:
            v = v + w
            break
        v = v + 0.5
    return v


def inverse(v):
    return 1.0 / v


def divides_by_what_a_helper_gives(x):
    return sum(map(inverse, [traps.hz(x[0])]))  # a function that is not rewritten


class Without:
    """A container that has everything."""

    def __contains__(self, _):
        return True


def unwritten(x):
    y, t = x * 1.0, abs(x[0])
    z = y
    while t < 1.0:
        y = y * 2.0
        t = t + 0.3
    y[0] = 5.0
    return np.sum(z**2) + t


def added(box):
    box[0][0] += 0.1
    return box[0][0]


def new_box():
    return ([0.0],)


def adds_in_a_tuple(x):
    box, v = new_box(), abs(x[0]) + 0.1
    while v < 3.0:
        box[0][0] += 0.1
        v = v + box[0][0]
    return v * x[1]


def changed_since():
    """A function whose source has changed since it was compiled."""
    text = "import numpy as np\ndef f(x):\n    return x[0] * 2.0 if x[1] > 0 else x[2]\n"
    f = function_of(text)
    lines = text.replace("2.0", "3.0").splitlines(keepends=True)
    linecache.cache[f.__code__.co_filename] = (len(text), None, lines, f.__code__.co_filename)
    return f


def identity(_self, _place, value):
    return value


ALL_FLAGS = ast.Constant(15)

MUTATIONS = [
    ("numbers of sides", RunTime, "number", identity, programs.adds_in_place),
    ("operands of loops", RunTime, "operand", identity, traps.in_a_while(*traps.EFFECTS[0])),
    ("kinds of operands", run_time, "is_operand", lambda _: True, traps.in_a_while(*traps.EFFECTS[1])),
    ("entries", RunTime, "entry", lambda _s, _p, array, index: array[index], uses_entries),
    ("attributes", RunTime, "attribute", lambda _s, _p, owner, name: getattr(owner, name), asks_an_attribute),
    ("functions", run_time, "is_pure", lambda _f, _n=0: True, while_of("o(0.1)")),
    ("functions' types", purity, "_FUNCTIONS", Without(), while_of("vectorized(0.1)")),
    ("methods", RunTime, "pure_method", lambda _s, _p, owner, name, _n: getattr(owner, name), while_of("o.method(0.1)")),
    ("helpers", merged_function, "check_statements", lambda _: None, while_of("added(box)")),
    ("zero", RunTime, "divisor", lambda _s, _p, _d, value: plain_numbers.checked(value), programs.divides_by_a_number_that_is_zero),
    ("powers", RunTime, "power", lambda _s, _p, base, exponent: plain_numbers.checked(base**exponent), programs.power_that_is_too_large),
    ("helpers' numbers", plain_numbers, "_MAY_RAISE", frozenset(), divides_by_what_a_helper_gives),
    ("types", RunTime, "asks", lambda _s, _p, function: function, traps.type_of_helper),
    ("aliases", RunTime, "_watch", lambda *_: None, unwritten),
    ("narrow", plain_numbers, "_WIDE", Without(), traps.float32_astype),
    ("large", rules, "LARGEST_FACTOR", 1 << 60, traps.fourth_of_both),
    ("overflow", rules, "LARGEST_FLOAT", np.inf, traps.overflow_pow2),
    ("growth", climb.Climb, "_note_of_ints", lambda *_: None, traps.powers_of_three),
    ("signs", climb.Use, "_as_other_number", property(lambda use: use.lines.get(climb.NO_FLOAT, 0)), traps.minus_zero3),
    ("shared", facts.Facts, "require_own", lambda *_: None, programs.late_binding),
    ("statements", rewrite, "check_statements", lambda _: None, adds_in_a_tuple),
    ("sources", source, "_is_same", lambda *_: True, changed_since()),
    ("stores", RunTime, "kept", lambda _s, _p, value, _a: value, choice_programs.a_list_that_others_see),
    ("whole numbers", plain_numbers, "_first_large", lambda _: None, choice_programs.products_of_five),
    ("copies of arrays", array_copies, "shows_none_of", lambda *_: True, row_programs.reads_it_in_a_tuple),
    ("arrays by two names", array_copies, "root_of", lambda array: array, row_programs.writes_it_by_two_names),
    ("lengths of rows", RunTime, "row_lengths", lambda *_: None, row_programs.too_few_for_a_row),
    ("lists", loop_run_time, "is_wide", lambda _: True, write_programs.writes_a_plain_number_to_a_list),
    ("uses", selects, "flags", lambda _: ALL_FLAGS, traps.isinstance_of_a_number),
]  # fmt: skip


def is_wrong(f):
    """Whether a merged form gives another answer than the function, or another error, at one of the points."""
    merged = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)
    for x in POINTS:
        answers = []
        for call in (lambda x: td.value_and_gradient(td.record(f, x), x), lambda x: (f(x), None), lambda x: td.value_and_gradient(merged, x)):
            try:
                answers.append(call(x.copy()))
            except (ArithmeticError, TypeError, AttributeError, ValueError) as error:
                answers.append((type(error).__name__, None))
        (_, own), (value, _), (found, gradient) = answers
        if isinstance(value, str) or isinstance(found, str):
            if value != found:
                return True
        elif not np.isclose(found, value, rtol=1e-10) or np.signbit(found) != np.signbit(value) or not np.allclose(gradient, own):
            return True
    return False


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation[0])
@np.errstate(all="ignore")
def test_without_a_rule_its_trap_is_wrong(mutation, monkeypatch):
    _, owner, name, replacement, trap = mutation
    monkeypatch.setattr(Merging, "check", lambda *_: None)
    monkeypatch.setattr(merging, "TRIALS", 0)
    monkeypatch.setattr(known_forms, "MOST_FORMS", 0)
    assert not is_wrong(trap)
    monkeypatch.setattr(owner, name, replacement)
    if name in ("LARGEST_FACTOR", "_note_of_ints"):  # of which the results are looked at once more
        monkeypatch.setattr(plain_numbers, "_first_large", lambda _: None)
    if name in ("kept", "flags"):  # what asks for types is looked at once more
        monkeypatch.setattr(rewrite, "ASK_TYPES", ())
    assert is_wrong(trap)
