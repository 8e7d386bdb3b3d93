"""Functions written with the builder do what the same Python does, and mistakes are errors where they are written."""

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest

from tapediff.compiler.jit.native_function import NativeFunction
from tapediff.compiler.llvm import c_library
from tapediff.compiler.llvm.builder import VOID, Function, external, included, module_text
from tapediff.compiler.llvm.memory import Array, Layout
from tapediff.compiler.llvm.values import F64, I1, I8, I32, I64, NULL, PTR, convert, greatest, least, select

C_TYPES = {I64: ctypes.c_int64, F64: ctypes.c_double, PTR: ctypes.c_void_p, I32: ctypes.c_int32, VOID: None, I1: ctypes.c_bool}


def compiled(*functions, addresses=None):
    """The last function as a ctypes function."""
    signature = functions[-1].signature
    native = NativeFunction(module_text(*functions), signature.name, set(), addresses=addresses or {})
    call = ctypes.CFUNCTYPE(C_TYPES[signature.result], *(C_TYPES[kind] for kind in signature.parameters))(native.address)
    call.native = native
    return call


def test_loops_count_from_the_start_to_the_end():
    f = Function("count", I64, start=I64, end=I64)
    total = f.variable(I64, 0)
    with f.loop(*f.parameters, step=3) as k:
        total.value += k
    f.return_(total.value)
    call = compiled(f)
    for start, end in ((0, 10), (5, 5), (7, 2), (-4, 9)):
        assert call(start, end) == sum(range(start, end, 3))


def test_branches_join_and_leave():
    """Collatz steps, but -1 for numbers below 1: both branches of if_, a return inside, and a loop that is left."""

    def expected(n):
        steps = 0
        while n > 1:
            n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
        return steps if n == 1 else -1

    f = Function("collatz", I64, start=I64)
    n, steps = f.variable(I64, f.parameters[0]), f.variable(I64, 0)
    with f.if_(n.value < 1, rarely=True):
        f.return_(-1)
    with f.repeat() as loop:
        loop.leave_if(n.value == 1)
        steps.value += 1
        with f.if_((n.value & 1) == 0):
            n.value >>= 1
            loop.again()
        n.value = n.value * 3 + 1
    f.return_(steps.value)
    call = compiled(f)
    assert [call(n) for n in range(-2, 40)] == [expected(n) for n in range(-2, 40)]


def test_else_belongs_to_the_if_before_it():
    f = Function("sign", I64, x=F64)
    (x,) = f.parameters
    with f.if_(x > 0.0):
        f.return_(1)
    with f.else_():
        with f.if_(x < 0.0):
            f.return_(-1)
        with f.else_():
            f.return_(select(x == 0.0, convert("zext", x != x, I64), 7))
    call = compiled(f)
    assert [call(x) for x in (2.5, -3.0, 0.0, -0.0, float("nan"))] == [1, -1, 0, 0, 7]
    g = Function("g", VOID)
    with g.if_(g.variable(I64, 0).value == 0):
        pass
    g.variable(I64, 1)
    with pytest.raises(TypeError, match="else_ must directly follow an if_"):
        g.else_().__enter__()


def test_an_exit_is_reached_from_anywhere_before_it():
    """The first index of a number in an array, or -1."""
    f = Function("find", I64, numbers=PTR, count=I64, wanted=I64)
    pointer, count, wanted = f.parameters
    found, done = f.variable(I64, -1), f.exit()
    with f.loop(0, count) as k, f.if_(Array(pointer, I64)[k] == wanted):
        found.value = k
        done.leave()
    done.here()
    f.return_(found.value)
    call, numbers = compiled(f), np.array([5, 3, 3, 9])
    assert [call(numbers.ctypes.data, 4, n) for n in (5, 3, 9, 4)] == [0, 1, 3, -1]


def test_fields_are_where_the_layout_says():
    """Words of 8 bytes in order, and fields of other sizes at their offsets: written by name, read by Python."""
    words = Layout.of_words(first=I64, second=F64, third=PTR)
    mixed = Layout(byte=(1, I8), short=(4, I32), double=(8, F64))
    f = Function("write", VOID, words=PTR, mixed=PTR)
    a, b = words.at(f.parameters[0]), mixed.at(f.parameters[1])
    a["first"], a["second"], a["third"] = -3, 0.5, f.parameters[1]
    b["byte"], b["short"] = 7, convert("trunc", a["first"], I32)
    b["double"] = a["second"] + 1.0
    f.return_()
    first, second = np.zeros(3, np.int64), np.zeros(16, np.uint8)
    compiled(f)(first.ctypes.data, second.ctypes.data)
    assert (list(words.words()), words.size, words.word("third")) == ([0, 1, 2], 24, 2)
    assert (first[0], first[1:2].view(float)[0], first[2]) == (-3, 0.5, second.ctypes.data)
    assert (second[1], second[4:8].view(np.int32)[0], second[8:].view(float)[0]) == (7, -3, 1.5)


def test_atomic_operations_give_the_value_before():
    f = Function("update", I64, word=PTR)
    word = Array(f.parameters[0], I64).at(0)
    before = word.update_atomic("add", 5)
    replaced = [word.replace_atomic(expected, 40) for expected in (1, 7)]
    f.return_(before + convert("zext", replaced[0], I64) * 100 + convert("zext", replaced[1], I64) * 1000 + word.load_atomic())
    word = np.array([2])
    assert compiled(f)(word.ctypes.data) == 2 + 1000 + 40
    assert word[0] == 40


def test_functions_call_each_other_and_what_the_linker_finds():
    inner = Function("smaller", I64, a=I64, b=I64)
    inner.return_(least(*inner.parameters))
    outer = Function("outer", I64, a=I64, b=I64)
    a, b = outer.parameters
    total = outer.call(inner.signature, a, b) + outer.call(external("given", I64, I64), greatest(a, b))
    outer.return_(total)
    given = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda n: 10 * n)
    address = ctypes.cast(given, ctypes.c_void_p).value
    assert compiled(inner, outer, addresses={"given": address})(3, -2) == -2 + 30


@pytest.mark.parametrize(
    "write",
    [
        lambda f, n, p: f.return_(p),
        lambda f, n, p: n + p,
        lambda f, n, p: f.variable(F64, n),
        lambda f, n, p: Array(n, I64),
        lambda f, n, p: Array(p, F64)[n * 2.0],
        lambda f, n, p: f.call(external("g", VOID, PTR), n),
        lambda f, n, p: f.call(external("g", VOID, PTR), p, p),
        lambda f, n, p: f.if_(n).__enter__(),
        lambda f, n, p: p == 1,
        lambda f, n, p: (f.return_(0), n + 1),
        lambda f, n, p: f.definition(),
        lambda f, n, p: 1 if n == 0 else 2,
    ],
)
def test_a_wrong_type_or_place_is_an_error_where_it_is_written(write):
    f = Function("f", I64, n=I64, p=PTR)
    with pytest.raises(TypeError):
        write(f, *f.parameters)


def test_an_unknown_field_is_an_error_where_it_is_written():
    f = Function("f", I64, p=PTR)
    with pytest.raises(KeyError):
        Layout.of_words(a=I64).at(f.parameters[0])["b"] = 1
    assert (f.parameters[0] == NULL).kind == I1


@pytest.mark.parametrize(
    "make", [c_library.aligned_alloc_on_windows, c_library.realloc_on_windows, c_library.free_on_windows, c_library.clock_gettime_on_windows]
)
def test_functions_that_windows_lacks_are_valid(make):
    llvm.parse_assembly("\n".join(included(make()))).verify()


def test_the_clock_of_windows_is_split_into_seconds_and_nanoseconds():
    f = c_library.clock_gettime_on_windows()
    f.signature = type(f.signature)("tapediff_clock", f.signature.result, f.signature.parameters)

    def counter(address):
        ctypes.c_int64.from_address(address).value = 123_4567891
        return 1

    made = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(counter)
    time = np.zeros(2, np.int64)
    call = compiled(f, addresses={"QueryPerformanceCounter": ctypes.cast(made, ctypes.c_void_p).value})
    assert call(1, time.ctypes.data) == 0
    assert time.tolist() == [123, 456_789_100]
