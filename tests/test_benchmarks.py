"""The benchmarks run: right answers by every engine that is always installed, wrong ones found, ratios held against bands."""

import json

import numpy as np
import pytest

import tapediff as td
from benchmarks import calls, check, derivative_problems, derivatives, engines, plot, run, sizes, timing
from benchmarks.problem import Problem
from benchmarks.problems import PROBLEMS

# The posteriors have tests of their own, against Stan.
TESTED = [p for p in PROBLEMS if not p.is_slow and p.stan is None]


@pytest.mark.parametrize("problem", TESTED, ids=lambda problem: problem.name)
def test_every_engine_gives_the_same_gradient(problem):
    """Values and gradients agree with the hand-written or the uncompiled ones to 1e-10, and with finite differences to 1e-5."""
    chosen = [e for e in engines.ENGINES if e not in engines.OPTIONAL and engines.applies(e, problem)]
    assert timing.check(problem, {engine: engines.ENGINES[engine](problem) for engine in chosen}) == {}


def engine_of(gradient, value=lambda x: np.sum(x**2)):
    return lambda point: (lambda: (value(point), gradient(point)), engines.both)


SQUARES = Problem("squares", "squares", lambda x, np=np: np.sum(x**2), (np.arange(1.0, 4.0),))


def test_a_wrong_gradient_and_a_wrong_value_are_found():
    """By their difference from the first engine; a wrong first engine, by finite differences."""
    right, wrong = engine_of(lambda x: 2 * x), engine_of(lambda x: 2 * x + 1e-6)
    shifted = engine_of(lambda x: 2 * x, lambda x: np.sum(x**2) + 1e-6)
    found = timing.check(SQUARES, {"uncompiled": right, "compiled": wrong, "jax.jit": right, "CasADi": shifted})
    assert set(found) == {"compiled", "CasADi"}
    with pytest.raises(timing.WrongAnswer, match="finite differences"):
        timing.check(SQUARES, {"uncompiled": engine_of(lambda x: 3 * x)})


def test_every_call_is_timed():
    """The one with more to do takes longer: 2000 numbers are summed in Python by one, none by the other."""
    slow = engine_of(lambda x: 2 * x, lambda x: sum(range(2000)))
    times = timing.best_microseconds(SQUARES, {"a": engine_of(lambda x: 2 * x), "b": slow}, seconds_each=0.01)
    assert 0 < times["a"] < times["b"]


def test_a_ratio_is_measured_again_before_it_is_called_a_regression():
    """The best of a few attempts counts, and the first that is within the band ends them."""
    ratios = iter([9.0, 2.0, 1.2, 7.0])
    assert check.verdict(lambda: next(ratios), band=1.0) == 1.2
    assert next(ratios) == 7.0
    assert check.verdict(lambda: 1.6, band=1.0) == 1.6


def test_every_band_belongs_to_a_problem():
    """bands.json has a positive ratio for each of the problems that are checked, and for no other."""
    bands = json.loads(check.BANDS.read_text())
    assert list(bands) == list(check.YARDSTICKS)
    assert all(band > 0 for band in bands.values())


def test_stans_times_are_those_of_the_posteriors():
    """Each posterior of the tests has one."""
    from posteriors import models

    assert sorted(p.name for p in PROBLEMS if p.stan) == sorted(f"posterior_{name}" for name in models.MODELS)


def test_a_run_writes_a_table_and_json(tmp_path, capsys):
    """With the ratios and their geometric means; what fails is named, and costs the exit status."""
    path = tmp_path / "results.json"
    arguments = ["--quick", "--only", "two_tails", "--json", str(path)]
    assert run.main([*arguments, "--engines", "NumPy value", "compiled", "by hand"]) == 0
    printed = capsys.readouterr().out
    assert "| two paths in turns" in printed
    result = json.loads(path.read_text())
    times = result["rows"][0]["microseconds"]
    assert result["geometric means"]["compiled / by hand"] == pytest.approx(
        times["compiled"] / times["by hand"], rel=1e-12
    )  # of one
    assert result["rows"][0]["kernel"]["groups"] > 0


def test_the_best_of_several_runs_is_the_least_time_of_each_engine():
    """Over the problems and engines of the first run; others may have fewer."""
    runs = [
        {
            "rows": [
                {"problem": "a", "microseconds": {"x": 2.0, "y": 1.0}},
                {"problem": "b", "microseconds": {"x": 4.0}},
            ]
        },
        {"rows": [{"problem": "a", "microseconds": {"x": 1.5}}]},
    ]
    best = run.best_of(runs)
    assert [row["microseconds"] for row in best["rows"]] == [{"x": 1.5, "y": 1.0}, {"x": 4.0}]
    assert best["runs"] == 2


def test_an_engine_that_fails_is_told_and_not_timed(monkeypatch):
    """The others are."""

    def broken(problem):
        raise RuntimeError("no such thing")

    monkeypatch.setitem(engines.ENGINES, "uncompiled", broken)
    problem = next(p for p in PROBLEMS if p.name == "sum")
    options = type("Options", (), {"quick": True, "processor_time": True})
    row = run.measure(problem, ["uncompiled", "compiled"], options)
    assert row["failures"] == {"uncompiled": "RuntimeError: no such thing"}
    assert set(row["microseconds"]) == {"compiled"}
    assert "fails" in run.table([row], ["uncompiled", "compiled"])


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_results_are_drawn(tmp_path, suffix):
    """As a picture of either kind, also where an engine has no time for a problem, or a problem none at all."""
    pytest.importorskip("matplotlib")
    times = {"NumPy value": 3.0, "compiled": 1.0, "by hand": 0.5, "jax.jit": 9.0}
    rows = [{"title": "all", "microseconds": times}, {"title": "one", "microseconds": {"compiled": 1234.5}}]
    picture = tmp_path / f"picture.{suffix}"
    plot.draw({"rows": [*rows, {"title": "none", "microseconds": {}}]}, picture)
    assert picture.stat().st_size > 10_000


def test_the_speed_that_the_readme_shows_is_the_measured_one(tmp_path):
    """Every time in measured.json stands in the table of README.md, and every problem that is shown is there."""
    measured = json.loads(plot.MEASURED.read_text())
    notes = plot.HERE.joinpath("README.md").read_text().partition(f"## The table of {measured['date']}")[2]
    table = {row.split("|")[1].strip(): row for row in notes.splitlines() if row.startswith("|")}
    for row in measured["rows"]:
        cells = [cell.strip() for cell in table[row["title"]].split("|")]
        assert {float(cell) for cell in cells[2:11] if cell} == set(row["microseconds"].values()), row["title"]
    assert set(plot.SHOWN) <= {row["title"] for row in measured["rows"]}
    pytest.importorskip("matplotlib")
    plot.draw_speed(measured, tmp_path / "speed.svg")
    assert (tmp_path / "speed.svg").stat().st_size > 10_000


SMALL = [d for d in derivative_problems.DERIVATIVE_PROBLEMS if d.small]


@pytest.mark.parametrize("derivative", SMALL, ids=lambda derivative: derivative.name)
def test_every_derivative_that_is_timed_is_right(derivative):
    """At another point than the recorded one: its product with a direction is that of finite differences."""
    derivatives.check(derivative, derivatives.compiled(derivative), {})


def test_blocks_of_a_sparse_jacobian_hold_all_its_entries():
    """The sum of squares of the blocks is that of the matrix: each entry is in one block, which JAX's are compared with."""
    derivative = derivative_problems.BY_NAME["sparse_jacobian_bundle_adjustment"]
    matrix = derivatives.compiled(derivative)(derivative.point)()
    blocks = derivatives.dense(derivative, matrix)
    assert blocks.shape == (1000, 2, 15)
    assert np.sum(blocks**2) == pytest.approx(np.sum(matrix.data**2), rel=1e-12)  # sums in different orders


def test_a_wrong_derivative_is_found():
    """By finite differences, and by its difference from another engine."""
    derivative = derivative_problems.BY_NAME["hessian_rosenbrock_10"]
    right = derivatives.compiled(derivative)
    twice = lambda x: lambda: 2.0 * right(x)()
    with pytest.raises(timing.WrongAnswer, match="finite differences"):
        derivatives.check(derivative, twice, {})
    with pytest.raises(timing.WrongAnswer, match="off jacfwd"):
        derivatives.check(derivative, right, {"jacrev": right, "jacfwd": twice})


def test_a_run_of_derivatives_writes_a_table_and_json(tmp_path, capsys, monkeypatch):
    """With the ratios to a gradient and, where there is another engine, to the better of its ways."""
    path = tmp_path / "results.json"
    monkeypatch.setattr(derivatives.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(derivatives, "jax_versions", lambda derivative: {"hessian": derivatives.compiled(derivative)})
    assert derivatives.main(["--quick", "--only", "hessian_lotka", "--json", str(path)]) == 0
    assert "| hessian: Lotka-Volterra" in capsys.readouterr().out
    result = json.loads(path.read_text())
    assert [row["problem"] for row in result["rows"]] == ["hessian_lotka_volterra_euler"]
    (row,) = result["rows"]
    times = row["microseconds"]
    assert row["jax"] == "hessian"
    assert result["geometric means"]["hessian / gradient"] == pytest.approx(times["compiled"] / times["gradient"])  # of one


def test_every_band_of_a_derivative_belongs_to_a_problem():
    """derivative_bands.json has a positive ratio for each of those that are checked, and for no other."""
    bands = json.loads(derivatives.BANDS.read_text())
    assert list(bands) == list(derivatives.CHECKED)
    assert all(band > 0 for band in bands.values())
    assert set(bands) <= set(derivative_problems.BY_NAME)


def test_every_kind_of_call_gives_its_answer_and_has_a_band():
    """Each answer is compared before it is timed; a call without a band, or a band without a call, is found."""
    bands = json.loads(calls.BANDS.read_text())
    assert list(bands) == [name for name in calls.prepared() if name != calls.ONE_ARRAY]
    assert all(band > 0 for band in bands.values())


def test_arrays_of_any_length_are_compared_and_timed():
    """Two recordings serve all of a few lengths; a wrong gradient is found."""
    recordings, *times = sizes.row(sizes.PROBLEMS["edges"], 5).split("|")
    assert int(recordings) in (2, 3)
    assert all(float(time) >= 0 for time in times if time.strip())
    wrong = td.GuardedTape(lambda t, x: np.sum(x) * td.stop_gradient(t[0]))
    problem = sizes.Problem(lambda t, x: np.sum(x) * t[0], sizes.series)
    with pytest.raises(AssertionError):
        sizes.compare(problem, wrong, (np.ones(3),))
