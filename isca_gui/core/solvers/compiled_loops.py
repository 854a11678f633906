"""The solvers' inner loops, compiled: sixteen blocks side by side in the last axis of every array.

All arrays end in `LANES`, so that every line below is one vector operation for sixteen blocks, and
nothing is ever summed across blocks: results do not depend on how blocks are shared out to
threads. The number of components comes in as the length of a tuple: numba then knows it while
compiling and unrolls those loops. Loops over lanes ask an array for their length: a constant 16
would be unrolled instead of vectorised. `fastmath` is limited to what keeps NaN and infinity
visible.

Three kinds of arrays are indexed by helpers. A *state* holds A, V and J of a group of blocks,
coordinate by coordinate (`_in_state`). A *work* array holds three p×p matrices, two figures and a
row (`_in_matrix`, `_in_slot`). *Sums* holds three vectors of p numbers (`_in_sums`).
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

# The parts of a state. While V is computed, the part of J holds M = A + J.
_A = 0
_V = 1
_J = 2
# The matrices of a work array, in the notation of `_inverse_root`.
_N = 0
_INVERSE = 1
_Z = 2
# The vectors of sums: the factor of the gradient, Aᵀx of this image, Aᵀx of the next one.
_FACTOR = 0
_HERE = 1
_NEXT = 2

# By default numba keeps compiled code beside the sources, which are often read-only.
if not getattr(numba.config, "CACHE_DIR", ""):
    numba.config.CACHE_DIR = str(user_folder("cache") / "numba")  # type: ignore[attr-defined]

_HOW: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz", "arcp"},
}
# Helpers go into their callers for good. As functions of their own they would be there several
# times over, each with other roundings, and a fresh compilation would call another one than what
# the cache gives.
_inline = numba.njit(**_HOW, forceinline=True)


# Helpers that compute an index are inlined by numba, before LLVM sees the loops: inlined by LLVM
# they keep it from vectorising over the lanes, and an epoch takes more than twice as long.
_index = numba.njit(inline="always")


def _compile(function):  # type: ignore[no-untyped-def]
    return kept(function, **_HOW)


@_index
def _in_state(k, part, i, p, lane):  # type: ignore[no-untyped-def]
    """Return where a state holds component i of A, V or J at coordinate k."""
    return ((k * 3 + part) * p + i) * LANES + lane


@_index
def _in_matrix(matrix, i, j, p, lane):  # type: ignore[no-untyped-def]
    """Return where a work array holds entry i, j of one of its matrices."""
    return ((matrix * p + i) * p + j) * LANES + lane


@_index
def _in_slot(slot, p, lane):  # type: ignore[no-untyped-def]
    """Return where a work array holds a figure (slots 0, 1) or an entry of the row (2 to p + 1)."""
    return (3 * p * p + slot) * LANES + lane


@_index
def _in_sums(vector, i, p, lane):  # type: ignore[no-untyped-def]
    """Return where sums hold entry i of one of their vectors."""
    return (vector * p + i) * LANES + lane


@_inline
def _room(p):  # type: ignore[no-untyped-def]
    """Return how many slots a work array has: three p×p matrices, two figures, a row."""
    return 3 * p * p + 2 + p


@_inline
def _inverse_root(work, components, tolerance, limit):  # type: ignore[no-untyped-def]
    """Turn G, the matrix N of `work`, into G^(−1/2), left in its matrix Z.

    The product form of the Denman–Beavers iteration, scaled so that its turns hardly depend on G's
    condition: with N = G and Z = I, Z := ½μZ(I + N⁻¹/μ²), N := ½I + ¼(μ²N + N⁻¹/μ²), μ⁴ =
    ‖N⁻¹‖/‖N‖, until N = I (Cheng, Higham, Kenney and Laub, 2001). False if G's condition exceeds
    `limit` or it does not converge.
    """
    lanes = min(LANES, work.size)
    p = len(components)
    kind = work.dtype.type
    zero, one, tiny = kind(0), kind(1), kind(1e-30)
    for i in range(p):
        for j in range(p):
            for lane in range(lanes):
                work[_in_matrix(_Z, i, j, p, lane)] = one if i == j else zero
    for turn in range(_MOST_TURNS):
        _invert(work, components)
        # Sums, unlike maxima, let NaN through.
        worst = zero
        for lane in range(lanes):
            before, after, distance = tiny, tiny, zero
            for i in range(p):
                for j in range(p):
                    n = work[_in_matrix(_N, i, j, p, lane)]
                    m = work[_in_matrix(_INVERSE, i, j, p, lane)]
                    before += n * n
                    after += m * m
                    distance += abs((one if i == j else zero) - n)
            # The first figure is μ²; the second is the squared condition, later the distance from
            # I.
            work[_in_slot(0, p, lane)] = np.sqrt(np.sqrt(after / before))
            work[_in_slot(1, p, lane)] = distance if turn > 0 else before * after
        for lane in range(lanes):
            worst += work[_in_slot(1, p, lane)]
        if not worst < (limit * limit if turn == 0 else kind(1e10)):
            return False
        _turn(work, components)
        if turn > 0 and worst < tolerance:
            return True
    return False


@_inline
def _invert(work, components):  # type: ignore[no-untyped-def]
    """Put the inverse of N into the next matrix of `work` (Gauss and Jordan)."""
    lanes = min(LANES, work.size)
    p = len(components)
    size = p * p * LANES
    one, zero = work.dtype.type(1), work.dtype.type(0)
    for place in range(size):
        work[size + place] = work[place]
    for k in range(p):
        for lane in range(lanes):
            pivot = one / work[_in_matrix(_INVERSE, k, k, p, lane)]
            work[_in_matrix(_INVERSE, k, k, p, lane)] = one
            for j in range(p):
                work[_in_matrix(_INVERSE, k, j, p, lane)] *= pivot
            for i in range(p):
                if i != k:
                    factor = work[_in_matrix(_INVERSE, i, k, p, lane)]
                    work[_in_matrix(_INVERSE, i, k, p, lane)] = zero
                    for j in range(p):
                        row = work[_in_matrix(_INVERSE, k, j, p, lane)]
                        work[_in_matrix(_INVERSE, i, j, p, lane)] -= factor * row


@_inline
def _turn(work, components):  # type: ignore[no-untyped-def]
    """Do one turn of `_inverse_root`; `work` holds N, its inverse, Z and μ²."""
    lanes = min(LANES, work.size)
    p = len(components)
    kind = work.dtype.type
    zero, quarter, half, one = kind(0), kind(0.25), kind(0.5), kind(1)
    for lane in range(lanes):
        square = work[_in_slot(0, p, lane)]
        inverse, step = one / square, half * np.sqrt(square)
        for i in range(p):
            for j in range(p):
                total = zero
                for k in range(p):
                    m = work[_in_matrix(_INVERSE, k, j, p, lane)]
                    total += work[_in_matrix(_Z, i, k, p, lane)] * m
                z = work[_in_matrix(_Z, i, j, p, lane)]
                work[_in_slot(2 + j, p, lane)] = step * (z + inverse * total)
            for j in range(p):
                work[_in_matrix(_Z, i, j, p, lane)] = work[_in_slot(2 + j, p, lane)]
                n = work[_in_matrix(_N, i, j, p, lane)]
                m = work[_in_matrix(_INVERSE, i, j, p, lane)]
                work[_in_matrix(_N, i, j, p, lane)] = quarter * (square * n + inverse * m) + (
                    half if i == j else zero
                )


@_inline
def _gram(state, work, components):  # type: ignore[no-untyped-def]
    """Put MᵀM into the matrix N of `work`; M lies in the J part of the state."""
    lanes = min(LANES, work.size)
    p, kind = len(components), work.dtype.type
    for place in range(p * p * LANES):
        work[place] = 0
    for k in range(state.size // (3 * p * LANES)):
        for lane in range(lanes):
            for i in range(p):
                here = kind(state[_in_state(k, _J, i, p, lane)])
                for j in range(i, p):
                    there = kind(state[_in_state(k, _J, j, p, lane)])
                    work[_in_matrix(_N, i, j, p, lane)] += here * there
    for i in range(p):
        for j in range(i):
            for lane in range(lanes):
                work[_in_matrix(_N, i, j, p, lane)] = work[_in_matrix(_N, j, i, p, lane)]


@_inline
def _sweep(state, sums, metric, x, x_next, step, components):  # type: ignore[no-untyped-def]
    """Update A for one image (first line of Eq. 15 or 23), and leave M = A + J in the J part.

    `sums` holds the factor η·2(1 + f)/β·y on entry; Aᵀx and Aᵀx_next are added to the vectors
    behind it.
    """
    lanes = min(LANES, sums.size)
    p = len(components)
    for k in range(metric.size // LANES):
        for lane in range(lanes):
            here = x[k * LANES + lane]
            there = x_next[k * LANES + lane]
            weight = metric[k * LANES + lane]
            for i in range(p):
                a = state[_in_state(k, _A, i, p, lane)]
                v = state[_in_state(k, _V, i, p, lane)]
                j = state[_in_state(k, _J, i, p, lane)]
                a += weight * (sums[_in_sums(_FACTOR, i, p, lane)] * here - step * (a - v + j))
                state[_in_state(k, _A, i, p, lane)] = a
                state[_in_state(k, _J, i, p, lane)] = a + j
                sums[_in_sums(_HERE, i, p, lane)] += a * here
                sums[_in_sums(_NEXT, i, p, lane)] += a * there


@_inline
def _polar(state, work, wide, components, careful):  # type: ignore[no-untyped-def]
    """Split M into V, its polar factor M(MᵀM)^(−1/2) (Eq. 14), and J = M − V.

    V is the nearest matrix with orthonormal columns. What MᵀM loses of M grows with the square of
    M's condition: above about 14 it is made, and used, in double precision (at once if `careful`).
    """
    # The last turn of the iteration starts this near and squares the distance.
    near = 1e-3 if state.itemsize == 4 else 1e-7
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
    """Put V = MZ and J = M − V into the state, with the matrix Z of `work`."""
    lanes = min(LANES, state.size)
    p = len(components)
    kind = work.dtype.type
    for k in range(state.size // (3 * p * LANES)):
        for lane in range(lanes):
            for i in range(p):
                total = kind(0)
                for j in range(p):
                    m = kind(state[_in_state(k, _J, j, p, lane)])
                    total += work[_in_matrix(_Z, j, i, p, lane)] * m
                state[_in_state(k, _V, i, p, lane)] = total
            for i in range(p):
                v = state[_in_state(k, _V, i, p, lane)]
                state[_in_state(k, _J, i, p, lane)] -= v


@_compile
def _polar_by_svd(state, components):  # type: ignore[no-untyped-def]
    """Do the same as `_polar` lane by lane with singular vectors: for nearly dependent columns."""
    lanes = min(LANES, state.size)
    p = len(components)
    pixels = state.size // (3 * p * LANES)
    matrix = np.empty((pixels, p))
    for lane in range(lanes):
        for k in range(pixels):
            for i in range(p):
                matrix[k, i] = state[_in_state(k, _J, i, p, lane)]
        # What is not finite has diverged, which the caller sees in the error.
        if np.all(np.isfinite(matrix)):
            left, _, right = np.linalg.svd(matrix, False)
            matrix = left @ right
        for k in range(pixels):
            for i in range(p):
                state[_in_state(k, _V, i, p, lane)] = matrix[k, i]
                state[_in_state(k, _J, i, p, lane)] -= matrix[k, i]


@_compile
def admm_epoch(  # type: ignore[no-untyped-def]
    data, energy, metric, before, after, rho, eta, c, components, careful, figures, stop, low, high
):
    """Run one epoch of Eq. 15 (or 23) for the groups `low` to `high` − 1.

    Parameters
    ----------
    data, energy
        Coordinates z (group, image, pixel·lane) and ‖z‖² (group, image, lane).
    metric
        Υ of the update (group or 1, pixel·lane); 1 for linear ISCA.
    before, after
        State (group, pixel·slot·lane) with the parts A, V, J of p components each; `after` is
        written.
    rho, eta, c
        The penalty ρ, the learning rate η and the constant of f.
    components
        A tuple of p numbers that are not looked at.
    careful
        Whether to compute polar factors in double precision at once.
    figures
        Per block (group, 4, lane): sum of the errors at A, ‖A − V‖², ‖V − V before‖² and the
        largest |AᵀA − I|.
    stop
        One flag that another thread may set; the epoch is then left at once and counts for nothing.
    """
    lanes = min(LANES, before.size)
    p = len(components)
    images, pixels = data.shape[1], data.shape[2] // LANES
    kind = data.dtype.type
    zero, one, two = kind(0), kind(1), kind(2)
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
                    x = data[group, 0, k * LANES + lane]
                    sums[_in_sums(_NEXT, i, p, lane)] += state[_in_state(k, _A, i, p, lane)] * x
        for image in range(images):
            if stop[0]:
                return
            a = energy[group, image]
            # The factor of −G (Eq. 7), times η: 2(1 + f)/β·y with y = Aᵀz.
            for lane in range(lanes):
                s = zero
                for i in range(p):
                    y = sums[_in_sums(_NEXT, i, p, lane)]
                    s += y * y
                beta = a[lane] + s + c
                factor = eta * two * (one + (a[lane] - s) / beta) / beta
                for i in range(p):
                    y = sums[_in_sums(_NEXT, i, p, lane)]
                    sums[_in_sums(_FACTOR, i, p, lane)] = factor * y
                    sums[_in_sums(_HERE, i, p, lane)] = zero
                    sums[_in_sums(_NEXT, i, p, lane)] = zero
            following = data[group, min(image + 1, images - 1)]
            _sweep(state, sums, weights, data[group, image], following, eta * rho, components)
            _polar(state, work, wide, components, careful)
            for lane in range(lanes):
                s = zero
                for i in range(p):
                    y = sums[_in_sums(_HERE, i, p, lane)]
                    s += y * y
                errors[lane] += (a[lane] - s) / (a[lane] + s + c)
        _residuals(state, before[group], work, figures[group], components)


@_inline
def _residuals(state, before, work, figures, components):  # type: ignore[no-untyped-def]
    """Put ‖A − V‖², ‖V − V before‖² and the largest |AᵀA − I| into the figures."""
    lanes = min(LANES, state.size)
    p = len(components)
    figures[1:] = 0
    copy = np.empty_like(state)
    for k in range(state.size // (3 * p * LANES)):
        for i in range(p):
            for lane in range(lanes):
                a = state[_in_state(k, _A, i, p, lane)]
                v = state[_in_state(k, _V, i, p, lane)]
                dual = v - before[_in_state(k, _V, i, p, lane)]
                copy[_in_state(k, _J, i, p, lane)] = a
                figures[1, lane] += (a - v) * (a - v)
                figures[2, lane] += dual * dual
    _gram(copy, work, components)
    for i in range(p):
        for j in range(p):
            unit = 1.0 if i == j else 0.0
            for lane in range(lanes):
                off = abs(work[_in_matrix(_N, i, j, p, lane)] - unit)
                figures[3, lane] = max(figures[3, lane], off)


@_compile
def orthonormalise(basis, components, careful, low, high):  # type: ignore[no-untyped-def]
    """Replace bases (group, pixel·component·lane) by their polar factors."""
    p = len(components)
    row = p * LANES
    pixels = basis.shape[1] // row
    work, wide = np.empty(_room(p) * LANES, basis.dtype), np.empty(_room(p) * LANES)
    state = np.empty(pixels * 3 * row, basis.dtype)
    for group in range(low, high):
        for k in range(pixels):
            for place in range(row):
                state[(k * 3 + _J) * row + place] = basis[group, k * row + place]
        _polar(state, work, wide, components, careful)
        for k in range(pixels):
            for place in range(row):
                basis[group, k * row + place] = state[(k * 3 + _V) * row + place]


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
    """Sum f (Eq. 6) over the images into `sums` (group, lane).

    Parameters
    ----------
    data, energy
        Coordinates z (group, image, pixel·lane) and ‖z‖² (group, image, lane).
    basis
        Orthonormal bases (group, pixel·component·lane).
    c, components
        The constant of f, and a tuple of p numbers that are not looked at.
    low, high
        The groups `low` to `high` − 1 are summed.
    """
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
    one = kind(1)
    unrolled = (0,) * components
    data = np.zeros((1, 1, LANES), kind)
    energy = np.zeros((1, 1, LANES), kind)
    metric = data[0]
    state = np.zeros((1, 3 * components * LANES), kind)
    after = state.copy()
    figures = np.zeros((1, 4, LANES))
    stop = np.zeros(1, np.uint8)
    # No groups are worked on: it is the call that compiles.
    admm_epoch(
        data, energy, metric, state, after, one, one, one, unrolled, False, figures, stop, 0, 0
    )
    basis = np.zeros((1, components * LANES), kind)
    orthonormalise(basis, unrolled, False, 0, 0)
    objective(data, energy, basis, one, unrolled, np.zeros((1, LANES)), 0, 0)
