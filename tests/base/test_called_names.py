"""What Python code calls by its name is told from what compiled code calls that it has called."""

import functools
import sys
from functools import partial

import pytest

from tapediff.base.called_names import is_called_by


class Asks:
    """Asks at each call, and stands in a namespace as NumPy's functions do."""

    def __init__(self, gives=None):
        self.gives, self.found = gives, None

    def __call__(self, *args, **named):
        zeros.found = is_called_by(sys._getframe(1), self, "zeros")
        return self if self.gives is None else self.gives

    @property
    def zeros(self):
        return self


zeros = Asks()


class Compiled:
    """Calls it from compiled code, as nothing of this class is in Python."""

    __index__ = staticmethod(Asks(1))
    __eq__ = staticmethod(zeros)
    __hash__ = None


compiled = Compiled()


class Holder:
    sum = staticmethod(partial(range, compiled))


holder = Holder()


class np:
    zeros = zeros

    @staticmethod
    def other(given=None):
        return given


ITEMS = {
    "by name": lambda: zeros(3), "of a module": lambda: np.zeros(3), "by arguments by name": lambda: np.zeros(3, dtype=float),
    "by many arguments": lambda: np.zeros(*[3], **{"dtype": float}),
    "over several lines": lambda: (np
                                   .zeros(3)
                                   .zeros(4)),
    "chained": lambda: np.other(np).zeros(3), "as an argument": lambda: np.other(given=np.zeros(3)),
    "chosen": lambda: (np.zeros if ITEMS else np.other)(3), "of a table": lambda: {"a": zeros}["a"](3),
    "partial": lambda: functools.partial(np.zeros, 3)(), "mapped": lambda: list(map(np.zeros, [3])), "reduced": lambda: functools.reduce(zeros, [3, 4]),
    "in a comprehension": lambda: [np.zeros(k) for k in range(2)],
}  # fmt: skip
OTHERS = {
    "by an operator": lambda: compiled == 3, "by an index": lambda: [1, 2][compiled], "by another function": lambda: range(compiled),
    "by a method": lambda: [1, 2].insert(compiled, 3), "by a method with the name of a function": lambda: holder.sum(), "by arguments by name": lambda: "a b c".split(maxsplit=compiled),
}  # fmt: skip


@pytest.mark.parametrize("name", ITEMS)
def test_calls_by_its_name_are_found(name):
    zeros.found = None
    ITEMS[name]()
    assert zeros.found is True


def test_calls_by_another_name_are_found():
    made = np.zeros
    made(3)
    assert zeros.found is True


@pytest.mark.parametrize("name", OTHERS)
def test_calls_by_compiled_code_are_told_from_these(name):
    zeros.found = None
    OTHERS[name]()
    assert zeros.found is False
