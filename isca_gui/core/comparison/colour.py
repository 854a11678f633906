"""What was done to the colours of a copy: saturation, hue, cast, channels, profile, grey, detail.

Everything global is fitted to the means of blocks, so that noise, blur and codecs hardly matter.
Blocks that touch black or white are left out, where there are others: clipping is no change of
colour. What a common curve of all channels or of the luma explains is a change of tone and no
finding.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import ndimage

from isca_gui.core.comparison.colour_detail import detail_findings
from isca_gui.core.pictures import colour_profiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.pictures.colour_profiles import ColourSpace

    Floats = NDArray[np.floating[Any]]

SATURATION = "saturation"
HUE = "hue"
CAST = "cast"
CHANNELS = "channels"
SUBSAMPLING = "subsampling"
CHROMA_NOISE = "chroma-noise"
CHROMA_BLUR = "chroma-blur"
GREY = "grey"
PROFILE = "profile"
TINT = "tint"

_LUMA = np.array([0.299, 0.587, 0.114])
# From RGB to two axes of colour on which grey is 0: the plane of HSV's hexagon.
_PLANE = np.array([[1.0, -0.5, -0.5], [0.0, np.sqrt(3) / 2, -np.sqrt(3) / 2]])
_TO_CHROMA = np.array([[-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])

_SIDE = 8
# Most blocks that are fitted, and most pixels whose detail is looked at.
_MOST_BLOCKS = 4000
_MOST_DETAIL = 300_000
# Values nearer to black or white than this may be clipped.
_MOST_TABULATED = 1_000_000
_RIM = 3.0
_FEWEST = 24
# A picture whose chroma deviates less is grey.
_GREY_CHROMA = 1.5
# A copy that keeps less of the reference's chroma is grey.
_GREY_SHARE = 0.08
# Changes below these are not named: nobody sees them, and codecs make them.
_LEAST_SATURATION = 0.08
_LEAST_TURN = 4.0
_LEAST_GAIN = 0.035
# A change of chroma below this deviation, in grey levels, is no finding.
_LEAST_CHANGE = 1.2
_LEAST_SEEN = 2.5
# A turn and a factor alone, or gains alone, are all there is where they leave this share or less.
_SIMPLE_LEAVES = 0.15
# A profile has to explain the change this much better than the best other finding, or as well
# where the reference's file names it; and to leave no more than this share of the change.
_PROFILE_BETTER = 0.5
_PROFILE_KNOWN = 1.3
_PROFILE_LEAVES = 0.08
# The same for swapped channels.
_SWAP_LEAVES = 0.3
_CURVE_BINS = 24

_CHANNEL_NAMES = ("red", "green", "blue")
_WEIGHTS = {
    "Rec. 601": (0.299, 0.587, 0.114),
    "Rec. 709": (0.2126, 0.7152, 0.0722),
    "mean": (1 / 3, 1 / 3, 1 / 3),
    "red channel": (1.0, 0.0, 0.0),
    "green channel": (0.0, 1.0, 0.0),
    "blue channel": (0.0, 0.0, 1.0),
}
LIGHTNESS = "lightness"


@dataclass(frozen=True)
class ColourFinding:
    """One change of the colours: its kind, its parameters, and the sentence that says it."""

    kind: str
    sentence: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ColourAnswer:
    """What was done to the colours.

    Parameters
    ----------
    findings
        The changes, the most far-reaching first.
    recoloured
        The reference with swapped channels, another profile or a cast made again, so that the luma
        can be judged without them; None where there is nothing to make again.
    """

    findings: tuple[ColourFinding, ...] = ()
    recoloured: Floats | None = None

    @property
    def sentence(self) -> str:
        """All findings in words; empty where there are none."""
        return " ".join(finding.sentence for finding in self.findings)


def colour_findings(
    reference: Floats,
    copy: Floats,
    spaces: tuple[ColourSpace | None, ColourSpace | None] = (None, None),
) -> tuple[ColourFinding, ...]:
    """Return what was done to the colours of a copy; parameters as in `colour_answer`."""
    return colour_answer(reference, copy, spaces).findings


def colour_answer(
    reference: Floats,
    copy: Floats,
    spaces: tuple[ColourSpace | None, ColourSpace | None] = (None, None),
) -> ColourAnswer:
    """Return what was done to the colours of a copy, and the reference without it.

    Parameters
    ----------
    reference, copy
        Pictures of the same shape (height, width, 3) on the scale 0 to 255, in sRGB.
    spaces
        The colour spaces that the files of both are in; None for sRGB and for unknown.
    """
    blocks = _block_pairs(reference, copy)
    if _is_grey(blocks.reference):
        return ColourAnswer(_on_grey(reference, copy, blocks))
    if _is_grey(blocks.copy, _GREY_SHARE * _deviation(blocks.reference)):
        return ColourAnswer((_grey_conversion(reference, copy),))
    fit = _global_fit(blocks)
    profile = _profile(blocks, spaces, fit)
    channels = None
    if profile is not None:
        finding, made = profile
        found = [finding]
        reference = made(reference)
        blocks = _block_pairs(reference, copy)
    else:
        found = []
        channels = _swapped(blocks, fit)
        if channels is not None:
            found.append(_swap_finding(channels))
            reference = reference[..., channels]
            blocks = _block_pairs(reference, copy)
    recoloured = None
    if found:
        recoloured = reference
        fit = _global_fit(blocks)
    if profile is None and (channels is None or fit.is_visible):
        found += _global_findings(fit)
    if any(finding.kind == CAST for finding in found):
        recoloured = np.clip(reference * fit.gains, 0, 255)
    found += _detail(reference, copy, fit)
    return ColourAnswer(tuple(found), recoloured)


# --- means of blocks ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Blocks:
    """Means of blocks that are not clipped, shape (block, 3).

    `tabulated` are those of the reference after `table`, the mean value of the copy, in any
    channel, for each value of the reference. `calm` is nearly 1 where the reference's colours are
    those of the neighbouring blocks, and less where a blur would mix different ones.
    """

    reference: NDArray[np.float64]
    copy: NDArray[np.float64]
    tabulated: NDArray[np.float64]
    table: NDArray[np.float64]
    calm: NDArray[np.float64]


def _block_pairs(reference: Floats, copy: Floats) -> _Blocks:
    first, first_inside = _means_and_inside(reference)
    second, second_inside = _means_and_inside(copy)
    inside = np.minimum(first_inside, second_inside)
    least = 1.0
    # Where nearly every block is clipped somewhere, those that are clipped little have to do.
    while np.count_nonzero(inside >= least) < min(_FEWEST * 4, len(inside)) and least > 0.5:
        least -= 0.1
    chosen = np.flatnonzero(inside >= least)
    if len(chosen) < _FEWEST:
        chosen = np.arange(len(inside))
    chosen = chosen[:: max(1, len(chosen) // _MOST_BLOCKS)]
    table = _table(reference, copy)
    tabulated, _ = _means_and_inside(table[np.clip(reference, 0, 255).astype(np.uint8)])
    calm = _calm(first, reference.shape)
    return _Blocks(first[chosen], second[chosen], tabulated[chosen], table, calm[chosen])


def _calm(means: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return weights of blocks that are small where the colour changes from block to block."""
    side = min(_SIDE, *shape[:2])
    grid = (means @ _PLANE.T).reshape(shape[0] // side, shape[1] // side, 2)
    near = ndimage.uniform_filter(grid, (3, 3, 0))
    spread = ndimage.uniform_filter(grid**2, (3, 3, 0)) - near**2
    size = np.sqrt(np.maximum(spread.sum(axis=2), 0)).ravel()
    return np.asarray(1 / (1 + (size / (float(np.median(size)) + 1)) ** 2) + 1e-3)


def _table(reference: Floats, copy: Floats) -> NDArray[np.float64]:
    """Return the mean value of the copy for each value of the reference, over all channels."""
    step = max(1, int(np.sqrt(reference.size / _MOST_TABULATED)))
    before = np.clip(reference[::step, ::step], 0, 255).astype(np.uint8).ravel()
    after = copy[::step, ::step].ravel()
    count = np.bincount(before, minlength=256)
    total = np.bincount(before, weights=after, minlength=256)
    known = np.flatnonzero(count >= _FEWEST)
    if len(known) < 2:
        return np.arange(256.0)
    found: NDArray[np.float64] = np.interp(np.arange(256), known, total[known] / count[known])
    return found


def _means_and_inside(picture: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the means of all blocks, and the share of their values that are not clipped."""
    side = min(_SIDE, *picture.shape[:2])
    rows = picture.shape[0] // side
    columns = picture.shape[1] // side
    cut = picture[: rows * side, : columns * side].reshape(rows, side, columns, side, 3)
    means = cut.mean(axis=(1, 3), dtype=np.float64).reshape(-1, 3)
    inside = ((cut > _RIM) & (cut < 255 - _RIM)).all(axis=4).mean(axis=(1, 3)).ravel()
    return means, inside


def _deviation(means: Floats) -> float:
    """Return the root mean square of the chroma."""
    return float(np.sqrt(np.mean(np.sum((means @ _TO_CHROMA.T) ** 2, axis=1))))


def _is_grey(means: Floats, least: float = 0.0) -> bool:
    return _deviation(means) < max(_GREY_CHROMA, least)


# --- tone ---------------------------------------------------------------------------------------


def _curve(before: Floats, after: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return knots of a rising curve from one to the other, by weighted means of bins."""
    order = np.argsort(before)
    x = before[order]
    y = after[order]
    w = weights[order]
    edges = np.unique(np.searchsorted(np.cumsum(w), np.linspace(0, w.sum(), _CURVE_BINS + 1)))
    starts = edges[:-1][edges[:-1] < len(x)]
    total = np.add.reduceat(w, starts)
    knots = np.add.reduceat(w * x, starts) / total
    values = np.maximum.accumulate(np.add.reduceat(w * y, starts) / total)
    if len(knots) < 3 or knots[-1] - knots[0] < 8:
        shift = float(np.sum(w * (y - x)) / w.sum())
        return np.array([0.0, 255.0]), np.array([shift, 255.0 + shift])
    # Beyond the first and the last bin the curve goes on as it does between its outer thirds.
    third = max(1, len(knots) // 3)
    low = _slope(knots[: third + 1], values[: third + 1])
    high = _slope(knots[-third - 1 :], values[-third - 1 :])
    ends = (values[0] - low * knots[0], values[-1] + high * (255 - knots[-1]))
    return np.array([0.0, *knots, 255.0]), np.array([ends[0], *values, ends[1]])


def _slope(x: Floats, y: Floats) -> float:
    return float((y[-1] - y[0]) / max(x[-1] - x[0], 1e-6))


def _tone_curve(blocks: _Blocks) -> tuple[Floats, Floats]:
    """Return the curve of the luma, from blocks with little colour where there are some.

    There, no change of hue or saturation moves the luma.
    """
    colour = np.sum((blocks.reference @ _TO_CHROMA.T) ** 2, axis=1)
    usual = float(np.median(colour)) + 1
    weights = 1 / (1 + (colour / (0.25 * usual)) ** 2) + 1e-3
    return _curve(blocks.reference @ _LUMA, blocks.copy @ _LUMA, weights)


def _toned(reference: Floats, curve: tuple[Floats, Floats], way: str) -> Floats:
    """Return a reference after a curve, applied to each channel, to the luma, or as a factor."""
    if way in ("channels", "table"):
        return np.interp(reference, *curve)
    luma = reference @ _LUMA
    after = np.interp(luma, *curve)
    if way == "luma":
        return np.asarray(reference + (after - luma)[..., None])
    return np.asarray(reference * (after / np.maximum(luma, 1))[..., None])


# --- the global fit -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Fit:
    """How the chroma of the copy follows from that of the reference after a curve of tone.

    Parameters
    ----------
    curve, way
        The curve of tone and how it is applied.
    gains
        Of the channels, for a neutral grey of middle brightness.
    saturation, turn
        Factor, and degrees, once the gains are undone.
    matrix, offset
        The axes of colour of the copy are `matrix` times those of the toned reference with its
        luma (in units of 128) and 1.
    unexplained
        Mean square of what is left.
    change
        Mean square of the change of the axes of colour after the curve.
    colour
        Root mean square of the axes of colour before the change.
    """

    curve: tuple[Floats, Floats]
    way: str
    gains: NDArray[np.float64]
    saturation: float
    turn: float
    matrix: NDArray[np.float64]
    unexplained: float
    change: float
    colour: float

    @property
    def is_visible(self) -> bool:
        """Whether the colours have changed at all."""
        return bool(self.change > _LEAST_CHANGE**2)

    @property
    def effect(self) -> float:
        """How strong the findings are, in units of the least that is named."""
        return max(
            float(abs(np.log(max(self.saturation, 1e-3)))) / _LEAST_SATURATION,
            abs(self.turn) / _LEAST_TURN,
            float(np.abs(self.gains - 1).max()) / _LEAST_GAIN,
        )


def _global_fit(blocks: _Blocks) -> _Fit:
    """Return the fit with the kind of tone curve that leaves least to be explained."""
    curve = _tone_curve(blocks)
    fits = [_fit(blocks, curve, way) for way in ("channels", "luma", "factor")]
    fits.append(_fit(blocks, (np.arange(256.0), blocks.table), "table"))
    least = min(fit.unexplained for fit in fits)
    # Of those that explain the colours about equally well, the one that needs the least.
    good = [fit for fit in fits if fit.unexplained <= 1.3 * least + 0.1]
    return min(good, key=lambda fit: fit.effect)


def _fit(blocks: _Blocks, curve: tuple[Floats, Floats], way: str) -> _Fit:
    toned = blocks.tabulated if way == "table" else _toned(blocks.reference, curve, way)
    before = toned @ _PLANE.T
    after = blocks.copy @ _PLANE.T
    columns = np.column_stack([before, toned @ _LUMA / 128, np.ones(len(before))])
    matrix, weights = _robust(columns, after, blocks.calm)
    left = after - columns @ matrix.T
    weights = weights * blocks.calm
    change = _weighted_square(after - before, weights)
    factor, gains = _simplest(toned, blocks.copy, weights, 2 * _weighted_square(left, weights))
    if factor is None:
        neutral = matrix @ np.array([0.0, 0.0, 1.0, 1.0])
        gains = np.maximum(1 + _rgb_of(neutral) / 128, 0.1)
        factor = _turn_and_scale(before, (blocks.copy / gains) @ _PLANE.T, weights)
    return _Fit(
        curve=curve,
        way=way,
        gains=gains,
        saturation=float(abs(factor)),
        turn=float(np.degrees(np.angle(factor))),
        matrix=matrix,
        unexplained=_weighted_square(left, weights),
        change=change,
        colour=float(np.sqrt(np.mean(np.sum(before**2, axis=1)))),
    )


def _simplest(
    toned: Floats, copy: Floats, weights: Floats, enough: float
) -> tuple[complex | None, NDArray[np.float64]]:
    """Return a turn with a factor alone, or gains alone, where one of them is all there is.

    Parameters
    ----------
    toned, copy
        Means of blocks of the reference after the curve of tone, and of the copy.
    weights
        Of the blocks.
    enough
        Mean square that may be left unexplained in any case.
    """
    before = toned @ _PLANE.T
    after = copy @ _PLANE.T
    factor = _turn_and_scale(before, after, weights)
    turned = _weighted_square(after - _turned(before, factor), weights)
    column = weights[:, None]
    gains = np.sum(column * toned * copy, axis=0) / np.sum(column * toned**2 + 1e-6, axis=0)
    # A common gain belongs to the tone.
    gains = np.maximum(gains / max(float(gains @ _LUMA), 0.1), 0.1)
    cast = _weighted_square(after - (toned * gains) @ _PLANE.T, weights)
    bound = max(enough, _SIMPLE_LEAVES * _weighted_square(after - before, weights))
    if min(turned, cast) > bound:
        return None, gains
    return (factor, np.ones(3)) if turned < cast else (1 + 0j, gains)


def _turn_and_scale(before: Floats, after: Floats, weights: Floats) -> complex:
    """Return the complex number that turns and scales the axes of colour best."""
    first = before[:, 0] + 1j * before[:, 1]
    second = after[:, 0] + 1j * after[:, 1]
    # A little is added, so that colours that are not there have not changed.
    above = np.sum(weights * first.conj() * second) + 4
    return complex(above / (np.sum(weights * np.abs(first) ** 2) + 4))


def _turned(axes: Floats, factor: complex) -> Floats:
    made = (axes[:, 0] + 1j * axes[:, 1]) * factor
    return np.column_stack([made.real, made.imag])


def _weighted_square(values: Floats, weights: Floats) -> float:
    return float(np.average(np.sum(values**2, axis=1), weights=weights))


def _robust(
    columns: NDArray[np.float64], wanted: NDArray[np.float64], calm: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the coefficients (2, columns) of a regression by reweighting, and the weights.

    Parameters
    ----------
    columns
        What the colours are explained by, shape (block, column).
    wanted
        The axes of colour, shape (block, 2).
    calm
        Weights of the blocks from the beginning.
    """
    weights = np.ones(len(columns))
    # A little is added where a picture has too few colours to tell the coefficients apart: then
    # the colours stay as they were.
    prior = np.eye(2, columns.shape[1])
    ridge = np.diag([4.0, 4.0, 1.0, 1.0])
    matrix = prior
    for _ in range(8):
        weighted = columns * (calm * weights)[:, None]
        system = weighted.T @ columns + ridge
        matrix = np.linalg.solve(system, weighted.T @ wanted + ridge @ prior.T).T.astype(np.float64)
        size = np.sqrt(np.sum((wanted - columns @ matrix.T) ** 2, axis=1))
        scale = 2.5 * float(np.median(size)) + 0.5
        weights = 1 / (1 + (size / scale) ** 2) ** 2
    return matrix, weights


def _rgb_of(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the change of RGB, without one of the luma, that has these axes of colour."""
    system = np.vstack([_PLANE, _LUMA])
    found: NDArray[np.float64] = np.linalg.solve(system, np.array([*axes, 0.0]))
    return found


def _global_findings(fit: _Fit) -> list[ColourFinding]:
    if not fit.is_visible:
        return []
    found = []
    # Neither is seen where there is little colour to change.
    paler = abs(fit.saturation - 1) * fit.colour
    turned = 2 * abs(np.sin(np.radians(fit.turn) / 2)) * fit.colour
    if abs(fit.saturation - 1) > _LEAST_SATURATION and paler > _LEAST_SEEN:
        found.append(_saturation_finding(fit.saturation))
    if abs(fit.turn) > _LEAST_TURN and turned > _LEAST_SEEN:
        sentence = f"Hue turned by {abs(fit.turn):.0f}° {_sense(fit.turn)}."
        found.append(ColourFinding(HUE, sentence, {"degrees": fit.turn}))
    if float(np.abs(fit.gains - 1).max()) > _LEAST_GAIN:
        found.append(_cast_finding(fit.gains))
    return found


def _sense(turn: float) -> str:
    return "from red towards yellow" if turn > 0 else "from red towards magenta"


def _saturation_finding(factor: float) -> ColourFinding:
    percent = 100 * abs(factor - 1)
    verb = "raised" if factor > 1 else "lowered"
    return ColourFinding(SATURATION, f"Saturation {verb} by {percent:.0f} %.", {"factor": factor})


_CASTS = {
    (1, 0, 0): "red",
    (0, 1, 0): "green",
    (0, 0, 1): "blue",
    (1, 1, 0): "yellow",
    (1, 0, 1): "magenta",
    (0, 1, 1): "cyan",
}


def _cast_finding(gains: NDArray[np.float64]) -> ColourFinding:
    middle = (gains.max() + gains.min()) / 2
    raised = tuple(int(gain > middle) for gain in gains)
    name = _CASTS.get((raised[0], raised[1], raised[2]), "coloured")
    said = ", ".join(f"{c} ×{g:.2f}" for c, g in zip(_CHANNEL_NAMES, gains, strict=True))
    parameters = dict(zip(_CHANNEL_NAMES, (float(gain) for gain in gains), strict=True))
    return ColourFinding(CAST, f"A {name} cast ({said}).", parameters)


# --- channels, profiles, grey -------------------------------------------------------------------


def _spread(values: Floats) -> float:
    """Return a mean square that a tenth of strays does not change much."""
    squares = np.sort(np.sum(np.square(values), axis=-1).ravel())
    return float(squares[: max(1, int(0.9 * len(squares)))].mean())


def _swapped(blocks: _Blocks, turned: _Fit) -> tuple[int, ...] | None:
    """Return the channels of the reference that the copy's are, where they were swapped.

    `turned` is the fit of the channels as they are.
    """
    if turned.change < 4 * _LEAST_CHANGE**2:
        return None
    errors = {}
    for order in itertools.permutations(range(3)):
        before = blocks.reference[:, order].ravel()
        curve = _curve(before, blocks.copy.ravel(), np.ones(len(before)))
        # Only a curve may help: anything can be explained as a turn of the hue.
        left = np.interp(before, *curve).reshape(-1, 3) - blocks.copy
        errors[order] = _spread(left @ _PLANE.T)
    best = min(errors, key=lambda order: errors[order])
    if best == (0, 1, 2):
        return None
    explained = errors[best] < _SWAP_LEAVES * errors[0, 1, 2]
    return best if explained and errors[best] < 1.3 * turned.unexplained + 1 else None


def _swap_finding(order: tuple[int, ...]) -> ColourFinding:
    moved = [k for k in range(3) if order[k] != k]
    names = [_CHANNEL_NAMES[k] for k in moved]
    if len(moved) == 2:
        said = f"The {names[0]} and {names[1]} channels are swapped."
    else:
        now = ", ".join(f"{_CHANNEL_NAMES[k]} from {_CHANNEL_NAMES[order[k]]}" for k in range(3))
        said = f"All three channels are swapped: {now}."
    return ColourFinding(CHANNELS, said, {"order": "".join("RGB"[k] for k in order)})


def _profile(
    blocks: _Blocks, spaces: tuple[ColourSpace | None, ColourSpace | None], other: _Fit
) -> tuple[ColourFinding, Any] | None:
    """Return the profile that was dropped or applied wrongly, and what makes that again."""
    original = blocks.reference / 255
    change = _spread(blocks.copy - blocks.reference)
    if change < 2 * _LEAST_CHANGE**2:
        return None
    toned = _toned(blocks.reference, other.curve, other.way)
    columns = np.column_stack([toned @ _PLANE.T, toned @ _LUMA / 128, np.ones(len(toned))])
    luma_left = (toned - blocks.copy) @ _LUMA
    plane_left = blocks.copy @ _PLANE.T - columns @ other.matrix.T
    # Turned into the scale of RGB, where the two axes of colour have a length of about 1.5.
    best_other = _spread(plane_left) / 1.5 + 3 * _spread(luma_left[:, None])
    as_it_is = _left_by_curve(blocks.reference, blocks.copy)
    known = [space for space in spaces if space is not None]
    candidates = [(space, True) for space in known if space.matrix is not None]
    candidates += [(space, False) for space in colour_profiles.COMMON]
    for space, is_known in candidates:
        for lost, convert in ((True, space.from_srgb), (False, space.to_srgb)):
            left = _left_by_curve(255 * convert(original[None])[0], blocks.copy)
            if left > _PROFILE_BETTER * as_it_is:
                continue
            bound = _PROFILE_KNOWN * best_other + 1 if is_known else _PROFILE_BETTER * best_other
            if left < _PROFILE_LEAVES * change and left < bound:
                return _profile_finding(space, lost), _Converted(convert)
    return None


def _left_by_curve(made: NDArray[np.float64], copy: NDArray[np.float64]) -> float:
    """Return what a common curve of all channels leaves unexplained."""
    curve = _curve(made.ravel(), copy.ravel(), np.ones(made.size))
    return _spread(np.interp(made, *curve) - copy)


@dataclass(frozen=True)
class _Converted:
    """Converts a picture on the scale 0 to 255 from or to another space."""

    convert: Any

    def __call__(self, picture: Floats) -> Floats:
        found: Floats = 255 * self.convert(picture / 255)
        return found


def _profile_finding(space: ColourSpace, lost: bool) -> ColourFinding:
    if lost:
        said = f"The colour profile {space.name} was lost: its numbers are shown as sRGB."
    else:
        said = f"The colours were read as {space.name} though they are sRGB."
    return ColourFinding(PROFILE, said, {"profile": space.name, "lost": lost})


def _on_grey(reference: Floats, copy: Floats, blocks: _Blocks) -> tuple[ColourFinding, ...]:
    """Return what colours were given to a grey reference."""
    fit = _fit(blocks, _tone_curve(blocks), "channels")
    found = []
    if not _is_grey(blocks.copy) and float(np.abs(fit.gains - 1).max()) > _LEAST_GAIN:
        cast = _cast_finding(fit.gains)
        said = f"A grey picture was tinted. {cast.sentence}"
        found.append(ColourFinding(TINT, said, cast.parameters))
    details = _detail(reference, copy, fit)
    return (*found, *(each for each in details if each.kind == CHROMA_NOISE))


def _grey_conversion(reference: Floats, copy: Floats) -> ColourFinding:
    """Return the grey conversion with the weights that explain the copy best."""
    side = min(4, *reference.shape[:2])
    rows = reference.shape[0] // side * side
    columns = reference.shape[1] // side * side
    grey = copy[:rows, :columns].mean(axis=2).reshape(rows // side, side, -1, side).mean((1, 3))
    after = grey.ravel()
    inside = (after > _RIM) & (after < 255 - _RIM)
    if inside.sum() < _FEWEST:
        inside = np.ones(len(after), dtype=bool)
    errors = {}
    for name in (*_WEIGHTS, LIGHTNESS):
        made = _as_grey(reference[:rows, :columns], name)
        before = made.reshape(rows // side, side, -1, side).mean((1, 3)).ravel()
        curve = _curve(before[inside], after[inside], np.ones(int(inside.sum())))
        errors[name] = _spread((np.interp(before, *curve) - after)[inside][:, None])
    ranked = sorted(errors, key=lambda name: errors[name])
    best = ranked[0]
    if errors[ranked[1]] < 1.05 * errors[best] + 0.002:
        return ColourFinding(GREY, "Converted to grey.", {"weights": None})
    return ColourFinding(GREY, f"Converted to grey ({_grey_words(best)}).", {"weights": best})


def _grey_words(name: str) -> str:
    if name in ("Rec. 601", "Rec. 709"):
        return f"weights of {name}"
    return {"mean": "mean of the channels", LIGHTNESS: "lightness"}.get(name, f"the {name} alone")


def _as_grey(picture: Floats, name: str) -> Floats:
    if name == LIGHTNESS:
        return np.asarray((picture.max(axis=2) + picture.min(axis=2)) / 2)
    made: Floats = picture @ np.array(_WEIGHTS[name], dtype=picture.dtype)
    return made


# --- detail -------------------------------------------------------------------------------------


def _detail(reference: Floats, copy: Floats, fit: _Fit) -> list[ColourFinding]:
    place = _middle(reference.shape[:2])
    toned = _toned(reference[place], fit.curve, fit.way).astype(np.float32)
    made = copy[place].astype(np.float32)
    axes = toned @ _PLANE.T
    luma = toned @ _LUMA.astype(np.float32)
    columns = np.concatenate([axes, luma[..., None] / 128, np.ones((*luma.shape, 1))], axis=2)
    # The two axes of colour and Cb, Cr are two ways to write the same plane.
    change = _TO_CHROMA @ np.linalg.pinv(_PLANE)
    chroma = (columns @ fit.matrix.T) @ change.T
    predicted = np.stack([luma, chroma[..., 0], chroma[..., 1]])
    planes = np.stack([made @ _LUMA, *np.moveaxis(made @ _TO_CHROMA.T, 2, 0)])
    inside = np.asarray(((made > _RIM) & (made < 255 - _RIM)).all(axis=2))
    found = detail_findings(predicted.astype(np.float32), planes.astype(np.float32), inside)
    findings = []
    if found.subsampling is not None:
        said = f"Chroma subsampled {found.subsampling}."
        findings.append(ColourFinding(SUBSAMPLING, said, {"scheme": found.subsampling}))
    if found.noise is not None:
        said = f"Chroma noise, σ about {found.noise:.2g}."
        findings.append(ColourFinding(CHROMA_NOISE, said, {"sigma": found.noise}))
    if found.blur is not None:
        said = f"Chroma blurred, σ about {found.blur:.2g} px."
        findings.append(ColourFinding(CHROMA_BLUR, said, {"sigma": found.blur}))
    return findings


def _middle(shape: tuple[int, ...]) -> tuple[slice, slice]:
    """Return the middle of a picture, on the grid of codecs, where all of it would take long."""
    height, width = shape
    if height * width <= _MOST_DETAIL:
        return slice(0, height), slice(0, width)
    side = 512
    tall = min(side, height)
    wide = min(side, width)
    top = (height - tall) // 2 // 16 * 16
    left = (width - wide) // 2 // 16 * 16
    return slice(top, top + tall), slice(left, left + wide)
