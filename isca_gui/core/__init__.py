"""The engine: NumPy, SciPy, scikit-image, Pillow and numba; no Qt, no printing, no global state."""
