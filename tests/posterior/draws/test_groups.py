"""ArviZ's groups with names and coordinates, in the trees of both versions, and files of draws."""

import sys
import zipfile

import numpy as np
import pytest

import tapediff as td
from tapediff.stats import halfnorm, norm

Y = np.array([0.3, -0.2, 1.1, 2.4])
OF_ALL_GROUPS = {"posterior", "posterior_predictive", "log_likelihood", "prior", "prior_predictive", "observed_data"}


def model(**options):
    def density(mu, scale, effect, y):
        return norm.logpdf(mu) + halfnorm.logpdf(scale) + norm.logpdf(effect).sum() + norm.logpdf(y, mu + effect[0], scale).sum()

    given = {
        "data": {"y": Y}, "coords": {"person": list("abcd"), "side": ["left", "right"]}, "dims": {"y": "person", "shifted": "side"},
        "prior": lambda rng: {"mu": rng.normal(), "scale": abs(rng.normal()), "effect": rng.normal(size=2)},
        "generated": lambda mu, scale, effect, y, key: {"y": td.random.normal(key, len(y), mu, scale), "shifted": mu + effect},
        "log_likelihood": lambda mu, scale, effect, y: {"y": norm.logpdf(y, mu + effect[0], scale)},
    }  # fmt: skip
    return td.Posterior(density, mu=td.real(), scale=td.positive(), effect=td.real(dims="side"), **{**given, **options})


def drawn(chains=2, draws=30):
    rng = np.random.default_rng(0)
    return {
        "mu": rng.normal(size=(chains, draws)), "scale": rng.uniform(1, 2, size=(chains, draws)), "effect": rng.normal(size=(chains, draws, 2)),
    }  # fmt: skip


def names(tree):
    return {*tree.children} if hasattr(tree, "children") else {*tree.groups()}


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_a_tree_has_all_groups_with_chains_draws_and_the_dimensions_of_their_names():
    pytest.importorskip("arviz")
    post, draws = model(), drawn()
    tree = post.to_arviz(draws, prior=7, seed=3)
    assert names(tree) == OF_ALL_GROUPS
    for group in OF_ALL_GROUPS - {"observed_data"}:
        for name in tree[group].data_vars:
            assert tree[group][name].dims[:2] == ("chain", "draw")
        assert list(tree[group]["draw"].values) == list(range(7 if "prior" in group else 30))
    for group in ("posterior_predictive", "prior_predictive", "log_likelihood"):
        assert tree[group]["y"].dims == ("chain", "draw", "person")
        assert list(tree[group]["person"].values) == list("abcd")
    assert list(tree["posterior"]["shifted"].coords["side"].values) == ["left", "right"]
    np.testing.assert_array_equal(tree["observed_data"]["y"].values, Y)
    np.testing.assert_array_equal(tree["posterior"]["mu"].values, draws["mu"])
    np.testing.assert_allclose(tree["posterior"]["shifted"].values, draws["mu"][..., None] + draws["effect"], rtol=1e-14)
    expected = norm.logpdf(Y, (draws["mu"] + draws["effect"][..., 0])[..., None], draws["scale"][..., None])
    np.testing.assert_allclose(tree["log_likelihood"]["y"].values, expected, rtol=1e-12)
    drawn_before = post.sample_prior(7, seed=3)
    for group, name in (("prior", "mu"), ("prior", "shifted"), ("prior_predictive", "y")):
        np.testing.assert_array_equal(tree[group][name].values[0], drawn_before[name])
    assert "y" not in tree["posterior"]
    assert "y" not in tree["prior"]


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_arviz_takes_the_tree_and_agrees_with_the_table():
    """ArviZ's own functions find what they look for; both versions have loo and ess, with the same numbers as ours."""
    arviz = pytest.importorskip("arviz")
    post = model()
    tree = post.to_arviz({name: values.reshape(4, 500, *values.shape[1:]) for name, values in post.laplace().sample(2000).items()})
    table = post.summary(tree)
    np.testing.assert_allclose(np.ravel(arviz.ess(tree, method="bulk")["mu"].values), table["mu"]["ess_bulk"], rtol=1e-9)
    np.testing.assert_allclose(np.ravel(arviz.rhat(tree)["scale"].values), table["scale"]["r_hat"], rtol=1e-9)
    ours = post.loo(tree)
    theirs = arviz.loo(tree)
    if hasattr(theirs, "elpd_loo"):
        assert ours.elpd == pytest.approx(theirs.elpd_loo, rel=1e-9)
    else:  # 1.x rounds the length of the tail down, and not up as Vehtari et al. 2024: some k are 0.7, where that counts
        assert ours.elpd == pytest.approx(theirs.elpd, abs=0.05)


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_data_of_another_length_get_new_coordinates():
    """Counted ones follow; names have to be given anew, and the error says how."""
    pytest.importorskip("arviz")
    post = model(coords={"person": 4, "side": 2})
    post.set_data(y=np.arange(6.0))
    tree = post.to_arviz(drawn())
    assert tree["log_likelihood"]["y"].shape == (2, 30, 6)
    assert list(tree["posterior_predictive"]["person"].values) == [0, 1, 2, 3, 4, 5]
    post = model()
    post.set_data(y=np.arange(6.0))
    with pytest.raises(td.PosteriorError, match=r"6 entries along 'person'(?s:.*)got: 4 names(?s:.*)post.coords\['person'\]"):
        post.to_arviz(drawn())
    post.coords["person"] = tuple("abcdef")
    assert list(post.to_arviz(drawn())["log_likelihood"]["person"].values) == list("abcdef")
    with pytest.raises(td.PosteriorError, match=r"'shifted' has 1 axes"):
        model(dims={"shifted": ("side", "more")}).to_arviz(drawn())


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_log_likelihoods_by_name_leave_the_posterior_for_their_group():
    pytest.importorskip("arviz")
    post = model(generated=lambda mu, y: {"each": norm.logpdf(y, mu), "twice": 2 * mu}, log_likelihood="each", dims={"each": "person"})
    tree = post.to_arviz(drawn(), prior=5)
    assert tree["log_likelihood"]["each"].dims == ("chain", "draw", "person")
    assert "each" not in tree["posterior"]
    assert "each" not in tree["prior"]
    assert "twice" in tree["posterior"]
    again = post.to_arviz(tree)
    np.testing.assert_array_equal(again["log_likelihood"]["each"].values, tree["log_likelihood"]["each"].values)


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_what_a_tree_has_is_kept_and_not_drawn_again():
    """Replicated data are the only ones that `generated` returns here, so that the posterior does not tell."""
    pytest.importorskip("arviz")
    post = model(generated=lambda mu, scale, y, key: {"y": td.random.normal(key, len(y), mu, scale)})
    tree = post.to_arviz(drawn(), seed=1)
    again = post.to_arviz(tree, prior=5, seed=2)
    np.testing.assert_array_equal(again["posterior_predictive"]["y"].values, tree["posterior_predictive"]["y"].values)
    assert again["prior_predictive"]["y"].shape == (1, 5, 4)


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_a_sampled_tree_has_the_groups_too():
    """With the sampler's statistics, which the diagnosis reads; and log likelihoods by name leave the posterior."""
    pytest.importorskip("nutpie")
    options = {"tune": 100, "seed": 1, "progress_bar": False, "cores": 1}
    post = model()
    tree = post.sample(100, 2, **options)
    assert names(tree) >= OF_ALL_GROUPS - {"prior", "prior_predictive"} | {"sample_stats"}
    assert tree["log_likelihood"]["y"].dims == ("chain", "draw", "person")
    assert tree["posterior"]["effect"].dims == ("chain", "draw", "side")
    assert post.diagnose(tree).unknown == ()
    assert post.loo(tree).elpd == pytest.approx(post.loo({name: tree["posterior"][name].values for name in post.shapes}).elpd, abs=0.5)
    named = model(generated=lambda mu, y: {"each": norm.logpdf(y, mu)}, log_likelihood="each", dims={"each": "person"})
    tree = named.sample(100, 2, **options)
    assert "each" in tree["log_likelihood"]
    assert "each" not in tree["posterior"]


def test_draws_in_files_are_the_draws(tmp_path):
    """To the bit, with all groups, under the name given; a tree from them has these groups."""
    post = model()
    path = tmp_path / "of.draws"
    post.save_draws(path, drawn())
    assert [*tmp_path.iterdir()] == [path]
    found = post.load_draws(path)
    for name, values in drawn().items():
        np.testing.assert_array_equal(found[name], values)
    np.testing.assert_array_equal(post.generate(found)["y"], post.generate(drawn())["y"])
    assert repr(found) == "<Draws: 2 chains of 30; posterior: mu, scale, effect>"
    assert post.loo(found).elpd == post.loo(drawn()).elpd
    post.save_draws(path, {name: values[0] for name, values in drawn().items()})
    assert post.load_draws(path)["effect"].shape == (1, 30, 2)
    assert not any(b"pickle" in zipfile.ZipFile(path).read(name)[:200] for name in zipfile.ZipFile(path).namelist())


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_files_keep_the_groups_of_a_tree(tmp_path):
    pytest.importorskip("arviz")
    post = model()
    tree = post.to_arviz(drawn(), prior=5)
    post.save_draws(tmp_path / "all.npz", tree)
    found = post.load_draws(tmp_path / "all.npz")
    assert {*found.groups} == OF_ALL_GROUPS
    again = post.to_arviz(found)
    for group in OF_ALL_GROUPS:
        for name in tree[group].data_vars:
            np.testing.assert_array_equal(again[group][name].values, tree[group][name].values)
            assert again[group][name].dims == tree[group][name].dims


def test_files_of_other_things_are_refused(tmp_path):
    """Draws of other parameters, files of others, and objects, which would need pickle; what was there stays."""
    post, path = model(), tmp_path / "draws.npz"
    post.save_draws(path, drawn())
    with pytest.raises(td.PosteriorError, match="the draws have no 'nu'"):
        td.Posterior(lambda nu: -(nu**2), nu=td.real()).load_draws(path)
    with pytest.raises(td.PosteriorError, match=r"cannot be written without pickle(?s:.*)got: posterior/why"):
        post.save_draws(path, {**drawn(), "why": np.full((2, 30), None)})
    assert post.load_draws(path)["mu"].shape == (2, 30)
    np.savez(tmp_path / "other.npz", x=1.0)
    with pytest.raises(td.PosteriorError, match=r"holds no draws of tapediff(?s:.*)got: x"):
        post.load_draws(tmp_path / "other.npz")
    assert {entry.name for entry in tmp_path.iterdir()} == {"draws.npz", "other.npz"}


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    """And no other one beside it."""
    post, path = model(), tmp_path / "draws.npz"
    post.save_draws(path, drawn())
    before = path.read_bytes()

    def full(file, **arrays):
        file.write(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="no space left"):
        post.save_draws(path, {name: values[:, :9] for name, values in drawn().items()})
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


def test_without_arviz_it_says_so_and_tables_need_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    monkeypatch.setitem(sys.modules, "xarray", None)
    post = model()
    assert post.summary(drawn())["mu"]["mean"] == pytest.approx(drawn()["mu"].mean())
    assert post.loo(drawn()).draws == 60
    with pytest.raises(ImportError, match="arviz"):
        post.to_arviz(drawn())
