"""The tape of one iteration of a loop's reverse pass, from the tape of one iteration of the loop.

Inputs: the cotangents of the float carries, and the running sums of those of the differentiated constants; the saved carries, the streams,
the cotangents of the further results and of the saved carries, where there are any; the constants. Outputs: the cotangents of the float
carries and the new sums, which are its carries; the cotangents of the streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..base.source_location import adjoint_site
from ..ir.instruction import Operand, ValueType
from ..ir.interpreter import inline
from ..ir.tape import Tape
from ..ops.control.calls import LoopCotangents, LoopFlow
from ..passes.activity import active_values
from ..passes.loops.reciprocals import multiply_by_reciprocals
from ..passes.simplify.dead_code import dead_code
from ..recording.finish import finished_tape
from ..recording.recorder import Recorder
from .cotangents import ABSENT, MAYBE_DISCARDED, NONZERO, NOT_YET_SEEDED
from .reverse import Pullback, pullback

Types = tuple[ValueType, ...]


def iteration_types(in_types: Types, out_types: Types, which: LoopCotangents) -> tuple[Types, Types]:
    """The types of its inputs and outputs, from those of the loop's callee."""
    n, constants = which.carries, which.carries + which.streams
    carried = tuple(in_types[k] for k in (*which.wrt_carries, *(constants + k for k in which.wrt_constants)))
    cotangents = (*(out_types[n + k] for k in which.seeds), *(in_types[k] for k in which.saved))
    streamed = tuple(in_types[n + k] for k in which.wrt_streams)
    return (*carried, *in_types[:constants], *cotangents, *in_types[constants:]), (*carried, *streamed)


def iteration_pullback(tape: Tape, which: LoopCotangents) -> Tape:
    """See the module's docstring; `tape` is that of one iteration, without guards."""
    in_types, out_types = tape.input_types, tape.output_types
    n, constants = which.carries, which.carries + which.streams
    carries = which.wrt_carries
    back = _pulled_back(tape, which, carries).tape

    def joined(recorder: Recorder) -> Tape:
        recorder.site = adjoint_site(tape.instructions[-1].site)
        bars = _inputs(recorder, [in_types[k] for k in carries])
        sums = _inputs(recorder, [in_types[constants + k] for k in which.wrt_constants])
        primals = _inputs(recorder, in_types[:constants])
        y_bars = _inputs(recorder, [out_types[n + k] for k in which.seeds])
        saved_bars = dict(zip(which.saved, _inputs(recorder, [in_types[k] for k in which.saved])))
        held = _inputs(recorder, in_types[constants:])
        found = inline(back, [*primals, *held, *bars, *y_bars])
        results = [found[j] + saved_bars[k] if k in saved_bars else found[j] for j, k in enumerate(carries)]
        results += [total + found[len(carries) + j] for j, total in enumerate(sums)]
        return finished_tape(recorder, (*results, *found[len(carries) + len(sums) :]))

    return multiply_by_reciprocals(
        Recorder(tape.name, concrete=False).run(joined), len(carries) + len(which.wrt_constants)
    )


def carries_read(tape: Tape, which: LoopCotangents) -> tuple[int, ...]:
    """Return the carries whose values the reverse pass of an iteration reads, and which must be saved; none if it is linear.

    Args:
        tape: of an iteration.
        which: the differentiated values; `wrt_carries` are the carries whose initial values are active.
    """
    which = replace(which, wrt_carries=_varied(tape, which))
    back = dead_code(_pulled_back(tape, which, which.wrt_carries).tape)
    read = {i for instruction in back.instructions for i in instruction.inputs} | set(back.outputs)
    return tuple(k for k in range(which.carries) if back.inputs[k] in read)


def _pulled_back(tape: Tape, which: LoopCotangents, live: Sequence[int]) -> Pullback:
    """Pull the cotangents of the carries `live` back through one iteration, to carries, constants and streams."""
    n, constants = which.carries, which.carries + which.streams
    wrt = (*which.wrt_carries, *(constants + k for k in which.wrt_constants), *(n + k for k in which.wrt_streams))
    seeds = {k: NOT_YET_SEEDED if k in which.not_yet_seeded else NONZERO for k in live}
    seeds |= dict.fromkeys(set(live) & set(which.discarded), MAYBE_DISCARDED)
    seeds |= dict.fromkeys((n + k for k in which.seeds), NONZERO)
    return pullback(tape, wrt, dict.fromkeys(seeds, MAYBE_DISCARDED) if which.maybe_discarded else seeds)


def whole_flow(in_types: Types, which: LoopCotangents) -> LoopFlow:
    """Return a flow valid for any body: every float carry has a cotangent, which another body may have discarded."""
    carries = tuple(k for k in range(which.carries) if in_types[k].is_float)
    return LoopFlow(replace(which, wrt_carries=carries, discarded=carries))


def loop_flow(tape: Tape, which: LoopCotangents, given: Sequence[int]) -> LoopFlow:
    """Return the flow of cotangents through a loop with one body.

    Args:
        tape: of an iteration.
        which: `wrt_carries` are the carries whose initial values are active.
        given: the carries whose last values have cotangents.
    """
    which = replace(which, wrt_carries=_varied(tape, which))
    varied, saved = set(which.wrt_carries), set(which.saved) & set(which.wrt_carries)
    # The carries with cotangents after the last iteration, the one before it, and so on, until they repeat.
    lives = [set(given) & varied]
    while True:
        back = _pulled_back(tape, which, sorted(lives[-1]))
        live = saved | {k for k, quality in zip(which.wrt_carries, back.qualities) if quality != ABSENT}
        if live in lives:
            break
        lives.append(live)
    wanted = set().union(*lives)
    which = replace(
        which,
        wrt_carries=tuple(sorted(wanted)),
        saved=tuple(sorted(saved & wanted)),
        not_yet_seeded=tuple(sorted(wanted.difference(set.intersection(*lives)))),
    )
    back = _pulled_back(tape, which, which.wrt_carries)
    while (discarded := _with_quality(MAYBE_DISCARDED, which.wrt_carries, back)) != which.discarded:
        # A carry discarded by one iteration has a zero cotangent in the iteration before.
        which = replace(which, discarded=discarded)
        back = _pulled_back(tape, which, which.wrt_carries)
    first, second = len(which.wrt_carries), len(which.wrt_carries) + len(which.wrt_constants)
    constants = dict(zip(which.wrt_constants, back.qualities[first:second]))
    streams = dict(zip(which.wrt_streams, back.qualities[second:]))
    which = replace(which, wrt_constants=_present(constants), wrt_streams=_present(streams))
    carries = dict(zip(which.wrt_carries, back.qualities))
    return LoopFlow(which, _nonzero(carries), _nonzero(streams), _nonzero(constants), back.hides_not_yet_seeded)


def _with_quality(quality: int, carries: Sequence[int], back: Pullback) -> tuple[int, ...]:
    return tuple(k for k, found in zip(carries, back.qualities) if found == quality)


def _present(qualities: dict[int, int]) -> tuple[int, ...]:
    return tuple(k for k, quality in qualities.items() if quality != ABSENT)


def _nonzero(qualities: dict[int, int]) -> frozenset[int]:
    return frozenset(k for k, quality in qualities.items() if quality == NONZERO)


def _varied(tape: Tape, which: LoopCotangents) -> tuple[int, ...]:
    """Return the carries that depend on an active value at some iteration."""
    n, constants = which.carries, which.carries + which.streams
    entries = {n + k for k in which.wrt_streams} | {constants + k for k in which.wrt_constants}
    varied = set(which.wrt_carries)
    while True:
        active = active_values(tape, {tape.inputs[k] for k in varied | entries})
        more = {k for k in range(n) if tape.input_types[k].is_float and active[tape.outputs[k]]} - varied
        if not more:
            return tuple(sorted(varied))
        varied |= more


def _inputs(recorder: Recorder, types: Sequence[ValueType]) -> list[Operand]:
    return [recorder.input(np.ones(t.shape, t.dtype), active=t.is_float) for t in types]
