"""PyMC and PyTensor: compiled gradients as Ops, in models and in every program that PyTensor compiles.

PyTensor compiles with numba, which calls the C function of a target by its address; so does nutpie.
`pip install 'tapediff[pymc]'` installs it. Source: PyTensor's guide on Ops in numba; tried with PyMC 5.28 and PyTensor 2.38.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from ..errors import ArgumentMismatch
from ..ir.arguments import Constant
from ..ir.instruction import Target, Tree
from ..targets.compiled_tape import CompiledTape
from ..targets.guarded_tape import GuardedTape
from ..targets.native.c_function import CFunction
from . import gradient_at, of_posterior, required

# An object of PyTensor, PyMC or numba, whose class exists only if they are installed.
Foreign: TypeAlias = Any


def to_pytensor(target: Target, *args: Tree) -> Callable[..., Foreign]:
    """A function of PyTensor variables, differentiated once by the compiled gradient: `pm.Potential("likelihood", f(mu, tau))`.

    Args:
        target: a function, a CompiledTape or a GuardedTape, which maps arrays of floats to a number; or a td.Posterior.
        args: of a call: they give the shapes of all calls. td.Constant for data, which are fixed. None for a td.Posterior.

    Returns:
        f(*variables) for the arguments that are not constants; returns a float64 scalar. Its attribute `c_function` is the C function, with
        set_constants() and take_error().

    Raises:
        ImportError: PyTensor is not installed.
        ArgumentMismatch: an argument that is neither an array of floats nor a constant.

    If a factorisation fails, value and gradient are NaN, which samplers reject. An exception of the function is raised in
    PyTensor's functions, by numba with a constant text: `c_function.take_error()` returns the error itself. nutpie takes every error of a
    PyMC model as the rejection of a point; `sample` of this module does not.

    Cost: inside a compiled program, the kernel and 0.1 to 0.3 µs.
    """
    pt = _pytensor().tensor
    target, args = of_posterior(target, args, example=True)
    tape = target if isinstance(target, (CompiledTape, GuardedTape)) else GuardedTape(target)
    arrays = [np.asarray(a) for a in args if not isinstance(a, Constant)]
    op = _op_class()(tape, args)
    if any(a.dtype.kind != "f" for a in arrays) or op.density.sizes[0] != sum(a.size for a in arrays):
        raise ArgumentMismatch("to_pytensor takes arrays of floats, and td.Constant for everything else",
                               got=f"{len(args)} arguments", fix="give the arrays of containers one by one")  # fmt: skip

    def f(*variables: Foreign) -> Foreign:
        if len(variables) != len(arrays):
            raise ArgumentMismatch("another number of arguments", got=f"{len(arrays)} wanted, {len(variables)} given")
        flat = []
        for variable, array in zip(map(pt.as_tensor_variable, variables), arrays):
            shape = variable.type.shape
            if len(shape) != array.ndim or any(n not in (None, m) for n, m in zip(shape, array.shape)):
                raise ArgumentMismatch("the function was made for arrays of other shapes", got=f"{shape} for {array.shape}",
                                       fix="make another with to_pytensor")  # fmt: skip
            flat.append(pt.cast(variable, "float64").ravel())
        return op(flat[0] if len(flat) == 1 else pt.concatenate(flat))[0]

    vars(f)["c_function"] = op.density
    return f


def sample(model: Foreign = None, **options: Foreign) -> Foreign:
    """`nutpie.sample` of a PyMC model, but an error of a compiled function is raised as itself.

    nutpie takes every exception of such a model as the rejection of a point, and so would sample another distribution. Here each function
    rejects every point after its first fault, so that the run soon ends, and then the fault is raised.

    Args:
        model: a PyMC model; the one of the context unless given.
        options: of nutpie.sample.
    """
    nutpie, pymc = import_module("nutpie"), import_module("pymc")
    ancestors = import_module("pytensor.graph.traversal").ancestors
    model = pymc.modelcontext(model)
    ops = {v.owner.op for v in ancestors([model.logp()]) if v.owner and isinstance(v.owner.op, _op_class())}
    for op in ops:
        op.start(stops=True)
    compiled, failure, trace = nutpie.compile_pymc_model(model, backend="numba"), None, None
    try:
        trace = nutpie.sample(compiled, **options)
    except Exception as raised:
        if not any(op.fault for op in ops):
            raise
        failure = raised
    faults = [op.error() for op in ops if op.fault]
    for op in ops:
        op.start(stops=False)
    if faults:
        raise faults[0] from failure
    return trace


@lru_cache(maxsize=1)
def _op_class() -> Foreign:
    """PyTensor's Op of value and gradient of one vector, made when PyTensor is first used."""
    pytensor = _pytensor()
    Apply, pt = pytensor.graph.basic.Apply, pytensor.tensor

    # Without __props__: equal only if identical.
    class ValueAndGradient(pytensor.graph.op.Op):  # type: ignore[misc]
        def __init__(self, tape: CompiledTape | GuardedTape, args: tuple[Tree, ...]) -> None:
            self.made_of = tape, args
            self.density: CFunction = gradient_at(tape, args)
            self.constants = self.density._constants[-1:]
            self.function = self.density.as_numba(status=True)
            self.state = np.zeros(2, np.int64)  # the code of a fault; 1 if all points are rejected from then on

        def __reduce__(self) -> tuple[Foreign, ...]:
            if self.density._constants[-1:] != self.constants:
                raise ArgumentMismatch("the data of a function that is sent to another process were replaced by set_constants",
                                       fix="make another function with to_pytensor and these data")  # fmt: skip
            return _op, self.made_of

        def __str__(self) -> str:
            return f"tapediff({self.made_of[0].name})"

        @property
        def fault(self) -> int:
            """The code of a fault since the last `start`, or 0."""
            return int(self.state[0])

        def start(self, *, stops: bool) -> None:
            self.state[:] = 0, stops
            self.density.take_error()

        def error(self) -> BaseException:
            return self.density.fault(self.fault)

        def make_node(self, x: Foreign) -> Foreign:
            x = pt.as_tensor_variable(x)
            return Apply(self, [x], [pt.scalar(dtype="float64"), pt.vector(dtype="float64", shape=x.type.shape)])

        def perform(self, node: Foreign, inputs: list[np.ndarray], output_storage: list[list[Foreign]]) -> None:
            x = np.ascontiguousarray(inputs[0])
            gradient = np.empty_like(x)
            code, value = self.function(x, gradient)
            if code < 0:
                raise self.density.fault(int(code))
            if code in (2, 3):
                gradient[:] = np.nan
            output_storage[0][0], output_storage[1][0] = np.asarray(value), gradient

        def infer_shape(self, *given: Foreign) -> Foreign:
            """The shapes of the outputs, from the graph (up to PyTensor 2), the node, and the shapes of inputs."""
            return [(), given[-1][0]]

        def pullback(self, inputs: Foreign, outputs: Foreign, cotangents: Foreign) -> Foreign:
            if not isinstance(cotangents[1].type, pytensor.gradient.DisconnectedType):
                raise NotImplementedError(f"{self} is differentiated once; second derivatives: td.hessian, td.hvp")
            return [cotangents[0] * outputs[1]]

        L_op = pullback  # its name up to PyTensor 2

    _register_for_numba(ValueAndGradient)
    return ValueAndGradient


def _op(tape: CompiledTape | GuardedTape, args: tuple[Tree, ...]) -> Foreign:
    """Unpickle an Op."""
    return _op_class()(tape, args)


def _register_for_numba(kind: Foreign) -> None:
    """Register the function that PyTensor's numba programs call; it is not cached on disk, as addresses differ in the next process."""
    from numba import carray  # pyright: ignore[reportPrivateImportUsage] -- documented as numba.carray

    from .jax import as_pointer

    basic = import_module("pytensor.link.numba.dispatch.basic")
    pointer = as_pointer()

    @basic.numba_funcify.register(kind)
    def funcify(op: Foreign, node: Foreign = None, **kwargs: Foreign) -> Foreign:
        function, address = op.function, op.state.ctypes.data

        @basic.numba_njit
        def value_and_gradient(x):  # type: ignore[no-untyped-def]
            state = carray(pointer(address), 2, np.int64)
            gradient = np.empty(x.size)
            if state[0] != 0 and state[1] != 0:
                raise RuntimeError("tapediff: a function has failed before, whose c_function.take_error() gives the error")
            code, value = function(np.ascontiguousarray(x), gradient)
            if code < 0:
                state[0] = code
                raise RuntimeError("tapediff: a function has raised an error, which its c_function.take_error() gives")
            if code == 2 or code == 3:
                gradient[:] = np.nan
            return np.asarray(value), gradient

        return value_and_gradient


def _pytensor() -> Foreign:
    required("pytensor.tensor", "PyTensor", "'tapediff[pymc]'")
    return import_module("pytensor")
