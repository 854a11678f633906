"""`isca demo`: the whole program on a sample picture, with a report.

The sample is distorted in six ways, models are trained on the copies, and new pictures recognised.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isca_gui.cli import arguments, progress_bar

if TYPE_CHECKING:
    import argparse
    import os
    from collections.abc import Generator

    import numpy as np
    from numpy.typing import NDArray

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.core.progress import Progress
    from isca_gui.core.settings import TrainingSettings

# MSE levels of the pictures that are shown and saved.
LEVELS = (100.0, 300.0, 900.0)
# Distortions and MSE levels of the pictures to recognise, none of which is in the training set.
TESTS = (("jpeg", 200.0), ("impulse", 400.0), ("blur+luminance", 500.0))
# Each method with its fields of TrainingSettings.
_METHODS: dict[str, dict[str, Any]] = {
    "ISCA": {"solver": "direct", "epochs": 25},
    "PCA": {"method": "pca"},
    "random subspace": {"method": "random"},
}
_DATASET = "dataset"
_REPORT = "report.html"
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
figure { display: inline-block; margin: 0 1rem 1rem 0; width: 18rem; vertical-align: top; }
th, td { text-align: left; padding-right: 2rem; }
img { width: 100%; display: block; } figcaption { font-size: .9rem; color: #555; }
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=arguments.file_name,
        default="isca-demo",
        help="the folder to write (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the demonstration and print the path of its report."""
    print(progress_bar.run_with_progress(demonstrate(args.output), "demonstration"))
    return 0


def demonstrate(
    folder: str | os.PathLike[str], name: str = "sample:camera"
) -> Generator[Progress, None, Path]:
    """Run the demonstration on a sample picture and return the path of its report.

    The folder may hold an earlier demonstration, which is replaced when everything is done. A
    folder with other content is refused.
    """
    from isca_gui.core.distortion import dataset, dataset_folder
    from isca_gui.core.distortion.dataset import DatasetError
    from isca_gui.core.pictures import image, samples
    from isca_gui.core.settings import DatasetSpec, TrainingSettings
    from isca_gui.core.storage import files

    _check_target(folder)
    reference = image.read(samples.resolve(name))
    shown = yield from dataset.generate(reference, DatasetSpec(levels=LEVELS))
    # The models need levels closer to each other than those shown.
    training_set = yield from dataset.generate(reference, DatasetSpec())
    models = {}
    for method, fields in _METHODS.items():
        models[method] = yield from _train(training_set, method, TrainingSettings(**fields))
    answers = yield from _recognise(reference, models["ISCA"])
    try:
        with files.replacing_folder(folder) as temporary:
            saved = yield from dataset_folder.save(shown, temporary / _DATASET)
            page = _page(shown, models, answers, name, _mark(saved))
            files.write_text(temporary / _REPORT, page)
    except OSError as error:
        raise DatasetError(f"Cannot write folder '{folder}': {error.strerror or error}.") from error
    return Path(folder, _REPORT).absolute()


def _check_target(folder: str | os.PathLike[str]) -> None:
    """Refuse a folder that holds anything but a demonstration."""
    from isca_gui.core.distortion import dataset_folder
    from isca_gui.core.distortion.dataset import DatasetError

    names = dataset_folder.names_in_target(folder)
    if not names:
        return
    data = Path(folder, _DATASET)
    report = Path(folder, _REPORT)
    # A demonstration is known by the mark of its dataset in its report.
    if names != {_DATASET, _REPORT} or _mark(data).encode() not in report.read_bytes()[:1000]:
        raise DatasetError(f"'{folder}' holds other files. Choose a new or empty folder.")
    dataset_folder.check_target(data, overwrite=True)


def _mark(data: Path) -> str:
    """Return a digest of how a dataset was made and from which picture."""
    from isca_gui.core.distortion import dataset_folder
    from isca_gui.core.distortion.dataset import DatasetError

    try:
        description = (data / dataset_folder.DESCRIPTION).read_bytes()
    except OSError as error:
        raise DatasetError(f"'{data}' is not a dataset. Choose a new or empty folder.") from error
    return f"ISCA Studio demonstration {hashlib.sha256(description).hexdigest()}"


def _train(
    dataset: Dataset, title: str, settings: TrainingSettings
) -> Generator[Progress, None, Model]:
    """Train a model and report each epoch as progress."""
    from isca_gui.core.model import training
    from isca_gui.core.progress import Progress, relay
    from isca_gui.core.solvers.steps import Step

    task = training.train(dataset, settings)
    epochs = settings.resolved().epochs or 1
    epoch = 0

    def whole_epochs(report: object) -> Progress:
        nonlocal epoch
        if isinstance(report, Step):
            epoch = report.epoch
        return Progress(epoch, epochs, f"training {title}")

    return (yield from relay(task, whole_epochs))


def _recognise(reference: NDArray[np.float32], model: Model) -> Generator[Progress, None, str]:
    """Recognise pictures that the model has not seen; return their maps and verdicts as HTML."""
    from isca_gui.core.distortion import strength_search
    from isca_gui.core.progress import Progress
    from isca_gui.core.recognition import vote_map_image
    from isca_gui.core.recognition.recogniser import Recogniser
    from isca_gui.core.recognition.verdict import title

    recogniser = Recogniser(model)
    figures = ""
    for index, (kind, level) in enumerate(TESTS):
        yield Progress(index, len(TESTS), "recognising")
        test = strength_search.distort(reference, kind, level, seed=1).picture
        found = recogniser.recognise(test)
        caption = f"Actual: {title(kind)}, MSE {level:g}. Verdict: {found.verdict.sentence}"
        figures += _figure(vote_map_image.draw(found, test), caption, wide=True)
    return (
        "<h2>What was done to these pictures?</h2><p>None of them is a training picture. Each "
        "block votes for the distortion that it resembles most, shown by colour, pattern and "
        f"letter. The more opaque a block is, the more certain its vote.</p>{figures}"
    )


# --- the report ----------------------------------------------------------------------------------


def _page(dataset: Dataset, models: dict[str, Model], answers: str, name: str, mark: str) -> str:
    """Return the report.

    Parameters
    ----------
    dataset
        The pictures to show.
    models
        A trained model for each method, by its title.
    answers
        The HTML of the recognised pictures.
    name
        The name of the sample picture.
    mark
        The text by which a later demonstration knows that it may replace this one.
    """
    from isca_gui.core.distortion.distortions import DISTORTIONS

    sections = ""
    for label in dataset.classes[1:]:
        row = DISTORTIONS[label]
        title = html.escape(f"{row.letter} – {row.title}")
        kind = "structural" if row.structural else "not structural"
        sections += f"<h2>{title}</h2><p>{html.escape(row.sentence)} ({kind})</p>"
        for index, found in enumerate(dataset.labels):
            if found == label:
                sections += _dataset_figure(dataset, index)
    return (
        f"<!doctype html><html lang=en><meta charset='utf-8'><meta name=generator content='{mark}'>"
        f"<title>ISCA Studio: {html.escape(name)}</title>"
        f"<style>{_STYLE}</style><h1>Six distortions with the same error</h1>"
        f"<p>{html.escape(name)}, distorted in six ways to the same mean squared errors (MSE). "
        "Judged by the MSE, the pictures in a column are equally far from the reference. Their "
        "structural similarity (SSIM, 1 = identical) differs, and agrees better with the eye.</p>"
        f"{_dataset_figure(dataset, 0)}{sections}{_models_section(dataset, models)}{answers}"
        "</html>\n"
    )


def _models_section(dataset: Dataset, models: dict[str, Model]) -> str:
    """Return the section on what the subspaces keep of a picture, and what they look like."""
    import numpy as np

    isca = models["ISCA"]
    rows = "".join(
        f"<tr><td>{html.escape(title)}</td><td>{model.steps[-1].objective:.4f}</td></tr>"
        for title, model in models.items()
    )
    reconstruction = isca.reconstruct(dataset.reference)
    pictures = _figure(reconstruction, "the reference, reconstructed from four numbers per block")
    for which in ("U", "V", "J"):
        basis = isca.basis_picture(which, 0)
        scale = max(float(np.abs(basis).max()), 1e-9)
        pictures += _figure(0.5 + basis / (2 * scale), f"{which}, first component; grey is zero")
    return (
        "<h2>What was learned</h2><p>For each block of 8×8 pixels, a subspace of four dimensions, "
        "learned from six distortions at twenty levels. The loss is the mean SSIM distance "
        "between a block and its projection onto the subspace: lower is better.</p>"
        f"<table><tr><th>method</th><th>loss</th></tr>{rows}</table>{pictures}"
    )


def _dataset_figure(dataset: Dataset, index: int) -> str:
    from isca_gui.core.distortion.distortions import DISTORTIONS
    from isca_gui.core.pictures import ssim

    entry = dataset.entries[index]
    picture = dataset.pictures[index]
    if index == 0:
        return _figure(picture, "the reference")
    similarity = ssim.ssim_map(dataset.reference, picture).mean()
    unit = DISTORTIONS[entry.label].unit
    strength = f"{entry.strength:.4g} ({unit})"
    return _figure(
        picture, f"MSE {entry.achieved_mse:.1f}, SSIM {similarity:.3f}, strength {strength}"
    )


def _figure(picture: NDArray[Any], caption: str, *, wide: bool = False) -> str:
    """Return a figure with the picture embedded in it: grey values in [0, 1], or 8-bit RGB."""
    import numpy as np
    from PIL import Image

    if picture.dtype != np.uint8:
        picture = np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "PNG")
    data = base64.b64encode(stream.getvalue()).decode()
    text = html.escape(caption)
    style = " style='width: 100%'" if wide else ""
    return (
        f"<figure{style}><img alt='{text}' src='data:image/png;base64,{data}'>"
        f"<figcaption>{text}</figcaption></figure>"
    )
