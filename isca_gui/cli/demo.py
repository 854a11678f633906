"""`isca demo`: the whole program on a sample picture, with a report.

Three copies of the sample are compared with it. Then the method is shown: the sample is distorted
in six ways, models are trained on that, and new pictures recognised.
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

# What is done to the copies that are compared.
_QUALITY = 60
_DARKER = 20
_BLUR = 1.5
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
h1 { font-size: 1.8rem; } h2 { font-size: 1.4rem; margin-top: 3rem; }
.shown { display: inline-block; margin: 0 1rem 1rem 0; width: 18rem; vertical-align: top; }
.wide { margin: 0 0 2rem; }
img { width: 100%; display: block; }
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
    from isca_gui.core.distortion.dataset_spec import DatasetSpec
    from isca_gui.core.pictures import image, samples
    from isca_gui.core.settings import TrainingSettings
    from isca_gui.core.storage import files

    _check_target(folder)
    compared = yield from _compare(image.read_colour(samples.resolve(name)))
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
            method = _method(shown, models, name)
            page = _page(name, _mark(saved), f"{compared}{method}{answers}")
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


def _compare(reference: NDArray[np.float32]) -> Generator[Progress, None, str]:
    """Compare copies made in memory with the sample; return the answers as HTML."""
    from isca_gui.core.comparison import report
    from isca_gui.core.comparison.batch import CopyResult
    from isca_gui.core.comparison.compare import compare
    from isca_gui.core.progress import Progress

    copies = _copies(reference)
    sections = ""
    for index, (title, copy) in enumerate(copies.items()):
        yield Progress(index, len(copies), "comparing")
        found = compare(reference, copy)
        sections += report.section(
            CopyResult(title, found, reference=reference, copy=copy), heading="h3"
        )
    return (
        "<h2>What was done to a copy?</h2><p>Three copies were made of the picture. The program "
        "was given their pixels and the picture itself, nothing else, and was not trained on it. "
        "<code>isca compare</code> does the same with your files.</p>"
        f"{sections}<p><small>{report.NOTES}</small></p>"
    )


def _copies(reference: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """Return copies of a picture with 8 bits, by what was done to them."""
    import numpy as np
    from scipy import ndimage

    from isca_gui.core.comparison.proof import through_jpeg

    grey_levels = reference * np.float32(255)
    sigmas = (_BLUR, _BLUR, 0)[: reference.ndim]
    made = {
        f"Saved as JPEG with quality {_QUALITY}": through_jpeg(grey_levels, _QUALITY),
        f"Darker by {_DARKER} grey levels": grey_levels - _DARKER,
        f"Blurred, σ = {_BLUR:g} pixels": ndimage.gaussian_filter(grey_levels, sigmas),
    }
    return {
        title: np.clip(np.rint(copy), 0, 255).astype(np.float32) / np.float32(255)
        for title, copy in made.items()
    }


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
        "<h2>What the blocks vote for</h2><p>None of them is a training picture. Each "
        "block votes for the distortion that it resembles most, shown by colour, pattern and "
        f"letter. The more opaque a block is, the more certain its vote.</p>{figures}"
    )


# --- the report ----------------------------------------------------------------------------------


def _page(name: str, mark: str, content: str) -> str:
    """Return the report.

    Parameters
    ----------
    name
        The name of the sample picture.
    mark
        The text by which a later demonstration knows that it may replace this one.
    content
        The HTML of all sections.
    """
    from isca_gui.core.comparison import report

    title = f"ISCA Studio: a demonstration with {html.escape(name)}"
    return (
        "<!doctype html><html lang=en><meta charset='utf-8'>"
        f"<meta name=generator content='{mark}'>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>{title}</title>"
        f"<style>{report.PAGE_STYLE}{report.SECTION_STYLE}{_STYLE}</style>"
        f"<h1>{title}</h1>{content}</html>\n"
    )


def _method(dataset: Dataset, models: dict[str, Model], name: str) -> str:
    """Return the sections on the method: the dataset, and what the models have learned of it.

    Parameters
    ----------
    dataset
        The pictures to show.
    models
        A trained model for each method, by its title.
    name
        The name of the sample picture.
    """
    from isca_gui.core.distortion.distortions import DISTORTIONS

    sections = ""
    for label in dataset.classes[1:]:
        row = DISTORTIONS[label]
        title = html.escape(f"{row.letter} – {row.title}")
        kind = "structural" if row.structural else "not structural"
        sections += f"<h3>{title}</h3><p>{html.escape(row.sentence)} ({kind})</p>"
        for index, found in enumerate(dataset.labels):
            if found == label:
                sections += _dataset_figure(dataset, index)
    return (
        "<h2>Six distortions with the same error</h2>"
        "<p>What follows is the method of the paper, which is trained on the picture. "
        f"{html.escape(name)} is distorted in six ways to the same mean squared errors (MSE). "
        "Judged by the MSE, the pictures in a column are equally far from the reference. Their "
        "structural similarity (SSIM, 1 = identical) differs, and agrees better with the eye.</p>"
        f"{_dataset_figure(dataset, 0)}{sections}{_models_section(dataset, models)}"
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
    kind = "wide" if wide else "shown"
    return (
        f"<figure class={kind}><img alt='{text}' src='data:image/png;base64,{data}'>"
        f"<figcaption>{text}</figcaption></figure>"
    )
