"""Laplace's approximation of a marginal log density: value, exact gradient, mode and standard errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np

from ..errors import NotConverged, NotPositiveDefinite, UnstableBranch, hides_frames
from ..functions.primitive import Primitive
from ..ir.instruction import Operand, Tree, UserFunction, is_tracked
from ..ir.pytree import TreeDef, flatten, unflatten
from ..sparse.arrays import Pattern
from ..sparse.order import Analysis, analysed
from ..targets.derivatives import gradient, jacobian, value_and_gradient
from ..targets.guarded_tape import GuardedTape
from ..targets.operators.sparse import value_gradient_and_hessian_entries
from ..targets.tapes.triplet_tapes import Entries
from ..tree import leaves, map as tree_map, ravel
from ..uncertainty import names_of
from .effects import Effects, plain
from .expectations import Importance, Tilted, weighed
from .mode import Mode, Point, find_mode
from .profile import Profiles, profiled
from .report import Report, reported

# The step of differences of the gradient, relative to a parameter (at least 1): a fourth root of the rounding error.
STEP = 1e-4
# Analyses are kept for this many patterns.
MOST_PATTERNS = 8


@hides_frames
class Laplace:
    """The marginal log density of the parameters of a model; see td.laplace.

    Attributes:
        random: the names of the random effects.
        max_steps: of Newton's method for the mode.
    """

    # A recording that calls one keeps no copy of it.
    is_asked_at_each_call = True

    def __init__(self, f: UserFunction, random: str | Sequence[str], start: Mapping[str, Tree], max_steps: int) -> None:
        self._given = random, dict(start), max_steps
        self.f, self.max_steps, self._effects = f, max_steps, Effects(f, random, start)
        self.random = self._effects.names
        self._last = self._effects.start
        self._analyses: list[tuple[Entries | None, Analysis]] = []
        self._tapes = Tapes(f, self._effects)

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self.f, *self._given)

    def __repr__(self) -> str:
        name = getattr(self.f, "__name__", "f")
        return f"<laplace of {name}: {len(self._effects.start)} random effects, {', '.join(self.random)}>"

    # What users call

    def __call__(self, theta: Tree, *data: Tree) -> Operand:
        """The log marginal; inside a recording one instruction, whose derivative is gradient(theta, *data)."""
        leaves, treedef = flatten((theta, *plain(data)), arguments=True)
        tracked = [k for k, leaf in enumerate(leaves) if is_tracked(leaf)]
        if tracked:
            return _recorded(self, leaves, treedef, tracked)
        return self._value(self._found(theta, plain(data)))

    def gradient(self, theta: Tree, *data: Tree) -> Tree:
        """The gradient of the log marginal by theta, in the structure of theta; exact."""
        return self.value_and_gradient(theta, *data)[1]

    def value_and_gradient(self, theta: Tree, *data: Tree) -> tuple[float, Tree]:
        """Log marginal and gradient, computed together; for scipy.optimize with jac=True, with the sign that it minimises."""
        others = plain(data)
        mode = self._found(theta, others)
        return self._value(mode), self._gradients(mode, theta, others, (0,))[0]

    def mode(self, theta: Tree, *data: Tree) -> Tree:
        """The random effects with the largest joint density at theta: a dict by name, or one argument if `random` is a string."""
        return self._effects.by_name(self._found(theta, plain(data)).point.x.copy())

    def sample(self, rng: np.random.Generator, theta: Tree, *data: Tree) -> Tree:
        """A draw of the random effects from the normal distribution at their mode, in the structure of `mode`."""
        found = self._found(theta, plain(data))
        return self._effects.by_name(found.point.x + found.factor.sample(rng))

    def hessian(self, theta: Tree, *data: Tree) -> np.ndarray:
        """The Hessian of the log marginal, shape (p, p) for the p numbers of theta in the order of td.tree.ravel.

        By central differences of the exact gradient, with an error of about 1e-8 of its size. Cost: 2 p gradients.
        """
        vector, unravel = ravel(theta)
        rows = np.empty((len(vector), len(vector)))
        for k, step in enumerate(STEP * np.maximum(1.0, np.abs(vector))):
            ends = [ravel(self.gradient(unravel(vector + sign * step * np.eye(len(vector))[k]), *data))[0] for sign in (1.0, -1.0)]
            rows[k] = (ends[0] - ends[1]) / (2.0 * step)
        return 0.5 * (rows + rows.T)

    def report(self, theta: Tree, *data: Tree) -> Report:
        """Standard errors at the maximum of the marginal: of theta, of the random effects and of what is derived from both.

        Args:
            theta: the estimate; data: as for the value.

        Raises:
            Undetermined: the marginal falls in no direction along some parameters, or theta is no maximum.

        Cost: 2 p gradients, p solves, and the entries of one inverse.
        Source: Kass and Steffey (1989), Journal of the American Statistical Association 84(407); Kristensen et al. (2016), Journal of
            Statistical Software 70(5), section 2.
        """
        others = plain(data)
        curvature = self.hessian(theta, *others)
        mode = self._found(theta, others)
        score = leaves(jacobian(self._tapes.score, theta, mode.point.x, *others))
        slope = np.concatenate([np.reshape(block, (len(mode.point.x), -1)) for block in score], axis=1)

        def expected(g: UserFunction, value: Tree) -> Tree:
            tilted = Laplace(Tilted(self.f, g, self._effects.first), self._given[0], self._effects.every(mode.point.x), self.max_steps)
            return tilted.gradient((theta, np.zeros(np.shape(value))), *others)[1]

        return reported(self.f, self._effects, mode, (theta, *others), self._value(mode), -curvature, slope, expected)

    def importance(self, rng: np.random.Generator, theta: Tree, *data: Tree, draws: int = 1000) -> Importance:
        """The log marginal without the approximation's error: by importance sampling from the normal distribution at the mode.

        Args:
            rng: NumPy's generator.
            draws: of pairs of opposite effects.

        Returns:
            Importance(value, standard_error, laplace, effective_draws); print it for a sentence. Few effective draws of many effects mean
            that the weights tell little, not that the approximation is wrong.

        Cost: two values of the joint density for each draw.
        Source: Shephard and Pitt (1997), Biometrika 84(3).
        """
        import scipy.sparse  # which only this needs

        others = plain(data)
        found = self._found(theta, others)
        x, factor = found.point.x, found.factor
        pattern = found.point.analysis.pattern
        matrix = scipy.sparse.csr_array((found.point.precision, pattern.columns, pattern.starts), pattern.shape)
        steps = factor.sample(rng, draws)
        normal = 0.5 * factor.logdet() - 0.5 * len(x) * math.log(2.0 * math.pi) - 0.5 * np.sum(steps * (matrix @ steps.T).T, axis=1)
        joint = [[float(self._tapes.joint(theta, x + sign * step, *others)) for sign in (1.0, -1.0)] for step in steps]
        return weighed(np.array(joint) - normal[:, None], self._value(found))

    def profile(self, theta: Tree, *data: Tree, names: Sequence[str] | None = None, level: float = 0.95) -> Profiles:
        """Profile likelihoods and their confidence intervals, which need not be symmetric; infinite where the data set no bound.

        Args:
            theta: the maximum of the log marginal; data: as for the value.
            names: of numbers of theta, as "theta[1]" or "theta['scale']", with the name of the argument; all unless given.
            level: the probability that an interval covers the true value, in large samples.

        Returns:
            Profiles: found["theta[1]"].lower, .upper; .at and .values for a plot; print it for a table.

        Raises:
            Undetermined: theta is no maximum, or a higher value is found on the way.
            ArgumentMismatch: no such name, or level is no probability.

        Cost: the Hessian, and for each end three to six maximisations of the other parameters, each of five to twenty gradients.
        Source: Venzon and Moolgavkar (1988), Applied Statistics 37(1).
        """
        vector, unravel = ravel(theta)

        def objective(at: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = self.value_and_gradient(unravel(at), *data)
            return value, ravel(slope)[0]

        known = [self._effects.parameter + name.removeprefix("x") for name in names_of(theta)]
        return profiled(objective, vector, -self.hessian(theta, *data), known, names, level)

    def gradients_of_leaves(self, theta: Tree, others: Sequence[Tree], numbers: Sequence[int]) -> list[Operand | None]:
        """The gradient by these leaves of (theta, *others); None for those that are not floats."""
        sizes = [len(leaves(argument)) for argument in (theta, *others)]
        owner = np.repeat(np.arange(len(sizes)), sizes)
        is_float = [np.result_type(leaf).kind == "f" for leaf in leaves((theta, *others))]
        argnums = sorted({int(owner[k]) for k in numbers if is_float[k]})
        if not argnums:
            return [None] * len(numbers)
        found = self._gradients(self._found(theta, others), theta, others, tuple(argnums))
        by_leaf: list[Operand | None] = [None] * len(owner)
        for k, tree in zip(argnums, found):
            # A gradient has None for what is no float, which is no leaf.
            for place, leaf in zip([p for p in np.flatnonzero(owner == k) if is_float[p]], leaves(tree), strict=True):
                by_leaf[place] = leaf
        return [by_leaf[k] for k in numbers]

    # The mode

    def _found(self, theta: Tree, others: Sequence[Tree]) -> Mode:
        """The mode, from the last one; or from the given start if that fails."""
        at = lambda x: self._at(theta, x, others)  # noqa: E731 -- its name is its use
        found = None
        if self._last is not self._effects.start:
            with suppress(NotConverged, NotPositiveDefinite):
                found = find_mode(at, self._last, self._effects.name, self.max_steps)
        if found is None:
            found = find_mode(at, self._effects.start, self._effects.name, self.max_steps)
        self._last = found.point.x
        return found

    def _at(self, theta: Tree, x: np.ndarray, others: Sequence[Tree]) -> Point:
        value, gradient, entries, positions = value_gradient_and_hessian_entries(self._tapes.joint, (theta, x, *others), 1)
        precision = -np.ravel(np.asarray(entries, float))
        return Point(x, float(value), np.array(gradient, float), precision, self._analysis(positions, len(x)))

    def _analysis(self, positions: Entries | None, n: int) -> Analysis:
        """The symbolic factorisation; found by the positions' identity, or by the pattern where another path has the same."""
        for known, analysis in self._analyses:
            if known is positions and analysis.pattern.shape[0] == n:
                return analysis
        pattern = _pattern(positions, n)
        analysis = next((known for _, known in self._analyses if known.pattern == pattern), None) or analysed(pattern)
        self._analyses = [*self._analyses[1 - MOST_PATTERNS :], (positions, analysis)]
        return analysis

    def _value(self, mode: Mode) -> float:
        n = len(mode.point.x)
        return mode.point.value - 0.5 * mode.factor.logdet() + 0.5 * n * math.log(2.0 * math.pi)

    # The gradient

    def _gradients(self, mode: Mode, theta: Tree, others: Sequence[Tree], argnums: tuple[int, ...]) -> list[Tree]:
        """By theta (0) and data (1, 2, ...): the derivative of the value at fixed effects, and of the mode that moves with the arguments.

        The log-determinant's derivative is sum(Z dH), with the entries Z of the inverse where H has entries: the gradient of one number.
        By the implicit function theorem, the mode's part is that of the score along the solution of one system with H.
        """
        x, places = mode.point.x, [0 if k == 0 else k + 2 for k in argnums]
        z = mode.factor.inverse_values()
        (_, pattern), (by_x, *direct) = value_and_gradient(self._tapes.adjusted, theta, x, z, *others, argnums=(1, *places), has_aux=True)
        if pattern != mode.point.analysis.checksum:
            raise UnstableBranch("the Hessian has another pattern in its derivative than itself: a branch of the density is a near tie")
        moved = gradient(self._tapes.along_score, theta, x, mode.factor.solve(by_x), *others, argnums=tuple(places))
        return [tree_map(np.add, one, other) for one, other in zip(direct, moved)]


class Tapes:
    """The joint density and its derivatives as functions of theta, the vector of all effects and data, each compiled for all its paths.

    Attributes:
        joint: the density.
        adjusted: the density minus half of sum(Z H), where Z are given numbers; and the checksum of H's pattern.
        along_score: the score, which is the density's gradient by the effects, times a given vector.
        score: the score.
    """

    def __init__(self, f: UserFunction, effects: Effects) -> None:
        def flat(theta: Tree, x: Operand, *others: Tree) -> Operand:
            return f(*effects.arguments(theta, x, others))

        def adjusted(theta: Tree, x: Operand, z: Operand, *others: Tree) -> tuple[Operand, int]:
            value, _, entries, positions = value_gradient_and_hessian_entries(flat, (theta, x, *others), 1)
            return value + 0.5 * np.sum(z * np.reshape(entries, (-1,))), _pattern(positions, np.size(x)).checksum

        def score(theta: Tree, x: Operand, *others: Tree) -> Operand:
            return gradient(flat, theta, x, *others, argnums=1)

        def along_score(theta: Tree, x: Operand, v: Operand, *others: Tree) -> Operand:
            return np.sum(score(theta, x, *others) * v)

        flat.__name__ = getattr(f, "__name__", "f")  # for errors
        self.joint, self.score, self.along_score = GuardedTape(flat), GuardedTape(score), GuardedTape(along_score)
        self.adjusted = GuardedTape(adjusted, has_aux=True)


def _pattern(positions: Entries | None, n: int) -> Pattern:
    if positions is None:
        rows, columns = np.divmod(np.arange(n * n), n)
    else:
        rows, columns = positions.rows, positions.columns
    return Pattern(columns, np.searchsorted(rows, np.arange(n + 1)), (n, n))


def _again(f: UserFunction, random: str | Sequence[str], start: Mapping[str, Tree], max_steps: int) -> Laplace:
    return Laplace(f, random, start, max_steps)


class _AtLeaves:
    """The marginal as a function of the tracked leaves of its arguments, with its gradient and a derivative of that.

    Attributes:
        given: the leaves; None where one is tracked.
        tracked: their positions.
    """

    def __init__(self, marginal: Laplace, given: list[Operand | None], treedef: TreeDef, tracked: list[int]) -> None:
        self.marginal, self.given, self.treedef, self.tracked = marginal, given, treedef, tracked

    def _arguments(self, values: Sequence[Operand]) -> tuple[Tree, list[Tree]]:
        filled = list(self.given)
        for k, value in zip(self.tracked, values):
            filled[k] = value
        theta, *others = unflatten(self.treedef, filled)
        return theta, others

    def _gradients(self, values: Sequence[Operand]) -> list[Operand | None]:
        return self.marginal.gradients_of_leaves(*self._arguments(values), self.tracked)

    def forward(self, *values: Operand) -> tuple[float, tuple[Operand, ...]]:
        theta, others = self._arguments(values)
        return self.marginal(theta, *others), values

    def backward(self, values: Sequence[Operand], cotangent: float) -> tuple[Operand | None, ...]:
        return tuple(None if g is None else cotangent * g for g in self._gradients(values))

    def second(self, inputs: Sequence[Operand], v: Sequence[Operand]) -> list[Operand]:
        """The derivative of `backward` along v: a central difference of the exact gradient, as in Laplace.hessian."""
        *values, cotangent = inputs
        directions = iter(v)
        along = [next(directions) if np.result_type(value).kind == "f" else None for value in values]
        sizes = [np.max(np.abs(d) / np.maximum(1.0, np.abs(x)), initial=0.0) for d, x in zip(along, values) if d is not None]
        step = STEP / (max(sizes, default=0.0) or 1.0)
        sides = [
            self._gradients([x if d is None else x + signed * d for d, x in zip(along, values)]) for signed in (step, -step)
        ]  # fmt: skip
        ends = [(d, one, other) for d, one, other in zip(along, *sides) if d is not None]
        slope = sum(0.5 * np.sum((one + other) * d) for d, one, other in ends)
        return [*((one - other) * (0.5 * cotangent / step) for _, one, other in ends), slope]


def _recorded(marginal: Laplace, given: list[Operand], treedef: TreeDef, tracked: list[int]) -> Operand:
    """One instruction: the value, and by the rule the gradient in all tracked leaves of the arguments that are floats."""
    at = _AtLeaves(marginal, [None if k in tracked else leaf for k, leaf in enumerate(given)], treedef, tracked)
    name = f"laplace of {getattr(marginal.f, '__name__', 'f')}"
    return Primitive(at.forward, at.backward, name, False, at.second)(*(given[k] for k in tracked))


def laplace(f: UserFunction, random: str | Sequence[str] = "u", *, start: Mapping[str, Tree], max_steps: int = 200) -> Laplace:
    """The marginal log density of parameters: random effects are integrated out by Laplace's approximation, with exact gradients.

    Args:
        f: the joint log density f(theta, u, *data), in plain NumPy, twice differentiable in u and with all its constants.
        random: the name of the argument that holds the random effects, or a tuple of several names.
        start: by name, where the first search for their mode starts, of their shapes (float64; containers, too).
        max_steps: of Newton's method.

    Returns:
        Laplace m: m(theta, *data), m.value_and_gradient, m.gradient, m.hessian, m.mode and m.report. theta is the first argument of f
        that is not random, an array or a container. m is a function for all of tapediff: td.gradient(m, theta), a term of a
        td.Posterior; these call it through Python, and have first derivatives, and second ones by central differences of the gradient.

    Raises:
        ArgumentMismatch: random or start do not fit the arguments of f.
        NotConverged: the mode is not found, with what a step still promises; at a call.
        NotPositiveDefinite: the joint density is flat at its mode, or the point is a saddle, with the effect; at a call.

    The value is log f(theta, mode) - log det(H / 2 pi) / 2, with H minus the Hessian of the log density in u at the mode: exact where the
    density is normal in u, and else for effects that data or the prior determine well. Each search starts at the last mode, so the value
    depends on earlier calls by rounding, and by the mode that is found if there are several.

    Cost: two to five Newton steps, each of one sparse Hessian and one factorisation; for the gradient, the inverse on H's pattern, a
        third derivative, and two solves, about as much as three steps. Memory in proportion to the entries of H's factor.
    Source: Tierney and Kadane (1986), Journal of the American Statistical Association 81(393); Skaug and Fournier (2006), Computational
        Statistics and Data Analysis 51(2); Kristensen et al. (2016), Journal of Statistical Software 70(5).

    ```python
    def joint(theta, u, y):  # a random walk of counts
        walk = td.stats.norm.logpdf(np.diff(u), 0.0, np.exp(theta[0])).sum() + td.stats.norm.logpdf(u[0], 0.0, 3.0)
        return walk + td.stats.poisson.logpmf(y, np.exp(u)).sum()

    y = np.random.default_rng(1).poisson(3.0, 500)
    m = td.laplace(joint, random="u", start={"u": np.ones(500)})
    value, gradient = m.value_and_gradient(np.array([-1.0]), y)
    ```
    """
    return Laplace(f, random, start, max_steps)
