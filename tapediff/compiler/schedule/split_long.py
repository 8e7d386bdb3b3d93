"""Splits long programs into functions of bounded length, and leaves the longest straight-line code to the interpreter."""

from __future__ import annotations

from collections.abc import Iterator

from ..loop_ir.program import Group, Interpreted, LoopNest, Outlined, Scan, Straight

# LLVM takes quadratic time over long functions: longer straight-line code is cut into functions of this many steps, and where
# loops have more than that in all, each is a function.
LONGEST_STRAIGHT = 400
MOST_IN_LOOPS = 250
# Between many loops and calls there are many short stretches of straight-line code. Beyond this many steps in all, those that are
# longer than a call of a function are functions, too.
MOST_STRAIGHT = 2000
SHORTEST_CHUNK = 4

# Where a program has more straight-line steps than this in all, LLVM would take too long over them, and those groups of them are
# interpreted that are no shorter than SHORTEST_INTERPRETED. A step takes 12 us to compile and then 0.2 to 0.4 ns to run; interpreted
# 0.7 ns in long runs of one operation, and up to 3 ns in a chain. So compiling pays after 10 000 to 40 000 calls; it may take about
# a quarter of a second.
MOST_COMPILED = 20_000
SHORTEST_INTERPRETED = 200


def split_long(groups: list[Group]) -> list[Group]:
    """Outline long straight-line groups, many short ones, and many loops; interpret more straight-line code than LLVM compiles in time."""
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
    """A straight-line group of a program that has `total` steps in such groups."""
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
