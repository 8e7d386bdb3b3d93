"""Problems on periodic grids, chains, graphs and pictures, in whole arrays: shifts, tables of neighbours, sums at places."""

import numpy

_rng = numpy.random.default_rng(20261123)

# Waves on a periodic grid whose speed of sound is looked for.
SIDE, WAVE_STEPS = 64, 40
STILL = _rng.normal(size=(SIDE, SIDE))


def waves(x, np=numpy):
    """The sum of squares of a field after 40 steps, by np.roll; x makes the squares of the speed of sound."""
    speed = 0.1 + 0.05 * np.tanh(np.reshape(x, (SIDE, SIDE)))
    field = before = STILL
    for _ in range(WAVE_STEPS):
        field, before = wave_step(field, before, speed, np)
    return np.sum(field**2)


def wave_step(field, before, speed, np=numpy):
    beside = np.roll(field, 1, 0) + np.roll(field, -1, 0) + np.roll(field, 1, 1) + np.roll(field, -1, 1)
    return 2 * field - before + speed * (beside - 4 * field), field


# Fermi, Pasta, Ulam and Tsingou's chain.
LINKS, CHAIN_STEPS = 500, 50
NEXT, LAST = (numpy.arange(LINKS) + 1) % LINKS, (numpy.arange(LINKS) - 1) % LINKS
ARCH = numpy.sin(numpy.linspace(0.0, 6.0, LINKS))


def chain(x, np=numpy):
    """The sum of squares of a ring of masses on springs after 50 leapfrog steps, by tables of neighbours."""
    place, speed = x, np.zeros(LINKS)
    for _ in range(CHAIN_STEPS):
        place, speed = chain_step(place, speed)
    return np.sum(place**2)


def chain_step(place, speed):
    speed = speed + 0.05 * _force(place)
    place = place + 0.1 * speed
    return place, speed + 0.05 * _force(place)


def _force(place):
    ahead, behind = place[NEXT] - place, place - place[LAST]
    return ahead - behind + 0.25 * (ahead**2 - behind**2)


# Diffusion on a random graph.
NODES, EDGES, SMOOTHINGS = 1000, 6000, 10
FROM, TO, WEIGHT = _rng.integers(0, NODES, EDGES), _rng.integers(0, NODES, EDGES), _rng.uniform(size=EDGES)
WANTED = _rng.normal(size=NODES)


def graph(x, np=numpy):
    """How far values on the nodes of a graph are from others after ten rounds of diffusion, by np.add.at."""
    u = x
    for _ in range(SMOOTHINGS):
        flow = WEIGHT * (u[TO] - u[FROM])
        change = np.zeros(NODES)
        np.add.at(change, FROM, flow)
        np.subtract.at(change, TO, flow)
        u = u + 0.02 * change
    return np.sum((u - WANTED) ** 2)


# Pictures.
PIXELS, BLOBS = 32, 20
ROWS, COLUMNS = numpy.mgrid[0:PIXELS, 0:PIXELS] / PIXELS
PICTURE = _rng.uniform(size=(PIXELS, PIXELS))
SPECTRUM = 128


def splats(x, np=numpy):
    """A picture of twenty translucent discs, one behind the other, beside another; x = (columns, rows, log sizes, opacities)."""
    column, row, size, opacity = x[:BLOBS], x[BLOBS : 2 * BLOBS], np.exp(x[2 * BLOBS : 3 * BLOBS]), x[3 * BLOBS :]
    squared = (COLUMNS[..., None] - column) ** 2 + (ROWS[..., None] - row) ** 2
    alpha = np.exp(-squared / (2 * size**2)) / (1 + np.exp(-opacity))
    through = np.cumprod(1 - alpha, axis=-1)
    through = np.concatenate([np.ones((PIXELS, PIXELS, 1)), through[..., :-1]], axis=-1)
    return np.sum((np.sum(through * alpha, axis=-1) - PICTURE) ** 2)


def log_spectrum(x, np=numpy):
    """The sum of the logarithms of a picture's power spectrum."""
    return np.sum(np.log1p(np.abs(np.fft.fft2(np.reshape(x, (SPECTRUM, SPECTRUM)))) ** 2))


MEASUREMENTS, UNKNOWNS = 200, 50
RIGHT = _rng.normal(size=MEASUREMENTS)


def least_squares(x, np=numpy):
    """The squared length of a least-squares solution; x is the matrix."""
    solution = np.linalg.lstsq(np.reshape(x, (MEASUREMENTS, UNKNOWNS)), RIGHT, rcond=None)[0]
    return np.sum(solution**2)
