"""Frozen, validated settings of every stage; the defaults are the paper's."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from isca_gui.core.distortion.distortions import DISTORTIONS, TABLE

HIGHEST_MSE = 255.0**2
MOST_LEVELS = 10_000


class SettingsError(ValueError):
    """A setting has a value that makes no sense; the message says which, and what it may be."""


METHODS = {
    "isca": "Image structural component analysis: the paper's method",
    "kernel-isca": "The same in the feature space of a kernel",
    "pca": "Principal component analysis of every block",
    "kernel-pca": "Principal component analysis in the feature space of a kernel",
    "random": "A random subspace: what any method must beat",
}
SOLVERS = ("admm", "direct")
METRICS = ("published", "natural")
PRECISIONS = ("float32", "float64")
_PAPER_EPOCHS = {"isca": 200, "kernel-isca": 100}
_PAPER_RHO = {"isca": 1.0, "kernel-isca": 0.1}


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
        from isca_gui.core.solvers.kernels import KERNELS

        for name, choices in (
            *(("method", METHODS), ("solver", SOLVERS), ("kernel", KERNELS)),
            *(("metric", METRICS), ("precision", PRECISIONS)),
        ):
            if getattr(self, name) not in choices:
                raise SettingsError(
                    f"{name} is one of {', '.join(choices)}, not '{getattr(self, name)}'"
                )
        if not 2 <= self.block <= 64:
            raise SettingsError(f"the block side is 2 to 64 pixels, not {self.block}")
        if not 1 <= self.components <= self.block**2:
            raise SettingsError(
                f"components are 1 to {self.block**2} (pixels in a block), not {self.components}"
            )
        for name, low, high in _LIMITS:
            value = getattr(self, name)
            if value is not None and not low <= value <= high:  # nor is what is no number
                shown = f"{value:g}" if isinstance(value, float) else str(value)[:20]
                raise SettingsError(f"{name} lies between {low:g} and {high:g}, not at {shown}")
        check_seed(self.seed)

    def resolved(self) -> TrainingSettings:
        """Fill in the paper's values for the method."""
        direct = self.solver == "direct"
        return replace(
            self,
            epochs=self.epochs or (200 if direct else _PAPER_EPOCHS.get(self.method, 1)),
            rho=self.rho or _PAPER_RHO.get(self.method, 1.0),
            tolerance=self.tolerance if self.tolerance is not None else (1e-3 if direct else 0.0),
            gamma=self.gamma or 1.0 / self.block**2,
        )

    @property
    def uses_kernel(self) -> bool:
        """Whether the method works in a kernel's feature space."""
        return self.method.startswith("kernel-")


_LIMITS = (
    ("epochs", 1, 1_000_000),
    ("rho", 1e-6, 1e6),
    ("eta", 1e-9, 1e3),
    ("tolerance", 0, 1),
    ("gamma", 1e-9, 1e9),
    ("coef0", -1e6, 1e6),
    ("degree", 1, 10),
    ("keep_every", 0, 1_000_000),
)

PAPER_LEVELS = tuple(float(level) for level in range(45, 901, 45))


@dataclass(frozen=True)
class DatasetSpec:
    """Which distorted versions of a reference to make: every kind at every MSE level."""

    kinds: tuple[str, ...] = tuple(row.name for row in TABLE)
    levels: tuple[float, ...] = PAPER_LEVELS
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.kinds or not self.levels:
            raise SettingsError("a dataset needs at least one kind of distortion and one MSE level")
        if len(self.levels) > MOST_LEVELS:
            raise SettingsError(
                f"there are {len(self.levels)} levels; at most {MOST_LEVELS} are made"
            )
        for kind in self.kinds:
            check_kind(kind)
        for level in self.levels:
            check_level(level)
        for what, values in (("kind", self.kinds), ("level", self.levels)):
            if len(set(values)) < len(values):
                raise SettingsError(f"a {what} is named twice: {', '.join(map(str, values))}")
        check_seed(self.seed)


def check_kind(kind: str) -> None:
    """Refuse what is neither a distortion of the table nor a mixture of two of them."""
    names = kind.split("+")
    unknown = [name for name in names if name not in DISTORTIONS]
    if unknown:
        raise SettingsError(
            f"unknown distortion '{unknown[0]}'; there are {', '.join(DISTORTIONS)}"
        )
    if len(names) > 2 or len(set(names)) < len(names):
        raise SettingsError(f"a mixture has two different parts, such as blur+jpeg, not '{kind}'")


def check_level(level: float) -> None:
    """Refuse an MSE that no picture can have."""
    if not (math.isfinite(level) and 0 < level <= HIGHEST_MSE):
        raise SettingsError(
            f"an MSE level lies above 0 and at most at {HIGHEST_MSE:g}, not at {level:g}"
        )


def check_seed(seed: int) -> None:
    """Refuse a seed that a random generator or a file could not hold."""
    if not 0 <= seed < 2**63:
        raise SettingsError(f"the seed is a whole number from 0 to 2⁶³ − 1, not {seed}")


def number_text(number: float) -> str:
    """Write a number as short as can be, so that it is read back as the same number."""
    short = f"{number:g}"
    return short if float(short) == number else repr(float(number))


def parse_levels(text: str) -> tuple[float, ...]:
    """Read MSE levels from `from:to:step` or a list such as `45,90,200`."""
    try:
        if ":" not in text:
            return tuple(float(part) for part in text.split(","))
        start, stop, step = (float(part) for part in text.split(":"))
    except ValueError:
        raise SettingsError(f"MSE levels are FROM:TO:STEP or a list A,B,C, not '{text}'") from None
    if not all(map(math.isfinite, (start, stop, step))) or step <= 0 or stop < start:
        raise SettingsError(
            f"MSE levels FROM:TO:STEP need a step above 0 and FROM up to TO, not '{text}'"
        )
    steps = (stop - start) / step + 1e-9
    if not steps < MOST_LEVELS:
        raise SettingsError(f"'{text}' would be more than {MOST_LEVELS} levels")
    return tuple(start + step * index for index in range(math.floor(steps) + 1))
