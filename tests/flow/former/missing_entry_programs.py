"""Programs that ask for an entry, or a largest number, that there is not at some points."""

import numpy as np

import tapediff as td


def beyond_the_end(x):
    levels, k = [0.5, 1.0, 2.0], 0
    for v in x:
        if v > 0.35:
            k += 1
    return levels[k] * x[0]


def no_such_key(x):
    rates, k = {1: 0.5, 2: 1.0}, 1
    for v in x:
        if v > 1.0:
            k += 1
        elif v < -1.0:
            k -= 1
    return rates[k] * x[0]


def largest_of_none(x):
    kept = []
    for v in x:
        if v > 0.9:
            kept.append(v)
    return max(kept) + x[0]


def last_of_none(x):
    kept = []
    for v in x:
        if v > 0.9:
            kept.append(v)
    return kept[-1] + x[0]


def beyond_an_array(x):
    y, e, k = td.zeros(3), abs(x[0]) + abs(x[1]), 0
    while e > 0.3:
        y[k] = e * x[2]
        e, k = e * 0.6, k + 1
    return np.sum(y) + e


PROGRAMS = [beyond_the_end, no_such_key, largest_of_none, last_of_none, beyond_an_array]
