"""Compare a copy with its reference: `compare(reference, copy)` gives a `Comparison`."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import ndimage

from isca_gui.core.alignment.align import AUTO
from isca_gui.core.comparison import classifier as classifiers
from isca_gui.core.comparison import regions as places
from isca_gui.core.comparison.colour import ColourAnswer, colour_answer
from isca_gui.core.comparison.features import describe_change
from isca_gui.core.comparison.jpeg_grid import made_on_grid
from isca_gui.core.comparison.kinds import FILTER, family_of
from isca_gui.core.comparison.laying import NO_DATA, after_geometry, found_alignment, lay
from isca_gui.core.comparison.pair import Pair
from isca_gui.core.comparison.verdict import Judgement, judge, nothing_fits, sentence
from isca_gui.core.distortion.distortions import ORIGINAL, UNLIKE, level_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from isca_gui.core.alignment.align import Aligner, Alignment
    from isca_gui.core.comparison.classifier import Classifier
    from isca_gui.core.comparison.colour import ColourFinding
    from isca_gui.core.comparison.laying import Laid
    from isca_gui.core.comparison.pair import Floats
    from isca_gui.core.comparison.regions import BlockMaps, Region
    from isca_gui.core.pictures.colour_profiles import ColourSpace

UNRELATED = "unrelated"
_SAME = "The same picture"
# Below this change nothing is left but rounding to 8 bits.
_ROUNDING_MSE = 0.1
_LEAST_SIMILAR = 0.3
_SURELY_SIMILAR = 0.85
_THUMBNAIL = 32
# A smaller deviation of the reference when small shows nothing that could be found again in noise.
_STRUCTURE = 2.0
# Colours have changed above this mean squared change of Cb and Cr, and they alone have where the
# luma's is below this share of it.
_COLOUR = 4.0
_COLOUR_ONLY = 0.25
_SSIM_SIDE = 7
_SSIM_BAND = 256
# Pictures above this many pixels are judged by some parts of this side.
_LARGE = 1_200_000
_PART_SIDE = 768
_MOST_PARTS = 5
# A copy with less deviation shows nothing.
_COVERED = 2.0
# A region's rectangle with a shorter side shows too little.
_SMALLEST_PART = 40
# Less than this share of the blocks says nothing about the whole picture.
_LITTLE = 0.02
# Below this side an answer has to be this sure.
_SMALL_PART = 64
_SURE_IF_SMALL = 0.9


@dataclass(frozen=True, eq=False)
class RegionAnswer:
    """A region of the picture and what was done there."""

    region: Region
    judgement: Judgement

    @property
    def where(self) -> str:
        """Where it lies, in words."""
        return places.place_in_words(self.region.blocks)


@dataclass(frozen=True, eq=False)
class Comparison:
    """What was done to a copy, where, how strongly, and how sure.

    Parameters
    ----------
    label
        `original`, a kind, two kinds joined by "+", or `unrelated`.
    family
        tone, filter, noise or compression; None where there is none or there are two.
    parts, order, unlike, probability, probabilities, explained
        As in `verdict.Judgement`.
    parameters
        Physical parameters by kind.
    severity
        Mean squared change of the damaged blocks.
    damaged_share
        Share of the blocks that are damaged.
    shares
        Share of the blocks by label.
    mse, psnr, ssim
        Of the luma, on the scale 0 to 255; psnr is None for identical pictures.
    sentence
        The answer.
    width, height
        Of the pictures, in pixels.
    similarity
        Correlation of both pictures when small, 0 to 1.
    regions
        The damaged regions where the damage is in parts of the picture only.
    geometry
        How the copy lies on the reference.
    class_map
        The label's place in `classes` for each block, shape (rows, columns); -1 for blocks on the
        rim of which the reference shows nothing.
    severity_map
        Mean squared change of each block, shape (rows, columns).
    classes
        Labels of the class map; the first is `original`.
    colour
        What was done to the colours.
    make_again
        Makes the answer again on the reference when `made_again` is asked for.
    """

    label: str
    family: str | None
    parts: tuple[str, ...]
    order: str | None
    unlike: bool
    probability: float
    probabilities: dict[str, float]
    explained: float | None
    parameters: dict[str, dict[str, float]]
    severity: float
    damaged_share: float
    shares: dict[str, float]
    mse: float
    psnr: float | None
    ssim: float
    sentence: str
    width: int
    height: int
    similarity: float
    class_map: NDArray[np.int16]
    severity_map: NDArray[np.float64]
    classes: tuple[str, ...]
    regions: tuple[RegionAnswer, ...] = ()
    colour: tuple[ColourFinding, ...] = ()
    geometry: Alignment | None = None
    make_again: Callable[[], Floats | None] | None = field(default=None, repr=False)

    @functools.cached_property
    def made_again(self) -> Floats | None:
        """The answer made again on the reference, 0 to 255; None where that cannot be done."""
        return self.make_again() if self.make_again is not None else None


def compare(
    reference: NDArray[Any],
    copy: NDArray[Any],
    classifier: Classifier | None = None,
    *,
    align: str = AUTO,
    aligner: Aligner | None = None,
    spaces: tuple[ColourSpace | None, ColourSpace | None] = (None, None),
) -> Comparison:
    """Return what was done to a copy of a reference.

    Parameters
    ----------
    reference, copy
        Pictures in [0, 1]: grey (height, width) or colour (height, width, 3).
    classifier
        Names the kinds; the shipped one by default.
    align
        `auto` looks for the copy in the reference; `shift` expects it to be moved or cropped at
        most, and `none` to lie on it pixel by pixel.
    aligner
        Lays copies on the reference; one for many copies of it saves work.
    spaces
        The colour spaces that the files of both are in; None for sRGB and for unknown.

    Raises
    ------
    ComparisonError
        If the pictures cannot be compared.
    """
    alignment = found_alignment(reference, copy, align, aligner)
    laid = lay(reference, copy, alignment)
    if not alignment.is_related and alignment.has_same_size and _is_similar(laid.pair):
        # Nothing is left of the structure, but the light and dark of the whole picture.
        alignment = alignment.unmoved()
        laid = lay(reference, copy, alignment)
    colours = _colours(reference, copy, laid, spaces)
    if colours.recoloured is None:
        return _with_colours(_compare_luma(laid, classifier, colours), colours)
    # What was done to the colours changes the luma as well; the rest is judged without it.
    recoloured = replace(laid, whole=Pair(colours.recoloured, laid.whole.copy))
    found = _compare_luma(recoloured, classifier, colours)
    measured = replace(
        found,
        mse=laid.pair.mse,
        psnr=_psnr(laid.pair.mse),
        ssim=mean_ssim(laid.pair.reference_luma, laid.pair.copy_luma),
    )
    return _with_colours(measured, colours)


def _colours(
    reference: NDArray[Any],
    copy: NDArray[Any],
    laid: Laid,
    spaces: tuple[ColourSpace | None, ColourSpace | None],
) -> ColourAnswer:
    """Return what was done to the colours; nothing where neither picture has any."""
    if reference.ndim == 2 and copy.ndim == 2:
        return ColourAnswer()
    pair = laid.pair
    if not laid.alignment.is_related or similarity_of(pair) < _LEAST_SIMILAR:
        # Nothing can be said of the colours of another picture.
        return ColourAnswer()
    if pair.reference.ndim == 3:
        first = pair.reference
        second = pair.copy
    elif laid.alignment.is_same:
        first = _as_colour(reference)
        second = _as_colour(copy)
    else:
        return ColourAnswer()
    found = colour_answer(first, second, spaces)
    can_recolour = pair.reference.ndim == 3 and laid.data.all()
    if found.recoloured is None or not can_recolour:
        return ColourAnswer(found.findings)
    return ColourAnswer(found.findings, found.recoloured.astype(np.float32))


def _as_colour(picture: NDArray[Any]) -> Floats:
    """Return a picture in [0, 1] with three channels, on the scale 0 to 255."""
    channels = picture if picture.ndim == 3 else np.repeat(picture[..., None], 3, axis=2)
    return np.asarray(channels, np.float32) * np.float32(255)


def _with_colours(found: Comparison, colours: ColourAnswer) -> Comparison:
    """Return an answer about the luma with what was done to the colours."""
    if not colours.findings:
        return found
    said = found.sentence
    is_moved = found.geometry is not None and not found.geometry.is_same
    if said.startswith(_SAME) and not is_moved:
        said = "Only the colours have changed."
    return replace(found, colour=colours.findings, sentence=f"{said} {colours.sentence}")


def _compare_luma(laid: Laid, classifier: Classifier | None, colours: ColourAnswer) -> Comparison:
    """Return what was done to the luma."""
    pair = laid.pair
    alignment = laid.alignment
    maps = places.measure_blocks(pair)
    if not alignment.is_related:
        return _unrelated(laid, maps, alignment.match)
    if (pair.mse < _ROUNDING_MSE and maps.largest.max() <= 1.01) or laid.is_rounding(
        float(maps.largest.max())
    ):
        return _answer(laid, maps, None, ())
    similarity = similarity_of(pair)
    if similarity < _LEAST_SIMILAR and alignment.is_same:
        return _unrelated(laid, maps, similarity)
    colour = colour_change(pair)
    if colour > _COLOUR and pair.mse < colour * _COLOUR_ONLY:
        return _recoloured(laid, maps, colour, named=bool(colours.findings))
    names = classifier or classifiers.shipped()
    regions = places.damaged_regions(maps, *pair.reference.shape[:2])
    answers = tuple(
        RegionAnswer(region, _judge_region(pair, region, names, laid.offset))
        for region in regions
        if min(region.bottom - region.top, region.right - region.left) >= _SMALLEST_PART
    )
    if answers:
        return _answer(laid, maps, answers[0].judgement, answers)
    if regions and sum(region.share for region in regions) < _LITTLE:
        # The regions are too small to say what was done there, and the rest is untouched.
        return _answer(laid, maps, nothing_fits(pair.mse), ())
    judgement = _judge_whole(pair, names, laid.offset)
    if laid.is_interpolation() and _is_filter(judgement):
        return _answer(laid, maps, None, ())
    return _answer(laid, maps, judgement, ())


def _is_similar(pair: Pair) -> bool:
    """Whether a small picture of the copy alone tells that it shows the reference."""
    return similarity_of(pair) >= _SURELY_SIMILAR


def _is_filter(judgement: Judgement) -> bool:
    """Whether a filter is all that was found, or nothing with a name."""
    return judgement.unlike or judgement.weak or _family(judgement) == FILTER


def colour_change(pair: Pair) -> float:
    """Return the mean squared change of Cb and Cr, averaged over blocks; 0 for grey pictures.

    A codec that keeps less of the colour's detail leaves the mean of a block; a change of hue,
    saturation or white balance does not.
    """
    if pair.reference.ndim == 2:
        return 0.0
    total = 0.0
    for channel, scale in ((2, 0.564), (0, 0.713)):
        change = (pair.copy[..., channel] - pair.copy_luma) - (
            pair.reference[..., channel] - pair.reference_luma
        )
        total += float(np.mean(np.square(scale * _means(change, places.SIDE)))) / 2
    return total


def similarity_of(pair: Pair) -> float:
    """Return the correlation of both pictures when small, 0 to 1; a negative counts as well."""
    small = [
        ndimage.zoom(
            _block_means(each),
            np.array([_THUMBNAIL, _THUMBNAIL]) / _block_means(each).shape,
            order=1,
        )
        for each in (pair.reference_luma, pair.copy_luma)
    ]
    centred = [each - each.mean() for each in small]
    length = float(np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum()))
    if length < 1 or centred[0].std() < _STRUCTURE:
        # A picture without structure is like any other of its brightness.
        return float(1 - abs(small[0].mean() - small[1].mean()) / 255)
    return float(abs((centred[0] * centred[1]).sum()) / length)


def mean_ssim(first: Floats, second: Floats) -> float:
    """Return the mean structural similarity over windows of 7×7 pixels, as scikit-image's default.

    Parameters
    ----------
    first, second
        Luma on the scale 0 to 255, shape (height, width).
    """
    total = 0.0
    rim = _SSIM_SIDE // 2
    height, width = first.shape
    for top in range(rim, height - rim, _SSIM_BAND):
        bottom = min(top + _SSIM_BAND, height - rim)
        band = slice(top - rim, bottom + rim)
        total += _ssim_of_band(first[band], second[band])
    return float(total / ((height - 2 * rim) * (width - 2 * rim)))


def _ssim_of_band(first: Floats, second: Floats) -> float:
    """Return the sum of the similarity of all windows that lie in a band."""
    unbiased = _SSIM_SIDE**2 / (_SSIM_SIDE**2 - 1)
    c1 = (0.01 * 255) ** 2
    c2 = (0.03 * 255) ** 2
    blur = functools.partial(ndimage.uniform_filter, size=_SSIM_SIDE)
    x = first.astype(np.float64)
    y = second.astype(np.float64)
    mean_x = blur(x)
    mean_y = blur(y)
    var_x = unbiased * (blur(x * x) - mean_x * mean_x)
    var_y = unbiased * (blur(y * y) - mean_y * mean_y)
    cov = unbiased * (blur(x * y) - mean_x * mean_y)
    above = (2 * mean_x * mean_y + c1) * (2 * cov + c2)
    below = (mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2)
    inside = slice(_SSIM_SIDE // 2, -(_SSIM_SIDE // 2))
    return float((above / below)[inside, inside].sum())


def _block_means(picture: Floats) -> Floats:
    """Return means of blocks, so that a thumbnail is not made of single pixels."""
    return _means(picture, max(1, min(picture.shape) // (2 * _THUMBNAIL)))


def _means(picture: Floats, side: int) -> Floats:
    rows = picture.shape[0] // side * side
    columns = picture.shape[1] // side * side
    whole = picture[:rows, :columns]
    found: Floats = whole.reshape(rows // side, side, columns // side, side).mean((1, 3))
    return found


def _judge_whole(pair: Pair, classifier: Classifier, offset: tuple[int, int] = (0, 0)) -> Judgement:
    """Return the answer for a pair, cut so that blocks begin where the grid of a JPEG does."""
    if offset != (0, 0):
        height, width = pair.change.shape
        pair = pair.crop(offset[0], height, offset[1], width)
    parts = _parts(pair)
    rows = np.stack([classifier.row(describe_change(part)) for part in parts])
    return judge(parts[0], rows, classifier)


def _judge_region(
    pair: Pair, region: Region, classifier: Classifier, offset: tuple[int, int]
) -> Judgement:
    part = pair.crop(region.top, region.bottom, region.left, region.right)
    if part.copy_luma.std() < _COVERED and part.reference_luma.std() > 2 * _COVERED:
        # Something even was laid over the picture: nothing of the reference is left to judge.
        return nothing_fits(part.mse)
    found = _judge_whole(part, classifier, offset)
    small = min(part.copy_luma.shape) < _SMALL_PART
    if small and found.probability < _SURE_IF_SMALL:
        return nothing_fits(part.mse)
    return found


def _parts(pair: Pair) -> list[Pair]:
    """Return the pair itself, or parts of a large one: its middle, and four spread around it.

    Parts begin at multiples of 64 pixels, so that the grids of codecs stay where they are.
    """
    height, width = pair.change.shape
    if height * width <= _LARGE:
        return [pair]
    tall = min(_PART_SIDE, height)
    wide = min(_PART_SIDE, width)
    spots = [(0.5, 0.5), (0.15, 0.15), (0.85, 0.85), (0.15, 0.85), (0.85, 0.15)][:_MOST_PARTS]
    corners = dict.fromkeys(
        (int((height - tall) * down) // 64 * 64, int((width - wide) * right) // 64 * 64)
        for down, right in spots
    )
    return [pair.crop(top, top + tall, left, left + wide) for top, left in corners]


def _recoloured(laid: Laid, maps: BlockMaps, colour: float, named: bool) -> Comparison:
    """Return the answer where the colours were changed and the luma hardly.

    Parameters
    ----------
    laid, maps
        The pictures and what was measured of their blocks.
    colour
        Mean squared change of Cb and Cr.
    named
        Whether what was done to the colours is known.
    """
    pair = laid.pair
    if named:
        found = _answer(laid, maps, None, ())
        said = f"The luma has hardly changed (MSE {level_text(pair.mse)})."
        return replace(
            found,
            sentence=after_geometry(laid.alignment, said),
            similarity=similarity_of(pair),
        )
    said = (
        "Not recognised: the change is mainly in the colours "
        f"(Cb and Cr by MSE {level_text(colour)}, the luma by MSE {level_text(pair.mse)}). "
        "It is none of the changes of colour that can be named."
    )
    return replace(
        _unrelated(laid, maps, similarity_of(pair)),
        label=UNLIKE,
        sentence=after_geometry(laid.alignment, said),
        probability=1.0,
        shares={UNLIKE: 1.0},
        classes=(ORIGINAL, UNLIKE),
    )


def _unrelated(laid: Laid, maps: BlockMaps, similarity: float) -> Comparison:
    pair = laid.pair
    said = f"This does not show the reference (best match {similarity:.2f})."
    return Comparison(
        label=UNRELATED,
        family=None,
        parts=(),
        order=None,
        unlike=True,
        probability=1 - similarity,
        probabilities={},
        explained=None,
        parameters={},
        severity=pair.mse,
        damaged_share=1.0,
        shares={UNRELATED: 1.0},
        mse=pair.mse,
        psnr=_psnr(pair.mse),
        ssim=mean_ssim(pair.reference_luma, pair.copy_luma),
        sentence=said,
        width=laid.whole.change.shape[1],
        height=laid.whole.change.shape[0],
        similarity=similarity,
        class_map=laid.in_blocks(np.ones(maps.errors.shape, np.int16), NO_DATA),
        severity_map=laid.in_blocks(maps.errors, 0),
        classes=(ORIGINAL, UNRELATED),
        geometry=laid.alignment,
    )


def _answer(
    laid: Laid,
    maps: BlockMaps,
    judgement: Judgement | None,
    answers: tuple[RegionAnswer, ...],
) -> Comparison:
    """Return the whole answer: numbers, maps and the sentence."""
    pair = laid.pair
    errors = maps.errors
    class_map, classes = _class_map(maps.changed, judgement, answers)
    damaged = class_map > 0
    shares = {
        label: float((class_map == index).mean())
        for index, label in enumerate(classes)
        if (class_map == index).any() or index == 0
    }
    named = judgement is not None and not judgement.unlike and not judgement.weak
    parts = judgement.parts if judgement is not None and named else ()
    return Comparison(
        label=_label(judgement),
        family=_family(judgement),
        parts=parts,
        order=judgement.order if judgement is not None else None,
        unlike=judgement is not None and judgement.unlike,
        probability=judgement.probability if judgement is not None else 1.0,
        probabilities=judgement.probabilities if judgement is not None else {},
        explained=judgement.explained if judgement is not None and named else None,
        parameters=_parameters(judgement, parts, laid),
        severity=float(errors[damaged].mean()) if damaged.any() else 0.0,
        damaged_share=float(damaged.mean()),
        shares=shares,
        mse=pair.mse,
        psnr=_psnr(pair.mse),
        ssim=mean_ssim(pair.reference_luma, pair.copy_luma),
        sentence=after_geometry(laid.alignment, _sentence(pair, judgement, answers)),
        width=laid.whole.change.shape[1],
        height=laid.whole.change.shape[0],
        similarity=1.0 if judgement is None else similarity_of(pair),
        class_map=laid.in_blocks(class_map, NO_DATA),
        severity_map=laid.in_blocks(errors, 0),
        classes=classes,
        regions=tuple(replace(each, region=laid.in_copy(each.region)) for each in answers),
        geometry=laid.alignment,
        make_again=functools.partial(_made_again, laid, judgement, answers),
    )


def _label(judgement: Judgement | None) -> str:
    if judgement is None or judgement.weak:
        return ORIGINAL
    return judgement.label


def _family(judgement: Judgement | None) -> str | None:
    if judgement is None or judgement.weak:
        return None
    families = {family_of(part) for part in judgement.parts or (judgement.label,)}
    return families.pop() if len(families) == 1 else None


def _parameters(
    judgement: Judgement | None, parts: tuple[str, ...], laid: Laid
) -> dict[str, dict[str, float]]:
    if judgement is None:
        return {}
    found = {
        part: dict(proof.parameters) for part, proof in zip(parts, judgement.proofs, strict=False)
    }
    if "quality" in found.get("jpeg", {}) and laid.offset != (0, 0):
        found["jpeg"]["grid_x"], found["jpeg"]["grid_y"] = laid.offset_in_copy
    return found


def _class_map(
    changed: NDArray[np.bool_], judgement: Judgement | None, answers: tuple[RegionAnswer, ...]
) -> tuple[NDArray[np.int16], tuple[str, ...]]:
    """Return which label each block has: of its region, or everywhere that of the whole picture."""
    found = np.zeros(changed.shape, np.int16)
    if judgement is None or judgement.weak:
        return found, (ORIGINAL,)
    if not answers:
        # What has a name was done everywhere, even where it left no trace; what has none is only
        # where a change is seen, such as a few words written over the picture.
        found[_filled(changed) if judgement.unlike else ...] = 1
        return found, (ORIGINAL, _map_label(judgement))
    classes = [ORIGINAL]
    for answer in answers:
        label = _map_label(answer.judgement)
        if label not in classes:
            classes.append(label)
        found[answer.region.blocks & _filled(changed)] = classes.index(label)
    return found, tuple(classes)


def _filled(changed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return changed blocks with the gaps between them closed, but without a rim around them."""
    wide = np.pad(changed, 2, mode="edge")
    closed = ndimage.binary_closing(wide, np.ones((3, 3)))
    found: NDArray[np.bool_] = closed[2:-2, 2:-2]
    return found


def _map_label(judgement: Judgement) -> str:
    return UNLIKE if judgement.unlike else judgement.label


def _sentence(pair: Pair, judgement: Judgement | None, answers: tuple[RegionAnswer, ...]) -> str:
    if judgement is None:
        if pair.was_colour:
            return f"{_SAME} in grey: the luma is the same, the colours are gone."
        return f"{_SAME}." if pair.mse else f"{_SAME}, pixel for pixel."
    said = sentence(judgement, pair.mse)
    if not answers:
        return said
    share = sum(answer.region.share for answer in answers)
    where = answers[0].where
    if len(answers) == 1:
        return f"{said} Only in part of the picture: {share:.0%}, {where}."
    count = len(answers)
    return f"{said} Only in {count} parts of the picture, {share:.0%} of it, mostly {where}."


def _made_again(
    laid: Laid, judgement: Judgement | None, answers: tuple[RegionAnswer, ...]
) -> Floats | None:
    """Return the picture that the answer would have given, where the answer can be made again."""
    pair = laid.pair
    if judgement is None:
        return laid.whole.reference
    make = judgement.make
    if make is None:
        return None
    made = made_on_grid(make, pair.reference, laid.offset)
    if not answers:
        return laid.made_in_copy(made)
    # Where only a part was damaged, only that part is made again.
    inside = np.zeros(pair.change.shape, dtype=bool)
    for answer in answers:
        inside |= places.spread(answer.region.blocks, inside.shape)
    chosen = inside[..., None] if made.ndim == 3 else inside
    return laid.made_in_copy(np.where(chosen, made, pair.reference))


def _psnr(mse: float) -> float | None:
    return float(10 * np.log10(255**2 / mse)) if mse > 0 else None
