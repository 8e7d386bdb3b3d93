"""Collapses adjacent loops of a nest wherever all addresses are linear in the combined index."""

from __future__ import annotations

from dataclasses import replace

from .program import Access, Extent, Literal, LoopNest, Step

# Entries per vector of an innermost loop, in SIMD lanes.
LANES = 8


def collapsed(group: LoopNest) -> LoopNest:
    """Collapse adjacent loops wherever all addresses are linear in the combined index.

    A reduction loop is collapsed only if its rows fill all lanes, which keeps the order of accumulation.
    """
    domain, steps = list(group.domain), list(group.body)
    k = len(domain) - 2
    while k >= 0:
        inner = domain[k + 1]
        accesses = [a for s in steps for a in (*s.reads, s.write) if isinstance(a, Access)]
        even = all(a.strides[k] == a.strides[k + 1] * inner for a in accesses)
        reduced = any(s.combine is not None and s.write.strides[k] == 0 and s.write.strides[k + 1] == 0 for s in steps)
        scattered = any(s.write.index_read >= 0 for s in steps)
        # A loop with an end of its own is not part of another one.
        if even and not scattered and not isinstance(inner, Extent) and not (reduced and inner % LANES):
            outer = domain[k]
            domain[k : k + 2] = [Extent(outer * inner, outer.ends, inner) if isinstance(outer, Extent) else outer * inner]
            steps = [_without_dimension(s, k, tuple(domain)) for s in steps]
        k -= 1
    return LoopNest(tuple(domain), tuple(steps))


def _without_dimension(step: Step, k: int, domain: tuple[int, ...]) -> Step:
    def shorter(access: Access) -> Access:
        return replace(access, strides=access.strides[:k] + access.strides[k + 1 :])

    reads = tuple([read if isinstance(read, Literal) else shorter(read) for read in step.reads])
    return replace(step, domain=domain, reads=reads, write=shorter(step.write))
