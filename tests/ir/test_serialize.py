"""Every instruction that an op can be recorded as comes back from a pickle as it was, and nothing of it twice."""

import pickle

import numpy as np
import pytest

import tapediff as td
from tapediff.ir.instruction import CONSTANT, FLOAT64
from tapediff.ir.serialize import packed, unpacked
from tapediff.ops import REGISTRY


def examples(op):
    rng = np.random.default_rng(2)
    if op.examples is not None:
        return list(op.examples(rng))
    return [(lambda *a, named=named: op(*a, **named), tuple(d.draw(rng, (2, 3)) for d in op.samples)) for named in op.sample_params]


def assert_same_param(was, now):
    """The same type, also 1, 1.0 and True; arrays to the bit, and of those nobody can write to any."""
    if isinstance(was, np.ndarray):
        assert type(now) is np.ndarray
        assert (now.dtype, now.shape, now.tobytes()) == (was.dtype, was.shape, was.tobytes())
        assert not now.flags.writeable
    elif isinstance(was, np.dtype):
        assert now is was
    elif isinstance(was, tuple):
        assert type(now) is type(was)
        assert len(now) == len(was)
        for pair in zip(was, now):
            assert_same_param(*pair)
    else:
        assert type(now) is type(was)
        assert now == was or now != now or type(was).__eq__ is object.__eq__  # NaN, and what is compared by identity


def assert_same(instructions, restored):
    assert len(restored) == len(instructions)
    for was, now in zip(instructions, restored):
        assert now.op is was.op
        assert (now.inputs, now.type, str(now.site)) == (was.inputs, was.type, str(was.site))
        assert type(now.inputs) is tuple
        assert_same_param(was.params, now.params)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_instructions_of_every_op_come_back_as_they_were(name):
    """Ops, operands, parameters, types and sites, one by one."""
    for call, arrays in examples(REGISTRY[name]):
        instructions = td.record(call, *[td.Constant(a) if np.asarray(a).dtype.kind != "f" else a for a in arrays]).instructions
        assert_same(instructions, unpacked(pickle.loads(pickle.dumps(packed(instructions)))))


def test_parameters_that_are_equal_but_of_other_types_stay_apart():
    """1, 1.0 and True are equal and hash alike; -0.0, NaN and constants of other types are kept to the bit."""
    mask = np.array([True, False, True])

    def f(x):
        total = x.sum() + np.sum(x.reshape(1, 3), axis=1, keepdims=True)[0, 0] * -0.0 + np.nan
        return total + np.where(mask, x, np.float32(0.1) + x[::-1]).cumsum()[1] + x[1] * x[True, 1][0] + np.arange(3)[1] * x[np.array(2)]

    instructions = td.record(f, np.arange(3.0)).instructions
    assert_same(instructions, unpacked(pickle.loads(pickle.dumps(packed(instructions)))))


def test_numbers_are_one_array_and_what_is_shared_is_in_its_table_once():
    """Constants of 64 bits without dimensions need 8 bytes each; a parameter, type or op that a thousand instructions have, one entry."""

    def f(x):
        for k in range(400):
            x = np.sin(x) * (k + 0.5)
        return x

    instructions = td.record(f, 0.5, merge=False).instructions
    state = packed(instructions)
    numbers = [i.params[0] for i in instructions if i.op is CONSTANT and i.type.shape == () and i.type.dtype == FLOAT64]
    assert state["numbers"].tolist() == [float(number) for number in numbers]
    assert len(numbers) >= 400
    assert len(state["ops"][0]) == len({i.op for i in instructions})
    assert len(state["types"][0]) == len({i.type for i in instructions})
    assert len(state["sites"][0]) == len({id(i.site) for i in instructions})
    others = [i for i in instructions if not (i.op is CONSTANT and i.type.shape == () and i.type.dtype == FLOAT64)]
    assert len(state["params"][0]) == len({id(i.params) for i in others})
    assert all(column.dtype == np.int32 for column in (state["operands"], state["counts"], state["ops"][1], state["params"][1]))
    shared = unpacked(state)
    assert len({id(i.params) for i in shared if i.op is not CONSTANT}) <= len(state["params"][0])
