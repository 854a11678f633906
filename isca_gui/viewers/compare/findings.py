"""The right side of the answer: numbers, parameters, places, proof, and what else was tried."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QGridLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isca_gui.core.comparison import parameters, profile, regions
from isca_gui.core.comparison.compare import UNRELATED
from isca_gui.core.comparison.drawing import colour_of, title_of
from isca_gui.core.comparison.kinds import KINDS, in_words
from isca_gui.core.distortion.distortions import ORIGINAL, UNLIKE
from isca_gui.core.pictures.blocks import Rectangle
from isca_gui.viewers.compare.proof_plot import ProofPlot
from isca_gui.viewers.viewer import ChoiceButton
from isca_gui.widgets.flow_layout import Flow
from isca_gui.widgets.step_frame import describe, faint_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isca_gui.core.comparison.batch import CopyResult
    from isca_gui.core.comparison.compare import Comparison, RegionAnswer
    from isca_gui.core.comparison.evidence import Attempt, Evidence

WIDTH = 300
# Side in blocks of the area that is called the strongest.
_AREA = 8
_PLACE = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class Figure:
    """One number: name, value in words, what it means, and the limit it suggests."""

    title: str
    words: str
    meaning: str
    explanation: str
    # The name of the limit in a profile, empty where there is none, and the value.
    limit: str = ""
    value: float = 0.0
    more_is_worse: bool | None = True


def figures_of(found: Comparison) -> list[Figure]:
    """Return the numbers of an answer, each with one line on what it means."""
    psnr = f"{found.psnr:.1f} dB" if found.psnr is not None else "∞ dB"
    return [
        Figure(
            "MSE",
            f"{found.mse:.4g}",
            "0 = identical",
            "Mean squared change of the luma on the scale 0 to 255: lower is better",
            "mse",
            found.mse,
        ),
        Figure(
            "PSNR",
            psnr,
            "higher is better",
            "Peak signal-to-noise ratio: higher is better, and above 40 dB a change is hardly seen",
            "psnr",
            found.psnr if found.psnr is not None else math.inf,
            more_is_worse=False,
        ),
        Figure(
            "SSIM",
            f"{found.ssim:.4f}",
            "1 = identical",
            "Structural similarity of all windows of 7×7 pixels: 1 is identical, lower is worse",
            "ssim",
            found.ssim,
            more_is_worse=False,
        ),
    ]


def parameter_figures(found: Comparison) -> list[Figure]:
    """Return the physical parameters of an answer with their units."""
    made = []
    for kind, name, value in parameters.all_parameters(found):
        about = parameters.describe(kind, name)
        made.append(
            Figure(
                about.title,
                parameters.in_words(kind, name, value),
                KINDS[kind].title if kind in KINDS else kind,
                f"{about.title} of what was found",
                f"{kind}.{name}",
                value,
                about.more_is_worse,
            )
        )
    return made


def place_lines(found: Comparison) -> list[tuple[str, Rectangle | None]]:
    """Return where the damage is, one line for each place, and the pixels of it."""
    if found.label in (ORIGINAL, UNRELATED) and not found.regions:
        return []
    if found.regions:
        return [(_region_words(answer), _region_pixels(answer)) for answer in found.regions]
    place = _strongest(found)
    where = regions.place_in_words(place[0])
    return [(f"Whole picture, strongest {where}", place[1])]


def _region_words(answer: RegionAnswer) -> str:
    judgement = answer.judgement
    what = "not recognised"
    if not judgement.unlike:
        pairs = zip(judgement.parts, judgement.proofs, strict=False)
        words = [in_words(kind, proof.parameters) for kind, proof in pairs]
        what = " and ".join(words) or title_of(judgement.label)
    where = answer.where[:1].upper() + answer.where[1:]
    return f"{where}, {answer.region.share:.0%} of the picture: {what}"


def _region_pixels(answer: RegionAnswer) -> Rectangle:
    rows, columns = np.nonzero(answer.region.blocks)
    side = regions.SIDE
    return Rectangle(
        int(rows.min()) * side,
        int(columns.min()) * side,
        (int(rows.max()) + 1) * side,
        (int(columns.max()) + 1) * side,
    )


def _strongest(found: Comparison) -> tuple[np.ndarray, Rectangle]:
    """Return the area of the strongest change, as blocks and as pixels."""
    from scipy import ndimage

    mean = ndimage.uniform_filter(found.severity_map, _AREA, mode="constant")
    row, column = np.unravel_index(int(mean.argmax()), mean.shape)
    top = max(int(row) - _AREA // 2, 0)
    left = max(int(column) - _AREA // 2, 0)
    blocks = np.zeros(mean.shape, dtype=bool)
    blocks[top : top + _AREA, left : left + _AREA] = True
    side = regions.SIDE
    bottom = min((top + _AREA) * side, found.height)
    right = min((left + _AREA) * side, found.width)
    return blocks, Rectangle(top * side, left * side, bottom, right)


def file_words(result: CopyResult) -> str:
    """Return what the copy's file says of itself."""
    says = result.file_says
    if says is None:
        return "Not read from a file."
    words = [str(says["format"])]
    if says.get("quality") is not None:
        words.append(f"quality {says['quality']}")
    if says.get("subsampling"):
        words.append(f"chroma {says['subsampling']}")
    if says.get("profile"):
        words.append("with a colour profile")
    return ", ".join(words)


def geometry_words(found: Comparison, copy_size: tuple[int, int]) -> str:
    """Return what was done to size and place of the copy."""
    # It loads what finds places, which the window does not wait for.
    from isca_gui.core.alignment import words

    width, height = copy_size
    said = words.in_words(found.geometry) if found.geometry is not None else ""
    if said:
        return f"{said}. The copy has {width} × {height} pixels."
    if (width, height) == (found.width, found.height):
        return f"same size, {width} × {height}."
    return f"{width} × {height}; the original has {found.width} × {found.height}."


class Findings(QWidget):
    """All findings about one copy, below one another."""

    place_chosen = Signal(object)
    limit_requested = Signal(str, object)
    forbidden = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setMinimumWidth(WIDTH - 40)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(1)
        self._grid.setColumnStretch(2, 1)
        self.places = QListWidget(self)
        self.places.setWordWrap(True)
        self.places.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.places.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        describe(self.places, "Where", "Where the damage is. Click a place to zoom to it.")
        self.places.itemClicked.connect(self._on_place_clicked)
        self.places.itemActivated.connect(self._on_place_clicked)
        self.geometry_line = faint_label()
        self.colour_line = faint_label()
        self.file_line = faint_label()
        self.proof = ProofPlot(self)
        self._proof_choices = QWidget(self)
        self._proof_row = Flow(spacing=4)
        self._proof_choices.setLayout(self._proof_row)
        self.tried_title = _heading("Tried", self)
        self.tried = faint_label()
        self._where_title = _heading("Where", self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2, 0, 4, 0)
        layout.setSpacing(5)
        layout.addLayout(self._grid)
        layout.addWidget(self._where_title)
        layout.addWidget(self.places)
        layout.addWidget(self.geometry_line)
        layout.addWidget(self.colour_line)
        layout.addWidget(self.file_line)
        layout.addWidget(self._proof_choices)
        layout.addWidget(self.proof)
        layout.addWidget(self.tried_title)
        layout.addWidget(self.tried)
        layout.addStretch(1)
        self._evidence: tuple[Evidence, ...] = ()

    def show_answer(self, found: Comparison, result: CopyResult | None) -> None:
        """Show the numbers and places of an answer."""
        self._fill_grid([*parameter_figures(found), *figures_of(found)], found)
        self._fill_places(found)
        size = (found.width, found.height)
        if result is not None and result.copy is not None:
            size = (result.copy.shape[1], result.copy.shape[0])
        self.geometry_line.setText(f"Geometry: {geometry_words(found, size)}")
        said = " ".join(finding.sentence for finding in found.colour)
        self.colour_line.setText(f"Colour: {said}")
        self.colour_line.setVisible(bool(said))
        if result is not None:
            self.file_line.setText(f"The copy's file: {file_words(result)}")

    def show_evidence(self, evidence: Sequence[Evidence]) -> None:
        """Draw what proves the answer; where there are two proofs, either can be chosen."""
        self._evidence = tuple(evidence)
        self.proof.setVisible(bool(evidence))
        _clear(self._proof_row)
        self._proof_choices.setVisible(len(self._evidence) > 1)
        if not self._evidence:
            return
        self.proof.show_evidence(self._evidence[0])
        if len(self._evidence) > 1:
            for place, each in enumerate(self._evidence):
                title = KINDS[each.kind].title
                button = ChoiceButton(title, f"show the proof of {title}", self._proof_choices)
                button.setAutoExclusive(True)
                button.setChecked(place == 0)
                button.clicked.connect(lambda _, each=each: self.proof.show_evidence(each))
                self._proof_row.addWidget(button)

    def show_tried(self, title: str, lines: Sequence[str]) -> None:
        """Show which other kinds were considered, and how far each got."""
        self.tried_title.setText(title)
        self.tried.setText("\n".join(lines))
        for widget in (self.tried_title, self.tried):
            widget.setVisible(bool(lines))

    def restyle(self) -> None:
        """Draw in the colours of the theme."""
        self.proof.restyle()

    def _fill_grid(self, figures: Sequence[Figure], found: Comparison) -> None:
        _clear(self._grid)
        for row, figure in enumerate(figures):
            title = QLabel(figure.title, self)
            title.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
            meaning = faint_label(figure.meaning)
            self._grid.addWidget(title, row, 0)
            self._grid.addWidget(self._value_button(figure, found), row, 1)
            self._grid.addWidget(meaning, row, 2)

    def _value_button(self, figure: Figure, found: Comparison) -> QToolButton:
        """Return the value of a figure as a button that offers to limit it."""
        button = QToolButton(self)
        button.setText(figure.words)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        sentence = f"{figure.explanation}. Click to set a limit."
        describe(button, f"{figure.title} {figure.words}", sentence)
        button.setProperty("help", "compare#limits")
        menu = QMenu(button)
        for text, allowed in suggested_limits(figure):
            action = menu.addAction(text)
            action.triggered.connect(
                lambda _=False, allowed=allowed: self.limit_requested.emit(figure.limit, allowed)
            )
        kind = figure.limit.partition(".")[0]
        if kind in KINDS and kind in found.parts:
            action = menu.addAction(f"No {KINDS[kind].title} at all")
            action.triggered.connect(lambda: self.forbidden.emit(kind))
        button.setMenu(menu)
        return button

    def _fill_places(self, found: Comparison) -> None:
        self.places.clear()
        lines = place_lines(found)
        for text, pixels in lines:
            item = QListWidgetItem(text)
            item.setToolTip(f"{text}. Click to zoom to it.")
            item.setData(_PLACE, pixels)
            self.places.addItem(item)
        for widget in (self._where_title, self.places):
            widget.setVisible(bool(lines))
        line = self.places.fontMetrics().height()
        rows = min(sum(2 if len(text) > 40 else 1 for text, _ in lines), 7)
        self.places.setFixedHeight(rows * (line + 4) + 6)

    def _on_place_clicked(self, item: QListWidgetItem) -> None:
        self.place_chosen.emit(item.data(_PLACE))


def suggested_limits(figure: Figure) -> list[tuple[str, profile.Range]]:
    """Return limits that a figure suggests: its own value, and the next round one."""
    if not figure.limit or not math.isfinite(figure.value):
        return []
    own = float(f"{figure.value:.3g}")
    found = []
    if figure.more_is_worse is not False:
        for value in dict.fromkeys((own, round_up(figure.value))):
            found.append((f"{figure.title} at most {value:g}", profile.Range(most=value)))
    if figure.more_is_worse is not True:
        for value in dict.fromkeys((own, round_down(figure.value))):
            found.append((f"{figure.title} at least {value:g}", profile.Range(least=value)))
    return found


def round_up(value: float) -> float:
    """Return the next round number above a value."""
    if value == 0:
        return 0.0
    unit = 10 ** math.floor(math.log10(abs(value)))
    return float(f"{math.ceil(value / unit * 2) / 2 * unit:.6g}")


def round_down(value: float) -> float:
    """Return the next round number below a value."""
    if value == 0:
        return 0.0
    unit = 10 ** math.floor(math.log10(abs(value)))
    return float(f"{math.floor(value / unit * 2) / 2 * unit:.6g}")


def tried_lines(attempts: Sequence[Attempt]) -> list[str]:
    """Return the kinds that were tried, with how far each got."""
    lines = []
    for each in attempts:
        words = f"{each.title}: probability {chance(each.probability)}"
        if each.explained is not None:
            words += f", explains {each.explained:.0%} of the change"
        if each.holds is False:
            words += ", its test fails"
        lines.append(words)
    return lines


def runner_up_lines(found: Comparison) -> list[str]:
    """Return the likeliest other kinds of an answer."""
    others = sorted(
        ((kind, share) for kind, share in found.probabilities.items() if kind not in found.parts),
        key=lambda pair: -pair[1],
    )
    return [
        f"{KINDS[kind].title if kind in KINDS else 'None of these'}: {chance(share)}"
        for kind, share in others[:3]
        if share >= 0.005
    ]


def probability_words(found: Comparison) -> str:
    """Return the probability of an answer; a copy that is the same has none."""
    return "" if found.label == ORIGINAL else chance(found.probability)


def answer_colour(found: Comparison) -> tuple[int, int, int]:
    """Return the colour of an answer; what is not recognised has one of its own."""
    return colour_of(UNLIKE if found.unlike else found.label)


def chance(share: float) -> str:
    """Return a probability with two digits; no answer is certain."""
    if share < 0.005:
        return "below 0.01"
    return f"{min(share, 0.99):.2f}"


def _heading(text: str, parent: QWidget) -> QLabel:
    label = QLabel(text, parent)
    font = label.font()
    font.setBold(True)
    label.setFont(font)
    return label


def _clear(layout: QGridLayout | Flow) -> None:
    """Delete all widgets of a layout."""
    while layout.count():
        item = layout.takeAt(0)
        widget = item.widget() if item is not None else None
        if widget is not None:
            widget.setParent(None)
            widget.deleteLater()
