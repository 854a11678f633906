"""`isca distort`: one picture distorted to an exact MSE."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from isca_gui.cli import arguments, printing, targets

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    arguments.add_image(parser)
    parser.add_argument(
        "--kind", required=True, help="a distortion such as jpeg, or a mixture such as blur+jpeg"
    )
    parser.add_argument(
        "--mse", type=arguments.number, required=True, help="the MSE to reach, on the 0-255 scale"
    )
    arguments.add_seed(parser)
    arguments.add_output_file(parser)
    parser.add_argument(
        "--bits",
        type=arguments.integer,
        choices=(8, 16),
        default=8,
        help="bit depth of a PNG file (default: %(default)s)",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Distort the picture and save it."""
    from isca_gui.core import settings
    from isca_gui.core.distortion import dataset_spec, strength_search
    from isca_gui.core.distortion.distortions import mse
    from isca_gui.core.pictures import image, ssim

    dataset_spec.check_kind(args.kind)
    dataset_spec.check_level(args.mse)
    settings.check_seed(args.seed)
    _check_output(args)
    reference = arguments.read_image(args)
    result = strength_search.distort(reference, args.kind, args.mse, args.seed)
    if Path(args.output).suffix.lower() == ".png":
        image.save_png(args.output, result.picture, bits=args.bits)
    else:
        image.save_tiff(args.output, result.picture)
    # A PNG file is rounded to whole grey levels, so the figures are taken from the file itself.
    written = image.read(args.output)
    achieved = mse(written, reference)
    similarity = float(ssim.ssim_map(reference, written).mean())
    if args.json:
        numbers = {name: value for name, value in vars(result).items() if name != "picture"}
        numbers["achieved_mse"] = achieved
        printing.print_json({"file": args.output, **numbers, "ssim": similarity})
    else:
        print(
            f"{args.output}: {result.kind}, MSE {achieved:.2f} (target {result.target_mse:g}), "
            f"strength {result.strength:.5g}, SSIM {similarity:.3f} (1 = identical)"
        )
    return 0


def _check_output(args: argparse.Namespace) -> None:
    """Refuse a file that is not a picture file, or that is the input itself."""
    from isca_gui.core.pictures import samples
    from isca_gui.core.settings import SettingsError

    if Path(args.output).suffix.lower() not in (".png", ".tif", ".tiff"):
        raise SettingsError(f"'{args.output}' must end in .png or .tiff")
    source = samples.resolve(args.image)
    if source.exists() and os.path.exists(args.output) and os.path.samefile(source, args.output):
        raise SettingsError(f"'{args.output}' is the picture itself; choose another file to write")
    targets.check_not_in_dataset(args.output, [])
