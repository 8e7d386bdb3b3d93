"""Errors that data decide: one recording holds the paths with and without them."""

from __future__ import annotations

import contextlib
import math
import traceback

import numpy as np
import pytest

import tapediff as td
from tapediff.errors import UnsupportedFunction
from tapediff.flow import flowed
from tapediff.flow.values import Choice

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


def gradient_of(f, p):
    """The gradient by a tape of this point's path; by central differences where there is none, or no error of Python's."""
    with np.errstate(all="ignore"):
        with contextlib.suppress(UnsupportedFunction):
            found = td.gradient(td.record(f, p, merge=False), p)
            if np.all(np.isfinite(found)):
                return found, 1e-10
        h = 1e-6
        return np.array([(f(p + h * e) - f(p - h * e)) / (2 * h) for e in np.eye(len(p))]), 1e-5


def compare(f, points=POINTS):
    """Compare a function with its merged form, value and gradient or error; the number of recordings."""
    g = td.GuardedTape(flowed(f), merge=False, on_new_tape="interpret", compile_after=1000, max_tapes=1000)
    for p in points:
        expected, found = outcome_of(f, p.copy()), outcome_of(g, p)
        assert (type(expected) is tuple) == (type(found) is tuple), (f.__name__, p, expected, found)
        if type(expected) is tuple:
            assert found == expected, (f.__name__, p)
            continue
        np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=f"{f.__name__} {p}")
        reference, tolerance = gradient_of(f, p)
        np.testing.assert_allclose(td.gradient(g, p), reference, rtol=tolerance, atol=tolerance, err_msg=f"{f.__name__} {p}")
    return g.stats.recordings


@pytest.mark.parametrize("f", ONE_RECORDING, ids=lambda f: f.__name__)
def test_one_recording_holds_paths_with_errors(f):
    """Value and gradient are those of plain Python at all points."""
    assert compare(f) == 1


# Programs that guards decide, at least in part


def printed(x):
    s = 0.0
    for v in x[:2]:
        try:
            s += math.sqrt(v)
            print("a root")
            s += math.sqrt(v - 0.1)
            print("another one")
        except ValueError:
            s -= 1
    return s


def errors_that_leave(x):
    s = 0.0
    for v in x[:3]:
        if v > 1.7:
            raise Failure(3, "large")
        s += math.sqrt(v + 2)
    try:
        if s > 5:
            raise KeyError("s")
    finally:
        s += 1
    return s


def errors_of_handlers(x):
    try:
        y = math.log(x[0])
    except ValueError:
        y = math.log(-x[0] - 0.5)
    return y * x[1]


def not_caught(x):
    s = 0.0
    for v in x:
        try:
            try:
                if v > 1.8:
                    raise KeyError("k")
                s += v
            except ValueError:
                s += 1
        finally:
            s *= 2
    return s


def generated(x):
    def steps():
        for v in x:
            try:
                yield math.sqrt(v)
            except ValueError:
                yield -1.0

    s = 0.0
    for y in steps():
        s += y
    return s


def generator_that_raises(x):
    def steps():
        for v in x:
            yield math.sqrt(v + 1)

    s = 0.0
    g = steps()
    try:
        for y in g:
            s += y
            if y > 1.4:
                break
    except ValueError:
        s -= 1
    for y in g:
        s += 3 * y
    return s


def next_of_generators(x):
    g = (math.sqrt(v) for v in x)
    s = 0.0
    for _ in range(3):
        try:
            s += next(g)
        except ValueError:
            s -= 1
        except StopIteration:
            s += 100
    return s


def sorted_in_place(x):
    values = [1.0, 2.0, 3.0]
    try:
        values.sort(key=lambda k: -k if math.sqrt(x[0]) >= 0 else k)
    except ValueError:
        values[0] += 10
    return values[0] * x[1]


def lists_that_grow(x):
    found = []
    for v in x[:3]:
        try:
            found.append(v)
            found.append(math.sqrt(v))
        except ValueError:
            found.append(2.0)
            found.append(3.0)
    return sum(found)


@contextlib.contextmanager
def _marked(values):
    values.append(1.0)
    try:
        yield 3.0
    except ValueError:
        values.append(5.0)
    finally:
        values.append(7.0)


def generator_managers(x):
    values = []
    for v in x[:3]:
        with _marked(values) as k:
            values.append(math.sqrt(v) * k)
    return sum(values)


def in_errstate(x):
    s = 0.0
    for v in x:
        try:
            with np.errstate(invalid="ignore"):
                s += math.sqrt(v)
        except ValueError:
            s -= 1
    return s


def recursion(x):
    def f(k):
        if k == len(x):
            raise IndexError
        if x[k] > 0.5:
            return x[k]
        try:
            return f(k + 1) + x[k]
        except IndexError:
            if x[k] < 0:
                raise
            return 1.0

    try:
        return f(0)
    except IndexError:
        return -x[1]


def exits(x):
    s = 0.0
    for v in x:
        try:
            if v > 1:
                raise SystemExit(3)
            s += v
        except SystemExit as error:
            s += error.code
    return s


def in_data_dict(x):
    table = {"a": 1.0, "b": 2.0}
    s = 0.0
    for v in x:
        name = "a" if v > 1 else "b" if v > 0 else "c"
        try:
            s += table[name] * v
        except KeyError as error:
            s += len(error.args[0]) * 0.5
    return s


def unlike_returns(x):
    def f(v):
        try:
            if v > 1:
                return None
            if v > 0:
                raise ValueError
            return v
        except ValueError:
            return 2.0

    s = 0.0
    for v in x:
        y = f(v)
        s += 5.0 if y is None else y
    return s


def math_errors(x):
    s = 0.0
    for f in (math.asin, math.acosh, math.log1p, math.log2, math.atanh, math.gamma, math.lgamma):
        for v in x:
            try:
                s += f(v)
            except ValueError:
                s += 1
    for v in x:
        try:
            s += math.exp(v * 1000) * 0
        except OverflowError:
            s += 2
        try:
            s += math.pow(v, 0.5) + math.fmod(v, 0.3)
        except ValueError:
            s += 3
        try:
            s += 1 / (math.sqrt(v + 3) - math.sqrt(v + 3))
        except ZeroDivisionError:
            s += 4
        except ValueError:
            s += 0.5
    return s


def numpys_division(x):
    n = np.argmax(x)
    try:
        s = np.isfinite(np.float64(1.0) / n) * 2.0
    except ZeroDivisionError:
        s = 5.0
    return s * x[0]


def mixed_division(x):
    s = 0.0
    for v in x:
        y = 0.0 if v > 0 else v
        try:
            s += 1 / y
        except ZeroDivisionError:
            s += 1
    return s


def caught_later(x):
    s = 0.0
    try:
        for v in x:
            try:
                if v > 1.5:
                    raise KeyError
                s += math.sqrt(v + 1)
            finally:
                s += 0.5
    except (KeyError, ValueError) as error:
        s += 1 if isinstance(error, KeyError) else 2
    return s


def identities(x):
    error = ValueError("one")
    s = 0.0
    for v in x:
        try:
            if v > 0:
                raise error
            s += v
        except ValueError as found:
            s += 1 if found is error else 2
    return s


OTHERS = [
    printed, errors_that_leave, errors_of_handlers, not_caught, generated, generator_that_raises, next_of_generators, sorted_in_place,
    lists_that_grow, generator_managers, in_errstate, recursion, exits, in_data_dict, unlike_returns, math_errors, numpys_division,
    mixed_division, caught_later, identities,
]  # fmt: skip


@pytest.mark.parametrize("f", OTHERS, ids=lambda f: f.__name__)
def test_errors_are_those_of_plain_python(f):
    """Value, gradient and error, in however many recordings."""
    compare(f)


def test_what_cannot_be_undone_is_done_once(capsys):
    """A recording prints what the plain function prints."""
    for p in POINTS:
        outcome_of(printed, p)
        expected = capsys.readouterr().out
        td.record(flowed(printed), p)
        assert capsys.readouterr().out == expected


# Effects on the caller's objects


class Box:
    """An object of the caller's."""

    def __init__(self):
        self.n, self.items, self.table = 0.0, [1.0, 2.0, 3.0], {"a": 1.0, "b": None}


def change(box, x):
    for k, v in enumerate(x):
        try:
            box.n += 1
            box.items[k % 3] += v
            if v > 0.5:
                box.table["b"] = v
                raise Failure(v)
            box.n += math.sqrt(v + 1)
            box.table["a"] = v
        except ValueError:
            box.items[0] -= 1
            continue
        except Failure as error:
            box.items[1] = error.value
        finally:
            box.n *= 2
        box.table["a"] *= 3
    return box.n


def change_and_fail(box, x):
    box.n = 5.0
    try:
        for v in x:
            box.items[0] += v
            box.table["a"] += math.sqrt(v + 1.5)
    finally:
        box.n += 1
    return box.n


def plain(value):
    """A value as plain Python has it."""
    if type(value) is Choice:
        return next(plain(option) for option, when in zip(value.options, value.conditions) if when._value)
    return value._value if hasattr(value, "_value") else value


def state_of(box):
    return [plain(v) for v in (box.n, *box.items, *box.table.values())]


@pytest.mark.parametrize("f", [change, change_and_fail], ids=lambda f: f.__name__)
def test_objects_of_the_caller_are_as_in_python(f):
    """What a recording leaves in them, also where an error leaves the function."""
    for p in POINTS:
        ours, pythons = Box(), Box()
        expected = outcome_of(lambda x: f(pythons, x), p)  # noqa: B023 -- called here
        found = outcome_of(lambda x: td.record(flowed(lambda y: f(ours, y)), x), p)  # noqa: B023 -- called here
        if type(expected) is tuple:
            assert found == expected
        for mine, other in zip(state_of(ours), state_of(pythons), strict=True):
            assert (mine is None) == (other is None)
            if mine is not None:
                np.testing.assert_allclose(float(mine), other, rtol=1e-12)


def test_the_traceback_shows_the_line_that_raised():
    """Of an error that was pending, too."""
    p = np.array([-3.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="math domain error") as found:
        td.record(flowed(caught_by_nothing), p)
    assert "s += math.sqrt(v)  # here" in "".join(traceback.format_exception(found.value))


def caught_by_nothing(x):
    s = 0.0
    try:
        for v in x:
            s += math.sqrt(v)  # here
    except KeyError:
        s = 1.0
    return s


# Random programs


class _Writer:
    """Writes a random function of nested statements."""

    def __init__(self, seed):
        self.rng, self.lines = np.random.default_rng(seed), []

    def pick(self, *options):
        return options[self.rng.integers(len(options))]

    def number(self):
        return f"{self.rng.uniform(-1.2, 1.2):.2f}"

    def value(self):
        return self.pick("a", "b", "v", "c[0]", "c[1]", "o.z", self.number(), f"x[{self.rng.integers(6)}]")

    def test(self):
        return f"{self.value()} {self.pick('<', '>')} {self.pick('v', self.number())}"

    def expression(self):
        kind = self.rng.integers(9)
        p, q = self.value(), self.value()
        return (
            f"{p} + {q}", f"{p} * 0.5 - {q}", f"math.sqrt({p} + 0.9)", f"math.log({p} + 1.5) + {q}", f"({p} if {self.test()} else {q})",
            f"g({p})", f"{p} - math.asin({q} * 0.7)", f"h({p})", f"{p} / (2.0 if {self.test()} else 0.0)",
        )[kind]  # fmt: skip

    def block(self, indent, depth, in_loop, in_handler):
        for _ in range(self.rng.integers(1, 4)):
            self.statement(indent, depth, in_loop, in_handler)

    def put(self, indent, text):
        self.lines.append("    " * indent + text)

    def statement(self, indent, depth, in_loop, in_handler):
        kinds = ["assign"] * 4 + ["raise", "jump", "assert"]
        if depth:
            kinds += ["try"] * 5 + ["if"] * 2 + ["for", "with", "own with"]
        kind = self.pick(*kinds)
        if kind == "assign":
            target = self.pick("a", "b", "c[0]", "c[1]", "o.z", "a", "b")
            self.put(indent, f"{target} {self.pick('=', '+=')} {self.expression()}")
        elif kind == "assert":
            self.put(indent, f"assert {self.test()}")
        elif kind == "raise":
            self.put(indent, f"if {self.test()}:")
            bare = ["raise"] if in_handler else []
            self.put(indent + 1, self.pick("raise KeyError('k')", "raise ValueError", f"raise Failure({self.value()})", "raise Special(1.0)", *bare))
        elif kind == "jump":
            self.put(indent, f"if {self.test()}:")
            self.put(indent + 1, self.pick(f"return {self.value()}", *(["break", "continue"] if in_loop else [])))
        elif kind == "if":
            self.put(indent, f"if {self.test()}:")
            self.block(indent + 1, depth - 1, in_loop, in_handler)
            if self.rng.random() < 0.5:
                self.put(indent, "else:")
                self.block(indent + 1, depth - 1, in_loop, in_handler)
        elif kind == "for":
            self.put(indent, f"for v in x[{self.rng.integers(3)}:{self.rng.integers(3, 6)}]:")
            self.block(indent + 1, depth - 1, True, in_handler)
            if self.rng.random() < 0.3:
                self.put(indent, "else:")
                self.block(indent + 1, depth - 1, in_loop, in_handler)
        elif kind == "with":
            self.put(indent, f"with contextlib.suppress({self.pick('ValueError', 'KeyError', 'Failure, AssertionError')}):")
            self.block(indent + 1, depth - 1, in_loop, in_handler)
        elif kind == "own with":
            self.put(indent, f"with Suppressing({self.pick('ValueError', 'KeyError', 'Failure, AssertionError')}) as m:")
            self.block(indent + 1, depth - 1, in_loop, in_handler)
            self.put(indent, "a += m.count")
        else:
            self.put(indent, "try:")
            self.block(indent + 1, depth - 1, in_loop, in_handler)
            has_finally = self.rng.random() < 0.35
            kinds = ["ValueError", "KeyError", "Special", "(Failure, AssertionError)", "ArithmeticError", "Exception"]
            chosen = [k for k in kinds if self.rng.random() < 0.35] or ([] if has_finally else ["Exception"])
            for kind in chosen:
                self.put(indent, f"except {kind} as e:")
                self.block(indent + 1, depth - 1, in_loop, True)
                if "Failure" in kind:
                    self.put(indent + 1, "b += e.value if isinstance(e, Failure) else 0.5")
            if chosen and self.rng.random() < 0.4:
                self.put(indent, "else:")
                self.block(indent + 1, depth - 1, in_loop, in_handler)
            if has_finally:
                self.put(indent, "finally:")
                self.block(indent + 1, 0, False, False)

    def function(self):
        self.put(0, "def f(x):")
        for line in ("a = b = 0.5", "v = x[0]", "c = [0.0, 1.0]", "o = Object()", "o.z = 0.25"):
            self.put(1, line)
        self.put(1, "def g(w):")
        self.put(2, f"if w > {self.number()}:")
        self.put(3, self.pick("raise Failure(w)", "raise ValueError", "c[0] += w"))
        self.put(2, "return w * 0.5")
        self.put(1, "def h(w):")
        self.put(2, "nonlocal a")
        self.put(2, "try:")
        self.put(3, "return math.sqrt(w)")
        self.put(2, f"except {self.pick('ValueError', 'KeyError')}:")
        self.put(3, "a += 1")
        self.put(3, "return 0.1")
        for _ in range(4):
            self.statement(1, 3, False, False)
        self.put(1, "return a + 2 * b + 3 * c[0] + 5 * c[1] + 7 * o.z")
        return "\n".join(self.lines) + "\n"


def random_function(seed, folder):
    """A random function, with its text in a file."""
    text, path = _Writer(seed).function(), folder / f"random_{seed}.py"
    path.write_text(text)
    names = {"math": math, "contextlib": contextlib, "Failure": Failure, "Special": Special, "Suppressing": Suppressing, "Object": Object}
    exec(compile(text, str(path), "exec"), names)
    return names["f"], text


class Object:
    """Has attributes."""


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_do_what_python_does(seed, tmp_path):
    """Nested statements with errors from tests, calls and functions of the math module."""
    f, text = random_function(seed, tmp_path)
    try:
        compare(f, POINTS[:8])
    except AssertionError as error:
        raise AssertionError(text) from error
