"""The operators as methods of a target."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.instruction import Tree
from .gradients import FastPath
from .hessian_products import hvp, value_gradient_and_hvp
from .matrices import hessian, jacobian, value_and_jacobian, value_gradient_and_hessian
from .of_numbers import derivative, derivatives, second_derivative, value_and_derivative
from .products import jvp, linearize, vjp


class OperatorMethods(FastPath):
    """The operators as methods of a target."""

    __slots__ = ()

    def jacobian(self, /, *args: Tree, **options: Tree) -> Tree:
        """See td.jacobian."""
        return jacobian(self, *args, **options)

    def value_and_jacobian(self, /, *args: Tree, **options: Tree) -> tuple[Tree, Tree]:
        """See td.value_and_jacobian."""
        return value_and_jacobian(self, *args, **options)

    def hessian(self, /, *args: Tree, **options: Tree) -> Tree:
        """See td.hessian."""
        return hessian(self, *args, **options)

    def value_gradient_and_hessian(self, /, *args: Tree, **options: Tree) -> tuple[Tree, Tree, Tree]:
        """See td.value_gradient_and_hessian."""
        return value_gradient_and_hessian(self, *args, **options)

    def hvp(self, x: Tree, v: Tree, /, *args: Tree, **options: Tree) -> Tree:
        """See td.hvp."""
        return hvp(self, x, v, *args, **options)

    def value_gradient_and_hvp(self, x: Tree, v: Tree, /, *args: Tree, **options: Tree) -> tuple[Tree, Tree, Tree]:
        """See td.value_gradient_and_hvp."""
        return value_gradient_and_hvp(self, x, v, *args, **options)

    def jvp(self, primals: Sequence[Tree], tangents: Sequence[Tree], **options: Tree) -> Tree:
        """See td.jvp."""
        return jvp(self, primals, tangents, **options)

    def vjp(self, /, *primals: Tree, **options: Tree) -> Tree:
        """See td.vjp."""
        return vjp(self, *primals, **options)

    def linearize(self, /, *primals: Tree, **options: Tree) -> Tree:
        """See td.linearize."""
        return linearize(self, *primals, **options)

    def derivative(self, /, *args: Tree, **options: Tree) -> Tree:
        """See td.derivative."""
        return derivative(self, *args, **options)

    def value_and_derivative(self, /, *args: Tree, **options: Tree) -> tuple[Tree, Tree]:
        """See td.value_and_derivative."""
        return value_and_derivative(self, *args, **options)

    def second_derivative(self, /, *args: Tree, **options: Tree) -> Tree:
        """See td.second_derivative."""
        return second_derivative(self, *args, **options)

    def derivatives(self, /, *args: Tree, **options: Tree) -> tuple[Tree, ...]:
        """See td.derivatives."""
        return derivatives(self, *args, **options)
