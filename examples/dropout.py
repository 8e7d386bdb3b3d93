"""A two-layer network in plain NumPy with batch normalisation and dropout: what differs between training and evaluation is one static
argument, what is random comes in as data, and what is remembered goes out as a result.
"""

from time import perf_counter

import numpy as np

import tapediff as td

HIDDEN, BATCH, STEPS, KEEP, RATE, MEMORY = 32, 50, 800, 0.8, 0.5, 0.95


def network(weights, scale, shift, output, x, mask, mean, variance, training):
    """Logits; `mean` and `variance` are the running moments, and `mask` the kept units over their share, None to evaluate."""
    hidden = x @ weights
    if training:  # a plain bool: no guard, but a tape for each of its two values
        mean, variance = hidden.mean(axis=0), hidden.var(axis=0)
    hidden = np.tanh(scale * (hidden - mean) / np.sqrt(variance + 1e-5) + shift)
    if training:
        hidden = hidden * mask
    return hidden @ output, mean, variance


def loss(weights, scale, shift, output, x, labels, mask, mean, variance, training):
    """The mean negative log-likelihood of labels -1 and 1."""
    logits, _, _ = network(weights, scale, shift, output, x, mask, mean, variance, training)
    return np.mean(np.logaddexp(0.0, -labels * logits))


def two_moons(count, rng):
    labels = rng.choice([-1.0, 1.0], count)
    angle = np.pi * rng.uniform(size=count)
    x = np.stack([np.cos(angle) - 0.5 * labels, labels * (np.sin(angle) - 0.25)], axis=1)
    return x + 0.15 * rng.normal(size=x.shape), labels


def train(loss_of, moments_of, x, labels, rng):
    """Gradient descent on mini-batches; the parameters and the running moments."""
    parameters = [rng.normal(size=(2, HIDDEN)), np.ones(HIDDEN), np.zeros(HIDDEN), np.zeros(HIDDEN)]
    mean, variance = np.zeros(HIDDEN), np.ones(HIDDEN)
    for _ in range(STEPS):
        chosen = rng.choice(len(x), BATCH, replace=False)
        mask = (rng.uniform(size=(BATCH, HIDDEN)) < KEEP) / KEEP
        batch = [td.Constant(v) for v in (x[chosen], labels[chosen], mask, mean, variance)]
        gradients = td.gradient(loss_of, *parameters, *batch, training=True, argnums=(0, 1, 2, 3))
        _, new_mean, new_variance = moments_of(*parameters, batch[0], *batch[2:], training=True)
        mean = MEMORY * mean + (1 - MEMORY) * new_mean
        variance = MEMORY * variance + (1 - MEMORY) * new_variance
        parameters = [p - RATE * g for p, g in zip(parameters, gradients)]
    return parameters, mean, variance


def main():
    rng = np.random.default_rng(0)
    (x, labels), (test_x, test_labels) = two_moons(300, rng), two_moons(2000, rng)
    static = td.static(argnames="training")
    loss_of, network_of = td.GuardedTape(loss, static=static), td.GuardedTape(network, static=static)

    started = perf_counter()
    parameters, mean, variance = train(loss_of, network_of, x, labels, rng)
    seconds = perf_counter() - started
    print(f"{STEPS} steps in {seconds:.2f} s, {loss_of.stats.seconds_compiling:.2f} s of them compiling")

    remembered = td.Constant(mean), td.Constant(variance)
    for name, points, signs in ("training", x, labels), ("test", test_x, test_labels):
        data = td.Constant(points), td.Constant(signs)
        value = loss_of(*parameters, *data, None, *remembered, training=False)  # no unit is dropped
        logits, _, _ = network_of(*parameters, data[0], None, *remembered, training=False)
        print(f"{name}: loss {value:.3f}, {np.mean(np.sign(logits) == signs):.1%} right")
    print("the loss:", loss_of.stats)


if __name__ == "__main__":
    main()
