"""`isca distort`: one picture distorted to an exact MSE."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isca_gui.cli import common

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    common.add_image(parser)
    parser.add_argument("--kind", required=True, help="a distortion such as jpeg, or a mixture: blur+jpeg")
    parser.add_argument("--mse", type=float, required=True, help="wanted MSE on the 0-255 scale")
    parser.add_argument("--seed", type=int, default=0, help="seed of all randomness (default: %(default)s)")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="a .png or .tiff file to write")
    parser.add_argument("--bits", type=int, choices=(8, 16), default=8, help="bits of a PNG file")
    common.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Distort the picture and save it."""
    from isca_gui.core import image, settings, ssim, strength

    settings.check_kind(args.kind)
    settings.check_level(args.mse)
    settings.check_seed(args.seed)
    suffix = Path(args.output).suffix.lower()
    if suffix not in (".png", ".tif", ".tiff"):
        raise settings.SettingsError(f"'{args.output}' must end in .png or .tiff")
    reference = common.read_image(args)
    result = strength.distort(reference, args.kind, args.mse, args.seed)
    if suffix == ".png":
        image.save_png(args.output, result.picture, bits=args.bits)
    else:
        image.save_tiff(args.output, result.picture)
    similarity = float(ssim.ssim_map(reference, result.picture).mean())
    if args.json:
        numbers = {name: value for name, value in vars(result).items() if name != "picture"}
        common.print_json({"file": args.output, **numbers, "ssim": similarity})
    else:
        print(
            f"{args.output}: {result.kind}, MSE {result.achieved_mse:.2f} (wanted {result.target_mse:g}), "
            f"strength {result.strength:.5g}, SSIM {similarity:.3f} (1 is identical)"
        )
    return 0
