"""One distorted copy as the dataset would have it, to be looked at before all are made."""

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
    """A distorted copy as the dataset would have it; `problem` says why there is none."""

    kind: str
    target_mse: float
    picture: Picture | None
    achieved_mse: float = 0.0
    strength: float = 0.0
    ssim: float = 0.0
    problem: str = ""


def make_preview(reference: Picture, kind: str, mse: float, seed: int) -> Preview:
    """Distort a picture as the dataset of this seed does for a kind and an MSE.

    Parameters
    ----------
    reference
        Undistorted picture, (height, width), float32 in [0, 1].
    kind
        A distortion, or a mixture such as ``blur+jpeg``.
    mse
        The mean squared error to reach, on the 0 to 255 scale.
    seed
        The seed of the dataset; the copy's own seed is derived from it.
    """
    try:
        made = strength_search.distort(reference, kind, mse, dataset.picture_seed(seed, kind, mse))
    except UnreachableError as error:
        return Preview(kind, mse, None, problem=str(error))
    similarity = float(ssim.ssim_map(reference, made.picture).mean())
    return Preview(kind, mse, made.picture, made.achieved_mse, made.strength, similarity)
