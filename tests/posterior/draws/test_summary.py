"""Tables of draws: names, numbers and print; draws in all forms."""

import numpy as np
import pytest

import tapediff as td
from tapediff.posterior.draws import diagnostics


def model(n=3):
    return td.Posterior(
        lambda mu, z, y: -(mu**2) - (z**2).sum() - ((y - mu) ** 2).sum(), mu=td.real(), z=td.real(dims="site"), data={"y": np.zeros(n)},
        coords={"site": ["north", "south"]}, generated=lambda mu, z: {"total": mu + z.sum()},
    )  # fmt: skip


def drawn(chains=4, draws=50):
    rng = np.random.default_rng(0)
    return {"mu": rng.normal(size=(chains, draws)), "z": rng.normal(size=(chains, draws, 2))}


def test_rows_have_the_names_of_coords_and_columns_the_numbers_of_the_draws():
    post, draws = model(), drawn()
    table = post.summary(draws, quantiles=(0.1, 0.5))
    assert table.names == ("mu", "z[north]", "z[south]")
    assert [*table.columns] == ["mean", "sd", "10%", "50%", "mcse_mean", "mcse_sd", "ess_bulk", "ess_tail", "r_hat"]
    south = draws["z"][:, :, 1]
    row = table["z[south]"]
    assert (row["mean"], row["sd"], row["10%"]) == pytest.approx((south.mean(), south.std(ddof=1), np.quantile(south, 0.1)), rel=1e-13)
    assert row["ess_bulk"] == diagnostics.bulk_size(south[..., None])[0]
    assert post.summary(draws, names="mu").names == ("mu",)
    lines = str(table).splitlines()
    assert lines[0].split() == [*table.columns]
    assert [line.split()[0] for line in lines[1:]] == [*table.names]
    assert len({len(line) for line in lines}) == 1
    with pytest.raises(KeyError):
        table["nu"]


def test_draws_of_one_chain_and_generated_quantities_are_taken_too():
    post = model()
    draws = post.laplace().sample(200)
    table = post.summary({**draws, **post.generate(draws)})
    assert table["total"]["mean"] == pytest.approx((draws["mu"] + draws["z"].sum(axis=1)).mean(), rel=1e-12)
    assert np.isnan(table["mu"]["r_hat"])  # one chain
    assert np.isfinite(table["mu"]["ess_bulk"])


def test_a_draw_that_is_not_finite_has_no_effective_size_and_leaves_others_alone():
    draws = drawn()
    draws["mu"][2, 7] = np.inf
    table = model().summary(draws)
    assert np.isnan(table["mu"]["ess_bulk"])
    assert np.isfinite(table["z[north]"]["ess_bulk"])


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda p, d: p.summary({"mu": d["mu"]}), r"the draws have no 'z'"),
        (lambda p, d: p.summary({**d, "z": d["z"][:, :40]}), r"different numbers of draws"),
        (lambda p, d: p.summary({**d, "z": d["z"][..., :1]}), r"do not end in the shape \(2,\)"),
        (lambda p, d: p.summary({**d, "other": d["mu"][:, :3]}), r"do not begin with the axes \(4, 50\)(?s:.*)got: other"),
        (lambda p, d: p.summary({k: v[None] for k, v in d.items()}), r"one axis, or two"),
        (lambda p, d: p.summary({k: v[:, :3] for k, v in d.items()}), r"at least 4 draws"),
        (lambda p, d: p.summary(d, names=["nu"]), r"no draws of these names(?s:.*)got: nu(?s:.*)some of mu, z"),
        (lambda p, d: p.summary(d, quantiles=[5, 95]), r"quantiles are between 0 and 1"),
        (lambda p, d: p.summary(3.0), r"a dict of arrays, or a tree of ArviZ(?s:.*)got: float"),
    ],
)
def test_draws_that_do_not_fit_are_told(call, told):
    """With the four parts: what, the line, what was found, and what to do."""
    with pytest.raises(td.PosteriorError, match=rf"{told}") as raised:
        call(model(), drawn())
    assert "at:  test_summary.py" in str(raised.value)
    assert "got: " in str(raised.value)
    assert "fix: " in str(raised.value)
