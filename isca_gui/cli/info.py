"""`isca info`: a description of a picture, a dataset folder or a model file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isca_gui.cli import arguments, printing, progress_bar, train
from isca_gui.cli.dataset import left_out, summary

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "image",
        metavar="IMAGE",
        type=arguments.file_name,
        help="a picture file or sample:NAME, a dataset folder, or a model file (.isca)",
    )
    arguments.add_range(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the description."""
    document = _document(args)
    if args.json:
        printing.print_json(document)
        return 0
    for name, value in document.items():
        if isinstance(value, dict):
            value = ", ".join(f"{count} {label}" for label, count in value.items())
        if not isinstance(value, list):
            print(f"{name.replace('_', ' ')}: {value}")
    for missed in document.get("unreachable", ()):
        print(left_out(**missed))
    return 0


def _document(args: argparse.Namespace) -> dict[str, Any]:
    path = Path(args.image)
    arguments.check_range(args, args.image)
    if path.is_dir():
        return _folder(args)
    if path.suffix.lower() == ".isca":
        return train.describe_model(path)
    return _picture(args)


def _folder(args: argparse.Namespace) -> dict[str, Any]:
    from isca_gui.core.distortion import dataset_folder

    task = dataset_folder.load(args.image)
    dataset = progress_bar.run_with_progress(task, "dataset", quiet=True)
    return {"kind": "dataset", "folder": str(Path(args.image)), **summary(dataset)}


def _picture(args: argparse.Namespace) -> dict[str, Any]:
    from isca_gui.core.pictures import image, samples

    path = samples.resolve(args.image)
    header = image.describe(path)
    picture = arguments.read_image(args)
    # The size after rotation by EXIF data, which `describe` misses if they follow the pixels.
    height, width = picture.shape
    return {
        "kind": "picture",
        "file": str(path),
        **vars(replace(header, width=width, height=height)),
        "mean": round(float(picture.mean()), 4),
        "variance_0_255": round(float(picture.astype(float).var() * 255**2), 1),
    }
