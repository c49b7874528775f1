"""What the site adds to the pages in docs: navigation by kind, the sources that pages link to, and players."""

import os
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PLAYERS = ROOT / "build" / "players"  # tools/docs records scenes there
SITE_PAGES = "project"  # folder of the site for files outside docs

# The tabs of the site are the tables of docs/index.md, by their heads.
TABS = {"you are new": "Tutorial", "you have a task": "How-to", "you look something up": "Reference",
        "you want to know why": "Explanation"}
# Pages that list a folder. Their tables group its pages.
LISTS = {"tutorial/README.md": "tutorial", "coming-from/README.md": "coming-from", "howto/README.md": "howto",
         "experiments.md": "experiments", "lua.md": "reference", "measurements.md": "measurements"}
FIRST = ["tutorial/README.md", "howto/README.md", "lua.md"]  # they begin their tab, and are no section of it
MEASUREMENTS = ["measurements.md", "contact-card.md"]  # they have a tab of their own, as has the gallery
WIDE = ["tutorial", "howto"]  # folders of pages without a table of contents, for the width of their scripts

CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
HEAD = re.compile(r"^\| ([^|]+?) \|.*\n\|(?: --- \|)+\n((?:\|.*\n)+)", re.MULTILINE)
LANGUAGES = {".c": "c", ".h": "c", ".def": "c", ".lua": "lua", ".py": "python", ".sh": "bash", ".txt": "text",
             ".mjs": "javascript", ".js": "javascript", ".cmake": "cmake"}


def is_outside(target):
    return DOCS not in target.parents and target != DOCS


def site_name(target):
    """Where a file outside docs is in the site."""
    name = target.relative_to(ROOT).as_posix()
    return f"{SITE_PAGES}/{name}" if name.endswith(".md") else f"{SITE_PAGES}/{name}.md"


def moved_links(text, folder, page, found):
    """The text with links for the page at `page` of the site; it was written for `folder`."""

    def moved(match):
        link, anchor = match[1], match[2] or ""
        if re.match(r"[a-z]+:", link):
            return match[0]
        target = Path(os.path.normpath(folder / link))
        if not target.exists():
            return match[0]  # strict mode reports it
        if target == DOCS:
            target = DOCS / "gallery" / "README.md"
        if is_outside(target):
            found.add(target)
            name = site_name(target)
        else:
            name = target.relative_to(DOCS).as_posix()
        return f"]({os.path.relpath(name, os.path.dirname(page) or '.')}{anchor})"

    parts = CODE.split(text)
    return "".join(part if i % 2 else LINK.sub(moved, part) for i, part in enumerate(parts))


def source_page(target, found):
    """Markdown of a file outside docs."""
    name = target.relative_to(ROOT).as_posix()
    if target.is_dir():
        files = "\n".join(f"- `{entry.name}`" for entry in sorted(target.iterdir()))
        return f"# {name}\n\n{files}\n"
    text = target.read_text(encoding="utf-8", errors="replace")
    if target.suffix == ".md":
        return moved_links(text, target.parent, site_name(target), found)
    fence = "`" * 5
    return f"# {name}\n\n{fence} {LANGUAGES.get(target.suffix, 'text')}\n{text}\n{fence}\n"


def players_page(players):
    cells = []
    for player in players:
        picture = next(iter(sorted((DOCS / "gallery").glob(player.stem + ".*"))), None)
        shown = f"![{player.stem}]({picture.name})" if picture else player.stem
        cells.append(f"[{shown}]({player.name}){{ target=_blank }}")
    cards = "\n\n".join(cells)
    return ("# Players\n\nEach picture opens a player of that scene: drag to move the view, press space to stop the run.\n\n"
            f'<iframe src="{players[0].name}" style="width:100%;height:32rem;border:0" loading="lazy" '
            f'title="{players[0].stem}"></iframe>\n\n'
            f'<div class="grid" markdown>\n\n{cards}\n\n</div>\n')


def pages_of(folder):
    """Pages of a folder of docs, its index first."""
    names = sorted((path.relative_to(DOCS).as_posix() for path in (DOCS / folder).glob("*.md")),
                   key=lambda name: (not name.endswith(("README.md", "index.md")), name))
    return names


def tables_of(page):
    """The tables of a page of docs: the head of each, and the pages that it links, with the text of the link."""
    for head, rows in HEAD.findall((DOCS / page).read_text(encoding="utf-8")):
        links = re.findall(r"\[([^\]]+)\]\(([^)\s#]+\.md)", rows)
        paths = [(text, os.path.normpath(os.path.join(os.path.dirname(page), link))) for text, link in links]
        yield head, [(text, path) for text, path in paths if (DOCS / path).exists() and not path.startswith("..")]


def listed(page):
    """A page of LISTS, and the pages of its folder, in groups if it has several tables of them."""
    rest = [name for name in pages_of(LISTS[page]) if name != page]
    groups = []
    for head, links in tables_of(page):
        names = [name for _, name in links if name in rest]
        rest = [name for name in rest if name not in names]
        if names:
            groups.append({head[0].upper() + head[1:]: names})
    if len(groups) == 1:
        groups = list(groups[0].values())[0]
    return [page] + groups + rest


def tabs():
    """The navigation: docs/index.md lists the pages, each tab those of a table. Pages that it misses are explanations."""
    kinds, seen = {tab: [] for tab in TABS.values()}, set(MEASUREMENTS) | {"index.md", "gallery/README.md"}
    for head, links in tables_of("index.md"):
        for text, page in links:
            if head not in TABS or page in seen or os.path.dirname(page) and page not in LISTS:
                continue
            seen.add(page)
            tab = kinds[TABS[head]]
            if page in FIRST:
                tab[:0] = listed(page)
            elif page in LISTS:
                tab.append({text: listed(page)})
            else:
                tab.append(page)
    kinds["Explanation"] += sorted(path.name for path in DOCS.glob("*.md") if path.name not in seen)
    kinds["Measurements"] = listed("measurements.md") + MEASUREMENTS[1:]
    kinds["Gallery"] = ["gallery/README.md"] + (["gallery/players.md"] if list(PLAYERS.glob("*.html")) else [])
    return [{"Home": "index.md"}] + [{kind: pages} for kind, pages in kinds.items()]


def repository():
    """The address of the repository, which CITATION.cff holds; None without one."""
    found = re.search(r"^repository-code: *(\S+)", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    return found and found[1]


def on_config(config):
    config["repo_url"] = repository()
    config["markdown_extensions"].append("attr_list")
    config["nav"] = tabs()
    return config


def on_files(files, config):
    found, done = {ROOT / "README.md"}, set()
    for path in DOCS.rglob("*.md"):
        moved_links(path.read_text(encoding="utf-8"), path.parent, path.relative_to(DOCS).as_posix(), found)
    while found - done:
        for target in sorted(found - done):
            done.add(target)
            if target.is_file() and target.suffix in (".svg", ".png", ".gif"):
                continue
            files.append(File.generated(config, site_name(target), content=source_page(target, found)))
    files.append(File.generated(config, "assets/site.css", abs_src_path=str(ROOT / "packaging/site/site.css")))
    players = sorted(PLAYERS.glob("*.html"))
    for player in players:
        files.append(File.generated(config, f"gallery/{player.name}", abs_src_path=str(player)))
    if players:
        files.append(File.generated(config, "gallery/players.md", content=players_page(players)))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.generated_by:
        return markdown
    name = page.file.src_uri
    if name == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
    elif name.split("/")[0] in WIDE:
        page.meta["hide"] = ["toc"]
    return moved_links(markdown, (DOCS / name).parent, name, set())
