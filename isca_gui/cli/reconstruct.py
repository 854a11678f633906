"""`isca reconstruct`: a picture projected into a model's subspaces and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isca_gui.cli import common

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    common.add_model(parser)
    common.add_image(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=common.name,
        required=True,
        help="a .png or .tiff file to write",
    )
    parser.add_argument(
        "--components",
        metavar="N",
        type=common.positive,
        help="use only the first N components (default: all)",
    )
    common.add_fit(parser)
    common.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Reconstruct the picture, save it, and say how far it is from the picture."""
    import numpy as np

    from isca_gui.core.distortion.distortions import mse
    from isca_gui.core.model import model_file
    from isca_gui.core.pictures import image, samples, ssim
    from isca_gui.core.recognition import batch
    from isca_gui.core.settings import SettingsError

    common.check_written(
        args.output, (".png", ".tif", ".tiff"), [args.model, str(samples.resolve(args.image))]
    )
    model = model_file.load_model(args.model)
    most = model.settings.components
    if args.components is not None and args.components > most:
        raise SettingsError(f"--components: this model has {most}, not {args.components}")
    grid = model.grid
    picture = batch.fit(common.read_image(args), grid.height, grid.width, args.how)
    made = np.clip(model.reconstruct(picture, args.components), 0, 1)
    (image.save_png if Path(args.output).suffix.lower() == ".png" else image.save_tiff)(
        args.output, made
    )
    written = image.read(args.output)  # a PNG is rounded: what is told is what the file holds
    error, similarity = mse(written, picture), float(ssim.ssim_map(picture, written).mean())
    used = args.components or most
    if args.json:
        common.print_json(
            {"file": args.output, "components": used, "mse": error, "ssim": similarity}
        )
    else:
        print(
            f"{args.output}: {used} components, MSE {error:.2f}, SSIM {similarity:.3f} (1 is identical)"
        )
    return 0
