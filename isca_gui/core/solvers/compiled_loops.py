"""The solvers' inner loops, compiled: sixteen blocks side by side in the last axis of every array.

All arrays end in `LANES`, so that every line below is one vector operation for sixteen blocks, and nothing is
ever summed across blocks: results do not depend on how blocks are shared out to threads. The number of
components comes in as the length of a tuple: numba then knows it while compiling and unrolls those loops.
Loops over lanes ask an array for their length: a constant 16 would be unrolled instead of vectorised.
`fastmath` is limited to what keeps NaN and infinity visible.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from isca_gui.core.solvers.compile_cache import kept
from isca_gui.core.solvers.problem import LANES
from isca_gui.core.storage.user_folders import user_folder

# Beyond this the unrolled loops no longer fit the registers; `numpy_epochs` is used instead.
MOST_COMPONENTS = 8
_MOST_TURNS = 20
# The worst condition of MᵀM, by Frobenius norms, that single and double precision can do with.
_GOOD_CONDITION = 200.0
_WORST_CONDITION = 1e9

# By default numba keeps compiled code beside the sources, which are often read-only.
if not getattr(numba.config, "CACHE_DIR", ""):
    numba.config.CACHE_DIR = str(user_folder("cache") / "numba")  # type: ignore[attr-defined]

_HOW: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz", "arcp"},
}
# Helpers go into their callers for good. As functions of their own they would be there several times over,
# each with other roundings, and a fresh compilation would call another one than what the cache gives.
_inline = numba.njit(**_HOW, forceinline=True)


def _compile(function):  # type: ignore[no-untyped-def]
    return kept(function, **_HOW)


@_inline
def _room(p):  # type: ignore[no-untyped-def]
    """How many slots the functions below need: three p×p matrices, two figures, a row."""
    return 3 * p * p + 2 + p


@_inline
def _inverse_root(work, components, tolerance, limit):  # type: ignore[no-untyped-def]
    """Turn G (slots 0 to p² − 1 of `work`) into G^(−1/2), left in slots 2p² to 3p² − 1.

    The product form of the Denman–Beavers iteration, scaled so that its turns hardly depend on G's condition:
    with N = G and Z = I, Z := ½μZ(I + N⁻¹/μ²), N := ½I + ¼(μ²N + N⁻¹/μ²), μ⁴ = ‖N⁻¹‖/‖N‖, until N = I
    (Cheng, Higham, Kenney and Laub, 2001). False if G's condition exceeds `limit` or it does not converge.
    """
    lanes = min(LANES, work.size)
    p, size = len(components), len(components) * len(components)
    kind = work.dtype.type
    zero, one, tiny = kind(0), kind(1), kind(1e-30)
    z0, last = 2 * size, 3 * size
    for i in range(p):
        for j in range(p):
            for lane in range(lanes):
                work[(z0 + i * p + j) * LANES + lane] = one if i == j else zero
    for turn in range(_MOST_TURNS):
        _invert(work, components)
        worst = zero  # sums, unlike maxima, let NaN through
        for lane in range(lanes):
            before, after, distance = tiny, tiny, zero
            for i in range(p):
                for j in range(p):
                    n, m = work[(i * p + j) * LANES + lane], work[(size + i * p + j) * LANES + lane]
                    before += n * n
                    after += m * m
                    distance += abs((one if i == j else zero) - n)
            square = np.sqrt(np.sqrt(after / before))  # μ²
            work[last * LANES + lane] = square
            work[(last + 1) * LANES + lane] = distance if turn > 0 else before * after
        for lane in range(lanes):
            worst += work[(last + 1) * LANES + lane]
        if not worst < (limit * limit if turn == 0 else kind(1e10)):
            return False
        _turn(work, components)
        if turn > 0 and worst < tolerance:
            return True
    return False


@_inline
def _invert(work, components):  # type: ignore[no-untyped-def]
    """Put the inverse of the matrix in slots 0 to p² − 1 of `work` into the next p² (Gauss and Jordan)."""
    lanes = min(LANES, work.size)
    p, size = len(components), len(components) * len(components)
    one, zero = work.dtype.type(1), work.dtype.type(0)
    for place in range(size * LANES):
        work[size * LANES + place] = work[place]
    for k in range(p):
        for lane in range(lanes):
            pivot = one / work[(size + k * p + k) * LANES + lane]
            work[(size + k * p + k) * LANES + lane] = one
            for j in range(p):
                work[(size + k * p + j) * LANES + lane] *= pivot
            for i in range(p):
                if i != k:
                    factor = work[(size + i * p + k) * LANES + lane]
                    work[(size + i * p + k) * LANES + lane] = zero
                    for j in range(p):
                        work[(size + i * p + j) * LANES + lane] -= (
                            factor * work[(size + k * p + j) * LANES + lane]
                        )


@_inline
def _turn(work, components):  # type: ignore[no-untyped-def]
    """One turn of `_inverse_root`; `work` holds N, its inverse, Z and μ² in this order."""
    lanes = min(LANES, work.size)
    p, size = len(components), len(components) * len(components)
    kind = work.dtype.type
    zero, quarter, half, one = kind(0), kind(0.25), kind(0.5), kind(1)
    z0, last, row0 = 2 * size, 3 * size, 3 * size + 2
    for lane in range(lanes):
        square = work[last * LANES + lane]
        inverse, step = one / square, half * np.sqrt(square)
        for i in range(p):
            for j in range(p):
                total = zero
                for k in range(p):
                    total += (
                        work[(z0 + i * p + k) * LANES + lane]
                        * work[(size + k * p + j) * LANES + lane]
                    )
                work[(row0 + j) * LANES + lane] = step * (
                    work[(z0 + i * p + j) * LANES + lane] + inverse * total
                )
            for j in range(p):
                work[(z0 + i * p + j) * LANES + lane] = work[(row0 + j) * LANES + lane]
                n, m = work[(i * p + j) * LANES + lane], work[(size + i * p + j) * LANES + lane]
                work[(i * p + j) * LANES + lane] = quarter * (square * n + inverse * m) + (
                    half if i == j else zero
                )


@_inline
def _gram(state, work, components):  # type: ignore[no-untyped-def]
    """Put MᵀM into slots 0 to p² − 1 of `work`; M lies in the third p slots of each pixel of the state."""
    lanes = min(LANES, work.size)
    p, kind = len(components), work.dtype.type
    for place in range(p * p * LANES):
        work[place] = 0
    for k in range(state.size // (3 * p * LANES)):
        for lane in range(lanes):
            for i in range(p):
                here = kind(state[(k * 3 * p + 2 * p + i) * LANES + lane])
                for j in range(i, p):
                    there = kind(state[(k * 3 * p + 2 * p + j) * LANES + lane])
                    work[(i * p + j) * LANES + lane] += here * there
    for i in range(p):
        for j in range(i):
            for lane in range(lanes):
                work[(i * p + j) * LANES + lane] = work[(j * p + i) * LANES + lane]


@_inline
def _sweep(state, sums, metric, x, x_next, step, components):  # type: ignore[no-untyped-def]
    """Update A for one image, and leave M = A + J in J's slots (first line of Eq. ADMM_update_2).

    `sums` holds per component the factor η·2(1 + f)/β·y on entry; Aᵀx and Aᵀx_next are added to the slots
    behind it.
    """
    lanes = min(LANES, sums.size)
    p = len(components)
    for k in range(metric.size // LANES):
        for lane in range(lanes):
            here, there, weight = (
                x[k * LANES + lane],
                x_next[k * LANES + lane],
                metric[k * LANES + lane],
            )
            for i in range(p):
                a = state[(k * 3 * p + i) * LANES + lane]
                v = state[(k * 3 * p + p + i) * LANES + lane]
                j = state[(k * 3 * p + 2 * p + i) * LANES + lane]
                a += weight * (sums[i * LANES + lane] * here - step * (a - v + j))
                state[(k * 3 * p + i) * LANES + lane] = a
                state[(k * 3 * p + 2 * p + i) * LANES + lane] = a + j
                sums[(p + i) * LANES + lane] += a * here
                sums[(2 * p + i) * LANES + lane] += a * there


@_inline
def _polar(state, work, wide, components, careful):  # type: ignore[no-untyped-def]
    """Split M into V, its polar factor M(MᵀM)^(−1/2), and J = M − V.

    V is the nearest matrix with orthonormal columns. What MᵀM loses of M grows with the square of M's
    condition: above about 14 it is made, and used, in double precision (at once if `careful`).
    """
    near = 1e-3 if state.itemsize == 4 else 1e-7  # a last turn from there squares it
    if not careful:
        _gram(state, work, components)
        limit = _GOOD_CONDITION if state.itemsize == 4 else _WORST_CONDITION
        if _inverse_root(work, components, near, work.dtype.type(limit)):
            _split(state, work, components)
            return
    _gram(state, wide, components)
    if _inverse_root(wide, components, near, _WORST_CONDITION):
        _split(state, wide, components)
    else:
        _polar_by_svd(state, components)


@_inline
def _split(state, work, components):  # type: ignore[no-untyped-def]
    """V = MZ and J = M − V, with Z in slots 2p² to 3p² − 1 of `work`."""
    lanes = min(LANES, state.size)
    p, z0 = len(components), 2 * len(components) * len(components)
    kind = work.dtype.type
    for k in range(state.size // (3 * p * LANES)):
        for lane in range(lanes):
            for i in range(p):
                total = kind(0)
                for j in range(p):
                    m = kind(state[(k * 3 * p + 2 * p + j) * LANES + lane])
                    total += work[(z0 + j * p + i) * LANES + lane] * m
                state[(k * 3 * p + p + i) * LANES + lane] = total
            for i in range(p):
                v = state[(k * 3 * p + p + i) * LANES + lane]
                state[(k * 3 * p + 2 * p + i) * LANES + lane] -= v


@_compile
def _polar_by_svd(state, components):  # type: ignore[no-untyped-def]
    """Do the same as `_polar` lane by lane with singular vectors: for columns that are nearly dependent."""
    lanes = min(LANES, state.size)
    p = len(components)
    pixels = state.size // (3 * p * LANES)
    matrix = np.empty((pixels, p))
    for lane in range(lanes):
        for k in range(pixels):
            for i in range(p):
                matrix[k, i] = state[(k * 3 * p + 2 * p + i) * LANES + lane]
        if np.all(np.isfinite(matrix)):  # else it has diverged, which the caller sees in the error
            left, _, right = np.linalg.svd(matrix, False)
            matrix = left @ right
        for k in range(pixels):
            for i in range(p):
                state[(k * 3 * p + p + i) * LANES + lane] = matrix[k, i]
                state[(k * 3 * p + 2 * p + i) * LANES + lane] -= matrix[k, i]


@_compile
def admm_epoch(  # type: ignore[no-untyped-def]
    data, energy, metric, before, after, rho, eta, c, components, careful, figures, stop, low, high
):
    """Run one epoch of Eq. ADMM_update_2 (or ADMM_update_kernel_2) for the groups `low` to `high` − 1.

    Parameters
    ----------
    data, energy
        Coordinates z (group, image, pixel·lane) and ‖z‖² (group, image, lane).
    metric
        Υ of the update (group or 1, pixel·lane); 1 for linear ISCA.
    before, after
        State (group, pixel·slot·lane) with the slots A, V, J of p components each; `after` is written.
    figures
        Per block (group, 4, lane): sum of the errors at A, ‖A − V‖², ‖V − V before‖², largest |AᵀA − I|.
    stop
        One flag that another thread may set; the epoch is then left at once and counts for nothing.
    """
    lanes = min(LANES, before.size)
    p = len(components)
    images, pixels = data.shape[1], data.shape[2] // LANES
    kind = data.dtype.type
    zero, one, two, step = kind(0), kind(1), kind(2), rho
    work, wide = np.empty(_room(p) * LANES, data.dtype), np.empty(_room(p) * LANES)
    sums = np.empty(3 * p * LANES, data.dtype)
    for group in range(low, high):
        state, weights = after[group], metric[min(group, metric.shape[0] - 1)]
        state[:] = before[group]
        sums[:] = zero
        errors = figures[group, 0]
        errors[:] = 0
        for k in range(pixels):
            for lane in range(lanes):
                for i in range(p):
                    sums[(2 * p + i) * LANES + lane] += (
                        state[(k * 3 * p + i) * LANES + lane] * data[group, 0, k * LANES + lane]
                    )
        for image in range(images):
            if stop[0]:
                return
            a = energy[group, image]
            for lane in range(lanes):
                s = zero
                for i in range(p):
                    s += sums[(2 * p + i) * LANES + lane] * sums[(2 * p + i) * LANES + lane]
                beta = a[lane] + s + c
                factor = eta * two * (one + (a[lane] - s) / beta) / beta
                for i in range(p):
                    sums[i * LANES + lane] = factor * sums[(2 * p + i) * LANES + lane]
                    sums[(p + i) * LANES + lane] = zero
                    sums[(2 * p + i) * LANES + lane] = zero
            following = data[group, min(image + 1, images - 1)]
            _sweep(state, sums, weights, data[group, image], following, eta * step, components)
            _polar(state, work, wide, components, careful)
            for lane in range(lanes):
                s = zero
                for i in range(p):
                    s += sums[(p + i) * LANES + lane] * sums[(p + i) * LANES + lane]
                errors[lane] += (a[lane] - s) / (a[lane] + s + c)
        _residuals(state, before[group], work, figures[group], components)


@_inline
def _residuals(state, before, work, figures, components):  # type: ignore[no-untyped-def]
    lanes = min(LANES, state.size)
    p = len(components)
    figures[1:] = 0
    copy = np.empty_like(state)
    for k in range(state.size // (3 * p * LANES)):
        for i in range(p):
            for lane in range(lanes):
                a = state[(k * 3 * p + i) * LANES + lane]
                v = state[(k * 3 * p + p + i) * LANES + lane]
                dual = v - before[(k * 3 * p + p + i) * LANES + lane]
                copy[(k * 3 * p + 2 * p + i) * LANES + lane] = a
                figures[1, lane] += (a - v) * (a - v)
                figures[2, lane] += dual * dual
    _gram(copy, work, components)
    for i in range(p):
        for j in range(p):
            unit = 1.0 if i == j else 0.0
            for lane in range(lanes):
                figures[3, lane] = max(
                    figures[3, lane], abs(work[(i * p + j) * LANES + lane] - unit)
                )


@_compile
def orthonormalise(basis, components, careful, low, high):  # type: ignore[no-untyped-def]
    """Replace bases (group, pixel·component·lane) by their polar factors."""
    p = len(components)
    pixels = basis.shape[1] // (p * LANES)
    work, wide = np.empty(_room(p) * LANES, basis.dtype), np.empty(_room(p) * LANES)
    state = np.empty(pixels * 3 * p * LANES, basis.dtype)
    for group in range(low, high):
        for k in range(pixels):
            for place in range(p * LANES):
                state[(k * 3 + 2) * p * LANES + place] = basis[group, k * p * LANES + place]
        _polar(state, work, wide, components, careful)
        for k in range(pixels):
            for place in range(p * LANES):
                basis[group, k * p * LANES + place] = state[(k * 3 + 1) * p * LANES + place]


@_inline
def _project(basis, x, y, components):  # type: ignore[no-untyped-def]
    """Add Uᵀx to y (component·lane)."""
    p = len(components)
    lanes = y.size // p
    for k in range(x.size // lanes):
        for lane in range(lanes):
            for i in range(p):
                y[i * lanes + lane] += basis[(k * p + i) * lanes + lane] * x[k * lanes + lane]


@_compile
def objective(data, energy, basis, c, components, sums, low, high):  # type: ignore[no-untyped-def]
    """Sum f over the images for bases (group, pixel·component·lane), into `sums` (group, lane)."""
    p = len(components)
    y = np.empty(p * LANES, data.dtype)
    zero = data.dtype.type(0)
    for group in range(low, high):
        sums[group] = 0
        for image in range(data.shape[1]):
            a = energy[group, image]
            y[:] = zero
            _project(basis[group], data[group, image], y, components)
            for lane in range(LANES):
                s = zero
                for i in range(p):
                    s += y[i * LANES + lane] * y[i * LANES + lane]
                sums[group, lane] += (a[lane] - s) / (a[lane] + s + c)


def prepare(components: int, precision: str) -> None:
    """Compile, or read from the cache, what an epoch of ADMM calls; some seconds the first time."""
    if components > MOST_COMPONENTS:
        return
    kind = np.dtype(precision).type
    tuple_of = (0,) * components
    data, energy = np.zeros((1, 1, LANES), kind), np.zeros((1, 1, LANES), kind)
    state, figures, sums = (
        np.zeros((1, 3 * components * LANES), kind),
        np.zeros((1, 4, LANES)),
        np.zeros((1, LANES)),
    )
    one, none = kind(1), (0, 0)
    admm_epoch(
        *(data, energy, data[0], state, state.copy(), one, one, one, tuple_of, False, figures),
        *(np.zeros(1, np.uint8), *none),
    )
    basis = np.zeros((1, components * LANES), kind)
    orthonormalise(basis, tuple_of, False, *none)
    objective(data, energy, basis, one, tuple_of, sums, *none)
