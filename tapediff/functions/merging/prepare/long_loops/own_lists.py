"""Lists that a turn of a long loop makes for itself get their entries as they do in the function.

The statement `row.append(v)` may do anything, where nothing is known of `row`; of a list that the turn has made nothing else sees it.
"""

from __future__ import annotations

import ast

from ...nodes import call, load, near
from ...variables import Names, assigned, blocks_of, read_first
from ..containers.growing_lists import appended_to


def append_to_own_lists(node: ast.For) -> None:
    """Rewrites such statements in the body of a loop, in place."""
    own = assigned(node.body) - read_first(node.body)
    if own:
        _rewrite(node.body, own)


def _rewrite(body: list[ast.stmt], own: Names) -> None:
    for k, statement in enumerate(body):
        name = appended_to(statement)
        if name is not None and name in own:
            assert isinstance(statement, ast.Expr)
            assert isinstance(statement.value, ast.Call)
            made = call("append_own", [load(name), statement.value.args[0]], statement)
            body[k] = near(ast.copy_location(ast.Expr(made), statement), statement)
        for block in blocks_of(statement):
            _rewrite(block, own)
