"""What's This: each control explains itself by its own sentence, and leads to its page of the help.

There is no table of controls. A control belongs to the page that its panel or viewer is named after
(`train_panel` to `train`, `viewer-vote-map` to `vote-map`), at the place that bears its own name, if there is
one. A property `help` says otherwise.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QMenu, QWidget

from isca_gui.help.pages import CONTENTS, slug, split

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isca_gui.help.pages import Pages

LINK = "help:"  # begins the links in the texts
ELSEWHERE = "window"  # the page of all that has no other


def link_of(widget: QWidget, pages: Pages) -> str:
    """Give the link to what explains a widget."""
    name = _page_of(widget, pages)
    page = pages.get(name)
    anchor = next(
        (word for word in _names(widget) if page is not None and word in page.anchors), ""
    )
    return f"{name}#{anchor}" if anchor else name


def explain(root: QWidget, pages: Pages) -> None:
    """Give every control of a window, and all else that has a sentence, its text."""
    for widget in (root, *root.findChildren(QWidget)):
        focusable = widget.focusPolicy() != Qt.FocusPolicy.NoFocus
        if isinstance(widget, QMenu) or widget.objectName().startswith("qt_"):
            continue
        if focusable or widget.toolTip() or _own_page(widget, pages):
            widget.setWhatsThis(text_of(widget, pages))


def text_of(widget: QWidget, pages: Pages) -> str:
    """Give what a widget says of itself: its name, its sentence, why it is out of use, and a link."""
    link = link_of(widget, pages)
    page = pages.get(split(link)[0])
    title = widget.accessibleName() or (page.title if page is not None else "")
    sentences = dict.fromkeys(
        part.strip() for part in (widget.accessibleDescription(), widget.toolTip()) if part.strip()
    )
    own = list(sentences) or ([page.summary] if page is not None else [])
    lines = [f"<b>{html.escape(title.partition(':')[0])}</b>", *(html.escape(part) for part in own)]
    if page is not None:
        lines.append(f"<a href='{LINK}{link}'>More in the help: {html.escape(page.title)}</a>")
    return "".join(f"<p>{line}</p>" for line in lines)


def _own_page(widget: QWidget, pages: Pages) -> str:
    """Give the page that a widget is named after, or nothing."""
    wanted = widget.property("help")
    if isinstance(wanted, str) and split(wanted)[0] in pages:
        return split(wanted)[0]
    name = widget.objectName().removesuffix("_panel").removeprefix("viewer-").removeprefix("dock-")
    name = name.replace("_", "-")
    return name if name in pages and name != CONTENTS else ""


def _page_of(widget: QWidget, pages: Pages) -> str:
    above: QWidget | None = widget
    while above is not None:
        found = _own_page(above, pages)
        if found:
            return found
        above = above.parentWidget()
    return ELSEWHERE if ELSEWHERE in pages else CONTENTS


def _names(widget: QWidget) -> Iterator[str]:
    """Give the names under which a page may speak of a widget."""
    wanted = widget.property("help")
    if isinstance(wanted, str):
        yield split(wanted)[1]
    texts = [widget.accessibleName()]
    if isinstance(widget, QAbstractButton | QLabel):
        texts.append(widget.text())
    for text in texts:
        for part in (text, text.partition(":")[0], text.lower().removeprefix("show ")):
            if slug(part):
                yield slug(part)
