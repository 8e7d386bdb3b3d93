"""Ten posteriors of posteriordb as td.Posterior: plain NumPy densities of named parameters, sampled, and compared with reference values.

The densities keep every constant, so that they are Stan's to rounding; tests compare them, and their gradients, with Stan's own.
`python examples/ten_posteriors.py [name ...]` samples them with nutpie (`pip install 'tapediff[sampling]'`).
"""

import json
import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np

import tapediff as td
from tapediff.stats import beta, cauchy, gamma, lognorm, multivariate_normal, norm

DATA = Path(__file__).parent.parent / "tests" / "posteriors" / "data"


def eight_schools(data):
    """Eight coaching programmes (Rubin 1981), with standardised effects."""

    def log_density(theta_trans, mu, tau, y, sigma):
        likelihood = norm.logpdf(y, mu + tau * theta_trans, sigma).sum()
        return likelihood + norm.logpdf(theta_trans).sum() + norm.logpdf(mu, 0, 5) + cauchy.logpdf(tau, 0, 5)

    return td.Posterior(
        log_density, theta_trans=td.real(dims="school"), mu=td.real(), tau=td.positive(),
        data={"y": data["y"], "sigma": data["sigma"]}, coords={"school": list("ABCDEFGH")},
        generated=lambda theta_trans, mu, tau: {"theta": mu + tau * theta_trans}, dims={"theta": ("school",)},
    )  # fmt: skip


def ar_k(data):
    """An autoregression of order five."""
    y, order = data["y"], int(data["K"])
    lagged = np.stack([y[order - k : len(y) - k] for k in range(1, order + 1)], axis=1)

    def log_density(alpha, beta, sigma, y, lagged):
        prior = norm.logpdf(alpha, 0, 10) + norm.logpdf(beta, 0, 10).sum() + cauchy.logpdf(sigma, 0, 2.5)
        return prior + norm.logpdf(y, alpha + lagged @ beta, sigma).sum()

    return td.Posterior(
        log_density, alpha=td.real(), beta=td.real(order), sigma=td.positive(), data={"y": y[order:], "lagged": lagged}
    )


def garch(data):
    """Volatility that follows the last shock and the last volatility; the bound of beta1 depends on alpha1."""

    def log_density(mu, alpha0, alpha1, beta1, y, sigma1):
        sd = [sigma1]
        for t in range(1, len(y)):
            sd.append(np.sqrt(alpha0 + alpha1 * (y[t - 1] - mu) ** 2 + beta1 * sd[-1] ** 2))
        return sum(norm.logpdf(y[t], mu, sd[t]) for t in range(len(y)))

    return td.Posterior(
        log_density, mu=td.real(), alpha0=td.positive(), alpha1=td.interval(0, 1), beta1=td.interval(0, lambda alpha1: 1 - alpha1),
        data={"y": data["y"], "sigma1": float(data["sigma1"])},
    )  # fmt: skip


def low_dim_gauss_mix(data):
    """Two normal distributions with their means in order."""

    def log_density(mu, sigma, theta, y):
        first = np.log(theta) + norm.logpdf(y, mu[0], sigma[0])
        second = np.log1p(-theta) + norm.logpdf(y, mu[1], sigma[1])
        prior = norm.logpdf(mu, 0, 2).sum() + norm.logpdf(sigma, 0, 2).sum() + beta.logpdf(theta, 5, 5)
        return np.logaddexp(first, second).sum() + prior

    return td.Posterior(
        log_density, mu=td.ordered(2), sigma=td.positive(2), theta=td.interval(0, 1), data={"y": data["y"]}
    )


def gp_regr(data):
    """A Gaussian process with a squared exponential covariance."""

    def log_density(rho, alpha, sigma, x, y):
        covariance = alpha**2 * np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / rho**2) + sigma * np.eye(len(x))
        prior = gamma.logpdf(rho, 25, scale=1 / 4) + norm.logpdf(alpha, 0, 2) + norm.logpdf(sigma)
        return multivariate_normal.logpdf(y, np.zeros(len(y)), covariance) + prior

    return td.Posterior(
        log_density, rho=td.positive(), alpha=td.positive(), sigma=td.positive(), data={"x": data["x"], "y": data["y"]}
    )


def hmm_example(data):
    """A hidden Markov model with two states, by the forward algorithm."""

    def log_density(theta1, theta2, mu, y):
        log_theta = np.log(np.stack([theta1, theta2]))
        emission = norm.logpdf(y[:, None], mu, 1.0)
        forward = emission[0]
        for t in range(1, len(y)):
            forward = emission[t] + np.logaddexp(*(forward[:, None] + log_theta))
        return np.logaddexp(*forward) + norm.logpdf(mu, np.array([3.0, 10.0])).sum()

    return td.Posterior(
        log_density, theta1=td.simplex(2), theta2=td.simplex(2), mu=td.positive_ordered(2), data={"y": data["y"]}
    )


def hudson_lynx_hare(data, steps_per_year=20):
    """Lotka and Volterra's equations for pelts of hares and lynxes, by Runge-Kutta steps on the logarithms."""

    def log_density(theta, z_init, sigma, y, y_init):
        a, b, c, d = theta

        def slope(z):
            return np.stack([a - b * np.exp(z[1]), d * np.exp(z[0]) - c])

        z, h, log_z = np.log(z_init), 1.0 / steps_per_year, []
        for _ in y:
            for _ in range(steps_per_year):
                k1 = slope(z)
                k2 = slope(z + 0.5 * h * k1)
                k3 = slope(z + 0.5 * h * k2)
                k4 = slope(z + h * k3)
                z = z + h / 6 * (k1 + 2 * (k2 + k3) + k4)
            log_z.append(z)
        likelihood = (
            lognorm.logpdf(y, sigma, scale=np.exp(np.stack(log_z))).sum()
            + lognorm.logpdf(y_init, sigma, scale=z_init).sum()
        )
        prior = norm.logpdf(theta, np.array([1.0, 0.05, 1.0, 0.05]), np.array([0.5, 0.05, 0.5, 0.05])).sum()
        return (
            likelihood
            + prior
            + lognorm.logpdf(sigma, 1, scale=np.exp(-1)).sum()
            + lognorm.logpdf(z_init, 1, scale=10).sum()
        )

    return td.Posterior(
        log_density, theta=td.positive(4), z_init=td.positive(dims="species"), sigma=td.positive(dims="species"),
        data={"y": data["y"], "y_init": data["y_init"]}, coords={"species": ["hare", "lynx"]},
    )  # fmt: skip


def radon(data):
    """Radon in houses of 85 counties, with a level for each county."""

    def log_density(alpha_raw, beta, mu_alpha, sigma_alpha, sigma_y, log_radon, county, log_uppm, floor):
        mean = (mu_alpha + sigma_alpha * alpha_raw)[county] + beta[0] * log_uppm + beta[1] * floor
        prior = norm.logpdf(alpha_raw).sum() + norm.logpdf(beta, 0, 10).sum() + norm.logpdf(mu_alpha, 0, 10)
        return norm.logpdf(log_radon, mean, sigma_y).sum() + prior + norm.logpdf(sigma_alpha) + norm.logpdf(sigma_y)

    return td.Posterior(
        log_density, alpha_raw=td.real(dims="county"), beta=td.real(2), mu_alpha=td.real(),
        sigma_alpha=td.positive(), sigma_y=td.positive(),
        data={"log_radon": data["log_radon"], "county": data["county_idx"].astype(int) - 1,
              "log_uppm": data["log_uppm"], "floor": data["floor_measure"]},
        coords={"county": int(data["J"])}, dims={"alpha": ("county",)},
        generated=lambda alpha_raw, mu_alpha, sigma_alpha: {"alpha": mu_alpha + sigma_alpha * alpha_raw},
    )  # fmt: skip


def nes2000(data):
    """Party identification of voters, a linear regression with flat priors."""
    age = data["age_discrete"]
    columns = [
        np.ones(len(age)),
        data["real_ideo"],
        data["race_adj"],
        *((age == group).astype(float) for group in (2, 3, 4)),
    ]
    design = np.stack([*columns, data["educ1"], data["gender"], data["income"]], axis=1)

    def log_density(beta, sigma, party, design):
        return norm.logpdf(party, design @ beta, sigma).sum()

    return td.Posterior(
        log_density, beta=td.real(9), sigma=td.positive(), data={"party": data["partyid7"], "design": design}
    )


def mtbh(data):
    """How many species there are, by which were seen on which day; the `if` is on data."""
    occasions = data["y"].shape[1]

    def log_density(omega, mean_p, gamma, sigma, eps_raw, y):
        before = np.concatenate([np.zeros((len(y), 1)), y[:, :-1]], axis=1)
        logit_p = np.log(mean_p / (1 - mean_p)) + sigma * eps_raw[:, None] + gamma * before
        history = (y * logit_p - np.logaddexp(0.0, logit_p)).sum(axis=1)
        total = norm.logpdf(gamma, 0, 10) + norm.logpdf(eps_raw).sum()
        for i in range(len(y)):
            if y[i].any():
                total += np.log(omega) + history[i]
            else:
                total += np.logaddexp(np.log(omega) + history[i], np.log1p(-omega))
        return total

    return td.Posterior(
        log_density, omega=td.interval(0, 1), mean_p=td.interval(0, 1, occasions), gamma=td.real(), sigma=td.interval(0, 3),
        eps_raw=td.real(len(data["y"])), data={"y": data["y"]},
    )  # fmt: skip


MODELS = {
    "eight_schools": eight_schools, "arK": ar_k, "garch": garch, "low_dim_gauss_mix": low_dim_gauss_mix, "gp_regr": gp_regr,
    "hmm_example": hmm_example, "hudson_lynx_hare": hudson_lynx_hare, "radon": radon, "nes2000": nes2000, "Mtbh": mtbh,
}  # fmt: skip


def load(name):
    """The posterior of this name, and what the file says of it."""
    content = json.loads((DATA / f"{name}.json").read_text())
    return MODELS[name]({key: np.asarray(value, dtype=float) for key, value in content["data"].items()}), content


def compare(name, draws, chains):
    """Sample one posterior; how many standard errors its means and standard deviations are from the reference, at most."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # ArviZ 0.x announces 1.0 when imported
        import arviz as az

    post, _ = load(name)
    started = perf_counter()
    trace = post.sample(draws, chains, seed=1, progress_bar=False, cores=2, target_accept=0.95)
    seconds = perf_counter() - started
    off = {}
    for entry, known in json.loads((DATA / "reference.json").read_text())[name]["parameters"].items():
        variable, _, index = entry.partition("[")
        x = trace.posterior[variable].values
        x = x[(..., *(int(k) - 1 for k in index.rstrip("]").split(",")))] if index else x
        # Both are Monte-Carlo estimates; that of the reference is of so many independent draws. The error of a variance is twice sd times
        # that of sd.
        both, mean, sd = np.sqrt(1 + np.asarray(az.ess(x)).item() / known["ess"]), x.mean(), x.std()
        off[f"mean of {entry}"] = abs(mean - known["mean"]) / (np.asarray(az.mcse(x)).item() * both)
        off[f"sd of {entry}"] = abs(sd - known["sd"]) / (np.asarray(az.mcse((x - mean) ** 2)).item() / (2 * sd) * both)
    farthest = max(off, key=off.get)
    steps = int(trace.sample_stats.n_steps.sum())
    print(f"{name:18} {seconds:6.1f} s  {steps / seconds / 1000:7.1f} thousand gradients a second, sampler included;"
          f"  at most {off[farthest]:.1f} standard errors off: {farthest}", flush=True)  # fmt: skip
    return off[farthest]


def main(names=(), draws=2000, chains=4):
    """Four standard errors in the largest of some 140 numbers happen once in a hundred runs."""
    off = {name: compare(name, draws, chains) for name in names or MODELS}
    assert max(off.values()) < 4.0, off


if __name__ == "__main__":
    main(sys.argv[1:])
