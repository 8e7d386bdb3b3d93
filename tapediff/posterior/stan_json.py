"""Data in Stan's JSON format (CmdStan User's Guide, JSON format for CmdStan)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..errors import PosteriorError
from ..ir.instruction import Tree

# Strings that stand for numbers, without sign and in lower case.
SPECIAL = {"nan": np.nan, "inf": np.inf, "infinity": np.inf}


def data_from_stan_json(path: str | os.PathLike[str], indices: Sequence[str]) -> dict[str, Tree]:
    """Numbers, arrays and tuples by name; see Posterior.data_from_stan_json."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as wrong:
        raise PosteriorError(f"{path} is not JSON", got=wrong, fix='a file as CmdStan reads it: {"N": 2, "y": [0.5, 1]}') from None
    if not isinstance(content, dict):
        raise PosteriorError(f"{path} has no names", got=f"a JSON {type(content).__name__}", fix='an object: {"N": 2, "y": [0.5, 1]}')
    data = {name: _value(name, value) for name, value in content.items()}
    for name in [indices] if isinstance(indices, str) else indices:
        array = np.asarray(data.get(name, np.nan))
        if array.dtype.kind != "i" or np.any(array < 1):
            got = f"{array.dtype}, from {np.min(array)}" if name in data else set(data)
            raise PosteriorError(f"{name} are not Stan's indices, integers from 1", got=got, fix="indices= other names")
        data[name] = data[name] - 1
    return data


def _value(name: str, value: Tree) -> Tree:
    """A number, an array, or a tuple, which Stan writes as an object with the keys 1, 2, ..., and arrays of tuples."""
    if isinstance(value, Mapping):
        if set(value) != {str(k + 1) for k in range(len(value))}:
            raise PosteriorError(f"{name} is an object, and no tuple of Stan's", got=set(value), fix='the keys "1", "2", ...')
        return tuple(_value(f"{name}.{k + 1}", value[str(k + 1)]) for k in range(len(value)))
    if isinstance(value, list):
        parts = [_value(f"{name}[{k + 1}]", part) for k, part in enumerate(value)]
        if any(isinstance(part, (tuple, list)) for part in parts):
            return parts
        shapes = {np.shape(part) for part in parts}
        if len(shapes) > 1:
            raise PosteriorError(f"{name} has rows of different lengths", got=shapes, fix="rows of one length")
        return np.array(parts)
    if isinstance(value, str) and value.lstrip("+-").lower() in SPECIAL:
        return SPECIAL[value.lstrip("+-").lower()] * (-1 if value.startswith("-") else 1)
    if isinstance(value, float) or (type(value) is int and abs(value) < 2**63):
        return value
    raise PosteriorError(f"{name} is no number of Stan's", got=json.dumps(value), fix='a number below 2**63, "NaN", "+Inf" or "-Inf"')
