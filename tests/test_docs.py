"""The pages run: every Python block of README.md and docs/, and what a block prints is the text block that follows it."""

import contextlib
import doctest
import io
import linecache
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
RECIPES = sorted((ROOT / "docs" / "contributing").glob("*.md"))
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```$(?:\n+```text\n(?P<shown>.*?)^```$)?", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?://)(?P<page>[^)#]*)(?:#(?P<heading>[^)]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
FILE = re.compile(r"`([\w*./]+(?:\.py|/))`")
ADDED = re.compile(r"^\+\+\+ b/(?P<file>.*)|(?P<lines>(?:^\+(?!\+\+ b/).*\n)+)", re.MULTILINE)


def blocks(page):
    """The code of each block, moved down to where it stands in the page, its first line, and the text that follows, if any."""
    text = page.read_text()
    for found in BLOCK.finditer(text):
        above = text.count("\n", 0, found.start("code"))
        yield "\n" * above + found["code"], above + 1, found["shown"]


# Pages about libraries that the tests do not install.
NEEDED = {
    "jax.md": ["jax"], "torch.md": ["torch"], "draws.md": ["emcee"], "samplers.md": ["emcee"], "optimisers.md": ["iminuit", "nlopt", "ipyopt", "sklearn"],
    "pymc.md": ["pymc", "nutpie"], "clusters.md": ["distributed", "joblib", "cloudpickle"],
}  # fmt: skip


def names(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_every_python_block_runs_and_prints_what_the_page_shows(page):
    """In order and in one namespace; `...` in the text stands for anything, as in doctest."""
    for library in NEEDED.get(page.name, ()):
        pytest.importorskip(library)
    checker, namespace = doctest.OutputChecker(), {"__name__": page.stem}
    for code, line, shown in blocks(page):
        # Each block is a file of its own, whose source Python finds, as cells of a notebook are.
        file = str(page.parent / f"line{line}" / page.name)
        linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            exec(compile(code, file, "exec"), namespace)
        if shown is not None:
            printed = stream.getvalue()
            agrees = checker.check_output(shown, printed, doctest.ELLIPSIS)
            assert agrees, f"{page.name}:{line} shows\n{shown}and printed\n{printed}"


def test_every_page_has_blocks_and_every_text_block_follows_one():
    """So that no page, and no output, escapes the test above by how its fences are written."""
    for page in PAGES:
        found = list(blocks(page))
        text = page.read_text()
        assert len(found) == text.count("```python") > 0, page.name
        assert sum(shown is not None for _, _, shown in found) == text.count("```text"), page.name


def anchor(heading):
    """A heading's name in links, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", [*PAGES, *RECIPES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=names)
def test_every_link_to_a_page_of_this_repository_leads_somewhere(page):
    """The file exists, and so does the heading."""
    for link in LINK.finditer(page.read_text()):
        target = (page.parent / link["page"]).resolve() if link["page"] else page
        assert target.exists(), link[0]
        if link["heading"]:
            assert link["heading"] in map(anchor, HEADING.findall(target.read_text())), link[0]


@pytest.mark.parametrize("page", ["docs/glossary.md", "docs/architecture.md", "docs/contributing/where_things_go.md"])
def test_every_file_named_in_a_table_exists(page):
    """Below the package or the repository, or, as in `lower/arrays.py`, `matrices.py`, beside the file named before it."""
    rows = [row for row in (ROOT / page).read_text().splitlines() if row.startswith("|")]
    named = [FILE.findall(row) for row in rows]
    assert sum(map(len, named)) > 10, "else the expression above finds nothing"
    for files in named:
        beside = ROOT / "tapediff"
        for file in files:
            found = [path for folder in (beside, ROOT / "tapediff", ROOT) for path in folder.glob(file.rstrip("/"))]
            assert found, f"{page} names {file}"
            beside = found[0] if file.endswith("/") else found[0].parent


@pytest.mark.parametrize("page", [page for page in RECIPES if "```diff" in page.read_text()], ids=names)
def test_what_the_diff_of_a_recipe_adds_is_there(page):
    """Each group of added lines is in its file as the page has it."""
    file, count = "", 0
    for diff in re.findall(r"```diff\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        for found in ADDED.finditer(diff):
            file = found["file"] or file
            if found["lines"]:
                lines = "".join(line[1:] for line in found["lines"].splitlines(keepends=True))
                assert lines in (ROOT / file).read_text(), f"{file} does not have\n{lines}"
                count += 1
    assert count > 1
