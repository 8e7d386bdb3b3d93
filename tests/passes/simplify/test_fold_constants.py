"""What is computed of constants at compile time."""

from dataclasses import replace

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.kernel import Kernel
from tapediff.ir.instruction import CONSTANT
from tapediff.ops import REGISTRY
from tapediff.ops.declaration.op import Elementwise
from tapediff.passes.simplify.dead_code import dead_code
from tapediff.passes.simplify.fold_constants import fold_constants

CALLS = [
    (op, named) for op in REGISTRY.values() if isinstance(op, Elementwise) and all(domain.kind == "f" for domain in op.samples)
    for named in op.sample_params
]  # fmt: skip


def calls_on_constants(_):
    rng = np.random.default_rng(0)
    return [op(*[td.zeros(9) + domain.draw(rng, (9,)) for domain in op.samples], **named) for op, named in CALLS]


def test_what_is_folded_has_the_bits_that_a_kernel_gives():
    """For every elementwise op. A value may depend neither on the form of the tape, of which folding takes what it can, nor on the processor
    by which NumPy chooses its exp and tanh.
    """
    tape = td.record(calls_on_constants, 1.0)
    folded = fold_constants(tape)
    known = {k: folded.instructions[number].params[0] for k, number in enumerate(folded.outputs) if folded.instructions[number].op is CONSTANT}
    assert len(known) > 30
    kernel = Kernel(dead_code(replace(tape, outputs=tuple(tape.outputs[k] for k in known))))
    computed = [np.empty(type_.shape, type_.dtype) for type_ in kernel.tape.output_types]
    assert kernel.run([np.array(1.0)], computed) == 0
    assert not [CALLS[k][0] for k, value in zip(known, computed) if not np.array_equal(known[k], value, equal_nan=True)]


LONG, SHORT = np.arange(200.0), np.arange(5.0)
# Of constants: whether it is computed at compile time.
FOLDED = {
    "a short array": (lambda a: a(SHORT) * 2.0, True), "a short view": (lambda a: a(SHORT)[:, None], True),
    "as long as its operands": (lambda a: a(np.ones(9000)) * 2.0, True), "a sum": (lambda a: np.sum(a(np.ones(9000))), True),
    "a table of few entries": (lambda a: a(SHORT)[:, None] * a(LONG), True), "a large table": (lambda a: a(LONG)[:, None] * a(LONG), False),
    "a view": (lambda a: a(LONG).reshape(2, 100), False), "a transposed view": (lambda a: a(LONG.reshape(2, 100)).T, False),
    "columns of a view": (lambda a: np.stack([a(LONG).reshape(100, 2)[:, k] for k in (1, 0)]), True),
    "a number everywhere": (lambda a: np.broadcast_to(a(2.0), (10_000,)), False),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDED)
def test_a_constant_takes_the_place_of_what_is_no_larger_than_its_operands_and_no_view(name):
    """Constants live in memory as long as a tape, so that tables are computed from their margins, and data are kept once."""
    made, is_folded = FOLDED[name]
    folded = dead_code(fold_constants(td.record(lambda x: made(td.asarray), 1.0)))
    assert {folded.instructions[number].op is CONSTANT for number in folded.outputs} == {is_folded}
