"""User code that catches exceptions: which handler catches what, and what that means for a recording."""

import contextlib
import linecache
import math
import sys
import warnings
from math import exp, log

import numpy as np
import pytest

import tapediff as td
from tapediff.recording.python_state import exception_handlers as handlers
from tapediff.recording.python_state.exception_handlers import handler_of

X = np.array([2.0, 3.0])


def looks():
    return handler_of(np.linalg.LinAlgError)


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
    [by_base_class, by_nothing, from_further_out, from_a_loop, by_what_cannot_be_told],
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


class Swallows:
    def __enter__(self):
        return self

    def __exit__(self, *raised):
        return True


@contextlib.contextmanager
def swallows():
    try:
        yield
    except np.linalg.LinAlgError:
        pass


def managers_in_parentheses():
    with (
        np.errstate(all="ignore"),
        swallows() as _,
    ):
        return {key: looks() for key in "ab"}


def manager_in_what_a_call_gives():
    with contextlib.nullcontext(Swallows()).enter_result:
        looks()


def manager_that_a_call_chooses():
    with (contextlib.nullcontext and contextlib.suppress)(np.linalg.LinAlgError):
        looks()


def manager_in_an_array():
    with np.array([Swallows(), 1], object)[0]:
        looks()


def manager_over_two_lines():
    with contextlib \
        .suppress(np.linalg.LinAlgError):  # fmt: skip
        looks()


def comprehension():
    try:
        return [looks() for _ in range(2) for _ in [k + 1 for k in range(2)]]
    except np.linalg.LinAlgError:
        return 0


def unpacked():
    kinds = [np.linalg.LinAlgError]
    try:
        looks()
    except (KeyError, *kinds):
        pass


def group():
    try:
        looks()
    except* np.linalg.LinAlgError:
        pass


def break_in_finally():
    for _ in range(2):
        try:
            looks()
        finally:
            break  # noqa: B012 -- what is tested


def return_in_finally():
    try:
        looks()
    finally:
        return 1  # noqa: B012 -- what is tested


def own_generator():
    def rows():
        try:
            yield looks()
        except ValueError:
            yield 0

    return list(rows())


def around_a_generator():
    def rows():
        yield from (looks() for _ in range(2))

    try:
        return list(rows())
    except ValueError:
        return 0


def coroutine():
    async def inner():
        return looks()

    async def outer():
        try:
            return await inner()
        except ValueError:
            return 0

    try:
        outer().send(None)
    except StopIteration:
        pass


def class_body():
    class Made:
        Error = np.linalg.LinAlgError
        try:
            value = [looks() for _ in range(1)]
        except Error:
            value = 0

    return Made.value


def exit_stack():
    with contextlib.ExitStack() as stack:
        stack.enter_context(Swallows())
        looks()


def behind_another_clause():
    try:
        try:
            looks()
        except KeyError as error:
            return error.args
        finally:
            done = [1]
            done.append(2)
    except ValueError as error:
        return error.args


CAUGHT = [
    managers_in_parentheses, manager_in_what_a_call_gives, manager_that_a_call_chooses, manager_in_an_array, manager_over_two_lines,
    comprehension, unpacked, group, break_in_finally, return_in_finally, own_generator, around_a_generator, coroutine, class_body,
    exit_stack, behind_another_clause,
]  # fmt: skip


def _raises(program):
    """Whether the program raises what is raised where it looks."""
    global looks
    plain = looks

    def raising():
        raise np.linalg.LinAlgError

    try:
        looks = raising
        program()
    except np.linalg.LinAlgError:
        return True
    finally:
        looks = plain
    return False


@pytest.mark.parametrize("program", CAUGHT, ids=lambda p: p.__name__)
def test_what_catches_when_it_is_raised_is_found_before(program):
    """Whatever this version of Python compiles it to."""
    assert not _raises(program)
    assert _first_answer(program) is not None


PASSED = [by_another_kind, in_finally_only, with_managers_that_pass, inside_a_handler, in_a_generator]


@pytest.mark.parametrize("program", PASSED, ids=lambda p: p.__name__)
def test_what_is_said_to_pass_does_pass(program):
    """The programs above are what they are called."""
    assert _raises(program)


def _first_answer(program, **named):
    """What is found at the first look, whatever becomes of it."""
    global looks
    plain, found, here = looks, [], id(sys._getframe())

    def look():
        found.append(handler_of(np.linalg.LinAlgError, here, **named))
        return 0.0

    try:
        looks = look
        program()
    finally:
        looks = plain
    return found[0]


def with_a_try():
    try:
        looks()
    except KeyError:
        pass


def with_a_manager():
    with np.errstate(all="ignore"):
        looks()


def with_a_comprehension_inside():
    try:
        return [looks() for _ in range(1)]
    finally:
        math.sqrt(2)


@pytest.mark.parametrize("managers", [True, False])
@pytest.mark.parametrize("program", [with_a_try, with_a_manager, with_a_comprehension_inside], ids=lambda p: p.__name__)
def test_byte_code_that_is_not_known_may_catch(program, managers, monkeypatch):
    """Of another version or another Python: one by one, then all instructions have names that nobody has heard of."""
    assert _first_answer(program, managers=managers) is None
    known = handlers._instructions
    names = {instruction.opname for instruction in known(program.__code__)[0]}
    decisive = names & {"PUSH_EXC_INFO", "CHECK_EXC_MATCH", "WITH_EXCEPT_START", "BEFORE_WITH", "LOAD_SPECIAL"}
    for renamed in (*({name} for name in decisive), names):
        def others(code, renamed=renamed):
            instructions, places = known(code)
            return [i._replace(opname="ANEW") if i.opname in renamed else i for i in instructions], places

        with monkeypatch.context() as patch:
            patch.setattr(handlers, "_instructions", others)
            assert _first_answer(program, managers=managers) is not None, renamed
    monkeypatch.setattr(handlers, "_IS_KNOWN", False)
    assert _first_answer(program, managers=managers) is not None


@pytest.mark.parametrize("table", [b"\x80", b"\xc0", b"\x80\x3f", b"\x80\x7f\x3f\x7f\x3f\x00", b"\x80\x7f\x3f\x02\x00"])
def test_an_exception_table_that_makes_no_sense_may_catch(table):
    """Nothing is raised from inside, and nobody claims that nothing catches."""
    program = type(with_a_try)(with_a_try.__code__.replace(co_exceptiontable=table), globals())
    assert _first_answer(program) is not None


@pytest.mark.parametrize("managers", [True, False])
def test_code_without_handlers_catches_nothing_in_any_python(managers, monkeypatch):
    """So that what is not known costs guards only where something could catch."""
    monkeypatch.setattr(handlers, "_IS_KNOWN", False)
    assert _first_answer(lambda: looks(), managers=managers) is None


# Programs that catch what only a recording raises. Each answers at once on plain numbers.


def conversion(x):
    try:
        s = float(x[0])
    except TypeError:
        s = 1.0
    return s * np.sum(x**2)


def standard_library(x):
    try:
        y = log(x[0])
    except Exception:  # noqa: BLE001 -- what is tested
        y = 0.0
    return y * np.sum(x)


def suppressed(x):
    y = 0.0
    with contextlib.suppress(TypeError):
        y = exp(x[0])
    return y + np.sum(x)


def conversion_hook(x):
    return x[0] * (2.0 if hasattr(x[0], "__array__") else 3.0)


def default_attribute(x):
    return np.sum(x) * (2.0 if getattr(x, "ctypes", None) else 3.0)


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
        return np.sum(np.spacing(x))
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
    conversion, standard_library, suppressed, conversion_hook, default_attribute, memory, text, function_that_is_missing,
    leaves_and_returns,
]  # fmt: skip


def as_guarded(f):
    return td.GuardedTape(f)(X)


def as_subtape(f):
    sub = td.subtape(lambda v: f(v) * 1.0)
    return td.record(lambda v: sub(v), X)(X)


def as_scan_body(f):
    return td.record(lambda v: td.scan(lambda c, row: (c + f(row), c), 0.0, np.stack([v, v]))[0], X)(X)


@pytest.mark.parametrize(
    "way", [as_guarded, as_subtape, as_scan_body], ids=lambda w: w.__name__
)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_recording_whose_own_error_was_caught_is_refused(f, way):
    """The handler's answer is not the plain function's; the error says where it was raised. Where all paths are recorded there may be none."""
    expected = f(X)
    assert np.isfinite(expected)
    found, text = None, ""
    try:
        found = way(f)
    except td.UnsupportedFunction as refused:
        text = str(refused)
    if found is None:
        assert "caught an error that only a recording raises" in text
        assert "test_exception_handlers.py" in text
    else:
        assert way in (as_guarded, as_subtape, as_scan_body)
        assert found == pytest.approx(expected * (2 if way is as_scan_body else 1))
    assert not td.is_recording()


def test_both_lines_are_named():
    """Where the conversion stands, and the `except` that caught it."""
    with pytest.raises(td.UnsupportedFunction) as refused:
        td.record(conversion, X)
    first = conversion.__code__.co_firstlineno
    assert str(refused.value) == (
        "conversion caught an error that only a recording raises, so its tape would not do what the plain function does\n"
        f"  at:  test_exception_handlers.py:{first + 2} in conversion, caught at test_exception_handlers.py:{first + 3} in conversion\n"
        "  got: TrackedValueEscaped: a tracked value was converted to a Python float, which would drop its gradient\n"
        "  fix: leave float() out, call math's functions by these names (math.log; after `from math import log` they refuse tracked values) or NumPy's, and keep arrays of tracked values tracked: "
        "td.zeros(n) or np.stack([...]) instead of storing into a plain array"
    )


def test_an_error_that_is_caught_outside_leaves_the_next_recording_alone():
    """A refusal belongs to one recording."""
    for _ in range(2):
        with pytest.raises(td.TrackedValueEscaped):
            td.record(lambda x: float(x[0]) * x[1], X, merge=False)
    assert td.gradient(lambda x: np.sum(x**2), X).tolist() == [4.0, 6.0]


def hash_of_an_array(x):
    try:
        hash(x)
    except TypeError:  # as for a plain array
        return np.sum(x**2)
    return 0.0


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


@pytest.mark.parametrize("f", [hash_of_an_array, absent_attribute, index_beyond, own_error])
def test_what_a_plain_array_refuses_as_well_may_be_caught(f):
    """Then the recorded path is that of the plain function."""
    assert td.gradient(td.compile(f, X), X).tolist() == [4.0, 6.0]
    assert f(X) == 13.0
