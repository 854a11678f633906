"""One distorted picture as the dataset would have it, to be looked at before all are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isca_gui.core.distortion import dataset, strength_search
from isca_gui.core.distortion.strength_search import UnreachableError
from isca_gui.core.pictures import ssim

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Picture = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Preview:
    """A distorted picture as the dataset would have it; `problem` says why there is none."""

    kind: str
    target_mse: float
    picture: Picture | None
    achieved_mse: float = 0.0
    strength: float = 0.0
    ssim: float = 0.0
    problem: str = ""


def make_preview(reference: Picture, kind: str, mse: float, seed: int) -> Preview:
    """Distort as the dataset does for this kind and MSE."""
    try:
        made = strength_search.distort(reference, kind, mse, dataset.picture_seed(seed, kind, mse))
    except UnreachableError as error:
        return Preview(kind, mse, None, problem=str(error))
    similarity = float(ssim.ssim_map(reference, made.picture).mean())
    return Preview(kind, mse, made.picture, made.achieved_mse, made.strength, similarity)


# Imported in the jobs' threads: the compiler behind these would hold up the start by half a second.
