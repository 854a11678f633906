"""`isca classify`: what was done to pictures, one line, JSON entry or CSV row each, and maps of the votes."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from isca_gui.cli import common
from isca_gui.core.recognition import answer_table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Container, Iterator

    from isca_gui.core.recognition.batch import FileResult
    from isca_gui.core.recognition.recogniser import Recogniser
    from isca_gui.core.recognition.verdict import Verdict

NAME = "{name}"
_ROUNDING = 1e-9  # of sums of shares


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    common.add_model(parser)
    parser.add_argument(
        "images", metavar="IMAGE", type=common.name, nargs="+",
        help="a picture file, a folder of pictures (not those in its folders), or sample:NAME",
    )  # fmt: skip
    common.add_range(parser)
    common.add_json(parser)
    parser.add_argument(
        "--csv", metavar="FILE", type=common.name, help="write a table to this .csv file"
    )
    parser.add_argument(
        "--map", metavar="FILE", type=common.name,
        help="draw the votes over the picture into this .png file; of several pictures FILE is a folder, "
        f"or holds {NAME}, which stands for each picture's name",
    )  # fmt: skip
    common.add_recognition(parser)
    parser.add_argument(
        "--neighbours", metavar="K", type=common.positive, default=1,
        help="nearest training pictures that decide about a block (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--fail-on", metavar="A,B,…",
        help="end with exit code 3 if a picture is found to be one of these, such as blur,jpeg; "
        "also unlike and undecided",
    )  # fmt: skip
    parser.add_argument(
        "--min-share", metavar="X", type=common.number, default=0.5,
        help="share of its damaged blocks, 0 to 1, that --fail-on asks for (default: %(default)s)",
    )  # fmt: skip
    common.add_fit(parser)
    common.add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Recognise all pictures; one that cannot be is reported and the rest go on."""
    from isca_gui.cli import FAILED, FOUND
    from isca_gui.core.model import model_file
    from isca_gui.core.recognition import batch
    from isca_gui.core.recognition.recogniser import Recogniser

    _check_numbers(args)
    names, faults = _names(args.images)
    if args.csv:
        common.check_written(args.csv, (".csv",), [args.model, *names])
    recogniser = Recogniser(model_file.load_model(args.model), args.descriptor, args.neighbours)
    wanted = _wanted(args, recogniser)
    maps = _maps(args, names) if args.map else {}
    found_in = batch.recognise_files(
        recogniser, names, args.rule, how=args.how, value_range=args.value_range,
        then=_drawer(maps) if maps else None, threads=args.threads,
    )  # fmt: skip
    failed = found = False
    with contextlib.closing(found_in), _writer(args) as write:
        for name, error in faults:
            failed = _fail(write, name, error)
        for answer in found_in:
            if answer.recognition is None:
                failed = _fail(write, answer.name, answer.error or "")
                continue
            write(entry(answer))
            for label, share in _hits(answer.recognition.verdict, wanted, args.min_share):
                found = True
                common.say(f"isca: {answer.name}: found {label}{share}")
    return FAILED if failed else FOUND if found else 0


def _fail(write: Callable[[dict[str, Any]], None], name: str, error: str) -> bool:
    common.say(f"isca: {error}" if f"'{name}'" in error else f"isca: {name}: {error}")
    write({"file": name, "error": error})
    return True


def entry(answer: FileResult) -> dict[str, Any]:
    """Describe a recognised picture for a JSON document."""
    assert answer.recognition is not None
    return answer_table.entry(answer.name, answer.recognition.verdict, answer.width, answer.height)


# --- what is asked for --------------------------------------------------------------------------------------


def _check_numbers(args: argparse.Namespace) -> None:
    from isca_gui.core.recognition.recogniser import MOST_NEIGHBOURS
    from isca_gui.core.settings import SettingsError

    if not 0 <= args.min_share <= 1:
        raise SettingsError(f"--min-share lies between 0 and 1, not at {args.min_share:g}")
    if args.neighbours > MOST_NEIGHBOURS:
        raise SettingsError(f"--neighbours is at most {MOST_NEIGHBOURS}, not {args.neighbours}")


def _names(words: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Give the pictures behind all words, and what is wrong with folders that have none."""
    from isca_gui.core.pictures.image import ImageError
    from isca_gui.core.recognition import batch

    names: list[str] = []
    faults = []
    for word in words:
        try:
            names += batch.pictures_in(word)
        except ImageError as error:
            faults.append((word, str(error)))
    return names, faults


def _wanted(args: argparse.Namespace, recogniser: Recogniser) -> set[str]:
    """Read --fail-on: labels that the model knows and their parts."""
    from isca_gui.core.distortion.distortions import ORIGINAL, UNDECIDED_LABEL, UNLIKE, parts_of
    from isca_gui.core.settings import SettingsError

    labels = [label for label in recogniser.neighbours.classes if label != ORIGINAL]
    parts = (part for label in labels for part in parts_of(label))
    known = dict.fromkeys([*labels, *parts, UNLIKE, UNDECIDED_LABEL])
    wanted = split_labels(args.fail_on, known) if args.fail_on is not None else set()
    unknown = sorted(wanted - set(known))
    if unknown:
        there = ", ".join(f"'{label}'" if "," in label else label for label in known)
        word = unknown[0]
        fault = (
            f"'{word}' is no damage" if word == ORIGINAL else f"this model does not know '{word}'"
        )
        raise SettingsError(f"--fail-on: {fault}; there are {there}")
    return wanted


def split_labels(text: str, known: Container[str]) -> set[str]:
    """Split at commas, but for those that are part of a known label; of two such the longer is meant."""
    words, found = text.split(","), set()
    while words:
        ends = range(len(words), 0, -1)
        end = next((end for end in ends if ",".join(words[:end]) in known), 1)
        found.add(",".join(words[:end]))
        words = words[end:]
    return found


def _hits(verdict: Verdict, wanted: set[str], least: float) -> list[tuple[str, str]]:
    """Give what of a verdict is wanted, with its share of the damaged blocks in words."""
    from isca_gui.core.distortion.distortions import ORIGINAL, UNDECIDED_LABEL, UNLIKE, parts_of

    found = [(UNLIKE, "")] if verdict.unlike and UNLIKE in wanted else []
    if verdict.label == UNDECIDED_LABEL:
        return found + ([(UNDECIDED_LABEL, "")] if UNDECIDED_LABEL in wanted else [])
    damaged = sum(
        share for name, share in verdict.shares.items() if name not in (ORIGINAL, UNDECIDED_LABEL)
    )
    for name in dict.fromkeys((verdict.label, *verdict.parts)):
        mixed = len(parts_of(name)) > 1
        votes = verdict.shares.get(name, 0.0) if mixed else verdict.components.get(name, 0.0)
        share = votes / damaged if damaged > 0 else 0.0
        if name in wanted and share >= least - _ROUNDING:
            found.append((name, f" in {share:.0%} of the damaged blocks"))
    return found


# --- maps ---------------------------------------------------------------------------------------------------


def _maps(args: argparse.Namespace, names: list[str]) -> dict[str, str]:
    """Say which map belongs to which picture; refuse maps that would replace a picture or one another."""
    from isca_gui.core.pictures import samples
    from isca_gui.core.settings import SettingsError

    pattern, folder = args.map, None
    if NAME not in pattern and (os.path.isdir(pattern) or not Path(pattern).suffix):
        folder, pattern = pattern, os.path.join(pattern, f"{NAME}-map.png")
    elif NAME not in pattern and len(names) > 1:
        raise SettingsError(
            f"--map: for {len(names)} pictures '{pattern}' must be a folder or hold {NAME}"
        )
    maps, owners = {}, {common.place_of(each): each for each in (args.model, *map(_file, names))}
    read = set(owners)
    for name in dict.fromkeys(names):
        maps[name] = pattern.replace(NAME, Path(name.removeprefix(samples.PREFIX)).stem)
        place = common.place_of(maps[name])
        if place in read:
            raise SettingsError(
                f"--map: '{maps[name]}' is read as well; choose other files to write"
            )
        if owners.setdefault(place, name) != name:
            raise SettingsError(
                f"--map: '{owners[place]}' and '{name}' would both be drawn to {maps[name]}"
            )
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
    for path in {
        os.path.dirname(path): path for path in maps.values()
    }.values():  # one of each folder
        common.check_written(path, (".png",), ())
        if os.path.dirname(os.path.realpath(path)) in map(os.path.realpath, args.images):
            raise SettingsError(
                f"--map: '{path}' would be taken for a picture of its folder; choose another"
            )
    return maps


def _file(name: str) -> str:
    """Give the file behind a name; an unknown sample is reported in its turn."""
    from isca_gui.core.pictures import samples
    from isca_gui.core.pictures.image import ImageError

    try:
        return os.fspath(samples.resolve(name))
    except ImageError:
        return name


def _drawer(maps: dict[str, str]) -> Callable[[FileResult], None]:
    from isca_gui.core.recognition import vote_map_image

    def draw(answer: FileResult) -> None:
        assert answer.recognition is not None
        assert answer.picture is not None
        vote_map_image.save(
            maps[answer.name], vote_map_image.draw(answer.recognition, answer.picture)
        )

    return draw


# --- output -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _writer(args: argparse.Namespace) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Give what takes every entry as it comes: a line or a part of the document, and a row of the table."""
    from isca_gui.core.storage import files

    with contextlib.ExitStack() as stack:
        table = stack.enter_context(files.replacing(args.csv)) if args.csv else None
        if table is not None:
            _write_row(table, answer_table.COLUMNS)
        count = 0

        def write(fields: dict[str, Any]) -> None:
            nonlocal count
            if args.json:
                text = json.dumps(fields, allow_nan=False)
                print(f"{',' if count else ''}\n    {text}", end="", flush=True)
            elif "error" not in fields:
                print(f"{fields['file']}: {fields['sentence']}", flush=True)
            if table is not None:
                _write_row(table, answer_table.row(fields))
            count += 1

        if args.json:
            head = {"model": args.model, "descriptor": args.descriptor, "rule": args.rule}
            head["neighbours"] = args.neighbours
            print(json.dumps(head, indent=2)[:-2] + ',\n  "pictures": [', end="")
        yield write
        if args.json:
            print("\n  ]\n}")


def _write_row(stream: IO[bytes], cells: Any) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    stream.write(text.getvalue().encode("utf-8", "backslashreplace"))
