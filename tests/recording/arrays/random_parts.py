"""Random programs on parts of arrays: masks, slices with ends that are data, views, writes, joins, branches and loops."""

import random

_THRESHOLDS = ("-0.5", "0.0", "0.4", "x[0]", "x.mean()")
_ENDS = ("1", "2", "-1", "-2", "0", "len(x[x > 0]) // 2", "int(np.sum(x > 0.3))")

# What is done with a vector v; {t} is a threshold, {k} an end of a slice, {w} another vector. A line that begins with "= " makes a new one.
_VECTORS = (
    "= {v}[{v} > {t}]", "= {v}[{v} != {t}]", "= {v}[{k}:]", "= {v}[:{k}]", "= {v}[{k}:{k}]", "= {v}[::-1]", "= np.exp({v} * 0.5)", "= np.abs({v})",
    "= {v} * {v} + x[1]", "= np.concatenate([{v}, {w}])", "= np.sort({v})", "= np.cumsum({v})", "{v}[{v} > {t}] *= 0.5", "{v}[{v} > {t}] = x[2]",
    "{v}[{k}:{k}] -= x[1]", "{v}[{k}:{k}] = 2.0", "{v} *= x[3]", "if {v}.size > 2: s += {v}.mean() * x[1] + {v}.std()",
    "if {v}.size: s += {v}.max() - {v}.min()", "if len({v}): s += {v}[-1] + {v}[len({v}) // 2] + {v}[np.argmax({v})]",
    "i = np.flatnonzero({v} > {t}); s += {v}[i].sum() + i.size * 0.1", "if x[0] > 0: {v} = {v}[1:]\nelse: {v} = {v}[{v} > -1]",
    "if len({v}) > 3: {v} = {v}[{v} < 1]", "if {v}.sum() > 0: {v} = {v} * 2\nelse: {v} = {w}.copy()",
    "s += (np.log({v}[{v} > 0]) * x[5]).sum() + np.log({v}[{v} > 0]) @ np.sqrt({v}[{v} > 0])", "n = min({v}.size, {w}.size)\n{v}[:n] = {w}[:n]",
    "i = np.flatnonzero({v} > {t}); s += np.sort({v}[i]).sum(); {v}[i] = 0.75", "= {v}[np.argsort({v})]", "= {v}[np.where({v} > {t})[0]]",
    "n = max(min({v}.size, {w}.size), 1)\n{v}[1:n] = {w}[:n - 1]", "if {v}.size > 3: {v}[1:3] = [x[6], 0.5]; s += ({v}[-2:] * np.ones(2)).sum()",
)  # fmt: skip
_MATRICES = (
    "= {v}[{v}[:, 0] > {t}]", "= {v}[{k}:]", "= {v}[:{k}]", "= {v} * {v} + x[1]", "= {v} - {v}.mean(axis=0)", "= np.concatenate([{v}, {v}[{k}:]])",
    "{v}[{v}[:, 1] > {t}, 0] *= x[2]", "{v}[{k}:{k}, 1] = 0.5", "{v}[:, 0] -= x[3]", "{v}[{v} < {t}] = 0.25", "for row in {v}: row[0] = row[1] * 2",
    "for row in {v}: s += row.sum()", "s += {v}.sum(axis=1).max() if len({v}) else 0.0", "s += ({v}.T @ {v}).sum() + ({v} @ {v}.T).sum()",
    "s += {v}[{v} > {t}].sum()", "if len({v}) > 1: s += {v}[1].sum() + {v}[-1, 0]", "if len({v}): {v}[-1, 1] = x[4]",
    "s += (np.log({v}[({v} > 0).all(axis=1)]) @ x[5:7]).sum()", "s += np.outer({v}[{v}[:, 0] > 0, 1], x[2:4]).sum()",
    "n = len({v})\n{v}[:n, 0] = np.arange(len({v}))", "for q in {v}[:, 1]: s = 0.5 * s + (q if q > {t} else 1.0)",
)  # fmt: skip


def program(seed: int) -> str:
    """The text of a function f of 8 numbers; of vectors for even seeds, of matrices for odd ones."""
    draw = random.Random(seed)
    kinds = (_VECTORS, ["a0 = x.copy()"]) if seed % 2 == 0 else (_MATRICES, ["a0 = x.reshape(4, 2).copy()", "a1 = x[:6].reshape(2, 3).T.copy()"])
    lines, names = list(kinds[1]), [line[:2] for line in kinds[1]]
    for _ in range(draw.randint(3, 9)):
        text, v, w = draw.choice(kinds[0]), draw.choice(names), draw.choice(names)
        while "{k}" in text:
            text = text.replace("{k}", draw.choice(_ENDS), 1)
        text = text.format(v=v, w=w, t=draw.choice(_THRESHOLDS))
        if text.startswith("= "):
            names.append(f"a{len(names)}")
            text = f"{names[-1]} {text}"
        lines += text.split("\n")
    lines += [f"s += {name}.sum() * {draw.choice(('1.0', '0.5', 'x[4]'))}" for name in names]
    return "\n    ".join(["import numpy as np\n\n\ndef f(x):", "s = 0.0", *lines, "return s\n"])
