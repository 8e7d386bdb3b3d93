"""Run the programs that tests/functions/merging tests through td.GuardedTape(f): recordings, values, gradients, changed objects, times.

Run `python tests/flow/former_programs.py [--table] [--seconds S] [pattern ...]` from the root, with the root and `tests` on PYTHONPATH; a
pattern is of titles, such as "loop_programs.*". Each program runs in a process of its own.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import fnmatch
import functools
import importlib
import inspect
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
from tests.functions import merged_bodies
from tests.functions.merging import outside_state_programs, traps
from tests.functions.merging.test_merging import POINTS as SHORT

FOLDER = pathlib.Path(outside_state_programs.__file__).parent
SECONDS = 20.0
# The order of sums may be another one.
VALUE_RTOL, GRADIENT_RTOL = 1e-9, 1e-7
FOUR = [np.random.default_rng(0).normal(size=4) * (1 + k % 3) for k in range(4)]
# Few, as loops of more than 200 iterations are unrolled.
TWO = np.array([[0.4, 0.8], [0.7, 0.3], [-0.9, 0.95]])
# Programs of two numbers, of which most have long loops; all others are given six.
OF_TWO = {
    "branch_of_turn_programs", "container_state_programs", "counted_exit_programs", "counting_programs", "exchange_programs",
    "first_turn_programs", "hidden_programs", "int_array_programs", "int_list_programs", "item_programs", "kept_turn_programs",
    "long_loop_programs", "long_while_programs", "look_up_programs", "numbered_turn_programs", "position_programs", "shown_state_programs",
    "state_array_programs", "table_programs", "unlike_item_programs", "window_programs",
}  # fmt: skip


@dataclasses.dataclass
class Case:
    """A program and its points."""

    title: str
    f: object
    points: list


@dataclasses.dataclass
class Result:
    """The verdict on a case.

    Args:
        title: of the case.
        outcome: number of recordings as a class, "wrong", "error", "timeout" or "unjudged".
        recordings: their number.
        paths: the number of points.
        first: seconds of the first point.
        later: seconds of all further points.
        reasons: why recordings are of a single path; where something is wrong, what.
    """

    title: str
    outcome: str = "timeout"
    recordings: int = 0
    paths: int = 0
    first: float = float("nan")
    later: float = 0.0
    reasons: list = dataclasses.field(default_factory=list)


# The programs


def cases():
    """All programs that the tests of merging have."""
    found = {}
    for file in sorted(FOLDER.glob("*.py")):
        module = importlib.import_module(f"tests.functions.merging.{file.stem}")
        points = points_of(module)
        for f in functions_of(module):
            name = getattr(f, "__name__", type(f).__name__)
            found.setdefault(f"{file.stem}.{name}", Case(f"{file.stem}.{name}", f, points))
    for name, f in made():
        found[name] = Case(name, f, SHORT[:4])
    for f in [*merged_bodies.MERGED, *merged_bodies.OTHERS]:
        for form in (of_an_array, of_a_scan):
            name = f"merged_bodies.{form.__name__}.{f.__name__}"
            found[name] = Case(name, form(f), FOUR)
    for f in merged_bodies.CARRIED:
        found[f"merged_bodies.{f.__name__}"] = Case(f"merged_bodies.{f.__name__}", f, FOUR)
    return list(found.values())


def points_of(module):
    """The points that the tests have for the programs of a module."""
    name = module.__name__.rpartition(".")[2]
    own = getattr(module, "points", None)
    if name == "test_inner_loops":
        return own
    if name.startswith("test_") and hasattr(module, "POINTS"):
        return list(module.POINTS)
    return list(TWO) if name in OF_TWO else SHORT


def functions_of(module):
    """The programs of a module: of its lists, or all functions of one argument in a module of tests."""
    listed = [part for name, group in vars(module).items() if name.isupper() and isinstance(group, (list, tuple, dict)) for part in group]
    if module.__name__.rpartition(".")[2].startswith("test_"):
        listed += [f for name, f in vars(module).items() if isinstance(f, types.FunctionType) and not name.startswith("test_")]
    for f in listed:
        if callable(f) and not isinstance(f, type) and getattr(f, "__module__", None) == module.__name__ and required(f) == 1:
            yield f


def required(f):
    """Number of required arguments of a function."""
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    try:
        return sum(p.default is p.empty and p.kind in kinds for p in inspect.signature(f).parameters.values())
    except ValueError:
        return 0


def made():
    """Programs that are made of two parts, with their names."""
    for place in (traps.in_a_while, traps.in_a_branch):
        for number, (make, added) in enumerate(traps.EFFECTS):
            yield f"traps.{place.__name__}.{number}", place(make, added)
    for f in traps.ALIASES:
        for write in traps.WRITES if f.__name__.endswith("then_written") else ():
            yield f"traps.{f.__name__}.{write.__name__}", functools.partial(f, write=write)
    for form in outside_state_programs.FORMS:
        for read, change in outside_state_programs.STATES.items():
            yield f"outside_state_programs.{form.__name__}.{read.__name__}", form(read, change)


def of_an_array(piece):
    """A function of an array, by one of a number."""
    return lambda x: sum(piece(v) * (k + 1) for k, v in enumerate(x))


def of_a_scan(piece):
    """The same within a scan."""
    return lambda x: td.scan(lambda c, v: (c + piece(v), None), x[0] * 0.0, x)[0]


def runs(case):
    """True if Python runs a program and it gives numbers; functions of test modules may be parts of programs."""
    return not case.title.startswith("test_") or isinstance(in_a_process(lambda: plain(case.f, case.points), 10.0), list)


def plain(f, points):
    """The values of a program at some points, as far as it has any."""
    values_ = []
    for x in points[:3]:
        try:
            value = f(x.copy())
        except Exception as error:
            # Those of arguments that are none of the program.
            if isinstance(error, (TypeError, AttributeError)) and f"{error}".find("ndarray") >= 0:
                raise
            continue
        if np.shape(value) != () or not isinstance(value, (float, int, np.generic)):
            raise TypeError
        values_.append(float(value))
    return values_


# Running them


def in_a_process(call, seconds):
    """The result of a call in a child; None where it fails, or takes too long. A generator's last value counts."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.close(reader)
        quiet()
        with os.fdopen(writer, "wb") as out:
            try:
                found = call()
                for value in found if isinstance(found, types.GeneratorType) else [found]:
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


def quiet():
    """Keep programs from printing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
    warnings.simplefilter("ignore")


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


@np.errstate(all="ignore")
def expectations(case):
    """Reference at each point: Python's value or error, the state, and the gradient of a tape of this point alone, or the reason for none."""
    found = []
    for x in case.points:
        given = x.copy()
        try:
            ending = "value", float(case.f(given))
        except Exception as error:  # noqa: BLE001 - compared with what the tape raises
            ending = "error", type(error).__name__
        left = state_of(case.f, given)
        try:
            slope = "gradient", np.asarray(td.gradient(td.record(case.f, x.copy(), merge=False), x.copy()))
        except Exception as error:  # noqa: BLE001 - a program that cannot be recorded
            slope = "error", type(error).__name__
        found.append((ending, left, slope))
        yield found


@np.errstate(all="ignore")
def judged(case):
    """Run a case at all its points; give the result as far as it is known after each of them."""
    result, whys = Result(case.title), []
    keep_reasons(whys)
    guarded = td.GuardedTape(case.f, on_new_tape="interpret", compile_after=1000, max_tapes=1000)
    wrong, errors, unjudged = [], [], 0
    all_wanted = in_a_process(lambda: expectations(case), SECONDS) or []
    for number, (x, wanted) in enumerate(zip(case.points, all_wanted)):
        given, start = x.copy(), time.perf_counter()
        try:
            found = td.value_and_gradient(guarded, given)
        except Exception as error:  # noqa: BLE001 - compared with what the program raises
            found = error
        seconds = time.perf_counter() - start
        fault = compared(found, wanted, state_of(case.f, given) if number == 0 else None)
        if fault == "unjudged":
            unjudged += 1
        elif fault:
            (errors if fault.startswith("error") else wrong).append(f"{fault} at point {number}")
        result.paths += 1
        result.recordings = guarded.stats.recordings
        result.first = seconds if number == 0 else result.first
        result.later += seconds if number else 0.0
        result.reasons = [*wrong[:2], *errors[:2], *collections.Counter(whys)]
        result.outcome = "timeout"
        yield result
    unjudged += len(case.points) - len(all_wanted)
    result.outcome = "wrong" if wrong else "error" if errors else "unjudged" if unjudged == len(case.points) else size(result.recordings)
    yield result


def compared(found, wanted, left):
    """The fault of an answer, or "unjudged", or "" for none."""
    (ending, value), state, (kind, gradient) = wanted
    if isinstance(found, Exception):
        name = type(found).__name__
        if ending == "error" or kind == "error":
            return "" if name in (value, gradient) else f"error {name}: {first_line(found)} instead of {value if ending == 'error' else gradient}"
        return f"error {name}: {first_line(found)}"
    if ending == "error":
        return f"no {value} raised, but {found[0]}"
    if not np.isclose(found[0], value, rtol=VALUE_RTOL, atol=1e-14, equal_nan=True):
        return f"value {found[0]!r}, Python {value!r}"
    if left is not None and left != state:
        return f"state {left!r:.300}, Python {state!r:.300}"
    if kind == "error":
        return "unjudged"
    tolerance = 1e-9 * (1.0 + np.max(np.abs(np.nan_to_num(gradient)), initial=0.0))
    if not np.allclose(found[1], gradient, rtol=GRADIENT_RTOL, atol=tolerance, equal_nan=True):
        return f"gradient {np.asarray(found[1])}, alone {gradient}"
    return ""


def first_line(error):
    """The first lines of a message."""
    return str(error).replace("\n", " ")[:200]


def keep_reasons(whys):
    """Collect why a recording has guards in place of joins, before the interpreter forgets it."""
    reset = values.State.reset

    def noted(self):
        if hasattr(self, "report"):
            whys.extend(reason.what for _, reason in self.report.guards.values())
        reset(self)

    values.State.reset = noted


def size(recordings):
    """The class of a number of recordings."""
    return "1" if recordings == 1 else "2-3" if recordings <= 3 else "4-8" if recordings <= 8 else "more"


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
        return type(value).__name__, [(str(k), frozen(v, seen)) for k, v in list(value.items())[:1000]]
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value).__name__, [frozen(v, seen) for v in list(value)[:1000]]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, type) or type(value).__module__.startswith("tests."):
        parts = {k: v for k, v in vars(value).items() if not k.startswith("__") and is_state(v)} if hasattr(value, "__dict__") else {}
        return getattr(value, "__name__", type(value).__name__), frozen(parts, seen)
    return type(value).__name__


# The table


def table(results):
    """The results by outcome."""
    lines = [f"{len(results)} programs"]
    for outcome in ("wrong", "error", "timeout", "unjudged", "more", "4-8", "2-3", "1"):
        found = [r for r in results if r.outcome == outcome]
        lines.append(f"\n{outcome}: {len(found)}")
        if outcome == "1":
            slow = sorted(found, key=lambda r: -r.first)[:20]
            lines += [f"    slowest: {r.title} {r.first:.2f} s, then {r.later:.2f} s" for r in slow]
            continue
        for r in found:
            lines.append(f"  {r.title}: {r.recordings} recordings for {r.paths} points, {r.first:.2f} s + {r.later:.2f} s")
            lines += [f"      {reason[:400]}" for reason in r.reasons[:4]]
    return "\n".join(lines)


def warm_up():
    """Import what recordings import late, before processes are made."""
    for f in (lambda x: td.gradient(td.record(lambda y: abs(y[0]) if y[0] > 0 else y[1], x), x), td.GuardedTape(lambda x: x[0], merge=True)):
        f(np.ones(2))
    list(judged(Case("", lambda x: abs(x[0]), [np.ones(2)])))


def main():
    """Run the programs that the command line names."""
    parser = argparse.ArgumentParser(description="Run the programs of tests/functions/merging by merge='flow'.")
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time limit of one program")
    parser.add_argument("--table", action="store_true", help="print a table at the end only")
    parser.add_argument("--write", help="pickle the results to a file")
    options = parser.parse_args()
    results = []
    warm_up()
    for case in cases():
        if not any(fnmatch.fnmatch(case.title, pattern) for pattern in options.patterns) or not runs(case):
            continue
        result = in_a_process(lambda case=case: judged(case), options.seconds) or Result(case.title)
        results.append(result)
        if not options.table:
            print(f"{result.outcome:8} {result.recordings:3} {result.first:6.2f} {result.title}", *(r[:250] for r in result.reasons[:2]), flush=True)
    print(table(results))
    if options.write:
        pathlib.Path(options.write).write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    main()
