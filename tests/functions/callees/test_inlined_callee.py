"""A loop whose body calls one branching function: the paths of that function are paths of the body."""

import numpy as np

import tapediff as td
from tapediff.functions.callees.callee import TapeCallee
from tapediff.functions.callees.inlined_callee import InlinedCallee, branching_calls
from tapediff.ops.control.calls import GET, LOOP, LoopForm


def loop(tape, inline):
    calls = branching_calls(tape)
    assert len(calls) == 1
    callee = InlinedCallee("body", tape, calls[0]) if inline else TapeCallee("body", tape)
    return lambda x: GET(LOOP(x[0], x[1], x[2], callee=callee, form=LoopForm(2, 0, 1, 60)), k=0)


def test_it_is_the_loop_with_the_call_in_it():
    """Values, gradients and Hessians, replayed and compiled, for paths met in any order; two variants at the end."""

    @td.subtape(merge=False)
    def bounced(y, v, e):
        return (-y, -e * v) if y < 0 else (y, v)

    def body(y, v, e):
        v = v - 0.05
        y, v = bounced(y + 0.1 * v, v, e)
        return y, v * 0.999

    def plain(x):
        y, v = x[0], x[1]
        for _ in range(60):
            y, v = body(y, v, x[2])
        return y

    tape = td.record(body, 1.0, 0.0, 0.8)
    inlined, called = loop(tape, True), loop(tape, False)
    compiled = td.compile(inlined, np.array([1.0, 0.0, 0.8]))
    for point in ([1.0, 0.0, 0.8], [0.05, -1.0, 0.5], [3.0, 2.0, 0.9], [0.3, 0.1, 0.95]):
        x = np.array(point)
        for target in (inlined, compiled):
            td.testing.check_gradient(target, plain, x, rtol=1e-5)
            np.testing.assert_allclose(td.gradient(target, x), td.gradient(called, x), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(td.hessian(compiled, x), td.hessian(called, x), rtol=1e-9, atol=1e-11)
    assert bounced.recordings == 2
