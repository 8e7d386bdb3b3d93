"""The log density of named parameters over one unconstrained vector, with its derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from ..base.wrapper import Wrapper
from ..errors import PosteriorError, hide_frames, hides_frames
from ..functions.captured.pickling import Portable
from ..ir.arguments import Constant
from ..ir.instruction import Tree, UserFunction
from ..ir.pytree import flatten, unflatten
from ..marginals.discrete import Discrete, marginal
from ..recording.recorder import current_recorder
from ..targets.evaluate.fixed_calls import FixedCalls
from ..targets.guarded_tape import GuardedTape
from ..targets.native.c_function import CFunction
from .layout import Layout, lay_out, scalar_names
from .parameters import Parameter
from .signatures import RANDOM, WithDrawn, check_names, random_argument
from .starts import points_with_a_value
from .transforms import Array, Shape


class NamedDensity:
    """The part of td.Posterior for points and derivatives; see there for the arguments."""

    def __init__(
        self, log_density: UserFunction, *, data: Mapping[str, Tree] | None = None,
        coords: Mapping[str, int | Sequence[Tree]] | None = None, generated: UserFunction | None = None,
        dims: Mapping[str, str | Sequence[str]] | None = None, parameters: Mapping[str, Parameter | Discrete] | None = None,
        options: Mapping[str, Tree] | None = None, prior: UserFunction | None = None,
        log_likelihood: UserFunction | str | Sequence[str] | None = None, **named: Parameter | Discrete,
    ) -> None:  # fmt: skip
        given = {**(parameters or {}), **named}
        summed = {name: values for name, values in given.items() if isinstance(values, Discrete)}
        if summed:
            check_names(log_density, "log_density", {*given, *(data or {})}, may_leave_out=False)
            log_density = marginal(log_density, **summed)
            generated = WithDrawn(log_density, generated)
        self.parameters = {name: values for name, values in given.items() if not isinstance(values, Discrete)}
        for name, parameter in self.parameters.items():
            if not isinstance(parameter, Parameter):
                what = f"{parameter.__name__} itself" if callable(parameter) else type(parameter).__name__
                fix = f'{name}=td.real(), called, or data={{"{name}": ...}} for data'
                raise PosteriorError(f"{name!r} is {what}, and has to be a parameter", got=parameter, fix=fix)
        if not self.parameters:
            raise PosteriorError("no parameters", got=self.parameters, fix="td.Posterior(f, mu=td.real(), tau=td.positive())")
        self.coords = {dim: _entries(entries) for dim, entries in (coords or {}).items()}
        self._data = {name: _as_data(value) for name, value in (data or {}).items()}
        self._constants = cast(Tree, Constant(self._data))
        self.generated, self.prior = generated, prior
        self.pointwise: UserFunction | tuple[str, ...] | None = (
            (log_likelihood,) if isinstance(log_likelihood, str)
            else log_likelihood if callable(log_likelihood) or log_likelihood is None else tuple(log_likelihood)
        )  # fmt: skip
        self.dims = {name: tuple(p.dims) for name, p in self.parameters.items() if p.dims} | {
            k: (v,) if isinstance(v, str) else tuple(v) for k, v in (dims or {}).items()
        }
        both = self.parameters.keys() & self._data.keys()
        if both:
            raise PosteriorError("parameter and data of one name", got=both, fix="rename one of them")
        check_names(log_density, "log_density", {*self.parameters, *self._data}, may_leave_out=False)
        if generated is not None:
            check_names(generated, "generated", {*self.parameters, *self._data, *RANDOM}, may_leave_out=True)
        if callable(self.pointwise):
            check_names(self.pointwise, "log_likelihood", {*self.parameters, *self._data}, may_leave_out=True)
        elif self.pointwise is not None and generated is None:
            fix = "a function, or generated= that returns these"
            raise PosteriorError("log_likelihood names what generated returns, which is missing", got=self.pointwise, fix=fix)
        if prior is not None:
            check_names(prior, "prior", {*self._data, *RANDOM}, may_leave_out=True)
            if random_argument(prior, {*self._data}) is None:
                raise PosteriorError("prior draws nothing", got=prior, fix="an argument rng, a numpy.random.Generator, or key")
        self.layout: Layout = lay_out(self.parameters, {dim: len(entries) for dim, entries in self.coords.items()})
        self._options: dict[str, Tree] = {
            "name": getattr(log_density, "__name__", "<lambda>").replace("<lambda>", "log_density"),
            **(options or {}),
        }
        self._density = _Density(log_density, self.layout, jacobian=True)
        self._tape = GuardedTape(self._density, **self._options)
        self.native_calls = FixedCalls(self._tape, (self._constants,), owned=True)
        self._ints_change = False
        self._without_jacobian: GuardedTape | None = None
        self._c_function: CFunction | None = None

    # Properties

    @property
    def data(self) -> dict[str, Tree]:
        """The data, by name; `set_data` replaces them."""
        return dict(self._data)

    @property
    def function(self) -> UserFunction:
        """The user's log density of parameters and data by name."""
        return self._density.log_density

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all constrained numbers, as "mu" and "z[0]", in the order of `constrain`."""
        return tuple(entry for block in self.layout.blocks for entry in scalar_names(block.name, block.shape))

    @property
    def unconstrained_names(self) -> tuple[str, ...]:
        """The names of the entries of the unconstrained vector."""
        return tuple(
            entry for block in self.layout.blocks for entry in scalar_names(block.name, block.unconstrained_shape)
        )

    @property
    def shapes(self) -> dict[str, Shape]:
        """The shape of each parameter's value."""
        return {block.name: block.shape for block in self.layout.blocks}

    def param_num(self) -> int:
        """The number of constrained numbers."""
        return len(self.names)

    def param_unc_num(self) -> int:
        """The size of the unconstrained vector."""
        return self.layout.size

    @property
    def constants(self) -> Tree:
        """The data as the second argument of `tape`."""
        return self._constants

    @property
    def tape(self) -> GuardedTape:
        """The tapes of the log density of (u, td.Constant(data)): for `explain()`, `margins`, and all other operations on targets."""
        return self._tape

    @hides_frames
    def set_data(self, values: Mapping[str, Tree] | None = None, /, **data: Tree) -> None:
        """Replace some or all data, by name or in a dict; compiles for new dtypes, axes or nesting, or many calls of new sizes.

        Raises:
            PosteriorError: a name that is not among the data.
        """
        new = {name: _as_data(value) for name, value in {**(values or {}), **data}.items()}
        unknown = new.keys() - self._data.keys()
        if unknown:
            raise PosteriorError(f"no data of the name {', '.join(sorted(unknown))}", got=set(self._data), fix="one of these names")
        # Native code is specialised on Python ints; calls from Python take them as data once they have changed.
        self._ints_change |= any(type(v) is int and v != self._data[name] for name, v in new.items())
        self._data = {**self._data, **new}
        self._constants = cast(Tree, Constant(self._data))
        self._c_function = None
        self.native_calls.reset((self._constants,), off=self._ints_change)

    # Transforms between the vector and the parameters

    @hides_frames
    def constrain(self, u: Array) -> dict[str, Array]:
        """The parameters at unconstrained points, plain arrays.

        Args:
            u: shape (..., param_unc_num()); leading axes, such as chains and draws, come in front of each result's shape.
        """
        point = np.asarray(u, dtype=np.float64)
        if point.ndim == 0 or point.shape[-1] != self.layout.size:
            fix = "post.unconstrain({...}) makes one of values"
            raise PosteriorError(f"unconstrained points have {self.layout.size} numbers", got=f"shape {point.shape}", fix=fix)
        return self.layout.constrain_rows(point)

    @hides_frames
    def unconstrain(self, values: Mapping[str, Tree] | None = None, /, **named: Tree) -> Array:
        """The unconstrained point of the parameters' values, given as a dict or by name.

        Raises:
            PosteriorError: a value outside of its support, or of another shape; a name too many or too few.
        """
        return self.layout.unconstrain({**(values or {}), **named})

    # Log density and derivatives, at unconstrained points

    def log_density(self, u: Array, *, jacobian: bool = True) -> float:
        """The log density at an unconstrained point; without the log-Jacobian, that of the constrained parameters."""
        try:
            if jacobian and current_recorder() is None:
                value = self.native_calls.value(u)
                if type(value) is float:
                    return value
                self.native_calls.raise_kept(value)
            found = self._target(jacobian)(_as_point(u), self._constants)
            if jacobian:
                self.native_calls.learn("value", u)
            return cast(float, found)
        except BaseException as error:
            hide_frames(error)
            raise

    def log_density_gradient(self, u: Array, *, jacobian: bool = True, out: Array | None = None) -> tuple[float, Array]:
        """Value and gradient; `out` receives the gradient."""
        try:
            if jacobian and current_recorder() is None:
                calls = self.native_calls
                gradient = np.empty(calls.size) if out is None else out
                value = calls.gradient(u, gradient)
                if type(value) is float:
                    return value, gradient
                calls.raise_kept(value)
            found = self._target(jacobian).value_and_gradient(_as_point(u), self._constants, out=out)
            if jacobian:
                self.native_calls.learn("gradient", u)
            return found
        except BaseException as error:
            hide_frames(error)
            raise

    @hides_frames
    def log_density_hessian(self, u: Array, *, jacobian: bool = True) -> tuple[float, Array, Array]:
        """Value, gradient and Hessian."""
        hessian = self._target(jacobian).value_gradient_and_hessian
        return cast(tuple[float, Array, Array], hessian(_as_point(u), self._constants))

    @hides_frames
    def log_density_hessian_vector_product(self, u: Array, v: Array, *, jacobian: bool = True) -> tuple[float, Array]:
        """Value, and Hessian times v."""
        value, _, product = self._target(jacobian).value_gradient_and_hvp(_as_point(u), _as_point(v), self._constants)
        return cast(float, value), cast(Array, product)

    @hides_frames
    def plain_log_density(self, u: Array) -> float:
        """The log density by plain Python and NumPy, without a tape: the reference for all others."""
        return float(self._density(np.asarray(u, dtype=np.float64), self._data))

    @hides_frames
    def example_point(self) -> Array:
        """A point with a finite log density, the same each time: the origin, or a random one. The origin if none is found."""
        found = points_with_a_value(self.plain_log_density, self.layout.size, np.random.default_rng(0))
        return next(found, np.zeros(self.layout.size))

    @hides_frames
    def batch(self, u: Array) -> tuple[Array, Array]:
        """Values and gradients at every row of u, in as many threads as pay off; see GuardedTape.batch."""
        return cast(tuple[Array, Array], self._tape.batch(_as_point(u), self._constants))

    @hides_frames
    def c_function(self) -> CFunction:
        """Value and gradient as a C function; see GuardedTape.c_function. A new one after `set_data`; each keeps its data."""
        if self._c_function is None:
            self._c_function = self._tape.c_function("gradient", self.example_point(), self._constants)
        return self._c_function

    @property
    def address(self) -> int:
        """The address of `c_function()`, for compiled samplers; `user_data` is its last argument. Get both again after `set_data`."""
        return self.c_function().address

    @property
    def user_data(self) -> int:
        """The last argument of the C function."""
        return self.c_function().user_data

    def __getstate__(self) -> dict[str, object]:
        """Functions by name, or by cloudpickle if that is in use; without the C function, which belongs to this process."""
        functions = Portable(self._density.log_density), Portable(self.generated), Portable(self.prior), Portable(self.pointwise)
        here = dict.fromkeys(("generated", "prior", "pointwise", "_without_jacobian", "_c_function", "native_calls"))
        return {**vars(self), **here, "_density": functions}

    def __setstate__(self, state: dict[str, Tree]) -> None:
        vars(self).update(state)
        # Without pickling in between, as in copy.copy, they still hold the functions themselves.
        functions: list[Tree] = [f.value if isinstance(f, Portable) else f for f in state["_density"]]
        self._density = _Density(functions[0], self.layout, jacobian=True)
        self.generated, self.prior, self.pointwise = functions[1:]
        self.native_calls = FixedCalls(self._tape, (self._constants,), owned=True)

    def _target(self, jacobian: bool) -> GuardedTape:
        if jacobian:
            return self._tape
        if self._without_jacobian is None:
            density = _Density(self._density.log_density, self.layout, jacobian=False)
            self._without_jacobian = GuardedTape(density, **self._options)
        return self._without_jacobian


class _Density(Wrapper):
    """The recorded function of (u, data)."""

    calls = "log_density"

    def __init__(self, log_density: UserFunction, layout: Layout, *, jacobian: bool) -> None:
        self.log_density, self.layout, self.jacobian = log_density, layout, jacobian

    def __call__(self, u: Array, data: Mapping[str, Tree]) -> Tree:
        values, log_jacobian = self.layout.constrain(u)
        value = self.log_density(**values, **data)
        if value is None:
            raise PosteriorError("the log density is None", got=self.log_density, fix="a function ends with `return` and the number")
        if np.size(value) != 1:  # fixed on a tape, so that this check costs calls nothing
            raise PosteriorError("the log density has to be one number", got=f"shape {np.shape(value)}", fix="add terms up, with .sum()")
        return value + log_jacobian if self.jacobian else value


def _entries(given: int | Sequence[Tree]) -> tuple[Tree, ...]:
    return tuple(range(given)) if isinstance(given, (int, np.integer)) else tuple(given)


def _as_point(u: Array) -> Array:
    """Convert lists, integers and other precisions to float64; tracked arrays stay as they are."""
    if isinstance(u, Mapping):
        raise PosteriorError("the point is a dict, and has to be an unconstrained vector", got=u, fix="post.unconstrain(values)")
    if isinstance(u, (list, tuple, int, float)) or (isinstance(u, np.ndarray) and u.dtype != np.float64):
        return np.asarray(u, dtype=np.float64)
    return u


def _as_data(value: Tree) -> Tree:
    """Copy arrays, so that later changes by the caller stay outside; convert columns of data frames and lists of numbers to arrays."""
    if isinstance(value, Mapping):
        return {name: _as_data(part) for name, part in value.items()}
    if hasattr(value, "to_numpy"):
        return np.array(value.to_numpy())
    if isinstance(value, list):
        try:
            array = np.array(value)
        except ValueError:  # arrays of several lengths
            return [_as_data(part) for part in value]
        if array.dtype.kind in "fiub":
            return array
    leaves, treedef = flatten(value)
    return unflatten(treedef, [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves])
