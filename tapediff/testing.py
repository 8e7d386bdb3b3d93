"""Checks for users' tests: derivatives against finite differences and against each other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from .errors import ArgumentMismatch, hides_frames
from .functions.primitive import Primitive
from .ir.arguments import unwrap
from .ir.containers import flatten_argument, has_buffers, outputs_among
from .ir.instruction import Operand, Tree, UserFunction
from .ir.pytree import flatten
from .ir.tape import Tape
from .recording.arguments.bind_call import bind_call
from .targets.compile_target import compile
from .targets.compiled_tape import CompiledTape
from .targets.derivatives import value_and_gradient
from .targets.evaluate.chosen import is_differentiable
from .targets.guarded_tape import GuardedTape
from .targets.operators.hessian_products import hvp
from .targets.operators.products import jvp, vjp

STEPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


@hides_frames
def check_gradient(
    target: UserFunction, f: UserFunction, x: Operand, *args: Tree, rtol: float = 1e-6, atol: float = 1e-8
) -> None:
    """Compare a target's value and gradient by x with the plain function at x.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        f: the plain function, called on plain arrays.
        x: the point, float or float array.
        args: further arguments of both, which are not differentiated; f gets what is in td.Constant and td.Cache.
        rtol, atol: allowed error of each entry, relative to the gradient's largest entry and absolute.

    Raises:
        AssertionError: with both gradients and the worst entry.

    Cost: two calls of f per entry of x and step size; the best of the step sizes must agree.
    """
    x = np.asarray(x, dtype=float)
    value, gradient = value_and_gradient(target, x, *args)
    by_x = lambda at: f(at, *map(unwrap, args))  # noqa: E731 -- the next lines are its only use
    plain = float(by_x(x.copy()[()]))
    if not np.isclose(value, plain, rtol=1e-9, atol=1e-12, equal_nan=True):
        raise AssertionError(f"value {value!r} differs from the plain function's {plain!r}")
    differences = [central_difference(by_x, x, step) for step in STEPS]
    scale = max(1.0, float(np.max(np.abs(gradient), initial=0.0)))
    worst = np.min([np.abs(d - gradient) for d in differences], axis=0)
    if not np.all(worst <= atol + rtol * scale):
        raise AssertionError(
            f"gradient\n{gradient}\ndiffers from finite differences\n{differences[2]}\nby up to {np.max(worst):.3g}"
        )


MODES = ("jvp", "vjp", "hvp")


@hides_frames
def check_derivatives(
    target: UserFunction, *args: Tree, modes: Sequence[str] = MODES, order: int = 2, rtol: float = 1e-6, atol: float = 1e-8, seed: int = 0,
    has_aux: bool = False,
) -> None:  # fmt: skip
    """Compare a target's derivatives with finite differences of its values, in random directions, and with each other.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        args: the point; floats and float arrays are differentiated, td.Constant, td.Cache, td.Output and other arguments are passed on.
        modes: which to check: "jvp" against differences of values; "vjp" against "jvp", its transpose; "hvp" against
            differences of the gradient, if the target returns one real scalar.
        order: 2 also checks the derivatives of "jvp" and "vjp".
        rtol, atol: allowed errors, relative to the largest entry and absolute; the best of several step sizes must agree.
        seed: of the directions.
        has_aux: the target returns (y, aux); y is checked.

    Raises:
        AssertionError: naming the mode, with both results.
        ArgumentMismatch: an unknown mode.

    Cost: about 20 calls of the function for each mode and order.
    Source: the signature follows jax.test_util.check_grads.
    """
    if unknown := sorted(set(modes) - set(MODES)):
        raise ArgumentMismatch("a derivative to check", got=", ".join(unknown), fix=f"choose among {', '.join(MODES)}")
    given, value = target, (lambda *a: given(*a)[0]) if has_aux else target
    if has_aux and not isinstance(target, (Tape, CompiledTape, GuardedTape)):
        target = value
    check = _Check(target, args, rtol, atol, np.random.default_rng(seed), value)
    check.run(modes)
    if order > 1:
        v, w = check.tangents, check.weights
        # Without td.Cache and td.Output: the derivative writes to arrays of its own.
        others = [k for k, a in enumerate(args) if not has_buffers(flatten_argument(a)[1])]
        filled = lambda given: [given[others.index(k)] if k in others else a for k, a in enumerate(args)]  # noqa: E731
        for mode, derivative in (
            ("jvp", lambda *a: jvp(target, filled(a), v)[1]),
            ("vjp", lambda *a: tuple(c for c in vjp(target, *filled(a))[1](*w) if c is not None)),
        ):
            if mode in modes:
                further = [m for m in modes if m != "hvp"]
                point = tuple(args[k] for k in others)
                _Check(derivative, point, rtol, atol, np.random.default_rng(seed + 1), derivative).run(further, f" of the {mode}")


class _Check:
    """Derivatives of a target at a point, in one random direction."""

    def __init__(
        self, target: UserFunction, args: tuple[Operand, ...], rtol: float, atol: float, rng: np.random.Generator, value: UserFunction
    ) -> None:  # fmt: skip
        self.value, self.target, self.args, self.rtol, self.atol = value, target, args, rtol, atol
        self.tangents = tuple(rng.normal(size=np.shape(a)) if is_differentiable(a) else None for a in args)
        # Tangents of the arguments that argnums and cotangents count: without td.Output.
        self.counted = [v for k, v in enumerate(self.tangents) if k not in outputs_among(args)]
        self.results = self._values(args)
        self.weights = [rng.normal(size=np.shape(r)) for r in self.results]

    def _values(self, args: Sequence[Operand]) -> list[Operand]:
        return [leaf for leaf in self._leaves(args) if np.asarray(leaf).dtype.kind == "f"]

    def _leaves(self, args: Sequence[Operand]) -> list[Operand]:
        if not any(has_buffers(flatten_argument(a)[1]) for a in args):
            return flatten(self.value(*map(unwrap, args)))[0]
        if hasattr(self.target, "operate") or isinstance(self.target, Tape):
            return flatten(self.value(*args))[0]
        call = bind_call(self.target, args, ())
        return flatten(call.function(*call.inputs))[0]

    def _moved(self, step: float) -> list[Operand]:
        return [a if v is None else np.asarray(a) + step * v for a, v in zip(self.args, self.tangents)]

    def run(self, modes: Sequence[str], what: str = "") -> None:
        tangents = flatten(jvp(self.target, self.args, self.tangents)[1])[0]
        floats = [t for t, r in zip(tangents, self._leaves(self.args)) if np.asarray(r).dtype.kind == "f"]
        if "jvp" in modes:
            for k, found in enumerate(floats):
                self._against_differences(f"jvp{what}", found, lambda step, k=k: self._values(self._moved(step))[k])
        if "vjp" in modes:
            given = iter(self.weights)
            weights = [next(given) if np.asarray(r).dtype.kind == "f" else None for r in self._leaves(self.args)]
            cotangents = vjp(self.target, *self.args)[1](*weights)
            forward = sum(np.sum(w * t) for w, t in zip(self.weights, floats))
            back = sum(np.sum(c * v) for c, v in zip(cotangents, self.counted) if c is not None)
            size = sum(np.sum(np.abs(w * t)) for w, t in zip(self.weights, floats))
            if not np.isclose(forward, back, rtol=0.0, atol=1e-9 * (1.0 + size), equal_nan=True):
                raise AssertionError(f"vjp{what} is not the transpose of jvp: {back!r} for {forward!r}")
        if "hvp" in modes and len(self.results) == 1 and np.shape(self.results[0]) == ():
            wrt = tuple(k for k, v in enumerate(self.counted) if v is not None)
            x, *rest = self.args
            found = hvp(self.target, x, tuple(v for v in self.tangents if v is not None), *rest, argnums=wrt)
            slope = lambda step, k: value_and_gradient(self.target, *self._moved(step), argnums=wrt)[1][k]  # noqa: E731
            for k, product in enumerate(found):
                self._against_differences(f"hvp{what}", product, lambda step, k=k: slope(step, k))

    def _against_differences(self, name: str, found: Operand, value: Callable[[float], Operand]) -> None:
        differences = [(np.asarray(value(step)) - np.asarray(value(-step))) / (2 * step) for step in STEPS]
        scale = max(1.0, float(np.max(np.abs(found), initial=0.0)))
        worst = np.min([np.abs(d - found) for d in differences], axis=0)
        if not np.all(worst <= self.atol + self.rtol * scale):
            raise AssertionError(f"{name}\n{found}\ndiffers from finite differences\n{differences[2]}\nby up to {np.max(worst):.3g}")


@hides_frames
def check_rule(rule: Primitive, *args: Operand, rtol: float = 1e-6, atol: float = 1e-8, seed: int = 0) -> None:
    """Compare the derivative rule of a primitive with finite differences of its forward function, replayed and compiled.

    Args:
        rule: a primitive made by td.primitive.
        args: where to check; floats and float arrays are differentiated, other arguments are passed on.
        rtol, atol: as for check_gradient.
        seed: of the random cotangents.

    Raises:
        AssertionError: naming the argument whose cotangent is wrong.
        InvalidRule: the rule returned something of another number, shape or structure.

    Cost: one check_gradient for each float argument, by replay and by kernel.
    """
    rng = np.random.default_rng(seed)
    outputs = [np.asarray(leaf) for leaf in flatten(rule(*args))[0]]
    weights = [rng.normal(size=leaf.shape) if leaf.dtype.kind == "f" else None for leaf in outputs]

    def weighed(position: int, value: Operand) -> Operand:
        results = flatten(rule(*args[:position], value, *args[position + 1 :]))[0]
        return sum(np.sum(w * r) for w, r in zip(weights, results) if w is not None)

    for position, argument in enumerate(args):
        if isinstance(argument, (bool, int)) or np.asarray(argument).dtype.kind != "f":
            continue
        function = functools.partial(weighed, position)
        for target in (function, compile(function, argument)):
            try:
                check_gradient(target, function, argument, rtol=rtol, atol=atol)
            except AssertionError as wrong:
                raise AssertionError(f"argument {position} of {rule.name}: {wrong}") from wrong


def central_difference(f: UserFunction, x: Operand, step: float) -> np.ndarray:
    """(f(x + h) - f(x - h)) / 2h in every direction, h = step * max(1, |x|)."""
    x = np.asarray(x, dtype=float)
    result = np.empty_like(x)
    for index in np.ndindex(*x.shape):
        h = step * max(1.0, abs(float(x[index])))
        up, down = x.copy(), x.copy()
        up[index] += h
        down[index] -= h
        result[index] = (f(up[()]) - f(down[()])) / (up[index] - down[index])
    return result
