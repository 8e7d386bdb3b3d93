"""tapediff's functions in plain Python: the namespace in which a program runs on jets, or on plain arrays."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from .jets import Jet


def mapped(function, *trees):
    first = trees[0]
    if isinstance(first, (tuple, list)):
        return type(first)(mapped(function, *parts) for parts in zip(*trees))
    if type(first) is dict:
        return {key: mapped(function, *(tree[key] for tree in trees)) for key in first}
    return None if first is None else function(*trees)


def copied(leaf):
    return leaf.copy() if isinstance(leaf, (np.ndarray, Jet)) else leaf


def stacked(*leaves):
    return np.stack(leaves)


def length_of(tree):
    while isinstance(tree, (tuple, list, dict)):
        tree = next(iter(tree.values() if type(tree) is dict else tree))
    return len(tree)


def scan(f, init, xs=None, length=None, reverse=False, checkpoint=None):
    carry, rows = mapped(copied, init), []
    steps = range(length_of(xs) if length is None else length)
    for k in reversed(steps) if reverse else steps:
        carry, y = f(carry, mapped(lambda leaf, k=k: copied(leaf[k]), xs))
        rows.append(mapped(copied, y))
    return carry, mapped(stacked, *(rows[::-1] if reverse else rows)) if rows else None


def fori_loop(lower, upper, body, init):
    value = mapped(copied, init)
    for i in range(lower, upper):
        value = body(i, value)
    return value


def while_loop(cond, body, init):
    value = mapped(copied, init)
    while cond(value):
        value = body(value)
    return value


def subtape(f=None, guard=None, static=None, **options):
    return f if f is not None else lambda f: f


def reference(n):
    """The namespace for programs whose variables are jets with n derivatives, or plain arrays where n is 0."""
    return SimpleNamespace(
        cond=lambda pred, yes, no, *args: (yes if pred else no)(*args),
        switch=lambda index, branches, *args: branches[index](*args),
        scan=scan,
        fori_loop=fori_loop,
        while_loop=while_loop,
        subtape=subtape,
        checkpoint=subtape,
        static=lambda **_: None,
        zeros=lambda k: Jet.of(np.zeros(k), n) if n else np.zeros(k),
        stop_gradient=lambda a: Jet.of(a.v, n) if type(a) is Jet else a,
    )
