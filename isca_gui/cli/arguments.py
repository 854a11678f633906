"""Options that several commands share, and the functions that read their values."""

from __future__ import annotations

import argparse
import math
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The names of `core.model.descriptor.DESCRIPTORS` and `core.recognition.recogniser.RULES`. They are
# repeated here because loading those modules would make --help slow; a test compares them.
DESCRIPTORS = ("extended", "structural")
RULES = ("evidence", "majority")


def add_image(parser: argparse.ArgumentParser) -> None:
    """Add the argument IMAGE and the option --range."""
    parser.add_argument(
        "image", metavar="IMAGE", type=file_name, help="a picture file, or sample:NAME"
    )
    add_range(parser)


def add_range(parser: argparse.ArgumentParser) -> None:
    """Add --range."""
    parser.add_argument(
        "--range",
        dest="value_range",
        metavar="LOW:HIGH",
        type=value_range,
        help="pixel values that stand for black and white (for float pictures outside 0 to 1)",
    )


def check_range(args: argparse.Namespace, source: str | None) -> None:
    """Refuse --range unless `source`, which may be None, is a picture."""
    from isca_gui.core.settings import SettingsError

    if args.value_range is None:
        return
    if source is None:
        raise SettingsError("--range applies to a picture, but this command reads none")
    if os.path.isdir(source):
        raise SettingsError(f"--range applies to a picture; '{source}' is a folder")
    if source.lower().endswith(".isca"):
        raise SettingsError(f"--range applies to a picture; '{source}' is a model")


def range_words(args: argparse.Namespace) -> list[str]:
    """Return --range as it was given, to be repeated in another command line."""
    from isca_gui.core.settings import number_text

    if args.value_range is None:
        return []
    return [f"--range={':'.join(map(number_text, args.value_range))}"]


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add --threads."""
    parser.add_argument(
        "--threads",
        metavar="N",
        type=positive_integer,
        help="number of threads (default: one per core); does not affect the results",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add --seed."""
    parser.add_argument(
        "--seed",
        metavar="N",
        type=integer,
        default=0,
        help="random seed (default: %(default)s)",
    )


def add_output_file(parser: argparse.ArgumentParser) -> None:
    """Add --output for a picture file."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=file_name,
        required=True,
        help="the .png or .tiff file to write",
    )


def add_output_folder(parser: argparse.ArgumentParser) -> None:
    """Add --output for a folder."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=file_name,
        required=True,
        help="the folder to write",
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the argument MODEL."""
    parser.add_argument(
        "model", metavar="MODEL", type=file_name, help="a model file (.isca) from 'isca train'"
    )


def add_recognition(parser: argparse.ArgumentParser) -> None:
    """Add --descriptor and --rule."""
    parser.add_argument(
        "--descriptor",
        choices=DESCRIPTORS,
        default="extended",
        help="features compared in each block; structural is the paper's (default: %(default)s)",
    )
    parser.add_argument(
        "--rule",
        choices=RULES,
        default="evidence",
        help="how votes become a verdict; majority is the paper's (default: %(default)s)",
    )


def add_fit(parser: argparse.ArgumentParser) -> None:
    """Add --resize and --crop, which are stored together as `how`."""
    choice = parser.add_mutually_exclusive_group()
    for how, sentence in (
        ("resize", "resize a picture whose size differs from the model's reference"),
        ("crop", "crop a picture that is larger than the model's reference to its centre"),
    ):
        choice.add_argument(
            f"--{how}",
            dest="how",
            action="store_const",
            const=how,
            default="refuse",
            help=sentence,
        )


# The functions below raise ArgumentTypeError: after a ValueError, argparse would print the names of
# the functions.


def file_name(text: str) -> str:
    """Return the name of a file or folder; an empty one would mean the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return text


def integer(text: str) -> int:
    """Return a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None


def positive_integer(text: str) -> int:
    """Return a whole number of at least 1."""
    value = integer(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value


def number(text: str) -> float:
    """Return a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None


def value_range(text: str) -> tuple[float, float]:
    """Return the two numbers of LOW:HIGH."""
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        low = high = math.nan
    if not (low < high and math.isfinite(high - low)):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not LOW:HIGH, two finite numbers with the lower value first"
        )
    return low, high


def read_image(args: argparse.Namespace) -> NDArray[np.float32]:
    """Return the picture that the argument IMAGE names."""
    from isca_gui.core.pictures import image, samples

    return image.read(samples.resolve(args.image), value_range=args.value_range)
