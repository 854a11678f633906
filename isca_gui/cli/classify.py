"""`isca classify`: what was done to pictures, as text, JSON or CSV, with maps of the votes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from isca_gui.cli import arguments, printing, targets
from isca_gui.core.recognition import answer_table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Container

    from isca_gui.core.recognition.batch import FileResult
    from isca_gui.core.recognition.recogniser import Recogniser
    from isca_gui.core.recognition.verdict import Verdict

# Sums of shares differ from the exact value by less than this.
_ROUNDING = 1e-9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    arguments.add_model(parser)
    parser.add_argument(
        "images",
        metavar="IMAGE",
        type=arguments.file_name,
        nargs="+",
        help="a picture file, a folder of pictures (without its subfolders), or sample:NAME",
    )
    arguments.add_range(parser)
    arguments.add_json(parser)
    parser.add_argument(
        "--csv", metavar="FILE", type=arguments.file_name, help="write a table to this .csv file"
    )
    parser.add_argument(
        "--map",
        metavar="FILE",
        type=arguments.file_name,
        help="draw the votes over the picture and save that as this .png file; for several "
        f"pictures, FILE is a folder or contains {targets.NAME}, which is replaced by each "
        "picture's name",
    )
    arguments.add_recognition(parser)
    parser.add_argument(
        "--neighbours",
        metavar="K",
        type=arguments.positive_integer,
        default=1,
        help="number of nearest training pictures that vote in each block (default: %(default)s)",
    )
    parser.add_argument(
        "--fail-on",
        metavar="A,B,…",
        help="exit with code 3 if one of these is found in a picture, such as blur,jpeg; "
        "unlike and undecided can be named too",
    )
    parser.add_argument(
        "--min-share",
        metavar="X",
        type=arguments.number,
        default=0.5,
        help="share of the damaged blocks, from 0 to 1, that --fail-on requires "
        "(default: %(default)s)",
    )
    arguments.add_fit(parser)
    arguments.add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Recognise all pictures; if one cannot be read, report it and continue with the rest."""
    from isca_gui.cli import FAILED, FOUND
    from isca_gui.core.model import model_file
    from isca_gui.core.recognition import batch
    from isca_gui.core.recognition.recogniser import Recogniser

    _check_numbers(args)
    names, empty_folders = _pictures(args.images)
    if args.csv:
        targets.check_target(args.csv, (".csv",), [args.model, *names])
    recogniser = Recogniser(model_file.load_model(args.model), args.descriptor, args.neighbours)
    labels = _fail_on_labels(args, recogniser)
    maps = {}
    if args.map:
        inputs = [args.model, *names]
        maps = targets.files_for("--map", args.map, "-map.png", names, inputs, args.images)
    results = batch.recognise_files(
        recogniser,
        names,
        args.rule,
        how=args.how,
        value_range=args.value_range,
        then=_map_drawer(maps) if maps else None,
        threads=args.threads,
    )
    has_failed = bool(empty_folders)
    has_found = False
    with contextlib.closing(results), _writer(args) as write:
        for name, error in empty_folders:
            printing.report_failure(write, name, error)
        for result in results:
            if result.recognition is None:
                has_failed = True
                printing.report_failure(write, result.name, result.error or "")
                continue
            write(entry(result))
            for label, share in _hits(result.recognition.verdict, labels, args.min_share):
                has_found = True
                printing.print_message(f"isca: {result.name}: found {label}{share}")
    if has_failed:
        return FAILED
    return FOUND if has_found else 0


def entry(result: FileResult) -> dict[str, Any]:
    """Return the description of a recognised picture for a JSON document."""
    assert result.recognition is not None
    return answer_table.entry(result.name, result.recognition.verdict, result.width, result.height)


# --- arguments -----------------------------------------------------------------------------------


def _check_numbers(args: argparse.Namespace) -> None:
    from isca_gui.core.recognition.recogniser import MOST_NEIGHBOURS
    from isca_gui.core.settings import SettingsError

    if not 0 <= args.min_share <= 1:
        raise SettingsError(f"--min-share must be between 0 and 1, not {args.min_share:g}")
    if args.neighbours > MOST_NEIGHBOURS:
        raise SettingsError(
            f"--neighbours must be at most {MOST_NEIGHBOURS}, not {args.neighbours}"
        )


def _pictures(words: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return all pictures that the words name, and the folders without pictures with a message."""
    from isca_gui.core.pictures.image import ImageError
    from isca_gui.core.recognition import batch

    names: list[str] = []
    empty_folders = []
    for word in words:
        try:
            names += batch.pictures_in(word)
        except ImageError as error:
            empty_folders.append((word, str(error)))
    return names, empty_folders


def _fail_on_labels(args: argparse.Namespace, recogniser: Recogniser) -> set[str]:
    """Return the labels of --fail-on: labels of the model, or parts of its mixtures."""
    from isca_gui.core.distortion.distortions import ORIGINAL, UNDECIDED_LABEL, UNLIKE, parts_of
    from isca_gui.core.settings import SettingsError

    if args.fail_on is None:
        return set()
    labels = [label for label in recogniser.neighbours.classes if label != ORIGINAL]
    parts = (part for label in labels for part in parts_of(label))
    known = dict.fromkeys([*labels, *parts, UNLIKE, UNDECIDED_LABEL])
    chosen = split_labels(args.fail_on, known)
    unknown = sorted(chosen - set(known))
    if unknown:
        choices = ", ".join(f"'{label}'" if "," in label else label for label in known)
        problem = f"this model does not know '{unknown[0]}'"
        if unknown[0] == ORIGINAL:
            problem = f"'{ORIGINAL}' is not a distortion"
        raise SettingsError(f"--fail-on: {problem}; choose from {choices}")
    return chosen


def split_labels(text: str, known: Container[str]) -> set[str]:
    """Split at commas, except at those inside a known label; the longest known label wins."""
    words = text.split(",")
    found = set()
    while words:
        ends = range(len(words), 0, -1)
        end = next((end for end in ends if ",".join(words[:end]) in known), 1)
        found.add(",".join(words[:end]))
        words = words[end:]
    return found


def _hits(verdict: Verdict, labels: set[str], least: float) -> list[tuple[str, str]]:
    """Return the labels that a verdict names, with their share of the damaged blocks in words."""
    from isca_gui.core.distortion.distortions import ORIGINAL, UNDECIDED_LABEL, UNLIKE, parts_of

    found = []
    if verdict.unlike and UNLIKE in labels:
        found.append((UNLIKE, ""))
    if verdict.label == UNDECIDED_LABEL:
        if UNDECIDED_LABEL in labels:
            found.append((UNDECIDED_LABEL, ""))
        return found
    damaged = sum(
        share for name, share in verdict.shares.items() if name not in (ORIGINAL, UNDECIDED_LABEL)
    )
    for name in dict.fromkeys((verdict.label, *verdict.parts)):
        is_mixture = len(parts_of(name)) > 1
        votes = verdict.shares if is_mixture else verdict.components
        share = votes.get(name, 0.0) / damaged if damaged > 0 else 0.0
        if name in labels and share >= least - _ROUNDING:
            found.append((name, f" in {share:.0%} of the damaged blocks"))
    return found


# --- maps ----------------------------------------------------------------------------------------


def _map_drawer(maps: dict[str, str]) -> Callable[[FileResult], None]:
    from isca_gui.core.recognition import vote_map_image

    def draw(result: FileResult) -> None:
        assert result.recognition is not None
        assert result.picture is not None
        drawing = vote_map_image.draw(result.recognition, result.picture)
        vote_map_image.save(maps[result.name], drawing)

    return draw


# --- output --------------------------------------------------------------------------------------


def _writer(
    args: argparse.Namespace,
) -> contextlib.AbstractContextManager[Callable[[dict[str, Any]], None]]:
    head = {
        "model": args.model,
        "descriptor": args.descriptor,
        "rule": args.rule,
        "neighbours": args.neighbours,
    }
    return printing.entry_writer(
        head=head if args.json else None,
        line=lambda fields: f"{fields['file']}: {fields['sentence']}",
        csv_file=args.csv,
        columns=answer_table.COLUMNS,
        row=answer_table.row,
    )
