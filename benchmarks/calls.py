"""What a call costs beside what it computes: of several arguments and containers, in other forms, with guards, of operators.

    python -m benchmarks.calls [--jax]             # microseconds, and how many calls of one array that is; with jax.jit beside
    python -m benchmarks.calls --check [--update]  # 5 s: ratios to a call of one array, against bands

A call of one array is td.value_and_gradient(compiled, x) of ten numbers. Every function is the sum of the squares of all its numbers, or
the squares themselves, so that hardly anything but the call takes time; each answer is compared with that before it is timed. All take
turns, and the best sample counts.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

import tapediff as td

from .check import REGRESSION, verdict

BANDS = Path(__file__).parent / "call_bands.json"
ONE_ARRAY = "one array"
# Of a sample, in seconds; and how many samples each call has.
SAMPLE, TURNS = 5e-4, 60

X, V = np.linspace(0.1, 1.0, 10), np.linspace(-1.0, 1.0, 10)


def total(*arrays):
    return sum((a * a).sum() for a in arrays)


def of_dict(p):
    return total(*p.values())


def squares(x):
    return x * x


def leaves_of(answer):
    """The arrays in an answer, as one."""
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, (tuple, list)):
        return np.concatenate([np.zeros(0), *(leaves_of(part) for part in answer if part is not None)])
    return np.ravel(answer)


def slopes(*arrays):
    return [total(*arrays), *(2 * a for a in arrays)]


def gradients():
    """Calls of value and gradient by their names, each with what it has to give."""
    compiled, guarded, guard = td.compile(total, X), td.GuardedTape(total), td.GuardedTape(total, guard=lambda x: True)
    yield ONE_ARRAY, lambda: td.value_and_gradient(compiled, X), slopes(X)
    yield "value", lambda: compiled(X), [total(X)]
    yield "guarded", lambda: td.value_and_gradient(guarded, X), slopes(X)
    yield "guarded, value", lambda: guarded(X), [total(X)]
    yield "with guard=", lambda: td.value_and_gradient(guard, X), slopes(X)
    yield "with guard=, value", lambda: guard(X), [total(X)]
    strided, single = np.repeat(X, 2)[::2], X.astype(np.float32)
    narrow, number, zero = td.compile(total, single), td.compile(lambda x: x * x, 0.5), np.array(0.5)
    yield "strided", lambda: td.value_and_gradient(compiled, strided), slopes(X)
    yield "a list", lambda: td.value_and_gradient(compiled, LIST), slopes(X)
    yield "float32", lambda: td.value_and_gradient(narrow, single), slopes(single)
    yield "no dimensions", lambda: td.value_and_gradient(number, zero), [0.25, 1.0]
    aux = td.compile(lambda x: (total(x), x * x), X, has_aux=True)
    yield "has_aux", lambda: td.value_and_gradient(aux, X, has_aux=True), [total(X), X * X, 2 * X]
    yield "wrt", lambda: td.value_and_gradient(compiled, X, wrt=np.s_[1:]), [total(X), 2 * X[1:]]


LIST = X.tolist()


def several_arguments():
    for count in (2, 5, 12):
        arrays = [np.full(3, k + 1.0) for k in range(count)]
        compiled, numbers = td.compile(total, *arrays), tuple(range(count))
        p = {f"w{k}": array for k, array in enumerate(arrays)}
        by_name, guarded = td.compile(of_dict, p), td.GuardedTape(of_dict)
        one, constants = arrays[0], [td.Constant(a) for a in arrays[1:]]
        with_data = td.compile(total, one, *constants)
        yield f"{count} arrays, by one", lambda c=compiled, a=arrays: td.value_and_gradient(c, *a), slopes(*arrays)[:2]
        yield (f"{count} arrays, by all", lambda c=compiled, a=arrays, n=numbers: td.value_and_gradient(c, *a, argnums=n), slopes(*arrays))
        yield (f"{count - 1} td.Constant", lambda c=with_data, a=one, d=constants: td.value_and_gradient(c, a, *d), slopes(*arrays)[:2])
        yield f"dict of {count}", lambda c=by_name, p=p: td.value_and_gradient(c, p), slopes(*arrays)
        yield f"dict of {count}, guarded", lambda c=guarded, p=p: td.value_and_gradient(c, p), slopes(*arrays)
    named = td.compile(lambda x, y: total(x, y), X, V)
    yield "by name", lambda: td.value_and_gradient(named, X, y=V), slopes(X, V)[:2]
    cached = td.compile(with_scratch, X, td.Cache(np.empty(10)))
    scratch = td.Cache(np.empty(10))
    yield "td.Cache", lambda: td.value_and_gradient(cached, X, scratch), slopes(X)


def with_scratch(x, scratch):
    scratch[:] = x * x
    return scratch.sum()


def operators():
    compiled, of_array, number = td.compile(total, X), td.compile(squares, X), td.compile(lambda x: x * x, 0.5)
    guarded, diagonal = td.GuardedTape(squares), np.diag(2 * X)
    pull, push = td.vjp(of_array, X)[1], td.linearize(of_array, X)[1]
    yield "jvp", lambda: td.jvp(of_array, (X,), (V,)), [X * X, 2 * X * V]
    yield "jvp, guarded", lambda: td.jvp(guarded, (X,), (V,)), [X * X, 2 * X * V]
    yield "vjp", lambda: td.vjp(of_array, X)[:1], [X * X]
    yield "pull", lambda: pull(V), [2 * X * V]
    yield "push", lambda: push(V), [2 * X * V]
    yield "hvp", lambda: compiled.hvp(X, V), [2 * V]
    yield "hessian", lambda: compiled.hessian(X), [np.eye(10) * 2]
    yield "jacobian", lambda: of_array.jacobian(X), [diagonal]
    yield "value_and_jacobian", lambda: of_array.value_and_jacobian(X), [X * X, diagonal]
    yield "value_gradient_and_hvp", lambda: compiled.value_gradient_and_hvp(X, V), [*slopes(X), 2 * V]
    yield "derivative", lambda: number.derivative(0.5), [1.0]
    p, q = {"a": X, "b": V}, {"a": V, "b": X}
    of_p = td.compile(of_dict, p)
    yield "hvp by a dict", lambda: of_p.hvp(p, q), [2 * V, 2 * X]


def prepared() -> dict[str, Callable[[], object]]:
    """All calls, each made a few times and its answer compared."""
    calls = {}
    for name, call, expected in (*gradients(), *several_arguments(), *operators()):
        for _ in range(3):
            # float32 has 24 bits; everything else here is exact but for the order of sums.
            np.testing.assert_allclose(leaves_of(call()), leaves_of(expected), rtol=1e-6 if name == "float32" else 1e-13, atol=1e-14)
        calls[name] = call
    return calls


def microseconds(calls, turns=TURNS):
    """The best time of a call of each."""
    counts, best = {}, dict.fromkeys(calls, float("inf"))
    for name, call in calls.items():
        # The best of a few: a sample of one call, after one that was interrupted, would be one with cold caches.
        counts[name] = max(1, int(SAMPLE / min(_seconds(call, 3) for _ in range(5))))
    for _ in range(turns):
        for name, call in calls.items():
            best[name] = min(best[name], _seconds(call, counts[name]))
    return {name: seconds * 1e6 for name, seconds in best.items()}


def _seconds(call, count):
    started = perf_counter()
    for _ in range(count):
        call()
    return (perf_counter() - started) / count


def jax_calls():
    """jax.jit of the same functions, of NumPy's arrays as they come."""
    import jax

    jax.config.update("jax_enable_x64", True)
    both = lambda f, *n: jax.jit(jax.value_and_grad(f, *n))  # noqa: E731 -- its name is its use
    wait = jax.block_until_ready
    one = both(total)
    calls = {ONE_ARRAY: lambda: wait(one(X))}
    for count in (2, 5, 12):
        arrays = [np.full(3, k + 1.0) for k in range(count)]
        p = {f"w{k}": array for k, array in enumerate(arrays)}
        by_all, by_dict = both(total, tuple(range(count))), both(of_dict)
        calls[f"{count} arrays, by all"] = lambda f=by_all, a=arrays: wait(f(*a))
        calls[f"dict of {count}"] = lambda f=by_dict, p=p: wait(f(p))
    product = jax.jit(lambda x, v: jax.jvp(squares, (x,), (v,)))
    calls["jvp"] = lambda: wait(product(X, V))
    return calls


def table(times, theirs):
    lines = ["| µs | a call | / one array | jax.jit | / jax.jit |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, time in times.items():
        beside = (f"{theirs[name]:.1f}", f"{time / theirs[name]:.3f}") if name in theirs else ("", "")
        lines.append(f"| {name} | {time:.2f} | {time / times[ONE_ARRAY]:.1f} | {beside[0]} | {beside[1]} |")
    return "\n".join(lines)


def check_bands(update):
    """How many ratios to a call of one array are beyond their bands."""
    calls = prepared()
    bands = json.loads(BANDS.read_text()) if BANDS.exists() else {}
    times = microseconds(calls, 20)
    regressions = 0
    for name, call in calls.items():
        if name == ONE_ARRAY:
            continue

        def ratio(name=name, call=call):
            found = microseconds({ONE_ARRAY: calls[ONE_ARRAY], name: call}, 20)
            return found[name] / found[ONE_ARRAY]

        if update:
            bands[name] = round(median(ratio() for _ in range(3)), 2)
        band = bands.get(name)
        found = times[name] / times[ONE_ARRAY]
        if band is not None and found > REGRESSION * band:
            found = verdict(ratio, band)
        regressed = band is not None and found > REGRESSION * band
        regressions += regressed
        remark = "" if band is not None else ", no band yet: run with --update"
        print(f"{'SLOWER' if regressed else 'ok':6}  {found:8.2f}  band {band}  / one array: {name}{remark}")
    if update:
        BANDS.write_text(json.dumps({name: bands[name] for name in calls if name != ONE_ARRAY}, indent=1) + "\n")
    return regressions


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jax", action="store_true", help="jax.jit beside")
    parser.add_argument("--check", action="store_true", help="ratios to a call of one array, against bands")
    parser.add_argument("--update", action="store_true", help="with --check: write the ratios of this run as the new bands")
    options = parser.parse_args(arguments)
    if not options.check:
        print(table(microseconds(prepared()), microseconds(jax_calls()) if options.jax else {}))
        return 0
    regressions = check_bands(options.update)
    if regressions:
        print(f"{regressions} ratios are more than {REGRESSION} times their bands in {BANDS.name}", file=sys.stderr)
    return int(regressions > 0)


if __name__ == "__main__":
    sys.exit(main())
