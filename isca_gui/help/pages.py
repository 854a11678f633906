"""The help pages: Markdown files, their links, and a search over them.

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

# The page that lists all others, in their order.
CONTENTS = "index"
# Replaced by the table of keyboard shortcuts.
_KEYS_HERE = "{keys}"
_FOLDERS = ("help", "reference")
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_BOLD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
# Characters shown on both sides of a search hit.
_AROUND = 70
_MISSING = (
    "# Help\n\nThe help pages are missing because this installation is incomplete. "
    "Reinstall the program."
)
_MARKUP = re.compile(r"[*`]|^#+ |^\|[-| ]+\|$|^- |\|", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """One page: its name is that of its file, its section a heading of the contents."""

    name: str
    title: str
    section: str
    text: str

    @functools.cached_property
    def plain(self) -> str:
        """The text without markup and line breaks."""
        return " ".join(_MARKUP.sub(" ", _LINK.sub(r"\1", self.text)).split())

    @functools.cached_property
    def anchors(self) -> frozenset[str]:
        """The places that links can lead to: headings and everything in bold."""
        # A comment in an example begins like a heading.
        text = _CODE.sub("", self.text)
        return frozenset(
            slug(found) for pattern in (_HEADING, _BOLD) for found in pattern.findall(text)
        )

    @property
    def links(self) -> tuple[str, ...]:
        """The targets of the links on the page."""
        return tuple(target for _, target in _LINK.findall(self.text))

    @property
    def summary(self) -> str:
        """The first paragraph below the title, as plain text."""
        for part in self.text.split("\n\n"):
            if not part.lstrip().startswith(("#", "|")):
                return " ".join(_MARKUP.sub("", _LINK.sub(r"\1", part)).split())
        return ""


@dataclass(frozen=True)
class SearchHit:
    """A page that contains all the words, and the text around the first of them."""

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
        """Return the page of a name, or None."""
        return self._pages.get(name)

    def resolves(self, link: str) -> bool:
        """Whether a link such as `numbers.md#mse` leads to a page and an anchor on it."""
        name, anchor = split(link)
        page = self._pages.get(name)
        return page is not None and (not anchor or anchor in page.anchors)

    def search(self, text: str) -> list[SearchHit]:
        """Return the pages that contain all words, those with the words in the title first."""
        words = text.lower().split()
        found = []
        for page in self._pages.values():
            low = page.plain.lower()
            if words and page.name != CONTENTS and all(word in low for word in words):
                in_title = sum(word in page.title.lower() for word in words)
                in_anchors = sum(slug(word) in anchor for word in words for anchor in page.anchors)
                count = sum(low.count(word) for word in words)
                rank = (-in_title, -bool(in_anchors), -count)
                found.append((rank, SearchHit(page, _excerpt(page, words))))
        return [hit for _, hit in sorted(found, key=lambda pair: pair[0])]


def slug(text: str) -> str:
    """Return the name of a heading in links: `Error at U` becomes `error-at-u`."""
    return "-".join(re.findall(r"\w+", text.lower()))


def split(link: str) -> tuple[str, str]:
    """Return the page and the anchor of a link.

    `train`, `train#solver`, `train.md#solver` and `../help/train.md#solver` all lead to `train`.
    """
    path, _, anchor = link.partition("#")
    return path.rpartition("/")[2].removesuffix(".md"), anchor


def read(keys: Iterable[tuple[str, str]] = ()) -> Pages:
    """Return all pages; a missing file leaves its page out and never stops the program."""
    contents = resources.find(f"help/{CONTENTS}.md")
    if contents is None:
        return Pages([Page(CONTENTS, "Help", "", _MISSING)])
    text = contents.read_text("utf-8")
    pages = [Page(CONTENTS, "Contents", "", text)]
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ").strip()
        link = _LINK.search(line)
        if link is not None and line.startswith("- "):
            pages += _page(contents.parent.parent, link.group(2), section, keys)
    return Pages(pages)


def _page(folder: Path, link: str, section: str, keys: Iterable[tuple[str, str]]) -> list[Page]:
    """Return the page that a link of the contents leads to, or nothing if its file is missing."""
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
    places = [plain.lower().find(word) for word in words]
    place = min((each for each in places if each >= 0), default=0)
    # Both ends are moved to the nearest space, so that no word is cut.
    start = 0
    before = ""
    if place > _AROUND:
        start = plain.rfind(" ", 0, place - _AROUND) + 1
        before = "… " if start else ""
    end = len(plain)
    after = ""
    if place + 2 * _AROUND < end:
        end = plain.rfind(" ", 0, place + 2 * _AROUND)
        after = " …"
    return f"{before}{plain[start:end]}{after}"
