"""The evidence for the vote of one block: the block beside the nearest training patch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from isca_gui.core.distortion.distortions import level_text
from isca_gui.core.recognition.vote_overlays import style_of
from isca_gui.viewers.canvas.canvas import PictureCanvas

if TYPE_CHECKING:
    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.pictures.blocks import Rectangle
    from isca_gui.core.recognition.recogniser import Recognition
    from isca_gui.session.records import TestedPicture

HINT = "Point at a block (mouse or Shift+arrow keys) to see its distances and the nearest patch."
# Heights of the two pictures, in pixels.
_LOWEST = 40
_HIGHEST = 96


class BlockDetails(QWidget):
    """Shows one block of a recognition."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = QLabel(HINT, self)
        self.which = QLabel(self)
        for label in (self.title, self.which):
            label.setWordWrap(True)
            label.setAlignment(Qt.AlignmentFlag.AlignTop)
            # Room for two lines, so that nothing jumps when the text changes.
            label.setMinimumHeight(2 * self.fontMetrics().height() + 2)
        self.own = PictureCanvas("The block", self)
        self.nearest = PictureCanvas("The nearest training patch", self)
        row = QHBoxLayout()
        for canvas, caption in ((self.own, "this block"), (self.nearest, "nearest")):
            canvas.setMinimumSize(48, _LOWEST)
            canvas.setMaximumHeight(_HIGHEST)
            canvas.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            canvas.set_caption(caption)
            row.addWidget(canvas)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 6, 0, 0)
        layout.addWidget(self.title)
        layout.addLayout(row, 1)
        layout.addWidget(self.which)
        layout.addStretch()

    def clear(self) -> None:
        """Show no block."""
        self.title.setText(HINT)
        self.which.setText("")
        for canvas in (self.own, self.nearest):
            canvas.set_layer(None)

    def show_block(self, tested: TestedPicture, block: int, dataset: Dataset | None) -> None:
        """Show a block; `dataset` is what the run was trained on, if it is loaded."""
        found = tested.recognition
        assert found is not None
        place = found.grid.rectangle(block)
        self.title.setText(headline(found, block, place))
        self.own.set_picture(tested.picture[place.top : place.bottom, place.left : place.right])
        number = int(found.nearest[block])
        if dataset is not None and 0 <= number < len(dataset.entries):
            picture = dataset.pictures[number]
            entry = dataset.entries[number]
            self.nearest.set_picture(picture[place.top : place.bottom, place.left : place.right])
            self.which.setText(
                f"Nearest: {style_of(entry.label).title}, MSE {level_text(entry.achieved_mse)}"
            )
        else:
            self.nearest.set_layer(None)
            self.which.setText("The training pictures of this run are not loaded.")


def headline(found: Recognition, block: int, place: Rectangle) -> str:
    """Return in one line what a block votes for."""
    winner = int(found.winner[block])
    where = f"Block at x {place.left}, y {place.top}"
    if winner < 0:
        return f"{where}: undecided, because two classes are equally near."
    label = found.classes[winner]
    level = float(found.level[block])
    strength = f", MSE ≈ {level_text(level)}" if level > 0 else ""
    confidence = float(found.confidence[block])
    return f"{where}: {style_of(label).title}{strength}, confidence {confidence:.0%}."


def distances(found: Recognition, block: int) -> dict[str, float]:
    """Return the distances of a block to the nearest training picture of every class."""
    return {
        label: float(found.distances[block, place]) for place, label in enumerate(found.classes)
    }
