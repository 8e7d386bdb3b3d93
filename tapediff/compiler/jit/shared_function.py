"""Native functions that a process has once: linked when first needed, never freed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .native_function import NativeFunction, by_recipe
from .toolchain import toolchain


def _nothing() -> dict[str, int]:
    return {}


@dataclass(frozen=True, slots=True)
class SharedFunction:
    """A function of the runtime.

    Attributes:
        name: the unique name of the function that `text` exports.
        text: returns the LLVM text.
        addresses: returns the addresses of the symbols that the text only declares. Others keep the objects there alive.
    """

    name: str
    text: Callable[[], str]
    addresses: Callable[[], Mapping[str, int]] = _nothing

    @property
    def address(self) -> int:
        return toolchain.once(("shared function", self.name), self._link).address

    def _link(self) -> NativeFunction:
        addresses = self.addresses()
        make = lambda: NativeFunction(self.text(), self.name, set(), addresses=addresses, is_portable=True)  # noqa: E731 -- used once
        return by_recipe(("shared function", self.name), self.name, addresses, make)
