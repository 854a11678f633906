"""The help viewer: pages with links, a list at the side, back and forward, and a search."""

from __future__ import annotations

import functools
import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QModelIndex, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QKeySequence,
    QShortcut,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
)
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QSplitter,
    QTextBrowser,
    QToolButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from isca_gui.help import pages as help_pages
from isca_gui.help.pages import CONTENTS, Pages, slug, split
from isca_gui.widgets import theme
from isca_gui.widgets.step_frame import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from PySide6.QtCore import QUrl
    from PySide6.QtGui import QResizeEvent, QShowEvent

# Links such as action:tour run an action instead of opening a page.
ACTION = "action"
_SEARCH = "search:"
# In a viewer narrower than this, in pixels, the list of pages is hidden.
_NARROW = 560
_LIST_WIDTH = 225
# The space above blocks by heading level; 0 is a paragraph.
_TOP_MARGINS = {0: 2, 1: 0, 2: 16}
_NAME = Qt.ItemDataRole.UserRole


@dataclass
class _Place:
    """An entry of the history: a page or a search, and how far it was scrolled."""

    link: str
    scrolled: int = 0


class HelpPage(QWidget):
    """Shows the help pages, which are read when they are first needed."""

    # The name in a link of the form action:NAME.
    action_requested = Signal(str)

    def __init__(self, keys: Iterable[tuple[str, str]] = (), parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("help")
        self._keys = tuple(keys)
        self._history: list[_Place] = []
        self._at = -1
        # The items of the list by the names of their pages.
        self._items: dict[str, QTreeWidgetItem] = {}
        self.line = QLineEdit(self)
        self.line.setPlaceholderText("Search the help")
        self.line.setClearButtonEnabled(True)
        describe(self.line, "Search the help", "List the pages that contain all of these words.")
        self.back_button = self._button("◀", "Back", "Previous page (Alt+Left).", self.back)
        self.forward_button = self._button("▶", "Forward", "Next page (Alt+Right).", self.forward)
        self.contents_button = self._button("Contents", "Contents", "List of all pages.", self.open)
        self.list = _list(self)
        self.browser = _browser(self)
        self._splitter = QSplitter(Qt.Orientation.Horizontal, self)
        self._splitter.addWidget(self.list)
        self._splitter.addWidget(self.browser)
        self._splitter.setStretchFactor(1, 1)
        self._splitter.setSizes([_LIST_WIDTH, 600])
        self._splitter.setChildrenCollapsible(False)
        self._lay_out()
        self.line.textChanged.connect(self._on_text_changed)
        self.list.currentItemChanged.connect(self._on_item_chosen)
        self.browser.anchorClicked.connect(self._on_link)

    @functools.cached_property
    def pages(self) -> Pages:
        """All pages."""
        pages = help_pages.read(self._keys)
        sections: dict[str, QTreeWidgetItem] = {}
        for page in pages:
            if page.name == CONTENTS:
                continue
            if page.section not in sections:
                head = QTreeWidgetItem([page.section])
                head.setFlags(Qt.ItemFlag.ItemIsEnabled)
                font = head.font(0)
                font.setBold(True)
                head.setFont(0, font)
                self.list.addTopLevelItem(head)
                sections[page.section] = head
            item = QTreeWidgetItem([page.title])
            item.setData(0, _NAME, page.name)
            item.setSizeHint(0, QSize(0, self.fontMetrics().height() + 6))
            sections[page.section].addChild(item)
            self._items[page.name] = item
        self.list.expandAll()
        return pages

    @property
    def link(self) -> str:
        """The link of the page shown."""
        return self._history[self._at].link if self._history else ""

    # --- navigation -------------------------------------------------------------------------------

    def open(self, link: str = CONTENTS) -> None:
        """Show a page, at an anchor if the link has one; show the contents if it is unknown."""
        name, anchor = split(link)
        page = self.pages.get(name)
        if page is None:
            self._go(CONTENTS)
        elif anchor in page.anchors:
            self._go(f"{name}#{anchor}")
        else:
            self._go(name)

    def back(self) -> None:
        """Show the previous page."""
        self._step(-1)

    def forward(self) -> None:
        """Show the page that was left by `back`."""
        self._step(1)

    def toPlainText(self) -> str:
        """Return the text of the current page."""
        return self.browser.toPlainText()

    def _go(self, link: str) -> None:
        if link == self.link:
            self._show(self._history[self._at])
            return
        self._remember_scrolling()
        # Every letter typed is a new search, but only the last one stays in the history.
        same_search = link.startswith(_SEARCH) and self.link.startswith(_SEARCH)
        keep = self._at if same_search else self._at + 1
        del self._history[keep:]
        self._history.append(_Place(link))
        self._at = len(self._history) - 1
        self._show(self._history[self._at])

    def _step(self, step: int) -> None:
        if 0 <= self._at + step < len(self._history):
            self._remember_scrolling()
            self._at += step
            self._show(self._history[self._at], again=True)

    def _remember_scrolling(self) -> None:
        if self._history:
            self._history[self._at].scrolled = self.browser.verticalScrollBar().value()

    def _show(self, place: _Place, again: bool = False) -> None:
        """Show a page or the results of a search; `again` restores how far it was scrolled."""
        words = ""
        if place.link.startswith(_SEARCH):
            words = place.link.removeprefix(_SEARCH)
        name, anchor = split(place.link)
        page = self.pages.get(name)
        if words:
            self.browser.setDocument(_document(self._results(words), self.browser, html_=True))
        elif page is not None:
            self.browser.setDocument(_document(page.text, self.browser, anchor))
        self._select("" if words else name, words)
        bar = self.browser.verticalScrollBar()
        if again and (place.scrolled or not anchor):
            bar.setValue(place.scrolled)
        elif anchor:
            self.browser.scrollToAnchor(anchor)
        else:
            bar.setValue(0)
        self.back_button.setEnabled(self._at > 0)
        self.forward_button.setEnabled(self._at < len(self._history) - 1)

    # --- the list and the search ------------------------------------------------------------------

    def _select(self, name: str, words: str) -> None:
        """Select the current page in the list, and show the current search in the line."""
        if words != self.line.text().strip():
            self.line.blockSignals(True)
            self.line.setText(words)
            self.line.blockSignals(False)
        self.list.blockSignals(True)
        # Without a selection each page can be chosen again.
        self.list.setCurrentIndex(QModelIndex())
        if name in self._items:
            self.list.setCurrentItem(self._items[name])
        self.list.blockSignals(False)

    def _on_item_chosen(self, item: QTreeWidgetItem | None) -> None:
        name = item.data(0, _NAME) if item is not None else None
        if name:
            self.open(name)

    def _on_text_changed(self, text: str) -> None:
        if text.strip():
            self._go(f"{_SEARCH}{text.strip()}")
        elif self.link.startswith(_SEARCH):
            if self._at > 0:
                self.back()
            else:
                self.open(CONTENTS)

    def _results(self, words: str) -> str:
        found = self.pages.search(words)
        if not found:
            return f"<h2>No page contains “{html.escape(words)}”</h2><p>Try a shorter word.</p>"
        lines = "".join(
            f"<p><a href='{each.page.name}'><b>{html.escape(each.page.title)}</b></a><br>"
            f"{html.escape(each.excerpt)}</p>"
            for each in found
        )
        count = "1 page" if len(found) == 1 else f"{len(found)} pages"
        return f"<h2>“{html.escape(words)}”: {count}</h2>{lines}"

    def _on_link(self, url: QUrl) -> None:
        if url.scheme() == ACTION:
            self.action_requested.emit(url.path())
        elif not url.scheme():
            self.open(url.toString())

    # --- appearance -------------------------------------------------------------------------------

    def _button(
        self, text: str, name: str, sentence: str, action: Callable[[], object]
    ) -> QToolButton:
        made = QToolButton(self)
        made.setText(text)
        describe(made, name, sentence)
        made.clicked.connect(lambda: action())
        return made

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        for widget in (self.back_button, self.forward_button, self.contents_button):
            top.addWidget(widget)
        top.addWidget(self.line, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addLayout(top)
        layout.addWidget(self._splitter, 1)
        keys = QKeySequence.StandardKey
        for key, action in ((keys.Back, self.back), (keys.Forward, self.forward)):
            shortcut = QShortcut(QKeySequence(key), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(action)

    def showEvent(self, event: QShowEvent) -> None:
        """Show the contents at first."""
        super().showEvent(event)
        if not self._history:
            self.open(CONTENTS)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the list in a narrow viewer."""
        super().resizeEvent(event)
        self.list.setVisible(self.width() >= _NARROW)

    def changeEvent(self, event: QEvent) -> None:
        """Show the page again in the colours of the new theme, which are part of the document."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._history:
            self._remember_scrolling()
            self._show(self._history[self._at], again=True)

    def minimumSizeHint(self) -> QSize:
        """Fit into any dock."""
        return QSize(200, 100)


def _list(parent: QWidget) -> QTreeWidget:
    made = QTreeWidget(parent)
    made.setHeaderHidden(True)
    made.setRootIsDecorated(False)
    made.setItemsExpandable(False)
    made.setIndentation(10)
    made.setMinimumWidth(140)
    made.setMaximumWidth(260)
    describe(made, "Help pages", "Choose a page.")
    return made


def _browser(parent: QWidget) -> QTextBrowser:
    made = QTextBrowser(parent)
    made.setOpenLinks(False)
    made.setOpenExternalLinks(False)
    made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    describe(made, "Help", "How to use the program.")
    return made


def _document(
    text: str, browser: QTextBrowser, marked: str = "", html_: bool = False
) -> QTextDocument:
    """Return a document of a page; made apart from the browser, it is laid out only once."""
    made = QTextDocument(browser)
    made.setDefaultFont(browser.font())
    made.setDocumentMargin(14)
    if html_:
        made.setHtml(text)
    else:
        made.setMarkdown(text)
        _format_page(made, marked)
    old = browser.document()
    if old.parent() is browser:
        old.deleteLater()
    return made


def _format_page(document: QTextDocument, marked: str) -> None:
    """Set the anchors of a page and the spacing of headings, lines and tables."""
    shades = theme.shades()
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    block = document.begin()
    while block.isValid():
        cursor.setPosition(block.position())
        look = QTextBlockFormat()
        level = block.blockFormat().headingLevel()
        inside = cursor.currentTable() is not None
        if not inside:
            look.setTopMargin(_TOP_MARGINS.get(level, 12))
            look.setBottomMargin(6)
        else:
            look.setTopMargin(0)
            look.setBottomMargin(0)
        if _is_code(block):
            # Every line of an example is a block of its own: only the last is followed by a gap.
            look.setTopMargin(0)
            look.setBottomMargin(0 if _is_code(block.next()) else 10)
            look.setLeftMargin(12)
        look.setLineHeight(118, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        cursor.mergeBlockFormat(look)
        places = [(block.position(), block.text())] if level else _bold(block)
        _set_anchors(cursor, places, marked)
        block = block.next()
    for frame in document.rootFrame().childFrames():
        if isinstance(frame, QTextTable):
            _format_table(frame, shades)
    cursor.endEditBlock()


def _is_code(block: QTextBlock) -> bool:
    """Whether a block is a line of a fenced example."""
    return block.blockFormat().hasProperty(QTextFormat.Property.BlockCodeFence)


def _bold(block: object) -> list[tuple[int, str]]:
    """Return position and text of everything in bold in a block."""
    found = []
    for part in block:  # type: ignore[attr-defined]
        fragment = part.fragment()
        if fragment.charFormat().fontWeight() >= 600:
            found.append((fragment.position(), fragment.text()))
    return found


def _set_anchors(cursor: QTextCursor, places: list[tuple[int, str]], marked: str) -> None:
    """Make headings and bold text the anchors of links, and highlight the anchor `marked`."""
    for place, words in places:
        look = QTextCharFormat()
        look.setAnchor(True)
        look.setAnchorNames([slug(words)])
        if slug(words) == marked:
            look.setBackground(QColor(theme.shades().border))
        cursor.setPosition(place)
        cursor.setPosition(place + len(words), QTextCursor.MoveMode.KeepAnchor)
        cursor.mergeCharFormat(look)


def _format_table(table: QTextTable, shades: theme.Shades) -> None:
    look = table.format().toTableFormat()
    look.setBorder(1)
    look.setBorderCollapse(True)
    look.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    look.setBorderBrush(QBrush(QColor(shades.border)))
    look.setCellPadding(5)
    look.setCellSpacing(0)
    look.setTopMargin(4)
    look.setBottomMargin(10)
    look.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
    table.setFormat(look)
    for column in range(table.columns()):
        cell = table.cellAt(0, column)
        head = cell.format()
        head.setBackground(QColor(shades.window))
        cell.setFormat(head)
