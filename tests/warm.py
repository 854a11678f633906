"""Compile what most tests need, once: started together, their processes would each compile it anew."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from itertools import product

from isca_gui.core.solvers import compiled_loops

COMPONENTS, PRECISIONS = (4, 3, 1), ("float32", "float64")


def main() -> None:
    """Compile two at a time; what is compiled already is left alone."""
    components, precisions = zip(*product(COMPONENTS, PRECISIONS), strict=True)
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(compiled_loops.prepare, components, precisions))


if __name__ == "__main__":
    main()
