"""How strongly a picture is distorted: the MSE of training pictures that moved as far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.distortion.dataset_spec import HIGHEST_MSE
from isca_gui.core.model.descriptor import EXTRA

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
    """Return the MSE of a picture, interpolated between the training pictures of its kind.

    A distortion that does the same to a picture every time is measured by how far its descriptors
    have moved from the reference over the blocks of its kind. Noise hits other pixels in every
    picture, and the subspace has learned the noise of the training pictures: it is measured over
    all blocks by what no basis can change, see `_noise_energy`.

    Parameters
    ----------
    described
        Descriptors of the picture (block, 1, number).
    known
        Descriptors of the training pictures (block, image, number), the reference first.
    levels
        The MSE of every training picture (image,).
    members
        Numbers of the training pictures of the picture's kind.
    blocks
        Which blocks vote for the kind or the original (block,).
    inside
        How many of the first numbers of a descriptor are coordinates in pixels; 0 for a kernel.
    noise
        Whether the kind is random.
    """
    members = members[np.argsort(levels[members])]
    if noise:
        mine, theirs = _noise_energy(described, known[:, members], known[:, :1], inside)
    elif blocks.any():
        reference = known[blocks][:, :1]
        mine = float(np.square(described[blocks] - reference).sum(axis=2).mean())
        moved = np.square(known[np.ix_(blocks, members)] - reference).sum(axis=2)
        theirs = moved.mean(axis=0, dtype=np.float64)
    else:
        return 0.0
    member_levels = levels[members]
    rising = np.maximum.accumulate(np.maximum(theirs, 0.0))
    last = float(rising[-1])
    if mine < last:
        return float(np.interp(mine, [0.0, *rising], [0.0, *member_levels]))
    # Beyond the strongest training picture the MSE grows with the squared distance.
    factor = mine / last if last > 0 else 1.0
    return min(float(member_levels[-1] * factor), HIGHEST_MSE)


def _noise_energy(
    described: Floats, known: Floats, reference: Floats, inside: int
) -> tuple[float, NDArray[np.float64]]:
    """Return how much energy noise adds to a picture, and to those known of its kind (image,).

    Coordinates in the subspace (the first `inside` numbers) and the rest count together. But where
    many pixels are black or white, noise is clipped there and takes contrast away. It is then
    measured by how much the blocks' lengths and means have changed, up or down, which is less than
    the energy that noise adds where it is not clipped.
    """
    start = _lengths(reference, inside)
    mine = _lengths(described, inside)
    theirs = _lengths(known, inside)
    energy = (np.square(theirs) - np.square(start)).mean(axis=0)
    their_shift = known[:, :, -EXTRA] - reference[:, :, -EXTRA]
    changed = np.square(theirs - start) + np.square(their_shift)
    moved = changed.mean(axis=0, dtype=np.float64)
    if (energy >= moved).all():
        return float((np.square(mine) - np.square(start)).mean()), energy
    my_shift = described[:, :, -EXTRA] - reference[:, :, -EXTRA]
    return float((np.square(mine - start) + np.square(my_shift)).mean()), moved


def _lengths(described: Floats, inside: int) -> NDArray[np.float64]:
    """Return ‖x‖ of every block, x less its mean and the model's offset, as (block, image)."""
    part = np.concatenate([described[:, :, :inside], described[:, :, -2:-1]], axis=2)
    lengths: NDArray[np.float64] = np.sqrt(np.square(part, dtype=np.float64).sum(axis=2))
    return lengths
