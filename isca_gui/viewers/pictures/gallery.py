"""A dataset as a table of small pictures: kinds in rows, levels in columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPixmap
from PySide6.QtWidgets import QHeaderView, QTableView

from isca_gui.core.progress import Progress
from isca_gui.core.settings import number_text
from isca_gui.viewers.canvas.layers import scaled_thumbnail
from isca_gui.widgets import theme

if TYPE_CHECKING:
    from collections.abc import Generator

    from PySide6.QtCore import QObject
    from PySide6.QtGui import QImage, QKeyEvent
    from PySide6.QtWidgets import QWidget

    from isca_gui.core.distortion.dataset import Dataset

    Index = QModelIndex | QPersistentModelIndex

SIDE = 64
_WIDEST_NAME = 220  # pixels; labels of imported folders can be long
_AT_ONCE = 8


def thumbnails(dataset: Dataset, side: int = SIDE) -> Generator[Progress, None, list[QImage]]:
    """Make a small picture of every picture of a dataset."""
    made: list[QImage] = []
    for picture in dataset.pictures:
        made.append(scaled_thumbnail(picture, 2 * side))
        if len(made) % _AT_ONCE == 0:
            yield Progress(len(made), len(dataset.pictures), "thumbnails")
    return made


def _levels(dataset: Dataset) -> tuple[float, ...]:
    """Give the levels if every picture has a place of its own among them; a folder may hold more."""
    levels = dataset.spec.levels if dataset.spec is not None else ()
    entries = [(entry.label, entry.target_mse) for entry in dataset.entries[1:]]
    missed = [(each.kind, each.target_mse) for each in dataset.unreachable]
    places = [*entries, *missed]
    return (
        levels
        if len(set(places)) == len(places) and {mse for _, mse in places} <= set(levels)
        else ()
    )


class GalleryTable(QTableView):
    """The small pictures; some may be chosen, by Ctrl and Shift with the mouse or the keys."""

    def __init__(self, model: GalleryModel, parent: QWidget) -> None:
        super().__init__(parent)
        self.setModel(model)
        self.setAccessibleName("Pictures of the dataset, kinds in rows, MSE levels in columns")
        self.setToolTip(
            "Click a picture to see it large. Ctrl+click or Shift+click for several; by the keys: "
            "Shift+arrows, or Ctrl+arrows and Ctrl+Space."
        )
        self.setIconSize(QSize(SIDE, SIDE))
        self.setSelectionMode(QTableView.SelectionMode.ExtendedSelection)
        self.setTabKeyNavigation(False)
        self.setMinimumHeight(SIDE + 34)
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            header.setDefaultSectionSize(SIDE + 6)
        self.verticalHeader().setMaximumWidth(_WIDEST_NAME)
        self.verticalHeader().setTextElideMode(Qt.TextElideMode.ElideMiddle)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leave letters and digits to the viewer: there is no text in the table to search."""
        if (
            event.text().isprintable()
            and event.text().strip()
            and not event.modifiers() & _COMMANDS
        ):
            event.ignore()
        else:
            super().keyPressEvent(event)


_COMMANDS = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


class GalleryModel(QAbstractTableModel):
    """Which picture of the dataset lies in which row (kind) and column (level)."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._dataset: Dataset | None = None
        self._levels: tuple[float, ...] = ()  # of the columns; none where they are places
        self._kinds: list[str] = []
        self._columns: list[str] = []
        self._places: dict[tuple[int, int], int] = {}
        self._missed: dict[tuple[int, int], str] = {}
        self._icons: dict[int, QIcon] = {}

    def set_dataset(self, dataset: Dataset | None) -> None:
        """Lay out another dataset, without pictures at first."""
        self.beginResetModel()
        self._dataset, self._icons = dataset, {}
        self._places, self._missed, self._kinds, self._columns = {}, {}, [], []
        if dataset is not None:
            self._lay_out(dataset)
        self.endResetModel()

    def set_thumbnails(self, images: list[QImage]) -> None:
        """Show the small pictures."""
        size = QSize(SIDE, SIDE)
        smooth = Qt.TransformationMode.SmoothTransformation
        for number, image in enumerate(images):
            pixmap = QPixmap.fromImage(
                image.scaled(size, Qt.AspectRatioMode.KeepAspectRatio, smooth)
            )
            icon = QIcon(pixmap)
            icon.addPixmap(pixmap, QIcon.Mode.Selected)  # a chosen picture is not tinted
            self._icons[number] = icon
        if self._places:
            last = self.index(self.rowCount() - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(0, 0), last, [Qt.ItemDataRole.DecorationRole])

    def picture_at(self, index: Index) -> int | None:
        """Give the number of the picture in a cell, if there is one."""
        return self._places.get((index.row(), index.column())) if index.isValid() else None

    def index_of(self, number: int) -> QModelIndex:
        """Give the cell of a picture."""
        for (row, column), place in self._places.items():
            if place == number:
                return self.index(row, column)
        return QModelIndex()

    def _lay_out(self, dataset: Dataset) -> None:
        self._kinds = [label for label in dataset.classes if label != dataset.entries[0].label]
        self._kinds += [u.kind for u in dataset.unreachable if u.kind not in self._kinds]
        self._kinds = list(dict.fromkeys(self._kinds))
        levels = self._levels = _levels(dataset)
        if levels:  # the same for every kind
            self._columns = [number_text(level) for level in levels]
            for number, entry in list(enumerate(dataset.entries))[1:]:
                self._places[self._kinds.index(entry.label), levels.index(entry.target_mse)] = (
                    number
                )
            for missed in dataset.unreachable:
                place = self._kinds.index(missed.kind), levels.index(missed.target_mse)
                self._missed[place] = (
                    f"MSE {missed.target_mse:g} cannot be reached: {missed.reach}."
                )
            return
        for row, kind in enumerate(self._kinds):  # imported: by rising error
            numbers = [n for n, entry in enumerate(dataset.entries) if n and entry.label == kind]
            numbers.sort(key=lambda number: dataset.entries[number].achieved_mse)
            self._places.update({(row, column): number for column, number in enumerate(numbers)})
        most = max((column for _, column in self._places), default=-1) + 1
        self._columns = [str(column + 1) for column in range(most)]

    # --- what Qt asks for -------------------------------------------------------------------------------

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        """One row per kind."""
        return 0 if parent.isValid() else len(self._kinds)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """One column per level."""
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Give a cell's picture, and in words what it is."""
        number = self.picture_at(index)
        missed = self._missed.get((index.row(), index.column()))
        if role == Qt.ItemDataRole.DecorationRole and number is not None:
            return self._icons.get(number)
        if role == Qt.ItemDataRole.DisplayRole and missed:
            return "out of\nreach"
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignCenter
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            if missed or number is None or self._dataset is None:
                return missed
            entry = self._dataset.entries[number]
            return f"{theme.class_style(entry.label).title}, MSE {entry.achieved_mse:.1f}"
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Only cells with a picture can be chosen."""
        if self.picture_at(index) is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Give the letter and name of a kind, or a level."""
        if orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return self._columns[section]
            if role == Qt.ItemDataRole.ToolTipRole:
                return "MSE level" if self._levels else "place by rising MSE"
            return None
        style = theme.class_style(self._kinds[section])
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{style.letter}  {style.title}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return style.title
        if role == Qt.ItemDataRole.DecorationRole:
            swatch = QPixmap(6, 24)
            swatch.fill(QColor(style.colour))
            return swatch
        return None
