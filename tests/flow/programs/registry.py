"""All programs, and their functions: each source becomes a module of its own, whose text `inspect.getsource` finds."""

import linecache
import re
import sys
import types

from . import spellings, trades

PROGRAMS = (*spellings.PROGRAMS, *trades.PROGRAMS)
# What a person wrote, every spelling of the first base program, and every third one of the others, not the same ones for each.
JUDGED = tuple(
    program for k, program in enumerate(PROGRAMS)
    if k % 3 == 0 or program.name == spellings.BASES[0].name or k >= len(spellings.BY_TEMPLATE)
)  # fmt: skip


def load(program):
    """Return the function `f` of a program, from a new module.

    Args:
        program: the program.

    Returns:
        The function, of one float64 vector.
    """
    name = "tests.programs_" + re.sub(r"\W", "_", program.title)
    file = f"<{program.title}>"
    # An entry without a loader is dropped by linecache.checkcache, unless its time of change is None.
    linecache.cache[file] = (len(program.source), None, program.source.splitlines(keepends=True), file)
    module = types.ModuleType(name, program.name)
    module.__file__ = file
    # Dataclasses and pickle look modules up by name.
    sys.modules[name] = module
    exec(compile(program.source, file, "exec"), module.__dict__)
    return module.f
