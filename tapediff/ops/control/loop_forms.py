"""The form of a loop: how it calls its callee, and which cotangents its reverse pass takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ...base.operating_system import memory_bytes
from ...errors import LoopTooLong, NotConverged

# Bytes that the values of all iterations may take, of loops whose length is known only at run time; less where there is less.
MOST_BYTES = 1 << 32


@cache
def saved_bytes_limit() -> int:
    """MOST_BYTES, or a quarter of this machine's memory."""
    return min(MOST_BYTES, (memory_bytes() or 4 * MOST_BYTES) // 4)


@dataclass(frozen=True)
class LoopForm:
    """How a loop calls its callee.

    Inputs of a loop, in order: the variant numbers if `variant_given`; the number of iterations, if `length` is None and it does not
    stop by itself; whether to begin at all, if it `stops`; initial carries; streams, which hold one entry per iteration; constants.

    Items of its results, in order: the final carries; one array of entries for each further output of the callee; the number of
    iterations, if it `stops`; the variant numbers, if it `saves_carries`, was not given them and there are several; the carries at the
    start of every iteration, if it `saves_carries`.

    Attributes:
        carries, streams, constants: how many inputs of the callee are of each kind, in this order.
        length: iterations; None where it is known only when the tape runs. Entries are then dynamic arrays, else arrays of fixed length.
        stops: a while loop: the last output of the callee says whether to go on.
        backwards: the iterations take the entries from the last to the first, and put theirs at the same places.
        variant_given: which variant runs is given, not decided.
        saves_carries: return the carries at the start of every iteration too, which the reverse pass reads.
        single_variant: the callee has exactly one variant, so no variant numbers are passed.
        recomputes: the reverse pass is to compute everything again that happens inside an iteration.
        most: how many iterations a while loop may take; None for any number.
        failure: of a solver's loop: what it says where it has not ended, and what to do.
        site: the line that a while loop, or one of a length known only at run time, stands in; for messages.
    """

    carries: int
    streams: int
    constants: int
    length: int | None
    stops: bool = False
    backwards: bool = False
    variant_given: bool = False
    saves_carries: bool = False
    single_variant: bool = False
    recomputes: bool = False
    most: int | None = None
    site: str | None = None
    failure: tuple[str, str] | None = None

    def too_long(self, steps: int) -> LoopTooLong:
        """The error of a while loop that still goes on after `most` iterations."""
        if self.failure is not None:
            what, fix = self.failure
            return NotConverged(what, at=self.site, got=f"max_steps={steps}", fix=fix)
        return LoopTooLong(
            "a loop has not ended after the iterations that it may take", at=self.site, got=f"max_steps={steps}",
            fix="raise max_steps=, or see why the test of td.while_loop still holds: a NaN or an infinity may never meet it",
        )  # fmt: skip

    def too_large(self, steps: int) -> LoopTooLong:
        """The error where the values of all iterations, which the reverse pass needs, would take too much memory."""
        return LoopTooLong(
            "the values of a loop's iterations, which its reverse pass needs, take too much memory", at=self.site,
            got=f"{steps} iterations, {saved_bytes_limit() >> 20} MB allowed",
            fix="see whether the loop ever ends, and give it max_steps=; or ask for the value alone, which stores nothing",
        )  # fmt: skip

    @property
    def returns_variants(self) -> bool:
        """Whether it returns the numbers of the variants that ran."""
        return self.saves_carries and not self.variant_given and not self.single_variant

    @property
    def leading(self) -> int:
        """How many inputs come before the carries."""
        return int(self.variant_given) + int(self.length is None)


@dataclass(frozen=True)
class LoopCotangents:
    """Which cotangents the reverse pass of a loop takes and gives.

    Attributes:
        carries, streams: how many the loop has.
        wrt_carries, wrt_streams, wrt_constants: those whose cotangents are wanted.
        seeds: the further results of the callee that have cotangents.
        saved: the carries whose saved values have cotangents.
        not_yet_seeded: those of `wrt_carries` whose cotangents are exact zeros at some iterations, as nothing asks for them yet.
        discarded: those of `wrt_carries` whose cotangents may be exact zeros because an iteration discards the carry.
        maybe_discarded: all cotangents may be exact zeros of something that was discarded.
    """

    carries: int
    streams: int
    wrt_carries: tuple[int, ...]
    wrt_streams: tuple[int, ...]
    wrt_constants: tuple[int, ...]
    seeds: tuple[int, ...]
    saved: tuple[int, ...]
    not_yet_seeded: tuple[int, ...] = ()
    discarded: tuple[int, ...] = ()
    maybe_discarded: bool = False


@dataclass(frozen=True)
class LoopFlow:
    """How cotangents go through a loop, from its last iteration to its first.

    Attributes:
        which: the cotangents that there are.
        nonzero_carries, nonzero_streams, nonzero_constants: those that are never an exact zero because something was discarded.
        hides_not_yet_seeded: whether an iteration selects because of cotangents that are not_yet_seeded in the first ones.
    """

    which: LoopCotangents
    nonzero_carries: frozenset[int] = frozenset()
    nonzero_streams: frozenset[int] = frozenset()
    nonzero_constants: frozenset[int] = frozenset()
    hides_not_yet_seeded: bool = False
