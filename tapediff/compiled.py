"""CompiledTape: a tape together with the native kernels made from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .arguments import as_inputs
from .errors import GuardFailed
from .outputs import check_out, deliver
from .record import record
from .replay import Miss, run
from .tape import Tape
from .transforms.derive import gradient_tape


class CompiledTape:
    """A tape with its native kernels."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape

    def attempt(self, argnums: tuple[int, ...] | None, inputs: Sequence[Any], outs: Sequence[np.ndarray] | None) -> Any:
        """(value, gradients) at inputs of exactly the recorded types, or the Miss at the first guard that fails."""
        tape = self.tape if argnums is None else gradient_tape(self.tape, argnums)
        try:
            value, *gradients = run(tape, inputs)
        except GuardFailed as failure:
            return Miss(failure.ordinal, failure.outcome)
        return value, gradients

    def value_and_gradient(self, *args: Any, argnums: Any = 0, out: Any = None) -> Any:
        numbers = argnums if isinstance(argnums, tuple) else (argnums,)
        check_out(out, [self.tape.input_types[k] for k in numbers], isinstance(argnums, tuple))
        value, *gradients = run(gradient_tape(self.tape, numbers), as_inputs(self.tape, args))
        return value, deliver(gradients, out, isinstance(argnums, tuple))

    def gradient(self, *args: Any, argnums: Any = 0, out: Any = None) -> Any:
        return self.value_and_gradient(*args, argnums=argnums, out=out)[1]

    def __call__(self, *args: Any) -> Any:
        return self.tape(*args)


def compile(target: Tape | Callable[..., Any], *args: Any) -> CompiledTape:
    return CompiledTape(target if isinstance(target, Tape) else record(target, *args))
