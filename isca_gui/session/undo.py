"""Edits that can be undone, and edits that are still being typed."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from PySide6.QtGui import QUndoCommand
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QLineEdit

if TYPE_CHECKING:
    from collections.abc import Callable


class Change(QUndoCommand):
    """An edit of settings or spec; edits of one field in a row are one step, unless `apart`."""

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
        self._apply = apply
        self._before = before
        self.after = after
        self.names = _changed_fields(before, after)

    def redo(self) -> None:
        """Apply the edit."""
        self._apply(self.after)

    def undo(self) -> None:
        """Take the edit back."""
        self._apply(self._before)

    def id(self) -> int:
        """Return the same number for all edits: Qt tries to merge only those."""
        return 1

    def mergeWith(self, other: QUndoCommand) -> bool:
        """Merge a later edit of the same field into this one."""
        if not isinstance(other, Change) or other.names != self.names or len(self.names) != 1:
            return False
        if other.apart or type(other.after) is not type(self.after):
            return False
        self.after = other.after
        self.setObsolete(self._before == self.after)
        return True


def commit_typed() -> None:
    """Take over what is typed in the field with the focus, as leaving the field does.

    A keyboard shortcut starts its work without moving the focus, so the field would still be open.
    """
    field = QApplication.focusWidget()
    if isinstance(field, QAbstractSpinBox):
        field.interpretText()
    elif isinstance(field, QLineEdit):
        field.editingFinished.emit()


def _changed_fields(before: Any, after: Any) -> tuple[str, ...]:
    names = [each.name for each in fields(before)]
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))
