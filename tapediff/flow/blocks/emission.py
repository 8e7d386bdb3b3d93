"""Generators that call the block of the consuming loop at each `yield`."""

from __future__ import annotations

from ..anything import Object
from ..containers.generators import Emit, Generator, Left, Raised
from ..state.completions import CONTINUE, Completion, ends, replaced
from ..state.fork import exclude, is_of_program, where_ends
from ..state.places import WithCells, cells_of, note_cells
from ..state.values import state
from .exceptions import attempted


def emitted(generator: Generator, body: Emit) -> Completion:
    """The completion of a loop over a generator, without its `else`; a `break` remains a completion."""
    assert generator.emitting is not None
    generator.use_up()
    generator.is_lent = True
    cells, attempts = cells_of(body), len(state.attempts)

    def emit(value: Object) -> Completion:
        if state.journals:
            note_cells(cells)
        if len(state.attempts) == attempts:
            try:
                completion = body(value)
            except StopIteration as error:
                # Raised by the consumer, not the generator.
                return Left(Raised(error))
        else:
            # The `try` around the `yield` does not catch the consumer's errors.
            completion = attempted(WithCells(lambda: body(value), body), _of_consumer, lambda end: end)
        return replaced(completion, lambda end: None if end is None or end is CONTINUE else Left(end))

    try:
        completion = replaced(generator.emitting(emit), lambda end: end.end if type(end) is Left else None)
    except StopIteration as error:
        raise RuntimeError("generator raised StopIteration") from error
    for error in [end.error for end in ends(completion) if type(end) is Raised]:
        exclude(where_ends(completion, lambda end, error=error: type(end) is Raised and end.error is error), lambda error=error: error)
    completion = replaced(completion, lambda end: None if type(end) is Raised else end)
    generator.is_lent = completion is not None
    return completion


def _of_consumer(error: BaseException) -> Completion:
    if not is_of_program(error):
        raise error
    return Raised(error)
