"""Many copies of one reference compared: in order, a few in memory at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from isca_gui.core.alignment import words
from isca_gui.core.alignment.align import AUTO, Aligner
from isca_gui.core.comparison import file_evidence
from isca_gui.core.comparison.compare import Comparison, compare
from isca_gui.core.comparison.pair import ComparisonError
from isca_gui.core.parallel import Workers
from isca_gui.core.pictures import image, samples
from isca_gui.core.pictures.image import ImageError
from isca_gui.core.storage import memory

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from isca_gui.core.comparison.pair import Floats
    from isca_gui.core.recognition.verdict import Verdict

KEYS = (
    "file",
    "label",
    "family",
    "parts",
    "order",
    "unlike",
    "probability",
    "probabilities",
    "explained",
    "parameters",
    "severity",
    "damaged_share",
    "shares",
    "mse",
    "psnr",
    "ssim",
    "sentence",
    "width",
    "height",
    "similarity",
    "geometry",
    "regions",
    "colour",
    "file_says",
    "second_opinion",
    "error",
)
# What a table has a column for; the rest has a structure of its own and stands in the JSON
# document.
_STRUCTURED = ("regions", "colour", "file_says", "second_opinion")
COLUMNS = tuple(key for key in KEYS if key not in _STRUCTURED)
_DIVIDERS = re.compile(r"[;=\\]")


@dataclass(frozen=True, eq=False)
class CopyResult:
    """What came of one copy: a comparison, or the reason why there is none.

    `reference` and `copy` are the pictures in [0, 1] where they were asked for. `second_opinion` is
    what ISCA, trained on the reference, says of the copy.
    """

    name: str
    comparison: Comparison | None = None
    error: str | None = None
    file_says: dict[str, Any] | None = None
    second_opinion: Verdict | None = None
    reference: Floats | None = None
    copy: Floats | None = None


def compare_files(
    reference: str,
    names: Sequence[str],
    *,
    align: str = AUTO,
    train: bool = False,
    keep_pictures: bool = False,
    then: Callable[[CopyResult], object] | None = None,
    threads: int | None = None,
) -> Generator[CopyResult, None, None]:
    """Return the answers for picture files (or sample:NAME), or what is wrong with each.

    Parameters
    ----------
    reference
        The file of the original; what is wrong with it is an ImageError.
    names
        The files of the copies.
    align
        How the copies may lie on the reference, as in `compare`.
    train
        Whether to train ISCA on the reference for a second opinion on copies that were not moved.
    keep_pictures
        Whether the results hold the pictures.
    then
        Called with every comparison on the thread that made it, to draw or write it; an
        `ImageError` it raises is the error of that copy.
    threads
        Copies compared at a time; all cores by default.
    """
    # Read at once and not when the first answer is asked for, so that nothing was written before.
    original, original_space = image.read_with_space(samples.resolve(reference))
    opinion = _second_opinion(reference) if train else None
    aligner = Aligner(original)

    def one(name: str) -> CopyResult:
        try:
            path = samples.resolve(name)
            copy, space = image.read_with_space(path)
            evidence = file_evidence.read(path)
            found = compare(
                original, copy, align=align, aligner=aligner, spaces=(original_space, space)
            )
            is_unmoved = found.geometry is not None and found.geometry.is_same
            result = CopyResult(
                name,
                _noting_depth(found, evidence),
                file_says=evidence,
                second_opinion=opinion(name) if opinion is not None and is_unmoved else None,
                reference=original if keep_pictures or then is not None else None,
                copy=copy if keep_pictures or then is not None else None,
            )
            if then is not None:
                then(result)
        except ComparisonError as error:
            return CopyResult(name, error=f"Cannot compare '{name}': {error}")
        except ImageError as error:
            return CopyResult(name, error=str(error))
        except MemoryError as error:
            return CopyResult(name, error=memory.explanation(error))
        return result

    return _streamed(one, names, threads)


def _noting_depth(found: Comparison, evidence: dict[str, Any] | None) -> Comparison:
    """Return an answer that says so where not all bits of the copy's file were read."""
    bits = (evidence or {}).get("bits", 8)
    if bits <= 8:
        return found
    said = f"{found.sentence} The file has {bits} bits per sample, of which 8 were read."
    return replace(found, sentence=said)


def _streamed(
    one: Callable[[str], CopyResult], names: Sequence[str], threads: int | None
) -> Generator[CopyResult, None, None]:
    with Workers(threads) as workers:
        yield from workers.stream(one, names)


def _second_opinion(reference: str) -> Callable[[str], Verdict]:
    """Train ISCA on the reference's luma; return what recognises a copy."""
    from isca_gui.core.distortion import dataset
    from isca_gui.core.distortion.dataset_spec import DatasetSpec
    from isca_gui.core.model import training
    from isca_gui.core.progress import run
    from isca_gui.core.recognition.recogniser import Recogniser
    from isca_gui.core.settings import TrainingSettings

    grey = image.read(samples.resolve(reference))
    made = run(dataset.generate(grey, DatasetSpec()))
    model = run(training.train(made, TrainingSettings(solver="direct")))
    recogniser = Recogniser(model)
    recogniser.neighbours.prepare()

    def recognise(name: str) -> Verdict:
        copy = image.read(samples.resolve(name))
        if copy.shape != grey.shape:
            raise ComparisonError("only copies of the same size can be compared.")
        return recogniser.recognise(copy).verdict

    return recognise


def entry(result: CopyResult) -> dict[str, Any]:
    """Describe a compared copy for a JSON document."""
    found = result.comparison
    assert found is not None
    fields: dict[str, Any] = {
        key: getattr(found, key) for key in KEYS if hasattr(found, key) and key != "regions"
    }
    fields["geometry"] = words.entry(found.geometry) if found.geometry is not None else None
    fields["file"] = result.name
    fields["error"] = None
    fields["parts"] = list(found.parts)
    fields["file_says"] = result.file_says
    fields["second_opinion"] = _opinion_entry(result)
    fields["colour"] = [
        {"kind": each.kind, "parameters": each.parameters, "sentence": each.sentence}
        for each in found.colour
    ]
    fields["regions"] = [
        {
            "label": answer.judgement.label,
            "unlike": answer.judgement.unlike,
            "share": answer.region.share,
            "where": answer.where,
            "top": answer.region.top,
            "bottom": answer.region.bottom,
            "left": answer.region.left,
            "right": answer.region.right,
        }
        for answer in found.regions
    ]
    return {key: fields[key] for key in KEYS}


def _opinion_entry(result: CopyResult) -> dict[str, Any] | None:
    opinion = result.second_opinion
    if opinion is None or result.comparison is None:
        return None
    return {
        "label": opinion.label,
        "share": opinion.share,
        "unlike": opinion.unlike,
        "agrees": opinion.label == result.comparison.label and not opinion.unlike,
        "sentence": opinion.sentence,
    }


def row(fields: dict[str, Any]) -> list[str]:
    """Return the cells of a table's row for an entry, or for a `file` and its `error`."""
    geometry = fields.get("geometry")
    cells = {**fields, "geometry": _geometry_cell(geometry) if geometry is not None else None}
    return [_cell(cells.get(column)) for column in COLUMNS]


def _geometry_cell(geometry: dict[str, Any]) -> str:
    """Return a geometry in one cell: `relation=scaled;scale=0.8,0.8;…` without what is unknown."""
    cells = []
    for name, value in geometry.items():
        if value is None:
            continue
        several = value.values() if isinstance(value, dict) else value
        if isinstance(value, dict | list):
            cells.append(f"{name}={','.join(_cell(each) for each in several)}")
        else:
            cells.append(f"{name}={_cell(value)}")
    return ";".join(cells)


def _cell(value: Any) -> str:
    """Return a value in one cell: `a+b` for parts, `a=0.5;b=0.25` for shares and parameters."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return ";".join(f"{_escaped(name)}={_cell_of(share)}" for name, share in value.items())
    if isinstance(value, list):
        return "+".join(value)
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _cell_of(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{_escaped(name)}:{number:.6g}" for name, number in value.items())
    return f"{value:.6g}"


def _escaped(name: str) -> str:
    return _DIVIDERS.sub(r"\\\g<0>", name)
