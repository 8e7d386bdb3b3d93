"""SciPy's splines at tracked places and of tracked ordinates: the plain program's values and derivatives, whatever is tracked."""

import numpy as np
import pytest
import scipy.interpolate as si

import tapediff as td

RNG = np.random.default_rng(0)
T, Y = np.sort(RNG.random(7)) * 5.0, RNG.normal(size=7)
PERIODIC = np.concatenate([Y[:-1], Y[:1]])
STACK = RNG.normal(size=(2, 7, 3))
PLACES = np.array([-0.5, 0.3, 1.7, 3.1, 6.0])  # two of them outside
INSIDE = np.linspace(T[0] + 0.01, T[-1] - 0.01, 5)

MAKERS = {
    "not-a-knot": si.CubicSpline, "natural": lambda t, y, **named: si.CubicSpline(t, y, bc_type="natural", **named),
    "pchip": si.PchipInterpolator, "akima": si.Akima1DInterpolator,
    "makima": lambda t, y, **named: si.Akima1DInterpolator(t, y, method="makima", **named),
    "b-spline": lambda t, y, **named: si.make_interp_spline(t, y, **named),
    "quintic": lambda t, y, **named: si.make_interp_spline(t, y, k=5, **named),
}  # fmt: skip


def is_recorded(f, x):
    """The tape's value is the plain function's, and the compiled gradient of what is not NaN its differences."""
    np.testing.assert_allclose(td.record(f, x)(x), f(x), rtol=1e-11, atol=1e-11)  # coefficients of 100 times the ordinates cancel
    total = lambda x: np.sum(np.where(np.isnan(value := f(x)), 0.0, np.sin(value)))
    td.testing.check_gradient(td.compile(total, x), total, x)


@pytest.mark.parametrize("name", MAKERS)
def test_programs_with_scipys_splines_are_recorded_as_they_stand(name):
    """At tracked places of an object made before, of tracked ordinates, and both; values outside as SciPy's; along another axis."""
    make = MAKERS[name]
    spline, stacked = make(T, Y), make(T, STACK, axis=1)
    is_recorded(lambda x: np.concatenate([spline(x), spline(x, 1), spline(x, extrapolate=False)]), PLACES)
    is_recorded(lambda p: make(T, p[:7])(p[7:]), np.concatenate([Y, PLACES]))
    is_recorded(lambda x: stacked(x), INSIDE[:2])
    is_recorded(lambda y: make(T, y, axis=1)(INSIDE[1:3]), STACK)


@pytest.mark.parametrize("bc_type", ["clamped", "natural", "periodic", ((1, 0.5), (2, -1.0)), ("natural", (1, 2.0))])
def test_conditions_at_the_ends_are_scipys(bc_type):
    """Also numbers, and the periodic one, which goes on periodically; derivatives of a spline of tracked ordinates are splines."""
    closed = (lambda y: np.concatenate([y[:-1], y[:1]])) if bc_type == "periodic" else lambda y: y
    is_recorded(lambda y: si.CubicSpline(T, closed(y), bc_type=bc_type)(PLACES), PERIODIC)
    is_recorded(lambda y: si.CubicSpline(T, closed(y), bc_type=bc_type).derivative()(PLACES), PERIODIC)
    spline = si.CubicSpline(T, PERIODIC, bc_type=bc_type)
    is_recorded(lambda x: spline(x) + spline.derivative(2)(x), PLACES)


LIMITS = [np.array([T[0] + 0.3, T[-1] - 0.1]), np.array([T[-1] - 0.2, T[0] + 0.1]), np.array([T[0] - 0.7, T[-1] + 1.3])]


@pytest.mark.parametrize("name", ["natural", "pchip", "akima", "b-spline"])
@pytest.mark.parametrize("limits", LIMITS, ids=["inside", "backwards", "outside"])
def test_integrals_are_scipys(name, limits):
    """From tracked limits, of tracked ordinates, along another axis; NaN outside where nothing is extrapolated."""
    make = MAKERS[name]
    spline = make(T, Y)
    is_recorded(lambda p: np.reshape(spline.integrate(p[0], p[1]), ()), limits)
    is_recorded(lambda y: make(T, y).integrate(*limits), Y)
    is_recorded(lambda y: make(T, y, axis=1).integrate(*limits), STACK)
    is_recorded(lambda y: make(T, y).integrate(*limits, extrapolate=False), Y)
    is_recorded(lambda y: make(T, y).antiderivative(2)(PLACES) + make(T, y).antiderivative().derivative()(PLACES), Y)
    is_recorded(lambda x: spline.antiderivative()(x), INSIDE)


@pytest.mark.parametrize("limits", [(0.3, 4.0), (-7.1, 12.5), (9.0, -3.0)])
def test_integrals_of_periodic_splines_go_over_periods(limits):
    limits = T[0] + (T[-1] - T[0]) * np.array(limits) / 5.0
    spline = si.CubicSpline(T, PERIODIC, bc_type="periodic")
    is_recorded(lambda p: np.reshape(spline.integrate(p[0], p[1]), ()), limits)
    is_recorded(lambda y: si.CubicSpline(T, np.concatenate([y, y[:1]]), bc_type="periodic").integrate(*limits), Y[:-1])


@pytest.mark.parametrize("ask", [lambda spline: spline.roots(), lambda spline: spline.solve(0.3)])
def test_roots_of_tracked_splines_are_refused(ask):
    with pytest.raises(td.UnsupportedFunction, match=r"CubicSpline\.(roots|solve) of tracked values\n  at:  test_interpolate\.py"):
        td.record(lambda y: ask(si.CubicSpline(T, y)), Y)


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_tracked_conditions_at_the_ends_are_refused(value):
    """Also where they happen to be zero, and beside tracked ordinates."""
    for f in (lambda p: si.CubicSpline(T, Y * p[1], bc_type=((1, p[0]), (1, 0.0)))(1.3), lambda p: si.CubicSpline(T, Y, bc_type=((1, 0.0), (1, p[0])))(1.3)):
        with pytest.raises(td.UnsupportedFunction, match="tracked derivatives at its ends"):
            td.gradient(f, np.array([value, 1.0]))


def test_second_derivatives_are_those_of_the_polynomials():
    """The Hessian of a sum of values is the spline's own second derivative on its diagonal."""
    spline = si.CubicSpline(T, Y)
    hessian = td.hessian(lambda x: np.sum(spline(x)), PLACES)
    np.testing.assert_allclose(hessian, np.diag(spline(PLACES, 2)), rtol=1e-11, atol=1e-11)


def test_many_ordinates_go_through_a_sparse_map():
    """Beyond 64, the coefficients are sparse products of the ordinates, to the rounding of SciPy's own."""
    t, y = np.linspace(0.0, 1.0, 300), RNG.normal(size=300)
    f = lambda y: si.CubicSpline(t, y)(np.array([0.0123, 0.5, 0.777, 1.01]))
    tape = td.record(f, y)
    np.testing.assert_allclose(tape(y), f(y), rtol=1e-12)
    np.testing.assert_allclose(td.jacobian(tape, y) @ y, f(y), rtol=1e-11)  # it is linear


def test_grids_are_interpolated_in_values_and_places():
    """Several axes and trailing ones; outside as told: an error, a fill value, or the continuation."""
    grid = [np.linspace(0.0, 1.0, 4), np.array([0.0, 0.3, 1.0])]
    values, places = RNG.normal(size=(4, 3, 2)), RNG.random((5, 2))
    interpolator = si.RegularGridInterpolator(grid, values)
    is_recorded(lambda x: interpolator(x), places)
    is_recorded(lambda v: si.RegularGridInterpolator(grid, v, bounds_error=False, fill_value=None)(1.3 * places), values)
    filled = si.RegularGridInterpolator(grid, values, bounds_error=False, fill_value=7.0)
    is_recorded(lambda x: filled(x), 1.7 * places)
    with pytest.raises(ValueError, match="out of bounds"):
        td.record(lambda x: interpolator(x), places + 1.0)


def test_what_is_not_there_says_what_is():
    """Tracked knots, other interpolators, and objects of tracked ordinates after their recording."""
    with pytest.raises(td.UnsupportedFunction, match="between tracked places"):
        td.record(lambda t: si.CubicSpline(t, Y)(1.0), T)
    with pytest.raises(td.TapediffError, match=r"tapediff\.interpolate"):
        td.record(lambda x: si.BarycentricInterpolator(T, Y)(x), INSIDE)
    with pytest.raises(ValueError, match="strictly increasing"):
        td.record(lambda y: si.PchipInterpolator(T[::-1], y)(1.0), Y)
    with pytest.raises(ValueError, match="identical"):
        td.record(lambda y: si.CubicSpline(T, y, bc_type="periodic")(1.0), Y)
    with pytest.raises(td.UnsupportedFunction, match="RegularGridInterpolator with method"):
        td.record(lambda v: si.RegularGridInterpolator([T], v, method="cubic")(1.0), Y)


STEPS = ["linear", "nearest", "nearest-up", "previous", "next", "cubic", "quadratic", "slinear", "zero"]
KNOTS, OUTSIDE = np.array([0.0, 1.0, 1.5, 3.0, 4.0]), np.array([-1.0, 0.0, 1.0, 2.25, 5.0])
FILLS = [{}, {"bounds_error": False}, {"fill_value": "extrapolate"}, {"bounds_error": False, "fill_value": (1.0, 2.0)}]


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("named", FILLS, ids=str)
def test_steps_and_lines_are_scipys(kind, named):
    """At knots and between them, outside, of tracked ordinates along an axis of many, and of an object made before."""
    places = OUTSIDE if named else np.array([0.0, 0.75, 1.2, 2.25, 4.0])
    spline, stacked = si.interp1d(KNOTS, Y[:5], kind, **named), si.interp1d(KNOTS[::-1], STACK[:, :5], kind, axis=1, **named)
    np.testing.assert_allclose(td.record(lambda x: spline(x), places)(places), spline(places), rtol=1e-12, atol=1e-12)
    is_recorded(lambda x: spline(np.clip(x, 0.01, 3.99)), places + 0.01)
    is_recorded(lambda x: stacked(np.reshape(x, (2, 2))), np.array([0.2, 0.7, 1.2, 2.3]))
    is_recorded(lambda y: si.interp1d(KNOTS, y, kind, **named)(places), Y[:5])
    is_recorded(lambda y: si.interp1d(KNOTS[::-1], y, kind, axis=1, **named)(places), STACK[:, :5])


def test_places_outside_are_errors_unless_filled():
    spline = si.interp1d(KNOTS, Y[:5])
    guarded = td.GuardedTape(lambda x: np.sum(spline(x)))
    assert guarded(np.array([0.5])) == pytest.approx(spline(0.5))
    for place in (-0.1, 4.1):
        with pytest.raises(ValueError, match="interpolation range"):
            guarded(np.array([place]))
    fill = (np.ones((2, 3)), np.arange(3.0))
    is_recorded(lambda y: si.interp1d(KNOTS, y, axis=1, bounds_error=False, fill_value=fill)(OUTSIDE), STACK[:, :5])
    with pytest.raises(NotImplementedError):
        td.record(lambda y: si.interp1d(KNOTS, y, "other"), Y[:5])
    with pytest.raises(ValueError, match="Cannot extrapolate"):
        td.record(lambda y: si.interp1d(KNOTS, y, bounds_error=True, fill_value="extrapolate"), Y[:5])


def test_the_nearest_values_on_a_grid():
    grid = np.array([0.0, 1.0, 2.5]), np.array([-1.0, 0.0, 2.0, 3.0])
    values, places = RNG.normal(size=(3, 4, 2)), RNG.uniform(0.0, 2.4, size=(6, 2))
    made = si.RegularGridInterpolator(grid, values, "nearest", bounds_error=False, fill_value=None)
    is_recorded(lambda v: si.RegularGridInterpolator(grid, v, "nearest")(places), values)
    is_recorded(lambda v: si.RegularGridInterpolator(grid, v)(places, method="nearest"), values)
    is_recorded(lambda x: made(x) + made(x, method="linear"), places)
