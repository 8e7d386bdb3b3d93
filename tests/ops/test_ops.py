"""Every op of the registry, none of them named: types, kernel, listing, derivatives of both orders, layouts, broadcasting.

The inputs come from the declarations: `samples` for elementwise ops, `examples` for the others.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.kernel import Kernel
from tapediff.compiler.math.function_table import CALLED_BY_ELEMENT
from tapediff.ir.interpreter import run
from tapediff.ops import REGISTRY, Elementwise
from tapediff.ops.declaration.scalar_expressions import called_functions
from tapediff.passes.pipeline import run_passes
from tapediff.targets.tapes.gradient_tape import gradient_tape
from tapediff.targets.tapes.operator_tapes import jvp_tape, vjp_tape

OPS = sorted(REGISTRY)
ELEMENTWISE = [name for name in OPS if isinstance(REGISTRY[name], Elementwise)]
EVERY_OP = pytest.mark.parametrize("name", OPS)

# The kernel's functions are within 4 ulp of NumPy's or SciPy's, and sums of a few dozen terms are taken in another order.
KERNEL_TOLERANCE = 2e-13
# A product of a rule with a random vector is rounded at a few dozen operations.
TRANSPOSE_TOLERANCE = 1e-12
# A central difference at the best step is good to about the two-thirds power of the precision, times the op's third derivative.
DIFFERENCE_TOLERANCE = 3e-8
STEPS = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6)


def cases(name):
    """Pairs of a function of tracked arrays and the plain arrays to call it on."""
    op, rng = REGISTRY[name], np.random.default_rng(len(name))
    if op.examples is not None:
        return list(op.examples(rng))
    return [
        (lambda *a, named=named: op(*a, **named), tuple(domain.draw(rng, shape) for domain in op.samples))
        for named in op.sample_params
        for shape in ((), (5,), (2, 3))
    ]


def recorded(call, arrays, data=()):
    """Floats are arguments to differentiate by; masks, integers and the positions in `data` are not."""
    tape = td.record(call, *[td.Constant(a) if a.dtype.kind != "f" or k in data else a for k, a in enumerate(arrays)])
    tape.check()
    return tape


def plain_inputs(arrays):
    return [np.asarray(a) for a in arrays]


def assert_close(actual, expected, tolerance, what=""):
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, what
    assert actual.dtype == expected.dtype, what
    if actual.dtype.kind != "f":
        assert np.array_equal(actual, expected), what
        return
    finite = np.abs(expected[np.isfinite(expected)])
    scale = max(1.0, float(np.max(finite, initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale, err_msg=what)


def run_native(tape, inputs):
    """The outputs of a tape by its kernel and by its listing, after the passes."""
    kernel = Kernel(run_passes(tape, check=True))
    types = kernel.tape.output_types
    native, listed = ([np.empty(t.shape, t.dtype) for t in types] for _ in range(2))
    assert kernel.run(inputs, native) == 0
    assert run_listing(kernel.program, inputs, listed) is None
    return native, listed


def projections(name, rng):
    """The op's values summed with random weights, as tapes; with the function and the arrays of each."""
    for call, arrays in cases(name):
        value = np.asarray(call(*arrays))
        if value.dtype.kind == "f":
            f = projected(call, rng.normal(size=value.shape))
            tape = recorded(f, arrays, REGISTRY[name].not_differentiated)
            if tape.active_inputs:
                yield f, arrays, tape


def projected(call, weights):
    """The sum of the op's values with fixed weights: a scalar to differentiate."""
    return lambda *a: (call(*a) * weights).sum() if weights.shape else call(*a) * weights


@EVERY_OP
def test_the_type_rule_says_what_evaluation_gives(name):
    """infer() of every instruction is the shape and dtype of the array that evaluate() returns."""
    for call, arrays in cases(name):
        tape = recorded(call, arrays)
        values = [k for k, i in enumerate(tape.instructions) if hasattr(i.op, "evaluate") and not getattr(i.op, "is_internal", False)]
        for number, value in zip(values, run(replace(tape, outputs=tuple(values)), plain_inputs(arrays))):
            type_ = tape.instructions[number].type
            assert (np.shape(value), np.asarray(value).dtype) == (type_.shape, type_.dtype), tape.instructions[number].op


@EVERY_OP
def test_the_kernel_and_its_listing_give_what_numpy_gives(name):
    """Replay with NumPy, the native kernel, and the kernel's listing run as Python."""
    for call, arrays in cases(name):
        tape = recorded(call, arrays)
        expected = run(tape, plain_inputs(arrays))
        native, listed = run_native(tape, plain_inputs(arrays))
        for kernel, listing, value in zip(native, listed, expected):
            assert_close(kernel, value, KERNEL_TOLERANCE, "kernel")
            assert_close(listing, value, KERNEL_TOLERANCE, "listing")


@EVERY_OP
def test_the_vjp_is_a_central_difference(name):
    """For every input that is a float, the best of several step sizes agrees."""
    rng = np.random.default_rng(1)
    for f, arrays, tape in projections(name, rng):
        gradients = gradient_tape(tape, tape.active_inputs)(*arrays)[1:]
        for k, gradient in zip(tape.active_inputs, gradients):
            assert gradient.shape == arrays[k].shape
            worst = np.min([np.abs(difference(f, arrays, k, step) - gradient) for step in STEPS], axis=0)
            assert np.all(worst <= DIFFERENCE_TOLERANCE * (1.0 + np.max(np.abs(gradient), initial=0.0))), (k, worst)


def difference(f, arrays, k, step):
    """Central differences of f in every entry of argument k; f may return an array, whose axes then follow."""
    rows = []
    for index in np.ndindex(*arrays[k].shape):
        up, down = arrays[k].copy(), arrays[k].copy()
        up[index] += step
        down[index] -= step
        after, before = (f(*arrays[:k], moved, *arrays[k + 1 :]) for moved in (up, down))
        rows.append((after - before) / (up[index] - down[index]))
    return np.reshape(np.array(rows), arrays[k].shape + np.shape(f(*arrays)))


@EVERY_OP
def test_vjp_and_jvp_are_transposes(name):
    """<v, J u> = <J^T v, u> for random u and v."""
    rng = np.random.default_rng(2)
    for call, arrays in cases(name):
        tape = recorded(call, arrays, REGISTRY[name].not_differentiated)
        (out,) = tape.output_types
        if not out.is_float:
            continue
        for k in tape.active_inputs:
            u, v = rng.normal(size=arrays[k].shape), rng.normal(size=out.shape)
            forward = run(jvp_tape(tape, (k,)), [*plain_inputs(arrays), u])[0]
            backward = run(vjp_tape(tape, (k,)), [*plain_inputs(arrays), v])[0]
            terms = np.abs(v * forward).sum() + np.abs(u * backward).sum()
            assert abs(np.sum(v * forward) - np.sum(u * backward)) <= TRANSPOSE_TOLERANCE * (1.0 + terms), k


@EVERY_OP
def test_the_second_derivative_is_a_difference_of_the_first(name):
    """Each block of the Hessian of a random projection, mixed ones included."""
    rng = np.random.default_rng(3)
    for _, arrays, tape in projections(name, rng):
        if sum(np.size(a) for a in arrays) > 40:
            continue
        for k in tape.active_inputs:
            first = gradient_tape(tape, (k,))
            gradient = replace(first, outputs=first.outputs[1:], returns_tuple=False)
            for m in tape.active_inputs:
                rows = [run(vjp_tape(gradient, (m,)), [*plain_inputs(arrays), e.reshape(arrays[k].shape)])[0] for e in np.eye(arrays[k].size)]
                block = np.reshape(rows, arrays[k].shape + arrays[m].shape)
                differences = [difference(lambda *a, g=gradient: np.asarray(g(*a)), arrays, m, step) for step in STEPS[::2]]
                move = list(range(arrays[m].ndim, arrays[m].ndim + arrays[k].ndim)) + list(range(arrays[m].ndim))
                worst = np.min([np.abs(np.transpose(d, move) - block) for d in differences], axis=0)
                assert np.all(worst <= DIFFERENCE_TOLERANCE * (1.0 + np.max(np.abs(block), initial=0.0))), (k, m, worst)


# Rules that are integrals, of a hundred instructions on arrays with one more axis: the layouts of these are those of the ops within.
LONGEST = 1600


def layouts(op, named):
    """The op on operands of every size around the SIMD width and of every layout, on parts of one vector per operand."""

    def parts(*vectors):
        def on(*views):
            return op(*[view(x) for view, x in zip(views, vectors)], **named)

        def same(view):
            return on(*[view] * len(vectors))

        results = [same(lambda x, n=n: x[:n]) for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 25)]
        results += [same(lambda x: x[3]), same(lambda x: x[::2]), same(lambda x: x[::-1]), same(lambda x: x[40:2:-3])]
        results += [same(lambda x: x[1:26].reshape(5, 5).T), same(lambda x: x[:36].reshape(4, 9)[:, 2:7])]
        if len(vectors) > 1:
            first, rest = vectors[0], len(vectors) - 1
            shapes = [lambda x: x[:3].reshape(3, 1), lambda x: x[4:8], lambda x: x[9]]
            for turn in range(3):
                results.append(on(*[shapes[(turn + k) % 3] for k in range(len(vectors))]))
            if op.samples[1:] == op.samples[:1] * rest:
                results.append(op(*[first[:9]] * len(vectors), **named))
        return tuple(results)

    return parts


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_an_elementwise_op_takes_every_layout_and_size(name):
    """Values, and gradients through the same views: contiguous, strided, reversed, transposed, broadcast, empty, one operand twice."""
    op, rng = REGISTRY[name], np.random.default_rng(4)
    named = op.sample_params[-1]
    vectors = [domain.draw(rng, (41,)) for domain in op.samples]
    values = recorded(layouts(op, named), vectors, op.not_differentiated)
    native, listed = run_native(values, vectors)
    for position, (kernel, listing, expected) in enumerate(zip(native, listed, run(values, vectors))):
        assert_close(kernel, expected, KERNEL_TOLERANCE, f"kernel, part {position}")
        assert_close(listing, expected, KERNEL_TOLERANCE, f"listing, part {position}")
    if not values.active_inputs or not values.output_types[0].is_float:
        return

    def total(*vectors):
        return sum((part * (1.0 + 0.1 * k)).sum() for k, part in enumerate(layouts(op, named)(*vectors)))

    joint = gradient_tape(recorded(total, vectors, op.not_differentiated), values.active_inputs)
    if len(joint.instructions) > LONGEST:
        return
    native, listed = run_native(joint, vectors)
    for kernel, listing, expected in zip(native, listed, run(joint, vectors)):
        assert_close(kernel, expected, 10 * KERNEL_TOLERANCE, "kernel of the gradient")
        assert_close(listing, expected, 10 * KERNEL_TOLERANCE, "listing of the gradient")


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.0, np.inf, -np.inf, np.nan, 1e-310, 1e300, -1e300, 3.0, 1e-20, 709.0, -745.0])


# SciPy's function takes hours at 1e300, and does not end at infinity.
ENDLESS = {"hyp1f1"}
# SciPy's is infinite where it is 714.
WRONG_IN_SCIPY = {"gammaln": 1e-310}


@pytest.mark.parametrize("name", [name for name in ELEMENTWISE if all(d.kind == "f" for d in REGISTRY[name].samples)])
def test_the_kernel_agrees_with_numpy_at_special_points(name):
    """Zeros of both signs, infinities, NaN, subnormal, huge: same value, same sign of zero."""
    op = REGISTRY[name]
    # Where the first input only selects the function, SciPy's answers at its infinity are not to be copied.
    points = SPECIAL[~(np.abs(SPECIAL) >= 1e300)] if name in ENDLESS else SPECIAL[SPECIAL != WRONG_IN_SCIPY.get(name)]
    choices = [d.draw(np.random.default_rng(5), (5,)) if k in op.not_differentiated else points for k, d in enumerate(op.samples)]
    pairs = np.meshgrid(*choices)
    vectors = [np.ascontiguousarray(p.ravel()) for p in pairs]
    for named in op.sample_params:
        with np.errstate(all="ignore"):
            tape = recorded(lambda *a, named=named: op(*a, **named), vectors)
        expected = run(tape, vectors)[0]
        native, listed = run_native(tape, vectors)
        for what, value in (("kernel", native[0]), ("listing", listed[0])):
            assert value.dtype == expected.dtype
            wrong = ~np.isclose(value, expected, rtol=KERNEL_TOLERANCE, atol=1e-307, equal_nan=True)
            # NumPy itself differs between scalars, which the listing takes, and arrays: in the sign of a zero and in (-inf)**0.5.
            if what == "listing":
                wrong &= np.all(np.isfinite(vectors), axis=0)
            elif value.dtype.kind == "f":
                wrong |= (np.signbit(value) != np.signbit(expected)) & (expected == 0.0)
            report = [(what, *point) for point in zip(*[v[wrong] for v in vectors], value[wrong], expected[wrong])]
            assert not report, report[:10]


# Where rules are written with selections and limits: zeros of both signs, ties, exponents 0, 1 and 2, the ends of domains.
POINTS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -2.0)
# From a point in every quadrant, along no diagonal, so that no tie is kept.
DIRECTIONS = {1: [(1.0,), (-1.0,)], 2: [(1, 0.37), (1, -0.61), (-1, 0.43), (-1, -0.53), (0.31, 1), (-0.47, 1), (0.67, -1), (-0.71, -1)]}
# Of steps this long, extrapolated: what is left is their square times two further derivatives.
STEP = 1e-6
# Rounding of a third derivative that cancels at STEP from a pole is larger by far, and such limits do not agree with each other.
LIMIT_TOLERANCE = 3e-5
# Whose order is whole; which are 0 at infinity by SciPy's choice; which are infinite themselves at these points, in another way from each side.
NOT_HERE = {"expn", "sindg", "cosdg", "tandg", "cotdg", "beta", "boxcox", "boxcox1p"}
SMOOTH = [
    name for name in ELEMENTWISE
    if len(REGISTRY[name].samples) < 3 and all(d.kind == "f" for d in REGISTRY[name].samples) and name not in NOT_HERE
]  # fmt: skip


def derivatives(call, arrays, active, order):
    """Each mixed derivative of an elementwise function at all points at once, by the positions of the inputs it is taken in."""

    def derivative(f, k):
        return lambda *a: td.gradient(lambda t: np.sum(f(*a[:k], t, *a[k + 1 :])), a[k])

    found, last = {}, {(): call}
    for _ in range(order):
        last = {(*taken, k): derivative(f, k) for taken, f in last.items() for k in active}
        found |= {taken: f(*arrays) for taken, f in last.items()}
    return found


def with_limits(call, count, active, order, ends):
    """At POINTS and infinite ends: the derivatives, their limits, and whether these are the same from everywhere."""
    coordinates = (*POINTS, *ends)
    points = np.array([(x, y)[:count] for x in coordinates for y in (coordinates if count > 1 else (0.0,))])
    directions = np.array(DIRECTIONS[count], float)
    is_far = np.isinf(points)
    # The last factor of a distance is for the ends, which are approached from 1e4 and 1e6.
    moved = [
        np.where(is_far, np.sign(points) * far * np.abs(d), np.where(is_far, 0.0, points) + step * d)
        for d in directions for step, far in ((2 * STEP, 1e4), (STEP, 1e6))
    ]  # fmt: skip
    everywhere = np.concatenate([points, *moved])
    for taken, values in derivatives(call, list(everywhere.T), active, order).items():
        at, near = values[: len(points)], values[len(points) :].reshape(len(directions), 2, len(points))
        is_end = is_far.any(axis=1)
        limits = np.where(is_end, near[:, 1], 2 * near[:, 1] - near[:, 0])
        estimates = np.concatenate([limits, near[:, 1], near[:, 0]])
        with np.errstate(invalid="ignore"):
            spread = np.max(estimates, axis=0) - np.min(estimates, axis=0)
            limit = np.mean(limits, axis=0)
            settled = np.isfinite(estimates).all(axis=0) & (spread <= LIMIT_TOLERANCE * (1.0 + np.abs(limit)))
        yield taken, points, at, limit, settled, is_end


def assert_limits(call, count, active=None, order=3, ends=(np.inf, -np.inf)):
    """Derivatives up to third order are their limits wherever these agree from everywhere; at an infinite argument they may be NaN as well.

    They do not depend on the order of taking them: Hessians are symmetric.
    """
    symmetric = {}
    with np.errstate(all="ignore"):
        for taken, points, at, limit, settled, is_end in with_limits(call, count, active or range(count), order, ends):
            right = np.abs(at - limit) <= LIMIT_TOLERANCE * (1.0 + np.abs(limit))
            wrong = settled & ~(right | (is_end & np.isnan(at)))
            assert not wrong.any(), [(taken, *row) for row in zip(points[wrong], at[wrong], limit[wrong])][:10]
            first = symmetric.setdefault(tuple(sorted(taken)), at)
            # Rounding of a few dozen operations. Where a third derivative is infinite, the order may decide whether it is found to be.
            same = np.isclose(first, at, rtol=1e-12, atol=1e-12, equal_nan=True) | is_end
            if len(taken) > 2:
                same |= np.isinf(first) | np.isinf(at)
            assert same.all(), [(taken, *row) for row in zip(points[~same], at[~same], first[~same])][:10]


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_up_to_third_order_are_their_limits_at_special_points(name):
    """Where a selection freezes a value, its derivative is lost: such a rule is right to first order only."""
    op = REGISTRY[name]
    active = [k for k, rule in enumerate(op.vjp) if rule is not None and k not in op.not_differentiated]
    # SciPy's polygamma functions take a minute at -1e6, which they reach by recurrence.
    ends = () if name in ENDLESS else (np.inf,) if not CALLED_BY_ELEMENT.isdisjoint(called_functions(op.scalar)) else (np.inf, -np.inf)
    for named in op.sample_params if active else ():
        assert_limits(lambda *a, named=named: op(*a, **named), len(op.samples), active, ends=ends)


COMPOSED = {
    "logaddexp2": np.logaddexp2, "sinc": np.sinc, "clip": lambda x, y: np.clip(x, -0.7, 0.8) * y, "nan_to_num": np.nan_to_num,
    "x**2.5": lambda x: x**2.5, "x**7": lambda x: x**7, "|x|**2": lambda x: np.abs(x) ** 2, "|x y|**4": lambda x, y: abs(x * y) ** 4,
    "hypot**2": lambda x, y: np.hypot(x, y) ** 2, "(hypot / 3)**4": lambda x, y: (np.hypot(x, y) / 3.0) ** 4,
    "norm**2": lambda x, y: np.linalg.norm(np.stack([x, y]), axis=0) ** 2,
    "norm(3)**3": lambda x, y: np.linalg.norm(np.stack([x, y]), 3, axis=0) ** 3,
    "gaussian of a norm": lambda x, y: np.exp(-0.5 * np.linalg.norm(np.stack([x, y]), axis=0) ** 2),
    "std**2": lambda x, y: np.square(np.std(np.stack([x, y]), axis=0)),
    "sqrt(x**2)**2": lambda x: np.sqrt(x * x) ** 2, "copysign**2": lambda x: np.copysign(x, -1.0) ** 2,
    "logsumexp": lambda x, y: td.special.logsumexp(np.stack([x, y]), axis=0),
    "softmax": lambda x, y: td.special.softmax(np.stack([x, y]), axis=0)[0],
    "log_softmax": lambda x, y: td.special.log_softmax(np.stack([x, y]), axis=0)[0],
    "prod": lambda x, y: np.prod(np.stack([x, y, x]), axis=0), "cumprod": lambda x, y: np.sum(np.cumprod(np.stack([x, y, x]), axis=0), axis=0),
    "median": lambda x, y: np.median(np.stack([x, y, 2.0 * x]), axis=0) ** 2,
}  # fmt: skip


@pytest.mark.parametrize("name", COMPOSED)
def test_derivatives_of_compositions_up_to_third_order_are_their_limits(name):
    """As for single ops, at finite points; and where a kink is squared away."""
    f = COMPOSED[name]
    assert_limits(f, f.__code__.co_argcount if hasattr(f, "__code__") else {"logaddexp2": 2}.get(name, 1), ends=())


DISCARDED = (np.nan, np.inf, -np.inf, 0.0, -1.0, 2.0)


@pytest.mark.parametrize("name", [name for name in ELEMENTWISE if REGISTRY[name].linear and not callable(REGISTRY[name].vjp)])
@np.errstate(all="ignore")
def test_rules_of_linear_ops_give_zero_for_zero(name):
    """Whatever the operands are, also NaN: so that nothing has to be selected where what they get was discarded."""
    op = REGISTRY[name]
    count = len(op.samples)

    def shares(v):
        operands = [v[k] for k in range(count)]
        found = [rule(0.0 * v[count], op(*operands), *operands) for rule in op.vjp if rule is not None]
        return np.stack([v[count], *(share for share in found if share is not None)])

    tape = td.record(shares, np.ones(count + 1))
    for operands in itertools.product(DISCARDED, repeat=count):
        assert not np.any(tape(np.array([*operands, 1.0]))[1:]), operands
