"""The examples of docs/python.md print what they say."""

import contextlib
import io
import pathlib
import re

import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE.read_text(), re.M | re.S)


def test_each_example_has_its_output():
    assert len(BLOCKS) == PAGE.read_text().count("```python") >= 4


@pytest.mark.parametrize("code, printed", BLOCKS)
def test_example(code, printed):
    pytest.importorskip("gymnasium")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, str(PAGE), "exec"), {"__name__": "example"})
    assert out.getvalue() == printed
