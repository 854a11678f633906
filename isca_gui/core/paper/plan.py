"""The experiments of the paper's Section 6: data, methods, test pictures and printed numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.distortion.distortions import DISTORTIONS, ORIGINAL, UNDECIDED_LABEL
from isca_gui.core.settings import TrainingSettings

if TYPE_CHECKING:
    from isca_gui.core.distortion.distortions import Picture

# The training pictures have seed 0.
TEST_MSE = 500.0
TEST_SEED = 1
# In the order of the paper's Figure 4.
TEST_LABELS = (
    "contrast",
    "gaussian-noise",
    "luminance",
    "blur",
    "impulse",
    "jpeg",
    "blur+gaussian-noise",
    "blur+luminance",
    "impulse+luminance",
    "jpeg+gaussian-noise",
    "jpeg+luminance",
    "jpeg+contrast",
)
# Descriptor and rule.
PUBLISHED = ("structural", "majority")
EXTENDED = ("extended", "evidence")
# A quick run halves pictures whose sides have at least this many pixels.
_SMALLEST_HALVED = 64


@dataclass(frozen=True)
class Method:
    """One of the compared methods.

    The training time is estimated for 4096 blocks and 121 pictures on two cores.
    """

    key: str
    title: str
    settings: TrainingSettings
    seconds: float
    before: float = 0.1  # share of the time before the first epoch
    after: float = 0.05  # share of the time after the last epoch


def _kernel(method: str, kernel: str) -> TrainingSettings:
    return TrainingSettings(method=method, kernel=kernel)


METHODS = (
    Method("isca", "ISCA", TrainingSettings(), 25.0),
    Method("kernel-isca-linear", "kernel ISCA (linear)", _kernel("kernel-isca", "linear"), 44.0),
    Method("kernel-isca-rbf", "kernel ISCA (RBF)", _kernel("kernel-isca", "rbf"), 44.0),
    Method("kernel-isca-sigmoid", "kernel ISCA (sigmoid)", _kernel("kernel-isca", "sigmoid"), 44.0),
    Method("pca", "PCA", TrainingSettings(method="pca"), 3.0, 0.3, 0.3),
    Method("kernel-pca-rbf", "kernel PCA (RBF)", _kernel("kernel-pca", "rbf"), 6.0, 0.8, 0.2),
    Method(
        "kernel-pca-sigmoid",
        "kernel PCA (sigmoid)",
        _kernel("kernel-pca", "sigmoid"),
        6.0,
        0.8,
        0.2,
    ),
    Method("random", "random subspace", TrainingSettings(method="random"), 1.0, 0.4, 0.4),
)
TITLES = {method.key: method.title for method in METHODS}
_QUICK_LEVELS = tuple(150.0 * step for step in range(1, 7))
_QUICK_EPOCHS = {"isca": 40, "kernel-isca": 20}


@dataclass(frozen=True)
class Plan:
    """Everything that determines the results for a given reference."""

    quick: bool
    dataset: DatasetSpec
    methods: tuple[Method, ...]


def plan(*, quick: bool) -> Plan:
    """Return the published settings, or a shortened form of them."""
    if not quick:
        return Plan(quick, DatasetSpec(), METHODS)
    methods = []
    for method in METHODS:
        epochs = _QUICK_EPOCHS.get(method.settings.method)
        share = (epochs or 1) / (method.settings.resolved().epochs or 1)
        shorter = replace(method.settings, epochs=epochs)
        methods.append(replace(method, settings=shorter, seconds=method.seconds * share))
    return Plan(quick, DatasetSpec(levels=_QUICK_LEVELS), tuple(methods))


def shrunk(reference: Picture, *, quick: bool) -> Picture:
    """Return every second pixel for a quick run, unless the picture is already small."""
    if quick and min(reference.shape) >= _SMALLEST_HALVED:
        return reference[::2, ::2]
    return reference


_LETTERS = {
    ORIGINAL: "O",
    UNDECIDED_LABEL: "?",
    **{name: row.letter for name, row in DISTORTIONS.items()},
}
_LABELS = {letter: label for label, letter in _LETTERS.items()}


def letter(label: str) -> str:
    """Return the paper's letter of a label, such as B for blur; a mixture has two, as in B + G."""
    return " + ".join(_LETTERS[part] for part in label.split("+"))


# The paper's Table 1 as printed: for each method the largest votes of the twelve test pictures,
# then the second largest, each as a percentage of the blocks and a letter. In one place two letters
# share a number.
_PRINTED = {
    "isca": (
        "69.3 O,49.1 G,69.7 O,99.8 B,30.3 G,96.4 J,55.2 B,98.7 B,48.9 G,39.4 J,96.4 J,97.9 J",
        "30.2 C,27.2 I,29.6 C,0.2 J,23.8 I,3.6 B,19.9 G,1.3 J,33.3 I,32.9 B,3.6 B,2.1 B",
    ),
    "kernel-isca-linear": (
        "88.1 C,59.2 G,99.8 L,95.9 B,37.4 G,80.4 J,40.8 G,93.4 B,45.6 I,38.7 G,70.2 J,74.1 J",
        "11.2 I,25.2 I,0.1 O,3.4 J,32.3 I,17.6 B,33.4 B,5.8 J,39.4 G,21.7 J,27.0 B,25.0 B",
    ),
    "kernel-isca-rbf": (
        "72.0 C,79.1 G,99.2 L,70.6 B,39.6 I,74.3 J,44.8 G,88.1 L,48.2 L,33.1 G,82.8 L,43.1 J",
        "10.9 I,5.0 B,0.5 G,13.1 C,36.4 C,13.5 C,28.5 B,6.6 B,37.7 G,21.6 L,8.9 G,30.0 B",
    ),
    "kernel-isca-sigmoid": (
        "80.3 C,76.3 G,99.6 L,76.2 B,38.5 I,79.3 J,47.9 G,81.7 L,52.1 L,37.9 G,80.7 L,43.9 J",
        "7.6 I,6.8 I,0.2 G/B,10.6 J,36.5 C,10.6 C,24.6 B,9.8 B,26.6 G,19.8 L,11.3 G,31.0 B",
    ),
}


@dataclass(frozen=True)
class Vote:
    """A share of a picture's blocks and their label; there are two where the paper prints two."""

    percent: float
    labels: tuple[str, ...]

    @property
    def letters(self) -> str:
        """The paper's letters of the labels."""
        return "/".join(map(letter, self.labels))


def _votes(text: str) -> list[Vote]:
    votes = []
    for cell in text.split(","):
        percent, letters = cell.split()
        labels = tuple(_LABELS[letter] for letter in letters.split("/"))
        votes.append(Vote(float(percent), labels))
    return votes


# The top two votes of each test picture, by method.
PRINTED: dict[str, tuple[tuple[Vote, Vote], ...]] = {
    key: tuple(zip(*map(_votes, rows), strict=True)) for key, rows in _PRINTED.items()
}
