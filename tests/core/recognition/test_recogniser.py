"""Recognition: against a slow second implementation, and what must always hold."""

from __future__ import annotations

import itertools
import math
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from skimage import data

from isca_gui.core.distortion import strength_search
from isca_gui.core.distortion.dataset import Dataset, DatasetError, Entry, generate
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.distortion.distortions import DISTORTIONS, UNDECIDED_LABEL, UNLIKE
from isca_gui.core.model.descriptor import DESCRIPTORS, describe
from isca_gui.core.model.model import TrainingExamples
from isca_gui.core.model.training import train
from isca_gui.core.pictures.blocks import BlockGrid
from isca_gui.core.progress import run
from isca_gui.core.recognition import mixture
from isca_gui.core.recognition.neighbours import UNDECIDED
from isca_gui.core.recognition.recogniser import (
    Recogniser,
    Recognition,
    RecognitionError,
)
from isca_gui.core.recognition.verdict import NEARLY_ALL, RULES
from isca_gui.core.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isca_gui.core.model.model import Model

TIE = 2e-6
# Distances closer than this may be a tie or not, by rounding.
UNSURE = 1e-5
METHODS: dict[str, dict[str, Any]] = {
    "isca": {"method": "isca", "solver": "direct", "epochs": 5},
    "kernel-isca rbf": {"method": "kernel-isca", "solver": "direct", "kernel": "rbf", "epochs": 5},
    "kernel-isca linear": {
        "method": "kernel-isca",
        "solver": "direct",
        "kernel": "linear",
        "epochs": 5,
    },
    "pca": {"method": "pca"},
    "kernel-pca": {"method": "kernel-pca", "kernel": "rbf"},
    "random": {"method": "random"},
}
SHORT = {name: choice for name, choice in METHODS.items() if name != "kernel-isca linear"}


def trained(made: Dataset, choice: dict[str, Any], threads: int = 2, **more: Any) -> Model:
    return run(train(made, TrainingSettings(**(choice | more)), threads))  # type: ignore[arg-type]


def dataset_of(
    pictures: Sequence[np.ndarray], labels: Sequence[str], levels: Sequence[float] = ()
) -> Dataset:
    levels = levels or [0.0, *(50.0 * n for n in range(1, len(labels)))]
    entries = [
        Entry(label, level, level, 1.0, 0) for label, level in zip(labels, levels, strict=True)
    ]
    return Dataset(np.stack(pictures).astype(np.float32), tuple(entries))


def distorted(reference: np.ndarray, kind: str, level: float, seed: int = 77) -> np.ndarray:
    return strength_search.distort(reference, kind, level, seed).picture


def assert_sound(found: Recognition) -> None:
    """What holds for any picture and model."""
    blocks, classes = found.grid.count, len(found.classes)
    assert found.winner.shape == found.nearest.shape == found.level.shape == (blocks,)
    assert found.confidence.shape == found.rank.shape == (blocks,)
    assert found.distances.shape == (blocks, classes)
    assert ((found.winner >= UNDECIDED) & (found.winner < classes)).all()
    assert (found.distances >= 0).all()  # NaN is not
    assert ((found.confidence >= 0) & (found.confidence <= 1)).all()
    assert (found.confidence[found.winner == UNDECIDED] == 0).all()
    assert ((found.rank > 0) & (found.rank <= 1)).all()
    assert np.isfinite(found.level).all()
    verdict = found.verdict
    numbers = (
        verdict.share,
        verdict.runner_up_share,
        verdict.margin,
        verdict.severity,
        verdict.nearest_level,
    )
    assert all(map(math.isfinite, (*numbers, verdict.unusual)))
    assert verdict.margin == verdict.share - verdict.runner_up_share
    assert verdict.severity >= 0
    assert set(verdict.shares) == {*found.classes, UNDECIDED_LABEL}
    assert sum(verdict.shares.values()) == pytest.approx(1.0, abs=1e-12)
    for index, name in enumerate(found.classes):
        assert verdict.shares[name] == pytest.approx((found.winner == index).mean(), abs=1e-12)
    assert verdict.shares[UNDECIDED_LABEL] == pytest.approx(
        (found.winner == UNDECIDED).mean(), abs=1e-12
    )
    assert verdict.label in (*found.classes, UNDECIDED_LABEL)
    assert verdict.runner_up != verdict.label
    assert verdict.sentence.endswith(".")
    assert not re.search(r"\b(nan|inf)\b", verdict.sentence)


def assert_same(first: Recognition, second: Recognition) -> None:
    assert first.verdict == second.verdict
    for name in ("winner", "distances", "nearest", "level", "confidence", "rank"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes(), name


# --- a second implementation: loops over blocks, pictures and pixels, in float64 ------------------


def literal_block(picture: np.ndarray, row: int, column: int, side: int) -> np.ndarray:
    """One block, pixel by pixel; beyond its edge a picture goes on as it ends."""
    height, width = picture.shape
    values = [
        float(picture[min(row * side + y, height - 1), min(column * side + x, width - 1)])
        for y in range(side)
        for x in range(side)
    ]
    return np.array(values)


def literal_kernel(x: np.ndarray, y: np.ndarray, name: str, gamma: float) -> float:
    if name == "linear":
        return math.fsum(x * y)
    assert name == "rbf"
    return math.exp(-gamma * math.fsum((x - y) ** 2))


def literal_similarities(
    x: np.ndarray, known: list[np.ndarray], name: str, gamma: float
) -> np.ndarray:
    """Normalised similarities of a block to the training blocks, before centring."""
    found = []
    for y in known:
        by = math.sqrt(literal_kernel(x, x, name, gamma) * literal_kernel(y, y, name, gamma))
        found.append(literal_kernel(x, y, name, gamma) / by if by else 0.0)
    return np.array(found)


def literal_point(
    model: Model, index: int, block: np.ndarray, known: list[np.ndarray], table: np.ndarray
) -> np.ndarray:
    """Coordinates in the subspace, mean, and the two norms of what lies outside it.

    `table` are the similarities of the training blocks `known` to each other.
    """
    mean = math.fsum(block) / len(block)
    centred = block - mean
    if model.kernel is None:
        left, _, right = np.linalg.svd(model.state.u[index].astype(np.float64), full_matrices=False)
        basis = left @ right
        outside = centred - (0 if model.offset is None else model.offset[index])
        inside = basis.T @ outside
        outside = outside - basis @ inside
    else:
        name, gamma = model.settings.kernel, 1 / model.grid.pixels
        row, means = literal_similarities(block, known, name, gamma), table.mean(axis=0)
        inside = model.kernel.theta[index].astype(np.float64).T @ (
            row - row.mean() - means + table.mean()
        )
        outside = centred
    norms = [math.fsum(outside**2) ** 0.5, math.fsum(outside**4) ** 0.25]
    return np.array([*inside, mean * math.sqrt(len(block)), *norms])


class Literal:
    """Nearest neighbours of every block, one after the other."""

    def __init__(self, model: Model, made: Dataset) -> None:
        self.model, self.labels = model, made.labels
        self.levels = [entry.achieved_mse for entry in made.entries]
        self.classes = made.classes
        grid = model.grid
        self.places = list(itertools.product(range(grid.rows), range(grid.columns)))
        self.known = [
            [literal_block(picture, row, column, grid.side) for picture in made.pictures]
            for row, column in self.places
        ]
        name, gamma = model.settings.kernel, 1 / grid.pixels
        self.tables = [
            np.array([literal_similarities(y, blocks, name, gamma) for y in blocks if model.kernel])
            for blocks in self.known
        ]
        self.points = [
            [literal_point(model, index, block, blocks, self.tables[index]) for block in blocks]
            for index, blocks in enumerate(self.known)
        ]

    def of(self, picture: np.ndarray) -> list[np.ndarray]:
        side = self.model.grid.side
        return [
            literal_point(
                self.model,
                index,
                literal_block(picture, row, column, side),
                self.known[index],
                self.tables[index],
            )
            for index, (row, column) in enumerate(self.places)
        ]

    def factors(self, index: int, descriptor: str) -> np.ndarray:
        """What the numbers are multiplied by before they are compared."""
        points = np.array(self.points[index])
        p = points.shape[1] - 3
        if descriptor == "structural":
            return np.array([1.0] * p + [0.0] * 3)
        inside, beside = points[:, :p].var(axis=0).sum(), points[:, p:].var(axis=0).sum()
        if self.model.kernel is None or inside <= 1e-20:
            return np.ones(p + 3)
        return np.array([math.sqrt(beside / inside)] * p + [1.0] * 3)

    def distances(
        self, index: int, point: np.ndarray, descriptor: str, leave_out: int | None
    ) -> list[tuple[float, int]]:
        """Distance and number of every training picture that may be a neighbour."""
        weights = self.factors(index, descriptor)
        found = []
        for number, other in enumerate(self.points[index]):
            if number == leave_out or self.untouched(index, number):
                continue
            found.append((math.sqrt(math.fsum((weights * (other - point)) ** 2)), number))
        return sorted(found)

    def untouched(self, index: int, number: int) -> bool:
        """Whether a training picture left a block as it was, so that it is no example there."""
        points = self.points[index]
        return number > 0 and bool(np.abs(points[number] - points[0]).max() <= TIE)

    def vote(self, found: list[tuple[float, int]], k: int) -> tuple[int, float, dict[str, float]]:
        """Return the winner, how far it is from being a tie, and the distance to every class."""
        nearest: dict[str, float] = {}
        for distance, number in found:
            nearest.setdefault(self.labels[number], distance)
        counts = dict.fromkeys(nearest, 0)
        for _, number in found[:k]:
            counts[self.labels[number]] += 1
        best = min(nearest, key=lambda label: (-counts[label], nearest[label]))
        first, second, *_ = [*sorted(nearest.values()), math.inf, math.inf]
        edge = found[k][0] - found[k - 1][0] if len(found) > k > 1 else math.inf
        # The original is the only picture of its class and would always be outvoted.
        if nearest.get("original") == first and second - first > TIE:
            return 0, second - first - TIE, nearest
        if second - first <= TIE:
            return UNDECIDED, min(abs(second - first - TIE), edge), nearest
        return self.classes.index(best), min(second - first - TIE, edge), nearest

    def rank(
        self, index: int, winner: int, distance: float, descriptor: str
    ) -> tuple[float, float]:
        """How usual a distance is for a class, and by how much another rank is missed."""
        weights = self.factors(index, descriptor)
        members = [
            weights * point
            for number, (point, label) in enumerate(
                zip(self.points[index], self.labels, strict=True)
            )
            if label == self.classes[winner] and not self.untouched(index, number)
        ]
        if len(members) == 1:
            return (1.0 if distance <= TIE else 0.5), abs(distance - TIE)
        further, miss = 0, math.inf
        for place, one in enumerate(members):
            others = [other for number, other in enumerate(members) if number != place]
            typical_distances = min(math.sqrt(math.fsum((one - other) ** 2)) for other in others)
            # Distances within a 64th count as equal.
            further += typical_distances * (1 + 1 / 64) >= distance
            miss = min(miss, abs(typical_distances * (1 + 1 / 64) - distance))
        return (1 + further) / (1 + len(members)), miss


# --- small data -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small() -> Dataset:
    """37 × 45 pixels: five by six blocks, the last ones filled up."""
    reference = (data.camera()[60:240:4, 140:288:4] / 255).astype(np.float32)
    # Blur and light leave these blocks as they are.
    reference[:16, :16] = 1.0
    spec = DatasetSpec(levels=(60.0, 250.0, 700.0), seed=5)
    return run(generate(reference, spec, 2))


@pytest.fixture(scope="module")
def small_models(small: Dataset) -> dict[tuple[str, int], Model]:
    return {
        (name, p): trained(small, METHODS[name], components=p) for name in METHODS for p in (1, 4)
    }


@pytest.fixture(scope="module")
def strangers(small: Dataset) -> list[np.ndarray]:
    kinds = ("blur", "impulse", "luminance", "blur+gaussian-noise")
    return [distorted(small.reference, kind, 150.0) for kind in kinds]


@pytest.mark.parametrize("p", [1, 4])
@pytest.mark.parametrize("name", METHODS)
def test_votes_are_those_of_the_literal_loops(
    name: str,
    p: int,
    small: Dataset,
    strangers: list[np.ndarray],
    small_models: dict[tuple[str, int], Model],
) -> None:
    model = small_models[name, p]
    literal = Literal(model, small)
    pictures = [*strangers, small.pictures[5]]
    described = [literal.of(picture) for picture in pictures]
    assert np.allclose(np.moveaxis(described, 0, 1), describe(model, np.stack(pictures)), atol=2e-5)
    unsure = checked = 0
    for descriptor, k in itertools.product(DESCRIPTORS, (1, 3)):
        recogniser = Recogniser(model, descriptor, k)
        for picture, points in zip(pictures, described, strict=True):
            found = recogniser.recognise(picture, "majority")
            assert_sound(found)
            for index, point in enumerate(points):
                all_ = literal.distances(index, point, descriptor, None)
                winner, margin, nearest = literal.vote(all_, k)
                checked += 1
                for place, label in enumerate(literal.classes):
                    assert found.distances[index, place] == pytest.approx(
                        nearest.get(label, math.inf), rel=1e-3, abs=5e-5
                    )
                if margin < UNSURE and winner != UNDECIDED:
                    unsure += 1
                    continue
                assert found.winner[index] == winner, (descriptor, k, index)
                if winner == UNDECIDED:
                    continue
                number = int(found.nearest[index])
                assert literal.labels[number] == literal.classes[winner]
                distance = next(d for d, other in all_ if other == number)
                assert distance == pytest.approx(
                    nearest[literal.classes[winner]], rel=1e-3, abs=5e-5
                )
                assert found.level[index] == pytest.approx(literal.levels[number], rel=1e-6)
                rank, miss = literal.rank(index, winner, distance, descriptor)
                assert miss < 5e-5 or found.rank[index] == pytest.approx(rank)
    assert unsure < 0.05 * checked


@pytest.mark.parametrize("descriptor", DESCRIPTORS)
@pytest.mark.parametrize("name", SHORT)
def test_leaving_one_out_is_that_of_the_literal_loops(
    name: str, descriptor: str, small: Dataset, small_models: dict[tuple[str, int], Model]
) -> None:
    model = small_models[name, 4]
    literal, recogniser = Literal(model, small), Recogniser(model, descriptor)
    for number in (0, 2, 8, 15, 18):
        found = recogniser.leave_one_out(number)
        assert_sound(found)
        for index in range(model.grid.count):
            all_ = literal.distances(index, literal.points[index][number], descriptor, number)
            winner, margin, _ = literal.vote(all_, 1)
            if margin > UNSURE or winner == UNDECIDED:
                assert found.winner[index] == winner, index


@pytest.mark.parametrize("descriptor", DESCRIPTORS)
@pytest.mark.parametrize("name", METHODS)
def test_no_picture_is_its_own_neighbour_when_left_out(
    name: str, descriptor: str, small: Dataset, small_models: dict[tuple[str, int], Model]
) -> None:
    recogniser = Recogniser(small_models[name, 4], descriptor)
    for number in range(1, len(small.labels)):
        found = recogniser.leave_one_out(number)
        assert_sound(found)
        assert (found.nearest != number).all()
    found = recogniser.leave_one_out(0)
    assert_sound(found)
    assert found.verdict.label != "original"
    assert (found.winner != 0).all()
    assert (found.nearest != 0).all()


@pytest.mark.parametrize("name", METHODS)
def test_a_training_picture_votes_for_itself(
    name: str, small: Dataset, small_models: dict[tuple[str, int], Model]
) -> None:
    model = small_models[name, 4]
    recogniser = Recogniser(model)
    reference = model.grid.split(small.reference)
    for number in range(1, len(small.labels)):
        found = recogniser.recognise(small.pictures[number])
        own = found.classes.index(small.labels[number])
        changed = (model.grid.split(small.pictures[number]) != reference).any(axis=1)
        decided = found.winner != UNDECIDED
        assert (found.distances[changed, own] <= UNSURE).all()
        assert (found.winner[changed & decided] == own).all()
        assert (found.winner[~changed & decided] == 0).all()
        assert (
            found.nearest[changed & decided] == number
        ).mean() > 0.9  # or one that is the same there
        assert decided.mean() > 0.9


# --- ties -----------------------------------------------------------------------------------------


def mild(seed: int = 3, height: int = 40, width: int = 48) -> np.ndarray:
    """A picture that can be made lighter without being cut off."""
    rough = np.random.default_rng(seed).random((height, width))
    return (0.25 + 0.4 * rough).astype(np.float32)


@pytest.fixture(scope="module")
def shifted() -> Dataset:
    spec = DatasetSpec(kinds=("luminance", "blur"), levels=(60.0, 300.0))
    return run(generate(mild(), spec, 2))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["isca", "pca", "random"])
def test_a_shift_of_light_is_undecided_for_the_papers_descriptor(
    name: str, rule: str, k: int, shifted: Dataset
) -> None:
    model = trained(shifted, METHODS[name])
    lighter = distorted(shifted.reference, "luminance", 150.0)
    found = Recogniser(model, "structural", k).recognise(lighter, rule)
    assert_sound(found)
    assert (found.winner == UNDECIDED).all()
    assert found.verdict.label == UNDECIDED_LABEL
    assert found.verdict.shares == {"original": 0, "luminance": 0, "blur": 0, UNDECIDED_LABEL: 1}
    assert found.verdict.parts == ()
    assert "100%" in found.verdict.sentence
    left = Recogniser(model, "structural", k).leave_one_out(1, rule)
    assert (left.winner == UNDECIDED).all()
    seen = Recogniser(model, "extended", k).recognise(lighter, rule)
    assert seen.verdict.label == "luminance"
    assert seen.verdict.share == 1


def test_undecided_blocks_are_counted_apart(shifted: Dataset) -> None:
    model = trained(shifted, METHODS["isca"])
    mixed = distorted(shifted.reference, "luminance", 150.0)
    mixed[:, 24:] = shifted.pictures[3][:, 24:]
    found = Recogniser(model, "structural").recognise(mixed)
    assert_sound(found)
    assert found.verdict.label == "blur"
    assert found.verdict.shares == {
        "original": 0,
        "luminance": 0,
        "blur": 0.5,
        UNDECIDED_LABEL: 0.5,
    }


@pytest.mark.parametrize("descriptor", DESCRIPTORS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", METHODS)
def test_the_same_picture_under_two_labels_is_undecided(
    name: str, rule: str, descriptor: str
) -> None:
    reference, blurred, other = (
        mild(),
        distorted(mild(), "blur", 200.0),
        distorted(mild(), "contrast", 200.0),
    )
    labels = ("original", "blur", "soft", "contrast")
    made = dataset_of([reference, blurred, blurred, other], labels)
    recogniser = Recogniser(trained(made, METHODS[name], components=3), descriptor)
    found = recogniser.recognise(blurred, rule)
    assert_sound(found)
    assert (found.winner == UNDECIDED).all()
    assert found.verdict.label == UNDECIDED_LABEL
    assert recogniser.recognise(other, rule).verdict.label == "contrast"
    assert recogniser.leave_one_out(1, rule).verdict.label == "soft"


def test_the_reference_left_out_is_not_its_own_neighbour_where_nothing_else_differs() -> None:
    """Blur does not change the flat left half, so only the reference knows those blocks."""
    reference = mild()
    reference[:, :24] = 0.5
    blurred = reference.copy()
    blurred[:, 24:] = distorted(mild(), "blur", 200.0)[:, 24:]
    model = trained(
        dataset_of([reference, blurred], ("original", "blur")), METHODS["pca"], components=2
    )
    found = Recogniser(model).leave_one_out(0)
    assert_sound(found)
    flat = found.grid.split(reference).var(axis=1) == 0
    assert flat.sum() == 15
    assert (found.winner[~flat] == 1).all()
    assert (found.winner[flat] == UNDECIDED).all()


# --- the original ---------------------------------------------------------------------------------


def plain_areas() -> np.ndarray:
    """Texture, and blocks that are black, white, flat, or nearly."""
    picture = np.random.default_rng(8).random((40, 48)).astype(np.float32)
    picture[:16, :16], picture[:16, 16:32] = 0.0, 1.0
    picture[16:32, :16] = 0.5
    picture[32:, :16] = np.linspace(0, 1, 16)
    return picture


@pytest.fixture(scope="module")
def plain() -> Dataset:
    return run(generate(plain_areas(), DatasetSpec(levels=(100.0, 500.0)), 2))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("descriptor", DESCRIPTORS)
@pytest.mark.parametrize("name", METHODS)
def test_the_reference_is_said_to_be_the_original(
    name: str, descriptor: str, rule: str, plain: Dataset
) -> None:
    recogniser = Recogniser(trained(plain, METHODS[name]), descriptor)
    found = recogniser.recognise(plain.reference, rule)
    assert_sound(found)
    assert found.verdict.label == "original"
    assert found.verdict.parts == ()
    assert found.verdict.severity == 0
    assert not found.verdict.unlike
    assert found.verdict.sentence == "This is the original: no block differs from the reference."
    if descriptor == "extended":
        assert found.verdict.share == 1
        assert (found.distances[:, 0] <= TIE).all()
    for number in range(1, len(plain.labels)):
        assert (
            recogniser.recognise(plain.pictures[number], rule).verdict.sentence
            != found.verdict.sentence
        )


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", METHODS)
def test_constant_pictures(name: str, value: float) -> None:
    reference = np.full((24, 31), value, np.float32)
    noise = np.random.default_rng(4).normal(0, 0.1, (2, 24, 31))
    noisy = np.clip(reference + noise, 0, 1)
    shade = np.full_like(reference, 0.25)
    labels = ("original", "gaussian-noise", "gaussian-noise", "luminance", "blur")
    made = dataset_of([reference, *noisy, shade, reference], labels)  # blur does nothing
    model = trained(made, METHODS[name], components=3)
    for descriptor, picture in itertools.product(
        DESCRIPTORS, (*made.pictures, np.ones_like(reference))
    ):
        recogniser = Recogniser(model, descriptor, 2)
        for rule in RULES:
            assert_sound(recogniser.recognise(picture, rule))
        assert recogniser.recognise(reference).verdict.label == "original"
    assert Recogniser(model).recognise(shade).verdict.label == "luminance"
    for number in range(len(labels)):
        assert_sound(Recogniser(model).leave_one_out(number))


@pytest.mark.parametrize("descriptor", DESCRIPTORS)
@pytest.mark.parametrize("name", METHODS)
def test_one_class_only(name: str, descriptor: str) -> None:
    model = trained(dataset_of([mild()], ["original"]), METHODS[name], components=1)
    recogniser = Recogniser(model, descriptor)
    first = mild()
    for picture in (first, distorted(mild(), "blur", 100.0)):
        found = recogniser.recognise(picture)
        assert_sound(found)
        assert found.verdict.label == "original"
        assert found.verdict.runner_up is None
        assert found.verdict.margin == 1
        if descriptor == "extended":  # one picture spans no space of a kernel
            assert found.verdict.unlike == (picture is not first), "it knows of nothing else"


@pytest.mark.parametrize("rule", RULES)
def test_one_kind_only(rule: str) -> None:
    made = run(generate(mild(), DatasetSpec(kinds=("blur",), levels=(200.0,)), 2))
    recogniser = Recogniser(trained(made, METHODS["isca"]))
    found = recogniser.recognise(distorted(mild(), "blur", 230.0), rule)
    assert_sound(found)
    assert found.verdict.label == "blur"
    assert found.verdict.runner_up is None


def test_damage_of_another_kind_is_not_called_none() -> None:
    """The reference is nearest to what was made darker where only lighter pictures are known."""
    spec = DatasetSpec(kinds=("luminance",), levels=(100.0, 300.0, 500.0))
    recogniser = Recogniser(trained(run(generate(mild(), spec, 2)), METHODS["pca"]))
    found = recogniser.recognise(mild() - np.float32(0.2)).verdict
    assert (found.label, found.unlike) == ("original", True)
    assert found.sentence.startswith("No trained distortion fits")
    rng = np.random.default_rng(0)
    faint = mild() + rng.normal(0, 1 / 255, mild().shape).astype(np.float32)
    assert not recogniser.recognise(faint).verdict.unlike, "less than any training picture"


@pytest.mark.parametrize("label", ["c++", "+", "a+", "blur+blur", "a+b+c"])
def test_a_plus_in_a_label_of_others_is_a_letter(label: str) -> None:
    made = dataset_of([mild(), distorted(mild(), "blur", 200.0)], ["original", label])
    verdict = (
        Recogniser(trained(made, METHODS["pca"]))
        .recognise(distorted(mild(), "blur", 200.0))
        .verdict
    )
    assert (verdict.label, verdict.parts) == (label, (label,))
    assert set(verdict.components) == {"original", label}
    assert all(0 <= share <= 1 for share in verdict.components.values())


# --- the verdict ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def natural() -> Dataset:
    """128 × 128 pixels of a photograph."""
    reference = (data.camera()[::4, ::4] / 255).astype(np.float32)
    levels = (45.0, 90.0, 135.0, 210.0, 315.0, 430.0, 560.0, 700.0, 900.0)
    return run(generate(reference, DatasetSpec(levels=levels), 2))


@pytest.fixture(scope="module")
def recogniser(natural: Dataset) -> Recogniser:
    return Recogniser(trained(natural, {"solver": "direct", "epochs": 40}))


def test_sparse_impulse_noise_is_no_original(natural: Dataset, recogniser: Recogniser) -> None:
    """A few pixels in 5 % of the blocks."""
    sparse = natural.reference.copy()
    dice = np.random.default_rng(12)
    blocks = dice.choice(256, 13, replace=False)
    for block in blocks:
        row, column = 8 * (block // 16) + dice.integers(8), 8 * (block % 16) + dice.integers(8)
        sparse[row, column] = 1.0 if sparse[row, column] < 0.5 else 0.0
    found, paper = recogniser.recognise(sparse), recogniser.recognise(sparse, "majority")
    assert_sound(found)
    assert found.verdict.label == "impulse"
    assert found.verdict.shares["original"] == 1 - 13 / 256
    assert paper.verdict.label == "original"
    assert (found.winner == paper.winner).all()
    assert set(np.flatnonzero(found.winner != 0)) == set(blocks)


@pytest.mark.parametrize(("damaged", "label"), [(5, "original"), (6, "blur")])
def test_nearly_all_blocks_make_an_original(
    damaged: int, label: str, natural: Dataset, recogniser: Recogniser
) -> None:
    """98 % of 256 blocks are 250.88: five may be damaged, six may not."""
    assert 1 - 5 / 256 >= NEARLY_ALL > 1 - 6 / 256
    picture, blurred = natural.reference.copy(), natural.pictures[natural.labels.index("blur") + 8]
    grid = recogniser.model.grid
    differs = (grid.split(blurred) != grid.split(natural.reference)).any(axis=1)
    for block in np.flatnonzero(differs)[100 : 100 + damaged]:
        here = grid.rectangle(int(block))
        area = np.s_[here.top : here.bottom, here.left : here.right]
        picture[area] = blurred[area]
    found = recogniser.recognise(picture)
    assert (found.winner != 0).sum() == damaged
    assert found.verdict.label == label
    assert recogniser.recognise(picture, "majority").verdict.label == "original"


@pytest.mark.parametrize("level", [75.0, 260.0, 380.0, 640.0])
@pytest.mark.parametrize("kind", DISTORTIONS)
def test_severity_of_pictures_never_seen(
    kind: str, level: float, natural: Dataset, recogniser: Recogniser
) -> None:
    made = strength_search.distort(natural.reference, kind, level, 99)
    found = recogniser.recognise(made.picture)
    assert_sound(found)
    assert found.verdict.label == kind
    assert found.verdict.severity == pytest.approx(made.achieved_mse, rel=0.05)
    assert not found.verdict.unlike
    if len(found.verdict.parts) == 1:
        assert f"MSE {found.verdict.severity:.0f}" in found.verdict.sentence


def without(model: Model, number: int) -> Model:
    """The same model as if it had never known one of its training pictures."""
    known = model.known
    assert known is not None
    keep = [place for place in range(len(known.labels)) if place != number]
    labels, levels = tuple(known.labels[at] for at in keep), tuple(known.levels[at] for at in keep)
    return replace(model, known=TrainingExamples(labels, levels, known.descriptors[:, keep]))


def assert_forgotten(recogniser: Recogniser, made: Dataset, number: int) -> None:
    found = recogniser.leave_one_out(number)
    wanted = Recogniser(without(recogniser.model, number)).recognise(made.pictures[number])
    assert (found.rank == wanted.rank).mean() > 0.97, "but for rounding of descriptors"
    mine, other = found.verdict, wanted.verdict
    assert (mine.label, mine.parts, mine.unlike) == (other.label, other.parts, other.unlike)
    assert mine.unusual == pytest.approx(other.unusual, abs=0.02)
    assert mine.severity == pytest.approx(other.severity, rel=1e-3)


def test_a_picture_left_out_is_known_to_nothing(natural: Dataset, recogniser: Recogniser) -> None:
    """Neither to the search for two distortions nor to what is usual."""
    for number in range(1, len(natural.labels), 2):
        assert_forgotten(recogniser, natural, number)


def test_a_picture_left_out_does_not_say_how_far_an_original_may_be() -> None:
    pictures = [mild() + np.float32(shift) for shift in (0, 0.02, 0.04, 0.06, -0.2)]
    made = dataset_of(pictures, ("original", *["luminance"] * 3, "dark"), (0, 26, 104, 234, 2601))
    recogniser = Recogniser(trained(made, METHODS["pca"]))
    assert_forgotten(recogniser, made, 4)
    assert recogniser.leave_one_out(4).verdict.unlike


@pytest.mark.parametrize("kind", DISTORTIONS)
def test_severity_of_training_pictures_is_their_level(
    kind: str, natural: Dataset, recogniser: Recogniser
) -> None:
    for number, entry in enumerate(natural.entries):
        if entry.label == kind:
            verdict = recogniser.recognise(natural.pictures[number]).verdict
            assert verdict.label == kind
            assert verdict.severity == pytest.approx(entry.achieved_mse, rel=1e-3)
            assert verdict.nearest_level == pytest.approx(entry.achieved_mse, rel=1e-3)


@pytest.mark.parametrize("name", ["kernel-pca", "pca", "random"])
@pytest.mark.parametrize("kind", DISTORTIONS)
def test_severity_with_other_methods(kind: str, name: str, natural: Dataset, request: Any) -> None:
    key = f"{name} of natural"
    cache = request.config.stash.setdefault(MODELS, {})
    if key not in cache:
        cache[key] = Recogniser(trained(natural, METHODS[name]))
    made = strength_search.distort(natural.reference, kind, 380.0, 99)
    assert cache[key].recognise(made.picture).verdict.severity == pytest.approx(
        made.achieved_mse, rel=0.08
    )


MODELS: pytest.StashKey[dict[str, Recogniser]] = pytest.StashKey()


@pytest.mark.parametrize("kind", DISTORTIONS)
def test_severity_grows_with_the_level(kind: str, natural: Dataset, recogniser: Recogniser) -> None:
    """Also below and above the levels of the training."""
    levels = (30.0, 60.0, 150.0, 400.0, 800.0, 1100.0)
    found = [
        recogniser.recognise(distorted(natural.reference, kind, level)).verdict for level in levels
    ]
    severities = [verdict.severity for verdict in found if verdict.label == kind]
    assert len(severities) >= 5
    assert all(first < second for first, second in itertools.pairwise(severities))


@pytest.fixture(scope="module")
def mixing() -> Dataset:
    reference = (data.camera()[::4, ::4] / 255).astype(np.float32)
    kinds = (
        "contrast",
        "luminance",
        "blur",
        "gaussian-noise",
        "jpeg",
        "blur+gaussian-noise",
        "blur+jpeg",
    )
    return run(generate(reference, DatasetSpec(kinds=kinds, levels=(120.0, 360.0, 720.0)), 2))


def test_mixtures_of_the_training_are_counted_for_both_parts(mixing: Dataset) -> None:
    recogniser = Recogniser(trained(mixing, METHODS["isca"], epochs=40))
    for rule, descriptor in itertools.product(RULES, DESCRIPTORS):
        other = Recogniser(recogniser.model, descriptor)
        found = other.recognise(distorted(mixing.reference, "blur+gaussian-noise", 400.0), rule)
        assert_sound(found)
        shares, components = found.verdict.shares, found.verdict.components
        assert set(components) == {
            "original",
            "contrast",
            "luminance",
            "blur",
            "gaussian-noise",
            "jpeg",
        }
        together = shares["blur+gaussian-noise"]
        assert components["blur"] == pytest.approx(shares["blur"] + together + shares["blur+jpeg"])
        assert components["gaussian-noise"] == pytest.approx(shares["gaussian-noise"] + together)
        assert components["jpeg"] == pytest.approx(shares["jpeg"] + shares["blur+jpeg"])
        assert components["original"] == shares["original"]
    found = recogniser.recognise(distorted(mixing.reference, "blur+gaussian-noise", 400.0))
    assert found.verdict.label == "blur+gaussian-noise"
    assert set(found.verdict.parts) == {"blur", "gaussian-noise"}
    assert set(found.verdict.top_two) == {"blur", "gaussian-noise"}
    assert "blur and gaussian noise" in found.verdict.sentence.lower()


@pytest.mark.parametrize("kind", ["blur+gaussian-noise", "blur+jpeg"])
@pytest.mark.parametrize("then", ["luminance", "contrast"])
def test_a_mixture_of_the_training_and_something_else(
    kind: str, then: str, mixing: Dataset
) -> None:
    """Three distortions: whatever the verdict is, it can be said, and names distortions."""
    recogniser = Recogniser(trained(mixing, METHODS["isca"], epochs=40))
    picture = distorted(distorted(mixing.reference, kind, 360.0), then, 360.0)
    found = recogniser.recognise(picture)
    assert_sound(found)
    assert set(found.verdict.parts) <= set(DISTORTIONS)


@pytest.mark.parametrize(
    "pair", ["blur+gaussian-noise", "blur+luminance", "gaussian-noise+contrast", "jpeg+luminance"]
)
def test_two_distortions_are_named(pair: str, natural: Dataset, recogniser: Recogniser) -> None:
    found = recogniser.recognise(distorted(natural.reference, pair, 500.0))
    assert_sound(found)
    assert set(found.verdict.top_two) == set(pair.split("+"))
    assert found.verdict.label in pair.split("+")


def test_two_distortions_of_a_page_that_is_mostly_white_are_named() -> None:
    """Most of its blocks do not move at all, so their typical distance says nothing."""
    page = np.ones((128, 128), np.float32)
    page[8:40, 8:88] = np.random.default_rng(0).random((32, 80)) < 0.6
    levels = tuple(90.0 * number for number in range(1, 11))
    recogniser = Recogniser(
        trained(run(generate(page, DatasetSpec(levels=levels), 2)), METHODS["pca"])
    )
    typical = recogniser.neighbours.typical_distances()
    of_a_block = np.where(np.isfinite(typical.distances), typical.distances, 0)
    assert np.median(of_a_block) < 0.05 * typical.median_spacing()
    for pair in ("blur+jpeg", "blur+gaussian-noise"):
        verdict = recogniser.recognise(distorted(page, pair, 500.0)).verdict
        assert set(verdict.parts) == set(pair.split("+")), verdict.sentence


def test_a_second_distortion_is_looked_for_in_pieces_that_do_not_grow_with_the_levels(
    natural: Dataset, recogniser: Recogniser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With hundreds of levels, all at once would take gigabytes."""
    pictures = [
        distorted(natural.reference, pair, 500.0) for pair in ("blur+luminance", "jpeg+contrast")
    ]
    whole = [recogniser.recognise(picture).verdict for picture in pictures]
    sizes, left = [], mixture.Unmixer._distances_left

    def measured(*words: Any) -> Any:
        found = left(*words)
        sizes.append(words[3] * len(words[2]) * len(words[4]))
        return found

    monkeypatch.setattr(mixture.Unmixer, "_distances_left", measured)
    limit = 3 * mixture._FIRST_BLOCKS * len(natural.entries)
    monkeypatch.setattr(mixture, "_AT_ONCE", limit)
    assert [recogniser.recognise(picture).verdict for picture in pictures] == whole
    rough = [size for size in sizes if size % mixture._BLOCKS]
    assert len(rough) > 2 * len(pictures)
    assert max(rough) <= limit


@pytest.mark.parametrize("kind", ["gaussian-noise", "impulse"])
@pytest.mark.parametrize("name", ["isca", "random"])
def test_severity_of_noise_on_a_page_of_print(kind: str, name: str) -> None:
    """Clipped at black and white, noise takes contrast away: its energy says nothing."""
    page = np.ones((128, 128), np.float32)
    page[8:40, 8:88] = np.random.default_rng(0).random((32, 80)) < 0.6
    board = (np.indices((128, 128)) // 8).sum(axis=0) % 2
    # Weak noise is hardly clipped there, strong noise is.
    faded = 0.04 + 0.92 * page
    for picture in (page, faded, board.astype(np.float32))[: 2 if kind == "impulse" else 3]:
        kinds, levels = ("gaussian-noise", "impulse", "blur"), tuple(90.0 * n for n in range(1, 11))
        spec = DatasetSpec(kinds=kinds, levels=levels)
        recogniser = Recogniser(trained(run(generate(picture, spec, 2)), METHODS[name]))
        for level in (135.0, 300.0, 500.0, 1000.0):
            verdict = recogniser.recognise(distorted(picture, kind, level, 7)).verdict
            assert verdict.severity == pytest.approx(level, rel=0.1), verdict.sentence


@pytest.fixture(scope="module")
def crop() -> np.ndarray:
    return (data.camera()[100:196, 180:276] / 255).astype(np.float32)


@pytest.fixture(scope="module")
def crop_model(crop: np.ndarray) -> Model:
    return trained(run(generate(crop, DatasetSpec(), 2)), METHODS["pca"])


@pytest.mark.parametrize("k", [1, 3, 9])
def test_the_reference_is_not_outvoted_by_the_many(
    k: int, crop: np.ndarray, crop_model: Model
) -> None:
    recogniser = Recogniser(crop_model, neighbours=k)
    assert recogniser.recognise(crop).verdict.shares["original"] == 1
    half = crop.copy()
    half[:, :48] = distorted(crop, "blur", 300.0)[:, :48]
    found = recogniser.recognise(half)
    untouched = crop_model.grid.split(half == crop).all(axis=1)
    assert untouched.mean() >= 0.5
    assert (found.winner[untouched] == 0).all()
    assert found.verdict.label == "blur"
    noise = np.random.default_rng(0).standard_normal(crop.shape, np.float32)
    faint = np.clip(crop + np.float32(0.3 / 255) * noise, 0, 1)
    assert recogniser.recognise(faint).verdict.sentence.startswith("No damage found")


def test_sparse_impulses_are_not_unlike_those_trained(crop: np.ndarray, crop_model: Model) -> None:
    """Most blocks of its training pictures are untouched: their distances say nothing."""
    recogniser = Recogniser(crop_model)
    for number in range(15):
        verdict = recogniser.recognise(distorted(crop, "impulse", 45.0 + number, number)).verdict
        assert (verdict.label, verdict.unlike) == ("impulse", False), verdict


def test_faint_damage_is_judged_as_strong_damage_is(crop: np.ndarray) -> None:
    """The same strengths, all of them a hundred times weaker, are no more unusual."""
    kinds, unusual = ("contrast", "luminance", "blur", "gaussian-noise"), []
    for scale in (1.0, 100.0):
        spec = DatasetSpec(
            kinds=kinds, levels=tuple(scale * number / 10 for number in range(1, 31))
        )
        recogniser = Recogniser(trained(run(generate(crop, spec, 2)), METHODS["pca"]))
        for kind, level in itertools.product(kinds, (0.15, 0.35, 0.85)):
            verdict = recogniser.recognise(distorted(crop, kind, scale * level)).verdict
            assert (verdict.label, verdict.unlike) == (kind, False), verdict
            assert verdict.severity == pytest.approx(scale * level, rel=0.1)
            unusual.append(verdict.unusual)
            if kind == "blur" and scale == 1:
                assert f"strength about MSE {level}." in verdict.sentence
    assert unusual[:12] == pytest.approx(unusual[12:], abs=0.3)


def test_two_distortions_with_as_many_blocks_each_are_both_named() -> None:
    """The plainest mixture there is: half the blocks for one, half for the other."""
    brick = (data.brick()[100:164, 180:244] / 255).astype(np.float32)
    recogniser = Recogniser(trained(run(generate(brick, DatasetSpec(), 2)), METHODS["pca"]))
    verdict = recogniser.recognise(
        distorted(brick, "jpeg+gaussian-noise", 414.09033107925177, 560411855)
    ).verdict
    assert verdict.shares["jpeg"] == verdict.shares["gaussian-noise"] > 0.4
    assert set(verdict.parts) == {"jpeg", "gaussian-noise"}
    assert verdict.sentence.startswith("Two distortions together: ")
    # Gauss keeps his capital letter in the middle of a sentence.
    assert "Gaussian noise" in verdict.sentence


def test_halves_that_disagree_are_undecided_and_said_to_be() -> None:
    """As many blocks for blur as for contrast, none in doubt: the sentence must not say 0%."""
    blurred, stretched = (distorted(mild(), kind, 200.0) for kind in ("blur", "contrast"))
    made = dataset_of([mild(), blurred, stretched], ("original", "blur", "contrast"))
    picture = np.concatenate([blurred[:, :24], stretched[:, 24:]], axis=1)
    for rule in RULES:
        found = Recogniser(trained(made, METHODS["isca"], components=3)).recognise(picture, rule)
        assert_sound(found)
        shares = {"original": 0, "blur": 0.5, "contrast": 0.5, UNDECIDED_LABEL: 0}
        assert found.verdict.shares == shares
        assert found.verdict.label == UNDECIDED_LABEL
        assert "0%" not in found.verdict.sentence


def test_what_no_block_votes_for_is_not_likely() -> None:
    blurred, stretched = (distorted(mild(), kind, 200.0) for kind in ("blur", "contrast"))
    made = dataset_of([mild(), blurred, stretched], ("original", "blur", "contrast"))
    recogniser = Recogniser(trained(made, METHODS["isca"], components=3))
    assert recogniser.recognise(blurred).verdict.top_two == ("blur",)
    assert recogniser.recognise(stretched).verdict.top_two == ("contrast",)
    assert recogniser.recognise(mild()).verdict.top_two == ()


# --- what does not matter -------------------------------------------------------------------------


@pytest.mark.parametrize("descriptor", DESCRIPTORS)
@pytest.mark.parametrize("name", ["pca", "kernel-pca"])
def test_a_turned_picture_has_turned_votes(
    name: str, descriptor: str, small: Dataset, strangers: list[np.ndarray]
) -> None:
    turned = Dataset(np.ascontiguousarray(small.pictures.transpose(0, 2, 1)), small.entries)
    upright, lying = (
        Recogniser(trained(made, METHODS[name]), descriptor) for made in (small, turned)
    )
    rows, columns = upright.model.grid.rows, upright.model.grid.columns
    for picture in strangers:
        first, second = upright.recognise(picture), lying.recognise(np.ascontiguousarray(picture.T))
        away = (
            second.distances.reshape(columns, rows, -1)
            .transpose(1, 0, 2)
            .reshape(rows * columns, -1)
        )
        assert np.allclose(first.distances, away, rtol=1e-2, atol=1e-4)
        votes = second.winner.reshape(columns, rows).T.ravel()
        assert (first.winner == votes).mean() > 0.95
        assert first.verdict.label == second.verdict.label


@pytest.mark.parametrize("name", METHODS)
def test_blocks_do_not_depend_on_each_other(
    name: str,
    small: Dataset,
    small_models: dict[tuple[str, int], Model],
    strangers: list[np.ndarray],
) -> None:
    recogniser = Recogniser(small_models[name, 4])
    patched = strangers[0].copy()
    patched[24:] = strangers[1][24:]
    upper, lower, both = (recogniser.recognise(p) for p in (strangers[0], strangers[1], patched))
    top = 3 * recogniser.model.grid.columns
    for field in ("winner", "nearest", "level", "rank"):
        wanted = np.concatenate([getattr(upper, field)[:top], getattr(lower, field)[top:]])
        assert np.array_equal(getattr(both, field), wanted), field


@pytest.mark.parametrize("name", ["isca", "kernel-isca rbf", "pca"])
def test_threads_and_repetition_change_nothing(
    name: str, small: Dataset, strangers: list[np.ndarray]
) -> None:
    before = set(threading.enumerate())
    one, two = (Recogniser(trained(small, METHODS[name], threads)) for threads in (1, 2))
    first = [one.recognise(picture) for picture in strangers]
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(two.recognise, strangers * 5))
    for number, found in enumerate(at_once):
        assert_same(found, first[number % len(strangers)])
    assert set(threading.enumerate()) <= before


def test_pictures_of_other_types_mean_the_same(
    small: Dataset, small_models: Any, strangers: Any
) -> None:
    recogniser = Recogniser(small_models["isca", 4])
    for other in (
        strangers[0].astype(np.float64),
        np.asfortranarray(strangers[0]),
        strangers[0][::-1][::-1],
    ):
        assert_same(recogniser.recognise(other), recogniser.recognise(strangers[0]))


def test_the_picture_is_not_changed(small_models: Any, strangers: list[np.ndarray]) -> None:
    before = strangers[0].copy()
    strangers[0].flags.writeable = False
    Recogniser(small_models["kernel-pca", 4]).recognise(strangers[0])
    assert (strangers[0] == before).all()


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(37, 45), (45, 36), (46, 37), (90, 74), (1, 1)])
def test_another_size_is_refused_with_both_sizes(shape: tuple[int, int], small_models: Any) -> None:
    recogniser = Recogniser(small_models["isca", 4])
    with pytest.raises(RecognitionError) as refused:
        recogniser.recognise(np.zeros(shape, np.float32))
    assert f"{shape[1]}×{shape[0]}" in str(refused.value)
    assert "37×45" in str(refused.value)


@pytest.mark.parametrize("shape", [(5,), (), (45, 37, 3), (1, 45, 37)])
def test_what_is_no_picture_is_refused(shape: tuple[int, ...], small_models: Any) -> None:
    with pytest.raises(RecognitionError):
        Recogniser(small_models["isca", 4]).recognise(np.zeros(shape, np.float32))


@pytest.mark.parametrize("rule", ["", "Evidence", "plurality"])
def test_an_unknown_rule_is_refused(rule: str, small: Dataset, small_models: Any) -> None:
    recogniser = Recogniser(small_models["isca", 4])
    for attempt in (
        lambda: recogniser.recognise(small.reference, rule),
        lambda: recogniser.leave_one_out(1, rule),
    ):
        with pytest.raises(RecognitionError, match="evidence, majority"):
            attempt()


@pytest.mark.parametrize("descriptor", ["", "Extended", "pixels"])
def test_an_unknown_descriptor_is_refused(descriptor: str, small_models: Any) -> None:
    with pytest.raises(RecognitionError, match="extended, structural"):
        Recogniser(small_models["isca", 4], descriptor)


@pytest.mark.parametrize("k", [0, -1, 1001])
def test_an_impossible_number_of_neighbours_is_refused(k: int, small_models: Any) -> None:
    with pytest.raises(RecognitionError, match=f"1 to 1000, not {k}"):
        Recogniser(small_models["isca", 4], neighbours=k)


def test_a_model_that_remembers_nothing_is_refused(small_models: Any) -> None:
    with pytest.raises(RecognitionError, match="Train it again"):
        Recogniser(replace(small_models["isca", 4], known=None))


@pytest.mark.parametrize("label", [UNDECIDED_LABEL, UNLIKE, "x" * 201])
def test_a_label_that_would_be_mistaken_or_could_not_be_saved_is_refused(label: str) -> None:
    pictures = [mild(), distorted(mild(), "blur", 200.0), distorted(mild(), "contrast", 200.0)]
    with pytest.raises(DatasetError, match="cannot be a label"):
        dataset_of(pictures, ("original", label, "contrast"))


def test_the_grid_is_the_models(small_models: Any, strangers: list[np.ndarray]) -> None:
    found = Recogniser(small_models["isca", 4]).recognise(strangers[0])
    assert found.grid == BlockGrid(45, 37, 8)
    assert found.grid.spread(found.winner).shape == (45, 37)
