"""Programs on parts of arrays whose lengths are data: masks, positions, slices, views of these, and writes to them."""

import itertools

import numpy as np

NAMES = np.array(["a", "b", "c", "d"])
W, WIDE = np.linspace(1, 2, 12), np.linspace(1, 2, 20)
NOISE = np.random.default_rng(3).normal(size=64)

# What each part of the class does, on 12 numbers.


def reductions(x):
    z = x[x > 0]
    return z.sum() + np.prod(z) + z.var() + z.std() + z.max() - z.min() + np.ptp(z)


def entries(x):
    z = x[x > 0]
    return z[0] + z[-1] * 2 + z[1]


def quantiles(x):
    z = x[x > 0]
    return np.median(z) + np.quantile(z, 0.3) + np.percentile(z, [10, 90]).sum()


def positions_of_nonzero(x):
    i = np.flatnonzero(x > 0)
    y = np.zeros(12)
    y[i] = x[i] * W[i]
    y[i] += 1.0
    return np.sum(y**2) + i[0] + i.size


def rows(x):
    X = x.reshape(4, 3)
    k = X[:, 0] > 0
    Z = X[k]
    return (Z.T @ Z).sum() + (Z @ np.ones(3)).sum() + Z.mean(axis=0)[1] + Z.sum(axis=1).max() + Z[:, 1].sum() + X[k, 2].sum()


def columns(x):
    X = x.reshape(3, 4)
    k = X[0] > 0
    Z = X[:, k]
    return Z.sum() + (Z @ Z.T).sum() + Z[1].sum() + Z.T.sum(axis=0)[0]


def extrema_and_weights(x):
    z = x[x > 0]
    return (
        z[np.argmax(z)]
        + np.argmin(z)
        + np.average(z, weights=z)
        + np.linalg.norm(z)
        + np.sum(np.where(z > 1, z, 0))
        + np.clip(z, 0.2, 0.8).sum()
    )


def builtins_of_python(x):
    z = x[x > 0]
    return sum(z) + max(z) + len(z) + sum(v * v for v in z) + sorted(z)[0]


def loops_over_entries(x):
    s = 0.0
    for k, v in enumerate(x[x > 0]):
        s += k * v
    for a, b in zip(x[x > 0], W):
        s += a * b
    return s


def a_branch_on_the_length(x):
    z = x[np.abs(x - np.mean(x)) < np.std(x)]
    return np.mean(z) if len(z) > 5 else np.median(x)


def a_loop_of_masks(x):
    s = 0.0
    for k in range(3):
        y = x[(x > -1) & (x < k)]
        if y.size:
            s += y.mean()
    return s


def plain_arrays(x):
    return np.sum(W[x > 0]) * x[0] + W[x > 0] @ x[x > 0] + np.log(x[x > 0]).sum()


def nonzero_positions(x):
    (i,) = np.nonzero(x > 0)
    return x[i[0]] + x[i].sum() + np.sum(W[i]) + x[i[-1]]


def where_of_one_argument(x):
    return np.where(x > 0)[0].size * x[1] + np.count_nonzero(x[x > 0] > 1)


def reversed_entries(x):
    z = x[x > 0][::-1]
    return z[0] * 2 + z @ z


def outer_product(x):
    z = x[x > 0]
    return np.outer(z, z).sum() + np.interp(z, [0, 1, 2], [1.0, 3.0, 4.0]).sum() + (z[:, None] - z.reshape(1, -1)).max()


def a_reshaped_view_shares_memory(x):
    z = x[x > -3]
    v = z.reshape(-1, 2)
    v[0] = 1.0
    z[3] = 2.0
    return z.sum() + v[:, 1].sum()


def sorted_in_place(x):
    z = x[x > 0]
    z.sort()
    y = z[-3:]
    y += 1
    return z @ np.ones_like(z) + y.sum()


def written_in_a_branch(x):
    z = x[x > 0]
    if x[0] > 0:
        z[0] = 2.0
    else:
        z = z[1:]
    return z.sum() * z.size


def chosen_in_a_branch(x):
    z = x[x > 0] if x[1] > 0 else x[x < 0]
    return z.sum() + len(z)


def functions_of_masks(x):
    def f(v):
        return v[v > 0].sum() if v.size else 0.0

    return f(x) + f(x[x > 1])


def a_loop_that_shrinks(x):
    y = x.copy()
    while y.size > 3 and y.std() > 0.5:
        keep = np.abs(y - y.mean()) < 1.5 * y.std()
        if y.size < 6 or keep.all():
            break
        y = y[keep]
    return y.mean()


def written_into_zeros(x):
    y = np.zeros((3, 4))
    X = x.reshape(3, 4)
    y[X > 0] = X[X > 0] ** 2
    y[X < -1] = -1
    y[:, 1][X[:, 1] > 0] += 2.0
    return (y * np.arange(12).reshape(3, 4)).sum()


def covariance_of_rows(x):
    X = x.reshape(6, 2)
    Z = X[X[:, 0] > -0.5]
    Z -= Z.mean(axis=0)
    C = Z.T @ Z / (len(Z) - 1) if len(Z) > 1 else np.eye(2)
    return np.linalg.det(C) + C[0, 1] + (Z / Z.std(axis=0)).sum() ** 2


# What people write.


def sigma_clip(x):
    y = x.copy()
    for _ in range(10):
        m, s = np.median(y), y.std()
        keep = np.abs(y - m) < 2 * s
        if keep.all():
            break
        y = y[keep]
    return y.mean() + 0.1 * y.size


def pareto(x):
    pts = x.reshape(-1, 2)
    tot = 0.0
    for p in pts:
        dom = np.all(pts <= p, axis=1) & np.any(pts < p, axis=1)
        if not dom.any():
            tot += p.sum()
        else:
            tot += 0.1 * pts[dom].mean()
    return tot


def runs(x):
    s = np.sign(x)
    change = np.flatnonzero(s[1:] != s[:-1]) + 1
    starts = np.concatenate([[0], change])
    ends = np.append(change, len(x))
    return sum(x[a:b].sum() ** 2 for a, b in zip(starts, ends))


def peaks(x):
    up = (x[1:-1] > x[:-2]) & (x[1:-1] > x[2:])
    idx = np.where(up)[0] + 1
    if len(idx) < 2:
        return x.max()
    return x[idx].mean() + np.diff(idx).mean() * 0.1


def histogram(x):
    edges = np.linspace(-2, 2, 6)
    tot = 0.0
    for a, b in itertools.pairwise(edges):
        inb = x[(x >= a) & (x < b)]
        tot += inb.mean() ** 2 if inb.size else 0.0
    return tot


def softrank(x):
    pos, neg = x[x > 0], x[x <= 0]
    if pos.size == 0 or neg.size == 0:
        return 0.0 * x.sum()
    return np.mean(np.maximum(0, 0.5 - pos.min() + neg.max())) + pos.size / neg.size


def pairs_of_two_masks(x):
    pos, neg = x[x > 0], x[x <= 0]
    return (pos[:, None] > neg[None, :]).mean() + (pos[:, None] - neg[None, :]).clip(0, 1).mean()


def relabel(x):
    lab = (x > 0).astype(int) + (x > 1)
    means = np.array([x[lab == k].mean() if np.sum(lab == k) else 0.0 for k in range(3)])
    return ((x - means[lab]) ** 2).sum()


def missing(x):
    y = np.where(NOISE[: len(x)] > 0.8, np.nan, x)
    ok = ~np.isnan(y)
    return y[ok].mean() + np.interp(np.arange(len(x)), np.arange(len(x))[ok], y[ok]).sum()


def active_set(x):
    A = NOISE[:64].reshape(8, 8)
    A = A @ A.T + np.eye(8)
    z = np.maximum(x[:8], 0)
    for _ in range(4):
        g = A @ z - x[:8]
        free = (z > 0) | (g < 0)
        if not np.any(free):
            break
        z = z - 0.05 * np.where(free, g, 0)
        z[z < 0] = 0
    return z[z > 0].sum()


def particles(x):
    p = x.reshape(-1, 4).copy()
    for _ in range(30):
        p[:, :2] += 0.1 * p[:, 2:]
        hit = p[:, 0] > 1
        p[hit, 2] *= -0.9
        p[hit, 0] = 2 - p[hit, 0]
        alive = p[:, 1] > -2
        p = p[alive]
        if len(p) == 0:
            return 0.0
    return p.sum() / len(p)


def parts_before_and_after(x):
    n = int(np.sum(x > 0))
    return x[:n].sum() + x[n:].prod() + WIDE[:n] @ x[:n]


def around_the_largest(x):
    i = int(np.argmax(x))
    return x[:i].sum() - x[i + 1 :].sum() + (x[i - 1 : i + 2].mean() if 0 < i < len(x) - 1 else 0.0)


def left_and_right(x):
    i = int(np.argmax(x))
    left, right = x[:i], x[i:]
    return (left.mean() if len(left) else 0.0) * (right.max() - right[-1]) + (x[1:i] * x[: i - 1]).sum()


def windows_of_a_search(x):
    t = np.cumsum(np.abs(x))
    tot = 0.0
    for k in range(6):
        i = int(np.searchsorted(t, 1.0 + k))
        tot += x[i : i + 3].sum() * x[:i].mean() if i > 0 else x[:3].sum()
    return tot


def a_segment_of_a_table(x):
    c = np.array([0, 5, 9, 14, 20])
    k = int(abs(x[0]) * 2) % 4
    seg = x[c[k] : c[k + 1]]
    return seg.sum() * len(seg) + np.median(seg)


def quicksort(x):
    def q(v):
        if len(v) <= 1:
            return v
        p = v[0]
        r = v[1:]
        return np.concatenate([q(r[r < p]), [p], q(r[r >= p])])

    return q(x[:5]) @ np.arange(5.0)


def bisection(x):
    lo, hi = 0, len(x)
    y = np.sort(x)
    while hi - lo > 1:
        mid = (lo + hi) // 2
        if y[lo:mid].sum() > 0.3:
            hi = mid
        else:
            lo = mid
    return y[lo:hi].sum()


def gaussian_process_with_gaps(x):
    t = np.arange(8) * 0.3
    K = np.exp(-0.5 * (t[:, None] - t[None, :]) ** 2 / (0.5 + x[8] ** 2)) + 0.1 * np.eye(8)
    m = x[:8] > -0.3
    y = x[:8][m]
    Km = K[m][:, m]
    L = np.linalg.cholesky(Km)
    a = np.linalg.solve(Km, y)
    return (
        -0.5 * y @ a
        - np.log(np.diag(L)).sum()
        - 0.5 * len(y) * np.log(2 * np.pi)
        + K[:, m].sum()
        - 0.5 * np.linalg.slogdet(K[np.ix_(m, m)])[1]
    )


def slices_of_text(x):
    n = int(np.sum(x > 0)) // 2
    return x[0] * len(NAMES[:n]) + ("b" in NAMES[:n]) * x[1] + x[2] * len("".join(NAMES[n:]))


def complex_slices(x):
    n = int(np.sum(x > 0)) // 2
    return np.abs((W[:4] * 1j)[:n].sum() + x[0])


def logarithms_in_products(x):
    X = x[:6].reshape(3, 2)
    Z = np.log(X[(X > 0).all(axis=1)])
    return (Z @ x[6:8]).sum() + (Z.T @ Z).sum() + (Z * x[6]).sum() + Z.sum(axis=1) @ Z[:, 0]


def windows_written(x):
    y, i = np.zeros(12), min(int(abs(x[0]) * 2), 9)
    y[i : i + 3] = np.array([1.0, 2.0, 3.0]) * x[1]
    y[i : i + 2] = [x[2], x[3]]
    return y @ W + (x[i : i + 3] * np.array([1.0, 2.0, 3.0])).sum()


def in_the_order_of_others(x):
    kept = x > -0.5
    order = np.argsort(x[kept])
    y = (x * W)[kept][order]
    X = x.reshape(6, 2)[x[:6] > -0.7]
    return y[0] - y[-1] * y.size + np.diff(x[kept][order]).max() + np.cumsum(X[X[:, 1].argsort()], axis=0).sum()


def positions_among_the_selected(x):
    z = x[x > -0.5]
    (i,) = np.nonzero(z > 0)
    j, k = np.where(z > 0.3)[0], np.flatnonzero(z < 1.0) - 1
    return z[i].sum() + i.sum() + (z[j] ** 2).sum() + z[k].sum() if len(i) and len(k) else x[0]


SIZES = {
    "sigma_clip": 20,
    "pareto": 12,
    "runs": 12,
    "peaks": 20,
    "histogram": 25,
    "softrank": 12,
    "pairs_of_two_masks": 12,
    "relabel": 20,
    "missing": 20,
    "active_set": 8,
    "particles": 20,
    "parts_before_and_after": 12,
    "around_the_largest": 12,
    "left_and_right": 12,
    "windows_of_a_search": 20,
    "a_segment_of_a_table": 20,
    "quicksort": 5,
    "bisection": 20,
    "gaussian_process_with_gaps": 9,
}
PROGRAMS = [f for f in list(vars().values()) if getattr(f, "__module__", "") == __name__]
