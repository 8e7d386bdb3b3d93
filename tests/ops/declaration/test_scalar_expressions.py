"""What the scalar expressions of ops cost."""

import pytest

from tapediff.ops.declaration.scalar_expressions import has_division


@pytest.mark.parametrize(("expression", "expected"), [("x / y", True), ("sqrt(x)", True), ("1.0 / sqrt(x)", True), ("x * y", False), ("exp(x)", False)])
def test_quotients_and_square_roots_count_as_divisions(expression, expected):
    assert has_division(expression) == expected
