"""The help pages: Markdown files, what they link to, and a search over them.

The pages about the window lie in `resources/help`; those about commands, JSON keys, file formats
and the Python API in `resources/reference`. No two pages have the same name, so a page is known by
its name alone, and links between the two folders also work where the files are read elsewhere.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isca_gui.core.storage import resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

CONTENTS = "index"  # the page that names all others, in their order
KEYS = "keys"
_KEYS_HERE = "{keys}"  # where the table of the menus' keys belongs
_FOLDERS = ("help", "reference")
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_BOLD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_AROUND = 70  # letters on both sides of what was found
_MARKUP = re.compile(r"[*`]|^#+ |^\|[-| ]+\|$|^- |\|", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """One page: its name is that of its file, `section` that of the contents."""

    name: str
    title: str
    section: str
    text: str

    @functools.cached_property
    def plain(self) -> str:
        """The words alone, without markup and line ends."""
        return " ".join(_MARKUP.sub(" ", _LINK.sub(r"\1", self.text)).split())

    @functools.cached_property
    def anchors(self) -> frozenset[str]:
        """The places a link can lead to: headings and all that is bold."""
        # A comment in an example begins like a heading.
        text = _CODE.sub("", self.text)
        return frozenset(
            slug(found) for pattern in (_HEADING, _BOLD) for found in pattern.findall(text)
        )

    @property
    def links(self) -> tuple[str, ...]:
        """Where the links of the page lead to."""
        return tuple(target for _, target in _LINK.findall(self.text))

    @property
    def summary(self) -> str:
        """The first paragraph below the title, as plain words."""
        paragraphs = [
            part for part in self.text.split("\n\n") if not part.lstrip().startswith(("#", "|"))
        ]
        return (
            " ".join(_MARKUP.sub("", _LINK.sub(r"\1", paragraphs[0])).split()) if paragraphs else ""
        )


@dataclass(frozen=True)
class SearchHit:
    """A page that holds all words looked for, and what stands around the first of them."""

    page: Page
    excerpt: str


class Pages:
    """All pages, in the order of the contents."""

    def __init__(self, pages: Iterable[Page]) -> None:
        self._pages = {page.name: page for page in pages}

    def __iter__(self) -> Iterator[Page]:
        return iter(self._pages.values())

    def __contains__(self, name: object) -> bool:
        return name in self._pages

    def get(self, name: str) -> Page | None:
        """Give a page by its name."""
        return self._pages.get(name)

    def resolves(self, link: str) -> bool:
        """Tell whether a link such as `numbers.md#mse` leads somewhere."""
        name, anchor = split(link)
        page = self._pages.get(name)
        return page is not None and (not anchor or anchor in page.anchors)

    def search(self, text: str) -> list[SearchHit]:
        """Give the pages that hold all words: first those that have them in their titles."""
        words = text.lower().split()
        found = []
        for page in self._pages.values():
            low = page.plain.lower()
            if words and page.name != CONTENTS and all(word in low for word in words):
                in_title = sum(word in page.title.lower() for word in words)
                in_anchors = sum(slug(word) in anchor for word in words for anchor in page.anchors)
                count = sum(low.count(word) for word in words)
                found.append(
                    ((-in_title, -bool(in_anchors), -count), SearchHit(page, _excerpt(page, words)))
                )
        return [each for _, each in sorted(found, key=lambda pair: pair[0])]


def slug(text: str) -> str:
    """Give the name that a heading has in a link: `Error at U` is `error-at-u`."""
    return "-".join(re.findall(r"\w+", text.lower()))


def split(link: str) -> tuple[str, str]:
    """Return the page and the anchor of a link.

    `train`, `train#solver`, `train.md#solver` and `../help/train.md#solver` all lead to `train`.
    """
    path, _, anchor = link.partition("#")
    return path.rpartition("/")[2].removesuffix(".md"), anchor


def read(keys: Iterable[tuple[str, str]] = ()) -> Pages:
    """Read all pages; a missing file leaves a page out, none keeps the program from going on."""
    contents = resources.find(f"help/{CONTENTS}.md")
    if contents is None:
        words = "# Help\n\nThe help pages are missing: this installation is not complete. Install it anew."
        return Pages([Page(CONTENTS, "Help", "", words)])
    text = contents.read_text("utf-8")
    pages = [Page(CONTENTS, "Contents", "", text)]
    section = ""
    for line in text.splitlines():
        heading = _HEADING.match(line)
        section = heading.group(1) if heading is not None and line.startswith("## ") else section
        link = _LINK.search(line) if line.startswith("- ") else None
        if link is not None:
            pages += _page(contents.parent.parent, link.group(2), section, keys)
    return Pages(pages)


def _page(folder: Path, link: str, section: str, keys: Iterable[tuple[str, str]]) -> list[Page]:
    name, _ = split(link)
    found = (folder / each / f"{name}.md" for each in _FOLDERS)
    path = next((path for path in found if path.is_file()), None)
    if path is None:
        return []
    try:
        text = path.read_text("utf-8")
    except OSError:
        return []
    title = _HEADING.search(text)
    if _KEYS_HERE in text:
        lines = [f"| **{key}** | {words} |" for key, words in keys]
        text = text.replace(_KEYS_HERE, "\n".join(["| Key | What it does |", "|---|---|", *lines]))
    return [Page(name, title.group(1) if title is not None else name, section, text)]


def _excerpt(page: Page, words: list[str]) -> str:
    plain = page.plain.removeprefix(page.title).lstrip()
    place = min((at for at in (plain.lower().find(word) for word in words) if at >= 0), default=0)
    start = max(place - _AROUND, 0)
    start = plain.rfind(" ", 0, start) + 1 if start else 0
    end = place + 2 * _AROUND
    end = plain.rfind(" ", 0, end) if end < len(plain) else len(plain)
    return ("… " if start else "") + plain[start:end] + (" …" if end < len(plain) else "")
