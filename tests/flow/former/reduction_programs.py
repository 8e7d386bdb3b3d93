"""Built-in functions of generators and comprehensions with conditions on data: those that merge, and traps."""


WEIGHTS = [0.5, -1.0, 2.0, 0.25, 1.5, -0.75]


def gain(v):
    return 0.5 * v * v + v


# What merges


def sums_with_conditions(x):
    s = sum(gain(v) * w for v, w in zip(x, WEIGHTS) if v > 0 and v < 1.5)
    return s * x[0] + sum([v * w for v in x[:3] if v < 0.5 for w in WEIGHTS if w > v], x[1]) + sum(v if v > 0 else -v for v in reversed(x))


def extremes_with_conditions(x):
    most = max((v * w for v, w in zip(x, WEIGHTS) if v > 0.2), default=-1.0)
    return most * x[0] + min([v for v in x if v != 0.5 or v > -5.0]) + max(abs(v) for v in x if v > -3.0 or v < 3.0)


def any_and_all(x):
    s = 0.0
    if any(v > 1.0 for v in x):
        s = s + x[0]
    few = all(v < 1.5 for v in x if v > 0)
    for i, v in enumerate(x):
        if all(v >= w for w in x[i:]) or not few:
            s = s + v * i
    return s + (x[1] if any(v < -1.0 for v in x) else 2.0)


def counts_of_elements(x):
    n = len([v for v in x if v > 0])
    m = sum(1 for v in x if v > 0.5)
    return x[0] * (n + 0.5) + x[1] / (m + 1.0)


MERGE = [sums_with_conditions, extremes_with_conditions, any_and_all, counts_of_elements]


# Traps


def a_count_as_an_index(x):
    n = sum(1 for v in x if v > 0)
    return x[n % 6] * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0][n]


def consumes_an_iterator(x):
    items = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    found = any(v * w > 0.5 for v, w in zip(x, items))
    return (x[0] if found else x[1]) * sum(items)


def branching_gain(v):
    return v * v if v < 0.8 else 2.0 * v


def sums_of_a_branching_helper(x):
    return sum(branching_gain(v) for v in x if v > -0.5)


SEEN = []


def noted(v):
    SEEN.append(1)
    return v * len(SEEN)


def sums_of_a_helper_with_state(x):
    SEEN.clear()
    return sum(noted(v) for v in x if v > 0) + x[0]


def looks_beyond_the_end(x):
    return sum(x[i] * x[i + 1] for i in range(6) if i < 5 and x[i] > 0) + x[0]


def adds_any(x):
    hits = any(v > 0.5 for v in x) + all(v > -1.0 for v in x) + 1
    return x[0] * hits


def a_sum_of_nothing(x):
    s = sum(v for v in x if v > 100.0)
    return x[0] * (2.0 if isinstance(s, int) else 3.0) + s


def another_sum(x):
    sum = lambda values: 2.0 * len(list(values))
    return sum(v for v in x if v > 0) * x[0]


def sums_of_short_circuits(x):
    return sum(1.0 / (v - 0.5) for v in x if v != 0.5) * x[0]


def sums_of_kept_elements(x):
    kept = [v for v in x if v > 0]
    return sum(kept) * len(kept) + x[0]


def appends_in_every_turn(x):
    out, s = [], x[0]
    for v in x:
        if v > 0:
            s = s + v
        out.append(s * v)
    return sum(out) * out[2]


def conditional_ints(x):
    k = 2 if x[0] > 0 else 3
    n = max(1, 2 if x[1] > 0 else 3)
    flag = True if x[2] > 0 else False
    s = x[k] * [1.0, 2.0, 3.0, 5.0][k] + x[3] * (flag + flag)
    for i in range(n):
        s = s + x[i] ** n
    return s


TRAPS = [
    conditional_ints,
    a_count_as_an_index, consumes_an_iterator, sums_of_a_branching_helper, sums_of_a_helper_with_state, looks_beyond_the_end, adds_any,
    a_sum_of_nothing, another_sum, sums_of_short_circuits, sums_of_kept_elements, appends_in_every_turn,
]  # fmt: skip


def the_largest_of_some(x):
    return max(v for v in x if v > 0.0) * x[1]


# They have errors of their own at some points.
FAIL = [the_largest_of_some]
