"""Programs that store numbers of a branch where they are kept: as float64 in arrays, or as what they are in anything else."""

import numpy as np


def melts(x):
    kept = np.zeros(6)
    for i in range(6):
        if x[i] > 0.2:
            melt = x[i] * x[0]
        else:
            melt = 0.0
        kept[i] = melt
    return np.sum(kept * x)


def counts_and_flags(x):
    kept, n, found = np.zeros((6, 2)), 0, False
    for i in range(6):
        if x[i] > 0.5:
            n = n + 1
        found = True if x[i] > 1.0 else found
        kept[i, 0] = n
        kept[i, 1] = found
    return np.sum(kept[:, 0] * x) + np.sum(kept[:, 1]) * x[1] / (kept[5, 0] + 7)


def adds_to_stored(x):
    kept = np.zeros(3)
    for i in range(6):
        step = 2.0 if x[i] > 0 else x[0]
        kept[i % 3] += step
        kept[0] *= 1.0 if x[i] < 1.0 else 0.5
    kept[1:] = step if x[0] > 0.3 else 1.0
    return np.sum(kept**2 * x[:3])


MERGE = [melts, counts_and_flags, adds_to_stored]


def in_a_list(x):
    kept = [0.0] * 6
    for i in range(6):
        kept[i] = 1.0 if x[i] > 0.2 else x[i]
    return x[0] * sum(2.0 if type(v) is float else 3.0 for v in kept)


def in_a_dict(x):
    kept = {}
    for i in range(6):
        n = 1 if x[i] > 0.2 else 2
        kept[i] = n
    return x[0] * sum(len(range(n)) for n in kept.values())


def in_a_tuple_in_a_list(x):
    kept = [None] * 6
    for i in range(6):
        n = 1 if x[i] > 0.2 else 2
        pair = (n, x[i])
        kept[i] = pair
    return sum(("a", "bc", "def")[n].count("b") * v for n, v in kept)


def in_an_array_of_ints(x):
    kept = np.zeros(6, dtype=int)
    for i in range(6):
        kept[i] = 1.7 if x[i] > 0.2 else -0.3
    return np.sum(kept) * x[0]


def in_an_array_of_objects(x):
    kept = np.empty(6, dtype=object)
    for i in range(6):
        kept[i] = 1 if x[i] > 0.2 else 2
    return x[0] * sum("ab"[n - 1] == "a" for n in kept)


def in_an_array_of_float32(x):
    kept = np.zeros(6, dtype=np.float32)
    for i in range(6):
        kept[i] = 0.1 if x[i] > 0.2 else 0.7
    return np.sum(kept) * x[0]


def added_to_a_list(x):
    kept = [0] * 6
    for i in range(6):
        kept[i] += 1 if x[i] > 0.2 else 2
    return x[0] * len(range(sum(kept)))


def negative_zeros(x):
    kept = np.zeros(6)
    for i in range(6):
        n = 1 if x[i] > 0.2 else 0
        kept[i] = -n
    return np.sum(np.copysign(1.0, kept) * x)


def made_plain_by_an_operator(x):
    kept = [None] * 6
    for i in range(6):
        n = 1 if x[i] > 0.2 else 2
        kept[i] = n + 1
    return x[0] * sum(len("abc"[:n]) for n in kept)


KEPT = np.zeros(6)
OTHER = [0] * 6


def is_rebound_while_the_value_is_computed(x):
    global KEPT
    KEPT = np.zeros(6)
    n = 1 if x[0] > 0.2 else 2
    KEPT[0] = n + rebound()
    found = x[0] * len(range(KEPT[0]))
    KEPT = np.zeros(6)
    return found


def rebound():
    global KEPT
    KEPT = OTHER
    return 0


TRAPS = [
    in_a_list, in_a_dict, in_a_tuple_in_a_list, in_an_array_of_ints, in_an_array_of_objects, in_an_array_of_float32, added_to_a_list,
    negative_zeros, made_plain_by_an_operator, is_rebound_while_the_value_is_computed,
]  # fmt: skip
