"""What notebooks show: the picture of a world, and the page or video of a recording."""

from __future__ import annotations

import base64
import html
import os
import re
import tempfile
from typing import Callable

_HEIGHT = 520  # px, of the player
_HIGHEST = 480  # px, of a picture
_LARGEST = 100_000_000  # bytes of a file that is included; larger ones are linked
_VIDEOS = {".mp4": "video/mp4"}
_PICTURES = {".gif": "image/gif", ".png": "image/png"}


def of_drawing(draw: Callable[[str], object]) -> str:
    """The SVG of a function that draws to a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "state.svg")
        draw(path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
    return _limited(text)


def _limited(text: str) -> str:
    """The picture in a page, without the heading of its file."""
    text = text[text.index("<svg"):]
    size = re.match(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"', text)
    if size is None:
        return text
    width, height = float(size[1]), float(size[2])
    style = f"width:{width * min(1.0, _HIGHEST / height):.0f}px;max-width:100%;height:auto"
    return f'<svg style="{style}"' + text[len("<svg"):]


def of_file(path: str | None) -> str | None:
    """A recording as part of a page; None for formats that a page cannot show."""
    if path is None or not os.path.isfile(path) or os.path.getsize(path) == 0:
        return None
    suffix = os.path.splitext(path)[1].lower()
    name = html.escape(path, quote=True)
    if os.path.getsize(path) > _LARGEST:
        return f'<a href="{name}">{name}</a>'
    with open(path, "rb") as file:
        data = file.read()
    if suffix == ".html":
        page = html.escape(data.decode("utf-8", "replace"), quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="{_HEIGHT}" frameborder="0" allowfullscreen></iframe>'
    if suffix == ".svg":
        text = data.decode("utf-8", "replace")
        return _limited(text) if "<svg" in text else None
    if suffix in _VIDEOS:
        return f'<video controls style="max-width:100%;max-height:{_HIGHEST}px" src="data:{_VIDEOS[suffix]};base64,{base64.b64encode(data).decode()}"></video>'
    if suffix in _PICTURES:
        return f'<img style="max-width:100%;max-height:{_HIGHEST}px" src="data:{_PICTURES[suffix]};base64,{base64.b64encode(data).decode()}">'
    return None
