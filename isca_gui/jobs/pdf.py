"""A report as a PDF file; it may be written in any thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QSizeF
from PySide6.QtGui import QFont, QPageLayout, QPageSize, QPdfWriter, QTextDocument

from isca_gui.core.comparison.printing import PAGE_WIDTH
from isca_gui.core.storage import files

if TYPE_CHECKING:
    import os

_MARGIN_MM = 15.0
_TEXT_SIZE = 9


def save_pdf(path: str | os.PathLike[str], title: str, text: str) -> None:
    """Write rich text as a PDF file of A4 pages, atomically."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setTitle(title)
    writer.setCreator("ISCA Studio")
    margins = QMarginsF(_MARGIN_MM, _MARGIN_MM, _MARGIN_MM, _MARGIN_MM)
    layout = QPageLayout(
        QPageSize(QPageSize.PageSizeId.A4),
        QPageLayout.Orientation.Portrait,
        margins,
        QPageLayout.Unit.Millimeter,
    )
    writer.setPageLayout(layout)
    document = QTextDocument()
    document.setDefaultFont(QFont("sans-serif", _TEXT_SIZE))
    document.setHtml(text)
    # The document is laid out in pixels of the screen and scaled to the page.
    page = writer.pageLayout().paintRect(QPageLayout.Unit.Point).size()
    document.setPageSize(QSizeF(PAGE_WIDTH, PAGE_WIDTH * page.height() / page.width()))
    document.print_(writer)
    del writer
    with files.replacing(path) as stream:
        stream.write(bytes(buffer.data().data()))
