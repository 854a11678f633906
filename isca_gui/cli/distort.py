"""`isca distort`: one picture distorted to an exact MSE."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from isca_gui.cli import common

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    common.add_image(parser)
    parser.add_argument(
        "--kind", required=True, help="a distortion such as jpeg, or a mixture: blur+jpeg"
    )
    parser.add_argument(
        "--mse", type=common.number, required=True, help="wanted MSE on the 0-255 scale"
    )
    common.add_seed(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=common.name,
        required=True,
        help="a .png or .tiff file to write",
    )
    parser.add_argument(
        "--bits", type=common.whole, choices=(8, 16), default=8, help="bits of a PNG file"
    )
    common.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Distort the picture and save it."""
    from isca_gui.core import settings
    from isca_gui.core.distortion import strength_search
    from isca_gui.core.distortion.distortions import mse
    from isca_gui.core.pictures import image, ssim

    settings.check_kind(args.kind)
    settings.check_level(args.mse)
    settings.check_seed(args.seed)
    _check_output(args)
    reference = common.read_image(args)
    result = strength_search.distort(reference, args.kind, args.mse, args.seed)
    if Path(args.output).suffix.lower() == ".png":
        image.save_png(args.output, result.picture, bits=args.bits)
    else:
        image.save_tiff(args.output, result.picture)
    written = image.read(args.output)  # a PNG is rounded: what is told is what the file holds
    achieved, similarity = mse(written, reference), float(ssim.ssim_map(reference, written).mean())
    if args.json:
        numbers = {name: value for name, value in vars(result).items() if name != "picture"}
        numbers["achieved_mse"] = achieved
        common.print_json({"file": args.output, **numbers, "ssim": similarity})
    else:
        print(
            f"{args.output}: {result.kind}, MSE {achieved:.2f} (wanted {result.target_mse:g}), "
            f"strength {result.strength:.5g}, SSIM {similarity:.3f} (1 is identical)"
        )
    return 0


def _check_output(args: argparse.Namespace) -> None:
    """Refuse a file that is no picture file, or that is the picture itself."""
    from isca_gui.core.pictures import samples
    from isca_gui.core.settings import SettingsError

    if Path(args.output).suffix.lower() not in (".png", ".tif", ".tiff"):
        raise SettingsError(f"'{args.output}' must end in .png or .tiff")
    source = samples.resolve(args.image)
    if source.exists() and os.path.exists(args.output) and os.path.samefile(source, args.output):
        raise SettingsError(f"'{args.output}' is the picture itself; choose another file to write")
    common.check_place(args.output, [])
