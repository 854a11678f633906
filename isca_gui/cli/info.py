"""`isca info`: what a picture or a dataset folder holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isca_gui.cli import common

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's arguments."""
    common.add_image(parser)
    common.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print what is there."""
    path = Path(args.image)
    document = _folder(path) if path.is_dir() else _picture(args)
    if args.json:
        common.print_json(document)
        return 0
    for name, value in document.items():
        if isinstance(value, dict):
            value = ", ".join(f"{count} {label}" for label, count in value.items())
        if not isinstance(value, list):
            print(f"{name.replace('_', ' ')}: {value}")
    return 0


def _folder(path: Path) -> dict[str, object]:
    from isca_gui.cli.dataset import summary
    from isca_gui.core import dataset_files

    dataset = common.run_with_progress(dataset_files.load(path), "dataset", quiet=True)
    return {"kind": "dataset", "folder": str(path), **summary(dataset)}


def _picture(args: argparse.Namespace) -> dict[str, object]:
    from isca_gui.core import image, samples

    path = samples.resolve(args.image)
    header = image.describe(path)
    picture = common.read_image(args)
    return {
        "kind": "picture",
        "file": str(path),
        **vars(header),
        "mean": round(float(picture.mean()), 4),
        "variance_0_255": round(float(picture.astype(float).var() * 255**2), 1),
    }
