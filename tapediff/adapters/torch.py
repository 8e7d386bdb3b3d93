"""PyTorch: compiled gradients as operations of its graphs, and its functions as operations on tapes; for tensors in the processor's memory.

`pip install tapediff[torch]` installs it. Source: torch.autograd.Function in PyTorch's reference; tried with 2.13.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from ..functions.primitive import Primitive, primitive
from ..ir.arguments import Constant
from ..ir.instruction import Target, Tree
from ..targets.compiled_tape import CompiledTape
from ..targets.guarded_tape import GuardedTape
from . import of_posterior

# An object of PyTorch's, whose classes are known only where it is installed.
Foreign: TypeAlias = Any


def to_torch(target: Target, *constants: Tree) -> Callable[..., Foreign]:
    """A function of tensors, differentiated once by the compiled gradient.

    Args:
        target: a function, a CompiledTape or a GuardedTape, which maps arrays of floats to a number; or a td.Posterior.
        constants: arguments behind the tensors, the same at every call; arrays are data.

    Returns:
        f(*tensors), which gives a tensor of shape (); float64 tensors share their memory with the arrays that the target sees, float32
        tensors are widened, and results rounded.

    Raises:
        ImportError: PyTorch is not installed.
        TypeError: a tensor on another device than the processor, or of whole numbers; or no tensor.

    Cost: the kernel, and 19 µs beside a torch.autograd.Function that computes nothing, which takes 60: for one float64 tensor, whose
        gradient is not scaled on its way; else 10 µs more.
    """
    torch = _torch()
    target, constants = of_posterior(target, constants)
    tape = target if isinstance(target, (CompiledTape, GuardedTape)) else GuardedTape(target)
    rest = tuple(Constant(c) if isinstance(c, np.ndarray) else c for c in constants)

    both, value_of, array = tape.value_and_gradient, tape, np.array
    is_grad_enabled, from_numpy, float64 = torch.is_grad_enabled, torch.from_numpy, torch.float64
    tensor_types = frozenset((torch.Tensor, torch.nn.Parameter))

    def scaled(ctx: Foreign, cotangent: Foreign) -> Foreign:
        if ctx.at is None:
            # New arrays at each call: PyTorch may add to them where they are.
            factor = cotangent.item()
            return tuple([g if g is None else from_numpy(array(g * factor)).to(d) for g, d in zip(ctx.gradients, ctx.dtypes)])
        if ctx.gradient is None:  # handed out before, in a graph that was kept
            x, version = ctx.at
            if x._version != version:
                raise RuntimeError("the tensor that was differentiated by has been changed in place since; fix: call the function again")
            return from_numpy(both(x.detach().numpy(), *rest)[1]) * cotangent
        return ctx.gradient * cotangent

    with_a_graph = torch.autograd.function.once_differentiable(scaled)

    class Compiled(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Foreign, *tensors: Foreign) -> Foreign:
            """The value; the gradients by the tensors that want them are kept."""
            x = tensors[0]
            if len(tensors) == 1 and type(x) in tensor_types and x.dtype is float64 and x.requires_grad and x.ndim:
                value, gradient = both(x.detach().numpy(), *rest)
                ctx.gradient, ctx.at = from_numpy(gradient), (x, x._version)
                return from_numpy(array(value))
            return several(ctx, tensors)

        @staticmethod
        def backward(ctx: Foreign, cotangent: Foreign) -> Foreign:
            """The kept gradients times the cotangent."""
            # PyTorch's own wrapper, which refuses second derivatives, takes 30 µs; only a graph of the gradient needs it.
            if is_grad_enabled():
                return with_a_graph(ctx, cotangent)
            gradient = ctx.gradient
            if gradient is not None and cotangent.item() == 1.0:
                # As at the end of every graph. A product takes 10 µs here, where nothing of it is in the processor's cache.
                ctx.gradient = None
                return gradient
            return scaled(ctx, cotangent)

    def several(ctx: Foreign, tensors: tuple[Foreign, ...]) -> Foreign:
        for k, t in enumerate(tensors):
            if not isinstance(t, torch.Tensor) or not t.is_floating_point():
                what = t.dtype if isinstance(t, torch.Tensor) else type(t).__name__
                fix = "data go behind the function: to_torch(f, data)" if k else "torch.tensor(x, dtype=torch.float64)"
                raise TypeError(f"argument {k} is {what}, and has to be a tensor of floats; fix: {fix}")
        arrays = [t.detach().numpy().astype(np.float64, copy=False) for t in tensors]
        dtypes = ctx.dtypes = [t.dtype for t in tensors]
        ctx.gradient = ctx.at = None
        gradients = ctx.gradients = [None] * len(arrays)
        argnums = tuple([k for k, needed in enumerate(ctx.needs_input_grad) if needed])
        if argnums:
            value, found = both(*arrays, *rest, argnums=argnums)
            for k, gradient in zip(argnums, found):
                gradients[k] = gradient
        else:
            value = value_of(*arrays, *rest)
        return from_numpy(array(value)).to(dtypes[0])

    return Compiled.apply


def from_torch(f: Callable[..., Foreign], name: str | None = None) -> Primitive:
    """A function of tensors as an operation on tapes, of arrays; its derivative is PyTorch's.

    Args:
        f: maps float64 tensors to a tensor.
        name: in messages.

    Calls go through Python, 20 to 100 µs; the derivative runs f once more.
    """
    torch = _torch()

    def tensors_of(arrays: tuple[np.ndarray, ...]) -> list[Foreign]:
        return [torch.tensor(np.asarray(a, dtype=np.float64)) for a in arrays]

    def forward(*arrays: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        with torch.no_grad():
            return np.asarray(f(*tensors_of(arrays)).numpy(), dtype=np.float64), arrays

    def backward(saved: tuple[np.ndarray, ...], cotangent: np.ndarray) -> Tree:
        inputs = [tensor.requires_grad_() for tensor in tensors_of(saved)]
        parts = torch.autograd.grad(
            f(*inputs), inputs, torch.tensor(np.asarray(cotangent, dtype=np.float64)), allow_unused=True
        )
        cotangents = [np.zeros(a.shape) if part is None else part.numpy() for part, a in zip(parts, saved)]
        return tuple(cotangents) if len(cotangents) > 1 else cotangents[0]

    return primitive(forward, backward, name=name or getattr(f, "__name__", "of_torch"))


def _torch() -> Foreign:
    try:
        return import_module("torch")
    except ImportError as missing:
        raise ImportError("this adapter needs PyTorch; fix: pip install tapediff[torch]") from missing
