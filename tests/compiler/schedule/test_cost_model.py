"""What steps are taken to cost: every expression of the registry has a price, and the order of prices is right."""

from tapediff.compiler.schedule.cost_model import DIVISION, FUNCTION, cost_of
from tapediff.ops import REGISTRY, Elementwise


def test_costly_functions_cost_more_than_divisions_and_these_more_than_additions():
    assert cost_of("r0") == 0
    assert cost_of("r0 + 1.0") == cost_of("-r0") == cost_of("r0 < r1") == cost_of("select(r0, r1, r2)") == 1
    assert cost_of("r0 * r1 - r2") == 2
    assert cost_of("r0 / r1") == cost_of("sqrt(r0)") == DIVISION
    assert cost_of("exp(r0) + 1.0") == FUNCTION + 1


def test_every_elementwise_op_that_is_costly_is_priced_so():
    for op in REGISTRY.values():
        if isinstance(op, Elementwise):
            assert (cost_of(op.scalar) >= FUNCTION) == op.is_costly, op.name
