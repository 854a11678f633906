"""The headless demonstration: a sample distorted in every way, subspaces learned, pictures recognised."""

from __future__ import annotations

import base64
import hashlib
import html
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from isca_gui.core.distortion import dataset, dataset_folder, strength_search
from isca_gui.core.distortion.dataset import DatasetError
from isca_gui.core.distortion.distortions import DISTORTIONS
from isca_gui.core.model import training
from isca_gui.core.pictures import image, samples, ssim
from isca_gui.core.progress import Progress, relay
from isca_gui.core.recognition import vote_map_image
from isca_gui.core.recognition.recogniser import Recogniser, title
from isca_gui.core.settings import DatasetSpec, TrainingSettings
from isca_gui.core.solvers.steps import Step
from isca_gui.core.storage import files

if TYPE_CHECKING:
    import os
    from collections.abc import Generator

    from numpy.typing import NDArray

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model

LEVELS = (100.0, 300.0, 900.0)  # of the pictures that are shown and saved
TESTS = (
    ("jpeg", 200.0),
    ("impulse", 400.0),
    ("blur+luminance", 500.0),
)  # what the model has never seen
_METHODS = {
    "ISCA": TrainingSettings(solver="direct", epochs=25),
    "PCA": TrainingSettings(method="pca"),
    "random subspace": TrainingSettings(method="random"),
}
_DATASET, _REPORT = "dataset", "report.html"
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
figure { display: inline-block; margin: 0 1rem 1rem 0; width: 18rem; vertical-align: top; }
th, td { text-align: left; padding-right: 2rem; }
img { width: 100%; display: block; } figcaption { font-size: .9rem; color: #555; }
"""


def demonstrate(
    folder: str | os.PathLike[str], name: str = "sample:camera"
) -> Generator[Progress, None, Path]:
    """Distort a sample in every way, train on that, recognise other pictures; gives the report's path.

    What an earlier demonstration wrote is replaced when all is done; a folder with other content is refused.
    """
    _check_target(folder)
    reference = image.read(samples.resolve(name))
    made = yield from dataset.generate(reference, DatasetSpec(levels=LEVELS))
    whole = yield from dataset.generate(
        reference, DatasetSpec()
    )  # votes need levels close to each other
    models = {}
    for method, settings in _METHODS.items():
        models[method] = yield from _train(whole, method, settings)
    answers = yield from _recognise(reference, models["ISCA"])
    try:
        with files.replacing_folder(folder) as temporary:
            saved = yield from dataset_folder.save(made, temporary / _DATASET)
            files.write_text(temporary / _REPORT, _page(made, models, answers, name, _mark(saved)))
    except OSError as error:
        raise DatasetError(f"Cannot write folder '{folder}': {error.strerror or error}.") from error
    return Path(folder, _REPORT).absolute()


def _check_target(folder: str | os.PathLike[str]) -> None:
    """Refuse a folder that holds anything but a demonstration, whose report bears its dataset's mark."""
    names = dataset_folder.names_in_target(folder)
    if not names:
        return
    data = Path(folder, _DATASET)
    report = Path(folder, _REPORT)
    if names != {_DATASET, _REPORT} or _mark(data).encode() not in report.read_bytes()[:1000]:
        raise DatasetError(f"'{folder}' holds other files. Choose a new or empty folder.")
    dataset_folder.check_target(data, overwrite=True)


def _mark(data: Path) -> str:
    """Name a dataset by what says how it was made, and of which picture."""
    try:
        description = (data / dataset_folder.DESCRIPTION).read_bytes()
    except OSError as error:
        raise DatasetError(f"'{data}' is not a dataset. Choose a new or empty folder.") from error
    return f"ISCA Studio demonstration {hashlib.sha256(description).hexdigest()}"


def _train(
    made: Dataset, title: str, settings: TrainingSettings
) -> Generator[Progress, None, Model]:
    """Train, and report each epoch as progress."""
    task = training.train(made, settings)
    epochs = settings.resolved().epochs or 1
    epoch = 0

    def whole_epochs(report: object) -> Progress:
        nonlocal epoch
        if isinstance(report, Step):
            epoch = report.epoch
        return Progress(epoch, epochs, f"training {title}")

    return (yield from relay(task, whole_epochs))


def _recognise(reference: NDArray[np.float32], model: Model) -> Generator[Progress, None, str]:
    """Ask the model about pictures that it has not seen; gives their maps and verdicts as HTML."""
    recogniser = Recogniser(model)
    figures = ""
    for index, (kind, level) in enumerate(TESTS):
        yield Progress(index, len(TESTS), "recognising")
        test = strength_search.distort(reference, kind, level, seed=1).picture
        found = recogniser.recognise(test)
        truth = f"{title(kind)} at MSE {level:g}. The verdict: {found.verdict.sentence}"
        figures += _shown(vote_map_image.draw(found, test), truth, wide=True)
    return (
        "<h2>What was done to these pictures?</h2><p>None of them was among the training pictures. Every "
        "block votes for the kind of damage it looks most like; its colour, pattern and letter say which, "
        "and the more opaque it is the surer the vote.</p>" + figures
    )


def _page(made: Dataset, models: dict[str, Model], answers: str, name: str, mark: str) -> str:
    sections = []
    for label in made.classes[1:]:
        row = DISTORTIONS[label]
        kind = "structural" if row.structural else "not structural"
        figures = "".join(
            _figure(made, index) for index, found in enumerate(made.labels) if found == label
        )
        title = html.escape(f"{row.letter} – {row.title}")
        sections.append(f"<h2>{title}</h2><p>{html.escape(row.sentence)} ({kind})</p>{figures}")
    return (
        f"<!doctype html><html lang=en><meta charset='utf-8'><meta name=generator content='{mark}'>"
        f"<title>ISCA Studio: {html.escape(name)}</title>"
        f"<style>{_STYLE}</style><h1>Six distortions at the same error</h1>"
        f"<p>{html.escape(name)}, brought to the same mean squared error in six ways. The error says the "
        "pictures of a column are equally far from the reference; the structural similarity (SSIM, "
        "1 is identical) says what the eye says.</p>" + _figure(made, 0) + "".join(sections)
        + _learned(made, models) + answers + "</html>\n"
    )  # fmt: skip


def _learned(made: Dataset, models: dict[str, Model]) -> str:
    """Show what the subspaces keep of a picture, and what they look like."""
    isca = models["ISCA"]
    rows = "".join(
        f"<tr><td>{html.escape(title)}</td><td>{model.steps[-1].objective:.4f}</td></tr>"
        for title, model in models.items()
    )
    pictures = _shown(isca.reconstruct(made.reference), "the reference from four numbers a block")
    for which in ("U", "V", "J"):
        basis = isca.basis_picture(which, 0)
        scale = max(float(np.abs(basis).max()), 1e-9)
        pictures += _shown(0.5 + basis / (2 * scale), f"{which}, first component, grey is zero")
    return (
        "<h2>What was learned</h2><p>For each block of 8×8 pixels, a subspace of four dimensions from six "
        "distortions at twenty levels. The loss is the mean SSIM distance between a block and what its "
        "subspace keeps of it: lower is better.</p><table><tr><th>method</th><th>loss</th></tr>"
        + rows
        + "</table>"
        + pictures
    )


def _figure(made: Dataset, index: int) -> str:
    entry, picture = made.entries[index], made.pictures[index]
    similarity = ssim.ssim_map(made.reference, picture).mean()
    caption = "the reference"
    if index:
        caption = (
            f"MSE {entry.achieved_mse:.1f}, SSIM {similarity:.3f}, strength {entry.strength:.4g} "
        )
        caption += f"({DISTORTIONS[entry.label].unit})"
    return _shown(picture, caption)


def _shown(picture: NDArray[Any], caption: str, *, wide: bool = False) -> str:
    """Embed a picture: grey in [0, 1], or RGB of 8 bits."""
    stream = io.BytesIO()
    grey = picture.dtype != np.uint8
    pixels = np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8) if grey else picture
    Image.fromarray(pixels).save(stream, "PNG")
    data = base64.b64encode(stream.getvalue()).decode()
    text = html.escape(caption)
    picture_part = f"<img alt='{text}' src='data:image/png;base64,{data}'>"
    style = " style='width: 100%'" if wide else ""
    return f"<figure{style}>{picture_part}<figcaption>{text}</figcaption></figure>"
