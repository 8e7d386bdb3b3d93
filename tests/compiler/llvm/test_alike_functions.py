"""One function for several that differ in numbers only."""

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.codegen import emitter
from tapediff.compiler.llvm.alike_functions import FEWEST_ALIKE, alike_functions
from tapediff.compiler.schedule import merge_nearly_equal, split_long

X, LENGTHS = np.linspace(-1.0, 1.5, 95), range(6, 90, 4)


def pieces(x):
    """Arrays of other lengths: whole vectors and last ones that are not full, masks in memory, a costly function; planes."""
    total, table = 0.0, np.linspace(0.1, 2.0, 95)
    for n in LENGTHS:
        total = total + np.sum(np.maximum(0.3 * x[:n], x[1 : n + 1] * table[:n]) * np.exp(-table[n] * x[:n]))
    planes = [np.outer(x[:n], x[n : 2 * n]) for n in range(3, 7)]
    return total + sum(np.sum(np.where(p > 0.1, p, 0.5) * p.T) for p in planes)


def repeated(x):
    """The same in the body of a loop."""
    return td.scan(lambda total, a: (total + pieces(a * x), None), 0.0, np.array([1.0, -0.3]))[0]


@pytest.mark.parametrize("f", [pieces, repeated])
def test_functions_for_other_numbers_are_shared_and_give_the_same_bits(f, monkeypatch):
    monkeypatch.setattr(split_long, "MOST_IN_LOOPS", 10)
    monkeypatch.setattr(merge_nearly_equal, "LONGEST_BODY", 0)
    shared = td.compile(f, X)
    found = [td.value_and_gradient(shared, x) for x in (X, -X)]
    for (value, gradient), x in zip(found, (X, -X)):
        expected, slope = td.value_and_gradient(shared.tape, x)
        np.testing.assert_allclose(value, expected, rtol=1e-12)  # sums in another order
        np.testing.assert_allclose(gradient, slope, rtol=1e-11, atol=1e-12)
    monkeypatch.setattr(emitter, "alike_functions", lambda functions: [])
    apart = td.compile(f, X * 1.0)
    for (value, gradient), x in zip(found, (X, -X)):
        other, other_gradient = td.value_and_gradient(apart, x)
        assert value == other
        assert np.array_equal(gradient, other_gradient)
    if f is pieces:
        counts = [target.kernel((0,)).llvm.count("define internal") for target in (shared, apart)]
        assert counts[0] + len(LENGTHS) <= counts[1]


def _function(name, lines):
    return "\n".join([f"define internal i32 @{name}(ptr %workspace) noinline nounwind {{", "entry:", *lines, "ret i32 0", "}"])


def test_numbers_become_arguments_only_where_they_differ():
    """Offsets, extents and lanes; what all have in common stays, equal columns are one, and other texts are left alone."""

    def text(k):
        lanes = "<" + ", ".join(f"i1 {'true' if lane <= k % 3 else 'false'}" for lane in range(4)) + ">"
        return [f"%base{k} = getelementptr i8, ptr %workspace, i64 {64 * k}", f"%v1 = icmp ult i64 %i, {64 * k}",
                "%v2 = add nuw nsw i64 %i, 8", f"%v3 = select <4 x i1> {lanes}, <4 x i64> %a, <4 x i64> %b"]  # fmt: skip

    functions = {f"f{k}": _function(f"f{k}", text(k)) for k in range(FEWEST_ALIKE)}
    functions["other"] = _function("other", ["%v1 = fadd double %a, %b", "", "", ""])
    (shared,) = alike_functions(functions)
    assert set(shared.arguments) == set(functions) - {"other"}
    rows = [0, 1, 64, 3, 128, 7, 192, 1]
    assert f"[{', '.join(f'i64 {n}' for n in rows)}]" in shared.definition
    assert "%v2 = add nuw nsw i64 %i, 8" in shared.definition
    assert shared.definition.count("load i64, ptr %shared") == 2
    assert shared.arguments["f2"] == ("f0", "ptr getelementptr ([8 x i64], ptr @f0_numbers, i64 0, i64 4)")
    assert alike_functions(dict(list(functions.items())[1:])) == []
