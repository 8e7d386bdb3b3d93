"""Every reduction at every corner, against NumPy itself: values, shapes, dtypes, errors and slopes.

Numbers, empty arrays, one entry; no axis, all, some; masks that are numbers, arrays, lists or tracked; floats, integers, masks.
"""

import warnings

import numpy as np
import pytest

import tapediff as td
from tapediff.testing import central_difference

# What each reduction takes beside axis and keepdims. "where" stands for all kinds of masks.
REDUCTIONS = {
    "sum": (np.sum, "initial where dtype"), "prod": (np.prod, "initial where dtype"), "mean": (np.mean, "where dtype"),
    "var": (np.var, "where ddof dtype"), "std": (np.std, "where ddof"), "max": (np.max, "initial where"),
    "min": (np.min, "initial where"), "all": (np.all, "where"), "any": (np.any, "where"), "cumsum": (np.cumsum, "dtype one-axis"),
    "cumprod": (np.cumprod, "dtype one-axis"), "nansum": (np.nansum, "initial where dtype"), "nanprod": (np.nanprod, "initial where"),
    "nanmean": (np.nanmean, "where"), "nanvar": (np.nanvar, "where ddof"), "nanstd": (np.nanstd, "ddof"),
    "nanmax": (np.nanmax, "initial where"), "nanmin": (np.nanmin, "initial where"), "median": (np.median, ""), "ptp": (np.ptp, ""),
    "count_nonzero": (np.count_nonzero, ""), "argmax": (np.argmax, "one-axis keepdims"), "argmin": (np.argmin, "one-axis keepdims"),
    "average": (np.average, "weights"), "norm": (np.linalg.norm, "ord"),
    "add.reduce": (np.add.reduce, "initial where"), "logical_or.reduce": (np.logical_or.reduce, "where"),
}  # fmt: skip
SHAPES = ((), (0,), (1,), (4,), (2, 3), (2, 0), (2, 1, 3))
AXES = (None, 0, -1, 1, (), (0,), (-1, 0), (0, 0), (1, 2), 7)
KINDS = ("float64", "float32", "int64", "bool")
# A kernel of all cases takes seconds to compile.
COMPILED_SHAPES, MOST_COMPILED = ((), (0,), (2, 3)), 6


def operand(shape, kind, seed):
    """Values with ties and zeros among the integers; distinct ones among the floats."""
    rng = np.random.default_rng(seed)
    if kind == "bool":
        return rng.random(shape) < 0.6
    return np.asarray(rng.integers(-2, 3, shape) if kind == "int64" else rng.uniform(-2.0, 2.0, shape), dtype=kind)


def arguments(takes, shape, kind):
    """Keyword arguments; a mask or weights given as "tracked" are replaced by an argument of the recorded function."""
    mask = np.random.default_rng(1).random(shape) < 0.6
    masks = [True, False, mask, mask.tolist(), "tracked", np.ones((2, *shape), bool)]
    if len(shape) > 1:
        masks.append(mask[0])
    if kind != "float64":
        masks = masks[2:3] + masks[4:]
    more = [{}]
    if "one-axis" not in takes or "keepdims" in takes:
        more.append({"keepdims": True})
    if "initial" in takes:
        more += [{"initial": 0.5}, {"initial": 5}] + ([{"initial": [1.0, 2.0]}] if kind.startswith("float") else [])
    if "where" in takes:
        more += [{"where": m} for m in masks] + [{"where": mask, "keepdims": True}]
    if "initial" in takes and "where" in takes:
        more += [{"where": m, "initial": 0.5} for m in masks]
    if "ddof" in takes:
        more += [{"ddof": 1}, {"ddof": 2.5}, {"correction": 1}, {"ddof": 1, "correction": 1}]
    if "ddof" in takes and "where" in takes:
        more += [{"ddof": 1, "where": m} for m in masks]
    if "dtype" in takes:
        more += [{"dtype": dtype} for dtype in ((float, "f4") if "ddof" in takes else (float, "f4", int))]
    if "weights" in takes:
        more += [{"weights": w} for w in (np.arange(1.0, 4.0), np.ones(shape), np.zeros(shape), "tracked")]
    if "ord" in takes:
        more += [{"ord": p} for p in (None, 0, 1, -1, 2, 3, 2.5, np.inf, -np.inf, "fro", "max")]
    everywhere = [{"axis": axis, **named} for axis in AXES for named in more[:3]]
    return everywhere + [{"axis": axis, **named} for axis in (None, 0, (), (0, 1)) for named in more[3:]] + more


def outcome(call):
    """What a call returns, or the class of what it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call()
        except td.UnsupportedFunction:
            raise
        except (ValueError, TypeError, ZeroDivisionError) as error:
            return next(c for c in (np.exceptions.AxisError, ValueError, TypeError, ZeroDivisionError) if isinstance(error, c))


def called(f, named, x, beside):
    return f(x, **{name: beside if isinstance(value, str) and value == "tracked" else value for name, value in named.items()})


def is_left_out(name, shape, named):
    """The spectral norm, which is not supported; and errors for empty arrays that come from how NumPy is written."""
    axis = named.get("axis")
    if name == "norm":
        return named.get("ord") == 2 and ((len(shape) == 2 and axis is None) or np.size(axis) == 2)
    return 0 in shape and (name == "average" or (name == "median" and axis == ()))


def cases(name, shape, kind):
    f, takes = REDUCTIONS[name]
    beside = operand(shape, "float64", 9) if "weights" in takes else operand(shape, "bool", 3)
    for named in arguments(takes, shape, kind):
        if not is_left_out(name, shape, named):
            yield lambda x, b, named=named: called(f, named, x, b), beside, f"{name}, {shape}, {kind}, {named}"


def recorded(f, x, beside):
    return td.record(f, x if x.dtype.kind == "f" else td.Constant(x), td.Constant(beside))


def assert_same(value, expected, label):
    assert np.shape(value) == np.shape(expected), label
    assert np.asarray(value).dtype == np.asarray(expected).dtype, label
    # A dozen terms in another order, in float32 as well.
    tolerance = 1e-5 if np.asarray(expected).dtype == np.float32 or "f4" in label else 1e-12
    np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance, err_msg=label)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_it_is_numpys_at_every_corner(name, kind):
    """Recorded at one point and replayed at another, by NumPy and by a kernel; what NumPy refuses raises the same error."""
    for shape in SHAPES:
        x, y = operand(shape, kind, 2), operand(shape, kind, 4)
        valid = []
        for f, beside, label in cases(name, shape, kind):
            expected = outcome(lambda f=f, beside=beside: f(y, beside))
            if isinstance(expected, type):
                refused = outcome(lambda f=f, beside=beside: recorded(f, x, beside))
                assert isinstance(refused, type), (label, refused)
                assert issubclass(refused, expected), (label, expected, refused)
                continue
            tape = outcome(lambda f=f, beside=beside: recorded(f, x, beside))
            assert isinstance(tape, td.Tape), (label, tape)
            tape.check()
            assert_same(outcome(lambda tape=tape, beside=beside: tape(y, beside)), expected, label)
            valid.append((f, beside, expected, label))
        together = valid[:: len(valid) // MOST_COMPILED + 1]
        if shape not in COMPILED_SHAPES or not together:
            continue
        compiled = outcome(lambda: td.compile(recorded(lambda x, b: tuple(f(x, b) for f, *_ in together), x, together[0][1])))
        values = outcome(lambda: compiled(y, together[0][1]))
        for value, (_, _, expected, label) in zip(values, together):
            assert_same(value, expected, f"compiled {label}")


@pytest.mark.parametrize("name", [name for name in REDUCTIONS if REDUCTIONS[name][0](np.ones(2)).dtype.kind == "f"])
def test_its_gradient_is_its_slope_at_every_corner(name):
    """Central differences of a projection, for each case alone; and a kernel of all of them together."""
    # NumPy answers numbers that are all left out otherwise than arrays.
    for shape in ((1,), (4,), (2, 3)) if name in ("nanmax", "nanmin") else ((), (1,), (4,), (2, 3)):
        x, y = operand(shape, "float64", 2), operand(shape, "float64", 4)
        smooth = []
        for f, beside, label in cases(name, shape, "float64"):
            expected = outcome(lambda f=f, beside=beside: f(y, beside))
            if isinstance(expected, type) or expected.dtype.kind != "f" or "f4" in label or not np.all(np.isfinite(expected)):
                continue
            smooth.append((f, beside, np.cos(np.arange(np.size(expected)) + 0.5).reshape(np.shape(expected)), label))

        def projected(x, b, some=smooth):
            return sum(np.sum(f(x, b) * weights) for f, _, weights, _ in some)

        for case in smooth:
            beside = case[1]
            gradient = td.gradient(recorded(lambda x, b, case=case: projected(x, b, [case]), x, beside), y, beside)
            difference = central_difference(lambda x, b=beside, case=case: float(projected(x, b, [case])), y, 1e-5)
            # The step's square times the third derivative, which is about that of a product of six factors.
            np.testing.assert_allclose(gradient, difference, rtol=1e-6, atol=1e-7, err_msg=case[3])
        together = smooth[:: len(smooth) // 8 + 1]
        tape = recorded(lambda x, b, together=together: projected(x, b, together), x, together[0][1])
        gradient = td.gradient(tape, y, together[0][1])
        # Sums in another order.
        np.testing.assert_allclose(td.gradient(td.CompiledTape(tape), y, together[0][1]), gradient, rtol=1e-11, atol=1e-11)


def test_what_a_mask_leaves_out_may_be_nan():
    """Its cotangent is an exact zero, however the mask is given, for every reduction of floats."""
    y, mask = np.array([0.3, np.nan, -1.2, 2.0]), np.array([True, False, True, True])
    for f in (np.sum, np.prod, np.mean, np.var, np.std, np.nansum, np.nanvar, lambda x, where: np.max(x, where=where, initial=-9.0)):
        expected = td.gradient(lambda x, f=f: f(x, where=np.ones(3, bool)), y[mask])
        for tape in (td.record(lambda x, b, f=f: f(x, where=mask), np.zeros(4), td.Constant(mask)),
                     td.record(lambda x, b, f=f: f(x, where=b), np.zeros(4), td.Constant(mask))):  # fmt: skip
            for target in (tape, td.CompiledTape(tape)):
                gradient = td.gradient(target, y, mask)
                assert gradient[1] == 0.0
                # Rounding of a few operations.
                np.testing.assert_allclose(gradient[mask], expected, rtol=1e-14, atol=1e-14)


def test_weights_that_sum_to_zero_are_a_path_of_their_own():
    """NumPy raises by the values, so a guard stands there where the weights are tracked."""
    tape = td.record(lambda x, w: np.average(x, weights=w), np.ones(2), np.array([1.0, 3.0]))
    assert td.compile(tape)(np.array([1.0, 2.0]), np.array([1.0, 1.0])) == 1.5
    with pytest.raises(td.GuardFailed):
        tape(np.ones(2), np.array([1.0, -1.0]))
    with pytest.raises(ZeroDivisionError):
        td.record(lambda x: np.average(x, weights=x - 1.0), np.ones(2))


@pytest.mark.parametrize("axis", [0, 1, None])
def test_products_along_an_axis_are_numpys_to_the_bit_and_one_loop(axis):
    """In NumPy's order, with zeros; and the kernel has a loop over the axis, not a product for each entry of it."""
    x = np.random.default_rng(8).normal(size=(40, 12))
    x[3, 4] = x[30, 4] = 0.0
    compiled = td.compile(td.record(lambda x: np.cumprod(x, axis=axis), x))
    np.testing.assert_array_equal(compiled(x), np.cumprod(x, axis=axis))
    assert compiled.source.count("\n") < 60


def test_products_along_long_axes_take_few_instructions():
    """2,000 of them by steps that double, which round otherwise: up to 2,000 roundings of 1e-16."""
    x = 1.0 + 0.01 * np.random.default_rng(8).normal(size=2000)
    tape = td.record(np.cumprod, x)
    assert len(tape) < 100
    np.testing.assert_allclose(tape(x), np.cumprod(x), rtol=4e-13)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("values", [
    [1.0, np.inf], [1e308, 1e308], [1e308, np.nan, 1e308], [1e308], [0.0, 5e-324], [1.0, 2.0, np.inf, np.inf], [3.0, 1.0, np.nan, 2.0, 7.0],
    [np.nan, np.nan], [-np.inf, np.inf], [1.0, np.nan, 3.0, 2.0], [1.0, 2.0, 3.0], [1.0, np.nan],
])  # fmt: skip
def test_medians_of_huge_infinite_and_missing_numbers(values):
    x = np.array(values)
    for f in (np.median, np.nanmedian):
        np.testing.assert_equal(td.GuardedTape(lambda x, f=f: f(x))(x), f(x))
