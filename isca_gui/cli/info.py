"""`isca info`: what a picture, a dataset folder or a model file holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isca_gui.cli import common, train
from isca_gui.cli.dataset import left_out, summary

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    common.add_image(parser)
    common.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print what is there."""
    document = _document(args)
    if args.json:
        common.print_json(document)
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
    common.check_range(args, args.image)
    if path.is_dir():
        return _folder(args)
    return train.describe_model(path) if path.suffix.lower() == ".isca" else _picture(args)


def _folder(args: argparse.Namespace) -> dict[str, Any]:
    from isca_gui.core.distortion import dataset_folder

    dataset = common.run_with_progress(dataset_folder.load(args.image), "dataset", quiet=True)
    return {"kind": "dataset", "folder": str(Path(args.image)), **summary(dataset)}


def _picture(args: argparse.Namespace) -> dict[str, Any]:
    from isca_gui.core.pictures import image, samples

    path = samples.resolve(args.image)
    header = image.describe(path)
    picture = common.read_image(args)
    height, width = picture.shape  # as it is used: turned wherever in the file the EXIF data stands
    return {
        "kind": "picture",
        "file": str(path),
        **vars(replace(header, width=width, height=height)),
        "mean": round(float(picture.mean()), 4),
        "variance_0_255": round(float(picture.astype(float).var() * 255**2), 1),
    }
