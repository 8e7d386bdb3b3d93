"""One iteration of the reverse pass of a loop, as a tape made from that of one iteration of the loop.

Inputs: the cotangents of the float carries, and the sums so far of those of the constants that are differentiated; the carries as
they were, the streams, the cotangents of the further results and of the stored carries, where there are any; the constants.
Outputs: the cotangents of the float carries and the new sums, which are its carries; the cotangents of the streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..instruction import ValueType
from ..ops.calls import LoopCotangents
from ..recorder import Recorder
from ..replay import inline
from ..tape import Tape
from .reverse import pullback

Types = tuple[ValueType, ...]


def iteration_types(in_types: Types, out_types: Types, which: LoopCotangents) -> tuple[Types, Types]:
    """The types of its inputs and outputs, from those of the loop's callee."""
    n, constants = which.carries, which.carries + which.streams
    back = (*_float_carries(in_types, n), *(constants + k for k in which.wrt_constants))
    carried = tuple(in_types[k] for k in back)
    cotangents = (*(out_types[n + k] for k in which.seeds), *(in_types[k] for k in which.kept))
    streamed = tuple(in_types[n + k] for k in which.wrt_streams)
    return (*carried, *in_types[:constants], *cotangents, *in_types[constants:]), (*carried, *streamed)


def iteration_pullback(tape: Tape, which: LoopCotangents) -> Tape:
    """See the module's docstring; `tape` is that of one iteration, without guards."""
    in_types, out_types = tape.input_types, tape.output_types
    n, constants = which.carries, which.carries + which.streams
    carries = _float_carries(in_types, n)
    wrt = (*carries, *(constants + k for k in which.wrt_constants), *(n + k for k in which.wrt_streams))
    seeds = (*carries, *(n + k for k in which.seeds))
    back = pullback(tape, wrt, seeds, which.masked)
    with Recorder(tape.name, concrete=False) as recorder:
        bars = _inputs(recorder, [in_types[k] for k in carries])
        sums = _inputs(recorder, [in_types[constants + k] for k in which.wrt_constants])
        primals = _inputs(recorder, in_types[:constants])
        y_bars = _inputs(recorder, [out_types[n + k] for k in which.seeds])
        kept_bars = dict(zip(which.kept, _inputs(recorder, [in_types[k] for k in which.kept])))
        held = _inputs(recorder, in_types[constants:])
        found = inline(back, [*primals, *held, *bars, *y_bars])
        results = [found[j] + kept_bars[k] if k in kept_bars else found[j] for j, k in enumerate(carries)]
        results += [total + found[len(carries) + j] for j, total in enumerate(sums)]
        return recorder.finish((*results, *found[len(carries) + len(sums) :]))


def _float_carries(in_types: Sequence[ValueType], n: int) -> tuple[int, ...]:
    return tuple(k for k in range(n) if in_types[k].is_float)


def _inputs(recorder: Recorder, types: Sequence[ValueType]) -> list[Any]:
    return [recorder.input(np.ones(t.shape, t.dtype), active=t.is_float) for t in types]
