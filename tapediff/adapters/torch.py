"""PyTorch: compiled gradients as operations of its graphs, and its functions as operations on tapes; for CPU tensors.

`pip install 'tapediff[torch]'` installs it. Source: torch.autograd.Function in PyTorch's reference; tried with 2.13.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ..functions.primitive import Primitive, primitive
from ..ir.arguments import Constant
from ..ir.instruction import Target, Tree
from ..targets.compiled_tape import CompiledTape
from ..targets.guarded_tape import GuardedTape
from . import of_posterior, required

# A PyTorch object, whose class exists only if it is installed.
Foreign: TypeAlias = Any


def to_torch(target: Target, *constants: Tree) -> Callable[..., Foreign]:
    """A function of tensors, whose first and second derivatives are compiled.

    Args:
        target: a function, a CompiledTape or a GuardedTape, which maps arrays of floats to a number; or a td.Posterior.
        constants: arguments after the tensors, the same at every call; arrays are data.

    Returns:
        f(*tensors), which returns a tensor of shape (); float64 tensors share their memory with the target's arrays, others
        are widened, and results rounded.

    Raises:
        ImportError: PyTorch is not installed.
        TypeError: a tensor that is not on the CPU, or has integers; or not a tensor.

    A gradient made with create_graph=True can be differentiated once more, by Hessian-vector products; for a third
    derivative PyTorch raises an error.

    Cost: the kernel, and 19 µs more than a torch.autograd.Function that computes nothing, which takes 60: for one float64 tensor, whose
        gradient is not scaled on its way; else 10 µs more.
    """
    torch: Foreign = required("torch", "PyTorch", "'tapediff[torch]'")
    target, constants = of_posterior(target, constants)
    tape = target if isinstance(target, (CompiledTape, GuardedTape)) else GuardedTape(target)
    rest = tuple(Constant(c) if isinstance(c, np.ndarray) else c for c in constants)

    both, value_of, array = tape.value_and_gradient, tape, np.array
    is_grad_enabled, from_numpy, float64 = torch.is_grad_enabled, torch.from_numpy, torch.float64
    tensor_types = frozenset((torch.Tensor, torch.nn.Parameter))
    gradients_of = _gradients(torch, tape, rest)

    def scaled(ctx: Foreign, cotangent: Foreign) -> Foreign:
        if ctx.gradients is not None:
            # New arrays at each call: PyTorch may add to them in place.
            factor, tensors = cotangent.item(), ctx.at[0]
            return tuple([g if g is None else from_numpy(array(g * factor)).to(t.dtype) for g, t in zip(ctx.gradients, tensors)])
        if ctx.gradient is None:  # handed out before, in a retained graph
            return from_numpy(both(_unchanged(ctx.at)[0].detach().numpy(), *rest)[1]) * cotangent
        return ctx.gradient * cotangent

    class Compiled(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Foreign, *tensors: Foreign) -> Foreign:
            """The value; keeps the gradients by the tensors that require them."""
            x = tensors[0]
            if len(tensors) == 1 and type(x) in tensor_types and x.dtype is float64 and x.requires_grad and x.ndim:
                value, gradient = both(x.detach().numpy(), *rest)
                ctx.gradient, ctx.gradients, ctx.at = from_numpy(gradient), None, (tensors, (x._version,))
                return from_numpy(array(value))
            return several(ctx, tensors)

        @staticmethod
        def backward(ctx: Foreign, cotangent: Foreign) -> Foreign:
            """The kept gradients times the cotangent; as a function of the tensors, if that will be differentiated."""
            if is_grad_enabled():
                wanted = tuple([k for k, needed in enumerate(ctx.needs_input_grad) if needed])
                found = dict(zip(wanted, gradients_of(wanted, cotangent, *_unchanged(ctx.at))))
                return tuple([found.get(k) for k in range(len(ctx.at[0]))])
            gradient = ctx.gradient
            if gradient is not None and cotangent.item() == 1.0:
                # As at the end of every graph. A product takes 10 µs here, with a cold cache.
                ctx.gradient = None
                return gradient
            return scaled(ctx, cotangent)

    def several(ctx: Foreign, tensors: tuple[Foreign, ...]) -> Foreign:
        for k, t in enumerate(tensors):
            if not isinstance(t, torch.Tensor) or not t.is_floating_point():
                what = t.dtype if isinstance(t, torch.Tensor) else type(t).__name__
                fix = "data go after the function: to_torch(f, data)" if k else "torch.tensor(x, dtype=torch.float64)"
                raise TypeError(f"argument {k} is {what}, and has to be a tensor of floats; fix: {fix}")
        arrays, argnums = _arrays(tensors), tuple([k for k, needed in enumerate(ctx.needs_input_grad) if needed])
        ctx.gradient, ctx.at = None, (tensors, [0 if t.is_inference() else t._version for t in tensors])
        gradients = ctx.gradients = [None] * len(arrays)
        if argnums:
            value, found = both(*arrays, *rest, argnums=argnums)
            for k, gradient in zip(argnums, found):
                gradients[k] = gradient
        else:
            value = value_of(*arrays, *rest)
        return from_numpy(array(value)).to(tensors[0].dtype)

    return Compiled.apply


def _gradients(torch: Foreign, tape: CompiledTape | GuardedTape, rest: tuple[Tree, ...]) -> Callable[..., Foreign]:
    """The gradients by some of the tensors, times a number, as a function that PyTorch can differentiate once."""
    from_numpy, array = torch.from_numpy, np.array

    def products(ctx: Foreign, *directions: Foreign) -> list[Foreign]:
        """The Hessian times the directions."""
        factor, *tensors = ctx.saved_tensors
        (first, *others), v = _arrays(tuple(tensors)), _arrays(directions)
        _, slopes, found = tape.value_gradient_and_hvp(first, tuple(v), *others, *rest, argnums=ctx.wanted)
        by_number = dict(zip(ctx.wanted, found))
        along = from_numpy(array(sum(np.sum(s * d) for s, d in zip(slopes, v)))).to(factor.dtype)
        scaled = [from_numpy(array(by_number[k] * factor.item())).to(t.dtype) if k in by_number else None for k, t in enumerate(tensors)]
        return [None, along, *scaled]

    class Gradients(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Foreign, wanted: tuple[int, ...], factor: Foreign, *tensors: Foreign) -> Foreign:
            ctx.wanted = wanted
            ctx.save_for_backward(factor, *tensors)
            found = tape.value_and_gradient(*_arrays(tensors), *rest, argnums=wanted)[1]
            return tuple([from_numpy(array(g * factor.item())).to(tensors[k].dtype) for k, g in zip(wanted, found)])

        @staticmethod
        def backward(ctx: Foreign, *directions: Foreign) -> Foreign:
            found = products(ctx, *directions)
            if not torch.is_grad_enabled():
                return tuple(found)
            present = [part for part in found if part is not None]
            refusing = iter(Last.apply(len(present), *present, *ctx.saved_tensors, *directions))
            return tuple([None if part is None else next(refusing) for part in found])

    class Last(torch.autograd.Function):  # type: ignore[misc]
        """Results whose dependence on the tensors is unknown to PyTorch, which would take their derivatives for zero."""

        @staticmethod
        def forward(ctx: Foreign, count: int, *values: Foreign) -> Foreign:
            return tuple([value.clone() for value in values[:count]])

        @staticmethod
        def backward(ctx: Foreign, *cotangents: Foreign) -> Foreign:
            fix = "fix: td.gradient and td.hvp of one another"
            raise RuntimeError(f"a function of to_torch is differentiated twice, and not three times; {fix}")

    return Gradients.apply


def _arrays(tensors: tuple[Foreign, ...]) -> list[np.ndarray]:
    """The tensors as float64 arrays; float64 tensors share their memory."""
    return [t.detach().double().numpy() for t in tensors]


def _unchanged(at: tuple[tuple[Foreign, ...], tuple[int, ...]]) -> tuple[Foreign, ...]:
    """The tensors of a call. Raises RuntimeError if one was modified in place since."""
    tensors, versions = at
    if any(not t.is_inference() and t._version != version for t, version in zip(tensors, versions)):
        raise RuntimeError("the tensor that was differentiated by has been changed in place since; fix: call the function again")
    return tensors


def from_torch(f: Callable[..., Foreign], name: str | None = None) -> Primitive:
    """A function of tensors as an operation on tapes, of arrays; its derivative is PyTorch's.

    Args:
        f: maps float64 tensors to a tensor.
        name: in messages.

    Calls go through Python, 20 to 100 µs; the derivative runs f once more.
    """
    torch: Foreign = required("torch", "PyTorch", "'tapediff[torch]'")

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
