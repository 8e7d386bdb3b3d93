"""A function's own errors whose messages format tracked values: formatting is refused, so the recording fails before the `raise`."""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from ..base.source_location import Site
from ..base.source_text import NoSource, definition_of
from ..errors import RefusedByRecording, TapediffError, TrackedValueEscaped
from .recorder import current_recorder


def raise_own_error(refusal: RefusedByRecording, plain: Callable[[], object]) -> None:
    """Raise the function's own error, as plain NumPy does, if its recording was refused at a line that leads to `raise`.

    Args:
        plain: calls the function in plain NumPy.
    """
    if type(refusal) is not TrackedValueEscaped or current_recorder() is not None or not _leads_to_raise(refusal.at):
        return
    try:
        np.errstate(all="ignore")(plain)()
    except TapediffError:
        return
    except Exception as error:
        raise error from None


def _leads_to_raise(at: object) -> bool:
    """True if a line is part of a `raise`, or of a statement before one in the same block."""
    if not isinstance(at, Site):
        return False
    try:
        definition = definition_of(at.code)
    except NoSource:
        return False
    # From the outermost inwards.
    blocks = [block for node in ast.walk(definition) for _, block in ast.iter_fields(node) if _is_block(block)]
    around = [block for block in blocks if block[0].lineno <= at.line <= (block[-1].end_lineno or 0)]
    innermost = around[-1] if around else ()
    return any(isinstance(statement, ast.Raise) and (statement.end_lineno or 0) >= at.line for statement in innermost)


def _is_block(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(part, ast.stmt) for part in value)
