"""The picture of a model: each term of the log density with what it reads, found on the tape."""

import linecache
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import tapediff as td
from tapediff.posterior.inspection.drawing import HEIGHT, Node, svg
from tapediff.stats import halfcauchy, norm

SCHOOLS = {"y": np.arange(8.0), "sigma": np.full(8, 10.0)}


def schools(mu, tau, z, y, sigma):
    prior = norm.logpdf(z).sum() + norm.logpdf(mu, 0, 5) + halfcauchy.logpdf(tau, 0, 5)
    return prior + norm.logpdf(y, mu + tau * z, sigma).sum()


def post(f, data, **parameters):
    return td.Posterior(f, data=data, **parameters)


def test_eight_schools_has_its_terms_and_their_edges():
    graph = post(schools, SCHOOLS, mu=td.real(), tau=td.positive(), z=td.real(8)).graph()
    assert str(graph).splitlines() == [
        "mu: real; tau: positive; z: real[8]; y[8]; sigma[8]",
        "term: norm.logpdf(z)  <-  z",
        "term: norm.logpdf(mu, 0, 5)  <-  mu",
        "term: halfcauchy.logpdf(tau, 0, 5)  <-  tau",
        "term: norm.logpdf(y, mu + tau * z, sigma)  <-  mu; tau; z; y; sigma",
    ]


def test_lines_between_parameters_and_terms_are_nodes():
    """Of several lines, one reads the other; constants, and data that only they read, are left out."""

    def lines(alpha, scale, county, x, y, unread):
        level = np.exp(alpha)[county]
        mean = level + 2.0 * x
        residual = y - mean
        return -0.5 * np.sum((residual / scale) ** 2) - len(y) * np.log(scale) + np.log(unread) - scale

    data = {"county": np.array([0, 1, 1]), "x": np.ones(3), "y": np.ones(3), "unread": 3.0}
    graph = post(lines, data, alpha=td.real(2), scale=td.positive()).graph()
    assert str(graph).splitlines() == [
        "alpha: real[2]; scale: positive; county[3]; x[3]; y[3]",
        "term: scale  <-  scale",
        "line: level = np.exp(alpha)[county]  <-  alpha; county",
        "line: mean = level + 2.0 * x  <-  x; level",
        "line: residual = y - mean  <-  y; mean",
        "term: (residual / scale) ** 2  <-  scale; residual",
        "term: np.log(scale)  <-  scale",
    ]


def test_both_sides_of_branches_and_loops_are_in_it():
    """A term of a loop is one node."""

    def branches(theta, y):
        total = norm.logpdf(theta).sum()
        for k in range(4):
            if theta[k] > 0.0:
                total += norm.logpdf(y[k], theta[k])
            else:
                total += norm.logpdf(y[k], 2.0 * theta[k], 3.0)
        return total

    rows = str(post(branches, {"y": np.ones(4)}, theta=td.real(4)).graph()).splitlines()
    assert rows == [
        "theta: real[4]; y[4]",
        "term: norm.logpdf(theta)  <-  theta",
        "term: norm.logpdf(y[k], theta[k])  <-  theta; y",
        "term: norm.logpdf(y[k], 2.0 * theta[k], 3.0)  <-  theta; y",
    ]


def test_containers_integers_and_text_among_the_data():
    def mixed(mu, groups, kind, count):
        total = norm.logpdf(mu) * count
        for y in groups.values():
            total += norm.logpdf(y, mu if kind == "plain" else 0.0).sum()
        return total

    data = {"groups": {"a": np.ones(2), "b": np.ones(3)}, "kind": "plain", "count": 3}
    assert str(post(mixed, data, mu=td.real()).graph()).splitlines()[1:] == [
        "term: norm.logpdf(mu) * count  <-  mu; count",
        'term: norm.logpdf(y, mu if kind == "plain" else 0.0)  <-  mu; groups',
    ]


def test_the_picture_has_each_node_once_and_no_overlap():
    graph = post(schools, SCHOOLS, mu=td.real(), tau=td.positive(), z=td.real(8)).graph()
    root = ElementTree.fromstring(graph.svg)
    name = "{http://www.w3.org/2000/svg}"
    assert [text.text for text in root.iter(f"{name}text")] == [node.label for node in graph.nodes]
    boxes = [[float(r.get(key)) for key in ("x", "y", "width")] for r in root.iter(f"{name}rect") if r.get("rx")]
    assert len(boxes) == len(graph.nodes)
    assert all(abs(a[1] - b[1]) > HEIGHT or a[0] + a[2] <= b[0] or b[0] + b[2] <= a[0] for k, a in enumerate(boxes) for b in boxes[:k])
    assert len(list(root.iter(f"{name}path"))) == 1 + sum(len(node.parents) for node in graph.nodes)
    assert graph._repr_svg_() == graph.svg
    assert len(re.findall("->", graph.dot)) == sum(len(node.parents) for node in graph.nodes)


def test_labels_are_quoted_and_cut():
    nodes = (Node("a", 'x["<&>"]' + "y" * 100, "data"), Node("b", "b", "term", (0,)))
    shown = next(text.text for text in ElementTree.fromstring(svg(nodes)).iter("{http://www.w3.org/2000/svg}text"))
    assert (shown[:8], shown[-1], len(shown)) == ('x["<&>"]', "…", 70)


def test_a_density_without_a_value_says_so():
    def never(mu):
        return np.linalg.cholesky(-np.eye(2) * (1.0 + mu**2))[0, 0]

    with pytest.raises(td.PosteriorError) as caught:
        post(never, {}, mu=td.real()).graph()
    assert str(caught.value).startswith("the log density has no value where the graph was to be recorded")


def test_a_function_of_many_lines_has_a_graph():
    """Each line reads the one before it: nothing recurses, and no line is read for each other one."""
    lines = "".join(f"    a{k + 1} = 0.5 * a{k} + mu\n" for k in range(1500))
    source = f"def log_density(mu, y):\n    a0 = mu * mu\n{lines}    return -((y - a1500) ** 2)\n"
    linecache.cache["<many lines>"] = len(source), None, source.splitlines(keepends=True), "<many lines>"
    names = {}
    exec(compile(source, "<many lines>", "exec"), names)
    graph = td.Posterior(names["log_density"], mu=td.real(), data={"y": 1.0}).graph()
    assert [node.name for node in graph.nodes if node.kind == "line"] == [f"a{k}" for k in range(1501)]
