"""Publication figures in one style, drawn with matplotlib, which is imported only when one is drawn.

Every function gives a `matplotlib.figure.Figure`; no window and no pyplot state are involved.
"""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.distortion.distortions import DISTORTIONS, ORIGINAL, UNDECIDED_LABEL
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
    "svg.hashsalt": "isca",  # the same figure gives the same file
}
_LINES = ("#222222", "#0072B2", "#CC3311", "#117733", "#AA4499", "#666633")


def colour(label: str) -> str:
    """Give the colour of a class, as everywhere in the program."""
    return DISTORTIONS[label].colour if label in DISTORTIONS else _ORIGINAL_COLOUR


def letter(label: str) -> str:
    """Give the paper's letter of a class; `?` is undecided."""
    fixed = {ORIGINAL: "O", UNDECIDED_LABEL: "?"}
    return fixed.get(label) or (DISTORTIONS[label].letter if label in DISTORTIONS else label)


def examples(dataset: Dataset, level: float) -> Figure:
    """Draw Fig. 1: the reference, each kind near a level, and how alike equal errors look to SSIM."""
    chosen = [0, *(_nearest(dataset, label, level) for label in dataset.classes[1:])]
    columns = 4
    with _styled():
        figure, axes = _grid(-(-(len(chosen) + 1) // columns), columns, dataset.reference.shape)
        for place, index in enumerate(chosen):
            entry, picture = dataset.entries[index], dataset.pictures[index]
            title = "Original" if index == 0 else DISTORTIONS[entry.label].title
            note = (
                ""
                if index == 0
                else f"MSE {entry.achieved_mse:.0f}, SSIM {_alike(dataset, index):.2f}"
            )
            _picture(axes[place], picture, f"({_abc(place)}) {title}", note, (entry.label,))
        _similarities(axes[len(chosen)], dataset, _abc(len(chosen)))
    return figure


def bases(model: Model, component: int = 0) -> Figure:
    """Draw Fig. 2: one dimension of U, V and J of all blocks in picture form; grey is zero."""
    with _styled():
        figure, axes = _grid(1, 3, (model.grid.height, model.grid.width), note=False)
        for place, which in enumerate("UVJ"):
            values = model.basis_picture(which, component)
            limit = max(float(np.quantile(np.abs(values), 0.995)), 1e-9)
            title = f"({_abc(place)}) {which}, black −{limit:.2g}, white {limit:.2g}"
            _picture(axes[place], 0.5 + values / (2 * limit), title)
    return figure


def confusions(
    matrices: Mapping[str, Sequence[Sequence[int]]],
    classes: Sequence[str],
    notes: Mapping[str, str],
) -> Figure:
    """Draw Fig. 3: one confusion matrix per method, rows true, columns recognised, `?` undecided."""
    columns = 4
    rows = -(-len(matrices) // columns)
    with _styled():
        figure, axes = _canvas(rows, columns, 2.45 * rows)
        for place, (title, counts) in enumerate(matrices.items()):
            _matrix(axes[place], np.asarray(counts), classes)
            axes[place].set_title(f"({_abc(place)}) {title}\n{notes[title]}")
            if place % columns == 0:
                axes[place].set_ylabel("true")
            if place + columns >= len(matrices):
                axes[place].set_xlabel("recognised as")
    return figure


def test_pictures(tests: Dataset, numbers: Sequence[int]) -> Figure:
    """Draw Fig. 4: the test pictures with their numbers in the paper; the reference comes first."""
    columns = 4
    with _styled():
        figure, axes = _grid(-(-len(numbers) // columns), columns, tests.reference.shape)
        for place, number in enumerate(numbers):
            entry = tests.entries[place + 1]
            parts = tuple(entry.label.split("+"))
            note = f"MSE {entry.achieved_mse:.1f}, SSIM {_alike(tests, place + 1):.2f}"
            title = " + ".join(DISTORTIONS[part].title.split(" ")[0] if len(parts) > 1 else
                               DISTORTIONS[part].title for part in parts)  # fmt: skip
            _picture(axes[place], tests.pictures[place + 1], f"({number}) {title}", note, parts)
    return figure


def reconstructions(
    model: Model, dataset: Dataset, tests: Dataset, numbers: Sequence[int]
) -> Figure:
    """Draw Fig. 5: three training pictures, their reconstructions, and those of the test pictures."""
    chosen = [0, *(_nearest(dataset, label, 500.0) for label in dataset.classes[1:][-2:])][:3]
    columns = 6
    with _styled():
        figure, axes = _grid(1 + -(-len(numbers) // columns), columns, dataset.reference.shape)
        for place, index in enumerate(chosen):
            entry, picture = dataset.entries[index], dataset.pictures[index]
            name = "original" if index == 0 else f"MSE {entry.achieved_mse:.0f}"
            _picture(axes[place], picture, f"({_abc(place)}) training", name, (entry.label,))
            again = model.reconstruct(picture)
            note = f"SSIM {float(ssim.ssim_map(picture, again).mean()):.3f}"
            _picture(
                axes[place + 3],
                again,
                f"({_abc(place + 3)}) from ({_abc(place)})",
                note,
                (entry.label,),
            )
        for place, number in enumerate(numbers):
            picture, parts = tests.pictures[place + 1], tuple(tests.labels[place + 1].split("+"))
            again = model.reconstruct(picture)
            note = f"SSIM {float(ssim.ssim_map(picture, again).mean()):.3f}"
            _picture(axes[columns + place], again, f"from test ({number})", note, parts)
    return figure


def convergence(
    curves: Mapping[str, Mapping[str, Sequence[float]]], levels: Mapping[str, float] | None = None
) -> Figure:
    """Draw the figures of every epoch; `levels` are methods without epochs, as dotted lines."""
    with _styled():
        figure, (left, right) = _canvas(1, 2, 3.3)
        for (title, curve), ink in zip(curves.items(), _LINES, strict=False):
            left.plot(curve["epoch"], curve["objective"], color=ink, label=title)
            left.plot(curve["epoch"], curve["error"], color=ink, linestyle="--", linewidth=0.9)
            right.plot(curve["epoch"], curve["primal"], color=ink, label=title)
            right.plot(curve["epoch"], curve["dual"], color=ink, linestyle="--", linewidth=0.9)
        for (title, value), ink in zip(
            (levels or {}).items(), ("#888888", "#BB7700"), strict=False
        ):
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
    """Give a figure as the bytes of a PNG or SVG file; the same figure gives the same bytes."""
    stream = io.BytesIO()
    with _styled():
        figure.savefig(
            stream, format=form, metadata={"Date": None} if form == "svg" else {"Software": None}
        )
    return stream.getvalue()


def save(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """Write a figure as PNG and SVG, each whole or not at all."""
    _lay_out(figure)
    written = []
    for form in ("png", "svg"):
        written.append(folder / f"{name}.{form}")
        with files.replacing(written[-1]) as stream:
            stream.write(encoded(figure, form))
    return written[0], written[1]


def _lay_out(figure: Figure) -> None:
    """Give everything its place, once: with an engine in charge each file would be drawn twice."""
    engine = figure.get_layout_engine()
    if engine is not None:
        with _styled():
            engine.execute(figure)
            figure.set_layout_engine(None)


# --- parts --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _styled() -> Iterator[None]:
    """Draw in our style, whatever the user's own settings of matplotlib say."""
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
    """Make room for pictures of a shape; places that are not used stay empty."""
    cell = WIDTH / columns
    figure, axes = _canvas(
        rows, columns, rows * (cell * shape[0] / shape[1] + (0.42 if note else 0.26))
    )
    for each in axes:
        each.set_axis_off()
    return figure, axes


def _picture(
    axes: Axes, picture: NDArray[Any], title: str, note: str = "", labels: Sequence[str] = ()
) -> None:
    """Show a picture in [0, 1] with a title, a note below and the letters of its classes in a corner."""
    axes.imshow(np.clip(picture, 0, 1), cmap="gray", vmin=0, vmax=1, interpolation="none")
    axes.set_axis_on()
    axes.set(xticks=[], yticks=[], xlabel=note)
    axes.set_title(title, loc="left", pad=3)
    for place, label in enumerate(labels):
        axes.text(
            0.035 + 0.115 * place, 0.955, letter(label), transform=axes.transAxes, ha="left", va="top",
            fontsize=7.5, fontweight="bold", fontfamily="monospace", color="black", bbox=_chip(label),
        )  # fmt: skip


def _chip(label: str) -> dict[str, Any]:
    """Frame a letter in the colour of its class."""
    look = {"boxstyle": "square,pad=0.2", "edgecolor": "black", "linewidth": 0.4}
    return {**look, "facecolor": colour(label)}


def _similarities(cell: Axes, dataset: Dataset, place: str) -> None:
    """Plot SSIM against MSE, one line per kind, in a place as large as a picture's."""
    rows, columns = dataset.reference.shape
    cell.set_box_aspect(rows / columns)
    cell.set_title(f"({place}) SSIM at equal MSE", loc="left", pad=3)
    axes = cell.inset_axes((0.13, 0.11, 0.78, 0.87))
    ends: dict[str, tuple[float, float]] = {}
    for label in dataset.classes[1:]:
        found = [
            (entry.achieved_mse, _alike(dataset, index))
            for index, entry in enumerate(dataset.entries)
            if entry.label == label
        ]
        errors, alike = zip(*sorted(found), strict=True)
        axes.plot(errors, alike, color=colour(label), linewidth=1.6)
        ends[label] = (errors[-1], alike[-1])
    below = 2.0
    for label, (error, height) in sorted(ends.items(), key=lambda item: -item[1][1]):
        below = min(height, below - 0.065)  # letters do not lie on one another
        axes.annotate(
            letter(label), (error, below), (4, 0), textcoords="offset points",
            va="center", fontweight="bold", annotation_clip=False,
        )  # fmt: skip
    axes.set(ylim=(0, 1))
    axes.set_xlim(left=0)
    cell.text(0.55, -0.02, "MSE", transform=cell.transAxes, ha="center", va="top")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#DDDDDD", linewidth=0.5)


def _matrix(axes: Axes, counts: NDArray[np.int64], classes: Sequence[str]) -> None:
    """Draw one confusion matrix: the shade is the share of the row, the number counts pictures."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.pcolormesh(shares, cmap="Blues", vmin=0, vmax=1, edgecolors="#DDDDDD", linewidth=0.5)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    for row, column in zip(*np.nonzero(counts), strict=True):
        ink, text = "white" if shares[row, column] > 0.55 else "black", str(counts[row, column])
        axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=6.5, color=ink)
    names = [letter(label) for label in (*classes, UNDECIDED_LABEL)]
    axes.set_xticks(np.arange(len(names)) + 0.5, names)
    axes.set_yticks(np.arange(len(classes)) + 0.5, names[:-1])
    axes.tick_params(length=0)


def _nearest(dataset: Dataset, label: str, level: float) -> int:
    """Give the picture of a label whose MSE is nearest to a level."""
    found = [index for index, name in enumerate(dataset.labels) if name == label]
    return min(found, key=lambda index: abs(dataset.entries[index].achieved_mse - level))


def _alike(dataset: Dataset, index: int) -> float:
    return float(ssim.ssim_map(dataset.reference, dataset.pictures[index]).mean())


def _abc(place: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[place]
