"""What a solver reports after every epoch, where it stands, and how it may end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.floating[Any]]

# How a training may end.
CONVERGED = "converged"
MAX_EPOCHS = "max_epochs"
STOPPED = "stopped"


class SolverError(Exception):
    """A training has diverged; the message names the epoch and what to lower."""


@dataclass(frozen=True)
class Step:
    """One epoch of ADMM, or one iteration of the direct solver; lower is better for all figures.

    `error` is the paper's criterion: f at the iterated U right after each update, averaged over
    images and blocks. U is not orthonormal then, so it looks better than it is. `objective` is the
    average of f for the orthonormalised basis. Residuals are root mean squares over the blocks:
    `primal` of ‖U − V‖, `dual` of ρ‖V − V an epoch ago‖, and `gradient`, which only the direct
    solver has, of the gradient along the manifold. `seconds` counts from the start of the
    training.
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
    """All that a training needs to be resumed: matrices (block, coordinate, component) and figures.

    `lengths` (block,) are the direct solver's next step lengths. A state that is not `whole` has no
    V and J, and cannot be resumed.
    """

    u: Array
    v: Array
    j: Array
    epoch: int = 0
    seconds: float = 0.0
    objective: float = math.inf
    lengths: Array | None = None
    whole: bool = True


@dataclass(frozen=True, eq=False)
class Result:
    """How a training ended, and its state then: that of the last whole epoch."""

    state: State
    end: str
    steps: tuple[Step, ...]
