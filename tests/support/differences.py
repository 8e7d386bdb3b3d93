"""A function of one array in every form, against its plain value and against differences."""

import numpy as np

import tapediff as td

# Of central differences; the best has to agree, as truncation and rounding differ from function to function.
STEPS = (1e-4, 1e-5, 1e-6)


def differences(f, x, step=1e-6):
    """The central differences of f by the entries of x, along the last axes. Their error: the square of the step, and rounding by it."""
    x = np.asarray(x, float)
    columns = [(f(x + h) - f(x - h)) / (2 * step) for h in step * np.eye(x.size).reshape(-1, *x.shape)]
    return np.reshape(np.stack(columns, axis=-1), (*np.shape(columns[0]), *x.shape))


def assert_agrees(f, *points, rtol=1e-12, slope_rtol=1e-6, compiles=True):
    """Recorded at the first point, f has the plain value and the slope of differences at all.

    Args:
        compiles: False for functions with branches, which no single tape answers.
    """
    points = [np.asarray(point, float) for point in points]
    forms = [f, td.GuardedTape(f), *([td.compile(f, points[0])] if compiles else [])]
    for point in points:
        wanted, slopes = f(point), [differences(f, point, step) for step in STEPS]
        for form in forms:
            value, slope = td.value_and_gradient(form, point)
            np.testing.assert_allclose(value, wanted, rtol=rtol, atol=rtol)
            errors = [np.max(np.abs(slope - wanted)) / (1e-3 + np.max(np.abs(wanted))) for wanted in slopes]
            assert min(errors) < slope_rtol, (point, slope, slopes[1])


def assert_second_derivatives_agree(f, x, rtol=1e-5):
    x = np.asarray(x, float)
    wanted = [(td.gradient(f, x + h) - td.gradient(f, x - h)) / 2e-4 for h in 1e-4 * np.eye(x.size)]
    np.testing.assert_allclose(td.hessian(td.compile(f, 1.1 * x), x), wanted, rtol=rtol, atol=rtol * np.max(np.abs(wanted)))
