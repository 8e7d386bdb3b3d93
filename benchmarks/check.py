"""A few seconds' worth: answers of the quick problems, and the ratios of their times to a yardstick, held against bands.

    python -m benchmarks.check [--update] [--answers]

A band (bands.json) is the ratio of the compiled gradient to the hand-written one, or to the plain function's value where none is written
by hand. Ratios differ from processor to processor: after a change of machine, or one of speed that is meant, run it with --update.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import median

from . import timing
from .engines import ENGINES
from .problems import BY_NAME

BANDS = Path(__file__).parent / "bands.json"
REGRESSION = 1.5
# A ratio beyond its band is measured again so many times, and the best counts: a busy machine must not fail a build.
ATTEMPTS = 4

YARDSTICKS = {
    "eight_schools": "by hand",
    "logistic_2000": "NumPy value",
    "chain": "NumPy value",
    "rosenbrock": "by hand",
    "gaussian_mixture": "NumPy value",
    "gp_100": "NumPy value",
    "network": "NumPy value",
    "kron_sum": "NumPy value",
    "sum_sin": "NumPy value",
    "straight_line": "NumPy value",
    "volatility_scan": "by hand",
    "lotka_volterra_scan": "NumPy value",
    "hidden_markov_scan": "NumPy value",
    "two_tails": "NumPy value",
    "bouncing_ball_scan": "by hand",
    "posterior_low_dim_gauss_mix": "NumPy value",
    "posterior_radon": "NumPy value",
}


def prepared(name):
    """The compiled tape and its yardstick, their answers checked."""
    problem = BY_NAME[name]
    binds = {engine: ENGINES[engine](problem) for engine in (YARDSTICKS[name], "compiled")}
    wrong = timing.check(problem, binds)
    if wrong:
        raise timing.WrongAnswer(f"{problem.title}: {wrong}")
    return problem, binds


def measured_ratio(problem, binds, seconds=0.06):
    times = timing.best_microseconds(problem, binds, seconds)
    return times["compiled"] / times[YARDSTICKS[problem.name]]


def verdict(measure, band):
    """The best ratio of a few attempts, which end as soon as one is within the band."""
    best = measure()
    for _ in range(ATTEMPTS - 1):
        if best <= REGRESSION * band:
            break
        best = min(best, measure())
    return best


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the ratios of this run as the new bands")
    parser.add_argument("--answers", action="store_true", help="check the answers alone")
    options = parser.parse_args(arguments)
    bands = json.loads(BANDS.read_text()) if BANDS.exists() else {}
    regressions = 0
    for name, yardstick in YARDSTICKS.items():
        problem, binds = prepared(name)
        if options.answers:
            continue
        if options.update:
            bands[name] = round(median(measured_ratio(problem, binds) for _ in range(3)), 3)
        band = bands.get(name)
        found = bands[name] if options.update else verdict(lambda p=problem, b=binds: measured_ratio(p, b), band or 1e9)
        regressed = band is not None and found > REGRESSION * band
        regressions += regressed
        remark = "" if band is not None else "no band yet: run with --update"
        print(
            f"{'SLOWER' if regressed else 'ok':6}  {found:7.3f}  band {band}  compiled / {yardstick}: {problem.title} {remark}"
        )
    if options.update:
        BANDS.write_text(json.dumps({name: bands[name] for name in YARDSTICKS}, indent=1) + "\n")
    if regressions:
        print(f"{regressions} ratios are more than {REGRESSION} times their bands in {BANDS.name}", file=sys.stderr)
    return int(regressions > 0)


if __name__ == "__main__":
    sys.exit(main())
