"""The table of methods: what can be learned about a block, and which settings each method has."""

from __future__ import annotations

from dataclasses import dataclass

# Training settings that belong to a kernel, and those that belong to an iteration.
KERNEL_FIELDS = frozenset({"kernel", "gamma", "coef0", "degree", "metric"})
ITERATION_FIELDS = frozenset({"solver", "epochs", "rho", "eta", "tolerance"})


@dataclass(frozen=True)
class Method:
    """A row of the table; `epochs` and `rho` are the paper's values for ADMM."""

    name: str
    title: str
    sentence: str
    uses_kernel: bool = False
    iterative: bool = False
    published: bool = True  # among the methods that the paper compares
    epochs: int = 1
    rho: float = 1.0

    @property
    def unused_fields(self) -> frozenset[str]:
        """The training settings that have no effect on this method."""
        unused: frozenset[str] = frozenset()
        if not self.uses_kernel:
            unused |= KERNEL_FIELDS
        if not self.iterative:
            unused |= ITERATION_FIELDS
        return unused


TABLE = (
    Method(
        "isca",
        "ISCA",
        "Image structural component analysis: the paper's method",
        iterative=True,
        epochs=200,
    ),
    Method(
        "kernel-isca",
        "Kernel ISCA",
        "The same in the feature space of a kernel",
        uses_kernel=True,
        iterative=True,
        epochs=100,
        rho=0.1,
    ),
    Method(
        "pca",
        "PCA",
        "Principal component analysis of every block",
    ),
    Method(
        "kernel-pca",
        "Kernel PCA",
        "Principal component analysis in the feature space of a kernel",
        uses_kernel=True,
    ),
    Method(
        "random",
        "Random subspace",
        "A random subspace: what any method must beat",
        published=False,
    ),
)
METHODS = {method.name: method for method in TABLE}
