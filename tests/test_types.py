"""The annotations of the package, which pyright checks in strict mode: `Any` ends its checks, so it is rare and explained."""

import re
from itertools import pairwise
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "tapediff"


def test_any_is_rare():
    """What is handed on is an `object`; what may be anything has a name: Operand, Tree, Param, Target in ir/instruction.py."""
    found = [
        f"{file.relative_to(PACKAGE)}: {line}"
        for file in PACKAGE.rglob("*.py") for line in file.read_text().splitlines()
        if re.search(r"\bAny\b(?! \w)", line)
    ]  # fmt: skip
    assert len(found) <= 161, "\n".join(found)


def test_every_name_for_any_is_explained():
    """A comment above an alias says what its values are."""
    bare = [
        f"{file.relative_to(PACKAGE)}: {line}"
        for file in PACKAGE.rglob("*.py") for above, line in pairwise(["", *file.read_text().splitlines()])
        if re.match(r"\w+(: TypeAlias)? = Any$", line) and not above.startswith("#")
    ]  # fmt: skip
    assert not bare
