"""Compile what most tests need, once: started together, their processes would each compile it anew."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

from isca_gui.core import compiled


def main() -> None:
    """Compile for both precisions at a time; what is compiled already is left alone."""
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(compiled.prepare, (4, 4), ("float32", "float64")))


if __name__ == "__main__":
    main()
