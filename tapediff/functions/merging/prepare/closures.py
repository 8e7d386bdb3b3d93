"""Functions of this package around a user's, which they close over: a solver's step around an equation, a scan around a body."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CellType, FunctionType, MethodType

from ....ir.instruction import UserFunction
from ..purity import is_users


def users_functions(function: object) -> list[FunctionType]:
    """The user's own functions, or those of methods, among a function and what functions of this package close over."""
    found: list[FunctionType] = []
    pending, seen = [function], set[int]()
    for part in pending:
        inner = part.__func__ if isinstance(part, MethodType) else part
        if type(inner) is FunctionType and id(inner) not in seen:
            seen.add(id(inner))
            if is_users(inner):
                found.append(inner)
            else:
                pending += _contents(inner)
    return found


def with_forms(function: UserFunction, form: Callable[[UserFunction], UserFunction]) -> UserFunction:
    """A function with other forms of the user's own ones; itself where these are themselves."""
    return _changed(function, form, {})


def _changed(function: UserFunction, form: Callable[[UserFunction], UserFunction], done: dict[int, UserFunction]) -> UserFunction:
    inner = function.__func__ if isinstance(function, MethodType) else function
    if type(inner) is not FunctionType or is_users(inner):
        return form(function)
    if id(inner) in done:
        return done[id(inner)]
    done[id(inner)] = inner  # one that closes over itself
    cells = [_changed_cell(cell, form, done) for cell in inner.__closure__ or ()]
    if all(new is old for new, old in zip(cells, inner.__closure__ or ())):
        return function
    made = FunctionType(inner.__code__, inner.__globals__, inner.__name__, inner.__defaults__, tuple(cells))
    made.__kwdefaults__, made.__qualname__ = inner.__kwdefaults__, inner.__qualname__
    done[id(inner)] = made
    return made if inner is function else MethodType(made, function.__self__)  # type: ignore[attr-defined]  # of a method


def _changed_cell(cell: CellType, form: Callable[[UserFunction], UserFunction], done: dict[int, UserFunction]) -> CellType:
    found = next(_in_cell(cell), None)
    if not isinstance(found, (FunctionType, MethodType)):
        return cell
    new = _changed(found, form, done)
    return cell if new is found else CellType(new)


def _contents(function: FunctionType) -> Iterator[object]:
    return (found for cell in function.__closure__ or () for found in _in_cell(cell))


def _in_cell(cell: CellType) -> Iterator[object]:
    """What a variable holds, if it is assigned yet."""
    try:
        yield cell.cell_contents
    except ValueError:
        return

