"""Pickle and copy GuardedTapes: the function by name, the settings and counts, and the tapes with the reasons of their recordings."""

from __future__ import annotations

import copy
from dataclasses import replace

from ...functions.captured.pickling import Portable, place_of
from ...ir.instruction import Tree, UserFunction
from ...ir.serialize import State
from ...recording.arguments.static import static_of
from ..backends import receive_code, sent_code
from .keyed_call import GuardedFunction
from .paths.recordings import AllRecordings
from .policy import Policy
from .variant import Variant

SETTINGS = ("max_tapes", "check_every", "on_new_tape", "backend", "merge", "memory", "threads", "check_contents", "frozen")


def guarded_state(function: GuardedFunction, policy: Policy, recordings: AllRecordings) -> State:
    """Everything but the kernels, which are made on demand, with their object code; see compiler/jit/sent_code.py.

    The tapes are those for the present environment; another process takes them if its environment is equal.
    """
    current = recordings.current
    cache, check, counts = current.cache, current.check, function.counts
    programs = {id(v.program): v.program for v in cache.all()}
    f = function.f
    static = None
    if static_of(f) is not None and place_of(f) is None:
        # td.GuardedTape(f, static=...) wraps it again.
        f, static = f.__wrapped__, static_of(f)  # pyright: ignore[reportFunctionMemberAccess]
    return {
        "f": Portable(f), "guard": Portable(function.guard), "static": static,
        "ints": copy.deepcopy(function.ints), "sizes": copy.deepcopy(function.sizes),
        "counts": replace(counts, reasons=counts.reasons.copy(), last_failure=None),
        "settings": {
            "name": function.name, "has_aux": function.has_aux, "compile_after": policy.compile_after_given,
            **{name: getattr(policy, name) for name in SETTINGS},
        },
        "warned": sorted(policy.warned),
        "variants": [
            (v.tape, v.key.active, v.number, v.reason, v.seconds, v.is_direct, v.hits, v.program.replays, v.fills, v.report)
            for v in sorted(cache.all(), key=lambda variant: variant.used)
        ],
        "environment": None if check is None else check.environment.fingerprint(),
        "code": sent_code([kernel for program in programs.values() for kernel in list(program.compiled.kernels.values())]),
    }  # fmt: skip


def in_this_process(function: UserFunction | Portable) -> Tree:
    """The function of a state: copies within the process keep the object itself."""
    return function.value if isinstance(function, Portable) else function


def restore_guarded(function: GuardedFunction, policy: Policy, recordings: AllRecordings, state: State) -> None:
    """Fill the parts of an empty GuardedTape."""
    cache = recordings.current.cache
    receive_code(state["code"])
    function.ints, function.sizes, function.counts = state["ints"], state["sizes"], state["counts"]
    policy.warned = set(state["warned"])
    if not recordings.is_same_here(state["environment"]):
        return
    for tape, active, number, reason, seconds, is_direct, hits, replays, fills, report in state["variants"]:
        # Keys are computed again, as they may hold identities.
        key = function.key(reason.called_with, active)
        program = policy.program(tape)
        variant = Variant(tape, key, number, reason, seconds, is_direct, program)
        variant.hits, program.replays, variant.fills, variant.report = hits, replays, fills, report
        cache.insert(variant)
        cache.note_use(variant)
