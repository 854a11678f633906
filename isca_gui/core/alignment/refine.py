"""The fine search: least squares on shift, scale and angle, from thumbnails to the full size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from isca_gui.core.alignment.placement import whole
from isca_gui.core.alignment.pyramid import structure
from isca_gui.core.alignment.resampling import bring, covered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.alignment.placement import Placement
    from isca_gui.core.alignment.pyramid import Pyramid
    from isca_gui.core.alignment.resampling import Window

    Floats = NDArray[np.float32]
    Array = NDArray[np.float64]

# How many of a placement's numbers are free: its shift, shift and scales, or its angle as well.
ONLY_SHIFT = 2
NO_ROTATION = 4
ALL = 5

_RIM = 4
_MOST_STEPS = 8
_FEW_STEPS = 6
# A step of less than this many pixels ends the search.
_SMALL = 0.01
# Residuals beyond this many median deviations hardly weigh: parts may be covered.
_FAR = 2.5
_LEAST_PIXELS = 200
# Both have to share this much of the smaller one, and the search ends where it drifts this far, as
# a share of the copy's side.
_LEAST_OVERLAP = 0.2
_MOST_DRIFT = 0.08
# What is less alike after two steps does not become the right place.
_HOPELESS = 0.2


def likeness(made: Floats, copy: Floats, mask: NDArray[np.bool_]) -> float:
    """Return how alike two structures are where a mask is, as a correlation of 0 to 1."""
    first = made[mask].astype(np.float64)
    second = copy[mask].astype(np.float64)
    length = np.sqrt((first @ first) * (second @ second))
    return float(abs(first @ second) / length) if length > 1e-6 else 0.0


def structures(
    reference: Pyramid, placement: Placement, picture: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the structure of the reference on the pixels of a copy, and where both are."""
    made = structure(reference.bring(placement, picture.shape))
    turned = whole(reference.shape, placement.turn)
    there = covered(placement, (int(turned.bottom), int(turned.right)), picture.shape)
    return made, _without_rim(there)


def _without_rim(there: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a mask without its rim, where the structure is not that of the reference alone."""
    if there.all():
        return there
    found: NDArray[np.bool_] = (
        ndimage.uniform_filter(there.astype(np.float32), 2 * _RIM + 1, mode="nearest") > 0.999
    )
    return found


def refine(
    reference: Pyramid, placement: Placement, picture: Floats, freedom: int = ALL
) -> tuple[Placement, float]:
    """Return a better placement of a copy and how alike both are there.

    Parameters
    ----------
    reference
        The reference.
    placement
        Where to begin.
    picture
        The copy at any size.
    freedom
        `ONLY_SHIFT`, `NO_ROTATION` or `ALL`.
    """
    best = (placement, 0.0)
    begin = placement
    ours = structure(picture)
    last = False
    for step in range(_MOST_STEPS):
        if placement.distance(begin, picture.shape) > _MOST_DRIFT * max(picture.shape):
            break
        made, mask = structures(reference, placement, picture)
        least = max(_LEAST_PIXELS, _LEAST_OVERLAP * _smaller(reference, placement, picture))
        if mask.sum() < least:
            break
        match = likeness(made, ours, mask)
        if match < best[1] - 0.02:
            break
        if match > best[1]:
            best = (placement, match)
        if last or (step >= 2 and best[1] < _HOPELESS):
            break
        change = least_squares([(made, ours, mask, (0, 0))], picture.shape, freedom)
        placement = placement.moved(change, picture.shape)
        last = _size(change, picture.shape) < _SMALL
    return best


def refine_at(
    reference: Pyramid,
    placement: Placement,
    picture: Floats,
    windows: list[Window],
    freedom: int = ALL,
    kernel: str | None = None,
) -> Placement:
    """Return a placement that was made better by what some windows of the copy show.

    Parameters
    ----------
    reference
        The reference.
    placement
        Where to begin: right within a few pixels.
    picture
        The copy; a pixel of it is no smaller than one of the reference.
    windows
        Top, bottom, left, right of each.
    freedom
        `ONLY_SHIFT`, `NO_ROTATION` or `ALL`.
    kernel
        The way in which the copy was resampled, if it is known: then the pictures themselves are
        compared, and not their structures.
    """
    source = reference.level(0, placement.turn, placement.mirrored)
    view = structure if kernel is None else _centred
    ours = [view(picture[top:bottom, left:right]) for top, bottom, left, right in windows]
    for _ in range(_FEW_STEPS):
        parts = []
        for window, copied in zip(windows, ours, strict=True):
            mask = _without_rim(covered(placement, source.shape, picture.shape, window))
            if mask.sum() < _LEAST_PIXELS:
                continue
            made = view(bring(source, placement, picture.shape, kernel or "bicubic", window))
            parts.append((made, copied, mask, (window[0], window[2])))
        if not parts:
            break
        change = least_squares(parts, picture.shape, freedom)
        placement = placement.moved(change, picture.shape)
        if _size(change, picture.shape) < _SMALL:
            break
    return placement


def _centred(picture: Floats) -> Floats:
    found: Floats = picture - picture.mean()
    return found


def _smaller(reference: Pyramid, placement: Placement, picture: Floats) -> float:
    """Return the area of the copy or of the reference on its grid, whichever is smaller."""
    across, down = placement.steps(picture.shape)
    return min(picture.size, reference.picture.size / (across * down))


def _size(change: Array, shape: tuple[int, ...]) -> float:
    half = max(shape) / 2
    return float(np.abs(change[:2]).max() + half * np.abs(change[2:]).max())


def least_squares(
    parts: list[tuple[Floats, Floats, NDArray[np.bool_], tuple[int, int]]],
    shape: tuple[int, ...],
    freedom: int,
) -> Array:
    """Return the change of a placement that brings two structures together.

    Parameters
    ----------
    parts
        Structure of the reference on the copy's pixels, of the copy, where both are, and the
        upper left corner of the part.
    shape
        Of the whole copy.
    freedom
        `ONLY_SHIFT`, `NO_ROTATION` or `ALL`.

    Returns
    -------
    NDArray[np.float64]
        As `Placement.moved` takes it.
    """
    half = max(shape) / 2
    rows = []
    values = []
    for made, copy, mask, corner in parts:
        # The copy's own gradients have its noise in them, which would draw the answer to zero.
        down: Floats = np.gradient(made, axis=0)
        across: Floats = np.gradient(made, axis=1)
        y, x = np.nonzero(mask)
        gx = across[mask]
        gy = down[mask]
        u = ((x + corner[1] + 0.5 - shape[1] / 2) / half).astype(np.float32)
        v = ((y + corner[0] + 0.5 - shape[0] / 2) / half).astype(np.float32)
        columns = [gx, gy, gx * u, gy * v, gy * u - gx * v][:freedom]
        rows.append(np.stack([*columns, made[mask]]))
        values.append(copy[mask])
    solution = _robust(np.concatenate(rows, 1), np.concatenate(values))
    gain = solution[-1]
    if abs(gain) < 1e-3:
        return np.zeros(5)
    change = np.zeros(5)
    change[: len(solution) - 1] = solution[:-1] / (np.sign(gain) * max(abs(gain), 0.2))
    change[2:] /= half
    limit = np.array([3.0, 3.0, 0.05, 0.05, 0.05])
    return np.clip(change, -limit, limit)


def _robust(matrix: Floats, values: Floats) -> Array:
    """Solve twice; values that are far off the first time weigh little the second time."""
    solution: Array = np.zeros(len(matrix))
    weights: Floats = np.ones(len(values), np.float32)
    for _ in range(2):
        weighted = matrix * weights
        normal = (weighted @ matrix.T).astype(np.float64)
        normal += np.eye(len(normal)) * (1e-6 * np.trace(normal) / len(normal) + 1e-9)
        right = (weighted @ values).astype(np.float64)
        solution = np.asarray(np.linalg.solve(normal, right), np.float64)
        rest = values - solution.astype(np.float32) @ matrix
        # Every seventh is enough for a median.
        scale = _FAR * 1.48 * float(np.median(np.abs(rest[::7]))) + 1e-6
        weights = (1 / (1 + np.square(rest / np.float32(scale)))).astype(np.float32)
    return solution
