"""docs/supported.md lists what the registry holds. `python -m tests.test_supported` writes it anew."""

from pathlib import Path

import numpy as np
import scipy.special

from tapediff import linalg, special
from tapediff.numpy_api import dispatch
from tapediff.numpy_api.alternatives import INSTEAD
from tapediff.ops import BY_FUNCTION, BY_SCIPY_NAME, Op

PAGE = Path(__file__).parents[1] / "docs" / "supported.md"

HEAD = """# What is supported on tracked arrays

Python's operators, indexing and writing with all of NumPy's indices, `len`, iteration, comparisons, `abs`, `round`, `divmod`, `int`
and `bool` (which are guards), `np.array`, `np.asarray`, `np.full` and their relatives on tracked values, and the functions below, with
their usual arguments. Everything else raises an error that names the line of the call and, where one is known, another way to write it.
Tracked values are never converted silently. (Made from the package's own tables by
`python -m tests.test_supported`.)

```python
import numpy as np
import tapediff as td

try:
    td.record(lambda a: np.sum(np.linalg.pinv(a)), np.eye(3))
except td.UnsupportedFunction as refusal:
    print(refusal.fix)
```

```text
use np.linalg.solve(a.T @ a, a.T) for a matrix of full column rank
```
"""


def name_of(function):
    module = (getattr(function, "__module__", None) or "numpy").removeprefix("numpy").removeprefix(".")
    module = "" if module.startswith(("_", "lib")) else module
    return f"np.{module}.{function.__name__}" if module else f"np.{function.__name__}"


def lists():
    """The titles and names of the page."""
    functions = {*dispatch.FUNCTIONS, *dispatch.WRITERS, *BY_FUNCTION, *dispatch._UFUNC_COMPOSITIONS}
    functions = {f for f in functions if callable(f)}
    from_numpy = {name_of(f) for f in functions if getattr(np, f.__name__, None) is f or not isinstance(f, np.ufunc)}
    yield "NumPy's functions", from_numpy
    yield "Methods of NumPy's functions", {
        f"np.{ufunc.__name__}.{method}"
        for method, table in (("reduce", dispatch._REDUCE), ("accumulate", dispatch._ACCUMULATE))
        for ufunc in table
    } | {"np.add.at"}
    yield "Methods of arrays", {f"x.{name}" for name in dispatch.METHODS if hasattr(np.ndarray, name)}
    yield "SciPy's functions", {f"scipy.special.{name}" for name in BY_SCIPY_NAME if isinstance(getattr(scipy.special, name, None), np.ufunc)}
    for module in (special, linalg):
        yield f"`{module.__name__}`, with SciPy's signatures", {
            f"td.{module.__name__.rpartition('.')[2]}.{name}" for name, f in vars(module).items()
            if name.islower() and not name.startswith("_") and (isinstance(f, Op) or getattr(f, "__module__", "") == module.__name__)
        }  # fmt: skip


def page():
    parts = [HEAD]
    for title, names in lists():
        parts += [f"## {title}\n", " · ".join(f"`{name}`" for name in sorted(names)) + "\n"]
    return "\n".join(parts)


def test_the_page_lists_what_is_there():
    assert PAGE.read_text() == page(), "`python -m tests.test_supported` writes it anew"


def test_instead_is_said_of_functions_that_exist_and_are_not_here():
    """A sentence about a function that has come in goes out."""
    here = {name.removeprefix("np.") for _, names in lists() for name in names}
    for name in INSTEAD:
        assert name not in here, name
        owner = np
        if name.startswith("scipy."):
            __import__(name.rpartition(".")[0])
            owner = __import__("scipy")
        for part in name.removeprefix("scipy.").split("."):
            owner = getattr(owner, part, None) or getattr(np.ndarray, part)
        assert callable(owner), name


if __name__ == "__main__":
    PAGE.write_text(page())
