"""How often the findings about colours are right, on scenes that nothing was fitted on.

For each measured scene, copies are made whose colours were changed in one known way, alone and with
other damage on top, and copies with damage that changes no colours.
"""

from __future__ import annotations

import io
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image
from scipy import ndimage

from isca_gui.bench import scenes
from isca_gui.bench.figure import Figure
from isca_gui.core.comparison import colour
from isca_gui.core.comparison.colour import colour_findings
from isca_gui.core.pictures import colour_profiles
from isca_gui.core.progress import Progress

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterator, Sequence

    from numpy.typing import NDArray

    from isca_gui.bench.scenes import Scene

    Floats = NDArray[np.floating[Any]]
    Random = np.random.Generator
    # Makes a copy; returns it with the parameters that should be found.
    Change = Callable[[Floats, Random], tuple[Floats, dict[str, Any]]]

_LUMA = np.array([0.299, 0.587, 0.114])
_YCC = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
# A person does not see a smaller root mean square change of Cb and Cr, of blocks or of pixels.
_SEEN_IN_BLOCKS = 3.0
_SEEN_IN_PIXELS = 1.0
_DETAIL = {colour.SUBSAMPLING, colour.CHROMA_BLUR, colour.CHROMA_NOISE}
# What codecs that were put on top do to the chroma themselves.
_EXCUSED = {colour.SUBSAMPLING}


@dataclass(frozen=True)
class ColourOutcome:
    """What was done to a copy's colours, and what was found.

    Parameters
    ----------
    kind
        The kind of the change; None for damage that changes no colours.
    change, on_top
        The names of the change and of the damage on top of it; the latter may be empty.
    right
        Whether the kind was found, with its parameters.
    invented
        The kinds that were found and not made.
    """

    kind: str | None
    change: str
    on_top: str
    right: bool
    invented: tuple[str, ...]


def _rounded(picture: Floats) -> Floats:
    return np.rint(np.clip(picture, 0, 255))


def _in_ycc(picture: Floats, change: Callable[[Floats], Floats]) -> Floats:
    return change(picture @ _YCC.T) @ np.linalg.inv(_YCC).T


def _in_hsv(picture: Floats, turn: float, factor: float) -> Floats:
    from skimage.color import hsv2rgb, rgb2hsv

    hsv = rgb2hsv(picture / 255)
    hsv[..., 0] = (hsv[..., 0] + turn / 360) % 1
    hsv[..., 1] = np.clip(hsv[..., 1] * factor, 0, 1)
    found: Floats = 255 * hsv2rgb(hsv)
    return found


# --- changes of colour --------------------------------------------------------------------------


def _saturation(picture: Floats, random: Random) -> tuple[Floats, dict[str, Any]]:
    factor = float(random.choice([random.uniform(0.4, 0.8), random.uniform(1.25, 1.8)]))
    if random.random() < 0.5:
        return _in_hsv(picture, 0, factor), {"factor": factor}
    grey = (picture @ _LUMA)[..., None]
    return grey + factor * (picture - grey), {"factor": factor}


def _hue(picture: Floats, random: Random) -> tuple[Floats, dict[str, Any]]:
    turn = float(random.choice([-1, 1]) * random.uniform(12, 60))
    if random.random() < 0.5:
        return _in_hsv(picture, turn, 1), {"degrees": turn}
    c = np.cos(np.radians(turn))
    s = np.sin(np.radians(turn))
    matrix = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    return _in_ycc(picture, lambda ycc: ycc @ matrix.T), {"degrees": turn}


def _cast(picture: Floats, random: Random) -> tuple[Floats, dict[str, Any]]:
    strength = random.uniform(0.08, 0.25)
    gains = 1 + strength * random.choice([(1, 0, -1), (-1, 0, 1), (0.5, -1, 0.5), (-0.5, 1, -0.5)])
    if random.random() < 0.3:
        light = np.power(picture / 255, 2.2) * np.power(gains, 2.2)
        return 255 * np.power(np.clip(light, 0, 1), 1 / 2.2), {"gains": gains}
    return picture * gains, {"gains": gains}


def _channels(picture: Floats, random: Random) -> tuple[Floats, dict[str, Any]]:
    order = tuple(random.choice([(2, 1, 0), (1, 0, 2), (0, 2, 1), (1, 2, 0), (2, 0, 1)]).tolist())
    return picture[..., order], {"order": "".join("RGB"[k] for k in order)}


def _jpeg_subsampling(picture: Floats, random: Random) -> tuple[Floats, dict[str, Any]]:
    scheme = str(random.choice(["4:2:0", "4:2:2"]))
    quality = int(random.integers(60, 96))
    return coded(picture, "JPEG", quality=quality, subsampling=scheme), {"scheme": scheme}


def _plain_subsampling(picture: Floats, random: Random) -> tuple[Floats, dict[str, Any]]:
    scheme = str(random.choice(["4:2:0", "4:2:2", "4:4:0"]))
    smooth = random.random() < 0.5

    def change(ycc: Floats) -> Floats:
        found = ycc.copy()
        for plane in (1, 2):
            for axis in (1, 0):
                if scheme == ("4:4:0" if axis else "4:2:2"):
                    continue
                found[..., plane] = _halved(found[..., plane], axis, smooth)
        return found

    return _in_ycc(picture, change), {"scheme": scheme}


def _halved(plane: Floats, axis: int, smooth: bool) -> Floats:
    image = Image.fromarray(plane.astype(np.float32), mode="F")
    width, height = image.size
    small = (width // 2, height) if axis == 1 else (width, height // 2)
    filters = Image.Resampling
    reduced = image.resize(small, filters.BOX)
    method = filters.BILINEAR if smooth else filters.NEAREST
    return np.asarray(reduced.resize((width, height), method), dtype=np.float64)


def _chroma_noise(picture: Floats, random: Random) -> tuple[Floats, dict[str, Any]]:
    sigma = random.uniform(5, 20)

    def change(ycc: Floats) -> Floats:
        noise = sigma * random.standard_normal((*ycc.shape[:2], 2))
        return np.concatenate([ycc[..., :1], ycc[..., 1:] + noise], axis=2)

    return _in_ycc(picture, change), {"sigma": sigma}


def _chroma_blur(picture: Floats, random: Random) -> tuple[Floats, dict[str, Any]]:
    sigma = random.uniform(2.5, 6)

    def change(ycc: Floats) -> Floats:
        blurred = ndimage.gaussian_filter(ycc[..., 1:], (sigma, sigma, 0))
        return np.concatenate([ycc[..., :1], blurred], axis=2)

    return _in_ycc(picture, change), {"sigma": sigma}


def _grey(picture: Floats, random: Random) -> tuple[Floats, dict[str, Any]]:
    name = str(random.choice([*colour._WEIGHTS, colour.LIGHTNESS]))
    grey = np.rint(colour._as_grey(picture, name))
    return np.repeat(grey[..., None], 3, axis=2), {"weights": name}


def _profile(picture: Floats, random: Random) -> tuple[Floats, dict[str, Any]]:
    space = colour_profiles.COMMON[int(random.integers(len(colour_profiles.COMMON)))]
    lost = bool(random.random() < 0.7)
    convert = space.from_srgb if lost else space.to_srgb
    return 255 * convert(picture / 255), {"profile": space.name, "lost": lost}


CHANGES: tuple[tuple[str, str, Change], ...] = (
    ("saturation", colour.SATURATION, _saturation),
    ("hue", colour.HUE, _hue),
    ("cast", colour.CAST, _cast),
    ("channels swapped", colour.CHANNELS, _channels),
    ("subsampling by JPEG", colour.SUBSAMPLING, _jpeg_subsampling),
    ("subsampling alone", colour.SUBSAMPLING, _plain_subsampling),
    ("chroma noise", colour.CHROMA_NOISE, _chroma_noise),
    ("chroma blur", colour.CHROMA_BLUR, _chroma_blur),
    ("grey", colour.GREY, _grey),
    ("profile", colour.PROFILE, _profile),
)


# --- damage that changes no colours -------------------------------------------------------------


def coded(picture: Floats, form: str, **options: Any) -> Floats:
    """Return a picture after it was saved in a lossy format."""
    stream = io.BytesIO()
    Image.fromarray(_rounded(picture).astype(np.uint8)).save(stream, form, **options)
    return np.asarray(Image.open(stream).convert("RGB"), dtype=np.float64)


def _jpeg_444(picture: Floats, random: Random) -> Floats:
    return coded(picture, "JPEG", quality=int(random.integers(20, 96)), subsampling=0)


def _blur(picture: Floats, random: Random) -> Floats:
    sigma = random.uniform(0.6, 3)
    return np.asarray(ndimage.gaussian_filter(picture, (sigma, sigma, 0)))


def _motion(picture: Floats, random: Random) -> Floats:
    return np.asarray(ndimage.uniform_filter1d(picture, int(random.integers(3, 12)), axis=1))


def _same_noise(picture: Floats, random: Random) -> Floats:
    noise = random.uniform(3, 25) * random.standard_normal(picture.shape[:2])
    return picture + noise[..., None]


def _noise(picture: Floats, random: Random) -> Floats:
    return picture + random.uniform(3, 25) * random.standard_normal(picture.shape)


def _impulse(picture: Floats, random: Random) -> Floats:
    hit = random.random(picture.shape[:2]) < random.uniform(0.005, 0.05)
    value = 255.0 * random.integers(0, 2, picture.shape[:2])
    return np.where(hit[..., None], value[..., None], picture)


def _gamma(picture: Floats, random: Random) -> Floats:
    return 255 * np.power(picture / 255, np.exp(random.uniform(-0.6, 0.6)))


def _contrast(picture: Floats, random: Random) -> Floats:
    return (picture - 128) * random.uniform(0.6, 1.5) + 128


def _luma_contrast(picture: Floats, random: Random) -> Floats:
    luma = (picture @ _LUMA)[..., None]
    return np.asarray(picture + (luma - 128) * (random.uniform(0.6, 1.5) - 1))


def _brightness(picture: Floats, random: Random) -> Floats:
    return picture + random.uniform(-40, 40)


def _exposure(picture: Floats, random: Random) -> Floats:
    return picture * random.uniform(0.6, 1.5)


def _posterised(picture: Floats, random: Random) -> Floats:
    step = 255 / (int(random.integers(6, 24)) - 1)
    return np.asarray(np.rint(picture / step) * step)


def _sharpened(picture: Floats, random: Random) -> Floats:
    soft = ndimage.gaussian_filter(picture, (1, 1, 0))
    return np.asarray(picture + random.uniform(0.4, 2) * (picture - soft))


def _median(picture: Floats, random: Random) -> Floats:
    side = int(random.choice([3, 5]))
    return np.asarray(ndimage.median_filter(picture, (side, side, 1)))


def _resampled(picture: Floats, random: Random) -> Floats:
    image = Image.fromarray(_rounded(picture).astype(np.uint8))
    factor = random.uniform(0.4, 0.8)
    small = image.resize((int(image.width * factor), int(image.height * factor)))
    return np.asarray(small.resize(image.size), dtype=np.float64)


LUMA_ONLY: tuple[tuple[str, Callable[[Floats, Random], Floats]], ...] = (
    ("JPEG 4:4:4", _jpeg_444),
    ("blur", _blur),
    ("motion blur", _motion),
    ("noise, the same in all channels", _same_noise),
    ("noise, independent", _noise),
    ("impulse noise", _impulse),
    ("gamma", _gamma),
    ("contrast", _contrast),
    ("contrast of the luma", _luma_contrast),
    ("brightness", _brightness),
    ("exposure", _exposure),
    ("posterisation", _posterised),
    ("sharpening", _sharpened),
    ("median", _median),
    ("resampling", _resampled),
)


def _weak_jpeg(picture: Floats, random: Random) -> Floats:
    return coded(picture, "JPEG", quality=int(random.integers(70, 96)))


def _weak_webp(picture: Floats, random: Random) -> Floats:
    return coded(picture, "WEBP", quality=int(random.integers(70, 96)))


def _weak_noise(picture: Floats, random: Random) -> Floats:
    return picture + random.uniform(2, 8) * random.standard_normal(picture.shape)


def _weak_blur(picture: Floats, random: Random) -> Floats:
    sigma = random.uniform(0.5, 1.2)
    return np.asarray(ndimage.gaussian_filter(picture, (sigma, sigma, 0)))


ON_TOP: tuple[tuple[str, Callable[[Floats, Random], Floats]], ...] = (
    ("JPEG", _weak_jpeg),
    ("WebP", _weak_webp),
    ("noise", _weak_noise),
    ("blur", _weak_blur),
    ("gamma", _gamma),
)


# --- the answers of one scene -------------------------------------------------------------------


def outcomes_of(scene: Scene, seed: int = 0) -> list[ColourOutcome]:
    """Return what is found about the colours of copies of one scene."""
    picture = scene.read().astype(np.float64)
    if picture.ndim == 2:
        return []
    random = scene.random(seed, 7)
    found = list(_changed(picture, random))
    for name, damage in LUMA_ONLY:
        copy = _rounded(damage(picture, random))
        kinds = [finding.kind for finding in colour_findings(picture, copy)]
        found.append(ColourOutcome(None, name, "", not kinds, tuple(kinds)))
    return found


def _changed(picture: Floats, random: Random) -> Iterator[ColourOutcome]:
    for name, kind, change in CHANGES:
        copy, parameters = change(picture, random)
        copy = _rounded(copy)
        if not _is_seen(picture, copy, kind):
            continue
        yield _outcome(picture, copy, (name, kind, parameters), "")
        place = int(random.integers(len(ON_TOP)))
        on_top, damage = ON_TOP[place]
        if kind == colour.SUBSAMPLING and on_top != "gamma":
            # A codec subsamples itself, and a blur or noise leaves nothing of it to be seen.
            continue
        state = random.bit_generator.state
        damaged = _rounded(damage(copy, random))
        random.bit_generator.state = state
        if not _is_seen(_rounded(damage(picture, random)), damaged, kind):
            continue
        yield _outcome(picture, damaged, (name, kind, parameters), on_top)


def _is_seen(picture: Floats, copy: Floats, kind: str) -> bool:
    change = (copy - picture) @ _YCC[1:].T
    if kind in _DETAIL:
        return bool(np.sqrt(np.mean(change**2)) > _SEEN_IN_PIXELS)
    means = ndimage.uniform_filter(change, (8, 8, 0))
    return bool(np.sqrt(np.mean(means**2)) > _SEEN_IN_BLOCKS)


def _outcome(
    picture: Floats, copy: Floats, truth: tuple[str, str, dict[str, Any]], on_top: str
) -> ColourOutcome:
    name, kind, parameters = truth
    findings = {finding.kind: finding for finding in colour_findings(picture, copy)}
    if colour.TINT in findings:
        # The cast of a picture that was grey.
        findings[colour.CAST] = findings.pop(colour.TINT)
    right = kind in findings and _near(kind, findings[kind].parameters, parameters)
    excused = _EXCUSED if on_top in ("JPEG", "WebP") else set()
    invented = tuple(found for found in findings if found != kind and found not in excused)
    return ColourOutcome(kind, name, on_top, right, invented)


def _near(kind: str, said: dict[str, Any], true: dict[str, Any]) -> bool:
    """Whether the parameters are near the truth: the same side, and half as much or twice."""
    if kind == colour.SATURATION:
        ratio = np.log(said["factor"]) / np.log(true["factor"])
        return bool(0.5 < ratio < 2)
    if kind == colour.HUE:
        return bool(0.5 < said["degrees"] / true["degrees"] < 2)
    if kind == colour.CAST:
        gains = np.array([said[name] for name in ("red", "green", "blue")])
        return bool(np.corrcoef(gains, true["gains"])[0, 1] > 0.8)
    if kind in (colour.CHROMA_NOISE, colour.CHROMA_BLUR):
        return bool(0.4 < said["sigma"] / true["sigma"] < 2.5)
    if kind == colour.GREY:
        return said["weights"] in (true["weights"], None)
    return said == true


# --- the figures --------------------------------------------------------------------------------


def measure(
    folder: str | os.PathLike[str], processes: int | None = None
) -> Generator[Progress, None, list[Figure]]:
    """Make and judge copies of the measured scenes of a folder, and return the figures."""
    chosen = scenes.measured(scenes.find_scenes(folder))
    found: list[ColourOutcome] = []
    yield Progress(0, len(chosen), "scenes")
    for index, outcomes in enumerate(scenes.in_processes(outcomes_of, chosen, processes), 1):
        found += outcomes
        yield Progress(index, len(chosen), "scenes")
    return list(figures(found))


def figures(found: Sequence[ColourOutcome]) -> Iterator[Figure]:
    """Yield the shares of findings that are right, and of copies with nothing invented."""
    changed = [each for each in found if each.kind is not None]
    plain = [each for each in found if each.kind is None]
    alone = [each for each in changed if not each.on_top]
    covered = [each for each in changed if each.on_top]
    yield from _share("findings named, alone", alone, least=95)
    yield from _share("findings named, under other damage", covered, least=95)
    groups: dict[str, list[ColourOutcome]] = defaultdict(list)
    for each in changed:
        groups[each.change].append(each)
    for name, behind in groups.items():
        yield from _share(f"{name}: named", behind)
    yield from _share("damage without colours: nothing invented", plain, least=98)
    if changed:
        share = 100 * float(np.mean([not each.invented for each in changed]))
        name = f"findings: nothing else invented ({len(changed)} pictures)"
        yield Figure(name, share, "%")


def _share(
    name: str, behind: Sequence[ColourOutcome], least: float | None = None
) -> Iterator[Figure]:
    if behind:
        share = 100 * float(np.mean([each.right for each in behind]))
        yield Figure(f"{name} ({len(behind)} pictures)", share, "%", least)
