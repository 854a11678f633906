"""What of the bases can be saved, and which component that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isca_gui.viewers.export import Exportable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from PySide6.QtGui import QImage
    from PySide6.QtWidgets import QMenu

    from isca_gui.viewers.canvas.canvas import PictureCanvas
    from isca_gui.viewers.export import Exporter

    Panes = Mapping[tuple[str, int], PictureCanvas]  # by row and component


def row_thing(row: str, panes: Callable[[], Panes]) -> Exportable:
    """Describe the first component shown in a row, whichever that is when it is saved."""

    def first() -> tuple[int, PictureCanvas] | None:
        return next(
            ((number, pane) for (each, number), pane in panes().items() if each == row), None
        )

    def image() -> QImage | None:
        found = first()
        return found[1].composed() if found is not None else None

    def component() -> str:
        found = first()
        return f"component {found[0] + 1}" if found is not None else ""

    return Exportable(f"basis {row}", row, image=image, of=component)


class PaneMenu:
    """Makes the menu of one pane."""

    def __init__(self, exporter: Exporter, canvas: PictureCanvas, name: str) -> None:
        self._exporter, self._canvas, self._name = exporter, canvas, name

    def __call__(self) -> QMenu:
        """Make it."""
        return self._exporter.menu(Exportable(self._name, image=self._canvas.composed))
