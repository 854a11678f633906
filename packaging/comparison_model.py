"""Make the classifier of `isca compare` from a folder of scenes.

    python packaging/comparison_model.py SCENES

Every scene is read several times. Each time it becomes references of several sizes and histories,
these are damaged at random strengths, and the numbers of each change are collected. LightGBM then
trains boosted trees, which are written as plain arrays. Two thirds of the scenes are fitted; the
others are left for `isca bench truth SCENES`. The same scenes, seed and versions of the libraries
give the same bytes. Making the examples takes far longer than the training: `--examples FILE` keeps
them.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import importlib.util
import io
import json
import os
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar

from isca_gui.bench import damage, scenes
from isca_gui.core.comparison.classifier import NONE, feature_row, members_of
from isca_gui.core.comparison.features import describe_change
from isca_gui.core.comparison.kinds import FAMILIES, KINDS, family_of
from isca_gui.core.comparison.pair import Pair
from isca_gui.core.pictures.image import ImageError
from isca_gui.core.storage import files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from isca_gui.bench.damage import Damage, Picture
    from isca_gui.bench.scenes import Scene

    Rows = NDArray[np.float32]

OUTPUT = Path(__file__).resolve().parent.parent / "resources" / "compare" / "classifier.npz"
MIXTURE = "mixture"
LABELS = (*KINDS, NONE)
# The kinds of which a mixture can consist, by family.
PARTS = {family: members_of(family) for family in FAMILIES}

# What is made of a scene in one round: copies of each kind, the share of the unseen damages, and
# how often a mixture of two is tried.
_COPIES = 2
_UNSEEN_SHARE = 0.6
_PAIRS = 60
# Mixtures are made of parts of this side at most: there are many of them, and large ones tell no
# more about which two kinds there are.
_PAIR_SIDE = 384
_SAME_FAMILY_SHARE = 0.4
# MSEs of single distortions, and of each of the two of a mixture.
_SINGLE_MSE = (0.6, 5000.0)
_PART_MSE = (4.0, 800.0)

_TREES = 150
_FOLDS = 3
# What is none of the kinds is varied, and must not outvote them.
_NONE_WEIGHT = 0.6
_PARAMETERS = {
    "learning_rate": 0.1,
    "num_leaves": 12,
    "min_data_in_leaf": 8,
    "feature_fraction": 0.25,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 3.0,
    "deterministic": True,
    "force_col_wise": True,
    "verbose": -1,
}


@dataclass(frozen=True, eq=False)
class Example:
    """The numbers of a change and what was done: a label, and for a mixture both parts in order."""

    features: dict[str, float]
    label: str
    parts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """The examples of all scenes.

    Parameters
    ----------
    names
        The numbers of a change.
    rows
        Their values, shape (example, feature).
    labels
        A kind, `none` or `mixture` for each example.
    parts
        The kinds of each example, in the order in which they were done.
    scene
        The index of each example's scene, shape (example,).
    """

    names: tuple[str, ...]
    rows: Rows
    labels: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    scene: NDArray[np.intp]

    @property
    def is_mixture(self) -> NDArray[np.bool_]:
        """Which examples are mixtures, shape (example,)."""
        return np.array([label == MIXTURE for label in self.labels])


# --- examples -----------------------------------------------------------------------------------


def examples_of(scene: Scene, rounds: int, seed: int) -> list[Example]:
    """Return the examples of one scene, the same in any process."""
    picture = scene.read()
    found: list[Example] = []
    for number in range(rounds):
        random = scene.random(seed, number)
        found += _singles(picture, random)
        found += _unseen(picture, random)
        found += _mixtures(picture, random)
    return found


def _singles(picture: Picture, random: np.random.Generator) -> Iterator[Example]:
    for kind in damage.group(damage.KNOWN):
        for _ in range(_COPIES):
            yield from _single(picture, kind, random)
    for encoder in damage.group(damage.ENCODERS):
        yield from _single(picture, encoder, random)


def _unseen(picture: Picture, random: np.random.Generator) -> Iterator[Example]:
    for kind in damage.group(damage.UNSEEN):
        if random.random() < _UNSEEN_SHARE:
            yield from _single(picture, kind, random)


def _single(picture: Picture, kind: Damage, random: np.random.Generator) -> Iterator[Example]:
    reference = scenes.random_reference(picture, random)
    copy = scenes.damaged_within(reference, kind, random, *_SINGLE_MSE)
    if copy is not None:
        yield Example(_features(reference, copy.picture), kind.label, (kind.label,))


def _mixtures(picture: Picture, random: np.random.Generator) -> Iterator[Example]:
    """Yield mixtures of two kinds in either order; two of one family are rarer."""
    kinds = damage.group(damage.KNOWN)
    for _ in range(_PAIRS):
        first, second = (kinds[place] for place in random.choice(len(kinds), 2, replace=False))
        same_family = family_of(first.name) == family_of(second.name)
        if same_family and random.random() > _SAME_FAMILY_SHARE:
            continue
        reference = scenes.random_reference(picture, random)[:_PAIR_SIDE, :_PAIR_SIDE]
        once = scenes.damaged_within(reference, first, random, *_PART_MSE)
        if once is None:
            continue
        twice = scenes.damaged_within(once.picture, second, random, *_PART_MSE)
        if twice is not None:
            parts = (first.name, second.name)
            yield Example(_features(reference, twice.picture), MIXTURE, parts)


def _features(reference: Picture, copy: Picture) -> dict[str, float]:
    return describe_change(Pair(reference.astype(np.float32), copy.astype(np.float32)))


def training_set(
    fitted: Sequence[Scene],
    rounds: int,
    seed: int,
    processes: int | None = None,
    report: Callable[[str], object] = print,
) -> TrainingSet:
    """Make the examples of all scenes, several scenes at a time."""
    work = functools.partial(examples_of, rounds=rounds, seed=seed)
    found: list[Example] = []
    indices: list[int] = []
    for index, examples in enumerate(scenes.in_processes(work, fitted, processes)):
        found += examples
        indices += [index] * len(examples)
        report(f"scene {index + 1} of {len(fitted)}: {len(found)} examples")
    names = tuple(found[0].features)
    return TrainingSet(
        names=names,
        rows=np.stack([feature_row(example.features, names) for example in found]),
        labels=tuple(example.label for example in found),
        parts=tuple(example.parts for example in found),
        scene=np.array(indices),
    )


def write_examples(path: Path, made: TrainingSet) -> None:
    """Keep the examples, so that a training can be repeated without making them again."""
    parts = ["+".join(each) for each in made.parts]
    arrays = {
        "names": np.array(made.names),
        "rows": made.rows,
        "labels": np.array(made.labels),
        "parts": np.array(parts),
        "scene": made.scene,
    }
    write(path, arrays)


def read_examples(path: Path) -> TrainingSet:
    """Read examples that were kept."""
    with np.load(path, allow_pickle=False) as file:
        return TrainingSet(
            names=tuple(str(name) for name in file["names"]),
            rows=file["rows"],
            labels=tuple(str(label) for label in file["labels"]),
            parts=tuple(tuple(str(each).split("+")) for each in file["parts"]),
            scene=file["scene"],
        )


# --- training -----------------------------------------------------------------------------------


def train(made: TrainingSet, trees: int, seed: int, threads: int | None) -> dict[str, NDArray[Any]]:
    """Train all forests and return the arrays of the file.

    Parameters
    ----------
    made
        The examples.
    trees
        Trees for each kind; the other forests have a multiple of it.
    seed
        Of LightGBM.
    threads
        Threads of LightGBM, which change nothing in the result.
    """
    boost = functools.partial(_boost, seed=seed, threads=threads or os.cpu_count() or 1)
    single = ~made.is_mixture
    temperature = _temperature(made, trees, boost)
    forest = boost(made.rows[single], _kinds(made), trees, weights=_weights(made))
    mixture = boost(made.rows, made.is_mixture, 4 * trees // 3)
    families = [boost(made.rows, _has_family(made, family), trees) for family in FAMILIES]
    members = {
        f"members.{family}": boost(
            *_member_examples(made, family), 2 * trees // 3, outputs=len(PARTS[family])
        )
        for family in FAMILIES
    }
    order = boost(*_order_examples(made), trees)
    return {
        "names": np.array(made.names),
        "kinds": np.array(LABELS),
        "temperature": np.array(temperature),
        **forest_arrays("kind", [forest], len(LABELS)),
        **forest_arrays("mixture", [mixture], 1),
        **forest_arrays("families", families, len(FAMILIES)),
        **{
            name: array
            for family, (title, forest_of) in zip(FAMILIES, members.items(), strict=True)
            for name, array in forest_arrays(title, [forest_of], len(PARTS[family])).items()
        },
        **forest_arrays("order", [order], 1),
    }


def _boost(
    rows: Rows,
    targets: NDArray[Any],
    trees: int,
    *,
    seed: int,
    threads: int,
    outputs: int = len(LABELS),
    weights: NDArray[Any] | None = None,
) -> Any:
    """Train one booster: of several outputs for whole numbers, of yes or no for booleans."""
    import lightgbm

    parameters = {**_PARAMETERS, "seed": seed, "num_threads": threads, "objective": "binary"}
    if targets.dtype != np.bool_:
        kinds = {"objective": "multiclass", "num_class": outputs, "learning_rate": 0.08}
        parameters.update(kinds)
    data = lightgbm.Dataset(rows, targets.astype(np.int32), weight=weights)
    return lightgbm.train(parameters, data, trees)


def _kinds(made: TrainingSet) -> NDArray[np.intp]:
    """Return the index of the label of each single distortion."""
    return np.array([LABELS.index(label) for label in made.labels if label != MIXTURE])


def _weights(made: TrainingSet) -> NDArray[np.float64]:
    return np.where(_kinds(made) == LABELS.index(NONE), _NONE_WEIGHT, 1.0)


def _has_family(made: TrainingSet, family: str) -> NDArray[np.bool_]:
    return np.array([any(kind in PARTS[family] for kind in parts) for parts in made.parts])


def _member_examples(made: TrainingSet, family: str) -> tuple[Rows, NDArray[np.intp]]:
    """Return all examples with one kind of a family, alone or in a mixture, and which it is."""
    members = PARTS[family]
    places = []
    targets = []
    for place, parts in enumerate(made.parts):
        inside = [kind for kind in parts if kind in members]
        if len(inside) == 1:
            places.append(place)
            targets.append(members.index(inside[0]))
    return made.rows[places], np.array(targets)


def _order_examples(made: TrainingSet) -> tuple[Rows, NDArray[np.bool_]]:
    """Return mixtures with the two places of their kinds, and whether the lower place was first."""
    chosen = made.is_mixture
    places = np.array(
        [[LABELS.index(part) for part in parts] for parts in made.parts if len(parts) == 2]
    )
    asked = np.sort(places, axis=1).astype(np.float32)
    return np.hstack([made.rows[chosen], asked]), places[:, 0] < places[:, 1]


def _temperature(made: TrainingSet, trees: int, boost: Callable[..., Any]) -> float:
    """Return the temperature that gives scenes left out of a training their best likelihood."""
    rows = made.rows[~made.is_mixture]
    fold = made.scene[~made.is_mixture] % _FOLDS
    kinds = _kinds(made)
    weights = _weights(made)
    scores = np.zeros((len(rows), len(LABELS)))
    for left_out in np.unique(fold):
        inside = fold != left_out
        if not inside.any():
            raise ImageError("At least two scenes to fit are needed; give a larger folder.")
        booster = boost(rows[inside], kinds[inside], trees, weights=weights[inside])
        scores[~inside] = booster.predict(rows[~inside], raw_score=True)

    def loss(temperature: float) -> float:
        logits = scores / temperature
        logits -= logits.max(axis=1, keepdims=True)
        chosen = logits[np.arange(len(kinds)), kinds]
        return float((np.log(np.exp(logits).sum(axis=1)) - chosen).mean())

    return float(minimize_scalar(loss, bounds=(0.3, 4), method="bounded").x)


# --- the file -----------------------------------------------------------------------------------


def forest_arrays(name: str, boosters: Sequence[Any], outputs: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of `core.comparison.trees.Forest` for one booster, or one per output."""
    nodes = _Nodes()
    roots: list[int] = []
    tree_outputs: list[int] = []
    for place, booster in enumerate(boosters):
        for index, tree in enumerate(booster.dump_model()["tree_info"]):
            roots.append(nodes.add(tree["tree_structure"]))
            # A booster of several kinds has their trees in turn.
            tree_outputs.append(place if len(boosters) > 1 else index % outputs)
    arrays: dict[str, NDArray[Any]] = {
        "roots": np.array(roots, np.int32),
        "outputs": np.array(tree_outputs, np.int16),
        "feature": np.array(nodes.feature, np.int16),
        "threshold": _rounded_down(np.array(nodes.threshold)),
        "left": np.array(nodes.left, np.int32),
        "right": np.array(nodes.right, np.int32),
        "value": np.array(nodes.value, np.float32),
        "count": np.array(outputs),
    }
    return {f"{name}.{key}": array for key, array in arrays.items()}


class _Nodes:
    """The nodes of many trees, one behind the other."""

    def __init__(self) -> None:
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.value: list[float] = []

    def add(self, node: dict[str, Any]) -> int:
        """Append a node of LightGBM and what is below it; return its place."""
        place = len(self.feature)
        self.feature.append(node.get("split_feature", -1))
        self.threshold.append(node.get("threshold", 0.0))
        self.value.append(node.get("leaf_value", 0.0))
        self.left.append(0)
        self.right.append(0)
        if "split_feature" in node:
            if node["decision_type"] != "<=":
                raise ValueError(f"a split of the sort '{node['decision_type']}' is not expected")
            self.left[place] = self.add(node["left_child"])
            self.right[place] = self.add(node["right_child"])
        return place


def _rounded_down(thresholds: NDArray[np.float64]) -> NDArray[np.float32]:
    """Round to float32 towards −∞, so that x ≤ threshold is the same for every float32 x."""
    rounded = thresholds.astype(np.float32)
    below = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded > thresholds, below, rounded)


def write(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write arrays as an .npz file, atomically and without the time of day."""
    with files.replacing(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asanyarray(array), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, content.getvalue(), zipfile.ZIP_DEFLATED, 9)


def _record(args: argparse.Namespace, fitted: Sequence[Scene]) -> NDArray[Any]:
    """Return what is needed to make the file again, as JSON."""
    libraries = ("lightgbm", "numpy", "scipy", "pillow", "pillow-heif", "pillow-jxl-plugin", "av")
    versions = {name: _version(name) for name in libraries}
    made = {
        "scenes": [scene.name for scene in fitted],
        "rounds": args.rounds,
        "trees": args.trees,
        "seed": args.seed,
        "versions": versions,
        "missing": [each.name for each in damage.missing()],
    }
    return np.array(json.dumps(made))


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


# --- the command --------------------------------------------------------------------------------


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Make the classifier of 'isca compare' from a folder of pictures without "
        "damage. Every third picture is left for 'isca bench truth'."
    )
    parser.add_argument("scenes", metavar="SCENES", type=Path, help="a folder of pictures")
    parser.add_argument(
        "--rounds",
        metavar="N",
        type=_positive,
        default=4,
        help="how often each scene is damaged in all ways (default: 4)",
    )
    parser.add_argument(
        "--trees",
        metavar="N",
        type=_positive,
        default=_TREES,
        help=f"boosted trees for each kind (default: {_TREES})",
    )
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="default: 1")
    parser.add_argument(
        "--processes", metavar="N", type=_positive, help="default: one for each core"
    )
    parser.add_argument(
        "--examples",
        metavar="FILE",
        type=Path,
        help="keep the examples in this .npz file, or take them from it if it is there",
    )
    parser.add_argument("--output", metavar="FILE", type=Path, default=OUTPUT)
    return parser


def _examples(args: argparse.Namespace, fitted: Sequence[Scene]) -> TrainingSet:
    """Return the examples that were kept, or make them and keep them where that is asked for."""
    if args.examples is not None and args.examples.exists():
        return read_examples(args.examples)
    report = functools.partial(print, flush=True)
    made = training_set(fitted, args.rounds, args.seed, args.processes, report)
    if args.examples is not None:
        write_examples(args.examples, made)
    return made


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    args = _parser().parse_args(words)
    if importlib.util.find_spec("lightgbm") is None:
        print("LightGBM is not installed: pip install 'isca-gui[dev]'", file=sys.stderr)
        return 1
    for each in damage.missing():
        print(f"{each.name} is not trained: '{each.needs}' is not installed", file=sys.stderr)
    try:
        fitted = scenes.fitted(scenes.find_scenes(args.scenes))
        made = _examples(args, fitted)
        print(f"training on {len(made.rows)} changes, {len(made.names)} numbers each", flush=True)
        arrays = train(made, args.trees, args.seed, args.processes)
        arrays["made_from"] = _record(args, fitted)
        write(args.output, arrays)
    except (ImageError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    size = args.output.stat().st_size / 1e6
    print(f"{args.output}: {size:.2f} MB, temperature {arrays['temperature']:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
