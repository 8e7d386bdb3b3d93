"""Programs with complex numbers, as users write them, and points to run them at."""

import numpy as np

rng = np.random.default_rng(0)
n = 64
y = np.cumsum(rng.normal(size=n)) * 0.3 + rng.normal(size=n)
per = np.abs(np.fft.rfft(y - y.mean()))[1:] ** 2 / n
freq = 2 * np.pi * np.fft.rfftfreq(n)[1:]


def whittle(p):
    "Whittle likelihood of an AR(2) spectrum by its complex polynomial"
    a = np.tanh(p[:2]) * 0.5
    sigma = np.exp(p[2])
    z = np.exp(-1j * freq)
    transfer = 1.0 / (1 - a[0] * z - a[1] * z**2)
    spectrum = sigma**2 * np.abs(transfer) ** 2
    return np.sum(np.log(spectrum) + per / spectrum)


def convolution(p):
    "Circular convolution of a signal with a kernel of unknown width, against data"
    t = np.arange(n)
    kernel = np.exp(-0.5 * (np.minimum(t, n - t) / np.exp(p[0])) ** 2)
    kernel = kernel / kernel.sum()
    smooth = np.fft.irfft(np.fft.rfft(y) * np.fft.rfft(kernel), n)
    return np.sum((smooth - p[1] * y) ** 2) + p[2] ** 2


def qubit(p):
    "A driven two-level system: its propagator by the exponential series, step by step"
    sx = np.array([[0, 1], [1, 0]], complex)
    sz = np.diag([1.0, -1.0])
    sy = np.array([[0, -1j], [1j, 0]])
    state = np.array([1.0 + 0j, 0.0])
    for k in range(2):
        h = p[0] * np.cos(0.7 * k) * sx + p[1] * sz + 0.3 * p[2] * sy
        step = -1j * 0.2 * h
        u = np.eye(2, dtype=complex)
        term = np.eye(2, dtype=complex)
        for j in range(1, 5):
            term = term @ step / j
            u = u + term
        state = u @ state
    assert state.dtype == complex
    return np.abs(state[1]) ** 2


def circuit(p):
    "Transfer function of a series RLC circuit against measured gains and phases"
    R, L, C = np.exp(p)
    w = np.linspace(0.3, 3.0, 20)
    s = 1j * w
    h = 1 / (L * C * s**2 + R * C * s + 1)
    return np.sum((20 * np.log10(np.abs(h)) - 1.0) ** 2) + np.sum(np.angle(h) ** 2)


def density(p):
    "Density of a sum of independent variables by inverting its characteristic function (Simpson's rule)"
    t = np.linspace(-12, 12, 241)
    phi = np.exp(1j * t * p[0] - 0.5 * (np.exp(p[1]) * t) ** 2) / (1 - 0.5j * t) ** np.exp(p[2])
    x = np.array([-0.5, 0.4, 1.3])
    f = np.trapezoid(np.exp(-1j * np.outer(x, t)) * phi, t, axis=1).real / (2 * np.pi)
    return -np.sum(np.log(f))


image = rng.uniform(size=(6, 6))
measured = np.abs(np.fft.fft2(image))


def retrieval(p):
    "Phase retrieval"
    guess = p.reshape(6, 6)
    return np.sum((np.abs(np.fft.fft2(guess)) ** 2 - measured**2) ** 2) / 1e3


def oscillator(p):
    "Damped oscillator by the complex roots of its characteristic polynomial, over- and underdamped alike"
    k, c = np.exp(p[0]), np.exp(p[1])
    root = np.sqrt(c * c - 4 * k + 0j)
    r1, r2 = (-c + root) / 2, (-c - root) / 2
    t = np.linspace(0, 5, 30)
    x = (p[2] * (r2 * np.exp(r1 * t) - r1 * np.exp(r2 * t)) / (r2 - r1)).real
    return np.sum((x - np.exp(-0.3 * t) * np.cos(1.4 * t)) ** 2)


def dirichlet(p):
    "Dirichlet's kernel as a geometric sum"
    z = np.exp(1j * p)
    total = np.zeros(p.shape, dtype=complex)
    for k in range(-4, 5):
        total += z**k
    closed = np.sin(4.5 * p) / np.sin(0.5 * p)
    return np.sum(total.real * closed) + np.sum(total.imag)


def features(p):
    "Fourier features, complex"
    X = np.linspace(-1, 1, 15)
    Phi = np.exp(1j * np.outer(X, np.arange(4) * np.exp(p[0])))
    G = Phi.conj().T @ Phi + np.exp(p[1]) * np.eye(4)
    w = np.linalg.solve(G, Phi.conj().T @ np.sin(3 * X))
    return np.sum(np.abs(Phi @ w - np.sin(3 * X) * p[2]) ** 2) + np.linalg.slogdet(G)[1]


PROGRAMS = (
    (whittle, (np.array([0.3, -0.4, 0.1]),)),
    (convolution, (np.array([0.4, 0.8, 0.2]),)),
    (qubit, (np.array([1.1, 0.4, -0.7]),)),
    (circuit, (np.array([-0.5, 0.2, 0.1]),)),
    (density, (np.array([0.2, -0.6, 0.3]),)),
    (retrieval, (rng.uniform(size=36),)),
    (oscillator, (np.array([0.7, -0.6, 1.1]), np.array([-0.7, 1.1, 1.1]))),
    (dirichlet, (np.array([0.4, 1.3, -2.0]),)),
    (features, (np.array([0.5, -1.0, 0.9]),)),
)
