"""Data in Stan's JSON format: values, types, indices, refusals, and a posterior that takes them."""

import json

import numpy as np
import pytest

import tapediff as td
from tapediff.stats import norm


def written(tmp_path, text):
    path = tmp_path / "data.json"
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


def test_numbers_arrays_and_tuples_are_read_with_their_types(tmp_path):
    path = written(tmp_path, """{
        "N": 3, "x": 2.5, "y": [1, 2.5, "NaN"], "k": [1, 2, 3], "m": [[1.0, 2.0], [3, 4]], "far": ["Inf", "-Infinity", "+inf"], "none": [],
        "pair": {"2": [1, 2], "1": 0.5}, "pairs": [{"1": 1, "2": 2.0}, {"1": 3, "2": 4.0}], "open": [NaN, -Infinity], "empty": [[], []]
    }""")  # fmt: skip
    data = td.Posterior.data_from_stan_json(path)
    assert (data["N"], type(data["N"]), data["x"]) == (3, int, 2.5)
    np.testing.assert_array_equal(data["y"], [1.0, 2.5, np.nan])
    np.testing.assert_array_equal(data["far"], [np.inf, -np.inf, np.inf])
    assert (data["k"].dtype.kind, data["y"].dtype.kind, data["m"].tolist()) == ("i", "f", [[1.0, 2.0], [3.0, 4.0]])
    assert (data["none"].shape, data["empty"].shape) == ((0,), (2, 0))
    assert data["pair"][0] == 0.5
    np.testing.assert_array_equal(data["pair"][1], [1, 2])
    assert data["pairs"] == [(1, 2.0), (3, 4.0)]
    assert np.isneginf(data["open"][1])


def test_indices_count_from_0_and_the_data_are_those_of_a_posterior(tmp_path):
    path = written(tmp_path, {"N": 4, "group": [1, 2, 2, 1], "y": [0.5, 1, -1, 2]})
    data = td.Posterior.data_from_stan_json(path, indices=["group"])
    np.testing.assert_array_equal(data["group"], [0, 1, 1, 0])

    def density(a, y, group, N):
        return norm.logpdf(a).sum() + norm.logpdf(y, a[group]).sum() * (N / len(y))

    post, u = td.Posterior(density, a=td.real(2), data=data), np.array([0.1, -0.4])
    assert post.log_density(u) == pytest.approx(post.plain_log_density(u), rel=1e-13)
    more = td.Posterior.data_from_stan_json(written(tmp_path, {"N": 6, "group": [1] * 5 + [2], "y": [1] * 6}), indices="group")
    post.set_data(more)
    expected = norm.logpdf(u).sum() + 5 * norm.logpdf(1.0, 0.1) + norm.logpdf(1.0, -0.4)
    assert post.log_density(u) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": [1, 2', "is not JSON(?s:.*)line 1"),
        ("[1, 2]", "has no names(?s:.*)got: a JSON list"),
        ('{"a": [[1, 2], [3]]}', "a has rows of different lengths"),
        ('{"a": [1, [2]]}', "a has rows of different lengths"),
        ('{"a": [1, null]}', r"a\[2\] is no number(?s:.*)got: null"),
        ('{"a": true}', "a is no number(?s:.*)got: true"),
        ('{"a": "five"}', 'a is no number(?s:.*)got: "five"'),
        ('{"a": 9223372036854775808}', "a is no number"),
        ('{"a": {"x": 1}}', "a is an object, and no tuple(?s:.*)got: x"),
        ('{"a": {"1": 1, "3": 1}}', "a is an object, and no tuple"),
        ('{"i": [0, 1]}', "i are not Stan's indices(?s:.*)from 0"),
        ('{"i": [1.5]}', "i are not Stan's indices(?s:.*)float64"),
        ('{"j": [1]}', "i are not Stan's indices(?s:.*)got: j"),
    ],
)
def test_what_stan_does_not_write_is_refused_with_its_place(tmp_path, text, told):
    with pytest.raises(td.PosteriorError, match=told) as raised:
        td.Posterior.data_from_stan_json(written(tmp_path, text), indices=["i"])
    assert all(part in str(raised.value) for part in ("at:  test_stan_json.py", "got: ", "fix: "))
