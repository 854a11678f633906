"""A placement: which part of the reference a copy shows, turned and mirrored in which way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TURNS = (0, 90, 180, 270)


@dataclass(frozen=True)
class Placement:
    """Where the copy's pixels lie in the reference.

    The reference is mirrored first and turned then. Positions are counted from the upper left
    corner of a picture, so that the middle of its first pixel is at (0.5, 0.5).

    Parameters
    ----------
    left, top, right, bottom
        The rectangle of the turned reference that the copy shows, in pixels. What lies beyond the
        reference is padding.
    turn
        0, 90, 180 or 270 degrees, counterclockwise.
    mirrored
        Whether left and right were exchanged before.
    angle
        A further small rotation about the copy's middle, degrees counterclockwise.
    """

    left: float
    top: float
    right: float
    bottom: float
    turn: int = 0
    mirrored: bool = False
    angle: float = 0.0

    @property
    def is_upright(self) -> bool:
        """Whether nothing is turned, mirrored or rotated."""
        return self.turn == 0 and not self.mirrored and self.angle == 0

    def steps(self, shape: tuple[int, ...]) -> tuple[float, float]:
        """Return how many pixels of the reference one of the copy covers, along x and y."""
        return (self.right - self.left) / shape[1], (self.bottom - self.top) / shape[0]

    def oriented(self, picture: NDArray[Any]) -> NDArray[Any]:
        """Return a picture mirrored and turned, as a view."""
        return oriented(picture, self.turn, self.mirrored)

    def moved(self, change: Array, shape: tuple[int, ...]) -> Placement:
        """Return the placement after a change that was found on the copy's grid.

        Parameters
        ----------
        change
            Shift along x and y in the copy's pixels, relative growth along x and y, and the
            rotation in radians, clockwise.
        shape
            Of the copy.
        """
        step_x, step_y = self.steps(shape)
        cosine, sine = np.cos(np.deg2rad(self.angle)), np.sin(np.deg2rad(self.angle))
        across = step_x * (cosine * change[0] - sine * change[1])
        down = step_y * (sine * change[0] + cosine * change[1])
        middle_x = (self.left + self.right) / 2 + across
        middle_y = (self.top + self.bottom) / 2 + down
        half_x = (self.right - self.left) / 2 * (1 + change[2])
        half_y = (self.bottom - self.top) / 2 * (1 + change[3])
        return replace(
            self,
            left=float(middle_x - half_x),
            right=float(middle_x + half_x),
            top=float(middle_y - half_y),
            bottom=float(middle_y + half_y),
            angle=float(self.angle + np.rad2deg(change[4])),
        )

    def places(self, shape: tuple[int, ...], points: Array) -> Array:
        """Return where points of the copy lie in the turned reference, shape (point, 2) as x, y."""
        step = np.array(self.steps(shape))
        middle = np.array([(self.left + self.right) / 2, (self.top + self.bottom) / 2])
        offset = points - np.array([shape[1] / 2, shape[0] / 2])
        angle = np.deg2rad(self.angle)
        turned = offset @ np.array(
            [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
        )
        found: Array = middle + turned * step
        return found

    def distance(self, other: Placement, shape: tuple[int, ...]) -> float:
        """Return how far two placements differ at a corner, in the copy's pixels at most."""
        corners = np.array(
            [(0, 0), (0, shape[0]), (shape[1], 0), (shape[1], shape[0])], dtype=np.float64
        )
        apart = (self.places(shape, corners) - other.places(shape, corners)) / self.steps(shape)
        return float(np.hypot(apart[:, 0], apart[:, 1]).max())


def oriented(picture: NDArray[Any], turn: int, mirrored: bool) -> NDArray[Any]:
    """Return a picture mirrored where asked for and then turned counterclockwise, as a view."""
    return np.rot90(picture[:, ::-1] if mirrored else picture, turn // 90)


def whole(shape: tuple[int, ...], turn: int = 0, mirrored: bool = False) -> Placement:
    """Return the placement of a copy that shows all of a reference of a shape."""
    height, width = shape[:2] if turn % 180 == 0 else (shape[1], shape[0])
    return Placement(0.0, 0.0, float(width), float(height), turn, mirrored)
