"""Branches of a few, and of many, ways."""


def three_ways(x):
    s = x[2] * 0.0
    for k in range(2):
        if x[k] > 0:
            s = s + x[k] ** 2
        else:
            s = s - x[k]
    return s


def many_ways(x):
    s = 0.0
    for v in x:
        if v > 0:
            s = s + v**2
        else:
            s = s - v
    return s


def halved(x):
    s = x[0]
    while s > 1.0:
        s = 0.5 * s
    return s


PROGRAMS = [three_ways, many_ways, halved]
