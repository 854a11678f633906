"""The sample pictures: those of scikit-image that are large enough."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from isca_gui.core.pictures.image import ImageError

PREFIX = "sample:"


@dataclass(frozen=True)
class Sample:
    """A sample picture: its name after `sample:`, its file, and its title."""

    name: str
    file: str
    title: str


TABLE = (
    Sample("camera", "camera.png", "Photographer with a camera, 512×512"),
    Sample("astronaut", "astronaut.png", "Portrait of an astronaut, 512×512"),
    Sample("coffee", "coffee.png", "Cup of coffee, 600×400"),
    Sample("moon", "moon.png", "Surface of the moon, 512×512"),
    Sample("brick", "brick.png", "Brick wall, 512×512"),
    Sample("grass", "grass.png", "Lawn, 512×512"),
    Sample("gravel", "gravel.png", "Gravel, 512×512"),
    Sample("chelsea", "chelsea.png", "Cat's face, 451×300"),
    Sample("coins", "coins.png", "Greek coins, 384×303"),
    Sample("rocket", "rocket.jpg", "Rocket at the launch pad, 640×427"),
    Sample("motorcycle", "motorcycle_left.png", "Motorcycle in a workshop, 741×500"),
    Sample("hubble", "hubble_deep_field.jpg", "Galaxies, 1000×872"),
    Sample("retina", "retina.jpg", "Back of an eye, 1411×1411"),
)
SAMPLES = {sample.name: sample for sample in TABLE}


def resolve(name: str) -> Path:
    """Return the file behind `sample:NAME`, or the path itself for any other name."""
    if not name.startswith(PREFIX):
        return Path(name)
    sample = SAMPLES.get(name.removeprefix(PREFIX))
    if sample is None:
        raise ImageError(
            f"There is no sample picture '{name}'. Choose one of {', '.join(SAMPLES)}."
        )
    return folder() / sample.file


def folder() -> Path:
    """Return the folder of scikit-image's pictures."""
    # Looking the package up does not import it, which would take a second.
    spec = importlib.util.find_spec("skimage")
    if spec is None or not spec.submodule_search_locations:
        raise ImageError("The sample pictures are part of scikit-image, which is not installed.")
    return Path(next(iter(spec.submodule_search_locations)), "data")
