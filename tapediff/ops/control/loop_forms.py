"""The form of a loop: how it calls its callee, and which cotangents its reverse pass takes and gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from ...base.operating_system import memory_bytes
from ...errors import LoopTooLong, NotConverged

Part = TypeVar("Part")

# Most bytes of the stacked values of a loop whose length is known only at run time; less on machines with less memory.
MOST_BYTES = 1 << 32


@cache
def saved_bytes_limit() -> int:
    """MOST_BYTES, or a quarter of this machine's memory."""
    return min(MOST_BYTES, (memory_bytes() or 4 * MOST_BYTES) // 4)


@dataclass(frozen=True)
class LoopForm:
    """The convention by which a loop calls its callee.

    Inputs of a loop, in order: the variant numbers if `variant_given`; the number of iterations, if `length` is None and not `stops`;
    the first condition, if it `stops`; initial carries; streams, which hold one entry per iteration; constants.

    Items of its results, in order: the final carries; a stacked array for each further output of the callee; the number of
    iterations, if it `stops`; the variant numbers, if it `saves_carries`, was not given them and there are several; the carries at the
    start of every iteration, if it `saves_carries`.

    Attributes:
        carries, streams, constants: how many inputs of the callee are of each kind, in this order.
        length: iterations; None if known only when the tape runs. Stacked outputs are then dynamic arrays, else arrays of fixed length.
        stops: a while loop: the last output of the callee is True to go on.
        backwards: the iterations read the entries from the last to the first, and write outputs at the same positions.
        variant_given: the variant of each iteration is an input, not decided by guards.
        saves_carries: return the carries at the start of every iteration too, which the reverse pass reads.
        single_variant: the callee has exactly one variant, so no variant numbers are passed.
        recomputes: the reverse pass recomputes everything inside an iteration.
        most: the most iterations of a while loop; None for any number.
        failure: for a solver's loop, the message and the fix if it does not converge.
        site: the line of a while loop, or of one whose length is known only at run time; for messages.
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
        """The error if the values of all iterations, which the reverse pass needs, would take too much memory."""
        return LoopTooLong(
            "the values of a loop's iterations, which its reverse pass needs, take too much memory", at=self.site,
            got=f"{steps} iterations, {saved_bytes_limit() >> 20} MB allowed",
            fix="see whether the loop ever ends, and give it max_steps=; or ask for the value alone, which stores nothing",
        )  # fmt: skip

    def parts(self, inputs: Sequence[Part]) -> tuple[Sequence[Part], Sequence[Part], Sequence[Part]]:
        """Split the inputs of a loop, or of its callee: the carries, streams and constants, without what precedes them."""
        constant = len(inputs) - self.constants
        stream = constant - self.streams
        return inputs[stream - self.carries : stream], inputs[stream:constant], inputs[constant:]

    @property
    def returns_variants(self) -> bool:
        """True if it returns the numbers of the variants that ran."""
        return self.saves_carries and not self.variant_given and not self.single_variant

    @property
    def leading(self) -> int:
        """The number of inputs before the carries."""
        return int(self.variant_given) + int(self.length is None)


@dataclass(frozen=True)
class LoopCotangents:
    """The cotangents that the reverse pass of a loop takes and gives.

    Attributes:
        carries, streams: how many the loop has.
        wrt_carries, wrt_streams, wrt_constants: the inputs whose cotangents are wanted.
        seeds: the further results of the callee that have cotangents.
        saved: the carries whose saved values have cotangents.
        not_yet_seeded: the `wrt_carries` whose cotangents are exact zeros at some iterations, as no result depends on them yet.
        discarded: the `wrt_carries` whose cotangents may be exact zeros because an iteration discards the carry.
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
    """The flow of cotangents through a loop, from its last iteration to its first.

    Attributes:
        which: the cotangents of the loop.
        nonzero_carries, nonzero_streams, nonzero_constants: cotangents that are never an exact zero because something was discarded.
        hides_not_yet_seeded: True if an iteration has selects because of cotangents that are not_yet_seeded in the first iterations.
    """

    which: LoopCotangents
    nonzero_carries: frozenset[int] = frozenset()
    nonzero_streams: frozenset[int] = frozenset()
    nonzero_constants: frozenset[int] = frozenset()
    hides_not_yet_seeded: bool = False
