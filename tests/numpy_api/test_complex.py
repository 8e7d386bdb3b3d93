"""Complex numbers inside a function: every call of the table, and what has no table."""

import numpy as np
import pytest
import scipy.fft
import scipy.special
from numpy_api import calls, complex_programs as programs
from numpy_api.complex_calls import GROUPS, SIZE, names

import tapediff as td
from tapediff.testing import check_gradient

CALLS = [line for lines in GROUPS.values() for line in lines]
# The same to the bit. NumPy's own products and quotients are rounded differently from one processor to the other.
EXACT = ("z +", "z -", "2.5 -", "x +", "x -", "-z", "z.conj()", "1j * x", "np.fft.fft(z", "np.fft.rfft(x)", "np.fft.irfft(z)")


def written(value, text):
    """What an array is after statements that write to it."""
    scope = {"np": np, "td": td, "y": np.copy(value), **written.names}
    exec(text, scope)
    return scope["y"]


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (list, tuple)) else [value]


def function(line):
    """A function of one real vector, whose results are the leaves of the call's."""
    code = compile(line, "<call>", "eval")

    def call(v):
        given = names(v)
        written.names = given
        return tuple(leaves(eval(code, {"np": np, "scipy": scipy, "written": written, "v": v, **given})))

    return call


def number(line):
    """A real number made of the real and imaginary parts of a call's results."""
    call = function(line)

    def total(v):
        result = 0.0 * v[0]
        for k, leaf in enumerate(call(v)):
            weights = np.cos(np.arange(float(np.size(leaf))) + k).reshape(np.shape(leaf))
            result = result + np.sum(leaf.real * weights)
            if np.iscomplexobj(leaf):
                result = result + np.sum(leaf.imag * np.sin(weights + 0.3))
        return result

    return total


def point(seed):
    return np.random.default_rng(seed).uniform(0.3, 1.4, SIZE) * np.where(np.random.default_rng(seed + 9).random(SIZE) < 0.4, -1.0, 1.0)


@pytest.mark.parametrize("line", CALLS)
def test_a_call_gives_numpys_value_shape_and_dtype(line):
    """Recorded at one point, replayed at another, or recorded again where a guard fails. Sums and products in another order: 1e-11."""
    call = function(line)
    for v in (point(0), point(1)):
        wanted, got = call(v), td.record(call, v)(v)
        got = got if isinstance(got, tuple) else (got,)
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted):
            assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
            if line.startswith(EXACT):
                np.testing.assert_array_equal(a, b)
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("line", CALLS)
def test_a_call_has_its_first_and_second_derivative(line):
    """Along one direction, against central differences with the steps 1e-4 to 1e-6, of which the best must agree."""
    f, v, direction = number(line), point(2), np.random.default_rng(3).normal(size=SIZE)
    tape = td.record(f, v)
    gradient = td.gradient(tape, v)
    slopes = [(f(v + h * direction) - f(v - h * direction)) / (2 * h) for h in (1e-4, 1e-5, 1e-6)]
    assert min(abs(s - gradient @ direction) for s in slopes) <= 1e-6 * max(1.0, np.abs(gradient).max())
    product = td.hvp(tape, v, direction)
    slopes = [(td.gradient(tape, v + h * direction) - td.gradient(tape, v - h * direction)) / (2 * h) for h in (1e-4, 1e-5, 1e-6)]
    assert min(np.abs(s - product).max() for s in slopes) <= 2e-6 * max(1.0, np.abs(product).max())


@pytest.mark.parametrize("group", GROUPS)
def test_calls_compiled_are_what_they_are_uncompiled(group):
    """Values and gradients of all calls of a group in one kernel. Sums in another order: 1e-10."""
    numbers, v = [number(line) for line in GROUPS[group]], point(4)
    tape = td.record(lambda v: np.stack([f(v) for f in numbers]), v)
    compiled = td.compile(tape)
    np.testing.assert_allclose(compiled(v), tape(v), rtol=1e-10, atol=1e-10)
    weights = np.cos(np.arange(float(len(numbers))))
    (by_kernel,), (by_replay,) = (td.vjp(target, v)[1](weights) for target in (compiled, tape))
    np.testing.assert_allclose(by_kernel, by_replay, rtol=1e-9, atol=1e-9)


PROGRAMS = [(f, point, k) for f, points in programs.PROGRAMS for k, point in enumerate(points)]


@pytest.mark.parametrize(("f", "p", "k"), PROGRAMS, ids=[f"{f.__name__} {k}" for f, _, k in PROGRAMS])
def test_a_program_with_complex_numbers_has_its_value_gradient_and_hessian(f, p, k):
    """As users write them, plain, compiled and guarded; against central differences of step 1e-5, which are good to 1e-7 at these scales."""
    tape, compiled, guarded = td.record(f, p), td.compile(f, p), td.GuardedTape(f)
    np.testing.assert_allclose([tape(p), compiled(p), guarded(p)], f(p), rtol=1e-12)
    steps = 1e-5 * np.eye(p.size)
    gradient = td.gradient(tape, p)
    differences = [(f(p + step) - f(p - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient, differences, atol=1e-7 * np.abs(gradient).max())
    for target in (compiled, guarded):
        np.testing.assert_allclose(td.gradient(target, p), gradient, rtol=1e-10, atol=1e-11 * np.abs(gradient).max())
    direction = np.cos(np.arange(float(p.size)))
    product = td.hvp(tape, p, direction)
    difference = (td.gradient(tape, p + 1e-5 * direction) - td.gradient(tape, p - 1e-5 * direction)) / 2e-5
    np.testing.assert_allclose(product, difference, atol=1e-7 * np.abs(product).max())


X = np.array([0.3, -1.2, 2.0])


@td.subtape
def turned(z, a):
    return z * z + a, np.exp(1j * a)


def damped(c, t):
    c = c * np.exp(1j * t)
    return c, np.abs(c + 1.0)


def of_outer(x):
    z = np.exp(1j * x)
    part = td.subtape(lambda a: np.sum((z * a).real))
    return part(x[0]) + part(x[1])


def branching(x):
    z = x[0] + 1j * x[1]
    w = z * z if z.real > 0.0 else np.sqrt(z)
    if z:
        w = w * 2.0
    return np.abs(w)


def looped(x):
    z, seen = x[0] + 1j * x[1], np.zeros(30, complex)
    for k in range(30):
        z = z * (0.9 + 0.1j) + x[2] * 0.1
        seen[k] = z
    return np.sum(np.abs(seen) ** 2)


CONTROL = {
    "subtape": lambda x: turned(np.exp(1j * x[1]), x[0])[0].imag + turned(1j * x[0], x[1])[1].real,
    "subtape of a constant": lambda x: turned(2 - 1j, x[1])[0].real * x[2],
    "scan": lambda x: np.sum(td.scan(damped, x[0] + 0j, x)[1]),
    "scan from a constant": lambda x: np.sum(td.scan(damped, 1j, x)[1]),
    "scan with complex results": lambda x: np.sum(td.scan(lambda c, t: (c * (1 + 1j * t), c), 1j + x[0], x)[1].imag),
    "fori_loop": lambda x: td.fori_loop(0, 5, lambda k, z: z * z * 0.3 + x[0] + 1j * x[1], x[2] + 0j).real,
    "cond": lambda x: td.cond(x[0] > 0, lambda z: z * 2j, lambda z: z.conj(), x[1] + 1j * x[2]).imag,
    "while_loop": lambda x: np.abs(td.while_loop(lambda z: np.abs(z) < 3.0, lambda z: z * (1.2 + 0.5j), x[0] + 1j * x[1])),
    "closure": of_outer, "branches": branching, "loop": looped,
    "gradient of a gradient": lambda x: np.sum(td.gradient(lambda y: np.sum(np.abs(np.exp(1j * y) + y) ** 2), x) ** 2),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTROL)
def test_complex_values_go_through_calls_loops_and_branches(name):
    """Recorded at one point, guarded at another; central differences of step 1e-6 are good to 1e-7."""
    f = CONTROL[name]
    guarded = td.GuardedTape(f)
    for x in (X, -X, X + 0.5):
        np.testing.assert_allclose(guarded(x), f(x), rtol=1e-13, atol=1e-13)
        differences = [(f(x + step) - f(x - step)) / 2e-6 for step in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(td.gradient(guarded, x), differences, rtol=1e-7, atol=1e-7)


EDGES = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("name", ["sqrt", "log", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "exp", "tanh", "log1p", "expm1"])
@pytest.mark.filterwarnings("ignore")
def test_the_side_of_a_branch_cut_is_numpys(name):
    """On the axes, zeros of both signs: the sign of the other part decides. Without infinities, where libraries differ; 1e-14 relative."""
    function = getattr(np, name)
    re, im = (part.ravel() for part in np.meshgrid(EDGES[:7], EDGES[:7]))
    z = np.empty(re.size, complex)
    z.real, z.imag = re, im
    wanted = function(z)
    got = td.record(lambda re, im: function(paired(re, im)), re, im)(re, im)
    regular = np.isfinite(wanted)
    np.testing.assert_allclose(got[regular], wanted[regular], rtol=1e-14, atol=1e-15)


def paired(re, im):
    """re + 1j * im has other zeros."""
    z = np.zeros(re.shape, complex) + 0.0 * re
    z.real, z.imag = re, im
    return z


@pytest.mark.filterwarnings("ignore")
def test_sums_products_and_quotients_of_special_numbers_are_numpys():
    """Zeros of both signs to the sign; infinities and NaN to being such. Written one by one, as NumPy's SIMD products differ from its own scalars."""
    re, im = (part.ravel() for part in np.meshgrid(EDGES, EDGES))
    for w in (1.0 + 0.0j, -1.0 + 0.0j, 1j, 2.0 - 3.0j, complex(-0.0, 2.0)):
        for operation in (lambda z, w: z + w, lambda z, w: z - w, lambda z, w: w - z, lambda z, w: z * w, lambda z, w: z / w, lambda z, w: z * 2.0):
            got = td.record(lambda re, im: operation(paired(re, im), w), re, im)(re, im)
            for k, (a, b) in enumerate(zip(re, im)):
                wanted = operation(np.array([complex(a, b)]), w)[0]
                for part, other in ((got[k].real, wanted.real), (got[k].imag, wanted.imag)):
                    np.testing.assert_allclose(part, other, rtol=1e-15)
                    assert np.isnan(other) or np.signbit(part) == np.signbit(other), (a, b, w)


def test_derivatives_where_a_formula_has_a_kink():
    """The absolute value at 0 has the derivative 0; a root on the imaginary axis and next to its cut has that of its branch."""
    assert np.array_equal(td.gradient(lambda x: np.abs(x[0] + 1j * x[1]), np.zeros(2)), [0.0, 0.0])
    for point in ((0.0, 1.0), (0.0, -2.0), (-1.0, 0.0), (2.0, 0.0)):
        gradient = td.gradient(lambda x: np.sqrt(x[0] + 1j * x[1]).imag + np.sqrt(x[0] + 1j * x[1]).real, np.array(point))
        slope = 0.5 / np.sqrt(complex(*point))
        np.testing.assert_allclose(gradient, [slope.real + slope.imag, (1j * slope).real + (1j * slope).imag], rtol=1e-14, atol=1e-15)
    second = td.hessian(lambda x: np.tanh(x[0] + 1j * x[1]).imag, np.array([0.0, 0.7]))
    exact = (-2 * np.tanh(0.7j) * (1 - np.tanh(0.7j) ** 2)) * np.array([[1, 1j], [1j, -1]])
    np.testing.assert_allclose(second, exact.imag, atol=1e-13)


def test_singular_values_of_complex_matrices_have_first_derivatives_and_no_second():
    """Each is found twice in a real matrix, and it matters to second derivatives which vectors it is of two: NaN, never a wrong number."""

    def f(v):
        z = np.reshape(v[:12] + 1j * v[12:], (2, 2, 3))
        return np.sum(np.linalg.svdvals(z) * np.array([1.0, 3.0])) + np.linalg.svd(z[0], compute_uv=False)[1] ** 2

    v = np.random.default_rng(8).normal(size=24)
    check_gradient(f, f, v)
    check_gradient(td.compile(f, v), f, v)
    assert np.isnan(td.hessian(td.record(f, v), v)).any()


REFUSED = [
    (lambda x: np.max(1j * x), td.UnsupportedFunction, "no order"),
    (lambda x: 1j * x > 0, td.UnsupportedFunction, "no order"),
    (lambda x: np.sort(1j * x), td.UnsupportedFunction, "no order"),
    (lambda x: np.linalg.svd(np.diag(1j * x)), td.UnsupportedFunction, "svdvals"),
    (lambda x: np.linalg.eigvals(np.diag(1j * x)), td.UnsupportedFunction, "Hermitian"),
    (lambda x: scipy.special.gamma(1j * x), td.UnsupportedFunction, "z.real"),
    (lambda x: x.astype(np.float32) * 1j, td.UnsupportedFunction, "astype"),
    (lambda x: x.astype(np.complex64), td.UnsupportedFunction, "complex128"),
    (lambda x: (1j * x).astype(float), td.UnsupportedFunction, "z.real"),
    (lambda x: (1j * x).view(float), td.UnsupportedFunction, "z.real"),
    (lambda x: complex(x[0]), td.TrackedValueEscaped, r"x \+ 0j"),
    (lambda x: float(x[0] * 1j), td.TrackedValueEscaped, "z.real"),
    (lambda x: np.zeros(3).__setitem__(0, x[0] * 1j), td.TrackedValueEscaped, "z.real"),
    (lambda x: f"{1j * x}", td.TrackedValueEscaped, "debug.print"),
    (lambda x: {x[0] * 1j: 1}, td.TrackedValueEscaped, "guarded"),
    (lambda x: x.__iadd__(1j * x), TypeError, "Cannot cast"),
    (lambda x: np.fft.fft(x.astype(np.float32)), td.UnsupportedFunction, "astype"),
    (lambda x: td.gradient(lambda z: np.abs(z), x[0] * 1j), td.DtypeMismatch, "array of numbers"),
]


@pytest.mark.parametrize(("f", "error", "text"), REFUSED, ids=[f"{k} {text}" for k, (_, _, text) in enumerate(REFUSED)])
def test_what_is_not_there_says_what_to_do(f, error, text):
    """Never a value: neither the imaginary part nor the gradient is dropped."""
    with pytest.raises(error, match=text):
        td.record(f, X)


def test_complex_results_are_values_and_have_no_gradient():
    tape = td.record(lambda x: (1j * x, {"a": np.sum(x) + 2j, "b": 1j}), X)
    z, more = td.compile(tape)(X)
    assert np.array_equal(z, 1j * X)
    np.testing.assert_allclose([more["a"], more["b"]], [X.sum() + 2j, 1j], rtol=1e-15)  # a sum in another order
    with pytest.raises(td.NonScalarOutput) as refusal:
        td.gradient(lambda x: 1j * x, X)
    lines = str(refusal.value).splitlines()
    assert lines[0] == "<lambda> returned a complex value; a gradient needs one real scalar"
    assert [line.strip().partition(":")[0] for line in lines[1:]] == ["at", "got", "fix"]
    assert refusal.value.fix == "return z.real, z.imag, np.abs(z) or another real number made of it"
    with pytest.raises(td.DtypeMismatch, match="the real and the imaginary part"):
        td.gradient(np.abs, 1j)
    tangent = td.jvp(lambda x: np.exp(1j * x), (X,), (np.ones(3),))[1]
    np.testing.assert_allclose(tangent, 1j * np.exp(1j * X), rtol=1e-15)


def test_every_name_of_numpy_fft_and_scipy_fft_works_or_is_plain():
    """Of their own lists, so that a new one is noticed."""
    lines = " ".join(line for lines in (*GROUPS.values(), *calls.GROUPS.values()) for line in lines)
    assert [name for name in np.fft.__all__ if f"np.fft.{name}(" not in lines] == []
    plain = {"next_fast_len", "prev_fast_len", "fhtoffset", "get_workers", "set_workers"} | {n for n in scipy.fft.__all__ if n.endswith("_backend")}
    y = np.linspace(0.3, 1.7, 12).reshape(3, 4)
    for name in sorted({*scipy.fft.__all__} - plain):
        more = {"fftfreq": (0.5,), "rfftfreq": (0.5,), "fht": (0.1, 0.5), "ifht": (0.1, 0.5)}.get(name, ())
        call = (lambda x, name=name: getattr(scipy.fft, name)(5, x[0, 0])) if name.endswith("freq") else (
            lambda x, name=name, more=more: getattr(scipy.fft, name)(x, *more))
        np.testing.assert_allclose(td.record(call, y)(y), call(y), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
def test_cosine_and_sine_transforms_of_all_kinds_and_lengths_are_scipys(name):
    """Kinds 1 to 4, normalisations, with and without orthogonal ends. 1e-14 times the length."""
    rng = np.random.default_rng(0)
    cases = [(kind, rng.normal(size=(2, n)), norm, ends) for kind in (1, 2, 3, 4) for n in (1, 2, 3, 4, 5, 8) if n > 1 or kind > 1
             for norm in (None, "ortho", "forward") for ends in (None, True, False)]  # fmt: skip
    function = getattr(scipy.fft, name)
    everything = lambda *arrays: tuple(function(x, kind, norm=norm, orthogonalize=ends) for x, (kind, _, norm, ends) in zip(arrays, cases))
    drawn = [x for _, x, _, _ in cases]
    for got, wanted in zip(td.record(everything, *drawn)(*drawn), everything(*drawn)):
        np.testing.assert_allclose(got, wanted, rtol=1e-13, atol=1e-13)


def test_eigenvectors_have_the_derivative_of_their_phase_and_none_where_values_repeat():
    def entries(x, triangle):
        h = np.array([[1.0, 0.3 + 1j * x[0], x[1] * 1j], [0.3 - 1j * x[0], 2.0 + x[1], 0.4], [-x[1] * 1j, 0.4, 3.5]])
        return np.linalg.eigh(h, triangle)[1]

    x = np.array([0.4, 0.7])
    for triangle in "LU":
        for part in (np.real, np.imag):
            jacobian = td.jacobian(lambda x: part(entries(x, triangle)), x)
            differences = [(part(entries(x + s, triangle)) - part(entries(x - s, triangle))) / 2e-6 for s in 1e-6 * np.eye(2)]
            np.testing.assert_allclose(np.moveaxis(jacobian, -1, 0), differences, atol=1e-8)
    repeated = lambda x: np.linalg.eigh(np.eye(2) * (1.0 + 0j) + x[0] * np.zeros((2, 2)))
    assert np.isnan(td.gradient(lambda x: np.sum(repeated(x)[1].real * [[1.0, 2.0], [3.0, 5.0]]), np.ones(1))).all()
    assert td.gradient(lambda x: np.sum(np.linalg.eigvalsh(np.eye(2) * (x[0] + 0j))), np.ones(1)) == 2.0


_AROUND = np.arange(1.0, 7.0).reshape(2, 3) * 0.37 - 1.1
_BESIDE = {  # what is added to complex values, or put beside them, is real or complex
    "sum": lambda z, x: np.sum(z, initial=-7.0),
    "sum of a complex start": lambda z, x: np.sum(z, initial=2.0 - 1j),
    "sum by position": lambda z, x: np.sum(z, 0, None, None, False, 3.0),
    "reduce": lambda z, x: np.add.reduce(z, initial=3.0),
    "sum where": lambda z, x: z.sum(where=x > 0.0),
    "diff": lambda z, x: np.diff(z, prepend=1.0, append=2.0),
    "diff by position": lambda z, x: np.diff(z, 1, -1, 1.0, 2j),
    "ediff1d": lambda z, x: np.ediff1d(z, to_end=[1, 2], to_begin=3.0),
    "ediff1d by position": lambda z, x: np.ediff1d(z, [1, 2], 3j),
    "average": lambda z, x: np.average(z, returned=True),
    "average by weights": lambda z, x: np.average(z, axis=1, weights=[1.0, 2.0, 3.0], returned=True),
    "trapezoid by x": lambda z, x: np.trapezoid(z, x=x),
    "trapezoid by position": lambda z, x: np.trapezoid(z, x),
    "trapezoid of a path": lambda z, x: np.trapezoid(x, z),
    "trapezoid by dx": lambda z, x: np.trapezoid(z, dx=0.5j, axis=0),
    "sum of dtype complex": lambda z, x: np.sum(z, dtype=complex),
    "prod of dtype complex": lambda z, x: np.prod(z, 0, complex),
    "linspace of dtype complex": lambda z, x: np.linspace(z, 2.0, 3, dtype=complex),
    "var": lambda z, x: np.var(z, correction=1),
    "var where": lambda z, x: np.var(z, where=x > -0.5),
    "std": lambda z, x: np.std(z, axis=0, ddof=0.5),
    "isclose": lambda z, x: np.isclose(z * [np.nan, 1.0, 1.0], z * [np.nan, 1.0, 2.0], equal_nan=True),
    "array_equal": lambda z, x: x * np.array_equal(z * np.nan, z * np.nan, equal_nan=True),
    "zeros_like": lambda z, x: np.zeros_like(z, device="cpu"),
    "size": lambda z, x: x * np.size(z, (0, 1)),
    "can_cast": lambda z, x: x * np.can_cast(z, complex, casting="safe"),
}


@pytest.mark.parametrize("name", _BESIDE)
def test_what_stands_beside_complex_values_is_not_taken_for_both_parts(name):
    """NumPy's value, and the derivative of both parts by differences."""

    def f(x):
        made = _BESIDE[name](x * (1.0 + 0.2j) + 0.3j, x)
        made = made if isinstance(made, tuple) else (made,)
        return tuple(np.real(v) for v in made) + tuple(np.imag(v) for v in made)

    def plain(x):
        return np.concatenate([np.ravel(v) for v in f(x)])

    point = _AROUND + 0.01
    np.testing.assert_allclose(np.concatenate([np.ravel(v) for v in td.record(f, _AROUND)(point)]), plain(point), rtol=1e-12, atol=1e-14)
    weights = np.cos(np.arange(plain(point).size))
    gradient = td.gradient(lambda x: sum(np.sum(w * v) for w, v in zip(_split(weights, f(x)), f(x))), point)
    expected = [
        (weights @ plain(point + h) - weights @ plain(point - h)) / 2e-6 for h in 1e-6 * np.eye(6).reshape(6, 2, 3)
    ]  # fmt: skip
    np.testing.assert_allclose(gradient.ravel(), expected, atol=1e-7)  # differences of 1e-6 are exact to 1e-9


def _split(weights, values):
    ends = np.cumsum([np.size(v) for v in values])
    return [w.reshape(np.shape(v)) for w, v in zip(np.split(weights, ends[:-1]), values)]


@pytest.mark.parametrize(
    "call",
    [
        lambda z, x: np.sum(z, dtype=float), lambda z, x: np.mean(z, 0, float), lambda z, x: z.cumsum(dtype=float),
        lambda z, x: np.prod(z, dtype=int), lambda z, x: np.std(z, dtype=np.float32), lambda z, x: np.trace(z, dtype=float),
        lambda z, x: np.exp(z, where=x > 0.0), lambda z, x: np.abs(z, where=x > 0.0), lambda z, x: np.add(z, 1.0, where=x > 0.0),
        lambda z, x: np.prod(z, initial=2.0), lambda z, x: np.average(x, weights=z), lambda z, x: np.insert(x, 0, z[0, 0]), lambda z, x: np.var(z, mean=0.5),
    ],
)  # fmt: skip
def test_an_argument_that_would_change_the_value_is_refused_where_it_is_not_supported(call):
    with pytest.raises(td.UnsupportedFunction, match="complex tracked arrays"):
        td.record(lambda x: call(x * (1.0 + 0.2j) + 0.3j, x), _AROUND)


def test_the_deviation_of_equal_complex_values_has_the_gradient_zero():
    assert td.gradient(lambda x: np.std(np.ones(3) * x * 1j), 3.0) == 0.0
