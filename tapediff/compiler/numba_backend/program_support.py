"""Support functions of programs, beside scalar functions and matrix routines: leaving at a guard, and asking for a path that is new."""

import base64

import numpy as np

from .scalar_functions import inner

# Statuses: 0 is success, g + 1 that guard g failed, FAILURE + k that routine k did. See compiler.runtime.status for the others.
FAILURE = 1 << 30
RECURSION = -2
REFUSED = -10
NEW_PATH = -20
WRONG_RESULT = -30
RULE_RAISED = -31
TOO_LONG = -40

# So deep may calls of functions stand in each other that call themselves.
DEEPEST = 1000


def decoded(text, dtype):
    """A constant array."""
    return np.frombuffer(base64.b64decode(text), dtype)


@inner
def left(report, status, outcome):
    """Leave at a guard, with the number that it met."""
    report[0] = outcome
    return status


@inner
def left_array(report, status, values, count):
    """Leave at a guard that looked at an array."""
    for k in range(count):
        report[k] = values[k]
    return status


@inner
def left_integers(report, status, values, count):
    """The same of integers, which keep all their bits."""
    bits = report.view(np.int64)
    for k in range(count):
        bits[k] = values[k]
    return status


@inner
def left_each(report, status, values, recorded, count):
    """Leave at the guard of the first iteration that met something else than recorded."""
    for k in range(count):
        met, known = values[k], recorded[k]
        if met != known and (met == met or known == known):
            report[0] = met
            return status + k
    return status


@inner
def ask(note, callee, chosen, left_by, status, outcome, addresses):
    """Answer a call whose path this program does not have: tapediff records it, and without tapediff there is no answer."""
    return NEW_PATH


@inner
def longer(values, count):
    """The same values at the begin of a longer array."""
    result = np.empty(count, values.dtype)
    for k in range(values.size):
        result[k] = values[k]
    return result


@inner
def put(target, first, values, count):
    """Copy values into a part of an array."""
    for k in range(count):
        target[first + k] = values[k]


@inner
def put_all(target, values):
    """Copy all entries of an array, in C order."""
    k = 0
    for value in values.flat:
        target[k] = value
        k += 1


@inner
def entries(values, count, dtype):
    """A copy of an array of any layout."""
    result = np.empty(count, dtype)
    put_all(result, values)
    return result
