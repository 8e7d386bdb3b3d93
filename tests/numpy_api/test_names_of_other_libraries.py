"""Names of other libraries: the error says what to use here."""

import importlib
import re
from operator import attrgetter

import pytest

import tapediff as td
from tapediff.numpy_api.alternatives import ELSEWHERE, FOR_NAME

JIT = "module 'tapediff' has no attribute 'jit'; instead: td.compile(f, x), or td.GuardedTape(f) where f branches (docs/migration.md)"


def test_a_name_of_another_library_says_what_to_use_here():
    """As an attribute, and in `from tapediff import`, where Python would drop the text."""
    with pytest.raises(AttributeError) as raised:
        td.jit  # noqa: B018 -- asking for it is the test
    assert str(raised.value) == JIT
    with pytest.raises(ImportError) as raised:
        exec("from tapediff import jit")
    assert str(raised.value) == JIT
    with pytest.raises(ImportError, match=r"^module 'tapediff.random' .* instead: td.random.key\(seed\) \(docs"):
        exec("from tapediff.random import PRNGKey")
    with pytest.raises(AttributeError, match=r"instead: td.random.key\(seed\) \(docs"):
        td.random.PRNGKey  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'tapediff\.jit'"):
        importlib.import_module("tapediff.jit")


def test_names_of_numpy_and_close_names_are_suggested():
    """No suggestion for what resembles nothing; Python does not add one of its own."""
    for name, text in (
        ("sin", "instead: np.sin: functions stay plain NumPy and SciPy (docs/migration.md)"),
        ("gradeint", "did you mean td.gradient or td.stop_gradient?"),
    ):
        with pytest.raises(AttributeError) as raised:
            getattr(td, name)
        assert str(raised.value) == f"module 'tapediff' has no attribute {name!r}; {text}"
        assert (raised.value.name, raised.value.obj) == (name, None)
    with pytest.raises(AttributeError, match=r"no attribute 'qqqq'$"):
        td.qqqq  # noqa: B018
    with pytest.raises(AttributeError, match=r"; did you mean td.random.normal or td.random.uniform\?"):
        td.random.norml  # noqa: B018


def test_none_of_the_names_exists_and_dir_lists_none():
    """hasattr() is False, and so is `in dir`."""
    for name in FOR_NAME:
        owner, _, last = name.rpartition(".")
        module = attrgetter(owner)(td) if owner else td
        assert not hasattr(module, last), name
        assert last not in dir(td) or owner, name
    assert "gradient" in dir(td)


def test_every_answer_names_what_there_is():
    """Each td.name and tapediff.name in the table can be imported."""
    found = {path for text in ELSEWHERE.values() for path in re.findall(r"\b(?:td|tapediff)((?:\.\w+)+)", text)}
    assert len(found) > 30
    for path in found:
        try:
            attrgetter(path[1:])(td)
        except AttributeError:
            importlib.import_module(f"tapediff{path}")


def test_no_name_has_two_answers():
    assert sum(len(names.split()) for names in ELSEWHERE) == len(FOR_NAME)
