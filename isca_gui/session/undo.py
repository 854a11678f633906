"""Edits that can be undone, and edits that are still being typed."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from PySide6.QtGui import QUndoCommand
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QLineEdit

if TYPE_CHECKING:
    from collections.abc import Callable


class Change(QUndoCommand):
    """An edit of settings or spec; edits of the same fields in a row are one step back, unless `apart`."""

    def __init__(
        self,
        text: str,
        apply: Callable[[Any], None],
        before: Any,
        after: Any,
        *,
        apart: bool = False,
    ) -> None:
        super().__init__(text)
        self.apart = apart
        self._apply, self._before, self.after = apply, before, after
        self.names = _differences(before, after)

    def redo(self) -> None:
        """Do it."""
        self._apply(self.after)

    def undo(self) -> None:
        """Take it back."""
        self._apply(self._before)

    def id(self) -> int:
        """Let edits be merged."""
        return 1

    def mergeWith(self, other: QUndoCommand) -> bool:
        """Take a later edit of the same field into this one."""
        if not isinstance(other, Change) or other.names != self.names or len(self.names) != 1:
            return False
        if other.apart or type(other.after) is not type(self.after):
            return False
        self.after = other.after
        self.setObsolete(self._before == self.after)
        return True


def commit_typed() -> None:
    """Take what stands in the field that has the keyboard, as leaving it does: keys start work before."""
    field = QApplication.focusWidget()
    if isinstance(field, QAbstractSpinBox):
        field.interpretText()
    elif isinstance(field, QLineEdit):
        field.editingFinished.emit()


def _differences(before: Any, after: Any) -> tuple[str, ...]:
    return tuple(
        f.name for f in fields(before) if getattr(before, f.name) != getattr(after, f.name)
    )
