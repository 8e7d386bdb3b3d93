"""Splits long programs into functions of bounded length, and leaves the longest straight-line code to the interpreter."""

from __future__ import annotations

from collections.abc import Iterator

from ..loop_ir.program import Group, Interpreted, LoopNest, Outlined, Scan, Straight

# LLVM takes quadratic time over long functions: longer straight-line code is cut into functions of this many steps. If all loops together
# have more than MOST_IN_LOOPS, each one is a function.
LONGEST_STRAIGHT = 400
MOST_IN_LOOPS = 250
# Between many loops and calls there are many short stretches of straight-line code. Beyond this many steps in all, those longer than a
# function call become functions, too.
MOST_STRAIGHT = 2000
SHORTEST_CHUNK = 4

# With more straight-line steps than this in all, LLVM would take too long: groups of at least SHORTEST_INTERPRETED of them are interpreted.
# A step takes 12 us to compile and then 0.2 to 0.4 ns to run; interpreted 0.7 ns in long runs of one operation, and up to 3 ns in a chain.
# So compiling pays after 10 000 to 40 000 calls; it may take about a quarter of a second.
MOST_COMPILED = 20_000
SHORTEST_INTERPRETED = 200


def split_long(groups: list[Group]) -> list[Group]:
    """Outline long straight-line groups, many short ones, and many loops. Interpret straight-line code that LLVM would compile too
    slowly."""
    in_loops = sum(len(group.body) for group in groups if isinstance(group, LoopNest))
    straight = sum(len(group.body) for group in groups if isinstance(group, Straight))
    result: list[Group] = []
    for group in groups:
        if isinstance(group, Straight):
            result += _split_straight(group, straight)
        elif isinstance(group, (LoopNest, Scan)) and in_loops > MOST_IN_LOOPS:
            result.append(Outlined(group))
        else:
            result.append(group)
    return result


def _split_straight(group: Straight, total: int) -> Iterator[Group]:
    """Split or outline a straight-line group; `total` is the number of steps of all such groups."""
    body = group.body
    if total > MOST_COMPILED and len(body) >= SHORTEST_INTERPRETED:
        yield Interpreted(body)
    elif len(body) > LONGEST_STRAIGHT:
        for start in range(0, len(body), LONGEST_STRAIGHT):
            yield Outlined(Straight(body[start : start + LONGEST_STRAIGHT]))
    elif total > MOST_STRAIGHT and len(body) >= SHORTEST_CHUNK:
        yield Outlined(group)
    else:
        yield group
