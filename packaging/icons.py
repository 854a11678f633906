"""The icon in the sizes and formats of each system, all drawn from resources/icon.svg."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QBuffer, QIODevice, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

SOURCE = Path(__file__).resolve().parent.parent / "resources" / "icon.svg"
LINUX = (16, 24, 32, 48, 64, 128, 256, 512)
WINDOWS = (16, 24, 32, 48, 64, 128, 256)
MACOS = (16, 32, 64, 128, 256, 512, 1024)


def draw(side: int) -> Image.Image:
    """Return the icon as a square picture with the given side in pixels."""
    picture = QImage(side, side, QImage.Format.Format_RGBA8888)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    QSvgRenderer(str(SOURCE)).render(painter)
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    picture.save(buffer, "PNG")  # type: ignore[call-overload]
    return Image.open(io.BytesIO(bytes(buffer.data().data()))).convert("RGBA")


def write_ico(path: Path) -> None:
    """Write an icon for Windows."""
    pictures = [draw(side) for side in WINDOWS]
    pictures[-1].save(path, sizes=[(side, side) for side in WINDOWS], append_images=pictures[:-1])


def write_icns(path: Path) -> None:
    """Write an icon for macOS."""
    pictures = [draw(side) for side in MACOS]
    pictures[-1].save(path, append_images=pictures[:-1])


def write_theme(folder: Path, name: str) -> None:
    """Write a freedesktop icon theme: the drawing itself, and a picture of each usual size."""
    drawing = folder / "scalable" / "apps" / f"{name}.svg"
    drawing.parent.mkdir(parents=True)
    drawing.write_bytes(SOURCE.read_bytes())
    for side in LINUX:
        path = folder / f"{side}x{side}" / "apps" / f"{name}.png"
        path.parent.mkdir(parents=True)
        draw(side).save(path)
