"""td.export: C programs without Python get the bits that kernels give in Python."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import special
from support.long_tapes import without_pattern

import tapediff as td
from benchmarks.problems import BY_NAME
from tests.support.in_c import COMPILER, built, called, needs_compiler, same_bits

pytestmark = needs_compiler
rng = np.random.default_rng(5)


def assert_same(exported, target, points, *others):
    """Value and gradient in C have the bits of Python at all points."""
    results = [np.zeros(()), np.zeros_like(points[0])]
    for point, (status, (value, gradient)) in zip(points, called(exported, [[p, *others] for p in points], results), strict=True):
        expected = td.value_and_gradient(target, point, *others)
        assert status == 0
        assert same_bits(value, expected[0])
        assert same_bits(gradient, expected[1])


# Elementwise, reductions, products, Cholesky factors, loops found again, scans, several paths, a recursion, int data.
NAMES = (
    "eight_schools", "logistic_2000", "gaussian_mixture", "gp_100", "network", "sum_sin", "rosenbrock_loop_1000", "lotka_volterra_scan",
    "hidden_markov", "two_tails", "bouncing_ball_scan", "posterior_hudson_lynx_hare", "posterior_radon",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_programs_of_the_benchmarks_give_the_same_bits(name, tmp_path):
    """At the recorded points, and between them."""
    problem = BY_NAME[name]
    points = [np.array(p, float) for p in problem.points]
    points.append(points[0] + 1e-3 * rng.normal(size=points[0].shape))
    target = td.GuardedTape(problem.recorded)
    for point in points:
        td.value_and_gradient(target, point)
    assert_same(td.export(target, tmp_path / "model", points[0]), target, points)


def smooth(x):
    return np.sum(np.exp(x) * np.sin(x[::-1])) + np.log(np.sum(x**2)) + np.linalg.slogdet(np.outer(x, x) + np.eye(x.size))[1]


def factors(x):
    lower = np.linalg.cholesky(np.outer(x, x) + 2.0 * np.eye(x.size))
    return np.sum(np.log(np.diag(lower))) + np.sum(np.exp(lower))


@pytest.mark.parametrize("cpu", ["generic", "x86-64-v3"])
def test_kernels_for_other_processors_have_the_same_bits(cpu, tmp_path):
    """Of a vectorised exponential, and of matrices."""
    if cpu != "generic" and os.uname().machine != "x86_64":
        pytest.skip("a name of x86")
    x = rng.normal(size=70)
    fast = td.compile(factors, x)
    exported = td.export(fast, tmp_path / "model", cpu=cpu)
    assert_same(exported, fast, [x, x + 0.1])
    if shutil.which("objdump") and os.uname().machine == "x86_64":
        code = subprocess.run(["objdump", "-d", exported.object], capture_output=True, text=True, check=True).stdout
        assert "zmm" not in code
        assert ("ymm" in code) == (cpu == "x86-64-v3")


def test_kernels_of_several_threads_are_exported_for_one_with_the_same_bits(tmp_path):
    """Their sums are cut into the same bands."""
    data = rng.normal(size=(60_000, 3))
    fast = td.compile(lambda w: np.sum(np.log1p(np.exp(data @ w))), np.zeros(3), threads=2)
    assert_same(td.export(fast, tmp_path / "model"), fast, [np.zeros(3), np.array([0.1, -0.2, 0.3])])


def test_long_straight_tapes_take_their_byte_code_along(tmp_path):
    """Thousands of operations without a pattern are run by an interpreter."""
    fast = td.compile(without_pattern(), rng.normal(size=4))
    assert fast.kernel((0,)).is_swept
    assert_same(td.export(fast, tmp_path / "model"), fast, [rng.normal(size=4), rng.normal(size=4)])


# Several arguments, other derivatives


def regression(params, y, n):
    return np.sum((y[n] - params["slope"] * params["at"]["zero"]) ** 2) + np.sum(params["slope"] ** 3)


def test_containers_data_and_derivatives_have_pointers_of_their_own(tmp_path):
    """Leaves in order; int64 data; products and matrices as td's verbs give them."""
    slope, zero, y, n = rng.normal(size=3), np.array(0.4), rng.normal(size=5), np.array([4, 0, 2])
    params = {"slope": slope, "at": {"zero": zero}}
    fast = td.compile(regression, params, td.Constant(y), n)
    verbs = ("value", "value_and_gradient", "gradient", "hvp", "hessian", "jvp")
    exported = td.export(fast, tmp_path / "fit", what=verbs)
    assert exported.functions == tuple(f"fit_{verb}" for verb in verbs)
    header = Path(exported.header).read_text()
    assert "int fit_value(const double *params_slope, const double *params_at_zero, const double *y, const int64_t *n, double *value);" in header
    assert "params_at_zero: double, one number; params['at']['zero']" in header
    given, args = [slope, zero, y, n], (params, td.Constant(y), n)
    like, v = [np.zeros(3), np.zeros(())], {"slope": rng.normal(size=3), "at": {"zero": 0.7}}
    vector = [v["slope"], np.array(v["at"]["zero"])]

    def results(number, inputs, arrays):
        ((status, found),) = called(exported, [inputs], arrays, number=number)
        assert status == 0
        return found

    assert same_bits(results(0, given, [np.zeros(())])[0], fast(*args))
    value, gradient = td.value_and_gradient(fast, *args)
    for number, expected in ((1, [value, gradient["slope"], gradient["at"]["zero"]]), (2, [gradient["slope"], gradient["at"]["zero"]])):
        found = results(number, given, [np.zeros(np.shape(e)) for e in expected])
        assert all(np.allclose(a, b, rtol=1e-14) for a, b in zip(found, expected))  # the gradient alone may sum in another order
    product = td.hvp(fast, params, v, *args[1:])
    assert all(same_bits(a, b) for a, b in zip(results(3, [*given, *vector], like), [product["slope"], product["at"]["zero"]]))
    matrix = td.hessian(fast, *args)
    found = results(4, given, [np.zeros((3, 3)), np.zeros(3), np.zeros(3), np.zeros(())])
    rows = [matrix[a][b] if a == "slope" and b == "slope" else None for a in matrix for b in matrix[a]]
    assert same_bits(found[0], rows[0])
    assert same_bits(found[1], matrix["slope"]["at"]["zero"])
    assert same_bits(found[3], matrix["at"]["zero"]["at"]["zero"])
    (tangent,) = results(5, [*given, *vector], [np.zeros(())])
    assert np.isclose(tangent, np.sum(gradient["slope"] * v["slope"]) + gradient["at"]["zero"] * 0.7, rtol=1e-13)


def test_arrays_are_returned_with_their_jacobian(tmp_path):
    """The default is the value, where there is no gradient."""
    fast = td.compile(lambda x: (np.exp(x[:2]), np.argmax(x), x[0] > x[1]), rng.normal(size=3))
    exported = td.export(fast, tmp_path / "model")
    x = rng.normal(size=3)
    ((status, (values, place, is_more)),) = called(exported, [[x]], [np.zeros(2), np.zeros((), np.int64), np.zeros((), np.bool_)])
    expected = fast(x)
    assert status == 0
    assert same_bits(values, expected[0])
    assert (place, is_more) == expected[1:]
    square = td.compile(lambda x: np.exp(x[:2]) * x[2], x)
    ((status, (matrix,)),) = called(td.export(square, tmp_path / "model", what="jacobian"), [[x]], [np.zeros((2, 3))])
    assert status == 0
    assert same_bits(matrix, td.jacobian(square, x))


def test_names_of_arguments_do_not_clash_with_those_of_results(tmp_path):
    """Nor with words of C and C++."""
    fast = td.compile(lambda value, double, gradient_value: value * double * gradient_value, 1.0, 2.0, 3.0)
    exported = td.export(fast, tmp_path / "model")
    results = [np.zeros(())] * 4
    ((status, found),) = called(exported, [[np.array(2.0), np.array(3.0), np.array(4.0)]], results)
    assert status == 0
    assert found == [24.0, 12.0, 8.0, 6.0]


# Guards, failures


def test_a_guard_that_fails_is_a_code_and_nothing_is_written(tmp_path):
    """The header says which line it is."""

    def branch(x):
        return np.sum(x**2) if np.all(x > 0.0) else x[0]

    exported = td.export(td.compile(branch, np.ones(2), merge=False), tmp_path / "model")
    source = f"""#include "{exported.header}"
    int main(void) {{
        double x[2] = {{1.0, -1.0}}, value = 7.0, gradient[2] = {{7.0, 7.0}};
        int code = model_value_and_gradient(x, &value, gradient);
        return !(code == -101 && value == 7.0 && gradient[0] == 7.0 && gradient[1] == 7.0);
    }}"""
    assert subprocess.run([built(source, exported, tmp_path)], check=False).returncode == 0
    assert f"-101  {Path(__file__).name}:" in Path(exported.header).read_text()


def whole_path(x):
    total = 0.0
    for _ in range(int(x[0])):
        total = total * x[1] + np.sin(x[0]) if total < x[1] else total - 1.0
    return total


def test_the_recorded_paths_of_a_guarded_tape_are_tried_in_order(tmp_path):
    """A point on another path has a code of its own."""
    target = td.GuardedTape(whole_path, merge=False)
    points = [np.array([2.5, 0.3]), np.array([3.5, 0.6]), np.array([4.5, 2.0])]
    for point in points:
        td.value_and_gradient(target, point)
    exported = td.export(target, tmp_path / "model", points[0])
    assert target.stats.recordings == 3
    assert_same(exported, target, points)
    ((status, _),) = called(exported, [[np.array([9.5, 0.3])]], [np.zeros(()), np.zeros(2)])
    assert status == -100


@td.subtape
def bounce(height, speed):
    return (-height, -0.9 * speed) if height < 0.0 else (height + 0.1 * speed, speed - 0.1)


def ball(p):
    height, speed = p[0], p[1]
    for _ in range(80):
        height, speed = bounce(height, speed)
    return height * p[2]


@td.subtape
def growth(n, x):
    return x if n < 1.0 else growth(n - 1.0, x) * x


def until_small(p):
    return td.while_loop(lambda c: c[0] > 1e-3, lambda c: (c[0] * p[0], c[1] + c[0] ** 2), (p[1], 0.0 * p[1]))[1]


def of_matrices(p):
    return td.fori_loop(0, 30, lambda _, s: s + np.sum(np.linalg.cholesky(s * np.array([[p[0], p[1]], [p[1], p[2]]]))), p[0])


@pytest.mark.parametrize(("function", "points"), [
    (ball, ([1.0, 0.0, 2.0], [2.0, 1.0, 2.0], [0.1, -3.0, 1.0])),
    (lambda p: growth(p[0], p[1]), ([5.0, 1.1], [7.0, 1.2], [0.0, 2.0])),
    (until_small, ([0.9, 1.0], [0.5, 2.0], [0.99, 3.0])),
    (of_matrices, ([2.0, 0.5, 1.0], [3.0, 0.5, 1.0])),
])  # fmt: skip
def test_loops_and_calls_choose_among_recorded_paths(function, points, tmp_path):
    """Of sub-tapes with branches, recursions, while loops, and factors in loops."""
    points = [np.array(p) for p in points]
    fast = td.compile(function, points[0])
    for point in points:
        td.value_and_gradient(fast, point)
    assert_same(td.export(fast, tmp_path / "model"), fast, points)


def test_paths_of_a_loop_that_were_not_recorded_have_a_code(tmp_path):
    """-100, as there is no guard of the function itself."""

    @td.subtape
    def repeated(x):
        return sum([np.sin(x) for _ in range(int(x))], 0.0)

    fast = td.compile(lambda x: repeated(x[0]) * x[1], np.array([2.5, 1.0]), merge=False)
    points = [np.array([2.2, 1.0]), np.array([3.2, 1.0]), np.array([2.9, 3.0])]
    exported, results = td.export(fast, tmp_path / "model"), [np.zeros(()), np.zeros(2)]
    assert [code for code, _ in called(exported, [[point] for point in points], results)] == [0, -100, 0]
    for point in points:
        td.value_and_gradient(fast, point)
    assert_same(td.export(fast, tmp_path / "model"), fast, points)


def test_factorisations_that_fail_and_loops_without_end_have_codes(tmp_path):
    """2, also inside loops, -6 of a recursion, and -7."""
    fast = td.compile(of_matrices, np.array([2.0, 0.5, 1.0]))
    results = [np.zeros(()), np.zeros(3)]
    ((code, _),) = called(td.export(fast, tmp_path / "model"), [[np.array([1.0, 2.0, 1.0])]], results)
    assert code == 2
    endless = td.compile(lambda p: td.while_loop(lambda c: c > 1.0, lambda c: c * p[1], p[0], max_steps=50), np.array([2.0, 0.5]))
    ((code, _),) = called(td.export(endless, tmp_path / "model"), [[np.array([2.0, 1.5])]], [np.zeros(()), np.zeros(2)])
    assert code == -7
    deep = td.export(td.compile(lambda p: growth(p[0], p[1]), np.array([5.0, 1.0])), tmp_path / "model", what="value")
    found = called(deep, [[np.array([1e9, 1.0])], [np.array([5.0, 2.0])]], [np.zeros(())])
    assert [(code, float(value)) for code, (value,) in found] == [(-6, 0.0), (0, 64.0)]


# Processes, threads


def test_the_files_need_no_python(tmp_path):
    """Undefined symbols are those that `undefined` names and the C library's; the functions are the only ones defined."""
    exported = td.export(td.compile(ball, np.array([1.0, 0.0, 2.0])), tmp_path / "model", what=("value", "value_and_gradient"))
    assert exported.library == str(tmp_path / "libmodel.so")
    assert sorted(os.listdir(tmp_path)) == ["libmodel.so", "model.h", "model.o"]
    if not (shutil.which("nm") and shutil.which("ldd")):
        pytest.skip("there is no nm or ldd")
    symbols = [line.split() for line in subprocess.run(["nm", exported.object], capture_output=True, text=True, check=True).stdout.splitlines()]
    undefined = {words[-1] for words in symbols if words[-2] == "U"}
    assert undefined - set(exported.undefined) <= {"__tls_get_addr", "_GLOBAL_OFFSET_TABLE_", "memcpy", "memset", "memmove"}
    assert {words[-1] for words in symbols if words[-2] == "T"} == set(exported.functions)
    assert not any("py" in words[-1].lower() for words in symbols if words[-2] == "U")
    libraries = subprocess.run(["ldd", exported.library], capture_output=True, text=True, check=True).stdout
    assert "python" not in libraries
    assert "llvm" not in libraries.lower()


THREADS = """
#include <pthread.h>
#include <string.h>
#include "{header}"
#define N {size}
static double points[2][N], values[2], gradients[2][N];
static int wrong[2];
static void *work(void *argument) {{
    long k = (long)argument;
    for (int i = 0; i < 300; i++) {{
        double value, gradient[N];
        int code = model_value_and_gradient(points[k], &value, gradient);
        wrong[k] += code != 0 || memcmp(&value, &values[k], 8) || memcmp(gradient, gradients[k], 8 * N);
    }}
    return 0;
}}
int main(void) {{
    for (int k = 0; k < 2; k++) {{
        for (int i = 0; i < N; i++) points[k][i] = {point};
        if (model_value_and_gradient(points[k], &values[k], gradients[k])) return 2;
    }}
    pthread_t threads[2];
    for (long k = 0; k < 2; k++) pthread_create(&threads[k], 0, work, (void *)k);
    for (int k = 0; k < 2; k++) pthread_join(threads[k], 0);
    return wrong[0] || wrong[1];
}}
"""


@pytest.mark.parametrize(("function", "size", "point"), [(ball, 3, "k ? 0.1 + i : 2.0 - i"), (factors, 70, "0.01 * i - 0.2 * k")])
def test_two_threads_call_at_once(function, size, point, tmp_path):
    """Of paths, which a thread remembers, and of a workspace on the heap."""
    fast = td.compile(function, np.linspace(0.1, 1.0, size))
    for start in (2.0 - np.arange(size), 0.1 + np.arange(size)):
        td.value_and_gradient(fast, start)
    exported = td.export(fast, tmp_path / "model")
    program = built(THREADS.format(header=exported.header, size=size, point=point), exported, tmp_path, "-pthread")
    assert subprocess.run([program], check=False).returncode == 0


HMC = """
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>
#include "{header}"
int main() {{
    std::vector<double> x({size}, 0.1), g({size}), end, end_g;
    uint64_t state = 1;
    auto uniform = [&] {{ state = state * 6364136223846793005ULL + 1442695040888963407ULL; return (double)(state >> 11) / 9007199254740992.0; }};
    double value = 0.0;
    int accepted = 0;
    if (model_value_and_gradient(x.data(), &value, g.data())) return 1;
    for (int draw = 0; draw < 200; draw++) {{
        std::vector<double> p({size});
        double energy = value;
        for (double &each : p) {{ each = 2.0 * uniform() - 1.0; energy -= 0.5 * each * each; }}
        double end_value = value;
        end = x; end_g = g;
        for (int step = 0; step < 8; step++) {{
            for (size_t i = 0; i < p.size(); i++) {{ p[i] += 0.05 * end_g[i]; end[i] += 0.1 * p[i]; }}
            if (model_value_and_gradient(end.data(), &end_value, end_g.data())) return 1;
            for (size_t i = 0; i < p.size(); i++) p[i] += 0.05 * end_g[i];
        }}
        double other = end_value;
        for (double each : p) other -= 0.5 * each * each;
        if (uniform() < std::exp(other - energy)) {{ x = end; g = end_g; value = end_value; accepted++; }}
    }}
    for (double each : x) std::printf("%a\\n", each);
    std::printf("%d\\n", accepted);
    return 0;
}}
"""


def hmc(target, size):
    """The sampler of HMC in Python, with the same operations in the same order."""
    state = 1

    def uniform():
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 11) / 9007199254740992.0

    x, accepted = np.full(size, 0.1), 0
    value, g = td.value_and_gradient(target, x)
    for _ in range(200):
        p, energy = np.zeros(size), value
        for i in range(size):
            p[i] = 2.0 * uniform() - 1.0
            energy -= 0.5 * p[i] * p[i]
        end, end_value, end_g = x.copy(), value, g
        for _ in range(8):
            p = p + 0.05 * end_g
            end = end + 0.1 * p
            end_value, end_g = td.value_and_gradient(target, end)
            p = p + 0.05 * end_g
        other = end_value
        for each in p:
            other -= 0.5 * each * each
        if uniform() < np.exp(other - energy):
            x, g, value, accepted = end, end_g, end_value, accepted + 1
    return x, accepted


def log_density(x):
    z = (x[1:] - 0.3) * np.exp(-0.5 * x[0])
    return -0.5 * np.sum(z**2) - 0.5 * (x.size - 1) * x[0] - 0.5 * x[0] ** 2


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
def test_a_sampler_in_cpp_draws_what_one_in_python_draws(tmp_path):
    """200 draws by Hamiltonian Monte Carlo, to the bit."""
    fast = td.compile(log_density, np.full(6, 0.1))
    exported = td.export(fast, tmp_path / "model")
    program = built(HMC.format(header=exported.header, size=6), exported, tmp_path, compiler="c++", suffix=".cpp")
    *numbers, accepted = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    expected, count = hmc(fast, 6)
    assert [float.fromhex(number) for number in numbers] == expected.tolist()
    assert int(accepted) == count
    assert count > 100


# Libraries


FORWARDS = ".globl {symbol}\\n{symbol}: jmp scipy_{symbol}@PLT\\n"


@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="forwards in assembly of x86-64")
def test_lapack_is_left_to_the_linker(tmp_path):
    """With the library that SciPy has, the bits are the same."""
    import scipy

    found = sorted(Path(scipy.__file__).parent.parent.glob("scipy.libs/libscipy_openblas-*.so"))
    if not found:
        pytest.skip("SciPy has no OpenBLAS of its own")
    x = rng.normal(size=5)
    matrix = rng.normal(size=(5, 5))
    fast = td.compile(lambda x: np.sum(np.linalg.solve(matrix + np.diag(x), x)), x)
    exported = td.export(fast, tmp_path / "model")
    needed = [symbol for symbol in exported.undefined if symbol.endswith("_")]
    assert needed
    assert ", ".join(needed) in Path(exported.header).read_text()
    forwards = tmp_path / "forwards.c"
    forwards.write_text("".join(f'__asm__("{FORWARDS.format(symbol=symbol)}");\n' for symbol in needed))
    results = [np.zeros(()), np.zeros(5)]
    calls = [[x], [x + 0.5], [-matrix.diagonal() * 0.0]]
    for (point,), (status, (value, gradient)) in zip(calls, called(exported, calls, results, forwards, found[0], f"-Wl,-rpath,{found[0].parent}")):
        assert status == 0
        expected = td.value_and_gradient(fast, point)
        assert same_bits(value, expected[0])
        assert same_bits(gradient, expected[1])


def test_special_functions_are_the_packages_own_or_those_of_c(tmp_path):
    """Own ones have the same bits; negative arguments and the gamma function are the C library's."""
    fast = td.compile(lambda x: np.sum(special.gammaln(x) + special.erf(x) * special.log_ndtr(x)), np.ones(5))
    exported = td.export(fast, tmp_path / "model")
    assert_same(exported, fast, [np.array([0.2, 1.0, 3.3, 20.0, 1e5])])
    x = np.array([-1.5, -0.1, -40.3, 0.5, -2.7])
    ((status, (value, gradient)),) = called(exported, [[x]], [np.zeros(()), np.zeros(5)])
    expected = td.value_and_gradient(fast, x)
    assert status == 0
    # SciPy's and C's functions are right to a few ulps, and pi x in the reflection to 40 times that.
    assert np.isclose(value, expected[0], rtol=1e-13)
    assert np.allclose(gradient, expected[1], rtol=1e-12)


def test_data_of_a_closure_are_inside(tmp_path):
    """Changing them afterwards changes nothing."""
    data = rng.normal(size=200)
    fast = td.compile(lambda m: -0.5 * np.sum((data - m[0]) ** 2), np.zeros(1))
    exported, expected = td.export(fast, tmp_path / "model"), td.value_and_gradient(fast, np.ones(1))
    data[:] = 0.0
    ((status, (value, gradient)),) = called(exported, [[np.ones(1)]], [np.zeros(()), np.zeros(1)])
    assert status == 0
    assert same_bits(value, expected[0])
    assert same_bits(gradient, expected[1])


@pytest.mark.parametrize("make", [lambda f, *args: td.compile(f, *args), lambda f, *args: td.GuardedTape(f)])
def test_data_among_the_arguments_are_inside_or_parameters(make, tmp_path):
    """Of any dtype, and in containers."""
    data = {"y": rng.normal(size=5).astype(np.float32), "n": np.array([1, 1, 0, 4])}

    def density(x, data):
        return -np.sum((data["y"][data["n"]] - x[0]) ** 2) + x[1] * np.sum(data["y"])

    x, results = np.array([0.3, 2.0]), [np.zeros(()), np.zeros(2)]
    target = make(density, x, td.Constant(data))
    expected = td.value_and_gradient(target, x, td.Constant(data))
    exported = td.export(target, tmp_path / "model", x, td.Constant(data), what=("value_and_gradient", "hvp"))
    ((status, (value, gradient)),) = called(exported, [[x]], results)
    assert status == 0
    assert same_bits(value, expected[0])
    assert same_bits(gradient, expected[1])
    ((status, (product,)),) = called(exported, [[x, np.ones(2)]], [np.zeros(2)], number=1)
    assert status == 0
    assert same_bits(product, td.hvp(target, x, np.ones(2), td.Constant(data)))
    exported = td.export(target, tmp_path / "model", x, td.Constant(data), inside=False)
    assert "data_y: double for a float32, [5]; data['y']" in Path(exported.header).read_text()
    ((status, (value, gradient)),) = called(exported, [[x, data["y"].astype(float), data["n"]]], results)
    assert status == 0
    assert same_bits(value, expected[0])
    assert same_bits(gradient, expected[1])


def test_posteriors_and_tapes_are_exported_with_their_data(tmp_path):
    """The density of the unconstrained vector, and a tape of td.record."""
    y = rng.normal(size=8)
    posterior = td.Posterior(lambda mu, tau, y: np.sum(td.stats.norm.logpdf(y, mu, tau)), data={"y": y}, mu=td.real(), tau=td.positive())
    u, results = np.array([0.3, -0.2]), [np.zeros(()), np.zeros(2)]
    ((status, (value, gradient)),) = called(td.export(posterior, tmp_path / "model"), [[u]], results)
    assert status == 0
    assert same_bits(value, posterior.log_density_gradient(u)[0])
    assert same_bits(gradient, posterior.log_density_gradient(u)[1])
    tape = td.record(lambda x: np.sum(x**2), np.ones(3))
    assert_same(td.export(tape, tmp_path / "model"), tape, [np.ones(3), np.zeros(3)])


def test_python_integers_are_part_of_the_function(tmp_path):
    """Also where kernels of several integers are one, which takes what differs as an input."""

    def decay(x, t):
        return np.sum(np.sin(x) ** 2) / (1.0 + 0.1 * t) + np.sum(np.exp(-x))

    target, x = td.GuardedTape(decay), rng.normal(size=3)
    for t in range(1, 8):
        td.value_and_gradient(target, x, t)
    exported = td.export(target, tmp_path / "model", x, 4)
    ((status, (value, gradient)),) = called(exported, [[x]], [np.zeros(()), np.zeros(3)])
    expected = td.compile(lambda x: decay(x, 4), x)
    assert status == 0
    assert np.isclose(value, expected(x), rtol=1e-15)  # where 4 is a constant, the division is one by it
    assert np.allclose(gradient, td.gradient(expected, x), rtol=1e-15)
    td.export(target, tmp_path / "model", x, 9)
    assert any(variant.constants for variant in target.kept_paths.all())


def test_arrays_of_integers_and_bools_are_of_three_types_in_c(tmp_path):
    """Integers of 64 bits, and bytes."""

    def chosen(x, i, u, b):
        return np.sum(x[i] * u) + 1.5 * np.sum(x[b])

    x, i, u, b = rng.normal(size=4), np.array([0, 2, 1], np.int32), np.array([3, 200, 1], np.uint8), np.array([True, False, True, True])
    fast, results = td.compile(chosen, x, i, u, b), [np.zeros(()), np.zeros(4)]
    value, gradient = td.value_and_gradient(fast, x, i, u, b)
    for args, given in (((), [x, i.astype(np.int64), u.astype(np.int64), b]), ((x, i, u, b), [x])):
        ((status, found),) = called(td.export(fast, tmp_path / "model", *args), [given], results)
        assert status == 0
        assert same_bits(found[0], value)
        assert same_bits(found[1], gradient)


# What is refused


def refused(kind, text, call):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value), str(caught.value)
    assert "fix:" in str(caught.value)
    return str(caught.value)


def test_what_needs_python_is_refused_by_name(tmp_path):
    """With the user's line."""
    cube = td.primitive(lambda x: (x**3, x), lambda x, y_bar: 3.0 * x**2 * y_bar, name="cube")
    for function, text in (
        (lambda x: np.sum(special.gammainc(2.0, x)), "it calls scipy.special's gammainc"),
        (lambda x: np.sum(special.sici(x)[0]), "it calls scipy.special's sici"),
        (lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2), "it calls numpy.fft's"),
        (lambda x: np.sum(cube(x)), "cube exists in this process only"),
    ):
        fast = td.compile(function, np.ones(4))
        assert f"{Path(__file__).name}:" in refused(td.TapediffError, text, lambda fast=fast: td.export(fast, tmp_path / "model"))
    assert os.listdir(tmp_path) == []


def test_arguments_that_do_not_fit_are_refused(tmp_path):
    """Each with what to write instead."""
    fast, path = td.compile(np.sum, np.ones(2)), tmp_path / "model"
    for text, call in (
        ("only compiled functions", lambda: td.export(np.sum, path)),
        ("no C identifier", lambda: td.export(fast, tmp_path / "my-model")),
        ("no C identifier", lambda: td.export(fast, tmp_path / "while")),
        ("no such derivative", lambda: td.export(fast, path, what="third")),
        ("no such processor", lambda: td.export(fast, path, cpu="abacus")),
        ("for arguments of certain types", lambda: td.export(td.GuardedTape(np.sum), path)),
        ("guard=", lambda: td.export(td.GuardedTape(np.sum, guard=lambda x: 1), path, np.ones(2))),
        ("by numba", lambda: td.export(td.compile(np.sum, np.ones(2), backend="numba"), path)),
        ("by numba", lambda: td.export(td.GuardedTape(np.sum, backend="numba"), path, np.ones(2))),
    ):
        refused(td.ArgumentMismatch, text, call)
    refused(td.NonScalarOutput, "returned an array", lambda: td.export(td.compile(np.exp, np.ones(2)), path, what="gradient"))


def test_a_function_that_reads_something_else_now_is_refused(tmp_path):
    """As in a call."""
    scale = [2.0]
    fast = td.compile(lambda x: np.sum(x) * scale[0], np.ones(2))
    scale[0] = 3.0
    with pytest.raises(td.StaleTape):
        td.export(fast, tmp_path / "model")


def test_without_a_compiler_there_is_no_library(tmp_path, monkeypatch):
    """But the object file, and the command that is left to do."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    exported = td.export(td.compile(np.sum, np.ones(2)), tmp_path / "model")
    assert exported.library is None
    assert f"cc -shared -o {tmp_path}/libmodel.so {tmp_path}/model.o -lm" in exported.message
    assert sorted(os.listdir(tmp_path)) == ["model.h", "model.o"]


def test_what_the_linker_says_is_told(tmp_path):
    """The other files are there."""
    exported = td.export(td.compile(np.sum, np.ones(2)), tmp_path / "model", link=["-lno_such_library"])
    assert exported.library is None
    assert "no_such_library" in exported.message
    assert COMPILER in exported.message
