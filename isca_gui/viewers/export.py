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
from isca_gui.widgets.dialogs import may_write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from PySide6.QtCore import QSize

    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.session import Session

    Table = Sequence[Sequence[object]]  # the header first

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
    """Something that can be saved and copied, in each form it has; `name` proposes the file's name."""

    name: str
    title: str = "picture"
    image: Callable[[], QImage | None] | None = None
    svg: Callable[[], bytes] | None = None
    table: Callable[[], Table] | None = None
    text: Callable[[], str] | None = None
    of: Callable[[], str] | None = None  # which of several it is, known when it is saved

    def named(self) -> Exportable:
        """Give it under the name of what it is now."""
        of = self.of() if self.of is not None else ""
        return (
            replace(self, name=f"{self.name} {of}", title=f"{self.title} of {of}", of=None)
            if of
            else self
        )

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The kinds of file it can be saved as, the usual one first."""
        forms = {".png": self.image, ".svg": self.svg, ".csv": self.table, ".txt": self.text}
        return tuple(suffix for suffix, form in forms.items() if form is not None)


class Exporter(QObject):
    """Saves and copies things for one viewer."""

    def __init__(self, session: Session, jobs: JobRunner, parent: QWidget) -> None:
        super().__init__(parent)
        self._session, self._jobs, self._widget = session, jobs, parent

    def fill(self, menu: QMenu, things: Sequence[Exportable]) -> None:
        """Put the entries of some things into a menu."""
        for thing in things:
            copy = menu.addAction(f"Copy {thing.title}")
            copy.triggered.connect(_Call(self.copy, thing))
            forms = ", ".join(suffix[1:].upper() for suffix in thing.suffixes)
            save = menu.addAction(f"Save {thing.title}… ({forms})")
            save.triggered.connect(_Call(self.ask, thing))

    def menu(self, *things: Exportable) -> QMenu:
        """Make a menu that vanishes after use."""
        menu = QMenu(self._widget)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.fill(menu, things)
        return menu

    def button(self, *things: Exportable, text: str = "Export") -> QToolButton:
        """Make a button with the menu."""
        button = QToolButton(self._widget)
        button.setText(text)
        button.setAccessibleName(f"{text} {', '.join(thing.title for thing in things)}")
        button.setToolTip("Copy to the clipboard, or save to a file")
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(button)
        self.fill(menu, things)
        button.setMenu(menu)
        return button

    def ask(self, thing: Exportable) -> None:
        """Ask for a file and save what is seen now, whatever is seen when the file is named."""
        thing = thing.named()
        try:
            contents = {suffix: _writer(thing, suffix) for suffix in thing.suffixes}
        except ExportError as error:
            self._session.say("warning", str(error))
            return
        dialog = QFileDialog(self._widget, f"Save {thing.title}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters([FILTERS[suffix] for suffix in thing.suffixes])
        dialog.selectFile(safe_name(thing.name) + thing.suffixes[0])
        dialog.fileSelected.connect(
            lambda path: self._on_named(
                thing, path, _suffix(thing, dialog.selectedNameFilter()), contents
            )
        )
        dialog.open()

    def _on_named(
        self,
        thing: Exportable,
        chosen: str,
        suffix: str,
        contents: Mapping[str, Callable[[], bytes]],
    ) -> None:
        path = chosen if Path(chosen).suffix.lower() in contents else f"{chosen}{suffix}"
        if may_write(self._widget, f"Save {thing.title}", path, chosen):
            self._save(thing, path, contents)

    def save(self, thing: Exportable, path: str | os.PathLike[str]) -> None:
        """Save in the form that the file's suffix names; the writing is a job."""
        thing, suffix = thing.named(), Path(path).suffix.lower()
        form = suffix if suffix in thing.suffixes else thing.suffixes[0]
        try:
            self._save(thing, path, {form: _writer(thing, form)})
        except ExportError as error:
            self._session.say("warning", str(error))

    def _save(
        self,
        thing: Exportable,
        path: str | os.PathLike[str],
        contents: Mapping[str, Callable[[], bytes]],
    ) -> None:
        suffix = Path(path).suffix.lower()
        if suffix not in contents:
            path, suffix = f"{os.fspath(path)}{thing.suffixes[0]}", thing.suffixes[0]
        target, say, work = os.fspath(path), self._session.say, contents[suffix]

        def write() -> None:
            content = work()
            try:
                with files.replacing(target) as stream:
                    stream.write(content)
            except OSError as error:  # its own words name a file that nobody has asked for
                reason = error.strerror or str(error)
                raise ExportError(
                    f"Cannot write '{target}': {reason}. Choose another place."
                ) from error

        title = f"Saving {thing.title} to '{target}'"
        self._jobs.run(
            f"export {target}", title, write,
            done=lambda _: say("info", f"The {thing.title} was saved as '{target}'."), writes=True,
        )  # fmt: skip

    def copy(self, thing: Exportable) -> None:
        """Put a thing on the clipboard: pictures as pictures, tables and texts as text."""
        thing, clipboard = thing.named(), QGuiApplication.clipboard()
        try:
            if thing.table is not None:
                clipboard.setText(tabbed(_table(thing)))
            elif thing.text is not None:
                clipboard.setText(_text(thing))
            elif thing.image is not None:
                clipboard.setImage(_image(thing))
        except ExportError as error:
            self._session.say("warning", str(error))
            return
        self._session.say("info", f"The {thing.title} is on the clipboard.")


def _suffix(thing: Exportable, wanted: str) -> str:
    """Give the ending that a filter of the dialog stands for, however the system's own dialog words it."""
    return next((each for each in thing.suffixes if f"*{each}" in wanted), thing.suffixes[0])


class _Call:
    """Calls with a thing and, where the signal brings a file's name, with that."""

    def __init__(self, work: Callable[..., None], thing: Exportable) -> None:
        self._work, self._thing = work, thing

    def __call__(self, *arguments: object) -> None:
        self._work(self._thing, *(each for each in arguments if isinstance(each, str)))


def _writer(thing: Exportable, suffix: str) -> Callable[[], bytes]:
    """Fetch what is to be written, now; give what turns it into bytes, later and in another thread."""
    if suffix == ".png":
        image = _image(thing)
        return lambda: png(image)
    if suffix == ".svg" and thing.svg is not None:
        drawing = thing.svg()
        return lambda: drawing
    if suffix == ".csv":
        table = [tuple(row) for row in _table(thing)]
        return lambda: comma_separated(table).encode(
            "utf-8", "backslashreplace"
        )  # names may be any bytes
    text = _text(thing)
    return lambda: text.encode("utf-8", "backslashreplace")


def _image(thing: Exportable) -> QImage:
    image = thing.image() if thing.image is not None else None
    if image is None:
        raise ExportError(f"There is no {thing.title} to save yet.")
    return image


def _table(thing: Exportable) -> Table:
    table = thing.table() if thing.table is not None else ()
    if len(table) < 2:  # nothing below the header
        raise ExportError(f"There is no {thing.title} to save yet.")
    return table


def _text(thing: Exportable) -> str:
    text = thing.text() if thing.text is not None else ""
    if not text:
        raise ExportError(f"There is no {thing.title} to save yet.")
    return text


def png(image: QImage) -> bytes:
    """Encode an image."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())


def drawn_svg(title: str, size: QSize, paint: Callable[[QPainter], None]) -> bytes:
    """Draw as SVG what a function paints."""
    from PySide6.QtSvg import QSvgGenerator

    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(size)
    generator.setViewBox(QRect(0, 0, size.width(), size.height()))
    dots = QGuiApplication.primaryScreen().logicalDotsPerInch()
    generator.setResolution(round(dots))  # else text has another size than on the screen
    generator.setTitle(title)
    painter = QPainter(generator)
    # Text takes its colour from the last change of the pen; black, which the first pen is, would be none.
    painter.setPen(QColor("white"))
    paint(painter)
    painter.end()
    return bytes(buffer.data().data())


def comma_separated(table: Table) -> str:
    """Write a table as CSV (RFC 4180)."""
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows(table)
    return stream.getvalue()


def tabbed(table: Table) -> str:
    """Write a table as spreadsheets take it from the clipboard."""
    return "\n".join("\t".join(str(cell).replace("\t", " ") for cell in row) for row in table)


def safe_name(name: str) -> str:
    """Turn a title into a file's name that every system takes."""
    kept = "".join(letter if letter.isalnum() or letter in " -_." else "-" for letter in name)
    return kept.strip(" .")[:80] or "export"


def plot_thing(name: str, item: Any) -> Exportable:
    """Describe a plot of pyqtgraph."""
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
