"""A small callee for the tests of calls and loops: variants recorded by path, chosen by replay."""

import numpy as np

from tapediff.errors import GuardFailed
from tapediff.functions.callees.callee import Callee, without_guards
from tapediff.ir.instruction import INPUT, DynamicArrayType, Instruction, ValueType
from tapediff.ir.interpreter import run
from tapediff.ir.tape import Tape
from tapediff.ops.control.calls import CALL, CALL_VARIANT, GET, LOOP, loop_with_numpy
from tapediff.passes.pipeline import run_passes
from tapediff.recording.finish import finished_tape
from tapediff.recording.recorder import Recorder

DTYPES = {"f": np.dtype(np.float64), "g": np.dtype(np.float32), "i": np.dtype(np.int64), "b": np.dtype(np.bool_)}


def types(*texts):
    """Value types: "f" for a float scalar, "i3" for three integers, "f2x4" for a matrix."""
    return tuple(ValueType(tuple(map(int, t[1:].split("x"))) if t[1:] else (), DTYPES[t[0]]) for t in texts)


class PathCallee:
    """A NativeCallee, as simple as can be."""

    is_pure = True
    may_branch = True
    is_side = False

    def __init__(self, f, in_types, out_types, *, name="body", stops=False, is_compiled=True, decides=True, most=64):
        self.f, self.name, self.in_types, self.out_types = f, name, in_types, out_types
        self.stops, self.is_compiled, self.decides, self.most = stops, is_compiled, decides, most
        self.native = None
        self.tapes = []
        self.asked = self.answered = 0

    def record(self, inputs, decided=()):
        def path(recorder):
            arguments = [
                recorder.input(np.asarray(v, t.dtype), active=t.is_float) for v, t in zip(inputs, self.in_types)
            ]
            return finished_tape(recorder, tuple(self.f(*arguments)))

        tape = Recorder(self.name, prescribed=decided).run(path)
        assert tape.output_types == self.out_types, (tape.output_types, self.out_types)
        outcomes = [guard.outcome for guard in tape.guards]
        for number in range(len(self.tapes)):
            # A recursive function records the paths that it takes below.
            if repr(self.outcomes(number)) == repr(outcomes):
                return number
        self.tapes.append(tape)
        return len(self.tapes) - 1

    def outcomes(self, number):
        return [guard.outcome for guard in self.tapes[number].guards]

    def only_tape(self):
        """Others may be recorded at any time."""

    def once(self, key, make):
        """Nothing is kept."""
        return make()

    def only_path(self):
        """The variant that there is now, if there is one: others may still be recorded."""
        return self.tapes[0] if len(self.tapes) == 1 else None

    def with_path(self, decided, inputs):
        for number in range(len(self.tapes)):
            met = self.outcomes(number)[: len(decided)]
            if len(met) == len(decided) and all(np.array_equal(a, b) for a, b in zip(met, decided)):
                return number
        return self.record(inputs, decided)

    def missed(self, number, miss, inputs):
        self.asked += 1
        if number is None:
            return self.with_path((), inputs)
        return self.with_path((*self.outcomes(number)[: miss.ordinal], miss.outcome), inputs)

    def answer(self, number, inputs):
        self.answered += 1
        if number is not None:
            return run(without_guards(self.tapes[number]), inputs), number
        number = self.with_path((), inputs)
        while True:
            try:
                return run(self.tapes[number], inputs), number
            except GuardFailed as failed:
                number = self.with_path((*self.outcomes(number)[: failed.ordinal], failed.outcome), inputs)

    def loop_kernel(self, number, layout):
        return Callee.loop_kernel(self, number, layout)

    def variant_tape(self, number):
        return run_passes(self.tapes[number] if self.decides else without_guards(self.tapes[number]))

    def may_compile(self, number):
        return number < self.most

    def known_paths(self):
        return dict.fromkeys(range(len(self.tapes)))

    def run(self, number, values):
        outputs, number = self.answer(number, [np.asarray(v, t.dtype) for v, t in zip(values, self.in_types)])
        return outputs, number

    def run_loop(self, form, values):
        return loop_with_numpy(self, form, values)

    def chosen(self):
        """The same function where the variant is given."""
        other = PathCallee(self.f, self.in_types, self.out_types, name="chosen " + self.name, decides=False)
        other.tapes = self.tapes
        return other


class Builder:
    """A tape written instruction by instruction."""

    def __init__(self):
        self.instructions, self.inputs = [], []

    def add(self, op, inputs=(), params=(), type_=None):
        if type_ is None:
            type_ = op.infer(*[self.instructions[i].type for i in inputs], **op.named(params))
        self.instructions.append(Instruction(op, tuple(inputs), tuple(params), type_, None))
        return len(self.instructions) - 1

    def input(self, type_):
        self.inputs.append(self.add(INPUT, (), (len(self.inputs),), type_))
        return self.inputs[-1]

    def items(self, returned):
        """All items of a tuple that are arrays, and its dynamic arrays."""
        found = [self.add(GET, (returned,), (k,)) for k in range(len(self.instructions[returned].type.items))]
        return [i for i in found if not isinstance(self.instructions[i].type, DynamicArrayType)], [
            i for i in found if isinstance(self.instructions[i].type, DynamicArrayType)
        ]

    def tape(self, outputs):
        return Tape(tuple(self.instructions), tuple(self.inputs), tuple(outputs), "caller", (), True)


def call_tape(callee):
    """A tape of one call: all results and the variant's number."""
    b = Builder()
    returned = b.add(CALL, [b.input(t) for t in callee.in_types], (callee,))
    return b.tape(b.items(returned)[0])


def chosen_tape(callee):
    b = Builder()
    number = b.input(types("i")[0])
    returned = b.add(CALL_VARIANT, [number, *[b.input(t) for t in callee.in_types]], (callee,))
    return b.tape(b.items(returned)[0])


def loop_tape(callee, form):
    """A tape of one loop of static length."""
    b = Builder()
    given = [b.input(types(f"i{form.length}")[0])] if form.variant_given else []
    first, last = form.carries, form.carries + form.streams
    given += [b.input(t) for t in callee.in_types[:first]]
    given += [b.input(ValueType((form.length, *t.shape), t.dtype)) for t in callee.in_types[first:last]]
    given += [b.input(t) for t in callee.in_types[last:]]
    returned = b.add(LOOP, given, (callee, form))
    return b.tape(b.items(returned)[0])
