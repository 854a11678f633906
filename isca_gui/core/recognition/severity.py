"""How strongly a picture was distorted: the MSE at which training pictures of its kind have gone as far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.model.descriptor import EXTRA
from isca_gui.core.settings import HIGHEST_MSE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.recognition.neighbours import Floats


def severity(
    described: Floats,
    known: Floats,
    levels: NDArray[np.float64],
    members: NDArray[np.intp],
    blocks: NDArray[np.bool_],
    inside: int,
    *,
    noise: bool,
) -> float:
    """Interpolate the level of a picture between those of the training pictures `members` of one kind.

    What does the same to a picture every time is measured by how far its descriptors have moved from the
    reference, the first of the training pictures, over the blocks of its kind. Noise hits other pixels in
    every picture, and a subspace has learned that of its training pictures: it is measured over all blocks by
    what no basis can change, see `_noise`.
    """
    order = np.argsort(levels[members])
    members = members[order]
    if noise:
        far, moved = _noise(described, known[:, members], known[:, :1], inside)
    elif blocks.any():
        start = known[blocks][:, :1]
        far = float(np.square(described[blocks] - start).sum(axis=2).mean())
        moved = (
            np.square(known[np.ix_(blocks, members)] - start)
            .sum(axis=2)
            .mean(axis=0, dtype=np.float64)
        )
    else:
        return 0.0
    at, rising = levels[members], np.maximum.accumulate(np.maximum(moved, 0.0))
    last = float(rising[-1])
    if far >= last:
        return min(float(at[-1] * (far / last if last > 0 else 1.0)), HIGHEST_MSE)
    return float(np.interp(far, [0.0, *rising], [0.0, *at]))


def _noise(
    described: Floats, known: Floats, start: Floats, inside: int
) -> tuple[float, NDArray[np.float64]]:
    """Measure noise in a picture, and in those known of its kind, weakest first, beside the reference.

    It adds energy, coordinates in the subspace (the first `inside` numbers) and the rest together. But where
    many pixels are black or white it is cut off there and takes contrast away: then by how much the blocks'
    lengths and means have changed, up or down. Noise that is not cut off adds more energy than that.
    """
    lengths, mine, first = (_lengths(each, inside) for each in (known, described, start))
    energy = (np.square(lengths) - np.square(first)).mean(axis=0)
    means, own = (each[:, :, -EXTRA] - start[:, :, -EXTRA] for each in (known, described))
    moved = (np.square(lengths - first) + np.square(means)).mean(axis=0, dtype=np.float64)
    if (energy >= moved).all():
        return float((np.square(mine) - np.square(first)).mean()), energy
    return float((np.square(mine - first) + np.square(own)).mean()), moved


def _lengths(described: Floats, inside: int) -> NDArray[np.float64]:
    """Give ‖x‖ of every block, x less its mean and the model's offset, as (block, image)."""
    part = np.concatenate([described[:, :, :inside], described[:, :, -2:-1]], axis=2)
    lengths: NDArray[np.float64] = np.sqrt(np.square(part, dtype=np.float64).sum(axis=2))
    return lengths
