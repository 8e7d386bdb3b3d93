"""Scalar expressions of op declarations: what they compute over lanes and how they read as Python."""

import numpy as np
import pytest
from support.loops import native

from tapediff.compiler.math.expressions import emit_expression, python_expression
from tapediff.compiler.math.function_table import PYTHON_FUNCTIONS
from tapediff.compiler.math.simd import Code, Value

X = np.linspace(-2.0, 2.0, 32)


@pytest.mark.parametrize(
    "text",
    ["x * x", "exp(x) - 1.0", "select(x > 0.0, x, -x)", "select(x == 0.5, 1.0, 3.0 / (2.0 + x * x))", "-x + 2 * x"],
)
def test_an_expression_computes_what_its_python_text_does(text):
    """The same text over lanes, and as Python with another name for the argument."""
    over_lanes = native(lambda x: emit_expression(text, {"x": x}))(X)
    plain = python_expression(text, {"x": "v3[i]"})
    as_python = [eval(plain, {**PYTHON_FUNCTIONS, "v3": X, "i": i}) for i in range(X.size)]
    # 2 ulp for each of at most two transcendental functions.
    np.testing.assert_allclose(over_lanes, as_python, rtol=1e-15)


def test_a_parameter_may_be_a_python_number():
    """An exponent is not a value of the kernel but decides what is emitted."""
    loop = native(lambda x: emit_expression("integer_power(x, exponent)", {"x": x, "exponent": 3}))
    assert np.array_equal(loop(X), X * (X * X))


def test_an_expression_that_is_a_number_gives_a_constant():
    """As wide as the arguments, without an instruction."""
    code = Code()
    one = emit_expression("1.0", {"x": Value(code, "%x", "f64", 8)})
    assert (one.ref, one.width, code.lines) == ("splat (double 0x3ff0000000000000)", 8, [])


def test_names_are_replaced_as_a_whole_and_at_once():
    """Swapped names do not capture each other, replacements keep their precedence, functions keep their names."""
    assert python_expression("x - y * x", {"x": "y", "y": "a + b"}) == "y - (a + b) * y"
    assert python_expression("exp(exp)", {"exp": "v1"}) == "exp(v1)"


def test_an_expression_cannot_reach_builtins():
    """The vocabulary is all there is."""
    with pytest.raises(NameError):
        emit_expression("open(x)", {"x": Value(Code(), "%x", "f64", 8)})
