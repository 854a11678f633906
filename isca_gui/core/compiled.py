"""The solvers' inner loops, compiled: sixteen blocks side by side in the last axis of every array.

All arrays end in `LANES`, so that every line below is one vector operation for sixteen blocks, and nothing is
ever summed across blocks: results do not depend on how blocks are shared out to threads. The number of
components comes in as the length of a tuple: numba then knows it while compiling and unrolls those loops.
Loops over lanes ask an array for their length: a constant 16 would be unrolled instead of vectorised.
`fastmath` is limited to what keeps NaN and infinity visible.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numba
import numpy as np

LANES = 16
MOST_COMPONENTS = 8  # beyond this the unrolled loops no longer fit the registers; see batched.py
_MOST_TURNS = 40  # in float64; half of it in float32: more means G is singular to rounding
_GOOD_TURNS = 10  # up to here V is orthonormal to a few units of rounding
_MOST_POLISHES = 4


def user_cache_folder() -> Path:
    """Give the folder in which this user's programs keep what they can make again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "isca-studio"


if not getattr(numba.config, "CACHE_DIR", ""):  # else it would be kept beside the sources, often read-only
    numba.config.CACHE_DIR = str(user_cache_folder() / "numba")  # type: ignore[attr-defined]

_compile = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz", "arcp"})


@_compile
def _inverse_root(work, components, tolerance):  # type: ignore[no-untyped-def]
    """Turn G (slots 0 to p² − 1 of `work`) into G^(−1/2), left in slots 2p² to 3p² − 1.

    Coupled Newton–Schulz iteration: Y → G^(1/2), Z → G^(−1/2), T = (3I − ZY)/2. Gives how far ZY was
    from I before the last turn (unless below `tolerance`, some lane has not converged) and how many turns.
    """
    lanes = min(LANES, work.size)
    p, size = len(components), len(components) * len(components)
    y0, z0, t0, x0, scale0, error0 = size, 2 * size, 3 * size, 4 * size, 5 * size, 5 * size + 1
    zero, one = work.dtype.type(0), work.dtype.type(1)
    half, three = work.dtype.type(0.5), work.dtype.type(3)
    tiny, hopeless = work.dtype.type(1e-30), work.dtype.type(1e10)
    spread = work.dtype.type(1 / 1.7)
    for lane in range(lanes):
        bound = tiny  # largest row sum: no eigenvalue lies above it
        for i in range(p):
            total = zero
            for j in range(p):
                total += abs(work[(i * p + j) * LANES + lane])
            bound = max(bound, total)
        bound *= spread  # eigenvalues up to 1.7 converge too, and the small ones sooner
        work[scale0 * LANES + lane] = np.sqrt(one / bound)
        for i in range(p):
            for j in range(p):
                work[(y0 + i * p + j) * LANES + lane] = work[(i * p + j) * LANES + lane] / bound
                work[(z0 + i * p + j) * LANES + lane] = one if i == j else zero
    worst = one
    turns, most = 0, _MOST_TURNS if work.itemsize == 8 else _MOST_TURNS // 2
    for _ in range(most):
        turns += 1
        for lane in range(lanes):
            error = zero
            for i in range(p):
                for j in range(p):
                    total = zero
                    for k in range(p):
                        total += work[(z0 + i * p + k) * LANES + lane] * work[(y0 + k * p + j) * LANES + lane]
                    unit = one if i == j else zero
                    error += abs(unit - total)  # a sum, unlike a maximum, lets NaN through
                    work[(t0 + i * p + j) * LANES + lane] = half * (three * unit - total)
            work[error0 * LANES + lane] = error
        for lane in range(lanes):
            for i in range(p):
                for j in range(p):
                    total = zero
                    for k in range(p):
                        total += work[(y0 + i * p + k) * LANES + lane] * work[(t0 + k * p + j) * LANES + lane]
                    work[(x0 + i * p + j) * LANES + lane] = total
        for place in range(size * LANES):
            work[y0 * LANES + place] = work[x0 * LANES + place]
        for lane in range(lanes):
            for i in range(p):
                for j in range(p):
                    total = zero
                    for k in range(p):
                        total += work[(t0 + i * p + k) * LANES + lane] * work[(z0 + k * p + j) * LANES + lane]
                    work[(x0 + i * p + j) * LANES + lane] = total
        for place in range(size * LANES):
            work[z0 * LANES + place] = work[x0 * LANES + place]
        worst = zero
        for lane in range(lanes):
            worst += work[error0 * LANES + lane]
        if worst < tolerance or not worst < hopeless:
            break
    for slot in range(size):
        for lane in range(lanes):
            work[(z0 + slot) * LANES + lane] *= work[scale0 * LANES + lane]
    return worst, turns


@_compile
def _gram(state, work, components):  # type: ignore[no-untyped-def]
    """Put MᵀM into slots 0 to p² − 1 of `work`; M lies in the third p slots of each pixel of the state."""
    lanes = min(LANES, work.size)
    p = len(components)
    for place in range(p * p * LANES):
        work[place] = 0
    for k in range(state.size // (3 * p * LANES)):
        for lane in range(lanes):
            for i in range(p):
                for j in range(i, p):
                    work[(i * p + j) * LANES + lane] += (
                        state[(k * 3 * p + 2 * p + i) * LANES + lane]
                        * state[(k * 3 * p + 2 * p + j) * LANES + lane]
                    )
    for i in range(p):
        for j in range(i):
            for lane in range(lanes):
                work[(i * p + j) * LANES + lane] = work[(j * p + i) * LANES + lane]


@_compile
def _sweep(state, sums, metric, x, x_next, step, components):  # type: ignore[no-untyped-def]
    """Update A for one image, and leave M = A + J in J's slots (first line of Eq. ADMM_update_2).

    `sums` holds per component the factor η·2(1 + f)/β·y on entry; Aᵀx and Aᵀx_next are added to the slots
    behind it.
    """
    lanes = min(LANES, sums.size)
    p = len(components)
    for k in range(metric.size // LANES):
        for lane in range(lanes):
            here, there, weight = x[k * LANES + lane], x_next[k * LANES + lane], metric[k * LANES + lane]
            for i in range(p):
                a = state[(k * 3 * p + i) * LANES + lane]
                v = state[(k * 3 * p + p + i) * LANES + lane]
                j = state[(k * 3 * p + 2 * p + i) * LANES + lane]
                a += weight * (sums[i * LANES + lane] * here - step * (a - v + j))
                state[(k * 3 * p + i) * LANES + lane] = a
                state[(k * 3 * p + 2 * p + i) * LANES + lane] = a + j
                sums[(p + i) * LANES + lane] += a * here
                sums[(2 * p + i) * LANES + lane] += a * there


@_compile
def _polar(state, work, components, tolerance):  # type: ignore[no-untyped-def]
    """Put the polar factor M(MᵀM)^(−1/2) into V's slots: the nearest matrix with orthonormal columns."""
    lanes = min(LANES, state.size)
    p, z0 = len(components), 2 * len(components) * len(components)
    zero = state.dtype.type(0)
    _gram(state, work, components)
    worst, turns = _inverse_root(work, components, tolerance)
    if not worst < tolerance:
        _polar_by_svd(state, components)
        return
    for k in range(state.size // (3 * p * LANES)):
        for lane in range(lanes):
            for i in range(p):
                total = zero
                for j in range(p):
                    total += (
                        work[(z0 + j * p + i) * LANES + lane] * state[(k * 3 * p + 2 * p + j) * LANES + lane]
                    )
                state[(k * 3 * p + p + i) * LANES + lane] = total
    if turns > _GOOD_TURNS:
        enough = 1e-3 if state.itemsize == 4 else 1e-7  # a deviation e becomes ¾e²
        for _ in range(_MOST_POLISHES):
            if _polish(state, work, components) < enough:
                return
        _polar_by_svd(state, components)


@_compile
def _polish(state, work, components):  # type: ignore[no-untyped-def]
    """V := V(3I − VᵀV)/2: makes up for what MᵀM has lost where M's columns are of very different size.

    Gives how far VᵀV was from I before.
    """
    lanes = min(LANES, state.size)
    p, new0 = len(components), 4 * len(components) * len(components)
    half, zero = state.dtype.type(0.5), state.dtype.type(0)
    for place in range(p * p * LANES):
        work[place] = zero
    for k in range(state.size // (3 * p * LANES)):
        for lane in range(lanes):
            for i in range(p):
                for j in range(p):
                    work[(i * p + j) * LANES + lane] += (
                        state[(k * 3 * p + p + i) * LANES + lane] * state[(k * 3 * p + p + j) * LANES + lane]
                    )
    for k in range(state.size // (3 * p * LANES)):
        for lane in range(lanes):
            for i in range(p):
                total = zero
                for j in range(p):
                    total += work[(j * p + i) * LANES + lane] * state[(k * 3 * p + p + j) * LANES + lane]
                v = state[(k * 3 * p + p + i) * LANES + lane]
                work[(new0 + i) * LANES + lane] = v + half * (v - total)
        for place in range(p * LANES):
            state[(k * 3 + 1) * p * LANES + place] = work[new0 * LANES + place]
    deviation = 0.0
    for i in range(p):
        for j in range(p):
            for lane in range(lanes):
                deviation += abs(work[(i * p + j) * LANES + lane] - (1.0 if i == j else 0.0))
    return deviation


@_compile
def _polar_by_svd(state, components):  # type: ignore[no-untyped-def]
    """Do the same lane by lane with singular vectors, where columns are too nearly dependent for it."""
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


@_compile
def admm_epoch(  # type: ignore[no-untyped-def]
    data, energy, metric, before, after, rho, eta, c, components, tolerance, figures, stop, low, high
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
    work = np.empty((5 * p * p + 2) * LANES, data.dtype)
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
            _polar(state, work, components, tolerance)
            for k in range(pixels):  # J = M − V
                for lane in range(lanes):
                    for i in range(p):
                        v = state[(k * 3 * p + p + i) * LANES + lane]
                        state[(k * 3 * p + 2 * p + i) * LANES + lane] -= v
            for lane in range(lanes):
                s = zero
                for i in range(p):
                    s += sums[(p + i) * LANES + lane] * sums[(p + i) * LANES + lane]
                errors[lane] += (a[lane] - s) / (a[lane] + s + c)
        _residuals(state, before[group], work, figures[group], components)


@_compile
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
                figures[3, lane] = max(figures[3, lane], abs(work[(i * p + j) * LANES + lane] - unit))


@_compile
def orthonormalise(basis, components, tolerance, low, high):  # type: ignore[no-untyped-def]
    """Replace bases (group, pixel·component·lane) by their polar factors."""
    p = len(components)
    pixels = basis.shape[1] // (p * LANES)
    work = np.empty((5 * p * p + 2) * LANES, basis.dtype)
    state = np.empty(pixels * 3 * p * LANES, basis.dtype)
    for group in range(low, high):
        for k in range(pixels):
            for place in range(p * LANES):
                state[(k * 3 + 2) * p * LANES + place] = basis[group, k * p * LANES + place]
        _polar(state, work, components, tolerance)
        for k in range(pixels):
            for place in range(p * LANES):
                basis[group, k * p * LANES + place] = state[(k * 3 + 1) * p * LANES + place]


@_compile
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
        *(data, energy, data[0], state, state.copy(), one, one, one, tuple_of, one, figures),
        *(np.zeros(1, np.uint8), *none),
    )
    basis = np.zeros((1, components * LANES), kind)
    orthonormalise(basis, tuple_of, one, *none)
    objective(data, energy, basis, one, tuple_of, sums, *none)
