"""Object code in pickles: linked instead of compiled, if processor, versions and LLVM text equal the sender's.

Unpickling may run any code anyway, so this trusts nothing new. Where anything differs, the code is ignored, and kernels are compiled.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable
from functools import cache

from ..llvm.cpu import processor
from . import object_cache
from .linking import Sent
from .native_function import PASSES, NativeFunction, triple
from .toolchain import toolchain


def packed(functions: Iterable[NativeFunction]) -> Sent | None:
    """The code of functions, for a pickle: a digest of its dependencies except the text, and compressed codes by text digest.

    None if no code is portable.
    """
    used = list(functions)
    if not used:
        return None
    symbols = frozenset[str]().union(*(function.symbols for function in used))
    for key, made in toolchain.made_once():
        # Functions of the runtime, which every kernel needs; and expressions that these kernels call.
        function = getattr(made, "native", made)
        is_used = getattr(made, "symbol", None) in symbols or key[0] == "shared function"
        if is_used and isinstance(function, NativeFunction):
            used.append(function)
    codes = dict(filter(None, (function.portable_code for function in used)))
    return (_environment(), zlib.compress(pickle.dumps(codes)))


def receive(sent: Sent) -> None:
    """Keep code from a pickle for the texts that this process will compile."""
    toolchain.linker.receive(sent, _unpacked)


def _unpacked(sent: Sent) -> dict[bytes, bytes]:
    environment, content = sent
    return pickle.loads(zlib.decompress(content)) if environment == _environment() else {}


@cache
def _environment() -> bytes:
    return object_cache.key_of("", (*PASSES[False], *PASSES[True], triple(), *processor()))
