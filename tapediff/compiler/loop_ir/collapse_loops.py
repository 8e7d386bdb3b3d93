"""Collapses adjacent loops of a nest wherever all addresses are linear in the combined index."""

from __future__ import annotations

from dataclasses import replace

from .program import Access, Literal, LoopNest, Step

# Entries per vector of an innermost loop, in SIMD lanes.
LANES = 8


def collapsed(group: LoopNest) -> LoopNest:
    """Collapse adjacent loops wherever all addresses are linear in the combined index.

    A reduction loop is collapsed only if its rows fill all lanes, which keeps the order of accumulation.
    """
    domain, steps = list(group.domain), list(group.body)
    stops, scales = list(group.stops), [1] * len(group.stops)
    k = len(domain) - 2
    while k >= 0:
        inner = domain[k + 1]
        accesses = [a for s in steps for a in (*s.reads, s.write) if isinstance(a, Access)]
        even = all(a.strides[k] == a.strides[k + 1] * inner for a in accesses)
        reduced = any(s.combine is not None and s.write.strides[k] == 0 and s.write.strides[k + 1] == 0 for s in steps)
        scattered = any(s.write.index_read >= 0 for s in steps)
        # A loop with an end of its own is not part of another one.
        ends = bool(stops) and bool(stops[k + 1])
        if even and not scattered and not ends and not (reduced and inner % LANES):
            domain[k : k + 2] = [domain[k] * inner]
            if stops:
                stops[k : k + 2], scales[k : k + 2] = [stops[k]], [inner]
            steps = [_without_dimension(s, k, tuple(domain)) for s in steps]
        k -= 1
    return LoopNest(tuple(domain), tuple(steps), tuple(stops), group.fills, tuple(scales))


def _without_dimension(step: Step, k: int, domain: tuple[int, ...]) -> Step:
    def shorter(access: Access) -> Access:
        return replace(access, strides=access.strides[:k] + access.strides[k + 1 :])

    reads = tuple([read if isinstance(read, Literal) else shorter(read) for read in step.reads])
    return replace(step, domain=domain, reads=reads, write=shorter(step.write))
