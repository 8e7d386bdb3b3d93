"""Whether code that is being recorded can tell which object a value is."""

from __future__ import annotations

import dis
import functools
import sys
from types import CodeType

from ....base.byte_code import IS_KNOWN, names_of
from ....base.source_location import is_library_file
from ....recording.recorder import current_recorder


def identities_matter() -> bool:
    """Whether a function that is being recorded asks `is` of anything but constants."""
    recorder = current_recorder()
    first = 0
    while recorder is not None:
        first, recorder = recorder.entry_frame, recorder.outer
    frame = sys._getframe(1)
    while frame is not None and id(frame) != first:
        if not is_library_file(frame.f_code.co_filename) and compares_identities(frame.f_code):
            return True
        frame = frame.f_back
    return False


@functools.lru_cache(maxsize=1024)
def compares_identities(code: CodeType) -> bool:
    """Whether a code asks `is` or `id` of two values of which none is a constant; also where that cannot be known."""
    identity, constant = names_of("identity"), names_of("constant")
    before: dis.Instruction | None = None
    for instruction in dis.get_instructions(code):
        if instruction.opname in identity and not (before is not None and before.opname in constant):
            return True
        before = instruction
    return "id" in code.co_names or not IS_KNOWN
