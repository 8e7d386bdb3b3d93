"""Some of the problems in PyTorch, float64, by its eager mode: those made of a few operations on large arrays."""

import numpy as np
import torch

from . import models, networks, physics

_t = torch.as_tensor


def matrix_factorisation(u):
    users = u[: models.USERS * models.FACTORS].reshape(models.USERS, models.FACTORS)
    items = u[models.USERS * models.FACTORS :].reshape(models.ITEMS, models.FACTORS)
    chosen = users.index_select(0, _t(models.RATED_BY)), items.index_select(0, _t(models.RATED))
    return ((chosen[0] * chosen[1]).sum(1) - _t(models.RATING)).square().sum() + 0.1 * u.square().sum()


def hierarchical_glm(u):
    count = models.SLOPES
    each = u[count] + torch.exp(u[count + 1]) * u[count + 2 :]
    log_rate = _t(models.COVARIATES) @ u[:count] + each.index_select(0, _t(models.GROUP))
    return (_t(models.COUNTS) * log_rate - torch.exp(log_rate)).sum() - 0.5 * u.square().sum()


def solve_slogdet(u):
    matrix, b = u.reshape(models.SIZE, models.SIZE), _t(models.RIGHT_SIDE)
    return -0.5 * b @ torch.linalg.solve(matrix, b) - 0.5 * torch.linalg.slogdet(matrix)[1]


def lennard_jones(x):
    place = x.reshape(physics.ATOMS, 3)
    apart = place.index_select(0, _t(physics.LEFT)) - place.index_select(0, _t(physics.RIGHT))
    inverse = 1.0 / apart.square().sum(1) ** 3
    return (4.0 * (inverse**2 - inverse)).sum()


def elementwise_large(x):
    y = torch.exp(-0.5 * x**2) * torch.sin(x)
    return (y / (1.0 + y**2) + 0.1 * torch.tanh(x)).sum()


def attention(u):
    prompt, width, heads = _t(networks.PROMPT), networks.WIDTH, networks.HEADS
    query, key, value, out = u.reshape(4, width, width)
    parts = [(prompt @ w).reshape(networks.TOKENS, heads, width // heads).transpose(0, 1) for w in (query, key, value)]
    scores = parts[0] @ parts[1].transpose(1, 2) / (width / heads) ** 0.5 + _t(networks.MASK)
    mixed = torch.softmax(scores, 2) @ parts[2]
    joined = mixed.transpose(0, 1).reshape(networks.TOKENS, width)
    return (prompt + joined @ out - _t(networks.REPLY)).square().mean()


def convolution(u):
    sizes = [int(np.prod(shape)) for shape in networks.CONVOLUTION_SHAPES]
    w1, b1, w2, b2, w3, b3 = (p.reshape(s) for p, s in zip(u.split(sizes), networks.CONVOLUTION_SHAPES))
    count, pooled, channels = networks.PICTURES, networks.POOLED, networks.CHANNELS
    first = torch.relu(_t(networks.COLUMNS) @ w1 + b1)
    maxima = first.reshape(count, pooled, 2, pooled, 2, channels).amax((2, 4))
    windows = maxima[:, _t(networks.ROWS), _t(networks.COLUMNS_OF)].reshape(-1, 9 * channels)
    second = torch.relu(windows @ w2 + b2)
    return torch.nn.functional.cross_entropy(second.reshape(count, -1) @ w3 + b3, _t(networks.CLASS))


def mixture_of(x, components):
    """The mixture by one batched product, as models.mixture."""
    rows, size = x.shape
    below = np.tril_indices(size, -1)
    counts = [components, components * size, components * size, components * len(below[0])]

    def log_likelihood(u):
        log_weight, mean, log_diagonal, entries = u.split(counts)
        mean, log_diagonal = mean.reshape(components, size), log_diagonal.reshape(components, size)
        entries = entries.reshape(components, -1)
        factor = torch.diag_embed(log_diagonal.exp()).index_put((torch.arange(components)[:, None], *map(_t, below)), entries)
        white = (_t(x) - mean[:, None, :]) @ factor.transpose(1, 2)
        each = (log_weight + log_diagonal.sum(1))[:, None] - 0.5 * white.square().sum(2)
        prior = 0.5 * ((2.0 * log_diagonal).exp().sum() + entries.square().sum()) - log_diagonal.sum()
        return torch.logsumexp(each, 0).sum() - rows * torch.logsumexp(log_weight, 0) - prior

    return log_likelihood


def version(problem):
    """The problem in PyTorch, or None."""
    if problem.name in models.CLOUDS:
        return mixture_of(*models.CLOUDS[problem.name])
    return globals().get(problem.key)
