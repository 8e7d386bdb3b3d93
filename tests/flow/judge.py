"""Judge a recorder of control flow by the programs: recordings, values, gradients, and times of new points.

Run `python tests/flow/judge.py [--baseline] [--spellings N] [--csv FILE] [pattern ...]` from the root, with the root and `tests` on PYTHONPATH;
a pattern is of titles, such as "huber*" or "*/generator".
"""

import argparse
import contextlib
import csv
import dataclasses
import io
import signal
import statistics
import time
import traceback
import warnings

import numpy as np

import tapediff as td
from flow.programs import PROGRAMS, load, matching

try:
    from tapediff.flow import flowed
except ImportError:

    def flowed(f):
        """Return the function itself: the package has no interpreter yet."""
        return f


SECONDS = 20
FEW, SOME = 3, 8
# A new point that takes this much longer than in the median spelling of its program is a cliff, as are more recordings than FEW.
SLOWER = 10.0
# Points before this one may record and compile.
SETTLED = 8
VALUE_RTOL = 1e-9
# Gradients are compared with another tape of the same operations: sums in another order, and selects in place of branches.
GRADIENT_RTOL = 1e-7


class TooSlow(BaseException):
    """A program has used up its time; no Exception, so that no handler on the way catches it."""


@dataclasses.dataclass(slots=True)
class Verdict:
    """What a recorder made of one program.

    Args:
        program: the program.
        recordings: tapes recorded for all points; None if the count could not be read.
        points: how many points were evaluated.
        wrong: how many had another value or gradient.
        unjudged: how many have no gradient to compare with, as they cannot be recorded alone.
        errors: types of the exceptions that plain Python does not raise, by point.
        first: seconds of the first point.
        later: median seconds of the points from the ninth on; nan without any.
        plain: median seconds of plain Python.
        example: the first error or mismatch.
    """

    program: object
    recordings: int | None = None
    points: int = 0
    wrong: int = 0
    unjudged: int = 0
    errors: list = dataclasses.field(default_factory=list)
    first: float = float("nan")
    later: float = float("nan")
    plain: float = float("nan")
    example: str = ""

    @property
    def right(self):
        """Whether all points were evaluated, each with the right value and gradient."""
        return not self.wrong and not self.errors and self.points == len(self.program.points)

    def at_most(self, recordings):
        """Whether the program is right and took no more than so many recordings."""
        return self.right and self.recordings is not None and self.recordings <= recordings


@contextlib.contextmanager
def time_limit(seconds):
    """Raise TooSlow after some seconds, and again each second until it has got through."""

    def stop(number, frame):
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def with_flow(f):
    """Return the target that is judged: the interpreter, with one tape for all paths where it can."""
    return td.GuardedTape(flowed(f), merge=False, on_new_tape="interpret", compile_after=1000, max_tapes=1000)


def with_defaults(f):
    """Return what is compared with: the package without any setting."""
    return td.GuardedTape(f)


def expected_at(f, x):
    """Return the gradient of a tape recorded at the point itself; or None if f cannot be recorded there."""
    # Whatever stops a recording stops the comparison only.
    try:
        return td.gradient(td.record(f, x.copy()), x.copy())
    except Exception:  # noqa: BLE001
        return None


def judge_point(target, f, x, verdict):
    """Evaluate one point, and return the seconds it took; None after an error."""
    expected = f(x.copy())
    start = time.perf_counter()
    # Any error is a finding: plain Python has none here.
    try:
        value, gradient = td.value_and_gradient(target, x.copy())
    except Exception as error:  # noqa: BLE001
        verdict.errors.append(type(error).__name__)
        verdict.example = verdict.example or "".join(traceback.format_exception_only(error)).strip()
        return None
    finally:
        verdict.points += 1
    seconds = time.perf_counter() - start
    slope = expected_at(f, x)
    if not np.allclose(value, expected, rtol=VALUE_RTOL, atol=0.0):
        verdict.wrong += 1
        verdict.example = verdict.example or f"value {value!r}, plain Python {expected!r}"
    elif slope is None:
        verdict.unjudged += 1
    elif not np.allclose(gradient, slope, rtol=GRADIENT_RTOL, atol=1e-9 * (1.0 + np.max(np.abs(slope)))):
        verdict.wrong += 1
        verdict.example = verdict.example or f"gradient {gradient}, alone {slope}"
    return seconds


def judge(program, make=with_flow, seconds=SECONDS):
    """Evaluate a program at all its points.

    Args:
        program: the program.
        make: function that makes a target from f.
        seconds: after so many the rest is left out, which counts as an error.

    Returns:
        The verdict.
    """
    verdict, times, target = Verdict(program), [], None
    f = load(program)
    plain = []
    for x in program.points:
        start = time.perf_counter()
        f(x.copy())
        plain.append(time.perf_counter() - start)
    verdict.plain = statistics.median(plain)
    try:
        with time_limit(seconds), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            target = make(f)
            for x in program.points:
                times.append(judge_point(target, f, x, verdict))
    except TooSlow:
        verdict.errors.append("TooSlow")
        verdict.example = verdict.example or f"more than {seconds} s"
    # What making a target raises is a finding as well.
    except Exception as error:  # noqa: BLE001
        verdict.errors.append(type(error).__name__)
        verdict.example = verdict.example or "".join(traceback.format_exception_only(error)).strip()
    if times and times[0] is not None:
        verdict.first = times[0]
    later = [t for t in times[SETTLED:] if t is not None]
    if later:
        verdict.later = statistics.median(later)
    if target is not None:
        verdict.recordings = target.stats.recordings
    return verdict


def cliffs(verdicts):
    """Return the titles of programs that are much worse than other spellings of the same.

    Args:
        verdicts: of all programs that were judged.

    Returns:
        Set of titles: those of more than FEW recordings, and those whose later points take SLOWER times the median of all spellings.
    """
    found = set()
    for verdict in verdicts:
        spellings = [v.later for v in verdicts if v.program.name == verdict.program.name and np.isfinite(v.later)]
        many = verdict.recordings is None or verdict.recordings > FEW
        if many or (len(spellings) > 2 and verdict.later > SLOWER * statistics.median(spellings)):
            found.add(verdict.program.title)
    return found


def summary(verdicts):
    """Return lines with the shares of programs by recordings, and the number of those that are wrong or raise."""
    count, shares = len(verdicts), []
    for limit in (1, FEW, SOME):
        shares.append(f"at most {limit}: {sum(v.at_most(limit) for v in verdicts) / count:.0%}")
    wrong, errors = sum(v.wrong > 0 for v in verdicts), sum(bool(v.errors) for v in verdicts)
    slow, alone = sum("TooSlow" in v.errors for v in verdicts), sum(v.unjudged > 0 for v in verdicts)
    return [
        f"{count} programs; right, and recordings " + ", ".join(shares),
        f"wrong: {wrong}; with errors: {errors} (of these too slow: {slow}); without a gradient to compare with at some point: {alone}",
    ]


HEADER = f"{'program':48} {'recordings':>10} {'wrong':>5} {'errors':>6} {'first ms':>8} {'later ms':>8} {'plain ms':>8}  cliff"


def row(verdict, cliff=None):
    """Return a line of the table."""
    recordings = "-" if verdict.recordings is None else verdict.recordings
    times = " ".join(f"{1e3 * t:8.3f}" for t in (verdict.first, verdict.later, verdict.plain))
    marks = "cliff" if cliff else ""
    return f"{verdict.program.title:48} {recordings:>10} {verdict.wrong:>5} {len(verdict.errors):>6} {times}  {marks}".rstrip()


def write(file, verdicts, found):
    """Write the verdicts as CSV, seconds in columns of their own."""
    with open(file, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(
            "program spelling recordings points wrong unjudged errors first later plain cliff example".split()
        )
        for v in verdicts:
            errors, cliff = " ".join(sorted(set(v.errors))), v.program.title in found
            writer.writerow([v.program.name, v.program.spelling, v.recordings, v.points, v.wrong, v.unjudged, errors,
                             v.first, v.later, v.plain, cliff, v.example])  # fmt: skip


def main():
    """Judge the programs that the command line names, and print the table."""
    parser = argparse.ArgumentParser(description="Judge a recorder of control flow by programs in plain Python.")
    parser.add_argument("patterns", nargs="*", help='of titles, such as "huber*" or "*/trade"')
    parser.add_argument("--baseline", action="store_true", help="judge td.GuardedTape(f) with its own options")
    parser.add_argument(
        "--spellings", type=int, default=0, metavar="N", help="judge N spellings of each base program, spread evenly"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time limit of one program")
    parser.add_argument("--examples", action="store_true", help="print the first error or mismatch of each program")
    parser.add_argument("--csv", metavar="FILE", help="write the verdicts to a file as well")
    options = parser.parse_args()
    programs = matching(options.patterns)
    if options.spellings:
        programs = sampled(programs, options.spellings)
    if not programs:
        parser.error(f"none of {len(PROGRAMS)} titles fits {' '.join(options.patterns)}")
    verdicts = []
    print(HEADER)
    for program in programs:
        verdicts.append(judge(program, with_defaults if options.baseline else with_flow, options.seconds))
        print(row(verdicts[-1]), flush=True)
        if options.examples and verdicts[-1].example:
            print("    " + verdicts[-1].example[:300].replace("\n", "\n    "))
    found = cliffs(verdicts)
    print(f"\ncliffs: {len(found)} of {len(verdicts)}")
    for verdict in verdicts:
        if verdict.program.title in found:
            print(row(verdict, cliff=True))
    print()
    print("\n".join(summary(verdicts)))
    if options.csv:
        write(options.csv, verdicts, found)


def sampled(programs, count):
    """Return some spellings of each base program, other ones for each, and all programs of one spelling."""
    by_name = {}
    for program in programs:
        by_name.setdefault(program.name, []).append(program)
    kept = []
    for turn, spellings in enumerate(by_name.values()):
        step = max(1, len(spellings) // count)
        kept += spellings[turn % step :: step][:count]
    return kept


if __name__ == "__main__":
    main()
