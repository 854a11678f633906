"""Saving and copying of every picture, plot and table: one menu used by all viewers."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QIODevice, QObject, QRect, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter
from PySide6.QtWidgets import QFileDialog, QMenu, QToolButton, QWidget

from isca_gui.core.storage import files
from isca_gui.jobs.names import JobName
from isca_gui.widgets.dialogs import may_write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from PySide6.QtCore import QSize

    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.session import Session

    Table = Sequence[Sequence[object]]  # the header first
    Encoders = Mapping[str, Callable[[], bytes]]  # by the suffix of the file

FILTERS = {
    ".png": "PNG picture (*.png)",
    ".svg": "SVG drawing (*.svg)",
    ".csv": "CSV table (*.csv)",
    ".txt": "Text (*.txt)",
}


class ExportError(Exception):
    """Nothing could be saved; the message says why and what to do."""


@dataclass(frozen=True)
class Exportable:
    """Something that can be saved and copied, in each format it has.

    `name` suggests the file's name, `title` says in menus and messages what it is. Where one of
    several is meant, `which` names it at the moment of saving.
    """

    name: str
    title: str = "picture"
    image: Callable[[], QImage | None] | None = None
    svg: Callable[[], bytes] | None = None
    table: Callable[[], Table] | None = None
    text: Callable[[], str] | None = None
    which: Callable[[], str] | None = None

    def resolved(self) -> Exportable:
        """Return it with the name and title of what it is at this moment."""
        if self.which is None or not (which := self.which()):
            return self
        return replace(
            self, name=f"{self.name} {which}", title=f"{self.title} of {which}", which=None
        )

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes of the files it can be saved as, the preferred one first."""
        formats = {".png": self.image, ".svg": self.svg, ".csv": self.table, ".txt": self.text}
        return tuple(suffix for suffix, content in formats.items() if content is not None)


class Exporter(QObject):
    """Saves and copies for one viewer."""

    def __init__(self, session: Session, jobs: JobRunner, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self._jobs = jobs
        self._widget = parent

    def add_actions(self, menu: QMenu, items: Sequence[Exportable]) -> None:
        """Add the actions for some exportables to a menu."""
        for item in items:
            copy = menu.addAction(f"Copy {item.title}")
            copy.triggered.connect(lambda _, item=item: self.copy(item))
            formats = ", ".join(suffix[1:].upper() for suffix in item.suffixes)
            save = menu.addAction(f"Save {item.title}… ({formats})")
            save.triggered.connect(lambda _, item=item: self.save_as(item))

    def menu(self, *items: Exportable) -> QMenu:
        """Make a menu that is deleted after use."""
        menu = QMenu(self._widget)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.add_actions(menu, items)
        return menu

    def button(self, *items: Exportable, text: str = "Export") -> QToolButton:
        """Make a button with the menu."""
        button = QToolButton(self._widget)
        button.setText(text)
        button.setAccessibleName(f"{text} {', '.join(item.title for item in items)}")
        button.setToolTip("Copy to the clipboard, or save to a file")
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(button)
        self.add_actions(menu, items)
        button.setMenu(menu)
        return button

    def save_as(self, item: Exportable) -> None:
        """Ask for a file and save there what is seen now."""
        item = item.resolved()
        # The content is fetched before the dialog opens: the viewer may show something else
        # by the time a file has been chosen.
        try:
            encoders = {suffix: _encoder(item, suffix) for suffix in item.suffixes}
        except ExportError as error:
            self._session.say("warning", str(error))
            return
        dialog = QFileDialog(self._widget, f"Save {item.title}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters([FILTERS[suffix] for suffix in item.suffixes])
        dialog.selectFile(safe_name(item.name) + item.suffixes[0])

        def on_selected(path: str) -> None:
            suffix = _suffix_of_filter(item, dialog.selectedNameFilter())
            self._on_file_selected(item, path, suffix, encoders)

        dialog.fileSelected.connect(on_selected)
        dialog.open()

    def _on_file_selected(
        self, item: Exportable, chosen: str, suffix: str, encoders: Encoders
    ) -> None:
        path = chosen
        if Path(chosen).suffix.lower() not in encoders:
            path = f"{chosen}{suffix}"
        if may_write(self._widget, f"Save {item.title}", path, chosen):
            self._save(item, path, encoders)

    def save(self, item: Exportable, path: str | os.PathLike[str]) -> None:
        """Save in the format that the file's suffix names; the writing is a job."""
        item = item.resolved()
        suffix = Path(path).suffix.lower()
        if suffix not in item.suffixes:
            suffix = item.suffixes[0]
        try:
            self._save(item, path, {suffix: _encoder(item, suffix)})
        except ExportError as error:
            self._session.say("warning", str(error))

    def _save(self, item: Exportable, path: str | os.PathLike[str], encoders: Encoders) -> None:
        target = os.fspath(path)
        suffix = Path(target).suffix.lower()
        if suffix not in encoders:
            suffix = item.suffixes[0]
            target = f"{target}{suffix}"
        encode = encoders[suffix]

        def write() -> None:
            content = encode()
            try:
                with files.replacing(target) as stream:
                    stream.write(content)
            except OSError as error:
                # The error's own text names the temporary file, which the user has never heard of.
                reason = error.strerror or str(error)
                message = f"Cannot write '{target}': {reason}. Choose another place."
                raise ExportError(message) from error

        def on_written(_: None) -> None:
            self._session.say("info", f"Saved {item.title} as '{target}'.")

        title = f"Saving {item.title} to '{target}'"
        self._jobs.run(JobName.EXPORT.of(target), title, write, done=on_written, writes=True)

    def copy(self, item: Exportable) -> None:
        """Copy to the clipboard: pictures as pictures, tables and texts as text."""
        item = item.resolved()
        clipboard = QGuiApplication.clipboard()
        try:
            if item.table is not None:
                clipboard.setText(tab_separated(_table(item)))
            elif item.text is not None:
                clipboard.setText(_text(item))
            elif item.image is not None:
                clipboard.setImage(_image(item))
        except ExportError as error:
            self._session.say("warning", str(error))
            return
        self._session.say("info", f"Copied {item.title} to the clipboard.")


def _suffix_of_filter(item: Exportable, name_filter: str) -> str:
    """Return the suffix a dialog's filter stands for, however the system's own dialog words it."""
    return next((each for each in item.suffixes if f"*{each}" in name_filter), item.suffixes[0])


def _encoder(item: Exportable, suffix: str) -> Callable[[], bytes]:
    """Fetch the content now and return a function that encodes it later, in any thread."""
    if suffix == ".png":
        image = _image(item)
        return lambda: png(image)
    if suffix == ".svg" and item.svg is not None:
        drawing = item.svg()
        return lambda: drawing
    # File names may hold bytes that are no text, which Python keeps as lone surrogates.
    if suffix == ".csv":
        table = [tuple(row) for row in _table(item)]
        return lambda: comma_separated(table).encode("utf-8", "backslashreplace")
    text = _text(item)
    return lambda: text.encode("utf-8", "backslashreplace")


def _image(item: Exportable) -> QImage:
    image = item.image() if item.image is not None else None
    if image is None:
        raise _nothing_to_save(item)
    return image


def _table(item: Exportable) -> Table:
    table = item.table() if item.table is not None else ()
    # A table of one row has only its header.
    if len(table) < 2:
        raise _nothing_to_save(item)
    return table


def _text(item: Exportable) -> str:
    text = item.text() if item.text is not None else ""
    if not text:
        raise _nothing_to_save(item)
    return text


def _nothing_to_save(item: Exportable) -> ExportError:
    return ExportError(f"Nothing to save yet ({item.title}).")


def png(image: QImage) -> bytes:
    """Encode an image as PNG."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())


def drawn_svg(title: str, size: QSize, paint: Callable[[QPainter], None]) -> bytes:
    """Return as SVG what a function paints."""
    from PySide6.QtSvg import QSvgGenerator

    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(size)
    generator.setViewBox(QRect(0, 0, size.width(), size.height()))
    # At another resolution than the screen's, text would have another size than on the screen.
    dots = QGuiApplication.primaryScreen().logicalDotsPerInch()
    generator.setResolution(round(dots))
    generator.setTitle(title)
    painter = QPainter(generator)
    # Qt writes the colour of text only when the pen changes. The first pen is black, so setting
    # black would be no change and the text would have no colour.
    painter.setPen(QColor("white"))
    paint(painter)
    painter.end()
    return bytes(buffer.data().data())


def comma_separated(table: Table) -> str:
    """Return a table as CSV (RFC 4180)."""
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows(table)
    return stream.getvalue()


def tab_separated(table: Table) -> str:
    """Return a table as spreadsheets accept it from the clipboard."""
    return "\n".join("\t".join(str(cell).replace("\t", " ") for cell in row) for row in table)


def safe_name(name: str) -> str:
    """Return a title as a file name that every system accepts."""
    kept = "".join(letter if letter.isalnum() or letter in " -_." else "-" for letter in name)
    return kept.strip(" .")[:80] or "export"


def exportable_plot(name: str, item: Any) -> Exportable:
    """Return a pyqtgraph plot as an exportable."""
    return Exportable(name, "plot", image=lambda: plot_image(item), svg=lambda: plot_svg(item))


def plot_image(item: Any) -> QImage:
    """Draw a plot at twice its size on the screen."""
    from pyqtgraph.exporters import ImageExporter

    exporter = ImageExporter(item)
    exporter.parameters()["width"] = max(int(exporter.parameters()["width"]) * 2, 2)
    image: QImage = exporter.export(toBytes=True)
    return image


def plot_svg(item: Any) -> bytes:
    """Draw a plot as SVG."""
    from pyqtgraph.exporters import SVGExporter

    return bytes(SVGExporter(item).export(toBytes=True))
