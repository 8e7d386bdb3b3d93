"""C functions of values and products: the numbers of the Python calls, in one array, and codes where there are none."""

import copy
import ctypes
import gc
import pickle

import numpy as np
import pytest
from support.in_threads import in_threads

import tapediff as td
from tapediff.compiler.runtime.entries import c_entry as codes
from tapediff.compiler.runtime.entries.c_entry import FLAT_TYPE

A = np.random.default_rng(0).normal(size=(4, 3))
B = np.random.default_rng(1).normal(size=(2, 2))
X = np.array([0.5, -1.0, 2.0])


def call(function, x, m, n=None, out=None):
    """The code, and what was written to places that held 7."""
    x = np.ascontiguousarray(x, float).ravel()
    out = np.full(m, 7.0) if out is None else out
    code = FLAT_TYPE(function.address)(
        len(x) if n is None else n, x.ctypes.data, m, out.ctypes.data, function.user_data
    )
    return code, out


def flat(*arrays):
    return np.concatenate([np.ravel(a) for a in arrays])


def residuals(x):
    return np.tanh(A @ x) - 0.5


def several(x, b, scale):
    return x[0] * b @ b, np.sum(np.sin(x)) * scale


def energy(x, b):
    return np.sum(np.sin(x)) ** 2 * np.sum(b**3) + np.sum(b)


@pytest.mark.parametrize("make", [lambda f: td.compile(f, X), td.GuardedTape], ids=["compiled", "guarded"])
def test_results_are_those_of_the_python_call(make):
    """Of a vector, at every call, for any function of one vector."""
    for f in (residuals, lambda x: np.outer(x, x), lambda x: (x[0], x * 2.0), lambda x: np.sum(x**2)):
        tape = make(f)
        function = tape.c_function()
        for x in (X, -X, 2 * X, np.full(3, np.inf)):
            with np.errstate(all="ignore"):
                value = tape(x)
                expected = flat(*(value if type(value) is tuple else (value,)))
                code, out = call(function, x, expected.size)
            assert code == 0
            np.testing.assert_array_equal(out, expected)


def test_arguments_and_results_stand_one_behind_the_other():
    """In the order of the function, each in C order."""
    fixed = td.compile(several, X, B, 2.0)
    function = fixed.c_function()
    assert function.sizes == (8, 5)
    code, out = call(function, flat(X, B, 3.0), 5)
    assert code == 0
    assert np.array_equal(out, flat(*fixed(X, B, 3.0)))


def test_products_are_those_of_the_operators():
    """jvp, vjp and hvp, by one argument and by several."""
    fixed, rng = td.compile(residuals, X), np.random.default_rng(2)
    v, w, u = rng.normal(size=3), rng.normal(size=4), rng.normal(size=(2, 2))
    code, out = call(fixed.c_function("jvp"), flat(X, v), 4)
    assert code == 0
    np.testing.assert_allclose(out, td.jvp(fixed, (X,), (v,))[1], rtol=1e-13)  # another kernel may add in another order
    code, out = call(fixed.c_function("vjp"), flat(X, w), 3)
    assert code == 0
    np.testing.assert_allclose(out, td.vjp(fixed, X)[1](w)[0], rtol=1e-13)
    fixed = td.compile(energy, X, B)
    hessians = td.hessian(energy, X, B, argnums=1)
    code, out = call(fixed.c_function("hvp", argnums=1), flat(X, B, u), 4)
    assert code == 0
    np.testing.assert_allclose(out.reshape(2, 2), np.tensordot(hessians, u, 2), rtol=1e-12)
    code, out = call(fixed.c_function("hvp", argnums=(0, 1)), flat(X, B, v, u), 7)
    assert code == 0
    step = 1e-6
    forward, back = (flat(*fixed.gradient(X + s * v, B + s * u, argnums=(0, 1))) for s in (step, -step))
    np.testing.assert_allclose(out, (forward - back) / (2 * step), rtol=1e-6, atol=1e-6)  # a difference of step 1e-6


def test_constants_are_replaced_without_compiling():
    """The last arguments, of any dtype; copied."""

    def picked(x, b, label):
        return x * b[0, 0] + x[label]

    fixed = td.compile(picked, X, td.Constant(B), td.Constant(1))
    given = B.copy()
    function = fixed.c_function("value", X, td.Constant(given), td.Constant(1))
    assert function.sizes == (3, 3)
    given[:] = 0.0
    assert np.array_equal(call(function, X, 3)[1], fixed(X, B, 1))
    function.set_constants(2 * B, 2)
    assert np.array_equal(call(function, X, 3)[1], fixed(X, 2 * B, 2))
    for wrong in ((B,), (B[0], 1), (B, 1.5)):
        with pytest.raises(td.ArgumentMismatch):
            function.set_constants(*wrong)
    assert np.array_equal(call(function, X, 3)[1], fixed(X, 2 * B, 2))
    product = fixed.c_function("jvp", X, td.Constant(B), td.Constant(1))
    np.testing.assert_allclose(
        call(product, flat(X, X), 3)[1], td.jvp(lambda x: picked(x, B, 1), (X,), (X,))[1], rtol=1e-14
    )


def branching(x):
    if x[0] > 1.0:
        return np.array([1.0, 2.0, 3.0]) * x
    if x[1] > 0.0:
        return x**3
    return -np.cos(x)


def test_codes_say_why_there_are_no_results():
    """Sizes, overlaps, guards and factorisations; nothing is written."""
    fixed = td.compile(branching, np.full(3, 2.0))
    function, x = fixed.c_function(), np.full(6, 2.0)
    assert call(function, x[:3], 3)[0] == 0
    for code, (found, out) in (
        (codes.WRONG_SIZE, call(function, x[:2], 3)),
        (codes.WRONG_SIZE, call(function, x[:3], 4)),
        (codes.GUARD_FAILED, call(function, np.zeros(3), 3)),
        (codes.MISPLACED, call(function, x[:3], 3, out=np.full(25, 7, np.int8).view(np.int8)[1:25])),
    ):
        assert found == code
        assert np.all(out == 7)
    code = FLAT_TYPE(function.address)(3, x.ctypes.data, 3, x[1:].ctypes.data, function.user_data)
    assert code == codes.MISPLACED
    assert np.all(x == 2.0)
    factor = td.compile(lambda x: np.linalg.cholesky(np.eye(2) * x[0]), X).c_function()
    assert call(factor, X, 4)[0] == 0
    found, out = call(factor, -X, 4)
    assert found == codes.NOT_POSITIVE_DEFINITE
    assert np.all(out == 7.0)


def test_a_guarded_tape_follows_branches():
    """New paths are recorded, known ones followed, also after their tapes were dropped; points of other sizes have tapes of their own."""
    safe = td.GuardedTape(branching, merge=False)
    function = safe.c_function()
    for x in np.random.default_rng(3).normal(size=(60, 3)):
        code, out = call(function, x, 3)
        assert code == 0
        np.testing.assert_allclose(out, branching(x), rtol=1e-14)
    assert safe.stats.recordings == 3
    code, out = call(function, [0.0, 1.0, 2.0, 3.0], 4)
    assert code == 0
    assert np.array_equal(out, [0.0, 1.0, 8.0, 27.0])
    found, out = call(function, X, 5)
    assert found == codes.WRONG_SIZE
    assert np.all(out == 7.0)
    assert isinstance(function.take_error(), td.ShapeMismatch)


@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
def test_dropped_tapes_are_not_run():
    """With room for one tape only."""
    safe = td.GuardedTape(branching, max_tapes=1)
    function = safe.c_function()
    for x in np.random.default_rng(4).normal(size=(12, 3)):
        code, out = call(function, x, 3)
        assert code == 0
        np.testing.assert_allclose(out, branching(x), rtol=1e-14)


def test_exceptions_of_user_code_are_kept():
    """-5, or 3 and 2 where a sampler may go on; the exception itself."""

    def picky(x):
        if x[0] > 5.0:
            raise ValueError("too far")
        if x[0] < -5.0:
            raise FloatingPointError("no value here")
        return np.linalg.cholesky(np.eye(2) * x[1])

    safe = td.GuardedTape(picky)
    function = safe.c_function()
    for x, code, kind in (
        ([6.0, 1.0], codes.RAISED, ValueError),
        ([-6.0, 1.0], codes.RECOVERABLE, FloatingPointError),
        ([0.0, -1.0], codes.NOT_POSITIVE_DEFINITE, np.linalg.LinAlgError),
        ([0.0, 1.0], 0, None),
        ([0.0, -1.0], codes.NOT_POSITIVE_DEFINITE, np.linalg.LinAlgError),
    ):
        found, out = call(function, x, 4)
        assert found == code
        assert np.all(out == 7.0) == (code != 0)
        raised = function.take_error()
        assert raised is None if kind is None else isinstance(raised, kind)


def test_a_function_keeps_its_kernel():
    """The tape may be forgotten, the function not."""
    function = td.compile(residuals, X).c_function()
    gc.collect()
    assert np.array_equal(call(function, X, 4)[1], td.compile(residuals, X)(X))


def test_copies_have_no_addresses_of_others():
    """A C function is not copied; a tape that has one is, and makes its own."""
    safe = td.GuardedTape(branching)
    function = safe.c_function("value", X)
    assert call(function, X, 3)[0] == 0
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(td.ArgumentMismatch, match="c_function"):
            copied(function)
    other = pickle.loads(pickle.dumps(safe)).c_function("value", X)
    assert np.array_equal(call(other, -X, 3)[1], call(function, -X, 3)[1])
    assert other.user_data != function.user_data


def test_what_is_no_array_of_floats_is_refused():
    """Integers and booleans as arguments or results, kinds that do not exist, and derivatives by constants."""
    with pytest.raises(td.ArgumentMismatch, match="float64"):
        td.compile(lambda x: x > 0.0, X).c_function()
    fixed = td.compile(lambda x, k: x[k], X, td.Constant(1))
    given = X, td.Constant(1)
    for wrong in (lambda: fixed.c_function(), lambda: fixed.c_function("value", X, td.Constant(1), 2),
                  lambda: fixed.c_function("adjoint", *given), lambda: fixed.c_function("jvp", *given, argnums=1),
                  lambda: fixed.c_function("gradient", *given, argnums=0)):  # fmt: skip
        with pytest.raises(td.ArgumentMismatch):
            wrong()


# Several arguments, containers, constants


DATA = {"weights": np.array([1.0, -2.0, 0.5]), "order": 2}
PARAMS = {"scale": 0.7, "b": B}


def bent(x, params, data):
    """Paths by the sign of a parameter, and by the data."""
    linear = data["weights"] @ x
    if params["b"][0, 0] > 0.0:
        return np.sum(np.sin(x)) * np.sum(params["b"] ** 2) * params["scale"] + linear
    if data["weights"][0] > 2.0:
        return np.sum(x**3) + params["scale"] * linear
    return np.sum(np.cos(x) * params["scale"] ** data["order"]) + np.sum(params["b"]) * linear


def points():
    """On all paths, in no order."""
    random = np.random.default_rng(7)
    return [(random.normal(size=3), {"scale": random.normal(), "b": random.normal(size=(2, 2))}) for _ in range(12)]


def targets():
    """Where a compiled tape holds, and a function that follows its branches."""
    positive = {"scale": 0.7, "b": np.abs(B)}
    yield td.compile(bent, X, positive, td.Constant(DATA)), [(x, {**p, "b": np.abs(p["b"])}) for x, p in points()]
    yield td.GuardedTape(bent), points()


def gradient_call(function, x, user_data=None):
    """Code, value and gradient, which were 7 before."""
    g, value = np.full(x.size, 7.0), np.full(1, 7.0)
    given = function.user_data if user_data is None else user_data
    code = codes.POINT_TYPE(function.address)(x.size, x.ctypes.data, g.ctypes.data, value.ctypes.data, given)
    return code, value[0], g


def assert_is_call(found, function, x, params, data):
    """By plain NumPy; another order of sums."""
    code, value, gradient = found
    assert code == 0, function.take_error()
    expected, by = td.value_and_gradient(bent, x, params, td.Constant(data), argnums=(0, 1))
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, function.ravel(*by), rtol=1e-12)


def test_gradients_are_by_everything_in_x():
    """Several arguments and containers, data behind user_data, on every path."""
    for tape, given in targets():
        function = tape.c_function("gradient", *given[0], td.Constant(DATA))
        assert function.sizes == (8, 8)
        for x, params in given:
            assert_is_call(gradient_call(function, function.ravel(x, params)), function, x, params, DATA)


def test_x_is_in_the_order_of_the_arguments_and_of_dicts_as_they_were_made():
    """Each array in C order; constants are left out, unravel() is the way back."""
    for tape, given in targets():
        function = tape.c_function("gradient", *given[0], td.Constant(DATA))
        x, params = given[1]
        flat = np.concatenate([x, [params["scale"]], params["b"].ravel()])
        assert np.array_equal(function.ravel(x, params), flat)
        assert np.array_equal(function.ravel(x, params, td.Constant(DATA)), flat)
        back = function.unravel(flat)
        assert np.array_equal(back[0], x)
        assert list(back[1]) == ["scale", "b"]
        assert np.array_equal(back[1]["b"], params["b"])
        for wrong in ((x,), (x, {"b": B, "scale": 1.0}), (x[:2], params), (x, {"scale": 1, "b": "b"})):
            with pytest.raises((td.ArgumentMismatch, td.ShapeMismatch)):
                function.ravel(*wrong)
        with pytest.raises(td.ShapeMismatch):
            function.unravel(flat[1:])


def test_constants_are_exchanged_for_all_calls_or_for_some():
    """In place, in a function of its own, and by C code in a copy of what user_data points to. Data may choose the path."""
    others = [{"weights": np.array([w, 1.0, 2.0]), "order": k} for w, k in ((3.0, 1), (-1.0, 3))]
    for tape, given in targets():
        function = tape.c_function("gradient", *given[0], td.Constant(DATA))
        beside = [function.with_constants(td.Constant(other)) for other in others]
        assert len({f.address for f in (function, *beside)}) == 1
        for x, params in given:
            flat = function.ravel(x, params)
            for each, data in zip((function, *beside), (DATA, *others)):
                assert_is_call(gradient_call(each, flat), each, x, params, data)
        # struct { const void *plan; const void *const *constants; uint64_t reserved[2]; }
        weights, order = np.array([4.0, 0.0, 1.0]), np.array(2)
        table = np.array([weights.ctypes.data, order.ctypes.data])
        words = np.array((ctypes.c_int64 * 4).from_address(function.user_data))
        words[1] = table.ctypes.data
        x, params = given[0]
        flat = function.ravel(x, params)
        found = gradient_call(function, flat, words.ctypes.data)
        assert_is_call(found, function, x, params, {"weights": weights, "order": 2})
        function.set_constants(others[0])
        assert_is_call(gradient_call(function, flat), function, x, params, others[0])
        for wrong in ((), ({"weights": B, "order": 1},), ({"weights": X, "order": 1.5},), (X,)):
            with pytest.raises((td.ArgumentMismatch, td.ShapeMismatch)):
                function.set_constants(*wrong)
        assert_is_call(gradient_call(function, flat), function, x, params, others[0])


def curved(x, params):
    if x[0] > 0.0:
        return np.outer(np.tanh(x), x) * params["a"], np.sum(params["a"] ** 3)
    return np.outer(x**2, x + params["a"]), params["a"][0] * x[1]


def test_products_follow_branches():
    """Of compiled tapes and of guarded ones: all kinds, by all arguments and by some."""
    random, params = np.random.default_rng(8), {"a": np.array([0.5, 1.5, 2.5])}
    safe = td.GuardedTape(curved, merge=False)
    v, p = random.normal(size=3), {"a": random.normal(size=3)}
    w, u = random.normal(size=(3, 3)), 0.3
    functions = {
        "jvp": (flat(v, p["a"]), lambda x: td.jvp(curved, (x, params), (v, p))[1]),
        "vjp": (flat(w, u), lambda x: [x_bar if k == 0 else x_bar["a"] for k, x_bar in enumerate(td.vjp(curved, x, params)[1]((w, u)))]),
    }
    for x in random.normal(size=(6, 3)):
        for kind, (vectors, expected) in functions.items():
            fixed = td.compile(curved, x, params)
            for function in (safe.c_function(kind, X, params), fixed.c_function(kind)):
                n, m = function.sizes
                code, out = call(function, flat(x, params["a"], vectors), m)
                assert (n, code) == (6 + vectors.size, 0)
                np.testing.assert_allclose(out, flat(*expected(x)), rtol=1e-12)  # sums in another order
        found = call(safe.c_function("jvp", X, params, argnums=1), flat(x, params["a"], p["a"]), 10)[1]
        np.testing.assert_allclose(found, flat(*td.jvp(lambda q: curved(x, q), (params,), (p,))[1]), rtol=1e-12)
    assert safe.stats.recordings == 2


def test_hessian_products_follow_branches():
    """By all arguments; without arguments, the sizes of the first call tell those of a vector."""
    random, safe = np.random.default_rng(9), td.GuardedTape(bent)
    data = td.Constant(DATA)
    product = safe.c_function("hvp", X, PARAMS, data)
    of_vector = td.GuardedTape(lambda x: np.sum(x**3) if x[0] > 0.0 else np.prod(x)).c_function("hvp")
    for x, params in points():
        v = random.normal(size=8)
        point = product.ravel(x, params)
        code, out = call(product, flat(point, v), 8)
        assert code == 0
        gradients = [product.ravel(*td.gradient(bent, *product.unravel(point + s * v), data, argnums=(0, 1))) for s in (1e-6, -1e-6)]
        np.testing.assert_allclose(out, (gradients[0] - gradients[1]) / 2e-6, rtol=1e-5, atol=1e-5)  # a difference of step 1e-6
        code, out = call(of_vector, flat(x, v[:3]), 3)
        expected = 6 * x * v[:3] if x[0] > 0.0 else np.array(
            [x[2] * v[1] + x[1] * v[2], x[2] * v[0] + x[0] * v[2], x[1] * v[0] + x[0] * v[1]]
        )  # fmt: skip
        assert code == 0
        np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_known_paths_are_changed_without_python(monkeypatch):
    """For every kind: once the paths are known, the function is not asked again, however they follow each other; hits are counted."""
    safe = td.GuardedTape(bent)
    given = points()
    functions = {kind: safe.c_function(kind, *given[0], td.Constant(DATA)) for kind in ("value", "gradient", "jvp", "vjp", "hvp")}
    further = {"value": 0, "gradient": 0, "jvp": 8, "vjp": 1, "hvp": 8}

    def call_all(order):
        for kind, function in functions.items():
            for k in order:
                x = flat(function.ravel(*given[k]), np.ones(further[kind]))
                assert (gradient_call(function, x)[0] if kind == "gradient" else call(function, x, function.sizes[1])[0]) == 0

    for seed in range(3):
        call_all(np.random.default_rng(seed).permutation(12))
    hits = safe.stats.hits

    def asked(*_):
        raise AssertionError("Python was asked")

    monkeypatch.setattr(td.GuardedTape, "answer_kind", asked)
    call_all(np.random.default_rng(9).permutation(12))
    assert safe.stats.hits == hits + 5 * 12


def power(x, settings):
    return np.sum(x ** settings["order"]) * settings["scale"] if x[0] > 0.0 else np.sum(x)


def test_what_tapes_are_specialised_on_is_part_of_the_function():
    """Integers and strings among the arguments, also where tapes that differ in them share a program."""
    safe = td.GuardedTape(power)
    for order in (2, 3, 5):
        settings = {"order": order, "scale": 2.0, "name": "a"}
        function = safe.c_function("gradient", X, settings)
        assert function.sizes == (4, 4)
        for x in (X, -X, 2 * X):
            for _ in range(2):
                code, value, gradient = gradient_call(function, flat(x, 1.5))
                expected, by = td.value_and_gradient(lambda x, s, order=order: power(x, {"order": order, "scale": s}), x, 1.5, argnums=(0, 1))
                assert code == 0
                np.testing.assert_allclose(value, expected, rtol=1e-14)
                np.testing.assert_allclose(gradient, flat(*by), rtol=1e-14)


@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
@pytest.mark.parametrize(
    "settings",
    [{"guard": lambda x, p, data: bool(x[2] > 0)}, {"compile_after": 4}, {"on_new_tape": "interpret"}, {"check_every": 3}, {"max_tapes": 1}],
    ids=lambda settings: next(iter(settings)),
)
def test_policies_hold_for_functions_of_several_arguments(settings):
    """Python answers where it has a say in the choice."""
    safe = td.GuardedTape(bent, **settings)
    function = safe.c_function("gradient", X, PARAMS, td.Constant(DATA))
    for x, params in points():
        assert_is_call(gradient_call(function, function.ravel(x, params)), function, x, params, DATA)


def test_results_of_other_shapes_have_a_code():
    """A path may not write past the end of out, whichever is met first; an integer fits where there is room for a float."""
    safe = td.GuardedTape(lambda x, b: x if x[0] > b else x[:2] if x[1] > b else 1, merge=False)
    function = safe.c_function("value", np.ones(3), 0.0)
    for _ in range(2):
        assert call(function, [1.0, 1.0, 1.0, 0.0], 3)[0] == 0
        code, out = call(function, [-1.0, 1.0, 1.0, 0.0], 3)
        assert code == codes.WRONG_SIZE
        assert np.all(out == 7.0)
        assert isinstance(function.take_error(), td.ShapeMismatch)
    function = td.GuardedTape(lambda x, b: np.sum(x) if x[0] > b else 1, merge=False).c_function("value", np.ones(3), 0.0)
    assert call(function, [-1.0, 1.0, 1.0, 0.0], 1)[1] == 1.0


def test_gradients_have_codes_too():
    """Sizes, places, guards, exceptions, infinities; nothing is written but for the latter."""
    fixed = td.compile(bent, X, {**PARAMS, "b": np.abs(B)}, td.Constant(DATA))
    function = fixed.c_function("gradient", X, PARAMS, td.Constant(DATA))
    x = function.ravel(X, {**PARAMS, "b": np.abs(B)})
    assert gradient_call(function, x)[0] == 0
    wrong = x.copy()
    wrong[4] = -1.0
    point = codes.POINT_TYPE(function.address)
    places = x.ctypes.data, x[1:].ctypes.data, np.zeros(1).ctypes.data
    assert point(7, *places, function.user_data) == codes.MISPLACED
    for code, found in ((codes.WRONG_SIZE, gradient_call(function, x[:7])), (codes.GUARD_FAILED, gradient_call(function, wrong))):
        assert found[0] == code
        assert found[1] == 7.0
        assert np.all(found[2] == 7.0)
    x[3] = np.inf
    assert gradient_call(function, x)[:2] == (codes.NOT_FINITE, np.inf)

    def picky(x, b):
        if b > 1.0:
            raise ValueError("no")
        return np.sum(x) * b

    safe = td.GuardedTape(picky).c_function("gradient", X, 0.5)
    code, value, gradient = gradient_call(safe, flat(X, 2.0))
    assert (code, value) == (codes.RAISED, 7.0)
    assert np.all(gradient == 7.0)
    assert isinstance(safe.take_error(), ValueError)
    with pytest.raises(td.NonScalarOutput):
        td.GuardedTape(residuals).c_function("gradient", X)


def test_threads_may_have_data_of_their_own():
    """The paths of one function, new ones among them, with constants by thread."""
    safe = td.GuardedTape(bent)
    function = safe.c_function("gradient", X, PARAMS, td.Constant(DATA))

    def work(seed):
        data = {"weights": np.random.default_rng(seed).normal(size=3) * 3, "order": seed}
        own = function.with_constants(data)
        expected = [td.value_and_gradient(bent, *p, td.Constant(data))[0] for p in points()]
        for _ in range(20):
            for p, value in zip(points(), expected):
                found = gradient_call(own, own.ravel(*p))
                assert found[0] == 0
                np.testing.assert_allclose(found[1], value, rtol=1e-12)  # sums in another order

    in_threads(work, range(1, 5))


# Bound


def test_bound_calls_read_all_arrays_where_they_are():
    """Arguments and data, at every call anew; gradients by some or all arguments."""
    for tape, given in targets():
        x, b, weights = X.copy(), B.copy(), DATA["weights"].copy()
        params = {"scale": np.array(0.7), "b": b}
        by_params = {"scale": np.empty(()), "b": np.empty((2, 2))}
        out = np.empty(3), by_params
        b[:] = given[0][1]["b"]
        bound = tape.bind(x, params, td.Constant({"weights": weights, "order": 2}), out=out, argnums=(0, 1))
        other = tape.bind(x, params, td.Constant({"weights": weights, "order": 2}), out=by_params, argnums=1)
        for k, (point, p) in enumerate(given):
            x[:], params["scale"][...], b[:], weights[1] = point, p["scale"], p["b"], k
            data = td.Constant({"weights": weights, "order": 2})
            expected, (by_x, by_p) = td.value_and_gradient(bent, point, p, data, argnums=(0, 1))
            np.testing.assert_allclose(bound(), expected, rtol=1e-12)  # sums in another order
            np.testing.assert_allclose(out[0], by_x, rtol=1e-12)
            by_params["b"][:] = 0.0
            np.testing.assert_allclose(other(), expected, rtol=1e-12)
            np.testing.assert_allclose(by_params["b"], by_p["b"], rtol=1e-12)
            np.testing.assert_allclose(by_params["scale"], by_p["scale"], rtol=1e-12)


def test_bound_calls_of_several_arguments_raise():
    """Guards, and what user code raises; arrays that cannot be read or written where they are."""
    x, b, g = np.ones(3), np.array(1.0), np.full(3, 7.0)

    def picky(x, b):
        if b < 0.0:
            raise ValueError("no")
        return np.sum(x) * b

    fixed, safe = td.compile(picky, x, b).bind(x, b, out=g), td.GuardedTape(picky).bind(x, b, out=g)
    assert fixed() == safe() == 3.0
    b[...], g[:] = -1.0, 7.0
    with pytest.raises(td.GuardFailed, match="in picky"):
        fixed()
    with pytest.raises(ValueError, match="no"):
        safe()
    assert np.all(g == 7.0)
    for args, out in (((x, b), None), ((x, b), x), ((x, b), np.empty(4)), ((x[::2], b), np.empty(2)), ((x.astype("f4"), b), g.astype("f4")),
                      ((list(x), b), g)):  # fmt: skip
        for tape in (td.compile(picky, x, 1.0), td.GuardedTape(picky)):
            with pytest.raises((td.ArgumentMismatch, td.ShapeMismatch, td.DtypeMismatch, TypeError)):
                tape.bind(*args, out=out)


# From numba


def test_numba_code_takes_codes_in_place_of_exceptions():
    """Inside a cfunc, whose callers see no exceptions: for SciPy's quadrature, and for a caller that wants the code."""
    import numba
    from scipy import LowLevelCallable, integrate

    def density(x, params):
        if x > params["bend"]:
            raise FloatingPointError("no value there")
        if x < 0.0:
            return params["bend"] - params["rate"] * (x + 1.5)
        return np.exp(-params["rate"] * x)

    function = td.GuardedTape(density).c_function("gradient", 0.5, {"rate": 2.0, "bend": 3.0})
    of_density = function.as_numba(status=True)
    of_value = td.compile(lambda x: np.outer(x, x), np.ones(2)).c_function().as_numba()

    @numba.cfunc("float64(float64)")
    def value(x):
        point, gradient = np.array([x, 2.0, 3.0]), np.empty(3)
        code, value = of_density(point, gradient)
        return value if code == 0 else -1000.0 * code

    # A C function returns a pointer in the register of an integer.
    @numba.cfunc(numba.types.int64(numba.types.CPointer(numba.types.double)), nogil=True)
    def body(place):
        memory = numba.carray(place, 12)  # point, gradient, products, code, value
        of_value(memory[:2], memory[6:10])
        memory[10], memory[11] = of_density(memory[:3], memory[3:6])
        return 0

    def in_pthread(point):
        """In a thread that Python did not start, which has no interpreter lock."""
        memory, libc, thread = np.array([*point, *[7.0] * 9]), ctypes.CDLL(None), ctypes.c_ulong()
        assert libc.pthread_create(ctypes.byref(thread), None, ctypes.c_void_p(body.address), ctypes.c_void_p(memory.ctypes.data)) == 0
        assert libc.pthread_join(thread, None) == 0
        return memory[3:6], memory[6:10], memory[10], memory[11]

    assert integrate.quad(LowLevelCallable(value.ctypes), 0.0, 1.0)[0] == pytest.approx((1 - np.exp(-2.0)) / 2, rel=1e-10)
    assert value.ctypes(4.0) == -1000.0 * codes.RECOVERABLE
    gradient, out, code, found = in_pthread([0.5, 2.0, 3.0])
    assert (code, found) == (0, pytest.approx(np.exp(-1.0), rel=1e-15))  # NumPy's has other last bits on each processor
    np.testing.assert_allclose(gradient, [-2.0 * found, -0.5 * found, 0.0], rtol=1e-14)
    assert np.array_equal(out, [0.25, 1.0, 1.0, 4.0])
    for _ in range(2):  # recorded there, then known
        gradient, out, code, found = in_pthread([-0.5, 2.0, 3.0])
        assert (code, found) == (0, 1.0)
        np.testing.assert_array_equal(gradient, [-2.0, -1.0, 1.0])
    gradient, out, code, found = in_pthread([4.0, 2.0, 3.0])
    assert code == codes.RECOVERABLE
    assert np.all(gradient == 7.0)
    assert isinstance(function.take_error(), FloatingPointError)


# Of what operators know besides


def test_buffers_are_made_anew_and_aux_is_left_out():
    """td.Cache, td.ConstantOrCache and td.Output among the arguments; of (y, aux), C functions are of y."""

    def fill(out, x, mixed, scratch):
        scratch[:] = x * mixed["k"]
        mixed["b"][:] = scratch
        out[:] = mixed["b"] ** 2 if x[0] > 0.0 else mixed["b"]

    args = td.Output(3), X, td.ConstantOrCache({"b": np.empty(3), "k": np.array(2.0)}), td.Cache(np.empty(3))
    with_aux = lambda x, k: ((np.sum(x**2) if x[0] > 0.0 else np.sum(x)) * k, {"x": x})
    for filling, aux in ((td.compile(fill, *args), td.compile(with_aux, X, 2.0, has_aux=True)),
                         (td.GuardedTape(fill), td.GuardedTape(with_aux, has_aux=True))):  # fmt: skip
        product, gradient = filling.c_function("vjp", *args), aux.c_function("gradient", X, 2.0)
        assert product.sizes == (6, 3)
        for x in (X, 2 * X) if isinstance(aux, td.CompiledTape) else (X, -X, 2 * X, -X):
            code, out = call(product, flat(x, np.ones(3)), 3)
            assert code == 0
            np.testing.assert_allclose(out, 8 * x if x[0] > 0.0 else 2.0, rtol=1e-14)
            code, value, found = gradient_call(gradient, flat(x, 2.0))
            assert code == 0
            total = np.sum(x**2) if x[0] > 0.0 else np.sum(x)
            np.testing.assert_allclose([value, *found], [2 * total, *(4 * x if x[0] > 0.0 else np.full(3, 2.0)), total], rtol=1e-14)
        assert aux.batch_values(np.ones((2, 3)), 2.0).tolist() == [6.0, 6.0]
        assert aux.batch_values(np.ones((0, 3)), 2.0).shape == (0,)
