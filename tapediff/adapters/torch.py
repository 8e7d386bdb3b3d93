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

# An object of PyTorch's, whose classes are known only where it is installed.
Foreign: TypeAlias = Any


def to_torch(target: Target, *constants: Tree) -> Callable[..., Foreign]:
    """A function of tensors, differentiated once by the compiled gradient.

    Args:
        target: a function, a CompiledTape or a GuardedTape; maps arrays of floats to a number.
        constants: arguments behind the tensors, the same at every call; arrays are data.

    Returns:
        f(*tensors), which gives a tensor of shape (); float64 tensors share their memory with the arrays that the target sees, float32
        tensors are widened, and results rounded.

    Raises:
        ImportError: PyTorch is not installed.
        TypeError: a tensor on another device than the processor.

    Cost: the kernel, and 10 to 20 µs of PyTorch's own.
    """
    torch = _torch()
    tape = target if isinstance(target, (CompiledTape, GuardedTape)) else GuardedTape(target)
    rest = tuple(Constant(c) if isinstance(c, np.ndarray) else c for c in constants)

    class Compiled(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Foreign, *tensors: Foreign) -> Foreign:
            """The value; the gradient is kept."""
            arrays = [t.detach().numpy().astype(np.float64, copy=False) for t in tensors]
            value, gradients = tape.value_and_gradient(*arrays, *rest, argnums=tuple(range(len(arrays))))
            # The answer of a call with one argnum is a tuple as well.
            ctx.gradients = [torch.from_numpy(np.asarray(g)).to(t.dtype) for g, t in zip(gradients, tensors)]
            return torch.tensor(value, dtype=tensors[0].dtype)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Foreign, cotangent: Foreign) -> tuple[Foreign, ...]:
            """The kept gradient times the cotangent."""
            return tuple(cotangent * gradient for gradient in ctx.gradients)

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
