"""Run programs through td.GuardedTape: values, gradients, changed objects, recordings, times.

The programs are those of tests/flow/corpus, those of tests/flow/programs, each in every spelling, and random ones.

`python tests/flow/judge.py [--table] [--seconds S] [--seeds N] [pattern ...]` from the root, with the root and `tests` on PYTHONPATH; a
pattern is of titles, such as "loops.*", "huber_loss/*" or "random.mixed.*". Each program runs in a process of its own. `--numbers` writes
tests/flow/corpus/recordings.txt, which has what is not right in one recording, for test_programs.py.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import fnmatch
import functools
import importlib
import importlib.util
import io
import os
import pathlib
import pickle
import select
import signal
import sys
import time
import types
import warnings

import numpy as np

import tapediff as td
from tapediff.flow.state import values
from tests.flow import corpus
from tests.flow.programs import JUDGED, load
from tests.random_programs import bodies, stateful_branching
from tests.random_programs.branching import function_of

FOLDER = pathlib.Path(corpus.__file__).parent
NUMBERS = FOLDER / "recordings.txt"
SECONDS = 60.0
# Of programs that recordings.txt does not name.
EXPECTED = (1, "right")
TRACKED = "a tracked value"
# The order of sums may be another one.
VALUE_RTOL, GRADIENT_RTOL = 1e-9, 1e-7


@dataclasses.dataclass
class Result:
    """The verdict on a program.

    Args:
        title: of the program.
        outcome: "right", "wrong", "error", "timeout" or "unjudged".
        recordings: their number.
        first: seconds of the first point.
        later: seconds of all further points.
        reasons: where something is wrong, what; why recordings are of a single path.
    """

    title: str
    outcome: str = "timeout"
    recordings: int = 0
    first: float = float("nan")
    later: float = 0.0
    reasons: list = dataclasses.field(default_factory=list)


# The programs

SPELLED = {program.title: program for program in JUDGED}


@functools.cache
def titles(seeds=12):
    """The names of all programs.

    "module.program" in the corpus, "base/spelling", "random.kind.seed", or "random.kind.seed.form" of a body in a loop or sub-tape.
    """
    found = [f"{file.stem}.{name}" for file in sorted(FOLDER.glob("[a-z]*.py")) for name in functions_of(fresh(file.stem))]
    found += SPELLED
    for kind in stateful_branching.KINDS:
        forms = [form.__name__ for form in bodies.FORMS]
        found += [f"random.{kind}.{seed}" for seed in range(seeds)]
        found += [f"random.{kind}.{seed}.{forms[seed % len(forms)]}" for seed in range(0, seeds, 2)]
    return [*found, *(f"random.results.{seed}.{form.__name__}" for seed in range(seeds) for form in bodies.FORMS_OF_RESULTS[seed % 3 :][:1])]


def program(title):
    """A program and its points: of a module that is loaded for it, so that no other run has changed its objects."""
    if title in SPELLED:
        return load(SPELLED[title]), list(SPELLED[title].points)
    name, _, rest = title.partition(".")
    if name != "random":
        module = fresh(name)
        return functions_of(module)[rest], list(getattr(module, "POINTS", corpus.SIX))
    kind, seed, *form = rest.split(".")
    with warnings.catch_warnings(action="ignore", category=SyntaxWarning):  # of the identity of a literal
        f = function_of(bodies.ALL_KINDS[kind](int(seed)).text())
    return getattr(bodies, form[0])(f) if form else f, stateful_branching.points(int(seed), 6)


def fresh(name):
    """A module of programs that is executed once more."""
    spec = importlib.util.find_spec(f"{corpus.__name__}.{name}")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    spec.loader.exec_module(module)
    return module


def functions_of(module):
    """The programs of a module, by their names."""
    return {f.__name__: f for group in ("PROGRAMS", "TRAPS") for f in getattr(module, group, ())} | getattr(module, "CASES", {})


# Running them


@np.errstate(all="ignore")
def judged(title):
    """Run a program at all its points; give the result as far as it is known after each of them."""
    result, whys = Result(title), []
    (f, points), (plain, _) = program(title), program(title)
    guarded = td.GuardedTape(f, on_new_tape="interpret", compile_after=1000, max_tapes=1000)
    wrong, errors, unjudged = [], [], 0
    with warnings.catch_warnings(), reasons_in(whys):
        warnings.simplefilter("ignore")
        for number, x in enumerate(points):
            ours, its, start = x.copy(), x.copy(), time.perf_counter()
            ending, found = outcome(lambda: float(plain(its))), outcome(lambda: td.value_and_gradient(guarded, ours))
            seconds = time.perf_counter() - start
            fault = compared(found, ending, lambda found, is_first=number == 0: slope(title, x, found, is_first))
            if number == 0 and not fault:
                state, pythons = state_of(f, ours), state_of(plain, its)
                if not agree(state, pythons) and state != state_when_recorded(title, x):
                    fault = f"state {state!r:.300}, Python {pythons!r:.300}"
            if fault == "unjudged":
                unjudged += 1
            elif fault:
                (errors if fault.startswith("error") else wrong).append(f"{fault} at {x}")
            result.recordings = guarded.stats.recordings
            result.first = seconds if number == 0 else result.first
            result.later += seconds if number else 0.0
            result.reasons = [*wrong[:2], *errors[:2], *collections.Counter(whys)]
            yield result
    result.outcome = "wrong" if wrong else "error" if errors else "unjudged" if unjudged == len(points) else "right"
    yield result


def outcome(call):
    """What a call gives, or the error that it raises."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - one form's is compared with the other's
        return error


def compared(found, ending, slope_at):
    """The fault of an answer, or "unjudged", or "" for none.

    Args:
        found: value and gradient, or an error.
        ending: the value or error of plain Python.
        slope_at: what the gradient is to be, or an error, by the one that was found.
    """
    if isinstance(found, Exception):
        # What cannot be recorded by itself is refused here too.
        wanted = [type(error) for error in (ending, slope_at(None)) if isinstance(error, Exception)]
        return "" if type(found) in wanted else f"error {type(found).__name__}: {str(found)[:200]} instead of {wanted or ending}".replace("\n", " ")
    if isinstance(ending, Exception):
        return f"no {type(ending).__name__} raised, but {found[0]}"
    if not np.isclose(found[0], ending, rtol=VALUE_RTOL, atol=1e-14, equal_nan=True):
        return f"value {found[0]!r}, Python {ending!r}"
    wanted = slope_at(found[1])
    if isinstance(wanted, Exception):
        return "unjudged"
    tolerance = 1e-9 * (1.0 + np.max(np.abs(np.nan_to_num(wanted)), initial=0.0))
    if not np.allclose(found[1], wanted, rtol=GRADIENT_RTOL, atol=tolerance, equal_nan=True):
        return f"gradient {found[1]}, alone {wanted}"
    return ""


def slope(title, x, found, is_exact):
    """The gradient of a tape of a point alone, or its error; what was found, if differences of values agree with it and are enough."""
    if found is not None and not is_exact:
        f, size = program(title)[0], max(1.0, np.max(np.abs(found), initial=0.0))
        near = outcome(lambda: np.array([(f(x + step) - f(x - step)) / 2e-6 for step in 1e-6 * np.eye(len(x))]))
        # A step of 1e-6 leaves six digits.
        if not isinstance(near, Exception) and np.allclose(found, near, rtol=1e-5, atol=1e-6 * size):
            return found
    return outcome(lambda: td.gradient(td.record(program(title)[0], x.copy(), merge=False), x.copy()))


def state_when_recorded(title, x):
    """The state after a recording of a path: objects may hold tracked values then."""
    f, given = program(title)[0], x.copy()
    outcome(lambda: td.record(f, given, merge=False))
    return state_of(f, given)


def agree(state, pythons):
    """True if a state is Python's, but for the tracked numbers that a recording leaves in objects that it changes."""
    if isinstance(state, (tuple, list)) and isinstance(pythons, (tuple, list)):
        return len(state) == len(pythons) and all(map(agree, state, pythons))
    return state in (TRACKED, pythons)


class reasons_in:
    """Collects why a recording has guards in place of joins, before the interpreter forgets it."""

    def __init__(self, whys):
        self.whys, self.reset = whys, values.State.reset

    def __enter__(self):
        def noted(state):
            if hasattr(state, "report"):
                self.whys.extend(reason.what for _, reason in state.report.guards.values())
            self.reset(state)

        values.State.reset = noted

    def __exit__(self, *_):
        values.State.reset = self.reset


def state_of(f, *given):
    """State that a program may have changed: its arguments, defaults, closure, and the global objects of its module."""
    f = f.func if isinstance(f, functools.partial) else f
    f = getattr(f, "__func__", f)
    if not isinstance(f, types.FunctionType):
        return frozen((given, f))
    names = {name: value for name, value in f.__globals__.items() if not name.startswith("__") and is_state(value)}
    cells = [cell.cell_contents for cell in f.__closure__ or () if is_state(cell.cell_contents)]
    return frozen((given, f.__defaults__, names, cells))


def is_state(value):
    return not isinstance(value, (types.ModuleType, types.FunctionType, types.BuiltinFunctionType)) and not (
        isinstance(value, type) and not value.__module__.startswith("tests.")
    )


def frozen(value, seen=None):
    """A copy of a value that can be compared: containers, arrays, objects and classes of the tests."""
    seen = {} if seen is None else seen
    if type(value).__module__.startswith("tapediff."):
        return TRACKED
    if value is None or isinstance(value, (bool, int, str, bytes)):
        return value
    if isinstance(value, (float, np.generic)):
        return f"{float(value):.12g}" if isinstance(value, (float, np.floating)) else repr(value)
    if id(value) in seen:
        return f"again {seen[id(value)][0]}"
    seen[id(value)] = len(seen), value  # kept, so that no other object gets its address
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, [frozen(v) for v in value.ravel().tolist()[:1000]]
    if isinstance(value, dict):
        return type(value).__name__, [(str(k), frozen(v, seen)) for k, v in list(value.items())[:1000] if not callable(k)]
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value).__name__, [frozen(v, seen) for v in list(value)[:1000]]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, type) or type(value).__module__.startswith("tests."):
        parts = {k: v for k, v in vars(value).items() if not k.startswith("__") and is_state(v)} if hasattr(value, "__dict__") else {}
        return getattr(value, "__name__", type(value).__name__), frozen(parts, seen)
    return type(value).__name__


# The table


def in_a_process(call, seconds):
    """The last value of a generator in a child; None where it fails, or takes too long for any."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.close(reader)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for number in (1, 2):
            os.dup2(nowhere, number)
        with os.fdopen(writer, "wb") as out:
            try:
                for value in call():
                    pickle.dump(value, out)
                    out.flush()
            finally:
                os._exit(0)
    os.close(writer)
    data, end = b"", time.monotonic() + seconds
    while select.select([reader], [], [], max(0.0, end - time.monotonic()))[0]:
        part = os.read(reader, 1 << 16)
        if not part:
            break
        data += part
    else:
        os.kill(child, signal.SIGKILL)
    os.close(reader)
    os.waitpid(child, 0)
    return last_of(data)


def last_of(data):
    """The last value that a child has written."""
    value, rest = None, memoryview(data)
    while len(rest):
        try:
            stream = io.BytesIO(rest)
            value = pickle.load(stream)
            rest = rest[stream.tell() :]
        except Exception:  # noqa: BLE001 - cut off
            break
    return value


def table(results):
    """The results by outcome."""
    lines = [f"{len(results)} programs, {sum(r.recordings == 1 for r in results)} with one recording"]
    for outcome in ("wrong", "error", "timeout", "unjudged", "right"):
        found = [r for r in results if r.outcome == outcome]
        lines.append(f"\n{outcome}: {len(found)}")
        for r in sorted(found, key=lambda r: -r.recordings):
            if outcome == "right" and r.recordings <= 1:
                continue
            lines.append(f"  {r.title}: {r.recordings} recordings, {r.first:.2f} s + {r.later:.2f} s")
            lines += [f"      {reason[:400]}" for reason in r.reasons[:4]]
    lines += [f"slowest: {r.title} {r.first:.2f} s, then {r.later:.2f} s" for r in sorted(results, key=lambda r: -r.first - r.later)[:20]]
    return "\n".join(lines)


def known():
    """Of each program that is not right in one recording the stored number of recordings and outcome: a fault that is known, or "right"."""
    parts = [line.split(maxsplit=2) for line in NUMBERS.read_text().splitlines()]
    return {title: (int(number), outcome) for number, outcome, title in parts}


def main():
    """Run the programs that the command line names."""
    parser = argparse.ArgumentParser(description="Judge programs with control flow.")
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time limit of one program")
    parser.add_argument("--seeds", type=int, default=12, help="number of random programs of each kind")
    parser.add_argument("--table", action="store_true", help="print a table at the end only")
    parser.add_argument("--numbers", action="store_true", help="write the numbers of recordings")
    options = parser.parse_args()
    results = []
    list(judged("branches.robust"))  # imports what recordings import late
    for title in titles(options.seeds):
        if not any(fnmatch.fnmatch(title, pattern) for pattern in options.patterns):
            continue
        result = in_a_process(lambda title=title: judged(title), options.seconds) or Result(title)
        results.append(result)
        if not options.table:
            print(f"{result.outcome:8} {result.recordings:3} {result.first:6.2f} {result.later:6.2f} {title}", *(r[:250] for r in result.reasons[:2]), flush=True)
    print(table(results))
    if options.numbers:
        numbers = known() | {r.title: (r.recordings, r.outcome) for r in results}
        stored = [title for title in titles() if numbers.get(title, EXPECTED) != EXPECTED]
        NUMBERS.write_text("".join(f"{numbers[title][0]} {numbers[title][1]} {title}\n" for title in stored))


if __name__ == "__main__":
    main()
