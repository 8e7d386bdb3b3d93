"""Every operator as a call with the same arguments, so that tests go through all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tapediff as td


@dataclass(frozen=True)
class Asked:
    """An operator.

    Attributes:
        call: call(target, *args, **options) for a scalar function of vectors of three entries; everything returned is arrays.
        split: the result with has_aux=True as the one without, and aux.
    """

    call: Callable[..., Any]
    split: Callable[[Any], tuple[Any, Any]]


def _last(found: Any) -> tuple[Any, Any]:
    return found


def _with_value(found: Any) -> tuple[Any, Any]:
    (value, aux), *rest = found
    return (value, *rest), aux


def _third(found: Any) -> tuple[Any, Any]:
    *rest, aux = found
    return tuple(rest), aux


V = np.array([1.0, 0.5, -1.0])


def _of_vector(operator: Callable[..., Any]) -> Callable[..., Any]:
    return lambda target, first, *args, **options: operator(target, first, V, *args, **options)


def _jvp(target: Any, *args: Any, **options: Any) -> Any:
    if "argnames" in options or "argnums" in options:
        return td.jvp(target, args, (V,), **options)
    return td.jvp(target, args, (V, *(None,) * (len(args) - 1)), **options)


def _vjp(target: Any, *args: Any, **options: Any) -> Any:
    value, pull, *aux = td.vjp(target, *args, **options)
    return (value, pull(1.5), *aux)


def _linearize(target: Any, *args: Any, **options: Any) -> Any:
    value, push, *aux = td.linearize(target, *args, **{"argnums": 0, **options} if "argnames" not in options else options)
    return (value, push(V), *aux)


def _as_array(operator: Callable[..., Any]) -> Callable[..., Any]:
    def call(target: Any, *args: Any, **options: Any) -> Any:
        found = operator(target, *args, **options)
        matrix = found[0] if isinstance(found, tuple) else found
        dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix @ np.eye(3)
        return (dense, found[1]) if isinstance(found, tuple) else dense

    return call


OPERATORS = {
    "gradient": Asked(td.gradient, _last),
    "value_and_gradient": Asked(td.value_and_gradient, _with_value),
    "jacobian": Asked(td.jacobian, _last),
    "value_and_jacobian": Asked(td.value_and_jacobian, _with_value),
    "hessian": Asked(td.hessian, _last),
    "value_gradient_and_hessian": Asked(td.value_gradient_and_hessian, _with_value),
    "hvp": Asked(_of_vector(td.hvp), _last),
    "value_gradient_and_hvp": Asked(_of_vector(td.value_gradient_and_hvp), _with_value),
    "jvp": Asked(_jvp, _third),
    "vjp": Asked(_vjp, _third),
    "linearize": Asked(_linearize, _third),
    "sparse_jacobian": Asked(_as_array(td.sparse_jacobian), _last),
    "sparse_hessian": Asked(_as_array(td.sparse_hessian), _last),
    "linear_operator": Asked(_as_array(td.linear_operator), _last),
}

OF_NUMBERS = {
    "derivative": Asked(td.derivative, _last),
    "value_and_derivative": Asked(td.value_and_derivative, _with_value),
    "second_derivative": Asked(td.second_derivative, _last),
    "value_derivative_and_second_derivative": Asked(td.value_derivative_and_second_derivative, _with_value),
}

# SciPy's arrays hold no tracked values.
NOT_IN_RECORDINGS = ("sparse_jacobian", "sparse_hessian", "linear_operator")
