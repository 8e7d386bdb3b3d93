"""Programs that raise errors where data say so: in a module of their own, as pytest rewrites the assertions of test modules."""

from __future__ import annotations

import contextlib
import itertools
import math

import numpy as np


class Failure(Exception):
    """An error with code of its own."""

    def __init__(self, value, name="x"):
        super().__init__(value)
        self.value, self.name = value, name


class Special(Failure):
    """A further one."""


class Object:
    """Has attributes."""


# Programs that one recording holds


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
    for a, b in itertools.pairwise(x):
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


def texts(x):
    s = 0.0
    try:
        while s < 3:
            s += abs(x[0]) + 0.3
            if s > 2 and x[1] > 0:
                raise ValueError("high")
            if s > 1.5 and x[2] > 0:
                raise ValueError("low")
            if s > 1 and x[3] > 1:
                raise ValueError("low", 2)
    except ValueError as error:
        return s * len(error.args[0]) * len(error.args)
    return s


def in_the_other_branch(x):
    """Nothing catches the errors, and tests that fail lead to them."""
    table = [0.5, 2.0]
    if x[0] > 0:
        rate = 1.0
    else:
        rate = table[int(abs(x[1]) * 1.5)]
    if x[2] < 0.5:
        rate += x[3]
    elif x[4] > -0.5:
        rate *= x[5]
    else:
        rate += math.sqrt(x[5] + 0.5)
    return x[2] * rate


ONE_RECORDING = [
    nested, finally_everywhere, finally_that_returns, bare_raise, of_else, jumps, tracked_errors, own_managers, suppressed,
    several_managers, asserted, out_of_range, integers, python_floats, state_of_objects, in_a_branch, in_expressions, name_unbound, retried,
    validated, accounts, texts, in_the_other_branch,
]  # fmt: skip


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


def with_exit_raises(x):
    class M:
        def __enter__(self):
            return self

        def __exit__(self, *a):
            if x[0] > 0:
                raise KeyError
            return a[0] is not None

    s = 0.0
    for v in x:
        try:
            with M():
                s += math.sqrt(v)
        except KeyError:
            s += 1
    return s


def dicts(x):
    cache = {}

    def get(v):
        try:
            return cache["k"]
        except KeyError:
            cache["k"] = v * 2
            return v

    s = 0.0
    for v in x:
        if v > 0:
            s += get(v)
    return s


def raise_from_else(x):
    s = 0.0
    for v in x:
        try:
            try:
                s += v
            except ValueError:
                s += 100
            else:
                if v > 0:
                    raise ValueError
            finally:
                s *= 0.5
        except ValueError:
            s += 2
    return s


def finally_raises(x):
    s = 0.0
    for v in x:
        try:
            try:
                if v > 0:
                    raise KeyError
                s += v
            finally:
                if v > 1 or v < -1:
                    raise ValueError
        except ValueError as e:
            s += 3 if e.__context__ is None else 4
        except KeyError:
            s += 1
    return s


def finally_break(x):
    s = 0.0
    for v in x:
        try:
            s += math.sqrt(v + 1)
        except ValueError:
            s += 1
            continue
        finally:
            if v > 1:
                break  # noqa: B012 -- what it tests
        s *= 2
    return s


def arrays_written(x):
    y = np.zeros(3)
    for k, v in enumerate(x):
        try:
            y[k % 3] += v
            if v > 0.5:
                raise ValueError
            y[(k + 1) % 3] *= 2
        except ValueError:
            y[0] = v
    return np.sum(y * np.arange(1.0, 4.0))


def lambdas(x):
    f = lambda v: 1 / (1 if v > 0 else 0)
    s = 0.0
    for v in x:
        try:
            s += f(v) * v
        except ZeroDivisionError:
            s -= v
    return s


def walruses(x):
    s = 0.0
    for v in x:
        try:
            while True:
                if (w := math.sqrt(v)) > 0.5:
                    s += w
                break
        except ValueError:
            s += 1
    return s


def remainders(x):
    s = 0.0
    for v in x:
        try:
            s += v / (x[0] - x[0]) if v > 5 else v % (v * 0 + 1)
            n = 0
            if v > 0:
                n += 1
            s += 2.0 % n
            s += divmod(5, n)[0]
        except ZeroDivisionError:
            s += 0.5
    return s


def assign_then_raise(x):
    best = None
    for v in x:
        try:
            best = v
            if v < 0:
                raise ValueError
            best = None if v > 1 else best
        except ValueError:
            pass
    return -1.0 if best is None else best


def handlers_that_try(x):
    s = 0.0
    for v in x:
        try:
            raise ValueError
        except ValueError:
            try:
                if v > 0:
                    raise KeyError
            except KeyError:
                s += v
            else:
                s -= v
    return s


OTHERS = [
    printed, errors_that_leave, errors_of_handlers, generated, generator_that_raises, sorted_in_place, lists_that_grow, generator_managers,
    recursion, exits, unlike_returns, math_errors, numpys_division, caught_later, with_exit_raises, dicts, raise_from_else, finally_raises,
    finally_break, arrays_written, lambdas, walruses, remainders, assign_then_raise, handlers_that_try,
]  # fmt: skip


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


def caught_by_nothing(x):
    s = 0.0
    try:
        for v in x:
            s += math.sqrt(v)  # here
    except KeyError:
        s = 1.0
    return s
