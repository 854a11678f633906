"""What's This: the text of a control is its own description with a link to its help page.

There is no table of controls. A control belongs to the page that its panel or viewer is named after
(`train_panel` to `train`, `viewer-vote-map` to `vote-map`), at the anchor with its own name if
there is one. The property `help` of a widget overrides this.
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

# Prefix of links in What's This texts.
LINK = "help:"
# The page for controls that belong to no other.
ELSEWHERE = "window"


def link_of(widget: QWidget, pages: Pages) -> str:
    """Return the link to the help about a widget."""
    name = _page_of(widget, pages)
    page = pages.get(name)
    if page is not None:
        for anchor in _names(widget):
            if anchor in page.anchors:
                return f"{name}#{anchor}"
    return name


def explain(root: QWidget, pages: Pages) -> None:
    """Set the What's This text of every control of a window and of all that has a tooltip."""
    for widget in (root, *root.findChildren(QWidget)):
        focusable = widget.focusPolicy() != Qt.FocusPolicy.NoFocus
        if isinstance(widget, QMenu) or widget.objectName().startswith("qt_"):
            continue
        if focusable or widget.toolTip() or _own_page(widget, pages):
            widget.setWhatsThis(text_of(widget, pages))


def text_of(widget: QWidget, pages: Pages) -> str:
    """Return the text of a widget: name, description, why it is disabled, and a link."""
    link = link_of(widget, pages)
    page = pages.get(split(link)[0])
    title = widget.accessibleName() or (page.title if page is not None else "")
    # The tooltip differs from the description where it gives the reason for being disabled.
    parts = (widget.accessibleDescription().strip(), widget.toolTip().strip())
    sentences = [part for part in dict.fromkeys(parts) if part]
    if not sentences and page is not None:
        sentences = [page.summary]
    lines = [f"<b>{html.escape(title.partition(':')[0])}</b>", *map(html.escape, sentences)]
    if page is not None:
        lines.append(f"<a href='{LINK}{link}'>More in the help: {html.escape(page.title)}</a>")
    return "".join(f"<p>{line}</p>" for line in lines)


def _own_page(widget: QWidget, pages: Pages) -> str:
    """Return the page that a widget is named after, or an empty text."""
    wanted = widget.property("help")
    if isinstance(wanted, str) and split(wanted)[0] in pages:
        return split(wanted)[0]
    name = widget.objectName().removesuffix("_panel").removeprefix("viewer-").removeprefix("dock-")
    name = name.replace("_", "-")
    if name == CONTENTS or name not in pages:
        return ""
    return name


def _page_of(widget: QWidget, pages: Pages) -> str:
    """Return the page of a widget or of the nearest parent that has one."""
    above: QWidget | None = widget
    while above is not None:
        found = _own_page(above, pages)
        if found:
            return found
        above = above.parentWidget()
    return ELSEWHERE if ELSEWHERE in pages else CONTENTS


def _names(widget: QWidget) -> Iterator[str]:
    """Yield the anchors under which a page may describe a widget."""
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
