"""What is pickled of a GuardedTape: its function by name, its settings and counts, and its tapes with what they were recorded for."""

from __future__ import annotations

import copy
from typing import Any

from ..functions.pickling import Portable, place_of
from ..ir.keys import static_key, value_key
from ..recording.static import static_of
from .variant import Variant

_SETTINGS = ("max_tapes", "check_every", "name", "on_new_tape")
_COUNTS = ("_misses", "_recordings", "_seconds_recording", "_warned_budget", "_warned_coarse", "_warned_draws", "_reasons")
_KEPT_COUNTS = ("evictions", "dropped_hits", "dropped_seconds")


def guarded_state(safe: Any) -> dict[str, Any]:
    """All but the kernels, which are compiled where they are needed."""
    function, static = safe.f, None
    if static_of(function) is not None and place_of(function) is None:
        # td.GuardedTape(f, static=...) has wrapped it, which can be done again.
        function, static = function.__wrapped__, static_of(function)
    kept = safe._kept
    variants = sorted(kept.all(), key=lambda variant: variant.used)
    return {
        "f": Portable(function), "guard": Portable(safe.guard), "static": static, "compile_after": safe._compile_after,
        "ints": copy.deepcopy(safe._ints),
        "settings": {name: getattr(safe, name) for name in _SETTINGS},
        "counts": {name: getattr(safe, name) for name in _COUNTS},
        "kept": {name: getattr(kept, name) for name in _KEPT_COUNTS},
        "variants": [
            (v.tape, v.key[1], v.number, v.reason, v.seconds, v.is_direct, v.hits, v.replays) for v in variants
        ],
    }  # fmt: skip


def restore_guarded(safe: Any, state: dict[str, Any]) -> None:
    """Fill a GuardedTape that has nothing yet."""
    f, guard = (part.value if type(part) is Portable else part for part in (state["f"], state["guard"]))
    safe.__init__(f, guard, static=state["static"], compile_after=state["compile_after"], **state["settings"])
    for name, value in state["counts"].items():
        setattr(safe, name, value)
    safe._ints = copy.deepcopy(state["ints"])
    for name, value in state["kept"].items():
        setattr(safe._kept, name, value)
    for tape, active, number, reason, seconds, is_direct, hits, replays in state["variants"]:
        variant = Variant(tape, _key(safe, reason.called_with, active), number, reason, seconds, is_direct)
        variant.hits, variant.replays = hits, replays
        safe._kept.insert(variant)
        safe._kept.note_use(variant)


def _key(safe: Any, called_with: Any, active: Any) -> Any:
    """What the tapes of such calls are kept under, made again, as keys may hold identities."""
    static = tuple((position, static_key(value)) for position, _, value in called_with.static)
    value = called_with.guard_value
    guard_key = () if safe.guard is None else value_key(value[0], safe._guard_site)
    return called_with.types, active, static, guard_key
