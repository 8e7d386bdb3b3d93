"""docs/supported.md lists every name of NumPy's and what tapediff does with it. `python -m tests.test_supported` writes it anew."""

import collections
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.special

import tapediff as td
from tapediff import interpolate, linalg, sparse, special, stats
from tapediff.errors import TapediffError
from tapediff.numpy_api import dispatch
from tapediff.numpy_api.alternatives import INSTEAD, NOT_HERE, SCIPY, SPECIAL, instead_of
from tapediff.numpy_api.complex_numbers import (
    dispatch as complex_dispatch,
    linear_algebra as complex_linear_algebra,
    scipy_fft,
)
from tapediff.numpy_api.composed import ufunc_methods
from tapediff.numpy_api.composed.special_functions import COMPOSITIONS
from tapediff.ops import BY_FUNCTION, BY_SCIPY_NAME, Op
from tapediff.recording.arrays.tracked import TrackedArray
from tapediff.recording.python_state import numpy_namespace

PAGE = Path(__file__).parents[1] / "docs" / "supported.md"
sys.path.insert(0, str(Path(__file__).parent))

HEAD = """# What is supported on tracked arrays

Python's operators, indexing and writing with all of NumPy's indices, `len`, iteration, comparisons, `abs`, `round`, `divmod`, `int`
and `bool` (which are guards), and the functions below, with their usual arguments. Everything else raises an error that names the line of
the call and another way to write it, where there is one. Tracked values are never converted silently. (Made from the package's own tables
by `python -m tests.test_supported`, and checked against what records.)

```python
import numpy as np
import tapediff as td

try:
    td.record(lambda x: np.sum(np.spacing(x)), np.ones(3))
except td.UnsupportedFunction as refusal:
    print(refusal.fix)
```

```text
it has no use for derivatives: use np.finfo(float).eps * np.abs(x)
```

| | |
|---|---|
| functions of integers and of order (`argsort`, `searchsorted`, `digitize`, `unique`, `isin`) | give integers and masks, which have no derivative |
| parts whose *length* depends on values (`x[mask]`, `np.nonzero`, `x[:n]`) | are data: elementwise functions, reductions, sorting, products, `solve`, slices, writes and loops of them need no guard, and other entries contribute exactly zero. Other functions (`np.unique`, `np.kron`) guard the mask |
| arrays made in the function, written to or read at tracked positions | [become tracked](frozen.md#writing-into-arrays); arrays from outside, and of narrower integers, are not written to |
| a plain array from outside, read by `array[k]` | [data or guards](data.md#tables) |
| `numpy.linalg` | takes stacks of matrices, and gives NumPy's own signs of vectors and factors. Kernels keep a matrix of up to 16 rows in each SIMD lane: 10,000 solves of 3 by 3 with their gradient take 0.4 ms |
| determinants | have the matrix of cofactors for their derivative, also where they are zero |
| vectors of repeated eigenvalues or singular values; of the space that `svd` of matrices that are not square and `qr` with `mode="complete"` add | NaN where the result depends on which they are, never a wrong number |
| repeated eigenvalues and singular values themselves | have first derivatives; second ones are NaN, but for changes of the matrix that keep them equal |
| `eigh`, `eigvalsh`, `cholesky` | read one triangle, and so do their gradients |
| `pinv`, `lstsq` | have the derivative of matrices of the same rank |
| `eig`, `eigvals` | need real eigenvalues, which is guarded |
| `scipy.linalg`, by its own names, also imported, or by `td.linalg` | `check_finite=` and `overwrite_a=` change nothing |
| `sqrtm`, `logm`, `lu`, `eigh`, `solve_sylvester` and what follows from them, of `scipy.linalg` | are SciPy's own values, for which kernels call Python; derivatives to any order |
"""

# Names of NumPy's that are given no values: types, settings, files, the making of plain arrays of a shape.
NO_VALUES = frozenset(
    """__array_namespace_info__ bartlett blackman broadcast_shapes busday_count busday_offset datetime_as_string datetime_data diag_indices eye
    fromfile fromfunction fromregex fromstring genfromtxt get_include get_printoptions getbufsize geterr geterrcall hamming hanning
    identity indices info is_busday isdtype isscalar issubdtype iterable kaiser load loadtxt mask_indices mintypecode ones printoptions
    promote_types set_printoptions setbufsize seterr seterrcall show_config show_runtime test tri tril_indices triu_indices typename
    zeros empty""".split()
)  # fmt: skip
# Names of scipy.linalg's that are given no values: matrices of a size, routines, modules that are there for older programs.
NO_MATRICES = frozenset(
    """LinAlgError LinAlgWarning dft hadamard helmert hilbert invhilbert invpascal pascal find_best_blas_type get_blas_funcs
    get_lapack_funcs""".split()
)  # fmt: skip
# What works by what else works, without an entry in a table.
OF_THEMSELVES = frozenset(("r_", "c_", "mgrid", "ogrid", "s_", "index_exp", "vectorize", "frompyfunc", "row_stack", "isfortran"))


def name_of(function):
    module = (getattr(function, "__module__", None) or "numpy").removeprefix("numpy").removeprefix(".")
    module = "" if module.startswith(("_", "lib")) else module
    return f"np.{module}.{function.__name__}" if module else f"np.{function.__name__}"


def answered():
    """NumPy's functions in the tables."""
    return {*dispatch.FUNCTIONS, *dispatch.WRITERS, *BY_FUNCTION, *dispatch._UFUNC_COMPOSITIONS}


def is_there(module, name):
    value = getattr(module, name)
    return name in OF_THEMSELVES or (callable(value) and value in answered()) or (module is np and name in numpy_namespace._ORIGINALS)


def names_in(module):
    """The names of a module that take values."""
    for name in sorted(module.__all__):
        value = getattr(module, name)
        if name in OF_THEMSELVES or (callable(value) and not isinstance(value, type) and name not in NO_VALUES):
            yield name


def attributes():
    return [name for name in dir(np.ndarray) if not name.startswith("_")]


def has_attribute(name):
    return name in dispatch.METHODS or name in dir(TrackedArray)


def refusals(module, prefix):
    """Names that are not here, and what to do."""
    return [(name, instead_of(prefix + name)) for name in names_in(module) if not is_there(module, name)]


def refusals_of_scipy():
    """scipy.linalg's names that are not here, and what to do."""
    names = [n for n in sorted(scipy.linalg.__all__) if n not in NO_MATRICES and callable(getattr(scipy.linalg, n)) and n not in linalg.__all__]
    return [(f"scipy.linalg.{name}", instead_of(f"scipy.linalg.{name}")) for name in names]


# Names of scipy.special that are given plain whole numbers, and those that are Python functions of what is there.
_COUNTS = ("_zeros", "_roots", "_seq", "_coef")
OF_NUMBERS = frozenset(("geterr", "seterr", "bernoulli", "euler", "stirling2", "factorial2", "factorialk"))
IN_PYTHON = frozenset(("jvp", "yvp", "ivp", "kvp", "sinc", "softplus", "assoc_laguerre"))


def refusals_of_special():
    """scipy.special's names that are not here, and what to do."""
    here = {*BY_SCIPY_NAME, *COMPOSITIONS, *SPECIAL, *IN_PYTHON, *OF_NUMBERS}
    for name in sorted(scipy.special.__all__):
        function = getattr(scipy.special, name)
        is_of_counts = name.endswith(_COUNTS) or name.startswith("roots_") or isinstance(function, type)
        if name not in here and not is_of_counts and callable(function):
            yield name, instead_of(f"scipy.special.{name}")


def lists():
    """The titles and names of the page."""
    more = {name_of(f) for f in answered() if name_of(f).startswith("np.lib")} | {"np.lib.stride_tricks.sliding_window_view"}
    yield "NumPy's functions", {f"np.{name}" for name in names_in(np) if is_there(np, name)} | more
    yield "numpy.linalg", {f"np.linalg.{name}" for name in names_in(np.linalg) if is_there(np.linalg, name)}
    yield "numpy.fft", {f"np.fft.{name}" for name in np.fft.__all__}
    yield "Methods of NumPy's functions of two arguments", {f"np.add.{name}" for name in (*ufunc_methods.METHODS, "outer", "at")}
    yield "Attributes and methods of arrays", {f"x.{name}" for name in attributes() if has_attribute(name)}
    yield "scipy.fft", {f"scipy.fft.{name}" for name in scipy_fft.FUNCTIONS} | {f"scipy.fft.{name}" for name in scipy.fft.__all__ if "freq" in name or "shift" in name}
    yield "Of complex numbers, which [are made inside a function](complex.md)", {
        name_of(f) for f in {*complex_dispatch.FUNCTIONS, *complex_dispatch.UFUNCS, *complex_dispatch.OWN} - {*complex_linear_algebra.REFUSED} if "fft" not in name_of(f)
    }
    yield "SciPy's functions", {
        f"scipy.special.{name}" for name in {*BY_SCIPY_NAME, *COMPOSITIONS, *SPECIAL, *IN_PYTHON} if hasattr(scipy.special, name)
    }
    for module, names in sorted(SCIPY.items()):
        yield f"`scipy.{module}`, [inside recorded functions](scipy.md)", {f"scipy.{module}.{name}" for name in names}
    for module in (special, sparse, interpolate):
        yield f"`{module.__name__}`, with SciPy's signatures", {
            f"td.{module.__name__.rpartition('.')[2]}.{name}" for name in getattr(module, "__all__", dir(module)) for f in [getattr(module, name)]
            if (name.islower() or hasattr(module, "__all__")) and not name.startswith("_") and (isinstance(f, Op) or getattr(f, "__module__", "").startswith(module.__name__))
        }  # fmt: skip
    yield "`tapediff.linalg`, with SciPy's signatures; `scipy.linalg.expm` and so on as well", {f"td.linalg.{name}" for name in linalg.__all__}
    yield "`tapediff.stats`, with SciPy's names and arguments", {
        f"td.stats.{name}.{method}" for name in stats.__all__ for method in dir(getattr(stats, name))
        if method.startswith(("log", "pdf", "pmf", "cdf", "sf", "ppf", "isf")) and is_answered(getattr(stats, name), method)
    }  # fmt: skip


def is_answered(distribution, method):
    """Whether a distribution has a formula for a method that all distributions have."""
    if method in ("cdf", "logcdf", "sf", "logsf", "ppf", "isf"):
        try:
            distribution._formula(method)
        except td.UnsupportedFunction:
            return False
    return True


def page():
    parts = [HEAD]
    for title, names in lists():
        parts += [f"## {title}\n", " · ".join(f"`{name}`" for name in sorted(names)) + "\n"]
    rows = [(f"np.{name}", fix) for name, fix in refusals(np, "")]
    rows += [(f"np.linalg.{name}", fix) for name, fix in refusals(np.linalg, "linalg.")]
    rows += refusals_of_scipy()
    of_special = collections.defaultdict(list)
    for name, fix in refusals_of_special():
        of_special[fix].append(name)
    rows += [(f"scipy.special.{'`, `'.join(names)}", fix) for fix, names in of_special.items()]
    rows += [(f"x.{name}", instead_of(name)) for name in attributes() if not has_attribute(name)]
    parts += ["## What is refused, and what to do\n", "| name | instead |\n|---|---|"]
    parts += [f"| `{name}` | {fix} |" for name, fix in rows]
    return "\n".join(parts) + "\n"


# The versions of NumPy and SciPy whose names the page lists.
WRITTEN_WITH = ("2.4", "1.17")


def test_the_page_lists_what_is_there():
    """With other versions of the libraries the lists of what works have the same names, but for those that came or went with the version."""
    if (np.__version__.rpartition(".")[0], scipy.__version__.rpartition(".")[0]) == WRITTEN_WITH:
        assert PAGE.read_text() == page(), "`python -m tests.test_supported` writes it anew"
    written = set(re.findall(r"`(?:np|td|x)\.[\w.]+`", PAGE.read_text().partition("## What is refused")[0]))
    here = set(re.findall(r"`(?:np|td|x)\.[\w.]+`", page().partition("## What is refused")[0]))
    assert len(written ^ here) < 0.02 * len(here)


def test_instead_is_said_of_functions_that_exist_and_are_not_here():
    """A sentence about a function that has come in goes out."""
    here = {name.removeprefix("np.").removeprefix("x.") for _, names in lists() for name in names}
    # The method, not the function; and what converts its arguments where it was imported by its name before.
    here -= {"resize"} | {f"scipy.special.{name}" for name in SPECIAL}
    for name in INSTEAD:
        assert name not in here, name
        owner = np
        if name.startswith("scipy."):
            __import__(name.rpartition(".")[0])
            owner = __import__("scipy")
        for part in name.removeprefix("scipy.").split("."):
            owner = getattr(owner, part, None) or getattr(np.ndarray, part)
        assert callable(owner) or name in attributes(), name


def test_every_name_that_is_refused_has_a_way_round():
    """Of NumPy's own lists, so that a new one is noticed."""
    every = (*refusals(np, ""), *refusals(np.linalg, "linalg."), *refusals_of_scipy())
    without = [name for name, fix in every if fix == NOT_HERE]
    without += [name for name in attributes() if not has_attribute(name) and instead_of(name) == NOT_HERE]
    assert set(without) <= ONLY_IN_OLD_VERSIONS


# Deprecated in the oldest versions of NumPy and SciPy, and gone in later ones.
ONLY_IN_OLD_VERSIONS = {"in1d", "trapz", "scipy.linalg.kron", "itemset", "newbyteorder", "tostring"}


def test_every_name_that_is_listed_is_called_by_a_test():
    """The calls of tests/numpy_api, each of which is recorded there."""
    tests = Path(__file__).parent / "numpy_api"
    text = "\n".join(path.read_text() for path in tests.glob("*.py"))
    called = {*re.findall(r"\bnp\.((?:linalg\.)?\w+)", text)}
    aliases = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
               "atanh": "arctanh", "bitwise_invert": "invert", "bitwise_not": "invert", "pow": "power", "true_divide": "divide",
               "concat": "concatenate", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift", "abs": "absolute",
               "mod": "remainder", "row_stack": "vstack"}  # fmt: skip
    by_registry = {f.__name__ for f in BY_FUNCTION if callable(f)}  # each op is tested from its declaration
    listed = [n for n in names_in(np) if is_there(np, n)] + [f"linalg.{n}" for n in names_in(np.linalg) if is_there(np.linalg, n)]
    assert [n for n in listed if n not in called and aliases.get(n, n) not in called | by_registry] == []


X = np.arange(1.0, 5.0).reshape(2, 2)


@pytest.mark.parametrize("name", [n for n, _ in refusals_of_special() if isinstance(getattr(scipy.special, n), np.ufunc)])
def test_a_refused_function_of_scipy_special_gives_no_result(name):
    """In as many tracked arguments as it has; and the functions in Python that are listed record."""
    function = getattr(scipy.special, name)
    with pytest.raises(td.UnsupportedFunction, match="is not supported on tracked arrays"):
        td.record(lambda x: function(*[x] * function.nin), X[0])


@pytest.mark.parametrize("name", sorted(IN_PYTHON))
def test_functions_in_python_that_are_listed_are_recorded(name):
    f = lambda x: getattr(scipy.special, name)(*[2] * (name not in ("sinc", "softplus") and name != "assoc_laguerre"), x, *[1.0] * (name == "assoc_laguerre"))
    if name == "softplus" and not hasattr(scipy.special, name):
        pytest.skip("of newer versions of SciPy")
    td.testing.check_gradient(lambda x: np.sum(f(x)), lambda x: np.sum(f(x)), np.array([0.3, 0.9]))


@pytest.mark.parametrize("name", sorted({n for n, _ in refusals(np, "")} & {n for n in np.__all__ if hasattr(getattr(np, n), "_implementation") or isinstance(getattr(np, n), np.ufunc)}))
@pytest.mark.filterwarnings("ignore")
def test_a_refused_function_names_itself_or_what_it_needs(name):
    """Called with as many tracked arrays as it takes; never a result."""
    count = getattr(getattr(np, name), "nin", 1)
    if name in ("save", "savetxt", "savez", "savez_compressed"):
        return  # they convert to write to a file; the conversion is refused
    with pytest.raises((TapediffError, TypeError)):
        td.record(lambda x: getattr(np, name)(*[x] * count), X)


@pytest.mark.parametrize("name", [n for n in attributes() if not has_attribute(n)])
def test_a_refused_method_is_refused_by_its_name(name):
    with pytest.raises(td.UnsupportedFunction, match=rf"ndarray\.{name} is not available"):
        td.record(lambda x: getattr(x, name), X)


if __name__ == "__main__":
    PAGE.write_text(page())
