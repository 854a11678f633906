"""`isca compare`: what was done to copies of a picture, proved, with a probability."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from isca_gui.cli import arguments, printing, targets

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from isca_gui.core.comparison.batch import CopyResult
    from isca_gui.core.comparison.profile import Profile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "reference",
        metavar="REFERENCE",
        type=arguments.file_name,
        help="the original: a picture file, or sample:NAME",
    )
    parser.add_argument(
        "copies",
        metavar="COPY",
        type=arguments.file_name,
        nargs="+",
        help="a copy of it: a picture file, or a folder of pictures (without its subfolders)",
    )
    arguments.add_json(parser)
    parser.add_argument(
        "--csv", metavar="FILE", type=arguments.file_name, help="write a table to this .csv file"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="REPORT",
        type=arguments.file_name,
        help="write a report to this .html file: answers, pictures, maps and proofs",
    )
    for option, what in (
        ("--map", "draw what was found over the copy"),
        ("--made-again", "apply what was found to the reference"),
    ):
        parser.add_argument(
            option,
            metavar="FILE",
            type=arguments.file_name,
            help=f"{what} and save that as this .png file; for several copies, FILE is a folder "
            f"or contains {targets.NAME}, which is replaced by each copy's name",
        )
    parser.add_argument(
        "--align",
        choices=("auto", "none", "shift"),
        default="auto",
        help="how the copies lie on the reference: auto looks for shifts, crops, padding, scales, "
        "turns and small rotations; shift for shifts, crops and padding only; none if each pixel "
        "lies on the same pixel, so that sizes must be the same (default: %(default)s)",
    )
    parser.add_argument(
        "--train",
        action="store_true",
        help="also train ISCA on the reference and say what its blocks vote for (a few seconds)",
    )
    parser.add_argument(
        "--fail-on",
        metavar="A,B,…",
        help="exit with code 3 if one of these is found in a copy: kinds such as blur,jpeg, "
        "families such as compression, or unlike",
    )
    parser.add_argument(
        "--min-probability",
        metavar="P",
        type=arguments.number,
        default=0.9,
        help="least probability that --fail-on requires (default: %(default)s)",
    )
    parser.add_argument(
        "--profile",
        metavar="FILE",
        type=arguments.file_name,
        help="exit with code 3 if a copy breaks one of the limits in this .toml file",
    )
    arguments.add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Compare all copies; if one cannot be read, report it and continue with the rest."""
    from isca_gui.cli import FAILED, FOUND
    from isca_gui.core.comparison import batch

    wanted = _fail_on(args)
    limits = _profile(args)
    names, faults = _copies(args.copies)
    outputs = _output_files(args, names)
    if args.csv:
        targets.check_target(args.csv, (".csv",), [args.reference, *names])
    if args.output:
        targets.check_target(args.output, (".html",), [args.reference, *names])
    problems: list[str] = []
    results = batch.compare_files(
        args.reference,
        names,
        align=args.align,
        train=args.train,
        keep_pictures=bool(args.output),
        then=_saver(outputs, problems),
        threads=args.threads,
    )
    has_failed = bool(faults)
    has_found = False
    kept: list[CopyResult] = []
    with contextlib.closing(results), _writer(args) as write:
        for name, error in faults:
            printing.report_failure(write, name, error)
        for result in results:
            if args.output:
                kept.append(result)
            if result.comparison is None:
                has_failed = True
                printing.report_failure(write, result.name, result.error or "")
                continue
            broken = limits.broken(result.comparison) if limits is not None else None
            write(batch.entry(result) | _limits_entry(broken))
            if broken:
                has_found = True
                reasons = "; ".join(broken)
                printing.print_message(f"isca: {result.name}: outside the limits: {reasons}")
            for label in _hits(result, wanted, args.min_probability):
                has_found = True
                printing.print_message(f"isca: {result.name}: found {label}")
    for problem in problems:
        has_failed = True
        printing.print_message(f"isca: {problem}")
    if args.output:
        from isca_gui.core.comparison import report

        report.save(args.output, args.reference, kept, limits)
        printing.print_message(f"isca: report written to {args.output}")
    if has_failed:
        return FAILED
    return FOUND if has_found else 0


def _copies(words: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the files behind all words, and what is wrong with folders that have none."""
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


def _fail_on(args: argparse.Namespace) -> set[str]:
    from isca_gui.core.comparison.kinds import KINDS, TABLE
    from isca_gui.core.distortion.distortions import UNLIKE
    from isca_gui.core.settings import SettingsError

    if not 0 <= args.min_probability <= 1:
        raise SettingsError(
            f"--min-probability must be between 0 and 1, not {args.min_probability:g}"
        )
    wanted = set(args.fail_on.split(",")) if args.fail_on is not None else set()
    known = [*KINDS, *dict.fromkeys(kind.family for kind in TABLE), UNLIKE]
    unknown = sorted(wanted - set(known))
    if unknown:
        raise SettingsError(f"--fail-on: unknown '{unknown[0]}'; choose from {', '.join(known)}")
    return wanted


def _profile(args: argparse.Namespace) -> Profile | None:
    """Return the limits that were asked for; a file that cannot be used is a wrong setting."""
    if args.profile is None:
        return None
    from isca_gui.core.comparison import profile
    from isca_gui.core.settings import SettingsError

    try:
        return profile.load(args.profile)
    except profile.ProfileError as error:
        raise SettingsError(f"--profile: {error}") from error


def _limits_entry(broken: list[str] | None) -> dict[str, Any]:
    """Return what a JSON document says of the limits, where there are any."""
    if broken is None:
        return {}
    return {"limits": {"passed": not broken, "broken": broken}}


def _hits(result: CopyResult, wanted: set[str], least: float) -> list[str]:
    """Return what of an answer is wanted."""
    from isca_gui.core.comparison.kinds import family_of
    from isca_gui.core.distortion.distortions import UNLIKE

    found = result.comparison
    assert found is not None
    if found.unlike:
        return [UNLIKE] if UNLIKE in wanted else []
    if found.probability < least:
        return []
    names = [*found.parts, *(family_of(part) or "" for part in found.parts)]
    return [name for name in dict.fromkeys(names) if name in wanted]


def _output_files(args: argparse.Namespace, names: list[str]) -> dict[str, dict[str, str]]:
    """Return the files to write for each copy, by option."""
    found: dict[str, dict[str, str]] = {}
    for option, ending in (("map", "-map.png"), ("made_again", "-made-again.png")):
        pattern = getattr(args, option)
        if pattern:
            found[option] = targets.files_for(
                f"--{option.replace('_', '-')}",
                pattern,
                ending,
                names,
                [args.reference, *names],
                args.copies,
            )
    return found


def _saver(
    outputs: dict[str, dict[str, str]], problems: list[str]
) -> Callable[[CopyResult], None] | None:
    """Return what writes the pictures asked for as each answer comes.

    What cannot be made again is added to `problems`; the answer itself is not lost by it.
    """
    if not outputs:
        return None

    def save(result: CopyResult) -> None:
        from isca_gui.core.comparison import drawing
        from isca_gui.core.pictures.image import ImageError

        if "map" in outputs:
            drawing.save_map(outputs["map"][result.name], result)
        if "made_again" in outputs:
            try:
                drawing.save_made_again(outputs["made_again"][result.name], result)
            except ImageError as error:
                problems.append(str(error))

    return save


def _writer(
    args: argparse.Namespace,
) -> contextlib.AbstractContextManager[Callable[[dict[str, Any]], None]]:
    from isca_gui.core.comparison import batch

    return printing.entry_writer(
        head={"reference": args.reference} if args.json else None,
        line=lambda fields: f"{fields['file']}: {fields['sentence']}{_opinion(fields)}",
        csv_file=args.csv,
        columns=batch.COLUMNS,
        row=batch.row,
    )


def _opinion(fields: dict[str, Any]) -> str:
    """Return what ISCA says of a copy as the end of a line, where it was asked."""
    opinion = fields["second_opinion"]
    if opinion is None:
        return ""
    way = "agrees" if opinion["agrees"] else "disagrees"
    return f" ISCA, trained on the reference, {way}: {opinion['sentence']}"
