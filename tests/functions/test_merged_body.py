"""Bodies of sub-tapes and loops have one variant for all their paths where that changes nothing, and the answers of plain Python everywhere."""

import functools
import pickle

import numpy as np
import pytest

import tapediff as td
from tapediff.functions import merged_body
from tapediff.functions.merging.run_time.choices import Choices
from tapediff.ops.control.calls import CALL, LOOP
from tests.functions import merged_bodies as programs
from tests.functions.merged_bodies import MERGED, OTHERS
from tests.random_programs.bodies import FORMS, faults_of

POINTS = [np.random.default_rng(0).normal(size=4) * (1 + k % 3) for k in range(4)]
TIES = np.array([0.0, -0.0, 1.0, 0.5])


def of_an_array(f):
    """A function of an array whose entries go through the body one by one."""
    return lambda x: f(x[0]) * 1.5 + f(x[1]) * x[2] + f(x[3])


def nested(inner):
    return lambda v: inner(v) * (2.0 if v > 0 else 1.0)


FORMS_OF_ONE = {
    "subtape": lambda f: of_an_array(td.subtape(f)),
    "method": lambda f: of_an_array(td.subtape(type("Owner", (), {"call": lambda self, v: f(v)})().call)),
    "subtape of a subtape": lambda f: of_an_array(td.subtape(nested(td.subtape(f)))),
    "scan": lambda f: lambda x: td.scan(lambda c, v: (0.25 * c + f(v + 0.1 * c), f(v)), x[0], x)[0] * x[1],
    "scan of a scan": lambda f: lambda x: td.scan(
        lambda c, v: (0.5 * c + td.scan(lambda d, w: (0.3 * d + f(w * v), None), c, x)[0], None), x[0], x[:2]
    )[0],
    "fori_loop": lambda f: lambda x: td.fori_loop(0, 3, lambda i, c: 0.25 * c + f(x[1] - 0.3 * c) + i, x[0]),
    "while_loop": lambda f: lambda x: td.while_loop(lambda c: c[0] < 3.0, lambda c: (c[0] + 1.0, 0.25 * c[1] + f(x[0] - 0.2 * c[1])), (0.0, x[1]))[1],
    "cond": lambda f: lambda x: td.cond(x[0] > 0, lambda: f(x[1]), lambda: f(x[2]) * x[3]),
}  # fmt: skip


def agree(f, target, x):
    """The value of plain Python, and central differences where no kink is close."""
    assert np.isclose(target(x), f(x), rtol=1e-12)
    gradient = td.gradient(target, x)
    for k in range(x.size):
        step = np.zeros_like(x)
        step[k] = 1e-6
        right, left = (f(x + step) - f(x)) / 1e-6, (f(x) - f(x - step)) / 1e-6
        if np.isclose(right, left, rtol=1e-3, atol=1e-4):  # else a kink or jump lies between
            assert np.isclose(gradient[k], (right + left) / 2, rtol=1e-4, atol=1e-5)  # rounding / step


@pytest.fixture
def unchecked(monkeypatch):
    """Merged bodies are right by their rules alone, whatever they cost."""
    monkeypatch.setattr(merged_body, "agree", lambda *_: True)
    monkeypatch.setattr(merged_body, "MOST_COST_RATIO", np.inf)


# Each program in two of the forms.
PROGRAMS = [*MERGED, *OTHERS]
CASES = [(f, [*FORMS_OF_ONE][(2 * k + j) % len(FORMS_OF_ONE)]) for k, f in enumerate(PROGRAMS) for j in range(2)]


@pytest.mark.parametrize(("f", "form"), CASES, ids=lambda part: getattr(part, "__name__", part))
@np.errstate(all="ignore")
def test_a_merged_body_has_the_answers_of_plain_python(f, form, unchecked):
    settings = {"on_new_tape": "interpret", "compile_after": 1000}
    paths = td.GuardedTape(FORMS_OF_ONE[form](f), merge=False, **settings)
    for merge, order in ((True, POINTS), (None, POINTS[::-1])):
        call = FORMS_OF_ONE[form](f)
        target = td.GuardedTape(call, merge=merge, **settings)
        for x in order:
            agree(call, target, x)
        for x in (TIES, *order):
            # Masked sums are in another order; a masked cotangent is 0 where a path may multiply 0 by an infinity.
            expected = td.gradient(paths, x)
            assert np.allclose(td.gradient(target, x)[~np.isnan(expected)], expected[~np.isnan(expected)], rtol=1e-12)


@pytest.mark.parametrize("f", MERGED, ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_one_variant_serves_all_paths(f, unchecked):
    piece = td.subtape(f, merge=True)
    compiled = td.record(of_an_array(piece), POINTS[0])
    known = piece.recordings
    for x in POINTS:
        compiled(x)
    assert piece.recordings == known <= 3, piece.explain()
    assert "merged" in piece.explain()


@pytest.mark.parametrize("kind", programs.WITH_RESULTS)
def test_ints_and_bools_among_the_results_are_merged(kind, unchecked):
    body, used = programs.WITH_RESULTS[kind]
    for merge in (True, None):
        piece = td.subtape(body, merge=merge)
        tape = td.record(of_an_array(used(piece)), POINTS[0])
        for x in (*POINTS, TIES):
            assert np.isclose(tape(x), of_an_array(used(body))(x), rtol=1e-12)
            assert np.allclose(td.gradient(tape, x), td.gradient(td.record(of_an_array(used(body)), x), x), rtol=1e-12)
        assert "merged" in piece.explain()
        assert piece.recordings <= 4


@pytest.mark.parametrize("f", programs.CARRIED, ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_ints_and_bools_that_loops_carry_are_those_of_paths(f, unchecked):
    settings = {"on_new_tape": "interpret", "compile_after": 1000}
    paths = td.GuardedTape(f, merge=False, **settings)
    for order in (POINTS, POINTS[::-1]):
        target = td.GuardedTape(f, merge=True, **settings)
        for x in (*order, TIES):
            assert np.isclose(target(x), paths(x), rtol=1e-12)
            assert np.allclose(td.gradient(target, x), td.gradient(paths, x), rtol=1e-12)
    assert ("merged, as a select" in target.explain()) == (f is not programs.asks_what_it_carries)


def test_a_plain_zero_that_a_body_divides_by_is_an_error():
    def f(x):
        piece = td.subtape(programs.divides_by_a_count, merge=True)
        return piece(x[0]) * x[1]

    for order in ((0.9, 0.1, -0.6), (0.1, -0.6, 0.9)):
        target = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)
        for v in order:
            x = np.array([v, 2.0])
            if v == 0.1:
                with pytest.raises(ZeroDivisionError):
                    target(x)
            else:
                assert target(x) == f(x)


def test_bodies_are_merged_after_three_paths_or_as_the_recording_says():
    points = np.random.default_rng(1).normal(size=(4, 6))

    def recordings(outer, own=None):
        piece = td.subtape(programs.four_ifs, merge=own)
        target = td.GuardedTape(lambda x: sum(piece(v) for v in x), merge=outer, on_new_tape="interpret", compile_after=1000)
        for x in points:
            td.gradient(target, x)
        return piece.recordings, "as a select" in target.explain()

    assert recordings(None) == (4, True)
    assert recordings(True) == recordings(None, True) == recordings(False, True) == (2, True)
    assert recordings(False) == recordings(True, False)
    count, is_merged = recordings(False)
    assert count > 4
    assert not is_merged


def test_a_body_of_two_paths_is_not_merged():
    piece = td.subtape(lambda v: v**2 if v > 0 else -v, name="bent")
    tape = td.record(lambda x: sum(piece(v) for v in x), POINTS[0])
    assert tape(POINTS[1]) == sum(piece(v) for v in POINTS[1])
    assert piece.recordings == 2
    assert "as a select" not in piece.explain()


def test_calls_that_need_each_others_results_keep_the_paths_of_a_body_whose_sides_cost_more(monkeypatch):
    def apart(piece):
        return lambda x: sum(piece(v) for v in x)

    def recurrence(piece):
        return lambda x: functools.reduce(lambda s, v: 0.9 * s + piece(v + 0.1 * s), x, x[0])

    points = np.random.default_rng(1).normal(size=(3, 6))
    for is_quick in (False, True):
        monkeypatch.setattr(merged_body.MergedBody, "_is_quick", lambda *_, is_quick=is_quick: is_quick)
        for form, is_merged in ((apart, True), (recurrence, is_quick)):
            tape = td.record(form(td.subtape(programs.four_ifs)), points[0])
            callees = {i.params[0] for i in tape.instructions if i.op is CALL}
            assert {callee.is_merged for callee in callees} == {is_merged}
            for x in points:
                agree(form(programs.four_ifs), tape, x)


def test_tapes_that_were_compiled_before_take_the_merged_variant_as_well():
    piece = td.subtape(programs.largest)
    compiled = td.compile(lambda x: piece(x[0]) + piece(x[1]), np.array([2.0, 2.0]))
    for x in (np.array([2.0, 2.0]), np.array([-2.0, 0.2]), np.array([-0.3, 0.35]), np.array([-0.4, 0.52]), np.array([0.05, -0.7])):
        agree(lambda x: programs.largest(x[0]) + programs.largest(x[1]), compiled, x)
    assert piece.recordings == 4, piece.explain()


def test_kernels_second_derivatives_and_batches_of_merged_bodies_are_those_of_paths():
    x, v = np.array([0.3, -0.7, 1.2, 0.1, -0.2]), np.array([1.0, 0.5, -0.3, 0.2, 0.7])
    batch = np.stack([x, x[::-1], -x])

    def target(merge):
        piece = td.subtape(programs.four_ifs, merge=merge)
        body = lambda c, w: (0.5 * c + piece(w) * c, programs.returns_early(c + w))
        return td.GuardedTape(lambda x: sum(td.scan(body, x[0], x)[1]) + sum(piece(v) ** 2 for v in x), merge=merge)

    merged, paths = target(True), target(False)
    for point in (x, -x):
        for verb in (td.gradient, td.hessian):
            assert np.allclose(verb(merged, point), verb(paths, point), rtol=1e-10)  # sums in another order
        assert np.allclose(td.hvp(merged, point, v), td.hvp(paths, point, v), rtol=1e-10)
    values, gradients = merged.batch(batch)
    assert np.allclose(values, [paths(row) for row in batch], rtol=1e-12)
    assert np.allclose(gradients, [td.gradient(paths, row) for row in batch], rtol=1e-10)
    of_numba, gradient = merged.as_numba(), np.empty(5)
    assert np.isclose(of_numba(x, gradient), paths(x), rtol=1e-12)
    assert np.allclose(gradient, td.gradient(paths, x), rtol=1e-10)


def test_a_body_that_changes_state_stays_paths_and_warns():
    seen = []

    def keeps(v):
        seen.append(1)
        if v > 0.5:
            return v * v
        return v if v > 0 else -v

    piece = td.subtape(keeps, merge=True)
    with pytest.warns(td.GuardWarning, match="changes more than its results"):
        tape = td.record(lambda x: piece(x[0]) + piece(x[1]) + piece(x[2]), np.array([1.0, 0.2, -1.0]))
    assert len(seen) == piece.recordings == 3
    assert tape(np.array([-1.0, 1.0, 0.2])) == tape(np.array([1.0, 0.2, -1.0]))
    assert "changes more than its results" in piece.explain()


def test_a_merged_body_that_differs_from_a_path_is_not_used(monkeypatch):
    chosen = Choices.choose
    monkeypatch.setattr(Choices, "choose", lambda self, mark, place, test, yes, no, flags: chosen(self, mark, place, test, no, yes, flags))
    piece = td.subtape(programs.four_ifs)
    tape = td.record(lambda x: sum(piece(v) for v in x), POINTS[0])
    for x in POINTS:
        assert np.isclose(tape(x), sum(map(programs.four_ifs, x)), rtol=1e-14)
    assert "the merged form differs from a path" in piece.explain()


def test_a_later_path_that_cannot_be_merged_leads_back_to_paths(unchecked):
    def body(v):
        y = 1.0
        if v > 0.5:
            y = v
        if v < -1.0:
            k = len([w for w in (0.1, 0.2) if w < int(v > -1.7) + 0.15])  # looks at a value
            y = y * k
            if v < -1.5:
                y = np.float32(2.0) * y if k else y
        return y * v

    piece = td.subtape(body, merge=True)
    target = td.GuardedTape(lambda x: piece(x[0]) + piece(x[1]), merge=True, on_new_tape="interpret", compile_after=1000)
    for x in ([1.0, 0.1], [-1.2, 0.7], [-2.0, -1.7], [0.2, -3.0], [1.0, 2.0]):
        agree(lambda x: body(x[0]) + body(x[1]), target, np.array(x))


def paths_below_a_barrier(p):
    """A scan of scans with two short branches: the inner one is taken long after the outer body was merged."""

    def day(state, shock):
        price, alive = state
        price = price * np.exp(0.1 * p[1] * shock)
        if price < 0.7:
            alive = 0.0 * alive
        return (price, alive), None

    def path(total, shocks):
        (price, alive), _ = td.scan(day, (p[0], 1.0), shocks)
        if price > 1.0:
            total = total + alive * (price - 1.0) * p[2]
        return total, None

    return td.scan(path, 0.0, np.random.default_rng(4).normal(size=(16, 12)) + np.linspace(0.8, -0.8, 16)[:, None])[0] * p[3]


def test_loops_of_loops_are_merged_at_two_paths_and_have_no_others():
    """All their iterations then run together, as nothing is carried into the inner loop but numbers of its own."""
    tape = td.record(paths_below_a_barrier, np.array([1.1, 1.0, 0.5, 1.5]))
    (outer,) = (i.params[0].only_tape() for i in tape.instructions if i.op is LOOP)
    (inner,) = (i.params[0].only_tape() for i in outer.instructions if i.op is LOOP)
    assert inner is not None
    compiled = td.compile(tape)
    assert not any(i.params[0].may_branch for i in compiled.kernel((0,)).tape.instructions if i.op is LOOP)
    for x in (np.array([1.1, 1.0, 0.5, 1.5]), np.array([0.9, 2.0, -0.5, 1.0]), np.array([0.5, 0.1, 0.5, 1.5])):
        agree(paths_below_a_barrier, compiled, x)
        np.testing.assert_allclose(td.gradient(compiled, x), td.gradient(tape, x), rtol=1e-12, atol=1e-14)  # sums in another order


def test_a_pickled_tape_keeps_its_merged_bodies():
    piece = td.subtape(programs.four_ifs, merge=True)
    compiled = td.compile(lambda x: td.scan(lambda c, v: (c + piece(v), None), x[0] * 0.0, x)[0], POINTS[0])
    again = pickle.loads(pickle.dumps(compiled))
    for x in POINTS:
        assert np.allclose(td.gradient(again, x), td.gradient(compiled, x), rtol=1e-14)


def test_arrays_that_may_go_through_a_body_unchanged_keep_its_paths():
    def body(v, a):
        w = abs(v)
        while w < 1.0:
            a = a * 1.5
            w = w + 0.4
        return a

    def f(x):
        piece = td.subtape(body, merge=True)
        b = piece(x[0], x[1:] * 2.0)
        b[0] = 3.0
        return np.sum(b**2) * x[1]

    target = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)
    for x in (np.array([0.1, 0.2, 0.3]), np.array([0.7, 0.2, 0.3]), np.array([-0.4, 0.2, 0.3])):
        agree(f, target, x)


def test_a_recording_or_compilation_that_merges_asks_it_of_bodies():
    for made in (td.record, td.compile):
        piece = td.subtape(programs.four_ifs)
        tape = made(lambda x, piece=piece: sum(piece(v) for v in x), POINTS[0], merge=True)
        for x in POINTS:
            assert np.isclose(tape(x), sum(map(programs.four_ifs, x)), rtol=1e-14)
        assert piece.recordings == 2


@pytest.mark.parametrize("seed", range(5))
def test_random_programs_have_the_same_answers_as_merged_bodies(seed):
    text, faults, _ = faults_of(seed, 3, FORMS[seed])
    assert not faults, text + "\n".join(faults)
