"""Operators and functions on lanes: what is emitted, and what it computes at every width."""

import math
import struct

import numpy as np
import pytest
from support.loops import loop_text, native

from tapediff.compiler.math.simd import (
    Code,
    Value,
    any_lane,
    bits,
    call_rarely,
    call_scalar,
    ceil,
    constant,
    copysign,
    fabs,
    floor,
    fma,
    from_bits,
    is_nan,
    rint,
    select,
    splat,
    sqrt,
    to_f64,
    to_i64,
    trunc,
    unlikely,
)

WIDTHS = (1, 2, 4, 8)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1.5, np.inf, -np.inf, np.nan, 5e-324, 1e308, -1e308, 2.0**52 + 1])
PAIRS = [grid.ravel().copy() for grid in np.meshgrid(SPECIAL, SPECIAL)]
# NumPy has an arctan2 of its own, which may differ from the C library's in the last bit.
LIBM_ARCTAN2 = np.vectorize(math.atan2)


def equal_bits(a, b):
    """Same bits, where any NaN equals any other: LLVM does not promise the sign or payload of a NaN it computes."""
    return np.array_equal(np.where(np.isnan(a), np.nan, a).view("i8"), np.where(np.isnan(b), np.nan, b).view("i8"))


def lanes(width=8, kind="f64"):
    code = Code()
    return Value(code, "%x", kind, width)


@pytest.fixture(params=WIDTHS, ids="width{}".format)
def width(request):
    return request.param


@pytest.mark.parametrize("number", [0.0, -0.0, 0.1, 5e-324, math.inf, -math.nan, np.float64(1 / 3), np.float32(0.1), 7])
def test_constants_keep_their_bits(number, width):
    """A number in an expression reaches the machine bit by bit: no decimal text, no numpy type name."""
    loop = native(lambda x: select(x.eq(x), number, x), 1, width)
    assert struct.pack("d", loop(np.ones(width))[0]) == struct.pack("d", number)


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (lambda x, y: x + y, np.add),
        (lambda x, y: x - y, np.subtract),
        (lambda x, y: x * y, np.multiply),
        (lambda x, y: x / y, np.divide),
        (lambda x, y: 1.5 - x * 2.0 + (3 / y - 1), lambda x, y: 1.5 - x * 2.0 + (3 / y - 1)),
        (lambda x, y: x < y, np.less),
        (lambda x, y: x <= y, np.less_equal),
        (lambda x, y: x > y, np.greater),
        (lambda x, y: x >= y, np.greater_equal),
        (lambda x, y: x.eq(y), np.equal),
        (lambda x, y: x.ne(y), np.not_equal),
        (lambda x, y: x == y, np.equal),
        (lambda x, y: x != y, np.not_equal),
        (lambda x, y: (x < y) & (x > 0.0) | ~(y < 1.0), lambda x, y: (x < y) & (x > 0.0) | ~(y < 1.0)),
        (lambda x, y: (x < y) ^ (x < 1), lambda x, y: (x < y) ^ (x < 1)),
        (copysign, np.copysign),
        (lambda x, y: select(x < y, x, y), lambda x, y: np.where(x < y, x, y)),
        (lambda x, y: call_scalar("atan2", x, y), LIBM_ARCTAN2),
        (
            lambda x, y: call_rarely("atan2", x > 1.0, x - y, x, y),
            lambda x, y: np.where(x > 1, LIBM_ARCTAN2(x, y), x - y),
        ),
    ],
)  # fmt: skip
def test_binary_operations_are_those_of_numpy(function, reference, width):
    """At every pair of special values, NaN, infinities and both zeros among them."""
    with np.errstate(all="ignore"):
        assert equal_bits(native(function, 2, width)(*PAIRS), reference(*PAIRS).astype(float))


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (lambda x: -x, np.negative),
        (lambda x: +x, np.positive),
        (rint, np.rint),
        (floor, np.floor),
        (ceil, np.ceil),
        (trunc, np.trunc),
        (sqrt, np.sqrt),
        (fabs, np.abs),
        (is_nan, np.isnan),
        (lambda x: from_bits(bits(x)), np.positive),
        (lambda x: from_bits(bits(x) & (2**63 - 1)), np.abs),
        (lambda x: bits(x).lshr(52) & 2047, lambda x: x.view("i8") >> 52 & 2047),
        (lambda x: (bits(x) >> 52) * 3 - 1, lambda x: (x.view("i8") >> 52) * 3 - 1),
        (lambda x: to_i64(x > 0.0) - (-to_i64(x < 0.0) << 2), lambda x: (x > 0) * 1 + (x < 0) * 4),
        (lambda x: to_i64(x > 0.0) | 6 ^ ~to_i64(x < 0.0), lambda x: (x > 0) * 1 | 6 ^ ~((x < 0) * 1)),
    ],
)  # fmt: skip
def test_unary_operations_are_those_of_numpy(function, reference, width):
    """At special values; integers are compared after conversion to float."""
    with np.errstate(all="ignore"):
        assert equal_bits(native(function, 1, width)(SPECIAL), reference(SPECIAL).astype(float))


def test_conversion_to_integer_saturates(width):
    """Truncation towards zero; NaN is 0 and what is too large the largest integer, at every width the same."""
    x = np.array([1.9, -1.9, np.nan, np.inf, -np.inf, 1e300, 4e18])
    expected = np.array([1, -1, 0, 2**63 - 1, -(2**63), 2**63 - 1, int(4e18)]).astype(float)
    assert np.array_equal(native(lambda x: to_f64(to_i64(x)), 1, width)(x), expected)


def test_fma_rounds_once(width):
    """(1 + 2**-52)**2 - (1 + 2**-51) is 2**-104 exactly; rounding the product first gives 0."""
    near = 1.0 + 2.0**-52
    loop = native(lambda x: fma(x, x, -(1.0 + 2.0**-51)), 1, width)
    assert loop(np.full(width, near))[0] == 2.0**-104


def test_products_and_sums_are_not_contracted(width):
    """x * x - c stays two roundings: the same bits as NumPy."""
    near = 1.0 + 2.0**-52
    assert native(lambda x: x * x - (1.0 + 2.0**-51), 1, width)(np.full(width, near))[0] == 0.0


def test_a_narrow_value_beside_a_wide_one_is_repeated():
    """In operators on either side, comparisons, functions and select."""
    wide, code = lanes(), Code()
    one = Value(wide.code, "%s", "f64", 1)
    mixed = one + wide, wide - one, one / wide, fma(one, wide, one), copysign(one, wide), select(wide < one, one, 2)
    for value in mixed:
        assert value.width == 8
    assert (one < wide).width == 8
    assert splat(constant(code, 2.5), 4).ref == "splat (double 0x4004000000000000)"
    assert code.lines == []
    loop = native(lambda x: x + splat(constant(x.code, 2.5), x.width))
    assert loop(np.zeros(8)).tolist() == [2.5] * 8
    with pytest.raises(TypeError, match="8 lanes cannot be repeated on 4"):
        splat(wide, 4)


def test_a_value_has_no_truth_value():
    """Python's `if`, `and` and chained comparisons would decide at compile time: they raise."""
    x = lanes()
    with pytest.raises(TypeError, match="no truth value"):
        bool(x > 0.0)
    with pytest.raises(TypeError, match="no truth value"):
        _ = 0.0 < x < 1.0


def test_kinds_do_not_mix():
    """Adding a mask to floats, or shifting a float, is an error and not a reinterpretation."""
    x = lanes()
    with pytest.raises(TypeError, match="convert it first"):
        _ = x + (x > 0.0)
    with pytest.raises(TypeError, match="convert it first"):
        sqrt(bits(x))
    with pytest.raises(TypeError, match="not defined on values of kind f64"):
        _ = x << 2
    with pytest.raises(TypeError, match="not defined on values of kind i64"):
        _ = bits(x) / 2


def test_declarations_count_once_and_symbols_are_collected():
    """Two calls of an intrinsic and of a routine declare each of them once."""
    x = lanes()
    sqrt(sqrt(x))
    call_scalar("pow", call_scalar("pow", x, x), 2.0)
    assert [text for text in x.code.declarations if "sqrt" in text] == [
        "declare <8 x double> @llvm.sqrt.v8f64(<8 x double>)"
    ]
    assert sum(text.startswith("declare double @pow") for text in x.code.declarations) == 1
    assert x.code.symbols == {"pow"}


def test_the_block_is_known_after_a_branch():
    """A phi that follows needs the label of the block that the code ended in."""
    x = lanes()
    before = x.code.block
    unlikely(x > 1.0, x, lambda: x + 1.0)
    assert x.code.block != before
    assert f"{x.code.block}:" in x.code.lines


def test_any_lane_sees_a_single_lane(width):
    """True as soon as one lane is."""
    loop = native(lambda x: select(splat(any_lane(x > 2.0), x.width), 1.0, 0.0), 1, width)
    assert loop(np.zeros(width)).tolist() == [0.0] * width
    assert loop(np.append(np.zeros(width - 1), 3.0)).tolist() == [1.0] * width


def test_names_and_labels_are_fresh():
    """Nothing in a function body is defined twice."""
    text, code = loop_text(lambda x: call_rarely("sin", x > 1.0, call_rarely("cos", x < 0.0, x, x), x))
    defined = [line.split(" = ")[0] for line in code.lines if " = " in line]
    labels = [line for line in code.lines if line.endswith(":")]
    assert len(set(defined)) == len(defined)
    assert len(set(labels)) == len(labels)
    assert "fast" not in text
