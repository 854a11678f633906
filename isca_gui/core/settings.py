"""Frozen, validated settings of a training; the defaults are the paper's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isca_gui.core.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Collection

SOLVERS = ("admm", "direct")
METRICS = ("published", "natural")
PRECISIONS = ("float32", "float64")
# The names of the kernels; `core.solvers.kernels` holds their functions.
KERNELS = ("linear", "rbf", "sigmoid", "polynomial", "cosine")

# What the direct solver takes where the settings leave it open. With this tolerance 581 verdicts on
# 16 pictures were those at the exact end, and 99.2 % of the votes; between two exact ends with
# other seeds 579 were the same, and 98.6 %.
_DIRECT_ITERATIONS = 200
_DIRECT_TOLERANCE = 2e-3
# The exact end: nothing that is shown changes any more.
EXACT_TOLERANCE = 1e-3

# The least and the largest value of each number.
_LIMITS = {
    "epochs": (1, 1_000_000),
    "rho": (1e-6, 1e6),
    "eta": (1e-9, 1e3),
    "tolerance": (0, 1),
    "gamma": (1e-9, 1e9),
    "coef0": (-1e6, 1e6),
    "degree": (1, 10),
    "keep_every": (0, 1_000_000),
}


class SettingsError(ValueError):
    """A setting has an impossible value; the message says which, and what it may be.

    `field` names the setting, such as `components` or `levels`; it is empty where none is to blame
    alone.
    """

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class TrainingSettings:
    """How to train; what is None has the paper's value for the method, see `resolved`."""

    method: str = "isca"
    solver: str = "admm"
    kernel: str = "linear"
    components: int = 4  # p
    block: int = 8  # side of a block in pixels; q is its square
    epochs: int | None = None  # most epochs of ADMM, or iterations of the direct solver
    rho: float | None = None  # ADMM's penalty ρ
    eta: float = 0.1  # ADMM's learning rate η
    tolerance: float | None = None  # converged below this; 0, as published, runs all epochs
    gamma: float | None = None  # the kernel's γ; None is 1/q
    coef0: float = 1.0
    degree: int = 3  # of the polynomial kernel
    metric: str = "published"  # of kernel ISCA's update; "natural" converges properly
    seed: int = 0
    precision: str = "float32"
    keep_every: int = 0  # keep a copy of the basis every so many epochs; 0 keeps none

    def __post_init__(self) -> None:
        _check_choice("method", self.method, METHODS)
        _check_choice("solver", self.solver, SOLVERS)
        _check_choice("kernel", self.kernel, KERNELS)
        _check_choice("metric", self.metric, METRICS)
        _check_choice("precision", self.precision, PRECISIONS)
        if not 2 <= self.block <= 64:
            raise SettingsError(
                f"the block side must be 2 to 64 pixels, not {self.block}", field="block"
            )
        if not 1 <= self.components <= self.block**2:
            raise SettingsError(
                f"components must be 1 to {self.block**2} (pixels in a block), "
                f"not {self.components}",
                field="components",
            )
        for name in _LIMITS:
            _check_number(name, getattr(self, name))
        check_seed(self.seed)

    def resolved(self) -> TrainingSettings:
        """Return the settings with the paper's values for the method filled in."""
        method = METHODS[self.method]
        epochs = method.epochs
        tolerance = 0.0
        if self.solver == "direct":
            epochs = _DIRECT_ITERATIONS
            tolerance = _DIRECT_TOLERANCE
        if self.tolerance is not None:
            tolerance = self.tolerance
        return replace(
            self,
            epochs=self.epochs or epochs,
            rho=self.rho or method.rho,
            tolerance=tolerance,
            gamma=self.gamma or 1.0 / self.block**2,
        )

    @property
    def uses_kernel(self) -> bool:
        """Whether the method works in a kernel's feature space."""
        return METHODS[self.method].uses_kernel

    @property
    def iterative(self) -> bool:
        """Whether the method is solved in epochs, by a solver."""
        return METHODS[self.method].iterative


def _check_choice(name: str, value: str, choices: Collection[str]) -> None:
    """Refuse a value that is not among the choices."""
    if value not in choices:
        known = ", ".join(choices)
        raise SettingsError(f"{name} must be one of {known}, not '{value}'", field=name)


def _check_number(name: str, value: float | None) -> None:
    """Refuse a number outside its limits; NaN is never within them."""
    low, high = _LIMITS[name]
    if value is None or low <= value <= high:
        return
    shown = f"{value:g}" if isinstance(value, float) else str(value)[:20]
    raise SettingsError(f"{name} must be between {low:g} and {high:g}, not {shown}", field=name)


def check_seed(seed: int) -> None:
    """Refuse a seed that a random generator or a file could not hold."""
    if not 0 <= seed < 2**63:
        raise SettingsError(
            f"the seed must be a whole number from 0 to 2⁶³ − 1, not {seed}", field="seed"
        )


def number_text(number: float) -> str:
    """Return the shortest text that is read back as the same number."""
    short = f"{number:g}"
    if float(short) == number:
        return short
    return repr(float(number))
