"""The problems and the points where they are timed, in the order of the table."""

import numpy

from ..problem import Problem
from . import grids, models, networks, physics

_rng = numpy.random.default_rng(20261104)


def _problem(name, title, function, point, *, rtol=1e-9, **named):
    """Left out of tests, as most take seconds to record or run; the engines sum up to 10⁷ terms in different orders, hence rtol."""
    return Problem(name, title, function, (numpy.asarray(point, dtype=float),), is_slow=True, rtol=rtol, **named)


def _normal(size, scale=1.0):
    return scale * _rng.normal(size=size)


def _mixture(name, title):
    function, size = models.mixture(*models.CLOUDS[name])
    return _problem(name, f"Gaussian mixture, full covariances, {title}", function, _normal(size, 0.2))


_COVARIANCE = 2.0 * numpy.eye(models.SIZE) + _normal((models.SIZE, models.SIZE), 1.0 / models.SIZE)
_SPLINE_POINT = numpy.concatenate([[0.01, 0.02], numpy.sin(6.0 * models.SPLINE_KNOTS)])
_OPTION = [0.02, -1.5, 0.05]
_GRID = numpy.outer(numpy.sin(numpy.linspace(0.0, 3.0, 256)), numpy.sin(numpy.linspace(0.0, 3.0, 256)))
_BODIES = numpy.concatenate([_normal(3 * physics.BODIES), _normal(3 * physics.BODIES, 0.1)])
_STARS = numpy.concatenate([_normal(3 * physics.STARS), _normal(3 * physics.STARS, 0.1)])

_SPLATS = numpy.concatenate([_rng.uniform(size=40), _normal(20, 0.3) - 2.0, _normal(20, 0.3)])

PROBLEMS = (
    _mixture("adbench_mixture", "10⁴ × 64, K = 50"),
    _mixture("adbench_small_mixture", "1000 × 10, K = 25"),
    _problem("adbench_bundle", "bundle adjustment, 5000 observations", physics.bundle_adjustment, physics.bundle_point()),
    _problem("adbench_hand", "hand tracking, 22 bones, 500 vertices", physics.hand_tracking, _normal(6 + 3 * physics.BONES, 0.3)),
    _problem("adbench_lstm", "LSTM of ADBench, 1024 letters", networks.lstm, _normal(networks.MAIN + 3 * networks.LETTERS, 0.3)),
    _problem("kalman", "Kalman filter, T = 200, Python loop", models.kalman_filter, [-1.0, 0.0, 0.1, 0.2, 0.0, 0.0]),
    _problem(
        "kalman_scan", "Kalman filter, T = 200, td.scan", models.kalman_filter, [-1.0, 0.0, 0.1, 0.2, 0.0, 0.0],
        taped=models.kalman_scan, version="kalman",
    ),
    _problem("particle_filter", "particle filter, N = 1000, T = 100", models.particle_filter, [-0.5, 1.2, -1.0], is_rough=True),
    _problem("random_field", "conditional random field, K = 20, T = 200", models.conditional_random_field, _normal(600, 0.3)),
    _problem("soft_dtw", "soft-DTW, 100 × 100, Python loops", models.soft_dtw, models.SERIES + _normal(100, 0.1), by_hand="soft_dtw"),
    _problem("tree", "tree likelihood, 250 leaves, 20 patterns", models.tree_likelihood, _normal(498, 0.3) - 2.0),
    _problem(
        "matrix_factorisation", "matrix factorisation, 10⁵ × 20", models.matrix_factorisation, _normal(60_000, 0.3),
        by_hand="matrix_factorisation",
    ),
    _problem("hierarchical_glm", "hierarchical GLM, 10⁵ rows, 1000 groups", models.hierarchical_glm, _normal(1007, 0.3)),
    _problem("spline", "spline by searchsorted, 10⁴ points", models.spline, _SPLINE_POINT),
    _problem("solve_slogdet", "solve and slogdet, 300 × 300", models.solve_and_slogdet, _COVARIANCE.ravel()),
    _problem("heat_slices", "heat equation by slices, 64² × 100", physics.heat_slices(64, 100), _normal(4096), by_hand="heat_64"),
    _problem("heat_cells", "heat equation by cells, 30² × 20", physics.heat_cells(30, 20), _normal(900), by_hand="heat_30"),
    _problem(
        "heat_scan", "heat equation by td.scan, 256² × 100", physics.heat_slices(256, 100), _GRID.ravel(),
        taped=physics.heat_scan(256, 100), by_hand="heat_256",
    ),
    _problem("n_body", "N-body, 5 bodies, 50 steps, Python loops", physics.n_body, _BODIES, by_hand="n_body"),
    _problem("stars", "N-body, 50 bodies, 50 steps, arrays", physics.stars, _STARS),
    _problem("lattice", "φ⁴ lattice 32², Python loops", physics.lattice(32), _normal(1024), by_hand="lattice_32"),
    _problem("american_put", "American put, 200 steps", physics.american_put, _OPTION),
    _problem(
        "barrier_scan", "barrier option, 1000 × 100, scan in scan", physics.barrier_option, _OPTION,
        taped=physics.barrier_option_scan, by_hand="barrier_option", version="barrier",
    ),
    _problem("lennard_jones", "Lennard-Jones, 10⁵ pairs", physics.lennard_jones, physics.CRYSTAL.ravel() + _normal(15_000, 0.05),
             by_hand="lennard_jones"),
    _problem("elementwise_large", "elementwise, n = 10⁷", physics.large_elementwise, _normal(10_000_000)),
    _problem("attention", "attention, 128 × 64, 4 heads", networks.attention, _normal(networks.ATTENTION_WEIGHTS, 0.1)),
    _problem("waves", "waves on a periodic grid, 64² × 40, np.roll", grids.waves, _normal(4096, 0.3), by_hand="waves"),
    _problem("chain", "ring of 500 springs, 50 steps, tables of neighbours", grids.chain, grids.ARCH, by_hand="chain"),
    _problem("graph", "diffusion on a graph, 6000 edges, np.add.at", grids.graph, _normal(grids.NODES), by_hand="graph"),
    _problem("splats", "20 translucent discs, np.cumprod", grids.splats, _SPLATS),
    _problem("log_spectrum", "power spectrum, np.fft.fft2, 128²", grids.log_spectrum, _normal(grids.SPECTRUM**2)),
    _problem("least_squares", "np.linalg.lstsq, 200 × 50", grids.least_squares, _normal(grids.MEASUREMENTS * grids.UNKNOWNS)),
    _problem("convolution", "convolutions by im2col, 32 pictures", networks.convolution, _normal(networks.CONVOLUTION_WEIGHTS, 0.1)),
)  # fmt: skip
