"""Errors that data decide: one recording holds the paths with and without them."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest

import tapediff as td
from tapediff.flow import flowed

RNG = np.random.default_rng(5)
POINTS = [RNG.normal(size=6) * 1.3 for _ in range(24)]


class Failure(Exception):
    """An error with code of its own."""

    def __init__(self, value, name="x"):
        super().__init__(value)
        self.value, self.name = value, name


class Special(Failure):
    """A further one."""


# Programs that one recording holds


def raised(x):
    s = 0.0
    for v in x:
        try:
            if v < 0:
                raise ValueError
            s += v**0.5
        except ValueError:
            s -= 1
    return s


def square_roots(x):
    s = 0.0
    for v in x:
        try:
            s += math.sqrt(v)
        except ValueError:
            s -= v
    return s


def outside_of_loop(x):
    s = 0.0
    n = 0
    try:
        for v in x:
            s += math.sqrt(v + 0.7)
            n += 1
        s *= 2
    except ValueError:
        s += 10
    return s + n


def of_functions(x):
    def checked(v):
        if v > 1:
            raise Failure(v)
        if v < -1:
            raise Special(v * 2)
        return v * v

    s = 0.0
    for v in x:
        try:
            s += checked(v) + checked(v + 0.3)
        except Special as error:
            s += error.value
        except Failure as error:
            s -= error.value * 3
    return s


def nested(x):
    s = 0.0
    for v in x:
        try:
            s += v
            try:
                if v > 1:
                    raise KeyError("a")
                if v < -1:
                    raise ValueError("b")
                s += 1
            except KeyError:
                s += 2
                if v > 1.5:
                    raise ZeroDivisionError from None
            else:
                s *= 1.1
            finally:
                s += 0.25
            s += 3
        except (ValueError, ArithmeticError):
            s -= 5
    return s


def finally_everywhere(x):
    log = [0.0, 0.0]

    def f(v):
        try:
            if v > 1:
                return v
            if v < -1:
                raise ValueError
            v = v * 2
        finally:
            log[0] += v
        log[1] += 1
        return v + 1

    s = 0.0
    for v in x:
        try:
            s += f(v)
        except ValueError:
            s -= 1
    return s + log[0] + 2 * log[1]


def finally_that_returns(x):
    def f(v):
        try:
            if v > 0.5:
                raise ValueError
            return v
        finally:
            if v > 1:
                return 7.0  # noqa: B012 -- what it tests
    s = 0.0
    for v in x:
        try:
            s += f(v)
        except ValueError:
            s += 0.5
    return s


def bare_raise(x):
    s = 0.0
    for v in x:
        try:
            try:
                if v > 0:
                    raise ValueError("positive")
                s += v
            except ValueError:
                s += 1
                if v > 1:
                    raise
                s += 1
        except ValueError as error:
            s += len(str(error))
    return s


def of_else(x):
    s = 0.0
    for v in x:
        try:
            y = math.log(v)
        except ValueError:
            y = -1.0
        else:
            y *= 2
        s += y
    return s


def jumps(x):
    s = 0.0
    for v in x:
        try:
            if v > 1.2:
                break
            if v < -1.2:
                continue
            if v > 0.5:
                raise ValueError
            s += v
        except ValueError:
            s += 2
            if v > 0.8:
                continue
        finally:
            s += 0.1
        s *= 1.5
    else:
        s += 100
    return s


def returns(x):
    s = 0.0
    try:
        for v in x:
            if v > 1.5:
                return s
            s += math.sqrt(1.5 + v)
    except ValueError:
        return -s
    return 2 * s


def tracked_errors(x):
    try:
        for k, v in enumerate(x):
            if v > 1:
                raise ValueError(v * k)
    except ValueError as error:
        return error.args[0] * 2
    return x[0]


class Suppressing:
    def __init__(self, *kinds):
        self.kinds, self.count = kinds, 0.0

    def __enter__(self):
        self.count += 1
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.count += 0.5
            return False
        self.count += 10
        return issubclass(kind, self.kinds)


def own_managers(x):
    s = 0.0
    for v in x:
        m = Suppressing(ValueError)
        try:
            with m:
                s += v
                if v > 1:
                    raise KeyError
                s += math.sqrt(v)
            s += 1
        except KeyError:
            s += 0.3
        s += m.count
    return s


def suppressed(x):
    s = 0.0
    for v in x:
        with contextlib.suppress(ValueError, IndexError):
            s += 1
            s += math.log(v)
            s *= 2
    return s


def several_managers(x):
    s = 0.0
    for v in x:
        with Suppressing(KeyError) as a, Suppressing(ValueError) as b:
            if v > 0.7:
                raise KeyError
            if v < -0.7:
                raise ValueError
            s += v
        s += a.count + 3 * b.count
    return s


def asserted(x):
    s = 0.0
    for v in x:
        try:
            assert v > 0, "not positive"
            s += v
        except AssertionError as error:
            s -= len(error.args[0])
    return s


def out_of_range(x):
    values = [1.0, 2.0, 4.0]
    n = 0
    for v in x:
        if v > 0:
            n += 1
    try:
        return values[n] * x[0]
    except IndexError:
        return -x[0]


def integers(x):
    n = 0
    for v in x:
        if v > 0.5:
            n += 1
    s = 0.0
    for k in range(4):
        try:
            s += 6 // (n - k)
            s += 7 % (n - k)
            s += 1 / (n - k)
        except ZeroDivisionError:
            s += x[k]
    return s


def python_floats(x):
    s = 0.0
    for v in x:
        f = 2.0 if v > 0.3 else 0.0
        try:
            s += (f + 1) / (f * 2)
        except ZeroDivisionError:
            s += 1
        f = f if v > -0.3 else v
        try:
            s += v % f if v > 1 else 1 / f
        except ZeroDivisionError:
            s += 2
    return s


def state_of_objects(x):
    class Box:
        pass

    box = Box()
    box.n, box.items, box.arrays = 0, {"a": 0.0}, np.zeros(2)
    for v in x:
        try:
            box.n += 1
            box.items["a"] += v
            box.arrays[0] += 1
            if v > 0.5:
                raise ValueError
            box.n += 1
            box.arrays[1] = v
        except ValueError:
            box.items["a"] *= 2
    return box.n + box.items["a"] + box.arrays[0] + 3 * box.arrays[1]


def in_a_branch(x):
    s = 0.0
    for v in x:
        if v > 0:
            try:
                s += math.sqrt(v - 0.5)
            except ValueError:
                s += 1
        else:
            s -= v
    return s


def in_expressions(x):
    def f(v):
        if v < 0:
            raise ValueError
        return v

    s = 0.0
    for v in x:
        try:
            s += (f(v) if v < 1 else f(1 - v)) + f(v + 1) * 2
        except ValueError:
            s += 1
    return s


def in_comprehensions(x):
    try:
        return sum([math.sqrt(v + 1) for v in x])
    except ValueError:
        return sum([v * v for v in x]) * 2


def name_unbound(x):
    s = 0.0
    for v in x:
        try:
            if v > 0:
                z = v
            s += z
            del z
        except UnboundLocalError:
            s += 0.1
    return s


def retried(x):
    s = 0.0
    for v in x:
        step = 4.0
        for _ in range(3):
            try:
                s += math.sqrt(v + step - 4)
                break
            except ValueError:
                step += 1
        else:
            s -= 1
    return s


def validated(x):
    def number(v):
        if v < -1:
            raise TypeError("small")
        return v

    def pair(a, b):
        try:
            return number(a) * number(b)
        except TypeError as error:
            raise RuntimeError("pair") from error

    s = 0.0
    for a, b in zip(x[:-1], x[1:]):
        try:
            s += pair(a, b)
        except RuntimeError as error:
            s -= len(str(error.__cause__))
    return s


class Account:
    def __init__(self):
        self.balance, self.log = 1.0, []

    def withdraw(self, v):
        if v > self.balance:
            raise Failure(v - self.balance)
        self.balance -= v


def accounts(x):
    a = Account()
    lacking = 0.0
    for v in x:
        try:
            a.withdraw(v)
        except Failure as f:
            lacking += f.value
    return a.balance + 2 * lacking


ONE_RECORDING = [
    raised, square_roots, outside_of_loop, of_functions, nested, finally_everywhere, finally_that_returns, bare_raise, of_else, jumps, returns,
    tracked_errors, own_managers, suppressed, several_managers, asserted, out_of_range, integers, python_floats, state_of_objects, in_a_branch,
    in_expressions, in_comprehensions, name_unbound, retried, validated, accounts,
]  # fmt: skip


def outcome_of(f, p):
    """The value, or the class and text of the error."""
    try:
        with np.errstate(all="ignore"):
            return f(p)
    except Exception as error:  # noqa: BLE001 -- compared
        return type(error), str(error)


def compare(f, points=POINTS):
    """Compare a function with its merged form; the number of recordings."""
    g = td.GuardedTape(flowed(f), merge=False, on_new_tape="interpret", compile_after=1000, max_tapes=1000)
    for p in points:
        expected, found = outcome_of(f, p.copy()), outcome_of(g, p)
        assert type(expected) is tuple or type(found) is not tuple, (f.__name__, p, expected, found)
        if type(expected) is tuple:
            assert found[0] is expected[0], (f.__name__, p, expected, found)
            continue
        np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=f"{f.__name__} {p}")
        # NumPy's own operations on tracked values, as the recorded path takes them.
        with np.errstate(all="ignore"):
            reference = td.gradient(td.record(f, p, merge=False), p)
        np.testing.assert_allclose(td.gradient(g, p), reference, rtol=1e-10, atol=1e-12, err_msg=f"{f.__name__} {p}")
    return g.stats.recordings


@pytest.mark.parametrize("f", ONE_RECORDING, ids=lambda f: f.__name__)
def test_one_recording_holds_paths_with_errors(f):
    """Value and gradient are those of plain Python at all points."""
    assert compare(f) == 1
