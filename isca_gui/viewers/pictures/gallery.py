"""A dataset as a table of thumbnails: kinds in rows, levels in columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPixmap
from PySide6.QtWidgets import QHeaderView, QTableView

from isca_gui.core.progress import Progress
from isca_gui.core.settings import number_text
from isca_gui.viewers.canvas.layers import scaled_thumbnail
from isca_gui.viewers.pictures.captions import long_name
from isca_gui.widgets import theme

if TYPE_CHECKING:
    from collections.abc import Generator

    from PySide6.QtCore import QObject
    from PySide6.QtGui import QImage, QKeyEvent
    from PySide6.QtWidgets import QWidget

    from isca_gui.core.distortion.dataset import Dataset

    Index = QModelIndex | QPersistentModelIndex

# Side of a thumbnail in pixels.
SIDE = 64
# Labels of imported folders can be long; the column of their names has this width at most.
_WIDEST_NAME = 220
# How many thumbnails are made between two reports of progress.
_BATCH = 8
_COMMAND_KEYS = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


def thumbnails(dataset: Dataset) -> Generator[Progress, None, list[QImage]]:
    """Make a thumbnail of every picture of a dataset."""
    made: list[QImage] = []
    for picture in dataset.pictures:
        # Twice the size: the table scales them down smoothly.
        made.append(scaled_thumbnail(picture, 2 * SIDE))
        if len(made) % _BATCH == 0:
            yield Progress(len(made), len(dataset.pictures), "thumbnails")
    return made


def _columns_by_level(dataset: Dataset) -> tuple[float, ...]:
    """Return the levels if every picture has a cell of its own; a folder may hold more."""
    if dataset.spec is None:
        return ()
    levels = dataset.spec.levels
    cells = [(entry.label, entry.target_mse) for entry in dataset.entries[1:]]
    cells += [(missed.kind, missed.target_mse) for missed in dataset.unreachable]
    all_differ = len(set(cells)) == len(cells)
    if not all_differ or not {level for _, level in cells} <= set(levels):
        return ()
    return levels


class GalleryTable(QTableView):
    """The thumbnails; several can be chosen with Ctrl or Shift, by mouse or keyboard."""

    def __init__(self, model: GalleryModel, parent: QWidget) -> None:
        super().__init__(parent)
        self.setModel(model)
        self.setAccessibleName("Pictures of the dataset, kinds in rows, MSE levels in columns")
        self.setToolTip(
            "Click a picture to enlarge it. Ctrl+click or Shift+click to choose several. With the "
            "keyboard: Shift+arrow keys, or Ctrl+arrow keys and Ctrl+Space."
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
        """Leave letters and digits to the viewer: the table has no text to search."""
        text = event.text()
        is_letter = text.isprintable() and text.strip()
        if is_letter and not event.modifiers() & _COMMAND_KEYS:
            event.ignore()
        else:
            super().keyPressEvent(event)


class GalleryModel(QAbstractTableModel):
    """Which picture of the dataset lies in which row (kind) and column (level)."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._dataset: Dataset | None = None
        self._levels: tuple[float, ...] = ()  # of the columns; empty if they are only numbered
        self._kinds: list[str] = []
        self._columns: list[str] = []
        self._numbers: dict[tuple[int, int], int] = {}  # of the pictures, by row and column
        self._unreachable: dict[tuple[int, int], str] = {}  # why a cell has no picture
        self._icons: dict[int, QIcon] = {}

    def set_dataset(self, dataset: Dataset | None) -> None:
        """Lay out another dataset, without thumbnails at first."""
        self.beginResetModel()
        self._dataset = dataset
        self._icons = {}
        self._numbers = {}
        self._unreachable = {}
        self._kinds = []
        self._columns = []
        if dataset is not None:
            self._lay_out(dataset)
        self.endResetModel()

    def set_thumbnails(self, images: list[QImage]) -> None:
        """Show the thumbnails."""
        size = QSize(SIDE, SIDE)
        smooth = Qt.TransformationMode.SmoothTransformation
        for number, image in enumerate(images):
            scaled = image.scaled(size, Qt.AspectRatioMode.KeepAspectRatio, smooth)
            pixmap = QPixmap.fromImage(scaled)
            icon = QIcon(pixmap)
            # Without a pixmap of its own, a selected picture would be tinted.
            icon.addPixmap(pixmap, QIcon.Mode.Selected)
            self._icons[number] = icon
        if self._numbers:
            last = self.index(self.rowCount() - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(0, 0), last, [Qt.ItemDataRole.DecorationRole])

    def picture_at(self, index: Index) -> int | None:
        """Return the number of the picture in a cell, if there is one."""
        return self._numbers.get((index.row(), index.column())) if index.isValid() else None

    def index_of(self, number: int) -> QModelIndex:
        """Return the cell of a picture."""
        for (row, column), each in self._numbers.items():
            if each == number:
                return self.index(row, column)
        return QModelIndex()

    def _lay_out(self, dataset: Dataset) -> None:
        kinds = [label for label in dataset.classes if label != dataset.entries[0].label]
        kinds += [missed.kind for missed in dataset.unreachable]
        self._kinds = list(dict.fromkeys(kinds))
        self._levels = _columns_by_level(dataset)
        if self._levels:
            self._lay_out_by_level(dataset)
        else:
            self._lay_out_by_error(dataset)

    def _lay_out_by_level(self, dataset: Dataset) -> None:
        """Lay out one column for each level, the same for every kind."""
        self._columns = [number_text(level) for level in self._levels]
        for number, entry in enumerate(dataset.entries):
            if number > 0:
                cell = (self._kinds.index(entry.label), self._levels.index(entry.target_mse))
                self._numbers[cell] = number
        for missed in dataset.unreachable:
            cell = (self._kinds.index(missed.kind), self._levels.index(missed.target_mse))
            reason = f"MSE {missed.target_mse:g} cannot be reached: {missed.reach}."
            self._unreachable[cell] = reason

    def _lay_out_by_error(self, dataset: Dataset) -> None:
        """Sort the pictures of each kind by error: an imported dataset has no common levels."""
        for row, kind in enumerate(self._kinds):
            numbers = [n for n, entry in enumerate(dataset.entries) if n and entry.label == kind]
            numbers.sort(key=lambda number: dataset.entries[number].achieved_mse)
            for column, number in enumerate(numbers):
                self._numbers[row, column] = number
        count = max((column for _, column in self._numbers), default=-1) + 1
        self._columns = [str(column + 1) for column in range(count)]

    # --- what Qt asks for -------------------------------------------------------------------------

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        """Return the number of kinds."""
        return 0 if parent.isValid() else len(self._kinds)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of levels."""
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell's thumbnail, or what it is in words."""
        number = self.picture_at(index)
        unreachable = self._unreachable.get((index.row(), index.column()))
        if role == Qt.ItemDataRole.DecorationRole and number is not None:
            return self._icons.get(number)
        if role == Qt.ItemDataRole.DisplayRole and unreachable:
            return "out of\nreach"
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignCenter
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            if unreachable or number is None or self._dataset is None:
                return unreachable
            return long_name(self._dataset, number)
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Allow only cells with a picture to be chosen."""
        if self.picture_at(index) is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return the letter and name of a kind, or a level."""
        if orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return self._columns[section]
            if role == Qt.ItemDataRole.ToolTipRole:
                return "MSE level" if self._levels else "Rank by increasing MSE"
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
