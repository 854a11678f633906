"""Kinds of damage that no dataset trains: what a model must call unlike anything it has seen."""

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
    """Over a square, of 8-bit values: by histograms, since sorting takes seconds for a large one."""
    from skimage.filters import rank  # half a second to load, and only this needs it

    side = int(strength)
    grey = np.rint(picture * 255).astype(np.uint8)
    found: Picture = rank.median(grey, np.ones((side, side), np.uint8)).astype(np.float32)  # type: ignore[no-untyped-call]
    return found / np.float32(255)


def _posterise(picture: Picture, strength: float, _: np.random.Generator) -> Picture:
    """Leave only a few grey levels."""
    steps = np.float32(strength - 1)
    found: Picture = np.rint(picture * steps) / steps
    return found


UNTRAINED: dict[str, tuple[Apply, tuple[float, ...]]] = {
    "speckle noise": (_speckle, tuple(np.geomspace(0.03, 1, 24).tolist())),
    "jpeg 2000": (_jpeg2000, tuple(np.geomspace(8, 800, 24).tolist())),
    "median filter": (_median, tuple(float(size) for size in range(3, 40, 2))),
    "posterisation": (_posterise, tuple(float(levels) for levels in range(2, 17))),
}


def strengths(
    picture: Picture, kind: str, low: float, high: float, stop: Callable[[], bool] = lambda: False
) -> list[float]:
    """Give the strengths that lead to an MSE between `low` and `high`, or else the one that comes nearest.

    Once `stop` says so, no more than one further strength is tried.
    """
    apply, ladder = UNTRAINED[kind]
    random = np.random.default_rng(0)
    reached: list[tuple[float, float]] = []
    for strength in ladder:
        reached.append((mse(apply(picture, strength, random), picture), strength))
        if stop() or (
            kind == "median filter" and reached[-1][0] > high
        ):  # slow, and only growing from here
            break
    inside = [strength for error, strength in reached if low <= error <= high]
    return inside or [min(reached, key=lambda pair: abs(np.log((pair[0] + 1e-9) / low)))[1]]


def damage(picture: Picture, kind: str, strength: float, seed: int) -> Picture:
    """Damage a picture in a way that is not in the table of distortions."""
    apply, _ = UNTRAINED[kind]
    return apply(picture, strength, np.random.default_rng(seed)).astype(np.float32)
