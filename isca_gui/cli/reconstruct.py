"""`isca reconstruct`: a picture projected onto a model's subspaces and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isca_gui.cli import arguments, printing, targets

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    arguments.add_model(parser)
    arguments.add_image(parser)
    arguments.add_output_file(parser)
    parser.add_argument(
        "--components",
        metavar="N",
        type=arguments.positive_integer,
        help="use only the first N components (default: all)",
    )
    arguments.add_fit(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Reconstruct the picture, save it, and print how much it differs from the original."""
    import numpy as np

    from isca_gui.core.distortion.distortions import mse
    from isca_gui.core.model import model_file
    from isca_gui.core.pictures import image, samples, ssim
    from isca_gui.core.recognition import batch
    from isca_gui.core.settings import SettingsError

    inputs = [args.model, str(samples.resolve(args.image))]
    targets.check_target(args.output, (".png", ".tif", ".tiff"), inputs)
    model = model_file.load_model(args.model)
    most = model.settings.components
    if args.components is not None and args.components > most:
        raise SettingsError(f"--components: this model has {most}, not {args.components}")
    grid = model.grid
    picture = batch.fit(arguments.read_image(args), grid.height, grid.width, args.how)
    reconstruction = np.clip(model.reconstruct(picture, args.components), 0, 1)
    if args.output.lower().endswith(".png"):
        image.save_png(args.output, reconstruction)
    else:
        image.save_tiff(args.output, reconstruction)
    # A PNG file is rounded to whole grey levels, so the figures are taken from the file itself.
    written = image.read(args.output)
    error = mse(written, picture)
    similarity = float(ssim.ssim_map(picture, written).mean())
    used = args.components or most
    if args.json:
        printing.print_json(
            {"file": args.output, "components": used, "mse": error, "ssim": similarity}
        )
    else:
        print(
            f"{args.output}: {used} components, MSE {error:.2f}, "
            f"SSIM {similarity:.3f} (1 = identical)"
        )
    return 0
