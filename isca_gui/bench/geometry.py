"""How well copies that were moved, cropped, scaled or turned are laid on their references.

For each measured scene, copies are made with other programs' resampling and compared as a user
would: clean ones, damaged ones, JPEG files that were cropped, and other photographs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from isca_gui.bench import damage as damages
from isca_gui.bench import scenes
from isca_gui.bench.figure import Figure, seconds
from isca_gui.core.alignment.align import Aligner, align
from isca_gui.core.alignment.placement import Placement
from isca_gui.core.comparison.compare import UNRELATED, compare
from isca_gui.core.distortion.distortions import ORIGINAL
from isca_gui.core.progress import Progress

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterator, Sequence

    from isca_gui.bench.damage import Picture
    from isca_gui.bench.scenes import Scene
    from isca_gui.core.comparison.compare import Comparison

    Moved = tuple[Picture, Placement]
    Move = Callable[[Image.Image, np.random.Generator], tuple[Image.Image, Placement]]

CLEAN = "clean"
DAMAGED = "damaged"
GRID = "grid"
OTHER = "other"

_FILTERS = (
    Image.Resampling.BICUBIC,
    Image.Resampling.LANCZOS,
    Image.Resampling.BILINEAR,
    Image.Resampling.BOX,
    Image.Resampling.NEAREST,
)
_SCALES = (0.5, 2.0)
# What a placement may be off by: a shift in the copy's pixels, a scale relatively, and a crop in
# the reference's pixels.
_SHIFT = 0.1
_SCALE = 0.002
_CROP = 1.0
_KINDS = ("jpeg", "webp", "blur", "gaussian-noise")
_KIND_MSE = (15.0, 800.0)
_OFFSETS_EACH = 8
_QUALITIES = (50, 93)
_OTHERS = 3
_LARGE = (4000, 3000)


@dataclass(frozen=True)
class Outcome:
    """What was done to a copy, and what was found.

    Parameters
    ----------
    sort
        `CLEAN`, `DAMAGED`, `GRID` or `OTHER`.
    source
        The names of the move and of the damage.
    is_placed
        Whether the placement is right within the bounds.
    is_named
        Whether the kind of damage is right; for clean copies, whether none was named.
    """

    sort: str
    source: str
    is_placed: bool
    is_named: bool


# --- moves --------------------------------------------------------------------------------------


def _margins(size: tuple[int, int], random: np.random.Generator) -> list[int]:
    return [int(value) for value in random.integers(0, min(size) // 5, 4)]


def _scale(random: np.random.Generator) -> float:
    return float(np.exp(random.uniform(*np.log(_SCALES))))


def _cropped(picture: Image.Image, random: np.random.Generator) -> tuple[Image.Image, Placement]:
    left, top, right, bottom = _margins(picture.size, random)
    box = (left, top, picture.width - right, picture.height - bottom)
    return picture.crop(box), Placement(*box)


def _padded(picture: Image.Image, random: np.random.Generator) -> tuple[Image.Image, Placement]:
    left, top, right, bottom = _margins(picture.size, random)
    box = (-left, top, picture.width + right, picture.height - bottom)
    return picture.crop(box), Placement(*box)


def _shifted(picture: Image.Image, random: np.random.Generator) -> tuple[Image.Image, Placement]:
    left, top = (int(value) for value in random.integers(-24, 25, 2))
    box = (left, top, left + picture.width, top + picture.height)
    return picture.crop(box), Placement(*box)


def _nudged(picture: Image.Image, random: np.random.Generator) -> tuple[Image.Image, Placement]:
    """Shift by fractions of a pixel."""
    left, top = random.uniform(0.3, 4, 2) * random.choice([-1, 1], 2)
    way = (Image.Resampling.BICUBIC, Image.Resampling.BILINEAR)[random.integers(2)]
    data = (1, 0, left, 0, 1, top)
    moved = picture.transform(picture.size, Image.Transform.AFFINE, data, way)
    return moved, Placement(left, top, left + picture.width, top + picture.height)


def _scaled(picture: Image.Image, random: np.random.Generator) -> tuple[Image.Image, Placement]:
    scale = _scale(random)
    uneven = random.uniform(0.8, 1.25) if random.random() < 0.3 else 1.0
    size = (round(picture.width * scale), round(picture.height * scale * uneven))
    way = _FILTERS[random.integers(len(_FILTERS))]
    return picture.resize(size, way), Placement(0, 0, *picture.size)


def _cropped_and_scaled(
    picture: Image.Image, random: np.random.Generator
) -> tuple[Image.Image, Placement]:
    part, placement = _cropped(picture, random)
    scaled, _ = _scaled(part, random)
    return scaled, placement


def _scaled_and_cropped(
    picture: Image.Image, random: np.random.Generator
) -> tuple[Image.Image, Placement]:
    scaled, _ = _scaled(picture, random)
    part, box = _cropped(scaled, random)
    across = picture.width / scaled.width
    down = picture.height / scaled.height
    return part, Placement(box.left * across, box.top * down, box.right * across, box.bottom * down)


def _turned(picture: Image.Image, random: np.random.Generator) -> tuple[Image.Image, Placement]:
    turn = 90 * int(random.integers(4))
    mirrored = turn == 0 or bool(random.random() < 0.5)
    moved = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if mirrored else picture
    moved = moved.rotate(turn, expand=True)
    return moved, Placement(0, 0, *moved.size, turn, mirrored)


def _rotated(picture: Image.Image, random: np.random.Generator) -> tuple[Image.Image, Placement]:
    angle = float(random.uniform(0.5, 10) * random.choice([-1, 1]))
    way = (Image.Resampling.BICUBIC, Image.Resampling.BILINEAR)[random.integers(2)]
    return picture.rotate(angle, way), Placement(0, 0, *picture.size, angle=angle)


MOVES: dict[str, Move] = {
    "cropped": _cropped,
    "padded": _padded,
    "shifted": _shifted,
    "nudged": _nudged,
    "scaled": _scaled,
    "cropped+scaled": _cropped_and_scaled,
    "scaled+cropped": _scaled_and_cropped,
    "turned": _turned,
    "rotated": _rotated,
}
# Damage is measured on copies that were moved in these ways.
_DAMAGED = ("cropped", "shifted", "nudged", "scaled", "scaled+cropped", "turned")


def is_near(found: Placement, true: Placement, shape: tuple[int, ...]) -> bool:
    """Whether a placement is right: shift, scale and crop within their bounds."""
    if (found.turn, found.mirrored) != (true.turn, true.mirrored):
        return False
    ours, theirs = found.steps(shape), true.steps(shape)
    if any(abs(a / b - 1) > _SCALE for a, b in zip(ours, theirs, strict=True)):
        return False
    corners = np.array([[0.0, 0.0], [shape[1], shape[0]]])
    apart = np.abs(found.places(shape, corners) - true.places(shape, corners))
    is_scaled = any(abs(step - 1) > 1e-6 for step in theirs)
    # Where nothing was scaled the whole error is one of the shift.
    return bool(apart.max() <= (_CROP if is_scaled or true.angle else _SHIFT))


# --- the answers of one scene -------------------------------------------------------------------


def outcomes_of(numbered: tuple[int, Sequence[Scene]]) -> list[Outcome]:
    """Return what is found in copies of one scene, given its place among all of them."""
    index, chosen = numbered
    scene = chosen[index]
    picture = scene.read()
    random = scene.random(19)
    reference = picture / np.float32(255)
    aligner = Aligner(reference)

    def compared(copy: Picture) -> Comparison:
        return compare(reference, copy / np.float32(255), aligner=aligner)

    whole = Image.fromarray(picture)
    found = []
    for name, move in MOVES.items():
        moved, placement = move(whole, random)
        found.append(_outcome(CLEAN, name, compared(np.asarray(moved)), placement, ORIGINAL))
    for kind in _KINDS:
        for name in random.choice(_DAMAGED, 2, replace=False):
            moved, placement = MOVES[str(name)](whole, random)
            row = next(each for each in damages.group(damages.KNOWN) if each.name == kind)
            copy = scenes.damaged_within(np.asarray(moved), row, random, *_KIND_MSE)
            if copy is not None:
                source = f"{name}+{kind}"
                found.append(_outcome(DAMAGED, source, compared(copy.picture), placement, kind))
    found += _on_grids(index, picture, random, compared)
    found += _others(index, chosen, random, compared)
    return found


def _outcome(
    sort: str, source: str, answer: Comparison, placement: Placement, label: str
) -> Outcome:
    geometry = answer.geometry
    assert geometry is not None
    shape = (answer.height, answer.width)
    placed = geometry.is_related and is_near(geometry.placement, placement, shape)
    named = answer.label == label and not answer.unlike
    return Outcome(sort, source, placed, named)


def _on_grids(
    index: int,
    picture: Picture,
    random: np.random.Generator,
    compared: Callable[[Picture], Comparison],
) -> Iterator[Outcome]:
    """Yield JPEG files cropped so that all 64 offsets of the grid come up, a few for each scene."""
    for place in range(_OFFSETS_EACH):
        down, right = divmod((index * _OFFSETS_EACH + place) % 64, 8)
        saved = damages.coded(picture, "JPEG", quality=int(random.integers(*_QUALITIES)))
        top = 8 * int(random.integers(0, 3)) + (-down % 8)
        left = 8 * int(random.integers(0, 3)) + (-right % 8)
        answer = compared(saved[top:, left:])
        found = answer.parameters.get("jpeg", {})
        grid = (found.get("grid_y", 0.0), found.get("grid_x", 0.0))
        named = answer.label == "jpeg" and not answer.unlike
        yield Outcome(GRID, f"{down},{right}", grid == (down, right), named)


def _others(
    index: int,
    chosen: Sequence[Scene],
    random: np.random.Generator,
    compared: Callable[[Picture], Comparison],
) -> Iterator[Outcome]:
    """Yield other photographs, of the same size or of another."""
    for step in range(1, _OTHERS + 1):
        other = chosen[(index + step) % len(chosen)]
        if other is chosen[index]:
            continue
        picture = Image.fromarray(other.read())
        if step > 1:
            scale = _scale(random)
            picture = picture.resize((round(picture.width * scale), round(picture.height * scale)))
        answer = compared(np.asarray(picture))
        yield Outcome(OTHER, other.name, True, answer.label == UNRELATED)


# --- the figures --------------------------------------------------------------------------------


def measure(
    folder: str | os.PathLike[str], processes: int | None = None
) -> Generator[Progress, None, list[Figure]]:
    """Compare moved copies of the measured scenes of a folder, and return the figures."""
    chosen = scenes.measured(scenes.find_scenes(folder))
    found: list[Outcome] = []
    yield Progress(0, len(chosen), "scenes")
    work = [(index, chosen) for index in range(len(chosen))]
    for index, outcomes in enumerate(scenes.in_processes(outcomes_of, work, processes), 1):
        found += outcomes
        yield Progress(index, len(chosen), "scenes")
    return [*figures(found), _large(chosen[0])]


def figures(found: Sequence[Outcome]) -> Iterator[Figure]:
    """Yield the figures that have at least one picture behind them."""
    clean = [each for each in found if each.sort == CLEAN]
    damaged = [each for each in found if each.sort == DAMAGED]
    grids = [each for each in found if each.sort == GRID]
    others = [each for each in found if each.sort == OTHER]
    yield from _share("clean copies moved: no damage invented", clean, _named, 97)
    yield from _share("clean copies moved: shift, scale and crop right", clean, _placed, 97)
    yield from _share("damaged copies moved: shift, scale and crop right", damaged, _placed)
    yield from _share("damaged copies moved: kind right", damaged, _named, 95)
    yield from _share("JPEG cropped, all offsets: named", grids, _named, 99)
    yield from _share("JPEG cropped, all offsets: offset right", grids, _placed)
    yield from _share("another photograph: refused", others, _named, 99)


def _named(outcome: Outcome) -> bool:
    return outcome.is_named


def _placed(outcome: Outcome) -> bool:
    return outcome.is_placed


def _share(
    name: str,
    behind: Sequence[Outcome],
    holds: Callable[[Outcome], bool],
    least: float | None = None,
) -> Iterator[Figure]:
    if behind:
        share = 100 * float(np.mean([holds(each) for each in behind]))
        yield Figure(f"{name} ({len(behind)} pictures)", share, "%", least)


def _large(scene: Scene) -> Figure:
    """Time the alignment of a cropped and scaled copy of a picture of 12 megapixels."""
    large = Image.fromarray(scene.read()).resize(_LARGE, Image.Resampling.BICUBIC)
    copy = large.crop((100, 60, 3900, 2950)).resize((3040, 2312), Image.Resampling.LANCZOS)
    pictures = [np.asarray(each) / np.float32(255) for each in (large, copy)]
    took = seconds(lambda: align(pictures[0], pictures[1]))
    return Figure("laying a copy on a reference of 12 megapixels", took, "s", most=4)
