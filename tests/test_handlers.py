"""User code that catches exceptions: which handler catches what, and what that means for a recording."""

import contextlib
import linecache
import math
import sys
import warnings

import numpy as np
import pytest

import tapediff as td
from tapediff.handlers import handler_of

X = np.array([2.0, 3.0])


def looks():
    return handler_of(np.linalg.LinAlgError)


def by_name():
    try:
        return looks()
    except np.linalg.LinAlgError:
        pass


def by_base_class():
    try:
        return looks()
    except KeyError:
        return "not this one"
    except (IndexError, ValueError):
        pass


def by_nothing():
    try:
        return looks()
    except:  # noqa: E722 -- what is tested
        pass


def by_suppress():
    with contextlib.suppress(np.linalg.LinAlgError):
        return looks()


def from_further_out():
    try:
        with np.errstate(all="ignore"):
            return next(looks() for _ in range(1))
    except Exception:  # noqa: BLE001 -- what is tested
        pass


def from_a_loop():
    for _ in range(2):
        try:
            return looks()
        except (ValueError, np.linalg.LinAlgError):
            continue


def by_what_cannot_be_told():
    kinds = {"any": np.linalg.LinAlgError}
    try:
        return looks()
    except kinds["any"]:
        pass


@pytest.mark.parametrize(
    "program",
    [by_name, by_base_class, by_nothing, by_suppress, from_further_out, from_a_loop, by_what_cannot_be_told],
)
def test_a_handler_that_may_catch_is_found(program):
    """By its kind, its base classes, a bare `except`, `with`, or by something that only running it would tell."""
    site = program()
    assert site.code is program.__code__
    assert any(word in linecache.getline(__file__, site.line) for word in ("except", "with"))


def by_another_kind():
    try:
        return looks()
    except (KeyError, IndexError):
        pass


def in_finally_only():
    done = []
    try:
        return looks()
    finally:
        done.append(1)


def with_managers_that_pass():
    with np.errstate(all="ignore"), warnings.catch_warnings(), contextlib.nullcontext():
        return looks()


def inside_a_handler():
    try:
        raise KeyError
    except KeyError:
        return looks()


def in_a_generator():
    return next(looks() for _ in range(2))


@pytest.mark.parametrize(
    "program", [by_another_kind, in_finally_only, with_managers_that_pass, inside_a_handler, in_a_generator]
)
def test_what_does_not_catch_is_told_apart(program):
    """`finally`, handlers of other kinds, errstate and the handlers' own code let the exception pass."""
    # The runner of the tests itself has handlers: the frame that calls ends the search.
    assert _stopped(program) is None


def _stopped(program):
    global looks
    plain = looks
    here = id(sys._getframe())
    try:
        looks = lambda: handler_of(np.linalg.LinAlgError, here)
        return program()
    finally:
        looks = plain


# Programs that catch what only a recording raises. Each answers at once on plain numbers.


def conversion(x):
    try:
        s = float(x[0])
    except TypeError:
        s = 1.0
    return s * np.sum(x**2)


def standard_library(x):
    try:
        y = math.log(x[0])
    except Exception:  # noqa: BLE001 -- what is tested
        y = 0.0
    return y * np.sum(x)


def suppressed(x):
    y = 0.0
    with contextlib.suppress(TypeError):
        y = math.exp(x[0])
    return y + np.sum(x)


def attribute(x):
    return np.sum(x) * (2.0 if hasattr(x, "tobytes") else 3.0)


def attribute_of_a_number(x):
    return x[0] * (2.0 if hasattr(x[0], "is_integer") else 3.0)


def conversion_hook(x):
    return x[0] * (2.0 if hasattr(x[0], "__array__") else 3.0)


def default_attribute(x):
    return np.sum(x) * (2.0 if getattr(x, "strides", None) else 3.0)


def memory(x, known={}):  # noqa: B006 -- what is tested
    try:
        return known[x[0]]
    except TypeError:
        return np.sum(x)
    except KeyError:
        return np.sum(x) * 2.0


def text(x):
    try:
        label = f"{x[0]:.3f}"
    except TypeError:
        label = ""
    return np.sum(x) * len(label)


def function_that_is_missing(x):
    try:
        return np.sum(np.real_if_close(x))
    except TypeError:
        return 7.0 * np.sum(x)


def leaves_and_returns(x):
    def attempt(v):
        return float(v)

    def safely(call, v):
        try:
            return call(v)
        except TypeError:
            return 0.0

    return np.sum(x) + sum(safely(attempt, v) for v in x)


PROGRAMS = [
    conversion, standard_library, suppressed, attribute, attribute_of_a_number, conversion_hook, default_attribute, memory, text,
    function_that_is_missing, leaves_and_returns,
]  # fmt: skip


def as_tape(f):
    return td.record(f, X)(X)


def as_gradient(f):
    return td.gradient(f, X)


def as_guarded(f):
    return td.GuardedTape(f)(X)


def as_subtape(f):
    sub = td.subtape(lambda v: f(v) * 1.0)
    return td.record(lambda v: sub(v), X)(X)


def as_scan_body(f):
    return td.record(lambda v: td.scan(lambda c, row: (c + f(row), c), 0.0, np.stack([v, v]))[0], X)(X)


def as_nested_gradient(f):
    return td.gradient(lambda v: np.sum(td.gradient(f, v)), X)


@pytest.mark.parametrize(
    "way", [as_tape, as_gradient, as_guarded, as_subtape, as_scan_body, as_nested_gradient], ids=lambda w: w.__name__
)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_recording_whose_own_error_was_caught_is_refused(f, way):
    """The handler's answer is not the plain function's; the error says where it was raised."""
    assert np.isfinite(f(X))
    with pytest.raises(td.UnsupportedFunction, match="went on after an error that only a recording raises") as refused:
        way(f)
    assert "test_handlers.py" in str(refused.value)
    assert not td.is_recording()


def test_both_lines_are_named():
    """Where the conversion stands, and the `except` that caught it."""
    with pytest.raises(td.UnsupportedFunction) as refused:
        td.record(conversion, X)
    first = conversion.__code__.co_firstlineno
    assert str(refused.value) == (
        "conversion went on after an error that only a recording raises, so its tape would not be what the plain function does\n"
        f"  at:  test_handlers.py:{first + 2} in conversion, caught at test_handlers.py:{first + 3} in conversion\n"
        "  got: TrackedValueEscaped: a tracked value was converted to a Python float, which would drop its gradient\n"
        "  fix: use NumPy's functions instead of math's (np.log, not math.log), and keep arrays of tracked values tracked: "
        "td.zeros(n) or np.stack([...]) instead of storing into a plain array"
    )


def test_an_error_that_is_caught_outside_leaves_the_next_recording_alone():
    """A refusal belongs to one recording."""
    for _ in range(2):
        with pytest.raises(td.TrackedValueEscaped):
            td.record(lambda x: float(x[0]) * x[1], X)
    assert td.gradient(lambda x: np.sum(x**2), X).tolist() == [4.0, 6.0]


def hash_of_an_array(x):
    try:
        hash(x)
    except TypeError:  # as for a plain array
        return np.sum(x**2)
    return 0.0


def float_of_an_array(x):
    try:
        return float(x)
    except TypeError:
        return np.sum(x**2)


def absent_attribute(x):
    return np.sum(getattr(x, "values", x) ** 2) if not hasattr(x, "iloc") else 0.0


def index_beyond(x):
    total, k = 0.0, 0
    while True:
        try:
            total += x[k] ** 2
        except IndexError:
            return total
        k += 1


def own_error(x):
    try:
        if x[0] > 0:
            raise RuntimeError
        return 0.0
    except RuntimeError:
        return np.sum(x**2)


@pytest.mark.parametrize("f", [hash_of_an_array, float_of_an_array, absent_attribute, index_beyond, own_error])
def test_what_a_plain_array_refuses_as_well_may_be_caught(f):
    """Then the recorded path is that of the plain function."""
    assert td.gradient(td.compile(f, X), X).tolist() == [4.0, 6.0]
    assert f(X) == 13.0
