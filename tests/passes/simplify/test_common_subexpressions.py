"""Equal values are found all at once as they are one by one."""

import numpy as np
import pytest

import tapediff as td
from tapediff.passes.simplify import common_subexpressions as module
from tapediff.passes.simplify.common_subexpressions import _in_order, _in_rounds, _Keys, common_subexpressions


def random_keys(seed: int, size: int, several: float) -> _Keys:
    """Operations on values nearby and on a few at the beginning, so that many turn out to be equal."""
    rng = np.random.default_rng(seed)
    number = np.arange(size)
    near, kinds = rng.choice([2, 8, 64]), rng.choice([1, 3, 10])
    operands = np.where(rng.random((3, size)) < 0.6, number - rng.integers(1, near + 1, (3, size)), rng.integers(0, 6, (3, size)))
    operands = np.minimum(np.maximum(operands, 0), np.maximum(number - 1, 0))
    kind = rng.integers(1, kinds + 1, size)
    first, second = operands[0], np.where(rng.random(size) < 0.5, operands[1], size)
    are_inputs = number < 6
    first, second, kind = (np.where(are_inputs, other, each) for other, each in ((size, first), (size, second), (20 + number, kind)))
    many = {int(k): tuple(operands[:, k].tolist()) for k in np.flatnonzero((rng.random(size) < several) & ~are_inputs)}
    first[list(many)] = second[list(many)] = size
    scale = size + 1
    return _Keys(kind * scale * scale, first, second, scale, many)


@pytest.mark.parametrize("several", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(12))
def test_equal_values_are_found_in_rounds(seed: int, several: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROUNDS", 10_000)
    monkeypatch.setattr(module, "MOST_LOOKS", 10_000)
    keys = random_keys(seed, 800, several)
    found = _in_rounds(keys)
    assert found is not None
    expected = _in_order(keys)
    assert np.count_nonzero(expected != np.arange(800)) > 40
    np.testing.assert_array_equal(found, expected)


def test_long_equal_chains_are_looked_at_one_by_one() -> None:
    """What is alike only as its operands are, over more values than there are rounds."""
    def f(x):
        a, b = np.sin(x[0]), np.sin(x[0])
        for k in range(3000):
            a, b = np.cos(a) * x[k % 5], np.cos(b) * x[k % 5]
        return a + b

    x = np.linspace(0.5, 1.5, 5)
    tape = td.record(f, x, merge=False)
    assert len(tape.instructions) > module.SHORTEST_IN_ROUNDS
    made = common_subexpressions(tape)
    assert len(made.instructions) == 2 * 3000 + 5 + 1 + 1 + 1  # one chain, the entries of x, x, the first sine and the sum
    assert made(x) == tape(x)
