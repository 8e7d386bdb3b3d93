"""What steps are taken to cost: every expression of the registry has a price, and the order of prices is right."""

from tapediff.compiler.schedule.cost_model import DIVISION, FUNCTION, work
from tapediff.ops import REGISTRY, Elementwise


def test_costly_functions_cost_more_than_divisions_and_these_more_than_additions():
    assert work("r0") == 0
    assert work("r0 + 1.0") == work("-r0") == work("r0 < r1") == work("select(r0, r1, r2)") == 1
    assert work("r0 * r1 - r2") == 2
    assert work("r0 / r1") == work("sqrt(r0)") == DIVISION
    assert work("exp(r0) + 1.0") == FUNCTION + 1


def test_every_elementwise_op_that_is_costly_is_priced_so():
    for op in REGISTRY.values():
        if isinstance(op, Elementwise):
            assert (work(op.scalar) >= FUNCTION) == op.is_costly, op.name
