"""What is computed of constants at compile time."""

from dataclasses import replace

import numpy as np

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
