"""What speaks for the vote of one block: the block, and the nearest training patch beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from isca_gui.core.distortion.distortions import level_text
from isca_gui.core.recognition.vote_overlays import look
from isca_gui.viewers.canvas.canvas import PictureCanvas

if TYPE_CHECKING:
    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.pictures.blocks import Rectangle
    from isca_gui.core.recognition.recogniser import Recognition
    from isca_gui.session.session import TestedPicture

HINT = "Point at a block (pointer or Shift+arrows): its distances, the nearest training patch."
_LOWEST, _HIGHEST = 40, 96  # of the two pictures, in pixels


class BlockDetails(QWidget):
    """Shows one block of a recognition."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.which = QLabel(HINT, self), QLabel(self)
        for label in (self.title, self.which):
            label.setWordWrap(True)
            label.setAlignment(Qt.AlignmentFlag.AlignTop)
            label.setMinimumHeight(
                2 * self.fontMetrics().height() + 2
            )  # nothing jumps when texts change
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
        """Show a block; `dataset` is what the run was trained on, if it is there."""
        found = tested.recognition
        assert found is not None
        place = found.grid.rectangle(block)
        self.title.setText(headline(found, block, place))
        self.own.set_picture(tested.picture[place.top : place.bottom, place.left : place.right])
        number = int(found.nearest[block])
        if dataset is not None and 0 <= number < len(dataset.entries):
            picture, entry = dataset.pictures[number], dataset.entries[number]
            self.nearest.set_picture(picture[place.top : place.bottom, place.left : place.right])
            self.which.setText(
                f"Nearest: {look(entry.label).title}, MSE {level_text(entry.achieved_mse)}"
            )
        else:
            self.nearest.set_layer(None)
            self.which.setText("The training pictures of this run are not loaded.")


def headline(found: Recognition, block: int, place: Rectangle) -> str:
    """Say in a line what a block was taken for."""
    winner = int(found.winner[block])
    where = f"Block at x {place.left}, y {place.top}"
    if winner < 0:
        return f"{where}: undecided, two classes are equally near."
    label = found.classes[winner]
    level = float(found.level[block])
    strong = f", MSE ≈ {level_text(level)}" if level > 0 else ""
    return f"{where}: {look(label).title}{strong}, confidence {float(found.confidence[block]):.0%}."


def distances(found: Recognition, block: int) -> dict[str, float]:
    """Give the distances of a block to the nearest training picture of every class."""
    return {
        label: float(found.distances[block, place]) for place, label in enumerate(found.classes)
    }
