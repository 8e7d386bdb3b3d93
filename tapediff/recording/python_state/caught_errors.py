"""Errors of a recording that user code caught: the plain function would have taken another path, so there is no tape.

These are failures of an operation because of its values (a singular matrix), and refusals, which plain arrays do not raise. The
recorder notes both when they are raised; if they are caught, the recording ends with one of the errors below.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ...base.current_recording import NO_FILTERS, current_recorder
from ...base.source_location import Site, user_site
from ...errors import RefusedByRecording, UnsupportedFunction

# Raised by operations because of their values: not positive definite, or numpy.errstate(all="raise").
VALUE_FAILURES = (np.linalg.LinAlgError, ArithmeticError, RuntimeWarning)


def raised_by_numpy(outside: object) -> type[Exception] | None:
    """The error that NumPy raises now where a number has no value, by np.errstate or a filter of warnings; None where it warns at most.

    Args:
        outside: the first filter of warnings outside of the recorded function. It is ignored: with `python -W error` every warning is an
            error, which no model is written for.
    """
    asked = {action for kind, action in np.geterr().items() if kind != "call"}
    if "raise" in asked:
        return FloatingPointError
    if "warn" in asked and (warnings.filters or NO_FILTERS)[0] is not outside:
        for action, _, category, *_ in warnings.filters:
            if issubclass(RuntimeWarning, category):
                return RuntimeWarning if action == "error" else None
    return None


class Failure(NamedTuple):
    """An exception that an operation raised because of its values."""

    error: Exception
    operation: str
    site: Site | None


class Refusal(NamedTuple):
    """An error that only tracked values raise, and the handler that may catch it."""

    error: RefusedByRecording
    handler: Site | None


def failure_caught(name: str, failure: Failure) -> UnsupportedFunction:
    """The error of a recorded function that caught an unguarded failure of an operation."""
    return UnsupportedFunction(
        f"{name} caught the error of {failure.operation}, which depends on values that a tape cannot guard",
        at=failure.site, got=f"{type(failure.error).__name__}: {failure.error}",
        fix="test the values before the call, with an `if`; or catch the error outside the recorded function",
    )  # fmt: skip


def would_be_caught(name: str, operation: str, raised: type[Exception], handler: Site) -> UnsupportedFunction:
    """The error of an operation at which NumPy is to raise errors that the recorded function catches: no tape tells at which points."""
    return UnsupportedFunction(
        f"{name} catches the {raised.__name__} that {operation} raises at some points, which depend on values that a tape cannot guard",
        at=user_site(), got=f"an `except` at {handler}, and NumPy asked to raise errors",
        fix="test the values before the call, with an `if`; or catch the error outside the recorded function",
    )  # fmt: skip


def refusal_caught(name: str, refusal: Refusal) -> UnsupportedFunction:
    """The error of a recorded function that caught a refusal."""
    error, handler = refusal
    return UnsupportedFunction(
        f"{name} caught an error that only a recording raises, so its tape would not do what the plain function does",
        at=error.at if handler is None else f"{error.at}, caught at {handler}",
        got=f"{type(error).__name__}: {error.what}",
        fix=error.fix or "remove the `except`, or decide with an `if` before the call",
    )  # fmt: skip


@contextmanager
def refusals_forgotten() -> Generator[None]:
    """Forget refusals raised within, for code of this package that tries an operation and falls back."""
    before = []
    recorder = current_recorder()
    while recorder is not None:
        before.append((recorder, recorder.refusal))
        recorder = recorder.outer
    try:
        yield
    finally:
        for recorder, refusal in before:
            recorder.refusal = refusal
