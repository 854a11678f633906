"""Compiles once what most tests need, which else each of their processes would compile."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from itertools import product

from isca_gui.core.solvers import compiled_loops

COMPONENTS = (4, 3, 1)
PRECISIONS = ("float32", "float64")


def main() -> None:
    """Compile two at a time what is not compiled yet."""
    components, precisions = zip(*product(COMPONENTS, PRECISIONS), strict=True)
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(compiled_loops.prepare, components, precisions))


if __name__ == "__main__":
    main()
