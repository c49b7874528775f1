"""The examples of Python in docs/ print the documented output."""

import contextlib
import io
import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).parents[2] / "docs"
PAGE = DOCS / "python.md"
PAGES = [PAGE, *sorted(page for page in DOCS.rglob("*.md") if page != PAGE)]
# A block of Python followed by one of text, which is its output.
BLOCK = re.compile(r"^```python\n((?:(?!```).*\n)*)```\n\n```text\n((?:(?!```).*\n)*)```$", re.M)
BLOCKS = [(page.relative_to(DOCS).as_posix(), *block) for page in PAGES for block in BLOCK.findall(page.read_text())]


@pytest.mark.parametrize("page", ["python.md", "python-scenes.md"])
def test_each_example_has_its_output(page):
    text = (DOCS / page).read_text()
    assert len(BLOCK.findall(text)) == text.count("```python") >= 4


@pytest.mark.parametrize("page, code, printed", BLOCKS)
def test_example(page, code, printed, tmp_path, monkeypatch):
    pytest.importorskip("gymnasium")
    monkeypatch.chdir(tmp_path)  # pictures go there
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, page, "exec"), {"__name__": "example"})
    assert out.getvalue() == printed
