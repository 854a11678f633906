"""Models and helpers that several tests of viewers share."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from isca_gui.core.model import training
from isca_gui.core.progress import run as finish
from isca_gui.core.settings import TrainingSettings

if TYPE_CHECKING:
    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from tests.gui.conftest import Studio

KERNEL = TrainingSettings(method="kernel-pca", kernel="rbf")
RANDOM = TrainingSettings(method="random", components=3)


@pytest.fixture(scope="session")
def kernel_model(small: Dataset) -> Model:
    return finish(training.train(small, KERNEL))


@pytest.fixture(scope="session")
def random_model(small: Dataset) -> Model:
    return finish(training.train(small, RANDOM))


def add_run(studio: Studio, model: Model) -> int:
    """Add a run with a trained model and return its number."""
    number = studio.session.begin_run(model.settings)
    studio.session.end_run(model)
    return number


def text_colours(drawing: bytes) -> dict[str | None, str | None]:
    """Return the colour of every text of an SVG drawing."""
    colours = {}
    for group in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}g"):
        for each in group.findall("{http://www.w3.org/2000/svg}text"):
            colours[each.text] = each.get("fill", group.get("fill"))
    return colours
