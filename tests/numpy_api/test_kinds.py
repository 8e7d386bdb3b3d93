"""Every op and every name of the dispatch table with masks, integers, float32 and float64: NumPy's value and dtype, or a clear error.

Integers are int64 whatever their width in NumPy, and float64 stands for its float16 of masks.
"""

import itertools
import warnings

import numpy as np
import pytest
import scipy.special

import tapediff as td
from tapediff.numpy_api import dispatch
from tapediff.ops import BY_FUNCTION, BY_SCIPY_NAME

KINDS = "bifd"
A = {"b": np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0]], bool), "i": np.array([[2, -3, 0], [1, 4, -1], [0, 2, 5]])}
B = {"b": np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1]], bool), "i": np.array([[1, 2, 3], [-2, 0, 1], [3, 2, 2]])}
for arrays, factor in ((A, 0.75), (B, 0.5)):
    arrays["d"] = arrays["i"] * factor
    arrays["f"] = arrays["d"].astype(np.float32)
M = np.array([[1, 0, 2], [0, 1, 1], [2, 1, 0]])


def on_copy(write):
    """What a function that changes an array makes of a copy of it."""

    def call(a, b):
        c = a.copy()
        write(c, b)
        return c

    return call


# name: a function of two arrays of one kind
CALLS = {
    "where": lambda a, b: np.where(a > 0, a, b),
    "where1": lambda a, b: np.where(a, a, 0),
    "where2": lambda a, b: np.where(b, a, 0.5),
    "where3": lambda a, b: np.where(a, 1, b),
    "clip": lambda a, b: np.clip(a, 0, 1),
    "clipf": lambda a, b: np.clip(a, 0.5, 1.5),
    "around": lambda a, b: np.around(a),
    "round1": lambda a, b: np.round(a, 1),
    "nan_to_num": lambda a, b: np.nan_to_num(a),
    "sinc": lambda a, b: np.sinc(a),
    "isclose": lambda a, b: np.isclose(a, b),
    "allclose": lambda a, b: a * np.allclose(a, b),
    "array_equal": lambda a, b: a * np.array_equal(a, a),
    "fix": lambda a, b: np.fix(a),
    "diff": lambda a, b: np.diff(a, axis=0),
    "diffp": lambda a, b: np.diff(a, prepend=0),
    "sort": lambda a, b: np.sort(a, axis=0),
    "argsort": lambda a, b: np.argsort(a, axis=1, kind="stable"),
    "take_along": lambda a, b: np.take_along_axis(a, np.argsort(b, axis=0, kind="stable"), 0),
    "searchsorted": lambda a, b: np.searchsorted(np.sort(a[0]), b),
    "searchsorted2": lambda a, b: np.searchsorted(np.array([0.0, 1.0]), b),
    "take": lambda a, b: np.take(a, [0, 2]),
    "nonzero": lambda a, b: a[np.nonzero(a)],
    "flatnonzero": lambda a, b: np.flatnonzero(a) + a[0, 0],
    "argwhere": lambda a, b: np.argwhere(a) + a[0, 0],
    "unique": lambda a, b: np.unique(a),
    "piecewise": lambda a, b: np.piecewise(a, [a > 0, a < 0], [lambda v: v, 2]),
    "piecewise2": lambda a, b: np.piecewise(a, [a > 0], [1.5]),
    "interp": lambda a, b: np.interp(a, [-1.0, 0.0, 2.0], [1.0, 3.0, 2.0]),
    "interp2": lambda a, b: np.interp([0.5, 1.2], [-1.0, 0.0, 2.0], b[0]),
    "iscomplexobj": lambda a, b: a * np.iscomplexobj(a),
    "real": lambda a, b: np.real(a),
    "reshape": lambda a, b: np.reshape(a, -1),
    "ravel": lambda a, b: np.ravel(a),
    "transpose": lambda a, b: np.transpose(a),
    "swapaxes": lambda a, b: np.swapaxes(a, 0, 1),
    "moveaxis": lambda a, b: np.moveaxis(a, 0, 1),
    "expand": lambda a, b: np.expand_dims(a, 0),
    "squeeze": lambda a, b: np.squeeze(a[:1]),
    "bto": lambda a, b: np.broadcast_to(a, (2, 3, 3)),
    "barr": lambda a, b: np.broadcast_arrays(a, b[0])[1],
    "concat": lambda a, b: np.concatenate([a, b]),
    "concatf": lambda a, b: np.concatenate([a, np.ones((1, 3))]),
    "concati": lambda a, b: np.concatenate([a, np.ones((1, 3), int)]),
    "stack": lambda a, b: np.stack([a, b]),
    "stackn": lambda a, b: np.stack([a[0, 0], 2]),
    "stackn2": lambda a, b: np.stack([a[0, 0], 2.5]),
    "vstack": lambda a, b: np.vstack([a, [1, 0, 1]]),
    "hstack": lambda a, b: np.hstack([a[0], 1]),
    "column_stack": lambda a, b: np.column_stack([a, b[0]]),
    "atleast": lambda a, b: np.atleast_2d(a[0]),
    "atleast1": lambda a, b: np.atleast_1d(a[0, 0]),
    "flip": lambda a, b: np.flip(a),
    "roll": lambda a, b: np.roll(a, 1),
    "rollt": lambda a, b: np.roll(a, (1, 2), axis=(0, 1)),
    "rollt2": lambda a, b: np.roll(a, (1, 2)),
    "rollt3": lambda a, b: np.roll(a, 1, axis=(0, 1)),
    "rollt4": lambda a, b: np.roll(a, (1, 1), axis=(0, 0)),
    "tile": lambda a, b: np.tile(a, 2),
    "repeat": lambda a, b: np.repeat(a, 2, axis=0),
    "diagonal": lambda a, b: np.diagonal(a),
    "diag": lambda a, b: np.diag(a[0]),
    "trace": lambda a, b: np.trace(a),
    "tril": lambda a, b: np.tril(a),
    "triu": lambda a, b: np.triu(a),
    "split": lambda a, b: np.split(a, 3)[1],
    "array_split": lambda a, b: np.array_split(a, 2)[0],
    "copy": lambda a, b: np.copy(a),
    "zeros_like": lambda a, b: np.zeros_like(a),
    "ones_like": lambda a, b: np.ones_like(a),
    "full_like": lambda a, b: np.full_like(a, 2.7),
    "fliplr": lambda a, b: np.fliplr(a),
    "flipud": lambda a, b: np.flipud(a),
    "shape": lambda a, b: a * np.shape(a)[0],
    "size": lambda a, b: a * np.size(a, 0),
    "dot": lambda a, b: np.dot(a, b),
    "dotp": lambda a, b: np.dot(a, M),
    "dots": lambda a, b: np.dot(a, 2),
    "dotv": lambda a, b: np.dot(a[0], b[0]),
    "inner": lambda a, b: np.inner(a, b),
    "outer": lambda a, b: np.outer(a, b),
    "vdot": lambda a, b: np.vdot(a, b),
    "tensordot": lambda a, b: np.tensordot(a, b, 1),
    "kron": lambda a, b: np.kron(a, b),
    "einsum": lambda a, b: np.einsum("ij,jk->ik", a, b),
    "einsum2": lambda a, b: np.einsum("ii", a),
    "einsum3": lambda a, b: np.einsum("ij,ij->i", a, b),
    "einsum4": lambda a, b: np.einsum("ij->j", a),
    "einsum5": lambda a, b: np.einsum("ij,j,i->", a, b[0], a[0]),
    "matmul": lambda a, b: a @ b,
    "matmulp": lambda a, b: a @ M,
    "matmulv": lambda a, b: a @ b[0],
    "matmulv2": lambda a, b: a[0] @ b,
    "matmulm": lambda a, b: a @ np.ones(3),
    "cholesky": lambda a, b: np.linalg.cholesky(a @ a.T + 9 * np.eye(3, dtype=a.dtype) * 1),
    "solve": lambda a, b: np.linalg.solve(M.astype(a.dtype), b),
    "solve2": lambda a, b: np.linalg.solve(M * 1.0, b[0]),
    "inv": lambda a, b: np.linalg.inv(a + 3 * np.eye(3, dtype=int)),
    "slogdet": lambda a, b: np.linalg.slogdet(a + 3 * np.eye(3, dtype=int))[1],
    "slogdets": lambda a, b: np.linalg.slogdet(a)[0],
    "norm": lambda a, b: np.linalg.norm(a),
    "det": lambda a, b: np.linalg.det(a),
    "det4": lambda a, b: np.linalg.det(np.kron(a[:2, :2], b[:2, :2])),
    "eigvalsh": lambda a, b: np.linalg.eigvalsh(a),
    "eigh": lambda a, b: np.linalg.eigh(a)[0],
    "copyto": on_copy(lambda c, b: np.copyto(c, b)),
    "put": on_copy(lambda c, b: np.put(c, [0, 1], b[0, :2])),
    "putf": on_copy(lambda c, b: np.put(c, [0, 1], [1.9, 0.3])),
    "place": on_copy(lambda c, b: np.place(c, M > 0, [1, 0])),
    "putmask": on_copy(lambda c, b: np.putmask(c, M > 0, b)),
    "fill_diagonal": on_copy(lambda c, b: np.fill_diagonal(c, 1.7)),
    "put_along": on_copy(lambda c, b: np.put_along_axis(c, M[:1] % 3, 1, 0)),
    "setitem": on_copy(lambda c, b: c.__setitem__(0, 1.7)),
    "setmask": on_copy(lambda c, b: c.__setitem__(c > 0, 0.7)),
    "iadd": on_copy(lambda c, b: c.__iadd__(1)),
    "iaddf": on_copy(lambda c, b: c.__iadd__(1.5)),
    "imul": on_copy(lambda c, b: c.__imul__(b)),
    "idiv": on_copy(lambda c, b: c.__itruediv__(2)),
    "fill": on_copy(lambda c, b: c.fill(2.7)),
    "add.at": on_copy(lambda c, b: np.add.at(c, ([0, 0], [1, 1]), b[0, :2])),
    "sortm": on_copy(lambda c, b: c.sort()),
    "out": lambda a, b: np.add(a, b, out=a.copy()),
    "outmul": lambda a, b: np.multiply(a, 0.5, out=a.copy()),
    "pow2": lambda a, b: a**2,
    "pow3": lambda a, b: a**3,
    "pow0": lambda a, b: a**0,
    "powf": lambda a, b: a**2.0,
    "powh": lambda a, b: abs(a) ** 0.5 if a.dtype != bool else a**0.5,
    "rpow": lambda a, b: 2 ** abs(a),
    "rpowf": lambda a, b: 2.0**a,
    "powa": lambda a, b: abs(a) ** abs(b),
    "pown": lambda a, b: a**-1,
    "addb": lambda a, b: a + True,
    "subl": lambda a, b: a - 1,
    "sub": lambda a, b: a - b,
    "neg": lambda a, b: -a,
    "abs": lambda a, b: abs(a),
    "fdiv": lambda a, b: a // 2,
    "mod": lambda a, b: a % 2,
    "divmod": lambda a, b: divmod(a, 2)[1],
    "div": lambda a, b: a / 2,
    "addlist": lambda a, b: a + [1, 2, 3],
    "addlistf": lambda a, b: a + [1.5, 2, 3],
    "tlist": lambda a, b: a[0, :2] + [b[0, 0], b[0, 1]],
    "addnp": lambda a, b: a + np.float32(0.5),
    "addi32": lambda a, b: a + np.int32(3),
    "cmp": lambda a, b: a >= b,
    "cmpn": lambda a, b: a > 0.5,
    "inv~": lambda a, b: ~(a > 0),
    "xor": lambda a, b: (a > 0) ^ (b > 0),
    "and": lambda a, b: np.logical_and(a, b),
    "cumsum": lambda a, b: np.cumsum(a, axis=1),
    "maximum": lambda a, b: np.maximum(a, 1),
    "maximumf": lambda a, b: np.maximum(a, 0.5),
    "float": lambda a, b: a.astype(float),
    "int": lambda a, b: a.astype(int),
    "bool": lambda a, b: a.astype(bool),
    "gather": lambda a, b: a[[0, 1], [1, 2]],
    "index": lambda a, b: a[1, ::-1],
    "mean": lambda a, b: a.mean(),
    "outer+": lambda a, b: np.add.outer(a[0], b[0]),
    "mask idx": lambda a, b: a[b > 0],
    "linspace": lambda a, b: np.linspace(a[0], b[0], 4),
    "linspace3": lambda a, b: np.linspace(a, b, 3, axis=-1),
    "linspace4": lambda a, b: np.linspace(a[0, 0], b[1, 1], 1),
    "linspace5": lambda a, b: np.linspace(a[0, 0], b[1, 1], 0),
    "linspace6": lambda a, b: np.linspace(2.0, b[0], 4, dtype=int),
    "linspace2": lambda a, b: np.linspace(a[0, 0], 1, 3, endpoint=False),
    "sumacc": lambda a, b: np.add.accumulate(a),
    "mulred": lambda a, b: np.multiply.reduce(a),
    "round()": lambda a, b: a * round(a[0, 0]) if a.dtype != bool else a,
}

UFUNCS = {f.__name__: f for f in (*BY_FUNCTION, *dispatch._UFUNC_COMPOSITIONS) if isinstance(f, np.ufunc)}
UFUNCS |= {f"scipy.special.{name}": getattr(scipy.special, name) for name in BY_SCIPY_NAME}
UFUNCS = {name: f for name, f in UFUNCS.items() if isinstance(f, np.ufunc)}


def has_own_loop(name, kinds):
    """SciPy takes masks alone, or beside float32, to float32 or to float64, each function in its own way."""
    return name.startswith("scipy.special.") and "b" in kinds and not {"i", "d"} & set(kinds)


def outcome(call):
    """What a call returns, or the exception that it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call()
        except (TypeError, ValueError, ArithmeticError, td.TapediffError) as error:
            return error


def recorded(f, arrays):
    return td.record(f, *(a if a.dtype.kind == "f" else td.Constant(a) for a in arrays))


def flat(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def assert_as_numpy(value, expected, label):
    value, expected = np.asarray(value), np.asarray(expected)
    dtype = np.dtype(np.int64) if expected.dtype.kind in "iu" else expected.dtype
    assert value.shape == expected.shape, label
    assert value.dtype == (np.float64 if dtype == np.float16 else dtype), label
    # Eleven bits of a float16, 24 of a float32; float64 functions differ by a few ulp, which inverses of matrices enlarge.
    tolerance = {"e": 2e-3, "f": 1e-5}.get(expected.dtype.char, 1e-11)
    np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance, err_msg=label)


def check(jobs):
    """Each job alone by replay; all that have a value together by a kernel. `jobs` are functions with their arrays and a label."""
    compiled = {}
    for f, arrays, label in jobs:
        expected = outcome(lambda f=f, arrays=arrays: f(*(a.copy() for a in arrays)))
        tape = outcome(lambda f=f, arrays=arrays: recorded(f, arrays))
        if isinstance(tape, td.UnsupportedFunction):
            assert "\n  fix: " in str(tape), label
            assert "test_kinds.py" in str(tape.at), label
            continue
        if isinstance(expected, Exception):
            assert isinstance(tape, Exception), f"{label}: NumPy raises {expected!r}"
            assert isinstance(expected, type(tape)) or isinstance(tape, type(expected)), (label, tape, expected)
            continue
        assert isinstance(tape, td.Tape), f"{label}: {tape!r}"
        for value, wanted in zip(flat(tape(*arrays)), flat(expected)):
            assert_as_numpy(value, wanted, label)
        compiled.setdefault(tuple(map(id, arrays)), []).append((f, arrays, expected, label))
    for several in compiled.values():
        # A kernel takes some thirty results, and longer than in proportion to compile.
        for start in range(0, len(several), 10):
            group = several[start : start + 10]
            arrays = group[0][1]
            tape = outcome(
                lambda group=group, arrays=arrays: recorded(
                    lambda *a: tuple(r for f, *_ in group for r in flat(f(*a))), arrays
                )
            )
            expected = [(wanted, label) for *_, answer, label in group for wanted in flat(answer)]
            for value, (wanted, label) in zip(td.CompiledTape(tape)(*arrays), expected):
                assert_as_numpy(value, wanted, f"compiled {label}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(4))
def test_a_function_gives_numpys_value_and_dtype(part, kind):
    names = list(CALLS)[part::4]
    check([(CALLS[name], (A[kind], B[kind]), f"{name}, {kind}") for name in names])


@pytest.mark.parametrize("part", range(4))
@pytest.mark.slow
def test_an_op_gives_numpys_value_and_dtype(part):
    """Every combination of kinds of its operands."""
    jobs = []
    for name in sorted(UFUNCS)[part::4]:
        f = UFUNCS[name]
        for kinds in itertools.product(KINDS, repeat=f.nin) if f.nin < 3 else [(kind,) * f.nin for kind in KINDS]:
            if not has_own_loop(name, kinds):
                arrays = tuple(source[k] for source, k in zip((A, B, A, B), kinds))
                jobs.append((lambda *a, f=f: f(*a), arrays, f"{name}, {kinds}"))
    check(jobs)


def test_what_ops_refuse():
    """Integers whose result NumPy takes from another loop than that of floats."""
    for f in (
        np.reciprocal,
        lambda k: np.bitwise_and(k, 3.0),
        lambda k: np.around(k, -1),
        lambda k: k ** np.array([60, 1, 1]),
    ):
        with pytest.raises(td.UnsupportedFunction, match="fix: "):
            td.record(f, td.Constant(np.array([3, 1, 2])))


@pytest.mark.parametrize("f", [
    lambda k: ~k + np.invert(k), lambda k: (k & 6) + (5 | k), lambda k: np.bitwise_xor(k, k[::-1]) + (k ^ (k > 0)), lambda k: (True & k) - (k | False),
    lambda k: np.bitwise_and(k, -8) | 1,
])  # fmt: skip
def test_bits_of_integers_are_numpys(f):
    tape = td.record(f, td.Constant(np.array([3, 1, 2])))
    for k in (np.array([0, -5, 2**40]), np.array([-(2**62), 7, -1])):
        np.testing.assert_array_equal(tape(k), f(k))
        np.testing.assert_array_equal(td.CompiledTape(tape)(k), f(k))


def test_a_power_of_integers_is_exact_or_refused_at_every_replay():
    tape = td.record(lambda k, n: k**n, td.Constant(np.array([3, 2])), td.Constant(np.array([4, 5])))
    for target in (tape, td.CompiledTape(tape)):
        np.testing.assert_array_equal(target(np.array([-7, 2]), np.array([3, 52])), [-343, 2**52])
        for k, n in (([3, 2], [1, 60]), ([2, 2], [-1, 1])):
            with pytest.raises(td.GuardFailed):
                target(np.array(k), np.array(n))
    assert td.record(lambda k: k**13, td.Constant(np.array(3)))(np.array(-5)) == (-5) ** 13


def test_linear_algebra_in_float32_has_slopes():
    """Factored in float64, and the gradient comes back in float32, from kernels as from replays."""

    def f(x):
        return (
            np.sum(np.linalg.solve(x @ x.T + 3 * np.eye(3, dtype=x.dtype), x))
            + np.linalg.slogdet(x + 4 * np.eye(3, dtype=x.dtype))[1]
        )

    single, double = (td.gradient(td.compile(f, x), x) for x in (A["f"], A["d"]))
    assert single.dtype == np.float32
    # float32 products beside a well conditioned matrix.
    np.testing.assert_allclose(single, double, rtol=2e-5, atol=2e-6)
