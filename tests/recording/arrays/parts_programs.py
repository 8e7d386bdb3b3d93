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


def neighbours_and_slices(x):
    z = x[x > 0]
    return np.sum(np.diff(z) ** 2) + np.sum(z[1:] * z[:-1]) + z[-2:].sum() + z[:2].sum() * 3 + z[1:-1].sum()


def quantiles(x):
    z = x[x > 0]
    return np.median(z) + np.quantile(z, 0.3) + np.percentile(z, [10, 90]).sum()


def sorted_entries(x):
    z = np.sort(x[x > 0])
    return z[0] + np.sum(z * np.exp(z)) + z[-1]


def a_mask_of_a_mask(x):
    z = x[x > 0]
    z = z[z > 0.3]
    return z.sum() if z.size > 2 else 3 * z.sum()


def written_in_place(x):
    z = x[x > 0]
    z[z > 1] = 0.5
    z *= 2
    z += z
    return z.sum()


def written_where_selected(x):
    y = x.copy()
    y[y > 0] *= 3
    y[y < 0] = y[y < 0] ** 2
    return y @ W


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


def masks_of_matrices(x):
    X = x.reshape(3, 4)
    return X[X > 0].sum() + np.mean(X[X < 0] ** 2)


def joined_with_others(x):
    z = np.concatenate([x[x > 0], [1.0, 2.0], x[x < 0]])
    return np.sum(z[:5]) + np.cumsum(z)[-1] + np.sum(np.cumsum(z) ** 2)


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


def nonzero_of_a_matrix(x):
    X = x.reshape(4, 3)
    r, c = np.nonzero(X > 0)
    return X[r, c].sum() + np.sum(r * X[r, c])


def outer_product(x):
    z = x[x > 0]
    return np.outer(z, z).sum() + np.interp(z, [0, 1, 2], [1.0, 3.0, 4.0]).sum() + (z[:, None] - z.reshape(1, -1)).max()


def a_copy_is_written(x):
    z = x[x > 0]
    y = z.copy()
    y[0] = 5.0
    y[1:] = 0.0
    return y.sum() + z.sum()


def slices_of_a_length(x):
    n = int(np.sum(x > 0))
    return x[:n].sum() if n > 2 else x[x > 0].sum()


def lengths_as_numbers(x):
    z = x[x > 0]
    return float(len(z)) * x[0] + z.shape[0] * x[1] + (z.sum() / len(z) if len(z) else 0.0)


def a_slice_shares_memory(x):
    z = x[x > 0]
    w = z[1:]
    w[:] = 0.5
    return z.sum() + w.sum()


def a_reversed_view_shares_memory(x):
    z = x[x > 0]
    w = z[::-1]
    w *= 2
    z[0] = 1.0
    return z.sum() + w[-1] + w @ w


def rows_share_memory(x):
    X = x.reshape(4, 3)[x[:4] > -1]
    for row in X:
        row[1] = row[0] * 2
    X[:, 2] = 1.0
    return (X**2).sum()


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


def the_array_is_written_later(x):
    z = x[x > 0]
    x2 = x.copy()
    x2[0] = 7.0
    z[z > 1] -= 1
    return z.sum() + x[x > 0].sum() + x2.sum()


def arrays_of_numbers(x):
    z = x[x > 0]
    T = np.array([z.sum(), z.max()])
    u = np.array(z)
    u[0] = 9
    return T.sum() + u.sum() + z.sum()


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


def until_nothing_is_left(x):
    tot = 0.0
    for t in np.linspace(-1, 1, 7):
        sel = x[x > t]
        if len(sel) == 0:
            break
        tot += sel.min() - t
    return tot


def functions_of_masks(x):
    def f(v):
        return v[v > 0].sum() if v.size else 0.0

    return f(x) + f(x[x > 1])


def in_containers(x):
    d = {"pos": x[x > 0], "neg": x[x < 0]}
    return sum(v.sum() ** 2 for v in d.values()) + max(len(v) for v in d.values())


def where_functions_are_defined(x):
    ok = np.isfinite(np.log(x))
    return np.log(x)[ok].sum() + np.sqrt(x[ok]).prod()


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


def rows_and_views_written(x):
    X = x.reshape(6, 2)
    Z = X[X[:, 0] > -0.5]
    r = Z[0]
    r[1] = 4.0
    Z[-1, 0] = 3.0
    Z[1] = Z[0] * 2
    return (Z**2).sum() + r.sum()


def covariance_of_rows(x):
    X = x.reshape(6, 2)
    Z = X[X[:, 0] > -0.5]
    Z -= Z.mean(axis=0)
    C = Z.T @ Z / (len(Z) - 1) if len(Z) > 1 else np.eye(2)
    return np.linalg.det(C) + C[0, 1] + (Z / Z.std(axis=0)).sum() ** 2


def least_squares_of_rows(x):
    X = x.reshape(6, 2)
    m = X[:, 0] > -0.5
    A = np.column_stack([np.ones(6), X[:, 0]])
    b = np.linalg.solve(A[m].T @ A[m] + np.eye(2), A[m].T @ X[m, 1])
    res = X[m, 1] - A[m] @ b
    return res @ res + b.sum()


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


def trimmed(x):
    y = np.sort(x)
    k = int(np.sum(np.abs(x) > 1.5))
    return y[k : len(y) - k].mean() if len(y) > 2 * k else y.mean()


def runs(x):
    s = np.sign(x)
    change = np.flatnonzero(s[1:] != s[:-1]) + 1
    starts = np.concatenate([[0], change])
    ends = np.append(change, len(x))
    return sum(x[a:b].sum() ** 2 for a, b in zip(starts, ends))


def runs2(x):
    change = np.flatnonzero(np.diff(np.sign(x)) != 0)
    lens = np.diff(change)
    return (lens * 1.0).sum() * x[0] + x[change].sum()


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


def portfolio(x):
    w = np.maximum(x, 0.0)
    act = w > 0.1
    w = np.where(act, w, 0)
    w = w / w.sum() if w.sum() > 0 else np.ones_like(w) / len(w)
    r = NOISE[: len(x)]
    return w @ r - 0.5 * (w[act] ** 2).sum()


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


def slices_by_two_lengths(x):
    n = int(np.sum(x > 0))
    m = int(abs(x[0]) * 3)
    return x[m:n].sum() + x[-n:].sum() + x[:-m].sum() * 0.5 + np.diff(x[:n]).sum()


def slices_written(x):
    n = int(np.sum(x > 0))
    y = np.zeros(len(x))
    y[:n] = x[:n] * 2
    y[n:] = -1.0
    y[n:] += x[n:]
    return y @ WIDE[: len(x)]


def blocks_of_a_matrix(x):
    X = x.reshape(4, 5)
    n = int(np.sum(x > 0)) // 3
    m = int(abs(x[0]) * 2)
    return X[:n].sum() + X[:, :n].sum() * 2 + X[:n, m:].sum() + (X[:n] @ X[:n].T).sum() + X[n:, 1].sum()


def around_the_largest(x):
    i = int(np.argmax(x))
    return x[:i].sum() - x[i + 1 :].sum() + (x[i - 1 : i + 2].mean() if 0 < i < len(x) - 1 else 0.0)


def left_and_right(x):
    i = int(np.argmax(x))
    left, right = x[:i], x[i:]
    return (left.mean() if len(left) else 0.0) * (right.max() - right[-1]) + (x[1:i] * x[: i - 1]).sum()


def loops_over_slices(x):
    n = int(np.sum(x > 0))
    s = 0.0
    for v in x[:n]:
        s = 0.5 * s + v
    for k, (a, b) in enumerate(zip(x[n:], WIDE)):
        s += a * b * k
    return s


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


def kadane(x):
    best = -1e9
    c = np.concatenate([[0.0], np.cumsum(x)])
    for j in range(1, len(c)):
        best = max(best, c[j] - c[:j].min())
    k = int(np.argmax(c))
    return best + c[: k + 1].mean()


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


def shifted(x):
    y, n = x * 1.0, max(int(np.sum(x > 0)), 1)
    y[1:n] = x[: n - 1]
    y[n - 1 :] = 0.5
    return y @ W


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
    "trimmed": 20,
    "runs": 12,
    "runs2": 20,
    "peaks": 20,
    "histogram": 25,
    "softrank": 12,
    "pairs_of_two_masks": 12,
    "portfolio": 10,
    "relabel": 20,
    "missing": 20,
    "active_set": 8,
    "particles": 20,
    "parts_before_and_after": 12,
    "slices_by_two_lengths": 12,
    "slices_written": 12,
    "blocks_of_a_matrix": 20,
    "around_the_largest": 12,
    "left_and_right": 12,
    "loops_over_slices": 12,
    "windows_of_a_search": 20,
    "a_segment_of_a_table": 20,
    "quicksort": 5,
    "bisection": 20,
    "kadane": 12,
    "gaussian_process_with_gaps": 9,
}
PROGRAMS = [f for f in list(vars().values()) if getattr(f, "__module__", "") == __name__]
