"""Explanations: which paths there are, why each was recorded, and how close the others were."""

import logging
import warnings

import numpy as np
import pytest
from support.guarded import A, checked, cube_or_square, line, three_ways

import tapediff as td
from tapediff.base import settings


def test_explain_gives_the_path_of_each_tape_and_why_it_was_recorded():
    """Argument types, specialised and guard values, file:line → outcome, hits, seconds."""

    def g(x, mode):
        if mode == "cubed" and x[0] > 1:
            return x[0] ** 3
        return x[0] ** 2

    safe = td.GuardedTape(g, lambda x, mode: len(mode), merge=False)
    for x in (0.5, 0.7, 2.0):
        if x == 2.0:
            with pytest.warns(td.GuardWarning):
                td.gradient(safe, A([x]), "cubed")
        else:
            td.gradient(safe, A([x]), "cubed")
    td.gradient(safe, A([2.0]), "sq")
    lines = safe.explain().splitlines()
    assert lines[0].startswith("g: 3 of at most 64 tapes; 1 hits, 3 misses, 3 recordings, 0 evictions; 0.0")
    assert [text.split("; recorded in")[0] for text in lines[1:7]] == [
        "  tape 1: float64[1], argument 1 = 'cubed', guard = 5; 1 hits", f"    {line(g, 1)} → False",
        "  tape 2: float64[1], argument 1 = 'cubed', guard = 5; 0 hits", f"    {line(g, 1)} → True",
        "  tape 3: float64[1], argument 1 = 'sq', guard = 2; 0 hits", "    no guards",
    ]  # fmt: skip
    assert lines[7:] == [
        "recorded because", "  1: first call with float64[1], argument 1 = 'cubed', guard = 5",
        f"  2: {line(g, 1)} → True, was False", "  3: first call with float64[1], argument 1 = 'sq', guard = 2",
        "last miss", "  first call with float64[1], argument 1 = 'sq', guard = 2",
        "  closest: tape 2, for float64[1], argument 1 = 'cubed', guard = 5",
        "  differs in: values of arguments that are no arrays, value of the guard",
    ]  # fmt: skip
    assert repr(safe) == f"<GuardedTape of g: 3 tapes; {safe.stats}>"
    assert safe.stats.seconds_compiling > 0


def test_explain_tells_of_the_last_miss_how_close_the_closest_tape_was():
    """The tape with the longest path in common, the guard where they parted, its two sides; of missed recordings too."""
    safe = td.GuardedTape(three_ways, merge=False)
    td.gradient(safe, A([2.0]))
    assert "last miss" not in safe.explain()
    td.gradient(safe, A([0.25]))
    td.gradient(safe, A([-0.5]))
    td.gradient(safe, A([3.0]))
    assert safe.explain().splitlines()[-5:] == [
        "last miss", "  called with float64[1]", "  closest: tape 2", f"  parted at {line(three_ways, 3)} → False, was True",
        "  greater(-0.5, 0.0), margin -0.5",
    ]  # fmt: skip
    failing = td.GuardedTape(checked)
    td.gradient(failing, A([3.0, 4.0]))
    with pytest.raises(AssertionError):
        td.gradient(failing, A([-1.0, 4.0]))
    assert failing.explain().splitlines()[-1] == "  greater(-1.0, 0.0), margin -1"


def test_explain_shows_only_where_long_paths_part():
    """A hundred guards, of which one tells two tapes apart."""
    safe = td.GuardedTape(lambda x: sum(v if v > 0 else -v for v in x), compile_after=9, merge=False)
    x = np.ones(100)
    td.gradient(safe, x)
    x[50] = -1.0
    td.gradient(safe, x)
    explained = safe.explain()
    assert explained.count("→ True") == 1
    assert explained.count("and 99 more guards") == 2


def test_every_recording_is_logged_with_its_reason(caplog):
    """Under the name tapediff, formatted only when somebody listens."""
    safe = td.GuardedTape(cube_or_square, name="density", merge=False)
    with caplog.at_level(logging.INFO, "tapediff"):
        for x in (0.5, 2.0, 0.6):
            td.gradient(safe, A([x]))
    texts = [r.getMessage() for r in caplog.records if r.name == "tapediff"]
    first, second = [text for text in texts if text.startswith("recorded")]
    called = f"; called at {line(test_every_recording_is_logged_with_its_reason, 5)}"
    assert first.startswith("recorded tape 1 of density, ")
    assert first.endswith(f" s: first call with float64[1]{called}")
    assert second.endswith(f" s: {line(cube_or_square, 1)} → True, was False{called}")
    # Kernels are compiled for the same reasons.
    compiled = [text for text in texts if text.startswith("compiled")]
    assert [text.partition(" s: ")[2] for text in compiled] == [text.partition(" s: ")[2] for text in (first, second)]


def test_a_recording_for_other_shapes_says_how_they_differ(caplog):
    safe = td.GuardedTape(lambda x: x[0] * len(x), name="density")
    with caplog.at_level(logging.INFO, "tapediff"):
        for n in (1, 2):
            td.gradient(safe, np.ones(n))
    last = [r.getMessage() for r in caplog.records if r.getMessage().startswith("recorded")][-1]
    assert " (tape 1 differs in: " in last


def test_a_sub_tape_says_which_guard_it_is_recorded_again_for(caplog):
    inner = td.subtape(cube_or_square)
    safe = td.GuardedTape(lambda x: inner(x) + 1.0, merge=False)
    with caplog.at_level(logging.INFO, "tapediff"):
        for x in (0.5, 2.0):
            td.gradient(safe, A([x]))
    texts = [r.getMessage() for r in caplog.records if r.getMessage().startswith("recorded path")]
    assert f"{line(cube_or_square, 1)} → True" in texts[-1]
    assert "first call" in texts[0]


def test_recordings_of_plain_functions_and_td_compile_are_logged(caplog):
    with caplog.at_level(logging.INFO, "tapediff"):
        td.gradient(np.sum, A([1.0, 2.0]))
        td.compile(cube_or_square, A([0.5]))
    texts = [r.getMessage() for r in caplog.records if r.name == "tapediff"]
    assert texts[0].startswith("recorded a tape of sum, ")
    assert texts[1].startswith("recorded a tape of cube_or_square, ")
    assert texts[2].startswith("compiled value and gradient, argument 0, of cube_or_square, ")


def test_a_long_compilation_has_a_message_of_its_own(caplog, monkeypatch):
    """The limit is lowered, as no test depends on the machine's load."""
    monkeypatch.setattr(settings, "LONG_COMPILATION", 0.0)
    with caplog.at_level(logging.INFO, "tapediff"):
        td.compile(cube_or_square, A([0.5]))
    message = caplog.records[-1].getMessage()
    assert message.startswith(f"a call at {line(test_a_long_compilation_has_a_message_of_its_own, 4)} has compiled cube_or_square for ")
    assert "TAPEDIFF_CACHE_DIR" in message


def test_nothing_is_formatted_for_a_log_that_nobody_reads(monkeypatch, caplog):
    caplog.set_level(logging.WARNING, "tapediff")
    monkeypatch.setattr(settings, "user_site", lambda _: pytest.fail("the line was looked up"))
    td.gradient(td.GuardedTape(cube_or_square), A([0.5]))


def integrator(x):
    h, y, t = 0.5 + 0.0 * x[0], x[0], 0.0 * x[0]
    while t < 1.0:
        error = abs(h * y)
        if error < x[1]:
            t = t + h
        h = min(0.5, 0.9 * h * x[1] / error)
    return y * t


@pytest.mark.parametrize("merge", [True, False])
def test_explain_counts_the_ways_of_branches_at_given_points(merge):
    """As plain Python goes, whether the branches are merged or not; kept tapes and their counts stay as they are."""
    safe, points = td.GuardedTape(integrator, merge=merge), [np.array([1.0, 0.3]), np.array([1.5, 0.4])]
    td.gradient(safe, points[0])
    before, explained = safe.stats, safe.explain()
    ways = {"turns": 0, "ends": 0, "accepted": 0, "rejected": 0}
    for x in points:
        h, t = 0.5, 0.0
        while t < 1.0:
            ways["turns"] += 1
            error = abs(h * x[0])
            ways["accepted" if error < x[1] else "rejected"] += 1
            t += h if error < x[1] else 0.0
            h = min(0.5, 0.9 * h * x[1] / error)
        ways["ends"] += 1
    text = safe.explain(points=points)
    assert text.startswith(explained)
    title, *lines = text[len(explained) :].strip().splitlines()
    assert title == "ways that branches go, at 2 points"
    first = integrator.__code__.co_firstlineno
    assert f"  integrator, line {first + 2}: True {ways['turns']}x, False {ways['ends']}x" in lines
    by_most = sorted((("True", ways["accepted"]), ("False", ways["rejected"])), key=lambda way: -way[1])
    assert f"  integrator, line {first + 4}: " + ", ".join(f"{way} {times}x" for way, times in by_most) in lines
    assert (safe.stats, safe.explain()) == (before, explained)
    with pytest.raises(td.TrackedValueEscaped, match="counts of branches"):
        td.record(lambda x: safe.explain(points=[x]) and x[0], points[0])


def test_explain_of_a_function_without_branches_says_so():
    safe = td.GuardedTape(lambda x, y: np.sum(x) * y)
    assert safe.explain(points=[(np.ones(2), 2.0)]).splitlines()[-2:] == ["ways that branches go, at 1 point", "  none look at data"]


@td.subtape
def pulled(v):
    return 0.5 * v * v if abs(v) < 1.0 else abs(v) - 0.5


def test_explain_counts_branches_in_sub_tapes_and_says_that_those_in_loops_are_not_counted():
    safe = td.GuardedTape(lambda x: sum(pulled(v) for v in x))
    lines = safe.explain(points=[np.array([0.5, 2.0, 3.0]), np.array([0.1, 0.2, 5.0])]).splitlines()
    assert lines[-1] == f"  pulled, line {pulled.f.__code__.co_firstlineno + 2}: True 3x, False 3x"
    assert pulled.recordings == 0, "kept variants stay as they are"
    looping = td.GuardedTape(lambda x: td.scan(lambda carry, v: (carry + pulled(v), v), 0.0, x)[0])
    assert "not counted" in looping.explain(points=[np.array([0.5, 2.0])]).splitlines()[-1]


def either(x, *others):
    return np.sum(x**2 if x[0] > 0.5 else x) + sum(np.sum(v) for v in others if type(v) is not str)


def of_a_dict(x, values):
    return np.sum(x) * sum(values.values())


FULL = np.ones(2)
DIFFERING = {
    "other lengths": (either, [(np.ones(n),) for n in range(1, 7)], "its arguments have 3 different shapes", "differs in: shapes"),
    "other dtypes": (
        either, [(FULL, np.ones(2, dtype)) for dtype in (float, np.float32, int, bool)], "its arguments have 3 different dtypes",
        "differs in: dtypes",
    ),
    "other static values": (
        either, [(FULL, text) for text in "abcdef"], "its arguments that are no arrays have 3 different values, such as argument 1 = 'c'",
        "differs in: values of arguments that are no arrays",
    ),
    "other structures": (
        of_a_dict, [(FULL, dict.fromkeys("abcdef"[:n], 1.0)) for n in range(1, 7)],
        "the containers and names of its arguments have 3 different structures", "differs in: structure",
    ),
    "other branches": (
        lambda x: sum(v if v > 0 else -v for v in x), [(A(v) * 1.0,) for v in ([1, 1, 1], [-1, 1, 1], [1, -1, 1], [1, 1, -1])],
        "where Python looks at a value: 2 different outcomes, 3 paths", "parted at",
    ),
    "a tape that was dropped": (
        either, [(np.ones(n),) for n in (1, 2, 3, 1)], "3 different shapes",
        "call with float64[1]; again, as its tape was dropped for newer ones (max_tapes)",
    ),
    "an int that became data": (lambda x, n: np.sum(x) * n, [(FULL, 1), (FULL, 2)], None, "differs in: ints, which are data"),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERING)
def test_warnings_and_explain_name_what_the_calls_differ_in(name):
    """One program for each cause; the warning of too many tapes and the last miss name it, and no other."""
    f, calls, warning, miss = DIFFERING[name]
    safe = td.GuardedTape(f, max_tapes=2, merge=False)
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        for call in calls:
            td.value_and_gradient(safe, *call)
    texts = [str(each.message) for each in met]
    assert len(texts) == (warning is not None)
    assert warning is None or warning in texts[0], texts
    assert ("td.subtape" in "".join(texts)) == (name == "other branches")
    assert miss in safe.explain(), safe.explain()


def test_the_warning_names_the_first_argument_where_that_is_no_array():
    """The tapes are of the values alone, or of derivatives in other arguments."""
    safe = td.GuardedTape(lambda text, x: either(x, text), max_tapes=2, merge=False)
    for text in "ab":
        td.gradient(safe, text, FULL, argnums=1)
    with pytest.warns(td.GuardWarning, match="such as argument 0 = 'c'"):
        td.gradient(safe, "c", FULL, argnums=1)


def test_a_notebook_shows_what_explain_prints_escaped():
    safe = td.GuardedTape(lambda x: np.sum(x), name="<script>")
    td.gradient(safe, A([1.0]))
    explained = safe.explain()
    assert isinstance(explained, str)
    assert "&lt;script&gt;: 1 of at most 64 tapes" in explained._repr_html_()
    assert "<script>" not in explained._repr_html_()
