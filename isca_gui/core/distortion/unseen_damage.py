"""Kinds of damage that are in no dataset: a model should say that it does not recognise them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from isca_gui.core.distortion.distortions import mse

if TYPE_CHECKING:
    from collections.abc import Callable

    from isca_gui.core.distortion.distortions import Picture

    Apply = Callable[[Picture, float, np.random.Generator], Picture]


def _speckle(picture: Picture, strength: float, random: np.random.Generator) -> Picture:
    noise = random.standard_normal(picture.shape, np.float32)
    return np.clip(picture * (1 + np.float32(strength) * noise), 0, 1)


def _jpeg2000(picture: Picture, strength: float, _: np.random.Generator) -> Picture:
    coded = io.BytesIO()
    grey = Image.fromarray(np.rint(picture * 255).astype(np.uint8))
    grey.save(coded, "JPEG2000", quality_mode="rates", quality_layers=[strength], irreversible=True)
    return np.asarray(Image.open(coded), np.float32) / np.float32(255)


def _median(picture: Picture, strength: float, _: np.random.Generator) -> Picture:
    """Filter 8-bit values by the median over a square.

    By histograms, since sorting takes seconds for a large square.
    """
    # Loading it takes half a second, and nothing else needs it.
    from skimage.filters import rank

    side = int(strength)
    grey = np.rint(picture * 255).astype(np.uint8)
    square = np.ones((side, side), np.uint8)
    median: Picture = rank.median(grey, square).astype(np.float32)  # type: ignore[no-untyped-call]
    return median / np.float32(255)


def _posterise(picture: Picture, strength: float, _: np.random.Generator) -> Picture:
    """Keep only a few grey levels."""
    steps = np.float32(strength - 1)
    posterised: Picture = np.rint(picture * steps) / steps
    return posterised


# For each kind its function and the strengths to choose from.
UNTRAINED: dict[str, tuple[Apply, tuple[float, ...]]] = {
    "speckle noise": (_speckle, tuple(np.geomspace(0.03, 1, 24).tolist())),
    "jpeg 2000": (_jpeg2000, tuple(np.geomspace(8, 800, 24).tolist())),
    "median filter": (_median, tuple(float(size) for size in range(3, 40, 2))),
    "posterisation": (_posterise, tuple(float(levels) for levels in range(2, 17))),
}


def strengths(
    picture: Picture, kind: str, low: float, high: float, stop: Callable[[], bool] = lambda: False
) -> list[float]:
    """Return the strengths that give an MSE between `low` and `high`, or else the nearest one.

    Parameters
    ----------
    picture
        Shape (height, width), intensities in [0, 1].
    kind
        A key of `UNTRAINED`.
    low, high
        The MSEs to stay between.
    stop
        Once it returns True, at most one more strength is tried.
    """
    apply, choices = UNTRAINED[kind]
    random = np.random.default_rng(0)
    reached: list[tuple[float, float]] = []
    for strength in choices:
        error = mse(apply(picture, strength, random), picture)
        reached.append((error, strength))
        # A large median is slow, and its error only grows from here.
        too_far = kind == "median filter" and error > high
        if too_far or stop():
            break
    inside = [strength for error, strength in reached if low <= error <= high]
    if inside:
        return inside
    _, nearest = min(reached, key=lambda pair: abs(np.log((pair[0] + 1e-9) / low)))
    return [nearest]


def damage(picture: Picture, kind: str, strength: float, seed: int) -> Picture:
    """Damage a picture in a way that is not in the table of distortions."""
    apply, _ = UNTRAINED[kind]
    return apply(picture, strength, np.random.default_rng(seed)).astype(np.float32)
