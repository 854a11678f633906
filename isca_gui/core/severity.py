"""How strongly a picture was distorted: the MSE at which training pictures of its kind have gone as far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.neighbours import Floats


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
    their energy, coordinates in the subspace (the first `inside` numbers) and the rest together, which no
    basis can change.
    """
    if noise:
        none = float(_energy(known[:, :1], inside)[0])
        far = float(_energy(described, inside)[0]) - none
        moved = _energy(known[:, members], inside) - none
    elif blocks.any():
        start = known[blocks][:, :1]
        far = float(np.square(described[blocks] - start).sum(axis=2).mean())
        moved = np.square(known[np.ix_(blocks, members)] - start).sum(axis=2).mean(axis=0, dtype=np.float64)
    else:
        return 0.0
    order = np.argsort(levels[members])
    at, rising = levels[members][order], np.maximum.accumulate(np.maximum(moved[order], 0.0))
    last = float(rising[-1])
    if far >= last:
        return float(at[-1] * (far / last if last > 0 else 1.0))
    return float(np.interp(far, [0.0, *rising], [0.0, *at]))


def _energy(described: Floats, inside: int) -> NDArray[np.float64]:
    """Average ‖x‖² over the blocks, x with its mean removed: (block, image, number) to (image,)."""
    part = np.concatenate([described[:, :, :inside], described[:, :, -2:-1]], axis=2)
    energy: NDArray[np.float64] = np.square(part, dtype=np.float64).sum(axis=2).mean(axis=0)
    return energy
