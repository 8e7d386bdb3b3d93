"""Native functions that a process has once: linked when first needed, never freed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from .native_function import NativeFunction

_lock = new_lock()
_linked: dict[str, NativeFunction] = {}


def _nothing() -> dict[str, int]:
    return {}


@dataclass(frozen=True, slots=True)
class SharedFunction:
    """A function of the runtime.

    Attributes:
        name: of the function that `text` exports; no other has it.
        text: makes the LLVM text.
        addresses: gives those of the symbols that the text only declares. Objects that they belong to are held by somebody else.
    """

    name: str
    text: Callable[[], str]
    addresses: Callable[[], Mapping[str, int]] = _nothing

    @property
    def address(self) -> int:
        known = _linked.get(self.name)
        # Functions that it calls are linked first, not under the lock.
        return (known if known is not None else self._link(self.addresses())).address

    @holding(_lock)
    def _link(self, addresses: Mapping[str, int]) -> NativeFunction:
        known = _linked.get(self.name)
        if known is None:
            known = NativeFunction(self.text(), self.name, set(), addresses=addresses, is_portable=True)
            _linked[self.name] = known
        return known
