"""The containers of one function as variables: lists that grow, objects with the methods that are called of them, entries."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from ...nodes import copied
from ...rules import Breach
from ..states.static_values import pairs
from .as_variables import Containers
from .called_function import Stays
from .growing.growing_lists import GrowingLists
from .growing.mapped_lists import with_mapped_lists
from .lookups import Lookups
from .methods import Methods
from .nested.lists_of_containers import ListsOfContainers
from .records import record_class
from .scope import Scope


@dataclass(frozen=True, slots=True)
class Variables:
    """A function whose containers have become variables.

    Attributes:
        body: its statements.
        made: the variables that were made.
        lines: at which it looks at data besides those that are known.
        breaches: why other containers stay what they are.
    """

    body: list[ast.stmt]
    made: frozenset[str]
    lines: frozenset[int]
    breaches: list[Breach]


def containers_as_variables(body: list[ast.stmt], scope: Scope) -> Variables:
    """Replace lists, dicts and objects that are a function's own by variables, in place."""
    nested = ListsOfContainers(scope)
    body = nested.of_function(body)
    mapped = with_mapped_lists(body, scope)
    scope = replace(scope, names=scope.names | nested.made | mapped)
    growing = GrowingLists(scope)
    found = _with_methods(growing.of_function(body), scope)
    made = nested.made | mapped | growing.made | found.made
    lookups = Lookups(replace(scope, names=scope.names | found.made))
    breaches = [*nested.breaches, *growing.breaches, *found.breaches]
    return Variables(lookups.of_function(found.body), made | lookups.made, found.lines, breaches)


def _with_methods(body: list[ast.stmt], scope: Scope) -> Variables:
    """Containers as variables, objects also where methods are called of them, if nothing else is done with these."""
    objects = _objects(body, scope)
    breaches: list[Breach] = []
    while objects:
        # Whether an object can be variables is known when all is done.
        try:
            methods, containers, _ = _rewritten([copied(statement) for statement in body], scope, objects)
        except Stays:
            objects = {}
            break
        failed = _seen_elsewhere(methods, containers)
        if not failed:
            break
        breaches += containers.breaches
        objects = {name: kind for name, kind in objects.items() if name not in failed}
    methods, containers, body = _rewritten(body, scope, objects)
    breaches = containers.breaches + [breach for breach in breaches if breach not in containers.breaches]
    return Variables(body, containers.made | methods.made, frozenset(containers.lines | methods.lines), breaches)


def _rewritten(body: list[ast.stmt], scope: Scope, objects: dict[str, type]) -> tuple[Methods, Containers, list[ast.stmt]]:
    methods = Methods(scope, objects)
    if objects:
        body = methods.block(body)
    looks = lambda node: scope.looks_at_data(node) or not methods.lines.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1))  # noqa: E731
    containers = Containers(replace(scope, names=scope.names | methods.made, looks_at_data=looks))
    return methods, containers, containers.of_function(body)


def _seen_elsewhere(methods: Methods, containers: Containers) -> set[str]:
    """The variables of objects that stay objects: someone may put another method there."""
    return methods.used - containers.kept


def _objects(body: list[ast.stmt], scope: Scope) -> dict[str, type]:
    """The variables that hold objects of a class that has nothing but attributes and methods."""
    found: dict[str, type] = {}
    others: set[str] = set()
    for node in (n for statement in body for n in ast.walk(statement) if isinstance(n, ast.Assign) and len(n.targets) == 1):
        for name, value in pairs(node.targets[0], node.value):
            called = value.func if isinstance(value, ast.Call) else None
            kind = scope.resolve(called.id) if isinstance(called, ast.Name) else None
            if isinstance(kind, type) and record_class(kind) is not None and name.id in scope.names:
                if found.setdefault(name.id, kind) is not kind:
                    others.add(name.id)
    return {name: kind for name, kind in found.items() if name not in others}
