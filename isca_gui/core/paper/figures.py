"""The figures of the reproduction, drawn with matplotlib, which is imported only when needed.

Every drawing function returns a `matplotlib.figure.Figure`, without a window or pyplot state.
"""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.distortion.distortions import DISTORTIONS, UNDECIDED_LABEL
from isca_gui.core.paper.plan import letter
from isca_gui.core.pictures import ssim
from isca_gui.core.storage import files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model

WIDTH = 9.0  # inches
DPI = 160
_ORIGINAL_COLOUR = "#999999"
_STYLE: dict[str, Any] = {
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.3,
    "figure.dpi": DPI,
    "savefig.dpi": DPI,
    # A fixed salt makes the identifiers in an SVG file the same each time.
    "svg.hashsalt": "isca",
}
_CURVE_COLOURS = ("#222222", "#0072B2", "#CC3311", "#117733", "#AA4499", "#666633")
_LEVEL_COLOURS = ("#888888", "#BB7700")


def colour(label: str) -> str:
    """Return the colour that a class has everywhere in the program."""
    return DISTORTIONS[label].colour if label in DISTORTIONS else _ORIGINAL_COLOUR


def examples(dataset: Dataset, level: float) -> Figure:
    """Draw Figure 1: the reference, each distortion near a level, and the SSIM of equal errors."""
    chosen = [0, *(_nearest(dataset, label, level) for label in dataset.classes[1:])]
    columns = 4
    with _styled():
        figure, axes = _grid(_rows(len(chosen) + 1, columns), columns, dataset.reference.shape)
        for place, index in enumerate(chosen):
            entry = dataset.entries[index]
            title = "Original"
            note = ""
            if index > 0:
                title = DISTORTIONS[entry.label].title
                note = f"MSE {entry.achieved_mse:.0f}, SSIM {_similarity(dataset, index):.2f}"
            title = f"({_abc(place)}) {title}"
            _draw_picture(axes[place], dataset.pictures[index], title, note, (entry.label,))
        _draw_similarities(axes[len(chosen)], dataset, _abc(len(chosen)))
    return figure


def bases(model: Model, component: int = 0) -> Figure:
    """Draw Figure 2: one dimension of U, V and J, with all blocks in their places; grey is zero."""
    with _styled():
        figure, axes = _grid(1, 3, (model.grid.height, model.grid.width), note=False)
        for place, which in enumerate("UVJ"):
            values = model.basis_picture(which, component)
            limit = max(float(np.quantile(np.abs(values), 0.995)), 1e-9)
            title = f"({_abc(place)}) {which}, black −{limit:.2g}, white {limit:.2g}"
            _draw_picture(axes[place], 0.5 + values / (2 * limit), title)
    return figure


def confusions(
    matrices: Mapping[str, Sequence[Sequence[int]]],
    classes: Sequence[str],
    notes: Mapping[str, str],
) -> Figure:
    """Draw Figure 3: a confusion matrix for each method.

    Parameters
    ----------
    matrices
        The counts of each method by its title: a row for each class, and a column for each class
        and for undecided.
    classes
        The labels of the rows.
    notes
        A second line for the title of each method.
    """
    columns = 4
    rows = _rows(len(matrices), columns)
    with _styled():
        figure, axes = _canvas(rows, columns, 2.45 * rows)
        for place, (title, counts) in enumerate(matrices.items()):
            _draw_matrix(axes[place], np.asarray(counts), classes)
            axes[place].set_title(f"({_abc(place)}) {title}\n{notes[title]}")
            if place % columns == 0:
                axes[place].set_ylabel("actual")
            if place + columns >= len(matrices):
                axes[place].set_xlabel("predicted")
    return figure


def test_pictures(tests: Dataset, numbers: Sequence[int]) -> Figure:
    """Draw Figure 4: the test pictures, without the reference, with their numbers in the paper."""
    columns = 4
    with _styled():
        figure, axes = _grid(_rows(len(numbers), columns), columns, tests.reference.shape)
        for place, number in enumerate(numbers):
            index = place + 1
            entry = tests.entries[index]
            parts = tuple(entry.label.split("+"))
            titles = [DISTORTIONS[part].title for part in parts]
            # There is room for one word of each title in a mixture.
            if len(parts) > 1:
                titles = [title.split(" ")[0] for title in titles]
            title = f"({number}) {' + '.join(titles)}"
            note = f"MSE {entry.achieved_mse:.1f}, SSIM {_similarity(tests, index):.2f}"
            _draw_picture(axes[place], tests.pictures[index], title, note, parts)
    return figure


def reconstructions(
    model: Model, dataset: Dataset, tests: Dataset, numbers: Sequence[int]
) -> Figure:
    """Draw Figure 5: training pictures, their reconstructions, and those of the test pictures.

    Parameters
    ----------
    model
        The model that reconstructs.
    dataset
        The training pictures, of which the reference and two others are drawn.
    tests
        The test pictures, after the reference.
    numbers
        The number of each test picture in the paper.
    """
    chosen = [0, *(_nearest(dataset, label, 500.0) for label in dataset.classes[1:][-2:])][:3]
    columns = 6
    with _styled():
        figure, axes = _grid(1 + _rows(len(numbers), columns), columns, dataset.reference.shape)
        for place, index in enumerate(chosen):
            entry = dataset.entries[index]
            picture = dataset.pictures[index]
            note = "original" if index == 0 else f"MSE {entry.achieved_mse:.0f}"
            _draw_picture(axes[place], picture, f"({_abc(place)}) training", note, (entry.label,))
            title = f"({_abc(place + 3)}) from ({_abc(place)})"
            _draw_reconstruction(axes[place + 3], model, picture, title, (entry.label,))
        for place, number in enumerate(numbers):
            parts = tuple(tests.labels[place + 1].split("+"))
            title = f"from test ({number})"
            _draw_reconstruction(
                axes[columns + place], model, tests.pictures[place + 1], title, parts
            )
    return figure


def convergence(
    curves: Mapping[str, Mapping[str, Sequence[float]]], levels: Mapping[str, float] | None = None
) -> Figure:
    """Draw the curves of the trainings, and dotted `levels` for methods without epochs."""
    with _styled():
        figure, (left, right) = _canvas(1, 2, 3.3)
        for (title, curve), ink in zip(curves.items(), _CURVE_COLOURS, strict=False):
            left.plot(curve["epoch"], curve["objective"], color=ink, label=title)
            left.plot(curve["epoch"], curve["error"], color=ink, linestyle="--", linewidth=0.9)
            right.plot(curve["epoch"], curve["primal"], color=ink, label=title)
            right.plot(curve["epoch"], curve["dual"], color=ink, linestyle="--", linewidth=0.9)
        for (title, value), ink in zip((levels or {}).items(), _LEVEL_COLOURS, strict=False):
            left.axhline(value, color=ink, linestyle=":", label=title)
        left.set(title="(a) Mean SSIM distance: solid orthonormal basis, dashed as published")
        right.set(title="(b) Residuals: solid primal ‖U − V‖, dashed dual ρ‖V − V′‖", yscale="log")
        for axes in (left, right):
            axes.set(xlabel="epoch", axisbelow=True)
            axes.set_xlim(left=0)
            axes.grid(color="#DDDDDD", linewidth=0.5)
            axes.spines[["top", "right"]].set_visible(False)
        left.set_ylim(bottom=0)
        left.legend(frameon=False, ncols=2)
    return figure


def encoded(figure: Figure, form: str) -> bytes:
    """Return a figure as the bytes of a PNG or SVG file; the same figure gives the same bytes."""
    # The date of an SVG file and the version in a PNG file would differ from run to run.
    metadata = {"Date": None} if form == "svg" else {"Software": None}
    stream = io.BytesIO()
    with _styled():
        figure.savefig(stream, format=form, metadata=metadata)
    return stream.getvalue()


def save(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """Save a figure as PNG and SVG, each completely or not at all, and return the two paths."""
    _lay_out(figure)
    png = folder / f"{name}.png"
    svg = folder / f"{name}.svg"
    for path, form in ((png, "png"), (svg, "svg")):
        with files.replacing(path) as stream:
            stream.write(encoded(figure, form))
    return png, svg


def _lay_out(figure: Figure) -> None:
    """Compute the layout once; with a layout engine, each file would be drawn twice."""
    engine = figure.get_layout_engine()
    if engine is not None:
        with _styled():
            engine.execute(figure)
            figure.set_layout_engine(None)


# --- parts -------------------------------------------------------------------------------------


@contextlib.contextmanager
def _styled() -> Iterator[None]:
    """Apply the style of the report instead of the user's own matplotlib settings."""
    from matplotlib import style

    with style.context(["default", _STYLE]):
        yield


def _canvas(rows: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.ravel())


def _grid(
    rows: int, columns: int, shape: tuple[int, ...], *, note: bool = True
) -> tuple[Figure, list[Axes]]:
    """Return axes for pictures of a shape (height, width); those that are not used stay empty."""
    picture_height = WIDTH / columns * shape[0] / shape[1]
    text_height = 0.42 if note else 0.26
    figure, axes = _canvas(rows, columns, rows * (picture_height + text_height))
    for each in axes:
        each.set_axis_off()
    return figure, axes


def _rows(count: int, columns: int) -> int:
    """Return the number of rows that `count` panels need."""
    return -(-count // columns)


def _draw_picture(
    axes: Axes, picture: NDArray[Any], title: str, note: str = "", labels: Sequence[str] = ()
) -> None:
    """Draw a picture in [0, 1] with a title, a note below, and the letters of its labels on it."""
    axes.imshow(np.clip(picture, 0, 1), cmap="gray", vmin=0, vmax=1, interpolation="none")
    axes.set_axis_on()
    axes.set(xticks=[], yticks=[], xlabel=note)
    axes.set_title(title, loc="left", pad=3)
    for place, label in enumerate(labels):
        axes.text(
            0.035 + 0.115 * place,
            0.955,
            letter(label),
            transform=axes.transAxes,
            ha="left",
            va="top",
            fontsize=7.5,
            fontweight="bold",
            fontfamily="monospace",
            color="black",
            bbox={
                "boxstyle": "square,pad=0.2",
                "edgecolor": "black",
                "linewidth": 0.4,
                "facecolor": colour(label),
            },
        )


def _draw_reconstruction(
    axes: Axes, model: Model, picture: NDArray[Any], title: str, labels: Sequence[str]
) -> None:
    reconstruction = model.reconstruct(picture)
    similarity = float(ssim.ssim_map(picture, reconstruction).mean())
    _draw_picture(axes, reconstruction, title, f"SSIM {similarity:.3f}", labels)


def _draw_similarities(cell: Axes, dataset: Dataset, place: str) -> None:
    """Plot SSIM against MSE, a line for each distortion, in a panel of the size of a picture."""
    rows, columns = dataset.reference.shape
    cell.set_box_aspect(rows / columns)
    cell.set_title(f"({place}) SSIM at equal MSE", loc="left", pad=3)
    axes = cell.inset_axes((0.13, 0.11, 0.78, 0.87))
    ends: dict[str, tuple[float, float]] = {}
    for label in dataset.classes[1:]:
        found = [
            (entry.achieved_mse, _similarity(dataset, index))
            for index, entry in enumerate(dataset.entries)
            if entry.label == label
        ]
        errors, similarities = zip(*sorted(found), strict=True)
        axes.plot(errors, similarities, color=colour(label), linewidth=1.6)
        ends[label] = (errors[-1], similarities[-1])
    # The letters at the ends of the lines are placed from top to bottom, so far apart that they do
    # not overlap.
    below = 2.0
    for label, (error, height) in sorted(ends.items(), key=lambda item: -item[1][1]):
        below = min(height, below - 0.065)
        axes.annotate(
            letter(label),
            (error, below),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontweight="bold",
            annotation_clip=False,
        )
    axes.set(ylim=(0, 1))
    axes.set_xlim(left=0)
    cell.text(0.55, -0.02, "MSE", transform=cell.transAxes, ha="center", va="top")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#DDDDDD", linewidth=0.5)


def _draw_matrix(axes: Axes, counts: NDArray[np.int64], classes: Sequence[str]) -> None:
    """Draw a confusion matrix: the shade is the share of the row, the number counts pictures."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.pcolormesh(shares, cmap="Blues", vmin=0, vmax=1, edgecolors="#DDDDDD", linewidth=0.5)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    for row, column in zip(*np.nonzero(counts), strict=True):
        ink = "white" if shares[row, column] > 0.55 else "black"
        text = str(counts[row, column])
        axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=6.5, color=ink)
    names = [letter(label) for label in (*classes, UNDECIDED_LABEL)]
    axes.set_xticks(np.arange(len(names)) + 0.5, names)
    axes.set_yticks(np.arange(len(classes)) + 0.5, names[:-1])
    axes.tick_params(length=0)


def _nearest(dataset: Dataset, label: str, level: float) -> int:
    """Return the index of the picture with this label whose MSE is nearest to a level."""
    indices = [index for index, name in enumerate(dataset.labels) if name == label]
    return min(indices, key=lambda index: abs(dataset.entries[index].achieved_mse - level))


def _similarity(dataset: Dataset, index: int) -> float:
    """Return the mean SSIM of a picture with the reference."""
    return float(ssim.ssim_map(dataset.reference, dataset.pictures[index]).mean())


def _abc(place: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[place]
