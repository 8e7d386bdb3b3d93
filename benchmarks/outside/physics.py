"""Problems of mechanics, fields, cameras and finance: loops over cells and bodies, stencils, gathers of rows."""

import numpy
import numpy as np

import tapediff as td

_rng = numpy.random.default_rng(20261102)


def heat_slices(n, steps):
    """The heat equation on n × n points, whose inside is updated in place; the argument is the first temperature."""

    def value(x, np=numpy):
        u = np.reshape(x, (n, n)).copy()
        for _ in range(steps):
            u[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
        return np.sum(u**2)

    return value


def heat_cells(n, steps):
    """The same cell by cell."""

    def value(x, np=numpy):
        u = [[x[i * n + j] for j in range(n)] for i in range(n)]
        for _ in range(steps):
            before = [list(row) for row in u]
            for i in range(1, n - 1):
                for j in range(1, n - 1):
                    around = before[i + 1][j] + before[i - 1][j] + before[i][j + 1] + before[i][j - 1]
                    u[i][j] = before[i][j] + 0.2 * (around - 4.0 * before[i][j])
        total = 0.0
        for row in u:
            for entry in row:
                total = total + entry**2
        return total

    return value


def heat_scan(n, steps):
    """The same by td.scan."""

    def step(u, _):
        u = u.copy()
        u[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
        return u, None

    def value(x):
        u, _ = td.scan(step, np.reshape(x, (n, n)), length=steps)
        return np.sum(u**2)

    return value


BODIES, ORBIT_STEPS = 5, 50
MASSES = _rng.uniform(0.5, 1.5, BODIES)


def n_body(x, np=numpy):
    """Bodies under gravity, leapfrog steps, pair by pair; the argument has positions and velocities."""
    place = [[x[3 * i + d] for d in range(3)] for i in range(BODIES)]
    speed = [[x[3 * (BODIES + i) + d] for d in range(3)] for i in range(BODIES)]
    for _ in range(ORBIT_STEPS):
        for i in range(BODIES):
            for j in range(i):
                apart = [place[i][d] - place[j][d] for d in range(3)]
                squared = apart[0] ** 2 + apart[1] ** 2 + apart[2] ** 2 + 0.1
                pull = 0.01 / (squared * np.sqrt(squared))
                for d in range(3):
                    speed[i][d] = speed[i][d] - MASSES[j] * pull * apart[d]
                    speed[j][d] = speed[j][d] + MASSES[i] * pull * apart[d]
        for i in range(BODIES):
            for d in range(3):
                place[i][d] = place[i][d] + 0.01 * speed[i][d]
    total = 0.0
    for i in range(BODIES):
        for d in range(3):
            total = total + place[i][d] ** 2
    return total


STARS, STAR_STEPS = 50, 50
STAR_MASSES = _rng.uniform(0.5, 1.5, STARS)


def star_step(place, speed, np=numpy):
    apart = place[:, None, :] - place[None, :, :]
    squared = np.sum(apart**2, axis=2) + 0.1
    speed = speed - 0.01 * np.sum((STAR_MASSES / (squared * np.sqrt(squared)))[:, :, None] * apart, axis=1)
    return place + 0.01 * speed, speed


def stars(x, np=numpy):
    """The same for 50 bodies, with arrays of pairs."""
    place, speed = np.reshape(x[: 3 * STARS], (STARS, 3)), np.reshape(x[3 * STARS :], (STARS, 3))
    for _ in range(STAR_STEPS):
        place, speed = star_step(place, speed, np)
    return np.sum(place**2)


def lattice(n):
    """The action of a φ⁴ field on an n × n torus, site by site."""

    def action(x, np=numpy):
        total = 0.0
        for i in range(n):
            for j in range(n):
                here = x[i * n + j]
                beside = x[((i + 1) % n) * n + j] + x[i * n + (j + 1) % n]
                total = total + 2.0 * here**2 - here * beside + 0.1 * (here**2 - 1.0) ** 2
        return total

    return action


TREE_STEPS = 200


def exponents(k):
    """Of the k + 1 nodes after k steps."""
    return numpy.arange(k, -k - 1, -2)


def american_put(u, np=numpy):
    """An American put on a binomial tree; u = (log spot, log volatility, rate)."""
    step = 1.0 / TREE_STEPS
    spot, up = np.exp(u[0]), np.exp(np.exp(u[1]) * np.sqrt(step))
    discount = np.exp(-u[2] * step)
    probability = (1.0 / discount - 1.0 / up) / (up - 1.0 / up)
    value = np.maximum(1.0 - spot * up ** exponents(TREE_STEPS), 0.0)
    for k in range(TREE_STEPS - 1, -1, -1):
        ahead = discount * (probability * value[:-1] + (1.0 - probability) * value[1:])
        value = np.maximum(ahead, 1.0 - spot * up ** exponents(k))
    return value[0]


PATHS, DAYS, BARRIER = 1000, 100, 0.8
DRAWS = _rng.normal(size=(PATHS, DAYS)) / numpy.sqrt(DAYS)


def barrier_option(u, np=numpy):
    """A down-and-out call, path by path and day by day; u = (log spot, log volatility, rate)."""
    spot, volatility = np.exp(u[0]), np.exp(u[1])
    drift = (u[2] - 0.5 * volatility**2) / DAYS
    total = 0.0
    for draws in DRAWS:
        price, alive = spot, 1.0
        for draw in draws:
            price = price * np.exp(drift + volatility * draw)
            if price < BARRIER:
                alive = 0.0
        if price > 1.0:
            total = total + alive * (price - 1.0)
    return np.exp(-u[2]) * total / PATHS


def barrier_option_scan(u):
    """As a scan in a scan."""
    spot, volatility = np.exp(u[0]), np.exp(u[1])
    drift = (u[2] - 0.5 * volatility**2) / DAYS

    def day(state, draw):
        price, alive = state
        price = price * np.exp(drift + volatility * draw)
        if price < BARRIER:
            alive = 0.0 * alive
        return (price, alive), None

    def path(total, draws):
        (price, alive), _ = td.scan(day, (spot, 1.0), draws)
        if price > 1.0:
            total = total + alive * (price - 1.0)
        return total, None

    total, _ = td.scan(path, 0.0, DRAWS)
    return np.exp(-u[2]) * total / PATHS


ATOMS, PAIRS = 5000, 100_000
LEFT = _rng.integers(0, ATOMS, PAIRS)
RIGHT = (LEFT + _rng.integers(1, ATOMS, PAIRS)) % ATOMS
CRYSTAL = 1.5 * numpy.stack(numpy.meshgrid(*[numpy.arange(18.0)] * 3), -1).reshape(-1, 3)[:ATOMS]


def lennard_jones(x, np=numpy):
    """The energy of 10⁵ pairs of atoms."""
    place = np.reshape(x, (ATOMS, 3))
    apart = place[LEFT] - place[RIGHT]
    inverse = 1.0 / np.sum(apart**2, axis=1) ** 3
    return np.sum(4.0 * (inverse**2 - inverse))


CAMERAS, POINTS, OBSERVATIONS = 20, 1000, 5000
CAMERA, POINT = _rng.integers(0, CAMERAS, OBSERVATIONS), _rng.integers(0, POINTS, OBSERVATIONS)
OBSERVED = 0.3 * _rng.normal(size=(OBSERVATIONS, 2))


def bundle_adjustment(u, np=numpy):
    """ADBench's: cameras of 11 parameters (rotation, centre, focal length, image centre, distortion), points, weights."""
    at = 11 * CAMERAS, 11 * CAMERAS + 3 * POINTS
    camera = np.reshape(u[: at[0]], (CAMERAS, 11))[CAMERA]
    point = np.reshape(u[at[0] : at[1]], (POINTS, 3))[POINT]
    weight = u[at[1] :]
    rotation, away = camera[:, :3], point - camera[:, 3:6]
    angle = np.sqrt(np.sum(rotation**2, axis=1))[:, None]
    axis = rotation / angle
    along = np.sum(axis * away, axis=1)[:, None]
    seen = away * np.cos(angle) + np.cross(axis, away) * np.sin(angle) + axis * along * (1.0 - np.cos(angle))
    flat = seen[:, :2] / seen[:, 2:]
    radius = np.sum(flat**2, axis=1)[:, None]
    flat = flat * (1.0 + camera[:, 9:10] * radius + camera[:, 10:] * radius**2)
    error = weight[:, None] * (flat * camera[:, 6:7] + camera[:, 7:9] - OBSERVED)
    return np.sum(error**2) + np.sum((1.0 - weight**2) ** 2)


def bundle_point():
    cameras = numpy.concatenate(
        [0.3 + 0.1 * _rng.normal(size=(CAMERAS, 3)), 0.2 * _rng.normal(size=(CAMERAS, 3)), numpy.ones((CAMERAS, 1)),
         0.1 * _rng.normal(size=(CAMERAS, 4))], axis=1,
    )  # fmt: skip
    points = _rng.normal(size=(POINTS, 3)) * [1.0, 1.0, 0.3] + [0.0, 0.0, 8.0]
    return numpy.concatenate([cameras.ravel(), points.ravel(), 1.0 + 0.1 * _rng.normal(size=OBSERVATIONS)])


BONES, VERTICES = 22, 500
PARENTS = [-1, 0] + [k for finger in range(5) for k in (1, *range(2 + 4 * finger, 5 + 4 * finger))]
BASE = numpy.eye(4) + 0.1 * _rng.normal(size=(BONES, 4, 4)) * numpy.array([[1.0], [1.0], [1.0], [0.0]])
UNPOSE = numpy.linalg.inv(BASE)
MESH = numpy.concatenate([_rng.normal(size=(3, VERTICES)), numpy.ones((1, VERTICES))])
SKIN = _rng.dirichlet(numpy.ones(BONES), VERTICES).T
TARGET = _rng.normal(size=(3, VERTICES))


def euler_rotation(x, y, z, np=numpy):
    cx, sx, cy, sy, cz, sz = np.cos(x), np.sin(x), np.cos(y), np.sin(y), np.cos(z), np.sin(z)
    return np.stack([
        np.stack([cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz]),
        np.stack([cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz]),
        np.stack([-sy, sx * cy, cx * cy]),
    ])  # fmt: skip


def hand_tracking(u, np=numpy):
    """ADBench's hand: 22 bones whose poses are products along the fingers, and a skin of weighted vertices."""
    poses = []
    for bone in range(BONES):
        turn = euler_rotation(u[3 * bone + 6], u[3 * bone + 7], u[3 * bone + 8], np)
        relative = BASE[bone][:, :3] @ turn
        relative = np.concatenate([relative, BASE[bone][:, 3:]], axis=1)
        poses.append(relative if PARENTS[bone] < 0 else poses[PARENTS[bone]] @ relative)
    skin = 0.0
    for bone in range(BONES):
        skin = skin + SKIN[bone] * ((poses[bone] @ UNPOSE[bone])[:3] @ MESH)
    placed = euler_rotation(u[0], u[1], u[2], np) @ skin + u[3:6][:, None]
    return np.sum((placed - TARGET) ** 2)


def large_elementwise(x, np=numpy):
    """A long chain of elementwise operations."""
    y = np.exp(-0.5 * x**2) * np.sin(x)
    return np.sum(y / (1.0 + y**2) + 0.1 * np.tanh(x))
