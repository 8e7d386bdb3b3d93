"""Problems of statistics: mixtures, regressions, filters, and likelihoods of sequences and trees."""

import numpy

import tapediff as td

_rng = numpy.random.default_rng(20261101)


def log_sum_exp(values, axis, np=numpy):
    largest = np.max(values, axis=axis)
    return largest + np.log(np.sum(np.exp(values - np.expand_dims(largest, axis)), axis=axis))


def cloud(rows, dimensions, components):
    centres = 2.0 * _rng.normal(size=(components, dimensions))
    return _rng.normal(size=(rows, dimensions)) + centres[_rng.integers(0, components, rows)]


# The points of a mixture, and how many components it has.
CLOUDS = {"adbench_mixture": (cloud(10_000, 64, 50), 50), "adbench_small_mixture": (cloud(1000, 10, 25), 25)}


def mixture(x, components):
    """ADBench's Gaussian mixture: inverse factors of full covariances; u = (log weights, means, log diagonals, lower triangles)."""
    rows, dimensions = x.shape
    below = numpy.tril_indices(dimensions, -1)
    place = numpy.zeros((dimensions, dimensions), dtype=int)
    place[below] = numpy.arange(len(below[0]))
    lower = numpy.tril(numpy.ones((dimensions, dimensions)), -1)
    sizes = (components, components * dimensions, components * dimensions, components * len(below[0]))
    at = numpy.cumsum(sizes)

    def log_likelihood(u, np=numpy):
        log_weight = u[: at[0]]
        mean = np.reshape(u[at[0] : at[1]], (components, dimensions))
        log_diagonal = np.reshape(u[at[1] : at[2]], (components, dimensions))
        entries = np.reshape(u[at[2] :], (components, len(below[0])))
        diagonal = np.exp(log_diagonal)[:, :, None] * numpy.eye(dimensions)
        factor = entries[:, place] * lower + diagonal
        white = np.matmul(x - mean[:, None, :], np.transpose(factor, (0, 2, 1)))
        each = (log_weight + np.sum(log_diagonal, axis=1))[:, None] - 0.5 * np.sum(white**2, axis=2)
        prior = 0.5 * (np.sum(diagonal**2) + np.sum(entries**2)) - np.sum(log_diagonal)
        return np.sum(log_sum_exp(each, 0, np)) - rows * log_sum_exp(log_weight, 0, np) - prior

    return log_likelihood, at[3]


USERS, ITEMS, RATINGS, FACTORS = 2000, 1000, 100_000, 20
RATED_BY, RATED, RATING = _rng.integers(0, USERS, RATINGS), _rng.integers(0, ITEMS, RATINGS), _rng.normal(size=RATINGS)


def matrix_factorisation(u, np=numpy):
    """The squared error of ratings by products of the factors of users and items."""
    users = np.reshape(u[: USERS * FACTORS], (USERS, FACTORS))
    items = np.reshape(u[USERS * FACTORS :], (ITEMS, FACTORS))
    error = np.sum(users[RATED_BY] * items[RATED], axis=1) - RATING
    return np.sum(error**2) + 0.1 * np.sum(u**2)


CASES, GROUPS, SLOPES = 100_000, 1000, 5
COVARIATES, GROUP = _rng.normal(size=(CASES, SLOPES)), _rng.integers(0, GROUPS, CASES)
COUNTS = _rng.poisson(1.0, CASES).astype(float)


def hierarchical_glm(u, np=numpy):
    """A Poisson regression with an intercept for each group; u = (slopes, mean and log scale of the intercepts, their deviates)."""
    slopes, mean, scale, deviates = u[:SLOPES], u[SLOPES], np.exp(u[SLOPES + 1]), u[SLOPES + 2 :]
    log_rate = COVARIATES @ slopes + (mean + scale * deviates)[GROUP]
    return np.sum(COUNTS * log_rate - np.exp(log_rate)) - 0.5 * np.sum(u**2)


PERIODS = 200
MEASURED = numpy.cumsum(_rng.normal(size=(PERIODS, 2)), axis=0)
SEEN, MOVES = numpy.eye(2, 4), numpy.eye(4) + 0.1 * numpy.eye(4, k=2)


def kalman_step(state, measured, noise, error, np=numpy):
    """Mean, covariance and log likelihood after one more measurement of a position with a velocity."""
    mean, covariance, total = state
    mean, covariance = MOVES @ mean, MOVES @ covariance @ MOVES.T + noise * numpy.eye(4)
    innovation = measured - SEEN @ mean
    spread = SEEN @ covariance @ SEEN.T + error * numpy.eye(2)
    gain = np.linalg.solve(spread, SEEN @ covariance).T
    total = total - 0.5 * (innovation @ np.linalg.solve(spread, innovation) + np.linalg.slogdet(spread)[1])
    return mean + gain @ innovation, covariance - gain @ SEEN @ covariance, total


def kalman_filter(u, np=numpy):
    """Log likelihood of a constant-velocity model in the plane; u = (logs of two variances, the first state)."""
    state = u[2:6], numpy.eye(4), 0.0
    for t in range(PERIODS):
        state = kalman_step(state, MEASURED[t], np.exp(u[0]), np.exp(u[1]), np)
    return state[2]


def kalman_scan(u):
    state, _ = td.scan(
        lambda state, measured: (kalman_step(state, measured, numpy.exp(u[0]), numpy.exp(u[1])), None),
        (u[2:6], numpy.eye(4), 0.0), MEASURED,
    )  # fmt: skip
    return state[2]


PARTICLES, TIMES = 1000, 100
SHOCKS, SPACING = _rng.normal(size=(TIMES, PARTICLES)), (numpy.arange(PARTICLES) + 0.5) / PARTICLES
RETURNS = 0.7 * _rng.normal(size=TIMES)


def particle_step(h, shock, seen, u, np=numpy):
    """The particles of the next period, resampled, and the log likelihood of what is seen."""
    h = u[0] + np.tanh(u[1]) * (h - u[0]) + np.exp(u[2]) * shock
    log_weight = -0.5 * (h + seen**2 * np.exp(-h))
    largest = np.max(log_weight)
    weight = np.exp(log_weight - largest)
    total = np.sum(weight)
    chosen = np.searchsorted(np.cumsum(weight) / total, SPACING)
    return h[np.minimum(chosen, PARTICLES - 1)], largest + np.log(total / PARTICLES)


def particle_filter(u, np=numpy):
    """Bootstrap filter of stochastic volatility with systematic resampling; u = (mean, artanh of the persistence, log scale)."""
    h, value = u[0] + np.exp(u[2]) * SHOCKS[0], 0.0
    for t in range(1, TIMES):
        h, gain = particle_step(h, SHOCKS[t], RETURNS[t], u, np)
        value = value + gain
    return value


WORDS, TAGS, FEATURES = 200, 20, 10
SENTENCE, TAGGED = _rng.normal(size=(WORDS, FEATURES)), _rng.integers(0, TAGS, WORDS)


def conditional_random_field(u, np=numpy):
    """Log probability of the tags of a sentence; u = (scores of pairs of tags, weights of features)."""
    pairs = np.reshape(u[: TAGS * TAGS], (TAGS, TAGS))
    scores = SENTENCE @ np.reshape(u[TAGS * TAGS :], (FEATURES, TAGS))
    forward = scores[0]
    for t in range(1, WORDS):
        forward = scores[t] + log_sum_exp(forward[:, None] + pairs, 0, np)
    path = np.sum(scores[numpy.arange(WORDS), TAGGED]) + np.sum(pairs[TAGGED[:-1], TAGGED[1:]])
    return path - log_sum_exp(forward, 0, np)


SERIES = numpy.sin(numpy.linspace(0.0, 6.0, 100)) + 0.1 * _rng.normal(size=100)


def soft_dtw(x, np=numpy):
    """Soft dynamic time warping of two series of 100 entries by the recurrence over pairs."""
    n, m = len(SERIES), len(SERIES)
    above = [0.0] + [1e10] * m
    for i in range(n):
        row = [1e10]
        for j in range(m):
            a, b, c = above[j], above[j + 1], row[j]
            least = np.minimum(np.minimum(a, b), c)
            soft = least - np.log(np.exp(least - a) + np.exp(least - b) + np.exp(least - c))
            row.append((x[i] - SERIES[j]) ** 2 + soft)
        above = row
    return above[m]


LEAVES, PATTERNS = 250, 20
LEAF_STATES = numpy.eye(4)[_rng.integers(0, 4, (LEAVES, PATTERNS))]


def random_tree(leaves):
    """The children of the inner nodes, in an order in which children come first; the root is the last."""
    roots, children = list(range(leaves)), []
    while len(roots) > 1:
        left, right = roots.pop(_rng.integers(len(roots))), roots.pop(_rng.integers(len(roots)))
        roots.append(leaves + len(children))
        children.append((left, right))
    return children


CHILDREN = random_tree(LEAVES)


def tree_likelihood(u, np=numpy):
    """Felsenstein's pruning with the Jukes-Cantor model; u = the log lengths of the branches."""
    stays = np.exp(-4.0 / 3.0 * np.exp(u))
    partials = list(LEAF_STATES)
    for left, right in CHILDREN:
        sides = []
        for child in (left, right):
            mean = np.sum(partials[child], axis=1, keepdims=True) / 4.0
            sides.append(mean + stays[child] * (partials[child] - mean))
        partials.append(sides[0] * sides[1])
    return np.sum(np.log(np.sum(partials[-1], axis=1) / 4.0))


KNOTS = 20
SPLINE_KNOTS = numpy.linspace(0.0, 1.0, KNOTS)
SPLINE_X = _rng.uniform(0.1, 0.9, 10_000)
SPLINE_Y = numpy.sin(6.0 * SPLINE_X) + 0.1 * _rng.normal(size=10_000)


def spline(u, np=numpy):
    """A cubic Hermite spline through values at knots, at shifted and stretched abscissae; u = (shift, log stretch, values)."""
    values = u[2:]
    x = u[0] + np.exp(u[1]) * SPLINE_X
    at = np.clip(np.searchsorted(SPLINE_KNOTS, x) - 1, 1, KNOTS - 3)
    step = 1.0 / (KNOTS - 1)
    t = (x - SPLINE_KNOTS[0]) / step - at
    before, left, right, after = values[at - 1], values[at], values[at + 1], values[at + 2]
    cubic = t * (t * (t * (3.0 * (left - right) + after - before) + 2.0 * before - 5.0 * left + 4.0 * right - after) + right - before)
    return np.sum((left + 0.5 * cubic - SPLINE_Y) ** 2)


SIZE = 300
RIGHT_SIDE = _rng.normal(size=SIZE)


def solve_and_slogdet(u, np=numpy):
    """A Gaussian log density whose covariance is the argument; both its terms factorise the same matrix."""
    matrix = np.reshape(u, (SIZE, SIZE))
    return -0.5 * RIGHT_SIDE @ np.linalg.solve(matrix, RIGHT_SIDE) - 0.5 * np.linalg.slogdet(matrix)[1]
