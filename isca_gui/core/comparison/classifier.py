"""The scene-free classifier: trained once on many scenes, shipped as plain arrays.

`packaging/comparison_model.py` makes the file from a folder of scenes.
"""

from __future__ import annotations

import functools
import struct
import tokenize
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.comparison.kinds import FAMILIES, KINDS, OTHER_COMPRESSION, family_of
from isca_gui.core.comparison.trees import Forest, ForestError, forest_from
from isca_gui.core.storage import resources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

FILE = "compare/classifier.npz"
NONE = "none"
_LARGEST = 1e4
# What NumPy and its zip reader raise for files that are damaged or something else.
_UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    SyntaxError,
    OverflowError,
    MemoryError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    tokenize.TokenError,
)


@dataclass(frozen=True, eq=False)
class Classifier:
    """Forests over the numbers of `features.describe_change`.

    Parameters
    ----------
    names
        The numbers, in the order in which the trees know them.
    kinds
        The outputs of `kind`: kinds of distortion, and last `none` for what is none of them.
    kind
        One kind for the whole change.
    temperature
        What the scores of `kind` are divided by, so that probabilities are as often right as they
        say.
    mixture
        Whether there are two distortions rather than one.
    families
        For each family, whether there is a distortion of it, alone or in a mixture.
    members
        For each family, which of its kinds it is; in the order of `kinds`.
    order
        Which of two kinds came first.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    kind: Forest
    temperature: float
    mixture: Forest
    families: Forest
    members: dict[str, Forest]
    order: Forest

    def row(self, features: Mapping[str, float]) -> NDArray[np.float32]:
        """Return the numbers as the trees take them, shape (feature,)."""
        missing = set(self.names) - features.keys()
        if missing:
            raise ForestError(f"The classifier asks for '{min(missing)}', which is not measured.")
        return feature_row(features, self.names)

    def probabilities(self, row: NDArray[np.float32]) -> dict[str, float]:
        """Return the probability of each kind, and of `none`."""
        shares = _softmax(self.kind.scores(row)[0] / self.temperature)
        return {kind: float(share) for kind, share in zip(self.kinds, shares, strict=True)}

    def mixture_probability(self, row: NDArray[np.float32]) -> float:
        """Return the probability that there are two distortions."""
        return _sigmoid(float(self.mixture.scores(row)[0, 0]))

    def family_presences(self, row: NDArray[np.float32]) -> dict[str, float]:
        """Return for each family the probability that a distortion of it is there."""
        scores = self.families.scores(row)[0]
        return {
            family: _sigmoid(float(score)) for family, score in zip(FAMILIES, scores, strict=True)
        }

    def member_shares(self, row: NDArray[np.float32], family: str) -> dict[str, float]:
        """Return for each kind of a family that is there the probability that it is this one."""
        shares = _softmax(self.members[family].scores(row)[0])
        return {kind: float(share) for kind, share in zip(members_of(family), shares, strict=True)}

    def first_probability(self, row: NDArray[np.float32], first: str, second: str) -> float:
        """Return the probability that of two kinds `first` was done before `second`."""
        places = sorted((self.kinds.index(first), self.kinds.index(second)))
        asked = np.append(row, np.array(places, dtype=np.float32))
        found = _sigmoid(float(self.order.scores(asked)[0, 0]))
        return found if self.kinds.index(first) == places[0] else 1 - found


def feature_row(features: Mapping[str, float], names: Sequence[str]) -> NDArray[np.float32]:
    """Return the named numbers as trees take them, all finite, shape (feature,)."""
    values = np.array([features[name] for name in names], dtype=np.float64)
    return np.clip(np.nan_to_num(values), -_LARGEST, _LARGEST).astype(np.float32)


def members_of(family: str) -> tuple[str, ...]:
    """Return the kinds of a family of which a mixture can consist."""
    return tuple(kind for kind in KINDS if family_of(kind) == family and kind != OTHER_COMPRESSION)


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.exp(scores - scores.max())
    found: NDArray[np.float64] = shares / shares.sum()
    return found


def _sigmoid(score: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(score, -50, 50))))


@functools.cache
def shipped() -> Classifier:
    """Return the classifier that comes with the program."""
    path = resources.find(FILE)
    if path is None:
        raise ForestError(f"The file '{FILE}' of this program is missing. Reinstall the program.")
    return read(path)


def read(path: Path) -> Classifier:
    """Read a classifier; a ForestError for a file that is not one."""
    try:
        # NumPy does not close a file of its own that turns out to be damaged.
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        names = tuple(str(name) for name in arrays["names"])
        kinds = tuple(str(kind) for kind in arrays["kinds"])
        temperature = float(arrays["temperature"])
        count = len(names)
        found = Classifier(
            names=names,
            kinds=kinds,
            kind=forest_from(arrays, "kind", count),
            temperature=temperature,
            mixture=forest_from(arrays, "mixture", count),
            families=forest_from(arrays, "families", count),
            members={
                family: forest_from(arrays, f"members.{family}", count) for family in FAMILIES
            },
            order=forest_from(arrays, "order", count + 2),
        )
    except (*_UNREADABLE, ForestError) as error:
        raise ForestError(f"'{path}' is not a valid classifier ({error}).") from error
    if not _is_sound(found):
        raise ForestError(f"'{path}' is not a valid classifier (its outputs do not fit).")
    return found


def _is_sound(found: Classifier) -> bool:
    """Whether kinds, outputs and temperature fit together."""
    return (
        found.kinds[-1:] == (NONE,)
        and set(found.kinds[:-1]) <= KINDS.keys()
        and len(set(found.kinds)) == len(found.kinds)
        and found.kind.count == len(found.kinds)
        and found.families.count == len(FAMILIES)
        and all(found.members[family].count == len(members_of(family)) for family in FAMILIES)
        and found.mixture.count == found.order.count == 1
        and 0 < found.temperature < np.inf
    )
