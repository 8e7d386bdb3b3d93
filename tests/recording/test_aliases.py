"""What a callee hands out may share memory with what its caller holds: a write to either is seen as in NumPy, or refused."""

import itertools

import numpy as np
import pytest

import tapediff as td

AT, ELSEWHERE = np.array([1.0, 2.0, 3.0, 4.0]), np.array([-1.0, 2.5, 3.5, 0.5])

# What a callee hands out, of its argument a, the array y that it closes over, and the plain array p that it closes over.
HANDED_OUT = {
    "argument": lambda a, y, p: (a, a * 2),
    "closed over": lambda a, y, p: (y, a * 2),
    "view of the argument": lambda a, y, p: (a[::-1], a * 2),
    "view of what is closed over": lambda a, y, p: (y.reshape(2, 2).T.reshape(-1)[::-1], y[::-1]),
    "one array twice": lambda a, y, p: (*[a + y] * 2,),
    "an array and its view": lambda a, y, p: (lambda z: (z, z[::-1]))(a * y),
    "plain": lambda a, y, p: (p, a * 2),
    "view of plain": lambda a, y, p: (p[::-1], a * 2),
    "fresh": lambda a, y, p: (a * 3, y + 1),
}


def _subtape(hand, y, p):
    return td.subtape(lambda a: hand(a, y, p) if a[0] > 0 else (a * 5, y * 7))


def _other_path(hand, y, p):
    return td.subtape(lambda a: hand(a, y, p) if a[0] < 0 else (a * 5, y * 7))


def _checkpoint(hand, y, p):
    return td.checkpoint(lambda a: hand(a, y, p))


def _with_default(hand, y, p):
    def f(a, y=y, p=p):
        return hand(a, y, p)

    return td.subtape(f)


def _method(hand, y, p):
    class Model:
        def __init__(self):
            self.parts = [y, p]

        @td.subtape
        def run(self, a):
            return hand(a, *self.parts)

    return Model().run


def _nested(hand, y, p):
    inner = _subtape(hand, y, p)
    return td.subtape(lambda a: inner(a))


def _nested_on_another_path(hand, y, p):
    inner = _other_path(hand, y, p)
    return td.subtape(lambda a: inner(a))


def _chained(hand, y, p):
    inner = _subtape(hand, y, p)
    again = td.subtape(lambda u, v: (v, u))
    return lambda a: again(*inner(a))


def _recursive(hand, y, p):
    @td.subtape
    def down(n, a):
        return hand(a, y, p) if n == 0 else down(n - 1, a)

    return lambda a: down(2, a)


def _cond(hand, y, p):
    return lambda a: td.cond(a[0] > 0, lambda a: hand(a, y, p), lambda a: (a * 5, y * 7), a)


def _switch(hand, y, p):
    return lambda a: td.switch((a[0] > 0).astype(int), [lambda a: (a * 5, y * 7), lambda a: hand(a, y, p)], a)


def _primitive(hand, y, p):
    rule = lambda saved, bars: bars[0] + bars[1]
    return td.primitive(lambda a: (hand(a, a, a), None), rule, compiled=False)  # p is looked at anew at every replay


def _scan(hand, y, p):
    def run(a):
        (_, u, v), ys = td.scan(lambda c, x: ((c[0] + x, *hand(c[0] * 1.0, y, p)), hand(a, y, p)), (a, a, a), np.ones(2))
        return u + ys[0][1], v + ys[1][0]

    return run


def _scan_of_parts(hand, y, p):
    def run(a):
        (u, _), ys = td.scan(lambda c, x: (hand(c[0], y, p), c[1]), (a, a), a[:2])
        return u, ys[0]

    return run


def _fori_loop(hand, y, p):
    return lambda a: td.fori_loop(0, 3, lambda i, c: hand(c[0], y, p), (a, a))


def _while_loop(hand, y, p):
    def run(a):
        _, u, v = td.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, *hand(c[1], y, p)), (abs(a[0]) * 0, a, a))
        return u, v

    return run


def _writing_loop(hand, y, p):
    def body(i, c):
        c = hand(c[0], y, p)
        u = c[0] + 0 * y
        u[0] += c[1][1]
        return u, c[1]

    return lambda a: td.fori_loop(0, 3, body, (a, a))


CALLEES = [
    _subtape, _other_path, _checkpoint, _with_default, _method, _nested, _nested_on_another_path, _chained, _recursive, _cond,
    _switch, _primitive, _scan, _scan_of_parts, _fori_loop, _while_loop, _writing_loop,
]  # fmt: skip


def _set(y, v):
    y[0] = v


def _add(y, v):
    y += v


def _out(y, v):
    np.multiply(y, v, out=y)


def _sort(y, v):
    y.sort()


def _through_view(y, v):
    y[1:][::2][0] = v


def _through_shape(y, v):
    y.reshape(2, 2)[1] *= v


WRITES = [_set, _add, _out, _sort, _through_view, _through_shape]
WRITTEN = ["argument", "closed over", "plain", "first result", "second result", "base of the argument"]


def program(make, hand, write, written, when):
    """A function that calls a callee and writes to one of the arrays before or after; all of them count in its result."""

    def f(x):
        base = x * 1.0
        a, y, p = base[:], x * 3.0 - 20.0, np.array([7.0, 5.0, 6.0, 8.0])
        arrays = {"argument": a, "closed over": y, "plain": p, "base of the argument": base}
        factor = 2.5 if written == "plain" else 5 * x[1]
        if when == "before":
            write(arrays[written], factor)
        callee = make(hand, y, p)
        u, v = callee(a)
        arrays |= {"first result": u, "second result": v}
        if when == "after":
            write(arrays[written], factor)
        return sum(np.sum(z**2 * np.array([1.0, 2.0, 4.0, 8.0])) * w for w, z in enumerate((u, v, a, y, p, base), 1))

    return f


CASES = [
    (make, name, write, written, when)
    for make, name, write, written, when in itertools.product(CALLEES, HANDED_OUT, WRITES, WRITTEN, ("before", "after"))
    if not (when == "before" and "result" in written)
]
# The table is 10^4 programs; a run does the same part of it.
SAMPLE = [CASES[k] for k in np.random.default_rng(7).permutation(len(CASES))[:400]]


def outcome(call, x):
    """What a call gives, or None where it refuses in tapediff's or NumPy's words."""
    try:
        return call(x)
    except (td.TapediffError, ValueError):
        return None


def refusals(f):
    """Records f on either side of its branches and replays it on the other, whose path callees then record; how many were refused."""
    want = [f(AT), f(ELSEWHERE)]
    refused = 0
    for points in ((0, 1, 0), (1, 0)):
        tape = outcome(lambda x: td.record(f, x), (AT, ELSEWHERE)[points[0]])
        for k in points:
            got = None if tape is None else outcome(tape, (AT, ELSEWHERE)[k])
            refused += got is None
            # The same operations of NumPy in the same order.
            assert got is None or abs(got - want[k]) <= 1e-13 * abs(want[k]), (got, want[k])
    return refused


@pytest.mark.parametrize("make", CALLEES)
def test_a_write_to_what_a_callee_may_have_handed_out_is_seen_as_in_numpy_or_refused(make):
    """Every kind of callee, of what it hands out, of write and of its time: plain Python's number or an error."""
    count = 0
    for case in SAMPLE:
        if case[0] is make:
            try:
                count += refusals(program(make, HANDED_OUT[case[1]], *case[2:])) == 0
            except AssertionError as error:
                raise AssertionError(f"{[getattr(part, '__name__', part) for part in case]}: {error}") from None
    assert count > 0


def test_a_closed_over_array_that_is_handed_out_and_then_written_to_gives_no_stale_value():
    """The value of plain Python here is 113; 14 would be that of the array before the write."""

    def f(x):
        y = x * 1.0
        pick = td.subtape(lambda v: y if v > 0 else y * 2)
        z = pick(x[0])
        y[0] = 5 * x[1]
        return np.sum(z**2)

    assert f(AT[:3]) == 113
    with pytest.raises(td.UnsupportedFunction) as caught:
        td.record(f, AT[:3])
    assert str(caught.value).splitlines()[1:] == [
        f"  at:  test_aliases.py:{f.__code__.co_firstlineno + 5} in f",
        "  fix: return a copy, x.copy(), or write to a copy",
    ]
    # Before that path is taken, nothing is wrong; when it is, the tape that was recorded long ago refuses it.
    tape = td.record(f, ELSEWHERE[:3])
    assert tape(ELSEWHERE[:3]) == f(ELSEWHERE[:3])
    with pytest.raises(td.UnsupportedFunction):
        tape(AT[:3])


def test_calls_of_sub_tapes_that_are_both_fresh_may_be_either():
    """What is returned by one of two calls, on different paths, shares memory with nothing if neither does."""
    one, two = td.subtape(lambda v: v * 2), td.subtape(lambda v: v * 3 if v[1] > 0 else v)
    either = td.subtape(lambda v: one(v) if v[0] > 0 else two(v))

    def f(x):
        y = x * 1.0
        z = either(y)
        y[0] = 7.0
        return np.sum(z**2) + np.sum(y)

    tape = td.record(f, AT)
    assert tape(AT) == f(AT)
    assert tape(ELSEWHERE) == f(ELSEWHERE)
    with pytest.raises(td.UnsupportedFunction):
        tape(-AT)


@pytest.mark.parametrize("make", CALLEES)
def test_what_shares_no_memory_may_be_written_to(make):
    """Fresh results, and writes before the call, are never refused, whatever else is known of the callee."""
    for write, written in itertools.product((_add, _through_view), WRITTEN):
        if "result" not in written:
            for hand in list(HANDED_OUT.values())[WRITES.index(write) % 2 :: 2]:
                assert refusals(program(make, hand, write, written, "before")) == 0
        # What _chained hands out is what it was given.
        if make is not _chained or "result" not in written:
            assert refusals(program(make, HANDED_OUT["fresh"], write, written, "after")) == 0
