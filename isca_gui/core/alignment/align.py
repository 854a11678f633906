"""Lay a copy on its reference: `align(reference, copy)` gives an `Alignment`."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isca_gui.core.alignment import refine as fine
from isca_gui.core.alignment.fit import Fit, spread_windows
from isca_gui.core.alignment.placement import TURNS, Placement, whole
from isca_gui.core.alignment.pyramid import Pyramid, structure
from isca_gui.core.alignment.resampling import KERNELS, bring, covered
from isca_gui.core.alignment.search import search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from isca_gui.core.alignment.search import Candidate

    Floats = NDArray[np.float32]

AUTO = "auto"
NONE = "none"
SHIFT = "shift"
MODES = (AUTO, NONE, SHIFT)
SAME = "same"
UNRELATED = "unrelated"

ORIENTATIONS = [(turn, mirrored) for mirrored in (False, True) for turn in TURNS]
# Thumbnails on which a match is measured, and on which it is refined next.
_SMALL = 128
_MIDDLE = 320
_WORTH_TRYING = 0.12
# A better match is looked for below the first; below the second nothing matches.
GOOD = 0.8
LEAST = 0.45
_LEAST_IF_SMALL = 0.3
# By chance, the best of very many places is alike by this over the root of the number of
# pixels.
_BY_CHANCE = 26.0
# A copy of the same size with a shorter side may be shifted by this share of it, and not scaled.
_SMALL_SIDE = 160
_IN_PLACE = 0.05
# Another place has to match this much better than the very same one.
_BETTER = 0.1
_SCALES = tuple(float(4 ** (step / 20)) for step in range(-20, 21))
_ANGLES = (3.0, -3.0, 6.0, -6.0, 9.0, -9.0)
_TRIED = 5
_LEAST_SCORE = 0.3
# How far from what was measured, in pixels, a simpler placement may lie, and by how much it has to
# fit worse there to be dropped: nearby, only what fits far worse.
_NEAR = 0.25
_FAR = 0.75
_WORSE_NEAR = 1.1
_WORSE_FAR = 1.04
_FEW_PIXELS = 400
_FAR_SHARE = 0.0015
# Copies that differ by no more than rounding from what is made are exact; there a right placement
# fits no worse than this.
_EXACT = 0.6
_WORSE_EXACT = 1.25
# Above this rest damage decides which kernel fits, and nothing is measured with it.
_POLISHED = 60.0
_ROUNDING = 0.02
# A rotation that moves no corner by this many pixels is none.
_NO_ROTATION = 0.1
# A filter is named if another one leaves so much more.
_CLEARLY = 1.03
_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Alignment:
    """How a copy lies on its reference.

    Parameters
    ----------
    relation
        `same`, `unrelated`, or some of turned, mirrored, rotated, scaled, shifted, cropped and
        padded, joined by "+".
    placement
        Where the copy's pixels lie.
    reference, shape
        Shapes of the reference and of the copy: height and width.
    kernel
        The way of resampling that fits best, a name of `resampling.KERNELS`.
    filter
        Its name as people know it; None where nothing was resampled or it cannot be told.
    match
        How alike the structure of both is, 0 to 1.
    spread
        Mean squared difference between two common ways to resample the reference like this.
    """

    relation: str
    placement: Placement
    reference: tuple[int, int]
    shape: tuple[int, int]
    kernel: str
    filter: str | None
    match: float
    spread: float = 0.0

    @property
    def is_related(self) -> bool:
        """Whether the copy shows the reference at all."""
        return self.relation != UNRELATED

    @property
    def has_same_size(self) -> bool:
        """Whether both have the same height and width."""
        return self.reference == self.shape

    def unmoved(self) -> Alignment:
        """Return the alignment of a copy that lies on the reference pixel by pixel."""
        return replace(self, relation=SAME, placement=whole(self.reference), filter=None)

    @property
    def is_same(self) -> bool:
        """Whether each pixel of the copy lies on the same pixel of the reference."""
        return self.relation == SAME

    @property
    def is_resampled(self) -> bool:
        """Whether pixels of the copy lie between those of the reference."""
        return self.relation not in (SAME, UNRELATED) and not _is_on_pixels(
            self.placement, self.shape
        )

    @property
    def scale(self) -> tuple[float, float]:
        """Pixels of the copy for one of the reference, along x and y."""
        step_x, step_y = self.placement.steps(self.shape)
        return 1 / step_x, 1 / step_y

    @property
    def shift(self) -> tuple[float, float]:
        """Where the upper left corner of the turned reference lies in the copy, x and y."""
        step_x, step_y = self.placement.steps(self.shape)
        return -self.placement.left / step_x, -self.placement.top / step_y

    @property
    def crop(self) -> tuple[float, float, float, float]:
        """What was cut off the turned reference: left, top, right, bottom; padding is negative."""
        turned = whole(self.reference, self.placement.turn)
        return (
            self.placement.left,
            self.placement.top,
            turned.right - self.placement.right,
            turned.bottom - self.placement.bottom,
        )

    @functools.cached_property
    def valid(self) -> NDArray[np.bool_]:
        """Which pixels of the copy have a counterpart in the reference, shape (height, width)."""
        turned = whole(self.reference, self.placement.turn)
        return covered(self.placement, (int(turned.bottom), int(turned.right)), self.shape)

    def bring(self, reference: NDArray[Any]) -> Floats:
        """Return the reference on the copy's pixels, resampled as the copy was.

        Parameters
        ----------
        reference
            Grey (height, width) or colour (height, width, 3), on the scale 0 to 255.
        """
        turned = self.placement.oriented(reference)
        return np.clip(bring(turned, self.placement, self.shape, self.kernel), 0, 255)


def align(reference: NDArray[Any], copy: NDArray[Any], mode: str = AUTO) -> Alignment:
    """Return how a copy lies on its reference.

    Parameters
    ----------
    reference, copy
        Grey (height, width) or colour (height, width, 3), in [0, 1].
    mode
        `auto`; `shift` for copies that were moved or cropped and nothing else; `none` for copies
        that lie on the reference pixel by pixel.
    """
    return Aligner(reference).align(copy, mode)


class Aligner:
    """Lays copies on one reference; what is worked out of the reference is worked out once.

    Parameters
    ----------
    reference
        Grey (height, width) or colour (height, width, 3), in [0, 1].
    """

    def __init__(self, reference: NDArray[Any]) -> None:
        self._reference = Pyramid(_luma(reference))

    def align(self, copy: NDArray[Any], mode: str = AUTO) -> Alignment:
        """Return how a copy lies on the reference; see the function `align`."""
        shape = (copy.shape[0], copy.shape[1])
        if mode == NONE:
            return self._unmoved(shape, 1.0)
        grey = Pyramid(_luma(copy))
        if shape == self._reference.shape and np.array_equal(grey.picture, self._reference.picture):
            return self._unmoved(shape, 1.0)
        placement, match = self._search(grey, mode)
        in_place = self._is_in_place(grey, placement)
        least = LEAST if in_place else self._least_match(placement, shape)
        if match < least:
            # What is said to match is measured by what it would have had to.
            unmoved = self._unmoved(shape, match * LEAST / least)
            return replace(unmoved, relation=UNRELATED)
        return self._decided(grey, self._refined(grey, placement, mode), match)

    def _unmoved(self, shape: tuple[int, int], match: float) -> Alignment:
        placement = whole(self._reference.shape)
        return Alignment(SAME, placement, self._reference.shape, shape, "bilinear", None, match)

    def _least_match(self, placement: Placement, shape: tuple[int, int]) -> float:
        """Return the least match that is believed: more where both share a small part only.

        There are more such places to try, and each shows less.
        """
        across, down = placement.steps(shape)
        turned = whole(self._reference.shape, placement.turn)
        wide = min(placement.right, turned.right) - max(placement.left, 0)
        tall = min(placement.bottom, turned.bottom) - max(placement.top, 0)
        larger = max(turned.right * turned.bottom, shape[0] * shape[1] * across * down)
        area = max(wide, 0) * max(tall, 0)
        share = min(area / larger, 1.0)
        pixels = min(area, area / (across * down), _SMALL**2) + 1
        least = LEAST + _LEAST_IF_SMALL * (1 - share**0.5)
        return float(max(least, _BY_CHANCE / pixels**0.5))

    # --- the search -----------------------------------------------------------------------------

    def _search(self, copy: Pyramid, mode: str) -> tuple[Placement, float]:
        """Return the best placement; the first stage that fits well ends the search."""
        best = (whole(self._reference.shape), 0.0)
        if copy.shape == self._reference.shape:
            found = self._matched(copy, best[0])
            best = (found[0], found[1] + _BETTER)
            if found[1] >= GOOD:
                return found
        for candidates in self._stages(copy, mode):
            for placement in candidates[:_TRIED]:
                found = self._matched(copy, placement)
                if found[1] > best[1]:
                    best = found
                if best[1] >= GOOD:
                    return best
        if copy.shape == self._reference.shape:
            found = self._matched(copy, whole(self._reference.shape))
            if best[1] == found[1] + _BETTER:
                return found
        return best

    def _stages(self, copy: Pyramid, mode: str) -> Iterator[list[Placement]]:
        """Yield placements to try, the simplest first."""
        upright = ORIENTATIONS[:1]
        if mode == SHIFT:
            yield _placements(search(self._reference, copy, (1.0,), upright))
            return
        yield self._wholes(copy)
        yield _placements(search(self._reference, copy, (1.0,), ORIENTATIONS))
        yield _placements(search(self._reference, copy, _SCALES, upright))
        yield _placements(search(self._reference, copy, (1.0,), upright, _ANGLES))
        yield _placements(search(self._reference, copy, _SCALES, ORIENTATIONS[1:]))
        yield _placements(search(self._reference, copy, _SCALES[::2], upright, _ANGLES))
        yield _placements(search(self._reference, copy, (1.0,), ORIENTATIONS[1:], _ANGLES))

    def _wholes(self, copy: Pyramid) -> list[Placement]:
        """Return all ways in which the copy can show the whole reference, best first."""
        small = copy.sized(_SMALL)
        scored = []
        for turn, mirrored in ORIENTATIONS:
            placement = whole(self._reference.shape, turn, mirrored)
            step_x, step_y = placement.steps(copy.shape)
            if not 0.45 < step_x / step_y < 2.2:
                continue
            made, mask = fine.structures(self._reference, placement, small)
            scored.append((fine.likeness(made, structure(small), mask), placement))
        scored.sort(key=lambda pair: -pair[0])
        return [placement for score, placement in scored[:2] if score > _WORTH_TRYING]

    def _matched(self, copy: Pyramid, placement: Placement) -> tuple[Placement, float]:
        """Return a placement refined on a thumbnail, and its match."""
        picture = self._level(copy, placement, _SMALL)
        return fine.refine(self._reference, placement, picture, self._freedom(copy, placement))

    def _level(self, copy: Pyramid, placement: Placement, longest: int) -> Floats:
        """Return the copy at a size at which what both share has about so many pixels."""
        across, down = placement.steps(copy.shape)
        height, width = self._reference.shape
        shared = min(max(copy.shape), max(height / down, width / across))
        factor = min(longest / shared, 1.0, max(across, down))
        return copy.sized(max(16, round(factor * max(copy.shape))))

    def _refined(self, copy: Pyramid, placement: Placement, mode: str) -> Placement:
        freedom = fine.ONLY_SHIFT if mode == SHIFT else self._freedom(copy, placement)
        picture = self._level(copy, placement, _MIDDLE)
        if picture.size > self._level(copy, placement, _SMALL).size:
            placement, _ = fine.refine(self._reference, placement, picture, freedom)
        picture = self._level(copy, placement, max(copy.shape))
        windows = spread_windows(picture.shape)
        return fine.refine_at(self._reference, placement, picture, windows, freedom)

    def _freedom(self, copy: Pyramid, placement: Placement) -> int:
        """Return what may be refined: of a small copy of the same size, only a shift.

        It shows too little to tell a scale or an angle near to none from damage.
        """
        is_small = max(copy.shape) < _SMALL_SIDE
        return fine.ONLY_SHIFT if is_small and self._is_in_place(copy, placement) else fine.ALL

    def _is_in_place(self, copy: Pyramid, placement: Placement) -> bool:
        """Whether a copy has the size of the reference and lies on it but for a few pixels."""
        if copy.shape != self._reference.shape or placement.turn or placement.mirrored:
            return False
        unmoved = whole(self._reference.shape)
        return placement.distance(unmoved, copy.shape) < _IN_PLACE * max(copy.shape)

    # --- the decision ---------------------------------------------------------------------------

    def _decided(self, copy: Pyramid, measured: Placement, match: float) -> Alignment:
        fit = Fit(self._reference, copy)
        upright = replace(measured, angle=0.0)
        if upright.distance(measured, copy.shape) < _NO_ROTATION:
            measured = upright
        measured = self._polished(fit, measured)
        chosen = _simplest(fit, self._tiers(copy, measured))
        kernel, name = _named_filter(fit, chosen, copy.shape)
        relation = _relation(chosen, self._reference.shape, copy.shape)
        return Alignment(
            relation,
            chosen,
            self._reference.shape,
            copy.shape,
            kernel,
            name,
            match,
            fit.spread(chosen),
        )

    def _polished(self, fit: Fit, measured: Placement) -> Placement:
        """Return a placement measured again with the kernel that fits best, where that is better.

        Kernels that are not symmetric between pixels, such as a bilinear one, draw a measurement
        with another one to a side.
        """
        rest, kernel = fit.kernels(measured)[0]
        if kernel.startswith("nearest") or rest > _POLISHED:
            return measured
        freedom = fine.ALL if measured.angle else fine.NO_ROTATION
        if self._freedom(fit.copy, measured) == fine.ONLY_SHIFT:
            freedom = fine.ONLY_SHIFT
        again = fine.refine_at(
            self._reference, measured, fit.copy.picture, fit.windows, freedom, kernel
        )
        return again if fit.rest(again, kernel) < rest else measured

    def _tiers(self, copy: Pyramid, measured: Placement) -> list[list[Placement]]:
        """Return placements near to the measured one, the simplest first, and it itself last."""
        far = max(_FAR, _FAR_SHARE * max(copy.shape))
        unmoved = whole(self._reference.shape)
        in_place = self._is_in_place(copy, measured)
        tiers = [
            [
                each
                for each in tier
                if each.distance(measured, copy.shape) < far or (in_place and each == unmoved)
            ]
            for tier in _exact(measured, self._reference.shape, copy.shape)
        ]
        return [*(tier for tier in tiers if tier), [measured]]


def _exact(
    measured: Placement, reference: tuple[int, int], shape: tuple[int, int]
) -> list[list[Placement]]:
    """Return what programs do exactly: all of the picture, whole pixels, or no change of scale."""
    turned = whole(reference, measured.turn, measured.mirrored)
    height, width = shape
    upright = replace(measured, angle=0.0)
    middle_x = (measured.left + measured.right) / 2
    middle_y = (measured.top + measured.bottom) / 2
    left = middle_x - width / 2
    top = middle_y - height / 2
    unscaled = _boxed(upright, left, top, width, height)
    on_pixels = _boxed(upright, round(left), round(top), width, height)
    corners = (measured.left, measured.top, measured.right, measured.bottom)
    x, y, right, bottom = (round(each) for each in corners)
    cropped_first = _boxed(upright, x, y, right - x, bottom - y)
    step_x, step_y = measured.steps(shape)
    across = turned.right / max(1, round(turned.right / step_x))
    down = turned.bottom / max(1, round(turned.bottom / step_y))
    scaled_first = _boxed(
        upright,
        round(measured.left / across) * across,
        round(measured.top / down) * down,
        width * across,
        height * down,
    )
    rotated = _boxed(
        measured, (turned.right - width) / 2, (turned.bottom - height) / 2, width, height
    )
    rotated_only = [rotated] if measured.angle else []
    return [
        [turned],
        [on_pixels],
        [unscaled, cropped_first, scaled_first, *rotated_only],
        [upright],
    ]


def _boxed(placement: Placement, left: float, top: float, width: float, height: float) -> Placement:
    return replace(placement, left=left, top=top, right=left + width, bottom=top + height)


def _simplest(fit: Fit, tiers: list[list[Placement]]) -> Placement:
    """Return the best of the first tier that fits as well as the best of all.

    Parameters
    ----------
    fit
        Measures what each placement leaves.
    tiers
        Placements, the simplest first, and what was measured last.
    """
    shape = fit.copy.shape
    names = tuple(kernel for _, kernel in fit.kernels(tiers[-1][0])[:3])

    def sharp(each: Placement) -> float:
        if _is_on_pixels(each, shape):
            return fit.rest(each, "nearest")
        return fit.kernels(each, names)[0][0]

    def smooth(each: Placement) -> float:
        return fit.rest(each, "bicubic", smooth=True)

    bests = [_least(tier, sharp) for tier in tiers]
    least = min(rest for rest, _ in bests)
    if least < _EXACT:
        most = _WORSE_EXACT * least + _ROUNDING
        return next(each for rest, each in bests if rest <= most)
    bests = [_least(tier, smooth) for tier in tiers]
    least, best = min(bests, key=lambda pair: pair[0])
    for rest, each in bests:
        worse = _WORSE_NEAR if each.distance(best, shape) < _NEAR else _WORSE_FAR
        worse += _FEW_PIXELS / (shape[0] * shape[1])
        if rest <= least * worse + _ROUNDING:
            return each
    return best


def _least(tier: list[Placement], rest: Callable[[Placement], float]) -> tuple[float, Placement]:
    return min(((rest(each), each) for each in tier), key=lambda pair: pair[0])


def _named_filter(fit: Fit, placement: Placement, shape: tuple[int, int]) -> tuple[str, str | None]:
    """Return the kernel that fits best, and its filter's name if no other one fits as well."""
    if _is_on_pixels(placement, shape):
        return "nearest", None
    tried = fit.kernels(placement)
    rest, kernel = tried[0]
    name = KERNELS[kernel].filter
    others = [left for left, other in tried if KERNELS[other].filter != name]
    clear = not others or others[0] > _CLEARLY * rest + _ROUNDING
    return kernel, name if clear else None


def _is_on_pixels(placement: Placement, shape: tuple[int, ...]) -> bool:
    steps = placement.steps(shape)
    starts = (placement.left, placement.top)
    return (
        placement.angle == 0
        and all(abs(step - 1) < 1e-9 for step in steps)
        and all(abs(start - round(start)) < 1e-9 for start in starts)
    )


def _relation(placement: Placement, reference: tuple[int, int], shape: tuple[int, int]) -> str:
    words = []
    # Mirrored and turned by 180° is mirrored top to bottom.
    if placement.turn and not (placement.mirrored and placement.turn == 180):
        words.append("turned")
    if placement.mirrored:
        words.append("mirrored")
    if placement.angle:
        words.append("rotated")
    steps = placement.steps(shape)
    scaled = any(abs(step - 1) > 1e-6 for step in steps)
    if scaled:
        words.append("scaled")
    turned = whole(reference, placement.turn)
    beyond = np.array(
        [
            placement.left,
            placement.top,
            turned.right - placement.right,
            turned.bottom - placement.bottom,
        ]
    )
    is_cut = bool((beyond > 0.01).any())
    is_padded = bool((beyond < -0.01).any())
    if is_cut and is_padded and not scaled and (turned.bottom, turned.right) == shape:
        words.append("shifted")
    else:
        if is_cut:
            words.append("cropped")
        if is_padded:
            words.append("padded")
    return "+".join(words) or SAME


def _placements(candidates: list[Candidate]) -> list[Placement]:
    return [each.placement for each in candidates[:_TRIED] if each.score > _LEAST_SCORE]


def _luma(picture: NDArray[Any]) -> Floats:
    values = np.asarray(picture, np.float32) * np.float32(255)
    return values if values.ndim == 2 else np.ascontiguousarray(values @ _LUMA)
