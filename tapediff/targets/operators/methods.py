"""The operators as methods of a target."""

from __future__ import annotations

from .gradients import FastPath
from .hessian_products import hvp, value_gradient_and_hvp
from .matrices import hessian, jacobian, value_and_jacobian, value_gradient_and_hessian
from .of_numbers import derivative, derivatives, second_derivative, value_and_derivative
from .products import jvp, linearize, vjp


class OperatorMethods(FastPath):
    """The operators as methods of a target: the verbs themselves, as in FastPath."""

    __slots__ = ()

    jacobian = jacobian
    value_and_jacobian = value_and_jacobian
    hessian = hessian
    value_gradient_and_hessian = value_gradient_and_hessian
    hvp = hvp
    value_gradient_and_hvp = value_gradient_and_hvp
    jvp = jvp
    vjp = vjp
    linearize = linearize
    derivative = derivative
    value_and_derivative = value_and_derivative
    second_derivative = second_derivative
    derivatives = derivatives
