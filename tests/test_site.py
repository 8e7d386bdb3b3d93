"""The site has every page and every public name; `make docs` builds it, strictly."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tapediff as td

ROOT = Path(__file__).parent.parent
PAGES = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
CONFIGURATION = (ROOT / "mkdocs.yml").read_text()
API = "\n".join(path.read_text() for path in (ROOT / "docs" / "api").glob("*.md"))


def test_every_page_is_named_in_the_navigation():
    """Once. Pages that are not would be built all the same, last in "How to": put them where a reader looks for them."""
    named = re.findall(r"^ *- ([\w/]+\.md)$", CONFIGURATION.partition("\nnav:")[2], re.MULTILINE)
    assert sorted(set(named)) == sorted(named)
    assert set(PAGES) <= set(named)


ADAPTERS = [f"adapters.{path.stem}" for path in (ROOT / "tapediff" / "adapters").glob("*.py") if path.stem != "__init__"]


@pytest.mark.parametrize("name", [*td.__all__, *ADAPTERS])
def test_every_public_name_is_in_the_reference(name):
    """As an object, or as a module whose members are listed."""
    home = f"{td.HOME[name]}.{name}" if name in td.HOME else name
    assert re.search(rf"^::: tapediff\.{re.escape(home)}$", API, re.MULTILINE)


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="mkdocs comes with the extra `docs`")
def test_pages_that_nobody_named_are_shown():
    """Below the last of "How to"."""
    sys.path.insert(0, str(ROOT / "docs" / "_site"))
    try:
        import hooks
    finally:
        sys.path.pop(0)
    nav = [{"Start": ["a.md"]}, {"How to": [{"X": ["b.md"]}]}]
    assert hooks.with_all_pages(nav, ["a.md", "b.md", "c.md"]) == [nav[0], {"How to": [{"X": ["b.md"]}, {"More": ["c.md"]}]}]
    assert hooks.with_all_pages(nav, ["a.md", "b.md"]) == nav
    assert hooks.anchor("`td.cond`, and loops: how?") == "tdcond-and-loops-how"
    links = "[a](../examples/x_is_not_there.py) [b](../tests/test_site.py) [c](frozen.md#detecting-changes) [d](../README.md)"
    led = hooks.led(links, "guards.md", "docs/guards.md")
    assert led == "[a](../examples/x_is_not_there.py) b [c](frozen.md#detecting-changes) [d](index.md)"


@pytest.mark.skipif("TAPEDIFF_DOCS" not in os.environ, reason="`make docs`: 15 s")
def test_the_built_site_needs_no_network():
    """No page loads a script, a style or a picture from another host."""
    built = sorted((ROOT / "build" / "site").rglob("*.html"))
    assert len(built) > len(PAGES)
    for page in built:
        loaded = re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(https?://[^"]+)"', page.read_text())
        assert loaded == [], page
    # Browsers refuse to fetch files: the search's index is a script, and its worker a frame.
    assert (ROOT / "build" / "site" / "search" / "search_index.js").read_text().startswith("var __index = ")
    assert '<script src="assets/iframe-worker.js"' in (ROOT / "build" / "site" / "index.html").read_text()


def test_the_example_of_a_page_is_not_a_copy_of_another():
    """A snippet stands on one page; others link to it."""
    blocks = {}
    for name in (*PAGES, "../README.md"):
        for code in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / name).read_text(), re.DOTALL):
            if code.count("\n") > 8:
                assert code not in blocks, (name, blocks.get(code))
                blocks[code] = name
    assert len(blocks) > 20


@pytest.mark.slow
def test_the_site_is_built_by_the_command_that_is_documented():
    """`make docs` is in the Makefile, strict, and its packages are an extra."""
    done = subprocess.run(["make", "--dry-run", "docs", "VENV=/nowhere"], cwd=ROOT, capture_output=True, text=True)
    assert "mkdocs build --strict" in done.stdout
