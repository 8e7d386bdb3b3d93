"""The ten log densities in plain NumPy, as a user would write them: unconstrained parameters in, log density out.

Each function takes the data of its posterior and returns the log density with every constant kept and the log-Jacobian
of the transforms included, which is what Stan reports as `log_density_full_jacobian`.
"""

import json
from pathlib import Path

import numpy as np
from scipy.special import expit, gammaln

import tapediff as td

LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


def normal(x, mean, sd):
    """Elementwise log density of Normal(mean, sd) at x."""
    return -0.5 * ((x - mean) / sd) ** 2 - np.log(sd) - LOG_SQRT_2PI


def cauchy(x, location, scale):
    """Elementwise log density of Cauchy(location, scale) at x."""
    return -np.log1p(((x - location) / scale) ** 2) - np.log(np.pi * scale)


def lognormal(x, log_mean, sd):
    """Elementwise log density of LogNormal(log_mean, sd) at x."""
    return normal(np.log(x), log_mean, sd) - np.log(x)


def log_expit_slope(u):
    """log of the derivative of expit(u), the log-Jacobian of a probability."""
    return -np.logaddexp(0.0, u) - np.logaddexp(0.0, -u)


def eight_schools(data):
    y, sigma = data["y"], data["sigma"]

    def log_density(u):
        z, mu, log_tau = u[:8], u[8], u[9]
        tau = np.exp(log_tau)
        return (
            normal(y, mu + tau * z, sigma).sum()
            + normal(z, 0.0, 1.0).sum()
            + normal(mu, 0.0, 5.0)
            + cauchy(tau, 0.0, 5.0)
            + log_tau
        )

    return log_density


def ar_k(data):
    y, order = data["y"], int(data["K"])
    lagged = np.stack([y[order - k : len(y) - k] for k in range(1, order + 1)], axis=1)

    def log_density(u):
        alpha, beta, log_sigma = u[0], u[1 : 1 + order], u[1 + order]
        sigma = np.exp(log_sigma)
        prior = normal(u[: 1 + order], 0.0, 10.0).sum() + cauchy(sigma, 0.0, 2.5) + log_sigma
        return prior + normal(y[order:], alpha + lagged @ beta, sigma).sum()

    return log_density


def garch(data):
    y, sigma1 = data["y"], float(data["sigma1"])

    def log_density(u):
        mu, alpha0, alpha1 = u[0], np.exp(u[1]), expit(u[2])
        beta1 = (1 - alpha1) * expit(u[3])
        log_jacobian = u[1] + log_expit_slope(u[2:]).sum() + np.log(1 - alpha1)
        sd = [sigma1]
        for t in range(1, len(y)):
            sd.append(np.sqrt(alpha0 + alpha1 * (y[t - 1] - mu) ** 2 + beta1 * sd[-1] ** 2))
        return sum(normal(y[t], mu, sd[t]) for t in range(len(y))) + log_jacobian

    return log_density


def low_dim_gauss_mix(data):
    y = data["y"]
    log_beta_5_5 = 2 * gammaln(5.0) - gammaln(10.0)

    def log_density(u):
        mu1, sigma1, sigma2, theta = u[0], np.exp(u[2]), np.exp(u[3]), expit(u[4])
        mu2 = mu1 + np.exp(u[1])
        first = np.log(theta) + normal(y, mu1, sigma1)
        second = np.log1p(-theta) + normal(y, mu2, sigma2)
        prior = sum(normal(p, 0.0, 2.0) for p in (mu1, mu2, sigma1, sigma2))
        prior = prior + 4 * (np.log(theta) + np.log1p(-theta)) - log_beta_5_5
        return np.logaddexp(first, second).sum() + prior + u[1] + u[2] + u[3] + log_expit_slope(u[4])

    return log_density


def gp_regr(data):
    x, y = data["x"], data["y"]
    squared_distance = (x[:, None] - x[None, :]) ** 2
    identity, diagonal = np.eye(len(x)), np.arange(len(x))

    def log_density(u):
        rho, alpha, sigma = np.exp(u)
        covariance = alpha**2 * np.exp(-0.5 * squared_distance / rho**2) + sigma * identity
        factor = np.linalg.cholesky(covariance)
        whitened = td.linalg.solve_triangular(factor, y, lower=True)
        log_likelihood = -0.5 * (whitened @ whitened) - np.log(factor[diagonal, diagonal]).sum() - len(x) * LOG_SQRT_2PI
        rho_prior = 25 * np.log(4.0) - gammaln(25.0) + 24 * np.log(rho) - 4 * rho
        return log_likelihood + rho_prior + normal(alpha, 0.0, 2.0) + normal(sigma, 0.0, 1.0) + u.sum()

    return log_density


def hmm_example(data):
    y = data["y"]

    def log_density(u):
        stay1, stay2 = expit(u[0]), expit(u[1])
        mu = np.cumsum(np.exp(u[2:]))
        log_theta = np.log(np.stack([np.stack([stay1, 1 - stay1]), np.stack([stay2, 1 - stay2])]))
        emission = normal(y[:, None], mu, 1.0)
        forward = emission[0]
        for t in range(1, len(y)):
            paths = forward[:, None] + log_theta
            forward = emission[t] + np.logaddexp(paths[0], paths[1])
        prior = normal(mu[0], 3.0, 1.0) + normal(mu[1], 10.0, 1.0)
        return np.logaddexp(forward[0], forward[1]) + prior + log_expit_slope(u[:2]).sum() + u[2] + u[3]

    return log_density


def hudson_lynx_hare(data, steps_per_year=20):
    # 20 steps a year: 3e-6 off Stan's gradient at the worst point, a third of what the test asks.
    y, y_init, times = data["y"], data["y_init"], data["ts"]

    def log_density(u):
        a, b, c, d, hares, lynxes, sigma1, sigma2 = np.exp(u)
        sigma = np.exp(u[6:])

        def slope(log_hares, log_lynxes):
            return a - b * np.exp(log_lynxes), d * np.exp(log_hares) - c

        # Runge-Kutta of order four on the logarithms, which keeps both populations positive whatever the step.
        state, log_z = (u[4], u[5]), []
        step = 1.0 / steps_per_year
        for _ in times:
            for _ in range(steps_per_year):
                state = runge_kutta_4(slope, *state, step)
            log_z.append(np.stack(state))
        likelihood = (normal(np.log(y), np.stack(log_z), sigma) - np.log(y)).sum()
        likelihood = likelihood + (normal(np.log(y_init), u[4:6], sigma) - np.log(y_init)).sum()
        prior = normal(a, 1.0, 0.5) + normal(c, 1.0, 0.5) + normal(b, 0.05, 0.05) + normal(d, 0.05, 0.05)
        for positive, log_mean in ((sigma1, -1.0), (sigma2, -1.0), (hares, np.log(10.0)), (lynxes, np.log(10.0))):
            prior = prior + lognormal(positive, log_mean, 1.0)
        return likelihood + prior + u.sum()

    return log_density


def runge_kutta_4(slope, x, y, h):
    """One classical Runge-Kutta step of the autonomous system (x, y)' = slope(x, y)."""
    x1, y1 = slope(x, y)
    x2, y2 = slope(x + 0.5 * h * x1, y + 0.5 * h * y1)
    x3, y3 = slope(x + 0.5 * h * x2, y + 0.5 * h * y2)
    x4, y4 = slope(x + h * x3, y + h * y3)
    return x + h / 6 * (x1 + 2 * (x2 + x3) + x4), y + h / 6 * (y1 + 2 * (y2 + y3) + y4)


def radon(data):
    county = data["county_idx"].astype(int) - 1
    counties = int(data["J"])
    log_uppm, floor, log_radon = data["log_uppm"], data["floor_measure"], data["log_radon"]

    def log_density(u):
        alpha_raw, beta, mu_alpha = u[:counties], u[counties : counties + 2], u[counties + 2]
        sigma_alpha, sigma_y = np.exp(u[counties + 3]), np.exp(u[counties + 4])
        alpha = mu_alpha + sigma_alpha * alpha_raw
        mean = alpha[county] + beta[0] * log_uppm + beta[1] * floor
        prior = (
            normal(alpha_raw, 0.0, 1.0).sum()
            + normal(beta, 0.0, 10.0).sum()
            + normal(mu_alpha, 0.0, 10.0)
            + normal(sigma_alpha, 0.0, 1.0)
            + normal(sigma_y, 0.0, 1.0)
        )
        return normal(log_radon, mean, sigma_y).sum() + prior + u[counties + 3] + u[counties + 4]

    return log_density


def nes2000(data):
    age = data["age_discrete"]
    columns = [np.ones(len(age)), data["real_ideo"], data["race_adj"]]
    columns += [(age == group).astype(float) for group in (2, 3, 4)]
    columns += [data["educ1"], data["gender"], data["income"]]
    design, party = np.stack(columns, axis=1), data["partyid7"]

    def log_density(u):
        beta, log_sigma = u[:9], u[9]
        return normal(party, design @ beta, np.exp(log_sigma)).sum() + log_sigma

    return log_density


def mtbh(data):
    y = data["y"]
    species, occasions = y.shape
    seen, unseen = np.flatnonzero(y.any(axis=1)), np.flatnonzero(~y.any(axis=1))
    previous = np.concatenate([np.zeros((species, 1)), y[:, :-1]], axis=1)

    def log_density(u):
        logit_omega, logit_mean_p, gamma = u[0], u[1 : 1 + occasions], u[1 + occasions]
        sigma, eps = 3 * expit(u[2 + occasions]), u[3 + occasions :]
        logit_p = logit_mean_p + sigma * eps[:, None] + gamma * previous
        history = (y * logit_p - np.logaddexp(0.0, logit_p)).sum(axis=1)
        log_omega, log_absent = -np.logaddexp(0.0, -logit_omega), -np.logaddexp(0.0, logit_omega)
        log_likelihood = (log_omega + history[seen]).sum()
        log_likelihood = log_likelihood + np.logaddexp(log_omega + history[unseen], log_absent).sum()
        prior = normal(gamma, 0.0, 10.0) + normal(eps, 0.0, 1.0).sum()
        log_jacobian = log_expit_slope(u[: 1 + occasions]).sum() + np.log(3.0) + log_expit_slope(u[2 + occasions])
        return log_likelihood + prior + log_jacobian

    return log_density


MODELS = {
    "eight_schools": eight_schools,
    "arK": ar_k,
    "garch": garch,
    "low_dim_gauss_mix": low_dim_gauss_mix,
    "gp_regr": gp_regr,
    "hmm_example": hmm_example,
    "hudson_lynx_hare": hudson_lynx_hare,
    "radon": radon,
    "nes2000": nes2000,
    "Mtbh": mtbh,
}


def load(name):
    """The log density of one posterior, and Stan's points: (unconstrained, log density, gradient) for each."""
    content = json.loads((Path(__file__).parent / "data" / f"{name}.json").read_text())
    data = {key: np.asarray(value, dtype=float) for key, value in content["data"].items()}
    points = [(np.array(p["unconstrained"]), p["log_density"], np.array(p["gradient"])) for p in content["points"]]
    return MODELS[name](data), points
