"""Functions of this package that wrap a user's, such as a solver's step or a posterior's density."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from types import CellType, FunctionType, MethodType

from ...base.wrapper import Wrapper
from ..anything import Object
from ..users_code import adopt, is_users


def with_forms(f: Object, form: Callable[[Object], Object]) -> Object:
    """Replace the user's functions in a callable's closure, or the callable itself, by another form."""
    return _changed(f, form, {})


def _changed(f: Object, form: Callable[[Object], Object], done: dict[int, Object]) -> Object:
    if id(f) in done:
        return done[id(f)]
    adopt(f)
    if isinstance(f, Wrapper):
        inner = getattr(f, f.calls)
        made = done[id(f)] = copy.copy(f)
        if inner is not None:
            setattr(made, f.calls, _changed(inner, form, done))
        return made
    if type(f) is functools.partial:
        return functools.partial(_changed(f.func, form, done), *f.args, **f.keywords)
    if type(f) is MethodType and not is_users(f.__func__):
        return MethodType(_changed(f.__func__, form, done), f.__self__) if type(f.__func__) is FunctionType else f
    if type(f) is not FunctionType or is_users(f):
        return form(f)
    done[id(f)] = f  # closures may be recursive
    cells = [_changed_cell(cell, form, done) for cell in f.__closure__ or ()]
    if all(new is old for new, old in zip(cells, f.__closure__ or ())):
        return f
    made = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(cells))
    made.__kwdefaults__, made.__qualname__ = f.__kwdefaults__, f.__qualname__
    made.__dict__.update(f.__dict__)
    done[id(f)] = made
    return made


def _changed_cell(cell: CellType, form: Callable[[Object], Object], done: dict[int, Object]) -> CellType:
    try:
        found = cell.cell_contents
    except ValueError:  # not assigned yet
        return cell
    if not isinstance(found, (FunctionType, MethodType, Wrapper, functools.partial)):
        return cell
    new = _changed(found, form, done)
    return cell if new is found else CellType(new)
