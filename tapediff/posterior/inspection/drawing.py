"""Pictures of graphs in layers, as SVG and in Graphviz's language."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

# Pixels: of a letter, a box, and the space between boxes and between layers.
LETTER, HEIGHT, MARGIN, BETWEEN, LAYER = 6.7, 30, 12, 18, 78
LONGEST = 70
SWEEPS = 8
COLOURS = {"parameter": "#ffffff", "data": "#d9d9d9", "line": "#f5f5ee", "term": "#dcebfb"}


class Node(NamedTuple):
    """A box of a picture.

    Attributes:
        name: short.
        label: shown in the box.
        kind: "parameter", "data", "line" or "term".
        parents: the positions of the nodes that it reads.
    """

    name: str
    label: str
    kind: str
    parents: tuple[int, ...] = ()


def dot(nodes: Sequence[Node]) -> str:
    """A directed graph in Graphviz's language."""
    rows = ["digraph model {", "  node [fontname=monospace, style=filled];"]
    for k, node in enumerate(nodes):
        text, shape = _shown(node).replace("\\", "\\\\").replace('"', '\\"'), "ellipse" if node.kind in ("parameter", "data") else "box"
        rows.append(f'  n{k} [label="{text}", shape={shape}, fillcolor="{COLOURS[node.kind]}"];')
        rows += [f"  n{parent} -> n{k};" for parent in node.parents]
    return "\n".join([*rows, "}"])


def svg(nodes: Sequence[Node]) -> str:
    """A picture whose edges lead down; within a layer, boxes are near those that they are connected with.

    Source: Sugiyama, Tagawa and Toda (1981), IEEE Transactions on Systems, Man, and Cybernetics 11(2).
    """
    layers = _ordered(nodes)
    widths = [len(_shown(node)) * LETTER + 2 * MARGIN for node in nodes]
    lengths = [sum(widths[k] + BETWEEN for k in layer) - BETWEEN for layer in layers]
    total, places = max(lengths, default=0.0) + 2 * MARGIN, dict[int, tuple[float, float]]()
    for depth, (layer, length) in enumerate(zip(layers, lengths)):
        left = 0.5 * (total - length)
        for k in layer:
            places[k] = left + 0.5 * widths[k], MARGIN + 0.5 * HEIGHT + depth * LAYER
            left += widths[k] + BETWEEN
    height = 2 * MARGIN + HEIGHT + (len(layers) - 1) * LAYER
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:.0f} {height}" width="{total:.0f}" height="{height}" '
        'font-family="monospace" font-size="11">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#666"/></marker></defs>',
        f'<rect width="{total:.0f}" height="{height}" fill="#ffffff"/>',
    ]
    for k, node in enumerate(nodes):
        (x, y), bend = places[k], 0.5 * (LAYER - HEIGHT)
        for parent in node.parents:
            a, b = places[parent][0], places[parent][1] + 0.5 * HEIGHT
            end = y - 0.5 * HEIGHT
            rows.append(
                f'<path d="M{a:.0f},{b:.0f} C{a:.0f},{b + bend:.0f} {x:.0f},{end - bend:.0f} {x:.0f},{end:.0f}" '
                'fill="none" stroke="#666" marker-end="url(#tip)"/>'
            )
    for k, node in enumerate(nodes):
        x, y = places[k]
        radius = HEIGHT / 2 if node.kind in ("parameter", "data") else 3
        rows.append(
            f'<rect x="{x - 0.5 * widths[k]:.0f}" y="{y - 0.5 * HEIGHT:.0f}" width="{widths[k]:.0f}" height="{HEIGHT}" rx="{radius:g}" '
            f'fill="{COLOURS[node.kind]}" stroke="#333"/><text x="{x:.0f}" y="{y + 4:.0f}" text-anchor="middle" fill="#000">'
            f"{escape(_shown(node))}</text>"
        )
    return "\n".join([*rows, "</svg>"])


def _ordered(nodes: Sequence[Node]) -> list[list[int]]:
    """The layers: each node below all that it reads, in an order with few crossings."""
    depth = [0] * len(nodes)
    for k, node in enumerate(nodes):  # parents come first
        depth[k] = max((depth[p] + 1 for p in node.parents), default=0)
    children: list[list[int]] = [[] for _ in nodes]
    for k, node in enumerate(nodes):
        for parent in node.parents:
            children[parent].append(k)
    layers = [[k for k in range(len(nodes)) if depth[k] == d] for d in range(max(depth, default=-1) + 1)]
    for sweep in range(SWEEPS):
        place = {k: (n + 0.5) / len(layer) for layer in layers for n, k in enumerate(layer)}
        for layer in layers:
            near = {k: (nodes[k].parents if sweep % 2 == 0 else children[k]) for k in layer}
            layer.sort(key=lambda k: sum(place[n] for n in near[k]) / len(near[k]) if near[k] else place[k])
    return layers


def _shown(node: Node) -> str:
    return node.label if len(node.label) <= LONGEST else node.label[: LONGEST - 1] + "…"
