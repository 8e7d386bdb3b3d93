"""Dask: sums over data that live on the workers of a cluster.

`pip install 'tapediff[clusters]'` installs it. Source: the reference of dask.distributed on actors; tried with distributed 2026.8.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

from ..ir.instruction import Target
from . import required
from .shards import Array, Shard, ShardedSum, Term

# A Dask object, whose class exists only if it is installed.
Foreign: TypeAlias = Any

# Dask's messages for an actor that is gone. For other errors, ask the scheduler if the address still exists.
LOST = ("Unable to contact Actor's worker", "Worker holding Actor was lost")
# Seconds after which the scheduler is asked if a worker still exists.
POLL = 5.0


def sum_over(function: Target, shards: list[Shard], client: Foreign = None) -> ShardedSum:
    """The sum of `function(x, shard)` over shards, each evaluated by the worker that holds it.

    Args:
        function: in plain NumPy, or a tape of it; maps a vector of float64 and data to a number.
        shards: for each term, its data: a function without arguments, which reads them on the worker; a Dask future; or arrays and
            containers of them, which pass through the scheduler and stay there: small ones only.
        client: a dask.distributed.Client; the current one unless given.

    Returns:
        total, with `total.value_and_gradient(x)`, and `total(x)`, an operation in recorded functions.

    The function and the data are sent once to a worker. A gradient then sends x to each term, and its value and gradient back,
    directly with Client(direct_to_workers=True), else through the scheduler. The terms of a lost worker are made again on others, from
    the client's data, by the function that reads them, or by Dask, which computes a lost future again.

    Raises:
        ImportError: distributed is not installed.

    Cost: a gradient takes 3 ms of the client for two terms, and for each term 16 bytes per number of x and 1000 more; twice that
        through the scheduler.
    """
    distributed = required("distributed", "dask.distributed", "'tapediff[clusters]'")
    return _Sum(function, shards, client or distributed.get_client())


class _Sum(ShardedSum):
    """Terms as actors, objects that stay on a worker: calls reach them without being scheduled."""

    def __init__(self, function: Target, shards: list[Shard], client: Foreign) -> None:
        super().__init__(function, shards)
        self.client = client
        self._terms = [made.result() for made in [self._made(k) for k in range(len(shards))]]

    def answers(self, method: str, *points: Array) -> list[Foreign]:
        """Call all terms concurrently."""
        asked = [self._asked(k, method, points) for k in range(len(self.shards))]
        return [self._answer(k, future, method, points) for k, future in enumerate(asked)]

    def _made(self, k: int) -> Foreign:
        """A future of the actor, on an existing worker; if that is lost meanwhile, or there is none, on another."""
        addresses, shard = self._addresses(), self.shards[k]
        options: dict[str, Foreign] = {"actor": True, "pure": False}
        if addresses and not isinstance(shard, import_module("distributed").Future):  # Dask knows where futures are
            options |= {"workers": [addresses[k % len(addresses)]], "allow_other_workers": True}
        return self.client.submit(Term, self.sent, shard, **options)

    def _asked(self, k: int, method: str, points: tuple[Array, ...]) -> Foreign:
        """A future of the result; None if the actor is lost."""
        try:
            return getattr(self._terms[k], method)(*points)
        except RuntimeError as raised:
            if not self._is_lost(k, raised):
                raise
            return None

    def _answer(self, k: int, asked: Foreign, method: str, points: tuple[Array, ...]) -> Foreign:
        while True:
            try:
                if asked is not None:
                    return asked.result(timeout=POLL)
            except TimeoutError as late:
                if not self._is_lost(k, late):
                    continue
            except (OSError, RuntimeError) as raised:
                if not self._is_lost(k, raised):
                    raise
            self.restarts += 1
            self._terms[k] = self._made(k).result()
            asked = self._asked(k, method, points)

    def _is_lost(self, k: int, raised: Exception) -> bool:
        return str(raised).startswith(LOST) or self._terms[k]._address not in self._addresses()

    def _addresses(self) -> list[str]:
        return sorted(self.client.scheduler_info(n_workers=-1)["workers"])
