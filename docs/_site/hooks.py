"""What `mkdocs build` does besides: pages from files outside docs/, links to them, and GitHub's names for headings.

The files of the repository link to each other as they lie there, so that they can be read without the site. Here links are led to the
pages of the site; of files that are not pages, tests for example, only the text of the link is left.
"""

import ast
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

# Files of the repository that are pages: where they lie, and their place in the site.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples": "examples/index.md",
    **{f"examples/{path.name}": f"examples/{path.stem}.md" for path in EXAMPLES},
}
PICTURES = {f"benchmarks/{path.name}": f"assets/{path.name}" for path in (ROOT / "benchmarks").glob("*.svg")}
SITE = PAGES | PICTURES
LIES = {page: path for path, page in SITE.items()}

LINK = re.compile(r"\]\((?P<target>[^)#\s]*)(?P<heading>#[^)]*)?\)")
TEXT_OF_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\(<nowhere>\)")


def on_config(config):
    """Headings are named as on GitHub, and pages that the navigation does not name come last in "How to"."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = lambda text, separator: anchor(text)
    config.nav = with_all_pages(config.nav, sorted(path.name for path in (ROOT / "docs").glob("*.md")))
    (examples,) = [section["Examples"] for section in config.nav if "Examples" in section]
    examples += [PAGES[f"examples/{path.name}"] for path in EXAMPLES]
    return config


def anchor(heading):
    """A heading's name in links, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def with_all_pages(nav, pages):
    """The navigation, with the pages that it does not name."""
    named = set(names_in(nav))
    rest = [page for page in pages if page not in named]
    return [
        {title: [*entries, {"More": rest}] if title == "How to" and rest else entries}
        for section in nav for title, entries in section.items()
    ]  # fmt: skip


def names_in(nav):
    """The pages that a navigation names."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for entries in nav.values():
            yield from names_in(entries)
    else:
        for entry in nav:
            yield from names_in(entry)


def on_files(files, config):
    for path, page in SITE.items():
        content = content_of(path) if page.endswith(".md") else (ROOT / path).read_bytes()
        files.append(File.generated(config, page, content=content))
    return files


def content_of(path):
    """A page's Markdown: the file's own, or an example's docstring above its code."""
    if path == "examples":
        rows = [f"| [{p.name}]({p.name}) | {' '.join(described(p)[0].split())} |" for p in EXAMPLES]
        above = ["# Examples", "", "Each runs by itself: `python examples/NAME.py`.", "", "| file | what it shows |", "|---|---|"]
        return "\n".join([*above, *rows])
    if path.endswith(".py"):
        text, code = described(ROOT / path)
        return f"# {Path(path).name}\n\n{text}\n\n```python\n{code}\n```\n"
    return (ROOT / path).read_text()


def described(path):
    """An example's docstring, and its code below."""
    source = path.read_text()
    tree = ast.parse(source)
    return ast.get_docstring(tree), "\n".join(source.splitlines()[tree.body[0].end_lineno :]).strip()


def on_page_markdown(markdown, page, config, files):
    """Lead links from where the file lies in the repository to the pages of the site."""
    place = page.file.src_uri
    lies = LIES.get(place, f"docs/{place}")
    pieces = re.split(r"(^```.*?^```$)", markdown, flags=re.DOTALL | re.MULTILINE)
    return "".join(piece if piece.startswith("```") else led(piece, place, lies) for piece in pieces)


def led(text, place, lies):
    text = LINK.sub(lambda found: led_link(found, place, lies), text)
    return TEXT_OF_LINK.sub(lambda found: found["text"], text)


def led_link(found, place, lies):
    target, heading = found["target"], found["heading"] or ""
    if not target or ":" in target:
        return found[0]
    base = "" if lies == "examples" else posixpath.dirname(lies)
    goal = posixpath.normpath(posixpath.join("examples" if lies == "examples" else base, target))
    if goal in SITE:
        goal = SITE[goal]
    elif goal.startswith("docs/"):
        goal = goal.removeprefix("docs/")
    elif (ROOT / goal).exists():
        return "](<nowhere>)"
    else:
        return found[0]  # mkdocs says where it leads nowhere
    return f"]({posixpath.relpath(goal, posixpath.dirname(place) or '.')}{heading})"
