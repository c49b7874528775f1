"""What the site adds to the pages in docs: navigation by kind, the sources that pages link to, and players."""

import os
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PLAYERS = ROOT / "build" / "players"  # tools/docs records scenes there
SITE_PAGES = "project"  # folder of the site for files outside docs

# Top-level pages of docs by kind; a page that is not listed is an explanation.
REFERENCE = ["lua", "stepping-options", "c-api", "python", "tasks", "scenes", "glossary", "equations",
             "problem-format", "replay-format", "testing"]
MEASUREMENTS = ["measurements", "contact-card"]
HOW_TO = ["batch", "control", "control-plans", "control-views", "control-fit", "control-lessons", "parallel", "solvers-large",
          "contributing"]

CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
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


def repository():
    """The address of the repository, which CITATION.cff holds; None without one."""
    found = re.search(r"^repository-code: *(\S+)", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    return found and found[1]


def on_config(config):
    config["repo_url"] = repository()
    config["markdown_extensions"].append("attr_list")
    top = [path.stem for path in sorted(DOCS.glob("*.md")) if path.stem != "index"]
    home = "index.md" if (DOCS / "index.md").exists() else f"{SITE_PAGES}/README.md"
    gallery = ["gallery/README.md"] + (["gallery/players.md"] if list(PLAYERS.glob("*.html")) else [])
    listed = REFERENCE + HOW_TO + MEASUREMENTS
    kinds = {
        "Tutorial": pages_of("tutorial"),
        "How-to": pages_of("howto") + pages_of("coming-from") + [name + ".md" for name in HOW_TO if name in top],
        "Reference": pages_of("reference") + [name + ".md" for name in REFERENCE if name in top],
        "Explanation": pages_of("explanation") + [name + ".md" for name in top if name not in listed],
        "Measurements": [name + ".md" for name in MEASUREMENTS if name in top] + pages_of("measurements"),
        "Gallery": gallery,
    }
    config["nav"] = [{"Home": home}] + [{kind: pages} for kind, pages in kinds.items() if pages]
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
    if not (DOCS / "index.md").exists():  # the README is the first page
        files.append(File.generated(config, "index.md",
                                    content=moved_links((ROOT / "README.md").read_text(encoding="utf-8"), ROOT, "index.md", found)))
        config["nav"][0] = {"Home": "index.md"}
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
    return moved_links(markdown, (DOCS / name).parent, name, set())
