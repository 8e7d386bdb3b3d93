"""Networks: ADBench's LSTM, a block of attention, a convolution by im2col."""

import numpy

_rng = numpy.random.default_rng(20261103)

LAYERS, LETTERS, LENGTH = 2, 14, 1024
TEXT = (_rng.uniform(size=(LENGTH, LETTERS)) < 0.5).astype(float)
MAIN = 2 * LAYERS * 4 * LETTERS
MEMORY = 0.1 * _rng.normal(size=(LAYERS, 2, LETTERS))


def sigmoid(x, np):
    return 1.0 / (1.0 + np.exp(-x))


def lstm_weights(u, np):
    return np.reshape(u[:MAIN], (LAYERS, 2, 4, LETTERS)), np.reshape(u[MAIN:], (3, LETTERS))


def lstm_step(state, now, after, weights, extra, np=numpy):
    """The next state of all layers, and the log probability of the next letter."""
    signal, states = now * extra[0], []
    for layer in range(LAYERS):
        (hidden, cell), (weight, bias) = state[layer], (weights[layer, 0], weights[layer, 1])
        forget, take = sigmoid(signal * weight[0] + bias[0], np), sigmoid(hidden * weight[1] + bias[1], np)
        give, change = sigmoid(signal * weight[2] + bias[2], np), np.tanh(hidden * weight[3] + bias[3])
        cell = cell * forget + take * change
        signal = give * np.tanh(cell)
        states.append((signal, cell))
    predicted = signal * extra[1] + extra[2]
    return states, np.sum(after * (predicted - np.log(2.0 + np.sum(np.exp(predicted)))))


def lstm(u, np=numpy):
    """The loss of ADBench's LSTM, whose gates are elementwise; u = (weights and biases of the gates, of input and output)."""
    weights, extra = lstm_weights(u, np)
    state, total = [(memory[0], memory[1]) for memory in MEMORY], 0.0
    for t in range(LENGTH - 1):
        state, gain = lstm_step(state, TEXT[t], TEXT[t + 1], weights, extra, np)
        total = total + gain
    return -total / ((LENGTH - 1) * LETTERS)


TOKENS, WIDTH, HEADS = 128, 64, 4
PROMPT, REPLY = _rng.normal(size=(TOKENS, WIDTH)), _rng.normal(size=(TOKENS, WIDTH))
MASK = numpy.where(numpy.tril(numpy.ones((TOKENS, TOKENS))) > 0, 0.0, -1e9)
ATTENTION_WEIGHTS = 4 * WIDTH * WIDTH


def attention(u, np=numpy):
    """A block of causal attention with four heads, and its squared error."""
    query, key, value, out = np.reshape(u, (4, WIDTH, WIDTH))
    heads = [
        np.transpose(np.reshape(PROMPT @ weight, (TOKENS, HEADS, WIDTH // HEADS)), (1, 0, 2)) for weight in (query, key, value)
    ]
    scores = heads[0] @ np.transpose(heads[1], (0, 2, 1)) / np.sqrt(WIDTH / HEADS) + MASK
    scores = np.exp(scores - np.max(scores, axis=2, keepdims=True))
    mixed = scores / np.sum(scores, axis=2, keepdims=True) @ heads[2]
    joined = np.reshape(np.transpose(mixed, (1, 0, 2)), (TOKENS, WIDTH))
    return np.mean((PROMPT + joined @ out - REPLY) ** 2)


PICTURES, SIDE, PATCH, CHANNELS, CLASSES = 32, 28, 5, 8, 10
IMAGES, CLASS = _rng.normal(size=(PICTURES, SIDE, SIDE)), _rng.integers(0, CLASSES, PICTURES)
POSITIONS = SIDE - PATCH + 1
_windows = numpy.lib.stride_tricks.sliding_window_view(IMAGES, (PATCH, PATCH), axis=(1, 2))
COLUMNS = numpy.ascontiguousarray(_windows.reshape(PICTURES * POSITIONS**2, PATCH**2))
POOLED = POSITIONS // 2
SECOND = POOLED - 2
_down, _right = numpy.meshgrid(numpy.arange(SECOND), numpy.arange(SECOND), indexing="ij")
_shift_down, _shift_right = numpy.meshgrid(numpy.arange(3), numpy.arange(3), indexing="ij")
ROWS, COLUMNS_OF = (
    _down.reshape(-1, 1) + _shift_down.reshape(1, -1), _right.reshape(-1, 1) + _shift_right.reshape(1, -1),
)  # fmt: skip
CONVOLUTION_SHAPES = (
    (PATCH**2, CHANNELS), (CHANNELS,), (9 * CHANNELS, 2 * CHANNELS), (2 * CHANNELS,),
    (SECOND**2 * 2 * CHANNELS, CLASSES), (CLASSES,),
)  # fmt: skip


def split(u, shapes, np):
    parts, start = [], 0
    for shape in shapes:
        size = numpy.prod(shape, dtype=int)
        parts.append(np.reshape(u[start : start + size], shape))
        start += size
    return parts


def convolution(u, np=numpy):
    """Two convolutions by im2col with a maximum pool between them and a dense layer; the cross entropy of 32 pictures."""
    w1, b1, w2, b2, w3, b3 = split(u, CONVOLUTION_SHAPES, np)
    first = np.maximum(COLUMNS @ w1 + b1, 0.0)
    pooled = np.max(np.reshape(first, (PICTURES, POOLED, 2, POOLED, 2, CHANNELS)), axis=(2, 4))
    windows = np.reshape(pooled[:, ROWS, COLUMNS_OF], (PICTURES * SECOND**2, 9 * CHANNELS))
    second = np.maximum(windows @ w2 + b2, 0.0)
    logits = np.reshape(second, (PICTURES, SECOND**2 * 2 * CHANNELS)) @ w3 + b3
    largest = np.max(logits, axis=1)
    total = largest + np.log(np.sum(np.exp(logits - largest[:, None]), axis=1))
    return np.mean(total - logits[numpy.arange(PICTURES), CLASS])


CONVOLUTION_WEIGHTS = sum(numpy.prod(shape, dtype=int) for shape in CONVOLUTION_SHAPES)
