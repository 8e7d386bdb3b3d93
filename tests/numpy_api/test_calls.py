"""Every call of the table: NumPy's value, shape and dtype, first and second derivatives, views as operands, and compiled."""

import ast
import functools
import inspect
import warnings

import numpy as np
import pytest
from numpy_api.calls import EDGES, GROUPS, NAMES, SHAPES, arguments

import tapediff as td
from tapediff.numpy_api import dispatch

# What NumPy computes in steps of another kind: lists of numbers in place of arrays of objects, as by np.frompyfunc.
OF_OBJECTS = ("frompyfunc",)
# Vectors of eigenvalues and orthogonal factors turn fast where values are close.
STEPS = (1e-4, 1e-5, 1e-6)


@functools.cache
def used(line):
    """The names of arguments in a call. The first is always x, as a function needs a float."""
    names = {node.id for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Name)}
    return ["x", *sorted(names & {*SHAPES} - {"x"})]


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (list, tuple)) else [value]


def function(line):
    code = compile(line, "<call>", "eval")
    return lambda *values: tuple(leaves(eval(code, {**NAMES, **dict(zip(used(line), values))})))


def strided(a):
    """The same numbers in memory that is not contiguous, read backwards."""
    if a.ndim == 0:
        return a
    room = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    room[..., ::-2] = a
    return room[..., ::-2]


def assert_same(got, wanted, rtol):
    assert len(got) == len(wanted)
    for a, b in zip(map(np.asarray, got), map(np.asarray, wanted)):
        b = b.astype(float) if b.dtype == object else b
        assert (a.shape, a.dtype.kind) == (b.shape, b.dtype.kind)
        assert a.dtype == b.dtype or b.dtype.kind in "iu"  # tracked integers are int64
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-11)


def weighted(line, rng):
    """A number made of all the floats of a call's results, of the arguments in one row; and how to find them."""
    f, names = function(line), [name for name in used(line) if name != "i"]
    ends = np.cumsum([int(np.prod(SHAPES[name])) for name in names])

    def number(flat, **integers):
        pieces = [np.reshape(flat[e - int(np.prod(SHAPES[n])) : e], SHAPES[n]) for n, e in zip(names, ends)]
        values = {**dict(zip(names, pieces)), **integers}
        total = 0.0 * flat[0]
        for k, leaf in enumerate(f(*(values[name] for name in used(line)))):
            if isinstance(leaf, float) or leaf.dtype.kind in "fO":
                total = total + np.sum(leaf * np.cos(np.arange(float(np.size(leaf))) + k).reshape(np.shape(leaf)))
        return total

    return number, names


# NumPy 2.2 computes it with an assignment to a shape, which tracked arrays refuse.
REFUSED = {"np.gradient(x, r)"} if ".shape = " in inspect.getsource(np.gradient) else set()
CALLS = [line for lines in GROUPS.values() for line in lines if line not in REFUSED]


@pytest.mark.parametrize("line", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_a_call_gives_numpys_value_shape_and_dtype(line):
    """Recorded at one point; at another, and on strided memory, by the tape or, where a guard fails, by a new one. Rounding of sums in
    another order: 1e-9 relative."""
    f = function(line)
    for seed in (0, 1):
        drawn = [arguments(np.random.default_rng(seed))[name] for name in used(line)]
        tape = td.record(f, *drawn)
        assert_same(leaves(tape(*drawn)), f(*drawn), 1e-9)
        assert_same(leaves(tape(*map(strided, drawn))), f(*drawn), 1e-9)


@pytest.mark.parametrize("line", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_a_call_has_its_first_and_second_derivative(line):
    """Of a weighted sum of the results, along one direction, against central differences of values and of gradients."""
    rng = np.random.default_rng(2)
    number, names = weighted(line, rng)
    drawn = arguments(np.random.default_rng(3))
    integers = {"i": drawn["i"]} if "i" in used(line) else {}
    flat = np.concatenate([np.ravel(drawn[name]) for name in names])
    direction = rng.normal(size=flat.shape)
    f = lambda z: number(z, **integers)
    tape = td.record(f, flat)
    gradient = td.gradient(tape, flat)
    differences = [(f(flat + h * direction) - f(flat - h * direction)) / (2 * h) for h in STEPS]
    slope = gradient @ direction
    # Central differences of steps between 1e-4 and 1e-6, of which the best must agree.
    assert min(abs(d - slope) for d in differences) <= 1e-6 * max(1.0, np.abs(gradient).max() * np.abs(direction).max())
    if line.startswith("td.without_second"):
        return
    product = td.hvp(tape, flat, direction)
    differences = [(td.gradient(f, flat + h * direction) - td.gradient(f, flat - h * direction)) / (2 * h) for h in STEPS]
    assert min(np.abs(d - product).max() for d in differences) <= 2e-6 * max(1.0, np.abs(product).max())


def result_or_error(f, values):
    try:
        return f(*values), None
    except Exception as error:  # noqa: BLE001 -- of any class
        return None, error


# What keywords are tried with; the others with 1, True and None.
TRIED = {
    "axis": "0 -1 None", "dtype": "np.float32 np.int64", "casting": "'no' 'unsafe' 'safe'", "order": "'C' 'F' 'A'", "kind": "'stable'", "copy": "True False None",
    "where": "False", "mode": "'wrap' 'clip' 'same'", "method": "'lower'", "axes": "0 (1,0)", "side": "'right'", "UPLO": "'U'", "endpoint": "False",
    "min": "-0.5", "max": "0.5", "rowvar": "False", "weights": "x*x", "nan": "5.0", "posinf": "5.0", "neginf": "-5.0", "device": "'cpu'", "shape": "(2,3)",
    "indexing": "'ij'", "rcond": "1e-3", "range": "(-1.0,1.0)", "trim": "'f'", "left": "-7.0", "right": "True 7.0", "period": "3.0", "sorted": "False",
    "norm": "'ortho' 'forward'", "sorter": "k", "correction": "1", "initial": "2.0", "discont": "0.1", "n": "2", "dx": "0.5", "requirements": "'F'",
    "keepdims": "True", "subok": "True", "mean": "0.5", "append": "0.0", "prepend": "0.0", "minlength": "9",
}  # fmt: skip
# Contents that are not defined: of the argument afterwards, of the result.
SCRAMBLED, UNDEFINED = ("overwrite_input",), ("empty_like",)
WHERE = {"numpy": "np", "numpy.linalg": "np.linalg", "numpy.fft": "np.fft"}
FUNCTIONS = {
    f"{WHERE[f.__module__]}.{f.__name__}": f for f in (*dispatch.FUNCTIONS, *dispatch.WRITERS) if getattr(f, "__module__", None) in WHERE and f.__name__ not in UNDEFINED
}
CALLED = {name: [line for line in CALLS if f"{name}(" in line][:2] for name in FUNCTIONS}


def a_call(name):
    """One of those that most functions take."""
    for given in ("m", "m, n", "x", "m, 1", "m, (0, 1)", "p", "p, p[0]", "(m > 0, m, n)"[1:-1], "x, k, y"):
        try:
            function(f"{name}({given})")(*(arguments(np.random.default_rng(0))[each] for each in used(f"{name}({given})")))
        except Exception:  # noqa: BLE001 -- the next one
            continue
        return [f"{name}({given})"]
    return []


def with_keyword(line, name, keyword, value):
    """The call of the function in a line with one more keyword; None where it has it."""
    tree = ast.parse(line, mode="eval")
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == name)
    by_place = [p.name for p in inspect.signature(FUNCTIONS[name]).parameters.values()][: len(call.args)]
    if keyword in (*by_place, *(each.arg for each in call.keywords)):
        return None
    call.keywords.append(ast.keyword(keyword, ast.parse(value, mode="eval").body))
    return ast.unparse(tree)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_no_keyword_is_accepted_and_ignored(name):
    """Each keyword of NumPy's signature, in a call that has it not: NumPy's result, its effect on the arguments, or an error."""
    try:
        parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    except ValueError:
        pytest.skip("NumPy gives no signature")
    for line in CALLED[name] or a_call(name):
        for keyword in (p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name not in SCRAMBLED):
            for value in TRIED.get(keyword, "1 True None").split():
                call = with_keyword(line, name, keyword, value)
                if call is None:
                    continue
                values = [arguments(np.random.default_rng(0))[each] for each in used(call)]
                run = function(call)
                f = lambda *a: (*(r for r in run(*a) if r is not None), *(v * 1 for v in a))
                wanted, error = result_or_error(f, [v.copy() for v in values])
                got, raised = result_or_error(lambda *a: leaves(td.record(f, *a)(*map(np.copy, a))), values)
                assert raised is not None or error is None, call
                if raised is None:
                    # Sums of 32 bits in another order.
                    assert_same(got, wanted, 1e-6 if "float32" in value else 1e-9)


@pytest.mark.parametrize("line", EDGES)
@pytest.mark.filterwarnings("ignore")
def test_a_mistake_raises_what_numpy_raises_and_nothing_gives_what_numpy_gives(line):
    """Errors of the same class, or one above or below it; without values, NumPy's results of empty arrays and numbers."""
    f, drawn = function(line), arguments(np.random.default_rng(0))
    values = [drawn[name] for name in used(line)]
    kept = lambda results: tuple(r for r in results if r is not None and not isinstance(r, np.dtype))
    wanted, error = result_or_error(f, map(np.copy, values))
    if error is not None:
        _, raised = result_or_error(td.record, (f, *values))
        assert isinstance(raised, type(error)) or isinstance(error, type(raised))
        return
    recorded = td.record(lambda *a: kept(f(*a)) or a[0], *values)(*values)
    for a, b in zip(leaves(recorded), kept(wanted)):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)  # sums in another order


# So many calls are compiled in one function.
AT_ONCE = 40


@pytest.mark.parametrize("first", range(0, len(CALLS), AT_ONCE))
@pytest.mark.filterwarnings("ignore")
def test_calls_compiled_are_what_they_are_uncompiled(first):
    """Values and gradients of many calls in one kernel. Sums in another order: 1e-9."""
    lines = CALLS[first : first + AT_ONCE]
    numbers = [weighted(line, np.random.default_rng(2)) for line in lines]
    drawn = arguments(np.random.default_rng(4))
    names = [name for name in SHAPES if name != "i"]
    ends = dict(zip(names, np.cumsum([drawn[name].size for name in names])))

    def together(flat):
        results = []
        for (number, own), line in zip(numbers, lines):
            part = np.concatenate([flat[ends[n] - drawn[n].size : ends[n]] for n in own])
            results.append(number(part, **({"i": drawn["i"]} if "i" in used(line) else {})))
        return np.stack(results)

    flat = np.concatenate([np.ravel(drawn[name]) for name in names])
    tape = td.record(together, flat)
    compiled = td.compile(tape)
    np.testing.assert_allclose(compiled(flat), tape(flat), rtol=1e-9, atol=1e-9)
    weights = np.cos(np.arange(float(len(lines))))
    (by_kernel,), (by_replay,) = (td.vjp(target, flat)[1](weights) for target in (compiled, tape))
    np.testing.assert_allclose(by_kernel, by_replay, rtol=1e-9, atol=1e-8)


def test_nothing_warns_without_a_reason():
    """The calls are made with warnings off, as NumPy's own of them warn; a few that do not are made here."""
    x = arguments(np.random.default_rng(5))["x"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for line in ("np.pad(x, 2)", "np.gradient(x)", "np.percentile(x, 30)", "np.convolve(x, x)"):
            td.record(function(line), x)
