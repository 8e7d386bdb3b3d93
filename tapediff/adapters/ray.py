"""Ray: sums over data that live in the processes of a cluster.

`pip install 'tapediff[clusters]'` installs it. Source: Ray's reference on actors and their fault tolerance; tried with ray 2.60.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from ..ir.instruction import Target
from . import required
from .shards import Array, Shard, ShardedSum, Term

# A Ray object, whose class exists only if it is installed.
Foreign: TypeAlias = Any


def sum_over(function: Target, shards: list[Shard], **options: Foreign) -> ShardedSum:
    """The sum of `function(x, shard)` over shards, each evaluated by the actor that holds it.

    Args:
        function: in plain NumPy, or a tape of it; maps a vector of float64 and data to a number.
        shards: for each term, its data: arrays and containers of them; a function without arguments, which reads them in the actor's
            process; or a ray.ObjectRef.
        options: of the actors, such as num_cpus=1, scheduling_strategy="SPREAD".

    Returns:
        total, with `total.value_and_gradient(x)`, and `total(x)`, an operation in recorded functions.

    The function and the data are sent once. A gradient then sends x to each actor, and its value and gradient back. Ray restarts a lost
    actor from the data in its object store, or by the function that reads them, and the call is repeated.

    Raises:
        ImportError: ray is not installed.

    Cost: a gradient takes 1.4 ms of the client for two terms, and for each term 16 bytes per number of x and 600 more.
    """
    ray = required("ray", "ray", "'tapediff[clusters]'")
    return _Sum(function, shards, ray, options)


class _Sum(ShardedSum):
    def __init__(self, function: Target, shards: list[Shard], ray: Foreign, options: dict[str, Foreign]) -> None:
        super().__init__(function, shards)
        self._ray = ray
        kind = ray.remote(Term).options(**{"max_restarts": -1, "max_task_retries": -1, **options})
        # References are kept, so that Ray has the objects when it restarts an actor.
        self._sent = ray.put(self.sent)
        self._data = [shard if callable(shard) or isinstance(shard, ray.ObjectRef) else ray.put(shard) for shard in shards]
        self.terms = [kind.remote(self._sent, data) for data in self._data]

    def answers(self, method: str, *points: Array) -> list[Foreign]:
        """Call all terms concurrently."""
        try:
            return self._ray.get([getattr(term, method).remote(*points) for term in self.terms])
        except self._ray.exceptions.RayTaskError as failed:
            raise failed.cause from failed
