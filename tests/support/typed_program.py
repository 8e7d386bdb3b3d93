"""A user's program, for type checkers: tests/test_package.py has pyright read it, and every line with assert_type is a claim."""

from dataclasses import dataclass
from typing import Any, NamedTuple, assert_type

import numpy as np
from numpy.typing import NDArray

import tapediff as td

Vector = NDArray[np.float64]


class Line(NamedTuple):
    slope: float
    offset: Vector


@dataclass
class Model:
    weights: Vector


def of_array(x: Vector) -> float:
    return float(np.sum(x**2))


def of_number(x: float) -> float:
    return x**2


def of_dict(parameters: dict[str, Vector]) -> float:
    return of_array(parameters["a"])


def of_line(line: Line) -> float:
    return line.slope * of_array(line.offset)


def of_model(model: Model) -> float:
    return of_array(model.weights)


def of_list(x: list[float]) -> float:
    return x[0]


def doubled(x: Vector) -> Vector:
    return 2.0 * x


def filled(x: Vector, out: Vector) -> None:
    out[:] = x


def program(x: Vector, named: dict[str, Vector], line: Line, model: Model, pair: tuple[Vector, float]) -> None:
    assert_type(td.gradient(of_array, x), np.ndarray)
    assert_type(td.gradient(of_number, 2.0), float)
    assert_type(td.gradient(of_dict, named), dict[str, Vector])
    assert_type(td.gradient(of_line, line), Line)
    assert_type(td.gradient(of_model, model), Model)
    assert_type(td.value_and_gradient(of_array, x), tuple[float, np.ndarray])
    assert_type(td.value_and_gradient(of_dict, named), tuple[float, dict[str, Vector]])
    assert_type(td.value_and_gradient(lambda p: of_array(p[0]) * p[1], pair), tuple[float, tuple[Vector, float]])

    compiled, guarded = td.compile(of_array, x), td.GuardedTape(of_dict)
    assert_type(compiled, td.CompiledTape[float])
    assert_type(compiled(x), float)
    assert_type(compiled.gradient(x), np.ndarray)
    assert_type(compiled.source, str)
    assert_type(guarded, td.GuardedTape[float])
    assert_type(guarded(named), float)
    assert_type(guarded.gradient(named), dict[str, Vector])
    assert_type(guarded.value_and_gradient(named), tuple[float, dict[str, Vector]])
    assert_type(td.record(of_array, x), td.Tape)
    assert_type(td.hessian(of_array, x), np.ndarray)
    assert_type(td.hvp(of_array, x, x), np.ndarray)

    # Functions of functions keep the parameters, and refuse other ones.
    td.grad(of_line)(line)
    td.grad(of_line)(x)  # pyright: ignore[reportArgumentType]  # a claim as well: an ignore that ignores nothing is an error
    td.subtape(of_array)(x)
    td.subtape(of_array)(line)  # pyright: ignore[reportArgumentType]
    assert_type(td.checkpoint(of_array)(x), float)
    assert_type(td.grad(of_array)(x), Vector)
    assert_type(td.grad(of_number)(2.0), float)
    assert_type(td.grad(of_dict)(named), dict[str, Vector])
    assert_type(td.grad(of_model)(model), Model)
    assert_type(td.grad(of_list)([1.0, 2.0]), np.ndarray)
    assert_type(td.grad(td.grad(of_number))(2.0), float)
    assert_type(td.grad(of_array, argnums=0)(x), Any)
    assert_type(td.value_and_grad(of_number)(2.0), tuple[float, float])
    assert_type(td.value_and_grad(of_line)(line), tuple[float, Line])
    print(td.grad(lambda p, k: p["a"] ** k + p[0])(named, 2), td.grad(of_number)(x=2.0))  # what has no types is let through
    assert_type(td.jacobian(doubled, x), np.ndarray)
    assert_type(td.jacrev(doubled)(x), np.ndarray)
    print(td.jacobian(compiled, x).anything, td.jacobian(lambda x: {"a": x}, x)["a"])
    assert_type(td.jacobian(doubled)(x), np.ndarray)
    arrays = td.compile(doubled, x)
    assert_type(arrays(x), Vector)
    assert_type(td.jacobian(arrays, x), np.ndarray)
    assert_type(td.jacobian(td.GuardedTape(doubled), x), np.ndarray)
    assert_type(td.compile(filled, x, td.Output(x))(x, td.Output(x)), Any)
    value, pull = td.vjp(doubled, x)
    assert_type(value, Vector)
    assert_type(pull(x), tuple[Vector])
    assert_type(td.vjp(of_dict, named)[1](1.0)[0], dict[str, Vector])
    assert_type(td.vjp(arrays, x)[0], Vector)
    print(td.vjp(lambda p, k: p * k, x, 2.0)[1](x)[1])
    td.gradeint(of_array, x)  # pyright: ignore[reportAttributeAccessIssue]
