"""Each rule of merged bodies is needed: without it, its trap gets another answer, or error, than its paths."""

import operator

import numpy as np
import pytest

import tapediff as td
from tapediff.functions import loops, merged_body
from tapediff.functions.callees import body
from tapediff.functions.loops import repeated_while
from tapediff.functions.merged_body import MergedBody
from tapediff.functions.merging.prepare import known_forms
from tapediff.functions.merging.run_time import body_results, choices

POINTS = [np.array(x) for x in ([0.9, 0.3, -0.6], [0.1, -0.8, 1.2], [-0.6, 0.1, 0.9], [-2.0, 0.75, 0.25], [0.25, 2.0, -0.1])]
NARROW = np.array([0.1, 0.7, -0.3], np.float32)


def of_a_subtape(body, *rest):
    def make():
        piece = td.subtape(body)
        return lambda x: sum(piece(v, *rest) * w for v, w in zip(x, (1.0, 2.0, 3.0)))

    return make


def of_one_that_counts():
    seen = SEEN

    def counted(v):
        seen.append(v)
        y = v * v if v > 0.2 else -v
        return y + 1.0 if v > 0.8 else y

    return of_a_subtape(counted)()


SEEN = []


def goes_through(v, a):
    w = abs(v)
    while w < 0.5:
        a = a * 1.5
        w = w + 0.2
    return a


def of_what_went_through():
    def f(x):
        b = x * 2.0
        c = td.subtape(goes_through)(x[0], b)
        c[0] = 3.0
        return np.sum(c**2) * x[1] + np.sum(b)

    return f


def zero_or_one(v):
    h = 0.0
    if v > 0.2:
        h = 1.0
    return h


def divides_in_a_function_that_is_not_rewritten(v):
    return operator.truediv(1.0, zero_or_one(v)) * v


def loops_late(v):
    """A loop that the first points do not enter, and whose turn is none that can be merged."""
    s = v
    if v > 0.2:
        s = s + 1.0
    b, k = 0.5, 0
    while k < 2 and s < -1.0:
        k += 1
        b = b * NARROW[1]
    return s * b


def of_two_kinds(v):
    """Whole at most points, and an error of its paths where it is not."""
    if v > 0.5:
        return 1
    if v > -0.7:
        return 0
    return 0.5


def sets_a_count_to_zero(x):
    """Where it was set to 0, plain numbers are divided by a plain 0."""

    def step(carry, v):
        s, n = carry
        if v > 1.0:
            n = 0
        return (s + v, n + 1), 2.0 / n

    (s, n), parts = td.scan(step, (x[0], 1), x)
    return s * n + np.sum(parts)


def enters_no_loop(cond, body, init, most, failure=None, is_recorded=False):
    return repeated_while(cond, body, init, most, failure)


MUTATIONS = [
    ("changes", merged_body, "first_change", lambda _: None, of_one_that_counts),
    ("aliases", MergedBody, "_objection", lambda *_: "", of_what_went_through),
    ("numbers at the end", merged_body, "checking_numbers", lambda f: f, of_a_subtape(divides_in_a_function_that_is_not_rewritten)),
    ("loops that are not entered", loops, "repeated_while", enters_no_loop, of_a_subtape(loops_late)),
    ("whole results", body_results, "_is_whole", lambda *_: True, of_a_subtape(of_two_kinds)),
    ("plain zeros", choices, "note_chosen", lambda value, *_: value, lambda: sets_a_count_to_zero),
]  # fmt: skip


def answer(call):
    try:
        return call()
    except (ArithmeticError, TypeError, AttributeError, ValueError, td.TapediffError) as error:
        return type(error).__name__


def is_wrong(make):
    """Whether merged bodies give other answers than their paths, or change state more often."""
    settings = {"on_new_tape": "interpret", "compile_after": 1000}
    for order in (POINTS, POINTS[::-1]):
        # Bodies of equal code are merged once.
        body._recent.clear()
        SEEN.clear()
        paths = td.GuardedTape(make(), merge=False, **settings)
        expected = [answer(lambda x=x: td.value_and_gradient(paths, x)) for x in order]
        changes = len(SEEN)
        SEEN.clear()
        merged = td.GuardedTape(make(), merge=True, **settings)
        found = [answer(lambda x=x: td.value_and_gradient(merged, x)) for x in order]
        if len(SEEN) != changes:
            return True
        for ours, theirs in zip(found, expected):
            if isinstance(ours, str) or isinstance(theirs, str):
                if ours != theirs:
                    return True
            elif not (np.isclose(ours[0], theirs[0], rtol=1e-10) and np.allclose(ours[1], theirs[1], rtol=1e-9)):
                return True
    return False


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation[0])
@np.errstate(all="ignore")
@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
def test_without_a_rule_of_bodies_its_trap_is_wrong(mutation, monkeypatch):
    _, owner, name, replacement, trap = mutation
    monkeypatch.setattr(merged_body, "agree", lambda *_: True)
    monkeypatch.setattr(merged_body, "MOST_COST_RATIO", np.inf)
    monkeypatch.setattr(known_forms, "MOST_FORMS", 0)
    assert not is_wrong(trap)
    monkeypatch.setattr(owner, name, replacement)
    assert is_wrong(trap)
