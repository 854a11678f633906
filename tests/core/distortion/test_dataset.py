"""Datasets at exact errors: every bundled picture, every mixture, every number of threads."""

from __future__ import annotations

import itertools
import math
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isca_gui.core.distortion.dataset import Dataset, DatasetError, Entry, generate, picture_seed
from isca_gui.core.distortion.dataset_spec import DatasetSpec, parse_levels
from isca_gui.core.distortion.distortions import DISTORTIONS, TABLE
from isca_gui.core.distortion.strength_search import UnreachableError, distort
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import Progress, run
from isca_gui.core.settings import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from isca_gui.core.distortion.distortions import Picture

KINDS = ("contrast", "gaussian-noise", "luminance", "blur", "impulse", "jpeg")
LEVELS = tuple(45.0 * step for step in range(1, 21))
FEW = (45.0, 225.0, 540.0, 900.0)
ALL_LEVELS_ON = {"camera.png", "brick.png", "chelsea.png"}


def large(path: Path) -> bool:
    try:
        info = image.describe(path)
    except image.ImageError:
        return False
    return min(info.width, info.height) >= 256


PICTURES = sorted(path.name for path in samples.folder().iterdir() if large(path))


def error(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.mean((255 * first.astype(np.float64) - 255 * second.astype(np.float64)) ** 2))


def allowed(kind: str, target: float) -> float:
    return 0.01 * target if kind.endswith("jpeg") else max(0.1, 0.001 * target)


@pytest.fixture(scope="module")
def crop() -> Picture:
    return np.ascontiguousarray(image.read(samples.resolve("sample:camera"))[64:320, 100:356])


@pytest.fixture(scope="module")
def small(crop: Picture) -> Picture:
    return np.ascontiguousarray(crop[100:164, 80:160])


def check_errors(made: Dataset, reference: Picture, spec: DatasetSpec) -> None:
    """Everything is there once, made or reported, and its error is what was asked for."""
    assert made.pictures.dtype == np.float32
    assert made.pictures[0].tobytes() == reference.tobytes()
    assert made.entries[0] == Entry("original", 0.0, 0.0, 0.0, spec.seed)
    listed = [(entry.label, entry.target_mse) for entry in made.entries[1:]]
    missed = [(each.kind, each.target_mse) for each in made.unreachable]
    wanted = [(kind, level) for kind in spec.kinds for level in spec.levels]
    assert listed == [each for each in wanted if each not in missed]
    assert sorted(listed + missed) == sorted(wanted)
    for picture, entry in zip(made.pictures[1:], made.entries[1:], strict=True):
        found = error(picture, reference)
        assert abs(found - entry.target_mse) <= allowed(entry.label, entry.target_mse), entry
        assert entry.achieved_mse == pytest.approx(found, rel=1e-9)
        assert picture.min() >= 0
        assert picture.max() <= 1


def check_unreachable(made: Dataset, reference: Picture) -> None:
    """No strength reaches what is reported as out of reach, and the maximum is right."""
    for kind in {each.kind for each in made.unreachable}:
        row = DISTORTIONS[kind]
        apply = row.prepare(reference, np.random.default_rng(77))
        strongest = max(error(apply(row.strongest * 2.0**-step), reference) for step in range(8))
        for each in made.unreachable:
            if each.kind == kind:
                assert strongest < each.target_mse * 1.01
                assert each.maximum_mse < each.target_mse
                assert each.maximum_mse == pytest.approx(strongest, rel=0.02, abs=0.1)


# --- accuracy -------------------------------------------------------------------------------------


def test_there_are_pictures_to_test_on() -> None:
    assert len(PICTURES) >= 18
    assert set(PICTURES) >= ALL_LEVELS_ON


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_at_exact_errors(name: str) -> None:
    reference = image.read(samples.folder() / name)
    spec = DatasetSpec(levels=LEVELS if name in ALL_LEVELS_ON else FEW)
    made = run(generate(reference, spec))
    check_errors(made, reference, spec)
    check_unreachable(made, reference)


def test_a_black_and_white_picture_has_little_contrast_to_gain() -> None:
    reference = image.read(samples.folder() / "horse.png")
    spec = DatasetSpec(("contrast",), (45.0, 900.0))
    made = run(generate(reference, spec))
    assert made.labels == ("original", "contrast")
    (missed,) = made.unreachable
    mean = reference.mean(dtype=float)
    assert missed.maximum_mse == pytest.approx(
        error((reference > mean).astype(float), reference), rel=0.01
    )


def test_a_flat_grey_picture() -> None:
    reference = np.full((64, 72), 0.5, dtype=np.float32)
    spec = DatasetSpec(levels=(45.0, 900.0))
    made = run(generate(reference, spec))
    check_errors(made, reference, spec)
    # Grey 127.5 is not even touched by JPEG: every coefficient is next to zero.
    assert {each.kind for each in made.unreachable} == {"contrast", "blur", "jpeg"}
    assert all(each.maximum_mse < 1 for each in made.unreachable)


def test_nothing_reachable_leaves_the_reference_alone() -> None:
    reference = np.ones((32, 32), dtype=np.float32)
    made = run(generate(reference, DatasetSpec(("luminance", "blur"), (45.0, 90.0))))
    assert made.labels == ("original",)
    assert made.pictures.shape == (1, 32, 32)
    assert len(made.unreachable) == 4


# --- mixtures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", list(itertools.combinations(KINDS, 2)), ids="+".join)
def test_mixtures_in_both_orders(pair: tuple[str, str], crop: Picture) -> None:
    kinds = ("+".join(pair), "+".join(reversed(pair)))
    spec = DatasetSpec(kinds, (500.0,))
    made = run(generate(crop, spec))
    assert made.unreachable == ()
    check_errors(made, crop, spec)
    forth, back = made.pictures[1:]
    assert not np.array_equal(forth, back)


def test_the_first_part_of_a_mixture_goes_half_the_way() -> None:
    reference = np.random.default_rng(0).uniform(0.3, 0.6, (128, 128)).astype(np.float32)
    made = distort(reference, "luminance+gaussian-noise", 500.0, 1)
    difference = 255 * (made.picture.astype(float) - reference)
    assert difference.mean() == pytest.approx(math.sqrt(250), abs=0.3)  # the shift
    assert difference.std() == pytest.approx(math.sqrt(250), abs=0.3)  # the noise on it
    assert made.strength == pytest.approx(math.sqrt(250), rel=0.03)


# --- generate -------------------------------------------------------------------------------------


def test_default_is_the_papers_dataset(crop: Picture) -> None:
    reports: list[Progress] = []
    made = run(generate(crop, DatasetSpec()), reports.append)
    assert len(made.pictures) == len(made.entries) == 121
    assert made.labels == ("original", *(kind for kind in KINDS for _ in LEVELS))
    assert [entry.target_mse for entry in made.entries] == [0.0, *(LEVELS * 6)]
    assert made.classes == ("original", *KINDS)
    assert made.unreachable == ()
    assert made.spec == DatasetSpec()
    assert not made.pictures.flags.writeable
    done = [report.done for report in reports]
    assert done == sorted(done)
    # Every picture is reported; a number is repeated where a picture takes long.
    assert list(dict.fromkeys(done)) == list(range(121))
    assert {report.total for report in reports} == {120}
    # Within a kind more error means more strength.
    for kind in KINDS:
        strengths = [entry.strength for entry in made.entries if entry.label == kind]
        assert strengths == sorted(strengths)


def test_number_of_threads_changes_nothing(crop: Picture) -> None:
    spec = DatasetSpec(
        (*KINDS, "impulse+jpeg", "blur+gaussian-noise"), (45.0, 100.0, 500.0, 900.0), seed=4
    )
    first, *others = (run(generate(crop, spec, threads)) for threads in (1, 2, 5))
    for other in others:
        assert other.pictures.tobytes() == first.pictures.tobytes()
        assert other.entries == first.entries
        assert other.digest() == first.digest()


def test_threads_change_nothing_on_a_large_picture() -> None:
    reference = image.read(samples.folder() / "retina.jpg")
    spec = DatasetSpec(("jpeg",), (40.0, 150.0, 250.0, 300.0))
    alone, together = (run(generate(reference, spec, threads)) for threads in (1, 4))
    assert (alone.unreachable, together.unreachable) == ((), ())
    assert together.entries == alone.entries
    assert together.digest() == alone.digest()


def test_another_seed_gives_other_noise_and_nothing_else(small: Picture) -> None:
    first, second = (
        run(generate(small, DatasetSpec(levels=(300.0,), seed=seed))) for seed in (0, 1)
    )
    for kind, one, other in zip(first.labels, first.pictures, second.pictures, strict=True):
        random = kind in {"gaussian-noise", "impulse"}
        assert np.array_equal(one, other) is not random, kind
    assert first.digest() != second.digest()


def test_no_two_pictures_share_their_noise(small: Picture) -> None:
    made = run(generate(small, DatasetSpec(("gaussian-noise",), (100.0, 100.5, 400.0))))
    noise = [(picture.astype(float) - small).ravel() for picture in made.pictures[1:]]
    for one, other in itertools.combinations(noise, 2):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.1


@pytest.mark.parametrize("kind", [*KINDS, "gaussian-noise+jpeg", "blur+impulse"])
def test_one_picture_can_be_made_again_alone(kind: str, small: Picture) -> None:
    spec = DatasetSpec(
        (*KINDS, "gaussian-noise+jpeg", "blur+impulse"), (45.0, 250.0, 800.0), seed=11
    )
    made = run(generate(small, spec))
    found = 0
    for picture, entry in zip(made.pictures, made.entries, strict=True):
        if entry.label == kind:
            again = distort(small, kind, entry.target_mse, entry.seed)
            assert again.picture.tobytes() == picture.tobytes()
            assert (again.strength, again.achieved_mse) == (entry.strength, entry.achieved_mse)
            assert entry.seed == picture_seed(11, kind, entry.target_mse)
            found += 1
    assert found == 3


def test_what_is_made_beside_it_does_not_matter(small: Picture) -> None:
    full = run(generate(small, DatasetSpec(("impulse", "blur"), (45.0, 90.0, 500.0))))
    part = run(generate(small, DatasetSpec(("impulse",), (500.0,))))
    assert part.pictures[1].tobytes() == full.pictures[3].tobytes()


def test_the_callers_picture_is_left_alone(small: Picture) -> None:
    picture = small.copy()
    made = run(generate(picture, DatasetSpec(("luminance",), (45.0,))))
    np.testing.assert_array_equal(picture, small)
    picture[:] = 0  # and may be changed afterwards
    np.testing.assert_array_equal(made.reference, small)


def own_threads() -> set[threading.Thread]:
    """All threads started by Python; those of Qt come and go beside them."""
    return {each for each in threading.enumerate() if not isinstance(each, threading._DummyThread)}


@pytest.mark.alone
@pytest.mark.parametrize("reports", [0, 1, 2, 15])
def test_closing_stops_the_work_at_once(reports: int) -> None:
    reference = image.read(samples.resolve("sample:camera"))
    before = own_threads()
    task = generate(reference, DatasetSpec())
    for _ in range(reports):
        next(task)
    start = time.monotonic()
    task.close()
    assert time.monotonic() - start < 1
    assert own_threads() == before


# --- Dataset --------------------------------------------------------------------------------------


NO_PICTURES = {
    "8 bits": np.full((9, 9), 128, np.uint8),
    "0 to 255": np.full((9, 9), 128.0),
    "negative": np.full((9, 9), -0.1),
    "not finite": np.full((9, 9), np.nan),
    "colour": np.zeros((9, 9, 3)),
    "empty": np.zeros((0, 9)),
}


@pytest.mark.parametrize("name", NO_PICTURES)
def test_what_is_no_grey_picture_is_refused(name: str) -> None:
    with pytest.raises(DatasetError, match="matrix of grey values from 0 to 1"):
        run(generate(NO_PICTURES[name], DatasetSpec()))
    with pytest.raises(ValueError, match="matrix of grey values from 0 to 1"):
        distort(NO_PICTURES[name], "blur", 100.0, 0)


@pytest.mark.parametrize("pair", ["gaussian-noise+blur", "contrast+luminance"])
def test_a_mixture_is_not_promised_what_it_cannot_reach(pair: str) -> None:
    """For a lower level the first part goes less far, so a bound is no level to promise."""
    light = np.random.default_rng(0).random((33, 41))
    picture = (0.02 * light if pair.endswith("blur") else 0.99 + 0.01 * light).astype(np.float32)
    target, tried = 300.0, 0
    while tried < 4:
        made = run(generate(picture, DatasetSpec(kinds=(pair,), levels=(target,))))
        (missed,) = made.unreachable
        assert missed.maximum_mse < target
        assert missed.reach == f"this picture stays below {missed.maximum_mse:.4g}"
        target, tried = round(0.98 * missed.maximum_mse, 1), tried + 1
        if target < 5:
            break
    with pytest.raises(
        UnreachableError, match=f"stays below MSE .* on this picture, not {target:g}"
    ):
        distort(picture, pair, target, 0)


def test_dataset_refuses_what_does_not_fit() -> None:
    entry = Entry("original", 0, 0, 0, 0)
    stack = np.zeros((1, 8, 8), np.float32)
    for pictures, entries in [
        (stack, ()),
        (stack[:0], ()),
        (stack[0], (entry,)),
        (stack, (entry, entry)),
        (stack, (Entry("blur", 1, 1, 1, 0),)),
    ]:
        with pytest.raises(DatasetError):
            Dataset(pictures, entries)


def test_digest_sees_pixels_labels_and_shape() -> None:
    def made(picture: np.ndarray, label: str) -> str:
        entries = Entry("original", 0, 0, 0, 0), Entry(label, 1, 1, 1, 0)
        return Dataset(np.stack([picture, picture]).astype(np.float32), entries).digest()

    base = np.linspace(0, 1, 64).reshape(8, 8)
    nudged = base.copy()
    nudged[3, 3] += 1e-6
    digests = [
        made(base, "blur"),
        made(base, "jpeg"),
        made(nudged, "blur"),
        made(base.reshape(4, 16), "blur"),
    ]
    assert len(set(digests)) == 4
    assert made(base.copy(), "blur") == digests[0]


# --- settings -------------------------------------------------------------------------------------


def test_defaults_are_the_papers() -> None:
    assert DatasetSpec().kinds == KINDS == tuple(row.name for row in TABLE)
    assert DatasetSpec().levels == LEVELS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kinds": ()}, "at least one"),
        ({"levels": ()}, "at least one"),
        ({"kinds": ("smear",)}, "smear"),
        ({"kinds": ("",)}, "unknown"),
        ({"kinds": ("Blur",)}, "Blur"),
        ({"kinds": ("original",)}, "original"),
        ({"kinds": ("blur+",)}, "unknown"),
        ({"kinds": ("blur+smear",)}, "smear"),
        ({"kinds": ("blur+blur",)}, "two different"),
        ({"kinds": ("blur+jpeg+contrast",)}, "two different"),
        ({"kinds": ("blur", "blur")}, "twice"),
        ({"levels": (45.0, 45.0)}, "twice"),
        ({"levels": (0.0,)}, "above 0"),
        ({"levels": (-1.0,)}, "above 0"),
        ({"levels": (65026.0,)}, "65025"),
        ({"levels": (math.nan,)}, "nan"),
        ({"levels": (math.inf,)}, "inf"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
    ],
)
def test_wrong_settings(changes: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        DatasetSpec(**changes)


@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**63 - 1])
def test_every_seed_works(seed: int, small: Picture) -> None:
    made = run(generate(small, DatasetSpec(("impulse",), (65.0,), seed)))
    assert error(made.pictures[1], small) == pytest.approx(65, abs=0.1)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("45:900:45", LEVELS),
        ("45", (45.0,)),
        ("45,90,200", (45.0, 90.0, 200.0)),
        (" 45 , 90.5 ", (45.0, 90.5)),
        ("10:10:5", (10.0,)),
        ("10:19:5", (10.0, 15.0)),
        ("0.1:0.3:0.1", (0.1, 0.2, 0.3)),
        ("1:1e3:333", (1.0, 334.0, 667.0, 1000.0)),
    ],
)
def test_levels_as_text(text: str, levels: tuple[float, ...]) -> None:
    assert parse_levels(text) == pytest.approx(levels)


BAD_LEVELS = [
    "", ",", "45,", "a", "45;90", "1:2", "1:2:3:4", "::", "1::2",
    "45:900:0", "45:900:-45", "900:45:45",
    "nan:900:45", "45:nan:45", "45:900:nan", "45:inf:45", "-inf:45:1", "45:900:inf",
    "1:9e9:1", "1:1e308:1", "1:900:1e-300", "0:1e308:1e-10", "-1e308:1e308:1",
    "nan", "inf", "45,nan", "-45", "0", "0:900:45", "45,45",
    ",".join(str(level / 10) for level in range(1, 200_000)),
]  # fmt: skip


@pytest.mark.parametrize("text", BAD_LEVELS, ids=lambda text: text[:20] or "empty")
def test_bad_levels_are_rejected(text: str) -> None:
    """By the reader of the text or, for numbers that no MSE can be, by the settings."""
    with pytest.raises(SettingsError):
        DatasetSpec(levels=parse_levels(text))


@given(st.text(alphabet="0123456789.,:-+e naif_", max_size=24))
def test_any_text_gives_levels_or_the_one_error(text: str) -> None:
    try:
        levels = parse_levels(text)
    except SettingsError as refusal:
        assert len(str(refusal)) > 20  # noqa: PT017 (one of two allowed ends)
    else:
        assert levels
        assert all(isinstance(level, float) for level in levels)
