"""What a solver reports after every epoch, where it stands, and how it may end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isca_gui.core.progress import Cancelled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.floating[Any]]

CONVERGED, MAX_EPOCHS, STOPPED = "converged", "max_epochs", "stopped"


class SolverError(Exception):
    """A training has diverged; the message names the epoch and what to lower."""


def no_model() -> Cancelled:
    """Return the error of a training stopped within its first epoch: a random start is no model."""
    return Cancelled("Stopped before the end of the first epoch, so there is no model to keep.")


@dataclass(frozen=True)
class Step:
    """One epoch of ADMM, or one iteration of the direct solver. All figures are better when lower.

    `error` is the paper's criterion, f at the iterated U right after each update, averaged over images and
    blocks; U is not orthonormal then, so it looks better than it is. `objective` is the average of f for the
    orthonormalised basis. Residuals are root mean squares over the blocks: `primal` of ‖U − V‖, `dual` of
    ρ‖V − V an epoch ago‖; `gradient` of the gradient along the manifold, known to the direct solver only.
    """

    epoch: int
    error: float
    objective: float
    primal: float = 0.0
    dual: float = 0.0
    orthonormality: float = 0.0  # largest |UᵀU − I|
    gradient: float = math.nan
    seconds: float = 0.0
    basis: Array | None = None


@dataclass(frozen=True, eq=False)
class State:
    """All that a training needs to go on: matrices (block, coordinate, component), epochs and seconds so far.

    `lengths` (block,) are the direct solver's next step lengths.
    """

    u: Array
    v: Array
    j: Array
    epoch: int = 0
    seconds: float = 0.0
    objective: float = math.inf
    lengths: Array | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """How a training ended, and its state then: that of the last whole epoch."""

    state: State
    end: str
    steps: tuple[Step, ...]
